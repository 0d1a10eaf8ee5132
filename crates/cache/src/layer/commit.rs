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

use block::{BufMut, Op, Request};

use super::format::{Entry, encode_page};
use super::job::{AskedCommit, Commit, CommitStep, JobCommandEnd, JobKind, RunningJob};
use super::jobs::{Jobs, at_store, below_tag};
use super::options::CacheMode;
use super::shared::Commits;
use super::state::Snapshot;

/// Pages that lie side by side are written together, up to so many.
const PAGES_TOGETHER: usize = 64;
/// A range that no block has stands for the turn.
const TURN: Range<u64> = u64::MAX - 1..u64::MAX;

impl Jobs {
    fn commits(&self) -> std::sync::MutexGuard<'_, Commits> {
        self.shared.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a commit for the owner, or for the job that wants it.
    pub(super) fn start_commit(&mut self, tag: u64, parent: Option<u32>) {
        debug_assert!(self.shared.options.mode == CacheMode::WriteBack);
        let slot = self.place();
        self.owned += u32::from(parent.is_none());
        let begun = self.commits().begun;
        let asked = JobKind::Commit(AskedCommit { parent, begun });
        self.start(slot, RunningJob::new(tag, asked), &TURN, true);
    }

    /// It has its turn.
    pub(super) fn begin_commit(&mut self, slot: u32, mut running: RunningJob<AskedCommit>) {
        if let Some(error) = self.shared.flush_failure() {
            running.error = Some(error);
            return self.finish(slot, running);
        }
        let number = {
            let mut commits = self.commits();
            if commits.succeeded > running.job.begun {
                drop(commits);
                return self.finish(slot, running);
            }
            commits.begun += 1;
            commits.begun
        };
        let snapshot = self.shared.state().snapshot();
        // Asked for after the snapshot: whatever it calls written out has been written by now.
        let lower_too = self.shared.lower_written.swap(false, Ordering::AcqRel);
        let (running, asked) = running.split();
        let (store_failed, step) = (false, CommitStep::Sync);
        let commit = Commit { asked, number, snapshot, store_failed, step };
        let mut running = running.with(Box::new(commit));
        running.left = 1 + usize::from(lower_too);
        self.put(slot, running);
        self.store.send(Request::new(below_tag(slot, 0), Op::Flush));
        if lower_too {
            self.lower.send(Request::new(below_tag(slot, 1), Op::Flush));
        }
    }

    pub(super) fn end_commit_command(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<Commit>>,
        ended: JobCommandEnd,
    ) {
        running.left -= 1;
        if let Err(error) = ended.result {
            running.job.store_failed |= ended.from_store;
            running.note(Err(if ended.from_store { at_store(error) } else { error }));
        }
        if running.left > 0 {
            return self.put(slot, running);
        }
        let commit = &mut *running.job;
        match commit.step {
            _ if running.error.is_some() => self.settle(slot, running),
            CommitStep::Sync if commit.snapshot.pages.is_empty() => self.settle(slot, running),
            CommitStep::Sync => {
                let writes = self.page_writes(&commit.snapshot);
                commit.step = CommitStep::Pages;
                running.left = writes.len();
                self.put(slot, running);
                for (number, (offset, pages)) in writes.into_iter().enumerate() {
                    let mut from = BufMut::zeroed(pages.len());
                    from.copy_from_slice(&pages);
                    self.store.send(Request::new(
                        below_tag(slot, number),
                        Op::Write { offset, from: from.freeze(), fua: false },
                    ));
                }
            }
            CommitStep::Pages => {
                commit.step = CommitStep::SyncPages;
                running.left = 1;
                self.put(slot, running);
                self.store.send(Request::new(below_tag(slot, 0), Op::Flush));
            }
            CommitStep::SyncPages => self.settle(slot, running),
        }
    }

    /// The commit has ended, well or not.
    fn settle(&mut self, slot: u32, mut running: RunningJob<Box<Commit>>) {
        let commit = &mut *running.job;
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
    pub(super) fn give_up_commit(&self, commit: &Commit) {
        self.shared.state().give_up(&commit.snapshot);
        self.shared.lower_written.store(true, Ordering::Release);
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
