//! Arrays by their superblocks: started through stack text as they were made, refused with a reason
//! where something is wrong.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use array::md::{Consistency, Features, Layout, Level, Role, Superblock};
use array::{ParityLayout, Raid0Layout, Raid10Layout};
use block::{Blocking, ErrorKind, Reactor};
use host::guard::{Access, Consent, Guard};
use mdtools::{ArrayCondition, ArrayStatus, AssemblyOptions, Create, MemberSource, MemberState};
use reactor::Random;
use stack::{BuildContext, Stack};
use words::Text;

const SEED: u64 = 0x6172_7261_7973;
const MEMBER_BYTES: u64 = 3 << 20;
const CHUNK_BYTES: u64 = 64 << 10;

fn said(texts: &[Text]) -> Vec<String> {
    texts.iter().map(Text::english).collect()
}

fn create(wanted: &Create) -> Result<Vec<Superblock>, host::Error> {
    mdtools::create(&Guard::new(Consent::default()), wanted, &AtomicBool::new(false))
        .map(|created| created.superblocks)
}

/// A folder with the members of an array.
struct Members {
    folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Members {
    fn create(
        level: Level,
        layout: Layout,
        count: usize,
        change: impl FnOnce(&mut Create),
    ) -> Members {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> =
            (0..count).map(|number| folder.path().join(format!("m{number}"))).collect();
        let mut wanted = Create {
            chunk_bytes: if level.has_chunks() { CHUNK_BYTES } else { 0 },
            create_bytes: Some(MEMBER_BYTES),
            ..Create::new("tank", level, layout, &paths)
        };
        change(&mut wanted);
        let all = wanted
            .sources()
            .into_iter()
            .map(|source| source.path().expect("a path").to_owned())
            .collect();
        create(&wanted).expect("an array");
        Members { folder, paths: all }
    }

    fn raid5() -> Members {
        Members::create(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 3, |_| ())
    }

    fn edit(&self, member: usize, change: impl FnOnce(&mut Superblock)) {
        let file =
            OpenOptions::new().read(true).write(true).open(&self.paths[member]).expect("a member");
        let mut bytes = vec![0; 4096];
        file.read_exact_at(&mut bytes, 4096).expect("a superblock");
        let mut superblock = Superblock::decode(&bytes).expect("a superblock");
        change(&mut superblock);
        file.write_all_at(&superblock.encode(), 4096).expect("written");
    }

    fn superblock(&self, member: usize) -> Superblock {
        let mut superblock = None;
        self.edit(member, |found| superblock = Some(found.clone()));
        superblock.expect("a superblock")
    }

    /// A stack text in which `{0}` and so on are the members.
    fn text(&self, text: &str) -> String {
        let fill = |text: String, (number, path): (usize, &PathBuf)| {
            text.replace(&format!("{{{number}}}"), &format!("file:{}?direct=no", path.display()))
        };
        self.paths.iter().enumerate().fold(text.to_owned(), fill)
    }

    fn start(&self, text: &str) -> Result<(Stack, Guard), String> {
        self.start_as(text, false)
    }

    fn start_as(&self, text: &str, read_only: bool) -> Result<(Stack, Guard), String> {
        let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
        let context =
            BuildContext { seed: 1, read_only, emulate: true, ..BuildContext::new(&guard) };
        let folder = format!("{}/", self.folder.path().display());
        let stack = stack::parse_and_build(&self.text(text), &context)
            .map_err(|error| error.to_string().replace(&folder, ""))?;
        Ok((stack, guard))
    }

    /// The text by which its members are started, with the places in `absent` missing.
    fn found(&self, absent: &[usize]) -> String {
        let paths: Vec<PathBuf> = (self.paths.iter().enumerate())
            .filter(|(place, _)| !absent.contains(place))
            .map(|(_, path)| path.clone())
            .collect();
        let found = mdtools::find(&Guard::new(Consent::default()), &paths);
        found.groups[0].stack(AssemblyOptions::default()).expect("an array").to_string()
    }
}

fn channel(stack: &Stack) -> Blocking {
    Blocking::open(stack.device.as_ref(), &Reactor::wall().expect("a reactor")).expect("a channel")
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Random::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Every kind of array that is served, with its members, and how many may be missing.
fn kinds() -> Vec<(Level, Layout, usize, usize)> {
    let parity = Layout::Parity;
    let copies = |name| Layout::Raid10(Raid10Layout::from_name(name).expect("a layout"));
    vec![
        (Level::Linear, Layout::Plain, 2, 0),
        (Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), 3, 0),
        (Level::Raid1, Layout::Plain, 2, 1),
        (Level::Raid4, Layout::Plain, 3, 1),
        (Level::Raid5, parity(ParityLayout::RightAsymmetric), 4, 1),
        (Level::Raid6, parity(ParityLayout::DdfNContinue), 5, 1),
        (Level::Raid10, copies("n2"), 3, 1),
        (Level::Raid10, copies("f2"), 3, 1),
        (Level::Raid10, copies("o2"), 4, 1),
    ]
}

#[test]
fn every_level_is_started_by_its_superblocks_and_ended_clean() {
    for (level, layout, count, may_be_missing) in kinds() {
        let members = Members::create(level, layout, count, |_| ());
        let text = members.found(&[]);
        let content = noise(SEED, 512 << 10);
        {
            let (stack, _guard) =
                members.start(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut channel = channel(&stack);
            channel.write_slice(CHUNK_BYTES / 2, &content).expect("written");
            if level.is_redundant() {
                assert!(
                    !members.superblock(0).is_clean(),
                    "{text}: it is dirty while it is written"
                );
            }
            let described = stack.device.describe().to_string();
            assert!(
                described.contains("metadata=1.2") && stack::parse(&described).is_ok(),
                "{described}"
            );
        }
        for member in 0..count {
            assert!(
                members.superblock(member).is_clean(),
                "{text}: dropping the stack ends the array"
            );
        }
        let missing =
            (0..count).map(|place| vec![place]).take(if may_be_missing > 0 { count } else { 0 });
        for absent in [vec![]].into_iter().chain(missing) {
            let text = members.found(&absent);
            let (mut stack, _guard) =
                members.start_as(&text, true).unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut found = vec![0; content.len()];
            let mut channel = channel(&stack);
            channel.read_slice(CHUNK_BYTES / 2, &mut found).expect("read");
            assert!(found == content, "{text}: seed {SEED}");
            drop(channel);
            stack.arrays.end().expect("nothing to write");
        }
    }
}

#[test]
fn a_spare_comes_along() {
    let members = Members::create(Level::Raid1, Layout::Plain, 2, |wanted| {
        let first = wanted.sources()[0].path().expect("a path").to_owned();
        wanted.spares = vec![first.with_file_name("spare").into()];
    });
    let text = members.found(&[]);
    assert!(text.contains("spare"), "{text}");
    let spare = fs::read(&members.paths[2]).expect("read");
    let (stack, _guard) = members.start(&text).expect("an array");
    assert!(fs::read(&members.paths[2]).expect("read") == spare, "a start writes nothing to it");
    let running = &stack.arrays.running()[0];
    let status = ArrayStatus::of_running(running, None, true);
    let states: Vec<MemberState> = status.members.iter().map(|member| member.state).collect();
    assert_eq!(states, [MemberState::Online, MemberState::Online, MemberState::Spare]);
    assert_eq!(
        (status.state, status.is_running, status.slots.as_str(), status.metadata.as_str()),
        (ArrayCondition::Online, true, "[UU]", "1.2")
    );
    assert!(
        status.members[0].name.as_ref().is_some_and(|name| name.starts_with("file:")),
        "{status:?}"
    );
}

/// What is done to the members, the text, and what the refusal says.
type WrongMember = (fn(&Members), &'static str, &'static str);

/// The text of an array whose members stand in their places.
const IN_ORDER: &str = "raid5(metadata=1.2, {0}, {1}, {2})";

const WRONG_MEMBERS: &[WrongMember] = &[
    (
        |_| (),
        "raid5(metadata=1.2, {1}, {0}, {2})",
        "file:m1?direct=no: it is active member 1 (dev_roles) and stands in place 0; the order \
        of the roles is file:m0",
    ),
    (
        |_| (),
        "raid5(metadata=1.2, {0}, {1})",
        "the array has 3 places (raid_disks), and the text names 2",
    ),
    (
        |_| (),
        "raid6(metadata=1.2, {0}, {1}, {2}, missing)",
        "level is raid5, and the text says raid6",
    ),
    (
        |_| (),
        "raid5(metadata=1.2, chunk=32KiB, {0}, {1}, {2})",
        "chunksize is 64KiB, and the text says chunk=32KiB",
    ),
    (
        |_| (),
        "raid5(metadata=1.2, layout=right-symmetric, {0}, {1}, {2})",
        "layout is left-symmetric, and the text says layout=right-symmetric",
    ),
    (
        |_| (),
        "raid5(metadata=1.0, {0}, {1}, {2})",
        "m0?direct=no: its superblock has version 1.2, and the text says metadata=1.0",
    ),
    (
        |_| (),
        "raid5({0}, {1}, {2})",
        "m0?direct=no carries an md superblock: it is active member 0 of array tank",
    ),
    (
        |_| (),
        "raid5(metadata=1.2, {0}, missing, missing)",
        "too few members for raid5: member 1 is missing, member 2 is missing",
    ),
    (|_| (), "raid5(metadata=1.2, {0}, {1}, fault(vanish_after=0, {2}))", "m2"),
    (|_| (), "raid5(metadata=1.2, {0}, {1}, fault(vanish_after=3, {2}))", "m2"),
    (
        |members| fs::write(&members.paths[2], vec![0; 3 << 20]).expect("written"),
        IN_ORDER,
        "m2?direct=no: no md superblock of version 0.90, 1.0, 1.1 or 1.2 on it",
    ),
    (
        |members| members.edit(2, |superblock| superblock.set_uuid[0] ^= 1),
        IN_ORDER,
        "(set_uuid): name the members of one array",
    ),
    (
        |members| assert!(fs::copy(&members.paths[1], &members.paths[2]).is_ok()),
        IN_ORDER,
        "both are active member 1 (dev_roles), and the same device_uuid",
    ),
    (
        |members| members.edit(2, |superblock| superblock.chunk_sectors = 8),
        IN_ORDER,
        "m2?direct=no: chunksize is 8, that of file:m0?direct=no 128",
    ),
    (
        |members| members.edit(2, |superblock| superblock.created.seconds += 1),
        IN_ORDER,
        "m2?direct=no: ctime is",
    ),
    (
        |members| members.edit(2, |superblock| superblock.size_sectors -= 128),
        IN_ORDER,
        "m2?direct=no: size is",
    ),
    (
        |members| {
            File::options()
                .write(true)
                .open(&members.paths[2])
                .and_then(|file| file.set_len(2 << 20))
                .expect("cut");
        },
        IN_ORDER,
        "m2?direct=no: md superblock: data_size",
    ),
    (
        |members| {
            members.edit(1, |superblock| {
                superblock.features = superblock.features.with(Features(0x8000));
            });
        },
        IN_ORDER,
        "feature_map has bits that are not known here, 0x8000",
    ),
    (
        |members| {
            members.edit(0, |superblock| {
                superblock.features = superblock.features.with(Features::JOURNAL);
                superblock.events = 1;
            });
        },
        IN_ORDER,
        "the array has a journal (feature_map)",
    ),
    (
        // It was in use without the others: what it has of its own is not written over unasked.
        |members| {
            (0..2).for_each(|member| members.edit(member, |superblock| superblock.events = 9));
            members.edit(2, |superblock| superblock.roles[0] = Role::Faulty);
        },
        IN_ORDER,
        "m2?direct=no: is stale: its events are 0, those of file:m0?direct=no 9; it has to be \
        brought up to date before it counts again; write `missing` in its place",
    ),
    (
        |members| {
            (0..3).for_each(|member| {
                members.edit(member, |superblock| superblock.resync_offset_sectors = 0);
            });
        },
        "raid5(metadata=1.2, {0}, missing, {2})",
        "the array tank is not started: only with --force: file:m0?direct=no: the array was being \
        written (resync_offset 0) and lacks 1 of 3 members (member 1 is missing)",
    ),
    (
        // Another device has its place: force would start without it.
        |members| {
            (0..2).for_each(|member| {
                members.edit(member, |superblock| {
                    superblock.events = 9;
                    superblock.resync_offset_sectors = 0;
                });
            });
        },
        IN_ORDER,
        "m2?direct=no: is stale: its events are 0, those of file:m0?direct=no 9; it has to be \
        brought up to date before it counts again. Where another device has its place now, name \
        that one: `raidloom array assemble --scan [FOLDER]` shows which members are up to date. \
        With what is named here, the array tank is not started: only with --force: ",
    ),
];

#[test]
fn a_wrong_member_is_named_with_its_field() {
    for &(change, text, expected) in WRONG_MEMBERS {
        let members = Members::raid5();
        change(&members);
        let before: Vec<Vec<u8>> =
            members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
        let error = members.start(text).map(drop).expect_err(text);
        assert!(
            error.contains(expected) && !error.contains('\n'),
            "{text}:\n  {error}\n  instead of\n  {expected}"
        );
        let after: Vec<Vec<u8>> =
            members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
        assert!(before == after, "{text}: nothing is written where something is wrong");
    }
}

/// Stop, copy a member's image, start, write, stop, put the old image back: at every level with
/// redundancy, and also where md's driver ran the array meanwhile, which gives the old image as
/// many events as the others have. A start writes nothing to the old copy: `array add` does.
#[test]
fn an_old_copy_of_a_member_is_left_out_untouched_and_never_mixed_in() {
    for (level, layout, count, _) in kinds().into_iter().filter(|(.., may_miss)| *may_miss > 0) {
        for by_md in [false, true] {
            let members = Members::create(level, layout, count, |_| ());
            let text = members.found(&[]);
            let write = |seed: u64| {
                let (stack, _guard) = members.start(&text).expect("an array");
                let content = noise(seed, stack.device.info().size_bytes as usize);
                channel(&stack).write_slice(0, &content).expect("written");
                content
            };
            write(1);
            let old = fs::read(&members.paths[1]).expect("read");
            let before = members.superblock(1);
            let content = write(2);
            if by_md {
                for member in 0..count {
                    members.edit(member, |superblock| {
                        superblock.events = before.events;
                        superblock.updated.seconds = before.updated.seconds + 60;
                    });
                }
            }
            fs::write(&members.paths[1], &old).expect("put back");

            // Looking at it, it is stale, and for reading it is not used.
            let read = |text: &str, read_only: bool| {
                let (stack, _guard) = members.start_as(text, read_only).expect("an array");
                let mut found = vec![0; content.len()];
                channel(&stack).read_slice(0, &mut found).expect("read");
                (found == content, stack.notes.clone())
            };
            let found = mdtools::find(&Guard::new(Consent::default()), &members.paths);
            let status = ArrayStatus::of_superblocks(
                found.groups[0].assembly.as_ref().expect("an array"),
                &found.groups[0].candidates,
            );
            assert_eq!(
                (status.state, status.members[1].state),
                (ArrayCondition::Degraded, MemberState::Stale),
                "{level} {layout}"
            );
            assert!(status.is_readable && status.is_writable);
            let says_why = |note: &Text| {
                let note = note.english();
                note.contains("m1: is stale: ")
                    && (!by_md || note.contains("s before") && note.contains("(utime)"))
            };
            assert!(status.notes.iter().any(says_why), "{:?}", status.notes);
            let without = members.found(&[]);
            assert!(without.contains("missing"), "{without}");
            assert!(read(&without, true).0, "{level} {layout}, by md {by_md}: read without it");

            // Started as it always was, it says what becomes of it, and nothing of the old copy is
            // ever read or written, also when the array is.
            for read_only in [true, false] {
                let (is_new, notes) = read(&text, read_only);
                assert!(is_new, "{level} {layout}, by md {by_md}");
                assert!(
                    notes.iter().map(Text::english).any(|note| note.contains("m1")
                        && note.contains("is stale")
                        && note.contains("nothing is written to it: `raidloom array add`")),
                    "{notes:?}"
                );
            }
            write(3);
            assert!(
                fs::read(&members.paths[1]).expect("read") == old,
                "{level} {layout}: untouched"
            );
        }
    }
}

#[test]
fn what_may_only_be_read_can_be_read_and_force_overrules_what_it_may() {
    let members = Members::raid5();
    members.edit(1, |superblock| superblock.features = superblock.features.with(Features(0x8000)));
    let (stack, _guard) =
        members.start_as("raid5(metadata=1.2, {0}, {1}, {2})", true).expect("it can be read");
    assert!(stack.device.info().read_only);
    drop((stack, _guard));

    let members = Members::raid5();
    (0..3)
        .for_each(|member| members.edit(member, |superblock| superblock.resync_offset_sectors = 0));
    let (stack, _guard) =
        members.start("raid5(metadata=1.2, force=yes, {0}, missing, {2})").expect("forced");
    assert!(!stack.device.info().read_only);
}

#[test]
fn a_guard_that_looked_at_members_opens_them_for_writing() {
    let members = Members::raid5();
    let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
    let found = mdtools::find(&guard, &members.paths);
    let sources = found.groups[0].sources.iter();
    assert_eq!(
        sources.map(|source| PathBuf::from(source.to_string())).collect::<Vec<_>>(),
        members.paths
    );
    for path in &members.paths {
        guard.open(path, Access::Write).expect("the look is over");
    }
    // And what is held for writing, here or by a server, can still be looked at.
    let other = Guard::new(Consent::default());
    assert_eq!(mdtools::find(&other, &members.paths).groups.len(), 1);
    assert_eq!(
        other.open(&members.paths[0], Access::Read).expect_err("locked").kind(),
        ErrorKind::Refused
    );
}

#[test]
fn a_rescue_leaves_the_members_as_they_are() {
    rescue(Consistency::Resync, "--force starts it all the same");
    // Its log would be replayed by writing.
    rescue(Consistency::Ppl, "--force reads it all the same");
}

fn rescue(consistency: Consistency, advice: &str) {
    let layout = Layout::Parity(ParityLayout::LeftSymmetric);
    let members =
        Members::create(Level::Raid5, layout, 3, |wanted| wanted.consistency = consistency);
    let content = noise(SEED, 1 << 20);
    {
        let (stack, _guard) = members.start(&members.found(&[])).expect("an array");
        channel(&stack).write_slice(0, &content).expect("written");
    }
    // Dirty, and one member is gone.
    (0..3)
        .for_each(|member| members.edit(member, |superblock| superblock.resync_offset_sectors = 0));
    let before: Vec<Vec<u8>> =
        members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
    let found = mdtools::find(&Guard::new(Consent::default()), &members.paths[..2]);
    let refusal = found.groups[0]
        .stack(AssemblyOptions {
            overlay: Some(members.folder.path()),
            ..AssemblyOptions::default()
        })
        .expect_err("dirty and degraded");
    assert!(refusal.to_string().contains(advice), "{refusal}");
    let opening = AssemblyOptions {
        overlay: Some(members.folder.path()),
        force: true,
        ..AssemblyOptions::default()
    };
    let text = found.groups[0].stack(opening).expect("a text").to_string();
    let mut patched = content.clone();
    for byte in [0x55, 0x66] {
        let (stack, _guard) =
            members.start(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut channel = channel(&stack);
        let mut read = vec![0; content.len()];
        channel.read_slice(0, &mut read).expect("read");
        assert!(read == patched, "{text}: seed {SEED}: what was written before is there");
        patched[4096..12288].fill(byte);
        channel.write_slice(4096, &[byte; 8192]).expect("written");
        channel.flush().expect("flushed");
    }
    let after: Vec<Vec<u8>> =
        members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
    assert!(before == after, "a member was written");
    assert!(members.folder.path().join("tank.delta").is_file());
}

#[test]
fn destroyed_members_are_members_no_more_and_keep_their_data() {
    let members = Members::create(Level::Raid1, Layout::Plain, 2, |wanted| {
        wanted.consistency = Consistency::Bitmap { chunk_bytes: None };
    });
    let bytes = |path: &Path| fs::read(path).expect("read");
    let (before, refused) = (
        bytes(&members.paths[0]),
        mdtools::destroy(&Guard::new(Consent::default()), &members.paths),
    );
    let refused = refused.expect_err("without consent").to_string();
    assert!(
        refused.contains("--erase-signature") && bytes(&members.paths[0]) == before,
        "{refused}"
    );

    let consent = || Guard::new(Consent { erase_signature: true, ..Consent::default() });
    {
        let (_stack, _guard) = members.start("raid1(metadata=1.2, {0}, {1})").expect("an array");
        let refused =
            mdtools::destroy(&consent(), &members.paths).expect_err("it runs").to_string();
        assert!(refused.contains("in use"), "{refused}");
    }
    let before = bytes(&members.paths[0]);
    let erased = mdtools::destroy(&consent(), &members.paths).expect("erased");
    assert_eq!(said(&erased[1].was), ["active member 1 of tank"]);
    let after = bytes(&members.paths[0]);
    let changed: Vec<usize> = (0..after.len() / 4096)
        .filter(|page| before[page * 4096..][..4096] != after[page * 4096..][..4096])
        .collect();
    assert_eq!(changed, [1, 2], "the superblock's page and the bitmap's");
    let gone =
        mdtools::destroy(&consent(), &members.paths).expect_err("nothing is left").to_string();
    assert!(gone.contains("no md superblock"), "{gone}");
}

/// What can be created can be started, and the other way round: with how few members a level does
/// is the same for both, and for whole members without superblocks. mdadm makes a mirror of one
/// member and nothing else with so few that has redundancy.
#[test]
fn what_is_created_can_be_started_with_however_few_members() {
    let mut fewest = Vec::new();
    for (level, layout, ..) in kinds() {
        let layout =
            if level == Level::Raid10 { Layout::Raid10(Raid10Layout::near(1)) } else { layout };
        let mut made = Vec::new();
        for count in 1..=4 {
            let folder = tempfile::tempdir().expect("a folder");
            let paths: Vec<PathBuf> =
                (0..count).map(|number| folder.path().join(format!("m{number}"))).collect();
            let wanted = Create {
                chunk_bytes: if level.has_chunks() { CHUNK_BYTES } else { 0 },
                create_bytes: Some(MEMBER_BYTES),
                ..Create::new("few", level, layout, &paths)
            };
            let is_created = create(&wanted).is_ok();
            let whole = format!("{level}({})", vec!["ram:1MiB"; count].join(", ")).replacen(
                "raid10(",
                "raid10(layout=n1, ",
                1,
            );
            let guard = Guard::new(Consent::default());
            let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&guard) };
            let built = stack::parse_and_build(&whole, &context)
                .map(drop)
                .map_err(|error| error.to_string());
            assert_eq!(built.is_ok(), is_created, "{whole}: {built:?}");
            if is_created {
                made.push(count);
                let members = Members { folder, paths };
                let (stack, _guard) = members
                    .start(&members.found(&[]))
                    .unwrap_or_else(|error| panic!("{level} of {count}: {error}"));
                let content = noise(SEED, 128 << 10);
                let mut found = vec![0; content.len()];
                let mut channel = channel(&stack);
                channel.write_slice(512, &content).expect("written");
                channel.read_slice(512, &mut found).expect("read");
                assert!(found == content, "{level} of {count}");
            }
        }
        fewest.push((level, made[0]));
    }
    fewest.dedup();
    let expected = [
        (Level::Linear, 1),
        (Level::Raid0, 1),
        (Level::Raid1, 1),
        (Level::Raid4, 2),
        (Level::Raid5, 2),
        (Level::Raid6, 4),
    ];
    assert_eq!(fewest, expected.into_iter().chain([(Level::Raid10, 2)]).collect::<Vec<_>>());
}

/// The superblock of version 0.90 of a RAID 5 of three members, chunks of 64 KiB.
pub(crate) fn old_superblock(number: u32, member_bytes: u64) -> Vec<u8> {
    let array = testkit::OldSuperblock {
        id: 7,
        level: 5,
        layout: 2,
        chunk_bytes: 64 << 10,
        size_kib: (member_bytes - (64 << 10)) as u32 >> 10,
        count: 3,
        events: 9,
        has_bitmap: false,
    };
    array.encode(number)
}

/// Members of level 5 with superblocks of version 0.90, and what they hold.
fn old_raid5() -> (Members, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> =
        (0..3).map(|number| folder.path().join(format!("m{number}"))).collect();
    paths.iter().for_each(|path| {
        File::create(path).and_then(|file| file.set_len(MEMBER_BYTES)).expect("a file");
    });
    let members = Members { folder, paths };
    let data_bytes = MEMBER_BYTES - (64 << 10);
    let part = |number: usize| {
        format!("file:{}?direct=no&size={data_bytes}", members.paths[number].display())
    };
    let text = format!("raid5(metadata=none, chunk=64KiB, {}, {}, {})", part(0), part(1), part(2));
    let (stack, guard) = members.start(&text).expect("whole members");
    let content = noise(SEED, stack.device.info().size_bytes as usize);
    channel(&stack).write_slice(0, &content).expect("written");
    drop((stack, guard));
    for (number, path) in (0..).zip(&members.paths) {
        let file = OpenOptions::new().write(true).open(path).expect("a member");
        file.write_all_at(&old_superblock(number, MEMBER_BYTES), data_bytes).expect("written");
    }
    (members, content)
}

/// Whatever version a superblock has, its members are not used whole without a word.
#[test]
fn members_of_every_version_pass_no_guard_of_raw_stacks() {
    let (members, _) = old_raid5();
    for text in [
        "raid1({0}, {1})",
        "linear({0}, {1})",
        "raid0({0}, {1})",
        "raid5({0}, {1}, {2})",
        "raid5({0}, missing, {2})",
    ] {
        let error = members.start(text).map(drop).expect_err(text);
        assert!(
            error.contains("m0?direct=no carries an md superblock")
                && error.contains("metadata=0.90 uses the array"),
            "{error}"
        );
    }
    let (stack, _guard) = members.start("raid1(metadata=none, {0}, {1})").expect("it was said");
    assert_eq!(stack.device.info().size_bytes, MEMBER_BYTES);
}

/// What the firmware of a mainboard or controller has written at the end of a drive: `create` asks,
/// and so does a raw stack.
#[test]
fn a_raw_stack_over_members_of_a_firmware_raid_asks_as_create_does() {
    let intel: &[u8] = b"Intel Raid ISM Cfg Sig. 1.3.00";
    for (format, from_end, mark) in [
        ("DDF", 512, &[0xde, 0x11, 0xde, 0x11][..]),
        ("DDF", 4096, &[0xde, 0x11, 0xde, 0x11]),
        ("DDF", 257 * 512, &[0xde, 0x11, 0xde, 0x11]),
        ("Intel", 1024, intel),
        ("Intel", 2 * 4096, intel),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = ["m0", "m1"].map(|name| folder.path().join(name)).into();
        for path in &paths {
            fs::write(path, vec![0; MEMBER_BYTES as usize]).expect("written");
            let file = OpenOptions::new().write(true).open(path).expect("a member");
            file.write_all_at(mark, MEMBER_BYTES - from_end).expect("written");
        }
        let before = held(&paths);
        let wanted = Create::new("tank", Level::Raid1, Layout::Plain, &paths);
        let error = create(&wanted).expect_err("refused").to_string();
        assert!(error.contains(&format!("firmware RAID member ({format})")), "{error}");
        let members = Members { folder, paths };
        for text in ["raid1({0}, {1})", "raid0({1}, {0})", "linear({0})", "raid1(missing, {1})"] {
            let error = members.start(text).map(drop).expect_err(text);
            let said = format!("is a member of a firmware RAID ({format})");
            assert!(error.contains(&said) && error.contains("metadata=none"), "{error}");
        }
        assert!(held(&members.paths) == before, "{format}: something was written");
        let (stack, _guard) = members.start("raid1(metadata=none, {0}, {1})").expect("it was said");
        assert_eq!(stack.device.info().size_bytes, MEMBER_BYTES);
    }
}

/// A field that no superblock can have, with a checksum that is right.
fn damage(path: &Path, field: u64, value: u32) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("a member");
    let mut bytes = vec![0; 4096];
    file.read_exact_at(&mut bytes, 4096).expect("a superblock");
    bytes[field as usize..][..4].copy_from_slice(&value.to_le_bytes());
    bytes[216..220].fill(0);
    let role_count = u32::from_le_bytes(bytes[220..224].try_into().expect("four bytes")).min(1920);
    let words = bytes[..256 + 2 * role_count as usize].chunks(4).map(|word| {
        let mut whole = [0; 4];
        whole[..word.len()].copy_from_slice(word);
        u64::from(u32::from_le_bytes(whole))
    });
    let sum: u64 = words.sum();
    let checksum = (sum as u32).wrapping_add((sum >> 32) as u32);
    bytes[216..220].copy_from_slice(&checksum.to_le_bytes());
    file.write_all_at(&bytes, 4096).expect("written");
}

