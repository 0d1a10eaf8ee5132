//! How often a plan's trials run, and how they follow each other: `[trials]`.

use std::time::Duration;

use bench::suite::{Rows, TargetKind};
use results::course::RACE_BLOCKS_MIN;
use results::safety;
use results::{Clock, Design, Plan, WorkTarget};
use std::collections::BTreeMap;

use super::catalogue;
use super::document::{Item, Reader, Value, suggestion};
use super::suite;
use crate::cell::Cell;
use crate::stacks::DryRuns;
use host::Error;
use words::statement;

/// Eight blocks find 98 % of differences of 3 % under noise of 1 %, six find 89 %.
const BLOCKS_DEFAULT: u32 = 8;
const BLOCKS_MAX: u64 = 1000;
/// Blocks where each has parameters of its own: the sets that `choose` draws, and the fewest that
/// tell how far they scatter.
const SETS_DEFAULT: u32 = 20;
const SETS_MIN: u32 = 10;
const SEED_DEFAULT: u64 = 42;
/// A plan with more configurations than this for one baseline is wide: it races unless it says
/// otherwise.
const WIDE: usize = 24;

/// What `[trials]` says.
pub(super) struct Trials<'a> {
    pub(super) blocks: u32,
    pub(super) seed: u64,
    pub(super) rest_seconds: f64,
    pub(super) limit_seconds: Option<f64>,
    /// Whether each block has parameters of its own.
    pub(super) drawn_parameters: Option<&'a Item>,
    /// How its trials are spent, where the plan says.
    pub(super) design: Option<&'a Item>,
    /// `None` where the plan leaves it to what preparing costs.
    pub(super) interleave: Option<(bool, &'a Item)>,
}

