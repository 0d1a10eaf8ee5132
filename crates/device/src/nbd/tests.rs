//! A server that answers nonsense: it ends its device and nothing else.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::thread;

use block::{Blocking, BufMut, Device, ErrorKind, Node, Op, Reactor, Request};
use nbd_wire::{
    CHUNK_MAGIC, GREETING_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, REQUEST_BYTES,
    SIMPLE_REPLY_MAGIC, info, option, reply, server_flags, transmission_flags,
};
use reactor::Random;

use super::*;

const SIZE_BYTES: u64 = 1 << 20;

/// The handshake, as a server that offers everything.
fn shake_hands(stream: &mut UnixStream) -> std::io::Result<()> {
    let flags = server_flags::FIXED_NEWSTYLE | server_flags::NO_ZEROES;
    stream.write_all(
        &[&GREETING_MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &flags.to_be_bytes()]
            .concat(),
    )?;
    stream.read_exact(&mut [0; 4])?;
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let mut cursor = nbd_wire::Cursor(&head[8..]);
        let (option, length) = (cursor.u32().expect("four"), cursor.u32().expect("four"));
        stream.read_exact(&mut vec![0; length as usize])?;
        let mut answer = |kind: u32, data: &[u8]| {
            let parts = [
                &OPTION_REPLY_MAGIC.to_be_bytes()[..],
                &option.to_be_bytes(),
                &kind.to_be_bytes(),
                &(data.len() as u32).to_be_bytes(),
                data,
            ];
            stream.write_all(&parts.concat())
        };
        if option == option::GO {
            let flags = transmission_flags::HAS_FLAGS
                | transmission_flags::SEND_FLUSH
                | transmission_flags::SEND_FUA
                | transmission_flags::SEND_WRITE_ZEROES
                | transmission_flags::CAN_MULTI_CONN;
            let data =
                [&info::EXPORT.to_be_bytes()[..], &SIZE_BYTES.to_be_bytes(), &flags.to_be_bytes()];
            answer(reply::INFO, &data.concat())?;
        }
        answer(reply::ACK, &[])?;
        if option == option::GO {
            return Ok(());
        }
    }
}

/// Bytes that begin like a reply, now and then with fields that fit.
fn nonsense(random: &mut Random, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let pick = |random: &mut Random, right: u64| match random.u64(..4) {
        0 => random.u64(..),
        1 => random.u64(..1 << 13),
        _ => right,
    };
    let cookie = pick(random, cookie).to_be_bytes();
    let kind = [0_u16, 1, 2, 5, 0x8001, 0x8002, 7][random.u64(..7) as usize];
    let payload = match random.u64(..4) {
        0 => [pick(random, offset).to_be_bytes().to_vec(), vec![7; length as usize]].concat(),
        1 => [&pick(random, offset).to_be_bytes()[..], &length.to_be_bytes()].concat(),
        2 => [&5_u32.to_be_bytes()[..], &(random.u64(..9) as u16).to_be_bytes(), b"text"].concat(),
        _ => Vec::new(),
    };
    let told = pick(random, payload.len() as u64) as u32;
    match random.u64(..5) {
        0 => [
            &SIMPLE_REPLY_MAGIC.to_be_bytes()[..],
            &(random.u64(..3) as u32).to_be_bytes(),
            &cookie,
        ]
        .concat(),
        1 => (0..random.u64(..64)).map(|_| random.u64(..256) as u8).collect(),
        _ => [
            &CHUNK_MAGIC.to_be_bytes()[..],
            &(random.u64(..2) as u16).to_be_bytes(),
            &kind.to_be_bytes(),
            &cookie,
            &told.to_be_bytes(),
            &payload,
        ]
        .concat(),
    }
}

/// Serves connections: what `answer` makes of each request, and the end of the connection for
/// `None`.
fn serve(
    listener: &UnixListener,
    connections: usize,
    mut answer: impl FnMut(u64, u64, u32) -> Option<Vec<u8>>,
) {
    for _ in 0..connections {
        let Ok((mut stream, _)) = listener.accept() else { return };
        if shake_hands(&mut stream).is_err() {
            continue;
        }
        // After half an answer neither side has more to say: the connection ends then.
        stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a time limit");
        let mut head = [0; REQUEST_BYTES];
        while stream.read_exact(&mut head).is_ok() {
            let mut cursor = nbd_wire::Cursor(&head[6..]);
            let (command, cookie) = (cursor.u16().expect("two"), cursor.u64().expect("eight"));
            let (offset, length) = (cursor.u64().expect("eight"), cursor.u32().expect("four"));
            if command == nbd_wire::command::WRITE {
                let _ = stream.read_exact(&mut vec![0; length as usize]);
            }
            match answer(cookie, offset, length) {
                Some(bytes) if stream.write_all(&bytes).is_ok() => {}
                _ => break,
            }
        }
    }
}