/// "A damaged superblock is called damaged, as one with a wrong checksum is": where one is looked
/// for, where its member is used whole, and where it would be written over.
#[test]
fn a_damaged_superblock_is_not_an_absent_one() {
    // More roles than there is room for (max_dev), and padding that is none (pad0).
    for (field, value) in [(220, 1921), (12, 7), (220, u32::MAX)] {
        let members = Members::raid5();
        let path = &members.paths[1];
        damage(path, field, value);
        let guard = Guard::new(Consent::default());
        let examined = mdtools::examine(&guard, &MemberSource::from(path.clone())).expect("read");
        assert!(examined.found.is_empty() && examined.damaged.len() == 1, "{examined:?}");
        let said = examined.no_superblock_text();
        assert!(said.english().contains("its superblock of version 1.2 is damaged"), "{said}");
        let found = mdtools::find(&guard, &members.paths);
        assert!(found.without.is_empty(), "{:?}", found.without);
        let [passed] = &found.passed_over[..] else { panic!("{found:?}") };
        assert_eq!((&passed.source, &passed.why), (&MemberSource::from(path.clone()), &said));
        assert_eq!(found.groups[0].sources.len(), 2);
        drop(guard);
        for (text, said) in [
            ("raid5(metadata=1.2, {0}, {1}, {2})", "its superblock of version 1.2 is damaged"),
            ("raid1(metadata=none, {0}, missing)", ""),
            ("raid1({1}, missing)", "superblock of version 1.2 that is damaged"),
        ] {
            let started = members.start(text).map(drop);
            let error = started.err().unwrap_or_default();
            assert!(error.contains(said) && error.is_empty() == said.is_empty(), "{text}: {error}");
        }
        let wanted = Create {
            chunk_bytes: CHUNK_BYTES,
            members: vec![Some(path.clone().into())],
            ..Create::new("other", Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), &[])
        };
        let error = create(&wanted).expect_err("refused").to_string();
        assert!(error.contains("it carries a signature: md array member"), "{error}");
    }
}

