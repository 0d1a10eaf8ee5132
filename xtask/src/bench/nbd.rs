//! The NBD server against qemu's and nbdkit: the same client, the same requests, one after the
//! other, several times.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use super::child;
use super::fio::{RoundFigures, read_json};
use super::table::{Aim, Row, Section};

/// Size of a drive of nothing, and of one of memory, in bytes.
const NULL_BYTES: u64 = 1 << 30;
const MEMORY_BYTES: u64 = 256 << 20;
const DEPTH: u32 = 32;
/// How long a server may take to begin.
const START_TIME: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backing {
    Null,
    Memory,
    /// A file in memory, which is the nearest that qemu has to memory itself.
    File,
    /// The same behind a cache in memory that holds all of it.
    Cached,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Raidloom,
    Qemu,
    Nbdkit,
}

/// One side of a comparison, and what ours shall be of it.
struct Rival {
    backing: Backing,
    program: Program,
    aim: f64,
}

const RIVALS: &[Rival] = &[
    Rival { backing: Backing::Null, program: Program::Qemu, aim: 1.2 },
    Rival { backing: Backing::Null, program: Program::Nbdkit, aim: 1.3 },
    Rival { backing: Backing::File, program: Program::Qemu, aim: 1.2 },
    Rival { backing: Backing::Memory, program: Program::Nbdkit, aim: 1.3 },
];

/// What is asked of a server.
#[derive(Clone, Copy)]
struct Load {
    request_bytes: u32,
    connections: u32,
}

impl Load {
    fn name(self) -> String {
        let connections = if self.connections == 1 {
            "one connection".to_owned()
        } else {
            format!("{} connections", self.connections)
        };
        format!("random read {} KiB, {connections}", self.request_bytes >> 10)
    }
}

const LOADS: &[Load] = &[
    Load { request_bytes: 4096, connections: 1 },
    Load { request_bytes: 4096, connections: 4 },
    Load { request_bytes: 128 << 10, connections: 1 },
    Load { request_bytes: 128 << 10, connections: 4 },
];

/// Measures all loads on all servers.
///
/// # Errors
/// When a server or fio cannot be started, or a request fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let place = NbdFolder::new()?;
    let mut rows = Vec::new();
    for rival in RIVALS {
        for load in LOADS {
            eprintln!("   {}: {}", title(rival), load.name());
            let (ours, theirs) = bench.rounds(
                || measure(bench, &place, Program::Raidloom, rival.backing, *load),
                || measure(bench, &place, rival.program, rival.backing, *load),
            )?;
            rows.extend(rows_of(rival, *load, &ours, &theirs));
        }
    }
    let how = format!(
        "fio's nbd engine reads from each server over a Unix socket, {DEPTH} requests outstanding \
        on each connection and a process for each, for {} s a \
        round. `null` answers with zeroes and `memory` holds {} MiB, written through the server \
        beforehand. They stand for `null:` and `ram:` here, \
        `null-co` of `qemu-storage-daemon` (as it is by default, without `read-zeroes`, for with \
        it no data go over the socket at all), and nbdkit's \
        plugins `null` and `memory allocator=malloc`. qemu has no drive in memory: there both \
        serve one file on tmpfs (`file:` here, \
        `driver=file,aio=io_uring` there). Everything else is as each has it by default. Processor \
        time is the server's alone, kernel included; client and server \
        share the machine's processors, so that a client that is the slower half hides a part of \
        the difference in requests, and none of it there.",
        bench.effort.seconds,
        MEMORY_BYTES >> 20
    );
    Ok(Section {
        title: "NBD server against qemu-storage-daemon and nbdkit",
        how,
        measured: None,
        sides: ("raidloom", "the other"),
        rows,
    })
}

/// Hits in a cache in memory, against those in nbdkit's, where both hold all of one file on tmpfs,
/// and so does what they keep it in; and against bare memory through the same export.
///
/// # Errors
/// As [`compare`].
pub(super) fn cached(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = NbdFolder::new()?;
    let rival = Rival { backing: Backing::Cached, program: Program::Nbdkit, aim: 2.0 };
    let mut rows = Vec::new();
    for load in LOADS.iter().filter(|load| load.request_bytes == 4096) {
        eprintln!("   hits over NBD, {}", load.name());
        let side = |program| measure(bench, &place, program, rival.backing, *load);
        let (ours, theirs) = bench.rounds(|| side(Program::Raidloom), || side(rival.program))?;
        rows.extend(rows_of(&rival, *load, &ours, &theirs));
        let ours = |backing| measure(bench, &place, Program::Raidloom, backing, *load);
        let (cached, bare) = bench.rounds(|| ours(Backing::Cached), || ours(Backing::Memory))?;
        let rates =
            |done: &[RoundFigures]| done.iter().map(RoundFigures::rate).collect::<Vec<f64>>();
        rows.push(Row {
            load: format!("over NBD, {}: all hits in memory / bare `ram:`", load.name()),
            measure: "io/s",
            ours: rates(&cached),
            other: Some(rates(&bare)),
            aim: Aim::AtLeast(0.8),
        });
    }
    Ok(rows)
}

