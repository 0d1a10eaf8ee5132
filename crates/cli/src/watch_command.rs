//! `raidloom watch`: how a run stands, from another terminal.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::watch::{self, Best, Now, RunState, Scored, ShardState, Stage};

use crate::failure::Failure;
use crate::output::{Output, size, wrapped};
use crate::progress::duration;
use crate::signals;

/// `watch`.
#[derive(Args, Debug)]
pub(crate) struct WatchArguments {
    /// The run's folder
    pub run: PathBuf,
}

/// How often the folder is looked at, which takes processor time from what is measured.
const EVERY: Duration = Duration::from_secs(2);
/// Columns of the bar.
const BAR: usize = 32;
/// Rows that the table has at least, and how many shards are told of at most.
const ROWS_MIN: usize = 8;
/// Columns of a row's figures: trials, score, interval and a word.
const FIGURES: usize = 42;

/// Shows a run until it ends: drawn over in one place on a terminal, else a line for each block.
pub(crate) fn watch(output: &Output, arguments: &WatchArguments) -> Result<(), Failure> {
    let mut state = watch::look(&arguments.run)?;
    if output.json {
        return output.document(&state);
    }
    let end = signals::End::new()?;
    let screen = Screen::new(output);
    let mut said = None;
    while matches!(state.stage, Stage::Running | Stage::Waiting) && !end.is_here() {
        let news = (state.blocks_finished, counts(&state));
        if output.animates() {
            screen.show(&state, size(std::io::stderr()).unwrap_or([80, 24]));
        } else if said.as_ref() != Some(&news) {
            said = Some(news);
            output.result(&line(&state))?;
        }
        end.comes_within(EVERY);
        state = watch::look(&arguments.run)?;
    }
    screen.clear();
    output.result(&ending(&state))
}

/// One place on a terminal; nothing elsewhere.
struct Screen(ProgressBar);

impl Screen {
    fn new(output: &Output) -> Screen {
        let target = if output.animates() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Screen(bar)
    }

    fn show(&self, state: &RunState, size: [usize; 2]) {
        self.0.set_message(lines(state, size).join("\n"));
        self.0.tick();
    }

    fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What is drawn on a terminal of so many columns and lines. What is too long goes on below: a line
/// that the terminal itself breaks would take two, and the place would wander.
fn lines(state: &RunState, [columns, height]: [usize; 2]) -> Vec<String> {
    let share = share(state);
    let full = (share * BAR as f64).round() as usize;
    let bar = format!("{}{}", "#".repeat(full.min(BAR)), ".".repeat(BAR - full.min(BAR)));
    let mut said = vec![
        format!("{}: {}{}", state.name, blocks(state), left(state)),
        format!("[{bar}] {:.0} %  {}", 100.0 * share, trials(state)),
    ];
    let now = state.now.iter();
    said.extend(now.map(|now| format!("now: {}  {}", now.configuration, now.workload)));
    said.extend(shards(&state.shards));
    said.extend(state.best.iter().map(ahead));
    let columns = columns.saturating_sub(1).max(20);
    let mut lines: Vec<String> =
        said.iter().flat_map(|line| wrapped(&escape::line(line), columns)).collect();
    let room = height.saturating_sub(lines.len() + 2).max(ROWS_MIN);
    lines.extend(table(&state.configurations, columns, room));
    lines
}

/// The shards that something is at work on, or should be.
fn shards(shards: &[ShardState]) -> Vec<String> {
    let row = |shard: &ShardState| {
        let trials = match shard.trials {
            Some(all) => format!("{} of {all}", shard.trials_finished),
            None => shard.trials_finished.to_string(),
        };
        let now = shard.now.as_ref();
        let what = match shard.stage {
            Stage::Running => now.map_or("running".to_owned(), |now| {
                format!("{}  {}", now.configuration, now.workload)
            }),
            _ => "interrupted".to_owned(),
        };
        let left = now.map_or("-".to_owned(), range);
        vec![shard.shard.to_string(), trials, left, what]
    };
    let told = shards
        .iter()
        .filter(|shard| matches!(shard.stage, Stage::Running | Stage::Interrupted))
        .take(ROWS_MIN);
    let rows: Vec<Vec<String>> = told.map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["SHARD", "TRIALS", "LEFT", "NOW"].map(str::to_owned).to_vec();
    escape::columns(&[vec![head], rows].concat(), &[1, 2])
}

/// A row for each configuration, at most as many as there is room for.
fn table(configurations: &[Scored], columns: usize, room: usize) -> Vec<String> {
    let head = ["CONFIGURATION", "TRIALS", "SCORE", "INTERVAL", ""].map(str::to_owned).to_vec();
    let row = |one: &Scored| {
        let number =
            |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
        let interval = match (one.ratio_low, one.ratio_high) {
            (Some(low), Some(high)) => format!("{low:.2}x to {high:.2}x"),
            _ => "-".to_owned(),
        };
        let word = match (one.is_baseline, one.is_dropped) {
            (true, _) => "baseline",
            (false, true) => "dropped",
            (false, false) => "",
        };
        vec![name(one), one.trials.to_string(), number(one.ratio), interval, word.to_owned()]
    };
    // A list that does not fit ends with how many it leaves out.
    let shown = if configurations.len() > room { room - 1 } else { configurations.len() };
    let rows: Vec<Vec<String>> = configurations.iter().take(shown).map(row).collect();
    // Names give way to figures: a long one stands above them.
    let above = |name: &str| escape::width(name) + FIGURES > columns;
    let cells = rows.iter().map(|row| match above(&row[0]) {
        true => [&[String::new()], &row[1..]].concat(),
        false => row.clone(),
    });
    let mut figures =
        escape::columns(&std::iter::once(head).chain(cells).collect::<Vec<_>>(), &[1, 2])
            .into_iter();
    let mut lines: Vec<String> = figures.next().into_iter().collect();
    for (row, figures) in rows.iter().zip(figures) {
        if above(&row[0]) {
            lines.extend(wrapped(&escape::line(&row[0]), columns));
        }
        lines.push(figures);
    }
    let more = configurations.len() - shown;
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

/// What it is called, behind the comparison that it stands in where the name does not say that.
fn name(one: &Scored) -> String {
    if one.comparison.is_empty() || one.configuration.starts_with(&one.comparison) {
        return one.configuration.clone();
    }
    format!("{}: {}", one.comparison, one.configuration)
}

/// How it stands in a line, for a log.
fn line(state: &RunState) -> String {
    let best = state.best.last().map_or(String::new(), |best| format!("  {}", ahead(best)));
    let (blocks, trials) = (blocks(state), trials(state));
    format!("{blocks}  {trials}  {:.0} %{}{best}", 100.0 * share(state), left(state))
}

/// What is said when nothing more is going to be.
fn ending(state: &RunState) -> String {
    let folder = state.folder.display();
    match state.stage {
        Stage::Finished if !state.shards.is_empty() => {
            format!("{}: finished, {}; raidloom merge {folder} -o DIR", state.name, trials(state))
        }
        Stage::Interrupted if !state.shards.is_empty() => {
            let on = if state.job.is_some() {
                format!("raidloom run --on slurm --resume {folder}")
            } else {
                "raidloom run --resume with each that is interrupted".to_owned()
            };
            format!("{}: {}, {}; {on}", state.name, blocks(state), trials(state))
        }
        Stage::Waiting => format!("{}: {}, {}", state.name, blocks(state), trials(state)),
        Stage::Finished => {
            format!("{}: finished, {}; raidloom report {folder}", state.name, trials(state))
        }
        Stage::Interrupted => {
            let trials = trials(state);
            format!("{}: interrupted, {trials}; raidloom run --resume {folder}", state.name)
        }
        Stage::Running => format!("{}: it goes on, {}{}", state.name, trials(state), left(state)),
    }
}

/// How the shards stand, those of each kind counted; empty for a run that is not cut.
fn counts(state: &RunState) -> String {
    let words = [
        (Stage::Finished, "finished"),
        (Stage::Running, "running"),
        (Stage::Waiting, "waiting"),
        (Stage::Interrupted, "interrupted"),
    ];
    let count = |stage| state.shards.iter().filter(|shard| shard.stage == stage).count();
    let told = words.into_iter().map(|(stage, word)| (count(stage), word));
    let told = told.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    told.collect::<Vec<_>>().join(", ")
}

fn share(state: &RunState) -> f64 {
    state.trials_finished as f64 / state.trials.max(1) as f64
}

fn blocks(state: &RunState) -> String {
    if !state.shards.is_empty() {
        let job = state.job.as_ref().map_or(String::new(), |job| format!("job {job}, "));
        return format!("{job}{} shards: {}", state.shards.len(), counts(state));
    }
    match state.blocks {
        Some(blocks) => format!("block {} of {blocks}", (state.blocks_finished + 1).min(blocks)),
        None => format!("block {} of a race", state.blocks_finished + 1),
    }
}

fn trials(state: &RunState) -> String {
    format!("{} of {} trials", state.trials_finished, state.trials)
}

fn left(state: &RunState) -> String {
    state.now.as_ref().map_or(String::new(), |now| format!("  left {}", range(now)))
}

/// The time that a process says is left.
fn range(now: &Now) -> String {
    let time = |seconds: f64| duration(Duration::from_secs_f64(seconds.max(0.0)));
    let (low, high) = (time(now.left_low_seconds), time(now.left_high_seconds));
    let range = if low == high { low } else { format!("{low} to {high}") };
    format!("{range}{}", if now.left_is_rough { " (rough)" } else { "" })
}

fn ahead(best: &Best) -> String {
    let place = [best.comparison.as_str(), best.work.as_str()];
    let place: Vec<&str> = place.into_iter().filter(|part| !part.is_empty()).collect();
    let score =
        if best.is_baseline { "the baseline".to_owned() } else { format!("{:.2}x", best.ratio) };
    let word = if best.is_sure { "sure" } else { "not sure yet" };
    format!("best so far, {}: {}  {score}, {word}", place.join(", "), best.configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> RunState {
        let scored = |name: &str, ratio: f64| Scored {
            comparison: String::new(),
            configuration: name.to_owned(),
            is_baseline: ratio == 1.0,
            trials: 10,
            is_dropped: false,
            ratio: Some(ratio),
            ratio_low: (ratio != 1.0).then_some(ratio - 0.1),
            ratio_high: (ratio != 1.0).then_some(ratio + 0.1),
        };
        RunState {
            folder: PathBuf::from("runs/one"),
            name: "chunks\u{1b}[2J".to_owned(),
            started: "2026-11-21T07:40:00Z".to_owned(),
            stage: Stage::Running,
            blocks_finished: 2,
            blocks: Some(8),
            trials_finished: 25,
            trials: 100,
            trials_flagged: 0,
            now: Some(Now {
                process: 1,
                configuration: "raid0, 64KiB".to_owned(),
                workload: "random read 512".to_owned(),
                elapsed_seconds: 60.0,
                left_low_seconds: 170.0,
                left_high_seconds: 190.0,
                left_is_rough: true,
            }),
            best: vec![Best {
                comparison: String::new(),
                work: "random".to_owned(),
                configuration: "raid0, 64KiB".to_owned(),
                is_baseline: false,
                ratio: 1.5,
                ratio_low: Some(1.4),
                ratio_high: Some(1.6),
                is_sure: false,
                figures: "modelled".to_owned(),
            }],
            configurations: vec![scored("single", 1.0), scored("raid0, 64KiB", 1.5)],
            shards: Vec::new(),
            job: None,
        }
    }

    #[test]
    fn a_terminal_is_shown_bar_time_and_table() {
        let shown = lines(&state(), [80, 24]);
        assert_eq!(
            shown,
            [
                "chunks\\u{1b}[2J: block 3 of 8  left 2:50 min to 3:10 min (rough)",
                "[########........................] 25 %  25 of 100 trials",
                "now: raid0, 64KiB  random read 512",
                "best so far, random: raid0, 64KiB  1.50x, not sure yet",
                "CONFIGURATION  TRIALS  SCORE  INTERVAL",
                "single             10  1.00x  -               baseline",
                "raid0, 64KiB       10  1.50x  1.40x to 1.60x",
            ]
        );
    }

    /// Nothing is cut off: what is too long goes on below, and what is too much is counted.
    #[test]
    fn what_does_not_fit_is_wrapped_or_counted() {
        let mut state = state();
        let one = state.configurations[1].clone();
        state.configurations.extend((0..30).map(|number| Scored {
            comparison: format!("raid{number}"),
            configuration: format!("raid{number} over a great many members"),
            ..one.clone()
        }));
        state.configurations[2].comparison = "a comparison of many words".to_owned();
        state.now.as_mut().unwrap().workload = "a row whose name is long ".repeat(4);
        let shown = lines(&state, [80, 24]);
        assert!(shown.iter().all(|line| line.chars().count() < 80), "{shown:#?}");
        assert!(shown.len() <= 24, "{shown:#?}");
        assert_eq!(shown[3], "whose name is long a row whose name is long");
        let at = shown.iter().position(|line| line.starts_with("a comparison of")).unwrap();
        assert_eq!(shown[at], "a comparison of many words: raid0 over a great many members");
        assert!(shown[at + 1].trim_start().starts_with("10  1.50x"), "{shown:#?}");
        assert!(shown[at + 2].starts_with("raid1 over a great many members"), "{shown:#?}");
        assert!(shown.last().unwrap().starts_with("and "), "{shown:#?}");
    }

    #[test]
    fn of_shards_is_shown_how_many_are_done_and_what_the_others_are_at() {
        let mut state = state();
        let now = state.now.take();
        let shard = |text: &str, stage, finished| ShardState {
            shard: text.parse().unwrap(),
            folder: None,
            stage,
            trials_finished: finished,
            trials: Some(25),
            now: now.clone().filter(|_| stage == Stage::Running),
        };
        state.shards = vec![
            shard("1/4", Stage::Finished, 25),
            shard("2/4", Stage::Running, 7),
            shard("3/4", Stage::Interrupted, 3),
            shard("4/4", Stage::Waiting, 0),
        ];
        state.job = Some("17".to_owned());
        let shown = lines(&state, [100, 24]);
        let head = "job 17, 4 shards: 1 finished, 1 running, 1 waiting, 1 interrupted";
        assert!(shown[0].ends_with(head), "{shown:?}");
        assert_eq!(
            shown[2..5],
            [
                "SHARD   TRIALS                          LEFT  NOW",
                "2/4    7 of 25  2:50 min to 3:10 min (rough)  raid0, 64KiB  random read 512",
                "3/4    3 of 25                             -  interrupted",
            ]
        );
        state.stage = Stage::Interrupted;
        assert!(ending(&state).ends_with("raidloom run --on slurm --resume runs/one"));
        state.stage = Stage::Finished;
        assert!(ending(&state).ends_with("raidloom merge runs/one -o DIR"));
    }

    #[test]
    fn a_log_has_a_line_and_an_end() {
        let mut state = state();
        assert_eq!(
            line(&state),
            "block 3 of 8  25 of 100 trials  25 %  left 2:50 min to 3:10 min (rough)  best so \
             far, random: raid0, 64KiB  1.50x, not sure yet"
        );
        state.stage = Stage::Interrupted;
        assert!(ending(&state).ends_with("raidloom run --resume runs/one"), "{}", ending(&state));
    }
}
