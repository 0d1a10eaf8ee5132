//! The array as a device: its making, with what it refuses, and what it says about itself.

use std::sync::Arc;

use block::{Channel, Device, Error, ErrorKind, Info, Node};
use reactor::{Clock, Reactor};

use crate::execute::ArrayChannel;
use crate::geometry::{Linear, Raid0, Raid0Layout};
use crate::health::{Health, MEMBERS_MAX};
use crate::rows::{Rows, Waiter};
use crate::{Level, LinearLevel, MemberSet, Raid0Level};

/// What all channels of an array share.
pub(crate) struct Shared<L> {
    pub(crate) level: L,
    pub(crate) info: Info,
    pub(crate) members: Vec<Member>,
    pub(crate) health: Health,
    pub(crate) rows: Rows,
}

/// A place in an array.
pub(crate) struct Member {
    /// `None`: the place is empty, and was so from the start.
    device: Option<Arc<dyn Device>>,
    /// How messages call it.
    pub(crate) name: String,
}

/// Several devices that answer as one.
pub struct ArrayDevice<L: Level>(Arc<Shared<L>>);

impl ArrayDevice<LinearLevel> {
    /// Members one behind the other.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member, too many, or one that is smaller than a block.
    pub fn linear(members: Vec<Arc<dyn Device>>) -> Result<Self, Error> {
        let block_bytes = block_bytes(&members)?;
        let sizes = sizes(&members);
        check_total(&sizes)?;
        for (number, member) in members.iter().enumerate() {
            if member.info().size_bytes < block_bytes {
                let text = format!("{} has {}, less than one block of {}", name(number, member), text_of(member), bytes_text(block_bytes));
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        let level = LinearLevel::new(Linear::new(&sizes, block_bytes));
        Self::assemble(level, members.into_iter().map(Some).collect())
    }
}

impl ArrayDevice<Raid0Level> {
    /// Chunks dealt out to the members in turn. A member that is longer than others goes on alone or with the other long
    /// ones, as `layout` says.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member or too many, and for a chunk that is 0, no multiple of the largest block size
    /// among the members, 4 GiB or more, or larger than a member.
    pub fn raid0(members: Vec<Arc<dyn Device>>, chunk_bytes: u64, layout: Raid0Layout) -> Result<Self, Error> {
        let block_bytes = block_bytes(&members)?;
        let sizes = sizes(&members);
        check_total(&sizes)?;
        let chunk = size_text(chunk_bytes);
        let refuse = |text: String| Err(Error::new(ErrorKind::Invalid, text));
        if chunk_bytes == 0 {
            return refuse(format!("chunk=0: a chunk holds at least one block of {} (64KiB is a usual size)", bytes_text(block_bytes)));
        }
        if !chunk_bytes.is_multiple_of(block_bytes) {
            return refuse(format!("chunk={chunk}: not a multiple of the block size, {}", bytes_text(block_bytes)));
        }
        if chunk_bytes > u64::from(u32::MAX) {
            return refuse(format!("chunk={chunk}: a chunk must be smaller than 4GiB"));
        }
        for (number, member) in members.iter().enumerate() {
            if member.info().size_bytes < chunk_bytes {
                return refuse(format!("chunk={chunk}: larger than {}, which has {}", name(number, member), text_of(member)));
            }
        }
        let level = Raid0Level::new(Raid0::new(&sizes, chunk_bytes, layout), layout, members.len());
        Self::assemble(level, members.into_iter().map(Some).collect())
    }
}

impl<L: Level> ArrayDevice<L> {
    /// An array of any level; `None` is a member that is not there.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no member at all, or more than 256 places.
    pub fn assemble(level: L, members: Vec<Option<Arc<dyn Device>>>) -> Result<Self, Error> {
        let present: Vec<Arc<dyn Device>> = members.iter().flatten().map(Arc::clone).collect();
        let block_bytes = block_bytes(&present)?;
        if members.len() > MEMBERS_MAX {
            let text = format!("{} members; an array has at most {MEMBERS_MAX}", members.len());
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let mut info = combine(&present, block_bytes, level.size_bytes());
        level.refine(&mut info);
        let mut absent = MemberSet::EMPTY;
        let members = members.into_iter().enumerate().map(|(number, device)| {
            let name = device.as_ref().map_or_else(|| format!("member {number} (missing)"), |device| name(number, device));
            if device.is_none() {
                absent.insert(number);
            }
            Member { device, name }
        });
        let members = members.collect();
        Ok(ArrayDevice(Arc::new(Shared { level, info, members, health: Health::with_failed(absent), rows: Rows::default() })))
    }

    /// The members that are not there or have failed since.
    #[must_use]
    pub fn failed_members(&self) -> MemberSet {
        self.0.health.failed()
    }
}

impl<L: Level> Device for ArrayDevice<L> {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn describe(&self) -> Node {
        let members = self.0.members.iter().map(|member| member.device.as_ref().map_or(Node::Missing, |device| device.describe()));
        let node = Node::layer(self.0.level.name(), members.collect());
        self.0.level.options().into_iter().fold(node, |node, (option, setting)| node.with(&option, setting))
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let shared = &self.0;
        // Each request of ours may need this many commands on one member at the same time, and never more.
        let commands = shared.level.pieces_at_once().saturating_mul(shared.level.commands_per_member());
        let member_depth = depth.saturating_mul(commands);
        let members = shared.members.iter().map(|member| match &member.device {
            Some(device) => {
                let channel = device.open(member_depth, reactor).map_err(|error| error.at(&member.name))?;
                Ok((channel, device.info().max_request_bytes))
            }
            None => Ok((Box::new(Absent::default()) as Box<dyn Channel>, u32::MAX)),
        });
        let members: Result<Vec<_>, Error> = members.collect();
        let ringer = match reactor.clock() {
            Clock::Wall if L::LOCKS_ROWS => {
                Some(reactor.ringer().map_err(|error| Error::from_io("a bell for the row locks of the array", error))?)
            }
            _ => None,
        };
        Ok(Box::new(ArrayChannel::new(Arc::clone(shared), members?, Waiter::new(ringer), reactor)))
    }
}

/// The channel of a member that is not there. Plans leave it out, so nothing should come here.
#[derive(Default)]
struct Absent {
    requests: Vec<block::Request>,
}

impl Channel for Absent {
    fn submit(&mut self, request: block::Request) {
        self.requests.push(request);
    }

    fn poll(&mut self, done: &mut Vec<block::Completion>) {
        let gone = || Err(Error::new(ErrorKind::Gone, "the member is not there"));
        done.extend(self.requests.drain(..).map(|request| request.complete(gone())));
    }

    fn in_flight(&self) -> u32 {
        self.requests.len() as u32
    }
}

/// The largest block among the members: the array's.
fn block_bytes(members: &[Arc<dyn Device>]) -> Result<u64, Error> {
    let largest = members.iter().map(|member| member.info().block_bytes).max();
    largest.map(u64::from).ok_or_else(|| Error::new(ErrorKind::Invalid, "an array without a member: name at least one"))
}

fn sizes(members: &[Arc<dyn Device>]) -> Vec<u64> {
    members.iter().map(|member| member.info().size_bytes).collect()
}

fn check_total(sizes: &[u64]) -> Result<(), Error> {
    match sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size)) {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorKind::Invalid, "the members together have more than 2^64 bytes")),
    }
}

fn name(number: usize, member: &Arc<dyn Device>) -> String {
    format!("member {number} ({})", member.describe())
}

fn text_of(member: &Arc<dyn Device>) -> String {
    bytes_text(member.info().size_bytes)
}

/// An array can do what its weakest member can. Its block is the largest: where others have smaller ones, a crash may leave
/// half of a block of the array, as on any array of such disks.
fn combine(members: &[Arc<dyn Device>], block_bytes: u64, size_bytes: u64) -> Info {
    let block = u32::try_from(block_bytes).expect("the largest of 32-bit numbers");
    let mut infos = members.iter().map(|member| member.info());
    let mut info = infos.next().expect("at least one member").clone();
    for other in infos {
        info.optimal_bytes = info.optimal_bytes.max(other.optimal_bytes);
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

/// A size as stack text has it: in the largest binary unit that divides it.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.into_iter().find(|&(unit, _)| bytes >= unit && bytes.is_multiple_of(unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}
