//! What is done to a delta while it is not in use: made, loaded, written back, thrown away.

use std::collections::BTreeMap;
use std::sync::Arc;

use block::{Blocking, Device, DiscardSupport, EmulatingDevice, Error, ErrorKind, Info, Op};
use words::{Message, Text, statement};

use super::format::{
    DATA_ALIGNMENT_BYTES, DeltaState, Row, Shape, Superblock, damaged, decode_page, encode_page,
};
use super::index::{Index, Snapshot};
use super::shape;
use crate::catalogue;
use crate::device_check::first_nonzero;
use crate::unchanged::{Answer, Facts, LeafFacts, Witness, compare, fingerprint, sample};

/// How much is read or written at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// What a delta holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// What it is in the middle of.
    pub state: DeltaState,
    /// Stack text of the device it was made over.
    pub name: String,
    /// Size of that device, in bytes.
    pub size_bytes: u64,
    /// Logical block, in bytes.
    pub block_bytes: u32,
    /// How much of the device lies in the delta, in bytes.
    pub changed_bytes: u64,
}

/// What an overlay needs of its delta.
pub(super) struct LoadedDelta {
    pub(super) generation: u64,
    pub(super) index: Index,
    /// What the user should know.
    pub(super) note: Option<Text>,
}

/// The generation and the index of a delta, which is made if it is new.
pub(super) fn load(
    delta: &dyn Device,
    lower: &dyn Device,
    shape: Shape,
    facts: &Facts,
    keep: bool,
) -> Result<LoadedDelta, Error> {
    let mut channel = Blocking::beside(delta)?;
    let found = read_superblock(&mut channel, shape.block_bytes)?;
    if found.is_none() {
        refuse_foreign(&mut channel, delta.info(), shape, keep)?;
    }
    if !keep {
        if found.is_some() {
            return Err(Error::new(ErrorKind::Refused, catalogue::KEPT_BEFORE));
        }
        if delta.info().read_only {
            return Err(Error::new(ErrorKind::ReadOnly, catalogue::DELTA_READ_ONLY));
        }
        return Ok(LoadedDelta { generation: 0, index: Index::new(shape), note: None });
    }
    let mut superblock = match found {
        Some(superblock) => superblock,
        None if delta.info().read_only => {
            return Err(Error::new(ErrorKind::ReadOnly, catalogue::DELTA_EMPTY_READ_ONLY));
        }
        None => return make(&mut channel, delta, lower, shape, facts),
    };
    if superblock.state == DeltaState::Committing {
        return Err(Error::new(ErrorKind::Refused, catalogue::COMMIT_INTERRUPTED));
    }
    superblock.check(shape)?;
    let (doubt, witness) = look_below(&mut channel, &superblock, lower, facts)?;
    if superblock.state == DeltaState::Clearing {
        finish_clearing(&mut channel, delta, &mut superblock)?;
    }
    let note = doubt.map(|why| statement!(catalogue::BELIEVED_BY_SAMPLE, why = why));
    let mut index = read_index(&mut channel, &superblock)?;
    if let Some(witness) = witness.filter(|_| !delta.info().read_only) {
        // From now on more is known.
        write_witness(&mut channel, &superblock, witness, &facts.leaves)?;
    }
    if !delta.info().read_only {
        complete_marks(&mut channel, &mut superblock, &mut index)?;
    }
    Ok(LoadedDelta { generation: superblock.generation, index, note })
}

/// A delta that holds nothing, on a device that is new to it.
fn make(
    channel: &mut Blocking,
    delta: &dyn Device,
    lower: &dyn Device,
    shape: Shape,
    facts: &Facts,
) -> Result<LoadedDelta, Error> {
    let mut superblock = Superblock {
        version: 2,
        state: DeltaState::Clearing,
        shape,
        fingerprint: fingerprint(lower, shape.block_bytes)?,
        generation: 0,
        name: lower.describe().to_string(),
    };
    finish_clearing(channel, delta, &mut superblock)?;
    write_witness(channel, &superblock, sample(lower, shape.block_bytes)?, &facts.leaves)?;
    Ok(LoadedDelta { generation: superblock.generation, index: Index::new(shape), note: None })
}

