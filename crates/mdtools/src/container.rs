//! New containers of LUKS2, which take all of a device.

use block::{Device, ErrorKind, Info, Node, size_text};
use luks::{ContainerFormat, DATA_OFFSET_BYTES, Passphrase, PassphraseCost};
use reactor::{Random, Reactor};
use words::statement;

use crate::catalogue;
use crate::node_from;
use crate::overwrite::write_to;

/// Of a stack what a new container leaves for data, which nothing has to be opened for.
#[must_use]
pub fn after_container_header(below: Node) -> Node {
    node_from(below, DATA_OFFSET_BYTES)
}

/// What is in a container on such a device, in bytes.
///
/// # Errors
/// That nothing is.
pub(crate) fn data_bytes(below: &Info) -> Result<u64, block::Error> {
    let rest = below.size_bytes.checked_sub(DATA_OFFSET_BYTES).filter(|bytes| *bytes > 0);
    rest.ok_or_else(|| {
        let size = size_text(below.size_bytes);
        let own = size_text(DATA_OFFSET_BYTES);
        let text = statement!(catalogue::NO_ROOM_FOR_CONTAINER, size = size, own = own);
        block::Error::new(ErrorKind::Invalid, text)
    })
}

/// The first bytes of a container on such a device, in whole blocks of it. `random` fills a slice
/// with bytes that cannot be guessed.
///
/// # Errors
/// A device that is too small, a passphrase that is none; what `random` says.
pub(crate) fn header(
    below: &Info,
    passphrase: &Passphrase,
    (cost, uuid): (PassphraseCost, [u8; 16]),
    random: &mut dyn FnMut(&mut [u8]) -> Result<(), block::Error>,
) -> Result<Vec<u8>, block::Error> {
    data_bytes(below)?;
    let format = ContainerFormat {
        sector_bytes: below.block_bytes.min(4096),
        cost,
        data_offset_bytes: DATA_OFFSET_BYTES,
        uuid,
    };
    let mut header = format.header(passphrase, random)?;
    header.resize(header.len().next_multiple_of(below.block_bytes as usize), 0);
    Ok(header)
}

/// Makes a container on a drive that stands for another. All that is random in it follows from the
/// seed, and it keeps nothing secret.
///
/// A guess of its passphrase costs the least that the format has: it is opened once for each state
/// of a pull test, hundreds of times, and what a guess costs is nothing that a power cut shows.
///
/// # Errors
/// A cost out of bounds, an empty passphrase, and what kept the header from being written.
pub fn make_stand_in_container(
    device: &dyn Device,
    passphrase: &[u8],
    seed: u64,
    reactor: &Reactor,
) -> Result<(), block::Error> {
    let mut random = Random::with_seed(seed);
    let made = (PassphraseCost::LEAST, uuid(&mut random));
    let mut fill = |bytes: &mut [u8]| {
        random.fill(bytes);
        Ok(())
    };
    let passphrase = Passphrase::new(passphrase.to_vec());
    let header = header(device.info(), &passphrase, made, &mut fill)?;
    write_to(device, &vec![(0, header)], reactor)
}

/// A number that no other has.
pub(crate) fn uuid(random: &mut Random) -> [u8; 16] {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes
}
