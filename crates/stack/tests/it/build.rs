//! Trees to devices: what comes out, and what is refused.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use block::{Blocking, Clock, DiscardSupport, Error, ErrorKind, Reactor, Support};
use stack::{BuildContext, OpenFiles, Stack, parse_and_build};

use crate::files::Files;

/// Opens whatever it is asked for and remembers it.
#[derive(Default)]
struct Opener {
    opened: Mutex<Vec<String>>,
}

impl OpenFiles for Opener {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.opened
            .lock()
            .expect("not poisoned")
            .push(format!("{name} read_only={read_only} create={create:?}"));
        Files.open(path, read_only, create)
    }
}

fn context(files: &Opener) -> BuildContext<'_> {
    BuildContext { seed: 1, ..BuildContext::new(files) }
}

/// What the members' files are called, with their options.
fn member_names(stack: &Stack) -> Vec<String> {
    let of = |text: &str| text.rsplit_once('/').expect("a path").1.to_owned();
    stack.members.iter().map(|member| of(&member.name)).collect()
}

fn build(text: &str) -> Result<Stack, Error> {
    parse_and_build(text, &context(&Opener::default()))
}

/// Texts, what the device says of itself, and its size in bytes.
const TREES: &[(&str, &str, u64)] = &[
    ("ram:1MiB", "ram:1MiB", 1 << 20),
    ("linear(ram:1MiB, ram:2MiB)", "linear(metadata=none, ram:1MiB, ram:2MiB)", 3 << 20),
    (
        "linear(offset=64KiB, ram:1MiB, ram:2MiB)",
        "linear(metadata=none, offset=64KiB, ram:1MiB, ram:2MiB)",
        (3 << 20) - (64 << 10),
    ),
    (
        "raid0(null:1MiB, null:1MiB)",
        "raid0(chunk=64KiB, metadata=none, null:1MiB, null:1MiB)",
        2 << 20,
    ),
    // One chunk more on the second: zone 1 begins at chunk 2 of one member, the same place in
    // both layouts.
    (
        "raid0(chunk=1MiB, ram:1MiB, ram:2MiB)",
        "raid0(chunk=1MiB, metadata=none, ram:1MiB, ram:2MiB)",
        3 << 20,
    ),
    // Zone 1 begins at chunk 3 and has two members.
    (
        "raid0(chunk=1MiB, layout=alternate, ram:1MiB, ram:2MiB, ram:2MiB)",
        "raid0(chunk=1MiB, layout=alternate, metadata=none, ram:1MiB, ram:2MiB, ram:2MiB)",
        5 << 20,
    ),
    (
        "raid1(ram:1MiB, missing, ram:3MiB)",
        "raid1(metadata=none, ram:1MiB, missing, ram:3MiB)",
        1 << 20,
    ),
    (
        "raid10(ram:1MiB, ram:1MiB, ram:1MiB)",
        "raid10(chunk=512KiB, layout=n2, metadata=none, ram:1MiB, ram:1MiB, ram:1MiB)",
        3 << 19,
    ),
    (
        "raid4(chunk=4KiB, ram:1MiB, ram:1MiB)",
        "raid4(chunk=4KiB, metadata=none, ram:1MiB, ram:1MiB)",
        1 << 20,
    ),
    (
        "raid5(ram:1MiB, missing, ram:2MiB)",
        "raid5(chunk=512KiB, layout=left-symmetric, metadata=none, ram:1MiB, missing, ram:2MiB)",
        2 << 20,
    ),
    (
        "raid6(layout=ddf-N-continue, missing, missing, ram:1MiB, ram:1MiB, ram:1MiB)",
        "raid6(chunk=512KiB, layout=ddf-N-continue, metadata=none, missing, missing, ram:1MiB, \
        ram:1MiB, ram:1MiB)",
        3 << 20,
    ),
    ("ram:8KiB?block=4KiB", "ram:8KiB?block=4096", 8 << 10),
    ("overlay(ram:3MiB, ram:1MiB)", "overlay(ram:3MiB, ram:1MiB)", 1 << 20),
    (
        "cache(ram:1MiB, ram:4MiB)",
        "cache(mode=write-through, sequential_cutoff=4MiB, ram:1MiB, ram:4MiB)",
        4 << 20,
    ),
    (
        "cache(mode=write-back, block=64KiB, policy=2q, promote_after=2, dirty=20, ram:5MiB, \
        ram:4MiB)",
        "cache(mode=write-back, block=64KiB, policy=2q, sequential_cutoff=0, promote_after=2, \
        dirty=20, ram:5MiB, ram:4MiB)",
        4 << 20,
    ),
    (
        "overlay(keep=no, ram:3MiB, ram:8KiB?block=4KiB)",
        "overlay(keep=no, ram:3MiB?block=4096, ram:8KiB?block=4096)",
        8 << 10,
    ),
];

