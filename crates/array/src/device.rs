//! The array as a device: its making, with what it refuses, and what it says about itself.

use std::sync::Arc;

use block::{
    Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, TracedChannel,
    size_text,
};
use reactor::Reactor;

use crate::catalogue;
use crate::execute::ArrayChannel;
use crate::geometry::{Linear, ParityLayout, Raid0, Raid0Layout, Raid10, Raid10Layout};
use crate::health::Health;
use crate::level::{Faults, Level, LinearLevel, MirrorLevel, ParityLevel, Raid0Level};
use crate::md::Version;
use crate::member::{MEMBERS_MAX, Member, MemberSet, name};
use crate::metadata::Metadata;
use crate::part::{Action, Part};
use crate::plan::{ByteSite, Plan};
use crate::queues::Queues;
use crate::ranges::Ranges;
use crate::shared::ArrayCore;
use crate::sync::Control;
use words::{Text, statement};

/// A member of an array at its start.
pub struct MemberAtStart {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Where on it the array's data begin, in bytes.
    pub data_offset: u64,
    /// What of the member's data it has not got, in bytes: nothing if it is in sync.
    pub unrecovered: Ranges,
    /// What of the member's data is known to be lost, in bytes: its bad blocks. They read as such
    /// until they are written.
    pub lost: Ranges,
}

/// Several devices that answer as one.
pub struct ArrayDevice(Arc<ArrayCore>);

/// Makers of each level.
impl ArrayDevice {
    /// Members one behind the other.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member, too many, or one that is smaller than a block.
    pub fn linear(members: Vec<Arc<dyn Device>>) -> Result<Self, Error> {
        Self::linear_from(members, 0)
    }

    /// The same from `offset_bytes` of the first member on.
    ///
    /// # Errors
    /// As [`ArrayDevice::linear`], and for an offset that is no whole block or leaves nothing of
    /// that member.
    pub fn linear_from(members: Vec<Arc<dyn Device>>, offset_bytes: u64) -> Result<Self, Error> {
        let block_bytes = block_bytes(&members)?;
        let mut sizes = sizes(&members);
        check_total(&sizes)?;
        let is_whole = offset_bytes.is_multiple_of(block_bytes);
        let left = sizes[0].checked_sub(offset_bytes).filter(|_| is_whole);
        let Some(left) = left.filter(|left| offset_bytes == 0 || *left >= block_bytes) else {
            let text = statement!(
                catalogue::OFFSET_LEAVES_NOTHING,
                offset = size_text(offset_bytes),
                name = name(0, &members[0]),
                size = text_of(&members[0]),
                block = bytes_text(block_bytes)
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        };
        sizes[0] = left;
        for (number, member) in members.iter().enumerate() {
            if member.info().size_bytes < block_bytes {
                let text = statement!(
                    catalogue::LESS_THAN_A_BLOCK,
                    name = name(number, member),
                    size = text_of(member),
                    block = bytes_text(block_bytes)
                );
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        let level = LinearLevel::new(Linear::new(&sizes, block_bytes)).with_offset(offset_bytes);
        if offset_bytes == 0 {
            return Self::assemble(level, members.into_iter().map(Some).collect());
        }
        let start = |(number, device): (usize, Arc<dyn Device>)| {
            Some(MemberAtStart {
                device,
                data_offset: if number == 0 { offset_bytes } else { 0 },
                unrecovered: Ranges::none(),
                lost: Ranges::none(),
            })
        };
        Self::resume(level, members.into_iter().enumerate().map(start).collect(), Ranges::none())
    }

    /// Chunks dealt out to the members in turn. A member that is longer than others goes on alone
    /// or with the other long ones, as `layout` says.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member or too many, and for a chunk that is 0, no multiple of
    /// the largest block size among the members, 4 GiB or more, or larger than a member.
    pub fn raid0(
        members: Vec<Arc<dyn Device>>,
        chunk_bytes: u64,
        layout: Raid0Layout,
    ) -> Result<Self, Error> {
        let block_bytes = block_bytes(&members)?;
        let sizes = sizes(&members);
        check_total(&sizes)?;
        let members: Vec<_> = members.into_iter().map(Some).collect();
        check_chunk(chunk_bytes, block_bytes, &members)?;
        let level = Raid0Level::new(Raid0::new(&sizes, chunk_bytes, layout), layout, members.len());
        Self::assemble(level, members)
    }

    /// RAID 1: every member has everything, as far as the smallest reaches. `None` is a member that
    /// is missing. As in md there may be one slot only: a mirror to be.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no slot or more than 255, and when all members are missing.
    pub fn raid1(members: Vec<Option<Arc<dyn Device>>>) -> Result<Self, Error> {
        check_count(&members, 1, MEMBERS_MAX)?;
        let (block_bytes, smallest) = common_bytes(&members)?;
        let member_bytes = smallest - smallest % block_bytes;
        if member_bytes == 0 {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::MEMBER_TOO_SMALL, bytes = bytes_text(block_bytes)),
            ));
        }
        Self::assemble(MirrorLevel::raid1(members.len(), member_bytes), members)
    }

