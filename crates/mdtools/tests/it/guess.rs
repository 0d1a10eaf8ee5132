//! Arrays are made through the stack and their members handed over in another order, without
//! superblocks: the search has to find what they were.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use block::{Blocking, Node, Reactor};
use host::guard::{Consent, Guard};
use mdtools::guess::{Guess, Guesses, Images, Members, SearchLimits, guess};
use reactor::Random;
use stack::BuildContext;

const SEED: u64 = 0x6775_6573_7300;

/// An array, and how it is taken apart.
struct Case<'a> {
    stack: &'a str,
    members: usize,
    member_bytes: u64,
    offset_bytes: u64,
    /// Places that are left out, by role.
    absent: Vec<usize>,
    /// Sizes by role, instead of the one for all.
    unequal: Vec<u64>,
    /// Where data are looked for; anywhere when it is empty, which takes several times as long.
    offsets: Vec<u64>,
}

/// The right one, and what could be taken for it.
const FEW_OFFSETS: [u64; 3] = [0, 1 << 20, 2 << 20];

impl Case<'_> {
    fn new(stack: &str, members: usize, member_bytes: u64) -> Case<'_> {
        Case {
            stack,
            members,
            member_bytes,
            offset_bytes: 1 << 20,
            absent: Vec::new(),
            unequal: Vec::new(),
            offsets: FEW_OFFSETS.to_vec(),
        }
    }

    /// Fills the array and returns its members, shuffled, with the role of each.
    fn members(
        &self,
        folder: &Path,
        content: &[u8],
        seed: u64,
    ) -> (Vec<Option<PathBuf>>, Vec<usize>) {
        self.members_of(folder, &[(0, content)], seed)
    }

    /// The same with content that is known by its pieces, each with its address.
    fn members_of(
        &self,
        folder: &Path,
        pieces: &[(u64, &[u8])],
        seed: u64,
    ) -> (Vec<Option<PathBuf>>, Vec<usize>) {
        let mut paths = Vec::new();
        for role in 0..self.members {
            let path = folder.join(format!("role{role}"));
            File::create(&path)
                .expect("a file")
                .set_len(self.unequal.get(role).copied().unwrap_or(self.member_bytes))
                .expect("its size");
            paths.push(path);
        }
        let leaf = |path: &PathBuf| {
            Node::leaf("file", path.display().to_string())
                .with("offset", self.offset_bytes)
                .with("direct", "no")
        };
        let (name, options) = self.stack.split_once('?').unwrap_or((self.stack, ""));
        let options = options.split('&').filter_map(|option| option.split_once('='));
        let node = options
            .fold(Node::layer(name, paths.iter().map(leaf).collect()), |node, (name, value)| {
                node.with(name, value)
            });
        {
            let guard = Guard::new(Consent::default());
            let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&guard) };
            let stack = stack::build(&node, &context).expect(self.stack);
            let reactor = Reactor::wall().expect("a reactor");
            let mut channel = Blocking::open(stack.device.as_ref(), &reactor).expect("a channel");
            for (address, content) in pieces {
                assert!(
                    address + content.len() as u64 <= stack.device.info().size_bytes,
                    "{} has room",
                    self.stack
                );
                channel.write_slice(*address, content).expect("written");
            }
            channel.flush().expect("flushed");
        }
        let mut roles: Vec<usize> = (0..self.members).collect();
        Random::with_seed(seed).shuffle(&mut roles);
        let named = roles
            .iter()
            .map(|role| (!self.absent.contains(role)).then(|| paths[*role].clone()))
            .collect();
        (named, roles)
    }

    fn searched(&self, content: &[u8], seed: u64) -> (Guesses, String, Vec<usize>) {
        let folder = tempfile::tempdir().expect("a folder");
        let (paths, roles) = self.members(folder.path(), content, seed);
        self.search(&paths, &roles, seed)
    }

    /// What is found, and the best of it: level and layout, and the roles of its members.
    fn search(
        &self,
        paths: &[Option<PathBuf>],
        roles: &[usize],
        seed: u64,
    ) -> (Guesses, String, Vec<usize>) {
        let guard = Guard::new(Consent::default());
        let images = Images::open(&guard, paths).expect("members");
        let known = SearchLimits {
            seed,
            data_offsets_bytes: self.offsets.clone(),
            ..SearchLimits::default()
        };
        let found = guess(&images, &known, &mut |_, _| true);
        let best = found
            .guesses
            .first()
            .map(|guess| format!("{} {}", guess.shape.level, guess.shape.layout))
            .unwrap_or_default();
        let order = found
            .guesses
            .first()
            .map(|guess| guess.order.iter().map(|member| roles[*member]).collect())
            .unwrap_or_default();
        (found, best, order)
    }
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Random::with_seed(seed).fill(&mut bytes);
    bytes
}

