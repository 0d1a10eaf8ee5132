//! The guard: the one module of raidloom that opens anything for writing.
//!
//! ```text
//! path ── look (reads only) ──> Findings ── judge (pure) ──> refuse, with the way out
//!                                               └─> open O_EXCL, lock, look and judge again
//! ```
//!
//! What is refused and how consent is given is `docs/safety.md`. Facts are gathered first and
//! judged as plain data, so that every refusal can be tested without the disk it is about.

#![expect(
    clippy::disallowed_methods,
    reason = "somebody else's hold on a device passes by itself and rings nobody"
)]

mod catalogue;
mod consents;
mod drives;
mod remote;
mod signature;
mod users;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use array::md::TimeStamp;
use block::{Device, Error, ErrorKind, Node};
use rustix::fs::OFlags;
use stack::{ImageServer, RbdImage};
use tracing::debug;
use words::{Message, Text, statement};

use crate::limits;
use crate::rbd;
use crate::system::{self, DeviceNumber};
pub use drives::{Answer, Drive, drives, look_at, requests_of, silent_drives};
pub use remote::{MemberBytes, RemoteDrive, refuse_in_use};
pub use signature::{find as find_signature, find_image, marked_ranges, read_up_to};

/// What the user has agreed to in so many words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Serial numbers of disks that may be erased (`--erase SERIAL`).
    pub erase_serials: Vec<String>,
    /// Whether a file or disk that carries a signature may be overwritten (`--erase-signature`).
    pub erase_signature: bool,
    /// Block devices without a name under `/dev/disk/by-id` and without a serial number (loop,
    /// zram) that may be erased (`--allow-device PATH`).
    pub devices: Vec<PathBuf>,
    /// What is opened is going to be used as it is: what it carries was put there to be used, so it
    /// asks for no consent to be erased. Whatever is in use elsewhere is refused as ever, and disks
    /// are named by identity.
    pub in_place: bool,
    /// Disk images of virtual machines (VHD, qcow2, VMDK, ...) are taken for the bytes that they
    /// are made of, and not refused, where a file is to be used in place or read as a disk
    /// (`--raw`).
    pub raw: bool,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading; nothing can be harmed.
    Read,
    /// Reading and writing, anywhere in it.
    Write,
}

/// What is known of a path before it is opened for writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Findings {
    /// The path as it was named.
    named: PathBuf,
    kind: Kind,
    /// It may not be written to, whatever is asked for.
    read_only: bool,
    /// Where a file system on it, or on a part of it, is mounted.
    mounted_at: Vec<PathBuf>,
    swap: bool,
    /// Devices that stand on it: md, dm, a loop device over a file.
    held_by: Vec<Text>,
    /// What depends on the disk: a folder's name for people.
    carries: Vec<Message>,
    /// What it holds.
    signature: Option<&'static str>,
    /// The kind of disk image that it is, where it is to be taken for a disk.
    image: Option<&'static str>,
    partitions: usize,
    serial: Option<String>,
    /// Its name under `/dev/disk/by-id`.
    by_id: Option<PathBuf>,
}

impl Findings {
    fn used_by(&mut self, users: users::Users) {
        (self.mounted_at, self.swap, self.held_by) = (users.mounted_at, users.swap, users.held_by);
    }
}

/// A file that was made.
#[derive(Clone, Debug)]
struct MadeFile {
    path: PathBuf,
    /// It is there to stay once what it was made for goes well.
    is_kept: bool,
    /// An empty file that was taken over: it is emptied again, and not removed.
    was_there: bool,
}

impl MadeFile {
    fn undo(&self, id: (u64, u64)) -> io::Result<()> {
        let is_same = |data: &fs::Metadata| (data.dev(), data.ino()) == id;
        if !fs::symlink_metadata(&self.path).is_ok_and(|data| is_same(&data)) {
            return Ok(());
        }
        if !self.was_there {
            return fs::remove_file(&self.path);
        }
        let flags = OFlags::NOFOLLOW.bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(flags).open(&self.path)?;
        if is_same(&file.metadata()?) { file.set_len(0) } else { Ok(()) }
    }
}

/// What tells one held file from another: device, inode, number of the block device, and whether it
/// may be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileKey(u64, u64, u64, Access);

