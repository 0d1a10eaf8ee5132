//! What the guard says, in every language, beside what it refuses.

words::catalogue! {
    // What a path is.
    A_FOLDER: "it is a folder, not a file or block device", "ファイルでもブロックデバイスでもなく、フォルダーです";
    NO_DISK: "it is neither a file nor a block device", "ファイルでもブロックデバイスでもありません";
    WRITE_PROTECTED: "it is read-only", "読み取り専用です";
    REPLACED: "it was replaced while it was being opened", "開いている間に別のものに置き換えられました";
    EXISTS: "it exists already; a file that raidloom did not make is never overwritten as one of its own. \
        Remove it or choose another folder",
        "すでにあります。raidloom が作成したものでないファイルは上書きしません。削除するか、別のフォルダーを選んでください";
    NOT_THE_DISK: "it is a {image}, not the bytes of the disk in it: taken for these it shows another disk, \
        and a write may destroy it. {layer}`qemu-img convert -O raw {path} FILE` makes a raw one; --raw \
        takes it as it is",
        "{image} であり、中のディスクのバイト列そのものではありません。そのまま使うと別のディスクに見え、書き込むと壊れることがあります。\
        {layer}`qemu-img convert -O raw {path} FILE` で raw に変換できます。--raw でそのまま使います";
    IMAGE_LAYER: "In stack text, image({path}) is the disk in it; ", "スタック記法では image({path}) が中のディスクです。";

    // Who uses it.
    MOUNTED: "it is mounted at {point}; unmount it first", "{point} にマウントされています。先にアンマウントしてください";
    SWAP: "it is in use as swap; `swapoff` it first", "スワップとして使用中です。先に swapoff してください";
    USED_BY: "it is in use by {user}; stop that first", "{user} が使用中です。先にそれを止めてください";
    LOCKED_BY_PROCESS: "process {process}, which has locked it", "プロセス {process}(ロック中)";
    LOCKED_BY_PROGRAM: "a program that has locked it (a virtual machine may run on it)",
        "ロックしているプログラム(仮想マシンが動いている可能性があります)";
    NAMED_TWICE: "it is in use: this command has it open already; is it named twice?",
        "使用中です: このコマンドがすでに開いています。2 回指定していませんか?";
    OPEN_IN_PROCESS: "it is in use by process {process}; wait for it or stop it first",
        "使用中です(プロセス {process}。終了を待つか、先に止めてください)";
    OPEN_ELSEWHERE: "it is in use by another process; wait for it or stop it first",
        "使用中です(別のプロセス。終了を待つか、先に止めてください)";
    DEPENDED_ON: "{what} lies on this disk; there is no consent to that",
        "このディスクには{what}があります。これは同意があっても上書きできません";
    RUNNING_SYSTEM: "the running system", "稼働中のシステム";
    RAIDLOOM_ITSELF: "raidloom itself", "raidloom 自体";
    RUN_FOLDER: "the run's folder", "実行のフォルダー";

    // What would be lost, and how to consent to it.
    HOLDS: "{what}; it would be overwritten. --erase-signature consents to that, or choose another",
        "{what}。上書きされます。同意するなら --erase-signature、そうでなければ別のものを選んでください";
    SIGNATURE: "it carries a signature: {signature}", "署名があります: {signature}";
    PARTITIONS: "it has {count} partitions", "パーティションが {count} 個あります";
    PARTITIONS_SHORT: "{name} ({count} partitions)", "{name}(パーティション {count} 個)";
    UNSTABLE_NAME: "such a name may mean another disk tomorrow; use {path}",
        "この名前は次の起動で別のディスクを指すことがあります。{path} を使ってください";
    NO_IDENTITY: "it has no name under {folder}; for a loop or RAM device, --allow-device {path} consents to erasing it",
        "{folder} に名前がありません。ループデバイスや RAM デバイスなら、--allow-device {path} で消去に同意できます";
    ERASED: "everything on it would be overwritten; --erase {serial} consents to that",
        "内容はすべて上書きされます。--erase {serial} で同意できます";
    NO_SERIAL: "it tells no serial number, so nobody can be sure which disk it is",
        "シリアル番号が得られず、どのディスクか確かめられません";
    CONSENTS_NEEDED: "everything there would be overwritten. To consent to that, add {flags}",
        "いずれも内容がすべて上書きされます。同意するには {flags} を付けてください";
    NOTHING_AGAINST: "nothing stands against it", "妨げるものはありません";
    STRAY_SERIAL: "--erase {serial}: no device that is named has this serial number: {there}",
        "--erase {serial}: 指定されたデバイスにこのシリアル番号のものはありません: {there}";
    HAS_SERIAL: "{path} has {serial}", "{path} は {serial}";
    HAS_NO_SERIAL: "{path} has none that it tells", "{path} は番号なし";
    NO_DEVICE_NAMED: "no block device is named to be written to", "書き込み先にブロックデバイスは指定されていません";
    STRAY_DEVICE: "--allow-device {path}: it is none of the block devices that are named to be written to",
        "--allow-device {path}: 書き込み先に指定されたブロックデバイスではありません";

    // What was being done when it failed.
    LOOKING: "looking at it", "確認中";
    READING: "reading it", "読み取り中";
    LOCKING: "locking it", "ロック中";
    OPENING_TO_READ: "opening it for reading", "読み取り用に開くとき";
    OPENING_TO_WRITE: "opening it for writing", "書き込み用に開くとき";
    NOT_PERMITTED: "{act} (you have no permission for it)", "{act}(権限がありません)";
    HELD_OPEN: "{act} (something else has it open: a mount in another container, or a running array)",
        "{act}(ほかのもの(別のコンテナーのマウント、稼働中のアレイなど)が開いています)";
    MAKING_MEMBER: "making the member file {path}", "メンバーのファイル {path} の作成";
    MAKING: "making {path}", "{path} の作成";
    NOT_REMOVED: "could not remove {path}: {error}", "{path} を削除できませんでした: {error}";

    // Drives that do not answer.
    LOOK_HANGS: "it does not answer: a look at it has not ended in {seconds} s",
        "応答しません: 確認が {seconds} 秒以内に終わりませんでした";
    NO_ANSWER: "no answer for {time}", "{time} の間、応答がありません";
    NOT_ASKED: "it is not asked any more", "これ以上は問い合わせません";
    NO_THREAD: "a thread", "スレッド";
}
