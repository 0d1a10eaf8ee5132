//! How the cost of a request, of a folder of runs and of a cache grows: each at several sizes, and
//! the exponent fitted to them.
//!
//! A request is counted in instructions, which are the same on a busy machine; a cache in memory;
//! a folder of runs, files that are copied and members in processor time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{Aim, Row, exponent};
use super::{Bench, child};
use crate::instructions::Counter;

/// Nothing grows faster without a reason beside it.
pub(crate) const EXPONENT: Aim = Aim::AtMost(1.1);

/// Sizes and what each costs, in one round or several.
struct Series {
    /// What is done, before the size.
    load: String,
    /// What the size counts.
    of: &'static str,
    measure: &'static str,
    /// Of the exponent.
    exponent: &'static str,
    /// What each cost is held against.
    aim: Aim,
    points: Vec<(u32, Vec<f64>)>,
}

impl Series {
    fn rows(self) -> Vec<Row> {
        let rounds = self.points.iter().map(|(_, rounds)| rounds.len()).min().unwrap_or(0);
        let fitted = |round: usize| {
            let points: Vec<(f64, f64)> =
                self.points.iter().map(|(size, rounds)| ((*size).into(), rounds[round])).collect();
            exponent(&points)
        };
        let fitted = Row {
            load: self.load.clone(),
            measure: self.exponent,
            ours: (0..rounds).map(fitted).collect(),
            other: None,
            aim: EXPONENT,
        };
        let row = |(size, ours): (u32, Vec<f64>)| Row {
            load: format!("{}, {size} {}", self.load, self.of),
            measure: self.measure,
            ours,
            other: None,
            aim: self.aim,
        };
        self.points.into_iter().map(row).chain([fitted]).collect()
    }
}

/// Writes a run of so many configurations, blocks and workloads into a folder.
pub(crate) type MakeUp = fn(&Path, [u32; 3]) -> std::io::Result<()>;

/// All of them.
///
/// # Errors
/// When a program cannot be built or fails.
pub(crate) fn rows(bench: &Bench, make_up: MakeUp) -> Result<Vec<Row>, String> {
    let counter = Counter::build(&bench.root)?;
    let mut series = Vec::new();
    for level in ["raid0", "raid5", "raid6"] {
        eprintln!("   members of {level}");
        series.push(members(&counter, level)?);
    }
    eprintln!("   outstanding requests");
    series.push(outstanding(&counter)?);
    eprintln!("   runs in a folder");
    series.push(history(bench, make_up)?);
    eprintln!("   memory of caches");
    series.push(cache(bench)?);
    eprintln!("   files of a copy");
    series.push(copy(bench)?);
    eprintln!("   superblocks of new members");
    series.push(superblocks(bench)?);
    eprintln!("   members whose superblocks are lost");
    series.push(rescue(bench)?);
    Ok(series.into_iter().flat_map(Series::rows).collect())
}

/// Of a member of the array whose superblocks are lost, and of a file on it.
const MEMBER_BYTES: u64 = 16 << 20;
const TEXT_BYTES: u64 = 64 << 10;

/// What is aimed at is the exponent; this only catches what went wrong.
const REQUEST: Aim = Aim::AtMost(25_000.0);

