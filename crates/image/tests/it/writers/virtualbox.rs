//! VDI and VHD as VirtualBox writes them.

use std::fs;

use super::virtual_pc::{Footer, dynamic};
use super::{SIZE, block, identity, is_read_as, is_refused, low, low_long, put, written};
use crate::support::{disk, has_qemu};

const BLOCK: usize = 1 << 20;
const DYNAMIC: u32 = 1;
const STATIC: u32 = 2;
const DIFFERENCING: u32 = 4;

/// A VDI: its table of blocks and its data begin at multiples of `align_bytes`. Blocks have their
/// places in the order in which they were written; one that was zeroed has a mark of its own.
fn vdi(disk: &[u8], kind: u32, align_bytes: usize) -> Vec<u8> {
    let count = disk.len().div_ceil(BLOCK);
    let order = match kind {
        STATIC => (0..count).collect(),
        _ => written(disk, BLOCK, 3),
    };
    let table_at = 472_usize.next_multiple_of(align_bytes);
    let data_at = (table_at + 4 * count).next_multiple_of(align_bytes);
    let mut bytes = Vec::new();
    put(&mut bytes, 0, b"<<< Oracle VM VirtualBox Disk Image >>>\n");
    for (at, number) in [
        (64, 0xbeda_107f),
        (68, 0x0001_0001),
        (72, 400),
        (76, kind),
        (340, table_at as u32),
        (344, data_at as u32),
        (360, 512),
        (376, BLOCK as u32),
        (384, count as u32),
        (388, order.len() as u32),
        // The geometry that the guest's BIOS was told.
        (456, (disk.len() / 512 / 255 / 63) as u32),
        (460, 255),
        (464, 63),
        (468, 512),
    ] {
        low(&mut bytes, at, number);
    }
    put(&mut bytes, 84, "a disk of märchen".as_bytes());
    low_long(&mut bytes, 368, disk.len() as u64);
    put(&mut bytes, 392, &identity(1));
    put(&mut bytes, 408, &identity(2));
    if kind == DIFFERENCING {
        put(&mut bytes, 424, &identity(3));
        put(&mut bytes, 440, &identity(4));
    }
    for number in 0..count {
        let place = order.iter().position(|of| *of == number);
        let free = if number % 2 == 0 { u32::MAX } else { u32::MAX - 1 };
        low(&mut bytes, table_at + 4 * number, place.map_or(free, |place| place as u32));
    }
    for (place, number) in order.iter().enumerate() {
        put(&mut bytes, data_at + place * BLOCK, &block(disk, BLOCK, *number));
    }
    bytes
}

#[test]
fn vdi_as_virtualbox_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut disk = disk(SIZE, 21);
    disk[BLOCK..3 * BLOCK].fill(0);
    // Before 4.3 what it aligned was sectors.
    for (name, kind, align_bytes) in [
        ("dynamic", DYNAMIC, 1 << 20),
        ("static", STATIC, 1 << 20),
        ("older", DYNAMIC, 512),
        ("older static", STATIC, 512),
    ] {
        fs::write(folder.join(name), vdi(&disk, kind, align_bytes)).unwrap();
        is_read_as(folder, name, &disk, &format!("-f vdi '{name}'"));
    }
    let child = vdi(&disk, DIFFERENCING, 1 << 20);
    is_refused(folder, "child", &child, "VDI of kind 4");
}

/// It writes the size as it is beside a geometry that ends at 16,383 cylinders; qemu goes by the
/// geometry unless it is told not to.
#[test]
fn vhd_as_virtualbox_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk(SIZE, 22);
    let sectors = disk.len() / 512;
    let geometry = (sectors / 16 / 63, 16, 63);
    assert!(geometry.0 * geometry.1 * geometry.2 < sectors, "it is shorter");
    let footer = Footer { creator: *b"vbox", geometry, ..Footer::of(disk.len()) };
    fs::write(folder.join("dynamic"), dynamic(&disk, &footer, 2 << 20, 512)).unwrap();
    fs::write(folder.join("fixed"), footer.behind(&disk)).unwrap();
    for name in ["dynamic", "fixed"] {
        let how = format!(
            "--image-opts driver=vpc,force_size_calc=current_size,file.driver=file,file.filename={name}"
        );
        is_read_as(folder, name, &disk, &how);
    }
}
