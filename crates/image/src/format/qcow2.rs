//! qcow2, versions 2 and 3 (docs/interop/qcow2.txt of qemu): two levels of tables, high byte first.

use block::{Error, ErrorKind};
use words::statement;

use super::{ImageFormat, ImageHeader, ImageUse};
use crate::catalogue;
use crate::map::{Entry, ImageMap, Parts, Table, damaged, unknown};
use crate::packed::Packing;
use crate::source::{ImageFile, high32, high64};
use crate::tables::{CountsPlace, OFFSET, PACKED, Tables, ZERO, aligned, packed_place_bits};

pub(super) const MAGIC: &[u8] = b"QFI\xfb";
/// The first level is no longer than this, in bytes: as in qemu.
const L1_BYTES_MAX: u64 = 32 << 20;
const SNAPSHOTS_MAX: u32 = 65_536;
/// What stands between the head of a snapshot and its names is no longer than this, in bytes.
const EXTRA_BYTES_MAX: u64 = 1024;
const BACKING_NAME_BYTES_MAX: u32 = 1023;

const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
const DATA_FILE: u64 = 1 << 2;
const PACKING: u64 = 1 << 3;
const EXTENDED: u64 = 1 << 4;
const KNOWN: u64 = DIRTY | CORRUPT | DATA_FILE | PACKING | EXTENDED;

struct Header {
    version: u32,
    cluster_bits: u32,
    size_bytes: u64,
    l1_entries: u32,
    l1_offset: u64,
    snapshots: u32,
    snapshots_offset: u64,
    features: u64,
    /// Features that whoever does not know them has to take away before a write.
    cleared_features: u64,
    counts: CountsPlace,
    packing: Packing,
    backing: Option<String>,
}

pub(super) fn read(file: &mut ImageFile<'_>, image_use: &ImageUse) -> Result<ImageHeader, Error> {
    let mut header = head(file)?;
    match image_use {
        // Where it is not for qcow2 this is said later.
        ImageUse::Read | ImageUse::Extent => (),
        ImageUse::Snapshot(wanted) => find(file, &mut header, wanted)?,
        ImageUse::Write => must_be_writable(&header)?,
    }
    let (map, l1) = map(file, &header, *image_use == ImageUse::Write)?;
    let tables = match image_use {
        ImageUse::Write => Some(Tables::read(file, header.l1_offset, l1, header.counts, &map)?),
        ImageUse::Read | ImageUse::Extent | ImageUse::Snapshot(_) => None,
    };
    file.check(&map, 1 << header.cluster_bits)?;
    let note = (header.features & CORRUPT != 0).then(|| catalogue::MARKED_CORRUPT.into());
    Ok(ImageHeader {
        format: ImageFormat::Qcow2,
        backing: header.backing,
        map,
        packing: header.packing,
        note,
        tables,
        size_bytes: file.size_bytes,
    })
}

/// Refuses images that a write would damage, or that nobody could tell afterwards.
fn must_be_writable(header: &Header) -> Result<(), Error> {
    let features = header.features;
    let reason = if header.version < 3 {
        catalogue::QCOW2_VERSION_2
    } else if header.snapshots > 0 {
        catalogue::QCOW2_SNAPSHOTS
    } else if features & EXTENDED != 0 {
        catalogue::QCOW2_PARTS
    } else if features & DIRTY != 0 {
        catalogue::QCOW2_NOT_CLOSED
    } else if features & CORRUPT != 0 {
        catalogue::QCOW2_CORRUPT
    } else if header.cleared_features != 0 {
        catalogue::QCOW2_BITMAPS
    } else {
        return Ok(());
    };
    Err(unknown(reason))
}

fn head(file: &mut ImageFile<'_>) -> Result<Header, Error> {
    let bytes: [u8; 112] = file.head(0)?;
    let version = high32(&bytes, 4);
    if !(2..=3).contains(&version) {
        return Err(unknown(statement!(catalogue::QCOW2_VERSION, version = version)));
    }
    let cluster_bits = high32(&bytes, 20);
    if !(9..=21).contains(&cluster_bits) {
        return Err(damaged(statement!(catalogue::QCOW2_CLUSTERS, cluster_bits = cluster_bits)));
    }
    if high32(&bytes, 32) != 0 {
        return Err(unknown(catalogue::QCOW2_ENCRYPTED));
    }
    let features = if version == 3 { high64(&bytes, 72) } else { 0 };
    if features & !KNOWN != 0 {
        return Err(unknown(statement!(
            catalogue::QCOW2_FEATURES,
            bits = format!("{:#x}", features & !KNOWN)
        )));
    }
    if features & DATA_FILE != 0 {
        return Err(unknown(catalogue::QCOW2_DATA_FILE));
    }
    let length = if version == 3 { high32(&bytes, 100) } else { 72 };
    let packing = match (features & PACKING != 0 && length > 104).then_some(bytes[104]) {
        None | Some(0) => Packing::Deflate,
        Some(1) => Packing::Zstd,
        Some(other) => return Err(unknown(statement!(catalogue::PACKED_IN_WAY, other = other))),
    };
    file.keep(0, length.into());
    let backing = match (high64(&bytes, 8), high32(&bytes, 16)) {
        (0, _) => None,
        (_, length) if length > BACKING_NAME_BYTES_MAX => {
            return Err(damaged(statement!(catalogue::NAME_LENGTH, length = length)));
        }
        (offset, length) => {
            let mut name = vec![0; length as usize];
            file.read(offset, &mut name)?;
            Some(String::from_utf8_lossy(&name).into_owned())
        }
    };
    Ok(Header {
        version,
        cluster_bits,
        size_bytes: high64(&bytes, 24),
        l1_entries: high32(&bytes, 36),
        l1_offset: high64(&bytes, 40),
        snapshots: high32(&bytes, 60),
        snapshots_offset: high64(&bytes, 64),
        features,
        cleared_features: if version == 3 { high64(&bytes, 88) } else { 0 },
        counts: CountsPlace {
            table_offset: high64(&bytes, 48),
            table_clusters: high32(&bytes, 56),
            order: if version == 3 { high32(&bytes, 96) } else { 4 },
        },
        packing,
        backing,
    })
}

