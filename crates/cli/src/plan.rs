//! `raidloom run plan`: plan files are checked and shown. Nothing is opened for writing here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::plan::{self, Outline, ResolvedPlan};
use results::{Configuration, Plan};
use serde_json::json;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::progress::duration;

/// `run plan`: a plan and changes to it.
#[derive(Args, Debug)]
pub(crate) struct PlanFile {
    /// The plan file, or the name of a plan that came with the program [default: lists these]
    pub plan: Option<PathBuf>,

    /// Change one key of the plan (a TOML value; may be repeated)
    #[arg(short, long = "set", value_name = "KEY=VALUE", requires = "plan")]
    pub set: Vec<String>,
}

/// Checks and shows a plan, or lists those that came with the program.
pub(crate) fn plan(output: &Output, arguments: &PlanFile) -> Result<(), Failure> {
    let Some(path) = &arguments.plan else { return list(output) };
    let resolved = plan::load(path, &arguments.set)?;
    show(output, &resolved)?;
    plan::room(&resolved.plan, Path::new("."))
}

/// The plans that came with the program.
fn list(output: &Output) -> Result<(), Failure> {
    let plans = plan::shipped();
    if output.json {
        return output.document(&json!(plans));
    }
    let rows: Vec<Vec<String>> =
        plans.into_iter().map(|plan| vec![plan.name.to_owned(), plan.question]).collect();
    let heads = [catalogue::PLAN_HEAD, catalogue::ASKS_HEAD].map(words::Message::template);
    output.result(&format!("{}\n{}\n", table(&heads, &rows, &[]), say!(PLANS_HINT)))
}

/// What a plan comes to, in one sentence.
pub(crate) fn sentence(outline: &Outline) -> String {
    let configurations = match outline.configurations {
        1 => say!(PLAN_CONFIGURATION),
        count => say!(PLAN_CONFIGURATIONS, count = count),
    };
    let workloads = match outline.workloads {
        1 => say!(PLAN_WORKLOAD),
        count => say!(PLAN_WORKLOADS, count = count),
    };
    let blocks = match outline.blocks {
        1 => say!(PLAN_BLOCK),
        count => say!(PLAN_BLOCKS, count = count),
    };
    let message = match outline.design {
        results::Design::Race => catalogue::PLAN_RACE_SENTENCE,
        _ => catalogue::PLAN_SENTENCE,
    };
    let time = duration(std::time::Duration::from_secs_f64(outline.estimated_seconds));
    words::say!(
        message,
        configurations = configurations,
        workloads = workloads,
        blocks = blocks,
        trials = outline.trials,
        time = time
    ) + &budget(outline)
}

/// What the plan may cost, where it says so, held against what it comes to.
fn budget(outline: &Outline) -> String {
    let budget = outline.budget;
    let mut parts = Vec::new();
    if let Some(seconds) = budget.time_seconds {
        let short = outline.estimated_seconds > seconds;
        let time = duration(std::time::Duration::from_secs_f64(seconds));
        parts.push(if short { say!(BUDGET_TOO_SHORT, time = time) } else { time });
    }
    if let Some(bytes) = budget.written_bytes_per_member {
        let prepared = outline.written.iter().map(|written| written.prepared_bytes).max();
        let short = prepared.is_some_and(|prepared| prepared > bytes);
        let message = if short { catalogue::BUDGET_PREPARING } else { catalogue::BUDGET_WRITTEN };
        parts.push(words::say!(message, size = stack::size::text(bytes)));
    }
    match parts.is_empty() {
        true => String::new(),
        false => say!(PLAN_BUDGET, parts = parts.join(", ")),
    }
}

fn show(output: &Output, resolved: &ResolvedPlan) -> Result<(), Failure> {
    let (plan, outline) = (&resolved.plan, plan::outline(&resolved.plan)?);
    if output.json {
        return output
            .document(&json!({ "plan": plan, "skipped": resolved.skipped, "outline": outline }));
    }
    let mut text = format!("{}: {}\n\n", escape::line(&plan.name), sentence(&outline));
    text += &configurations(plan);
    if !resolved.skipped.is_empty() {
        text += &format!("\n{}\n", say!(PLAN_LEFT_OUT));
        for skipped in &resolved.skipped {
            let settings = plan.label(&skipped.settings);
            text += &escape::line(&format!("  {settings}: {}", skipped.why));
            text.push('\n');
        }
    }
    let workloads = match outline.interleaved {
        true => say!(PLAN_INTERLEAVED_ROWS),
        false => say!(PLAN_ROWS),
    };
    text += &format!("\n{workloads}\n");
    for workload in &plan.workloads {
        text += &format!("  {}\n", escape::line(&workload.name));
    }
    text += &format!("\n{}", written(&outline));
    output.result(&text)
}

/// A row a configuration: its settings, its clock, what it is compared with, and its stack.
fn configurations(plan: &Plan) -> String {
    let axes: Vec<&str> = plan.axes.iter().map(|axis| axis.name.as_str()).collect();
    let known: HashMap<&str, &Configuration> =
        plan.configurations.iter().map(|known| (known.id.as_str(), known)).collect();
    let label =
        |id: &str| known.get(id).map_or_else(|| id.to_owned(), |known| plan.label(&known.settings));
    let head: Vec<String> = axes
        .iter()
        .map(|axis| axis.to_uppercase())
        .chain([say!(CLOCK_HEAD), say!(COMPARED_HEAD), say!(STACK_HEAD)])
        .collect();
    let rows: Vec<Vec<String>> = plan
        .configurations
        .iter()
        .map(|configuration| {
            let settings = axes.iter().map(|axis| {
                configuration.settings.get(*axis).cloned().unwrap_or_else(|| "-".to_owned())
            });
            let clock = match configuration.clock {
                results::Clock::Virtual => say!(CLOCK_VIRTUAL),
                results::Clock::Wall => say!(CLOCK_WALL),
            };
            let own = configuration.baseline == configuration.id;
            let baseline = if own { say!(IS_BASELINE) } else { label(&configuration.baseline) };
            settings.chain([clock, baseline, configuration.stack.clone()]).collect()
        })
        .collect();
    table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows, &[])
}

/// The files and devices that are written to.
fn written(outline: &Outline) -> String {
    if outline.written.is_empty() {
        return say!(NOTHING_IS_WRITTEN) + "\n";
    }
    let rows: Vec<Vec<String>> = outline
        .written
        .iter()
        .map(|written| {
            let what = if written.made { say!(MADE_AND_REMOVED) } else { say!(EXISTS_OVERWRITTEN) };
            vec![
                format!("  {}", written.path),
                match written.size_bytes {
                    0 => String::new(),
                    bytes => stack::size::text(bytes),
                },
                stack::size::text(written.prepared_bytes),
                what,
            ]
        })
        .collect();
    let heads =
        [format!("  {}", say!(PATH_HEAD)), say!(LIST_SIZE), say!(PREPARED_HEAD), say!(WHAT_HEAD)];
    let table = table(&heads, &rows, &[1, 2]);
    format!("{}\n{table}", say!(IS_WRITTEN, members = "{members}"))
}
