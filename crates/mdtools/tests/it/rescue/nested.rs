//! Broken sets of arrays on arrays, and of drives on which an array stood in a partition.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use array::md::{Layout, Level};
use array::{ParityLayout, Raid0Layout};
use block::{Blocking, Reactor};
use host::guard::{Consent, Guard};
use mdtools::{Create, CreateMember};
use stack::BuildContext;

use super::{BrokenSet, CHUNK_BYTES, Files, MIB, Nothing, Refused, Row, Warned};
use super::{by_content, chosen};

impl BrokenSet {
    /// An array over these, in which `@0` is the first file.
    fn over(level: Level, members: &[&str], count: usize, content: &[u8]) -> BrokenSet {
        let (set, paths) = BrokenSet::empty(count, content);
        let parsed = |text: &&str| {
            let word = PathBuf::from(set.named_in(text, ""));
            Some(CreateMember::parse(&word).expect("a member"))
        };
        let wanted = Create {
            chunk_bytes: if level.has_chunks() { CHUNK_BYTES } else { 0 },
            create_bytes: Some(24 * MIB),
            assume_clean: true,
            members: members.iter().map(parsed).collect(),
            ..Create::new("tank", level, layout(level), &[])
        };
        let guard = Guard::new(Consent::default());
        let created = mdtools::create(&guard, &wanted, &AtomicBool::new(false)).expect("an array");
        drop(guard);
        let mut text = created.stack.to_string();
        for path in &paths {
            let path = path.display().to_string();
            // One name may be the beginning of none other: they are as long.
            text = text.replace(&path, &format!("file:{path}?direct=no"));
        }
        set.write(&text.replace("file:file:", "file:"));
        set
    }

    /// The same without superblocks, with data from an offset on.
    fn bare_over(text: &str, count: usize, offset_bytes: u64, content: &[u8]) -> BrokenSet {
        let (set, paths) = BrokenSet::empty(count, content);
        for path in &paths {
            let file = File::create(path).expect("a file");
            file.set_len(offset_bytes + 24 * MIB).expect("its size");
        }
        set.write(&set.named_in(text, &format!("?direct=no&offset={offset_bytes}")));
        set
    }

    fn empty(count: usize, content: &[u8]) -> (BrokenSet, Vec<PathBuf>) {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> =
            (0..count).map(|number| folder.path().join(format!("d{number}"))).collect();
        (BrokenSet { folder, paths: paths.clone(), content: content.to_vec() }, paths)
    }

    fn named_in(&self, text: &str, options: &str) -> String {
        let paths = self.paths.iter().enumerate();
        paths.fold(text.to_owned(), |text, (number, path)| {
            let own = match options {
                "" => path.display().to_string(),
                options => format!("file:{}{options}", path.display()),
            };
            text.replace(&format!("@{number}"), &own)
        })
    }

    /// The superblock of the outer array is gone from one of its members.
    fn wipe_in(&self, text: &str) {
        let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
        let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&guard) };
        let text = self.named_in(text, "?direct=no");
        let stack = stack::parse_and_build(&text, &context).expect(&text);
        let mut channel = Blocking::open(&*stack.device, &Reactor::wall().expect("a reactor"))
            .expect("a channel");
        channel.write_slice(4096, &[0; 4096]).expect("written");
        channel.flush().expect("flushed");
        drop(channel);
        stack.end().expect("ended");
    }

    fn wipe_all(&self) {
        (0..self.paths.len()).for_each(|member| self.wipe(member));
    }

    /// Other bytes from somewhere on, as on a half of a mirror that was left behind.
    fn spoil(&self, member: usize, offset: u64) {
        let size = fs::metadata(&self.paths[member]).expect("one").len();
        for at in (offset..size).step_by(MIB as usize) {
            self.put(member, at, &[0x5a; 16 << 10]);
        }
    }
}

fn layout(level: Level) -> Layout {
    match level {
        Level::Raid0 => Layout::Raid0(Some(Raid0Layout::Original)),
        Level::Raid5 => Layout::Parity(ParityLayout::LeftSymmetric),
        _ => Layout::Plain,
    }
}

const MIRRORS: [&str; 2] = ["raid1(@0, @1)", "raid1(@2, @3)"];
const RECORDED_MIRRORS: [&str; 2] = ["raid1(metadata=1.2, @0, @1)", "raid1(metadata=1.2, @2, @3)"];
const RECORDED_DOUBLE_PARITY: [&str; 2] =
    ["raid6(metadata=1.2, @0, @1, @2, @3)", "raid6(metadata=1.2, @4, @5, @6, @7)"];
