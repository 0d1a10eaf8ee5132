//! How what serves grows: an NBD server with its connections, and the page of `raidloom ui` with
//! the arrays that it shows.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::series::{Series, empty_folder};
use crate::bench::nbd::{NbdFolder, null_server, processor_seconds};
use crate::bench::table::Aim;
use crate::bench::{Bench, child};

/// How long a page is watched.
const WATCHED_SECONDS: u32 = 10;
/// As many as one leaf may have.
const LEAF_CONNECTIONS: u32 = 16;

/// One request on its way on each connection, up to as many as a server takes.
///
/// # Errors
/// When server or client cannot be started or fail.
pub(super) fn connections(bench: &Bench) -> Result<[Series; 2], String> {
    let place = NbdFolder::empty()?;
    let (mut work, mut memory) = (Vec::new(), Vec::new());
    for count in [1, 4, 16, 64, 256] {
        let (mut microseconds, mut megabytes) = (Vec::new(), Vec::new());
        for _ in 0..bench.effort.rounds {
            let server = null_server(bench, &place)?;
            let before = processor_seconds(server.id())?;
            read(bench, &place.uri(), count)?;
            let used = processor_seconds(server.id())? - before;
            microseconds.push(used * 1e6 / f64::from(REQUESTS));
            megabytes.push(peak_megabytes(server.id())?);
        }
        work.push((count, microseconds));
        memory.push((count, megabytes));
    }
    let of = |measure, exponent, most, points| Series {
        load: "NBD server, random read 4 KiB".to_owned(),
        of: "connections",
        measure,
        exponent,
        aim: Aim::AtMost(most),
        points,
    };
    Ok([
        of(
            "server's processor µs a request",
            "exponent of processor time a request in connections",
            50.0,
            work,
        ),
        of("MB at most at once", "exponent of memory in connections", 400.0, memory),
    ])
}

/// Reads over so many connections, one request on its way on each: a client has no more than
/// [`LEAF_CONNECTIONS`], so that many connections are many clients.
fn read(bench: &Bench, uri: &str, count: u32) -> Result<(), String> {
    let each = LEAF_CONNECTIONS.min(count);
    let clients = count / each;
    let client = || {
        let mut client = bench.program("probe");
        client.arg(format!("{uri}&connections={each}")).args(["random-read", "--bytes=4096"]);
        client.args([format!("--depth={each}"), format!("--requests={}", REQUESTS / clients)]);
        child::succeed(&mut client).map(|_| ())
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        started.into_iter().try_for_each(|one| one.join().expect("a client does not panic"))
    })
}

/// Enough for the clock of processes, which counts in hundredths of a second.
const REQUESTS: u32 = 200_000;

fn peak_megabytes(process: u32) -> Result<f64, String> {
    let path = format!("/proc/{process}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: f64 = kibibytes
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| format!("{path}: no VmHWM"))?;
    Ok(kibibytes * 1024.0 / 1e6)
}

/// A program that is ended when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `raidloom ui` works while one page watches so many arrays.
///
/// # Errors
/// When an array, the page or its reader cannot be started.
pub(super) fn page(bench: &Bench) -> Result<Series, String> {
    let folder = empty_folder(bench, "page")?;
    let (mut points, mut started) = (Vec::new(), 0);
    let raidloom = || {
        let mut command = bench.program("raidloom");
        command.env("RAIDLOOM_RUNTIME_DIR", folder.join("state")).arg("--quiet");
        command
    };
    let mut watch = || {
        for count in [1, 10, 50, 200] {
            while started < count {
                let mut start = raidloom();
                start.args(["array", "start", "ram:1MiB", "--nbd", "unix", "--name"]);
                child::succeed(start.arg(format!("array{started}")))?;
                started += 1;
            }
            let rounds = (0..bench.effort.rounds).map(|_| watched(raidloom(), &folder));
            points.push((count, rounds.collect::<Result<_, String>>()?));
        }
        Ok::<(), String>(())
    };
    let watched = watch();
    for number in 0..started {
        child::succeed(raidloom().args(["array", "stop", &format!("array{number}")]))?;
    }
    watched?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(Series {
        load: "`raidloom ui`, one page open".to_owned(),
        of: "arrays",
        measure: "ms of processor time a second",
        exponent: "exponent of processor time in arrays",
        aim: Aim::AtMost(100.0),
        points,
    })
}

/// Milliseconds of processor time in a second of watching.
fn watched(mut raidloom: Command, folder: &Path) -> Result<f64, String> {
    raidloom.args(["ui", "--runs"]).arg(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    let started = raidloom.spawn().map_err(|error| format!("raidloom ui: {error}"))?;
    let mut program = Ended(started);
    let mut address = String::new();
    let output = program.0.stdout.take().expect("it was piped");
    BufReader::new(output)
        .read_line(&mut address)
        .map_err(|error| format!("raidloom ui: {error}"))?;
    let events = address.trim().replace("/?", "/api/events?");
    let before = processor_seconds(program.0.id())?;
    let mut reader = Command::new("curl");
    reader.args(["--silent", "--no-buffer", "--output", "/dev/null", &events]);
    let reading = Ended(reader.spawn().map_err(|error| format!("curl: {error}"))?);
    std::thread::park_timeout(Duration::from_secs(WATCHED_SECONDS.into()));
    let used = processor_seconds(program.0.id())? - before;
    drop(reading);
    Ok((used * 1000.0 / f64::from(WATCHED_SECONDS)).max(1.0))
}
