//! Sets that mdadm and the kernel's md made, broken afterwards: rescued, or refused for a reason
//! that is true, and nothing is written to them.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use block::{Blocking, Reactor};
use host::guard::{Consent, Guard};
use interop::{Job, Machine, Shape, Sizes, difference, member_path, noise};
use mdtools::MemberSource;
use mdtools::guess::SearchLimits;
use mdtools::rescue::{RescueLoss, RescueReport, rescue};
use stack::BuildContext;

use crate::exchange::{Problems, folder, run};

const SEED: u64 = 0x6272_6f6b;
/// As much as the smallest array holds.
const FILE_SYSTEM_BYTES: usize = 4 << 20;
const CONTENT_BYTES: usize = 32 << 20;

/// What is to come of a set.
enum Ending {
    /// All of the array.
    Whole,
    /// An array that tells this loss.
    With(fn(&RescueLoss) -> bool),
    /// No array.
    Refused,
}

/// Level, layout, members, more for mdadm, who fails while the array is written to, and how the
/// members are broken.
struct Case {
    name: &'static str,
    level: &'static str,
    layout: &'static str,
    count: usize,
    options: &'static str,
    gone: &'static [usize],
    breaks: fn(&mut Vec<PathBuf>),
    ending: Ending,
}

impl Case {
    fn shape(&self) -> Shape {
        let shape = Shape::new(self.level, self.layout, self.count, Sizes::Large);
        let has_chunks = shape.chunk_kib > 0;
        Shape { chunk_kib: if has_chunks { 64 } else { 0 }, ..shape }
    }
}

fn lose(members: &mut Vec<PathBuf>, which: &[usize]) {
    for &member in which.iter().rev() {
        fs::remove_file(members.remove(member)).expect("removed");
    }
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).expect("a member");
    file.write_all_at(bytes, offset).expect("written");
}

/// A superblock of version 1.2 is 4 KiB from the start.
fn wipe(members: &[PathBuf], which: &[usize]) {
    which.iter().for_each(|&member| overwrite(&members[member], 4096, &[0; 4096]));
}

/// The checksum of a superblock of version 1.
fn tear(members: &[PathBuf], which: &[usize]) {
    which.iter().for_each(|&member| overwrite(&members[member], 4096 + 216, &[0x5a; 4]));
}

/// The member as it lay on a disk whose table of partitions is lost.
fn bury(members: &mut [PathBuf], which: usize) {
    let bytes = fs::read(&members[which]).expect("a member");
    let whole = [&vec![0; 1 << 20][..], &bytes, &vec![0; 1 << 20]].concat();
    fs::write(&members[which], whole).expect("written");
}

fn cases() -> Vec<Case> {
    let case = |name, (level, layout, count), breaks, ending| Case {
        name,
        level,
        layout,
        count,
        options: "",
        gone: &[],
        breaks,
        ending,
    };
    let five = ("5", "left-symmetric", 3);
    let six = ("6", "left-symmetric", 4);
    let is_stale = |loss: &RescueLoss| matches!(loss, RescueLoss::Stale { .. });
    let is_torn = |loss: &RescueLoss| matches!(loss, RescueLoss::Torn(_));
    vec![
        case("one-of-two", ("1", "", 2), |all| lose(all, &[0]), Ending::Whole),
        case("five-less-one", five, |all| lose(all, &[1]), Ending::Whole),
        case("five-one-wiped", five, |all| wipe(all, &[2]), Ending::Whole),
        case("five-all-wiped", five, |all| wipe(all, &[0, 1, 2]), Ending::Whole),
        case("five-buried", five, |all| bury(all, 1), Ending::Whole),
        case("five-less-two", five, |all| lose(all, &[0, 1]), Ending::Refused),
        case("six-less-two", six, |all| lose(all, &[0, 3]), Ending::Whole),
        case(
            "six-less-two-torn",
            six,
            |all| {
                tear(all, &[1]);
                lose(all, &[0, 3]);
            },
            Ending::With(is_torn),
        ),
        case("six-less-three", six, |all| lose(all, &[0, 1, 3]), Ending::Refused),
        case("four-less-parity", ("4", "", 3), |all| lose(all, &[2]), Ending::Whole),
        case("ten-near", ("10", "n2", 4), |all| lose(all, &[1, 2]), Ending::Whole),
        case("ten-far", ("10", "f2", 3), |all| lose(all, &[1]), Ending::Whole),
        case("zero-torn", ("0", "original", 3), |all| tear(all, &[1]), Ending::With(is_torn)),
        case("zero-less-one", ("0", "original", 3), |all| lose(all, &[1]), Ending::Refused),
        Case {
            options: "--metadata=0.90",
            ..case("old-five", five, |all| lose(all, &[0]), Ending::Whole)
        },
        Case {
            options: "--metadata=1.0",
            ..case("end-one", ("1", "", 2), |all| lose(all, &[1]), Ending::Whole)
        },
        Case {
            gone: &[1],
            ..case("five-stale", five, |all| lose(all, &[0]), Ending::With(is_stale))
        },
        Case {
            gone: &[1],
            ..case("one-stale", ("1", "", 2), |all| lose(all, &[0]), Ending::Whole)
        },
    ]
}

