//! What is said of models that are not there, or cannot be used, in every language.

words::catalogue! {
    UNKNOWN_MODEL: "no model \"{name}\": {hint}`raidloom model show` names those that come with the \
        program; or give the path of a model file (./NAME.toml)",
        "モデル \"{name}\" はありません。{hint}付属のモデルは `raidloom model show` で確認できます。\
        モデルのファイルはパス(./NAME.toml)で指定してください";
    MODEL_MEANT: "did you mean {name}? ", "{name} のことですか? ";
    BUILT_IN_MODEL: "built-in model {name}", "付属のモデル {name}";
    SHINGLES_NOT_MODELLED: "writes: its tracks lie over each other like shingles, which no law here has",
        "書き込み: トラックを瓦のように重ねる方式で、ここにはその法則がありません";
    MODEL_FILE: "model file {path}", "モデルのファイル {path}";

    // Figures and units.
    ON_LINE: "line {line}: {message}", "{line} 行目: {message}";
    OTHER_UNIT: "{name} has the unit \"{given}\": it must be given in \"{unit}\"",
        "{name} の単位が \"{given}\" です。\"{unit}\" で指定してください";
    NOT_ABOVE_ZERO: "{name} is {value}: it must be a number above 0",
        "{name} が {value} です。0 より大きい数にしてください";
    TURN_TOO_SHORT: "disk.revolution is {value} ms: it must be 0, for what does not turn, or at least {least} ms",
        "disk.revolution が {value} ms です。回転しないものでは 0、それ以外では {least} ms 以上にしてください";
    VALUE_NOT_WITHIN: "{name} is {value} {unit}: it must be {from} to {to}",
        "{name} が {value} {unit} です。{from} から {to} にしてください";
    NO_MULTIPLE_OF_512: "{name} must be a multiple of 512 bytes, at least {least}",
        "{name} は {least} 以上の 512 バイトの倍数にしてください";

    // Disks.
    DISK_STANDS_STILL: "disk.revolution is 0, so nothing moves: disk.seek_root and disk.settle must be 0",
        "disk.revolution が 0 で、何も動きません。disk.seek_root と disk.settle を 0 にしてください";
    SPINDLE_SHARE: "disk.spindle_tolerance is a share, such as 0.0005; it must be at most 0.05",
        "disk.spindle_tolerance は 0.0005 のような割合です。0.05 以下にしてください";
    SEEK_LINEAR_SHARE: "disk.seek_linear_from is a share of the stroke: 0.001 to 1",
        "disk.seek_linear_from はストロークに対する割合です。0.001 から 1 にしてください";
    READ_AHEAD_IN_CACHE: "disk.read_ahead_length must fit into disk.cache_size",
        "disk.read_ahead_length は disk.cache_size 以下にしてください";
    READ_AHEAD_MULTIPLE: "disk.read_ahead_length must be a multiple of 512 bytes",
        "disk.read_ahead_length は 512 バイトの倍数にしてください";
    WRITE_WINDOW: "disk.write_window must be 1 to 4096 extents",
        "disk.write_window は 1 から 4096 エクステントにしてください";
    QUEUE_DEPTH: "disk.queue_depth must be 1 to 256 requests",
        "disk.queue_depth は 1 から 256 要求にしてください";
    KNOTS_COUNT: "disk.rate_knots needs 3 to 8 knots", "disk.rate_knots には節点が 3 から 8 個必要です";
    KNOTS_ENDS: "disk.rate_knots must begin at 0.0 and end at 1.0",
        "disk.rate_knots は 0.0 に始まり 1.0 に終わるようにしてください";
    KNOTS_ORDER: "disk.rate_knots must be in rising order of their places, at least 0.001 apart",
        "disk.rate_knots は位置の昇順に、0.001 以上の間隔で並べてください";
    PHYSICAL_BLOCK: "disk.physical_block must be a power of two from 512 bytes to 1 MiB that divides \
        disk.capacity, and disk.cache_size must hold two",
        "disk.physical_block は 512 バイトから 1 MiB までの 2 の累乗で、disk.capacity の約数にしてください。\
        disk.cache_size は 2 ブロック以上にしてください";
    PAGE: "disk.page must be a power of two from 512 bytes to disk.physical_block",
        "disk.page は 512 バイトから disk.physical_block までの 2 の累乗にしてください";
    CACHE_ENTRIES: "disk.cache_entries must be at least disk.write_window",
        "disk.cache_entries は disk.write_window 以上にしてください";
    VERIFY_AFTER: "disk.verify_after must be a multiple of disk.physical_block (512 bytes without it) that fits \
        into disk.cache_size",
        "disk.verify_after は disk.physical_block(なければ 512 バイト)の倍数で、disk.cache_size 以下にしてください";
    NO_IDLE_AFTER: "disk.destage_idle_after is missing: this disk.destage_rule needs it",
        "disk.destage_idle_after がありません。この disk.destage_rule に必要です";
    NO_WATERMARK: "disk.destage_watermark is missing or not above 0 and at most 1: this disk.destage_rule needs it",
        "disk.destage_watermark がないか、0 より大きく 1 以下ではありません。この disk.destage_rule に必要です";

    // Links and flash.
    LINK_NO_NAME: "link.name is empty: give the link a name, such as \"pci\"",
        "link.name が空です。\"pci\" のような名前を付けてください";
    FLASH_DIES: "flash.dies and flash.channels must be 1 to 4096",
        "flash.dies と flash.channels は 1 から 4096 にしてください";
    FLASH_PAGE: "flash.page must be at least 512 bytes, and flash.program_unit at least a page and at most 64 MiB",
        "flash.page は 512 バイト以上、flash.program_unit は 1 ページ以上 64 MiB 以下にしてください";
    FLASH_SPARE: "flash.spare is a share of the capacity: it must be 0.01 to 4",
        "flash.spare は容量に対する割合です。0.01 から 4 にしてください";

    // Data sheets.
    SHEET_LACKS: "{name} is missing: a model from a data sheet needs it (in \"{unit}\")",
        "{name} がありません。データシートのモデルに必要です(単位は \"{unit}\")";
    SHEET_TABLES: "a data sheet has one table, [hard_disk] or [flash]",
        "データシートに入るのは [hard_disk] か [flash] のどちらか 1 つです";
    SEEK_TOO_SHORT: "hard_disk.{name} is {value} ms: no arm moves in less than {share} of a turn, which takes \
        {turn} ms at {rpm} rpm",
        "hard_disk.{name} が {value} ms です。アームの移動には 1 回転({rpm} rpm で {turn} ms)の {share}以上かかります";
    QUARTER: "a quarter", "4 分の 1 ";
    HUNDREDTH: "a hundredth", "100 分の 1 ";
    TRACK_SEEK_TOO_LONG: "hard_disk.track_seek is {value} ms: it must be below the mean seek, {mean} ms",
        "hard_disk.track_seek が {value} ms です。平均シーク時間 {mean} ms 未満にしてください";
    PAST_INTERFACE: "{name} is {rate} MB/s: {interface} moves at most {most}",
        "{name} が {rate} MB/s です。{interface} は最大 {most} です";
    INNER_RATE: "hard_disk.inner_rate is {inner} MB/s: it must be at most the outer one, {outer}",
        "hard_disk.inner_rate が {inner} MB/s です。外周の {outer} 以下にしてください";
    ALONE_TOO_SHORT: "{name} is {value} us: cells, controller and link alone take {rest}",
        "{name} が {value} us です。セル、コントローラー、リンクだけで {rest} かかります";
    AFTER_NO_REGION: "flash.rate_after_region needs flash.region: after what?",
        "flash.rate_after_region には flash.region も必要です";

    // Published figures.
    NOT_AMONG_FACTS: "disk.{name} is neither among the facts nor in what was measured: add it to the facts",
        "disk.{name} が諸元にも測定結果にもありません。諸元に加えてください";
    FACTS_LACK: "the facts lack disk.{name}, which the fit needs",
        "当てはめに必要な disk.{name} が諸元にありません";
    FACTS_NO_BONNIE: "the facts have no table [bonnie]: how it was run is needed to read its figures",
        "諸元に [bonnie] がありません。数値を読むには、どう実行したかが必要です";
    NO_CHANGE_LEFT: "channel.{key} leaves {penalty} ms for a change of drive: check channel.command, \
        link.bandwidth and the overheads",
        "channel.{key} ではドライブの切り替えが {penalty} ms になります。channel.command、link.bandwidth、\
        オーバーヘッドを確認してください";
    TABLE_NO_NUMBER: "line {line} of the table: {what} is \"{text}\", it must be a number from {from} to {to}",
        "表の {line} 行目: {what} が \"{text}\" です。{from} から {to} までの数にしてください";
    TABLE_NO_WHOLE_NUMBER: "line {line} of the table: {what} is \"{text}\", it must be a whole number from {from} to {to}",
        "表の {line} 行目: {what} が \"{text}\" です。{from} から {to} までの整数にしてください";
    REQUEST_PAST_DISK: "the table has requests of {bytes} bytes, and disk.capacity of the facts is {capacity}",
        "表に {bytes} バイトの要求がありますが、諸元の disk.capacity は {capacity} です";
    TABLE_NO_TEST: "line {line} of the table: \"{name}\" is no test of devtest",
        "表の {line} 行目: \"{name}\" は devtest のテストではありません";
    TABLE_NO_ROW: "the table has no row", "表に行がありません";
    TABLE_LACKS: "the table lacks {what}", "表に{what}がありません";
    READS_AT_START: "sequential reads at start with requests of at least 16384 bytes",
        "16384 バイト以上の要求での先頭の順次読み込み";
    READS_AT_END: "sequential reads at end with requests of at least 16384 bytes",
        "16384 バイト以上の要求での末尾の順次読み込み";
    SMALL_ROWS: "sequential rows of small requests, which overhead bounds",
        "オーバーヘッドで決まる、小さな要求の順次の行";
    OVERHEAD_ROWS: "sequential rows which overhead bounds", "オーバーヘッドで決まる順次の行";
    RANDOM_READS: "random reads", "ランダム読み込み";
    RANDOM_WRITES: "random writes", "ランダム書き込み";
    NO_SEEK_LEFT: "random reads leave {root} ms for seek_root: they are too fast for this revolution and \
        seek_base; check their unit",
        "ランダム読み込みでは seek_root が {root} ms になります。この revolution と seek_base には速すぎます。\
        単位を確認してください";
    NO_SEEK_LEFT_BY_BONNIE: "{seeks} seeks a second leave {root} ms for seek_root: check memory_share",
        "毎秒 {seeks} シークでは seek_root が {root} ms になります。memory_share を確認してください";

    // Samples, and what is measured.
    OF_SAMPLES: "line {line} of the samples: {what}", "標本の {line} 行目: {what}";
    SAMPLES_NO_SIZE: "it does not begin with the size of a device", "デバイスのサイズで始まっていません";
    SAMPLES_COLUMNS: "expected {columns}", "{columns} の形にしてください";
    SAMPLE_EMPTY: "it is empty", "空です";
    SAMPLE_COLUMNS: "expected {columns}; the file may be cut off",
        "{columns} の形ではありません。ファイルが途中で切れているかもしれません";
    SAMPLE_BEYOND: "it lies beyond the device, or ends before it begins",
        "デバイスの範囲外か、開始前に終わっています";
    MEASURED_DRIVE_HANGS: "a request at byte {offset} had no answer for {seconds} s: the drive hangs, or is asleep",
        "バイト {offset} の要求に {seconds} 秒間応答がありません。ドライブが停止したか、スリープ中です";
    TOO_SMALL_FOR_FIT: "it is too small for a fit: at least {least} MiB",
        "当てはめには小さすぎます({least} MiB 以上必要)";
    OUTSIDE_SCRATCH: "a write of {bytes} bytes at byte {offset} lies outside the scratch range",
        "バイト {offset} から {bytes} バイトの書き込みがスクラッチ範囲の外です";
    WAITING_FOR_READ: "waiting for the next read", "次の読み込みの待機";
    WAITING_FOR_ANSWER: "waiting for an answer", "応答の待機";

    // Modelled disks that are used.
    LINK_OF_OTHER_VALUES: "{node}: the link \"{name}\" already stands for one with other values; name another \
        with link=NAME",
        "{node}: リンク \"{name}\" は別の値のものがすでにあります。link=NAME で別の名前を付けてください";
    REMEMBERS_NOTHING: "{node}: it does not remember what a power cut would lose",
        "{node}: 電源断で失われるものを記憶していません";
    LINK_ON_OTHER_CLOCK: "{node}: its link is in use on the other clock; close those channels first",
        "{node}: リンクが別の時計で使用中です。先にそのチャネルを閉じてください";
}
