//! Disk images that other programs read too: a disk's bytes in a file, and what the format puts
//! behind them.
//!
//! ```text
//!   raw   the disk
//!   vhd   the disk │ footer of 512 bytes       (a VHD of fixed size)
//! ```
//!
//! The footer is that of Microsoft's Virtual Hard Disk Image Format Specification, version 1.0.

use std::fmt;
use std::str::FromStr;

use block::{Error, ErrorKind, SECTOR_BYTES};
use words::{Text, statement};

use crate::catalogue;

/// What kind of file an image is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageKind {
    /// The disk's bytes and nothing else.
    #[default]
    Raw,
    /// A VHD of fixed size.
    Vhd,
}

impl ImageKind {
    /// How they are called.
    pub const NAMES: [&str; 2] = ["raw", "vhd"];
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [raw, vhd] = ImageKind::NAMES;
        f.write_str(match self {
            ImageKind::Raw => raw,
            ImageKind::Vhd => vhd,
        })
    }
}

impl FromStr for ImageKind {
    type Err = Text;

    fn from_str(text: &str) -> Result<ImageKind, Text> {
        match text {
            "raw" => Ok(ImageKind::Raw),
            "vhd" => Ok(ImageKind::Vhd),
            _ => Err(statement!(
                catalogue::ONE_OF_KINDS,
                text = text,
                kinds = ImageKind::NAMES.join(", ")
            )),
        }
    }
}

/// An image to be made: a disk of this size, written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// What kind of file it is.
    pub kind: ImageKind,
    /// The size of the disk in it, in bytes.
    pub size_bytes: u64,
    /// Whether the loop device over it reads and writes past the page cache of the file system
    /// that it lies in.
    pub direct: bool,
}

/// An image's disk is a multiple of this, so that any file system is possible in it.
const UNIT_BYTES: u64 = 4096;
/// The largest disk of a VHD: 2040 GiB.
const VHD_BYTES_MAX: u64 = 2040 << 30;

impl Image {
    /// Checks the size.
    ///
    /// # Errors
    /// One that is nothing, no multiple of 4096, or more than the format has room for.
    pub fn check(&self) -> Result<(), Error> {
        let text = block::size_text(self.size_bytes);
        if self.size_bytes == 0 || !self.size_bytes.is_multiple_of(UNIT_BYTES) {
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::IMAGE_UNIT, text = text, unit_bytes = UNIT_BYTES),
            ));
        }
        if self.kind == ImageKind::Vhd && self.size_bytes > VHD_BYTES_MAX {
            let most = block::size_text(VHD_BYTES_MAX);
            return Err(Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::VHD_TOO_LARGE, text = text, most = most),
            ));
        }
        Ok(())
    }

    /// What the file is called.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self.kind {
            ImageKind::Raw => "image.raw".to_owned(),
            ImageKind::Vhd => "image.vhd".to_owned(),
        }
    }

    /// What stands behind the disk's bytes.
    #[must_use]
    pub fn footer(&self) -> Vec<u8> {
        match self.kind {
            ImageKind::Raw => Vec::new(),
            ImageKind::Vhd => vhd_footer(self.size_bytes).to_vec(),
        }
    }

    /// The size of the file in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        match self.kind {
            ImageKind::Raw => self.size_bytes,
            ImageKind::Vhd => self.size_bytes + VHD_FOOTER_BYTES as u64,
        }
    }
}

/// How long the footer is.
const VHD_FOOTER_BYTES: usize = 512;
/// Where its checksum stands.
const CHECKSUM: usize = 64;