#[test]
fn builds_what_the_text_says_and_describes_it() {
    for &(text, described, size_bytes) in TREES {
        let stack = build(text).expect(text);
        assert_eq!(stack.device.describe().to_string(), described);
        assert_eq!(stack.device.info().size_bytes, size_bytes, "{text}");
        assert_eq!(stack.clock, Clock::Wall);
        let again = build(described).expect(described);
        assert_eq!(again.device.describe(), stack.device.describe());
        assert_eq!(again.device.info(), stack.device.info());
    }
}

#[test]
fn modelled_disks_alone_run_on_the_virtual_clock() {
    for (text, clock) in [
        ("raid0(chunk=16KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)", Clock::Virtual),
        ("fault(read_error=0.5, model:st340015a?data=keep)", Clock::Virtual),
        (
            "cache(ram:1MiB, raid1(model:maxtor-6y200p0, cache(ram:1MiB, model:maxtor-6y200p0)))",
            Clock::Virtual,
        ),
        ("cache(ram:1MiB, linear(model:maxtor-6y200p0, ram:1MiB))", Clock::Wall),
        ("linear(model:maxtor-6y200p0, ram:1MiB)", Clock::Wall),
    ] {
        assert_eq!(build(text).expect(text).clock, clock, "{text}");
    }
}

/// How long a read takes of each of two modelled disks.
fn read_times(seed: u64) -> [Duration; 2] {
    let opener = Opener::default();
    let text = "linear(model:st340015a, model:st340015a)";
    let stack = parse_and_build(text, &BuildContext { seed, ..context(&opener) }).expect("a stack");
    let member_bytes = stack.device.info().size_bytes / 2;
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    [0, 1].map(|member| {
        let start = reactor.now();
        channel.read_slice(member * member_bytes + member_bytes / 2, &mut [0; 4096]).expect("read");
        reactor.now() - start
    })
}

#[test]
fn every_modelled_disk_has_a_phase_of_its_own_from_the_seed() {
    let [first, second] = read_times(1);
    assert_ne!(first, second);
    assert_eq!(read_times(1), [first, second]);
    assert_ne!(read_times(2), [first, second]);
}

#[test]
fn faults_do_what_their_options_say() {
    let stack = build("fault(seed=3, bad=4KiB+512;8KiB+512, vanish_after=3, delay=1ms, ram:1MiB)")
        .expect("a stack");
    assert_eq!(
        stack.device.describe().to_string(),
        "fault(seed=3, bad=4KiB+512;8KiB+512, delay=1ms, vanish_after=3, ram:1MiB)"
    );
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    assert!(channel.read_slice(0, &mut [0; 4096]).is_ok());
    assert_eq!(reactor.now().nanoseconds(), 1_000_000);
    assert_eq!(
        channel.read_slice(8192, &mut [0; 512]).expect_err("a bad range").kind(),
        ErrorKind::Media
    );
    assert!(channel.read_slice(512, &mut [0; 512]).is_ok());
    assert_eq!(
        channel.read_slice(0, &mut [0; 512]).expect_err("the fourth").kind(),
        ErrorKind::Gone
    );
    // Without a seed in the text it is the context's, and the description says which.
    let described = |seed| {
        let opener = Opener::default();
        let stack = parse_and_build(
            "fault(read_error=0.5, ram:1MiB)",
            &BuildContext { seed, ..context(&opener) },
        );
        stack.expect("a stack").device.describe()
    };
    assert_eq!(described(1), described(1));
    assert_ne!(described(1), described(2));
}

