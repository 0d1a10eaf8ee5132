//! Why power is not cut, and what stops a test of it, in every language.

words::catalogue! {
    PULL_KEEPS_DATA: "a pull test needs drives that keep data", "電源断テストにはデータを保持するドライブが必要です";
    NO_PULLED_DRIVE: "there is no drive in this stack that could lose its power",
        "このスタックに電源を失うドライブがありません";
    PULL_RECORDS: "record(): pull records every drive itself; leave the layer out, and name a file with --log-writes",
        "record(): pull はすべてのドライブを自分で記録します。この層を外し、--log-writes でファイルを指定してください";
    PULL_HEADER: "luks(header=…): pull makes containers of its own, with their headers in front of the data, and writes to no header: leave `header=` out",
        "luks(header=…): pull は自分でコンテナーを作り、ヘッダーはデータの前に置きます。ヘッダーには書き込まないので、`header=` を外してください";
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

    // Options of a pull test.
    NO_BEHAVIOUR: "no drive behaves `{text}`", "`{text}` というドライブのふるまいはありません";
    NO_EVENT: "no event is called `{text}`", "`{text}` という出来事はありません";
    DRIVES_COUNTED: "drives are counted from 0, and the last one is {last}",
        "ドライブは 0 から数え、最後は {last} です";
    ONE_DRIVE_ONLY: "there is one drive only", "ドライブは 1 台だけです";
    LOST_EXPECTED: "`{text}`: expected none, random, the number of a drive, from 0, or two: random+random, 0+2; stale:1 comes back older, and with stale:1+0 another is lost",
        "`{text}`: none、random、0 からのドライブの番号、または random+random や 0+2 のような 2 台を指定してください。stale:1 は古いまま戻り、stale:1+0 では 0 も失います";
    DRIVE_NAMED_TWICE: "`{text}`: that is one drive, named twice",
        "`{text}`: 同じドライブが 2 回指定されています";
    MARKS_NOT_UTF_8: "{what}: a line to $MARKS is not UTF-8",
        "{what}: $MARKS への行が UTF-8 ではありません";
    MARKS_TOO_LONG: "{what}: a line to $MARKS is longer than {line_max} bytes",
        "{what}: $MARKS への行が {line_max} バイトを超えています";
    MARKS_UNENDED: "{what}: what was written to $MARKS last has no end of line, and counts for nothing",
        "{what}: $MARKS への最後の書き込みに行末がなく、数えません";
    ENDED_WITH_CODE: "ended with exit code {code}", "終了コード {code} で終了しました";
    ENDED_BY_SIGNAL: "was ended by signal {number}", "シグナル {number} で終了しました";
    PROGRAM_ENDED: "{what} {how}{said} (it may write to the folder that it starts in, $TMPDIR and $MARKS)",
        "{what}: {how}{said}(書き込めるのは開始時のフォルダー、$TMPDIR、$MARKS です)";
    PROGRAMS_FOLDER: "the program's folder", "プログラムのフォルダー";
    WORKER_NO_SENSE: "the worker makes no sense", "ワーカーの応答の値がおかしい";
    THE_WORKER: "the worker", "ワーカー";
    STARTING_WORKER: "starting what mounts and works", "マウントと作業をするものの起動";
    TASK_FOR_WORKER: "a task for the worker", "ワーカーへの指示";
    WORKER_SAYS_NONSENSE: "what the worker says makes no sense", "ワーカーの出力を解釈できません";
    NO_SUCH_TASK: "no such task", "その指示はありません";

    // What became of states.
    MD_DOES_NOT_START: "md does not start: {why}", "md が起動しません: {why}";
    PROMISES_ARE_BROKEN: "{count} promises are broken", "約束 {count} 件が守られていません";
    TELL_RECORDING: "recording {number} of {count}", "記録 {number} / {count}";
    TELL_STATE: "recording {number}: {sample}, state {state} of {all}", "記録 {number}: {sample}、状態 {state} / {all}";
    PULL_OPENS_NOTHING: "a pull test opens nothing that a stack names", "電源断テストはスタックにあるものを開きません";
    AND_MORE_LINES: " and {count} more", "、ほか {count} 件";
    CHECK_SAYS: "it says `{said}`{more}", "`{said}` と出力しました{more}";
    CHECK_LATE: "it did not end in time (-s state_time= gives it more)",
        "時間内に終わりませんでした(-s state_time= で延ばせます)";

    // Whose a block is.
    OWNER_SUPERBLOCK: "superblock", "スーパーブロック";
    OWNER_DESCRIPTORS: "group descriptors", "グループ記述子";
    OWNER_BITMAP: "bitmap of blocks or inodes", "ブロックか inode のビットマップ";
    OWNER_INODES: "inodes {first} to {last}", "inode {first} から {last}";
    OWNER_PART: "{name} of the file system itself", "ファイルシステム自体の {name}";
    OWNER_FILE: "file {path}", "ファイル {path}";
    OWNER_FOLDER: "folder {path}", "フォルダー {path}";
    WITHOUT_NAME: "without a name (inode {inode})", "名前なし(inode {inode})";
    AT_OFFSET: " at {offset}", "、位置 {offset}";
    WHERE_ITS_BLOCKS_ARE: ", where its blocks are", "、ブロックの位置の記録";
    OWNER_NOBODY: "nobody's", "どれにも属さない";
    JOURNAL_DESCRIPTOR: "journal: what a transaction holds", "ジャーナル: トランザクションの内容";
    JOURNAL_COMMIT: "journal: the end of a transaction", "ジャーナル: トランザクションの終わり";
    JOURNAL_SUPERBLOCK: "journal: its superblock", "ジャーナル: スーパーブロック";
    JOURNAL_REVOKE: "journal: what is not to be replayed", "ジャーナル: 再生しないもの";
    JOURNAL_CONTENT: "journal: content of a transaction", "ジャーナル: トランザクションのデータ";
    ARRAY_SUPERBLOCK: "superblock of the array", "アレイのスーパーブロック";
    ARRAY_BITMAP: "bitmap or log of the array", "アレイのビットマップかログ";
    ARRAY_PARITY: "parity of the array", "アレイのパリティ";
    SAMPLE_HUNT: "hunt", "探索";
    SAMPLE_FIGURE: "figure", "本測定";

    // What was being done when the system refused.
    TEST_OPTIONS: "options of a pull test", "電源断テストのオプション";
    STARTING_TEST: "starting a pull test", "電源断テストの開始";
    THE_TEST: "the pull test", "電源断テスト";
    WHERE_PROGRAM_LIES: "where this program lies", "このプログラムの場所";
    MOUNT_NAMESPACE: "a mount namespace", "マウント名前空間";
    FOLDER_FOR_MOUNTS: "a folder for mounts", "マウント用のフォルダー";
    MARK_OF_LOG: "a mark of the pull log", "電源断テストのログの印";
    NOTHING_IN_SLOT: "there is nothing in this disk yet", "このディスクにはまだ何もありません";
    BLOCK_AS_A_WHOLE: "a block is read as a whole", "ブロックは全体を一度に読みます";
    TEST_IS_OVER: "the test has ended", "テストは終了しました";
    WORKING_IN: "working in {path}", "{path} での作業";
    TARGET_FULL: "the target is too small for the work, its file system is full: take a larger one, or fewer steps",
        "対象が作業には小さすぎます(ファイルシステムに空きがありません)。より大きな対象にするか、作業の回数を減らしてください";
    WORKER_SAID_NOTHING: "it said nothing", "出力はありません";
    WORKER_IN_GUEST_ENDED: "the worker in the guest ended: {last}", "ゲスト内のワーカーが終了しました: {last}";
    PATH_NOT_REMOVED: "; could not remove {path}: {why}", "。{path} を削除できませんでした: {why}";
}
