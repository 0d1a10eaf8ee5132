//! What a recording tells beside the layout: whether a cache before it would help, and which change
//! of the work would have another layout taken.

use std::path::Path;

use block::size_text;
use cache::simulate::{self, Access, AccessKind, Options};
use cache::{AdmissionOptions, PolicyKind};
use host::limits::{Room, memory_bytes};
use lab::choose::{ChangedChoice, Question, WorkChange};
use results::choice::{CacheWrites, CachedPick, Choice, Contrast};
use serde::Serialize;
use trace::{ReadOptions, RecordedOp};

use crate::catalogue::say;
use crate::failure::Failure;
use crate::signals;

/// A block of the layer `cache`, in bytes, and a sequential run that stays outside.
const BLOCK_BYTES: u64 = 4096;
const SEQUENTIAL_CUTOFF_BYTES: u64 = 4 << 20;
/// Sizes that are tried, in bytes: from the first to the last, each twice as large.
const SIZES_BYTES: [u64; 2] = [64 << 20, 1 << 40];
/// Of the machine's memory, a cache may have one part in so many.
const MEMORY_PARTS: u64 = 2;
/// A cache that answers fewer of the reads is not worth telling.
const HELPS: f64 = 0.2;
/// Of what the largest would answer, a smaller one is enough that answers so much.
const ENOUGH: f64 = 0.9;
/// So many requests are simulated, from the first on.
const REQUESTS_MAX: usize = 5_000_000;

/// A cache that would have helped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HelpfulCache {
    /// The least that is enough.
    size_bytes: u64,
    /// Whether that is memory, which this machine has.
    in_memory: bool,
    /// Of the reads, those that it would have answered: 0 to 1.
    read_hits: f64,
    /// Whether most of what is written is written again while it is there.
    keeps_writes: bool,
}

/// All of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct RecordingHints {
    /// What a simulation of hits says.
    pub(super) cache: Option<HelpfulCache>,
    /// What was taken, with that cache before it: replayed.
    pub(super) cached: Vec<CachedPick>,
    pub(super) changes: Vec<ChangedChoice>,
}

impl RecordingHints {
    /// What the recording of a question tells; nothing where its file is not there any more.
    ///
    /// # Errors
    /// As [`Question::what_if`] and [`Question::cached`].
    pub(super) fn of(question: &Question, choice: &Choice) -> Result<RecordingHints, Failure> {
        let file = question.work.workloads.first().and_then(|workload| workload.get("file"));
        let path = file.and_then(|file| file.as_str()).map(Path::new);
        let Some(path) = path.filter(|path| question.work.recording.is_some() && path.exists())
        else {
            return Ok(RecordingHints::default());
        };
        let stop = signals::stop_flag()?;
        let changes = question.what_if(&choice.pick, &stop)?;
        let cache = helpful_cache(&accesses(path), memory_for_a_cache());
        let cached = match &cache {
            Some(cache) if cache.in_memory => {
                question.cached(&choice.pick, cache.size_bytes, cache.modes(), &stop)?
            }
            _ => Vec::new(),
        };
        Ok(RecordingHints { cache, cached, changes })
    }

    /// As lines of the answer: a word, which is empty where a line goes on with the one before, and
    /// what is said of it.
    pub(super) fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        if let Some(cache) = &self.cache {
            let mut label = say!(HINT_CACHE);
            for text in cache.texts(&self.cached) {
                rows.push((std::mem::take(&mut label), text));
            }
        }
        if !self.changes.is_empty() {
            let changes: Vec<String> = self.changes.iter().map(changed_text).collect();
            rows.push((say!(HINT_CHANGES), changes.join(&say!(BETWEEN_HINTS))));
        }
        rows
    }
}

/// How much memory of this machine a cache may have at most: a power of two of bytes, so that the
/// answer does not change with what else the machine holds at the moment.
fn memory_for_a_cache() -> u64 {
    let all = memory_bytes().unwrap_or(0) / MEMORY_PARTS;
    // As the guard has it, which refuses to promise more.
    let left = Room::now().map_or(all, |room| room.bytes - room.bytes / 10);
    all.min(left).checked_ilog2().map_or(0, |power| 1 << power)
}

