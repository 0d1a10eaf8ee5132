//! What the options of the first help's verbs mean, in Japanese. Options of other verbs are
//! explained in English.

use clap::Arg;

/// Options by the path of their verb, each by its name without dashes, or by what stands for its
/// value where it has none.
const OPTIONS: [(&str, &[(&str, &str)]); 17] = [
    (
        "check",
        &[(
            "SUBJECT",
            "確認するもの [省略時: このマシンでできること、足りないもの、それを入れるコマンド]",
        )],
    ),
    (
        "choose",
        &[
            (
                "DRIVE",
                "ドライブ: `4 x 名前`(`model show` にある名前)、実際のドライブやファイル、または試すためのファイルを作るフォルダー",
            ),
            (
                "work",
                "用途: files、vm、database、media、backup、自作のプロファイル(.toml)、または記録",
            ),
            (
                "work-command",
                "用途として自分のコマンド(sh の書き方)を、ファイルシステムのある各構成でマウントして実行します。{dir} は空のフォルダーです",
            ),
            ("survive", "同時に失われてよいドライブの数: 0、1、2"),
            ("capacity", "必要な容量の下限(例: 10TB)"),
            ("p99", "要求 100 件のうち 99 件が収まるべき時間(例: 20ms)"),
            ("file-system", "使うファイルシステム。root で --measure なら測定にも含めます"),
            ("measure", "モデルではなくドライブそのもので測定します。内容は消去されます"),
            ("print-plan", "プランを出力するだけで、何も実行しません"),
            ("from", "このコマンドの過去の測定から、もう一度答えを出します"),
            ("output", "測定のフォルダー [省略時: raidloom-runs/時刻-名前]"),
            (
                "budget",
                "ドライブに使える金額。8 x 名前@180 のように名前の後に 1 台の価格を書くと、買えるだけの台数にします",
            ),
            (
                "do",
                "このドライブに実際に作成します(内容は消去)。アレイ、ファイルシステム、起動時の設定を作ります。=mdadm ならカーネルの md で同じものを作るコマンドを表示し、同意があれば実行します",
            ),
            ("name", "--do で作るアレイの名前 [省略時: tank]"),
            ("mount", "--do で作ったファイルシステムを、今と起動のたびにマウントする場所"),
        ],
    ),
    (
        "bench",
        &[
            ("SUITE", "測定するスイート"),
            (
                "TARGET",
                "フォルダー、スタック記法、イメージファイル、またはブロックデバイス(どれを使えるかは `bench explain SUITE`)",
            ),
            (
                "set",
                "スイートか構成のキー。プランと同じ書き方です: depth=4、processors=2(複数可。一覧は `bench explain SUITE`)",
            ),
            ("fs", "対象にこのファイルシステムを作り、その中で測定します"),
            ("mount-options", "mount -o に渡すもの"),
            (
                "guest",
                "対象(model: のスタック)をディスクとする専用の Linux の中で、モデル時間で測定します",
            ),
            ("memory", "使ってよいメモリー(ページキャッシュを含む)。cgroup またはゲストのものです"),
            (
                "size",
                "スイートのサイズ。対象のファイルがなければこのサイズで作り、終わったら削除します",
            ),
            ("time", "1 行あたりの時間"),
            ("runs", "各行を測定する回数 [省略時: スイートの値]"),
            ("seed", "乱数の種"),
            ("read-only", "書き込み用には何も開きません"),
            ("import", "測定せず、ほかのツールの結果ファイルを読み込みます(複数可)"),
            (
                "output",
                "測定のフォルダー [省略時: raidloom-runs/時刻-スイート-on-対象。読み込みでは作りません]",
            ),
        ],
    ),
    (
        "bench explain",
        &[
            ("SUITE", "スイート [省略時: 一覧と、それぞれの測定内容]"),
            (
                "fio",
                "crystal の行を fio で測定するコマンドを、このフォルダー、ファイル、デバイスについて表示します",
            ),
            ("set", "そのコマンドのためのスイートのキー(複数可)"),
        ],
    ),
    (
        "run",
        &[
            (
                "PLAN",
                "プランのファイル、または `run plan` にある名前。--more と --until では完了した測定のフォルダーも使えます",
            ),
            ("set", "プランのキーを 1 つ変えます(TOML の値。複数可)"),
            ("output", "測定のフォルダー [省略時: raidloom-runs/時刻-名前]"),
            (
                "shard",
                "全体を分けた一部(例: 2/8)をここで測定します。結合は `raidloom run merge` です",
            ),
            ("resume", "中断した測定を続けます。--on ではそのシャードを続けます"),
            (
                "more",
                "完了した測定を、このブロック数だけ、または次の区切り(8、16、32、60)まで続けます",
            ),
            ("until", "未解決の見出しがなくなるまで、区切りごとに続けます"),
            (
                "budget",
                "全体にかけてよい量: time=2h、written_per_member=200GiB、または none(複数可)。続ける測定ではプランの値の代わりになります",
            ),
            (
                "fail-if",
                "構成が基準に対してこの限度を確実に超えたら 3 で終わります: 'throughput < -5%'(複数可)。その変化を見分けられないときは 5 です",
            ),
            (
                "print-plan",
                "プランを出力するだけで、何も実行しません(PLAN、コマンドラインの測定、または書き始めのプラン)",
            ),
            ("allow-change", "測定を始めてからマシンが変わっていても続けます"),
            (
                "command",
                "自分のコマンド(sh の書き方)で構成を比較します。{dir} は空のフォルダーです",
            ),
            ("prepare", "その前に実行するもの(時間に含めません)"),
            ("cleanup", "その後に実行するもの(失敗したときも)"),
            (
                "figures",
                "出力に含まれる数値(複数可。`bench explain command` を参照)[省略時: 所要時間]",
            ),
            ("level", "比較するレベル"),
            ("fs", "比較するファイルシステム"),
            ("chunk", "ストライプするレベルのチャンク"),
            ("members", "メンバーの数(それぞれファイル)"),
            ("member-size", "メンバー 1 つのサイズ"),
            ("member-dir", "メンバーを作るフォルダー [省略時: 測定のフォルダー]"),
            (
                "on",
                "シャードごとのタスクからなる配列ジョブとして投入します。出力フォルダーは全ノードから見える場所に置きます",
            ),
            ("partition", "実行するノードのパーティション [省略時: Slurm の既定]"),
            ("nodes", "同時に動かすタスクの最大数。実測するタスクはノードを占有します"),
            (
                "shards",
                "測定を分ける数 [省略時: --nodes と同じ、なければ 8。実測ではブロック数まで]",
            ),
        ],
    ),
    (
        "run plan",
        &[
            ("PLAN", "プランのファイル、または付属のプランの名前 [省略時: その一覧]"),
            ("set", "プランのキーを 1 つ変えます(TOML の値。複数可)"),
        ],
    ),
    ("run watch", &[("RUN", "測定のフォルダー")]),
    (
        "run merge",
        &[
            (
                "RUN",
                "測定の全シャードのフォルダー(順不同)、またはそれらが入ったフォルダー。元のものは変わりません",
            ),
            ("output", "結合した測定のフォルダー(空か、まだないもの)"),
        ],
    ),
    (
        "report",
        &[
            ("RUN", "測定のフォルダー、または `raidloom report export` でまとめたファイル"),
            ("full", "すべてのスコア、警告、表を表示します。なければ数行の答えだけです"),
            ("html", "HTML のページをここに書きます(- は標準出力)"),
            ("md", "Markdown をここに書きます(- は標準出力)"),
            ("csv", "要約の表を CSV でここに書きます(- は標準出力)"),
            (
                "parquet",
                "すべての試行を 1 行ずつ、型付きの列を持つ Parquet で書きます(DuckDB、pandas など向け)",
            ),
            (
                "bonnie-csv",
                "bonnie++ 2.00 と同じ行を、構成とブロックごとに書きます(bon_csv2html 用)",
            ),
            ("crystal-text", "CrystalDiskMark と同じ形の結果を、構成ごとに書きます"),
            ("fcv-table", "コピーの時間(分と秒)を、基準に対する割合とともに書きます"),
            (
                "card",
                "結論または唯一の構成の数値を、投稿用のカードとして書きます(.svg か .png なら画像、ほかは文字。- は標準出力)",
            ),
            ("badge", "結論の数値 1 つをバッジとして描きます"),
            ("badge-of", "名前にこの語を含む最初のワークロードをバッジにします"),
            (
                "summary",
                "結論、警告、わからないことを、CI の要約向けの数行の Markdown で書きます(- は標準出力)",
            ),
            (
                "lang",
                "人が読むものの言語 [省略時: ロケール]。ページでは切り替えられ、プログラムが読むものは変わりません",
            ),
        ],
    ),
    (
        "report history",
        &[
            ("FOLDER", "測定のフォルダー(まとめたもの .run.tar.gz も可)"),
            (
                "metric",
                "数値: throughput、io、latency_p99 など [省略時: 各ワークロードの判定に使うもの]",
            ),
            ("only", "構成かワークロードにこの語を含むセルだけ(複数可)"),
            ("allow", "これらが異なっても 1 つの系列とします(複数可)"),
            ("svg", "図に描きます(- は標準出力)"),
        ],
    ),
    (
        "report export",
        &[
            ("RUN", "測定のフォルダー"),
            ("output", "作るファイル(まだないもの)[省略時: 現在のフォルダーの RUN.run.tar.gz]"),
            (
                "anonymous",
                "マシンとユーザーの名前、シリアル番号、識別子、パス、アドレスを別の語に置き換えます。入力したままのプランは含めません",
            ),
            ("hide", "ほかに置き換える語(測定したマシンの名前など。複数可)"),
        ],
    ),
    (
        "compare",
        &[
            ("FIRST", "比較の基準となる測定のフォルダー"),
            ("SECOND", "比較する測定のフォルダー"),
            (
                "fail-if",
                "セルの値がこの限度を確実に超えたら 3 で終わります: 'throughput < -5%'、'latency_p99 > 10%'(複数可)。同等の測定がどれかを超えるのは多くて 5 % です。その変化を見分けられないときは 5 です",
            ),
            (
                "beside",
                "各セルをこの構成と並べ、その構成自身の変化を差し引いて判定します: `baseline`、または `level=null` のように 1 つの構成だけが持つ値 [省略時: それぞれ単独]",
            ),
            ("margin", "この範囲の差は同じとみなします [省略時: 1 つ目の測定のプランの値]"),
            ("allow", "測定の間でこれらが異なっても比較します(複数可)"),
        ],
    ),
    (
        "pull",
        &[
            (
                "TARGET",
                "スタック記法: ram:SIZE、同じサイズのドライブとみなすファイル、--guest では model:NAME",
            ),
            ("create", "まだないファイル(作りません)とモデルのドライブのサイズ"),
            (
                "guest",
                "ゲストの中で、モデル時間で作業とマウントを行います。毎回同じ結果になり、root は不要で、このマシンのカーネルは壊れたファイルシステムに触れません [省略時: root しかマウントできず、`raidloom guest build` が済んでいる場合]",
            ),
            ("memory", "ゲストのメモリー(ページキャッシュを含む)[省略時: 512MiB]"),
            (
                "scratch",
                "すでにあるファイルを、同じサイズの空のドライブとみなします。ファイルは開きません",
            ),
            ("fs", "ファイルシステム"),
            ("mount-options", "マウントのオプション(電源断の後も使います)"),
            ("consistency", "スーパーブロックのあるアレイの整合の保ち方: resync、bitmap、ppl"),
            (
                "array",
                "どちらのアレイか。md なら対象はドライブを並べた 1 つのアレイで、ゲストの中で動きます",
            ),
            (
                "start-with",
                "電源断で残ったものからアレイを起動するもの(ゲストの中)。どちらも相手のアレイを読め、種が同じなら状態も同じです",
            ),
            (
                "state",
                "作業中にアレイのメンバーがそろっているか: whole、degraded(最後の 1 台がない)、rebuilding(代わりに空の 1 台)。ゲストの中だけです",
            ),
            ("work", "ファイルシステムに対する作業"),
            (
                "work-command",
                "組み込みの作業の代わりに動かす自分のプログラム(sh の書き方)。ファイルシステムのフォルダーで始まり、$MARKS のファイルに書いた各行が約束になります(書かなければ出力の各行)",
            ),
            (
                "check",
                "電源断の後にそのフォルダーを調べるもの。それまでの約束は $PROMISED のファイルにあり、`lost KEY`、`wrong KEY`、`torn KEY` の行か終了コードで答えます",
            ),
            ("setup", "約束の前にそのフォルダーを準備するもの"),
            (
                "steps",
                "作業の回数: コピーのファイル数、fsync の数、自分のプログラムの $STEPS [省略時: コピーは 240、ほかは 200]",
            ),
            ("pulls", "時間上で一様な電源断の数(利用者から見た数値)"),
            ("hunt", "フラッシュと到着の前後を狙った、損失の厳しい電源断の数(別の標本)"),
            ("device", "ドライブのふるまい"),
            ("event", "起こること"),
            (
                "lose-member",
                "電源とともに失うドライブ: none、random、または 0 からの番号。2 台なら random+random、0+2。stale:1 は作業前に外れ、電源断の後に古いまま戻ります。stale:1+0 では 0 も失います",
            ),
            ("seed", "すべての乱数の種"),
            ("keep-failing", "約束が破れた状態を再現するためのものを、このフォルダーに残します"),
            (
                "log-writes",
                "最初の記録を dm-log-writes の形式で書きます(replay-log 用。ほかのドライブは FILE.1、FILE.2)",
            ),
            (
                "import",
                "何も記録せず、dm-log-writes のこのログの状態を作ります。対象は 1 台のドライブで、その内容がログより前のものです。ログの印は --check への約束になります",
            ),
            ("junit", "結果を CI のテスト結果の形式(JUnit の XML)で書きます"),
            ("replay", "保存した状態を再現し、判定します"),
            (
                "images",
                "--replay とともに、電源断後の各ドライブの内容をこのフォルダー(新しいか空のもの)に書きます: drive0.img など",
            ),
            ("set", "下のキーの 1 つ(複数可)"),
        ],
    ),
    (
        "record",
        &[
            ("DEVICE|MOUNT", "ディスク、パーティション、またはマウントされたフォルダー"),
            ("output", "記録。別のディスク上の新しいファイルです(確認は raidloom trace)"),
            ("time", "記録する時間 [省略時: Ctrl-C まで]"),
            (
                "anonymous",
                "要求の位置を隠します。64 MiB ごとの領域とプロセスは、現れた順の番号になります",
            ),
            (
                "feedback",
                "記録先が記録するディスク自身でもよいことに同意します(記録の書き込みも記録されます)",
            ),
        ],
    ),
    ("model show", &[("MODEL", "名前かパス [省略時: 付属のディスクの一覧]")]),
    (
        "model fit",
        &[
            (
                "FIGURES",
                "`model show` の名前、CSV(test,request_bytes,kB_per_s,io_per_s)のパス、またはデバイスの標本",
            ),
            ("device", "このドライブの応答を数分間測定します(1 台のディスクのスタックも可)"),
            ("time", "測定する時間の上限"),
            (
                "scratch",
                "書き込まないとわからないことのために、ここにも上書きします: OFFSET+LENGTH バイト、または all",
            ),
            ("erase", "このシリアル番号のディスクの範囲に上書きすることに同意します"),
            (
                "allow-device",
                "シリアル番号のないブロックデバイス(ループデバイスなど)の範囲に上書きすることに同意します",
            ),
        ],
    ),
    (
        "ui",
        &[
            (
                "listen",
                "ページの待ち受け先: このマシンのアドレス(自分専用)。ポート 0 なら空いているポート",
            ),
            ("runs", "測定を表示し、プランを保存するフォルダー"),
            (
                "allow-changes",
                "ページからの変更(測定、アレイの起動と停止、メンバーの交換、プランの保存)を許可します",
            ),
            ("lang", "ページの言語 [省略時: ロケール]。ページでは切り替えられます"),
        ],
    ),
];

