//! Arrays that the Linux kernel wrote and raidloom reads, and the other way round.
//!
//! Both directions take every shape through one machine, one after the other. Disks that are used again are full of what was on
//! them before, so that whatever is not written shows.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use array::geometry::ParityLayout;
use array::md::{Consistency, Layout, Level};
use block::SECTOR_BYTES;
use interop::{Machine, Opened, SHAPES, Shape, assembled, difference, job, member_path, noise, open, roles_text, said};
use lab::arrays::{Create, create};
use lab::guard::{Consent, Guard};

const SEED: u64 = 0x0072_6169_646c_6f6f;
/// More than any of the arrays holds, in bytes.
const CONTENT_BYTES: usize = 40 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

fn members(folder: &Path, name: &str, shape: &Shape) -> Vec<PathBuf> {
    (0..shape.members).map(|role| member_path(folder, name, role)).collect()
}

/// Reads the whole array through raidloom and compares.
fn compare(members: &[PathBuf], absent: &[usize], expected: &[u8]) -> Result<Option<String>, String> {
    let (mut channel, size, text) = match open(members, absent, true)? {
        Opened::Refused(_) => return Ok(Some("refused".to_owned())),
        Opened::Ready(channel, size, text) => (channel, size, text),
    };
    let mut found = vec![0; size as usize];
    channel.read_slice(0, &mut found).map_err(|error| format!("{text}: {error}"))?;
    Ok(difference(&found, expected))
}

