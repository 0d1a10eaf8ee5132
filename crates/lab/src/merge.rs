//! The shards of a run, joined to one run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use host::Error;
use results::{Host, MACHINES_MIN, Run};

use crate::catalogue;
use crate::shard::{self, Shard};
use crate::{run, shard_set};
use words::{Text, statement};

/// What shards were joined to.
#[derive(Debug)]
pub struct MergedRun {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The run.
    pub run: Run,
    /// How many shards it was joined from.
    pub shards: u32,
    /// How many machines measured it.
    pub machines: usize,
}

/// Joins the shards of a run, which may be given in any order or as the folder that they lie in, to
/// a run in `output`, which is empty or not there. The shards stay as they are.
///
/// # Errors
/// A usage error where one is no shard, or of another plan, version or number of shards, where one
/// is missing, there twice or not finished. Nothing is written then.
pub fn merge(folders: &[PathBuf], output: &Path) -> Result<MergedRun, Error> {
    let mut parts =
        named(folders)?.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    refuse_different(&parts)?;
    let Some(first) = parts.first() else {
        return Err(Error::usage(catalogue::NAME_SHARDS));
    };
    let count = first.shard.count();
    refuse_incomplete(&parts, count)?;
    let text = run::read_text(&first.folder)?;
    let host = first.run.host.clone();
    parts.sort_by_key(|part| part.shard.number());
    let machines: BTreeSet<String> = parts.iter().map(|part| part.machine.clone()).collect();
    let run = joined(parts, host, &machines);
    let folder = run::write(output, text.as_bytes(), &run)?;
    Ok(MergedRun { run: run::read(&folder)?, folder, shards: count, machines: machines.len() })
}

/// A shard, and the machine that measured it.
struct MeasuredShard {
    folder: PathBuf,
    shard: Shard,
    machine: String,
    run: Run,
}

/// The folders of shards that were named, or that lie in one that was.
fn named(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut named = Vec::new();
    for folder in folders {
        let is_run = folder.join(run::PLAN).exists();
        let within = if is_run { Vec::new() } else { shard_set::folders(folder)? };
        if within.is_empty() {
            named.push(folder.clone());
        }
        named.extend(within.into_iter().map(|(_, folder)| folder));
    }
    Ok(named)
}

/// Reads a shard, which has to be finished.
fn read(folder: &Path) -> Result<MeasuredShard, Error> {
    let shown = folder.display();
    let part =
        run::read_part(folder)?.ok_or_else(|| Error::usage(catalogue::NO_SHARD).at(&shown))?;
    let (shard, run) = (part.shard, run::read(folder)?);
    let wanted = shard.trials(&run.plan);
    if run.trials.len() < wanted {
        return Err(Error::usage(statement!(
            catalogue::SHARD_UNFINISHED,
            shard = shard.to_string(),
            done = run.trials.len(),
            wanted = wanted,
            folder = &shown
        ))
        .at(&shown));
    }
    Ok(MeasuredShard { folder: folder.to_owned(), shard, machine: part.machine, run })
}

/// Refuses shards that are of different runs.
fn refuse_different(parts: &[MeasuredShard]) -> Result<(), Error> {
    let version = |part: &MeasuredShard| {
        let fact = part.run.host.facts.iter().find(|fact| fact.name == "raidloom");
        fact.map_or_else(String::new, |fact| fact.value.clone())
    };
    let Some(first) = parts.first() else { return Ok(()) };
    for part in parts {
        let differs = |what: Text| {
            let (one, other) = (first.folder.display(), part.folder.display());
            Error::usage(statement!(
                catalogue::SHARDS_DIFFER,
                other = other,
                one = one,
                what = what
            ))
        };
        if part.run.plan != first.run.plan {
            return Err(differs(catalogue::PLANS_DIFFER.into()));
        }
        let (count, other) = (first.shard.count(), part.shard.count());
        if other != count {
            return Err(differs(statement!(
                catalogue::CUT_DIFFERENTLY,
                one = other,
                other = count
            )));
        }
        let [own, other] = [first, part].map(version);
        if other != own {
            return Err(differs(statement!(
                catalogue::VERSIONS_MEASURED,
                one = other,
                other = own
            )));
        }
    }
    Ok(())
}

/// Refuses shards of which one is missing, or there more than once.
fn refuse_incomplete(parts: &[MeasuredShard], count: u32) -> Result<(), Error> {
    for number in 1..=count {
        let of_number = parts.iter().filter(|part| part.shard.number() == number);
        let folders: Vec<String> =
            of_number.map(|part| part.folder.display().to_string()).collect();
        match folders.len() {
            1 => (),
            0 => {
                return Err(Error::usage(statement!(
                    catalogue::SHARD_MISSING,
                    number = number,
                    count = count
                )));
            }
            _ => {
                return Err(Error::usage(statement!(
                    catalogue::SHARD_TWICE,
                    number = number,
                    count = count,
                    folders = folders.join(", ")
                )));
            }
        }
    }
    Ok(())
}

/// The run that shards in the order of their numbers come to.
fn joined(parts: Vec<MeasuredShard>, mut host: Host, machines: &BTreeSet<String>) -> Run {
    let plan = parts[0].run.plan.clone();
    let is_of_several = shard::is_measured(&plan) && machines.len() > 1;
    let (mut notes, mut trials) = (Vec::new(), Vec::new());
    notes.extend(is_of_several.then(|| several_machines(machines.len())));
    for MeasuredShard { folder, shard, machine, run } in parts {
        if is_of_several {
            let number = (0..).zip(machines).find(|(_, known)| **known == machine);
            let (number, _) = number.expect("the machine of every part is among them");
            host.machines.extend(run.trials.iter().map(|trial| (trial.block, number)));
        }
        host.started = host.started.min(run.host.started);
        let own = shard.note();
        let noted = run.notes.into_iter().filter(|note| *note != own);
        notes.extend(noted.map(|note| note.at(folder.display())));
        trials.extend(run.trials);
    }
    trials.sort_by_key(|trial| (trial.block, trial.order));
    Run { plan, host, trials, notes, steps: Vec::new() }
}

/// What is to be noted of a run that several machines have measured.
fn several_machines(machines: usize) -> Text {
    // Blocks of one machine share whatever is peculiar to it. With few machines nothing can be said
    // of others; with more, machines are what claims are drawn over.
    let holds = match machines < MACHINES_MIN {
        true => catalogue::CLAIMS_OF_THESE_MACHINES.into(),
        false => statement!(catalogue::CLAIMS_OVER_MACHINES, machines = machines),
    };
    statement!(catalogue::MEASURED_ON_MACHINES, machines = machines, holds = holds)
}
