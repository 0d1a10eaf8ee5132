//! Every level and layout with two to seven members, small, of odd and of unequal sizes: whole, and
//! without each member and each two where level 6 or 10 may live through that.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use array::md::{Consistency, Layout, Level};
use block::SECTOR_BYTES;
use interop::{
    Job, KeptArray, Machine, OpenOutcome, Shape, Sizes, assembled, create, difference,
    member_paths, noise, open, roles_text, said,
};

use crate::exchange::{Problems, folder, run};

const SEED: u64 = 0x0072_6169_646c_6f6f;
/// More than any of the arrays holds, in bytes.
const CONTENT_BYTES: usize = 48 << 20;
/// So many arrays go through a machine before their files are removed.
const ARRAYS_AT_ONCE: usize = 40;

/// Who wrote the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Kernel,
    Raidloom,
}

/// Set to try every kind and number of members at all three sizes in both directions: three times
/// as long.
const EVERYTHING: &str = "RAIDLOOM_TEST_EVERYTHING";

/// Every level, layout and number of members crosses at one of the three sizes, in each direction
/// at another one: a machine starts mdadm twice for each array, and that takes the time. What a
/// layout does to addresses is enumerated elsewhere, for all sizes.
fn crosses(shape: &Shape, writer: Writer) -> bool {
    let size = match shape.sizes {
        Sizes::Small => 0,
        Sizes::Odd => 1,
        Sizes::Unequal => 2,
        Sizes::Large => return true,
    };
    (turn(shape) + usize::from(writer == Writer::Kernel)) % 3 == size
}

/// Which of the three sizes it is, by kind and number of members.
fn turn(shape: &Shape) -> usize {
    let kinds = Shape::kinds();
    let kind = kinds
        .iter()
        .position(|(level, layout, _)| (*level, *layout) == (shape.level, shape.layout))
        .expect("a kind");
    (kind + shape.members) % 3
}

/// The arrays of these sizes that cross, with their names. Large chunks are for a few only.
fn arrays(sizes: Sizes, writer: Writer) -> Vec<(String, Shape)> {
    let everything = std::env::var_os(EVERYTHING).is_some();
    let shapes: Vec<Shape> = match sizes {
        Sizes::Large => {
            let few = [
                ("0", "original", 3),
                ("5", "left-symmetric", 3),
                ("6", "right-asymmetric", 5),
                ("10", "f2", 3),
                ("10", "o2", 4),
            ];
            few.into_iter()
                .map(|(level, layout, members)| Shape::new(level, layout, members, sizes))
                .collect()
        }
        _ => Shape::all(sizes)
            .into_iter()
            .filter(|shape| everything || crosses(shape, writer))
            .collect(),
    };
    shapes.into_iter().map(|shape| (shape.to_string(), shape)).collect()
}

/// A read-only start without some members costs the kernel much more than all else; which losses an
/// array lives through does not depend on sizes. So also where everything crosses, each kind is
/// taken apart at one size only.
fn is_taken_apart(shape: &Shape) -> bool {
    crosses(shape, Writer::Raidloom)
}

/// Reads the whole array through raidloom and compares. `refused` when it does not start.
fn compare(
    members: &[PathBuf],
    absent: &[usize],
    expected: &[u8],
) -> Result<Option<String>, String> {
    let (mut channel, size, text) = match open(members, absent, true)? {
        OpenOutcome::Refused(_) => return Ok(Some("refused".to_owned())),
        OpenOutcome::Ready(channel, size, text) => (channel, size, text),
    };
    let mut found = vec![0; size as usize];
    channel.read_slice(0, &mut found).map_err(|error| format!("{text}: {error}"))?;
    Ok(difference(&found, expected))
}

/// Whether all copies of something are on these members.
fn loses_data(shape: &Shape, absent: &[usize]) -> bool {
    match shape.md_layout() {
        Layout::Raid10(layout) => {
            let (near, copies) = (layout.near as usize, layout.copies() as usize);
            let on = |chunk: usize, copy: usize| (chunk * near + copy) % shape.members;
            (0..shape.members)
                .any(|chunk| (0..copies).all(|copy| absent.contains(&on(chunk, copy))))
        }
        _ => absent.len() > shape.tolerated(),
    }
}

