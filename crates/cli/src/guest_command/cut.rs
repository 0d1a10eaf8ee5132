//! `guest run --cut-at`: the power of a guest fails, and a second guest finds what its drives hold.
//!
//! ```text
//!   first guest ── cut ──> what was in the drives' caches is lost ──> images ──> second guest
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use block::{Device, Time};
use clap::{Args, ValueEnum};
use guest::Cut;
use lab::pull::check_images;
use serde_json::{Value, json};
use stack::{Models, PowerCut, Survival};
use words::statement;

use super::guest_run::{Conditions, GuestRun};
use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about, seconds};

/// When the power fails, and what then.
#[derive(Args, Debug)]
pub(crate) struct CutArguments {
    /// Let the power fail at this time on the guest's clock, counted from its start: 12.345678901s
    #[arg(long, help_heading = "Power cut", value_name = "TIME")]
    pub cut_at: Option<String>,

    /// Let the power fail when the disks have done so many requests
    #[arg(long, help_heading = "Power cut", value_name = "N", conflicts_with = "cut_at")]
    pub cut_at_request: Option<u64>,

    /// What is lost: what the drives had in their write caches, or any of it, by the seed
    #[arg(long, help_heading = "Power cut", value_name = "WHAT", default_value = "cache")]
    pub cut_loses: LossPolicy,

    /// What a second guest then runs on what is left, mounted; without it, it looks for names and
    /// checks the file system. What the first left in $OUT is in $BEFORE
    #[arg(long, help_heading = "Power cut", value_name = "COMMAND")]
    pub then: Option<String>,

    /// Write what each drive holds after the cut into this folder, which must be new or empty:
    /// drive0.img, …
    #[arg(long, help_heading = "Power cut", value_name = "FOLDER")]
    pub images: Option<PathBuf>,
}

/// What is lost of a drive's write cache.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LossPolicy {
    /// All of it
    Cache,
    /// Each sector by itself or not
    Any,
}

impl CutArguments {
    /// When the power fails, if it does.
    ///
    /// # Errors
    /// A time that is none; a folder for images that is not empty.
    pub(super) fn cut(&self) -> Result<Option<Cut>, Failure> {
        if let Some(folder) = &self.images {
            check_images(folder)?;
        }
        if let Some(text) = &self.cut_at {
            let time = stack::size::parse_duration(text)
                .map_err(|error| Failure::usage(error).at("--cut-at"))?;
            return Ok(Some(Cut::At(Time::default() + time)));
        }
        if let Some(count) = self.cut_at_request {
            return Ok(Some(Cut::Request(count)));
        }
        Ok(None)
    }

    /// What the second guest runs.
    ///
    /// # Errors
    /// Where nothing is said and there is nothing to mount.
    pub(super) fn then(&self, file_system: Option<&str>) -> Result<String, Failure> {
        if let Some(then) = &self.then {
            return Ok(then.clone());
        }
        let Some(name) = file_system else {
            return Err(Failure::usage(catalogue::NOTHING_TO_MOUNT_AFTER));
        };
        let names = "echo \"mounted: $(find . -xdev | wc -l) names\"";
        let check = match name {
            "ext2" | "ext3" | "ext4" => "e2fsck -fn $DEVICE",
            "xfs" => "xfs_repair -n $DEVICE",
            "btrfs" => "btrfs check --readonly $DEVICE",
            "vfat" => "fsck.vfat -n $DEVICE",
            "ntfs" => "ntfsfix -n $DEVICE",
            _ => return Ok(names.to_owned()),
        };
        Ok(format!("{names}; cd /; umount $DISK; {check}"))
    }
}

