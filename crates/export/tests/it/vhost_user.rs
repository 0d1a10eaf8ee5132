//! The vhost-user-blk server as its clients see it: what is written through a ring is on the
//! device, and a client that breaks the protocol hurts nobody but itself.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use block::{Blocking, Device};
use export::vhost_user::{Options, Server};
use reactor::{Random, Reactor};
use rustix::event::EventfdFlags;
use rustix::fs::MemfdFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use testkit::Memory;

const DISK_BYTES: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 1 << 20;
/// Where the client's process has its memory; nothing is there.
const USER: u64 = 0x7f00_0000_0000;
/// Entries of each ring; rings lie 64 KiB apart, and data from here on.
const ENTRIES: u16 = 16;
const RING_BYTES: u64 = 64 << 10;
const DATA: u64 = 512 << 10;

const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const NAME: u32 = 8;
const ZEROES: u32 = 13;

struct SocketFolder {
    _folder: tempfile::TempDir,
    path: PathBuf,
    device: Arc<dyn Device>,
}

impl SocketFolder {
    fn new() -> SocketFolder {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.sock");
        SocketFolder { _folder: folder, path, device: Arc::new(Memory::new(DISK_BYTES)) }
    }

    fn serve(&self, read_only: bool) -> Server {
        let options = Options { name: "array0".to_owned(), read_only, ..Options::default() };
        Server::start(Arc::clone(&self.device), &self.path, options).unwrap()
    }

    fn content(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let reactor = Reactor::wall().unwrap();
        Blocking::open(&*self.device, &reactor).unwrap().read_slice(offset, &mut bytes).unwrap();
        bytes
    }
}

/// One ring, as a guest's driver keeps it.
struct Ring {
    kick: OwnedFd,
    call: OwnedFd,
    available: u16,
    used: u16,
}

/// A monitor and its guest in one.
struct Client {
    stream: UnixStream,
    memory: OwnedFd,
    rings: Vec<Ring>,
}

