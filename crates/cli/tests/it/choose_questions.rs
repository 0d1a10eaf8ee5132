//! The questions of `raidloom choose`, answered at a terminal: `script` is one.
#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::suites::disk::{RawDisk, is_possible};

/// Work of a moment.
const PROFILE: &str = r#"title = "a moment's work"
[[workload]]
name = "reads"
time = "40ms"
ramp = "0s"
"#;

/// What is pressed to end something.
const CTRL_C: &str = "\u{3}";

/// A terminal with a command in it.
struct Terminal {
    process: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// What was on the screen, and how much of it was waited for.
    seen: String,
    known: usize,
}

impl Terminal {
    /// Starts `raidloom` with these words in a folder; nothing where there is no terminal.
    fn start(test: &str, folder: &Path, line: &str) -> Option<Terminal> {
        if Command::new("script").arg("--version").output().is_err() {
            testkit::missing!("{test}: no script");
            return None;
        }
        let command = format!("{} {line}", env!("CARGO_BIN_EXE_raidloom"));
        let mut process = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .current_dir(folder)
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("RAIDLOOM_RUNTIME_DIR", folder.join("running"))
            .env("RAIDLOOM_CONFIG_DIR", folder)
            .env("RAIDLOOM_SYSTEM_ROOT", folder.join("machine"))
            .env("PATH", search_path(folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, screen) = channel();
        let mut shown = process.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = shown.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keys = process.stdin.take().unwrap();
        Some(Terminal { process, keys, screen, seen: String::new(), known: 0 })
    }

    /// Waits for a text below what was waited for already; the line from it on.
    fn until(&mut self, text: &str) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let fresh = &self.seen[self.known..];
            if let Some((before, after)) = fresh.split_once(text) {
                let is_whole = after.contains('\n') || text.ends_with('\n');
                if is_whole {
                    let line = after.lines().next().unwrap_or_default().to_owned();
                    self.known += before.len() + text.len();
                    return line;
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("no {text:?} on the screen:\n{}", self.seen),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// How it ended, and the screen.
    fn end(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            match self.screen.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end: {}\n{}", self.seen, waits_of(self.process.id()))
                }
            }
        }
        (self.process.wait().unwrap().code(), self.seen.clone())
    }

    /// The number of an answer of the list that comes next.
    fn number_of(&mut self, answer: &str) -> String {
        self.until("Drives?");
        self.until(answer);
        let line = self.seen[..self.known].lines().next_back().unwrap();
        line.trim().split_once(')').unwrap().0.to_owned()
    }

    /// Answers with what is wrong first, and what is said of it.
    fn stumble(&mut self, wrong: &str, said: &str, right: &str) {
        self.press(&format!("{wrong}\n"));
        self.until(said);
        self.press(&format!("{right}\n"));
    }
}

/// What the threads of a process and of its children wait for in the kernel.
fn waits_of(process: u32) -> String {
    let mut said = String::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        said +=
            &format!("{process} {}: {} {}\n", read("comm").trim(), read("wchan"), read("syscall"));
        for child in read("children").split_whitespace().filter_map(|id| id.parse().ok()) {
            said += &waits_of(child);
        }
    }
    said
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Programs of the test's own go before all others.
fn search_path(folder: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = [folder.join("bin")].into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(all).unwrap()
}

/// A folder with a profile.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.toml"), PROFILE).unwrap();
    folder
}

/// What is in a folder, but for the profile.
fn left_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count() - 1
}

/// Each question is answered wrongly first: what is wrong is said, and it is asked again.
#[test]
fn three_answers_at_a_terminal_come_to_one() {
    let folder = folder();
    let Some(mut terminal) = Terminal::start("choose_asks", folder.path(), "choose -o run") else {
        return;
    };
    let buy = terminal.number_of("drives I may buy");
    terminal.stumble("0", "a number from 1 to", &buy);
    terminal.until("Which, and how many?");
    terminal.stumble("4 x wd-red-plus-9tb", "once more, please", "2 x samsung-870-evo-1tb");
    terminal.until("Work?");
    terminal.until("7)");
    terminal.stumble("many", "a number from 1 to 7", "7");
    terminal.until("Which file?");
    terminal.stumble("none.toml", "once more, please", "own.toml");
    terminal.until("Lose?");
    terminal.until("2)");
    // Of two drives no two may die.
    terminal.stumble("3", "a number from 1 to 2", "2");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let (_, answer) = screen.split_once("Lose?").unwrap();
    assert!(answer.contains("RAID 1, 2 x 1 TB"), "{screen}");
    assert!(answer.contains("for a moment's work on 2 x Samsung"), "{screen}");
    assert!(folder.path().join("run/choose.json").exists());
}

