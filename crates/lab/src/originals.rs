//! A run in the words of the tools that people compare it with: what bonnie++ and CrystalDiskMark
//! would have printed, and a table of times.
//!
//! ```text
//! run ── trials of one suite ──> a line for each configuration and block    bonnie++ 2.00
//!                            └─> a text for each configuration              CrystalDiskMark
//!                            └─> times with their share of the baseline's   copies of many files
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use bench::format::crystal::{Heading, Line};
use bench::suite::bonnie::{self, csv};
use bench::suite::{Suite, Value, copy, crystal};
use results::doubt::{self, Bearing};
use results::{Clock, Configuration, Doubt, Plan, Run, Trial, Workload};

use crate::catalogue;
use crate::import::SOURCE;
use crate::plan::suite;
use host::Error;
use words::statement;

/// The workloads of one suite that a run has, by the name in front of them; and its trials.
struct SuiteWorkloads<'a> {
    run: &'a Run,
    /// Each `[[workload]]` of the suite.
    groups: Vec<Vec<&'a Workload>>,
}

impl<'a> SuiteWorkloads<'a> {
    fn of(run: &'a Run, wanted: &Suite) -> Result<SuiteWorkloads<'a>, Error> {
        // Of the settings behind its figures it knows nothing.
        if run.plan.axes.iter().any(|axis| axis.name == SOURCE) {
            return Err(Error::usage(catalogue::RUN_WAS_IMPORTED));
        }
        let groups = suite::groups(&run.plan).into_iter().map(|group| {
            group.into_iter().map(|index| &run.plan.workloads[index]).collect::<Vec<_>>()
        });
        let groups: Vec<_> = groups.filter(|group| group[0].suite == wanted.name).collect();
        if groups.is_empty() {
            return Err(Error::usage(statement!(catalogue::NO_ROWS_OF, suite = wanted.name)));
        }
        Ok(SuiteWorkloads { run, groups })
    }

    /// Trials with figures of a configuration and a workload, in the order of the blocks.
    fn trials(&self, configuration: &Configuration, workload: &Workload) -> Vec<&'a Trial> {
        let its = |trial: &&Trial| {
            trial.settings == configuration.settings && trial.workload == workload.name
        };
        let mut trials: Vec<&Trial> =
            self.run.trials.iter().filter(its).filter(|one| !one.metrics.is_empty()).collect();
        trials.sort_by_key(|trial| trial.block);
        trials
    }

