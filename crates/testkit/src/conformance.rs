//! Everything that `docs/contract.md` says and that can be checked on any device from above.
//!
//! Devices that keep no data (`null:`, modelled disks) are held to the rules of requests and
//! completions alone.

use std::sync::Arc;

use block::{
    BufMut, Clock, Device, DiscardSupport, Extents, Info, Op, Reactor, ReturnedBuffer, Support,
};
use reactor::{Random, derive_seed};

use crate::Violation;
use crate::model::{self, Load, scattered};
use crate::owner::{Owner, Patience};

/// Runs all checks. `make` gives the device to check, new or with whatever the last check left on
/// it; what lies on it is overwritten. `reactor` gives the clock it runs on.
///
/// # Errors
/// The first sentence of the contract that was found broken.
pub fn run(
    make: impl Fn() -> Arc<dyn Device>,
    reactor: impl Fn() -> Reactor + Sync,
    seed: u64,
) -> Result<(), Violation> {
    Check { device: make(), reactor: reactor(), seed }.information()?;
    for check in [
        Check::refusals,
        Check::edges,
        Check::pieces,
        Check::depth,
        Check::flush,
        Check::abilities,
        Check::extents,
        Check::dropped,
    ] {
        check(&Check { device: make(), reactor: reactor(), seed })?;
    }
    let loads = [
        Load { requests: 60, depth: 1, channels: 1, longest_blocks: 24 },
        Load { requests: 300, depth: 4, channels: 2, longest_blocks: 5 },
        Load { requests: 300, depth: 32, channels: 3, longest_blocks: 3 },
    ];
    for (load, number) in loads.iter().zip(0..) {
        model::drive(&make(), &reactor(), load, derive_seed(seed, "load", number))
            .map_err(|found| Violation { seed, ..found })?;
    }
    threads(&make(), &reactor, seed)
}

/// After `fail` has made the next flush of the device fail, all later ones fail too, on every
/// channel.
///
/// # Errors
/// `C21` when one succeeds.
pub fn sticky_flush(
    device: &dyn Device,
    reactor: &Reactor,
    fail: impl FnOnce(),
    seed: u64,
) -> Result<(), Violation> {
    let mut owners =
        [Owner::open(device, 1, reactor, seed)?, Owner::open(device, 1, reactor, seed)?];
    fail();
    for (attempt, channel) in [0, 0, 1, 0, 1].into_iter().enumerate() {
        if owners[channel].run(reactor, Op::Flush)?.result.is_ok() {
            return Err(owners[channel].violation(
                "C21",
                format!("flush {attempt} after the failure, on channel {channel}, succeeded"),
            ));
        }
    }
    let mut later = Owner::open(device, 1, reactor, seed)?;
    match later.run(reactor, Op::Flush)?.result {
        Ok(()) => {
            Err(later.violation("C21", "a flush on a channel opened after the failure succeeded"))
        }
        Err(_) => Ok(()),
    }
}

const THREADS: u64 = 3;

struct Check {
    device: Arc<dyn Device>,
    reactor: Reactor,
    seed: u64,
}

impl Check {
    fn info(&self) -> &Info {
        self.device.info()
    }

    fn block(&self) -> u64 {
        u64::from(self.info().block_bytes)
    }

    /// How many blocks, up to `wanted`, the device has and takes in one request.
    fn few_blocks(&self, wanted: u64) -> u64 {
        (self.info().size_bytes.min(u64::from(self.info().max_request_bytes)) / self.block())
            .min(wanted)
    }

    fn violation(&self, rule: &'static str, detail: impl Into<String>) -> Violation {
        Violation { rule, detail: detail.into(), seed: self.seed }
    }

    fn owner(&self, depth: u32) -> Result<Owner, Violation> {
        Owner::open(&*self.device, depth, &self.reactor, self.seed)
    }

    /// A buffer of whole blocks with bytes that only this seed and label give.
    fn image(&self, length: u64, label: &str) -> BufMut {
        let mut random = Random::with_seed(derive_seed(self.seed, label, length));
        let mut buffer = scattered(&self.reactor, length, self.info().block_bytes, &mut random);
        buffer.slices_mut().for_each(|slice| random.fill(slice));
        buffer
    }

    fn must(&self, owner: &mut Owner, op: Op) -> Result<Option<BufMut>, Violation> {
        let what = format!("{} {:?}", op.name(), op.range());
        let completion = owner.run(&self.reactor, op)?;
        match (completion.result, completion.buffer) {
            (Err(error), _) => Err(self.violation(
                "C6",
                format!("{what}, which keeps to the rules, was refused: {error}"),
            )),
            (Ok(()), ReturnedBuffer::Read(buffer)) => Ok(Some(buffer)),
            (Ok(()), _) => Ok(None),
        }
    }

