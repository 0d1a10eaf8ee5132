//! VMDK in sparse files (Virtual Disk Format 5.0): two levels of tables of sectors, low byte first;
//! grains may be packed. A disk in one file has its description in it. Of a disk in several files a
//! file of text names them in their order, and none is opened by its word: it is told how they are
//! named.

use std::path::Path;

use block::{Error, ErrorKind, Node};
use words::statement;

use super::{ImageFormat, ImageHeader, ImageUse};
use crate::catalogue;
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

pub(super) fn read(file: &mut ImageFile<'_>, image_use: &ImageUse) -> Result<ImageHeader, Error> {
    let mut header: [u8; HEADER_BYTES as usize] = file.head(0)?;
    match (descriptor(file, &header)?, *image_use == ImageUse::Extent) {
        (Some(descriptor), false) => check_descriptor(&descriptor)?,
        (None, true) => (),
        (Some(_), true) => {
            let text = catalogue::VMDK_NO_PART;
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        (None, false) => {
            return Err(unknown(catalogue::VMDK_PART));
        }
    }
    file.keep(0, HEADER_BYTES);
    if low64(&header, 56) == AT_END {
        // One that was written in one go: the header stands once more before its end.
        let last = (file.size_bytes / SECTOR * SECTOR)
            .checked_sub(2 * SECTOR)
            .ok_or_else(|| damaged(catalogue::TOO_SHORT))?;
        header = file.head(last)?;
        if !header.starts_with(MAGIC) {
            return Err(damaged(catalogue::VMDK_ENDS));
        }
        file.keep(last, HEADER_BYTES);
    }
    let version = low32(&header, 4);
    if !(1..=3).contains(&version) {
        return Err(unknown(statement!(catalogue::VMDK_VERSION, version = version)));
    }
    let flags = low32(&header, 8);
    let packing = u16::from_le_bytes([header[77], header[78]]);
    if flags & PACKED != 0 && packing != DEFLATE {
        return Err(unknown(statement!(catalogue::VMDK_PACKING, packing = packing)));
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

/// The text in the image; `None` where it has none, for it is a part of a disk.
fn descriptor(file: &mut ImageFile<'_>, header: &[u8]) -> Result<Option<String>, Error> {
    let (offset, length) = (low64(header, 28), low64(header, 36).saturating_mul(SECTOR));
    if offset == 0 || length == 0 {
        return Ok(None);
    }
    let text = descriptor_at(file, offset.saturating_mul(SECTOR), length)?;
    // qemu leaves room for one in each part.
    Ok((!text.trim().is_empty()).then_some(text))
}

fn descriptor_at(file: &mut ImageFile<'_>, offset: u64, length: u64) -> Result<String, Error> {
    if length > DESCRIPTOR_BYTES_MAX {
        return Err(damaged(statement!(catalogue::DESCRIPTOR_LENGTH, length = length)));
    }
    let mut text = file.bytes(offset, length, catalogue::A_DESCRIPTOR)?;
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    // What is looked for is ASCII; names of files are in whatever their system has.
    text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    String::from_utf8(text).map_err(|_| damaged(catalogue::DESCRIPTOR_NO_TEXT))
}

/// What a descriptor says under a name.
fn said(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let mut found = lines.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase())
}

fn must_stand_by_itself(text: &str) -> Result<(), Error> {
    match said(text, "parentCID").is_some_and(|parent| parent != "ffffffff") {
        true => Err(unknown(catalogue::VMDK_DIFFERENCE)),
        false => Ok(()),
    }
}

/// A part of a disk as a descriptor has it: `RW 4192256 SPARSE "disk-s001.vmdk" 0`.
struct Extent<'a> {
    sectors: &'a str,
    kind: &'a str,
    /// The name of its file, and where in it the part begins, in sectors.
    file: Option<(&'a str, &'a str)>,
}

impl Extent<'_> {
    fn parse(line: &str) -> Option<Extent<'_>> {
        let (access, rest) = line.trim().split_once(char::is_whitespace)?;
        let (sectors, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let is_extent = matches!(access, "RW" | "RDONLY" | "NOACCESS")
            && sectors.bytes().all(|byte| byte.is_ascii_digit());
        let mut rest = rest.trim_start().splitn(3, '"');
        let kind = rest.next().unwrap_or_default().trim();
        let file = rest.next().map(|name| (name, rest.next().unwrap_or_default().trim()));
        is_extent.then_some(Extent { sectors, kind, file })
    }

    /// The text that names it; `None` for one that is in no file, or in one of a kind that is not
    /// read.
    fn node(&self) -> Option<Node> {
        let (name, offset) = self.file?;
        let file = Node::file(Path::new(name));
        match self.kind {
            "SPARSE" => Some(Node::layer("image", vec![file]).with("extent", "yes")),
            "FLAT" | "VMFS" => {
                let offset: u64 = offset.parse().unwrap_or(0);
                let sectors: u64 = self.sectors.parse().ok()?;
                let bytes = |sectors: u64| sectors.saturating_mul(SECTOR);
                match offset {
                    0 => Some(file),
                    _ => Some(file.with("offset", bytes(offset)).with("size", bytes(sectors))),
                }
            }
            _ => None,
        }
    }
}

