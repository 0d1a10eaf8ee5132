//! What there is to choose from: schemes and chunks over the drives, and what was not taken into
//! account, with why.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use host::Error;
use results::choice::{Condition, Layout, RemovedLayout, Scheme, Share};

use super::layout::{ChosenLayout, Order, decimal_size};
use super::question::Question;
use crate::catalogue;
use crate::stacks;
use array::md::Level;
use words::{Text, statement};

/// The chunks that are compared; md's own is among them.
pub(super) const CHUNKS: [u64; 3] = [64 << 10, mdtools::CHUNK_BYTES, 1 << 20];

/// A way to have redundancy over the largest of the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shape {
    pub(super) scheme: Scheme,
    pub(super) copies: u32,
    /// So many of the drives hold data, the largest first.
    pub(super) members: usize,
    /// So many after these stand by.
    pub(super) spares: usize,
}

impl Shape {
    fn of(scheme: Scheme, copies: u32, members: usize) -> Shape {
        Shape { scheme, copies, members, spares: 0 }
    }

    /// Those over so many drives, whatever is asked.
    fn all(count: usize) -> Vec<Shape> {
        let mut all = vec![Shape::of(Scheme::Stripe, 1, count)];
        match count {
            2 => all.push(Shape::of(Scheme::Mirror, 2, 2)),
            3 => all.push(Shape { spares: 1, ..Shape::of(Scheme::Mirror, 2, 2) }),
            _ => (),
        }
        if count >= 3 {
            all.push(Shape::of(Scheme::NearCopies, 2, count));
        }
        if count >= 5 && count % 2 == 1 {
            all.push(Shape { spares: 1, ..Shape::of(Scheme::NearCopies, 2, count - 1) });
        }
        all.push(Shape::of(Scheme::FarCopies, 2, count));
        if count >= 3 {
            all.push(Shape::of(Scheme::Parity, 1, count));
        }
        if count >= 4 {
            all.push(Shape::of(Scheme::DoubleParity, 1, count));
            all.push(Shape::of(Scheme::NearCopies, 3, count));
        }
        if count >= 3 {
            all.push(Shape::of(Scheme::Mirror, u32::try_from(count).unwrap_or(u32::MAX), count));
        }
        all
    }

    pub(super) fn level(self) -> Level {
        match self.scheme {
            Scheme::Stripe => Level::Raid0,
            Scheme::Mirror => Level::Raid1,
            Scheme::NearCopies | Scheme::FarCopies => Level::Raid10,
            Scheme::Parity => Level::Raid5,
            Scheme::DoubleParity => Level::Raid6,
        }
    }

    fn order(self) -> Option<Order> {
        match self.scheme {
            Scheme::NearCopies => Some(Order::Near),
            Scheme::FarCopies => Some(Order::Far),
            _ => None,
        }
    }

    pub(super) fn chunks(self) -> Vec<Option<u64>> {
        match self.scheme {
            Scheme::Mirror => vec![None],
            _ => CHUNKS.into_iter().map(Some).collect(),
        }
    }

    /// So many drives may die, whichever they are.
    pub(super) fn losses(self) -> u32 {
        match self.scheme {
            Scheme::Stripe => 0,
            Scheme::Mirror | Scheme::NearCopies | Scheme::FarCopies => self.copies - 1,
            Scheme::Parity => 1,
            Scheme::DoubleParity => 2,
        }
    }

    /// What it offers of drives of this size, superblocks not counted.
    fn usable(self, member_bytes: u64) -> u64 {
        let members = self.members as u64;
        match self.scheme {
            Scheme::Stripe => members * member_bytes,
            Scheme::Mirror => member_bytes,
            Scheme::NearCopies | Scheme::FarCopies => {
                members * member_bytes / u64::from(self.copies)
            }
            Scheme::Parity => (members - 1) * member_bytes,
            Scheme::DoubleParity => (members - 2) * member_bytes,
        }
    }
}

