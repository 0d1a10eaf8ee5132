//! The shards of a run, joined to one run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use host::Error;
use results::{Host, MACHINES_MIN, Run};

use crate::{run, shard, whole};

/// What shards were joined to.
#[derive(Debug)]
pub struct Merged {
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
#[expect(clippy::too_many_lines, reason = "not yet split")]
pub fn merge(folders: &[PathBuf], output: &Path) -> Result<Merged, Error> {
    let (mut parts, mut machines) = (Vec::new(), BTreeSet::new());
    let mut named = Vec::new();
    for folder in folders {
        let is_run = folder.join(run::PLAN).exists();
        let within = if is_run { Vec::new() } else { whole::folders(folder)? };
        if within.is_empty() {
            named.push(folder.clone());
        }
        named.extend(within.into_iter().map(|(_, folder)| folder));
    }
    for folder in &named {
        let shown = folder.display();
        let part = run::read_part(folder)?.ok_or_else(|| {
            Error::usage(format!("{shown}: it is no shard of a run (raidloom run --shard I/N)"))
        })?;
        let (shard, read) = (part.shard, run::read(folder)?);
        machines.insert(part.machine.clone());
        let wanted = shard.trials(&read.plan);
        if read.trials.len() < wanted {
            return Err(Error::usage(format!(
                "{shown}: shard {shard} has {} of its {wanted} trials; first: raidloom run \
                --resume {shown}",
                read.trials.len()
            )));
        }
        parts.push((folder, shard, part.machine, read));
    }
    let Some((first, shard, _, begun)) = parts.first() else {
        return Err(Error::usage("name the folders of the shards"));
    };
    let version = |host: &Host| {
        let fact = host.facts.iter().find(|fact| fact.name == "raidloom");
        fact.map_or_else(String::new, |fact| fact.value.clone())
    };
    for (folder, other, _, read) in &parts {
        let differs = |what: &str| {
            let (one, other) = (first.display(), folder.display());
            Error::usage(format!("{other} and {one} are shards of different runs: {what}"))
        };
        if read.plan != begun.plan {
            return Err(differs("their plans differ"));
        }
        if other.count() != shard.count() {
            return Err(differs(&format!(
                "one is cut into {}, one into {}",
                other.count(),
                shard.count()
            )));
        }
        if version(&read.host) != version(&begun.host) {
            return Err(differs(&format!(
                "raidloom {} and {} measured them",
                version(&read.host),
                version(&begun.host)
            )));
        }
    }
    for number in 1..=shard.count() {
        let of_number = || parts.iter().filter(|(_, shard, ..)| shard.number() == number);
        let wanted = format!("{number}/{}", shard.count());
        match of_number().count() {
            1 => (),
            0 => return Err(Error::usage(format!("shard {wanted} is missing"))),
            _ => {
                let folders: Vec<String> =
                    of_number().map(|(folder, ..)| folder.display().to_string()).collect();
                return Err(Error::usage(format!(
                    "shard {wanted} is there more than once: {}",
                    folders.join(", ")
                )));
            }
        }
    }
    let text = run::read_text(first)?;
    let numbers = machines;
    let (machines, shards) = (numbers.len(), shard.count());
    let plan = begun.plan.clone();
    let mut host = begun.host.clone();
    let mut notes = Vec::new();
    let is_measured = shard::is_measured(&plan);
    parts.sort_by_key(|(_, shard, ..)| shard.number());
    if is_measured && machines > 1 {
        // Blocks of one machine share whatever is peculiar to it. With few machines nothing can be
        // said of others; with more, machines are what claims are drawn over.
        let holds = if machines < MACHINES_MIN {
            "what is claimed holds for these machines only".to_owned()
        } else {
            format!(
                "each machine has one say, the mean of its blocks, so what is claimed is drawn \
                 over {machines} machines"
            )
        };
        notes.push(format!(
            "measured on {machines} machines, each block on one of them, so that what is compared \
             was measured on the same machine; {holds}"
        ));
    }
    let mut trials = Vec::new();
    for (folder, shard, machine, read) in parts {
        if is_measured && machines > 1 {
            let number = (0..).zip(&numbers).find(|(_, known)| **known == machine);
            let (number, _) = number.expect("the machine of every part is among them");
            host.machines.extend(read.trials.iter().map(|trial| (trial.block, number)));
        }
        host.started = host.started.min(read.host.started);
        let own = shard.note();
        let noted = read.notes.into_iter().filter(|note| *note != own);
        notes.extend(noted.map(|note| format!("{}: {note}", folder.display())));
        trials.extend(read.trials);
    }
    trials.sort_by_key(|trial| (trial.block, trial.order));
    let run = Run { plan, host, trials, notes, steps: Vec::new() };
    let folder = run::write(output, text.as_bytes(), &run)?;
    Ok(Merged { run: run::read(&folder)?, folder, shards, machines })
}
