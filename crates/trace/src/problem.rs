//! What is wrong with a trace: counted where it can be read on, an error where it cannot.

use words::{Text, statement};

use crate::catalogue;

/// Where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemSite {
    /// A line of text, from 1.
    Line(u64),
    /// A record, from 1.
    Record(u64),
}

impl From<ProblemSite> for Text {
    fn from(site: ProblemSite) -> Text {
        match site {
            ProblemSite::Line(number) => statement!(catalogue::LINE, number = number),
            ProblemSite::Record(number) => statement!(catalogue::RECORD, number = number),
        }
    }
}

/// What can be wrong and read past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// No request can be read there; skipped.
    Unreadable,
    /// A request of size 0; skipped.
    Empty,
    /// A request that reaches past the end of the device; skipped.
    PastEnd,
    /// A request that is earlier than the one before it; it takes that one's time.
    Unordered,
    /// From here on the clock is behind; times go on from the request before.
    ClockSetBack,
    /// A completion without its submission; skipped.
    Unpaired,
    /// Requests that the recorder could not keep up with; they are not in the trace.
    Lost,
    /// The trace ends in the middle; it is good up to there.
    CutOff,
}

impl ProblemKind {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::Unreadable => "unreadable",
            ProblemKind::Empty => "empty",
            ProblemKind::PastEnd => "past-end",
            ProblemKind::Unordered => "unordered",
            ProblemKind::ClockSetBack => "clock-set-back",
            ProblemKind::Unpaired => "unpaired",
            ProblemKind::Lost => "lost",
            ProblemKind::CutOff => "cut-off",
        }
    }
}

impl From<ProblemKind> for Text {
    fn from(kind: ProblemKind) -> Text {
        match kind {
            ProblemKind::Unreadable => catalogue::UNREADABLE,
            ProblemKind::Empty => catalogue::EMPTY,
            ProblemKind::PastEnd => catalogue::PAST_END,
            ProblemKind::Unordered => catalogue::UNORDERED,
            ProblemKind::ClockSetBack => catalogue::CLOCK_WAS_SET_BACK,
            ProblemKind::Unpaired => catalogue::UNPAIRED,
            ProblemKind::Lost => catalogue::LOST,
            ProblemKind::CutOff => catalogue::CUT_OFF,
        }
        .into()
    }
}

/// How often something was wrong, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// How often.
    pub count: u64,
    /// Where it was first.
    pub first: ProblemSite,
}

/// All that was wrong so far, each kind once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// One for each kind, in the order in which they were found.
    #[must_use]
    pub fn all(&self) -> &[Problem] {
        &self.0
    }

    /// How often this was wrong.
    #[must_use]
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.0.iter().find(|problem| problem.kind == kind).map_or(0, |problem| problem.count)
    }

    pub(crate) fn add(&mut self, kind: ProblemKind, count: u64, place: ProblemSite) {
        match self.0.iter_mut().find(|problem| problem.kind == kind) {
            Some(problem) => problem.count += count,
            None => self.0.push(Problem { kind, count, first: place }),
        }
    }
}
