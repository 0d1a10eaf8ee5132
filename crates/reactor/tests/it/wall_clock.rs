//! The wall clock: kernel I/O through the ring, its limits, and what happens when an owner leaves
//! early.

#![expect(clippy::disallowed_methods, reason = "holds its clock against the machine's")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reactor::{Buf, BufMut, Clock, Event, Outcome, Random, Reactor, RingFile, Source, WakeReason};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

/// Long enough for any kernel; a test that gets there fails.
const PATIENCE: Duration = Duration::from_secs(20);

fn temporary(reactor: &Reactor) -> (RingFile, File) {
    let file = tempfile::tempfile().unwrap();
    (reactor.register(Arc::new(file.try_clone().unwrap().into())).unwrap(), file)
}

fn take(source: &Source) -> Event {
    let reactor = source.reactor();
    let deadline = reactor.now() + PATIENCE;
    loop {
        if let Some(event) = source.take() {
            return event;
        }
        assert_ne!(
            reactor.wait(Some(deadline)).unwrap(),
            WakeReason::Deadline,
            "no event in {PATIENCE:?}"
        );
    }
}

fn take_read(source: &Source) -> (BufMut, std::io::Result<u32>) {
    match take(source).outcome {
        Outcome::Read { buffer, result } => (buffer, result),
        other => panic!("a read was started, not {other:?}"),
    }
}

fn take_written(source: &Source) -> std::io::Result<u32> {
    match take(source).outcome {
        Outcome::Written { result, .. } => result,
        other => panic!("a write was started, not {other:?}"),
    }
}

fn numbered(mut buffer: BufMut, seed: u64) -> BufMut {
    let mut random = Random::with_seed(seed);
    buffer.slices_mut().for_each(|slice| random.fill(slice));
    buffer
}

fn bytes(buffer: &Buf) -> Vec<u8> {
    let mut all = vec![0; buffer.len()];
    buffer.copy_to_slice(&mut all);
    all
}

#[test]
fn writes_syncs_allocates_and_reads_back() {
    let reactor = Reactor::wall().unwrap();
    assert_eq!(reactor.clock(), Clock::Wall);
    let (ring_file, file) = temporary(&reactor);
    let source = reactor.source();
    let image = numbered(reactor.allocate(8192), 1).freeze();
    for durable in [false, true] {
        source.write(&ring_file, 4096, image.clone(), durable, 11);
        assert_eq!(take_written(&source).unwrap(), 8192);
    }
    source.sync_data(&ring_file, 12);
    let event = take(&source);
    assert_eq!(event.token, 12);
    assert!(matches!(event.outcome, Outcome::Done { result: Ok(()) }), "{event:?}");
    source.allocate(&ring_file, 1 << 20, 4096, 0, 13);
    assert!(matches!(take(&source).outcome, Outcome::Done { result: Ok(()) }));
    assert_eq!(file.metadata().unwrap().len(), (1 << 20) + 4096);
    source.read(&ring_file, 4096, BufMut::zeroed(8192), 14);
    let (read, result) = take_read(&source);
    assert_eq!((result.unwrap(), bytes(&read.freeze())), (8192, bytes(&image)));
}

#[test]
fn turn_hands_over_what_was_started() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, file) = temporary(&reactor);
    let source = reactor.source();
    source.write(&ring_file, 0, BufMut::zeroed(512).freeze(), false, 1);
    assert!(source.take().is_none(), "an event never comes from the start itself");
    reactor.turn().unwrap();
    assert_eq!(take_written(&source).unwrap(), 512);
    assert_eq!(file.metadata().unwrap().len(), 512);
}