/// Whether the device below is what the delta was made over: what there is to doubt, and, where
/// what is known of it has to be taken down anew, the sample.
///
/// # Errors
/// [`ErrorKind::Refused`] when it has changed, or is another one.
fn look_below(
    channel: &mut Blocking,
    superblock: &Superblock,
    lower: &dyn Device,
    facts: &Facts,
) -> Result<(Option<Message>, Option<u64>), Error> {
    let shape = superblock.shape;
    let witness = match superblock.state {
        // What it says is of before the commit.
        DeltaState::Clearing => None,
        _ => Witness::read(channel, shape.witness_offset(), superblock.generation)?,
    };
    let taken = witness.as_ref().map_or(0, |witness| witness.sample);
    let now = sample(lower, shape.block_bytes)?;
    let same = superblock.fingerprint == fingerprint(lower, shape.block_bytes)?
        && (taken == 0 || taken == now);
    match compare(witness.as_ref(), facts, Some(same)) {
        Answer::Unchanged
            if witness.as_ref().is_some_and(|witness| witness.leaves == facts.leaves) =>
        {
            Ok((None, None))
        }
        Answer::Unchanged => Ok((None, Some(now))),
        // A member that is missing now may come back: what is known of it is kept.
        Answer::Unknown(why) => Ok((
            Some(why),
            (facts.leaves.len() >= witness.map_or(0, |witness| witness.leaves.len()))
                .then_some(now),
        )),
        Answer::Changed(why) | Answer::Another(why) => {
            let name = &superblock.name;
            let text = statement!(catalogue::DELTA_OVER_CHANGED, name = name, why = why);
            Err(Error::new(ErrorKind::Refused, text))
        }
    }
}

fn write_witness(
    channel: &mut Blocking,
    superblock: &Superblock,
    sample: u64,
    leaves: &[LeafFacts],
) -> Result<(), Error> {
    let witness = Witness { generation: superblock.generation, sample, leaves: leaves.to_vec() };
    witness.write(channel, superblock.shape.witness_offset(), superblock.shape.block_bytes)?;
    channel.flush()
}

/// Takes down, after a commit and once all below has ended, what the files and disks below are
/// like, so that whatever is written to them from then on is noticed.
///
/// # Errors
/// Whatever the device says.
pub fn seal_delta(delta: Arc<dyn Device>, leaves: &[LeafFacts]) -> Result<(), Error> {
    let carry_out = || {
        let delta = EmulatingDevice::over(delta);
        let mut channel = Blocking::beside(&*delta)?;
        let superblock = kept_superblock(&mut channel, &*delta)?;
        let witness =
            Witness::read(&mut channel, superblock.shape.witness_offset(), superblock.generation)?;
        witness.map_or(Ok(()), |witness| {
            write_witness(&mut channel, &superblock, witness.sample, leaves)
        })
    };
    carry_out().map_err(|error: Error| error.at(catalogue::OVERLAY))
}

/// What the delta holds; `None` when it has no superblock.
///
/// # Errors
/// [`ErrorKind::Refused`] when it holds something else, [`ErrorKind::Corrupt`] when it is damaged.
pub fn examine(delta: &dyn Device) -> Result<Option<Changes>, Error> {
    let look = || {
        let mut channel = Blocking::beside(delta)?;
        let Some(superblock) = read_superblock(&mut channel, delta.info().block_bytes)? else {
            return Ok(None);
        };
        let index = match superblock.state {
            DeltaState::Clearing => Index::new(superblock.shape),
            DeltaState::InUse | DeltaState::Committing => read_index(&mut channel, &superblock)?,
        };
        let Superblock { state, shape: Shape { block_bytes, size_bytes }, name, .. } = superblock;
        let changed_bytes = index.present_blocks() * u64::from(block_bytes);
        Ok(Some(Changes { state, name, size_bytes, block_bytes, changed_bytes }))
    };
    look().map_err(|error: Error| error.at(catalogue::OVERLAYS_DELTA))
}

/// Writes what is in the delta to the device below and empties the delta. After a crash on the way
/// it has to be called again. Returns how much was written, in bytes. `facts` are those of the
/// files and disks that `lower` stands on, from before anything was written to them; [`seal_delta`]
/// is to follow when all below has ended.
///
/// # Errors
/// As [`super::Overlay::open`], and whatever the devices say.
pub fn commit(delta: Arc<dyn Device>, lower: Arc<dyn Device>, facts: &Facts) -> Result<u64, Error> {
    let carry_out = || {
        let (delta, lower) = (EmulatingDevice::over(delta), EmulatingDevice::over(lower));
        let mut source = Blocking::beside(&*delta)?;
        let mut superblock = kept_superblock(&mut source, &*delta)?;
        let shape = shape(delta.info(), lower.info())?;
        superblock.check(shape)?;
        // The device below is a mixture once a commit has begun, so only its size can be looked at
        // then.
        if superblock.state == DeltaState::InUse {
            look_below(&mut source, &superblock, &*lower, facts)?;
        }
        let index = match superblock.state {
            DeltaState::Clearing => Index::new(shape),
            DeltaState::InUse | DeltaState::Committing => read_index(&mut source, &superblock)?,
        };
        let mut target = Blocking::beside(&*lower)?;
        if superblock.state == DeltaState::InUse {
            superblock.state = DeltaState::Committing;
            write_superblock(&mut source, &superblock)?;
        }
        copy(&mut source, &mut target, shape, &index)?;
        superblock.fingerprint = fingerprint(&*lower, shape.block_bytes)?;
        superblock.name = lower.describe().to_string();
        superblock.state = DeltaState::Clearing;
        write_superblock(&mut source, &superblock)?;
        finish_clearing(&mut source, &*delta, &mut superblock)?;
        write_witness(
            &mut source,
            &superblock,
            sample(&*lower, shape.block_bytes)?,
            &facts.in_use(),
        )?;
        Ok(index.present_blocks() * u64::from(shape.block_bytes))
    };
    carry_out().map_err(|error: Error| error.at(catalogue::OVERLAY))
}

