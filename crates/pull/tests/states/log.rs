//! The log: what is read back, in what order, and what damage says.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use block::{Blocking, Device, ErrorKind, Op, Reactor};
use pull::{
    Action, AdvertisedTraits, Cut, DriveFault, History, Log, Moment, Policy, Recorder,
    write_log_writes,
};
use testkit::Memory;

fn cached() -> AdvertisedTraits {
    AdvertisedTraits { volatile_cache: true, fua: true }
}

/// Some writes, flushes and marks over two drives, recorded into a file.
fn recorded(folder: &std::path::Path) -> (std::path::PathBuf, Log) {
    let path = folder.join("log");
    let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let recorder = Recorder::in_file(file.expect("a file"), None).expect("it is empty");
    let reactor = Reactor::virtual_clock();
    let drive = |size| {
        let drive = recorder.drive(Arc::new(Memory::new(size)), cached());
        Blocking::open(&*drive, &reactor).expect("a channel")
    };
    let (mut one, mut two) = (drive(1 << 20), drive(1 << 19));
    recorder.mark(b"begin");
    one.write_slice(4096, &[1; 8192]).expect("a write");
    two.write_slice(0, &[2; 512]).expect("a write");
    one.flush().expect("a flush");
    recorder.mark(b"flushed");
    one.run(Op::WriteZeroes { offset: 4096, length: 512, fua: true }).expect("zeroes");
    two.run(Op::Discard { offset: 0, length: 4096 }).expect("a discard");
    (path, recorder.finish().expect("written"))
}

#[test]
fn a_log_is_read_back_as_it_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log) = recorded(folder.path());
    let again = Log::open(&path).expect("a log");
    assert_eq!(log.drives(), again.drives());
    assert_eq!(log.requests(), again.requests());
    assert_eq!(log.events(), again.events());
    let texts: Vec<Vec<u8>> = again.marks().unwrap().into_iter().map(|mark| mark.2).collect();
    assert_eq!(texts, [b"begin".to_vec(), b"flushed".to_vec()]);
    let mut bytes = [0; 512];
    again.content(&again.requests()[0], 8192, &mut bytes).expect("read");
    assert_eq!(bytes, [1; 512]);
    let actions: Vec<Action> = again.requests().iter().map(|request| request.action).collect();
    use Action::{Discard, Flush, Write, WriteZeroes};
    assert_eq!(actions, [Write, Write, Flush, WriteZeroes, Discard]);
    let flush = &again.requests()[2];
    let marked =
        again.events().iter().rposition(|event| matches!(event.moment, Moment::Mark { .. }));
    assert_eq!(marked, flush.completion.map(|event| event as usize + 1), "behind its flush");
}

#[test]
fn a_damaged_log_is_answered_with_one_line_wherever_the_damage_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, _) = recorded(folder.path());
    let whole = fs::read(&path).expect("read");
    assert!(Log::from_bytes(whole.clone()).is_ok());
    for end in 0..whole.len() {
        let error = Log::from_bytes(whole[..end].to_vec()).expect_err("it is cut off").to_string();
        let expected = if end < 32 { "this is no pull log" } else { "is cut off behind" };
        assert!(error.contains(expected) && error.lines().count() == 1, "{end}: {error}");
    }
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        let error = Log::from_bytes(bytes).expect_err("a bit is wrong");
        assert_eq!(error.to_string().lines().count(), 1, "{place}: {error}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(Log::from_bytes(longer).unwrap_err().to_string().contains("more behind the end"));
    let mut newer = whole;
    newer[16] = 9;
    let error = Log::from_bytes(newer).expect_err("another version");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("version 9; this raidloom knows version 1"), "{error}");
    let none = Log::open(&folder.path().join("none")).unwrap_err().to_string();
    assert!(none.contains("none"), "{none}");
}

/// A log whose checksums are right and whose sectors are not.
#[test]
fn sectors_past_the_end_are_refused() {
    let recorder = Recorder::in_memory(None);
    let drive = recorder.drive(Arc::new(Memory::new(1 << 20)), cached());
    let reactor = Reactor::virtual_clock();
    Blocking::open(&*drive, &reactor).unwrap().write_slice(1 << 19, &[1; 512]).expect("a write");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    // The same records, but the drive is smaller.
    let mut bytes = raw(&recorder.finish().expect("written"));
    let size = 32 + 16;
    bytes[size..size + 8].copy_from_slice(&4096_u64.to_le_bytes());
    let sum = crc32c(0, &bytes[32..32 + 36]);
    bytes[32 + 36..32 + 40].copy_from_slice(&sum.to_le_bytes());
    fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
    let error = Log::open(&path).expect_err("sectors past the end").to_string();
    assert!(
        error.contains("record 1: 512 bytes at 524288 reach past the end of drive 0 at 4096"),
        "{error}"
    );
}