    /// RAID 10: chunks dealt out with their copies. `None` is a member that is missing.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a layout that cannot be had with so many members, for a chunk as
    /// at [`ArrayDevice::raid0`], and when all copies of something are missing.
    pub fn raid10(
        members: Vec<Option<Arc<dyn Device>>>,
        chunk_bytes: u64,
        layout: Raid10Layout,
    ) -> Result<Self, Error> {
        check_count(&members, 2, MEMBERS_MAX)?;
        if let Some(problem) = layout.problem(members.len()) {
            return Err(Error::new(ErrorKind::Invalid, format!("layout={layout}: {problem}")));
        }
        let (block_bytes, smallest) = common_bytes(&members)?;
        check_chunk(chunk_bytes, block_bytes, &members)?;
        let geometry = Raid10::new(members.len(), smallest, chunk_bytes, layout);
        if geometry.size_bytes() == 0 {
            let text = statement!(
                catalogue::FAR_COPIES_ROOM,
                chunk = size_text(chunk_bytes),
                copies = layout.far
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        Self::assemble(MirrorLevel::raid10(geometry), members)
    }

    /// RAID 4: chunks on all members but the last, which holds their parity. `None` is a member
    /// that is missing.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for fewer than two slots, for a chunk as at [`ArrayDevice::raid0`],
    /// and when more than one member is missing.
    pub fn raid4(members: Vec<Option<Arc<dyn Device>>>, chunk_bytes: u64) -> Result<Self, Error> {
        let (count, member_bytes) = check_parity(&members, chunk_bytes, 2)?;
        Self::assemble(ParityLevel::raid4(count, member_bytes, chunk_bytes), members)
    }

    /// RAID 5: chunks with their parity, which moves from member to member. `None` is a member that
    /// is missing.
    ///
    /// # Errors
    /// As [`ArrayDevice::raid4`], and for a layout of RAID 6.
    pub fn raid5(
        members: Vec<Option<Arc<dyn Device>>>,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> Result<Self, Error> {
        let (count, member_bytes) = check_parity(&members, chunk_bytes, 2)?;
        if !ParityLayout::RAID5.contains(&layout) {
            return Err(Error::new(ErrorKind::Invalid, catalogue::LAYOUT_OF_RAID6)
                .at(format!("layout={}", layout.name())));
        }
        Self::assemble(ParityLevel::raid5(count, member_bytes, chunk_bytes, layout), members)
    }

    /// RAID 6: chunks with two kinds of parity. `None` is a member that is missing.
    ///
    /// # Errors
    /// As [`ArrayDevice::raid4`], but it takes four slots, and two members may be missing.
    pub fn raid6(
        members: Vec<Option<Arc<dyn Device>>>,
        chunk_bytes: u64,
        layout: ParityLayout,
    ) -> Result<Self, Error> {
        let (count, member_bytes) = check_parity(&members, chunk_bytes, 4)?;
        Self::assemble(ParityLevel::raid6(count, member_bytes, chunk_bytes, layout), members)
    }
}

impl ArrayDevice {
    /// An array of any level; `None` is a member that is not there.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member at all, more than 255 slots, or too many empty ones.
    pub fn assemble(
        level: impl Level,
        members: Vec<Option<Arc<dyn Device>>>,
    ) -> Result<Self, Error> {
        let present: Vec<Arc<dyn Device>> = members.iter().flatten().map(Arc::clone).collect();
        let block_bytes = block_bytes(&present)?;
        let mut info = combine(&present, block_bytes, level.size_bytes());
        level.refine(&mut info);
        let start = |device: Option<Arc<dyn Device>>| {
            device.map(|device| MemberAtStart {
                device,
                data_offset: 0,
                unrecovered: Ranges::none(),
                lost: Ranges::none(),
            })
        };
        Self::with_info(
            Box::new(level),
            info,
            members.into_iter().map(start).collect(),
            Ranges::none(),
            (None, None),
        )
    }

    /// An array of members that have been members before: some may lack what they missed, and the
    /// whole need a resync, which is in bytes of [`Level::sync_bytes`].
    ///
    /// # Errors
    /// As [`ArrayDevice::assemble`].
    pub fn resume(
        level: impl Level,
        members: Vec<Option<MemberAtStart>>,
        resync: Ranges,
    ) -> Result<Self, Error> {
        let present: Vec<Arc<dyn Device>> =
            members.iter().flatten().map(|start| Arc::clone(&start.device)).collect();
        let mut info = combine(&present, block_bytes(&present)?, level.size_bytes());
        level.refine(&mut info);
        Self::with_info(Box::new(level), info, members, resync, (None, None))
    }

    /// The same for members with superblocks of this version, whose metadata are kept up to date by
    /// `metadata`.
    pub(crate) fn resume_with_metadata(
        level: Box<dyn Level>,
        members: Vec<Option<MemberAtStart>>,
        resync: Ranges,
        metadata: Option<Metadata>,
        read_only: bool,
        metadata_version: Version,
    ) -> Result<Self, Error> {
        let present: Vec<Arc<dyn Device>> =
            members.iter().flatten().map(|start| Arc::clone(&start.device)).collect();
        let mut info = combine(&present, block_bytes(&present)?, level.size_bytes());
        level.refine(&mut info);
        info.read_only |= read_only;
        if metadata.as_ref().is_some_and(|metadata| metadata.log.is_some()) {
            // A discard is never durable by itself, and what is logged has to be.
            info.discard = DiscardSupport::None;
        }
        Self::with_info(level, info, members, resync, (metadata, Some(metadata_version)))
    }

    fn with_info(
        level: Box<dyn Level>,
        info: Info,
        members: Vec<Option<MemberAtStart>>,
        resync: Ranges,
        (metadata, metadata_version): (Option<Metadata>, Option<Version>),
    ) -> Result<Self, Error> {
        if members.len() > MEMBERS_MAX {
            let text = statement!(
                catalogue::TOO_MANY_MEMBERS,
                count = members.len(),
                members_max = MEMBERS_MAX
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let slots = members.into_iter().enumerate().map(|(number, start)| {
            let MemberAtStart { device, data_offset, unrecovered, lost } = start?;
            let name = name(number, &device);
            let member = if unrecovered.is_empty() && lost.is_empty() {
                Member { device, data_offset, name, bad_blocks: None, replacing: None }
            } else {
                Member::with_bad_blocks(name, device, data_offset, &lost)
            };
            Some((Arc::new(member), unrecovered))
        });
        let health = Health::new(slots.collect(), resync);
        let membership = health.membership();
        let missing = membership.absent.union(&membership.recovering);
        level.holds_all(&missing).map_err(|lost| Error::new(ErrorKind::Invalid, lost))?;
        Ok(ArrayDevice(Arc::new(ArrayCore::new(level, info, health, metadata, metadata_version))))
    }

    /// The array, if it keeps its metadata up to date.
    pub(crate) fn with_metadata(&self) -> Option<Arc<ArrayCore>> {
        self.0.metadata.is_some().then(|| Arc::clone(&self.0))
    }

    /// What acts on the array while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::new(&self.0)
    }

    /// The members that are not there or have failed since.
    #[must_use]
    pub fn failed_members(&self) -> MemberSet {
        self.0.health.absent()
    }
}

impl Device for ArrayDevice {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn describe(&self) -> Node {
        let members = self.0.health.membership().members;
        let members = members
            .iter()
            .map(|member| member.as_ref().map_or(Node::Missing, |member| member.device.describe()));
        let node = Node::layer(self.0.level.name(), members.collect());
        let options = self.0.level.options().into_iter().map(|(option, setting)| {
            match (&*option, self.0.metadata_version) {
                ("metadata", Some(version)) => (option, version.to_string()),
                _ => (option, setting),
            }
        });
        options.fold(node, |node, (option, setting)| node.with(&option, setting))
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(TracedChannel::new(
            ArrayChannel::open(&self.0, depth, reactor)?,
            &self.describe(),
        )))
    }

    /// What reads would go to, as it is planned for them, is asked at the members. What would have
    /// to be computed is data, and so is everything while copies may differ: a block must not
    /// change because another copy answers later.
    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let shared = &self.0;
        let membership = shared.health.membership();
        if shared.traits.has_copies && !shared.health.resync_ranges().is_empty() {
            return found.push(length, false);
        }
        let faults = Faults {
            absent: membership.absent,
            recovering: membership.recovering,
            ..Faults::default()
        };
        let queues = Queues::idle(membership.members.len());
        let (before, block, mut plan) =
            (found.length(), u64::from(shared.info.block_bytes), Plan::default());
        while found.length() - before < length && !found.is_full() {
            let done = found.length() - before;
            let left = Part {
                action: Action::Read,
                offset: offset + done,
                length: (length - done).min(EXTENTS_PLAN_BYTES),
            };
            let mut piece = Part { length: shared.level.piece_bytes(left, &faults), ..left };
            let is_read = loop {
                plan.clear();
                let is_planned = shared.level.plan(piece, &faults, &queues, &mut plan).is_ok();
                if is_planned && plan.compute.is_empty() {
                    break true;
                }
                // Others of its chunks may be there.
                let half = piece.length / 2 / block * block;
                if !is_planned
                    || half == 0
                    || shared.level.whole(piece, &MemberSet::EMPTY, &queues).is_some()
                {
                    break false;
                }
                piece.length = half;
            };
            if !is_read {
                found.push(piece.length, false);
                continue;
            }
            plan.read.sort_unstable_by_key(|access| match access.content {
                ByteSite::Host { start } => start,
                ByteSite::Scratch { .. } => u64::MAX,
            });
            let start = found.length();
            for access in &plan.read {
                if found.is_full() {
                    return;
                }
                match (&membership.members[access.member], access.content) {
                    (Some(member), ByteSite::Host { start: place })
                        if place == found.length() - start =>
                    {
                        let until = found.length() + access.length;
                        member.device.extents(
                            member.data_offset + access.offset,
                            access.length,
                            found,
                        );
                        if found.length() < until {
                            return;
                        }
                    }
                    _ => return found.push(piece.length - (found.length() - start), false),
                }
            }
        }
    }
}

/// What is planned at a time to find out what is there, in bytes: a plan names each chunk.
const EXTENTS_PLAN_BYTES: u64 = 16 << 20;

/// The largest block among the members: the array's.
fn block_bytes(members: &[Arc<dyn Device>]) -> Result<u64, Error> {
    let largest = members.iter().map(|member| member.info().block_bytes).max();
    largest
        .map(u64::from)
        .ok_or_else(|| Error::new(ErrorKind::Invalid, catalogue::ARRAY_WITHOUT_MEMBER))
}

fn sizes(members: &[Arc<dyn Device>]) -> Vec<u64> {
    members.iter().map(|member| member.info().size_bytes).collect()
}

fn check_total(sizes: &[u64]) -> Result<(), Error> {
    match sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size)) {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorKind::Invalid, catalogue::MEMBERS_TOO_LARGE)),
    }
}

