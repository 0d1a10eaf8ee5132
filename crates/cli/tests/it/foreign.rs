//! Names that somebody else chose, in superblocks, plans and file names: what the program prints is
//! not steered by them.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A title for the terminal, a cleared screen, C1's one-character form, a forged message, and a
/// turned direction of writing.
const HOSTILE: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\rx\nraidloom: all is well\n\u{202e}gpj";
/// What fits into the 32 bytes of a superblock's name.
const SHORT: &str = "\u{1b}[2J\u{9b}31m\nraidloom: well\u{202e}";

/// Both outputs of the program, one after the other.
fn said(folder: &Path, arguments: &[&OsStr]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_raidloom"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_RUNTIME_DIR", folder)
        .output()
        .unwrap();
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn assert_harmless(folder: &Path, arguments: &[&str]) -> String {
    let words: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let said = said(folder, &words);
    let steers =
        |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert_eq!(said.find(steers), None, "{arguments:?}: {said:?}");
    assert!(
        !said
            .lines()
            .any(|line| line.starts_with("raidloom: all is") || line.starts_with("raidloom: well")),
        "{arguments:?}: {said}"
    );
    said
}

/// Puts a name into a superblock of version 1.2 and makes its sum right again.
fn rename_array(member: &Path, name: &str) {
    let mut bytes = fs::read(member).unwrap();
    let superblock = &mut bytes[4096..8192];
    superblock[32..64].fill(0);
    superblock[32..32 + name.len()].copy_from_slice(name.as_bytes());
    let word = |superblock: &[u8], at: usize| {
        u64::from(u32::from_le_bytes(superblock[at..at + 4].try_into().unwrap()))
    };
    superblock[216..220].fill(0);
    let length = 256 + 2 * word(superblock, 220) as usize;
    let mut sum: u64 = (0..length / 4).map(|place| word(superblock, 4 * place)).sum();
    if length % 4 == 2 {
        sum += u64::from(u16::from_le_bytes([superblock[length - 2], superblock[length - 1]]));
    }
    let sum = ((sum & 0xffff_ffff) + (sum >> 32)) as u32;
    superblock[216..220].copy_from_slice(&sum.to_le_bytes());
    fs::write(member, bytes).unwrap();
}

#[test]
fn names_in_superblocks_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = said(
        folder,
        &[
            "array", "create", "tank", "--level", "1", "--size", "4MiB", "--member", "a.img",
            "b.img",
        ]
        .map(OsStr::new),
    );
    assert!(folder.join("b.img").exists(), "{made}");
    for member in ["a.img", "b.img"] {
        rename_array(&folder.join(member), SHORT);
    }
    for arguments in [
        &["array", "examine", "a.img", "b.img"][..],
        &["array", "assemble", "a.img", "b.img"],
        &["array", "status", "a.img", "b.img"],
    ] {
        let text = assert_harmless(folder, arguments);
        assert!(
            text.contains("\\u{1b}[2J") && !text.contains("WRONG"),
            "the name is shown all the same: {text}"
        );
        let document = assert_harmless(folder, &[arguments, &["--json"]].concat());
        assert!(document.contains("\\u001b[2J"), "{document}");
    }
}

#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join(HOSTILE), vec![0; 1 << 20]).unwrap();
    let stack = format!("raid0(metadata=none, chunk=4KiB, \"file:{HOSTILE}\", \"file:{HOSTILE}\")");
    let image = format!("file:{HOSTILE}2");
    for arguments in [
        &["array", "examine", HOSTILE][..],
        &["array", "examine", "--json", HOSTILE],
        &["array", "assemble", HOSTILE, "absent"],
        &["array", "status", HOSTILE],
        &["array", "status", &stack],
        &["array", "rescue", "--show", "5", HOSTILE, HOSTILE],
        &["array", "stop", HOSTILE],
        &["bench", "hdparm", HOSTILE],
        &["bench", "hdparm", &image],
        &["bench", "--import", HOSTILE],
        &["run", "plan", HOSTILE],
        &["report", HOSTILE],
        &["compare", HOSTILE, HOSTILE],
        &["model", "show", HOSTILE],
        &["array", "cache", "status", HOSTILE],
        // A shell takes a file of this name for a flag.
        &["array", "examine", &format!("--{HOSTILE}")],
        &[HOSTILE],
    ] {
        assert_harmless(folder, arguments);
    }
}

#[test]
fn names_in_plans_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let written = |character: char| match character {
        ' ' => ' '.to_string(),
        other => format!("\\U{:08X}", u32::from(other)),
    };
    let hostile: String = HOSTILE.chars().map(written).collect();
    // A name with a control character is refused; what turns the direction of writing is shown.
    let turned: String = HOSTILE.chars().filter(|one| !one.is_control()).map(written).collect();
    let starter = said(folder, &["run", "--print-plan"].map(OsStr::new));
    let named = |name: &str| -> String {
        let line = |line: &str| match line.starts_with("name = ") {
            true => format!("name = \"{name}\"\n"),
            false => format!("{line}\n"),
        };
        starter.lines().map(line).collect()
    };
    fs::write(folder.join("plan.toml"), named(&hostile)).unwrap();
    let refused = assert_harmless(folder, &["run", "plan", "plan.toml"]);
    assert!(refused.contains("a plan's name is one line"), "{refused}");
    fs::write(folder.join("plan.toml"), named(&turned)).unwrap();
    let shown = assert_harmless(folder, &["run", "plan", "plan.toml"]);
    assert!(shown.contains("\\u{202e}"), "{shown}");
    assert_harmless(folder, &["run", "plan", "--json", "plan.toml"]);
    // A value that is none is quoted in the message.
    for line in
        [format!("\"{hostile}\" = 1\n"), format!("schema = \"{hostile}\"\n"), HOSTILE.to_owned()]
    {
        fs::write(folder.join("wrong.toml"), line).unwrap();
        assert_harmless(folder, &["run", "plan", "wrong.toml"]);
    }
}
