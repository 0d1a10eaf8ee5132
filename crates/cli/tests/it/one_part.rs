//! "A test holds it: the description, the superblocks (dates and UUIDs aside) and the requests that
//! reach the members are equal for a cell of a plan and for `array start` of the same
//! configuration, for every level, with and without cache, on both clocks."

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use array::md::{Superblock, TimeStamp};
use block::{Blocking, Device, Node, size_text};
use host::guard::{Consent, Guard};
use lab::configuration_start::{StartTarget, alone};
use reactor::{Random, Reactor};
use results::Configuration;
use serve::{Runtime, Server};
use trace::{ReadOptions, Reader, Record, RecordedOp};

const MEMBERS: usize = 4;
const REQUESTS: usize = 12;
const CHUNK_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4096;
/// Of the modelled disk that the virtual clock's cells stand on.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/maxtor-320m.toml");
const MODEL_BYTES: u64 = 335_544_320;
const FILE_BYTES: u64 = 16 << 20;

/// Every level, each way to agree after a crash, without a cache and with each kind. The one that
/// writes back does so when it is told to and not by the time.
fn plan(members: &str) -> Vec<Configuration> {
    let text = format!(
        r#"schema = 1
name = "one part"
[members.some]
{members}
[caches]
through = "cache(mode=write-through, ram:1MiB, {{device}})"
back = "cache(mode=write-back, writeback_idle=0s, ram:8MiB, {{device}})"
[matrix]
level = ["linear", "raid0", "raid1", "raid10", "raid4", "raid5", "raid6"]
chunk = "64KiB"
metadata = "1.2"
consistency = ["resync", "bitmap"]
cache = ["none", "through", "back"]
[[skip]]
consistency = "bitmap"
cache = "back"
why = "what is written back is the same for each way to agree"
[[add]]
level = "raid5"
chunk = "64KiB"
layout = "la"
consistency = "ppl"
[baseline]
level = "linear"
[[workload]]
suite = "devtest"
"#
    );
    lab::plan::resolve("plan.toml", &text, &[]).unwrap().plan.configurations
}

/// What is to be equal.
#[derive(Debug, PartialEq)]
struct Observation {
    /// The description, with names of members and of traces left out.
    description: String,
    /// What each superblock says before the first write.
    superblocks: Vec<Superblock>,
    /// By member: what it was asked for beyond its superblock.
    data: Vec<Vec<(RecordedOp, u64, u64)>>,
    /// By member: where the metadata were written while it ran, and how much at a time.
    metadata: Vec<BTreeSet<(u64, u64)>>,
}

/// A folder with members, traces and a server's things.
struct MemberFolder(tempfile::TempDir);

impl MemberFolder {
    fn new() -> MemberFolder {
        MemberFolder(tempfile::tempdir().unwrap())
    }

    fn member(&self, number: usize) -> PathBuf {
        self.0.path().join(format!("member{number}.img"))
    }

    fn trace(&self, number: usize) -> PathBuf {
        self.0.path().join(format!("trace{number}"))
    }

    fn members(&self) -> Vec<PathBuf> {
        (0..MEMBERS).map(|number| self.member(number)).collect()
    }

    fn make_members(&self, size_bytes: u64) {
        for member in self.members() {
            File::create(member).unwrap().set_len(size_bytes).unwrap();
        }
    }

    /// The stack with a recorder on each member.
    fn recorded(&self, node: Node, number: &mut usize) -> Node {
        match node {
            Node::Layer { name, options, children } => {
                let children =
                    children.into_iter().map(|child| self.recorded(child, number)).collect();
                Node::Layer { name, options, children }
            }
            Node::Leaf { ref scheme, .. } if scheme == "file" || scheme == "model" => {
                let trace = Node::leaf("file", self.trace(*number).to_string_lossy());
                *number += 1;
                Node::layer("record", vec![trace, node])
            }
            other => other,
        }
    }

    fn with_recorders(&self, stack: &str) -> Node {
        self.recorded(stack::parse(stack).unwrap(), &mut 0)
    }

    fn superblocks(&self) -> Vec<Superblock> {
        let guard = Guard::new(Consent::default());
        let of = |member: &PathBuf| {
            let examined = mdtools::examine(&guard, &member.clone().into()).unwrap();
            nameless(examined.found.into_iter().next().unwrap().superblock)
        };
        self.members().iter().map(of).collect()
    }

