//! What cannot be measured, run or chosen with, and why, in every language.

words::catalogue! {
    DRAWN_PARAMETERS: "each block has another set of the models' parameters, drawn from their intervals, the same for all configurations: an interval says where a set that was not drawn may lie",
        "ブロックごとにモデルのパラメーターを区間から引き直し、全構成で同じ組を使います。区間は、引かれなかった組が取りうる範囲を表します";
    // Targets of a suite.
    SUITE_RUNS_ON: "{suite} runs on {targets}", "{suite} の対象は {targets} です";
    SUITE_RUNS_ON_ABSENT: "{suite} runs on {targets} (there is no folder of this name)",
        "{suite} の対象は {targets} です(この名前のフォルダーはありません)";
    FOLDER_IS_WRITTEN: "--read-only: in a folder a file is made and written; name a device",
        "--read-only: フォルダーではファイルを作成して書き込みます。デバイスを指定してください";
    GUEST_NEEDS_MODELS: "a guest lives in modelled time, and a folder, file or device does not: name model: leaves",
        "ゲストはモデル時間で動くため、フォルダー、ファイル、デバイスは使えません。model: を指定してください";
    NEVER_WRITTEN: "there is no such file, and {suite} would only read what was never written",
        "そのようなファイルはありません。{suite} は書き込まれていないものを読むだけになります";
    RAW_TARGET: "a folder. A raw target is measured here: name a file in it, with --size SIZE to make one",
        "フォルダーです。ここでは直接の対象を測定します。中のファイルを指定してください(--size SIZE で作成)";
    NO_FILE: "no such file; --size SIZE makes it", "そのようなファイルはありません。--size SIZE で作成します";
    SIZE_OF_ITS_OWN: "{path} is there already, and is measured with the size that it has: leave --size out, or name a file that is not there, which is made and removed",
        "{path} はすでにあり、そのサイズのまま測定します。--size を付けないか、まだないファイルを指定してください(作成し、終わったら削除します)";
    NOTHING_TO_LOSE: "--read-only: {leaf}: memory and modelled disks hold nothing that could be lost; leave it out",
        "--read-only: {leaf}: メモリーとモデルのディスクに失われるものはありません。付けないでください";
    SEED_MAX: "--seed {seed}: at most {most}", "--seed {seed}: 最大 {most} です";
    ONE_VALUE: "one value is measured here; several are a plan (raidloom run --print-plan)",
        "ここで測定する値は 1 つです。複数の値はプランにします(raidloom run --print-plan)";
    NO_KEY: "{suite} has no key `{key}`{hint}", "{suite} にキー `{key}` はありません{hint}";

    FOLDER_IS_PATH: "a folder is a path and nothing else", "フォルダーはパスだけで指定します";
    NO_FOLDER_OF_NAME: "there is no folder of this name", "この名前のフォルダーはありません";
    NO_DEVICE_OR_FILE: "it is neither a file nor a block device", "ファイルでもブロックデバイスでもありません";
    BITMAP_BIT: "{size}: a bit covers less than 4GiB", "{size}: 1 ビットが表せるのは 4GiB 未満です";
    NOTHING_TO_MOUNT_THERE: "the configuration has no file system that could be mounted there",
        "この構成に、そこへマウントするファイルシステムはありません";
    AXIS_NUMBER: "`{text}` is no number", "`{text}` は数ではありません";
    AXIS_LEVEL: "unknown level `{text}`", "不明なレベル `{text}` です";
    ONE_OF_WORDS: "`{text}`: expected one of {words}", "`{text}`: {words} のいずれかを指定してください";

    // A guest's processor.
    PROCESSOR_EXPECTED: "`{text}`: {why}; expected what a request and its bytes cost: call=5us,copy=1GB/s",
        "`{text}`: {why}。要求とそのバイト数の費用を call=5us,copy=1GB/s のように指定してください";
    RATE_ENDS: "a rate ends in /s", "速度は /s で終わります";
    PROCESSOR_PART: "`{part}` is not understood", "`{part}` を解釈できません";
    COPIES_NOTHING: "nothing would ever be copied", "何もコピーできません";
    PROCESSOR_BOTH: "both have to be said", "両方とも必要です";

    // Plans and runs.
    NO_PLAN: "no file `{name}` here, and no plan of that name came with this program{hint}",
        "ファイル `{name}` はここになく、その名前の付属プランもありません{hint}";
    READING_PLAN: "reading the plan {name}", "プラン {name} の読み取り";
    READING_PROFILE: "reading the profile {name}", "プロファイル {name} の読み取り";
    WITH_PROFILE: "with the profile {name}", "プロファイル {name} を使うとき";
    READING_RESULTS: "reading it", "読み取り";
    NEITHER_WORK: "neither a profile (title, [[workload]]) nor a recording",
        "プロファイル(title、[[workload]])でも記録でもありません";
    NO_CHOSEN_RUN: "it is no run of `raidloom choose`, which keeps its question in {file}",
        "`raidloom choose` の測定ではありません(質問は {file} に保存されます)";
    NO_TRIAL_LINE: "this line is no trial ({why}); the file was changed or damaged",
        "この行は試行ではありません({why})。ファイルが変更されたか壊れています";
    FILE_IS_DAMAGED: "{why}; the file was changed or damaged", "{why}。ファイルが変更されたか壊れています";
    RUNS_FOLDER: "the run's folder {folder}", "測定のフォルダー {folder}";
    FOLDER_NOT_EMPTY: "the run's folder {folder} is not empty; choose one that is empty or not there",
        "測定のフォルダー {folder} は空ではありません。空のフォルダーか、まだないフォルダーを選んでください";
    HOLDS_RUN: "{folder} holds a run already; go on with it (raidloom run --resume {folder}) or choose \
        another folder",
        "{folder} にはすでに測定があります。続けるか(raidloom run --resume {folder})、別のフォルダーを選んでください";
    HOLDS_NO_RUN: "{folder} holds no run ({file} is not there); if a run was stopped before it had begun, \
        start it again",
        "{folder} に測定がありません({file} がありません)。始まる前に止めたものなら、もう一度始めてください";
    TARGET_IS_FULL: "the target is full; the files of {suite} are removed",
        "対象の空きがなくなりました。{suite} のファイルは削除しました";
    NO_KEPT_STATE: "no state that pull has kept", "pull が保存した状態ではありません";
    LOG_BESIDE: "log `{log}`: expected the name of a file beside it",
        "log `{log}`: 同じフォルダーのファイルの名前を指定してください";
    MAKING_STATE: "making JSON", "状態の JSON の作成";
    GOING_ON: "the run is going on in another process{holder}; wait for it or stop it first",
        "この測定は別のプロセス{holder}で実行中です。終了を待つか、先に止めてください";
    HAS_TRIALS: "{path} holds trials already", "{path} にはすでに試行があります";
    NO_RUN_TO_DELETE: "it is no folder of a run; nothing was removed", "測定結果のフォルダーではありません。何も削除していません";
    LEFT_BEHIND: "what a killed run has left behind cannot be cleaned up, and nothing was removed",
        "強制終了した測定の残りを片付けられません。何も削除していません";
    NO_PLAIN_FILE: "it is no plain file", "通常のファイルではありません";

    // Drives to choose with.
    DRIVES_AFTER_COUNT: "{count} x: name the drives, as in 4 x {example}", "{count} x: ドライブを指定してください。例: 4 x {example}";
    NO_DRIVE_OF_NONE: "0 x {name}: that is no drive", "0 x {name}: 0 台は指定できません";
    ONE_OF_IT: "there is one of it; name each drive once", "これは 1 つだけです。各ドライブを 1 回ずつ指定してください";
    DRIVES_MAX: "{count} drives: at most {most} are chosen with", "{count} 台: 選べるのは最大 {most} 台です";
    ONE_FOLDER: "one folder is enough", "フォルダーは 1 つで十分です";
    FILES_ALONE: "files to try it are chosen with by themselves", "試すためのファイルは、ほかのドライブと一緒に指定できません";
    OTHER_CLOCKS: "drives that are measured and modelled ones are on clocks of their own, and not compared: \
        leave out --measure, or the models",
        "実測のドライブとモデルのドライブは時計が異なり、比較できません。--measure かモデルのどちらかを外してください";
    NO_PRICE: "`{text}` is no price: a number such as 179.90", "`{text}` は価格ではありません。179.90 のような数値を指定してください";
    PRICE_NEEDED: "--budget takes the price of one behind the name, as in 8 x NAME@180; no price comes with this program",
        "--budget には 1 台の価格が必要です(例: 8 x NAME@180)。このプログラムは価格を持っていません";
    ONE_PRICE: "--budget is for drives of one price; ask for each kind by itself",
        "--budget で指定できるのは同じ価格のドライブだけです。種類ごとに尋ねてください";
    BUDGET_TOO_SMALL: "no layout is left: --budget {budget} removes every one, for two drives cost {cost}",
        "構成が残りません: 2 台で {cost} かかるため、--budget {budget} ではどの構成も選べません";
    NAME_DRIVES: "name the drives, as in 4 x {example}", "ドライブを指定してください。例: 4 x {example}";
    ONE_DRIVE: "one drive is no array: name two or more, as in 4 x {example}",
        "1 台ではアレイになりません。2 台以上指定してください。例: 4 x {example}";
    NO_SUCH_DRIVE: "there is no file, drive or folder of this name", "この名前のファイル、ドライブ、フォルダーはありません";
    NO_DRIVE: "it is no drive, file or folder", "ドライブ、ファイル、フォルダーのいずれでもありません";
    UNUSABLE_DRIVE: "no drive that can be used ({error}); choose without it, or look at its cable",
        "使えるドライブではありません({error})。除いて選ぶか、ケーブルを確認してください";
    NOT_MAY_WRITE: "this user may not write to it (try sudo)",
        "このユーザーには書き込み権限がありません(sudo を使ってください)";
    NO_MODEL: "no model stands for it; --measure runs on it, and erases it",
        "代わりになるモデルがありません。--measure は実際に測定し、内容を消去します";
    NO_WORK: "--work {name}: no such kind of work, and no file of that name{hint}",
        "--work {name}: そのような用途も、その名前のファイルもありません{hint}";
    NO_COMMAND: "--work-command: there is no command in it", "--work-command: コマンドがありません";
    ALL_TOO_SLOW: "no layout is left: --p99 {time} removes all {count} that were run",
        "構成が残りません: --p99 {time} で、測定した {count} 件すべてが外れます";
    NO_LAYOUT_FIGURES: "no layout has figures to compare: its report says why",
        "比較できる値のある構成がありません(理由はレポートに記載)";
    NO_CHOICE_FIGURES: "the run has no figures to choose by", "この測定結果には選ぶための値がありません";

    // Making what was chosen.
    NAME_IS_RUNNING: "an array of this name is running; --name names another",
        "この名前のアレイが動作中です。--name で別の名前を指定してください";
    NOTHING_TO_MOUNT: "this layout is used as a device; --file-system names what to mount",
        "この構成はデバイスとして使います。マウントするものを --file-system で指定してください";
    ROOT_MOUNTS: "only root may mount; without --mount the array is served to you alone",
        "マウントできるのは root だけです。--mount がなければ、アレイは自分にだけ提供されます";
    ROOT_MOUNTS_IT: "only root may mount it", "マウントできるのは root だけです";
    MODEL_CANNOT_BE_MADE: "model:{name} is a modelled disk, and nothing can be made on it; name the drives that you have",
        "model:{name} はモデルのディスクで、実際には作成できません。手元のドライブを指定してください";
    FILES_ARE_GONE: "the files that were tried are gone; name the drives or files that it is made on",
        "試したファイルはもうありません。作成先のドライブかファイルを指定してください";
    MOUNT_WOULD_HIDE: "there is something in it, which the file system would hide",
        "中にものがあり、ファイルシステムで隠れてしまいます";
    MOUNTED_ALREADY: "something is mounted there already", "すでに何かがマウントされています";
    ENDED_ON_REQUEST: "ended on request", "指示により終了しました";

    // Runs, shards and what is started of them.
    RUN_RECOMMENDS_NOTHING: "the run recommends nothing, since it has no answer (`raidloom report` says why); name one of\n{names}",
        "この測定には答えがなく、推奨する構成がありません(理由は `raidloom report`)。次から指定してください\n{names}";
    NO_CONFIGURATION_OF_RUN: "{what} is no configuration of the run; there are\n{names}",
        "{what} という構成はこの測定にありません。あるのは\n{names}";
    SEVERAL_CONFIGURATIONS: "{what} is more than one configuration; name one of\n{names}",
        "{what} に当てはまる構成が複数あります。次から指定してください\n{names}";
    OTHER_COUNT_OF_MEMBERS: "--member: {given} are named, and the configuration has {count}: {names}",
        "--member: {given} 個指定されましたが、構成は {count} 個です: {names}";
    OWN_FILES_GONE: "the run's own files are gone: {flag} names what takes their place",
        "測定のファイルはもうありません。代わりのものを {flag} で指定してください";
    MODEL_NOT_STARTED: "{leaf} is a modelled disk: {flag} names a real one",
        "{leaf} はモデルのディスクです。実際のものを {flag} で指定してください";
    SUPERBLOCKS_NEED_DISKS: "superblocks are written to files and disks; --member names some",
        "スーパーブロックはファイルかディスクに書きます。--member で指定してください";
    IMAGE_NEEDS_AXIS: "{image} = \"{kind}\" needs the axis {axis}: {what}",
        "{image} = \"{kind}\" には軸 {axis} が必要です: {what}";
    NO_LAYOUT_LEFT: "no layout is left: {why}", "構成が残りません: {why}";
    MD_LAYOUT_EXPECTED: "layout {layout}: expected {expected}", "レイアウト {layout}: 指定できるのは {expected} です";
    PROGRAM_TO_MAKE: "there is no {program} here, and nothing was changed\n`apt-get install {package}` helps",
        "ここに {program} がありません。何も変更していません\n`apt-get install {package}` で入ります";
    NOT_IN_GUESTS: "the kernel of guests does not have it", "ゲストのカーネルにありません";
    ONE_DRIVE_LEFT: "one drive is left, and that is no array", "ドライブが 1 台しか残らず、アレイになりません";
    WOULD_BE_MEASURED: "these would be measured: only models are asked here",
        "これらは実測になります。ここで使うのはモデルだけです";
    NAME_SHARDS: "name the folders of the shards", "シャードのフォルダーを指定してください";
    NO_SHARD: "it is no shard of a run (raidloom run --shard I/N)",
        "測定のシャードではありません(raidloom run --shard I/N)";
    SHARD_UNFINISHED: "shard {shard} has {done} of its {wanted} trials; first: raidloom run --resume {folder}",
        "シャード {shard} は {wanted} 試行のうち {done} だけです。先に: raidloom run --resume {folder}";
    SHARDS_DIFFER: "{other} and {one} are shards of different runs: {what}",
        "{other} と {one} は別の測定のシャードです: {what}";
    SHARD_MISSING: "shard {number}/{count} is missing", "シャード {number}/{count} がありません";
    SHARD_TWICE: "shard {number}/{count} is there more than once: {folders}",
        "シャード {number}/{count} が複数あります: {folders}";
    RUN_WAS_IMPORTED: "this run was imported: what another tool would have written is in the files that it came from",
        "この測定は読み込んだものです。ほかのツールの出力は元のファイルにあります";
    NO_ROWS_OF: "this run has no rows of {suite}", "この測定に {suite} の行がありません";
    PACKED_TOO_LARGE: "it has {size} bytes, and a packed run has {most} at most there; send the folder",
        "{size} バイトあり、まとめたものでは最大 {most} バイトです。フォルダーを送ってください";
    PACKED_THERE: "it is there already; choose another name with -o", "すでにあります。-o で別の名前を指定してください";
    NO_RUN_PACKED: "{what}; name the folder of a run, or what `raidloom report export` has packed",
        "{what}。測定のフォルダーか、`raidloom report export` でまとめたファイルを指定してください";
    NOTHING_MEASURABLE: "nothing of this plan can be measured here: {reasons}",
        "このプランでここで測定できるものがありません: {reasons}";
    MOUNT_NEEDS_ROOT: "a file system is mounted, which only root may do: run it as root, or where the plan has modelled disks in a guest (place = \"guest\") ({reason})",
        "ファイルシステムをマウントできるのは root だけです。root で実行するか、モデルのディスクならゲストの中で行ってください(place = \"guest\")({reason})";
    OTHER_SCHEMA: "written by another version of raidloom (schema {schema})",
        "別のバージョンの raidloom で書かれています(schema {schema})";
    NO_RUN_AT: "there is no run at {folder}", "{folder} に測定がありません";
    SHARD_NOT_EXTENDED: "how far a run goes on is decided by all of its trials; leave out --until and --more",
        "どこまで続けるかは全試行で決まります。--until と --more を外してください";
    LAST_LOOK: "the last look is after {last} blocks, and the run has {blocks}: start a new run, with longer tests or on a quieter machine",
        "最後の区切りは {last} ブロックで、この測定は {blocks} です。テストを長くするか静かなマシンで、新しく測定してください";
    PLAN_EDITED: "it was edited after the run had begun, and trials of two plans would stand in one run; put it back as it was, or start a new run with another plan file",
        "測定を始めてから編集されており、2 つのプランの試行が混ざります。元に戻すか、別のプランとして新しく測定してください";
    PART_NOT_EXTENDED: "it is shard {shard} of a run, which goes on by all of its trials; leave out --more, --until and --budget",
        "測定のシャード {shard} で、続け方は全試行で決まります。--more、--until、--budget を外してください";
    SHARD_OF_OTHER_MACHINE: "shard {shard} was begun on another machine, and what is compared has to be measured on the same one; go on there, or begin it anew in another folder",
        "シャード {shard} は別のマシンで始められました。比較するものは同じマシンで測定する必要があります。そこで続けるか、別のフォルダーで始め直してください";
    RUN_UNFINISHED: "the run is not finished, and only a finished one can have more; first: raidloom run --resume {folder}",
        "測定が完了していません。追加できるのは完了したものだけです。先に: raidloom run --resume {folder}";
    FOLDER_OF_TWO_RUNS: "its shards are of different runs: {other} is another's",
        "別々の測定のシャードです: {other} は別の測定のものです";
    NO_SLURM: "{program} is not there: on a machine of the cluster: apt-get install slurm-client; without Slurm the shards can be run one by one (raidloom run --shard)",
        "{program} がありません。クラスターのマシンで apt-get install slurm-client。Slurm がなければシャードを 1 つずつ実行できます(raidloom run --shard)";

    // Shards and jobs.
    SHARD_EXPECTED: "`{text}` is no shard; expected one of so many, such as 2/8",
        "`{text}` はシャードではありません。2/8 のように指定してください";
    RACE_UNCUT: "its race drops configurations by the trials of all; [trials] design = \"full\" measures them all",
        "予選が全体の試行で構成を落とします。[trials] design = \"full\" なら全部測定します";
    DECIDED_UNCUT: "it goes on until it is decided, by the trials of all",
        "全体の試行で判定できるまで続きます";
    BUDGET_UNCUT: "its budget counts the trials of all; leave [budget] out",
        "予算が全体の試行を数えます。[budget] を外してください";
    BLOCKS_UNCUT: "the plan has {blocks} blocks, and a block of measured trials stays on one machine: cut it into so many parts at most",
        "プランは {blocks} ブロックで、実測のブロックは 1 台のマシンに留まります。分割はその数までにしてください";
    PLAN_UNCUT: "this plan cannot be cut into parts: {because}",
        "このプランは分割できません: {because}";
    SHARDS_ON_SLURM: "--on slurm, {shards} shards: {reason}",
        "--on slurm、{shards} シャード: {reason}";
    FOLDER_OF_JOB: "{folder} is that of job {jobs}; look at it (raidloom run watch {folder}), go on with it (raidloom run --on slurm --resume {folder}) or choose another folder",
        "{folder} はジョブ {jobs} のものです。見る(raidloom run watch {folder})か、続ける(raidloom run --on slurm --resume {folder})か、別のフォルダーを指定してください";
    NO_FOLDER_OF_SLURM: "{shown} is no folder of `raidloom run --on slurm`; a run or shard by itself goes on with: raidloom run --resume {shown}",
        "{shown} は `raidloom run --on slurm` のフォルダーではありません。測定やシャード単独なら次で続けられます: raidloom run --resume {shown}";
    ALL_SHARDS_DONE: "{shown}: every shard is finished, under way or in the queue",
        "{shown}: どのシャードも完了、実行中、または待機中です";
    SBATCH_SAID: "sbatch said `{said}` instead of a number",
        "sbatch の出力が番号でなく `{said}` です";
    SHARD_IN_TWO_FOLDERS: "{folder}: shard {shard} is there more than once: {one}, {other}",
        "{folder}: シャード {shard} が複数あります: {one}、{other}";

    // What does not go together in a plan.
    IMAGE_DOES_NOT_FIT: "an image of {image} does not fit into {outer} on a device of {size}: make it smaller",
        "{image} のイメージは {size} のデバイス上の {outer} に収まりません。小さくしてください";
    IMAGE_TOO_LARGE_FOR: "an image of {image} is too large for a file of {outer}, which has less than 4GiB",
        "{image} のイメージは、4GiB 未満しか置けない {outer} のファイルには大きすぎます";
    LEAF_NOT_MODELLED: "{leaf}: a guest lives in modelled time, and a file or device does not: give it members of models, and caches in ram:",
        "{leaf}: ゲストはモデル時間で動きますが、ファイルやデバイスは違います。メンバーはモデル、キャッシュは ram: にしてください";
    CACHE_OVER_MD: "raidloom's cache lies over raidloom's arrays, not over the guest's own md: leave one of them out with [[skip]]",
        "raidloom のキャッシュは raidloom のアレイの上に置くもので、ゲストの md の上には置けません。どちらかを [[skip]] で外してください";
    NO_LOG_OF_LEVEL: "{level} has no partial parity log; raid5 has",
        "部分パリティログは raid5 だけで、{level} にはありません";
    IS_NO_FOLDER: "{stack}: it is no folder", "{stack}: フォルダーではありません";
    NOTHING_CUTS: "nothing was named that makes power cuts",
        "電源断を起こすものが指定されていません";
    NOTHING_IN_GUEST: "nothing was named that measures inside a guest",
        "ゲスト内で測定するものが指定されていません";
    NOTHING_SERVES: "nothing was named that serves a stack to the kernel",
        "スタックをカーネルに提供するものが指定されていません";
    OTHER_CLOCK: "{path}:{line}: this trial has the {own} clock, and the plan runs its configuration ({label}) on the {planned} clock; the file was changed, or is of another run",
        "{path}:{line}: この試行の時計は{own}ですが、プランではこの構成({label})は{planned}です。ファイルが変更されたか、別の測定のものです";
    VIRTUAL_CLOCK: "virtual", "モデル時間";
    WALL_CLOCK: "wall", "実時間";
    SUITE_SAID_NOTHING: "it said nothing", "出力はありません";
    SUITE_WORK_ENDED: "the work in the guest ended with {status}: {last}",
        "ゲスト内の作業が {status} で終了しました: {last}";
    SUITE_IN_GUEST_SAID: "what the suite in the guest said", "ゲスト内のスイートの出力";
    TASK_OF_GUEST: "the task of a guest", "ゲストへの指示";
    TASK_WITHOUT_WORK: "the task of a guest names no work", "ゲストへの指示に作業がありません";
    STANDARD_OUTPUT: "standard output", "標準出力";

    // What removes layouts.
    CAPACITY_REMOVES: "--capacity {least} removes what survives {drives}, which offers {most} at most",
        "--capacity {least} により除外: {drives}の故障に耐える構成の容量は最大 {most} です";
    RECORDING_REMOVES: "a recording that touches {least} removes what survives {drives}, which offers {most} at most",
        "{least} に及ぶ記録により除外: {drives}の故障に耐える構成の容量は最大 {most} です";
    SURVIVAL_REMOVES: "{asked} removes every layout of {count} drives: they survive {drives} at most",
        "{asked} によりドライブ {count} 台のすべての構成を除外: 耐えられる故障は最大 {drives}です";
    COUNT_NO_DRIVE: "no drive", "0 台";
    COUNT_ONE_DRIVE: "1 drive", "1 台";
    SO_MANY_DRIVES: "{count} drives", "{count} 台";

    // What is to be known of a run.
    STOPPED_AT_BUDGET: "stopped at its budget: {spent}; --resume goes on with another --budget",
        "予算に達したため停止しました: {spent}。--resume と新しい --budget で続けられます";
    TIME_SPENT: "{seconds} s of time are spent", "{seconds} 秒を使いました";
    BYTES_SPENT: "{bytes} of {limit} were written to {member}", "{member} に {limit} のうち {bytes} を書き込みました";
    NOT_MEASURED_HERE: "not measured here: {label}: {reason}", "ここでは測定しません: {label}: {reason}";
    BETWEEN_SETS: " and ", " と ";
    SETS_ON_ONE_DISK: "the members of {sets} lie on the same disk, {disk}: what tells them apart is not their disks",
        "{sets} のメンバーは同じディスク {disk} の上にあり、ディスクの違いによる差ではありません";
    TRIALS_KEPT: "trials that are kept: {count}; the run can go on with: raidloom run --resume {folder}",
        "保存した試行: {count}。続けるには: raidloom run --resume {folder}";
    MACHINE_HAD_CHANGED: "the machine had changed when the run was resumed: {changes}",
        "再開時にマシンが変わっていました: {changes}";
    PLAN_TEXT_EDITED: "{text} was edited after the run had begun; the run goes on with the plan that it began with ({plan})",
        "測定の開始後に {text} が編集されています。測定は開始時のプラン({plan})で続けます";
    TORN_LINE_DROPPED: "the torn last line of {path} ({bytes} bytes) was dropped; its trial counts as not run",
        "{path} の途切れた最終行({bytes} バイト)を破棄し、その試行は未実施とします";
    ARRAY_TAKEN_BACK: "; the array that was made is taken back", "。作成したアレイは元に戻しました";
    ARRAY_NOT_TAKEN_BACK: "; the array that was made could not be taken back: {left}",
        "。作成したアレイを元に戻せませんでした: {left}";

    // A kept state and its log.
    DRIVES_DIFFER: "its drives have {own} bytes, and those of {log_name} {sizes}: the two do not belong together",
        "ドライブは {own} バイト、{log_name} のものは {sizes} バイトで、組み合わせが違います";
    STATE_EVENTS: "it is behind {own} events, and {log_name} has {events}: the two do not belong together",
        "{own} イベントの後の状態ですが、{log_name} は {events} イベントで、組み合わせが違います";
    UNIT_BYTES_EXPECTED: "unit_bytes {bytes}: expected a power of two from 512 on",
        "unit_bytes {bytes}: 512 以上の 2 の累乗にしてください";

    // Profiles of work, packed runs, shards.
    NO_KEY_OF_PROFILE: "unknown key `{key}`; a profile has title and [[workload]]",
        "キー `{key}` は不明です。プロファイルにあるのは title と [[workload]] です";
    LONG_TITLE: "its `title` is longer than {most} characters", "`title` が {most} 文字を超えています";
    NO_TITLE: "it has no `title` (what people call the work)", "`title`(作業の名前)がありません";
    NO_WORKLOAD_IN_PROFILE: "it has no [[workload]]: nothing to be fast at",
        "[[workload]] がなく、速さを測るものがありません";
    PACKED_FILE_TOO_LONG: "{name} in it has more than {most}, and that of no run has",
        "中の {name} が {most} を超えています。測定結果にそのようなものはありません";
    IS_NO_PACKED_RUN: "it is no packed run", "まとめた測定結果ではありません";
    PACKED_RUN_CUT_OFF: "it is no packed run, or not all of it", "まとめた測定結果ではないか、全部がそろっていません";
    PACKED_LINKS: "it has links in it", "リンクが含まれています";
    SEVERAL_PACKED: "it has more than one run in it", "測定結果が複数含まれています";
    NOT_ALL_PACKED: "not all of it is there", "全部がそろっていません";
    NOTHING_PACKED: "there is no run in it", "測定結果が含まれていません";
    PLANS_DIFFER: "their plans differ", "プランが異なります";
    CUT_DIFFERENTLY: "one is cut into {one}, one into {other}", "分割数が {one} と {other} です";
    VERSIONS_MEASURED: "raidloom {one} and {other} measured them", "raidloom {one} と {other} で測定されています";

    // States after a power cut.
    MOUNTING_KERNEL_STOPPED: "the kernel that mounted it stopped: {why}", "マウントしたカーネルが停止しました: {why}";
    MOUNTING_HANGS: "mounting or reading it does not end", "マウントか読み込みが終わりません";
    DRIVE_LOST_WITH_POWER: "a drive was lost with the power, and the stack cannot do without it",
        "電源とともにドライブが失われ、このスタックはそれなしでは動きません";
    STACK_DOES_NOT_START: "the stack does not start: {why}", "スタックが起動しません: {why}";
    IMAGE_TO_LOOK_AT: "an image to look at", "調べるイメージ";
    IMAGES_TO_COMPARE: "images to compare", "比較するイメージ";

    // What is noted of a run and of its trials.
    SHARD_OF_RUN: "shard {shard} of a run: it has a part of the trials; `raidloom run merge` joins the shards",
        "測定のシャード {shard}: 試行の一部です。`raidloom run merge` でシャードをまとめます";
    PLAN_WAS_EDITED: "{file} was edited after the run had begun: its trials may be of another plan than the one that is shown",
        "測定の開始後に {file} が変更されました。試行は表示のプランと異なるかもしれません";
    CLAIMS_OF_THESE_MACHINES: "what is claimed holds for these machines only", "結論はこれらのマシンだけのものです";
    CLAIMS_OVER_MACHINES: "each machine has one say, the mean of its blocks, so what is claimed is drawn over {machines} machines",
        "各マシンはブロックの平均で 1 票とし、結論は {machines} 台のマシンにわたるものです";
    MEASURED_ON_MACHINES: "measured on {machines} machines, each block on one of them, so that what is compared was measured on the same machine; {holds}",
        "{machines} 台のマシンで測定しました。各ブロックは 1 台で測定し、比較は同じマシンの中で行います。{holds}";
    OF_KERNEL: " (kernel `{name}`)", "(カーネル `{name}`)";
    GUEST_IS_MODELLED: "what is measured in a guest is modelled: Linux {version}{which} on modelled disks, in their time",
        "ゲストでの測定値はモデルのものです: Linux {version}{which}、モデルのディスク、その時間";
    PROCESSOR_IS_STATED: "modelled processor: a request and its bytes are stated to cost {processor} in the guest, and all else that it computes nothing: the rate of what a cache answers is this assumption",
        "モデルのプロセッサー: ゲストでの要求とバイトの負担は {processor}、ほかの計算は 0 と仮定しています。キャッシュが応えるものの速度はこの仮定によります";
    ROW_NOT_GIVEN: "the suite gave no such row", "スイートからこの行が得られませんでした";
    FAILED_WHILE_MEASURED: "it has failed while it was measured ({cause})", "測定中に故障しました({cause})";
    ENDED_AFTER: "it was ended after {time} of real time (trials.real_time_limit)",
        "実時間 {time} で打ち切りました(trials.real_time_limit)";

    // What a run was at when the system refused.
    PROCESS_IN_BRACKETS: " (process {process})", "(番号 {process})";
    LOCKING_PATH: "locking {path}", "{path} のロック";
    SYNC_PANICKED: "the thread that syncs has panicked", "同期のスレッドがパニックしました";
    FILLING_MEMBER: "filling the member file {path}", "メンバーのファイル {path} への書き込み";
    EMPTYING: "emptying {path}", "{path} を空にする処理";
    RESTING_BETWEEN: "resting", "休止";
    MAKING_PATH: "making {path}", "{path} の作成";
    FOLDER_FOR_RUN: "a folder for the run", "測定用のフォルダー";
    SCHEDULER_ENDED_WITH: "{name} ended with {status}", "{name} が {status} で終了しました";
    SUBMITTED_AS: "it was submitted as job {jobs}", "ジョブ {jobs} として投入されました";
    MADE_IN_IMAGE: "what is made in the image", "イメージの中に作るもの";
    DISK_IN_IMAGE: "the disk in the image", "イメージの中のディスク";
    FILE_OF_IMAGE: "what the image is a file of", "イメージのファイルを置くもの";
}
