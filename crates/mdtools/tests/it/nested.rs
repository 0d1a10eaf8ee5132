//! Arrays whose members are arrays: made in one go, by superblocks at every level.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use array::md::{Consistency, Layout, Level, Startability, Superblock};
use array::{ParityLayout, Raid0Layout};
use block::{Blocking, Node, Reactor};
use host::guard::{Consent, Guard};
use mdtools::{
    ArrayCondition, ArrayStatus, AssemblyOptions, Create, CreateMember, CreatedArray, FoundArrays,
    Group,
};
use reactor::Random;
use stack::{BuildContext, Stack};

const MEMBER_BYTES: u64 = 4 << 20;

/// A folder in which stack texts name files by a letter.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `raid1(@a, @b)` with the paths of `a` and `b`.
    fn text(&self, text: &str) -> String {
        text.replace('@', &format!("{}/", self.0.path().display()))
    }

    fn wanted(&self, level: Level, members: &[&str]) -> Create {
        let parsed = |text: &&str| {
            let member = CreateMember::parse(Path::new(&self.text(text)));
            (*text != "missing").then(|| member.expect("a member"))
        };
        let layout = match level {
            Level::Raid0 => Layout::Raid0(Some(Raid0Layout::Original)),
            Level::Raid5 | Level::Raid6 => Layout::Parity(ParityLayout::LeftSymmetric),
            _ => Layout::Plain,
        };
        Create {
            chunk_bytes: if level.has_chunks() { 64 << 10 } else { 0 },
            members: members.iter().map(parsed).collect(),
            create_bytes: Some(MEMBER_BYTES),
            ..Create::new("tank", level, layout, &[])
        }
    }

    /// All files, with what they hold.
    fn held(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = fs::read_dir(self.0.path()).expect("a folder");
        let mut paths: Vec<PathBuf> = paths.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("read"))).collect()
    }
}

fn create(wanted: &Create) -> Result<CreatedArray, host::Error> {
    mdtools::create(&Guard::new(Consent::default()), wanted, &AtomicBool::new(false))
}

/// Starts a stack; leaves whose path ends in one of `absent` are missing.
fn start(node: &Node, absent: &[&str], read_only: bool) -> (Stack, Guard) {
    let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
    let context = BuildContext { seed: 1, read_only, emulate: true, ..BuildContext::new(&guard) };
    let node = without(node, absent);
    let stack = stack::build(&node, &context).unwrap_or_else(|error| panic!("{node}: {error}"));
    (stack, guard)
}

fn without(node: &Node, absent: &[&str]) -> Node {
    match node {
        Node::Layer { name, options, children } => Node::Layer {
            name: name.clone(),
            options: options.clone(),
            children: children.iter().map(|child| without(child, absent)).collect(),
        },
        leaf => match leaf.file_path() {
            Some(path) if absent.iter().any(|name| path.ends_with(name)) => Node::Missing,
            _ => leaf.clone().with("direct", "no"),
        },
    }
}

fn read(stack: &Stack, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut channel =
        Blocking::open(&*stack.device, &Reactor::wall().expect("a reactor")).expect("a channel");
    channel.read_slice(offset, &mut bytes).expect("read");
    bytes
}

/// Each array by itself holds the superblock of the one above it, where md looks for it, and the
/// members carry the names that tell which is which.
fn superblocks_are_where_md_looks(created: &CreatedArray, name: &str) {
    for below in &created.below {
        let own = below.superblocks[0].name();
        assert!(own.starts_with(&format!("{name}-")), "{own}");
        let (stack, _guard) = start(&below.stack, &[], true);
        assert_eq!(below.size_bytes, Some(stack.device.info().size_bytes));
        let found = Superblock::decode(&read(&stack, 4096, 4096)).expect("a superblock");
        assert_eq!(found.name(), name);
        let is_its = |superblock: &Superblock| superblock.device_uuid == found.device_uuid;
        assert!(created.superblocks.iter().any(is_its), "{own} holds {found:?}");
        drop(stack);
        superblocks_are_where_md_looks(below, &own);
    }
}