impl FileKey {
    fn of(data: &fs::Metadata, access: Access) -> FileKey {
        FileKey(data.dev(), data.ino(), data.rdev(), access)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    File,
    Device(DeviceNumber),
    Folder,
    /// A pipe, a socket, a character device.
    Other,
}

/// The folder whose links name disks by what is printed on them.
const BY_ID: &str = "/dev/disk/by-id";

/// Opens members, and nothing that was not meant to be one.
#[derive(Debug, Default)]
pub struct Guard {
    consent: Consent,
    /// Devices as in the consent, to which it was given afterwards.
    devices_later: Mutex<Vec<PathBuf>>,
    /// Folders whose disk must not be written to as a device.
    protected: Vec<(PathBuf, Message)>,
    /// Identities of arrays that this very run has made, of members that it had the consent for.
    own_arrays: HashSet<[u8; 16]>,
    /// Files made by this process, by device and inode: no other's data is in them.
    made: Mutex<HashMap<(u64, u64), MadeFile>>,
    /// Block devices that were looked at for writing, as they were named, and their serial numbers.
    seen: Mutex<Vec<(PathBuf, Option<String>)>>,
    /// What is open and locked. What `open` hands out are duplicates of these: a ring lets go of
    /// its files some time after it is closed, so that the lock of a file that was opened anew each
    /// time would be in its own way.
    held: Mutex<HashMap<FileKey, File>>,
    /// Drives of other machines that may be written to, by their leaves: what is on them from then
    /// on is of this command.
    admitted: Mutex<HashSet<String>>,
}

fn refused(path: &Path, why: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Refused, why).at(path.display())
}

/// Images whose disk the layer `image` reads.
const READABLE_IMAGES: [&str; 6] = [
    "qcow2 image",
    "VMDK image",
    "VHD image",
    "VHD image of fixed size",
    "VHDX image",
    "VDI image",
];

/// A disk image that was named as a disk.
fn not_raw(path: &Path, image: &str) -> Error {
    let layer = match READABLE_IMAGES.contains(&image) {
        true => statement!(catalogue::IMAGE_LAYER, path = path.display()),
        false => Text::default(),
    };
    let said =
        statement!(catalogue::NOT_THE_DISK, image = image, layer = layer, path = path.display(),);
    refused(path, said)
}

fn image_in(mut file: &File) -> io::Result<Option<&'static str>> {
    let size_bytes = io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
    find_image(file, size_bytes)
}

impl Guard {
    /// A guard that knows what the user agreed to.
    #[must_use]
    pub fn new(consent: Consent) -> Guard {
        let mut protected = vec![
            (PathBuf::from("/"), catalogue::RUNNING_SYSTEM),
            (PathBuf::from("/boot"), catalogue::RUNNING_SYSTEM),
        ];
        if let Ok(binary) = std::env::current_exe() {
            protected.push((binary, catalogue::RAIDLOOM_ITSELF));
        }
        Guard {
            consent,
            devices_later: Mutex::default(),
            protected,
            own_arrays: HashSet::new(),
            made: Mutex::default(),
            seen: Mutex::default(),
            held: Mutex::default(),
            admitted: Mutex::default(),
        }
    }

    /// The same, and the disk under `folder` is never written to as a device: results are kept
    /// there.
    #[must_use]
    pub fn protecting(mut self, folder: &Path) -> Guard {
        let folder = folder.ancestors().find_map(|above| fs::canonicalize(above).ok());
        self.protected.extend(folder.map(|folder| (folder, catalogue::RUN_FOLDER)));
        self
    }

    /// The same, and the superblocks of these arrays are no signatures: a run that goes on has made
    /// them itself, where it may write.
    #[must_use]
    pub fn owning(mut self, arrays: HashSet<[u8; 16]>) -> Guard {
        self.own_arrays = arrays;
        self
    }

    /// The user agrees to more block devices without an identity ([`Consent::devices`]).
    pub fn allow_devices(&self, devices: impl IntoIterator<Item = PathBuf>) {
        lock_of(&self.devices_later).extend(devices);
    }

