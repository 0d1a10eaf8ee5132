//! Clients that are broken, rude or worse. Whatever they do, another client goes on as if they were
//! not there.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use export::nbd::{Limits, Options};
use reactor::Random;
use testkit::Memory;

use super::client::{
    Client, FLUSH, READ, Served, WRITE, exactly, is_cut_off, noise, option, request, serve,
};

const EINVAL: u32 = 22;
const EOVERFLOW: u32 = 75;

fn quick_limits(limits: Limits) -> Options {
    Options { workers: 2, limits, ..Options::default() }
}

/// A client that has been there all along.
struct Bystander {
    client: Client,
    turn: u64,
}

impl Bystander {
    fn of(served: &Served) -> Bystander {
        Bystander { client: served.client(""), turn: 0 }
    }

    /// Writes and reads a little.
    fn goes_on(&mut self) {
        self.turn += 1;
        let (offset, data) = (4096 * (self.turn % 16), noise(self.turn, 4096));
        assert_eq!(self.client.writes(offset, &data, 0), 0);
        assert!(self.client.reads(offset, 4096) == Ok(data));
    }
}

/// Tests that look at the memory of this process, or take much of it, run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the test of this name in a process of its own, for what other tests hold meanwhile would be
/// counted too; whether this is that process.
fn is_by_itself(test: &str) -> bool {
    const MARK: &str = "RAIDLOOM_TEST_BY_ITSELF";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--exact", test])
        .env(MARK, "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// The memory of this process that is in use, in bytes.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 =
        text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("its second number");
    pages * rustix::param::page_size() as u64
}

/// One worker that has 64 MiB for what it moves.
fn serve_in_64_mib() -> Served {
    let limits = Limits { memory_bytes: 64 << 20, ..Limits::default() };
    serve(Arc::new(Memory::new(64 << 20)), &Options { workers: 1, limits, ..Options::default() })
}

#[test]
fn garbage_ends_its_own_connection() {
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(Limits::default()));
    let mut bystander = Bystander::of(&served);
    let mut random = Random::with_seed(20_261_121);
    let mut garbage: Vec<Vec<u8>> =
        (0..200).map(|seed| noise(seed, random.usize(1..3000))).collect();
    garbage.push(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec());
    garbage.push([0_u32.to_be_bytes().to_vec(), vec![0; 1000]].concat());
    for (number, bytes) in garbage.iter().enumerate() {
        let mut stream = served.connect();
        // The server may have had enough before all of it is sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert!(is_cut_off(&mut stream), "garbage {number}");
        bystander.goes_on();
    }
}

#[test]
fn options_that_are_too_long_or_make_no_sense_are_answered() {
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(Limits::default()));
    let mut stream = served.connect();
    let _: [u8; 18] = exactly(&mut stream).expect("a greeting");
    stream.write_all(&3_u32.to_be_bytes()).expect("sent");
    let refused = |stream: &mut UnixStream, option: u32, kind: u32| {
        let head: [u8; 20] = exactly(stream).expect("an answer");
        assert_eq!(head[8..12], option.to_be_bytes());
        assert_eq!(head[12..16], kind.to_be_bytes(), "option {option}");
        let length = u32::from_be_bytes(*head[16..].first_chunk().expect("20 bytes"));
        let mut text = vec![0; length as usize];
        stream.read_exact(&mut text).expect("its text");
    };
    // Longer than any that makes sense, but it arrives: it is passed over, and the next one is
    // understood.
    stream.write_all(&option(7, &vec![1; 1 << 20])).expect("sent");
    refused(&mut stream, 7, (1 << 31) + 9);
    for (number, data, kind) in [
        (7, &b"\0\0\0\x01"[..], (1 << 31) + 3),
        (7, b"\xff\xff\xff\xffx", (1 << 31) + 3),
        // As long as an option may be.
        (7, &[1; 64 << 10], (1 << 31) + 3),
        (7, b"\0\0\0\0\xff\xff", (1 << 31) + 3),
        (7, b"\0\0\0\x04none\0\0", (1 << 31) + 6),
        (10, b"\0\0\0\0\xff\xff\xff\xff", (1 << 31) + 3),
        (3, b"x", (1 << 31) + 3),
        (5, b"", (1 << 31) + 2),
        (11, b"", (1 << 31) + 1),
        (77, b"abc", (1 << 31) + 1),
    ] {
        stream.write_all(&option(number, data)).expect("sent");
        refused(&mut stream, number, kind);
    }
    // A connection of old manners gets through after all that.
    stream.write_all(&option(1, b"drive")).expect("sent");
    let head: [u8; 10] = exactly(&mut stream).expect("the export");
    assert_eq!(head[..8], (1_u64 << 20).to_be_bytes());
}

