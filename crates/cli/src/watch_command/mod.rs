//! `raidloom run watch`: how a run stands, from another terminal.

mod screen;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lab::watch::{self, Leader, RunPosition, RunState, Stage};
use results::analysis::Verdict;

use self::screen::Screen;
use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::Output;
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

/// Shows a run until it ends: on a screen of its own on a terminal, else a line for each block.
pub(crate) fn watch(output: &Output, arguments: &WatchArguments) -> Result<(), Failure> {
    let mut state = watch::look(&arguments.run)?;
    if output.json {
        return output.document(&state);
    }
    let end = signals::End::new()?;
    let goes_on = |state: &RunState| matches!(state.stage, Stage::Running | Stage::Waiting);
    let mut screen = None;
    if output.animates() && goes_on(&state) {
        screen = Screen::open().ok();
    }
    let mut said = None;
    while goes_on(&state) && !end.is_here() {
        if let Some(screen) = &mut screen {
            let is_enough = screen
                .show(&state, &end, EVERY)
                .map_err(|error| Failure::from_io(catalogue::DRAWING, &error))?;
            if is_enough {
                break;
            }
        } else {
            let news = (state.blocks_finished, counts(&state));
            if said.as_ref() != Some(&news) {
                said = Some(news);
                output.result(&line(&state))?;
            }
            end.comes_within(EVERY);
        }
        state = watch::look(&arguments.run)?;
    }
    drop(screen);
    output.result(&ending(&state))?;
    // What the report of a finished run says first.
    let answer = state.analysis.as_ref().map_or_else(Vec::new, |analysis| report::answer(analysis));
    answer.iter().try_for_each(|sentence| output.result(sentence))
}

/// How it stands in a line, for a log.
fn line(state: &RunState) -> String {
    let best =
        state.best.last().map_or(String::new(), |best| format!("  {}", ahead(best, state.stage)));
    let (blocks, trials) = (blocks(state), trials(state));
    format!("{blocks}  {trials}  {:.0} %{}{best}", 100.0 * share(state), left(state))
}

/// What is said when nothing more is going to be.
fn ending(state: &RunState) -> String {
    let folder = state.folder.display();
    match state.stage {
        Stage::Finished if !state.shards.is_empty() => {
            say!(WATCH_MERGE, name = state.name, trials = trials(state), folder = folder)
        }
        Stage::Interrupted if !state.shards.is_empty() => {
            let on = match state.job {
                Some(_) => format!("raidloom run --on slurm --resume {folder}"),
                None => say!(WATCH_RESUME_EACH),
            };
            format!("{}: {}, {}; {on}", state.name, blocks(state), trials(state))
        }
        Stage::Waiting => format!("{}: {}, {}", state.name, blocks(state), trials(state)),
        Stage::Finished => {
            say!(WATCH_FINISHED, name = state.name, trials = trials(state), folder = folder)
        }
        Stage::Interrupted => {
            say!(WATCH_INTERRUPTED, name = state.name, trials = trials(state), folder = folder)
        }
        Stage::Running => {
            say!(WATCH_GOES_ON, name = state.name, trials = trials(state), left = left(state))
        }
    }
}

/// How the shards stand, those of each kind counted; empty for a run that is not cut.
fn counts(state: &RunState) -> String {
    let words = [
        (Stage::Finished, catalogue::SHARDS_FINISHED),
        (Stage::Running, catalogue::SHARDS_RUNNING),
        (Stage::Waiting, catalogue::SHARDS_WAITING),
        (Stage::Interrupted, catalogue::SHARDS_INTERRUPTED),
    ];
    let count = |stage| state.shards.iter().filter(|shard| shard.stage == stage).count();
    let told = words.into_iter().map(|(stage, message)| (count(stage), message));
    let told = told.filter(|(count, _)| *count > 0);
    let told: Vec<String> =
        told.map(|(count, message)| words::say!(message, count = count)).collect();
    told.join(&say!(BETWEEN_NAMES))
}

fn share(state: &RunState) -> f64 {
    state.trials_finished as f64 / state.trials.max(1) as f64
}

fn blocks(state: &RunState) -> String {
    if !state.shards.is_empty() {
        let job = state.job.as_ref().map_or_else(String::new, |job| say!(WATCH_JOB, job = job));
        let count = state.shards.len();
        return say!(WATCH_SHARDS, job = job, count = count, counts = counts(state));
    }
    match state.blocks {
        Some(blocks) => {
            say!(WATCH_BLOCK, block = (state.blocks_finished + 1).min(blocks), blocks = blocks)
        }
        None => say!(WATCH_RACE_BLOCK, block = state.blocks_finished + 1),
    }
}

fn trials(state: &RunState) -> String {
    say!(WATCH_TRIALS, finished = state.trials_finished, trials = state.trials)
}

fn left(state: &RunState) -> String {
    state.now.as_ref().map_or_else(String::new, |now| say!(WATCH_LEFT, time = range(now)))
}

