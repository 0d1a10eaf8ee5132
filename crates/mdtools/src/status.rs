//! How an array is, as plain data, and that as text: the layout of `zpool status`, with md's
//! `[UU_U]`.
//!
//! The same struct describes an array that runs, as its server sees it, and one that does not, as
//! its superblocks do.

use array::md::{
    Assembly, Candidate, Features, Layout, Level, Slot, Startability, Usability, uuid_text,
};
use array::metadata::RunningArray;
use array::sync::Progress;
use block::{Device, Node, size_text};
use escape::{Lines, add};
use serde::{Deserialize, Serialize};
use words::{Message, Text, statement};

use super::{SECTOR_BYTES, WorkStatus};
use crate::catalogue::{self, say};

/// Adds one line to [`Lines`]: a message of the catalogue.
macro_rules! tell {
    ($lines:expr, $($message:tt)*) => { add!($lines, "{}", say!($($message)*)) };
}

/// How an array is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayStatus {
    /// Its name.
    pub name: String,
    /// Its UUID as md prints it.
    pub array_uuid: String,
    /// In one word.
    pub state: ArrayCondition,
    /// Whether all of it can be read as it is.
    pub is_readable: bool,
    /// Whether all of it can be written as it is.
    pub is_writable: bool,
    /// Whether it runs.
    pub is_running: bool,
    /// `raid5` and the like.
    pub level: String,
    /// The level's layout; `None` where there is only one.
    pub layout: Option<String>,
    /// Chunk in bytes; 0 where the level has none.
    pub chunk_bytes: u64,
    /// Its size in bytes; `None` when it depends on members that are missing.
    pub size_bytes: Option<u64>,
    /// The version of its superblocks.
    pub metadata: String,
    /// Whether the members agree everywhere and nothing is being written.
    pub is_clean: bool,
    /// How often its superblocks have changed.
    pub events: u64,
    /// md's way to show the slots: `U` for up, `_` for not.
    pub slots: String,
    /// Every slot, then the spares, then what belongs to the array and is not used.
    pub members: Vec<MemberStatus>,
    /// What is being done, if anything.
    pub work: Option<WorkStatus>,
    /// The last check or repair that ended while it runs, and what it found.
    #[serde(default)]
    pub scrub: Option<WorkStatus>,
    /// What keeps it from being started or written, and what else there is to know; one line each.
    /// In JSON `notes` is its English, and `note_parts` has codes and names.
    #[serde(flatten, with = "note_parts")]
    pub notes: Vec<Text>,
}

words::with_parts!(note_parts: Vec<Text>, "notes", "note_parts");
words::with_parts!(cause_parts: Option<Text>, "cause", "cause_parts");

/// An array in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayCondition {
    /// Every member is there.
    Online,
    /// It goes on without some members.
    Degraded,
    /// It cannot be started as it is, or is not written any more.
    Unusable,
    /// Data are missing: what is left does not make up for the members that are gone.
    Failed,
}

impl ArrayCondition {
    /// The exit code of `mdadm --detail --test`: 0 normal, 1 a member has failed, 2 unusable.
    #[must_use]
    pub fn test_code(self) -> u8 {
        match self {
            ArrayCondition::Online => 0,
            ArrayCondition::Degraded => 1,
            ArrayCondition::Unusable | ArrayCondition::Failed => 2,
        }
    }

    /// In one word, as JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ArrayCondition::Online => "online",
            ArrayCondition::Degraded => "degraded",
            ArrayCondition::Unusable => "unusable",
            ArrayCondition::Failed => "failed",
        }
    }

    /// The state of an array that can do this.
    fn of(usability: &Usability) -> ArrayCondition {
        match usability {
            Usability::Writable { missing } | Usability::Readable { missing } => {
                if missing.is_empty() { ArrayCondition::Online } else { ArrayCondition::Degraded }
            }
            Usability::Doubtful { .. } | Usability::Closed { .. } => ArrayCondition::Unusable,
            Usability::Failed { .. } => ArrayCondition::Failed,
        }
    }
}

