//! `raidloom plan`: write, check and show plan files. Nothing is opened for writing here.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lab::plan::{self, Outline, Resolved};
use results::Plan;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, table};
use crate::progress::duration;

/// `plan`.
#[derive(Subcommand, Debug)]
pub(crate) enum PlanVerb {
    /// Print a commented plan to start from
    #[command(after_long_help = "\
Examples:
  raidloom plan new > my-plan.toml
  raidloom plan new stripe-size > my-plan.toml
  raidloom plan show my-plan.toml -s 'matrix.consistency=[\"resync\", \"bitmap\"]'

Axes of the matrix: members, level, chunk, layout, metadata, consistency, bitmap, member_timeout,
cache, upkeep, file_system, make_options, mount_options, policy; image, image_size, image_io,
outer_file_system with its options; place = \"guest\" with array, memory, scheduler, read_ahead,
max_request, queue_depth, write_cache, disk_size; every setting of the suites, as depth = [1, 4, 32]
or workload.depth = [1, 4, 32]. docs/plan-files.md says what each means.")]
    New {
        /// A name from `plan list`: the text of that plan, to be changed
        name: Option<String>,
    },
    /// List the plans that came with the program, and what each asks
    #[command(after_long_help = "\
Examples:
  raidloom plan list
  raidloom plan show stripe-size
  raidloom run stripe-size

They are inside the program; `plan new NAME` prints one.")]
    List,
    /// Check a plan and say what is wrong with it
    #[command(after_long_help = "Examples:\n  raidloom plan check my-plan.toml")]
    Check(PlanFile),
    /// Show every configuration, the time it will take and what will be written
    #[command(
        after_long_help = "Examples:\n  raidloom plan show my-plan.toml\n  raidloom plan show \
            my-plan.toml --json"
    )]
    Show(PlanFile),
}

/// A plan and changes to it.
#[derive(Args, Debug)]
pub(crate) struct PlanFile {
    /// The plan file, or a name from `plan list`
    pub plan: PathBuf,

    /// Change one key of the plan (a TOML value; may be repeated)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Runs one of the verbs.
pub(crate) fn plan(output: &Output, verb: &PlanVerb) -> Result<(), Failure> {
    match verb {
        PlanVerb::New { name } => {
            let text = name.as_deref().map_or_else(|| Ok(plan::starter()), plan::shipped_text)?;
            output.result(text)
        }
        PlanVerb::List => list(output),
        PlanVerb::Check(file) => {
            let resolved = plan::load(&file.plan, &file.set)?;
            let outline = plan::outline(&resolved.plan)?;
            plan::room(&resolved.plan, std::path::Path::new("."))?;
            if output.json {
                return output.document(&json!({ "ok": true, "outline": outline }));
            }
            output.result(&format!("{}: OK. {}", file.plan.display(), sentence(&outline)))
        }
        PlanVerb::Show(file) => {
            let resolved = plan::load(&file.plan, &file.set)?;
            show(output, &resolved)
        }
    }
}

/// The plans that came with the program.
fn list(output: &Output) -> Result<(), Failure> {
    let plans = plan::shipped();
    if output.json {
        return output.document(&json!(plans));
    }
    let rows: Vec<Vec<String>> =
        plans.into_iter().map(|plan| vec![plan.name.to_owned(), plan.question]).collect();
    output.result(&table(&["plan", "what it asks"], &rows, &[]))
}

/// What a plan comes to, in one sentence.
pub(crate) fn sentence(outline: &Outline) -> String {
    let race = outline.design == results::Design::Race;
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "{} x {} x {} = {}{} trials{}, about {}",
        counted(outline.configurations, "configuration"),
        counted(outline.workloads, "workload"),
        counted(outline.blocks as usize, "block"),
        if race { "at most " } else { "" },
        outline.trials,
        if race { " (a race drops clear losers)" } else { "" },
        duration(std::time::Duration::from_secs_f64(outline.estimated_seconds))
    ) + &budget(outline)
}

/// What the plan may cost, where it says so, held against what it comes to.
fn budget(outline: &Outline) -> String {
    let budget = outline.budget;
    let mut parts = Vec::new();
    if let Some(seconds) = budget.time_seconds {
        let short = outline.estimated_seconds > seconds;
        let time = duration(std::time::Duration::from_secs_f64(seconds));
        parts.push(format!("{time}{}", if short { " (too short for all of it)" } else { "" }));
    }
    if let Some(bytes) = budget.written_bytes_per_member {
        let prepared = outline.written.iter().map(|written| written.prepared_bytes).max();
        let short = prepared.is_some_and(|prepared| prepared > bytes);
        parts.push(format!(
            "{} written to a member{}",
            stack::size::text(bytes),
            if short { " (preparing alone takes more)" } else { "" }
        ));
    }
    if parts.is_empty() { String::new() } else { format!("; budget: {}", parts.join(", ")) }
}

fn show(output: &Output, resolved: &Resolved) -> Result<(), Failure> {
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
    let label = |id: &str| {
        plan.configurations
            .iter()
            .find(|configuration| configuration.id == id)
            .map_or(id.to_owned(), |configuration| plan.label(&configuration.settings))
    };
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
                stack::size::text(written.size_bytes),
                stack::size::text(written.prepared_bytes),
                what.to_owned(),
            ]
        })
        .collect();
    let table = table(&["  PATH", "SIZE", "WRITTEN BY PREPARING", "WHAT"], &rows, &[1, 2]);
    format!(" (`{{members}}` is a folder of the run's own):\n{table}")
}
