//! What all channels of an array share, and whatever else acts on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Error, ErrorKind, Info};
use words::{Message, Text};

use crate::catalogue;
use crate::health::Health;
use crate::level::{Level, LevelTraits};
use crate::md::Version;
use crate::member::{Member, MemberSet};
use crate::metadata::{ArrayState, FailedDevice, Metadata, MetadataUpdate};
use crate::rows::Rows;

/// Whether the host has requests, over all channels, each of which counts once for as long as it
/// has any: how many do in the lower half, and in the upper one how often one has begun to.
#[derive(Debug, Default)]
pub(crate) struct HostLoad(AtomicU64);

impl HostLoad {
    /// A channel has its first request.
    #[inline]
    pub(crate) fn begin(&self) {
        self.0.fetch_add((1 << 32) + 1, Ordering::Relaxed);
    }

    /// A channel has no more.
    #[inline]
    pub(crate) fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are requests now, or have been since `seen`, which is what is seen now.
    pub(crate) fn is_there(&self, seen: &mut u32) -> bool {
        let load = self.0.load(Ordering::Relaxed);
        let (begun, now) = ((load >> 32) as u32, load as u32);
        now > 0 || std::mem::replace(seen, begun) != begun
    }
}

/// An array.
pub(crate) struct ArrayCore {
    pub(crate) level: Box<dyn Level>,
    /// The level's, at hand for every request.
    pub(crate) traits: LevelTraits,
    pub(crate) info: Info,
    /// The members' states.
    pub(crate) health: Health,
    pub(crate) rows: Rows,
    /// What the host asks for.
    pub(crate) host: HostLoad,
    /// md's metadata, where members carry it and it is kept up to date.
    pub(crate) metadata: Option<Metadata>,
    /// Its version.
    pub(crate) metadata_version: Option<Version>,
}

impl ArrayCore {
    /// An array without a channel yet.
    pub(crate) fn new(
        level: Box<dyn Level>,
        info: Info,
        health: Health,
        metadata: Option<Metadata>,
        metadata_version: Option<Version>,
    ) -> ArrayCore {
        let shared = ArrayCore {
            traits: level.traits(),
            level,
            info,
            health,
            rows: Rows::default(),
            host: HostLoad::default(),
            metadata,
            metadata_version,
        };
        shared.drop_needless_resync();
        shared
    }

    /// Makes a member faulty that failed. False when it stays, for it has the last copy of
    /// something. `member` is whose fault it was, if that is known.
    pub(crate) fn drop_member(
        &self,
        slot: usize,
        member: Option<&Arc<Member>>,
        error: &Error,
    ) -> bool {
        let is_gone = error.kind() == ErrorKind::Gone;
        let may_go = |after: &MemberSet| {
            !self.traits.keeps_last_copy || is_gone || self.level.holds_all(after).is_ok()
        };
        self.fail_member(slot, member, Some(error.text()), may_go)
    }

    /// Makes a member faulty unless data would be lost by it; whether it is now.
    pub(crate) fn fail_on_request(&self, slot: usize, cause: Option<Text>) -> bool {
        self.fail_member(slot, None, cause, |missing| {
            self.traits.is_redundant && self.level.holds_all(missing).is_ok()
        })
    }

    /// As [`Health::fail`], with what follows from it.
    pub(crate) fn fail_member(
        &self,
        slot: usize,
        member: Option<&Arc<Member>>,
        cause: Option<Text>,
        may_go: impl FnOnce(&MemberSet) -> bool,
    ) -> bool {
        let is_out = self.health.fail(slot, member, cause, may_go);
        if is_out {
            self.drop_needless_resync();
        }
        is_out
    }

    /// Where so many members are out that parity is all there is of them, there is nothing to hold
    /// it against: it is right by definition, as in md. A member that is being rebuilt may have got
    /// some of it, and is compared when it has all. Some chunks may have two copies as long as any
    /// two members are left, and none has where one is: what takes the others' places gets all that
    /// it has.
    fn drop_needless_resync(&self) {
        if self.health.resync_ranges().is_empty() {
            return;
        }
        let membership = self.health.membership();
        let (absent, count) = (membership.absent, membership.members.len());
        let is_spared = |member: usize| {
            let mut missing = absent;
            missing.insert(member) && self.level.holds_all(&missing).is_ok()
        };
        let has_nothing_to_compare = match self.traits.has_copies {
            true => absent.count() as usize + 1 == count,
            false => absent.count() > 0 && !(0..count).any(is_spared),
        };
        if has_nothing_to_compare && membership.recovering.count() == 0 {
            self.health.forget_resync();
        }
    }

    /// Notes that a member is gone where the array does not go on without it.
    pub(crate) fn note_gone(&self, slot: usize, error: &Error) {
        if !self.traits.is_redundant && error.kind() == ErrorKind::Gone {
            self.health.note_gone(slot, error.text());
        }
    }
}

/// What passes between the array and its metadata.
impl ArrayCore {
    /// The metadata; a gate or a writer is made only where there are some.
    pub(crate) fn metadata(&self) -> &Metadata {
        self.metadata.as_ref().expect("a gate or a writer is made only where there are metadata")
    }

    /// What is so now. What is lost is asked for after the snapshot was taken: what a rebuild has
    /// passed is among that.
    pub(crate) fn state(&self) -> ArrayState {
        let snapshot = self.health.snapshot();
        let missing = snapshot.absent().union(&snapshot.recovering());
        let members = self.health.membership().members;
        let device = |member: &Option<Arc<Member>>| member.as_ref().map(|it| it.whole_device());
        ArrayState {
            holds_all: self.level.holds_all(&missing),
            devices: members.iter().map(device).collect(),
            lost: (0..members.len()).map(|slot| self.health.lost(slot)).collect(),
            snapshot,
        }
    }

    /// Does without the members whose devices failed while their metadata were read or written, as
    /// far as that can be.
    pub(crate) fn fail_devices(
        &self,
        failures: Vec<(usize, Error)>,
        doing: Message,
    ) -> Vec<FailedDevice> {
        let fail = |(device, error): (usize, Error)| {
            let error = error.at(doing);
            let slot = self.metadata().role_of(device);
            let is_needed = slot.is_some_and(|slot| !self.drop_member(slot, None, &error));
            FailedDevice { device, error, is_needed }
        };
        failures.into_iter().map(fail).collect()
    }

    /// An update of the metadata has ended, and failed on these devices. True when other channels
    /// were woken.
    pub(crate) fn end_update(&self, update: MetadataUpdate, failures: Vec<(usize, Error)>) -> bool {
        let failed = self.fail_devices(failures, catalogue::WRITING_METADATA);
        self.metadata().end(update, failed)
    }
}
