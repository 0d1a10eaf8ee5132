//! What devices fail with, in every language.

words::catalogue! {
    // Memory.
    MORE_THAN_MEMORY: "ram: {size} are more than a device in memory can have: {most}",
        "ram: {size} はメモリーのデバイスの上限 {most} を超えます";
    NO_WHOLE_BLOCKS: "{scheme}: {size_bytes} bytes are not whole blocks of {block_bytes} bytes; give a multiple",
        "{scheme}: {size_bytes} バイトは {block_bytes} バイトのブロックの倍数ではありません。倍数にしてください";
    NO_BLOCK: "a block of {block_bytes} bytes; it must be a power of two, at least 512",
        "ブロックが {block_bytes} バイトです。512 以上の 2 の累乗にしてください";

    // Files and block devices.
    FLUSH_FAILED_OPEN_AGAIN: "{path}: an earlier flush failed, so writes may be lost; open it again ({first})",
        "{path}: 前のフラッシュが失敗し、書き込みが失われた可能性があります。開き直してください({first})";
    PART_OF_FILE: "{path}: {what} of {length} bytes at {start}",
        "{path}: {start} からの{what}({length} バイト)";
    CUT_SHORT: "{name}: read of {length} bytes at {start} met the end of the file: it was cut short while in use (now {now}, at least {end} when opened)",
        "{name}: {start} から {length} バイトの読み込み中にファイルの末尾に達しました。使用中に短くされています(現在 {now}、開いたときは {end} バイト以上)";
    SEEN_CUT_SHORT: "{path}: it was cut short while in use (now {now}, at least {end} when opened); what lay behind is gone",
        "{path}: 使用中に短くされました(現在 {now}、開いたときは {end} 以上)。その先にあったデータは失われました";
    NOW_BYTES: "{bytes} bytes", "{bytes} バイト";
    READ: "read", "読み込み";
    WRITE: "write", "書き込み";
    CLEARING: "clearing", "消去";
    DURABLE_WRITE: "durable write", "永続化する書き込み";
    NO_MULTIPLE_OF_OWN: "{name}: block={block_bytes} is no multiple of the device's own block of {own} bytes",
        "{name}: block={block_bytes} がデバイス自身のブロック {own} バイトの倍数ではありません";
    OPENING_FOR_READING: "{path}: opening it for reading", "{path}: 読み取り用に開く";
    OPENING_ON_REACTOR: "{path}: opening it on this reactor (files work in real time only)",
        "{path}: この I/O ループで開く(ファイルは実時間でのみ動きます)";
    NOT_OPEN_FOR: "{path}: the file handed over is not open for {wanted}",
        "{path}: 渡されたファイルは{wanted}用に開かれていません";
    FOR_READING: "reading", "読み取り";
    FOR_READING_AND_WRITING: "reading and writing", "読み書き";
    NO_MULTIPLE_FOR_DIRECT: "{mismatch} is no multiple of the {needed} bytes that direct I/O needs here",
        "{mismatch} はここでダイレクト I/O に必要な {needed} バイトの倍数ではありません";
    DIRECT_IMPOSSIBLE: "{path}: direct=yes, but {reason}; leave the option out to use the page cache",
        "{path}: direct=yes ですが、{reason}。オプションを外すとページキャッシュを使います";
    NO_BLOCK_IN_WINDOW: "no whole block of {block} bytes in the {available} bytes after offset {offset}",
        "offset {offset} の後の {available} バイトに {block} バイトのブロックが入りません";
    SIZE_NO_BLOCKS: "size={size_bytes} is not whole blocks of {block} bytes",
        "size={size_bytes} は {block} バイトのブロックの倍数ではありません";
    SIZE_PAST_END: "size={size_bytes} asks for more than the {available} bytes after offset {offset}",
        "size={size_bytes} は offset {offset} の後の {available} バイトを超えます";
    ASKING_SIZE_AND_KIND: "{name}: asking for its size and kind", "{name}: サイズと種類の取得";
    IS_A_FOLDER: "{name} is a folder; name a file or a block device in it",
        "{name} はフォルダーです。その中のファイルかブロックデバイスを指定してください";
    NEITHER_FILE_NOR_DEVICE: "{name} is neither a regular file nor a block device",
        "{name} は通常のファイルでもブロックデバイスでもありません";
    ASKING_FOR: "{path}: asking for its {what}", "{path}: {what}の取得";
    BLOCK_SIZE: "block size", "ブロックサイズ";
    SIZE: "size", "サイズ";
    DIRECT_REFUSED: "the file system takes no direct I/O",
        "ファイルシステムがダイレクト I/O に対応していません";
    TRIAL_READ: "a trial read of {bytes} bytes with direct I/O failed: {error}",
        "ダイレクト I/O での {bytes} バイトの試し読みに失敗しました: {error}";

    // Deadlines and recordings.
    LATE: "{name}: no answer for {late}; after {time} it counts as failed",
        "{name}: {late} の間応答がありません。{time} で故障とみなします";
    TOO_LATE: "{name}: no answer for {time}; it is not asked any more",
        "{name}: {time} の間応答がありません。以後は使いません";
    RECORDING_THERE: "record: {path} holds something already; name a new file",
        "record: {path} にはすでに内容があります。新しいファイルを指定してください";

    // Faults that were asked for.
    NO_PROBABILITY: "{name}={probability} is no probability; give a number from 0 to 1",
        "{name}={probability} は確率ではありません。0 から 1 の数を指定してください";
    NO_BAD_RANGE: "bad={offset}+{length} is no range within the {size} bytes of the device",
        "bad={offset}+{length} はデバイスの {size} バイトの範囲にありません";
    HUNG: "the device hung and came back without this request",
        "デバイスが停止し、この要求なしで復帰しました";
    VANISHED: "the device has vanished", "デバイスがなくなりました";
    WRITES_UNDER_WAY: "fault: {count} writes of before the crash are under way; poll their channels to the end",
        "fault: クラッシュ前の書き込みが {count} 件残っています。そのチャネルを最後までポーリングしてください";
    NO_POWER: "the device has no power", "デバイスの電源が切れています";
    LOST_POWER: "the device lost power since this channel was opened; open it again",
        "このチャネルを開いた後にデバイスの電源が切れました。開き直してください";
    MEETS_BAD_BLOCK: "{op}{place} meets a bad block", "{op}{place}: 不良ブロックに当たりました";
    FAILS_AS_PLANNED: "{op}{place} fails as planned", "{op}{place}: 指定どおりに失敗しました";
    OF_BYTES_AT: " of {length} bytes at {offset}", "(位置 {offset} から {length} バイト)";
    OUTSIDE_FILE: "only the file's range may be written", "書き込めるのはファイルの範囲だけです";
    FLUSH_FAILED: "an earlier flush failed, so writes may be lost; open the device again",
        "前のフラッシュが失敗し、書き込みが失われた可能性があります。デバイスを開き直してください";

    // NBD: addresses.
    NBD_URI: "`nbd:{text}`: expected nbd://HOST[:PORT][/EXPORT]",
        "`nbd:{text}`: nbd://HOST[:PORT][/EXPORT] の形で指定してください";
    NBD_UNIX_ADDRESS: "`nbd+unix:{text}`: expected nbd+unix:///EXPORT?socket=PATH",
        "`nbd+unix:{text}`: nbd+unix:///EXPORT?socket=PATH の形で指定してください";

    // NBD: connecting.
    NO_TLS: "{address}: the server does not speak TLS: for one without, say nbd: in the place of nbds:",
        "{address}: サーバーは TLS に対応していません。TLS なしなら nbds: の代わりに nbd: を使ってください";
    HOST_NO_ADDRESS: "the host has no address", "ホストにアドレスがありません";
    HANDSHAKE_LATE: "{address}: connecting: the handshake is not over after {time}",
        "{address}: 接続: ハンドシェイクが {time} で終わりません";
    CONNECTING: "connecting", "接続";
    HANGS_UP: "the server hangs up in the middle", "サーバーが途中で切断しました";
    NO_NBD_SERVER: "no NBD server listens there", "そこに NBD サーバーはありません";
    OLD_HANDSHAKE: "the server speaks the old handshake only",
        "サーバーは古いハンドシェイクにしか対応していません";
    SERVER_TOLD_NO_SIZE: "the server told no size", "サーバーがサイズを伝えませんでした";
    NO_EXPORT: "the server has no such export", "サーバーにそのエクスポートはありません";
    SERVER_DOES_NOT_PERMIT: "the server does not permit it", "サーバーが許可していません";
    WANTS_TLS: "the server wants TLS: say nbds: in the place of nbd:, and tls_ca=FILE",
        "サーバーは TLS を要求しています。nbd: の代わりに nbds: と、tls_ca=FILE を指定してください";
    TOO_OLD: "the server is too old", "サーバーが古すぎます";
    REFUSES: "the server refuses", "サーバーが拒否しました";
    HANDSHAKE: "{address}: the server's handshake: {what}",
        "{address}: サーバーとのハンドシェイク: {what}";
    REPLY_TO_ELSE: "a reply to something else", "別の要求への応答です";
    REPLY_LENGTH: "a reply of {length} bytes", "応答が {length} バイト";
    REPLY_CUT_OFF: "a reply that is cut off", "応答が途中で切れています";

    // NBD: what the export can do.

    // NBD: which ranges hold data.
    RANGE_HOLDS: "{address}: what a range holds: the answer makes no sense",
        "{address}: 範囲の内容: 応答の値がおかしい";
    ASKING_RANGE: "{address}: what a range holds", "{address}: 範囲の内容";
    GIVES_ERROR: "the server gives an error", "サーバーがエラーを返しました";

    // NBD: TLS.
    NO_TLS_HOST: "`{host}` is no name of a host for TLS",
        "`{host}` は TLS のホスト名ではありません";
    NO_CERTIFICATE: "{path}: there is no certificate in it", "{path}: 証明書が入っていません";
    CERTIFICATE_FOR_OTHER: "the server's certificate is not for `{host}`",
        "サーバーの証明書は `{host}` のものではありません";
    CERTIFICATE_EXPIRED: "the server's certificate has expired", "サーバーの証明書は期限切れです";
    CERTIFICATE_EARLY: "the server's certificate is not valid yet",
        "サーバーの証明書はまだ有効になっていません";
    CERTIFICATE_NO_ROOT: "the server's certificate leads to no root in {path}",
        "サーバーの証明書は {path} のどのルートにもつながりません";
    CERTIFICATE: "the server's certificate: {other}", "サーバーの証明書: {other}";
    TURNED_AWAY_UNKNOWN: "the server turns this client away{why}: it does not know its certificate",
        "サーバーがこのクライアントを拒否しました{why}。クライアントの証明書を知りません";
    TURNED_AWAY: "the server turns this client away{why}: if it asks for a certificate, say tls_cert=FILE and tls_key=FILE",
        "サーバーがこのクライアントを拒否しました{why}。証明書を求められる場合は tls_cert=FILE と tls_key=FILE を指定してください";

    // NBD: requests.
    REPLY_WITHOUT_DATA: "a reply without all its data", "応答のデータが足りません";
    REPLY_NO_SENSE: "the server's reply makes no sense", "サーバーの応答の値がおかしい";
    SAYS_NOT_PERMITTED: "not permitted", "許可されていません";
    SAYS_IO_ERROR: "input/output error", "入出力エラー";
    SAYS_INVALID: "the request makes no sense to it", "要求が無効です";
    SAYS_NO_SPACE: "no space left", "空き容量がありません";
    SAYS_CANNOT: "it cannot do this", "対応していません";
    SAYS_SHUTS_DOWN: "it shuts down", "停止中です";
    SAYS_ERROR: "an error", "エラー";
    SERVER_SAYS: "{address}: the server says: {plain}{said}",
        "{address}: サーバーの応答: {plain}{said}";
    HAS_HUNG_UP: "the server has hung up", "サーバーが切断しました";
    CONNECTION_LOST: "{address}: the connection is lost: {text}",
        "{address}: 接続が失われました: {text}";
    WITH_WRITES: "{reason}, with writes under way", "{reason}(書き込みの途中)";
    AFTER_WRITES: "{reason}, after writes that were not flushed",
        "{reason}(フラッシュされていない書き込みの後)";
    TIMES_IN_A_ROW: "{reason}, {count} times in a row: the server agrees to everything and then hangs up or talks nonsense",
        "{reason}({count} 回連続。サーバーはすべてに応じた後、切断するか、おかしな応答を返します)";
    RECONNECTING_NO_ANSWER: "{address}: connecting again: no answer",
        "{address}: 再接続: 応答がありません";
    RECONNECTING_ENDED: "{address}: connecting again ended", "{address}: 再接続が終了しました";
    RECONNECTING: "{address}: connecting again", "{address}: 再接続";
    OPENING_NBD_ON_REACTOR: "{address}: opening it on this reactor (servers work in real time only)",
        "{address}: この I/O ループで開く(サーバーは実時間でのみ動きます)";
    ANOTHER_EXPORT: "{address}: the export is another one now: {size} bytes instead of {old_size}, flags {flags} instead of {old_flags}",
        "{address}: エクスポートが別のものになりました: {old_size} でなく {size} バイト、フラグは {old_flags} でなく {flags}";
    NBD_FLUSH_FAILED: "{address}: an earlier flush failed, so writes may be lost ({first})",
        "{address}: 前のフラッシュが失敗し、書き込みが失われた可能性があります({first})";

    EXPORT_READ_ONLY: "the export is read-only: say read_only=yes to read it",
        "エクスポートは読み取り専用です。読むには read_only=yes を指定してください";
    CONNECTIONS_APART: "connections={count}: what one connection writes need not be seen by another of this server (no can_multi_conn): leave it out",
        "connections={count}: このサーバーでは、ある接続の書き込みが別の接続から見えるとは限りません(can_multi_conn なし)。指定を外してください";
    NEVER_DURABLE: "the server cannot make written data durable (no FUA, and no flush for several connections): say read_only=yes to read it",
        "サーバーは書き込んだデータを永続化できません(FUA も、複数の接続でのフラッシュもなし)。読むには read_only=yes を指定してください";
    NO_DISK_REQUESTS: "requests of {least} to {most} bytes are not a disk's",
        "要求が {least} から {most} バイトでは、ディスクとして使えません";
    HAS_BYTES: "it has {bytes} bytes", "サイズが {bytes} バイトです";
}
