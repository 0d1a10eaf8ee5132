//! VHDX as Hyper-V writes it.

use std::fs;
use std::path::Path;

use block::{Blocking, Device, Reactor};

use super::{SIZE, STRANGER, identity, is_read_as, is_read_here_as, is_refused};
use super::{low, low_long, put, written};
use crate::support::{disk, file, has_qemu, open, open_file, shell};

const MIB: usize = 1 << 20;
const LOG_AT: usize = MIB;
const LOG_BYTES: usize = MIB;
const PAGE: usize = 4096;
const DIFFERENCING: u32 = 2;

type Guid = [u8; 16];
const BAT: Guid = guid(0x2dc2_7766, 0xf623, 0x4200, 0x9d64_115e_9bfd_4a08);
const METADATA: Guid = guid(0x8b7c_a206, 0x4790, 0x4b9a, 0xb8fe_575f_050f_886e);
const PARAMETERS: Guid = guid(0xcaa1_6737, 0xfa36, 0x4d43, 0xb3b6_33f0_aa44_e76b);
const DISK_SIZE: Guid = guid(0x2fa5_4224, 0xcd1b, 0x4876, 0xb211_5dbe_d83b_f4b8);
const DISK_IDENTITY: Guid = guid(0xbeca_12ab, 0xb2e6, 0x4523, 0x93ef_c309_e000_c746);
const LOGICAL_SECTOR: Guid = guid(0x8141_bf1d, 0xa96f, 0x4709, 0xba47_f233_a8fa_ab5f);
const PHYSICAL_SECTOR: Guid = guid(0xcda3_48c7, 0x445d, 0x4471, 0x9cc9_e988_5251_c556);
const PARENT: Guid = guid(0xa8d3_5f2d, 0xb30b, 0x454d, 0xabf7_d3d8_4834_ab0c);

const fn guid(one: u32, two: u16, three: u16, rest: u64) -> Guid {
    let (a, b, c, d) =
        (one.to_le_bytes(), two.to_le_bytes(), three.to_le_bytes(), rest.to_be_bytes());
    [a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]]
}

/// How a VHDX is laid out.
#[derive(Clone, Copy)]
struct Layout {
    block_bytes: usize,
    sector_bytes: u32,
    metadata_at: usize,
    bat_at: usize,
    /// Where the first block's data are.
    data_at: usize,
    is_fixed: bool,
    has_parent: bool,
    /// What the headers say of the log.
    log: Guid,
}

const USUAL: Layout = Layout {
    block_bytes: MIB,
    sector_bytes: 512,
    metadata_at: 2 * MIB,
    bat_at: 3 * MIB,
    data_at: 4 * MIB,
    is_fixed: false,
    has_parent: false,
    log: [0; 16],
};

/// The checksum of all bytes, at byte 4.
fn sum(bytes: &mut Vec<u8>) {
    low(bytes, 4, 0);
    let sum = crc32c::crc32c(bytes);
    low(bytes, 4, sum);
}

impl Layout {
    fn header(&self, sequence: u64) -> Vec<u8> {
        let mut bytes = vec![0; PAGE];
        put(&mut bytes, 0, b"head");
        low_long(&mut bytes, 8, sequence);
        put(&mut bytes, 16, &identity(11));
        put(&mut bytes, 32, &identity(12));
        put(&mut bytes, 48, &self.log);
        low(&mut bytes, 64, 1 << 16);
        low(&mut bytes, 68, LOG_BYTES as u32);
        low_long(&mut bytes, 72, LOG_AT as u64);
        sum(&mut bytes);
        bytes
    }

