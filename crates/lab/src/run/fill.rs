//! Member files are written whole before the first visit.
//!
//! A fresh file is allocated and nothing more: the file system answers reads of what was never
//! written without its disk, and a first write costs more than all that follow. Both would speak
//! for whichever configuration comes first.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use reactor::Random;
use rustix::fs::Advice;
use words::statement;

use crate::catalogue;
use host::Error;

const PIECE_BYTES: usize = 1 << 20;
/// What storage that finds equal blocks compares.
const BLOCK_BYTES: usize = 4096;

/// Writes `size_bytes` of data that can be neither compressed nor found equal, and lets the page
/// cache forget them. Ends early when `stop` is set.
///
/// # Errors
/// What the system says, with the path.
pub(super) fn fill(
    file: &File,
    path: &Path,
    size_bytes: u64,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::from_io(statement!(catalogue::FILLING_MEMBER, path = path.display()), &error)
    };
    let mut random = Random::with_seed(seed);
    let mut piece: Vec<u8> =
        (0..PIECE_BYTES / 8).flat_map(|_| random.u64(..).to_le_bytes()).collect();
    for offset in (0..size_bytes).step_by(PIECE_BYTES) {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (block, number) in piece.chunks_mut(BLOCK_BYTES).zip(offset / BLOCK_BYTES as u64..) {
            block[..8].copy_from_slice(&number.to_le_bytes());
        }
        let length = PIECE_BYTES.min(usize::try_from(size_bytes - offset).unwrap_or(PIECE_BYTES));
        file.write_all_at(&piece[..length], offset).map_err(failed)?;
    }
    file.sync_data().map_err(failed)?;
    // Where that is not possible the first visit finds some of it in memory, as it would after any
    // other program.
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_is_filled_to_its_end_and_no_block_is_like_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let size_bytes = (2 << 20) + 12 * 1024;
        file.set_len(size_bytes).unwrap();
        fill(&file, &path, size_bytes, 1, &AtomicBool::new(false)).unwrap();
        let data = file.metadata().unwrap();
        assert_eq!(data.len(), size_bytes);
        assert!(
            data.blocks() * 512 >= size_bytes,
            "a part was left out: {} sectors",
            data.blocks()
        );
        let bytes = std::fs::read(&path).unwrap();
        let blocks: HashSet<&[u8]> = bytes.chunks(BLOCK_BYTES).collect();
        assert_eq!(blocks.len(), bytes.len() / BLOCK_BYTES);
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        let file = File::create_new(&path).unwrap();
        fill(&file, &path, 1 << 40, 1, &AtomicBool::new(true)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}
