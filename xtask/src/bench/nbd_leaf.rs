//! The leaf `nbd:` against fio's nbd engine and nbdcopy: one server, the same requests, one client
//! after the other, several times; and RAID 0 over several servers against one of them.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::fio::RoundFigures;
use super::nbd::{NbdFolder, Running, fio_at, read, serving};
use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// Size of an export, in bytes.
const BYTES: u64 = 1 << 30;
/// What nbdcopy asks for at a time, and how much of it on each connection, by its manual.
const COPY_BYTES: u64 = 256 << 10;
const COPY_DEPTH: u64 = 64;
/// What a slow export moves in a second, in bytes: a disk's worth, far below what the processors
/// move.
const SLOW_BYTES: u64 = 50_000_000;
const EXPORTS: usize = 4;

/// A load for both clients.
struct Load {
    /// As the probe has it, and as fio has it.
    pattern: (&'static str, &'static str),
    bytes: u32,
    depth: u32,
}

const LOADS: &[Load] = &[
    Load { pattern: ("random-read", "randread"), bytes: 4096, depth: 1 },
    Load { pattern: ("random-read", "randread"), bytes: 4096, depth: 32 },
    Load { pattern: ("random-write", "randwrite"), bytes: 4096, depth: 32 },
    Load { pattern: ("random-read", "randread"), bytes: 128 << 10, depth: 32 },
    Load { pattern: ("sequential-write", "write"), bytes: 128 << 10, depth: 32 },
];

/// Measures the leaf beside both, and arrays over it.
///
/// # Errors
/// When a server or a client cannot be started, or a request fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let place = NbdFolder::empty()?;
    let mut rows = Vec::new();
    {
        let (_server, uri) = filled(&place)?;
        for load in LOADS {
            rows.push(beside_fio(bench, &uri, load)?);
        }
        for connections in [1, 4] {
            rows.push(beside_nbdcopy(bench, &uri, connections)?);
        }
    }
    rows.extend(over_several(bench, &place)?);
    let how = format!(
        "Both clients read from or write to one nbdkit (`memory`, {} MiB, all of it written \
        beforehand) over a Unix socket: the leaf \
        `nbd+unix:` under raidloom's load generator, and fio's nbd engine, with one connection for \
        {} s a round; nbdcopy copies all of it to `null:` with its own request size and depth \
        (256 KiB, 64 for each connection, `--no-extents`), and the leaf reads it in the same \
        requests, timed from the start of the program to its end. Client and server share two \
        processors. Arrays: `raid0` over the leaves of {EXPORTS} nbdkit (`memory`, nothing written), read in requests of \
        1 MiB, 8 outstanding, beside one of them read in the same way: each held to \
        {} MB/s by nbdkit's `rate` filter, which stands for a host with one disk, and as fast as \
        it goes, where these two processors are the link and end what striping could gain.",
        BYTES >> 20,
        bench.effort.seconds,
        SLOW_BYTES / 1_000_000
    );
    Ok(Section {
        title: "Leaf over NBD against fio and nbdcopy",
        how,
        measured: None,
        sides: ("raidloom", "the other"),
        rows,
    })
}

fn nbdkit(place: &NbdFolder, name: &str, arguments: &[&str]) -> Result<(Running, String), String> {
    let socket = place.socket_of(name);
    let mut command = Command::new("nbdkit");
    command.args(["--foreground", "--unix"]).arg(&socket).args(arguments);
    Ok((serving(command, socket.clone())?, uri_of(&socket)))
}

fn uri_of(socket: &Path) -> String {
    format!("nbd+unix:///?socket={}", socket.display())
}

/// A server that holds data everywhere.
fn filled(place: &NbdFolder) -> Result<(Running, String), String> {
    let (server, uri) = nbdkit(place, "nbd", &["memory", &BYTES.to_string(), "allocator=malloc"])?;
    child::succeed(fio_at(&uri).args([
        "--rw=write",
        "--bs=1M",
        "--iodepth=4",
        &format!("--size={BYTES}"),
    ]))?;
    Ok((server, uri))
}

fn rates(done: &[RoundFigures]) -> Vec<f64> {
    done.iter().map(RoundFigures::rate).collect()
}