/// Throws away what is in the delta and returns how much that was, in bytes. The device below is as
/// it was.
///
/// # Errors
/// [`ErrorKind::Refused`] when it is no delta or a commit was interrupted, and whatever the device
/// says.
pub fn discard(delta: Arc<dyn Device>) -> Result<u64, Error> {
    let carry_out = || {
        let delta = EmulatingDevice::over(delta);
        let mut channel = Blocking::beside(&*delta)?;
        let mut superblock = kept_superblock(&mut channel, &*delta)?;
        if superblock.state == DeltaState::Committing {
            return Err(Error::new(ErrorKind::Refused, catalogue::FINISH_COMMIT));
        }
        let lost = if superblock.state == DeltaState::InUse {
            read_index(&mut channel, &superblock)?.present_blocks()
        } else {
            0
        };
        let witness =
            Witness::read(&mut channel, superblock.shape.witness_offset(), superblock.generation)?;
        superblock.state = DeltaState::Clearing;
        write_superblock(&mut channel, &superblock)?;
        finish_clearing(&mut channel, &*delta, &mut superblock)?;
        if let Some(Witness { sample, leaves, .. }) = witness {
            write_witness(&mut channel, &superblock, sample, &leaves)?;
        }
        Ok(lost * u64::from(superblock.shape.block_bytes))
    };
    carry_out().map_err(|error: Error| error.at(catalogue::OVERLAY))
}

fn kept_superblock(channel: &mut Blocking, delta: &dyn Device) -> Result<Superblock, Error> {
    let found = read_superblock(channel, delta.info().block_bytes)?;
    found.ok_or_else(|| {
        let device = delta.describe().to_string();
        let text = statement!(catalogue::OVERLAY_SUPERBLOCK_LACKS, device = device);
        Error::new(ErrorKind::Refused, text)
    })
}

fn read_superblock(channel: &mut Blocking, block_bytes: u32) -> Result<Option<Superblock>, Error> {
    let mut block = vec![0; block_bytes as usize];
    channel.read_slice(0, &mut block)?;
    Superblock::decode(&block)
}

/// Signatures of others lie somewhat behind the start: what is to become a delta must be zero as
/// far as data cannot lie. One that has lost its beginning (trimmed, or left out of a sparse copy)
/// still has the rest of its index, or its witness.
fn refuse_foreign(
    channel: &mut Blocking,
    delta: &Info,
    shape: Shape,
    keep: bool,
) -> Result<(), Error> {
    // What is not kept has no index, and data of an earlier time may lie there.
    let end = if keep { shape.data_offset() } else { DATA_ALIGNMENT_BYTES };
    if let Some(at) = first_nonzero(channel, delta, 0, end)? {
        let text = statement!(catalogue::DELTA_NOT_EMPTY, at = at);
        return Err(Error::new(ErrorKind::Refused, text));
    }
    if Witness::is_at(channel, shape.witness_offset(), shape.block_bytes)? {
        return Err(Error::new(ErrorKind::Refused, catalogue::DELTA_LOST_BEGINNING));
    }
    Ok(())
}

fn write_superblock(channel: &mut Blocking, superblock: &Superblock) -> Result<(), Error> {
    let mut block = vec![0; superblock.shape.block_bytes as usize];
    superblock.encode(&mut block);
    channel.write_slice(0, &block)?;
    channel.flush()
}

/// Writes the marks that are missing: all of a delta of version 1, and those of pages that were
/// written right before a crash.
fn complete_marks(
    channel: &mut Blocking,
    superblock: &mut Superblock,
    index: &mut Index,
) -> Result<(), Error> {
    if superblock.version == 1 {
        write_all_marks(channel, superblock, index)?;
        superblock.version = 2;
        return write_superblock(channel, superblock);
    }
    let marks = index.unmarked();
    if !marks.is_empty() {
        write_marks(channel, superblock, &index.mark_images(&marks))?;
        channel.flush()?;
        index.settle_marks(marks);
    }
    Ok(())
}

