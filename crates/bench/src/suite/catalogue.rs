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
    OPERATIONS_FIGURE: "operations/s", "回/秒";
    SECONDS_FIGURE: "seconds", "秒";
    NUMBER_FIGURE: "a number", "数値";
    DEFAULT_ON_CLOCKS: "{default}; {modelled} on the virtual clock", "{default}(仮想クロックでは {modelled})";
    DEFAULT_IN_PLANS: "{default}; {in_plans} in a plan", "{default}(プランでは {in_plans})";
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
    // What phases do.
    FIO_JOBS: "The jobs of one group, at the same time, as fio runs them.", "1 グループのジョブを、fio と同様に同時に実行します。";
    COMMAND_UNTIL_END: "The command, until it ends; durable when all is written out.",
        "コマンドを終わるまで実行します。永続化込みはすべて書き出すまでです。";
    FIGURE_IN_OUTPUT: "The figure {metric} in the command's output.", "コマンドの出力にある数値 {metric}。";
    READS_FIRST_AGAIN: "Reads the first 2 MiB again and again: what the nearest cache gives.",
        "先頭の 2 MiB を繰り返し読みます。最も近いキャッシュの速さです。";
    READS_FROM_START: "Reads 2 MiB after 2 MiB from the start on, with the page cache emptied before.",
        "ページキャッシュを空にしてから、先頭から 2 MiB ずつ読みます。";
    FILES_ARE_MADE: "Each file is made in its folder and written.", "各ファイルをフォルダーに作成して書き込みます。";
    FILES_ARE_READ: "Each file is opened, read and compared with what was written, in the same order.",
        "各ファイルを同じ順序で開き、読んで書いた内容と比べます。";
    FILES_ARE_DELETED: "Each file is deleted, then the folders.", "各ファイル、次にフォルダーを削除します。";
    REQUESTS_TAKE_MEMORY: "of more than {most} requests, which would take half of this machine's memory; replay a part of it: requests = {most}, or what `raidloom trace cut` leaves",
        "要求が {most} 件を超え、このマシンのメモリーの半分を使ってしまいます。一部だけを再生してください: requests = {most}、または `raidloom trace cut` で切り出したもの";
    REQUESTS_NOT_NUMBERED: "of more than {most} requests, the most that a replay can number; replay a part of it: requests = {most}, or what `raidloom trace cut` leaves",
        "要求が {most} 件を超え、再生で番号を付けられる上限を超えています。一部だけを再生してください: requests = {most}、または `raidloom trace cut` で切り出したもの";
    REQUESTS_REPLAYED: "The requests of a recording, {when}.", "記録にある要求を再生します({when})。";
    READS_REPLAYED: "The reads of a recording, {when}.", "記録にある読み込みを再生します({when})。";
    AT_THEIR_TIMES: "at their times", "記録どおりの時刻に";
    AS_THERE_IS_ROOM: "as soon as there is room", "空きがあり次第";
    AFTER_WHAT_IT_WAITED_FOR: "each after what it waited for", "それぞれ待っていたものの後に";
    WORK_COPY: "Files of 20 to 180 KB are written and closed, and nothing is synced: how many seconds of copies are lost.",
        "20〜180 KB のファイルを書いて閉じ、同期しません。失われるコピーの秒数を調べます。";
    WORK_FSYNC: "Files are written, overwritten and removed, each with fsync: whether what was acknowledged is there.",
        "ファイルの書き込み、上書き、削除を毎回 fsync します。完了を通知したものが残るかを調べます。";
    WORK_RENAME: "Files are replaced by rename, half of them with fsync before and after: whether each is the old or the new one, whole.",
        "rename でファイルを置き換え、半分は前後に fsync します。それぞれ新旧どちらかが完全に残るかを調べます。";
    WORK_APPEND: "A log grows, with fdatasync behind each block: whether all of it is there.",
        "ブロックごとに fdatasync しながらログを伸ばします。すべて残るかを調べます。";
    WORK_DATABASE: "Transactions of SQLite as it comes (synchronous FULL): whether each that was committed is there, whole.",
        "既定の SQLite のトランザクション(synchronous FULL)。確定したものがそれぞれ完全に残るかを調べます。";
    WORK_DATABASE_EXTRA: "The same with synchronous EXTRA, which syncs the folder after each.",
        "同じことを、毎回フォルダーも同期する synchronous EXTRA で行います。";
    WORK_DATABASE_WAL: "The same with a write-ahead log: whether each that was committed is there.",
        "同じことを先行書き込みログ(WAL)で行い、確定したものが残るかを調べます。";
    WORK_GENERATED: "Small works of one to three operations (create, link, rename, truncate, punch, attributes and so on), each made durable as POSIX says: whether all of it is there.",
        "1〜3 操作の小さな処理(作成、link、rename、truncate、穴あけ、属性など)を POSIX に従って永続化し、すべて残るかを調べます。";
    WORK_OWN: "The program of `work_command`: whether what it had promised is there, as `check` finds it.",
        "`work_command` のプログラム。約束したものが残るかを `check` で調べます。";
    CHARACTERS_PUT: "The file is made and written a character at a time through a buffer of 4096 bytes, as putc() does.",
        "ファイルを作り、putc() のように 4096 バイトのバッファーを通して 1 文字ずつ書きます。";
    CHARACTERS_WRITTEN: "The file is made and its first 3MiB are written by one call for every byte; then it is synced.",
        "ファイルを作り、先頭の 3MiB を 1 バイトごとの呼び出しで書き、同期します。";
    CHUNKS_WRITTEN_IN_PIECES: "The file is removed, made anew and written by one call for each chunk, in pieces of 1GiB.",
        "ファイルを作り直し、1GiB ずつに分けて、チャンクごとの呼び出しで書きます。";
    CHUNKS_WRITTEN: "The file is removed, made anew and written by one call for each chunk; then it is synced.",
        "ファイルを作り直し、チャンクごとの呼び出しで書き、同期します。";
    CHUNKS_REWRITTEN: "Each chunk is read, changed in one byte, gone back over with lseek() and written. The rate counts the file once.",
        "チャンクを読み、1 バイト変え、lseek() で戻って書きます。速度はファイル 1 回分で計算します。";
    CHARACTERS_GOT: "The file is read a character at a time through a buffer of 4096 bytes, as getc() does.",
        "getc() のように 4096 バイトのバッファーを通して 1 文字ずつ読みます。";
    CHARACTERS_READ: "The first 3MiB of the file are read by one call for every byte.",
        "先頭の 3MiB を 1 バイトごとの呼び出しで読みます。";
    CHUNKS_READ: "The file is read from its beginning by one call for each chunk.",
        "ファイルを先頭からチャンクごとの呼び出しで読みます。";
    THREE_SEEKERS: "Three seekers at the same time take one of 8192 tickets after the other: seek to a random chunk and read it. Each seeker changes and rewrites the first and then every tenth of its chunks.",
        "3 つのシーカーが同時に 8192 枚のチケットを順に取り、無作為なチャンクにシークして読みます。最初と以後 10 回ごとに、チャンクを変えて書き戻します。";
    FIVE_SEEKERS: "Five seekers at the same time take one of 8192 tickets after the other: seek to a random chunk and read it. One ticket of ten also changes the chunk and rewrites it.",
        "5 つのシーカーが同時に 8192 枚のチケットを順に取り、無作為なチャンクにシークして読みます。10 枚に 1 枚はチャンクを変えて書き戻します。";
    NAMES_ASCEND: "Files are made whose names ascend: a number, then up to twelve random letters.",
        "名前が昇順のファイル(番号と 12 文字までの無作為な文字)を作ります。";
    LOOKED_AT_IN_ORDER: "The files are looked at in the order in which the folder lists them; those with content are read.",
        "フォルダーの一覧の順にファイルの情報を調べ、内容のあるものは読みます。";
    DELETED_IN_ORDER: "The files are deleted in the order in which the folder lists them, then their folders.",
        "フォルダーの一覧の順にファイルを、次にフォルダーを削除します。";
    NAMES_DO_NOT_ASCEND: "Files are made whose names do not ascend: up to twelve random letters, then a number.",
        "名前が昇順でないファイル(12 文字までの無作為な文字と番号)を作ります。";
    LOOKED_AT_RANDOMLY: "The files are looked at in random order; those with content are read.",
        "無作為な順序でファイルの情報を調べ、内容のあるものは読みます。";
    DELETED_RANDOMLY: "The files are deleted in random order, then their folders.",
        "無作為な順序でファイルを、次にフォルダーを削除します。";
    SO_MANY_BYTES: "{bytes} bytes", "{bytes} バイト";
    BYTES_IN_RANGE: "{from} to {to} bytes, every multiple of {from} equally often",
        "{from}〜{to} バイト({from} の倍数を均等に)";
    PHASE_READS: "Reads", "読み込み";
    PHASE_WRITES: "Writes", "書き込み";
    ASCENDING_AT_START: "{way} of {size}, ascending, in a region at the start of the device.",
        "デバイスの先頭の領域に、昇順に {size} ずつ{way}。";
    ASCENDING_AT_END: "{way} of {size}, ascending, in a region at the end of the device.",
        "デバイスの末尾の領域に、昇順に {size} ずつ{way}。";
    AT_DRAWN_PLACES: "{way} of {size} at places drawn uniformly from the whole device.",
        "デバイス全体から一様に選んだ位置に {size} ずつ{way}。";
    MIXED_AT_DRAWN_PLACES: "{reads} reads to {writes} writes by number, of {size}, at places drawn uniformly from the whole device.",
        "回数で読み込み {reads} 対書き込み {writes}、{size} ずつ、デバイス全体から一様に選んだ位置で。";
    ADJACENT_READS: "Adjacent reads of {size}", "隣接する {size} の読み込み";
    ADJACENT_WRITES: "Adjacent writes of {size}, then a flush", "隣接する {size} の書き込み、最後にフラッシュ";
    PLACED_READS: "Randomly placed reads of {size}", "無作為な位置の {size} の読み込み";
    PLACED_WRITES: "Randomly placed writes of {size}, then a flush", "無作為な位置の {size} の書き込み、最後にフラッシュ";
    SO_MANY_OUTSTANDING: "{what}; {depth} outstanding.", "{what}。キュー深度 {depth}。";
    BY_CHANCE: "{what}; meant for moments that come by chance at {share} % of the curve's largest rate, latency from that moment on.",
        "{what}。曲線の最大速度の {share} % で無作為に訪れる時刻に発行し、レイテンシはその時刻から。";
    ADJACENT: "Adjacent", "隣接する位置の";
    RANDOMLY_PLACED: "Randomly placed", "無作為な位置の";
    ROW_READS: "reads", "読み込み";
    ROW_WRITES: "writes", "書き込み";
    ROW_MIXED: "reads and writes, {reads} to {writes} by number,", "読み込み {reads} 対書き込み {writes}(回数)";
    ONE_AT_A_TIME: "one at a time", "1 つずつ";
    OUTSTANDING_IN_EACH: "{depth} outstanding in each of {threads} threads", "{threads} スレッドでキュー深度 {depth} ずつ";
    THEN_A_FLUSH: ", then a flush", "、最後にフラッシュ";
    THROUGH_CACHE: "through the page cache", "ページキャッシュ経由";
    PAST_CACHE: "past the page cache", "ページキャッシュを避けて";
    ROW_DOES: "{places} {way} of {size}, {outstanding}{end}; {cache}.",
        "{places}{way}、{size} ずつ、{outstanding}{end}。{cache}。";
    READS_TO_WRITES: "{reads} reads to {writes} writes by number,", "読み込み {reads} 対書き込み {writes}(回数)";
    AT_PLACES: "at places: {places}", "位置: {places}";
    ONE_BEHIND_THE_OTHER: "one behind the other", "順に連続して";
    IN_STREAMS: "in {streams} streams", "{streams} 本の流れで";
    PARTLY_IN_STREAMS: "{share} % of them in {streams} streams, the others at places: {places}",
        "{share} % は {streams} 本の流れで、ほかは位置: {places}";
    OUTSTANDING: "{depth} outstanding", "キュー深度 {depth}";
    A_SECOND: "{rate} a second", "毎秒 {rate}";
    BEHIND_WRITES: ", behind {size} of writes: the speed when an SSD's cache is full",
        "、{size} を書いた後(SSD のキャッシュが満杯のときの速さ)";
    LOAD_IS: "{way} of {sizes} {places}; {loops}{filled}.", "{way}、サイズ {sizes}、{places}。{loops}{filled}。";
    SEVERAL_GROUPS: "fio ran several groups, one after the other: `suite = \"fio\"` makes a row of each",
        "fio が複数のグループを順に実行しました。`suite = \"fio\"` ならグループごとの行になります";
    FIO_OUTPUT: "fio's output", "fio の出力";

    // Why a row is not measured, and what is to be known of one.
    NO_RATE_OF_CURVE: "the curve has no rate to take a share of", "曲線に、割合を取る頻度がありません";
    RAW_HAS_NO_CACHE: "a raw target has no page cache of a file system",
        "デバイスにはファイルシステムのページキャッシュがありません";
    NO_SINGLE_BYTES: "direct I/O moves whole blocks: characters went through a buffer of 4096 bytes",
        "ダイレクト I/O はブロック単位のため、文字は 4096 バイトのバッファーを経由しました";
    WRITES_NOT_ASKED: "it writes, and only reading was asked for", "書き込みを行いますが、読み込みだけが指定されています";
    WRITES_TO_READ_ONLY: "it writes, and the device is read-only", "書き込みを行いますが、デバイスは読み取り専用です";
    BLOCK_IS_LARGER: "not possible on this device: its block is {bytes} bytes",
        "このデバイスではできません: ブロックが {bytes} バイトです";
    REQUESTS_ARE_SHORTER: "not possible on this device: it takes at most {bytes} bytes in one request",
        "このデバイスではできません: 1 回の要求は最大 {bytes} バイトです";
    DEVICE_HAS_ONLY: "not possible on this device: it has only {bytes} bytes",
        "このデバイスではできません: {bytes} バイトしかありません";
    WRITES_TO_READ_ONLY_TARGET: "it writes, and the target is read-only", "書き込みを行いますが、対象は読み取り専用です";
    NOT_BLOCKS_OF_TARGET: "its requests are not whole blocks of {bytes} bytes, as the target needs them",
        "要求が、対象に必要な {bytes} バイトのブロックの倍数ではありません";
    TARGET_TAKES_SHORTER: "the target takes at most {bytes} bytes in one request", "対象の 1 回の要求は最大 {bytes} バイトです";
    NO_ROOM_FOR_THREADS: "{threads} threads have no room for their requests in {bytes} bytes",
        "{bytes} バイトに {threads} スレッドの要求が入りません";
    REPLAY_WOULD_WRITE: "it writes, and the target is read-only; operations = \"reads\" replays what it reads",
        "書き込みを行いますが、対象は読み取り専用です。operations = \"reads\" なら読み込みだけを再現します";
}
