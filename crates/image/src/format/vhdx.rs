//! VHDX (MS-VHDX): two headers, a table of regions, metadata and a table of blocks, low byte first.

use block::Error;
use words::statement;

use super::{ImageFormat, ImageHeader, one_table, vhdx_log};
use crate::catalogue;
use crate::map::{Entry, ImageMap, damaged, unknown};
use crate::packed::Packing;
use crate::source::{ImageFile, Patch, low32, low64};

pub(super) const MAGIC: &[u8] = b"vhdxfile";
const HEADERS: [u64; 2] = [64 << 10, 128 << 10];
const REGIONS: [u64; 2] = [192 << 10, 256 << 10];
const REGION_TABLE_BYTES: usize = 64 << 10;
const REGIONS_MAX: u32 = 2047;
const ENTRY_BYTES: usize = 32;
const METADATA_TABLE_BYTES: u64 = 64 << 10;
/// All that comes before the first region, in bytes.
const START_BYTES: u64 = 1 << 20;

type Guid = [u8; 16];
const BAT: Guid = guid(0x2dc2_7766, 0xf623, 0x4200, 0x9d64_115e_9bfd_4a08);
const METADATA: Guid = guid(0x8b7c_a206, 0x4790, 0x4b9a, 0xb8fe_575f_050f_886e);
const PARAMETERS: Guid = guid(0xcaa1_6737, 0xfa36, 0x4d43, 0xb3b6_33f0_aa44_e76b);
const DISK_SIZE: Guid = guid(0x2fa5_4224, 0xcd1b, 0x4876, 0xb211_5dbe_d83b_f4b8);
const SECTOR: Guid = guid(0x8141_bf1d, 0xa96f, 0x4709, 0xba47_f233_a8fa_ab5f);

/// As it lies in a file: the first three numbers with the low byte first.
const fn guid(one: u32, two: u16, three: u16, rest: u64) -> Guid {
    let (a, b, c, d) =
        (one.to_le_bytes(), two.to_le_bytes(), three.to_le_bytes(), rest.to_be_bytes());
    [a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]]
}

pub(super) fn read(file: &mut ImageFile<'_>) -> Result<ImageHeader, Error> {
    let header = header(file)?;
    let regions = regions(file)?;
    let region = |name: Guid| {
        let found = regions.iter().find(|(region, ..)| *region == name);
        found.map(|(_, offset, length)| (*offset, *length))
    };
    let (Some(bat), Some(metadata)) = (region(BAT), region(METADATA)) else {
        return Err(damaged(catalogue::VHDX_LACKS));
    };
    file.keep(0, START_BYTES);
    let is_logged = header[48..64] != [0; 16];
    if is_logged {
        let patches = vhdx_log::replayed(file, &header)?;
        let is_in = |patch: &Patch, (offset, length): (u64, u64)| {
            patch.offset >= offset && patch.end - offset <= length
        };
        // Data are never in the log, and what else there is was read already.
        if !patches.iter().all(|patch| is_in(patch, bat) || is_in(patch, metadata)) {
            return Err(unknown(catalogue::VHDX_LOG));
        }
        file.patches = patches;
    }
    let shape = Shape::read(file, metadata)?;
    let map = map(file, &shape, bat)?;
    file.check(&map, shape.block_bytes)?;
    Ok(ImageHeader {
        format: ImageFormat::Vhdx,
        backing: None,
        map,
        packing: Packing::Deflate,
        note: is_logged.then(|| catalogue::READ_FROM_LOG.into()),
        tables: None,
        size_bytes: 0,
    })
}

/// The newer valid header.
fn header(file: &mut ImageFile<'_>) -> Result<[u8; 4096], Error> {
    let mut newest: Option<[u8; 4096]> = None;
    for at in HEADERS {
        let mut bytes: [u8; 4096] = file.head(at)?;
        if !bytes.starts_with(b"head") || !vhdx_log::fits(&mut bytes) {
            continue;
        }
        if newest.as_ref().is_none_or(|newest| low64(newest, 8) < low64(&bytes, 8)) {
            newest = Some(bytes);
        }
    }
    let header = newest.ok_or_else(|| damaged(catalogue::VHDX_HEADERS))?;
    let version = low32(&header, 64) >> 16;
    if version != 1 {
        return Err(unknown(statement!(catalogue::VHDX_VERSION, version = version)));
    }
    Ok(header)
}

