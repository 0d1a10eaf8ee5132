//! `fault(option=value, DEVICE)`: a layer that breaks what is below it, by seed.
//!
//! ```text
//!  requests -> dice: error, delay, stuck, gone -> [ write cache, lost at a crash ] -> below
//!                                                        | flush, FUA
//!                                                        +------------------------> below, then flush below
//! ```
//!
//! With `volatile=yes` it is a drive with a volatile write cache: writes complete in the cache and
//! reach the device below when they are flushed, or written with FUA. A crash
//! ([`FaultControl::crash`]) leaves below, for each block by itself, any one of the versions from
//! the last durable one on, and never tears a block. Two dishonest drives are there for tests that
//! must fail: `lie=flush` answers flushes and does nothing, `shorn=yes` tears blocks at a crash.
//!
//! Four mishaps go unreported, as those of a bad cable, controller or firmware do: `read_flip` and
//! `write_flip` change one bit on the way, `write_lost` acknowledges a write that never arrives,
//! `write_misdirected` sends it to another place. Only comparing data finds them; they are
//! there to show that a check does.
//!
//! The cache is as large as what was written since the last flush; write-zeroes and discard are not
//! offered above it ([`block::Emulated`] makes the former from writes).

mod channel;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use block::{
    Blocking, Channel, Device, DiscardSupport, Error, ErrorKind, Info, Lease, Node, Reactor,
    Support, TracedChannel, duration_text, size_text,
};
use words::{Text, statement};

use channel::FaultChannel;
use state::{FaultState, Power};

use crate::messages;

/// What goes wrong. The default is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultOptions {
    /// Where the dice start.
    pub seed: u64,
    /// Probability that a read fails, 0 to 1.
    pub read_error: f64,
    /// Probability that a write, write-zeroes or discard fails, 0 to 1; nothing of it is written.
    pub write_error: f64,
    /// Probability that a flush fails, 0 to 1. From then on every flush does.
    pub flush_error: f64,
    /// Probability that a read brings one bit changed, 0 to 1; what is stored stays right.
    pub read_flip: f64,
    /// Probability that a write arrives with one bit changed, 0 to 1.
    pub write_flip: f64,
    /// Probability that a write or write-zeroes is acknowledged and never arrives, 0 to 1.
    pub write_lost: f64,
    /// Probability that a write or write-zeroes arrives at another place of the device, 0 to 1.
    pub write_misdirected: f64,
    /// Ranges where every read fails until the blocks are written.
    pub bad: Vec<BadRange>,
    /// Time added to a request that the dice choose.
    pub delay: Duration,
    /// Probability that a request is delayed, 0 to 1.
    pub delay_probability: f64,
    /// After so many requests it takes more, and never answers them.
    pub stuck_after: Option<u64>,
    /// After so many requests it is gone.
    pub vanish_after: Option<u64>,
    /// A write cache that a crash empties.
    pub volatile: bool,
    /// Flushes are answered and not carried out.
    pub lying_flush: bool,
    /// A crash tears blocks.
    pub shorn: bool,
}

impl Default for FaultOptions {
    fn default() -> FaultOptions {
        FaultOptions {
            seed: 0,
            read_error: 0.0,
            write_error: 0.0,
            flush_error: 0.0,
            read_flip: 0.0,
            write_flip: 0.0,
            write_lost: 0.0,
            write_misdirected: 0.0,
            bad: Vec::new(),
            delay: Duration::ZERO,
            delay_probability: 1.0,
            stuck_after: None,
            vanish_after: None,
            volatile: false,
            lying_flush: false,
            shorn: false,
        }
    }
}

/// A range of bytes that cannot be read; every block it touches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRange {
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub length: u64,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Requests submitted.
    pub requests: u64,
    /// Reads that failed, by the dice or a bad range.
    pub read_errors: u64,
    /// Writes that failed.
    pub write_errors: u64,
    /// Flushes that failed.
    pub flush_errors: u64,
    /// Reads that brought a changed bit.
    pub flipped_reads: u64,
    /// Writes that arrived with a changed bit.
    pub flipped_writes: u64,
    /// Writes that were acknowledged and not carried out.
    pub lost_writes: u64,
    /// Writes that went to another place.
    pub misdirected_writes: u64,
    /// Requests that were delayed.
    pub delayed: u64,
    /// Requests that were taken and never carried out.
    pub stuck: u64,
    /// Requests answered with [`ErrorKind::Gone`].
    pub gone: u64,
}

