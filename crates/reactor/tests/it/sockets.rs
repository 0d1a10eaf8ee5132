//! Sockets on the ring: what is sent arrives in order, whole, and a peer that goes is told as such.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use reactor::{Buf, BufMut, Outcome, Random, Reactor, RingFile, Source, WakeReason};

/// Long enough for any kernel; a test that gets there fails.
const PATIENCE: Duration = Duration::from_secs(20);

fn pair(reactor: &Reactor) -> (RingFile, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (reactor.register(Arc::new(OwnedFd::from(ours))).unwrap(), theirs)
}

fn take(source: &Source) -> Outcome {
    let reactor = source.reactor();
    let deadline = reactor.now() + PATIENCE;
    loop {
        if let Some(event) = source.take() {
            return event.outcome;
        }
        assert_ne!(
            reactor.wait(Some(deadline)).unwrap(),
            WakeReason::Deadline,
            "no event in {PATIENCE:?}"
        );
    }
}

fn received(source: &Source) -> (BufMut, std::io::Result<u32>) {
    match take(source) {
        Outcome::Read { buffer, result } => (buffer, result),
        other => panic!("a receive was started, not {other:?}"),
    }
}

fn noise(length: usize) -> BufMut {
    let mut buffer = BufMut::zeroed(length);
    let mut random = Random::with_seed(length as u64);
    buffer.slices_mut().for_each(|slice| random.fill(slice));
    buffer
}

/// The same bytes as many pieces that do not lie side by side.
fn scattered(mut whole: BufMut, piece: usize) -> Buf {
    let mut pieces = Vec::new();
    while whole.len() > piece {
        pieces.push(whole.split_to(piece));
    }
    pieces.push(whole);
    let mut rope = BufMut::zeroed(0);
    for piece in pieces {
        let mut apart = BufMut::zeroed(piece.len());
        apart.copy_from_slice(piece.as_slice().unwrap());
        rope.append(apart);
    }
    rope.freeze()
}

#[test]
fn a_rope_of_any_shape_is_sent_whole() {
    let reactor = Reactor::wall().unwrap();
    // More than a socket holds, and (last) more pieces than the kernel takes in one operation.
    for (length, piece) in
        [(1, 1), (100, 100), (100, 7), (3 << 20, 3 << 20), (3 << 20, 5000), (2000, 1)]
    {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let socket = reactor.register(Arc::new(OwnedFd::from(ours.try_clone().unwrap()))).unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let source = reactor.source();
        let mut left = scattered(noise(length), piece);
        while !left.is_empty() {
            source.send(&socket, left, 1);
            let Outcome::Written { buffer, result } = take(&source) else {
                panic!("a send was started")
            };
            left = buffer;
            let _ = left.split_to(result.unwrap() as usize);
        }
        ours.shutdown(Shutdown::Write).unwrap();
        assert_eq!(
            reader.join().unwrap(),
            noise(length).as_slice().unwrap(),
            "{length} bytes in pieces of {piece}"
        );
    }
}

#[test]
fn a_receive_takes_what_is_there_or_waits_for_all() {
    let reactor = Reactor::wall().unwrap();
    let (socket, mut theirs) = pair(&reactor);
    let source = reactor.source();
    theirs.write_all(b"half").unwrap();
    source.receive(&socket, BufMut::zeroed(64), false, 1);
    let (buffer, result) = received(&source);
    assert_eq!((result.unwrap(), &buffer.as_slice().unwrap()[..4]), (4, &b"half"[..]));

    source.receive(&socket, BufMut::zeroed(1 << 20), true, 2);
    let writer = std::thread::spawn(move || {
        for chunk in noise(1 << 20).as_slice().unwrap().chunks(10_000) {
            theirs.write_all(chunk).unwrap();
        }
        theirs
    });
    let (buffer, result) = received(&source);
    assert_eq!(result.unwrap(), 1 << 20);
    assert!(buffer.as_slice() == noise(1 << 20).as_slice());

    // The end of the stream ends even the one that waits for all.
    source.receive(&socket, buffer, true, 3);
    writer.join().unwrap().shutdown(Shutdown::Write).unwrap();
    assert_eq!(received(&source).1.unwrap(), 0);
}

#[test]
fn a_receive_into_pieces_fills_them_in_order() {
    let reactor = Reactor::wall().unwrap();
    let (socket, mut theirs) = pair(&reactor);
    theirs.write_all(b"abcdefgh").unwrap();
    let mut pieces = BufMut::zeroed(3);
    pieces.append(BufMut::zeroed(5));
    let source = reactor.source();
    source.receive(&socket, pieces, true, 1);
    let (buffer, result) = received(&source);
    let found: Vec<&[u8]> = buffer.slices().collect();
    assert_eq!((result.unwrap(), found), (8, vec![&b"abc"[..], b"defgh"]));
}

#[test]
fn a_peer_that_is_gone_is_an_error_and_no_signal() {
    let reactor = Reactor::wall().unwrap();
    let (socket, theirs) = pair(&reactor);
    drop(theirs);
    let source = reactor.source();
    source.send(&socket, noise(10).freeze(), 1);
    let Outcome::Written { result, .. } = take(&source) else { panic!("a send was started") };
    assert_eq!(result.expect_err("nobody is there").kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn a_reactor_may_go_while_a_receive_is_under_way() {
    let reactor = Reactor::wall().unwrap();
    let (socket, theirs) = pair(&reactor);
    let source = reactor.source();
    source.receive(&socket, BufMut::zeroed(4096), true, 1);
    reactor.turn().unwrap();
    drop((source, socket));
    drop(reactor);
    drop(theirs);
}
