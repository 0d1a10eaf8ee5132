//! What is said of models that are not there, in every language.

words::catalogue! {
    UNKNOWN_MODEL: "no model \"{name}\": {hint}`raidloom model show` names those that come with the \
        program; or give the path of a model file (./NAME.toml)",
        "モデル \"{name}\" はありません。{hint}付属のモデルは `raidloom model show` で確認できます。\
        モデルのファイルはパス(./NAME.toml)で指定してください";
    MODEL_MEANT: "did you mean {name}? ", "{name} のことですか? ";
    BUILT_IN_MODEL: "built-in model {name}", "付属のモデル {name}";
    SHINGLES_NOT_MODELLED: "writes: its tracks lie over each other like shingles, which no law here has",
        "書き込み: トラックを瓦のように重ねる方式で、ここにはその法則がありません";
    MODEL_FILE: "model file {path}", "モデルのファイル {path}";
}