/// What becomes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// It holds what it should.
    Online,
    /// It is being brought up to date.
    Rebuild,
    /// It lacks something, and is not being brought up to date.
    Incomplete,
    /// It failed.
    Failed,
    /// It is there, and what it holds is old.
    Stale,
    /// The slot is empty.
    Missing,
    /// Several devices claim the slot, and nothing tells which of them holds it.
    Undecided,
    /// It waits for another to fail.
    Spare,
    /// It holds the array's journal.
    Journal,
    /// It belongs to the array and is not used; the notes say why.
    Unused,
}

/// A member, or an empty slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its slot; `None` for a spare and the like.
    pub slot: Option<usize>,
    /// How it is.
    pub state: MemberState,
    /// Its path or stack text; `None` when no member is there.
    pub name: Option<String>,
    /// While it is rebuilt: how much of it is up to date, in bytes of its data.
    pub rebuilt_bytes: Option<u64>,
    /// While the array runs: how many places of it could not be read since it came, and were made
    /// from the others.
    pub read_errors: Option<u32>,
    /// While the array runs: how much of its data is lost, in bytes. A rebuild could not restore
    /// it, or its bad-block log names it.
    #[serde(default)]
    pub lost_bytes: Option<u64>,
    /// While the array runs: why the member has failed, unless it was asked to.
    #[serde(flatten, with = "cause_parts")]
    pub cause: Option<Text>,
}

impl MemberStatus {
    fn new(slot: Option<usize>, state: MemberState, name: Option<String>) -> MemberStatus {
        MemberStatus {
            slot,
            state,
            name,
            rebuilt_bytes: None,
            read_errors: None,
            lost_bytes: None,
            cause: None,
        }
    }

    /// What is in a slot, as superblocks have it.
    fn of_slot(
        assembly: &Assembly,
        candidates: &[Candidate],
        slot: usize,
        held: &Slot,
    ) -> MemberStatus {
        let name = |candidate: usize| Some(candidates[candidate].name.clone());
        let (state, name, rebuilt) = match held {
            Slot::Present(used) => (MemberState::Online, name(used.candidate), None),
            Slot::Recovering { used, recovered_sectors } => {
                (MemberState::Rebuild, name(used.candidate), Some(*recovered_sectors))
            }
            Slot::Stale { candidate, .. } => (MemberState::Stale, name(*candidate), None),
            Slot::Missing => (MemberState::Missing, None, None),
        };
        let claimants: Vec<String> =
            assembly.claimants(slot).map(|candidate| candidates[candidate].name.clone()).collect();
        let (state, name) = match claimants.is_empty() {
            true => (state, name),
            false => {
                let all = name.into_iter().chain(claimants).collect::<Vec<_>>();
                (MemberState::Undecided, Some(all.join(" or ")))
            }
        };
        MemberStatus {
            rebuilt_bytes: rebuilt.map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
            ..MemberStatus::new(Some(slot), state, name)
        }
    }

    /// What is in a slot of an array that runs; `is_idle` says that nothing is under way in it.
    fn of_running(members: &array::Snapshot, slot: usize, is_idle: bool) -> MemberStatus {
        let condition = &members.members[slot];
        let (state, rebuilt_bytes) = match condition {
            array::MemberState::InSync => (MemberState::Online, None),
            array::MemberState::Recovering { recovery_offset, .. } => {
                let state = if is_idle { MemberState::Incomplete } else { MemberState::Rebuild };
                (state, Some(*recovery_offset))
            }
            array::MemberState::Faulty => (MemberState::Failed, None),
            array::MemberState::Missing => (MemberState::Missing, None),
        };
        let name = members.names.get(slot);
        let name = name.filter(|_| *condition != array::MemberState::Missing);
        MemberStatus {
            rebuilt_bytes,
            read_errors: members.read_errors.get(slot).copied(),
            lost_bytes: members.lost_bytes.get(slot).copied(),
            cause: members.causes.get(slot).cloned().flatten(),
            ..MemberStatus::new(Some(slot), state, name.map(|name| device_text(name).to_owned()))
        }
    }
}