#[test]
fn old_superblocks_are_read_and_never_written() {
    let (members, content) = old_raid5();
    let before: Vec<Vec<u8>> =
        members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
    for absent in [None, Some(1)] {
        let present: Vec<PathBuf> = members
            .paths
            .iter()
            .enumerate()
            .filter(|(number, _)| Some(*number) != absent)
            .map(|(_, path)| path.clone())
            .collect();
        let found = mdtools::find(&Guard::new(Consent::default()), &present);
        let group = &found.groups[0];
        let refusal =
            group.stack(AssemblyOptions::default()).expect_err("it would be written").to_string();
        let says = [
            "version 0.90, which raidloom reads and never writes",
            "--read-only, or --overlay DIR",
        ];
        assert!(says.iter().all(|part| refusal.contains(part)), "{refusal}");
        let text = group
            .stack(AssemblyOptions { read_only: true, ..AssemblyOptions::default() })
            .expect("a text")
            .to_string();
        assert!(text.starts_with("raid5(metadata=0.90, "), "{text}");
        let error =
            members.start(&text.replace("?read_only=yes", "")).map(drop).expect_err("for writing");
        assert!(error.contains("may only be read") && error.contains("0.90"), "{error}");
        let (stack, _guard) = members.start_as(&text, true).expect("for reading");
        let mut found = vec![0; content.len()];
        channel(&stack).read_slice(0, &mut found).expect("read");
        assert!(found == content && stack.device.info().read_only, "without {absent:?}");
    }
    // What is written to try it out goes to a delta.
    let found = mdtools::find(&Guard::new(Consent::default()), &members.paths);
    let opening =
        AssemblyOptions { overlay: Some(members.folder.path()), ..AssemblyOptions::default() };
    let text = found.groups[0].stack(opening).expect("a text").to_string();
    {
        let (stack, _guard) = members.start(&text).expect("an array");
        let mut channel = channel(&stack);
        channel.write_slice(4096, &[9; 4096]).expect("written");
        let mut found = vec![0; 8192];
        channel.read_slice(0, &mut found).expect("read");
        assert!(found[..4096] == content[..4096] && found[4096..] == [9; 4096]);
    }
    let after: Vec<Vec<u8>> =
        members.paths.iter().map(|path| fs::read(path).expect("read")).collect();
    assert!(before == after, "the members are as they were");
    let erased = mdtools::destroy(
        &Guard::new(Consent { erase_signature: true, ..Consent::default() }),
        &members.paths,
    )
    .expect("erased");
    assert_eq!(said(&erased[1].was), ["active member 1 of md0"]);
}

