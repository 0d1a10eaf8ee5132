//! What the status of an array says, in every language.

/// A message of the catalogue: `say!(NAME)` or `say!(NAME, place = value, …)`.
macro_rules! say {
    ($name:ident $(, $place:ident = $value:expr)* $(,)?) => {
        ::words::say!($crate::catalogue::$name $(, $place = $value)*)
    };
}
pub(crate) use say;

words::catalogue! {
    STATUS_ARRAY: " array: {name}    state: {state}    layout: {layout}",
        "アレイ: {name}    状態: {state}    構成: {layout}";
    STATUS_UUID: "  uuid: {uuid}    metadata: {metadata}, events {events}",
        "  UUID: {uuid}    メタデータ: {metadata}、イベント {events}";
    ARRAY_SIZE: "  size: {size}", "  容量: {size}";
    SIZE_UNKNOWN: "unknown", "不明";
    ARRAY_NOTE: "  note: {note}", "  注記: {note}";
    STATUS_ACTION: "action: {action}", "  対処: {action}";
    MEMBER_HEAD: "MEMBER", "メンバー";
    STATE_HEAD: "STATE", "状態";
    DEVICE_HEAD: "DEVICE", "デバイス";
    READ_ERRORS_HEAD: "READ ERRORS", "読み込みエラー";
    REBUILT_UP_TO: "up to {size}", "{size} まで";
    CONDITION_ONLINE: "ONLINE", "正常";
    CONDITION_DEGRADED: "DEGRADED", "縮退";
    CONDITION_UNUSABLE: "UNUSABLE", "使用不可";
    CONDITION_FAILED: "FAILED", "障害";
    CONDITION_READ_ONLY: "{state}, read-only", "{state}、読み込み専用";
    CONDITION_RUNNING: "{state}, running", "{state}、動作中";
    CONDITION_ACTIVE: "{state}, running, active", "{state}、動作中、書き込み中";
    CONDITION_NOT_IN_SYNC: "{state}, not in sync", "{state}、未同期";
    LAYOUT: "{level}, {members} members{chunk}{data}", "{level}、メンバー {members} 台{chunk}{data}";
    LAYOUT_CHUNK: ", chunk {size}", "、チャンク {size}";
    LAYOUT_DATA: " ({count} data)", "(データ {count} 台分)";
    MEMBER_ONLINE: "ONLINE", "正常";
    MEMBER_REBUILD: "REBUILD", "再構築";
    MEMBER_PARTIAL: "PARTIAL", "一部欠落";
    MEMBER_FAILED: "FAILED", "故障";
    MEMBER_STALE: "STALE", "古い";
    MEMBER_MISSING: "MISSING", "欠落";
    MEMBER_UNDECIDED: "UNDECIDED", "未確定";
    MEMBER_SPARE: "SPARE", "予備";
    MEMBER_JOURNAL: "JOURNAL", "ジャーナル";

    // What there is to know of an array, and what may be done.
    MEMBERSHIP_UNKNOWN: "{name} cannot be opened, so whether it is a member is not known",
        "{name} を開けないため、メンバーかどうかわかりません";
    NOTHING_WRITTEN_ANY_MORE: "nothing is written any more", "書き込みを停止しました";
    SOME_OF_IT: "some", "一部";
    DATA_LOST: "{how_much} of its data is lost (its bad-block log names it, or a rebuild could not restore it): what no other member makes up for cannot be read until it is written again",
        "データの {how_much} が失われています(不良ブロックログの記載か、再構築で復元できなかったもの)。ほかのメンバーから復元できない部分は、書き直すまで読めません";
    BRING_BACK: "bring back the members that are gone, stop it and start it again: raidloom array stop {name}",
        "失われたメンバーを戻し、停止してから起動し直してください: raidloom array stop {name}";
    LEAVE_OUT_CLAIMANTS: "leave out all but one of the devices that claim member {slot}",
        "メンバー {slot} を名乗るデバイスを 1 つだけ残し、ほかは外してください";
    FIND_MEMBERS: "find the members that are missing; the notes say what is wrong",
        "欠けているメンバーを探してください。詳細は注記にあります";
    SEE_NOTES: "the notes say what is wrong", "詳細は注記にあります";
    WHEN_IT_RUNS: " when it runs", "(起動後)";
    SPARE_TAKES_PLACE: "none: a spare takes the place{when}", "不要: 予備が代わりになります{when}";
    REPLACE_FAILED: "replace the failed member: raidloom array replace {name} {slot} PATH",
        "故障したメンバーを交換してください: raidloom array replace {name} {slot} PATH";
    ADD_STALE: "bring the stale member up to date{when}: raidloom array add {name} {path}",
        "古いメンバーを最新にしてください{when}: raidloom array add {name} {path}";
    ADD_MISSING: "give it a new member{when}: raidloom array add {name} PATH",
        "新しいメンバーを追加してください{when}: raidloom array add {name} PATH";
    RESUME_REBUILD: "go on with the rebuild of member {slot}: raidloom array scrub {name} resume",
        "メンバー {slot} の再構築を再開してください: raidloom array scrub {name} resume";
    BEING_REBUILT: "none: it is being rebuilt", "不要: 再構築中です";
    REBUILT_LATER: "none: its rebuild goes on when it runs", "不要: 起動すると再構築を再開します";
    WRITE_AGAIN: "write again, from a backup, what cannot be read",
        "読めない部分をバックアップから書き直してください";
    READING_FOLDER: "reading the folder", "フォルダーの読み取り";
    MEMBER_UNUSED: "UNUSED", "未使用";

    // What is refused.
    NO_MEANING_MADE: "{option} has no meaning for an array that is made; chunk and layout have",
        "{option} は作成するアレイでは無効です。指定できるのは chunk と layout です";
    NO_MEMBER_FILE: "no such file; --size SIZE makes the members that are not there",
        "そのようなファイルはありません。--size SIZE でメンバーのファイルを作成します";
    NO_FILE_OF_PART: "no such file, of which it could be a part", "元になるファイルがありません";
    NOTHING_MADE: "ended on request: nothing was made", "指示により終了しました。何も作成していません";
    ALL_MISSING: "every member is missing; name at least one", "すべてのメンバーが missing です。1 つ以上指定してください";
    CHUNK_TOO_LARGE: "the chunk is too large", "チャンクが大きすぎます";
    NO_ROOM_FOR_CONTAINER: "there are {size}, and a container takes {own} of it for itself",
        "容量は {size} で、コンテナー自体が {own} を使います";
    CONSISTENCY_WORDS: "expected resync, bitmap or ppl", "resync、bitmap、ppl のいずれかを指定してください";
    TWO_ARRAYS: "{first} is of array {one} and {second} of array {two} (set_uuid): name the members of one array",
        "{first} はアレイ {one} のもので、{second} はアレイ {two} のものです(set_uuid)。1 つのアレイのメンバーを指定してください";
    MEMBERS_TO_GUESS: "{count} members are named; it takes 2 to {most}",
        "{count} 個のメンバーが指定されました。2〜{most} 個必要です";
    TOO_MANY_TO_ORDER: "of {count} places no superblock says what they are; by what members hold at most {most} are put in order: name those of one array",
        "{count} 個にはスーパーブロックがありません。内容から順序を決められるのは最大 {most} 個です。1 つのアレイのものだけを指定してください";
    NOTHING_TO_HOLD_AGAINST: "all but one member are missing: there is nothing to compare",
        "1 つを除くすべてのメンバーが欠けており、比べるものがありません";
    NO_MEMBER_KIND: "a member is a file, a block device, or a drive of another machine",
        "メンバーにできるのはファイル、ブロックデバイス、別のマシンのドライブです";
    OPTION_NO_MEANING: "{name} has no meaning here; offset and size have",
        "{name} はここでは無効です。指定できるのは offset と size です";
    FILE_ENDS_BEFORE: "the file ends before that", "ファイルはその手前で終わります";
    FORCE_READS: "--force reads it all the same", "--force ならそれでも読めます";
    FORCE_STARTS: "--force starts it all the same", "--force ならそれでも起動します";
    CAN_BE_READ: "it can be read: --read-only, or --overlay DIR to try out writes",
        "読み取りはできます: --read-only、または --overlay DIR で書き込みを試せます";

    // Work that keeps an array up.
    KIND_REBUILD: "rebuild", "再構築";
    KIND_REPLACE: "replace", "交換";
    KIND_RESYNC: "resync", "再同期";
    KIND_CHECK: "check", "検査";
    KIND_REPAIR: "repair", "修復";
    MEMBER_DONE: "member {member}, {percent} % done", "メンバー {member}、{percent} % 完了";
    PERCENT_DONE: "{percent} % done", "{percent} % 完了";
    SIZE_DONE: "{size} done", "{size} 完了";
    WORK_PAUSED: ", paused", "、一時停止中";
    WORK_PACE: ", {rate} MB/s", "、{rate} MB/s";
    WORK_LEFT: ", about {time} left", "、残り約 {time}";
    FOUND_DIFFERING: "{count} sectors did not agree", "{count} セクターが不一致";
    MEMBER_WRONG: "member {member} is wrong at {places}", "メンバー {member} は {places} が不正";
    MEMBER_MENDED: "member {member} was mended at {places}", "メンバー {member} は {places} を修復";
    NOBODY_KNOWS_WHO: "nothing tells which member is wrong at {places}{what}",
        "{places} はどのメンバーが不正か判別できません{what}";
    AND_LEFT_AS_IT_IS: " and it was left as it is", "(そのままにしました)";
    AND_MADE_TO_AGREE: " and it was made to agree with the data or the first copy",
        "(データまたは最初の複製に合わせました)";
    BYTES_NOT_RESTORED: "{count} bytes could not be restored", "{count} バイトは復元できません";
    MORE_PLACES: " and more places ({size} in all)", " ほか(合計 {size})";

    // What is to be made.
    METADATA_OF_MADE: "{name}: metadata={value}: an array that is made has superblocks of version 1.2; leave the word out",
        "{name}: metadata={value}: 作るアレイのスーパーブロックはバージョン 1.2 です。この指定を外してください";
    WRITING_SUPERBLOCK: "writing its superblock", "スーパーブロックの書き込み";
    RANDOM_KEY: "random bytes for a key", "鍵用の乱数";
    MADE_WITH_MISSING: "{layer}: an array is not made with a member missing",
        "{layer}: メンバーが欠けたアレイは作りません";
    IS_NO_ARRAY: "{layer}: it is no array", "{layer}: アレイではありません";
    LAYOUT_OF_LEVEL: "layout {given}: expected {expected} for {level}",
        "レイアウト {given}: {level} では {expected} です";
    RAID0_LAYOUTS: "original or alternate", "original か alternate";
    PARITY_LAYOUTS: "left-symmetric (ls), left-asymmetric (la), right-symmetric (rs), right-asymmetric (ra) or another of md's layouts",
        "left-symmetric(ls)、left-asymmetric(la)、right-symmetric(rs)、right-asymmetric(ra)など md のレイアウト";
    RAID10_LAYOUTS: "n2, f2, o2 or the like", "n2、f2、o2 など";
    NO_LAYOUT_OF_LEVEL: "no layout: there is only one", "レイアウトの指定なし(1 つだけ)";
    MEMBER_NUMBER: "member {number}", "メンバー {number}";
    WAS_OF_ARRAY: "{role} of {array}", "{array} の{role}";
    ERASING_SUPERBLOCK: "erasing its superblock", "スーパーブロックの消去";
    READING_SUPERBLOCK: "{source}: reading its superblock", "{source}: スーパーブロックの読み込み";
    READING_PARTITIONS: "{source}: reading its partition table",
        "{source}: パーティションテーブルの読み込み";
    SUPERBLOCK_DAMAGED: "{path}: its superblock of version {version} is damaged: {problem}",
        "{path}: バージョン {version} のスーパーブロックが壊れています: {problem}";
    NO_SUPERBLOCK: "{path}: no md superblock of version {version} on it",
        "{path}: バージョン {version} の md スーパーブロックがありません";
    NOT_PUT_BACK: "; what {source} held before could not be put back: {problem}",
        "。{source} の元の内容を戻せませんでした: {problem}";

    // What is found of lost arrays.
    SUPERBLOCK_OF_PARTITION: "its superblock is that of its partition {own}",
        "パーティション {own} のスーパーブロックです";
    SHAPE_CHUNK: ", chunk {size}", "、チャンク {size}";
    SHAPE_DATA_FROM: ", data from {offset}", "、データ位置 {offset}";
    SHAPE_EACH_MEMBER: ", each member {shape} of {count}", "、各メンバーは {count} 台の {shape}";
    SHAPE_ONE_DRIVE: "one drive", "ドライブ 1 台";
    ONE_DRIVE_FROM: "one drive, data from {offset} on", "ドライブ 1 台、データ位置 {offset}";
    LEVEL_OF: "{level} of {count}", "{level}、{count} 台";
    CHUNKS_OF: "chunks of {size}", "チャンク {size}";
    OF_VERSION: "version {version}", "バージョン {version}";
    OVER_MIRRORS: "an array over {count} mirrors", "{count} 個のミラー上のアレイ";
    OVER_LEVEL_5: "an array over {count} arrays of level 5", "レベル 5 のアレイ {count} 個の上のアレイ";
    OVER_LEVEL_6: "an array over {count} arrays of level 6", "レベル 6 のアレイ {count} 個の上のアレイ";
    SHAPE_OVER_MIRRORS: "{shape} over mirrors", "ミラー上の {shape}";
    SHAPE_OVER_ARRAYS: "{shape} over arrays", "アレイ上の {shape}";
    ALL_HOLD_THE_SAME: "all members hold the same in {fits} of {of} places: raid1",
        "調べた {of} 箇所のうち {fits} 箇所で全メンバーが同じ内容です: raid1";
    ALL_ADD_UP: "all members add up to zero in {fits} of {of} places: raid4 or raid5, or copies side by side",
        "調べた {of} 箇所のうち {fits} 箇所で全メンバーの合計が 0 です: raid4 か raid5、または並んだ複製";
    ALL_BUT_ONE_ADD_UP: "all members but one add up to zero in {fits} of {of} places: P and Q of raid6, or raid5 and a member that does not go with it",
        "調べた {of} 箇所のうち {fits} 箇所で 1 台を除く合計が 0 です: raid6 の P と Q、または raid5 と無関係な 1 台";
    HARDLY_ANYTHING_STORED: "hardly anything is stored on these members: there is little to tell from",
        "メンバーにほとんど何も書かれておらず、手がかりがわずかです";
    NO_PARITY_SHOWN: "the members show no parity", "メンバーにパリティは見られません";
    OTHERS_ADD_UP: "without the missing member the others add up to zero in {fits} of {of} places: it held Q, or does not belong to them",
        "調べた {of} 箇所のうち {fits} 箇所で、欠けた 1 台を除く合計が 0 です: それは Q を持っていたか、無関係です";
    NO_PARITY_WITHOUT: "{count} members are missing: without them no parity can be checked",
        "{count} 台のメンバーが欠けており、パリティを検査できません";
    NO_SOURCE_FITS: "nothing that was named can be a member", "指定されたものに、メンバーになりうるものはありません";
    READING_IT: "{source}: reading it", "{source}: 読み込み";
    SUPERBLOCK_DISPLACED: "{source}: a superblock is where no table of partitions has one: {at}",
        "{source}: パーティションテーブルにない位置にスーパーブロックがあります: {at}";
    ITS_SUPERBLOCK_DAMAGED: "its superblock of version {version} is damaged: {problem}",
        "バージョン {version} のスーパーブロックが壊れています: {problem}";
    WAS_BEING_WRITTEN: "it was being written to: what is missing may read wrong there",
        "書き込み中でした。欠けた部分は正しく読めないかもしれません";
    DOES_NOT_BELONG: "{source}: it does not belong to the others", "{source}: ほかのものと一緒のアレイではありません";
    UNLIKE_COPY: "{source}: it is not everywhere what the copy is that is used",
        "{source}: 使われる複製と内容が一致しないところがあります";
    NEARLY_THE_SAME: "{other}: it holds nearly the same as {used}, which is used",
        "{other}: 使われる {used} とほぼ同じ内容です";
    ONLY_MIRRORS: "these hold the same, as mirrors below another array do, and nothing that is stored tells what stands on them: {groups}",
        "別のアレイの下のミラーのように、これらは同じ内容です。その上に何があるかを示すものは記録されていません: {groups}";
    ONLY_P: "these add up to zero, each group by itself, as several RAID 5 below another array do, and nothing that is stored tells how a stripe over them would be: {groups}",
        "別のアレイの下の複数の RAID 5 のように、これらは組ごとに合計が 0 になります。その上のストライプの形を示すものは記録されていません: {groups}";
    ONLY_Q: "these have P and Q, each group by itself, as several RAID 6 below another array do, and nothing that is stored tells how a stripe over them would be: {groups}",
        "別のアレイの下の複数の RAID 6 のように、これらは組ごとに P と Q を持ちます。その上のストライプの形を示すものは記録されていません: {groups}";
    CLAIMED_BY_ANOTHER: "{own}: another one claims its place too",
        "{own}: 同じ場所を名乗るものがほかにもあります";

    // What speaks for a guess.
    SO_MANY_OF: "{fits} of {all} {kind}", "{kind} {all} 件中 {fits} 件";
    COPIES_AGREE: "copies agree", "複製の一致";
    ROWS_WITH_P: "rows with the right P", "P の正しい行";
    ROWS_WITH_P_AND_Q: "rows with the right P and Q", "P と Q の正しい行";
    FAT_BOOT: "FAT boot sector", "FAT のブートセクター";
    GPT_BACKUP: "GPT backup header", "GPT の予備ヘッダー";
    GPT_ENTRIES: "GPT entries", "GPT のエントリー";
    GPT_HEADER: "GPT header", "GPT のヘッダー";
    LVM_LABEL: "LVM label", "LVM のラベル";
    LVM_METADATA: "LVM metadata", "LVM のメタデータ";
    MBR_TABLE: "MBR partition table", "MBR のパーティションテーブル";
    NTFS_BOOT: "NTFS boot sector", "NTFS のブートセクター";
    XFS_SUPERBLOCK: "XFS superblock", "XFS のスーパーブロック";
    BACKUP_BOOT: "backup boot sector", "予備のブートセクター";
    BACKUP_SUPERBLOCKS: "backup superblocks", "予備のスーパーブロック";
    BTRFS_SUPERBLOCK: "btrfs superblock", "btrfs のスーパーブロック";
    DIRECTORIES: "directories", "ディレクトリー";
    DIRECTORY_ENTRIES: "directory entries", "ディレクトリーのエントリー";
    CHUNK_MAP_ENTRIES: "entries of the chunk map", "チャンクの表のエントリー";
    EXT_SUPERBLOCK: "ext2/3/4 superblock", "ext2/3/4 のスーパーブロック";
    ALLOCATION_TABLES: "file allocation tables", "ファイルアロケーションテーブル";
    GROUP_DESCRIPTORS: "group descriptors", "グループ記述子";
    GROUP_HEADERS: "headers of allocation groups", "アロケーショングループのヘッダー";
    INFORMATION_SECTOR: "information sector", "情報セクター";
    CHECKED_INODES: "inodes with the right checksum", "チェックサムの正しい inode";
    INODES: "inodes", "inode の一覧";
    MFT_RECORDS: "records of the MFT", "MFT のレコード";
    TREE_ROOTS: "roots of trees", "木の根";
}
