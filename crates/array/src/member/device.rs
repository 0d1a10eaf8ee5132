//! The device in a slot of the array, also while it is copied to a replacement.
//!
//! ```text
//!   read  ──> the member, as ever
//!   write ──> both; what lies outside the array's data, superblocks, goes to the member alone
//! ```
//!
//! The member's answer counts. A replacement that fails gets nothing more, and its failure is kept.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request};
use words::{Text, statement};

use super::bad_blocks::BadBlocks;
use crate::catalogue;
use crate::ranges::Ranges;

/// What the member in a slot is called in messages.
pub(crate) fn name(number: usize, device: &Arc<dyn Device>) -> Text {
    let device = device.describe().to_string();
    statement!(catalogue::MEMBER_OF, number = number, device = device)
}

/// The name of an empty slot in messages.
pub(crate) fn missing_name(number: usize) -> Text {
    statement!(catalogue::NAMED_MISSING, number = number)
}

/// A device in a slot of the array. A device that is removed and added again is a new member: what
/// its earlier channels still report does not count for it.
pub(crate) struct Member {
    pub(crate) device: Arc<dyn Device>,
    /// Where on the device the array's data begin, in bytes.
    pub(crate) data_offset: u64,
    /// Its name in messages.
    pub(crate) name: Text,
    /// The ranges that hold no data; `None` for a member that was in sync from the start, without
    /// bad blocks.
    pub(crate) bad_blocks: Option<Arc<BadBlocks>>,
    /// It serves while its contents are copied to a replacement.
    pub(crate) replacing: Option<Arc<ReplacementCopy>>,
}

impl Member {
    /// A member with ranges that are lost, in bytes of its data, or may become so while it is
    /// rebuilt.
    pub(crate) fn with_bad_blocks(
        name: Text,
        device: Arc<dyn Device>,
        data_offset: u64,
        lost: &Ranges,
    ) -> Member {
        let lost =
            lost.iter().map(|range| range.start + data_offset..range.end + data_offset).collect();
        let bad_blocks = BadBlocks::over(device, lost);
        Member {
            device: Arc::clone(&bad_blocks) as Arc<dyn Device>,
            data_offset,
            name,
            bad_blocks: Some(bad_blocks),
            replacing: None,
        }
    }

    /// The device itself, without the layers that bad blocks and a replacement put over it.
    pub(crate) fn whole_device(&self) -> Arc<dyn Device> {
        match (&self.replacing, &self.bad_blocks) {
            (Some(replacing), _) => replacing.old().whole_device(),
            (None, Some(bad_blocks)) => Arc::clone(bad_blocks.below()),
            (None, None) => Arc::clone(&self.device),
        }
    }

    /// The same under another name.
    pub(crate) fn named(&self, name: Text) -> Arc<Member> {
        let Member { device, data_offset, bad_blocks, replacing, .. } = self;
        let (device, bad_blocks, replacing) =
            (Arc::clone(device), bad_blocks.clone(), replacing.clone());
        Arc::new(Member { device, data_offset: *data_offset, name, bad_blocks, replacing })
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// A member and its replacement while the one is copied to the other.
pub(crate) struct ReplacementCopy {
    old: Arc<Member>,
    replacement: Arc<Member>,
    /// The array's data on the member, in bytes.
    data: Range<u64>,
    failed: Arc<AtomicBool>,
}

impl ReplacementCopy {
    pub(crate) fn over(
        old: &Arc<Member>,
        replacement: &Arc<Member>,
        member_bytes: u64,
    ) -> Arc<ReplacementCopy> {
        let data = old.data_offset..old.data_offset + member_bytes;
        Arc::new(ReplacementCopy {
            old: Arc::clone(old),
            replacement: Arc::clone(replacement),
            data,
            failed: Arc::default(),
        })
    }

    /// The member that serves.
    pub(crate) fn old(&self) -> &Arc<Member> {
        &self.old
    }

    /// The member that takes over when all is copied.
    pub(crate) fn replacement(&self) -> &Arc<Member> {
        &self.replacement
    }

    /// Whether the replacement has failed: it lacks a write.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

impl Device for ReplacementCopy {
    fn info(&self) -> &Info {
        self.old.device.info()
    }

    fn describe(&self) -> Node {
        self.old.device.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let member = self.old.device.open(depth, reactor)?;
        let replacement = match self.replacement.device.open(depth, reactor) {
            Ok(channel) => Some(channel),
            Err(_) => {
                self.failed.store(true, Ordering::Release);
                None
            }
        };
        Ok(Box::new(ReplacingChannel {
            member,
            replacement,
            data: self.data.clone(),
            replacement_offset: self.replacement.data_offset,
            failed: Arc::clone(&self.failed),
            pairs: HashMap::new(),
            done: Vec::new(),
        }))
    }
}

/// What one request of the owner waits for.
struct Pair {
    left: u32,
    /// The member's answer.
    answer: Option<Completion>,
}

struct ReplacingChannel {
    member: Box<dyn Channel>,
    /// `None` from the moment it could not be opened.
    replacement: Option<Box<dyn Channel>>,
    data: Range<u64>,
    replacement_offset: u64,
    failed: Arc<AtomicBool>,
    /// Requests that go to both, by their tags.
    pairs: HashMap<u64, Pair>,
    done: Vec<Completion>,
}

impl ReplacingChannel {
    /// The replacement's part of a request.
    fn copy(&self, op: &Op) -> Option<Op> {
        let (offset, length) = op.range().unwrap_or((self.data.start, 0));
        if offset < self.data.start
            || offset.checked_add(length).is_none_or(|end| end > self.data.end)
        {
            return None;
        }
        let offset = offset - self.data.start + self.replacement_offset;
        match op {
            Op::Read { .. } => None,
            Op::Write { from, fua, .. } => {
                Some(Op::Write { offset, from: from.clone(), fua: *fua })
            }
            Op::WriteZeroes { length, fua, .. } => {
                Some(Op::WriteZeroes { offset, length: *length, fua: *fua })
            }
            Op::Discard { length, .. } => Some(Op::Discard { offset, length: *length }),
            Op::Flush => Some(Op::Flush),
        }
    }

    fn end(&mut self, completion: Completion, from_member: bool, done: &mut Vec<Completion>) {
        let Some(pair) = self.pairs.get_mut(&completion.tag) else {
            done.push(completion);
            return;
        };
        pair.left -= 1;
        let left = pair.left;
        let tag = completion.tag;
        if from_member {
            pair.answer = Some(completion);
        } else if completion.result.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        if left == 0 {
            let pair = self.pairs.remove(&tag).expect("just seen");
            done.push(pair.answer.expect("the member has answered"));
        }
    }
}

impl Channel for ReplacingChannel {
    fn submit(&mut self, request: Request) {
        if let Some(op) = self.copy(&request.op)
            && let Some(replacement) = &mut self.replacement
        {
            self.pairs.insert(request.tag, Pair { left: 2, answer: None });
            replacement.submit(Request::new(request.tag, op));
        }
        self.member.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let mut new = std::mem::take(&mut self.done);
        self.member.poll(&mut new);
        new.drain(..).for_each(|completion| self.end(completion, true, done));
        if let Some(replacement) = &mut self.replacement {
            replacement.poll(&mut new);
        }
        new.drain(..).for_each(|completion| self.end(completion, false, done));
        self.done = new;
    }

    fn in_flight(&self) -> u32 {
        // Of a pair either the member's half or only the replacement's is left.
        let alone = self.pairs.values().filter(|pair| pair.answer.is_some()).count() as u32;
        self.member.in_flight() + alone
    }
}
