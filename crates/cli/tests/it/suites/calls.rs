//! System calls, phase by phase, from what `strace -f -y` writes.

use std::collections::{BTreeMap, HashMap};

/// Calls that are counted, as strace is told to.
pub(crate) const TRACED: &str = "trace=read,write,lseek,open,openat,creat,unlink,unlinkat,stat,lstat,newfstatat,statx,fsync,fdatasync,sync,\
                          syncfs,mkdir,mkdirat,rmdir";

/// What was done in a phase.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Calls by kind.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// Bytes that reads and writes moved.
    pub(crate) bytes: u64,
}

/// What a line of the log means for the phases.
pub(crate) enum Mark {
    /// A phase begins.
    Begin(&'static str),
    /// No phase.
    Pause,
    /// A call like any other.
    Call,
    /// The program's own affair.
    Ignore,
}

/// The kinds under which calls of the same meaning are counted.
fn kind(call: &str) -> Option<&'static str> {
    Some(match call {
        "read" => "read",
        "write" => "write",
        "lseek" => "seek",
        "open" | "openat" | "creat" => "open",
        "unlink" | "unlinkat" => "unlink",
        "stat" | "lstat" | "newfstatat" | "statx" => "look",
        "fsync" | "fdatasync" => "sync a file",
        "sync" | "syncfs" => "sync the file system",
        "mkdir" | "mkdirat" => "make a folder",
        "rmdir" => "remove a folder",
        _ => return None,
    })
}

/// The work of each phase. `mark` is shown every line.
pub(crate) fn phases(
    log: &str,
    mut mark: impl FnMut(&str) -> Mark,
) -> BTreeMap<&'static str, Work> {
    let mut phases: BTreeMap<&'static str, Work> = BTreeMap::new();
    let mut current = None;
    // Calls of a thread that another one interrupts are written in two lines.
    let mut unfinished: HashMap<&str, Option<&'static str>> = HashMap::new();
    for line in log.lines() {
        let Some((thread, text)) = line.split_once(char::is_whitespace) else { continue };
        let text = text.trim_start();
        let moved = || {
            text.rsplit_once("= ").and_then(|(_, result)| result.parse::<u64>().ok()).unwrap_or(0)
        };
        if text.starts_with("<... ") {
            if let Some(Some(phase)) = unfinished.remove(thread)
                && (text.starts_with("<... read") || text.starts_with("<... write"))
            {
                phases.entry(phase).or_default().bytes += moved();
            }
            continue;
        }
        let counted = match mark(text) {
            Mark::Begin(name) => {
                current = Some(name);
                false
            }
            Mark::Pause => {
                current = None;
                false
            }
            Mark::Ignore => false,
            Mark::Call => true,
        };
        if text.ends_with("<unfinished ...>") {
            unfinished.insert(thread, current.filter(|_| counted));
        }
        let call = text.split_once('(').and_then(|(name, _)| kind(name));
        if let (true, Some(phase), Some(call)) = (counted, current, call) {
            let work = phases.entry(phase).or_default();
            *work.calls.entry(call).or_default() += 1;
            if call == "read" || call == "write" {
                work.bytes += moved();
            }
        }
    }
    phases
}

/// Whether two counts are the same within 2 %.
pub(crate) fn agree(ours: u64, theirs: u64) -> bool {
    ours.abs_diff(theirs) as f64 <= 0.02 * ours.max(theirs) as f64
}

#[test]
fn calls_of_threads_that_interrupt_each_other_are_counted_once() {
    let log = "1  write(2<err>, \"Go\") = 2\n\
               1  read(3</f>,  <unfinished ...>\n\
               2  read(4<pipe:[7]>, \"x\", 1) = 1\n\
               2  lseek(3</f>, 0, SEEK_SET) = 0\n\
               1  <... read resumed>\"x\"..., 8192) = 8192\n\
               2  write(3</f>, \"x\"..., 100) = 100\n\
               1  write(2<err>, \"Stop\") = 4\n\
               1  write(3</f>, \"x\"..., 50) = 50\n";
    let phases = phases(log, |line| match line {
        line if line.contains("\"Go\"") => Mark::Begin("phase"),
        line if line.contains("\"Stop\"") => Mark::Pause,
        line if line.contains("<pipe:") => Mark::Ignore,
        _ => Mark::Call,
    });
    let work = &phases["phase"];
    assert_eq!(
        (work.calls["read"], work.calls["write"], work.calls["seek"], work.bytes),
        (1, 1, 1, 8292)
    );
    assert!(agree(100, 98) && !agree(100, 97) && agree(0, 0));
}
