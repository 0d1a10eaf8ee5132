//! Looking at the members' own superblocks: whether they are still what this server wrote, which is
//! what its right to write comes from ([`crate::fence`]).

use std::time::Duration;

use block::{
    BufMut, Channel, Completion, Error, ErrorKind, Lease, Op, Request, ReturnedBuffer, SECTOR_BYTES,
};
use reactor::{Reactor, since_boot};
use words::{Text, statement};

use super::state::{Metadata, MetadataState};
use crate::catalogue;
use crate::fence::{Fence, Freedom, Hold, Stamp, TERMS};
use crate::md::{ChecksumVerdict, Superblock, Version};
use crate::member::MemberState;
use crate::shared::ArrayCore;

/// What may be read of a superblock, in bytes.
const SUPERBLOCK_BYTES: usize = 4096;

/// Channels for looks, of which one is under way at most.
#[derive(Default)]
pub(super) struct Looks {
    channels: Vec<Option<Box<dyn Channel>>>,
    look: Option<Look>,
}

/// What a look has found so far.
struct Look {
    started: Duration,
    /// How many updates there had been; `None` while one was under way.
    updates: Option<u64>,
    outstanding: usize,
    /// A device with a superblock of another server.
    foreign: Option<usize>,
    /// One with something that is no superblock.
    unclear: Option<usize>,
    failures: Vec<(usize, Error)>,
}

/// What a look comes to.
enum LookResult {
    /// Another server has the array.
    Lost,
    /// The array is still this server's, as far as devices have answered; these have not.
    Failures(Vec<(usize, Error)>),
}

impl Look {
    /// Books what it has found.
    fn end(self, shared: &ArrayCore) {
        let metadata = shared.metadata();
        let members = shared.health.snapshot().members;
        match metadata.end_look(&members, self) {
            LookResult::Lost => {
                let error = Error::new(ErrorKind::Gone, catalogue::ANOTHER_SERVERS);
                for slot in 0..members.len() {
                    shared.drop_member(slot, None, &error);
                }
            }
            LookResult::Failures(failures) => {
                metadata.drop_devices(shared.fail_devices(failures, catalogue::READING_METADATA));
            }
        }
    }
}

impl Looks {
    pub(super) fn is_busy(&self) -> bool {
        self.look.is_some()
    }

    /// Begins a look if one is due, or in any case with `now`. True when it did.
    pub(super) fn begin(&mut self, shared: &ArrayCore, reactor: &Reactor, now: bool) -> bool {
        if self.look.is_some() {
            return false;
        }
        let metadata = shared.metadata();
        let (asked, updates) = {
            let state = metadata.state();
            let started = since_boot();
            let Some(fence) = &state.fence else { return false };
            if fence.is_lost || !now && started < fence.hold.look_at() {
                return false;
            }
            let members = shared.health.snapshot().members;
            (state.looked_at(&members), Some(state.updates).filter(|_| !state.is_writing))
        };
        let mut look = Look {
            started: since_boot(),
            updates,
            outstanding: 0,
            foreign: None,
            unclear: None,
            failures: Vec::new(),
        };
        for device in asked {
            if self.channels.len() <= device {
                self.channels.resize_with(device + 1, || None);
            }
            let channel = &mut self.channels[device];
            if channel.is_none() {
                match metadata.device(device).open(1, reactor) {
                    Ok(opened) => *channel = Some(opened),
                    Err(error) => {
                        look.failures.push((device, error));
                        continue;
                    }
                }
            }
            let block = metadata.device(device).info().block_bytes as usize;
            let into = BufMut::zeroed(SUPERBLOCK_BYTES.next_multiple_of(block));
            let op = Op::Read { offset: metadata.superblock_offset(device), into };
            channel.as_mut().expect("opened above").submit(Request::new(device as u64, op));
            look.outstanding += 1;
        }
        self.look = Some(look);
        true
    }

