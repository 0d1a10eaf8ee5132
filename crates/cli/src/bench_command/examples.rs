//! How each suite is called: `bench explain` ends with it.

use words::Message;

/// A suite's name, its examples, and what its users should know of them.
pub(super) const EXAMPLES: &[(&str, &str, Message)] = &[
    (
        "devtest",
        "  raidloom bench devtest --size 256MiB test.img
  raidloom bench devtest 'raid0(chunk=16KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)'
  raidloom bench devtest 'raid0(chunk=64KiB, ram:64MiB, ram:64MiB)' -s depth=32 -s verify=full
  raidloom bench devtest --read-only /dev/disk/by-id/ata-EXAMPLE --json",
        DEVTEST,
    ),
    (
        "bonnie",
        "  raidloom bench bonnie /mnt/disk
  raidloom bench bonnie /mnt/disk --size 2GiB -s files=16384 -s check_memory=false -s direct=true
  raidloom bench bonnie /mnt/disk --memory 256MiB --runs 5
  raidloom bench bonnie /mnt/disk --size 16GiB -s per_character=false -o run && raidloom report \\
    run --bonnie-csv | bon_csv2html",
        BONNIE,
    ),
    (
        "copy",
        "  raidloom bench copy /mnt/disk
  raidloom bench copy /mnt/disk -s bytes=3879731200 -s drop_caches=true
  raidloom bench copy /mnt/disk -s files=10000 -s depth=4 -s fsync=file --json",
        COPY,
    ),
    (
        "crystal",
        "  raidloom bench crystal /mnt/disk
  raidloom bench crystal /mnt/disk -s profile=3 --size 100MiB --runs 9
  raidloom bench crystal /mnt/disk -s profile=8-nvme -s mix=70 -o run && raidloom report run \\
    --crystal-text
  raidloom bench crystal 'raid0(chunk=64KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)'",
        CRYSTAL,
    ),
    (
        "hdparm",
        "  raidloom bench hdparm /dev/disk/by-id/ata-EXAMPLE
  raidloom bench hdparm 'file:/dev/disk/by-id/ata-EXAMPLE?direct=no'
  raidloom bench hdparm /mnt/disk -s direct=true",
        HDPARM,
    ),
    (
        "depth",
        "  raidloom bench depth 'raid0(chunk=64KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)'
  raidloom bench depth --read-only /dev/disk/by-id/ata-EXAMPLE -s access=random
  raidloom bench depth /mnt/disk -s way=both -s loop=open --json",
        DEPTH,
    ),
    (
        "load",
        "  raidloom bench load 'raid0(model:maxtor-6y200p0, model:maxtor-6y200p0)' -s read=70 -s depth=16
  raidloom bench load --read-only /dev/disk/by-id/ata-EXAMPLE -s places='zipf 0.9' -s depth=32
  raidloom bench load /mnt/disk -s sizes='8KiB * 9, 64KiB..1MiB * 1' -s read=0 -s flush_every=1
  raidloom bench load --size 1GiB test.img -s rate=500 -s read=90",
        LOAD,
    ),
    (
        "replay",
        "  raidloom bench replay 'raid0(model:maxtor-6y200p0, model:maxtor-6y200p0)' -s file=evening.rec
  raidloom bench replay /mnt/disk -s file=evening.rec -s mode=open -s speed=2
  raidloom bench replay --read-only /dev/disk/by-id/ata-EXAMPLE -s file=evening.rec -s operations=reads
  raidloom bench replay --size 4GiB test.img -s file=evening.rec -s share=10 -s fit=scale",
        REPLAY,
    ),
    (
        "command",
        "  raidloom bench command /mnt/disk -s run='cp -r /usr/share/doc .' --runs 6
  raidloom bench command /mnt/disk -s prepare='cp -r /src/. .' -s run='make -j2' -s drop_caches=true
  raidloom bench command /mnt/disk -s figures=dd \\
    -s run='dd if=/dev/zero of={dir}/x bs=1M count=1000 conv=fsync'
  raidloom bench command /mnt/disk -s run=./test.sh -s figures='commits_per_second json $.rate'",
        COMMAND,
    ),
    (
        "fio",
        "  raidloom bench fio /mnt/disk -s job=mail.fio
  raidloom bench fio /dev/disk/by-id/ata-EXAMPLE -s job=mail.fio --erase SERIAL
  raidloom bench fio /mnt/disk -s job=mail.fio --runs 6 --json",
        FIO,
    ),
];

