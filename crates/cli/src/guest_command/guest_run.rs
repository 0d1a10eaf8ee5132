//! One guest: what its disks are, its work, and what came of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use block::{Device, Error, ErrorKind, Node, Reactor, Time, Traffic};
use clap::{Args, Parser};
use export::image::{Image, ImageKind};
use guest::setup::SETUP_FAILED;
use guest::{
    ArrayCompleteness, Boot, Cut, Drive, Format, Kernel, Outcome, Processor, Setup, TimeBounds,
    USUAL_KERNEL,
};
use host::guard::{Consent, Guard};
use host::limits::promise_memory;
use host::mount::FileSystem;
use lab::guest_format;
use mdtools::NewArraySettings;
use serde_json::{Value, json};
use serve::{OpenOptions, OpenStack};
use stack::{Member, Models, OpenFiles};
use words::Text;

use super::{ended, go_on};
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::keys::Keys;
use crate::output::{Output, about, seconds};

/// A guest's memory where nothing is said.
const MEMORY: &str = "512MiB";

/// What a guest's disks are, and what is made of them.
#[derive(Args, Debug)]
pub(crate) struct GuestArguments {
    /// The guest's memory, its page cache included
    #[arg(long, value_name = "SIZE", default_value = MEMORY)]
    pub memory: String,

    /// What all chance in the guest comes from
    #[arg(short = 'z', long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// A disk of the guest: a stack of model: leaves (once for each disk)
    #[arg(long, help_heading = "Guest", value_name = "STACK")]
    pub stack: Vec<String>,

    /// The guest's disks are no larger than this: the outer tracks of a modelled disk
    #[arg(long, help_heading = "Guest", value_name = "SIZE")]
    pub disk_size: Option<String>,

    /// Make this file system and work in it; without it, work is on the device itself
    #[arg(long, help_heading = "Guest", value_name = "NAME")]
    pub fs: Option<String>,

    /// For mount -o
    #[arg(long, help_heading = "Guest", value_name = "OPTIONS", requires = "fs")]
    pub mount_options: Option<String>,

    /// Join the disks with the guest's own md: 'raid5 chunk=64KiB'
    #[arg(long, help_heading = "Guest", value_name = "ARRAY")]
    pub md: Option<String>,

    /// Let the array's last member have failed, or be rebuilt: degraded, rebuilding. An array of
    /// raidloom's has metadata=1.2 for that
    #[arg(long, help_heading = "Guest", value_name = "STATE", hide_default_value = true,
        default_value = ArrayCompleteness::NAMES[0], value_parser = ArrayCompleteness::NAMES)]
    pub state: String,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub keys: Keys<GuestKeys>,
}

/// What few need to say, called as in plans.
#[derive(Parser, Debug)]
#[command(rename_all = "snake_case", disable_help_flag = true)]
pub(crate) struct GuestKeys {
    /// Scheduler of the disks: none, mq-deadline, kyber, bfq; else the kernel's choice
    #[arg(long)]
    pub scheduler: Option<String>,

    /// Read-ahead; else the kernel's choice, 128KiB
    #[arg(long)]
    pub read_ahead: Option<String>,

    /// The longest request that a disk is given; else the kernel's choice, 1280KiB
    #[arg(long)]
    pub max_request: Option<String>,

    /// The most requests that a disk is given at a time; 1 is a disk without queueing; else 256
    #[arg(long, value_parser = crate::bounds::within::<u32>(1..=256))]
    pub queue_depth: Option<u32>,

    /// Whether writes may stay in a disk's cache until they are flushed: on, off, or unflushed
    /// (there is one, and Linux is not told of it)
    #[arg(long, default_value = "on", value_parser = ["on", "off", "unflushed"])]
    pub write_cache: String,

    /// For the program that makes the file system
    #[arg(long, allow_hyphen_values = true)]
    pub make_options: Option<String>,

    /// Make the file system in an image, a file of an outer file system on the disk: raw, vhd
    #[arg(long, value_parser = ImageKind::NAMES)]
    pub image: Option<String>,

