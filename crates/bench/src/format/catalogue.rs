//! Why a file of another program's results is not read, in every language.

words::catalogue! {
    FIO_IOLOG: "fio's iolog", "fio の iolog";
    BLKPARSE: "the text of blkparse", "blkparse の出力";
    MICROSOFT_TRACE: "a trace of Microsoft Research", "Microsoft Research のトレース";
    SPC_TRACE: "a trace of the SPC", "SPC のトレース";
    TENCENT_TRACE: "a trace of Tencent", "Tencent のトレース";
    FIO_FOR_PEOPLE: "what fio prints for people", "fio の人向けの出力";
    IS_A_TRACE: "it is {what}: requests, and no results of them; `fio --read_iolog=FILE --output-format=json` runs those of an iolog (others are converted to one before), and what that prints is read here",
        "{what}です。要求の記録であり、結果ではありません。iolog なら `fio --read_iolog=FILE --output-format=json` で実行でき(ほかは先に iolog へ変換)、その出力はここで読めます";
    IS_FIO_TEXT: "it is {what}: of fio the output of --output-format=json or of --minimal is read here",
        "{what}です。fio は --output-format=json か --minimal の出力を読めます";
    NO_KNOWN_FORMAT: "none of the formats that are known: CrystalDiskMark's text (2 to 9), KDiskMark's text, bonnie++'s CSV and tables (1.02 to 2.00), fio's JSON (2 and 3) and terse lines",
        "既知の形式ではありません: CrystalDiskMark のテキスト(2 〜 9)、KDiskMark のテキスト、bonnie++ の CSV と表(1.02 〜 2.00)、fio の JSON(2 と 3)と terse 形式";
    NO_FIGURE: "there is no figure in it", "数値が入っていません";
    EMPTY_DOCUMENT: "an empty document", "空の文書です";
    NO_JSON: "line {line}: no JSON", "{line} 行目: JSON ではありません";
    OTHER_JSON: "JSON of another kind: it has none of fio's `jobs`; what raidloom has measured is in the folder of its run",
        "別の種類の JSON です。fio の `jobs` がありません。raidloom の測定結果は測定のフォルダーにあります";
    NO_LIST: "`{list}` is no list", "`{list}` がリストではありません";
    NO_JOBNAME: "{list}[{number}] has no `jobname`", "{list}[{number}] に `jobname` がありません";
    JOB_ERROR: "the job {name} ended with error {number}",
        "ジョブ {name} がエラー {number} で終了しました";
    JOBS_IDLE: "no job moved anything", "どのジョブも入出力をしていません";
    NO_BANDWIDTH: "jobs[{number}].{section} has neither `bw_bytes` nor `bw`",
        "jobs[{number}].{section} に `bw_bytes` も `bw` もありません";
    NO_IOPS: "jobs[{number}].{section} has no `iops`",
        "jobs[{number}].{section} に `iops` がありません";
    TERSE_CUT_OFF: "line {number}: a line of fio's terse output that is cut off",
        "{number} 行目: fio の terse 形式の行が途中で切れています";
    NO_KNOWN_ROW: "line {number}: `{words}` is no row that is known",
        "{number} 行目: `{words}` は既知の行ではありません";
    BONNIE_FIELDS: "line {number}: it has {count} fields; bonnie++ writes 27, 48 or 50",
        "{number} 行目: フィールドが {count} 個です(bonnie++ は 27、48、50 個)";
    BONNIE_TABLE: "line {number}: of this table of bonnie++ it cannot be told which figures are of which phases; its line of CSV says it (bonnie++ -q prints nothing else)",
        "{number} 行目: bonnie++ のこの表では、どの数値がどのフェーズのものかわかりません。その CSV の行ならわかります";
}
