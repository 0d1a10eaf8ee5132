//! What cryptsetup and qemu make is read, and what is made here they read, byte by byte.
//!
//! cryptsetup encrypts and decrypts a whole disk without device mapper where the header is in a
//! file of its own; qemu has LUKS1 as a format of images.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use block::{Device, ErrorKind};
use luks::{LuksHeader, Passphrase};

use crate::containers::{
    PASSPHRASE, has, header, holding, open, passphrase, pattern, read, shell, write,
};

const SIZE: usize = 1 << 20;
const CHEAP: &str = "-q --key-file key --pbkdf-force-iterations";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("key"), PASSPHRASE).expect("a key file");
    folder
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).expect("a file")
}

/// Ways in which cryptsetup makes containers: its options, and whether blocks have to be long.
const WAYS: &[(&str, u32)] = &[
    ("--type luks2 --pbkdf argon2id --pbkdf-memory 64 --pbkdf-parallel 1 {}4", 512),
    ("--type luks2 --pbkdf argon2id --pbkdf-memory 1024 --pbkdf-parallel 4 {}5", 512),
    ("--type luks2 --pbkdf argon2i --pbkdf-memory 64 --pbkdf-parallel 2 {}4", 512),
    ("--type luks2 --pbkdf pbkdf2 --hash sha256 {}1000", 512),
    ("--type luks2 --pbkdf pbkdf2 --hash sha512 {}1000", 512),
    ("--type luks2 --pbkdf pbkdf2 --hash sha1 {}1000", 512),
    ("--type luks2 --pbkdf pbkdf2 --key-size 256 {}1000", 512),
    ("--type luks2 --pbkdf pbkdf2 --sector-size 4096 {}1000", 4096),
    ("--type luks2 --pbkdf pbkdf2 --sector-size 1024 {}1000", 4096),
    ("--type luks2 --pbkdf pbkdf2 --cipher aes-xts-plain {}1000", 512),
    ("--type luks2 --pbkdf pbkdf2 --luks2-metadata-size 128k {}1000", 512),
];

#[test]
fn what_cryptsetup_has_encrypted_is_read_and_what_is_written_it_decrypts() {
    if !has("cryptsetup") {
        return;
    }
    for (number, (way, block_bytes)) in (0..).zip(WAYS) {
        let folder = folder();
        let folder = folder.path();
        let plain = pattern(SIZE, number);
        fs::write(folder.join("disk"), &plain).unwrap();
        let way = way.replace("{}", &format!("{CHEAP} "));
        shell(folder, &format!("cryptsetup reencrypt --encrypt {way} --header head disk"));
        let (head, disk) = (holding(&bytes(folder, "head")), bytes(folder, "disk"));
        assert_ne!(disk, plain, "{way}");

        let info = block::Info { block_bytes: *block_bytes, ..block::Info::plain(SIZE as u64) };
        let below = Arc::new(testkit::Memory::with(info));
        write(&*below, 0, &disk);
        let luks = open(below.clone(), Some(&head), &passphrase()).expect(&way);
        assert!(read(&luks, 0, SIZE) == plain, "{way}: what cryptsetup wrote");

        let other = pattern(SIZE / 2, 100 + number);
        write(&luks, SIZE as u64 / 4, &other);
        fs::write(folder.join("disk"), read(&*below, 0, SIZE)).unwrap();
        shell(
            folder,
            "cryptsetup reencrypt -q --decrypt --force-offline-reencrypt --key-file key --header head disk",
        );
        let mut expected = plain;
        expected[SIZE / 4..SIZE / 4 * 3].copy_from_slice(&other);
        assert!(bytes(folder, "disk") == expected, "{way}: what cryptsetup reads");
    }
}

#[test]
fn the_header_in_front_of_the_data_and_further_slots_are_read() {
    if !has("cryptsetup") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let plain = pattern(34 << 20, 1);
    fs::write(folder.join("disk"), &plain).unwrap();
    fs::write(folder.join("other"), "another one").unwrap();
    shell(
        folder,
        &format!(
            "cryptsetup reencrypt --encrypt --reduce-device-size 32M --pbkdf pbkdf2 {CHEAP} 1000 \
            disk; cryptsetup luksAddKey --pbkdf argon2id --pbkdf-memory 64 {CHEAP} 4 disk other; \
            cryptsetup luksAddKey --new-key-slot 7 --pbkdf pbkdf2 {CHEAP} 1000 disk pw || true"
        ),
    );
    let disk = bytes(folder, "disk");
    for text in [PASSPHRASE, "another one"] {
        let luks = open(Arc::new(holding(&disk)), None, &Passphrase::new(text.into()));
        let luks = luks.expect(text);
        let size = luks.info().size_bytes as usize;
        assert!(read(&luks, 0, 1 << 20) == plain[..1 << 20], "{text}");
        assert_eq!(size, disk.len() - (16 << 20));
    }
    // cryptsetup's way to leave a slot out unless it is asked for.
    shell(folder, "cryptsetup config --key-slot 1 --priority ignore disk");
    let disk = bytes(folder, "disk");
    let error = open(Arc::new(holding(&disk)), None, &Passphrase::new(b"another one".to_vec()));
    assert_eq!(error.map(drop).expect_err("ignored").kind(), ErrorKind::Permission);
}

