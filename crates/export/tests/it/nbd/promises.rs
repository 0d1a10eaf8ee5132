//! What clients are promised: data, durability, errors, order.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use block::{ContractCheck, Device, Info, Support};
use export::fuse::{FuseFile, FuseOptions};
use export::nbd::{Limits, Options};
use export::{Gate, RemovalPolicy};
use reactor::Random;
use testkit::crash::Crashable;
use testkit::{Fault, Memory};

use super::client::{
    Client, DISCONNECT, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, ZEROES, export, noise, request,
    serve, serve_all,
};

const EIO: u32 = 5;

/// A device with a volatile cache, and nothing but what the contract demands.
fn cached(size_bytes: u64) -> Memory {
    Memory::with(Info {
        volatile_cache: true,
        max_request_bytes: 64 << 10,
        ..Info::plain(size_bytes)
    })
}

#[test]
fn a_power_cut_loses_nothing_that_was_promised() {
    // What a client is told, on which policy, and whether it may then be lost. Everything else of
    // the device is in its cache.
    for seed in 0..20 {
        for (policy, promise) in [
            (RemovalPolicy::Performance, "flush on another connection"),
            (RemovalPolicy::Performance, "fua"),
            (RemovalPolicy::Quick, "nothing"),
        ] {
            let memory = Arc::new(cached(1 << 20));
            let served = serve_all(
                vec![export("drive", Arc::clone(&memory) as _, policy)],
                &Options { workers: 2, ..Options::default() },
            );
            let (mut client, mut other) = (served.client(""), served.client(""));
            let data = noise(seed, 200 << 10);
            let flags = if promise == "fua" { FUA } else { 0 };
            assert_eq!(client.writes(4096, &data, flags), 0);
            assert_eq!(client.does(ZEROES, flags, 8192, 4096, &[]), 0);
            assert_eq!(client.does(ZEROES, flags | NO_HOLE, 16384, 512, &[]), 0);
            if promise.starts_with("flush") {
                assert_eq!(other.does(FLUSH, 0, 0, 0, &[]), 0);
            }
            // Never promised: it may be there or not, and must not be in the way.
            assert_eq!(client.writes(512 << 10, &noise(seed + 1, 64 << 10), 0), 0);
            memory.crash(seed);
            memory.power_on();
            drop(served);
            let mut expected = data;
            expected[4096..8192].fill(0);
            expected[12288..12800].fill(0);
            let served = serve(Arc::new(memory.reopened()), &Options::default());
            assert!(
                served.client("").reads(4096, 200 << 10) == Ok(expected),
                "seed {seed}, {policy}, {promise}"
            );
        }
    }
}

#[test]
fn without_a_promise_a_power_cut_does_lose_something() {
    // The test above would find nothing if this device lost nothing.
    let lost = (0..20).any(|seed| {
        let memory = Arc::new(cached(1 << 20));
        let served = serve(Arc::clone(&memory) as _, &Options::default());
        assert_eq!(served.client("").writes(0, &noise(seed, 64 << 10), 0), 0);
        memory.crash(seed);
        memory.power_on();
        drop(served);
        let served = serve(Arc::new(memory.reopened()), &Options::default());
        served.client("").reads(0, 64 << 10) != Ok(noise(seed, 64 << 10))
    });
    assert!(lost);
}

/// A cookie, and of a read its range.
type SentRequest = (u64, Option<std::ops::Range<usize>>);

