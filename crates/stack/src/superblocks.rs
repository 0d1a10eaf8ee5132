//! Members with md superblocks to a running array.
//!
//! ```text
//!   members as the text has them ──> what their superblocks say ──> do the two agree? ──> started
//!     level, chunk, layout, order       level, chunk, layout, roles
//! ```
//!
//! The superblocks decide; the text has to say the same. So a text that was right once does not
//! start something else after members were exchanged, and a wrong order, which would be harmless
//! here, is not taken over into a text without metadata.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use array::Raid0Layout;
use array::md::{
    AssembleOptions, Assembly, Candidate, ChecksumVerdict, Role, Slot, Startability, Superblock,
    TimeStamp, Version, assemble, uuid_text,
};
use array::metadata::{RunningArray, StartOptions, damage, examine, is_shared, start, watch};
use block::{Blocking, Device, Error, ErrorKind, Node, Reactor, SECTOR_BYTES, size_text};
use cache::{LeafFacts, StoreSeal};
use device::DeadlineWatch;
use reactor::Random;
use words::{Text, statement};

use crate::facts::Leaf;
use crate::messages;

/// What the text says of an array, besides its members.
pub(crate) struct StatedArray<'a> {
    /// The level's name.
    pub(crate) level: &'a str,
    /// The version of the superblocks.
    pub(crate) metadata: &'a str,
    /// The layout.
    pub(crate) layout: Option<&'a str>,
    /// The chunk in bytes.
    pub(crate) chunk_bytes: Option<u64>,
    /// Start also where something may be lost by it.
    pub(crate) force: bool,
    /// Write nothing.
    pub(crate) read_only: bool,
    /// What time it is.
    pub(crate) time: fn() -> Option<TimeStamp>,
}

/// The arrays in a stack that keep md's metadata. They have to be ended, or they are found dirty
/// when they are started again; dropping them does that, as far as it can be done without telling
/// of an error. When they have ended, nothing is written below any more, and the stores
/// of caches, closed by then, take down what they stand on is like.
#[derive(Default)]
pub struct Arrays {
    /// Those below before those above.
    running: Vec<RunningArray>,
    leaves: Vec<Leaf>,
    /// The stores of caches, those below before those above, and the leaves below each cache.
    seals: Vec<(StoreSeal, Range<usize>)>,
    /// What tells that a member does not answer: it would not answer to this either.
    deadlines: Vec<DeadlineWatch>,
    /// They are on a reactor that is not here any more when they are dropped: the virtual clock's.
    is_on_other: bool,
    is_ended: bool,
}

impl Arrays {
    pub(crate) fn new(
        running: Vec<RunningArray>,
        leaves: Vec<Leaf>,
        seals: Vec<(StoreSeal, Range<usize>)>,
        deadlines: Vec<DeadlineWatch>,
        is_on_other: bool,
    ) -> Arrays {
        Arrays { running, leaves, seals, deadlines, is_on_other, is_ended: false }
    }

    /// What was known of the leaves before anything was written to them.
    pub(crate) fn leaf_facts_at_first(&self) -> Vec<LeafFacts> {
        self.leaves.iter().map(|leaf| leaf.opened).collect()
    }

    /// What is known of the leaves now.
    pub(crate) fn leaf_facts(&self) -> Vec<LeafFacts> {
        self.settle();
        self.leaves.iter().map(Leaf::now).collect()
    }

    fn settle(&self) {
        if self.deadlines.iter().all(|watch| watch.failure().is_none()) {
            self.leaves.iter().for_each(Leaf::settle);
        }
    }

    fn seal(&self) -> Result<(), Error> {
        if self.seals.is_empty() || self.deadlines.iter().any(|watch| watch.failure().is_some()) {
            return Ok(());
        }
        self.settle();
        for (seal, below) in &self.seals {
            let leaves: Vec<LeafFacts> = self.leaves[below.clone()].iter().map(Leaf::now).collect();
            seal.seal(&leaves).map_err(|error| error.at(messages::TAKING_DOWN_DEVICE))?;
        }
        Ok(())
    }

