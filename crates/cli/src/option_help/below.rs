//! What the options of the verbs below `array`, `guest`, `trace` and `man` mean, in Japanese.

use super::VerbOptions;

const ARRAY_NAME: (&str, &str) = ("NAME", "動作中のアレイの名前");
const MEMBER: (&str, &str) = ("MEMBER", "メンバー: スロット(0、1 …)かデバイス");
const WHICH_ARRAY: (&str, &str) = ("array", "スタックに複数のアレイがあるとき、そのどれか");
const NEW_DEVICE: (&str, &str) =
    ("DEVICE", "ファイルかブロックデバイス。入っているものは失われます");
const WAIT: (&str, &str) = ("wait", "新しいメンバーに全データがそろってから戻ります");
const USE_DEVICE: (&str, &str) = (
    "allow-device",
    "ループデバイスなど、シリアル番号のないブロックデバイスの使用に同意します(デバイスごとに 1 回)",
);
const FORMAT: (&str, &str) = ("format", "記録の形式 [省略時: 内容から判断]");
const ONE_DEVICE: (&str, &str) = ("device", "複数のデバイスの記録のうち、対象とする 1 つ");
const STRICT: (&str, &str) =
    ("strict", "おかしな箇所のある記録を、数えて読み進めるのではなく拒否します");
const SET: (&str, &str) = ("set", "下のキーの 1 つ(複数可)");