    fn read(&self, owner: &mut Owner, offset: u64, length: u64) -> Result<Vec<u8>, Violation> {
        let buffer = self
            .must(owner, Op::Read { offset, into: BufMut::zeroed(length as usize) })?
            .expect("a read gives a buffer");
        let mut bytes = vec![0; length as usize];
        buffer.copy_to_slice(&mut bytes);
        Ok(bytes)
    }

    fn expect(
        &self,
        owner: &mut Owner,
        rule: &'static str,
        what: &str,
        offset: u64,
        expected: &[u8],
    ) -> Result<(), Violation> {
        let found = self.read(owner, offset, expected.len() as u64)?;
        if !self.info().stores_data || found == expected {
            return Ok(());
        }
        let first = found
            .iter()
            .zip(expected)
            .position(|(found, expected)| found != expected)
            .expect("they differ");
        Err(self.violation(
            rule,
            format!(
                "{what}: byte {} is {:#04x} instead of {:#04x}",
                offset + first as u64,
                found[first],
                expected[first]
            ),
        ))
    }

    fn information(&self) -> Result<(), Violation> {
        let info = self.info();
        let block = info.block_bytes;
        let whole = |limit: u32| limit >= block && limit.is_multiple_of(block);
        let sane = block >= 512
            && block.is_power_of_two()
            && info.size_bytes > 0
            && info.size_bytes.is_multiple_of(u64::from(block))
            && whole(info.max_request_bytes)
            && whole(info.optimal_bytes);
        if sane {
            Ok(())
        } else {
            Err(self.violation("C6", format!("sizes that make no sense: {info:?}")))
        }
    }

    /// Requests that break a rule are answered with the right error and change nothing.
    fn refusals(&self) -> Result<(), Violation> {
        let info = self.info().clone();
        let (block, size) = (self.block(), info.size_bytes);
        let mut owner = self.owner(2)?;
        let edge = block.min(size);
        let before = (self.read(&mut owner, 0, edge)?, self.read(&mut owner, size - edge, edge)?);
        let ranges = [
            (0, 0),
            (block, 0),
            (1, block),
            (block / 2, block),
            (0, block - 1),
            (0, block + block / 2),
            (size, block),
            (size - block, 2 * block),
            (size - block / 2, block),
            (u64::MAX - block + 1, block),
            (u64::MAX / block * block - block, 2 * block),
        ];
        let too_long = u64::from(info.max_request_bytes) + block;
        for (offset, length) in
            ranges.into_iter().chain((too_long <= size).then_some((0, too_long)))
        {
            let buffer = || BufMut::zeroed(length as usize);
            for op in [
                Op::Read { offset, into: buffer() },
                Op::Write { offset, from: buffer().freeze(), fua: false },
                Op::Write { offset, from: buffer().freeze(), fua: true },
                Op::WriteZeroes { offset, length, fua: false },
                Op::WriteZeroes { offset, length, fua: true },
                Op::Discard { offset, length },
            ] {
                self.refused(&mut owner, op)?;
            }
        }
        // In range, but perhaps not supported.
        for op in [
            Op::Write { offset: 0, from: BufMut::zeroed(edge as usize).freeze(), fua: false },
            Op::Write { offset: 0, from: BufMut::zeroed(edge as usize).freeze(), fua: true },
            Op::WriteZeroes { offset: 0, length: edge, fua: false },
            Op::WriteZeroes { offset: 0, length: edge, fua: true },
            Op::Discard { offset: 0, length: edge },
        ] {
            if info.check(&op).is_err() {
                self.refused(&mut owner, op)?;
            }
        }
        self.expect(&mut owner, "C6", "a refused request changed the first block", 0, &before.0)?;
        self.expect(
            &mut owner,
            "C6",
            "a refused request changed the last block",
            size - edge,
            &before.1,
        )
    }

    fn refused(&self, owner: &mut Owner, op: Op) -> Result<(), Violation> {
        let Err(expected) = self.info().check(&op) else { return Ok(()) };
        let what = format!("{} {:?}", op.name(), op.range());
        match owner.run(&self.reactor, op)?.result {
            Err(error) if error.kind() == expected.kind() => Ok(()),
            Err(error) => Err(self.violation(
                "C6",
                format!("{what} was answered with {error:?} instead of {:?}", expected.kind()),
            )),
            Ok(()) => {
                Err(self
                    .violation("C6", format!("{what} succeeded instead of {:?}", expected.kind())))
            }
        }
    }

