//! What the values of options and the keys of `-s` mean, in Japanese.

/// Possible values, by what is said of each in English.
pub(super) const VALUES: &[(&str, &str)] = &[
    // check.
    (
        "This machine's drives, and whether they may be written to",
        "このマシンのドライブと、書き込めるかどうか",
    ),
    ("A guest: boots one, and says what it can do", "ゲスト: 起動して、できることを示します"),
    // choose.
    ("On the drives themselves", "ドライブそのもの"),
    ("On models of them, by a guest's kernel", "ドライブのモデルの上(ゲストのカーネル)"),
    ("raidloom's, served by its own program", "raidloom のもの(raidloom のプログラムが動かします)"),
    (
        "The kernel's: its commands are printed, and run where it is consented to what they erase",
        "カーネルのもの。コマンドを表示し、消去への同意があれば実行します",
    ),
    // run.
    (
        "Slurm: sbatch and squeue have to be installed here",
        "Slurm: ここに sbatch と squeue が必要です",
    ),
    (
        "No headline has a question left that more blocks might answer, or 60 blocks are there",
        "ブロックを増やせば決まる問いが結論に残っていないか、60 ブロックに達するまで",
    ),
    // compare.
    ("Settings of the suites", "スイートの設定"),
    ("Kernel, processor, file system", "カーネル、プロセッサー、ファイルシステム"),
    ("Raidloom's own", "raidloom 自身のバージョン"),
    // report and ui.
    ("English", "英語"),
    ("Japanese", "日本語"),
    // pull.
    (
        "Files of 20 to 180 KB are written and closed, nothing is synced: what a copy loses",
        "20 〜 180 KB のファイルを書いて閉じるだけで、同期しません(コピーで失われるもの)",
    ),
    (
        "Files are written, overwritten and removed, each with fsync",
        "ファイルの書き込み、上書き、削除(それぞれ fsync 付き)",
    ),
    (
        "Files are replaced by rename, half of them with fsync, half without",
        "rename によるファイルの置き換え(半分は fsync 付き、半分はなし)",
    ),
    ("A log grows, with fdatasync behind each block", "ログへの追記(ブロックごとに fdatasync)"),
    (
        "Transactions of SQLite as it comes: its journal is removed, synchronous=FULL",
        "既定の SQLite のトランザクション(ジャーナルは削除、synchronous=FULL)",
    ),
    (
        "The same with synchronous=EXTRA: the folder is synced after each",
        "同じく synchronous=EXTRA(毎回フォルダーも同期)",
    ),
    (
        "Transactions of SQLite with a write-ahead log",
        "先行書き込みログ(WAL)の SQLite のトランザクション",
    ),
    (
        "Small works of one to three operations (link, rename, truncate, punch and so on), each made \
        durable as POSIX says: all of one, and more by the seed",
        "1 〜 3 操作の小さな処理(link、rename、truncate、穴あけなど)。POSIX に従い毎回永続化します。1 操作のものは全部、それ以上は種で選びます",
    ),
    ("raidloom's", "raidloom のアレイ"),
    (
        "That of the guest's own md, on the same drives: the target is one array over drives",
        "同じドライブ上の、ゲスト自身の md のアレイ(対象はドライブを並べた 1 つのアレイ)",
    ),
    ("Whose array it was", "元のアレイを作ったもの"),
    ("raidloom", "raidloom"),
    ("The guest's own md", "ゲスト自身の md"),
    (
        "A volatile cache (drive_cache, cache_age), of which each write is lost with even chances",
        "揮発性キャッシュあり(drive_cache、cache_age)。中の書き込みはそれぞれ半々の確率で失われます",
    ),
    (
        "Every write that no flush covers is lost with even chances, unit by unit",
        "フラッシュされていない書き込みは、単位ごとに半々の確率で失われます",
    ),
    ("No volatile cache: what was written is there", "揮発性キャッシュなし。書いたものは残ります"),
    (
        "Flushes are answered and not carried out: no honest drive",
        "フラッシュに応答しても実行しません(不正直なドライブ)",
    ),
    (
        "FUA is answered and not carried out: no honest drive",
        "FUA に応答しても実行しません(不正直なドライブ)",
    ),
    (
        "What the drive's model had brought to its media is there, sector by sector, and nothing else \
        of its cache (in a guest)",
        "ドライブのモデルが媒体に書いた分だけがセクター単位で残り、キャッシュのほかの内容は失われます(ゲスト内)",
    ),
    ("The power of the host and of the drives fails", "ホストとドライブの電源が断たれます"),
    (
        "Drives that take their power from the bus are pulled: what they cached is gone too",
        "バスから給電されるドライブが抜かれます。キャッシュの内容も失われます",
    ),
    (
        "Drives with power of their own are pulled: what they cached they write out, what is on its \
        way to them may be torn",
        "自前の電源のあるドライブが抜かれます。キャッシュは書き出され、転送中のものは分断されることがあります",
    ),
    (
        "The kernel or the serving process ends, the drives keep their power",
        "カーネルか提供中のプロセスが終了し、ドライブの電源は保たれます",
    ),
    // array.
    ("Going over all of them", "全体を照合します"),
    (
        "Going over the regions that a write-intent bitmap names",
        "書き込みインテントビットマップの示す範囲を照合します",
    ),
    ("The partial parity log (level 5)", "部分パリティログ(レベル 5)"),
    ("On the members", "メンバー上"),
    ("Nowhere", "なし"),
    (
        "As a block device where there are loop devices, and as a file",
        "ループデバイスがあればブロックデバイスとして、さらにファイルとして",
    ),
    ("As a file only", "ファイルだけ"),
    (
        "As a block device of the kernel's ublk driver (Linux 6.0), without a file",
        "ファイルなしで、カーネルの ublk ドライバーのブロックデバイスとして(Linux 6.0)",
    ),
    (
        "Read everything, and say what does not agree and which member is wrong, where that can be \
        told",
        "すべて読み、一致しない箇所と、わかれば誤っているメンバーを示します",
    ),
    (
        "The same, and mend the member that is wrong; with one parity or two copies nothing tells \
        which, and they are made to agree with the data or the first copy",
        "同じことをして、誤ったメンバーを直します。パリティ 1 つかコピー 2 つではどれが誤りかわからず、データか最初のコピーに合わせます",
    ),
    (
        "Trust the data: make all parity anew from them, and all copies from the first",
        "データを正しいとし、全パリティを作り直し、全コピーを最初のものに合わせます",
    ),
    ("Pause what is under way", "進行中の処理を一時停止します"),
    ("Go on with it", "続けます"),
    ("End it", "終了します"),
    // guest.
    ("All of it", "全部"),
    ("Each sector by itself or not", "セクターごとに、失われるかどうかが決まります"),
    // trace.
    ("Say what it is like", "内容の特徴を表示します"),
    ("Keep a part of its time (--from, --to)", "時間の一部を切り出します(--from、--to)"),
    (
        "Make it faster or slower (--speed), or fit it to a smaller device (--size)",
        "速さを変えるか(--speed)、小さいデバイスに合わせます(--size)",
    ),
    (
        "Write it in another format, by the ending of -o: .rec, .csv, .iolog (fio), .parquet",
        "-o の拡張子に応じた形式で書きます: .rec、.csv、.iolog(fio)、.parquet",
    ),
];