    /// The size of the disk in the image
    #[arg(long)]
    pub image_size: Option<String>,

    /// Whether what goes to the image passes the outer file system's page cache by
    #[arg(long, default_value = "buffered", value_parser = ["buffered", "direct"])]
    pub image_io: String,

    /// The file system that the image is a file of
    #[arg(long)]
    pub outer_file_system: Option<String>,

    /// For the program that makes the outer file system
    #[arg(long, allow_hyphen_values = true)]
    pub outer_make_options: Option<String>,

    /// For mount -o of the outer file system
    #[arg(long)]
    pub outer_mount_options: Option<String>,

    /// The guest's kernel: the usual one, or another that `raidloom guest build` has made
    #[arg(long, default_value = USUAL_KERNEL)]
    pub kernel: String,

    /// How long a guest may take in real time; one that takes longer is ended
    #[arg(long, default_value = "2h")]
    pub real_time_limit: String,

    /// How long it may say nothing in real time, with neither a look at its clock nor a request to
    /// a disk; one that computes for longer is ended
    #[arg(long, default_value = "10min")]
    pub silence_limit: String,
}

impl GuestArguments {
    fn size(output: &Output, flag: &str, text: &Option<String>) -> Result<Option<u64>, Failure> {
        text.as_ref().map(|text| output.size(flag, text)).transpose()
    }

    fn bounds(&self) -> Result<TimeBounds, Failure> {
        let time = |key: &str, text: &str| {
            stack::size::parse_duration(text)
                .map_err(|error| Failure::usage(error).at(format!("-s {key}={text}")))
        };
        let whole = Some(time("real_time_limit", &self.keys.real_time_limit)?);
        let silence = time("silence_limit", &self.keys.silence_limit)?;
        Ok(TimeBounds { silence, whole, ..TimeBounds::USUAL })
    }

    /// What is made of the disks before the work begins.
    fn setup(&self, output: &Output, is_there: bool) -> Result<Setup, Failure> {
        let format = match &self.fs {
            Some(name) => Some(guest_format(
                &FileSystem::named(name)?,
                self.keys.make_options.as_deref(),
                self.mount_options.clone(),
            )?),
            None => None,
        };
        let image_bytes = Self::size(output, "-s image_size=", &self.keys.image_size)?;
        let image = match (&self.keys.image, image_bytes, &self.keys.outer_file_system) {
            (Some(kind), Some(size_bytes), Some(outer)) => {
                Some(self.image(kind, size_bytes, outer)?)
            }
            (None, ..) => None,
            _ => {
                return Err(Failure::usage(catalogue::IMAGE_NEEDS));
            }
        };
        Ok(Setup {
            disks: self.stack.len(),
            md: self.md.clone(),
            state: self.state.parse().map_err(Failure::usage)?,
            is_there,
            scheduler: self.keys.scheduler.clone(),
            read_ahead_bytes: Self::size(output, "-s read_ahead=", &self.keys.read_ahead)?,
            request_max_bytes: Self::size(output, "-s max_request=", &self.keys.max_request)?,
            unflushed: self.keys.write_cache == "unflushed",
            format,
            image,
        })
    }

    /// The image that the file system lies in, and what that is a file of.
    fn image(&self, kind: &str, size_bytes: u64, outer: &str) -> Result<(Image, Format), Failure> {
        let image = Image {
            kind: kind.parse().map_err(Failure::usage)?,
            size_bytes,
            direct: self.keys.image_io == "direct",
        };
        image.check().map_err(|wrong| Failure::usage(wrong).at("-s image_size"))?;
        let format = guest_format(
            &FileSystem::named(outer)?,
            self.keys.outer_make_options.as_deref(),
            self.keys.outer_mount_options.clone(),
        )?;
        Ok((image, format))
    }