    /// Makes a new file of `size_bytes` whose blocks are all allocated, and hands it to `note`
    /// while it is still empty. An empty file of that name is taken over; anything else of that
    /// name is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when there is something already, [`ErrorKind::NoSpace`] when it does
    /// not fit, what the system says otherwise, and whatever `note` returns. The file is not
    /// removed then: that is for the owner of the note, or for [`Guard::undo_made`].
    pub fn make_file<E: From<Error>>(
        &self,
        path: &Path,
        size_bytes: u64,
        note: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = || statement!(catalogue::MAKING_MEMBER, path = path.display());
        let failed = |error: io::Error| E::from(Error::from_io(place(), error));
        let options = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            options
        };
        let (file, was_there) = match options().create_new(true).mode(0o600).open(path) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = options().custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path);
                let empty = file.and_then(|file| Ok((file.metadata()?, file))).ok();
                match empty.filter(|(data, _)| data.is_file() && data.len() == 0) {
                    Some((_, file)) => (file, true),
                    None => {
                        return Err(refused(path, catalogue::EXISTS).into());
                    }
                }
            }
            Err(error) => return Err(failed(error)),
        };
        self.note_made(path, &file, (false, was_there)).map_err(failed)?;
        note(&file)?;
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size_bytes) {
            Ok(()) => Ok(()),
            // Some file systems cannot reserve; then the run finds out when the disk is full.
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(size_bytes).map_err(failed),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Makes a new file of `size_bytes` that takes no room until it is written and is there to
    /// stay, or leaves the one that is there as it is.
    ///
    /// # Errors
    /// What the system says; [`Guard::undo_made`] removes what was made.
    pub fn make_kept_file(&self, path: &Path, size_bytes: u64) -> Result<(), Error> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let made = made.and_then(|file| {
            self.note_made(path, &file, (true, false))?;
            file.set_len(size_bytes)
        });
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::from_io(statement!(catalogue::MAKING, path = path.display()), error))
            }
            _ => Ok(()),
        }
    }

    fn note_made(
        &self,
        path: &Path,
        file: &File,
        (is_kept, was_there): (bool, bool),
    ) -> io::Result<()> {
        let data = file.metadata()?;
        let made = MadeFile { path: path.to_owned(), is_kept, was_there };
        lock_of(&self.made).insert((data.dev(), data.ino()), made);
        Ok(())
    }

    /// Removes the files that were made through this guard, are not there to stay and are still
    /// the same; says in words what could not be removed.
    pub fn remove_made(&self) -> Vec<String> {
        self.remove(|made| !made.is_kept)
    }

    /// The same with those that are there to stay too: what they were made for has failed.
    pub fn undo_made(&self) -> Vec<String> {
        self.remove(|_| true)
    }

    fn remove(&self, which: impl Fn(&MadeFile) -> bool) -> Vec<String> {
        let made = lock_of(&self.made).extract_if(|_, made| which(made)).collect::<Vec<_>>();
        let failed = |(id, made): ((u64, u64), MadeFile)| {
            let error = made.undo(id).err()?;
            let path = made.path.display();
            let said = statement!(catalogue::NOT_REMOVED, path = path, error = error.to_string());
            Some(said.to_string())
        };
        made.into_iter().filter_map(failed).collect()
    }

    /// Opens a path that a plan or a stack text names. For writing, everything in it is as good as
    /// overwritten, so it is refused unless it is known to be free; and no other can open it
    /// through a guard as long as this guard lives.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the reason and what to do, [`ErrorKind::NotFound`],
    /// [`ErrorKind::Permission`], or what the system says.
    pub fn open(&self, path: &Path, access: Access) -> Result<File, Error> {
        self.open_with(path, access, |_| ())
    }

    /// The same, where some of what is found is what it is opened for: `overlook` takes it out.
    fn open_with(
        &self,
        path: &Path,
        access: Access,
        overlook: fn(&mut Findings),
    ) -> Result<File, Error> {
        let judge = |mut findings: Findings| {
            overlook(&mut findings);
            self.judge(&findings, access).map(|()| findings.kind)
        };
        let failed = |error: io::Error| {
            let act = match access {
                Access::Read => catalogue::OPENING_TO_READ,
                Access::Write => catalogue::OPENING_TO_WRITE,
            };
            let act = match error.kind() {
                io::ErrorKind::PermissionDenied => statement!(catalogue::NOT_PERMITTED, act = act),
                io::ErrorKind::ResourceBusy => statement!(catalogue::HELD_OPEN, act = act),
                _ => act.into(),
            };
            Error::from_io(act, error).at(path.display())
        };
        debug!(path = %path.display(), ?access, "open");
        let real = fs::canonicalize(path).map_err(failed)?;
        let held = FileKey::of(&fs::metadata(&real).map_err(failed)?, access);
        if let Some(file) = lock_of(&self.held).get(&held) {
            return file.try_clone().map_err(failed);
        }
        let kind = judge(self.look(path, &real, access).map_err(failed)?)?;
        let mut options = OpenOptions::new();
        options.read(true);
        // Whatever stood here a moment ago: no link is followed now, and a pipe does not make us
        // wait.
        let mut flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if access == Access::Write {
            options.write(true);
            if matches!(kind, Kind::Device(_)) {
                flags |= OFlags::EXCL;
            }
        }
        options.custom_flags(flags.bits() as i32);
        let file = patiently(
            OPEN_ATTEMPTS,
            || options.open(&real),
            |error| error.kind() == io::ErrorKind::ResourceBusy,
        );
        let file = file.map_err(failed)?;
        self.lock(path, &file, access)?;
        if access == Access::Write
            && judge(self.look_at(path, &real, &file).map_err(failed)?)? != kind
        {
            return Err(refused(path, catalogue::REPLACED));
        }
        let opened = FileKey::of(&file.metadata().map_err(failed)?, access);
        let duplicate = file.try_clone().map_err(failed)?;
        lock_of(&self.held).insert(opened, file);
        Ok(duplicate)
    }

    /// Opens a path for reading what it holds as the blocks of a disk.
    ///
    /// # Errors
    /// As [`Guard::open`], and [`ErrorKind::Refused`] for a disk image that is anything but these
    /// blocks.
    pub fn open_image(&self, path: &Path) -> Result<File, Error> {
        let file = self.open(path, Access::Read)?;
        if !self.consent.raw
            && let Some(image) = image_in(&file)
                .map_err(|error| Error::from_io(catalogue::READING, error).at(path.display()))?
        {
            return Err(not_raw(path, image));
        }
        Ok(file)
    }

    /// Takes over a file that another process has opened through its guard, lock and all: opening
    /// its path gives this file.
    ///
    /// # Errors
    /// What the system says.
    pub fn adopt(&self, file: File) -> io::Result<()> {
        let data = file.metadata()?;
        let mut held = lock_of(&self.held);
        held.insert(FileKey::of(&data, Access::Read), file.try_clone()?);
        held.insert(FileKey::of(&data, Access::Write), file);
        Ok(())
    }

    /// Lets go of all that was opened through it: nothing writes to any of it any more, and others
    /// may open it from now on.
    pub fn let_go(&self) {
        for (_, file) in lock_of(&self.held).drain() {
            // A duplicate keeps the lock of the original until it is closed, unless it is unlocked.
            let _ = file.unlock();
        }
    }

    /// Opens a path for a look at what it says of itself. It is neither locked nor held: what else
    /// has it open does not matter, what is read may be changing, and it may be opened for writing
    /// afterwards.
    ///
    /// # Errors
    /// As [`Guard::open`] for reading, but for what is in use.
    pub fn peek(&self, path: &Path) -> Result<File, Error> {
        let failed =
            |error: io::Error| Error::from_io(catalogue::OPENING_TO_READ, error).at(path.display());
        let real = fs::canonicalize(path).map_err(failed)?;
        self.judge(&self.look(path, &real, Access::Read).map_err(failed)?, Access::Read)?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(&real).map_err(failed)
    }

    /// Whether `open` would refuse to write to the path, without opening it for writing.
    ///
    /// # Errors
    /// As [`Guard::open`].
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        self.judge(&self.findings(path)?, Access::Write)
    }

    /// Refuses consent that was given and matches nothing: a serial number that no device has which
    /// was checked or opened for writing, a path that none was named by. To be asked when all have
    /// been, and before anything is written.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the serial number or the path, and what there is instead.
    pub fn refuse_stray_consent(&self) -> Result<(), Error> {
        let seen = lock_of(&self.seen);
        if let Some(stray) = self
            .consent
            .erase_serials
            .iter()
            .find(|serial| !seen.iter().any(|(_, own)| own.as_ref() == Some(*serial)))
        {
            let name = |(path, serial): &(PathBuf, Option<String>)| match serial {
                Some(serial) => {
                    statement!(catalogue::HAS_SERIAL, path = path.display(), serial = serial)
                }
                None => statement!(catalogue::HAS_NO_SERIAL, path = path.display()),
            };
            let there = match seen.is_empty() {
                true => catalogue::NO_DEVICE_NAMED.into(),
                false => Text::joined(seen.iter().map(name), ", "),
            };
            let said = statement!(catalogue::STRAY_SERIAL, serial = stray, there = there);
            return Err(Error::new(ErrorKind::Invalid, said));
        }
        match self.consent.devices.iter().find(|path| !seen.iter().any(|(named, _)| named == *path))
        {
            Some(stray) => {
                let said = statement!(catalogue::STRAY_DEVICE, path = stray.display());
                Err(Error::new(ErrorKind::Invalid, said))
            }
            None => Ok(()),
        }
    }

    /// One owner writes, or many read. The lock is advisory, and udev honours it too.
    fn lock(&self, path: &Path, file: &File, access: Access) -> Result<(), Error> {
        let try_lock =
            || if access == Access::Write { file.try_lock() } else { file.try_lock_shared() };
        let looks = Cell::new(0);
        let passes = || match system::lock_on(file) {
            // udev locks a drive that it looks at.
            Some(lock) if lock.is_shared && lock.process != std::process::id() => {
                looks.set(looks.get() + 1);
                looks.get() < OPEN_ATTEMPTS
            }
            // The ring of a process that has ended holds its files for a moment longer than the
            // process lives.
            lock => !lock.is_some_and(|lock| crate::facts::lives(lock.process)),
        };
        let locked = patiently(LOCK_ATTEMPTS, try_lock, |error| {
            matches!(error, TryLockError::WouldBlock) && passes()
        });
        match locked {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                let own = std::process::id();
                let why = match system::lock_holder(file) {
                    Some(process) if process == own => catalogue::NAMED_TWICE.into(),
                    Some(process) => statement!(catalogue::OPEN_IN_PROCESS, process = process),
                    None => catalogue::OPEN_ELSEWHERE.into(),
                };
                Err(refused(path, why))
            }
            // Some network file systems have no locks. Two writers there are the user's business.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            Err(TryLockError::Error(error)) => {
                Err(Error::from_io(catalogue::LOCKING, error).at(path.display()))
            }
        }
    }

    /// Gathers what is known of a path, opening it for reading at most.
    fn look(&self, named: &Path, real: &Path, access: Access) -> io::Result<Findings> {
        let data = fs::metadata(real)?;
        let plain = data.is_file() || data.file_type().is_block_device();
        let mut findings =
            Findings { named: named.to_owned(), kind: kind_of(&data), ..Findings::default() };
        if !plain || access == Access::Read && !self.refuses_images() {
            return Ok(findings);
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(real)?;
        if access == Access::Read {
            findings.image = image_in(&file)?;
            return Ok(findings);
        }
        self.look_at(named, real, &file)
    }

    /// Whatever is used in place is used as a disk.
    fn refuses_images(&self) -> bool {
        self.consent.in_place && !self.consent.raw
    }

    fn look_at(&self, named: &Path, real: &Path, file: &File) -> io::Result<Findings> {
        let data = file.metadata()?;
        let kind = kind_of(&data);
        let mut findings = Findings { named: named.to_owned(), kind, ..Findings::default() };
        match kind {
            Kind::File => {
                let id = (data.dev(), data.ino());
                if lock_of(&self.made).get(&id).is_some_and(|made| !made.is_kept) {
                    return Ok(findings);
                }
                findings.used_by(users::of(&data, real, &system::mounts()));
                findings.read_only = data.mode() & 0o222 == 0;
                findings.signature = self.signature_in(file, data.len())?;
            }
            Kind::Device(number) => {
                let mounts = system::mounts();
                findings.used_by(users::of(&data, real, &mounts));
                self.look_at_device(&mut findings, number, file, &mounts)?;
                lock_of(&self.seen).push((named.to_owned(), findings.serial.clone()));
            }
            Kind::Folder | Kind::Other => (),
        }
        if self.refuses_images() {
            findings.image = image_in(file)?;
        }
        Ok(findings)
    }

    fn look_at_device(
        &self,
        findings: &mut Findings,
        number: DeviceNumber,
        file: &File,
        mounts: &[system::Mount],
    ) -> io::Result<()> {
        use std::io::Seek;
        let whole = system::whole_disk(number);
        findings.partitions = system::partitions(number).len();
        findings.read_only = system::sys_folder(number).is_some_and(|folder| {
            fs::read_to_string(folder.join("ro")).is_ok_and(|text| text.trim() == "1")
        });
        let carries = self
            .protected
            .iter()
            .filter(|(folder, _)| system::disks_under(mounts, folder).contains(&whole));
        findings.carries = carries.map(|(_, what)| *what).collect();
        findings.carries.dedup();
        findings.serial = serial(whole);
        findings.by_id = by_id_name(number);
        let size_bytes = (&*file).seek(io::SeekFrom::End(0))?;
        findings.signature = self.signature_in(file, size_bytes)?;
        Ok(())
    }

    /// What it holds, but for superblocks of the run's own.
    fn signature_in(
        &self,
        file: &impl FileExt,
        size_bytes: u64,
    ) -> io::Result<Option<&'static str>> {
        if self.own_arrays.is_empty() {
            return signature::find(file, size_bytes);
        }
        let without = signature::WithoutArray::of(file, &self.own_arrays)?;
        signature::find(&without, size_bytes)
    }

    /// Whether what was found may be opened. Pure.
    fn judge(&self, found: &Findings, access: Access) -> Result<(), Error> {
        let refused = |why: Text| Err(refused(&found.named, why));
        match found.kind {
            Kind::Folder => return refused(catalogue::A_FOLDER.into()),
            Kind::Other => return refused(catalogue::NO_DISK.into()),
            Kind::File | Kind::Device(_) => (),
        }
        if let Some(image) = found.image.filter(|_| self.refuses_images()) {
            return Err(not_raw(&found.named, image));
        }
        if access == Access::Read {
            return Ok(());
        }
        if let Kind::Device(_) = found.kind {
            self.judge_name(found)?;
        }
        if found.read_only {
            return refused(catalogue::WRITE_PROTECTED.into());
        }
        if let Some(point) = found.mounted_at.first() {
            return refused(statement!(catalogue::MOUNTED, point = point.display()));
        }
        if found.swap {
            return refused(catalogue::SWAP.into());
        }
        if !found.held_by.is_empty() {
            let user = Text::joined(&found.held_by, ", ");
            return refused(statement!(catalogue::USED_BY, user = user));
        }
        if let Some(what) = found.carries.first() {
            return refused(statement!(catalogue::DEPENDED_ON, what = *what));
        }
        let holds = match (found.signature, found.partitions) {
            (Some(signature), _) => Some(statement!(catalogue::SIGNATURE, signature = signature)),
            (None, 0) => None,
            (None, count) => Some(statement!(catalogue::PARTITIONS, count = count)),
        };
        if let Some(holds) =
            holds.filter(|_| !self.consent.erase_signature && !self.consent.in_place)
        {
            return refused(statement!(catalogue::HOLDS, what = holds));
        }
        if let Kind::Device(_) = found.kind {
            self.judge_consent(found)?;
        }
        Ok(())
    }

    /// Disks are named by what is printed on them: `/dev/sdb` is another disk after the next start.
    fn judge_name(&self, found: &Findings) -> Result<(), Error> {
        if found.named.parent() == Some(Path::new(BY_ID)) || self.allows_device(found) {
            return Ok(());
        }
        let path = found.named.display();
        let why = match &found.by_id {
            Some(by_id) => statement!(catalogue::UNSTABLE_NAME, path = by_id.display()),
            None => statement!(catalogue::NO_IDENTITY, folder = BY_ID, path = path),
        };
        Err(refused(&found.named, why))
    }

    /// Only a device that cannot be named by identity may be named by path.
    fn allows_device(&self, found: &Findings) -> bool {
        let is_allowed = || {
            self.consent.devices.contains(&found.named)
                || lock_of(&self.devices_later).contains(&found.named)
        };
        found.by_id.is_none() && is_allowed()
    }

    fn judge_consent(&self, found: &Findings) -> Result<(), Error> {
        if self.allows_device(found) || self.consent.in_place {
            return Ok(());
        }
        match &found.serial {
            Some(serial) if self.consent.erase_serials.contains(serial) => Ok(()),
            Some(serial) => {
                Err(refused(&found.named, statement!(catalogue::ERASED, serial = serial)))
            }
            None => Err(refused(&found.named, catalogue::NO_SERIAL)),
        }
    }
}