#[test]
fn turn_alone_brings_out_what_ends_later() {
    let reactor = Reactor::wall().unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let pipe = reactor.register(Arc::new(OwnedFd::from(reader))).unwrap();
    let source = reactor.source();
    source.read(&pipe, 0, BufMut::zeroed(4), 1);
    reactor.turn().unwrap();
    assert!(source.take().is_none());
    writer.write_all(b"late").unwrap();
    let give_up = reactor.now() + PATIENCE;
    let event = loop {
        reactor.turn().unwrap();
        if let Some(event) = source.take() {
            break event;
        }
        assert!(reactor.now() < give_up, "turn never brought the completion out");
    };
    let Outcome::Read { buffer, result: Ok(4) } = event.outcome else { panic!("{event:?}") };
    assert_eq!(bytes(&buffer.freeze()), b"late");
}

#[test]
fn a_wait_whose_deadline_has_passed_still_takes_what_is_there() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, _file) = temporary(&reactor);
    let source = reactor.source();
    source.write(&ring_file, 0, BufMut::zeroed(512).freeze(), false, 1);
    let give_up = reactor.now() + PATIENCE;
    while reactor.wait(Some(reactor.now())).unwrap() != WakeReason::Events {
        assert!(
            reactor.now() < give_up,
            "polling with a passed deadline never finds the completion"
        );
    }
    assert_eq!(take_written(&source).unwrap(), 512);
}

/// A buffer of pieces that lie apart and in another order than in memory.
fn rope(piece: usize, count: usize) -> BufMut {
    let mut host = BufMut::zeroed(2 * piece * count);
    let mut rope = BufMut::zeroed(0);
    for _ in 0..count {
        rope.append(host.split_to(piece));
        let _gap = host.split_to(piece);
    }
    let mut turned = rope.split_to(piece * (count / 2));
    std::mem::swap(&mut rope, &mut turned);
    rope.append(turned);
    assert_eq!(rope.slices().count(), count);
    rope
}

#[test]
fn ropes_go_out_and_come_in_as_one_operation() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, _file) = temporary(&reactor);
    let source = reactor.source();
    let image = numbered(rope(512, 9), 2).freeze();
    let expected = bytes(&image);
    source.write(&ring_file, 1024, image, true, 1);
    assert_eq!(take_written(&source).unwrap(), 9 * 512);
    source.read(&ring_file, 1024, rope(512, 9), 2);
    let (read, result) = take_read(&source);
    assert_eq!(read.slices().count(), 9);
    assert_eq!((result.unwrap(), bytes(&read.freeze())), (9 * 512, expected));
}

#[test]
fn of_more_pieces_than_the_kernel_takes_the_first_are_done() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, file) = temporary(&reactor);
    let source = reactor.source();
    source.write(&ring_file, 0, numbered(rope(16, 1500), 3).freeze(), false, 1);
    assert_eq!(take_written(&source).unwrap(), 1024 * 16);
    assert_eq!(file.metadata().unwrap().len(), 1024 * 16);
}

#[test]
fn buffers_past_the_table_of_registered_ones_work_the_same() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, _file) = temporary(&reactor);
    let source = reactor.source();
    let buffers: Vec<BufMut> = (0..1100).map(|_| reactor.allocate(512)).collect();
    for (index, buffer) in buffers.into_iter().enumerate() {
        source.write(
            &ring_file,
            512 * index as u64,
            numbered(buffer, index as u64).freeze(),
            false,
            1,
        );
    }
    for _ in 0..1100 {
        assert_eq!(take_written(&source).unwrap(), 512);
    }
    // All places are free again, and each must now mean its new buffer and nothing of the old one.
    let buffers: Vec<BufMut> = (0..1100).map(|_| reactor.allocate(512)).collect();
    for (index, buffer) in buffers.into_iter().enumerate() {
        source.read(&ring_file, 512 * index as u64, buffer, index as u64);
    }
    for _ in 0..1100 {
        let Event { token, outcome: Outcome::Read { buffer, result: Ok(512) } } = take(&source)
        else {
            panic!("a read of 512 bytes")
        };
        assert_eq!(
            bytes(&buffer.freeze()),
            bytes(&numbered(BufMut::zeroed(512), token).freeze()),
            "buffer {token}"
        );
    }
}

