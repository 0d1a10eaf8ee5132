//! What a stack can do by what it stands on: whether it can be read, whether it can be written, and
//! what is missing. One answer for all that shows the state of a stack, with arrays in it or not.
//!
//! ```text
//!   leaf, fault    whether it has said that it is gone ──┐
//!   array          what its level does without members   ├──> outermost layer ──> Usability
//!   cache          what has become of its store          │
//!   other layers   need all that they stand on ──────────┘
//! ```

use std::sync::{Arc, Weak};

use array::metadata::RunningArray;
use array::{ArrayDevice, MemberState, Snapshot};
use block::{Counters, Device, Node};
use cache::{CacheCondition, CacheHandle};
use mdtools::{ArrayCondition, device_text};
use serde::{Deserialize, Serialize};
use stack::{InnerLayers, Member};
use words::Text;

/// What a stack can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usability {
    /// In one word.
    pub state: ArrayCondition,
    /// Whether all of it can be read.
    pub is_readable: bool,
    /// Whether all of it can be written.
    pub is_writable: bool,
    /// What is gone, was never there, or does not hold all that it should.
    pub missing: Vec<MissingPart>,
}

/// A part of a stack that does not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPart {
    /// Its stack text.
    pub name: String,
    /// Why, where it is known.
    #[serde(flatten, with = "cause_parts")]
    pub cause: Option<Text>,
    /// The array or cache that tells of it by itself.
    pub told_by: Option<String>,
}

words::with_parts!(cause_parts: Option<Text>, "cause", "cause_parts");

impl Usability {
    /// That of a stack whose writes are refused or not.
    pub(crate) fn of(device: &dyn Device, parts: &StackParts<'_>, read_only: bool) -> Usability {
        let condition = parts.condition(&device.describe());
        let Condition { is_readable, takes_writes, missing } = condition;
        let state = match (is_readable, takes_writes, missing.is_empty()) {
            (false, ..) => ArrayCondition::Failed,
            (true, false, _) => ArrayCondition::Unusable,
            (true, true, false) => ArrayCondition::Degraded,
            (true, true, true) => ArrayCondition::Online,
        };
        let is_writable = is_readable && takes_writes && !read_only;
        Usability { state, is_readable, is_writable, missing }
    }
}

/// What tells how the parts of a stack are.
pub(crate) struct StackParts<'a> {
    pub(crate) leaves: &'a [Member],
    pub(crate) inner: &'a [InnerLayers],
    pub(crate) arrays: &'a [RunningArray],
    pub(crate) caches: &'a [CacheHandle],
}

/// How a layer or leaf is.
struct Condition {
    is_readable: bool,
    /// No write has failed in a way that lets none succeed any more.
    takes_writes: bool,
    missing: Vec<MissingPart>,
}

impl Condition {
    /// One that needs all that it stands on.
    fn of_all(below: Vec<Condition>) -> Condition {
        Condition {
            is_readable: below.iter().all(|part| part.is_readable),
            takes_writes: below.iter().all(|part| part.takes_writes),
            missing: below.into_iter().flat_map(|part| part.missing).collect(),
        }
    }

    /// The same without a part that has said that it is gone.
    fn unless_gone(mut self, node: &Node, counters: Option<&Counters>) -> Condition {
        if let Some(cause) = counters.and_then(Counters::gone) {
            let (name, cause) = (node.to_string(), Some(cause.clone()));
            self.missing.push(MissingPart { name, cause, told_by: None });
            (self.is_readable, self.takes_writes) = (false, false);
        }
        self
    }
}

