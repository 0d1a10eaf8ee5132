//! Arrays over exports of several hosts, which go and return while the array is written to, and
//! lose with their power what was not flushed.
//!
//! ```text
//!   load ──> RAID 5 or RAID 1 with bitmap ──┬── NBD ──> host ──> memory behind a cache
//!                                           ├── NBD ──> host ──> …      killed and started again
//!                                           └── NBD ──> host ──> …
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use array::metadata::{MetadataWriter, RunningArray, examine};
use array::sync::{Ending, Notice, SyncScheduler};
use block::{
    Blocking, BufMut, Channel, Counters, CountingDevice, Info, Op, Reactor, Request,
    ReturnedBuffer, Support,
};
use export::RemovalPolicy;
use export::nbd::{Address, Export, Options, Server};
use fastrand::Rng;
use host::guard::{Consent, Guard};
use interop::{Job, LIMITS, Machine, Shape, Sizes, member_path, said};
use stack::{BuildContext, NoFiles, Stack};
use testkit::Memory;
use testkit::crash::Crashable;

const SEED: u64 = 20_261_124;
const MEMBER_BYTES: u64 = 24 << 20;
const BLOCK: u64 = 4096;
/// What a bit of the bitmap covers.
const REGION_BYTES: u64 = 64 << 10;
/// The load writes this part of the array and no more: what is copied has to stay below that.
const LOAD_BYTES: u64 = 4 << 20;
const DEPTH: u32 = 8;

/// A host with a disk of its own, whose cache is lost with its power.
struct Host {
    socket: PathBuf,
    disk: Memory,
    counters: Arc<Counters>,
    server: Option<Server>,
}

impl Host {
    fn new(folder: &Path, number: usize, content: &[u8]) -> Host {
        let info = Info { volatile_cache: true, fua: Support::Native, ..Info::plain(MEMBER_BYTES) };
        let disk = Memory::with(info);
        let reactor = Reactor::wall().expect("a reactor");
        let mut channel = Blocking::open(&disk, &reactor).expect("a channel");
        channel.write_slice(0, content).and_then(|()| channel.flush()).expect("written");
        let socket = folder.join(format!("host{number}"));
        let counters = CountingDevice::over(Arc::new(disk.reopened())).counters();
        let mut host = Host { socket, disk, counters, server: None };
        host.start();
        host
    }

    fn start(&mut self) {
        let counted = CountingDevice::over(Arc::new(self.disk.reopened()));
        self.counters = counted.counters();
        let export = Export {
            name: "disk".to_owned(),
            description: String::new(),
            device: Arc::new(counted),
            read_only: false,
            policy: RemovalPolicy::Performance,
            gate: Default::default(),
        };
        let address = Address::Unix(self.socket.clone());
        let server = Server::start(vec![export], &[address], &Options::default());
        self.server = Some(server.expect("a server"));
    }

    /// The power is off: what was not flushed may be gone, and the connections are.
    fn kill(&mut self, seed: u64) {
        self.disk.crash(seed);
        self.server = None;
    }

    fn text(&self) -> String {
        format!("nbd+unix:///disk?socket={}&reconnect=0s", self.socket.display())
    }
}

