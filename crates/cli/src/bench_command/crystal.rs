//! Crystal's table: rows direct and buffered side by side, and what the cache does.

use std::path::Path;

use bench::suite::crystal::{AccessKind, Row as Access, options};
use host::system;
use results::Doubt;
use results::caches::{READ, WRITTEN};
use results::statistics::{self, Median};
use serde_json::{Value, json};
use words::Message;

use super::rows::{RATE, Row, Rows, middle, most};
use crate::catalogue::{self, say};
use crate::output::{figure, table};

const BUFFERED: &str = " buffered";
const DURABLE: &str = "durable_throughput_bytes_per_second";
/// What is more than this counts as cached: the audit's own limit.
const CACHED_SHARE_MIN: f64 = 0.1;

/// The rows of a run, as its settings have them.
fn accesses(rows: &Rows<'_>) -> Vec<Access> {
    options(&rows.settings).map_or_else(|_| Vec::new(), |options| options.rows())
}

/// A row, one way; `None` where nothing was measured of it.
fn find<'a, 'b>(rows: &'b Rows<'a>, access: &Access, buffered: bool) -> Option<&'b Row<'a>> {
    let name = if buffered { access.name() + BUFFERED } else { access.name() };
    rows.rows.iter().find(|row| row.name == name && !row.trials.is_empty())
}

fn ratio(direct: Option<&Row<'_>>, buffered: Option<&Row<'_>>) -> Option<f64> {
    Some(buffered?.median(RATE)? / direct?.median(RATE)?)
}

/// The table.
pub(super) fn text(rows: &Rows<'_>) -> String {
    let accesses = accesses(rows);
    let has = |buffered| accesses.iter().any(|one| find(rows, one, buffered).is_some());
    let ways: &[bool] = match (has(false), has(true)) {
        (true, true) => &[false, true],
        (false, true) => &[true],
        _ => &[false],
    };
    let mut head = vec!["MB/s"];
    for buffered in ways {
        let best = match buffered {
            true => catalogue::BUFFERED_BEST_HEAD,
            false => catalogue::DIRECT_BEST_HEAD,
        };
        let others = [catalogue::MEDIAN_HEAD, catalogue::DURABLE_HEAD];
        head.extend([best, others[0], others[1]].map(Message::template));
    }
    if ways.len() == 2 {
        head.push(catalogue::BUFFERED_TO_DIRECT_HEAD.template());
    }
    head.push(catalogue::FLAGS_HEAD.template());
    let line = |access: &Access| {
        let of = [false, true].map(|buffered| find(rows, access, buffered));
        if of.iter().all(Option::is_none) {
            return None;
        }
        let mut cells = vec![access.name()];
        for buffered in ways {
            let row = of[usize::from(*buffered)];
            let all = |metric: &str| row.map(|row| row.all(metric)).unwrap_or_default();
            let best = row.map(|_| figure(most(&all(RATE)) / 1e6));
            cells.push(best.unwrap_or("-".to_owned()));
            cells.extend([middle(&all(RATE)), middle(&all(DURABLE))]);
        }
        if ways.len() == 2 {
            let ratio = ratio(of[0], of[1]);
            cells.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
        }
        let mut marks: Vec<&str> = of.iter().flatten().flat_map(|row| row.marks_once()).collect();
        marks.sort_unstable();
        marks.dedup();
        cells.push(marks.join(" "));
        Some(cells)
    };
    let cells: Vec<Vec<String>> = accesses.iter().filter_map(line).collect();
    let right: Vec<usize> = (1..head.len() - 1).collect();
    let (table, cached) = (table(&head, &cells, &right), cached(rows, &accesses));
    format!("{table}\n{}\n{cached}", legend())
}

/// What the columns hold, in lines of at most 100 columns.
fn legend() -> String {
    escape::wrapped(&say!(CRYSTAL_LEGEND), 100).join("\n")
}

fn mean(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| statistics::mean(figures))
}