    /// Looks at once, and waits for the answers: for writes while none polls a
    /// [`MetadataWriter`]. Nothing else may be under way on the reactor.
    pub(super) fn look_now(shared: &ArrayCore, reactor: &Reactor) -> Result<(), Error> {
        let mut looks = Looks::default();
        if !looks.begin(shared, reactor, true) {
            return Ok(());
        }
        while !looks.poll(shared) {
            reactor
                .wait(None)
                .map_err(|error| Error::from_io(catalogue::WAITING_FOR_MEMBERS, error))?;
        }
        match &shared.metadata().state().broken {
            Some(reason) => Err(Error::new(ErrorKind::Gone, reason.clone())),
            None => Ok(()),
        }
    }

    /// Takes what has come; true when a look has ended.
    pub(super) fn poll(&mut self, shared: &ArrayCore) -> bool {
        let metadata = shared.metadata();
        let mut done = Vec::new();
        self.channels.iter_mut().flatten().for_each(|channel| channel.poll(&mut done));
        for completion in done {
            self.take(completion, metadata);
        }
        match self.look.take_if(|look| look.outstanding == 0) {
            None => false,
            Some(look) => {
                look.end(shared);
                true
            }
        }
    }

    fn take(&mut self, completion: Completion, metadata: &Metadata) {
        let Some(look) = &mut self.look else { return };
        look.outstanding -= 1;
        let device = completion.tag as usize;
        if let Err(error) = completion.result {
            look.failures.push((device, error));
            return;
        }
        let ReturnedBuffer::Read(buffer) = completion.buffer else { return };
        let mut bytes = vec![0; buffer.len()];
        buffer.copy_to_slice(&mut bytes);
        match metadata.is_own(device, &bytes) {
            Some(true) => {}
            Some(false) => look.foreign = Some(device),
            None => look.unclear = Some(device),
        }
    }
}

impl Metadata {
    /// How long what was sent to a member may be on its way to it.
    pub(super) fn in_flight(&self) -> Duration {
        let state = self.state();
        let leases = state.devices.iter().filter_map(|device| device.whole.lease());
        leases.map(Lease::in_flight).max().unwrap_or_default()
    }

    /// Whether a superblock is one that this server wrote.
    pub(super) fn wrote(&self, superblock: &Superblock) -> bool {
        let state = self.state();
        let is_own = |fence: &Fence| fence.hold.server() == superblock.updated.microseconds;
        state.fence.as_ref().is_some_and(is_own)
    }

    /// Until when writes may be sent, where servers are kept apart; since the machine's start.
    pub(super) fn writes_until(&self) -> Option<Duration> {
        self.state().fence.as_ref().map(|fence| fence.hold.until())
    }

    fn superblock_offset(&self, device: usize) -> u64 {
        self.state().record.devices[device].byte_at(0)
    }

    /// Whether a member's superblock is what this server wrote, or before its claim what it found;
    /// `None` where it is no superblock: half of an update, perhaps.
    fn is_own(&self, device: usize, bytes: &[u8]) -> Option<bool> {
        let state = self.state();
        let own = &state.record.devices[device].superblock;
        let sectors = state.devices[device].whole.info().size_bytes / SECTOR_BYTES;
        let version = Version::ALL
            .into_iter()
            .find(|version| version.offset_sectors(sectors) == Some(own.super_offset_sectors))?;
        let found = Superblock::decode_as(version, bytes, sectors).ok()?;
        if found.checksum_verdict() != ChecksumVerdict::Correct {
            return None;
        }
        let Fence { hold, is_releasing, .. } = state.fence.as_ref()?;
        let server = found.updated.microseconds;
        let is_as_found = Stamp::of(Some(&found)) == Stamp::of(Some(own));
        let is_before_claim =
            hold.is_unclaimed() && is_as_found && (server == 0 || !hold.is_from_nobody());
        let is_ours = server == hold.server() || *is_releasing && server == 0 || is_before_claim;
        Some(found.set_uuid == own.set_uuid && is_ours)
    }

