//! What suites are run on, what their settings take and why they fail, in every language.

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
    SAID_TOO_MUCH: "{what} said more than {most} MiB", "{what}: 出力が {most} MiB を超えました";
    STARTING_SHELL: "{what}: starting sh", "{what}: sh の起動";
    STATUS: "status {code}", "ステータス {code}";
    SIGNAL: "signal {number}", "シグナル {number}";
    PROGRAM_ENDED_WITH: "{what} ended with {how}{said}", "{what}: {how} で終了しました{said}";
    WAITING: "{what}: waiting", "{what}: 待機";
    TOOK_TOO_LONG: "{what} took longer than its time limit of {limit} (time_limit){said}",
        "{what}: 制限時間 {limit}(time_limit)を超えました{said}";
    A_PIPE: "a pipe", "パイプ";
    SYNCING: "syncing {path}", "{path} の同期";

    // Commands of one's own.
    THE_COMMAND: "the command", "コマンド";
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

    // Settings that contradict each other, or the target.
    WORKS_ON_FILES: "{suite} works on files: name a folder", "{suite} はファイルを使います。フォルダーを指定してください";
    CHUNK_POWER: "chunk {chunk}: expected a power of two from 256 bytes to 1MiB",
        "chunk {chunk}: 256 バイトから 1MiB までの 2 の累乗を指定してください";
    CHUNK_FOR_DIRECT: "chunk {chunk}: direct I/O moves whole blocks; expected at least 4KiB",
        "chunk {chunk}: ダイレクト I/O はブロック単位です。4KiB 以上を指定してください";
    SMALLEST_IS_LARGER: "the smallest file is larger than the largest", "最小のファイルが最大のファイルより大きくなっています";
    FOLDERS_FOR_FILES: "{folders} folders for {files} files: expected at most one for each",
        "ファイル {files} 個にフォルダーが {folders} 個あります。ファイルの数以下にしてください";
    CACHE_COULD_HOLD: "size {size}: a cache could hold it: expected at least twice the memory, {least} MiB, or check_memory=false",
        "size {size}: キャッシュに収まってしまいます。メモリーの 2 倍の {least} MiB 以上か、check_memory=false を指定してください";
    SIZE_OF_A_CHUNK: "size {size}: expected at least one chunk", "size {size}: 1 チャンク以上を指定してください";
    NO_FILES_AT_ALL: "no large file (io=false) and no small ones (files=0): nothing could be measured",
        "大きなファイルも(io=false)小さなファイルも(files=0)なく、測定するものがありません";
    NOTHING_TO_COPY: "no bytes and no files: nothing could be measured", "バイト数もファイル数も 0 で、測定するものがありません";
    TEST_OUTGROWS_TARGET: "the target has {bytes} bytes, too few for a test of {size}",
        "対象は {bytes} バイトで、{size} のテストには足りません";
    TARGET_HAS_ONLY: "the target has only {bytes} bytes", "対象は {bytes} バイトしかありません";
    RAW_ROWS_ARE_DIRECT: "a raw target has only direct rows; name a folder to measure the page cache",
        "デバイスにはダイレクト I/O の行だけがあります。ページキャッシュを測定するにはフォルダーを指定してください";
    TEST_DATA_TO_READ_ONLY: "crystal writes its test data first, and the target is read-only",
        "crystal は最初にテストデータを書き込みますが、対象は読み取り専用です";
    TEST_SIZE: "a test size of {bytes} bytes is not possible: whole MiB from 1 MiB to 64 GiB",
        "テストのサイズは {bytes} バイトにできません。1 MiB から 64 GiB までの MiB 単位です";
    RUNS_TOO_MANY: "{runs} runs are not possible: 1 to {most}", "{runs} 回の実行はできません。1 から {most} までです";
    RUN_WITHOUT_TIME: "a run needs more than no time", "1 回の時間は 0 にできません";
    NO_ROW_NAMED: "only `{only}`: no row of this profile has that in its name; the rows are {rows}",
        "only `{only}`: このプロファイルに、名前にこれを含む行はありません。行は {rows} です";
    NO_MIX: "a mix with {percent} % reads is none: 1 to 99", "読み込み {percent} % では混合になりません。1 から 99 までです";
    BLOCK_MIN_POWER: "block_min: {size}: a power of two from 4KiB on is needed",
        "block_min: {size}: 4KiB 以上の 2 の累乗が必要です";
    BLOCK_MAX_RANGE: "block_max: {size}: from block_min ({least}) to 16MiB",
        "block_max: {size}: block_min({least})から 16MiB までです";
    SIZE_OF_MEBIBYTES: "size: {size}: whole MiB are needed", "size: {size}: MiB の整数倍が必要です";
    WHOLE_MEBIBYTES: "size: whole MiB from {least} on are needed", "size: {least} 以上で、MiB の整数倍が必要です";
    POINT_WITHOUT_TIME: "time: a point needs more than no time", "time: 1 点の時間は 0 にできません";
    USED_OF_TARGET: "used: the target has {bytes} bytes", "used: 対象は {bytes} バイトです";
    NO_ROOM_IN_STREAMS: "sizes, streams: {streams} streams in {used} bytes have no room for a request of {longest}",
        "sizes, streams: {used} バイトに {streams} 本の流れでは、{longest} バイトの要求が入りません";
    ZEROS_UNVERIFIED: "zeros name no place that could be compared: verify = \"off\" goes with them",
        "ゼロは位置を示さないため比較できません。verify = \"off\" と一緒に指定してください";
    FOR_CLOSED_LOOP: "it is for a closed loop, and rate asks for an open one",
        "応答を待つ負荷のためのものですが、rate は応答を待たない負荷を指定します";
    PULL_MAKES_DRIVES: "the test makes drives of its own, on this machine: run it from a plan, or by hand with `raidloom pull`",
        "このテストは自前のドライブをこのマシンに作ります。プランから実行するか、`raidloom pull` で直接実行してください";
    NO_FILES_AS_DEVICES: "nobody here opens files as devices", "ここではファイルをデバイスとして開けません";

    // Recordings.
    WHICH_RECORDING: "which recording is replayed? (file = \"load.rec\")", "再生する記録を指定してください(file = \"load.rec\")";
    THE_RECORDING: "the recording {path}", "記録 {path}";
    RECORDING_IS_EMPTY: "there is no request in it", "要求が入っていません";
    NO_READ_IN_IT: "there is no read in it, and operations = \"reads\" asks for them",
        "読み込みが入っていませんが、operations = \"reads\" で指定されています";
    RECORDING_HAS_NO_TIMES: "the recording does not say when requests were submitted: mode = \"fast\" needs no times",
        "記録に、要求を出した時刻がありません。mode = \"fast\" なら時刻は要りません";
    RECORDING_HAS_NO_ANSWERS: "the recording does not say when requests were answered, so that nobody knows what waited for what: mode = \"open\" or \"fast\" needs no answers",
        "記録に応答の時刻がなく、何が何を待ったかわかりません。mode = \"open\" か \"fast\" なら応答は要りません";
    NO_SUCH_REQUEST: "a request of {length} bytes at {offset} is none that a device could take",
        "{offset} からの {length} バイトの要求は、どのデバイスでも受けられません";
    REQUEST_OUTGROWS_TARGET: "a request of {longest} bytes is longer than the target, which has {bytes}",
        "{longest} バイトの要求は、{bytes} バイトの対象より長くなります";
    RECORDING_REACHES: "the recording reaches to byte {last} and the target has {bytes}: fit = \"keep\" makes the space between what it touches narrower",
        "記録はバイト {last} まで届き、対象は {bytes} バイトです。fit = \"keep\" なら、使われる範囲の間を詰めます";
    RECORDING_TOUCHES: "the recording touches {touched} bytes, {needed} with what lies between them, and the target has {bytes}: fit = \"fold\" lays several places over each other",
        "記録が使うのは {touched} バイト、間を含めて {needed} バイトで、対象は {bytes} バイトです。fit = \"fold\" なら、複数の位置を重ねます";

    // Steps around what is measured.
    PREPARING_DEVICE: "preparing the device", "デバイスの準備";
    WRITING_TEST_DATA: "writing the test data", "テストデータの書き込み";
    WRITING_TOUCHED: "writing what the recording touches", "記録が使う範囲の書き込み";
    RESTING: "resting", "休止";
    FLUSH_BEFORE_RUN: "flush before the run", "測定前のフラッシュ";
    FLUSH_AFTER_RUN: "flush after the run", "測定後のフラッシュ";
    FLUSH_BEFORE_TEST: "flush before the test", "テスト前のフラッシュ";
    FLUSH_AFTER_TEST: "flush after the test", "テスト後のフラッシュ";
    FLUSH_BEFORE_REPLAY: "flush before the replay", "再生前のフラッシュ";
    FLUSH_AFTER_REPLAY: "flush after the replay", "再生後のフラッシュ";
    READING_WRITES_BACK: "reading back what was written", "書き込んだ内容の読み直し";
    READING_ALL_BACK: "reading everything back after the last row", "最後の行の後の、全体の読み直し";
    READING_TESTS_BACK: "reading everything back after the last test", "最後のテストの後の、全体の読み直し";
    EMPTYING_PAGE_CACHE: "emptying the page cache", "ページキャッシュの破棄";
    LOAD_PANICKED: "a thread of the load has panicked", "負荷のスレッドが異常終了しました";

    // Files that suites make.
    SUITE_MAKES: "making {path}", "{path} の作成";
    SUITE_OPENS: "opening {path}", "{path} を開く";
    SUITE_WRITES: "writing {path}", "{path} への書き込み";
    SUITE_CUTS: "cutting {path}", "{path} の切り詰め";
    SUITE_READS: "reading {path}", "{path} の読み込み";
    SUITE_LISTS: "listing {path}", "{path} の一覧";
    SUITE_LOOKS_AT: "looking at {path}", "{path} の参照";
    SUITE_DELETES: "deleting {path}", "{path} の削除";
    SUITE_UNCACHES: "uncaching {path}", "{path} のキャッシュの破棄";
    SYNCING_FILE_SYSTEM: "syncing the file system", "ファイルシステムの同期";
    THE_LARGE_FILE: "the large file", "大きなファイル";
    SHOULD_BE_ZERO: "it should be zero", "0 のはずです";
    FROM_BYTE_ON: "from byte {byte} on {mismatch}, counted over the data of all files",
        "{byte} バイト目から、{mismatch}(オフセットは全ファイルを通した位置)";
    NOBODY_MADE_IT: "a file that nobody made", "作成していないファイルです";
    HAS_BYTES_INSTEAD: "it has {found} bytes instead of {expected}", "{expected} バイトのはずが {found} バイトです";
    BYTE_OF_FILE: "{path}, byte {byte}", "{path} の {byte} バイト目";
    NOT_WHAT_WAS_WRITTEN: "not what was written there", "書き込んだ内容と違います";

    // fio's jobs and servers.
    FIO_NOT_INSTALLED: "fio is not installed here (package fio)", "fio がインストールされていません(パッケージ fio)";
    FOLDER_FOR_JOBS: "a folder for fio's jobs", "fio のジョブのフォルダー";
    FILE_FOR_JOBS: "a file for fio's jobs", "fio のジョブのファイル";
    NO_FIO_SERVER: "no `fio --server` answers there", "`fio --server` の応答がありません";
    NO_FIO_SAYS_SO: "no fio that says so", "バージョン不明";
    CLIENT_EXPECTED: "`{text}`: expected HOST or HOST:PORT", "`{text}`: HOST か HOST:PORT を指定してください";
    CLIENT_NAMED_TWICE: "{client} is named twice", "{client} が 2 回指定されています";
    NO_CLIENT_NAMED: "no client is named", "クライアントが指定されていません";
    CLIENT_HAS: "{client} has {version}", "{client} は {version}";
    FIO_VERSIONS_DIFFER: "{others}, and this machine {own}: install the same fio on all of them",
        "{others}、このマシンは {own} です。すべてに同じ fio をインストールしてください";
    CLIENT_DID_NOT_END: "{client} did not come to the end: its figures are missing, and those of the others are no answer",
        "{client} が終わりまで実行されませんでした。その数値がなく、ほかの数値だけでは答えになりません";
    LINE_OF_JOB: "line {number}", "{number} 行目";
    SECTION_FIRST: "expected [global] or the [name] of a job first", "最初に [global] かジョブの [name] が必要です";
    TWO_JOBS: "two jobs are called [{name}]: they cannot be told apart", "[{name}] というジョブが 2 つあり、区別できません";
    NO_JOB_IN_IT: "no job in it: expected a job file of fio's, with a [name] and options below it",
        "ジョブがありません。[name] とその下にオプションがある fio のジョブファイルを指定してください";
    LONG_LINE_OF_JOB: "a line of more than {most} bytes", "{most} バイトを超える行です";
    NO_NAME_OF_JOB: "[{name}]: no name for a job, whose files are called after it",
        "[{name}]: ジョブの名前に使えません(ファイルの名前にもなります)";
    INCLUDE_IN_JOB: "`include` is not followed: put the file's text here",
        "`include` は読みません。そのファイルの内容をここに書いてください";
    NEW_GROUP_IN_JOB: "`new_group` makes groups that run at the same time: use stonewall, or one group",
        "`new_group` は同時に実行するグループを作ります。stonewall か 1 つのグループを使ってください";
    NO_OPTION_OF_JOB: "`{name}` is none of the options that a job may have here: what names commands, logs, devices or files of its own is not taken, nor what changes the machine",
        "`{name}` は、ここでジョブに使えるオプションではありません。コマンド、ログ、自前のデバイスやファイルを指定するものと、マシンを変更するものは使えません";
    VALUE_IN_JOB: "{name}={value}: expected {expected}", "{name}={value}: 指定できるのは{expected}です";
    JOB_WORDS: "numbers and words, and no path or variable", "数値と語(パスと変数は不可)";
    JOB_PATTERN: "numbers, or text in double quotes, and no file", "数値か、二重引用符で囲んだ文字列(ファイルは不可)";
    JOB_TEXT: "a text without `$`, `\\` or backquote", "`$`、`\\`、逆引用符のない文字列";
    JOB_FOLDER: "a folder of the target: {folder} or {folder}/NAME; without the option jobs work in a fresh one",
        "対象のフォルダー({folder} か {folder}/NAME。オプションがなければ新しいフォルダー)";
    JOB_FILE: "a file of the target: {folder}/NAME, or {device}; without the option jobs have files of their own, or the device",
        "対象のファイル({folder}/NAME か {device}。オプションがなければ自前のファイルかデバイス)";
    JOB_FILE_NAMES: "words with $jobname, $jobnum and $filenum, and no path",
        "$jobname、$jobnum、$filenum を含む語(パスは不可)";
    JOB_ENGINES: "one of {names}", " {names} のどれか";

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