impl HelpfulCache {
    /// How it may treat writes. What loses data at a power cut is replayed beside what loses none
    /// where it would gain by it, and is never the only one that is told.
    fn modes(&self) -> &'static [CacheWrites] {
        match self.keeps_writes {
            true => &[CacheWrites::WriteThrough, CacheWrites::WriteBack],
            false => &[CacheWrites::WriteThrough],
        }
    }

    /// The lines of the answer: what it would answer, what it comes to with each way to write, and
    /// what a power cut loses then.
    fn texts(&self, cached: &[CachedPick]) -> Vec<String> {
        let size = size_text(self.size_bytes);
        let percent = format!("{:.0}", 100.0 * self.read_hits);
        let mut texts = vec![match self.in_memory {
            true => say!(MEMORY_WOULD_ANSWER, size = size, percent = percent),
            false => say!(SSD_WOULD_ANSWER, size = size, percent = percent),
        }];
        if cached.is_empty() {
            // Nothing was replayed with it.
            let store = match self.in_memory {
                true => format!("ram:{size}"),
                false => format!("file:/ssd/cache.img?size={size}"),
            };
            texts.push(format!("cache(mode={}, {store}, …)", CacheWrites::WriteThrough));
        }
        for one in cached {
            texts.push(format!("cache(mode={}, ram:{size}, …): {}", one.mode, cached_text(one)));
        }
        texts
    }
}

/// What a cache before the layout comes to, and what a power cut takes with it.
fn cached_text(cached: &CachedPick) -> String {
    let ratio = format!("{:.2}", cached.ratio);
    let speed = match cached.contrast {
        Contrast::Same => say!(CACHED_SAME),
        Contrast::NotToldApart => say!(CACHED_NOT_TOLD_APART, ratio = ratio),
        Contrast::Indicated => say!(CACHED_INDICATED, ratio = ratio),
        Contrast::Faster | Contrast::Slower => say!(CACHED_SURELY, ratio = ratio),
    };
    let bound = cached.is_too_late.then(|| say!(CACHED_TOO_LATE));
    let lost = match cached.mode {
        CacheWrites::WriteThrough => say!(THROUGH_LOSES),
        CacheWrites::WriteBack => say!(BACK_LOSES),
    };
    let parts: Vec<String> = [Some(speed), bound, Some(lost)].into_iter().flatten().collect();
    parts.join(&say!(BETWEEN_HINTS))
}

fn changed_text(changed: &ChangedChoice) -> String {
    let name = ::report::layout_name(&changed.layout);
    match changed.change {
        WorkChange::Writes(times) => say!(CHANGED_WRITES, times = times, name = name),
        WorkChange::Speed(times) => say!(CHANGED_SPEED, times = times, name = name),
    }
}

/// What was read and written, as far as it can be read.
fn accesses(path: &Path) -> Vec<Access> {
    let Ok(reader) = trace::open_with(path, &ReadOptions::default()) else { return Vec::new() };
    let access = |record: trace::Record| {
        let kind = match record.op {
            RecordedOp::Read => AccessKind::Read,
            RecordedOp::Write | RecordedOp::WriteZeroes => AccessKind::Write,
            RecordedOp::Discard => AccessKind::Discard,
            RecordedOp::Flush => return None,
        };
        Some(Access { kind, offset: record.offset, length: record.length })
    };
    reader.map_while(Result::ok).take(REQUESTS_MAX).filter_map(access).collect()
}

/// The smallest cache that does about what the largest would, where that helps: of memory where so
/// many bytes of it are enough to help.
fn helpful_cache(accesses: &[Access], memory_bytes: u64) -> Option<HelpfulCache> {
    let footprint = simulate::footprint(accesses, BLOCK_BYTES) * BLOCK_BYTES;
    let [first, last] = SIZES_BYTES;
    let doubled = |size: &u64| (*size < footprint.min(last)).then_some(size * 2);
    let sizes: Vec<u64> =
        std::iter::successors(Some(first), doubled).map(|size| size / BLOCK_BYTES).collect();
    let admission = AdmissionOptions {
        sequential_cutoff_bytes: Some(SEQUENTIAL_CUTOFF_BYTES),
        ..AdmissionOptions::default()
    };
    let policies = vec![PolicyKind::S3Fifo];
    let options = Options { block_bytes: BLOCK_BYTES, sizes, policies, admission };
    // A simulation that does not fit into memory tells nothing.
    let outcomes = simulate::simulate(accesses, &options).ok()?;
    let in_memory = |outcome: &&simulate::Outcome| outcome.size * BLOCK_BYTES <= memory_bytes;
    let small: Vec<_> = outcomes.iter().filter(in_memory).collect();
    enough_of(&small, true).or_else(|| enough_of(&outcomes.iter().collect::<Vec<_>>(), false))
}

