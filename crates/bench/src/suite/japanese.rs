//! What suites measure, what their users should know and what their keys mean, in Japanese, by what
//! is said in English.

use words::{Language, language};

use super::definition::{Setting, Suite};

/// What a suite measures, in the reader's language.
#[must_use]
pub fn summary(suite: &Suite) -> &'static str {
    said(SUMMARIES, suite.summary)
}

/// What the users of a suite should know, in the reader's language.
#[must_use]
pub(super) fn about(suite: &Suite) -> &'static str {
    said(ABOUTS, suite.about)
}

/// What a key of a suite means, in the reader's language.
#[must_use]
pub(super) fn meaning(setting: &Setting) -> &'static str {
    said(MEANINGS, setting.what)
}

fn said(all: &[(&str, &'static str)], english: &'static str) -> &'static str {
    let known = all.iter().find(|(known, _)| *known == english);
    match (language(), known) {
        (Language::Japanese, Some((_, japanese))) => japanese,
        _ => english,
    }
}

const SUMMARIES: &[(&str, &str)] = &[
    (
        "Raw requests on a whole device: sequential at its start and end, random, and mixed, with the data verified.",
        "デバイス全体への直接の要求: 先頭と末尾での順次、ランダム、混合。データも検証します。",
    ),
    (
        "The rows of CrystalDiskMark, each past the page cache and through it side by side.",
        "CrystalDiskMark の各行を、ページキャッシュを通さない場合と通す場合で並べて測定します。",
    ),
    (
        "The phases of bonnie++: one large file by characters, blocks and seeks, and many small ones made, looked at and deleted.",
        "bonnie++ の各フェーズ: 1 つの大きなファイルの文字、ブロック、シークと、多数の小さなファイルの作成、参照、削除。",
    ),
    (
        "A job file of fio's, run by fio: every group of its jobs is a row.",
        "fio のジョブファイルを fio で実行します。ジョブのグループごとに 1 行です。",
    ),
    (
        "A command of your own: how long it takes, what it costs, and figures that it prints.",
        "自分のコマンド: 所要時間、コスト、出力した数値。",
    ),
    (
        "hdparm's -T and -t: cached reads, and reads from the start of the device on.",
        "hdparm の -T と -t: キャッシュからの読み込みと、デバイスの先頭からの読み込み。",
    ),
    (
        "Requests as your own work makes them: sizes, shares, places, depth or rate, flushes.",
        "自分の用途に合わせた要求: サイズ、割合、位置、深度か頻度、フラッシュ。",
    ),
    (
        "Throughput against latency at 1 to 256 outstanding requests, and the knee where more stop paying.",
        "同時要求数 1 〜 256 でのスループットとレイテンシ、増やす意味がなくなる点(ニー)。",
    ),
    (
        "Power cuts, made on copies: what a layout and its file system lose, as a grade.",
        "写しの上で起こす電源断: 構成とファイルシステムが失うものを等級で示します。",
    ),
    (
        "Many files of mixed sizes, as when a tree is copied: written, read back and compared, deleted.",
        "フォルダーのコピーのような、大小多数のファイルの書き込み、読み直しと照合、削除。",
    ),
    (
        "A recording made again: the requests of real work, with their times and waits.",
        "記録の再現: 実際の作業の要求を、時刻と待ちとともに繰り返します。",
    ),
];

const ABOUTS: &[(&str, &str)] = &[
    (
        "The raw-device test of 2004. One request is outstanding unless told otherwise; sequential tests ascend in a region at one end of the device; random places are multiples of the device's block. Before the tests, what they will read is filled with data that name their place. What a test reads is held against the last write by the mark in every 512 bytes, or by every byte (verify); what a test wrote is read back after it, and everything after the last test, outside any test's time, and every byte compared. Every test starts from a flushed, idle device.",
        "2004 年のデバイステストです。特に指定しない限り、要求は 1 つずつ出します。順次のテストはデバイスの端の領域を昇順に進み、ランダムな位置はデバイスのブロックの倍数です。テストの前に、読む範囲をその位置を示すデータで埋めます。テストが読んだものは最後の書き込みと照合します(512 バイトごとの印、または全バイト。verify)。テストが書いたものはその後に、全体は最後のテストの後に、テストの時間外に読み直し、全バイトを比較します。どのテストも、フラッシュ済みで待機中のデバイスから始めます。",
    ),
    (
        "A test file, or a device, is written once with data of its own in every 4 KiB. Then every row runs once to warm up and several times to be measured, direct and buffered in turn, so that what the cache does is a figure. The original prints the best of its runs; that is given, and beside it the median with its interval. What a row reads is held against what was written last, by the mark in the first 32 bytes of every 4 KiB or by every byte (verify); after the last row all of it is read back and every byte compared, outside any row's time. Every row that writes has two rates: acknowledged, when its calls had returned, and durable, to the end of the flush that follows. On a raw target there are only direct rows.",
        "テストファイルまたはデバイスの 4 KiB ごとに異なるデータを 1 度書きます。その後、各行は準備に 1 回、測定に数回、ページキャッシュを通さない場合と通す場合を交互に行うため、キャッシュの効果が数値になります。元のプログラムは最良の回を表示します。ここではその値と、中央値と区間を並べます。各行が読んだものは最後に書いたものと照合します(4 KiB ごとの先頭 32 バイト、または全バイト。verify)。最後の行の後、行の時間外に全体を読み直し、全バイトを比較します。書き込む行には 2 つの速度があります。応答まで(呼び出しが戻るまで)と、永続化まで(続くフラッシュの終わりまで)です。デバイスやスタックでは、ページキャッシュを通さない行だけです。",
    ),
    (
        "The same system calls on the same amounts as bonnie++ 1.03 (style 1.03) or 2.00 (style 2.00), phase by phase. Version 2.00 syncs each file before it closes it and the file system after each phase that makes or deletes files, inside the time; version 1.03 does so only with sync. Whatever the style, what was written is synced at the end of a phase, so that there is a durable rate beside the acknowledged one. Beyond the originals: copies at the same time really are; direct I/O holds for every phase; data are incompressible and different in every block unless data is bonnie; every byte that is read, of the large file and of small ones with content, is compared with what was written, inside the time; a phase that is over too soon is repeated, so that no rate is left blank. As lines of CSV (report RUN --bonnie-csv) style 2.00 has the 50 fields that bon_csv2html and bon_csv2txt of bonnie++ 2.00a read; style 1.03 has the 27 of its time, which these two refuse whoever wrote them: they expect 1.98, the version of the format, in the first field.",
        "bonnie++ 1.03(style 1.03)または 2.00(style 2.00)と同じシステムコールを、同じ量で、フェーズごとに行います。2.00 は、時間内に、各ファイルを閉じる前にファイルを、ファイルを作るか消す各フェーズの後にファイルシステムを同期します。1.03 は sync を指定したときだけ同期します。どの style でも、書いたものはフェーズの終わりに同期するため、応答までの速度のほかに永続化までの速度があります。元のプログラムとの違い: 並行する各組は本当に同時に動きます。ダイレクト I/O はすべてのフェーズに効きます。データは圧縮できず、ブロックごとに異なります(data が bonnie の場合を除く)。読んだ全バイトを、大きなファイルも内容のある小さなファイルも、時間内に書いたものと比較します。早く終わりすぎたフェーズは繰り返すため、速度が空欄になりません。CSV の行(report RUN --bonnie-csv)は、style 2.00 では bonnie++ 2.00a の bon_csv2html と bon_csv2txt が読む 50 項目です。style 1.03 では当時の 27 項目で、どのプログラムが書いたものでも、この 2 つのプログラムは受け付けません。先頭の項目に形式のバージョン 1.98 を求めるためです。",
    ),
    (
        "The job file is taken as it is, but for {dir} or {device} in it, where the target's path is put, and group_reporting, which is on. Jobs that name no file work in a fresh folder of the target, or on the device, and files that they name begin with {dir}/. What would reach anything else is refused with its line: other paths, commands, logs, engines with a place or a program of their own, variables of the environment. Groups end where fio waits (stonewall); a row has the name of its group's first job. Files are laid out before the first row. Figures are fio's own; the durable rate counts the time that writing everything out takes afterwards. fio has to be installed. With `clients` the jobs run on each of these machines, all at the same time, where `fio --server` has to run with the version of this machine, and the target to be reached by the same path (a shared file system); the rates of all are added, and how long the first and the last of them took is said. There is no durable rate then: what a client still holds is its own business (end_fsync=1 in the job).",
        "ジョブファイルはそのまま使います。ただし {dir} と {device} には対象のパスが入り、group_reporting は有効になります。ファイル名のないジョブは対象の新しいフォルダーまたはデバイス上で動き、ファイル名は {dir}/ で始めます。ほかの場所に及ぶもの(ほかのパス、コマンド、ログ、独自の場所やプログラムを使う ioengine、環境変数)は、その行を示して拒否します。グループは fio が待つ所(stonewall)で終わり、行の名前はグループの最初のジョブの名前です。ファイルは最初の行の前に用意します。数値は fio のもので、永続化までの速度は、その後すべてを書き出す時間も含めます。fio のインストールが必要です。`clients` を指定すると、ジョブはこれらのマシンで同時に動きます。各マシンでは、このマシンと同じバージョンの `fio --server` が動き、対象に同じパスで届く必要があります(共有ファイルシステム)。速度は合計し、最初と最後のマシンの所要時間も示します。その場合、永続化までの速度はありません。クライアントに残っているものは管理できないためです(ジョブに end_fsync=1)。",
    ),
    (
        "The command is run by sh, with numbers as in C (LC_ALL=C), and works in a fresh folder of the target, whose path is {dir}, or on the device {device}. It is ready when the command has ended, and durable when the file system has written everything out. A command that ends with another status than 0 is an error that shows its last lines, and no figure; what it leaves running is ended. Without `figures` the row is its wall time; with them each is a row: pgbench, sysbench, dd, rsync or fio (its JSON) for what these print, or a line such as `commit_seconds in ms regex average = ([0-9.]+)` or `mail_per_second json $.jobs[0].rate`. Names end in their base unit; of several matches the last one counts. Which bytes a command asked for cannot be told from outside, so the audit judges the machine and not whether a cache answered: use `drop_caches`, or a command that says what it did past the cache.",
        "コマンドは sh で実行します。数値は C と同じ書式(LC_ALL=C)で、対象の新しいフォルダー {dir} の中、またはデバイス {device} 上で動きます。コマンドの終了で「完了」、ファイルシステムがすべてを書き出した時点で「永続化」です。終了ステータスが 0 でないコマンドは、最後の行を示すエラーになり、数値はありません。残ったプロセスは終了させます。`figures` がなければ行は所要時間です。あれば各数値が行になります: pgbench、sysbench、dd、rsync、fio(その JSON)が表示するもの、または `commit_seconds in ms regex average = ([0-9.]+)` や `mail_per_second json $.jobs[0].rate` のような行。名前は基本の単位で終わり、複数一致すれば最後のものを使います。コマンドが何バイトを要求したかは外から分からないため、監査はマシンだけを判定し、キャッシュが応えたかどうかは判定しません。`drop_caches` を使うか、ページキャッシュを通さない量を出力するコマンドを使ってください。",
    ),
    (
        "Reads of 2 MiB, one at a time. Nothing is written to a device; in a folder a file is written first. The original runs once; here each test is run six times, the fewest with which the median has an interval.",
        "2 MiB ずつ、1 つずつ読みます。デバイスには何も書きません。フォルダーでは先にファイルを 1 つ書きます。元のプログラムは 1 回ですが、ここでは各テストを 6 回行います。中央値の区間が求まる最小の回数です。",
    ),
    (
        "One row, made of what the keys say: read = 70, sizes = 4KiB, depth = 16 are reads and writes of 4 KiB at random places, 70 to 30, with 16 outstanding. Several kinds of work are several workloads of a plan, each with a name and a weight. With depth a closed loop is kept: an answer lets the next request go, after its think time. With rate requests are meant for moments that come by chance at so many a second, whether earlier ones were answered or not; latency counts from that moment and is what is compared. What a closed loop reads is held against the last write, and everything is read back afterwards (verify); an open loop is not verified. Durable rates count the flush at the end.",
        "1 行を、キーの指定どおりに作ります。read = 70、sizes = 4KiB、depth = 16 なら、ランダムな位置の 4 KiB の読み込みと書き込みを 70 対 30 で、16 件同時に出します。複数の種類の作業は、プランの複数の workload として、それぞれ名前と重みを付けます。depth では閉ループになり、応答の後、待ち時間を置いて次の要求を出します。rate では、前の要求への応答に関わらず、毎秒この数の割合で偶然に来る時刻に要求を出します。レイテンシはその時刻から数え、比較にはこれを使います。閉ループが読んだものは最後の書き込みと照合し、後ですべてを読み直します(verify)。開ループは照合しません。永続化までの速度は、最後のフラッシュも含めます。",
    ),
    (
        "Every kind of access and every block size is measured with 1, 2, 4, … outstanding requests, one after the other. In such a closed loop throughput and mean latency are tied (depth = requests per second x mean latency). The knee is the depth with the most throughput for its mean latency: the largest requests per second over mean latency. With `loop = open`, the largest rate of each curve is taken, and requests are then meant for moments that come by chance at 25, 50, 75 and 90 % of it, whether earlier ones were answered or not; latency counts from the moment a request was meant for, so that a stall shows in the percentiles of all who had to wait. Devices up to `prepare` are filled first: what a closed loop reads is held against what was written last by the mark in the first 32 bytes of every 4 KiB, and after the last point all of it is read back and every byte compared, outside any time, unless an open loop wrote over it. Larger ones, and what open loops move, are not compared.",
        "アクセスの種類とブロックサイズごとに、同時要求数 1、2、4、… で順に測定します。このような閉ループでは、スループットと平均レイテンシは連動します(深度 = 毎秒の要求数 × 平均レイテンシ)。ニーは、平均レイテンシに対するスループットが最大の深度、つまり毎秒の要求数を平均レイテンシで割った値が最大の点です。`loop = open` では、各曲線の最大の頻度の 25、50、75、90 % で、前の要求への応答に関わらず、偶然に来る時刻に要求を出します。レイテンシは要求を出すはずだった時刻から数えるため、停止は待たされたすべての要求のパーセンタイルに現れます。`prepare` までのデバイスは先に全体へ書き込みます。閉ループが読んだものは、最後に書いたものと 4 KiB ごとの先頭 32 バイトの印で照合し、最後の点の後、時間外に全体を読み直して全バイトを比較します(開ループが上書きした場合を除く)。より大きなデバイスと、開ループが動かしたものは比較しません。",
    ),
    (
        "The configuration's stack is served over drives in memory that stand for its members, the file system is made on it, and the work is recorded at every drive. Then the power fails at moments spread evenly over the recording, and what is left is mounted, repaired where it has to be, and read. Grade A: nothing is lost but the last second of copies; B: nothing acknowledged is lost; C: it takes a repair, or old data come to light; D: acknowledged work is lost; E: all is lost, sometimes. A configuration has the worst grade of its rows, shown with the number of pulls and with what so many leave possible; `must = [\"grade >= B\"]` takes no other. It needs root and this machine's kernel, or with place = \"guest\" a guest's, and opens none of the members. Rows have no score. In plans only: by hand it is `raidloom pull`.",
        "構成のスタックを、メンバーの代わりになるメモリー上のドライブの上で動かし、ファイルシステムを作り、作業を全ドライブで記録します。次に、記録全体に均等に散らばる時点で電源を切り、残ったものをマウントし、必要なら修復して読みます。等級 A: 失うのは最後の 1 秒のコピーだけ。B: 応答済みのものを失わない。C: 修復が必要、または古いデータが現れる。D: 応答済みの作業を失う。E: すべてを失うことがある。構成の等級は最も悪い行の等級で、電源断の回数と、その回数で残る可能性とともに示します。`must = [\"grade >= B\"]` はそれ以外を選びません。root とこのマシンのカーネル、または place = \"guest\" ならゲストのカーネルが必要で、メンバーはどれも開きません。行に点数はありません。プランでのみ使えます。手動では `raidloom pull` です。",
    ),
    (
        "Sizes are drawn log-uniformly from 1 KiB to 283 KiB, the same for everybody: 314,572,800 bytes are 6,138 files and 3,879,731,200 bytes are 75,977. Every byte names the file and the place it belongs to, and is compared when it is read. The rate counts the time from opening each file to closing it; making and comparing data is left out of it.",
        "サイズは 1 KiB から 283 KiB まで対数で一様に、誰でも同じになるように選びます。314,572,800 バイトなら 6,138 ファイル、3,879,731,200 バイトなら 75,977 ファイルです。どのバイトも属するファイルと位置を示し、読むときに照合します。速度は、各ファイルを開いてから閉じるまでの時間で数え、データを作る時間と照合する時間は含みません。",
    ),
    (
        "The requests of file, a recording of `raidloom record` or of another program, are made on the target. mode says when. closed: each request goes as long after the answer that it waited for as it did, so that a faster target is done earlier; what waited for what is inferred. open: at the recorded times, whatever the answers; latency counts from these. fast: in order, as many at a time as depth says. Addresses stay where they fit; fit says what becomes of them where not. Contents are the program's own, and what it reads of its own writes is held against them. The slowest of 20 parts of the recording are named. A replay that is late by more than 1 ms for more than 1 of 100 requests is flagged, and its figures do not vote. Durable rates count the flush at the end.",
        "file の要求(`raidloom record` またはほかのプログラムの記録)を対象に出します。mode はその時点です。closed: 各要求を、待っていた応答から記録と同じ時間の後に出します。速い対象ほど早く終わります。何が何を待っていたかは推定します。open: 応答に関わらず記録の時刻に出し、レイテンシはその時刻から数えます。fast: 順番どおり、depth の数だけ同時に出します。位置は収まるかぎり元のままで、収まらない場合は fit に従います。内容はこのプログラムのもので、自分が書いたものを読んだときは照合します。記録を 20 に分けたうち最も遅い部分を示します。要求 100 件のうち 1 件を超えて 1 ms より遅れた再現には印が付き、数値は判定に使いません。永続化までの速度は、最後のフラッシュも含めます。",
    ),
];

const MEANINGS: &[(&str, &str)] = &[
    // devtest.
    ("Requests outstanding.", "同時に出す要求の数。"),
    ("How long a test issues requests.", "1 つのテストで要求を出す時間。"),
    (
        "Ends a test after this many requests, if that comes first.",
        "この数の要求で、時間より先でもテストを終えます。",
    ),
    (
        "Time at the start of tests that write at random which is not counted.",
        "ランダムに書くテストの、数えない最初の時間。",
    ),
    (
        "Repeats what writes in rounds of its time, each flushed, until five in a row spread by at most 20 % of their mean and rise or fall by at most 10 %, the rule of SNIA's test specification; at most 25 rounds. The figures are those of the five. What is not steady then is flagged, and its figures do not vote.",
        "書き込むテストを、その時間ごとにフラッシュしながら繰り返します。連続 5 回の幅が平均の 20 % 以内、増減が 10 % 以内(SNIA の試験仕様の規則)になるまで、最大 25 回です。数値はその 5 回のものです。定常にならなければ注記が付き、判定に使いません。",
    ),
    (
        "What is compared of what a test reads, inside its time: nothing, the mark in every 512 bytes (32 of them), every byte. What is read back outside of it is compared byte by byte, unless off.",
        "テストの時間内に読んだもののうち照合する範囲: なし、512 バイトごとの印(32 バイト)、全バイト。時間外の読み直しは、off でなければ全バイトを照合します。",
    ),
    ("The longest region of a sequential test.", "順次テストの最大の範囲。"),
    (
        "Devices up to this size are filled before they are read.",
        "この大きさまでのデバイスは、読む前に全体へ書き込みます。",
    ),
    (
        "In a folder: size of the file that stands for the device, past the page cache.",
        "フォルダーの場合: デバイスの代わりになるファイルのサイズ(ページキャッシュを通しません)。",
    ),
    // crystal.
    (
        "Which rows: those of version 3, of version 8, or of one of its presets.",
        "どの行か: バージョン 3、バージョン 8、またはそのプリセット。",
    ),
    (
        "Size of the test file, whole MiB up to 64GiB; 0 is the original's: 1000MiB for profile 3, else 1GiB.",
        "テストファイルのサイズ(MiB 単位、64GiB まで)。0 なら元のプログラムと同じ: profile 3 では 1000MiB、ほかは 1GiB。",
    ),
    ("Runs of a row after its warm-up.", "準備の 1 回の後、各行を測定する回数。"),
    (
        "Time of a run; 0s is the original's: at least 6s for profile 3, else 5s.",
        "1 回の時間。0s なら元のプログラムと同じ: profile 3 では 6s 以上、ほかは 5s。",
    ),
    ("Rest before a row.", "各行の前の休止。"),
    (
        "Mixed rows as well, with so many reads of 100 requests (70 in the original); 0 is none.",
        "混合の行も測定します。要求 100 件のうちの読み込みの数です(元のプログラムでは 70)。0 ならなし。",
    ),
    (
        "Only rows whose name has this in it, such as RND4K Q1T1.",
        "名前にこれを含む行だけ。例: RND4K Q1T1。",
    ),
    (
        "What is written: incompressible and different in every block, zeroes, or ones. Where one byte is written all over, lost and misdirected writes look right.",
        "書き込む内容: ブロックごとに異なる圧縮できないもの、ゼロ、または 1。同じバイトだけを書くと、失われた書き込みや場所違いの書き込みを見つけられません。",
    ),
    (
        "What is compared of what a row reads, inside its time: the first 32 bytes of every 4 KiB, or every byte, which takes a processor some 0.2 ms for each MiB.",
        "各行の時間内に読んだもののうち照合する範囲: 4 KiB ごとの先頭 32 バイト、または全バイト(プロセッサーの時間が 1 MiB あたり約 0.2 ms かかります)。",
    ),
    (
        "Past the page cache, through it, or both in turn.",
        "ページキャッシュを通さない、通す、または交互に両方。",
    ),
    // bonnie.
    ("Whose calls: those of bonnie++ 1.03 or of 2.00.", "どの呼び出しか: bonnie++ 1.03 か 2.00。"),
    ("The six phases on one large file.", "1 つの大きなファイルの 6 フェーズ。"),
    (
        "Size of the file of each copy; 0 is twice the memory.",
        "並行する各組のファイルのサイズ。0 ならメモリーの 2 倍。",
    ),
    (
        "Size of a call, a power of two from 256 to 1MiB.",
        "1 回の呼び出しのサイズ(256 から 1MiB の 2 の累乗)。",
    ),
    ("Seeks in the seek phase.", "シークのフェーズでのシークの数。"),
    (
        "How many seek at the same time; 0 is the style's: 3 in 1.03, 5 in 2.00.",
        "同時にシークする数。0 なら style による: 1.03 では 3、2.00 では 5。",
    ),
    ("The two phases by characters.", "文字単位の 2 フェーズ。"),
    (
        "How much of the file they cover; 0 is the style's: all in 1.03, the first 3MiB in 2.00.",
        "それらが扱うファイルの範囲。0 なら style による: 1.03 では全体、2.00 では先頭 3MiB。",
    ),
    (
        "How many files are made, looked at and deleted; 0 leaves the six phases out.",
        "作成、参照、削除するファイルの数。0 ならその 6 フェーズを省きます。",
    ),
    ("Their size at most.", "その最大サイズ。"),
    ("Their size at least.", "その最小サイズ。"),
    (
        "Links to the first file instead of files.",
        "ファイルの代わりに、最初のファイルへのリンクを作ります。",
    ),
    ("How many folders they are spread over.", "それらを分けるフォルダーの数。"),
    (
        "Sync after each update of a seek, and each file and its folder when it is made or deleted.",
        "シークでの更新ごと、またファイルの作成と削除のたびにそのファイルとフォルダーを同期します。",
    ),
    (
        "Memory that a cache may have; 0 is the machine's.",
        "キャッシュが使えるとみなすメモリー。0 ならこのマシンのメモリー。",
    ),
    (
        "Refuse files that are smaller than twice the memory: a cache would hold them.",
        "メモリーの 2 倍より小さいファイルを拒否します(キャッシュに収まるため)。",
    ),
    ("How often everything is run.", "全体を実行する回数。"),
    (
        "Copies of each phase at the same time, each on files of its own.",
        "各フェーズを同時に実行する数(それぞれ別のファイル)。",
    ),
    ("Past the page cache, in every phase.", "どのフェーズもページキャッシュを通しません。"),
    (
        "Incompressible and different in every block, or nearly all zeros as the original's.",
        "ブロックごとに異なる圧縮できない内容、または元のプログラムと同じくほぼゼロ。",
    ),
    (
        "A phase that is over sooner is repeated until it has run so long.",
        "これより早く終わるフェーズは、この時間になるまで繰り返します。",
    ),
    // fio.
    ("The job file, or in a plan its text.", "ジョブファイル。プランではその内容も書けます。"),
    (
        "Machines with `fio --server` that run the jobs, HOST or HOST:PORT, between commas.",
        "ジョブを実行する `fio --server` のあるマシン(HOST か HOST:PORT、コンマ区切り)。",
    ),
    ("How long each group may take.", "各グループにかけてよい時間。"),
    ("How often it is run.", "実行する回数。"),
    // command.
    ("The command, as sh reads it.", "コマンド(sh の書き方)。"),
    ("What is run before it, and is not counted.", "その前に実行し、数えないもの。"),
    ("What is run after it, also when it failed.", "その後に、失敗しても実行するもの。"),
    ("NAME=VALUE for all three, one a line.", "3 つすべてに渡す NAME=VALUE(1 行に 1 つ)。"),
    (
        "Figures in its output, one a line; none is the wall time.",
        "出力から読む数値(1 行に 1 つ)。なければ実時間です。",
    ),
    ("How long each of the three may take.", "3 つそれぞれにかけてよい時間。"),
    (
        "Empty the machine's page cache before the command.",
        "コマンドの前に、マシンのページキャッシュを空にします。",
    ),
    // hdparm.
    ("How often each test is run.", "各テストを実行する回数。"),
    ("Time of a run of the cached reads.", "キャッシュからの読み込み 1 回の時間。"),
    (
        "Time of a run of the device reads, which also end at the end of the device.",
        "デバイスからの読み込み 1 回の時間。デバイスの末尾でも終わります。",
    ),
    (
        "In a folder: read past the page cache.",
        "フォルダーの場合: ページキャッシュを通さずに読みます。",
    ),
    ("In a folder: size of the file, whole MiB.", "フォルダーの場合: ファイルのサイズ(MiB 単位)。"),
    // load.
    (
        "Size of a request: 4KiB, a range 512..64KiB of which every multiple of 512 is as frequent, or several with weights: 4KiB * 3, 64KiB..256KiB * 1.",
        "要求のサイズ: 4KiB、512 の倍数が同じ頻度の範囲 512..64KiB、または重み付きの複数 4KiB * 3, 64KiB..256KiB * 1。",
    ),
    (
        "How many of 100 requests read; the others write.",
        "要求 100 件のうち読み込みの数。残りは書き込みです。",
    ),
    (
        "How many of 100 requests go on where one of the streams is; the others go to places.",
        "要求 100 件のうち、どれかのストリームの続きになる数。残りは places の位置です。",
    ),
    (
        "Sequential streams, each in an equal part of the device.",
        "順次ストリームの数。デバイスを等分した各部分を使います。",
    ),
    (
        "Where requests go that are in no stream: uniform; hot 80:20 (80 % of them to the first 20 % of the bytes); zipf 0.9 (pieces of 1 MiB by Zipf's law with this exponent).",
        "ストリームにない要求の位置: uniform(一様)、hot 80:20(80 % が先頭 20 % のバイトへ)、zipf 0.9(1 MiB の区画をこの指数の Zipf の法則で)。",
    ),
    (
        "Those places are multiples of so many bytes, and of the device's block.",
        "その位置は、このバイト数とデバイスのブロックの倍数です。",
    ),
    (
        "Requests a second, whatever the answers; 0 keeps depth of them outstanding instead.",
        "応答に関わらず毎秒出す要求の数。0 なら代わりに depth 件を常に出します。",
    ),
    (
        "What is written where nothing is compared (verify = off): random bytes, or zeros, of which drives in memory and in guests keep no copy. Drives that compress take zeros for nothing.",
        "何も照合しないとき(verify = off)に書き込む内容。乱数、またはゼロ。メモリー上やゲストのドライブはゼロの写しを持ちません。圧縮するドライブではゼロの書き込みに時間がかかりません。",
    ),
    (
        "How long each of them waits between an answer and its next request.",
        "応答から次の要求までの、それぞれの待ち時間。",
    ),
    (
        "Every so many writes are followed by a flush, which counts as part of the last one.",
        "この数の書き込みごとにフラッシュし、最後の書き込みの一部として数えます。",
    ),
    (
        "How many of 100 writes are answered only once they are durable.",
        "書き込み 100 件のうち、永続化してから応答するもの(FUA)の数。",
    ),
    ("How long requests are issued.", "要求を出す時間。"),
    (
        "Ends it after this many requests, if that comes first.",
        "この数の要求で、時間より先でも終えます。",
    ),
    (
        "Time at its start which is not counted, where it writes.",
        "書き込む場合の、数えない最初の時間。",
    ),
    (
        "What is compared of what it reads, inside its time: nothing, the mark in every 512 bytes, every byte.",
        "時間内に読んだもののうち照合する範囲: なし、512 バイトごとの印、全バイト。",
    ),
    (
        "How many bytes of the device are used, from its start; 0 is all of them.",
        "デバイスの先頭から使うバイト数。0 なら全体。",
    ),
    (
        "So many bytes are written one behind the other before, and not counted: more than an SSD's cache holds, and the row is its speed when that is full.",
        "前もって順に書き込み、数えないバイト数。SSD のキャッシュより大きくすると、それが一杯のときの速度になります。",
    ),
    // depth.
    ("Where requests go.", "要求の位置。"),
    ("Which way data go.", "データの方向。"),
    (
        "Smallest request, a power of two from 4KiB on; each further size is 16 times the one before it.",
        "最小の要求(4KiB 以上の 2 の累乗)。次のサイズはそれぞれ前の 16 倍です。",
    ),
    ("Largest request, up to 16MiB.", "最大の要求(16MiB まで)。"),
    ("Most requests outstanding.", "同時に出す要求の最大数。"),
    ("Time of a point.", "1 点の時間。"),
    ("How often each point is measured.", "各点を測定する回数。"),
    ("Whether open loops follow the curves.", "曲線の後にオープンループも測定するか。"),
    (
        "Bytes that are used, whole MiB; 0 is the whole device, and 1GiB in a folder.",
        "使うバイト数(MiB 単位)。0 ならデバイス全体、フォルダーでは 1GiB。",
    ),
    (
        "Devices up to this size are filled first; larger ones are not verified.",
        "この大きさまでのデバイスは先に全体へ書き込みます。それより大きければ検証しません。",
    ),
    // pull.
    (
        "Power cuts of a row in each block, at moments uniform in time.",
        "各ブロックで 1 行あたりに起こす、時間上で一様な電源断の数。",
    ),
    (
        "Further power cuts around arrivals and flushes, with losses as hostile as they are permitted: a sample of its own, shown beside the other and in no grade.",
        "到着とフラッシュの前後で、許される限り厳しく失わせる電源断の数。別の標本として並べて示し、等級には使いません。",
    ),
    (
        "Whether what makes states again that broke something stays in the run's folder (failing/, for `raidloom pull --replay`).",
        "破損した状態を再現するものを、測定のフォルダーに残すか(failing/。`raidloom pull --replay` 用)。",
    ),
    (
        "Recordings over which they are spread. Cuts of one recording are alike: several blocks are several recordings.",
        "電源断を割り振る記録の回数。1 つの記録での電源断は互いに似ています。ブロックが複数なら記録も複数です。",
    ),
    ("Files of the row that copies.", "コピーの行のファイル数。"),
    ("Time over which these are spread.", "それらを分散させる時間。"),
    (
        "Steps of each other row; `$STEPS` to a program of one's own.",
        "ほかの各行の作業回数。自分のプログラムには `$STEPS` で渡します。",
    ),
    (
        "A program of one's own as a row more, `pull command`, as sh reads it: it begins in a folder of the file system, and each line that it writes to the file named in $MARKS is a promise (each line that it prints, where it writes none there).",
        "自分のプログラムを `pull command` の行として加えます(sh の書き方)。ファイルシステムのフォルダーで始まり、$MARKS のファイルに書いた各行が約束になります(書かなければ出力の各行)。",
    ),
    (
        "What looks at that folder after a cut: the promises before it stand in the file named in $PROMISED, and it answers with lines `lost KEY`, `wrong KEY` and `torn KEY`, or with an exit code that is not 0.",
        "電源断の後にそのフォルダーを調べるもの。それまでの約束は $PROMISED のファイルにあり、`lost KEY`、`wrong KEY`、`torn KEY` の行か 0 以外の終了コードで答えます。",
    ),
    (
        "What sets that folder up before anything is promised.",
        "約束の前にそのフォルダーを準備するもの。",
    ),
    (
        "The drives are no larger than this, whatever their members are.",
        "メンバーに関わらず、ドライブの大きさの上限。",
    ),
    (
        "How drives behave: with a volatile cache, losing whatever may be lost, without a cache, or (to see what it costs) ignoring flushes or FUA; in guests also as their models say, which know what of the cache had come to the media.",
        "ドライブのふるまい: 揮発性キャッシュあり、失われ得るものをすべて失う、キャッシュなし、または(影響を見るため)フラッシュか FUA を無視。ゲストでは、キャッシュのどこまでが媒体に達したかを知るモデルどおりにもできます。",
    ),
    (
        "What happens: the power fails, drives without power of their own are pulled out, drives with it (which write out what they cached), or the kernel alone ends.",
        "起こること: 電源断、自前の電源のないドライブの抜去、電源のあるドライブの抜去(キャッシュは書き出されます)、またはカーネルだけの終了。",
    ),
    ("The volatile cache of each typical drive.", "標準的な各ドライブの揮発性キャッシュ。"),
    ("How long a write stays in it at most.", "書き込みがそこに留まる最長時間。"),
    (
        "Whether a drive, another each time, is lost together with the power: what resync, bitmap and PPL differ in.",
        "電源とともにドライブも(毎回別のものを)失うか。resync、bitmap、PPL の違いが現れます。",
    ),
    ("What a drive writes whole or not at all.", "ドライブが全部書くか全く書かないかの単位。"),
    // copy.
    ("Bytes in all files together.", "全ファイルの合計バイト数。"),
    (
        "How many files share the bytes; 0 is what the sizes come to.",
        "そのバイト数を分けるファイルの数。0 ならサイズの分布によります。",
    ),
    ("Files in one folder at most.", "1 つのフォルダーの最大ファイル数。"),
    ("How many folders deep the files lie.", "ファイルを置くフォルダーの深さ。"),
    (
        "What is made durable at once: nothing, each file, each file and its folder.",
        "すぐに永続化するもの: なし、各ファイル、各ファイルとそのフォルダー。",
    ),
    (
        "Empty the page cache between the phases: all of it where that is permitted, else that of the files.",
        "フェーズの間にページキャッシュを空にします。許されていれば全体、なければそのファイルの分です。",
    ),
    (
        "Let reading update the files' access times, as the file system is mounted.",
        "マウントの設定どおり、読み込みでファイルのアクセス時刻を更新します。",
    ),
    ("Past the page cache.", "ページキャッシュを通しません。"),
    // replay.
    ("The recording.", "記録。"),
    (
        "The one device whose requests are replayed, by its name in a recording of several.",
        "複数のデバイスの記録のうち、再現する 1 つの名前。",
    ),
    (
        "When requests go: after what they waited for, at the recorded times, or as soon as there is room.",
        "要求を出す時点: 待っていたものの後、記録の時刻、または空きがあればすぐ。",
    ),
    (
        "Times of the recording, and thinking, are divided by this.",
        "記録の時刻と待ち時間を、この値で割ります。",
    ),
    (
        "How many of 100 requests are replayed, from the first on.",
        "要求 100 件のうち、最初から再現する数。",
    ),
    (
        "How many requests are replayed at most, from the first on.",
        "最初から再現する要求の最大数。",
    ),
    (
        "What is replayed of it; with reads nothing is written to the target.",
        "再現するもの。reads なら対象に何も書き込みません。",
    ),
    (
        "How often each write is made: at its time, and further on.",
        "各書き込みを行う回数(その時刻と、その後)。",
    ),
    (
        "Where requests go. keep: where they were; where the target is too small, the space between what is touched is made narrower, and a target smaller than what is touched is refused. fold: the same, but such a target begins anew at its start. scale: the space between is made wider or narrower, so that the recorded device spans the target. exact: where they were, or refused.",
        "要求の位置。keep: 元の位置。対象が小さければ使われる範囲の間を詰め、使われる量より小さい対象は拒否します。fold: 同じですが、そのような対象では先頭に戻ります。scale: 記録したデバイスが対象全体に広がるよう間を伸縮します。exact: 元の位置のまま、できなければ拒否します。",
    ),
    ("Requests outstanding with mode = \"fast\".", "mode = \"fast\" で同時に出す要求の数。"),
    (
        "What is touched is written before, if it is no more than this.",
        "使われる範囲がこれ以下なら、前もって書き込みます。",
    ),
];

#[cfg(test)]
mod tests {
    use words::in_language;

    use super::*;

    /// Each suite and each of its keys has its texts in Japanese, and no other.
    #[test]
    fn suites_and_their_keys_are_explained_in_japanese() {
        let suites = crate::suite::all();
        let english: Vec<&str> =
            suites.iter().flat_map(|suite| suite.settings).map(|setting| setting.what).collect();
        let of_suites =
            |part: fn(&&Suite) -> &'static str| suites.iter().map(part).collect::<Vec<_>>();
        for (all, english) in [
            (MEANINGS, english),
            (SUMMARIES, of_suites(|suite| suite.summary)),
            (ABOUTS, of_suites(|suite| suite.about)),
        ] {
            for text in &english {
                let known = all.iter().any(|(known, _)| known == text);
                assert!(known, "no text in Japanese: {text}");
            }
            for (text, _) in all {
                assert!(english.contains(text), "nothing says: {text}");
            }
        }
        let said = in_language(Language::Japanese, || summary(suites[0]));
        assert!(said.contains("要求") && summary(suites[0]) == suites[0].summary, "{said}");
    }
}
