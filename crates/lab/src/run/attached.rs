//! A cell's file system: a stack served by a process of its own, a file system made on it, mounted
//! in the run's folder.
//!
//! ```text
//!   run folder/attached/disk      placeholder, becomes the stack's blocks (FUSE), under a loop device
//!                      /folder    the file system, where suites work
//! ```
//!
//! Every step is in the run's journal before it is taken.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use block::Node;
use export::RemovalPolicy;
use results::Configuration;

use super::serve::{Answer, Moved, Order, Question, receive, send, send_file};
use crate::cell::CellSettings;
use crate::plan::axes::{DEFAULTS, FILE_SYSTEM, MAKE_OPTIONS, MOUNT_OPTIONS, NONE, POLICY};
use crate::plan::{Leaf, leaves};
use host::Error;
use host::guard::{Access, Guard};
use host::journal::Journal;
use host::mount::{self, FileSystem};

const FOLDER: &str = "attached";

/// A program that calls [`super::serve_cell`], and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeWith {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The file system of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted<'a> {
    pub(crate) file_system: FileSystem,
    make_options: Option<&'a str>,
    pub(crate) mount_options: Option<&'a str>,
    pub(crate) policy: RemovalPolicy,
}

impl<'a> Wanted<'a> {
    /// What a configuration says; `None` when it has no file system.
    pub(crate) fn of(configuration: &'a Configuration) -> Result<Option<Wanted<'a>>, Error> {
        let setting = |axis: &str| configuration.settings.get(axis).map(String::as_str);
        let options = |axis: &str| setting(axis).filter(|text| *text != DEFAULTS);
        let Some(name) = setting(FILE_SYSTEM).filter(|name| *name != NONE) else { return Ok(None) };
        Ok(Some(Wanted {
            file_system: FileSystem::named(name)?,
            make_options: options(MAKE_OPTIONS),
            mount_options: options(MOUNT_OPTIONS),
            policy: setting(POLICY)
                .map_or(Ok(RemovalPolicy::default()), str::parse)
                .map_err(Error::usage)?,
        }))
    }
}

impl Wanted<'_> {
    /// What the program that makes it is told: nothing of an ext file system is left for the kernel
    /// to write later, beside the measurement, unless the plan has its own say about that.
    pub(crate) fn options_to_make(&self) -> Option<String> {
        let own = self.make_options.unwrap_or_default();
        let lazy = self.file_system.name.starts_with("ext")
            && !own.split_ascii_whitespace().any(|word| word.starts_with("-E"));
        let all = if lazy {
            format!("-Elazy_itable_init=0,lazy_journal_init=0 {own}")
        } else {
            own.to_owned()
        };
        Some(all).filter(|all| !all.trim().is_empty())
    }
}

/// The places in the run's folder where file systems of cells appear, made once.
pub(super) struct Ground {
    disk: PathBuf,
    point: PathBuf,
}

impl Ground {
    pub(super) fn make(run: &Path, journal: &mut Journal) -> Result<Ground, Error> {
        let folder = run.join(FOLDER);
        journal.make_folder(&folder)?;
        // The kernel's tables name real paths.
        let folder =
            folder.canonicalize().map_err(|error| Error::from_io(folder.display(), &error))?;
        let disk = folder.join("disk");
        let placeholder =
            File::create_new(&disk).map_err(|error| Error::from_io(disk.display(), &error))?;
        journal.note_file(&disk, &placeholder)?;
        let point = folder.join("folder");
        journal.make_folder(&point)?;
        journal.note_served(&disk)?;
        Ok(Ground { disk, point })
    }
}

/// Why there is no file system.
pub(super) enum NotAttached {
    /// This machine cannot have it: no right to mount, no loop devices, no program that makes it,
    /// not in its kernel.
    NotHere(String),
    /// Something is wrong with the stack or its members.
    Failed(Error),
}

fn not_here(error: impl std::fmt::Display) -> NotAttached {
    NotAttached::NotHere(error.to_string())
}

/// A file system that is mounted. Dropping it takes everything away again.
pub(super) struct Attached {
    served: Served,
    point: PathBuf,
    mounted: bool,
}

