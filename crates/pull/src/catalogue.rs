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
    WRONG_HEADER_SUM: "the checksum of its header is wrong", "ヘッダーのチェックサムが違います";
    WRONG_SUM: "its checksum is wrong", "チェックサムが違います";
    WRONG_DATA_SUM: "the checksum of its data is wrong", "データのチェックサムが違います";
    MORE_BEHIND_END: "there is more behind the end", "終わりの後に続きがあります";
    TIME_BEFORE: "its time lies before that of the record before it", "時刻が前のレコードより前です";
    DESCRIBES_NO_DRIVE: "it describes no drive", "ドライブの記述になっていません";
    NEVER_ARRIVED: "it completes a request that never arrived", "届いていない要求を完了しています";
    COMPLETED_TWICE: "it completes a request for the second time", "要求を 2 回完了しています";
    OTHER_COUNT: "the end speaks of another count of records", "終わりに書かれたレコード数が違います";
    NO_KIND: "there is no kind {kind}", "種類 {kind} はありません";
    NO_DRIVE: "there is no drive {drive}", "ドライブ {drive} はありません";
    FLUSH_RANGE: "a flush has no range", "フラッシュに範囲はありません";
    PAST_DRIVE: "{length} bytes at {offset} reach past the end of drive {drive} at {end}",
        "{offset} から {length} バイトは、ドライブ {drive} の末尾の {end} を超えます";
    NO_WHOLE_BLOCKS: "{length} bytes at {offset} are not whole blocks",
        "{offset} から {length} バイトはブロックの境界に合いません";
    OTHER_LENGTH: "its data have another length than its range", "データの長さが範囲と違います";
    TOO_MANY_REQUESTS: "there are more requests than a log can hold", "要求の数がログの上限を超えています";
    OPENING: "opening", "開く";
    STATE_IS_OVER: "this crash state is over: its history was rolled on",
        "この電源断の状態は、履歴が進んだため読めません";
    FORWARD_ONLY: "a history is rolled forward only", "履歴は先にしか進められません";
    RECORDING_ENDED: "the recording has ended already", "記録はすでに終了しています";
    VIRTUAL_CLOCK_ONLY: "a recorder without a clock records on the virtual clock only",
        "時計のない記録は仮想時計でだけ行えます";
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

    // What is there of a file, and what it had to be.
    IS_MISSING: "missing", "ありません";
    IS_SHORT: "too short", "短すぎます";
    IS_OLD: "an older version", "古いバージョン";
    IS_TORN: "parts of several versions", "複数のバージョンの部分";
    IS_ZERO: "zeroes", "ゼロ";
    IS_STALE: "what was removed before", "以前に削除された内容";
    IS_FOREIGN: "what belongs elsewhere", "別の場所の内容";
    IS_GARBAGE: "what was never written", "書き込まれたことのない内容";
    IS_PRESENT: "still there", "まだあります";
    IS_UNREADABLE: "unreadable", "読み込めません";
    MUST_BE: "version {version} or a later one", "バージョン {version} 以降";
    MUST_BE_WHOLE: "version {version} or a later one, whole", "バージョン {version} 以降の全体";
    MUST_BE_ONE: "any one version, whole", "いずれか 1 つのバージョンの全体";
    MUST_BE_BLOCKS: "{count} blocks", "{count} ブロック";
    MUST_BE_TRANSACTIONS: "{count} transactions", "トランザクション {count} 件";
    MUST_BE_TREE: "its folder as of version {version}", "バージョン {version} のときのフォルダー";
    MUST_BE_EITHER: "the old file or version {version}, whole", "元のファイルかバージョン {version} の全体";
    MUST_BE_GONE: "no file", "ファイルなし";
    MUST_BE_CLOSED: "what was written before it was closed", "閉じる前に書き込んだ内容";
    MUST_BE_FREE: "nothing of the past", "過去の内容なし";
}