#[test]
fn a_buffer_registered_with_one_reactor_serves_another_on_another_thread() {
    let ours = Reactor::wall().unwrap();
    // Takes the first place of our table, so that the number alone would mean another buffer.
    let decoy = ours.allocate(4096);
    let image =
        std::thread::spawn(|| numbered(Reactor::wall().unwrap().allocate(4096), 5).freeze())
            .join()
            .unwrap();
    let (ring_file, mut file) = temporary(&ours);
    let source = ours.source();
    source.write(&ring_file, 0, image.clone(), false, 1);
    assert_eq!(take_written(&source).unwrap(), 4096);
    let mut found = Vec::new();
    std::io::Seek::rewind(&mut file).unwrap();
    file.read_to_end(&mut found).unwrap();
    assert_eq!(found, bytes(&image));
    drop(decoy);
}

#[test]
fn more_files_than_the_table_holds() {
    let reactor = Reactor::wall().unwrap();
    let files: Vec<(RingFile, File)> = (0..300).map(|_| temporary(&reactor)).collect();
    let source = reactor.source();
    for (index, (ring_file, _)) in files.iter().enumerate() {
        source.write(ring_file, 0, BufMut::zeroed(index + 1).freeze(), false, 1);
    }
    for _ in &files {
        take_written(&source).unwrap();
    }
    for (index, (_, file)) in files.iter().enumerate() {
        assert_eq!(file.metadata().unwrap().len(), index as u64 + 1, "file {index}");
    }
}

#[test]
fn a_place_in_the_table_is_not_given_away_while_an_operation_needs_it() {
    let reactor = Reactor::wall().unwrap();
    let source = reactor.source();
    let (ring_file, first) = temporary(&reactor);
    source.write(&ring_file, 0, BufMut::zeroed(512).freeze(), false, 1);
    drop(ring_file);
    let (other, second) = temporary(&reactor);
    source.write(&other, 0, BufMut::zeroed(1024).freeze(), false, 2);
    drop(other);
    take_written(&source).unwrap();
    take_written(&source).unwrap();
    assert_eq!((first.metadata().unwrap().len(), second.metadata().unwrap().len()), (512, 1024));
}

#[test]
fn a_file_nobody_uses_any_more_is_closed() {
    let reactor = Reactor::wall().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let ring_file = reactor.register(Arc::new(OwnedFd::from(writer))).unwrap();
    let source = reactor.source();
    source.write(&ring_file, 0, numbered(BufMut::zeroed(3), 1).freeze(), false, 1);
    drop(ring_file);
    take_written(&source).unwrap();
    reactor.wait(Some(reactor.now() + Duration::from_millis(1))).unwrap();
    // The kernel closes it in its own time; a pipe whose other end stays open would never end.
    let mut found = Vec::new();
    reader.read_to_end(&mut found).unwrap();
    assert_eq!(found.len(), 3);
}

#[test]
#[should_panic(expected = "on the reactor it was registered on")]
fn a_file_of_another_reactor_is_our_own_mistake() {
    let (ours, other) = (Reactor::wall().unwrap(), Reactor::wall().unwrap());
    let (ring_file, _file) = temporary(&other);
    ours.source().sync_data(&ring_file, 1);
}

#[test]
fn more_submissions_and_completions_than_the_queues_hold() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, _file) = temporary(&reactor);
    let source = reactor.source();
    source.write(&ring_file, 0, numbered(BufMut::zeroed(512), 6).freeze(), false, 0);
    take_written(&source).unwrap();
    // 256 submissions and 4096 completions fit; nothing waits or takes anything meanwhile.
    const COUNT: u64 = 9000;
    for token in 0..COUNT {
        source.read(&ring_file, 0, BufMut::zeroed(8), token);
    }
    let expected = bytes(&numbered(BufMut::zeroed(512), 6).freeze())[..8].to_vec();
    let mut seen = vec![false; COUNT as usize];
    for _ in 0..COUNT {
        let Event { token, outcome: Outcome::Read { buffer, result } } = take(&source) else {
            panic!("only reads were started")
        };
        assert_eq!((result.unwrap(), bytes(&buffer.freeze())), (8, expected.clone()));
        assert!(!std::mem::replace(&mut seen[token as usize], true), "token {token} came twice");
    }
    assert!(source.take().is_none());
}