impl StackParts<'_> {
    fn condition(&self, node: &Node) -> Condition {
        let (name, children) = match node {
            Node::Layer { name, children, .. } => (name.as_str(), children),
            Node::Leaf { .. } | Node::Missing => {
                let is_there = *node != Node::Missing;
                let fine = Condition {
                    is_readable: is_there,
                    takes_writes: is_there,
                    missing: Vec::new(),
                };
                let text = node.to_string();
                let leaf = self.leaves.iter().find(|leaf| leaf.name == text);
                return fine.unless_gone(node, leaf.map(|leaf| &*leaf.counters));
            }
        };
        let mut below: Vec<Condition> =
            children.iter().map(|child| self.condition(child)).collect();
        if let Some(array) = self.arrays.iter().find(|array| array.describe() == *node) {
            return of_running(array, children, below);
        }
        let raw = self.inner.iter().flat_map(|inner| &inner.arrays).filter_map(Weak::upgrade);
        if let Some(array) = raw.into_iter().find(|array| array.describe() == *node) {
            return of_raw(&array, children, below);
        }
        match name {
            "cache" => self.of_cache(node, children, below),
            // The trace is nothing that it needs.
            "record" => below.pop().unwrap_or_else(|| Condition::of_all(Vec::new())),
            "fault" => {
                let mut faults = self.inner.iter().flat_map(|inner| &inner.faults);
                let is_it = |device: Option<Arc<dyn Device>>| {
                    device.is_some_and(|device| device.describe() == *node)
                };
                let found = faults.find(|(device, _)| is_it(device.upgrade()));
                Condition::of_all(below).unless_gone(node, found.map(|(_, counters)| &**counters))
            }
            _ => Condition::of_all(below),
        }
    }

    fn of_cache(&self, node: &Node, children: &[Node], mut below: Vec<Condition>) -> Condition {
        let text = node.to_string();
        let statuses = self.caches.iter().filter_map(CacheHandle::status);
        let status = statuses.into_iter().find(|status| status.name == text);
        let Some(status) = status else { return Condition::of_all(below) };
        let Some(lower) = below.pop() else { return Condition::of_all(below) };
        let (is_stopped, takes_writes, has_store) = match status.condition {
            CacheCondition::Working => (false, true, true),
            CacheCondition::Bypassed => (false, true, false),
            CacheCondition::Unflushable => (false, false, true),
            CacheCondition::Stopped => (true, false, false),
        };
        let store = children.first().filter(|_| !has_store).map(|store| MissingPart {
            name: store.to_string(),
            cause: status.failure,
            told_by: Some(text),
        });
        Condition {
            is_readable: lower.is_readable && !is_stopped,
            takes_writes: lower.takes_writes && takes_writes,
            missing: lower.missing.into_iter().chain(store).collect(),
        }
    }
}

/// How an array with metadata is, which tells of its members by itself.
fn of_running(array: &RunningArray, children: &[Node], below: Vec<Condition>) -> Condition {
    let (status, assembly) = (array.status(), array.assembly());
    let own = status.usability.missing();
    let told_by = Some(&assembly.name);
    let mut condition = of_members(&status.members, own, children, below, told_by, &|missing| {
        assembly.makes_up_for(missing)
    });
    condition.takes_writes &= status.broken.is_none();
    condition
}

fn of_raw(array: &ArrayDevice, children: &[Node], below: Vec<Condition>) -> Condition {
    let control = array.control();
    let snapshot = control.snapshot();
    let states = snapshot.members.iter().enumerate();
    let own: Vec<usize> = states
        .filter(|(_, state)| **state != MemberState::InSync)
        .map(|(place, _)| place)
        .collect();
    of_members(&snapshot, &own, children, below, None, &|missing| control.makes_up_for(missing))
}

/// How an array is that lacks these members, by how what it stands on is.
fn of_members(
    snapshot: &Snapshot,
    own: &[usize],
    children: &[Node],
    below: Vec<Condition>,
    told_by: Option<&String>,
    makes_up_for: &dyn Fn(&[usize]) -> bool,
) -> Condition {
    let lacking = |is_fine: fn(&Condition) -> bool| -> Vec<usize> {
        let places = (0..snapshot.members.len()).filter(|place| {
            own.contains(place) || below.get(*place).is_some_and(|part| !is_fine(part))
        });
        places.collect()
    };
    let unreadable = lacking(|part| part.is_readable);
    let is_readable = makes_up_for(&unreadable);
    let takes_writes = makes_up_for(&lacking(|part| part.is_readable && part.takes_writes));
    let mut missing = Vec::new();
    for (place, part) in below.into_iter().enumerate() {
        let is_layer = matches!(children.get(place), Some(Node::Layer { .. }));
        if own.contains(&place) && (!is_layer || part.missing.is_empty()) {
            let name = snapshot.names.get(place).map_or("missing", |name| device_text(name));
            missing.push(MissingPart {
                name: name.to_owned(),
                cause: snapshot.causes.get(place).cloned().flatten(),
                told_by: told_by.cloned(),
            });
        } else {
            missing.extend(part.missing.into_iter().map(|part| MissingPart {
                told_by: part.told_by.or_else(|| told_by.cloned()),
                ..part
            }));
        }
    }
    Condition { is_readable, takes_writes, missing }
}

