//! MemberTable come and go while the array serves: fail, remove, add, replace, scrub.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use array::metadata::RunningArray;
use array::sync::Limits;
use array::{MemberState, Snapshot};
use block::{Device, Node};
use cache::CacheHandle;
use host::Error;
use host::guard::{Access, Consent, Guard};
use mdtools::{MemberSource, WorkStatus};
use reactor::{Random, Reactor};
use serde_json::{Value, json};
use stack::{BuildContext, Identity, InnerLayers, Member, OpenedFile, is_remote};
use words::{Text, statement};

use crate::catalogue;
use crate::protocol::{Command, GivenConsent, ScrubAction};
use crate::upkeep::Upkeep;
use crate::usability::{StackParts, Usability};

/// What a server's arrays are made of, as it changes.
pub(crate) struct MemberTable {
    running: Vec<RunningArray>,
    /// The leaves that were there at the start, and those that came.
    leaves: Mutex<Vec<Member>>,
    /// What else tells how the stack is, and those that came.
    inner: Mutex<Vec<InnerLayers>>,
    /// The whole stack: what is in it now.
    device: Arc<dyn Device>,
    /// What opened the stack: members that come back are held by it still.
    guard: Guard,
    /// Those that opened what came with consents of its own.
    more_guards: Mutex<Vec<Guard>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemberTable {
    /// Of a stack that was opened through `guard`.
    pub(crate) fn new(
        running: Vec<RunningArray>,
        leaves: Vec<Member>,
        inner: InnerLayers,
        device: &Arc<dyn Device>,
        guard: Guard,
    ) -> MemberTable {
        MemberTable {
            running,
            leaves: Mutex::new(leaves),
            inner: Mutex::new(vec![inner]),
            device: Arc::clone(device),
            guard,
            more_guards: Mutex::default(),
        }
    }

    /// The arrays, those below before those above.
    pub(crate) fn running(&self) -> &[RunningArray] {
        &self.running
    }

    /// The leaves.
    pub(crate) fn leaves(&self) -> Vec<Member> {
        lock(&self.leaves).clone()
    }

    /// What can be done with the stack now.
    pub(crate) fn usability(&self, caches: &[CacheHandle], read_only: bool) -> Usability {
        let (leaves, inner) = (lock(&self.leaves), lock(&self.inner));
        let arrays = &self.running;
        let parts = StackParts { leaves: &leaves, inner: &inner, arrays, caches };
        Usability::of(&*self.device, &parts, read_only)
    }

    /// Notes that part of what is in this file is gone.
    pub(crate) fn note_gone(&self, file: &Path, why: &Text) {
        let is_in = |leaf: &&Member| leaf.opened.as_ref().is_some_and(|it| it.path == file);
        for leaf in lock(&self.leaves).iter().filter(is_in) {
            leaf.counters.note_gone(|| why.clone());
        }
    }

    /// The array of this name; without one, the only one there is.
    fn array(&self, name: Option<&str>) -> Result<usize, Error> {
        let names = || {
            self.running
                .iter()
                .map(|running| running.assembly().name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (name, &self.running[..]) {
            (_, []) => Err(Error::usage(catalogue::NO_METADATA)),
            (None, [_]) => Ok(0),
            (None, _) => Err(Error::usage(statement!(catalogue::SEVERAL_ARRAYS, names = names()))),
            (Some(name), running) => {
                let found = running.iter().position(|running| running.assembly().name == name);
                found.ok_or_else(|| {
                    Error::usage(statement!(catalogue::NO_SUCH_ARRAY, names = names())).at(name)
                })
            }
        }
    }

    /// Does what a request asks for of an array's members.
    pub(crate) fn carry_out(&self, upkeep: &Upkeep, command: Command) -> Result<Value, Error> {
        let note =
            |array: usize, text: Text| upkeep.note(&self.running[array].assembly().name, text);
        match command {
            Command::Fail { array, member } => {
                let array = self.array(array.as_deref())?;
                self.running[array].control().fail(member)?;
                note(array, statement!(catalogue::MEMBER_TAKEN_OUT, member = member));
            }
            Command::Remove { array, member } => {
                let array = self.array(array.as_deref())?;
                self.running[array].remove(member)?;
                note(array, statement!(catalogue::MEMBER_WAS_REMOVED, member = member));
            }
            Command::Add { array, device, consent } => {
                let array = self.array(array.as_deref())?;
                let done = self.add(&self.running[array], &device, consent)?;
                note(array, done);
            }
            Command::Replace { array, member, device, consent } => {
                let array = self.array(array.as_deref())?;
                let done = self.replace(&self.running[array], member, &device, consent)?;
                note(array, done);
            }
            Command::Scrub { array, action } => {
                let array = self.array(array.as_deref())?;
                upkeep.scrub(array, action)?;
                if action == ScrubAction::Cancel {
                    note(array, catalogue::WORK_ENDED_ON_REQUEST.into());
                }
            }
            Command::Speed { array, least_bytes_per_second, most_bytes_per_second } => {
                let array = self.array(array.as_deref())?;
                let limits =
                    upkeep.set_speed(array, least_bytes_per_second, most_bytes_per_second)?;
                let Limits { least_bytes_per_second, most_bytes_per_second, .. } = limits;
                return Ok(json!({ "least_bytes_per_second": least_bytes_per_second,
                        "most_bytes_per_second": most_bytes_per_second }));
            }
            Command::Wait { array } => return Ok(waited(upkeep, self.array(array.as_deref())?)),
            Command::Status
            | Command::Settings
            | Command::Log { .. }
            | Command::Stop
            | Command::Mount { .. }
            | Command::Unmount
            | Command::FlushCaches
            | Command::ResizeCache { .. } => unreachable!("the server's own"),
        }
        Ok(Value::Null)
    }

    /// What was a member and whose slot is still empty gets it back; everything else becomes a
    /// spare, which takes the slot of the next member that is missing. What was done, in one line.
    fn add(
        &self,
        running: &RunningArray,
        device: &str,
        consent: GivenConsent,
    ) -> Result<Text, Error> {
        let newcomer = self.open(running, device, consent)?;
        let done = match running.empty_slot_of(&newcomer.device, &newcomer.reactor)? {
            Some(member) => newcomer.add_to_slot(running, member)?,
            None => {
                let new_device = running.make_spare(
                    &newcomer.device,
                    newcomer.device_uuid,
                    &newcomer.reactor,
                )?;
                running.control().add(new_device)?;
                statement!(catalogue::DEVICE_WAS_ADDED, device = device)
            }
        };
        self.keep(newcomer);
        Ok(done)
    }

    /// A member that serves is copied; a place without one is rebuilt. What was done, in one line.
    fn replace(
        &self,
        running: &RunningArray,
        member: usize,
        device: &str,
        consent: GivenConsent,
    ) -> Result<Text, Error> {
        let control = running.control();
        let snapshot = control.snapshot();
        let Some(condition) = snapshot.members.get(member) else {
            let last = snapshot.members.len() - 1;
            let said = statement!(catalogue::NO_SLOT, member = member, last = last);
            return Err(Error::usage(said));
        };
        if matches!(condition, MemberState::Recovering { .. })
            || snapshot.replaced.contains(&member)
        {
            return Err(Error::refused(statement!(catalogue::IN_REBUILD, member = member)));
        }
        let newcomer = self.open(running, device, consent)?;
        let done = if *condition == MemberState::InSync {
            let new_device =
                running.make_spare(&newcomer.device, newcomer.device_uuid, &newcomer.reactor)?;
            control.replace(member, new_device)?;
            statement!(catalogue::MEMBER_IS_GIVEN, member = member, device = device)
        } else {
            if *condition == MemberState::Faulty {
                running.remove(member)?;
            }
            newcomer.add_to_slot(running, member)?
        };
        self.keep(newcomer);
        Ok(done)
    }

    /// Opens a device that is to become a member.
    fn open(
        &self,
        running: &RunningArray,
        text: &str,
        consent: GivenConsent,
    ) -> Result<Newcomer, Error> {
        let node = stack::parse(text).map_err(block::Error::from)?;
        let files = files_of(&node);
        if let Some((file, place)) =
            self.failed().into_iter().find(|(file, _)| files.contains(file))
        {
            let said = statement!(catalogue::MEMBER_HAS_FAILED, place = place);
            return Err(Error::refused(said).at(file.display()));
        }
        let taken = self.taken();
        if let Some(file) = files.iter().find(|file| taken.contains(file)) {
            return Err(Error::refused(catalogue::MEMBER_ALREADY).at(file.display()));
        }
        self.refuse_same_remote(&node)?;
        let own = self.own_guard(running, &node, consent);
        if let Some(guard) = &own {
            // What a file holds the guard looks at when the stack opens it.
            let remote = node.leaves().into_iter().filter(|leaf| is_remote(leaf));
            remote
                .map(|leaf| guard.open_remote(leaf, Access::Write))
                .try_for_each(|opened| opened.map(drop))?;
        }
        let context = BuildContext::new(own.as_ref().unwrap_or(&self.guard));
        let stack = stack::build(&node, &context)?;
        own.as_ref().map_or(Ok(()), Guard::refuse_stray_consent)?;
        let reactor = Reactor::wall()?;
        let mut device_uuid = [0; 16];
        #[expect(clippy::disallowed_methods, reason = "an identity is not to come again")]
        Random::new().fill(&mut device_uuid);
        Ok(Newcomer {
            text: text.to_owned(),
            device: stack.device,
            leaves: stack.members,
            inner: stack.inner,
            device_uuid,
            reactor,
            guard: own,
        })
    }

    /// The guard of a device that is to become a member. What was a member of this very array may
    /// be one again without more words, and is opened as the members of the start were, by the
    /// guard that holds it still where it was one of them: then there is no other.
    fn own_guard(
        &self,
        running: &RunningArray,
        node: &Node,
        consent: GivenConsent,
    ) -> Option<Guard> {
        let set_uuid = running.assembly().set_uuid;
        let peek = Guard::new(Consent::default());
        let was_member = |leaf: &&Node| {
            let examined = MemberSource::of_node(leaf)
                .and_then(|source| mdtools::examine(&peek, &source).ok());
            examined.is_some_and(|examined| {
                examined.found.iter().any(|found| found.superblock.set_uuid == set_uuid)
            })
        };
        let leaves = node.leaves();
        if leaves.is_empty() || !leaves.iter().all(was_member) {
            return Some(Guard::new(consent.into()));
        }
        // What has no identity takes the same consent as at a start.
        let named: Vec<PathBuf> = leaves.into_iter().filter_map(Node::file_path).collect();
        let devices = consent.allow_device.into_iter().filter(|device| named.contains(device));
        self.guard.allow_devices(devices);
        None
    }

    /// Refuses a drive of another machine that is in the stack already, or has failed and was not
    /// removed.
    fn refuse_same_remote(&self, node: &Node) -> Result<(), Error> {
        let mut taken: Vec<Node> = self.device.describe().leaves().into_iter().cloned().collect();
        for running in &self.running {
            let Snapshot { names, members, spares, replacements, .. } =
                running.control().snapshot();
            let held =
                names.iter().zip(&members).filter(|(_, state)| **state != MemberState::Missing);
            let all = held.map(|(name, _)| name).chain(&spares).chain(&replacements);
            let parsed = all.filter_map(|name| stack::parse(mdtools::device_text(name)).ok());
            taken.extend(
                parsed.flat_map(|node| node.leaves().into_iter().cloned().collect::<Vec<_>>()),
            );
        }
        let taken: Vec<Identity> =
            taken.iter().filter(|leaf| is_remote(leaf)).map(Identity::of_remote).collect();
        let mut remote = node.leaves().into_iter().filter(|leaf| is_remote(leaf));
        match remote.find(|leaf| taken.contains(&Identity::of_remote(leaf))) {
            Some(leaf) => Err(Error::refused(catalogue::REMOTE_ALREADY).at(leaf.to_string())),
            None => Ok(()),
        }
    }

    /// Shows the leaves of a new member. One that was there before begins to count anew.
    fn keep(&self, newcomer: Newcomer) {
        let mut leaves = lock(&self.leaves);
        leaves.retain(|leaf| newcomer.leaves.iter().all(|new| new.name != leaf.name));
        leaves.extend(newcomer.leaves);
        lock(&self.inner).push(newcomer.inner);
        lock(&self.more_guards).extend(newcomer.guard);
    }

    /// The files of members that have failed and were not removed, and their places.
    fn failed(&self) -> Vec<(PathBuf, usize)> {
        let failed = self.files_of_members(|state| *state == MemberState::Faulty);
        failed.into_iter().map(|(file, place)| (real_path(&file), place)).collect()
    }

    /// The files of members in these states, as they are named, and their places.
    fn files_of_members(&self, chosen: impl Fn(&MemberState) -> bool) -> Vec<(PathBuf, usize)> {
        let mut files = Vec::new();
        for running in &self.running {
            let Snapshot { names, members, .. } = running.control().snapshot();
            for (place, name) in
                names.iter().enumerate().filter(|(place, _)| chosen(&members[*place]))
            {
                files.extend(paths_named(name).into_iter().map(|file| (file, place)));
            }
        }
        files
    }

    /// What is open of the files that are in the stack now.
    pub(crate) fn opened_files(&self) -> Vec<OpenedFile> {
        let paths = self.paths();
        let opened = self.leaves().into_iter().filter_map(|leaf| leaf.opened);
        opened.filter(|opened| paths.contains(&opened.path)).collect()
    }

    /// Takes the member that is in this file out of service, where the others make up for it: one
    /// that is needed stays, for what is left of it is better than nothing. Whether there was one.
    pub(crate) fn fail_file(&self, file: &Path, why: &Text) -> bool {
        let mut has_failed = false;
        for running in &self.running {
            let Snapshot { names, members, .. } = running.control().snapshot();
            let is_in = |name: &String| paths_named(name).iter().any(|path| path == file);
            for (place, _) in names.iter().enumerate().filter(|(_, name)| is_in(name)) {
                // A write behind the end of one that was cut short may have told already.
                has_failed |= members[place] == MemberState::Faulty
                    || running.control().fail_for(place, why.clone()).is_ok();
            }
        }
        has_failed
    }

    /// Whether all data are there without these files, which are named as in the stack.
    pub(crate) fn can_do_without(&self, files: &[&Path]) -> bool {
        let behind = self.files_of_members(|state| *state != MemberState::InSync);
        is_whole_without(&self.device.describe(), &|path| {
            files.contains(&path) || behind.iter().any(|(file, _)| file == path)
        })
    }

    /// Lets go of the members' files, which are not used any more.
    pub(crate) fn let_go(&self) {
        self.guard.let_go();
        lock(&self.more_guards).iter().for_each(Guard::let_go);
    }

    /// Removes the files that were made for the stack: it has not started after all.
    pub(crate) fn undo_made(&self) {
        self.guard.undo_made();
    }

    /// The files that are in the stack now, by their real paths: members, spares, and those that
    /// members are being copied to.
    pub(crate) fn taken(&self) -> Vec<PathBuf> {
        self.paths().iter().map(|path| real_path(path)).collect()
    }

    /// The same as they are named.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = paths_of(&self.device.describe());
        for running in &self.running {
            let Snapshot { spares, replacements, .. } = running.control().snapshot();
            paths.extend(spares.iter().chain(&replacements).flat_map(|name| paths_named(name)));
        }
        paths
    }
}

/// A device that was opened to become a member.
struct Newcomer {
    text: String,
    device: Arc<dyn Device>,
    leaves: Vec<Member>,
    inner: InnerLayers,
    /// For one that has none.
    device_uuid: [u8; 16],
    reactor: Reactor,
    /// What opened it, if it came with consents of its own.
    guard: Option<Guard>,
}

impl Newcomer {
    /// Gives it an empty place. What was done, in one line.
    fn add_to_slot(&self, running: &RunningArray, member: usize) -> Result<Text, Error> {
        let missed =
            running.add_to_slot(member, &self.device, self.device_uuid, &self.reactor)?.bytes();
        let all = running.control().member_bytes();
        let text = &self.text;
        Ok(if missed < all {
            let (missed, all) = (block::size_text(missed), block::size_text(all));
            let message = catalogue::MEMBER_IS_BACK;
            statement!(message, device = text, member = member, missed = missed, all = all)
        } else {
            statement!(catalogue::ADDED_AS_MEMBER, device = text, member = member)
        })
    }
}

/// Whether an array has become idle within a moment, and what it is doing.
fn waited(upkeep: &Upkeep, array: usize) -> Value {
    let is_idle = upkeep.wait_until_idle(array);
    let work = upkeep.progress(array).as_ref().map(WorkStatus::from);
    json!({ "idle": is_idle, "work": work, "last": upkeep.last_ended(array) })
}

/// The files of the member that is called so in messages.
fn paths_named(name: &str) -> Vec<PathBuf> {
    stack::parse(mdtools::device_text(name)).map(|node| paths_of(&node)).unwrap_or_default()
}

/// The files of a stack, by their real paths.
fn files_of(node: &Node) -> Vec<PathBuf> {
    paths_of(node).iter().map(|path| real_path(path)).collect()
}

fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The files of a stack, as they are named.
fn paths_of(node: &Node) -> Vec<PathBuf> {
    node.leaves().into_iter().filter_map(Node::file_path).collect()
}

/// Whether a stack has all of its data without the files that are lost.
fn is_whole_without(node: &Node, is_lost: &dyn Fn(&Path) -> bool) -> bool {
    let Node::Layer { name, children, .. } = node else {
        return *node != Node::Missing && !node.file_path().is_some_and(|path| is_lost(&path));
    };
    let lost = children.iter().filter(|child| !is_whole_without(child, is_lost)).count();
    let may_be_lost = match name.as_str() {
        "raid1" => children.len() - 1,
        // Two copies at least, whichever members they are on.
        "raid4" | "raid5" | "raid10" => 1,
        "raid6" => 2,
        _ => 0,
    };
    lost <= may_be_lost
}

impl From<GivenConsent> for Consent {
    fn from(given: GivenConsent) -> Consent {
        Consent {
            erase_serials: given.erase,
            erase_signature: given.erase_signature,
            devices: given.allow_device,
            ..Consent::default()
        }
    }
}
