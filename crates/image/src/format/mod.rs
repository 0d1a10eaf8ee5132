//! What an image says of itself, read once when it is opened.

mod qcow2;
mod vdi;
mod vhd;
mod vhdx;
mod vhdx_log;
mod vmdk;

use block::{Blocking, Device, Error, ErrorKind};
use words::{Text, statement};

use crate::catalogue;
use crate::map::{Entry, ImageMap, Table, damaged, unknown};
use crate::packed::{PACKED_SPARE_BYTES, Packing};
use crate::source::ImageFile;
pub use crate::source::ReadBytes;
use crate::tables::Tables;

/// A format of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// Of qemu.
    Qcow2,
    /// Of VMware, in one file.
    Vmdk,
    /// Of Virtual PC and Hyper-V: fixed and dynamic.
    Vhd,
    /// Of Hyper-V.
    Vhdx,
    /// Of VirtualBox.
    Vdi,
}

/// What an image is opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageUse {
    /// Its disk as it is now, to be read.
    Read,
    /// A snapshot in it, by its name or number.
    Snapshot(String),
    /// Its disk, to be read and written.
    Write,
    /// The part of a disk that it is one of several files of (VMDK), to be read.
    Extent,
}

/// What an image says of itself, and where its disk lies.
#[derive(Debug)]
pub struct ImageHeader {
    /// Which format it has.
    pub format: ImageFormat,
    /// What the image calls the disk that it lies over: a name from a stranger.
    pub backing: Option<String>,
    pub(crate) map: ImageMap,
    pub(crate) packing: Packing,
    /// What the user should know, in words.
    pub(crate) note: Option<Text>,
    /// Of an image that is written to: what its tables take to be changed.
    pub(crate) tables: Option<Tables>,
    /// How long its file is, in bytes.
    pub(crate) size_bytes: u64,
}

/// How long the file is of an image that is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRoom {
    /// So long it has to be before anything is written, in bytes.
    pub now_bytes: u64,
    /// With all that may be written it may become so long, in bytes.
    pub most_bytes: u64,
}

impl ImageHeader {
    /// Reads the header and tables of the image that a device holds; `tail` is what its file has
    /// behind the device's end.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no image and no such snapshot, [`ErrorKind::Corrupt`] for a
    /// damaged one, [`ErrorKind::Unsupported`] for what is not understood or cannot be written to,
    /// [`ErrorKind::Refused`] for tables that are too large, and what the device says.
    pub fn read_from(
        device: &dyn Device,
        image_use: &ImageUse,
        tail: &[u8],
    ) -> Result<ImageHeader, Error> {
        let mut channel = Blocking::beside(device)?;
        let end = device.info().size_bytes;
        let mut read = |offset: u64, target: &mut [u8]| {
            let there = end.saturating_sub(offset).min(target.len() as u64) as usize;
            let (target, behind) = target.split_at_mut(there);
            if !behind.is_empty() {
                let from = offset.saturating_sub(end) as usize;
                behind.copy_from_slice(&tail[from..from + behind.len()]);
            }
            if target.is_empty() { Ok(()) } else { channel.read_bytes(offset, target) }
        };
        ImageHeader::read(end + tail.len() as u64, image_use, &mut read)
    }

    /// How long the file of an image has to be; `None` where it is only read.
    #[must_use]
    pub fn room(&self) -> Option<FileRoom> {
        let (tables, cluster) = (self.tables.as_ref()?, self.map.cluster_bytes);
        // What is packed is read with more than it may take.
        let behind = if self.map.is_packed() { cluster + 2 * PACKED_SPARE_BYTES } else { 0 };
        let now_bytes = self.size_bytes.next_multiple_of(cluster) + behind;
        Some(FileRoom { now_bytes, most_bytes: tables.room_bytes().max(now_bytes) })
    }