/// How a crash chooses what survives of the writes that were not durable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CrashPolicy {
    /// Nothing.
    KeepNone,
    /// Everything, in its newest version.
    KeepAll,
    /// For each block with this probability (0 to 1) one of its versions, each as likely as the
    /// others.
    Random(f64),
}

/// What a crash did to the blocks that were not durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashReport {
    /// Blocks with at least one version that was not durable.
    pub volatile_blocks: u64,
    /// Of these, blocks that hold their newest version.
    pub newest_blocks: u64,
    /// Of these, blocks that hold an older version which was not durable either.
    pub older_blocks: u64,
    /// Of these, blocks that a flush was just writing below, and which hold what it wrote.
    pub landing_blocks: u64,
    /// Of these, blocks that hold what was durable.
    pub lost_blocks: u64,
    /// Blocks torn inside, against the rules (`shorn=yes`); they count above as well.
    pub shorn_blocks: u64,
}

/// The layer.
pub struct FaultDevice {
    shared: Arc<Shared>,
}

struct Shared {
    below: Arc<dyn Device>,
    info: Info,
    options: FaultOptions,
    state: Mutex<FaultState>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What pulls the plug of a [`FaultDevice`], for tests and safety figures.
#[derive(Clone)]
pub struct FaultControl {
    shared: Arc<Shared>,
}

impl FaultDevice {
    /// Puts faults on top of `below`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a probability outside 0 to 1 or a bad range outside the device.
    pub fn new(below: Arc<dyn Device>, options: FaultOptions) -> Result<FaultDevice, Error> {
        let invalid = |text: Text| Err(Error::new(ErrorKind::Invalid, text.at("fault")));
        let probabilities = [
            ("read_error", options.read_error),
            ("write_error", options.write_error),
            ("flush_error", options.flush_error),
            ("read_flip", options.read_flip),
            ("write_flip", options.write_flip),
            ("write_lost", options.write_lost),
            ("write_misdirected", options.write_misdirected),
            ("delay_probability", options.delay_probability),
        ];
        for (name, probability) in probabilities {
            if !(0.0..=1.0).contains(&probability) {
                return invalid(statement!(
                    messages::NO_PROBABILITY,
                    name = name,
                    probability = probability
                ));
            }
        }
        let mut info = below.info().clone();
        for bad in &options.bad {
            if bad.length == 0
                || bad.offset.checked_add(bad.length).is_none_or(|end| end > info.size_bytes)
            {
                return invalid(statement!(
                    messages::NO_BAD_RANGE,
                    offset = bad.offset,
                    length = bad.length,
                    size = info.size_bytes
                ));
            }
        }
        if options.volatile {
            info.volatile_cache = true;
            info.fua = Support::Native;
            info.zeroes = Support::None;
            info.discard = DiscardSupport::None;
        }
        let state = Mutex::new(FaultState::new(&info, &options));
        Ok(FaultDevice { shared: Arc::new(Shared { below, info, options, state }) })
    }

    /// What pulls its plug.
    #[must_use]
    pub fn control(&self) -> FaultControl {
        FaultControl { shared: Arc::clone(&self.shared) }
    }
}

/// The text of a setting that is not as it is where nothing is said.
fn unlike<T: Copy + PartialEq + ToString>(value: T, plain: T) -> Option<String> {
    (value != plain).then(|| value.to_string())
}

impl Device for FaultDevice {
    fn info(&self) -> &Info {
        &self.shared.info
    }

