//! Writing to a file by storing into memory that it is mapped to.
//!
//! All of the `unsafe` that this needs is in this file: a mapping lives within one function, and no
//! pointer to it leaves that.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::{copy_nonoverlapping, null_mut};

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};

/// Stores bytes into memory that a file is mapped to, shared, at an offset that is a multiple of a
/// page. With `sync` it waits until they are durable (`msync`, `MS_SYNC`); without, the kernel
/// writes them when it likes. The file is open for reading and writing, and may not be shortened
/// meanwhile: the kernel ends a process that stores behind the end of a file.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] where the file ends before the bytes do; what the system says to
/// the mapping and to `msync`.
pub fn write_mapped(file: &File, offset: u64, bytes: &[u8], sync: bool) -> io::Result<()> {
    let end = offset.saturating_add(bytes.len() as u64);
    if bytes.is_empty() || file.metadata()?.len() < end {
        let text = "what is stored into a mapping lies within the file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses where, so nothing that is in use is replaced.
    let memory = unsafe { mmap(null_mut(), bytes.len(), access, MapFlags::SHARED, file, offset) }?;
    // SAFETY: the mapping has as many bytes as are copied, the file holds all of them, and nothing
    // else in this process knows where it is.
    unsafe { copy_nonoverlapping(bytes.as_ptr(), memory.cast(), bytes.len()) };
    let synced = match sync {
        // SAFETY: that very mapping.
        true => unsafe { msync(memory, bytes.len(), MsyncFlags::SYNC) },
        false => Ok(()),
    };
    // SAFETY: that very mapping, which nothing uses any more.
    let unmapped = unsafe { munmap(memory, bytes.len()) };
    synced?;
    Ok(unmapped?)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file_and_nothing_behind_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [1; 3 * 4096]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        write_mapped(&file, 4096, &[7; 4096], true).unwrap();
        write_mapped(&file, 8192, &[9; 10], false).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes[4095], bytes[4096], bytes[8191], bytes.len()), (1, 7, 7, 3 * 4096));
        assert_eq!(
            (&bytes[8192..8203], bytes[8203]),
            (&[[9; 10].as_slice(), &[1]].concat()[..], 1)
        );
        for (offset, length) in [(8192, 4097), (12288, 1), (!4095, 4096), (0, 0)] {
            let error = write_mapped(&file, offset, &vec![0; length], true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{offset}");
        }
        assert!(write_mapped(&file, 1, &[0], true).is_err(), "within a page");
    }
}