/// Name, place and length of each region.
fn regions(file: &mut ImageFile<'_>) -> Result<Vec<(Guid, u64, u64)>, Error> {
    for at in REGIONS {
        let mut bytes = file.bytes(at, REGION_TABLE_BYTES as u64, catalogue::REGION_TABLE)?;
        let count = low32(&bytes, 8);
        if !bytes.starts_with(b"regi") || !vhdx_log::fits(&mut bytes) || count > REGIONS_MAX {
            continue;
        }
        let entries = bytes[16..].chunks_exact(ENTRY_BYTES).take(count as usize);
        return entries
            .map(|entry| {
                let name: Guid = entry[..16].try_into().expect("sixteen bytes");
                if ![BAT, METADATA].contains(&name) && low32(entry, 28) & 1 != 0 {
                    return Err(unknown(catalogue::VHDX_REGION));
                }
                Ok((name, low64(entry, 16), low32(entry, 24).into()))
            })
            .collect();
    }
    Err(damaged(catalogue::VHDX_REGIONS))
}

struct Shape {
    block_bytes: u64,
    size_bytes: u64,
    sector_bytes: u64,
}

impl Shape {
    fn read(file: &mut ImageFile<'_>, region: (u64, u64)) -> Result<Shape, Error> {
        let (start, length) = region;
        let table = file.table(start, length.min(METADATA_TABLE_BYTES))?;
        if table.len() < 32 || !table.starts_with(b"metadata") {
            return Err(damaged(catalogue::VHDX_NO_METADATA));
        }
        let count = usize::from(u16::from_le_bytes([table[10], table[11]]));
        let mut item = |name: Guid| {
            let mut entries = table[32..].chunks_exact(ENTRY_BYTES).take(count);
            let entry = entries.find(|entry| entry[..16] == name);
            let entry = entry.ok_or_else(|| damaged(catalogue::VHDX_METADATA_PART))?;
            let at = u64::from(low32(entry, 16));
            if at > length.saturating_sub(8) {
                return Err(damaged(catalogue::VHDX_METADATA_PAST));
            }
            file.head::<8>(start + at)
        };
        let parameters = item(PARAMETERS)?;
        let (block_bytes, flags) = (low32(&parameters, 0), low32(&parameters, 4));
        let size_bytes = low64(&item(DISK_SIZE)?, 0);
        let sector_bytes = low32(&item(SECTOR)?, 0);
        if flags & 2 != 0 {
            return Err(unknown(catalogue::VHDX_DIFFERENCE));
        }
        if !(1 << 20..=256 << 20).contains(&block_bytes) || !block_bytes.is_power_of_two() {
            return Err(damaged(statement!(
                catalogue::VHDX_BLOCK_LENGTH,
                block_bytes = block_bytes
            )));
        }
        if ![512, 4096].contains(&sector_bytes) {
            return Err(damaged(statement!(catalogue::VHDX_SECTORS, sector_bytes = sector_bytes)));
        }
        let (block_bytes, sector_bytes) = (block_bytes.into(), sector_bytes.into());
        Ok(Shape { block_bytes, size_bytes, sector_bytes })
    }
}

fn map(file: &mut ImageFile<'_>, shape: &Shape, bat: (u64, u64)) -> Result<ImageMap, Error> {
    // After every so many blocks the table has one entry for their sector bitmap.
    let chunk = (1 << 23) * shape.sector_bytes / shape.block_bytes;
    let blocks = shape.size_bytes.div_ceil(shape.block_bytes);
    let entries = blocks + blocks.saturating_sub(1) / chunk;
    if entries.saturating_mul(8) > bat.1 {
        return Err(damaged(statement!(catalogue::VHDX_TABLE, blocks = blocks, bytes = bat.1)));
    }
    let mut table = file.table(bat.0, entries * 8)?;
    let mut at = 0;
    table.retain(|_| {
        at += 1;
        !((at - 1) / 8 + 1_u64).is_multiple_of(chunk + 1)
    });
    one_table(shape.size_bytes, shape.block_bytes, &table, 8, |bytes| {
        let entry = low64(bytes, 0);
        match entry & 7 {
            0 => Ok(Entry::HOLE),
            1..=3 => Ok(Entry::ZERO),
            6 => Ok(Entry::at(entry >> 20 << 20)),
            state => Err(damaged(statement!(catalogue::VHDX_BLOCK_STATE, state = state))),
        }
    })
}