#[test]
fn what_the_kernel_wrote_is_read() {
    if !Machine::is_there("arrays of the kernel read by raidloom") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), SEED).expect("images");
    let content = noise(SEED, CONTENT_BYTES);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &content).expect("written");
    // Each array holds another part, so that what an earlier one left is wrong in a later one.
    let skip = |number: usize| (number as u64) * 33 * SECTOR_BYTES;
    let jobs: Vec<String> = (SHAPES.iter().enumerate())
        .map(|(number, shape)| {
            // Which losses such an array lives through is for the kernel to say.
            let subsets = if shape.level == "10" { shape.subsets() } else { Vec::new() };
            job("make", &shape.to_string(), &shape.devices(), &content_path, skip(number), &subsets, &shape.mdadm_options())
        })
        .collect();
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{error}"));

    let mut wrong = Vec::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        let name = shape.to_string();
        let members = members(folder.path(), &name, shape);
        assert_eq!(said(&lines, &name, "content"), "equal", "{name}: the kernel reads what it wrote");
        let size: usize = said(&lines, &name, "size").parse().expect("a size in bytes");
        let expected = &content[skip(number) as usize..][..size];
        let (assembly, _) = assembled(&members, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(assembly.level, shape.md_level(), "{name}");
        // Where every member has the same size the two layouts of level 0 are one, and mdadm may leave it out.
        if shape.level != "0" || shape.unequal {
            assert_eq!(assembly.layout, shape.md_layout(), "{name}");
        }
        let mut compared = 0;
        for absent in [Vec::new()].into_iter().chain(shape.subsets()) {
            let lost = said(&lines, &name, &format!("without {}", roles_text(&absent))) == "refused";
            match compare(&members, &absent, expected) {
                Ok(None) if !lost => compared += 1,
                Ok(Some(verdict)) if lost && verdict == "refused" => (),
                Ok(None) => wrong.push(format!("{name} without {absent:?}: read, and the kernel refuses it")),
                Ok(Some(difference)) => wrong.push(format!("{name} without {absent:?}: {difference}")),
                Err(error) => wrong.push(format!("{name} without {absent:?}: {error}")),
            }
        }
        assert!(compared > shape.subsets().len().min(shape.members), "{name}: only {compared} were compared: {wrong:#?}");
        members.iter().for_each(|member| fs::remove_file(member).expect("removed"));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Makes an array, fills it and writes over it here and there, partly with the members in `absent` gone. Returns its content.
fn write_array(members: &[PathBuf], shape: &Shape, absent: &[usize], seed: u64) -> Result<Vec<u8>, String> {
    let guard = Guard::new(Consent::default());
    for (path, size) in members.iter().zip(shape.member_sizes()) {
        // Files of zeroes agree with each other at every level.
        guard.make_file(path, *size, |_| Ok::<(), block::Error>(())).map_err(|error| error.to_string())?;
    }
    let wanted = Create {
        name: "array".to_owned(),
        level: shape.md_level(),
        layout: shape.md_layout(),
        chunk_bytes: shape.chunk_kib << 10,
        members: members.iter().cloned().map(Some).collect(),
        spares: Vec::new(),
        consistency: Consistency::Resync,
        create_bytes: None,
        assume_clean: true,
    };
    create(&guard, &wanted).map_err(|error| error.to_string())?;
    // Its files are locked as long as it lives.
    drop(guard);

    let mut content = Vec::new();
    let mut random = fastrand::Rng::with_seed(seed);
    for gone in [&[][..], absent] {
        let Opened::Ready(mut channel, size, text) = open(members, gone, false)? else { return Err("is refused".to_owned()) };
        if content.is_empty() {
            content = noise(seed, size as usize);
            channel.write_slice(0, &content).map_err(|error| format!("{text}: {error}"))?;
        }
        let sectors = size / SECTOR_BYTES;
        for _ in 0..200 {
            // Most are parts of a chunk, some span several rows.
            let longest = if random.u8(..) < 32 { 2048 } else { 160 };
            let start = random.u64(..sectors);
            let length = random.u64(1..=longest).min(sectors - start);
            let piece = start as usize * SECTOR_BYTES as usize..(start + length) as usize * SECTOR_BYTES as usize;
            random.fill(&mut content[piece.clone()]);
            channel.write_slice(start * SECTOR_BYTES, &content[piece]).map_err(|error| format!("{text}: {error}"))?;
        }
        channel.flush().map_err(|error| format!("{text}: {error}"))?;
        if absent.is_empty() {
            break;
        }
    }
    Ok(content)
}

/// Shapes that are also written to with members gone, and which.
fn degraded() -> Vec<(&'static Shape, Vec<usize>)> {
    let of = |level: &str, layout: &str| SHAPES.iter().rfind(|shape| (shape.level, shape.layout) == (level, layout)).expect("a shape");
    vec![
        (of("1", ""), vec![0, 2]),
        (of("4", ""), vec![0]),
        (of("4", ""), vec![2]),
        (of("5", "left-symmetric"), vec![2]),
        (of("5", "right-asymmetric"), vec![0]),
        (of("6", "left-symmetric"), vec![1, 3]),
        (of("6", "right-asymmetric"), vec![2]),
        (of("6", "ddf-N-continue"), vec![0, 4]),
        (of("6", "left-symmetric-6"), vec![1, 4]),
        (of("10", "n2"), vec![0, 3]),
        (of("10", "f2"), vec![2]),
        (of("10", "o2"), vec![1]),
    ]
}

/// The sets of members that the kernel does without. Of level 6, where the check has seen both parities already, neighbours and a
/// single one: every start of the array takes its time.
fn left_out_by_the_kernel(shape: &Shape) -> Vec<Vec<usize>> {
    let neighbours = |roles: &Vec<usize>| matches!(roles[..], [0] | [0, 2]) || roles.len() == 2 && roles[0] + 1 == roles[1];
    shape.subsets().into_iter().filter(|roles| shape.level != "6" || neighbours(roles)).collect()
}

#[test]
fn what_raidloom_wrote_is_read_by_the_kernel() {
    if !Machine::is_there("arrays of raidloom read by the kernel") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), !SEED).expect("images");
    let whole = SHAPES.iter().map(|shape| (shape.to_string(), shape, Vec::new()));
    let planted = SHAPES.iter().find(|shape| shape.md_layout() == Layout::Parity(ParityLayout::ParityLast)).expect("a shape");
    let arrays: Vec<(String, &Shape, Vec<usize>)> = whole
        .chain(degraded().into_iter().map(|(shape, gone)| (format!("{shape}-degraded-{}", roles_text(&gone)), shape, gone)))
        .chain([("planted".to_owned(), planted, Vec::new())])
        .collect();

    let mut jobs = Vec::new();
    for ((name, shape, gone), number) in arrays.iter().zip(0..) {
        let members = members(folder.path(), name, shape);
        let content = write_array(&members, shape, gone, SEED + number).unwrap_or_else(|error| panic!("{name}: {error}"));
        let content_path = folder.path().join(format!("{name}.content"));
        fs::write(&content_path, content).expect("written");
        let mut devices = shape.devices();
        for &role in gone {
            "missing".clone_into(&mut devices[role]);
        }
        let subsets = if name == "planted" || !gone.is_empty() { Vec::new() } else { left_out_by_the_kernel(shape) };
        jobs.push(job("take", name, &devices, &content_path, 0, &subsets, ""));
        if name == "planted" {
            // The first byte of parity: the last member's.
            let (assembly, paths) = assembled(&members, &[]).expect("an array");
            let place = assembly.slots.last().and_then(|slot| slot.present()).expect("a member");
            let file = OpenOptions::new().read(true).write(true).open(&paths[place.candidate]).expect("a member");
            let mut byte = [0];
            file.read_exact_at(&mut byte, place.data_offset_sectors * SECTOR_BYTES).expect("a byte");
            file.write_all_at(&[!byte[0]], place.data_offset_sectors * SECTOR_BYTES).expect("written");
        }
    }
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{error}"));

    let mut wrong = Vec::new();
    let mut expect = |name: &str, what: &str, found: &str, expected: &str| {
        if found != expected {
            wrong.push(format!("{name}: {what}: {found:?} instead of {expected:?}"));
        }
    };
    for (name, shape, gone) in &arrays {
        let size = fs::metadata(folder.path().join(format!("{name}.content"))).expect("its content").len();
        expect(name, "size", said(&lines, name, "size"), &size.to_string());
        expect(name, "content", said(&lines, name, "content"), "equal");
        if name == "planted" {
            assert_ne!(said(&lines, name, "mismatches"), "0", "a check finds parity that is wrong");
            continue;
        }
        if !gone.is_empty() {
            continue;
        }
        if shape.md_level().is_redundant() {
            expect(name, "mismatches", said(&lines, name, "mismatches"), "0");
        }
        let mut equal = BTreeSet::new();
        let subsets = left_out_by_the_kernel(shape);
        for absent in subsets.clone() {
            let verdict = said(&lines, name, &format!("without {}", roles_text(&absent)));
            // For level 10 it depends on who holds the other copies; the superblocks tell both sides the same.
            let members = members(folder.path(), name, shape);
            let lost = shape.md_level() == Level::Raid10 && matches!(open(&members, &absent, true), Ok(Opened::Refused(_)));
            expect(name, &format!("without {absent:?}"), verdict, if lost { "refused" } else { "equal" });
            equal.extend((verdict == "equal").then_some(absent));
        }
        assert!(equal.len() >= subsets.len().min(shape.members), "{name}: {equal:?}: {lines:#?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_difference_is_told_by_its_place() {
    let expected = noise(1, 4096);
    let mut found = expected.clone();
    assert_eq!(difference(&found, &expected), None);
    found[1030] ^= 1;
    found[4095] ^= 1;
    assert_eq!(difference(&found, &expected).as_deref(), Some("first at byte 1030 (sector 2); 2 sectors differ"));
    assert_eq!(difference(&found[..512], &expected).as_deref(), Some("512 bytes instead of 4096"));
}

#[test]
fn every_shape_has_a_name_of_its_own() {
    let names: BTreeSet<String> = SHAPES.iter().map(Shape::to_string).collect();
    assert_eq!(names.len(), SHAPES.len());
    assert!(degraded().iter().all(|(shape, gone)| gone.len() < shape.members));
}
