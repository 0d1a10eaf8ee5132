//! Which trials of a run vote.

use std::collections::BTreeSet;

use crate::course::{self, Course, CourseEvent, Pick};
use crate::types::{Plan, Run};
use crate::voices::Table;

/// Which trials vote.
pub(super) struct Ballot<'a> {
    pub(super) course: Course<'a>,
    /// All trials.
    pub(super) all: Table<'a>,
    /// Those that may vote.
    pub(super) fresh: Table<'a>,
    /// Those of a race, which claim nothing.
    pub(super) raced: Table<'a>,
    /// Blocks that vote; none where all do.
    pub(super) voting: Option<std::ops::Range<u32>>,
    /// Number of blocks that vote, of a run that can go on: not of one that was imported.
    pub(super) done: Option<u32>,
    /// Whether it was made of files.
    pub(super) is_imported: bool,
    /// Indices of the configurations that a race has named, their runners-up and their baselines;
    /// none without a race.
    pub(super) confirmed: Option<BTreeSet<usize>>,
}

impl<'a> Ballot<'a> {
    pub(super) fn new(plan: &Plan, course: &Course<'a>, run: &Run, all: Table<'a>) -> Self {
        let voting = course.voting(&run.trials);
        let done = voting.as_ref().map_or(plan.blocks, |blocks| blocks.end - blocks.start);
        let done = (!run.is_imported()).then_some(done);
        let confirmed: Option<BTreeSet<usize>> = course.is_race().then(|| {
            let picked: BTreeSet<&str> = course
                .named()
                .into_iter()
                .flat_map(|(_, picks)| picks)
                .flat_map(Pick::all)
                .collect();
            let all = plan.configurations.iter().enumerate();
            all.filter(|(_, one)| picked.contains(one.id.as_str()))
                .map(|(index, _)| index)
                .collect()
        });
        let first = course.first_fresh();
        let fresh = match &voting {
            None => all.clone(),
            Some(blocks) => all.of(|configuration, block| {
                blocks.contains(&block)
                    && confirmed.as_ref().is_none_or(|some| some.contains(&configuration))
            }),
        };
        let raced = all.of(|_, block| course.is_race() && (block < first || first == 0));
        let is_imported = run.is_imported();
        Self { course: *course, all, fresh, raced, voting, done, is_imported, confirmed }
    }

    /// Whether what is said of a configuration rests on a race alone.
    pub(super) fn is_raced(&self, configuration: usize) -> bool {
        self.confirmed.as_ref().is_some_and(|some| {
            !some.contains(&configuration)
                || self.voting.as_ref().is_none_or(std::ops::Range::is_empty)
        })
    }

    /// The trials that the figures of a configuration are shown from.
    pub(super) fn shown(&self, configuration: usize) -> &Table<'a> {
        if self.is_raced(configuration) { &self.raced } else { &self.fresh }
    }
}

/// The trials that the figures of a run are shown from: of what a race has named, and of its
/// runners-up, fresh ones.
pub(crate) fn shown_trials(run: &Run) -> Table<'_> {
    let unasked = course::unasked_look(&run.plan, &run.steps, &run.trials);
    let steps: Vec<CourseEvent> = run.steps.iter().cloned().chain(unasked).collect();
    let course = Course::new(&run.plan, &steps);
    let (all, ..) = Table::new(&run.plan, &run.trials);
    let ballot = Ballot::new(&run.plan, &course, run, all.clone());
    let Some(voting) = &ballot.voting else { return all };
    let first = course.first_fresh();
    all.of(|configuration, block| {
        if ballot.is_raced(configuration) {
            block < first || first == 0
        } else {
            voting.contains(&block)
        }
    })
}