    /// Both ends, all of a small device, and the longest request.
    fn edges(&self) -> Result<(), Violation> {
        let info = self.info();
        let (block, size) = (self.block(), info.size_bytes);
        let longest = u64::from(info.max_request_bytes).min(size).min(4 << 20) / block * block;
        let mut owner = self.owner(1)?;
        if info.read_only {
            self.read(&mut owner, 0, block)?;
            return self.read(&mut owner, size - longest, longest).map(drop);
        }
        let all = (size <= 16 << 20).then(|| {
            (0..size).step_by(longest as usize).map(|offset| (offset, longest.min(size - offset)))
        });
        let ends = [(0, block), (size - block, block), (0, longest), (size - longest, longest)];
        for (offset, length) in all.into_iter().flatten().chain(ends) {
            let image = self.image(length, "edge");
            let mut expected = vec![0; length as usize];
            image.copy_to_slice(&mut expected);
            self.must(&mut owner, Op::Write { offset, from: image.freeze(), fua: false })?;
            self.expect(&mut owner, "C15", "read after write", offset, &expected)?;
        }
        Ok(())
    }

    /// Buffers in pieces, and neighbours that stay as they were.
    fn pieces(&self) -> Result<(), Violation> {
        let block = self.block();
        let blocks = self.few_blocks(16);
        if self.info().read_only || blocks < 3 {
            return Ok(());
        }
        let mut owner = self.owner(1)?;
        let mut random = Random::with_seed(self.seed);
        let mut expected = vec![0; (blocks * block) as usize];
        let background = self.image(blocks * block, "background");
        background.copy_to_slice(&mut expected);
        self.must(&mut owner, Op::Write { offset: 0, from: background.freeze(), fua: false })?;
        for round in 0..20 {
            let count = random.u64(1..=blocks);
            let offset = random.u64(0..=blocks - count) * block;
            let image = self.image(count * block, &format!("piece {round}"));
            let place = offset as usize..(offset + count * block) as usize;
            image.copy_to_slice(&mut expected[place.clone()]);
            self.must(&mut owner, Op::Write { offset, from: image.freeze(), fua: false })?;
            let into =
                scattered(&self.reactor, count * block, self.info().block_bytes, &mut random);
            let buffer =
                self.must(&mut owner, Op::Read { offset, into })?.expect("a read gives a buffer");
            let mut found = vec![0; place.len()];
            buffer.copy_to_slice(&mut found);
            if self.info().stores_data && found != expected[place] {
                return Err(self.violation(
                    "C15",
                    format!(
                        "a read of {count} blocks at {offset} into pieces finds something else"
                    ),
                ));
            }
            self.expect(&mut owner, "C15", "the blocks around a write", 0, &expected)?;
        }
        Ok(())
    }

    /// As many requests in flight as the channel was opened for, submitted at once.
    fn depth(&self) -> Result<(), Violation> {
        let block = self.block();
        let blocks = self.info().size_bytes / block;
        for depth in [1, 2, 7, 64] {
            let mut owner = self.owner(depth)?;
            for number in 0..u64::from(depth) {
                let offset = number % blocks * block;
                let write = !self.info().read_only && number.is_multiple_of(3);
                let op = if write {
                    Op::Write { offset, from: self.image(block, "depth").freeze(), fua: false }
                } else {
                    Op::Read { offset, into: BufMut::zeroed(block as usize) }
                };
                owner.submit(op)?;
            }
            let mut patience = Patience::new(&self.reactor, self.seed);
            while owner.in_flight() > 0 {
                let done = owner.poll()?;
                if let Some(error) =
                    done.iter().find_map(|completion| completion.result.as_ref().err())
                {
                    return Err(self.violation(
                        "C8",
                        format!("of {depth} requests at once one failed: {error}"),
                    ));
                }
                if done.is_empty() {
                    patience.wait(&format!("{} of {depth} requests", owner.in_flight()))?;
                }
            }
            if !owner.poll()?.is_empty() {
                return Err(self.violation("C1", "a completion more than requests"));
            }
        }
        Ok(())
    }