/// Marks what the index has and nothing else, and makes it durable.
fn write_all_marks(
    channel: &mut Blocking,
    superblock: &Superblock,
    index: &mut Index,
) -> Result<(), Error> {
    let shape = superblock.shape;
    let marks = index.unmarked();
    index.settle_marks(marks.clone());
    let mut images: BTreeMap<u64, Box<[u64]>> = (0..shape.mark_pages())
        .map(|number| (number, vec![0; (shape.blocks_per_page() / 64) as usize].into()))
        .collect();
    images.extend(index.mark_images(&marks).0);
    write_marks(channel, superblock, &Snapshot(images.into_iter().collect()))?;
    channel.flush()
}

fn write_marks(
    channel: &mut Blocking,
    superblock: &Superblock,
    images: &Snapshot,
) -> Result<(), Error> {
    let shape = superblock.shape;
    let mut page = vec![0; shape.block_bytes as usize];
    images.0.iter().try_for_each(|(number, bits)| {
        encode_page(Row::Marks, superblock.generation, *number, bits, &mut page);
        channel.write_slice(shape.mark_page_offset(*number), &page)
    })
}

/// From the state `Clearing`, on the delta or about to be, to an empty delta in use.
fn finish_clearing(
    channel: &mut Blocking,
    delta: &dyn Device,
    superblock: &mut Superblock,
) -> Result<(), Error> {
    let shape = superblock.shape;
    let start = shape.page_offset(0);
    channel.run(Op::WriteZeroes {
        offset: start,
        length: shape.page_offset(shape.pages()) - start,
        fua: false,
    })?;
    if delta.info().discard != DiscardSupport::None {
        channel.run(Op::Discard { offset: shape.data_offset(), length: shape.size_bytes })?;
    }
    channel.flush()?;
    superblock.version = 2;
    superblock.state = DeltaState::InUse;
    superblock.generation += 1;
    // Of this generation: a crash from here on leaves the superblock as it was, and the clearing
    // begins again.
    write_all_marks(channel, superblock, &mut Index::new(shape))?;
    write_superblock(channel, superblock)
}

fn read_index(channel: &mut Blocking, superblock: &Superblock) -> Result<Index, Error> {
    let shape = superblock.shape;
    let block = u64::from(shape.block_bytes);
    let mut index = Index::new(shape);
    let together = (PIECE_BYTES / block).max(1);
    let mut bytes = Vec::new();
    for first in (0..shape.pages()).step_by(together as usize) {
        let count = together.min(shape.pages() - first);
        bytes.resize((count * block) as usize, 0);
        channel.read_slice(shape.page_offset(first), &mut bytes)?;
        for (number, page) in (first..).zip(bytes.chunks(block as usize)) {
            if let Some(bits) = decode_page(Row::Blocks, superblock.generation, number, page)? {
                index.load(number, bits);
            }
        }
    }
    if superblock.version > 1 {
        read_marks(channel, superblock, &mut index)?;
    }
    Ok(index)
}

/// Pages of the index that are zero must have been so always.
fn read_marks(
    channel: &mut Blocking,
    superblock: &Superblock,
    index: &mut Index,
) -> Result<(), Error> {
    const LOST: Message = catalogue::ALL_ZERO;
    let shape = superblock.shape;
    let mut page = vec![0; shape.block_bytes as usize];
    for number in 0..shape.mark_pages() {
        channel.read_slice(shape.mark_page_offset(number), &mut page)?;
        let bits = decode_page(Row::Marks, superblock.generation, number, &page)?;
        index.load_marks(number, &bits.ok_or_else(|| damaged(Row::Marks, number, LOST))?);
    }
    index.first_lost().map_or(Ok(()), |number| Err(damaged(Row::Blocks, number, LOST)))
}

/// All that is in the delta to the device below, in address order.
fn copy(
    source: &mut Blocking,
    target: &mut Blocking,
    shape: Shape,
    index: &Index,
) -> Result<(), Error> {
    let block = u64::from(shape.block_bytes);
    for (first, count) in index.present_runs() {
        let (mut offset, end) = (first * block, (first + count) * block);
        while offset < end {
            let length = PIECE_BYTES.max(block).min(end - offset);
            let mut bytes = vec![0; length as usize];
            source.read_slice(shape.data_offset() + offset, &mut bytes)?;
            target.write_slice(offset, &bytes)?;
            offset += length;
        }
    }
    target.flush()
}
