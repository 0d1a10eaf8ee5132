//! What the system tells about a file or block device, and what direct I/O needs there.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use block::{BufMut, Error, ErrorKind, Stripe};
use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxFlags};
use words::{Message, Text, statement};

use crate::messages;

/// What stands behind a path; two paths with equal identities are the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A regular file.
    File {
        /// Device number (major, minor) of its file system.
        file_system: (u32, u32),
        /// Its inode there.
        inode: u64,
    },
    /// A block device.
    BlockDevice {
        /// Its own device number.
        major: u32,
        /// Its own device number.
        minor: u32,
    },
}

/// Facts about an open file.
pub(super) struct Target {
    pub(super) identity: Identity,
    pub(super) size_bytes: u64,
    /// The smallest block that can be addressed whatever the kind of I/O.
    pub(super) logical_bytes: u32,
    pub(super) optimal_bytes: u32,
    /// What the kernel says of an array's stripes.
    pub(super) stripe: Option<Stripe>,
    pub(super) rotational: bool,
    /// Whether the drive itself may lose what it has completed.
    pub(super) drive_cache: bool,
    /// Whether the drive can clear blocks without being sent zeroes.
    pub(super) clears: bool,
    direct_alignment: Option<Alignment>,
}

/// What direct I/O asks for, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// Of offsets and lengths.
    pub(super) offset: u32,
    /// Of addresses in memory.
    pub(super) memory: u32,
}

impl Target {
    pub(super) fn of(file: &File, path: &Path) -> Result<Target, Error> {
        let name = path.display();
        let flags = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
        let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, flags).map_err(|error| {
            Error::from_io(statement!(messages::ASKING_SIZE_AND_KIND, name = &name), error.into())
        })?;
        let direct_alignment =
            StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN).then_some(
                Alignment { offset: stat.stx_dio_offset_align, memory: stat.stx_dio_mem_align },
            );
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => Ok(Target::regular(&stat, direct_alignment)),
            FileType::BlockDevice => Target::block_device(file, path, &stat, direct_alignment),
            FileType::Directory => {
                Err(Error::new(ErrorKind::Invalid, statement!(messages::IS_A_FOLDER, name = name)))
            }
            _ => Err(Error::new(
                ErrorKind::Invalid,
                statement!(messages::NEITHER_FILE_NOR_DEVICE, name = name),
            )),
        }
    }

    fn regular(stat: &Statx, direct_alignment: Option<Alignment>) -> Target {
        let file_system = (stat.stx_dev_major, stat.stx_dev_minor);
        Target {
            identity: Identity::File { file_system, inode: stat.stx_ino },
            size_bytes: stat.stx_size,
            logical_bytes: 512,
            optimal_bytes: stat.stx_blksize,
            stripe: None,
            rotational: queue_number(file_system, "rotational") == Some(1),
            drive_cache: true,
            clears: false,
            direct_alignment,
        }
    }

    fn block_device(
        mut file: &File,
        path: &Path,
        stat: &Statx,
        direct_alignment: Option<Alignment>,
    ) -> Result<Target, Error> {
        let failed = |what: Message, error: io::Error| {
            Error::from_io(
                statement!(messages::ASKING_FOR, path = path.display(), what = what),
                error,
            )
        };
        let number = (stat.stx_rdev_major, stat.stx_rdev_minor);
        let logical_bytes = rustix::fs::ioctl_blksszget(file)
            .map_err(|error| failed(messages::BLOCK_SIZE, error.into()))?;
        let physical = queue_number(number, "physical_block_size");
        let best = queue_number(number, "optimal_io_size").filter(|&bytes| bytes > 0);
        let optimal = best.or(physical);
        // Documentation/ABI/stable/sysfs-block: an array's smallest access without a penalty is a
        // chunk, its best a whole stripe. Other disks have their physical block there.
        let chunk = queue_number(number, "minimum_io_size").filter(|&bytes| Some(bytes) > physical);
        let stripe = chunk.zip(best).filter(|(chunk, best)| best.is_multiple_of(*chunk));
        Ok(Target {
            identity: Identity::BlockDevice { major: number.0, minor: number.1 },
            size_bytes: file
                .seek(SeekFrom::End(0))
                .map_err(|error| failed(messages::SIZE, error))?,
            logical_bytes,
            optimal_bytes: optimal.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(4096),
            stripe: stripe.and_then(|(chunk, best)| Stripe::new(chunk, best / chunk)),
            rotational: queue_number(number, "rotational") == Some(1),
            drive_cache: queue_attribute(number, "write_cache")
                .is_none_or(|mode| mode != "write through"),
            clears: queue_number(number, "write_zeroes_max_bytes").is_some_and(|bytes| bytes > 0),
            direct_alignment: direct_alignment
                .or(Some(Alignment { offset: logical_bytes, memory: logical_bytes })),
        })
    }

    pub(super) fn is_block_device(&self) -> bool {
        matches!(self.identity, Identity::BlockDevice { .. })
    }

    /// Switches the file to direct I/O and tells what that asks for, or why it stays as it was.
    pub(super) fn try_direct(&self, file: &File) -> Result<Alignment, Text> {
        let candidates = match self.direct_alignment {
            Some(Alignment { offset: 0, .. } | Alignment { memory: 0, .. }) => {
                return Err(messages::DIRECT_REFUSED.into());
            }
            Some(alignment) => vec![alignment],
            // Kernels before 6.1 and some file systems do not tell; reading does.
            None => vec![
                Alignment { offset: 512, memory: 512 },
                Alignment { offset: 4096, memory: 4096 },
            ],
        };
        set_direct(file, true).map_err(|error| match error {
            rustix::io::Errno::INVAL => messages::DIRECT_REFUSED.into(),
            other => block::io_text(&other.into()),
        })?;
        let mut refusal: Text = messages::DIRECT_REFUSED.into();
        for alignment in candidates {
            match trial_read(file, alignment) {
                Ok(()) => return Ok(alignment),
                Err(error) => {
                    refusal = statement!(
                        messages::TRIAL_READ,
                        bytes = alignment.offset,
                        error = error.to_string()
                    );
                }
            }
        }
        leave_direct(file);
        Err(refusal)
    }
}

