//! A channel of our own for superblocks, indexes and samples: whoever opens a device has no reactor yet.

use block::{Blocking, Device, Error, ErrorKind, Reactor};

/// A channel on a clock of its own: the virtual one, or the real one for a device that needs the kernel.
pub(crate) fn open_beside(device: &dyn Device) -> Result<Blocking, Error> {
    match Blocking::open(device, &Reactor::virtual_clock()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let reactor = Reactor::wall().map_err(|error| Error::from_io("an io_uring for the metadata", error))?;
            Blocking::open(device, &reactor)
        }
        opened => opened,
    }
}
