//! What is wrong with a plan, in every language.

words::catalogue! {
    // What is written where.
    DID_YOU_MEAN: "; did you mean `{name}`?", "。`{name}` のことですか?";
    KNOWN_NAMES: "; known: {names}", "。使えるもの: {names}";
    THE_PLAN: "the plan", "プラン";
    NUMBER_TOO_LARGE: "the number is too large", "数値が大きすぎます";
    NOT_A_NUMBER: "this is no number", "数値ではありません";
    NO_DATE: "no setting is a date; put it in quotes when a text is meant",
        "日付を取る設定はありません。文字列なら引用符で囲んでください";
    KEY_AND_VALUE: "expected KEY=VALUE, for example trials.blocks=6",
        "KEY=VALUE の形で指定してください。例: trials.blocks=6";
    KEY_OF_NAMES: "expected KEY=VALUE with names between the dots, for example trials.blocks=6",
        "KEY=VALUE の形で、ドットの間には名前を書いてください。例: trials.blocks=6";
    TABLE_EXPECTED: "{name} has to be a table", "{name} はテーブルで指定してください";
    TABLE_NOT_OTHER: "{name} has to be a table, not {kind}", "{name} はテーブルで指定してください({kind}になっています)";
    NO_PLAN_SIZE: "this plan has no size `{name}`{hint}", "このプランにサイズ `{name}` はありません{hint}";
    SIZE_HAS_KEYS: "a size is a table of keys of the plan", "サイズは、プランのキーからなるテーブルです";
    NOTHING_BELOW: "`{key}` has no keys below it", "`{key}` の下にキーはありません";
    KEY_MISSING: "{table} has no `{key}` ({meaning})", "{table} に `{key}` がありません({meaning})";
    LIST_OF_TABLES: "`{key}` has to be given as [[{key}]] tables", "`{key}` は [[{key}]] のテーブルで指定してください";
    UNKNOWN_KEY: "unknown key `{key}` in {table}{hint}", "{table} に不明なキー `{key}` があります{hint}";
    A_TEXT: "a text", "文字列";
    A_WHOLE_NUMBER: "a whole number", "整数";
    A_NUMBER: "a number", "数値";
    A_SWITCH: "true or false", "真偽値";
    A_LIST: "a list", "リスト";
    A_TABLE: "a table", "テーブル";
    QUOTED_TEXT: "expected a text in quotes, found {kind}", "引用符で囲んだ文字列が必要です({kind}になっています)";
    SINGLE_VALUE: "expected one value, found {kind}", "値は 1 つだけです({kind}になっています)";
    WHOLE_AT_LEAST: "expected a whole number of at least {least}", "{least} 以上の整数を指定してください";
    WHOLE_BETWEEN: "expected a whole number from {least} to {most}", "{least} から {most} までの整数を指定してください";
    NUMBER_BETWEEN: "`{text}`: expected a number from {least} to {most}",
        "`{text}`: {least} から {most} までの数を指定してください";
    ABOVE_NONE: "expected a number above 0", "0 より大きい数を指定してください";
    SHARE_EXPECTED: "expected a share such as \"2%\" or 0.02", "\"2%\" や 0.02 のような割合を指定してください";
    TRUTH_EXPECTED: "expected true or false", "true か false を指定してください";
    WORD_EXPECTED: "`{text}`: expected one of {words}{hint}", "`{text}`: {words} のいずれかを指定してください{hint}";
    GIVEN_TWICE: "{value} is given twice", "{value} が 2 回指定されています";

    // The plan as a whole.
    PLAN_VERSION: "the version of this format: 1", "この形式のバージョン: 1";
    OTHER_VERSION: "this raidloom reads plans of schema 1", "この raidloom が読めるプランは schema 1 です";
    PLAN_IS_CALLED: "what people call the plan", "プランの名前";
    NAME_IS_LINE: "a plan's name is one line, and not empty", "プランの名前は空でない 1 行です";
    QUESTION_IS_LINE: "a plan's question is one line, and not empty", "プランの question は空でない 1 行です";
    QUESTION_TOO_LONG: "the question has {count} characters; at most {most} make a title",
        "question は {count} 文字あります。見出しになるのは最大 {most} 文字です";
    TOO_MANY_TRIALS: "the plan comes to {trials} trials ({configurations} configurations x {workloads} \
        workloads x {blocks} blocks); at most {most} are taken",
        "プランは {trials} 試行(構成 {configurations} x ワークロード {workloads} x ブロック {blocks})になります。\
        受け付けるのは最大 {most} 試行です";
    MATTERS_BELOW_MARGIN: "a gain that matters is no smaller than the margin",
        "意味のある向上(matters)を許容差(margin)より小さくはできません";
    NO_ROOM: "the files that the plan makes take {needed} in {folder}, where {free} are free: make them \
        smaller or fewer, or name another folder (dir)",
        "プランが作るファイルは {folder} で {needed} を使いますが、空きは {free} です。\
        小さくするか減らすか、別のフォルダー(dir)を指定してください";
    NOTHING_TO_COMPARE: "name a level and a file system at least",
        "レベルとファイルシステムを 1 つ以上指定してください";

    // Members and caches.
    NO_MEMBERS: "the plan has no [members.NAME] table: nothing to measure, for example\n  \
        [members.files]\n  {example}",
        "プランに [members.NAME] のテーブルがなく、測定するものがありません。例:\n  [members.files]\n  {example}";
    SETS_HAVE_NAMES: "members are given in named sets: write [members.NAME] with `{key}` below it",
        "メンバーは名前付きの組で指定します。[members.NAME] の下に `{key}` を書いてください";
    SET_NAME: "`{name}`: a set's name consists of letters, digits, - and _, because files are named after it",
        "`{name}`: 組の名前はファイル名にもなるため、英数字、-、_ だけが使えます";
    ONE_KIND_OF_MEMBERS: "[members.{name}] needs exactly one of files, models, devices, stacks, rbd",
        "[members.{name}] には files、models、devices、stacks、rbd のうち 1 つだけが必要です";
    SET_IS_EMPTY: "[members.{name}] has no member", "[members.{name}] にメンバーがありません";
    SAID_TOGETHER: "pool_size and pool_min_size are said together", "pool_size と pool_min_size は一緒に指定します";
    FOR_CEPH: "this belongs to images of a Ceph cluster (rbd)", "Ceph クラスターのイメージ(rbd)のためのものです";
    FILE_COUNT: "how many files to make", "作るファイルの数";
    FILE_SIZE: "how large each file is", "各ファイルのサイズ";
    FILE_SIZE_STEP: "a file's size has to be a multiple of 4KiB, and more than nothing",
        "ファイルのサイズは 0 より大きい 4KiB の倍数にしてください";
    NOT_A_FOLDER: "{path} is no folder", "{path} はフォルダーではありません";
    CACHE_CALLED_NONE: "a cache cannot be called `none`: that is the name of having none",
        "キャッシュの名前を `none` にはできません(キャッシュなしを意味します)";
    CACHE_PLACE: "the text of a cache names the device below it once, as {place}",
        "キャッシュの記述には、下のデバイスを {place} として 1 回だけ書きます";
    CACHE_FILE: "a cache has its file once, and says how large it is: {example}",
        "キャッシュのファイルは 1 つで、サイズも書きます: {example}";
    CACHE_NAME: "`{name}`: the name of a cache with a file consists of letters, digits, - and _",
        "`{name}`: ファイルのあるキャッシュの名前に使えるのは英数字、-、_ です";
    NO_SUCH_CACHE: "there is no `{name}` in [caches]{hint}", "[caches] に `{name}` はありません{hint}";
    NO_SUCH_SET: "there is no [members.{name}]{hint}", "[members.{name}] はありません{hint}";

    // Axes.
    AXIS_IS_EMPTY: "the axis `{axis}` is empty: it would leave no configuration",
        "軸 `{axis}` が空です。構成が 1 つも残りません";
    AXIS_IS_LONG: "the axis `{axis}` has {count} values; at most {most} configurations are taken",
        "軸 `{axis}` に値が {count} 個あります。受け付けるのは最大 {most} 構成です";
    OF_TABLE: "workload of {table}", "{table} の workload";
    LEVEL_NEEDS_CHUNK: "{level} needs the axis `chunk` in {table}", "{level} には {table} に軸 `chunk` が必要です";
    LEVELS_WITHOUT_CHUNKS: "`chunk` means nothing to the levels of {table}; only striped levels have chunks",
        "{table} のレベルに `chunk` は無効です。チャンクがあるのはストライプするレベルだけです";
    AXIS_OF_WORKLOAD: "`{setting}` is an axis by the list that a [[workload]] gives it",
        "`{setting}` は [[workload]] のリストですでに軸になっています";
    AXIS_MEANS_NOTHING: "`{axis}` means nothing {why}", "`{axis}` は{why}";
    WITHOUT_FILE_SYSTEM: "without a file system: give the axis {axis}",
        "ファイルシステムがないと無効です。軸 {axis} を指定してください";
    WITHOUT_IMAGE: "without an image: give the axis {axis} = \"raw\" or \"vhd\"",
        "イメージがないと無効です。軸 {axis} = \"raw\" か \"vhd\" を指定してください";
    WITHOUT_GUEST: "on this machine itself: give the axis {axis} = \"{word}\"",
        "このマシン自体では無効です。軸 {axis} = \"{word}\" を指定してください";
    UNKNOWN_FILE_SYSTEM: "unknown file system `{name}`{hint}", "不明なファイルシステム `{name}` です{hint}";
    UNKNOWN_LEVEL: "unknown level `{name}`{hint}", "不明なレベル `{name}` です{hint}";
    NO_MD_LAYOUT: "`{text}` is no layout of md's: {layouts}", "`{text}` は md のレイアウトではありません: {layouts}";
    EMPTY_OPTIONS: "an empty text; \"{word}\" is for no options", "空の文字列です。オプションなしは \"{word}\" です";
    FIRST_SIZE: "the first size", "最初のサイズ";
    LAST_SIZE: "the last size", "最後のサイズ";
    RANGE_IS_EMPTY: "`to` is smaller than `from`: the axis is empty", "`to` が `from` より小さく、軸が空になります";
    CHUNK_OF_NONE: "a chunk of 0 bytes is no chunk", "0 バイトのチャンクは指定できません";
    CHUNK_STEP: "a chunk of {size} is not possible: it has to be a multiple of {step} bytes, and more than 0",
        "{size} のチャンクは使えません。0 より大きい {step} バイトの倍数にしてください";
    CHUNK_PAST_MEMBER: "a chunk of {chunk} is larger than a member of [members.{name}] ({member})",
        "{chunk} のチャンクは [members.{name}] のメンバー({member})より大きいです";
    LEVEL_HAS_NO_LAYOUT: "{level} has no layout {text}, but {layouts}; an [[add]] of its own gives each level \
        its own layouts",
        "{level} にレイアウト {text} はありません(あるもの: {layouts})。[[add]] を分けると、レベルごとにレイアウトを指定できます";

    // Configurations.
    NO_CONFIGURATION: "the plan has no [matrix] and no [[add]]: no configuration",
        "プランに [matrix] も [[add]] もなく、構成がありません";
    TOO_MANY_CONFIGURATIONS: "the plan has {count} configurations, [[skip]] left out; at most {most} are taken",
        "プランの構成は([[skip]] を除く前で){count} あります。受け付けるのは最大 {most} 構成です";
    ADDED_TWICE: "{table} adds a configuration that is there already: {cell}",
        "{table} の構成はすでにあります: {cell}";
    ALL_SKIPPED: "every configuration is skipped", "すべての構成が除かれています";
    SKIP_REASON: "the reason, shown with the plan", "除く理由。プランとともに表示します";
    SKIPS_NOTHING: "this [[skip]] matches no configuration", "この [[skip]] に当てはまる構成がありません";
    NO_BASELINE: "the plan has no [baseline]: name the configuration that the others are compared with, for \
        example\n  [baseline]\n  level = \"single\"",
        "プランに [baseline] がありません。ほかと比べる基準の構成を指定してください。例:\n  [baseline]\n  level = \"single\"";
    BASELINE_NAMES_NOTHING: "[baseline] names nothing; give at least one axis, for example level",
        "[baseline] が空です。level など、軸を 1 つ以上指定してください";
    BASELINE_ABSENT: "[baseline] is no configuration of this plan; add it with [[add]] or name another",
        "[baseline] の構成はこのプランにありません。[[add]] で加えるか、別の構成を指定してください";
    BASELINE_CLOCK: "[baseline] compares measured with modelled figures for {cell}; leave `members` out of it, \
        so that each set has its own",
        "{cell} では [baseline] が実測とモデルの値を比べることになります。`members` を外すと、組ごとに基準ができます";
    BASELINE_NONE_FOR: "[baseline] is no configuration for {cell}; add it with [[add]]",
        "{cell} に対する [baseline] の構成がありません。[[add]] で加えてください";
    BASELINE_SEVERAL: "[baseline] is more than one configuration for {cell}: ({first}) and ({second}); name \
        more axes",
        "{cell} に対する [baseline] の構成が複数あります: ({first})と({second})。軸を増やして絞ってください";

    // Work.
    NO_WORKLOAD: "the plan has no [[workload]], for example\n  [[workload]]\n  suite = \"devtest\"",
        "プランに [[workload]] がありません。例:\n  [[workload]]\n  suite = \"devtest\"";
    WHICH_SUITE: "which tests are run, for example devtest", "実行するテスト。例: devtest";
    UNKNOWN_SUITE: "unknown suite `{name}`{hint}", "不明なスイート `{name}` です{hint}";
    WORKLOAD_NAME: "a workload's name is not empty and has neither `: ` nor `.` in it",
        "ワークロードの名前は空にできず、`: ` と `.` も使えません";
    WORKLOAD_TWICE: "there are two workloads called `{name}`; give one of them a `name` of its own",
        "ワークロード `{name}` が 2 つあります。一方に別の `name` を付けてください";
    PULL_HAS_NO_WEIGHT: "a pull test has a grade and no score: leave weight out",
        "電源断テストの結果は等級で、スコアはありません。weight を外してください";
    ONE_SETTING_OF_ALL: "`{setting}` would be an axis of the plan, and not all of its suites have that setting: \
        give it one value, or make a plan of each suite",
        "`{setting}` がプランの軸になりますが、この設定のないスイートがあります。値を 1 つにするか、スイートごとにプランを分けてください";
    ONE_AXIS_OF_ALL: "`{setting}` is one axis of the whole plan, and another [[workload]] gives it other values",
        "`{setting}` はプラン全体で 1 つの軸ですが、別の [[workload]] の値と異なります";
    JUDGE_EXPECTED: "`judge = \"{word}\"`: expected `durable` or `acknowledged`{hint}",
        "`judge = \"{word}\"`: `durable` か `acknowledged` を指定してください{hint}";
    NO_ROW_LEFT: "these settings leave {suite} no row: nothing could be measured",
        "この設定では {suite} に測定する行が残りません";
    OTHER_ROWS: "{suite} has other rows on the virtual clock than on the wall's; give what decides that one value",
        "{suite} の行が仮想時計と実時計で異なります。それを決める設定の値を 1 つにしてください";
    NO_TESTS: "`tests` is empty; leave it out for all rows of the suite",
        "`tests` が空です。スイートのすべての行なら省いてください";
    NO_SUCH_ROW: "the suite has no row `{name}`{hint}", "スイートに行 `{name}` はありません{hint}";
    OLDER_SPELLING: "`{older}` is an older spelling of `{name}`, which is given too",
        "`{older}` は `{name}` の古い綴りで、両方が指定されています";
    SETTING_REFUSED: "`{setting}`: {why}", "`{setting}`: {why}";
    SETTING_IS_AXIS: "`{setting}` is an axis of the plan: give its values there, or here as a list",
        "`{setting}` はプランの軸です。値はそこで指定するか、ここにリストで書いてください";
    ROWS_DIFFER: "{suite} has no row `{row}` for every value of the axes over its settings ({axes}): what \
        decides which rows there are can be no axis",
        "設定の軸({axes})の値によっては {suite} に行 `{row}` がありません。行の有無を決める設定は軸にできません";
    NO_SUITE_HERE: "this raidloom has no suite `{name}`", "この raidloom にスイート `{name}` はありません";
    RESOLVED_PLAN: "the resolved plan", "解決済みのプラン";
    THE_AXIS: "the axis `{axis}`", "軸 `{axis}`";
    PROCESSOR_NEEDS_LOAD: "({cell}): what a processor costs is known for the requests of {suites} only; leave \
        `{axis}` out, or use one of them",
        "({cell}): プロセッサーの費用がわかるのは {suites} の要求だけです。`{axis}` を外すか、そのいずれかを使ってください";
    STATE_OF_MODELS: "{axis} = \"{state}\": modelled drives lose a member for it, and those of a guest; drives \
        that are there would, too",
        "{axis} = \"{state}\": 指定できるのはモデルのドライブかゲスト内だけです。実在のドライブでは本当にメンバーが失われます";
    RUNS_PROGRAMS: "{suite} runs programs, which cannot open the stack of ({cell}): give the axis file_system, \
        or place = \"guest\"",
        "{suite} はプログラムを実行しますが、({cell})のスタックは開けません。軸 file_system か place = \"guest\" を指定してください";
    PULL_IN_IMAGE: "{suite} cuts the power of the drives under a file system that is on them itself, and \
        ({cell}) has its in an image: leave it out with [[skip]]",
        "{suite} はドライブに直接あるファイルシステムの電源断を調べますが、({cell})ではイメージの中にあります。[[skip]] で除いてください";
    SUITE_UNFIT: "{suite} runs on {targets}, and ({cell}) {why}", "{suite} の対象は {targets} ですが、({cell})は{why}";
    LACKS_FILE_SYSTEM: "has no file system; give the axis file_system, or leave it out with [[skip]]",
        "ファイルシステムがありません。軸 file_system を指定するか、[[skip]] で除いてください";
    HAS_FILE_SYSTEM: "has a file system; leave it out with [[skip]], or use another suite",
        "ファイルシステムがあります。[[skip]] で除くか、別のスイートを使ってください";

    // Trials and terms.
    TIME_LIMIT_EXPECTED: "expected a time, such as 2h: how long a suite may take",
        "2h のような時間を指定してください(スイートにかけてよい時間)";
    RACE_NEEDS_SPEED: "a race is won by speed, and pull tests have none: say design = \"full\"",
        "競争(race)は速さで決まり、電源断テストに速さはありません。design = \"full\" にしてください";
    RACE_NEEDS_BLOCKS: "a race drops nothing in its first {count} blocks: give it at least {least} \
        (trials.blocks), or say design = \"full\"",
        "競争(race)は最初の {count} ブロックでは何も外しません。trials.blocks を {least} 以上にするか、design = \"full\" にしてください";
    NO_PARAMETERS: "expected fitted or drawn, and not `{name}`{hint}", "fitted か drawn を指定してください。`{name}` ではありません{hint}";
    DRAWN_OF_MODELS: "parameters are drawn of modelled drives without a guest or a file system on them, and not all are",
        "パラメーターを無作為に選べるのは、ゲストもファイルシステムもないモデルのドライブだけです";
    DRAWN_NEEDS_BLOCKS: "at least {least} blocks are needed, each with parameters of its own", "ブロックごとにパラメーターを変えるので、{least} ブロック以上必要です";
    NO_DESIGN: "no design is called `{name}`{hint}", "design `{name}` はありません{hint}";
    NOT_INTERLEAVED: "nothing to interleave: {why}", "交互に実行できません: {why}";
    RUN_WHOLE: "{suite} is run whole: its later rows find what earlier ones left",
        "{suite} は後の行が前の行の結果を使うため、通しで実行します";
    MADE_FOR_ALL: "({cell}) has a file system, which is made once for all workloads",
        "({cell})のファイルシステムは、すべてのワークロードのために 1 回だけ作成します";
    NO_KIND_OF_WORK: "no kind of work is called `{name}`{hint}", "処理の種類 `{name}` はありません{hint}";
    WORK_ABSENT: "the plan has no {name} work", "プランに {name} の処理がありません";
    WEIGHT_EXPECTED: "give at least one weight, for example {example}", "重みを 1 つ以上指定してください。例: {example}";
    NO_GOAL: "no goal is called `{name}`{hint}", "goal `{name}` はありません{hint}";
    MUST_EXPECTED: "expected one such as \"survives 1 member\", \"capacity >= 60 %\", \"p99 < 20 ms\" or \"grade >= B\"",
        "\"survives 1 member\"、\"capacity >= 60 %\"、\"p99 < 20 ms\"、\"grade >= B\" のように指定してください";
    NO_GRADE: "no grade is called `{name}`: A, B, C, D, E, from best to worst",
        "等級 `{name}` はありません(良い順に A、B、C、D、E)";
    GRADE_UNMEASURED: "`{text}`: nothing of the plan measures a grade; add a [[workload]] with suite = \"{suite}\"",
        "`{text}`: プランに等級を測るものがありません。suite = \"{suite}\" の [[workload]] を加えてください";
    NO_LATENCY: "no latency is called `{name}`{hint}", "レイテンシ `{name}` はありません{hint}";
    NOTHING_IS_INSTANT: "`{text}`: nothing takes no time", "`{text}`: 時間が 0 のものはありません";
    BUDGET_IS_EMPTY: "the budget names nothing; give time, written_per_member or both, for example {example}",
        "budget が空です。time、written_per_member、またはその両方を指定してください。例: {example}";
    NO_TIME: "no run takes no time", "時間 0 の測定はありません";
    BUDGET_EXPECTED: "expected time=TIME or written_per_member=SIZE",
        "time=TIME か written_per_member=SIZE を指定してください";
    NOTHING_MEETS: "no configuration of the plan meets this; add one, or ask for less",
        "これを満たす構成がプランにありません。構成を加えるか、条件を緩めてください";

    // Layouts, folders and processors of a configuration.
    NO_LAYOUT: "no layout", "レイアウトの指定なし";
    FOLDER_NO_DEVICE: "{folder}: a folder is no device: arrays and caches are not made of it",
        "{folder}: フォルダーはデバイスではなく、アレイやキャッシュは作れません";
    FOLDER_HAS_SYSTEM: "{folder}: it is a folder of a file system that is there; leave `{file_system}` out, or name a device",
        "{folder}: 既存のファイルシステムのフォルダーです。`{file_system}` を外すか、デバイスを指定してください";
    ONE_PROCESSOR: "{processors} = {count}: a guest has one processor",
        "{processors} = {count}: ゲストのプロセッサーは 1 個です";
    PROCESSORS_MEAN_NOTHING: "`{processors}` means nothing on the virtual clock, where computing takes no time: leave it out with an [[add]] of its own",
        "モデル時間では計算に時間がかからず、`{processors}` は意味がありません。別の [[add]] にして外してください";
    SURVIVES_NO_LOSS: "survives no member's loss", "メンバー 1 台の故障にも耐えません";
    SURVIVES_ONE_LOSS: "survives the loss of 1 member only", "メンバー 1 台の故障にしか耐えません";
    SURVIVES_LOSSES: "survives the loss of {members} members only", "メンバー {members} 台の故障にしか耐えません";
    CAPACITY_SHORT: "capacity {percent} %", "容量 {percent} %";
}