fn title(rival: &Rival) -> String {
    let program = match rival.program {
        Program::Raidloom => "raidloom",
        Program::Qemu => "qemu-storage-daemon",
        Program::Nbdkit => "nbdkit",
    };
    let backing = match rival.backing {
        Backing::Null => "null",
        Backing::Memory => "memory",
        Backing::File => "tmpfs",
        Backing::Cached => "cache filter, hits",
    };
    format!("{program}, {backing}")
}

fn rows_of(rival: &Rival, load: Load, ours: &[RoundFigures], theirs: &[RoundFigures]) -> [Row; 2] {
    let each = |done: &[RoundFigures], number: fn(&RoundFigures) -> f64| {
        done.iter().map(number).collect::<Vec<f64>>()
    };
    let row = |measure, number, aim| Row {
        load: format!("{}: {}", title(rival), load.name()),
        measure,
        ours: each(ours, number),
        other: Some(each(theirs, number)),
        aim,
    };
    [
        row("io/s", RoundFigures::rate, Aim::AtLeast(rival.aim)),
        row(
            "server's processor µs/io",
            |done| done.cpu_seconds * 1e6 / done.operations,
            Aim::AtMost(1.0),
        ),
    ]
}

/// Where the socket and the file on tmpfs lie; gone with everything in it afterwards.
pub(super) struct NbdFolder {
    folder: PathBuf,
}

