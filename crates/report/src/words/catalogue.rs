//! Every message, in every language.

words::catalogue! {
    untranslated: ["CPU", "IOPS"];
    // Kinds of work and answers.
    SEQUENTIAL: "sequential", "シーケンシャル";
    RANDOM: "random", "ランダム";
    MIXED: "mixed", "混在";
    FILES: "files", "ファイル";
    SAFETY_WORK: "safety", "安全性";
    ALL_WORK: "all", "全体";
    AHEAD: "ahead", "速い";
    BEHIND: "behind", "遅い";
    SAME: "same", "同等";
    NO_ANSWER: "no answer", "判定なし";
    BASELINE: "baseline", "基準";
    SURE: "sure", "確実";
    NOT_SURE: "not sure", "不確実";
    IN_MODEL: "in the model", "モデル内での答え";
    IN_MODEL_ALONE: "An answer in the model alone, of {blocks}: the same trials come out the same, and what other random places would change is not known.",
        "モデルの中だけの答えです({blocks})。同じ試行は同じ結果になりますが、ランダムな位置が変わった場合の差は不明です。";
    YES: "yes", "はい";
    NO: "no", "いいえ";
    RANGE: "{low} to {high}", "{low}〜{high}";
    ONE_BLOCK_VOTES: "1 block votes", "有効な試行ブロックは 1";
    BLOCKS_VOTE: "{blocks} blocks vote", "有効な試行ブロックは {blocks}";
    WITHIN_MODEL: "{word}: within the model's error", "{word}: モデル誤差の範囲内";
    MORE_BLOCKS: "{word}: about {more} more blocks", "{word}: あと約 {more} ブロック";
    WITH_REASON: "{word}: {reason}", "{word}: {reason}";
    OR: "{names} or {last}", "{names}、{last}";
    TOO_NOISY: "too noisy to decide here, by a factor of {factor}", "ノイズが大きく判定不能({factor} 倍)";
    SOME_SECONDS: "some {time} s", "約 {time} 秒";
    SOME_MINUTES: "some {time} min", "約 {time} 分";
    SOME_HOURS: "some {time} h", "約 {time} 時間";
    DROPPED_AFTER: "dropped after {blocks}", "{blocks}で脱落";
    RACED_FOR: "raced for {blocks}", "予選 {blocks}";
    ONE_BLOCK: "1 block", "1 ブロック";
    BLOCKS: "{count} blocks", "{count} ブロック";
    CONFIRMED: "confirmed", "確認済み";
    RACED: "raced", "予選のみ";
    NOT_MEASURED: "not measured", "未測定";
    MEASURED: "measured", "実測";
    MODELLED: "modelled", "モデル";
    IN_GUEST: "modelled, Linux in a guest", "モデル(ゲスト内の Linux)";

    // Which accesses are cached.
    CACHED: "Which accesses are cached", "キャッシュされるアクセス";
    CACHED_NOTE: "By the bytes that the drives had moved when the calls had returned, of those asked for, not by any rate: from 90 % on they are the drives', up to 10 % a cache's, between them the row with least and the one with most is given. It rests on up to {rows} rows of each kind, with up to {trials} trials each.",
        "呼び出しが戻った時点でドライブが転送済みだったバイト数の、要求バイト数に対する割合で判定します(速度では判定しません)。90 % 以上はドライブ、10 % 以下はキャッシュ、その間は最小の行と最大の行の値を示します。根拠は各種類最大 {rows} 行、各行最大 {trials} 回の試行です。";
    CACHED_TABLE: "Who had the data when the calls had returned", "呼び出しが戻った時点でのデータの所在";
    READS_DIRECT: "reads, direct", "読み込み(直接)";
    READS_BUFFERED: "reads, buffered", "読み込み(ページキャッシュ経由)";
    WRITES_DIRECT: "writes, direct", "書き込み(直接)";
    WRITES_BUFFERED: "writes, buffered", "書き込み(ページキャッシュ経由)";
    FROM_DRIVE: "from the drive", "ドライブから";
    FROM_CACHE: "from cache", "キャッシュから";
    ON_DRIVE: "on the drive", "ドライブ上";
    IN_CACHE: "in a cache", "キャッシュ内";
    IN_PART: "in part, drive {share}", "一部(ドライブ {share})";
    QUICK_LEAVES: "Set for quick removal, {label} still has up to {left} of what was written through the page cache in memory when the calls have returned: who pulls it then loses that. {cuts}",
        "クイック取り外し設定でも、{label} では呼び出しが戻った時点で、ページキャッシュ経由で書き込まれたデータの最大 {left} がまだメモリ上にあります。この時点で取り外すと失われます。{cuts}";
    PULLS_SAID: "Power cuts of the same configuration: {grade}.", "同じ構成での電源断試験: {grade}。";
    PULL_TELLS: "Measure what is lost with `raidloom pull`, or with suite = \"pull\" in the plan.",
        "失われる量は `raidloom pull`、または計画の suite = \"pull\" で測定できます。";
    QUICK_KEEPS: "Set for quick removal, nothing that was written through the page cache waits in memory: {list}.",
        "クイック取り外し設定で、ページキャッシュ経由の書き込みがメモリに残らない構成: {list}。";

    // The decision.
    DECISION: "Decision", "結論";
    NO_ANSWER_LEAD: "No answer", "判定できません";
    NOTHING_FASTER: "Nothing is {matters} faster than {baseline}", "{baseline} より {matters} 以上速い構成はありません";
    STAY_WITH: "{lead}. Stay with {configuration}", "{lead}。{configuration} のままで十分です";
    ANY_OF_SPAN: "Any {axis} from {from} to {to}", "{axis}は {from} から {to} のどれでも";
    ANY_OF: "{names}", "{names} のどれでも";
    TIE_IN_TIMES: "{tie}: {low} to {high} times {baseline}. Take {configuration}", "{tie} {baseline} の {low}〜{high} 倍です。推奨: {configuration}";
    TIE_ALONE: "{tie}. Take {configuration}", "{tie}よく、差を確認できません。推奨: {configuration}";
    TAKE_IN_TIMES: "Take {configuration}: {low} to {high} times {baseline}", "推奨: {configuration}({baseline} の {low}〜{high} 倍)";
    JOINT_PART: "{place}: {said}.", "{place}: {said}。";
    BETWEEN_PLACES: ", ", "、";
    SENTENCE_END: ".", "。";
    WARNINGS_COUNT: "warnings: {count}", "警告 {count} 件";
    FULL_REPORT: "more: raidloom report RUN --full", "詳細: raidloom report RUN --full";
    PICKED_BY_RACE: "{configuration} was named by the race before these trials.", "{configuration} は、これらの試行の前に予選で選ばれました。";
    PICKED_BY_REGRET: "Of these {configuration} loses least in any kind of work.", "このうち、どの種類の処理でも最も失うものが少ないのは {configuration} です。";
    PICKED_BY_DEFAULT: "Of these {configuration} is nearest to md's defaults.", "このうち、md の既定値に最も近いのは {configuration} です。";
    PICKED_BY_MIDDLE: "Of these {configuration} is the middle one.", "このうち、{configuration} は中央の値です。";
    LOSES: "Loses: {losses}.", "劣る点: {losses}。";
    LOSS: "{workload} {ratio}×", "{workload} {ratio} 倍";
    LOSS_OF_METRIC: "{workload} {metric} {ratio}×", "{workload} の{metric} {ratio} 倍";
    COSTS: "Costs: {costs}.", "コスト: {costs}。";
    COST_SPACE: "{usable} usable of {members} ({share})", "使用可能 {usable} / {members}({share})";
    COST_SURVIVES: "survives {losses}", "耐える故障: {losses}";
    COST_SURVIVES_NONE: "survives no drive's loss", "ドライブ 1 台の喪失にも耐えない";
    COST_SURVIVES_ONE: "survives the loss of 1 drive", "ドライブ 1 台の喪失まで耐える";
    COST_SURVIVES_SOME: "survives the loss of {count} drives", "ドライブ {count} 台の喪失まで耐える";
    COST_WRITES: "up to {factor} bytes are written to the drives for each byte of data",
        "データ 1 バイトにつきドライブに最大 {factor} バイト書き込む";
    WHICH_NOT_KNOWN: "which of them: not known", "どれが最良かは不明";
    SURE_FASTER: "faster: sure", "より速い: 確実";
    SURE_FROM: "{low}× or more: sure", "{low} 倍以上: 確実";
    FIGURE_OF: "{workload} {figure}", "{workload} {figure}";
    FIGURES_OF: "{configuration}: {figures}", "{configuration}: {figures}";
    FIGURES_LEAD: "Figures of {names}", "{names} の測定値";
    COUNT_FOR_NOTHING: "Not what was to be measured: {workloads}; the warnings say why.", "測定対象の値ではないもの: {workloads}。理由は警告にあります。";
    MORE_BELOW: "{count} more comparisons stand below.", "ほかの {count} 件の比較は下にあります。";
    NOT_KNOWN_ROW: "What is not known", "不明な点";
    FACTS: "The machine, and the plan's settings", "マシンと計画の設定";
    HOW_SURE: "How sure", "確からしさ";
    ITS_COSTS: "What it costs", "代償";
    RESTS_ON: "What it rests on", "根拠";
    MODEL_WITHIN: "{figures}, off by at most {error} in 95 % of the nearest published cases", "{figures}(最も近い公表値の 95 % で誤差 {error} 以内)";
    ERROR_NOT_KNOWN: "{figures}, off by an unknown amount", "{figures}(誤差は不明)";
    NO_CACHE_ANSWERED: "no cache answered", "キャッシュの応答なし";
    CACHE_ANSWERED_SOME: "a cache answered: {workloads}", "キャッシュが応答: {workloads}";
    SCORE_BY_AXIS: "How many times as fast as {baseline}, by {axis}. Band: where it may lie. Ring: what is taken.", "{axis}別の、{baseline} に対する倍率。帯は信頼区間、輪は推奨構成です。";
    REASONS: "Why, and what is not known", "理由と不明な点";
    TIMES: "Times", "所要時間";
    CACHE_ANSWERED: "A cache answered, not the drives: {workloads}.", "ドライブではなくキャッシュが応答: {workloads}。";
    MEASURED_FIGURES: "Figures", "測定値";
    TAKE: "Take {configuration}", "推奨: {configuration}";
    FOR_KIND: "For {kind} work.", "{kind}の処理について。";
    FOR_ALL: "For all work together.", "全ワークロードの総合。";
    NOT_KNOWN: "Not known.", "不明な点。";
    BASELINE_SCORE: "1× (baseline)", "1×(基準)";
    JUDGED_BY: "Judged by the goal: {goal}.", "判定の目標: {goal}。";
    SAME_WITHIN: "The same within {margin}: {list}.", "{margin} 以内で同等: {list}。";
    SAME_AS: "same as {names}", "{names} と同等";
    SAME_AS_SEVERAL: "same as {count} others", "他の {count} 件と同等";
    BETWEEN_TIES: "; ", "、";
    TIED_WITH: "not told apart from {names}", "{names} との差は確認できません";
    TIED_WITH_SEVERAL: "not told apart from {count} others", "他の {count} 件との差は確認できません";
    NOT_DECIDED: "{configuration} could not be told apart from {list}{settling}.", "{configuration} と {list} の差を確認できません{settling}。";
    AHEAD_OF: "Ahead of {baseline}: {list}.", "{baseline} より速い構成: {list}。";
    AHEAD_OF_TOO: "Also ahead of {baseline}: {list}.", "同じく {baseline} より速い構成: {list}。";
    BEHIND_LIST: "Behind {baseline}: {list}.", "{baseline} より遅い構成: {list}。";
    NAMED_AFTER: "{named} was named after a race of {raced} blocks, and {fresh} fresh blocks say this.",
        "{named} は {raced} ブロックの予選で選ばれ、新たな {fresh} ブロックの結果がこの判定です。";
    ONLY_CONFIGURATION: "The only configuration: there is nothing to compare it with.",
        "構成はこれだけで、比較対象はありません。";
    BASELINE_SURELY_BEST: "The baseline, surely ahead of all others.",
        "基準そのものが、他のすべてより確実に速い構成です。";
    BASELINE_BEST: "The baseline, ahead of all others.", "基準そのものが、他のすべてより速い構成です。";
    BASELINE_STAYS: "Nothing that was compared can be {matters} faster.",
        "比較したどの構成も、{matters} 以上は速くないと判定されました。";
    UNDEFEATED_NOISY: "Whether anything is {matters} faster than {baseline} is open: too noisy to decide here, by a factor of {factor}.",
        "{baseline} より {matters} 以上速い構成があるかどうかは不明です。ノイズが大きく、ここでは判定できません({factor} 倍)。";
    UNDEFEATED_MODEL: "Whether anything is {matters} faster than {baseline} is open: the differences are smaller than the model's own error ({error}). Only measuring would tell.",
        "{baseline} より {matters} 以上速い構成があるかどうかは不明です。差がモデル自身の誤差({error})より小さく、実測が必要です。";
    WOULD_TELL_MORE: "About {more} more blocks would tell (--more {more}{time}){quiet}.", "あと約 {more} ブロックで判定できます(--more {more}{time}){quiet}。";
    WOULD_TELL_QUIETER: "Longer tests or a quieter machine may tell.",
        "試験時間を延ばすか、他の負荷を減らせば、判定できる可能性があります。";
    WOULD_TELL_BLOCKS: "More blocks may tell: {fewest} at least.", "試行ブロックを {fewest} 以上に増やせば、判定できる可能性があります。";
    WOULD_TELL_LONGER: "Longer tests may tell.", "試験時間を延ばせば、判定できる可能性があります。";
    WOULD_TELL_TERMS: "Ask for less, or add a configuration that meets it.", "条件を緩めるか、条件を満たす構成を追加してください。";
    SURELY_AHEAD_OF_ALL: "Surely ahead of {baseline} and of all others.",
        "{baseline} と他のすべてより確実に速い構成です。";
    AHEAD_OF_ALL: "Ahead of {baseline} and of all others.", "{baseline} と他のすべてより速い構成です。";
    SURELY_AHEAD: "Surely ahead of {baseline}.", "{baseline} より確実に速い構成です。";
    AHEAD_OF_BASELINE: "Ahead of {baseline}.", "{baseline} より速い構成です。";
    NOT_TOLD_APART: "Highest score, but not yet told apart from {baseline}.",
        "スコアは最高ですが、{baseline} との差はまだ確認できません。";
    MEASURE_THEM: ": they differ by less than the model's error, so only measuring them would tell",
        "(差がモデル誤差より小さいため、実測が必要)";
    FEWER_WHEN_QUIETER: ", fewer on a quieter machine", "、他の負荷が少なければより少数で済む";
    FEWER_WITH_LONGER: ", fewer with longer tests", "、試験時間を延ばせばより少数で済む";
    MORE_WOULD_TELL: ": about {more} more blocks would tell (--more {more}{time}){quiet}",
        "(あと約 {more} ブロックで判定可能: --more {more}{time}{quiet})";
    TOO_NOISY_FOR_THAT: ": {noisy}", "({noisy})";
    RACE_GOES_ON: "The race is still on, and a race claims nothing.", "予選の途中であり、予選からは何も主張しません。";
    BEFORE_FIRST_LOOK: "Nothing is said before the first look, at {blocks} blocks.",
        "最初の中間判定({blocks} ブロック)までは判定しません。";
    NAMED_WAITS: "{named} was named, and the first look is after {blocks} fresh blocks.",
        "{named} が選ばれ、最初の中間判定は新たな {blocks} ブロックの後です。";
    NOTHING_NAMED: "Too few trials voted in the race to name anything.",
        "予選の有効な試行が少なすぎて、何も選べませんでした。";
    NONE_MEETS_TERMS: "None: nothing that was compared meets the plan's requirements.",
        "該当なし。比較した中に計画の条件を満たす構成がありません。";
    NO_BLOCK_YET: "No block has been finished yet.", "完了した試行ブロックがまだありません。";
    NO_COMMON_BLOCK: "In no block was all work of this kind measured with {baseline} and with something else as well.",
        "この種のワークロードのすべてを {baseline} と他の構成の両方で測定したブロックがありません。";
    TOO_FEW_BLOCKS: "{voting}, and at least {fewest} are needed.", "{voting}で、最低 {fewest} が必要です。";
    BOUND_MAY_NOT_HOLD: "Not called sure: {bound} may not hold in {workload} ({figure}, {reach}).",
        "確実とは言えません: {workload} で {bound} が成り立たない可能性があります({figure}、{reach})。";
    MAY_BE_UP_TO: "it may be up to {high}", "最大 {high} の可能性";
    TOO_FEW_TO_TELL: "too few trials vote to tell", "有効な試行が不足";
    BUSY_PAIRS: "Not called sure: {busy} of {pairs} pairs of trials were measured on a busy machine.",
        "確実とは言えません: {pairs} 組の試行のうち {busy} 組は、他の負荷がある状態で測定されました。";
    WHOLE_DESIGN_OPEN: "Not called sure: the full design, with trials of its own, might not tell it from the baseline.",
        "確実とは言えません: すべての構成を全ブロックで測定した場合には、基準との差を確認できない可能性があります。";
    MODEL_OFF_BY: "A model made these figures: held against {cases} published results, 95 % of its predictions of this kind were off by {error} or less.",
        "モデルによる値です。この種の予測を公表値 {cases} 件と照合したところ、95 % で誤差は {error} 以内でした。";
    NEAREST_MODELS_OFF_BY: "A model made these figures: of the nearest kinds of predictions that were checked, 95 % were off by {error} or less.",
        "モデルによる値です。検証済みの最も近い種類の予測では、95 % で誤差は {error} 以内でした。";
    MODEL_WITHOUT_CLASS: "Not called sure: {cases} published results of such a stack are known to check the model with, and {fewest} are needed.",
        "確実とは言えません: この種のスタックで、モデルの当てはめに使っていない公表値は {cases} 件で、{fewest} 件が必要です。";
    MODEL_WITHOUT_ERROR: "A model made these figures, and does not state how far it is off.",
        "モデルによる値です。このモデルは誤差を示していません。";
    SAYS_NOTHING_OF: "Not judged: {names} ({reason}).", "判定対象外: {names}({reason})。";
    NOT_COMPARED: "Not compared: {names} ({reason}).", "比較対象外: {names}({reason})。";
    NOT_TO_BE_TAKEN: "Ruled out: {names} ({reason}).", "採用不可: {names}({reason})。";
    TOO_FEW_TRIALS: "too few trials", "試行不足";
    MORE_NAMES: "{count} more", "他 {count} 件";
    AND_MORE: "and {count} more", "他 {count} 件";
    LIST_WITH_SCORE: "{names} ({score})", "{names}({score})";
    LIST_WITH_SCORES: "{names} ({low} to {high})", "{names}({low}〜{high})";
    ONE_DISK: "All members are on the same {disk}: this shows what a layout costs there, not what more disks would bring.",
        "全メンバーが同一の {disk} 上にあります。示されるのはそこでのレイアウトのコストであり、ディスクを増やした効果ではありません。";
    SHARED_DISK: "The sets of members {sets} lie on the same disk, {disk}: what tells them apart is not their disks.",
        "メンバーの組 {sets} は同一のディスク {disk} 上にあります。両者の違いはディスクの違いではありません。";
    PAIRING_GAIN: "Comparing within blocks, where trials are close in time, made the variance of the differences {gain} times smaller.",
        "時刻の近い試行どうしをブロック内で比較することで、差の分散は {gain} 分の 1 になりました。";
    PAIRING_NO_GAIN: "Comparing within blocks, where trials are close in time, made the differences no less noisy here.",
        "ここでは、ブロック内で比較しても差の分散は小さくなりません。";
    AUTOCORRELATION: " Autocorrelation between one trial and the next: {lag}.", " 隣り合う試行の自己相関: {lag}。";
    SENTENCE_OF_KIND: "{kind} work: {pick}{score}{sure}. {details}", "{kind}: {pick}{score}{sure}。{details}";

    // What the run was.
    ONE_CONFIGURATION: "1 configuration", "1 構成";
    CONFIGURATIONS: "{count} configurations", "{count} 構成";
    ONE_WORKLOAD: "1 workload", "1 ワークロード";
    WORKLOADS: "{count} workloads", "{count} ワークロード";
    ONE_TRIAL: "1 trial", "1 試行";
    TRIALS: "{count} trials", "{count} 試行";
    TRIALS_OF: "{finished} of {planned} trials", "{planned} 試行のうち {finished} 試行";
    RACE_AND_FRESH: "a race of {raced} blocks and {fresh} fresh ones", "予選 {raced} ブロックと新たな {fresh} ブロック";
    RACE_AT_MOST: "a race of at most {blocks} blocks", "最大 {blocks} ブロックの予選";
    ONE_CELL: "1 cell", "1 セル";
    CELLS: "{count} cells", "{count} セル";

    // Warnings.
    INCOMPLETE: "Incomplete: {finished} of {planned} trials are finished. Blocks that lack a workload or the baseline do not count.",
        "未完了: {planned} 試行のうち {finished} 試行が完了。ワークロードか基準を欠くブロックは数えません。";
    UNKNOWN_TRIALS: "Left out: {trials} that belong to no cell of the plan.", "計画のどのセルにも属さない {trials}を除外しました。";
    REPEATED_TRIALS: "{trials} replaced by a later trial of the same cell and block.",
        "{trials}は、同じセル・同じブロックの後の試行で置き換えました。";
    NO_INTERVALS: "no intervals and no answers", "信頼区間も判定もありません";
    WIDE_INTERVALS: "intervals are wide", "信頼区間は広くなります";
    FEW_BLOCKS: "Few blocks ({place}): at most {blocks} count, so {advice}; with 8, most differences of 3 % are found.",
        "試行ブロック不足({place}): 有効なのは最大 {blocks} ブロックで、{advice}。8 ブロックあれば 3 % の差はほぼ検出できます。";
    FASTER: "faster", "速い";
    SLOWER: "slower", "遅い";
    DRIFTED: "Figures drifted to {change} {direction} over the run ({place}); comparing within blocks removes it from the ratios.",
        "実行中に値が {change} {direction}側へずれました({place})。ブロック内の比較により、比からは除かれます。";
    STEPPED: "From block {block} on, all figures were {change} {direction} ({place}): the machine changed. Comparing within blocks keeps that out of the ratios, but medians contain both.",
        "ブロック {block} 以降、すべての値が {change} {direction}になりました({place})。マシンの状態が変わっています。比はブロック内の比較なので影響を受けませんが、中央値には両方が含まれます。";
    AUTOCORRELATED_LIKE: "Each trial is much like the one before (autocorrelation {lag}, {place}): the machine's noise lasts longer than a trial. Comparing trials that are close in time removes most of it (interleave = true).",
        "隣り合う試行がよく似ています(自己相関 {lag}、{place})。マシンの変動が 1 試行より長く続いています。近い時刻どうしを比較すれば大半を除けます(interleave = true)。";
    AUTOCORRELATED_UNLIKE: "Each trial is much unlike the one before (autocorrelation {lag}, {place}): something alternates with the trials. Comparing trials that are close in time removes most of it (interleave = true).",
        "隣り合う試行が逆方向に振れています(自己相関 {lag}、{place})。何かが試行と交互に動いています。近い時刻どうしを比較すれば大半を除けます(interleave = true)。";
    CARRIED_OVER: "Whatever runs after {name} is {change} {direction} ({place}): it leaves something behind, and differences found here may come from that. Give every visit the same rest or the same first writes.",
        "{name} の直後の試行は {change} {direction}です({place})。何かを残しており、差の判定がその影響かもしれません。毎回の前に同じ休止か同じ初期書き込みを入れてください。";
    BY_ORDER: "The ratio of {name} is {low} to {high}, depending on which of the two came straight after the other ({place}): one leaves something behind for the other. Intervals here reach over all of it, and what they do not settle has no answer. Give every visit the same rest or the same first writes.",
        "{name} の比は、どちらが直後に来たかによって {low}〜{high} と変わります({place})。一方が他方に何かを残しています。ここの区間はその全体を含み、それで決まらないものは判定しません。毎回の前に同じ休止か同じ初期書き込みを入れてください。";
    UNSETTLED: "Tests begin faster or slower than they go on, in {cells}: most of all {workload} with {name}, whose first tenth is {change} {direction} than the rest{advice}. A ramp, where the suite has one, leaves the start out of the figures; in longer tests it counts for less.",
        "{cells}で、試験の始まりの速度がその後と異なります。最も大きいのは {name} の {workload} で、最初の 10 分の 1 がその後より {change} {direction}です{advice}。ramp に対応するスイートでは ramp で始まりを除けます。試験時間を延ばすと影響は小さくなります。";
    SETTLES_AFTER: " (steady after {time})", "({time} 後に安定)";
    TRIALS_NOT_MEASURED: "{trials} in {cells} not measured: {reason}.", "{cells}の {trials}は未測定: {reason}。";
    TRIALS_MARKED: "{trials} in {cells}, {what}: {text}.", "{cells}の {trials}({what}): {text}。";
    KEPT_AND_MARKED: "kept and marked", "採用し、印を付けた";
    SHOWN_WITHOUT_VOTE: "shown and marked, and not counted", "表示のみ、判定には不使用";
    MOST_WITHOUT_VOTE: "shown and marked, most of them not counted", "表示し印を付け、大半は判定に不使用";
    NOTHING_MOVED: "{trials} moved nothing: a rate of zero is a loss, and votes.",
        "{trials}は何も転送しませんでした。速度 0 は遅いものとして判定に使います。";
    NO_RATIO: "{trials} without a figure above zero were left out of the comparisons.",
        "0 を超える値のない {trials}は、比較から除きました。";
    OUTLIERS: "{trials} far from the rest of the same cell (10 median deviations or more) were kept.",
        "{trials}は同じセルの他の値から大きく外れています(中央値偏差の 10 倍以上)。除外していません。";

    // How figures were made.
    METHOD_BLOCKS: "A block is every configuration with every workload once, in a fresh random order. Each figure is compared with the baseline's of the same block, as a ratio, so what the machine did meanwhile cancels out.",
        "ブロックとは、全構成と全ワークロードを 1 回ずつ、毎回新しい無作為な順序で測る組です。各値は同じブロックの基準との比で比べるため、その間のマシンの変化は打ち消されます。";
    METHOD_MACHINES: "The run is joined from {machines} machines. Each has one say, the mean of its blocks' differences, so intervals and words are drawn over {machines} machines and not over blocks: those of one machine share what is peculiar to it.",
        "この結果は {machines} 台のマシンの測定を結合したものです。各マシンはそのブロックの差の平均として 1 票を持つため、区間と判定の標本はブロックではなく {machines} 台のマシンです。同じマシンのブロックはそのマシン固有の性質を共有するためです。";
    METHOD_RATIOS: "The ratio is the geometric mean of the ratios within blocks. Its interval is Student's t, with a variance drawn towards those of the row (4 degrees of freedom of their median in rows of 8 and more, fewer in shorter ones). Medians carry order-statistic intervals.",
        "比は、対ごとの対数比の平均を元に戻したものです。信頼区間は、行内の分散に寄せた分散(8 構成以上の行では中央値に自由度 4、少ない行ではそれ未満)による Student の t 区間です。中央値の区間は順序統計量によります。";
    METHOD_WORDS: "Ahead and behind: the interval excludes 1. All such words in one row of a table hold together at 95 %, and so do all that the headlines and scores of one report say (Bonferroni). Same: two one-sided tests at 5 % put the ratio within {margin}; in tables each such word stands for itself, and its interval is the 90 % one that it rests on. What is both is called the same. Otherwise there is no answer, and beside it stands how many more blocks would settle most such questions, or by what factor it is too noisy for that.",
        "速い・遅い: 信頼区間が 1 を含みません。表の 1 行にあるこれらの判定は全体で 95 % の信頼度を持ち、1 つのレポートの見出しとスコアの判定もすべて合わせて同様です(Bonferroni)。同等: 5 % の片側検定 2 つにより、比が {margin} 以内にあります。表では個々の判定ごとで、示される区間は根拠となる 90 % 区間です。両方に当たるものは同等とします。それ以外は判定なしとし、同様の問いの大半に答えが出るまでのブロック数、またはノイズの過大さの倍率を示します。";
    METHOD_VOTES: "A trial that was answered by a cache when the question was about the medium, whose byte counts do not match, or that was faster than the medium can be, is shown but does not vote. A busy machine is noise: its trials vote, intervals widen by themselves, and a headline most of whose trials were busy is not called sure. Writes are judged by their durable rate unless the plan says otherwise. A model's stated error is part of the intervals of its figures.",
        "媒体を問う試行にキャッシュが応えたもの、バイト数が合わないもの、媒体の限界より速いものは、表示しますが判定には使いません。他の負荷は雑音として扱います。試行は有効で区間が自然に広がり、大半がその状態で測られた見出しは確実とは呼びません。書き込みは、計画に別の指定がなければ永続化までの速度で判定します。モデルが示す誤差は、その値の区間に含まれます。";
    METHOD_SCORES: "The score of a kind of work is the weighted geometric mean of its workloads' ratios, taken block by block. The best set holds everything that nothing else is surely ahead of; while the baseline is in it, the answer is that nothing is faster, where all intervals exclude a gain of {matters}, and else that there is none. Of several that were not told apart one is taken by a rule, not by its figures: what loses least in any kind of work, then md's default, then the middle one.",
        "種類ごとのスコアは、ワークロードの比の重み付き幾何平均をブロックごとに取ったものです。最良集合は、他のどれも確実には上回らない構成の集まりで、基準がその中にある場合、すべての区間が {matters} の向上を含まなければ「速い構成はない」、そうでなければ「判定できない」とします。差が確認できない複数の構成からは、値ではなく規則で 1 つを選びます。どの種類の処理でも失うものが最も少ない構成、次に md の既定値、次に中央の値です。";
    METHOD_RACE: "A race: from the third block on, whatever is clearly behind the leader in every kind of work is no longer measured (never the baseline, never the last of a level). The race claims nothing, and its ratios (·) have no word. When it is over, one configuration is named, and only fresh trials of it, of two runners-up and of the baseline make the claims.",
        "予選: 3 ブロック目以降、すべての種類で首位に明らかに劣る構成は測定を打ち切ります(基準と、各レベルの最後の 1 つは残します)。予選からは何も主張せず、その比(·)に判定はありません。終了後に 1 つを選び、それと次点 2 つと基準を新たに測った試行だけで判定します。";
    METHOD_LOOKS: "Claims are made at looks fixed beforehand, after {looks} and {last} blocks and at no other time, each at a fourth of the level, so that going on until there is an answer does not produce false ones.",
        "判定は、あらかじめ決めた中間判定の時点({looks}、{last} ブロック後)だけで行い、それぞれ有意水準の 4 分の 1 を使います。答えが出るまで続けても、誤った判定は増えません。";

    // Heads of the page and of texts.
    REPORT: "raidloom report", "raidloom レポート";
    TITLE: "{name} – raidloom report", "{name} – raidloom レポート";
    ALL_CONFIGURATIONS: "All configurations", "全構成";
    ALL_CONFIGURATIONS_SMALL: "all configurations", "全構成";
    READ_THIS_FIRST: "Read this first", "最初にお読みください";
    SCORES: "Every configuration", "全構成のスコア";
    SCORES_NOTE_BEFORE: "Each dot is how many times the baseline's speed, over all of its workloads (geometric mean), with the interval that it may lie in. Right of 1 is faster. In 95 of 100 such reports or more, all that is said here is true. ",
        "点は、全ワークロードの比の幾何平均(基準に対する倍率)と、その信頼区間です。1 より右が速いことを示します。このようなレポート 100 件のうち 95 件以上で、ここでの判定はすべて正しくなります。";
    SCORES_NOTE_SHORT: "How many times as fast as the baseline, with where each may lie. Right of 1 is faster.", "基準に対する倍率と信頼区間。1 より右が速いことを示します。";
    SCORES_NOTE_MARKED: "Marked rows", "印の付いた行";
    SCORES_NOTE_AFTER: " may be the best; what is taken is bold. ● faster or slower, ○ not told apart, ◆ the baseline; the grey band counts as the same, ±{margin}.",
        "は最良の可能性がある構成、太字が推奨構成です。● は速いか遅いと判定、○ は判定なし、◆ は基準。灰色の帯は「同等」の範囲(±{margin})です。";
    EVERY_WORKLOAD: "Every workload", "ワークロード別";
    RATIOS_NOTE: "The baseline's figure, then how many times that each configuration does; above 1 is faster. Only what is told apart has a colour. Behind a number: = the same within {margin}, ~ within the model's error, ? noise, ! doubtful trials. Point at a cell for its figures.",
        "基準の値と、各構成の基準に対する倍率。1 を超えると速いことを示します。色が付くのは差を確認できたセルだけです。数字の後の印: = は {margin} 以内で同等、~ はモデル誤差の範囲内、? はノイズ、! は疑わしい試行を含む。セルを指すと値を表示します。";
    IN_UNITS: "In units", "実際の値";
    IN_UNITS_NOTE: "Medians with their intervals, from zero. Filled: ahead of the baseline or behind it; hollow: neither.",
        "中央値と信頼区間。軸は 0 から始まります。塗りつぶしは基準より速いか遅い、中抜きはどちらでもない。";
    THE_OTHERS: "the others", "その他";
    TAILS: "Latencies of what is taken", "推奨構成のレイテンシ";
    TAILS_NOTE: "What is taken beside the baseline, where they differ: half of the requests took no longer than p50, 99 of 100 no longer than p99; max is the slowest. Medians over the trials on a log axis, lower is better.",
        "推奨構成と基準に差がある箇所を並べます。リクエストの半数は p50 以下、100 件中 99 件は p99 以下で完了し、max は最も遅いものです。値は試行の中央値、軸は対数で、低いほど良好です。";
    LOAD: "Load", "負荷特性";
    LOAD_NOTE: "Throughput and mean latency by the number of outstanding requests. The ring is the knee: the most operations for their latency; beyond it, requests mostly wait.",
        "キュー深度ごとのスループットと平均レイテンシ。輪の付いた点がニー(レイテンシあたりの処理数が最大)で、それ以上の要求はほとんど待つだけです。";
    EFFECTS: "What each axis does", "各軸の主効果";
    EFFECTS_NOTE: "Geometric mean of all workloads' medians with a value, over that with any value of the axis; right of 1 is faster. This describes what was measured; the scores say which differences are sure.",
        "その軸の値を持つ構成の中央値の幾何平均を、軸全体の幾何平均で割ったもの。1 より右が速いことを示します。これは記述であり、確実な差はスコアが示します。";
    MEMBERS: "What the members moved", "メンバーの転送量";
    MEMBERS_NOTE: "Of each member over all trials; then the most that all members together read and wrote for a byte of any workload.",
        "メンバーごとの全試行の合計と、処理 1 バイトに対し全メンバーが読み書きしたバイト数の最大値です。";
    RUN_ORDER: "Trials in run order", "実行順の試行";
    RUN_ORDER_NOTE: "Each dot is a trial, shown by its distance from the median of its cell; the line is the median of each block. A slope or a step here is the machine, not a configuration.",
        "点は各試行の、セルの中央値からの差。線は各ブロックの中央値です。ここに見える傾きや段差はマシンの変化であり、構成の差ではありません。";
    MACHINE: "Machine and plan", "マシンと計画";
    STACKS: "The stack of every configuration", "各構成のスタック";
    EVERY_TRIAL: "Every trial", "全試行";
    EVERY_TRIAL_NOTE: "In the order in which they were run. Click the head of a column to sort by it. The figure is the one that the workload is judged by; beside it stands how far it is from the median of its cell.",
        "実行順に並んでいます。列見出しを押すと並べ替えます。値はワークロードの判定に使う指標で、その隣はセルの中央値からの差です。";
    EXCERPT: "Charts and tables show the best {shown} of {all} configurations; the run's summary.csv has all of them (report RUN --csv FILE).",
        "図と表は {all} 構成のうち上位 {shown} 構成です。全構成は測定結果の summary.csv(report RUN --csv FILE)にあります。";
    FIRST_TRIALS: " This page holds the first {held} of {trials} trials; all are in trials.jsonl.",
        "このページには {trials} 試行のうち最初の {held} 試行があります。全試行は trials.jsonl にあります。";
    SHOW_TRIALS: "Show {trials}", "{trials}を表示";
    FIND: "Find", "検索";
    ANY: "any", "指定なし";
    FLAGGED_ONLY: "with flags only", "注記のあるもののみ";
    SHOWN_TRIALS: "Trials shown: ", "表示中の試行: ";
    TRIAL_NUMBER: "no.", "番号";
    TO_MEDIAN: "from its median, %", "中央値からの差、%";
    HOW_TO_READ: "How to read this", "読み方";
    SAME_AS_TABLE: "The same as a table", "表で見る";
    CARD_TO_POST: "A card to post", "投稿用カード";
    SAVE_CARD: "Save it as a picture (SVG)", "画像(SVG)として保存";
    THE_CARD: "The card", "カード";
    AS_TEXT: "As text", "テキスト";
    CARD_AS_TEXT: "The card as text", "カードのテキスト";
    COMMAND: "The command that builds it", "この構成を作るコマンド";
    WITHOUT: "The same without raidloom", "raidloom を使わない場合";
    COMMANDS_WITHOUT: "The commands without raidloom", "raidloom を使わない場合のコマンド";
    FOOT_BEFORE: "Figures are medians; MB/s are 10", "値は中央値。MB/s は毎秒 10";
    FOOT_AFTER: " bytes per second, KiB and MiB are binary. ", " バイト、KiB・MiB は 2 進単位です。";
    SAVE_SUMMARY: "Save the summary as ", "要約の保存: ";
    SAVE_OR: " or ", " または ";
    SAVE_END: ".", "。";

    // Charts.
    MEDIAN: "median", "中央値";
    BLOCK_NUMBER: "block ", "ブロック ";
    IN_BEST_SET: ", in the best set", "、最良集合";
    RATIO_OF_ALL: "Ratio of every workload", "ワークロード別の比";
    BY_AXIS_TITLE: "{name}, {metric}, by {axis}, {place}", "{name}、{metric}、{axis}別、{place}";
    GRADES_TITLE: "Speed against grade, {place}", "速度とグレード、{place}";
    GRADES_NOTE: "Scores against the baseline, by grade from best to worst, and of each grade the fastest first. Right of 1 is faster.",
        "基準に対するスコアを、グレードの良い順に、同じグレードでは速い順に示します。1 より右が速いことを示します。";
    TAILS_TITLE: "{name}, percentiles of the latency, {place}", "{name}、レイテンシのパーセンタイル、{place}";
    LOAD_TITLE: "{name}, {metric} by depth", "{name}、キュー深度別の{metric}";
    ORDER_TITLE: "Measured trials in run order: distance of each from the median of its cell", "実行順の実測試行: セルの中央値からの差";
    HEAT_SLOWER: "slower ", "遅い ";
    HEAT_FASTER: " faster", " 速い";

    // Tables.
    AGAINST: "against {baseline}", "対 {baseline}";
    SUBJECT_BY: "by {axes}", "{axes}別";
    SUBJECT_BY_MANY: "by {count} axes", "{count} 個の軸別";
    AND: " and ", "・";
    SCORE_OF: "Score of {kind} work, {place}", "{kind}のスコア、{place}";
    KIND_OF_WORK: "work", "処理";
    CONFIGURATION: "configuration", "構成";
    SCORE: "score, ×", "スコア、×";
    GRADE: "grade", "グレード";
    INTERVAL: "interval", "信頼区間";
    AGAINST_BASELINE: "against the baseline", "対 基準";
    BEST_SET: "best set", "最良集合";
    AGAINST_RECOMMENDED: "against the recommended", "対 推奨構成";
    RECOMMENDED: "recommended", "推奨";
    MAP_TABLE: "Ratio to {baseline} by {axis} (= same, ~ within the model's error, ? noise{raced}, ! doubtful)",
        "{baseline} に対する {axis}別の比(= 同等、~ モデル誤差の範囲内、? ノイズ{raced}、! 疑わしい)";
    RATIO_TABLE: "Ratio to {baseline} by {axis}, {shared}{place} (= same, ~ within the model's error, ? noise{raced}, ! doubtful)",
        "{baseline} に対する {axis}別の比、{shared}{place}(= 同等、~ モデル誤差の範囲内、? ノイズ{raced}、! 疑わしい)";
    RACED_ONLY: ", · raced only", "、· 予選のみ";
    WORKLOAD: "workload", "ワークロード";
    FLAGS: "flags", "注記";
    BLOCK_TABLE: "Median distance of each block's trials from the medians of their cells", "各ブロックの試行の、セルの中央値からの差(中央値)";
    CHANGE: "change, %", "変化、%";
    BLOCK: "block", "ブロック";
    CONFIGURATIONS_HEAD: "Configurations", "構成一覧";
    COMPARISON: "comparison", "比較";
    FIGURES: "figures", "値の出所";
    FIGURE: "figure", "指標";
    ROLE: "role", "役割";
    STACK: "stack", "スタック";
    SURVIVES: "survives", "耐える故障";
    USABLE_SPACE: "usable space", "使用可能な容量";
    SPACE_TITLE: "Speed for all of the work against usable space; 1× is {baseline}", "全用途での速さと使用可能な容量(1× は {baseline})";
    SPACE_CAPTION: "Speed and usable space", "速さと使用可能な容量";
    SURVIVES_UNKNOWN: "not known", "不明";
    SURVIVES_NOTHING: "no member's loss", "メンバーの喪失に耐えない";
    SURVIVES_ONE: "the loss of 1 member", "メンバー 1 台の喪失";
    SURVIVES_MEMBERS: "the loss of {count} members", "メンバー {count} 台の喪失";
    SURVIVES_COPIES: "goes on without {losses}, keeps its data without {kept} of {size} copies",
        "{size} 個の複製のうち {losses} 個の喪失まで動作し、{kept} 個の喪失までデータを保つ";
    SURVIVES_PARTS: "goes on without {losses}, keeps its data without {kept} of {size} parts",
        "{size} 個の断片のうち {losses} 個の喪失まで動作し、{kept} 個の喪失までデータを保つ";
    WHAT_EACH_SURVIVES: "What each survives", "構成ごとの耐障害性";
    DRIVES_LOST: "lost drives", "ドライブの喪失";
    HOST_LOST: "a lost host with members", "メンバーを持つホストの喪失";
    RUNNER_LOST: "loss of the machine that runs it", "実行マシンの喪失";
    WRITERS: "written by", "書き込み元";
    HOST_NONE: "all members are in the machine that runs it", "メンバーはすべて実行マシン内";
    HOST_OF_CLUSTER: "as the cluster's pool", "クラスタのプールによる";
    HOSTS_NOT_ONE: "stops", "停止";
    HOSTS_ONE: "goes on without 1, whichever it is", "任意の 1 台の喪失まで動作";
    HOSTS_SOME: "goes on without {count}, whichever they are", "任意の {count} 台の喪失まで動作";
    APART_UNKNOWN: "not known: where copies lie was not asked", "不明(複製の配置は未確認)";
    APART_OSD: "not certain: copies are on different OSDs, which may be in one host",
        "保証なし(複製は異なる OSD にあるが、同一ホストの場合がある)";
    APART_KIND: "as lost drives: at most one copy for each {kind}", "ドライブの喪失と同じ({kind} ごとに複製は 1 個まで)";
    RUNNER_DOWN: "stops; the data are on its members", "停止(データはメンバー上に残る)";
    RUNNER_TAKEN_OVER: "stops; another machine can start it over the same members",
        "停止(他のマシンが同じメンバーで起動可能)";
    RUNNER_CLIENT: "goes on: any machine can open the image", "動作を継続(どのマシンもイメージを開ける)";
    WRITERS_ONE: "this machine alone", "このマシンのみ";
    WRITERS_FENCED: "one machine at a time", "同時に 1 台のマシン";
    WRITERS_MANY: "many machines; an image by one at a time", "複数のマシン(1 イメージは同時に 1 台)";
    FACT: "fact", "項目";
    VALUE: "value", "値";
    RUN_STARTED: "run started", "開始日時";
    SEED: "seed", "乱数シード";
    BLOCKS_FACT: "blocks", "ブロック数";
    MARGIN: "margin of same", "同等とみなす幅";
    ROW: "row", "行";
    OF: "of", "系列";
    BY_AXIS_TABLE: "Every workload by {axis}, {place}", "{axis}別の全ワークロード、{place}";
    THROUGHPUT: "throughput", "スループット";
    DURABLE_THROUGHPUT: "durable throughput", "永続化までのスループット";
    LATENCY_MEAN: "latency mean", "平均レイテンシ";
    IO_PER_SECOND: "operations", "IOPS";
    OPERATIONS: "operations", "IOPS";
    DURABLE_OPERATIONS: "durable operations", "永続化までの IOPS";
    TAILS_TABLE: "Percentiles of the latency, {place}", "レイテンシのパーセンタイル、{place}";
    DEPTH: "depth {depth}", "キュー深度 {depth}";
    KNEE_AT: "knee at depth", "ニーのキュー深度";
    LOAD_TABLE: "Load, {access}", "負荷特性、{access}";
    AXIS: "axis", "軸";
    CONFIGURATIONS_COUNT: "configurations", "構成数";
    TO_MEAN: "to the mean of the axis, ×", "軸の平均に対する比、×";
    OTHERS_ALIKE: "other axes alike", "他の軸の条件が同一";
    EFFECTS_TABLE: "Main effects, {place}", "主効果、{place}";
    READ_BY_EACH: "read by each member, {unit}", "各メンバーの読み込み、{unit}";
    FOR_EACH_READ: "for each byte read, ×", "読み込み 1 バイトあたり、×";
    WRITTEN_BY_EACH: "written by each member, {unit}", "各メンバーの書き込み、{unit}";
    AMPLIFICATION: "write amplification, ×", "書き込み増幅率、×";
    MEMBERS_TABLE: "What members moved in all trials, {place}", "全試行でのメンバーの転送量、{place}";
    TIMES_TABLE: "Times, with the per cent of the baseline's, {place}", "所要時間(括弧内は基準比)、{place}";

    // One figure over many runs.
    FIGURE_OVER_RUNS: "A figure over many runs", "多くの測定結果にわたる 1 つの数値";
    HISTORY_METRIC: "metric", "指標";
    HISTORY_RUNS: "runs", "測定数";
    HISTORY_FIRST: "first", "最初";
    HISTORY_LAST: "last", "最後";
    HISTORY_CHANGE: "change", "変化";
    CHANGED_FROM: "{percent} % from {run} on (p = {p})", "{run} から {percent} %(p = {p})";
    TOO_FEW_RUNS: "too few runs to tell: {needed} are needed", "測定が少なく判断できません({needed} 回必要)";
    NO_SURE_CHANGE: "none that is sure", "確かな変化なし";
    WITHOUT_CONDITION: "no {name}", "{name} なし";

    // Grades of power cuts.
    OF_PULLS: "{count} of {pulls} pulls", "{pulls} 回の電源断のうち {count} 回";
    PULLS_LOST: "all is lost in {pulls}", "{pulls}で全データを喪失";
    PULLS_REPAIRED: "takes a repair in {pulls}", "{pulls}で修復が必要";
    PULLS_EXPOSED: "shows old data in {pulls}", "{pulls}で古いデータが露出";
    COPIES_LOST: "at most {time} of copies", "コピー最大 {time} 分";
    PULLS_LOSE: "loses {losses}", "失われるもの: {losses}";
    PULLS_WITHOUT_PROMISES: "{pulls} pulls, in which nothing had been acknowledged",
        "電源断 {pulls} 回(完了通知済みの書き込みなし)";
    ON_LYING_DRIVES: " on drives that do not do what they say", "(仕様どおりに動作しないドライブ)";
    GRADE_SENTENCE: "grade {grade} (simulated){drives}: {found}", "グレード {grade}(シミュレーション){drives}: {found}";
    NONE_OF_PROMISES_LOST: "0 of {all} acknowledged ({pulls} pulls, below {bound} %)",
        "完了通知済みの書き込み {all} 件のうち 0 件(電源断 {pulls} 回、{bound} % 未満)";
    SOME_OF_PROMISES_LOST: "{broken} of {all} acknowledged, up to {time} of it (in {pulls}, at most {bound} %)",
        "完了通知済みの書き込み {all} 件のうち {broken} 件、最大 {time} 分({pulls}、最大 {bound} %)";
    NO_GRADE_MEASURED: "no grade was measured: {reason}", "グレードは未測定: {reason}";
    NO_TRIAL_YET: "there is no trial yet", "試行はまだありません";
    NO_GRADE: "No grade: {labels}.", "グレードなし: {labels}。";
    GRADE_OF_ONE: "Grade {grade}: {found} in {cuts} cuts, at most {bound} %: {labels}.",
        "グレード {grade}: 電源断 {cuts} 回で{found}(最大 {bound} %): {labels}。";
    GRADE_OF_SEVERAL: "Grade {grade}: {found} in {cuts} cuts each, at most {bound} %: {labels}.",
        "グレード {grade}: 各 {cuts} 回の電源断で{found}(最大 {bound} %): {labels}。";
    GRADE_A_FOUND: "nothing lost but the last second", "失われたのは直前の 1 秒分まで";
    GRADE_B_FOUND: "nothing acknowledged lost", "完了通知済みの書き込みは失われず";
    GRADE_C_FOUND: "nothing acknowledged lost, but a repair or old data", "完了通知済みの書き込みは失われず、ただし修復が必要か古いデータが露出";
    GRADE_D: "Grade D: acknowledged writes are lost: {labels}.", "グレード D: 完了通知済みの書き込みが失われる: {labels}。";
    GRADE_E: "Grade E: all is lost now and then: {labels}.", "グレード E: 全データを失うことがある: {labels}。";
    WRITES_LOST: "{broken} of {all} acknowledged writes in {cuts} of {promising} cuts{gone}",
        "{promising} 回の電源断のうち {cuts} 回で、完了通知済みの書き込み {all} 件のうち {broken} 件{gone}";
    ALL_GONE_IN: ", all of it in {gone} of {pulls}", "、{pulls} 回のうち {gone} 回は全データ";
    AS_FAST: "as fast as the baseline", "基準と同等の速度";
    TIMES_AS_FAST: "{ratio}× as fast", "速度 {ratio} 倍";
    SPEED_NOT_TOLD: "speed not told apart", "速度の差は確認できません";
    HOSTILE_GRADE: "{grade} with drives as hostile as they may be", "許される限り厳しいドライブでは {grade}";
    HOSTILE_NO_WORSE: "With drives as hostile as they may be, where nothing else is said, the grade is no worse.",
        "許される限り厳しいドライブでも、記載のない構成のグレードは下がりませんでした。";
    HOSTILE_NOT_TRIED: "Sizes of caches, how long they keep what was written, and what drives tear are assumed; drives as hostile as they may be were not tried (hunt = 100 does).",
        "ドライブのキャッシュの大きさ、書き込みを保持する時間、途中で切れる単位は仮定です。許される限り厳しいドライブは試していません(hunt = 100 で試せます)。";
    KEEP_BARRIERS: "Keep barriers on: {broken} of {all} acknowledged writes were lost without.",
        "バリアは有効のままにしてください。無効では完了通知済みの書き込み {all} 件のうち {broken} 件が失われました。";
    TAKE_INSTEAD: "Take {kept} instead of {other}, with which {broken} of {all} acknowledged writes were lost.",
        "{other} ではなく {kept} を使ってください。{other} では完了通知済みの書き込み {all} 件のうち {broken} 件が失われました。";

    GRADES_MEAN: "Grade A: nothing is lost but the last second of copies; B: nothing acknowledged is lost; C: it takes a repair, or old data come to light; D: acknowledged work is lost; E: all is lost, sometimes. Times are the longest. Of what no pull has shown, so many in a hundred stay possible (95 %); what was found nowhere has no column. Simulated: drives in memory stand for all that a configuration names, and nothing is known of the drives themselves. A hunt looks for what may go wrong with cuts and losses as hostile as they are permitted: it counts for no other line.",
        "グレード A: 失われるのはコピーの直前 1 秒分まで。B: 完了通知済みの書き込みは失われない。C: 修復が必要か、古いデータが露出する。D: 完了通知済みの書き込みが失われる。E: 全データを失うことがある。時間は最長値です。「可能性」は、一度も起きなかったことがなお起こりうる割合の上限(95 %)。どこにも見つからなかった項目の列はありません。シミュレーション: 構成が指すものはすべてメモリ上のドライブで代用しており、実際のドライブについては何も分かりません。「探索」は、許される限り厳しい電源断とデータ喪失で起こりうる問題を探すもので、他の行には数えません。";
    NOT_MEASURED_FOR: "not measured: {reason}", "未測定: {reason}";
    HUNT_OF: "{label}, {workload}, hunt", "{label}、{workload}、探索";
    ALL_TESTS_OF: "{label}, all", "{label}、全体";
    CONFIGURATION_AND_TEST: "configuration, test", "構成、試験";
    WHY_NO_MORE: "why there is no more", "値がない理由";
    GRADE_DISHONEST: "{grade}, dishonest drives", "{grade}、仕様に反するドライブ";
    PULLS_HEAD: "pulls", "電源断、回";
    POSSIBLE_HEAD: "possible, %", "可能性、%";
    ACKNOWLEDGED_HEAD: "acknowledged", "完了通知済み";
    OF_IT_LOST: "of it lost", "うち喪失";
    IN_PULLS: "in pulls", "発生した電源断";
    AT_MOST_HEAD: "at most, %", "上限、%";
    SECONDS_OF_IT: "seconds of it", "喪失した時間";
    BYTES_OF_IT: "bytes of it", "喪失バイト数";
    COPIES_LOST_HEAD: "copies lost", "コピーの喪失";
    UNMOUNTABLE: "unmountable", "マウント不能";
    LOST_FOR_GOOD: "lost for good", "回復不能";
    ERRORS_FOUND: "errors found", "検査で誤り";
    RENAMES_TORN: "renames torn", "改名の途絶";
    OLD_DATA: "old data", "古いデータ";
    NOT_SHOWN_TWICE: "not shown twice", "再現せず";
    RECOVERY: "recovery", "復旧時間";

    // The card.
    CARD_TITLE: "Figures of {title}", "{title} の値";
    CARD_ONE_TRIAL: "One trial each", "各 1 試行";
    CARD_MEDIANS: "Medians of {trials} trials", "{trials} 試行の中央値";
    CARD_FOOT: "{medians}.", "{medians}。";
    CARD_FOOT_MB: "{medians}, in MB/s of 1,000,000 bytes.", "{medians}。1 MB/s = 毎秒 1,000,000 バイト。";
    CARD_IMPORTED: "Imported from a text: of caches only what stands there is known.",
        "テキストから取り込んだ値です。キャッシュについては、テキストに書かれた内容しか分かりません。";
    CARD_RETURNED: "Rates at the time the calls returned.", "呼び出しが戻った時点での速度です。";
    CARD_DOUBTFUL: "! Doubtful: {doubts}.", "! 疑わしい点: {doubts}。";
    CARD_ONE_DRIVE: "1 drive: {name}", "ドライブ 1 台: {name}";
    CARD_DRIVES: "{count} drives: {name}", "ドライブ {count} 台: {name}";
    CARD_ONE_DRIVE_ALONE: "1 drive", "ドライブ 1 台";
    CARD_DRIVES_ALONE: "{count} drives", "ドライブ {count} 台";
    CARD_USABLE: "{size} usable", "使用可能 {size}";
    CARD_READ: "Read", "読み込み";
    CARD_WRITE: "Write", "書き込み";
    CARD_CACHED: "cached, MB/s", "キャッシュ、MB/s";
    CARD_DIRECT: "direct, MB/s", "直接、MB/s";

    // What is doubtful about trials: a name, and what it is.
    DOUBT_WITH_DETAIL: "{name}: {detail}", "{name}: {detail}";
    READ_FROM_CACHE: "read from a cache", "キャッシュから読み込み";
    MEMBERS_READ_LESS: "the members read less than was asked for", "メンバーの読み込みが要求より少ない";
    DEVICES_READ: "the devices read {share} of the bytes asked for", "装置が読んだのは要求バイト数の {share}";
    NEVER_WRITTEN: "never written", "未書き込みの領域";
    READ_HOLES: "what was read lies in holes of files, which no disk answers for", "読み込んだ箇所はファイルの穴で、ディスクは応答していません";
    READ_SHARE_OF_HOLES: "{share} of what was read lies in holes, which no disk answers for", "読み込みの {share} はファイルの穴で、ディスクは応答していません";
    WRITTEN_BUT_NOT_THERE: "written but compressed, or still dirty in memory", "書き込みは圧縮済みか、まだメモリー内";
    MEMBERS_WROTE_LESS: "the members wrote less than was asked for", "メンバーの書き込みが要求より少ない";
    DEVICES_WROTE: "the devices wrote {share} of the bytes", "装置が書いたのは要求バイト数の {share}";
    WROTE_MORE: "write amplification", "書き込み増幅";
    MEMBERS_WROTE_MORE: "the members wrote much more than was asked for", "メンバーの書き込みが要求より大幅に多い";
    DEVICES_WROTE_TIMES: "the devices wrote {factor} times the bytes asked for", "装置が書いたのは要求バイト数の {factor} 倍";
    IMPOSSIBLE: "impossible", "ありえない速度";
    FASTER_THAN_MEMBERS: "faster than the members together, so something else answered", "全メンバーの合計より速く、別のものが応答";
    FASTER_THAN_DEVICES: "{factor} times as fast as the devices together were at their best, so something else answered", "全装置の最高速度の {factor} 倍で、別のものが応答";
    MACHINE_NOT_QUIET: "machine not quiet", "マシンに他の負荷";
    PROCESSORS_STOLEN: "the hypervisor took more than 2 % of the processors", "ハイパーバイザーが CPU の 2 % 超を使用";
    PROCESSORS_BUSY: "other work took more than 10 % of the processors", "他の処理が CPU の 10 % 超を使用";
    NOT_STEADY: "not steady", "定常でない";
    NOT_STEADY_AFTER: "the last five of 25 rounds still spread by more than 20 %, or rose or fell by more than 10 %", "25 ラウンドの最後の 5 つで、ばらつきが 20 % 超、または増減が 10 % 超";
    NOT_MODELLED_TIME: "not in modelled time", "モデル時間でない";
    READS_THE_COUNTER: "{program} reads the processor's own counter, which shows real time: figures that it takes from there are not modelled", "{program} は CPU のカウンター(実時間)を読むため、その値はモデルの時間ではない";
    READS_UNLESS_TOLD: "{program} reads the processor's own counter, which shows real time: figures that it takes from there are not modelled; give it {remedy}", "{program} は CPU のカウンター(実時間)を読むため、その値はモデルの時間ではない。{remedy} を指定する";
    IMPORTED: "imported", "取り込み";
    MEASURED_APART: "measured apart from the others, so that a drift of the machine cannot be excluded", "他とは別に測定したため、マシンの変化を排除できない";
    MACHINE_CHANGED: "the machine had changed when the run was resumed", "再開時にマシンが変わっていた";
    PACED_MODEL: "modelled disks, paced in real time", "モデルのディスクを実時間で動作";
    PACED_MODEL_IS: "the figures are a prediction, with this machine's own times in it", "値は予測で、このマシン自身の時間を含む";
    BECAUSE_TURNED_OFF: "verification was off", "検証は無効";
    BECAUSE_OF_SUITE: "data were not verified", "データは検証していない";
    BECAUSE_NO_DATA: "the target keeps no data: nothing was verified", "対象がデータを保持しないため検証なし";
    BECAUSE_MODELLED: "a modelled disk keeps no data: nothing was verified", "モデルのディスクはデータを保持しないため検証なし";
    BECAUSE_UNKNOWN: "the target is read-only, and what is on it is not known: nothing was verified", "対象は読み込み専用で内容が不明なため検証なし";
    BECAUSE_PARTLY_PREPARED: "the target is larger than `prepare`: nothing was verified", "対象が `prepare` より大きいため検証なし";
    PARTLY_UNVERIFIED: "{share} % of the bytes read were not checked: nobody knew what was there", "読み込みの {share} % は内容が不明なため未検証";
    SIZES_ROUNDED: "sizes are rounded up to the device's block of {bytes} bytes", "サイズは装置のブロック {bytes} バイトに切り上げ";
    ENDED_EARLY: "ended after {requests} requests: no more writes can be kept track of", "{requests} 要求で終了(これ以上の書き込みは追跡できない)";
    RATE_NOT_REACHED: "the target cannot do this rate: {requests} requests were never submitted", "対象はこの速度に届かず、{requests} 要求が未発行";
    REPLAY_BEHIND: "the replay was late", "再生の遅れ";
    REPLAY_WAS_LATE: "{requests} of {of} requests were submitted later than the recording has them, one by {longest}: this is not the recorded work", "{of} 要求のうち {requests} が記録より遅れて発行され、最大 {longest} の遅れ。記録された負荷とは異なる";
    RECORDING_DAMAGED: "the recording is not whole: {skipped} entries were skipped, {lost} requests were lost when it was made", "記録が完全でない: 読めない {skipped} 件を省略、記録時に {lost} 件を喪失";
    RECORDING_CUT_OFF: "the recording is cut off: it ends in the middle; {skipped} entries were skipped, {lost} requests were lost when it was made", "記録が途中で切れている: 読めない {skipped} 件を省略、記録時に {lost} 件を喪失";
    ADDRESSES_NARROWED: "the target is smaller than the recorded device: the space between the places that the recording touches was made narrower", "対象は記録元より小さいため、記録が触れない領域を詰めた";
    ADDRESSES_WIDENED: "the space between the places that the recording touches was made wider, to span the target", "対象全体にわたるよう、記録が触れない領域を広げた";
    ADDRESSES_FOLDED: "the target is smaller than what the recording touches: addresses were folded, so that several places are one", "対象は記録が触れる領域より小さいため、アドレスを折り返した(複数の位置が同じ位置になる)";
    WITHOUT_FUA: "the target knows no durable writes: {requests} were sent as other writes", "対象は FUA に対応しないため、{requests} 件を通常の書き込みとして発行";
    WITHOUT_ZEROES: "the target cannot write zeroes without data: {requests} requests were left out", "対象はゼロ書き込みに対応しないため、{requests} 要求を省略";
    WITHOUT_DISCARDS: "the target takes no discards: {requests} requests were left out", "対象は discard に対応しないため、{requests} 要求を省略";
    REPLAYED_WAITS: "{share} % of the requests waited for the answer to an earlier one, as in the recording", "{share} % の要求は、記録と同じく先の要求の完了を待った";
    REPLAY_WINDOW: "{begin} to {end} s (p99 {p99})", "{begin}〜{end} 秒(p99 {p99})";
    REPLAY_WORST_WINDOWS: "slowest parts of the recording: {windows}", "記録の中で最も遅い部分: {windows}";
    WAKING_COUNTS: "waking up late for a moment counts as latency too", "起床の遅れもレイテンシに含む";
    ONE_OWNER: "one owner kept {outstanding} requests outstanding instead of {threads} threads", "{threads} スレッドの代わりに 1 つで {outstanding} 要求を発行";
    REQUESTS_LIMITED: "the target takes at most {bytes} bytes in one request", "対象の要求は最大 {bytes} バイト";
    CACHE_NOT_EMPTIED: "the page cache was not emptied", "ページキャッシュを空にできなかった";
    CLIENTS_ENDED: "{clients} clients: {first} was the first to finish, after {first_seconds} s, and {last} the last, after {last_seconds} s", "クライアント {clients} 台: 最初は {first}({first_seconds} 秒)、最後は {last}({last_seconds} 秒)";
    TRANSACTIONS_FAILED: "{count} transactions failed", "失敗したトランザクション {count} 件";
    TOO_FEW_REQUESTS: "fewer than {needed} requests, too few for this percentile", "要求が {needed} 未満で、このパーセンタイルには少なすぎる";
    NO_SUCH_FIGURE: "it has no {metric}", "{metric} がない";

    // Texts.
    WARNINGS: "Warnings", "警告";
    SCORES_SHORT: "Scores", "スコア";
    SAFETY: "Safety", "データの安全性";
    WHAT_POWER_CUTS_LEAVE: "What power cuts leave", "電源断の後に残るもの";
    RATIOS_BY_WORKLOAD: "Ratios by workload", "ワークロード別の比";
    WITHOUT_SHORT: "Without raidloom", "raidloom を使わない場合";
    NOT_KNOWN_TEXT: "Not known: {open}", "不明な点: {open}";
    TEXT_SCORES_NOTE: "Ratio to the baseline: geometric mean of all workloads of a kind, and of all of them; above 1 is faster. * may be best, = same, ~ within the model's error, ? noise",
        "基準に対する比: 種類ごとと全体の幾何平均で、1 を超えると速いことを示します。* 最良の可能性、= 同等、~ モデル誤差の範囲内、? ノイズ";

    // What to take (`raidloom choose`).
    CHOICE_FOR: "for {work} on {drives}", "用途: {work}、ドライブ: {drives}";
    CHOICE_AGAINST: "against {name}", "対 {name}";
    CHOICE_AND_SPARES: "{scheme} + {count} spare", "{scheme} + 予備 {count}";
    CHOICE_CHUNK: ", chunk {size}", "、チャンク {size}";
    CHOICE_COST: "costs {cost}", "価格 {cost}";
    CHOICE_COST_OF: "costs {cost} of {budget} for {count} of {offered} drives", "{offered} 台中 {count} 台で {cost}(予算 {budget})";
    CHOICE_SPACE: "{usable} of {all}", "容量 {usable}(合計 {all})";
    CHOICE_SURVIVES_NONE: "survives no drive: one that dies takes all data with it", "1 台の故障で全データを失う";
    CHOICE_SURVIVES_ONE: "survives any 1 drive", "どの 1 台の故障にも耐える";
    CHOICE_SURVIVES_PAIRS: "survives any 1 drive, and {count} of {of} pairs", "どの 1 台の故障にも、2 台では {of} 組中 {count} 組に耐える";
    CHOICE_SURVIVES_ANY: "survives any {count} drives", "どの {count} 台の故障にも耐える";
    CHOICE_FROM_RECORDING: "modelled from your recording of {requests} requests", "記録した {requests} 要求からのモデル予測";
    CHOICE_STAND_INS: "modelled, the drives themselves were not run", "モデル(ドライブ自体は未測定)";
    CHOICE_NOT_RUN: "by space, nothing was run", "容量で選択(未測定)";
    CHOICE_MOST_SPACE: "not at all of its speed: of the layouts that survive so many drives it offers most", "速さについては不明。この台数の故障に耐える構成のうち容量が最大";
    CHOICE_OPEN_WORK: "how fast this command is on any layout: without a measurement (--measure) it runs in a guest, and there is no kernel for guests here (`raidloom guest build` makes one)", "各構成でのこのコマンドの速さ(--measure なしではゲスト内で実行するが、ゲスト用カーネルがない。`raidloom guest build` で作成)";
    CHOICE_ON_FILES: "measured on files of one folder", "1 つのフォルダー内のファイルで測定";
    CHOICE_AS_MODEL: "{count} x {title} (run as {model})", "{count} x {title}({model} として計算)";
    CHOICE_RIVAL_DRIVES: "{count} drives", "ドライブ {count} 台";
    CHOICE_SAME_SPACE: "same space", "容量は同じ";
    CHOICE_MORE_SPACE: "{size} more space", "容量は {size} 多い";
    CHOICE_LESS_SPACE: "{size} less space", "容量は {size} 少ない";
    CHOICE_AS_FAST: "as fast", "同じ速さ";
    CHOICE_NOT_TOLD_APART: "not told apart: {ratio}", "差を判定できない: {ratio}";
    CHOICE_SURELY: "surely {ratio}", "確実に {ratio}";
    CHOICE_EXTREMES: " ({each})", "({each})";
    CHOICE_SAME_CHUNKS: "{from} to {to} are the same for this work", "{from} から {to} まではこの用途では同じ";
    CHOICE_CHUNK_LABEL: "chunk", "チャンク";
    CHOICE_DEGRADED: "this work runs at {ratio} of its speed", "この用途の速さは {ratio} になる";
    CHOICE_DEGRADED_LABEL: "a drive missing", "1 台欠けると";
    CHOICE_REBUILD: "{time} idle, up to {busy} beside work (modelled); data lost in 1 of {chance}, at worst 1 of {busy_chance} ({rate} % a year)", "単独で {time}、用途と並行で最長 {busy}(モデル)。データ損失は {chance} 回に 1 回、最悪 {busy_chance} 回に 1 回(年 {rate} %)";
    CHOICE_REBUILD_BESIDE: "{time} idle, up to {busy} beside this work (then at {ratio}); data lost in 1 of {chance}, at worst 1 of {busy_chance} ({rate} % a year)", "単独で {time}、この用途と並行で最長 {busy}(速さは {ratio})。データ損失は {chance} 回に 1 回、最悪 {busy_chance} 回に 1 回(年 {rate} %)";
    CHOICE_BITMAP: "this work runs at {ratio} with it, writing everywhere", "書き込みが全体に散れば、この用途の速さは {ratio} になる";
    CHOICE_BITMAP_LABEL: "its bitmap", "ビットマップ";
    CHOICE_REBUILD_LABEL: "rebuild", "再構築";
    CHOICE_POWER_CUTS: "nothing acknowledged lost in {cuts} modelled cuts (≤ {percent} %)", "完了済みの書き込みの消失は {cuts} 回中なし(モデル、最大 {percent} %)";
    CHOICE_POWER_LOST: "acknowledged writes lost in {lost} of {cuts} modelled cuts (≤ {percent} %)", "完了済みの書き込みの消失は {cuts} 回中 {lost} 回(モデル、最大 {percent} %)";
    CHOICE_POWER_LABEL: "power cut, {name}", "電源断({name})";
    CHOICE_LOST_LABEL: "without", "除外";
    CHOICE_LOST: "{names}: died while it was measured; all of this is of the others", "{names}: 測定中に故障。ここに示すのは残りのドライブについて";
    CHOICE_UNEVEN_LABEL: "sizes", "サイズ";
    CHOICE_LEFT_OUT: "{count} of {size} left out: every drive would count as that small", "{size} の {count} 台は使わない(全ドライブがその大きさになるため)";
    CHOICE_SMALLEST_COUNTS: "{size} of each drive are used: the smallest counts", "各ドライブのうち {size} だけを使う(最小のドライブに合わせる)";
    CHOICE_HOW_SURE: "how sure", "確かさ";
    CHOICE_MODEL_ERROR: "95 % of such models were off by {factor} times at most ({cases} published cases): below that only measuring tells", "この種のモデルの 95 % は誤差が {factor} 倍以内(公表された {cases} 例)。それより小さな差は測定しないと分からない";
    CHOICE_MODEL_NEAREST: "95 % of models of the nearest published arrays were off by {factor} times at most: below that only measuring tells", "最も近い公表アレイのモデルの 95 % は誤差が {factor} 倍以内。それより小さな差は測定しないと分からない";
    CHOICE_DRAWN: "; {name} is ahead in {ahead} of {sets} drawn parameter sets, {low} to {high}", "。パラメーターを範囲内で {sets} 組引くと {ahead} 組で {name} が上回る({low}～{high})";
    CHOICE_SAME_TRIALS: "picked by the trials that it is compared by, which flatters it: measured again, others may come nearer", "選択と比較に同じ測定を使うため、選んだ構成がやや有利に見える。再測定では差が縮むことがある";
    CHOICE_MODEL_UNKNOWN: "no such model was held against a published figure", "この種のモデルを公表値と比べた例はない";
    CHOICE_NOT_KNOWN: "not known", "不明な点";
    CHOICE_OPEN_OWN: "these drives themselves (--measure runs all on them and erases them)", "ドライブ自体の速さ(--measure で測定、全データを消去)";
    CHOICE_OPEN_MODELLED: "drives of your own (name them, --measure)", "手持ちのドライブの速さ(指定し --measure で測定)";
    CHOICE_OPEN_FILES: "drives that are apart: files of one folder share theirs", "別々のドライブでの速さ(1 つのフォルダーのファイルは同じドライブにある)";
    CHOICE_OPEN_DEGRADED: "speed with a drive missing", "1 台欠けたときのこの用途の速さ";
    CHOICE_OPEN_REBUILD: "speed in a rebuild", "再構築中のこの用途の速さ";
    CHOICE_OPEN_BITMAP: "what its write-intent bitmap costs", "書き込み意図ビットマップの影響";
    CHOICE_OPEN_COMPUTING: "what computing takes (none in a guest)", "計算にかかる時間(ゲストでは 0)";
    CHOICE_OPEN_FILE_SYSTEM: "what {name} adds", "{name} の影響";
    CHOICE_OPEN_POWER: "power cuts (`raidloom pull --guest STACK --fs {name}`)", "電源断の影響(`raidloom pull --guest STACK --fs {name}`)";
    CHOICE_OPEN_FLASH: "writes once the SSDs' fast cache is full", "SSD の高速キャッシュが満杯になった後の書き込み";
    BETWEEN_OPEN: "; ", "、";
    CHOICE_MINUTES: "{time} min", "{time} 分";
    CHOICE_HOURS: "{time} h", "{time} 時間";
    CHOICE_DAYS: "{time} days", "{time} 日";
    CHOICE_OPEN_WRITES: "writes of drives with shingles, which are not modelled", "瓦記録ドライブの書き込み(モデル化していない)";
    CHOICE_NOTHING_OPEN: "nothing that was asked", "質問の範囲では特になし";
    // What there is to know of a comparison.
    ONE_CONFIGURATION_EACH: "each run has one configuration: {second} is compared with {first}",
        "どちらの測定も構成は 1 つです: {second} を {first} と比較します";
    MODELLED_AND_MEASURED: "modelled figures are not compared with measured ones",
        "モデルの値と実測値は比較しません";
    CELLS_MISSING: "{cells} cells of the first run have no figures in both",
        "1 つ目の測定の {cells} セルは、両方に値がそろっていません";
    CELLS_WITH_FEW_TRIALS: "{cells} cells have too few trials that vote for a word, and cannot fail a limit: {least} on each side are the fewest",
        "{cells} セルは判定に使える試行が足りず、限度の判定もできません(片方につき {least} 試行以上が必要)";
    NOT_INTERLEAVED: "the runs were not interleaved: what changed on the machine between them cannot be told from a difference",
        "2 つの測定は交互に行われていないため、その間のマシンの変化と構成の差を区別できません";
    LESS_THAN_ONE_PERCENT: "less than 1 %", "1 % 未満";
    CHOICE_OR: "or", "または";
    CHOICE_MORE: "more", "詳細";
    CHOICE_DO: "do it", "作成";
    PNG_NO_FONT: "there is no font on this machine to draw a PNG with: install one (on Debian fonts-dejavu-core), or write the card as .svg",
        "このマシンには PNG を描くフォントがありません。インストールするか(Debian では fonts-dejavu-core)、カードを .svg で出力してください";
    PNG_DRAWING: "drawing the card as PNG: {why}", "PNG のカードの描画: {why}";
}