pub(super) const OPTIONS: &[VerbOptions] = &[
    (
        "array examine",
        &[(
            "PATHS",
            "イメージファイルかブロックデバイス。その一部なら FILE?offset=SIZE&size=SIZE です",
        )],
    ),
    (
        "array create",
        &[
            ("NAME", "アレイの名前(32 バイトまで)"),
            ("level", "linear、0、1、4、5、6、10(raid0、stripe、mirror なども可)"),
            ("chunk", "チャンクサイズ。チャンクのあるレベルでは省略時 512KiB です"),
            (
                "layout",
                "mdadm と同じレイアウト: left-symmetric(ls)など、n2、f2、o2。レベル 0 では original か alternate",
            ),
            (
                "member",
                "順に並べたメンバー: ファイル、ディスク、または同時に作るアレイ(`raid1(a.img, b.img)`)。`missing` はスロットを空けます",
            ),
            ("spare", "ほかが故障したときに使う予備のメンバー"),
            ("raid-devices", "メンバーの数。指定したものと照合します"),
            ("spare-devices", "予備の数。指定したものと照合します"),
            ("size", "ないメンバーのファイルを、このサイズで作ります"),
            ("consistency-policy", "クラッシュの後にメンバーを一致させる方法"),
            (
                "bitmap",
                "書き込みインテントビットマップをメンバーに置きます。--consistency-policy bitmap と同じです",
            ),
            (
                "bitmap-chunk",
                "ビットマップの 1 ビットが表す範囲。外れていたメンバーへのコピーの最小単位です [省略時: 64MiB、入らなければそれより大きく]",
            ),
            (
                "assume-clean",
                "メンバーはすでに一致しているとし、最初の再同期をしません。一致していなければ、修復するまでパリティが誤ったままです",
            ),
            ("encrypt", "このファイルにあるパスフレーズで、アレイの中身を暗号化します(LUKS2)"),
        ],
    ),
    (
        "array assemble",
        &[
            (
                "PATHS",
                "イメージファイル、ブロックデバイス、またはそれらのフォルダー。--scan で省略すると全ブロックデバイスです",
            ),
            (
                "scan",
                "見つかったものをすべて受け入れます(複数のアレイや、メンバーでないファイルも)",
            ),
            ("read-only", "メンバーを読み取り専用で開きます"),
            (
                "overlay",
                "メンバーを読み取り専用で開き、書き込みはこのフォルダーのファイルが受けます",
            ),
            (
                "force",
                "何かが失われるかもしれない場合も開きます(メンバーの欠けた、クリーンでないアレイ)",
            ),
        ],
    ),
    (
        "array status",
        &[
            (
                "NAME|STACK|PATH",
                "動作中のアレイの名前、スタック記法、またはメンバー(そのフォルダーも可)[省略時: 動作中のアレイごとに 1 行と、現れている場所]",
            ),
            (
                "test",
                "mdadm の終了コードで終わります: 0 正常、1 メンバーの故障、2 使用不能、4 不明",
            ),
        ],
    ),
    (
        "array start",
        &[
            (
                "STACK|NAME|FILE.toml",
                "スタック記法、設定ファイル(FILE.toml)、または /etc/raidloom(~/.config/raidloom)にある設定の名前",
            ),
            (
                "from",
                "測定した構成を起動します: STACK に識別子の先頭か値(level=raid5,chunk=64KiB)で示したもの、なければ測定が勧める構成です。スーパーブロックのあるアレイは先に作り、メンバーの内容は失われます",
            ),
            ("member", "--from とともに: プランのデバイスの代わりに使う、順に並べたメンバー"),
            (
                "store",
                "--from とともに: 測定が作ったファイルの代わりに、キャッシュの内容を置く場所",
            ),
            ("mount", "--from とともに: 構成のファイルシステムを先に作り、ここにマウントします"),
            ("name", "これからの名前 [省略時: 設定の名前、または array0、array1 …]"),
            (
                "attach",
                "このマシンに現します。ファイルの上の /dev/loopN として、=file ならファイルだけ、=ublk ならファイルのない /dev/ublkbN です",
            ),
            (
                "nbd",
                "NBD クライアントに提供する場所: PATH、HOST:PORT、:PORT、systemd、または専用フォルダーのソケットなら unix(複数可)[省略時: --attach も --vhost-user もなければ unix]",
            ),
            (
                "vhost-user",
                "このソケットで、vhost-user-blk のディスクとして仮想マシンに提供します(QEMU、cloud-hypervisor)",
            ),
            (
                "policy",
                "書き込みがいつ永続化されるか: quick(ドライブに届いた時点。その上のファイルシステムは `array mount` のように `sync` でマウントします)か performance(フラッシュの後)[省略時: performance]",
            ),
            (
                "record",
                "クライアントの要求をすべて、この新しいファイルに記録します(確認は raidloom trace)",
            ),
            (
                "run",
                "{} をパスかアドレスに置き換えてシェルコマンドを実行し、それが終わるまで提供します",
            ),
            (
                "foreground",
                "このプロセスで、Ctrl-C か `array stop` まで提供します。設定の誤りは終了コード 78 で終わり、サービスマネージャーは再試行しません",
            ),
            ("read-only", "書き込み用には何も開かず、書き込みを拒否します"),
            (
                "force",
                "何かが失われるかもしれない場合も起動します(メンバーの欠けた、クリーンでないアレイ)",
            ),
            ("create", "ないファイルを作ります(後に残ります)"),
            ("size", "そのサイズ。個別に指定(?size=)があればそちらです"),
            (
                "member-timeout",
                "アレイのメンバーの応答を待つ時間。過ぎると故障とみなします。0s なら無期限です [省略時: 30s]",
            ),
            (
                "page-cache",
                "接続したファイルから読んだものを、カーネルがページキャッシュに保つことを許します",
            ),
            ("workers", "接続したものを提供するスレッドの数 [省略時: プロセッサーの数による]"),
            ("tls-cert", "NBD サーバーの証明書(PEM)。TCP のクライアントは TLS が必要になります"),
            ("tls-key", "その秘密鍵"),
            ("tls-clients", "これらのルートからの証明書を持たない NBD クライアントを拒否します"),
            (
                "insecure",
                "ほかのマシンが TLS なしの TCP で NBD に接続することを許します。ネットワーク上のどのマシンからも読み書きできます",
            ),
            (
                "erase",
                "--from とともに: このシリアル番号のディスクの消去に同意します(ディスクごとに 1 回)",
            ),
            ("erase-signature", "--from とともに: 署名のあるメンバーの上書きに同意します"),
            USE_DEVICE,
        ],
    ),
    (
        "array incremental",
        &[
            ("DEVICE", "現れたデバイス、またはイメージファイル"),
            ("unit", "systemd のユニット raidloom@NAME として起動します。停止もそれが行います"),
        ],
    ),
    ("array stop", &[("NAME", "`array status` にある名前")]),
    (
        "array mount",
        &[
            ARRAY_NAME,
            ("FOLDER", "マウントする場所"),
            (
                "fs",
                "ファイルシステム。まだ何もなければ先に作ります。なければ、あるものをマウントします",
            ),
            ("options", "`mount -o` に渡すもの"),
        ],
    ),
    ("array umount", &[ARRAY_NAME]),
    ("array fail", &[ARRAY_NAME, MEMBER, WHICH_ARRAY]),
    ("array remove", &[ARRAY_NAME, MEMBER, WHICH_ARRAY]),
    ("array add", &[ARRAY_NAME, NEW_DEVICE, WHICH_ARRAY, WAIT]),
    ("array replace", &[ARRAY_NAME, MEMBER, NEW_DEVICE, WHICH_ARRAY, WAIT]),
    (
        "array scrub",
        &[ARRAY_NAME, ("ACTION", "行うこと"), WHICH_ARRAY, ("wait", "終わってから戻ります")],
    ),
    (
        "array set",
        &[ARRAY_NAME, ("KEY=VALUE", "設定するもの。なければ今の設定を表示します"), WHICH_ARRAY],
    ),
    ("array destroy", &[("PATHS", "メンバー(すべて 1 つのアレイのもの)")]),
    (
        "array rescue",
        &[
            (
                "PATHS",
                "イメージファイル、ブロックデバイス、それらのフォルダー、別のマシンのドライブ。`missing` は失われたメンバーです",
            ),
            ("mount", "見つかったものを、このフォルダーに読み取り専用でマウントします"),
            ("level", "メンバーの内容からの判断: このレベルだけ(linear、0、1、4、5、6、10)"),
            ("chunk", "このチャンクサイズだけ [省略時: 4KiB から 4MiB]"),
            (
                "data-offset",
                "メンバー上のデータの開始位置はこれだけ [省略時: 0、mdadm の位置、コントローラーの位置]",
            ),
            ("show", "スーパーブロックに関わらず、メンバーの内容による候補をこの数だけ並べます"),
            ("time", "この時間で探索を終え、それまでに見つかったものを示します"),
        ],
    ),
    (
        "array write",
        &[
            ("IMAGE", "イメージ: ファイルかブロックデバイス(読むだけです)"),
            ("TARGET", "スタック記法、ファイル、ブロックデバイス(イメージ以上の大きさのもの)"),
            ("no-verify", "書き込んだものの読み直しと照合をしません"),
            (
                "raw",
                "raw でないイメージ(VHD、VHDX、qcow2、VDI、VMDK)を、ファイルのバイト列のまま書き込みます",
            ),
        ],
    ),
    (
        "array cache simulate",
        &[
            ("TRACE", "記録: raidloom のもの、CSV、またはほかのプログラムのもの"),
            FORMAT,
            ONE_DEVICE,
            STRICT,
            ("sizes", "キャッシュのサイズ: バイト数か、要求される全体に対する割合"),
            ("policies", "方針: s3-fifo、sieve、lru、clock、2q、arc、lfu [省略時: すべて]"),
            ("svg", "図を SVG で書きます"),
            SET,
        ],
    ),
    (
        "array cache status",
        &[(
            "NAME|STORE",
            "動作中のアレイの名前、またはキャッシュのストア(ファイルか、それを置いたもののスタック記法)",
        )],
    ),
    (
        "array cache salvage",
        &[
            ("STORE", "ストア: ファイルか、それを置いたもののスタック記法(読むだけです)"),
            ("DEVICE", "キャッシュが対象としたデバイス。その後どう変わったかを示します"),
            ("write", "ブロックをデバイスの本来の位置に書き込みます(今の内容は上書き)"),
            ("file", "ブロックを、デバイスと同じ大きさの新しいスパースファイルに書き込みます"),
            USE_DEVICE,
        ],
    ),
    (
        "array cache flush",
        &[
            (
                "NAME|CACHE",
                "動作中のアレイの名前、または使われていないキャッシュ: cache(mode=write-back, STORE, DEVICE)",
            ),
            USE_DEVICE,
        ],
    ),
    (
        "array overlay",
        &[
            (
                "DELTA|OVERLAY",
                "差分: ファイルか、それを置いたもののスタック記法。--commit では使うときのオーバーレイ: overlay(DELTA, DEVICE)",
            ),
            ("commit", "差分の内容を下のデバイスに書き込み、差分を空にします"),
            ("discard", "差分の内容を捨てます。下のデバイスは元のままです"),
            USE_DEVICE,
        ],
    ),
    (
        "array monitor",
        &[
            ("every", "アレイを確認する間隔"),
            ("once", "1 回だけ確認し、前回からの新しい出来事を知らせて終わります(タイマー用)"),
            ("state", "知らせたものの記録先。再び起動したときに繰り返さないために使います"),
            (
                "run",
                "通知ごとにこのプログラムを実行します。RAIDLOOM_ARRAY、RAIDLOOM_EVENT、RAIDLOOM_TEXT を設定します",
            ),
            ("mail", "通知ごとに、このマシンの `sendmail` でこの宛先にメールを送ります"),
            ("webhook", "通知ごとに、この URL に `curl` で JSON を送ります"),
            (
                "metrics",
                "Prometheus 用の数値を http://ADDRESS/metrics で提供します(このマシン専用)",
            ),
        ],
    ),
    (
        "guest run",
        &[
            (
                "COMMAND",
                "実行するもの。ファイルシステムがあればその中で動きます。1 語ならシェルの 1 行です",
            ),
            ("memory", "ゲストのメモリー(ページキャッシュを含む)"),
            ("seed", "ゲスト内のすべての乱数の種"),
            SET,
            ("stack", "ゲストのディスク: model: のスタック(ディスクごとに 1 回)"),
            ("disk-size", "ゲストのディスクの大きさの上限。モデルのディスクの外周を使います"),
            (
                "fs",
                "このファイルシステムを作り、その中で作業します。なければデバイスそのものが対象です",
            ),
            ("mount-options", "mount -o に渡すもの"),
            ("md", "ゲスト自身の md でディスクをまとめます: 'raid5 chunk=64KiB'"),
            (
                "state",
                "アレイの最後のメンバーを故障(degraded)か再構築中(rebuilding)にします。raidloom のアレイなら metadata=1.2 が必要です",
            ),
            (
                "cut-at",
                "ゲストの時計で、始まりからこの時間が過ぎたときに電源を断ちます: 12.345678901s",
            ),
            ("cut-at-request", "ディスクがこの数の要求を終えたときに電源を断ちます"),
            (
                "cut-loses",
                "失われるもの: ドライブの書き込みキャッシュにあったもの、またはその一部(乱数の種による)",
            ),
            (
                "then",
                "その後、残ったものをマウントした 2 つ目のゲストで実行するもの。なければファイル名を調べ、ファイルシステムを検査します。1 つ目が $OUT に残したものは $BEFORE にあります",
            ),
            (
                "images",
                "電源断後の各ドライブの内容を、このフォルダー(新しいか空のもの)に書きます: drive0.img など",
            ),
        ],
    ),
    (
        "guest build",
        &[
            (
                "source",
                "Linux の tarball、それを展開したフォルダー、または Debian の別のパッケージのバージョン: 6.12",
            ),
            SET,
        ],
    ),
    (
        "trace",
        &[
            ("ACTION", "行うこと"),
            (
                "TRACE",
                "記録: raidloom のもの、CSV、またはほかのプログラムのもの(形式は --format)。gzip か zstd で圧縮したものも読めます",
            ),
            FORMAT,
            ONE_DEVICE,
            STRICT,
            ("from", "切り出しの始まり(記録の先頭から)"),
            ("to", "切り出しの終わり"),
            ("speed", "速さの倍率"),
            ("size", "このサイズのデバイス用にします。超える位置は折り返します"),
            ("output", "新しい記録"),
            ("html", "表示する内容を、図のある HTML のページに書きます"),
        ],
    ),
    (
        "man",
        &[
            (
                "to",
                "raidloom.1、raidloom-run.1、raidloom-array-start.1 などすべてを、このフォルダーに書きます",
            ),
            ("completions", "代わりに、このシェルの補完スクリプトを出力します"),
        ],
    ),
];