/// After the first guest: cuts the power of its drives, and lets the second find them.
pub(super) fn after(
    output: &Output,
    arguments: &CutArguments,
    (first, models): (&GuestRun<'_>, &Models),
    then: &str,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let outcome = &first.outcome;
    if outcome.status.is_some() {
        return Err(Failure::failed(statement!(
            catalogue::ENDED_BEFORE_CUT,
            time = seconds(outcome.time.nanoseconds() as f64 / 1e9),
            requests = requests(first)
        )));
    }
    if !outcome.has_begun() {
        output.note(catalogue::CUT_BEFORE_WORK.template());
    }
    let survival = match arguments.cut_loses {
        LossPolicy::Cache => Survival::Nothing,
        LossPolicy::Any => Survival::Any,
    };
    let lost = models.cut_power(outcome.time, survival, first.arguments.seed)?;
    if let Some(folder) = &arguments.images {
        write_images(models, folder)?;
    }
    let before = Some(outcome.folder());
    let conditions = Conditions { models: models.again(), is_there: true, cut: None, before };
    let second = GuestRun::new(output, first.arguments, then, &conditions, stop)?;
    if output.json {
        let mut document = first.full_document();
        document["cut"] = document_of(first, &lost);
        document["then"] = second.full_document();
        output.document(&document)?;
    } else {
        output.file(&first.outcome.output)?;
        first.tell(output);
        let nanoseconds = outcome.time.nanoseconds();
        let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        let time = format!("{whole}.{rest:09} s");
        output.note(&say!(POWER_FAILED_AT, time = time, requests = requests(first)));
        for (number, lost) in lost.iter().enumerate() {
            let (cached, lost) = (about(lost.cached_bytes), about(lost.lost_bytes));
            output.note(&say!(LOST_OF_CACHE, drive = number, cached = cached, lost = lost));
        }
        output.note(catalogue::IN_SECOND_GUEST.template());
        output.file(&second.outcome.output)?;
        second.tell(output);
    }
    second.judge(output)
}

fn requests(run: &GuestRun<'_>) -> usize {
    run.outcome.logs.iter().map(Vec::len).sum()
}

fn document_of(first: &GuestRun<'_>, lost: &[PowerCut]) -> Value {
    let drives: Vec<Value> = lost
        .iter()
        .map(|lost| json!({"cached_bytes": lost.cached_bytes, "lost_bytes": lost.lost_bytes}))
        .collect();
    let time = first.outcome.time.nanoseconds();
    json!({"nanoseconds": time, "requests": requests(first), "drives": drives})
}

/// Writes what each drive holds into a file of its own.
fn write_images(models: &Models, folder: &Path) -> Result<(), Failure> {
    let disks = models.disks();
    let mut drives: Vec<(usize, &dyn Device)> = Vec::new();
    for (number, disk) in disks.iter().enumerate() {
        if let Some(data) = disk.data() {
            drives.push((number, data));
        }
    }
    lab::pull::write_images(&drives, None, folder)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn said(words: &[&str]) -> CutArguments {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            cut: CutArguments,
        }
        <Line as clap::Parser>::parse_from([&["x"], words].concat()).cut
    }

    #[test]
    fn a_cut_is_at_a_nanosecond_or_at_a_request() {
        let cut = said(&["--cut-at", "12.345678901s"]).cut().unwrap();
        assert_eq!(cut, Some(Cut::At(Time(12_345_678_901))));
        assert_eq!(said(&["--cut-at-request", "7"]).cut().unwrap(), Some(Cut::Request(7)));
        assert_eq!(said(&[]).cut().unwrap(), None);
        assert!(said(&["--cut-at", "12"]).cut().is_err());
    }

    #[test]
    fn a_second_guest_has_something_to_do() {
        assert!(said(&[]).then(Some("ext3")).unwrap().ends_with("e2fsck -fn $DEVICE"));
        assert!(said(&[]).then(None).is_err());
        assert_eq!(said(&["--then", "ls"]).then(None).unwrap(), "ls");
    }

    /// Modelled disks beside each other.
    struct Beside(Models);

    impl stack::OpenFiles for Beside {
        fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
            stack::NoFiles.open(path, true, None)
        }

        fn models(&self) -> Option<Models> {
            Some(self.0.clone())
        }
    }

    /// "`guest … --images` keeps files after a failed write."
    #[test]
    fn images_that_could_not_all_be_written_are_gone_again() {
        let models = Models::default();
        let files = Beside(models.clone());
        let context = stack::BuildContext { seed: 1, ..stack::BuildContext::new(&files) };
        let disk = "model:maxtor-6y200p0?data=keep&size=1MiB";
        let _stack = stack::parse_and_build(&format!("raid0({disk}, {disk})"), &context).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // The second cannot be made.
        let taken = folder.path().join("drive1.img");
        std::fs::write(&taken, "another's").unwrap();
        let error = write_images(&models, folder.path()).unwrap_err().to_string();
        assert!(error.contains("drive1.img"), "{error}");
        assert!(!folder.path().join("drive0.img").exists(), "the first was left");
        assert_eq!(std::fs::read_to_string(&taken).unwrap(), "another's");
        let below = folder.path().join("new").join("images");
        write_images(&models, &below).unwrap();
        assert_eq!(below.join("drive1.img").metadata().unwrap().len(), 1 << 20);
        // A file is in the way of the folder: folders that were made go too.
        let over = taken.join("images");
        assert!(write_images(&models, &over).is_err() && taken.is_file());
    }
}
