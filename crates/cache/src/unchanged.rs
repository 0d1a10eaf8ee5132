//! One answer for caches and overlays: is the device below still the one that it was, and unchanged
//! since?
//!
//! ```text
//!   facts of each file and disk below   same    ──> unchanged
//!   (which one; what every write moves) moved   ──> changed
//!                                       unknown ──> nothing is known, even if the sample is the same
//!   sample of the data                  differs ──> changed, unless the facts say that nothing wrote
//! ```
//!
//! A sample alone can say no, and never yes: most of a device lies between its places. The facts
//! come from a caller that knows files and disks, as plain numbers; where they lie on a store or a
//! delta is drawn in `docs/formats/overlay.md`.

use block::{Blocking, BufMut, Device, Error, ErrorKind};
use words::Message;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::catalogue;
use crate::frame::{long, word};

/// What is known of one file or disk besides its data. The numbers are compared and mean nothing by
/// themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafFacts {
    /// Which one it is; 0 where that cannot be known.
    pub identity: u64,
    /// As long as this is the same, `state` can be compared: the kernel's counters begin again with
    /// each start of the machine.
    pub epoch: u64,
    /// Another one after every write; 0 where nothing tells.
    pub state: u64,
}

/// The epoch of an array whose state is its events.
const EVENTS: u64 = 1;
/// The same while it is in use: they only go up.
const EVENTS_AT_LEAST: u64 = 2;

impl LeafFacts {
    /// What is known of an array with metadata, whichever files and disks it stands on: its UUID,
    /// and how often its superblocks have changed.
    #[must_use]
    pub fn of_array(uuid: &[u8; 16], events: u64) -> LeafFacts {
        LeafFacts { identity: fact(uuid), epoch: EVENTS, state: events.max(1) }
    }

    fn is_array(&self) -> bool {
        matches!(self.epoch, EVENTS | EVENTS_AT_LEAST)
    }

    /// What stays true while it is written to.
    fn in_use(&self) -> LeafFacts {
        if self.is_array() {
            return LeafFacts { epoch: EVENTS_AT_LEAST, ..*self };
        }
        LeafFacts { identity: self.identity, epoch: 0, state: 0 }
    }
}

/// What is known of a device by the files and disks that it stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The files and disks, and the arrays of them.
    pub leaves: Vec<LeafFacts>,
    /// The user vouches for the device: unless a sample of its data says otherwise, it counts as
    /// unchanged.
    pub believe_sample: bool,
}

impl Facts {
    /// Nothing is known.
    #[must_use]
    pub fn none() -> Facts {
        Facts::default()
    }

    /// What is known without what writes move: for a device that is about to be written.
    pub(crate) fn in_use(&self) -> Vec<LeafFacts> {
        self.leaves.iter().map(LeafFacts::in_use).collect()
    }
}

/// Whether a device is what it was; what is not sure says why, in words that go on from "the device
/// below …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Unchanged,
    /// Nothing speaks against it, and nothing proves it.
    Unknown(Message),
    Changed(Message),
    /// It is another one, or its data are others and nothing says that it is the same one.
    Another(Message),
}

/// What was known of the device below at some time: it lies beside the superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    /// The superblock's; another one's speaks for another time.
    pub(crate) generation: u64,
    /// Of the data where partitions and file systems keep what they are; 0 where it was not taken.
    pub(crate) sample: u64,
    pub(crate) leaves: Vec<LeafFacts>,
}

const MAGIC: &[u8; 16] = b"raidloom witness";
const HEADER_BYTES: usize = 40;
const LEAF_BYTES: usize = 24;
/// So much is kept free for it.
const WITNESS_BYTES_MAX: usize = 64 << 10;

impl Witness {
    /// A witness of a device that is being used from now on.
    pub(crate) fn in_use(generation: u64, facts: &Facts) -> Witness {
        Witness { generation, sample: 0, leaves: facts.in_use() }
    }

    /// Reads it; `None` when there is none, or one of another time, or a damaged one: then nothing
    /// is known.
    pub(crate) fn read(
        channel: &mut Blocking,
        offset: u64,
        generation: u64,
    ) -> Result<Option<Witness>, Error> {
        let mut bytes = vec![0; WITNESS_BYTES_MAX];
        // Most are short.
        let (head, rest) = bytes.split_at_mut(WITNESS_BYTES_MAX / 16);
        channel.read_slice(offset, head)?;
        if head[..16] == *MAGIC && HEADER_BYTES + LEAF_BYTES * word(head, 20) as usize > head.len()
        {
            channel.read_slice(offset + head.len() as u64, rest)?;
        }
        Ok(Witness::decode(&bytes).filter(|witness| witness.generation == generation))
    }

