//! The reference model: what the users of a device were promised at a moment, straight from the
//! sentences of `docs/contract.md` (C26 to C28), and with nothing of what makes the states.

use pull::{Action, Log, LoggedRequest};

use super::broken::{Broken, BrokenPart};

pub(crate) const BLOCK: u64 = 512;

pub(crate) struct Promised<'a> {
    log: &'a Log,
    /// Requests that change a block, by block.
    writes: Vec<Vec<LoggedRequest>>,
    /// When each flush that succeeded arrived, and from when on it counts.
    flushes: Vec<(u32, u32)>,
    has_cache: bool,
}

impl Promised<'_> {
    pub(crate) fn of(log: &Log, above: u16, marks_early: bool) -> Promised<'_> {
        let drive = &log.drives()[usize::from(above)];
        let mut writes = vec![Vec::new(); (drive.size_bytes / BLOCK) as usize];
        let mut flushes = Vec::new();
        for request in log.requests().iter().filter(|request| request.drive == above) {
            if request.action == Action::Flush {
                let counts = if marks_early { Some(request.arrival) } else { request.completion };
                flushes.extend(counts.map(|counts| (request.arrival, counts)));
            }
            for block in request.offset / BLOCK..(request.offset + request.length) / BLOCK {
                writes[block as usize].push(*request);
            }
        }
        Promised { log, writes, flushes, has_cache: drive.volatile_cache }
    }

    fn is_durable(&self, write: &LoggedRequest, now: u32) -> bool {
        let Some(completion) = write.completion.filter(|&completion| completion < now) else {
            return false;
        };
        let covers = |(arrival, counts): &(u32, u32)| completion < *arrival && *counts < now;
        write.fua || !self.has_cache || self.flushes.iter().any(covers)
    }

    /// Whether these bytes may lie there when the power failed behind `now` events.
    pub(crate) fn check(&self, now: u32, offset: u64, bytes: &[u8]) -> Result<(), Broken> {
        for (block, found) in (offset / BLOCK..).zip(bytes.chunks(BLOCK as usize)) {
            let writes: Vec<&LoggedRequest> =
                self.writes[block as usize].iter().filter(|write| write.arrival < now).collect();
            let durable: Vec<&LoggedRequest> =
                writes.iter().copied().filter(|write| self.is_durable(write, now)).collect();
            let is_gone = |write: &LoggedRequest| {
                write.completion.is_some_and(|completion| {
                    completion < now && durable.iter().any(|later| completion < later.arrival)
                })
            };
            let mut content = [0; BLOCK as usize];
            let is_there = writes.iter().any(|write| {
                self.log.content(write, block * BLOCK, &mut content).expect("in memory");
                content == found && !is_gone(write)
            });
            let untouched = durable.is_empty() && found.iter().all(|&byte| byte == 0);
            if !is_there && !untouched {
                let name = |write: &LoggedRequest| {
                    format!("{}..{:?}", write.arrival, write.completion.unwrap_or(u32::MAX))
                };
                let known: Vec<String> = writes.iter().map(|write| name(write)).collect();
                let durable: Vec<String> = durable.iter().map(|write| name(write)).collect();
                let text = format!(
                    "block {block} holds {:?}..., which it must not: written {known:?}, durable \
                    {durable:?}",
                    &found[..24]
                );
                return Err(BrokenPart::Block(block).told(text));
            }
        }
        Ok(())
    }
}
