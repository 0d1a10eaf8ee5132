//! Arrays that mdadm made, that raidloom keeps running with their metadata, and that the kernel
//! takes back: after an orderly stop and after none.

use std::fs;
use std::path::PathBuf;

use array::md::{Level, Superblock};
use array::sync::Ranges;
use block::{Blocking, Device, SECTOR_BYTES};
use host::guard::{Consent, Guard};
use interop::{Job, KeptArray, Machine, Shape, Sizes, member_paths, noise, said};

const SEED: u64 = 0x7275_6e6e_696e_6721;

/// What mdadm is told besides the level.
struct MadeArray {
    name: &'static str,
    shape: Shape,
    options: &'static str,
}

const fn made(
    name: &'static str,
    level: &'static str,
    layout: &'static str,
    members: usize,
    options: &'static str,
) -> MadeArray {
    let chunk_kib = if level.as_bytes()[0] == b'1' && level.len() == 1 { 0 } else { 64 };
    MadeArray {
        name,
        shape: Shape { level, layout, members, chunk_kib, sizes: Sizes::Large },
        options,
    }
}

const ARRAYS: &[MadeArray] = &[
    made("raid1", "1", "", 2, ""),
    made("raid1-bitmap", "1", "", 3, " --bitmap=internal"),
    made("raid4", "4", "", 3, ""),
    made("raid5", "5", "left-symmetric", 4, ""),
    made("raid5-bitmap", "5", "right-asymmetric", 3, " --bitmap=internal"),
    made("raid5-ppl", "5", "left-symmetric", 3, " --consistency-policy=ppl"),
    made("raid6-bitmap", "6", "left-symmetric", 5, " --bitmap=internal"),
    made("raid1-1.0", "1", "", 2, " --metadata=1.0"),
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
    /// Stopped in order, after member 1 failed during a resync.
    StoppedInResync,
}

impl End {
    fn is_degraded(self) -> bool {
        matches!(self, End::LeftDegraded | End::StoppedInResync)
    }

    fn is_clean(self) -> bool {
        matches!(self, End::Stopped | End::StoppedInResync)
    }
}

/// Overwrites parts of what the array holds, and ends as told.
fn write(paths: &[PathBuf], content: &mut [u8], end: End, seed: u64) -> Result<(), String> {
    let kept = KeptArray::start(paths, &[])?;
    let (array, assembly) = (&kept.array, kept.array.assembly());
    if !assembly.clean
        || assembly.degraded_count() > 0
        || array.info().size_bytes != content.len() as u64
    {
        return Err(format!(
            "clean {}, {}, {} bytes",
            assembly.clean,
            assembly.slots_text(),
            array.info().size_bytes
        ));
    }
    let mut channel = Blocking::open(array, &kept.reactor).map_err(|error| error.to_string())?;
    let mut found = vec![0; content.len()];
    channel.read_slice(0, &mut found).map_err(|error| error.to_string())?;
    if let Some(difference) = interop::difference(&found, content) {
        return Err(format!("read before the first write: {difference}"));
    }
    if end == End::StoppedInResync {
        array.control().require_resync(&Ranges::one(0..array.control().sync_bytes()));
    }
    if end.is_degraded() {
        array.control().fail(1).map_err(|error| error.to_string())?;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let sectors = content.len() / SECTOR_BYTES as usize;
    for _ in 0..150 {
        let start = random.usize(..sectors);
        let length = random.usize(1..=200).min(sectors - start);
        let piece = start * 512..(start + length) * 512;
        random.fill(&mut content[piece.clone()]);
        channel
            .write_slice((start * 512) as u64, &content[piece])
            .map_err(|error| error.to_string())?;
    }
    channel.flush().map_err(|error| error.to_string())?;
    drop(channel);
    if end.is_clean() {
        kept.stop()?;
    }
    Ok(())
}

/// The superblocks as `md` finds them: all of one mind, and clean when the array was stopped.
fn check_superblocks(paths: &[PathBuf], end: End) -> Result<(), String> {
    let guard = Guard::new(Consent::default());
    let mut superblocks: Vec<Superblock> = Vec::new();
    for path in paths {
        let examined =
            mdtools::examine(&guard, &path.clone().into()).map_err(|error| error.to_string())?;
        superblocks.push(examined.candidate().ok_or("no superblock")?.superblock);
    }
    let (first, rest) = superblocks.split_first().ok_or("no member")?;
    let alike = |one: &&Superblock| {
        one.events == first.events && one.resync_offset_sectors == first.resync_offset_sectors
    };
    let rest: Vec<&Superblock> = rest
        .iter()
        .enumerate()
        .filter(|(role, _)| !end.is_degraded() || *role != 0)
        .map(|(_, one)| one)
        .collect();
    if !rest.iter().all(alike) || first.is_clean() != end.is_clean() {
        return Err(format!(
            "events and resync_offset: {:?}",
            superblocks
                .iter()
                .map(|one| (one.events, one.resync_offset_sectors))
                .collect::<Vec<_>>()
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
    let machine = Machine::new(folder.path(), Sizes::Large, SEED).expect("images");
    let content = noise(SEED, 24 << 20);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &content).expect("written");
    let make = |array: &'static MadeArray| Job {
        options: array.options,
        ..Job::new("make", array.name, array.shape, &content_path)
    };
    let lines = machine
        .run(&ARRAYS.iter().map(make).collect::<Vec<_>>())
        .unwrap_or_else(|error| panic!("{error}"));

    let mut taken = Vec::new();
    let mut wrong = Vec::new();
    for (array, seed) in ARRAYS.iter().zip(SEED..) {
        let size: usize = said(&lines, array.name, "size").parse().expect("a size in bytes");
        let mut ends = vec![End::Stopped, End::Left];
        ends.extend((array.name == "raid5-ppl").then_some(End::LeftDegraded));
        let has_parity = array.shape.md_level().parity_count() > 0;
        ends.extend(has_parity.then_some(End::StoppedInResync));
        for end in ends {
            let name = format!("{}-{end:?}", array.name);
            let paths = member_paths(folder.path(), &name, &array.shape);
            for (from, to) in
                member_paths(folder.path(), array.name, &array.shape).iter().zip(&paths)
            {
                fs::copy(from, to).expect("copied");
            }
            let mut expected = content[..size].to_vec();
            let written = write(&paths, &mut expected, end, seed)
                .and_then(|()| check_superblocks(&paths, end));
            if let Err(error) = written {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
            let expected_path = folder.path().join(format!("{name}.content"));
            fs::write(&expected_path, expected).expect("written");
            taken.push((name, array, end, size, expected_path));
        }
    }
    let jobs: Vec<Job<'_>> = (taken.iter())
        .map(|(name, array, end, _, path)| {
            let gone = if end.is_degraded() { vec![1] } else { Vec::new() };
            Job { gone, ..Job::new("take", name, array.shape, path) }
        })
        .collect();
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{wrong:#?}\n{error}"));
    for (name, array, end, size, _) in &taken {
        let mut expect = |what: &str, expected: &str| {
            let found = said(&lines, name, what);
            if found != expected {
                wrong.push(format!("{name}: {what}: {found:?} instead of {expected:?}"));
            }
        };
        expect("size", &size.to_string());
        expect("content", "equal");
        if !end.is_degraded() {
            expect("mismatches", "0");
        }
        assert!(
            array.shape.md_level() != Level::Linear,
            "levels without redundancy have nothing to keep"
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(taken.len(), 2 * ARRAYS.len() + 1 + 5, "five of them have parity");
}