    /// Every device takes a flush, with writes and without, and with others around it.
    fn flush(&self) -> Result<(), Violation> {
        let mut owner = self.owner(3)?;
        self.must(&mut owner, Op::Flush).map_err(|found| Violation { rule: "C22", ..found })?;
        if !self.info().read_only {
            self.must(
                &mut owner,
                Op::Write {
                    offset: 0,
                    from: self.image(self.block(), "flush").freeze(),
                    fua: false,
                },
            )?;
        }
        self.must(&mut owner, Op::Flush).map_err(|found| Violation { rule: "C22", ..found })?;
        for _ in 0..3 {
            owner.submit(Op::Flush)?;
        }
        let mut patience = Patience::new(&self.reactor, self.seed);
        while owner.in_flight() > 0 {
            let done = owner.poll()?;
            if let Some(error) = done.iter().find_map(|completion| completion.result.as_ref().err())
            {
                return Err(
                    self.violation("C22", format!("one of three flushes at once failed: {error}"))
                );
            }
            if done.is_empty() {
                patience.wait("a flush")?;
            }
        }
        Ok(())
    }

    /// FUA, zeroes and discard as `Info` says. Holes, asked for after each of some writes,
    /// clearings and discards, and in ranges of any size.
    fn extents(&self) -> Result<(), Violation> {
        let (info, block) = (self.info().clone(), self.block());
        let blocks = (info.size_bytes / block).min(4096);
        let most = self.few_blocks(200);
        let mut owner = self.owner(1)?;
        let mut random = Random::with_seed(derive_seed(self.seed, "extents", blocks));
        for round in 0..40 {
            let count = random.u64(1..=most.min(blocks));
            let (offset, length) = (random.u64(0..=blocks - count) * block, count * block);
            let op = match random.u8(..5) {
                0 if info.zeroes != Support::None => Op::WriteZeroes { offset, length, fua: false },
                1 if info.discard != DiscardSupport::None => Op::Discard { offset, length },
                _ => Op::Write {
                    offset,
                    from: self.image(length, &format!("extents {round}")).freeze(),
                    fua: false,
                },
            };
            if !info.read_only {
                self.must(&mut owner, op)?;
            }
            let (first, asked) =
                if round % 2 == 0 { (0, blocks * block) } else { (offset, length) };
            self.runs(&mut owner, first, asked)?;
        }
        Ok(())
    }

    /// Asks until all of the range is known, and reads all that is said to be a hole.
    fn runs(&self, owner: &mut Owner, first: u64, asked: u64) -> Result<(), Violation> {
        let (mut at, end) = (first, first + asked);
        while at < end {
            let mut found = Extents::new();
            self.device.extents(at, end - at, &mut found);
            let told = found.length();
            if told == 0
                || told > end - at
                || found.runs().iter().any(|run| !run.length.is_multiple_of(self.block()))
            {
                return Err(self.violation(
                    "C31",
                    format!("asked about {} bytes at {at}, it told of {told}: {found:?}", end - at),
                ));
            }
            for run in found.runs() {
                let mut left = if run.is_hole { run.length } else { 0 };
                while left > 0 {
                    let now = left.min(self.few_blocks(256) * self.block());
                    let zeroes = vec![0; now as usize];
                    self.expect(
                        owner,
                        "C31",
                        "what is called a hole",
                        at + run.length - left,
                        &zeroes,
                    )?;
                    left -= now;
                }
                at += run.length;
            }
        }
        Ok(())
    }

    fn abilities(&self) -> Result<(), Violation> {
        let info = self.info().clone();
        let block = self.block();
        let blocks = self.few_blocks(40);
        if info.read_only || blocks < 3 {
            return Ok(());
        }
        let mut owner = self.owner(2)?;
        let longest = blocks * block;
        let (offset, length) = (block, longest - 2 * block);
        let zeroes = vec![0; length as usize];
        let refill = |owner: &mut Owner, label: &str, fua: bool| -> Result<Vec<u8>, Violation> {
            let image = self.image(longest, label);
            let mut bytes = vec![0; longest as usize];
            image.copy_to_slice(&mut bytes);
            self.must(owner, Op::Write { offset: 0, from: image.freeze(), fua })?;
            Ok(bytes)
        };
        let neighbours = |owner: &mut Owner, what: &str, before: &[u8]| {
            self.expect(
                owner,
                "C24",
                &format!("the block before {what}"),
                0,
                &before[..block as usize],
            )?;
            let last = before.len() - block as usize;
            self.expect(
                owner,
                "C24",
                &format!("the block behind {what}"),
                last as u64,
                &before[last..],
            )
        };
        let flags: &[bool] = if info.fua == Support::None { &[false] } else { &[false, true] };
        for &fua in flags {
            let bytes = refill(&mut owner, "fua", fua)?;
            self.expect(&mut owner, "C15", "read after write with FUA", 0, &bytes)?;
            if info.zeroes != Support::None {
                self.must(&mut owner, Op::WriteZeroes { offset, length, fua })?;
                self.expect(&mut owner, "C24", "after a write of zeroes", offset, &zeroes)?;
                neighbours(&mut owner, "a write of zeroes", &bytes)?;
            }
        }
        if info.discard != DiscardSupport::None {
            let bytes = refill(&mut owner, "discard", false)?;
            self.must(&mut owner, Op::Discard { offset, length })?;
            if info.discard == DiscardSupport::ReadsZero {
                self.expect(&mut owner, "C25", "after a discard that reads zero", offset, &zeroes)?;
            }
            neighbours(&mut owner, "a discard", &bytes)?;
            let bytes = refill(&mut owner, "after", false)?;
            self.expect(&mut owner, "C25", "written again after a discard", 0, &bytes)?;
        }
        Ok(())
    }

