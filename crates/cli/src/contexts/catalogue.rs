//! Why an option means nothing where it was given, in every language.

words::catalogue! {
    ONE_FORM: "what this prints has one form only", "この出力の形式は 1 つだけです";
    PLAN_IS_TOML: "a plan is printed as TOML", "プランは TOML で出力されます";
    NOTHING_ERASED: "nothing is erased without --measure or --do",
        "--measure か --do がなければ何も消去しません";
    FOR_RESUMED_RUN: "it is for a run that goes on: --resume RUN, or --more or --until with its folder",
        "再開する測定のためのものです: --resume RUN、またはそのフォルダーと --more か --until";
    SHARDS_GO_ON: "shards go on with what they were submitted with", "シャードは投入時の内容のまま続きます";
    GUEST_DISKS: "a guest's disks are its own", "ゲストのディスクは専用のものです";
    NOTHING_OPENED: "nothing is opened for writing here", "ここでは書き込み用に何も開きません";
    FOR_RECORDINGS: "they say how a recording is read, and a workload that is made is none",
        "記録の読み方を指定するもので、生成するワークロードには使えません";
    PAGE_OF_SHOWN: "the page is of what is shown: trace show", "ページは表示した内容のものです: trace show";
    NOTHING_NEW: "nothing new is made; a page is written with --html",
        "新しいものは作りません。ページは --html で書き出します";
    PART_KEPT: "they name the part that is kept: trace cut", "残す部分を指定するものです: trace cut";
    OTHER_SPEED: "they are for another speed or size: trace scale",
        "速度やサイズを変えるためのものです: trace scale";
    PAUSED_NEVER_ENDS: "what is paused does not end", "一時停止したものは終わりません";
    ONLY_READ: "without --write the device is only read", "--write がなければデバイスは読むだけです";
    OPEN_ALREADY: "an array that runs has its devices open already", "動作中のアレイはすでにデバイスを開いています";
    REPORT_OR_JSON: "--json prints the report in a form of its own; leave one of them out",
        "--json はレポートを独自の形式で出力します。どちらか一方にしてください";
    FOR_TERMINAL: "it is for what the terminal shows: files and JSON have all of it",
        "端末の表示のためのものです。ファイルと JSON にはすべて含まれます";
    NO_LANGUAGE: "what programs read is the same in every language", "プログラムが読むものはどの言語でも同じです";
    FIGURES_OR_JSON: "--json prints the figures in a form of its own; leave one of them out",
        "--json は数値を独自の形式で出力します。どちらか一方にしてください";
    ASKED_ONCE: "with --once the arrays are asked once", "--once では 1 回だけ問い合わせます";
    STATE_AS_KEPT: "a state that was kept is made again as it was", "保存した状態はそのまま再現されます";
    STATES_OF_LOG: "nothing is recorded: the states are those of the log", "何も記録しません。状態はログのものです";
    CHECK_LOOKS: "what looks at the folder is --check, which knows of no built-in work",
        "フォルダーを調べるのは --check で、組み込みの処理は対象外です";
    FOR_LOST_CACHE: "it is for a cache that is lost: --device typical, --event power or yank",
        "失われるキャッシュのためのものです: --device typical、--event power または yank";
    MODEL_HAS_UNIT: "a modelled drive has a unit of its own", "モデルのドライブには固有の単位があります";
    OWN_TIME: "a program of your own takes the time that it takes", "自分のプログラムの時間は決められません";
    FOR_KEPT_STATE: "it is for a state that was kept: --replay FILE",
        "保存した状態のためのものです: --replay FILE";
    RECORDING_IS_WORK: "the recording that was named is the workload", "指定された記録がワークロードです";
    SCAN_LENGTH: "how long scans are: -s scan=0.2 says how many accesses are scans",
        "スキャンの長さです。スキャンの割合は -s scan=0.2 のように指定します";
    FOR_MADE_WORK: "it is for a workload that is made: -s zipf=1.0",
        "生成するワークロードのためのものです: -s zipf=1.0";
    ONLY_DELTA: "without --commit nothing but the delta is opened for writing",
        "--commit がなければ、書き込み用に開くのは差分だけです";
    FOR_FILE_SYSTEM: "it is for a file system that is made: --fs says which",
        "作成するファイルシステムのためのものです。--fs で指定してください";
    FOR_IMAGE: "it is an image's: -s image=raw", "イメージのためのものです: -s image=raw";
    FOR_POWER_CUT: "it is for a power cut: --cut-at or --cut-at-request says when",
        "電源断のためのものです。時点は --cut-at か --cut-at-request で指定します";
}