/// Everything that raidloom can find wrong with an array that md made.
fn examine(name: &str, shape: &Shape, members: &[PathBuf], expected: &[u8], wrong: &mut Problems) {
    let assembly = match assembled(members, &[]) {
        Ok((assembly, _)) => assembly,
        Err(error) => return wrong.note(name, error),
    };
    wrong.expect(name, "level", &assembly.level.to_string(), &shape.md_level().to_string());
    // Where every member has the same size the two layouts of level 0 are one, and mdadm may leave
    // it out.
    if shape.level != "0" || shape.sizes == Sizes::Unequal {
        wrong.expect(
            name,
            "layout",
            &format!("{:?}", assembly.layout),
            &format!("{:?}", shape.md_layout()),
        );
    }
    for absent in [Vec::new()].into_iter().chain(shape.subsets()) {
        let expected_verdict = if loses_data(shape, &absent) { Some("refused") } else { None };
        match compare(members, &absent, expected) {
            Ok(verdict) if verdict.as_deref() == expected_verdict => (),
            Ok(verdict) => wrong.note(
                name,
                format_args!("without {absent:?}: {verdict:?} instead of {expected_verdict:?}"),
            ),
            Err(error) => wrong.note(name, format_args!("without {absent:?}: {error}")),
        }
    }
    if shape.md_level().is_redundant() {
        wrong.take(
            name,
            KeptArray::start(members, &[]).and_then(|kept| kept.scrub().and_then(|_| kept.stop())),
        );
    }
}

fn the_kernel_wrote(sizes: Sizes, seed: u64) {
    the_kernel_wrote_these(arrays(sizes, Writer::Kernel), sizes, seed);
}

fn the_kernel_wrote_these(arrays: Vec<(String, Shape)>, sizes: Sizes, seed: u64) {
    let folder = folder();
    let machine = Machine::new(folder.path(), sizes, seed).expect("images");
    let content = noise(seed, CONTENT_BYTES);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &content).expect("written");
    let mut wrong = Problems::default();
    // Each array holds another part, so that what an earlier one left is wrong in a later one.
    let skip = |number: usize| (number as u64) * 33 * SECTOR_BYTES;
    let arrays: Vec<(usize, (String, Shape))> = arrays.into_iter().enumerate().collect();
    for batch in arrays.chunks(ARRAYS_AT_ONCE) {
        let jobs: Vec<Job<'_>> = (batch.iter())
            .map(|(number, (name, shape))| Job {
                skip: skip(*number),
                ..Job::new("make", name, *shape, &content_path)
            })
            .collect();
        let lines = run(&machine, &jobs);
        for (number, (name, shape)) in batch {
            let members = member_paths(folder.path(), name, shape);
            wrong.expect(name, "what the kernel reads", said(&lines, name, "content"), "equal");
            let size: usize = said(&lines, name, "size").parse().expect("a size in bytes");
            examine(name, shape, &members, &content[skip(*number) as usize..][..size], &mut wrong);
            members.iter().for_each(|member| fs::remove_file(member).expect("removed"));
        }
    }
    wrong.check();
}

/// Makes an array, fills it and writes over it here and there. Returns its content.
fn write_array(members: &[PathBuf], shape: &Shape, seed: u64) -> Result<Vec<u8>, String> {
    create(members, shape, Consistency::Resync)?;
    let OpenOutcome::Ready(mut channel, size, text) = open(members, &[], false)? else {
        return Err("is refused".to_owned());
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut content = noise(seed, size as usize);
    channel.write_slice(0, &content).map_err(|error| format!("{text}: {error}"))?;
    let sectors = size / SECTOR_BYTES;
    for _ in 0..150 {
        // Most are parts of a chunk, some span several rows.
        let longest = if random.u8(..) < 32 { 2048 } else { 160 };
        let start = random.u64(..sectors);
        let length = random.u64(1..=longest).min(sectors - start);
        let piece = (start * SECTOR_BYTES) as usize..((start + length) * SECTOR_BYTES) as usize;
        random.fill(&mut content[piece.clone()]);
        channel
            .write_slice(start * SECTOR_BYTES, &content[piece])
            .map_err(|error| format!("{text}: {error}"))?;
    }
    channel.flush().map_err(|error| format!("{text}: {error}"))?;
    Ok(content)
}

/// Turns the first byte of the last member's data over, where parity is.
fn spoil(members: &[PathBuf]) {
    let (assembly, paths) = assembled(members, &[]).expect("an array");
    let place = assembly.slots.last().and_then(|slot| slot.present()).expect("a member");
    let file: File =
        OpenOptions::new().read(true).write(true).open(&paths[place.candidate]).expect("a member");
    let mut byte = [0];
    file.read_exact_at(&mut byte, place.data_offset_sectors * SECTOR_BYTES).expect("a byte");
    file.write_all_at(&[!byte[0]], place.data_offset_sectors * SECTOR_BYTES).expect("written");
}

fn content_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.content"))
}

