//! What is said of logs of power cuts and of checks that gave no verdict, in every language.

words::catalogue! {
    CHECK_HANGS: "it did not end in time", "時間内に終わりませんでした";
    CHECK_ENDED_BY_SIGNAL: "signal {number} has ended it", "シグナル {number} で終了しました";
    CHECK_NOT_RUN: "the shell could not run it: exit code {code}", "シェルが実行できませんでした: 終了コード {code}";

    // The log.
    READING_LOG: "reading the log", "ログの読み込み";
    NO_PULL_LOG: "this is no pull log", "電源断テストのログではありません";
    LOG_VERSION: "a pull log of version {version}; this raidloom knows version {known}",
        "電源断テストのログのバージョンは {version} です。この raidloom が扱えるのは {known} です";
    LOG_DAMAGED: "the pull log is damaged at its record {record}: {what}",
        "電源断テストのログがレコード {record} で壊れています: {what}";
    LOG_CUT_OFF: "the pull log is cut off behind {records} records: it has no end; record again",
        "電源断テストのログが {records} レコードで途切れ、終わりがありません。記録し直してください";
    LOG_MARK: "reading a mark of the pull log", "電源断テストのログの印の読み込み";
    LOG_DATA: "reading data of the pull log", "電源断テストのログのデータの読み込み";
    LOG_TELLS_NO_MEDIA: "this pull log does not say what came to the media of its drives, as those of drives in memory do not",
        "この電源断テストのログには、ドライブの媒体に届いたものの記録がありません。メモリー上のドライブのログにはありません";
    LOG_MEDIA_MARK: "the pull log: a mark about the media of a drive makes no sense",
        "電源断テストのログ: ドライブの媒体についての印の値がおかしい";
    READING_BASE: "reading the base image", "元のイメージの読み込み";
    WRITING_LOG_WRITES: "writing for dm-log-writes", "dm-log-writes 形式の書き込み";
    NO_LOSS_POLICY: "{text}: no such policy of what survives", "{text}: その残り方はありません";
    THE_LOG: "the pull log", "電源断テストのログ";
    LOG_IS_THERE: "the file of the pull log holds something already; name a new file",
        "電源断テストのログのファイルにはすでに内容があります。新しいファイルを指定してください";
    WRITING_LOG: "writing the pull log", "電源断テストのログの書き込み";
}
