//! VMDK as VMware's programs write it.

use std::fs;

use block::Device;
use image::{ImageDevice, ImageOptions, ImageUse};
use miniz_oxide::deflate::compress_to_vec_zlib;

use super::{SIZE, STRANGER, block, is_read_as, is_refused, low, low_long, put, written};
use crate::support::{disk, file, has_qemu, open_file, read_all, shell};

const SECTOR: usize = 512;
const GRAIN: usize = 64 << 10;
const TABLE_ENTRIES: usize = 512;
/// Sectors of a table of grains.
const TABLE_SECTORS: usize = TABLE_ENTRIES * 4 / SECTOR;
const DESCRIPTOR_SECTORS: usize = 20;
const AT_END: u64 = u64::MAX;

fn descriptor(kind: &str, parent: Option<&str>, extents: &str) -> String {
    let (parent_id, hint) = match parent {
        None => ("ffffffff", String::new()),
        Some(name) => ("8ad9b7e1", format!("parentFileNameHint=\"{name}\"\n")),
    };
    format!(
        "# Disk DescriptorFile\nversion=1\nencoding=\"windows-1252\"\nCID=5f3a2c10\n\
        parentCID={parent_id}\nisNativeSnapshot=\"no\"\ncreateType=\"{kind}\"\n{hint}\n\
        # Extent description\n{extents}\n\n# The Disk Data Base\n#DDB\n\n\
        ddb.adapterType = \"lsilogic\"\nddb.geometry.cylinders = \"5\"\n\
        ddb.geometry.heads = \"255\"\nddb.geometry.sectors = \"63\"\nddb.virtualHWVersion = \"14\"\n"
    )
}

/// The header of a sparse part; `tables` are the copy of its directory and the directory.
fn header(disk: &[u8], version: u32, flags: u32, text: &str, tables: (u64, u64)) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    put(&mut bytes, 0, b"KDMV");
    low(&mut bytes, 4, version);
    low(&mut bytes, 8, flags);
    low_long(&mut bytes, 12, (disk.len() / SECTOR) as u64);
    low_long(&mut bytes, 20, (GRAIN / SECTOR) as u64);
    if !text.is_empty() {
        low_long(&mut bytes, 28, 1);
        low_long(&mut bytes, 36, DESCRIPTOR_SECTORS as u64);
    }
    low(&mut bytes, 44, TABLE_ENTRIES as u32);
    low_long(&mut bytes, 48, tables.0);
    low_long(&mut bytes, 56, tables.1);
    low_long(&mut bytes, 64, (GRAIN / SECTOR) as u64);
    put(&mut bytes, 73, b"\n \r\n");
    put(&mut bytes, 77, &[u8::from(flags & 1 << 16 != 0), 0]);
    put(&mut bytes, SECTOR, text.as_bytes());
    bytes
}

/// A part that grows: two directories, each with its tables behind it, and grains in the order in
/// which they were written.
fn sparse(disk: &[u8], text: &str) -> Vec<u8> {
    let tables = disk.len().div_ceil(GRAIN * TABLE_ENTRIES);
    let directory_sectors = (4 * tables).div_ceil(SECTOR);
    let first = 1 + DESCRIPTOR_SECTORS;
    let second = first + directory_sectors + tables * TABLE_SECTORS;
    let end = second + directory_sectors + tables * TABLE_SECTORS;
    let mut bytes = header(disk, 1, 3, text, (first as u64, second as u64));
    let data_at = (end * SECTOR).next_multiple_of(GRAIN);
    let order = written(disk, GRAIN, 17);
    for directory in [first, second] {
        let table_at = |number: usize| directory + directory_sectors + number * TABLE_SECTORS;
        for number in 0..tables {
            low(&mut bytes, directory * SECTOR + 4 * number, table_at(number) as u32);
        }
        for (place, grain) in order.iter().enumerate() {
            let at = table_at(grain / TABLE_ENTRIES) * SECTOR + grain % TABLE_ENTRIES * 4;
            low(&mut bytes, at, ((data_at + place * GRAIN) / SECTOR) as u32);
        }
    }
    put(&mut bytes, data_at - 1, &[0]);
    order.iter().for_each(|grain| bytes.extend(block(disk, GRAIN, *grain)));
    bytes
}

/// A marker that stands before so many sectors of something.
fn marker(sectors: usize, kind: u32) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    low_long(&mut bytes, 0, sectors as u64);
    low(&mut bytes, 12, kind);
    bytes
}

