//! Containers byte by byte with the kernel's dm-crypt, in user-mode Linux: what raidloom wrote,
//! alone and in an array, cryptsetup opens and reads; what is written there then, and what
//! cryptsetup has made itself, raidloom reads; and once more from raidloom to the kernel.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use array::ParityLayout;
use array::md::{Layout, Level};
use block::{Blocking, Reactor};
use host::guard::{Consent, Guard};
use interop::{Machine, difference, noise};
use luks::{ContainerFormat, DATA_OFFSET_BYTES, Passphrase, PassphraseCost};
use mdtools::{Create, CreateMember};
use stack::BuildContext;

use crate::attach::room::has_programs;

const SEED: u64 = 0x006c_756b_7300;
const BYTES: usize = 4 << 20;
const DISK_BYTES: u64 = 24 << 20;
const PASSPHRASE: &[u8] = b"what nobody guesses";

/// A container: its name, what it is opened by, with `@` for the folder, and whether the kernel
/// makes it.
const CONTAINERS: [(&str, &str, bool); 5] = [
    ("plain", "@/disk0", false),
    ("argon", "@/disk1", true),
    ("long", "@/disk2", true),
    ("old", "@/disk3", true),
    ("array", "raid5(metadata=1.2, @/disk4, @/disk5, @/disk6)", false),
];

/// Does something with what a stack text opens.
fn on(folder: &Path, text: &str, work: impl FnOnce(&mut Blocking)) {
    let text = text.replace('@', &folder.display().to_string());
    let guard = Guard::new(Consent { in_place: true, ..Consent::default() });
    let context = BuildContext { emulate: true, ..BuildContext::new(&guard) };
    let stack = stack::parse_and_build(&text, &context).unwrap_or_else(|error| panic!("{error}"));
    let reactor = Reactor::wall().expect("a reactor");
    work(&mut Blocking::open(&*stack.device, &reactor).expect("a channel"));
    stack.end().expect("ended");
}

fn in_container(folder: &Path, below: &str, work: impl FnOnce(&mut Blocking)) {
    on(folder, &format!("luks(passphrase_file=@/key, {below})"), work);
}

/// Makes an empty container whose passphrase costs next to nothing.
fn format(folder: &Path, below: &str) {
    let format = ContainerFormat {
        sector_bytes: 512,
        cost: PassphraseCost { passes: 1, memory_kib: 32, parallelism: 1 },
        data_offset_bytes: DATA_OFFSET_BYTES,
        uuid: [7; 16],
    };
    let mut random = fastrand::Rng::with_seed(SEED);
    let header = format.header(&Passphrase::new(PASSPHRASE.to_vec()), &mut |bytes| {
        random.fill(bytes);
        Ok(())
    });
    let mut header = header.expect("a header");
    header.resize(header.len().next_multiple_of(4096), 0);
    on(folder, below, |channel| channel.write_slice(0, &header).expect("written"));
}

/// What one of both writes into a container.
fn content(name: &str, by: &str) -> Vec<u8> {
    let mix = |seed: u64, byte: u8| seed.wrapping_mul(31).wrapping_add(byte.into());
    noise(name.bytes().chain(by.bytes()).fold(SEED, mix), BYTES)
}

/// Boots the machine for one step; the lines that it printed.
fn boot(folder: &Path, step: &str) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut machine = Command::new(here.join("uml.sh"));
    machine.args(["-t", "300", "-w"]).arg(folder).arg(here.join("luks-uml.sh"));
    machine.args((0..7).map(|disk| folder.join(format!("disk{disk}"))));
    let output = machine.arg("--").arg(folder).arg(BYTES.to_string()).arg(step).output();
    let output = output.expect("bash runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("done\n"), "{step}: {}\n{said}\n{log}", output.status);
    said.lines().map(str::to_owned).collect()
}

#[test]
fn dm_crypt_and_raidloom_read_what_the_other_wrote() {
    let programs = [("cryptsetup", "cryptsetup-bin")];
    if !Machine::is_there("dm-crypt") || !has_programs("dm-crypt", &programs) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("key"), PASSPHRASE).expect("written");
    for disk in 0..4 {
        let file = fs::File::create(folder.join(format!("disk{disk}"))).expect("a file");
        file.set_len(DISK_BYTES).expect("a file of that size");
    }
    let member = |disk: u32| {
        Some(CreateMember::parse(&folder.join(format!("disk{disk}"))).expect("a member"))
    };
    let wanted = Create {
        chunk_bytes: 64 << 10,
        members: (4..7).map(member).collect(),
        create_bytes: Some(DISK_BYTES),
        assume_clean: true,
        ..Create::new("tank", Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), &[])
    };
    let guard = Guard::new(Consent::default());
    mdtools::create(&guard, &wanted, &AtomicBool::new(false)).expect("an array");
    drop(guard);
    for (name, below, by_kernel) in CONTAINERS {
        for by in ["ours", "theirs"] {
            fs::write(folder.join(format!("{by}.{name}")), content(name, by)).expect("written");
        }
        if !by_kernel {
            format(folder, below);
            in_container(folder, below, |channel| {
                channel.write_slice(0, &content(name, "ours")).expect("written");
            });
        }
    }

    let said = boot(folder, "first");
    for (name, below, by_kernel) in CONTAINERS {
        let is_read = said.contains(&format!("{name}: what raidloom wrote is read"));
        assert!(by_kernel || is_read, "{name}: {said:#?}");
        assert!(
            said.contains(&format!("{name}: aes-xts-plain64 by dm-crypt")),
            "{name}: {said:#?}"
        );
        in_container(folder, below, |channel| {
            let mut found = vec![0; BYTES];
            channel.read_slice(0, &mut found).expect("read");
            let expected = content(name, "theirs");
            assert_eq!(difference(&found, &expected), None, "{name}: what the kernel wrote");
            channel.write_slice(0, &content(name, "ours")).expect("written");
        });
    }
    let said = boot(folder, "second");
    for (name, ..) in CONTAINERS {
        let line = format!("{name}: what raidloom wrote is read");
        assert!(said.contains(&line), "{name}: {said:#?}");
    }
}
