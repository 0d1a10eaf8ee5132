//! Why an image is not opened or written to, in every language.

words::catalogue! {
    IMAGE_DAMAGED: "the image is damaged: {what}", "イメージが壊れています: {what}";
    READ_FROM_LOG: "it was not closed in order: what was written last is taken from its log",
        "正しく閉じられていないため、最後に書かれた内容はログから読みます";
    NOT_UNPACKED: "a packed cluster cannot be unpacked", "圧縮クラスターを展開できない";
    WRITE_UNANSWERED: "a write of the image's tables or clusters was never answered, and nobody knows what it holds",
        "イメージの表かクラスターへの書き込みに応答がなく、その内容は不明です";
    NO_BACKING: "it lies over no other disk, and one is named",
        "下に別のディスクを持たないイメージですが、指定されています";
    LONG_BLOCKS: "it lies on blocks that are longer than 512 bytes: FILE?block=512&direct=no",
        "512 バイトより長いブロックの上にあります: FILE?block=512&direct=no";
    FILE_READ_ONLY: "its file cannot be written to", "ファイルに書き込めません";
    SHORTER_THAN_PACKED: "requests below are shorter than its packed clusters",
        "下のデバイスの要求が圧縮クラスターより小さい";
    SHORTER_THAN_CLUSTERS: "requests below are shorter than its clusters",
        "下のデバイスの要求がクラスターより小さい";
    PAST_FILE_END: "{what} of {length} bytes at {offset} reaches past the file's end at {end}",
        "{offset} からの{what}({length} バイト)がファイルの末尾 {end} を越えている";
    TABLES_TOO_LARGE: "its tables take more than {tables_bytes_max} bytes",
        "表が {tables_bytes_max} バイトを超えます";
    DISK_BYTES: "a disk of {bytes} bytes", "ディスクが {bytes} バイト";
    TABLES_OVERLAP: "tables overlap at {offset}", "{offset} で表が重なっている";
    DATA_PAST_END: "data at {offset} lie past the file's end at {end}",
        "{offset} のデータがファイルの末尾 {end} を越えている";
    DATA_IN_TABLE: "data at {offset} lie in a table", "{offset} のデータが表と重なっている";
    COUNT_TABLE: "a table of {bytes} bytes for counts of 2^{bits} bits",
        "2^{bits} ビットの参照数の表が {bytes} バイト";
    CLUSTER_SHARED: "two things lie in the cluster {cluster}",
        "クラスター {cluster} を 2 つのものが使っている";
    COUNT_DIFFERS: "the cluster {cluster} is named {times} times, and its count is {count}; `qemu-img check -r all` puts counts right",
        "クラスター {cluster} の参照は {times} 回、記録された数は {count} です。書き込む前に `qemu-img check -r all` で直せます";
    NO_CLUSTER_ROOM: "there is no room for another cluster of the image",
        "イメージに新しいクラスターの空きがありません";
    NO_WHOLE_CLUSTER: "{offset} is no whole cluster of {cluster_bytes} bytes",
        "{offset} が {cluster_bytes} バイトのクラスターの境界にない";
    NO_IMAGE: "it is no qcow2, VMDK, VHD, VHDX or VDI image",
        "qcow2、VMDK、VHD、VHDX、VDI のどのイメージでもありません";
    DISK_NO_WHOLE_SECTORS: "its disk has {bytes} bytes, which are no whole sectors",
        "ディスクの {bytes} バイトがセクターの整数倍でない";
    EXTENT_FOR_VMDK: "extent=yes is for VMDK, and it is {name}",
        "extent=yes は VMDK 用ですが、これは {name} です";
    NO_SNAPSHOTS: "{name} images have no snapshots in them",
        "{name} のイメージはスナップショットを持ちません";
    IMAGE_ONLY_READ: "{name} images are only read; overlay(DELTA, image(…)) takes what is written, and `qemu-img convert -O qcow2` makes an image that can be written to",
        "{name} のイメージは読み取り専用です。書き込みは overlay(DELTA, image(…)) が受け、書き込めるものは `qemu-img convert -O qcow2` で作れます";
    BLOCKS_AND_TABLE: "{clusters} blocks of data and a table for {there}",
        "データが {clusters} ブロック、表は {there} ブロック分";
    QCOW2_VERSION_2: "it is of version 2; `qemu-img amend -o compat=1.1` makes it one of version 3, which can be written to",
        "バージョン 2 です。`qemu-img amend -o compat=1.1` で書き込めるバージョン 3 になります";
    QCOW2_SNAPSHOTS: "it has snapshots, and is only read; overlay(DELTA, image(…)) takes what is written, `qemu-img snapshot -d` deletes one",
        "スナップショットがあるため読み取り専用です。書き込みは overlay(DELTA, image(…)) が受け、`qemu-img snapshot -d` でスナップショットを削除できます";
    QCOW2_PARTS: "its clusters have parts (extended_l2), and it is only read; overlay(DELTA, image(…)) takes what is written",
        "クラスターが分割されている(extended_l2)ため読み取り専用です。書き込みは overlay(DELTA, image(…)) が受けます";
    QCOW2_NOT_CLOSED: "it was not closed in order: `qemu-img check -r all` puts its counts right before it is written to",
        "正しく閉じられていません。書き込む前に `qemu-img check -r all` で参照数を直してください";
    QCOW2_CORRUPT: "it is marked as corrupt: `qemu-img check -r all` repairs it before it is written to",
        "破損の印があります。書き込む前に `qemu-img check -r all` で修復してください";
    QCOW2_BITMAPS: "it has bitmaps of what has changed, which writes would make wrong; `qemu-img bitmap --remove` takes one away",
        "変更箇所のビットマップがあり、書き込むと不正になります。`qemu-img bitmap --remove` で削除できます";
    QCOW2_VERSION: "qcow2 version {version} is not known; 2 and 3 are",
        "qcow2 のバージョン {version} は未知です(使えるのは 2 と 3)";
    QCOW2_CLUSTERS: "clusters of 2^{cluster_bits} bytes", "クラスターが 2^{cluster_bits} バイト";
    QCOW2_ENCRYPTED: "the image is encrypted; `qemu-img convert` makes one that is not",
        "イメージが暗号化されています。`qemu-img convert` で暗号化のないものを作れます";
    QCOW2_FEATURES: "it needs features that are not known: {bits}", "未知の機能が必要です: {bits}";
    QCOW2_DATA_FILE: "its data are in a file of their own; if that is raw, name it instead",
        "データが別のファイルにあります。raw ならそのファイルを指定してください";
    PACKED_IN_WAY: "its clusters are packed in way {other}",
        "クラスターの圧縮方式 {other} は未知です";
    NAME_LENGTH: "a name of {length} bytes", "名前が {length} バイト";
    SNAPSHOT_COUNT: "{count} snapshots", "スナップショットが {count} 個";
    SNAPSHOT_EXTRA: "a snapshot with {extra} further bytes",
        "スナップショットに余分な {extra} バイト";
    NO_SUCH_SNAPSHOT: "it has no snapshot `{wanted}`; `qemu-img snapshot -l` lists them",
        "スナップショット `{wanted}` はありません(一覧は `qemu-img snapshot -l`)";
    CLUSTER_PARTS: "parts of clusters of {cluster_bytes} bytes",
        "{cluster_bytes} バイトのクラスターが分割されている";
    TABLES_FOR_BYTES: "{there} tables for {bytes} bytes", "{bytes} バイトに対して表が {there} 個";
    VDI_VERSION: "VDI version {major}.{minor} is not known; 1.1 is",
        "VDI のバージョン {major}.{minor} は未知です(使えるのは 1.1)";
    VDI_KIND: "VDI of kind {kind}: only dynamic and static ones stand by themselves",
        "VDI の種類 {kind}: 単独で使えるのは可変と固定だけです";
    VDI_BLOCKS: "blocks of {block_bytes} bytes and {extra} more",
        "ブロックが {block_bytes} バイトと追加の {extra} バイト";
    DATA_MISPLACED: "data at {data}, which is no whole sector",
        "データの位置 {data} がセクターの境界にない";
    FOOTER_CHECKSUM: "the footer's checksum is another", "フッターのチェックサムが一致しない";
    VHD_DIFFERENCE: "it holds only what differs from another VHD; `qemu-img convert` makes one that stands by itself",
        "別の VHD との差分だけのイメージです。`qemu-img convert` で単独のものを作れます";
    VHD_KIND: "VHD of kind {kind}; 2 and 3 are known",
        "VHD の種類 {kind} は未知です(使えるのは 2 と 3)";
    VHD_DISK: "a disk of {size_bytes} bytes in {last}",
        "{last} の中のディスクが {size_bytes} バイト";
    VHD_HEADER: "the header of a dynamic VHD makes no sense", "可変 VHD のヘッダーの値がおかしい";
    BLOCK_LENGTH: "blocks of {cluster_bytes} bytes", "ブロックが {cluster_bytes} バイト";
    VHDX_LACKS: "it has no table of blocks, or no metadata", "ブロックの表かメタデータがない";
    VHDX_HEADERS: "neither header has its checksum", "どちらのヘッダーもチェックサムが一致しない";
    VHDX_VERSION: "VHDX version {version} is not known; 1 is",
        "VHDX のバージョン {version} は未知です(使えるのは 1)";
    VHDX_LOG: "its log has more than tables; `qemu-img check -r all` brings that in place",
        "ログに表以外の内容があります。`qemu-img check -r all` で反映できます";
    VHDX_LOG_SHAPE: "its log makes no sense", "ログの値がおかしい";
    VHDX_LOG_NOTHING: "it says that something is in its log, and nothing whole is",
        "ログに内容があるとされているが、完全なものがない";
    VHDX_LOG_CUT: "it is shorter than it was when its log was written",
        "ログが書かれたときよりも短い";
    VHDX_REGION: "it needs a region that is not known", "未知の領域が必要です";
    VHDX_REGIONS: "neither table of regions has its checksum",
        "どちらの領域の表もチェックサムが一致しない";
    VHDX_NO_METADATA: "the metadata are none", "メタデータでない";
    VHDX_METADATA_PART: "a part of the metadata is missing", "メタデータの一部がない";
    VHDX_METADATA_PAST: "metadata lie past their region", "メタデータが領域を越えている";
    VHDX_DIFFERENCE: "it holds only what differs from another VHDX; `qemu-img convert` makes one that stands by itself",
        "別の VHDX との差分だけのイメージです。`qemu-img convert` で単独のものを作れます";
    VHDX_BLOCK_LENGTH: "blocks of {block_bytes} bytes", "ブロックが {block_bytes} バイト";
    VHDX_SECTORS: "sectors of {sector_bytes} bytes", "セクターが {sector_bytes} バイト";
    VHDX_TABLE: "{blocks} blocks of data and a table of {bytes} bytes",
        "データが {blocks} ブロック、表は {bytes} バイト";
    VHDX_BLOCK_STATE: "a block in state {state}", "ブロックの状態が {state}";
    A_HEADER: "a header", "ヘッダー";
    IMAGE_TABLE: "a table", "表";
    A_DESCRIPTOR: "a descriptor", "記述子";
    REGION_TABLE: "a table of regions", "領域の表";
    VMDK_NO_PART: "it is a disk and no part of one: extent=yes is for the others",
        "ディスク全体であり一部分ではありません。extent=yes は一部分のファイル用です";
    VMDK_PART: "it is one of several files that make up a disk: image(…) of the one that describes it names them; extent=yes reads the part that is in this one",
        "ディスクを構成するファイルの 1 つです。全体を記述するファイルの image(…) がそれらを示します。extent=yes で 1 つだけ読めます";
    TOO_SHORT: "it is too short", "短すぎる";
    VMDK_ENDS: "it does not end as it begins", "先頭と末尾が一致しない";
    VMDK_VERSION: "VMDK version {version} is not known; 1 to 3 are",
        "VMDK のバージョン {version} は未知です(使えるのは 1 から 3)";
    VMDK_PACKING: "its grains are packed in way {packing}",
        "グレインの圧縮方式 {packing} は未知です";
    DESCRIPTOR_LENGTH: "a descriptor of {length} bytes", "記述子が {length} バイト";
    DESCRIPTOR_NO_TEXT: "its descriptor is no text", "記述子がテキストでない";
    VMDK_DIFFERENCE: "it holds only what differs from another VMDK; `qemu-img convert` makes one that stands by itself",
        "別の VMDK との差分だけのイメージです。`qemu-img convert` で単独のものを作れます";
    VMDK_FILES: "its disk is in {count} files; `qemu-img convert` joins them",
        "ディスクが {count} 個のファイルに分かれています。`qemu-img convert` で 1 つにできます";
    VMDK_PART_KIND: "a part of its disk is of the kind {kind}",
        "ディスクの一部が {kind} という種類です";
    VMDK_NAMES_NONE: "it describes a disk and names no file of it",
        "ディスクの記述にファイル名がない";
    GRAIN_LENGTH: "grains of {grain_bytes} bytes", "グレインが {grain_bytes} バイト";
    GRAIN_TABLES: "tables of {table_entries} grains", "表が {table_entries} グレイン";

    VMDK_DESCRIBES: "it only describes a disk (VMDK), and what that is in is not opened by its word: {count} of the files beside it. If they are what you mean, name them: {named}",
        "ディスクの記述(VMDK)だけで、その内容({count} 個のファイル)は記述だけでは開きません。それでよければ指定してください: {named}";

    MARKED_CORRUPT: "the image is marked as corrupt; `qemu-img check` says what is wrong with it",
        "イメージに破損の印があります。詳細は `qemu-img check` で確認できます";
    LIES_OVER: "it lies over `{shown}`, which is not opened by the image's word: if that is what you mean, name it: image({file}, DISK), with image(…) around it if it is an image too",
        "`{shown}` の上にあるイメージですが、イメージの記述だけでは開きません。それでよければ指定してください: image({file}, DISK)。それもイメージなら image(…) で囲みます";
    CLUSTER_OF_IMAGE: "a cluster of the image", "イメージのクラスター";
}