    /// What a look comes to, in an array whose members have these states.
    fn end_look(&self, members: &[MemberState], look: Look) -> LookResult {
        let state = &mut *self.state();
        let was_calm = !state.is_writing && look.updates == Some(state.updates);
        // Those that have failed meanwhile are not the array's any more.
        let in_service = state.looked_at(members);
        let counts = |device: &usize| in_service.contains(device);
        let unclear = look.unclear.filter(counts);
        // Nothing of ours was being written, so what is no superblock was made so by others.
        if let Some(device) = look.foreign.filter(counts).or(unclear.filter(|_| was_calm)) {
            state.lose(device);
            return LookResult::Lost;
        }
        let failures: Vec<_> =
            look.failures.into_iter().filter(|(device, _)| counts(device)).collect();
        let is_own = unclear.is_none() && failures.is_empty();
        if let Some(fence) = &mut state.fence {
            fence.hold.looked(look.started, is_own);
            state.limit_leases();
        }
        LookResult::Failures(failures)
    }
}

impl MetadataState {
    /// The devices in service whose superblocks have to be this server's; before a claim those that
    /// are to be claimed.
    fn looked_at(&self, members: &[MemberState]) -> Vec<usize> {
        let Some(Fence { hold, is_releasing, .. }) = &self.fence else { return Vec::new() };
        let is_ours = |device: &usize| {
            let found = &self.record.devices[*device];
            let server = found.superblock.updated.microseconds;
            let is_ours = server == hold.server() || *is_releasing && server == 0;
            !found.is_out && (is_ours || hold.is_unclaimed())
        };
        let serves = |state: &MemberState| {
            matches!(state, MemberState::InSync | MemberState::Recovering { .. })
        };
        let roles = self.record.roles.iter().zip(members).filter(|(_, state)| serves(state));
        roles.filter_map(|(device, _)| *device).filter(is_ours).collect()
    }

    /// Begins to claim members that are free.
    pub(super) fn claim(&mut self, freedom: Freedom, is_forced: bool) {
        let leases = self.devices.iter().filter_map(|device| device.whole.lease());
        let in_flight = leases.map(Lease::in_flight).max().unwrap_or_default();
        let hold = Hold::claim(TERMS, self.server, freedom, in_flight);
        self.fence = Some(Fence::of(hold, is_forced));
        self.limit_leases();
    }

    /// A member came that others reach, to an array that was this machine's alone.
    pub(super) fn share(&mut self) {
        if self.fence.is_none() {
            let hold = Hold::granted(TERMS, self.server, since_boot());
            self.fence = Some(Fence::of(hold, false));
        }
        self.limit_leases();
    }

    /// Whether superblocks are to be written so that others see that the array is in use.
    pub(super) fn is_keep_alive_due(&self) -> bool {
        self.fence.as_ref().is_some_and(|fence| since_boot() >= fence.hold.write_at())
    }

    /// How long until something is due for others to see, or to see of them.
    pub(super) fn fence_wait(&self) -> Option<Duration> {
        let hold = &self.fence.as_ref().filter(|fence| !fence.is_lost)?.hold;
        let write = Some(hold.write_at()).filter(|_| self.broken.is_none() && !self.is_stopped);
        let next = write.map_or(hold.look_at(), |write| write.min(hold.look_at()));
        Some(next.saturating_sub(since_boot()))
    }

    /// How a claim stands: `None` while it is under way, or why it failed.
    pub(super) fn claimed(&self) -> Option<Result<(), Text>> {
        match (&self.fence, &self.broken) {
            (_, Some(reason)) => Some(Err(reason.clone())),
            (None, None) => Some(Ok(())),
            (Some(fence), None) => fence.hold.is_granted().then_some(Ok(())),
        }
    }

    /// Writes are sent as long as the right to them lasts, and no longer.
    pub(super) fn limit_leases(&self) {
        let Some(fence) = &self.fence else { return };
        let leases = self.devices.iter().filter_map(|device| device.whole.lease());
        leases.for_each(|lease| lease.limit(fence.hold.until()));
    }

    /// Another server has the array.
    fn lose(&mut self, device: usize) {
        let name = &self.devices[device].name;
        let reason = statement!(catalogue::ANOTHER_SERVERS_NOW, name = name);
        for lease in self.devices.iter().filter_map(|device| device.whole.lease()) {
            lease.end(&reason);
        }
        if let Some(fence) = &mut self.fence {
            fence.is_lost = true;
        }
        self.broken.get_or_insert(reason);
    }
}
