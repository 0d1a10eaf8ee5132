//! `ram` and `null`.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use block::{Blocking, BufMut, ContractCheck, Device, Op, Reactor, Request, ReturnedBuffer};
use common::{bytes_of, frozen, noise, run_against_memory};
use device::{NullDevice, RamDevice, ServiceTime};
use reactor::Random;

#[test]
fn ram_holds_what_plain_memory_would() {
    for (seed, block_bytes) in [(1, 512), (2, 4096), (3, 512), (4, 65536)] {
        let device = ContractCheck::over(Arc::new(RamDevice::new(3 << 20, block_bytes).unwrap()));
        run_against_memory(&device, &Reactor::virtual_clock(), seed, 200);
    }
}

/// Requests that come together are answered one behind the other, in whole nanoseconds; what comes
/// later begins later, and what carries no data takes the time of a request alone.
#[test]
fn ram_with_a_time_of_its_own_takes_it() {
    let time = ServiceTime {
        per_request: Duration::from_micros(2),
        bytes_per_second: Some(4096 * 1_000_000),
    };
    let device = RamDevice::modelled(1 << 20, 512, time).unwrap();
    assert!(device.info().modelled);
    assert_eq!(device.describe().to_string(), "ram:1MiB?latency=2us&rate=4000000KiB");
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(4, &reactor).unwrap();
    for (tag, bytes) in [(0, 4096), (1, 8192), (2, 4096)] {
        channel.submit(Request::new(tag, Op::Read { offset: 0, into: BufMut::zeroed(bytes) }));
    }
    let (mut done, mut ends) = (Vec::new(), Vec::new());
    while ends.len() < 3 {
        reactor.wait(None).unwrap();
        channel.poll(&mut done);
        ends.extend(done.drain(..).map(|one| (one.tag, reactor.now().nanoseconds())));
    }
    assert_eq!(ends, [(0, 3000), (1, 7000), (2, 10_000)]);
    assert_eq!(channel.in_flight(), 0);
    reactor.wait(Some(reactor.now() + Duration::from_micros(90))).unwrap();
    channel.submit(Request::new(3, Op::Flush));
    reactor.wait(None).unwrap();
    channel.poll(&mut done);
    assert_eq!((done.len(), reactor.now().nanoseconds()), (1, 102_000));
}

#[test]
fn ram_takes_memory_when_written_and_gives_it_back_when_discarded() {
    let device = RamDevice::new(1 << 40, 512).unwrap();
    assert_eq!(device.allocated_bytes(), 0);
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    let buffer = channel.read((1 << 40) - 4096, rubbish(4096)).unwrap();
    assert_eq!(bytes_of(&buffer), [0; 4096]);
    assert_eq!(device.allocated_bytes(), 0);

    // Zeroes are there already.
    channel.write(64 << 10, frozen(&[0; 4096])).unwrap();
    assert_eq!(device.allocated_bytes(), 0);

    // Two pages meet at 64 KiB.
    channel.write((64 << 10) - 512, frozen(&[7; 1024])).unwrap();
    assert_eq!(device.allocated_bytes(), 128 << 10);
    let buffer = channel.read((64 << 10) - 1024, rubbish(2048)).unwrap();
    assert_eq!(bytes_of(&buffer), [[0; 512], [7; 512], [7; 512], [0; 512]].concat());

    // The second page whole, of the first one block only.
    channel.run(Op::Discard { offset: (64 << 10) - 512, length: (64 << 10) + 512 }).unwrap();
    assert_eq!(device.allocated_bytes(), 64 << 10);
    let buffer = channel.read((64 << 10) - 1024, rubbish(2048)).unwrap();
    assert_eq!(bytes_of(&buffer), [0; 2048]);
}

