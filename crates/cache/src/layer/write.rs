//! Writes: what goes to the store and what to the device below, and what is true when it is there.

use std::ops::Range;
use std::sync::atomic::Ordering;

use block::{Buf, BufMut, ErrorKind, Op, Request};

use super::job::{
    AskedWrite, Content, JobCommandEnd, RunningJob, Write, WriteProgress, WriteStep, slice,
};
use super::jobs::{Jobs, at_store, below_tag, bounce};
use super::options::CacheMode;
use super::plan::{self, WriteRules};

impl Jobs {
    pub(super) fn begin_write(&mut self, slot: u32, running: RunningJob<AskedWrite>) {
        running.name_cause();
        let shape = self.shared.shape;
        let asked = &running.job;
        let pieces = {
            let mut state = self.shared.state();
            let rules = WriteRules {
                mode: self.shared.options.mode,
                fua: asked.fua,
                outside: asked.outside,
                distrusted: self.shared.is_distrusted(),
                dirty_max: self.shared.dirty_max(&state),
            };
            match asked.content {
                Content::Data(_) => {
                    plan::write(&shape, &mut state, asked.offset, asked.length, &rules)
                }
                Content::Zeroes | Content::Discard => {
                    plan::edges(&shape, &state, asked.offset, asked.length)
                }
            }
        };
        let mut left = 0;
        for (number, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.patch) {
            let (start, end) = (shape.start(piece.block), shape.end(piece.block));
            let read = Op::Read { offset: start, into: bounce(end - start) };
            self.lower.send(Request::new(below_tag(slot, number), read));
            left += 1;
        }
        let (running, asked) = running.split();
        let step = WriteStep::Patch { patches: Vec::new() };
        let mut running = running.with(Box::new(Write { asked, pieces, step }));
        running.left = left;
        self.go_on_with_write(slot, running);
    }

    pub(super) fn end_write_command(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<Write>>,
        ended: JobCommandEnd,
    ) {
        running.left -= 1;
        let JobCommandEnd { number, from_store, buffer, result } = ended;
        let write = &mut *running.job;
        match &mut write.step {
            WriteStep::Patch { patches } => {
                patches.push((number, buffer.read()));
                running.note(result);
            }
            WriteStep::Data(sent) => {
                let failed = result.is_err();
                let pieces = sent.carried.get(number).cloned().unwrap_or(0..0);
                for piece in &mut write.pieces[pieces] {
                    *if from_store { &mut piece.store_failed } else { &mut piece.lower_failed } |=
                        failed;
                }
                let error = if from_store { &mut sent.store_error } else { &mut sent.lower_error };
                if let Err(failed) = result {
                    error.get_or_insert(failed);
                }
                if !from_store {
                    self.shared.lower_written.store(true, Ordering::Release);
                }
            }
            WriteStep::WritingOut | WriteStep::Committing => {
                debug_assert!(false, "what a write waits for then are jobs");
            }
        }
        self.go_on_with_write(slot, running);
    }

    /// A job that the write has started has ended, one way or the other.
    pub(super) fn end_child_of_write(&mut self, slot: u32, mut running: RunningJob<Box<Write>>) {
        running.left -= 1;
        self.go_on_with_write(slot, running);
    }

    /// Waits for what the step has started, or goes on when all has ended.
    fn go_on_with_write(&mut self, slot: u32, mut running: RunningJob<Box<Write>>) {
        if running.left > 0 {
            return self.put(slot, running);
        }
        running.name_cause();
        match std::mem::replace(&mut running.job.step, WriteStep::WritingOut) {
            WriteStep::Patch { patches } => self.end_patch(slot, running, patches),
            WriteStep::Data(sent) => self.end_data(slot, running, sent),
            WriteStep::WritingOut if self.should_free_slots() => {
                running.job.step = WriteStep::Committing;
                running.left = 1;
                self.put(slot, running);
                self.start_commit(0, Some(slot));
            }
            // The write has its data in the store; that others could not be written out is not its
            // failure.
            WriteStep::WritingOut | WriteStep::Committing => {
                self.shared.writing_out.store(false, Ordering::Release);
                self.finish(slot, running);
            }
        }
    }