/// What there is to know of an array that does not run; one line each.
fn notes_of(assembly: &Assembly, candidates: &[Candidate]) -> Vec<Text> {
    let mut notes: Vec<Text> = assembly
        .left_out
        .iter()
        .map(|left_out| left_out.reason.clone())
        .chain(assembly.notes.iter().cloned())
        .collect();
    let used = assembly.slots.iter().filter_map(|slot| match slot {
        Slot::Present(used) | Slot::Recovering { used, .. } => Some(&candidates[used.candidate]),
        Slot::Stale { .. } | Slot::Missing => None,
    });
    notes.extend(
        used.filter(|used| used.superblock.features.contains(Features::BAD_BLOCKS))
            .map(|used| lost_text(&used.name, catalogue::SOME_OF_IT.into())),
    );
    if assembly.start != Startability::Ready {
        notes.push((&assembly.start).into());
    }
    notes
}

impl ArrayStatus {
    /// An array that does not run, as its superblocks describe it.
    #[must_use]
    pub fn of_superblocks(assembly: &Assembly, candidates: &[Candidate]) -> ArrayStatus {
        let master = &candidates[assembly.newest];
        let slots = assembly.slots.iter().enumerate();
        let member =
            |(slot, held): (usize, &Slot)| MemberStatus::of_slot(assembly, candidates, slot, held);
        let waiting = |state: MemberState, candidate: usize| {
            MemberStatus::new(None, state, Some(candidates[candidate].name.clone()))
        };
        let is_stale = |candidate: usize| {
            assembly.slots.iter().any(
                |slot| matches!(slot, Slot::Stale { candidate: stale, .. } if *stale == candidate),
            )
        };
        let unused = assembly
            .left_out
            .iter()
            .map(|left_out| left_out.candidate)
            .filter(|candidate| !is_stale(*candidate));
        let members = (slots.map(member))
            .chain(assembly.spares.iter().map(|&spare| waiting(MemberState::Spare, spare)))
            .chain(assembly.journals.iter().map(|&journal| waiting(MemberState::Journal, journal)))
            .chain(unused.map(|candidate| waiting(MemberState::Unused, candidate)));
        let usability = assembly.usability();
        ArrayStatus {
            state: match assembly.start {
                // There is a way in, and it has to be chosen.
                Startability::ReadOnlyOrForce(_) => ArrayCondition::Unusable,
                _ => ArrayCondition::of(&usability),
            },
            is_readable: usability.is_readable(),
            is_writable: usability.is_writable(),
            is_running: false,
            is_clean: assembly.clean,
            events: master.superblock.events,
            slots: assembly.slots_text(),
            members: members.collect(),
            work: None,
            scrub: None,
            notes: notes_of(assembly, candidates),
            ..ArrayStatus::of_assembly(assembly, master.version.to_string())
        }
    }

    /// An array that runs. `is_idle` says that nothing is under way and nothing is due.
    #[must_use]
    pub fn of_running(
        running: &RunningArray,
        work: Option<&Progress>,
        is_idle: bool,
    ) -> ArrayStatus {
        let assembly = running.assembly();
        let status = running.status();
        let spares = (status.members.spares.iter()).map(|name| {
            MemberStatus::new(None, MemberState::Spare, Some(device_text(name).to_owned()))
        });
        let members: Vec<MemberStatus> = (0..status.members.members.len())
            .map(|slot| MemberStatus::of_running(&status.members, slot, is_idle))
            .collect();
        let broken = status.broken.iter();
        let notes = broken.map(|reason| reason.clone().at(catalogue::NOTHING_WRITTEN_ANY_MORE));
        let options = match running.describe() {
            Node::Layer { options, .. } => options,
            _ => Vec::new(),
        };
        let version = options
            .into_iter()
            .find(|(option, _)| option == "metadata")
            .map_or("none".to_owned(), |(_, version)| version);
        ArrayStatus {
            state: match (ArrayCondition::of(&status.usability), &status.broken) {
                (ArrayCondition::Failed, _) => ArrayCondition::Failed,
                (_, Some(_)) => ArrayCondition::Unusable,
                (state, None) => state,
            },
            is_readable: status.usability.is_readable(),
            is_writable: status.usability.is_writable(),
            is_running: true,
            is_clean: !status.is_active && status.members.resync.is_none(),
            events: status.events,
            slots: status.slots_text(),
            notes: notes.chain(members.iter().filter_map(MemberStatus::lost_text)).collect(),
            members: members.into_iter().chain(spares).collect(),
            work: work.map(WorkStatus::from),
            ..ArrayStatus::of_assembly(assembly, version)
        }
    }