#[test]
fn who_does_not_finish_the_handshake_is_cut_off() {
    // Time enough for those who mean it, however busy the machine is.
    let limits = Limits { handshake_time: Duration::from_secs(3), ..Limits::default() };
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(limits));
    let mut bystander = Bystander::of(&served);
    let mut silent = served.connect();
    let mut slow = served.connect();
    // A byte now and then does not buy more time.
    slow.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
    let bytes = [3_u32.to_be_bytes().to_vec(), option(1, &[b'x'; 4000])].concat();
    let mut cut_off = false;
    for byte in bytes {
        bystander.goes_on();
        let mut greeting = [0; 64];
        let gone = slow.write_all(&[byte]).is_err() || matches!(slow.read(&mut greeting), Ok(0));
        if gone {
            cut_off = true;
            break;
        }
    }
    assert!(cut_off, "the whole of a long handshake, byte by byte");
    assert!(is_cut_off(&mut silent));
    assert_eq!(served.server.status().turned_away, 2);
    // The one whose handshake is over may be silent as long as nobody else needs its place.
    bystander.goes_on();
}

#[test]
fn ten_thousand_connections_leave_room_for_one_who_means_it() {
    let _alone = alone();
    const COUNT: usize = 10_000;
    let limits = Limits { connections: 64, ..Limits::default() };
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(limits));
    let mut bystander = Bystander::of(&served);
    bystander.goes_on();
    // Where so many are not permitted, they are fewer at once, and as many in all.
    let at_once = raise_descriptors(COUNT);
    let before = resident_bytes();
    let mut idle = std::collections::VecDeque::new();
    for number in 0..COUNT {
        if idle.len() == at_once {
            idle.pop_front();
        }
        let mut stream = UnixStream::connect(&served.socket).expect("the server listens");
        if number % 3 == 0 {
            // It may be gone by now, which is what this is about.
            let _ = stream.write_all(&noise(number as u64, 3));
        }
        idle.push_back(stream);
        if number % 500 == 0 {
            bystander.goes_on();
            // Somebody new gets in at once, past all who wait.
            assert!(served.client("").reads(0, 512).is_ok());
        }
    }
    bystander.goes_on();
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more than before");
    assert!(served.server.status().turned_away > COUNT as u64 / 2, "{:?}", served.server.status());
}

/// How many connections this process may hold at once, both ends of each; as many as `wanted` where
/// it may.
fn raise_descriptors(wanted: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limit.maximum.map_or(u64::MAX, |most| most).min(3 * wanted as u64);
    let raised = rustix::process::Rlimit { current: Some(most), maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised)
        .expect("within the maximum");
    wanted.min((most as usize).saturating_sub(1000))
}

#[test]
fn a_burst_of_idle_connections_takes_little_memory_and_gives_it_back() {
    if !is_by_itself(
        "nbd::abuse::a_burst_of_idle_connections_takes_little_memory_and_gives_it_back",
    ) {
        return;
    }
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(Limits::default()));
    let mut bystander = Bystander::of(&served);
    bystander.goes_on();
    let count = raise_descriptors(9000);
    let before = resident_bytes();
    // As fast as the kernel takes them: nobody waits until those before have been looked at.
    let idle: Vec<UnixStream> = (0..count)
        .map(|_| UnixStream::connect(&served.socket).expect("the server listens"))
        .collect();
    let mut most = resident_bytes();
    for _ in 0..20 {
        bystander.goes_on();
        most = most.max(resident_bytes());
    }
    // Somebody new gets in all the same.
    assert!(served.client("").reads(0, 512).is_ok());
    let grown = most.max(resident_bytes()).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more than before, with {count} connections");
    drop(idle);
    while served.server.status().connections > 1 {
        std::thread::yield_now();
    }
    let left = resident_bytes().saturating_sub(before);
    assert!(left < 32 << 20, "{left} bytes more than before, with all of them gone");
}

#[test]
fn connections_beyond_the_limit_are_refused_and_make_room_when_they_go() {
    let served = serve(
        Arc::new(Memory::new(1 << 20)),
        &quick_limits(Limits { connections: 3, ..Limits::default() }),
    );
    let mut clients: Vec<Client> = (0..3).map(|_| served.client("")).collect();
    assert!(clients.iter_mut().all(|client| client.reads(0, 512).is_ok()));
    let one_more = Client::over(served.connect(), "");
    assert!(one_more.is_err() || one_more.is_ok_and(|mut client| client.is_cut_off()));
    drop(clients.pop());
    while served.server.status().connections == 3 {
        std::thread::yield_now();
    }
    assert!(served.client("").reads(0, 512).is_ok());
}

