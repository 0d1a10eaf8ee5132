//! How long the arrays of a stack take to be whole again, on the virtual clock.

use std::sync::Arc;
use std::time::Duration;

use array::MemberState;
use block::{Device, Error};
use reactor::derive_seed;

use crate::catalogue;
use crate::open::OpenStack;
use crate::upkeep::PolledUpkeep;

impl OpenStack {
    /// Puts a new device into each empty slot of its arrays with metadata, to be rebuilt there.
    /// `device` makes one. Before anything uses the stack, on the virtual clock.
    ///
    /// # Errors
    /// Those of `device`, and of an array that does not take what it makes.
    pub fn fill_slots(
        &self,
        seed: u64,
        device: &mut dyn FnMut() -> Result<Arc<dyn Device>, Error>,
    ) -> Result<(), Error> {
        let Some(reactor) = &self.reactor else { return Ok(()) };
        let mut number = 0;
        for running in self.arrays.running() {
            let members = running.control().snapshot().members;
            let is_empty = |(_, state): &(usize, &MemberState)| **state == MemberState::Missing;
            for (slot, _) in members.iter().enumerate().filter(is_empty) {
                number += 1;
                let uuid = u128::from(derive_seed(seed, "uuid", 1 + number)).to_be_bytes();
                running.add_to_slot(slot, &device()?, uuid, reactor)?;
            }
        }
        Ok(())
    }

    /// Lets its arrays with metadata bring their members up to date with nothing else to do,
    /// until nothing is under way or due. How long that has taken on the virtual clock from its
    /// beginning on, the opening of the stack included; nothing where it takes longer than
    /// `most`, or there is no such array.
    ///
    /// # Errors
    /// What members say to being opened, and the reactor.
    pub fn until_whole(&self, most: Duration) -> Result<Option<Duration>, Error> {
        let (Some(reactor), false) = (&self.reactor, self.arrays.running().is_empty()) else {
            return Ok(None);
        };
        let mut upkeep = PolledUpkeep::open(self.arrays.running(), &self.caches, reactor)?;
        let end = reactor.now() + most;
        loop {
            upkeep.poll();
            if upkeep.is_idle() {
                return Ok(Some(Duration::from_nanos(reactor.now().nanoseconds())));
            }
            if reactor.now() >= end {
                return Ok(None);
            }
            reactor
                .wait(Some(end))
                .map_err(|error| Error::from_io(catalogue::CLOCK_OF_DISKS, error))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use block::Reactor;
    use mdtools::NewArraySettings;
    use stack::Models;

    use super::*;
    use crate::open::OpenOptions;

    const DRIVE: &str = "model:st340015a?data=keep&size=16MiB";
    const HOUR: Duration = Duration::from_secs(3600);

    fn opened(level: &str) -> OpenStack {
        let settings = NewArraySettings {
            name: "test".to_owned(),
            consistency: "resync".to_owned(),
            bitmap_chunk_bytes: None,
        };
        let (reactor, models) = (Reactor::virtual_clock(), Models::default());
        let options = OpenOptions {
            files: &stack::NoFiles,
            seed: 1,
            read_only: false,
            create_bytes: None,
            member_time: None,
            upkeep: true,
            new_array: Some(&settings),
            reactor: Some(&reactor),
            models: Some(&models),
        };
        let text = format!("{level}, {DRIVE}, {DRIVE}, {DRIVE})");
        OpenStack::open(&stack::parse(&text).unwrap(), &options).unwrap()
    }

    fn another() -> Result<Arc<dyn Device>, Error> {
        let context = stack::BuildContext { seed: 2, ..stack::BuildContext::new(&stack::NoFiles) };
        Ok(stack::parse_and_build(DRIVE, &context)?.device)
    }

    /// Writing 16 MiB takes this drive 0.4 s at least: it moves less than 40 MB/s.
    #[test]
    fn a_drive_that_is_missing_is_rebuilt_as_fast_as_drives_are() {
        for level in ["raid1(metadata=1.2", "raid5(metadata=1.2, chunk=64KiB"] {
            let stack = opened(level);
            let whole = stack.until_whole(HOUR).unwrap().unwrap();
            stack.degrade(false, 1).unwrap();
            assert!(stack.until_whole(HOUR).unwrap().unwrap() >= whole, "it lacks one, and waits");
            let begin = stack.until_whole(HOUR).unwrap().unwrap();
            stack.fill_slots(1, &mut another).unwrap();
            assert_eq!(stack.until_whole(Duration::from_millis(1)).unwrap(), None, "not so soon");
            let end = stack.until_whole(HOUR).unwrap().unwrap();
            let took = (end - begin).as_secs_f64();
            assert!((0.4..5.0).contains(&took), "{level}: {took} s");
        }
        assert_eq!(opened("raid0(chunk=64KiB").until_whole(HOUR).unwrap(), None);
    }
}
