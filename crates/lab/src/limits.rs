//! Limits on what a suite may use: a memory cgroup, page cache included, and a list of processors.
//!
//! With a small memory a test of "twice the memory" no longer means writing twice the machine's. Both versions of cgroups are
//! served where the system lets this process make one below its own; it is left and removed on any way out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use block::size_text;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{Error, system};

/// Limits that hold as long as this lives.
#[derive(Debug, Default)]
pub struct Limits {
    memory: Option<(u64, Cgroup)>,
    cpus: Option<String>,
}

impl Limits {
    /// Puts this process under the limits. To be called before there are other threads: processors are a thread's own.
    ///
    /// # Errors
    /// A usage error: what is wrong with the list, or why there can be no cgroup here.
    pub fn apply(memory_bytes: Option<u64>, cpus: Option<&str>) -> Result<Limits, Error> {
        let memory = match memory_bytes {
            Some(bytes) => Some((bytes, Cgroup::enter(bytes)?)),
            None => None,
        };
        if let Some(list) = cpus {
            let set = cpu_set(list).map_err(|why| Error::usage(format!("--cpus {list}: {why}")))?;
            sched_setaffinity(None, &set).map_err(|error| Error::usage(format!("--cpus {list}: the system refuses: {error}")))?;
        }
        Ok(Limits { memory, cpus: cpus.map(str::to_owned) })
    }

    /// The limit of memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory.as_ref().map(|(bytes, _)| *bytes)
    }

    /// The processors.
    #[must_use]
    pub fn cpus(&self) -> Option<&str> {
        self.cpus.as_deref()
    }
}

/// Memory of the machine in bytes, as the kernel counts it.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Reads a list of processors: `0`, `0-3`, `0,2,4-5`.
fn cpus(list: &str) -> Result<Vec<usize>, String> {
    let wrong = |part: &str| format!("`{part}` is no processor and no range; expected a list such as 0,2-3");
    let number = |part: &str, text: &str| text.parse::<usize>().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU).ok_or_else(|| wrong(part));
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(part, first)?, number(part, last)?);
        if first > last {
            return Err(wrong(part));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

fn cpu_set(list: &str) -> Result<CpuSet, String> {
    let mut set = CpuSet::new();
    for cpu in cpus(list)? {
        set.set(cpu);
    }
    Ok(set)
}

/// A memory cgroup with this process in it.
#[derive(Debug)]
struct Cgroup {
    own: PathBuf,
    /// Where this process came from and goes back to.
    parent: PathBuf,
}

impl Cgroup {
    fn enter(bytes: u64) -> Result<Cgroup, Error> {
        let refused = |why: String| Error::usage(format!("--memory {}: no memory cgroup can be made here: {why}", size_text(bytes)));
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let found = place(&groups, &system::mounts());
        let (parent, limit) = found.ok_or_else(|| refused("none is mounted".to_owned()))?;
        let own = parent.join(format!("raidloom-{}", std::process::id()));
        let failed = |path: &Path, error: io::Error| refused(format!("{}: {error}", path.display()));
        fs::create_dir(&own).map_err(|error| failed(&own, error))?;
        let group = Cgroup { own, parent };
        let limit_file = group.own.join(limit);
        fs::write(&limit_file, bytes.to_string()).map_err(|error| failed(&limit_file, error))?;
        let members = group.own.join("cgroup.procs");
        fs::write(&members, std::process::id().to_string()).map_err(|error| failed(&members, error))?;
        Ok(group)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // An empty cgroup that cannot be removed harms nobody, and there is nobody left to be told.
        let _ = fs::write(self.parent.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.own);
    }
}

/// The cgroup of this process whose memory can be limited, and the file that the limit is written to.
///
/// Lines of `/proc/self/cgroup` (cgroups(7)) are `hierarchy:controllers:path`; version 2 is `0::path`.
fn place(groups: &str, mounts: &[system::Mount]) -> Option<(PathBuf, &'static str)> {
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let mounted = |kind: &str, point: &dyn Fn(&Path) -> bool| {
        mounts.iter().find(|mount| mount.kind == kind && point(&mount.point)).map(|mount| mount.point.clone())
    };
    let first = || {
        let path = path_of(&|controllers| controllers.split(',').any(|controller| controller == "memory"))?;
        let point = mounted("cgroup", &|point| {
            point.file_name().is_some_and(|name| name.to_string_lossy().split(',').any(|controller| controller == "memory"))
        })?;
        Some((point.join(path), "memory.limit_in_bytes"))
    };
    let second = || {
        let path = path_of(&str::is_empty)?;
        let point = mounted("cgroup2", &|_| true)?;
        Some((point.join(path), "memory.max"))
    };
    first().or_else(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(cpus("0").unwrap(), [0]);
        assert_eq!(cpus("0,2-4,7").unwrap(), [0, 2, 3, 4, 7]);
        for wrong in ["", "a", "3-1", "1-", "99999", "1,,2"] {
            assert!(cpus(wrong).unwrap_err().contains("expected a list"), "{wrong}");
        }
    }

    #[test]
    fn both_versions_of_cgroups_are_found() {
        let first = system::parse_mounts(
            "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        );
        let groups = "4:memory:/user/one\n3:cpu,cpuacct:/\n0::/user\n";
        assert_eq!(place(groups, &first), Some(("/sys/fs/cgroup/memory/user/one".into(), "memory.limit_in_bytes")));
        let second = system::parse_mounts("1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(place("0::/user.slice/a\n", &second), Some(("/sys/fs/cgroup/user.slice/a".into(), "memory.max")));
        assert_eq!(place(groups, &[]), None);
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(memory_bytes().unwrap() > 16 << 20);
    }
}
