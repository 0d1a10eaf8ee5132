//! Limits on the memory that a suite may use, page cache included, and what there is of it.
//!
//! With a small memory a test of "twice the memory" no longer means writing twice the machine's.
//! Both versions of cgroups are served where the system lets this process make one below its own;
//! it is left and removed on any way out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use block::size_text;
use words::{Message, Text, statement};

use crate::{Error, catalogue, system};

/// A limit of this process's memory, which holds as long as this lives.
#[derive(Debug)]
pub struct MemoryLimit {
    _group: Cgroup,
}

impl MemoryLimit {
    /// Puts this process, and what it starts, under the limit.
    ///
    /// # Errors
    /// A usage error: why there can be no cgroup here.
    pub fn enter(bytes: u64) -> Result<MemoryLimit, Error> {
        Ok(MemoryLimit { _group: Cgroup::enter(bytes)? })
    }
}

/// Memory of the machine in bytes, as the kernel counts it.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    counted_in(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:", 1024)
}

/// A number behind a name at the start of a line, in units of `unit` bytes.
fn counted_in(text: &str, name: &str, unit: u64) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(unit)
}

/// How much memory a process can still have, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// In bytes; what the page cache would give back counts as there.
    pub bytes: u64,
    /// The cgroup whose limit it is, with that limit in bytes; the machine where there is none.
    pub cgroup: Option<(PathBuf, u64)>,
}

impl Room {
    /// What this process can have now: the least of what the machine and the cgroups that it is in
    /// have left. `None` where the kernel does not tell.
    #[must_use]
    pub fn now() -> Option<Room> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let machine = Room { bytes: counted_in(&text, "MemAvailable:", 1024)?, cgroup: None };
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let places = MemoryHierarchy::all(&groups, &system::mounts());
        let left = places.iter().flat_map(MemoryHierarchy::rooms);
        Some(left.fold(machine, |least, one| if one.bytes < least.bytes { one } else { least }))
    }

    /// Refuses what would take more than nine tenths of it: the rest is for all else that the
    /// program does.
    ///
    /// # Errors
    /// How much is asked for, and how much is there.
    pub fn refuse_beyond(&self, what: impl Into<Text>, bytes: u64) -> Result<(), block::Error> {
        if bytes <= self.bytes - self.bytes / 10 {
            return Ok(());
        }
        let whose = match &self.cgroup {
            None => catalogue::MACHINE_HAS.into(),
            Some((group, limit)) => {
                let (limit, group) = (size_text(*limit), group.display());
                statement!(catalogue::CGROUP_HAS, limit = limit, group = group)
            }
        };
        // Figures for people are whole MiB: not more than is there, not less than is asked for.
        let there = size_text(self.bytes >> 20 << 20);
        let asked = size_text(bytes.div_ceil(1 << 20).saturating_mul(1 << 20));
        let said = catalogue::TOO_MUCH_MEMORY;
        let text = statement!(said, asked = asked, there = there, whose = whose);
        Err(block::Error::new(block::ErrorKind::Invalid, text).at(what))
    }
}

/// What a stack takes of memory, as refusals call it.
pub const OF_STACKS: Message = catalogue::MEMORY_OF_STACKS;

/// Refuses to promise memory that is not there.
///
/// # Errors
/// As [`Room::refuse_beyond`].
pub fn promise_memory(what: impl Into<Text>, bytes: u64) -> Result<(), block::Error> {
    Room::now().map_or(Ok(()), |room| room.refuse_beyond(what, bytes))
}

/// A memory cgroup with this process in it.
#[derive(Debug)]
struct Cgroup {
    own: PathBuf,
    /// Where this process came from and goes back to.
    home: PathBuf,
}

const PREFIX: &str = "raidloom-";
/// The processes of a cgroup; to write a number there moves that process.
const PROCESSES: &str = "cgroup.procs";

