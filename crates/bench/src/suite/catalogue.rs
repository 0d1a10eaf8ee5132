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
}
