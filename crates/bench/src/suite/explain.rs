//! What a suite does, in words: for `bench explain` and for `docs/suites.md`, from the definition
//! alone.

use std::fmt::Write;

use words::{Text, say};

use super::catalogue;
use super::definition::{Setting, Suite, TargetKind};
use super::japanese;
use super::phase::Phase;

/// What kinds of target a suite takes, in words.
#[must_use]
pub fn targets(suite: &Suite) -> Text {
    let name = |kind: &TargetKind| match kind {
        TargetKind::Device => catalogue::DEVICE_TARGET,
        TargetKind::Folder => catalogue::FOLDER_TARGET,
    };
    Text::joined(suite.targets.iter().map(name), "; ")
}

/// A phase's figure, in words.
#[must_use]
pub fn figure(phase: &Phase) -> Text {
    match &*phase.metric {
        "throughput_bytes_per_second" | "durable_throughput_bytes_per_second" => "bytes/s".into(),
        "io_per_second" | "durable_io_per_second" => catalogue::OPERATIONS_FIGURE.into(),
        metric if metric.ends_with("_seconds") => catalogue::SECONDS_FIGURE.into(),
        _ => catalogue::NUMBER_FIGURE.into(),
    }
}

fn table(text: &mut String, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    *text += &line(&head.iter().map(ToString::to_string).collect::<Vec<_>>());
    *text += &line(&head.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
    for row in rows {
        *text += &line(&row);
    }
}

/// Which values a setting takes, in words.
fn takes(setting: &Setting) -> Text {
    let groups = setting.by_group.then_some(catalogue::BY_GROUP);
    groups.into_iter().fold(setting.kind.text(), Text::and)
}

/// One suite in Markdown.
#[must_use]
pub fn markdown(suite: &Suite) -> String {
    let mut text = format!("## {}\n\n{}\n\n{}\n\n", suite.name, suite.summary, suite.about.trim());
    let _ = writeln!(text, "Target: {}.\n", targets(suite).english());
    let phases = suite.default_phases();
    table(
        &mut text,
        &["phase", "what is done", "figure"],
        phases.iter().map(|phase| {
            vec![
                phase.name.clone(),
                phase.what.english().replace('|', "\\|"),
                figure(phase).english(),
            ]
        }),
    );
    if !suite.settings.is_empty() {
        text += "\n";
        table(
            &mut text,
            &["setting", "value", "without it", "means"],
            suite.settings.iter().map(|setting| {
                vec![
                    format!("`{}`", setting.name),
                    takes(setting).english(),
                    format!("`{}`", setting.default_words().english()),
                    setting.what.replace('|', "\\|"),
                ]
            }),
        );
    }
    text
}

/// One suite as plain text, lines broken at `width` columns.
#[must_use]
pub fn text(suite: &Suite, width: usize) -> String {
    let mut text = format!(
        "{}\n\n{}\n",
        fold(&format!("{}: {}", suite.name, japanese::summary(suite)), "", width),
        fold(japanese::about(suite), "", width)
    );
    let runs_on = say!(catalogue::RUNS_ON, targets = targets(suite));
    let _ = write!(text, "\n{runs_on}\n\n{}\n", catalogue::PHASES.template());
    for phase in suite.default_phases() {
        let _ = write!(
            text,
            "\n  {}  [{}]\n{}\n",
            phase.name,
            figure(&phase),
            fold(&phase.what.to_string(), "      ", width)
        );
    }
    if !suite.settings.is_empty() {
        let _ = write!(text, "\n{}\n", catalogue::KEYS.template());
    }
    for setting in suite.settings {
        let _ = write!(
            text,
            "\n  {} = {}  ({})\n{}\n",
            setting.name,
            setting.default_words(),
            takes(setting).to_string().trim(),
            fold(japanese::meaning(setting), "      ", width)
        );
    }
    text
}

/// Breaks a text into lines that begin with `indent`.
fn fold(text: &str, indent: &str, width: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = escape::wrapped(&words, width.saturating_sub(indent.len()));
    lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

const INTRODUCTION: &str = "\
# The suites

Made from the suites' own definitions; `raidloom bench explain SUITE` prints the same in a terminal.

Every row of every suite has

* an **acknowledged** rate, when the calls had returned, and, where something was written, a **durable** one, to the end of the flush that follows;
* latencies: mean, percentiles and the longest;
* processor time of raidloom itself and, beside it, of the kernel's own threads, in per cent of one processor;
* an **audit**: what the devices under the target really moved meanwhile, held against what was asked for.

The audit's flags stand beside the figures wherever these are shown:

| flag | means |
| --- | --- |
| `read-from-cache` | the devices read less than nine tenths of the bytes asked for |
| `never-written` | more than a tenth of what was read lies in holes or unwritten places of files, which no disk answers for |
| `compressed-or-still-dirty` | the devices wrote less than nine tenths of the bytes: compressed, joined, or still in memory |
| `write-amplification` | the devices wrote more than one and a half times what the redundancy asks for |
| `not-quiet` | a hypervisor took more than 2 %, or other work more than 10 %, of the processors |
| `impossible` | faster than the devices together can be, where that is known |

The settings are the keys of a `[[workload]]` in a plan and of `raidloom bench SUITE TARGET -s KEY=VALUE`, a run of one
configuration. How often `bench` measures every row is `--runs`, without it as often as `runs` says. A list of values in a plan
makes a setting an axis.

";

/// All suites in Markdown.
#[must_use]
pub fn document() -> String {
    let sections: Vec<String> = super::all().into_iter().map(markdown).collect();
    format!("{INTRODUCTION}{}", sections.join("\n"))
}