    fn regions(&self) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        put(&mut bytes, 0, b"regi");
        low(&mut bytes, 8, 2);
        for (at, (name, offset)) in [(16, (BAT, self.bat_at)), (48, (METADATA, self.metadata_at))] {
            put(&mut bytes, at, &name);
            low_long(&mut bytes, at + 16, offset as u64);
            low(&mut bytes, at + 24, MIB as u32);
            low(&mut bytes, at + 28, 1);
        }
        sum(&mut bytes);
        bytes
    }

    fn metadata(&self, disk_bytes: u64) -> Vec<u8> {
        let flags = u32::from(self.is_fixed) | if self.has_parent { DIFFERENCING } else { 0 };
        let parameters = [(self.block_bytes as u32).to_le_bytes(), flags.to_le_bytes()].concat();
        let mut items = vec![
            (PARAMETERS, 4, parameters),
            (DISK_SIZE, 6, disk_bytes.to_le_bytes().to_vec()),
            (DISK_IDENTITY, 6, identity(13).to_vec()),
            (LOGICAL_SECTOR, 6, self.sector_bytes.to_le_bytes().to_vec()),
            (PHYSICAL_SECTOR, 6, 4096_u32.to_le_bytes().to_vec()),
        ];
        if self.has_parent {
            items.push((PARENT, 4, locator()));
        }
        let mut bytes = b"metadata".to_vec();
        put(&mut bytes, 10, &(items.len() as u16).to_le_bytes());
        let mut item_at = 64 << 10;
        for (number, (name, flags, item)) in items.iter().enumerate() {
            let at = 32 + 32 * number;
            put(&mut bytes, at, name);
            low(&mut bytes, at + 16, item_at as u32);
            low(&mut bytes, at + 20, item.len() as u32);
            low(&mut bytes, at + 24, *flags);
            put(&mut bytes, item_at, item);
            item_at += item.len().next_multiple_of(8);
        }
        bytes
    }

    /// Where the entry of a block is in the table: after so many of them comes that of a bitmap.
    fn entry_at(&self, block: usize) -> usize {
        let chunk = (1 << 23) * self.sector_bytes as usize / self.block_bytes;
        self.bat_at + 8 * (block + block / chunk)
    }

    /// All but the blocks' data; `places` are where those are that have some, and the others have
    /// each of the states that mean zeroes in turn.
    fn start(&self, disk_bytes: u64, places: &[(usize, usize)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, 0, b"vhdxfile");
        let creator = "Microsoft Windows 10.0.20348.0".encode_utf16();
        put(&mut bytes, 8, &creator.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
        put(&mut bytes, 64 << 10, &self.header(8));
        put(&mut bytes, 128 << 10, &self.header(9));
        put(&mut bytes, 192 << 10, &self.regions());
        put(&mut bytes, 256 << 10, &self.regions());
        put(&mut bytes, self.metadata_at, &self.metadata(disk_bytes));
        for block in 0..disk_bytes.div_ceil(self.block_bytes as u64) as usize {
            let place = places.iter().find(|(own, _)| *own == block);
            let state = [0, 2, 3, 1][block % 4];
            let entry = place.map_or(state, |(_, at)| *at as u64 | 6);
            low_long(&mut bytes, self.entry_at(block), entry);
        }
        let end = self.data_at.max(self.bat_at + MIB);
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes
    }

    fn image(&self, disk: &[u8]) -> Vec<u8> {
        let count = disk.len().div_ceil(self.block_bytes);
        let order = match self.is_fixed {
            true => (0..count).collect(),
            false => written(disk, self.block_bytes, 9),
        };
        let places = order.iter().enumerate();
        let places: Vec<(usize, usize)> =
            places.map(|(at, block)| (*block, self.data_at + at * self.block_bytes)).collect();
        let mut bytes = self.start(disk.len() as u64, &places);
        for (block, at) in places {
            put(&mut bytes, at, &super::block(disk, self.block_bytes, block));
        }
        bytes
    }
}

/// Where the parent is, as a path of this file's folder and as one from the root on.
fn locator() -> Vec<u8> {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let pairs = [("relative_path", STRANGER), ("absolute_win32_path", STRANGER)];
    let mut bytes = guid(0xb04a_efb7, 0xd19e, 0x4a81, 0xb789_25b8_e944_5913).to_vec();
    put(&mut bytes, 18, &(pairs.len() as u16).to_le_bytes());
    let mut text_at = 20 + 12 * pairs.len();
    for (number, (key, value)) in pairs.iter().enumerate() {
        let (at, key, value) = (20 + 12 * number, wide(key), wide(value));
        low(&mut bytes, at, text_at as u32);
        low(&mut bytes, at + 4, (text_at + key.len()) as u32);
        put(&mut bytes, at + 8, &(key.len() as u16).to_le_bytes());
        put(&mut bytes, at + 10, &(value.len() as u16).to_le_bytes());
        put(&mut bytes, text_at, &[&key[..], &value].concat());
        text_at += key.len() + value.len();
    }
    bytes
}

#[test]
fn vhdx_as_hyper_v_writes_it() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk(SIZE - 3 * 512, 41);
    let table_last = Layout { metadata_at: 2 * MIB, bat_at: 20 * MIB, data_at: 3 * MIB, ..USUAL };
    let table_first = Layout { metadata_at: 3 * MIB, bat_at: 2 * MIB, ..USUAL };
    for (name, layout) in [
        ("dynamic", USUAL),
        ("fixed", Layout { is_fixed: true, ..USUAL }),
        ("the table last", table_last),
        ("the table first", table_first),
        ("usual blocks", Layout { block_bytes: 32 * MIB, ..USUAL }),
    ] {
        fs::write(folder.join(name), layout.image(&disk)).unwrap();
        is_read_as(folder, name, &disk, &format!("-f vhdx '{name}'"));
    }
    // qemu reads no such one.
    let long = Layout { sector_bytes: 4096, ..USUAL };
    fs::write(folder.join("long sectors"), long.image(&disk)).unwrap();
    is_read_here_as(folder, "long sectors", &disk);
    let child = Layout { has_parent: true, ..USUAL }.image(&disk);
    is_refused(folder, "child", &child, "differs from another VHDX");
}