#[test]
fn clients_that_choose_an_export_and_ask_nothing_lock_nobody_out() {
    let limits =
        Limits { connections: 8, silent_time: Duration::from_millis(1), ..Limits::default() };
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(limits));
    let mut bystander = Bystander::of(&served);
    bystander.goes_on();
    let mut silent: Vec<Client> = (0..7).map(|_| served.client("")).collect();
    // Those who come are refused until the silent ones have been so for their time; then one after
    // the other gets in.
    let mut busy = Vec::new();
    let reactor = reactor::Reactor::wall().expect("a clock");
    let began = reactor.now();
    while busy.len() < 7 {
        assert!(
            reactor.now().since(began) < super::client::PATIENCE,
            "{} of 7 got in: {:?}",
            busy.len(),
            served.server.status()
        );
        let Ok(mut client) = Client::over(served.connect(), "") else { continue };
        if client.try_reads(0, 512).is_ok() {
            busy.push(client);
        }
    }
    assert!(silent.iter_mut().all(Client::is_cut_off));
    // All that have asked something stay, and nobody new gets in.
    assert!(Client::over(served.connect(), "").is_err());
    busy.iter_mut().for_each(|client| assert!(client.reads(0, 512).is_ok()));
    bystander.goes_on();
}

#[test]
fn one_address_of_a_network_does_not_take_all_places() {
    let limits = Limits { connections_per_address: 3, ..Limits::default() };
    let exports = vec![super::client::export(
        "drive",
        Arc::new(Memory::new(1 << 20)),
        export::RemovalPolicy::Performance,
    )];
    let address = "127.0.0.1:0".parse().expect("an address");
    let server =
        export::nbd::Server::start(exports, &[address], &quick_limits(limits)).expect("a server");
    let uri = server.uris("drive").remove(0);
    let port: u16 = uri
        .rsplit_once(':')
        .and_then(|(_, rest)| rest.split('/').next()?.parse().ok())
        .expect("a port");
    // The whole of 127.0.0.0/8 is this machine, so that it can come from several addresses.
    let from = |last: u8| -> std::net::TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        use std::net::{Ipv4Addr, SocketAddrV4};
        let made = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&made, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0))
            .expect("an address of this machine");
        connect(&made, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).expect("the server listens");
        let stream = std::net::TcpStream::from(made);
        stream.set_read_timeout(Some(super::client::PATIENCE)).expect("a socket");
        stream
    };
    let mut greedy: Vec<_> = (0..3).map(|_| from(2)).collect();
    assert!(greedy.iter_mut().all(|stream| exactly::<18>(stream).is_ok()));
    assert!(exactly::<18>(&mut from(2)).is_err(), "a fourth of the same address");
    assert!(exactly::<18>(&mut from(3)).is_ok(), "somebody else");
    drop(greedy);
    while exactly::<18>(&mut from(2)).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn lengths_and_places_that_are_not_there_are_refused() {
    let _alone = alone();
    let served = serve(Arc::new(Memory::new(1 << 20)), &quick_limits(Limits::default()));
    let mut bystander = Bystander::of(&served);
    let mut client = served.client("");
    assert_eq!(client.reads(0, !511), Err(EINVAL), "past the end before anything else");
    assert_eq!(client.reads(!511, 512), Err(EINVAL));
    assert_eq!(client.does(FLUSH, 0, u64::MAX, u32::MAX, &[]), 0, "a flush has no range");
    // The data of a write that is refused are passed over.
    assert_eq!(client.writes(1 << 20, &noise(1, 100_000 / 512 * 512), 0), 28);
    assert!(client.reads(0, 4096) == Ok(vec![0; 4096]));
    // A write that is too long, a request that is none.
    client.send(WRITE, 0, 0, (32 << 20) + 512, &[]);
    assert!(client.is_cut_off());
    let mut client = served.client("");
    client.stream.write_all(&[0; 28]).expect("sent");
    assert!(client.is_cut_off());
    bystander.goes_on();

    let big = serve(Arc::new(Memory::new(40 << 20)), &quick_limits(Limits::default()));
    assert_eq!(big.client("").reads(0, 33 << 20), Err(EOVERFLOW));
    assert!(big.client("").reads(0, 32 << 20) == Ok(vec![0; 32 << 20]));
}

#[test]
fn one_who_asks_for_much_and_takes_nothing_holds_up_nobody() {
    let _alone = alone();
    let served = serve_in_64_mib();
    let mut bystander = Bystander::of(&served);
    let before = resident_bytes();
    let greedy: Vec<Client> = (0..8)
        .map(|_| {
            let mut client = served.client("");
            let asked: Vec<u8> =
                (0..64).flat_map(|cookie| request(READ, 0, cookie, 0, 32 << 20)).collect();
            client.stream.write_all(&asked).expect("sent");
            client
        })
        .collect();
    while served.server.status().exports[0].reads < 2 {
        std::thread::yield_now();
    }
    for _ in 0..200 {
        bystander.goes_on();
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "{grown} bytes more than before");
    drop(greedy);
    // What they held is free again.
    assert!(served.client("").reads(0, 32 << 20).is_ok());
}