fn the_kernel_reads(sizes: Sizes, seed: u64) {
    the_kernel_reads_these(arrays(sizes, Writer::Raidloom), sizes, seed);
}

fn the_kernel_reads_these(mut arrays: Vec<(String, Shape)>, sizes: Sizes, seed: u64) {
    let folder = folder();
    let machine = Machine::new(folder.path(), sizes, !seed).expect("images");
    let mut wrong = Problems::default();
    let is_planted = |name: &str| name == "planted";
    arrays.push(("planted".to_owned(), Shape::new("5", "parity-last", 4, sizes)));
    for (batch, number) in arrays.chunks(ARRAYS_AT_ONCE).zip(0_u64..) {
        let mut jobs = Vec::new();
        let paths: Vec<PathBuf> =
            batch.iter().map(|(name, _)| content_path(folder.path(), name)).collect();
        for (((name, shape), path), seed) in batch.iter().zip(&paths).zip(seed + number * 1000..) {
            let members = member_paths(folder.path(), name, shape);
            let content = write_array(&members, shape, seed)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            fs::write(path, content).expect("written");
            let mut job = Job::new("take", name, *shape, path);
            if is_planted(name) {
                spoil(&members);
            } else if is_taken_apart(shape) {
                job.subsets = shape.subsets();
            }
            jobs.push(job);
        }
        let lines = run(&machine, &jobs);
        for (job, path) in jobs.iter().zip(&paths) {
            let (name, shape) = (job.name, &job.shape);
            let size = fs::metadata(path).expect("its content").len();
            wrong.expect(name, "size", said(&lines, name, "size"), &size.to_string());
            wrong.expect(name, "content", said(&lines, name, "content"), "equal");
            let mismatches = said(&lines, name, "mismatches");
            if is_planted(name) {
                assert!(
                    !matches!(mismatches, "" | "0"),
                    "a check finds parity that is wrong: {mismatches:?}"
                );
            } else if shape.md_level().is_redundant() {
                wrong.expect(name, "mismatches", mismatches, "0");
            }
            for absent in &job.subsets {
                let verdict = said(&lines, name, &format!("without {}", roles_text(absent)));
                let expected = if loses_data(shape, absent) { "refused" } else { "equal" };
                wrong.expect(name, &format!("without {absent:?}"), verdict, expected);
            }
            member_paths(folder.path(), name, shape)
                .iter()
                .chain([path])
                .for_each(|file| fs::remove_file(file).expect("removed"));
        }
    }
    wrong.check();
}

#[test]
fn small_arrays_of_the_kernel_are_read() {
    if Machine::is_there("small arrays of the kernel") {
        the_kernel_wrote(Sizes::Small, SEED);
    }
}

#[test]
fn odd_arrays_of_the_kernel_are_read() {
    if Machine::is_there("odd arrays of the kernel") {
        the_kernel_wrote(Sizes::Odd, SEED + 1);
    }
}

#[test]
fn unequal_arrays_of_the_kernel_are_read() {
    if Machine::is_there("unequal arrays of the kernel") {
        the_kernel_wrote(Sizes::Unequal, SEED + 2);
        the_kernel_wrote(Sizes::Large, SEED + 3);
    }
}

#[test]
fn small_arrays_of_raidloom_are_read_by_the_kernel() {
    if Machine::is_there("small arrays read by the kernel") {
        the_kernel_reads(Sizes::Small, SEED + 4);
    }
}

