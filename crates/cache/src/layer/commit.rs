//! Flushes of a store that is kept: first the data, then the map that speaks for them. One at a
//! time over all channels.
//!
//! ```text
//! Waiting > Sync                                > Pages              > SyncPages
//! turn      store and device below are flushed    changed pages        the store is flushed
//! ```

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use block::{BufMut, Error, Op, Request};

use super::channel::{CacheChannel, below_tag};
use super::format::{Entry, encode_page};
use super::job::{Commit, Job, Running, Step};
use super::state::Snapshot;
use super::{CacheMode, Commits};

/// Pages that lie side by side are written together, up to so many.
const PAGES_TOGETHER: usize = 64;
/// A range that no block has stands for the turn.
const TURN: Range<u64> = u64::MAX - 1..u64::MAX;

impl CacheChannel {
    fn commits(&self) -> std::sync::MutexGuard<'_, Commits> {
        self.shared.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a commit for the owner, or for the job that wants it, which is not in its place now.
    pub(super) fn start_commit(&mut self, tag: u64, parent: Option<usize>) {
        debug_assert!(self.shared.options.mode == CacheMode::WriteBack);
        let slot = self.place();
        self.owned += u32::from(parent.is_none());
        let begun = self.commits().begun;
        let commit =
            Commit { parent, begun, number: 0, snapshot: Snapshot::default(), store_failed: false };
        self.start(slot, Running::new(tag, Job::Commit(Box::new(commit))), &TURN, true);
    }

    /// It has its turn.
    pub(super) fn begin_commit(&mut self, slot: usize, mut running: Running) {
        let Job::Commit(commit) = &mut running.job else { unreachable!("a commit") };
        if let Some(error) = self.shared.flush_failure() {
            running.error = Some(error);
            return self.finish(slot, running);
        }
        {
            let mut commits = self.commits();
            if commits.succeeded > commit.begun {
                drop(commits);
                return self.finish(slot, running);
            }
            commits.begun += 1;
            commit.number = commits.begun;
        }
        commit.snapshot = self.shared.state().snapshot();
        // Asked for after the snapshot: whatever it calls written out has been written by now.
        let lower_too = self.shared.lower_written.swap(false, Ordering::AcqRel);
        running.step = Step::Sync;
        running.left = 1 + usize::from(lower_too);
        self.jobs_put(slot, running);
        self.store.send(Request::new(below_tag(slot, 0), Op::Flush));
        if lower_too {
            self.lower.send(Request::new(below_tag(slot, 1), Op::Flush));
        }
    }

    pub(super) fn end_commit_command(
        running: &mut Running,
        from_store: bool,
        result: Result<(), Error>,
    ) {
        let Job::Commit(commit) = &mut running.job else { unreachable!("a commit") };
        if let Err(error) = result {
            commit.store_failed |= from_store;
            running.error.get_or_insert(if from_store {
                error.at("the cache's device")
            } else {
                error
            });
        }
    }

    pub(super) fn end_commit_step(&mut self, slot: usize, mut running: Running) {
        let Job::Commit(commit) = &mut running.job else { unreachable!("a commit") };
        let next = match running.step {
            _ if running.error.is_some() => None,
            Step::Sync if commit.snapshot.pages.is_empty() => None,
            Step::Sync => Some(Step::Pages),
            Step::Pages => Some(Step::SyncPages),
            _ => None,
        };
        match next {
            Some(Step::Pages) => {
                let writes = self.page_writes(&commit.snapshot);
                running.step = Step::Pages;
                running.left = writes.len();
                self.jobs_put(slot, running);
                for (number, (offset, pages)) in writes.into_iter().enumerate() {
                    let mut from = BufMut::zeroed(pages.len());
                    from.copy_from_slice(&pages);
                    self.store.send(Request::new(
                        below_tag(slot, number),
                        Op::Write { offset, from: from.freeze(), fua: false },
                    ));
                }
            }
            Some(step) => {
                running.step = step;
                running.left = 1;
                self.jobs_put(slot, running);
                self.store.send(Request::new(below_tag(slot, 0), Op::Flush));
            }
            None => self.settle(slot, running),
        }
    }

    /// The commit has ended, well or not.
    fn settle(&mut self, slot: usize, mut running: Running) {
        let Job::Commit(commit) = &mut running.job else { unreachable!("a commit") };
        let snapshot = std::mem::take(&mut commit.snapshot);
        match &running.error {
            None => {
                self.shared.state().settle(&snapshot);
                self.commits().succeeded = commit.number;
            }
            Some(error) => {
                self.shared.state().give_up(&snapshot);
                self.shared.let_flushes_fail(error.repeat());
                if commit.store_failed {
                    self.shared.store_failed(error);
                }
            }
        }
        self.finish(slot, running);
    }

    /// A commit that was begun ends with its channel: its pages are written by the next one.
    pub(super) fn give_up_commit(&self, running: &mut Running) {
        if let Job::Commit(commit) = &mut running.job {
            self.shared.state().give_up(&std::mem::take(&mut commit.snapshot));
            self.shared.lower_written.store(true, Ordering::Release);
        }
    }

    /// The pages of a snapshot, neighbours together: offset and bytes.
    fn page_writes(&self, snapshot: &Snapshot) -> Vec<(u64, Vec<u8>)> {
        let Some(kept) = &self.shared.kept else { return Vec::new() };
        let layout = kept.superblock.layout;
        let page_bytes = layout.block_bytes as usize;
        let mut writes: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut next_page = None;
        for (number, blocks) in &snapshot.pages {
            let number = u64::from(*number);
            let mut page = vec![0; page_bytes];
            encode_page(
                number,
                blocks.iter().map(|&(place, block)| Entry { place, block, dirty: true }),
                &mut page,
            );
            match writes.last_mut() {
                Some((_, bytes))
                    if next_page == Some(number) && bytes.len() < PAGES_TOGETHER * page_bytes =>
                {
                    bytes.append(&mut page);
                }
                _ => writes.push((layout.page_offset(number), page)),
            }
            next_page = Some(number + 1);
        }
        writes
    }
}
