//! Carries scenarios out on a file system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use reactor::write_mapped;
use rustix::fs::{FallocateFlags, OFlags, XattrFlags, fallocate, setxattr, syncfs};
use rustix::io::Errno;

use super::Operation::*;
use super::tree::{Entry, MORE_BLOCKS, Tree, folder_of, overwritten};
use super::{BASE, Persistence, Scenario, Step};
use crate::content::{BLOCK_BYTES, BlockName, block};

/// The attribute that is set.
pub(super) const ATTRIBUTE: &str = "user.pull";
const BLOCK: u64 = BLOCK_BYTES as u64;

/// Makes what these scenarios start from, durably.
///
/// # Errors
/// What the system says.
pub(crate) fn set_up(scenarios: &[Scenario], folder: &Path) -> io::Result<()> {
    for scenario in scenarios {
        let own = folder.join(scenario.folder());
        fs::create_dir(&own)?;
        for (name, entry) in &Tree::base().names {
            match entry {
                Entry::Folder => fs::create_dir(own.join(name))?,
                Entry::SymbolicLink => symlink(".", own.join(name))?,
                Entry::File(file) => {
                    let length = Tree::base().files[file].blocks.len();
                    let bytes = scenario.content(*file, BASE, 0..length);
                    fs::write(own.join(name), bytes)?;
                }
            }
        }
    }
    let folder = File::open(folder)?;
    syncfs(&folder)?;
    // On FAT that leaves it in the drive's cache, and what scenarios start from is no matter of
    // theirs: `fsync` flushes it.
    match rustix::fs::fstatfs(&folder)?.f_type == FAT {
        true => folder.sync_all(),
        false => Ok(()),
    }
}

/// What `statfs` says of FAT (Linux, `include/uapi/linux/magic.h`: `MSDOS_SUPER_MAGIC`).
const FAT: rustix::fs::FsWord = 0x4d44;

/// Whether the file system does not know what was asked of it.
fn is_unknown(error: &io::Error) -> bool {
    let known = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(
        known,
        Some(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::NODEV)
    )
}

impl Scenario {
    /// What stands in blocks of a file.
    fn content(&self, file: u32, version: u32, blocks: std::ops::Range<usize>) -> Vec<u8> {
        let named = |at| BlockName { file: self.name_of(file), version, block: at as u32 };
        blocks.flat_map(|at| block(self.run, named(at))).collect()
    }

    /// How content names a file of this scenario.
    pub(super) fn name_of(&self, file: u32) -> u32 {
        self.number << 8 | file
    }

    /// Makes a version: carries its operation out and makes it durable. `false` where the file
    /// system does not know the operation, and nothing was promised.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn carry_out(&self, folder: &Path, version: u32) -> io::Result<bool> {
        let Some(step) = self.step(version) else { return Ok(false) };
        let own = folder.join(self.folder());
        let tree = self.tree(version - 1);
        let worked = Carrier { scenario: self, tree: &tree, own: &own, step, version };
        let optional = matches!(
            step.operation,
            OverwriteDirectly
                | OverwriteDirectlyDurably
                | OverwriteMapped
                | AppendReserved
                | Allocate
                | Punch
                | SetAttribute
                | Link
                | SymbolicLink
        );
        match worked.operate() {
            Err(error) if optional && is_unknown(&error) => return Ok(false),
            operated => operated?,
        }
        match step.persistence {
            _ if step.operation == ReplaceUnsynced => (),
            Persistence::Everything => syncfs(File::open(&own)?)?,
            Persistence::Least => worked.sync()?,
        }
        Ok(true)
    }
}

/// A step that is carried out.
struct Carrier<'a> {
    scenario: &'a Scenario,
    tree: &'a Tree,
    own: &'a Path,
    step: &'a Step,
    version: u32,
}

