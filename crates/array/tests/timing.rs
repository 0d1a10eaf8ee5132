//! What the layer costs, to look at: `cargo test --release -p array --test timing -- --ignored --nocapture`. Nothing is
//! asserted about time.

use std::sync::Arc;
use std::time::Instant;

use array::{ArrayDevice, Raid0Layout};
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
        ArrayDevice::raid0((0..members).map(|_| member()).collect(), chunk, Raid0Layout::Original).expect("an array")
    };
    let linear = ArrayDevice::linear(vec![member(), member()]).expect("an array");
    let alone = member();
    for depth in [1, 32] {
        for (length, count) in [(4096, 20_000_000), (64 << 10, 2_000_000)] {
            println!("{length} bytes at depth {depth}: member alone {:.1} ns", reads(&*alone, length, depth, count));
            println!("  linear of 2             {:.1} ns", reads(&linear, length, depth, count));
            for (members, chunk) in [(2, 64 << 10), (3, 64 << 10), (3, 12 << 10), (2, 4 << 10), (8, 8 << 10)] {
                let nanoseconds = reads(&raid0(members, chunk), length, depth, count);
                println!("  raid0 of {members}, chunk {:>3} KiB {nanoseconds:.1} ns", chunk >> 10);
            }
        }
    }
}
