//! Arrays that mdadm made, that raidloom keeps running with their metadata, and that the kernel takes back: after an orderly stop
//! and after none.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use array::md::{Assembly, Level, Superblock};
use array::record::{Running, StartOptions, start};
use block::{Blocking, Device, Reactor, SECTOR_BYTES};
use interop::{Machine, Shape, assembled, job, member_path, noise, said};
use lab::guard::{Consent, Guard};
use stack::BuildContext;

const SEED: u64 = 0x7275_6e6e_696e_6721;

/// What mdadm is told besides the level.
struct Made {
    name: &'static str,
    shape: Shape,
    options: &'static str,
}

const fn made(name: &'static str, level: &'static str, layout: &'static str, members: usize, options: &'static str) -> Made {
    let chunk_kib = if level.as_bytes()[0] == b'1' && level.len() == 1 { 0 } else { 64 };
    Made { name, shape: Shape { level, layout, members, chunk_kib, unequal: false }, options }
}

const ARRAYS: &[Made] = &[
    made("raid1", "1", "", 2, ""),
    made("raid1-bitmap", "1", "", 3, " --bitmap=internal"),
    made("raid4", "4", "", 3, ""),
    made("raid5", "5", "left-symmetric", 4, ""),
    made("raid5-bitmap", "5", "right-asymmetric", 3, " --bitmap=internal"),
    made("raid5-ppl", "5", "left-symmetric", 3, " --consistency-policy=ppl"),
    made("raid6-bitmap", "6", "left-symmetric", 5, " --bitmap=internal"),
    made("raid10", "10", "f2", 4, ""),
    made("raid10-bitmap", "10", "n2", 4, " --bitmap=internal"),
];

/// How raidloom leaves an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stopped,
    /// As after a crash that lost nothing: dirty.
    Left,
    /// The same with member 1 gone: only where a log makes that safe.
    LeftDegraded,
}

fn members(folder: &Path, name: &str, count: usize) -> Vec<PathBuf> {
    (0..count).map(|role| member_path(folder, name, role)).collect()
}

/// The array and its assembly, over the whole members as files.
fn running(paths: &[PathBuf], guard: &Guard, reactor: &Reactor) -> Result<(Running, Assembly), String> {
    let (assembly, present) = assembled(paths, &[])?;
    let context = BuildContext { files: guard, seed: 0, read_only: false, create_bytes: None, emulate: false };
    let device = |path: &PathBuf| {
        let text = format!("file:{}?block={SECTOR_BYTES}&direct=no", path.display());
        let stack = stack::parse_and_build(&text, &context).map_err(|error| format!("{text}: {error}"))?;
        Ok(Some(stack.device))
    };
    let devices: Vec<Option<Arc<dyn Device>>> = present.iter().map(device).collect::<Result<_, String>>()?;
    let array = start(&assembly, &devices, &StartOptions::default(), reactor).map_err(|error| error.to_string())?;
    Ok((array, assembly))
}