impl Carrier<'_> {
    fn at(&self, name: &str) -> PathBuf {
        self.own.join(name)
    }

    fn length(&self, name: &str) -> usize {
        self.tree.content(name).map_or(0, |content| content.blocks.len())
    }

    fn bytes(&self, name: &str, blocks: std::ops::Range<usize>) -> Vec<u8> {
        let file = self.tree.file(name).unwrap_or_else(|| Tree::new_file(self.version));
        self.scenario.content(file, self.version, blocks)
    }

    fn open(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(flags.bits() as i32).open(self.at(name))
    }

    fn overwrite(&self, flags: OFlags) -> io::Result<()> {
        let name = &self.step.name;
        let place = overwritten(self.length(name));
        let bytes = self.bytes(name, place.clone());
        let mut aligned = vec![0; bytes.len() + BLOCK_BYTES];
        let start = aligned.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        aligned[start..start + bytes.len()].copy_from_slice(&bytes);
        let file = self.open(name, flags)?;
        file.write_all_at(&aligned[start..start + bytes.len()], place.start as u64 * BLOCK)
    }

    /// The same through a mapping, which `msync` makes durable unless everything is.
    fn overwrite_mapped(&self) -> io::Result<()> {
        let Step { name, persistence, .. } = self.step;
        let place = overwritten(self.length(name));
        let bytes = self.bytes(name, place.clone());
        let file = OpenOptions::new().read(true).write(true).open(self.at(name))?;
        let sync = *persistence == Persistence::Least;
        write_mapped(&file, place.start as u64 * BLOCK, &bytes, sync)
    }

    fn append(&self, name: &str) -> io::Result<()> {
        let length = self.length(name);
        let bytes = self.bytes(name, length..length + MORE_BLOCKS);
        self.open(name, OFlags::empty())?.write_all_at(&bytes, length as u64 * BLOCK)
    }

    /// One thread overwrites and syncs while another one writes, and syncs nothing.
    fn beside(&self) -> io::Result<()> {
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| self.append(&self.step.other));
            self.overwrite(OFlags::empty())?;
            self.open(&self.step.name, OFlags::empty())?.sync_data()?;
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn operate(&self) -> io::Result<()> {
        let Step { operation, name, other, .. } = self.step;
        let blocks = self.length(name);
        let length = blocks as u64 * BLOCK;
        let more = MORE_BLOCKS as u64 * BLOCK;
        let open = || self.open(name, OFlags::empty());
        let reserve = |flags, offset, length| -> io::Result<()> {
            Ok(fallocate(open()?, flags, offset, length)?)
        };
        match operation {
            Create => fs::write(self.at(name), self.bytes(name, 0..3)),
            Overwrite => self.overwrite(OFlags::empty()),
            OverwriteDurably => self.overwrite(OFlags::DSYNC),
            OverwriteDirectly => self.overwrite(OFlags::DIRECT),
            OverwriteDirectlyDurably => self.overwrite(OFlags::DIRECT | OFlags::DSYNC),
            Append => self.append(name),
            AppendReserved => {
                reserve(FallocateFlags::KEEP_SIZE, length, more)?;
                self.append(name)
            }
            Shrink => open()?.set_len((blocks / 2) as u64 * BLOCK),
            Grow => open()?.set_len(length + more),
            Allocate => reserve(FallocateFlags::empty(), length, more),
            Punch => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                reserve(flags, (blocks / 2) as u64 * BLOCK, BLOCK)
            }
            SetAttribute => {
                let value = self.version.to_le_bytes();
                Ok(setxattr(self.at(name), ATTRIBUTE, &value, XattrFlags::empty())?)
            }
            Link => fs::hard_link(self.at(name), self.at(other)),
            SymbolicLink => symlink(".", self.at(name)),
            Rename | Move | RenameOver | RenameFolder => fs::rename(self.at(name), self.at(other)),
            MakeFolder => fs::create_dir(self.at(name)),
            RemoveFolder => fs::remove_dir(self.at(name)),
            Unlink => fs::remove_file(self.at(name)),
            Replace | ReplaceUnsynced => {
                let file = File::create(self.at(other))?;
                file.write_all_at(&self.bytes(other, 0..blocks), 0)?;
                if *operation == Replace {
                    file.sync_all()?;
                }
                drop(file);
                fs::rename(self.at(other), self.at(name))
            }
            Beside => self.beside(),
            OverwriteMapped => self.overwrite_mapped(),
        }
    }

    /// Makes it durable with no more than POSIX asks for.
    fn sync(&self) -> io::Result<()> {
        let Step { operation, name, other, .. } = self.step;
        let data = |name: &str| self.open(name, OFlags::empty())?.sync_data();
        let whole = |name: &str| File::open(self.at(name))?.sync_all();
        let folder = |name: &str| File::open(self.at(folder_of(name)))?.sync_all();
        match operation {
            OverwriteDurably | OverwriteDirectlyDurably | OverwriteMapped | ReplaceUnsynced => {
                Ok(())
            }
            Overwrite | OverwriteDirectly | Append | AppendReserved => data(name),
            Shrink | Grow | Allocate | Punch | SetAttribute => whole(name),
            Create | MakeFolder => whole(name).and_then(|()| folder(name)),
            Link => whole(name).and_then(|()| folder(other)),
            Rename | RenameFolder | SymbolicLink | RemoveFolder | Unlink | Replace => folder(name),
            Move | RenameOver => folder(other).and_then(|()| folder(name)),
            Beside => whole(other),
        }
    }
}
