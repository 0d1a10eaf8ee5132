//! A phase: what a suite measures as one row.

use std::borrow::Cow;

use results::{BetterDirection, Group};
use words::Text;

/// One phase of a suite: one row of its results, one workload of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name, unique in the suite: `block write`.
    pub name: String,
    /// What is done, in a sentence or two.
    pub what: Text,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about: one of those that [`super::PhaseFigures::metrics`] has.
    pub metric: Cow<'static, str>,
    /// Which direction of that metric is better.
    pub better: BetterDirection,
    /// Whether it changes what is stored, so that it has an acknowledged and a durable rate.
    pub writes: bool,
    /// Whether several requests are outstanding at a time.
    pub is_deep: bool,
    /// For a phase through the page cache, the name of the same past it.
    pub buffered_of: Option<String>,
}
