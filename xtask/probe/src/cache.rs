//! What caches do, in numbers that are the same on every machine: hits, and modelled time.

use std::sync::Arc;
use std::time::Duration;

use block::{BufMut, Device, Op, Reactor, Request};
use cache::simulate::{Access, Options, ZipfOptions, simulate, zipf};
use cache::{AdmissionOptions, PolicyKind};
use reactor::Random;

use super::{build, number};

/// Blocks that are asked for by Zipf's law; scans go over others.
const BLOCKS: u64 = 100_000;
const SCAN_BLOCKS: u64 = 10_000;
const BLOCK_BYTES: u64 = 4096;
const SEED: u64 = 1;

/// `probe hits ALPHA SCAN SIZE ACCESSES`: hit ratios by policy; SIZE is in blocks.
///
/// # Errors
/// When an argument is missing or no number.
pub(crate) fn hits(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let mut next = |name: &str| arguments.next().ok_or_else(|| format!("{name} is missing"));
    let (alpha, scan): (f64, f64) = (number(&next("ALPHA")?)?, number(&next("SCAN")?)?);
    let (size, accesses): (u64, u64) = (number(&next("SIZE")?)?, number(&next("ACCESSES")?)?);
    let accesses: Vec<Access> = zipf(&ZipfOptions {
        alpha,
        blocks: BLOCKS,
        accesses,
        block_bytes: BLOCK_BYTES,
        scan,
        scan_blocks: SCAN_BLOCKS,
        seed: SEED,
    });
    let options = Options {
        block_bytes: BLOCK_BYTES,
        sizes: vec![size],
        policies: PolicyKind::ALL.to_vec(),
        admission: AdmissionOptions::default(),
    };
    let outcomes = simulate(&accesses, &options).map_err(|error| error.to_string())?;
    let ratios: Vec<String> = outcomes
        .iter()
        .map(|outcome| format!("\"{}\": {}", outcome.policy, outcome.hit_ratio()))
        .collect();
    Ok(format!("{{{}}}", ratios.join(", ")))
}

/// `probe written TARGET COUNT DEPTH`: modelled seconds until so many random writes of 4 KiB are
/// answered, and then until a flush is.
///
/// # Errors
/// When the target cannot be built or a write fails.
pub(crate) fn written(mut arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let mut next = |name: &str| arguments.next().ok_or_else(|| format!("{name} is missing"));
    let (device, _) = build(&next("TARGET")?)?;
    let (count, depth): (u64, u32) = (number(&next("COUNT")?)?, number(&next("DEPTH")?)?);
    let blocks = device.info().size_bytes / BLOCK_BYTES;
    let data = BufMut::zeroed(BLOCK_BYTES as usize).freeze();
    let mut random = Random::with_seed(SEED);
    let writes = (0..count).map(|_| Op::Write {
        offset: random.u64(..blocks) * BLOCK_BYTES,
        from: data.clone(),
        fua: false,
    });
    let reactor = Reactor::virtual_clock();
    let answered = run(&device, &reactor, depth, writes)?;
    let flushed = run(&device, &reactor, 1, std::iter::once(Op::Flush))?;
    Ok(format!(
        "{{\"answered\": {}, \"durable\": {}}}",
        answered.as_secs_f64(),
        (answered + flushed).as_secs_f64()
    ))
}

/// How long the operations take, so many at a time.
fn run(
    device: &Arc<dyn Device>,
    reactor: &Reactor,
    depth: u32,
    ops: impl Iterator<Item = Op>,
) -> Result<Duration, String> {
    let mut channel = device.open(depth, reactor).map_err(|error| error.to_string())?;
    let (mut ops, mut done, start) = ((0..).zip(ops).peekable(), Vec::new(), reactor.now());
    while ops.peek().is_some() || channel.in_flight() > 0 {
        while channel.in_flight() < depth
            && let Some((tag, op)) = ops.next()
        {
            channel.submit(Request::new(tag, op));
        }
        channel.poll(&mut done);
        if done.is_empty() {
            reactor.wait(None).map_err(|error| error.to_string())?;
        }
        for completion in done.drain(..) {
            completion.result.map_err(|error| error.to_string())?;
        }
    }
    Ok(reactor.now() - start)
}
