//! What a level costs, here and in the kernel's md: the same fio job on an array and on one of its
//! members, on either side.
//!
//! ```text
//!   outside   fio ──> FUSE file ──> raidloom ──────────────┐
//!                                                          ├──> the same image files, in the page cache
//!   inside    fio ──> /dev/md0 ──> /dev/ubda … (UML) ──────┘
//! ```

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

const MEMBER_MIB: u64 = 96;
const MEMBERS_MAX: usize = 5;
const CHUNK_KIB: u64 = 64;

struct Array {
    name: &'static str,
    level: &'static str,
    layout: &'static str,
    members: usize,
}

const ARRAYS: &[Array] = &[
    Array { name: "raid0", level: "0", layout: "original", members: 4 },
    Array { name: "raid1", level: "1", layout: "", members: 2 },
    Array { name: "raid10", level: "10", layout: "n2", members: 4 },
    Array { name: "raid5", level: "5", layout: "left-symmetric", members: 4 },
    Array { name: "raid6", level: "6", layout: "left-symmetric", members: 5 },
];

struct Load {
    name: &'static str,
    text: &'static str,
    pattern: &'static str,
    request_bytes: u32,
    depth: u32,
}

const LOADS: &[Load] = &[
    Load {
        name: "randread",
        text: "random read 4 KiB, depth 16",
        pattern: "randread",
        request_bytes: 4096,
        depth: 16,
    },
    Load {
        name: "randwrite",
        text: "random write 4 KiB, depth 16",
        pattern: "randwrite",
        request_bytes: 4096,
        depth: 16,
    },
    Load {
        name: "write",
        text: "sequential write 1 MiB, depth 4",
        pattern: "write",
        request_bytes: 1 << 20,
        depth: 4,
    },
];

impl Load {
    /// For fio, on either side. As much of every target as all of them have.
    fn options(&self, seconds: u32) -> String {
        let Load { pattern, request_bytes, depth, .. } = self;
        format!(
            "--name=bench --ioengine=libaio --direct=1 --thread --norandommap=1 --invalidate=0 \
            --allow_file_create=0 --randseed=1 --size=64m \
             --eta=never --output-format=json --time_based --runtime={seconds} --rw={pattern} \
             --bs={request_bytes} --iodepth={depth}"
        )
    }

    /// Requests in a second, from what fio has printed.
    fn rate(&self, text: &str) -> Result<f64, String> {
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("fio's JSON: {error}"))?;
        let job = &json["jobs"][0];
        let moved = &job[if self.pattern.ends_with("read") { "read" } else { "write" }];
        match (job["error"].as_i64(), moved["total_ios"].as_f64(), moved["runtime"].as_f64()) {
            (Some(0), Some(requests), Some(milliseconds))
                if requests > 0.0 && milliseconds > 0.0 =>
            {
                Ok(requests * 1000.0 / milliseconds)
            }
            _ => Err(format!("fio did not measure {}: {text}", self.text)),
        }
    }
}

impl Array {
    /// For mdadm and for raidloom, which have the same names for these.
    fn options(&self) -> String {
        let layout = if self.layout.is_empty() || self.level == "0" {
            String::new()
        } else {
            format!(" --layout={}", self.layout)
        };
        let chunk =
            if self.level == "1" { String::new() } else { format!(" --chunk={CHUNK_KIB}K") };
        format!("--level={}{layout}{chunk}", self.level)
    }
}

/// The images and what runs over them. Dropping it ends that and removes the images.
struct Room<'a> {
    bench: &'a Bench,
    folder: PathBuf,
}

