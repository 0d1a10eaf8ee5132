//! The first help in Japanese. What each verb's own help says of its options is in English.

use clap::Command;

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
  3 完了、ただし --fail-if の限度を超過   5 終了、ただし有効な結果なし
  130 中断(続け方はメッセージに表示)

下位のコマンド:
  run      plan(プランの確認と表示)、watch(進み具合)、merge(シャードの結合)
  bench    explain(スイート、フェーズ、キーの説明)
  report   history(多くの測定結果にわたる 1 つの数値)、export(測定結果を送る)
  array    cache、overlay、monitor、その他アレイの操作すべて
  trace    記録の表示、切り出し、拡大縮小、変換(ほかのプログラムの記録も)
  guest    モデルのドライブ上の Linux(カーネルの作成、コマンドの実行)
  man      マニュアルページ、シェルの補完

各コマンドの詳しい説明(raidloom コマンド --help)は英語です。";

/// The command with the first help in Japanese.
pub(crate) fn in_japanese(command: Command) -> Command {
    let command = VERBS.into_iter().fold(command, |command, (verb, about)| {
        command.mut_subcommand(verb, |verb| verb.about(about))
    });
    let command = OPTIONS
        .into_iter()
        .fold(command, |command, (option, help)| command.mut_arg(option, |it| it.help(help)));
    command
        .about("自分の用途に最も速く安全なディスク構成を見つけ、動かします")
        .help_template(TEMPLATE)
        .after_help(SHORT_END)
        .after_long_help(LONG_END)
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
    }
}
