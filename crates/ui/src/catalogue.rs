//! Why the page's server did not do what it was asked for, in every language.

words::catalogue! {
    // Who is answered.
    OTHER_HOST: "refused: the request was sent to another name than this page's (its Host is not that of \
        the address that `raidloom ui` printed)",
        "拒否しました: 要求の宛先がこのページの名前ではありません(Host が `raidloom ui` の表示したアドレスと異なります)";
    OTHER_ORIGIN: "refused: the request comes from another site's page (its Origin is not this page's)",
        "拒否しました: 別のサイトのページからの要求です(Origin がこのページのものではありません)";
    WRONG_TOKEN: "refused: the token is missing or not the one of this start; open the address that \
        `raidloom ui` printed",
        "拒否しました: トークンがないか、今回の起動のものではありません。`raidloom ui` が表示したアドレスを開いてください";
    LOOKING_ONLY: "refused: nothing is changed from this page; start it with `raidloom ui --allow-changes`",
        "拒否しました: このページは閲覧専用です。変更するには `raidloom ui --allow-changes` で起動してください";
    NOT_LOOPBACK: "--listen {address}: the page is for this machine alone; use 127.0.0.1:PORT or \
        [::1]:PORT (from elsewhere: ssh -L PORT:127.0.0.1:PORT)",
        "--listen {address}: このページはこのマシン専用です。127.0.0.1:PORT か [::1]:PORT を指定してください\
        (ほかのマシンからは ssh -L PORT:127.0.0.1:PORT)";
    SERVER: "the page's server", "ページのサーバー";
    MAKING_PAGE: "making the page", "ページの作成";

    // What makes no sense.
    NO_PAGE: "there is no such page", "そのようなページはありません";
    SENT: "what was sent", "送られた内容";
    NAME_A_RUN: "name a run: `run`", "測定結果を指定してください: `run`";
    NO_RUN: "there is no such run here", "そのような測定結果はここにありません";
    NOTHING_IN_COMMON: "the two runs have no cell in common", "2 つの測定結果に共通する項目がありません";
    FOLDER_OF_RUNS: "it is the folder of runs itself; nothing was removed", "測定結果を置くフォルダーそのものです。何も削除していません";
    NO_SAVED_PLAN: "there is no such plan", "そのようなプランはありません";
    PLAN_NAME: "a plan's file is called by letters, digits, -, _ and .",
        "プランのファイル名に使えるのは英数字と -、_、. です";
    PLAN_IS_THERE: "it is there already; choose another name", "すでにあります。別の名前を選んでください";
    NO_SUCH_WORK: "no such kind of work", "そのような用途はありません";
    SURVIVED: "0, 1 or 2 drives may die at once", "同時に故障してよいドライブは 0、1、2 台のいずれかです";
    MODELS_ALONE: "these would be measured: only models are asked here",
        "これらは実測になります。ここで答えるのはモデルだけです";
    NO_PROFILE: "profile {name}: there are {names}", "プロファイル {name}: あるのは {names} です";
    NO_ROW: "row {name}: there are {names}", "項目 {name}: あるのは {names} です";
    NO_TARGET: "name a target: a folder, a file, a block device or a stack",
        "対象を指定してください: フォルダー、ファイル、ブロックデバイス、またはスタック";

    // What is not done now, or went wrong.
    ANSWER_UNDER_WAY: "another answer is being worked out: wait for it", "別の答えを計算中です。終わるまで待ってください";
    UNDER_WAY: "something is under way already, and one thing is done at a time: wait for it, or stop it",
        "すでに実行中のものがあります。一度にできるのは 1 つです。終わるまで待つか、止めてください";
    MEASURED: "a run that goes on measures it; stop the run first", "測定中です。先に測定を止めてください";
    NOT_LOOKED: "the server could not look: this is a mistake in raidloom",
        "サーバーが確認できませんでした: raidloom の不具合です";
    NOT_CARRIED_OUT: "the verb could not be carried out", "コマンドを実行できませんでした";
    STARTING: "starting the verb", "コマンドの起動";
    OTHER_ANSWER: "the answer is another one by now; nothing was made: ask again",
        "答えが変わりました。何も作っていません。もう一度尋ねてください";
    TOLD_TO_END: "it was told to end", "終了を指示されました";
    ENDED_WITH: "it ended with {status}", "終了しました({status})";
    NOT_STARTED: "the superblocks are written, but it could not be started",
        "スーパーブロックは書き込みましたが、起動できませんでした";
    NOT_ASSEMBLED: "it was created, and cannot be assembled as it is", "作成しましたが、そのままでは組み立てられません";
}
