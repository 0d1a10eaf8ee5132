//! Why a device is not handed to other programs, in every language.

words::catalogue! {
    // What is asked for.
    ONE_OF_KINDS: "`{text}`: expected one of {kinds}", "`{text}`: 使えるのは {kinds} です";
    IMAGE_UNIT: "an image of {text}: expected a multiple of {unit_bytes} bytes",
        "イメージのサイズ {text}: {unit_bytes} バイトの倍数にしてください";
    VHD_TOO_LARGE: "an image of {text}: a VHD holds no more than {most}; raw ones do",
        "イメージのサイズ {text}: VHD の上限は {most} です(raw にはありません)";
    QUICK_OR_PERFORMANCE: "{other}: expected quick or performance",
        "{other}: quick か performance を指定してください";

    // Loop devices.
    LOOP_OVER: "a loop device over {file}", "{file} のループデバイス";
    NO_LOOP_DEVICES: "{place}: the kernel has no loop devices here ({control}); the file itself works without them",
        "{place}: ここのカーネルにはループデバイスがありません({control})。ファイル自体はそれなしで使えます";
    NAMES_NO_DEVICE: "{place}: {tool} names no device: {output}",
        "{place}: {tool} がデバイス名を返しません: {output}";
    STILL_OPEN: "{path}: {user} still has it open", "{path}: {user}がまだ開いています";
    TOOL_MISSING: "{tool} is not there: apt-get install mount",
        "{tool} がありません: apt-get install mount";
    FAILED_SILENTLY: "failed and said nothing", "失敗しましたが、理由の出力がありません";

    // FUSE.
    ONLY_A_PLAIN_FILE: "{path}: only a plain file can stand for a device",
        "{path}: デバイスの代わりにできるのは通常のファイルだけです";
    DEVICE_REQUESTS_TOO_SHORT: "{device} takes at most {bytes} bytes in a request, too few to be served",
        "{device} は 1 回の要求が最大 {bytes} バイトで、小さすぎて提供できません";
    A_PROGRAM: "a program", "プログラム";
    UNMOUNTING_FILE: "{path}: unmounting", "{path}: アンマウント";
    FIRST_WORDS: "the first words with /dev/fuse", "/dev/fuse との最初のやり取り";
    MOUNT_SILENT: "the kernel says nothing about the new mount",
        "新しいマウントについてカーネルから応答がありません";
    STARTING_THREAD: "starting a thread", "スレッドの起動";
    MOUNT_WORKER_ENDED: "a worker of the mount ended at once",
        "マウントの処理スレッドがすぐに終了しました";
    ATTACHING_TO: "attaching to {target}", "{target} への接続";
    MODPROBE_FUSE: ": `modprobe fuse` may bring it",
        ": `modprobe fuse` で使えるようになることがあります";
    OPENING_FUSE: "{place}: opening {device}{hint}", "{place}: {device} を開く{hint}";
    HELPER_MISSING: "only root may mount, and {helper} is not there: apt-get install fuse3",
        "マウントできるのは root だけで、{helper} もありません: apt-get install fuse3";
    HELPER_SILENT: "fusermount3 gave nothing back", "fusermount3 から何も返りませんでした";
    FUSE_TOO_OLD: "the kernel speaks FUSE {major}.{minor}; {major_needed}.{oldest_minor} is needed (Linux 4.20)",
        "カーネルの FUSE は {major}.{minor} です。{major_needed}.{oldest_minor} 以上(Linux 4.20)が必要です";
    NO_INIT: "the kernel's first FUSE request is not an INIT",
        "カーネルの最初の FUSE 要求が INIT ではありません";
    READING_FUSE: "reading from /dev/fuse", "/dev/fuse の読み込み";
    NO_FUSE_REQUEST: "/dev/fuse gave {length} bytes that are no request",
        "/dev/fuse から要求でない {length} バイトが届きました";

    // An NBD server.
    NEEDS_A_PATH: "unix: needs a path", "unix: にはパスが必要です";
    NO_PORT: "{text}: {port} is no port", "{text}: {port} はポート番号ではありません";
    ADDRESS_EXPECTED: "{text}: expected a path, unix:PATH, HOST:PORT, :PORT or systemd",
        "{text}: パス、unix:PATH、HOST:PORT、:PORT、systemd のどれかを指定してください";
    LISTENING: "listening on {address}", "{address} での待ち受け";
    EXPOSED: "listening on {address}: others on the network could read and write the drive; --tls-cert and --tls-key keep them out, --insecure lets them in",
        "{address} での待ち受け: ネットワーク上の他者がドライブを読み書きできます。--tls-cert と --tls-key で防ぐか、--insecure で許可してください";
    PLACE_TAKEN: "listening on {path}: the place is taken; stop who listens there, or choose another",
        "{path} での待ち受け: すでに使われています。使っているものを止めるか、別の場所を指定してください";
    SOCKETS_FROM_MANAGER: "sockets from the service manager", "サービスマネージャーからのソケット";
    NO_SOCKET_PASSED: "the service manager passed no socket (LISTEN_FDS); start it through a socket unit",
        "サービスマネージャーからソケットが渡されていません(LISTEN_FDS)。ソケットユニット経由で起動してください";
    NO_ADDRESS: "an NBD server needs an address to listen on",
        "NBD サーバーには待ち受けるアドレスが必要です";
    NBD_SERVER: "NBD server", "NBD サーバー";
    NOTHING_TO_EXPORT: "an NBD server needs something to export",
        "NBD サーバーにはエクスポートするものが必要です";
    EXPORT_NAME_TOO_LONG: "an export's name or description is longer than {string_max_bytes} bytes",
        "エクスポートの名前か説明が {string_max_bytes} バイトを超えています";
    SAME_NAME: "two exports are called \"{name}\"; give each a name of its own",
        "エクスポートの名前 \"{name}\" が重複しています。別の名前にしてください";
    STARTING_NBD_WORKER: "starting a worker for NBD", "NBD の処理スレッドの起動";
    NBD_WORKER_OF: "worker {number}", "処理スレッド {number}";
    NBD_WORKER_ENDED: "a worker for NBD ended before it began",
        "NBD の処理スレッドが始まる前に終了しました";
    // vhost-user.
    VHOST_SERVER: "a server of vhost-user", "vhost-user のサーバー";
    TOO_MANY_MACHINES: "{most} machines use it, and another was turned away",
        "すでに {most} 台の仮想マシンが使用中のため、接続を断りました";
    SERVING_VHOST: "serving a client of vhost-user", "vhost-user のクライアントへの応答";
    RING_DESCRIPTOR: "a descriptor of a ring", "リングの記述子";
    KICK_DESCRIPTOR: "a descriptor for kicks", "通知用の記述子";
    END_OF_CLIENT: "the end of a client", "クライアントの終了";
    READING_MEMORY: "reading the guest's memory at {address} (it has to be a memfd or a file; huge pages of hugetlbfs cannot be written so)",
        "{address} にあるゲストのメモリーの読み込み(memfd かファイルが必要で、hugetlbfs のページには書けません)";
    WRITING_MEMORY: "writing the guest's memory at {address} (it has to be a memfd or a file; huge pages of hugetlbfs cannot be written so)",
        "{address} にあるゲストのメモリーへの書き込み(memfd かファイルが必要で、hugetlbfs のページには書けません)";
    MEMORY_FILE: "a file of memory", "メモリーのファイル";

    // ublk.
    NO_UBLK: "this kernel has no ublk, or has not loaded it (`modprobe ublk_drv`; Linux 6.0 and later)",
        "このカーネルに ublk がないか、読み込まれていません(`modprobe ublk_drv`、Linux 6.0 以降)";
    UBLK_FOR_ROOT: "this kernel lets only root make ublk devices", "このカーネルで ublk デバイスを作れるのは root だけです";
    UBLK_NOT_GIVEN: "it is root's: a rule of udev has to make it yours",
        "root のものです。udev のルールで自分のものにする必要があります";
    MAKING_UBLK: "making a ublk device", "ublk デバイスの作成";
    UBLK_PARAMETERS: "the parameters of a ublk device", "ublk デバイスのパラメーター";
    STARTING_UBLK: "starting a ublk device", "ublk デバイスの開始";
    UBLK_NOT_ANSWERED: "the kernel's ublk driver has not answered for {time}; it may still do what it was told",
        "カーネルの ublk ドライバーが {time} 応答していません。指示が後から実行される可能性があります";
    UBLK_SILENT: "the kernel's ublk driver does not answer any more", "カーネルの ublk ドライバーが応答しなくなりました";
    UBLK_GONE: "the ublk device is there no more", "ublk デバイスがなくなっています";
    UBLK_OF_ANOTHER: "what it stood for is not what would be served now", "元の内容と、今提供するものが異なります";
    GOING_ON_WITH: "going on with {device}", "{device} の再開";
    UBLK_STILL_OPEN: "{user} still has it open", "{user}が開いたままです";
    FILE_SYSTEM_OR_PROGRAM: "a file system or a program", "ファイルシステムかプログラム";
    NOT_ANSWERED: "requests are not answered", "要求に応答がありません";
    REQUESTS_TOO_SMALL: "{device} takes at most {most} bytes in a request, too few to be served",
        "{device} の要求は最大 {most} バイトで、提供するには小さすぎます";
    QUEUE_ENDED: "a queue of the ublk device ended at once", "ublk デバイスのキューがすぐに終了しました";
    UBLK_BLOCKS: "blocks of {block} bytes: ublk devices have blocks of 512 to {page} bytes",
        "ブロックが {block} バイトです。ublk デバイスのブロックは 512〜{page} バイトです";
    SERVING_UBLK: "serving a ublk device", "ublk デバイスへの応答";
    FETCHING_UBLK: "fetching a request of a ublk device", "ublk デバイスの要求の取得";
    A_BELL: "a bell for writes that wait for others", "ほかの書き込みを待つための通知";
    BROKE_VHOST_USER: "the client does not keep to the vhost-user protocol: {detail}",
        "クライアントが vhost-user のプロトコルに反しています: {detail}";
    RECEIVING_MESSAGE: "receiving a message", "メッセージの受信";
    SERVING_MOUNT: "serving a mount", "マウントの提供";
    NO_CERTIFICATE_IN_IT: "there is no certificate in it", "証明書がありません";
    PROCESS_OF: "process {process} ({name})", "プロセス {process}({name})";
    SERVER_WITHOUT_CERTIFICATE: "{path}: there is no certificate in it", "{path}: 証明書が入っていません";
}
