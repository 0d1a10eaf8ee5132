//! Arrays of the kernel that raidloom only reads: with superblocks of version 0.90, and stopped in
//! the middle of a reshape. They are opened by their superblocks, as `array assemble --read-only`
//! prints it, whole and without each member.

use std::fs;
use std::path::{Path, PathBuf};

use block::{Blocking, Reactor};
use host::guard::{Consent, Guard};
use interop::{Job, Machine, Shape, Sizes, difference, member_path, noise, said};
use mdtools::AssemblyOptions;
use stack::BuildContext;

use crate::exchange::{Problems, folder, run};

const SEED: u64 = 0x7265_7363;
const CONTENT_BYTES: usize = 32 << 20;

/// Reads the whole array that these members make, by their superblocks.
fn content(members: &[PathBuf], absent: Option<usize>) -> Result<Vec<u8>, String> {
    let here = |(role, path): (usize, &PathBuf)| (Some(role) != absent).then(|| path.clone());
    let present: Vec<PathBuf> = members.iter().enumerate().filter_map(here).collect();
    let guard = Guard::new(Consent::default());
    let found = mdtools::find(&guard, &present);
    let [group] = &found.groups[..] else { return Err(format!("{found:?}")) };
    match group.stack(AssemblyOptions::default()) {
        Err(error)
            if error.to_string().contains("it can be read: --read-only, or --overlay DIR") => {}
        other => return Err(format!("it is not to be written: {other:?}")),
    }
    let text = group
        .stack(AssemblyOptions { read_only: true, ..AssemblyOptions::default() })
        .map_err(|error| error.to_string())?
        .to_string();
    let context = BuildContext { read_only: true, ..BuildContext::new(&guard) };
    let stack =
        stack::parse_and_build(&text, &context).map_err(|error| format!("{text}: {error}"))?;
    let mut bytes = vec![0; stack.device.info().size_bytes as usize];
    let reactor = Reactor::wall().map_err(|error| error.to_string())?;
    let read = Blocking::open(&*stack.device, &reactor)
        .and_then(|mut channel| channel.read_slice(0, &mut bytes));
    read.map_err(|error| format!("{text}: {error}")).map(|()| bytes)
}

/// Holds the array against what it was filled with, whole and without each member that it can do
/// without.
fn compare(
    name: &str,
    members: &[PathBuf],
    is_redundant: bool,
    expected: &[u8],
    wrong: &mut Problems,
) {
    let one_less = (0..members.len()).filter(|_| is_redundant).map(Some);
    for absent in [None].into_iter().chain(one_less) {
        match content(members, absent) {
            Ok(found) => match difference(&found, &expected[..expected.len().min(found.len())]) {
                None if found.is_empty() => wrong.note(name, "it is empty"),
                None => (),
                Some(difference) => {
                    wrong.note(name, format_args!("without {absent:?}: {difference}"));
                }
            },
            Err(error) => wrong.note(name, format_args!("without {absent:?}: {error}")),
        }
    }
}

fn members(folder: &Path, name: &str, count: usize) -> Vec<PathBuf> {
    (0..count).map(|role| member_path(folder, name, role)).collect()
}

#[test]
fn arrays_of_the_kernel_with_old_superblocks_are_read() {
    if !Machine::is_there("arrays with superblocks of version 0.90") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Odd, SEED).expect("images");
    let expected = noise(SEED, CONTENT_BYTES);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &expected).expect("written");
    let kinds = [
        ("linear", "", 2),
        ("1", "", 2),
        ("4", "", 3),
        ("5", "left-symmetric", 3),
        ("5", "right-asymmetric", 4),
        ("6", "left-symmetric", 4),
        ("10", "n2", 3),
        ("10", "f2", 3),
    ];
    let shapes: Vec<(String, Shape)> = (kinds.into_iter())
        .map(|(level, layout, count)| {
            (format!("old-{level}-{layout}-{count}"), Shape::new(level, layout, count, Sizes::Odd))
        })
        .collect();
    // mdadm itself refuses to make those of level 0 today.
    let job = |(name, shape)| Job {
        options: "--metadata=0.90",
        ..Job::new("make", name, shape, &content_path)
    };
    let jobs: Vec<Job<'_>> = shapes.iter().map(|(name, shape)| job((name, *shape))).collect();
    let lines = run(&machine, &jobs);
    let mut wrong = Problems::default();
    for (name, shape) in &shapes {
        wrong.expect(name, "what the kernel reads", said(&lines, name, "content"), "equal");
        let size: usize = said(&lines, name, "size").parse().expect("a size in bytes");
        let members = members(folder.path(), name, shape.members);
        match content(&members, None) {
            Ok(found) => wrong.expect(name, "size", &found.len().to_string(), &size.to_string()),
            Err(error) => wrong.note(name, error),
        }
        compare(name, &members, shape.md_level().is_redundant(), &expected, &mut wrong);
    }
    wrong.check();
}

#[test]
fn arrays_that_the_kernel_left_in_a_reshape_are_read() {
    if !Machine::is_there("arrays in the middle of a reshape") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Large, SEED).expect("images");
    let expected = noise(SEED, CONTENT_BYTES);
    let content_path = folder.path().join("content");
    fs::write(&content_path, &expected).expect("written");
    // What it is at first, how many come, and what becomes of it. A smaller size leaves room to
    // move the data backwards.
    let cases = [
        ("five-grows", "5", "left-symmetric", 3, "|/dev/ubdd|-n4", 4),
        ("five-grows-by-two", "5", "right-asymmetric", 3, "|/dev/ubdd /dev/ubde|-n5", 5),
        ("five-changes", "5", "left-symmetric", 4, "||--layout=right-asymmetric --chunk=16", 4),
        ("five-shrinks", "5", "left-symmetric", 4, "||--size=3072;--array-size=6144;shrink 3", 4),
        ("five-becomes-six", "5", "left-symmetric", 3, "|/dev/ubdd|--level=6 -n4", 4),
        ("six-grows", "6", "left-symmetric", 4, "|/dev/ubde|-n5", 5),
        ("four-grows", "4", "", 3, "|/dev/ubdd|-n4", 4),
        ("ten-grows", "10", "n2", 3, "|/dev/ubdd|-n4", 4),
    ];
    let shape = |level, layout, count| Shape {
        chunk_kib: 32,
        ..Shape::new(level, layout, count, Sizes::Large)
    };
    let jobs: Vec<Job<'_>> = (cases.iter())
        .map(|&(name, level, layout, count, options, _)| Job {
            options,
            ..Job::new("reshape", name, shape(level, layout, count), &content_path)
        })
        .collect();
    let lines = run(&machine, &jobs);
    let mut wrong = Problems::default();
    let mut directions = [0; 2];
    for (name, .., count) in cases {
        let members = members(folder.path(), name, count);
        let found = mdtools::find(&Guard::new(Consent::default()), &members);
        let reshape = found.groups.first().and_then(|group| group.assembly.as_ref().ok()?.reshape);
        match reshape {
            Some(reshape) if (1..reshape.array_sectors).contains(&reshape.position_sectors) => {
                directions[usize::from(reshape.is_backwards)] += 1;
            }
            other => {
                wrong.note(
                    name,
                    format_args!(
                        "it is not in the middle of a reshape: {other:?}; {:?}",
                        said(&lines, name, "position")
                    ),
                );
            }
        }
        compare(name, &members, true, &expected, &mut wrong);
    }
    wrong.check();
    assert!(directions.iter().all(|&count| count > 0), "forwards and backwards: {directions:?}");
}