/// Takes the table and size of a snapshot, by its name or else its number.
fn find(file: &mut ImageFile<'_>, header: &mut Header, wanted: &str) -> Result<(), Error> {
    if header.snapshots > SNAPSHOTS_MAX {
        return Err(damaged(statement!(catalogue::SNAPSHOT_COUNT, count = header.snapshots)));
    }
    let mut at = header.snapshots_offset;
    let mut by_number = None;
    for _ in 0..header.snapshots {
        let head: [u8; 40] = file.head(at)?;
        let extra = u64::from(high32(&head, 36));
        let lengths = high32(&head, 12);
        let (id, name) = (u64::from(lengths >> 16), u64::from(lengths & 0xffff));
        if extra > EXTRA_BYTES_MAX {
            return Err(damaged(statement!(catalogue::SNAPSHOT_EXTRA, extra = extra)));
        }
        let mut rest = vec![0; (extra + id + name) as usize];
        file.read(at.saturating_add(40), &mut rest)?;
        let size = if extra >= 16 { high64(&rest, 8) } else { header.size_bytes };
        let (id_text, name_text) = rest[extra as usize..].split_at(id as usize);
        let place = (high64(&head, 0), high32(&head, 8), size);
        if name_text == wanted.as_bytes() {
            by_number = Some(place);
            break;
        }
        if id_text == wanted.as_bytes() {
            by_number = Some(place);
        }
        at = at.saturating_add((40 + extra + id + name).next_multiple_of(8));
    }
    let Some((l1_offset, l1_entries, size_bytes)) = by_number else {
        let text = statement!(catalogue::NO_SUCH_SNAPSHOT, wanted = wanted);
        return Err(Error::new(ErrorKind::Invalid, text));
    };
    (header.l1_offset, header.l1_entries, header.size_bytes) = (l1_offset, l1_entries, size_bytes);
    Ok(())
}

/// Where all of the disk lies, and the entries of the first level: all of them, or those that the
/// disk takes.
fn map(
    file: &mut ImageFile<'_>,
    header: &Header,
    all: bool,
) -> Result<(ImageMap, Vec<u64>), Error> {
    let cluster_bytes = 1_u64 << header.cluster_bits;
    let is_extended = header.features & EXTENDED != 0;
    let width = if is_extended { 16 } else { 8 };
    if is_extended && header.cluster_bits < 14 {
        return Err(damaged(statement!(catalogue::CLUSTER_PARTS, cluster_bytes = cluster_bytes)));
    }
    let table_entries = cluster_bytes / width;
    let needed = header.size_bytes.div_ceil(cluster_bytes).div_ceil(table_entries);
    let there = u64::from(header.l1_entries);
    if needed > there || there * 8 > L1_BYTES_MAX {
        return Err(damaged(statement!(
            catalogue::TABLES_FOR_BYTES,
            there = there,
            bytes = header.size_bytes
        )));
    }
    let l1 = match if all { there } else { needed } {
        0 => Vec::new(),
        entries => {
            aligned(header.l1_offset, cluster_bytes)?;
            file.table(header.l1_offset, entries * 8)?
        }
    };
    let l1: Vec<u64> = l1.chunks_exact(8).map(|entry| high64(entry, 0) & OFFSET).collect();
    let mut tables = Vec::new();
    for &offset in &l1[..needed as usize] {
        if offset == 0 {
            tables.push(None);
            continue;
        }
        aligned(offset, cluster_bytes)?;
        let bytes = file.table(offset, cluster_bytes)?;
        tables.push(Some(table(header, &bytes, width as usize)?));
    }
    // One that names two tables in the same place was refused when they were read.
    let map = ImageMap::new(header.size_bytes, cluster_bytes, table_entries, tables);
    let packed_mask = (1 << packed_place_bits(header.cluster_bits)) - 1;
    Ok((ImageMap { packed_mask, ..map }, l1))
}

fn table(header: &Header, bytes: &[u8], width: usize) -> Result<Table, Error> {
    let cluster_bytes = 1_u64 << header.cluster_bits;
    let entry = |bytes: &[u8]| {
        let value = high64(bytes, 0);
        let offset = value & OFFSET;
        if value & PACKED != 0 {
            return Ok(Entry::packed(value & (PACKED - 1)));
        }
        // In version 2, and where clusters have parts, no bit says that one is zero.
        if width == 8 && header.version > 2 && value & ZERO != 0 {
            return aligned(offset, cluster_bytes).map(|()| Entry::zero_at(offset));
        }
        if offset == 0 {
            return Ok(Entry::HOLE);
        }
        aligned(offset, cluster_bytes).map(|()| Entry::at(offset))
    };
    let entries = bytes.chunks_exact(width).map(entry).collect::<Result<Vec<_>, Error>>()?;
    let mut table = Table::of(entries);
    if width == 16 {
        table.parts = bytes.chunks_exact(width).map(|bytes| Parts(high64(bytes, 8))).collect();
    }
    Ok(table)
}
