//! A chosen layout, made: the array, its configuration, what starts it, and the file system on it.
//!
//! ```text
//!   check ──> md is told ──> superblocks ──> configuration ──> started; its file system made and mounted
//!   nothing  <── removed ──  <── erased ──    <── removed ──    what fails takes back what was done before it
//!   written
//! ```

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use array::md::Consistency;
use host::guard::{Consent, Guard, stable_name};
use host::mount::FileSystem;
use host::{Ending, Error, system};
use mdtools::{Create, MemberSource};
use serde::Serialize;
use serve::{
    Attach, Boot, Client, MdException, MountSettings, Patience, ServeWith, Settings, Status,
};
use words::{Message, statement};

use super::{ChosenLayout, Member};
use crate::catalogue;

/// What is to be made, and where.
pub struct MakeRequest<'a> {
    /// The layout, over drives and files that are there.
    pub layout: &'a ChosenLayout,
    /// The array's name, by which it is started too.
    pub name: String,
    /// Where its file system is mounted; an absolute path.
    pub mount: Option<PathBuf>,
    /// What may be erased.
    pub consent: Consent,
    /// The arrays that the run it was chosen by has made ([`crate::own_arrays`]): what a killed one
    /// has left of them asks for no consent.
    pub own_arrays: HashSet<[u8; 16]>,
    /// Where configurations and units are.
    pub boot: Boot,
    /// How servers are started where no service manager does it.
    pub serve_with: &'a ServeWith,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MakingStep {
    /// The superblocks are written.
    Array,
    /// The configuration is written.
    Configuration,
    /// What the machine starts from hears that md leaves it alone.
    Initramfs,
    /// It is started, and its file system made and mounted.
    Start,
}

/// An array that was made.
#[derive(Clone, Debug)]
pub struct MadeArray {
    /// How it fares.
    pub status: Status,
    /// The file that says how it is started.
    pub configuration: PathBuf,
    /// Whether a service manager starts it with the machine.
    pub starts_at_boot: bool,
    /// md's own configuration, where it had to be told to leave the array alone.
    pub md_configuration: Option<PathBuf>,
    /// Whether the initramfs was made anew with that.
    pub initramfs_renewed: bool,
}

