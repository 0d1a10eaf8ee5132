//! Drives in memory in the place of what a stack names.

use super::catalogue;
use std::cell::Cell;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;

use block::{Device, Error as BlockError, ErrorKind, Node, Reactor, path_text, size_text};
use host::Error;
use mdtools::make_stand_in_container;
use reactor::derive_seed;
use rustix::fs::{MemfdFlags, memfd_create};
use stack::Models;

use super::images::{PASSPHRASE_NAME, image_name};
use super::timed_device::TimedDevice;
use crate::stacks::{LUKS, has_header_elsewhere};

/// How the addresses of our drives begin in a stack.
const ADDRESS: &str = "/raidloom-pull-drive-";
/// The file of the passphrase of our containers in a stack. It is not there.
const PASSPHRASE_ADDRESS: &str = "/raidloom-pull-passphrase";
/// What opens all of them: there is nothing in them to keep secret.
pub(super) const PASSPHRASE: &[u8] = b"raidloom pull";
/// The option of containers that names it.
const PASSPHRASE_FILE: &str = "passphrase_file";

/// A stack over drives of our own.
pub struct Leaves {
    /// The stack.
    pub stack: Node,
    /// The size of each drive, in bytes.
    pub drive_bytes: Vec<u64>,
    /// The model of each that has one, as the text of a leaf.
    pub drive_models: Vec<Option<String>>,
}

/// A drive in the place of a leaf.
pub struct DriveLeaf {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its model, as a leaf that keeps its data.
    pub model: Option<Node>,
}

/// The model of drives in guests that name none: a request of theirs takes some time, as at any
/// drive, or all of a recording would happen at one moment.
pub const DEFAULT_MODEL: &str = "ssd-2008";

impl DriveLeaf {
    /// A drive of which nothing but its size is known.
    ///
    /// # Errors
    /// A size that [`DEFAULT_MODEL`] has not got, in a guest.
    pub fn of_size(bytes: u64, in_guest: bool) -> Result<DriveLeaf, Error> {
        if !in_guest {
            return Ok(DriveLeaf { bytes, model: None });
        }
        DriveLeaf::modelled(&Node::leaf("model", DEFAULT_MODEL).with("size", size_text(bytes)))
    }

    /// The drive of a `model:` leaf.
    ///
    /// # Errors
    /// A model that is none.
    pub fn modelled(leaf: &Node) -> Result<DriveLeaf, Error> {
        let lacks = matches!(leaf, Node::Leaf { options, .. }
            if !options.iter().any(|(name, _)| name == "data"));
        let model = if lacks { leaf.clone().with("data", "keep") } else { leaf.clone() };
        let device = built(&model, 0)?;
        if !device.info().stores_data {
            return Err(Error::usage(catalogue::PULL_KEEPS_DATA).at(leaf));
        }
        Ok(DriveLeaf { bytes: device.info().size_bytes, model: Some(model) })
    }
}

/// Puts a drive of our own in the place of every leaf but the memory of caches, which is lost with
/// the host. `drive` tells which that is to be, or why the leaf may not stand for one.
///
/// # Errors
/// A leaf that cannot be a drive.
pub fn leaves(
    stack: &Node,
    drive: &mut dyn FnMut(&str, &Node) -> Result<DriveLeaf, Error>,
) -> Result<Leaves, Error> {
    if has_header_elsewhere(stack) {
        return Err(Error::usage(catalogue::PULL_HEADER));
    }
    let (mut drive_bytes, mut drive_models) = (Vec::new(), Vec::new());
    let stack = replace(stack, false, &mut |scheme, leaf| {
        let DriveLeaf { bytes, model } = drive(scheme, leaf)?;
        drive_bytes.push(bytes);
        drive_models.push(model.map(|model| model.to_string()));
        Ok(Node::leaf("file", format!("{ADDRESS}{}", drive_bytes.len() - 1)))
    })?;
    if drive_bytes.is_empty() {
        return Err(Error::usage(catalogue::NO_PULLED_DRIVE));
    }
    Ok(Leaves { stack, drive_bytes, drive_models })
}