impl Cgroup {
    fn enter(bytes: u64) -> Result<Cgroup, Error> {
        let refused = |why: Text| {
            let said = statement!(catalogue::NO_CGROUP, why = why);
            Error::usage(said).at(statement!(catalogue::MEMORY_OF, size = size_text(bytes)))
        };
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let found = MemoryHierarchy::find(&groups, &system::mounts())
            .ok_or_else(|| refused(catalogue::NONE_MOUNTED.into()))?;
        let parent = found.parent().map_err(refused)?;
        remove_left_behind(&parent);
        let own = parent.join(format!("{PREFIX}{}", std::process::id()));
        let failed =
            |path: &Path, error: io::Error| refused(block::io_text(&error).at(path.display()));
        fs::create_dir(&own).map_err(|error| failed(&own, error))?;
        let group = Cgroup { own, home: found.home.clone() };
        let limit_file = group.own.join(found.version.limit());
        fs::write(&limit_file, bytes.to_string()).map_err(|error| failed(&limit_file, error))?;
        let members = group.own.join(PROCESSES);
        fs::write(&members, std::process::id().to_string())
            .map_err(|error| failed(&members, error))?;
        Ok(group)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // An empty cgroup that cannot be removed does no harm, and an error has no taker here.
        let _ = fs::write(self.home.join(PROCESSES), std::process::id().to_string());
        let _ = fs::remove_dir(&self.own);
    }
}

/// Removes what killed processes have left: a cgroup without processes can be removed, and one in
/// use cannot.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The file that the limit is written to.
    fn limit(self) -> &'static str {
        match self {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }

    /// The file that says what is used, the page cache included.
    fn usage(self) -> &'static str {
        match self {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        }
    }

    /// What of the page cache would be given back first, in `memory.stat`, with all cgroups below.
    fn reclaimable(self) -> &'static str {
        match self {
            Version::One => "total_inactive_file ",
            Version::Two => "inactive_file ",
        }
    }
}

/// Where this process is in a hierarchy that can limit memory.
#[derive(Debug, PartialEq, Eq)]
struct MemoryHierarchy {
    version: Version,
    /// Where the hierarchy is mounted.
    root: PathBuf,
    /// The cgroup of this process.
    home: PathBuf,
}

impl MemoryHierarchy {
    /// Lines of `/proc/self/cgroup` (cgroups(7)) are `hierarchy:controllers:path`; version 2 is
    /// `0::path`.
    fn find(groups: &str, mounts: &[system::Mount]) -> Option<MemoryHierarchy> {
        MemoryHierarchy::all(groups, mounts).into_iter().next()
    }

    /// In every hierarchy that may limit memory: of both versions where both are mounted.
    fn all(groups: &str, mounts: &[system::Mount]) -> Vec<MemoryHierarchy> {
        let path_of = |wanted: &dyn Fn(&str) -> bool| {
            groups.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':');
                let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
                wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let has_memory = |list: &str| list.split(',').any(|controller| controller == "memory");
        let mounted = |kind: &str, wanted: &dyn Fn(&Path) -> bool| {
            mounts
                .iter()
                .find(|mount| mount.kind == kind && wanted(&mount.point))
                .map(|mount| mount.point.clone())
        };
        let place = |version, root: PathBuf, path: &str| MemoryHierarchy {
            version,
            home: root.join(path),
            root,
        };
        let first = || {
            let path = path_of(&has_memory)?;
            let named = |point: &Path| {
                point.file_name().is_some_and(|name| has_memory(&name.to_string_lossy()))
            };
            Some(place(Version::One, mounted("cgroup", &named)?, &path))
        };
        let second =
            || Some(place(Version::Two, mounted("cgroup2", &|_| true)?, &path_of(&str::is_empty)?));
        first().into_iter().chain(second()).collect()
    }

    /// What this cgroup and those above it have left, of those that have a limit.
    fn rooms(&self) -> Vec<Room> {
        let above = self.home.ancestors().take_while(|folder| folder.starts_with(&self.root));
        above.filter_map(|folder| self.room(folder)).collect()
    }