#[test]
fn timers_and_deadlines_on_the_wall() {
    let reactor = Reactor::wall().unwrap();
    let source = reactor.source();
    let start = reactor.now();
    source.at(start + Duration::from_millis(4), 2);
    source.at(start + Duration::from_millis(2), 1);
    let woken = reactor.wait(Some(start + Duration::from_millis(1))).unwrap();
    assert!(reactor.now() >= start + Duration::from_millis(1));
    // A busy machine may oversleep, up to the first timer and beyond.
    assert!(
        woken == WakeReason::Deadline || reactor.now() >= start + Duration::from_millis(2),
        "{woken:?}"
    );
    for token in [1, 2] {
        let event = take(&source);
        assert!(matches!(event.outcome, Outcome::Timer));
        assert_eq!(event.token, token);
        assert!(reactor.now() >= start + Duration::from_millis(2 * token));
    }
    assert_eq!(reactor.wait(Some(reactor.now())).unwrap(), WakeReason::Deadline);
}

#[test]
fn errors_come_as_events_with_the_buffer() {
    let reactor = Reactor::wall().unwrap();
    let source = reactor.source();
    let read_only = File::open("/dev/null").unwrap();
    let write_only = File::options().write(true).open("/dev/null").unwrap();
    let folder = File::open("/").unwrap();
    let [read_only, write_only, folder] = [read_only, write_only, folder]
        .map(|file| reactor.register(Arc::new(file.into())).unwrap());
    source.write(&read_only, 0, numbered(BufMut::zeroed(16), 7).freeze(), false, 1);
    let event = take(&source);
    let Outcome::Written { buffer, result: Err(error) } = event.outcome else {
        panic!("{event:?}")
    };
    assert_eq!(
        (error.raw_os_error(), buffer.len()),
        (Some(Errno::BADF.raw_os_error()), 16),
        "EBADF"
    );
    source.read(&write_only, 0, rope(16, 4), 2);
    let (buffer, result) = take_read(&source);
    assert_eq!(
        (result.unwrap_err().raw_os_error(), buffer.len()),
        (Some(Errno::BADF.raw_os_error()), 64),
        "EBADF"
    );
    source.read(&folder, 0, BufMut::zeroed(16), 3);
    assert_eq!(take_read(&source).1.unwrap_err().kind(), std::io::ErrorKind::IsADirectory);
    // Past the end of a file a read is short; an offset that no file has is an error.
    let (ring_file, _file) = temporary(&reactor);
    source.read(&ring_file, 4096, BufMut::zeroed(16), 4);
    assert_eq!(take_read(&source).1.unwrap(), 0);
    source.read(&ring_file, i64::MAX as u64 + 512, BufMut::zeroed(16), 5);
    assert_eq!(
        take_read(&source).1.unwrap_err().raw_os_error(),
        Some(Errno::INVAL.raw_os_error()),
        "EINVAL"
    );
    source.allocate(&ring_file, 0, 0, 0, 6);
    assert!(matches!(take(&source).outcome, Outcome::Done { result: Err(_) }));
}

#[test]
fn a_dropped_source_takes_its_operations_out_of_sight_but_not_its_writes_back() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, file) = temporary(&reactor);
    let source = reactor.source();
    source.write(&ring_file, 0, BufMut::zeroed(2048).freeze(), false, 1);
    reactor.turn().unwrap();
    source.write(&ring_file, 2048, BufMut::zeroed(2048).freeze(), false, 2);
    drop(source);
    let other = reactor.source();
    other.sync_data(&ring_file, 3);
    assert_eq!(take(&other).token, 3);
    let give_up = reactor.now() + PATIENCE;
    while file.metadata().unwrap().len() < 4096 {
        assert!(reactor.now() < give_up, "the queued write is lost");
        reactor.wait(Some(reactor.now() + Duration::from_millis(1))).unwrap();
    }
    assert!(other.take().is_none());
}

