//! What a recording tells beside the layout: whether a cache before it would help, and which change
//! of the work would have another layout taken.

use std::path::Path;

use block::size_text;
use cache::simulate::{self, Access, AccessKind, Options};
use cache::{AdmissionOptions, PolicyKind};
use lab::choose::{ChangedChoice, Question, WorkChange};
use results::choice::Choice;
use serde::Serialize;
use trace::{ReadOptions, RecordedOp};

use crate::failure::Failure;
use crate::output::Output;
use crate::signals;

/// A block of the layer `cache`, in bytes, and a sequential run that stays outside.
const BLOCK_BYTES: u64 = 4096;
const SEQUENTIAL_CUTOFF_BYTES: u64 = 4 << 20;
/// Sizes that are tried, in bytes: from the first to the last, each twice as large.
const SIZES_BYTES: [u64; 2] = [64 << 20, 1 << 40];
/// A cache of at most so many bytes is one of memory.
const MEMORY_BYTES: u64 = 16 << 30;
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
    /// Of the reads, those that it would have answered: 0 to 1.
    read_hits: f64,
    /// Whether most of what is written is written again while it is there.
    keeps_writes: bool,
}

/// All of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct RecordingHints {
    pub(super) cache: Option<HelpfulCache>,
    pub(super) changes: Vec<ChangedChoice>,
}

impl RecordingHints {
    /// What the recording of a question tells; nothing where its file is not there any more.
    ///
    /// # Errors
    /// As [`Question::what_if`].
    pub(super) fn of(question: &Question, choice: &Choice) -> Result<RecordingHints, Failure> {
        let file = question.work.workloads.first().and_then(|workload| workload.get("file"));
        let path = file.and_then(|file| file.as_str()).map(Path::new);
        let Some(path) = path.filter(|path| question.work.recording.is_some() && path.exists())
        else {
            return Ok(RecordingHints::default());
        };
        let changes = question.what_if(&choice.pick, &*signals::stop_flag()?)?;
        Ok(RecordingHints { cache: helpful_cache(&accesses(path)), changes })
    }

    /// As lines of the answer.
    pub(super) fn print(&self, output: &Output) -> Result<(), Failure> {
        if let Some(cache) = &self.cache {
            output.result(&format!("  {:<18} {}", "a cache", cache.text()))?;
        }
        if !self.changes.is_empty() {
            let changes: Vec<String> = self.changes.iter().map(changed_text).collect();
            output.result(&format!("  {:<18} {}", "may change it", changes.join("; ")))?;
        }
        Ok(())
    }
}

impl HelpfulCache {
    fn text(&self) -> String {
        let mode = if self.keeps_writes { "write-back" } else { "write-through" };
        let size = size_text(self.size_bytes);
        let (what, store) = match self.size_bytes <= MEMORY_BYTES {
            true => ("memory", format!("ram:{size}")),
            false => ("an SSD", format!("file:/ssd/cache.img?size={size}")),
        };
        let percent = 100.0 * self.read_hits;
        format!(
            "{size} of {what} would answer {percent:.0} % of the reads\n  {:<18} (simulated): \
            cache(mode={mode}, {store}, …)",
            ""
        )
    }
}

fn changed_text(changed: &ChangedChoice) -> String {
    let name = ::report::layout_name(&changed.layout);
    match changed.change {
        WorkChange::Writes(times) => format!("with {times} times the writes, {name} (modelled)"),
        WorkChange::Speed(times) => format!("{times} times faster, {name} (modelled)"),
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

/// The smallest cache that does about what the largest would, where that helps.
fn helpful_cache(accesses: &[Access]) -> Option<HelpfulCache> {
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
    let most = outcomes.iter().map(simulate::Outcome::read_hit_ratio).fold(0.0, f64::max);
    let enough = outcomes.iter().find(|outcome| outcome.read_hit_ratio() >= ENOUGH * most)?;
    (most >= HELPS).then(|| HelpfulCache {
        size_bytes: enough.size * BLOCK_BYTES,
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
        assert_eq!(helpful_cache(&cold), None);
        assert_eq!(helpful_cache(&[]), None);
        // 200 MiB, four times over, among reads that come once.
        let blocks = 200 << 8;
        let mut random = reactor::Random::with_seed(7);
        let mut warm = Vec::new();
        for _ in 0..4 * blocks {
            warm.push(access(AccessKind::Read, far + random.u64(..blocks)));
        }
        let found = helpful_cache(&warm).unwrap();
        assert_eq!((found.size_bytes, found.keeps_writes), (256 << 20, false), "{found:?}");
        assert!(found.read_hits > 0.7, "{found:?}");
        let text = found.text();
        assert!(text.contains("cache(mode=write-through, ram:256MiB, …)"), "{text}");
        let again = (0..4 * blocks).map(|at| access(AccessKind::Write, at % 1000));
        warm.extend(again);
        assert!(helpful_cache(&warm).unwrap().text().contains("mode=write-back"));
    }
}
