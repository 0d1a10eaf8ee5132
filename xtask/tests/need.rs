//! `tools/need` says what is missing, why, and how to install it, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder with the shell's helpers and the tools named, as the only place where programs are
/// found.
struct Programs(PathBuf);

impl Programs {
    fn new(name: &str, tools: &[&str]) -> Programs {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for programs");
        let helpers = ["dirname", "sed", "grep", "cut", "tr", "sort", "head", "uname"];
        for program in helpers {
            let found = std::env::split_paths(&std::env::var_os("PATH").expect("PATH is set"))
                .map(|place| place.join(program))
                .find(|path| path.exists());
            symlink(found.expect("a helper of the shell"), folder.join(program)).expect("a link");
        }
        for tool in tools {
            // They need only be there.
            symlink("/bin/echo", folder.join(tool)).expect("a link");
        }
        Programs(folder)
    }

    /// A Rust that says it has this version.
    fn add_rust(&self, version: &str) {
        for tool in ["cargo", "rustc"] {
            let script = self.0.join(tool);
            fs::write(&script, format!("#!/bin/sh\necho 'rustc {version}'\n")).expect("a script");
            fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .expect("its mode");
        }
    }

    fn need(&self, target: &str) -> (String, bool) {
        let output = Command::new("/bin/sh")
            .arg(root().join("tools/need"))
            .arg(target)
            .env("PATH", &self.0)
            .output()
            .expect("sh runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
    }
}

#[test]
fn a_missing_linker_is_one_line_with_the_command_that_installs_it() {
    let (text, success) = {
        let programs = Programs::new("no-linker", &["git"]);
        programs.add_rust("1.999.0");
        programs.need("demo")
    };
    assert!(!success);
    assert!(
        text.lines()
            .any(|line| line == "missing: cc: Rust calls it to link programs: apt-get install gcc"),
        "{text}"
    );
    assert!(!text.contains("fio"), "the demo does without: {text}");
}

#[test]
fn missing_rust_is_one_line() {
    let (text, success) = Programs::new("no-rust", &["cc", "git"]).need("demo");
    assert!(!success);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("missing: cargo: ") && text.contains("rustup"), "{text}");
}

#[test]
fn what_tests_can_do_without_is_named_and_no_failure() {
    let programs = Programs::new("bare", &["cc", "git"]);
    programs.add_rust("1.999.0");
    let (text, success) = programs.need("test");
    assert!(success, "{text}");
    assert!(text.contains("not there, tests that use it are skipped: chromium: "), "{text}");
}

/// A Rust that has no standard library for musl, and no compiler for the C code.
#[test]
fn what_the_static_program_is_linked_with_is_told() {
    let programs = Programs::new("no-musl", &["cc", "git"]);
    programs.add_rust("1.999.0");
    let (text, success) = programs.need("static");
    assert!(!success);
    let lines: Vec<&str> = text.lines().collect();
    let [library, compiler] = lines[..] else { panic!("{text}") };
    assert!(library.contains("rustup target add ") && library.ends_with("-linux-musl"), "{text}");
    assert!(compiler.ends_with("apt-get install musl-tools"), "{text}");
}

#[test]
fn an_old_rust_is_told() {
    let programs = Programs::new("old", &["cc", "git"]);
    programs.add_rust("1.63.0");
    let (text, success) = programs.need("demo");
    assert!(!success && text.starts_with("too old: Rust 1.63.0; "), "{text}");
}

#[test]
fn every_package_has_a_reason() {
    let table = fs::read_to_string(root().join("tools/packages.txt")).expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(
            row.len() == 5 && !row[0].is_empty() && !row[1].is_empty() && !row[4].is_empty(),
            "{row:?}"
        );
        assert!(!row[2].is_empty() || !row[3].is_empty(), "nothing needs it: {row:?}");
    }
}