impl Client {
    fn connect(path: &Path) -> Client {
        let memory = rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memory, MEMORY_BYTES).unwrap();
        Client { stream: UnixStream::connect(path).unwrap(), memory, rings: Vec::new() }
    }

    /// A client that has gone through all of the beginning, with so many rings.
    fn ready(path: &Path, rings: u32) -> Client {
        let mut client = Client::connect(path);
        let features = client.ask(1);
        assert_eq!(features & 0x1_5000_0244, 0x1_5000_0244, "{features:#x}");
        client.tell(2, &[features], &[]);
        assert_eq!(client.ask(15) & 0x209, 0x209);
        client.tell(16, &[0x209], &[]);
        assert!(client.ask(17) >= 2);
        client.tell(3, &[], &[]);
        let memory = client.memory.try_clone().unwrap();
        client.tell(5, &[1, 0, MEMORY_BYTES, USER, 0], &[memory.as_fd()]);
        for ring in 0..rings {
            let bell = || rustix::event::eventfd(0, EventfdFlags::CLOEXEC).unwrap();
            let (kick, call) = (bell(), bell());
            let (number, base) = (u64::from(ring), USER + RING_BYTES * u64::from(ring));
            client.tell(8, &[number | u64::from(ENTRIES) << 32], &[]);
            client.tell(9, &[number, base, base + 0x2000, base + 0x1000, 0], &[]);
            client.tell(10, &[number], &[]);
            client.tell(12, &[number], &[kick.as_fd()]);
            client.tell(13, &[number], &[call.as_fd()]);
            client.tell(18, &[number | 1 << 32], &[]);
            client.rings.push(Ring { kick, call, available: 0, used: 0 });
        }
        client
    }

    fn send(&mut self, request: u32, flags: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let mut bytes = [request, flags, payload.len() as u32].map(u32::to_ne_bytes).concat();
        bytes.extend(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(files.is_empty() || control.push(SendAncillaryMessage::ScmRights(files)));
        // The server may have hung up already.
        let _ = rustix::net::sendmsg(
            &self.stream,
            &[IoSlice::new(&bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        );
    }

    /// Says something, and waits until it has been done.
    fn tell(&mut self, request: u32, words: &[u64], files: &[BorrowedFd<'_>]) {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.send(request, 9, &payload, files);
        assert_eq!(self.reply(request), [0; 8], "request {request}");
    }

    fn ask(&mut self, request: u32) -> u64 {
        self.send(request, 1, &[], &[]);
        u64::from_ne_bytes(self.reply(request).try_into().unwrap())
    }

    fn reply(&mut self, request: u32) -> Vec<u8> {
        let mut header = [0; 12];
        self.stream.read_exact(&mut header).unwrap();
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (request, 5));
        let mut payload = vec![0; word(8) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        payload
    }

    fn put(&self, address: u64, bytes: &[u8]) {
        assert_eq!(rustix::io::pwrite(&self.memory, bytes, address).unwrap(), bytes.len());
    }

    fn get(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        assert_eq!(rustix::io::pread(&self.memory, &mut bytes[..], address).unwrap(), length);
        bytes
    }

    fn descriptor(&self, ring: usize, index: u16, address: u64, length: u32, flags: u16) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend((index + 1).to_le_bytes());
        self.put(RING_BYTES * ring as u64 + 16 * u64::from(index), &bytes);
    }

    /// Puts a request into the ring at descriptors `first` to `first + 2`; its data lie at `data`.
    fn offer(
        &mut self,
        ring: usize,
        first: u16,
        (kind, sector): (u32, u64),
        data: u64,
        length: u32,
    ) {
        let base = RING_BYTES * ring as u64;
        let header = base + 0x3000 + 32 * u64::from(first);
        self.put(header, &[kind.to_le_bytes(), [0; 4]].concat());
        self.put(header + 8, &sector.to_le_bytes());
        self.put(header + 16, &[0xff]);
        let to_guest = if matches!(kind, READ | NAME) { 2 } else { 0 };
        self.descriptor(ring, first, header, 16, 1);
        if length > 0 {
            self.descriptor(ring, first + 1, data, length, 1 | to_guest);
            self.descriptor(ring, first + 2, header + 16, 1, 2);
        } else {
            self.descriptor(ring, first + 1, header + 16, 1, 2);
        }
        let state = &mut self.rings[ring];
        let place = u64::from(state.available % ENTRIES);
        state.available = state.available.wrapping_add(1);
        let index = state.available;
        self.put(base + 0x1004 + 2 * place, &first.to_le_bytes());
        self.put(base + 0x1002, &index.to_le_bytes());
    }

    fn kick(&self, ring: usize) {
        rustix::io::write(&self.rings[ring].kick, &1_u64.to_ne_bytes()).unwrap();
    }

    /// Waits for the next request that is given back: its first descriptor, the length written, and
    /// its status.
    fn done(&mut self, ring: usize) -> (u16, u32, u8) {
        let base = RING_BYTES * ring as u64;
        let used = self.rings[ring].used;
        while self.get(base + 0x2002, 2) == used.to_le_bytes() {
            rustix::io::read(&self.rings[ring].call, &mut [0_u8; 8]).unwrap();
        }
        self.rings[ring].used = used.wrapping_add(1);
        let entry = self.get(base + 0x2004 + 8 * u64::from(used % ENTRIES), 8);
        let head = u16::from_le_bytes(entry[..2].try_into().unwrap());
        let written = u32::from_le_bytes(entry[4..].try_into().unwrap());
        (head, written, self.get(base + 0x3010 + 32 * u64::from(head), 1)[0])
    }

    fn run(&mut self, ring: usize, kind: u32, sector: u64, length: u32) -> (u32, u8) {
        self.offer(ring, 0, (kind, sector), DATA, length);
        self.kick(ring);
        let (_, written, status) = self.done(ring);
        (written, status)
    }
}

#[test]
fn what_a_guest_writes_is_on_the_device_and_comes_back() {
    let place = SocketFolder::new();
    let server = place.serve(false);
    let mut client = Client::ready(&place.path, 1);
    let mut random = Random::with_seed(1);
    let mut bytes = vec![0; 8192];
    random.fill(&mut bytes);
    client.put(DATA, &bytes);
    assert_eq!(client.run(0, WRITE, 3, 8192), (1, 0));
    assert_eq!(client.run(0, FLUSH, 0, 0), (1, 0));
    assert_eq!(place.content(1536, 8192), bytes);
    client.put(DATA, &[0; 8192]);
    assert_eq!(client.run(0, READ, 4, 4096), (4097, 0));
    assert_eq!(client.get(DATA, 4096), bytes[512..4608]);
    assert_eq!(client.run(0, NAME, 0, 20), (21, 0));
    assert_eq!(client.get(DATA, 8), b"array0\0\0");
    // Sectors 3 and 4 become zeroes.
    client.put(DATA, &[3_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat());
    assert_eq!(client.run(0, ZEROES, 0, 16), (1, 0));
    assert_eq!(place.content(1536, 1024), [0; 1024]);
    assert_eq!(place.content(2560, 512), bytes[1024..1536]);
    let status = server.status();
    assert_eq!((status.clients, status.requests, status.trouble), (1, 5, None));
}

#[test]
fn requests_past_the_end_of_no_length_or_unknown_fail_alone() {
    let place = SocketFolder::new();
    let _server = place.serve(false);
    let mut client = Client::ready(&place.path, 1);
    for (kind, sector, length, status) in [
        (READ, DISK_BYTES / 512, 512, 1),
        (WRITE, DISK_BYTES / 512 - 1, 1024, 1),
        (READ, u64::MAX, 512, 1),
        (WRITE, u64::MAX / 512, 512, 1),
        (READ, 0, 0, 1),
        (WRITE, 0, 100, 1),
        (77, 0, 0, 2),
        (ZEROES, 0, 32, 2),
        (READ, 0, 512, 0),
    ] {
        assert_eq!(client.run(0, kind, sector, length).1, status, "{kind} {sector} {length}");
    }
}

#[test]
fn a_read_only_disk_says_so_and_takes_no_writes() {
    let place = SocketFolder::new();
    let _server = place.serve(true);
    let mut client = Client::ready(&place.path, 1);
    assert_ne!(client.ask(1) & 1 << 5, 0);
    assert_eq!(client.run(0, WRITE, 0, 512).1, 1);
    assert_eq!(client.run(0, READ, 0, 512).1, 0);
}

/// Random requests on several rings at once, each to its own part of the disk and held against what
/// it should read.
#[test]
fn several_rings_at_once_keep_what_each_has_written() {
    let place = SocketFolder::new();
    let _server = place.serve(false);
    let rings = 4;
    let mut client = Client::ready(&place.path, rings);
    let part = DISK_BYTES / u64::from(rings);
    let mut expected = vec![vec![0_u8; part as usize]; rings as usize];
    let seed = 42;
    let mut random = Random::with_seed(seed);
    for round in 0..60 {
        // Four requests a ring, on quarters of its part, so that they cannot meet.
        let mut pending = Vec::new();
        for (ring, expected) in expected.iter_mut().enumerate() {
            for slot in 0..4_u16 {
                let quarter = part / 4;
                let length = 512 * random.u64(1..=8);
                let within =
                    u64::from(slot) * quarter + 512 * random.u64(0..(quarter - length) / 512);
                let data = DATA + (ring as u64 * 4 + u64::from(slot)) * 4096;
                let kind = if random.bool() { WRITE } else { READ };
                if kind == WRITE {
                    let mut bytes = vec![0; length as usize];
                    random.fill(&mut bytes);
                    client.put(data, &bytes);
                    expected[within as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                let sector = (ring as u64 * part + within) / 512;
                client.offer(ring, 3 * slot, (kind, sector), data, length as u32);
                pending.push((ring, kind, within as usize, data, length as usize));
            }
            client.kick(ring);
        }
        for ring in 0..rings as usize {
            for _ in 0..4 {
                assert_eq!(client.done(ring).2, 0, "seed {seed} round {round}");
            }
        }
        for (ring, kind, within, data, length) in pending {
            if kind == READ {
                assert_eq!(
                    client.get(data, length),
                    expected[ring][within..within + length],
                    "seed {seed} round {round} ring {ring}"
                );
            }
        }
    }
    assert_eq!(place.content(0, DISK_BYTES as usize), expected.concat());
}

#[test]
fn a_stopped_ring_says_how_far_it_has_come_and_another_client_goes_on() {
    let place = SocketFolder::new();
    let server = place.serve(false);
    let mut first = Client::ready(&place.path, 2);
    first.put(DATA, &[7; 512]);
    for _ in 0..3 {
        assert_eq!(first.run(1, WRITE, 9, 512).1, 0);
    }
    first.send(11, 1, &[1, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!(first.reply(11), [1, 0, 0, 0, 3, 0, 0, 0]);
    drop(first);
    let mut second = Client::ready(&place.path, 1);
    assert_eq!(second.run(0, READ, 9, 512), (513, 0));
    assert_eq!(second.get(DATA, 512), [7; 512]);
    assert_eq!(server.status().trouble, None, "a client that hangs up has done nothing wrong");
    drop(server);
    assert!(!place.path.exists());
    let mut rest = Vec::new();
    second.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}

/// "A broken or hostile memory table, ring or message ends that guest with one line and nothing
/// else."
#[test]
fn a_hostile_client_is_cut_off_with_one_line_and_another_does_not_notice() {
    type Attack = fn(&mut Client);
    let attacks: [(&str, Attack); 11] = [
        ("claims", |client| {
            client.put(0x1002, &1000_u16.to_le_bytes());
            client.kick(0);
        }),
        ("is in no region", |client| {
            client.offer(0, 0, (READ, 0), u64::from(u32::MAX) << 8, 512);
            client.kick(0);
        }),
        ("in no region", |client| {
            let words = [0_u64, 1 << 50, USER, USER, 0].map(u64::to_ne_bytes).concat();
            client.send(9, 1, &words, &[]);
            client.kick(0);
        }),
        ("came with", |client| {
            let words = [1_u64, 0, 4096, USER, 0].map(u64::to_ne_bytes).concat();
            client.send(5, 1, &words, &[]);
        }),
        ("no eventfd", |client| {
            // A pipe that is full, and would be waited for.
            let (_reader, writer) = std::io::pipe().unwrap();
            client.send(13, 1, &0_u64.to_ne_bytes(), &[writer.as_fd()]);
        }),
        ("no eventfd", |client| {
            // Always readable: it would be read for ever.
            let zeroes = std::fs::File::open("/dev/zero").unwrap();
            client.send(12, 1, &0_u64.to_ne_bytes(), &[zeroes.as_fd()]);
        }),
        ("version", |client| client.send(1, 2, &[], &[])),
        ("not offered", |client| client.send(33, 1, &[], &[])),
        ("were not offered", |client| client.send(2, 1, &u64::MAX.to_ne_bytes(), &[])),
        ("ring 99", |client| client.send(11, 1, &[99, 0, 0, 0, 0, 0, 0, 0], &[])),
        ("shortened", |client| {
            client.offer(0, 0, (WRITE, 0), MEMORY_BYTES - 512, 512);
            rustix::fs::ftruncate(&client.memory, MEMORY_BYTES - 512).unwrap();
            client.kick(0);
        }),
    ];
    let place = SocketFolder::new();
    let server = place.serve(false);
    let mut other = Client::ready(&place.path, 1);
    for (expected, attack) in attacks {
        let mut hostile = Client::ready(&place.path, 1);
        attack(&mut hostile);
        let mut rest = Vec::new();
        // It is hung up on; a reset is as good.
        let _ = hostile.stream.read_to_end(&mut rest);
        let trouble = server.status().trouble.unwrap_or_default().english();
        assert!(
            trouble.contains(expected) && trouble.lines().count() == 1,
            "{expected}: {trouble}"
        );
        assert_eq!(other.run(0, READ, 0, 512), (513, 0), "{expected}");
    }
}

/// Connections that say nothing keep no machine out, and no machine makes way for another.
#[test]
fn who_has_no_ring_makes_way_and_nobody_else_does() {
    let place = SocketFolder::new();
    let server = place.serve(false);
    let mut first = Client::ready(&place.path, 1);
    let idle: Vec<UnixStream> =
        (0..40).map(|_| UnixStream::connect(&place.path).unwrap()).collect();
    let mut others: Vec<Client> = (1..16).map(|_| Client::ready(&place.path, 1)).collect();
    for client in others.iter_mut().chain([&mut first]) {
        assert_eq!(client.run(0, READ, 0, 512), (513, 0));
    }
    drop(idle);
    assert_eq!(server.status().trouble, None, "one that makes way has broken nothing");
    // All places are used.
    let mut late = Client::connect(&place.path);
    let mut said = Vec::new();
    let _ = late.stream.read_to_end(&mut said);
    let trouble = server.status().trouble.unwrap_or_default().english();
    assert!(trouble.contains("16 machines use it"), "{trouble}");
    assert_eq!(first.run(0, READ, 0, 512), (513, 0));
}

/// Eventfds that this process has open, other tests' included.
fn eventfds() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.as_os_str() == "anon_inode:[eventfd]").count()
}

/// How many other tests have at a time, at most.
const EVENTFDS_OF_OTHERS: usize = 100;

#[test]
fn a_client_that_has_gone_leaves_no_descriptor_behind() {
    let place = SocketFolder::new();
    let server = place.serve(false);
    let before = eventfds();
    for _ in 0..2 * EVENTFDS_OF_OTHERS {
        let mut client = Client::ready(&place.path, 1);
        assert_eq!(client.run(0, READ, 0, 512), (513, 0));
    }
    // Its thread sees the end of the last client.
    while server.status().clients > 0 {
        std::thread::yield_now();
    }
    let after = eventfds();
    assert!(after < before + EVENTFDS_OF_OTHERS, "{before} -> {after}");
}

/// A call that has been told as often as it can be is not waited for.
#[test]
fn a_client_that_never_takes_its_calls_does_not_keep_the_server() {
    let place = SocketFolder::new();
    let server = place.serve(false);
    let mut client = Client::ready(&place.path, 1);
    let full = u64::MAX - 1;
    rustix::io::write(&client.rings[0].call, &full.to_ne_bytes()).unwrap();
    for _ in 0..3 {
        client.offer(0, 0, (READ, 0), DATA, 512);
        client.kick(0);
        client.rings[0].used = client.rings[0].available;
        while client.get(0x2002, 2) != client.rings[0].used.to_le_bytes() {
            std::thread::yield_now();
        }
    }
    // It joins the thread of the client.
    drop(server);
    assert_eq!(rustix::io::read(&client.rings[0].call, &mut [0_u8; 8]), Ok(8));
}

/// What the machine in [`a_machine_boots_from_it`] does: reads four sectors at 64 and writes them
/// at 256, through its BIOS, and says through a port whether that went well.
const BOOT: [u8; 0x1f] = [
    0x31, 0xc0, // xor ax, ax
    0x8e, 0xd8, // mov ds, ax
    0xbe, 0x40, 0x7c, // mov si, 0x7c40
    0xb4, 0x42, // mov ah, 0x42         read
    0xcd, 0x13, // int 0x13
    0x72, 0x0e, // jc failed
    0xbe, 0x50, 0x7c, // mov si, 0x7c50
    0xb8, 0x00, 0x43, // mov ax, 0x4300 write
    0xcd, 0x13, // int 0x13
    0x72, 0x04, // jc failed
    0xb0, 0x21, // mov al, 0x21
    0xeb, 0x02, // jmp done
    0xb0, 0x10, // failed: mov al, 0x10
    0xe6, 0xf4, // done: out 0xf4, al   QEMU ends with 2 * al + 1
];

/// QEMU's own client, its BIOS' driver, and a guest.
#[test]
fn a_machine_boots_from_it() {
    const PROGRAM: &str = "qemu-system-x86_64";
    let found = Command::new(PROGRAM).arg("--version").output();
    if found.is_err() {
        println!("skipped: no qemu-system-x86_64: apt-get install qemu-system-x86");
        return;
    }
    let place = SocketFolder::new();
    let mut sector = vec![0; 512];
    sector[..BOOT.len()].copy_from_slice(&BOOT);
    // What is to be moved: the packet's length, sectors, where in memory, where on the disk.
    for (at, disk) in [(0x40, 64_u8), (0x50, 0)] {
        sector[at..at + 9].copy_from_slice(&[16, 0, 4, 0, 0, 0x80, 0, 0, disk]);
    }
    // 256 takes a second byte.
    sector[0x59] = 1;
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    let mut data = vec![0; 2048];
    Random::with_seed(3).fill(&mut data);
    let reactor = Reactor::wall().unwrap();
    let mut disk = Blocking::open(&*place.device, &reactor).unwrap();
    disk.write_slice(0, &sector).unwrap();
    disk.write_slice(64 * 512, &data).unwrap();
    let server = place.serve(false);
    let socket = format!("socket,id=c,path={}", place.path.display());
    // Twice: the second machine finds what the first has left, on a server that has gone on.
    for (round, rings) in ["num-queues=1", "num-queues=4"].into_iter().enumerate() {
        let ran = Command::new("timeout")
            .args(["60", PROGRAM, "-nodefaults", "-display", "none", "-no-reboot", "-m", "64"])
            .args(["-accel", "tcg", "-object", "memory-backend-memfd,id=m,size=64M,share=on"])
            .args(["-machine", "pc,memory-backend=m", "-chardev", &socket, "-device"])
            .arg(format!("vhost-user-blk-pci,chardev=c,bootindex=0,{rings}"))
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let trouble = server.status().trouble;
        assert_eq!(ran.status.code(), Some(2 * 0x21 + 1), "round {round}: {said} {trouble:?}");
        assert_eq!(place.content(256 * 512, 2048), data, "round {round}");
        disk.write_slice(256 * 512, &[0; 2048]).unwrap();
    }
    assert_eq!(server.status().trouble, None);
}
