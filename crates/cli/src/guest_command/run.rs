//! `raidloom guest run` and `bench SUITE --guest`: work in a guest, on disks that are stacks.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use block::{Device, Error, ErrorKind, Node};
use clap::Args;
use guest::setup::SETUP_FAILED;
use guest::{Boot, Drive, Format, Kernel, Outcome, Processor, Setup};
use host::mount::FileSystem;
use serde_json::{Value, json};
use stack::{BuildContext, Links, OpenFiles, Stack};

use super::{ended, go_on};
use crate::failure::Failure;
use crate::output::{Output, about, seconds};
use crate::signals;

/// A guest's memory where nothing is said.
const MEMORY: &str = "512MiB";
/// What `bench SUITE --guest` takes for itself, and the suite inside does not see: flags that have
/// a value.
const OUTSIDE: [&str; 11] = [
    "--stack",
    "--fs",
    "--make-options",
    "--mount-options",
    "--md",
    "--disk-size",
    "--scheduler",
    "--read-ahead",
    "--max-request",
    "--queue-depth",
    "--memory",
];

/// What a guest's disks are, and what is made of them.
#[derive(Args, Debug)]
pub(crate) struct GuestArguments {
    /// A disk of the guest: a stack of model: leaves (once for each disk)
    #[arg(long, help_heading = "Guest", value_name = "STACK")]
    pub stack: Vec<String>,

    /// The guest's disks are no larger than this: the outer tracks of a modelled disk
    #[arg(long, help_heading = "Guest", value_name = "SIZE")]
    pub disk_size: Option<String>,

    /// Make this file system and work in it; without it, work is on the device itself
    #[arg(long, help_heading = "Guest", value_name = "NAME")]
    pub fs: Option<String>,

    /// For the program that makes the file system
    #[arg(
        long,
        help_heading = "Guest",
        value_name = "OPTIONS",
        requires = "fs",
        allow_hyphen_values = true
    )]
    pub make_options: Option<String>,

    /// For mount -o
    #[arg(long, help_heading = "Guest", value_name = "OPTIONS", requires = "fs")]
    pub mount_options: Option<String>,

    /// Join the disks with the guest's own md: 'raid5 chunk=64KiB'
    #[arg(long, help_heading = "Guest", value_name = "ARRAY")]
    pub md: Option<String>,

    /// Scheduler of the disks: none, mq-deadline, kyber, bfq [default: the kernel's choice]
    #[arg(long, help_heading = "Guest", value_name = "NAME")]
    pub scheduler: Option<String>,

    /// Read-ahead [default: the kernel's choice, 128KiB]
    #[arg(long, help_heading = "Guest", value_name = "SIZE")]
    pub read_ahead: Option<String>,

    /// The longest request that a disk is given [default: the kernel's choice, 1280KiB]
    #[arg(long, help_heading = "Guest", value_name = "SIZE")]
    pub max_request: Option<String>,

    /// The most requests that a disk is given at a time; 1 is a disk without queueing [default:
    /// 256]
    #[arg(long, help_heading = "Guest", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=256))]
    pub queue_depth: Option<u32>,

    /// Whether writes may stay in a disk's cache until they are flushed
    #[arg(long, help_heading = "Guest", value_name = "true|false", default_value_t = true,
        num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    pub write_cache: bool,
}

/// `guest run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The guest's memory, its page cache included
    #[arg(long, value_name = "SIZE", default_value = MEMORY)]
    pub memory: String,

    /// What all chance in the guest comes from
    #[arg(short = 'z', long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub guest: GuestArguments,

    /// What is run, in the file system if there is one; a single word is a line for the shell
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<String>,
}

/// `guest run`.
pub(super) fn run(
    output: &Output,
    arguments: &RunArguments,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let work = match &arguments.command[..] {
        [line] => line.clone(),
        words => words.iter().map(|word| escape::shell(word)).collect::<Vec<_>>().join(" "),
    };
    let memory = &arguments.memory;
    let ran = Ran::new(output, &arguments.guest, memory, arguments.seed, &work, stop)?;
    let Outcome { status, output: said, errors, .. } = &ran.outcome;
    if output.json {
        let mut document = ran.document();
        document["status"] = json!(status);
        document["output"] = json!(said);
        document["errors"] = json!(errors);
        output.document(&document)?;
    } else {
        output.file(said)?;
        ran.tell(output);
    }
    ran.judge(output)
}

