//! Why a server, or what asks one, did not do something, in every language.

words::catalogue! {
    // What is asked for by name.
    NOT_RUNNING: "no array of this name is running; `raidloom array status` names those that are",
        "この名前のアレイは動作していません。動作中のものは `raidloom array status` で確認できます";
    RUNS_ALREADY: "it is running already, as process {process}", "すでに動作しています(プロセス {process})";
    SERVER_NAME: "a running array's name has 1 to {most} letters, digits, `-`, `_`, `.` or `:`",
        "動作するアレイの名前は 1〜{most} 文字の英数字、`-`、`_`、`.`、`:` です";
    OPEN_FOLDER: "others may rename what is in it, so arrays cannot keep their sockets there; \
        RAIDLOOM_RUNTIME_DIR names another folder",
        "ほかのユーザーが中のものの名前を変えられるため、アレイのソケットを置けません。RAIDLOOM_RUNTIME_DIR で別のフォルダーを指定してください";
    NOT_OWN_FOLDER: "it has to be a folder of yours that nobody else may enter",
        "自分のフォルダーで、ほかの誰も入れないものでなければなりません";

    // Servers that do not answer.
    HANGS: "its server does not answer; `raidloom array status {name}` asks again",
        "サーバーが応答しません。`raidloom array status {name}` で再度問い合わせます";
    HAS_DIED: "its server has died; `raidloom array stop {name}` cleans up, `raidloom array start` starts it again",
        "サーバーが異常終了しています。`raidloom array stop {name}` で後始末し、`raidloom array start` で起動し直せます";
    NOT_READY_YET: "its server is starting and takes no requests yet; `raidloom array stop {name}` ends it",
        "サーバーは起動中で、まだ要求を受け付けません。`raidloom array stop {name}` で終了できます";
    HUNG_UP: "its server has hung up without an answer", "サーバーが応答せずに接続を切りました";
    TALKING: "talking to its server", "サーバーとの通信";
    UNREADABLE_ANSWER: "its server's answer cannot be read: {error}", "サーバーの応答を読み取れません: {error}";
    UNREADABLE_STATUS: "its status cannot be read: {error}", "状態を読み取れません: {error}";
    TOO_MANY_CLIENTS: "it is talking to {most} others already; try again later",
        "すでに {most} 個の接続があります。あとでやり直してください";

    NOBODY_WAITS: "nobody waits for this server", "このサーバーを待つものがありません";
    FIRST_WORD: "the server's first word makes no sense", "サーバーの最初の応答を解釈できません";
    IMAGE_TOO_LARGE: "an image of {size} does not fit into the file system that it is to lie in",
        "{size} のイメージは、置き先のファイルシステムに入りません";
    IMAGE_SIZE: "the size of the image", "イメージのサイズ";
    A_CONFIGURATION: "a configuration", "設定";
    NBD_ADDRESS: "--nbd {why}, or {word} for a socket in the server's folder",
        "--nbd {why}。サーバーのフォルダーのソケットなら {word} です";
    LOG_EXPECTED: "{why}; {help}", "{why}; {help}";
    NO_LOG_LEVEL: "`{text}` is no level", "`{text}` というレベルはありません";
    STARTING_LOG: "starting the log", "ログの開始";
    CHANGING_LOG: "changing the log's level", "ログのレベルの変更";
    NO_LOG: "this process keeps none", "このプロセスにログはありません";

    // Members of an array that runs.
    NO_METADATA: "no array in this stack keeps metadata, so that nobody would know tomorrow who was a member today",
        "このスタックにメタデータを持つアレイがないため、どれがメンバーだったかを次回に判別できません";
    SEVERAL_ARRAYS: "there are several arrays in this stack: {names}; --array names one",
        "このスタックには複数のアレイがあります: {names}。--array で指定してください";
    NO_SUCH_ARRAY: "no such array in this stack; there are {names}", "このスタックにそのようなアレイはありません。あるのは {names} です";
    NO_SLOT: "member {member}: the array has slots 0 to {last}", "メンバー {member}: このアレイのスロットは 0〜{last} です";
    IN_REBUILD: "member {member} is being rebuilt or replaced already; wait for the end of that",
        "メンバー {member} はすでに再構築中または交換中です。終わるまで待ってください";
    MEMBER_HAS_FAILED: "it has failed; `raidloom array remove` takes it out of place {place} first",
        "故障しています。先に `raidloom array remove` でスロット {place} から取り外してください";
    MEMBER_ALREADY: "it is a member or a spare already", "すでにメンバーまたはスペアです";
    REMOTE_ALREADY: "it is a member or a spare already; `raidloom array remove` lets go of one that has failed",
        "すでにメンバーまたはスペアです。故障したものは `raidloom array remove` で取り外せます";

    // What starts an array with the machine.
    NO_SERVICE_MANAGER: "nothing starts it with the machine: that takes systemd, root, and configurations in /etc/raidloom",
        "マシンの起動時に開始する仕組みがありません。systemd、root 権限、/etc/raidloom の設定ファイルが必要です";
    CONFIGURATION_OF_ANOTHER: "it says another stack than the one that runs under this name; start the array by its configuration, or move that away",
        "この名前で動作しているものと異なるスタックが書かれています。設定ファイルからアレイを起動するか、設定ファイルを移してください";

    // What is mounted, attached or made.
    MOUNTED_FROM: "it is mounted at {point}; `{advice}` unmounts it", "{point} にマウントされています。`{advice}` でアンマウントできます";
    NOTHING_IS_MOUNTED: "nothing is mounted from it", "何もマウントされていません";
    NOT_ATTACHED: "it is not attached; start it with --attach", "接続されていません。--attach を付けて起動してください";
    WAITS_FOR_ANOTHER: "its last server has died, and {device} waits for the next one of the same array, served in the same way; `{advice}` gives it up, and what it is used for gets errors",
        "前のサーバーが停止し、{device} は同じアレイの次のサーバーを待っています。`{advice}` で破棄できますが、使用中のプログラムはエラーになります";
    NO_FILE_SYSTEM: "it holds no file system, and it is read-only", "ファイルシステムがなく、読み取り専用です";
    NO_MOUNT_POINT: "it is no folder to mount on", "マウントできるフォルダーではありません";
    SIZE_WITHOUT_CREATE: "--size is for files that are made: --create says so",
        "--size は作成するファイルのサイズです。作成するには --create を付けてください";
    NOTHING_TO_SERVE: "a stack of modelled disks alone keeps no data and runs on a clock of its own; there is nothing to serve",
        "モデルのディスクだけのスタックはデータを持たず、独自の時計で動くため、提供できるものがありません";
    NOT_THERE: "it is not there; --size SIZE or {address}?size=SIZE says how large to make it",
        "ありません。作成するサイズを --size SIZE か {address}?size=SIZE で指定してください";

    // What is refused.
    ARRAY_IS_THERE: "there is an array of this name: raidloom array start {name} starts it, and finishes it where its making was cut off; --name names another",
        "この名前のアレイがあります。raidloom array start {name} で起動でき、作成が途中で止まっていれば完了します。--name で別の名前を指定してください";
    SERVER_WITHOUT_CACHE: "there is no cache in it", "キャッシュがありません";
    OTHER_PROTOCOL: "the request is not of version {version}; server and command have to be of one release",
        "要求のバージョンが {version} ではありません。サーバーとコマンドを同じリリースにしてください";
    IMAGE_OF_OTHER_SIZE: "it is there already and has {found} bytes, and the image that is wanted has {wanted}",
        "すでにあり、{found} バイトです。必要なのは {wanted} バイトです";
    SERVER_ENDS: "it is ending", "終了処理中です";
    IMAGE_NOT_DIRECT: "its file system refuses direct I/O for the image in it",
        "ファイルシステムが中のイメージのダイレクト I/O を受け付けません";
    NO_STACK_NAMED: "it names no stack; stack = 'raid1(...)' does",
        "スタックの指定がありません。stack = 'raid1(...)' のように書いてください";
    PATH_NOT_UTF8: "the path is no UTF-8", "パスが UTF-8 ではありません";

    // What a start has found, and what goes wrong while it serves.
    DEVICE_WAITS: "{name}: its server has died, and {device} waits for the next one: start it again as it was; `raidloom array stop {name}` gives it up, and what it is used for gets errors",
        "{name}: サーバーが異常終了し、{device} が次のサーバーを待っています。元のとおり起動してください。`raidloom array stop {name}` で破棄すると、使用中のものはエラーになります";
    STILL_IN_USE: "still in use, by another program or by requests that its device does not answer",
        "別のプログラムか、デバイスが応答しない要求によって使用中です";
    ATTACHED_AS_FILE: "it is attached as a file only: {why}", "ファイルとしてのみ接続しました: {why}";
    CACHED_TWICE: "the kernel caches its blocks a second time, for it refuses direct I/O",
        "ダイレクト I/O が使えないため、カーネルがブロックを二重にキャッシュします";
    STOP_GIVES_UP: "`raidloom array stop {name}` gives up what waits for it",
        "待っているものは `raidloom array stop {name}` で破棄できます";
    FILE_UNSERVED: "the file is not served any more: {why}", "ファイルの提供が止まりました: {why}";
    BLOCK_DEVICE_UNSERVED: "the block device is not served any more: {why}",
        "ブロックデバイスの提供が止まりました: {why}";
    VHOST_CUT_OFF: "vhost-user: a client was cut off: {why}", "vhost-user: クライアントを切断しました: {why}";
    DELETED_WHILE_OPEN: "it was deleted, and what it holds is gone when the array is stopped; {found}. `cp --sparse=always /proc/{process}/fd/{descriptor} {saved}` saves it, while nothing is written; `raidloom array replace` gives its place to another",
        "削除されており、アレイを停止すると内容が失われます。{found}。書き込みがない間に `cp --sparse=always /proc/{process}/fd/{descriptor} {saved}` で保存できます。`raidloom array replace` で別のものに交換できます";
    DELETED_AND_GONE: "it was deleted while it was a member, and what it held is gone; {found}. With `missing` in its place the array starts without it, and `raidloom array add` gives its place to another",
        "メンバーの間に削除され、内容が失われました。{found}。代わりに `missing` と書けばこれなしで起動でき、`raidloom array add` で別のものを追加できます";
    WAS_DELETED: "it was deleted; {found}", "削除されました。{found}";
    WAS_RENAMED: "it was renamed and lies at {to} now; {found}. `mv {from} {back}` puts it back",
        "名前が変わり、今は {to} にあります。{found}。`mv {from} {back}` で戻せます";
    LEADS_ELSEWHERE: "the name does not lead to the open device any more; {found}",
        "この名前は開いているデバイスを指さなくなりました。{found}";
    WAS_CUT_SHORT: "it was cut short from {before} to {now}, and what lay behind is gone",
        "{before} から {now} に切り詰められ、その後ろの内容が失われました";
    HAS_BECOME_LONGER: "it has become longer, {now} instead of {before}; the array goes on in what it had",
        "{before} から {now} に伸びました。アレイは元の範囲だけを使います";
    NEXT_START_MISSES_IT: "the next start will miss it", "次の起動では欠けることになります";
    SOMETHING_ELSE_THERE: "something else lies under its name", "その名前には別のものがあります";

    // What an array that comes in pieces waits for.
    AND_OTHERS: " and {count} more", " ほか {count} 件";
    WAITS_FOR: "waits for {first}{others}: {there} of {all} are there",
        "{first}{others} を待っています({all} 台中 {there} 台)";
    NO_SUPERBLOCK_OF_IT: "{source} has no superblock of the array", "{source} にこのアレイのスーパーブロックがありません";
    OF_DIFFERENT_ARRAYS: "its members are of different arrays (array assemble --scan shows them)",
        "メンバーが別々のアレイのものです(array assemble --scan で確認できます)";
    BETWEEN_SLOTS: " and ", "・";
    WAITS_FOR_SLOT: "waits for the member in slot {slots}: the configuration does not name it, or it is not up to date",
        "スロット {slots} のメンバーを待っています。設定にないか、最新ではありません";

    // The end of a server.
    WAITING_FOR_REQUESTS: "waiting for requests", "要求の待機";
    THREAD_TO_END_ON: "a thread to end on", "終了処理のスレッド";
    THE_END: "the end", "終了処理";
    TAKING_EXPORTS_AWAY: "taking the exports away", "提供の終了";
    WIPING_RUN: "wiping what the run has made", "測定で作ったものの消去";
    ENDING_UPKEEP: "ending the upkeep", "維持処理の終了";
    THE_LAST_FLUSH: "the last flush", "最後のフラッシュ";
    CLOSING_CACHES: "closing the caches", "キャッシュを閉じる処理";
    MARKING_CLEAN: "marking the arrays clean", "アレイをクリーンと記録する処理";
    ERASING_SUPERBLOCKS: "erasing superblocks", "スーパーブロックの消去";
    MAY_NOT_BE_DURABLE: "what was written last may not be durable: {why}",
        "最後の書き込みが永続化されていない可能性があります: {why}";
    A_CACHE: "a cache", "キャッシュ";
    STEP_NOT_ENDED: "{step} has not come to its end in {time}{why}: what follows it is not done, and the array is found as after a power cut. Process {process} holds the members until the kernel gives its requests back",
        "{step}が {time} 以内に終わりませんでした{why}。以降の処理は行わず、アレイは電源断の後と同じ状態になります。カーネルが要求を返すまで、プロセス {process} がメンバーを保持します";
    PROCESS_NOT_ENDED: "its process has not ended, for a device does not give its requests back; it holds the members until then",
        "デバイスが要求を返さないためプロセスが終わりません。それまでメンバーを保持します";
    MAKING_EVENTFD: "making an eventfd", "eventfd の作成";

    // What was done with members.
    DEVICE_WAS_ADDED: "{device} was added", "{device} を追加しました";
    MEMBER_IS_GIVEN: "member {member} is given to {device}", "メンバー {member} を {device} に引き継ぎます";
    MEMBER_IS_BACK: "{device} is back as member {member}: by the bitmap it has missed {missed} of {all} at most",
        "{device} がメンバー {member} として戻りました。ビットマップによると、欠けているのは {all} のうち最大 {missed} です";
    ADDED_AS_MEMBER: "{device} was added as member {member}", "{device} をメンバー {member} として追加しました";

    // What happens to an array that runs.
    ANSWERS_AGAIN: "it answers again", "再び応答しています";
    DEVICE_HAS_FAILED: "{name} has failed{cause}", "{name} が故障しました{cause}";
    NUMBERED_HAS_FAILED: "member {member} ({device}) has failed{cause}",
        "メンバー {member}({device})が故障しました{cause}";
    SPARE_ASSIGNED: "the spare {name} takes the place of member {member}", "スペア {name} がメンバー {member} の代わりになります";
    WORK_BEGAN: "the {work} has begun", "{work}を開始しました";
    WORK_DONE: "the {work} is done", "{work}が完了しました";
    WORK_CANCELLED: "the {work} was ended before its time", "{work}を途中で終了しました";
    WORK_FAILED: "the {work} failed: {why}", "{work}に失敗しました: {why}";
    WORK_REBUILD: "rebuild of member {member}", "メンバー {member} の再構築";
    WORK_REPLACEMENT: "replacement of member {member}", "メンバー {member} の交換";
    WORK_RESYNC: "resync", "再同期";
    WORK_CHECK: "check", "照合";
    WORK_REPAIR: "repair", "修復";
    MEMBER_TAKEN_OUT: "member {member} was taken out of service on request", "メンバー {member} を指示により外しました";
    MEMBER_WAS_REMOVED: "member {member} was removed", "メンバー {member} を取り外しました";
    WORK_ENDED_ON_REQUEST: "what was under way was ended on request", "実行中の作業を指示により終了しました";

    // Why a running array does not do something.
    LARGER_SIZE: "the larger size", "大きくするサイズ";
    NO_CACHE_NUMBERED: "{server}: there is no cache {number}; they are numbered from 0 (`raidloom array cache status {server}`)",
        "{server}: キャッシュ {number} はありません。番号は 0 からです(`raidloom array cache status {server}`)";
    SEVERAL_CACHES: "{server}: it has several caches in memory; cache=N says which (`raidloom array cache status {server}` numbers them)",
        "{server}: メモリー上のキャッシュが複数あります。cache=N で指定してください(番号は `raidloom array cache status {server}`)";
    SHARED_WITHOUT_UPKEEP: "members on other hosts: such an array is not served without upkeep",
        "メンバーがほかのホストにあるアレイは、upkeep なしでは扱えません";
    COULD_LOSE_NONE: "there is no array that could lose a member: one with metadata=1.2",
        "メンバーを失えるアレイがありません(metadata=1.2 のもの)";
    A_LEAF_IS_NO_ARRAY: "a leaf is no array", "末端のデバイスはアレイではありません";
    ENDING_WENT_WRONG: "{name}: ending it went wrong", "{name}: 終了処理に失敗しました";
    NOT_STOPPED: "{name}: not stopped, for nothing makes up for what would go with it: {lost}; once it is saved, `kill -9 {process}` ends the server",
        "{name}: 失われるものの代わりがないため停止しません: {lost}。保存した後、`kill -9 {process}` でサーバーを終了できます";
    NO_DEVICE_TO_MOUNT: "there is no block device to mount; the kernel has no loop devices here, or only root may make them",
        "マウントするブロックデバイスがありません。カーネルにループデバイスがないか、作れるのが root だけです";
    HOLDS_NO_FILE_SYSTEM: "{name}: it holds no file system; --fs KIND makes one (--fs ext4)",
        "{name}: ファイルシステムがありません。--fs KIND で作ります(--fs ext4)";
    DEVICE_HOLDS: "{device} holds: {found}", "{device} の内容: {found}";
    CONFIGURATION_LINE: "{path}, line {line}: {why}", "{path} の {line} 行目: {why}";
    CONFIGURATION_PLACE: "{path}, line {line}", "{path} の {line} 行目";
    NBD_NAMED_TWICE: "nbd names {address} twice; name each place once", "nbd に {address} が 2 回指定されています。1 回だけ指定してください";
    NO_CONFIGURATION_FILE: "{target}: there is no configuration {file}, and no file of that name",
        "{target}: 設定 {file} も、その名前のファイルもありません";
    STACK_STARTS: "a stack text such as 'raid1(a.img, b.img)' starts without a configuration",
        "'raid1(a.img, b.img)' のようなスタック記法なら設定なしで起動できます";
    NO_PACE: "at least {least} and at most {most} a second: not a pace to go at",
        "毎秒 {least} 以上 {most} 以下という速度では進められません";
    NOTHING_TO_SCRUB: "there is nothing to compare: the array has no redundancy, or was started for reading only",
        "比べるものがありません。アレイに冗長性がないか、読み取り専用で起動しています";
    UPKEEP_ENDED_AT_ONCE: "the upkeep of the arrays ended at once",
        "アレイの維持処理がすぐに終了しました";
    NOT_KEPT_UP: "arrays are not kept up any more", "アレイの維持処理が止まりました";
    BELL_FOR_UPKEEP: "a bell for the upkeep of the arrays", "アレイの維持処理のための通知";
    STARTING_UPKEEP: "starting the upkeep of the arrays", "アレイの維持処理の起動";
    UPKEEP_HAS_ENDED: "the upkeep of the {whose} has ended", "{whose} の維持処理が終了しました";
    SAYS_NOT_WHY: "it does not say why", "理由の出力はありません";
    SERVICE_COMMAND_ENDED: "`{command}` ended with {status}: {said}",
        "`{command}` が {status} で終了しました: {said}";
    MAKING_CONFIGURATIONS: "making {folder}", "{folder} の作成";
    START_ENDED: "the start was ended on request", "起動を指示により終了しました";
    START_TOO_LONG: "it was not ready within {time}, and its start was ended",
        "{time} 以内に準備ができなかったため、起動を終了しました";
    STARTING_SERVER: "starting the server's process", "サーバーのプロセスの起動";
    SERVER_ENDED: "the server's process ended before it was ready ({end})\n{said}",
        "サーバーのプロセスが準備できる前に終了しました({end})\n{said}";
    MAKING_SOCKET: "making the control socket {path}", "制御ソケット {path} の作成";
    REQUEST_LINE: "a request is one line of at most {max_line_bytes} bytes",
        "要求は {max_line_bytes} バイト以内の 1 行です";
    REQUEST_NO_JSON: "the request is not JSON", "要求が JSON ではありません";
    REQUEST_NO_SENSE: "the request makes no sense", "要求を解釈できません";
    A_TIME_LIMIT: "{name}: a time limit", "{name}: 時間の上限";
    MAKING_RUNTIME_FOLDER: "making the runtime folder {folder}",
        "ランタイムフォルダー {folder} の作成";
    MAKING_LOG: "making a log in {folder}", "{folder} でのログの作成";
    STANDARD_INPUT: "standard input", "標準入力";
    FILE_HANDED_OVER: "a file that was handed over", "渡されたファイル";
    DESCRIPTOR_DOES_NOT_FIT: "a descriptor does not fit into its message",
        "ファイル記述子がメッセージに収まりません";
    RUNNING: "running `{command}`", "`{command}` の実行";
    CLOCK_OF_DISKS: "the disks' clock", "ディスクの時計";
}
