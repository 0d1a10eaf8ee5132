//! What cannot be measured, run or chosen with, and why, in every language.

words::catalogue! {
    // Targets of a suite.
    SUITE_RUNS_ON: "{suite} runs on {targets}", "{suite} の対象は {targets} です";
    SUITE_RUNS_ON_ABSENT: "{suite} runs on {targets} (there is no folder of this name)",
        "{suite} の対象は {targets} です(この名前のフォルダーはありません)";
    FOLDER_IS_WRITTEN: "--read-only: in a folder a file is made and written; name a device",
        "--read-only: フォルダーではファイルを作成して書き込みます。デバイスを指定してください";
    GUEST_NEEDS_MODELS: "a guest lives in modelled time, and a folder, file or device does not: name model: leaves",
        "ゲストはモデル時間で動くため、フォルダー、ファイル、デバイスは使えません。model: を指定してください";
    NEVER_WRITTEN: "there is no such file, and {suite} would only read what was never written",
        "そのようなファイルはありません。{suite} は書き込まれていないものを読むだけになります";
    RAW_TARGET: "a folder. A raw target is measured here: name a file in it, with --size SIZE to make one",
        "フォルダーです。ここでは直接の対象を測定します。中のファイルを指定してください(--size SIZE で作成)";
    NO_FILE: "no such file; --size SIZE makes it", "そのようなファイルはありません。--size SIZE で作成します";
    NOTHING_TO_LOSE: "--read-only: {leaf}: memory and modelled disks hold nothing that could be lost; leave it out",
        "--read-only: {leaf}: メモリーとモデルのディスクに失われるものはありません。付けないでください";
    SEED_MAX: "--seed {seed}: at most {most}", "--seed {seed}: 最大 {most} です";
    ONE_VALUE: "one value is measured here; several are a plan (raidloom run --print-plan)",
        "ここで測定する値は 1 つです。複数の値はプランにします(raidloom run --print-plan)";
    NO_KEY: "{suite} has no key `{key}`{hint}", "{suite} にキー `{key}` はありません{hint}";

    // Plans and runs.
    NO_PLAN: "no file `{name}` here, and no plan of that name came with this program{hint}",
        "ファイル `{name}` はここになく、その名前の付属プランもありません{hint}";
    READING_PLAN: "reading the plan {name}", "プラン {name} の読み取り";
    GOING_ON: "the run is going on in another process{holder}; wait for it or stop it first",
        "この測定は別のプロセス{holder}で実行中です。終了を待つか、先に止めてください";
    HAS_TRIALS: "{path} holds trials already", "{path} にはすでに試行があります";
    NO_PLAIN_FILE: "it is no plain file", "通常のファイルではありません";

    // Drives to choose with.
    DRIVES_AFTER_COUNT: "{count} x: name the drives, as in 4 x {example}", "{count} x: ドライブを指定してください。例: 4 x {example}";
    NO_DRIVE_OF_NONE: "0 x {name}: that is no drive", "0 x {name}: 0 台は指定できません";
    ONE_OF_IT: "there is one of it; name each drive once", "これは 1 つだけです。各ドライブを 1 回ずつ指定してください";
    DRIVES_MAX: "{count} drives: at most {most} are chosen with", "{count} 台: 選べるのは最大 {most} 台です";
    ONE_FOLDER: "one folder is enough", "フォルダーは 1 つで十分です";
    FILES_ALONE: "files to try it are chosen with by themselves", "試すためのファイルは、ほかのドライブと一緒に指定できません";
    OTHER_CLOCKS: "drives that are measured and modelled ones are on clocks of their own, and not compared: \
        leave out --measure, or the models",
        "実測のドライブとモデルのドライブは時計が異なり、比較できません。--measure かモデルのどちらかを外してください";
    NAME_DRIVES: "name the drives, as in 4 x {example}", "ドライブを指定してください。例: 4 x {example}";
    ONE_DRIVE: "one drive is no array: name two or more, as in 4 x {example}",
        "1 台ではアレイになりません。2 台以上指定してください。例: 4 x {example}";
    NO_SUCH_DRIVE: "there is no file, drive or folder of this name", "この名前のファイル、ドライブ、フォルダーはありません";
    NO_DRIVE: "it is no drive, file or folder", "ドライブ、ファイル、フォルダーのいずれでもありません";
    UNUSABLE_DRIVE: "no drive that can be used ({error}); choose without it, or look at its cable",
        "使えるドライブではありません({error})。除いて選ぶか、ケーブルを確認してください";
    NO_MODEL: "no model stands for it; --measure runs on it, and erases it",
        "代わりになるモデルがありません。--measure は実際に測定し、内容を消去します";
    NO_WORK: "--work {name}: no such kind of work, and no file of that name{hint}",
        "--work {name}: そのような用途も、その名前のファイルもありません{hint}";
    NO_COMMAND: "--work-command: there is no command in it", "--work-command: コマンドがありません";
    ALL_TOO_SLOW: "no layout is left: --p99 {time} removes all {count} that were run",
        "構成が残りません: --p99 {time} で、測定した {count} 件すべてが外れます";
    NO_LAYOUT_FIGURES: "no layout has figures to compare: its report says why",
        "比較できる値のある構成がありません(理由はレポートに記載)";
    NO_CHOICE_FIGURES: "the run has no figures to choose by", "この測定結果には選ぶための値がありません";

    // Making what was chosen.
    NAME_IS_RUNNING: "an array of this name is running; --name names another",
        "この名前のアレイが動作中です。--name で別の名前を指定してください";
    NOTHING_TO_MOUNT: "this layout is used as a device; --file-system names what to mount",
        "この構成はデバイスとして使います。マウントするものを --file-system で指定してください";
    ROOT_MOUNTS: "only root may mount; without --mount the array is served to you alone",
        "マウントできるのは root だけです。--mount がなければ、アレイは自分にだけ提供されます";
    ROOT_MOUNTS_IT: "only root may mount it", "マウントできるのは root だけです";
    MODEL_CANNOT_BE_MADE: "model:{name} is a modelled disk, and nothing can be made on it; name the drives that you have",
        "model:{name} はモデルのディスクで、実際には作成できません。手元のドライブを指定してください";
    FILES_ARE_GONE: "the files that were tried are gone; name the drives or files that it is made on",
        "試したファイルはもうありません。作成先のドライブかファイルを指定してください";
    MOUNT_WOULD_HIDE: "there is something in it, which the file system would hide",
        "中にものがあり、ファイルシステムで隠れてしまいます";
    MOUNTED_ALREADY: "something is mounted there already", "すでに何かがマウントされています";
    ENDED_ON_REQUEST: "ended on request", "指示により終了しました";
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