    /// A channel dropped with requests in flight: each block old or new, nothing hangs, and the
    /// device goes on.
    fn dropped(&self) -> Result<(), Violation> {
        let block = self.block();
        let blocks = self.few_blocks(8);
        // What was given up may get there later than what comes after it, as long as the reactor
        // lives.
        let mut candidates: Vec<Vec<u8>> = Vec::new();
        for polls in [false, true] {
            let mut owner = self.owner(blocks as u32)?;
            let old = self.read(&mut owner, 0, blocks * block)?;
            let new = self.image(block, if polls { "polled" } else { "dropped" });
            let mut bytes = vec![0; block as usize];
            new.copy_to_slice(&mut bytes);
            candidates.push(bytes);
            let new = new.freeze();
            for number in 0..blocks {
                let offset = number * block;
                let read = self.info().read_only || number % 4 == 3;
                owner.submit(if read {
                    Op::Read { offset, into: self.reactor.allocate(block as usize) }
                } else {
                    Op::Write { offset, from: new.clone(), fua: false }
                })?;
            }
            if polls {
                self.reactor.turn().map_err(|error| {
                    self.violation("C13", format!("turning the reactor: {error}"))
                })?;
                owner.poll()?;
            }
            drop(owner);
            let mut next = self.owner(1)?;
            let found = self.read(&mut next, 0, blocks * block)?;
            for (number, (found, old)) in
                found.chunks(block as usize).zip(old.chunks(block as usize)).enumerate()
            {
                let known = found == old || candidates.iter().any(|candidate| candidate == found);
                if self.info().stores_data && !known {
                    return Err(self.violation(
                        "C13",
                        format!(
                            "block {number} is neither old nor new after its channel was dropped"
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The device from several threads at once, each with a reactor and a part of its own. Virtual
/// clocks are one a stack.
fn threads(
    device: &Arc<dyn Device>,
    reactor: &(impl Fn() -> Reactor + Sync),
    seed: u64,
) -> Result<(), Violation> {
    if reactor().clock() == Clock::Virtual {
        return Ok(());
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || thread(device, &reactor(), number, seed)))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let failed = |_| Violation {
                rule: "C14",
                detail: "a thread with a channel of its own panicked".to_owned(),
                seed,
            };
            thread.join().map_err(failed)?
        })
    })
}

fn thread(
    device: &Arc<dyn Device>,
    reactor: &Reactor,
    number: u64,
    seed: u64,
) -> Result<(), Violation> {
    let info = device.info();
    let block = u64::from(info.block_bytes);
    // The threads' blocks lie side by side, and none belongs to two of them.
    let rows = info.size_bytes / block / THREADS;
    if rows == 0 {
        return Ok(());
    }
    let mut owner = Owner::open(&**device, 1, reactor, seed)?;
    let mut run = |op: Op| -> Result<ReturnedBuffer, Violation> {
        let completion = owner.run(reactor, op)?;
        let failed =
            |error| Violation { rule: "C14", detail: format!("on thread {number}: {error}"), seed };
        completion.result.map(|()| completion.buffer).map_err(failed)
    };
    for round in 0..30 {
        let offset = (round % rows * THREADS + number) * block;
        let mut expected = vec![0; block as usize];
        Random::with_seed(derive_seed(seed, "thread", number << 32 | round)).fill(&mut expected);
        if !info.read_only {
            let mut buffer = reactor.allocate(block as usize);
            buffer.copy_from_slice(&expected);
            run(Op::Write { offset, from: buffer.freeze(), fua: false })?;
        }
        let mut found = vec![0; block as usize];
        run(Op::Read { offset, into: BufMut::zeroed(block as usize) })?
            .read()
            .copy_to_slice(&mut found);
        if !info.read_only && info.stores_data && found != expected {
            return Err(Violation {
                rule: "C15",
                detail: format!("thread {number} does not find at {offset} what it wrote"),
                seed,
            });
        }
    }
    Ok(())
}
