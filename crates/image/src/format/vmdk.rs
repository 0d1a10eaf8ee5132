//! VMDK in one sparse file (Virtual Disk Format 5.0): two levels of tables of sectors, low byte
//! first; grains may be packed.

use block::Error;

use super::{ImageFormat, ImageHeader};
use crate::map::{Entry, ImageMap, Table, damaged, unknown};
use crate::packed::Packing;
use crate::source::{ImageFile, low32, low64};

pub(super) const MAGIC: &[u8] = b"KDMV";
const HEADER_BYTES: u64 = 512;
const SECTOR: u64 = 512;
const ZERO_GRAINS: u32 = 1 << 2;
const PACKED: u32 = 1 << 16;
const AT_END: u64 = u64::MAX;
const DEFLATE: u16 = 1;
/// More grains than a table has in any image.
const TABLE_ENTRIES_MAX: u32 = 512;
const DESCRIPTOR_BYTES_MAX: u64 = 1 << 20;

pub(super) fn read(file: &mut ImageFile<'_>) -> Result<ImageHeader, Error> {
    let mut header: [u8; HEADER_BYTES as usize] = file.head(0)?;
    let descriptor = descriptor(file, &header)?;
    check_descriptor(&descriptor)?;
    file.keep(0, HEADER_BYTES);
    if low64(&header, 56) == AT_END {
        // One that was written in one go: the header stands once more before its end.
        let last = (file.size_bytes / SECTOR * SECTOR)
            .checked_sub(2 * SECTOR)
            .ok_or_else(|| damaged("it is too short"))?;
        header = file.head(last)?;
        if !header.starts_with(MAGIC) {
            return Err(damaged("it does not end as it begins"));
        }
        file.keep(last, HEADER_BYTES);
    }
    let version = low32(&header, 4);
    if !(1..=3).contains(&version) {
        return Err(unknown(format!("VMDK version {version} is not known; 1 to 3 are")));
    }
    let flags = low32(&header, 8);
    let packing = u16::from_le_bytes([header[77], header[78]]);
    if flags & PACKED != 0 && packing != DEFLATE {
        return Err(unknown(format!("its grains are packed in way {packing}")));
    }
    let map = map(file, &header, flags)?;
    let grain_bytes = map.cluster_bytes;
    file.check(&map, if flags & PACKED != 0 { SECTOR } else { grain_bytes })?;
    Ok(ImageHeader {
        format: ImageFormat::Vmdk,
        backing: None,
        map,
        packing: Packing::Marked,
        note: None,
        tables: None,
        size_bytes: 0,
    })
}

/// The text in the image.
fn descriptor(file: &mut ImageFile<'_>, header: &[u8]) -> Result<String, Error> {
    let (offset, length) = (low64(header, 28), low64(header, 36).saturating_mul(SECTOR));
    if offset == 0 || length == 0 {
        return Err(unknown("it is one of several files that make up a disk"));
    }
    if length > DESCRIPTOR_BYTES_MAX {
        return Err(damaged(format!("a descriptor of {length} bytes")));
    }
    let mut text = file.bytes(offset.saturating_mul(SECTOR), length, "a descriptor")?;
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    // What is looked for is ASCII; names of files are in whatever their system has.
    text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    String::from_utf8(text).map_err(|_| damaged("its descriptor is no text"))
}

/// The disk has to be in this file, all of it.
fn check_descriptor(text: &str) -> Result<(), Error> {
    let said = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let mut found = lines.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase())
    };
    if said("parentCID").is_some_and(|parent| parent != "ffffffff") {
        return Err(unknown(
            "it holds only what differs from another VMDK; `qemu-img convert` makes one that \
            stands by itself",
        ));
    }
    let is_extent = |line: &&str| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("RW" | "RDONLY" | "NOACCESS"))
            && words.next().is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match text.lines().filter(is_extent).count() {
        0 | 1 => Ok(()),
        count => {
            Err(unknown(format!("its disk is in {count} files; `qemu-img convert` joins them")))
        }
    }
}

fn map(file: &mut ImageFile<'_>, header: &[u8], flags: u32) -> Result<ImageMap, Error> {
    let size_bytes = low64(header, 12).saturating_mul(SECTOR);
    let grain_bytes = low64(header, 20).saturating_mul(SECTOR);
    let table_entries = low32(header, 44);
    if !grain_bytes.is_power_of_two() || !(4096..=64 << 20).contains(&grain_bytes) {
        return Err(damaged(format!("grains of {grain_bytes} bytes")));
    }
    if !(1..=TABLE_ENTRIES_MAX).contains(&table_entries) {
        return Err(damaged(format!("tables of {table_entries} grains")));
    }
    let grains = size_bytes.div_ceil(grain_bytes);
    let count = grains.div_ceil(table_entries.into());
    let directory = low64(header, 56).saturating_mul(SECTOR);
    let directory = file.table(directory, count.saturating_mul(4))?;
    let entry = |bytes: &[u8]| match low32(bytes, 0) {
        0 => Entry::HOLE,
        1 if flags & ZERO_GRAINS != 0 => Entry::ZERO,
        sector if flags & PACKED != 0 => Entry::packed(u64::from(sector) * SECTOR),
        sector => Entry::at(u64::from(sector) * SECTOR),
    };
    let mut tables = Vec::new();
    for place in directory.chunks_exact(4) {
        let sector = u64::from(low32(place, 0));
        tables.push(match sector {
            0 => None,
            sector => {
                let bytes = file.table(sector * SECTOR, u64::from(table_entries) * 4)?;
                Some(Table::of(bytes.chunks_exact(4).map(entry).collect()))
            }
        });
    }
    let table_entries = table_entries.into();
    Ok(ImageMap::new(size_bytes, grain_bytes, table_entries, tables))
}