    fn label(&self, configuration: &Configuration) -> String {
        let plan = &self.run.plan;
        // What is the same everywhere tells nothing.
        let differs = |axis: &&results::Axis| {
            let mut values = plan.configurations.iter().map(|one| one.settings.get(&axis.name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let axes = plan.axes.iter().filter(differs).map(|axis| &axis.name);
        let text = results::settings_text(axes, &configuration.settings);
        if text.is_empty() { plan.name.clone() } else { text }
    }

    /// Where the figures of a configuration do not come from a machine: what they come from.
    fn modelled(&self, configuration: &Configuration) -> Option<&'static str> {
        if configuration.clock != Clock::Virtual {
            return None;
        }
        Some(if configuration.is_in_guest() { "modelled, Linux in a guest" } else { "modelled" })
    }
}

/// What the audit found of any of some trials, each once.
fn findings(trials: &[&Trial]) -> Vec<Doubt> {
    let flags = trials.iter().flat_map(|trial| &trial.flags);
    let all = doubt::counted(flags.filter(|flag| flag.bearing() != Bearing::Note));
    all.into_iter().map(|(finding, _)| finding).collect()
}

/// The mean of a metric over trials; `None` where one lacks it.
fn mean(trials: &[&Trial], metric: &str) -> Option<f64> {
    let figures: Option<Vec<f64>> =
        trials.iter().map(|trial| trial.metrics.get(metric).copied()).collect();
    let figures = figures.filter(|figures| !figures.is_empty())?;
    Some(figures.iter().sum::<f64>() / figures.len() as f64)
}

/// The lines that bonnie++ would have printed, one for each configuration and block, in its style:
/// of those of 1.03 `bon_csv2html` of 2.00a reads none.
///
/// # Errors
/// A run without rows of bonnie.
pub fn bonnie_csv(run: &Run) -> Result<String, Error> {
    let found = SuiteWorkloads::of(run, &bonnie::SUITE)?;
    let mut text = String::new();
    for group in &found.groups {
        for configuration in &run.plan.configurations {
            let mut settings = suite::settings(&run.plan, group[0], configuration)?;
            // What was refused on the machine that measured is not here.
            settings
                .set(&bonnie::SUITE, "check_memory", Value::Switch(false))
                .map_err(Error::usage)?;
            let options = bonnie::Options::new(&settings)?;
            let blocks: Vec<u32> =
                found.trials(configuration, group[0]).iter().map(|trial| trial.block).collect();
            for block in blocks {
                let figures = |phase: &str| {
                    let workload = group.iter().find(|one| suite::row(one) == phase)?;
                    let trials = found.trials(configuration, workload);
                    let trial = trials.into_iter().find(|trial| trial.block == block)?;
                    bonnie_figures(&options, trial)
                };
                let mut label = found.label(configuration);
                if found.modelled(configuration).is_some() {
                    label.insert_str(0, "modelled ");
                }
                text += &csv::line(&options, &label, run.plan.seed, &figures);
                text.push('\n');
            }
        }
    }
    Ok(text)
}

fn bonnie_figures(options: &bonnie::Options, trial: &Trial) -> Option<csv::Figures> {
    let metric = |name: &str| trial.metrics.get(name).copied();
    let durable = |name: &str| {
        let durable = options.syncs_inside().then(|| metric(&format!("durable_{name}"))).flatten();
        durable.or_else(|| metric(name))
    };
    Some(csv::Figures {
        operations_per_second: durable("io_per_second")?,
        bytes_per_second: durable("throughput_bytes_per_second").unwrap_or(0.0),
        cpu_percent: metric("cpu_ratio").map(|ratio| 100.0 * ratio),
        longest_seconds: metric("latency_max_seconds").unwrap_or(0.0),
    })
}

/// The text that CrystalDiskMark would have printed for each configuration: the best of its blocks,
/// direct where there are direct rows, with which configuration it is as the comment.
///
/// # Errors
/// A run without rows of crystal.
pub fn crystal_text(run: &Run) -> Result<String, Error> {
    let found = SuiteWorkloads::of(run, &crystal::SUITE)?;
    let mut texts = Vec::new();
    for group in &found.groups {
        for configuration in &run.plan.configurations {
            let settings = suite::settings(&run.plan, group[0], configuration)?;
            let options = crystal::options(&settings).map_err(Error::usage)?;
            let line = |row: &crystal::Row| {
                let of = |name: &str| {
                    let workload = group.iter().find(|one| suite::row(one) == name)?;
                    Some(found.trials(configuration, workload)).filter(|found| !found.is_empty())
                };
                let name = row.name();
                let trials = of(&name).or_else(|| of(&format!("{name} buffered")))?;
                // Version 3 counts the flush into the time of a write.
                let counts = options.profile == crystal::Profile::Three && row.way.writes();
                let rate = if counts { "durable_throughput_bytes_per_second" } else { RATE };
                let best = |metric: &str, better: fn(f64, f64) -> f64| {
                    let figures = trials.iter().filter_map(|one| one.metrics.get(metric).copied());
                    figures.reduce(better)
                };
                let bytes_per_second = best(rate, f64::max)?;
                Some(Line {
                    findings: findings(&trials),
                    row: *row,
                    bytes_per_second,
                    io_per_second: bytes_per_second / f64::from(row.request_bytes),
                    latency_mean_seconds: best("latency_mean_seconds", f64::min).unwrap_or(0.0),
                })
            };
            let lines: Vec<Line> = options.rows().iter().filter_map(line).collect();
            if lines.is_empty() {
                continue;
            }
            let started = &run.host.started;
            let date = started.get(..19).unwrap_or(started).replace('-', "/").replace('T', " ");
            let system = run.host.facts.iter().find(|fact| fact.name == "kernel");
            let heading = Heading {
                program: concat!("raidloom ", env!("CARGO_PKG_VERSION")).to_owned(),
                target: configuration.stack.clone(),
                date,
                system: found.modelled(configuration).map_or_else(
                    || system.map_or_else(String::new, |fact| fact.value.clone()),
                    str::to_owned,
                ),
                comment: found.label(configuration),
            };
            texts.push(bench::format::crystal::text(&options, &lines, &heading));
        }
    }
    Ok(texts.join("\n"))
}

const RATE: &str = "throughput_bytes_per_second";

/// Times of copies as people wrote them down: minutes and seconds until all is durable, with their
/// share of the baseline's, the average over the blocks.
///
/// # Errors
/// A run without rows of copy.
pub fn times_table(run: &Run) -> Result<String, Error> {
    let found = SuiteWorkloads::of(run, &copy::SUITE)?;
    let mut text = String::new();
    for group in &found.groups {
        let seconds = |configuration: &Configuration, workload: &Workload| {
            let trials = found.trials(configuration, workload);
            Some(mean(&trials, "elapsed_seconds")? + mean(&trials, "flush_seconds").unwrap_or(0.0))
        };
        let times = |configuration: &Configuration| -> Vec<Option<f64>> {
            group.iter().map(|workload| seconds(configuration, workload)).collect()
        };
        let by_id: BTreeMap<&str, Vec<Option<f64>>> = run
            .plan
            .configurations
            .iter()
            .map(|configuration| (configuration.id.as_str(), times(configuration)))
            .collect();
        let rows: Vec<&str> = group.iter().map(|workload| suite::row(workload)).collect();
        let labels: Vec<String> =
            run.plan.configurations.iter().map(|one| found.label(one)).collect();
        let width = labels.iter().map(|label| escape::width(label)).max().unwrap_or(0);
        let blocks = found_blocks(&run.plan, &found, group);
        let _ = write!(text, "{}", title(&run.plan, group[0], blocks));
        if run.plan.configurations.iter().any(|one| found.modelled(one).is_some()) {
            text += ", modelled";
        }
        text.push('\n');
        let _ = write!(text, "{:width$}", "");
        rows.iter().for_each(|row| {
            let _ = write!(text, "  {row:>16}");
        });
        text.push('\n');
        for (configuration, label) in run.plan.configurations.iter().zip(&labels) {
            let pad = width - escape::width(label);
            let _ = write!(text, "{}{:pad$}", escape::line(label), "");
            let base = &by_id[configuration.baseline.as_str()];
            for (own, base) in by_id[configuration.id.as_str()].iter().zip(base) {
                let _ = write!(text, "  {:>16}", cell(*own, *base));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

fn found_blocks(plan: &Plan, found: &SuiteWorkloads<'_>, group: &[&Workload]) -> usize {
    let of = |configuration| found.trials(configuration, group[0]).len();
    plan.configurations.iter().map(of).max().unwrap_or(0)
}

fn title(plan: &Plan, workload: &Workload, blocks: usize) -> String {
    let prefix = workload.name.split(": ").next().unwrap_or(&workload.suite);
    let bytes = plan.suite_settings.get(&format!("{prefix}.bytes"));
    let bytes = bytes.map_or_else(String::new, |bytes| format!(", {bytes}"));
    let name = &plan.name;
    match blocks {
        1 => format!("{name}{bytes}: minutes and seconds, once"),
        blocks => format!("{name}{bytes}: minutes and seconds, average of {blocks}"),
    }
}

/// `7:08 (100 %)`, `1:12:58 (953 %)`.
fn cell(own: Option<f64>, base: Option<f64>) -> String {
    let Some(own) = own else { return "-".to_owned() };
    let tenths = (own * 10.0).round();
    let (minutes, seconds) = ((tenths / 600.0).floor(), tenths % 600.0 / 10.0);
    // Below a minute tenths matter.
    let time = if minutes < 1.0 {
        format!("0:{seconds:04.1}")
    } else {
        let whole = own.round();
        let (hours, minutes, seconds) = (whole / 3600.0, whole % 3600.0 / 60.0, whole % 60.0);
        match hours.floor() {
            0.0 => format!("{:.0}:{seconds:02}", minutes.floor()),
            hours => format!("{hours}:{:02}:{seconds:02}", minutes.floor()),
        }
    };
    match base {
        Some(base) if base > 0.0 => format!("{time} ({:.0} %)", 100.0 * own / base),
        _ => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_and_seconds_with_a_share() {
        assert_eq!(cell(Some(428.4), Some(428.4)), "7:08 (100 %)");
        assert_eq!(cell(Some(19.04), Some(428.0)), "0:19.0 (4 %)");
        assert_eq!(cell(Some(59.97), None), "1:00");
        assert_eq!(cell(Some(3599.4), None), "59:59");
        assert_eq!(cell(Some(4378.2), Some(459.5)), "1:12:58 (953 %)");
        assert_eq!(cell(None, Some(1.0)), "-");
    }
}
