//! What arrays with parity are held against: the bare arithmetic, and the arithmetic with the
//! copying that no array can avoid.

use std::time::{Duration, Instant};

use array::parity::{SLICE_BYTES, fastest};
use block::BufMut;

/// What each member of `stripes` holds, in bytes: far more than the caches do.
const MEMBER_BYTES: usize = 64 << 20;

/// Runs one of the two.
///
/// # Errors
/// Wrong arguments.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let (mut words, mut bytes, mut seconds) = (Vec::new(), None, None);
    for argument in arguments {
        match argument.split_once('=') {
            Some(("--bytes", text)) => bytes = Some(super::number::<usize>(text)?),
            Some(("--seconds", text)) => seconds = Some(super::number::<u64>(text)?),
            _ => words.push(argument),
        }
    }
    let (Some(bytes), Some(seconds)) = (bytes, seconds.map(Duration::from_secs)) else {
        return Err("--bytes and --seconds are needed".to_owned());
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["generate", data] => Ok(generate(super::number(data)?, bytes, seconds)),
        ["stripes", data, parity] => match parity {
            "1" | "2" => Ok(stripes(super::number(data)?, parity == "2", bytes, seconds)),
            _ => Err(format!("{parity} chunks of parity; it is 1 or 2")),
        },
        _ => Err("generate DATA, or stripes DATA PARITY".to_owned()),
    }
}

/// Counts rounds until the time is over.
fn timed(limit: Duration, mut round: impl FnMut()) -> String {
    let (start, mut operations) = (Instant::now(), 0_u64);
    loop {
        round();
        operations += 1;
        let elapsed = start.elapsed();
        if elapsed >= limit {
            return format!(
                "{{\"operations\": {operations}, \"seconds\": {}}}",
                elapsed.as_secs_f64()
            );
        }
    }
}

/// Memory as requests have it: on whole pages.
struct Block(BufMut);

impl Block {
    fn new(bytes: usize, byte: u8) -> Block {
        let mut buffer = BufMut::zeroed(bytes);
        buffer.fill(byte);
        Block(buffer)
    }

    fn get(&self) -> &[u8] {
        self.0.as_slice().expect("it is in one piece")
    }

    fn get_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_slice().expect("it is in one piece")
    }
}

fn blocks(count: usize, bytes: usize) -> Vec<Block> {
    (1..=count).map(|number| Block::new(bytes, number as u8)).collect()
}

/// P, and Q if wanted, as an array computes them.
fn compute(data: &[Block], p: &mut [u8], mut q: Option<&mut [u8]>) {
    let kernel = fastest();
    let mut at = 0;
    while at < p.len() {
        let to = p.len().min(at + SLICE_BYTES);
        let slices: Vec<&[u8]> = data.iter().map(|block| &block.get()[at..to]).collect();
        match &mut q {
            Some(q) => (kernel.pq)(&slices, &mut p[at..to], &mut q[at..to]),
            None => (kernel.sum)(&mut p[at..to], &slices),
        }
        at = to;
    }
}

fn generate(count: usize, bytes: usize, limit: Duration) -> String {
    let data = blocks(count, bytes);
    let (mut p, mut q) = (Block::new(bytes, 0), Block::new(bytes, 0));
    timed(limit, || compute(&data, p.get_mut(), Some(q.get_mut())))
}

/// One stripe after the other onto members that are plain memory.
fn stripes(count: usize, with_q: bool, chunk: usize, limit: Duration) -> String {
    let data = blocks(count, chunk);
    let (mut p, mut q) = (Block::new(chunk, 0), Block::new(chunk, 0));
    // Written once, so that the kernel has given all pages.
    let mut members = blocks(count + 1 + usize::from(with_q), MEMBER_BYTES - MEMBER_BYTES % chunk);
    let mut at = 0;
    timed(limit, || {
        compute(&data, p.get_mut(), with_q.then_some(q.get_mut()));
        let sources = data.iter().chain([&p]).chain(with_q.then_some(&q));
        for (member, source) in members.iter_mut().zip(sources) {
            member.get_mut()[at..at + chunk].copy_from_slice(source.get());
        }
        at = (at + chunk) % members[0].get().len();
    })
}