fn open(text: &str) -> Stack {
    let context = BuildContext { seed: SEED, ..BuildContext::new(&NoFiles) };
    stack::parse_and_build(text, &context).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The images of a new array.
fn images(folder: &Path, level: array::md::Level, count: usize) -> Vec<Vec<u8>> {
    let members: Vec<PathBuf> =
        (0..count).map(|number| folder.join(format!("image{number}"))).collect();
    let layout = match level {
        array::md::Level::Raid1 => array::md::Layout::Plain,
        _ => array::md::Layout::Parity(array::ParityLayout::LeftSymmetric),
    };
    let wanted = mdtools::Create {
        chunk_bytes: if level == array::md::Level::Raid1 { 0 } else { 64 << 10 },
        consistency: array::md::Consistency::Bitmap { chunk_bytes: Some(REGION_BYTES as u32) },
        create_bytes: Some(MEMBER_BYTES),
        assume_clean: true,
        ..mdtools::Create::new("hosts", level, layout, &members)
    };
    mdtools::create(
        &Guard::new(Consent::default()),
        &wanted,
        &std::sync::atomic::AtomicBool::new(false),
    )
    .expect("an array");
    members.iter().map(|path| std::fs::read(path).expect("an image")).collect()
}

/// The array as a client sees it: what it has to hold, and what is under way.
struct Client {
    channel: Box<dyn Channel>,
    reactor: Reactor,
    writer: MetadataWriter,
    scheduler: SyncScheduler,
    running: RunningArray,
    random: Rng,
    /// What was written and answered, by block; the rest is zeroes.
    holds: BTreeMap<u64, u8>,
    /// Writes under way: where, how many blocks, and with what.
    writing: BTreeMap<u64, (u64, u64, u8)>,
    /// Reads under way: where, and how many blocks.
    reading: BTreeMap<u64, (u64, u64)>,
    next_tag: u64,
    rebuilt: Option<Ending>,
}

impl Client {
    fn poll(&mut self) {
        let mut done = Vec::new();
        self.channel.poll(&mut done);
        for completion in done {
            let tag = completion.tag;
            completion.result.unwrap_or_else(|error| panic!("request {tag}: {error}"));
            if let Some((block, count, byte)) = self.writing.remove(&tag) {
                self.holds.extend((block..block + count).map(|block| (block, byte)));
                continue;
            }
            self.reading.remove(&tag);
            if let ReturnedBuffer::Read(buffer) = completion.buffer {
                self.check(tag & 0xffff_ffff, &buffer);
            }
        }
        while let Some(notice) = self.scheduler.poll() {
            if let Notice::Ended(outcome) = notice {
                self.rebuilt = Some(outcome.ending);
            }
        }
        self.writer.poll();
    }

    /// "No stale read."
    fn check(&self, block: u64, found: &BufMut) {
        let mut bytes = vec![0; found.len()];
        found.copy_to_slice(&mut bytes);
        for (number, found) in bytes.chunks(BLOCK as usize).enumerate() {
            let block = block + number as u64;
            let wanted = self.holds.get(&block).copied().unwrap_or(0);
            assert!(
                found.iter().all(|byte| *byte == wanted),
                "block {block} holds {} instead of {wanted}",
                found[0]
            );
        }
    }

    fn until(&mut self, is_over: impl Fn(&Client) -> bool) {
        loop {
            self.poll();
            if is_over(self) {
                return;
            }
            let patience = self.reactor.now() + std::time::Duration::from_secs(60);
            self.reactor.wait(Some(patience)).expect("woken");
            assert!(self.reactor.now() < patience, "nothing happens any more");
        }
    }

    /// One write where none is under way, or a read, or a flush.
    fn submit(&mut self) {
        let blocks = LOAD_BYTES / BLOCK;
        let count = self.random.u64(1..=16);
        let block = self.random.u64(0..=blocks - count);
        let meets = |at: u64, other: u64| at < block + count && block < at + other;
        let is_written = self.writing.values().any(|(at, other, _)| meets(*at, *other));
        let is_read = self.reading.values().any(|(at, other)| meets(*at, *other));
        self.next_tag += 1;
        let tag = self.next_tag << 32;
        let (offset, length) = (block * BLOCK, (count * BLOCK) as usize);
        let request = match self.random.u32(0..10) {
            0 => Request::new(tag | 0xffff_ffff, Op::Flush),
            1..=2 if !is_written => {
                self.reading.insert(tag | block, (block, count));
                Request::new(tag | block, Op::Read { offset, into: BufMut::zeroed(length) })
            }
            _ if !is_written && !is_read => {
                let byte = self.random.u8(1..);
                let mut from = BufMut::zeroed(length);
                from.fill(byte);
                self.writing.insert(tag, (block, count, byte));
                let fua = self.random.bool();
                Request::new(tag, Op::Write { offset, from: from.freeze(), fua })
            }
            _ => return,
        };
        self.channel.submit(request);
    }

    fn load(&mut self, requests: u32) {
        for _ in 0..requests {
            self.until(|client| client.channel.in_flight() < DEPTH);
            self.submit();
        }
    }

    fn settle(&mut self) {
        self.until(|client| client.channel.in_flight() == 0);
    }

    fn read_all(&mut self) {
        self.settle();
        for offset in (0..LOAD_BYTES + (1 << 20)).step_by(1 << 20) {
            let into = BufMut::zeroed(1 << 20);
            self.channel.submit(Request::new(offset / BLOCK, Op::Read { offset, into }));
        }
        self.settle();
    }
}

/// A host goes while the array is written to, it returns, and is brought up to date: by how many
/// bytes.
fn lose_and_regain(client: &mut Client, hosts: &mut [Host], sequence: u64) -> u64 {
    let own = Reactor::wall().expect("a reactor");
    let gone = client.random.usize(0..hosts.len());
    let before = client.random.u32(0..12);
    client.load(before);
    hosts[gone].kill(SEED + sequence);
    client.load(24);
    client.settle();
    // Only what is written shows that one is gone.
    client.until(|client| !client.running.status().members.faulty().is_empty());
    client.running.remove(gone).expect("it has failed");
    hosts[gone].disk.power_on();
    hosts[gone].start();
    let back = open(&hosts[gone].text()).device;
    let was = examine(&*back, "it", &own).expect("read").expect("a superblock").superblock;
    let was = (was.role(), was.events, was.recovering_from_sectors(), was.features);
    let missed = client.running.add_to_slot(gone, &back, [gone as u8 + 1; 16], &own);
    let missed = missed.unwrap_or_else(|error| panic!("sequence {sequence}: {error}"));
    // "Resynced by the bitmap": no more than what was ever written, in whole regions.
    let (bytes, status) = (missed.bytes(), client.running.status());
    assert!(
        bytes <= LOAD_BYTES + 2 * REGION_BYTES,
        "sequence {sequence}: {bytes} bytes for {was:?} of {status:?}"
    );
    assert!(missed.bytes() < client.running.control().member_bytes() / 2);
    client.rebuilt = None;
    let during = client.random.u32(0..8);
    client.load(during);
    client.until(|client| client.rebuilt.is_some());
    assert!(matches!(client.rebuilt, Some(Ending::Done)), "{:?}", client.rebuilt);
    // Until its superblock says that it has all, the next time it would be given all.
    let disk = hosts[gone].disk.reopened();
    client.until(|_| {
        let found = examine(&disk, "it", &own).expect("read").expect("a superblock");
        found.superblock.recovering_from_sectors().is_none()
            && matches!(found.superblock.role(), array::md::Role::Active(_))
    });
    let written = hosts[gone].counters.read().written_bytes;
    let by_load = u64::from(during) * 2 * (16 + 16) * BLOCK;
    assert!(
        written <= missed.bytes() + by_load + (1 << 20),
        "{written} bytes were written to a host that lacked {}",
        missed.bytes()
    );
    missed.bytes()
}

/// So many sequences of: a host goes while the array is written to, it returns, and is brought up
/// to date.
fn go_and_return(level: array::md::Level, count: usize, sequences: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let images = images(folder.path(), level, count);
    let mut hosts: Vec<Host> = (images.iter().enumerate())
        .map(|(number, image)| Host::new(folder.path(), number, image))
        .collect();
    let members: Vec<String> = hosts.iter().map(Host::text).collect();
    let text = format!("{level}(metadata=1.2, {})", members.join(", "));
    let mut stack = open(&text);
    let running = stack.arrays.running()[0].clone();
    assert!(running.is_shared(), "servers are kept apart meanwhile");
    let reactor = Reactor::wall().expect("a reactor");
    let mut scheduler = SyncScheduler::open(running.control(), &reactor).expect("a scheduler");
    scheduler.set_limits(LIMITS);
    let mut client = Client {
        channel: stack.device.open(DEPTH, &reactor).expect("a channel"),
        writer: running.metadata_writer(&reactor).expect("a bell").expect("a writer"),
        scheduler,
        running,
        random: Rng::with_seed(SEED),
        holds: BTreeMap::new(),
        writing: BTreeMap::new(),
        reading: BTreeMap::new(),
        next_tag: 1,
        rebuilt: None,
        reactor,
    };
    let mut copied = 0;
    for sequence in 0..sequences {
        copied += lose_and_regain(&mut client, &mut hosts, sequence);
        client.read_all();
        let states = client.running.status();
        assert_eq!(states.slots_text(), format!("[{}]", "U".repeat(count)), "{sequence}");
    }
    assert!(copied > 0, "nothing was ever brought up to date: the test shows nothing");
    client.channel.submit(Request::new(u64::from(u32::MAX), Op::Flush));
    client.settle();

    // "No flushed write lost": all hosts lose their power at once.
    let Client { holds, channel, writer, scheduler, running, .. } = client;
    let array_bytes = stack.device.info().size_bytes;
    hosts.iter_mut().for_each(|host| host.kill(SEED));
    drop((channel, writer, scheduler, running));
    let _ = stack.arrays.end();
    drop(stack);
    for host in &mut hosts {
        host.disk.power_on();
    }
    taken_by_md(folder.path(), level, &hosts, array_bytes, &holds);
    for host in &mut hosts {
        host.start();
    }
    let stack = open(&text);
    let reactor = Reactor::wall().expect("a reactor");
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    for (block, byte) in holds {
        let mut found = vec![0; BLOCK as usize];
        channel.read_slice(block * BLOCK, &mut found).expect("read");
        assert!(found.iter().all(|found| *found == byte), "block {block} was flushed");
    }
}

/// What a server that was killed has left on its members, its claim among it, is md's: it reads the
/// same.
fn taken_by_md(
    folder: &Path,
    level: array::md::Level,
    hosts: &[Host],
    array_bytes: u64,
    holds: &BTreeMap<u64, u8>,
) {
    let reactor = Reactor::wall().expect("a reactor");
    let mut is_claimed = false;
    for (role, host) in hosts.iter().enumerate() {
        let disk = host.disk.reopened();
        let found = examine(&disk, "it", &reactor).expect("read").expect("a superblock");
        is_claimed |= found.superblock.updated.microseconds != 0;
        let mut bytes = vec![0; MEMBER_BYTES as usize];
        let mut channel = Blocking::open(&disk, &reactor).expect("a channel");
        channel.read_slice(0, &mut bytes).expect("read");
        std::fs::write(member_path(folder, "hosts", role), bytes).expect("written");
    }
    assert!(is_claimed, "a server that ended in order shows nothing here");
    if !Machine::is_there("members of a server that was killed") {
        return;
    }
    let mut expected = vec![0; array_bytes as usize];
    for (block, byte) in holds {
        expected[(block * BLOCK) as usize..][..BLOCK as usize].fill(*byte);
    }
    let content = folder.join("content");
    std::fs::write(&content, expected).expect("written");
    let machine = Machine::with_disks(folder, hosts.len(), MEMBER_BYTES).expect("images");
    let shape = match level {
        array::md::Level::Raid1 => Shape::new("1", "", hosts.len(), Sizes::Large),
        _ => Shape::new("5", "left-symmetric", hosts.len(), Sizes::Large),
    };
    let lines = machine.run(&[Job::new("take", "hosts", shape, &content)]).expect("md");
    assert_eq!(said(&lines, "hosts", "content"), "equal", "{lines:?}");
    assert_eq!(said(&lines, "hosts", "mismatches"), "0", "{lines:?}");
}

/// "`raid5(nbd://a/d, nbd://b/d, nbd://c/d)` with bitmap": 100 sequences.
#[test]
fn hosts_of_a_raid5_go_and_return_under_load() {
    go_and_return(array::md::Level::Raid5, 3, 70);
}

#[test]
fn hosts_of_a_mirror_go_and_return_under_load() {
    go_and_return(array::md::Level::Raid1, 2, 30);
}