    /// Whether there is one, of whatever time and however damaged.
    pub(crate) fn is_at(
        channel: &mut Blocking,
        offset: u64,
        block_bytes: u32,
    ) -> Result<bool, Error> {
        let mut head = vec![0; block_bytes as usize];
        channel.read_slice(offset, &mut head)?;
        Ok(head[..16] == *MAGIC)
    }

    /// Writes it, in whole blocks. It is durable after the next flush.
    pub(crate) fn write(
        &self,
        channel: &mut Blocking,
        offset: u64,
        block_bytes: u32,
    ) -> Result<(), Error> {
        let mut bytes = self.encode();
        bytes.resize(bytes.len().next_multiple_of(block_bytes as usize), 0);
        channel.write_slice(offset, &bytes)
    }

    fn encode(&self) -> Vec<u8> {
        // Of more than that, nothing is known.
        let fits = HEADER_BYTES + LEAF_BYTES * self.leaves.len() <= WITNESS_BYTES_MAX;
        let leaves: &[LeafFacts] = if fits { &self.leaves } else { &[] };
        let mut bytes = vec![0; HEADER_BYTES + LEAF_BYTES * leaves.len()];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[20..24].copy_from_slice(&(leaves.len() as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.generation.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.sample.to_le_bytes());
        for (place, leaf) in bytes[HEADER_BYTES..].chunks_mut(LEAF_BYTES).zip(leaves) {
            place[..8].copy_from_slice(&leaf.identity.to_le_bytes());
            place[8..16].copy_from_slice(&leaf.epoch.to_le_bytes());
            place[16..].copy_from_slice(&leaf.state.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes[20..]);
        bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Witness> {
        let end = HEADER_BYTES.checked_add(LEAF_BYTES.checked_mul(word(bytes, 20) as usize)?)?;
        if bytes[..16] != *MAGIC
            || end > bytes.len()
            || word(bytes, 16) != crc32c::crc32c(&bytes[20..end])
        {
            return None;
        }
        let leaf = |place: &[u8]| LeafFacts {
            identity: long(place, 0),
            epoch: long(place, 8),
            state: long(place, 16),
        };
        let leaves = bytes[HEADER_BYTES..end].chunks(LEAF_BYTES).map(leaf).collect();
        Some(Witness { generation: long(bytes, 24), sample: long(bytes, 32), leaves })
    }
}

/// Compares what was known with what is known now. `samples_agree` is `None` where no sample was
/// taken then.
pub(crate) fn compare(then: Option<&Witness>, now: &Facts, samples_agree: Option<bool>) -> Answer {
    let by_facts = by_facts(then.map_or(&[], |witness| &witness.leaves), &now.leaves);
    match (samples_agree, by_facts) {
        (Some(true) | None, Answer::Unknown(_) | Answer::Changed(_) | Answer::Another(_))
            if now.believe_sample =>
        {
            Answer::Unchanged
        }
        (Some(false), Answer::Unchanged) => Answer::Unknown(catalogue::READS_OTHERWISE),
        (Some(false), Answer::Unknown(_)) if is_known(then) => {
            Answer::Changed(catalogue::WAS_WRITTEN_TO)
        }
        (Some(false), Answer::Unknown(_) | Answer::Another(_)) => {
            Answer::Another(catalogue::HOLDS_OTHER_DATA)
        }
        (_, answer) => answer,
    }
}

fn is_known(then: Option<&Witness>) -> bool {
    then.is_some_and(|witness| witness.leaves.iter().any(|leaf| leaf.identity != 0))
}

fn by_facts(then: &[LeafFacts], now: &[LeafFacts]) -> Answer {
    // What earlier versions wrote down knows no arrays.
    let knows_arrays = then.iter().any(LeafFacts::is_array);
    let now: Vec<LeafFacts> =
        now.iter().filter(|leaf| knows_arrays || !leaf.is_array()).copied().collect();
    let is_same_array = |leaf: &LeafFacts| {
        leaf.is_array() && then.iter().any(|before| before.identity == leaf.identity)
    };
    if knows_arrays && !now.iter().any(is_same_array) {
        return Answer::Another(catalogue::ANOTHER_ARRAY);
    }
    let (mut found, mut same, mut strange) = (0, 0, 0);
    for (place, leaf) in now.iter().enumerate() {
        let before = match leaf.identity {
            // Without a name of its own it is compared with what stood in its place.
            0 => then.get(place).filter(|before| before.identity == 0),
            identity => then.iter().find(|before| before.identity == identity),
        };
        let Some(before) = before else {
            strange += usize::from(leaf.identity != 0);
            continue;
        };
        found += usize::from(leaf.identity != 0);
        if before.epoch == EVENTS_AT_LEAST && leaf.is_array() && leaf.state < before.state {
            return Answer::Changed(catalogue::OLDER_STATE);
        }
        let comparable = before.state != 0 && leaf.state != 0 && before.epoch == leaf.epoch;
        if comparable && before.state != leaf.state {
            return Answer::Changed(catalogue::WAS_WRITTEN_TO);
        }
        same += usize::from(comparable);
    }
    let had_names = then.iter().any(|before| before.identity != 0);
    if found == 0 && strange > 0 && had_names {
        Answer::Another(catalogue::ANOTHER_DEVICE)
    } else if same == now.len() && same == then.len() && same > 0 {
        Answer::Unchanged
    } else if found > 0 && found < then.len().max(now.len()) {
        Answer::Unknown(catalogue::MEMBERS_MISSING)
    } else if found > 0 {
        Answer::Unknown(catalogue::SAME_BUT_UNTOLD)
    } else {
        Answer::Unknown(catalogue::CANNOT_BE_TOLD)
    }
}

/// The fingerprint looks at so many places of this length.
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 4096;

/// A hash of places spread over the whole device (docs/formats/overlay.md).
pub(crate) fn fingerprint(device: &dyn Device, block_bytes: u32) -> Result<u64, Error> {
    let (block, size_bytes) = (u64::from(block_bytes), device.info().size_bytes);
    let sample_bytes = SAMPLE_BYTES.max(block);
    let places: Vec<(u64, u64)> = if size_bytes <= SAMPLES * sample_bytes {
        (0..size_bytes)
            .step_by(sample_bytes as usize)
            .map(|offset| (offset, sample_bytes.min(size_bytes - offset)))
            .collect()
    } else {
        let last = size_bytes - sample_bytes;
        // In 128 bits: the product of a large device's size passes 64.
        let place = |number: u64| {
            (u128::from(last) * u128::from(number) / u128::from(SAMPLES - 1)) as u64 / block * block
        };
        (0..SAMPLES).map(|number| (place(number), sample_bytes)).collect()
    };
    hash_of(device, &places)
}

/// How much behind the start of a device, and of each partition, is looked at: ext4, XFS, btrfs,
/// LVM, LUKS and md keep there what they change when they are used.
const HEAD_BYTES: u64 = 128 << 10;
/// Where the first partition is nearly always, and where btrfs has its second superblock.
const MIB: u64 = 1 << 20;

/// A hash of the places where partition tables and file systems keep what changes when they are
/// used (docs/formats/overlay.md).
pub(crate) fn sample(device: &dyn Device, block_bytes: u32) -> Result<u64, Error> {
    let (block, size_bytes) = (u64::from(block_bytes), device.info().size_bytes);
    let mut places = vec![(0, 2 * HEAD_BYTES), (size_bytes.saturating_sub(HEAD_BYTES), HEAD_BYTES)];
    let mut starts = vec![0, MIB];
    if device.info().stores_data {
        starts.extend(partitions(device, size_bytes)?);
    }
    starts.sort_unstable();
    starts.dedup();
    for start in starts {
        places.push((start, HEAD_BYTES));
        places.push((start.saturating_add(64 * MIB), SAMPLE_BYTES));
    }
    let places: Vec<(u64, u64)> = places
        .into_iter()
        .filter_map(|(offset, length)| {
            let offset = offset / block * block;
            let length = length.next_multiple_of(block).min(size_bytes.saturating_sub(offset));
            (length > 0).then_some((offset, length))
        })
        .collect();
    // 0 says that none was taken.
    hash_of(device, &places).map(|hash| hash.max(1))
}

fn hash_of(device: &dyn Device, places: &[(u64, u64)]) -> Result<u64, Error> {
    if !device.info().stores_data {
        return Ok(0);
    }
    let mut channel = Blocking::beside(device)?;
    let mut hash = Xxh3::new();
    let longest = HEAD_BYTES.min(device.info().max_request_bytes.into());
    for &(start, length) in places {
        for offset in (start..start + length).step_by(longest as usize) {
            match channel
                .read(offset, BufMut::zeroed(longest.min(start + length - offset) as usize))
            {
                Ok(bytes) => bytes.slices().for_each(|slice| hash.update(slice)),
                // A place that is lost is lost the next time too; a rescue may have
                // many.
                Err(error) if error.kind() == ErrorKind::Media => hash.update(&[0xff; 4]),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(hash.digest())
}

/// Where the partitions begin that a table on the device names, in bytes: at most 4 of an MBR, 128
/// of a GPT. What is no table, or a damaged one, has none.
fn partitions(device: &dyn Device, size_bytes: u64) -> Result<Vec<u64>, Error> {
    const GPT_ENTRIES_MAX: u64 = 128;
    let mut head = vec![0; (64 << 10).min(size_bytes) as usize];
    match Blocking::beside(device)?.read_slice(0, &mut head) {
        Err(error) if error.kind() == ErrorKind::Media => return Ok(Vec::new()),
        read => read?,
    }
    let mut starts = Vec::new();
    for sector in [512, 4096] {
        let at = sector as usize;
        if head.len() < at + 92 || head[at..at + 8] != *b"EFI PART" {
            continue;
        }
        let (entries, entry_bytes) =
            (long(&head, at + 72).saturating_mul(sector), u64::from(word(&head, at + 84)));
        for number in 0..u64::from(word(&head, at + 80)).min(GPT_ENTRIES_MAX) {
            let Some(place) =
                number.checked_mul(entry_bytes).and_then(|place| place.checked_add(entries))
            else {
                break;
            };
            let Some(entry) = usize::try_from(place)
                .ok()
                .and_then(|place| head.get(place..place.checked_add(40)?))
            else {
                break;
            };
            if entry[..16].iter().any(|&byte| byte != 0) {
                starts.push(long(entry, 32).saturating_mul(sector));
            }
        }
    }
    if head.len() >= 512 && head[510..512] == [0x55, 0xaa] {
        let entries = head[446..510].chunks(16).filter(|entry| entry[4] != 0);
        starts.extend(entries.map(|entry| u64::from(word(entry, 8)) * 512));
    }
    starts.retain(|&start| start < size_bytes);
    Ok(starts)
}

/// A number for something that is to be compared, never 0.
#[must_use]
pub fn fact(bytes: &[u8]) -> u64 {
    xxh3_64(bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(identity: u64, state: u64) -> LeafFacts {
        LeafFacts { identity, epoch: 7, state }
    }

    fn answer(then: &[LeafFacts], now: &[LeafFacts], samples_agree: Option<bool>) -> Answer {
        let witness = Witness { generation: 1, sample: 1, leaves: then.to_vec() };
        compare(
            Some(&witness),
            &Facts { leaves: now.to_vec(), believe_sample: false },
            samples_agree,
        )
    }

    #[test]
    fn a_sample_can_say_no_and_never_yes() {
        let (a, b) = (leaf(1, 10), leaf(2, 20));
        assert_eq!(answer(&[a, b], &[a, b], Some(true)), Answer::Unchanged);
        assert_eq!(answer(&[a, b], &[a, b], None), Answer::Unchanged, "nobody has written");
        for (then, now) in [
            (vec![], vec![a]),
            (vec![a], vec![]),
            (vec![], vec![]),
            (vec![leaf(0, 0)], vec![leaf(0, 0)]),
            (vec![leaf(1, 0)], vec![a]),
            (vec![a], vec![leaf(1, 0)]),
            (vec![a], vec![LeafFacts { epoch: 8, ..a }]),
            (vec![a, b], vec![a]),
            (vec![a], vec![a, b]),
            (vec![a, b], vec![a, leaf(3, 20)]),
        ] {
            assert!(
                matches!(answer(&then, &now, Some(true)), Answer::Unknown(_)),
                "{then:?} {now:?}"
            );
            assert!(
                matches!(answer(&then, &now, Some(false)), Answer::Changed(_) | Answer::Another(_)),
                "{then:?} {now:?}"
            );
        }
        assert!(matches!(answer(&[a, b], &[a, leaf(2, 21)], Some(true)), Answer::Changed(_)));
        assert!(
            matches!(answer(&[a, b], &[leaf(2, 21)], Some(true)), Answer::Changed(_)),
            "one is missing, the other was written"
        );
        assert!(matches!(answer(&[a], &[b], Some(true)), Answer::Another(_)));
        assert!(
            matches!(answer(&[a], &[a], Some(false)), Answer::Unknown(_)),
            "a place that cannot be read"
        );
    }

    /// Members may be exchanged one by one until none is left of those that there were.
    #[test]
    fn an_array_is_known_by_its_uuid_whatever_it_stands_on() {
        let array = |uuid: u8, events: u64| LeafFacts::of_array(&[uuid; 16], events);
        let [a, b, c, d] = [leaf(1, 10), leaf(2, 20), leaf(3, 30), leaf(4, 40)];
        let closed = [a, b, array(9, 20)];
        assert_eq!(answer(&closed, &closed, Some(true)), Answer::Unchanged);
        assert!(matches!(answer(&closed, &[c, d, array(9, 20)], Some(true)), Answer::Unknown(_)));
        for (then, now) in [
            // Written to without the cache, or restored from an older copy.
            (&closed[..], [c, d, array(9, 21)]),
            (&closed, [c, d, array(9, 19)]),
            (&closed, [leaf(1, 11), b, array(9, 20)]),
        ] {
            let found = answer(then, &now, Some(true));
            assert!(matches!(found, Answer::Changed(_)), "{now:?}: {found:?}");
        }
        assert!(matches!(answer(&closed, &[a, b, array(8, 20)], Some(true)), Answer::Another(_)));
        assert!(matches!(answer(&closed, &[a, b], Some(true)), Answer::Another(_)));
        // Of a version that knew no arrays.
        assert_eq!(answer(&[a, b], &closed, Some(true)), Answer::Unchanged);
        // After a crash nothing is known of the state but that events go up.
        let crashed = Facts { leaves: closed.to_vec(), believe_sample: false }.in_use();
        assert!(matches!(answer(&crashed, &[c, d, array(9, 25)], None), Answer::Unknown(_)));
        assert!(matches!(answer(&crashed, &[c, d, array(9, 19)], None), Answer::Changed(_)));
        assert!(matches!(answer(&crashed, &[a, b, array(8, 25)], None), Answer::Another(_)));
    }

    #[test]
    fn who_vouches_for_the_device_is_believed_as_far_as_the_sample_goes() {
        let witness = Witness { generation: 1, sample: 1, leaves: vec![leaf(1, 10)] };
        let now = Facts { leaves: vec![leaf(2, 11)], believe_sample: true };
        assert_eq!(compare(Some(&witness), &now, Some(true)), Answer::Unchanged);
        assert!(matches!(compare(Some(&witness), &now, Some(false)), Answer::Another(_)));
        assert_eq!(
            compare(Some(&witness), &now, None),
            Answer::Unchanged,
            "there is no sample that says otherwise"
        );
    }

    #[test]
    fn a_witness_comes_back_from_where_the_table_says_it_lies_and_every_damaged_byte_is_noticed() {
        let witness =
            Witness { generation: 9, sample: 0x1234, leaves: vec![leaf(1, 2), leaf(3, 4)] };
        let mut bytes = witness.encode();
        assert_eq!(
            (&bytes[..16], word(&bytes, 20), long(&bytes, 24), long(&bytes, 32)),
            (&MAGIC[..], 2, 9, 0x1234)
        );
        assert_eq!(
            (long(&bytes, 40), long(&bytes, 48), long(&bytes, 56), long(&bytes, 64)),
            (1, 7, 2, 3)
        );
        assert_eq!(bytes.len(), 88);
        assert_eq!(Witness::decode(&bytes), Some(witness));
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert_eq!(Witness::decode(&bytes), None, "byte {at}");
            bytes[at] ^= 0x10;
        }
        assert_eq!(Witness::decode(&[0; 512]), None);
        let many = Witness { generation: 1, sample: 1, leaves: vec![leaf(1, 1); 3000] };
        assert_eq!(Witness::decode(&many.encode()).expect("a witness").leaves, []);
    }
}