    fn end_patch(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<Write>>,
        patches: Vec<(usize, BufMut)>,
    ) {
        if running.error.is_some() {
            // Nothing was written, and the slots that were to be filled are stale.
            return self.finish(slot, running);
        }
        let write = &mut *running.job;
        let asked = &write.asked;
        let mut carried: Vec<Range<usize>> = Vec::new();
        let mut commands: Vec<(bool, Op)> = Vec::new();
        match &asked.content {
            Content::Data(from) => {
                self.store_commands(write, from, patches, &mut carried, &mut commands);
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
                    let from = slice(from, offset - asked.offset, length);
                    commands.push((false, Op::Write { offset, from, fua: asked.fua }));
                    next = pieces.end;
                    carried.push(pieces);
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
                    carried.push(number..number + 1);
                }
                let (offset, length, fua) = (asked.offset, asked.length, asked.fua);
                let zeroes = matches!(asked.content, Content::Zeroes);
                commands.push((
                    false,
                    if zeroes {
                        Op::WriteZeroes { offset, length, fua }
                    } else {
                        Op::Discard { offset, length }
                    },
                ));
                carried.push(0..write.pieces.len());
            }
        }
        running.left = commands.len();
        write.step = WriteStep::Data(WriteProgress { carried, ..WriteProgress::default() });
        self.put(slot, running);
        for (number, (to_store, op)) in commands.into_iter().enumerate() {
            let channel = if to_store { &mut self.store } else { &mut self.lower };
            channel.send(Request::new(below_tag(slot, number), op));
        }
    }

    /// What of a write goes to the store: neighbours in neighbouring slots together, patched blocks
    /// one by one.
    fn store_commands(
        &self,
        write: &Write,
        from: &Buf,
        patches: Vec<(usize, BufMut)>,
        carried: &mut Vec<Range<usize>>,
        commands: &mut Vec<(bool, Op)>,
    ) {
        let shape = self.shared.shape;
        for (number, mut blocks) in patches {
            let piece = write.pieces[number];
            let Some(slot) = piece.slot else { continue };
            let at = (piece.offset - shape.start(piece.block)) as usize;
            if let Some(bytes) = blocks.as_mut_slice() {
                slice(from, piece.offset - write.asked.offset, piece.length)
                    .copy_to_slice(&mut bytes[at..at + piece.length as usize]);
            }
            commands.push((
                true,
                Op::Write { offset: shape.slot_offset(slot), from: blocks.freeze(), fua: false },
            ));
            carried.push(number..number + 1);
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
                    from: slice(from, first.offset - write.asked.offset, length),
                    fua: false,
                },
            ));
            next = pieces.end;
            carried.push(pieces);
        }
    }

    /// The store has no room for what is new: it goes to the device below instead, as if it had
    /// never been meant to come in. False when there is nothing to be sent.
    fn send_below_instead(
        &mut self,
        slot: u32,
        running: &mut RunningJob<Box<Write>>,
        sent: &mut WriteProgress,
    ) -> bool {
        let write = &mut *running.job;
        let asked = &write.asked;
        let Content::Data(from) = &asked.content else { return false };
        if sent.store_error.as_ref().is_none_or(|error| error.kind() != ErrorKind::NoSpace) {
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
                    let from = slice(from, piece.offset - asked.offset, piece.length);
                    commands
                        .push((number, Op::Write { offset: piece.offset, from, fua: asked.fua }));
                }
            }
        }
        if !write.pieces.iter().any(|piece| piece.store_failed) {
            sent.store_error = None;
        }
        sent.carried = commands.iter().map(|&(number, _)| number..number + 1).collect();
        running.left = commands.len();
        for (number, (_, op)) in commands.into_iter().enumerate() {
            self.lower.send(Request::new(below_tag(slot, number), op));
        }
        running.left > 0
    }

    fn end_data(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<Write>>,
        mut sent: WriteProgress,
    ) {
        if self.send_below_instead(slot, &mut running, &mut sent) {
            running.job.step = WriteStep::Data(sent);
            return self.put(slot, running);
        }
        let write = &*running.job;
        let is_data = write.asked.content.is_data();
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
                } else if is_data {
                    state.set_valid(slot);
                    if !piece.to_lower {
                        state.set_dirty(slot);
                        kept_back = true;
                    }
                }
            }
            if !is_data {
                plan::cleared(
                    &self.shared.shape,
                    &mut state,
                    write.asked.offset,
                    write.asked.length,
                    sent.lower_error.is_none(),
                );
            }
        }
        if let Some(error) = sent.store_error {
            if error.kind() != ErrorKind::NoSpace {
                self.shared.store_failed(&error);
            }
            if lost {
                running.error = Some(at_store(error));
            }
        }
        if let Some(error) = sent.lower_error {
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