#[test]
fn the_status_of_what_does_not_run_is_what_superblocks_say() {
    let members =
        Members::create(Level::Raid6, Layout::Parity(ParityLayout::LeftSymmetric), 5, |_| ());
    (0..3).for_each(|member| members.edit(member, |superblock| superblock.events = 9));
    members.edit(4, |superblock| {
        superblock.events = 9;
        superblock.features = superblock.features.with(Features::RECOVERY_OFFSET);
        superblock.recovery_offset_sectors = 2048;
    });
    members.edit(0, |superblock| superblock.roles[1] = Role::Active(1));
    let found = mdtools::find(&Guard::new(Consent::default()), &members.paths);
    let group = &found.groups[0];
    let status =
        ArrayStatus::of_superblocks(group.assembly.as_ref().expect("an array"), &group.candidates);
    let states: Vec<MemberState> = status.members.iter().map(|member| member.state).collect();
    let (online, stale, rebuild) = (MemberState::Online, MemberState::Stale, MemberState::Rebuild);
    assert_eq!(states, [online, online, online, stale, rebuild], "{status:#?}");
    assert_eq!(
        (status.state, status.slots.as_str(), status.events),
        (ArrayCondition::Degraded, "[UUU__]", 9)
    );
    assert_eq!(status.members[4].rebuilt_bytes, Some(1 << 20));
    assert!(status.notes[0].english().contains("is stale"), "{status:?}");
    let action = status.action("t").expect("something to do");
    assert!(
        action.starts_with("bring the stale member up to date when it runs: raidloom array add t "),
        "{action}"
    );
}

