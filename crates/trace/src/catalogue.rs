//! What is wrong with a trace or a line of it, in every language.

words::catalogue! {
    // The format of raidloom.
    WRITING_TRACE: "writing the trace", "トレースの書き込み";
    HEADER_ENDS: "reading the trace's header: it ends too early",
        "トレースのヘッダーの読み込み: 途中で終わっています";
    TRACE_VERSION: "a trace of version {version}; this raidloom knows up to version {known}",
        "トレースのバージョンが {version} です。この raidloom が読めるのは {known} までです";
    HEADER_BLOCKS: "the trace's header has blocks of {block_bytes} bytes",
        "トレースのヘッダーのブロックが {block_bytes} バイトです";
    NUMBER_TOO_LONG: "a number is too long", "数値が長すぎる";
    DAMAGED_BEHIND: "the trace is damaged behind its record {count}: {what}",
        "トレースはレコード {count} の後が壊れています: {what}";
    END_SPEAKS_OF: "its end speaks of {count}", "末尾の件数は {count}";
    NO_SUCH_OPERATION: "there is no operation {other}", "操作 {other} はない";
    UNKNOWN_BIT: "an unknown bit is set", "未知のビットがある";
    RECORD_NUMBER_TOO_LARGE: "a number is too large", "数値が大きすぎる";
    READING_TRACE: "reading the trace", "トレースの読み込み";
    LINE_TOO_LONG: "longer than {line_bytes} bytes; this is neither a trace nor lines of requests",
        "{line_bytes} バイトより長い行です。トレースでも要求の行でもありません";
    NO_TEXT: "no text; this is neither a trace nor lines of requests",
        "テキストではありません。トレースでも要求の行でもありません";
    TRACE_OF_SEVERAL_DEVICES: "the trace is of {count} devices ({names}); say which one counts: --device NAME",
        "トレースにデバイスが {count} 個あります({names})。--device NAME でどれか指定してください";
    NO_SUCH_DEVICE: "there is no device {named} in the trace, only: {names}",
        "トレースにデバイス {named} はありません。あるもの: {names}";

    // blktrace and blkparse.
    BLKPARSE_LACKS: "no {name}; see blkparse(1)", "{name} がありません(blkparse(1) を参照)";
    NO_DEVICE_NUMBERS: "`{device}` is no device's numbers",
        "`{device}` はデバイスの番号ではありません";
    NO_SECONDS: "`{time}` is no time in seconds", "`{time}` は秒単位の時刻ではありません";
    NO_PROCESS: "`{pid}` is no process", "`{pid}` はプロセスではありません";
    NO_SECTORS: "`{sectors}` is no number of sectors", "`{sectors}` はセクター数ではありません";
    TOO_MANY_SECTORS: "`{sectors}` sectors are more than 2^64 bytes",
        "`{sectors}` セクターは 2^64 バイトを超えます";
    NO_RWBS: "`{letters}` is no RWBS", "`{letters}` は RWBS ではありません";
    NO_BLKTRACE_EVENT: "no event of blktrace stands behind event {count}: the file is damaged, or of a version that this raidloom does not know (it knows 7 and 8)",
        "イベント {count} の後が blktrace のイベントではありません。ファイルが壊れているか、この raidloom の知らないバージョンです";

    // CSV and fio's iolog.
    CSV_LACKS: "no {name}; a line is time,op,offset,length",
        "{name} がありません。1 行は time,op,offset,length です";
    NO_OPERATION: "`{op_text}` is no operation (read, write, zeroes, discard, flush, or blktrace's RWBS)",
        "`{op_text}` は操作ではありません(read、write、zeroes、discard、flush、または blktrace の RWBS)";
    NO_STREAM: "`{text}` is no stream", "`{text}` はストリームではありません";
    NO_SUCH: "`{text}` is no {name}", "`{text}` は {name} ではありません";
    WRITING_CSV: "writing the CSV", "CSV の書き込み";
    NO_MICROSECONDS: "`{text}` is no time in microseconds",
        "`{text}` はマイクロ秒単位の時刻ではありません";
    IOLOG_LINE: "a line is FILE ACTION OFFSET LENGTH", "1 行は FILE ACTION OFFSET LENGTH です";
    NO_NUMBER_OF: "`{text}` is no {what}", "{what} `{text}` は数ではありません";
    AN_OFFSET: "offset", "オフセット";
    A_LENGTH: "length", "長さ";
    NO_ACTION: "`{action}` is no action of fio's (read, write, trim, sync, datasync, wait)",
        "`{action}` は fio の操作ではありません(read、write、trim、sync、datasync、wait)";
    FIRST_LINE: "the first line is not `{version_3}`", "最初の行が `{version_3}` ではありません";
    WRITING_IOLOG: "writing the iolog", "iolog の書き込み";

    // Logs of dm-log-writes.
    LOG_ENDS: "the log of dm-log-writes ends in its first sector",
        "dm-log-writes のログが最初のセクターの途中で終わっています";
    LOG_VERSION: "a log of dm-log-writes of version {version}; 1 is known",
        "dm-log-writes のログのバージョン {version} は未知です(使えるのは 1)";
    LOG_SECTORS: "the log's sectors have {sector_bytes} bytes",
        "ログのセクターが {sector_bytes} バイトです";
    LOG_DAMAGED: "the log is damaged at its entry {count}",
        "ログのエントリー {count} が壊れています";
    NO_LOG_OF_WRITES: "it is no log of dm-log-writes", "dm-log-writes のログではありません";
    LOG_CUT_OFF: "the log is cut off in its entry {count}",
        "ログがエントリー {count} の途中で切れています";
    LOG_PAST_END: "{length} bytes at {offset} of its entry {count} reach past the end of a drive of {drive_bytes} bytes",
        "エントリー {count} の {offset} からの {length} バイトが、{drive_bytes} バイトのドライブの末尾を越えています";

    // Published traces.
    NEITHER_READS_NOR_WRITES: "`{text}` neither reads nor writes",
        "`{text}` は読み込みでも書き込みでもありません";
    NO_SUCH_FIELD: "`{text}` is no {what}", "`{text}` は {what} ではありません";
    TOO_LARGE_FOR: "`{text}` is too large for a {what}", "`{text}` は {what} には大きすぎます";
    A_LINE_IS: "a line is {form}", "1 行は {form} です";
    SPC_LINE: "a line is ASU,LBA,Size,Opcode,Timestamp",
        "1 行は ASU,LBA,Size,Opcode,Timestamp です";
    ALIBABA_LINE: "a line is device_id,opcode,offset,length,timestamp",
        "1 行は device_id,opcode,offset,length,timestamp です";
    DISKSIM_LINE: "a line is milliseconds device block blocks flags",
        "1 行は milliseconds device block blocks flags です";
    NO_MILLISECONDS: "`{time}` is no time in ms", "`{time}` はミリ秒単位の時刻ではありません";
    NO_FLAGS: "`{flags}` are no flags", "`{flags}` はフラグではありません";

    // What is read past.
    LINE: "line {number}", "{number} 行目";
    RECORD: "record {number}", "レコード {number}";
    UNREADABLE: "no request can be read there", "要求を読み取れません";
    EMPTY: "a request of size 0", "サイズ 0 の要求";
    PAST_END: "a request that reaches past the end of the device", "デバイスの末尾を越える要求";
    UNORDERED: "a request that is earlier than the one before it", "前の要求より早い要求";
    CLOCK_WAS_SET_BACK: "the clock was set back", "時計が戻された";
    UNPAIRED: "a completion without its submission", "発行のない完了";
    LOST: "the recorder lost requests", "記録し損ねた要求";
    CUT_OFF: "the trace is cut off", "トレースが途中で切れている";

    // Fields of published traces.
    DISK_NUMBER: "disk's number", "ディスク番号";
    RESPONSE_TIME: "response time", "応答時間";
    TIME: "time", "時刻";
    OFFSET: "offset", "オフセット";
    FIELD_SIZE: "size", "サイズ";
    UNIT: "unit (ASU)", "ユニット(ASU)";
    SECTOR: "sector", "セクター";
    DEVICE: "device", "デバイス";
    LENGTH: "length", "長さ";
    BLOCK: "block", "ブロック";
    NUMBER_OF_BLOCKS: "number of blocks", "ブロック数";
}
