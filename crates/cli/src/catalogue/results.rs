//! What verbs have found out and done, in every language: recordings, models, comparisons, the
//! hints of choose, notices.

words::catalogue! {
    // What several verbs say.
    NOTE: "note: {text}", "注記: {text}";
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

    // array write.
    IMAGE_LARGER: "it has {image} and {target} only {size}; nothing was written",
        "{image} ありますが、{target} は {size} しかありません。何も書き込んでいません";
    INTERRUPTED_WRITING: "interrupted: the first {written} of the image are on {target}, and no more",
        "中断しました。{target} にはイメージの先頭 {written} だけがあります";
    INTERRUPTED_READING_BACK: "interrupted: all is written, of which the first {read} were read back",
        "中断しました。すべて書き込み、先頭 {read} を読み直しました";
    READING_PATH: "{path}: reading it", "{path}: 読み込み";
    READING_IMAGE_END: "reading the end of the image", "イメージの末尾の読み込み";
    WRITING_IMAGE: "writing", "書き込み中";
    READING_BACK: "reading back", "読み直し中";
    HOW_FAR_AND_FAST: "{what} {percent} %  {rate} MB/s  {left} left", "{what} {percent} %  {rate} MB/s  残り {left}";
    OF_WHICH_HOLES: ", of which {size} are holes", "(うち穴 {size})";
    NOT_READ_BACK: "not read back", "読み直しなし";
    READ_BACK_EQUAL: "read back and equal ({rate})", "読み直して一致しました({rate})";
    IMAGE_WRITTEN: "{target}: {size} written ({rate}){holes}; {verified}",
        "{target}: {size} 書き込みました({rate}){holes}。{verified}";
    REST_OF_TARGET: "the target's last {size} are as they were", "書き込み先の末尾 {size} は元のままです";
    WAITING_FOR_BOTH: "waiting for image and target", "イメージと書き込み先の待機";
    AT_OF_THE_IMAGE: "at {offset} of the image", "イメージの {offset}";
    TARGET_DIFFERS: "the target differs from the image at byte {byte}",
        "書き込み先がバイト {byte} でイメージと異なります";

    // array set, array destroy.
    IT_LOGS: "logs {filter}", "記録の内容 {filter}";
    CACHE_RESIZED: "cache resized to {size}", "キャッシュを {size} にしました";
    CACHE_HAS: "cache {number} has {size}", "キャッシュ {number} は {size}";
    STARTED_WITH: "what it was started with", "起動時の設定";
    SPEED_OF_MEMBERS: "{least} of each member a second while it is used, {most} while it is not",
        "使用中は各メンバー毎秒 {least}、使用していなければ {most}";
    SUPERBLOCK_ERASED: "{member}: its superblock is erased; it was {was}",
        "{member}: スーパーブロックを消去しました({was} でした)";

    // array cache, array overlay.
    LABEL_CACHE: "cache {number}", "キャッシュ {number}";
    LABEL_STATE: "state", "状態";
    LABEL_DEVICE: "device", "デバイス";
    LABEL_NOW: "now", "現在";
    LABEL_MODE: "mode", "モード";
    LABEL_BLOCK: "block", "ブロック";
    LABEL_SIZE: "size", "サイズ";
    LABEL_USED: "used", "使用中";
    LABEL_DIRTY: "dirty", "未書き出し";
    LABEL_CHANGED: "changed", "変更";
    LABEL_READS: "reads", "読み込み";
    LABEL_WRITES: "writes", "書き込み";
    LABEL_BLOCKS: "blocks", "入れ替え";
    LABEL_WRITTEN: "written", "書き出し";
    LABEL_FAILURE: "failure", "障害";
    LABEL_AT_BYTES: "at bytes", "位置";
    CACHE_KEPT: "kept", "終了後も保持";
    CACHE_IN_MEMORY: "in memory", "メモリー上";
    NO_BLOCKS_ASKED: "none", "なし";
    BLOCKS_HIT: "{hits} of {asked} blocks hit ({percent} %)", "{asked} ブロック中 {hits} がヒット({percent} %)";
    SIZE_AND_INDEX: "{size}, and {index} for its index", "{size}、ほかに索引 {index}";
    BLOCKS_CAME_AND_WENT: "{came} came in, {went} went", "{came} ブロック追加、{went} ブロック追い出し";
    WRITTEN_OUT_OF_LATE: "{size} out, {rate} per second of late", "{size}、最近は毎秒 {rate}";
    WRITTEN_OUT: "written out", "書き出し";
    STORE_IN_USE: "in use, or left without being closed", "使用中、または正常に閉じられていません";
    STORE_CLOSED: "closed", "閉じています";
    PLACES_NOT_LISTED: "and {count} more places (--json lists them all)", "ほか {count} 箇所(--json ですべて表示)";
    WRITTEN_TO: "to {place}", "{place} へ";
    DELTA_IN_USE: "in use", "使用中";
    COMMIT_BROKEN_OFF: "commit interrupted", "書き戻しが中断されています";
    BEING_CLEARED: "being cleared", "消去中";
    DISCARDED: "discarded", "破棄";
    COMMITTED: "committed", "書き戻し";

    // array cache simulate.
    BLOCK_RANGE: "a power of two from 512 to 1MiB; 4KiB to 256KiB are usual",
        "512 から 1MiB までの 2 の累乗を指定してください。通常は 4KiB から 256KiB です";
    RECORDING_OR_ZIPF: "name a recording, or make a workload with -s zipf=1.0",
        "記録を指定するか、-s zipf=1.0 で負荷を作ってください";
    HITS_BY_SIZE: "Hits by cache size: {name}", "キャッシュのサイズごとのヒット率: {name}";
    SIZE_OF_CACHE: "size of the cache", "キャッシュのサイズ";
    REQUESTS_AND_BLOCKS: "{name}: {requests} requests ask for {asked} blocks of {block}, {different} of them different ({size})",
        "{name}: 要求 {requests} 件、{block} のブロック {asked} 個、うち異なるもの {different} 個({size})";
    WITH_SCANS: " with {percent} % scans", "(走査 {percent} %)";
    ZIPF_WORKLOAD: "Zipf {alpha}{scan}, seed {seed}", "Zipf {alpha}{scan}、シード {seed}";
    HITS_HEAD: "HITS", "ヒット率";
    OF_ALL: "of all", "全体に対して";

    // report export, run merge, run --on.
    RUN_PACKED: "packed {run} as {file} ({size})", "{run} を {file} にまとめました({size})";
    NOTHING_HIDDEN: "nothing found", "該当なし";
    STAND_INS: "stand-ins by kind: {kinds}. Names that you gave (of the plan, its members and files) stay: look it over with `tar xOf {file} | less` before you send it",
        "置き換えた名前の種類: {kinds}。自分で付けた名前(プラン、メンバー、ファイル)は残ります。送る前に `tar xOf {file} | less` で確認してください";
    MERGED_OF_ONE_MACHINE: "{folder}: {trials} trials of {shards} shards, measured on {machines} machine",
        "{folder}: シャード {shards} 個の試行 {trials} 回、{machines} 台のマシンで測定";
    MERGED_OF_MACHINES: "{folder}: {trials} trials of {shards} shards, measured on {machines} machines",
        "{folder}: シャード {shards} 個の試行 {trials} 回、{machines} 台のマシンで測定";
    ALL_SHARDS: "{count} shards", "シャード {count} 個";
    SOME_SHARDS: "{count} of {all} shards", "シャード {all} 個のうち {count} 個";
    JOB_SUBMITTED: "job {number}: {shards} of a run of {trials} trials\n  to follow it: raidloom run watch {folder}\n  to stop it: scancel {number}\n  at its end: raidloom run merge {folder} -o DIR",
        "ジョブ {number}: 試行 {trials} 回の測定の{shards}\n  進み具合: raidloom run watch {folder}\n  停止: scancel {number}\n  終了後: raidloom run merge {folder} -o DIR";

    // guest build, guest run.
    UNPACKING_LINUX: "unpacking Linux", "Linux の展開中";
    CONFIGURING_LINUX: "configuring Linux", "Linux の設定中";
    COMPILING_LINUX_OF: "compiling Linux: {done} of about {of} steps", "Linux のコンパイル中: 約 {of} 段階のうち {done}";
    COMPILING_LINUX: "compiling Linux: {done} steps", "Linux のコンパイル中: {done} 段階";
    KERNEL_IS_THERE: "is there already (-s again=yes builds it anew)", "すでにあります(-s again=yes で作り直し)";
    KERNEL_BUILT_IN: "built in {time}", "{time} で作りました";
    KERNEL_NAMED: ", kernel `{name}`", "、カーネル `{name}`";
    MODELLED_IN_GUEST: "modelled, Linux {version} in the guest", "モデル(ゲストは Linux {version})";
    WORK_TOOK: "{label}: {work} of work; it took {took}", "{label}: 作業 {work}、実際の所要時間 {took}";
    DISK_TRAFFIC: "{disk}: {reads} reads ({read}), {writes} writes ({written}), {flushes} flushes; busy for {busy}",
        "{disk}: 読み込み {reads} 回({read})、書き込み {writes} 回({written})、フラッシュ {flushes} 回、動作時間 {busy}";
    CUT_BEFORE_WORK: "the power failed before the work had begun, while arrays or file system were made",
        "作業の前、アレイかファイルシステムの作成中に電源が切れました";
    POWER_FAILED_AT: "the power failed at {time}, after {requests} requests",
        "{time}、要求 {requests} 件の後に電源が切れました";
    LOST_OF_CACHE: "drive {drive}: {cached} in its cache, {lost} of it lost",
        "ドライブ {drive}: キャッシュに {cached}、うち {lost} を失いました";
    IN_SECOND_GUEST: "then, in a second guest:", "その後、2 つ目のゲストで:";

    // check guest.
    GUEST_BOOTS: "Linux {version} boots, sleeps 1000 s and ends: {modelled} modelled in {took}",
        "Linux {version} が起動し、1000 秒待って終了しました: モデル時間 {modelled}、実時間 {took}";
    LEVELS_OF_MD: "md: {levels}", "md のレベル: {levels}";
    SCHEDULERS_OF_GUEST: "schedulers: {schedulers}", "スケジューラー: {schedulers}";
    FILE_SYSTEM_HEAD: "FILE SYSTEM", "ファイルシステム";
    MOUNTS_HEAD: "MOUNTS", "マウント";
    MADE_BY_HEAD: "MADE BY", "作成プログラム";
    KIND_MOUNTS: "yes", "可";
    KIND_DOES_NOT_MOUNT: "no", "不可";

    // model fit of several drives.
    LINK_FROM_BUFFERS: "from their buffers, MB/s: each by itself {alone}; together {together}",
        "バッファーから、MB/s: 単独 {alone}、同時 {together}";
    LINK_SMALL_READS: "reads of 4 KiB a second: each by itself {alone}; together {together}",
        "毎秒の 4 KiB の読み込み: 単独 {alone}、同時 {together}";
    LINK_NOT_SHARED: "they share nothing that is in their way", "妨げになる共有部分はありません";

    // report, bench, ui, man.
    PARQUET_NO_TEXT: "Parquet is no text: name a file (/dev/stdout into a pipe)",
        "Parquet はテキストではありません。ファイルを指定してください(パイプへは /dev/stdout)";
    REPORT_WRITES_AGAIN: "; `raidloom report` writes it again", "。`raidloom report` で書き直せます";
    WROTE_BOTH: "wrote {first} and {second}", "{first} と {second} に書き込みました";
    DRIVE_WRITES_THROUGH: "; its drive writes through", "。ドライブはライトスルー";
    DRIVE_HAS_WRITE_CACHE: "; its drive has a write cache", "。ドライブに書き込みキャッシュあり";
    QUICK_REMOVAL_SYNC: "mounted for quick removal: sync", "クイック削除用のマウント: sync";
    QUICK_REMOVAL_FLUSH: "mounted for quick removal: flush, written at once after a file is closed",
        "クイック削除用のマウント: flush(ファイルを閉じるとすぐに書き込み)";
    MOUNTED_FOR_PERFORMANCE: "mounted for performance: writes may be deferred",
        "性能優先のマウント: 書き込みが遅れることがあります";
    SAY_AS_KEY: "say -s {key}=VALUE", "-s {key}=VALUE と指定してください";
    KEYS_ARE_SAID: "keys of the suite are said as -s KEY=VALUE", "スイートのキーは -s KEY=VALUE で指定します";
    NO_SUCH_BENCH_FLAG: "{flag}: bench {suite} has no such flag: {form} (raidloom bench explain {suite} lists them)",
        "{flag}: bench {suite} にそのオプションはありません。{form}(raidloom bench explain {suite} で一覧)";
    OPEN_ADDRESS_CHANGES: "open this address in a browser on this machine; who has it can change things; Ctrl-C ends it",
        "このアドレスをこのマシンのブラウザーで開いてください。知る人は変更もできます。Ctrl-C で終了します";
    OPEN_ADDRESS: "open this address in a browser on this machine; Ctrl-C ends it",
        "このアドレスをこのマシンのブラウザーで開いてください。Ctrl-C で終了します";
    WRITING_MANUAL: "writing manual pages to {folder}", "{folder} へのマニュアルページの書き込み";
    MANUAL_WRITTEN: "manual pages written to {folder}", "マニュアルページを {folder} に書き込みました";

    // choose, pull.
    HOW_LARGE: "how large is it to be? (--create SIZE)", "サイズを指定してください(--create SIZE)";
    NO_FILE_NAME_SIZE: "there is no such file; name the size of the drive that stands for it (--create SIZE)",
        "そのファイルはありません。代わりになるドライブのサイズを指定してください(--create SIZE)";
    STATE_SHOWS: "{state}; {shows}", "{state}。{shows}";
    SAME_STATE: "the same state, bit for bit", "ビット単位で同じ状態";
    ANOTHER_STATE: "ANOTHER STATE", "異なる状態";
    SHOWS_THE_SAME: "it shows the same", "結果も同じです";
    SHOWS_ELSE: "it shows SOMETHING ELSE", "結果が異なります";
    CHECK_FINDS_ERRORS: "a check finds errors", "検査でエラーが見つかりました";
    CHECK_NO_VERDICT: "the check gave no verdict: {why}", "検査で判定できませんでした: {why}";
    FILE_BROKEN: "file {file}: {class}, {bytes} bytes; since {since} it had to be {rule}",
        "ファイル {file}: {class}、{bytes} バイト。{since} 以降は{rule}でなければなりません";
    PROMISED_AT: "promised at {time}", "約束 {time}";
    NEVER_PROMISED: "never promised", "約束なし";
    PROMISES_LOOKED_AT: "{count} promises looked at", "約束 {count} 件を確認";
    FILES_LOOKED_AT: "{files} files looked at, {exposed} with old data, {lost} closed ones lost",
        "ファイル {files} 個を確認。古いデータのあるもの {exposed} 個、閉じたのに失われたもの {lost} 個";
    WRITTEN_MOUNT_IT: "written to {folder}; mount it:", "{folder} に書き込みました。マウントするには:";
    SMALLEST_LOSS_NONE: "the smallest loss is none: it is broken where none of the {lost} lost writes is lost, so what was promised had not come to the drives ({judged} states judged)",
        "最小の損失はありません。失われた書き込み {lost} 件がすべて残っていても壊れるため、約束したものがドライブに届いていません(判定した状態 {judged} 個)";
    SMALLEST_LOSS: "the smallest loss, of {lost} writes that were lost: that of {count} alone breaks the same ({judged} states judged)",
        "最小の損失: 失われた書き込み {lost} 件のうち、{count} 件だけで同じように壊れます(判定した状態 {judged} 個)";
    SMALLER_LOSS: "the smallest loss, of {lost} writes that were lost: that of {count} breaks the same, and perhaps fewer do ({judged} states judged)",
        "最小の損失: 失われた書き込み {lost} 件のうち、{count} 件で同じように壊れます。さらに少なくてもそうかもしれません(判定した状態 {judged} 個)";
    CAME_TOO_LATE: "what was missing came too late:", "足りなかったものは遅れて来ました:";
    WRITE_OF_DRIVE: "drive {drive}, sector {sector}, {size} (request {request}, at {time}{answered})",
        "ドライブ {drive}、セクター {sector}、{size}(要求 {request}、時刻 {time}{answered})";
    ANSWERED_AT: ", answered at {time}", "、応答 {time}";
    NO_FLUSH_BEFORE_CUT: "no flush of its drive before the cut", "電源断の前に、このドライブへのフラッシュはありません";
    NO_FLUSH_AFTER_THAT: "no flush of its drive after that: the last one came at {time}",
        "その後、このドライブへのフラッシュはありません。最後は {time} です";
    FLUSH_NOT_ANSWERED: "the flush that covers it came at {time}, and was not answered before the cut",
        "これを含むフラッシュは {time} に届き、電源断までに応答がありませんでした";
    FLUSH_NOT_CARRIED_OUT: "the flush that covers it was answered at {time}, and the drive has not carried it out",
        "これを含むフラッシュには {time} に応答がありましたが、ドライブは実行していません";
    FUA_NOT_KEPT: "it was to be durable by itself (FUA), and the drive has not kept it",
        "それ自体が永続化されるはず(FUA)でしたが、ドライブは保持していません";
    NOT_ANSWERED_BEFORE_CUT: "it was not answered before the cut", "電源断までに応答がありませんでした";
    CAME_AFTER_CUT: "it came after the cut, and the promise has not waited for it",
        "電源断の後に届きました。約束はこれを待っていません";
}
