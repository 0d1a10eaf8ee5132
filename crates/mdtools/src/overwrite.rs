//! Superblocks that are written to several members: to all or to none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use host::Error;

/// Bytes and where they go to.
pub(crate) type Image = Vec<(u64, Vec<u8>)>;

/// What is written to one member.
pub(crate) struct Overwrite<'a> {
    pub(crate) path: &'a Path,
    pub(crate) file: &'a File,
    pub(crate) image: Image,
}

/// Writes all of it, durably. What was there is read before, and comes back where something cannot
/// be written: on a full disk, past a limit of the file size, on a device with a bad place.
///
/// # Errors
/// What could not be read, written or put back; `doing` says what for.
pub(crate) fn overwrite(writes: &[Overwrite<'_>], doing: &str) -> Result<(), Error> {
    let failed = |write: &Overwrite<'_>, error: &io::Error| {
        Error::from_io(format_args!("{}: {doing}", write.path.display()), error)
    };
    let held = |write: &Overwrite<'_>| -> io::Result<Image> {
        let read = |(offset, new): &(u64, Vec<u8>)| {
            let mut old = vec![0; new.len()];
            write.file.read_exact_at(&mut old, *offset).map(|()| (*offset, old))
        };
        write.image.iter().map(read).collect()
    };
    let before = writes
        .iter()
        .map(|write| held(write).map_err(|error| failed(write, &error)))
        .collect::<Result<Vec<_>, _>>()?;
    for (number, write) in writes.iter().enumerate() {
        if let Err(error) = put(write.file, &write.image) {
            let mut error = failed(write, &error);
            for (write, old) in writes.iter().zip(&before).take(number + 1) {
                if let Err(problem) = put(write.file, old) {
                    let path = write.path.display();
                    error = error.and_then_some(&format!(
                        "; what {path} held before could not be put back: {problem}"
                    ));
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

fn put(file: &File, image: &Image) -> io::Result<()> {
    image.iter().try_for_each(|(offset, bytes)| file.write_all_at(bytes, *offset))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_one_member_cannot_be_written_all_are_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
        paths.iter().for_each(|path| std::fs::write(path, [7; 8192]).expect("written"));
        let open = |writable: [bool; 3]| {
            [0, 1, 2].map(|number: usize| {
                let mut options = File::options();
                options.read(true).write(writable[number]).open(&paths[number]).expect("opened")
            })
        };
        let write = |files: &[File; 3]| {
            let writes: Vec<Overwrite<'_>> = (files.iter().zip(&paths))
                .map(|(file, path)| Overwrite {
                    path,
                    file,
                    image: vec![(0, vec![1; 512]), (4096, vec![2; 4096])],
                })
                .collect();
            overwrite(&writes, "writing its superblock").map_err(|error| error.to_string())
        };
        let error = write(&open([true, true, false])).expect_err("one is read-only");
        assert!(error.contains("writing its superblock"), "{error}");
        for path in &paths {
            assert!(std::fs::read(path).expect("read") == [7; 8192], "{}", path.display());
        }
        assert_eq!(write(&open([true; 3])), Ok(()));
        assert_eq!(std::fs::read(&paths[2]).expect("read")[511..513], [1, 7]);
    }
}