/// The disk has to be in this file, all of it.
fn check_descriptor(text: &str) -> Result<(), Error> {
    must_stand_by_itself(text)?;
    match text.lines().filter_map(Extent::parse).count() {
        0 | 1 => Ok(()),
        count => Err(unknown(statement!(catalogue::VMDK_FILES, count = count))),
    }
}

const DESCRIBES: &[u8] = b"# Disk DescriptorFile";

/// What is to be said of a file of text that only describes a disk; `None` where it is none.
pub(super) fn only_describes(file: &mut ImageFile<'_>) -> Result<Option<Error>, Error> {
    let mut start = [0; DESCRIBES.len()];
    if file.size_bytes < start.len() as u64 {
        return Ok(None);
    }
    file.read(0, &mut start)?;
    if start != *DESCRIBES {
        return Ok(None);
    }
    let text = descriptor_at(file, 0, file.size_bytes.min(DESCRIPTOR_BYTES_MAX))?;
    must_stand_by_itself(&text)?;
    let extents: Vec<Extent<'_>> = text.lines().filter_map(Extent::parse).collect();
    let unread = extents.iter().find(|extent| extent.node().is_none());
    if let Some(Extent { kind, .. }) = unread {
        let kind = kind.escape_default();
        return Ok(Some(unknown(statement!(catalogue::VMDK_PART_KIND, kind = kind.to_string()))));
    }
    let mut nodes: Vec<Node> = extents.iter().filter_map(Extent::node).collect();
    let named = match nodes.len() {
        0 => return Ok(Some(damaged(catalogue::VMDK_NAMES_NONE))),
        1 => nodes.remove(0),
        _ => Node::layer("linear", nodes),
    };
    let count = extents.len();
    let text = statement!(catalogue::VMDK_DESCRIBES, count = count, named = named.to_string());
    Ok(Some(Error::new(ErrorKind::Refused, text)))
}

fn map(file: &mut ImageFile<'_>, header: &[u8], flags: u32) -> Result<ImageMap, Error> {
    let size_bytes = low64(header, 12).saturating_mul(SECTOR);
    let grain_bytes = low64(header, 20).saturating_mul(SECTOR);
    let table_entries = low32(header, 44);
    if !grain_bytes.is_power_of_two() || !(4096..=64 << 20).contains(&grain_bytes) {
        return Err(damaged(statement!(catalogue::GRAIN_LENGTH, grain_bytes = grain_bytes)));
    }
    if !(1..=TABLE_ENTRIES_MAX).contains(&table_entries) {
        return Err(damaged(statement!(catalogue::GRAIN_TABLES, table_entries = table_entries)));
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