    /// What both have in common.
    fn of_assembly(assembly: &Assembly, metadata: String) -> ArrayStatus {
        ArrayStatus {
            name: assembly.name.clone(),
            array_uuid: uuid_text(&assembly.set_uuid),
            state: ArrayCondition::Online,
            is_readable: true,
            is_writable: true,
            is_running: false,
            level: assembly.level.to_string(),
            layout: (assembly.layout != Layout::Plain).then(|| assembly.layout.to_string()),
            chunk_bytes: u64::from(assembly.chunk_sectors) * SECTOR_BYTES,
            size_bytes: assembly.array_sectors.map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
            metadata,
            is_clean: true,
            events: 0,
            slots: String::new(),
            members: Vec::new(),
            work: None,
            scrub: None,
            notes: Vec::new(),
        }
    }

    /// What a person may do about it. `called` is what commands name it by: its server's name when
    /// it runs.
    #[must_use]
    pub fn action(&self, called: &str) -> Option<String> {
        let first = |state: MemberState| self.members.iter().find(|member| member.state == state);
        if self.state == ArrayCondition::Failed && self.is_running {
            return Some(say!(BRING_BACK, name = called));
        }
        if let Some(undecided) = first(MemberState::Undecided) {
            let slot = undecided.slot.unwrap_or(0);
            return Some(say!(LEAVE_OUT_CLAIMANTS, slot = slot));
        }
        if matches!(self.state, ArrayCondition::Unusable | ArrayCondition::Failed) {
            return Some(match first(MemberState::Missing) {
                Some(_) => say!(FIND_MEMBERS),
                None => say!(SEE_NOTES),
            });
        }
        let when = if self.is_running { String::new() } else { say!(WHEN_IT_RUNS) };
        let [failed, stale, missing, rebuild, incomplete] = [
            MemberState::Failed,
            MemberState::Stale,
            MemberState::Missing,
            MemberState::Rebuild,
            MemberState::Incomplete,
        ]
        .map(first);
        if first(MemberState::Spare).is_some() && failed.or(stale).or(missing).is_some() {
            return Some(say!(SPARE_TAKES_PLACE, when = when));
        }
        if let Some(failed) = failed {
            let slot = failed.slot.unwrap_or(0);
            return Some(say!(REPLACE_FAILED, name = called, slot = slot));
        }
        if let Some(stale) = stale {
            let path = stale.name.as_deref().unwrap_or("PATH");
            return Some(say!(ADD_STALE, when = when, name = called, path = path));
        }
        if missing.is_some() {
            return Some(say!(ADD_MISSING, when = when, name = called));
        }
        if let Some(slot) = incomplete.and_then(|member| member.slot) {
            return Some(say!(RESUME_REBUILD, slot = slot, name = called));
        }
        if rebuild.is_some() {
            return Some(if self.is_running { say!(BEING_REBUILT) } else { say!(REBUILT_LATER) });
        }
        let has_lost = self.members.iter().any(|member| member.lost_bytes.unwrap_or(0) > 0);
        has_lost.then(|| say!(WRITE_AGAIN))
    }

    /// The status for people.
    #[must_use]
    pub fn text(&self) -> Lines {
        self.text_of(&self.name)
    }

