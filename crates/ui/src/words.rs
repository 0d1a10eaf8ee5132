//! The page's words in its other language.
//!
//! What is said is written in English where it is said, in `page.html` and `page.js`, and looked up
//! here when the page speaks Japanese; `{places}` are filled in afterwards. What the guard and the
//! verbs refuse comes as messages of their own catalogues. What else comes from outside stays as it
//! is: names, flags of an audit, and what mkfs or another program said.

use std::collections::BTreeMap;

use serde_json::json;

/// The table as the page's script reads it.
pub(crate) fn japanese() -> String {
    let table: BTreeMap<&str, &str> = JAPANESE.iter().copied().collect();
    // It stands in a script element, which no text may end.
    json!(table).to_string().replace('<', "\\u003c")
}

/// English, Japanese.
const JAPANESE: &[(&str, &str)] = &[
    // The frame.
    ("Sections", "セクション"),
    ("Choose", "選ぶ"),
    ("Which layout?", "どの構成か"),
    (
        "Three questions; models of the drives answer them. No drive is written to before you say so.",
        "3 つの質問に、ドライブのモデルで答えます。指示があるまでドライブには書き込みません。",
    ),
    ("Drives that you may buy, by their models", "購入候補のドライブ(モデル名)"),
    ("virtual machines", "仮想マシン"),
    ("a database", "データベース"),
    ("films and music", "動画と音楽"),
    ("backups", "バックアップ"),
    ("How many drives may die at once", "同時に何台の故障まで耐えるか"),
    ("none: one that dies takes all data with it", "0 台: 1 台の故障で全データを失う"),
    ("1 drive", "1 台"),
    ("2 drives", "2 台"),
    ("File system", "ファイルシステム"),
    ("not decided", "未定"),
    ("Answer", "答え"),
    ("Working it out…", "計算中…"),
    ("Create it on these drives…", "これらのドライブに作成…"),
    ("This erases {count} drives:", "次の {count} 台のドライブを消去します:"),
    ("it holds {what}", "内容: {what}"),
    ("nothing is known to be on it", "既知の内容なし"),
    ("Folder where it is mounted", "マウント先のフォルダー"),
    (
        "All that is on these drives is lost; I want that",
        "これらのドライブの内容がすべて失われることに同意します",
    ),
    ("Erase them and create", "消去して作成"),
    ("Leave them as they are", "そのままにする"),
    ("Stop, and take it back", "止めて元に戻す"),
    ("It ends with this step, and is taken back.", "この段階が終わりしだい止め、元に戻します。"),
    (
        "Working it out once more, to be kept among the runs",
        "もう一度計算し、実行として保存しています",
    ),
    ("Writing superblocks", "スーパーブロックを書き込んでいます"),
    ("Writing the configuration", "設定を書き込んでいます"),
    (
        "Running update-initramfs, so that md leaves it alone at boot",
        "起動時に md が触れないよう update-initramfs を実行しています",
    ),
    ("Starting it", "開始しています"),
    ("done", "完了"),
    ("under way", "進行中"),
    ("not done", "未完了"),
    (
        "It is made, runs, and starts with the machine.",
        "作成され、稼働しています。マシンの起動時に始まります。",
    ),
    (
        "It is made and runs. Nothing starts it with the machine.",
        "作成され、稼働しています。マシンの起動時には始まりません。",
    ),
    ("Arrays", "アレイ"),
    ("Runs", "実行"),
    ("Board", "ベンチマーク"),
    ("Plan", "計画"),
    ("Drives", "ドライブ"),
    ("version {version}; changes are allowed", "バージョン {version}、変更可"),
    ("version {version}; looking only", "バージョン {version}、閲覧のみ"),
    ("Looking…", "確認中…"),
    (
        "This page is for this machine alone. The address holds a token: who has it can do what the page can.",
        "このページはこのマシン専用です。アドレスにはトークンが含まれ、それを知る人はこのページと同じ操作ができます。",
    ),
    (", ", "、"),
    ("not known", "不明"),
    ("{low} to {high}", "{low}〜{high}"),
    ("{done} of {all}", "{all}中 {done}"),
    ("{used} of {size}", "{size} 中 {used}"),
    ("1 block", "1 ブロック"),
    ("{count} blocks", "{count} ブロック"),
    ("1 trial", "1 試行"),
    ("{count} trials", "{count} 試行"),
    ("1 configuration", "1 構成"),
    ("{count} configurations", "{count} 構成"),
    ("1 workload", "1 ワークロード"),
    ("{count} workloads", "{count} ワークロード"),
    ("1 partition", "パーティション 1 個"),
    ("{count} partitions", "パーティション {count} 個"),
    (
        "raidloom ui does not answer; was it ended?",
        "raidloom ui が応答しません。終了していませんか?",
    ),
    ("an answer without sense ({status})", "解釈できない応答です({status})"),
    ("refused ({status})", "拒否されました({status})"),
    (
        "The connection to raidloom ui is lost: what is shown is old. Start it again and open the new address.",
        "raidloom ui との接続が切れました。表示は古いままです。再起動して新しいアドレスを開いてください。",
    ),
    // Arrays.
    ("Arrays that run", "稼働中のアレイ"),
    ("None runs. ", "稼働中のアレイはありません。"),
    (" starts one.", " で開始します。"),
    ("Array {name}", "アレイ {name}"),
    ("Size", "サイズ"),
    (", read-only", "、読み取り専用"),
    ("At", "場所"),
    ("Mounted", "マウント先"),
    ("Used space", "使用容量"),
    ("Starts with the machine", "起動時の開始"),
    ("no: that takes systemd and root", "なし(systemd と root 権限が必要)"),
    ("yes", "あり"),
    ("no", "なし"),
    ("Last check", "前回の検査"),
    ("none known", "記録なし"),
    ("Next check", "次回の検査"),
    ("once a month", "毎月"),
    ("due", "実施時期"),
    ("due on {date}", "{date} までに実施"),
    ("due since {date}", "{date} から実施時期"),
    ("Start it with the machine", "マシンの起動時に開始する"),
    ("Start it with the machine no more", "マシンの起動時に開始しない"),
    ("Really start {name} with the machine?", "本当に {name} をマシンの起動時に開始しますか?"),
    (
        "Really start {name} with the machine no more?",
        "本当に {name} をマシンの起動時に開始しないようにしますか?",
    ),
    ("Check it once a month", "毎月検査する"),
    ("Check it once a month no more", "毎月の検査をやめる"),
    (
        "A run measures it: nothing else is done with it until that has ended.",
        "測定中です。終わるまでほかの操作はできません。",
    ),
    ("Members read", "メンバーの読み取り"),
    ("Members written", "メンバーの書き込み"),
    (
        "The last minute: up to {read} read and {written} written",
        "直近 1 分間: 読み取り最大 {read}、書き込み最大 {written}",
    ),
    ("What has happened ({count})", "イベント({count})"),
    ("Stack text", "スタック記法"),
    ("Stop", "停止"),
    ("Really stop {name}?", "本当に {name} を停止しますか?"),
    ("{kind}: {share}", "{kind}: {share}"),
    ("{kind} of member {member}: {share}", "メンバー {member} の{kind}: {share}"),
    ("paused", "一時停止中"),
    ("about {time} left", "残り約 {time}"),
    ("Members of {name}", "{name} のメンバー"),
    ("chunk {size}", "チャンク {size}"),
    ("clean", "クリーン"),
    ("active", "書き込み中"),
    ("Slot", "スロット"),
    ("State", "状態"),
    ("Device", "デバイス"),
    ("Read errors", "読み取りエラー"),
    ("Do", "操作"),
    ("Set faulty", "故障扱いにする"),
    ("Really set member {slot} faulty?", "本当にメンバー {slot} を故障扱いにしますか?"),
    ("Remove", "取り外す"),
    ("Really remove member {slot}?", "本当にメンバー {slot} を取り外しますか?"),
    ("Check {name}, or give it a device", "{name} の検査、デバイスの追加"),
    ("Go on", "再開"),
    ("Pause", "一時停止"),
    ("Cancel", "中止"),
    ("Check", "検査"),
    ("Repair", "修復"),
    ("A file that is there, or a drive", "既存のファイル、またはドライブ"),
    ("What for", "用途"),
    ("a slot without a member, or as a spare", "空きスロット、またはスペア"),
    ("in place of member {slot}, {name}", "メンバー {slot}({name})と交換"),
    ("Serial number of the drive, which may be erased", "消去してよいドライブのシリアル番号"),
    ("It may carry a signature, which is lost", "署名があってもよい(失われます)"),
    ("Give it to the array", "アレイに追加"),
    ("What the devices move", "デバイスの転送量"),
    ("What the devices of {name} move", "{name} のデバイスの転送量"),
    ("Reads now", "現在の読み取り"),
    ("Writes now", "現在の書き込み"),
    ("Read since the start", "開始以降の読み取り"),
    ("Written", "書き込み済み"),
    ("Cache", "キャッシュ"),
    ("Used", "使用量"),
    ("Dirty", "未書き出し"),
    ("Read hits", "読み取りヒット"),
    ("Write hits", "書き込みヒット"),
    ("Written out", "書き出し速度"),
    ("Failure", "障害"),
    ("none asked", "要求なし"),
    // Their forms.
    ("Create an array and start it", "アレイを作成して開始"),
    ("Name", "名前"),
    ("Level", "レベル"),
    ("RAID 1: every member has everything", "RAID 1: 全メンバーが全データを保持"),
    ("RAID 5: survives one member", "RAID 5: メンバー 1 台の故障に耐える"),
    ("RAID 6: survives two members", "RAID 6: メンバー 2 台の故障に耐える"),
    ("RAID 10: striped copies", "RAID 10: ストライプした複製"),
    ("RAID 0: survives none", "RAID 0: 故障に耐えない"),
    ("linear: one after another, survives none", "linear: 順に連結、故障に耐えない"),
    ("Chunk", "チャンク"),
    ("Size of members that are not there yet", "まだ無いメンバーのサイズ"),
    (
        "Members, one on each line: files, or drives by their name under /dev/disk/by-id",
        "メンバー(1 行に 1 つ): ファイル、または /dev/disk/by-id 以下のドライブ",
    ),
    ("Appears as", "公開方法"),
    ("an NBD export on a local socket", "ローカルソケットの NBD エクスポート"),
    ("a file", "ファイル"),
    ("a block device (root)", "ブロックデバイス(root)"),
    ("Consent to overwrite", "上書きの同意"),
    ("Serial numbers of drives that may be erased", "消去してよいドライブのシリアル番号"),
    ("one, or several with commas", "1 つ、またはコンマ区切り"),
    (
        "Members may carry a file system or another signature, which is lost",
        "メンバーにファイルシステムなどの署名があってもよい(失われます)",
    ),
    ("Create and start", "作成して開始"),
    ("Start a stack", "スタックを開始"),
    ("Read-only", "読み取り専用"),
    ("Start", "開始"),
    // Runs.
    ("None here. ", "ここにはありません。"),
    (" makes one.", " で作成します。"),
    ("In {folder}", "{folder} 内"),
    ("and {more} older ones", "ほかに古いもの {more} 件"),
    ("Run {id}", "実行 {id}"),
    ("Stop the run", "実行を停止"),
    ("Delete", "削除"),
    ("Delete {id}", "{id} を削除"),
    ("Really delete {id} with all its figures?", "本当に {id} を測定値ごと削除しますか?"),
    ("{folder} is deleted", "{folder} を削除しました"),
    ("but for what is not of the run: {names}", "実行のものではない次のものは残しました: {names}"),
    ("Compare two runs", "2 つの実行を比較"),
    ("The earlier one", "基準にする実行"),
    ("The one that is held against it", "比較する実行"),
    ("Compare", "比較"),
    ("Compare them all the same", "それでも比較する"),
    ("Two runs compared", "2 つの実行の比較"),
    ("What was measured", "測定項目"),
    ("First", "1 つ目"),
    ("Second", "2 つ目"),
    ("Ratio", "比"),
    ("The second is", "2 つ目は"),
    ("faster", "速い"),
    ("slower", "遅い"),
    ("the same", "同じ"),
    ("no answer", "判定できない"),
    ("less is better", "小さいほどよい"),
    ("not said", "記載なし"),
    ("Made under different conditions: {what}", "測定条件が異なります: {what}"),
    ("and {more} more", "ほか {more} 件"),
    (
        "The second run: {slower} slower, {faster} faster, {same} the same, {no_answer} without an answer.",
        "2 つ目の実行: 遅い {slower} 件、速い {faster} 件、同じ {same} 件、判定できない {no_answer} 件。",
    ),
    (
        "All configurations share {change} ({low} to {high}): the machine, or whatever else changed for all.",
        "すべての構成に共通の変化 {change}({low}〜{high}): マシンなど、全体に共通する原因です。",
    ),
    ("Report", "レポート"),
    ("Report so far", "途中のレポート"),
    ("{id}, begun {time}", "{id}、開始 {time}"),
    ("Trials of {name}", "{name} の試行"),
    ("{blocks} of a race", "予選 {blocks}"),
    ("{count} flagged", "要注意 {count} 件"),
    ("Now: {configuration}: {workload}", "測定中: {configuration}: {workload}"),
    ("or in a terminal: ", "端末からは: "),
    ("To go on: ", "再開するには: "),
    ("Configuration", "構成"),
    ("Trials", "試行"),
    ("Score", "スコア"),
    ("Interval", "区間"),
    ("Note", "備考"),
    ("the baseline", "基準"),
    ("dropped", "脱落"),
    ("Configurations of {id}", "{id} の構成"),
    ("{time} left", "残り {time}"),
    ("{time} left (rough)", "残り {time}(概算)"),
    (
        "{where}: nothing is faster than the baseline, {configuration} ({figures})",
        "{where}: 基準の {configuration} より速いものはありません({figures})",
    ),
    ("{where}: no answer ({figures})", "{where}: 判定できません({figures})"),
    (
        "{where}: the baseline, {configuration}, is ahead so far ({figures})",
        "{where}: 今のところ基準の {configuration} が優位({figures})",
    ),
    (
        "{where}: {configuration}, {ratio}{range} the baseline, {verdict} ({figures})",
        "{where}: {configuration} は基準の {ratio}{range}、{verdict}({figures})",
    ),
    ("sure", "確実"),
    ("not sure", "不確実"),
    ("ahead so far, not sure", "今のところ優位、不確実"),
    (
        "Running {name}. Nothing else is done meanwhile.",
        "{name} を実行中です。その間、ほかの操作はできません。",
    ),
    ("{name} is finished.", "{name} は完了しました。"),
    ("{name} was stopped.", "{name} は停止されました。"),
    // The board.
    (
        "CrystalDiskMark's rows, past the page cache and through it. MB/s, the best of the runs; below it what the audit says of the figure.",
        "CrystalDiskMark の各項目を、ページキャッシュなしとありで測定します。値は各回の最良値(MB/s)、その下は監査の所見です。",
    ),
    (
        "Folder, file, block device or stack",
        "フォルダー、ファイル、ブロックデバイス、またはスタック",
    ),
    ("Profile", "プロファイル"),
    ("Size of the test file", "テストファイルのサイズ"),
    ("More settings", "詳細設定"),
    ("Runs of each row", "各項目の回数"),
    ("Time of a run", "1 回の測定時間"),
    ("Rest before a row", "項目間の休止"),
    ("Access", "アクセス"),
    ("past the page cache, and through it", "ページキャッシュなしとあり"),
    ("past the page cache alone", "ページキャッシュなしのみ"),
    ("through the page cache alone", "ページキャッシュありのみ"),
    ("Make the file first, of this size", "先にこのサイズのファイルを作成"),
    ("Consent to overwrite a file or drive", "ファイルまたはドライブの上書きの同意"),
    (
        "It may carry a file system or another signature, which is lost",
        "ファイルシステムなどの署名があってもよい(失われます)",
    ),
    (
        "A measurement writes a file, so the buttons are off: start the page with raidloom ui --allow-changes.",
        "測定はファイルを書き込むため、ボタンは無効です。raidloom ui --allow-changes で起動してください。",
    ),
    ("Figures of the board", "ベンチマークの値"),
    ("Measure {row}", "{row} を測定"),
    ("Measure all rows", "全項目を測定"),
    ("All", "すべて"),
    ("Read", "読み取り"),
    ("Read, cached", "読み取り(キャッシュ)"),
    ("Write", "書き込み"),
    ("Write, cached", "書き込み(キャッシュ)"),
    ("MB/s on {target}", "MB/s({target})"),
    ("median {rate}", "中央値 {rate}"),
    ("not known whether it was cached", "キャッシュの有無は不明"),
    ("not cached:", "キャッシュなし:"),
    ("cached:", "キャッシュあり:"),
    (", cached", "(キャッシュ)"),
    ("What is doubtful about the figures", "値の疑わしい点"),
    ("Measuring {row} ({place} of {all})", "{row} を測定中({all} 項目中 {place})"),
    ("Done", "完了"),
    ("Stopped", "停止しました"),
    ("Failed", "失敗"),
    ("The commands that were run", "実行したコマンド"),
    // The plan.
    (
        "Which configurations are compared, with which work, how often. Below it stands what the plan comes to; nothing is written until it is run.",
        "どの構成を、どの処理で、何回比較するか。下に計画の内容を示します。実行するまで何も書き込みません。",
    ),
    ("Members", "メンバー"),
    ("files that the run makes and removes", "実行時に作成し削除するファイル"),
    ("drives of this machine", "このマシンのドライブ"),
    ("modelled drives, in modelled time", "モデルのドライブ(モデル時間)"),
    ("How many", "台数"),
    ("Size of each", "各サイズ"),
    ("Drives, one on each line (/dev/disk/by-id/…)", "ドライブ(1 行に 1 つ、/dev/disk/by-id/…)"),
    ("Model", "モデル"),
    ("Levels", "レベル"),
    ("one member alone", "メンバー 1 台のみ"),
    ("Chunks", "チャンク"),
    ("File systems (as root; none is the bare array)", "ファイルシステム(root。なしはアレイのみ)"),
    ("none", "なし"),
    ("Work", "処理"),
    ("CrystalDiskMark's rows", "CrystalDiskMark の各項目"),
    ("requests of 512 bytes to 64 KiB", "512 バイト〜64 KiB の要求"),
    ("throughput against latency by depth", "深度別のスループットとレイテンシ"),
    ("many files of mixed sizes (file system)", "大小多数のファイル(ファイルシステム)"),
    ("bonnie++ (file system)", "bonnie++(ファイルシステム)"),
    ("Blocks", "ブロック"),
    ("The plan's file", "計画ファイル"),
    ("Download", "ダウンロード"),
    ("Start from the commented plan", "コメント付きの計画から始める"),
    (
        "Consent to overwrite drives, for running it from here",
        "ここから実行するための、ドライブ上書きの同意",
    ),
    (
        "They may carry a file system or another signature, which is lost",
        "ファイルシステムなどの署名があってもよい(失われます)",
    ),
    ("Save in the folder of runs as", "実行フォルダーへの保存名"),
    ("Save", "保存"),
    ("Save and run", "保存して実行"),
    (
        "{configurations} × {workloads} × {blocks} = {trials}, about {time}.",
        "{configurations} × {workloads} × {blocks} = {trials}、約 {time}。",
    ),
    (
        "{configurations} × {workloads} × {blocks} = at most {trials}, about {time} (a race drops clear losers).",
        "{configurations} × {workloads} × {blocks} = 最大 {trials}、約 {time}(予選で明らかに劣る構成は脱落します)。",
    ),
    ("real", "実時間"),
    ("made, and removed at the end", "作成し、終了時に削除"),
    ("ERASED: everything on it is overwritten", "消去: すべて上書きされます"),
    ("What is written to", "書き込み先"),
    (
        "What is written to ({members} is a folder of the run's own)",
        "書き込み先({members} は実行専用のフォルダー)",
    ),
    ("Where", "場所"),
    ("What becomes of it", "扱い"),
    ("Written by preparing", "準備での書き込み"),
    (
        "Nothing is written but the run's own folder.",
        "実行専用のフォルダー以外には書き込みません。",
    ),
    ("To run it, once it is saved: ", "保存後に実行するには: "),
    ("Configurations", "構成"),
    ("Configurations; each runs {names}", "構成(それぞれ {names} を実行)"),
    (
        "Configurations; each runs {names} and {more} more",
        "構成(それぞれ {names} ほか {more} 件を実行)",
    ),
    ("Time", "時間"),
    ("Compared with", "比較対象"),
    ("Stack", "スタック"),
    ("Left out: {configuration}: {why}", "除外: {configuration}: {why}"),
    ("Saved as {path}, and started: see Runs.", "{path} に保存し、開始しました(「実行」を参照)。"),
    ("Saved as {path}. To run it:", "{path} に保存しました。実行するには:"),
    // Drives.
    ("Drives of this machine", "このマシンのドライブ"),
    (
        "What the guard says when one of them is to be written to. Nothing is opened for writing here.",
        "書き込もうとしたときに保護機構が返す答えです。ここでは書き込み用に開くことはありません。",
    ),
    ("Look again", "再確認"),
    ("Drive", "ドライブ"),
    ("What it is", "内容"),
    ("Writes", "書き込み"),
    ("Why", "理由"),
    ("serial {serial}", "シリアル {serial}"),
    ("turning", "回転式"),
    ("removable", "リムーバブル"),
    (
        "There are none, or this machine does not tell.",
        "ドライブがないか、このマシンからは分かりません。",
    ),
    ("with consent", "同意が必要"),
    ("refused", "拒否"),
    // Words that documents always say alike.
    ("online", "稼働"),
    ("DEGRADED", "縮退"),
    ("UNUSABLE", "使用不可"),
    ("FAILED", "故障"),
    ("running", "実行中"),
    ("interrupted", "中断"),
    ("finished", "完了"),
    ("rebuild", "再構築"),
    ("replace", "交換"),
    ("resync", "再同期"),
    ("check", "検査"),
    ("repair", "修復"),
    ("failed", "故障"),
    ("stale", "古い"),
    ("incomplete", "未完了"),
    ("missing", "欠落"),
    ("spare", "スペア"),
    ("journal", "ジャーナル"),
    ("unused", "未使用"),
    ("write-through", "ライトスルー"),
    ("write-around", "ライトアラウンド"),
    ("write-back", "ライトバック"),
    ("read-only", "読み取り専用"),
    ("read", "読み取り"),
    ("write", "書き込み"),
    ("sequential", "シーケンシャル"),
    ("random", "ランダム"),
    ("mixed", "混在"),
    ("files", "ファイル"),
    ("safety", "安全性"),
    ("all work", "全体"),
    ("measured", "実測"),
    ("modelled", "モデル"),
    ("modelled, Linux in a guest", "モデル(ゲスト内の Linux)"),
    (
        "version 3: Seq, 512K, 4K, 4K QD32; read then write of each",
        "バージョン 3: Seq、512K、4K、4K QD32。項目ごとに読み取り、書き込み",
    ),
    (
        "version 8, default: SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1; all reads, then all writes",
        "バージョン 8 標準: SEQ1M Q8T1、SEQ1M Q1T1、RND4K Q32T1、RND4K Q1T1。全読み取りの後に全書き込み",
    ),
    (
        "version 8, NVMe: SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1",
        "バージョン 8 NVMe: SEQ1M Q8T1、SEQ128K Q32T1、RND4K Q32T16、RND4K Q1T1",
    ),
    (
        "version 8, real world: SEQ1M Q1T1 and RND4K Q1T1",
        "バージョン 8 リアルワールド: SEQ1M Q1T1、RND4K Q1T1",
    ),
    ("version 8, peak: SEQ1M Q8T1 and RND4K Q32T1", "バージョン 8 ピーク: SEQ1M Q8T1、RND4K Q32T1"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = include_str!("page.html");
    const SCRIPT: &str = include_str!("page.js");

    /// Words that documents say: states of arrays and members, what upkeep does, modes of caches,
    /// kinds of work, where figures are from.
    const OF_DOCUMENTS: &str = "online rebuild failed stale missing spare journal unused replace \
        resync check repair write-through write-around write-back read-only sequential random \
        mixed files safety all_work measured modelled modelled,_Linux_in_a_guest";

    /// What is named alike in both languages.
    const SAME: [&str; 13] = [
        "raidloom", "64 MiB", "256 MiB", "1 GiB", "4 GiB", "16 GiB", "RAID 0", "RAID 1", "RAID 5",
        "RAID 6", "RAID 10", "ext4", "btrfs",
    ];

    /// What is typed or read by programs: examples in fields, commands, names of styles.
    const CODE: &[&str] = &[
        "/srv/tank",
        "4 x wd-red-plus-8tb",
        "1GiB",
        "256MiB",
        "512KiB",
        "5s",
        "XFS",
        "array0",
        "raid5(metadata=1.2, a.img, b.img, c.img)",
        "English",
        "PLAN.toml",
        "fields give",
        "input, textarea",
        "raidloom array start",
        "raidloom run",
        "raidloom run PLAN",
        "script, style",
        "soft row",
        "use strict",
        "wide error",
        "word path",
        "word warn",
    ];

    /// Texts and labels of the page as it stands, without what only shows where there is no script.
    fn on_the_page() -> BTreeSet<&'static str> {
        let (before, rest) = PAGE.split_once("<noscript>").expect("a page");
        let (_, after) = rest.split_once("</noscript>").expect("a page");
        let after = after.split_once("<script").expect("a page").0;
        let before = before.split_once("<body>").expect("a page").1;
        let mut texts = BTreeSet::new();
        for part in before.split('<').chain(after.split('<')) {
            let (tag, text) = part.split_once('>').unwrap_or(("", part));
            texts.insert(text.trim());
            for name in ["aria-label", "placeholder"] {
                let label = tag.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest);
                texts.extend(label.and_then(|rest| rest.split('"').next()));
            }
        }
        texts
    }

    /// What stands between quotation marks in the script, outside of comments.
    fn literals() -> BTreeSet<&'static str> {
        let lines = SCRIPT.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
    }

    /// Whether it is a sentence or a label: it begins with a capital or has a space between words,
    /// and is neither a selector nor markup.
    fn is_said(text: &str) -> bool {
        let has_word = text.split(|c: char| !c.is_ascii_lowercase()).any(|word| word.len() > 1);
        let begins = text.starts_with(|c: char| c.is_ascii_uppercase());
        has_word && (begins || text.contains(' ')) && !text.contains(['[', '#', '=', '>', '`'])
    }

    #[test]
    fn every_word_of_the_page_is_in_the_table() {
        let known: BTreeSet<&str> = JAPANESE.iter().map(|(english, _)| english.trim()).collect();
        let is_known = |text: &str| known.contains(text.trim());
        let has_words = |text: &&str| text.contains(|c: char| c.is_alphabetic());
        let mut missing: Vec<&str> = on_the_page().into_iter().filter(has_words).collect();
        missing.extend(literals().into_iter().filter(|text| is_said(text)));
        missing.retain(|text| !is_known(text) && !SAME.contains(text) && !CODE.contains(text));
        assert!(missing.is_empty(), "said and not in the table: {missing:?}");
        for (_, _, what) in bench::suite::crystal::PROFILES {
            assert!(is_known(what), "a profile: {what:?}");
        }
        for word in OF_DOCUMENTS.split_whitespace() {
            assert!(is_known(&word.replace('_', " ")), "of documents: {word}");
        }
    }

    #[test]
    fn the_table_is_whole_and_nothing_in_it_is_idle() {
        let (on_the_page, literals) = (on_the_page(), literals());
        let of_documents: Vec<String> =
            OF_DOCUMENTS.split_whitespace().map(|word| word.replace('_', " ")).collect();
        let mut seen = BTreeSet::new();
        let places = |text: &str| -> BTreeSet<String> {
            let parts = text.split('{').skip(1);
            parts.filter_map(|part| Some(part.split_once('}')?.0.to_owned())).collect()
        };
        for (english, japanese) in JAPANESE {
            assert!(seen.insert(english), "{english:?} is there twice");
            assert_eq!(places(english), places(japanese), "{english:?} has other places");
            let of_japanese = ['\u{3000}'..='\u{30ff}', '\u{4e00}'..='\u{9fff}'];
            let is_japanese = |c: char| of_japanese.iter().any(|range| range.contains(&c));
            assert!(
                japanese.contains(is_japanese)
                    || !english.split('{').any(|part| {
                        part.split_once('}')
                            .map_or(part, |(_, rest)| rest)
                            .contains(char::is_alphabetic)
                    })
                    || *english == "MB/s on {target}",
                "{english:?} is not in Japanese: {japanese:?}"
            );
            let is_used = on_the_page.contains(english.trim())
                || literals.contains(english)
                || bench::suite::crystal::PROFILES.iter().any(|(.., what)| what == english)
                || of_documents.iter().any(|word| word == english);
            assert!(is_used, "{english:?} is said nowhere");
        }
        assert!(!japanese().contains('<') && japanese().starts_with('{'));
    }
}
