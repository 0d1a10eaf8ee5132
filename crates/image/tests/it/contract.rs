//! The disk in an image keeps the contract of devices.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use block::{Blocking, Device, Info, Reactor};
use image::{ImageDevice, ImageOptions};
use testkit::{Memory, conformance};

use crate::support::{disk, has_qemu, shell};

#[test]
fn the_disk_in_an_image_keeps_the_contract() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(1 << 20, 1)).unwrap();
    shell(
        folder,
        "qemu-img convert -f raw -O qcow2 -o cluster_size=4k disk image; \
        qemu-img convert -c -f raw -O qcow2 disk packed; \
        qemu-img create -q -f qcow2 -b disk -F raw top; \
        qemu-io -f qcow2 -c 'write -P 9 6k 1k' top",
    );
    for (name, is_late) in [("image", false), ("image", true), ("packed", true), ("top", true)] {
        let device = |name: &str| -> Arc<dyn Device> {
            let mut bytes = fs::read(folder.join(name)).unwrap();
            bytes.truncate(bytes.len() / 512 * 512);
            let memory = Memory::with(Info::plain(bytes.len() as u64));
            let reactor = Reactor::virtual_clock();
            Blocking::open(&memory, &reactor).unwrap().write_slice(0, &bytes).unwrap();
            match is_late {
                true => Arc::new(memory.delayed(3, Duration::from_millis(5))),
                false => Arc::new(memory),
            }
        };
        let all = fs::read(folder.join(name)).unwrap();
        let tail = all[all.len() / 512 * 512..].to_vec();
        let make = || -> Arc<dyn Device> {
            let backing = (name == "top").then(|| device("disk"));
            let options = ImageOptions { tail: tail.clone(), ..ImageOptions::default() };
            Arc::new(ImageDevice::open(device(name), backing, options).expect("an image"))
        };
        conformance::run(make, Reactor::virtual_clock, 3)
            .unwrap_or_else(|violation| panic!("{name}: {violation}"));
    }
}
