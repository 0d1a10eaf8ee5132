//! `luks(…)` in stack text: a container's data as a device like any other.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use block::{Blocking, DiscardSupport, Error, ErrorKind, Reactor};
use luks::{ContainerFormat, DATA_OFFSET_BYTES, Passphrase, PassphraseCost};
use reactor::Random;
use stack::{BuildContext, Stack, parse_and_build};

use crate::files::Files;

const SIZE: u64 = 1 << 20;

fn build(text: &str) -> Result<Stack, Error> {
    let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(&Files) };
    parse_and_build(text, &context)
}

/// A folder with a passphrase and containers: `disk`, and `data` whose header is in `head`.
fn folder(sector_bytes: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("key"), "secret\n").unwrap();
    fs::set_permissions(at("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let header = |data_offset_bytes| {
        let cost = PassphraseCost { passes: 1, memory_kib: 32, parallelism: 1 };
        let format = ContainerFormat { sector_bytes, cost, data_offset_bytes, uuid: [1; 16] };
        let mut random = Random::with_seed(1);
        let passphrase = Passphrase::new(b"secret".to_vec());
        format
            .header(&passphrase, &mut |bytes| {
                random.fill(bytes);
                Ok(())
            })
            .expect("a header")
    };
    for name in ["disk", "other"] {
        fs::write(at(name), header(DATA_OFFSET_BYTES)).unwrap();
        let file = OpenOptions::new().write(true).open(at(name)).unwrap();
        file.set_len(DATA_OFFSET_BYTES + SIZE).unwrap();
    }
    fs::write(at("head"), header(0)).unwrap();
    fs::write(at("data"), vec![0; SIZE as usize]).unwrap();
    folder
}

fn text(folder: &Path, pattern: &str) -> String {
    pattern.replace("@", &format!("{}/", folder.display()))
}

#[test]
fn a_container_is_a_device_that_others_read_back() {
    for (sector_bytes, pattern) in [
        (512, "luks(passphrase_file=@key, @disk)"),
        (512, "luks(passphrase_file=@key, header=@head, discard=yes, @data)"),
        (4096, "luks(passphrase_file=@key, @disk)"),
        (512, "raid1(luks(passphrase_file=@key, @disk), luks(passphrase_file=@key, @other))"),
        (512, "cache(ram:64KiB, luks(passphrase_file=@key, linear(@disk)))"),
    ] {
        let folder = folder(sector_bytes);
        let text = text(folder.path(), pattern);
        let stack = build(&text).expect(&text);
        let info = stack.device.info().clone();
        assert_eq!((info.size_bytes, info.block_bytes), (SIZE, sector_bytes), "{text}");
        assert_eq!(info.discard != DiscardSupport::None, text.contains("discard"), "{text}");
        let described = stack.device.describe().to_string();
        assert!(described.contains(&format!("passphrase_file={}", folder.path().display())));
        assert!(
            stack.notes.iter().all(|note| !note.english().contains("passphrase")),
            "{:?}",
            stack.notes
        );
        let reactor = Reactor::wall().unwrap();
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 512) as u8).collect();
        let mut channel = Blocking::open(&*stack.device, &reactor).unwrap();
        channel.write_slice(0, &bytes).expect("a write");
        channel.flush().expect("a flush");
        drop(channel);
        stack.end().expect("an end");

        let again = build(&described).expect("what it says of itself");
        let mut found = vec![0; SIZE as usize];
        Blocking::open(&*again.device, &reactor).unwrap().read_slice(0, &mut found).unwrap();
        assert!(found == bytes, "{text}");
        let name = if text.contains("header") { "data" } else { "disk" };
        let hidden = fs::read(folder.path().join(name)).unwrap();
        assert!(!hidden.windows(512).any(|part| part == &bytes[512..1024]), "{text}: in the clear");
    }
}

#[test]
fn what_cannot_be_opened_is_refused_in_a_line() {
    let folder = folder(512);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("wrong"), "guess").unwrap();
    fs::write(at("empty"), "").unwrap();
    for (pattern, kind, words) in [
        ("luks(@disk)", ErrorKind::Invalid, "say which file holds the passphrase"),
        ("luks(passphrase_file=@none, @disk)", ErrorKind::NotFound, "none"),
        ("luks(passphrase_file=@empty, @disk)", ErrorKind::Invalid, "it is empty"),
        ("luks(passphrase_file=@wrong, @disk)", ErrorKind::Permission, "no key slot opens"),
        ("luks(passphrase_file=@key, @data)", ErrorKind::Invalid, "it is no LUKS container"),
        ("luks(passphrase_file=@key, ram:1MiB)", ErrorKind::Invalid, "it is no LUKS container"),
        ("luks(passphrase_file=@key, header=@data, @disk)", ErrorKind::Invalid, "no LUKS"),
    ] {
        let text = text(folder.path(), pattern);
        let error = build(&text).map(drop).expect_err(&text);
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

#[test]
fn a_passphrase_that_others_may_read_is_told_of() {
    let folder = folder(512);
    let key = folder.path().join("key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let stack = build(&text(folder.path(), "luks(passphrase_file=@key, @disk)")).expect("a stack");
    assert!(
        stack.notes.iter().any(|note| note.english().contains("chmod 600")),
        "{:?}",
        stack.notes
    );
}

#[test]
fn a_sector_that_a_crash_may_tear_is_refused() {
    let folder = folder(4096);
    let text = text(folder.path(), "luks(passphrase_file=@key, linear(@disk))");
    let error = build(&text).map(drop).expect_err("refused").to_string();
    assert!(error.contains("a crash may tear one") && error.contains("?block=4096"), "{error}");
    build(&text.replace("disk)", "disk?block=4096)")).expect("blocks as long as sectors");
}
