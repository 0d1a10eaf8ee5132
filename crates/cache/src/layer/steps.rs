//! The steps of reads, writes and write-outs: what is sent, and what is true when it has ended.

use block::{Buf, BufMut, Error, ErrorKind, Op, Request, Returned};

use super::CacheMode;
use super::channel::{CacheChannel, below_tag, bounce, keep_first};
use super::job::{Content, Job, Running, Step, slice};
use super::plan::{self, From, WriteRules};

pub(super) fn at_store(error: Error) -> Error {
    error.at("the cache's device")
}

impl CacheChannel {
    pub(super) fn begin_read(&mut self, slot: usize, mut running: Running) {
        let Job::Read(read) = &mut running.job else { unreachable!("a read") };
        let shape = self.shared.shape;
        let distrusted = self.shared.is_distrusted();
        read.parts = plan::read(
            &shape,
            &mut self.shared.state(),
            read.offset,
            read.length,
            read.fill && !distrusted,
            distrusted,
        );
        running.step = Step::Fetch;
        running.left = read.parts.len();
        for (number, part) in read.parts.iter_mut().enumerate() {
            let into = read.into.split_to(part.length as usize);
            let tag = below_tag(slot, number);
            match (part.from, &part.fill) {
                (From::Store { first, within }, _) => {
                    self.store.send(Request::new(
                        tag,
                        Op::Read { offset: shape.slot_offset(first) + within, into },
                    ));
                }
                (From::Lower, None) => {
                    self.lower.send(Request::new(tag, Op::Read { offset: part.offset, into }));
                }
                (From::Lower, Some(fill)) => {
                    part.into = Some(into);
                    self.lower.send(Request::new(
                        tag,
                        Op::Read { offset: fill.offset, into: bounce(fill.length) },
                    ));
                }
            }
        }
        read.filling = read.parts.iter().map(|_| None).collect();
        self.wait_for(slot, running);
    }

    pub(super) fn end_read_command(
        &mut self,
        slot: usize,
        running: &mut Running,
        number: usize,
        from_store: bool,
        buffer: Returned,
        result: Result<(), Error>,
    ) {
        let Job::Read(read) = &mut running.job else { unreachable!("a read") };
        if running.step == Step::Fill {
            let part = read.carried[number];
            if let Err(error) = result {
                // A sparse store whose host is full takes nothing new; what it has is as good as
                // before.
                if error.kind() != ErrorKind::NoSpace {
                    self.shared.store_failed(&error);
                }
                read.filling[part] = None;
            }
            return;
        }
        let (part, buffer) = (&mut read.parts[number], buffer.read());
        match (&part.fill, result) {
            (Some(fill), Ok(())) => {
                if let (Some(into), Some(blocks)) = (&mut part.into, buffer.as_slice()) {
                    let start = (part.offset - fill.offset) as usize;
                    into.copy_from_slice(&blocks[start..start + part.length as usize]);
                }
                read.filling[number] = Some(buffer.freeze());
            }
            (Some(_), Err(error)) => keep_first(&mut running.error, Err(error)),
            (None, Err(error)) if from_store => {
                let retried = self.read_below_instead(slot, part, number, buffer, error);
                match retried {
                    None => running.left += 1,
                    Some((buffer, error)) => {
                        part.into = Some(buffer);
                        keep_first(&mut running.error, Err(error));
                    }
                }
            }
            (None, result) => {
                part.into = Some(buffer);
                keep_first(&mut running.error, result);
            }
        }
    }

    /// The store could not be read. Where the device below has the same, it is asked; otherwise
    /// buffer and error come back.
    fn read_below_instead(
        &mut self,
        slot: usize,
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
        part.from = From::Lower;
        self.lower
            .send(Request::new(below_tag(slot, number), Op::Read { offset: part.offset, into }));
        None
    }