/// An ext4 file system with folders and files in it, 40 MiB; `None` without mkfs.ext4.
fn ext4(seed: u64) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    for index in 0..60 {
        let inner = tree.join(format!("folder{}", index % 7)).join(format!("inner{index}"));
        fs::create_dir_all(&inner).expect("a folder");
        fs::write(inner.join("file"), noise(seed + index, 100_000)).expect("a file");
    }
    let image = folder.path().join("image");
    File::create(&image).expect("a file").set_len(40 << 20).expect("its size");
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-b", "1024", "-d"])
        .arg(&tree)
        .arg(&image)
        .env("PATH", path())
        .status();
    made.is_ok_and(|status| status.success()).then(|| fs::read(&image).expect("read"))
}

fn path() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn ext4_or_skip(test: &str) -> Option<Vec<u8>> {
    let image = ext4(SEED);
    if image.is_none() {
        testkit::missing!("{test}: no mkfs.ext4: apt-get install e2fsprogs");
    }
    image
}

/// A new file system of this size; `None` without the tool that makes it.
fn made(tool: &str, package: &str, size_bytes: u64, options: &[&str]) -> Option<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image");
    File::create(&image).expect("a file").set_len(size_bytes).expect("its size");
    let made = Command::new(tool).args(options).arg(&image).env("PATH", path()).output();
    if made.as_ref().is_ok_and(|output| output.status.success()) {
        return Some((tool.to_owned(), fs::read(&image).expect("read")));
    }
    testkit::missing!("guessing by what {tool} makes: apt-get install {package}");
    None
}