fn check_count<T>(members: &[T], fewest: usize, most: usize) -> Result<(), Error> {
    if (fewest..=most).contains(&members.len()) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        statement!(
            catalogue::OTHER_MEMBER_COUNT,
            count = members.len(),
            fewest = fewest,
            most = most
        ),
    ))
}

/// The largest block and the smallest size among the members that are there, in bytes.
fn common_bytes(members: &[Option<Arc<dyn Device>>]) -> Result<(u64, u64), Error> {
    let present: Vec<Arc<dyn Device>> = members.iter().flatten().map(Arc::clone).collect();
    Ok((block_bytes(&present)?, sizes(&present).into_iter().min().expect("at least one member")))
}

fn check_chunk(
    chunk_bytes: u64,
    block_bytes: u64,
    members: &[Option<Arc<dyn Device>>],
) -> Result<(), Error> {
    let chunk = size_text(chunk_bytes);
    let refuse = |text: Text| Err(Error::new(ErrorKind::Invalid, text));
    if chunk_bytes == 0 {
        return refuse(statement!(catalogue::CHUNK_ZERO, block = bytes_text(block_bytes)));
    }
    if !chunk_bytes.is_multiple_of(block_bytes) {
        return refuse(statement!(
            catalogue::CHUNK_NO_MULTIPLE,
            chunk = chunk,
            block = bytes_text(block_bytes)
        ));
    }
    if chunk_bytes > u64::from(u32::MAX) {
        return refuse(statement!(catalogue::CHUNK_OVER_4GIB, chunk = chunk));
    }
    for (number, member) in members.iter().enumerate() {
        let Some(member) = member else { continue };
        if member.info().size_bytes < chunk_bytes {
            return refuse(statement!(
                catalogue::CHUNK_LARGER_THAN,
                chunk = chunk,
                name = name(number, member),
                size = text_of(member)
            ));
        }
    }
    Ok(())
}

