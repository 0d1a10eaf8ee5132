//! The report as Markdown, for wikis and issues: tables in GitHub's form.

use std::fmt::Write as _;

use escape::markdown as escaped;
use results::analysis::{Analysis, Comparison};
use results::safety::speeds;
use results::types::Run;

use crate::cached;
use crate::decision::{decision, joined, joint};
use crate::run_tables;
use crate::safety;
use crate::sentences;
use crate::survival;
use crate::table::{self, Table};
use crate::words::say;

/// The report: verdict, warnings, scores, ratios, machine.
#[must_use]
pub fn markdown(run: &Run, analysis: &Analysis) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n## {}\n",
        escaped(sentences::title(run)),
        escaped(&sentences::scope(run, analysis).join(" · ")),
        say!(DECISION)
    );
    if let Some((parts, _)) = joint(analysis) {
        let sentence = joined(&parts);
        let _ = write!(text, "\n{}\n", escaped(&sentence));
    }
    let run = &*speeds(run);
    for comparison in &analysis.comparisons {
        put_comparison(&mut text, analysis, comparison);
    }
    for sentence in safety::by_grade(analysis) {
        let _ = write!(text, "\n{}\n", escaped(&sentence));
    }
    put_figures(&mut text, run, analysis);
    if !analysis.warnings.is_empty() {
        let _ = write!(text, "\n## {}\n\n", say!(WARNINGS));
        for warning in sentences::warnings(analysis) {
            let _ = writeln!(text, "* {}", escaped(&warning));
        }
    }
    if sentences::has_scores(analysis) {
        let _ = write!(text, "\n## {}\n", say!(SCORES_SHORT));
    }
    for comparison in &analysis.comparisons {
        if let Some(table) = table::scores(comparison) {
            put_table(&mut text, &table);
        }
    }
    if let Some(table) = cached::table(analysis) {
        let _ = writeln!(text, "\n## {}", say!(CACHED));
        for sentence in cached::sentences(analysis) {
            let _ = write!(text, "\n{}\n", escaped(&sentence));
        }
        put_table(&mut text, &table);
    }
    if let Some(table) = safety::table(analysis) {
        let _ = write!(text, "\n## {}\n\n{}\n", say!(SAFETY), escaped(&safety::note()));
        put_table(&mut text, &table);
    }
    if let Some(table) = survival::table(analysis) {
        let _ = write!(text, "\n## {}\n", say!(WHAT_EACH_SURVIVES));
        put_table(&mut text, &table);
    }
    put_ratios(&mut text, run, analysis);
    let others = analysis.starts.iter().filter(|start| !start.without_raidloom.is_empty());
    for (number, start) in others.enumerate() {
        if number == 0 {
            let _ = write!(text, "\n## {}\n", say!(WITHOUT_SHORT));
        }
        let _ = write!(text, "\n{}\n\n", escaped(&start.label));
        put_code(&mut text, &start.without_raidloom.iter().collect::<Vec<_>>());
    }
    let _ = write!(text, "\n## {}\n", say!(MACHINE));
    put_table(&mut text, &run_tables::configurations(analysis));
    put_table(&mut text, &run_tables::facts(run));
    let _ = write!(text, "\n## {}\n", say!(HOW_TO_READ));
    for paragraph in sentences::method(analysis) {
        let _ = write!(text, "\n{paragraph}\n");
    }
    // Each value was escaped where it was put in; this is for one that was forgotten.
    escape::text(&text).into_owned()
}

/// What a comparison comes to.
fn put_comparison(text: &mut String, analysis: &Analysis, comparison: &Comparison) {
    let subject = table::comparison_subject(comparison);
    let _ = write!(
        text,
        "\n### {}: {}\n\n",
        escaped(&table::comparison_title(comparison)),
        escaped(&subject)
    );
    for banner in sentences::same_disks(comparison) {
        let _ = write!(text, "> {}\n\n", escaped(&banner));
    }
    let Some(decision) = decision(analysis, comparison) else { return };
    let lead = escaped(&decision.lead);
    let lead = if decision.is_sure { format!("**{lead}**") } else { lead };
    let said = [decision.sentence(&lead), escaped(&decision.rest)];
    let _ = writeln!(text, "{}\n", sentences::join(said.iter().map(String::as_str)));
    if !decision.price.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&decision.price));
    }
    if let Some(start) = decision.start {
        put_code(text, &[&start.command]);
        text.push('\n');
    }
    if !decision.not_known.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&say!(NOT_KNOWN_TEXT, open = decision.open())));
    }
    for answer in &decision.kinds {
        let details = sentences::join(answer.details());
        let (kind, pick) = (&answer.kind, escaped(&answer.pick));
        // What is not sure does not stand out.
        let lead =
            if answer.is_sure { format!("**{kind}: {pick}**") } else { format!("{kind}: {pick}") };
        let parts = [lead.as_str(), answer.score.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let sure =
            if answer.sure.is_empty() { String::new() } else { format!(", {}", answer.sure) };
        let _ = writeln!(text, "* {}{sure}. {}", parts.join(" "), escaped(&details));
    }
    if let Some(sentence) = sentences::pairing(comparison) {
        let _ = write!(text, "\n{}\n", escaped(&sentence));
    }
}

/// What was measured, where there is nothing to compare it with.
fn put_figures(text: &mut String, run: &Run, analysis: &Analysis) {
    let of = |comparison| run_tables::figures_of(run, comparison);
    let tables: Vec<Table> = analysis.comparisons.iter().filter_map(of).collect();
    if !tables.is_empty() {
        let _ = write!(text, "\n## {}\n", say!(MEASURED_FIGURES));
    }
    tables.iter().for_each(|table| put_table(text, table));
}

/// Ratio of each workload in each configuration but the baseline.
fn put_ratios(text: &mut String, run: &Run, analysis: &Analysis) {
    let of = |comparison| {
        let panels =
            table::panels(comparison).into_iter().filter(|panel| !panel.columns.is_empty());
        panels.map(move |panel| table::heat(run, comparison, &panel))
    };
    let tables: Vec<Table> = analysis.comparisons.iter().flat_map(of).collect();
    if !tables.is_empty() {
        let _ = write!(text, "\n## {}\n", say!(RATIOS_BY_WORKLOAD));
    }
    tables.iter().for_each(|table| put_table(text, table));
}

/// Lines for a shell, in a fence that none of them can end.
fn put_code(text: &mut String, lines: &[&String]) {
    let longest = lines.iter().flat_map(|line| line.split(|letter| letter != '`')).map(str::len);
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    let _ = writeln!(text, "{fence}sh");
    lines.iter().for_each(|line| _ = writeln!(text, "{}", escape::line(line)));
    let _ = writeln!(text, "{fence}");
}

fn put_table(text: &mut String, table: &Table) {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    if !table.caption.is_empty() {
        let _ = write!(text, "\n**{}**\n", escaped(&table.caption));
    }
    text.push('\n');
    text.push_str(&row(table.columns.iter().map(|column| escaped(&column.name)).collect()));
    text.push_str(&row(table
        .columns
        .iter()
        .map(|column| if column.number { "---:".into() } else { "---".into() })
        .collect()));
    for cells in &table.rows {
        text.push_str(&row(cells.iter().map(|cell| escaped(cell)).collect()));
    }
}
