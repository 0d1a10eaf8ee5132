//! Superblocks that are written to several members: to all or to none.

use std::io;

use block::{Blocking, Device};
use host::Error;
use host::guard::refuse_in_use;
use reactor::Reactor;
use words::{Message, Text, statement};

use super::MemberSource;
use super::source::Region;
use crate::catalogue;

/// Bytes and where they go to.
pub(crate) type Image = Vec<(u64, Vec<u8>)>;

/// What is written to one member.
pub(crate) struct Overwrite<'a> {
    pub(crate) source: &'a MemberSource,
    pub(crate) region: &'a Region,
    pub(crate) image: Image,
}

/// Writes all of it, durably, unless a server has the array of a member of another machine. What
/// was there is read before, and comes back where something cannot
/// be written: on a full disk, past a limit of the file size, on a device with a bad place.
///
/// # Errors
/// What could not be read, written or put back; `doing` says what for.
pub(crate) fn overwrite(writes: &[Overwrite<'_>], doing: Message) -> Result<(), Error> {
    let failed = |write: &Overwrite<'_>, error: &io::Error| {
        Error::from_io(Text::from(doing).at(write.source.to_string()), error)
    };
    let held = |write: &Overwrite<'_>| -> io::Result<Image> {
        let read = |(offset, new): &(u64, Vec<u8>)| {
            let mut old = vec![0; new.len()];
            write.region.read_exact_at(&mut old, *offset).map(|()| (*offset, old))
        };
        write.image.iter().map(read).collect()
    };
    refuse_in_use(writes.iter().filter_map(|write| write.region.remote()))?;
    let before = writes
        .iter()
        .map(|write| held(write).map_err(|error| failed(write, &error)))
        .collect::<Result<Vec<_>, _>>()?;
    for (number, write) in writes.iter().enumerate() {
        if let Err(error) = put(write.region, &write.image) {
            let mut error = failed(write, &error);
            for (write, old) in writes.iter().zip(&before).take(number + 1) {
                if let Err(problem) = put(write.region, old) {
                    error = error.and_then_some(statement!(
                        catalogue::NOT_PUT_BACK,
                        source = write.source,
                        problem = block::io_text(&problem)
                    ));
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

fn put(region: &Region, image: &Image) -> io::Result<()> {
    image.iter().try_for_each(|(offset, bytes)| region.write_all_at(bytes, *offset))?;
    region.sync_all()
}

/// Writes it to a device that is open already, durably.
pub(crate) fn write_to(
    device: &dyn Device,
    image: &Image,
    reactor: &Reactor,
) -> Result<(), block::Error> {
    let mut channel = Blocking::open(device, reactor)?;
    image.iter().try_for_each(|(offset, bytes)| channel.write_slice(*offset, bytes))?;
    channel.flush()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use host::guard::MemberBytes;

    use super::*;

    #[test]
    fn where_one_member_cannot_be_written_all_are_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
        paths.iter().for_each(|path| std::fs::write(path, [7; 16384]).expect("written"));
        let sources: Vec<MemberSource> =
            paths.iter().map(|path| MemberSource::from(path.clone()).part(4096, None)).collect();
        let write = |writable: [bool; 3]| {
            let regions: Vec<Region> = (sources.iter().zip(writable))
                .map(|(source, writable)| {
                    let mut options = File::options();
                    let path = source.path().expect("a path");
                    let file = options.read(true).write(writable).open(path).expect("opened");
                    source.region(MemberBytes::File(file)).expect("long enough")
                })
                .collect();
            let writes: Vec<Overwrite<'_>> = (sources.iter().zip(&regions))
                .map(|(source, region)| Overwrite {
                    source,
                    region,
                    image: vec![(0, vec![1; 512]), (4096, vec![2; 4096])],
                })
                .collect();
            overwrite(&writes, crate::catalogue::WRITING_SUPERBLOCK)
                .map_err(|error| error.to_string())
        };
        let error = write([true, true, false]).expect_err("one is read-only");
        assert!(error.contains("writing its superblock"), "{error}");
        for path in &paths {
            assert!(std::fs::read(path).expect("read") == [7; 16384], "{}", path.display());
        }
        assert_eq!(write([true; 3]), Ok(()));
        let written = std::fs::read(&paths[2]).expect("read");
        assert_eq!((&written[4095..4097], written[4607]), (&[7, 1][..], 1));
        assert_eq!((written[8191], written[8192]), (7, 2));
    }
}
