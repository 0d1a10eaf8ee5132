//! What suites measure and what their keys mean, in Japanese, by what is said in English.

use words::{Language, language};

use super::definition::{Setting, Suite};

/// What a suite measures, in the reader's language.
#[must_use]
pub fn summary(suite: &Suite) -> &'static str {
    said(SUMMARIES, suite.summary)
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

    /// Each suite and each of its keys has a text in Japanese, and no other.
    #[test]
    fn suites_and_their_keys_are_explained_in_japanese() {
        let suites = crate::suite::all();
        let english: Vec<&str> =
            suites.iter().flat_map(|suite| suite.settings).map(|setting| setting.what).collect();
        for (all, english) in
            [(MEANINGS, english), (SUMMARIES, suites.iter().map(|suite| suite.summary).collect())]
        {
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