impl Attached {
    /// Serves the stack, makes the file system and mounts it.
    pub(super) fn new(
        ground: &Ground,
        journal: &mut Journal,
        guard: &Guard,
        serve_with: &ServeWith,
        opened: (&Node, &CellSettings, u64),
        wanted: &Wanted<'_>,
    ) -> Result<Attached, NotAttached> {
        journal.note_loop(&ground.disk).map_err(NotAttached::Failed)?;
        let served = Served::start(ground, guard, serve_with, opened, wanted.policy)?;
        let device = served.device.clone();
        journal.note_loop_device(&ground.disk, &device).map_err(NotAttached::Failed)?;
        let mut attached = Attached { served, point: ground.point.clone(), mounted: false };
        wanted
            .file_system
            .make_with(&device, wanted.options_to_make().as_deref())
            .map_err(not_here)?;
        // The same name is another use of the device in each visit, and the journal tells uses.
        journal.note_mount(&ground.point, &device).map_err(NotAttached::Failed)?;
        // Where the run's folder lies says nothing about why.
        let place = format!("{}: ", ground.point.display());
        let mount = wanted.file_system.mount(&device, &ground.point, wanted.mount_options);
        mount.map_err(|error| NotAttached::NotHere(error.to_string().replace(&place, "")))?;
        attached.mounted = true;
        Ok(attached)
    }

    /// Where suites work.
    pub(super) fn folder(&self) -> &Path {
        &self.point
    }

    /// What the user should know of the stack.
    pub(super) fn notes(&self) -> &[String] {
        &self.served.notes
    }

    /// What each member moved until now, and the processor time of the serving process.
    pub(super) fn moved(&mut self) -> Result<(Vec<Moved>, Duration), Error> {
        match self.served.ask(Question::Moved)? {
            Answer::Moved { members, cpu } => Ok((members, cpu)),
            other => Err(unexpected(&other)),
        }
    }

    /// Unmounts and takes everything away.
    pub(super) fn take_away(mut self) -> Result<(), Error> {
        mount::unmount_patiently(&self.point)?;
        self.mounted = false;
        self.served.end()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.mounted {
            // The journal says so if it stays.
            let _ = mount::unmount_by_force(&self.point);
        }
    }
}

fn unexpected(answer: &Answer) -> Error {
    match answer {
        Answer::Failed(text) => Error::failed(text),
        other => Error::failed(format!("the process that serves the stack answers {other:?}")),
    }
}

/// The process that serves a stack.
struct Served {
    process: Child,
    /// `None` when it was told to end.
    socket: Option<UnixStream>,
    device: PathBuf,
    notes: Vec<String>,
}

impl Served {
    fn start(
        ground: &Ground,
        guard: &Guard,
        serve_with: &ServeWith,
        (node, cell, seed): (&Node, &CellSettings, u64),
        policy: RemovalPolicy,
    ) -> Result<Served, NotAttached> {
        let mut files = BTreeMap::new();
        for leaf in leaves(node).map_err(NotAttached::Failed)? {
            if let Leaf::Existing { path, .. } = leaf {
                let file = guard
                    .open(&path, Access::Write)
                    .map_err(|error| NotAttached::Failed(error.into()))?;
                files.insert(path, file);
            }
        }
        let order = Order {
            stack: node.to_string(),
            seed,
            new_array: cell.new_array.clone(),
            member_time: cell.member_time,
            upkeep: cell.upkeep,
            files: files.keys().cloned().collect(),
            disk: ground.disk.clone(),
            point: ground.point.clone(),
            policy: policy.to_string(),
        };
        let failed = |error: std::io::Error| {
            NotAttached::Failed(Error::from_io(
                "starting the process that serves the stack",
                &error,
            ))
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(&serve_with.program);
        command
            .args(&serve_with.arguments)
            .stdin(std::os::fd::OwnedFd::from(theirs))
            .stdout(Stdio::null());
        // Ctrl-C is for the run, which unmounts first.
        let process = command.process_group(0).spawn().map_err(failed)?;
        drop(command);
        let mut served =
            Served { process, socket: Some(ours), device: PathBuf::new(), notes: Vec::new() };
        let socket = served.socket.as_ref().expect("just made");
        send(socket, &order)
            .and_then(|()| files.values().try_for_each(|file| send_file(socket, file)))
            .map_err(failed)?;
        match receive(socket).map_err(failed)? {
            Answer::Ready { device, notes } => (served.device, served.notes) = (device, notes),
            Answer::NotHere(text) => return Err(NotAttached::NotHere(text)),
            other => return Err(NotAttached::Failed(unexpected(&other))),
        }
        Ok(served)
    }

    fn ask(&mut self, question: Question) -> Result<Answer, Error> {
        let failed = |error: std::io::Error| {
            Error::from_io("the process that serves the stack has ended", &error)
        };
        let socket =
            self.socket.as_ref().ok_or_else(|| failed(std::io::ErrorKind::NotConnected.into()))?;
        send(socket, &question).and_then(|()| receive(socket)).map_err(failed)
    }

    fn end(&mut self) -> Result<(), Error> {
        let ended = match self.ask(Question::End)? {
            Answer::Ended => Ok(()),
            other => Err(unexpected(&other)),
        };
        self.socket = None;
        let _ = self.process.wait();
        ended
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Without its socket it ends by itself.
        if self.socket.take().is_some() {
            let _ = self.process.wait();
        }
    }
}