impl Question {
    /// A shape over the drives, as it is made.
    pub(super) fn layout(&self, shape: Shape, chunk_bytes: Option<u64>) -> ChosenLayout {
        let member = |place: usize| self.drives.all[place].member.clone();
        let end = shape.members + shape.spares;
        ChosenLayout {
            level: shape.level(),
            order: shape.order(),
            copies: shape.copies,
            chunk_bytes,
            members: (0..shape.members).map(member).collect(),
            spares: (shape.members..end).map(member).collect(),
            file_system: self.file_system(),
        }
    }

    /// A shape over the drives, as it is said.
    pub(super) fn facts(&self, shape: Shape, chunk_bytes: Option<u64>) -> Layout {
        Layout {
            scheme: shape.scheme,
            copies: shape.copies,
            drives: shape.members,
            spares: shape.spares,
            chunk_bytes,
            usable_bytes: self.usable(shape),
            survives: shape.losses(),
            pairs: self.pairs(shape),
        }
    }

    /// Of how many pairs of its drives a shape survives the loss. That is asked of every pair, and
    /// facts are compared with each other all the time: a shape is asked once.
    fn pairs(&self, shape: Shape) -> Share {
        static KNOWN: Mutex<BTreeMap<Shape, Share>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(shape).or_insert_with(|| {
            let has_chunks = shape.scheme != Scheme::Mirror;
            pairs(&self.layout(shape, has_chunks.then_some(mdtools::CHUNK_BYTES)))
        })
    }

    /// The chunks of a shape that are run: those that no race has left behind.
    pub(super) fn chunks(&self, shape: Shape) -> Vec<Option<u64>> {
        let mut chunks = shape.chunks();
        if !self.raced.is_empty() {
            chunks.retain(|chunk| {
                let layout = self.facts(shape, *chunk);
                self.raced.iter().all(|removed| removed.layout != layout)
            });
        }
        chunks
    }

    /// What a layout has to offer: what was asked, and what a recording touches.
    fn least_bytes(&self) -> Option<u64> {
        let touched = self.work.recording.as_ref().map(|recording| recording.touched_bytes);
        self.capacity_bytes.max(touched)
    }

    fn usable(&self, shape: Shape) -> u64 {
        shape.usable(self.drives.all[shape.members - 1].size_bytes)
    }

    /// The shapes over which the work is run, and those that were not taken into account.
    ///
    /// # Errors
    /// When nothing is left: which condition removed what.
    pub(super) fn candidates(&self) -> Result<Candidates, Error> {
        let sizes: Vec<u64> = self.drives.all.iter().map(|drive| drive.size_bytes).collect();
        let count = sizes.len();
        // Fewer drives only where the next one is smaller and would make all others smaller.
        let counts = (2..=count).filter(|few| *few == count || sizes[few - 1] > sizes[*few]);
        // A spare that is smaller than what it stands by for is none.
        let has_spares =
            |shape: &Shape| sizes[shape.members - 1] == sizes[shape.members + shape.spares - 1];
        let mut found = Candidates {
            kept: counts.flat_map(Shape::all).filter(has_spares).collect(),
            removed: Vec::new(),
        };
        let survive = self.survive;
        found.remove(self, |shape| {
            (shape.losses() < survive).then_some(Condition::Survives { losses: shape.losses() })
        });
        if let Some(least) = self.least_bytes() {
            found.remove(self, |shape| {
                let usable_bytes = self.usable(shape);
                (usable_bytes < least).then_some(Condition::Capacity { usable_bytes })
            });
        }
        // All that are left survive what was asked: one that survives more is no exception.
        let all = found.kept.clone();
        found.remove(self, |shape| {
            let usable_bytes = self.usable(shape);
            let twice = |other: &Shape| {
                other.members + other.spares < shape.members + shape.spares
                    && self.usable(*other) >= usable_bytes.saturating_mul(2)
            };
            all.iter().any(twice).then_some(Condition::SmallDrive { usable_bytes })
        });
        // Copies of which more than one is spare are kept where nothing else is.
        let is_usual = |shape: &Shape| shape.copies <= 2;
        if found.kept.iter().any(is_usual) {
            found.remove(self, |shape| (!is_usual(&shape)).then_some(Condition::ManyCopies));
        }
        if found.kept.is_empty() {
            return Err(self.nothing_left(&found.removed));
        }
        // The race has told of those that it has left behind.
        found.kept.retain(|shape| !self.chunks(*shape).is_empty());
        Ok(found)
    }

