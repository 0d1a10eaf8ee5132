//! What caches and overlays fail with and tell of themselves, in every language.

words::catalogue! {
    // Where it was.
    CACHE: "cache", "キャッシュ";
    CACHE_DEVICE: "the cache's device", "キャッシュのデバイス";
    OVERLAY: "overlay", "オーバーレイ";
    OVERLAYS_DELTA: "overlay's delta", "オーバーレイの差分";
    THE_DELTA: "the overlay's delta", "オーバーレイの差分";
    RANGES_OF_CACHE: "the ranges of the cache", "キャッシュの範囲";
    INDEX_OF_OVERLAY: "the index of the overlay", "オーバーレイの索引";
    WAITING_FOR_WRITE_OUT: "waiting for the write-out", "書き出しの待機";

    // Superblocks and pages.
    A_CACHE_DISK: "a cache", "キャッシュ";
    A_DELTA: "a delta", "差分";
    OTHER_THAN_CACHE: "it holds something else than a cache's blocks; name a new file",
        "キャッシュではないものが入っています。新しいファイルを指定してください";
    OTHER_THAN_DELTA: "it holds something else than the delta of an overlay; name a new file",
        "オーバーレイの差分ではないものが入っています。新しいファイルを指定してください";
    CHECKSUM_WRONG: "the superblock's checksum is wrong", "スーパーブロックのチェックサムが一致しません";
    OTHER_CACHE_VERSION: "{name} of version {found}; this raidloom knows version {known}",
        "バージョン {found} の{name}です。この raidloom はバージョン {known} に対応しています";
    STATE_UNKNOWN: "the superblock's state is {state}", "スーパーブロックの状態が {state} です";
    SIZES_CONTRADICT: "the superblock's sizes contradict one another",
        "スーパーブロックのサイズが互いに矛盾しています";
    CACHE_MADE_FOR: "the cache was made for {name}, {what}", "キャッシュは {name} 用に作られました: {what}";
    DELTA_MADE_FOR: "the delta was made for {name}, {what}", "差分は {name} 用に作られました: {what}";
    OF_SIZE: "of {made}; this device has {now}", "サイズは {made} で、このデバイスは {now} です";
    WITH_LOGICAL_BLOCKS: "with logical blocks of {made} bytes; here they have {now} (file:PATH?block={made})",
        "論理ブロックは {made} バイトで、ここでは {now} バイトです(file:PATH?block={made})";
    WITH_BLOCKS: "with blocks of {made} bytes; here they have {now}",
        "ブロックは {made} バイトで、ここでは {now} バイトです";
    WITH_BLOCK: "with block={made}; here it is {now}", "block={made} でしたが、ここでは {now} です";
    ON_STORE: "on {made}; its device has {now} now", "{made} の上に作られましたが、そのデバイスは今 {now} です";
    MAP_PAGE_DAMAGED: "page {number} of the map is damaged: {what}", "マップのページ {number} が壊れています: {what}";
    INDEX_PAGE_DAMAGED: "page {number} of the index is damaged: {what}", "索引のページ {number} が壊れています: {what}";
    MARKS_PAGE_DAMAGED: "page {number} of the marks of the index is damaged: {what}",
        "索引の印のページ {number} が壊れています: {what}";
    ALL_ZERO: "it is all zero, as trim or a lost extent leaves it",
        "すべて 0 です(trim やエクステントの喪失の跡)";
    ITS_CHECKSUM: "its checksum is wrong", "チェックサムが一致しません";
    ITS_KIND: "its kind is wrong", "種類が違います";
    ITS_GENERATION: "its generation is wrong", "世代が違います";
    ITS_NUMBER: "its number is wrong", "番号が違います";
    NEITHER_CLEAN_NOR_DIRTY: "a slot is neither clean nor dirty", "スロットの状態が不正です";
    NO_BLOCK_BELOW: "the device below has no block {block}", "下のデバイスにブロック {block} はありません";
    SLOTS_CONTRADICT: "the map is damaged: a block is in two slots, or in one that is not there",
        "マップが壊れています: 1 つのブロックが 2 つのスロットにあるか、存在しないスロットにあります";
    OTHER_MAP: "the map is not the one that the cache was closed with: it had {clean} clean and {dirty} dirty blocks, and now it has {clean_now} and {dirty_now}",
        "マップがキャッシュを閉じたときのものではありません: クリーン {clean}、未書き出し {dirty} ブロックでしたが、今は {clean_now} と {dirty_now} です";

    // How the device below is now, in words that follow it.
    IS_UNCHANGED: "is unchanged", "変わっていません";
    SAME_AFTER_CRASH: "is the same, as far as can be known after a crash",
        "クラッシュ後にわかる範囲では同じものです";
    HAS_OTHER_SIZE: "has {now} bytes, and had {before}", "{now} バイトで、以前は {before} バイトでした";
    ANOTHER_ARRAY: "is not the array that it was (its UUID is another one)",
        "以前のアレイではありません(UUID が異なります)";
    OLDER_STATE: "is an older state of the array: its events are fewer than they were",
        "アレイの以前の状態です(イベント数が減っています)";
    WAS_WRITTEN_TO: "was written to in the meantime", "その間に書き込まれています";
    ANOTHER_DEVICE: "is another file or disk, or was moved or copied",
        "別のファイルかディスク、または移動か複製されたものです";
    MEMBERS_MISSING: "has not all the members that it had", "以前のメンバーがそろっていません";
    SAME_BUT_UNTOLD: "is the same, but nothing tells whether it was written to in the meantime",
        "同じものですが、その間に書き込まれたかどうかわかりません";
    CANNOT_BE_TOLD: "cannot be told from another one", "別のものと区別できません";
    READS_OTHERWISE: "reads otherwise than it did, though nobody has written to it: a place could not be read then or cannot be now",
        "書き込まれていないのに内容が異なります: 以前か今、読めない箇所があります";
    HOLDS_OTHER_DATA: "holds other data: it is another device, or somebody has written to it in the meantime",
        "内容が異なります: 別のデバイスか、その間に書き込まれています";

    // What a store that is kept comes to.
    BELOW_LACKS_DIRTY: "the device below lacks {dirty}; open the cache with mode=write-back, which writes them out",
        "下のデバイスにまだないものがあります: {dirty}。mode=write-back で開くと書き出します";
    KEEPS_DIRTY: "the cache keeps what is dirty in it and forgets the rest: the device below {why}",
        "キャッシュは未書き出しのものだけを残し、ほかを忘れます: 下のデバイスは{why}";
    DIRTY_OVER_CHANGED: "the cache was made for {name} and has {dirty}, but the device below {why}. `raidloom array cache salvage STORE DEVICE` shows what the cache has and writes it out; believe=sample vouches for the device",
        "キャッシュは {name} 用に作られ、未書き出しのものがあります: {dirty}。しかし下のデバイスは{why}。`raidloom array cache salvage STORE DEVICE` で内容を確認し書き出せます。believe=sample はデバイスが正しいとみなします";
    MADE_FOR_ANOTHER: "the cache was made for {name}, and the device below {why}; name a new file, or remove the old one",
        "キャッシュは {name} 用に作られ、下のデバイスは{why}。新しいファイルを指定するか、古いものを削除してください";
    BEGINS_EMPTY: "the cache begins empty: the device below {why}", "キャッシュは空から始まります: 下のデバイスは{why}";
    STORE_TOO_SMALL: "the cache's device is too small: beside the data it holds a map and takes up to 4MiB for itself",
        "キャッシュのデバイスが小さすぎます: データのほかにマップなどで最大 4MiB を使います";
    STORE_NOT_EMPTY: "what is to be the cache has no superblock and is not empty (byte {at} is not zero): it holds something else, or it is a store that has lost its beginning. Name a new file; a disk that holds nothing of worth can be emptied with blkdiscard",
        "キャッシュにするものにスーパーブロックがなく、空でもありません(バイト {at} が 0 ではありません)。別のものが入っているか、先頭を失ったキャッシュです。新しいファイルを指定してください。不要なディスクは blkdiscard で空にできます";
    DIRTY_BLOCKS: "{size} that were written to it, at bytes {places}{more}", "書き込まれた {size}、バイト位置 {places}{more}";
    PLACES_MORE: " and {count} places more", " ほか {count} 箇所";

    // What cannot work together.
    BLOCK_OUT_OF_RANGE: "a block of {size}; it is a power of two from 4KiB to 256KiB",
        "ブロックが {size} です。4KiB から 256KiB の 2 の累乗にしてください";
    BLOCK_UNLIKE_DEVICES: "a block of {size}; the devices take from {least} to {most}",
        "ブロックが {size} です。デバイスが扱えるのは {least} から {most} です";
    STORE_BLOCKS_LARGER: "the cache's device has blocks of {store} bytes, the device below of {below}; give the device below larger ones or the cache's smaller (block=)",
        "キャッシュのデバイスのブロックは {store} バイト、下のデバイスは {below} バイトです。下を大きくするか、キャッシュを小さくしてください(block=)";
    BLOCKS_OF_WRITE_BACK: "mode=write-back: the cache's device has blocks of {store} bytes, the device below of {below}; give the cache's the same (file:PATH?block={below})",
        "mode=write-back: キャッシュのデバイスのブロックは {store} バイト、下のデバイスは {below} バイトです。同じにしてください(file:PATH?block={below})";
    DIRTY_OUT_OF_RANGE: "{percent} % of the cache dirty; it is a number from 1 to 90",
        "キャッシュの {percent} % が未書き出し: 1 から 90 の数にしてください";
    LIMITS_UNORDERED: "dirty_low={low}, dirty_high={high}, dirty={most}: each is at most the next: write-out ends at the first, begins at the second, and is the writers' own affair from the third on",
        "dirty_low={low}、dirty_high={high}、dirty={most}: 順に小さくない値にしてください。書き出しは 1 つ目で終わり、2 つ目で始まり、3 つ目からは書き込み側が待ちます";
    STORE_READ_ONLY: "the cache's device cannot be written", "キャッシュのデバイスに書き込めません";
    WRITE_BACK_READ_ONLY: "mode=write-back over a device that cannot be written; use mode=read-only",
        "書き込めないデバイスに mode=write-back は使えません。mode=read-only にしてください";
    NO_BLOCK_FITS: "a cache holds at least one block; give it more room",
        "キャッシュには 1 ブロック以上が必要です。容量を増やしてください";
    TOO_MANY_BLOCKS: "{count} blocks are more than the {most} that a cache keeps track of; choose a larger block",
        "{count} ブロックは管理できる上限 {most} を超えます。ブロックを大きくしてください";
    DEVICE_TOO_LARGE: "a device of {count} blocks; a cache tells {most} apart; choose a larger block",
        "デバイスが {count} ブロックです。区別できるのは {most} ブロックまでなので、ブロックを大きくしてください";

    // A cache at work.
    CLOSED: "the cache was closed", "キャッシュは閉じられています";
    CACHE_WRITE_UNANSWERED: "cache: a device never answered to a write, and nobody knows what it holds",
        "キャッシュ: デバイスが書き込みに応答せず、内容が不明です";
    DEVICE_UNUSED: "its device has failed and is not used any more", "デバイスが故障したため、使っていません";
    FAILED_WITH_DIRTY: "the cache's device has failed, and the device below lacks {dirty}",
        "キャッシュのデバイスが故障し、下のデバイスにまだないものがあります: {dirty}";
    SIZE_IS_THE_DEVICES: "the size of a cache on a device is that of the device, which its superblock names; write it out (raidloom array cache flush), stop the array and start it over a new file of the size wanted (file:PATH?size=SIZE)",
        "デバイス上のキャッシュのサイズは、スーパーブロックにあるデバイスのサイズです。書き出し(raidloom array cache flush)、アレイを停止し、必要なサイズの新しいファイル(file:PATH?size=SIZE)で起動してください";
    MORE_THAN_IT_CAN_HAVE: "{size} is more than it can have: at most {most}", "{size} は上限 {most} を超えます";
    BEING_RESIZED: "it is being given another size already", "すでにサイズを変更中です";
    SIZE_STAYS: "its size stays as it was: a dirty block in what is to go cannot be written out",
        "サイズは変わりません: 削る部分の未書き出しブロックを書き出せませんでした";

    // Salvaging.
    AND_MORE: "and more", "ほか";
    NO_CACHE_SUPERBLOCK_LEFT: "it has no cache's superblock: no cache has used it, or it has lost its beginning",
        "キャッシュのスーパーブロックがありません。キャッシュとして使われていないか、先頭を失っています";
    TARGET_TOO_SMALL: "{target} has {bytes} bytes, and the cache's device had {before}",
        "{target} は {bytes} バイトで、キャッシュの元のデバイスは {before} バイトでした";
    LOST_PAGE: "page {number} of the map, with up to {count} blocks", "マップのページ {number}(最大 {count} ブロック)";
    LOST_BYTES: "bytes {start}+{length}", "バイト {start}+{length}";

    // Overlays.
    KEPT_BEFORE: "keep=no: the delta keeps changes of an earlier time; commit or discard them, or name another file",
        "keep=no: 差分に以前の変更が残っています。書き戻すか破棄するか、別のファイルを指定してください";
    DELTA_READ_ONLY: "the delta cannot be written", "差分に書き込めません";
    DELTA_EMPTY_READ_ONLY: "the delta is empty and cannot be written", "差分が空で、書き込めません";
    COMMIT_INTERRUPTED: "a commit of the delta was interrupted, and the device below has a part of it; finish it with `raidloom array overlay --commit`",
        "差分の書き戻しが中断し、下のデバイスには一部だけがあります。`raidloom array overlay --commit` で完了してください";
    FINISH_COMMIT: "a commit of the delta was interrupted: without it the device below is neither old nor new; finish the commit",
        "差分の書き戻しが中断しています。差分がないと下のデバイスは新旧どちらでもなくなるため、書き戻しを完了してください";
    BELIEVED_BY_SAMPLE: "the delta is believed to belong to the device below by a sample of its data: the device {why}",
        "データの抜き取りから、差分は下のデバイスのものとみなします: デバイスは{why}";
    DELTA_OVER_CHANGED: "the delta was made for {name}, and the device below {why}: together they would be parts of two states. believe=sample vouches for a device that was only moved or copied",
        "差分は {name} 用に作られ、下のデバイスは{why}。組み合わせると 2 つの状態が混ざります。移動か複製だけなら believe=sample で正しいとみなせます";
    OVERLAY_SUPERBLOCK_LACKS: "{device} has no overlay's superblock", "{device} にオーバーレイのスーパーブロックがありません";
    DELTA_NOT_EMPTY: "what is to be the delta has no superblock and is not empty (byte {at} is not zero): it holds something else, or it is a delta that has lost its beginning; name a new file",
        "差分にするものにスーパーブロックがなく、空でもありません(バイト {at} が 0 ではありません)。別のものが入っているか、先頭を失った差分です。新しいファイルを指定してください";
    DELTA_LOST_BEGINNING: "the delta has lost its beginning, and with it what says which blocks were changed. Restore it, or name a new file; a disk that holds nothing of worth can be emptied with blkdiscard",
        "差分の先頭が失われ、どのブロックが変更されたかわかりません。復元するか、新しいファイルを指定してください。不要なディスクは blkdiscard で空にできます";
    DELTA_NEVER_ANSWERED: "overlay: the delta never answered to a page of its index, and nobody knows what it holds",
        "オーバーレイ: 差分が索引のページに応答せず、内容が不明です";
    DELTA_TOO_SMALL: "the delta has {size}; over a device of {below} it needs {needed} (a sparse file takes the space of what is written only)",
        "差分は {size} です。{below} のデバイスには {needed} 必要です(スパースファイルなら書いた分だけ容量を使います)";
    NOT_WHOLE_BLOCKS: "the device below has {bytes} bytes, which are not whole blocks of the delta ({block} bytes)",
        "下のデバイスは {bytes} バイトで、差分のブロック({block} バイト)の倍数ではありません";
    DELTA_BLOCKS_SMALLER: "the delta's blocks have {delta} bytes, those of the device below {below}; give the delta the same (file:PATH?block={below})",
        "差分のブロックは {delta} バイト、下のデバイスは {below} バイトです。差分を同じにしてください(file:PATH?block={below})";
}