    /// The arrays, those below before those above.
    #[must_use]
    pub fn running(&self) -> &[RunningArray] {
        &self.running
    }

    /// Ends them in order: members are flushed, then called clean. The stack may not be used any
    /// more.
    ///
    /// # Errors
    /// The first that could not be ended; the others are all the same.
    pub fn end(&mut self) -> Result<(), Error> {
        if self.running.is_empty() {
            return self.end_with(None);
        }
        self.end_with(Some(&Reactor::wall()?))
    }

    /// The same on a reactor that nothing else is under way on: that of the virtual clock, on which
    /// the stack was used.
    ///
    /// # Errors
    /// As [`Arrays::end`].
    pub fn end_on(&mut self, reactor: &Reactor) -> Result<(), Error> {
        self.end_with(Some(reactor))
    }

    fn end_with(&mut self, reactor: Option<&Reactor>) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_ended, true) {
            return Ok(());
        }
        if let Some(reactor) = reactor {
            let ends = self.running.iter().rev().map(|running| {
                running.stop(reactor).map_err(|error| error.at(&running.assembly().name))
            });
            ends.collect::<Vec<_>>().into_iter().collect::<Result<(), Error>>()?;
        }
        self.seal()
    }
}

impl Drop for Arrays {
    fn drop(&mut self) {
        // An array that could not be called clean is started as a dirty one: nothing is lost.
        if !self.is_ended && !self.is_on_other {
            let _ = self.end();
        }
    }
}

impl std::fmt::Debug for Arrays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.running.iter().map(|running| running.describe().to_string()))
            .finish()
    }
}

