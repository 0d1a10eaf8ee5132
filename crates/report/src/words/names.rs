//! Names that come from plans and suites, as people read them: axes, the words of workloads. In
//! English they are what stands in the plan, where they can be looked up.

use super::{Language, language};

/// Axes, and what they are called in Japanese.
const AXES: [(&str, &str); 35] = [
    ("array", "アレイ"),
    ("bitmap", "ビットマップ"),
    ("cache", "キャッシュ"),
    ("chunk", "ストライプサイズ"),
    ("consistency", "整合性の方式"),
    ("depth", "キュー深度"),
    ("disk_size", "ディスクの大きさ"),
    ("drop_caches", "キャッシュの破棄"),
    ("file_system", "ファイルシステム"),
    ("image", "イメージ"),
    ("image_io", "イメージの入出力"),
    ("image_size", "イメージの大きさ"),
    ("kernel", "カーネル"),
    ("layout", "レイアウト"),
    ("level", "RAID レベル"),
    ("make_options", "作成オプション"),
    ("max_request", "最大要求サイズ"),
    ("members", "メンバー"),
    ("memory", "メモリー"),
    ("metadata", "メタデータ"),
    ("mount_options", "マウントオプション"),
    ("outer_file_system", "外側のファイルシステム"),
    ("outer_make_options", "外側の作成オプション"),
    ("outer_mount_options", "外側のマウントオプション"),
    ("place", "実行場所"),
    ("policy", "取り外しポリシー"),
    ("processor", "CPU"),
    ("queue_depth", "デバイスのキュー深度"),
    ("scheduler", "スケジューラー"),
    ("size", "大きさ"),
    ("source", "出典"),
    ("state", "状態"),
    ("threads", "スレッド数"),
    ("work", "処理"),
    ("write_cache", "書き込みキャッシュ"),
];

/// Words of workloads, the longer ones first, and what they are in Japanese.
const WORK: [(&str, &str); 19] = [
    ("sequential read", "シーケンシャル読み込み"),
    ("sequential write", "シーケンシャル書き込み"),
    ("sequential create", "シーケンシャル作成"),
    ("sequential delete", "シーケンシャル削除"),
    ("random read", "ランダム読み込み"),
    ("random write", "ランダム書き込み"),
    ("random create", "ランダム作成"),
    ("random delete", "ランダム削除"),
    ("block read", "ブロック読み込み"),
    ("block write", "ブロック書き込み"),
    ("at start", "先頭"),
    ("at end", "末尾"),
    ("rewrite", "書き換え"),
    ("seeks", "シーク"),
    ("mixed", "混在"),
    ("read", "読み込み"),
    ("write", "書き込み"),
    ("delete", "削除"),
    ("buffered", "ページキャッシュ経由"),
];

/// What the kinds of work that `choose` asks for are made of, and what that is in Japanese. Only a
/// whole name is one of them: others may have the same words in theirs.
const PARTS: [(&str, &str); 13] = [
    ("backing up", "バックアップ"),
    ("browsing", "閲覧"),
    ("checking", "検査"),
    ("copying from it", "ここからのコピー"),
    ("copying to it", "ここへのコピー"),
    ("log", "ログ"),
    ("pages", "ページ"),
    ("playing", "再生"),
    ("reading images", "イメージ読み込み"),
    ("recording", "録画"),
    ("restoring", "復元"),
    ("scans", "走査"),
    ("small accesses", "小さなアクセス"),
];

/// An axis as people read it.
pub(crate) fn axis(name: &str) -> String {
    let name = name.strip_prefix("workload.").unwrap_or(name);
    let known = AXES.iter().find(|(known, _)| *known == name);
    match (language(), known) {
        (Language::Japanese, Some((_, japanese))) => (*japanese).to_owned(),
        _ => name.to_owned(),
    }
}

/// Values that several configurations share, each behind its axis where it does not speak for
/// itself: `depth 4, 512 KiB`.
pub(crate) fn settings(text: &str) -> String {
    let one = |part: &str| match part.split_once(' ') {
        Some((name, value)) if AXES.iter().any(|(known, _)| *known == name) => {
            format!("{} {value}", axis(name))
        }
        _ => part.to_owned(),
    };
    text.split(", ").map(one).collect::<Vec<_>>().join(", ")
}

/// A workload as people read it.
pub(crate) fn workload(name: String) -> String {
    if language() == Language::English {
        return name;
    }
    let (own, rest) = name.split_at(name.find(": ").unwrap_or(name.len()));
    if let Some((_, japanese)) = PARTS.iter().find(|(known, _)| *known == own) {
        return format!("{japanese}{rest}");
    }
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    WORK.iter().fold(name, |name, (english, japanese)| match name.find(english) {
        Some(at)
            if is_end(name[..at].chars().next_back())
                && is_end(name[at + english.len()..].chars().next()) =>
        {
            format!("{}{japanese}{}", &name[..at], &name[at + english.len()..])
        }
        _ => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::in_language;

    #[test]
    fn names_are_read_in_the_language_of_the_report() {
        for (english, japanese) in [
            ("sequential read at start 64 KiB", "シーケンシャル読み込み 先頭 64 KiB"),
            ("mixed 50:50", "混在 50:50"),
            ("RND4K Q32T1 write buffered", "RND4K Q32T1 書き込み ページキャッシュ経由"),
            ("bonnie: block write", "bonnie: ブロック書き込み"),
            ("copy: read", "copy: 読み込み"),
            ("readers", "readers"),
            ("copying from it: load", "ここからのコピー: load"),
            ("a log", "a log"),
        ] {
            let said = |language| in_language(language, || workload(english.to_owned()));
            assert_eq!(Language::ALL.map(said), [english, japanese]);
        }
        let said =
            |language| in_language(language, || (axis("workload.depth"), settings("depth 4, x")));
        let [english, japanese] = Language::ALL.map(said);
        assert_eq!(english, ("depth".to_owned(), "depth 4, x".to_owned()));
        assert_eq!(japanese, ("キュー深度".to_owned(), "キュー深度 4, x".to_owned()));
    }
}