    /// A trace, once it has its end: a server's threads may hold its stack a moment longer.
    fn records(&self, number: usize) -> Vec<Record> {
        let begun = Instant::now();
        loop {
            let bytes = fs::read(self.trace(number)).unwrap();
            let mut trace =
                Reader::new(Cursor::new(bytes.clone()), &ReadOptions::default()).unwrap();
            let records: Vec<Record> = trace.by_ref().filter_map(Result::ok).collect();
            if trace.is_complete() && !bytes.is_empty() {
                return records;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the trace has no end");
            thread::yield_now();
        }
    }

    /// What the members were asked for, once nobody has them open.
    fn seen(
        &self,
        description: &str,
        superblocks: Vec<Superblock>,
        data_offset: u64,
    ) -> Observation {
        let (mut data, mut metadata) = (Vec::new(), Vec::new());
        for number in 0..MEMBERS {
            let records = self.records(number);
            let of_data = records.iter().filter(|record| record.offset >= data_offset);
            data.push(of_data.map(|one| (one.op, one.offset, one.length)).collect::<Vec<_>>());
            // Making the array is not running it; what runs it is durable when it completes.
            let of_metadata = records.iter().filter(|record| {
                record.offset < data_offset && record.op == RecordedOp::Write && record.fua
            });
            metadata.push(of_metadata.map(|one| (one.offset, one.length)).collect());
        }
        Observation { description: self.nameless(description), superblocks, data, metadata }
    }

    /// A stack text without the folder of this place, and without what its leaves are.
    fn nameless(&self, description: &str) -> String {
        let own = self.0.path().to_string_lossy().into_owned();
        let text = description.replace(&own, "");
        let node = stack::parse(&text).unwrap();
        fn members_alike(node: Node) -> Node {
            match node {
                Node::Layer { name, children, .. } if name == "record" => {
                    Node::layer("record", vec![children[0].clone(), Node::leaf("null", "1MiB")])
                }
                Node::Layer { name, options, children } => {
                    let children = children.into_iter().map(members_alike).collect();
                    Node::Layer { name, options, children }
                }
                other => other,
            }
        }
        members_alike(node).to_string()
    }
}

/// What a device is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// Requests within a chunk each: one piece each, so that what members are asked for has an
    /// order.
    Narrow,
    /// Requests over several rows, whose pieces go on at their own pace.
    Wide,
}

/// The same requests for every device of one size, one after the other.
fn do_work(work: Work, device: &dyn Device, reactor: &Reactor) {
    let mut random = Random::with_seed(17);
    let mut channel = Blocking::open(device, reactor).unwrap();
    let unit = match work {
        Work::Narrow => CHUNK_BYTES,
        Work::Wide => 8 * CHUNK_BYTES,
    };
    for number in 0..REQUESTS {
        let length = BLOCK_BYTES * random.u64(1..=unit / BLOCK_BYTES);
        let start = random.u64(0..device.info().size_bytes / unit) * unit;
        let offset = start + random.u64(0..=(unit - length) / BLOCK_BYTES) * BLOCK_BYTES;
        let mut bytes = vec![number as u8; length as usize];
        if random.bool() {
            channel.write_slice(offset, &bytes).unwrap();
        } else {
            channel.read_slice(offset, &mut bytes).unwrap();
        }
    }
    channel.flush().unwrap();
}

/// A superblock without what is its own: dates and UUIDs.
fn nameless(superblock: Superblock) -> Superblock {
    Superblock {
        set_uuid: [0; 16],
        device_uuid: [0; 16],
        created: TimeStamp::default(),
        updated: TimeStamp::default(),
        checksum: 0,
        ..superblock
    }
}

/// The superblock on a member of a stack that is open.
fn read(member: &dyn Device, reactor: &Reactor) -> Superblock {
    let mut bytes = vec![0; BLOCK_BYTES as usize];
    let mut channel = Blocking::open(member, reactor).unwrap();
    channel.read_slice(BLOCK_BYTES, &mut bytes).unwrap();
    nameless(Superblock::decode(&bytes).unwrap())
}

fn data_offset(superblocks: &[Superblock]) -> u64 {
    superblocks[0].data_offset_sectors * block::SECTOR_BYTES
}

/// A cell, opened as a run opens it, on either clock.
fn cell(
    configuration: &Configuration,
    work: Work,
    place: &MemberFolder,
    reactor: Option<&Reactor>,
) -> Observation {
    let guard = Guard::new(Consent::default());
    let node = place.with_recorders(&configuration.stack);
    let opened = lab::open_cell(&node, configuration, &guard, 1, reactor).unwrap();
    let superblocks = match reactor {
        None => place.superblocks(),
        // Modelled disks hold what is written only as long as the stack is open.
        Some(reactor) => opened.members_made().iter().map(|one| read(&**one, reactor)).collect(),
    };
    let info = &opened.arrays.running()[0];
    let offset =
        info.assembly().slots[0].present().unwrap().data_offset_sectors * block::SECTOR_BYTES;
    let description = opened.device.describe().to_string();
    let wall = Reactor::wall().unwrap();
    do_work(work, &*opened.device, reactor.unwrap_or(&wall));
    drop(wall);
    opened.end().unwrap();
    place.seen(&description, superblocks, offset)
}

