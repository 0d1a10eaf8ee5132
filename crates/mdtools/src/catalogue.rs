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
    STATUS_SIZE: "  size: {size}", "  容量: {size}";
    SIZE_UNKNOWN: "unknown", "不明";
    STATUS_NOTE: "  note: {note}", "  注記: {note}";
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
    MEMBER_UNUSED: "UNUSED", "未使用";
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_is_there_in_every_language() {
        for (name, message) in super::ALL {
            assert_eq!(message.check(&[]), Ok(()), "{name}");
        }
    }
}
