//! The seek phase: several seekers take tickets, seek to random chunks and read them; one in ten is
//! changed and rewritten.

use std::sync::atomic::{AtomicU64, Ordering};

use block::{Error, Reactor};
use reactor::derive_seed;

use super::bulk::{Chunk, LargeFile};
use super::changes::Changes;
use super::options::{Options, Style};
use super::work::{PhaseControl, Tally, Worker, at_once};

/// One in so many is an update, in both versions.
const UPDATE_EVERY: u64 = 10;

/// Where a ticket leads, and whether it is an update.
///
/// In 2.00 the ticket's own number decides, so that one in ten is an update by chance; in 1.03 each
/// seeker counts its own, and the first is one.
fn ticket(options: &Options, seed: u64, number: u64, of_seeker: u64) -> (u64, bool) {
    let drawn = derive_seed(seed, "seek", number);
    let chunks = options.size_bytes / options.chunk_bytes as u64;
    let update = match options.style {
        Style::Old => of_seeker.is_multiple_of(UPDATE_EVERY),
        Style::New => drawn.is_multiple_of(UPDATE_EVERY),
    };
    // The remainder by ten has been used; what is left of the number is as random.
    (drawn / UPDATE_EVERY % chunks * options.chunk_bytes as u64, update)
}

/// The phase "seeks". Every pass has tickets of its own.
pub(super) fn seek(worker: &Worker<'_>, pass: u64) -> Result<Option<Tally>, Error> {
    let next = AtomicU64::new(0);
    let give_up = std::sync::atomic::AtomicBool::new(false);
    let options = worker.options;
    worker.plan_operations(options.seeks);
    let seekers: Vec<Seeker<'_>> = (0..options.seekers)
        .map(|_| {
            Ok(Seeker {
                large: LargeFile::open(worker)?,
                next: &next,
                options,
                seed: derive_seed(worker.seed, "pass", pass),
                data_seed: worker.data_seed,
                changes: worker.changes,
                shared: worker.shared,
            })
        })
        .collect::<Result<_, Error>>()?;
    let jobs =
        seekers.into_iter().map(|seeker| move |reactor: &Reactor| seeker.run(reactor)).collect();
    let tallies: Option<Vec<Tally>> = at_once(jobs, &give_up)?.into_iter().collect();
    Ok(tallies.and_then(|tallies| tallies.into_iter().reduce(|sum, tally| sum.beside(&tally))))
}

struct Seeker<'a> {
    large: LargeFile,
    next: &'a AtomicU64,
    options: &'a Options,
    seed: u64,
    data_seed: u64,
    changes: &'a Changes,
    shared: PhaseControl<'a>,
}

impl Seeker<'_> {
    fn run(mut self, reactor: &Reactor) -> Result<Option<Tally>, Error> {
        let options = self.options;
        let length = options.chunk_bytes as u64;
        let mut chunk = Chunk::new(reactor, options.chunk_bytes, options.zeros, self.data_seed);
        let mut tally = Tally::new();
        let start = reactor.now();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= options.seeks {
                break;
            }
            if self.shared.stopped() {
                return Ok(None);
            }
            let (offset, update) = ticket(options, self.seed, number, tally.operations);
            let begun = reactor.now();
            self.large.visit(offset, &mut chunk, self.changes, update)?;
            if update && options.sync {
                self.large.sync()?;
            }
            tally.latency.record_duration(reactor.now().since(begun));
            tally.operations += 1;
            tally.read_bytes += length;
            tally.written_bytes += if update { length } else { 0 };
            self.shared.tick(1);
        }
        let over = reactor.now();
        tally.elapsed = over.since(start);
        self.large.sync()?;
        tally.flush = Some(reactor.now().since(over));
        Ok(Some(tally))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Value;
    use crate::suite::bonnie::SUITE;

    fn options(style: &'static str) -> Options {
        let mut settings = SUITE.defaults(block::Clock::Wall);
        for (name, value) in [
            ("size", Value::Bytes(1 << 20)),
            ("check_memory", Value::Switch(false)),
            ("style", Value::word(style)),
        ] {
            settings.set(&SUITE, name, value).unwrap();
        }
        Options::new(&settings).unwrap()
    }

    #[test]
    fn tickets_lead_everywhere_and_one_in_ten_is_an_update() {
        let options = options("2.00");
        let mut visits = [0; 128];
        let mut updates = 0;
        for number in 0..8192 {
            let (offset, update) = ticket(&options, 42, number, 0);
            assert!(offset.is_multiple_of(8192));
            visits[usize::try_from(offset / 8192).unwrap()] += 1;
            updates += u64::from(update);
        }
        // 64 visits are expected at each place, and 819 updates: both within six standard
        // deviations.
        assert!(visits.iter().all(|count| (16..=112).contains(count)), "{visits:?}");
        assert!((656..=982).contains(&updates), "{updates}");
    }

    #[test]
    fn in_the_old_style_each_seeker_updates_its_first_and_every_tenth() {
        let options = options("1.03");
        let updates: Vec<u64> =
            (0..25).filter(|own| ticket(&options, 42, 7 * own, *own).1).collect();
        assert_eq!(updates, [0, 10, 20]);
    }
}
