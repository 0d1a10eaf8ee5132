//! What an NBD server may say to a client of ours: any bytes in the handshake, or behind one that
//! is right, and then the end of the connection.
//!
//! Whatever it is, the export is refused, or what is asked of it ends with what it asked for or an
//! error.
#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use block::{Blocking, Device, Error, Extents, Info, Node, Reactor};
use device::{NbdAddress, NbdDevice, NbdOptions};
use libfuzzer_sys::fuzz_target;
use nbd_wire::{GREETING_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, info, option, reply};

/// What the server says on each connection of this run.
static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// A server that listens as long as this process lives.
static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("raidloom-fuzz-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    path
});
/// Of the export that a right handshake tells of, in bytes.
const SIZE_BYTES: u64 = 1 << 20;
/// No error tells more, in bytes: a server's text is cut off before.
const ERROR_MAX_BYTES: usize = 64 << 10;

fn serve(mut stream: UnixStream) {
    let said = SAID.lock().expect("no thread panicked").clone();
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let _ = stream.write_all(&said).and_then(|()| stream.shutdown(Shutdown::Write));
    let _ = stream.read_to_end(&mut Vec::new());
}

fn greeting() -> Vec<u8> {
    // Fixed newstyle, no zeroes.
    [&GREETING_MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &3_u16.to_be_bytes()].concat()
}

fn handshake() -> Vec<u8> {
    let answer = |to: u32, kind: u32, data: &[u8]| {
        let length = (data.len() as u32).to_be_bytes();
        let head = [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &to.to_be_bytes(), &kind.to_be_bytes()];
        [&head.concat()[..], &length, data].concat()
    };
    let context = [&1_u32.to_be_bytes()[..], b"base:allocation"].concat();
    // It has flags, flushes, FUA, discards, zeroes, and connections that see each other.
    let flags = 0b1_0110_1101_u16;
    let export = [&info::EXPORT.to_be_bytes()[..], &SIZE_BYTES.to_be_bytes(), &flags.to_be_bytes()];
    [
        greeting(),
        answer(option::STRUCTURED_REPLY, reply::ACK, &[]),
        answer(option::SET_META_CONTEXT, reply::META_CONTEXT, &context),
        answer(option::SET_META_CONTEXT, reply::ACK, &[]),
        answer(option::GO, reply::INFO, &export.concat()),
        answer(option::GO, reply::ACK, &[]),
    ]
    .concat()
}

fn short(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() <= ERROR_MAX_BYTES, "{} bytes", text.len());
}

fn sensible(told: &Info) {
    let Info { size_bytes, block_bytes, optimal_bytes, max_request_bytes, .. } = *told;
    assert!(block_bytes.is_power_of_two() && size_bytes > 0, "{told:?}");
    assert!(size_bytes.is_multiple_of(block_bytes.into()), "{told:?}");
    assert!(optimal_bytes >= block_bytes && max_request_bytes >= block_bytes, "{told:?}");
}

/// What a server says of a range is of that range, in whole blocks.
fn ask_extents(device: &NbdDevice) {
    let Info { size_bytes, block_bytes, .. } = *device.info();
    let mut found = Extents::new();
    device.extents(0, size_bytes, &mut found);
    assert!((1..=size_bytes).contains(&found.length()), "{} of {size_bytes}", found.length());
    let is_whole = |length: u64| length > 0 && length.is_multiple_of(block_bytes.into());
    assert!(found.runs().iter().all(|run| is_whole(run.length)), "{:?}", found.runs());
}

fuzz_target!(|data: &[u8]| {
    let (kind, rest) = data.split_first().unwrap_or((&0, &[]));
    let said = match kind % 4 {
        0 => rest.to_vec(),
        1 => [&greeting(), rest].concat(),
        _ => [&handshake(), rest].concat(),
    };
    *SAID.lock().expect("no thread panicked") = said;
    let address = NbdAddress::unix("///x", SOCKET.clone()).expect("an address");
    let options =
        NbdOptions { read_only: kind & 4 != 0, reconnect: Duration::ZERO, connections: 1 };
    let device = match NbdDevice::connect(address, None, options, Node::leaf("nbd+unix", "///x")) {
        Ok(device) => device,
        Err(error) => return short(&error),
    };
    sensible(device.info());
    if kind & 8 != 0 {
        // Its connection stays as long as the device: the server has one at a time.
        return ask_extents(&device);
    }
    let reactor = Reactor::wall().expect("io_uring");
    let mut channel = match Blocking::open(&device, &reactor) {
        Ok(channel) => channel,
        Err(error) => return short(&error),
    };
    let Info { size_bytes, block_bytes, .. } = *device.info();
    let wanted: u32 = if kind & 16 == 0 { 4096 } else { 64 << 10 };
    let length = u64::from(wanted.max(block_bytes)).min(size_bytes);
    let mut bytes = vec![0; length as usize];
    if let Err(error) = channel.read_slice(0, &mut bytes) {
        short(&error);
    }
    if kind & 32 != 0
        && let Err(error) = channel.flush()
    {
        short(&error);
    }
});
