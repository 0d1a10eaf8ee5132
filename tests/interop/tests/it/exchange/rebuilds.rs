//! What one side degraded the other makes whole again: members that failed are replaced or come
//! back by the bitmap, at every level and layout.

use std::fs;
use std::path::{Path, PathBuf};

use array::md::Consistency;
use interop::{
    Job, KeptArray, Machine, Shape, Sizes, create, difference, member_paths, noise, said,
};

use crate::exchange::{Problems, folder, run};

const SEED: u64 = 0x7265_6275_696c_6421;
const CONTENT_BYTES: usize = 48 << 20;
/// What `arrays.sh` writes while members are gone begins so much later in the file.
const LATER_BYTES: usize = 16 << 20;

/// An array and who fails in it.
struct Case {
    name: String,
    shape: Shape,
    gone: Vec<usize>,
    /// The members come back, and the bitmap says what they have missed.
    comes_back: bool,
}

impl Case {
    fn consistency(&self) -> Consistency {
        if self.comes_back {
            Consistency::Bitmap { chunk_bytes: Some(4096) }
        } else {
            Consistency::Resync
        }
    }
}

/// Every redundant level and layout, with as many members gone as it takes; and each level once
/// more with a bitmap.
fn cases(seed: u64) -> Vec<Case> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cases = Vec::new();
    let kinds = Shape::kinds().into_iter().filter(|(level, ..)| !matches!(*level, "linear" | "0"));
    for (level, layout, least) in kinds {
        let members = random.usize(least.max(3)..=6);
        let with_bitmap = matches!(
            (level, layout),
            ("1" | "4", _) | ("5" | "6", "left-symmetric") | ("10", "n2" | "f2" | "o2")
        );
        for comes_back in [false, true].into_iter().take(1 + usize::from(with_bitmap)) {
            let shape = Shape::new(level, layout, members, Sizes::Odd);
            let mut roles: Vec<usize> = (0..members).collect();
            random.shuffle(&mut roles);
            roles.truncate(shape.tolerated());
            roles.sort_unstable();
            let name = format!("{shape}{}", if comes_back { "-bitmap" } else { "" });
            cases.push(Case { name, shape, gone: roles, comes_back });
        }
    }
    cases
}

fn write_file(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("written");
}

/// Fills the places of those who are gone and lets raidloom do the rest. What the array then holds
/// has to be `expected`.
fn mend(case: &Case, members: &[PathBuf], expected: &[u8], seed: u64) -> Result<(), String> {
    let kept = KeptArray::start(members, &case.gone)?;
    if let Some(difference) = difference(&kept.read_all()?, expected) {
        return Err(format!("without {:?}: {difference}", case.gone));
    }
    for &role in &case.gone {
        if !case.comes_back {
            let size = case.shape.member_sizes()[role];
            write_file(&members[role], &noise(seed + role as u64, size as usize));
        }
        // A member that comes back gets what was written meanwhile, a quarter less than everything.
        let (missed, all) =
            (kept.admit(role, &members[role])?, kept.array.control().member_bytes());
        if (missed < all) != case.comes_back || missed == 0 {
            return Err(format!("member {role} lacks {missed} of {all} bytes"));
        }
    }
    let outcomes = kept.scrub()?;
    if outcomes.len() <= case.gone.len() {
        return Err(format!("not all was done: {outcomes:?}"));
    }
    if let Some(difference) = difference(&kept.read_all()?, expected) {
        return Err(format!("made whole: {difference}"));
    }
    kept.stop()
}

