//! A drive as a file and as a block device, against `qemu-storage-daemon --export fuse`. fio is the
//! program that uses it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::table::{Aim, Row, Section};
use super::{Bench, child};

const SIZE_BYTES: u64 = 256 << 20;
/// How long a server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one fio job does.
struct Load {
    name: &'static str,
    pattern: &'static str,
    request_bytes: u32,
    depth: u32,
}

const LOADS: &[Load] = &[
    Load { name: "random read 4 KiB, depth 1", pattern: "randread", request_bytes: 4096, depth: 1 },
    Load {
        name: "random read 4 KiB, depth 32",
        pattern: "randread",
        request_bytes: 4096,
        depth: 32,
    },
    Load {
        name: "random write 4 KiB, depth 1",
        pattern: "randwrite",
        request_bytes: 4096,
        depth: 1,
    },
    Load {
        name: "random write 4 KiB, depth 32",
        pattern: "randwrite",
        request_bytes: 4096,
        depth: 32,
    },
    Load {
        name: "sequential read 1 MiB, depth 4",
        pattern: "read",
        request_bytes: 1 << 20,
        depth: 4,
    },
    Load {
        name: "sequential write 1 MiB, depth 4",
        pattern: "write",
        request_bytes: 1 << 20,
        depth: 4,
    },
];

/// Who serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Raidloom,
    Qemu,
}

/// What is served, to each side in its own words.
#[derive(Clone, Copy)]
enum Backing {
    /// `ram:` here, a file on tmpfs there.
    Memory,
    /// `null:` here, `null-co` there.
    Nothing,
}

/// A server with its file. Dropping it ends it.
struct Served {
    process: Child,
    file: PathBuf,
    /// The loop device over it.
    block_device: Option<PathBuf>,
    folder: PathBuf,
}

impl Served {
    fn start(
        bench: &Bench,
        side: Side,
        backing: Backing,
        with_loop: bool,
    ) -> Result<Served, String> {
        let folder = PathBuf::from(format!("/dev/shm/raidloom-attach-{}", std::process::id()));
        let said = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(said)?;
        let (file, image) = (folder.join("drive"), folder.join("image"));
        File::create(&file).map_err(said)?;
        let mut command = match side {
            Side::Raidloom => {
                let target = match backing {
                    Backing::Memory => format!("ram:{SIZE_BYTES}"),
                    Backing::Nothing => format!("null:{SIZE_BYTES}"),
                };
                let mut command = bench.program("probe");
                command.args(["attach", &target]).arg(&file);
                command
            }
            Side::Qemu => {
                let node = match backing {
                    Backing::Memory => {
                        File::create(&image)
                            .and_then(|image| image.set_len(SIZE_BYTES))
                            .map_err(said)?;
                        format!(
                            "driver=file,node-name=drive,aio=io_uring,cache.direct=on,filename={}",
                            image.display()
                        )
                    }
                    Backing::Nothing => {
                        format!("driver=null-co,node-name=drive,size={SIZE_BYTES},read-zeroes=off")
                    }
                };
                let export = format!(
                    "type=fuse,id=export,node-name=drive,writable=on,mountpoint={}",
                    file.display()
                );
                let mut command = Command::new("qemu-storage-daemon");
                command.args(["--blockdev", &node, "--export", &export]);
                command
            }
        };
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let process = process
            .map_err(|error| format!("{:?} cannot be started: {error}", command.get_program()))?;
        let mut served = Served { process, file, block_device: None, folder };
        served.wait(side)?;
        if with_loop {
            let mut losetup = Command::new("losetup");
            losetup.args(["--find", "--show", "--direct-io=on"]).arg(&served.file);
            served.block_device = Some(PathBuf::from(child::succeed(&mut losetup)?.output.trim()));
        }
        if let Backing::Memory = backing {
            served.fill()?;
        }
        Ok(served)
    }