/// Writes into what a member has at so many sectors from its superblock.
fn scribble(members: &Members, member: usize, offset_sectors: i32, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(&members.paths[member]).expect("a member");
    let place = u64::try_from(8 + i64::from(offset_sectors)).expect("a place") * 512 + at;
    file.write_all_at(bytes, place).expect("written");
}

fn damaged_bad_blocks(members: &Members) {
    members.edit(1, |superblock| {
        superblock.features = superblock.features.with(Features::BAD_BLOCKS);
    });
    // A run of no sectors.
    let place = members.superblock(1).bad_block_offset_sectors;
    scribble(members, 1, place, 0, &0x400_u64.to_le_bytes());
}

fn set_bitmap_version(members: &Members, version: u8) {
    for member in 0..3 {
        let place = members.superblock(member).bitmap_offset_sectors;
        scribble(members, member, place, 4, &[version, 0, 0, 0]);
    }
}

fn damaged_bitmap(members: &Members) {
    set_bitmap_version(members, 9);
}

fn bitmap_of_another_version(members: &Members) {
    set_bitmap_version(members, 6);
}
fn dirty_without_one(members: &Members) {
    members.edit(0, |superblock| superblock.resync_offset_sectors = 0);
    members.edit(1, |superblock| superblock.resync_offset_sectors = 0);
    fs::remove_file(&members.paths[2]).expect("removed");
}