/// "Ctrl-C at every question": it ends there, and nothing was done.
#[test]
fn ctrl_c_at_any_question_ends_it_with_nothing_done() {
    let folder = folder();
    // What is answered before it is pressed; the first is found out, and the last are questions.
    let of_a_file = ["", "2 x samsung-870-evo-1tb", "7", "own.toml", "2"];
    let of_a_command = ["", "2 x samsung-870-evo-1tb", "6", "true", "2"];
    let asks = |which| ["Drives?", "Which, and how many?", "Work?", which, "Lose?"];
    let files = (0..5).map(|last| (of_a_file, asks("Which file?"), last));
    let commands = (3..5).map(|last| (of_a_command, asks("Which command?"), last));
    for (answers, questions, last) in files.chain(commands) {
        let Some(mut terminal) = Terminal::start("choose_ends", folder.path(), "choose") else {
            return;
        };
        let buy = terminal.number_of("drives I may buy");
        for place in 0..last {
            let answer = if place == 0 { &buy } else { answers[place] };
            terminal.press(&format!("{answer}\n"));
            terminal.until(questions[place + 1]);
        }
        terminal.press(CTRL_C);
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(130), "at {}: {screen}", questions[last]);
        assert_eq!(left_in(folder.path()), 0, "at {}", questions[last]);
    }
}

/// Whether a script of this folder runs which has no end.
fn is_run(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap().as_bytes();
    let runs = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        (words.len() > 1 && words[0] == b"/bin/sh" && words[1].starts_with(folder)).then_some(())
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(runs).next().is_some()
}

/// Two drives in a machine of their own, and what was chosen for them.
struct Making {
    folder: tempfile::TempDir,
    drives: [RawDisk; 2],
}