    /// Says which condition removed what.
    fn nothing_left(&self, removed: &[RemovedLayout]) -> Error {
        let asked = format!("--survive {}", self.survive);
        let few = removed.iter().filter_map(|one| match one.by {
            Condition::Survives { losses } => Some(losses),
            _ => None,
        });
        let small = removed.iter().filter_map(|one| match one.by {
            Condition::Capacity { usable_bytes } => Some(usable_bytes),
            _ => None,
        });
        let count = self.drives.all.len();
        let mut parts = Vec::new();
        if let Some(most) = small.max() {
            let least = self.least_bytes().unwrap_or_default();
            let message = match self.capacity_bytes == Some(least) {
                true => catalogue::CAPACITY_REMOVES,
                false => catalogue::RECORDING_REMOVES,
            };
            let (least, most) = (decimal_size(least), decimal_size(most));
            let drives = drives(self.survive);
            parts.push(statement!(message, least = least, drives = drives, most = most));
        } else if let Some(most) = few.max() {
            let message = catalogue::SURVIVAL_REMOVES;
            let drives = drives(most);
            parts.push(statement!(message, asked = asked, count = count, drives = drives));
        }
        Error::usage(statement!(catalogue::NO_LAYOUT_LEFT, why = Text::joined(parts, "; ")))
    }
}

fn drives(count: u32) -> Text {
    match count {
        0 => catalogue::COUNT_NO_DRIVE.into(),
        1 => catalogue::COUNT_ONE_DRIVE.into(),
        count => statement!(catalogue::SO_MANY_DRIVES, count = count),
    }
}

/// What is compared, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidates {
    pub(super) kept: Vec<Shape>,
    pub(super) removed: Vec<RemovedLayout>,
}

impl Candidates {
    fn remove(&mut self, question: &Question, why: impl Fn(Shape) -> Option<Condition>) {
        let mut kept = Vec::new();
        for shape in std::mem::take(&mut self.kept) {
            match why(shape) {
                None => kept.push(shape),
                Some(by) => {
                    let layout = question.facts(shape, None);
                    self.removed.push(RemovedLayout { layout, by });
                }
            }
        }
        self.kept = kept;
    }
}

/// Of how many pairs of its drives a layout survives the loss, asked of the array itself.
fn pairs(layout: &ChosenLayout) -> Share {
    let count = layout.members.len();
    let mut found = Share { count: 0, of: 0 };
    for first in 0..count {
        for second in first + 1..count {
            found.of += 1;
            let lost = [first, second];
            found.count += usize::from(stacks::dry(&without(layout, &lost), None).is_ok());
        }
    }
    found
}

