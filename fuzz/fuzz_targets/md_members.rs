//! Arrays started from members of which any byte of the metadata may be anything.
//!
//! A start either is refused with a reason, or what it starts keeps what it promises. One for
//! reading only writes nothing.
#![no_main]

use std::sync::Arc;

use array::md::{AssembleOptions, Startability, assemble, group};
use array::metadata::{RunningArray, StartOptions, examine, start};
use block::{Blocking, Device, Reactor};
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::damaged;
use testkit::Memory;

/// Of an array's data, this much is read, in bytes.
const READ_BYTES: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let damaged = damaged(data);
    let devices = damaged.devices();
    let reactor = Reactor::virtual_clock();
    let (mut candidates, mut present) = (Vec::new(), Vec::new());
    for ((index, device), before) in devices.iter().enumerate().zip(&damaged.members) {
        let found = examine(&**device, &format!("m{index}"), &reactor).expect("memory can be read");
        if let Some(candidate) = found {
            candidates.push(candidate);
            present.push((device, before));
        }
    }
    for members in group(&candidates) {
        let own: Vec<_> = members.iter().map(|&member| candidates[member].clone()).collect();
        let present: Vec<_> = members.iter().map(|&member| present[member]).collect();
        let devices: Vec<_> =
            present.iter().map(|(device, _)| Some(Arc::clone(device) as Arc<dyn Device>)).collect();
        let assembly = match assemble(&own, AssembleOptions::default()) {
            Ok(assembly) => assembly,
            Err(reason) => {
                let said = reason.to_string();
                assert!(!said.is_empty() && !said.contains('\n'), "{reason:?}");
                continue;
            }
        };
        let _ = (assembly.slots_text(), assembly.degraded_count(), assembly.start.to_string());
        let options = StartOptions {
            read_only: damaged.read_only,
            force: damaged.force,
            ..StartOptions::default()
        };
        let is_unharmed =
            || present.iter().all(|(device, before)| content(device, &reactor) == **before);
        let running = match start(&assembly, &devices, &options, &reactor) {
            Ok(running) => running,
            Err(error) => {
                assert!(is_unharmed(), "refused, and written to: {error}");
                continue;
            }
        };
        let allowed = match assembly.start {
            Startability::Ready => true,
            Startability::ReadOnly(_) => damaged.read_only,
            Startability::ReadOnlyOrForce(_) => damaged.read_only || damaged.force,
            Startability::NeedsForce(_) => damaged.force,
            Startability::Refused(_) => false,
        };
        assert!(allowed, "{:?} was started", assembly.start);
        let size = running.info().size_bytes;
        assert!(
            size <= present.iter().map(|(device, _)| device.info().size_bytes).sum(),
            "{size} bytes"
        );
        exercise(&running, size, damaged.read_only, &reactor);
        if damaged.read_only {
            assert!(is_unharmed(), "written to, and only to be read");
        }
    }
});

/// Reads, and where it may, writes and reads back.
fn exercise(running: &RunningArray, size: u64, read_only: bool, reactor: &Reactor) {
    let Ok(mut channel) = Blocking::open(running, reactor) else { return };
    let mut found = vec![0; size.min(READ_BYTES) as usize];
    let _ = channel.read_slice(0, &mut found);
    let block = u64::from(running.info().block_bytes);
    let length = (8192.min(size) / block * block) as usize;
    let written = channel.write_slice(0, &vec![0xa5; length]);
    assert!(written.is_err() || !read_only || length == 0);
    if written.is_ok() && channel.flush().is_ok() {
        let mut found = vec![0; length];
        channel.read_slice(0, &mut found).expect("what was written can be read");
        assert!(found.iter().all(|&byte| byte == 0xa5));
    }
    drop(channel);
    let _ = running.stop(reactor);
}

/// All bytes of a member.
fn content(device: &Memory, reactor: &Reactor) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    let mut channel = Blocking::open(device, reactor).expect("memory opens");
    channel.read_slice(0, &mut bytes).expect("memory can be read");
    bytes
}