/// The time that a process says is left.
fn range(now: &RunPosition) -> String {
    let time = |seconds: f64| duration(Duration::from_secs_f64(seconds.max(0.0)));
    let (low, high) = (time(now.left_low_seconds), time(now.left_high_seconds));
    let range = if low == high { low } else { say!(RUN_RANGE, low = low, high = high) };
    if now.left_is_rough { say!(ROUGH, range = range) } else { range }
}

fn ahead(best: &Leader, stage: Stage) -> String {
    let place = [best.comparison.as_str(), best.work.as_str()];
    let place: Vec<&str> = place.into_iter().filter(|part| !part.is_empty()).collect();
    let place = place.join(", ");
    if stage != Stage::Running && !best.verdict.is_answer() {
        return say!(WATCH_NO_ANSWER, place = place);
    }
    let name = &best.configuration;
    if best.verdict == Verdict::NothingFaster {
        return say!(WATCH_NOTHING_FASTER, place = place, name = name);
    }
    let score = match best.is_baseline {
        true => say!(WATCH_BASELINE),
        false => format!("{:.2}x", best.ratio),
    };
    let word = if best.is_sure { say!(WATCH_SURE) } else { say!(WATCH_NOT_SURE) };
    say!(WATCH_BEST, place = place, name = name, score = score, word = word)
}

#[cfg(test)]
mod tests {
    use lab::watch::{ConfigurationScore, ShardState};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn state() -> RunState {
        let scored = |name: &str, ratio: f64| ConfigurationScore {
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
            now: Some(RunPosition {
                process: 1,
                configuration: "raid0, 64KiB".to_owned(),
                workload: "random read 512".to_owned(),
                elapsed_seconds: 60.0,
                left_low_seconds: 170.0,
                left_high_seconds: 190.0,
                left_is_rough: true,
            }),
            best: vec![Leader {
                comparison: String::new(),
                work: "random".to_owned(),
                configuration: "raid0, 64KiB".to_owned(),
                is_baseline: false,
                ratio: 1.5,
                ratio_low: Some(1.4),
                ratio_high: Some(1.6),
                verdict: Verdict::Take,
                is_sure: false,
                figures: "modelled".to_owned(),
            }],
            configurations: vec![scored("single", 1.0), scored("raid0, 64KiB", 1.5)],
            shards: Vec::new(),
            job: None,
            analysis: None,
        }
    }

    /// What stands on a terminal, without blanks at the ends of lines.
    fn drawn(state: &RunState, (width, height): (u16, u16), top: &mut usize) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen::draw(frame, state, top)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn a_terminal_is_shown_bar_time_and_table() {
        let shown = drawn(&state(), (80, 12), &mut 0);
        let bar = "━".repeat(14) + &"─".repeat(43);
        assert_eq!(
            shown[..8],
            [
                format!("25 %  25 of 100 trials {bar}"),
                "chunks\\u{1b}[2J: block 3 of 8  left 2:50 min to 3:10 min (rough)".to_owned(),
                "now: raid0, 64KiB  random read 512".to_owned(),
                "best so far, random: raid0, 64KiB  1.50x, not sure yet".to_owned(),
                "CONFIGURATION                           TRIALS   SCORE  INTERVAL".to_owned(),
                "single                                      10   1.00x  -               baseline"
                    .to_owned(),
                "raid0, 64KiB                                10   1.50x  1.40x to 1.60x".to_owned(),
                String::new(),
            ]
        );
        assert_eq!(shown[11], "q ends; the run goes on");
    }

    /// Nothing is cut off: what is too long goes on below, and what is too much is a key away.
    #[test]
    fn what_does_not_fit_is_wrapped_or_moved_to() {
        let mut state = state();
        let one = state.configurations[1].clone();
        state.configurations.extend((0..30).map(|number| ConfigurationScore {
            comparison: format!("disks of kind {number}"),
            configuration: format!("raid{number} over a great many members of a long name"),
            ..one.clone()
        }));
        state.now.as_mut().unwrap().workload = "a row whose name is long ".repeat(4);
        let mut top = 0;
        let shown = drawn(&state, (80, 24), &mut top);
        assert!(shown.iter().all(|line| line.chars().count() <= 80), "{shown:?}");
        assert!(shown[3].ends_with("name is long"), "{shown:?}");
        assert!(shown[23].starts_with("rows 1 to ") && shown[23].contains(" of 32"), "{shown:?}");
        top = usize::MAX;
        let shown = drawn(&state, (80, 24), &mut top);
        assert!(shown[23].ends_with(" to 32 of 32: arrow keys move, q ends"), "{shown:?}");
        let end = shown[..23].join(" ");
        assert!(end.contains("disks of kind 29: raid29 over a great"), "{shown:?}");
        assert!(end.contains("long name"), "{shown:?}");
        // A terminal that is hardly there is no reason to fall over.
        drawn(&state, (10, 3), &mut top);
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
        let shown = drawn(&state, (100, 20), &mut 0);
        let head = "job 17, 4 shards: 1 finished, 1 running, 1 waiting, 1 interrupted";
        assert!(shown[1].ends_with(head), "{shown:?}");
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
        assert!(ending(&state).ends_with("raidloom run merge runs/one -o DIR"));
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
