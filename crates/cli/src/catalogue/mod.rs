//! Every message of the verbs that speak the reader's language, in every language.

/// A message of the catalogue: `say!(NAME)` or `say!(NAME, place = value, …)`.
macro_rules! say {
    ($name:ident $(, $place:ident = $value:expr)* $(,)?) => {
        ::words::say!($crate::catalogue::$name $(, $place = $value)*)
    };
}
pub(crate) use say;

/// The same as a text in no language yet, for what is refused.
macro_rules! statement {
    ($name:ident $(, $place:ident = $value:expr)* $(,)?) => {
        ::words::statement!($crate::catalogue::$name $(, $place = $value)*)
    };
}
pub(crate) use statement;

mod results;

pub(crate) use results::*;

words::catalogue! {
    untranslated: ["(md)"];
    // check.
    CHECK_WHAT: "WHAT", "項目";
    CHECK_HERE: "HERE", "有無";
    CHECK_FOUND: "FOUND", "状態";
    CHECK_FOR: "FOR", "用途";
    CHECK_YES: "yes", "あり";
    CHECK_NO: "no", "なし";
    CHECK_MISSING: "MISSING", "不足";
    CHECK_IS_MISSING: "{name} is missing: {remedy}", "{name} がありません: {remedy}";
    WORKS: "works", "使えます";
    RING_FOR: "all work on files and disks", "ファイルとディスクへのすべての入出力";
    NOTHING_MISSING: "nothing is missing", "不足はありません";
    DIRECT_NAME: "direct I/O here", "ここでのダイレクト I/O";
    DIRECT_FOR: "measuring the disk instead of the page cache", "ページキャッシュではなくディスクの測定";
    DIRECT_REMEDY: "use a folder on a disk's file system (ext4, XFS, btrfs); elsewhere files are measured through the cache, and it is said",
        "ディスク上のファイルシステム(ext4、XFS、btrfs)のフォルダーを使ってください。ほかの場所ではキャッシュ経由の測定になり、その旨を表示します";
    DIRECT_WORKS: "works, in blocks of {bytes} bytes", "使えます({bytes} バイト単位)";
    NO_FILE_HERE: "no file can be made here: {error}", "ここにファイルを作れません: {error}";
    ROOT_NAME: "root", "root 権限";
    ROOT_YES: "you are root", "root です";
    ROOT_NO: "you are not root", "root ではありません";
    ROOT_FOR: "disks, block devices of arrays (--attach), mounting; files, NBD and --attach=file need no root",
        "ディスク、アレイのブロックデバイス(--attach)、マウント。ファイル、NBD、--attach=file には不要";
    FUSE_FOR: "arrays as files and block devices (--attach)", "ファイルやブロックデバイスとしてのアレイ(--attach)";
    LOOP_NAME: "loop devices", "ループデバイス";
    LOOP_FOR: "arrays as block devices (--attach); without them --attach=file",
        "ブロックデバイスとしてのアレイ(--attach)。なければ --attach=file";
    ATTACH_NAME: "way of --attach", "--attach の方法";
    ATTACH_FOR: "arrays as block devices or as files", "ブロックデバイスまたはファイルとしてのアレイ";
    ATTACH_REMEDY: "see FUSE; NBD needs neither", "FUSE の項を参照。NBD にはどちらも不要です";
    ATTACH_LOOP: "a loop device over a file by FUSE", "FUSE のファイル上のループデバイス";
    ATTACH_FILE: "a file by FUSE, as there are no loop devices for you", "FUSE のファイル(使えるループデバイスがないため)";
    ATTACH_NONE: "none: both ways begin with a file by FUSE", "なし: どちらの方法も FUSE のファイルが必要です";
    ATTACH_UBLK: "; this kernel has ublk, and --attach=ublk takes that", "。このカーネルには ublk があり、--attach=ublk で使えます";
    ATTACH_UBLK_ROOT: "; this kernel has ublk, but not for you", "。このカーネルに ublk はありますが、このユーザーには使えません";
    ATTACH_UBLK_ALONE: "a block device by ublk, with --attach=ublk alone: the others begin with a file by FUSE",
        "ublk のブロックデバイス。--attach=ublk のみ可能です(ほかの方法は FUSE のファイルが必要です)";
    ATTACH_NO_UBLK: "; this kernel has no ublk", "。このカーネルに ublk はありません";
    SPACE_NAME: "free space here", "ここの空き容量";
    SPACE_FOR: "member files, runs", "メンバーのファイル、測定結果";
    SPACE_REMEDY: "use a folder on another file system", "別のファイルシステムのフォルダーを使ってください";
    SPACE_LITTLE: "only {size}", "{size} だけ";
    GOVERNOR_NAME: "governor", "周波数ガバナー";
    GOVERNOR_FOR: "the same processor speed in every trial", "すべての試行で同じプロセッサー速度";
    GOVERNOR_NONE: "the kernel does not change the frequency, or does not tell",
        "カーネルは周波数を変えないか、情報がありません";
    CGROUP_NAME: "memory cgroup", "メモリー cgroup";
    CGROUP_REMEDY: "as root, or systemd-run --user --scope -p Delegate=yes raidloom ...",
        "root で実行するか、systemd-run --user --scope -p Delegate=yes raidloom ... を使ってください";
    CGROUP_NONE: "there is no memory controller here", "ここにはメモリーコントローラーがありません";
    CGROUP_ROOT: "only root may make one, unless it was delegated", "委任されていない限り、作れるのは root だけです";
    CGROUP_YES: "there is a memory controller", "メモリーコントローラーがあります";
    NBDINFO_FOR: "looking at NBD exports, copying them (nbdcopy)", "NBD エクスポートの確認とコピー(nbdcopy)";
    NBD_CLIENT_FOR: "NBD exports as block devices", "ブロックデバイスとしての NBD エクスポート";
    NBD_NO_MODULE: "this kernel has no module nbd", "このカーネルには nbd モジュールがありません";
    NBD_KERNEL_REMEDY: "a kernel with its module nbd", "nbd モジュールのあるカーネルを使ってください";
    NBD_BOTH_REMEDY: "apt-get install nbd-client, and a kernel with its module nbd",
        "apt-get install nbd-client、さらに nbd モジュールのあるカーネルが必要です";
    QEMU_FOR: "NBD exports as images: convert, compare", "イメージとしての NBD エクスポート(変換、比較)";
    CEPH_NAME: "Ceph's images", "Ceph のイメージ";
    CEPH_FOR: "members in a Ceph cluster (rbd:POOL/IMAGE)", "Ceph クラスター内のメンバー(rbd:POOL/IMAGE)";
    LANDLOCK_YES: "the kernel has it", "カーネルにあります";
    LANDLOCK_NO: "this kernel has none, or it is switched off", "このカーネルにはないか、無効になっています";
    LANDLOCK_FOR: "programs started on a target (mkfs, fio, a guest's kernel) write nowhere else; without it root starts no guest",
        "対象に対して起動したプログラム(mkfs、fio、ゲストのカーネル)がほかへ書けないようにする。なければ root はゲストを起動できません";
    LANDLOCK_REMEDY: "Linux 5.13 or newer with landlock among the modules of `lsm=`",
        "Linux 5.13 以降で、`lsm=` のモジュールに landlock を含めてください";
    GUEST_NAME: "kernel of guests", "ゲストのカーネル";
    GUEST_NOT_BUILT: "not built yet, or for another raidloom", "未作成、または別の raidloom 用です";
    GUEST_FOR: "suites and programs on file systems in modelled time (bench --guest, guest run)",
        "モデル時間で動くファイルシステム上のスイートとプログラム(bench --guest、guest run)";
    NOT_ON_PATH: "{name} is not on the PATH", "{name} が PATH にありません";
    FILE_SYSTEM_FOR: "a file system on an array (array mount --fs, plans)", "アレイ上のファイルシステム(array mount --fs、プラン)";
    IS_THERE_TOO: "{driver} ({maker} is there)", "{driver}({maker} はあります)";
    AND_REMEDY: "{one}, and {other}", "{one}、さらに {other}";
    AS_ROOT: "as root", "root で実行してください";
    MODPROBE_REMEDY: "modprobe {module}; in a container, --device {path} --cap-add SYS_ADMIN",
        "modprobe {module}。コンテナー内では --device {path} --cap-add SYS_ADMIN";

    // run.
    RUN_BEGUN: "run: {folder}; time left: {left}", "測定: {folder}、残り時間: {left}";
    RUN_GOES_ON: "run: {folder}, {finished} of {trials} trials there already; time left: {left}",
        "測定: {folder}、全 {trials} 試行のうち {finished} 試行は完了済み、残り時間: {left}";
    ROUGH: "{range} (rough)", "{range}(概算)";
    RUN_RANGE: "{low} to {high}", "{low}〜{high}";
    RUN_LINE: "{percent} %  trial {trial}/{trials}  left {left}  block {block}/{blocks}  {label}  {workload}",
        "{percent} %  試行 {trial}/{trials}  残り {left}  ブロック {block}/{blocks}  {label}  {workload}";
    RUN_VISIT: "block {block}/{blocks}  {label} trial {trial} of {trials}  {workload}{rate}  elapsed {elapsed}  left {left}",
        "ブロック {block}/{blocks}  {label} 試行 {trial}/{trials}  {workload}{rate}  経過 {elapsed}  残り {left}";
    RACE_DROPPED: "race: {count} clear losers dropped after {blocks} blocks",
        "予選: {blocks} ブロック後に明らかに劣る {count} 構成が脱落";
    RACE_OVER: "race: over after {blocks} blocks; named: {names}", "予選: {blocks} ブロックで終了、通過: {names}";
    RUN_LOOK: "not decided yet: on to {blocks} blocks", "まだ判定できません。{blocks} ブロックまで続けます";
    RUN_UNTIL: "on until it is decided", "判定できるまで続けます";
    RUN_REPORT: "report: {path}", "レポート: {path}";
    RUN_INTERRUPTED: "interrupted after {trials} trials; nothing measured is lost. To go on:",
        "{trials} 試行で中断しました。測定済みの結果は失われていません。続けるには:";
    SHARD_DONE: "shard {shard}: {trials} trials in {folder}; when all are there: raidloom run merge {folder} … -o DIR",
        "シャード {shard}: {folder} に {trials} 試行。すべて揃ったら: raidloom run merge {folder} … -o DIR";
    PLAN_SENTENCE: "{configurations} x {workloads} x {blocks} = {trials} trials, about {time}",
        "{configurations} x {workloads} x {blocks} = {trials} 試行、約 {time}";
    PLAN_RACE_SENTENCE: "{configurations} x {workloads} x {blocks} = at most {trials} trials (a race drops clear losers), about {time}",
        "{configurations} x {workloads} x {blocks} = 最大 {trials} 試行(明らかに劣る構成は予選で脱落)、約 {time}";
    PLAN_CONFIGURATION: "1 configuration", "1 構成";
    PLAN_CONFIGURATIONS: "{count} configurations", "{count} 構成";
    PLAN_WORKLOAD: "1 workload", "1 ワークロード";
    PLAN_WORKLOADS: "{count} workloads", "{count} ワークロード";
    PLAN_BLOCK: "1 block", "1 ブロック";
    PLAN_BLOCKS: "{count} blocks", "{count} ブロック";
    PLAN_BUDGET: "; budget: {parts}", "、予算: {parts}";
    BUDGET_TOO_SHORT: "{time} (too short for all of it)", "{time}(全部には足りません)";
    BUDGET_WRITTEN: "{size} written to a member", "メンバーごとの書き込み {size}";
    BUDGET_PREPARING: "{size} written to a member (preparing alone takes more)",
        "メンバーごとの書き込み {size}(準備だけで超えます)";

    // bench.
    NOTHING_MEASURED: "nothing was measured", "何も測定されませんでした";
    FIGURES_MODELLED: "the figures are modelled", "数値はモデルによるものです";
    BENCH_INTERRUPTED: "interrupted: what is shown was finished before. To go on:",
        "中断しました。表示したのは中断前に終わった分です。続けるには:";
    PHASE: "PHASE", "フェーズ";
    RATE_HEAD: "RATE", "速度";
    DURABLE_HEAD: "DURABLE", "永続化込み";
    MEAN_HEAD: "MEAN", "平均";
    LONGEST_HEAD: "LONGEST", "最長";
    KERNEL_HEAD: "+KERNEL", "+カーネル";
    RUNS_HEAD: "RUNS", "回数";
    LOWEST_HEAD: "LOWEST", "最低";
    HIGHEST_HEAD: "HIGHEST", "最高";
    FLAGS_HEAD: "FLAGS", "注記";
    TEST_HEAD: "TEST", "テスト";
    REQUEST_HEAD: "REQUEST", "要求サイズ";
    MEAN_LATENCY_HEAD: "MEAN LATENCY", "平均レイテンシ";
    P99_LATENCY_HEAD: "P99 LATENCY", "P99 レイテンシ";
    REQUESTS_HEAD: "REQUESTS", "要求";
    FROM_HEAD: "FROM", "開始";
    TO_HEAD: "TO", "終了";
    INTERVAL_HEAD: "INTERVAL", "区間";
    ACCESS_HEAD: "ACCESS", "アクセス";
    CLOSED_P99_HEAD: "CLOSED P99", "クローズド P99";
    ROW_HEAD: "ROW", "行";
    FIGURE_HEAD: "FIGURE", "数値";
    TIME_HEAD: "TIME", "時間";
    MB_READ_HEAD: "MB READ", "読み込み MB";
    MB_WRITTEN_HEAD: "MB WRITTEN", "書き込み MB";
    DEPTH_HEAD: "DEPTH", "深度";
    ALL_REQUESTS: "all", "全体";
    READS: "reads", "読み込み";
    WRITES: "writes", "書き込み";
    COPY_TOOK: "{name}: {files} files in {elapsed} s, durable after {durable} s",
        "{name}: {files} ファイルを {elapsed} 秒、永続化まで {durable} 秒";
    KNEE_MEANS: "knee: the depth with the most throughput for its mean latency (the largest IO/s / mean latency)",
        "ニー: 平均レイテンシあたりのスループットが最大の深度(IO/s ÷ 平均レイテンシが最大)";
    KNEE_HERE: "<- knee", "<- ニー";
    OPEN_LOOPS: "open loops, latency from the intended start; CLOSED P99 is what a closed loop would have said",
        "オープンループ、レイテンシは予定時刻から。クローズド P99 はクローズドループでの値";
    DIRECT_BEST_HEAD: "DIRECT BEST", "直接 最高";
    BUFFERED_BEST_HEAD: "BUFFERED BEST", "バッファー 最高";
    MEDIAN_HEAD: "MEDIAN", "中央値";
    BUFFERED_TO_DIRECT_HEAD: "BUFFERED/DIRECT", "バッファー/直接";
    CRYSTAL_LEGEND: "Best of the runs as the original prints it; medians with their interval of 95 % from six runs on. DURABLE counts the flush.",
        "最高は元のプログラムと同じ表示。中央値には 6 回以上で 95 % 区間が付きます。「永続化込み」はフラッシュを含みます。";
    WHICH_CACHED: "Which accesses are cached{place}:", "キャッシュされるアクセス{place}:";
    READS_CACHED_HEAD: "READS CACHED", "読み込みのキャッシュ";
    WRITES_CACHED_HEAD: "WRITES CACHED", "書き込みのキャッシュ";
    ANSWER_YES: "yes: {words}", "はい: {words}";
    ANSWER_NO: "no: {words}", "いいえ: {words}";
    FROM_A_CACHE: "{share} of the bytes came from a cache", "バイト数の {share} はキャッシュから";
    CAME_AFTER: "{share} of the time to durable came after the calls had returned",
        "永続化までの時間の {share} は呼び出しが戻った後";
    WRITTEN_OVER: ", {share} of the bytes were written over in memory", "、バイト数の {share} はメモリー内で上書き";
    NOT_KNOWN: "not known", "不明";
    BUFFERED_ACCESS: "buffered", "バッファー経由";
    DIRECT_ACCESS: "direct", "直接";
    SUITE_HEAD: "SUITE", "スイート";
    RUNS_ON_HEAD: "RUNS ON", "対象";
    MEASURES_HEAD: "MEASURES", "測定内容";
    SUITE_FOLDER: "folder", "フォルダー";
    SUITE_DEVICE: "device", "デバイス";
    CONFIGURATION_KEYS: "Keys of the configuration, as in a plan's [matrix] (docs/plan-files.md): {keys}; with dots those of the plan, such as trials.rest.",
        "構成のキー(プランの [matrix] と同じ。docs/plan-files.md): {keys}。trials.rest のように点のあるものはプランのキーです。";
    EXAMPLES: "Examples:", "例:";
    EXPLAINS_PHASES: "raidloom bench explain SUITE says what each phase does.",
        "各フェーズの内容は raidloom bench explain SUITE で表示します。";

    // pull.
    PULL_ON: "{file_system} on {target}{of_md}{mounted}, {recorded}",
        "{target}{of_md} 上の {file_system}{mounted}、{recorded}";
    PULL_OF_MD: " of md", "(md)";
    PULL_MOUNTED: ", mounted with {options}", "(マウントオプション {options})";
    PULL_IMPORTED: "of {log}, which knows no times", "{log} から(時刻の情報なし)";
    PULL_RECORDED: "{done} in {seconds} s of {recordings} recordings", "{recordings} 回の記録、{seconds} 秒、{done}";
    PULL_IN_GUEST: "in a guest with Linux {version} and {memory} of memory; times are modelled, processors take none, and drives without a model of their own the time of {model}",
        "Linux {version}、メモリー {memory} のゲスト内。時間はモデルで、プロセッサーの時間は 0、モデルのないドライブは {model} の時間です";
    PULL_LOST_ANY: "{drives}, and one of them, another each time, is lost", "{drives}、毎回別の 1 台を喪失";
    PULL_LOST_TWO: "{drives}, and two of them, others each time, are lost", "{drives}、毎回別の 2 台を喪失";
    PULL_LOST_THESE: "{drives}, and numbers {first} and {second} of them are lost", "{drives}、{first} 番と {second} 番を喪失";
    PULL_STALE: "{drives}; number {number} falls out before the work and is back after the cut", "{drives}、{number} 番は作業前に外れ、電源断の後に古い内容で戻る";
    PULL_STALE_AND_LOST: "{drives}; number {number} falls out before the work and is back after the cut, and number {lost} is lost", "{drives}、{number} 番は作業前に外れて電源断の後に古い内容で戻り、{lost} 番を喪失";
    PULL_LOST_NUMBER: "{drives}, and number {number} of them is lost", "{drives}、{number} 番を喪失";
    PULL_WRITTEN: "{drives}; {written} written in {requests} requests, {flushes} flushes; {promises} promises made",
        "{drives}。{requests} 要求で {written} を書き込み、フラッシュ {flushes} 回、約束 {promises} 件";
    PULL_UNIFORM: "cuts uniform in time", "時間上一様な電源断";
    PULL_HUNT: "the hunt: hot cuts, hostile losses", "探索: 危険な時点の電源断、不利な喪失";
    PULL_KEPT: "{count} kept in {folder}; look at one:", "{folder} に {count} 件を保存。1 件を見るには:";
    PULL_OWN_PROGRAM: "a program of one's own", "利用者のプログラム";
    PULL_COPIED: "{count} files copied", "{count} ファイルをコピー";
    PULL_FSYNC: "{count} steps with fsync", "fsync 付き {count} 回";
    PULL_RENAMES: "{count} renames", "名前変更 {count} 回";
    PULL_APPENDED: "{count} blocks appended", "追記 {count} ブロック";
    PULL_TRANSACTIONS: "{count} transactions of SQLite", "SQLite トランザクション {count} 件";
    PULL_SMALL_WORKS: "{count} small works", "小さな処理 {count} 件";
    DRIVES_KEEP: "drives keep their power and what they cached", "ドライブの電源とキャッシュは保たれる";
    DRIVES_TYPICAL: "typical drives: cache {cache} and at most {age} old, tear unit {tear}",
        "標準的なドライブ: キャッシュ {cache}、滞留は最長 {age}、書き込みの分断単位 {tear}";
    DRIVES_STRICT: "strict drives: tear unit {tear}", "厳格なドライブ: 書き込みの分断単位 {tear}";
    DRIVES_THROUGH: "drives without a volatile cache", "揮発性キャッシュのないドライブ";
    DRIVES_LYING: "DISHONEST drives: flushes are ignored", "不正直なドライブ: フラッシュを無視";
    DRIVES_LYING_FUA: "DISHONEST drives: FUA is ignored", "不正直なドライブ: FUA を無視";
    DRIVES_MODEL: "drives whose model says what is on the media, block by block, tear unit 512 B or its own block",
        "媒体上の内容をモデルがブロック単位で決めるドライブ、分断単位は 512 B またはそのブロック";
    PULL_SIMULATED_ONE: "simulated: nothing is known of {names} itself", "シミュレーション: {names} 自体については何もわかりません";
    PULL_SIMULATED: "simulated: nothing is known of {names} themselves", "シミュレーション: {names} 自体については何もわかりません";
    PULL_CARD: "{name}, {pulls} pulls", "{name}、{pulls} 回";
    NOT_MOUNTED: "could not be mounted", "マウントできない";
    REPAIRED: "  repaired", "  修復できた";
    NOT_REPAIRED: "  nor after a repair", "  修復後もできない";
    CHECK_ERRORS: "errors found by a check", "検査で見つかったエラー";
    WORK_LOST: "acknowledged work lost", "確認済みの書き込みの喪失";
    PROMISES_BROKEN: "  promises broken", "  破られた約束";
    SECONDS_OF_IT: "  seconds of it", "  失われた秒数";
    RECOVERY_MODELLED: "recovery, modelled seconds", "復旧(モデル秒)";
    RECOVERY: "recovery, seconds", "復旧(秒)";
    WHOLE_AGAIN: "array whole, modelled seconds", "アレイの完全復旧(モデル秒)";
    WHOLE_OF: "{spread} (of {states} timed)", "{spread}({states} 状態を計測)";
    NO_VERDICT: "the check gave no verdict", "検査で判定できない";
    NOT_COUNTED: "{count}, not counted ({why})", "{count}、集計外({why})";
    NOT_TWICE: "not shown twice, not counted", "再現せず、集計外";
    COPIES_SECONDS: "seconds of copies lost", "失われたコピーの秒数";
    COPIES_FILES: "files of copies lost", "失われたコピーのファイル数";
    COPIES_BYTES: "bytes of copies lost", "失われたコピーのバイト数";
    RENAME_TORN: "renames without fsync torn", "fsync なしの名前変更の破損";
    OLD_DATA: "old data exposed", "古いデータの露出";
    IN_FILES: "  in files", "  ファイル数";
    BLOCKS_TORN: "blocks torn, as permitted", "分断されたブロック(許容範囲)";
    SHARE_NONE: "none (below {percent} % at 95 %)", "なし(95 % 信頼で {percent} % 未満)";
    SHARE_SOME: "{count}: {percent} % (at most {most} %)", "{count}: {percent} %(最大 {most} %)";
    SPREAD_LONGEST: "median {median}, p95 {p95}, longest {max}", "中央値 {median}、p95 {p95}、最長 {max}";
    SPREAD_MOST: "median {median}, p95 {p95}, most {max}", "中央値 {median}、p95 {p95}、最大 {max}";

    // The headline of a pull test.
    PULL_NOTHING_LOST: "nothing acknowledged lost", "完了通知済みの書き込みは失われず";
    PULL_WORK_LOST: "acknowledged work lost in {states} of {pulls} pulls, up to {time} of it",
        "{pulls} 回中 {states} 回で完了通知済みの書き込みを喪失(最大 {time} 分)";
    PULL_COPIES_LOST: "{promises}, at most {time} of copies lost", "{promises}、コピーの喪失は最大 {time} 分";
    PULL_GRADE: "grade {grade}: {found} ({pulls} pulls, below {percent} %)",
        "グレード {grade}: {found}({pulls} 回、{percent} % 未満)";
    PULL_GRADE_WITH_LOSSES: "grade {grade}: {found} ({pulls} pulls, at most {percent} %)",
        "グレード {grade}: {found}({pulls} 回、最大 {percent} %)";

    // array status.
    NOTHING_RUNS: "nothing runs", "動作中のものはありません";
    LIST_NAME: "NAME", "名前";
    LIST_STATE: "STATE", "状態";
    LIST_SIZE: "SIZE", "容量";
    LIST_PROCESS: "PROCESS", "プロセス";
    LIST_AT: "AT", "場所";
    LIST_MOUNTED: "MOUNTED", "マウント先";
    NO_ARRAY_RUNS: "no array of that name runs, and there is no such file",
        "その名前で動作中のアレイはなく、そのようなファイルもありません";
    STATUS_SERVER: "server: {name}    state: {state}    process: {process}",
        "サーバー: {name}    状態: {state}    プロセス: {process}";
    STATUS_STACK: " stack: {stack}", "  構成: {stack}";
    STATUS_NOTE: "  note: {note}", "  注記: {note}";
    STATUS_LEAF: "  leaf: {name}, read {read}, written {written}", "  末端: {name}、読み込み {read}、書き込み {written}";
    STATUS_OLDER: " event: {older} older ones are in --json", "  記録: これより古い {older} 件は --json にあります";
    STATUS_EVENT: " event: {array}: {text}", "  記録: {array}: {text}";
    STATUS_LOST: "  lost: {name}{cause}", "  喪失: {name}{cause}";
    STATUS_BRING_BACK: "action: bring back what is gone, stop it and start it again: raidloom array stop {name}",
        "  対処: 失われたものを戻し、停止してから起動し直してください: raidloom array stop {name}";
    STATUS_SIZE: "  size: {size}, blocks of {block} bytes{access}{seeks}", "  容量: {size}、ブロック {block} バイト{access}{seeks}";
    STATUS_READ_ONLY: ", read-only", "、読み込み専用";
    STATUS_ROTATIONAL: ", rotational", "、回転式";
    STATUS_POLICY_QUICK: "policy: {policy}: what reaches the drive is durable at once; a file system on it keeps writes back unless mounted with sync",
        "  方針: {policy}: ドライブに届いたものは直ちに永続化。sync でマウントしない限りファイルシステムは書き込みを遅らせます";
    STATUS_POLICY: "policy: {policy}: durable after a flush", "  方針: {policy}: フラッシュ後に永続化";
    STATUS_AT: "    at: {place}", "  場所: {place}";
    STATUS_NBD_ONE: "   nbd: {uri}  (1 client)", "   NBD: {uri}  (クライアント 1)";
    STATUS_NBD: "   nbd: {uri}  ({count} clients)", "   NBD: {uri}  (クライアント {count})";
    STATUS_VHOST_ONE: " vhost: {socket}  (1 machine)", " vhost: {socket}  (仮想マシン 1)";
    STATUS_VHOST: " vhost: {socket}  ({count} machines)", " vhost: {socket}  (仮想マシン {count})";
    STATUS_MOUNT: " mount: {point}", "マウント: {point}";
    STATUS_CACHE: " cache: {mode}, {used} of {size} used, {dirty} dirty: {name}",
        "キャッシュ: {mode}、{size} 中 {used} 使用、未書き出し {dirty}: {name}";
    STATUS_CACHE_HITS: "        hits: {reads} of reads, {writes} of writes; {evictions} evictions; {rate}/s written out",
        "        ヒット: 読み込みの {reads}、書き込みの {writes}、追い出し {evictions}、書き出し {rate}/s";

    // What array verbs have done.
    SET_FAULTY: "set {member} faulty in {array}", "{array} の {member} を故障扱いにしました";
    MEMBER_REMOVED: "removed {member} from {array}", "{array} から {member} を取り外しました";
    MEMBER_ADDED: "added {device} to {array}", "{array} に {device} を追加しました";
    MEMBER_TAKES_OVER: "{device} takes over from {member} in {array}",
        "{array} の {member} を {device} が引き継ぎます";
    CHECK_BEGUN: "{name}: check begun", "{name}: 検査を開始しました";
    REPAIR_BEGUN: "{name}: repair begun", "{name}: 修復を開始しました";
    RESYNC_BEGUN: "{name}: resync begun", "{name}: 再同期を開始しました";
    SCRUB_PAUSED: "{name}: scrub paused", "{name}: スクラブを一時停止しました";
    SCRUB_RESUMED: "{name}: scrub goes on", "{name}: スクラブを再開しました";
    SCRUB_CANCELLED: "{name}: scrub cancelled", "{name}: スクラブを中止しました";
    STOPPED: "stopped {array}", "{array} を停止しました";
    CLEANED_UP: "{name}: its server had died; what it left behind is cleaned up",
        "{name}: サーバーが異常終了していたため、残っていたものを後始末しました";
    MADE_AND_MOUNTED: "{name}: {file_system} made and mounted at {point}",
        "{name}: {file_system} を作成し、{point} にマウントしました";
    MOUNTED_AT: "{name}: {file_system} mounted at {point}", "{name}: {file_system} を {point} にマウントしました";
    MOUNTED_THIS_TIME: "when the array is started again it is not mounted by itself; [mount] in {path} has it mounted",
        "アレイを次に起動しても自動ではマウントされません。{path} に [mount] を書くとマウントされます";
    UNMOUNTED: "unmounted {name}", "{name} をアンマウントしました";
    CREATED: "created {array}: {level} over {count} members, {size}, uuid {uuid}{sync}",
        "{array} を作成しました: {level}、メンバー {count} 台、{size}、UUID {uuid}{sync}";
    CREATED_UNSYNCED: "; Linux md resyncs it when it is first assembled",
        "。Linux md は最初に組み立てるときに再同期します";
    UNKNOWN_SIZE: "unknown size", "サイズ不明";
    CREATED_START: "start: {command}", "起動: {command}";
    STARTED: "{name}: {size} at {address}, process {process}", "{name}: {size}、{address}、プロセス {process}";

    // check drives.
    NO_DRIVES: "there are no drives here, or /sys is not there to tell of them",
        "ドライブがないか、/sys がないため分かりません";
    DRIVE_HEAD: "DRIVE", "ドライブ";
    DRIVE_SIZE_HEAD: "SIZE", "サイズ";
    DRIVE_MODEL_HEAD: "MODEL", "モデル";
    DRIVE_WRITES_HEAD: "WRITES", "書き込み";
    DRIVE_WHY_HEAD: "WHY", "理由";
    WITH_CONSENT: "with consent", "同意が必要";
    REFUSED: "refused", "拒否";
    DRIVE_NOT_KNOWN: "not known", "不明";

    // The questions of choose, and what it makes.
    ASK_NUMBER: "a number from 1 to {most}, please", "1〜{most} の番号を入力してください";
    ASK_AGAIN: "{wrong}; once more, please", "{wrong}。もう一度入力してください";
    NO_ANSWER_GIVEN: "no answer was given; nothing was done", "回答がなかったため、何もしませんでした";
    NO_NUMBER: "no number from 1 to {count}", "1〜{count} の番号ではありません";
    ASK_DRIVES: "Drives?", "ドライブは?";
    OWN_DRIVES: "drives of this machine: {names}", "このマシンのドライブ: {names}";
    DRIVES_TO_BUY: "drives I may buy", "購入候補のドライブ";
    FILES_TO_TRY: "files, to try it", "ファイル(試用)";
    ASK_WHICH_DRIVES: "Which? Their numbers, such as 1 2 3, or Enter for all.",
        "どれを使いますか? 1 2 3 のように番号を入力してください。Enter だけなら全部です。";
    ASK_WHICH_MODELS: "Which, and how many? Such as 4 x wd-red-plus-8tb: `raidloom model show` has the names.",
        "どれを何台? 例: 4 x wd-red-plus-8tb。名前は `raidloom model show` で一覧できます。";
    ASK_WORK: "Work?", "用途は?";
    OWN_COMMAND: "a command of mine", "自分のコマンド";
    ASK_COMMAND: "Which command? As sh reads it; {name} is a fresh folder on the layout.",
        "どのコマンドですか? sh が読む形で入力してください。{name} は構成上の新しいフォルダーです。";
    OWN_WORK: "a profile or a recording of mine (a file)", "自分のプロファイルか記録(ファイル)";
    ASK_FILE: "Which file?", "どのファイルですか?";
    ASK_SURVIVE: "Lose? How many drives may die at once:", "故障は? 同時に何台の故障まで耐えるか:";
    SURVIVE_NONE: "none: one that dies takes all data with it", "0 台: 1 台の故障で全データを失う";
    SURVIVE_ONE: "1 drive", "1 台";
    SURVIVE_SEVERAL: "{count} drives", "{count} 台";
    ASK_MAKES: "This makes {what}", "次のアレイを作成します: {what}";
    ASK_ERASES: "{what} and erases", "{what}。次のものは消去されます";
    ASK_YES: "Type yes to go on; anything else leaves everything as it is.",
        "続けるには yes と入力してください。それ以外では何も変更しません。";
    NOTHING_CHANGED: "nothing was changed", "何も変更しませんでした";
    NOTHING_WRITTEN: "interrupted; nothing was written", "中断しました。何も書き込んでいません";
    CHOICE_UNFINISHED: "{path}: the run is not finished, {count} trials are missing; raidloom run --resume {path} goes on with it",
        "{path}: 測定は完了しておらず、{count} 試行が残っています。raidloom run --resume {path} で再開できます";
    CHOICE_TOO_EARLY: "the run is not finished, and {done} of {all} trials are too few for an answer; raidloom run --resume {path} goes on with it",
        "測定は完了しておらず、{all} 試行中 {done} 試行では答えが出ません。raidloom run --resume {path} で再開できます";
    PARTS_FIRST: "{work}: parts of it first", "{work}: まず一部を再生します";
    MAKING_ARRAY: "writing superblocks", "スーパーブロックを書き込んでいます";
    MAKING_CONFIGURATION: "writing the configuration", "設定を書き込んでいます";
    MAKING_INITRAMFS: "running update-initramfs, so that md leaves it alone at boot",
        "起動時に md が触れないよう、update-initramfs を実行しています";
    MAKING_START: "starting it", "起動しています";
    MADE_STARTS: "starts with the machine: {unit}", "マシンとともに起動します: {unit}";
    MADE_NOT_STARTED: "nothing starts it with the machine (there is no systemd here, or only root may use it): \
        `raidloom array start {name}` does",
        "マシンとともには起動しません(systemd がないか、root だけが使えます)。`raidloom array start {name}` で起動します";
    MADE_CONFIGURATION: "configuration: {path}", "設定: {path}";
    MADE_MD_LINE: "md leaves it alone: a line in {path} says so", "md は触れません({path} の行による)";
    MD_LINE_FORGOTTEN: "{path}: the line by which md left it alone is taken away",
        "{path}: md に触れさせないための行を削除しました";
    MD_LINES_OF_NONE: "{path}: lines that a making which was killed had left are taken away",
        "{path}: 途中で終了した作成が残した行を削除しました";
    MD_LINE_STAYS: "md goes on leaving the array alone: {left} of its {members} members are still there",
        "md は引き続きこのアレイに触れません({members} 台中 {left} 台のメンバーが残っています)";
    STARTS_AT_BOOT: "starts with the machine", "マシンとともに起動します";
    STARTS_NOT_AT_BOOT: "does not start with the machine", "マシンとともには起動しません";
    SCRUBBED_MONTHLY: "its members are compared once a month", "メンバーを毎月検査します";
    SCRUBBED_NEVER: "its members are compared when somebody asks for it", "メンバーは指示されたときだけ検査します";
    ARRAY_OF_A_RUN: "a run measures it, and it ends with that", "測定中のもので、測定とともに終わります";
    MADE_OLD_INITRAMFS: "; an initramfs that starts md's arrays has to be made anew (dracut --force)",
        "。md のアレイを起動する initramfs は作り直しが必要です(dracut --force)";

    // What array verbs refuse.
    MEMBER_ENDED_EARLY: "{kind}: it ended before its time; `raidloom array status` says why",
        "{kind}: 途中で終わりました。理由は `raidloom array status` で確認できます";
    BYTES_LOST: "{kind}: {count} bytes could not be restored", "{kind}: {count} バイトを復元できませんでした";
    NO_MEMBER: "no member; name its slot (0, 1, ...) or its device as `array status` shows it",
        "そのようなメンバーはありません。スロット(0、1、…)か、`array status` に表示されるデバイスを指定してください";
    NO_ARRAY_IN_STACK: "no array in this stack keeps metadata, or none of that name",
        "このスタックにメタデータを持つアレイがないか、その名前のものがありません";
    ARRAYS_IN_STACK: "there are several arrays in this stack: {names}; --array names one",
        "このスタックには複数のアレイがあります: {names}。--array で指定してください";
    NO_MEMBER_DEVICE: "a member is a file or a device", "メンバーはファイルかデバイスです";
    LEVEL_EXPECTED: "expected linear, 0, 1, 4, 5, 6 or 10", "linear、0、1、4、5、6、10 のいずれかです";
    ONE_LAYOUT: "--layout: {level} has only one layout; leave the flag out",
        "--layout: {level} のレイアウトは 1 つだけです。このオプションは付けないでください";
    LAYOUT_EXPECTED: "expected {expected} for {level}", "{level} では {expected} のいずれかです";
    BITMAP_CHUNK_EXPECTED: "expected a power of two, {least} at least", "{least} 以上の 2 の累乗を指定してください";
    BITMAP_CHUNK_LARGE: "a bit covers less than 4GiB", "1 ビットが表す範囲は 4GiB 未満です";
    BITMAP_AND_LOG: "--bitmap internal: an array has a bitmap or a partial parity log (-k ppl), not both",
        "--bitmap internal: ビットマップと部分パリティログ(-k ppl)は同時に使えません";
    BITMAP_ASKED: "--bitmap none: but -k bitmap asks for one", "--bitmap none: -k bitmap と矛盾しています";
    NO_BITMAP: "--bitmap-chunk: there is no bitmap; --bitmap internal makes one",
        "--bitmap-chunk: ビットマップがありません。--bitmap internal で作成します";
    NO_CHUNKS: "{level} has no chunks; leave the flag out", "{level} にチャンクはありません。このオプションは付けないでください";
    CHUNK_SECTORS: "--chunk: {count} bytes are not whole sectors of {sector}",
        "--chunk: {count} バイトは {sector} バイトのセクターの整数倍ではありません";
    OTHER_COUNT: "{flag} {given}: but {count} are named", "{flag} {given}: 指定されたのは {count} 台です";
    SIZE_FOR_MADE: "it is for files that are made, and all that are named are there; they are used as they are",
        "作成するファイルのサイズです。指定されたものはすべてあり、そのまま使います";

    // What any verb refuses.
    NEW_FILE_NEEDED: "it is there already; name a new file", "すでにあります。新しいファイルを指定してください";
    FOLDER_NEEDED: "there is no such folder", "そのようなフォルダーはありません";
    NAME_A_PLAN: "name a plan (`raidloom run plan` lists those that came with the program), a run with \
        --resume, or a command of your own with --command",
        "プラン(付属のものは `raidloom run plan` で一覧できます)、--resume で測定結果、または --command で自分のコマンドを指定してください";
    OWN_PLAN: "a run goes on in its own folder with the plan that it began with: leave out --set and --output",
        "再開した測定は元のフォルダーで元のプランのまま続きます。--set と --output は付けないでください";
    CHANGE_FOR_RESUMED: "--allow-change is for a run that goes on: name its folder",
        "--allow-change は再開する測定のためのものです。そのフォルダーを指定してください";
    MORE_FOR_FINISHED: "--more goes on with a finished run, and this is no folder of one",
        "--more は完了した測定結果を続けるもので、これはそのフォルダーではありません";
    NAME_A_REPORT: "report RUN: name the run's folder", "report RUN: 測定結果のフォルダーを指定してください";
    NO_SUITE: "there is no suite `{name}`; there are {names}", "スイート `{name}` はありません。あるのは {names} です";
    NO_FIO_ROWS: "--fio: {name} has no rows of fio's; crystal has", "--fio: {name} に fio の項目はありません。あるのは crystal です";
    NO_FIO_TARGET: "fio runs on a folder, an image file or a block device, not on a stack",
        "fio の対象はフォルダー、イメージファイル、ブロックデバイスで、スタックではありません";
    NOBODY_TO_ASK: "nobody is here to be asked: give drives, --work and --survive, as in {command}",
        "質問に答える端末がありません。ドライブ、--work、--survive を指定してください。例: {command}";
    NOTHING_HAS_FIGURES: "nothing was measured: no trial has a figure (the report says why)",
        "測定値がありません: どの試行にも値がありません(理由はレポートに記載)";
    BASELINE_WITHOUT_TRIAL: "the baseline ({name}) has no trial, so that nothing can be compared with it",
        "基準({name})に試行がないため、比較できません";
    NO_ANSWER_FOUND: "no answer to what was asked (the report says why)", "答えが出ませんでした(理由はレポートに記載)";
    NO_BADGE: "there is no badge: the run has decided on nothing", "バッジはありません: 結論が出ていません";
    NO_BADGE_WORKLOAD: "--badge-of {word}: no workload has it in its name; there are {names}",
        "--badge-of {word}: 名前にこれを含むワークロードはありません。あるのは {names} です";
    NO_CARD: "there is no card: the run has decided on nothing, or has no figures of it",
        "カードはありません: 結論が出ていないか、その値がありません";
    THIS_PROGRAM: "where this program lies", "このプログラムの場所";
    MAKING_JSON: "making JSON", "JSON の作成";
    MAKING_MANUAL: "making the manual page", "マニュアルページの作成";
    WRITING_OUT: "writing to standard output", "標準出力への書き込み";
    DRAWING: "drawing on the terminal", "端末への描画";
    FOR_CTRL_C: "setting up for Ctrl-C", "Ctrl-C の準備";
    FOR_SIGNALS: "setting up for signals", "シグナルの準備";
    WAITING_FOR_COMMAND: "waiting for the command of --run", "--run のコマンドの待機";
    RUNNING_COMMAND: "running `{command}`", "`{command}` の実行";
    NO_SYSTEMCTL: "systemctl cannot be run", "systemctl を実行できません";
    NO_POSSIBLE_MEMBER: "no file and no block device is in it, so nothing that can be a member",
        "ファイルもブロックデバイスもなく、メンバーになりうるものがありません";
    NO_ARRAY_FOUND: "no array was found, nor what these can make up together",
        "アレイは見つからず、これらを組み合わせてできるものもありません";
    NO_MONITOR_STATE: "it is nothing that a monitor has kept ({why}); name another file",
        "monitor が保存したものではありません({why})。別のファイルを指定してください";
    FIGURES_FILE: "figures {path}", "数値 {path}";
    FACTS_FILE: "facts {path}", "諸元 {path}";
    NEITHER_FIGURES_NOR_SAMPLES: "it is neither a table of figures nor samples of a device; a drive or an image is measured with: raidloom model fit --device {path}",
        "数値の表でも、デバイスの標本でもありません。ドライブやイメージは raidloom model fit --device {path} で測定します";
    FACTS_MISSING: "it holds no samples of a device; beside a table of published figures stands what else is known of the drive, in {path}, and that is not there (models/data has examples)",
        "デバイスの標本ではありません。公表された数値の表には、ドライブについてほかに知られていることを書いた {path} が必要ですが、ありません(例は models/data にあります)";
    SCRATCH_EXPECTED: "expected OFFSET+LENGTH, such as 1GiB+2GiB, or all, or the path of a file with its folder, such as ./scratch",
        "1GiB+2GiB のような OFFSET+LENGTH か all、または ./scratch のようなフォルダー付きのファイルのパスを指定してください";
    SCRATCH_OF_ONE: "--scratch is for one drive: of several only reads are measured", "--scratch は 1 台用です。複数のドライブでは読み取りだけを測定します";
    LINKS_OF_DRIVES: "several drives are measured as they are: name each by itself", "複数のドライブはそのまま測定します。1 台ずつ指定してください";
    SCRATCH_FILE_THERE: "it is there already; a scratch file is made anew", "すでにあります。スクラッチファイルは新しく作ります";
    SCRATCH_FILE_NOT_ON: "it would not lie on {drive}; name a folder of a file system that is on this drive or a partition of it",
        "{drive} に置かれません。このドライブかそのパーティションのファイルシステムのフォルダーを指定してください";
    SCRATCH_FILE_NO_ROOM: "there is too little room: {needed} must be free", "空きが足りません。{needed} 必要です";
    SCRATCH_FILE_LATE: "writing it once took all of the time that --time gives: give more, or a range of the drive",
        "一度書き込むだけで --time の時間が過ぎました。時間を長くするか、ドライブの範囲を指定してください";
    SCRATCH_FILE_IN_PIECES: "it lies in pieces, the longest of {longest}; one of {least} is needed: where more is free, or on a newer file system",
        "断片化していて、最長の部分は {longest} です。連続した {least} が必要です。空きの多い場所か新しいファイルシステムを指定してください";
    SCRATCH_FILE_ELSEWHERE: "its file system says that it lies at byte {place} of the drive, and the drive has something else there",
        "ファイルシステムによるとドライブのバイト {place} にありますが、そこには別のものがあります";
    SCRATCH_FILE_UNKNOWN: "its file system does not say where it lies", "ファイルシステムからその位置がわかりません";
    NO_FILEFRAG: "where a file lies is asked of `filefrag`, which is not there: install e2fsprogs",
        "ファイルの位置を調べる `filefrag` がありません。e2fsprogs を入れてください";
    SCRATCH_LEAST: "at least {size} are needed", "{size} 以上が必要です";
    SCRATCH_PAGES: "it begins and ends at whole 4 KiB", "始まりと終わりは 4 KiB の倍数にしてください";
    DEVICE_ENDS: "the device ends at byte {size}", "デバイスはバイト {size} で終わります";
    NO_FOLDER_YET: "there is no such folder; make it first", "そのフォルダーはありません。先に作成してください";
    FOLDER_NO_DRIVE: "it is a folder, and no drive", "フォルダーで、ドライブではありません";
    PULL_INTERRUPTED: "interrupted: the figures are of what was done until then",
        "中断しました。数値はそれまでに実施した分です";
    TAKEN_BACK: "; what was made is taken back", "。作成したものは元に戻しました";
    STILL_LEFT: "; left: {what}", "。残っているもの: {what}";
    LISTEN_EXPECTED: "an address and a port, such as 127.0.0.1:8080", "127.0.0.1:8080 のようなアドレスとポートを指定してください";

    // What verbs refuse.
    OVERLAY_FOLDER: "it is no folder", "フォルダーではありません";
    NO_SUPERBLOCK_HERE: "no md superblock", "md スーパーブロックはありません";
    DAMAGE_OF_VERSION: "of version {version}: {problem}", "バージョン {version}: {problem}";
    NO_MD_SUPERBLOCK: "no md superblock of version {version} on it; {hint}",
        "{version} の md スーパーブロックがありません。{hint}";
    DIFFERENT_ARRAYS: "{arrays} are of different arrays; --scan shows both",
        "{arrays} は別々のアレイのものです。両方を見るには --scan を使ってください";
    NO_MD_MEMBER: "no member of an md array was found; {hint}", "md アレイのメンバーが見つかりません。{hint}";
    NOTHING_GUESSED: "nothing was found that these members can make up", "これらのメンバーでできるものは見つかりませんでした";
    GUESS_CONTRADICTED: "much of what is stored contradicts even the best candidate: something else was there, or much is damaged",
        "最良の候補でも、記録された内容の多くと矛盾します。別のものがあったか、大きく壊れています";
    CHUNK_OF_SECTORS: "--chunk 0: a chunk holds at least one sector", "--chunk 0: チャンクは 1 セクター以上です";
    DEVICE_NOT_THERE: "it is not there", "ありません";
    CANDIDATES_NOT_MOUNTED: "--mount: of several candidates none is mounted; the command is in the answer",
        "--mount: 候補が複数あるときはマウントしません。コマンドは答えに表示します";
    NO_MOUNT_FOLDER: "it is no folder to mount on", "マウント先のフォルダーではありません";
    NO_KNOWN_FILE_SYSTEM: "--mount: it begins with no file system that is known",
        "--mount: 先頭に既知のファイルシステムがありません";
    CACHE_NUMBER: "a number, as `raidloom array cache status` shows it",
        "`raidloom array cache status` に表示される番号を指定してください";
    CACHE_FOR_SIZE: "cache=N says which cache gets cache_size=SIZE",
        "どのキャッシュの cache_size=SIZE かを cache=N で指定してください";
    SET_KEYS: "KEY=VALUE, of the keys sync_speed_min, sync_speed_max, log, cache_size, cache, start_at_boot, scrub",
        "KEY=VALUE で指定してください。キーは sync_speed_min、sync_speed_max、log、cache_size、cache、start_at_boot、scrub です";
    EITHER_WORD: "`{one}` or `{other}`", "`{one}` か `{other}` を指定してください";
    STACK_OR_RUN: "name a stack, or a run with --from", "スタックか、--from で測定を指定してください";
    NOTHING_MADE_ANEW: "this configuration keeps no superblocks, and no --mount asks for its file system, so nothing is made anew",
        "この構成にはスーパーブロックがなく、--mount でファイルシステムも求められていないため、新しく作るものがありません";
    COMMAND_ENDED: "`{command}` ended with {status}", "`{command}` は {status} で終わりました";
    KEEPS_NO_DATA: "it keeps no data, so nothing can be written to it", "データを保持しないため、書き込めません";
    LAST_BLOCK_DIFFERS: "the target differs from the image in its last, incomplete block",
        "対象の最後の不完全なブロックがイメージと異なります";
    RUN_WITHOUT_ROWS: "the run has no row", "測定に行がありません";
    NO_OVERLAY_SUPERBLOCK: "it has no overlay's superblock: no overlay has used it, or only with keep=no",
        "オーバーレイのスーパーブロックがありません。オーバーレイとして使われていないか、keep=no だけで使われました";
    NOTHING_KEPT: "an overlay with keep=no forgets its changes when it is closed; there is nothing to commit",
        "keep=no のオーバーレイは閉じると変更を忘れるため、書き戻すものがありません";
    OVERLAY_SHAPE: "an overlay is overlay(DELTA, DEVICE)", "オーバーレイは overlay(DELTA, DEVICE) と書きます";
    NAME_OVERLAY: "name the overlay as it is used: 'overlay(DELTA, DEVICE)'",
        "使うときのとおりにオーバーレイを指定してください: 'overlay(DELTA, DEVICE)'";
    NO_CACHE_IN_IT: "there is no cache in it", "キャッシュがありません";
    NO_ARRAY_OR_CACHE: "no array of this name runs; name one, or the cache as it is used: 'cache(mode=write-back, STORE, DEVICE)'",
        "この名前のアレイは動作していません。名前か、使うときのとおりのキャッシュを指定してください: 'cache(mode=write-back, STORE, DEVICE)'";
    RECORDING_WITHOUT_DATA: "nothing was read or written in it", "読み書きがありません";
    ZIPF_RANGE: "a number from 0 (even) to 5; real workloads have 0.6 to 1.2",
        "0(均等)から 5 までの数です。実際の処理では 0.6 から 1.2 です";
    SCAN_RANGE: "a number from 0 to 1", "0 から 1 までの数です";
    NO_POLICY: "no policy {name}: there are {names}", "方針 {name} はありません。使えるのは {names} です";
    SIZES_RANGE: "more than 0 % and at most 100 % of what is asked for",
        "対象の 0 % より大きく 100 % 以下にしてください";
    NO_CACHE_SUPERBLOCK: "it has no cache's superblock: no cache has used it",
        "キャッシュのスーパーブロックがありません。キャッシュとして使われていません";
    NOT_SALVAGED: "not salvaged: {blocks}", "救出できませんでした: {blocks}";
    ROOT_MAKES_MD: "only root may make arrays with the kernel's md", "カーネルの md でアレイを作れるのは root だけです";
    NO_MDADM: "there is no mdadm here, and nothing was changed\n`apt-get install mdadm` helps",
        "ここに mdadm がありません。何も変更していません\n`apt-get install mdadm` で入ります";
    ARRAY_OF_NAME: "there is an array of this name; --name names another",
        "この名前のアレイがあります。--name で別の名前を指定してください";
    MEASURE_NEEDS_DRIVES: "--measure is for drives and files that are there, and these are models",
        "--measure は実際のドライブやファイルのためのもので、ここではモデルです";
    MD_TAKES_DEVICES: "a file, and the kernel's md takes block devices alone: choose over loop devices of the files (losetup --find --show FILE), or make it with --do",
        "ファイルです。カーネルの md が使えるのはブロックデバイスだけです。ファイルをループデバイスにして選ぶか(losetup --find --show FILE)、--do で作成してください";
    GUESTS_TAKE: "--measure=guests is for a profile or a command, on modelled drives",
        "--measure=guests は、モデルのドライブでのプロファイルまたはコマンドのためのものです";
    COMMAND_NEEDS_DRIVES: "--work-command is for modelled drives, and with --measure for drives and files that are there; `raidloom run --command` compares layouts of files that it makes",
        "--work-command はモデルのドライブ、または --measure を付けた実際のドライブやファイルのためのものです。作成したファイルで構成を比較するには `raidloom run --command` を使ってください";
    LOST_OF_NO_USE: "{names} does not answer any more; what was measured is of all {count} drives, and of the others alone: {why}",
        "{names} が応答しなくなりました。測定済みの値は全 {count} 台のものです。残りのドライブだけでは: {why}";
    REST_IS_MEASURED: "{names}: died while it was measured; what was measured is of all {count} drives and stays where it is. The other {others} are measured now",
        "{names}: 測定中に故障しました。測定済みの値は全 {count} 台のもので、そのまま残ります。これから残りの {others} 台を測定します";
    DRIVE_HANGS: "{path}: no answer for {seconds} s; Ctrl-C twice ends this without waiting for it",
        "{path}: {seconds} 秒間応答がありません。Ctrl-C を 2 回押すと待たずに終了します";
    SILENT_DRIVE: "no answer to a read within 3 s; choose without it, or look at its cable",
        "3 秒以内に読み取りの応答がありません。除いて選ぶか、ケーブルを確認してください";
    MARGIN_RANGE: "per cent from 0 to 100", "0 から 100 までのパーセントです";
    NO_COMMON_CELL: "the two runs have no cell in common{beside}{why}",
        "2 つの測定に共通のセルがありません{beside}{why}";
    OTHER_CONDITIONS: "the runs were made under different conditions: {what}", "測定の条件が異なります: {what}";
    NO_RUN_IN_FOLDER: "there is no run in it", "測定がありません";
    NO_SUCH_CELL: "no cell of these {count} runs has what was asked for; metrics are: {names}",
        "{count} 件の測定に該当するセルがありません。数値は {names} です";
    LIMIT_EXPECTED: "expected a metric, < or >, and a share, such as 'throughput < -5%'",
        "'throughput < -5%' のように、数値、< か >、割合を指定してください";
    SAMPLES_THERE: "it is there already; move it away, or fit it: `raidloom model fit {path}`",
        "すでにあります。移動するか、それで当てはめてください: `raidloom model fit {path}`";
    SCRATCH_HOLDS: "it carries a signature: {signature}; a scratch range is written over. `wipefs --all {path}` clears it, or choose another",
        "署名があります: {signature}。--scratch の範囲は上書きされます。`wipefs --all {path}` で消すか、別のものを選んでください";
    NO_NOTICE_PROGRAM: "there is no such file", "そのようなファイルはありません";
    NO_MAIL_ADDRESS: "it is no address", "アドレスではありません";
    NO_WEB_ADDRESS: "it does not begin with http:// or https://", "http:// か https:// で始まっていません";
    NOTICE_NEEDS_PROGRAM: "{flag} needs `{program}`, which is not there: {advice}",
        "{flag} には `{program}` が必要ですが、ありません: {advice}";
    METRICS_LOCAL: "figures are served to this machine alone; name an address such as 127.0.0.1:9763, and put a proxy with a password before it for others",
        "数値はこのマシンだけに公開します。127.0.0.1:9763 のようなアドレスを指定し、ほかのマシンにはパスワード付きのプロキシを置いてください";
    SIZES_KNOWN: "--create: every drive that is named has a size already",
        "--create: 指定されたドライブのサイズはすべて決まっています";
    NOTHING_HOLDS_DATA: "--scratch: no file or device that holds data is named",
        "--scratch: データのあるファイルやデバイスが指定されていません";
    MODEL_NEEDS_GUEST: "a modelled drive takes modelled time, which passes in a guest: --guest",
        "モデルのドライブの時間はモデル時間で、ゲストの中でだけ進みます: --guest";
    MODEL_SIZE_NEEDED: "what is written to it is kept in memory: name how much of it is used, 4 GiB at most (--create SIZE)",
        "書き込んだものはメモリーに置かれます。使うサイズを最大 4 GiB で指定してください(--create SIZE)";
    HOLDS_DATA: "it holds data; pull makes a file system anew. --scratch lets an empty drive in memory of its size stand for it, and leaves it alone",
        "データがあります。pull はファイルシステムを作り直します。--scratch なら同じサイズの空のドライブをメモリーに置き、これには触れません";
    DRIVES_KEEP_DATA: "pull needs drives that keep data; name ram:SIZE or files",
        "pull にはデータを保持するドライブが必要です。ram:SIZE かファイルを指定してください";
    NO_FILE_OR_DEVICE: "it is no file and no block device", "ファイルでもブロックデバイスでもありません";
    TEAR_EXPECTED: "expected a power of two from 512 on", "512 以上の 2 のべき乗を指定してください";
    LOG_OF_ONE_DEVICE: "--import: such a log is of one device: the target is one drive of its size",
        "--import: このログは 1 台のデバイスのものです。対象は同じサイズの 1 台のドライブにしてください";
    IMPORT_RECORDS_NOTHING: "--import: nothing is recorded: neither --array md nor --device model have a part in it",
        "--import: 何も記録しないため、--array md と --device model は関係しません";
    CHECK_OF_WHAT: "--check: of what? (--work-command, or --import a log)",
        "--check: 何を調べますか? (--work-command、またはログの --import)";
    NAME_PROGRAM: "name a program", "プログラムを指定してください";
    CONSISTENCY_EXPECTED: "expected resync, bitmap or ppl", "resync、bitmap、ppl のいずれかを指定してください";
    NOTHING_TO_PULL: "--pulls 0: without --hunt there is nothing to do",
        "--pulls 0: --hunt がなければ何もすることがありません";
    NO_KERNEL_DEVICE: "the kernel knows no such device", "カーネルにそのようなデバイスはありません";
    DEVICE_WITHOUT_SIZE: "it has no size", "サイズがありません";
    NO_DISK_OR_FOLDER: "neither a disk nor a folder", "ディスクでもフォルダーでもありません";
    NO_OWN_DISK: "{kind} has no disk of its own that could be recorded", "{kind} には記録できる専用のディスクがありません";
    LIES_ON_RECORDED: "it lies on what is recorded, and would hold its own writes (feedback); name a file elsewhere, such as /dev/shm/load.rec, or consent with --feedback",
        "記録する対象の上にあり、自分の書き込みも記録されます(feedback)。/dev/shm/load.rec のような別の場所のファイルを指定するか、--feedback で同意してください";
    NOTHING_BETWEEN: "--from is not before --to: nothing is between them",
        "--from が --to より前でないため、間に何もありません";
    NO_REQUEST_IN_PART: "no request lies in the part from --from to --to: the last of the recording begins at {time}",
        "--from から --to までの間に要求がありません。記録の最後の要求は {time} に始まります";
    SPEED_RANGE: "a number from 0.000001 to 1000000", "0.000001 から 1000000 までの数です";
    SIZE_AT_LEAST: "--size: at least {size} bytes", "--size: {size} バイト以上にしてください";
    NAME_RECORDING: "name the new recording: -o FILE", "新しい記録を指定してください: -o FILE";
    NO_REQUEST_IN_IT: "there is no request in it", "要求がありません";
    IMAGE_NEEDS: "-s image=KIND needs -s image_size=SIZE and -s outer_file_system=NAME",
        "-s image=KIND には -s image_size=SIZE と -s outer_file_system=NAME が必要です";
    GUEST_NEEDS_DISK: "a guest needs a disk: --stack 'model:maxtor-6y200p0'; `raidloom model show` names models",
        "ゲストにはディスクが必要です: --stack 'model:maxtor-6y200p0'。モデルの名前は `raidloom model show` で確認できます";
    GUEST_INTERRUPTED: "interrupted: nothing stays behind", "中断しました。何も残りません";
    NO_WHOLE_SECTORS: "not whole sectors of {bytes} bytes", "{bytes} バイトのセクターの倍数ではありません";

    // Command lines that make no sense.
    UNKNOWN_ARGUMENT: "there is no argument `{argument}`", "`{argument}` という引数は使えません";
    ARGUMENT_MISSING: "these arguments are missing: {arguments}", "必要な引数がありません: {arguments}";
    VALUE_MISSING: "`{argument}` needs a value", "`{argument}` には値が必要です";
    VALUE_REFUSED: "`{argument}` takes no `{value}`", "`{argument}` の値 `{value}` は使えません";
    VALUE_OF_THESE: "`{argument}` takes no `{value}`; it takes {known}",
        "`{argument}` の値 `{value}` は使えません。使える値: {known}";
    VALUE_WRONG: "`{argument}` takes no `{value}`: {why}", "`{argument}` の値 `{value}` は使えません: {why}";
    ARGUMENTS_CONFLICT: "`{argument}` does not go with `{other}`", "`{argument}` は `{other}` と一緒に使えません";
    ARGUMENT_TWICE: "`{argument}` is taken once", "`{argument}` は 1 回だけ指定できます";
    UNKNOWN_VERB: "there is no command `{name}`", "`{name}` というコマンドはありません";
    NO_VERB: "there is no verb `{verb}`; {instead}", "`{verb}` というコマンドはありません。{instead}";
    TRY_LINE: "try: raidloom {line}", "代わりに: raidloom {line}";
    SPELT_NOW: "from the next release on this has to be said as: raidloom {line}",
        "次のリリースからは、次のように指定する必要があります: raidloom {line}";
    NO_HEALTH_FIGURES: "raidloom reads no health figures: smartctl -a DEVICE does",
        "raidloom はドライブの健康状態を読みません: smartctl -a DEVICE で読めます";
    NO_RESHAPING: "raidloom does not reshape arrays: mdadm --grow does",
        "raidloom はアレイをリシェイプしません: mdadm --grow でできます";
    NO_PARTITIONING: "raidloom makes no partitions: sfdisk does",
        "raidloom はパーティションを作りません: sfdisk で作れます";
    NEAREST_WORD: "; did you mean `{name}`?", "。`{name}` のことですか?";

    // What is wrong with a recording.
    AT_LINE: "line {number}", "{number} 行目";
    AT_RECORD: "record {number}", "記録 {number}";
    PLACES_UNREADABLE: "{count} places where no request can be read, the first at {first}; skipped",
        "要求を読み取れない箇所が {count} 件あり、飛ばしました(最初は{first})";
    REQUESTS_EMPTY: "{count} requests of size 0, the first at {first}; skipped",
        "サイズ 0 の要求が {count} 件あり、飛ばしました(最初は{first})";
    REQUESTS_PAST_END: "{count} requests past the end of the device, the first at {first}; skipped",
        "デバイスの終わりを越える要求が {count} 件あり、飛ばしました(最初は{first})";
    REQUESTS_UNORDERED: "{count} requests out of order, the first at {first}; taken for as late as the one before",
        "順序の乱れた要求が {count} 件あり、直前の要求と同じ時刻とみなしました(最初は{first})";
    CLOCK_SET_BACK: "{count} times the clock was set back, the first at {first}; time goes on from there",
        "時計が {count} 回戻されており、そこから時刻を続けました(最初は{first})";
    COMPLETIONS_ALONE: "{count} completions without submission, the first at {first}; skipped",
        "発行のない完了が {count} 件あり、飛ばしました(最初は{first})";
    EVENTS_LOST: "{count} events were lost while it was recorded; some requests are missing",
        "記録中に {count} 件のイベントが失われ、一部の要求がありません";
    RECORDING_CUT_OFF: "it is cut off after {first}; it counts up to there", "{first}の後で途切れています。そこまでを使います";

    // array rescue.
    SHAPES_TRIED: "by what members hold: {done} of {total} shapes tried",
        "メンバーの内容から: {total} 通りの構成のうち {done} を試行";
    UP_TO_DATE: "up to date", "最新";
    MISSING_MEMBER: "missing", "欠落";
    STALE_MEMBER: "stale: {age}", "古い: {age}";
    MEMBER_REBUILT_UP_TO: "rebuilt up to {size} of its data", "データの {size} まで再構築済み";
    SPARE_MEMBER: "spare: holds none of the data", "予備: データなし";
    HOLDS_JOURNAL: "holds the journal", "ジャーナルを保持";
    BY_WHAT_IT_HOLDS: "by what it holds", "内容による";
    NOT_USED: "not used: {reason}", "不使用: {reason}";
    EVENTS_BEHIND: "{events} events behind{time}", "{events} イベント前{time}";
    ONE_MADE_FROM_OTHERS: "redundancy: a member is made from the others",
        "冗長性: 1 台をほかのメンバーから復元します";
    MADE_FROM_OTHERS: "redundancy: {count} members are made from the others",
        "冗長性: {count} 台をほかのメンバーから復元します";
    WRITES_LEFT_BEHIND: "part of what was written since {source} was left behind ({age})",
        "{source} より後に書かれたものの一部({age})";
    TAKEN_AS_IT_STANDS: "{source}: the checksum of its superblock is wrong; it is taken as it stands",
        "{source}: スーパーブロックのチェックサムが一致しません。そのまま使います";
    CLAIM_ONE_PLACE: "{used} and {other} claim one place; if files are damaged, leave out the first",
        "{used} と {other} が同じ場所を名乗っています。ファイルが壊れていたら、前者を外してください";
    AGREES_BY_CONTENT: "the layout is worked out from what the members hold: {whole}.{tenths} % of what was checked agrees",
        "構成はメンバーの内容からの推定です(調べた部分の {whole}.{tenths} % が一致)";
    OTHER_WAYS: "other layouts that fit as well: {more}; --show 5 lists five candidates",
        "同じくらい合う構成がほかに {more} 通りあります(--show 5 で候補を 5 つ表示)";
    NO_MEMBER_HOLDS: "no member; it holds: {name}", "メンバーではありません。内容: {name}";
    DISPLACED_HOLDS: "no superblock; from {offset} on it holds: {name}",
        "スーパーブロックなし。{offset} からの内容: {name}";
    NO_MEMBER_UNKNOWN: "no member; nothing known is on it",
        "メンバーではなく、既知の内容もありません";
    WITHOUT_SUPERBLOCKS: "array without superblocks", "スーパーブロックのないアレイ";
    NOTHING_KNOWN: "nothing that is known", "既知のものなし";
    AND_SO_MANY_MORE: "and {count} more", "ほか {count} 件";
    CANNOT_BE_OPENED: "cannot be opened: {reason}", "開けません: {reason}";
    ARRAY_HOLDS: "holds: {what}", "内容: {what}";
    OPENING_LOSES_NOTHING: "opening it loses: nothing", "開くことで失われるもの: なし";
    OPENING_LOSES: "opening it loses: {what}", "開くことで失われるもの: {what}";
    NOT_SURE_OF_IT: "not sure: {what}", "確かでないこと: {what}";
    IT_IS_ENCRYPTED: "it is encrypted: a file with its passphrase stands for {passphrase_file}",
        "暗号化されています: パスフレーズの入ったファイルを {passphrase_file} に指定してください";
    TO_OPEN_IT: "to open it, nothing is written:", "開くには(何も書き込みません):";
    NOTHING_RESCUED: "--mount: nothing was found that can be opened; without --mount it says why",
        "--mount: 開けるものがありません。理由は --mount なしで表示します";
    SEVERAL_TO_MOUNT: "--mount: {count} arrays can be opened; name the members of one of them",
        "--mount: 開けるアレイが {count} 個あります。どれか 1 つのメンバーを指定してください";
    RESCUE_MOUNTED: "mounted at {folder} for reading only; it ends by:",
        "{folder} に読み取り専用でマウントしました。終了するには:";

    // pull.
    NAME_BY_WHOLE_PATH: "{flag} {word}: it begins in a folder of the stack: name it by its whole path, {path}",
        "{flag} {word}: スタックのフォルダーで始まるため、完全なパス {path} で指定してください";
    CONSISTENCY_NO_SUPERBLOCKS: "--consistency {value}: no array of the target keeps superblocks; metadata=1.2 does",
        "--consistency {value}: 対象にスーパーブロックのあるアレイがありません(metadata=1.2 なら持ちます)";
    LOSE_STALE: "--lose-member stale: it takes an array that does without a drive and tells an older one: metadata=1.2",
        "--lose-member stale: ドライブが 1 台欠けても動き、古いものを見分けられるアレイが必要です(metadata=1.2)";
    MD_OF_A_GUEST: "it is the md of a guest, which does not touch this machine's",
        "ゲスト内の md で、このマシンの md には触れません";
    MEMORY_OF_GUEST: "--memory: it is a guest's: --guest", "--memory: ゲスト用です(--guest)";
    KERNEL_OF_GUEST: "-s kernel=: this machine's kernel is what it is: --guest",
        "-s kernel=: このマシンのカーネルは変えられません(--guest)";
    ARRAY_MD_GUEST: "--array md: {md}: --guest", "--array md: {md}。--guest が必要です";
    START_MD_GUEST: "--start-with md: {md}: --guest", "--start-with md: {md}。--guest が必要です";
    STATE_GUEST: "--state: arrays are brought there in a guest, on drives that take time: --guest",
        "--state: アレイの状態は、時間のかかるドライブを持つゲストで作ります(--guest)";
    UNFLUSHED_GUEST: "-s write_cache=unflushed: it is the Linux of a guest that is told so: --guest",
        "-s write_cache=unflushed: ゲストの Linux への指定です(--guest)";
    MODEL_GUEST: "--device model: drives are modelled in a guest only: --guest",
        "--device model: ドライブのモデルはゲスト内だけです(--guest)";
    STATE_NO_REDUNDANCY: "--state: there is no array that could do without a member",
        "--state: メンバーが欠けても動くアレイがありません";
    START_MD_SUPERBLOCKS: "--start-with md: md knows an array by its superblocks: metadata=1.2",
        "--start-with md: md はスーパーブロックでアレイを見分けます(metadata=1.2)";
    STATE_NO_SUPERBLOCKS: "--state: there is no array that could lack a member: one with metadata=1.2",
        "--state: メンバーが欠けた状態にできるアレイがありません(metadata=1.2 のもの)";
    TARGET_IS_DRIVE: "the target is a drive, and no array", "対象がアレイでなくドライブです";
    TARGET_ONE_ARRAY: "the target is one array over drives, without layers below",
        "対象は、下に層のない、ドライブを並べた 1 つのアレイです";
    MD_UNDER_LUKS: "luks(…) is opened by raidloom alone here: the kernel's dm-crypt is not used",
        "luks(…) を開くのはここでは raidloom だけで、カーネルの dm-crypt は使いません";
    OPTION_IS_OURS: "`{option}` is raidloom's own", "`{option}` は raidloom だけのオプションです";
    PPL_OF_RAID5: "--consistency ppl: {name} has no such log; raid5 has",
        "--consistency ppl: 部分パリティログは raid5 だけで、{name} にはありません";

    // -s KEY=VALUE.
    KEYS_AND_DEFAULTS: "Keys of -s, with their defaults:", "-s のキーと既定値:";
    KEY_VALUE_OF: "KEY=VALUE, of the keys {keys}",
        "KEY=VALUE の形で指定してください。使えるキー: {keys}";
    KEY_IS_ONE_OF: "{key} is one of {values}", "{key} に使える値: {values}";
    KEY_OTHER_VALUE: "{key} takes another value", "{key} にその値は使えません";

    // start, examine and others below array.
    FOR_FILE_OF_ATTACH: "it is for the file of --attach, and ublk has none",
        "--attach のファイル用で、ublk にはありません";
    FOR_NBD: "it is for NBD: --nbd", "NBD 用です(--nbd)";
    FOR_NBD_OVER_TCP: "it is for NBD over TCP: --nbd HOST:PORT",
        "TCP での NBD 用です(--nbd HOST:PORT)";
    NO_ARRAY_NO_MEMBER: "there is no array in the stack, and so no member",
        "スタックにアレイがなく、メンバーもありません";
    FOR_ATTACHED: "it is for what appears on this machine: --attach",
        "このマシンに現れるもの用です(--attach)";
    FAILED_WITHOUT_A_WORD: "it failed without a word", "理由の出力なしに失敗しました";
    NO_SUCH_SUITE: "there is no such suite", "そのスイートはありません";
    MADE_FOR_LARGER: "the cache was made for a larger device",
        "キャッシュはもっと大きいデバイス用です";
    SIZES_OF_BOTH: "{device}: {text}: this one has {bytes} bytes, and that had {before}",
        "{device}: {text}。これは {bytes} バイト、元は {before} バイトです";

    // model fit.
    DRIVE_IN_USE: "{path}: it is in use: {others} % of the requests of {time} were others'; at most {most} % may be",
        "{path}: 使用中です。{time} の要求の {others} % がほかからのものです(上限 {most} %)";
    ONLY_WRITES_SHOW: "only writes show it, and nothing was written (--scratch)",
        "書き込まないとわからず、書き込んでいません(--scratch)";
    SEVERAL_DRIVES: "it takes several drives", "複数のドライブが必要です";
    TIME_WAS_OVER: "the time was over", "時間切れ";
    SHORTER_THAN_COMMAND: "it is shorter than what a command takes anyway",
        "コマンドの所要時間より短い";
    READS_NEVER_WAITED: "two reads never had to wait for one another",
        "2 つの読み込みが待ち合うことがなかった";
    ORDER_OF_WRITES: "only the order of many writes would show it",
        "多数の書き込みの順序を見ないとわからない";
    NO_ROOM_FOR_EXTENTS: "the cache had no room for more extents before it was full",
        "キャッシュが一杯になる前に、エクステントの余地がなくなった";
    LINK_TAKES_LONGER: "the link takes longer", "リンクのほうが時間がかかります";
    WRITTEN_OVER_AGAIN: "only writing the drive over, and over again, would show it",
        "ドライブ全体を繰り返し上書きしなければわかりません";
    DOES_NOT_ROTATE: "it does not rotate, and no read takes longer than a cached one, of {overhead_us} us and {rate} MB/s: a file or a virtual disk in a cache of the host, or flash as fast as that. Nothing else of it can be found out by reads",
        "回転せず、どの読み込みもキャッシュからの読み込み({overhead_us} us、{rate} MB/s)より長くかかりません。ファイルか、ホストのキャッシュ上の仮想ディスクか、それと同じ速さのフラッシュです。読み込みだけではこれ以上わかりません";
    TOO_FEW_SAMPLES: "there are too few samples of the probe `{name}` for a model: give it more --time",
        "測定 `{name}` の標本が少なすぎてモデルを作れません。--time を増やしてください";

    // guest.
    NOTHING_TO_MOUNT_AFTER: "without --fs there is nothing to mount after the cut: --then says what is run",
        "--fs がないと電源断の後にマウントするものがありません。実行するものを --then で指定してください";
    ENDED_BEFORE_CUT: "the guest had ended at {time} with {requests} requests done, before the power was to fail",
        "ゲストは電源断の前に {time} で終わっていました({requests} 要求)";
    FILE_NO_MODELLED_TIME: "{path}: a guest lives in modelled time, and a file does not; name model: leaves",
        "{path}: ゲストはモデル時間で動きますが、ファイルは違います。model: を指定してください";
    BOUNDS_OF_GUEST: "-s real_time_limit= and -s silence_limit= say how long it may take; --memory= how much memory it has",
        "時間の上限は -s real_time_limit= と -s silence_limit=、メモリーは --memory= で指定します";
    GUEST_SAID_NOTHING: "it said nothing", "出力はありません";
    DISKS_OF_GUEST: "the guest's disks: {last}", "ゲストのディスク: {last}";
    GUEST_WORK_ENDED: "the work in the guest ended with {code}: {last}",
        "ゲスト内の作業が {code} で終了しました: {last}";
    CONFIG_NO_FILE: "-s config= names no file; -s name= says what the kernel is called",
        "-s config= にファイルがありません。カーネルの名前は -s name= で指定します";
    SLEEP_WAS: "1000 s of sleep were {other} s", "1000 秒のスリープが {other} 秒でした";
    DISK_CALLED: "its disk is called `{other}`", "ディスクの名前が `{other}` です";
    GUEST_JOB_ENDED: "its job ended with {code}: {said}", "作業が {code} で終了しました: {said}";
    BOOTS_BUT: "the guest boots, but {wrong}", "ゲストは起動しますが、{wrong}";

    // Limits.
    LIMIT_MEANT_NOTHING: ".", "。";
    LIMIT_MEANT: "; did you mean `{name}`?", "(`{name}` のことですか?)。";
    LIMIT_NO_METRIC: "--fail-if {limit}: no cell that is compared has a metric `{metric}`{meant} There are: {there_are}",
        "--fail-if {limit}: 比較するセルに数値 `{metric}` がありません{meant}あるもの: {there_are}";
    CANNOT_TELL_MORE: "{count} further figures that --fail-if is about cannot tell; others of the same cells can",
        "--fail-if の対象のうち、判定できない数値がほかに {count} 個あります(同じセルの別の数値では判定できます)";
    BLIND: "blind", "判定不能";
    LIMIT_AND_MORE: " and {count} more", " ほか {count} 件";
    FEW_REQUESTS: "this percentile wants {needed} requests in every trial; longer trials have them (time), or a lower percentile wants fewer",
        "このパーセンタイルには試行ごとに {needed} 要求必要です。試行を長く(time)するか、低いパーセンタイルにしてください";
    FEW_TRIALS: "{voting} trials vote on one side{reason}, and {least} are the fewest; more blocks have them",
        "片方で判定に使える試行が {voting} 個{reason}で、最低 {least} 個必要です。ブロックを増やしてください";
    WIDE_RATIO: "the ratio may be {low} to {high}, which is wider than the limit; about {trials} trials a side would see it",
        "比は {low} から {high} の範囲で、限度より広いです。片方あたり約 {trials} 試行で見分けられます";

    // Whole numbers.
    NUMBER_MISSING: "cannot parse integer from empty string", "数値がありません";
    WHOLE_NUMBER_TOO_LARGE: "number too large to fit in target type", "数値が大きすぎます";
    NO_WHOLE_NUMBER: "invalid digit found in string", "整数ではありません";
    NOT_WITHIN: "{number} is not in {bounds}", "{number} は {bounds} の範囲外です";
}