    /// The stacks that are the guest's disks, all turning together.
    fn open_disks(
        &self,
        size_bytes: Option<u64>,
        state: ArrayCompleteness,
        conditions: &Conditions,
    ) -> Result<Vec<OpenStack>, Failure> {
        let Conditions { models, is_there, .. } = conditions;
        let beside = (models, &Reactor::virtual_clock());
        let mut stacks = Vec::new();
        for text in &self.stack {
            let opened = open(text, size_bytes, self.seed, beside, *is_there)?;
            if self.md.is_none() && state != ArrayCompleteness::Whole && !is_there {
                opened.degrade(state == ArrayCompleteness::Rebuilding, self.seed)?;
            }
            stacks.push(opened);
        }
        // Making superblocks has kept some of them turning longer than others.
        models.align();
        Ok(stacks)
    }
}

/// Modelled disks need no files but for what they are asked for, which `record(…)` writes down.
struct RecordingsAlone;

impl OpenFiles for RecordingsAlone {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        let text = statement!(FILE_NO_MODELLED_TIME, path = path.display());
        Err(Error::new(ErrorKind::Invalid, text))
    }

    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<File, Error> {
        Guard::new(Consent::default()).open_kept(path, size_bytes)
    }
}

/// A stack text with modelled disks that keep what is written to them, for a file system reads it
/// again, and of which no more than so many bytes are used.
fn keeping(node: Node, size_bytes: Option<u64>) -> Node {
    match node {
        Node::Layer { name, options, children } => {
            let children = children.into_iter().map(|child| keeping(child, size_bytes)).collect();
            Node::Layer { name, options, children }
        }
        leaf @ Node::Leaf { .. } => {
            let lacks = |option: &str| {
                matches!(&leaf, Node::Leaf { scheme, options, .. }
                    if scheme == "model" && !options.iter().any(|(name, _)| name == option))
            };
            let (data, size) = (lacks("data"), lacks("size"));
            let leaf = if data { leaf.with("data", "keep") } else { leaf };
            match size_bytes.filter(|_| size) {
                Some(bytes) => leaf.with("size", block::size_text(bytes)),
                None => leaf,
            }
        }
        Node::Missing => node,
    }
}

/// Opens a disk of the guest as `array start` does; an array with superblocks is made anew, unless
/// it is there. Disks with the same `models` are beside each other.
fn open(
    text: &str,
    size_bytes: Option<u64>,
    seed: u64,
    (models, reactor): (&Models, &Reactor),
    is_there: bool,
) -> Result<OpenStack, Failure> {
    let node = stack::parse(text).map_err(|error| Failure::usage(error.drawn()).at("--stack"))?;
    let new_array = NewArraySettings {
        name: "guest".to_owned(),
        consistency: "resync".to_owned(),
        bitmap_chunk_bytes: None,
    };
    let options = OpenOptions {
        files: &RecordingsAlone,
        seed,
        read_only: false,
        create_bytes: None,
        // A modelled disk always answers, after whatever time its model takes.
        member_time: None,
        upkeep: true,
        new_array: (!is_there).then_some(&new_array),
        reactor: Some(reactor),
        models: Some(models),
    };
    Ok(OpenStack::open(&keeping(node, size_bytes), &options)?)
}

/// On what a guest stands, and how it ends.
pub(super) struct Conditions {
    /// Its modelled drives.
    pub(super) models: Models,
    /// Arrays and file system are on them already.
    pub(super) is_there: bool,
    /// When the power fails.
    pub(super) cut: Option<Cut>,
    /// What another has left in its `$OUT`.
    pub(super) before: Option<PathBuf>,
}

/// A guest that has done its work.
pub(super) struct GuestRun<'a> {
    pub(super) arguments: &'a GuestArguments,
    memory_bytes: u64,
    version: String,
    /// What is doubtful about figures from inside.
    pub(super) flags: Vec<String>,
    /// What the drives of each disk have moved from their making on: text, bytes read and written.
    drives: Vec<(String, u64, u64)>,
    pub(super) outcome: Outcome,
}

/// What a disk was asked for while the work was done.
#[derive(Default)]
struct DiskTraffic {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    flushes: u64,
    busy_seconds: f64,
}

