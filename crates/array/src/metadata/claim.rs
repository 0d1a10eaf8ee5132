//! Starting where other hosts reach a member: waiting until it is sure that no other server has the
//! array, and claiming it ([`crate::fence`]).

use std::sync::Arc;
use std::time::Duration;

use block::{Device, Error, ErrorKind, Reactor};
use reactor::since_boot;
use words::statement;

use super::examine::examine;
use crate::catalogue;
use crate::fence::{FenceReading, Freedom, Stamp, TERMS, Watch};

/// How long a claim may take beyond what it waits for: members answer in this time.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(60);

/// Whether other hosts reach one of these.
#[must_use]
pub fn is_shared(devices: &[Option<Arc<dyn Device>>]) -> bool {
    devices.iter().flatten().any(|device| device.lease().is_some())
}

/// Looks at the superblocks of whole devices until it is sure that no server keeps them alive,
/// which takes five seconds where one may. A device without a superblock is free. Nothing
/// else may be under way on the reactor.
///
/// # Errors
/// [`ErrorKind::Busy`] for one that is in use; what kept a superblock from being read.
pub fn watch(devices: &[&Arc<dyn Device>], reactor: &Reactor) -> Result<Freedom, Error> {
    let mut watch = Watch::new(TERMS);
    loop {
        let (started, mut stamps) = (since_boot(), Vec::new());
        for device in devices {
            let found = examine(&***device, &device.describe().to_string(), reactor)?;
            let superblock = found.map(|candidate| candidate.superblock);
            stamps.push(Stamp::of(superblock.as_ref()));
        }
        match watch.looked(started, stamps) {
            FenceReading::Free(freedom) => return Ok(freedom),
            FenceReading::InUse(index) => {
                let text = statement!(
                    catalogue::ANOTHER_SERVER,
                    device = devices[index].describe().to_string()
                );
                return Err(Error::new(ErrorKind::Busy, text));
            }
            FenceReading::Again => pause(reactor, TERMS.keep_alive)?,
        }
    }
}

/// How long an array that was not ended in order is looked at before it is started, and how long it
/// then takes until data are sent, where nothing is on its way for longer than `in_flight`.
#[must_use]
pub fn takeover_time(in_flight: Duration) -> Duration {
    TERMS.watch + TERMS.settle(in_flight)
}

fn pause(reactor: &Reactor, time: Duration) -> Result<(), Error> {
    let until = reactor.now() + time;
    while reactor.now() < until {
        reactor.wait(Some(until)).map_err(|error| Error::from_io("waiting", error))?;
    }
    Ok(())
}
