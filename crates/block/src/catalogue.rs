//! What the system says of its errors, in every language. In English its own words are enough.

words::catalogue! {
    TRY_AGAIN: "{system}: no answer in time, or no more processes and threads are allowed (ulimit -u)",
        "時間内に応答がないか、プロセスやスレッドの数が上限に達しました(ulimit -u): {system}";
    TOO_MANY_FILES: "{system}: raise the limit of open files (ulimit -n)",
        "開けるファイル数の上限を上げてください(ulimit -n): {system}";
    ENDS_EARLY: "it ends too early", "途中で終わっています";
    NO_ENTRY: "{system}", "そのようなファイルやフォルダーはありません: {system}";
    NO_ACCESS: "{system}", "アクセスする権限がありません: {system}";
    NO_PERMISSION: "{system}", "許可されていない操作です: {system}";
    BUSY: "{system}", "使用中です: {system}";
    NO_SPACE: "{system}", "空き容量がありません: {system}";
    INPUT_OUTPUT: "{system}", "入出力エラーです: {system}";
    READ_ONLY_SYSTEM: "{system}", "読み取り専用のファイルシステムです: {system}";
    NO_FOLDER: "{system}", "フォルダーではありません: {system}";
    IS_FOLDER: "{system}", "フォルダーです: {system}";
    IS_THERE: "{system}", "すでにあります: {system}";
    NO_MEMORY: "{system}", "メモリーが足りません: {system}";
    CONNECTION_REFUSED: "{system}", "接続が拒否されました: {system}";
    A_BELL_FOR: "a bell for {what}", "{what}のための通知";
    INVALID_ARGUMENT: "{system}", "引数が無効です: {system}";
}
