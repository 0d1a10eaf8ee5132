//! Facts about the machine: what a figure depends on and a reader would ask for, and what must
//! still hold when a run is resumed, because figures from two machines are never pooled.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use results::{Fact, Host};
use words::statement;

use crate::system::{self, DeviceNumber, Mount};
use crate::{Error, catalogue};

/// The time now, RFC 3339 UTC, to the second.
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time in seconds since 1970 as RFC 3339 UTC.
#[must_use]
pub fn time_text(unix_seconds: u64) -> String {
    let time = i64::try_from(unix_seconds)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(
        || format!("{unix_seconds} s after 1970"),
        |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// A time in RFC 3339 in seconds since 1970; none of what is no time, or before then.
#[must_use]
pub fn unix_seconds_of(text: &str) -> Option<u64> {
    text.parse::<jiff::Timestamp>().ok()?.as_second().try_into().ok()
}

/// Seconds since 1970, for what is stamped with them on disk.
#[must_use]
pub fn unix_seconds() -> u64 {
    jiff::Timestamp::now().as_second().try_into().unwrap_or(0)
}

/// Whether a process lives. One that has been killed and is about to end does not, nor does one
/// that has ended and waits for its parent to ask how, a zombie.
#[must_use]
pub fn lives(process: u32) -> bool {
    let file =
        |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    !is_ending(&file("stat"), &file("status"))
}

/// Whether what `/proc/PID/stat` and `/proc/PID/status` say is of a process at its end. The first
/// is `pid (name) state parent group session terminal group flags …`, and a name may hold blanks
/// and parentheses; the second names the signals that a process has been sent and has not seen yet.
fn is_ending(stat: &str, status: &str) -> bool {
    // PF_EXITING and PF_SIGNALED of <linux/sched.h>.
    const ENDING: u32 = 0x4 | 0x400;
    const KILL: u64 = 1 << (9 - 1);
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_ascii_whitespace().collect())
        .unwrap_or_default();
    let (Some(state), Some(flags)) =
        (fields.first(), fields.get(6).and_then(|flags| flags.parse::<u32>().ok()))
    else {
        return true;
    };
    let mut pending = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")));
    let killed = pending.any(|signals| {
        u64::from_str_radix(signals.trim(), 16).is_ok_and(|signals| signals & KILL != 0)
    });
    matches!(*state, "Z" | "X") || flags & ENDING != 0 || killed
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The value after `key … :` in a file such as `/proc/cpuinfo`.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// What kind of machine this pretends not to be: a hypervisor's name where the firmware tells one.
fn virtualisation(processor: &str) -> String {
    let product = read("/sys/class/dmi/id/product_name");
    let vendor = read("/sys/class/dmi/id/sys_vendor");
    let container = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    let guest = processor.lines().any(|line| {
        line.starts_with("flags") && line.split_ascii_whitespace().any(|flag| flag == "hypervisor")
    });
    let machine = if guest {
        let names: Vec<String> = [vendor, product].into_iter().flatten().collect();
        if names.is_empty() {
            "virtual machine".to_owned()
        } else {
            format!("virtual machine ({})", names.join(" "))
        }
    } else {
        "none seen".to_owned()
    };
    if container { format!("{machine}, in a container") } else { machine }
}

/// The scheduler in use, which the kernel shows in brackets among those that could be.
fn scheduler(number: DeviceNumber) -> Option<String> {
    let text = system::queue_setting(number, "queue/scheduler")?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(name, _)| name.to_owned());
    Some(chosen.unwrap_or(text))
}

/// Facts about the file system and the disk under a folder or a device of the members.
fn storage_facts(facts: &mut Facts, path: &Path, several: bool) {
    storage_facts_of(facts, path, &system::mounts(), several);
}

/// The same where these mounts are to be seen.
fn storage_facts_of(facts: &mut Facts, path: &Path, mounts: &[Mount], several: bool) {
    let suffix = if several { format!(" ({})", path.display()) } else { String::new() };
    let device = system::block_number(path);
    if device.is_none() {
        match system::mount_of(mounts, path) {
            Some(mount) => {
                facts.add(
                    format!("member file system{suffix}"),
                    format!("{} on {}", mount.kind, mount.source),
                    true,
                );
                facts.add(format!("mount options{suffix}"), mount.options.clone(), true);
            }
            None => {
                facts.add_known(format!("member file system{suffix}"), unmounted_kind(path), true);
            }
        }
    }
    let disks = device.map_or_else(
        || system::disks_under(mounts, path),
        |number| vec![system::whole_disk(number)],
    );
    for disk in disks {
        let name = disk_name(disk);
        let setting = |setting| system::queue_setting(disk, setting);
        let model = setting("device/model").map_or(String::new(), |model| format!(" ({model})"));
        let rotational = match setting("queue/rotational").as_deref() {
            Some("1") => ", rotational",
            _ => "",
        };
        facts.add(format!("member disk{suffix}"), format!("{name}{model}{rotational}"), true);
        facts.add_known(format!("scheduler{suffix}"), scheduler(disk), true);
        facts.add_known(format!("disk write cache{suffix}"), setting("queue/write_cache"), true);
    }
}

/// The kind of a file system whose mount the table does not show, as below a chroot that is no
/// mount itself: what the file system says of itself.
fn unmounted_kind(path: &Path) -> Option<String> {
    let kind = rustix::fs::statfs(path).ok()?.f_type as u64;
    let name = match kind {
        0xef53 => "ext2, ext3 or ext4".to_owned(),
        0x5846_5342 => "xfs".to_owned(),
        0x9123_683e => "btrfs".to_owned(),
        0x0102_1994 => "tmpfs".to_owned(),
        0x794c_7630 => "overlay".to_owned(),
        0x2fc1_2fc1 => "zfs".to_owned(),
        0x6969 => "nfs".to_owned(),
        0xf2f5_2010 => "f2fs".to_owned(),
        _ => format!("of type {kind:#x}"),
    };
    Some(format!("{name}; its mount is not to be seen from here"))
}

#[derive(Default)]
struct Facts {
    facts: Vec<Fact>,
    /// Whether figures depend on the machine at all; those of modelled disks do not.
    measured: bool,
}

impl Facts {
    fn add(&mut self, name: impl Into<String>, value: impl Into<String>, must_match: bool) {
        self.facts.push(Fact {
            name: name.into(),
            value: value.into(),
            must_match: must_match && self.measured,
        });
    }

    fn add_known(&mut self, name: impl Into<String>, value: Option<String>, must_match: bool) {
        if let Some(value) = value {
            self.add(name, value, must_match);
        }
    }
}

/// Facts about this machine, with those of the storage under `members` (folders or devices, which
/// need not exist yet: the nearest folder above counts). Without any, nothing is measured here, and
/// only the version of raidloom has to stay.
#[must_use]
pub fn facts(members: &[PathBuf]) -> Host {
    let mut facts = Facts { facts: Vec::new(), measured: !members.is_empty() };
    let processor = read("/proc/cpuinfo").unwrap_or_default();
    let build = if cfg!(debug_assertions) { " (debug build: its figures mean little)" } else { "" };
    facts.facts.push(Fact {
        name: "raidloom".into(),
        value: format!("{}{build}", env!("CARGO_PKG_VERSION")),
        must_match: true,
    });
    let system = rustix::system::uname();
    facts.add(
        "kernel",
        format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
        true,
    );
    facts.add_known("distribution", distribution(), false);
    let model = field(&processor, "model name").or_else(|| field(&processor, "Model"));
    facts.add(
        "processor",
        model.unwrap_or_else(|| system.machine().to_string_lossy().into_owned()),
        true,
    );
    facts.add(
        "processors",
        std::thread::available_parallelism().map_or(1, usize::from).to_string(),
        true,
    );
    facts.add_known("memory", read("/proc/meminfo").and_then(|text| memory(&text)), true);
    facts.add("virtualisation", virtualisation(&processor), true);
    facts.add_known(
        "frequency governor",
        read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        true,
    );
    facts.add_known(
        "clock source",
        read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        true,
    );
    facts.add_known(
        "load average at the start",
        read("/proc/loadavg").and_then(|text| text.split(' ').next().map(str::to_owned)),
        false,
    );
    for path in members {
        storage_facts(&mut facts, &nearest_existing(path), members.len() > 1);
    }
    Host {
        schema: 1,
        started: now(),
        facts: facts.facts,
        one_disk: Vec::new(),
        shared_disks: Vec::new(),
        machines: Default::default(),
    }
}

/// What a file or device lies on, for people: `disk sda`, `disks sda, sdb`, `file system tmpfs`. A
/// file need not exist yet: the nearest folder above it counts. `None` where that is not to be
/// seen.
#[must_use]
pub fn disk_under(path: &Path) -> Option<String> {
    disk_under_of(&nearest_existing(path), &system::mounts())
}

fn disk_under_of(path: &Path, mounts: &[Mount]) -> Option<String> {
    let names = disks_of(path, mounts);
    if names.is_empty() {
        let mount = system::mount_of(mounts, path)?;
        return Some(format!("file system ({} on {})", mount.kind, mount.point.display()));
    }
    let word = if names.len() == 1 { "disk" } else { "disks" };
    Some(format!("{word} {}", names.join(", ")))
}

/// The names of the disks that a path's data lie on in the end, each once, in order.
fn disks_of(path: &Path, mounts: &[Mount]) -> Vec<String> {
    let disks = system::disks_in_the_end(mounts, path);
    let names: BTreeSet<String> = disks.into_iter().map(disk_name).collect();
    names.into_iter().collect()
}

/// The names of the disks under a file or device, through md, dm, partitions and loop devices. A
/// file need not exist yet: the nearest folder above it counts. None for what has no disk.
#[must_use]
pub fn disks_under(path: &Path) -> Vec<String> {
    disks_of(&nearest_existing(path), &system::mounts())
}

/// The kernel's name of a disk: `sda`.
fn disk_name(disk: DeviceNumber) -> String {
    let name = system::sys_folder(disk)
        .and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| disk.to_string())
}