#[cfg(test)]
mod tests {
    use block::{Blocking, Reactor};
    use stack::{BuildContext, NoFiles, Stack};

    use super::*;

    /// A device that vanishes with the first request.
    const GONE: &str = "fault(vanish_after=0, ram:1MiB)";

    fn built(text: &str) -> Stack {
        let text = text.replace("GONE", GONE).replace("FINE", "ram:1MiB");
        let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&NoFiles) };
        stack::parse_and_build(&text, &context).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn usability(stack: &Stack) -> Usability {
        let parts = StackParts {
            leaves: &stack.members,
            inner: std::slice::from_ref(&stack.inner),
            arrays: stack.arrays.running(),
            caches: &stack.caches,
        };
        Usability::of(&*stack.device, &parts, false)
    }

    /// Reads and writes all of it; what fails is of no interest here.
    fn use_all(stack: &Stack) {
        let reactor = Reactor::wall().expect("a reactor");
        let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
        let mut bytes = vec![0; 64 << 10];
        for offset in (0..stack.device.info().size_bytes).step_by(bytes.len()) {
            let _ = channel.read_slice(offset, &mut bytes);
            let _ = channel.write_slice(offset, &bytes);
        }
        let _ = channel.flush();
    }

    /// "can it be read, can it be written, what is missing", of every kind of stack.
    #[test]
    fn a_stack_is_what_it_can_still_do() {
        for (text, state, missing) in [
            ("FINE", ArrayCondition::Online, 0),
            ("GONE", ArrayCondition::Failed, 1),
            ("linear(FINE, GONE)", ArrayCondition::Failed, 1),
            ("raid0(chunk=64KiB, GONE, FINE)", ArrayCondition::Failed, 1),
            ("raid0(chunk=64KiB, GONE, GONE)", ArrayCondition::Failed, 2),
            ("raid1(FINE, GONE)", ArrayCondition::Degraded, 1),
            ("raid1(missing, FINE)", ArrayCondition::Degraded, 1),
            ("raid1(GONE, GONE)", ArrayCondition::Failed, 2),
            ("raid5(chunk=64KiB, FINE, GONE, FINE)", ArrayCondition::Degraded, 1),
            ("raid5(chunk=64KiB, GONE, GONE, FINE)", ArrayCondition::Failed, 2),
            ("raid6(chunk=64KiB, GONE, FINE, GONE, FINE)", ArrayCondition::Degraded, 2),
            ("raid10(chunk=64KiB, GONE, FINE, FINE, GONE)", ArrayCondition::Degraded, 2),
            ("raid10(chunk=64KiB, GONE, GONE, FINE, FINE)", ArrayCondition::Failed, 2),
            ("raid0(chunk=64KiB, raid1(FINE, GONE), FINE)", ArrayCondition::Degraded, 1),
            ("raid0(chunk=64KiB, raid1(GONE, GONE), FINE)", ArrayCondition::Failed, 2),
            ("raid1(raid0(chunk=64KiB, FINE, GONE), FINE)", ArrayCondition::Degraded, 1),
            ("cache(ram:64KiB, GONE)", ArrayCondition::Failed, 1),
            ("cache(ram:64KiB, raid1(FINE, GONE))", ArrayCondition::Degraded, 1),
            ("fault(vanish_after=3, raid1(FINE, FINE))", ArrayCondition::Failed, 1),
            ("overlay(ram:4MiB, FINE)", ArrayCondition::Online, 0),
        ] {
            let stack = built(text);
            let at_first = usability(&stack);
            let is_whole = !text.contains("missing");
            assert_eq!(at_first.state == ArrayCondition::Online, is_whole, "{text}: {at_first:?}");
            use_all(&stack);
            let after = usability(&stack);
            assert_eq!((after.state, after.missing.len()), (state, missing), "{text}: {after:?}");
            let works = !matches!(state, ArrayCondition::Failed);
            assert_eq!((after.is_readable, after.is_writable), (works, works), "{text}: {after:?}");
        }
    }

    #[test]
    fn what_is_only_read_is_in_order_and_not_written() {
        let stack = built("raid1(FINE, GONE)");
        let parts = StackParts { leaves: &[], inner: &[], arrays: &[], caches: &[] };
        let usability = Usability::of(&*stack.device, &parts, true);
        assert_eq!((usability.state, usability.is_writable), (ArrayCondition::Online, false));
    }
}