fn kind_of(data: &fs::Metadata) -> Kind {
    let kind = data.file_type();
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_block_device() {
        Kind::Device(DeviceNumber::from_raw(data.rdev()))
    } else {
        Kind::Other
    }
}

/// The serial number of a whole disk: what udev has read from it, or what its driver shows.
fn serial(disk: DeviceNumber) -> Option<String> {
    let udev = fs::read_to_string(format!("/run/udev/data/b{disk}")).unwrap_or_default();
    let property = |name: &str| {
        udev.lines().find_map(|line| {
            line.strip_prefix("E:")?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned)
        })
    };
    let serial = property("ID_SERIAL_SHORT").or_else(|| property("ID_SERIAL"));
    let serial = serial
        .or_else(|| system::queue_setting(disk, "device/serial"))
        .or_else(|| system::queue_setting(disk, "serial"));
    serial.filter(|serial| !serial.is_empty())
}

/// The name of a file or device that means the same after the machine was started again: a block
/// device's link under `/dev/disk/by-id`, where it has one.
#[must_use]
pub fn stable_name(path: &Path) -> PathBuf {
    let link = system::block_number(path).and_then(by_id_name);
    link.filter(|_| !path.starts_with("/dev/disk")).unwrap_or_else(|| path.to_owned())
}

