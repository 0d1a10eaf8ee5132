//! The help in Japanese: the first one whole, and of each verb below what it does and the headings.
//! What the options of the first help's verbs mean stands in `option_help`; those of the others are
//! explained in English.

use clap::{Arg, ArgAction, Command};

/// What the verbs do, as their names stand in the first help.
const VERBS: [(&str, &str); 11] = [
    ("check", "このマシンでできること、足りないもの、ドライブを表示します"),
    ("choose", "ドライブと用途に合う構成を選びます(質問は 3 つ、答えは 1 つ)"),
    ("bench", "1 つの対象をスイートで測定するか、ほかのツールの結果を読み込みます"),
    ("run", "プランを実行します(全構成を全ブロックで測定し、レポートを作成)"),
    ("report", "測定結果のレポートを好きな形式で作り直します"),
    ("compare", "2 つの測定結果をセルごとに比較します"),
    ("array", "md 形式のアレイを作成、起動、監視、修復します"),
    ("pull", "電源断を繰り返し、構成とファイルシステムが失うものを評価します"),
    ("record", "動作中のディスクへの要求を記録します"),
    ("model", "モデルのディスク(所有せずに記述したドライブ)を表示、作成します"),
    ("ui", "ドライブ、アレイ、測定結果をブラウザーで表示、操作します"),
];

/// What the other verbs do, by their paths.
const BELOW: [(&str, &str); 37] = [
    (
        "bench explain",
        "スイートの一覧か、1 つのスイートのフェーズ、キーの意味、呼び出し方を表示します",
    ),
    (
        "run plan",
        "プランを検査し、全構成、所要時間、書き込み先を表示します。プランの一覧も表示します",
    ),
    ("run watch", "別の端末から、測定の進み具合を表示します"),
    ("run merge", "複数のマシンで測定したシャードを 1 つにまとめます"),
    ("report history", "多くの測定結果にわたる 1 つの数値と、変わった時点を表示します"),
    ("report export", "測定結果を 1 つのファイルにまとめて送れるようにします"),
    ("array examine", "メンバーのスーパーブロックの全項目と、信頼できるかを表示します"),
    ("array create", "Linux md が読む形式で、新しいアレイのスーパーブロックを書き込みます"),
    ("array assemble", "メンバーを探し、どのアレイになるかと、開くためのスタック記法を表示します"),
    ("array status", "アレイの状態、メンバー、欠けているもの、進行中の処理を表示します"),
    ("array start", "スタックをドライブとして動かします(ブロックデバイス、ファイル、NBD)"),
    ("array incremental", "デバイスがそろった設定済みのアレイを起動します(udev から呼ばれます)"),
    ("array stop", "動作中のアレイを正常に停止します。マウント中は拒否します"),
    ("array mount", "接続したアレイをマウントします。--fs があれば、ない場合に先に作成します"),
    ("array umount", "アレイからマウントしたものをアンマウントします"),
    ("array fail", "動作中のアレイのメンバーを故障扱いにします"),
    ("array remove", "故障したメンバーを取り外します"),
    ("array add", "動作中のアレイにデバイスを追加します(欠けたスロット、またはスペア)"),
    ("array replace", "メンバーを別のデバイスに交換します(動作中のコピー、または再構築)"),
    ("array scrub", "動作中のアレイをすべて読み、メンバーを照合します"),
    ("array set", "再構築の速度、記録の内容、キャッシュのサイズを変更、表示します"),
    ("array destroy", "メンバーのスーパーブロックを消去します。ほかの内容は残ります"),
    (
        "array rescue",
        "残っているものがどのアレイだったか、開くと何を失うかを示し、読み取り専用で開きます",
    ),
    ("array write", "完成したイメージをドライブへ順に書き込み、読み直して確認します"),
    ("array cache", "キャッシュの表示、書き出し、ストアの救出、シミュレーション"),
    (
        "array cache simulate",
        "キャッシュの効果を、方針とサイズごとのヒット率で示します(入出力なし)",
    ),
    (
        "array cache status",
        "動作中のキャッシュの内容と働き、または使われていないストアの内容を表示します",
    ),
    (
        "array cache salvage",
        "ストアの未書き出しブロックを表示するか、ファイルやデバイスに書き出します",
    ),
    ("array cache flush", "キャッシュの未書き出し分を書き出し、下のデバイスを完全にします"),
    ("array overlay", "オーバーレイの内容を表示、書き戻し、または破棄します"),
    ("array monitor", "動作中のアレイの出来事を知らせます(故障、再構築の終了、キャッシュの問題)"),
    ("model show", "モデルのディスクの一覧か、1 つのパラメーター、単位、出典、誤差を表示します"),
    ("model fit", "公表値、または実際のドライブからモデルを作ります"),
    ("guest build", "ディストリビューションのソースからゲストのカーネルを一度だけ作ります"),
    ("guest run", "モデルのディスク上のゲストで、モデル時間でコマンドを実行します"),
    ("guest", "モデルのドライブ上で Linux をモデル時間で動かします"),
    ("trace", "記録を表示、切り出し、拡大縮小、変換します"),
];

