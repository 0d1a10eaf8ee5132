//! VHD, fixed and dynamic (Virtual Hard Disk Image Format Specification, version 1.0): a footer of
//! 512 bytes, high byte first; a dynamic one has it at the start too.

use block::Error;
use words::statement;

use super::{ImageFormat, ImageHeader, clusters, one_table};
use crate::catalogue;
use crate::map::{Entry, ImageMap, Table, damaged, unknown};
use crate::packed::Packing;
use crate::source::{ImageFile, high32, high64};

pub(super) const MAGIC: &[u8] = b"conectix";
const DYNAMIC_MAGIC: &[u8] = b"cxsparse";
const FOOTER_BYTES: u64 = 512;
const HEADER_BYTES: u64 = 1024;
const FIXED: u32 = 2;
const DYNAMIC: u32 = 3;
const DIFFERENCING: u32 = 4;
const HOLE: u32 = u32::MAX;
/// Who writes the size as it is; others mean what the geometry comes to.
const EXACT: [&[u8; 4]; 7] = [b"win ", b"vbox", b"qem2", b"d2v ", b"tap\0", b"CTXS", b"wa\0\0"];
/// The largest geometry there is: a larger disk cannot mean it.
const LARGEST: u64 = 65_535 * 16 * 255;

/// Where the footer at the end of a file begins. Programs before Virtual PC 2004 leave out its last
/// byte.
pub(super) fn footer_offset(file_bytes: u64) -> u64 {
    (file_bytes + 1) / 512 * 512 - 512
}

/// What lies there, with a last byte that may be left out.
pub(super) fn footer(file: &mut ImageFile<'_>, last: u64) -> Result<[u8; 512], Error> {
    let mut bytes = [0; 512];
    let there = file.size_bytes.saturating_sub(last).min(FOOTER_BYTES);
    file.read(last, &mut bytes[..there as usize])?;
    Ok(bytes)
}

pub(super) fn read(file: &mut ImageFile<'_>, last: u64) -> Result<ImageHeader, Error> {
    let end = footer(file, last)?;
    let start: [u8; 512] = file.head(0)?;
    // Where one copy is damaged the other is taken.
    let footer = [end, start].into_iter().find(|bytes| bytes.starts_with(MAGIC) && fits(bytes, 64));
    let footer = footer.ok_or_else(|| damaged(catalogue::FOOTER_CHECKSUM))?;
    let size_bytes = size(&footer);
    let map = match high32(&footer, 60) {
        FIXED => fixed(size_bytes, last)?,
        DYNAMIC => dynamic(file, high64(&footer, 16), size_bytes, last)?,
        DIFFERENCING => {
            return Err(unknown(catalogue::VHD_DIFFERENCE));
        }
        kind => return Err(unknown(statement!(catalogue::VHD_KIND, kind = kind))),
    };
    Ok(ImageHeader {
        format: ImageFormat::Vhd,
        backing: None,
        map,
        packing: Packing::Deflate,
        note: None,
        tables: None,
        size_bytes: 0,
    })
}

/// Whether the sum of all bytes but those of the checksum is the one that is said, each bit turned.
fn fits(bytes: &[u8], at: usize) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u32, |sum, &byte| sum.wrapping_add(byte.into()));
    !sum(&bytes[..at]).wrapping_add(sum(&bytes[at + 4..])) == high32(bytes, at)
}

fn size(footer: &[u8]) -> u64 {
    let cylinders = u64::from(high32(footer, 56) >> 16);
    let sectors = cylinders * u64::from(footer[58]) * u64::from(footer[59]);
    let creator = &footer[28..32];
    let is_exact = EXACT.iter().any(|name| creator == *name) || sectors >= LARGEST || sectors == 0;
    if is_exact { high64(footer, 48) } else { sectors * 512 }
}

fn fixed(size_bytes: u64, last: u64) -> Result<ImageMap, Error> {
    if size_bytes > last {
        return Err(damaged(statement!(catalogue::VHD_DISK, size_bytes = size_bytes, last = last)));
    }
    let tables = vec![Some(Table::of(vec![Entry::at(0)]))];
    Ok(ImageMap::new(size_bytes, size_bytes.max(512), 1, tables))
}

fn dynamic(
    file: &mut ImageFile<'_>,
    header_offset: u64,
    size_bytes: u64,
    last: u64,
) -> Result<ImageMap, Error> {
    let header: [u8; HEADER_BYTES as usize] = file.head(header_offset)?;
    if !header.starts_with(DYNAMIC_MAGIC) || !fits(&header, 36) {
        return Err(damaged(catalogue::VHD_HEADER));
    }
    file.keep(0, FOOTER_BYTES);
    file.keep(header_offset, HEADER_BYTES);
    file.keep(last, FOOTER_BYTES);
    let cluster_bytes = u64::from(high32(&header, 32));
    if cluster_bytes < 512 || !cluster_bytes.is_power_of_two() {
        return Err(damaged(statement!(catalogue::BLOCK_LENGTH, cluster_bytes = cluster_bytes)));
    }
    let count = clusters(size_bytes, cluster_bytes, high32(&header, 28).into())?;
    // In front of each block's data stand bits of its sectors, in whole sectors.
    let bits_bytes = (cluster_bytes / 512).div_ceil(8).next_multiple_of(512);
    let table = file.table(high64(&header, 16), count * 4)?;
    let map = one_table(size_bytes, cluster_bytes, &table, 4, |bytes| {
        Ok(match high32(bytes, 0) {
            HOLE => Entry::HOLE,
            sector => Entry::at(u64::from(sector) * 512 + bits_bytes),
        })
    })?;
    file.check(&map, cluster_bytes)?;
    Ok(map)
}