#[test]
fn members_are_counted_from_left_to_right() {
    let stack =
        build("raid0(chunk=4KiB, ram:1MiB, linear(ram:64KiB, null:1MiB))").expect("a stack");
    let names: Vec<&str> = stack.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["ram:1MiB", "ram:64KiB", "null:1MiB"]);
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    channel.write_slice(0, &[1; 12 << 10]).expect("written");
    channel.read_slice(4 << 10, &mut [0; 4 << 10]).expect("read");
    channel.flush().expect("flushed");
    let traffic: Vec<_> = stack.members.iter().map(|member| member.counters.read()).collect();
    assert_eq!(
        [traffic[0].written_bytes, traffic[1].written_bytes, traffic[2].written_bytes],
        [8 << 10, 4 << 10, 0]
    );
    assert_eq!(
        [traffic[0].read_bytes, traffic[1].read_bytes, traffic[2].read_bytes],
        [0, 4 << 10, 0]
    );
    assert_eq!(traffic.iter().map(|traffic| traffic.flushes).sum::<u64>(), 3);
}

#[test]
fn ambiguous_units_are_noted_once() {
    let stack = build("raid0(chunk=64K, ram:1M, ram:1M)").expect("a stack");
    assert_eq!(stack.notes.len(), 2, "{:?}", stack.notes);
    assert!(stack.notes[0].english().starts_with("1M was taken as 1MiB"), "{:?}", stack.notes);
}

#[test]
fn files_are_opened_only_through_the_opener_and_as_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    File::create(path("a")).and_then(|file| file.set_len(1 << 20)).expect("a file");
    let text = format!(
        "linear({}, {}?read_only=yes, {}?size=64KiB&offset=4KiB&direct=no)",
        path("a"),
        path("b"),
        path("c")
    );
    let opener = Opener::default();
    File::create(path("b")).and_then(|file| file.set_len(1 << 20)).expect("a file");
    let stack = parse_and_build(
        &text,
        &BuildContext { create_bytes: Some(1 << 20), emulate: true, ..context(&opener) },
    )
    .expect("a stack");
    assert_eq!(
        *opener.opened.lock().expect("not poisoned"),
        [
            "a read_only=false create=Some(1048576)",
            "b read_only=true create=None",
            "c read_only=false create=Some(69632)"
        ]
    );
    assert_eq!(stack.device.info().size_bytes, (2 << 20) + (64 << 10));
    assert!(stack.device.info().read_only, "one member takes no writes");
    assert!(
        stack.device.info().zeroes != Support::None
            && stack.device.info().discard == DiscardSupport::None
    );
    let opener = Opener::default();
    parse_and_build(
        &path("a"),
        &BuildContext { read_only: true, create_bytes: Some(1), ..context(&opener) },
    )
    .expect("a stack");
    assert_eq!(*opener.opened.lock().expect("not poisoned"), ["a read_only=true create=None"]);
}

#[test]
fn below_an_overlay_nothing_is_opened_for_writing_and_its_delta_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    for name in ["a", "b"] {
        std::fs::write(path(name), vec![0x11; 1 << 20]).expect("a file");
    }
    let text = format!(
        "overlay({}, raid0(chunk=64KiB, {}?direct=no, {}?direct=no))",
        path("delta") + "?direct=no",
        path("a"),
        path("b")
    );
    for byte in [1, 2] {
        let opener = Opener::default();
        let stack = parse_and_build(
            &text,
            &BuildContext { create_bytes: Some(5 << 20), ..context(&opener) },
        )
        .expect(&text);
        let expected = [
            "a read_only=true create=None",
            "b read_only=true create=None",
            "delta read_only=false create=Some(4194304)",
        ];
        assert_eq!(*opener.opened.lock().expect("not poisoned"), expected);
        let names = member_names(&stack);
        assert_eq!(names[0], "delta?direct=no", "members are listed from left to right: {names:?}");
        assert!(!stack.device.info().read_only);
        let mut channel = Blocking::open(&*stack.device, &Reactor::wall().expect("an io_uring"))
            .expect("a channel");
        let mut found = [0; 512];
        channel.read_slice(4096, &mut found).expect("a read");
        assert_eq!(found, [if byte == 1 { 0x11 } else { 1 }; 512], "what was flushed is kept");
        channel.write_slice(4096, &[byte; 512]).expect("a write");
        channel.flush().expect("a flush");
    }
    for name in ["a", "b"] {
        assert!(
            std::fs::read(path(name)).expect("a file").iter().all(|&byte| byte == 0x11),
            "{name} was written"
        );
    }
}