fn unknown_feature(members: &Members) {
    members.edit(1, |superblock| superblock.features = superblock.features.with(Features(0x8000)));
}

fn without_two(members: &Members) {
    fs::remove_file(&members.paths[1]).expect("removed");
    fs::remove_file(&members.paths[2]).expect("removed");
}

/// Whether what is shown of members is what a start does with them; `expected` is whether they are
/// started as they are, read-only and by force.
fn check_assembly(
    members: &Members,
    what: &str,
    (read_only, force): (bool, bool),
    expected: [bool; 3],
    number: usize,
    state: ArrayCondition,
) {
    let there: Vec<PathBuf> = members.paths.iter().filter(|path| path.exists()).cloned().collect();
    let found = mdtools::find(&Guard::new(Consent::default()), &there);
    let group = &found.groups[0];
    let assembly = group.assembly.as_ref().expect("an array");
    let status = ArrayStatus::of_superblocks(assembly, &group.candidates);
    assert_eq!(status.state, state, "{what}: {:?}", status.notes);
    assert_eq!(
        (status.is_writable, status.is_readable),
        (expected[0], expected[1]),
        "{what}: {:?}",
        status.notes
    );
    let opening = AssemblyOptions { read_only, force, overlay: None };
    let shown = group.stack(opening).map(|stack| stack.to_string());
    assert_eq!(shown.is_ok(), expected[number], "{what}, {opening:?}: {shown:?}");
    let places: Vec<String> = (0..3)
        .map(|place| match members.paths[place].exists() {
            true => format!("{{{place}}}"),
            false => "missing".to_owned(),
        })
        .collect();
    let force = if force { "force=yes, " } else { "" };
    let by_hand = format!("raid5(metadata=1.2, {force}{})", places.join(", "));
    let started = members.start_as(&by_hand, read_only);
    assert_eq!(started.is_ok(), expected[number], "{what}: {by_hand}: {:?}", started.err());
    drop(started);
    if let Ok(shown) = shown {
        members.start_as(&shown, read_only).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// "`assemble` says ONLINE to what `start` refuses": whatever is wrong with the members, the text
/// that is shown starts, and where none is shown nothing starts. A damaged extra bars neither
/// reading nor force.
#[test]
fn what_assemble_says_is_what_a_start_does() {
    // Whether it is started: as it is, read-only, by force.
    for (what, consistency, harm, expected, state) in [
        (
            "nothing",
            Consistency::Resync,
            (|_| ()) as fn(&Members),
            [true; 3],
            ArrayCondition::Online,
        ),
        (
            "a bad-block log",
            Consistency::Resync,
            damaged_bad_blocks,
            [false, true, true],
            ArrayCondition::Unusable,
        ),
        (
            "a bitmap",
            Consistency::Bitmap { chunk_bytes: None },
            damaged_bitmap,
            [true; 3],
            ArrayCondition::Online,
        ),
        (
            "a bitmap of another version",
            Consistency::Bitmap { chunk_bytes: None },
            bitmap_of_another_version,
            [false, true, true],
            ArrayCondition::Unusable,
        ),
        (
            "a dirty array lacks one",
            Consistency::Resync,
            dirty_without_one,
            [false, false, true],
            ArrayCondition::Unusable,
        ),
        (
            "an unknown feature",
            Consistency::Resync,
            unknown_feature,
            [false, true, false],
            ArrayCondition::Online,
        ),
        (
            "two of three are gone",
            Consistency::Resync,
            without_two,
            [false; 3],
            ArrayCondition::Failed,
        ),
    ] {
        for (number, (read_only, force)) in
            [(false, false), (true, false), (false, true)].into_iter().enumerate()
        {
            let members = Members::create(
                Level::Raid5,
                Layout::Parity(ParityLayout::LeftSymmetric),
                3,
                |wanted| wanted.consistency = consistency,
            );
            harm(&members);
            check_assembly(&members, what, (read_only, force), expected, number, state);
        }
    }
}

/// A level without redundancy whose members differ in their events has nothing to stand in for any
/// of them: force opens it, for reading too, and says what may be wrong.
#[test]
fn members_of_a_level_without_redundancy_that_are_behind_are_taken_by_force() {
    let members =
        Members::create(Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), 2, |_| ());
    members.edit(0, |superblock| superblock.events = 17);
    members.edit(1, |superblock| superblock.events = 900);
    let found = mdtools::find(&Guard::new(Consent::default()), &members.paths);
    let error = found.groups[0].stack(AssemblyOptions::default()).expect_err("not without force");
    for text in ["its events are 17", "may be older than the rest", "with --read-only first"] {
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = members.start("raid0(metadata=1.2, {0}, {1})").map(drop).expect_err("as it is");
    assert!(error.contains("may be older than the rest"), "{error}");
    for read_only in [true, false] {
        let opening = AssemblyOptions { read_only, force: true, overlay: None };
        let text = found.groups[0].stack(opening).expect("by force").to_string();
        let (stack, _guard) = members.start_as(&text, read_only).expect("by force");
        assert_eq!(stack.device.info().read_only, read_only);
    }
}

/// One file under two names would get two superblocks, one over the other.
#[test]
fn an_array_is_not_made_of_one_file_under_two_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::File::create(path("a")).expect("made").set_len(MEMBER_BYTES).expect("sized");
    std::fs::hard_link(path("a"), path("b")).expect("linked");
    for (members, spares) in
        [(vec![path("a"), path("b")], vec![]), (vec![path("a"), path("new")], vec![path("b")])]
    {
        let wanted = Create {
            members: members.into_iter().map(|path: PathBuf| Some(path.into())).collect(),
            spares: spares.into_iter().map(|path: PathBuf| path.into()).collect(),
            create_bytes: Some(MEMBER_BYTES),
            ..Create::new("tank", Level::Raid1, Layout::Plain, &[])
        };
        let error = create(&wanted).expect_err("refused");
        assert!(
            error.exit_code() == 2 && error.to_string().contains("are the same file"),
            "{error}"
        );
        assert!(
            std::fs::read(path("a")).expect("read").iter().all(|byte| *byte == 0),
            "something was written"
        );
        assert!(!path("new").exists());
    }
}

#[test]
fn a_second_name_of_a_member_is_passed_over() {
    let members = Members::raid5();
    let link = members.folder.path().join("link");
    std::fs::hard_link(&members.paths[0], &link).expect("linked");
    let paths: Vec<PathBuf> = members.paths.iter().chain([&link]).cloned().collect();
    let found = mdtools::find(&Guard::new(Consent::default()), &paths);
    assert_eq!(
        (found.groups.len(), found.groups[0].sources.len(), found.passed_over.len()),
        (1, 3, 1)
    );
    assert!(
        found.passed_over[0].why.english().contains("are the same file"),
        "{:?}",
        found.passed_over
    );
}

fn held(paths: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    paths.iter().map(|path| fs::read(path).ok()).collect()
}

/// Larger than any file may be, ended by the user, or with settings that make no array: what was
/// made is gone, and what was there is as it was.
#[test]
fn what_was_made_for_an_array_is_undone_when_it_cannot_be_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("there"), vec![0; MEMBER_BYTES as usize]).expect("written");
    File::create(path("empty")).expect("made");
    let paths = ["there", "new", "empty", "other"].map(path);
    let before = held(&paths);
    let sound = Create {
        chunk_bytes: CHUNK_BYTES,
        create_bytes: Some(MEMBER_BYTES),
        ..Create::new("tank", Level::Raid6, Layout::Parity(ParityLayout::LeftSymmetric), &paths)
    };
    for (wanted, stopped) in [
        (Create { create_bytes: Some(1 << 60), ..sound.clone() }, false),
        // A log of partial parity is for RAID 5.
        (Create { consistency: Consistency::Ppl, ..sound.clone() }, false),
        (sound, true),
    ] {
        let stop = AtomicBool::new(stopped);
        let created = mdtools::create(&Guard::new(Consent::default()), &wanted, &stop);
        assert!(created.is_err(), "{wanted:?}, {stopped}");
        assert!(held(&paths) == before, "{wanted:?}, {stopped}");
    }
}