/// How much of what was read came from a cache, as the devices' own counters say: 0 to 1.
fn read_from_cache(rows: &[&Row<'_>]) -> Option<f64> {
    let ratios: Vec<f64> = rows.iter().flat_map(|row| row.all(READ)).collect();
    mean(&ratios).map(|moved| (1.0 - moved).clamp(0.0, 1.0))
}

/// How much of what was written never reached the devices, the flush included: 0 to 1.
fn absorbed(rows: &[&Row<'_>]) -> Option<f64> {
    let ratios: Vec<f64> = rows.iter().flat_map(|row| row.all(WRITTEN)).collect();
    mean(&ratios).map(|moved| (1.0 - moved).clamp(0.0, 1.0))
}

/// How much of the time until all was durable came after the calls had returned: 0 to 1.
fn deferred(rows: &[&Row<'_>]) -> Option<f64> {
    let share = |metrics: &results::Metrics| {
        let (flush, elapsed) = (metrics.get("flush_seconds")?, metrics.get("elapsed_seconds")?);
        Some(flush / (flush + elapsed)).filter(|share| share.is_finite())
    };
    let trials = rows.iter().flat_map(|row| &row.trials);
    let shares: Vec<f64> = trials.filter_map(|trial| share(&trial.metrics)).collect();
    statistics::median(&shares).map(|median| median.median)
}

fn answer(yes: bool, words: &str) -> String {
    if yes { say!(ANSWER_YES, words = words) } else { say!(ANSWER_NO, words = words) }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Whether reads were cached, in words.
fn read_words(rows: &[&Row<'_>]) -> Option<String> {
    read_from_cache(rows).map(|share| {
        let words = say!(FROM_A_CACHE, share = percent(share));
        answer(share > CACHED_SHARE_MIN, &words)
    })
}

/// Whether writes were cached, in words.
fn write_words(rows: &[&Row<'_>]) -> Option<String> {
    deferred(rows).map(|late| {
        let absorbed = absorbed(rows).filter(|share| *share > CACHED_SHARE_MIN);
        let words = say!(CAME_AFTER, share = percent(late));
        let more =
            absorbed.map_or(String::new(), |share| say!(WRITTEN_OVER, share = percent(share)));
        answer(late > CACHED_SHARE_MIN || absorbed.is_some(), &(words + &more))
    })
}

/// Which accesses are cached, with the file system and its removal policy.
fn cached(rows: &Rows<'_>, accesses: &[Access]) -> String {
    let mut cells = Vec::new();
    for buffered in [false, true] {
        let of = |wanted: fn(AccessKind) -> bool| -> Vec<&Row<'_>> {
            let accesses = accesses.iter().filter(|access| wanted(access.way));
            accesses.filter_map(|access| find(rows, access, buffered)).collect()
        };
        let (reads, writes) =
            (of(|way| way == AccessKind::Read), of(|way| way == AccessKind::Write));
        if reads.is_empty() && writes.is_empty() {
            continue;
        }
        let unknown = || say!(NOT_KNOWN);
        cells.push(vec![
            if buffered { say!(BUFFERED_ACCESS) } else { say!(DIRECT_ACCESS) },
            read_words(&reads).unwrap_or_else(unknown),
            write_words(&writes).unwrap_or_else(unknown),
        ]);
    }
    if cells.is_empty() {
        return String::new();
    }
    let folder = lab::plan::folder(&rows.run.plan.configurations[0]);
    let place = folder.and_then(|folder| {
        let (kind, policy) = mounted(&folder)?;
        let drive = drive(&folder).map_or("", Message::template);
        Some(format!(" ({kind}, {}{drive})", policy.template()))
    });
    let head =
        [catalogue::ACCESS_HEAD, catalogue::READS_CACHED_HEAD, catalogue::WRITES_CACHED_HEAD];
    let table = table(&head.map(Message::template), &cells, &[]);
    format!("\n{}\n{table}", say!(WHICH_CACHED, place = place.unwrap_or_default()))
}

/// The file system under a folder, and its removal policy in words.
fn mounted(folder: &Path) -> Option<(String, Message)> {
    let folder = folder.canonicalize().ok().filter(|path| path.is_dir())?;
    policy_of(&std::fs::read_to_string("/proc/self/mounts").ok()?, &folder)
}

/// What the kernel knows of the write cache of the drive under a folder, in words.
fn drive(folder: &Path) -> Option<Message> {
    let mounts = system::mounts();
    let mount = system::mount_of(&mounts, &folder.canonicalize().ok()?)?;
    // btrfs and friends show a number of their own; their source still names a device.
    let number = system::sys_folder(mount.number)
        .map(|_| mount.number)
        .or_else(|| system::block_number(Path::new(&mount.source)))?;
    Some(match system::queue_setting(number, "queue/write_cache")?.as_str() {
        "write through" => catalogue::DRIVE_WRITES_THROUGH,
        _ => catalogue::DRIVE_HAS_WRITE_CACHE,
    })
}

/// From the lines of `/proc/mounts`: source, mount point, kind, options. Of several on one point
/// the last counts.
fn policy_of(mounts: &str, folder: &Path) -> Option<(String, Message)> {
    let lines = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        // Blanks in a mount point are written as an octal escape.
        let point = fields.next()?.replace("\\040", " ");
        folder.starts_with(&point).then_some((point.len(), fields.next()?, fields.next()?))
    });
    let (_, kind, options) = lines.max_by_key(|(length, ..)| *length)?;
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    let policy = match () {
        () if has("sync") => catalogue::QUICK_REMOVAL_SYNC,
        () if has("flush") => catalogue::QUICK_REMOVAL_FLUSH,
        () => catalogue::MOUNTED_FOR_PERFORMANCE,
    };
    Some((kind.to_owned(), policy))
}

/// What each row comes to, for programs.
pub(super) fn summary(rows: &Rows<'_>) -> Value {
    let interval = |median: Option<Median>| {
        median.and_then(|median| median.interval).map(|interval| [interval.low, interval.high])
    };
    let view = |way: AccessKind, row: Option<&Row<'_>>| {
        let Some(row) = row else { return Value::Null };
        let audit = if way == AccessKind::Write { write_words(&[row]) } else { read_words(&[row]) };
        // Each once, with the first figure that it was raised about.
        let mut doubts: Vec<&Doubt> = row.doubts().collect();
        doubts.sort_by_key(|doubt| doubt.mark());
        doubts.dedup_by_key(|doubt| doubt.mark());
        let flag = |doubt: &&Doubt| {
            json!({
                "code": doubt.code(), "mark": doubt.mark(), "text": report::doubt_sentence(doubt),
            })
        };
        let rates = row.all(RATE);
        let middle = statistics::median(&rates);
        let durable = statistics::median(&row.all(DURABLE));
        json!({
            "best_bytes_per_second": most(&rates),
            "median_bytes_per_second": middle.map(|median| median.median),
            "median_interval_bytes_per_second": interval(middle),
            "durable_median_bytes_per_second": durable.map(|median| median.median),
            "durable_median_interval_bytes_per_second": interval(durable),
            "read_from_cache_ratio": read_from_cache(&[row]),
            "write_deferred_ratio": deferred(&[row]),
            "write_absorbed_ratio": absorbed(&[row]),
            "audit": audit,
            "flags": doubts.iter().map(flag).collect::<Vec<_>>(),
        })
    };
    let row = |access: &Access| {
        let [direct, buffered] = [false, true].map(|buffered| find(rows, access, buffered));
        direct.or(buffered)?;
        Some(json!({
            "row": access.name(),
            "direct": view(access.way, direct),
            "buffered": view(access.way, buffered),
            "buffered_to_direct_ratio": ratio(direct, buffered),
        }))
    };
    accesses(rows).iter().filter_map(row).collect()
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
                .map(|(kind, policy)| format!("{kind} {}", policy.english))
                .unwrap_or_default()
        };
        assert!(of("/srv").starts_with("ext4 mounted for performance"));
        assert!(of("/mnt/my stick/a").starts_with("vfat mounted for quick removal"));
        assert!(of("/mnt/other").starts_with("tmpfs"));
        let flushed = "/dev/sdb1 /mnt vfat rw,flush 0 0\n";
        let (_, policy) = policy_of(flushed, Path::new("/mnt")).unwrap();
        assert_eq!(policy, catalogue::QUICK_REMOVAL_FLUSH);
        // `/mnt/my stick2` is another folder, not one below the stick.
        assert!(of("/mnt/my stick2").starts_with("tmpfs"));
    }
}