/// Puts a file back to buffered I/O.
pub(super) fn leave_direct(file: &File) {
    // Clearing a flag that was just set has no way to fail, and buffered I/O on a direct file would
    // tell soon enough.
    let _ = set_direct(file, false);
}

fn set_direct(file: &File, direct: bool) -> rustix::io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, direct);
    rustix::fs::fcntl_setfl(file, flags)
}

fn trial_read(file: &File, alignment: Alignment) -> io::Result<()> {
    let mut buffer = BufMut::zeroed(alignment.offset as usize);
    let bytes = buffer.as_mut_slice().expect("a new buffer is one piece");
    rustix::io::pread(file, bytes, 0)?;
    Ok(())
}

/// Spares files of tmpfs the detour over a kernel thread that io_uring takes for each of their
/// operations, since tmpfs does not say that it never waits (its magic number is that of
/// <linux/magic.h>). Non-blocking mode means nothing else to a regular file.
pub(super) fn answer_in_place(file: &File) {
    let is_tmpfs = rustix::fs::fstatfs(file).is_ok_and(|stat| stat.f_type == 0x0102_1994);
    if is_tmpfs && let Ok(flags) = rustix::fs::fcntl_getfl(file) {
        // Without it operations only take longer.
        let _ = rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK);
    }
}

/// Whether the file system gives ranges of a file back when asked. Asked of a range past the end,
/// where it changes nothing.
pub(super) fn punches_holes(file: &impl AsFd, size_bytes: u64) -> bool {
    let beyond = size_bytes.next_multiple_of(1 << 20);
    let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, mode, beyond, 4096).is_ok()
}

/// Whether a file has a hole at `offset`, and where what is there ends, `None` for nowhere; `None`
/// when its file system does not tell.
pub(super) fn run_at(file: &impl AsFd, offset: u64) -> Option<(bool, Option<u64>)> {
    // Nothing else goes by the descriptor's position.
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) if data > offset => Some((true, Some(data))),
        Ok(_) => Some((false, rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(offset)).ok())),
        Err(rustix::io::Errno::NXIO) => Some((true, None)),
        Err(_) => None,
    }
}

/// An attribute of a block device's queue; a partition has its disk's.
fn queue_attribute((major, minor): (u32, u32), name: &str) -> Option<String> {
    let device = format!("/sys/dev/block/{major}:{minor}");
    ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(format!("{device}/{queue}/{name}")).ok())
        .map(|text| text.trim().to_owned())
}

fn queue_number(number: (u32, u32), name: &str) -> Option<u64> {
    queue_attribute(number, name)?.parse().ok()
}
