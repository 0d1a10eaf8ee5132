//! What verbs have found out and done, in every language: recordings, models, comparisons, the
//! hints of choose, notices.

words::catalogue! {
    // What several verbs say.
    WROTE: "wrote {path}", "{path} に書き込みました";
    BETWEEN_NAMES: ", ", "、";

    // record.
    NOT_MOUNTED_THERE: "nothing is mounted there; it lies on what is mounted on {point}",
        "マウント先ではありません。{point} にマウントされたものの上にあります";
    RECORDING_FOR: "for {time}", "{time} の間";
    RECORDING_UNTIL_CTRL_C: "until Ctrl-C", "Ctrl-C まで";
    RECORDING_BEGUN: "recording {device} {until}; no data and no names are kept",
        "{device} を{until}記録します。データと名前は残りません";
    RECORDING_FEEDBACK: "what the recording itself writes to {device} is in it (feedback)",
        "記録自体が {device} に書くものも記録に含まれます(feedback)";
    EVENTS_DROPPED: "the kernel dropped {count} events; some requests are missing",
        "カーネルが {count} 件のイベントを捨てたため、一部の要求が欠けています";
    RECORDING_ENDED_EARLY: "the recording ends after {time}; it is good up to there, and the work was not disturbed",
        "記録は {time} で終わりました。そこまでは有効で、記録中の処理に影響はありません";
    RECORDED: "{path}: {count} requests ({bytes}) in {time}, {rate} requests/s",
        "{path}: {time} に {count} 要求({bytes})、{rate} 要求/s";

    // trace.
    OP_READ: "read", "読み込み";
    OP_WRITE: "write", "書き込み";
    OP_ZEROES: "zeroes", "ゼロ書き込み";
    OP_DISCARD: "discard", "破棄";
    OP_FLUSH: "flush", "フラッシュ";
    OP_FLUSHES: "flushes", "フラッシュ";
    TRACE_REQUESTS: "requests", "要求";
    TRACE_SHARE: "share", "割合";
    TRACE_BYTES: "bytes", "バイト数";
    TRACE_SIZES: "usual sizes", "主なサイズ";
    TRACE_SEQUENTIAL: "sequential", "シーケンシャル";
    TRACE_MERGEABLE: "mergeable", "結合可能";
    TRACE_MOST: "most", "最大";
    TRACE_RATE: "rate", "速度";
    TRACE_RATE_IS: "{requests} requests/s, {bytes}/s", "{requests} 要求/s、{bytes}/s";
    TRACE_FOOTPRINT: "footprint", "使用範囲";
    TRACE_FOOTPRINT_OF: "{bytes} of {size} ({share})", "{size} のうち {bytes}({share})";
    TRACE_FOOTPRINT_IS: "{bytes}: {read} are read, {written} written, between byte {first} and {end}",
        "{bytes}: 読み込み {read}、書き込み {written}、バイト {first} から {end} まで";
    TRACE_ESTIMATED: " (estimated from 1 of {regions} regions)", "({regions} 領域につき 1 つからの推定)";
    TRACE_WORKING_SET: "working set", "ワーキングセット";
    TRACE_WORKING_SET_IS: "{mean} in a minute, at most {most}", "1 分あたり {mean}、最大 {most}";
    TRACE_NOT_KNOWN: "not known", "不明";
    TRACE_NONE: "none", "なし";
    TRACE_FUA: "; writes with FUA: {count}", "。FUA 付きの書き込み {count} 件";
    TRACE_FLUSHES_ARE: "one for {writes} writes or {bytes}", "書き込み {writes} 件または {bytes} ごとに 1 回";
    TRACE_UNDER_WAY: "under way", "実行中の要求";
    TRACE_DEPTH: "{mean} on average, at most {most}", "平均 {mean}、最大 {most}";
    TRACE_NO_COMPLETIONS: "not known: the recording has no completions", "不明: 記録に完了時刻がありません";
    TRACE_BURSTS: "bursts", "バースト";
    TRACE_BURSTS_ARE: "the busiest {width} has {peak} times the mean; variance is {dispersion} times the mean (1: independent of each other); {idle} % of the time nothing is asked for",
        "最も忙しい {width} は平均の {peak} 倍。分散は平均の {dispersion} 倍(1 なら互いに独立)。時間の {idle} % は要求なし";
    TRACE_BUSIEST: "busiest", "最繁時";
    TRACE_BUSIEST_IS: "{length} from {from} on: {requests} requests/s, {bytes}/s, {read} read",
        "{from} からの {length}: {requests} 要求/s、{bytes}/s、読み込み {read}";
    TRACE_NOT_TOLD: "not told", "情報なし";
    TRACE_TIMES: "times", "時刻";
    TRACE_COMPLETIONS: "completions", "完了";
    TRACE_WHO_ASKED: "who asked", "要求元";
    TRACE_DISCARDS: "discards", "破棄";
    TRACE_ONE_STREAM: ", by one stream", "、要求元 1";
    TRACE_STREAMS: ", by {count} streams", "、要求元 {count}";
    TRACE_LENGTH: " in {time}", "、{time}";
    TRACE_HEADLINE: "{path}: {requests} requests{length}{streams} ({format})",
        "{path}: {requests} 要求{length}{streams}({format})";
    TRACE_MEBIBYTES: "MiB/s, read and written", "MiB/s(読み込みと書き込み)";
    TRACE_READ: "read", "読み込み";
    TRACE_WRITTEN: "written", "書き込み";
    TRACE_REQUEST_RATE: "requests/s", "要求/s";
    TRACE_MOST_UNDER_WAY: "requests under way, the most", "実行中の要求の最大数";
    TRACE_SIZES_HEADING: "sizes", "サイズ";
    TRACE_SIZES_TITLE: "sizes of requests", "要求のサイズ";
    TRACE_CUT_WHAT: "trace cut: name a part with --from, --to or both",
        "trace cut: --from か --to、または両方で範囲を指定してください";
    TRACE_SCALE_HOW: "trace scale: say --speed, --size or both",
        "trace scale: --speed か --size、または両方を指定してください";
    WRITING_PARQUET: "writing Parquet", "Parquet の書き込み";
    REQUESTS_ROUNDED: "{count} requests were no whole sectors; they are now",
        "セクターの倍数でない {count} 要求を、倍数に広げました";
    TRACE_MADE: "{path}: {count} requests", "{path}: {count} 要求";
    TRACE_FOLDED: "; {folded} lay beyond {size} and were folded back (address modulo size), which keeps runs and distances; {moved} of them would have crossed the end and were moved before it, {shortened} were shortened",
        "。{size} を越える {folded} 要求は折り返しました(アドレスをサイズで割った余り。連続と距離は保たれます)。うち末尾をまたぐ {moved} 要求は手前に移し、{shortened} 要求は短くしました";

    // model.
    GROUP_SPINNING: "SPINNING", "回転式";
    GROUP_REMOVABLE: "REMOVABLE", "リムーバブル";
    GROUP_OLDER: "OLDER", "旧型";
    PARAMETER_HEAD: "PARAMETER", "パラメーター";
    VALUE_HEAD: "VALUE", "値";
    UNIT_HEAD: "UNIT", "単位";
    ORIGIN_HEAD: "ORIGIN", "由来";
    NOTE_HEAD: "NOTE", "注記";
    FROM_DATA_SHEET: "Made from a data sheet: what is stated, and the rest by laws.",
        "データシートの記載値と、それ以外は法則による値です。";
    NOT_MODELLED: "Not modelled: {what}.", "モデル化していないもの: {what}。";
    NO_SUCH_MODEL_HELD: "No such model was held against a drive: nothing that is claimed of it is sure.",
        "この種のモデルを実物と比べた例はなく、主張に確実なものはありません。";
    KIND_HARD_DISK: "hard disk", "ハードディスク";
    SHEETS_BESIDE_REVIEWS: "Models from data sheets beside what reviews measured of such drives ({kind}):",
        "データシートからのモデルと、レビューの測定値との比較({kind}):";
    WORK_HEAD: "WORK", "処理";
    CASES_HEAD: "CASES", "例数";
    SOURCES_HEAD: "SOURCES", "出典数";
    OFF_BY_HEAD: "OFF BY", "誤差";
    TAKEN_AS_HEAD: "TAKEN AS", "採用値";
    WORK_SEQUENTIAL_READ: "sequential read", "シーケンシャル読み込み";
    WORK_SEQUENTIAL_WRITE: "sequential write", "シーケンシャル書き込み";
    WORK_RANDOM_READ: "random read", "ランダム読み込み";
    WORK_RANDOM_WRITE: "random write", "ランダム書き込み";
    WORK_MIXED: "mixed", "混在";
    WORK_FILES_READ: "files read", "ファイルの読み込み";
    WORK_FILES_WRITE: "files write", "ファイルの書き込み";
    WORK_DEEP: "deep {work}", "{work}(多重)";
    FORM_HEAD: "FORM", "形";
    FORM_ONE_DRIVE: "one drive", "ドライブ 1 台";
    FORM_STRIPE: "stripe", "ストライプ";
    FORM_MIRROR: "mirror", "ミラー";
    FORM_PARITY: "parity", "パリティ";
    FORM_CHAIN: "chain", "連結";
    FORM_SHARED_LINK: "shared link", "共有の接続";
    FORM_FILE_SYSTEM: "file system", "ファイルシステム";
    FORM_CACHE: "cache", "キャッシュ";
    FEW_CASES: "A class with fewer than {least} cases is taken as the widest beside it, and nothing in it is sure.",
        "{least} 例に満たない分類には、隣接する分類で最大の誤差を使い、確実とは扱いません。";
    NO_PUBLISHED_FIGURES: "No published figures come with this model.",
        "このモデルに公表値はありません。";
    ROW_CHECK: "check", "検証";
    ROW_FITTED: "fitted", "当てはめ";
    PUBLISHED_HEAD: "PUBLISHED", "公表値";
    MODELLED_HEAD: "MODELLED", "モデル";
    ERROR_HEAD: "ERROR", "誤差";
    MODEL_BESIDE_PUBLISHED: "The model beside the published figures (rows marked `check` were not seen by the fit):",
        "モデルと公表値の比較(「検証」の行は当てはめに使っていません):";
    LARGEST_ERROR: "largest error: {fitted} of the fitted rows", "最大の誤差: 当てはめの行で {fitted}";
    LARGEST_OF_CHECKS: ", {check} of the check rows", "、検証の行で {check}";
    HELD_AGAINST_NONE: "It was held against no drive: nothing that is claimed of it is sure.",
        "実物と比べた例はなく、主張に確実なものはありません。";
    PREDICTIONS_BESIDE_ARRAYS: "Predictions of all models beside published arrays that none was fitted to, as ratios to one drive:",
        "当てはめに使っていない公表アレイと、全モデルの予測との比較(ドライブ 1 台に対する比):";
    MEASURED_BY_READS: "by reads alone", "読み込みだけで";
    MEASURED_BY_WRITES: "by reads, and by writes over {length} from byte {start} on",
        "読み込みと、バイト {start} からの {length} への書き込みで";
    MEASURING_SEVERAL: "measuring {count} drives, each by itself and all at a time",
        "ドライブ {count} 台を、1 台ずつ、また全部同時に測定します";
    MEASURING: "measuring {device} {how}, for at most {time}", "{device} を{how}測定します(最長 {time})";
    SAMPLES_IN: "{count} samples are in {file}; `raidloom model fit {file}` repeats the fit",
        "{count} 件の標本を {file} に保存しました。`raidloom model fit {file}` で当てはめを繰り返せます";
    ASSUMED: "assumed, for it could not be found out:", "判明しなかったため仮定したもの:";
    MODEL_NOT_CHECKED: "not checked: the time was over", "時間切れのため未検証";
    UNEXPLAINED: "UNEXPLAINED", "説明不能";
    EXPLAINED: "explained", "説明可能";
    MODEL_CHECKED: "{verdict}: of {reads} random reads that nothing was fitted to the mean time is off by {mean} %, the distribution by {distribution} %; {last}",
        "{verdict}: 当てはめに使っていないランダム読み込み {reads} 件で、平均時間の誤差 {mean} %、分布の誤差 {distribution} %。{last}";
    SEEK_CURVE_OFF: "the seek curve lies {error} % from its points", "シーク曲線と各点の差 {error} %";
    LARGE_READS_OFF: "large reads in order are off by {error} %", "大きな連続読み込みの誤差 {error} %";
    DURABLE_WRITES_OFF: "; durable writes are off by {error} %", "、永続化する書き込みの誤差 {error} %";
    BUFFERED_WRITES_OFF: "; buffered writes are off by {error} %", "、バッファー経由の書き込みの誤差 {error} %";
    DRIVE_UNEXPLAINED: "the drive does something that the model does not have: take none of its figures for this drive's",
        "ドライブがモデルにない動作をしています。このモデルの数値をこのドライブの数値とみなさないでください";

    // compare, report history.
    COMMON_BESIDE: " that can be judged beside `{reference}`, which has to be one configuration of either run",
        "(`{reference}` と並べて判定できるもの。それぞれの測定の 1 つの構成だけを指すこと)";
    JUDGED_BESIDE: "each cell is judged beside {reference}: what changed there as well is not in the ratios",
        "各セルは {reference} と並べて判定します。そこでも同じだけ変わったものは比に含まれません";
    ALL_FIGURES: "all figures", "すべての値";
    SO_MANY_FIGURES: "{count} of {of} figures", "{of} 個のうち {count} 個の値";
    COMMON_SHIFT: "{figures} {change} % ({low} to {high} %): the machine, or whatever else all configurations share; --beside baseline judges what changed besides",
        "{figures}が {change} %({low}〜{high} %): マシンなど、全構成に共通の変化です。--beside baseline ならそれ以外の変化を判定します";
    VALUE_NOT_SAID: "not said", "指定なし";
    VALUES_OF_BOTH: "{name} ({first} and {second})", "{name}({first} と {second})";
    SO_MANY_MORE: "{count} more", "ほか {count} 件";
    DIFFERENT_ALLOW: "{what}; to compare them all the same: --allow {words}",
        "{what}。それでも比較するには --allow {words}";
    CELL_FASTER: "faster", "速い";
    CELL_SLOWER: "slower", "遅い";
    CELL_SAME: "same", "同等";
    CELL_NO_ANSWER: "no answer", "判定なし";
    CELL_NO_ANSWER_FOR: "no answer ({reason})", "判定なし({reason})";
    CELL_TOO_FEW: "no answer (too few trials)", "判定なし(試行不足)";
    CELLS_FASTER: "{count} faster", "速い {count}";
    CELLS_SLOWER: "{count} slower", "遅い {count}";
    CELLS_SAME: "{count} same", "同等 {count}";
    CELLS_WITHOUT_ANSWER: "{count} no answer", "判定なし {count}";
    LESS_IS_BETTER: " (less is better)", "(小さいほど良い)";
    CELL_HEAD: "CELL", "セル";
    FIRST_HEAD: "FIRST", "1 つ目";
    SECOND_HEAD: "SECOND", "2 つ目";
    RATIO_HEAD: "RATIO", "比";
    SECOND_IS_HEAD: "SECOND IS", "2 つ目は";
    OTHER_METRICS: "Other metrics that changed:", "そのほかに変わった数値:";
    SERIES_APART: "runs under different conditions are series of their own: {what}",
        "条件の異なる測定は別の系列にします: {what}";

    // run plan.
    PLAN_HEAD: "PLAN", "プラン";
    ASKS_HEAD: "WHAT IT ASKS", "調べること";
    PLANS_HINT: "raidloom run plan NAME says what it comes to, raidloom run NAME runs it, and\nraidloom run NAME --print-plan > my-plan.toml makes one of your own of it.",
        "内容は raidloom run plan NAME で確認、raidloom run NAME で実行、\nraidloom run NAME --print-plan > my-plan.toml で自分用のプランにできます。";
    PLAN_LEFT_OUT: "Left out:", "除外:";
    PLAN_INTERLEAVED_ROWS: "Workloads, each a row of its suite, and every configuration runs one before any runs the next:",
        "ワークロード(それぞれスイートの 1 行。1 つを全構成で測ってから次に進みます):";
    PLAN_ROWS: "Workloads, each a row of its suite:", "ワークロード(それぞれスイートの 1 行):";
    CLOCK_HEAD: "CLOCK", "時計";
    COMPARED_HEAD: "COMPARED WITH", "比較相手";
    STACK_HEAD: "STACK", "スタック";
    CLOCK_VIRTUAL: "virtual", "モデル時間";
    CLOCK_WALL: "wall", "実時間";
    IS_BASELINE: "(baseline)", "(基準)";
    NOTHING_IS_WRITTEN: "Will be written to: nothing", "書き込み先: なし";
    IS_WRITTEN: "Will be written to (`{members}` is a folder of the run's own):",
        "書き込み先(`{members}` は測定専用のフォルダー):";
    MADE_AND_REMOVED: "made, and removed at the end", "作成し、最後に削除";
    EXISTS_OVERWRITTEN: "EXISTS: its content is overwritten", "既存: 内容は上書きされます";
    PATH_HEAD: "PATH", "パス";
    PREPARED_HEAD: "WRITTEN BY PREPARING", "準備での書き込み";
    WHAT_HEAD: "WHAT", "扱い";

    // bench.
    SO_MANY_ROWS: "{count} rows, the first {first}", "{first} など {count} 行";
    ROWS_NOT_MEASURED: "{rows}: not measured: {why}", "{rows}: 未測定: {why}";

    // run watch.
    WATCH_MERGE: "{name}: finished, {trials}; raidloom run merge {folder} -o DIR",
        "{name}: 完了、{trials}。raidloom run merge {folder} -o DIR";
    WATCH_RESUME_EACH: "raidloom run --resume with each that is interrupted",
        "中断したものをそれぞれ raidloom run --resume で続けてください";
    WATCH_FINISHED: "{name}: finished, {trials}; raidloom report {folder}",
        "{name}: 完了、{trials}。raidloom report {folder}";
    WATCH_INTERRUPTED: "{name}: interrupted, {trials}; raidloom run --resume {folder}",
        "{name}: 中断、{trials}。raidloom run --resume {folder}";
    WATCH_GOES_ON: "{name}: it goes on, {trials}{left}", "{name}: 測定中、{trials}{left}";
    SHARDS_FINISHED: "{count} finished", "完了 {count}";
    SHARDS_RUNNING: "{count} running", "測定中 {count}";
    SHARDS_WAITING: "{count} waiting", "待機中 {count}";
    SHARDS_INTERRUPTED: "{count} interrupted", "中断 {count}";
    WATCH_JOB: "job {job}, ", "ジョブ {job}、";
    WATCH_SHARDS: "{job}{count} shards: {counts}", "{job}シャード {count}: {counts}";
    WATCH_BLOCK: "block {block} of {blocks}", "ブロック {block}/{blocks}";
    WATCH_RACE_BLOCK: "block {block} of a race", "予選のブロック {block}";
    WATCH_TRIALS: "{finished} of {trials} trials", "試行 {finished}/{trials}";
    WATCH_LEFT: "  left {time}", "  残り {time}";
    WATCH_NO_ANSWER: "no answer, {place}", "判定できません、{place}";
    WATCH_NOTHING_FASTER: "{place}: nothing is faster than {name}", "{place}: {name} より速いものはありません";
    WATCH_BASELINE: "the baseline", "基準";
    WATCH_SURE: "sure", "確実";
    WATCH_NOT_SURE: "not sure yet", "まだ確実ではない";
    WATCH_BEST: "best so far, {place}: {name}  {score}, {word}", "現時点の最速、{place}: {name}  {score}、{word}";
    WATCH_NOW: "now: {name}  {workload}", "現在: {name}  {workload}";
    WATCH_ROWS: "rows {first} to {last} of {all}: arrow keys move, q ends",
        "全 {all} 行の {first}〜{last} 行目: 矢印キーで移動、q で終了";
    WATCH_KEYS: "q ends; the run goes on", "q で終了(測定は続きます)";
    WATCH_OF: "{count} of {all}", "{all} のうち {count}";
    STAGE_RUNNING: "running", "測定中";
    STAGE_INTERRUPTED: "interrupted", "中断";
    SHARD_HEAD: "SHARD", "シャード";
    TRIALS_HEAD: "TRIALS", "試行";
    LEFT_HEAD: "LEFT", "残り";
    NOW_HEAD: "NOW", "現在";
    CONFIGURATION_HEAD: "CONFIGURATION", "構成";
    SCORE_HEAD: "SCORE", "スコア";
    ROW_BASELINE: "baseline", "基準";
    ROW_DROPPED: "dropped", "脱落";

    // choose.
    ASK_TAKES: "This takes about {time}", "約 {time} かかります";
    ARRAY_ALONE_MEASURED: "the array alone is measured: {why}", "アレイだけを測定します: {why}";
    READING_ANSWER: "reading the answer", "回答の読み取り";
    HINT_CACHE: "a cache", "キャッシュ";
    HINT_CHANGES: "may change it", "変わる条件";
    BETWEEN_HINTS: "; ", "、";
    MEMORY_WOULD_ANSWER: "{size} of memory would answer {percent} % of the reads (simulated)",
        "メモリー {size} で読み込みの {percent} % に応答できる(シミュレーション)";
    SSD_WOULD_ANSWER: "{size} of an SSD would answer {percent} % of the reads (simulated)",
        "SSD {size} で読み込みの {percent} % に応答できる(シミュレーション)";
    CACHED_SAME: "as fast as without (modelled)", "なしと同じ速さ(モデル)";
    CACHED_NOT_TOLD_APART: "{ratio}× (modelled; not told apart)", "{ratio}×(モデル、差は確認できず)";
    CACHED_INDICATED: "{ratio}× (modelled, from empty on; not sure)", "{ratio}×(モデル、空の状態から、確実ではない)";
    CACHED_SURELY: "surely {ratio}× (modelled)", "確実に {ratio}×(モデル)";
    CACHED_TOO_LATE: "misses --p99", "--p99 を満たさない";
    THROUGH_LOSES: "a power cut loses nothing more", "電源断で余分に失うものはない";
    BACK_LOSES: "a power cut loses what was not flushed", "電源断でフラッシュ前の書き込みを失う";
    CHANGED_WRITES: "with {times} times the writes, {name} (modelled)", "書き込みが {times} 倍なら {name}(モデル)";
    CHANGED_SPEED: "{times} times faster, {name} (modelled)", "要求が {times} 倍速く来れば {name}(モデル)";
    NO_INITRAMFS_PROGRAM: "there is no {program} here: an initramfs that starts md's arrays has to be made anew",
        "{program} がありません。md のアレイを起動する initramfs は作り直しが必要です";
    KERNEL_ENDED_ON_REQUEST: "ended on request", "指示により終了しました";
    MD_MOUNTED: ", mounted at {folder}", "、{folder} にマウント";
    MD_MADE: "{device} is md's{mounted}, and starts with the machine: {configuration} and {table}; all of it took {time}",
        "{device} は md のアレイです{mounted}。マシンとともに起動します({configuration} と {table})。所要時間 {time}";
    STARTING_SH: "starting sh", "sh の起動";
    MDADM_SAYS_NOT_WHY: "it does not say why", "理由の出力なし";
    COMMAND_SAID: "`{command}` ended with {status}: {said}", "`{command}` は {status} で終わりました: {said}";
    MADE_ARRAY: "{name}, a {level} of {count} drives{file_system}{folder}",
        "{name}、{level}、ドライブ {count} 台{file_system}{folder}";
    MADE_WITH: " with {name}", "、{name}";
    MADE_AT: " at {folder}", "、マウント先 {folder}";
    DRIVE_HOLDS: "; it holds {what}", "。内容: {what}";
    DRIVE_SERIAL: ", serial {serial}", "、シリアル番号 {serial}";

    // array assemble, array rescue.
    BETWEEN_TWO: " and ", " と ";
    RESCUE_FINDS_OUT: "`raidloom array rescue` finds out what an array was whose superblocks are lost",
        "スーパーブロックを失ったアレイは `raidloom array rescue` で調べられます";
    RESCUE_LOOKS: "`raidloom array rescue` looks what can be read of it all the same",
        "それでも読めるものは `raidloom array rescue` で確認できます";
    AND_MORE_OF_THEM: " and {count} more", " ほか {count} 件";
    MEMBERS_WITHOUT_SUPERBLOCK: "{first}{more}: no superblock on it; {hint}",
        "{first}{more}: スーパーブロックがありません。{hint}";
    PASSED_OVER: "passed over: {reason}", "対象外: {reason}";
    STACK_IN_THAT_OF: " stack: in that of {name}, of which it is a member",
        "  構成: {name} のメンバーで、その構成に含まれます";
    STACK_NONE: " stack: none: {why}", "  構成: なし: {why}";
    LOOKING_FOR_RELATIONS: "looking for what the members have to do with each other",
        "メンバー同士の関係を調べています";
    SHAPES_TRIED_SO_FAR: "{done} of {total} shapes tried", "{total} 通りの構成のうち {done} を試行";
    SEARCH_ENDED: "ended after {time}: --time gives it longer, --level, --chunk and --data-offset give it less to do",
        "{time} で終了しました。--time で時間を延ばすか、--level、--chunk、--data-offset で範囲を絞れます";
    PARTITION_LOOKED_AT: "{source}: its partition of type Linux RAID is looked at: {part}",
        "{source}: Linux RAID 型のパーティション {part} を調べます";
    NOTHING_TELLS_WHERE: "nothing tells which of these is where: {members}",
        "次のメンバーの位置は判別できません: {members}";
    GUESS_AGREES: "{number}. {share} agrees: {shape}, {size}", "{number}. {share} が一致: {shape}、{size}";
    GUESS_WITHOUT: "{member} does not belong to the others: this is what they make up without it",
        "{member} は無関係です。これを除いた構成を示します";
    EQUALLY_GOOD: "{count} candidates are equally good: what is stored does not tell them apart",
        "{count} 個の候補は同程度に一致し、記録された内容からは区別できません";
    MORE_NOT_SHOWN: "{count} more are not shown (--show N)", "ほか {count} 件は表示していません(--show N)";
    TO_LOOK_AT_IT: "to look at it, nothing is written:", "確認するには(何も書き込みません):";
    TO_LOOK_AT_FIRST: "to look at the first of them, nothing is written:",
        "1 つ目を確認するには(何も書き込みません):";

    // array cache.
    WRITTEN_OVER_NOW: "the cache was made for {name}; the device {now}. {size} of it are written over",
        "キャッシュは {name} 用に作られ、デバイスは{now}。うち {size} を上書きします";

    // array incremental.
    NO_CONFIGURATION_NAMES_IT: "no configuration in {folder} names it and says `assemble = true`",
        "{folder} に、これを含み `assemble = true` とある設定がありません";
    ARRAY_RUNS_ALREADY: "it runs already", "すでに動作しています";
    INCREMENTAL_NOT_STARTED: "not started: {reason}", "起動していません: {reason}";
    COMPLETE_AS_UNIT: "complete; started as {unit}", "そろったため {unit} として起動しました";

    // Memory that is promised.
    RAM_DRIVES: "ram: drives", "ram: ドライブ";
    ACCESSES_AND_BLOCKS: "-s accesses and blocks", "-s accesses と blocks";

    // array status.
    STATE_ONLINE: "online", "正常";
    STATE_DEGRADED: "degraded", "縮退";
    STATE_UNUSABLE: "unusable", "使用不可";
    STATE_FAILED: "failed", "障害";
    STATE_WORKING: "{state}, {kind} {percent} %", "{state}、{kind} {percent} %";

    // array monitor.
    NOTICE_RUNS: "it runs as process {process}", "プロセス {process} で動作しています";
    NOTICE_ENDED: "it has ended", "終了しました";
    NOTICE_DIED: "its server has died; `raidloom array status` cleans up, and it can be started again",
        "サーバーが異常終了しました。`raidloom array status` で後始末し、起動し直せます";
    NOTICE_ONLINE: "all members are there", "すべてのメンバーがそろっています";
    NOTICE_DEGRADED: "it goes on without all of its members", "一部のメンバーなしで動作しています";
    NOTICE_UNUSABLE: "nothing is written to it any more", "書き込みを停止しました";
    NOTICE_FAILED: "too many members are missing: data are not there",
        "欠けたメンバーが多すぎ、データがそろいません";
    NOTICE_MAY_NOT_HAVE_ARRIVED: "{name}: {why}; the notice may not have arrived",
        "{name}: {why}。通知が届いていない可能性があります";
    NOTICE_NOT_ARRIVED: "{name}: {why}; the notice has not arrived",
        "{name}: {why}。通知は届いていません";
    MAIL_PROGRAM: "a mail program such as `apt-get install msmtp-mta`",
        "`apt-get install msmtp-mta` などのメールプログラムが必要です";
    METRICS_AT: "figures: {address}", "数値: {address}";
}