/// The same configuration, created and started over files of its own.
fn started(configuration: &Configuration, work: Work, place: &MemberFolder) -> Observation {
    let ground = StartTarget { members: place.members(), ..StartTarget::default() };
    let mut alone = alone(configuration, &ground).unwrap();
    let mut wanted = alone.create.take().unwrap();
    // Files full of zeroes agree.
    wanted.assume_clean = true;
    // As a cell's: what it holds is erased once it is open.
    wanted.blank = false;
    let guard = Guard::new(Consent::default());
    mdtools::create(&guard, &wanted, &std::sync::atomic::AtomicBool::new(false)).unwrap();
    guard.let_go();
    alone.settings.stack = place.with_recorders(&alone.settings.stack).to_string();
    let runtime = Runtime::at(place.0.path().join("runtime"));
    let server = Server::start(runtime.claim("it").unwrap(), alone.settings, &|| true).unwrap();
    let superblocks = place.superblocks();
    let offset = data_offset(&superblocks);
    let description = server.device().describe().to_string();
    let reactor = Reactor::wall().unwrap();
    do_work(work, &**server.device(), &reactor);
    drop(reactor);
    let problems = server.stop(true).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    drop(server);
    place.seen(&description, superblocks, offset)
}

/// Rows of one request, and what a cache writes out at once, go on at their own pace: what is asked
/// keeps no order among them, and writes of neighbouring rows that happen to be ready together are
/// one command.
fn sorted(mut seen: Observation) -> Observation {
    for data in &mut seen.data {
        data.sort_by_key(|(op, offset, length)| (*offset, *length, *op == RecordedOp::Write));
        data.dedup_by(|next, before| {
            let is_behind = (before.0, next.0) == (RecordedOp::Write, RecordedOp::Write)
                && before.1 + before.2 == next.1;
            before.2 += if is_behind { next.2 } else { 0 };
            is_behind
        });
    }
    seen
}

fn compare(
    configuration: &Configuration,
    work: Work,
    mut cell: Observation,
    mut started: Observation,
) {
    let writes_back = configuration.settings.get("cache").is_some_and(|cache| cache == "back");
    if work == Work::Wide || writes_back {
        (cell, started) = (sorted(cell), sorted(started));
    }
    assert!(
        started.data.iter().any(|data| !data.is_empty()),
        "nothing was asked for: {:?}",
        configuration.settings
    );
    let settings = &configuration.settings;
    assert_eq!(cell.metadata, started.metadata, "{settings:?}");
    assert_eq!(cell, started, "{settings:?}");
}

/// Every configuration with requests whose order is known, and each level once with wide ones.
fn works(configurations: &[Configuration]) -> impl Iterator<Item = (&Configuration, Work)> {
    let is_plain = |configuration: &&Configuration| {
        let setting = |axis: &str| configuration.settings.get(axis).map(String::as_str);
        setting("cache") == Some("none") && setting("consistency") != Some("bitmap")
    };
    let narrow = configurations.iter().map(|one| (one, Work::Narrow));
    narrow.chain(configurations.iter().filter(is_plain).map(|one| (one, Work::Wide)))
}

#[test]
fn a_measured_cell_is_what_array_start_serves() {
    let members = MemberFolder::new();
    let names: Vec<String> =
        members.members().iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    members.make_members(FILE_BYTES);
    let configurations = plan(&format!("stacks = [{}]", names.join(", ")));
    assert_eq!(configurations.len(), 2 * (2 + 5 * 2 + 1) + (2 + 5 + 1));
    for (configuration, work) in works(&configurations) {
        // Fresh files under the names that the plan has.
        members.make_members(FILE_BYTES);
        (0..MEMBERS).for_each(|number| _ = fs::remove_file(members.trace(number)));
        let cell = cell(configuration, work, &members, None);
        let other = MemberFolder::new();
        other.make_members(FILE_BYTES);
        compare(configuration, work, cell, started(configuration, work, &other));
    }
}

#[test]
fn a_modelled_cell_is_what_array_start_serves() {
    assert!(Path::new(MODEL).exists());
    let models: Vec<String> =
        (0..MEMBERS).map(|number| format!("{:?}", format!("{MODEL}?link=l{number}"))).collect();
    let configurations = plan(&format!("models = [{}]", models.join(", ")));
    for (configuration, work) in works(&configurations) {
        let place = MemberFolder::new();
        let cell = cell(configuration, work, &place, Some(&Reactor::virtual_clock()));
        let other = MemberFolder::new();
        other.make_members(MODEL_BYTES);
        let started = started(configuration, work, &other);
        assert_eq!(
            size_text(MODEL_BYTES),
            "320MiB",
            "the files are as large as the disks that are modelled"
        );
        compare(configuration, work, cell, started);
    }
}
