//! Reads: what is fetched, and what of it comes into the cache.

use block::{BufMut, Error, ErrorKind, Op, Request, ReturnedBuffer};

use super::job::{AskedRead, JobCommandEnd, Read, ReadStep, RunningJob, slice};
use super::jobs::{Jobs, at_store, below_tag, bounce};
use super::plan::{self, ReadOrigin};

impl Jobs {
    pub(super) fn begin_read(&mut self, slot: u32, running: RunningJob<AskedRead>) {
        let shape = self.shared.shape;
        let distrusted = self.shared.is_distrusted();
        running.name_cause();
        let (running, asked) = running.split();
        let AskedRead { offset, length, fill, into: mut rest } = asked;
        let may_fill = fill && !distrusted;
        let mut parts =
            plan::read(&shape, &mut self.shared.state(), offset, length, may_fill, distrusted);
        for (number, part) in parts.iter_mut().enumerate() {
            let into = rest.split_to(part.length as usize);
            let tag = below_tag(slot, number);
            match (part.from, &part.fill) {
                (ReadOrigin::Store { first, within }, _) => {
                    let offset = shape.slot_offset(first) + within;
                    self.store.send(Request::new(tag, Op::Read { offset, into }));
                }
                (ReadOrigin::Lower, None) => {
                    self.lower.send(Request::new(tag, Op::Read { offset: part.offset, into }));
                }
                (ReadOrigin::Lower, Some(fill)) => {
                    part.into = Some(into);
                    let op = Op::Read { offset: fill.offset, into: bounce(fill.length) };
                    self.lower.send(Request::new(tag, op));
                }
            }
        }
        let (left, filling) = (parts.len(), parts.iter().map(|_| None).collect());
        let read = Read { fill, parts, filling, step: ReadStep::Fetch };
        let mut running = running.with(Box::new(read));
        running.left = left;
        self.go_on_with_read(slot, running);
    }

    pub(super) fn end_read_command(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<Read>>,
        ended: JobCommandEnd,
    ) {
        running.left -= 1;
        let JobCommandEnd { number, from_store, buffer, result } = ended;
        match &mut running.job.step {
            ReadStep::Fetch => {
                self.end_fetch_command(slot, &mut running, number, from_store, buffer, result);
            }
            ReadStep::Fill { carried } => {
                if let Err(error) = result {
                    // A sparse store whose host is full takes nothing new; what it has is as good
                    // as before.
                    if error.kind() != ErrorKind::NoSpace {
                        self.shared.store_failed(&error);
                    }
                    let part = carried[number];
                    running.job.filling[part] = None;
                }
            }
        }
        self.go_on_with_read(slot, running);
    }

    /// Waits for the commands of the step, or goes on after the last.
    fn go_on_with_read(&mut self, slot: u32, running: RunningJob<Box<Read>>) {
        if running.left > 0 {
            return self.put(slot, running);
        }
        running.name_cause();
        match running.job.step {
            ReadStep::Fetch => self.end_fetch(slot, running),
            ReadStep::Fill { .. } => self.end_fill(slot, running),
        }
    }

    fn end_fetch_command(
        &mut self,
        slot: u32,
        running: &mut RunningJob<Box<Read>>,
        number: usize,
        from_store: bool,
        buffer: ReturnedBuffer,
        result: Result<(), Error>,
    ) {
        let read = &mut *running.job;
        let (part, buffer) = (&mut read.parts[number], buffer.read());
        match (&part.fill, result) {
            (Some(fill), Ok(())) => {
                if let (Some(into), Some(blocks)) = (&mut part.into, buffer.as_slice()) {
                    let start = (part.offset - fill.offset) as usize;
                    into.copy_from_slice(&blocks[start..start + part.length as usize]);
                }
                read.filling[number] = Some(buffer.freeze());
            }
            (Some(_), Err(error)) => running.note(Err(error)),
            (None, Err(error)) if from_store => {
                let retried = self.read_below_instead(slot, part, number, buffer, error);
                match retried {
                    None => running.left += 1,
                    Some((buffer, error)) => {
                        part.into = Some(buffer);
                        running.note(Err(error));
                    }
                }
            }
            (None, result) => {
                part.into = Some(buffer);
                running.note(result);
            }
        }
    }

    /// The store could not be read. Where the device below has the same, it is asked; otherwise
    /// buffer and error come back.
    fn read_below_instead(
        &mut self,
        slot: u32,
        part: &mut plan::ReadPart,
        number: usize,
        into: BufMut,
        error: Error,
    ) -> Option<(BufMut, Error)> {
        let any_dirty = {
            let mut state = self.shared.state();
            let slots: Vec<_> = self
                .shared
                .shape
                .range(part.offset, part.length)
                .filter_map(|block| state.find(block))
                .collect();
            // Others may be reading from these slots too, so they stay where they are.
            let (dirty, clean): (Vec<_>, Vec<_>) =
                slots.into_iter().partition(|&slot| state.is_dirty(slot));
            clean.into_iter().for_each(|slot| state.set_stale(slot));
            !dirty.is_empty()
        };
        self.shared.store_failed(&error);
        if any_dirty {
            return Some((into, at_store(error)));
        }
        part.from = ReadOrigin::Lower;
        self.lower
            .send(Request::new(below_tag(slot, number), Op::Read { offset: part.offset, into }));
        None
    }

    fn end_fetch(&mut self, slot: u32, mut running: RunningJob<Box<Read>>) {
        let shape = self.shared.shape;
        let read = &mut *running.job;
        let mut carried = Vec::new();
        for (number, part) in read.parts.iter().enumerate() {
            let (Some(fill), Some(blocks)) = (&part.fill, &read.filling[number]) else { continue };
            let (mut at, mut first) = (0, 0);
            while first < fill.slots.len() {
                let alike = (first + 1..fill.slots.len()).take_while(|&next| {
                    fill.slots[next] == fill.slots[first] + (next - first) as u32
                        && (next - first + 1) as u64 * shape.block_bytes <= shape.store_max_bytes
                });
                let end = first + 1 + alike.count();
                let length = ((end - first) as u64 * shape.block_bytes).min(fill.length - at);
                let tag = below_tag(slot, carried.len());
                carried.push(number);
                let write = Op::Write {
                    offset: shape.slot_offset(fill.slots[first]),
                    from: slice(blocks, at, length),
                    fua: false,
                };
                self.store.send(Request::new(tag, write));
                (at, first) = (at + length, end);
            }
        }
        running.left = carried.len();
        read.step = ReadStep::Fill { carried };
        self.go_on_with_read(slot, running);
    }

    fn end_fill(&mut self, slot: u32, running: RunningJob<Box<Read>>) {
        let read = &*running.job;
        if read.fill {
            let mut state = self.shared.state();
            for (part, filled) in read.parts.iter().zip(&read.filling) {
                let Some(fill) = &part.fill else { continue };
                for (&slot, block) in
                    fill.slots.iter().zip(self.shared.shape.range(fill.offset, fill.length))
                {
                    if filled.is_some() {
                        state.set_valid(slot);
                    } else {
                        state.invalidate(block);
                    }
                }
            }
        }
        self.finish(slot, running);
    }
}