/// Headings of options.
const HEADINGS: [(&str, &str); 6] = [
    (crate::output::EVERY_VERB, "全コマンド共通"),
    ("Consent", "同意"),
    ("Guest", "ゲスト"),
    ("Power cut", "電源断"),
    ("A plan of one line", "コマンドラインでの一連の測定"),
    ("On a cluster", "クラスター"),
];

/// Options that all verbs have.
const OPTIONS: [(&str, &str); 4] = [
    ("json", "結果を 1 つの JSON 文書として標準出力に出します"),
    ("quiet", "結果とエラーだけを表示し、経過と注記は表示しません"),
    ("no_color", "色を使いません(NO_COLOR の設定時や TERM=dumb でも同じ)"),
    ("verbose", "動作を表示します(-v は概要、-vv は詳細、-vvv は要求ごと)"),
];

const TEMPLATE: &str = "\
{about}

使い方: {usage}

コマンド:
{subcommands}

オプション:
{options}{after-help}";

const VERB_TEMPLATE: &str = "\
{about-with-newline}
使い方: {usage}

{all-args}{after-help}";

const SHORT_END: &str = "raidloom --help には例、終了コード、下位のコマンドの説明があります。";

const LONG_END: &str = "\
例:
  raidloom choose
      質問に答えて構成を選ぶ
  raidloom run stripe-size
      イメージファイルとモデルのディスクでチャンクサイズを比較し、レポートを作る
  raidloom bench devtest --size 256MiB /var/tmp/test.img
      このマシンのイメージファイルを測定する

終了コード:
  0 完了   1 実行中の失敗   2 使い方かプランの誤り   4 デバイスかファイルを拒否
  3 完了、ただし --fail-if の限度を超過、または pull で約束の破れを検出
  5 終了、ただし有効な結果なし   130 中断(続け方はメッセージに表示)

下位のコマンド:
  run      plan(プランの確認と表示)、watch(進み具合)、merge(シャードの結合)
  bench    explain(スイート、フェーズ、キーの説明)
  report   history(多くの測定結果にわたる 1 つの数値)、export(測定結果を送る)
  array    cache、overlay、monitor、その他アレイの操作すべて
  trace    記録の表示、切り出し、拡大縮小、変換(ほかのプログラムの記録も)
  guest    モデルのドライブ上の Linux(カーネルの作成、コマンドの実行)
  man      マニュアルページ、シェルの補完

スタック記法はデバイスを組み合わせます: layer(option=value, device, ...)。末端は file:PATH、
ram:SIZE、null:SIZE、model:NAME などで、パスだけならファイルかブロックデバイスです。

各コマンドのオプションは raidloom コマンド --help で表示します。";

/// The command with the first help in Japanese.
pub(crate) fn in_japanese(command: Command) -> Command {
    let command = OPTIONS
        .into_iter()
        .fold(command, |command, (option, help)| command.mut_arg(option, |it| it.help(help)));
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let mut command = below(command, "")
        .about("自分の用途に最も速く安全なディスク構成を見つけ、動かします")
        .disable_version_flag(true)
        .arg(version.help("バージョンを表示します"))
        .help_template(TEMPLATE)
        .after_help(SHORT_END)
        .after_long_help(LONG_END);
    // The verb `help` is clap's own, and is there only once all is built.
    command.build();
    with_help_verb(command)
}

/// What the verb `help` does, on each level that has it.
fn with_help_verb(command: Command) -> Command {
    command.mut_subcommands(|verb| match verb.get_name() {
        "help" => verb.about("この説明か、指定したコマンドの説明を表示します"),
        _ => with_help_verb(verb),
    })
}

