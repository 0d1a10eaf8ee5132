//! VHD as Virtual PC and Hyper-V write it.

use std::fs;

use super::{
    SIZE, STRANGER, block, high, high_long, identity, is_read_as, is_refused, put, written,
};
use crate::support::{disk, has_qemu};

const FIXED: u32 = 2;
const DYNAMIC: u32 = 3;
const DIFFERENCING: u32 = 4;

/// What stands at the end of a VHD, and of all but fixed ones at the start too.
#[derive(Clone, Copy)]
pub(super) struct Footer {
    pub(super) creator: [u8; 4],
    pub(super) size_bytes: usize,
    /// Cylinders, heads and sectors.
    pub(super) geometry: (usize, usize, usize),
}

impl Footer {
    /// Of Hyper-V.
    pub(super) fn of(size_bytes: usize) -> Footer {
        Footer { creator: *b"win ", size_bytes, geometry: geometry(size_bytes) }
    }

    /// How many bytes the geometry comes to.
    fn geometry_bytes(&self) -> usize {
        let (cylinders, heads, sectors) = self.geometry;
        cylinders * heads * sectors * 512
    }

    fn bytes(&self, kind: u32) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        let (cylinders, heads, sectors) = self.geometry;
        put(&mut bytes, 0, b"conectix");
        high(&mut bytes, 8, 2);
        high(&mut bytes, 12, 0x0001_0000);
        high_long(&mut bytes, 16, if kind == FIXED { u64::MAX } else { 512 });
        high(&mut bytes, 24, 700_000_000);
        put(&mut bytes, 28, &self.creator);
        high(&mut bytes, 32, 0x000a_0000);
        put(&mut bytes, 36, b"Wi2k");
        high_long(&mut bytes, 40, self.size_bytes as u64);
        high_long(&mut bytes, 48, self.size_bytes as u64);
        let shape = (cylinders as u32) << 16 | (heads as u32) << 8 | sectors as u32;
        high(&mut bytes, 56, shape);
        high(&mut bytes, 60, kind);
        put(&mut bytes, 68, &identity(7));
        sum(&mut bytes, 64);
        bytes
    }

    /// A fixed disk.
    pub(super) fn behind(&self, disk: &[u8]) -> Vec<u8> {
        [disk, &self.bytes(FIXED)].concat()
    }
}

/// The checksum of all bytes, at its place.
fn sum(bytes: &mut Vec<u8>, at: usize) {
    let sum = bytes.iter().fold(0_u32, |sum, byte| sum.wrapping_add((*byte).into()));
    high(bytes, at, !sum);
}

/// Cylinders, heads and sectors, by the appendix of the format's description.
fn geometry(size_bytes: usize) -> (usize, usize, usize) {
    let total = (size_bytes / 512).min(65_535 * 16 * 255);
    if total >= 65_535 * 16 * 63 {
        return (total / 255 / 16, 16, 255);
    }
    let (mut sectors, mut tracks) = (17, total / 17);
    let mut heads = tracks.div_ceil(1024).max(4);
    if tracks >= heads * 1024 || heads > 16 {
        (sectors, heads, tracks) = (31, 16, total / 31);
    }
    if tracks >= heads * 1024 {
        (sectors, heads, tracks) = (63, 16, total / 63);
    }
    (tracks / heads, heads, sectors)
}

fn header(disk: &[u8], block_bytes: usize, parent: Option<&str>) -> Vec<u8> {
    let mut bytes = vec![0; 1024];
    put(&mut bytes, 0, b"cxsparse");
    high_long(&mut bytes, 8, u64::MAX);
    high_long(&mut bytes, 16, 1536);
    high(&mut bytes, 24, 0x0001_0000);
    high(&mut bytes, 28, disk.len().div_ceil(block_bytes) as u32);
    high(&mut bytes, 32, block_bytes as u32);
    if let Some(parent) = parent {
        let name: Vec<u8> = parent.encode_utf16().flat_map(u16::to_be_bytes).collect();
        put(&mut bytes, 40, &identity(8));
        put(&mut bytes, 64, &name);
        // A path of Windows with so many bytes, in a sector behind the table.
        put(&mut bytes, 576, b"W2ku");
        high(&mut bytes, 580, 512);
        high(&mut bytes, 584, name.len() as u32);
        high_long(&mut bytes, 592, 2048);
    }
    sum(&mut bytes, 36);
    bytes
}