/// After every so many blocks the table has an entry that is of none.
#[test]
fn the_table_of_a_long_vhdx_has_entries_of_bitmaps() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (blocks, size) = ([4098_usize, 0, 4096, 4095], 4099 * MIB as u64);
    let places: Vec<(usize, usize)> =
        blocks.iter().enumerate().map(|(at, block)| (*block, (4 + at) * MIB)).collect();
    let mut bytes = USUAL.start(size, &places);
    for (block, at) in &places {
        put(&mut bytes, *at, &disk(MIB, *block as u64));
    }
    fs::write(folder.join("long"), bytes).unwrap();
    shell(folder, "qemu-img convert -f vhdx -O raw long back");
    let image = open(file(folder, "long")).expect("a VHDX");
    assert_eq!(image.info().size_bytes, size);
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&image, &reactor).unwrap();
    let back = fs::File::open(folder.join("back")).unwrap();
    for block in [0, 1, 4094, 4095, 4096, 4097, 4098] {
        let (mut found, mut other) = (vec![0; MIB], vec![0; MIB]);
        channel.read_slice(block as u64 * MIB as u64, &mut found).unwrap();
        std::os::unix::fs::FileExt::read_exact_at(&back, &mut other, (block * MIB) as u64).unwrap();
        let held = if blocks.contains(&block) { disk(MIB, block as u64) } else { vec![0; MIB] };
        assert!(found == held && other == held, "{block}");
    }
}

/// What an entry of the log is to write: pages at their offsets, and so many zeroes.
enum LogWrite<'a> {
    Page(usize, &'a [u8]),
    Zeroes(usize, usize),
}

/// An entry of the log, of those that begin with the one at `tail`.
fn entry(
    log: Guid,
    sequence: u64,
    tail: usize,
    file_bytes: usize,
    writes: &[LogWrite<'_>],
) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    put(&mut bytes, 0, b"loge");
    low(&mut bytes, 12, tail as u32);
    low_long(&mut bytes, 16, sequence);
    low(&mut bytes, 24, writes.len() as u32);
    put(&mut bytes, 32, &log);
    low_long(&mut bytes, 48, file_bytes as u64);
    low_long(&mut bytes, 56, file_bytes as u64);
    for (number, write) in writes.iter().enumerate() {
        let at = 64 + 32 * number;
        match write {
            LogWrite::Page(offset, page) => {
                put(&mut bytes, at, b"desc");
                put(&mut bytes, at + 4, &page[PAGE - 4..]);
                put(&mut bytes, at + 8, &page[..8]);
                low_long(&mut bytes, at + 16, *offset as u64);
                let mut sector = page.to_vec();
                put(&mut sector, 0, b"data");
                low(&mut sector, 4, (sequence >> 32) as u32);
                low(&mut sector, PAGE - 4, sequence as u32);
                bytes.extend(sector);
            }
            LogWrite::Zeroes(offset, length) => {
                put(&mut bytes, at, b"zero");
                low_long(&mut bytes, at + 8, *length as u64);
                low_long(&mut bytes, at + 16, *offset as u64);
            }
        }
        low_long(&mut bytes, at + 24, sequence);
    }
    let length = bytes.len() as u32;
    low(&mut bytes, 8, length);
    sum(&mut bytes);
    bytes
}

/// Puts an entry into the log, round its end.
fn log_at(bytes: &mut Vec<u8>, at: usize, entry: &[u8]) {
    for (number, page) in entry.chunks(PAGE).enumerate() {
        put(bytes, LOG_AT + (at + number * PAGE) % LOG_BYTES, page);
    }
}