fn members(counter: &Counter, level: &'static str) -> Result<Series, String> {
    let cost = |count: u32| {
        let leaves = vec!["null:1GiB"; count as usize].join(", ");
        let target = format!("{level}(chunk=64KiB, {leaves})");
        let arguments = [&target, "random-write", "--bytes=4096", "--depth=8"];
        Ok((count, vec![counter.count("members", &arguments)?]))
    };
    Ok(Series {
        load: format!("{level}: random write 4 KiB"),
        of: "members",
        measure: "instructions a request",
        exponent: "exponent of instructions a request in members",
        aim: REQUEST,
        points: [4, 8, 16, 32, 64].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}

fn outstanding(counter: &Counter) -> Result<Series, String> {
    let cost = |depth: u32| {
        let depth_text = format!("--depth={depth}");
        let target = "raid5(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)";
        let arguments = [target, "random-write", "--bytes=4096", &depth_text];
        Ok((depth, vec![counter.count("outstanding", &arguments)?]))
    };
    Ok(Series {
        load: "raid5: random write 4 KiB".to_owned(),
        of: "outstanding",
        measure: "instructions a request",
        exponent: "exponent of instructions a request in outstanding ones",
        aim: REQUEST,
        points: [1, 4, 16, 64, 256, 1024].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}

fn history(bench: &Bench, make_up: MakeUp) -> Result<Series, String> {
    let folder = bench.target.join("bench/history");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    let (mut points, mut made) = (Vec::new(), 0);
    // With fewer, starting up is all there is.
    for count in [100_u32, 1000, 10_000] {
        for number in made..count {
            make_up(&folder.join(format!("run{number}")), [2, 6, 1]).map_err(failed)?;
        }
        made = count;
        let once = || {
            let mut command = bench.program("raidloom");
            command.args(["report", "history"]).arg(&folder);
            Ok(command)
        };
        points.push((count, processor_seconds(bench, once)?));
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(Series {
        load: "`raidloom report history`".to_owned(),
        of: "runs",
        measure: "s of processor time",
        exponent: "exponent of processor time in runs",
        aim: Aim::AtMost(60.0),
        points,
    })
}

/// What a cache notes beside the bytes that it holds, once it is full.
fn cache(bench: &Bench) -> Result<Series, String> {
    let peak = |target: &str| {
        let mut command = bench.program("probe");
        let load = ["random-read", "--bytes=4096", "--depth=1", "--requests=1", "--fill"];
        Ok::<u64, String>(child::succeed(command.arg(target).args(load))?.peak_bytes)
    };
    let bare = peak("null:16MiB")?;
    let cost = |mebibytes: u32| {
        let holds = u64::from(mebibytes) << 20;
        let peak = peak(&format!("cache(ram:{mebibytes}MiB, null:{mebibytes}MiB)"))?;
        let noted = peak.saturating_sub(bare + holds).max(1 << 16);
        Ok((mebibytes, vec![noted as f64 / f64::from(1 << 20)]))
    };
    Ok(Series {
        load: "a full cache in memory, blocks of 4 KiB".to_owned(),
        of: "MiB of blocks",
        measure: "MiB of memory besides",
        exponent: "exponent of memory in blocks",
        aim: Aim::AtMost(64.0),
        points: [64, 256, 1024].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}

/// A folder of this case, empty.
fn empty_folder(bench: &Bench, name: &str) -> Result<PathBuf, String> {
    let folder = bench.target.join("bench").join(name);
    // An earlier run that was broken off may have left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// What raidloom uses of the processor in each round; the clock of processes counts in hundredths.
fn processor_seconds(
    bench: &Bench,
    mut once: impl FnMut() -> Result<Command, String>,
) -> Result<Vec<f64>, String> {
    let mut round = || Ok(child::succeed(&mut once()?)?.cpu_seconds.max(0.01));
    (0..bench.effort.rounds).map(|_| round()).collect()
}

fn copy(bench: &Bench) -> Result<Series, String> {
    let (folder, runs) = (empty_folder(bench, "copy")?, empty_folder(bench, "copy-runs")?);
    let mut number = 0;
    let mut cost = |files: u32| {
        let once = || {
            let mut command = bench.program("raidloom");
            command.args(["--quiet", "bench", "copy"]).arg(&folder).args(["--runs", "1"]);
            command.arg("-s").arg(format!("files={files}"));
            command.arg("-s").arg(format!("bytes={}KiB", u64::from(files) * 4));
            number += 1;
            command.arg("-o").arg(runs.join(number.to_string()));
            Ok(command)
        };
        Ok((files, processor_seconds(bench, once)?))
    };
    let points =
        [1000, 10_000, 100_000].into_iter().map(&mut cost).collect::<Result<_, String>>()?;
    let _ = (fs::remove_dir_all(&folder), fs::remove_dir_all(&runs));
    Ok(Series {
        load: "`raidloom bench copy`, files of 4 KiB on the mean".to_owned(),
        of: "files",
        measure: "s of processor time",
        exponent: "exponent of processor time in files",
        aim: Aim::AtMost(60.0),
        points,
    })
}

/// Makes files of one size and names them.
fn member_files(folder: &Path, count: u32, bytes: u64) -> Result<Vec<PathBuf>, String> {
    let make = |number: u32| {
        let path = folder.join(format!("member{number:02}.img"));
        let _ = fs::remove_file(&path);
        let made = fs::File::create(&path).and_then(|file| file.set_len(bytes));
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    };
    (0..count).map(make).collect()
}

fn superblocks(bench: &Bench) -> Result<Series, String> {
    let folder = empty_folder(bench, "superblocks")?;
    let cost = |count: u32| {
        let once = || {
            let members = member_files(&folder, count, 16 << 20)?;
            let mut command = bench.program("raidloom");
            command.args(["--quiet", "array", "create", "grown", "--level", "10", "--member"]);
            command.args(members);
            Ok(command)
        };
        Ok((count, processor_seconds(bench, once)?))
    };
    let points = [4, 16, 64].into_iter().map(cost).collect::<Result<_, String>>()?;
    let _ = fs::remove_dir_all(&folder);
    Ok(Series {
        load: "`raidloom array create --level 10`".to_owned(),
        of: "members",
        measure: "s of processor time",
        exponent: "exponent of processor time in members",
        aim: Aim::AtMost(1.0),
        points,
    })
}

/// A RAID 5 without superblocks, two thirds of it text in an ext4, found by what its members hold.
fn rescue(bench: &Bench) -> Result<Series, String> {
    let folder = empty_folder(bench, "rescue")?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let cost = |count: u32| {
        let members = member_files(&folder, count, MEMBER_BYTES)?;
        let (tree, image) = (folder.join("tree"), folder.join("image"));
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(&tree).map_err(failed)?;
        let data = u64::from(count - 1) * MEMBER_BYTES;
        for number in 0..data * 2 / 3 / TEXT_BYTES {
            let line = |at: u64| format!("file {number}, line {at}: what a file may say\n");
            let text: String = (0..TEXT_BYTES / 40).map(line).collect();
            fs::write(tree.join(number.to_string()), text).map_err(failed)?;
        }
        let sized = fs::File::create(&image).and_then(|file| file.set_len(data));
        sized.map_err(failed)?;
        child::succeed(Command::new("mkfs.ext4").args(["-q", "-d"]).arg(&tree).arg(&image))?;
        let names: Vec<_> = members.iter().map(|path| path.display().to_string()).collect();
        let mut start = bench.program("raidloom");
        start.args(["--quiet", "array", "start"]);
        start.arg(format!("raid5(chunk=64KiB, {})", names.join(", ")));
        start.args(["--nbd", "unix", "--run"]).arg(format!("nbdcopy {} {{}}", image.display()));
        child::succeed(&mut start)?;
        let once = || {
            let mut command = bench.program("raidloom");
            command.args(["--quiet", "array", "rescue"]).args(members.iter().rev());
            Ok(command)
        };
        Ok((count, processor_seconds(bench, once)?))
    };
    // More than eight are not put in order.
    let points = [4, 6, 8].into_iter().map(cost).collect::<Result<_, String>>()?;
    let _ = fs::remove_dir_all(&folder);
    Ok(Series {
        load: "`raidloom array rescue`, all superblocks lost, 16 MiB each".to_owned(),
        of: "members",
        measure: "s of processor time",
        exponent: "exponent of processor time in members",
        aim: Aim::AtMost(60.0),
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_is_a_row_and_the_exponent_the_last() {
        let series = Series {
            load: "work".to_owned(),
            of: "members",
            measure: "instructions a request",
            exponent: "exponent",
            aim: REQUEST,
            points: vec![(2, vec![20.0, 40.0]), (4, vec![40.0, 160.0]), (8, vec![80.0, 640.0])],
        };
        let rows = series.rows();
        let loads: Vec<&str> = rows.iter().map(|row| row.load.as_str()).collect();
        assert_eq!(loads, ["work, 2 members", "work, 4 members", "work, 8 members", "work"]);
        let fitted: Vec<i64> =
            rows[3].ours.iter().map(|found| (found * 1000.0).round() as i64).collect();
        assert_eq!(fitted, [1000, 2000]);
    }
}