fn replace(
    node: &Node,
    is_store: bool,
    drive: &mut dyn FnMut(&str, &Node) -> Result<Node, Error>,
) -> Result<Node, Error> {
    match node {
        Node::Missing => Ok(Node::Missing),
        Node::Leaf { scheme, .. } if scheme == "ram" && is_store => Ok(node.clone()),
        Node::Leaf { scheme, .. } => drive(scheme, node),
        Node::Layer { name, options, children } => {
            if name == "record" {
                return Err(Error::usage(catalogue::PULL_RECORDS));
            }
            let child = |(number, child): (usize, &Node)| {
                replace(child, name == "cache" && number == 0, drive)
            };
            let children = children.iter().enumerate().map(child).collect::<Result<_, Error>>()?;
            let options = with_passphrase(name, options, PASSPHRASE_ADDRESS);
            Ok(Node::Layer { name: name.clone(), options, children })
        }
    }
}

/// The options of a layer, with another file of the passphrase where it is a container.
fn with_passphrase(layer: &str, options: &[(String, String)], file: &str) -> Vec<(String, String)> {
    let changed = |(name, value): &(String, String)| match name == PASSPHRASE_FILE {
        true if layer == LUKS => (name.clone(), file.to_owned()),
        _ => (name.clone(), value.clone()),
    };
    options.iter().map(changed).collect()
}

/// A drive in memory, all zeroes.
pub(super) fn memory(bytes: u64) -> Result<Arc<dyn Device>, Error> {
    built(&Node::leaf("ram", bytes.to_string()), 0)
}

/// A modelled drive, all zeroes, among these.
pub(super) fn modelled(text: &str, seed: u64, models: &Models) -> Result<Arc<dyn Device>, Error> {
    built_among(&crate::stacks::parse(text)?, seed, Some(models))
}

/// A drive that takes the time of its model, among these, and holds what `data` holds.
pub(super) fn timed(
    text: &str,
    seed: u64,
    data: Arc<dyn Device>,
    models: &Models,
) -> Result<Arc<dyn Device>, Error> {
    let mut leaf = crate::stacks::parse(text)?;
    if let Node::Leaf { options, .. } = &mut leaf {
        options.retain(|(name, _)| name != "data");
    }
    Ok(Arc::new(TimedDevice::new(built_among(&leaf, seed, Some(models))?, data)))
}

fn built(leaf: &Node, seed: u64) -> Result<Arc<dyn Device>, Error> {
    built_among(leaf, seed, None)
}

/// Opens nothing, among modelled disks.
struct AmongModels<'a>(Option<&'a Models>);

impl stack::OpenFiles for AmongModels<'_> {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, BlockError> {
        Err(opens_nothing(path))
    }

    fn models(&self) -> Option<Models> {
        self.0.cloned()
    }
}

fn opens_nothing(path: &Path) -> BlockError {
    BlockError::new(ErrorKind::Refused, catalogue::PULL_OPENS_NOTHING).at(path.display())
}

fn built_among(leaf: &Node, seed: u64, models: Option<&Models>) -> Result<Arc<dyn Device>, Error> {
    let files = AmongModels(models);
    let context = stack::BuildContext { seed, ..stack::BuildContext::new(&files) };
    let built = stack::build(leaf, &context)?;
    Ok(built.device)
}

/// The stack when the drive of this number is not there; nothing where nothing is left of it then.
pub(super) fn without(node: &Node, number: usize) -> Option<Node> {
    match node {
        Node::Leaf { address, .. } if *address == format!("{ADDRESS}{number}") => None,
        Node::Layer { name, options, children } => {
            let left: Vec<Option<Node>> =
                children.iter().map(|child| without(child, number)).collect();
            let is_redundant = stack::table::layer(name).is_ok_and(|row| row.redundant);
            if !is_redundant && left.contains(&None) {
                return None;
            }
            let children = left.into_iter().map(|child| child.unwrap_or(Node::Missing)).collect();
            Some(Node::Layer { name: name.clone(), options: options.clone(), children })
        }
        other => Some(other.clone()),
    }
}

/// The stack over images of its drives, those that are gone missing where it can do without them.
pub(super) fn on_images(stack: &Node, folder: &Path, gone: &[usize]) -> Node {
    let left = gone.iter().try_fold(stack.clone(), |left, number| without(&left, *number));
    named(left.as_ref().unwrap_or(stack), folder)
}