/// `bench SUITE --guest`: the same program with the same arguments inside, but for those that say
/// what the guest is.
pub(crate) fn bench(
    output: &Output,
    guest: &GuestArguments,
    memory: Option<&str>,
    seed: u64,
) -> Result<(), Failure> {
    let stop = signals::stop_flag()?;
    let program = own_program()?;
    let target = match (&guest.fs, &guest.md) {
        (Some(_), _) => "$DISK",
        (None, Some(_)) => "--allow-device /dev/md0 /dev/md0",
        (None, None) => "--allow-device /dev/vda /dev/vda",
    };
    let words = inside(std::env::args_os().skip(1))?;
    let words: Vec<String> = words.iter().map(|word| escape::shell(word)).collect();
    let work = format!("{} {} {target}", escape::shell(&program), words.join(" "));
    let ran = Ran::new(output, guest, memory.unwrap_or(MEMORY), seed, &work, &stop)?;
    let said = &ran.outcome.output;
    if output.json {
        let mut document: Value = match serde_json::from_str(said) {
            Ok(document) => document,
            Err(_) => return ran.judge(output),
        };
        document["clock"] = json!("virtual");
        document["guest"] = ran.document();
        output.document(&document)?;
    } else {
        output.file(said)?;
        ran.tell(output);
    }
    ran.judge(output)
}

/// What the suite inside is told: what was said, but for what the guest is.
fn inside(said: impl Iterator<Item = OsString>) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut said = said.map(|word| {
        word.into_string().map_err(|word| Failure::usage(format!("{}: not UTF-8", word.display())))
    });
    while let Some(word) = said.next() {
        let word = word?;
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if OUTSIDE.contains(&name) {
            if name == word {
                said.next();
            }
        } else if !matches!(name, "--guest" | "--write-cache") {
            words.push(word);
        }
    }
    Ok(words)
}

pub(super) fn own_program() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("where this program lies: {error}")))?;
    Ok(guest::setup::program(&path)?.to_owned())
}

/// Modelled disks need no files; those of one guest that name the same link share it.
#[derive(Default)]
struct NoFiles {
    links: Links,
}

impl OpenFiles for NoFiles {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        let text = format!(
            "{}: a guest lives in modelled time, and a file does not; name model: leaves",
            path.display()
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    fn links(&self) -> Links {
        self.links.clone()
    }
}

/// A stack text with modelled disks that keep what is written to them, for a file system reads it
/// again.
fn keeping(node: Node) -> Node {
    match node {
        Node::Layer { name, options, children } => {
            Node::Layer { name, options, children: children.into_iter().map(keeping).collect() }
        }
        leaf @ Node::Leaf { .. } => {
            let said = matches!(&leaf, Node::Leaf { scheme, options, .. }
                if scheme != "model" || options.iter().any(|(name, _)| name == "data"));
            if said { leaf } else { leaf.with("data", "keep") }
        }
        Node::Missing => node,
    }
}

fn build(text: &str, files: &NoFiles, seed: u64) -> Result<Stack, Failure> {
    let context =
        BuildContext { files, seed, read_only: false, create_bytes: None, emulate: false };
    let node = stack::parse(text).map_err(|error| Failure::usage(format!("--stack: {error}")))?;
    Ok(stack::build(&keeping(node), &context)?)
}

/// A guest that has done its work.
struct Ran<'a> {
    arguments: &'a GuestArguments,
    memory_bytes: u64,
    seed: u64,
    version: String,
    outcome: Outcome,
}

/// What a disk was asked for while the work was done.
#[derive(Default)]
struct Traffic {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    flushes: u64,
    busy_seconds: f64,
}