    fn room(&self, folder: &Path) -> Option<Room> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // Version 2 says `max` where there is none; version 1 a number near 2^63.
        let limit = number(self.version.limit()).filter(|limit| *limit < 1 << 62)?;
        let reclaimable =
            counted_in(&read("memory.stat").unwrap_or_default(), self.version.reclaimable(), 1);
        let used = number(self.version.usage())?.saturating_sub(reclaimable.unwrap_or_default());
        let cgroup = Some((folder.to_owned(), limit));
        Some(Room { bytes: limit.saturating_sub(used), cgroup })
    }

    /// Below which cgroup one with a limit can be made.
    ///
    /// In version 2 a cgroup hands the memory controller down only if its `cgroup.subtree_control`
    /// says so, and one that has processes of its own does not: there the new cgroup becomes a
    /// neighbour of this process's own, or of one above it.
    fn parent(&self) -> Result<PathBuf, Text> {
        if self.version == Version::One {
            return Ok(self.home.clone());
        }
        let hands_down = |folder: &&Path| {
            let given =
                fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
            given.split_ascii_whitespace().any(|controller| controller == "memory")
        };
        let above = self.home.ancestors().take_while(|folder| folder.starts_with(&self.root));
        above
            .into_iter()
            .find(hands_down)
            .map(Path::to_owned)
            .ok_or_else(|| statement!(catalogue::NOT_HANDED_DOWN, folder = self.home.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_cgroups_are_found() {
        let place = |groups: &str, mounts: &[system::Mount]| {
            MemoryHierarchy::find(groups, mounts).map(|place| {
                (place.version, place.root.display().to_string(), place.home.display().to_string())
            })
        };
        let first = system::parse_mounts(
            "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n2 0 0:2 / \
            /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        );
        let groups = "4:memory:/user/one\n3:cpu,cpuacct:/\n0::/user\n";
        let root = "/sys/fs/cgroup/memory";
        assert_eq!(
            place(groups, &first),
            Some((Version::One, root.to_owned(), format!("{root}/user/one")))
        );
        let second = system::parse_mounts("1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let expected =
            (Version::Two, "/sys/fs/cgroup".to_owned(), "/sys/fs/cgroup/user.slice/a".to_owned());
        assert_eq!(place("0::/user.slice/a\n", &second), Some(expected));
        assert_eq!(place(groups, &[]), None);
    }

    /// As systemd arranges it: a session has processes and hands nothing down, the slice above it
    /// does.
    #[test]
    fn in_version_2_the_new_cgroup_lies_where_the_controller_is_handed_down() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("user.slice/session-1.scope");
        fs::create_dir_all(&home).unwrap();
        let place = MemoryHierarchy {
            version: Version::Two,
            root: root.path().to_owned(),
            home: home.clone(),
        };
        let nowhere = place.parent().unwrap_err().to_string();
        assert!(
            nowhere.contains("cgroup.subtree_control") && nowhere.contains("session-1.scope"),
            "{nowhere}"
        );
        fs::write(home.join("cgroup.subtree_control"), "pids\n").unwrap();
        fs::write(root.path().join("user.slice/cgroup.subtree_control"), "cpu memory pids\n")
            .unwrap();
        assert_eq!(place.parent().unwrap(), root.path().join("user.slice"));
        assert_eq!(MemoryHierarchy { version: Version::One, ..place }.parent().unwrap(), home);
    }

    /// Made folders stand for cgroups of both versions: the least of all limits counts, also one of
    /// a cgroup above, and what the page cache would give back is there.
    #[test]
    fn what_is_left_of_a_cgroup_is_the_least_of_all_above_it() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("slice/scope");
        fs::create_dir_all(&home).unwrap();
        let write = |folder: &Path, name: &str, text: &str| {
            fs::write(folder.join(name), text).unwrap();
        };
        for (version, none, stat) in [
            (Version::One, "9223372036854771712\n", "total_inactive_file 1048576\n"),
            (Version::Two, "max\n", "anon 5\ninactive_file 1048576\n"),
        ] {
            let place =
                MemoryHierarchy { version, root: root.path().to_owned(), home: home.clone() };
            write(&home, version.limit(), none);
            write(&home, version.usage(), "5\n");
            let slice = root.path().join("slice");
            write(&slice, version.limit(), "16777216\n");
            write(&slice, version.usage(), "9437184\n");
            write(&slice, "memory.stat", stat);
            let rooms = place.rooms();
            assert_eq!(
                rooms,
                [Room { bytes: 8 << 20, cgroup: Some((slice, 16 << 20)) }],
                "{version:?}"
            );
            let room = &rooms[0];
            assert!(room.refuse_beyond("a", 7 << 20).is_ok());
            let why = room.refuse_beyond("caches", 8 << 20).unwrap_err().to_string();
            assert!(
                why.starts_with(
                    "caches: 8MiB of memory are asked for, and 8MiB are left of the 16MiB"
                ),
                "{why}"
            );
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused_with_both_figures() {
        let room = Room::now().unwrap();
        assert!(room.bytes > 1 << 20 && room.bytes <= memory_bytes().unwrap());
        assert!(promise_memory("ram", 4096).is_ok());
        let why = promise_memory("ram", u64::MAX).unwrap_err().to_string();
        assert!(why.contains("of memory are asked for") && !why.contains('\n'), "{why}");
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(memory_bytes().unwrap() > 16 << 20);
    }
}
