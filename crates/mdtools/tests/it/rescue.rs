//! Broken sets of every kind: the files are back, or the refusal is true, and nothing was written
//! to any of them.

mod nested;

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use array::md::{Features, Layout, Level, Role, Superblock};
use array::{ParityLayout, Raid0Layout, Raid10Layout};
use block::{Blocking, Reactor};
use host::guard::{Consent, Guard};
use mdtools::guess::SearchLimits;
use mdtools::rescue::{MemberFinding, RescueLoss, RescueReport, rescue};
use mdtools::{Create, MemberSource};
use reactor::Random;
use stack::BuildContext;

use crate::arrays::old_superblock;

const MIB: u64 = 1 << 20;
const CHUNK_BYTES: u64 = 64 << 10;
/// The file system in each array.
const CONTENT_BYTES: u64 = 20 * MIB;

/// An ext4 file system with files in it; `None` without mkfs.ext4.
fn ext4() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    for index in 0..60_u64 {
        let inner = tree.join(format!("folder{}", index % 7)).join(format!("inner{index}"));
        fs::create_dir_all(&inner).expect("a folder");
        let mut bytes = vec![0; 100_000];
        Random::with_seed(index).fill(&mut bytes);
        fs::write(inner.join("file"), bytes).expect("a file");
    }
    let image = folder.path().join("image");
    File::create(&image).and_then(|file| file.set_len(CONTENT_BYTES)).expect("a file");
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut made = Command::new("mkfs.ext4");
    made.args(["-q", "-b", "1024", "-d"]).arg(&tree).arg(&image).env("PATH", path);
    let is_made = made.status().is_ok_and(|status| status.success());
    is_made.then(|| fs::read(&image).expect("read"))
}

/// A set of files that were an array, and what was done to them.
struct BrokenSet {
    folder: tempfile::TempDir,
    /// What is named.
    paths: Vec<PathBuf>,
    content: Vec<u8>,
}

impl BrokenSet {
    /// An array of this kind with the file system on it.
    fn of(level: Level, layout: Layout, count: usize, content: &[u8]) -> BrokenSet {
        let set = BrokenSet::named("m", level, layout, count, content);
        let texts: Vec<String> =
            set.paths.iter().map(|path| format!("file:{}?direct=no", path.display())).collect();
        set.write(&format!("{}(metadata=1.2, {})", layer(level), texts.join(", ")));
        set
    }

    /// The same without content.
    fn named(name: &str, level: Level, layout: Layout, count: usize, content: &[u8]) -> BrokenSet {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> =
            (0..count).map(|number| folder.path().join(format!("{name}{number}"))).collect();
        let wanted = Create {
            chunk_bytes: if level.has_chunks() { CHUNK_BYTES } else { 0 },
            create_bytes: Some(24 * MIB),
            assume_clean: true,
            ..Create::new("tank", level, layout, &paths)
        };
        let guard = Guard::new(Consent::default());
        mdtools::create(&guard, &wanted, &AtomicBool::new(false)).expect("an array");
        BrokenSet { folder, paths, content: content.to_vec() }
    }

    /// Members without superblocks whose data begin at an offset.
    fn bare(layer: &str, count: usize, offset_bytes: u64, content: &[u8]) -> BrokenSet {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> =
            (0..count).map(|number| folder.path().join(format!("d{number}"))).collect();
        let part = |path: &PathBuf| {
            let file = File::create(path).expect("a file");
            file.set_len(offset_bytes + 24 * MIB).expect("its size");
            format!("file:{}?direct=no&offset={offset_bytes}", path.display())
        };
        let texts: Vec<String> = paths.iter().map(part).collect();
        let set = BrokenSet { folder, paths, content: content.to_vec() };
        set.write(&layer.replace("MEMBERS", &texts.join(", ")));
        set
    }