impl<'a> Ran<'a> {
    fn new(
        output: &Output,
        arguments: &'a GuestArguments,
        memory: &str,
        seed: u64,
        work: &str,
        stop: &AtomicBool,
    ) -> Result<Ran<'a>, Failure> {
        if arguments.stack.is_empty() {
            return Err(Failure::usage(
                "a guest needs a disk: --stack 'model:maxtor-6y200p0'; `raidloom model list` names \
                models",
            ));
        }
        let size = |flag: &str, text: &Option<String>| {
            text.as_ref().map(|text| output.size(flag, text)).transpose()
        };
        let memory_bytes = output.size("--memory", memory)?;
        let size_bytes = size("--disk-size", &arguments.disk_size)?;
        let format = match &arguments.fs {
            Some(name) => Some(format(arguments, &FileSystem::named(name)?)),
            None => None,
        };
        let setup = Setup {
            disks: arguments.stack.len(),
            md: arguments.md.clone(),
            scheduler: arguments.scheduler.clone(),
            read_ahead_bytes: size("--read-ahead", &arguments.read_ahead)?,
            request_max_bytes: size("--max-request", &arguments.max_request)?,
            unflushed: false,
            format,
        };
        let job = setup.job(work)?;
        let (mut stacks, files) = (Vec::new(), NoFiles::default());
        for (text, number) in arguments.stack.iter().zip(0..) {
            stacks.push(build(text, &files, reactor::derive_seed(seed, "disk", number))?);
        }
        let disks = stacks.iter().map(|stack| Drive {
            device: Arc::clone(&stack.device) as Arc<dyn Device>,
            size_bytes,
            write_cache: arguments.write_cache,
        });
        let kernel = Kernel::find()?;
        let boot = Boot {
            kernel: &kernel,
            memory_bytes,
            seed,
            disks: disks.collect(),
            queue_depth: arguments.queue_depth,
            job: &job,
            parameters: "",
            processor: Processor::Same,
        };
        let outcome = boot.run(&|| go_on(stop)).map_err(|error| ended(error.into(), stop))?;
        let version = kernel.version().to_owned();
        Ok(Ran { arguments, memory_bytes, seed, version, outcome })
    }

    /// What each disk was asked for between the work's begin and its end.
    fn traffic(&self) -> Vec<Traffic> {
        let (begin, end) = self.outcome.work().unwrap_or_default();
        self.outcome.logs.iter().map(|log| traffic_between(log, begin, end)).collect()
    }

    fn work_seconds(&self) -> f64 {
        let (begin, end) = self.outcome.work().unwrap_or_default();
        (end.nanoseconds() - begin.nanoseconds()) as f64 / 1e9
    }

    fn label(&self) -> String {
        let short: Vec<&str> = self.version.split('.').take(2).collect();
        format!("modelled, Linux {} in the guest", short.join("."))
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
        json!({
            "label": self.label(), "kernel": self.version, "seed": self.seed,
            "memory_bytes": self.memory_bytes, "file_system": self.arguments.fs,
            "md": self.arguments.md, "work_seconds": self.work_seconds(), "disks": disks,
            "modelled_seconds": self.outcome.time.nanoseconds() as f64 / 1e9,
            "real_seconds": self.outcome.took.as_secs_f64(),
        })
    }

    /// The same for people.
    fn tell(&self, output: &Output) {
        self.outcome.errors.lines().for_each(|line| output.progress(line));
        output.note(&format!(
            "{}: {} of work; it took {}",
            self.label(),
            seconds(self.work_seconds()),
            seconds(self.outcome.took.as_secs_f64())
        ));
        for (number, traffic) in self.traffic().iter().enumerate() {
            output.note(&format!(
                "{}: {} reads ({}), {} writes ({}), {} flushes; busy for {}",
                guest::setup::disk_name(number),
                traffic.reads,
                about(traffic.read_bytes),
                traffic.writes,
                about(traffic.written_bytes),
                traffic.flushes,
                seconds(traffic.busy_seconds)
            ));
        }
    }

    /// How it ends outside.
    fn judge(&self, output: &Output) -> Result<(), Failure> {
        let Outcome { status, errors, .. } = &self.outcome;
        let last = errors.lines().next_back().unwrap_or("it said nothing");
        match *status {
            0 => Ok(()),
            SETUP_FAILED if last.starts_with("setting up: ") => {
                if output.json {
                    errors.lines().for_each(|line| output.progress(line));
                }
                Err(Failure::failed(format!("the guest's disks: {last}")))
            }
            code => {
                Err(Failure::failed(format!("the work in the guest ended with {code}: {last}")))
            }
        }
    }
}

fn traffic_between(
    log: &[export::vhost_user::Done],
    begin: block::Time,
    end: block::Time,
) -> Traffic {
    use export::vhost_user::request::Ask;
    let mut traffic = Traffic::default();
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

fn format(arguments: &GuestArguments, kind: &FileSystem) -> Format {
    let mut make: Vec<String> = kind.make_command().iter().map(|&word| word.to_owned()).collect();
    let options = arguments.make_options.iter().flat_map(|text| text.split_whitespace());
    make.extend(options.map(str::to_owned));
    let mount_options = arguments.mount_options.clone();
    Format { make, kind: kind.kind().to_owned(), mount_options }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_inside_hears_all_but_what_the_guest_is() {
        let said = "bench bonnie -s 64 --guest --fs ext3 --stack=model:a --stack model:b --json \
            --memory 64MiB --write-cache=false -n 0";
        let inside = inside(said.split_whitespace().map(OsString::from)).unwrap();
        assert_eq!(inside.join(" "), "bench bonnie -s 64 --json -n 0");
    }

    #[test]
    fn modelled_disks_of_a_guest_keep_their_data() {
        let text = "raid0(chunk=64KiB, model:maxtor-6y200p0, model:st340015a?data=drop)";
        assert_eq!(
            keeping(stack::parse(text).unwrap()).to_string(),
            "raid0(chunk=64KiB, model:maxtor-6y200p0?data=keep, model:st340015a?data=drop)"
        );
        let error = build("file:a.img", &NoFiles::default(), 1).err().unwrap().to_string();
        assert!(error.contains("modelled time"), "{error}");
    }
}
