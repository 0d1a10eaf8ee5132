//! `raidloom bench crystal`: rows direct and buffered side by side, what the cache does, and the
//! original's text.

use std::path::Path;

use bench::format::crystal::{Heading, Line};
use bench::format::{self, fio};
use bench::suite::crystal::{self, Job, Options, Row as Access, SUITE, Way, options};
use bench::suite::{Measured, Row};
use block::Clock;
use clap::Args;
use host::system;
use results::Doubt;
use results::statistics::{self, Median};
use serde_json::json;

use super::arguments::TargetArguments;
use super::flags::{Crystal, Said, SuiteFlags};
use super::run::{self, Finished};
use super::show;
use crate::failure::Failure;
use crate::output::{Output, figure, table};

/// `bench crystal`.
#[derive(Args, Debug)]
pub(crate) struct CrystalArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Crystal>,

    /// text; crystal: the original's text, of version 3 or 8 as the profile; fio-json: as fio
    /// writes it
    #[arg(long, default_value = "text", value_parser = ["text", "crystal", "fio-json"],
        value_name = "FORMAT")]
    pub format: String,

    /// Print the command with which fio would run each row, and run nothing
    #[arg(long)]
    pub show_fio: bool,
}

/// Runs crystal on one target.
pub(crate) fn crystal(output: &Output, arguments: &CrystalArguments) -> Result<(), Failure> {
    let said = Said::new(output, &arguments.flags)?;
    let settings = said.on(Clock::Wall)?;
    if arguments.show_fio {
        let options = options(&settings).map_err(Failure::usage)?;
        return show_fio(output, &options, settings.text("access"), arguments);
    }
    // What contradicts is said before anything is touched.
    options(&settings).map_err(Failure::usage)?;
    let mut finished = run::run(output, &said, &arguments.target)?;
    let options = options(&finished.settings).map_err(Failure::usage)?;
    if output.json {
        finished.heading["summary"] = summary(&finished.rows, &options);
    }
    match arguments.format.as_str() {
        _ if output.json => show::finish(output, finished, |_| String::new()),
        "crystal" => print(output, finished, |rows| {
            format::crystal::text(&options, &lines(rows, &options), &heading(arguments))
        }),
        "fio-json" => {
            let (path, _) = file(&arguments.target.target);
            let job = |phase: &str| job(phase, &options, &path);
            print(output, finished, |rows| {
                let document =
                    fio::write(concat!("raidloom-", env!("CARGO_PKG_VERSION")), rows, job);
                serde_json::to_string_pretty(&document).unwrap_or_default()
            })
        }
        _ => {
            let target = arguments.target.target.clone();
            show::finish(output, finished, |rows| text(rows, &options, &target))
        }
    }
}

/// A format of the original is nothing but itself on standard output; flags and durable rates go
/// beside it.
fn print(
    output: &Output,
    finished: Finished,
    text: impl FnOnce(&[Row]) -> String,
) -> Result<(), Failure> {
    show::beside(output, &finished, &SUITE.default_phases());
    let Finished { rows, failure, .. } = finished;
    if rows.iter().any(|row| row.measured().is_some()) {
        output.result(&text(&rows))?;
    }
    failure.map_or(Ok(()), Err)
}

/// The file that fio would use, and whether it has to be made first.
fn file(target: &str) -> (std::path::PathBuf, bool) {
    let path = Path::new(target);
    if path.is_dir() { (path.join("crystal.dat"), true) } else { (path.to_owned(), false) }
}

fn show_fio(
    output: &Output,
    options: &Options,
    access: &str,
    arguments: &CrystalArguments,
) -> Result<(), Failure> {
    let target = &arguments.target.target;
    let (path, made) = file(target);
    if !path.exists() && !made {
        return Err(Failure::usage(format!(
            "{target}: fio runs on a folder, an image file or a block device, not on a stack"
        )));
    }
    let ways: &[bool] = match (made, access) {
        (false, _) | (_, "direct") => &[true],
        (_, "buffered") => &[false],
        _ => &[true, false],
    };
    let mut jobs: Vec<Job> = if made { vec![Job::fill(options, &path)] } else { Vec::new() };
    for row in options.rows() {
        jobs.extend(ways.iter().map(|direct| Job::new(&row, options, &path, *direct)));
    }
    if output.json {
        let documents: Vec<_> = jobs
            .iter()
            .map(|job| json!({ "name": job.name, "arguments": job.arguments() }))
            .collect();
        return output.document(&documents);
    }
    output.result(&jobs.iter().map(|job| job.command() + "\n").collect::<String>())
}