#[test]
fn arrays_of_arrays_are_made_and_start_as_they_were_made() {
    let chunked = |level: &str, files: &str| format!("{level}(chunk=64KiB, {files})");
    let [left, right] = ["@a, @b, @c", "@d, @e, @f"].map(|files| chunked("raid5", files));
    let cases: Vec<(Level, Vec<&str>, &[&str])> = vec![
        (Level::Raid0, vec!["raid1(@a, @b)", "raid1(@c, @d)"], &["a", "d"]),
        (Level::Raid1, vec!["raid0(chunk=4KiB, @a, @b)", "raid0(@c, @d)"], &[]),
        (Level::Raid0, vec![&left, &right], &["b", "d"]),
        (Level::Raid5, vec!["linear(@a, @b)", "@c", "raid1(metadata=1.2, @d, @e)"], &["e"]),
        (Level::Raid5, vec!["raid1(@a, missing)", "missing", "raid1(@b, @c)"], &["c"]),
        (Level::Linear, vec!["raid1(raid0(@a, @b), raid0(@c, @d))", "@e"], &[]),
    ];
    for (level, members, absent) in cases {
        let files = Files::new();
        let created = create(&files.wanted(level, &members)).expect("an array");
        superblocks_are_where_md_looks(&created, "tank");
        let mut content = vec![0; 300 << 10];
        Random::with_seed(7).fill(&mut content);
        let (stack, guard) = start(&created.stack, &[], false);
        assert_eq!(created.size_bytes, Some(stack.device.info().size_bytes), "{members:?}");
        let mut channel = Blocking::open(&*stack.device, &Reactor::wall().expect("a reactor"))
            .expect("a channel");
        channel.write_slice(512, &content).expect("written");
        drop(channel);
        stack.end().expect("ended");
        drop(guard);
        let (stack, _guard) = start(&created.stack, absent, true);
        assert!(read(&stack, 512, content.len()) == content, "{members:?}, without {absent:?}");
    }
}

/// An array that is made blank carries nothing that its members held: files of the array that they
/// were members of before, with the same layout, are not taken for its own.
#[test]
fn a_blank_array_shows_nothing_of_what_its_members_held() {
    let cases: Vec<(Level, Vec<&str>)> = vec![
        (Level::Raid0, vec!["@a", "@b", "@c"]),
        (Level::Raid1, vec!["@a", "@b"]),
        (Level::Raid5, vec!["@a", "@b", "@c"]),
        (Level::Raid6, vec!["@a", "@b", "@c", "@d"]),
        (Level::Raid1, vec!["raid0(@a, @b)", "raid0(@c, @d)"]),
    ];
    for (level, members) in cases {
        for blank in [false, true] {
            let files = Files::new();
            let wanted = Create { blank, ..files.wanted(level, &members) };
            let (stack, guard) = start(&create(&wanted).expect("an array").stack, &[], false);
            let mut channel = Blocking::open(&*stack.device, &Reactor::wall().expect("a reactor"))
                .expect("a channel");
            let last = stack.device.info().size_bytes - 512;
            let marks: [(u64, usize, &[u8]); 3] =
                [(0, 0, b"XFSB"), (0x1_0000, 0x40, b"_BHRfS_M"), (last, 0, b"used")];
            for (offset, within, mark) in marks {
                let mut sector = [0; 512];
                sector[within..within + mark.len()].copy_from_slice(mark);
                channel.write_slice(offset, &sector).expect("written");
            }
            drop(channel);
            stack.end().expect("ended");
            drop(guard);
            let consent = Consent { erase_signature: true, ..Consent::default() };
            let again = mdtools::create(&Guard::new(consent), &wanted, &AtomicBool::new(false));
            let (stack, _guard) = start(&again.expect("an array").stack, &[], true);
            let size_bytes = usize::try_from(stack.device.info().size_bytes).expect("small");
            let content = read(&stack, 0, size_bytes);
            let mut copy = tempfile::tempfile().expect("a file");
            copy.write_all(&content).expect("written");
            let found = host::guard::find_signature(&copy, content.len() as u64).expect("read");
            assert_eq!(found, (!blank).then_some("XFS"), "{members:?}");
            assert_eq!(content.ends_with(&[0; 512]), blank, "{members:?}");
        }
    }
}

/// A bitmap or a log is for the arrays whose level can have one; where none can, it is refused.
#[test]
fn what_happens_after_a_crash_is_said_for_every_array_that_can_have_it() {
    let bitmap = Consistency::Bitmap { chunk_bytes: None };
    let files = Files::new();
    let wanted =
        Create { consistency: bitmap, ..files.wanted(Level::Raid0, &["raid1(@a, @b)", "@c"]) };
    let created = create(&wanted).expect("an array");
    let has = |created: &CreatedArray| created.superblocks[0].features.to_string();
    assert!(has(&created.below[0]) != has(&created), "{created:?}");
    superblocks_are_where_md_looks(&created, "tank");
    let files = Files::new();
    let wanted =
        Create { consistency: Consistency::Ppl, ..files.wanted(Level::Raid0, &["raid1(@a, @b)"]) };
    let error = create(&wanted).expect_err("no array can have it").to_string();
    assert!(error.contains("partial parity log"), "{error}");
    assert!(files.held().is_empty(), "files were left");
}

