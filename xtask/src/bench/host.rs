//! The machine that a table of numbers belongs to.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The machine's facts as Markdown.
pub(crate) fn facts(root: &Path) -> String {
    let cpu = processor();
    let cores = std::thread::available_parallelism()
        .map_or_else(|_| "unknown".to_owned(), |count| count.to_string());
    let memory = from_file("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    let memory =
        memory.map_or("unknown".to_owned(), |kib| format!("{:.1} GiB", kib / f64::from(1 << 20)));
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        .map_or("not known here".to_owned(), |text| text.trim().to_owned());
    let virtual_machine = from_file("/proc/cpuinfo", "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let rows = [
        (
            "processor",
            format!(
                "{cpu}, {cores} cores{}",
                if virtual_machine { ", a virtual machine" } else { "" }
            ),
        ),
        ("frequency governor", governor),
        ("memory", memory),
        ("kernel", said(root, "uname", &["-sr"])),
        ("rustc", said(root, "rustc", &["--version"])),
        ("fio", said(root, "fio", &["--version"])),
    ];
    let mut text = String::from("| machine | |\n|---|---|\n");
    for (name, fact) in rows {
        text += &format!("| {name} | {fact} |\n");
    }
    text
}

fn processor() -> String {
    from_file("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned())
}

/// What was measured, on which processor (a section may be measured alone), when, and how busy the
/// machine was beforehand.
pub(crate) fn state(root: &Path) -> String {
    let commit = said(root, "git", &["describe", "--always", "--dirty", "--exclude", "*"]);
    let busy = fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_whitespace().next().map(str::to_owned));
    let busy = busy
        .map_or("unknown".to_owned(), |load| format!("{load} on average over the minute before"));
    format!(
        "{}, commit {commit}, {}; processes running or waiting for a disk: {busy}",
        processor(),
        said(root, "date", &["-u", "+%F"])
    )
}

/// What stands after `key` and a colon in a file of the kernel.
fn from_file(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line =
        text.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

/// The first line that a command prints.
fn said(root: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root).output();
    let text = output
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.as_deref().and_then(|text| text.lines().next()).map_or("unknown".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_and_what_is_not_there_is_unknown() {
        let text = facts(Path::new("."));
        assert!(text.contains("| kernel | Linux"), "{text}");
        assert_eq!(said(Path::new("."), "no-such-program-anywhere", &[]), "unknown");
        assert_eq!(from_file("/proc/meminfo", "Mem"), None);
    }
}