/// Requests of two clients on ranges that do not overlap, and as bytes; `model` is what the drive
/// holds afterwards.
fn script(model: &mut [u8], random: &mut Random) -> ([Vec<SentRequest>; 2], [Vec<u8>; 2]) {
    let size = model.len();
    // Ranges of one round do not overlap, so their order does not matter.
    let mut place = 0;
    let mut sent: [Vec<SentRequest>; 2] = Default::default();
    let mut scripts: [Vec<u8>; 2] = Default::default();
    loop {
        let start = place + 512 * random.usize(0..200);
        if start >= size {
            break;
        }
        let longest = [512, 4096, 70 << 10, 3 << 20][random.usize(..4)];
        let length = (512 * random.usize(1..=longest / 512)).min(size - start);
        place = start + length;
        let who = random.usize(..2);
        let range = start..place;
        let cookie = start as u64;
        let mut ask = |command, flags| {
            scripts[who].extend(request(command, flags, cookie, start as u64, length as u32));
        };
        let read = match random.usize(..4) {
            0 => {
                random.fill(&mut model[range.clone()]);
                ask(WRITE, 0);
                scripts[who].extend_from_slice(&model[range]);
                None
            }
            1 => {
                model[range].fill(0);
                ask(ZEROES, if random.bool() { NO_HOLE } else { 0 });
                None
            }
            _ => {
                ask(READ, 0);
                Some(range)
            }
        };
        sent[who].push((cookie, read));
    }
    (sent, scripts)
}

#[test]
fn requests_of_any_length_overtake_each_other_and_find_their_data() {
    let seed = 7;
    let info = Info {
        max_request_bytes: 24 << 10,
        optimal_bytes: 12 << 10,
        zeroes: Support::Native,
        ..Info::plain(6 << 20)
    };
    let memory = Memory::with(info).delayed(seed, Duration::from_micros(300));
    let served =
        serve(ContractCheck::over(Arc::new(memory)), &Options { workers: 2, ..Options::default() });
    let size = 6 << 20;
    let mut model = vec![0; size];
    let mut random = Random::with_seed(seed);
    let mut clients = [served.client("drive"), served.client("")];
    assert!(clients.iter().all(|client| client.size_bytes == size as u64));
    let mut overtaken = 0;
    for round in 0..30 {
        let (sent, scripts) = script(&mut model, &mut random);
        std::thread::scope(|scope| {
            // A server takes no more from a client that does not read, so all go on at once.
            for (client, script) in clients.iter().zip(&scripts) {
                let mut stream = client.stream.try_clone().expect("a socket");
                scope.spawn(move || stream.write_all(script).expect("the server reads"));
            }
            for (client, sent) in clients.iter_mut().zip(sent) {
                let order: Vec<u64> = sent.iter().map(|(cookie, _)| *cookie).collect();
                let mut waiting: HashMap<u64, _> = sent.into_iter().collect();
                let mut answered = Vec::new();
                while !waiting.is_empty() {
                    let (cookie, error) = client.reply().expect("a reply");
                    assert_eq!(error, 0, "seed {seed}, round {round}");
                    answered.push(cookie);
                    if let Some(range) = waiting.remove(&cookie).expect("asked once, answered once")
                    {
                        let mut data = vec![0; range.len()];
                        client.stream.read_exact(&mut data).expect("the data");
                        assert!(
                            data == model[range.clone()],
                            "seed {seed}, round {round}, {range:?}"
                        );
                    }
                }
                overtaken += usize::from(answered != order);
            }
        });
    }
    assert!(overtaken > 0, "replies came in the order of their requests throughout");
    assert!(clients[0].reads(0, size as u32) == Ok(model));
}

#[test]
fn a_device_that_fails_is_an_error_of_that_request_alone() {
    let memory = Arc::new(Memory::new(1 << 20));
    let served = serve(Arc::clone(&memory) as _, &Options::default());
    let mut client = served.client("");
    assert_eq!(client.writes(0, &noise(1, 4096), 0), 0);
    memory.fail_next(Fault::Read);
    assert_eq!(client.reads(0, 4096), Err(EIO));
    memory.fail_next(Fault::Write);
    assert_eq!(client.writes(8192, &noise(2, 4096), 0), EIO);
    assert_eq!(client.reads(0, 4096), Ok(noise(1, 4096)));
    // A failed flush stays failed: nobody may believe that a later one has made up for it.
    memory.fail_next(Fault::Flush);
    assert_eq!(client.does(FLUSH, 0, 0, 0, &[]), EIO);
    assert_eq!(served.client("").does(FLUSH, 0, 0, 0, &[]), EIO);
    assert_eq!(served.server.status().exports[0].errors, 4);
}