    /// The same of a file of `size_bytes`: `read` fills a slice with the bytes at an offset.
    ///
    /// # Errors
    /// As [`ImageHeader::read_from`], and what `read` says.
    pub fn read(
        size_bytes: u64,
        image_use: &ImageUse,
        read: &mut ReadBytes<'_>,
    ) -> Result<ImageHeader, Error> {
        let (ranges, patches) = (Vec::new(), Vec::new());
        let mut file = ImageFile { size_bytes, tables_bytes: 0, ranges, patches, read };
        let no_image = || {
            let text = catalogue::NO_IMAGE;
            Error::new(ErrorKind::Invalid, text)
        };
        if let Some(error) = vmdk::only_describes(&mut file)? {
            return Err(error);
        }
        if size_bytes < 512 {
            return Err(no_image());
        }
        let mut start = [0; 512];
        file.read(0, &mut start)?;
        let is_footer = |bytes: &[u8]| bytes.starts_with(vhd::MAGIC);
        let mut end = [0; 512];
        let last = vhd::footer_offset(size_bytes);
        // The file of an image that is written to may still have to grow to there.
        if !start.starts_with(qcow2::MAGIC) {
            end = vhd::footer(&mut file, last)?;
        }
        let mut header = match &start {
            head if head.starts_with(qcow2::MAGIC) => qcow2::read(&mut file, image_use)?,
            head if head.starts_with(vmdk::MAGIC) => vmdk::read(&mut file, image_use)?,
            head if head.starts_with(vhdx::MAGIC) => vhdx::read(&mut file)?,
            head if head[vdi::MAGIC_OFFSET..].starts_with(vdi::MAGIC) => vdi::read(&mut file)?,
            head if is_footer(head) || is_footer(&end) => vhd::read(&mut file, last)?,
            _ => return Err(no_image()),
        };
        if header.format != ImageFormat::Qcow2 || *image_use == ImageUse::Extent {
            header.format.must_only_be_read(image_use)?;
        }
        header.size_bytes = size_bytes;
        if header.map.size_bytes == 0 || header.map.size_bytes % 512 != 0 {
            return Err(unknown(statement!(
                catalogue::DISK_NO_WHOLE_SECTORS,
                bytes = header.map.size_bytes
            )));
        }
        Ok(header)
    }
}

impl ImageFormat {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ImageFormat::Qcow2 => "qcow2",
            ImageFormat::Vmdk => "VMDK",
            ImageFormat::Vhd => "VHD",
            ImageFormat::Vhdx => "VHDX",
            ImageFormat::Vdi => "VDI",
        }
    }

    /// Refuses what is asked of formats that are only read, and of which nothing else is known.
    fn must_only_be_read(self, image_use: &ImageUse) -> Result<(), Error> {
        let name = self.name();
        match image_use {
            ImageUse::Read => Ok(()),
            ImageUse::Extent if self == ImageFormat::Vmdk => Ok(()),
            ImageUse::Extent => {
                let text = statement!(catalogue::EXTENT_FOR_VMDK, name = name);
                Err(Error::new(ErrorKind::Invalid, text))
            }
            ImageUse::Snapshot(_) => {
                let text = statement!(catalogue::NO_SNAPSHOTS, name = name);
                Err(Error::new(ErrorKind::Invalid, text))
            }
            ImageUse::Write => Err(unknown(statement!(catalogue::IMAGE_ONLY_READ, name = name))),
        }
    }
}

/// A map of one table, of numbers of `width` bytes.
pub(crate) fn one_table(
    size_bytes: u64,
    cluster_bytes: u64,
    table: &[u8],
    width: usize,
    entry: impl Fn(&[u8]) -> Result<Entry, Error>,
) -> Result<ImageMap, Error> {
    let entries = table.chunks_exact(width).map(entry).collect::<Result<Vec<_>, Error>>()?;
    let table_entries = size_bytes.div_ceil(cluster_bytes).max(1);
    let tables = vec![Some(Table::of(entries))];
    Ok(ImageMap::new(size_bytes, cluster_bytes, table_entries, tables))
}

/// How many clusters a disk has; an image cannot have that many that its table does not hold.
pub(crate) fn clusters(size_bytes: u64, cluster_bytes: u64, there: u64) -> Result<u64, Error> {
    let clusters = size_bytes.div_ceil(cluster_bytes);
    if clusters > there {
        return Err(damaged(statement!(
            catalogue::BLOCKS_AND_TABLE,
            clusters = clusters,
            there = there
        )));
    }
    Ok(clusters)
}