#[test]
fn a_reactor_with_reads_that_never_end_can_be_dropped() {
    for submitted in [true, false] {
        let reactor = Reactor::wall().unwrap();
        let source = reactor.source();
        let pipes: Vec<_> = (0..3).map(|_| std::io::pipe().unwrap()).collect();
        let _bell = reactor.ringer().unwrap();
        let mut writers = Vec::new();
        for (reader, writer) in pipes {
            let pipe = reactor.register(Arc::new(OwnedFd::from(reader))).unwrap();
            source.read(&pipe, 0, reactor.allocate(4096), 1);
            writers.push(writer);
        }
        if submitted {
            reactor.turn().unwrap();
            assert_eq!(
                reactor.wait(Some(reactor.now() + Duration::from_millis(1))).unwrap(),
                WakeReason::Deadline
            );
        }
        drop(source);
        drop(reactor);
        // The kernel lets go of the pipes soon after: they are not read any more.
        for writer in writers {
            let mut ends = [PollFd::new(&writer, PollFlags::empty())];
            let patience = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
            assert_eq!(
                rustix::event::poll(&mut ends, Some(&patience)).unwrap(),
                1,
                "submitted: {submitted}"
            );
            assert!(ends[0].revents().contains(PollFlags::ERR));
        }
    }
}

#[test]
fn a_reactor_dropped_in_the_middle_of_many_writes() {
    let reactor = Reactor::wall().unwrap();
    let (ring_file, file) = temporary(&reactor);
    let source = reactor.source();
    for index in 0..600 {
        source.write(
            &ring_file,
            index * 4096,
            numbered(reactor.allocate(4096), index).freeze(),
            false,
            index,
        );
    }
    drop((source, ring_file, reactor));
    // What did get there is whole: the buffers lived until the kernel was done with them.
    let mut found = Vec::new();
    let mut file = file;
    std::io::Seek::rewind(&mut file).unwrap();
    file.read_to_end(&mut found).unwrap();
    for (index, block) in found.chunks(4096).enumerate() {
        let written = bytes(&numbered(BufMut::zeroed(4096), index as u64).freeze());
        assert!(block == written || block.iter().all(|&byte| byte == 0), "block {index}");
    }
}

#[test]
fn another_thread_rings() {
    let reactor = Reactor::wall().unwrap();
    let ringer = reactor.ringer().unwrap();
    for _ in 0..50 {
        let clone = ringer.clone();
        let thread = std::thread::spawn(move || clone.ring());
        assert_eq!(reactor.wait(Some(reactor.now() + PATIENCE)).unwrap(), WakeReason::Rung);
        thread.join().unwrap();
    }
    // Rings before a wait are one, and none is left afterwards.
    (0..5).for_each(|_| ringer.ring());
    assert_eq!(reactor.wait(Some(reactor.now() + PATIENCE)).unwrap(), WakeReason::Rung);
    assert_eq!(
        reactor.wait(Some(reactor.now() + Duration::from_millis(1))).unwrap(),
        WakeReason::Deadline
    );
    // A second bell of the same reactor is the same bell; one may outlive the reactor.
    reactor.ringer().unwrap().ring();
    assert_eq!(reactor.wait(Some(reactor.now() + PATIENCE)).unwrap(), WakeReason::Rung);
    drop(reactor);
    ringer.ring();
}

