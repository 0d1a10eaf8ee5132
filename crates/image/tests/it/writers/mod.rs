//! Images laid out as other programs than qemu lay them out: VirtualBox, Virtual PC, Hyper-V and
//! VMware, by the published descriptions of their formats. They are read as the disk that they were
//! made of, and as qemu reads them.

mod hyper_v;
mod virtual_pc;
mod virtualbox;
mod vmware;

use std::fs;
use std::path::Path;

use block::ErrorKind;
use reactor::Random;

use crate::support::{open_file, read_all, shell};

/// With a last block that is not whole, of any length.
const SIZE: usize = (5 << 20) + 3 * 512;
/// A file that nobody named.
const STRANGER: &str = "/etc/shadow";

/// Puts bytes somewhere, with zeroes before them where there is nothing yet.
fn put(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    if bytes.len() < at + what.len() {
        bytes.resize(at + what.len(), 0);
    }
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn low(bytes: &mut Vec<u8>, at: usize, number: u32) {
    put(bytes, at, &number.to_le_bytes());
}

fn low_long(bytes: &mut Vec<u8>, at: usize, number: u64) {
    put(bytes, at, &number.to_le_bytes());
}

fn high(bytes: &mut Vec<u8>, at: usize, number: u32) {
    put(bytes, at, &number.to_be_bytes());
}

fn high_long(bytes: &mut Vec<u8>, at: usize, number: u64) {
    put(bytes, at, &number.to_be_bytes());
}

/// Something that stands for an identity, never the same twice.
fn identity(seed: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    Random::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Which blocks of a disk hold something, in the order in which a guest may have written them.
fn written(disk: &[u8], block_bytes: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::with_seed(seed);
    let blocks = disk.chunks(block_bytes).enumerate();
    let used = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0));
    let mut order: Vec<usize> = used.map(|(number, _)| number).collect();
    (1..order.len()).for_each(|last| order.swap(last, random.usize(..=last)));
    order
}

/// A block of a disk, whole also where the disk ends in it.
fn block(disk: &[u8], block_bytes: usize, number: usize) -> Vec<u8> {
    let there = disk.chunks(block_bytes).nth(number).expect("it is in the disk");
    let mut bytes = there.to_vec();
    bytes.resize(block_bytes, 0);
    bytes
}

/// An image is read as this disk, by us and by qemu, of which `source` says how it is to read it.
fn is_read_as(folder: &Path, name: &str, disk: &[u8], source: &str) {
    is_read_here_as(folder, name, disk);
    shell(folder, &format!("qemu-img convert {source} -O raw back"));
    assert!(fs::read(folder.join("back")).unwrap() == disk, "{name}: qemu reads something else");
}

fn is_read_here_as(folder: &Path, name: &str, disk: &[u8]) {
    let image = open_file(folder, name, None, None);
    let found = read_all(&image.unwrap_or_else(|error| panic!("{name}: {error}")));
    assert_eq!(found.len(), disk.len(), "{name}");
    assert_eq!(found.iter().zip(disk).position(|(one, two)| one != two), None, "{name}");
}

/// An image that holds only what differs from a file that it names opens nothing.
fn is_refused(folder: &Path, name: &str, image: &[u8], words: &str) {
    fs::write(folder.join(name), image).unwrap();
    let error = open_file(folder, name, None, None).map(drop).expect_err(name);
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
    let text = error.to_string();
    assert!(text.contains(words) && text.lines().count() == 1, "{name}: {text}");
}
