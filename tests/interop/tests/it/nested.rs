//! Arrays of arrays that raidloom makes are arrays to the kernel's md, level by level.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use array::md::{Layout, Level};
use array::{ParityLayout, Raid0Layout};
use block::{Blocking, Node, Reactor};
use host::guard::{Consent, Guard};
use interop::{Machine, difference, noise};
use mdtools::{Create, CreateMember};
use stack::{BuildContext, Stack};

const SEED: u64 = 0x6e65_7374;
const BYTES: usize = 2 << 20;

/// An array of arrays, and how md is told to put it together.
struct Nested {
    level: Level,
    layout: Layout,
    /// In stack text, with `@` for the folder.
    members: &'static [&'static str],
    disks: usize,
    by_md: &'static [&'static str],
}

impl Nested {
    fn create(&self, folder: &Path) -> Node {
        let parsed = |text: &&str| {
            let text = text.replace('@', &format!("{}/disk", folder.display()));
            Some(CreateMember::parse(Path::new(&text)).expect("a member"))
        };
        let wanted = Create {
            chunk_bytes: 64 << 10,
            members: self.members.iter().map(parsed).collect(),
            create_bytes: Some(8 << 20),
            ..Create::new("tank", self.level, self.layout, &[])
        };
        let guard = Guard::new(Consent::default());
        mdtools::create(&guard, &wanted, &AtomicBool::new(false)).expect("an array").stack
    }
}

/// Opens it; the guard keeps its files to itself.
fn open(node: &Node, guard: &Guard) -> (Stack, Blocking) {
    let context = BuildContext { emulate: true, ..BuildContext::new(guard) };
    let text = node.to_string();
    let stack = stack::parse_and_build(&text, &context).unwrap_or_else(|error| panic!("{error}"));
    let reactor = Reactor::wall().expect("a reactor");
    let channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
    (stack, channel)
}

#[test]
fn md_assembles_arrays_of_arrays_that_raidloom_made() {
    if !Machine::is_there("arrays of arrays") {
        return;
    }
    let cases = [
        Nested {
            level: Level::Raid0,
            layout: Layout::Raid0(Some(Raid0Layout::Original)),
            members: &["raid1(@0, @1)", "raid1(@2, @3)"],
            disks: 4,
            by_md: &["tank-0=ubda,ubdb", "tank-1=ubdc,ubdd", "tank=tank-0,tank-1"],
        },
        Nested {
            level: Level::Raid5,
            layout: Layout::Parity(ParityLayout::LeftSymmetric),
            members: &["raid0(chunk=64KiB, @0, @1)", "raid5(chunk=64KiB, @2, @3, @4)", "@5"],
            disks: 6,
            by_md: &["tank-0=ubda,ubdb", "tank-1=ubdc,ubdd,ubde", "tank=tank-0,tank-1,ubdf"],
        },
    ];
    for case in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let node = case.create(folder.path());
        let (ours, theirs) = (noise(SEED, BYTES), noise(SEED + 1, BYTES));
        std::fs::write(folder.path().join("ours"), &ours).expect("written");
        std::fs::write(folder.path().join("theirs"), &theirs).expect("written");
        let in_place = || Guard::new(Consent { in_place: true, ..Consent::default() });
        let guard = in_place();
        let (stack, mut channel) = open(&node, &guard);
        channel.write_slice(0, &ours).expect("written");
        drop(channel);
        stack.end().expect("ended");
        drop(guard);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut machine = Command::new(here.join("uml.sh"));
        machine.args(["-t", "300", "-w"]).arg(folder.path()).arg(here.join("nested-uml.sh"));
        machine.args((0..case.disks).map(|disk| folder.path().join(format!("disk{disk}"))));
        machine.arg("--").arg(folder.path()).arg(BYTES.to_string()).args(case.by_md);
        let output = machine.output().expect("bash runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let log = String::from_utf8_lossy(&output.stderr);
        let names = case.by_md.iter().map(|array| array.split('=').next().expect("a name"));
        let expected: Vec<String> = names.map(|name| format!("{name}: clean, {name}")).collect();
        for line in expected.iter().map(String::as_str).chain(["the data are equal", "stopped"]) {
            assert!(said.lines().any(|found| found == line), "no `{line}`:\n{said}\n{log}");
        }
        let sound = |line: &str| !line.starts_with("mismatches") || line == "mismatches 0";
        assert!(said.lines().all(sound), "{said}");
        let guard = in_place();
        let (stack, mut channel) = open(&node, &guard);
        let mut found = vec![0; BYTES];
        channel.read_slice(0, &mut found).expect("read");
        assert_eq!(difference(&found, &theirs), None, "what md has written");
        drop(channel);
        stack.end().expect("ended");
    }
}
