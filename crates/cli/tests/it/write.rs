//! `raidloom array write`: what arrives on the target is the image, whatever its shape and whatever
//! the target is made of.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const MIB: usize = 1 << 20;
/// Two pieces of data with a hole between them, behind them and at the end, and an end that is no
/// whole block.
const IMAGE_BYTES: usize = 5 * MIB + 300;

fn raidloom(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    let output = command.args(arguments).current_dir(folder).output().expect("the program runs");
    said(output)
}

fn said(Output { status, stdout, stderr }: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code().expect("it ends by itself"), text(stdout), text(stderr))
}

fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let (code, stdout, stderr) = raidloom(folder, &[&["--json"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

/// Bytes of which no block is zeroes.
fn pattern(start: usize, length: usize) -> Vec<u8> {
    (start..start + length).map(|at| (at * 31 + (at >> 9) * 7) as u8 | 1).collect()
}

/// A sparse image, and what it reads as.
fn make_image(path: &Path) -> Vec<u8> {
    let file = File::create(path).expect("an image");
    file.set_len(IMAGE_BYTES as u64).expect("its length");
    let mut content = vec![0; IMAGE_BYTES];
    for (start, length) in [(0, MIB + 100), (3 * MIB, 70_000), (5 * MIB + 200, 100)] {
        let bytes = pattern(start, length);
        file.write_all_at(&bytes, start as u64).expect("a write");
        content[start..start + length].copy_from_slice(&bytes);
    }
    content
}

/// A target full of what must not be left in the holes.
fn make_target(path: &Path, length: usize) -> Vec<u8> {
    let bytes = vec![0x5a; length];
    fs::write(path, &bytes).expect("a target");
    bytes
}

#[test]
fn a_file_becomes_the_image_and_keeps_what_lies_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let image = make_image(&folder.join("image"));
    for target in ["target", "file:target?direct=no", "file:target?block=4096"] {
        let mut expected = make_target(&folder.join("target"), 8 * MIB);
        expected[..IMAGE_BYTES].copy_from_slice(&image);
        let done = json(folder, &["array", "write", "image", target]);
        assert!(fs::read(folder.join("target")).expect("the target") == expected, "{target}");
        assert_eq!(done["size_bytes"], IMAGE_BYTES as u64);
        assert_eq!(done["write"]["bytes"], done["read_back"]["bytes"]);
        assert!(
            done["write"]["throughput_bytes_per_second"].as_f64().is_some_and(|rate| rate > 0.0),
            "{done}"
        );
        let (data, holes) = (done["data_bytes"].as_u64(), done["hole_bytes"].as_u64());
        assert_eq!(data.zip(holes).map(|(data, holes)| data + holes), Some(IMAGE_BYTES as u64));
    }
}

#[test]
fn arrays_hold_the_image_striped_and_with_parity() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let image = make_image(&folder.join("image"));
    for name in ["a", "b", "c"] {
        make_target(&folder.join(name), 4 * MIB);
    }
    json(folder, &["array", "write", "image", "raid0(metadata=none, chunk=64KiB, a, b, c)"]);
    let members = ["a", "b", "c"].map(|name| fs::read(folder.join(name)).expect("a member"));
    for (number, chunk) in image.chunks(64 << 10).enumerate() {
        let place = &members[number % 3][number / 3 * (64 << 10)..][..chunk.len()];
        assert!(place == chunk, "chunk {number}");
    }

    // md's own superblocks: writing over an array asks for consent.
    let size = ["--size", "8MiB", "--assume-clean"];
    let create =
        ["array", "create", "tank", "--level", "5", "--chunk", "64KiB", "--member", "d", "e", "f"];
    json(folder, &[&create[..], &size[..]].concat());
    let stack = "raid5(metadata=1.2, d, e, f)";
    let (code, _, stderr) = raidloom(folder, &["array", "write", "image", stack]);
    assert!(code == 4 && stderr.contains("--erase-signature"), "{code}: {stderr}");
    json(folder, &["array", "write", "--erase-signature", "image", stack]);
    let members = ["d", "e", "f"].map(|name| fs::read(folder.join(name)).expect("a member"));
    let data = MIB..;
    let [d, e, f] = members.each_ref().map(|member| &member[data.clone()]);
    let parity = d.iter().zip(e).zip(f).position(|((d, e), f)| d ^ e ^ f != 0);
    assert_eq!(parity, None, "parity does not cover what was written");
    // Left-symmetric: the first row has its parity on the last member.
    assert!(d[..64 << 10] == image[..64 << 10] && e[..64 << 10] == image[64 << 10..128 << 10]);
}

#[test]
fn a_larger_image_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    make_image(&folder.join("image"));
    let before = make_target(&folder.join("target"), 5 * MIB);
    let (code, stdout, stderr) = raidloom(folder, &["array", "write", "image", "target"]);
    assert!(
        code == 2 && stdout.is_empty() && stderr.contains("nothing was written"),
        "{code}: {stderr}"
    );
    assert!(fs::read(folder.join("target")).expect("the target") == before);
}

#[test]
fn a_write_that_fails_ends_it_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    make_image(&folder.join("image"));
    make_target(&folder.join("target"), 8 * MIB);
    let (code, stdout, stderr) =
        raidloom(folder, &["array", "write", "image", "fault(write_error=1, target)"]);
    assert!(code == 1 && stdout.is_empty() && stderr.contains("of the image"), "{code}: {stderr}");
}

#[test]
fn ctrl_c_ends_it_in_order_and_says_how_far_it_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("image"), pattern(0, 32 * MIB)).expect("an image");
    let target = File::create(folder.join("target")).expect("a target");
    target.set_len(32 << 20).expect("its length");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command
        .args(["array", "write", "image", "fault(delay=1s, file:target?direct=no)"])
        .current_dir(folder);
    let child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    // Until the first piece is there; each of the others takes a while.
    let mut byte = [0];
    let reader = File::open(folder.join("target")).expect("a target");
    while reader.read_exact_at(&mut byte, 0).is_ok() && byte == [0] {
        std::thread::yield_now();
    }
    let killed =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let (code, stdout, stderr) = said(child.wait_with_output().expect("it ends"));
    assert!(
        code == 130 && stdout.is_empty() && stderr.contains("interrupted: the first "),
        "{code}: {stderr}"
    );
    let written = fs::read(folder.join("target")).expect("the target");
    let image = pattern(0, 32 * MIB);
    assert!(written[..MIB] == image[..MIB] && written != image);
}
