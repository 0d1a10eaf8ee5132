//! `array overlay` and `array cache salvage` on files: what was written is shown, thrown away
//! and written back.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const SIZE: u64 = 4 << 20;

/// Runs the program in a folder; its exit code and both of its outputs.
fn raidloom(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    let output = command.args(arguments).current_dir(folder).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}

fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let (code, stdout, stderr) = raidloom(folder, &[&["--json"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

#[test]
fn a_delta_is_shown_thrown_away_and_written_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let image: Vec<u8> = (0..SIZE).map(|at| (at >> 9) as u8 | 1).collect();
    fs::write(folder.join("disk.img"), &image).expect("an image");
    let overlay = "overlay(file:delta.img?direct=no, disk.img?direct=no)";
    let write =
        || json(folder, &["bench", "devtest", "-s", "max_operations=20", "--time", "5s", overlay]);

    write();
    assert_eq!(
        fs::read(folder.join("disk.img")).expect("an image"),
        image,
        "the device below was written"
    );
    let shown = json(folder, &["array", "overlay", "delta.img"]);
    let changed = shown["changed_bytes"].as_u64().expect("a number");
    assert_eq!(
        (shown["state"].as_str(), shown["device_bytes"].as_u64()),
        (Some("in use"), Some(SIZE))
    );
    assert!(changed > 0 && changed <= SIZE);

    assert_eq!(
        json(folder, &["array", "overlay", "--discard", "delta.img"])["bytes"].as_u64(),
        Some(changed)
    );
    assert_eq!(json(folder, &["array", "overlay", "delta.img"])["changed_bytes"], 0);
    assert_eq!(fs::read(folder.join("disk.img")).expect("an image"), image);

    write();
    let committed = json(folder, &["array", "overlay", "--commit", overlay])["bytes"]
        .as_u64()
        .expect("a number");
    let after = fs::read(folder.join("disk.img")).expect("an image");
    let differing =
        after.chunks(512).zip(image.chunks(512)).filter(|(after, before)| after != before).count()
            as u64
            * 512;
    assert!(differing > 0 && differing <= committed, "{differing} of {committed} bytes differ");

    // Somebody else writes below: the delta no longer fits, and says so.
    write();
    let disk = File::options().write(true).open(folder.join("disk.img")).expect("an image");
    disk.write_all_at(&[0xff; 4096], 0).expect("a write");
    let before = fs::read(folder.join("disk.img")).expect("an image");
    let (code, _, stderr) = raidloom(folder, &["array", "overlay", "--commit", overlay]);
    assert!(code == 4 && stderr.contains("was written to in the meantime"), "{code}: {stderr}");
    assert_eq!(fs::read(folder.join("disk.img")).expect("an image"), before);
}

/// "No way to the dirty blocks once the fingerprint differs": they are shown, and come out with
/// every byte.
#[test]
fn dirty_blocks_come_out_of_a_store_whose_device_was_written_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    let image: Vec<u8> = (0..SIZE).map(|at| (at >> 9) as u8 | 1).collect();
    let dirty: Vec<u8> = (0..5 * 4096).map(|at| (at % 251) as u8).collect();
    fs::write(folder.join("disk.img"), &image).expect("an image");
    fs::write(folder.join("dirty.img"), &dirty).expect("an image");
    let cache = "cache(mode=write-back, file:store.img?size=4MiB, disk.img)";
    json(folder, &["array", "write", "dirty.img", cache]);
    assert!(read("disk.img") == image, "it is in the cache alone");

    let mut expected = image;
    let disk = File::options().write(true).open(folder.join("disk.img")).expect("an image");
    for at in [4096, 3 << 20] {
        disk.write_all_at(&[0xff; 512], at).expect("somebody writes below");
        expected[at as usize..][..512].fill(0xff);
    }
    let (code, _, stderr) = raidloom(folder, &["array", "cache", "flush", cache]);
    assert!(code == 4 && stderr.contains("cache salvage"), "{code}: {stderr}");
    assert!(read("disk.img") == expected, "what is refused is not written");

    let store = read("store.img");
    let seen = json(folder, &["array", "cache", "salvage", "store.img", "disk.img"]);
    assert_eq!(
        (&seen["dirty_bytes"], &seen["ranges"][0]),
        (&serde_json::json!(5 * 4096), &serde_json::json!([0, 5 * 4096]))
    );
    assert!(seen["device_now"].as_str().is_some_and(|now| now.contains("written")), "{seen}");
    assert!(read("disk.img") == expected, "it is only shown");

    json(folder, &["array", "cache", "salvage", "store.img", "--file", "blocks.img"]);
    let blocks = read("blocks.img");
    assert!(
        blocks[..dirty.len()] == dirty
            && blocks[dirty.len()..].iter().all(|&byte| byte == 0)
            && blocks.len() == expected.len()
    );
    json(folder, &["array", "cache", "salvage", "store.img", "disk.img", "--write"]);
    expected[..dirty.len()].copy_from_slice(&dirty);
    assert!(read("disk.img") == expected, "they are over what was there, and nothing else is");
    assert!(read("store.img") == store, "the store is only read");

    // What is damaged is named, and nothing is made of nothing.
    File::options()
        .write(true)
        .open(folder.join("store.img"))
        .expect("a store")
        .write_all_at(&[0; 512], 1 << 20)
        .expect("a page is lost");
    let (code, _, stderr) =
        raidloom(folder, &["array", "cache", "salvage", "store.img", "--file", "more.img"]);
    assert!(code == 1 && stderr.contains("page 0 of the map"), "{code}: {stderr}");
    assert!(!folder.join("more.img").exists());
}