    pub(super) fn end_fetch(&mut self, slot: usize, mut running: Running) {
        let Job::Read(read) = &mut running.job else { unreachable!("a read") };
        let shape = self.shared.shape;
        running.step = Step::Fill;
        read.carried.clear();
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
                let tag = below_tag(slot, read.carried.len());
                read.carried.push(number);
                running.left += 1;
                let write = Op::Write {
                    offset: shape.slot_offset(fill.slots[first]),
                    from: slice(blocks, at, length),
                    fua: false,
                };
                self.store.send(Request::new(tag, write));
                (at, first) = (at + length, end);
            }
        }
        self.wait_for(slot, running);
    }

    pub(super) fn end_fill(&mut self, slot: usize, mut running: Running) {
        let Job::Read(read) = &mut running.job else { unreachable!("a read") };
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

    pub(super) fn begin_write(&mut self, slot: usize, mut running: Running) {
        let Job::Write(write) = &mut running.job else { unreachable!("a write") };
        let shape = self.shared.shape;
        let lower_blocks = {
            let mut state = self.shared.state();
            let rules = WriteRules {
                mode: self.shared.options.mode,
                fua: write.fua,
                outside: write.outside,
                distrusted: self.shared.is_distrusted(),
                dirty_max: self.shared.dirty_max(&state),
            };
            write.pieces = match write.content {
                Content::Data(_) => {
                    plan::write(&shape, &mut state, write.offset, write.length, &rules)
                }
                Content::Zeroes | Content::Discard => {
                    plan::edges(&shape, &state, write.offset, write.length)
                }
            };
            let patched = write.pieces.iter().enumerate().filter(|(_, piece)| piece.patch);
            patched
                .map(|(number, piece)| (number, shape.start(piece.block), shape.end(piece.block)))
                .collect::<Vec<_>>()
        };
        running.step = Step::Patch;
        running.left = lower_blocks.len();
        for (number, start, end) in lower_blocks {
            let read = Op::Read { offset: start, into: bounce(end - start) };
            self.lower.send(Request::new(below_tag(slot, number), read));
        }
        self.wait_for(slot, running);
    }

    pub(super) fn end_patch(&mut self, slot: usize, mut running: Running) {
        if running.error.is_some() {
            // Nothing was written, and the slots that were to be filled are stale.
            return self.finish(slot, running);
        }
        let Job::Write(write) = &mut running.job else { unreachable!("a write") };
        running.step = Step::Data;
        let mut commands: Vec<(bool, Op)> = Vec::new();
        match &write.content {
            Content::Data(from) => {
                let from = from.clone();
                let patches = std::mem::take(&mut write.patches);
                self.store_commands(write, &from, patches, &mut commands);
                let mut next = 0;
                while next < write.pieces.len() {
                    let pieces = if write.pieces[next].to_lower {
                        plan::joined(&write.pieces, next, |_, piece, _| piece.to_lower)
                    } else {
                        next += 1;
                        continue;
                    };
                    let offset = write.pieces[next].offset;
                    let length: u64 =
                        write.pieces[pieces.clone()].iter().map(|piece| piece.length).sum();
                    let from = slice(&from, offset - write.offset, length);
                    commands.push((false, Op::Write { offset, from, fua: write.fua }));
                    next = pieces.end;
                    write.carried.push(pieces);
                }
            }
            Content::Zeroes | Content::Discard => {
                let shape = self.shared.shape;
                for (number, piece) in write.pieces.iter().enumerate() {
                    let Some(slot) = piece.slot else { continue };
                    let offset = shape.slot_offset(slot) + piece.offset - shape.start(piece.block);
                    commands.push((
                        true,
                        Op::Write { offset, from: bounce(piece.length).freeze(), fua: false },
                    ));
                    write.carried.push(number..number + 1);
                }
                let (offset, length, fua) = (write.offset, write.length, write.fua);
                let zeroes = matches!(write.content, Content::Zeroes);
                commands.push((
                    false,
                    if zeroes {
                        Op::WriteZeroes { offset, length, fua }
                    } else {
                        Op::Discard { offset, length }
                    },
                ));
                write.carried.push(0..write.pieces.len());
            }
        }
        running.left = commands.len();
        self.jobs_put(slot, running);
        for (number, (to_store, op)) in commands.into_iter().enumerate() {
            let channel = if to_store { &mut self.store } else { &mut self.lower };
            channel.send(Request::new(below_tag(slot, number), op));
        }
    }

    /// What of a write goes to the store: neighbours in neighbouring slots together, patched blocks
    /// one by one.
    fn store_commands(
        &self,
        write: &mut super::job::Write,
        from: &Buf,
        patches: Vec<(usize, BufMut)>,
        commands: &mut Vec<(bool, Op)>,
    ) {
        let shape = self.shared.shape;
        for (number, mut blocks) in patches {
            let piece = write.pieces[number];
            let Some(slot) = piece.slot else { continue };
            let at = (piece.offset - shape.start(piece.block)) as usize;
            if let Some(bytes) = blocks.as_mut_slice() {
                slice(from, piece.offset - write.offset, piece.length)
                    .copy_to_slice(&mut bytes[at..at + piece.length as usize]);
            }
            commands.push((
                true,
                Op::Write { offset: shape.slot_offset(slot), from: blocks.freeze(), fua: false },
            ));
            write.carried.push(number..number + 1);
        }
        let mut next = 0;
        while next < write.pieces.len() {
            let Some(slot) = write.pieces[next].slot.filter(|_| !write.pieces[next].patch) else {
                next += 1;
                continue;
            };
            let pieces = plan::joined(&write.pieces, next, |last, piece, length| {
                !piece.patch
                    && last.slot.map(|slot| slot + 1) == piece.slot
                    && last.offset + last.length == shape.start(piece.block)
                    && length + piece.length <= shape.store_max_bytes
            });
            let first = write.pieces[next];
            let length: u64 = write.pieces[pieces.clone()].iter().map(|piece| piece.length).sum();
            let offset = shape.slot_offset(slot) + first.offset - shape.start(first.block);
            commands.push((
                true,
                Op::Write {
                    offset,
                    from: slice(from, first.offset - write.offset, length),
                    fua: false,
                },
            ));
            next = pieces.end;
            write.carried.push(pieces);
        }
    }

    /// The store has no room for what is new: it goes to the device below instead, as if it had
    /// never been meant to come in. False when there is nothing to be sent.
    fn send_below_instead(&mut self, slot: usize, running: &mut Running) -> bool {
        let Job::Write(write) = &mut running.job else { unreachable!("a write") };
        let Content::Data(from) = &write.content else { return false };
        if write.store_error.as_ref().is_none_or(|error| error.kind() != ErrorKind::NoSpace) {
            return false;
        }
        let mut commands = Vec::new();
        {
            let mut state = self.shared.state();
            for (number, piece) in write.pieces.iter_mut().enumerate() {
                let is_new = piece.store_failed && !piece.to_lower;
                if let Some(slot) = piece.slot.filter(|&slot| is_new && !state.is_dirty(slot)) {
                    debug_assert_eq!(state.directory.find(piece.block), Some(slot));
                    state.invalidate(piece.block);
                    (piece.slot, piece.to_lower, piece.store_failed) = (None, true, false);
                    let from = slice(from, piece.offset - write.offset, piece.length);
                    commands
                        .push((number, Op::Write { offset: piece.offset, from, fua: write.fua }));
                }
            }
        }
        if !write.pieces.iter().any(|piece| piece.store_failed) {
            write.store_error = None;
        }
        write.carried = commands.iter().map(|&(number, _)| number..number + 1).collect();
        running.left = commands.len();
        for (number, (_, op)) in commands.into_iter().enumerate() {
            self.lower.send(Request::new(below_tag(slot, number), op));
        }
        running.left > 0
    }

    pub(super) fn end_data(&mut self, slot: usize, mut running: Running) {
        if self.send_below_instead(slot, &mut running) {
            return self.jobs_put(slot, running);
        }
        let Job::Write(write) = &mut running.job else { unreachable!("a write") };
        let (mut lost, mut kept_back) = (false, false);
        {
            let mut state = self.shared.state();
            for piece in &write.pieces {
                let Some(slot) = piece.slot else { continue };
                let was_dirty = state.is_dirty(slot);
                if piece.lower_failed || piece.store_failed {
                    // Blocks that are dirty here have an old version nowhere else: old or new, they
                    // stay.
                    lost |= piece.store_failed && (was_dirty || !piece.to_lower);
                    if !was_dirty {
                        state.invalidate(piece.block);
                    }
                } else if write_is_data(&write.content) {
                    state.set_valid(slot);
                    if !piece.to_lower {
                        state.set_dirty(slot);
                        kept_back = true;
                    }
                }
            }
            if !write_is_data(&write.content) {
                plan::cleared(
                    &self.shared.shape,
                    &mut state,
                    write.offset,
                    write.length,
                    write.lower_error.is_none(),
                );
            }
        }
        if let Some(error) = write.store_error.take() {
            if error.kind() != ErrorKind::NoSpace {
                self.shared.store_failed(&error);
            }
            if lost {
                running.error = Some(at_store(error));
            }
        }
        if let Some(error) = write.lower_error.take() {
            running.error = Some(error);
        }
        self.release(slot, &mut running);
        if kept_back && self.shared.options.mode == CacheMode::WriteBack {
            self.write_some_out(slot, running);
        } else {
            self.finish(slot, running);
        }
    }
}

fn write_is_data(content: &Content) -> bool {
    matches!(content, Content::Data(_))
}