fn beside_fio(bench: &Bench, uri: &str, load: &Load) -> Result<Row, String> {
    let (ours, theirs) = load.pattern;
    let name = format!("{} {} KiB, depth {}", ours.replace('-', " "), load.bytes >> 10, load.depth);
    eprintln!("   fio: {name}");
    let (ours, theirs) = bench.rounds(
        || {
            bench.probe(&[
                uri.to_owned(),
                ours.to_owned(),
                format!("--bytes={}", load.bytes),
                format!("--depth={}", load.depth),
                format!("--seconds={}", bench.effort.seconds),
            ])
        },
        || {
            let mut fio = fio_at(uri);
            fio.args(["--norandommap", "--randseed=1", "--time_based"]).args([
                format!("--rw={theirs}"),
                format!("--bs={}", load.bytes),
                format!("--iodepth={}", load.depth),
                format!("--size={BYTES}"),
                format!("--runtime={}", bench.effort.seconds),
            ]);
            read(&mut fio)
        },
    )?;
    Ok(Row {
        load: format!("fio: {name}"),
        measure: "io/s",
        ours: rates(&ours),
        other: Some(rates(&theirs)),
        aim: Aim::AtLeast(0.9),
    })
}

fn beside_nbdcopy(bench: &Bench, uri: &str, connections: u64) -> Result<Row, String> {
    let name = if connections == 1 {
        "one connection".to_owned()
    } else {
        format!("{connections} connections")
    };
    eprintln!("   nbdcopy: {name}");
    let timed = |command: &mut Command| {
        let start = Instant::now();
        child::succeed(command)?;
        Ok(BYTES as f64 / 1e6 / start.elapsed().as_secs_f64())
    };
    let (ours, theirs) = bench.rounds(
        || {
            timed(bench.program("probe").args([
                format!("{uri}&connections={connections}"),
                "sequential-read".to_owned(),
                format!("--bytes={COPY_BYTES}"),
                format!("--depth={}", COPY_DEPTH * connections),
                format!("--requests={}", BYTES / COPY_BYTES),
            ]))
        },
        || {
            timed(Command::new("nbdcopy").args([
                "--no-extents",
                &format!("--connections={connections}"),
                &format!("--threads={connections}"),
                &format!("--requests={COPY_DEPTH}"),
                uri,
                "null:",
            ]))
        },
    )?;
    Ok(Row {
        load: format!("nbdcopy: all of it, {name}"),
        measure: "MB/s",
        ours,
        other: Some(theirs),
        aim: Aim::AtLeast(0.9),
    })
}

/// RAID 0 over servers, beside one of them.
fn over_several(bench: &Bench, place: &NbdFolder) -> Result<Vec<Row>, String> {
    let slow = format!("rate={}", SLOW_BYTES * 8);
    let size = BYTES.to_string();
    let memory = ["memory", &size];
    // Without the burst that the filter allows at the beginning.
    let slow = [&["--filter=rate"][..], &memory, &[&slow, "burstiness=0.1"]].concat();
    let kinds: [(&str, &[&str], f64); 2] =
        [("50 MB/s each", &slow, EXPORTS as f64 * 0.9), ("as fast as they go", &memory, 1.0)];
    let mut rows = Vec::new();
    for (name, arguments, aim) in kinds {
        eprintln!("   raid0: {name}");
        let servers = (0..EXPORTS)
            .map(|number| nbdkit(place, &format!("nbd{number}"), arguments))
            .collect::<Result<Vec<_>, _>>()?;
        let uris: Vec<&str> = servers.iter().map(|(_, uri)| uri.as_str()).collect();
        let read = |target: String| {
            bench.probe(&[
                target,
                "sequential-read".to_owned(),
                format!("--bytes={}", 1 << 20),
                "--depth=8".to_owned(),
                format!("--seconds={}", bench.effort.seconds),
            ])
        };
        let (several, one) = bench.rounds(
            || read(format!("raid0(chunk=64KiB, metadata=none, {})", uris.join(", "))),
            || read(uris[0].to_owned()),
        )?;
        let megabytes = |done: &[RoundFigures]| {
            done.iter().map(|done| done.rate() * f64::from(1 << 20) / 1e6).collect()
        };
        rows.push(Row {
            load: format!("exports, {name}: raid0 over {EXPORTS} / one"),
            measure: "MB/s",
            ours: megabytes(&several),
            other: Some(megabytes(&one)),
            aim: Aim::AtLeast(aim),
        });
    }
    Ok(rows)
}
