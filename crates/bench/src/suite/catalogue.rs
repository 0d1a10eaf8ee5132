//! What suites are run on and what their settings take, in every language.

words::catalogue! {
    DEVICE_TARGET: "a stack, an image file or a block device", "スタック、イメージファイル、ブロックデバイス";
    FOLDER_TARGET: "a folder", "フォルダー";
    FOR_FOLDERS: "it is for a folder, and the target is a device",
        "フォルダーのためのもので、対象はデバイスです";
    FOR_WRITTEN: "it is for what is written, and nothing is here",
        "書き込むもののためのもので、ここでは何も書き込みません";
    VALUE_EXPECTED: "`{value}`: expected {kind}", "`{value}`: 指定できるのは{kind}です";
    NO_SETTING: "the suite {suite} has no setting `{name}`", "スイート {suite} に設定 `{name}` はありません";
    ONE_FOR_ALL_ROWS: "{suite} has one value for all its rows", "{suite} ではすべての行に 1 つの値です";
    THE_FILE: "the file {path}", "ファイル {path}";
    SIZE_VALUE: "a size such as 64KiB", " 64KiB のようなサイズ";
    MEBIBYTES_VALUE: "a size such as 64KiB, or a number of MiB", " 64KiB のようなサイズか、MiB 単位の数";
    TIME_VALUE: "a time such as 5s", " 5s のような時間";
    SOME_TIME_VALUE: "a time such as 5s, more than none", " 5s のような 0 でない時間";
    LIMIT_VALUE: "a whole number from 1 on, or {none}", " 1 以上の整数か {none} ";
    COUNT_FROM_VALUE: "a whole number from {least} on", " {least} 以上の整数";
    COUNT_VALUE: "a whole number from {least} to {most}", " {least} から {most} までの整数";
    SWITCH_VALUE: "true or false", " true か false ";
    WORDS_VALUE: "{words}", " {words} ";
    TEXT_VALUE: "a text", "文字列";
    LINES_VALUE: "lines of text", "複数行の文字列";
    FILE_VALUE: "the path of a file, or what would be in it", "ファイルのパスか、その内容";
    PATH_VALUE: "the path of a file", "ファイルのパス";

    // What is said of a suite.
    RUNS_ON: "Runs on {targets}.", "対象: {targets}。";
    PHASES: "Phases, in this order:", "フェーズ(この順):";
    KEYS: "Keys, said as -s KEY=VALUE:", "キー(-s KEY=VALUE で指定):";
    BY_GROUP: "; may differ by group of rows", "(行のグループごとに変えられます)";

    // Folders to work in.
    NO_NEW_FOLDER: "it takes no new folder", "新しいフォルダーを作れません";
    MAKING_TEST_FILE: "making the test file {path}", "テストファイル {path} の作成";
    NO_DIRECT_IN_SYSTEM: "its file system takes none ({error})",
        "ファイルシステムが対応していません({error})";
    DIRECT_NOT_HAD: "direct I/O was asked for, and {why}; use buffered I/O or another folder",
        "ダイレクト I/O を指定されましたが、{why}。バッファー経由にするか、別のフォルダーを使ってください";
    NO_SUCH_FOLDER: "no such folder", "そのフォルダーはありません";
    NO_WORK_FOLDER: "not a folder", "フォルダーではありません";
    ITS_FILE_SYSTEM: "its file system", "ファイルシステム";
    FOLDER_READ_ONLY: "its file system is mounted read-only",
        "ファイルシステムが読み取り専用でマウントされています";
    FOLDER_IN_MEMORY: "the folder lies in memory (tmpfs), where that means nothing",
        "フォルダーがメモリー上(tmpfs)にあり、意味がありません";
    TOO_LITTLE_ROOM: "too small: {needed} are needed and {free} are free",
        "空きが足りません: {needed} 必要で、空きは {free} です";
    TOO_FEW_FILES: "too small: {needed} files are needed, and there is room for {room}",
        "空きが足りません: {needed} ファイル必要で、作れるのは {room} です";
    FILE_SIZE_LIMIT: "a file of {needed} is needed, and the file-size limit is {limit} (ulimit -f)",
        "{needed} のファイルが必要ですが、ファイルサイズの上限は {limit} です(ulimit -f)";

    // Programs.
    PROGRAM_SAID_NOTHING: " and said nothing", "(出力なし)";
    LAST_LINES: "; its last lines:\n  {lines}", "。最後の行:\n  {lines}";
    OUTPUT_NO_JSON: "its output is no JSON: {error}", "出力が JSON ではありません: {error}";
    NO_JSON_IN_OUTPUT: "there is no JSON in its output", "出力に JSON がありません";
    FIGURE_NO_NUMBER: "`{text}` is no number", "`{text}` は数値ではありません";
    ITS_OUTPUT: "{what}: its output", "{what}: 出力";
    SAID_TOO_MUCH: "{what} said more than {most} MiB", "{what}の出力が {most} MiB を超えました";
    STARTING_SHELL: "{what}: starting sh", "{what}: sh の起動";
    STATUS: "status {code}", "ステータス {code}";
    SIGNAL: "signal {number}", "シグナル {number}";
    PROGRAM_ENDED_WITH: "{what} ended with {how}{said}", "{what}が{how} で終了しました{said}";
    WAITING: "{what}: waiting", "{what}: 待機";
    TOOK_TOO_LONG: "{what} took longer than its time limit of {limit} (time_limit){said}",
        "{what}が制限時間 {limit}(time_limit)を超えました{said}";
    SYNCING: "syncing {path}", "{path} の同期";

    // Commands of one's own.
    NAME_THE_COMMAND: "name the command, for example \"tar xf /src/linux.tar\"",
        "コマンドを指定してください。例: \"tar xf /src/linux.tar\"";
    ENVIRONMENT_LINE: "`{line}`: expected NAME=VALUE, one a line",
        "`{line}`: 1 行に 1 つ NAME=VALUE を指定してください";
    STACK_NOT_OPENED: "other programs cannot open this stack: give it a file system, or name a file, a block device, or a guest",
        "ほかのプログラムはこのスタックを開けません。ファイルシステムを指定するか、ファイル、ブロックデバイス、ゲストを使ってください";
    FOLDER_NAMED: "a folder", "フォルダー";
    DEVICE_NAMED: "a device", "デバイス";
    WRITE_OWN: "{other} is in the text, and the target is {is}: write {own}",
        "文に {other} がありますが、対象は{is}です。{own} と書いてください";
    TWO_FIGURES: "two figures are called `{row}`", "`{row}` という数値が 2 つあります";
    NO_FIGURE_FORMAT: "no format of that name is known; there are {names}, or NAME [lower|higher] [in UNIT] json PATH or regex EXPRESSION",
        "その名前の形式はありません。使えるのは {names}、または NAME [lower|higher] [in UNIT] json PATH か regex EXPRESSION です";
    NO_FIGURE_NAME: "`{name}` is no name of a figure: small letters, digits and `_`, ending in the base unit (commits_per_second, flush_seconds)",
        "`{name}` は数値の名前になりません。小文字の英数字と `_` で、最後は基本単位にしてください(commits_per_second、flush_seconds)";
    FIGURE_UNIT: "unit `{unit}`: expected {names}", "単位 `{unit}`: 使えるのは {names} です";
    NOTHING_BEHIND: "nothing behind `{found}`", "`{found}` の後に何もありません";
    SAY_WHICH_IS_BETTER: "say `lower` or `higher` behind its name: which is better cannot be told from it",
        "名前からはどちらが良いかわかりません。その後に `lower` か `higher` を付けてください";
    FIGURE_WORD: "`{found}`: expected lower, higher, in UNIT, json PATH or regex EXPRESSION",
        "`{found}`: lower、higher、in UNIT、json PATH、regex EXPRESSION のどれかです";
    JSON_PATH: "`{text}`: expected a path such as $.jobs[0].read.iops, or a pointer /jobs/0/read",
        "`{text}`: $.jobs[0].read.iops のようなパスか、ポインター /jobs/0/read を指定してください";
    POINTER_NO_NUMBER: "{name}: {pointer} is no number", "{name}: {pointer} は数値ではありません";
    POINTER_MISSING: "{name}: {pointer} is not in its output",
        "{name}: {pointer} は出力にありません";
    NOTHING_MATCHES: "{name}: nothing in its output matches {expression}",
        "{name}: 出力に {expression} に合うものがありません";
    NO_FIGURE_OF: "its output has no figure of {program}'s ({metric})",
        "出力に {program} の数値がありません({metric})";
    SEVERAL_GROUPS: "fio ran several groups, one after the other: `suite = \"fio\"` makes a row of each",
        "fio が複数のグループを順に実行しました。`suite = \"fio\"` ならグループごとの行になります";
    FIO_OUTPUT: "fio's output", "fio の出力";
}