#[test]
fn nonsense_ends_the_device_and_every_request_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..200 {
        let path = folder.path().join(seed.to_string());
        let listener = UnixListener::bind(&path).expect("a socket");
        let server = thread::spawn(move || {
            let mut random = Random::with_seed(seed);
            let mut left = 40;
            // One connection asks, another works.
            serve(&listener, 2, |cookie, offset, length| {
                left -= 1;
                (left > 0).then(|| nonsense(&mut random, cookie, offset, length))
            });
        });
        let options = NbdOptions { reconnect: Duration::ZERO, ..NbdOptions::default() };
        let address = NbdAddress::unix("///x", path).expect("an address");
        let device = NbdDevice::connect(address, None, options, Node::leaf("nbd+unix", "///x"));
        let device = device.expect("the handshake is right");
        let reactor = Reactor::wall().expect("a reactor");
        let mut channel = device.open(8, &reactor).expect("a channel");
        let (mut done, mut failed, mut ended) = (Vec::new(), 0, 0);
        for tag in 0..200_u64 {
            let op = match tag % 3 {
                0 => Op::Read { offset: tag * 512, into: BufMut::zeroed(4096) },
                1 => {
                    let from = BufMut::zeroed(512).freeze();
                    Op::Write { offset: tag * 512, from, fua: false }
                }
                _ => Op::Flush,
            };
            channel.submit(Request::new(tag, op));
            while channel.in_flight() >= 8 || tag == 199 && channel.in_flight() > 0 {
                channel.poll(&mut done);
                if done.is_empty() {
                    reactor.wait(None).expect("waiting");
                }
                for completion in done.drain(..) {
                    ended += 1;
                    failed += u32::from(completion.result.is_err());
                }
            }
        }
        assert_eq!((ended, channel.in_flight()), (200, 0), "seed {seed}");
        assert!(failed > 0, "seed {seed}");
        let error = device.open(1, &reactor).map(|_| ()).expect_err("gone");
        assert_eq!(error.kind(), ErrorKind::Gone, "seed {seed}: {error}");
        drop((channel, device));
        server.join().expect("the server");
    }
}

/// A device of a server that hangs up at so many requests and then answers, and how many
/// connections there were.
fn hangs_up(folder: &Path, times: usize, reconnect: Duration) -> (NbdDevice, Arc<AtomicUsize>) {
    let path = folder.join(times.to_string());
    let listener = UnixListener::bind(&path).expect("a socket");
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    // It ends with the test's process.
    thread::spawn(move || {
        serve(&listener, usize::MAX, |cookie, offset, length| {
            if counted.fetch_add(1, Ordering::AcqRel) < times {
                return None;
            }
            let parts = [
                &CHUNK_MAGIC.to_be_bytes()[..],
                &1_u16.to_be_bytes(),
                &1_u16.to_be_bytes(),
                &cookie.to_be_bytes(),
                &(length + 8).to_be_bytes(),
                &offset.to_be_bytes(),
                &vec![7; length as usize],
            ];
            Some(parts.concat())
        });
    });
    let address = NbdAddress::unix("///x", path).expect("an address");
    let options = NbdOptions { reconnect, ..NbdOptions::default() };
    let node = Node::leaf("nbd+unix", "///x");
    (NbdDevice::connect(address, None, options, node).expect("a device"), asked)
}

#[test]
fn a_server_that_greets_well_and_hangs_up_at_each_request_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let reactor = Reactor::wall().expect("a reactor");
    let (device, asked) = hangs_up(folder.path(), usize::MAX, Duration::from_millis(100));
    let mut channel = Blocking::open(&device, &reactor).expect("a channel");
    let mut bytes = [0; 512];
    let error = channel.read_slice(0, &mut bytes).expect_err("it never answers");
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.to_string().contains("times in a row"), "{error}");
    // The first, the second at once, and one or two behind pauses.
    let count = asked.load(Ordering::Acquire);
    assert!(count <= 4, "asked {count} times");
    // Planted: one that answers at last.
    let (device, asked) = hangs_up(folder.path(), 2, Duration::from_secs(60));
    let mut channel = Blocking::open(&device, &reactor).expect("a channel");
    channel.read_slice(0, &mut bytes).expect("the third time");
    assert_eq!((bytes, asked.load(Ordering::Acquire)), ([7; 512], 3));
}

#[test]
fn a_failed_flush_is_remembered() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let server = thread::spawn(move || {
        // The first request fails, and every later one succeeds.
        let mut number = 5_u32;
        serve(&listener, 2, |cookie, _, _| {
            let head = [&SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &number.to_be_bytes()].concat();
            number = 0;
            Some([&head[..], &cookie.to_be_bytes()].concat())
        });
    });
    let address = NbdAddress::unix("///x", path).expect("an address");
    let node = Node::leaf("nbd+unix", "///x");
    let device = NbdDevice::connect(address, None, NbdOptions::default(), node).expect("a device");
    let reactor = Reactor::wall().expect("a reactor");
    let mut channel = Blocking::open(&device, &reactor).expect("a channel");
    assert_eq!(channel.flush().expect_err("it fails").kind(), ErrorKind::Media);
    let error = channel.flush().expect_err("C21");
    assert!(error.to_string().contains("an earlier flush failed"), "{error}");
    drop((channel, device));
    server.join().expect("the server");
}

#[test]
fn addresses_are_read_and_written() {
    for (text, shown) in [
        ("//host/a b", "nbd://host:10809/a b"),
        ("//host:1/", "nbd://host:1/"),
        ("//host", "nbd://host:10809/"),
        ("//[::1]:5/x/y", "nbd://[::1]:5/x/y"),
        ("//[fe80::1]/x", "nbd://[fe80::1]:10809/x"),
    ] {
        let address = NbdAddress::tcp(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(address.to_string(), shown);
    }
    for text in ["host/x", "//", "///x", "//host:/x", "//host:70000/x", "//[::1/x", "//[::1]5/x"] {
        let error = NbdAddress::tcp(text).expect_err(text).to_string();
        assert!(error.contains("expected nbd://HOST[:PORT][/EXPORT]"), "{text}: {error}");
    }
}
