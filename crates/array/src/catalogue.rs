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
    DIRTY_DEGRADED: "the array was being written (resync_offset {offset}) and has {missing} of {count} members \
        missing: what the missing ones held next to those writes may be wrong",
        "書き込み中でした(resync_offset {offset})。メンバー {count} 個のうち {missing} 個がなく、\
        書き込みの隣にあった欠けたデータは正しくないかもしれません";
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
    WORK_UNDER_WAY: "a {work} is under way", "{work} の実行中です";
    STILL_WRITTEN: "the array is still being written to: end what uses it first",
        "アレイはまだ書き込み中です。先に使用中のものを終えてください";
    ARRAY_STOPPED: "the array has been stopped", "アレイは停止しました";
    ANOTHER_SERVERS: "the array is another server's now", "アレイは別のサーバーのものになりました";
}