/// A part that was written in one go: packed grains, then their tables and the directory, each
/// behind a marker, and the header once more.
fn stream(disk: &[u8], text: &str) -> Vec<u8> {
    const FLAGS: u32 = 1 | 1 << 16 | 1 << 17;
    let mut bytes = header(disk, 3, FLAGS, text, (0, AT_END));
    bytes.resize(GRAIN, 0);
    let count = disk.len().div_ceil(GRAIN);
    let mut directory = Vec::new();
    for first in (0..count).step_by(TABLE_ENTRIES) {
        let mut table = vec![0; TABLE_SECTORS * SECTOR];
        for grain in first..count.min(first + TABLE_ENTRIES) {
            // The last is as long as the disk has it.
            let data = disk.chunks(GRAIN).nth(grain).expect("a grain");
            if data.iter().all(|byte| *byte == 0) {
                continue;
            }
            low(&mut table, 4 * (grain - first), (bytes.len() / SECTOR) as u32);
            let packed = compress_to_vec_zlib(data, 6);
            bytes.extend(((grain * GRAIN / SECTOR) as u64).to_le_bytes());
            bytes.extend((packed.len() as u32).to_le_bytes());
            bytes.extend(packed);
            bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
        }
        bytes.extend(marker(TABLE_SECTORS, 1));
        directory.extend(((bytes.len() / SECTOR) as u32).to_le_bytes());
        bytes.extend(table);
    }
    directory.resize(directory.len().next_multiple_of(SECTOR), 0);
    bytes.extend(marker(directory.len() / SECTOR, 2));
    let directory_at = (bytes.len() / SECTOR) as u64;
    bytes.extend(directory);
    bytes.extend(marker(1, 3));
    bytes.extend(&header(disk, 3, FLAGS, text, (0, directory_at))[..SECTOR]);
    bytes.extend(marker(0, 0));
    bytes
}

fn one_file(disk: &[u8], kind: &str, parent: Option<&str>) -> String {
    let extent = format!("RW {} SPARSE \"disk.vmdk\"", disk.len() / SECTOR);
    descriptor(kind, parent, &extent)
}

#[test]
fn vmdk_as_vmware_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Of two tables of grains, the last grain not whole.
    let disk = disk((33 << 20) + SIZE % GRAIN, 51);
    for (name, image) in [
        ("sparse", sparse(&disk, &one_file(&disk, "monolithicSparse", None))),
        ("stream", stream(&disk, &one_file(&disk, "streamOptimized", None))),
    ] {
        fs::write(folder.join(name), image).unwrap();
        is_read_as(folder, name, &disk, &format!("-f vmdk {name}"));
    }
    let child = sparse(&disk, &one_file(&disk, "monolithicSparse", Some(STRANGER)));
    is_refused(folder, "child", &child, "differs from another VMDK");
    let text = descriptor("twoGbMaxExtentSparse", Some(STRANGER), "RW 8 SPARSE \"c-s001.vmdk\"");
    is_refused(folder, "children", text.as_bytes(), "differs from another VMDK");
}

#[test]
fn vmdk_in_several_files_as_vmware_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk((5 << 20) + 24 * SECTOR, 52);
    let (mut lines, mut named, mut found) = (Vec::new(), Vec::new(), Vec::new());
    // The last one is shorter; here all of them are, by much.
    for (number, part) in disk.chunks(2 << 20).enumerate() {
        let name = format!("disk-s{:03}.vmdk", number + 1);
        fs::write(folder.join(&name), sparse(part, "")).unwrap();
        lines.push(format!("RW {} SPARSE \"{name}\"", part.len() / SECTOR));
        named.push(format!("image(extent=yes, file:{name})"));
        let options = ImageOptions { image_use: ImageUse::Extent, ..ImageOptions::default() };
        let opened = ImageDevice::open(file(folder, &name), None, options).expect("a part");
        assert_eq!(opened.info().size_bytes, part.len() as u64);
        found.extend(read_all(&opened));
    }
    assert!(found == disk);
    let text = descriptor("twoGbMaxExtentSparse", None, &lines.join("\n"));
    fs::write(folder.join("disk.vmdk"), text).unwrap();
    shell(folder, "qemu-img convert -f vmdk -O raw disk.vmdk back");
    assert!(fs::read(folder.join("back")).unwrap() == disk);
    let error = open_file(folder, "disk.vmdk", None, None).map(drop).expect_err("named");
    let words = format!("linear({})", named.join(", "));
    assert!(error.to_string().contains(&words), "{error}");
}