/// The footer of a VHD of fixed size for a disk of so many bytes. All of it follows from the size:
/// it is dated to the format's first second, and its identity is made from the size.
fn vhd_footer(size_bytes: u64) -> [u8; VHD_FOOTER_BYTES] {
    let mut footer = [0; VHD_FOOTER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| footer[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"conectix");
    // Features: one bit that is always set. Then the version of the format: 1.0.
    put(8, &2_u32.to_be_bytes());
    put(12, &0x0001_0000_u32.to_be_bytes());
    // Where a dynamic one has its header.
    put(16, &u64::MAX.to_be_bytes());
    // Who made it. Of makers that they do not know, readers take the size from the cylinders, heads
    // and sectors, which is rounded; of this one they take it as it is.
    put(28, b"win ");
    put(32, &0x000a_0000_u32.to_be_bytes());
    put(36, b"Wi2k");
    put(40, &size_bytes.to_be_bytes());
    put(48, &size_bytes.to_be_bytes());
    let (cylinders, heads, sectors) = vhd_geometry(size_bytes / SECTOR_BYTES);
    put(56, &cylinders.to_be_bytes());
    put(58, &[heads, sectors]);
    // Of fixed size.
    put(60, &2_u32.to_be_bytes());
    // An identity of the random kind (version 4), the same for all of a size.
    put(68, b"raidloom");
    put(76, &size_bytes.to_be_bytes());
    footer[74] = footer[74] & 0x0f | 0x40;
    footer[76] = footer[76] & 0x3f | 0x80;
    let sum = footer.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    footer[CHECKSUM..CHECKSUM + 4].copy_from_slice(&(!sum).to_be_bytes());
    footer
}

/// Cylinders, heads and sectors of a track, as the specification's appendix makes them of a number
/// of sectors: the most that fit into it.
fn vhd_geometry(sectors: u64) -> (u16, u8, u8) {
    const CYLINDERS_MAX: u64 = 65_535;
    const HEADS_MAX: u64 = 16;
    let sectors = sectors.min(CYLINDERS_MAX * HEADS_MAX * 255);
    let (track, heads) = if sectors >= CYLINDERS_MAX * HEADS_MAX * 63 {
        (255, HEADS_MAX)
    } else {
        let heads = (sectors / 17).div_ceil(1024).max(4);
        // A disk of IDE has 1024 cylinders at most, as long as it is small.
        let fits = |track: u64, heads: u64| sectors / track < heads * 1024;
        match heads {
            heads if heads <= HEADS_MAX && fits(17, heads) => (17, heads),
            _ if fits(31, HEADS_MAX) => (31, HEADS_MAX),
            _ => (63, HEADS_MAX),
        }
    };
    let cylinders = sectors / track / heads;
    (cylinders as u16, heads as u8, track as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vhd(size_bytes: u64) -> Image {
        Image { kind: ImageKind::Vhd, size_bytes, direct: false }
    }

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for (kind, name) in [ImageKind::Raw, ImageKind::Vhd].into_iter().zip(ImageKind::NAMES) {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
        }
        assert!("qcow2".parse::<ImageKind>().is_err());
    }

    /// The sum over all bytes but the checksum itself, inverted.
    #[test]
    fn the_footer_sums_up() {
        for size_bytes in [4096, 1 << 20, 100 << 20, 127 << 30, 2040 << 30] {
            let footer = vhd(size_bytes).footer();
            assert_eq!(footer.len() as u64 + size_bytes, vhd(size_bytes).file_bytes());
            let told = u32::from_be_bytes(footer[64..68].try_into().unwrap());
            let others = footer[..64].iter().chain(&footer[68..]);
            assert_eq!(!told, others.map(|byte| u32::from(*byte)).sum::<u32>());
            assert_eq!(footer[48..56], size_bytes.to_be_bytes());
        }
        assert!(Image { kind: ImageKind::Raw, ..vhd(4096) }.footer().is_empty());
    }

    /// Sizes on both sides of each step of the table.
    #[test]
    fn the_geometry_never_exceeds_the_disk() {
        let mebibyte = 2048;
        assert_eq!(vhd_geometry(mebibyte), (30, 4, 17));
        assert_eq!(vhd_geometry(100 * mebibyte), (1003, 12, 17));
        assert_eq!(vhd_geometry(200 * mebibyte), (825, 16, 31));
        assert_eq!(vhd_geometry(1024 * mebibyte), (2080, 16, 63));
        assert_eq!(vhd_geometry(127 * 1024 * mebibyte), (65_278, 16, 255));
        for sectors in (0..70 * 1024).map(|step| step * 4096 + 17) {
            let (cylinders, heads, track) = vhd_geometry(sectors);
            let all = u64::from(cylinders) * u64::from(heads) * u64::from(track);
            assert!(all <= sectors && heads <= 16, "{sectors}: {cylinders} {heads} {track}");
        }
    }

    #[test]
    fn sizes_that_no_image_has_are_refused() {
        let said = |image: Image| image.check().unwrap_err().to_string();
        for size_bytes in [0, 4097, 512] {
            assert!(said(vhd(size_bytes)).contains("a multiple of 4096 bytes"));
        }
        let large = vhd((2040 << 30) + 4096);
        assert!(said(large).contains("holds no more than 2040GiB"), "{}", said(large));
        let raw = Image { kind: ImageKind::Raw, ..large };
        assert!(raw.check().is_ok());
    }
}