/// How fio would run the row of a phase.
fn job(phase: &str, options: &Options, path: &Path) -> Option<Job> {
    let name = phase.strip_suffix(BUFFERED).unwrap_or(phase);
    let row = options.rows().into_iter().find(|row| row.name() == name)?;
    Some(Job::new(&row, options, path, name == phase))
}

const BUFFERED: &str = " buffered";

/// All runs of a row, one way.
fn runs<'a>(rows: &'a [Row], access: &Access, buffered: bool) -> Vec<&'a Measured> {
    let phase = if buffered { access.name() + BUFFERED } else { access.name() };
    rows.iter().filter(|row| row.phase == phase).filter_map(Row::measured).collect()
}

fn rates(runs: &[&Measured]) -> Vec<f64> {
    runs.iter().map(|run| run.bytes_per_second()).collect()
}

fn durable_rates(runs: &[&Measured]) -> Vec<f64> {
    runs.iter().filter_map(|run| run.durable_bytes_per_second()).collect()
}

fn best(figures: &[f64]) -> Option<f64> {
    figures.iter().copied().reduce(f64::max)
}

/// The lines of the original's text: direct where there are direct rows, else buffered.
fn lines(rows: &[Row], options: &Options) -> Vec<Line> {
    let durable = options.profile == crystal::Profile::Three;
    let line = |row: &Access| {
        let direct = runs(rows, row, false);
        let runs = if direct.is_empty() { runs(rows, row, true) } else { direct };
        // Version 3 counts the flush into the time of a write.
        let counts = durable && row.way.writes();
        let rate = |run: &Measured| {
            if counts {
                run.durable_bytes_per_second().unwrap_or(0.0)
            } else {
                run.bytes_per_second()
            }
        };
        let best = runs.iter().copied().max_by(|left, right| rate(left).total_cmp(&rate(right)))?;
        let latency = runs.iter().map(|run| run.done.latency.mean_seconds()).reduce(f64::min)?;
        let bytes_per_second = rate(best);
        Some(Line {
            row: *row,
            bytes_per_second,
            io_per_second: bytes_per_second / f64::from(row.request_bytes),
            latency_mean_seconds: latency,
        })
    };
    options.rows().iter().filter_map(line).collect()
}

fn heading(arguments: &CrystalArguments) -> Heading {
    let system = rustix::system::uname();
    let now = host::facts::now();
    let date = now.get(..19).unwrap_or(&now).replace('-', "/").replace('T', " ");
    Heading {
        program: concat!("raidloom ", env!("CARGO_PKG_VERSION")).to_owned(),
        target: arguments.target.target.clone(),
        date,
        system: format!(
            "{} {}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy()
        ),
        comment: String::new(),
    }
}

/// A median and its interval in MB/s: `194.8 (193.0 to 196.1)`.
fn middle(figures: &[f64]) -> String {
    match statistics::median(figures) {
        None => "-".to_owned(),
        Some(Median { median, interval: None }) => figure(median / 1e6),
        Some(Median { median, interval: Some(interval) }) => {
            format!(
                "{} ({} to {})",
                figure(median / 1e6),
                figure(interval.low / 1e6),
                figure(interval.high / 1e6)
            )
        }
    }
}

fn ratio(direct: &[f64], buffered: &[f64]) -> Option<f64> {
    Some(statistics::median(buffered)?.median / statistics::median(direct)?.median)
}

fn text(rows: &[Row], options: &Options, target: &str) -> String {
    let both = rows.iter().any(|row| row.phase.ends_with(BUFFERED))
        && rows.iter().any(|row| !row.phase.ends_with(BUFFERED));
    let ways: &[bool] = match (
        both,
        rows.iter().any(|row| row.phase.ends_with(BUFFERED) && row.measured().is_some()),
    ) {
        (true, true) => &[false, true],
        (false, true) => &[true],
        _ => &[false],
    };
    let mut head = vec!["MB/s"];
    for buffered in ways {
        head.extend(if *buffered {
            ["BUFFERED BEST", "MEDIAN", "DURABLE"]
        } else {
            ["DIRECT BEST", "MEDIAN", "DURABLE"]
        });
    }
    if ways.len() == 2 {
        head.push("BUFFERED/DIRECT");
    }
    head.push("FLAGS");
    let cells: Vec<Vec<String>> = options
        .rows()
        .iter()
        .filter_map(|row| {
            let of = [runs(rows, row, false), runs(rows, row, true)];
            if of.iter().all(Vec::is_empty) {
                return None;
            }
            let mut cells = vec![row.name()];
            for buffered in ways {
                let runs = &of[usize::from(*buffered)];
                let rates = rates(runs);
                cells.push(best(&rates).map_or("-".to_owned(), |rate| figure(rate / 1e6)));
                cells.push(middle(&rates));
                cells.push(middle(&durable_rates(runs)));
            }
            if ways.len() == 2 {
                cells.push(
                    ratio(&rates(&of[0]), &rates(&of[1]))
                        .map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
                );
            }
            let all: Vec<&Measured> = of.iter().flatten().copied().collect();
            cells.push(show::flags(&all));
            Some(cells)
        })
        .collect();
    let right: Vec<usize> = (1..head.len() - 1).collect();
    let mut text = table(&head, &cells, &right);
    text += "\nBest of the runs as the original prints it; medians with their interval of 95 % \
        from six runs on. DURABLE counts the flush.\n";
    text += &cached(rows, options, target);
    text + &show::flag_words(rows)
}

