//! VDI of VirtualBox: one table of blocks, low byte first.

use block::Error;
use words::statement;

use super::{ImageFormat, ImageHeader, clusters, one_table};
use crate::catalogue;
use crate::map::{Entry, damaged, unknown};
use crate::packed::Packing;
use crate::source::{ImageFile, low32, low64};

pub(super) const MAGIC: &[u8] = &0xbeda_107f_u32.to_le_bytes();
pub(super) const MAGIC_OFFSET: usize = 64;
const HEADER_BYTES: u64 = 512;
const DYNAMIC: u32 = 1;
const STATIC: u32 = 2;
const HOLE: u32 = u32::MAX;
const DISCARDED: u32 = u32::MAX - 1;

pub(super) fn read(file: &mut ImageFile<'_>) -> Result<ImageHeader, Error> {
    let header: [u8; HEADER_BYTES as usize] = file.head(0)?;
    let version = low32(&header, 68);
    if version != 0x0001_0001 {
        return Err(unknown(statement!(
            catalogue::VDI_VERSION,
            major = version >> 16,
            minor = version & 0xffff
        )));
    }
    match low32(&header, 76) {
        DYNAMIC | STATIC => (),
        kind => {
            return Err(unknown(statement!(catalogue::VDI_KIND, kind = kind)));
        }
    }
    let (block_bytes, extra) = (low32(&header, 376), low32(&header, 380));
    if low32(&header, 360) != 512
        || extra != 0
        || block_bytes < 512
        || !block_bytes.is_power_of_two()
    {
        return Err(unknown(statement!(
            catalogue::VDI_BLOCKS,
            block_bytes = block_bytes,
            extra = extra
        )));
    }
    let (size_bytes, block) = (low64(&header, 368), u64::from(block_bytes));
    let count = clusters(size_bytes, block, low32(&header, 384).into())?;
    let data = u64::from(low32(&header, 344));
    if !data.is_multiple_of(512) {
        return Err(damaged(statement!(catalogue::DATA_MISPLACED, data = data)));
    }
    file.keep(0, HEADER_BYTES);
    let table = file.table(low32(&header, 340).into(), count * 4)?;
    let map = one_table(size_bytes, block, &table, 4, |bytes| {
        Ok(match low32(bytes, 0) {
            HOLE => Entry::HOLE,
            DISCARDED => Entry::ZERO,
            number => Entry::at(data + u64::from(number) * block),
        })
    })?;
    file.check(&map, block)?;
    Ok(ImageHeader {
        format: ImageFormat::Vdi,
        backing: None,
        map,
        packing: Packing::Deflate,
        note: None,
        tables: None,
        size_bytes: 0,
    })
}