/// "All checks, then the first byte": whichever array it is that cannot be made, nothing is.
#[test]
fn what_was_made_for_arrays_of_arrays_is_undone() {
    let files = Files::new();
    fs::write(files.path("there"), vec![0x5a; MEMBER_BYTES as usize]).expect("written");
    fs::write(files.path("small"), vec![0; 512 << 10]).expect("written");
    let before = files.held();
    let long = "a name of more than thirty bytes".to_owned();
    let sound = files.wanted(Level::Raid0, &["raid1(@there, @a)", "raid1(@b, @c)"]);
    for (wanted, said) in [
        (files.wanted(Level::Raid0, &["raid1(@there, @a)", "raid1(@b, @small)"]), "too small"),
        (files.wanted(Level::Raid5, &["raid1(@there, @a)", "@small"]), "too small"),
        (files.wanted(Level::Raid0, &["raid1(missing, missing)", "@a"]), "every member is missing"),
        (files.wanted(Level::Raid1, &["missing", "missing"]), "every member is missing"),
        (
            files.wanted(Level::Raid0, &["raid5(missing, missing, @b)", "@a"]),
            "too few members for raid5",
        ),
        (files.wanted(Level::Raid0, &["raid1(@there, @a)", "raid0(@b, @a)"]), "is named twice"),
        (Create { name: long, ..sound.clone() }, "more than 32 bytes"),
        (Create { consistency: Consistency::Ppl, ..sound.clone() }, "partial parity log"),
        (Create { create_bytes: Some(1 << 60), ..sound }, "making the member file"),
    ] {
        let error = create(&wanted).expect_err("refused").to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert!(files.held() == before, "{said}: something was written or left");
    }
}

/// The arrays that lie in all files of the folder but those of `absent`.
fn found(files: &Files, absent: &[&str]) -> FoundArrays {
    let paths: Vec<PathBuf> = (files.held().into_iter())
        .map(|(path, _)| path)
        .filter(|path| !absent.iter().any(|name| path.ends_with(name)))
        .collect();
    mdtools::find(&Guard::new(Consent::default()), &paths)
}

/// Members, absent files, the state of each array by its name, that of the outermost with all
/// below it, and how many can be started alone.
type NestedCase<'a> =
    (Level, Vec<&'a str>, &'a [&'a str], Vec<(&'a str, ArrayCondition)>, ArrayCondition, usize);

/// Makes an array of arrays, and holds what is found of it against what was made.
fn check_nested((level, members, absent, states, outermost, startable): NestedCase<'_>) {
    let files = Files::new();
    let created = create(&files.wanted(level, &members)).expect("an array");
    let before = files.held();
    let found = found(&files, absent);
    let mut said: Vec<(String, ArrayCondition)> = (found.groups.iter())
        .map(|group| {
            let assembly = group.assembly.as_ref().expect("an array");
            let status = ArrayStatus::of_superblocks(assembly, &group.candidates);
            (status.name, status.state)
        })
        .collect();
    said.sort_by(|one, other| (one.0.len(), &one.0).cmp(&(other.0.len(), &other.0)));
    let mut expected: Vec<(String, ArrayCondition)> =
        states.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
    expected.sort_by(|one, other| (one.0.len(), &one.0).cmp(&(other.0.len(), &other.0)));
    assert_eq!(said, expected, "{members:?} without {absent:?}");
    let tank = found.outermost().last().expect("an array");
    assert_eq!(tank.candidates[0].superblock.name(), "tank", "{members:?}");
    assert_eq!(tank.state(), Some(outermost), "{members:?} without {absent:?}");
    let only = found.only().map(Group::set_uuid);
    assert_eq!(only, Some(tank.set_uuid()), "{members:?} without {absent:?}");
    let texts: Vec<String> = (found.outermost())
        .filter_map(|group| group.stack(AssemblyOptions::default()).ok())
        .map(|stack| stack.to_string())
        .collect();
    assert_eq!(texts.len(), startable, "{texts:?}");
    if absent.is_empty() {
        assert_eq!(texts, [created.stack.to_string()]);
    }
    for text in &texts {
        let (stack, _guard) = start(&stack::parse(text).expect("a text"), &[], true);
        assert_eq!(created.size_bytes, Some(stack.device.info().size_bytes), "{text}");
    }
    assert!(files.held() == before, "it was only looked");
}

