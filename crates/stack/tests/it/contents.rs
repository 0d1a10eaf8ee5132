//! Modelled drives that keep nothing: what is computed for them is left out, and takes as long.

use block::{BufMut, Completion, Op, Reactor, Request};
use reactor::Random;
use stack::{BuildContext, NoFiles, parse_and_build};

const DEPTH: u32 = 8;
const REQUESTS: u64 = 400;
const BLOCK: u64 = 4096;

/// Tag and time of every answer to random requests, `DEPTH` outstanding.
fn answers(text: &str, seed: u64) -> Vec<(u64, u64)> {
    let context = BuildContext {
        files: &NoFiles,
        seed,
        read_only: false,
        create_bytes: None,
        emulate: false,
    };
    let stack = parse_and_build(text, &context).unwrap_or_else(|error| panic!("{text}: {error}"));
    let reactor = Reactor::virtual_clock();
    let mut channel = stack.device.open(DEPTH, &reactor).expect("a channel");
    let blocks = stack.device.info().size_bytes / BLOCK;
    let mut random = Random::with_seed(seed);
    let (mut next, mut answers, mut done) = (0, Vec::new(), Vec::<Completion>::new());
    while answers.len() < REQUESTS as usize {
        while next < REQUESTS && channel.in_flight() < DEPTH {
            let count = random.u64(1..=64);
            let offset = random.u64(..=blocks - count) * BLOCK;
            let mut bytes = BufMut::zeroed((count * BLOCK) as usize);
            let op = match random.u32(..20) {
                0 => Op::Flush,
                1..9 => Op::Read { offset, into: bytes },
                drawn => {
                    bytes.as_mut_slice().expect("one piece").fill(drawn as u8);
                    Op::Write { offset, from: bytes.freeze(), fua: drawn == 19 }
                }
            };
            channel.submit(Request::new(next, op));
            next += 1;
        }
        channel.poll(&mut done);
        if done.is_empty() {
            reactor.wait(None).expect("something is under way");
        }
        for completion in done.drain(..) {
            assert!(completion.result.is_ok(), "{text}: {:?}", completion.result);
            answers.push((completion.tag, reactor.now().nanoseconds()));
        }
    }
    answers
}

/// At every level, whole and with drives missing, every answer comes at the same nanosecond whether
/// drives keep what is written to them or not.
#[test]
fn contents_take_no_time() {
    let levels = [
        ("raid0(chunk=64KiB, {}, {}, {})", 3),
        ("raid1({}, {})", 2),
        ("raid1({}, missing)", 1),
        ("raid10(chunk=64KiB, {}, {}, {}, {})", 4),
        ("raid10(chunk=64KiB, layout=f2, {}, missing, {}, {})", 3),
        ("raid4(chunk=16KiB, {}, {}, {})", 3),
        ("raid5(chunk=64KiB, {}, {}, {}, {})", 4),
        ("raid5(chunk=64KiB, {}, missing, {}, {})", 3),
        ("raid6(chunk=64KiB, {}, {}, {}, {}, {})", 5),
        ("raid6(chunk=64KiB, {}, missing, {}, missing, {})", 3),
        ("raid5(chunk=64KiB, raid1({}, {}), {}, {})", 4),
    ];
    for model in ["disk-2008", "ssd-2008"] {
        for (level, members) in levels {
            for seed in 1..4 {
                let of = |member: &str| {
                    let text = (0..members)
                        .fold(level.to_owned(), |text, _| text.replacen("{}", member, 1));
                    answers(&text, seed)
                };
                let without = of(&format!("model:{model}?size=64MiB"));
                let with = of(&format!("model:{model}?size=64MiB&data=keep"));
                assert!(without == with, "{level} of {model}, seed {seed}");
            }
        }
    }
}