/// An image whose table was written to the log and not to its place, and what its disk holds. The
/// log goes round its end, and has older entries in it.
fn unfinished(disk: &[u8]) -> Vec<u8> {
    let layout = Layout { log: identity(14), ..USUAL };
    let mut bytes = layout.image(disk);
    let (end, sequence) = (bytes.len(), (1 << 32) + 7);
    let table = bytes[USUAL.bat_at..USUAL.bat_at + PAGE].to_vec();
    // What is in its place is older, and behind it is what is to be cleared.
    let older: Vec<u8> = table.iter().map(|byte| byte & 7).collect();
    put(&mut bytes, USUAL.bat_at, &vec![0; PAGE]);
    put(&mut bytes, USUAL.bat_at + PAGE, &vec![0xff; 2 * PAGE]);
    let (first, second, stale) = (LOG_BYTES - PAGE, PAGE, 16 * PAGE);
    let writes = [LogWrite::Page(USUAL.bat_at, &older)];
    log_at(&mut bytes, first, &entry(layout.log, sequence, first, end, &writes));
    let zeroes = LogWrite::Zeroes(USUAL.bat_at + PAGE, 2 * PAGE);
    let writes = [LogWrite::Page(USUAL.bat_at, &table), zeroes];
    log_at(&mut bytes, second, &entry(layout.log, sequence + 1, first, end, &writes));
    let nonsense = vec![0xee; PAGE];
    let writes = [LogWrite::Page(USUAL.bat_at, &nonsense)];
    log_at(&mut bytes, stale, &entry(layout.log, 5, stale, end, &writes));
    // One of another log, and one that was torn.
    let other = entry(identity(15), sequence + 9, 32 * PAGE, end, &writes);
    log_at(&mut bytes, 32 * PAGE, &other);
    let mut torn = entry(layout.log, sequence + 2, first, end, &writes);
    torn[PAGE + 100] ^= 1;
    log_at(&mut bytes, second + 2 * PAGE, &torn);
    bytes
}

#[test]
fn what_is_in_the_log_of_a_vhdx_alone_is_read_from_there() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let disk = disk(SIZE - 3 * 512, 42);
    let image = unfinished(&disk);
    fs::write(folder.join("image"), &image).unwrap();
    let read = |name: &str| crate::support::read_all(&open_file(folder, name, None, None).unwrap());
    assert!(read("image") == disk);
    assert!(
        open(file(folder, "image"))
            .unwrap()
            .note()
            .is_some_and(|note| note.english().contains("log"))
    );
    assert!(fs::read(folder.join("image")).unwrap() == image, "it stays as it is");
    // qemu brings it in place, and reads the same.
    shell(folder, "cp image mended; qemu-img check -q -f vhdx -r all mended");
    assert!(fs::read(folder.join("mended")).unwrap() != image);
    is_read_as(folder, "mended", &disk, "-f vhdx mended");
    // Planted: without its last entry it is another disk, and without any it is refused.
    let mut cut = image.clone();
    put(&mut cut, LOG_AT + PAGE, &[0; 4]);
    fs::write(folder.join("cut"), &cut).unwrap();
    refuses(folder, "cut", &["data at", "a block in state"]);
    let mut none = image.clone();
    put(&mut none, LOG_AT, &vec![0; LOG_BYTES]);
    fs::write(folder.join("none"), &none).unwrap();
    refuses(folder, "none", &["nothing whole is"]);
    fs::write(folder.join("short"), &image[..image.len() - MIB]).unwrap();
    refuses(folder, "short", &["shorter than it was"]);
    let layout = Layout { log: identity(14), ..USUAL };
    let mut elsewhere = layout.image(&disk);
    let page = vec![0; PAGE];
    let writes = [LogWrite::Page(USUAL.data_at, &page)];
    let end = elsewhere.len();
    log_at(&mut elsewhere, 0, &entry(layout.log, 1, 0, end, &writes));
    fs::write(folder.join("elsewhere"), &elsewhere).unwrap();
    refuses(folder, "elsewhere", &["more than tables"]);
}

fn refuses(folder: &Path, name: &str, words: &[&str]) {
    let error = open_file(folder, name, None, None).map(drop).expect_err(name).to_string();
    assert!(words.iter().any(|words| error.contains(words)), "{name}: {error}");
    assert_eq!(error.lines().count(), 1, "{name}: {error}");
}

/// Whatever the log says, nothing panics, and its file's data are never taken for tables.
#[test]
fn whatever_a_log_says_nothing_panics() {
    let disk = disk(SIZE - 3 * 512, 43);
    let good = unfinished(&disk);
    let mut random = reactor::Random::with_seed(6);
    let entries = [LOG_BYTES - PAGE, PAGE, 16 * PAGE];
    let mut opened = 0;
    for turn in 0..50 {
        let mut bytes = good.clone();
        let at = entries[random.usize(..entries.len())];
        for _ in 0..random.usize(1..4) {
            let field = random.usize(8..160);
            bytes[LOG_AT + at + field] = random.u8(..);
        }
        // With the right checksum again, or most would end there.
        let pages = [0, PAGE].map(|page| LOG_AT + (at + page) % LOG_BYTES);
        let mut entry = pages.map(|from| bytes[from..from + PAGE].to_vec()).concat();
        sum(&mut entry);
        put(&mut bytes, LOG_AT + at, &entry[..PAGE]);
        match open(crate::support::holding(&bytes)) {
            Ok(_) => opened += 1,
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{turn}: {error}"),
        }
    }
    assert!((1..50).contains(&opened), "{opened}");
}