#[test]
fn a_cache_on_a_file_is_made_and_is_warm_the_next_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    std::fs::write(path("a"), vec![0x11; 1 << 20]).expect("a file");
    let text = format!(
        "cache(mode=write-back, {}?size=5MiB&direct=no, {}?direct=no)",
        path("store"),
        path("a")
    );
    for (round, hits) in [0, 1].into_iter().enumerate() {
        let opener = Opener::default();
        let stack = parse_and_build(&text, &context(&opener)).expect(&text);
        let expected =
            ["a read_only=false create=None", "store read_only=false create=Some(5242880)"];
        assert_eq!(*opener.opened.lock().expect("not poisoned"), expected);
        let names = member_names(&stack);
        assert!(names[0].starts_with("store?"), "members are listed from left to right: {names:?}");
        let mut channel = Blocking::open(&*stack.device, &Reactor::wall().expect("an io_uring"))
            .expect("a channel");
        let mut found = [0; 512];
        channel.read_slice(4096, &mut found).expect("a read");
        assert_eq!(found, [[0x11, 7][round]; 512]);
        assert_eq!(stack.caches[0].status().expect("it is open").counts.read_hits, hits);
        channel.write_slice(4096, &[7; 512]).expect("a write");
    }
    assert_eq!(
        std::fs::read(path("a")).expect("a file"),
        vec![0x11; 1 << 20],
        "it is still in the cache"
    );
    let error = build(&text.replace("back", "through")).expect_err("dirty").to_string();
    assert!(error.contains("4KiB that were written to it, at bytes 4096+4096"), "{error}");
}

#[test]
fn a_trace_is_written_beside_the_stack_on_either_clock() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, below) in ["model:st340015a", "ram:1MiB"].into_iter().enumerate() {
        let trace = folder.path().join(format!("{number}.trace"));
        let text = format!("record({}, {below})", trace.display());
        let opener = Opener::default();
        let stack = parse_and_build(&text, &BuildContext { read_only: true, ..context(&opener) })
            .expect(&text);
        assert_eq!(
            *opener.opened.lock().expect("not poisoned"),
            [format!("{number}.trace read_only=false create=Some(0)")]
        );
        assert_eq!(
            (stack.clock, stack.members.len()),
            (if number == 0 { Clock::Virtual } else { Clock::Wall }, 1)
        );
        assert_eq!(
            stack.device.describe().to_string(),
            format!("record(file:{}, {below})", trace.display())
        );
        Blocking::open(&*stack.device, &Reactor::virtual_clock())
            .expect("a channel")
            .read_slice(8192, &mut [0; 4096])
            .expect("a read");
        drop(stack);
        let reader = trace::open(&trace).expect("a trace");
        let read: Vec<_> = reader
            .map(|record| record.expect("a record"))
            .map(|record| (record.offset, record.length))
            .collect();
        assert_eq!(read, [(8192, 4096)]);
        let other = folder.path().join(format!("{number}.other"));
        std::fs::copy(&trace, &other).expect("a copy");
        let text = format!("record({}, {below})", other.display());
        let error = build(&text).expect_err("a trace is never overwritten").to_string();
        assert!(error.contains("holds something already"), "{error}");
    }
}

#[test]
fn one_file_under_two_names_is_refused_before_anything_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    File::create(path("a")).and_then(|file| file.set_len(1 << 20)).expect("a file");
    std::os::unix::fs::symlink(path("a"), path("symbolic")).expect("a link");
    std::fs::hard_link(path("a"), path("hard")).expect("a link");
    let below = format!("{}/./a", folder.path().display());
    for (one, other) in
        [("a", "a"), ("a", "symbolic"), ("hard", "a"), ("symbolic", "hard"), ("none", "none")]
    {
        let opener = Opener::default();
        let text =
            format!("raid0(file:{}, linear({}))", path(one).display(), path(other).display());
        let error = parse_and_build(&text, &context(&opener)).expect_err(&text).to_string();
        assert!(error.contains("every member needs a file or device of its own"), "{error}");
        assert!(error.contains(path(other).to_str().expect("a plain path")), "{error}");
        assert!(opener.opened.lock().expect("not poisoned").is_empty());
    }
    let text = format!("raid0({}, {below})", path("a").display());
    assert!(build(&text).expect_err(&text).to_string().contains("are the same file"));
}

/// `golden/build-errors.txt`: a line `> text`, then the message. `RAIDLOOM_BLESS=1` writes it anew.
#[test]
fn what_cannot_be_built_is_explained() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/build-errors.txt");
    let golden = std::fs::read_to_string(path).expect("the golden file");
    let mut written = String::new();
    for text in golden.lines().filter_map(|line| line.strip_prefix("> ")) {
        let error = build(text).expect_err(text);
        written += &format!("> {text}\n{error}\n\n");
    }
    testkit::golden::check(path, &written);
}