#[test]
fn ram_is_one_device_for_all_threads() {
    let device = Arc::new(RamDevice::new(8 << 20, 512).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let device = Arc::clone(&device);
            scope.spawn(move || {
                let reactor = Reactor::virtual_clock();
                let mut channel = Blocking::open(&*device, &reactor).unwrap();
                // Interleaved blocks, so that all threads share every page.
                for block in (u64::from(thread)..(8 << 20) / 4096).step_by(4) {
                    channel.write(block * 4096, frozen(&[thread + 1; 4096])).unwrap();
                }
            });
        }
    });
    let mut found = vec![0; 8 << 20];
    Blocking::open(&*device, &Reactor::virtual_clock()).unwrap().read_slice(0, &mut found).unwrap();
    for (block, bytes) in found.chunks(4096).enumerate() {
        assert!(bytes.iter().all(|&byte| usize::from(byte) == block % 4 + 1), "block {block}");
    }
}

#[test]
fn null_forgets_and_never_shows_what_a_buffer_held_before() {
    let device = ContractCheck::over(Arc::new(NullDevice::new(1 << 20, 512).unwrap()));
    assert!(!device.info().stores_data);
    let mut channel = Blocking::open(&*device, &Reactor::virtual_clock()).unwrap();
    channel.write(0, frozen(&noise(&mut Random::with_seed(1), 4096))).unwrap();
    let ReturnedBuffer::Read(buffer) =
        channel.run(Op::Read { offset: 0, into: rubbish(4096) }).unwrap()
    else {
        panic!("no buffer")
    };
    assert_eq!(bytes_of(&buffer), [0; 4096]);
    channel.run(Op::WriteZeroes { offset: 0, length: 512, fua: true }).unwrap();
    channel.run(Op::Discard { offset: 0, length: 512 }).unwrap();
    channel.flush().unwrap();
}

#[test]
fn descriptions_build_the_same_again() {
    assert_eq!(RamDevice::new(100 << 20, 512).unwrap().describe().to_string(), "ram:100MiB");
    assert_eq!(
        RamDevice::new(5 << 30, 4096).unwrap().describe().to_string(),
        "ram:5GiB?block=4096"
    );
    assert_eq!(NullDevice::new(1 << 30, 512).unwrap().describe().to_string(), "null:1GiB");
}

#[test]
fn sizes_that_are_no_whole_blocks_are_refused() {
    let refusal = |size, block| RamDevice::new(size, block).err().unwrap().to_string();
    assert_eq!(
        refusal(1000, 512),
        "ram: 1000 bytes are not whole blocks of 512 bytes; give a multiple"
    );
    assert_eq!(refusal(0, 512), "ram: 0 bytes are not whole blocks of 512 bytes; give a multiple");
    assert_eq!(
        refusal(3000, 1000),
        "ram: a block of 1000 bytes; it must be a power of two, at least 512"
    );
    assert_eq!(
        refusal(4096, 256),
        "ram: a block of 256 bytes; it must be a power of two, at least 512"
    );
    assert!(NullDevice::new(100, 512).is_err());
}

#[test]
fn what_makes_no_sense_is_answered_and_the_buffer_comes_back() {
    let device = RamDevice::new(1 << 20, 512).unwrap();
    let mut channel = device.open(1, &Reactor::virtual_clock()).unwrap();
    let mut done = Vec::new();
    for (offset, length) in [(1, 512), (0, 100), ((1 << 20) - 512, 1024), (u64::MAX - 511, 512)] {
        channel.submit(block::Request::new(5, Op::Read { offset, into: BufMut::zeroed(length) }));
        assert_eq!(channel.in_flight(), 1);
        channel.poll(&mut done);
        let completion = done.pop().unwrap();
        assert!(completion.result.is_err());
        assert_eq!(completion.buffer.read().len(), length);
    }
}

fn rubbish(length: usize) -> BufMut {
    let mut buffer = BufMut::zeroed(length);
    buffer.fill(0xee);
    buffer
}

/// A size that no machine has is an error and no abort.
#[test]
fn more_memory_than_there_can_be_is_refused() {
    for size_bytes in [8_000_000 << 40, (64 << 40) + 512, u64::MAX / 512 * 512] {
        let error = RamDevice::new(size_bytes, 512).err().expect("it is too large");
        assert!(error.to_string().contains("than a device in memory can have: 64TiB"), "{error}");
    }
}