fn named(node: &Node, folder: &Path) -> Node {
    match node {
        Node::Missing => Node::Missing,
        Node::Leaf { address, .. } => {
            let number = address.strip_prefix(ADDRESS).and_then(|number| number.parse().ok());
            let path = number.map(|number| folder.join(image_name(number)));
            path.map_or(node.clone(), |path| Node::leaf("file", path.display().to_string()))
        }
        Node::Layer { name, options, children } => Node::Layer {
            name: name.clone(),
            options: with_passphrase(name, options, &path_text(&folder.join(PASSPHRASE_NAME))),
            children: children.iter().map(|child| named(child, folder)).collect(),
        },
    }
}

/// The drives, by the numbers in their addresses.
pub(super) struct Drives {
    drives: Vec<Arc<dyn Device>>,
    /// How containers on them are made; they are there without it.
    containers: Option<NewContainers>,
}

/// Containers that are made on fresh drives.
struct NewContainers {
    /// All that is random in them follows from it, and from the order in which they are made.
    seed: u64,
    /// How many there are.
    count: Cell<u64>,
    /// On which they are written; the wall's clock without it.
    reactor: Option<Reactor>,
}

impl Drives {
    /// Drives with whatever is on them.
    pub(super) fn new(drives: Vec<Arc<dyn Device>>) -> Drives {
        Drives { drives, containers: None }
    }

    /// Drives on which nothing is: containers are made there, by the seed.
    pub(super) fn fresh(
        drives: Vec<Arc<dyn Device>>,
        seed: u64,
        reactor: Option<&Reactor>,
    ) -> Drives {
        let containers = NewContainers { seed, count: Cell::new(0), reactor: reactor.cloned() };
        Drives { drives, containers: Some(containers) }
    }
}

impl stack::OpenFiles for Drives {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, BlockError> {
        match path == Path::new(PASSPHRASE_ADDRESS) {
            true => passphrase().map_err(|error| BlockError::from_io(PASSPHRASE_ADDRESS, error)),
            false => Err(opens_nothing(path)),
        }
    }

    fn stand_in(&self, path: &Path) -> Option<Arc<dyn Device>> {
        let number = path.to_str()?.strip_prefix(ADDRESS)?.parse::<usize>().ok()?;
        self.drives.get(number).map(Arc::clone)
    }

    fn make_container(&self, below: &dyn Device) -> Result<(), BlockError> {
        let Some(containers) = &self.containers else { return Ok(()) };
        let number = containers.count.replace(containers.count.get() + 1);
        let seed = derive_seed(containers.seed, "container", number);
        let reactor = containers.reactor.clone().map_or_else(Reactor::wall, Ok)?;
        make_stand_in_container(below, PASSPHRASE, seed, &reactor)
    }
}