impl Making {
    fn new() -> Making {
        let folder = folder();
        let drives = [RawDisk::new(64), RawDisk::new(64)];
        let names = drives.each_ref().map(|drive| drive.path().display().to_string()).join(" ");
        let line = format!("choose {names} --work own.toml --survive 1 --file-system ext4 -o run");
        let making = Making { folder, drives };
        assert!(making.command(&line).status.success());
        let rule = making.place("machine/lib/udev/rules.d/64-md-raid-assembly.rules");
        for (file, text) in [(&making.configuration(), "# mine\n"), (&rule, "")] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::create_dir(making.place("bin")).unwrap();
        making
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// md's.
    fn configuration(&self) -> PathBuf {
        self.place("machine/etc/mdadm/mdadm.conf")
    }

    fn command(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command.args(line.split(' ')).current_dir(&self.folder);
        command.env("RAIDLOOM_RUNTIME_DIR", self.place("running")).output().unwrap()
    }

    /// A program of this machine's, and what it does.
    fn program(&self, name: &str, text: &str) {
        let path = self.place("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Nothing of it is left: no superblock, no line of md's, no folder, no server.
    fn is_taken_back(&self, step: &str, (code, screen): (Option<i32>, String)) {
        assert_eq!(code, Some(130), "{step}: {screen}");
        assert!(screen.contains("ended on request"), "{step}: {screen}");
        assert!(screen.contains("the array that was made is taken back"), "{step}: {screen}");
        for drive in &self.drives {
            assert_eq!(host::mount::holds(drive.path()).unwrap(), None, "{step}: {screen}");
        }
        let of_md = fs::read_to_string(self.configuration()).unwrap();
        assert_eq!(of_md, "# mine\n", "{step}: {screen}");
        assert!(!self.place("a").exists() && !self.place("tank.toml").exists(), "{step}: {screen}");
        let status = self.command("array status --json");
        assert_eq!(String::from_utf8_lossy(&status.stdout).trim(), "[]", "{step}: {screen}");
    }
}

/// "Ctrl-C at every step of `--do`": what was made is taken back. A program that does not end holds
/// the step that waits for it: before the server is started, while it makes the file system, and
/// when nothing keeps it from being ready any more. Each but the last is done twice: nothing of the
/// first time is in the way of the second.
#[test]
fn ctrl_c_at_any_step_of_making_takes_all_of_it_back() {
    if !is_possible("choose_making_ends", &["mkfs.ext4"]) {
        return;
    }
    let making = Making::new();
    let never = "while :; do sleep 1; done";
    let go = making.place("go");
    let until_go = format!(
        "PATH=${{PATH#*:}} mount \"$@\" || exit\nwhile [ ! -e {} ]; do sleep 0.1; done",
        go.display()
    );
    let at_start = "starting it";
    for (step, [initramfs, mkfs, mount]) in [
        ("running update-initramfs", [never, "", ""]),
        ("running update-initramfs", [never, "", ""]),
        (at_start, ["", never, ""]),
        (at_start, ["", never, ""]),
        (at_start, ["", "", &until_go]),
    ] {
        // It is there since the step before.
        let _ = fs::remove_file(&go);
        for (name, text) in [("mkfs.ext4", mkfs), ("mount", mount)] {
            let _ = fs::remove_file(making.place("bin").join(name));
            if !text.is_empty() {
                making.program(name, text);
            }
        }
        making.program("update-initramfs", initramfs);
        let line = "choose --from run --do --mount a/b/c";
        let terminal = Terminal::start("choose_making_ends", making.folder.path(), line);
        let Some(mut terminal) = terminal else { return };
        terminal.until("Type yes to go on");
        terminal.press("yes\n");
        terminal.until(step);
        // What is pressed before its program runs waits for its end.
        let end = Instant::now() + Duration::from_secs(60);
        while !is_run(&making.place("bin")) {
            assert!(Instant::now() < end, "{step}: its program does not run: {}", terminal.seen);
            std::thread::sleep(Duration::from_millis(10));
        }
        terminal.press(CTRL_C);
        // It is mounted by now, and the server is about to be ready.
        fs::write(&go, "").unwrap();
        making.is_taken_back(step, terminal.end());
    }
}

/// The consent that `--measure` asks for at a terminal: with what is on each drive; nothing but
/// `yes` is one.
#[test]
fn nothing_but_yes_lets_drives_be_measured() {
    if !is_possible("choose_consents", &[]) {
        return;
    }
    let folder = folder();
    let drives = [RawDisk::new(64), RawDisk::new(64)];
    let made = Command::new("mkfs.ext4").arg("-q").arg(drives[1].path()).status().unwrap();
    assert!(made.success());
    let names = drives.each_ref().map(|drive| drive.path().display().to_string()).join(" ");
    let line = format!("choose {names} --measure --work own.toml --survive 1 -o run");
    let holds = || host::mount::holds(drives[1].path()).unwrap();
    let before = holds();
    assert!(before.is_some());
    for (keys, code) in [("no\n", 130), ("\n", 130), ("YES\n", 130), (CTRL_C, 130)] {
        let Some(mut terminal) = Terminal::start("choose_consents", folder.path(), &line) else {
            return;
        };
        terminal.until("This takes about");
        let held = terminal.until(&format!("{}", drives[1].path().display()));
        assert!(held.contains("it holds"), "{held}");
        terminal.until("Type yes to go on");
        terminal.press(keys);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, Some(code), "{keys:?}: {screen}");
        assert_eq!((holds(), left_in(folder.path())), (before, 0), "{keys:?}");
    }
    let Some(mut terminal) = Terminal::start("choose_consents", folder.path(), &line) else {
        return;
    };
    terminal.until("Type yes to go on");
    terminal.press("yes\n");
    let (ended, screen) = terminal.end();
    assert_eq!(ended, Some(0), "{screen}");
    assert!(screen.contains("run --do"), "{screen}");
    assert_eq!(holds(), None);
}