#[test]
fn what_is_not_known_is_refused() {
    if !has("cryptsetup") {
        return;
    }
    for (options, words) in [
        ("--type luks1 --cipher aes-cbc-essiv:sha256", "the cipher `aes-cbc-essiv:sha256`"),
        ("--type luks2 --cipher aes-cbc-essiv:sha256 --pbkdf pbkdf2", "the cipher `aes-cbc-essiv:"),
        ("--type luks1 --hash whirlpool", "the hash `whirlpool`"),
    ] {
        let folder = folder();
        let folder = folder.path();
        shell(
            folder,
            &format!("truncate -s 20M disk; cryptsetup luksFormat {options} {CHEAP} 1000 disk"),
        );
        let error = open(Arc::new(holding(&bytes(folder, "disk"))), None, &passphrase());
        let text = error.map(drop).expect_err(options).to_string();
        assert!(text.contains(words), "{options}: {text}");
    }
}

#[test]
fn luks1_of_cryptsetup_and_qemu_is_read_and_written() {
    if !has("qemu-img") || !has("cryptsetup") {
        return;
    }
    for (number, options) in
        (0..).zip(["", ",hash-alg=sha1,cipher-alg=aes-128", ",hash-alg=sha512,ivgen-alg=plain"])
    {
        let folder = folder();
        let folder = folder.path();
        let plain = pattern(SIZE, 50 + number);
        fs::write(folder.join("disk"), &plain).unwrap();
        let secret = "--object secret,id=s,file=key";
        shell(
            folder,
            &format!(
                // It measures how fast it derives, and gives up where others take the processor.
                "for turn in $(seq 50); do qemu-img convert {secret} -f raw -O luks \
                -o key-secret=s,iter-time=10{options} disk luks && break; done"
            ),
        );
        let below = Arc::new(holding(&bytes(folder, "luks")));
        let luks = open(below.clone(), None, &passphrase()).expect(options);
        assert!(read(&luks, 0, SIZE) == plain, "{options}: what qemu wrote");
        let other = pattern(SIZE / 2, 60 + number);
        write(&luks, 0, &other);
        let all = read(&*below, 0, below.info().size_bytes as usize);
        fs::write(folder.join("luks"), all).unwrap();
        shell(
            folder,
            &format!(
                "qemu-img convert {secret} --image-opts \
                driver=luks,key-secret=s,file.filename=luks -O raw back"
            ),
        );
        let back = bytes(folder, "back");
        assert!(back[..SIZE / 2] == other, "{options}: what qemu reads");
        assert!(back[SIZE / 2..SIZE] == plain[SIZE / 2..], "{options}");
    }
    let folder = folder();
    let folder = folder.path();
    shell(
        folder,
        &format!("truncate -s 20M disk; cryptsetup luksFormat --type luks1 {CHEAP} 1000 disk"),
    );
    let disk = holding(&bytes(folder, "disk"));
    assert_eq!(LuksHeader::read_from(&disk).expect("a header").version(), 1);
    open(Arc::new(disk), None, &passphrase()).expect("cryptsetup's LUKS1");
}

#[test]
fn cryptsetup_opens_what_is_made_here() {
    if !has("cryptsetup") {
        return;
    }
    for (sector_bytes, offset) in [(512, luks::DATA_OFFSET_BYTES), (4096, luks::DATA_OFFSET_BYTES)]
    {
        let folder = folder();
        let folder = folder.path();
        let plain = pattern(SIZE, 3);
        let info =
            block::Info { block_bytes: sector_bytes, ..block::Info::plain(offset + SIZE as u64) };
        let below = Arc::new(testkit::Memory::with(info));
        let mut head = header(sector_bytes, offset);
        head.resize(head.len().next_multiple_of(4096), 0);
        write(&*below, 0, &head);
        let luks = open(below.clone(), None, &passphrase()).expect("our own");
        write(&luks, 0, &plain);
        fs::write(folder.join("disk"), read(&*below, 0, SIZE + offset as usize)).unwrap();
        shell(folder, "cryptsetup open --test-passphrase --key-file key disk");
        let dump = shell(folder, "cryptsetup luksDump disk");
        assert!(dump.contains("cipher: aes-xts-plain64"), "{dump}");
        assert!(dump.contains(&format!("sector: {sector_bytes} [bytes]")), "{dump}");
        assert!(dump.contains("07070707-0707-4707-8707-070707070707"), "{dump}");
        shell(folder, "! cryptsetup open --test-passphrase --key-file disk disk");
    }
    // The data, which cryptsetup decrypts with a header in a file of its own.
    let folder = folder();
    let folder = folder.path();
    let plain = pattern(SIZE, 4);
    let below = Arc::new(testkit::Memory::new(SIZE as u64));
    let mut head = header(512, 0);
    let luks = open(below.clone(), Some(&holding(&head)), &passphrase()).expect("our own");
    write(&luks, 0, &plain);
    head.resize(16 << 20, 0);
    fs::write(folder.join("head"), head).unwrap();
    fs::write(folder.join("disk"), read(&*below, 0, SIZE)).unwrap();
    shell(
        folder,
        "cryptsetup reencrypt -q --decrypt --force-offline-reencrypt --key-file key --header head disk",
    );
    assert!(bytes(folder, "disk") == plain);
}