    /// The same of an array that commands name in another way: by its server's name.
    #[must_use]
    pub fn text_of(&self, called: &str) -> Lines {
        let mut text = Lines::new();
        let (state, layout) = (self.state_text(), self.layout_text());
        tell!(text, STATUS_ARRAY, name = self.name, state = state, layout = layout);
        tell!(
            text,
            STATUS_UUID,
            uuid = self.array_uuid,
            metadata = self.metadata,
            events = self.events,
        );
        let size = self.size_bytes.map_or_else(|| say!(SIZE_UNKNOWN), size_text);
        tell!(text, ARRAY_SIZE, size = size);
        for note in &self.notes {
            tell!(text, ARRAY_NOTE, note = note);
        }
        if let Some(action) = self.action(called) {
            tell!(text, STATUS_ACTION, action = action);
        }
        if let Some(work) = &self.work {
            add!(text, "{}: {}", right(&work.kind_name()), work.text());
        }
        if let Some(scrub) = &self.scrub {
            add!(text, "{}: {}", right(&scrub.kind_name()), scrub.ended_text());
        }
        let has_errors =
            self.members.iter().any(|member| member.read_errors.is_some_and(|count| count > 0));
        // As wide as what may stand there, so that arrays shown one after the other align.
        let member = escape::padded(&say!(MEMBER_HEAD), 8);
        let state = escape::padded(&say!(STATE_HEAD), 7);
        let mut rows = vec![vec![member, state, say!(DEVICE_HEAD)]];
        rows[0].extend(has_errors.then(|| say!(READ_ERRORS_HEAD)));
        rows[0].push(self.slots.clone());
        for member in &self.members {
            let called = member.slot.map_or_else(
                || member.state.message().english.to_lowercase(),
                |slot| format!("member{slot}"),
            );
            let name = member.name.clone().unwrap_or_else(|| "-".to_owned());
            let mut row = vec![called, member.state.message().template().to_owned(), name];
            let errors = || member.read_errors.map_or("-".to_owned(), |count| count.to_string());
            row.extend(has_errors.then(errors));
            let rebuilt =
                member.rebuilt_bytes.map(|bytes| say!(REBUILT_UP_TO, size = size_text(bytes)));
            let cause = member.cause.as_ref().map(Text::to_string);
            row.push(rebuilt.into_iter().chain(cause).collect::<Vec<_>>().join("  "));
            rows.push(row);
        }
        for row in escape::columns(&rows, if has_errors { &[3] } else { &[] }) {
            add!(text, "        {row}");
        }
        text
    }

    fn state_text(&self) -> String {
        let state = match self.state {
            ArrayCondition::Online => say!(CONDITION_ONLINE),
            ArrayCondition::Degraded => say!(CONDITION_DEGRADED),
            ArrayCondition::Unusable => say!(CONDITION_UNUSABLE),
            ArrayCondition::Failed => say!(CONDITION_FAILED),
        };
        let state = match self.state {
            ArrayCondition::Online | ArrayCondition::Degraded if !self.is_writable => {
                say!(CONDITION_READ_ONLY, state = state)
            }
            _ => state,
        };
        match (self.is_running, self.is_clean) {
            (true, true) => say!(CONDITION_RUNNING, state = state),
            (true, false) => say!(CONDITION_ACTIVE, state = state),
            (false, true) => state,
            (false, false) => say!(CONDITION_NOT_IN_SYNC, state = state),
        }
    }

    fn layout_text(&self) -> String {
        let slots = self.members.iter().filter(|member| member.slot.is_some()).count();
        let layout = self.layout.as_ref().map(|layout| format!(" {layout}")).unwrap_or_default();
        let chunk = if self.chunk_bytes > 0 {
            say!(LAYOUT_CHUNK, size = size_text(self.chunk_bytes))
        } else {
            String::new()
        };
        let parity = match self.level.as_str() {
            level if level == Level::Raid6.to_string() => 2,
            level if level == Level::Raid5.to_string() || level == Level::Raid4.to_string() => 1,
            _ => 0,
        };
        let data = match parity {
            0 => String::new(),
            parity => say!(LAYOUT_DATA, count = slots - parity),
        };
        let level = format_args!("{}{layout}", self.level);
        say!(LAYOUT, level = level, members = slots, chunk = chunk, data = data)
    }
}

/// The stack text of a device, from how messages call it: `member 0 (file:a.img)`.
#[must_use]
pub fn device_text(name: &str) -> &str {
    name.split_once(" (").and_then(|(_, text)| text.strip_suffix(')')).unwrap_or(name)
}

/// What it means that a member lacks some of its data.
fn lost_text(device: &str, how_much: Text) -> Text {
    statement!(catalogue::DATA_LOST, how_much = how_much).at(device)
}

/// A label as wide as those of the lines above it, `  size` and the like.
fn right(label: &str) -> String {
    format!("{:columns$}{label}", "", columns = 6_usize.saturating_sub(escape::width(label)))
}

impl MemberStatus {
    fn lost_text(&self) -> Option<Text> {
        let lost = self.lost_bytes.filter(|bytes| *bytes > 0)?;
        Some(lost_text(self.name.as_deref()?, size_text(lost).into()))
    }
}

