//! Why a container is not opened or made, in every language.

words::catalogue! {
    HEADER_DAMAGED: "the header is damaged: {what}", "ヘッダーが壊れています: {what}";
    HEADER_NOT_KNOWN: "the {what} `{name}` is not known", "{what} `{name}` は未知です";
    VERSION_UNKNOWN: "LUKS version {version} is not known; 1 and 2 are",
        "LUKS のバージョン {version} は未知です(使えるのは 1 と 2)";
    NO_SLOT_OPENS: "no key slot opens with this passphrase",
        "このパスフレーズで開くキースロットがありません";
    DIGEST_LENGTH: "a digest of {length} bytes", "ダイジェストが {length} バイト";
    KEY_LENGTH: "a key of {bytes} bytes", "鍵が {bytes} バイト";
    SECTORS_TORN: "its sectors have {block_bytes} bytes, the blocks of the device below {below}, so that a crash may tear one; give its files the same (file:PATH?block={block_bytes})",
        "セクターは {block_bytes} バイト、下のデバイスのブロックは {below} バイトで、クラッシュ時にセクターが分断されます。ファイルも同じ大きさにしてください(file:PATH?block={block_bytes})";
    DATA_MISALIGNED: "the data begin at {offset}, which is no whole block of {block} bytes",
        "データの先頭 {offset} が {block} バイトのブロックの境界にありません";
    DATA_DO_NOT_FIT: "data of {size} bytes at {offset} do not fit a device of {device} bytes",
        "{offset} からのデータ {size} バイトが {device} バイトのデバイスに収まりません";
    REQUESTS_TOO_SHORT: "requests below are shorter than a sector of {block} bytes",
        "下のデバイスの要求が {block} バイトのセクターより小さい";
    PAST_THE_END: "the header reaches past the device's end",
        "ヘッダーがデバイスの末尾を越えています";
    PASSPHRASE_EMPTY: "the passphrase is empty", "パスフレーズが空です";
    SECTOR_SIZES: "sectors of a container have 512, 1024, 2048 or 4096 bytes",
        "コンテナーのセクターは 512、1024、2048、4096 バイトのどれかです";
    SLOT_STATE: "slot {index} is neither active nor inactive",
        "スロット {index} が有効でも無効でもない";
    NAME_NO_TEXT: "a name is no text", "名前がテキストでない";
    NO_CONTAINER: "it is no LUKS container: it does not begin as one",
        "LUKS コンテナーではありません(先頭が異なります)";
    HEAD_WRONG: "its head makes no sense", "先頭部分の値がおかしい";
    CHECKSUM_DIFFERS: "its checksum is another", "チェックサムが一致しない";
    JSON_NO_HEADER: "its JSON, line {line}: no header", "JSON の {line} 行目: ヘッダーではない";
    SEGMENTS: "{count} segments of data; one is known",
        "データのセグメントが {count} 個あります(使えるのは 1 個)";
    NO_DIGEST: "no digest of the data's key", "データの鍵のダイジェストがない";
    SLOT_NUMBER: "slot {number}", "スロット {number}";
    SLOT_COUNT: "{count} key slots", "キースロットが {count} 個";
    AREA_IN_HEADER: "its area lies in the header", "領域がヘッダーと重なっている";
    DERIVATION_LACKS: "a derivation lacks a number", "鍵導出の数値が足りない";
    INTEGRITY_TAGS: "its data carry tags of integrity, which are not known",
        "データに完全性タグが付いており、対応していません";
    SECTOR_LENGTH: "sectors of {bytes} bytes", "セクターが {bytes} バイト";
    HEADER_NO_NUMBER: "a number is none", "数値でない";
    NO_BASE64: "bytes that are no base64", "base64 でないバイト列";
    REQUIREMENT: "requirement", "必須機能";
    CHECKSUM: "checksum", "チェックサムの方式";
    HASH: "hash", "ハッシュ";
    CIPHER: "cipher", "暗号方式";
    KIND_OF_SLOT: "kind of slot", "スロットの種類";
    KEY_DERIVATION: "derivation of keys", "鍵の導出";
    KIND_OF_SEGMENT: "kind of segment", "セグメントの種類";
    FLAG_OF_SEGMENT: "flag of a segment", "セグメントのフラグ";
    KIND_OF_DIGEST: "kind of digest", "ダイジェストの種類";
    NO_ITERATION: "PBKDF2 with no iteration", "PBKDF2 の反復が 0 回";
    ITERATIONS: "{iterations} iterations of PBKDF2; at most {iterations_max}",
        "PBKDF2 の反復が {iterations} 回(上限 {iterations_max})";
    ARGON2_MEMORY: "Argon2 wants {memory_kib} KiB of memory; at most {most}",
        "Argon2 がメモリー {memory_kib} KiB を要求しています(上限 {most})";
    ARGON2_PARALLELISM: "a parallelism of {parallelism} in Argon2; at most {parallelism_max}",
        "Argon2 の並列度が {parallelism}(上限 {parallelism_max})";
    ARGON2_WORK: "{passes} passes of Argon2 over {memory}; at most {most} altogether",
        "Argon2 が {memory} を {passes} 回処理します(合計の上限 {most})";
    KEY_OF_XTS: "a key of {bytes} bytes; AES in XTS mode has 32 or 64",
        "鍵が {bytes} バイトです(XTS モードの AES は 32 か 64)";
    STRIPES: "{count} stripes, not {stripes}", "ストライプが {stripes} でなく {count} 個";
    STRIPES_ROOM: "{bytes} bytes of stripes in {room} bytes",
        "ストライプ {bytes} バイトに対して領域が {room} バイト";
    SECOND_HEADER_DAMAGED: "the second copy of the header is damaged, so the first is used; `cryptsetup repair` mends it",
        "ヘッダーの 2 つ目の写しが壊れているため、1 つ目を使います。`cryptsetup repair` で修復できます";
    FIRST_HEADER_DAMAGED: "the first copy of the header is damaged, so the second is used; `cryptsetup repair` mends it",
        "ヘッダーの 1 つ目の写しが壊れているため、2 つ目を使います。`cryptsetup repair` で修復できます";
    NO_ARGON2: "no Argon2", "Argon2 でない";
    NO_AES_KEY: "no key of AES", "AES の鍵でない";
}
