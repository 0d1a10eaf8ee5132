//! Why power is not cut, and what stops a test of it, in every language.

words::catalogue! {
    PULL_KEEPS_DATA: "a pull test needs drives that keep data", "電源断テストにはデータを保持するドライブが必要です";
    NO_PULLED_DRIVE: "there is no drive in this stack that could lose its power",
        "このスタックに電源を失うドライブがありません";
    PULL_RECORDS: "record(): pull records every drive itself; leave the layer out, and name a file with --log-writes",
        "record(): pull はすべてのドライブを自分で記録します。この層を外し、--log-writes でファイルを指定してください";
    MD_OF_GUEST: "md of this machine is not pulled: it is the guest's (--guest)",
        "このマシンの md の電源断は試しません。ゲストのものです(--guest)";
    IMAGES_NOT_EMPTY: "the folder is not empty; name a new one", "フォルダーが空ではありません。新しいものを指定してください";
    PULL_NEEDS_ROOT: "pull mounts file systems, damaged ones among them, with this machine's kernel, which only root may do: let it be done in a guest, which needs no root (--guest, after `raidloom guest build`), or run it as root, in a virtual machine if there is one",
        "pull は壊れたものも含めてファイルシステムをこのマシンのカーネルでマウントし、それは root にしかできません。root の要らないゲストで行うか(`raidloom guest build` の後に --guest)、root で、できれば仮想マシンの中で実行してください";
    NO_UNSHARE: "unshare is not there: apt-get install util-linux",
        "unshare がありません: apt-get install util-linux";
    PULL_NEEDS_FUSE: "{path} is not there: the kernel has no FUSE; `modprobe fuse` may bring it",
        "{path} がありません。カーネルに FUSE がありません(`modprobe fuse` で入ることがあります)";
    CHECK_GAVE_NONE: "--check gave no verdict on any of {count} states: {why}",
        "--check は {count} 件の状態のどれも判定しませんでした: {why}";
    WRONG_AT_END: "at the end of the log, where nothing is lost, what is there is not as it should be: {why}",
        "何も失われていないログの終わりで、内容が正しくありません: {why}";
    CHECK_FAILS_BEFORE: "--check fails on the file system before any power cut, where nothing is lost: {text}",
        "--check は、何も失われていない電源断の前のファイルシステムで失敗します: {text}";
    LOG_WITHOUT_MARK: "it has no mark, so that nothing says from when on there is a file system; set one behind making it (dmsetup message NAME 0 mark mkfs)",
        "印がなく、どこからファイルシステムがあるかわかりません。作成の後に印を付けてください(dmsetup message NAME 0 mark mkfs)";
    WORK_HANGS: "the work on the file system hangs", "ファイルシステムへの処理が止まっています";
    WORK_ENDED: "what works on the file system has ended early{why}", "ファイルシステムへの処理が途中で終わりました{why}";
    JUDGE_ENDED: "what judges states has ended early", "状態の判定が途中で終わりました";
    CHECK_ENDED: "what runs the check has ended early", "--check の実行が途中で終わりました";
    ASKED_TO_END: "it was asked to end", "終了を求められました";
    TEST_ENDED: "the pull test has ended early", "電源断テストが途中で終わりました";
    PULL_NEEDS_FILE_SYSTEM: "a pull test needs a file system", "電源断テストにはファイルシステムが必要です";
    NO_PULL_WORK: "no work is called `{name}`", "処理 `{name}` はありません";
    MODEL_IN_GUEST: "device = \"model\": drives are modelled in guests only",
        "device = \"model\": ドライブのモデルはゲストの中だけです";
    COMMAND_NEEDS_CHECK: "work_command without check: name what looks at its folder after a cut",
        "work_command には check が必要です。電源断の後にフォルダーを調べるものを指定してください";
}