fn crc32c(number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), bytes)
}

/// The bytes of a log in memory.
fn raw(log: &Log) -> Vec<u8> {
    log.bytes_in_memory().expect("in memory").to_vec()
}

/// The example of Linux's documentation: W1, W2, W3, C3, C2, Wflush, C1, Cflush stands as W3, W2,
/// flush, W1.
#[test]
fn dm_log_writes_order_is_that_of_its_documentation() {
    let recorder = Recorder::in_memory(None);
    let reactor = Reactor::virtual_clock();
    let memory = Arc::new(testkit::Memory::new(1 << 20));
    let drive = recorder.drive(HeldDevice::over(memory), cached());
    let mut channel = drive.open(8, &reactor).expect("a channel");
    let mut submit = |tag: u64, op| channel.submit(block::Request::new(tag, op));
    let write = |sector: u64, byte: u8| {
        let mut buffer = block::BufMut::zeroed(512);
        buffer.fill(byte);
        Op::Write { offset: sector * 512, from: buffer.freeze(), fua: false }
    };
    submit(1, write(1, 1));
    submit(2, write(2, 2));
    submit(3, write(3, 3));
    let end = |tag: u64, channel: &mut dyn block::Channel| {
        RELEASED.with(|released| released.set(tag));
        let mut done = Vec::new();
        channel.poll(&mut done);
        assert_eq!(done.len(), 1);
    };
    end(3, &mut *channel);
    end(2, &mut *channel);
    channel.submit(block::Request::new(4, Op::Flush));
    end(1, &mut *channel);
    end(4, &mut *channel);
    recorder.mark(b"the end");
    let log = Arc::new(recorder.finish().expect("in memory"));
    let mut bytes = Vec::new();
    write_log_writes(&log, 0, &mut <[u8]>::to_vec, &mut bytes).expect("written");
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!([long(0), long(8), long(16)], [0x006a_7366_7773_6872, 1, 5]);
    assert_eq!(u32::from_le_bytes(bytes[24..28].try_into().unwrap()), 512);
    let mut at = 512;
    let mut found = Vec::new();
    while at < bytes.len() {
        let (sector, sectors, flags) = (long(at), long(at + 8), long(at + 16));
        let length = sectors as usize * 512;
        if length > 0 {
            assert!(
                bytes[at + 512..at + 512 + length].iter().all(|&byte| u64::from(byte) == sector)
            );
        }
        found.push((sector, sectors, flags));
        at += 512 + length;
    }
    assert_eq!(found, [(3, 1, 0), (2, 1, 0), (0, 0, 1), (0, 0, 8), (1, 1, 0)]);

    // And what the flush covers is there in each state, the rest in some.
    let mut history = History::new(Arc::clone(&log), DriveFault::None, None);
    let cut = Cut::behind(&log, log.events().len() as u32);
    history.advance(cut).expect("forward");
    let mut first = std::collections::BTreeSet::new();
    for bits in 0..2 {
        let crash = history.crash(cut, Policy::Subset(bits), 1).expect("a state");
        let mut bytes = [0; 2048];
        let drive = &crash.drives()[0];
        Blocking::open(&**drive, &reactor).unwrap().read_slice(0, &mut bytes).expect("read");
        assert_eq!((bytes[1024], bytes[1536]), (2, 3));
        first.insert(bytes[512]);
    }
    assert_eq!(first.into_iter().collect::<Vec<_>>(), [0, 1]);
}

thread_local! {
    /// The request that is answered next.
    static RELEASED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A device that answers a request when it is told to.
struct HeldDevice(Arc<dyn Device>);

impl HeldDevice {
    fn over(below: Arc<dyn Device>) -> Arc<dyn Device> {
        Arc::new(HeldDevice(below))
    }
}

impl Device for HeldDevice {
    fn info(&self) -> &block::Info {
        self.0.info()
    }

    fn describe(&self) -> block::Node {
        self.0.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn block::Channel>, block::Error> {
        Ok(Box::new(HeldChannel { below: self.0.open(depth, reactor)?, held: Vec::new() }))
    }
}

struct HeldChannel {
    below: Box<dyn block::Channel>,
    held: Vec<block::Completion>,
}

impl block::Channel for HeldChannel {
    fn submit(&mut self, request: block::Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<block::Completion>) {
        self.below.poll(&mut self.held);
        let released = RELEASED.with(std::cell::Cell::get);
        done.extend(self.held.extract_if(.., |completion| completion.tag == released));
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.held.len() as u32
    }
}