/// The link under `/dev/disk/by-id` that leads to a device; of several the longest, which tells
/// model and serial number.
fn by_id_name(number: DeviceNumber) -> Option<PathBuf> {
    let links = fs::read_dir(BY_ID).ok()?.flatten().map(|entry| entry.path());
    links
        .filter(|link| system::block_number(link) == Some(number))
        .max_by_key(|link| (link.as_os_str().len(), link.clone()))
}

impl Drop for Guard {
    fn drop(&mut self) {
        for file in lock_of(&self.held).values() {
            // Not left to closing, which has no effect while a ring still holds the file.
            let _ = file.unlock();
        }
    }
}

fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a device that is open elsewhere is tried again, and one whose last owner has ended or
/// is about to.
const OPEN_ATTEMPTS: u32 = 20;
const LOCK_ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// Tries so often at most, 50 ms apart, while `passes` says that an error will pass: for what
/// another process holds, which tells nothing when it lets go.
///
/// # Errors
/// The first that will not pass, or the last.
pub fn patiently<T, E>(
    attempts: u32,
    mut attempt: impl FnMut() -> Result<T, E>,
    passes: impl Fn(&E) -> bool,
) -> Result<T, E> {
    for _ in 1..attempts {
        match attempt() {
            Err(error) if passes(&error) => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
    attempt()
}

impl stack::OpenFiles for Guard {
    fn time(&self) -> fn() -> Option<TimeStamp> {
        || Some(TimeStamp { seconds: crate::facts::unix_seconds(), microseconds: 0 })
    }

    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, Error> {
        if let Some(size_bytes) = create.filter(|_| !read_only && !path.exists()) {
            self.make_file(path, size_bytes, |_| Ok::<(), Error>(()))?;
        }
        Guard::open(self, path, if read_only { Access::Read } else { Access::Write })
    }

    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<File, Error> {
        self.make_kept_file(path, size_bytes)?;
        self.open_with(path, Access::Write, |findings| {
            findings.signature = findings.signature.filter(|name| !signature::is_kept(name));
            findings.image = findings.image.filter(|name| !signature::is_kept(name));
        })
    }

    fn open_disk_image(&self, path: &Path, read_only: bool) -> Result<File, Error> {
        let access = if read_only { Access::Read } else { Access::Write };
        self.open_with(path, access, |findings| findings.image = None)
    }

    fn admit_remote(&self, leaf: &Node, device: &Arc<dyn Device>) -> Result<(), Error> {
        self.admit(leaf, || RemoteDrive::over(leaf.to_string(), Arc::clone(device)))
    }

    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, Error> {
        rbd::serve(image)
    }

    fn promise_memory(&self, bytes: u64) -> Result<(), Error> {
        limits::promise_memory(limits::OF_STACKS, bytes)
    }
}

#[cfg(test)]
mod tests;