impl NbdFolder {
    /// With nothing in it.
    pub(super) fn empty() -> Result<NbdFolder, String> {
        let folder = PathBuf::from(format!("/dev/shm/raidloom-bench-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(NbdFolder { folder })
    }

    /// With a file of random bytes.
    fn new() -> Result<NbdFolder, String> {
        let place = NbdFolder::empty()?;
        let mut random = fastrand::Rng::with_seed(1);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u64(..).to_ne_bytes())
            .take(MEMORY_BYTES as usize / 8)
            .flatten()
            .collect();
        fs::write(place.file(), bytes)
            .map_err(|error| format!("{}: {error}", place.file().display()))?;
        Ok(place)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("file.img")
    }

    fn socket(&self) -> PathBuf {
        self.socket_of("nbd")
    }

    /// The socket of one of several servers.
    pub(super) fn socket_of(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{server}.sock"))
    }

    pub(super) fn uri(&self) -> String {
        format!("nbd+unix:///bench?socket={}", self.socket().display())
    }
}

impl Drop for NbdFolder {
    fn drop(&mut self) {
        // It is memory, and an error here would hide the one that led here.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A server that runs, ended when this is dropped.
pub(super) struct Running {
    child: Child,
    socket: PathBuf,
}

impl Running {
    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; nothing it holds outlives it but its socket.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

fn command(bench: &Bench, place: &NbdFolder, program: Program, backing: Backing) -> Command {
    let (socket, file) = (place.socket().display().to_string(), place.file().display().to_string());
    match program {
        Program::Raidloom => {
            let target = match backing {
                Backing::Null => format!("null:{NULL_BYTES}"),
                Backing::Memory => format!("ram:{MEMORY_BYTES}"),
                Backing::File => format!("file:\"{file}\""),
                Backing::Cached => {
                    format!("cache(mode=read-only, ram:{MEMORY_BYTES}, file:\"{file}\")")
                }
            };
            let mut command = bench.program("probe");
            command.args(["serve", &target, &socket]);
            command
        }
        Program::Qemu => {
            let node = match backing {
                Backing::Null => {
                    format!("driver=null-co,node-name=node,size={NULL_BYTES},read-zeroes=off")
                }
                Backing::Memory | Backing::File | Backing::Cached => {
                    format!("driver=file,node-name=node,filename={file},aio=io_uring")
                }
            };
            let mut command = Command::new("qemu-storage-daemon");
            command.args(["--blockdev", &node]);
            command.args([
                "--nbd-server",
                &format!("addr.type=unix,addr.path={socket},max-connections=0"),
            ]);
            command.args(["--export", "type=nbd,id=export,node-name=node,name=bench,writable=off"]);
            command
        }
        Program::Nbdkit => {
            let mut command = Command::new("nbdkit");
            command.args(["--foreground", "--unix", &socket]);
            match backing {
                Backing::Null => command.args(["null", &NULL_BYTES.to_string()]),
                // What it has read it keeps only if it is told to, in a file that it makes under
                // TMPDIR.
                Backing::Cached => command.env("TMPDIR", &place.folder).args([
                    "--filter=cache",
                    "file",
                    &file,
                    "cache-on-read=true",
                ]),
                Backing::Memory | Backing::File => {
                    command.args(["memory", &MEMORY_BYTES.to_string(), "allocator=malloc"])
                }
            };
            command
        }
    }
}

/// Our server of a drive of nothing.
///
/// # Errors
/// When it cannot be started.
pub(super) fn null_server(bench: &Bench, place: &NbdFolder) -> Result<Running, String> {
    start(bench, place, Program::Raidloom, Backing::Null)
}

/// Starts a server and waits until it takes connections.
fn start(
    bench: &Bench,
    place: &NbdFolder,
    program: Program,
    backing: Backing,
) -> Result<Running, String> {
    let command = command(bench, place, program, backing);
    if program != Program::Raidloom {
        return serving(command, place.socket());
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut running = spawn(command, place.socket())?;
    let mut line = String::new();
    let output = running.child.stdout.take().expect("it was piped");
    BufReader::new(output).read_line(&mut line).map_err(|error| format!("{name}: {error}"))?;
    if line.trim() == "ready" {
        Ok(running)
    } else {
        Err(format!("{name} said {line:?} instead of \"ready\""))
    }
}

fn spawn(mut command: Command, socket: PathBuf) -> Result<Running, String> {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let name = command.get_program().to_string_lossy();
    let child = child.map_err(|error| format!("{name} cannot be started: {error}"))?;
    Ok(Running { child, socket })
}

/// Starts a server of somebody else's and waits until it takes connections at this socket.
///
/// # Errors
/// When it cannot be started, ends, or takes none for long.
pub(super) fn serving(command: Command, socket: PathBuf) -> Result<Running, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut running = spawn(command, socket)?;
    let start = Instant::now();
    while UnixStream::connect(&running.socket).is_err() {
        if let Ok(Some(status)) = running.child.try_wait() {
            return Err(format!("{name} ended before it served: {status}"));
        }
        if start.elapsed() > START_TIME {
            return Err(format!("{name} does not serve after {} s", START_TIME.as_secs()));
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok(running)
}

/// Runs one load on a server of its own. The processor time is the server's, while the load runs.
fn measure(
    bench: &Bench,
    place: &NbdFolder,
    program: Program,
    backing: Backing,
    load: Load,
) -> Result<RoundFigures, String> {
    let running = start(bench, place, program, backing)?;
    if backing == Backing::Memory {
        child::succeed(fio(place).args([
            "--rw=write",
            "--bs=1M",
            "--iodepth=4",
            &format!("--size={MEMORY_BYTES}"),
        ]))?;
    }
    if backing == Backing::Cached {
        child::succeed(fio(place).args([
            "--rw=read",
            "--bs=1M",
            "--iodepth=4",
            &format!("--size={MEMORY_BYTES}"),
        ]))?;
    }
    let mut fio = fio(place);
    fio.args([
        "--rw=randread",
        "--norandommap",
        "--randseed=1",
        "--time_based",
        "--group_reporting",
    ]);
    fio.arg(format!("--runtime={}", bench.effort.seconds));
    fio.args([
        format!("--bs={}", load.request_bytes),
        format!("--iodepth={DEPTH}"),
        format!("--numjobs={}", load.connections),
    ]);
    let before = processor_seconds(running.child.id())?;
    let done = read(&mut fio)?;
    let cpu_seconds = processor_seconds(running.child.id())? - before;
    Ok(RoundFigures { cpu_seconds, ..done })
}

fn fio(place: &NbdFolder) -> Command {
    fio_at(&place.uri())
}

/// fio's client, for an export.
pub(super) fn fio_at(uri: &str) -> Command {
    let mut fio = Command::new("fio");
    fio.args(["--name=bench", "--ioengine=nbd", "--eta=never", "--output-format=json"]);
    fio.arg(format!("--uri={uri}"));
    fio
}

/// Runs fio's client. The processor time is its own.
///
/// # Errors
/// When it fails, or prints no report.
pub(super) fn read(fio: &mut Command) -> Result<RoundFigures, String> {
    let finished = child::succeed(fio)?;
    // The engine says first that it is connected.
    let report = &finished.output[finished.output.find('{').unwrap_or(0)..];
    let (operations, seconds) = read_json(report)?;
    Ok(RoundFigures { operations, seconds, cpu_seconds: finished.cpu_seconds })
}

/// Processor time that a process has used, all of its threads and the kernel's work for them.
pub(super) fn processor_seconds(process: u32) -> Result<f64, String> {
    let path = PathBuf::from(format!("/proc/{process}/stat"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let ticks =
        ticks(&text).ok_or_else(|| format!("{}: not as proc(5) describes it", path.display()))?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// User and system time of a line of `/proc/PID/stat`: the 14th and 15th field; the second is a
/// name in parentheses.
fn ticks(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 3 4 20 0 1 0 5 1000 10";
        assert_eq!(ticks(line), Some(400));
        assert_eq!(ticks("7 (a) S 1"), None);
        let own = processor_seconds(std::process::id()).expect("this process");
        assert!((0.0..1e6).contains(&own), "{own}");
    }

    #[test]
    fn a_place_is_gone_afterwards() {
        let place = NbdFolder {
            folder: std::env::temp_dir().join(format!("raidloom-nbd-{}", std::process::id())),
        };
        fs::create_dir(&place.folder).expect("a folder");
        fs::write(place.file(), "x").expect("a file");
        assert!(
            place.uri().starts_with("nbd+unix:///bench?socket=/")
                && place.uri().ends_with("nbd.sock")
        );
        let folder = place.folder.clone();
        drop(place);
        assert!(!folder.exists());
    }
}