/// What was made is found again by its members' files, with the text that opens all of it, and
/// each level says what it can do without those that are gone.
#[test]
fn arrays_of_arrays_are_found_with_what_stands_on_them() {
    use ArrayCondition::{Degraded, Failed, Online};
    let (left, right) = ("raid5(chunk=64KiB, @a, @b, @c)", "raid5(chunk=64KiB, @d, @e, @f)");
    let mirrors = vec!["raid1(@a, @b)", "raid1(@c, @d)"];
    let deep = "raid1(raid0(chunk=64KiB, @a, @b), raid0(chunk=64KiB, @c, @d))";
    let cases: Vec<NestedCase<'_>> = vec![
        (
            Level::Raid0,
            mirrors.clone(),
            &[],
            vec![("tank-0", Online), ("tank-1", Online), ("tank", Online)],
            Online,
            1,
        ),
        (
            Level::Raid0,
            mirrors.clone(),
            &["a", "d"],
            vec![("tank-0", Degraded), ("tank-1", Degraded), ("tank", Online)],
            Degraded,
            1,
        ),
        (Level::Raid0, mirrors, &["c", "d"], vec![("tank-0", Online), ("tank", Failed)], Failed, 0),
        (
            Level::Raid1,
            vec![left, right],
            &["a", "d", "e"],
            vec![("tank-0", Degraded), ("tank-1", Failed), ("tank", Degraded)],
            Degraded,
            1,
        ),
        (
            Level::Raid5,
            vec!["linear(@a, @b)", "@c", "raid1(@d, @e)"],
            &["e"],
            vec![("tank-0", Online), ("tank-2", Degraded), ("tank", Online)],
            Degraded,
            1,
        ),
        (
            Level::Linear,
            vec![deep, "@e"],
            &["d"],
            vec![
                ("tank-0-0", Online),
                ("tank-0-1", Failed),
                ("tank-0", Degraded),
                ("tank", Online),
            ],
            Degraded,
            1,
        ),
    ];
    cases.into_iter().for_each(check_nested);
}

/// What an array needs to start is what those that it stands on need too.
#[test]
fn an_array_needs_what_its_members_need() {
    let files = Files::new();
    let created =
        create(&files.wanted(Level::Raid1, &["raid5(chunk=64KiB, @a, @b, @c)", "raid1(@d, @e)"]))
            .expect("an array");
    // Dirty and degraded.
    let dirty = |path: &Path| {
        let mut bytes = fs::read(path).expect("read");
        let mut superblock = Superblock::decode(&bytes[4096..8192]).expect("a superblock");
        superblock.resync_offset_sectors = 0;
        let encoded = superblock.encode();
        bytes[4096..4096 + encoded.len()].copy_from_slice(&encoded);
        fs::write(path, bytes).expect("written");
    };
    ["a", "b"].iter().for_each(|name| dirty(&files.path(name)));
    let found = found(&files, &["c"]);
    assert_eq!(found.groups.len(), 3, "{created:?}");
    let tank = found.outermost().last().expect("an array");
    assert!(matches!(tank.assembly.as_ref().expect("an array").start, Startability::NeedsForce(_)));
    let refused =
        tank.stack(AssemblyOptions::default()).expect_err("not without force").to_string();
    assert!(refused.contains("tank-0") && refused.contains("--force"), "{refused}");
    let text = tank
        .stack(AssemblyOptions { force: true, ..AssemblyOptions::default() })
        .expect("by force");
    let (stack, _guard) = start(&text, &[], true);
    assert_eq!(created.size_bytes, Some(stack.device.info().size_bytes), "{text}");
    let overlay = AssemblyOptions {
        overlay: Some(files.0.path()),
        force: true,
        ..AssemblyOptions::default()
    };
    let text = tank.stack(overlay).expect("tried out").to_string();
    assert_eq!(text.matches("read_only=yes").count(), 4, "{text}");
}

/// The members of two arrays are no one array, nested or not.
#[test]
fn two_arrays_are_two() {
    let files = Files::new();
    create(&files.wanted(Level::Raid0, &["raid1(@a, @b)", "raid1(@c, @d)"])).expect("an array");
    let other = Create { name: "other".to_owned(), ..files.wanted(Level::Raid1, &["@e", "@f"]) };
    create(&other).expect("an array");
    let found = found(&files, &[]);
    let names: Vec<String> =
        found.outermost().map(|group| group.candidates[0].superblock.name()).collect();
    assert_eq!(names, ["other", "tank"]);
    assert!(found.only().is_none());
}

#[test]
fn what_is_no_array_to_be_made_is_refused() {
    for (text, said) in [
        ("raid1(metadata=none, a, b)", "leave the word out"),
        ("raid1(force=yes, a, b)", "force has no meaning"),
        ("cache(ram:1MiB, a)", "it is no array"),
        ("raid1(ram:1MiB, a)", "a member is a file, a block device, or a drive of another machine"),
        ("raid1(a?block=4KiB, b)", "block has no meaning here"),
        ("raid5(a)", "at least 2 devices"),
        ("raid1(a, b", "the text ends"),
    ] {
        let error = CreateMember::parse(Path::new(text)).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    // The name of a file that is to be made.
    let path = PathBuf::from("disk (1).img");
    assert_eq!(CreateMember::parse(&path).expect("a file"), CreateMember::from(path));
}
