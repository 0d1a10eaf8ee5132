//! Headers that are damaged, or meant to do harm: refused in one line, or read from the other copy.

use block::ErrorKind;
use luks::{LuksHeader, Passphrase};
use sha2::{Digest, Sha256};
use testkit::Memory;

use crate::containers::{PASSPHRASE, header, holding, open, passphrase, pattern};

/// Length of one copy of the header.
const COPY: usize = 0x4000;

/// The header with its JSON changed in both copies, and checksums that are right.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let mut bytes = header(512, 0);
    for copy in bytes.chunks_mut(COPY).take(2) {
        let text = String::from_utf8_lossy(&copy[4096..]).trim_end_matches('\0').to_owned();
        assert!(text.contains(from), "{from} is not in {text}");
        let text = text.replacen(from, to, 1);
        copy[4096..].fill(0);
        copy[4096..4096 + text.len()].copy_from_slice(text.as_bytes());
        seal(copy);
    }
    bytes
}

fn seal(copy: &mut [u8]) {
    copy[448..512].fill(0);
    let sum = Sha256::digest(&*copy);
    copy[448..480].copy_from_slice(&sum);
}

fn error_of(bytes: &[u8]) -> (ErrorKind, String) {
    let header = holding(bytes);
    let below = std::sync::Arc::new(Memory::new(1 << 20));
    let error = open(below, Some(&header), &passphrase()).map(drop).expect_err("refused");
    (error.kind(), error.to_string())
}