impl<'a> GuestRun<'a> {
    /// Boots a guest and lets it work, until it ends.
    pub(super) fn new(
        output: &Output,
        arguments: &'a GuestArguments,
        work: &str,
        conditions: &Conditions,
        stop: &AtomicBool,
    ) -> Result<GuestRun<'a>, Failure> {
        if arguments.stack.is_empty() {
            return Err(Failure::usage(catalogue::GUEST_NEEDS_DISK));
        }
        let memory_bytes = output.size("--memory", &arguments.memory)?;
        let bounds = arguments.bounds()?;
        promise_memory("--memory", memory_bytes)?;
        let size_bytes = GuestArguments::size(output, "--disk-size", &arguments.disk_size)?;
        let setup = arguments.setup(output, conditions.is_there)?;
        let job = setup.job(work)?;
        let stacks = arguments.open_disks(size_bytes, setup.state, conditions)?;
        let disks = stacks.iter().map(|stack| Drive {
            device: Arc::clone(&stack.device) as Arc<dyn Device>,
            write_cache: arguments.keys.write_cache != "off",
        });
        let kernel = Kernel::find(&arguments.keys.kernel)?;
        let boot = Boot {
            kernel: &kernel,
            memory_bytes,
            seed: arguments.seed,
            disks: disks.collect(),
            queue_depth: arguments.keys.queue_depth,
            job: &job,
            parameters: "",
            processor: Processor::Same,
            bounds,
            cut: conditions.cut,
            before: conditions.before.as_deref(),
        };
        let outcome = boot.run(&|| go_on(stop)).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => Failure::from(error).then(catalogue::BOUNDS_OF_GUEST),
            _ => ended(error.into(), stop),
        })?;
        let version = kernel.version().to_owned();
        let moved = |member: &Member| {
            let Traffic { read_bytes, written_bytes, .. } = member.counters.read();
            (member.name.clone(), read_bytes, written_bytes)
        };
        let drives = stacks.iter().flat_map(|stack| stack.members.iter().map(moved)).collect();
        Ok(GuestRun { arguments, memory_bytes, version, flags: Vec::new(), drives, outcome })
    }

    /// When the work began and ended; all of it where the power failed meanwhile.
    fn span(&self) -> (Time, Time) {
        match self.outcome.status {
            Some(_) => self.outcome.work().unwrap_or_default(),
            None => (Time::default(), self.outcome.time),
        }
    }

    /// What each disk was asked for between the work's begin and its end.
    fn traffic(&self) -> Vec<DiskTraffic> {
        let (begin, end) = self.span();
        self.outcome.logs.iter().map(|log| traffic_between(log, begin, end)).collect()
    }

    fn work_seconds(&self) -> f64 {
        let (begin, end) = self.span();
        (end.nanoseconds() - begin.nanoseconds()) as f64 / 1e9
    }

    fn label(&self) -> Text {
        let short: Vec<&str> = self.version.split('.').take(2).collect();
        statement!(MODELLED_IN_GUEST, version = short.join("."))
    }

    /// With what the work said.
    pub(super) fn full_document(&self) -> Value {
        let Outcome { status, output, errors, .. } = &self.outcome;
        let mut document = self.document();
        document["status"] = json!(status);
        document["output"] = json!(output);
        document["errors"] = json!(errors);
        document
    }

    fn document(&self) -> Value {
        let disks: Vec<Value> = self
            .traffic()
            .iter()
            .zip(&self.arguments.stack)
            .map(|(traffic, stack)| {
                json!({
                    "stack": stack, "reads": traffic.reads, "read_bytes": traffic.read_bytes,
                    "writes": traffic.writes, "written_bytes": traffic.written_bytes,
                    "flushes": traffic.flushes, "busy_seconds": traffic.busy_seconds,
                })
            })
            .collect();
        let drives: Vec<Value> = self
            .drives
            .iter()
            .map(|(drive, read, written)| {
                json!({"drive": drive, "read_bytes": read, "written_bytes": written})
            })
            .collect();
        json!({
            "drives": drives, "label": self.label().english(), "kernel": self.version,
            "seed": self.arguments.seed, "memory_bytes": self.memory_bytes,
            "file_system": self.arguments.fs, "image": self.arguments.keys.image,
            "outer_file_system": self.arguments.keys.outer_file_system,
            "md": self.arguments.md, "state": self.arguments.state,
            "work_seconds": self.work_seconds(), "disks": disks,
            "work_begin_seconds": self.span().0.nanoseconds() as f64 / 1e9,
            "modelled_seconds": self.outcome.time.nanoseconds() as f64 / 1e9,
            "real_seconds": self.outcome.took.as_secs_f64(), "flags": self.flags,
        })
    }

    /// The same for people.
    pub(super) fn tell(&self, output: &Output) {
        self.outcome.errors.lines().for_each(|line| output.progress(line));
        output.note(&say!(
            WORK_TOOK,
            label = self.label(),
            work = seconds(self.work_seconds()),
            took = seconds(self.outcome.took.as_secs_f64())
        ));
        for (number, traffic) in self.traffic().iter().enumerate() {
            output.note(&say!(
                DISK_TRAFFIC,
                disk = guest::setup::disk_name(number),
                reads = traffic.reads,
                read = about(traffic.read_bytes),
                writes = traffic.writes,
                written = about(traffic.written_bytes),
                flushes = traffic.flushes,
                busy = seconds(traffic.busy_seconds)
            ));
        }
    }

    /// How it ends outside.
    pub(super) fn judge(&self, output: &Output) -> Result<(), Failure> {
        let Outcome { status, errors, .. } = &self.outcome;
        let silent = catalogue::GUEST_SAID_NOTHING.template();
        let last = errors.lines().next_back().unwrap_or(silent);
        match status.unwrap_or_default() {
            0 => Ok(()),
            SETUP_FAILED if last.starts_with("setting up: ") => {
                if output.json {
                    errors.lines().for_each(|line| output.progress(line));
                }
                Err(Failure::failed(statement!(DISKS_OF_GUEST, last = last)))
            }
            code => Err(Failure::failed(statement!(GUEST_WORK_ENDED, code = code, last = last))),
        }
    }
}