/// A GPT with one partition, at 1 MiB.
fn partitioned(content: &[u8]) -> Vec<u8> {
    let start = 1 << 20;
    let mut disk = vec![0; start + content.len() + (1 << 20)];
    let last = disk.len() as u64 / 512 - 1;
    let header = |own: u64, other: u64, entries: u64| {
        let mut header = vec![0; 512];
        header[..8].copy_from_slice(b"EFI PART");
        for (at, number) in [(24, own), (32, other), (72, entries)] {
            header[at..at + 8].copy_from_slice(&u64::to_le_bytes(number));
        }
        for (at, number) in [(80, 128_u32), (84, 128)] {
            header[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        header
    };
    disk[512..1024].copy_from_slice(&header(1, last, 2));
    let end = disk.len();
    disk[end - 512..].copy_from_slice(&header(last, 1, last - 32));
    disk[1024..1040].fill(7);
    disk[1056..1064].copy_from_slice(&(start as u64 / 512).to_le_bytes());
    disk[start..start + content.len()].copy_from_slice(content);
    disk
}

/// The first few guesses, for messages.
fn told(found: &Guesses) -> String {
    found.guesses.iter().take(4).map(|guess| format!("    {guess}\n")).collect()
}

/// The cases are at this chunk unless they say otherwise.
fn check(
    case: &Case<'_>,
    content: &[u8],
    expected: &str,
    chunk_bytes: u64,
    seed: u64,
) -> Result<(), String> {
    let (found, best, order) = case.searched(content, seed);
    let Some(first) = found.guesses.first() else {
        return Err(format!("{}, seed {seed}: nothing found: {:?}", case.stack, found.notes));
    };
    let shape = first.shape;
    let right = best == expected
        && shape.chunk_bytes == chunk_bytes
        && shape.data_offset_bytes == case.offset_bytes
        && order == (0..case.members).collect::<Vec<_>>()
        && found.equal == 1;
    if right {
        return Ok(());
    }
    Err(format!(
        "{} without {:?}, seed {seed}: roles {order:?}, {} equal:\n{}",
        case.stack,
        case.absent,
        found.equal,
        told(&found)
    ))
}

#[test]
fn file_systems_tell_order_and_chunk_at_every_level() {
    let Some(image) = ext4_or_skip("guessing by a file system") else { return };
    let cases = [
        ("raid0?chunk=64KiB", 3, "raid0 original", 64 << 10, None),
        ("raid0?chunk=16KiB", 5, "raid0 original", 16 << 10, None),
        ("raid0?chunk=512KiB", 4, "raid0 original", 512 << 10, None),
        ("raid4?chunk=64KiB", 4, "raid4 -", 64 << 10, Some(3)),
        ("raid5?chunk=64KiB&layout=left-symmetric", 4, "raid5 left-symmetric", 64 << 10, Some(0)),
        ("raid5?chunk=32KiB&layout=left-asymmetric", 3, "raid5 left-asymmetric", 32 << 10, None),
        ("raid5?chunk=4KiB&layout=right-symmetric", 5, "raid5 right-symmetric", 4 << 10, Some(2)),
        (
            "raid5?chunk=128KiB&layout=right-asymmetric",
            4,
            "raid5 right-asymmetric",
            128 << 10,
            None,
        ),
        ("raid6?chunk=64KiB&layout=left-symmetric", 5, "raid6 left-symmetric", 64 << 10, Some(1)),
        ("raid6?chunk=32KiB&layout=right-asymmetric", 4, "raid6 right-asymmetric", 32 << 10, None),
        ("raid10?chunk=64KiB&layout=f2", 4, "raid10 f2", 64 << 10, None),
        ("raid10?chunk=64KiB&layout=o2", 4, "raid10 o2", 64 << 10, None),
        ("raid10?chunk=64KiB&layout=n2", 3, "raid10 n2", 64 << 10, Some(1)),
    ];
    let mut wrong = Vec::new();
    for ((stack, members, expected, chunk_bytes, absent), number) in cases.into_iter().zip(0_u64..)
    {
        let mut case = Case::new(stack, members, (1 << 20) + (44 << 20));
        // Where mdadm puts the data of members of 45 MiB.
        if number % 4 == 0 {
            case.offsets.clear();
        }
        wrong.extend(check(&case, &image, expected, chunk_bytes, SEED + number).err());
        if let Some(role) = absent {
            case.absent = vec![role];
            wrong.extend(check(&case, &image, expected, chunk_bytes, SEED + number).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn members_of_different_lengths_are_told_apart() {
    let Some(image) = ext4_or_skip("guessing unequal members") else { return };
    for (stack, expected, chunk_bytes) in [
        ("raid0?chunk=64KiB&layout=alternate", "raid0 alternate", 64 << 10),
        ("linear", "linear -", 0),
    ] {
        let mut case = Case::new(stack, 3, 0);
        // So long that the second zone, in which the layouts differ, holds part of the file system.
        case.unequal = vec![(6 << 20) + (64 << 10), 30 << 20, 26 << 20];
        check(&case, &image, expected, chunk_bytes, SEED).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn q_tells_the_order_of_random_data() {
    // Those of which another name is not the same array, and how many cannot be told apart: a
    // layout and its symmetric variant count alike in Q.
    let layouts = [
        ("left-symmetric", 2),
        ("left-asymmetric", 2),
        ("right-symmetric", 2),
        ("right-asymmetric", 2),
        ("ddf-zero-restart", 1),
        ("ddf-N-restart", 1),
        ("ddf-N-continue", 1),
        ("left-symmetric-6", 2),
        ("right-asymmetric-6", 2),
    ];
    let mut wrong = Vec::new();
    for ((layout, variants), number) in layouts.into_iter().zip(0_u64..) {
        let stack = format!("raid6?chunk=16KiB&layout={layout}");
        let members = 5 + (number as usize) % 2;
        let mut case = Case::new(&stack, members, 3 << 20);
        let content = noise(SEED + number, (2 << 20) * (members - 2));
        for absent in [vec![], vec![number as usize % 4]] {
            case.absent = absent;
            let (found, _, _) = case.searched(&content, SEED + number);
            let folder = tempfile::tempdir().expect("a folder");
            let (_, roles) = case.members(folder.path(), &[], SEED + number);
            let right = found.guesses.iter().take(found.equal).any(|guess| {
                guess.shape.layout.to_string() == layout
                    && (guess.shape.chunk_bytes, guess.shape.data_offset_bytes)
                        == (16 << 10, 1 << 20)
                    && guess.order.iter().map(|member| roles[*member]).eq(0..members)
            });
            if !right || found.equal != variants {
                wrong.push(format!(
                    "{layout} without {:?}: {} equal:\n{}",
                    case.absent,
                    found.equal,
                    told(&found)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_file_systems_and_partitions_tell_it_too() {
    let ext4 = ext4_or_skip("guessing by other file systems");
    let mut case =
        Case::new("raid5?chunk=64KiB&layout=left-asymmetric", 4, (1 << 20) + (110 << 20));
    case.offsets.clear();
    let images = [
        made("mkfs.xfs", "xfsprogs", 320 << 20, &["-q", "-f"]),
        made("mkfs.btrfs", "btrfs-progs", 200 << 20, &["-q", "-f"]),
        made("mkfs.ntfs", "ntfs-3g", 64 << 20, &["-q", "-F", "-f"]),
        made("mkfs.fat", "dosfstools", 64 << 20, &["-F", "32"]),
        ext4.map(|image| ("a partition".to_owned(), partitioned(&image))),
    ];
    for (name, image) in images.into_iter().flatten() {
        let (found, _, order) = case.searched(&image, SEED);
        let first = found
            .guesses
            .first()
            .unwrap_or_else(|| panic!("{name}: nothing found: {:?}", found.notes));
        assert_eq!(first.shape.data_offset_bytes, 1 << 20, "{name}: {}", told(&found));
        // A new file system holds little: several orders may go with it, and the right one is among
        // them.
        let right = found.guesses.iter().take(found.equal).any(|guess| {
            guess.shape.level.to_string() == "raid5"
                && guess.shape.layout.to_string() == "left-asymmetric"
                && guess.shape.chunk_bytes == 64 << 10
        });
        assert!(right, "{name}: {} equal, {order:?}:\n{}", found.equal, told(&found));
    }
}

#[test]
fn nothing_is_found_where_there_is_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let random: Vec<Option<PathBuf>> = (0..4_u64)
        .map(|number| {
            let path = folder.path().join(format!("random{number}"));
            fs::write(&path, noise(SEED + number, 4 << 20)).expect("written");
            Some(path)
        })
        .collect();
    let guard = Guard::new(Consent::default());
    let search = |paths: &[Option<PathBuf>]| {
        let images = Images::open(&guard, paths).expect("members");
        guess(&images, &SearchLimits { seed: SEED, ..SearchLimits::default() }, &mut |_, _| true)
    };
    let found = search(&random);
    assert!(
        found.guesses.is_empty() && found.notes[0].english() == "the members show no parity",
        "{found:#?}"
    );
    let link = folder.path().join("link");
    fs::hard_link(random[0].as_ref().expect("a path"), &link).expect("linked");
    let error = Images::open(&guard, &[random[0].clone(), Some(link)]).expect_err("refused");
    assert!(error.to_string().contains("are the same file"), "{error}");

    // The fourth as the sum of the others: a RAID 5 of which nothing tells more.
    let sectors: Vec<Vec<u8>> =
        random.iter().flatten().map(|path| fs::read(path).expect("read")).collect();
    let sum: Vec<u8> =
        (0..4 << 20).map(|at: usize| sectors[0][at] ^ sectors[1][at] ^ sectors[2][at]).collect();
    fs::write(random[3].as_ref().expect("a path"), sum).expect("written");
    let found = search(&random);
    assert!(
        found.guesses.is_empty()
            && found.notes[0].english().contains("256 of 256 places: raid4 or raid5"),
        "{found:#?}"
    );

    // And all alike: a mirror.
    for path in random.iter().flatten() {
        fs::write(path, &sectors[0]).expect("written");
    }
    let found = search(&random);
    assert!(
        found.guesses[0].shape.level.to_string() == "raid1" && found.equal == 1,
        "{}",
        told(&found)
    );
}

/// An ext4 file system with thirteen folders and many small files in it, by the pieces that are not
/// zero.
fn sparse_ext4(size_bytes: u64, options: &[&str]) -> Option<Vec<(u64, Vec<u8>)>> {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    for index in 0..11 {
        let inner = tree.join(format!("folder{index}"));
        fs::create_dir_all(&inner).expect("a folder");
        // Inodes beyond those that are looked at, so that tables go on where others are thought to
        // begin.
        for file in 0..150 {
            fs::write(inner.join(format!("file{file}")), format!("{index} {file}"))
                .expect("a file");
        }
    }
    let image = folder.path().join("image");
    File::create(&image).expect("a file").set_len(size_bytes).expect("its size");
    let mut command = Command::new("mkfs.ext4");
    command
        .args(["-q", "-b", "4096"])
        .args(options)
        .arg("-d")
        .arg(&tree)
        .arg(&image)
        .env("PATH", path());
    if !command.status().is_ok_and(|status| status.success()) {
        testkit::missing!("no mkfs.ext4: apt-get install e2fsprogs");
        return None;
    }
    let file = File::open(&image).expect("the image");
    let zeroes = vec![0; 256 << 10];
    let mut pieces = Vec::new();
    for address in (0..size_bytes).step_by(zeroes.len()) {
        let mut piece = vec![0; (size_bytes - address).min(zeroes.len() as u64) as usize];
        file.read_exact_at(&mut piece, address).expect("read");
        if piece != zeroes[..piece.len()] {
            pieces.push((address, piece));
        }
    }
    Some(pieces)
}

/// Six members of one size and a file system as large as the array: the right candidate is among
/// the first equals, and whatever is equal to it differs in the order alone.
fn six_members(member_mib: u64, chunk_bytes: u64, options: &[&str]) -> Result<(), String> {
    let stack = format!("raid5?chunk={chunk_bytes}&layout=left-symmetric");
    let case = Case::new(&stack, 6, member_mib << 20);
    let Some(pieces) = sparse_ext4(5 * (case.member_bytes - case.offset_bytes), options) else {
        return Ok(());
    };
    let folder = tempfile::tempdir().expect("a folder");
    let borrowed: Vec<(u64, &[u8])> =
        pieces.iter().map(|(address, piece)| (*address, &piece[..])).collect();
    let (paths, roles) = case.members_of(folder.path(), &borrowed, SEED);
    let (found, best, order) = case.search(&paths, &roles, SEED);
    let has_shape = |guess: &Guess| {
        let shape = &guess.shape;
        (shape.chunk_bytes, shape.data_offset_bytes, shape.layout.to_string())
            == (chunk_bytes, 1 << 20, "left-symmetric".to_owned())
    };
    // Members of which nothing tells where they are may be exchanged.
    let has_order = |guess: &Guess| {
        let mut places = guess.order.iter().map(|member| roles[*member]).enumerate();
        places.all(|(place, role)| {
            place == role || guess.undecided.contains(&place) && guess.undecided.contains(&role)
        })
    };
    let equals = &found.guesses[..found.equal];
    let place = found.guesses.iter().position(|guess| has_shape(guess) && has_order(guess));
    if equals.iter().all(has_shape)
        && place.is_some_and(|place| place < found.equal)
        && found.is_sound()
    {
        return Ok(());
    }
    let number = found.guesses.len();
    Err(format!(
        "{stack}: {best}, roles {order:?}, the right one at {place:?} of {number}, {} equal:\n{}",
        found.equal,
        told(&found)
    ))
}

/// Sectors that are looked at and fit by chance do not outweigh folders that are not where they
/// should be.
#[test]
fn a_wrong_chunk_does_not_come_first_because_more_of_it_was_looked_at() {
    let mut wrong = Vec::new();
    wrong.extend(six_members(35, 512 << 10, &[]).err());
    wrong.extend(six_members(35, 64 << 10, &["-O", "^metadata_csum"]).err());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The right member may hold nothing where a wrong one holds something alike: that does not put the
/// wrong one there.
#[test]
fn a_right_order_is_not_lost_to_what_looks_alike() {
    six_members(235, 512 << 10, &[]).unwrap_or_else(|error| panic!("{error}"));
}

/// A member of something else tells nothing of the array: without it the others do.
#[test]
fn a_foreign_member_is_found_as_one_that_is_missing() {
    let Some(image) = ext4_or_skip("guessing with a foreign member") else { return };
    let mut wrong = Vec::new();
    let cases = [
        ("raid5?chunk=64KiB&layout=left-symmetric", 4, 1, "raid5 left-symmetric"),
        ("raid6?chunk=64KiB&layout=left-symmetric", 5, 0, "raid6 left-symmetric"),
        ("raid10?chunk=64KiB&layout=n2", 4, 2, "raid10 n2"),
        ("raid1", 3, 1, "raid1 -"),
        // One that was never among them.
        ("raid5?chunk=64KiB&layout=left-symmetric", 3, 3, "raid5 left-symmetric"),
        // Nothing makes up for a member of these: no answer is better than a wrong one.
        ("linear", 3, 1, ""),
        ("raid0?chunk=64KiB", 3, 1, ""),
    ];
    for (stack, members, foreign, expected) in cases {
        let mut case = Case::new(stack, members, 45 << 20);
        if stack == "linear" {
            case.member_bytes = 16 << 20;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (mut paths, mut roles) = case.members(folder.path(), &image, SEED);
        if foreign == members {
            paths.insert(1, Some(folder.path().join("stranger")));
            roles.insert(1, foreign);
        }
        let stranger = roles.iter().position(|role| *role == foreign).expect("a member");
        fs::write(
            paths[stranger].as_ref().expect("a path"),
            noise(SEED, case.member_bytes as usize),
        )
        .expect("written");
        let (found, best, order) = case.search(&paths, &roles, SEED);
        let is_told = found.guesses.first().is_some_and(|guess| guess.foreign == Some(stranger));
        let is_right = if expected.is_empty() {
            !found.is_sound()
        } else {
            best == expected && is_told && found.is_sound()
        };
        if !is_right {
            wrong.push(format!(
                "{stack} with a foreign {foreign}: {best}, roles {order:?}, {} equal {:?}:\n{}",
                found.equal,
                found.notes,
                told(&found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Drives that have nothing to do with each other.
struct Strangers(Vec<Vec<u8>>);

impl Members for Strangers {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn size_bytes(&self, member: usize) -> Option<u64> {
        Some(self.0[member].len() as u64)
    }

    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool {
        let held = self.0[member].get(offset as usize..).and_then(|held| held.get(..into.len()));
        held.is_some_and(|held| {
            into.copy_from_slice(held);
            true
        })
    }
}

/// "A search over drives that make up nothing ends": what it does grows with the drives and not
/// with their orders.
#[test]
fn strangers_are_given_up_after_a_look_at_little_of_them() {
    for count in [3, 8] {
        let drive = |number: usize| {
            let mut bytes = vec![0; 16 << 20];
            Random::with_seed(SEED + number as u64).fill(&mut bytes);
            bytes
        };
        let strangers = Strangers((0..count).map(drive).collect());
        let mut shapes = 0;
        let found = guess(&strangers, &SearchLimits::default(), &mut |_, _| {
            shapes += 1;
            true
        });
        let read_mib = found.read_bytes >> 20;
        println!("seed {SEED:#x}: {count} drives, {shapes} shapes, {read_mib} MiB");
        assert!(found.guesses.is_empty() && !found.interrupted);
        // Of each drive alone, for each that is tried as missing, a few samples for each shape.
        assert!(read_mib < 200 * (count * count) as u64, "{count}: {read_mib} MiB");
    }
}

/// Whatever a file system or a table of partitions says of itself: a search ends, and what it
/// finds lies within the members.
#[test]
fn whatever_is_damaged_nothing_panics() {
    let kinds: [(&str, &str, &[&str]); 3] = [
        ("mkfs.ext4", "e2fsprogs", &["-q", "-F"]),
        ("mkfs.ntfs", "ntfs-3g", &["-q", "-F", "-f"]),
        ("mkfs.fat", "dosfstools", &["-F", "32"]),
    ];
    let mut random = Random::with_seed(SEED);
    println!("seed {SEED:#x}");
    for (tool, package, options) in kinds {
        let Some((_, content)) = made(tool, package, 40 << 20, options) else { return };
        for content in [partitioned(&content), content] {
            let mut pair = Strangers(vec![Vec::new(), Vec::new()]);
            for (number, chunk) in content.chunks(64 << 10).enumerate() {
                pair.0[number % 2].extend_from_slice(chunk);
            }
            pair.0.iter_mut().for_each(|member| member.resize(21 << 20, 0));
            let limits = SearchLimits {
                chunks_bytes: vec![64 << 10],
                data_offsets_bytes: vec![0],
                ..SearchLimits::default()
            };
            for _ in 0..30 {
                let mut damaged = Strangers(pair.0.clone());
                for _ in 0..random.usize(1..40) {
                    let member = &mut damaged.0[random.usize(0..2)];
                    // Where such things begin: the first sectors, and anywhere near the start.
                    let most = if random.bool() { 4 << 10 } else { 1 << 20 };
                    let at = random.usize(0..most);
                    member[at] = [0, 0xff, random.u8(..)][random.usize(0..3)];
                }
                let found = guess(&damaged, &limits, &mut |_, _| true);
                assert!(found.guesses.iter().all(|guess| guess.size_bytes <= 42 << 20), "{tool}");
            }
        }
    }
}