/// Overwrites parts of what the array holds, and ends as told.
fn write(paths: &[PathBuf], content: &mut [u8], end: End, seed: u64) -> Result<(), String> {
    let guard = Guard::new(Consent { erase_signature: true, ..Consent::default() });
    let reactor = Reactor::wall().map_err(|error| error.to_string())?;
    let (array, assembly) = running(paths, &guard, &reactor)?;
    if !assembly.clean || assembly.degraded_count() > 0 || array.info().size_bytes != content.len() as u64 {
        return Err(format!("clean {}, {}, {} bytes", assembly.clean, assembly.places_text(), array.info().size_bytes));
    }
    let mut channel = Blocking::open(&array, &reactor).map_err(|error| error.to_string())?;
    let mut found = vec![0; content.len()];
    channel.read_slice(0, &mut found).map_err(|error| error.to_string())?;
    if let Some(difference) = interop::difference(&found, content) {
        return Err(format!("read before the first write: {difference}"));
    }
    if end == End::LeftDegraded {
        array.control().fail(1).map_err(|error| error.to_string())?;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let sectors = content.len() / SECTOR_BYTES as usize;
    for _ in 0..150 {
        let start = random.usize(..sectors);
        let length = random.usize(1..=200).min(sectors - start);
        let piece = start * 512..(start + length) * 512;
        random.fill(&mut content[piece.clone()]);
        channel.write_slice((start * 512) as u64, &content[piece]).map_err(|error| error.to_string())?;
    }
    channel.flush().map_err(|error| error.to_string())?;
    drop(channel);
    if end == End::Stopped {
        array.stop(&reactor).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The superblocks as `md` finds them: all of one mind, and clean when the array was stopped.
fn check_superblocks(paths: &[PathBuf], end: End) -> Result<(), String> {
    let guard = Guard::new(Consent::default());
    let mut superblocks: Vec<Superblock> = Vec::new();
    for path in paths {
        let examined = lab::arrays::examine(&guard, path).map_err(|error| error.to_string())?;
        superblocks.push(examined.candidate().ok_or("no superblock")?.superblock);
    }
    let (first, rest) = superblocks.split_first().ok_or("no member")?;
    let alike = |one: &&Superblock| one.events == first.events && one.resync_offset_sectors == first.resync_offset_sectors;
    let rest: Vec<&Superblock> =
        rest.iter().enumerate().filter(|(role, _)| end != End::LeftDegraded || *role != 0).map(|(_, one)| one).collect();
    if !rest.iter().all(alike) || first.is_clean() != (end == End::Stopped) {
        return Err(format!(
            "events and resync_offset: {:?}",
            superblocks.iter().map(|one| (one.events, one.resync_offset_sectors)).collect::<Vec<_>>()
        ));
    }
    Ok(())
}

#[test]
fn what_raidloom_kept_running_is_taken_back_by_the_kernel() {
    if !Machine::is_there("running arrays taken back by the kernel") {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let machine = Machine::new(folder.path(), SEED).expect("images");
    let content = noise(SEED, 24 << 20);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &content).expect("written");
    let make = |array: &Made| {
        let options = format!("{}{}", array.shape.mdadm_options(), array.options);
        job("make", array.name, &array.shape.devices(), &content_path, 0, &[], &options)
    };
    let lines = machine.run(&ARRAYS.iter().map(make).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));

    let mut jobs = Vec::new();
    let mut taken = Vec::new();
    let mut wrong = Vec::new();
    for (array, seed) in ARRAYS.iter().zip(SEED..) {
        let size: usize = said(&lines, array.name, "size").parse().expect("a size in bytes");
        let mut ends = vec![End::Stopped, End::Left];
        ends.extend((array.name == "raid5-ppl").then_some(End::LeftDegraded));
        for end in ends {
            let name = format!("{}-{end:?}", array.name);
            for (from, to) in
                members(folder.path(), array.name, array.shape.members).iter().zip(members(folder.path(), &name, array.shape.members))
            {
                fs::copy(from, to).expect("copied");
            }
            let paths = members(folder.path(), &name, array.shape.members);
            let mut expected = content[..size].to_vec();
            let written = write(&paths, &mut expected, end, seed).and_then(|()| check_superblocks(&paths, end));
            if let Err(error) = written {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
            let expected_path = folder.path().join(format!("{name}.content"));
            fs::write(&expected_path, expected).expect("written");
            let mut devices = array.shape.devices();
            if end == End::LeftDegraded {
                "missing".clone_into(&mut devices[1]);
            }
            jobs.push(job("take", &name, &devices, &expected_path, 0, &[], ""));
            taken.push((name, array, end, size));
        }
    }
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{wrong:#?}\n{error}"));
    for (name, array, end, size) in &taken {
        let mut expect = |what: &str, expected: &str| {
            let found = said(&lines, name, what);
            if found != expected {
                wrong.push(format!("{name}: {what}: {found:?} instead of {expected:?}"));
            }
        };
        expect("size", &size.to_string());
        expect("content", "equal");
        if *end != End::LeftDegraded {
            expect("mismatches", "0");
        }
        assert!(array.shape.md_level() != Level::Linear, "levels without redundancy have nothing to keep");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(taken.len(), 2 * ARRAYS.len() + 1);
}