impl MakeRequest<'_> {
    /// Whether everything is there that it takes. Nothing is written.
    ///
    /// # Errors
    /// What is missing or in the way, and what to do.
    pub fn check(&self) -> Result<(), Error> {
        self.paths()?;
        self.boot.free_configuration(&self.name)?;
        if self.serve_with.runtime.entry(&self.name).is_some_and(|entry| entry.process.is_some()) {
            return Err(Error::refused(catalogue::NAME_IS_RUNNING).at(&self.name));
        }
        let Some(folder) = &self.mount else { return Ok(()) };
        let Some(kind) = self.layout.file_system else {
            return Err(Error::usage(catalogue::NOTHING_TO_MOUNT).at(mount_flag(folder)));
        };
        if !rustix::process::geteuid().is_root() {
            return Err(Error::refused(catalogue::ROOT_MOUNTS).at(mount_flag(folder)));
        }
        check_file_system(kind)?;
        check_folder(folder)
    }

    /// Makes it; `on_step` hears what is being done. What was done is taken back where a step
    /// fails or `stop` is set, and what cannot be is named.
    ///
    /// # Errors
    /// As [`MakeRequest::check`]; what the guard refuses; what a step fails with.
    pub fn make(
        &self,
        stop: &AtomicBool,
        on_step: &mut dyn FnMut(MakingStep),
    ) -> Result<MadeArray, Error> {
        self.check()?;
        let settings = self.settings()?;
        on_step(MakingStep::Array);
        let create = self.create()?;
        let mut exception = None;
        let made = self.write_superblocks(&create, stop, &mut exception).and_then(|()| {
            self.go_on(&settings, exception.as_ref(), stop, on_step).map_err(|error| {
                error.and_then_some(match self.destroy(&create).err() {
                    None => catalogue::ARRAY_TAKEN_BACK.into(),
                    Some(left) => statement!(catalogue::ARRAY_NOT_TAKEN_BACK, left = left.text()),
                })
            })
        });
        made.map_err(|error| {
            let left = exception.and_then(|one| self.boot.remove_md_exception(&one).err());
            match left {
                Some(left) => error.and_then_some(format!("; {left}")),
                None => error,
            }
        })
    }

    /// md, where it assembles whatever array has come, takes the drives in the moment in which
    /// their superblocks are there, unless it was told before.
    fn write_superblocks(
        &self,
        create: &Create,
        stop: &AtomicBool,
        exception: &mut Option<MdException>,
    ) -> Result<(), Error> {
        let on_devices = create.sources().iter().any(|source| {
            let data = source.path().and_then(|path| fs::metadata(path).ok());
            data.is_some_and(|data| data.file_type().is_block_device())
        });
        let guard = Guard::new(self.consent.clone()).owning(self.own_arrays.clone());
        let paths: Vec<PathBuf> =
            create.sources().iter().filter_map(|source| source.path().map(PathBuf::from)).collect();
        guard.check_all(&paths)?;
        let replaced = replaced_arrays(&guard, create);
        // Before the line of this one is there, whose configuration comes later.
        let unmade = self.boot.unconfigured_exceptions();
        mdtools::create_announced(&guard, create, stop, &mut |created| {
            if let (true, Some(first)) = (on_devices, created.superblocks.first())
                && self.boot.md_assembles()
            {
                *exception = Some(self.boot.except_from_md(&self.name, &first.set_uuid)?);
            }
            Ok(())
        })?;
        // Who serves it opens them itself.
        guard.let_go();
        replaced.iter().try_for_each(|uuid| self.boot.forget_md_exception(uuid).map(|_| ()))?;
        if exception.is_some() {
            // The array is made: what fails here is tried again the next time.
            let _ = forget_unmade(&self.boot, &unmade);
        }
        Ok(())
    }

    fn go_on(
        &self,
        settings: &Settings,
        exception: Option<&MdException>,
        stop: &AtomicBool,
        on_step: &mut dyn FnMut(MakingStep),
    ) -> Result<MadeArray, Error> {
        check_stop(stop)?;
        on_step(MakingStep::Configuration);
        let made = self.mount.as_deref().map(make_folder).transpose()?.unwrap_or_default();
        let without_folder = |error: Error| {
            made.iter().fold(error, |error, folder| match fs::remove_dir(folder) {
                Ok(()) => error,
                Err(left) => error.and_then_some(format!("; {}: {left}", folder.display())),
            })
        };
        let configuration =
            self.boot.write_configuration(&self.name, settings).map_err(without_folder)?;
        let initramfs_renewed = exception.is_some() && self.boot.renews_initramfs();
        let renewed = match initramfs_renewed {
            true => {
                on_step(MakingStep::Initramfs);
                self.boot.renew_initramfs()
            }
            false => Ok(()),
        };
        let started = renewed.and_then(|()| check_stop(stop)).and_then(|()| {
            on_step(MakingStep::Start);
            self.start(settings, stop)
        });
        let started = started.map_err(|error| as_asked(error, stop));
        let (status, starts_at_boot) = started.map_err(without_folder).map_err(|error| {
            match fs::remove_file(&configuration) {
                Ok(()) => error,
                Err(left) => error.and_then_some(format!("; {}: {left}", configuration.display())),
            }
        })?;
        let md_configuration = exception.map(|one| one.file.clone());
        Ok(MadeArray { status, configuration, starts_at_boot, md_configuration, initramfs_renewed })
    }

    /// Starts it, by the service manager where there is one. Its file system is made on the way,
    /// for the settings name one, and the array is blank.
    fn start(&self, settings: &Settings, stop: &AtomicBool) -> Result<(Status, bool), Error> {
        let patience = Patience::until(stop);
        let with_left = |error: Error, undone: Result<(), Error>| match undone {
            Ok(()) => error,
            Err(left) => error.and_then_some(format!("; {left}")),
        };
        if !self.boot.has_service_manager() {
            let settings = Settings { name: Some(self.name.clone()), ..settings.clone() };
            let launched = self.serve_with.launch_within(settings, &patience)?;
            return match check_stop(stop) {
                Ok(()) => Ok((launched.status.clone(), false)),
                Err(error) => Err(with_left(error, launched.stop())),
            };
        }
        self.boot.enable(&self.name, &patience)?;
        let status = Client::connect(&self.serve_with.runtime, &self.name)
            .and_then(|mut client| client.status())
            .and_then(|status| check_stop(stop).map(|()| status))
            .map_err(|error| with_left(error, self.boot.disable(&self.name)))?;
        Ok((status, true))
    }

    /// The members and spares, by names that stay.
    fn paths(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
        let path = |member: &Member| match member {
            Member::Path(path) => {
                let path = std::path::absolute(path)
                    .map_err(|error| Error::from_io(path.display(), &error))?;
                Ok(stable_name(&path))
            }
            Member::Model(name) => {
                Err(Error::usage(statement!(catalogue::MODEL_CANNOT_BE_MADE, name = name)))
            }
            Member::Made(_) => Err(Error::usage(catalogue::FILES_ARE_GONE)),
        };
        let all = |members: &[Member]| members.iter().map(path).collect::<Result<Vec<_>, _>>();
        Ok((all(&self.layout.members)?, all(&self.layout.spares)?))
    }

    fn create(&self) -> Result<Create, Error> {
        let (members, spares) = self.paths()?;
        let layout = self.layout;
        let of_level = layout.md_layout();
        Ok(Create {
            name: self.name.clone(),
            level: layout.level,
            layout: mdtools::layout(layout.level, of_level.as_deref()).map_err(|expected| {
                Error::usage(statement!(
                    catalogue::MD_LAYOUT_EXPECTED,
                    layout = of_level.unwrap_or_default(),
                    expected = expected
                ))
            })?,
            chunk_bytes: layout.chunk_bytes.unwrap_or(0),
            members: members.into_iter().map(|path| Some(path.into())).collect(),
            spares: spares.into_iter().map(MemberSource::from).collect(),
            consistency: match layout.losses() {
                0 => Consistency::Resync,
                _ => Consistency::Bitmap { chunk_bytes: None },
            },
            create_bytes: None,
            assume_clean: false,
            blank: true,
            encrypt: None,
        })
    }

    fn settings(&self) -> Result<Settings, Error> {
        let (members, spares) = self.paths()?;
        let named = |paths: Vec<PathBuf>| paths.into_iter().map(Member::Path).collect::<Vec<_>>();
        let layout = ChosenLayout {
            members: [named(members), named(spares)].concat(),
            spares: Vec::new(),
            ..self.layout.clone()
        };
        let mount = self.mount.clone().zip(self.layout.file_system);
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| Error::from_io(path.display(), &error))
        };
        Ok(Settings {
            // md's superblocks say the shape: a member that is added later changes nothing here.
            stack: layout.stack(),
            attach: if self.mount.is_some() { Attach::Yes } else { Attach::No },
            allow_device: self.consent.devices.iter().map(absolute).collect::<Result<_, _>>()?,
            mount: mount.map(|(folder, kind)| MountSettings {
                folder,
                fs: kind.name.to_owned(),
                options: None,
                make_options: None,
                image: None,
            }),
            ..Settings::default()
        })
    }

    /// Erases the superblocks that were made.
    fn destroy(&self, create: &Create) -> Result<(), Error> {
        let consent = Consent { erase_signature: true, ..self.consent.clone() };
        let sources: Vec<MemberSource> = create.sources().into_iter().cloned().collect();
        mdtools::destroy(&Guard::new(consent), &sources).map(|_| ())
    }
}

