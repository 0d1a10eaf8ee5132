//! A write-back cache over an array with parity: whole stripes are written out together, so that
//! parity is computed without reading.

use block::{Blocking, Reactor};
use cache::CacheUpkeep;
use reactor::Random;
use stack::{BuildContext, NoFiles, Stack, parse_and_build};

fn build(text: &str) -> Stack {
    let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&NoFiles) };
    parse_and_build(text, &context).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// How often the members of the array were read, and how many bytes were written to them; the first
/// leaf is the cache's memory.
fn moved(stack: &Stack) -> (u64, u64) {
    let members = stack.members[1..].iter().map(|member| member.counters.read());
    members.fold((0, 0), |(reads, bytes), moved| (reads + moved.reads, bytes + moved.written_bytes))
}

/// Random writes of 4 KiB that in the end cover the first 4.5 MiB, whole stripes of all these
/// arrays.
fn scattered_writes(channel: &mut Blocking, seed: u64) {
    let mut blocks: Vec<u64> = (0..1152).collect();
    Random::with_seed(seed).shuffle(&mut blocks);
    blocks.into_iter().for_each(|block| {
        channel.write_slice(block * 4096, &[block as u8; 4096]).expect("a write");
    });
}

/// Arrays, how many members they have, and how many of them data fill.
const ARRAYS: [(&str, u64, u64); 3] = [
    ("raid5(chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB)", 4, 3),
    ("raid6(chunk=16KiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB)", 5, 3),
    ("raid4(chunk=32KiB, ram:16MiB, ram:16MiB, ram:16MiB)", 3, 2),
];

#[test]
fn a_flush_writes_whole_stripes_without_reading_a_member() {
    for (array, members, data) in ARRAYS {
        let reactor = Reactor::virtual_clock();
        let stack = build(&format!("cache(mode=write-back, ram:16MiB, {array})"));
        let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
        scattered_writes(&mut channel, 1);
        let before = moved(&stack);
        channel.flush().expect("a flush");
        let after = moved(&stack);
        assert_eq!(after.0 - before.0, 0, "{array}: the members were read to compute parity");
        assert_eq!(
            after.1 - before.1,
            (1152 * 4096) / data * members,
            "{array}: data and parity, each once"
        );

        // Without the cache each write costs reads.
        let bare = build(array);
        let mut channel = Blocking::open(&*bare.device, &reactor).expect("a channel");
        scattered_writes(&mut channel, 1);
        let reads: u64 = bare.members.iter().map(|member| member.counters.read().reads).sum();
        assert!(reads >= 1152, "{array}: {reads} reads");
    }
}

#[test]
fn so_does_the_write_out_of_an_idle_cache() {
    for (array, ..) in ARRAYS {
        let reactor = Reactor::virtual_clock();
        let stack = build(&format!("cache(mode=write-back, ram:16MiB, {array})"));
        let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
        let mut upkeep = CacheUpkeep::open(&stack.caches[0], &reactor).expect("upkeep");
        scattered_writes(&mut channel, 2);
        while stack.caches[0].status().expect("it is open").dirty_bytes > 0 {
            assert!(upkeep.poll().is_none());
            reactor.wait(None).expect("the clock goes on");
        }
        let (reads, bytes) = moved(&stack);
        assert!(
            reads == 0 && bytes > 1152 * 4096,
            "{array}: {reads} reads and {bytes} bytes written"
        );
    }
}

/// A stripe that lacks one block of dirty ones is filled up with what the cache has of it.
#[test]
fn clean_blocks_make_a_stripe_whole() {
    let reactor = Reactor::virtual_clock();
    let stack = build(
        "cache(mode=write-back, sequential_cutoff=0, ram:16MiB, raid5(chunk=64KiB, ram:16MiB, \
        ram:16MiB, ram:16MiB))",
    );
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    channel.read_slice(0, &mut vec![0; 1 << 20]).expect("a read brings eight stripes in");
    let (reads, _) = moved(&stack);
    (0..8).for_each(|stripe| {
        channel.write_slice(stripe * (128 << 10) + 4096, &[7; 4096]).expect("a write");
    });
    channel.flush().expect("a flush");
    assert_eq!(moved(&stack).0, reads, "the members were read to compute parity");
}

/// The stack's text says how large the cache is now, and can be built again.
#[test]
fn a_cache_of_another_size_says_so() {
    let stack = build("cache(mode=write-back, ram:1MiB, raid5(ram:16MiB, ram:16MiB, ram:16MiB))");
    let reactor = Reactor::virtual_clock();
    let mut upkeep = CacheUpkeep::open(&stack.caches[0], &reactor).expect("upkeep");
    assert_eq!(stack.members[0].name, "ram:1MiB");
    for (bytes, text) in [(8 << 20, "ram:8MiB"), (512 << 10, "ram:512KiB")] {
        upkeep.resize(bytes).expect("it can be");
        while upkeep.poll().is_none() {
            reactor.wait(None).expect("the clock goes on");
        }
        let described = stack.device.describe().to_string();
        assert!(described.contains(text), "{described}");
        build(&described);
    }
    let error = upkeep.resize(64 << 20).expect_err("more than the device has");
    assert!(error.to_string().contains("at most 32MiB"), "{error}");
}