pub(super) fn trials(section: Option<Reader<'_>>) -> Result<Trials<'_>, Error> {
    let mut said = Trials {
        blocks: BLOCKS_DEFAULT,
        seed: SEED_DEFAULT,
        rest_seconds: 0.0,
        limit_seconds: None,
        drawn_parameters: None,
        design: None,
        interleave: None,
    };
    let Some(section) = section else { return Ok(said) };
    let (blocks, seed) = (section.get("blocks"), section.get("seed"));
    said.design = section.get("design");
    let (rest, interleave) = (section.get("rest"), section.get("interleave"));
    let (limit, parameters) = (section.get("real_time_limit"), section.get("parameters"));
    section.finish()?;
    said.drawn_parameters = parameters.map(drawn).transpose()?.flatten();
    if said.drawn_parameters.is_some() {
        said.blocks = SETS_DEFAULT;
    }
    if let Some(item) = blocks {
        said.blocks = u32::try_from(item.whole(1, BLOCKS_MAX)?).expect("at most BLOCKS_MAX");
    }
    if let Some(item) = seed {
        said.seed = item.whole(0, u64::MAX)?;
    }
    if let Some(item) = rest {
        let rest = stack::size::parse_duration(&item.scalar()?);
        said.rest_seconds = rest.map_err(|error| item.error(error))?.as_secs_f64();
    }
    if let Some(item) = limit {
        let limit = stack::size::parse_duration(&item.scalar()?);
        let limit = limit.map_err(|error| item.error(error))?;
        if limit.is_zero() {
            return Err(item.error(catalogue::TIME_LIMIT_EXPECTED));
        }
        said.limit_seconds = Some(limit.as_secs_f64());
    }
    if let Some(item) = interleave {
        let Value::Boolean(value) = item.value else {
            return Err(item.error(catalogue::TRUTH_EXPECTED));
        };
        said.interleave = Some((value, item));
    }
    Ok(said)
}

/// Whether each block is to have parameters of its own.
fn drawn(item: &Item) -> Result<Option<&Item>, Error> {
    match item.text()? {
        "fitted" => Ok(None),
        "drawn" => Ok(Some(item)),
        other => {
            let hint = suggestion(other, ["fitted", "drawn"]);
            Err(item.error(statement!(catalogue::NO_PARAMETERS, name = other, hint = hint)))
        }
    }
}

/// Refuses to draw parameters where there are none, or too few blocks to tell what they come to.
pub(super) fn refuse_undrawable(
    cells: &[Cell],
    blocks: u32,
    said: Option<&Item>,
) -> Result<(), Error> {
    let Some(item) = said else { return Ok(()) };
    let is_drawn = |cell: &Cell| {
        cell.record.clock == Clock::Virtual && cell.record.ground == WorkTarget::Device
    };
    if !cells.iter().all(is_drawn) {
        return Err(item.error(catalogue::DRAWN_OF_MODELS));
    }
    match blocks < SETS_MIN {
        true => Err(item.error(statement!(catalogue::DRAWN_NEEDS_BLOCKS, least = SETS_MIN))),
        false => Ok(()),
    }
}

/// The plan with what its design says, or with what its width makes of it.
pub(super) fn with_design(mut plan: Plan, said: Option<&Item>) -> Result<Plan, Error> {
    let mut widths: BTreeMap<&str, usize> = BTreeMap::new();
    for configuration in &plan.configurations {
        *widths.entry(&configuration.baseline).or_default() += 1;
    }
    let has_speeds = !plan.workloads.iter().all(safety::is_pull);
    let is_wide = has_speeds && widths.values().any(|width| *width > WIDE);
    let least = RACE_BLOCKS_MIN + 1;
    plan.terms.design = match said {
        // A race needs room for what it confirms.
        None if is_wide && plan.blocks >= BLOCKS_DEFAULT => Design::Race,
        None => Design::Full,
        Some(item) => match item.text()? {
            "full" => Design::Full,
            "race" if !has_speeds => {
                return Err(item.error(catalogue::RACE_NEEDS_SPEED));
            }
            "race" if plan.blocks >= least => Design::Race,
            "race" => {
                let (said, count) = (catalogue::RACE_NEEDS_BLOCKS, RACE_BLOCKS_MIN);
                return Err(item.error(statement!(said, count = count, least = least)));
            }
            other => {
                let hint = suggestion(other, ["full", "race"]);
                return Err(item.error(statement!(
                    catalogue::NO_DESIGN,
                    name = other,
                    hint = hint
                )));
            }
        },
    };
    Ok(plan)
}

/// Whether the workloads of a plan are interleaved: as it says, and else where they can be and
/// preparing the members for each trial takes at most a tenth of the time of the trials: all that
/// is prepared is written to members.
pub(super) fn interleaved(
    plan: &Plan,
    (cells, runs): (&[Cell], &DryRuns),
    said: Option<(bool, &Item)>,
) -> Result<bool, Error> {
    let whole = plan
        .workloads
        .iter()
        .find(|workload| suite::suite_of(workload).is_ok_and(|suite| suite.rows == Rows::InOrder));
    let folder = cells.iter().find(|known| known.target() == TargetKind::Folder);
    let hindered = match (whole, folder) {
        (Some(workload), _) => Some(statement!(catalogue::RUN_WHOLE, suite = &workload.suite)),
        (None, Some(known)) => {
            let cell = super::matrix::shown(&known.record.settings);
            Some(statement!(catalogue::MADE_FOR_ALL, cell = cell))
        }
        (None, None) => None,
    };
    match (said, hindered) {
        (Some((false, _)), _) | (None, Some(_)) => Ok(false),
        (Some((true, item)), Some(why)) => {
            Err(item.error(statement!(catalogue::NOT_INTERLEAVED, why = why)))
        }
        (Some((true, _)), None) => Ok(true),
        (None, None) => {
            let (mut preparing, mut testing) = (Duration::ZERO, Duration::ZERO);
            let measured = |known: &&Cell| known.record.clock == Clock::Wall;
            for known in cells.iter().filter(measured) {
                let size_bytes = known.dry(runs)?.size_bytes;
                for (index, workload) in plan.workloads.iter().enumerate() {
                    let bytes = suite::prepared_bytes(plan, &[index], known, size_bytes);
                    preparing += suite::planned_preparing(bytes);
                    testing += suite::planned_time(plan, workload, known);
                }
            }
            Ok(plan.workloads.len() > 1 && testing > Duration::ZERO && 10 * preparing <= testing)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::resolve;

    /// Two files of 1 MiB each, and tests of one second.
    const RAW: &str = r#"schema = 1
name = "raw"
[members.files]
files = { count = 2, size = "1MiB" }
[matrix]
level = ["single", "linear"]
[baseline]
level = "single"
[[workload]]
suite = "devtest"
tests = ["random read 512", "random write 512"]
time = "1s"
"#;

    #[track_caller]
    fn interleaved(plan: &str, overrides: &[&str]) -> Result<bool, String> {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let resolved = resolve("plan.toml", plan, &overrides).map_err(|error| error.to_string())?;
        Ok(resolved.plan.schedule.interleaved)
    }

    /// "Raw suites interleave test by test", where preparing costs at most a tenth of testing.
    #[test]
    fn raw_suites_interleave_where_preparing_is_the_lesser_part() {
        assert_eq!(interleaved(RAW, &[]), Ok(true));
        assert_eq!(interleaved(RAW, &["workload.time=9ms"]), Ok(false), "3 ms of preparing each");
        assert_eq!(interleaved(RAW, &["workload.time=9ms", "trials.interleave=true"]), Ok(true));
        assert_eq!(interleaved(RAW, &["trials.interleave=false"]), Ok(false));
        let one = ["workload.tests=[\"random read 512\"]"];
        assert_eq!(interleaved(RAW, &one), Ok(false), "one workload follows itself either way");
    }

    #[test]
    fn what_is_run_whole_does_not_interleave() {
        let crystal = RAW
            .replace("devtest", "crystal")
            .replace("tests = [\"random read 512\", \"random write 512\"]", "");
        assert_eq!(interleaved(&crystal, &["workload.size=1MiB"]), Ok(false));
        let asked = interleaved(&crystal, &["workload.size=1MiB", "trials.interleave=true"]);
        assert_eq!(
            asked.unwrap_err(),
            "-s trials.interleave=true: nothing to interleave: crystal is run whole: its later \
            rows find what earlier ones left"
        );
        let mounted = interleaved(RAW, &["matrix.file_system=ext4", "trials.interleave=true"]);
        let error = mounted.unwrap_err();
        assert!(error.contains("has a file system, which is made once"), "{error}");
        let error = interleaved(RAW, &["trials.interleave=3"]).unwrap_err();
        assert_eq!(error, "-s trials.interleave=3: expected true or false");
    }

    #[test]
    fn a_limit_is_a_time() {
        let limit = |said: &str| {
            let said = [format!("trials.real_time_limit={said}")];
            let resolved = resolve("plan.toml", RAW, &said).map_err(|error| error.to_string());
            resolved.map(|resolved| resolved.plan.schedule.limit_seconds)
        };
        assert_eq!(limit("90min"), Ok(Some(5400.0)));
        assert!(limit("soon").unwrap_err().starts_with("-s trials.real_time_limit=soon: "));
        assert!(limit("0s").unwrap_err().contains("such as 2h"));
        let plan = resolve("plan.toml", RAW, &[]).unwrap().plan;
        assert_eq!(plan.schedule.limit_seconds, None);
    }

    #[test]
    fn a_rest_is_a_time_and_is_part_of_the_estimate() {
        let resolved = |rest: &str| {
            let rest = [format!("trials.rest={rest}")];
            resolve("plan.toml", RAW, &rest).map_err(|error| error.to_string())
        };
        let seconds = |rest| {
            let plan = resolved(rest).unwrap().plan;
            super::super::outline(&plan).unwrap().estimated_seconds
        };
        // Two workloads, two configurations, eight blocks.
        assert!((seconds("2s") - seconds("0s") - 64.0).abs() < 1e-9);
        assert!(resolved("soon").unwrap_err().starts_with("-s trials.rest=soon: "));
    }
}
