//! What is durable at a moment of a log and what is not, rolled forward from cut to cut.
//!
//! ```text
//!   durable   an image of each drive: the last durable write of each grain
//!   pending   grain -> the writes that may be found there instead, besides the durable one
//! ```
//!
//! A *grain* is the largest power of two, at most 4 KiB, that divides every offset and length of
//! the log and is no larger than what policies choose at once: nothing begins or ends within one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use block::{Error, ErrorKind, SECTOR_BYTES};

use crate::catalogue;
use crate::crash::{Crash, CrashDrive};
use crate::cut::Cut;
use crate::image::{Durable, Image, PAGE_BYTES};
use crate::log::{Action, Log, LoggedRequest, Moment, Role};
use crate::media::Media;
use crate::policy::{self, Policy, VolatileRequest};

/// A drive that does not do what it says. What is found on such drives says nothing about the
/// stack, and is counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriveFault {
    /// It is honest.
    #[default]
    None,
    /// Flushes are answered and not carried out.
    IgnoresFlush,
    /// Writes with FUA are like others.
    IgnoresFua,
    /// The flush of this number, counted from 0 over all drives, is answered and not carried out.
    DropsFlush(u32),
}

/// Which of the candidates at an offset is there, which are in order, each with whether it is
/// durable; none of them where it is what was durable before.
type Chooser<'a> = dyn Fn(u64, &[(u32, bool)]) -> Option<u32> + 'a;

struct DriveHistory {
    number: u16,
    durable: Arc<RwLock<Durable>>,
    /// What may be found in a grain instead of what is durable, or is durable and was under way
    /// together with another; with whether it is durable.
    pending: BTreeMap<u64, Vec<(u32, bool)>>,
    /// Requests that are not durable, in the order of their arrival.
    volatile: BTreeSet<u32>,
}

/// A log up to a moment.
pub struct History {
    log: Arc<Log>,
    fault: DriveFault,
    grain_bytes: u64,
    drives: Vec<DriveHistory>,
    events: u32,
    flushes: u32,
    /// How often something became durable.
    hardened: u64,
    /// How what was written came to the media; found at the first question.
    media: OnceLock<Vec<Option<Media>>>,
}

impl History {
    /// The beginning of a log, when its drives hold zeroes. `unit_bytes` is the smallest unit that
    /// the policies choose in ([`Policy::unit_bytes`]).
    #[must_use]
    pub fn new(log: Arc<Log>, fault: DriveFault, unit_bytes: Option<u32>) -> History {
        let numbers = (0_u16..).zip(log.drives());
        let drives: Vec<DriveHistory> = numbers
            .filter(|(_, drive)| drive.role == Role::Drive)
            .map(|(number, _)| DriveHistory {
                number,
                durable: Arc::default(),
                pending: BTreeMap::new(),
                volatile: BTreeSet::new(),
            })
            .collect();
        let all = log
            .requests()
            .iter()
            .fold(PAGE_BYTES as u64, |all, request| all | request.offset | request.length);
        let unit_bytes = unit_bytes.map_or(PAGE_BYTES as u64, u64::from);
        let grain_bytes = (1 << all.trailing_zeros()).min(unit_bytes.max(SECTOR_BYTES));
        let media = OnceLock::new();
        History { log, fault, grain_bytes, drives, events: 0, flushes: 0, hardened: 0, media }
    }