fn traffic_between(
    log: &[export::vhost_user::AnsweredRequest],
    begin: block::Time,
    end: block::Time,
) -> DiskTraffic {
    use export::vhost_user::request::Ask;
    let mut traffic = DiskTraffic::default();
    let (mut busy, mut until) = (0, 0);
    for done in log.iter().filter(|done| done.taken >= begin && done.taken <= end) {
        match done.ask {
            Ask::Read { .. } => {
                traffic.reads += 1;
                traffic.read_bytes += done.data_bytes;
            }
            Ask::Write { .. } => {
                traffic.writes += 1;
                traffic.written_bytes += done.data_bytes;
            }
            Ask::Flush => traffic.flushes += 1,
            _ => (),
        }
        // In the order in which they were done, so that nothing is counted twice.
        let from = done.taken.nanoseconds().max(until);
        until = until.max(done.done.nanoseconds());
        busy += until.saturating_sub(from);
    }
    traffic.busy_seconds = busy as f64 / 1e9;
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modelled_disks_of_a_guest_keep_their_data() {
        let text = "raid0(chunk=64KiB, model:maxtor-6y200p0, model:st340015a?data=drop)";
        assert_eq!(
            keeping(stack::parse(text).unwrap(), Some(1 << 30)).to_string(),
            "raid0(chunk=64KiB, model:maxtor-6y200p0?data=keep&size=1GiB, \
            model:st340015a?data=drop&size=1GiB)"
        );
        let beside = (&Models::default(), &Reactor::virtual_clock());
        let error = open("file:a.img", None, 1, beside, false).err().unwrap().to_string();
        assert!(error.contains("modelled time"), "{error}");
    }
}