/// "A drive with blocks of 4 KiB is given to an array with blocks of 512": refused, and byte for
/// byte what it was; the array knows nothing of it either.
#[test]
fn a_device_that_does_not_fit_is_not_written() {
    let members =
        Members::create(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 4, |_| ());
    let (stack, _guard) =
        members.start("raid5(metadata=1.2, {0}, {1}, {2}, missing)").expect("runs");
    let running = &stack.arrays.running()[0];
    let path = members.folder.path().join("large-blocks");
    fs::write(&path, vec![0x5a; MEMBER_BYTES as usize]).expect("written");
    let former = members.paths[3].clone();
    for path in [path, former] {
        let before = fs::read(&path).expect("read");
        let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
        let context = BuildContext { seed: 1, ..BuildContext::new(&guard) };
        let text = format!("file:{}?block=4KiB&direct=no", path.display());
        let large = stack::parse_and_build(&text, &context).expect("a device");
        let reactor = Reactor::wall().expect("a reactor");
        let events = running.status().events;
        let spare = running.make_spare(&large.device, [7; 16], &reactor).map(drop);
        let member = running.add_to_slot(3, &large.device, [7; 16], &reactor).map(drop);
        for refused in [spare, member] {
            let refused = refused.expect_err("blocks of 4 KiB");
            assert!(refused.to_string().contains("blocks of 4096 bytes"), "{refused}");
        }
        assert_eq!(running.status().events, events);
        drop(large);
        assert!(fs::read(&path).expect("read") == before, "{} was written", path.display());
    }
}

/// A cache over an array is bound to the array, not to the files that were its members: they may
/// all be exchanged. An older state of it, another array, and one that was written to without the
/// cache are told from it.
#[test]
fn a_kept_cache_knows_its_array_when_all_members_have_been_exchanged() {
    let members = Members::create(Level::Raid1, Layout::Plain, 2, |_| ());
    let path = |name: &str| members.folder.path().join(name);
    let copy = |names: [&str; 2]| {
        for (from, to) in members.paths.iter().zip(names) {
            fs::copy(from, path(to)).expect("copied");
        }
    };
    let text = |names: [&str; 2]| {
        let [one, two] = names.map(|name| format!("file:{}?direct=no", path(name).display()));
        let store = path("store");
        format!(
            "cache(mode=write-back, writeback_idle=0, file:{}?size=8MiB&direct=no, \
            raid1(metadata=1.2, {one}, {two}))",
            store.display()
        )
    };
    copy(["old0", "old1"]);
    let content = noise(SEED, 64 << 10);
    {
        let (stack, _guard) = members.start(&text(["m0", "m1"])).expect("a cache");
        let mut channel = channel(&stack);
        channel.write_slice(0, &noise(SEED + 1, 1 << 20)).expect("written");
        stack.caches[0].flush().expect("written out");
        channel.write_slice(4096, &content).expect("written");
        channel.flush().expect("flushed");
    }
    copy(["s0", "s1"]);
    let refused = members.start(&text(["old0", "old1"])).map(drop).expect_err("an older state");
    assert!(refused.contains("in the meantime") || refused.contains("older"), "{refused}");
    {
        let (stack, _guard) = members.start(&text(["s0", "s1"])).expect("the same array");
        let mut found = vec![0; content.len()];
        let mut channel = channel(&stack);
        channel.read_slice(4096, &mut found).expect("read");
        assert!(found == content, "what was dirty is there");
        channel.write_slice(4096, &content).expect("written");
        channel.flush().expect("flushed");
    }
    {
        // Without its cache.
        let (stack, _guard) = members
            .start(&{
                let [one, two] =
                    ["s0", "s1"].map(|name| format!("file:{}?direct=no", path(name).display()));
                format!("raid1(metadata=1.2, {one}, {two})")
            })
            .expect("an array");
        channel(&stack).write_slice(0, &[1; 4096]).expect("written");
    }
    let refused = members.start(&text(["s0", "s1"])).map(drop).expect_err("it was written to");
    assert!(refused.contains("in the meantime"), "{refused}");
    let other = Members::create(Level::Raid1, Layout::Plain, 2, |_| ());
    for (from, to) in other.paths.iter().zip(["x0", "x1"]) {
        fs::copy(from, path(to)).expect("copied");
    }
    let refused = members.start(&text(["x0", "x1"])).map(drop).expect_err("another array");
    assert!(refused.contains("another"), "{refused}");
}

