//! `raidloom guest`: the kernel of guests, built once, whether it boots (`check guest`), and work
//! in one.

mod cut;
mod guest_run;
mod run;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use block::Device;
use clap::{Parser, Subcommand};
use device::RamDevice;
use guest::{Boot, BuildStep, Kernel, KernelOrder, Outcome, Processor, TimeBounds, USUAL_KERNEL};
use host::mount::FILE_SYSTEMS;
use serde_json::json;
use words::statement;

use crate::catalogue::{self, say};
use crate::failure::{Failure, this_program};
use crate::keys::{self, Keys};
use crate::output::{Output, seconds, table};
use crate::progress::{Line, duration};
use crate::signals;
pub(crate) use guest_run::GuestKeys;

/// What measures inside the guests of a run: this program.
pub(crate) fn worker() -> Result<lab::Worker, Failure> {
    let program = this_program()?;
    Ok(lab::Worker { program, arguments: ["guest", "work"].map(str::to_owned).to_vec() })
}

/// `guest`.
#[derive(Subcommand, Debug)]
pub(crate) enum GuestVerb {
    /// Build the guest's kernel from the distribution's source, once, into your cache folder
    #[command(after_long_help = keys::help::<BuildKeys>("\
Examples:
  sudo apt-get install linux-source-6.1 make gcc flex bison bc xz-utils && raidloom guest build
  raidloom guest build --source linux-6.1.192.tar.xz
  raidloom guest build -s config=more.config       with file systems of its own, as kernel `more`
  raidloom guest build -s name=mine --source ~/linux
  raidloom guest run -s kernel=more --fs f2fs --stack model:ssd-2008 --disk-size 1GiB -- df .

Takes about 10 minutes on two processors, 2 GiB of disk meanwhile and 12 MiB afterwards, in
$XDG_CACHE_HOME/raidloom/guest or ~/.cache/raidloom/guest. No root is needed. A folder that
--source names is configured and built in place. What make said lies there as build.log."))]
    Build {
        /// A tarball of Linux, the folder that it was unpacked in, or the version of another
        /// package of Debian's: 6.12
        #[arg(long, value_name = "PATH")]
        source: Option<PathBuf>,

        #[command(flatten)]
        #[allow(missing_docs)]
        keys: Keys<BuildKeys>,
    },

    /// Run a command in a guest, on modelled disks, in modelled time
    #[command(after_long_help = keys::help::<GuestKeys>("\
Examples:
  raidloom guest run --stack model:maxtor-6y200p0 --disk-size 4GiB --fs ext4 -- cp -r /usr/include .
  raidloom guest run --stack model:maxtor-6y200p0 --disk-size 8GiB --fs ext3 --memory 256MiB -- \\
      bonnie++ -d . -u root -s 512 -r 256 -n 0
  raidloom guest run --stack model:st340015a --stack model:st340015a --stack model:st340015a \\
      --disk-size 2GiB --md 'raid5 chunk=64KiB' --fs xfs -- dd if=/dev/zero of=x bs=1M count=200

  raidloom guest run --stack model:maxtor-6y200p0 --disk-size 1GiB --fs ext4 --cut-at 3s -- \
      'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=$i bs=1M count=8; echo $i; sleep 1; done'

Programs of this machine run as they are; its files can be read and not be written. The same
seed gives the same figures to the nanosecond. Computing takes no time there. What the command
prints goes to standard output, what the disks did to standard error."))]
    Run(Box<run::RunArguments>),

    /// The part of a run that is inside a guest: reads its task, and writes a line for each row
    #[command(hide = true)]
    Work {
        /// A folder or a block device
        target: PathBuf,
    },
}

/// What few need to say of a build.
#[derive(Parser, Debug)]
#[command(rename_all = "snake_case", disable_help_flag = true)]
pub(crate) struct BuildKeys {
    /// What the kernel is called, beside the usual one: as the file of config, unless it is said
    #[arg(long)]
    pub name: Option<String>,

    /// A file with what its configuration has beside raidloom's, or instead: CONFIG_F2FS_FS=y
    #[arg(long)]
    pub config: Option<PathBuf>,

    /// Whether it is built also if it is there already
    #[arg(long, default_value = "no", value_parser = ["yes", "no"])]
    pub again: String,
}

