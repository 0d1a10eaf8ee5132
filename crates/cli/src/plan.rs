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
    let text = table(&["PLAN", "WHAT IT ASKS"], &rows, &[]);
    output.result(&format!(
        "{text}\nraidloom run plan NAME says what it comes to, raidloom run NAME runs it, and\n\
        raidloom run NAME --print-plan > my-plan.toml makes one of your own of it.\n"
    ))
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
        text += "\nLeft out:\n";
        for skipped in &resolved.skipped {
            let settings = plan.label(&skipped.settings);
            text += &escape::line(&format!("  {settings}: {}", skipped.why));
            text.push('\n');
        }
    }
    text += if outline.interleaved {
        "\nWorkloads, each a row of its suite, and every configuration runs one before any runs the \
        next:\n"
    } else {
        "\nWorkloads, each a row of its suite:\n"
    };
    for workload in &plan.workloads {
        text += &format!("  {}\n", escape::line(&workload.name));
    }
    text += "\nWill be written to";
    text += &written(&outline);
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
        .chain(["CLOCK", "COMPARED WITH", "STACK"].map(String::from))
        .collect();
    let rows: Vec<Vec<String>> = plan
        .configurations
        .iter()
        .map(|configuration| {
            let settings = axes.iter().map(|axis| {
                configuration.settings.get(*axis).cloned().unwrap_or_else(|| "-".to_owned())
            });
            let clock = match configuration.clock {
                results::Clock::Virtual => "virtual",
                results::Clock::Wall => "wall",
            };
            let own = configuration.baseline == configuration.id;
            let baseline =
                if own { "(baseline)".to_owned() } else { label(&configuration.baseline) };
            settings.chain([clock.to_owned(), baseline, configuration.stack.clone()]).collect()
        })
        .collect();
    table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows, &[])
}

/// The files and devices that are written to.
fn written(outline: &Outline) -> String {
    if outline.written.is_empty() {
        return ": nothing\n".to_owned();
    }
    let rows: Vec<Vec<String>> = outline
        .written
        .iter()
        .map(|written| {
            let what = if written.made {
                "made, and removed at the end"
            } else {
                "EXISTS: its content is overwritten"
            };
            vec![
                format!("  {}", written.path),
                match written.size_bytes {
                    0 => String::new(),
                    bytes => stack::size::text(bytes),
                },
                stack::size::text(written.prepared_bytes),
                what.to_owned(),
            ]
        })
        .collect();
    let table = table(&["  PATH", "SIZE", "WRITTEN BY PREPARING", "WHAT"], &rows, &[1, 2]);
    format!(" (`{{members}}` is a folder of the run's own):\n{table}")
}