/// Images of whole disks, each with a partition table and the member in a partition: found, put
/// together, created, erased and exchanged where they are.
#[test]
fn members_in_the_partitions_of_disk_images_are_found_where_they_are() {
    const START: u64 = 4 << 20;
    let members = Members::create(Level::Raid1, Layout::Plain, 2, |_| ());
    let folder = members.folder.path();
    let disk = |number: usize| folder.join(format!("disk{number}.img"));
    for number in 0..2 {
        let file = File::create(disk(number)).expect("made");
        file.set_len(START + MEMBER_BYTES + (1 << 20)).expect("sized");
        let mut table = [0; 512];
        table[450] = 0xfd;
        table[454..458].copy_from_slice(&((START / 512) as u32).to_le_bytes());
        table[458..462].copy_from_slice(&((MEMBER_BYTES / 512) as u32).to_le_bytes());
        table[510..].copy_from_slice(&[0x55, 0xaa]);
        file.write_all_at(&table, 0).expect("written");
        let bytes = fs::read(&members.paths[number]).expect("read");
        file.write_all_at(&bytes, START).expect("written");
        fs::remove_file(&members.paths[number]).expect("removed");
    }
    let guard = Guard::new(Consent::default());
    let all = mdtools::members_in(&[folder.to_owned()]).expect("a folder");
    let found = mdtools::find(&guard, &all);
    assert_eq!((found.groups.len(), found.groups[0].sources.len()), (1, 2), "{found:?}");
    let text = found.groups[0].stack(AssemblyOptions::default()).expect("an array").to_string();
    assert!(text.contains("disk0.img?offset=4MiB&size=3MiB"), "{text}");
    drop(members.start(&text).expect("it starts"));
    let whole = MemberSource::from(disk(0));
    let part = mdtools::raid_partition(&guard, &whole).expect("read").expect("one");
    assert_eq!((part.offset_bytes, part.size_bytes), (START, Some(MEMBER_BYTES)));
    let looked = mdtools::look(&guard, &whole).expect("read");
    assert_eq!((looked.len(), &looked[0].source), (1, &part));
    let consent = Guard::new(Consent { erase_signature: true, ..Consent::default() });
    let before = fs::read(disk(0)).expect("read");
    mdtools::destroy(&consent, std::slice::from_ref(&part)).expect("erased");
    let after = fs::read(disk(0)).expect("read");
    let changed: Vec<usize> = (0..after.len() / 4096)
        .filter(|page| before[page * 4096..][..4096] != after[page * 4096..][..4096])
        .collect();
    assert_eq!(changed, [(START / 4096) as usize + 1], "the superblock's page");
    assert!(mdtools::examine(&guard, &part).expect("read").found.is_empty());
}

/// Names of one member in a folder: links to files and devices are followed, and count once.
#[test]
fn a_folder_means_what_it_holds_and_links_to_it() {
    let members = Members::raid5();
    let folder = tempfile::tempdir().expect("a folder");
    for (number, path) in members.paths.iter().enumerate() {
        for name in ["a", "z"] {
            let link = folder.path().join(format!("{name}{number}"));
            std::os::unix::fs::symlink(path, link).expect("linked");
        }
    }
    std::os::unix::fs::symlink("nowhere", folder.path().join("b")).expect("linked");
    let all = mdtools::members_in(&[folder.path().to_owned()]).expect("a folder");
    let names: Vec<String> = all
        .iter()
        .map(|source| source.node().file_path().expect("a path").display().to_string())
        .collect();
    assert_eq!(names, [0, 1, 2].map(|number| format!("{}/a{number}", folder.path().display())));
    let found = mdtools::find(&Guard::new(Consent::default()), &all);
    assert_eq!((found.groups.len(), found.groups[0].sources.len()), (1, 3));
    // Without a word all block devices are meant, of which there may be none here.
    let devices = mdtools::members_in(&[]).expect("sysfs");
    assert!(
        devices.iter().all(|device| device.path().is_some_and(|path| path.starts_with("/dev"))),
        "{devices:?}"
    );
}

/// "A member called $'inv\\xff.img'": the text that is printed for it opens it.
#[test]
fn a_member_whose_name_is_not_utf_8_is_opened_by_what_is_printed_for_it() {
    use std::os::unix::ffi::OsStrExt;
    let members = Members::raid5();
    let odd = members.folder.path().join(std::ffi::OsStr::from_bytes(b"inv\xff.img"));
    fs::rename(&members.paths[1], &odd).expect("renamed");
    let all = mdtools::members_in(&[members.folder.path().to_owned()]).expect("a folder");
    let found = mdtools::find(&Guard::new(Consent::default()), &all);
    let text = found.groups[0].stack(AssemblyOptions::default()).expect("an array").to_string();
    assert!(text.contains("inv\\xff.img"), "{text}");
    let (stack, _guard) = members.start(&text).expect("it starts");
    let described = stack.device.describe().to_string();
    drop(stack);
    drop(_guard);
    drop(members.start(&described).expect("it starts by what it says of itself"));
    let candidate = &found.groups[0].candidates;
    let named = candidate.iter().find(|candidate| candidate.name.contains("inv")).expect("one");
    let source = MemberSource::parse(Path::new(&named.name)).expect("a name");
    assert_eq!(source.path(), Some(&*odd));
}

/// A copy of a member beside it: the slot is neither's, and the array is not opened.
#[test]
fn a_slot_that_two_files_claim_is_undecided() {
    let members = Members::raid5();
    let copy = members.folder.path().join("copy");
    fs::copy(&members.paths[1], &copy).expect("copied");
    let all: Vec<PathBuf> = members.paths.iter().chain([&copy]).cloned().collect();
    let found = mdtools::find(&Guard::new(Consent::default()), &all);
    let group = &found.groups[0];
    let status =
        ArrayStatus::of_superblocks(group.assembly.as_ref().expect("an array"), &group.candidates);
    assert_eq!((status.state, status.slots.as_str()), (ArrayCondition::Unusable, "[U?U]"));
    assert_eq!(status.members[1].state, MemberState::Undecided);
    let name = status.members[1].name.clone().expect("both");
    assert!(name.contains("m1") && name.contains(" or ") && name.contains("copy"), "{name}");
    let action = status.action("tank").expect("something to do");
    assert!(action.contains("claim member 1"), "{action}");
    assert!(group.stack(AssemblyOptions { force: true, ..AssemblyOptions::default() }).is_err());
}

#[test]
fn a_name_that_no_line_can_hold_is_refused() {
    for name in ["", "a\nb", "a\tb", "\u{1b}[31m"] {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = ["a", "b"].map(|member| folder.path().join(member)).into();
        let wanted = Create {
            create_bytes: Some(MEMBER_BYTES),
            ..Create::new(name, Level::Raid1, Layout::Plain, &paths)
        };
        let error = create(&wanted).expect_err("refused");
        assert!(error.to_string().contains("control character"), "{error}");
        assert!(paths.iter().all(|path| !path.exists()), "{name:?}");
    }
}