impl BuildKeys {
    /// What the kernel is called.
    fn name(&self) -> Result<&str, Failure> {
        match (&self.name, &self.config) {
            (Some(name), _) => Ok(name),
            (None, None) => Ok(USUAL_KERNEL),
            (None, Some(config)) => {
                let stem = config.file_stem().and_then(OsStr::to_str);
                stem.ok_or_else(|| Failure::usage(catalogue::CONFIG_NO_FILE))
            }
        }
    }
}

/// Runs `guest`.
pub(crate) fn guest(output: &Output, verb: &GuestVerb) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    match verb {
        GuestVerb::Build { source, keys } => build(output, source.as_deref(), keys, &stop),
        GuestVerb::Run(arguments) => run::run(output, arguments, &stop),
        GuestVerb::Work { target } => {
            let mut lines = Vec::new();
            let worked = lab::work(std::io::stdin().lock(), target, &mut lines, &stop);
            output.file(&String::from_utf8_lossy(&lines))?;
            worked
        }
    }
}

fn build(
    output: &Output,
    source: Option<&Path>,
    keys: &BuildKeys,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let (config, again) = (keys.config.as_deref(), keys.again == "yes");
    let order = KernelOrder { name: keys.name()?, source, config, again };
    let begun = Instant::now();
    let line = Line::new(output);
    let mut tell = |step| {
        line.show(&match step {
            BuildStep::Unpack => say!(UNPACKING_LINUX),
            BuildStep::Configure => say!(CONFIGURING_LINUX),
            BuildStep::Compile(done, Some(of)) => say!(COMPILING_LINUX_OF, done = done, of = of),
            BuildStep::Compile(done, None) => say!(COMPILING_LINUX, done = done),
        });
    };
    let built = guest::build(&order, &mut tell, &|| go_on(stop));
    line.clear();
    let (kernel, was_there) = built.map_err(|error| ended(error.into(), stop))?;
    if output.json {
        return output.document(&json!({
            "kernel": kernel.linux(), "name": kernel.name(), "version": kernel.version(),
            "was_there": was_there,
            "seconds": begun.elapsed().as_secs_f64(),
        }));
    }
    let how = match was_there {
        true => say!(KERNEL_IS_THERE),
        false => say!(KERNEL_BUILT_IN, time = duration(begun.elapsed())),
    };
    let name = match kernel.name() {
        USUAL_KERNEL => String::new(),
        name => say!(KERNEL_NAMED, name = name),
    };
    let (version, path) = (kernel.version(), kernel.linux());
    output.result(&format!("Linux {version}{name}: {how}: {}", path.display()))
}

/// What the guest of a check says of itself, one line a thing.
const QUESTIONS: &str = r#"
echo "version $(uname -r)"
while read -r first second; do echo "kernel_has ${second:-$first}"; done </proc/filesystems
for name in $MAKERS; do path=$(command -v "$name") && echo "maker $name $path"; done
read -r schedulers </sys/block/vda/queue/scheduler
echo "schedulers $schedulers"
read -r rest levels </proc/mdstat 2>/dev/null && echo "md $levels"
echo "disk $(cat /sys/block/vda/serial)"
before=$(date +%s)
sleep 1000
echo "slept $(($(date +%s) - before))"
"#;

