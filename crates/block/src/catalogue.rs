//! What the system says of its errors, and what is refused of requests, in every language. Of most
//! of the system's errors its own words are enough in English.

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

    // What the reactor has in English alone.
    NOT_PLAIN: "it is no plain file (a folder, a pipe, a device)",
        "通常のファイルではありません(フォルダー、パイプ、デバイスなど)";
    IS_LINK: "it is a link; only plain files are read here",
        "リンクです。ここで読むのは通常のファイルだけです";
    TOO_LARGE: "it has more than {most} bytes, and no such file has",
        "{most} バイトを超えています。この種のファイルにはありえません";
    NO_RING: "io_uring cannot be used here ({answer}): {remedy}",
        "ここでは io_uring を使えません({answer}): {remedy}";
    RAISE_FILES: "raise the limit of open files (ulimit -n)",
        "開けるファイル数の上限を上げてください(ulimit -n)";
    RAISE_MEMORY: "raise the limits of memory, and before Linux 5.12 of locked memory (ulimit -l)",
        "メモリーの上限を、Linux 5.12 より前ではロックできるメモリーの上限(ulimit -l)も上げてください";
    ALLOW_RING: "it needs Linux 5.19 or newer, sysctl kernel.io_uring_disabled=0 and, in a container, a profile that allows it",
        "Linux 5.19 以降と sysctl kernel.io_uring_disabled=0、コンテナー内では io_uring を許すプロファイルが必要です";

    // Requests.
    REQUEST_NOT_WHOLE_BLOCKS: "{length} bytes at {offset} are not whole blocks of {block} bytes",
        "{offset} から {length} バイトは {block} バイトのブロックの境界に合いません";
    REQUEST_PAST_END: "{length} bytes at {offset} reach past the end at {end}",
        "{offset} から {length} バイトは末尾の {end} を超えます";
    TOO_MUCH_AT_ONCE: "{length} bytes in one request; at most {most}",
        "1 要求が {length} バイトです({most} バイト以下)";
    DEVICE_READ_ONLY: "the device is read-only", "デバイスは読み取り専用です";
    OP_NOT_KNOWN: "the device does not know {op}", "デバイスが対応していません: {op}";
    NOT_SENT: "a {op} was not sent: an earlier request is still not answered",
        "{op}を送れませんでした。前の要求にまだ応答がありません";
    OP_UNANSWERED: "no answer to a {op} for {minutes} minutes", "{op}に {minutes} 分間応答がありません";
    AWAITING_DEVICE: "waiting for the device", "デバイスの待機";
    REQUEST_READ: "read", "読み込み";
    REQUEST_WRITE: "write", "書き込み";
    REQUEST_WRITE_FUA: "write with FUA", "FUA 付きの書き込み";
    REQUEST_WRITE_ZEROES: "write zeroes", "ゼロの書き込み";
    REQUEST_DISCARD: "discard", "破棄";
    REQUEST_FLUSH: "flush", "フラッシュ";
}