#[test]
fn a_drive_without_trim_refuses_it() {
    let served = serve(Arc::new(cached(1 << 20)), &Options::default());
    assert_eq!(served.client("").does(TRIM, 0, 0, 4096, &[]), 22);
}

#[test]
fn what_was_asked_before_the_goodbye_is_answered() {
    let served = serve(
        Arc::new(Memory::new(1 << 20).delayed(3, Duration::from_millis(2))),
        &Options::default(),
    );
    let mut client = served.client("");
    for number in 0..50 {
        client.send(READ, 0, 4096 * number, 4096, &[]);
    }
    client.send(DISCONNECT, 0, 0, 0, &[]);
    let mut rest = Vec::new();
    client.stream.read_to_end(&mut rest).expect("an end");
    assert_eq!(rest.len(), 50 * (16 + 4096));
}

#[test]
fn a_server_that_stops_answers_what_is_under_way() {
    let served = serve(
        Arc::new(Memory::new(1 << 20).delayed(3, Duration::from_millis(20))),
        &Options::default(),
    );
    let mut client = served.client("");
    let cookie = client.send(READ, 0, 0, 4096, &[]);
    // Its neighbour's answer says that the server has it, for both were sent one after the other
    // and taken together.
    while served.server.status().exports[0].reads == 0 {
        std::thread::yield_now();
    }
    served.server.stop();
    assert_eq!(client.reply().expect("a reply"), (cookie, 0));
    let mut data = Vec::new();
    client.stream.read_to_end(&mut data).expect("an end");
    assert_eq!(data.len(), 4096);
    assert!(!served.socket.exists());
}

#[test]
fn a_device_that_never_answers_does_not_keep_the_server_from_stopping() {
    let options = Options {
        limits: Limits { stop_time: Duration::from_millis(50), ..Limits::default() },
        ..Options::default()
    };
    let served =
        serve(Arc::new(Memory::new(1 << 20).delayed(3, Duration::from_secs(1 << 30))), &options);
    let mut client = served.client("");
    client.send(READ, 0, 0, 4096, &[]);
    while served.server.status().exports[0].reads == 0 {
        std::thread::yield_now();
    }
    served.server.stop();
    assert!(client.is_cut_off());
}

