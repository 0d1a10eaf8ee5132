//! Why the system does not do something for raidloom, in every language.

words::catalogue! {
    // Memory and processors.
    NO_CGROUP: "no memory cgroup can be made here: {why}", "ここではメモリー cgroup を作れません: {why}";
    NONE_MOUNTED: "none is mounted", "マウントされていません";
    NOT_HANDED_DOWN: "no cgroup from {folder} up hands the memory controller down (cgroup.subtree_control)",
        "{folder} から上のどの cgroup も、メモリーコントローラーを渡していません(cgroup.subtree_control)";
    TOO_MUCH_MEMORY: "{asked} of memory are asked for, and {there} {whose}, of which nine tenths can be had; \
        make it smaller",
        "メモリー {asked} が必要ですが、{whose}{there} です(使えるのはその 9 割)。小さくしてください";
    MACHINE_HAS: "this machine has available", "このマシンで使えるのは ";
    CGROUP_HAS: "are left of the {limit} that the cgroup {group} may have",
        "cgroup {group} の上限 {limit} の残りは ";
    MEMORY_OF: "memory {size}", "メモリー {size}";
    OWN_PROCESSORS: "the processors of this process", "このプロセスのプロセッサー";
    FEW_PROCESSORS: "{wanted} processors are wanted, and there are {here} here",
        "プロセッサーが {wanted} 個必要ですが、ここには {here} 個です";
    OTHER_MACHINE: "the machine has changed since the run began ({changes}); figures would not compare. \
        --allow-change goes on and flags the later trials",
        "測定を始めてからマシンが変わっています({changes})。値を比較できません。\
        --allow-change で続けると、以後の試行に印が付きます";

    // Files.
    LINK_OF_ANOTHER: "{link} is a link of another user's, and nothing is written where it leads; choose a place \
        of your own",
        "{link} はほかのユーザーのリンクで、その先には書き込みません。自分の場所を選んでください";
    NOT_TO_DEVICE: "it is a block device, and what is asked for is written to files alone; name a file",
        "ブロックデバイスです。書き込み先にできるのはファイルだけです。ファイルを指定してください";
    MADE_FROM_IT: "what is asked for is made from this file, which would be lost; name another file",
        "このファイルから作成するため、上書きすると元のデータが失われます。別のファイルを指定してください";
    MARK_STAYS: "it carries a signature: {signature}. It is not replaced by what is asked for; name another file",
        "署名があります: {signature}。上書きしません。別のファイルを指定してください";
    WRITING_FILE: "writing {path}", "{path} への書き込み";
    MAKING_FOLDER: "making the folder {path}", "フォルダー {path} の作成";

    // File systems.
    NO_SUCH_FILE_SYSTEM: "{name}: no such file system; there are {names}",
        "{name}: そのようなファイルシステムはありません。使えるのは {names} です";
    LEFT_AS_IT_WAS: "nothing was changed; {remedy}, or take another file system (raidloom check)",
        "何も変更していません。{remedy}。または別のファイルシステムを使ってください(raidloom check)";
    OTHER_KERNEL: "a kernel with {kind} helps, or the package with its modules",
        "{kind} のあるカーネルか、そのモジュールのパッケージが必要です";
    INSTALL_PACKAGE: "`apt-get install {package}` helps", "`apt-get install {package}` で入ります";
    KERNEL_LACKS: "this kernel has neither {kind} nor a module for it",
        "このカーネルには {kind} もそのモジュールもありません";
    PROGRAM_LACKS: "{program} is not there", "{program} がありません";
    PROGRAM_MISSING: "{program} is not there: apt-get install {package}",
        "{program} がありません: apt-get install {package}";
    SAID_NOTHING: "failed and said nothing", "失敗しましたが、理由は出力されませんでした";
    HOLDS_SOMETHING: "it holds something already: {what}", "すでに何かがあります: {what}";
    MAKING_ENDED: "ended on request before it was done", "完了前に指示により終了しました";
    MAKE_OPTIONS: "options for {maker}", "{maker} のオプション";
    MOUNT_OPTIONS: "mount options", "マウントオプション";
    MOUNT_OPTIONS_OF: "mount options of {kind}", "{kind} のマウントオプション";
    LOOKING_WHAT: "looking what it holds", "内容の確認";
    IN_USE_BY: "{user} uses it", "{user}が使用中です";
    UNMOUNTING: "unmounting {point}", "{point} のアンマウント";
    NOT_MOUNTABLE: "no {kind} that mounts: {why}", "{kind} としてマウントできません: {why}";
    MOUNT_OPTION_REFUSED: "{kind} does not take the mount option {word}: {why}",
        "{kind} はマウントオプション {word} を受け付けません: {why}";
    NO_OPTION_WORD: "`{word}` is no option: raidloom alone names the device",
        "`{word}` はオプションではありません。デバイスは raidloom が指定します";
    OPTION_NOT_PASSED: "`{option}` is none of the options that are passed on",
        "`{option}` は渡せるオプションではありません";
    KEY_NOT_PASSED: "`{key}` of `{option}` is none of the options that are passed on",
        "`{option}` の `{key}` は渡せるオプションではありません";
    OPTION_NEEDS_VALUE: "`{option}` needs a value", "`{option}` には値が必要です";
    OPTION_NO_WORD: "`{value}` of `{option}` is no plain number or word, and no path is taken",
        "`{option}` の `{value}` は単純な数や語ではありません。パスは使えません";

    // Recording a device.
    ROOT_RECORDS: "only root may record a device (try sudo)", "デバイスを記録できるのは root だけです(sudo を使ってください)";
    NO_TRACING: "this kernel has no tracing of its block layer (CONFIG_BLK_DEV_IO_TRACE); a stack of raidloom's is \
        recorded by its layer record(file:FILE, …)",
        "このカーネルではブロック層をトレースできません(CONFIG_BLK_DEV_IO_TRACE)。raidloom のスタックは層 record(file:FILE, …) で記録できます";
    MOUNTING_TRACEFS: "mounting tracefs", "tracefs のマウント";
    TRACING_INSTANCE: "an instance of tracing", "トレースのインスタンス";
    SETTING_UP_TRACING: "setting up tracing", "トレースの準備";
    READING_KERNEL_TRACE: "reading the kernel's trace", "カーネルのトレースの読み込み";
    ENDING_TRACE: "ending the trace", "トレースの終了";
    LOCKED_DOWN: "this kernel is locked down and permits no tracing (kernel_lockdown(7))",
        "このカーネルはロックダウン中で、トレースできません(kernel_lockdown(7))";

    // Images of Ceph clusters.
    RBD_SERVER_MISSING: "{image}: {server} is not on the PATH: apt-get install {server_package} {driver_package}",
        "{image}: {server} が PATH にありません: apt-get install {server_package} {driver_package}";
    RBD_SOCKET: "a socket for its server", "サーバー用のソケット";
    RBD_STARTING: "starting {server}", "{server} の起動";
    RBD_NO_SERVER: "{server} is not on the PATH", "{server} が PATH にありません";
    MEMORY_OF_STACKS: "ram: and caches in memory", "ram: とメモリー上のキャッシュ";

    // What journals name.
    REMOVED_LEFT_BEHIND: "removed what an interrupted command had left behind in {folder}",
        "中断したコマンドが {folder} に残したものを後始末しました";
    LEFT_OUTSIDE: "left {path} alone: it does not lie in {folder}, and the journal that names it was not begun there",
        "{path} には触れません: {folder} の外にあり、それを記した記録もそこで始まったものではありません";
    BLOCK_DEVICE_STAYS: "could not take a block device away: {why}",
        "ブロックデバイスを取り除けませんでした: {why}";
    FOLDER_STAYS: "could not remove the folder {folder}: {why}",
        "フォルダー {folder} を削除できませんでした: {why}";
    STAYS_MOUNTED: "could not unmount {path}: {why}", "{path} をアンマウントできませんでした: {why}";
    LEFT_OTHER_FILE: "left {path} alone: it is not the file that was made here",
        "{path} には触れません: ここで作られたファイルではありません";
    FILE_STAYS: "could not remove {path}: {why}", "{path} を削除できませんでした: {why}";
    LOOP_DEVICE_STAYS: "could not take the loop device over {path} away: {why}",
        "{path} のループデバイスを取り除けませんでした: {why}";
    RANDOM_FOR_DEVICE: "a random number for a device", "デバイス用の乱数";
    NOT_WHAT_IT_SHOULD_BE: "it is not what it should be", "想定されたものではありません";
    OF_SOMEBODY_ELSE: "it belongs to somebody else (user {user})", "別のユーザー({user})のものです";
    OTHERS_MAY_WRITE: "others may write to it (`chmod go-w` changes that)",
        "ほかのユーザーが書き込めます(`chmod go-w` で変更できます)";
    JOURNAL_NOT_OBEYED: "what {path} names was left as it is: {reason}",
        "{path} に記されたものには触れていません: {reason}";

    RBD_WITH_DRIVER: "{path}, with its driver for Ceph", "{path}(Ceph 用ドライバーあり)";
    RBD_NO_DRIVER_IN: "{path} has no driver for Ceph", "{path} に Ceph 用ドライバーがありません";
    RBD_CONFIGURATION: "Ceph's configuration", "Ceph の設定";
    RBD_NO_ANSWER: "{image}: no monitor of the cluster has answered in {time}: see whether those that {conf} names can be reached (timeout=TIME waits longer)",
        "{image}: クラスターのモニターが {time} 以内に応答しません。{conf} が示すモニターに届くか確認してください(timeout=TIME で待ち時間を延ばせます)";
    RBD_SAID_NOTHING: "{server} has ended and said nothing",
        "{server} が理由を出力せずに終了しました";
    RBD_NO_DRIVER: "qemu has no driver for Ceph: apt-get install {driver_package}",
        "qemu に Ceph 用ドライバーがありません: apt-get install {driver_package}";
    RBD_NO_POOL: "the cluster has no pool {pool}", "クラスターにプール {pool} がありません";
    RBD_NO_SNAPSHOT: "the image has no snapshot {snapshot}",
        "イメージにスナップショット {snapshot} がありません";
    RBD_NO_IMAGE: "the pool {pool} has no image {name}: rbd ls {pool}",
        "プール {pool} にイメージ {name} がありません: rbd ls {pool}";
    RBD_KEY_REFUSED: "the cluster does not take the key of client.{user}: see the keyring that Ceph's configuration names, and `ceph auth get client.{user}`",
        "クラスターが client.{user} の鍵を受け付けません。Ceph の設定が示すキーリングと `ceph auth get client.{user}` を確認してください";
    RBD_NO_KEYRING: "there is no keyring with a key of client.{user} (keyring in Ceph's configuration)",
        "client.{user} の鍵の入ったキーリングがありません(Ceph の設定の keyring)";
    RBD_NO_MONITOR: "Ceph's configuration names no monitor: say conf=FILE, with mon_host in it",
        "Ceph の設定にモニターがありません。mon_host のある conf=FILE を指定してください";
    RBD_NOT_UNDERSTOOD: "said what is not understood", "解釈できない出力です";
    RBD_IN_USE: "{image}: in use by {users}: end what uses it, or say read_only=yes (a client that has died is forgotten after 30s)",
        "{image}: {users} が使用中です。終了させるか、read_only=yes を指定してください(停止したクライアントは 30 秒後に忘れられます)";
    RBD_USERS_UNKNOWN: "{image}: whether others use it was not looked at: {why}",
        "{image}: ほかに使っているものがあるか確認していません: {why}";
    RBD_TOOL_MISSING: "rbd is not on the PATH (apt-get install ceph-common)",
        "rbd が PATH にありません(apt-get install ceph-common)";
    RBD_STATUS_UNKNOWN: "rbd status says what is not understood",
        "rbd status の出力を解釈できません";
}