/// The arrays of which every member is to be overwritten: they are no more then.
fn replaced_arrays(guard: &Guard, create: &Create) -> Vec<[u8; 16]> {
    let sources = create.sources().into_iter();
    let candidates = sources.filter_map(|source| mdtools::examine(guard, source).ok()?.candidate());
    let mut members: HashMap<[u8; 16], (u32, u32)> = HashMap::new();
    for candidate in candidates {
        let superblock = candidate.superblock;
        let (found, all) = members.entry(superblock.set_uuid).or_default();
        (*found, *all) = (*found + 1, superblock.raid_disks);
    }
    members.into_iter().filter(|(_, (found, all))| found >= all).map(|(uuid, _)| uuid).collect()
}

/// Takes the lines out of md's configuration by which it leaves arrays alone that are not there: of
/// these, which have no configuration ([`Boot::unconfigured_exceptions`]), those without a member
/// on this machine. A making that was killed has left them. The files that they stood in.
///
/// # Errors
/// When drives cannot be listed, or md's configuration cannot be read or written.
pub fn forget_unmade(boot: &Boot, arrays: &[[u8; 16]]) -> Result<Vec<PathBuf>, Error> {
    // Only root sees all drives.
    if arrays.is_empty() || !rustix::process::geteuid().is_root() {
        return Ok(Vec::new());
    }
    let all = mdtools::members_in(&[])?;
    let found = mdtools::find(&Guard::new(Consent::default()), &all);
    let is_there = |uuid: &[u8; 16]| found.groups.iter().any(|group| group.set_uuid() == *uuid);
    let mut changed = Vec::new();
    for uuid in arrays.iter().filter(|uuid| !is_there(uuid)) {
        changed.extend(boot.forget_md_exception(uuid)?);
    }
    changed.sort();
    changed.dedup();
    Ok(changed)
}