/// The layout over empty drives of one size, without those of these numbers.
fn without(layout: &ChosenLayout, lost: &[usize]) -> block::Node {
    use block::Node;
    const BYTES: u64 = 64 << 20;
    match layout.node(false) {
        Node::Layer { name, options, children } => {
            let child = |(number, _): (usize, Node)| match lost.contains(&number) {
                true => Node::Missing,
                false => Node::leaf("null", block::size_text(BYTES)),
            };
            let children = children.into_iter().enumerate().map(child).collect();
            Node::Layer { name, options, children }
        }
        node => node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::{Drives, Work};

    fn question(drives: &str, survive: u32) -> Question {
        let words: Vec<String> = drives.split_whitespace().map(str::to_owned).collect();
        Question {
            drives: Drives::read(&words, false).unwrap(),
            work: Work::read("vm").unwrap(),
            survive,
            capacity_bytes: None,
            p99: None,
            file_system: None,
            file_system_is_run: false,
            raced: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Every number of drives and every number that may die: what is left survives it, whichever
    /// drives these are; nothing has more than two copies where something else is left.
    #[test]
    fn what_is_left_survives_what_was_asked() {
        for count in 2..=6 {
            for survive in 0..=2 {
                let question = question(&format!("{count} x wd-red-plus-8tb"), survive);
                let Ok(found) = question.candidates() else {
                    assert_eq!((count, survive), (2, 2));
                    continue;
                };
                for shape in &found.kept {
                    let layout = question.layout(*shape, shape.chunks()[0]);
                    let opens = |lost: &[usize]| stacks::dry(&without(&layout, lost), None).is_ok();
                    assert!(opens(&[]), "{shape:?}");
                    let members = shape.members;
                    if survive >= 1 {
                        assert!((0..members).all(|one| opens(&[one])), "{shape:?}");
                    }
                    let share = pairs(&layout);
                    assert_eq!(share.of, members * (members - 1) / 2);
                    assert!(survive < 2 || share.count == share.of, "{shape:?}");
                    assert_eq!(shape.losses() >= 2, share.count == share.of, "{shape:?}");
                    assert_eq!(layout.losses(), shape.losses());
                    assert!(survive == 0 || shape.scheme != Scheme::Stripe);
                    assert!(shape.copies <= 2 || (count, survive) == (3, 2), "{shape:?}");
                    assert!(
                        !found.removed.iter().any(|one| one.layout == question.facts(*shape, None))
                    );
                }
            }
        }
    }

    #[test]
    fn many_kinds_of_drives_still_make_a_title() {
        let kinds = "wd-red-plus-8tb seagate-ironwolf-12tb toshiba-n300-16tb wd-red-pro-22tb \
            toshiba-mg10-22tb seagate-exos-x24-24tb wd-ultrastar-hc590-26tb wd-ultrastar-hc310-4tb";
        let question = question(kinds, 1);
        assert_eq!(question.drives_text(), "8 drives of 8 kinds");
        let (text, _) = question.plan().unwrap();
        assert!(text.starts_with("# Which layout for virtual machines on 8 drives"), "{text}");
    }

    #[test]
    fn what_removes_all_is_said_in_a_line() {
        let error = question("2 x wd-red-plus-8tb", 2).candidates().unwrap_err().to_string();
        assert_eq!(
            error,
            "no layout is left: --survive 2 removes every layout of 2 drives: they survive 1 drive \
            at most"
        );
        let large = Question {
            capacity_bytes: Some(30_000_000_000_000),
            ..question("4 x wd-red-plus-8tb", 1)
        };
        let error = large.candidates().unwrap_err().to_string();
        assert!(
            error.contains("--capacity 30.0 TB removes") && error.contains("24.0 TB"),
            "{error}"
        );
        let three = question("3 x wd-red-plus-8tb", 2).candidates().unwrap();
        assert_eq!(three.kept, [Shape::of(Scheme::Mirror, 3, 3)]);
    }

    /// Of two large drives and a small one the small one is left out, which is said.
    #[test]
    fn a_small_drive_does_not_make_the_others_small() {
        let found = question("2 x wd-ultrastar-hc310-4tb crucial-mx500-500gb", 1).candidates();
        let found = found.unwrap();
        assert!(
            found.kept.iter().all(|shape| shape.members == 2 && shape.spares == 0),
            "{found:?}"
        );
        assert!(found.removed.iter().any(|one| matches!(one.by, Condition::SmallDrive { .. })));
        // What survives more than was asked with it is as small, and three copies are better then.
        let uneven = "3 x wd-red-plus-8tb samsung-870-evo-1tb";
        for survive in [1, 2] {
            let found = question(uneven, survive).candidates().unwrap();
            assert!(found.kept.iter().all(|shape| shape.members <= 3), "{survive}: {found:?}");
            let has = |scheme| found.kept.iter().any(|shape| shape.scheme == scheme);
            match survive {
                1 => assert!(has(Scheme::Parity) && has(Scheme::NearCopies), "{found:?}"),
                _ => assert_eq!(found.kept, [Shape::of(Scheme::Mirror, 3, 3)]),
            }
        }
        // Where fewer do not offer twice as much, all that is over the same drives competes.
        let near = question("3 x seagate-ironwolf-12tb wd-red-plus-8tb", 1).candidates().unwrap();
        for scheme in [Scheme::NearCopies, Scheme::Parity, Scheme::DoubleParity] {
            let is_kept = |shape: &Shape| shape.scheme == scheme && shape.members == 4;
            assert!(near.kept.iter().any(is_kept), "{scheme:?}: {near:?}");
        }
    }
}