/// How much of what was read came from a cache, as the devices' own counters say: 0 to 1.
fn read_from_cache(runs: &[&Measured]) -> Option<f64> {
    let (mut asked, mut moved) = (0, 0);
    for run in runs {
        asked += run.facts.asked.read_bytes;
        moved += run.facts.moved?.read_bytes;
    }
    (asked > 0).then(|| (1.0 - moved as f64 / asked as f64).clamp(0.0, 1.0))
}

/// How much of what was written never reached the devices, the flush included: 0 to 1.
fn absorbed(runs: &[&Measured]) -> Option<f64> {
    let (mut asked, mut moved) = (0, 0);
    for run in runs {
        asked += run.facts.asked.written_bytes;
        moved += run.facts.moved?.written_bytes;
    }
    (asked > 0).then(|| (1.0 - moved as f64 / asked as f64).clamp(0.0, 1.0))
}

/// How much of the time until all was durable came after the calls had returned: 0 to 1.
fn deferred(runs: &[&Measured]) -> Option<f64> {
    let shares: Vec<f64> = runs
        .iter()
        .filter_map(|run| {
            let whole = run.done.durable_elapsed().as_secs_f64();
            run.done.flush.filter(|_| whole > 0.0).map(|flush| flush.as_secs_f64() / whole)
        })
        .collect();
    statistics::median(&shares).map(|median| median.median)
}

/// What is more than this counts as cached: the audit's own limit.
const CACHED_SHARE_MIN: f64 = 0.1;

fn answer(yes: bool, words: &str) -> String {
    format!("{}: {words}", if yes { "yes" } else { "no" })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Whether reads were cached, in words.
fn read_words(runs: &[&Measured]) -> Option<String> {
    read_from_cache(runs).map(|share| {
        let words = format!("{} of the bytes came from a cache", percent(share));
        answer(share > CACHED_SHARE_MIN, &words)
    })
}

/// Whether writes were cached, in words.
fn write_words(runs: &[&Measured]) -> Option<String> {
    deferred(runs).map(|late| {
        let absorbed = absorbed(runs).filter(|share| *share > CACHED_SHARE_MIN);
        let words =
            format!("{} of the time to durable came after the calls had returned", percent(late));
        let more = absorbed.map_or(String::new(), |share| {
            format!(", {} of the bytes were written over in memory", percent(share))
        });
        answer(late > CACHED_SHARE_MIN || absorbed.is_some(), &(words + &more))
    })
}

/// Which accesses are cached, with the file system and its removal policy.
fn cached(rows: &[Row], options: &Options, target: &str) -> String {
    let mut cells = Vec::new();
    for buffered in [false, true] {
        let of = |wanted: fn(Way) -> bool| -> Vec<&Measured> {
            options
                .rows()
                .iter()
                .filter(|row| wanted(row.way))
                .flat_map(|row| runs(rows, row, buffered))
                .collect()
        };
        let (reads, writes) = (of(|way| way == Way::Read), of(|way| way == Way::Write));
        if reads.is_empty() && writes.is_empty() {
            continue;
        }
        let (read, written) = (read_words(&reads), write_words(&writes));
        let unknown = || "not known".to_owned();
        cells.push(vec![
            if buffered { "buffered" } else { "direct" }.to_owned(),
            read.unwrap_or_else(unknown),
            written.unwrap_or_else(unknown),
        ]);
    }
    if cells.is_empty() {
        return String::new();
    }
    let place = match mounted(Path::new(target)) {
        Some((kind, policy)) => {
            format!(" ({kind}, {policy}{})", drive(Path::new(target)).unwrap_or_default())
        }
        None => String::new(),
    };
    format!(
        "\nWhich accesses are cached{place}:\n{}",
        table(&["ACCESS", "READS CACHED", "WRITES CACHED"], &cells, &[])
    )
}

/// The file system under a folder, and its removal policy in words.
fn mounted(folder: &Path) -> Option<(String, &'static str)> {
    let folder = folder.canonicalize().ok().filter(|path| path.is_dir())?;
    policy_of(&std::fs::read_to_string("/proc/self/mounts").ok()?, &folder)
}

/// What the kernel knows of the write cache of the drive under a folder, in words.
fn drive(folder: &Path) -> Option<&'static str> {
    let mounts = system::mounts();
    let mount = system::mount_of(&mounts, &folder.canonicalize().ok()?)?;
    // btrfs and friends show a number of their own; their source still names a device.
    let number = system::sys_folder(mount.number)
        .map(|_| mount.number)
        .or_else(|| system::block_number(Path::new(&mount.source)))?;
    Some(match system::queue_setting(number, "queue/write_cache")?.as_str() {
        "write through" => "; its drive writes through",
        _ => "; its drive has a write cache",
    })
}