impl Room<'_> {
    fn make(bench: &Bench) -> Result<Room<'_>, String> {
        let room =
            Room { bench, folder: bench.target.join(format!("bench-md-{}", std::process::id())) };
        let said = |error: std::io::Error| format!("{}: {error}", room.folder.display());
        fs::create_dir_all(room.folder.join("inside")).map_err(said)?;
        for member in 0..MEMBERS_MAX {
            // Written whole: blocks that are not there cost a file system more than those that are.
            let mut file = File::create(room.image(member)).map_err(said)?;
            (0..MEMBER_MIB)
                .try_for_each(|_| file.write_all(&[0; 1 << 20]))
                .and_then(|()| file.sync_all())
                .map_err(said)?;
        }
        let devices = |members: usize| {
            (0..members as u8)
                .map(|disk| format!(" /dev/ubd{}", char::from(b'a' + disk)))
                .collect::<String>()
        };
        let arrays = ARRAYS.iter().map(|array| {
            let Array { name, members, .. } = array;
            format!("{name}|{} --raid-devices={members}{}\n", array.options(), devices(*members))
        });
        fs::write(room.folder.join("arrays"), arrays.collect::<String>()).map_err(said)?;
        let loads = LOADS
            .iter()
            .map(|load| format!("{}|{}\n", load.name, load.options(bench.effort.seconds)));
        fs::write(room.folder.join("loads"), loads.collect::<String>()).map_err(said)?;
        Ok(room)
    }

    fn image(&self, member: usize) -> PathBuf {
        self.folder.join(format!("disk{member}"))
    }

    fn raidloom<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.bench.program("raidloom");
        command.args(arguments).env("RAIDLOOM_RUNTIME_DIR", self.folder.join("run"));
        command
    }

    /// Each array's share of its member's rate, load by load, in the machine.
    fn inside(&self) -> Result<Vec<f64>, String> {
        let scripts = self.bench.root.join("tests/interop");
        let mut machine = Command::new(scripts.join("uml.sh"));
        machine
            .args(["-t", "900", "-m", "384M", "-w"])
            .arg(&self.folder)
            .arg(scripts.join("bench-md.sh"));
        machine.args((0..MEMBERS_MAX).map(|member| self.image(member))).arg("--").arg(&self.folder);
        child::succeed(&mut machine)
            .map_err(|error| format!("{error}; it takes user-mode-linux, mdadm and fio"))?;
        let read = |target: &str, load: &Load| {
            let path = self.folder.join("inside").join(format!("{target}.{}", load.name));
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            // Warnings may come first.
            load.rate(text.find('{').map_or("", |start| &text[start..]))
        };
        shares(read)
    }

    /// The same over raidloom.
    fn outside(&self) -> Result<Vec<f64>, String> {
        let leaf = |member: usize| format!("file:\"{}\"?direct=no", self.image(member).display());
        let served = |name: &str, stack: &str| -> Result<Vec<f64>, String> {
            let status = child::succeed(&mut self.raidloom([
                "--json",
                "array",
                "start",
                "--attach=file",
                "--name",
                name,
                stack,
            ]))?;
            let status: serde_json::Value = serde_json::from_str(&status.output)
                .map_err(|error| format!("array start: {error}"))?;
            let file = status["attached"]["file"].as_str().ok_or("array start names no file")?;
            let rates = LOADS
                .iter()
                .map(|load| measure(Path::new(file), load, self.bench.effort.seconds))
                .collect();
            child::succeed(&mut self.raidloom(["array", "stop", name]))?;
            rates
        };
        let mut rates = Vec::new();
        for array in ARRAYS {
            rates.push((member_of(array.name), served("member", &leaf(0))?));
            let options = array.options();
            let mut create = self.raidloom([
                "--quiet",
                "array",
                "create",
                array.name,
                "--assume-clean",
                "--erase-signature",
                "--member",
            ]);
            create
                .args((0..array.members).map(|member| self.image(member)))
                .args(options.split(' '));
            child::succeed(&mut create)?;
            let leaves: Vec<String> = (0..array.members).map(leaf).collect();
            rates.push((
                array.name.to_owned(),
                served(
                    array.name,
                    &format!("{}(metadata=1.2, {})", array.name, leaves.join(", ")),
                )?,
            ));
        }
        shares(|target, load| {
            let of_target = rates.iter().find(|(name, _)| *name == target).map(|(_, rates)| rates);
            let number = LOADS.iter().position(|other| other.name == load.name);
            Ok(of_target.zip(number).map_or(0.0, |(rates, number)| rates[number]))
        })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        for name in ARRAYS.iter().map(|array| array.name).chain(["member"]) {
            // What an error has left running.
            if self.folder.join("run").join(name).exists() {
                let _ = self.raidloom(["array", "stop", name]).status();
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn measure(file: &Path, load: &Load, seconds: u32) -> Result<f64, String> {
    let mut fio = Command::new("fio");
    fio.args(load.options(seconds).split_whitespace())
        .arg(format!("--filename={}", file.display()));
    load.rate(&child::succeed(&mut fio)?.output)
}

/// What a member's results are called that were measured just before an array's.
fn member_of(array: &str) -> String {
    format!("{array}-member")
}

/// What each array has of the rate of a member, load by load.
fn shares(rate: impl Fn(&str, &Load) -> Result<f64, String>) -> Result<Vec<f64>, String> {
    let pairs = ARRAYS.iter().flat_map(|array| LOADS.iter().map(move |load| (array, load)));
    pairs
        .map(|(array, load)| Ok(rate(array.name, load)? / rate(&member_of(array.name), load)?))
        .collect()
}

/// Measures every array and its member on both sides.
///
/// # Errors
/// When the machine, raidloom or fio fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let room = Room::make(bench)?;
    let side = |name: &str, shares: Result<Vec<f64>, String>| {
        eprintln!("   {name}");
        shares
    };
    let (ours, other) =
        bench.rounds(|| side("raidloom", room.outside()), || side("md", room.inside()))?;
    let column = |rounds: &[Vec<f64>], number: usize| {
        rounds.iter().map(|shares| shares[number]).collect::<Vec<f64>>()
    };
    let pairs = ARRAYS.iter().flat_map(|array| LOADS.iter().map(move |load| (array, load)));
    let rows = pairs.enumerate().map(|(number, (array, load))| Row {
        load: format!("{} over {} members, {}", array.name, array.members, load.text),
        measure: "of a member's io/s",
        ours: column(&ours, number),
        other: Some(column(&other, number)),
        aim: Aim::AtLeast(1.0),
    });
    let how = format!(
        "The same fio job (`ioengine=libaio`, `direct=1`, {} s a round) on a member and then on an \
        array: inside user-mode Linux 6.1 on `/dev/md0` and \
        `/dev/ubda`, outside on files that `raidloom array start --attach=file` serves. Both sides \
        use the same {MEMBERS_MAX} image files of {MEMBER_MIB} MiB \
        through the host's page cache, arrays have md's superblocks, chunks of {CHUNK_KIB} KiB and \
        no bitmap. \
        What is compared is what a level leaves of its own member's rate, not the rates: a guest \
        in user-mode Linux pays for every system call and every \
        request of a block device many times over, and raidloom pays for FUSE, so that neither \
        side's rates are those of the other's place. A member that is \
        expensive to reach makes a level look cheap, because what the level computes itself \
        disappears behind it. So the ratio can tell that a level sends \
        its members more requests than it needs to, or waits where it need not; it cannot tell how \
        fast md would be in a kernel on real disks.",
        bench.effort.seconds
    );
    Ok(Section {
        title: "Levels beside the kernel's md",
        how,
        measured: None,
        sides: ("raidloom", "md in user-mode Linux"),
        rows: rows.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_same_load() {
        let rate = |target: &str, load: &Load| {
            Ok(if target.ends_with("-member") { f64::from(load.request_bytes) } else { 1024.0 })
        };
        let shares = shares(rate).expect("rates");
        assert_eq!(shares.len(), ARRAYS.len() * LOADS.len());
        assert_eq!(shares[..3], [0.25, 0.25, 1.0 / 1024.0]);
    }

    #[test]
    fn what_fio_did_is_read_from_its_json() {
        let text = r#"{"jobs": [{"error": 0, "read": {"total_ios": 5, "runtime": 10}, "write": {"total_ios": 500, "runtime": 250}}]}"#;
        assert_eq!((LOADS[0].rate(text), LOADS[1].rate(text)), (Ok(500.0), Ok(2000.0)));
        assert!(LOADS[0].rate(r#"{"jobs": [{"error": 5}]}"#).is_err());
    }
}