/// Options that mean the same to every verb that has them.
const SHARED: [(&str, &str); 3] = [
    ("erase", "このシリアル番号のディスクの消去に同意します(ディスクごとに 1 回)"),
    (
        "erase-signature",
        "署名(ファイルシステム、md、LVM など)のあるファイルやディスクの上書きに同意します",
    ),
    (
        "allow-device",
        "ループデバイスなど、シリアル番号のないブロックデバイスの消去に同意します(デバイスごとに 1 回)",
    ),
];

/// What messages call an option: its name, or what stands for its value.
fn key(option: &Arg) -> String {
    let value =
        || option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    option.get_long().map(str::to_owned).or_else(value).unwrap_or_default()
}

/// An option of a verb with what it means in Japanese, where that is known.
pub(crate) fn in_japanese(option: Arg, path: &str) -> Arg {
    let own = OPTIONS.iter().find(|(verb, _)| *verb == path).map_or(&[][..], |(_, own)| own);
    let key = key(&option);
    match own.iter().chain(&SHARED).find(|(known, _)| *known == key) {
        Some((_, text)) => option.help(*text).long_help(*text),
        None => option,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    fn verb(path: &str) -> Command {
        let command = crate::first_help::in_japanese(crate::arguments::Arguments::command());
        path.split(' ').fold(command, |command, name| {
            let below = command.get_subcommands().find(|verb| verb.get_name() == name);
            below.unwrap_or_else(|| panic!("there is no verb {path}")).clone()
        })
    }

    fn is_known(path: &str, key: &str) -> bool {
        let own = OPTIONS.iter().filter(|(verb, _)| *verb == path).flat_map(|(_, own)| *own);
        own.chain(&SHARED).any(|(known, _)| *known == key)
    }

    /// Every option that these verbs show, and no other, has a text in Japanese.
    #[test]
    fn each_option_of_these_verbs_is_explained_in_japanese() {
        for (path, own) in OPTIONS {
            let verb = verb(path);
            let shown = verb.get_arguments().filter(|option| !option.is_hide_set());
            let shown: Vec<String> = shown.map(key).filter(|key| key != "help").collect();
            for key in &shown {
                assert!(is_known(path, key), "{path}: {key} has no text in Japanese");
            }
            for (key, _) in own {
                assert!(shown.iter().any(|it| it == key), "{path} has no option {key}");
            }
        }
        assert!(!is_known("check", "planted"));
        let text = verb("run").render_long_help().to_string();
        assert!(text.contains("プランのファイル") && !text.contains("The plan file"), "{text}");
    }

    /// The verbs are those of the first help with options, and those below them but for arrays'.
    #[test]
    fn these_are_the_verbs_of_the_first_help() {
        let command = crate::arguments::Arguments::command();
        for first in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let below = first.get_subcommands().filter(|verb| verb.get_name() != "help");
            let below = below.filter(|_| first.get_name() != "array");
            let below = below.map(|verb| format!("{} {}", first.get_name(), verb.get_name()));
            for path in std::iter::once(first.get_name().to_owned()).chain(below) {
                let has_options = verb(&path)
                    .get_arguments()
                    .any(|option| !option.is_hide_set() && key(option) != "help");
                let is_here = OPTIONS.iter().any(|(known, _)| *known == path);
                assert_eq!(has_options, is_here, "{path}");
            }
        }
    }
}
