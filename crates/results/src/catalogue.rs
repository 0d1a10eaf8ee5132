//! What rules a configuration out, in every language.

words::catalogue! {
    GRADE_TOO_LOW: "{asked} is asked for: grade {grade} in {pulls} pulls",
        "条件は {asked} ですが、電源断 {pulls} 回で等級 {grade} でした";
    NO_GRADE_MEASURED: "{asked} is asked for, and no grade was measured: {why}",
        "条件は {asked} ですが、等級を測定していません: {why}";
    NO_TRIAL_YET: "there is no trial yet", "まだ試行がありません";
    NO_FIGURES: "it has no figures", "数値がありません";
    DOES_NOT_HOLD: "not {bound} in {workload}", "{workload} で {bound} を満たしません";
    MAY_NOT_HOLD: "not {bound} in {workload}, which may be chance",
        "{workload} で {bound} を満たしません(偶然かもしれません)";
}
