//! What is wrong with a guest or its kernel, in every language.

words::catalogue! {
    // What ends a guest.
    BOOT_BOUND: "its work had not begun after {time} of real time, the bound of a boot; this machine is busy, or the guest has too little memory",
        "実時間で {time}(起動の上限)が過ぎても作業が始まりませんでした。このマシンが混んでいるか、ゲストのメモリーが足りません";
    SILENCE_BOUND: "for {time} of real time, the bound of its silence, it has neither looked at its clock nor asked a disk for anything: it computes without an end, or has too little memory",
        "実時間で {time}(無応答の上限)の間、時計もディスクも使いませんでした。終わらない計算をしているか、メモリーが足りません";
    WHOLE_BOUND: "it had run for {time} of real time, its bound", "実時間で {time}(上限)動きました";
    ENDED_AT_BOUND: "the guest was ended at {seconds} s of its own clock: {text}; its kernel said last: {last_words}",
        "ゲストをその時計で {seconds} 秒のところで終了しました: {text}。カーネルの最後の出力: {last_words}";
    GUEST_KERNEL_SILENT: "it said nothing", "出力はありません";
    KERNEL_ENDED_EARLY: "the guest's kernel ended before it began",
        "ゲストのカーネルが始まる前に終了しました";
    JOB_ENDED_EARLY: "the guest ended before its job did", "作業が終わる前にゲストが終了しました";
    GIVEN_UP_AT_START: "the guest was given up at its start", "起動中にゲストを中止しました";
    GIVEN_UP: "the guest was given up", "ゲストを中止しました";
    WAITS_FOR_EVER: "the guest waits for something that never comes: it has no timer, and its disks have nothing to do",
        "ゲストは来ることのないものを待っています。タイマーがなく、ディスクにもすることがありません";

    // What is being done when the system refuses.
    GUEST_FOLDERS: "making folders for the guest", "ゲストのフォルダーの作成";
    GUEST_CONSOLE: "the guest's console", "ゲストのコンソール";
    STARTING_GUEST: "starting the guest", "ゲストの起動";
    STARTING_WATCHDOG: "starting the guest's watchdog", "ゲストの見張りの起動";
    GUEST_FOLDER: "the guest's folder", "ゲストのフォルダー";
    GUEST_SOCKET: "a socket for the guest", "ゲスト用のソケット";
    HEARING: "hearing the guest", "ゲストからの受信";
    WAITING_FOR_GUEST: "waiting for the guest", "ゲストの待機";
    THE_GUEST: "the guest", "ゲスト";
    WAITING_FOR_END: "waiting for the guest's end", "ゲストの終了待ち";
    ANSWERING: "answering the guest", "ゲストへの応答";
    TELLING_TIME: "telling the guest the time", "ゲストへの時刻の通知";
    TELLING_OF_DISK: "telling the guest of a disk", "ゲストへのディスクの通知";
    DEVICES_CLOCK: "the devices' clock", "デバイスの時計";
    A_CHANNEL: "a channel", "チャネル";

    // What a guest says that makes no sense.
    RING_STOPS: "ring {ring} of disk {index} stops under requests",
        "ディスク {index} のリング {ring} が要求の処理中に止まりました";
    OURS_TO_SAY: "the guest says {op}, which is ours to say",
        "ゲストが {op} を送りましたが、これはホストだけが送るものです";
    CLOCK_GOES_BACK: "the guest's clock goes back from {now} to {time} ns",
        "ゲストの時計が {now} から {time} ns へ戻りました";
    RAN_PAST_EVENT: "the guest has run to {time} ns, past the devices' next event at {next} ns",
        "ゲストは {time} ns まで進み、デバイスの次のイベント({next} ns)を過ぎました";
    NO_CHANNEL: "the guest gives no channel on which it can be told of its disks",
        "ディスクの状態を知らせるチャネルをゲストが渡しません";
    TIME_MESSAGE_STOPS: "a message about time stops in its middle",
        "時刻のメッセージが途中で終わっています";
    TIME_MESSAGE_UNKNOWN: "message {op} about time is not known",
        "時刻のメッセージ {op} は未知です";

    // What a guest does not start with.
    SETARCH_MISSING: "setarch is not on the PATH: apt-get install util-linux",
        "setarch が PATH にありません: apt-get install util-linux";
    NO_LANDLOCK_FOR_ROOT: "this kernel has no Landlock, which alone keeps a guest that root starts from the host's files: start it as another user, which a guest needs no root for",
        "このカーネルには Landlock がなく、root が起動するゲストからホストのファイルを守れません。別のユーザーで起動してください(ゲストに root は不要です)";
    TOO_LITTLE_MEMORY: "a guest of {bytes} bytes of memory does not start: give it 32 MiB or more",
        "メモリー {bytes} バイトではゲストは起動しません。32 MiB 以上にしてください";
    NO_ROOM_FOR_MEMORY: "no room for {size} MiB of a guest's memory in a folder that programs may be run from: set TMPDIR to one",
        "プログラムを実行できるフォルダーに、ゲストのメモリー {size} MiB 分の空きがありません。TMPDIR で指定してください";
    READS_COUNTER: "{program} reads the processor's own counter, which shows real time: figures that it takes from there are not modelled",
        "{program} はプロセッサー自身のカウンターを読みます。それは実時間なので、そこから得た数値はモデルによるものではありません";
    GIVE_IT: "; give it {remedy}", "。{remedy} を付けてください";

    // Building a kernel.
    USUAL_KERNEL_ALONE: "the kernel `{usual_kernel}` has our configuration and no other: name one that has more, -s name=NAME",
        "カーネル `{usual_kernel}` の設定は raidloom のものだけです。設定を足すなら -s name=NAME で別の名前を付けてください";
    NO_KERNEL_YET: "there is no kernel `{name}` yet: say what makes it another than the usual one, its --source or -s config=FILE",
        "カーネル `{name}` はまだありません。既定のカーネルとの違い(--source か -s config=FILE)を指定してください";
    FRAGMENT_LINE: "line {number}: `{line}`: {why}", "{number} 行目: `{line}`: {why}";
    NO_MODULES: "a guest loads no modules: end it with =y",
        "ゲストはモジュールを読み込みません。=y で終えてください";
    OPTION_LINE_EXPECTED: "expected CONFIG_NAME=y, or # CONFIG_NAME is not set",
        "CONFIG_NAME=y か # CONFIG_NAME is not set と書いてください";
    ALL_OF_MAKE: "; all that make said is in {path}", "。make の出力全体は {path} にあります";
    OPTION_LOST: "this Linux does not keep `{lost}` in its configuration, which Debian 12's linux-source-6.1 does with what it depends on; what guests can do without is left out by a line `# {without} is not set` in -s config=FILE",
        "この Linux は設定 `{lost}` を保ちません(Debian 12 の linux-source-6.1 は依存するものと合わせて保ちます)。ゲストになくてもよいものは、-s config=FILE に `# {without} is not set` の行を書いて外せます";
    LINUX_SOURCE: "the source of Linux ({path})", "Linux のソース({path})";
    BUILD_TOOLS: "tools to build it", "ビルド用のツール";
    BOTH: "{one} and {other}", "{one}と{other}";
    NAME_A_SOURCE: "name a tarball or a folder that is there",
        "実在する tarball かフォルダーを指定してください";
    BUILD_LACKS: "{what} not there: {install}", "{what}がありません: {install}";
    NO_BUILD_ROOM: "{folder}: {free} MiB free, and building the kernel takes {needed} MiB meanwhile",
        "{folder}: 空きは {free} MiB ですが、カーネルのビルドには一時的に {needed} MiB 必要です";
    BUILD_GIVEN_UP: "building the kernel was given up", "カーネルのビルドを中止しました";
    PROGRAM_FAILED: "{name} failed: {said}", "{name} が失敗しました: {said}";

    // A kernel that is there, or not.
    KERNEL_NAME: "`{name}`: the name of a kernel consists of letters, digits, `-`, `_` and `.`, and begins with one of the first two",
        "`{name}`: カーネルの名前には英数字、`-`、`_`、`.` が使え、先頭は英数字です";
    NO_HOME: "HOME is not set, so there is no cache folder",
        "HOME が設定されていないため、キャッシュのフォルダーがありません";
    KERNEL_IS_MADE_BY: "{why}: `{builds}` makes it, once, in about 10 minutes",
        "{why}。`{builds}` で作ります(1 回だけ、約 10 分)";
    NO_GUEST_KERNEL: "there is no kernel{whose} for guests",
        "ゲスト用のカーネル{whose}がありません";
    KERNEL_OF_ANOTHER: "the kernel{whose} for guests was made for another version of raidloom",
        "ゲスト用のカーネル{whose}は別のバージョンの raidloom のものです";
    BESIDE_OF_ANOTHER: "what is beside the kernel{whose} for guests was made for another version of raidloom: `{builds}` makes it anew, at once",
        "ゲスト用のカーネル{whose}に付属するものが別のバージョンの raidloom 用です。`{builds}` ですぐに作り直せます";
    NOT_WHAT_WAS_BUILT: "{path}: not what was built; `{builds}` makes it again",
        "{path}: ビルドしたものと異なります。`{builds}` で作り直せます";

    // How a guest is set up.
    ONE_OF_NAMES: "`{text}`: expected one of {names}", "`{text}`: 使えるのは {names} です";
    GUEST_FOLDER_HIDES: "{path}: a guest has a folder of its own there and does not see it; run raidloom from another",
        "{path}: ゲストではその場所に独自のフォルダーがあり、見えません。別の場所から raidloom を実行してください";
    NOT_UTF_8: "{path}: not UTF-8; run raidloom from another folder",
        "{path}: UTF-8 ではありません。別のフォルダーから raidloom を実行してください";
    ONE_DISK_FOR_FILE_SYSTEM: "a file system takes one disk, and there are {count}: join them in the stack, or with md",
        "ファイルシステムにはディスク 1 台が必要ですが、{count} 台あります。スタックか md でまとめてください";
    MD_NO_LEVEL: "md: `{level}` is no level; there are {levels}",
        "md: `{level}` というレベルはありません。使えるもの: {levels}";
    MD_BITMAP_OR_LOG: "md: an array has a bitmap or a partial parity log, not both: leave `{word}` or `{with_log}` out",
        "md: ビットマップと部分パリティログは同時に使えません。`{word}` か `{with_log}` を外してください";
    MD_NO_LOG: "md: `{word}`: {level} has no partial parity log; raid5 has",
        "md: `{word}`: 部分パリティログは raid5 だけで、{level} にはありません";
    MD_WORD: "md: `{word}` is not understood; expected chunk=SIZE, layout=NAME, bitmap=none|internal or {with_log}, as in `raid5 chunk=64KiB`",
        "md: `{word}` は解釈できません。chunk=SIZE、layout=NAME、bitmap=none|internal、{with_log} が使えます。例: `raid5 chunk=64KiB`";
    MD_CHUNK: "md: chunk={text}: expected a size such as 64KiB",
        "md: chunk={text}: 64KiB のようなサイズを指定してください";
}
