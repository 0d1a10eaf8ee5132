//! docs/first-minutes.md: every command of its five tasks is run as it stands there, with files and
//! folders of the test in place of drives and mount points. The pull test's is in `pull`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The code of the page's tasks, by their headings.
fn tasks() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-minutes.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let sections = page.split("\n## ").skip(1);
    let code = |section: &str| section.split("```\n").nth(1).map(str::to_owned);
    sections
        .filter_map(|section| Some((section.lines().next()?.to_owned(), code(section)?)))
        .collect()
}

/// The code of the task whose heading has these words.
pub(crate) fn task(words: &str) -> String {
    let found = tasks().into_iter().find(|(heading, _)| heading.contains(words));
    found.unwrap_or_else(|| panic!("docs/first-minutes.md has no task of `{words}`")).1
}

/// Runs the lines of a task in a folder; `sudo` is the one who runs the test.
pub(crate) fn run(folder: &Path, code: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_raidloom"));
    let folder_of_program = program.parent().expect("a program lies in a folder");
    let others = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{others}", folder_of_program.display());
    let code = code.replace("sudo ", "");
    Command::new("sh")
        .args(["-ec", &code])
        .env("PATH", path)
        // Its answers are read here in English.
        .env("LC_ALL", "C.UTF-8")
        .env("RAIDLOOM_RUNTIME_DIR", folder.join("runtime"))
        .env("RAIDLOOM_CONFIG_DIR", folder.join("configurations"))
        .current_dir(folder)
        .output()
        .expect("there is a shell")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_task_is_one_of_those_below() {
    let headings: Vec<String> = tasks().into_iter().map(|(heading, _)| heading).collect();
    assert_eq!(headings.len(), 5, "{headings:?}");
}

#[test]
fn two_folders_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let code = task("two folders")
        .replace("/mnt/", &format!("{}/", folder.path().display()))
        .replace("files = 200", "files = 10\nbytes = \"64KiB\"");
    let output = run(folder.path(), &code);
    // So few files tell nothing; that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Which of two folders is faster"), "{text}");
    for name in ["old", "new"] {
        let left = fs::read_dir(folder.path().join(name)).unwrap().count();
        assert_eq!(left, 0, "something is left in {name}");
    }
}

/// What `choose` and `--do` come to is in `choose` and `serve`; these are the words of the page.
#[test]
fn four_drives_become_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let mut code = task("Four drives");
    for (drive, name) in
        [("ata-A", "a.img"), ("ata-B", "b.img"), ("ata-C", "c.img"), ("ata-D", "d.img")]
    {
        fs::File::create(folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
        code = code.replace(&format!("/dev/disk/by-id/{drive}"), name);
    }
    // Only root may mount.
    code = match rustix::process::geteuid().is_root() {
        true => code.replace("/srv/tank", &folder.path().join("srv").display().to_string()),
        false => code.replace(" --mount /srv/tank", ""),
    };
    let output = run(folder.path(), &code);
    let end = run(
        folder.path(),
        "raidloom array umount tank 2>/dev/null || true\nraidloom array stop tank",
    );
    assert!(output.status.success(), "{}", said(&output));
    assert!(end.status.success(), "{}", said(&end));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("survives any 1 drive") && text.contains("tank"), "{text}");
}

#[test]
fn yesterday_is_compared_with_today() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &task("Yesterday"));
    // The same models on the same clock: nothing is slower.
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_stripe_without_superblocks_is_read() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skipped!("only root may mount what was found");
    }
    const CHUNK: usize = 64 << 10;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["files/folder", "rescued"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    for number in 0..40 {
        fs::write(path("files/folder").join(format!("{number}.txt")), vec![number; 9000]).unwrap();
    }
    fs::File::create(path("whole.img")).unwrap().set_len(32 << 20).unwrap();
    let made = run(folder.path(), "mkfs.ext4 -q -d files whole.img");
    assert!(made.status.success(), "{}", said(&made));
    let whole = fs::read(path("whole.img")).unwrap();
    for (name, first) in [("old-1.img", 0), ("old-2.img", 1)] {
        let chunks = whole.chunks(CHUNK).skip(first).step_by(2);
        fs::write(path(name), chunks.flatten().copied().collect::<Vec<u8>>()).unwrap();
    }
    let before = ["old-1.img", "old-2.img"].map(|name| fs::read(path(name)).unwrap());

    let code = task("old stripe").replace("/mnt/", &format!("{}/", folder.path().display()));
    let output = run(folder.path(), &code);
    let file = fs::read(path("rescued/folder/7.txt"));
    let end = run(folder.path(), "raidloom array umount old || true\nraidloom array stop old");
    assert!(output.status.success(), "{}", said(&output));
    assert!(end.status.success(), "{}", said(&end));
    assert!(file.is_ok_and(|bytes| bytes == [7; 9000]), "{}", said(&output));
    // What `guess` has found is what the page goes on with.
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("raid0(metadata=none, chunk=64KiB, layout=original, "), "{text}");
    let after = ["old-1.img", "old-2.img"].map(|name| fs::read(path(name)).unwrap());
    assert!(before == after, "something was written to the drives");
}
