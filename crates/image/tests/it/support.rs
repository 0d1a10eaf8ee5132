//! Images for tests, made by qemu.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use block::{Blocking, Device, Error, Info, Reactor};
use image::{ImageDevice, ImageOptions, ImageUse};
use reactor::Random;
use testkit::Memory;

/// Whether qemu's tools are there.
pub(crate) fn has_qemu() -> bool {
    let has = |program| Command::new(program).arg("--version").output().is_ok();
    let found = has("qemu-img") && has("qemu-io");
    if !found {
        testkit::missing!("qemu-img and qemu-io are not installed: see tools/packages.txt");
    }
    found
}

/// Runs a line of a shell in a folder, which has to go well.
pub(crate) fn shell(folder: &Path, line: &str) -> String {
    let ended =
        Command::new("sh").args(["-ec", line]).current_dir(folder).output().expect("a shell");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(ended.status.success(), "{line}: {text}");
    text
}

/// A device of these bytes but for what is behind the last whole sector.
pub(crate) fn holding(bytes: &[u8]) -> Arc<dyn Device> {
    let bytes = &bytes[..bytes.len() / 512 * 512];
    let info = Info { max_request_bytes: 4 << 20, ..Info::plain(bytes.len() as u64) };
    let memory = Memory::with(info);
    let reactor = Reactor::virtual_clock();
    Blocking::open(&memory, &reactor).unwrap().write_slice(0, bytes).unwrap();
    Arc::new(memory)
}

/// The image in a file, over `backing`.
pub(crate) fn open_file(
    folder: &Path,
    name: &str,
    backing: Option<Arc<dyn Device>>,
    snapshot: Option<&str>,
) -> Result<ImageDevice, Error> {
    let bytes = fs::read(folder.join(name)).expect("a file");
    let tail = bytes[bytes.len() / 512 * 512..].to_vec();
    let image_use = snapshot.map_or(ImageUse::Read, |name| ImageUse::Snapshot(name.to_owned()));
    let options = ImageOptions { image_use, tail };
    ImageDevice::open(holding(&bytes), backing, options)
}

pub(crate) fn file(folder: &Path, name: &str) -> Arc<dyn Device> {
    holding(&fs::read(folder.join(name)).expect("a file"))
}

pub(crate) fn open(file: Arc<dyn Device>) -> Result<ImageDevice, Error> {
    ImageDevice::open(file, None, ImageOptions::default())
}

pub(crate) fn read_all(device: &dyn Device) -> Vec<u8> {
    let reactor = Reactor::virtual_clock();
    let mut bytes = vec![0; device.info().size_bytes as usize];
    Blocking::open(device, &reactor).unwrap().read_slice(0, &mut bytes).expect("a read");
    bytes
}

/// A disk: data that packs and data that does not, zeroes and holes.
pub(crate) fn disk(size: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::with_seed(seed);
    let mut bytes = vec![0; size];
    let mut at = 0;
    while at < size {
        let length = (random.usize(1..400) * 512).min(size - at);
        let part = &mut bytes[at..at + length];
        match random.u8(..4) {
            0 => random.fill(part),
            1 => part.iter_mut().zip(0_u32..).for_each(|(byte, at)| *byte = (at / 700) as u8),
            2 => part.fill(random.u8(1..)),
            _ => (),
        }
        at += length;
    }
    bytes
}