/// Boots a guest, and says what it can do.
pub(crate) fn check(output: &Output) -> Result<(), Failure> {
    let (stop, kernel) = (&signals::stop_flag()?, Kernel::find(USUAL_KERNEL)?);
    let makers: Vec<&str> = FILE_SYSTEMS.iter().map(host::mount::FileSystem::maker).collect();
    let job = format!("MAKERS='{}'\n{QUESTIONS}", makers.join(" "));
    let disk: Arc<dyn Device> = Arc::new(RamDevice::new(16 << 20, 512)?);
    let boot = Boot {
        kernel: &kernel,
        memory_bytes: 128 << 20,
        seed: 1,
        disks: vec![disk.into()],
        queue_depth: None,
        job: &job,
        parameters: "",
        processor: Processor::Same,
        bounds: TimeBounds::USUAL,
        cut: None,
        before: None,
    };
    let outcome = boot.run(&|| go_on(stop)).map_err(|error| ended(error.into(), stop))?;
    let said = |word: &str| -> Vec<String> {
        let rest = |line: &str| Some(line.strip_prefix(word)?.strip_prefix(' ')?.to_owned());
        outcome.output.lines().filter_map(rest).collect()
    };
    let one = |word: &str| said(word).into_iter().next().unwrap_or_default();
    works(&outcome, &one("disk"), &one("slept"))?;
    let (kinds, makers) = (said("kernel_has"), said("maker"));
    let file_systems: Vec<(&str, bool, Option<String>)> = FILE_SYSTEMS
        .iter()
        .map(|known| {
            // ntfs-3g serves NTFS over FUSE.
            let kind = if known.name == "ntfs" { "fuseblk" } else { known.name };
            let maker = makers.iter().find_map(|line| {
                line.strip_prefix(known.maker())?.strip_prefix(' ').map(str::to_owned)
            });
            (known.name, kinds.iter().any(|other| other == kind), maker)
        })
        .collect();
    let levels: Vec<String> = one("md")
        .split(['[', ']', ' ', ':'])
        .filter(|word| word.starts_with(char::is_alphabetic))
        .map(str::to_owned)
        .collect();
    let schedulers: Vec<String> =
        one("schedulers").split_whitespace().map(|word| word.replace(['[', ']'], "")).collect();
    let modelled = outcome.time.nanoseconds() as f64 / 1e9;
    if output.json {
        let list: Vec<_> = file_systems
            .iter()
            .map(|(name, mounts, maker)| json!({"name": name, "mounts": mounts, "maker": maker}))
            .collect();
        return output.document(&json!({
            "kernel": kernel.linux(), "version": one("version"), "file_systems": list,
            "md_levels": levels, "schedulers": schedulers,
            "modelled_seconds": modelled, "real_seconds": outcome.took.as_secs_f64(),
        }));
    }
    let took = seconds(outcome.took.as_secs_f64());
    output.result(&format!(
        "{}\n{}\n{}\n\n{}",
        say!(GUEST_BOOTS, version = one("version"), modelled = seconds(modelled), took = took),
        say!(LEVELS_OF_MD, levels = levels.join(", ")),
        say!(SCHEDULERS_OF_GUEST, schedulers = schedulers.join(", ")),
        kinds_text(&file_systems),
    ))
}

/// Which file systems a guest mounts, and what makes them.
fn kinds_text(kinds: &[(&str, bool, Option<String>)]) -> String {
    let row = |(name, mounts, maker): &(&str, bool, Option<String>)| {
        let mounts = if *mounts { say!(KIND_MOUNTS) } else { say!(KIND_DOES_NOT_MOUNT) };
        vec![(*name).to_owned(), mounts, maker.clone().unwrap_or("-".to_owned())]
    };
    let rows: Vec<Vec<String>> = kinds.iter().map(row).collect();
    table(&[say!(FILE_SYSTEM_HEAD), say!(MOUNTS_HEAD), say!(MADE_BY_HEAD)], &rows, &[])
}

/// Whether the guest saw its disk and slept as long as it was told to.
fn works(outcome: &Outcome, disk: &str, slept: &str) -> Result<(), Failure> {
    let wrong = match (outcome.status, disk, slept) {
        (Some(0), "disk0", "1000") => return Ok(()),
        (Some(0), "disk0", other) => statement!(catalogue::SLEEP_WAS, other = other),
        (Some(0), other, _) => statement!(catalogue::DISK_CALLED, other = other),
        (code, ..) => {
            statement!(
                catalogue::GUEST_JOB_ENDED,
                code = code.unwrap_or(-1),
                said = outcome.errors.trim()
            )
        }
    };
    Err(Failure::failed(statement!(catalogue::BOOTS_BUT, wrong = wrong)))
}

fn go_on(stop: &AtomicBool) -> bool {
    !stop.load(Ordering::Relaxed)
}

/// What was given up because of Ctrl-C says so.
fn ended(failure: Failure, stop: &AtomicBool) -> Failure {
    if go_on(stop) { failure } else { Failure::interrupted(catalogue::GUEST_INTERRUPTED) }
}
