//! The trials of a run, block by block and visit by visit.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;

use guest::Kernel;
use host::Error;
use reactor::Reactor;
use results::{Clock, Configuration, WorkTarget};
use serve::OpenStack;

use super::lookahead::{Crew, UnitReceiver};
use super::members::Members;
use super::methods::{self, BootedGuests, Work};
use super::observer::{Observer, RunEnd};
use super::resources::Resources;
use super::visits::{Visit, Visits};
use super::workload_result::VisitFailure;
use crate::catalogue;
use crate::cell::Cell;
use crate::pull;
use words::{Text, statement};

/// A run that goes on.
pub(super) struct Execution<'a> {
    visits: Visits<'a>,
    resources: Resources<'a>,
    booted: BootedGuests,
    /// Configurations that this machine cannot have, by identity, with the reason.
    unfit: BTreeMap<String, Text>,
    /// Threads that modelled trials run on.
    threads: usize,
    /// Whether members were made and every configuration was looked at.
    is_ready: bool,
}

impl<'a> Execution<'a> {
    /// Of visits that are made with these resources, modelled trials on so many threads.
    pub(super) fn new(
        visits: Visits<'a>,
        resources: Resources<'a>,
        threads: usize,
    ) -> Execution<'a> {
        let (booted, unfit) = (BootedGuests::default(), BTreeMap::new());
        Execution { visits, resources, booted, unfit, threads, is_ready: false }
    }

    /// Trials that are recorded.
    pub(super) fn finished(&self) -> usize {
        self.visits.finished()
    }

    /// Runs what is missing. Whatever happens, the run's own files are removed; resuming makes them
    /// again.
    pub(super) fn run(
        &mut self,
        members: &Members,
        observer: &mut dyn Observer,
    ) -> Result<RunEnd, Error> {
        self.visits.begin(observer)?;
        let ended = self
            .run_blocks(members, observer)
            .and_then(|ended| self.visits.settle().map(|()| ended));
        for note in self.resources.undo() {
            self.visits.note(&note, observer)?;
        }
        ended
    }

    fn run_blocks(
        &mut self,
        members: &Members,
        observer: &mut dyn Observer,
    ) -> Result<RunEnd, Error> {
        let mut block = 0;
        loop {
            let known = self.visits.known_turns(block, observer)?;
            if known.is_empty() {
                return Ok(RunEnd::Complete);
            }
            let visits: Vec<Visit<'_>> = (block..)
                .zip(&known)
                .flat_map(|(block, turns)| {
                    (0..turns.len()).map(move |position| (block, turns, position))
                })
                .map(|(block, turns, position)| self.visits.at(block, turns, position))
                .collect();
            let is_alike = |one: &Visit<'_>, next: &Visit<'_>| {
                methods::is_on_models(one.cell) == methods::is_on_models(next.cell)
            };
            for series in visits.chunk_by(is_alike) {
                if let Some(ended) = self.run_series(series, members, observer)? {
                    return Ok(ended);
                }
            }
            block += u32::try_from(known.len()).expect("blocks are counted in 32 bits");
        }
    }

    /// Visits that follow each other, all of them on modelled disks or none. Says how the run has
    /// ended, if it has.
    fn run_series(
        &mut self,
        series: &[Visit<'_>],
        members: &Members,
        observer: &mut dyn Observer,
    ) -> Result<Option<RunEnd>, Error> {
        if !series.iter().any(|visit| self.is_missing(visit)) {
            return Ok(None);
        }
        if self.visits.stops_at_budget(observer)? {
            return Ok(Some(RunEnd::Complete));
        }
        if !std::mem::replace(&mut self.is_ready, true) {
            self.make_ready(members, observer)?;
        }
        if !methods::is_on_models(series[0].cell) {
            return self.run_visits(series, None, observer);
        }
        let (plan, stop) = (self.visits.plan(), self.visits.stop());
        let units = methods::units(&self.visits, series)?;
        let crew = Crew::new((plan, units), self.resources.opener, self.threads, stop);
        let ended =
            thread::scope(|scope| self.run_visits(series, Some(&mut crew.start(scope)), observer))?;
        // What is measured next must not share the disk with the last line.
        self.visits.settle()?;
        Ok(ended)
    }

    /// One visit after the other.
    fn run_visits(
        &mut self,
        visits: &[Visit<'_>],
        mut ahead: Option<&mut UnitReceiver<'_>>,
        observer: &mut dyn Observer,
    ) -> Result<Option<RunEnd>, Error> {
        for visit in visits {
            if !self.is_missing(visit) {
                continue;
            }
            if self.visits.stops_at_budget(observer)? {
                return Ok(Some(RunEnd::Complete));
            }
            let result = self.visit(visit, ahead.as_deref_mut(), observer);
            self.visits.note_time()?;
            match result {
                Ok(()) => (),
                Err(VisitFailure::Stopped) => return Ok(Some(RunEnd::Interrupted)),
                Err(VisitFailure::Failed(error)) => return Err(error.at(&visit.cell.record.stack)),
            }
        }
        Ok(None)
    }

    fn is_missing(&self, visit: &Visit<'_>) -> bool {
        !self.visits.missing(visit, &visit.turn().workloads).is_empty()
    }

    /// A configuration's turn in a block.
    fn visit(
        &mut self,
        visit: &Visit<'_>,
        ahead: Option<&mut UnitReceiver<'_>>,
        observer: &mut dyn Observer,
    ) -> Result<(), VisitFailure> {
        let _kept = match visit.cell.keep_to_processors() {
            Ok(kept) => kept,
            // This machine has not so many.
            Err(reason) if self.visits.has_nothing_else() => return Err(reason.into()),
            Err(reason) => {
                let workloads = &visit.turn().workloads;
                return self.visits.skip(visit, workloads, reason.text(), observer);
            }
        };
        let unfit = self.unfit.get(&visit.cell.record.id).cloned();
        let mut work = Work {
            visits: &mut self.visits,
            resources: &mut self.resources,
            booted: &mut self.booted,
            ahead,
            observer,
        };
        methods::visit(&mut work, visit, unfit.as_ref())
    }

    /// Makes the members, and looks at every configuration once before the first trial: what cannot
    /// be opened is found out now and not in an hour. A file system that cannot be had here is no
    /// error: its trials say so.
    ///
    /// # Errors
    /// What cannot be opened, and when no configuration at all can be measured here.
    fn make_ready(&mut self, members: &Members, observer: &mut dyn Observer) -> Result<(), Error> {
        let (cells, stop) = (self.visits.cells(), self.visits.stop());
        // A pull test has drives of its own.
        if cells.iter().any(|cell| cell.record.ground != WorkTarget::Pull) {
            let (guard, own) = (self.resources.opener.guard, self.resources.opener.own_members());
            members.make(guard, &own, &mut self.resources.journal, stop)?;
            members.erase_marks(guard)?;
        }
        let mut left_out: Vec<(&Configuration, Text)> = Vec::new();
        for cell in cells {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            tracing::debug!(stack = cell.record.stack, "can it be measured");
            if let Some(reason) = self.why_not(cell)? {
                if let [_] = cells {
                    return Err(reason);
                }
                left_out.push((&cell.record, reason.text().clone()));
            }
        }
        if left_out.len() == cells.len() {
            let mut reasons: Vec<Text> = Vec::new();
            for (_, reason) in left_out {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            let reasons = Text::joined(reasons, "; ");
            return Err(Error::failed(statement!(
                catalogue::NOTHING_MEASURABLE,
                reasons = reasons
            )));
        }
        for (configuration, reason) in left_out {
            let label = self.visits.plan().label(&configuration.settings);
            let note = statement!(catalogue::NOT_MEASURED_HERE, label = label, reason = &reason);
            self.visits.note(&note, observer)?;
            self.unfit.insert(configuration.id.clone(), reason);
        }
        Ok(())
    }

    /// Opens a configuration and takes it away again: why this machine cannot measure it, if it
    /// cannot.
    fn why_not(&mut self, cell: &Cell) -> Result<Option<Error>, Error> {
        let record = &cell.record;
        match record.ground {
            WorkTarget::Guest => {
                return Ok(self.resources.find_kernel(cell, self.visits.cells()).err());
            }
            WorkTarget::Pull if record.is_in_guest() => {
                return Ok(Kernel::find(cell.axes.guest_kernel()).err().map(Error::from));
            }
            WorkTarget::Pull => return Ok(pull::may_mount_or_why().err()),
            WorkTarget::Folder => return Ok(None),
            WorkTarget::Device | WorkTarget::FileSystem => (),
        }
        let at = |error: Error| error.at(&record.stack);
        let reactor = (record.clock == Clock::Virtual).then(Reactor::virtual_clock);
        let opened = self.resources.opener.open(cell, 0, reactor.as_ref());
        opened.and_then(OpenStack::end).map_err(at)?;
        if record.ground == WorkTarget::Device {
            return Ok(None);
        }
        match self.resources.attach(cell, 0) {
            Ok(attached) => attached.take_away().map(|()| None).map_err(at),
            // The stack can be opened, so this is about the machine: no right to mount, no loop
            // devices, no program that makes the file system, not in its kernel.
            Err(reason) if pull::may_mount() => Ok(Some(reason)),
            Err(reason) => {
                Ok(Some(Error::failed(statement!(catalogue::MOUNT_NEEDS_ROOT, reason = reason))))
            }
        }
    }
}