    fn describe(&self) -> Node {
        let options = &self.shared.options;
        let plain = FaultOptions::default();
        let bad: Vec<String> = options
            .bad
            .iter()
            .map(|bad| format!("{}+{}", size_text(bad.offset), size_text(bad.length)))
            .collect();
        let delay = options.delay != plain.delay;
        let word = |is_so: bool, word: &str| is_so.then(|| word.to_owned());
        let settings = [
            ("seed", unlike(options.seed, plain.seed)),
            ("read_error", unlike(options.read_error, plain.read_error)),
            ("write_error", unlike(options.write_error, plain.write_error)),
            ("flush_error", unlike(options.flush_error, plain.flush_error)),
            ("read_flip", unlike(options.read_flip, plain.read_flip)),
            ("write_flip", unlike(options.write_flip, plain.write_flip)),
            ("write_lost", unlike(options.write_lost, plain.write_lost)),
            ("write_misdirected", unlike(options.write_misdirected, plain.write_misdirected)),
            ("bad", word(!bad.is_empty(), &bad.join(";"))),
            ("delay", delay.then(|| duration_text(options.delay))),
            ("delay_probability", unlike(options.delay_probability, plain.delay_probability)),
            ("stuck_after", options.stuck_after.map(|requests| requests.to_string())),
            ("vanish_after", options.vanish_after.map(|requests| requests.to_string())),
            ("volatile", word(options.volatile, "yes")),
            ("lie", word(options.lying_flush, "flush")),
            ("shorn", word(options.shorn, "yes")),
        ];
        let said = settings.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let node = Node::layer("fault", vec![self.shared.below.describe()]);
        said.fold(node, |node, (name, text)| node.with(name, text))
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        self.shared.state().power.check().map_err(|error| error.at("fault"))?;
        let below = self.shared.below.open(depth, reactor)?;
        let channel = FaultChannel::new(&self.shared, below, reactor);
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn lease(&self) -> Option<&Lease> {
        self.shared.below.lease()
    }
}

impl FaultControl {
    /// From now on everything is answered with [`ErrorKind::Gone`], also what is in flight. Nothing
    /// that had completed is lost: a cable was pulled, the power stayed.
    pub fn vanish(&self) {
        let mut state = self.shared.state();
        if state.power == Power::On {
            state.power = Power::Vanished;
        }
        state.ring();
    }

    /// Undoes [`FaultControl::vanish`], `vanish_after` and `stuck_after`; channels go on working.
    pub fn come_back(&self) {
        let mut state = self.shared.state();
        if state.power == Power::Vanished {
            state.power = Power::On;
        }
        state.stuck = false;
        state.ring();
    }

    /// Cuts the power. Every request, also what is in flight, is answered with [`ErrorKind::Gone`]
    /// until [`FaultControl::power_on`], and on the channels of before for good. What is below then
    /// holds, for each block by itself, any one of its versions from the last durable one on,
    /// chosen by `policy` and `seed`.
    ///
    /// # Errors
    /// When what survives cannot be written below.
    pub fn crash(&self, policy: CrashPolicy, seed: u64) -> Result<CrashReport, Error> {
        let shared = &self.shared;
        let mut state = shared.state();
        let volatile = state.cut_power();
        let mut below = Blocking::beside(&*shared.below)?;
        let report = volatile.settle(policy, seed, shared.options.shorn, &mut below)?;
        below.flush()?;
        Ok(report)
    }

    /// Restores the power after a crash; the device has to be opened again.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] while writes of before the crash are still under way below, where they
    /// could land later. Poll their channels until nothing is in flight.
    pub fn power_on(&self) -> Result<(), Error> {
        let mut state = self.shared.state();
        if state.changes_below > 0 {
            let text = statement!(messages::WRITES_UNDER_WAY, count = state.changes_below);
            return Err(Error::new(ErrorKind::Busy, text));
        }
        state.power = Power::On;
        state.flush_failed = false;
        state.stuck = false;
        Ok(())
    }

    /// Lets the request with this number fail, counted from 0 since the device was made, whatever
    /// it asks for.
    pub fn fail_request(&self, number: u64) {
        self.shared.state().failing.insert(number);
    }

    /// Makes a range unreadable until it is written.
    ///
    /// # Panics
    /// When the range is empty or reaches past the end of the device.
    pub fn make_bad(&self, range: BadRange) {
        let end = range.offset.checked_add(range.length);
        assert!(
            range.length > 0 && end.is_some_and(|end| end <= self.shared.info.size_bytes),
            "{range:?} is not in the device"
        );
        self.shared.state().bad.insert(range);
    }

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.shared.state().counts
    }

    /// Blocks with a version that a crash might lose.
    #[must_use]
    pub fn volatile_blocks(&self) -> u64 {
        self.shared.state().cache.blocks()
    }
}