const RECORDED_PARITY: [&str; 2] =
    ["raid5(metadata=1.2, @0, @1, @2)", "raid5(metadata=1.2, @3, @4, @5)"];

fn striped_mirrors(content: &[u8]) -> BrokenSet {
    BrokenSet::over(Level::Raid0, &MIRRORS, 4, content)
}
fn striped_parity(content: &[u8]) -> BrokenSet {
    let [one, other] = ["raid5(chunk=64KiB, @0, @1, @2)", "raid5(chunk=64KiB, @3, @4, @5)"];
    BrokenSet::over(Level::Raid0, &[one, other], 6, content)
}
fn mirrored_stripes(content: &[u8]) -> BrokenSet {
    let [one, other] = ["raid0(chunk=64KiB, @0, @1)", "raid0(chunk=64KiB, @2, @3)"];
    BrokenSet::over(Level::Raid1, &[one, other], 4, content)
}
/// As a controller or `mdadm --build` makes it.
fn bare_striped_mirrors(content: &[u8]) -> BrokenSet {
    let text = "raid0(metadata=none, chunk=64KiB, raid1(@0, @1), raid1(@2, @3))";
    BrokenSet::bare_over(text, 4, 0, content)
}
fn bare_parity_of_mirrors(content: &[u8]) -> BrokenSet {
    let text = "raid5(metadata=none, chunk=64KiB, raid1(@0, @1), raid1(@2, @3), raid1(@4, @5))";
    BrokenSet::bare_over(text, 6, MIB, content)
}
/// RAID 50 of a controller: the stripe deals out whole rows.
fn bare_striped_parity(content: &[u8]) -> BrokenSet {
    let text = "raid0(metadata=none, chunk=128KiB, raid5(chunk=64KiB, @0, @1, @2), \
        raid5(chunk=64KiB, @3, @4, @5))";
    BrokenSet::bare_over(text, 6, 0, content)
}
/// RAID 60 of a controller.
fn bare_striped_double_parity(content: &[u8]) -> BrokenSet {
    let text = "raid0(metadata=none, chunk=128KiB, raid6(chunk=64KiB, @0, @1, @2, @3), \
        raid6(chunk=64KiB, @4, @5, @6, @7))";
    BrokenSet::bare_over(text, 8, 0, content)
}
fn bare_striped_ddf(content: &[u8]) -> BrokenSet {
    let text = "raid0(metadata=none, chunk=192KiB, \
        raid6(chunk=64KiB, layout=ddf-N-continue, @0, @1, @2, @3, @4), \
        raid6(chunk=64KiB, layout=ddf-N-continue, @5, @6, @7, @8, @9))";
    BrokenSet::bare_over(text, 10, MIB, content)
}
fn striped_double_parity(content: &[u8]) -> BrokenSet {
    let [one, other] = ["raid6(chunk=64KiB, @0, @1, @2, @3)", "raid6(chunk=64KiB, @4, @5, @6, @7)"];
    BrokenSet::over(Level::Raid0, &[one, other], 8, content)
}