#[test]
fn memory_for_data_comes_back_when_its_clients_have_gone() {
    if !is_by_itself("nbd::abuse::memory_for_data_comes_back_when_its_clients_have_gone") {
        return;
    }
    let served =
        serve(Arc::new(Memory::new(32 << 20)), &Options { workers: 1, ..Options::default() });
    let mut bystander = Bystander::of(&served);
    bystander.goes_on();
    let before = resident_bytes();
    for _ in 0..2 {
        let mut clients: Vec<Client> = (0..64).map(|_| served.client("")).collect();
        for client in &mut clients {
            let asked: Vec<u8> =
                (0..8).flat_map(|cookie| request(READ, 0, cookie, 0, 1 << 20)).collect();
            client.stream.write_all(&asked).expect("sent");
        }
        while served.server.status().exports[0].reads < 64 {
            std::thread::yield_now();
        }
        drop(clients);
        while served.server.status().connections > 1 {
            std::thread::yield_now();
        }
    }
    drop(bystander);
    while served.server.status().connections > 0 {
        std::thread::yield_now();
    }
    // What a worker keeps for its clients is not kept for nobody. A connection is counted as gone
    // when it is cut off, a moment before its memory is free.
    let mut left = 0;
    let is_free = (0..100_000).any(|_| {
        std::thread::yield_now();
        left = resident_bytes().saturating_sub(before);
        left < 14 << 20
    });
    assert!(is_free, "{left} bytes more than before");
}

#[test]
fn one_who_falls_silent_in_the_middle_of_a_write_holds_up_nobody() {
    let _alone = alone();
    let served = serve_in_64_mib();
    let mut bystander = Bystander::of(&served);
    let before = resident_bytes();
    let data = noise(5, (2 << 20) + 12_345);
    let mut silent: Vec<Client> = (0..50).map(|_| served.client("")).collect();
    for client in &mut silent {
        client.send(WRITE, 0, 32 << 20, 32 << 20, &data);
    }
    for _ in 0..50 {
        bystander.goes_on();
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more than before");
    drop(silent);
    // Nothing of it was answered; what came in whole pieces may be there.
    bystander.goes_on();
    let mut client = served.client("");
    assert_eq!(client.writes(32 << 20, &data[..2 << 20], 0), 0);
    assert!(client.reads(32 << 20, 2 << 20).as_deref() == Ok(&data[..2 << 20]));
}

#[test]
fn one_who_asks_on_and_on_without_reading_the_answers_is_held_back() {
    let _alone = alone();
    let served =
        serve(Arc::new(Memory::new(1 << 20)), &Options { workers: 1, ..Options::default() });
    let mut bystander = Bystander::of(&served);
    let before = resident_bytes();
    let mut client = served.client("");
    client.stream.set_write_timeout(Some(Duration::from_millis(500))).expect("a socket");
    // Refused at once, so that only the answers could pile up.
    let asked: Vec<u8> = (0..10_000).flat_map(|cookie| request(99, 0, cookie, 0, 0)).collect();
    let stopped = (0..1000).any(|_| client.stream.write_all(&asked).is_err());
    assert!(stopped, "280 MB of requests were taken");
    bystander.goes_on();
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more than before");
}

#[test]
fn clients_that_go_at_any_moment_leave_nothing_behind() {
    let memory = Memory::new(8 << 20).delayed(11, Duration::from_micros(500));
    let served = serve(Arc::new(memory), &quick_limits(Limits::default()));
    let mut bystander = Bystander::of(&served);
    let mut random = Random::with_seed(11);
    for _ in 0..150 {
        let mut script = [3_u32.to_be_bytes().to_vec(), option(1, b"drive")].concat();
        for cookie in 0..20 {
            let length = 512 * random.u32(1..600);
            let offset = 512 * random.u64(200..8000);
            if random.bool() {
                script.extend(request(READ, 0, cookie, offset, length));
            } else {
                script.extend(request(WRITE, 0, cookie, offset, length));
                script.extend(vec![7; length as usize]);
            }
        }
        script.truncate(random.usize(..script.len()));
        let mut stream = served.connect();
        stream.set_write_timeout(Some(Duration::from_millis(5))).expect("a socket");
        // As much as the server takes without being read from.
        let _ = stream.write_all(&script);
        drop(stream);
        bystander.goes_on();
    }
    while served.server.status().connections > 1 {
        std::thread::yield_now();
    }
    assert_eq!(served.server.status().exports[0].connections, 1);
}