/// The smallest of them that does about what the best does, where that helps.
fn enough_of(outcomes: &[&simulate::Outcome], in_memory: bool) -> Option<HelpfulCache> {
    let most = outcomes.iter().map(|outcome| outcome.read_hit_ratio()).fold(0.0, f64::max);
    let enough = outcomes.iter().find(|outcome| outcome.read_hit_ratio() >= ENOUGH * most)?;
    (most >= HELPS).then(|| HelpfulCache {
        size_bytes: enough.size * BLOCK_BYTES,
        in_memory,
        read_hits: enough.read_hit_ratio(),
        keeps_writes: enough.writes > 0 && 2 * enough.write_hits > enough.writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(kind: AccessKind, block: u64) -> Access {
        Access { kind, offset: block * BLOCK_BYTES, length: BLOCK_BYTES }
    }

    /// What is asked for once needs no cache; what is asked for again needs one that holds it.
    #[test]
    fn a_cache_is_named_where_it_would_help() {
        let far = 1 << 30;
        let once = |block: u64| access(AccessKind::Read, block * 1_000_003 % far);
        let cold: Vec<Access> = (0..60_000).map(once).collect();
        let most = 1 << 40;
        assert_eq!(helpful_cache(&cold, most), None);
        assert_eq!(helpful_cache(&[], most), None);
        // 200 MiB, four times over, among reads that come once.
        let blocks = 200 << 8;
        let mut random = reactor::Random::with_seed(7);
        let mut warm = Vec::new();
        for _ in 0..4 * blocks {
            warm.push(access(AccessKind::Read, far + random.u64(..blocks)));
        }
        let found = helpful_cache(&warm, most).unwrap();
        assert_eq!((found.size_bytes, found.keeps_writes), (256 << 20, false), "{found:?}");
        assert!(found.read_hits > 0.7 && found.in_memory, "{found:?}");
        assert_eq!(found.texts(&[])[1], "cache(mode=write-through, ram:256MiB, …)");
        assert_eq!(found.modes(), [CacheWrites::WriteThrough]);
        // With less memory a smaller one, as long as that helps; else an SSD.
        let small = helpful_cache(&warm, 128 << 20).unwrap();
        assert!(small.in_memory && small.size_bytes == 128 << 20, "{small:?}");
        let none = helpful_cache(&warm, 1 << 20).unwrap();
        assert!(!none.in_memory && none.size_bytes == 256 << 20, "{none:?}");
        assert!(none.texts(&[])[1].contains("file:/ssd/cache.img?size=256MiB"));
        let again = (0..4 * blocks).map(|at| access(AccessKind::Write, at % 1000));
        warm.extend(again);
        let modes = helpful_cache(&warm, most).unwrap().modes();
        assert_eq!(modes, [CacheWrites::WriteThrough, CacheWrites::WriteBack]);
    }

    /// Whatever is said of speed, what a power cut loses stands beside it, and nothing is sure of
    /// which no case was published.
    #[test]
    fn a_cache_says_what_a_power_cut_loses() {
        let cached = |mode, contrast| CachedPick {
            mode,
            size_bytes: 64 << 20,
            ratio: 2.5,
            interval: None,
            contrast,
            is_too_late: mode == CacheWrites::WriteBack,
        };
        let through = cached_text(&cached(CacheWrites::WriteThrough, Contrast::Indicated));
        assert!(through.contains("2.50× (modelled, from empty on; not sure)"), "{through}");
        assert!(through.ends_with("a power cut loses nothing more"), "{through}");
        let back = cached_text(&cached(CacheWrites::WriteBack, Contrast::Same));
        assert!(back.contains("as fast as without (modelled); misses --p99"), "{back}");
        assert!(back.ends_with("loses what was not flushed"), "{back}");
    }
}