/// A dynamic disk. In front of each block stand bits of its sectors that were written; data begin
/// at multiples of `align_bytes`.
pub(super) fn dynamic(
    disk: &[u8],
    footer: &Footer,
    block_bytes: usize,
    align_bytes: usize,
) -> Vec<u8> {
    let count = disk.len().div_ceil(block_bytes);
    let mut bytes = footer.bytes(DYNAMIC);
    put(&mut bytes, 512, &header(disk, block_bytes, None));
    put(&mut bytes, 1536, &vec![0xff; (4 * count).next_multiple_of(512)]);
    let bits_bytes = (block_bytes / 512 / 8).next_multiple_of(512);
    for number in written(disk, block_bytes, 5) {
        let data = block(disk, block_bytes, number);
        let data_at = (bytes.len() + bits_bytes).next_multiple_of(align_bytes);
        let mut bits = vec![0_u8; bits_bytes];
        for (sector, held) in data.chunks(512).enumerate() {
            let is_written = held.iter().any(|byte| *byte != 0);
            bits[sector / 8] |= u8::from(is_written) << (7 - sector % 8);
        }
        high(&mut bytes, 1536 + 4 * number, ((data_at - bits_bytes) / 512) as u32);
        put(&mut bytes, data_at - bits_bytes, &bits);
        put(&mut bytes, data_at, &data);
    }
    bytes.extend(footer.bytes(DYNAMIC));
    bytes
}

#[test]
fn vhd_as_hyper_v_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk(SIZE, 31);
    let footer = Footer::of(disk.len());
    assert!(footer.geometry_bytes() < disk.len(), "it is not told by its geometry");
    // Since Windows 8 data begin at multiples of 4 KiB.
    for (name, image) in [
        ("dynamic", dynamic(&disk, &footer, 2 << 20, 4096)),
        ("older", dynamic(&disk, &footer, 2 << 20, 512)),
        ("fixed", footer.behind(&disk)),
    ] {
        fs::write(folder.join(name), image).unwrap();
        is_read_as(folder, name, &disk, &format!("-f vpc {name}"));
    }
    let mut child = dynamic(&disk, &footer, 2 << 20, 4096);
    let end = child.len() - 512;
    put(&mut child, 0, &footer.bytes(DIFFERENCING));
    put(&mut child, 512, &header(&disk, 2 << 20, Some(STRANGER)));
    put(&mut child, end, &footer.bytes(DIFFERENCING));
    is_refused(folder, "child", &child, "differs from another VHD");
}

/// It means what the geometry comes to, whatever the size beside it.
#[test]
fn vhd_as_virtual_pc_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk(SIZE, 32);
    let footer = Footer { creator: *b"vpc ", ..Footer::of(disk.len()) };
    let meant = &disk[..footer.geometry_bytes()];
    for (name, image) in [
        ("dynamic", dynamic(&disk, &footer, 2 << 20, 512)),
        ("older", dynamic(&disk, &footer, 512 << 10, 512)),
        ("fixed", footer.behind(&disk)),
    ] {
        fs::write(folder.join(name), &image).unwrap();
        is_read_as(folder, name, meant, &format!("-f vpc {name}"));
        // Before 2004 the footer lacks its last byte.
        let name = format!("{name} without a byte");
        fs::write(folder.join(&name), &image[..image.len() - 1]).unwrap();
        is_read_as(folder, &name, meant, &format!("-f vpc '{name}'"));
        // Where the end is damaged the copy at the start counts, of all but fixed ones.
        let mut broken = image;
        let end = broken.len() - 500;
        broken[end] ^= 1;
        fs::write(folder.join("broken"), &broken).unwrap();
        let opened = crate::support::open_file(folder, "broken", None, None);
        assert_eq!(opened.is_ok(), !name.starts_with("fixed"), "{name}");
    }
}