#[test]
fn a_file_and_nbd_of_one_device_write_parts_of_the_same_blocks() {
    if !Path::new("/dev/fuse").exists() {
        testkit::missing!("no /dev/fuse: modprobe fuse");
        return;
    }
    const PART: u64 = 128;
    const ROUNDS: u8 = 25;
    let info = Info { block_bytes: 512, ..Info::plain(64 << 10) };
    let device: Arc<dyn Device> =
        Arc::new(Memory::with(info).delayed(5, Duration::from_micros(300)));
    let mut drive = export("drive", Arc::clone(&device), RemovalPolicy::Performance);
    let gate = Arc::new(Gate::default());
    drive.gate = Arc::clone(&gate);
    let served = serve_all(vec![drive], &Options { workers: 1, ..Options::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk");
    File::create(&path).expect("a place to mount on");
    let options = FuseOptions { workers: 1, gate, ..FuseOptions::default() };
    let mut file = FuseFile::mount(Arc::clone(&device), &path, &options).expect("a mount");
    // Four writers have a quarter each of every block: two through the file, two over NBD.
    std::thread::scope(|scope| {
        for part in 0..4 {
            let places = (0..128_u64).step_by(16).map(move |block| block * 512 + part * PART);
            if part % 2 == 0 {
                let file = OpenOptions::new().read(true).write(true).open(&path);
                let file = file.expect("the file");
                scope.spawn(move || {
                    for round in 1..=ROUNDS {
                        for place in places.clone() {
                            let mut found = [round; PART as usize];
                            file.write_all_at(&found, place).expect("written");
                            file.read_exact_at(&mut found, place).expect("read");
                            assert_eq!(found, [round; PART as usize], "part {part} at {place}");
                        }
                    }
                });
            } else {
                let mut client = served.client("drive");
                scope.spawn(move || {
                    for round in 1..=ROUNDS {
                        for place in places.clone() {
                            let own = [round; PART as usize];
                            assert_eq!(client.writes(place, &own, 0), 0);
                            assert!(client.reads(place, PART as u32).as_deref() == Ok(&own[..]));
                        }
                    }
                });
            }
        }
    });
    let mut client = served.client("drive");
    for block in (0..128_u64).step_by(16) {
        assert!(client.reads(block * 512, 512) == Ok(vec![ROUNDS; 512]), "block {block}");
    }
    file.unmount().expect("nobody uses it");
}

/// How many bytes each of the writers has, which share their blocks.
const OWN: usize = 96;

/// Writes its own bytes and reads them back, time and again; what it wrote last.
fn write_own_bytes(mut client: Client, writer: usize) -> Vec<u8> {
    let (start, mut last) = ((4096 - OWN / 2 + writer * OWN) as u64, Vec::new());
    for turn in 0..40 {
        last = noise((writer * 1000 + turn) as u64, OWN);
        if turn % 5 == 4 {
            assert_eq!(
                client.does(
                    ZEROES,
                    if turn % 2 == 0 { NO_HOLE } else { 0 },
                    start + 7,
                    OWN as u32 - 9,
                    &[]
                ),
                0
            );
        }
        assert_eq!(client.writes(start, &last, 0), 0);
        assert!(
            client.reads(start, OWN as u32).as_ref() == Ok(&last),
            "writer {writer}, turn {turn}"
        );
    }
    last
}

#[test]
fn requests_that_are_not_whole_blocks_are_served_and_nobodys_write_is_lost() {
    const WRITERS: usize = 8;
    let info = Info {
        block_bytes: 4096,
        optimal_bytes: 4096,
        max_request_bytes: 16 << 10,
        ..Info::plain(1 << 20)
    };
    let memory = Memory::with(info).delayed(3, Duration::from_micros(200));
    let served =
        serve(ContractCheck::over(Arc::new(memory)), &Options { workers: 2, ..Options::default() });
    // Each has its own bytes of the same few blocks, and one writes whole blocks beside them.
    let ends: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let client = served.client("");
                scope.spawn(move || write_own_bytes(client, writer))
            })
            .collect();
        let mut client = served.client("");
        for turn in 0..40 {
            let data = noise(turn, 8192);
            assert_eq!(client.writes(16384, &data, 0), 0);
            assert_eq!(client.writes(16384 + 5000, b"in between", 0), 0);
            let found = client.reads(16384 + 1, 8000).expect("read");
            assert!(
                found[..4999] == data[1..5000]
                    && &found[4999..5009] == b"in between"
                    && found[5009..] == data[5010..8001]
            );
        }
        writers.into_iter().map(|writer| writer.join().expect("it ends")).collect()
    });
    let mut client = served.client("");
    let expected = ends.concat();
    assert!(client.reads(4096 - OWN as u64 / 2, expected.len() as u32) == Ok(expected));
    // Long ones, of which each part is longer than a request may be.
    let long = noise(9, 100_001);
    assert_eq!(client.writes(200_003, &long, FUA), 0);
    assert!(client.reads(200_003, long.len() as u32).as_ref() == Ok(&long));
    assert_eq!(client.does(ZEROES, 0, 200_004, 99_999, &[]), 0);
    let found = client.reads(200_000, 100_010).expect("read");
    assert!(
        found[3] == long[0]
            && found[4..100_003].iter().all(|byte| *byte == 0)
            && found[100_003] == long[100_000]
    );
    // The last byte there is, and one more.
    assert_eq!(
        (client.writes((1 << 20) - 1, b"x", 0), client.writes((1 << 20) - 1, b"xy", 0)),
        (0, 28)
    );
}