/// From the lines of `/proc/mounts`: source, mount point, kind, options. Of several on one point
/// the last counts.
fn policy_of(mounts: &str, folder: &Path) -> Option<(String, &'static str)> {
    let lines = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        // Blanks in a mount point are written as an octal escape.
        let point = fields.next()?.replace("\\040", " ");
        folder.starts_with(&point).then_some((point.len(), fields.next()?, fields.next()?))
    });
    let (_, kind, options) = lines.max_by_key(|(length, ..)| *length)?;
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    let policy = match () {
        () if has("sync") => "mounted for quick removal: sync",
        () if has("flush") => {
            "mounted for quick removal: flush, written at once after a file is closed"
        }
        () => "mounted for performance: writes may be deferred",
    };
    Some((kind.to_owned(), policy))
}

fn summary(rows: &[Row], options: &Options) -> serde_json::Value {
    let interval = |median: Option<Median>| {
        median.and_then(|median| median.interval).map(|interval| [interval.low, interval.high])
    };
    let view = |way: Way, runs: &[&Measured]| {
        let audit = if way == Way::Write { write_words(runs) } else { read_words(runs) };
        // Each once, with the first figure that it was raised about.
        let mut flags: Vec<&Doubt> = runs.iter().flat_map(|run| &run.flags).collect();
        flags.sort_by_key(|doubt| doubt.mark());
        flags.dedup_by_key(|doubt| doubt.mark());
        let flag = |doubt: &&Doubt| {
            json!({
                "code": doubt.code(), "mark": doubt.mark(), "text": report::doubt_sentence(doubt),
            })
        };
        let (rates, durable) = (rates(runs), durable_rates(runs));
        let (middle, durable_middle) = (statistics::median(&rates), statistics::median(&durable));
        json!({
            "best_bytes_per_second": best(&rates),
            "median_bytes_per_second": middle.map(|median| median.median),
            "median_interval_bytes_per_second": interval(middle),
            "durable_median_bytes_per_second": durable_middle.map(|median| median.median),
            "durable_median_interval_bytes_per_second": interval(durable_middle),
            "read_from_cache_ratio": read_from_cache(runs),
            "write_deferred_ratio": deferred(runs),
            "write_absorbed_ratio": absorbed(runs),
            "audit": audit,
            "flags": flags.iter().map(flag).collect::<Vec<_>>(),
        })
    };
    let row = |row: &Access| {
        let (direct, buffered) = (runs(rows, row, false), runs(rows, row, true));
        if direct.is_empty() && buffered.is_empty() {
            return None;
        }
        Some(json!({
            "row": row.name(),
            "direct": if direct.is_empty() { json!(null) } else { view(row.way, &direct) },
            "buffered": if buffered.is_empty() { json!(null) } else { view(row.way, &buffered) },
            "buffered_to_direct_ratio": ratio(&rates(&direct), &rates(&buffered)),
        }))
    };
    options.rows().iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_and_its_policy_are_those_of_the_nearest_mount() {
        let mounts = "/dev/vda1 / ext4 rw,relatime 0 0\n/dev/sdb1 /mnt/my\\040stick vfat rw,sync 0 \
            0\ntmpfs /mnt tmpfs rw 0 0\n";
        let of = |path: &str| {
            policy_of(mounts, Path::new(path))
                .map(|(kind, policy)| format!("{kind} {policy}"))
                .unwrap_or_default()
        };
        assert!(of("/srv").starts_with("ext4 mounted for performance"));
        assert!(of("/mnt/my stick/a").starts_with("vfat mounted for quick removal"));
        assert!(of("/mnt/other").starts_with("tmpfs"));
        let flushed = "/dev/sdb1 /mnt vfat rw,flush 0 0\n";
        let (_, policy) = policy_of(flushed, Path::new("/mnt")).unwrap();
        assert!(policy.starts_with("mounted for quick removal: flush"), "{policy}");
        // `/mnt/my stick2` is another folder, not one below the stick.
        assert!(of("/mnt/my stick2").starts_with("tmpfs"));
    }
}