    /// The same moment once more, to be rolled forward by itself. What the drives hold is shared
    /// until one of both changes it.
    #[must_use]
    pub fn fork(&self) -> History {
        let drives = self.drives.iter().map(|drive| {
            let durable = drive.durable.read().unwrap_or_else(PoisonError::into_inner).clone();
            DriveHistory {
                number: drive.number,
                durable: Arc::new(RwLock::new(durable)),
                pending: drive.pending.clone(),
                volatile: drive.volatile.clone(),
            }
        });
        History {
            log: Arc::clone(&self.log),
            fault: self.fault,
            grain_bytes: self.grain_bytes,
            drives: drives.collect(),
            events: self.events,
            flushes: self.flushes,
            hardened: self.hardened,
            media: OnceLock::new(),
        }
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Rolls forward to a cut. Crash states that were made before can no longer be read.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the cut lies behind, and what reading the log says.
    pub fn advance(&mut self, cut: Cut) -> Result<(), Error> {
        if cut.events < self.events {
            return Err(Error::new(ErrorKind::Invalid, catalogue::FORWARD_ONLY));
        }
        for drive in &self.drives {
            drive.durable.write().unwrap_or_else(PoisonError::into_inner).generation += 1;
        }
        let log = Arc::clone(&self.log);
        let end = (cut.events as usize).min(log.events().len());
        for (event, number) in log.events()[..end].iter().zip(0_u32..).skip(self.events as usize) {
            match event.moment {
                Moment::Arrival(request) => self.arrival(&log, request),
                Moment::Completion { failed: true, .. } | Moment::Mark { .. } => (),
                Moment::Completion { request, .. } => self.completion(&log, request, number)?,
            }
        }
        self.events = end as u32;
        Ok(())
    }

    /// How often something has become durable: between two moments with the same answer nothing
    /// that is durable has changed.
    #[must_use]
    pub fn hardened(&self) -> u64 {
        self.hardened
    }

    /// The requests that are not durable now, in the order of their arrival.
    #[must_use]
    pub fn volatile_requests(&self) -> Vec<u32> {
        let mut all: Vec<u32> =
            self.drives.iter().flat_map(|drive| drive.volatile.iter().copied()).collect();
        all.sort_unstable();
        all
    }

    fn drive(&mut self, number: u16) -> Option<&mut DriveHistory> {
        self.drives.iter_mut().find(|drive| drive.number == number)
    }

    fn arrival(&mut self, log: &Log, number: u32) {
        let request = log.requests()[number as usize];
        let grain_bytes = self.grain_bytes;
        let Some(drive) = self.drive(request.drive) else { return };
        if request.action == Action::Flush {
            return;
        }
        drive.volatile.insert(number);
        for grain in grains(&request, grain_bytes) {
            drive.pending.entry(grain).or_default().push((number, false));
        }
    }

    fn completion(&mut self, log: &Log, number: u32, event: u32) -> Result<(), Error> {
        let request = log.requests()[number as usize];
        let has_cache = log.drives()[usize::from(request.drive)].volatile_cache;
        let (fault, grain_bytes, flush) = (self.fault, self.grain_bytes, self.flushes);
        let Some(drive) = self.drive(request.drive) else { return Ok(()) };
        if request.action == Action::Flush {
            self.flushes += 1;
            if matches!(fault, DriveFault::IgnoresFlush) || fault == DriveFault::DropsFlush(flush) {
                return Ok(());
            }
            let Some(drive) = self.drive(request.drive) else { return Ok(()) };
            let covered: Vec<u32> = drive
                .volatile
                .iter()
                .copied()
                .filter(|&write| {
                    let completion = log.requests()[write as usize].completion;
                    completion.is_some_and(|completion| completion < request.arrival)
                })
                .collect();
            let count = covered.len() as u64;
            covered.into_iter().try_for_each(|write| drive.harden(log, write, grain_bytes))?;
            self.hardened += count;
            return Ok(());
        }
        debug_assert_eq!(request.completion, Some(event));
        let is_durable = !has_cache || (request.fua && fault != DriveFault::IgnoresFua);
        if is_durable {
            drive.harden(log, number, grain_bytes)?;
            self.hardened += 1;
        }
        Ok(())
    }

    /// How what was written came to the media of the drive of this number.
    fn media(&self, drive: u16) -> Result<&Media, Error> {
        let all = match self.media.get() {
            Some(all) => all,
            None => {
                let all = Media::of(&self.log)?;
                self.media.get_or_init(|| all)
            }
        };
        all.get(usize::from(drive))
            .and_then(Option::as_ref)
            .ok_or_else(|| Error::new(ErrorKind::Invalid, catalogue::LOG_TELLS_NO_MEDIA))
    }

    /// What is left of the drives when the power fails now.
    ///
    /// # Errors
    /// What reading the log says; [`ErrorKind::Invalid`] for [`Policy::Media`] where the log knows
    /// nothing of media.
    pub fn crash(&self, now: Cut, policy: Policy, seed: u64) -> Result<Crash, Error> {
        self.crash_restoring(now, policy, seed, &BTreeSet::new())
    }

    /// The same where these requests are there as well, as far as nothing newer is.
    ///
    /// # Errors
    /// As [`History::crash`].
    pub fn crash_restoring(
        &self,
        now: Cut,
        policy: Policy,
        seed: u64,
        restored: &BTreeSet<u32>,
    ) -> Result<Crash, Error> {
        let drives = self.choose(now, policy, seed, &mut |drive, chosen| {
            let restoring = |offset: u64, candidates: &[(u32, bool)]| {
                let own = chosen(offset, candidates).and_then(|one| place(candidates, one));
                let newest = candidates.iter().rposition(|(request, _)| restored.contains(request));
                own.max(newest).map(|place| candidates[place].0)
            };
            let known = &self.log.drives()[usize::from(drive.number)];
            let overlay = drive.settle(self, &restoring)?;
            Ok(CrashDrive::new(known, Arc::clone(&drive.durable), overlay))
        })?;
        Ok(Crash::new(drives))
    }

    /// The requests that a crash loses, whole or in part, in the order of their arrival: there is
    /// something older in the place of some of what they wrote.
    ///
    /// # Errors
    /// As [`History::crash`].
    pub fn lost(&self, now: Cut, policy: Policy, seed: u64) -> Result<Vec<u32>, Error> {
        let lost = self.choose(now, policy, seed, &mut |drive, chosen| {
            let mut lost = BTreeSet::new();
            for (&grain, found) in &drive.pending {
                let candidates = drive.candidates(self, found);
                let own = chosen(grain * self.grain_bytes, &candidates);
                let newer = own.and_then(|one| place(&candidates, one)).map_or(0, |own| own + 1);
                lost.extend(candidates[newer..].iter().map(|(request, _)| *request));
            }
            Ok(lost)
        })?;
        let all: BTreeSet<u32> = lost.into_iter().flatten().collect();
        Ok(all.into_iter().collect())
    }

    /// Gives each drive to `take`, with what chooses what is there of it.
    fn choose<T>(
        &self,
        now: Cut,
        policy: Policy,
        seed: u64,
        take: &mut dyn FnMut(&DriveHistory, &Chooser<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let volatile: Vec<VolatileRequest> = (self.volatile_requests().into_iter())
            .map(|number| {
                let request = &self.log.requests()[number as usize];
                let completed = request.completion.filter(|&event| event < self.events);
                let time = |event: u32| self.log.events()[event as usize].time_nanoseconds;
                VolatileRequest {
                    request: number,
                    drive: request.drive,
                    length: request.length,
                    block_bytes: self.log.drives()[usize::from(request.drive)].block_bytes,
                    completed: completed.map(|event| (event, time(event))),
                }
            })
            .collect();
        let fates = policy::fates(policy, &volatile, now.time_nanoseconds, seed);
        let keeps = |request: u32, offset: u64| {
            fates.get(&request).is_some_and(|fate| fate.keeps(seed, request, offset))
        };
        // Of writes that were under way together the drive may have put either last.
        let swaps = |request: u32, offset: u64| {
            let number = offset ^ (u64::from(request) << 40);
            policy != Policy::KeepAll && reactor::derive_seed(seed, "swap", number) & 1 == 1
        };
        let drives = self.drives.iter().map(|drive| match policy {
            Policy::Media => {
                let media = self.media(drive.number)?;
                take(drive, &|offset, candidates| {
                    drive.on_media(self, media, now, offset, candidates)
                })
            }
            _ => take(drive, &|offset, candidates| {
                chosen(candidates, &|request| keeps(request, offset), &|request| {
                    swaps(request, offset)
                })
            }),
        });
        drives.collect()
    }
}

fn grains(request: &LoggedRequest, grain_bytes: u64) -> std::ops::Range<u64> {
    request.offset / grain_bytes..(request.offset + request.length) / grain_bytes
}

/// Where a completed request stands among others; what is in flight stands behind all.
fn order(log: &Log, events: u32, request: u32) -> (u32, u32) {
    let LoggedRequest { completion, arrival, .. } = log.requests()[request as usize];
    (completion.filter(|&event| event < events).unwrap_or(u32::MAX), arrival)
}

impl DriveHistory {
    /// A write is durable from now on: what had completed before it arrived is gone for good.
    fn harden(&mut self, log: &Log, number: u32, grain_bytes: u64) -> Result<(), Error> {
        let request = log.requests()[number as usize];
        self.volatile.remove(&number);
        let mut durable = self.durable.write().unwrap_or_else(PoisonError::into_inner);
        for grain in grains(&request, grain_bytes) {
            let Some(found) = self.pending.get_mut(&grain) else { continue };
            if !found.iter().any(|(other, _)| *other == number) {
                // A later one was durable first.
                continue;
            }
            found.retain(|(other, _)| {
                let completion = log.requests()[*other as usize].completion;
                completion.is_none_or(|completion| completion >= request.arrival)
            });
            let is_last = !found.iter().any(|&(other, is_durable)| {
                is_durable && log.requests()[other as usize].completion > request.completion
            });
            for (other, is_durable) in found.iter_mut() {
                *is_durable |= *other == number;
            }
            if is_last {
                let offset = grain * grain_bytes;
                let start = (offset % PAGE_BYTES as u64) as usize;
                let page = durable.image.page_mut(offset / PAGE_BYTES as u64, |_| ());
                log.content(&request, offset, &mut page[start..start + grain_bytes as usize])?;
            }
            if found.len() == 1 {
                self.pending.remove(&grain);
            }
        }
        Ok(())
    }

    /// What the media hold at an offset, of candidates that are in order, where that is none of
    /// what was durable before them.
    fn on_media(
        &self,
        history: &History,
        media: &Media,
        now: Cut,
        offset: u64,
        candidates: &[(u32, bool)],
    ) -> Option<u32> {
        let log = &history.log;
        let time = |event: u32| log.events()[event as usize].time_nanoseconds;
        let known: Vec<_> = candidates
            .iter()
            .map(|&(request, _)| {
                let request = &log.requests()[request as usize];
                let completed = request.completion.filter(|&event| event < history.events);
                (request, time(request.arrival), completed.map(time))
            })
            .collect();
        // What was flushed is there, whatever the model says.
        let durable = candidates.iter().rposition(|(_, is_durable)| *is_durable);
        let place = durable.max(media.holds(offset, now.time_nanoseconds, &known))?;
        Some(candidates[place].0)
    }

    /// What may be found in a grain, in order.
    fn candidates(&self, history: &History, found: &[(u32, bool)]) -> Vec<(u32, bool)> {
        let mut candidates = found.to_vec();
        candidates
            .sort_unstable_by_key(|(request, _)| order(&history.log, history.events, *request));
        candidates
    }

    /// The pages that differ from the durable ones.
    fn settle(&self, history: &History, choose: &Chooser<'_>) -> Result<Image, Error> {
        let (log, grain_bytes) = (&history.log, history.grain_bytes);
        let durable = self.durable.read().unwrap_or_else(PoisonError::into_inner);
        let mut overlay = Image::default();
        for (&grain, found) in &self.pending {
            let offset = grain * grain_bytes;
            let candidates = self.candidates(history, found);
            let Some(request) = choose(offset, &candidates) else { continue };
            let start = (offset % PAGE_BYTES as u64) as usize;
            let number = offset / PAGE_BYTES as u64;
            let page = overlay.page_mut(number, |page| {
                if let Some(below) = durable.image.page(number) {
                    page.copy_from_slice(below);
                }
            });
            let request = &log.requests()[request as usize];
            log.content(request, offset, &mut page[start..start + grain_bytes as usize])?;
        }
        Ok(overlay)
    }
}

/// Where a request stands among candidates.
fn place(candidates: &[(u32, bool)], request: u32) -> Option<usize> {
    candidates.iter().position(|(one, _)| *one == request)
}

/// The newest of a grain's candidates, which are in order, that is kept.
fn chosen(
    candidates: &[(u32, bool)],
    keeps: &dyn Fn(u32) -> bool,
    swaps: &dyn Fn(u32) -> bool,
) -> Option<u32> {
    let newest_first = candidates.iter().rev();
    let mut kept = newest_first.skip_while(|&&(request, is_durable)| {
        // The oldest durable one has nothing below it.
        let is_oldest = is_durable && candidates.first() == Some(&(request, true));
        if is_durable { !is_oldest && swaps(request) } else { !keeps(request) }
    });
    kept.next().map(|(request, _)| *request)
}