#[test]
fn odd_arrays_of_raidloom_are_read_by_the_kernel() {
    if Machine::is_there("odd arrays read by the kernel") {
        the_kernel_reads(Sizes::Odd, SEED + 5);
    }
}

#[test]
fn unequal_arrays_of_raidloom_are_read_by_the_kernel() {
    if Machine::is_there("unequal arrays read by the kernel") {
        the_kernel_reads(Sizes::Unequal, SEED + 6);
        the_kernel_reads(Sizes::Large, SEED + 7);
    }
}

/// Size, places and content, where the kernel wrote and where raidloom did. md counts the size of
/// level 0 as if the chunk were a power of two; what lies behind that is lost to it, a file
/// system's last blocks for example. And a mirror of one member.
#[test]
fn chunks_that_are_no_power_of_two_and_a_mirror_of_one_cross_both_ways() {
    if Machine::is_there("chunks that are no power of two") {
        let arrays = || {
            Shape::unusual(Sizes::Unequal)
                .into_iter()
                .map(|shape| (shape.to_string(), shape))
                .collect()
        };
        the_kernel_wrote_these(arrays(), Sizes::Unequal, SEED + 8);
        the_kernel_reads_these(arrays(), Sizes::Unequal, SEED + 9);
    }
}

#[test]
fn a_difference_is_told_by_its_place() {
    let expected = noise(1, 4096);
    let mut found = expected.clone();
    assert_eq!(difference(&found, &expected), None);
    found[1030] ^= 1;
    found[4095] ^= 1;
    assert_eq!(
        difference(&found, &expected).as_deref(),
        Some("first at byte 1030 (sector 2); 2 sectors differ")
    );
    assert_eq!(difference(&found[..512], &expected).as_deref(), Some("512 bytes instead of 4096"));
}

/// What the matrix is to have in it.
#[test]
fn nothing_is_left_out() {
    let sizes = [Sizes::Small, Sizes::Odd, Sizes::Unequal];
    let all: Vec<Shape> = sizes.into_iter().flat_map(Shape::all).collect();
    let names: BTreeSet<String> = all.iter().map(Shape::to_string).collect();
    assert_eq!((names.len(), all.len()), (3 * 155, 3 * 155), "each has a name of its own");
    for writer in [Writer::Kernel, Writer::Raidloom] {
        let crossing: Vec<&Shape> = all.iter().filter(|shape| crosses(shape, writer)).collect();
        let kinds: BTreeSet<_> =
            crossing.iter().map(|shape| (shape.level, shape.layout, shape.members)).collect();
        assert_eq!(
            (crossing.len(), kinds.len()),
            (155, 155),
            "{writer:?}: each kind and number of members crosses at one size"
        );
        for (level, layout, least) in Shape::kinds() {
            let sizes = crossing
                .iter()
                .filter(|shape| (shape.level, shape.layout) == (level, layout))
                .map(|shape| shape.sizes as usize);
            assert_eq!(
                sizes.collect::<BTreeSet<_>>().len(),
                3.min(Sizes::MEMBERS_MAX - least + 1),
                "{writer:?}: {level} {layout} has all sizes"
            );
        }
    }
    // The two layouts of level 0 differ where members are unequal and more than one goes on.
    for members in 3..=Sizes::MEMBERS_MAX {
        let sizes: Vec<u64> = Shape::new("0", "original", members, Sizes::Unequal)
            .member_sizes()
            .iter()
            .map(|size| size - (1 << 20))
            .collect();
        let layouts = [array::Raid0Layout::Original, array::Raid0Layout::Alternate];
        let [one, other] =
            layouts.map(|layout| array::geometry::Raid0::new(&sizes, 16 << 10, layout));
        let differs = (0..one.size_bytes())
            .step_by(16 << 10)
            .filter(|&offset| one.locate(offset, 512) != other.locate(offset, 512))
            .count();
        assert!(differs > 10, "{members} members: {differs} chunks");
    }
    let smallest = Sizes::Unequal.of_members();
    assert!(smallest[1..].iter().all(|size| *size > smallest[0]));
    assert!(all.iter().filter(|shape| shape.md_level() == Level::Raid6).count() == 3 * 14 * 4);
}
