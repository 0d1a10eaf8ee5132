//! Why an array is not started, or only read, in every language.

words::catalogue! {
    ARRAY_NOT_STARTED: "the array {name} is not started: {why}", "アレイ {name} を起動しません: {why}";
    MAY_ONLY_BE_READ: "it may only be read (--read-only, or an overlay over it): {why}",
        "読み取りだけできます(--read-only、または上にオーバーレイ): {why}";
    READ_OR_FORCE: "only with --read-only or --force: {why}", "--read-only か --force が必要です: {why}";
    ONLY_WITH_FORCE: "only with --force: {why}", "--force が必要です: {why}";

    TOO_FEW_MEMBERS: "too few members for {level}: {roles}", "{level} にはメンバーが足りません: {roles}";
    ROLE_STALE: "member {role} is stale ({name})", "メンバー {role} は古い({name})";
    ROLE_NOT_REBUILT: "member {role} is not rebuilt ({name})", "メンバー {role} は再構築が終わっていない({name})";
    ROLE_MISSING: "member {role} is missing", "メンバー {role} がない";
    ROLES_MISSING: "members {first} to {last} are missing", "メンバー {first} から {last} がない";
    LEVEL_NOT_SERVED: "level is {level}, which raidloom does not serve", "レベルが {level} で、raidloom では扱えません";
    RESHAPE_BROKEN: "{why}: let the kernel's md finish it first", "{why}: 先にカーネルの md で完了させてください";
    LAYOUT_NOT_SET: "layout is not set (feature_map) and matters with these members: say original or alternate",
        "このメンバーで必要な layout が設定されていません(feature_map)。original か alternate を指定してください";
    SUPERBLOCK_0_90: "its superblock has version 0.90, which raidloom reads and never writes",
        "スーパーブロックがバージョン 0.90 です。raidloom は読むだけで書き込みません";
    UNKNOWN_FEATURES: "feature_map has bits that are not known here, {bits}",
        "feature_map に未知のビットがあります: {bits}";
    HAS_JOURNAL: "the array has a journal (feature_map), {journal}: its last writes may be there only",
        "ジャーナル(feature_map)があります({journal})。最後の書き込みはそこにしかないかもしれません";
    JOURNAL_MISSING: "which is missing", "欠落";
    RESHAPE_UNDER_WAY: "a reshape is under way (feature_map, reshape_position {position}): only the kernel's md \
        can finish it{half}",
        "リシェイプの途中です(feature_map、reshape_position {position})。完了できるのはカーネルの md だけです{half}";
    RESHAPE_IN_PLACE: "; it goes on in place, and what it was moving may be whole in mdadm's backup file only",
        "。同じ場所で進むため、移動中のものは mdadm のバックアップファイルにしか完全に残っていないかもしれません";
    SHARED_BY_HOSTS: "several hosts may share the array (feature_map)",
        "複数のホストがアレイを共有しているかもしれません(feature_map)";
    DIRTY_DEGRADED: "the array was being written (resync_offset {offset}) and lacks {missing} of {count} members \
        ({roles}): what those held next to those writes may be wrong",
        "書き込み中でした(resync_offset {offset})。メンバー {count} 個のうち {missing} 個が使えず({roles})、\
        書き込みの隣にあったそのデータは正しくないかもしれません";
    MEMBER_BEHIND: "{events}: what it holds may be older than the rest: look at it with --read-only first",
        "{events}。ほかより古いかもしれません。先に --read-only で確認してください";
    FIELDS_DIFFER: "{field} is {own}, that of {newest} {other}", "{field} が {own} で、{newest} では {other} です";
    BOTH_ACTIVE: "{one} and {other} both are active member {role} (dev_roles){same}",
        "{one} と {other} がどちらもメンバー {role} です(dev_roles){same}";
    SAME_DEVICE: ", and the same device_uuid: one is a copy", "。device_uuid も同じで、一方は複製です";

    // Arrays that run.
    ARRAY_WITHOUT_MEMBER: "an array without a member: name at least one", "メンバーのないアレイです。1 つ以上指定してください";
    MEMBERS_TOO_LARGE: "the members together have more than 2^64 bytes", "メンバーの合計が 2^64 バイトを超えます";
    OTHER_MEMBER_COUNT: "{count} members; it takes {fewest} to {most}",
        "メンバーは {fewest}〜{most} 個必要です(現在 {count} 個)";
    MEMBER_TOO_SMALL: "a member is smaller than one block of {bytes}", "メンバーが {bytes} の 1 ブロックより小さいです";
    LAYOUT_OF_RAID6: "only RAID 6 has it", "RAID 6 だけのレイアウトです";
    MEMBER_IS_OUT: "member {member} is out already", "メンバー {member} はすでに外れています";
    MEMBER_IS_NEEDED: "member {member} is needed: without it data would be lost",
        "メンバー {member} は必要です。外すとデータが失われます";
    MEMBER_IN_SERVICE: "member {member} is in service: fail it first",
        "メンバー {member} は使用中です。先に故障扱いにしてください";
    SLOT_IS_EMPTY: "the slot is empty already", "スロットはすでに空です";
    MEMBER_NOT_IN_SYNC: "member {member} is not in sync, or is being replaced already",
        "メンバー {member} は同期していないか、すでに交換中です";
    ARRAY_SLOTS: "the array has slots 0 to {last}", "アレイのスロットは 0 から {last} までです";
    SLOT_IS_TAKEN: "the slot is taken: fail and remove its member first",
        "スロットは使用中です。先にメンバーを故障扱いにして取り外してください";
    WORK_UNDER_WAY: "a {work} is under way", "{work}の実行中です";
    STILL_WRITTEN: "the array is still being written to: end what uses it first",
        "アレイはまだ書き込み中です。先に使用中のものを終えてください";
    ARRAY_STOPPED: "the array has been stopped", "アレイは停止しました";
    ANOTHER_SERVERS: "the array is another server's now", "アレイは別のサーバーのものになりました";

    // What superblocks come to.
    WITHOUT_LOG: "it was being written and lacks a member, and its partial parity log is replayed only where it is started for writing: what the missing member held next to those writes may read wrong",
        "書き込み中でメンバーが欠けていますが、部分パリティログは書き込み用に起動したときだけ再生されます。欠けたメンバーがその書き込みの隣に持っていたものは正しく読めないかもしれません";
    MEMBERS_OF_TWO_ARRAYS: "{first} is of array {one} and {second} of array {two} (set_uuid): name the members of one array",
        "{first} はアレイ {one}、{second} はアレイ {two} のものです(set_uuid)。1 つのアレイのメンバーを指定してください";
    NO_USABLE_MEMBER: "no usable member: {why}", "使えるメンバーがありません: {why}";
    NO_MEMBERS_NAMED: "no members were named", "メンバーが指定されていません";
    MARKED_FAULTY: "is marked as faulty (dev_roles)", "故障の印があります(dev_roles)";
    CLEAN_SINCE: ", and the array has been called clean since ({newest_name})",
        "。その後アレイはクリーンと記録されています({newest_name})";
    MEMBER_EVENTS: "its events are {own}, those of {newest_name} {newest}{state}",
        "イベントは {own}、{newest_name} は {newest} です{state}";
    IS_STALE: "is stale: {older}; {advice}", "古い: {older}。{advice}";
    BRING_UP_TO_DATE: "it has to be brought up to date before it counts again",
        "再び数えるには最新にする必要があります";
    CALLS_ITSELF: "calls itself {is} (dev_number {number}); {newest_name} has it as {known} (dev_roles)",
        "自身の記録は{is}(dev_number {number})、{newest_name} の記録は{known}(dev_roles)です";
    REPLACEMENT_UNFINISHED: "is a replacement for member {role} that was not finished (feature_map)",
        "メンバー {role} の交換用で、完了していません(feature_map)";
    MEMBER_IS: "active member {number}", "動作中のメンバー {number}";
    IS_JOURNAL: "journal", "ジャーナル";
    IS_FAULTY: "faulty", "故障";
    IS_SPARE: "spare", "予備";
    IS_UNKNOWN: "unknown role {raw}", "未知の役割 {raw}";
    LEVEL_UNKNOWN: "unknown level {raw}", "未知のレベル {raw}";
    // What is wrong with md's structures.
    OF_SUPERBLOCK: "superblock", "スーパーブロック";
    OF_SUPERBLOCK_0_90: "superblock of version 0.90", "バージョン 0.90 のスーパーブロック";
    OF_BITMAP: "bitmap", "ビットマップ";
    OF_LOG: "bad-block log", "不良ブロックの記録";
    OF_PPL: "PPL header", "PPL のヘッダー";
    SECTORS_AT: "{sectors} sectors at {sector}", "{sector} から {sectors} セクター";
    MAKES_BITMAP: "{chunk}, which makes {bytes} bytes of bitmap", "{chunk}(ビットマップは {bytes} バイト)";
    SECTORS_NEED: "{sectors} sectors, which need {bytes} bytes", "{sectors} セクター({bytes} バイト必要)";
    ROLE_NUMBER: "role {number}", "役割 {number}";
    PROBLEM: "md {structure}: {field} (byte {offset}) is {found}, expected {expected}",
        "md の {structure}: {field}(バイト {offset})が {found} です。正しくは {expected}";
    SUPERBLOCK_BYTES: "{bytes} bytes", "{bytes} バイト";
    SO_MANY_SECTORS: "{sectors} sectors", "{sectors} セクター";
    AT_LEAST: "at least {least}", "{least} 以上";
    AT_MOST: "at most {most}", "{most} 以下";
    AT_MOST_BYTES: "at most {bytes} bytes", "{bytes} バイト以下";
    AT_MOST_MEMBERS: "at most {most} members in all", "全部で {most} 台以下";
    AT_MOST_DATA_SIZE: "at most data_size, {most}", "data_size({most})以下";
    AT_LEAST_FOR: "at least {least} for {level}", "{level} では {least} 以上";
    FROM_TO: "{from} to {to}", "{from}〜{to}";
    BELOW: "below {end}", "{end} 未満";
    BELOW_FIELD: "below {field}, {end}", "{field}({end})未満";
    VERSION_4_TO_6: "4, 5 or 6", "4、5、6 のいずれか";
    VERSION_4_ALONE: "4, the only one that works without cluster or newer kernel",
        "4(クラスターや新しいカーネルなしで使える唯一のもの)";
    VERSIONS_KNOWN: "0.90, 1.0, 1.1 or 1.2", "0.90、1.0、1.1、1.2";
    VERSION_0: "0.90, or 0.91 in a reshape", "0.90、リシェイプ中は 0.91";
    POWER_OF_TWO: "a power of two, at least {least}", "{least} 以上の 2 の累乗";
    EVENTS_OF_SUPERBLOCK: "the superblock's, {events}, or one more", "スーパーブロックの {events} か、それに 1 を足したもの";
    MISSED_NOTHING: "a bitmap that missed nothing", "漏れのないビットマップ";
    LARGER_REGIONS: "larger regions: there is room for {bytes} bytes", "より大きな領域(空きは {bytes} バイト)";
    PLACE_SHIFTED: "a place on the member, shifted by {shift}", "{shift} ビットずらしたメンバー上の位置";
    WHOLE_UNITS: "whole units of {unit} sectors", "{unit} セクターの倍数";
    MORE_RUNS: "more runs", "それを超える区間";
    WHERE_IT_WAS_READ: "sector {sector}, where it was read", "読み込んだ位置のセクター {sector}";
    KNOWN_ROLE: "a known role", "既知の役割";
    MULTIPLE_OF_8: "a multiple of 8 sectors", "8 セクターの倍数";
    POWER_OF_8: "a power of two, at least 8 sectors", "8 セクター以上の 2 の累乗";
    LAYOUT_OF: "a layout of {level}", "{level} のレイアウト";
    SECTORS_FROM: "{sectors} sectors from sector {from}", "セクター {from} から {sectors} セクター";
    NO_MORE_THAN_MEMBER: "no more than the member has, {sectors}", "メンバーのセクター数 {sectors} 以下";
    FROM_SUPERBLOCK: "{sectors} sectors from the superblock", "スーパーブロックから {sectors} セクター";
    WITHIN_MEMBER: "within the member", "メンバーの範囲内";
    OUTSIDE_SUPERBLOCK: "outside the superblock", "スーパーブロックの外";
    OUTSIDE_DATA: "outside the data", "データの外";
    COPIES_OF_EACH_KIND: "1 to 255 copies of each kind", "各種類 1〜255 個の複製";
    MORE_COPIES_THAN_MEMBERS: "{copies} copies on {members} members; a member holds one at most",
        "{members} 台に複製 {copies} 個(1 台に 1 個まで)";
    OFFSET_NEEDS_MULTIPLE: "with `offset`, {near} near copies need a multiple of {near} members, not {members}",
        "`offset` では near の複製 {near} 個にメンバー数が {near} の倍数必要({members} 台)";
    RESHAPE_CHUNK: "a chunk of {sectors} sectors (new_chunk)", "チャンク {sectors} セクター(new_chunk)";
    RESHAPE_LAYOUT: "a layout of {code} (new_layout)", "レイアウト {code}(new_layout)";
    RESHAPE_LAYOUT_EXPECTED: "the layout {layout} (new_layout), expected {expected}",
        "レイアウト {layout}(new_layout、正しくは {expected})";
    RESHAPE_OF_LEVEL: "the reshape is to make {new} (new_level) of {level}",
        "{level} から {new}(new_level)へのリシェイプです";
    NO_RESHAPE_OF_LEVEL: "{level} has no reshape that raidloom knows", "{level} のリシェイプには対応していません";
    RESHAPE_MEMBERS: "the reshape has a shape of {members} members (delta_disks {delta})",
        "リシェイプのメンバー数が {members} です(delta_disks {delta})";
    RESHAPE_HAS: "the reshape has {what}", "リシェイプの値が不正です: {what}";
    RESHAPE_NOT_FOLLOWED: "the reshape changes layout or chunk of {level} (new_layout, new_chunk), which raidloom does not follow",
        "{level} のレイアウトかチャンクを変えるリシェイプ(new_layout、new_chunk)で、対応していません";
    SIZE_IS: "size is {sectors} sectors", "size が {sectors} セクターです";

    START_READY: "ready", "起動できます";
    START_READ_ONLY: "read-only", "読み取り専用";
    START_READ_ONLY_OR_FORCE: "read-only, or needs --force", "読み取り専用、または --force が必要";
    START_NEEDS_FORCE: "needs --force", "--force が必要";
    START_REFUSED: "refused", "起動できません";
    OLD_COPY: "it was last updated {seconds} s before {newest_name} (utime), though its events do not say so: it is an old copy",
        "イベントからはわかりませんが、最終更新が {newest_name} より {seconds} 秒前です(utime)。古い写しです";
    MAY_BE_OLDER: "{name}: {older}, and what it holds may be older than the rest",
        "{name}: {older}。ほかより古い内容かもしれません";

    // New arrays.
    MEMBER_SECTORS: "{name} is too small: it has {sectors} sectors, and {data_offset} come before the data",
        "{name} は小さすぎます。{sectors} セクターのうち、データの前に {data_offset} セクター必要です";
    NO_BITMAP_WANTED: "the array is to have no bitmap", "アレイにはビットマップを付けない設定です";
    ARRAY_NAME_TOO_LONG: "the name '{name}' has more than 32 bytes or a zero byte in it",
        "名前 '{name}' が 32 バイトを超えるか、0 のバイトを含みます";
    NAME_UNFIT: "the name {name} is empty or has a control character in it, such as a line feed",
        "名前 {name} が空か、改行などの制御文字を含みます";
    LEVEL_NOT_MADE: "raidloom makes no arrays of {level}",
        "raidloom は {level} のアレイを作りません";
    LEVEL_LAYOUT: "{level} has no layout {layout}", "{level} にレイアウト {layout} はありません";
    LEVEL_NO_CHUNKS: "{level} has no chunks", "{level} にチャンクはありません";
    LEVEL_NO_LOG: "only raid5 can have a partial parity log, not {level}",
        "部分パリティログは raid5 だけです({level} にはありません)";
    LEVEL_NO_BITMAP: "{level} has no redundancy that a bitmap could help with",
        "{level} には冗長性がなく、ビットマップは役に立ちません";
    ROLE_TAKEN: "{name}: there is an active member {role} already",
        "{name}: 動作中のメンバー {role} がすでにあります";
    ROLE_PAST_END: "{name}: member {role} of {places} places",
        "{name}: 場所は {places} 個ですが、メンバー {role} です";
    ROLE_UNFIT: "{name}: a new {level} array has no use for a member as {role}",
        "{name}: 新しい {level} のアレイでは、役割が{role}のメンバーを使いません";
    NOT_ONE_CHUNK: "{smallest} is too small: not one chunk fits behind what md needs itself",
        "{smallest} は小さすぎます。md 自身が使う分の後にチャンクが 1 つも入りません";

    // Shapes of arrays without superblocks.
    OFFSET_LEAVES_NOTHING: "offset={offset}: {name} has {size}, of which that leaves no whole blocks of {block}",
        "offset={offset}: {name} は {size} で、{block} のブロック単位で残りません";
    LESS_THAN_A_BLOCK: "{name} has {size}, less than one block of {block}",
        "{name} は {size} で、{block} のブロック 1 つより小さいです";
    FAR_COPIES_ROOM: "chunk={chunk}: the smallest member has no room for {copies} far copies",
        "chunk={chunk}: 最小のメンバーに far コピー {copies} 個の余地がありません";
    TOO_MANY_MEMBERS: "{count} members; an array has at most {members_max}",
        "メンバーが {count} 台です。アレイは最大 {members_max} 台です";
    CHUNK_ZERO: "chunk=0: a chunk holds at least one block of {block} (64KiB is a usual size)",
        "chunk=0: チャンクは {block} のブロック 1 つ以上です(通常は 64KiB)";
    CHUNK_NO_MULTIPLE: "chunk={chunk}: not a multiple of the block size, {block}",
        "chunk={chunk}: ブロックサイズ {block} の倍数ではありません";
    CHUNK_OVER_4GIB: "chunk={chunk}: a chunk must be smaller than 4GiB",
        "chunk={chunk}: チャンクは 4GiB 未満にしてください";
    CHUNK_LARGER_THAN: "chunk={chunk}: larger than {name}, which has {size}",
        "chunk={chunk}: {name}({size})より大きいです";

    // Starting an array.
    NO_MEMBER_THERE: "no member is there", "メンバーが 1 台もありません";
    LOOKED_TOO_LONG: "it took too long to look at the members: start again",
        "メンバーの確認に時間がかかりすぎました。もう一度起動してください";
    UNKNOWN_LAYOUT: "layout {layout}", "レイアウト {layout}";
    LEVEL_UNSERVED: "level {other} is not served", "レベル {other} は扱えません";
    OTHER_HOSTS: "the array {name} is not started: members are on other hosts, and with {there} of {count} here another server may have the rest: only with force=yes, once none has",
        "アレイ {name} を起動しません。メンバーがほかのホストにあり、ここには {count} 台中 {there} 台しかないため、残りを別のサーバーが持つかもしれません。ないことを確かめてから force=yes で起動できます";
    RAID_DISKS_MAX: "raid_disks (byte 92) is {count}; an array has at most {members_max} members here",
        "raid_disks(バイト 92)が {count} です。ここではアレイのメンバーは最大 {members_max} 台です";
    NEEDS_ALL_MEMBERS: "{level} needs all of its members", "{level} にはすべてのメンバーが必要です";
    NO_PPL: "{name}: has no partial parity log (feature_map)",
        "{name}: 部分パリティログがありません(feature_map)";
    PPL_SIZE: "{name}: a log of {size} (ppl.size) does not hold a chunk, or one request not the log",
        "{name}: {size} のログ(ppl.size)にチャンクが入らないか、1 要求にログが入りません";
    BITMAP_VERSION: "{name}: the bitmap's version is {version}; only 4 can be kept up: {without_bitmap}",
        "{name}: ビットマップのバージョンが {version} です。維持できるのは 4 だけです: {without_bitmap}";
    WITHOUT_BITMAP: "--read-only reads the array, --force goes on without the bitmap",
        "--read-only なら読み取れ、--force ならビットマップなしで続けます";
    CANDIDATE_NOT_GIVEN: "the device of candidate {number} was not given",
        "候補 {number} のデバイスが渡されていません";
    SUPERBLOCK_CHANGED: "{name}: its superblock has changed since it was looked at",
        "{name}: 確認した後にスーパーブロックが変わりました";
    MEMBER_READ_ONLY: "{name}: is read-only: start the array read-only",
        "{name}: 読み取り専用です。アレイを読み取り専用で起動してください";
    MISPLACED: "{name}: {what} at byte {byte} does not start on a block of {block} bytes",
        "{name}: バイト {byte} の{what}が {block} バイトのブロックの境界にありません";
    THE_DATA: "the data (data_offset)", "データ(data_offset)";
    THE_SUPERBLOCK: "the superblock (super_offset)", "スーパーブロック(super_offset)";
    LOG_LEFT_OUT: "{name}: the bad-block log is left out, {without}: {error}",
        "{name}: 不良ブロックの記録を使いません。{without}: {error}";
    LOST_READS_AS_DATA: "what it named may read as data",
        "記録にある部分がデータとして読めるかもしれません";
    LOG_ADVICE: "what it named would read as data: --read-only reads the array without it, --force goes on without it",
        "記録にある部分がデータとして読まれます。--read-only なら記録なしでアレイを読み、--force なら記録なしで続けます";
    BAD_BLOCK_LOG: "the bad-block log", "不良ブロックの記録";
    NEW_DATA_START: "{name}: data of the new shape would begin {moved} sectors (new_offset) after sector {from}",
        "{name}: 新しい構成のデータがセクター {from} から {moved} セクターの位置(new_offset)で始まることになります";
    DATA_NOT_ON_BLOCK: "{name}: data at byte {data_offset} do not start on a block of {block} bytes",
        "{name}: バイト {data_offset} のデータが {block} バイトのブロックの境界にありません";
    NO_KNOWN_RESHAPE: "{level} with the layout {layout} has no reshape that raidloom knows",
        "{level} のレイアウト {layout} のリシェイプは raidloom では扱えません";
    NOT_WRITTEN_WITHIN: "the array {name} is not started: its members were not written within {time}",
        "アレイ {name} を起動しません。メンバーへの書き込みが {time} 以内に終わりませんでした";
    WAITING_FOR_MEMBERS: "waiting for the members", "メンバーの待機";
    SPARE_UNWRITTEN: "{name}: nothing was written to it: the members did not tell in time whether the array is still this server's; try again",
        "{name}: 何も書き込みませんでした。アレイがまだこのサーバーのものか、時間内にメンバーから確認できませんでした。もう一度試してください";
    NO_SPARE_ANY_MORE: "{name}: it is no spare of the array any more",
        "{name}: もうこのアレイの予備ではありません";
    TAKES_NO_MEMBERS: "the array takes no members: it keeps no metadata",
        "アレイはメタデータを持たないため、メンバーを追加できません";
    IN_SERVICE: "it is member {slot}, which is in service, or a copy of it (device_uuid)",
        "使用中のメンバー {slot} か、その写しです(device_uuid)";
    DATA_CANNOT_BEGIN: "its data cannot begin where they began when it was a member: {problem}",
        "データをメンバーだったときと同じ位置から始められません: {problem}";
    SECTORS_NEEDED: "{sectors} sectors; a member of this array needs {needed}",
        "{sectors} セクターです。このアレイのメンバーには {needed} セクター必要です";
    BLOCKS_TOO_LARGE: "its blocks are larger than those that the array's data are aligned to",
        "アレイのデータの境界よりブロックが大きいです";
    ANOTHER_SERVERS_NOW: "another server has written the superblock of {name}: the array is that server's now",
        "別のサーバーが {name} のスーパーブロックを書き込みました。アレイはそのサーバーのものになりました";
    READING_METADATA: "reading md's metadata", "md のメタデータの読み込み";
    ANOTHER_SERVER: "{device}: another server has this array: it has just written the superblock again. Stop it there first",
        "{device}: 別のサーバーがこのアレイを使っています(スーパーブロックが今書き直されました)。先にそちらで停止してください";
    ONLY_SO_MANY_LEFT: "only {left} of {of} members are left, and another server may have the others: nothing is written any more",
        "メンバーが {of} 台中 {left} 台しか残っておらず、ほかは別のサーバーが持つかもしれないため、もう書き込みません";
    SUPERBLOCKS_UNWRITTEN: "the superblocks could not be written",
        "スーパーブロックを書き込めませんでした";
    NOT_MARKED_CLEAN: "the array is not marked clean: {why}",
        "アレイをクリーンと記録できませんでした: {why}";
    MEMBERS_SILENT: "the members do not answer: the array is not marked clean",
        "メンバーが応答しません。アレイをクリーンと記録できませんでした";
    WRITING_METADATA: "writing md's metadata", "md のメタデータの書き込み";

    // Members and what is done with them.
    MEMBER: "member {number}", "メンバー {number}";
    MEMBER_OF: "member {number} ({device})", "メンバー {number}({device})";
    SPARE_OF: "a spare ({device})", "予備({device})";
    NAMED_MISSING: "member {number} (missing)", "メンバー {number}(欠落)";
    ONE_ABSENT: "member {members} is not there, and the rest does not make up for it",
        "メンバー {members} がなく、残りのメンバーでは補えません";
    SEVERAL_ABSENT: "members {members} are not there, and the rest does not make up for it",
        "メンバー {members} がなく、残りのメンバーでは補えません";
    REBUILD_OF: "rebuild of member {member}", "メンバー {member} の再構築";
    REPLACEMENT_OF: "replacement of member {member}", "メンバー {member} の交換";
    RESYNC: "resync", "再同期";
    CHECK: "check", "照合";
    REPAIR: "repair", "修復";
    FLUSHING: "flushing", "フラッシュ";
    ROW_LOCKS: "the row locks of the array", "アレイの行のロック";
    METADATA_WRITER: "the metadata writer of the array", "アレイのメタデータの書き込み";
    BELL_OF_SYNC: "a bell for the sync scheduler of the array", "アレイの同期の管理のための通知";

    // Requests and syncs.
    ONE_PART_MORE: "{text} (and 1 more part of the request failed)",
        "{text}(要求のほかの 1 部分も失敗しました)";
    MORE_PARTS: "{text} (and {more} more parts of the request failed)",
        "{text}(要求のほかの {more} 部分も失敗しました)";
    LOST_BEFORE: "{length} bytes at {offset}: some of it was lost before and has not been written since",
        "{offset} から {length} バイト: 一部が以前に失われ、その後書き込まれていません";
    MANY_UNREADABLE: "more than {most} places of it could not be read",
        "読み込めない箇所が {most} 箇所を超えました";
    NEVER_ANSWERED: "a write was never answered", "書き込みに応答がありませんでした";
    MEMBER_NOT_THERE: "the member is not there", "メンバーがありません";
    NO_REDUNDANCY_TO_REBUILD: "the array has no redundancy to rebuild a member from",
        "アレイに冗長性がなく、メンバーを再構築できません";
    SIZE_NEEDED: "{size}; a member of this array needs {needed}",
        "{size} です。このアレイのメンバーには {needed} 必要です";
    BLOCKS_OF: "blocks of {bytes} bytes; the array has {array}",
        "ブロックが {bytes} バイトです。アレイは {array} バイトです";
    REQUESTS_OF: "requests of at most {bytes} bytes; the array takes {array}",
        "要求が最大 {bytes} バイトです。アレイは {array} バイトを使います";
    NEW_READ_ONLY: "is read-only", "読み取り専用です";
    NEW_HAS_CACHE: "has a volatile cache, and the array was started without one",
        "揮発性キャッシュがありますが、アレイはそれなしで起動しています";
    NEW_KNOWS_NO_FUA: "knows no FUA, and the array was started with it",
        "FUA に対応していませんが、アレイは FUA ありで起動しています";
    NEW_CANNOT_ZERO: "cannot write zeroes, and the array was started so",
        "ゼロの書き込みに対応していませんが、アレイはそれを前提に起動しています";
    NEW_KEEPS_NOTHING: "keeps no data", "データを保持しません";
    NO_REDUNDANCY: "the array has no redundancy", "アレイに冗長性がありません";
    NO_SUCH_MEMBER: "there is no such member", "そのメンバーはありません";
    LACKS_NOTHING: "it lacks nothing", "不足はありません";
    BEING_FOUND_OUT: "what it lacks is being found out", "不足しているものを確認中です";
    NO_REPLACEMENT: "it has no replacement", "交換先がありません";
    RANGE_OF_BLOCKS: "the range has to be whole blocks of {block} bytes within 0 to {end}",
        "範囲は 0 から {end} までの {block} バイトのブロック単位にしてください";
    FAILED_MEANWHILE: "the member has failed meanwhile", "その間にメンバーが故障しました";
    TARGET_FAILED: "{target} has failed meanwhile; the member serves as before",
        "その間に {target} が故障しました。元のメンバーが引き続き使われます";
    BEGUN_WHEN_DUE: "a {other} is begun when it is due", "{other}は必要なときに始まります";
}