    /// Until the file is what is served.
    fn wait(&mut self, side: Side) -> Result<(), String> {
        if side == Side::Raidloom {
            let mut line = String::new();
            let output = self.process.stdout.take().expect("it was piped");
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
            return if line.trim() == "ready" {
                Ok(())
            } else {
                Err(format!("the probe said {line:?} instead of being ready"))
            };
        }
        // It says nothing; the placeholder is empty and what is served is not.
        let end = Instant::now() + PATIENCE;
        while fs::metadata(&self.file)
            .map_err(|error| format!("{}: {error}", self.file.display()))?
            .len()
            != SIZE_BYTES
        {
            if Instant::now() > end || self.process.try_wait().is_ok_and(|status| status.is_some())
            {
                return Err("qemu-storage-daemon serves nothing".to_owned());
            }
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Writes all of it once: memory that was never written need not be copied when it is read.
    fn fill(&self) -> Result<(), String> {
        child::succeed(fio(self.used()).args(["--rw=write", "--bs=1m", "--iodepth=4"])).map(drop)
    }

    /// Processor time of the server and all its threads until now, in seconds.
    fn cpu_seconds(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.process.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        cpu_ticks(&text)
            .map(|ticks| ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
            .ok_or_else(|| format!("{path}: {text}"))
    }

    fn used(&self) -> &Path {
        self.block_device.as_deref().unwrap_or(&self.file)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Whatever of this fails, there is no one to be told and something else to be taken away
        // still.
        if let Some(device) = &self.block_device {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
        let _ = Command::new("umount").arg(&self.file).stderr(Stdio::null()).status();
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// User and system time from a line of `/proc/PID/stat`, in clock ticks.
fn cpu_ticks(text: &str) -> Option<u64> {
    // The program's name is in brackets and may hold blanks. Behind it, user and system time are
    // the 12th and 13th.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// What one side did in one round.
struct RoundFigures {
    operations_per_second: f64,
    cpu_us: f64,
}

/// fio on a drive, without a load yet.
fn fio(path: &Path) -> Command {
    let mut fio = Command::new("fio");
    fio.args([
        "--name=bench",
        "--ioengine=io_uring",
        "--direct=1",
        "--norandommap=1",
        "--invalidate=0",
        "--allow_file_create=0",
    ]);
    fio.args(["--eta=never", "--output-format=json", "--randseed=1"]);
    fio.args([format!("--filename={}", path.display()), format!("--size={SIZE_BYTES}")]);
    fio
}

fn run(served: &Served, load: &Load, seconds: u32) -> Result<RoundFigures, String> {
    let mut fio = fio(served.used());
    fio.args([
        format!("--rw={}", load.pattern),
        format!("--bs={}", load.request_bytes),
        format!("--iodepth={}", load.depth),
    ]);
    fio.args(["--time_based".to_owned(), format!("--runtime={seconds}")]);
    let before = served.cpu_seconds()?;
    let finished = child::succeed(&mut fio)?;
    let cpu_seconds = served.cpu_seconds()? - before;
    let json: serde_json::Value =
        serde_json::from_str(&finished.output).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = &json["jobs"][0];
    let moved = &job[if load.pattern.ends_with("read") { "read" } else { "write" }];
    match (job["error"].as_i64(), moved["total_ios"].as_f64(), moved["runtime"].as_f64()) {
        (Some(0), Some(operations), Some(milliseconds))
            if operations > 0.0 && milliseconds > 0.0 =>
        {
            Ok(RoundFigures {
                operations_per_second: operations * 1000.0 / milliseconds,
                cpu_us: cpu_seconds * 1e6 / operations,
            })
        }
        _ => Err(format!("fio did not measure {}: {}", load.name, finished.output)),
    }
}

/// Measures every load over every backing, as a file and as a block device.
///
/// # Errors
/// When a server or fio fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let mut rows = Vec::new();
    for (place, backing, with_loop) in [
        ("file", Backing::Memory, false),
        ("loop device", Backing::Memory, true),
        ("file of nothing", Backing::Nothing, false),
    ] {
        // What carries no data is only asked how fast requests come and go.
        let loads = LOADS
            .iter()
            .filter(|load| !matches!(backing, Backing::Nothing) || load.request_bytes == 4096);
        for load in loads {
            eprintln!("   {place}: {}", load.name);
            let side = |side| {
                run(&Served::start(bench, side, backing, with_loop)?, load, bench.effort.seconds)
            };
            let (ours, other) = bench.rounds(|| side(Side::Raidloom), || side(Side::Qemu))?;
            let each = |done: &[RoundFigures], number: fn(&RoundFigures) -> f64| {
                done.iter().map(number).collect::<Vec<f64>>()
            };
            let load = format!("{place}: {}", load.name);
            rows.push(Row {
                load: load.clone(),
                measure: "io/s",
                ours: each(&ours, |done| done.operations_per_second),
                other: Some(each(&other, |done| done.operations_per_second)),
                aim: Aim::AtLeast(1.2),
            });
            rows.push(Row {
                load,
                measure: "processor µs/io",
                ours: each(&ours, |done| done.cpu_us),
                other: Some(each(&other, |done| done.cpu_us)),
                aim: Aim::AtMost(1.0),
            });
        }
    }
    let how = format!(
        "A drive of {} MiB is served as a file through FUSE, and as a loop device with direct I/O \
        over that file; fio uses it for {} s a round with \
        `ioengine=io_uring` and `direct=1`. A server is started anew for each round. All of it is \
        written once before. Each side serves memory in its own way: raidloom `ram:`, \
        qemu-storage-daemon a file on tmpfs (`aio=io_uring`, `cache.direct=on`), for it has no \
        memory of its own. The rows `file of nothing` leave \
        that out: `null:` against `null-co`, so that only the serving is compared. Processor time \
        is the server's, all its threads included; what the \
        kernel does on fio's own time is not in it.",
        SIZE_BYTES >> 20,
        bench.effort.seconds
    );
    Ok(Section {
        title: "Attached drives against qemu-storage-daemon",
        how,
        measured: None,
        sides: ("raidloom", "qemu-storage-daemon"),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_the_name_of_the_program() {
        let line = "42 (a ) b) S 1 42 42 0 -1 4194304 100 0 0 0 250 31 0 0 20 0 3 0 100 1000 10";
        assert_eq!(cpu_ticks(line), Some(281));
        assert_eq!(cpu_ticks("42 (x) S 1"), None);
        let own = fs::read_to_string("/proc/self/stat").expect("Linux");
        assert!(cpu_ticks(&own).is_some());
    }
}
