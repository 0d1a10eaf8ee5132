//! How what a program does grows, in processor time, and a cache in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::MakeUp;
use super::series::{Series, empty_folder, processor_seconds};
use crate::bench::table::Aim;
use crate::bench::{Bench, child};

/// Of a member of the array whose superblocks are lost, and of a file on it.
const MEMBER_BYTES: u64 = 16 << 20;
const TEXT_BYTES: u64 = 64 << 10;

/// The configurations of a plan that is checked.
///
/// # Errors
/// When a program or a file fails.
pub(super) fn plan(bench: &Bench) -> Result<Series, String> {
    let folder = empty_folder(bench, "plan")?;
    let path = folder.join("plan.toml");
    let cost = |count: u32| {
        let list = |numbers: std::ops::RangeInclusive<u32>| {
            numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
        };
        let chunks: Vec<String> = (1..=10).map(|times| format!("\"{}KiB\"", 4 * times)).collect();
        let text = format!(
            "# Which chunk?\nschema = 1\nname = \"wide\"\n[members.m]\nmodels = \
            [\"maxtor-6y200p0\", \"maxtor-6y200p0\"]\n[matrix]\nlevel = \"raid0\"\nchunk = \
            [{}]\ndepth = [{}]\n[[workload]]\nsuite = \"devtest\"\ntests = [\"random read \
            16384\"]\n[baseline]\nchunk = \"4KiB\"\ndepth = 1\n",
            chunks.join(", "),
            list(1..=count / 10)
        );
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let once = || {
            let mut command = bench.program("raidloom");
            command.args(["run", "plan"]).arg(&path);
            Ok(command)
        };
        Ok((count, processor_seconds(bench, once)?))
    };
    // Fewer, and starting up is all there is.
    let points = [1000, 3160, 10_000].into_iter().map(cost).collect::<Result<_, String>>()?;
    let _ = fs::remove_dir_all(&folder);
    Ok(Series {
        load: "`raidloom run plan`".to_owned(),
        of: "configurations",
        measure: "s of processor time",
        exponent: "exponent of processor time in configurations",
        aim: Aim::AtMost(2.0),
        points,
    })
}

/// The runs of a folder.
///
/// # Errors
/// When a program or a file fails.
pub(super) fn history(bench: &Bench, make_up: MakeUp) -> Result<Series, String> {
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

/// What a cache notes beside the bytes that it holds, once it is full: those take no memory here.
///
/// # Errors
/// When the probe fails.
pub(super) fn cache(bench: &Bench) -> Result<Series, String> {
    let peak = |target: &str| {
        let mut command = bench.program("probe");
        let load = ["random-read", "--bytes=4096", "--depth=1", "--requests=1", "--fill"];
        Ok::<u64, String>(child::succeed(command.arg(target).args(load))?.peak_bytes)
    };
    let bare = peak("null:16MiB")?;
    let cost = |mebibytes: u32| {
        let peak = peak(&format!("cache(null:{mebibytes}MiB, null:{mebibytes}MiB)"))?;
        Ok((mebibytes, vec![peak.saturating_sub(bare) as f64 / f64::from(1 << 20)]))
    };
    Ok(Series {
        load: "a full cache, blocks of 4 KiB".to_owned(),
        of: "MiB of blocks",
        measure: "MiB of memory besides the blocks",
        exponent: "exponent of memory in blocks",
        aim: Aim::AtMost(256.0),
        points: [1024, 4096, 16_384].into_iter().map(cost).collect::<Result<_, String>>()?,
    })
}

/// The files of a copy.
///
/// # Errors
/// When a program or a file fails.
pub(super) fn copy(bench: &Bench) -> Result<Series, String> {
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

/// The members of a new array.
///
/// # Errors
/// When a program or a file fails.
pub(super) fn superblocks(bench: &Bench) -> Result<Series, String> {
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
///
/// # Errors
/// When a program or a file fails.
pub(super) fn rescue(bench: &Bench) -> Result<Series, String> {
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
