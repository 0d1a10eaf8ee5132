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
    OFFSET_WITH_SUPERBLOCKS: "offset is for members without superblocks", "offset はスーパーブロックのないメンバーのためのものです";
    EXTENT_IS_READ: "an extent is only read: extent=yes excludes write=yes and snapshot=",
        "エクステントは読み取り専用です。extent=yes は write=yes や snapshot= と一緒に使えません";
    SNAPSHOT_IS_READ: "a snapshot is only read: write=yes and snapshot= exclude one another",
        "スナップショットは読み取り専用です。write=yes と snapshot= は一緒に使えません";
    MAKING_FILE_LONG: "making its file {size} long", "ファイルの長さを {size} にする";
    PATH_NAMED_TWICE: "{path} is named twice", "{path} が 2 回指定されています";
    SAME_FILE: "{earlier} and {later} are the same file; every member needs a file or device of its own",
        "{earlier} と {later} は同じファイルです。メンバーごとに別のファイルかデバイスが必要です";
    FILE_TWICE: "{place} stands in the stack twice; every member needs a file or device of its own",
        "{place} がスタックに 2 回あります。メンバーごとに別のファイルかデバイスが必要です";
    IMAGE_TWICE: "{place} stands in the stack twice; every member needs an image of its own",
        "{place} がスタックに 2 回あります。メンバーごとに別のイメージが必要です";
    EXPORT_TWICE: "{place} stands in the stack twice; every member needs an export of its own",
        "{place} がスタックに 2 回あります。メンバーごとに別のエクスポートが必要です";
    SAY_SOCKET: "say where the server listens: {address}?socket=PATH",
        "サーバーのソケットを指定してください: {address}?socket=PATH";
    CONNECTIONS_RANGE: "connections={connections}: expected 1 to {most}",
        "connections={connections}: 1 から {most} までです";
    SAY_ROOTS: "say which roots its certificate may lead to: tls_ca=FILE (PEM)",
        "証明書のルートを指定してください: tls_ca=FILE(PEM)";
    CERTIFICATE_AND_KEY: "tls_cert and tls_key are said together", "tls_cert と tls_key は一緒に指定します";
    BLOCK_TOO_LARGE: "a block must be smaller than 4GiB", "ブロックは 4GiB 未満にしてください";
    NO_RBD_IMAGE: "no rbd:POOL/IMAGE", "rbd:POOL/IMAGE ではありません";

    // Members and their superblocks.
    NO_SUPERBLOCK_ON_IT: "{name}: no md superblock of version {versions} on it; metadata=none uses whole members",
        "{name}: バージョン {versions} の md スーパーブロックがありません。metadata=none ならメンバー全体を使います";
    SUPERBLOCK_IS_DAMAGED: "{name}: its superblock of version {version} is damaged: {problem}",
        "{name}: バージョン {version} のスーパーブロックが壊れています: {problem}";
    OTHER_SUPERBLOCK_VERSION: "{name}: its superblock has version {own}, and the text says metadata={said}",
        "{name}: スーパーブロックのバージョンは {own} ですが、記述は metadata={said} です";
    TEXT_SAYS: "{newest}: {field} is {found}, and the text says {text}",
        "{newest}: {field} は {found} ですが、記述は {text} です";
    WRITE_MISSING: "{why}; write `missing` in its place to go on without it",
        "{why}。その場所に `missing` と書けば、なしで続けられます";
    PLACES_NAMED: "{newest}: the array has {places} places (raid_disks), and the text names {named}; `missing` stands for a member that is not there",
        "{newest}: アレイの場所は {places} 個(raid_disks)ですが、記述は {named} 個です。ないメンバーは `missing` と書きます";
    STANDS_IN_PLACE: "{name}: it is {role} (dev_roles) and stands in place {place}; the order of the roles is {order}",
        "{name}: 役割は{role}(dev_roles)ですが、{place} 番目に書かれています。役割の順は {order} です";
    PLACE_MISSING: "missing", "欠落";
    ROLE_OF_ARRAY: "{role} of array {array} ({uuid})", "アレイ {array}({uuid})の{role}";
    TAKING_DOWN_DEVICE: "taking down what the cache's device below is like", "キャッシュの下のデバイスの記録";
    WHOLE_MEMBERS: "metadata=none the whole members, superblocks and all",
        "metadata=none ならスーパーブロックも含めメンバー全体を使います";
    CARRIES_SUPERBLOCK: "{member} carries an md superblock: it is {array}. metadata={version} uses the array, {whole}",
        "{member} には md スーパーブロックがあります({array})。metadata={version} ならそのアレイを、{whole}";
    CARRIES_DAMAGED: "{member} carries an md superblock of version {version} that is damaged; `raidloom array examine` shows it. metadata={version} uses the array once it is mended, {whole}",
        "{member} には壊れたバージョン {version} の md スーパーブロックがあります(`raidloom array examine` で表示)。metadata={version} なら修復後にそのアレイを、{whole}";
    FIRMWARE_RAID: "{member} is a member of a firmware RAID ({format}), which raidloom does not read. metadata=none uses the whole members, what the firmware wrote and all",
        "{member} はファームウェア RAID({format})のメンバーで、raidloom は読めません。metadata=none ならその内容も含めメンバー全体を使います";
    IS_STALE_AND_OUT: "it is stale, and left out of its array",
        "古いため、アレイから外されています";

    // What a stack is made of.
    NO_PROGRAMS: "{image}: this stack may not start programs",
        "{image}: このスタックはプログラムを起動できません";
    NO_FILES: "{path}: this stack may not open files", "{path}: このスタックはファイルを開けません";
    DEVICE_COUNT: "{name}: {count} devices; it stands on {least} to {most}",
        "{name}: デバイスが {count} 台です。{least} から {most} 台の上に置きます";
    NO_REDUNDANCY_FOR_MISSING: "{name}: a member is `missing`, and {name} has no redundancy to do without it",
        "{name}: メンバーが `missing` ですが、{name} には補う冗長性がありません";
    PROMOTE_AFTER: "cache: promote_after={promote_after}: expected a number from 1 to 15",
        "cache: promote_after={promote_after}: 1 から 15 の数を指定してください";
    PASSPHRASE_MEMORY: "its passphrase takes {size} of memory",
        "パスフレーズにメモリーが {size} 必要です";
    PASSPHRASE_ARGON2: "{text} (Argon2), more than this machine can spare",
        "{text}(Argon2)。このマシンの余裕を超えます";
    TRACE_WHERE_NAMED: "record: {trace} stands where the trace is named: record(file:PATH, DEVICE)",
        "record: {trace} が記録の名前の位置にあります: record(file:PATH, DEVICE)";
    NO_TRACE: "record: {trace} cannot be a trace; name a file, without options: record(file:PATH, DEVICE)",
        "record: {trace} は記録になりません。オプションなしでファイルを指定してください: record(file:PATH, DEVICE)";
    // What is to be known of a stack.
    THROUGH_PAGE_CACHE: "through the page cache, for direct I/O is not to be had: {reason}",
        "ページキャッシュを経由します(ダイレクト I/O が使えません: {reason})";
    NOT_KEPT_APART: "nothing keeps another server from writing to it too: only arrays with redundancy and superblocks are kept apart",
        "別のサーバーも同時に書き込めます。排他されるのは冗長性とスーパーブロックのあるアレイだけです";
    SPARE_LEFT_OUT: "{why}: this spare is left out", "{why}: この予備は使いません";
    MEMBER_IS_STALE: "is stale", "古いメンバーです";
    STALE_BY_BITMAP: "{why}. The array goes on without it, and nothing is written to it: `raidloom array add` gives it its place back and writes to it what the bitmap says it has missed",
        "{why}。アレイはこれなしで動作し、これには書き込みません。`raidloom array add` で戻すと、ビットマップが示す不足分を書き込みます";
    STALE_ANEW: "{why}. The array goes on without it, and nothing is written to it: `raidloom array add` gives it its place back and writes all of it anew from the others",
        "{why}。アレイはこれなしで動作し、これには書き込みません。`raidloom array add` で戻すと、ほかのメンバーから全体を書き直します";
    STALE_IS_NAMED: "{stale}. Where another device has its place now, name that one: `raidloom array assemble --scan [FOLDER]` shows which members are up to date. With what is named here, {refusal}",
        "{stale}。別のデバイスが代わりになっている場合は、そちらを指定してください(最新のメンバーは `raidloom array assemble --scan [FOLDER]` で確認)。この指定では、{refusal}";
    NO_PASSPHRASE_FILE: "say which file holds the passphrase: luks(passphrase_file=FILE, DEVICE)",
        "パスフレーズのファイルを指定してください: luks(passphrase_file=FILE, DEVICE)";
    PASSPHRASE_FILE_EMPTY: "it is empty; a passphrase is needed", "空です。パスフレーズが必要です";
    PASSPHRASE_TOO_LONG: "it is longer than 8MiB, which is no passphrase", "8MiB を超えており、パスフレーズではありません";
    OTHERS_MAY_READ: "{path}: others may read this passphrase; `chmod 600 {path}`",
        "{path}: ほかのユーザーがこのパスフレーズを読めます。`chmod 600 {path}` を実行してください";
    RATE_WITHOUT_LATENCY: "ram: rate is of modelled memory: say its latency as well",
        "ram: rate はモデルのメモリーの値です。latency も指定してください";
}