    fn write(&self, text: &str) {
        let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
        let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&guard) };
        let stack = stack::parse_and_build(text, &context).expect(text);
        let reactor = Reactor::wall().expect("a reactor");
        let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
        channel.write_slice(0, &self.content).expect("written");
        channel.flush().expect("flushed");
        drop(channel);
        stack.end().expect("ended");
    }

    fn edit(&self, member: usize, change: impl FnOnce(&mut Superblock)) {
        let file =
            OpenOptions::new().read(true).write(true).open(&self.paths[member]).expect("one");
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, 4096).expect("a superblock");
        let mut superblock = Superblock::decode(&bytes).expect("a superblock");
        change(&mut superblock);
        file.write_all_at(&superblock.encode(), 4096).expect("written");
    }

    fn put(&self, member: usize, offset: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.paths[member]).expect("one");
        file.write_all_at(bytes, offset).expect("written");
    }

    /// The others went on without it.
    fn age(&self, member: usize, events: u64) {
        for other in (0..self.paths.len()).filter(|other| *other != member) {
            self.edit(other, |superblock| {
                superblock.events += events;
                superblock.updated.seconds += 100 * events;
            });
        }
    }

    /// Its superblock is gone.
    fn wipe(&self, member: usize) {
        self.put(member, 4096, &[0; 4096]);
    }

    /// Half of a superblock was written: its name is another, and its checksum wrong.
    fn tear(&self, member: usize) {
        self.put(member, 4096 + 32, b"tank-half");
    }

    fn lose(&mut self, member: usize) {
        self.paths.remove(member);
    }

    /// Puts a member on a disk of its own, at an offset, with a table of partitions or without.
    fn onto_disk(&mut self, member: usize, offset_bytes: u64, table: bool) {
        let disk = self.folder.path().join(format!("disk{member}"));
        let bytes = fs::read(&self.paths[member]).expect("read");
        let file = File::create(&disk).expect("made");
        file.set_len(offset_bytes + bytes.len() as u64 + MIB).expect("its size");
        file.write_all_at(&bytes, offset_bytes).expect("written");
        if table {
            let mut record = [0; 512];
            record[450] = 0xfd;
            record[454..458].copy_from_slice(&((offset_bytes / 512) as u32).to_le_bytes());
            record[458..462].copy_from_slice(&((bytes.len() / 512) as u32).to_le_bytes());
            record[510..].copy_from_slice(&[0x55, 0xaa]);
            file.write_all_at(&record, 0).expect("written");
        }
        self.paths[member] = disk;
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        self.paths.push(path);
    }

    fn copy(&mut self, member: usize) {
        let bytes = fs::read(&self.paths[member]).expect("read");
        self.add("copy", &bytes);
    }

    fn hashes(&self) -> Vec<u64> {
        let hash = |path: &PathBuf| {
            let mut hasher = DefaultHasher::new();
            fs::read(path).expect("read").hash(&mut hasher);
            let changed = fs::metadata(path).and_then(|data| data.modified()).expect("a time");
            changed.hash(&mut hasher);
            hasher.finish()
        };
        self.paths.iter().map(hash).collect()
    }

    fn report(&self) -> RescueReport {
        let guard = Guard::new(Consent::default());
        let sources: Vec<MemberSource> = self.paths.iter().cloned().map(Into::into).collect();
        rescue(&guard, &sources, &SearchLimits::default(), &mut |_, _| true).expect("a report")
    }

    /// Whether a stack has the files.
    fn has_files(&self, text: &str) -> Result<(), String> {
        let guard = Guard::new(Consent::default());
        let context = BuildContext { seed: 1, read_only: true, ..BuildContext::new(&guard) };
        let stack = stack::parse_and_build(text, &context).map_err(|error| error.to_string())?;
        let reactor = Reactor::wall().expect("a reactor");
        let mut channel = Blocking::open(&*stack.device, &reactor).expect("a channel");
        let mut found = vec![0; self.content.len()];
        channel.read_slice(0, &mut found).map_err(|error| error.to_string())?;
        let wrong = found.iter().zip(&self.content).position(|(found, held)| found != held);
        wrong.map_or(Ok(()), |at| Err(format!("{text}: byte {at} is another")))
    }
}