impl MemberState {
    fn message(self) -> Message {
        match self {
            MemberState::Online => catalogue::MEMBER_ONLINE,
            MemberState::Rebuild => catalogue::MEMBER_REBUILD,
            MemberState::Incomplete => catalogue::MEMBER_PARTIAL,
            MemberState::Failed => catalogue::MEMBER_FAILED,
            MemberState::Stale => catalogue::MEMBER_STALE,
            MemberState::Missing => catalogue::MEMBER_MISSING,
            MemberState::Undecided => catalogue::MEMBER_UNDECIDED,
            MemberState::Spare => catalogue::MEMBER_SPARE,
            MemberState::Journal => catalogue::MEMBER_JOURNAL,
            MemberState::Unused => catalogue::MEMBER_UNUSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> ArrayStatus {
        let member = |slot: usize, state: MemberState| MemberStatus {
            slot: Some(slot),
            state,
            name: (state != MemberState::Missing).then(|| format!("file:disk{slot}.img")),
            lost_bytes: None,
            cause: None,
            rebuilt_bytes: (state == MemberState::Rebuild).then_some(64 << 20),
            read_errors: None,
        };
        ArrayStatus {
            name: "tank".to_owned(),
            array_uuid: "0:1:2:3".to_owned(),
            state: ArrayCondition::Degraded,
            is_readable: true,
            is_writable: true,
            is_running: true,
            level: "raid6".to_owned(),
            layout: Some("left-symmetric".to_owned()),
            chunk_bytes: 64 << 10,
            size_bytes: Some(256 << 20),
            metadata: "1.2".to_owned(),
            is_clean: false,
            events: 12,
            slots: "[U_U_]".to_owned(),
            members: vec![
                member(0, MemberState::Online),
                member(1, MemberState::Rebuild),
                member(2, MemberState::Online),
                member(3, MemberState::Missing),
            ],
            work: Some(WorkStatus {
                kind: "rebuild".to_owned(),
                member: Some(1),
                done_bytes: 64 << 20,
                total_bytes: 128 << 20,
                bytes_per_second: 120_000_000,
                remaining_seconds: Some(3725),
                lost_bytes: 512,
                ..WorkStatus::default()
            }),
            scrub: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_text_has_the_layout_of_zpool_and_the_places_of_md() {
        let expected = " array: tank    state: DEGRADED, running, active    layout: raid6 \
            left-symmetric, 4 members, chunk 64KiB (2 data)
  uuid: 0:1:2:3    metadata: 1.2, events 12
  size: 256MiB
action: give it a new member: raidloom array add tank PATH
rebuild: member 1, 50.0 % done, 120 MB/s, about 1:02:05 left, 512 bytes could not be restored
        MEMBER    STATE    DEVICE          [U_U_]
        member0   ONLINE   file:disk0.img
        member1   REBUILD  file:disk1.img  up to 64MiB
        member2   ONLINE   file:disk2.img
        member3   MISSING  -
";
        assert_eq!(status().text().into_text(), expected);
    }

    #[test]
    fn counted_errors_get_a_column() {
        let mut status = status();
        status.members[2].read_errors = Some(14);
        let text = status.text().into_text();
        assert!(text.contains("DEVICE          READ ERRORS  [U_U_]"), "{text}");
        assert!(text.contains("member2   ONLINE   file:disk2.img           14\n"), "{text}");
        assert!(text.contains("member3   MISSING  -                         -\n"), "{text}");
    }

    #[test]
    fn what_is_lost_is_said() {
        let mut status = ArrayStatus { state: ArrayCondition::Online, ..status() };
        status.members.truncate(1);
        status.members[0].lost_bytes = Some(0);
        assert_eq!((status.members[0].lost_text(), status.action("t")), (None, None));
        status.members[0].lost_bytes = Some(4096);
        let text = status.members[0].lost_text().expect("something is lost").to_string();
        assert!(text.starts_with("file:disk0.img: 4KiB of its data is lost"), "{text}");
        assert_eq!(
            status.action("t").as_deref(),
            Some("write again, from a backup, what cannot be read")
        );
    }

    #[test]
    fn a_failed_member_says_why() {
        let mut status = status();
        let member = &mut status.members[2];
        (member.state, member.cause) =
            (MemberState::Failed, Some("file:disk2.img: write at 4096: Input/output error".into()));
        let text = status.text().into_text();
        assert!(
            text.contains(
                "member2   FAILED   file:disk2.img  file:disk2.img: write at 4096: \
            Input/output error\n"
            ),
            "{text}"
        );
    }

    use MemberState::{Failed, Incomplete, Missing, Online, Rebuild, Spare, Stale};

    const RUNS: bool = true;
    const RESTS: bool = false;

    /// Members, whether it runs, its state, and what helps first.
    const ACTIONS: &[(&[MemberState], bool, ArrayCondition, &str)] = &[
        (&[Online, Online], RUNS, ArrayCondition::Online, ""),
        (&[Online, Spare], RUNS, ArrayCondition::Online, ""),
        (
            &[Online, Missing],
            RUNS,
            ArrayCondition::Degraded,
            "give it a new member: raidloom array add t PATH",
        ),
        (
            &[Online, Missing],
            RESTS,
            ArrayCondition::Degraded,
            "give it a new member when it runs: raidloom array add t PATH",
        ),
        (
            &[Online, Missing, Spare],
            RESTS,
            ArrayCondition::Degraded,
            "none: a spare takes the place when it runs",
        ),
        (&[Online, Failed, Spare], RUNS, ArrayCondition::Degraded, "none: a spare takes the place"),
        (&[Online, Rebuild, Spare], RUNS, ArrayCondition::Degraded, "none: it is being rebuilt"),
        (
            &[Online, Rebuild],
            RESTS,
            ArrayCondition::Degraded,
            "none: its rebuild goes on when it runs",
        ),
        (
            &[Incomplete, Online],
            RUNS,
            ArrayCondition::Degraded,
            "go on with the rebuild of member 0: raidloom array scrub t resume",
        ),
        (
            &[Failed, Failed],
            RUNS,
            ArrayCondition::Failed,
            "bring back the members that are gone, stop it and start it again: raidloom array \
            stop t",
        ),
        (
            &[Online, Missing],
            RESTS,
            ArrayCondition::Failed,
            "find the members that are missing; the notes say what is wrong",
        ),
        (
            &[Online, Rebuild, Missing],
            RUNS,
            ArrayCondition::Degraded,
            "give it a new member: raidloom array add t PATH",
        ),
        (
            &[Failed, Rebuild],
            RUNS,
            ArrayCondition::Degraded,
            "replace the failed member: raidloom array replace t 0 PATH",
        ),
        (
            &[Online, Failed],
            RUNS,
            ArrayCondition::Degraded,
            "replace the failed member: raidloom array replace t 0 PATH",
        ),
        (
            &[Online, Stale],
            RESTS,
            ArrayCondition::Degraded,
            "bring the stale member up to date when it runs: raidloom array add t \
            file:disk0.img",
        ),
        (
            &[Online, Missing],
            RESTS,
            ArrayCondition::Unusable,
            "find the members that are missing; the notes say what is wrong",
        ),
        (&[Online, Online], RESTS, ArrayCondition::Unusable, "the notes say what is wrong"),
    ];

    #[test]
    fn the_action_is_what_helps_first() {
        let action = |members: &[MemberState], is_running: bool, state: ArrayCondition| {
            let mut status = ArrayStatus { is_running, state, ..status() };
            let member = status.members[0].clone();
            status.members = members
                .iter()
                .map(|state| MemberStatus { state: *state, ..member.clone() })
                .collect();
            status.action("t").unwrap_or_default()
        };
        for (members, is_running, state, expected) in ACTIONS {
            assert_eq!(action(members, *is_running, *state), *expected, "{members:?}");
        }
    }

    #[test]
    fn json_comes_back_the_same() {
        let text = serde_json::to_string(&status()).expect("JSON");
        assert!(
            text.contains("\"state\":\"degraded\"") && text.contains("\"state\":\"missing\""),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ArrayStatus>(&text).expect("JSON"), status());
    }

    #[test]
    fn exit_codes_are_those_of_mdadm() {
        assert_eq!(
            [
                ArrayCondition::Online,
                ArrayCondition::Degraded,
                ArrayCondition::Unusable,
                ArrayCondition::Failed
            ]
            .map(ArrayCondition::test_code),
            [0, 1, 2, 2]
        );
    }
}