/// The same of each verb below a command.
fn below(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim_start().to_owned();
        command.mut_subcommand(&name, |verb| verb_in_japanese(below(verb, &path), &path))
    });
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    command
        .subcommand_help_heading("コマンド")
        .mut_args(|argument| with_heading(crate::option_help::in_japanese(argument, path)))
        .disable_help_flag(true)
        .arg(help.help("この説明を表示します(-h は短く)").help_heading("全コマンド共通"))
}

fn verb_in_japanese(verb: Command, path: &str) -> Command {
    let known = VERBS.iter().chain(&BELOW).find(|(known, _)| *known == path);
    let Some((_, about)) = known else { return verb };
    // What it tells beside its first sentence stays.
    let more = verb.get_long_about().map(ToString::to_string).unwrap_or_default();
    let more = more.split_once("\n\n").map_or("", |(_, more)| more).to_owned();
    let examples = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let examples = examples.replacen("Examples:", "例:", 1);
    let verb = verb.about(*about).help_template(VERB_TEMPLATE);
    let verb = if more.is_empty() { verb } else { verb.long_about(format!("{about}\n\n{more}")) };
    if examples.is_empty() { verb } else { verb.after_long_help(examples) }
}

fn with_heading(argument: Arg) -> Arg {
    let heading = match argument.get_help_heading() {
        Some(english) => HEADINGS.iter().find(|(known, _)| *known == english).map(|(_, ja)| *ja),
        None if argument.is_positional() => Some("引数"),
        None => Some("オプション"),
    };
    match heading {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Each verb that the first help has is said in Japanese, and no other.
    #[test]
    fn the_first_help_is_whole_in_japanese() {
        let mut command = in_japanese(crate::arguments::Arguments::command());
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let shown: Vec<&str> =
            shown.map(Command::get_name).filter(|name| *name != "help").collect();
        assert_eq!(shown, VERBS.map(|(verb, _)| verb));
        let text = command.render_help().to_string();
        for part in ["使い方: raidloom", "コマンド:", "オプション:", "終了コード"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("Commands:") && !text.contains("Usage:"), "{text}");
        let long = command.render_long_help().to_string();
        assert!(long.contains("raidloom choose") && long.contains("130"), "{long}");
        assert!(long.contains("スタック記法") && long.contains("pull で約束"), "{long}");
        // What clap says by itself.
        assert!(!text.contains("Print") && !long.contains("Print"), "{long}");
    }

    /// Each verb below says in Japanese what it does, under headings in Japanese.
    #[test]
    fn the_help_of_each_verb_has_its_headings_in_japanese() {
        let mut command = in_japanese(crate::arguments::Arguments::command());
        command.build();
        let mut seen = Vec::new();
        look(&command, "", &mut seen);
        let known = VERBS.iter().chain(&BELOW).map(|(path, _)| *path);
        let idle: Vec<&str> = known.filter(|path| !seen.iter().any(|it| it == path)).collect();
        assert!(idle.is_empty(), "there are no such verbs: {idle:?}");
        assert!(seen.len() > 40, "{seen:?}");
    }

    fn look(command: &Command, path: &str, seen: &mut Vec<String>) {
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let path = format!("{path} {}", verb.get_name()).trim_start().to_owned();
            if verb.is_hide_set() && !BELOW.iter().any(|(known, _)| *known == path) {
                continue;
            }
            for text in [verb.clone().render_help(), verb.clone().render_long_help()] {
                let text = text.to_string();
                let first = text.lines().next().unwrap_or_default();
                let is_japanese = |letter| matches!(letter, '\u{3040}'..='\u{30ff}');
                assert!(first.contains(is_japanese), "{path}: {first}");
                let own = ["Usage", "Options", "Arguments", "Commands", "Examples"];
                for heading in HEADINGS.iter().map(|(english, _)| *english).chain(own) {
                    assert!(!text.contains(&format!("\n{heading}:")), "{path}: {heading}: {text}");
                }
                assert!(text.contains("使い方: raidloom"), "{path}: {text}");
                assert!(!text.contains("Print this message"), "{path}: {text}");
            }
            look(verb, &path, seen);
            seen.push(path);
        }
    }
}