fn layer(level: Level) -> &'static str {
    match level {
        Level::Linear => "linear",
        Level::Raid0 => "raid0",
        Level::Raid1 => "raid1",
        Level::Raid5 => "raid5",
        Level::Raid6 => "raid6",
        _ => "raid10",
    }
}

/// What has to come of a set.
#[derive(Clone, Copy)]
enum Outcome {
    /// The files, with nothing lost but redundancy.
    Files,
    /// The files, and a warning of this kind.
    Warned(fn(&RescueLoss) -> bool),
    /// A refusal that says this.
    Refused(&'static str),
    /// Nothing is known of any of it.
    Nothing,
}

use Outcome::{Files, Nothing, Refused, Warned};

fn stale(loss: &RescueLoss) -> bool {
    matches!(loss, RescueLoss::Stale { .. })
}
fn torn(loss: &RescueLoss) -> bool {
    matches!(loss, RescueLoss::Torn(_))
}
fn chosen(loss: &RescueLoss) -> bool {
    matches!(loss, RescueLoss::Chosen { .. })
}
fn forced(loss: &RescueLoss) -> bool {
    matches!(loss, RescueLoss::Forced(_))
}
fn by_content(loss: &RescueLoss) -> bool {
    matches!(loss, RescueLoss::ByContent(_))
}

/// The name of a set, what it was, what was done to it, and what has to come of it.
type Row = (&'static str, fn(&[u8]) -> BrokenSet, fn(&mut BrokenSet), Outcome);

fn raid5(content: &[u8]) -> BrokenSet {
    BrokenSet::of(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 3, content)
}
fn raid6(content: &[u8]) -> BrokenSet {
    BrokenSet::of(Level::Raid6, Layout::Parity(ParityLayout::LeftSymmetric), 5, content)
}
fn raid0(content: &[u8]) -> BrokenSet {
    BrokenSet::of(Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), 2, content)
}
fn raid1(content: &[u8]) -> BrokenSet {
    BrokenSet::of(Level::Raid1, Layout::Plain, 2, content)
}
fn linear(content: &[u8]) -> BrokenSet {
    BrokenSet::of(Level::Linear, Layout::Plain, 2, content)
}
fn raid10(content: &[u8]) -> BrokenSet {
    let layout = Raid10Layout::from_name("n2").expect("a layout");
    BrokenSet::of(Level::Raid10, Layout::Raid10(layout), 4, content)
}
/// Superblocks of version 0.90, at the members' end.
fn old_raid5(content: &[u8]) -> BrokenSet {
    let set = BrokenSet::bare("raid5(metadata=none, chunk=64KiB, MEMBERS)", 3, 0, content);
    for number in 0..3_usize {
        let bytes = old_superblock(number as u32, 24 * MIB);
        set.put(number, 24 * MIB - (64 << 10), &bytes);
    }
    set
}
/// A reshape from three to four members that had only begun.
fn reshaping(content: &[u8]) -> BrokenSet {
    let mut set = raid5(content);
    let fourth = fs::read(&set.paths[2]).expect("read");
    set.add("m3", &fourth);
    for member in 0..4_usize {
        set.edit(member, |superblock| {
            superblock.raid_disks = 4;
            superblock.features = superblock.features.with(Features::RESHAPE_ACTIVE);
            superblock.new_level = superblock.level;
            superblock.new_layout_code = superblock.layout_code;
            superblock.new_chunk_sectors = superblock.chunk_sectors;
            superblock.delta_disks = 1;
            superblock.reshape_position_sectors = 0;
            superblock.roles = (0..4).map(Role::Active).collect();
            superblock.member_number = member as u32;
            superblock.device_uuid = [member as u8 + 1; 16];
        });
    }
    set
}

const SETS: &[Row] = &[
    ("whole", raid5, |_| (), Files),
    ("one missing", raid5, |set| set.lose(1), Files),
    (
        "two missing of level 5",
        raid5,
        |set| {
            set.lose(2);
            set.lose(0);
        },
        Refused(""),
    ),
    ("one stale", raid5, |set| set.age(1, 5), Files),
    (
        "one stale, one missing",
        raid5,
        |set| {
            set.age(1, 5);
            set.lose(0);
        },
        Warned(stale),
    ),
    (
        "two stale by as much",
        raid5,
        |set| {
            set.age(2, 3);
            set.edit(1, |own| own.events -= 3);
        },
        Warned(stale),
    ),
    (
        "level 6, two missing",
        raid6,
        |set| {
            set.lose(4);
            set.lose(1);
        },
        Files,
    ),
    (
        "level 6, three missing",
        raid6,
        |set| {
            set.lose(4);
            set.lose(1);
            set.lose(0);
        },
        Refused(""),
    ),
    (
        "level 6, two missing, one stale",
        raid6,
        |set| {
            set.age(2, 9);
            set.lose(4);
            set.lose(0);
        },
        Warned(stale),
    ),
    ("half of a mirror", raid1, |set| set.lose(0), Files),
    ("a mirror with an old half", raid1, |set| set.age(1, 7), Files),
    (
        "the old half of a mirror alone",
        raid1,
        |set| {
            set.age(1, 7);
            set.lose(0);
        },
        Files,
    ),
    (
        "level 10, one of each pair",
        raid10,
        |set| {
            set.lose(3);
            set.lose(0);
        },
        Files,
    ),
    (
        "level 10, a pair missing",
        raid10,
        |set| {
            set.lose(1);
            set.lose(0);
        },
        Refused(""),
    ),
    (
        "level 10, of a pair one missing, one stale",
        raid10,
        |set| {
            set.age(1, 4);
            set.lose(0);
        },
        Warned(stale),
    ),
    ("a stripe", raid0, |_| (), Files),
    ("half of a stripe", raid0, |set| set.lose(1), Refused("")),
    ("a stripe with a stale member", raid0, |set| set.age(1, 6), Warned(forced)),
    ("linear", linear, |_| (), Files),
    ("half of a linear array", linear, |set| set.lose(0), Refused("")),
    ("a torn superblock", raid5, |set| set.tear(1), Files),
    (
        "a torn superblock, one missing",
        raid5,
        |set| {
            set.tear(1);
            set.lose(0);
        },
        Warned(torn),
    ),
    ("all superblocks torn", raid5, |set| (0..3).for_each(|member| set.tear(member)), Warned(torn)),
    ("a torn superblock in a stripe", raid0, |set| set.tear(0), Warned(torn)),
    (
        "a superblock damaged (max_dev)",
        raid5,
        |set| set.put(0, 4096 + 220, &1921_u32.to_le_bytes()),
        Files,
    ),
    ("a superblock lost", raid5, |set| set.wipe(2), Files),
    (
        "a superblock lost, one missing",
        raid5,
        |set| {
            set.wipe(2);
            set.lose(0);
        },
        Warned(by_content),
    ),
    ("a superblock lost in a stripe", raid0, |set| set.wipe(0), Warned(by_content)),
    (
        "all superblocks lost, level 5",
        raid5,
        |set| (0..3).for_each(|member| set.wipe(member)),
        Warned(by_content),
    ),
    (
        "all superblocks lost, level 6",
        raid6,
        |set| (0..5).for_each(|member| set.wipe(member)),
        Warned(by_content),
    ),
    (
        "all superblocks lost, level 0",
        raid0,
        |set| (0..2).for_each(|member| set.wipe(member)),
        Warned(by_content),
    ),
    (
        "all superblocks lost, level 1",
        raid1,
        |set| (0..2).for_each(|member| set.wipe(member)),
        Warned(by_content),
    ),
    (
        "all superblocks lost, one missing",
        raid5,
        |set| {
            (0..3).for_each(|member| set.wipe(member));
            set.lose(1);
        },
        Warned(by_content),
    ),
    ("a copy beside", raid5, |set| set.copy(1), Files),
    ("a copy beside, in a stripe", raid0, |set| set.copy(1), Warned(chosen)),
    ("a letter beside", raid5, |set| set.add("letter", b"Dear reader"), Files),
    (
        "on a disk with a table",
        raid5,
        |set| (0..3).for_each(|member| set.onto_disk(member, MIB, true)),
        Files,
    ),
    (
        "a table of partitions lost",
        raid5,
        |set| (0..3).for_each(|member| set.onto_disk(member, MIB, false)),
        Files,
    ),
    ("cut out from sector 63", raid5, |set| set.onto_disk(1, 63 << 9, false), Files),
    (
        "cut out with 3 MiB before it",
        raid1,
        |set| {
            set.onto_disk(1, 3 * MIB, false);
            set.lose(0);
        },
        Files,
    ),
    ("version 0.90", old_raid5, |_| (), Files),
    ("version 0.90, one missing", old_raid5, |set| set.lose(0), Files),
    ("a reshape broken off", reshaping, |_| (), Files),
    (
        "cut short",
        raid5,
        |set| {
            OpenOptions::new()
                .write(true)
                .open(&set.paths[0])
                .and_then(|file| file.set_len(8 * MIB))
                .expect("shorter");
        },
        Files,
    ),
    (
        "dirty, one missing",
        raid5,
        |set| {
            (0..3).for_each(|member| set.edit(member, |own| own.resync_offset_sectors = 0));
            set.lose(1);
        },
        Warned(forced),
    ),
    (
        "another chunk in one superblock",
        raid5,
        |set| set.edit(1, |own| own.chunk_sectors = 256),
        Files,
    ),
    (
        "a number of members that no array has",
        raid5,
        |set| (0..3).for_each(|member| set.edit(member, |own| own.raid_disks = u32::MAX)),
        Refused("raid_disks"),
    ),
    (
        "data beyond all bytes",
        raid5,
        |set| (0..3).for_each(|member| set.edit(member, |own| own.data_offset_sectors = 1 << 60)),
        Warned(by_content),
    ),
    (
        "a stale member with its data beyond all bytes, one missing",
        raid5,
        |set| {
            set.age(1, 5);
            set.edit(1, |own| own.data_offset_sectors = 1 << 60);
            set.lose(0);
        },
        Warned(by_content),
    ),
    (
        "spares alone",
        raid5,
        |set| {
            set.lose(1);
            set.lose(1);
            set.edit(0, |own| own.roles = vec![Role::Spare; 3]);
        },
        Refused(""),
    ),
    (
        "a controller's stripe, data at 63 sectors",
        |content| {
            BrokenSet::bare("raid0(metadata=none, chunk=64KiB, MEMBERS)", 2, 63 << 9, content)
        },
        |_| (),
        Warned(by_content),
    ),
    (
        "a controller's level 5, data at 64 KiB",
        |content| {
            BrokenSet::bare("raid5(metadata=none, chunk=64KiB, MEMBERS)", 3, 64 << 10, content)
        },
        |_| (),
        Warned(by_content),
    ),
    (
        "one drive of a controller, data at 64 KiB",
        |content| BrokenSet::bare("linear(MEMBERS)", 1, 64 << 10, content),
        |_| (),
        Files,
    ),
    (
        "one drive with a file system and nothing else",
        |content| BrokenSet::bare("linear(MEMBERS)", 1, 0, content),
        |_| (),
        Files,
    ),
    (
        "zeroes",
        |content| BrokenSet::named("z", Level::Raid1, Layout::Plain, 2, content),
        |set| (0..2).for_each(|member| set.wipe(member)),
        Nothing,
    ),
];

/// Why a set did not come out as it has to.
fn wrong(set: &BrokenSet, outcome: Outcome) -> Option<String> {
    let report = set.report();
    let said = format!("{report:#?}");
    if let Nothing = outcome {
        return (!report.arrays.is_empty()).then_some(said);
    }
    let [array] = &report.arrays[..] else { return Some(said) };
    let way = match (&array.way, outcome) {
        (Err(reasons), Refused(text)) => {
            return (!words::Text::joined(reasons, "; ").english().contains(text)
                || reasons.is_empty())
            .then_some(said);
        }
        (Err(_), _) | (Ok(_), Refused(_)) => return Some(said),
        (Ok(way), _) => way,
    };
    if let Err(reason) = set.has_files(&way.stack.to_string()) {
        return Some(format!("{reason}\n{said}"));
    }
    let is_only_redundancy = way.losses.iter().all(|loss| matches!(loss, RescueLoss::Degraded(_)));
    let is_right = match outcome {
        Warned(kind) => way.losses.iter().any(kind),
        _ => is_only_redundancy,
    };
    (!is_right || way.holds.is_none()).then_some(said)
}

/// "40 broken sets made with mdadm and by hand: files back or a true refusal, nothing written to a
/// member in any of them (proved by hash)."
#[test]
fn of_broken_sets_the_files_are_back_or_the_refusal_is_true() {
    let Some(content) = ext4() else {
        return testkit::missing!("rescues: no mkfs.ext4: apt-get install e2fsprogs");
    };
    let mut failed = Vec::new();
    let sets = || SETS.iter().chain(nested::SETS);
    for (name, make, damage, outcome) in sets() {
        let mut set = make(&content);
        damage(&mut set);
        let before = set.hashes();
        if let Some(why) = wrong(&set, *outcome) {
            failed.push(format!("{name}: {why}"));
        }
        assert!(set.hashes() == before, "{name}: something was written");
    }
    let count = sets().count();
    assert!(count >= 40, "{count} sets");
    assert!(failed.is_empty(), "{} of {count} sets:\n{}", failed.len(), failed.join("\n"));
}

/// What is planted is found: files that are others are no files back.
#[test]
fn a_rescue_that_shows_other_data_is_told_from_one_that_does_not() {
    let content = vec![7; CONTENT_BYTES as usize];
    let set = raid1(&content);
    let text = set.report().arrays[0].way.as_ref().expect("it opens").stack.to_string();
    assert_eq!(set.has_files(&text), Ok(()));
    set.put(0, 2 * MIB + 5, &[8]);
    set.put(1, 2 * MIB + 5, &[8]);
    assert!(set.has_files(&text).is_err());
}

/// Members of two arrays that lie in one folder are told apart, each with its own way.
#[test]
fn more_than_are_put_in_order_are_said_to_be_too_many() {
    let mut content = vec![0; 4 << 20];
    Random::with_seed(1).fill(&mut content);
    let note = |members: usize| {
        let set = BrokenSet::bare("raid0(chunk=64KiB, MEMBERS)", members, 0, &content);
        let told = "by what members hold at most 8 are put in order";
        set.report().notes.iter().any(|note| note.english().contains(told))
    };
    assert!(note(9) && !note(2));
}

#[test]
fn two_arrays_in_one_folder_are_two() {
    let content = vec![3; CONTENT_BYTES as usize];
    let mut set = raid1(&content);
    let other = raid5(&content);
    set.lose(1);
    set.paths.extend(other.paths.iter().cloned());
    set.age_of(&other);
    let report = set.report();
    assert_eq!(report.arrays.len(), 2, "{report:#?}");
    for array in &report.arrays {
        let way = array.way.as_ref().expect("it opens");
        assert_eq!(set.has_files(&way.stack.to_string()), Ok(()));
    }
    let states: Vec<&MemberFinding> =
        report.arrays.iter().flat_map(|array| &array.members).map(|member| &member.state).collect();
    assert!(states.contains(&&MemberFinding::Missing), "{states:?}");
    assert!(states.contains(&&MemberFinding::Stale { events: 4, seconds: 400 }), "{states:?}");
}

impl BrokenSet {
    /// One of the other's members is older than the rest.
    fn age_of(&self, other: &BrokenSet) {
        assert!(Path::new(&self.paths[0]).exists());
        other.age(2, 4);
    }
}
