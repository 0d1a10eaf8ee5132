//! A file system that was made under one side is mounted under the other.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use array::md::Consistency;
use interop::{Job, KeptArray, Machine, Shape, Sizes, create, member_paths, noise, said};

use crate::exchange::{Problems, folder, run};

const SEED: u64 = 0x6578_7434_6578_7434;

fn shapes() -> [Shape; 6] {
    [
        Shape::new("0", "alternate", 3, Sizes::Unequal),
        Shape::new("1", "", 2, Sizes::Unequal),
        Shape::new("4", "", 4, Sizes::Unequal),
        Shape::new("5", "left-symmetric", 4, Sizes::Unequal),
        Shape::new("6", "right-asymmetric", 5, Sizes::Unequal),
        Shape::new("10", "f2", 5, Sizes::Unequal),
    ]
}

/// Files of many lengths in a few folders, so small that every array has room for them.
fn fill(folder: &Path) {
    for (index, length) in [0, 1, 511, 512, 4096, 5000, 20_000, 70_001].into_iter().enumerate() {
        let place = folder.join(format!("d{}", index % 3));
        fs::create_dir_all(&place).expect("a folder");
        fs::write(place.join(format!("file {index}")), noise(SEED + index as u64, length))
            .expect("written");
    }
}

/// Runs a program of the host that has to work.
fn host(program: &str, arguments: &[&str]) -> Result<(), String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let said = || {
        format!(
            "{program}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    if output.status.success() { Ok(()) } else { Err(said()) }
}

/// Makes a file system with the files in an image as large as the array, and writes the image to
/// the array.
fn write_array(shape: &Shape, name: &str, folder: &Path, files: &Path) -> Result<(), String> {
    let members = member_paths(folder, name, shape);
    create(&members, shape, Consistency::Resync)?;
    let kept = KeptArray::start(&members, &[])?;
    let size = kept.read_all()?.len();
    let image = folder.join("image");
    fs::write(&image, vec![0; size]).map_err(|error| error.to_string())?;
    host("mkfs.ext4", &["-q", "-d", &files.to_string_lossy(), &image.to_string_lossy()])?;
    kept.write(0, &fs::read(&image).map_err(|error| error.to_string())?)?;
    kept.stop()
}

#[test]
fn file_systems_pass_from_raidloom_to_the_kernel() {
    if !Machine::is_there("file systems for the kernel") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Unequal, SEED).expect("images");
    let files = folder.path().join("files");
    fill(&files);
    let named: Vec<(String, Shape)> = shapes().map(|shape| (shape.to_string(), shape)).into();
    for (name, shape) in &named {
        write_array(shape, name, folder.path(), &files)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let lines = run(
        &machine,
        &named
            .iter()
            .map(|(name, shape)| Job::new("mount", name, *shape, &files))
            .collect::<Vec<_>>(),
    );
    let mut wrong = Problems::default();
    named
        .iter()
        .for_each(|(name, _)| wrong.expect(name, "files", said(&lines, name, "files"), "equal"));
    wrong.check();
}

/// What raidloom reads is written to a plain image, which the host's fsck checks and debugfs takes
/// the files from.
fn read_array(
    shape: &Shape,
    name: &str,
    folder: &Path,
    files: &Path,
    absent: &[usize],
) -> Result<(), String> {
    let kept = KeptArray::start(&member_paths(folder, name, shape), absent)?;
    let image = folder.join("image");
    let bytes = kept.read_all()?;
    fs::File::create(&image)
        .and_then(|file| file.write_all_at(&bytes, 0))
        .map_err(|error| error.to_string())?;
    kept.stop()?;
    let image = image.to_string_lossy();
    host("e2fsck", &["-fn", &image])?;
    let found = folder.join("found");
    let _ = fs::remove_dir_all(&found);
    fs::create_dir(&found).map_err(|error| error.to_string())?;
    host("debugfs", &["-R", &format!("rdump / {}", found.to_string_lossy()), &image])?;
    host("diff", &["-r", "-x", "lost+found", &files.to_string_lossy(), &found.to_string_lossy()])
}

#[test]
fn file_systems_pass_from_the_kernel_to_raidloom() {
    if !Machine::is_there("file systems of the kernel") {
        return;
    }
    let folder = folder();
    let machine = Machine::new(folder.path(), Sizes::Unequal, !SEED).expect("images");
    let files = folder.path().join("files");
    fill(&files);
    let named: Vec<(String, Shape)> = shapes().map(|shape| (shape.to_string(), shape)).into();
    run(
        &machine,
        &named
            .iter()
            .map(|(name, shape)| Job::new("format", name, *shape, &files))
            .collect::<Vec<_>>(),
    );
    let mut wrong = Problems::default();
    for (name, shape) in &named {
        wrong.take(name, read_array(shape, name, folder.path(), &files, &[]));
        if shape.tolerated() > 0 {
            wrong.take(name, read_array(shape, name, folder.path(), &files, &[1]));
        }
    }
    wrong.check();
}