/// A file system with files in it, and noise behind it.
fn content(folder: &Path) -> Vec<u8> {
    let (tree, image) = (folder.join("tree"), folder.join("image"));
    for number in 0..12_u64 {
        let inner = tree.join(format!("folder{}", number % 3));
        fs::create_dir_all(&inner).expect("a folder");
        fs::write(inner.join(format!("file{number}")), noise(number, 150_000)).expect("a file");
    }
    File::create(&image).and_then(|file| file.set_len(FILE_SYSTEM_BYTES as u64)).expect("a file");
    let mut made = Command::new("mkfs.ext4");
    made.args(["-q", "-b", "1024", "-d"]).arg(&tree).arg(&image);
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    assert!(made.env("PATH", path).status().is_ok_and(|status| status.success()), "mkfs.ext4");
    let mut bytes = fs::read(&image).expect("read");
    bytes.extend(noise(SEED, CONTENT_BYTES - FILE_SYSTEM_BYTES));
    bytes
}

fn hashes(members: &[PathBuf]) -> Vec<u64> {
    let hash = |path: &PathBuf| {
        let mut hasher = DefaultHasher::new();
        fs::read(path).expect("a member").hash(&mut hasher);
        hasher.finish()
    };
    members.iter().map(hash).collect()
}

/// The one array that was found, by the way in which it is opened.
fn rescued(report: &RescueReport) -> Result<(Vec<u8>, &[RescueLoss]), String> {
    let [array] = &report.arrays[..] else { return Err(format!("{report:?}")) };
    let way = array.way.as_ref().map_err(|reasons| {
        reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    })?;
    let guard = Guard::new(Consent::default());
    let context = BuildContext {
        files: &guard,
        seed: 0,
        read_only: true,
        create_bytes: None,
        emulate: false,
    };
    let stack = stack::build(&way.stack, &context).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; stack.device.info().size_bytes as usize];
    let reactor = Reactor::wall().map_err(|error| error.to_string())?;
    let read = Blocking::open(&*stack.device, &reactor)
        .and_then(|mut channel| channel.read_slice(0, &mut bytes));
    read.map(|()| (bytes, &way.losses[..])).map_err(|error| error.to_string())
}

fn judge(case: &Case, members: &[PathBuf], expected: &[u8], wrong: &mut Problems) {
    let before = hashes(members);
    let sources: Vec<MemberSource> = members.iter().cloned().map(Into::into).collect();
    let guard = Guard::new(Consent::default());
    let report = rescue(&guard, &sources, &SearchLimits::default(), &mut |_, _| true);
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    match (rescued(&report), &case.ending) {
        (Err(_), Ending::Refused) => (),
        (Ok(_), Ending::Refused) => wrong.note(case.name, "it opens, and cannot"),
        (Err(error), _) => wrong.note(case.name, error),
        (Ok((found, _)), _) if found.len() < FILE_SYSTEM_BYTES => {
            wrong.note(case.name, format_args!("{} bytes", found.len()));
        }
        (Ok((found, losses)), ending) => {
            let is_whole = match ending {
                Ending::With(is_told) if !losses.iter().any(is_told) => {
                    wrong.note(case.name, format_args!("what it loses: {losses:?}"));
                    false
                }
                // What a stale member lacks is lost.
                Ending::With(_) => case.gone.is_empty(),
                _ => true,
            };
            let expected = &expected[..found.len().min(expected.len())];
            if let (true, Some(difference)) = (is_whole, difference(&found, expected)) {
                wrong.note(case.name, difference);
            }
        }
    }
    wrong.expect(
        case.name,
        "what is written",
        &format!("{:?}", hashes(members)),
        &format!("{before:?}"),
    );
}

#[test]
fn sets_that_mdadm_made_and_something_broke_are_rescued() {
    if !Machine::is_there("sets of mdadm that are broken") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Large, SEED).expect("images");
    let expected = content(folder.path());
    let content_path = folder.path().join("content");
    fs::write(&content_path, &expected).expect("written");
    let cases = cases();
    let jobs: Vec<Job<'_>> = (cases.iter())
        .map(|case| Job {
            options: case.options,
            gone: case.gone.to_vec(),
            ..Job::new(
                if case.gone.is_empty() { "make" } else { "degrade" },
                case.name,
                case.shape(),
                &content_path,
            )
        })
        .collect();
    run(&machine, &jobs);
    let mut wrong = Problems::default();
    for case in &cases {
        let mut members: Vec<PathBuf> =
            (0..case.count).map(|role| member_path(folder.path(), case.name, role)).collect();
        (case.breaks)(&mut members);
        judge(case, &members, &expected, &mut wrong);
    }
    wrong.check();
}