#[test]
fn what_is_out_of_bounds_or_unknown_is_refused_before_anything_is_derived() {
    for (from, to, words) in [
        (
            r#""memory":32"#,
            r#""memory":4194305"#,
            "Argon2 wants 4194305 KiB of memory; at most 4GiB",
        ),
        (r#""memory":32"#, r#""memory":7"#, "Argon2"),
        (r#""time":1"#, r#""time":4294967295"#, "passes of Argon2 over 32KiB"),
        (r#""cpus":1"#, r#""cpus":65"#, "a parallelism of 65"),
        (r#""iterations":1000"#, r#""iterations":4000000000"#, "4000000000 iterations"),
        (r#""iterations":1000"#, r#""iterations":0"#, "no iteration"),
        (r#""stripes":4000"#, r#""stripes":4000000"#, "4000000 stripes"),
        (r#""key_size":64,"type""#, r#""key_size":4096,"type""#, "a key of 4096 bytes"),
        (r#""key_size":64"#, r#""key_size":48"#, "bytes"),
        (r#""offset":"32768""#, r#""offset":"4096""#, "its area lies in the header"),
        (r#""offset":"32768""#, r#""offset":"18446744073709551104""#, "reaches past"),
        (r#""size":"258048""#, r#""size":"4096""#, "256000 bytes of stripes in 4096 bytes"),
        (r#""sector_size":512"#, r#""sector_size":8192"#, "sectors of 8192 bytes"),
        (r#""sector_size":512"#, r#""sector_size":0"#, "sectors of 0 bytes"),
        (r#""iv_tweak":"0""#, r#""iv_tweak":"-1""#, "a number is none"),
        (r#""size":"dynamic""#, r#""size":"1048577""#, "do not fit"),
        (r#""size":"dynamic""#, r#""size":"2097152""#, "do not fit"),
        (r#""size":"dynamic""#, r#""size":"0""#, "do not fit"),
        (r#""tokens":{}"#, r#""tokens":{}}"#, "no header"),
        (
            r#""sector_size":512"#,
            r#""sector_size":512,"integrity":{"type":"hmac(sha256)"}"#,
            "tags of integrity",
        ),
        (
            r#""sector_size":512"#,
            r#""sector_size":512,"flags":["backup-final"]"#,
            "flag of a segment `backup-final`",
        ),
        (
            r#""json_size":"12288""#,
            r#""json_size":"12288","requirements":{"mandatory":["online-reencrypt-v2"]}"#,
            "requirement `online-reencrypt-v2`",
        ),
        (r#""hash":"sha256","iter"#, r#""hash":"whirlpool","iter"#, "hash `whirlpool`"),
        (r#""type":"argon2id""#, r#""type":"scrypt""#, "derivation of keys `scrypt`"),
        (
            r#""encryption":"aes-xts-plain64","iv"#,
            r#""encryption":"serpent-\u001b[2J","iv"#,
            "serpent",
        ),
    ] {
        let (kind, text) = error_of(&changed(from, to));
        assert!(text.contains(words), "{to}: {text}");
        assert!(text.lines().count() == 1 && !text.contains('\x1b'), "{text:?}");
        assert!(
            [
                ErrorKind::Corrupt,
                ErrorKind::Refused,
                ErrorKind::Unsupported,
                ErrorKind::Invalid,
                ErrorKind::OutOfRange
            ]
            .contains(&kind),
            "{to}: {kind:?}"
        );
    }
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let header = holding(&header(512, 0));
    let below = std::sync::Arc::new(Memory::new(1 << 20));
    let promise = |bytes: u64| {
        assert_eq!(bytes, 32 << 10);
        Err(block::Error::new(ErrorKind::Refused, "there is no such memory"))
    };
    let opened = luks::LuksDevice::open(
        below,
        Some(&header),
        &passphrase(),
        luks::LuksOptions::default(),
        &promise,
    );
    assert_eq!(opened.map(drop).expect_err("refused").to_string(), "there is no such memory");
}

#[test]
fn the_newer_valid_copy_is_taken_and_a_damaged_one_is_named() {
    let good = header(512, 0);
    let note = |bytes: &[u8]| {
        let header = LuksHeader::read_from(&holding(bytes)).expect("a header");
        header.note().map(ToString::to_string)
    };
    assert_eq!(note(&good), None);
    for (which, at) in [("first", 9000), ("first", 0), ("second", COPY), ("second", COPY + 5000)] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let words = format!("the {which} copy of the header is damaged");
        assert!(note(&bytes).is_some_and(|note| note.starts_with(&words)), "{which} {at}");
        let below = std::sync::Arc::new(Memory::new(1 << 20));
        open(below, Some(&holding(&bytes)), &passphrase()).expect("the other copy");
    }
    let mut newer = good.clone();
    newer[COPY + 23] = 2;
    let other = String::from_utf8_lossy(&newer[COPY + 4096..2 * COPY])
        .replace(r#""sector_size":512"#, r#""sector_size":1024"#);
    newer[COPY + 4096..2 * COPY].copy_from_slice(&other.as_bytes()[..COPY - 4096]);
    seal(&mut newer[COPY..2 * COPY]);
    let header = LuksHeader::read_from(&holding(&newer)).expect("a header");
    assert_eq!(header.sector_bytes(), 1024, "the second copy is newer");
    let mut both = good;
    (both[9000], both[COPY + 9000]) = (1, 1);
    let (kind, text) = error_of(&both);
    assert_eq!(kind, ErrorKind::Corrupt);
    assert!(text.contains("its checksum is another"), "{text}");
}

#[test]
fn a_wrong_passphrase_and_a_damaged_slot_are_told_in_the_same_words() {
    let header_bytes = header(512, 0);
    let below = || std::sync::Arc::new(Memory::new(1 << 20));
    let wrong = open(below(), Some(&holding(&header_bytes)), &Passphrase::new(b"guess".to_vec()));
    let wrong = wrong.map(drop).expect_err("refused");
    let mut bytes = header_bytes.clone();
    bytes[2 * COPY + 1000] ^= 1;
    let damaged = open(below(), Some(&holding(&bytes)), &passphrase()).map(drop);
    let damaged = damaged.expect_err("refused");
    assert_eq!(damaged.to_string(), wrong.to_string());
    assert_eq!(damaged.kind(), wrong.kind());
    // A passphrase that an editor has put a newline behind is the same.
    let line = Passphrase::new(format!("{PASSPHRASE}\n").into_bytes());
    open(below(), Some(&holding(&header_bytes)), &line).expect("the passphrase of a line");
}

#[test]
fn whatever_is_damaged_nothing_panics() {
    let good = header(512, 0);
    let mut random = reactor::Random::with_seed(11);
    for seed in 0..2000 {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..2 * COPY);
            bytes[at] = random.u8(..);
        }
        if random.bool() {
            bytes.chunks_mut(COPY).take(2).for_each(seal);
        }
        let mut read = |offset: u64, target: &mut [u8]| {
            let from = bytes.get(offset as usize..offset as usize + target.len());
            let none = || block::Error::new(ErrorKind::OutOfRange, "past the end");
            from.map(|from| target.copy_from_slice(from)).ok_or_else(none)
        };
        let _ = LuksHeader::read(&mut read).inspect_err(|error| {
            assert_eq!(error.to_string().lines().count(), 1, "seed {seed}: {error}");
        });
    }
    assert!(LuksHeader::read_from(&holding(&pattern(1 << 16, 3))).is_err(), "noise");
}

#[test]
fn secrets_are_not_printed() {
    assert_eq!(format!("{:?}", passphrase()), "Passphrase");
}