fn invalid(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// Starts the array that the members make up by their superblocks; `None` is a place that is said
/// to be missing. With it comes what is to be said about members.
///
/// # Errors
/// One line that names the member and the field in which superblocks and text, or superblocks among
/// themselves, differ.
pub(crate) fn run(
    said: &StatedArray<'_>,
    members: &[Option<Arc<dyn Device>>],
    reactor: &Reactor,
) -> Result<(RunningArray, Vec<Text>), Error> {
    let devices: Vec<&Arc<dyn Device>> = members.iter().flatten().collect();
    let read_only = said.read_only || devices.iter().any(|device| device.info().read_only);
    // Where others reach a member, nothing that is found counts before it is sure that none has
    // the array.
    let is_shared = !read_only && is_shared(members);
    let freedom = is_shared.then(|| watch(&devices, reactor)).transpose()?;
    let (mut candidates, mut devices, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        places.push(member.as_ref().map(|_| candidates.len()));
        if let Some(device) = member {
            candidates.push(candidate(said, device, reactor)?);
            devices.push(Some(Arc::clone(device)));
        }
    }
    let raid0_layout = match said.layout {
        Some("original") => Some(Raid0Layout::Original),
        Some("alternate") => Some(Raid0Layout::Alternate),
        _ => None,
    };
    let assembly = assemble(&candidates, AssembleOptions { raid0_layout }).map_err(invalid)?;
    let stale = seated_stale(&assembly, &candidates, &places);
    agree(said, &assembly, &candidates, &places, &stale)?;
    // It tells processes apart, and nothing that is computed depends on it.
    #[expect(clippy::disallowed_methods, reason = "an identity is not to come again")]
    let server = freedom.map_or(0, |_| Random::new().u32(..));
    #[allow(clippy::needless_update, reason = "tests compile it with the mistakes to be planted")]
    let options = StartOptions {
        read_only,
        force: said.force,
        time: said.time,
        server,
        freedom,
        ..StartOptions::default()
    };
    let running = start(&assembly, &devices, &options, reactor)
        .map_err(|error| with_stale(error, &assembly, &stale))?;
    running.claim(reactor)?;
    let mut notes = running.assembly().notes.clone();
    if !read_only && assembly.level.is_redundant() {
        for &spare in &assembly.spares {
            let device = devices[spare].as_ref().expect("each candidate has its device");
            let kept = running.keep_spare(device, reactor);
            if let Err(error) = kept.and_then(|spare| running.control().add(spare)) {
                notes.push(statement!(messages::SPARE_LEFT_OUT, why = error));
            }
        }
    }
    for stale in &stale {
        if let Some(lease) = devices[stale.candidate].as_ref().and_then(|device| device.lease()) {
            lease.end(messages::IS_STALE_AND_OUT);
        }
        notes.push(stale.note(&assembly));
    }
    Ok((running, notes))
}

/// What the superblock of a member says, which has to be there and of the version that the text
/// says.
fn candidate(
    said: &StatedArray<'_>,
    device: &Arc<dyn Device>,
    reactor: &Reactor,
) -> Result<Candidate, Error> {
    let name = device.describe().to_string();
    let versions = Version::ALL_TEXT;
    let none =
        || invalid(statement!(messages::NO_SUPERBLOCK_ON_IT, name = &name, versions = versions));
    let Some(candidate) = examine(&**device, &name, reactor)? else {
        let damage = damage(&**device, reactor).map_err(|error| error.at(&name))?;
        let damaged = |(version, problem): (Version, array::md::Problem)| {
            let text = statement!(
                messages::SUPERBLOCK_IS_DAMAGED,
                name = &name,
                version = version.to_string(),
                problem = &problem
            );
            Error::new(ErrorKind::Corrupt, text)
        };
        return Err(damage.into_iter().next().map_or_else(none, damaged));
    };
    if candidate.version.to_string() != said.metadata {
        let text = statement!(
            messages::OTHER_SUPERBLOCK_VERSION,
            name = name,
            own = candidate.version.to_string(),
            said = said.metadata
        );
        return Err(invalid(text));
    }
    Ok(candidate)
}

/// A stale member that the text has in its own place. It is left out, and nothing is written to it.
#[derive(Clone, Copy)]
struct SeatedStale {
    candidate: usize,
    /// Writing the bitmap's dirty regions would bring it up to date.
    by_bitmap: bool,
}

impl SeatedStale {
    fn why(&self, assembly: &Assembly) -> Text {
        let left_out =
            assembly.left_out.iter().find(|left_out| left_out.candidate == self.candidate);
        let stale = || messages::MEMBER_IS_STALE.into();
        left_out.map_or_else(stale, |left_out| left_out.reason.clone())
    }

    fn note(&self, assembly: &Assembly) -> Text {
        let said = match self.by_bitmap {
            true => messages::STALE_BY_BITMAP,
            false => messages::STALE_ANEW,
        };
        statement!(said, why = self.why(assembly))
    }
}

/// A refusal to start comes after the stale members that the text names: force is no way out where
/// it should have named the device that has the place now.
fn with_stale(error: Error, assembly: &Assembly, stale: &[SeatedStale]) -> Error {
    if error.kind() != ErrorKind::Refused || stale.is_empty() {
        return error;
    }
    let stale = Text::joined(stale.iter().map(|stale| stale.why(assembly)), "; ");
    let refusal = error.text();
    error.retold(statement!(messages::STALE_IS_NAMED, stale = stale, refusal = refusal))
}

/// Stale members that the text has in their own places. One that was in use without the others has
/// writes that they have not, and is for the user to decide about.
fn seated_stale(
    assembly: &Assembly,
    candidates: &[Candidate],
    places: &[Option<usize>],
) -> Vec<SeatedStale> {
    let stale = assembly.slots.iter().enumerate().filter_map(|(place, slot)| match *slot {
        Slot::Stale { candidate, by_bitmap } => Some((place, SeatedStale { candidate, by_bitmap })),
        _ => None,
    });
    let knows_the_others = |candidate: usize| {
        let roles = &candidates[candidate].superblock.roles;
        (0_u16..)
            .zip(&assembly.slots)
            .all(|(place, slot)| slot.present().is_none() || roles.contains(&Role::Active(place)))
    };
    stale
        .filter(|(place, stale)| {
            places.get(*place) == Some(&Some(stale.candidate)) && knows_the_others(stale.candidate)
        })
        .map(|(_, stale)| stale)
        .collect()
}

/// Whether text and superblocks say the same. Those in `stale` are left out without more words.
fn agree(
    said: &StatedArray<'_>,
    assembly: &Assembly,
    candidates: &[Candidate],
    places: &[Option<usize>],
    stale: &[SeatedStale],
) -> Result<(), Error> {
    let newest = &candidates[assembly.newest].name;
    let differ = |field: &str, found: &str, text: &str| {
        Err(invalid(statement!(
            messages::TEXT_SAYS,
            newest = newest,
            field = field,
            found = found,
            text = text
        )))
    };
    if assembly.level.to_string() != said.level {
        return differ("level", &assembly.level.to_string(), said.level);
    }
    if let Startability::Refused(reasons) = &assembly.start {
        return Err(Error::new(ErrorKind::Refused, Text::joined(reasons, "; ")));
    }
    let chunk_bytes = u64::from(assembly.chunk_sectors) * SECTOR_BYTES;
    if let Some(chunk) = said.chunk_bytes.filter(|chunk| *chunk != chunk_bytes) {
        return differ(
            "chunksize",
            &size_text(chunk_bytes),
            &format!("chunk={}", size_text(chunk)),
        );
    }
    if let Some(layout) = said.layout.filter(|layout| *layout != assembly.layout.to_string()) {
        return differ("layout", &assembly.layout.to_string(), &format!("layout={layout}"));
    }
    let is_stale = |candidate: usize| stale.iter().any(|stale| stale.candidate == candidate);
    if let Some(left_out) = assembly.left_out.iter().find(|left_out| !is_stale(left_out.candidate))
    {
        return Err(Error::new(
            ErrorKind::Refused,
            statement!(messages::WRITE_MISSING, why = &left_out.reason),
        ));
    }
    let waits = |candidate: &usize| {
        assembly.spares.contains(candidate) || assembly.journals.contains(candidate)
    };
    // A member that came back shortly before a crash is a spare in its own place.
    let is_seated = places.len() == assembly.slots.len();
    let named: Vec<Option<usize>> = (places.iter().copied())
        .filter(|place| is_seated || !place.as_ref().is_some_and(waits))
        .collect();
    if named.len() != assembly.slots.len() {
        let text = statement!(
            messages::PLACES_NAMED,
            newest = newest,
            places = assembly.slots.len(),
            named = named.len()
        );
        return Err(invalid(text));
    }
    for (place, candidate) in named.iter().enumerate() {
        let Some(candidate) =
            candidate.as_ref().filter(|&candidate| !is_stale(*candidate) && !waits(candidate))
        else {
            continue;
        };
        let role = assembly.slots.iter().position(|slot| candidate_of(slot) == Some(*candidate));
        if role != Some(place) {
            return Err(in_wrong_place(place, &candidates[*candidate], assembly, candidates));
        }
    }
    Ok(())
}

fn in_wrong_place(
    place: usize,
    member: &Candidate,
    assembly: &Assembly,
    candidates: &[Candidate],
) -> Error {
    let name = |slot: &Slot| match candidate_of(slot) {
        Some(index) => Text::from(&candidates[index].name),
        None => messages::PLACE_MISSING.into(),
    };
    let order = Text::joined(assembly.slots.iter().map(name), ", ");
    invalid(statement!(
        messages::STANDS_IN_PLACE,
        name = &member.name,
        role = member.superblock.role(),
        place = place,
        order = order
    ))
}

fn candidate_of(slot: &Slot) -> Option<usize> {
    match slot {
        Slot::Present(used) | Slot::Recovering { used, .. } => Some(used.candidate),
        Slot::Stale { .. } | Slot::Missing => None,
    }
}

/// What says that a device is a member of an array, so that using it whole would write over that.
pub(crate) enum Mark {
    /// An md superblock, and what it says, in words.
    Md(Version, Text),
    /// An md superblock that is damaged.
    Damaged(Version),
    /// What the firmware of a RAID controller or mainboard wrote, and its format.
    Firmware(&'static str),
}

impl Mark {
    /// What to say of `member`, which carries it, where the text does not say how it is to be used.
    pub(crate) fn refusal(&self, member: &str) -> Text {
        let whole = messages::WHOLE_MEMBERS;
        match self {
            Mark::Md(version, array) => statement!(
                messages::CARRIES_SUPERBLOCK,
                member = member,
                array = array,
                version = version.to_string(),
                whole = whole
            ),
            Mark::Damaged(version) => statement!(
                messages::CARRIES_DAMAGED,
                member = member,
                version = version.to_string(),
                whole = whole
            ),
            Mark::Firmware(format) => {
                statement!(messages::FIRMWARE_RAID, member = member, format = format)
            }
        }
    }
}

/// What marks a file as a member, if anything does.
pub(crate) fn mark(mut file: &File) -> Option<Mark> {
    let size_bytes = file.seek(SeekFrom::End(0)).ok()?;
    mark_in(size_bytes, |offset, bytes| file.read_exact_at(bytes, offset).ok())
}

/// The same of a device that is no file here, on a clock of its own.
pub(crate) fn mark_of(device: &dyn Device) -> Result<Option<Mark>, Error> {
    let mut channel = Blocking::beside(device)?;
    let read = |offset: u64, bytes: &mut [u8]| channel.read_bytes(offset, bytes).ok();
    Ok(mark_in(device.info().size_bytes, read))
}

fn mark_in(size_bytes: u64, mut read: impl FnMut(u64, &mut [u8]) -> Option<()>) -> Option<Mark> {
    let md = Version::ALL.into_iter().find_map(|version| {
        let sector = version.offset_sectors(size_bytes / SECTOR_BYTES)?;
        let mut bytes = vec![0; 4096];
        read(sector * SECTOR_BYTES, &mut bytes)?;
        let Ok(superblock) = Superblock::decode_as(version, &bytes, size_bytes / SECTOR_BYTES)
        else {
            let damage = Superblock::damage(&bytes).filter(|_| version != Version::V0_90);
            return damage.map(|_| Mark::Damaged(version));
        };
        // Elsewhere than it says it is, it is another device's.
        if superblock.super_offset_sectors != sector {
            return None;
        }
        if superblock.checksum_verdict() != ChecksumVerdict::Correct {
            return Some(Mark::Damaged(version));
        }
        let array = statement!(
            messages::ROLE_OF_ARRAY,
            role = superblock.role(),
            array = superblock.name(),
            uuid = uuid_text(&superblock.set_uuid)
        );
        Some(Mark::Md(version, array))
    });
    md.or_else(|| firmware_in(size_bytes, read))
}

/// DDF's anchor is in the last sector, or before 128 KiB of a controller's own; Intel's metadata in
/// the last sector but one. A sector is 512 bytes or 4 KiB.
fn firmware_in(
    size_bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> Option<()>,
) -> Option<Mark> {
    const DDF: [u8; 4] = [0xde, 0x11, 0xde, 0x11];
    const INTEL: &[u8] = b"Intel Raid ISM Cfg Sig. ";
    let mut begins = |from_end: u64, magic: &[u8]| {
        let mut bytes = vec![0; magic.len()];
        let offset = size_bytes.checked_sub(from_end)?;
        read(offset, &mut bytes)?;
        (bytes == magic).then_some(())
    };
    let ddf = [512, 4096, 257 * 512].map(|from_end| (from_end, &DDF[..], "DDF"));
    let intel = [2 * 512, 2 * 4096].map(|from_end| (from_end, INTEL, "Intel"));
    ddf.into_iter()
        .chain(intel)
        .find_map(|(from_end, magic, format)| begins(from_end, magic).map(|()| format))
        .map(Mark::Firmware)
}

/// The text of the stack that an assembly is started by; places whose member is not used are
/// `missing`. `leaf` makes the leaf of a candidate.
#[must_use]
pub fn tree_of(assembly: &Assembly, version: Version, leaf: impl Fn(usize) -> Node) -> Node {
    let places = assembly.slots.iter().map(|slot| candidate_of(slot).map_or(Node::Missing, &leaf));
    let waiting =
        assembly.spares.iter().chain(&assembly.journals).map(|candidate| leaf(*candidate));
    Node::layer(&assembly.level.to_string(), places.chain(waiting).collect())
        .with("metadata", version)
}
