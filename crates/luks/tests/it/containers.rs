//! Containers for tests: made here, and by others.

use std::process::Command;
use std::sync::Arc;

use block::{Blocking, Device, Error, Reactor};
use luks::{ContainerFormat, LuksDevice, LuksOptions, Passphrase, PassphraseCost};
use reactor::Random;
use testkit::Memory;

pub(crate) const PASSPHRASE: &str = "what nobody guesses";

pub(crate) fn passphrase() -> Passphrase {
    Passphrase::new(PASSPHRASE.into())
}

/// The header of a container whose passphrase costs next to nothing.
pub(crate) fn header(sector_bytes: u32, data_offset_bytes: u64) -> Vec<u8> {
    let format = ContainerFormat {
        sector_bytes,
        cost: PassphraseCost { passes: 1, memory_kib: 32, parallelism: 1 },
        data_offset_bytes,
        uuid: [7; 16],
    };
    let mut random = Random::with_seed(1);
    format
        .header(&passphrase(), &mut |bytes| {
            random.fill(bytes);
            Ok(())
        })
        .expect("a header")
}

/// A device that holds these bytes and is as long as they are.
pub(crate) fn holding(bytes: &[u8]) -> Memory {
    let length = bytes.len().next_multiple_of(4096) as u64;
    let memory = Memory::new(length);
    write(&memory, 0, &[bytes, &vec![0; length as usize - bytes.len()]].concat());
    memory
}

pub(crate) fn write(device: &dyn Device, offset: u64, bytes: &[u8]) {
    let reactor = Reactor::virtual_clock();
    Blocking::open(device, &reactor).unwrap().write_slice(offset, bytes).expect("a write");
}

pub(crate) fn read(device: &dyn Device, offset: u64, length: usize) -> Vec<u8> {
    let reactor = Reactor::virtual_clock();
    let mut bytes = vec![0; length];
    Blocking::open(device, &reactor).unwrap().read_slice(offset, &mut bytes).expect("a read");
    bytes
}

pub(crate) fn open(
    below: Arc<dyn Device>,
    header: Option<&dyn Device>,
    passphrase: &Passphrase,
) -> Result<LuksDevice, Error> {
    LuksDevice::open(below, header, passphrase, LuksOptions::default(), &|_| Ok(()))
}

/// Bytes that tell where they are.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Random::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Whether a program is there.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        testkit::missing!("{program} is not installed: see tools/packages.txt");
    }
    found
}

/// Runs a line of a shell in a folder, which has to go well.
pub(crate) fn shell(folder: &std::path::Path, line: &str) -> String {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let ended = Command::new("sh")
        .args(["-ec", line])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .expect("a shell");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(ended.status.success(), "{line}: {text}");
    text
}
