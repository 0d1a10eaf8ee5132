//! What the layer costs, to look at:
//! `cargo test --release -p array --test it timing:: -- --ignored --nocapture`. Nothing is asserted
//! about time.

#![expect(
    clippy::disallowed_methods,
    reason = "prints times to look at when asked to, and asserts nothing about them"
)]

use std::sync::Arc;
use std::time::Instant;

use array::{ArrayDevice, ParityLayout, Raid0Layout};
use block::{BufMut, Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request};
use reactor::Random;

/// Answers at the next poll and moves nothing.
struct Instantly(Info);

struct InstantChannel(Vec<Completion>);

impl Device for Instantly {
    fn info(&self) -> &Info {
        &self.0
    }
    fn describe(&self) -> Node {
        Node::leaf("null", self.0.size_bytes.to_string())
    }
    fn open(&self, _depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(InstantChannel(Vec::new())))
    }
}

impl Channel for InstantChannel {
    fn submit(&mut self, request: Request) {
        self.0.push(request.complete(Ok(())));
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.0);
    }
    fn in_flight(&self) -> u32 {
        self.0.len() as u32
    }
}

const MEMBER_BYTES: u64 = 1 << 30;

fn member() -> Arc<dyn Device> {
    Arc::new(Instantly(Info::plain(MEMBER_BYTES)))
}

/// Keeps `depth` random reads in flight until `count` have ended. Nanoseconds for each.
fn reads(device: &dyn Device, length: u64, depth: u32, count: u32) -> f64 {
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(depth, &reactor).expect("a channel");
    let mut random = Random::with_seed(1);
    let mut buffers: Vec<BufMut> = (0..depth).map(|_| BufMut::zeroed(length as usize)).collect();
    let mut done = Vec::with_capacity(depth as usize);
    let places = device.info().size_bytes / length;
    let (mut started, mut ended) = (0, 0);
    let mut start = Instant::now();
    while ended < count {
        while started < count
            && let Some(into) = buffers.pop()
        {
            let offset = random.u64(..places) * length;
            channel.submit(Request::new(u64::from(started), Op::Read { offset, into }));
            started += 1;
        }
        channel.poll(&mut done);
        for completion in done.drain(..) {
            buffers.push(completion.buffer.read());
            ended += 1;
            if ended == count / 10 {
                start = Instant::now();
            }
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(count - count / 10)
}

#[test]
#[ignore = "it prints times to look at"]
fn what_a_request_costs() {
    let raid0 = |members: usize, chunk: u64| {
        ArrayDevice::raid0((0..members).map(|_| member()).collect(), chunk, Raid0Layout::Original)
            .expect("an array")
    };
    let linear = ArrayDevice::linear(vec![member(), member()]).expect("an array");
    let alone = member();
    for depth in [1, 32] {
        for (length, count) in [(4096, 20_000_000), (64 << 10, 2_000_000)] {
            println!(
                "{length} bytes at depth {depth}: member alone {:.1} ns",
                reads(&*alone, length, depth, count)
            );
            println!("  linear of 2             {:.1} ns", reads(&linear, length, depth, count));
            for (members, chunk) in
                [(2, 64 << 10), (3, 64 << 10), (3, 12 << 10), (2, 4 << 10), (8, 8 << 10)]
            {
                let nanoseconds = reads(&raid0(members, chunk), length, depth, count);
                println!("  raid0 of {members}, chunk {:>3} KiB {nanoseconds:.1} ns", chunk >> 10);
            }
        }
    }
}

/// Keeps `depth` writes in flight, one after another or at random, until `count` have ended.
/// Nanoseconds for each.
fn writes(device: &dyn Device, length: u64, depth: u32, count: u32, sequential: bool) -> f64 {
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(depth, &reactor).expect("a channel");
    let mut random = Random::with_seed(1);
    let buffer = BufMut::zeroed(length as usize).freeze();
    let mut done = Vec::with_capacity(depth as usize);
    let places = device.info().size_bytes / length;
    let (mut started, mut ended) = (0, 0);
    let mut start = Instant::now();
    while ended < count {
        while started < count && started - ended < depth {
            let place = if sequential { u64::from(started) % places } else { random.u64(..places) };
            let op = Op::Write { offset: place * length, from: buffer.clone(), fua: false };
            channel.submit(Request::new(u64::from(started), op));
            started += 1;
        }
        channel.poll(&mut done);
        for completion in done.drain(..) {
            completion.result.expect("written");
            ended += 1;
            if ended == count / 10 {
                start = Instant::now();
            }
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(count - count / 10)
}

#[test]
#[ignore = "it prints times to look at"]
fn what_redundancy_costs() {
    let members = |count: usize| (0..count).map(|_| Some(member())).collect::<Vec<_>>();
    let kernel = array::parity::fastest();
    println!("kernel {kernel:?}");
    for (data, parity) in [(4, 1), (4, 2), (8, 2), (10, 2)] {
        for chunk in [4 << 10, 64 << 10, 512 << 10_u64] {
            let array: Box<dyn Device> = match parity {
                1 => Box::new(
                    ArrayDevice::raid5(members(data + 1), chunk, ParityLayout::LeftSymmetric)
                        .expect("an array"),
                ),
                _ => Box::new(
                    ArrayDevice::raid6(members(data + 2), chunk, ParityLayout::LeftSymmetric)
                        .expect("an array"),
                ),
            };
            let row = chunk * data as u64;
            let count = (4_u64 << 30).div_ceil(row) as u32;
            let full = writes(&*array, row, 4, count, true);
            let small = writes(&*array, 4096, 32, 200_000, false);
            // What the kernel alone takes for a row.
            let row_bytes = vec![1_u8; row as usize];
            let sources: Vec<&[u8]> = row_bytes.chunks(chunk as usize).collect();
            let (mut p, mut q) = (vec![0; chunk as usize], vec![0; chunk as usize]);
            let start = Instant::now();
            for _ in 0..count {
                match parity {
                    1 => (kernel.xor)(&mut p, &sources),
                    _ => (kernel.pq)(&sources, &mut p, &mut q),
                }
            }
            let alone = start.elapsed().as_nanos() as f64 / f64::from(count);
            println!(
                "{data}+{parity}, chunk {:>3} KiB: full row {full:.0} ns ({:.1} GB/s; kernel alone \
                {alone:.0} ns), 4 KiB at random {small:.0} ns",
                chunk >> 10,
                row as f64 / full,
            );
        }
    }
    let mirror = ArrayDevice::raid1(members(2)).expect("an array");
    println!(
        "raid1 of 2: write {:.0} ns, read {:.0} ns",
        writes(&mirror, 4096, 32, 2_000_000, false),
        reads(&mirror, 4096, 32, 5_000_000)
    );
}