/// Keys of `-s`, by what is said of each in English.
pub(super) const KEYS: &[(&str, &str)] = &[
    // pull.
    ("The volatile cache of each typical drive", "標準的な各ドライブの揮発性キャッシュ"),
    ("How long a write stays in it at most", "書き込みがそこに留まる最長時間"),
    ("What a drive writes whole or not at all", "ドライブが全部書くか全く書かないかの単位"),
    (
        "Time over which the steps are spread: 40s for copies, as fast as it goes else",
        "作業を分散させる時間: コピーは 40s、ほかは最速",
    ),
    ("For the program that makes the file system", "ファイルシステムを作るプログラムへの指定"),
    ("Recordings over which the pulls are spread", "電源断を割り振る記録の回数"),
    (
        "When the export's writes are durable: performance after a flush, quick each by itself \
        (mount with -o sync as well, or they wait in the page cache)",
        "エクスポートの書き込みがいつ永続化されるか: performance はフラッシュの後、quick は毎回(マウントにも -o sync が必要。なければページキャッシュで待ちます)",
    ),
    (
        "unflushed: Linux in the guest is told that its disks have no cache, so that it flushes none",
        "unflushed: ゲストの Linux にディスクのキャッシュがないと伝え、フラッシュをさせません",
    ),
    (
        "The guest's kernel: the usual one, or another that `raidloom guest build` has made",
        "ゲストのカーネル: 既定のもの、または `raidloom guest build` で作った別のもの",
    ),
    (
        "How long a state may take to be mounted, repaired and read, in real time: what takes longer \
        counts as lost",
        "1 つの状態のマウント、修復、読み込みにかけてよい実時間。超えると失われたものとします",
    ),
    (
        "With --replay: whether the lost writes are reduced to those whose loss alone breaks the same",
        "--replay とともに: 失われた書き込みを、同じ破損を起こす最小のものまで減らすか",
    ),
    // array cache simulate.
    ("Block of the cache", "キャッシュのブロック"),
    (
        "Sequential runs longer than this stay outside; else none does",
        "これより長い連続アクセスはキャッシュに入れません。指定がなければすべて入れます",
    ),
    ("A block comes in at its n-th access", "ブロックは n 回目のアクセスで入ります"),
    (
        "Instead of a trace: blocks asked for by Zipf's law with this exponent",
        "記録の代わりに、この指数の Zipf の法則でブロックを要求します",
    ),
    (
        "Which part of the accesses are sequential scans over other blocks: 0 to 1",
        "アクセスのうち、別のブロックを順に走査する割合: 0 〜 1",
    ),
    ("How many blocks a scan reads", "1 回の走査で読むブロック数"),
    ("How many different blocks, without those of scans", "異なるブロックの数(走査の分を除く)"),
    ("How many accesses", "アクセスの数"),
    ("Equal seeds give equal workloads", "種が同じならワークロードも同じです"),
    // guest run.
    (
        "Scheduler of the disks: none, mq-deadline, kyber, bfq; else the kernel's choice",
        "ディスクのスケジューラー: none、mq-deadline、kyber、bfq。なければカーネルの既定",
    ),
    ("Read-ahead; else the kernel's choice, 128KiB", "先読み。なければカーネルの既定(128KiB)"),
    (
        "The longest request that a disk is given; else the kernel's choice, 1280KiB",
        "ディスクに渡す要求の最大長。なければカーネルの既定(1280KiB)",
    ),
    (
        "The most requests that a disk is given at a time; 1 is a disk without queueing; else 256",
        "ディスクに同時に渡す要求の最大数。1 ならキューのないディスク。なければ 256",
    ),
    (
        "Whether writes may stay in a disk's cache until they are flushed: on, off, or unflushed \
        (there is one, and Linux is not told of it)",
        "書き込みがフラッシュまでディスクのキャッシュに留まってよいか: on、off、unflushed(キャッシュはあるが Linux に伝えない)",
    ),
    (
        "Make the file system in an image, a file of an outer file system on the disk: raw, vhd",
        "ディスク上の外側のファイルシステムに置いたイメージ(raw、vhd)の中に、ファイルシステムを作ります",
    ),
    ("The size of the disk in the image", "イメージの中のディスクのサイズ"),
    (
        "Whether what goes to the image passes the outer file system's page cache by",
        "イメージへの入出力が外側のファイルシステムのページキャッシュを通るか",
    ),
    ("The file system that the image is a file of", "イメージを置く外側のファイルシステム"),
    (
        "For the program that makes the outer file system",
        "外側のファイルシステムを作るプログラムへの指定",
    ),
    ("For mount -o of the outer file system", "外側のファイルシステムの mount -o に渡すもの"),
    (
        "How long a guest may take in real time; one that takes longer is ended",
        "ゲストにかけてよい実時間。超えると終了させます",
    ),
    (
        "How long it may say nothing in real time, with neither a look at its clock nor a request to \
        a disk; one that computes for longer is ended",
        "時計もディスクも使わずにいてよい実時間。それより長く計算を続けると終了させます",
    ),
    // guest build.
    (
        "What the kernel is called, beside the usual one: as the file of config, unless it is said",
        "既定のもの以外のカーネルの名前。指定がなければ config のファイル名です",
    ),
    (
        "A file with what its configuration has beside raidloom's, or instead: CONFIG_F2FS_FS=y",
        "raidloom の設定に追加するか置き換えるものを書いたファイル: CONFIG_F2FS_FS=y",
    ),
    ("Whether it is built also if it is there already", "すでにあっても作り直すか"),
];
