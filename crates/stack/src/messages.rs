//! What is wrong with a stack text, in every language.

words::catalogue! {
    AT_BYTE: "stack text, byte {position}", "スタック記法のバイト {position}";
    AT_BYTE_OF: "stack text `{text}`, byte {position}", "スタック記法 `{text}` のバイト {position}";
    FOUND_INSTEAD: "found `{found}`, expected {expected}", "`{found}` があります。ここに必要なもの: {expected}";
    ENDS_INSTEAD: "the text ends, expected {expected}", "ここで終わっています。必要なもの: {expected}";
    EXPECTED_HERE: "expected {expected}", "指定できるもの: {expected}";
    WITH_HINT: "{text}; {hint}", "{text}。{hint}";

    // What was expected.
    A_DEVICE: "a device", "デバイス";
    END_OF_TEXT: "the end of the text", "記述の終わり";
    OPTION_OR_DEVICE: "an option or a device", "オプションかデバイス";
    COMMA_OR_BRACKET: "`,` or `)`", "`,` か `)`";
    NAME_OF_OPTION: "the name of an option", "オプションの名前";
    EQUALS_AFTER: "`=` after `{name}`", "`{name}` の後の `=`";
    OPTION_ONCE: "each option once: `{name}` was given before", "各オプションは 1 回だけ(`{name}` は指定済み)";
    VALUE_OF_OPTION: "{expected} for `{name}`", "`{name}` の値({expected})";
    CLOSING_QUOTE: "a closing quote", "閉じる引用符";
    ESCAPED_LETTER: "`\"` or `\\` after the `\\` in quotes", "引用符の中の `\\` の後に `\"` か `\\`";
    ESCAPED_BYTE: "two hexadecimal digits from 80 to ff after `\\x`", "`\\x` の後に 80 から ff までの 16 進数 2 桁";
    LAYERS_MAX: "at most {most} layers in each other", "重ねる層は最大 {most}";
    SCHEME_AND_ADDRESS: "`{scheme}:` and {address}", "`{scheme}:` と{address}";
    ONE_DEVICE: "1 device", "デバイス 1 個";
    SEVERAL_DEVICES: "{count} devices", "デバイス {count} 個";
    DEVICES_IN_IT: "{devices} in it, not {count}", "中に{devices}(現在 {count} 個)";
    AT_LEAST_IN_IT: "at least {devices} in it, not {count}", "中に{devices}以上(現在 {count} 個)";
    AT_MOST_IN_IT: "at most {devices} in it, not {count}", "中に{devices}まで(現在 {count} 個)";
    LAYER_NAMES: "a layer: {names}", "層: {names}";
    LEAF_NAMES: "a leaf: {names}", "リーフ: {names}";
    OPTION_NAMES: "an option of {of}: {names}", "{of} のオプション: {names}";
    NO_OPTIONS: "no option: {of} has none", "オプションなし({of} にはありません)";
    OR_LAST: "{first} or {last}", "{first}、{last}";

    // What a value has to be.
    STACK_SIZE: "a size (64KiB)", "サイズ(64KiB)";
    COPIES_LAYOUT: "a layout of copies (n2, f2, o2)", "複製のレイアウト(n2、f2、o2)";
    WHOLE_COUNT: "a whole number", "整数";
    FRACTION: "a number from 0 to 1", "0 から 1 までの数";
    STACK_DURATION: "a duration (50ms)", "時間(50ms)";
    A_PATH: "a path", "パス";
    NAME_OR_PATH: "a name or a path", "名前かパス";
    AN_EXPORT: "an export (//HOST/EXPORT)", "エクスポート(//HOST/EXPORT)";
    AN_IMAGE: "an image (POOL/IMAGE)", "イメージ(POOL/IMAGE)";
    BYTE_RANGES: "ranges (4KiB+512;1MiB+64KiB)", "範囲(4KiB+512;1MiB+64KiB)";
    NO_RANGES: "`{text}` is no list of ranges", "`{text}` は範囲のリストではありません";

    // Further help.
    NAME_MEANT: "did you mean `{name}`?", "`{name}` のことですか?";
    QUOTE_ADDRESS: "put an address that holds spaces, commas or brackets in quotes",
        "空白、コンマ、括弧のあるアドレスは引用符で囲んでください";
    QUOTE_PATH: "put a path that holds brackets in quotes", "括弧のあるパスは引用符で囲んでください";
    FILE_OF_NAME: "for a file of that name write `{spelling}`", "その名前のファイルなら `{spelling}` と書いてください";

    // Options that a tree has.
    OPTION_TWICE: "{name} is given twice", "{name} が 2 回指定されています";
    OTHER_NUMBER: "{setting} is no number of the kind that is needed", "{setting}: ここで使える数ではありません";

    // Trees that are not built.
    MISSING_ONLY_MEMBER: "`missing` can stand only for a member of an array with redundancy",
        "`missing` は冗長性のあるアレイのメンバーの代わりにだけ書けます";
    BLOCK_TOO_LARGE: "a block must be smaller than 4GiB", "ブロックは 4GiB 未満にしてください";
    NO_RBD_IMAGE: "no rbd:POOL/IMAGE", "rbd:POOL/IMAGE ではありません";
}