/// The other half of [`a_signal_interrupts_wait`]; it runs in a process of its own.
#[test]
#[ignore = "started by a_signal_interrupts_wait"]
fn child_waits_for_a_signal() {
    let caught = Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&caught)).unwrap();
    let reactor = Reactor::wall().unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = reactor.register(Arc::new(OwnedFd::from(reader))).unwrap();
    let source = reactor.source();
    source.read(&pipe, 0, BufMut::zeroed(16), 1);
    println!("thread {}", rustix::thread::gettid().as_raw_pid());
    // The first wait also submits, the second only sleeps: both end with a signal.
    for _ in 0..2 {
        assert_eq!(reactor.wait(Some(reactor.now() + PATIENCE)).unwrap(), WakeReason::Rung);
    }
    assert!(caught.load(std::sync::atomic::Ordering::SeqCst));
}

#[test]
fn a_signal_interrupts_wait() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "wall_clock::child_waits_for_a_signal",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The harness runs the test on a thread of its own, and a process's signals go to its first one
    // unless another is named.
    let thread = lines
        .find_map(|line| line.rsplit_once("thread ")?.1.parse().ok())
        .expect("the child says which thread it is");
    let thread = rustix::process::Pid::from_raw(thread).unwrap();
    // A signal may come before the child sleeps, so it is sent until the child is through; not so
    // often that it gets to nothing else.
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // The thread may have ended by now.
        let _ = rustix::process::kill_process(thread, rustix::process::Signal::USR1);
        std::thread::park_timeout(Duration::from_millis(1));
    };
    assert!(status.success(), "{status}");
}

#[test]
fn one_owner_of_several_sleeps_over_the_others_events() {
    let reactor = Reactor::wall().unwrap();
    let (own, other) = (reactor.source(), reactor.source());
    let (file, _) = temporary(&reactor);
    other.read(&file, 0, BufMut::zeroed(512), 1);
    own.at(reactor.now() + Duration::from_millis(30), 2);
    let (deadline, mut waits) = (reactor.now() + PATIENCE, 0);
    let event = loop {
        if let Some(event) = own.take() {
            break event;
        }
        assert_ne!(reactor.wait_for_new(Some(deadline)).unwrap(), WakeReason::Deadline);
        waits += 1;
    };
    // The other's read, the timer, and signals: not as often as a processor can ask in that time.
    assert!(event.token == 2 && waits < 20, "{waits} waits");
    assert_eq!(take(&other).token, 1);
}

/// After stopping an array one may eject its members: nothing is open or locked any more when the
/// reactor is gone.
#[test]
fn a_reactor_that_is_gone_holds_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("member");
    std::fs::write(&path, [7; 4096]).unwrap();
    for round in 0..20 {
        let reactor = Reactor::wall().unwrap();
        let member = std::fs::File::open(&path).unwrap();
        member.try_lock().unwrap_or_else(|error| panic!("round {round}: {error}"));
        let file = reactor.register(Arc::new(member.into())).unwrap();
        let source = reactor.source();
        source.read(&file, 0, BufMut::zeroed(512), 1);
        take(&source);
    }
}

/// "`now` knows it at once": work that was said is there to the nanosecond, in order, whether or
/// not it was slept off, and what was slept is no more than was said.
#[test]
fn what_an_owner_has_spent_is_known_at_once() {
    let reactor = Reactor::wall().unwrap();
    let real = std::time::Instant::now();
    let work = Duration::from_micros(300);
    let start = reactor.now();
    for portion in 1..=20 {
        let before = reactor.now();
        reactor.spend(work);
        assert!(reactor.now() - before >= work, "portion {portion}");
    }
    assert!(reactor.now() - start >= 20 * work);
    // Less than a millisecond of it has not been slept off.
    assert!(real.elapsed() >= 20 * work - Duration::from_millis(1));

    // A deadline is one of the owner's own time.
    let deadline = reactor.now() + work;
    reactor.spend(work);
    assert_eq!(reactor.wait(Some(deadline)).unwrap(), WakeReason::Deadline);

    let modelled = Reactor::virtual_clock();
    modelled.spend(work);
    assert_eq!(modelled.now(), reactor::Time::ZERO, "its owners do no work of their own");
}
