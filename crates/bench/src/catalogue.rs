//! What is said of requests that failed, of data that are not what was written, and of texts that
//! say what a load is made of, in every language.

words::catalogue! {
    // Requests.
    A_READ: "read", "読み込み";
    A_WRITE: "write", "書き込み";
    A_WRITE_OF_ZEROES: "write of zeroes", "ゼロの書き込み";
    A_DISCARD: "discard", "破棄";
    A_FLUSH: "flush", "フラッシュ";
    REQUEST_AT: "{what} of {length} bytes at offset {offset}", "オフセット {offset} の {length} バイトの{what}";
    NUMBERED_REQUEST: "request {number}, a {what} of {length} bytes at offset {offset}",
        "{number} 番目の要求、オフセット {offset} の {length} バイトの{what}";
    NO_ANSWER_TO: "no answer to {count} requests", "{count} 件の要求に応答がありません";
    NO_ANSWER_ONE_OF: "no answer to {count} requests, one a {request}",
        "{count} 件の要求に応答がありません。その 1 つは{request}です";
    NEVER_LET_GO: "{count} of {all} requests were never let go", "{all} 件の要求のうち {count} 件を出せませんでした";
    WAITING_FOR_DEVICE: "waiting for the device", "デバイスの待機";
    DRIVING_REACTOR: "driving the reactor", "要求の受け渡し";
    CLOCK_STANDS_STILL: "the clock stands still", "時計が進みません";
    TIME_HARDLY_PASSES: "{operations} requests took {elapsed}, so that the time set would hardly ever pass: limit their number",
        "{operations} 件の要求が {elapsed} で終わり、指定した時間になかなか達しません。要求の数を制限してください";

    // Data.
    WRONG_DATA: "wrong data at offset {offset}", "オフセット {offset} のデータが誤っています";
    ZEROES_INSTEAD: "zeroes instead of what was written", "書き込んだ内容ではなくゼロです";
    OLDER_WRITE: "an older write (number {found} instead of {expected}): a write was lost",
        "古い書き込みです({expected} 番ではなく {found} 番)。書き込みが失われました";
    NEWER_WRITE: "write number {found} although number {expected} was the last",
        "最後の書き込みは {expected} 番のはずが {found} 番です";
    OTHER_WRITE: "write number {found} instead of {expected}: a write was lost",
        "{expected} 番ではなく {found} 番の書き込みです。書き込みが失われました";
    MISDIRECTED: "data that belong at offset {belongs_at}: misdirected", "オフセット {belongs_at} にあるべきデータです(書き込み先の誤り)";
    OF_ANOTHER_RUN: "data of another run: never written, or lost",
        "別の実行のデータです。書き込まれなかったか、失われました";
    OF_ANOTHER_SEED: "data of another run (seed {seed}): never written, or lost",
        "別の実行(シード {seed})のデータです。書き込まれなかったか、失われました";
    TORN_WRITE: "a torn write: new and old data meet at byte {byte} of it",
        "書き込みが途中で切れています。{byte} バイト目で新旧のデータが接しています";
    BITS_CHANGED: "{bits} bits changed, the first in byte {byte} of the sector",
        "{bits} ビットが変化しています。最初はセクターの {byte} バイト目です";
    UNRECOGNISED: "data that were not written here by this run", "この実行がここに書いたデータではありません";
    UNRECOGNISED_OR_DAMAGED: "data that were not written here by this run, or a damaged mark",
        "この実行がここに書いたデータではないか、目印が壊れています";
    WRONG_BEHIND_MARK: "the right write, with other bytes behind its mark",
        "正しい書き込みですが、目印より後のバイトが違います";
    WRONG_BYTE: "other bytes than the one that was written all over", "全体に書いたバイトとは違うバイトです";

    // What a load is made of.
    TOO_MANY_SIZES: "`{text}`: at most {most} sizes", "`{text}`: サイズは {most} 個までです";
    SIZE_WEIGHT: "`{word}`: a weight is a whole number from 1 to 1000", "`{word}`: 重みは 1 から 1000 までの整数です";
    SMALLER_FIRST: "`{word}`: the smaller size comes first", "`{word}`: 小さいサイズを先に書いてください";
    LOAD_SIZE: "`{text}`: expected a size such as 4KiB, 512..64KiB, or 4KiB * 3, 64KiB, of whole sectors of 512 bytes up to 16MiB",
        "`{text}`: 4KiB、512..64KiB、または 4KiB * 3, 64KiB のようなサイズを指定してください。16MiB までの、512 バイトのセクターの倍数です";
    LOAD_PLACES: "`{text}`: expected uniform, hot 80:20 (80 % of requests go to 20 % of the bytes) or zipf 0.9 (an exponent from 0.01 to 2)",
        "`{text}`: uniform、hot 80:20(要求の 80 % が 20 % のバイトに集まる)、zipf 0.9(指数は 0.01 から 2)のどれかです";
}
