//! Members come and go while the array serves: fail, remove, add, replace, scrub.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use array::Condition;
use array::maintain::Arrival;
use array::record::Running;
use block::{Device, Node};
use lab::Error;
use lab::arrays::{self, WorkStatus};
use lab::guard::{Consent, Guard};
use reactor::{Random, Reactor};
use serde_json::{Value, json};
use stack::{BuildContext, Member};

use crate::protocol::{Command, GivenConsent, ScrubAction};
use crate::upkeep::Upkeep;

/// What a server's arrays are made of, as it changes.
pub(crate) struct Roster {
    running: Vec<Running>,
    /// The leaves that were there at the start, and those that came.
    leaves: Mutex<Vec<Member>>,
    /// The whole stack: what is in it now.
    device: Arc<dyn Device>,
    /// Files and devices that wait for a place, or did until they got one.
    waiting: Mutex<Vec<PathBuf>>,
    /// What opened the stack: members that come back are held by it still.
    guard: Guard,
    /// Those that opened what came with consents of its own.
    more_guards: Mutex<Vec<Guard>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Roster {
    /// Of a stack that was opened through `guard`.
    pub(crate) fn new(running: Vec<Running>, leaves: Vec<Member>, device: &Arc<dyn Device>, guard: Guard) -> Roster {
        let files = leaves.iter().filter_map(|leaf| stack::parse(&leaf.name).ok()).flat_map(|node| files_of(&node));
        let waiting = Mutex::new(files.collect());
        Roster { running, leaves: Mutex::new(leaves), device: Arc::clone(device), waiting, guard, more_guards: Mutex::default() }
    }

    /// The arrays, those below before those above.
    pub(crate) fn running(&self) -> &[Running] {
        &self.running
    }

    /// The leaves.
    pub(crate) fn leaves(&self) -> Vec<Member> {
        lock(&self.leaves).clone()
    }

    /// The array of this name; without one, the only one there is.
    fn array(&self, name: Option<&str>) -> Result<usize, Error> {
        let names = || self.running.iter().map(|running| running.assembly().name.clone()).collect::<Vec<_>>().join(", ");
        match (name, &self.running[..]) {
            (_, []) => {
                Err(Error::usage("no array in this stack keeps metadata, so that nobody would know tomorrow who was a member today"))
            }
            (None, [_]) => Ok(0),
            (None, _) => Err(Error::usage(format!("there are several arrays in this stack: {}; --array names one", names()))),
            (Some(name), running) => {
                let found = running.iter().position(|running| running.assembly().name == name);
                found.ok_or_else(|| Error::usage(format!("{name}: no such array in this stack; there are {}", names())))
            }
        }
    }

    /// Does what a request asks for of an array's members.
    pub(crate) fn carry_out(&self, upkeep: &Upkeep, command: Command) -> Result<Value, Error> {
        let note = |array: usize, text: String| upkeep.note(&self.running[array].assembly().name, text);
        match command {
            Command::Fail { array, member } => {
                let array = self.array(array.as_deref())?;
                self.running[array].control().fail(member)?;
                note(array, format!("member {member} was taken out of service on request"));
            }
            Command::Remove { array, member } => {
                let array = self.array(array.as_deref())?;
                self.running[array].control().remove(member)?;
                note(array, format!("member {member} was removed"));
            }
            Command::Add { array, device, consent } => {
                let array = self.array(array.as_deref())?;
                let arrival = self.arrival(&self.running[array], &device, consent)?;
                self.running[array].control().add(arrival)?;
                note(array, format!("{device} was added"));
            }
            Command::Replace { array, member, device, consent } => {
                let array = self.array(array.as_deref())?;
                self.replace(&self.running[array], member, &device, consent)?;
                note(array, format!("member {member} is given to {device}"));
            }
            Command::Scrub { array, action } => {
                let array = self.array(array.as_deref())?;
                upkeep.scrub(array, action)?;
                if action == ScrubAction::Cancel {
                    note(array, "what was under way was ended on request".to_owned());
                }
            }
            Command::Wait { array } => return Ok(waited(upkeep, self.array(array.as_deref())?)),
            Command::Status | Command::Stop | Command::Mount { .. } | Command::Unmount | Command::FlushCaches => {
                unreachable!("the server's own")
            }
        }
        Ok(Value::Null)
    }

    /// A member that serves is copied; a place without one is rebuilt.
    fn replace(&self, running: &Running, member: usize, device: &str, consent: GivenConsent) -> Result<(), Error> {
        let control = running.control();
        let snapshot = control.snapshot();
        let Some(condition) = snapshot.members.get(member) else {
            return Err(Error::usage(format!("member {member}: the array has places 0 to {}", snapshot.members.len() - 1)));
        };
        if matches!(condition, Condition::Rebuilding { .. }) || snapshot.replaced.contains(&member) {
            return Err(Error::refused(format!("member {member} is being rebuilt or replaced already; wait for the end of that")));
        }
        let arrival = self.arrival(running, device, consent)?;
        match condition {
            Condition::InSync => control.replace(member, arrival)?,
            Condition::Failed => {
                control.remove(member)?;
                control.seat_at(member, arrival, || None)?;
            }
            Condition::Empty | Condition::Rebuilding { .. } => control.seat_at(member, arrival, || None)?,
        }
        Ok(())
    }

    /// Opens a device and gives it a superblock of the array.
    fn arrival(&self, running: &Running, text: &str, consent: GivenConsent) -> Result<Arrival, Error> {
        let node = stack::parse(text).map_err(block::Error::from)?;
        let files = files_of(&node);
        let taken = self.taken();
        if let Some(file) = files.iter().find(|file| taken.contains(file)) {
            return Err(Error::refused(format!("{}: it is a member or a spare already", file.display())));
        }
        // What was a member of this very array may be one again without more words.
        let set_uuid = running.assembly().set_uuid;
        let peek = Guard::new(Consent::default());
        let was_member = |file: &PathBuf| {
            arrays::examine(&peek, file).is_ok_and(|examined| examined.found.iter().any(|found| found.superblock.set_uuid == set_uuid))
        };
        let returns = !files.is_empty() && files.iter().all(was_member);
        let own = (!returns).then(|| Guard::new(consent.into()));
        let context =
            BuildContext { files: own.as_ref().unwrap_or(&self.guard), seed: 0, read_only: false, create_bytes: None, emulate: false };
        let stack = stack::build(&node, &context)?;
        let reactor = Reactor::wall().map_err(|error| Error::from_io("a reactor for a new member", &error))?;
        let mut device_uuid = [0; 16];
        Random::new().fill(&mut device_uuid);
        let arrival = running.enlist(&stack.device, device_uuid, &reactor)?;
        lock(&self.waiting).extend(files);
        lock(&self.leaves).extend(stack.members);
        lock(&self.more_guards).extend(own);
        Ok(arrival)
    }

    /// The files that are in the stack now: members, those that have failed and were not removed, spares.
    fn taken(&self) -> Vec<PathBuf> {
        let mut taken = files_of(&self.device.describe());
        let mut waiting = lock(&self.waiting);
        let mut somebody_waits = false;
        for running in &self.running {
            let snapshot = running.control().snapshot();
            somebody_waits |= snapshot.spares > 0 || !snapshot.replaced.is_empty();
            let failed = snapshot.names.iter().zip(&snapshot.members).filter(|(_, condition)| **condition == Condition::Failed);
            taken.extend(failed.filter_map(|(name, _)| stack::parse(bare(name)).ok()).flat_map(|node| files_of(&node)));
        }
        if !somebody_waits {
            waiting.clear();
        }
        taken.extend(waiting.iter().cloned());
        taken
    }
}

/// A device as a stack text; messages have its place in front: `member 0 (file:a.img)`.
pub(crate) fn bare(name: &str) -> &str {
    name.split_once('(').and_then(|(_, text)| text.strip_suffix(')')).unwrap_or(name)
}

/// Whether an array has become idle within a moment, and what it is doing.
fn waited(upkeep: &Upkeep, array: usize) -> Value {
    let is_idle = upkeep.wait_until_idle(array);
    let work = upkeep.progress(array).as_ref().map(WorkStatus::from);
    json!({ "idle": is_idle, "work": work, "last": upkeep.last_ended(array) })
}

/// The files of a stack, by their real paths.
fn files_of(node: &Node) -> Vec<PathBuf> {
    let file = |leaf: &Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "file" => {
            Some(fs::canonicalize(address).unwrap_or_else(|_| Path::new(address).to_owned()))
        }
        _ => None,
    };
    node.leaves().into_iter().filter_map(file).collect()
}

impl From<GivenConsent> for Consent {
    fn from(given: GivenConsent) -> Consent {
        Consent { erase_serials: given.erase, erase_signature: given.erase_signature, devices: given.allow_device, in_place: false }
    }
}