/// How many slots an array with parity has, and how much of each it uses, in bytes.
fn check_parity(
    members: &[Option<Arc<dyn Device>>],
    chunk_bytes: u64,
    fewest: usize,
) -> Result<(usize, u64), Error> {
    check_count(members, fewest, MEMBERS_MAX)?;
    let (block_bytes, smallest) = common_bytes(members)?;
    check_chunk(chunk_bytes, block_bytes, members)?;
    Ok((members.len(), smallest - smallest % chunk_bytes))
}

fn text_of(member: &Arc<dyn Device>) -> String {
    bytes_text(member.info().size_bytes)
}

/// An array can do what its weakest member can. Its block is the largest: where others have smaller
/// ones, a crash may leave half of a block of the array, as on any array of such disks.
fn combine(members: &[Arc<dyn Device>], block_bytes: u64, size_bytes: u64) -> Info {
    let block = u32::try_from(block_bytes).expect("the largest of 32-bit numbers");
    let mut infos = members.iter().map(|member| member.info());
    let mut info = infos.next().expect("at least one member").clone();
    for other in infos {
        info.optimal_bytes = info.optimal_bytes.max(other.optimal_bytes);
        info.stripe = info.stripe.filter(|stripe| other.stripe == Some(*stripe));
        // A member's part of a request is never longer than the request.
        info.max_request_bytes = info.max_request_bytes.min(other.max_request_bytes);
        info.read_only |= other.read_only;
        info.rotational |= other.rotational;
        info.volatile_cache |= other.volatile_cache;
        info.stores_data &= other.stores_data;
        info.modelled |= other.modelled;
        info.fua = weaker(info.fua, other.fua, |support| support as u8);
        info.zeroes = weaker(info.zeroes, other.zeroes, |support| support as u8);
        info.discard = weaker(info.discard, other.discard, |support| support as u8);
    }
    info.size_bytes = size_bytes;
    info.block_bytes = block;
    info.optimal_bytes = info.optimal_bytes.max(block);
    info.max_request_bytes = (info.max_request_bytes - info.max_request_bytes % block).max(block);
    info
}

/// The one with the lower rank; abilities are declared from the weakest to the strongest.
fn weaker<T: Copy>(one: T, other: T, rank: impl Fn(T) -> u8) -> T {
    if rank(one) <= rank(other) { one } else { other }
}

/// A size as a sentence has it.
fn bytes_text(bytes: u64) -> String {
    let text = size_text(bytes);
    if text.ends_with('B') { text } else { format!("{text} bytes") }
}