fn distribution() -> Option<String> {
    let text = read("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Total memory; rounded, because the kernel's own share differs a little from boot to boot.
fn memory(text: &str) -> Option<String> {
    let kibibytes: f64 = field(text, "MemTotal")?.split(' ').next()?.parse().ok()?;
    Some(format!("{:.1} GiB", kibibytes / f64::from(1 << 20)))
}

fn nearest_existing(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|above| fs::canonicalize(above).ok());
    existing.unwrap_or_else(|| PathBuf::from("/"))
}

/// What has changed between the machine a run began on and this one, among the facts that must
/// stay: one line each.
#[must_use]
pub fn changes(before: &Host, now: &Host) -> Vec<String> {
    let value = |host: &Host, name: &str| {
        host.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
    };
    let absent = || "not there".to_owned();
    let changed = before.facts.iter().filter(|fact| fact.must_match).filter_map(|fact| {
        let found = value(now, &fact.name);
        (found.as_ref() != Some(&fact.value)).then(|| {
            format!("{}: was {}, is {}", fact.name, fact.value, found.unwrap_or_else(absent))
        })
    });
    let appeared =
        now.facts.iter().filter(|fact| fact.must_match && value(before, &fact.name).is_none());
    changed
        .chain(appeared.map(|fact| format!("{}: was {}, is {}", fact.name, absent(), fact.value)))
        .collect()
}

/// An error that says what has changed.
pub fn changed_error(changes: &[String]) -> Error {
    let text = changes.join("; ");
    Error::usage(statement!(catalogue::OTHER_MACHINE, changes = text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_lives_no_longer_though_nobody_has_asked_how() {
        let mut process =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(lives(process.id()) && lives(std::process::id()));
        let end = rustix::process::pidfd_open(
            rustix::process::Pid::from_child(&process),
            rustix::process::PidfdFlags::empty(),
        )
        .unwrap();
        drop(process.stdin.take());
        let mut ended = [rustix::event::PollFd::new(&end, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ended, None).unwrap();
        assert!(!lives(process.id()), "a zombie");
        process.wait().unwrap();
        assert!(!lives(process.id()));
    }

    #[test]
    fn a_process_that_is_ending_is_told_from_one_that_is_not() {
        let stat = |state: &str, flags: u32| {
            format!("77 (a) b (c) {state} 1 77 77 0 -1 {flags} 0 0 0 0\n")
        };
        let status = |own: &str, shared: &str| {
            format!("Name:\ta) b\nSigPnd:\t{own}\nShdPnd:\t{shared}\nSigBlk:\tffffffff\n")
        };
        let none = "0000000000000000";
        // PF_RANDOMIZE and PF_FORKNOEXEC say nothing, nor does a TERM that waits.
        for state in ["R", "S", "D"] {
            assert!(!is_ending(&stat(state, 0x40_0040), &status(none, "0000000000004000")));
        }
        assert!(is_ending(&stat("Z", 0x40_0040), &status(none, none)));
        assert!(is_ending(&stat("R", 0x40_0004), &status(none, none)));
        assert!(is_ending(&stat("D", 0x40_0400), &status(none, none)));
        assert!(is_ending(&stat("S", 0), &status("0000000000000100", none)));
        assert!(is_ending(&stat("S", 0), &status(none, "0000000000000100")));
        assert!(is_ending("", ""), "there is no such process");
    }

    fn host(facts: &[(&str, &str, bool)]) -> Host {
        let fact = |(name, value, must_match): &(&str, &str, bool)| Fact {
            name: (*name).into(),
            value: (*value).into(),
            must_match: *must_match,
        };
        Host {
            schema: 1,
            started: now(),
            facts: facts.iter().map(fact).collect(),
            one_disk: Vec::new(),
            shared_disks: Vec::new(),
            machines: Default::default(),
        }
    }

    #[test]
    fn only_facts_that_must_stay_are_compared() {
        let before = host(&[
            ("kernel", "6.1", true),
            ("load", "0.1", false),
            ("governor", "powersave", true),
        ]);
        assert_eq!(changes(&before, &before), Vec::<String>::new());
        let after =
            host(&[("kernel", "6.2", true), ("load", "9", false), ("scheduler", "none", true)]);
        let expected = [
            "kernel: was 6.1, is 6.2",
            "governor: was powersave, is not there",
            "scheduler: was not there, is none",
        ];
        assert_eq!(changes(&before, &after), expected);
    }

    #[test]
    fn this_machine_has_facts_and_does_not_change_between_two_looks() {
        let here = [std::env::temp_dir()];
        let host = facts(&here);
        for name in
            ["raidloom", "kernel", "processor", "processors", "memory", "member file system"]
        {
            assert!(
                host.facts.iter().any(|fact| fact.name == name && !fact.value.is_empty()),
                "no {name} in {host:?}"
            );
        }
        assert_eq!(changes(&host, &facts(&here)), Vec::<String>::new());
        assert!(host.started.ends_with('Z') && host.started.len() == 20, "{}", host.started);
    }

    /// "/ lies on no block device (container, chroot)": the table of mounts is empty there, and the
    /// folder still has a file system.
    #[test]
    fn a_file_system_has_a_name_where_no_mount_is_to_be_seen() {
        let here = std::env::temp_dir();
        let mut found = Facts { facts: Vec::new(), measured: true };
        storage_facts_of(&mut found, &here, &[], false);
        let [fact] = &found.facts[..] else { panic!("{:?}", found.facts) };
        assert!(
            fact.name == "member file system"
                && fact.must_match
                && fact.value.contains("not to be seen"),
            "{fact:?}"
        );
    }

    /// "a banner where all members lie on one disk": and none where it cannot be known.
    #[test]
    fn what_lies_under_a_path_has_a_name() {
        let mounts = system::parse_mounts(
            "1 0 0:20 / /mnt rw - tmpfs none rw\n2 0 0:21 / /mnt/b rw - nfs server:/b rw\n",
        );
        let under = |path: &str| disk_under_of(Path::new(path), &mounts);
        assert_eq!(under("/mnt/a.img").as_deref(), Some("file system (tmpfs on /mnt)"));
        assert_eq!(under("/mnt/b/c.img").as_deref(), Some("file system (nfs on /mnt/b)"));
        assert_eq!(under("/elsewhere/d.img"), None);
    }

    #[test]
    fn without_measured_members_the_machine_may_change() {
        let must_match =
            facts(&[]).facts.into_iter().filter(|fact| fact.must_match).map(|fact| fact.name);
        assert_eq!(must_match.collect::<Vec<_>>(), ["raidloom"]);
    }

    #[test]
    fn the_chosen_governor_and_memory_are_read() {
        assert_eq!(
            memory("MemTotal:       24684092 kB\nMemFree: 1 kB\n").as_deref(),
            Some("23.5 GiB")
        );
    }
}