#[test]
fn what_the_kernel_degraded_raidloom_makes_whole() {
    if !Machine::is_there("arrays that the kernel degraded") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Odd, SEED).expect("images");
    let content = noise(SEED, CONTENT_BYTES);
    let content_path = folder.path().join("content");
    write_file(&content_path, &content);
    let cases = cases(SEED);
    let jobs: Vec<Job<'_>> = (cases.iter())
        .map(|case| {
            let options = if case.comes_back { "--bitmap=internal --bitmap-chunk=4" } else { "" };
            Job {
                gone: case.gone.clone(),
                options,
                ..Job::new("degrade", &case.name, case.shape, &content_path)
            }
        })
        .collect();
    let lines = run(&machine, &jobs);
    let mut wrong = Problems::default();
    let mut expected = Vec::new();
    for (case, seed) in cases.iter().zip(SEED..) {
        let size: usize = said(&lines, &case.name, "size").parse().expect("a size in bytes");
        let mut now = content[..size].to_vec();
        let length = size * 3 / 4 / 4096 * 4096;
        now[3 * 4096..3 * 4096 + length]
            .copy_from_slice(&content[LATER_BYTES..LATER_BYTES + length]);
        let members = member_paths(folder.path(), &case.name, &case.shape);
        wrong.take(&case.name, mend(case, &members, &now, seed));
        let path = folder.path().join(format!("{}.content", case.name));
        write_file(&path, &now);
        expected.push(path);
    }
    let jobs: Vec<Job<'_>> = cases
        .iter()
        .zip(&expected)
        .map(|(case, path)| Job::new("take", &case.name, case.shape, path))
        .collect();
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{:#?}\n{error}", wrong.0));
    for case in &cases {
        wrong.expect(&case.name, "content", said(&lines, &case.name, "content"), "equal");
        wrong.expect(&case.name, "mismatches", said(&lines, &case.name, "mismatches"), "0");
    }
    wrong.check();
}

/// Fills an array, has its members fail, and writes on. Returns its content.
fn degrade(case: &Case, members: &[PathBuf], seed: u64) -> Result<Vec<u8>, String> {
    create(members, &case.shape, case.consistency())?;
    let kept = KeptArray::start(members, &[])?;
    let mut content = noise(seed, kept.read_all()?.len());
    kept.write(0, &content)?;
    case.gone
        .iter()
        .try_for_each(|&role| kept.array.control().fail(role))
        .map_err(|error| error.to_string())?;
    let mut random = fastrand::Rng::with_seed(seed);
    let sectors = content.len() / 512;
    for _ in 0..60 {
        let start = random.usize(..sectors);
        let end = (start + random.usize(1..=300)).min(sectors);
        random.fill(&mut content[start * 512..end * 512]);
        kept.write(start as u64 * 512, &content[start * 512..end * 512])?;
    }
    kept.stop()?;
    Ok(content)
}

#[test]
fn what_raidloom_degraded_the_kernel_makes_whole() {
    if !Machine::is_there("arrays that raidloom degraded") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Odd, !SEED).expect("images");
    let cases = cases(!SEED);
    let mut contents = Vec::new();
    let mut paths = Vec::new();
    for (case, seed) in cases.iter().zip(SEED + 1000..) {
        let members = member_paths(folder.path(), &case.name, &case.shape);
        let content =
            degrade(case, &members, seed).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let path = folder.path().join(format!("{}.content", case.name));
        write_file(&path, &content);
        contents.push(content);
        paths.push(path);
    }
    let jobs: Vec<Job<'_>> = (cases.iter().zip(&paths))
        .map(|(case, path)| {
            let what = if case.comes_back { "readmit" } else { "mend" };
            Job { gone: case.gone.clone(), ..Job::new(what, &case.name, case.shape, path) }
        })
        .collect();
    let lines = run(&machine, &jobs);
    let mut wrong = Problems::default();
    for (case, content) in cases.iter().zip(&contents) {
        let name = &case.name;
        wrong.expect(name, "content", said(&lines, name, "content"), "equal");
        wrong.expect(name, "mismatches", said(&lines, name, "mismatches"), "0");
        wrong.expect(name, "mended", said(&lines, name, "mended"), "equal");
        let members = member_paths(folder.path(), name, &case.shape);
        let again = KeptArray::start(&members, &[]).and_then(|kept| {
            let found = kept.read_all()?;
            kept.scrub()?;
            kept.stop()?;
            difference(&found, content).map_or(Ok(()), Err)
        });
        wrong.take(name, again);
    }
    wrong.check();
}