words::catalogue! {
    DEVTEST: "A stack made only of model: leaves runs on the virtual clock: it takes moments, and its\nfigures are modelled. Everything on the target is overwritten unless --read-only is given.",
        "model: だけのスタックは仮想クロックで動きます。すぐに終わり、数値はモデルのものです。\n--read-only を指定しないかぎり、対象のすべてを上書きします。";
    BONNIE: "The suite works in a fresh folder in the one that is named, and removes it, also on Ctrl-C.\nbonnie++'s -s is --size, -n is -s files=, -f is -s per_character=false, -r is -s ram=.",
        "指定したフォルダーの中に新しいフォルダーを作って測定し、終わりに(Ctrl-C でも)消します。\nbonnie++ の -s は --size、-n は -s files=、-f は -s per_character=false、-r は -s ram= です。";
    COPY: "314,572,800 bytes are 6,138 files, 3,879,731,200 are 75,977. The suite works in a fresh\nfolder in the one that is named, and removes it, also on Ctrl-C.",
        "314,572,800 バイトは 6,138 ファイル、3,879,731,200 バイトは 75,977 ファイルです。\n指定したフォルダーの中に新しいフォルダーを作って測定し、終わりに(Ctrl-C でも)消します。";
    CRYSTAL: "In a folder the suite works in a fresh folder of its own and removes it, also on Ctrl-C; a\nstack or device is overwritten and has only direct rows.",
        "フォルダーでは新しいフォルダーを作って測定し、終わりに(Ctrl-C でも)消します。\nスタックやデバイスは上書きし、ページキャッシュを通さない行だけになります。";
    HDPARM: "A device is opened for reading only. It is read past the page cache unless its stack text\nsays direct=no.",
        "デバイスは読み取り専用で開きます。スタック記法に direct=no がないかぎり、\nページキャッシュを通さずに読みます。";
    DEPTH: "The knee is the depth with the most throughput for its mean latency. An open loop does not\nwait for answers: latency counts from the moment at which a request was meant to start.",
        "ニーは、平均レイテンシに対するスループットが最大の深度です。開ループは応答を待たず、\nレイテンシは要求を出すはずだった時刻から数えます。";
    LOAD: "In a plan each kind of work is a [[workload]] with a name and a weight. Everything on the\ntarget is overwritten unless --read-only is given.",
        "プランでは、作業の種類ごとに名前と重みのある [[workload]] を書きます。\n--read-only を指定しないかぎり、対象のすべてを上書きします。";
    REPLAY: "What the recording writes is written, over what is there, with contents of the program's own.\nclosed keeps what waited for what, open the recorded times, fast only the order.",
        "記録が書き込むものは、そこにある内容の上に、このプログラムのデータで書き込みます。\nclosed は何が何を待っていたかを、open は記録の時刻を、fast は順番だけを保ちます。";
    COMMAND: "The command works in a fresh folder in the one that is named, {dir}, which is removed, also on\nCtrl-C; on a file or block device it is told {device}. A command that fails is an error with\nits last lines, and no figure. What figures takes: raidloom bench explain command.",
        "コマンドは、指定したフォルダーの中の新しいフォルダー {dir} で動きます。終わりに(Ctrl-C でも)消します。\nファイルやブロックデバイスでは {device} がその名前です。失敗したコマンドは最後の行を示すエラーになり、\n数値はありません。figures の書き方: raidloom bench explain command";
    FIO: "{dir} and {device} in the job file are the target's path. Jobs that name no file work in a\nfresh folder in the one that is named, or on the device.",
        "ジョブファイルの {dir} と {device} は対象のパスです。ファイル名のないジョブは、\n指定したフォルダーの中の新しいフォルダー、またはデバイス上で動きます。";
}
