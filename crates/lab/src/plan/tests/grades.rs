//! What a plan says of grades.

use super::*;

/// "a configuration below the grade is not taken": for that something has to measure it.
#[test]
fn a_grade_is_asked_for_where_pulls_measure_it() {
    let plan = |lines: &str, more: &str| {
        let text = format!(
            "schema = 1\nname = \"test\"\n{lines}\n[members.m]\nstacks = [\"ram:64MiB\"]\n\
            [matrix]\n\
            level = \"single\"\nfile_system = \"ext4\"\n[[workload]]\nsuite = \"hdparm\"\n{more}"
        );
        resolve("plan.toml", &text, &[]).map(|resolved| resolved.plan)
    };
    let pull = "[[workload]]\nsuite = \"pull\"\n";
    let asked = plan("must = [\"grade >= C\", \"grade >= B\"]", pull).unwrap();
    let least = asked.terms.grade.clone().unwrap();
    assert_eq!((least.text.as_str(), least.grade), ("grade >= B", results::safety::Grade::B));
    let pulls: Vec<(&str, f64)> = asked
        .workloads
        .iter()
        .filter(|workload| results::safety::is_pull(workload))
        .map(|workload| (workload.name.as_str(), workload.weight))
        .collect();
    assert_eq!(pulls[..2], [("pull copy", 0.0), ("pull fsync", 0.0)]);
    assert!(plan("", pull).unwrap().terms.grade.is_none());
    let alone = plan("", pull).unwrap();
    let seconds = |plan: &Plan| crate::plan::outline(plan).unwrap().estimated_seconds;
    assert!(seconds(&alone) > seconds(&plan("", "").unwrap()) + 8.0 * 4.0 * 10.0);
    for (lines, more, message) in [
        ("must = \"grade >= B\"", "", "nothing of the plan measures a grade"),
        ("must = \"grade >= F\"", pull, "no grade is called `F`"),
        ("must = \"grade < B\"", pull, "no latency is called `grade`"),
        ("", "[[workload]]\nsuite = \"pull\"\nweight = 2\n", "leave weight out"),
        ("", "[[workload]]\nsuite = \"pull\"\ntear = \"1000\"\n", "512, 1KiB"),
        ("goal = { safety = 1 }", pull, "no kind of work is called `safety`"),
    ] {
        let error = plan(lines, more).unwrap_err().to_string();
        assert!(error.contains(message), "{lines}{more}: {error}");
    }
    let text = format!(
        "schema = 1\nname = \"test\"\n[members.m]\nstacks = [\"ram:64MiB\"]\n[matrix]\nlevel = \
        \"single\"\nfile_system = \"ext4\"\n{pull}[trials]\ndesign = \"race\"\n"
    );
    let error = resolve("plan.toml", &text, &[]).unwrap_err().to_string();
    assert!(error.contains("a race is won by speed"), "{error}");
}