/// The passphrase as a file in memory.
fn passphrase() -> std::io::Result<File> {
    let mut file = File::from(memfd_create("passphrase", MemfdFlags::CLOEXEC)?);
    file.write_all(PASSPHRASE)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drives(text: &str) -> Result<(String, Vec<u64>), String> {
        let stack = stack::parse(text).unwrap();
        let mut size = |scheme: &str, leaf: &Node| match (scheme, leaf) {
            ("ram", Node::Leaf { address, .. }) => {
                DriveLeaf::of_size(address.parse().unwrap(), false)
            }
            _ => DriveLeaf::of_size(7, false),
        };
        leaves(&stack, &mut size)
            .map(|leaves| (leaves.stack.to_string(), leaves.drive_bytes))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn drives_take_the_place_of_leaves_but_not_of_memory_that_caches() {
        let (text, sizes) = drives("cache(ram:512, raid1(a.img, ram:1024, missing))").unwrap();
        assert!(text.contains("cache(ram:512, raid1("), "{text}");
        assert!(text.contains("drive-0") && text.contains("drive-1"), "{text}");
        assert_eq!(sizes, [7, 1024]);
        assert!(drives("cache(ram:512, cache(a.img, ram:5))").is_ok());
        assert!(drives("record(file:t, ram:512)").unwrap_err().contains("leave the layer out"));
    }

    #[test]
    fn a_drive_that_is_lost_is_missing_in_the_array_that_can_do_without_it() {
        let left = |text: &str, number: usize| {
            let mut size = |_: &str, _: &Node| DriveLeaf::of_size(512, false);
            let leaves = leaves(&stack::parse(text).unwrap(), &mut size).unwrap();
            without(&leaves.stack, number).map(|stack| stack.to_string())
        };
        let name = |number: usize| Node::leaf("file", format!("{ADDRESS}{number}")).to_string();
        let five = "raid5(metadata=1.2, a, b, c)";
        let expected = format!("raid5(metadata=1.2, {}, missing, {})", name(0), name(2));
        assert_eq!(left(five, 1), Some(expected));
        let nested = "cache(ram:512, raid1(raid0(a, b), raid0(c, d)))";
        let expected = format!("cache(ram:512, raid1(missing, raid0({}, {})))", name(2), name(3));
        assert_eq!(left(nested, 1), Some(expected));
        assert_eq!(left("raid0(a, b)", 0), None);
        assert_eq!(left("a", 0), None);
        assert!(left("a", 1).is_some(), "another one");
    }

    /// Mirrors, parity and containers, each below the other.
    const ENCRYPTED: [&str; 3] = [
        "luks(passphrase_file=key, ram:20MiB)",
        "raid1(metadata=1.2, luks(passphrase_file=key, ram:24MiB), \
            luks(passphrase_file=key, ram:24MiB))",
        "luks(passphrase_file=key, raid5(metadata=1.2, chunk=64KiB, ram:16MiB, ram:16MiB, \
            ram:16MiB))",
    ];

    #[test]
    fn a_container_is_opened_by_what_stands_for_its_passphrase() {
        let five = "luks(passphrase_file=key, raid5(metadata=1.2, chunk=64KiB, a, ram:512, b))";
        let (text, sizes) = drives(five).unwrap();
        assert!(text.starts_with(&format!("luks(passphrase_file={PASSPHRASE_ADDRESS}, raid5(")));
        assert_eq!(sizes, [7, 512, 7]);
        let images = on_images(&stack::parse(&text).unwrap(), Path::new("/kept"), &[1]);
        let expected = "luks(passphrase_file=/kept/passphrase, raid5(metadata=1.2, chunk=64KiB, \
            file:/kept/drive0.img, missing, file:/kept/drive2.img))";
        assert_eq!(images.to_string(), expected);
        for text in [
            "luks(passphrase_file=key, header=h, a)",
            "raid1(a, luks(passphrase_file=k, header=h, b))",
        ] {
            assert!(drives(text).unwrap_err().contains("leave `header=` out"), "{text}");
        }
        let small = recorded("luks(passphrase_file=key, ram:16MiB)", 1, 0).unwrap_err();
        assert!(small.contains("16MiB of it for itself"), "{small}");
    }

    /// How far apart blocks of a recording lie, in bytes: in a RAID 5, in several rows.
    const APART_BYTES: u64 = 72 << 10;
    const BLOCK_BYTES: usize = 4096;

    fn opened(
        stack: &Node,
        drives: &Drives,
        new_array: Option<&mdtools::NewArraySettings>,
        reactor: &Reactor,
    ) -> Result<serve::OpenStack, BlockError> {
        let options = serve::OpenOptions {
            files: drives,
            seed: 1,
            read_only: false,
            create_bytes: None,
            member_time: None,
            upkeep: true,
            new_array,
            reactor: Some(reactor),
            models: None,
        };
        serve::OpenStack::open(stack, &options)
    }

    /// The log of so many blocks that are each written and flushed on such a stack, with the stack
    /// over our drives and the events by which each was durable.
    fn recorded(
        text: &str,
        seed: u64,
        blocks: u8,
    ) -> Result<(Node, Arc<pull::Log>, Vec<u32>), String> {
        let stack = stack::parse(text).unwrap();
        let mut size = |_: &str, leaf: &Node| {
            let Node::Leaf { address, .. } = leaf else { unreachable!("a leaf") };
            DriveLeaf::of_size(stack::size::parse(address).unwrap().bytes, false)
        };
        let Leaves { stack, drive_bytes, .. } = leaves(&stack, &mut size).unwrap();
        let recorder = pull::Recorder::in_memory(None);
        let able = pull::AdvertisedTraits { volatile_cache: true, fua: false };
        let drives: Vec<_> = drive_bytes
            .iter()
            .map(|&bytes| recorder.drive(memory(bytes).unwrap(), able) as Arc<dyn Device>)
            .collect();
        let reactor = Reactor::virtual_clock();
        let new = mdtools::NewArraySettings {
            name: "pull".to_owned(),
            consistency: "resync".to_owned(),
            bitmap_chunk_bytes: None,
        };
        let drives = Drives::fresh(drives, seed, Some(&reactor));
        let opened = opened(&stack, &drives, Some(&new), &reactor);
        let opened = opened.map_err(|error| error.to_string())?;
        let mut channel = block::Blocking::open(&*opened.device, &reactor).unwrap();
        let mut durable = Vec::new();
        for number in 0..blocks {
            let place = u64::from(number) * APART_BYTES;
            channel.write_slice(place, &[number + 1; BLOCK_BYTES]).unwrap();
            channel.flush().unwrap();
            durable.push(recorder.mark(b"durable") + 1);
        }
        drop(channel);
        drop(opened);
        Ok((stack, Arc::new(recorder.finish().unwrap()), durable))
    }

    /// The checksum of a state of a recording, and whether all is there that was durable.
    fn state(
        (stack, log, durable): &(Node, Arc<pull::Log>, Vec<u32>),
        fault: pull::DriveFault,
        behind: usize,
    ) -> (u32, bool) {
        let cut = pull::Cut::behind(log, durable[behind]);
        let mut history = pull::History::new(Arc::clone(log), fault, Some(512));
        history.advance(cut).unwrap();
        let policy = pull::Policy::Random { percent: 50, tear: pull::Tear::Unit(512) };
        let crash = history.crash(cut, policy, behind as u64).unwrap();
        let reactor = Reactor::virtual_clock();
        let opened = opened(stack, &Drives::new(crash.drives()), None, &reactor);
        let is_there = opened.and_then(|opened| {
            let mut channel = block::Blocking::open(&*opened.device, &reactor)?;
            let mut found = vec![0; BLOCK_BYTES];
            let mut all = true;
            for number in 0..=behind as u8 {
                channel.read_slice(u64::from(number) * APART_BYTES, &mut found)?;
                all &= found.iter().all(|byte| *byte == number + 1);
            }
            Ok(all)
        });
        (crash.checksum(), is_there.unwrap_or(false))
    }

    /// What a container has flushed is there after each cut, and a drive that flushes nothing is
    /// found through it. The same seed makes the same recording and the same states.
    #[test]
    fn a_container_keeps_what_it_has_flushed_and_hides_no_drive_that_lies() {
        for text in ENCRYPTED {
            let (first, second) = (recorded(text, 7, 12).unwrap(), recorded(text, 7, 12).unwrap());
            assert!(first.1.bytes_in_memory() == second.1.bytes_in_memory(), "{text}");
            assert!(
                first.1.bytes_in_memory() != recorded(text, 8, 12).unwrap().1.bytes_in_memory()
            );
            for behind in 0..first.2.len() {
                let made = state(&first, pull::DriveFault::None, behind);
                assert!(made.1, "{text}: state {behind}");
                assert_eq!(made, state(&second, pull::DriveFault::None, behind), "{text}");
            }
            let lies = |behind| state(&first, pull::DriveFault::IgnoresFlush, behind);
            assert!((0..first.2.len()).any(|behind| !lies(behind).1), "{text}");
        }
    }

    /// What the log says of the media is what the disk itself has on them when its power is cut.
    #[test]
    fn a_log_knows_what_a_modelled_drive_has_on_its_media() {
        const TEXT: &str = "model:maxtor-6y200p0?data=keep&size=8MiB";
        const BLOCKS: u64 = 40;
        // Writes blocks that lie apart, and lets the power fail so long after.
        let work = |drive: &dyn Device, after: u64| {
            let reactor = block::Reactor::virtual_clock();
            let mut channel = block::Blocking::open(drive, &reactor).unwrap();
            for number in 0..BLOCKS {
                let place = number * 37 % BLOCKS * (128 << 10);
                channel.write_slice(place, &[number as u8 + 1; 8192]).unwrap();
            }
            let end = reactor.now() + std::time::Duration::from_nanos(after);
            while reactor.now() < end {
                reactor.wait(Some(end)).unwrap();
            }
            drop(channel);
            end
        };
        let content = |drive: &dyn Device| {
            let reactor = block::Reactor::virtual_clock();
            let mut channel = block::Blocking::open(drive, &reactor).unwrap();
            let mut bytes = vec![0; 8 << 20];
            channel.read_slice(0, &mut bytes).unwrap();
            bytes
        };
        let mut some_in_cache = 0;
        for after in (0..400_000_000).step_by(40_000_000) {
            let losing = Models::losing();
            let drive = modelled(TEXT, 7, &losing).unwrap();
            let end = work(&*drive, after);
            losing.disks()[0].cut_power(end, stack::Survival::Nothing, 1).unwrap();
            let cut = content(losing.disks()[0].data().unwrap());

            let noting = Models::noting();
            let recorder = pull::Recorder::in_memory(None);
            let able = pull::AdvertisedTraits { volatile_cache: true, fua: true };
            let drive = recorder.drive(modelled(TEXT, 7, &noting).unwrap(), able);
            assert_eq!(work(&*drive, after), end, "the same drive does the same");
            // What happens by itself is known once the disk was looked at.
            noting.disks()[0].turn_until(end.nanoseconds());
            for (number, media) in super::super::options::RecordedDrives::media(&noting, &[0]) {
                recorder.mark_at(media.mark(number).as_bytes(), end.nanoseconds());
            }
            let log = Arc::new(recorder.finish().unwrap());
            let at = pull::Cut {
                events: log.events().len() as u32 - 1,
                time_nanoseconds: end.nanoseconds(),
            };
            let fault = pull::DriveFault::None;
            let mut history = pull::History::new(log, fault, Some(512));
            history.advance(at).unwrap();
            let crash = history.crash(at, pull::Policy::Media, 1).unwrap();
            let found = content(&*crash.drives()[0]);
            // What passes under the head at that moment is in the disk's cache still.
            let is_more = |(found, cut): &(&[u8], &[u8])| found != cut && cut[0] == 0;
            let sectors = || found.chunks(512).zip(cut.chunks(512));
            assert!(sectors().all(|two| two.0 == two.1 || is_more(&two)), "after {after}");
            let on_their_way = sectors().filter(is_more).count();
            assert!(on_their_way <= 128, "{on_their_way} after {after}");
            let left = sectors().filter(|two| two.0[0] != 0).count() as u64;
            some_in_cache += u64::from(left < BLOCKS * 16);
        }
        assert!(some_in_cache > 0, "the cuts came too late to find anything in the cache");
    }

    /// Reads and writes take the model's time, and find and leave the other's content.
    #[test]
    fn what_a_crash_has_left_is_as_slow_as_its_drive() {
        let data = memory(1 << 20).unwrap();
        let reactor = block::Reactor::virtual_clock();
        let mut below = block::Blocking::open(&*data, &reactor).unwrap();
        below.write_slice(8192, &[7; 4096]).unwrap();
        let text = "model:disk-2008?data=keep&size=1MiB";
        let drive = timed(text, 1, Arc::clone(&data), &Models::default()).unwrap();
        let mut channel = block::Blocking::open(&*drive, &reactor).unwrap();
        let mut bytes = [0; 4096];
        channel.read_slice(8192, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 4096]);
        let read = reactor.now().nanoseconds();
        assert!(read > 1_000_000, "a disk turns: {read} ns");
        channel.write_slice(8192, &[9; 4096]).unwrap();
        channel.flush().unwrap();
        assert!(reactor.now().nanoseconds() > read);
        below.read_slice(8192, &mut bytes).unwrap();
        assert_eq!(bytes, [9; 4096]);
    }

    /// What a crash has left hangs on the links on which it was recorded.
    #[test]
    fn drives_that_name_one_link_share_it() {
        let reads = |links: [&str; 2]| {
            let (reactor, models) = (block::Reactor::virtual_clock(), Models::default());
            let drive = |link: &str| {
                let text = format!("model:st340015a?data=keep&size=64MiB&link={link}");
                timed(&text, 1, memory(64 << 20).unwrap(), &models).unwrap()
            };
            let mut channels = links.map(|link| drive(link).open(1, &reactor).unwrap());
            for channel in &mut channels {
                let op = block::Op::Read { offset: 0, into: block::BufMut::zeroed(128 << 10) };
                channel.submit(block::Request::new(0, op));
            }
            let mut done = Vec::new();
            while done.len() < 2 {
                channels.iter_mut().for_each(|channel| channel.poll(&mut done));
                if done.len() < 2 {
                    reactor.wait(None).unwrap();
                }
            }
            assert!(done.iter().all(|completion| completion.result.is_ok()));
            reactor.now().nanoseconds()
        };
        let (apart, shared) = (reads(["a", "b"]), reads(["a", "a"]));
        assert!(shared > apart, "one command at a time: {shared} ns, and {apart} ns on two links");
    }
}
