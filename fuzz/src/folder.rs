//! Files for what reads paths and not bytes.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder with files in memory, where the machine has such a place; it goes with this. What an
/// input broke stays there.
pub struct Folder {
    path: PathBuf,
    files: Vec<PathBuf>,
}

impl Folder {
    /// One with these files in it, in this order.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn with(contents: &[Vec<u8>]) -> Folder {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        // The same name in each run of a process: a text that names a file is no news.
        let path = above.join(format!("raidloom-fuzz-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        let write = |(number, bytes): (usize, &Vec<u8>)| {
            let file = path.join(format!("d{number}"));
            fs::write(&file, bytes).expect("a file");
            file
        };
        let files = contents.iter().enumerate().map(write).collect();
        Folder { path, files }
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether there are these files with these bytes in it, and nothing else.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn holds(&self, contents: &[Vec<u8>]) -> bool {
        let count = fs::read_dir(&self.path).expect("a folder").count();
        let is_same =
            |(file, bytes): (&PathBuf, &Vec<u8>)| fs::read(file).is_ok_and(|found| found == *bytes);
        count == contents.len() && self.files.iter().zip(contents).all(is_same)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