/// Whether a file system can be made and mounted here.
///
/// # Errors
/// What is missing, and what to do.
pub fn check_file_system(kind: FileSystem) -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::refused(catalogue::ROOT_MOUNTS_IT).at(kind.name));
    }
    kind.check_mountable()?;
    check_maker(kind)
}

/// Whether a file system can be part of the work in guests: their kernel is there and has it, and
/// so is its maker.
///
/// # Errors
/// What is missing.
pub fn check_file_system_in_guests(kind: FileSystem) -> Result<(), Error> {
    guest::Kernel::find(guest::USUAL_KERNEL)?;
    if !guest::Kernel::usual_mounts(kind.kind()) {
        return Err(Error::refused(catalogue::NOT_IN_GUESTS).at(kind.name));
    }
    check_maker(kind)
}

fn check_maker(kind: FileSystem) -> Result<(), Error> {
    match system::program(kind.maker()) {
        Some(_) => Ok(()),
        None => Err(Error::refused(statement!(
            catalogue::PROGRAM_TO_MAKE,
            program = kind.maker(),
            package = kind.package()
        ))
        .at(kind.name)),
    }
}

fn check_stop(stop: &AtomicBool) -> Result<(), Error> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Error::interrupted(catalogue::ENDED_ON_REQUEST)),
        false => Ok(()),
    }
}

/// Ctrl-C at a terminal ends the programs that were started as well: what they fail with then is
/// not why it ended.
fn as_asked(error: Error, stop: &AtomicBool) -> Error {
    match error.ending() {
        // It says so, and perhaps what is left.
        Ending::Interrupted => error,
        _ => check_stop(stop).err().unwrap_or(error),
    }
}

/// Whether a file system can be mounted on a folder, or the folder be made.
fn check_folder(folder: &Path) -> Result<(), Error> {
    let at = |why: Message| Error::refused(why).at(mount_flag(folder));
    match fs::read_dir(folder).map(|mut names| names.next().is_some()) {
        Ok(true) => Err(at(catalogue::MOUNT_WOULD_HIDE)),
        Ok(false) if system::mounts().iter().any(|mount| mount.point == folder) => {
            Err(at(catalogue::MOUNTED_ALREADY))
        }
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::from_io(mount_flag(folder), &error)),
    }
}

fn mount_flag(folder: &Path) -> String {
    format!("--mount {}", folder.display())
}

/// Makes a folder that is not there, and those above it; which it made, the innermost first.
fn make_folder(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let made = missing_folders(folder);
    let place = || statement!(catalogue::MAKING_PATH, path = folder.display());
    let failed = |error| Error::from_io(place(), &error);
    fs::create_dir_all(folder).map_err(failed)?;
    Ok(made)
}

/// A folder and those above it, as far as they are not there; the innermost first.
#[must_use]
pub fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|one| !one.is_dir()).map(Path::to_owned).collect()
}