pub(super) const SETS: &[Row] = &[
    ("a stripe of mirrors", striped_mirrors, |_| (), Files),
    (
        "a stripe of mirrors, half of each missing",
        striped_mirrors,
        |set| {
            set.lose(3);
            set.lose(0);
        },
        Files,
    ),
    (
        "a stripe of mirrors, one of them missing",
        striped_mirrors,
        |set| {
            set.lose(1);
            set.lose(0);
        },
        Refused(""),
    ),
    (
        "a stripe of mirrors, the stripe's superblocks lost",
        striped_mirrors,
        |set| RECORDED_MIRRORS.iter().for_each(|text| set.wipe_in(text)),
        Warned(by_content),
    ),
    (
        "a stripe of mirrors, one superblock of the stripe lost",
        striped_mirrors,
        |set| set.wipe_in(RECORDED_MIRRORS[0]),
        Warned(by_content),
    ),
    (
        "a stripe of mirrors, the mirrors' superblocks lost",
        striped_mirrors,
        |set| set.wipe_all(),
        Warned(chosen),
    ),
    (
        "a stripe of mirrors, all superblocks lost",
        striped_mirrors,
        |set| {
            RECORDED_MIRRORS.iter().for_each(|text| set.wipe_in(text));
            set.wipe_all();
        },
        Warned(by_content),
    ),
    ("1+0 without superblocks", bare_striped_mirrors, |_| (), Warned(by_content)),
    (
        "1+0 without superblocks, a half older than the other",
        bare_striped_mirrors,
        |set| set.spoil(1, 2 * MIB),
        Warned(by_content),
    ),
    ("a mirror of stripes", mirrored_stripes, |_| (), Files),
    (
        "a mirror of stripes, the mirror's superblocks lost",
        mirrored_stripes,
        |set| {
            set.wipe_in("raid0(metadata=1.2, @0, @1)");
            set.wipe_in("raid0(metadata=1.2, @2, @3)");
        },
        Warned(by_content),
    ),
    (
        "level 5 over mirrors, without superblocks",
        bare_parity_of_mirrors,
        |_| (),
        Warned(by_content),
    ),
    (
        "level 5 over mirrors, without superblocks, two halves missing",
        bare_parity_of_mirrors,
        |set| {
            set.lose(4);
            set.lose(1);
        },
        Warned(by_content),
    ),
    ("a stripe of level 5", striped_parity, |_| (), Files),
    (
        "a stripe of level 5, the stripe's superblocks lost",
        striped_parity,
        |set| RECORDED_PARITY.iter().for_each(|text| set.wipe_in(text)),
        Warned(by_content),
    ),
    (
        "a stripe of level 5, all superblocks lost",
        striped_parity,
        |set| {
            RECORDED_PARITY.iter().for_each(|text| set.wipe_in(text));
            set.wipe_all();
        },
        Warned(by_content),
    ),
    ("50 of a controller", bare_striped_parity, |_| (), Warned(by_content)),
    (
        "50 of a controller, what it held overwritten",
        bare_striped_parity,
        |set| (0..6).for_each(|member| set.put(member, 0, &[0; 512 << 10])),
        Refused("add up to zero"),
    ),
    ("60 of a controller", bare_striped_double_parity, |_| (), Warned(by_content)),
    (
        "60 of a controller, drives in another order",
        bare_striped_double_parity,
        |set| {
            set.paths.swap(1, 6);
            set.paths.swap(3, 5);
        },
        Warned(by_content),
    ),
    (
        "50 of a controller, the first drive missing",
        bare_striped_parity,
        |set| set.lose(0),
        Warned(by_content),
    ),
    (
        "60 of a controller, the first drive missing",
        bare_striped_double_parity,
        |set| set.lose(0),
        Warned(by_content),
    ),
    (
        "60 of a controller, drives in another order and one missing",
        bare_striped_double_parity,
        |set| {
            set.paths.swap(1, 6);
            set.paths.swap(3, 5);
            set.lose(2);
        },
        Warned(by_content),
    ),
    (
        "60 of a controller, one missing, what it held overwritten",
        bare_striped_double_parity,
        |set| {
            (0..8).for_each(|member| set.put(member, 0, &[0; 512 << 10]));
            set.lose(7);
        },
        Nothing,
    ),
    (
        "60 of a controller that keeps to DDF, a drive missing",
        bare_striped_ddf,
        |set| set.lose(6),
        Warned(by_content),
    ),
    (
        "60 of a controller that keeps to DDF, five drives in each array",
        bare_striped_ddf,
        |_| (),
        Warned(by_content),
    ),
    (
        "a stripe of level 6, all superblocks lost",
        striped_double_parity,
        |set| {
            RECORDED_DOUBLE_PARITY.iter().for_each(|text| set.wipe_in(text));
            set.wipe_all();
        },
        Warned(by_content),
    ),
    (
        "a stripe of level 6, all superblocks lost and a drive missing",
        striped_double_parity,
        |set| {
            RECORDED_DOUBLE_PARITY.iter().for_each(|text| set.wipe_in(text));
            set.wipe_all();
            set.lose(3);
        },
        Warned(by_content),
    ),
    (
        "60 of a controller, what it held overwritten",
        bare_striped_double_parity,
        |set| (0..8).for_each(|member| set.put(member, 0, &[0; 512 << 10])),
        Refused("have P and Q"),
    ),
    (
        "cut out with the disk's start, all superblocks lost",
        super::raid0,
        |set| {
            (0..2).for_each(|member| set.wipe(member));
            (0..2).for_each(|member| set.onto_disk(member, 63 << 9, false));
        },
        Warned(by_content),
    ),
];
