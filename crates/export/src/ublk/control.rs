//! The commands by which ublk devices are made, looked at and taken away.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{Error, ErrorKind};
use reactor::ublk::{self, UblkCommand};
use rustix::event::Timespec;
use rustix::io::Errno;
use words::{Text, statement};

use super::protocol::{
    COMPLETE_IN_TASK, DEVICE_BYTES, DeviceInfo, PARAMETER_BYTES, RECOVERS, REISSUES, UNPRIVILEGED,
};
use crate::catalogue;

/// Where the driver takes commands.
pub const CONTROL: &str = "/dev/ublk-control";

/// A command, as the driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Find = 0x02,
    Add = 0x04,
    Delete = 0x05,
    Start = 0x06,
    Stop = 0x07,
    SetParameters = 0x08,
    Parameters = 0x09,
    StartRecovery = 0x10,
    EndRecovery = 0x11,
    /// As `Find`, for devices of users who are not root (Linux 6.3).
    FindOwn = 0x12,
    /// What the driver can do (Linux 6.5).
    Features = 0x13,
}

/// A command about a request, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestVerb {
    Fetch = 0x20,
    CommitAndFetch = 0x21,
}

/// How the driver reads the numbers of commands. Linux 6.4 and later take them for ioctls, and may
/// be built so that they take nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    Plain,
    Ioctl,
}

impl Numbering {
    fn of(self, verb: Verb) -> u32 {
        match (self, verb) {
            (Numbering::Plain, verb) => verb as u32,
            // These only tell.
            (_, Verb::Find | Verb::Parameters | Verb::FindOwn | Verb::Features) => {
                rustix::ioctl::opcode::read::<[u8; ublk::COMMAND_BYTES]>(b'u', verb as u8)
            }
            (_, verb) => {
                let code = rustix::ioctl::opcode::read_write::<[u8; ublk::COMMAND_BYTES]>;
                code(b'u', verb as u8)
            }
        }
    }

    /// The number of a command about a request.
    pub(super) fn of_request(self, verb: RequestVerb) -> u32 {
        match self {
            Numbering::Plain => verb as u32,
            Numbering::Ioctl => rustix::ioctl::opcode::read_write::<[u8; 16]>(b'u', verb as u8),
        }
    }
}

/// The file of a device's server, and the device itself.
pub(super) fn server_path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/ublkc{number}"))
}

pub(super) fn block_path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/ublkb{number}"))
}

/// What carries commands out.
pub(super) trait Driver: Send {
    /// Ends within the limit, or as `TimedOut` a moment later.
    fn command(&self, command: UblkCommand, payload: &mut [u8], limit: Duration) -> io::Result<()>;
}

impl Driver for OwnedFd {
    fn command(&self, command: UblkCommand, payload: &mut [u8], limit: Duration) -> io::Result<()> {
        ublk::command(self, command, payload, limit)
    }
}

/// The driver.
pub(super) struct Control {
    driver: Box<dyn Driver>,
    pub(super) numbering: Numbering,
    /// `None` where it does not say what it can do.
    features: Option<u64>,
    /// A command was not answered. What it waits for the next ones would wait for too, each as
    /// long, so none is sent.
    is_silent: Cell<bool>,
    /// Whoever is not root names each device by its file, for which a rule of udev has made it the
    /// owner.
    unprivileged: bool,
}

/// How long a new device's file may take to be there, and this user's.
const FILE_ATTEMPTS: u32 = 100;
/// How long the driver may take for what it does by itself.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// And where it waits for requests to be answered: tables of partitions are read when a device is
/// started, and what lies in the page cache is written when one is stopped. Of requests each has
/// the member time limit.
const REQUESTS_TIME: Duration = Duration::from_secs(120);
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

impl Control {
    /// # Errors
    /// [`ErrorKind::NotFound`] where the kernel has no ublk, [`ErrorKind::Permission`] without the
    /// right to it.
    pub(super) fn open() -> Result<Control, Error> {
        let file = File::options().read(true).write(true).open(CONTROL);
        let file = file.map_err(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Error::from_io(CONTROL, error);
            }
            let text = Text::from(catalogue::NO_UBLK).at(CONTROL);
            Error::with_source(ErrorKind::NotFound, "", error).retold(text)
        })?;
        let is_root = rustix::process::geteuid().is_root();
        Control::over(Box::new(OwnedFd::from(file)), !is_root)
    }

    /// Asks a driver how it reads commands, and what it can do.
    fn over(driver: Box<dyn Driver>, unprivileged: bool) -> Result<Control, Error> {
        let mut control = Control {
            driver,
            numbering: Numbering::Ioctl,
            features: None,
            is_silent: Cell::new(false),
            unprivileged,
        };
        let mut features = [0; 8];
        // Linux 6.5 and later know this question.
        let asked = control.command(Verb::Features, u32::MAX, 0, &mut features);
        control.features = asked.is_ok().then(|| u64::from_ne_bytes(features));
        if control.features.is_none() {
            control.numbering = Numbering::Plain;
            // Linux 6.4 takes plain numbers unless it was built without them. No device is called
            // so: whoever takes the number says that.
            let asked = control.command(Verb::Find, u32::MAX, 0, &mut [0; DEVICE_BYTES]);
            let is_unknown = |error: io::Error| {
                matches!(Errno::from_io_error(&error), Some(Errno::OPNOTSUPP | Errno::NOTTY))
            };
            if asked.is_err_and(is_unknown) {
                control.numbering = Numbering::Ioctl;
            }
        }
        match control.is_silent.get() {
            true => Err(Error::from_io(CONTROL, silence(Some(ANSWER_TIME)))),
            false => Ok(control),
        }
    }

    fn command(
        &self,
        verb: Verb,
        device: u32,
        data: u64,
        payload: &mut [u8],
    ) -> Result<(), io::Error> {
        let code = self.numbering.of(verb);
        if !self.unprivileged || device == u32::MAX {
            let wanted = UblkCommand { code, device, data, path_bytes: 0 };
            return self.send(verb, wanted, payload);
        }
        let path = server_path(device);
        let mut bytes = path.as_os_str().as_bytes().to_vec();
        bytes.push(0);
        let path_bytes = bytes.len();
        bytes.extend_from_slice(payload);
        let wanted = UblkCommand { code, device, data, path_bytes: path_bytes as u16 };
        self.send(verb, wanted, &mut bytes)?;
        payload.copy_from_slice(&bytes[path_bytes..]);
        Ok(())
    }

    fn send(&self, verb: Verb, command: UblkCommand, payload: &mut [u8]) -> io::Result<()> {
        let limit = match verb {
            Verb::Start | Verb::EndRecovery | Verb::Stop | Verb::Delete => REQUESTS_TIME,
            _ => ANSWER_TIME,
        };
        if self.is_silent.get() {
            return Err(silence(None));
        }
        let done = self.driver.command(command, payload, limit);
        match done {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.is_silent.set(true);
                Err(silence(Some(limit)))
            }
            done => done,
        }
    }

    /// What the driver says of a device.
    pub(super) fn find(&self, number: u32) -> io::Result<DeviceInfo> {
        let mut bytes = [0; DEVICE_BYTES];
        let verb = if self.unprivileged { Verb::FindOwn } else { Verb::Find };
        self.command(verb, number, 0, &mut bytes)?;
        Ok(DeviceInfo::decode(&bytes))
    }

    /// All devices that there are, as far as this user may look at them.
    pub(super) fn devices(&self) -> Vec<DeviceInfo> {
        numbers().filter_map(|number| self.find(number).ok()).collect()
    }

    /// That there is a device of somebody who is not root, and maybe this user's, whose file is
    /// root's still: nobody but root may look at it or take it away.
    pub(super) fn hidden(&self) -> Option<Error> {
        let is_hidden = |number: &u32| {
            let is_roots = fs::metadata(server_path(*number)).is_ok_and(|file| file.uid() == 0);
            let refused = |error: io::Error| Errno::from_io_error(&error) == Some(Errno::ACCESS);
            is_roots && self.find(*number).is_err_and(refused)
        };
        let number = numbers().find(|number| self.unprivileged && is_hidden(number))?;
        Some(not_given(&server_path(number)))
    }

    /// Makes a device and its server's file; the number and what else the driver has decided stand
    /// in the answer. `recovers` says that it may outlive its server.
    pub(super) fn add(&self, wanted: DeviceInfo, recovers: bool) -> Result<DeviceInfo, Error> {
        let flags = match (self.unprivileged, recovers) {
            // One that does not say (before Linux 6.5) is asked: its answer may be that.
            (true, _) if self.features.is_some_and(|all| all & UNPRIVILEGED == 0) => {
                let text = Text::from(catalogue::UBLK_FOR_ROOT).at(CONTROL);
                return Err(Error::new(ErrorKind::Permission, text));
            }
            // The driver lets no device of theirs wait for another server.
            (true, _) => UNPRIVILEGED,
            (false, true) => RECOVERS | REISSUES,
            (false, false) => 0,
        };
        let wanted = DeviceInfo { number: u32::MAX, flags: flags | COMPLETE_IN_TASK, ..wanted };
        let mut bytes = wanted.encode();
        self.command(Verb::Add, u32::MAX, 0, &mut bytes)
            .map_err(|error| Error::from_io(catalogue::MAKING_UBLK, error))?;
        Ok(DeviceInfo::decode(&bytes))
    }

    pub(super) fn set_parameters(
        &self,
        number: u32,
        parameters: &[u8; PARAMETER_BYTES],
    ) -> Result<(), Error> {
        let mut bytes = *parameters;
        self.command(Verb::SetParameters, number, 0, &mut bytes)
            .map_err(|error| Error::from_io(catalogue::UBLK_PARAMETERS, error))
    }

    pub(super) fn parameters(&self, number: u32) -> Result<[u8; PARAMETER_BYTES], Error> {
        let mut bytes = [0; PARAMETER_BYTES];
        bytes[..4].copy_from_slice(&(PARAMETER_BYTES as u32).to_ne_bytes());
        self.command(Verb::Parameters, number, 0, &mut bytes)
            .map_err(|error| Error::from_io(catalogue::UBLK_PARAMETERS, error))?;
        Ok(bytes)
    }

    /// A command without more to it. Starting names this process as the server.
    pub(super) fn tell(&self, verb: Verb, number: u32) -> io::Result<()> {
        let data = match verb {
            Verb::Start | Verb::EndRecovery => u64::from(std::process::id()),
            _ => 0,
        };
        self.command(verb, number, data, &mut [])
    }

    /// Opens the file of a device or of its server, when it is there and this user's: udev makes
    /// it so.
    pub(super) fn open_file(&self, path: &Path, options: &OpenOptions) -> Result<File, Error> {
        let mut opened = options.open(path);
        for _ in 0..FILE_ATTEMPTS {
            let comes = |error: &io::Error| {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            };
            if !opened.as_ref().is_err_and(comes) {
                break;
            }
            let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            opened = options.open(path);
        }
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied if self.unprivileged => not_given(path),
            _ => Error::from_io(path.display().to_string(), error),
        })
    }
}

/// The numbers of all devices.
fn numbers() -> impl Iterator<Item = u32> {
    let number = |entry: io::Result<fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.strip_prefix("ublkc")?.parse().ok()
    };
    fs::read_dir("/dev").into_iter().flatten().filter_map(number)
}

/// That no rule of udev has made a file this user's.
fn not_given(path: &Path) -> Error {
    Error::new(ErrorKind::Permission, Text::from(catalogue::UBLK_NOT_GIVEN).at(path.display()))
}

/// That the driver does not answer, within the limit or not any more.
fn silence(limit: Option<Duration>) -> io::Error {
    let text: Text = match limit {
        Some(limit) => {
            statement!(catalogue::UBLK_NOT_ANSWERED, time = block::duration_text(limit))
        }
        None => catalogue::UBLK_SILENT.into(),
    };
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Whether the kernel has ublk, and this user may use it.
#[must_use]
pub fn is_there() -> bool {
    File::options().read(true).write(true).open(Path::new(CONTROL)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A driver as kernels have it, with the devices that were made.
    #[derive(Clone, Default)]
    struct Kernel {
        takes_plain: bool,
        takes_ioctls: bool,
        /// What it answers where it knows the question.
        features: Option<u64>,
        /// Commands about devices have to name their file.
        by_path: bool,
        /// It never answers this.
        hangs_at: Option<u8>,
        devices: Arc<Mutex<Vec<DeviceInfo>>>,
        /// The commands that it was given.
        told: Arc<Mutex<Vec<u32>>>,
    }

    impl Kernel {
        fn opened(&self, unprivileged: bool) -> Result<Control, Error> {
            Control::over(Box::new(self.clone()), unprivileged)
        }

        /// What is left of a payload behind the path of the device's file.
        fn payload<'a>(&self, told: UblkCommand, all: &'a mut [u8]) -> io::Result<&'a mut [u8]> {
            if !self.by_path {
                return Ok(all);
            }
            let path = format!("/dev/ublkc{}\0", told.device);
            match all.split_at_mut_checked(usize::from(told.path_bytes)) {
                Some((own, rest)) if *own == *path.as_bytes() => Ok(rest),
                _ => Err(Errno::INVAL.into()),
            }
        }
    }

    impl Driver for Kernel {
        fn command(&self, told: UblkCommand, payload: &mut [u8], _: Duration) -> io::Result<()> {
            self.told.lock().unwrap().push(told.code);
            let (kind, number) = (told.code >> 8 & 0xff, told.code as u8);
            if self.hangs_at == Some(number) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let is_taken = match kind {
                0 => self.takes_plain,
                _ => kind == u32::from(b'u') && self.takes_ioctls,
            };
            if !is_taken {
                return Err(Errno::OPNOTSUPP.into());
            }
            let mut devices = self.devices.lock().unwrap();
            if number == Verb::Features as u8 {
                let features = self.features.ok_or(Errno::OPNOTSUPP)?;
                payload.copy_from_slice(&features.to_ne_bytes());
                return Ok(());
            }
            if number == Verb::Add as u8 {
                let wanted = DeviceInfo::decode(payload.first_chunk().ok_or(Errno::INVAL)?);
                if self.by_path && wanted.flags & UNPRIVILEGED == 0 {
                    return Err(Errno::PERM.into());
                }
                let made = DeviceInfo { number: devices.len() as u32 + 3, ..wanted };
                payload.copy_from_slice(&made.encode());
                devices.push(made);
                return Ok(());
            }
            let at = devices.iter().position(|device| device.number == told.device);
            let at = at.ok_or(Errno::NODEV)?;
            let payload = self.payload(told, payload)?;
            if [Verb::Find as u8, Verb::FindOwn as u8].contains(&number) {
                payload.copy_from_slice(&devices[at].encode());
            }
            if number == Verb::Delete as u8 {
                devices.remove(at);
            }
            Ok(())
        }
    }

    /// The kernels whose commands differ: 6.1, 6.4 with and without plain numbers, 6.5 and later
    /// likewise.
    #[test]
    fn every_kernel_is_told_in_its_own_numbers() {
        for (takes_plain, takes_ioctls, features, expected) in [
            (true, false, None, Numbering::Plain),
            (true, true, None, Numbering::Plain),
            (false, true, None, Numbering::Ioctl),
            (true, true, Some(0x7f), Numbering::Ioctl),
            (false, true, Some(0x7f), Numbering::Ioctl),
        ] {
            for unprivileged in [false, true] {
                let by_path = unprivileged;
                let kernel =
                    Kernel { takes_plain, takes_ioctls, features, by_path, ..Kernel::default() };
                let control = kernel.opened(unprivileged).unwrap();
                assert_eq!(control.numbering, expected);
                let wanted = DeviceInfo { queues: 2, identity: 77, ..DeviceInfo::default() };
                let made = control.add(wanted, true).unwrap();
                assert_eq!((made.number, made.identity), (3, 77));
                assert_eq!(made.flags & RECOVERS == 0, unprivileged);
                assert_eq!(control.find(3).unwrap(), made);
                assert!(control.find(4).is_err());
                control.set_parameters(3, &[1; PARAMETER_BYTES]).unwrap();
                for verb in [Verb::Start, Verb::Stop, Verb::Delete] {
                    control.tell(verb, 3).unwrap();
                }
                assert!(control.find(3).is_err());
            }
        }
    }

    #[test]
    fn a_kernel_that_lets_only_root_make_devices_says_so() {
        let kernel = Kernel { takes_ioctls: true, features: Some(0x4f), ..Kernel::default() };
        let control = kernel.opened(true).unwrap();
        let error = control.add(DeviceInfo::default(), false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(kernel.devices.lock().unwrap().is_empty());
        // One that does not say what it can do is asked.
        let kernel = Kernel { takes_plain: true, by_path: true, ..Kernel::default() };
        assert!(kernel.opened(true).unwrap().add(DeviceInfo::default(), false).is_ok());
    }

    #[test]
    fn a_kernel_that_does_not_answer_is_not_asked_again() {
        let kernel = Kernel { takes_plain: true, ..Kernel::default() };
        let hanging = |verb: Verb| Kernel { hangs_at: Some(verb as u8), ..kernel.clone() };
        let error = hanging(Verb::Features).opened(false).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(kernel.told.lock().unwrap().len(), 1, "it is asked once");
        let control = hanging(Verb::Start).opened(false).unwrap();
        let made = control.add(DeviceInfo::default(), true).unwrap();
        let failed = |verb| control.tell(verb, made.number).unwrap_err().kind();
        assert_eq!(failed(Verb::Start), io::ErrorKind::TimedOut);
        let told = kernel.told.lock().unwrap().len();
        assert_eq!(failed(Verb::Stop), io::ErrorKind::TimedOut);
        assert_eq!(kernel.told.lock().unwrap().len(), told);
        // Whoever comes later finds what is left, and takes it away.
        let later = kernel.opened(false).unwrap();
        assert!(later.find(made.number).is_ok());
        later.tell(Verb::Delete, made.number).unwrap();
        assert!(kernel.devices.lock().unwrap().is_empty());
    }

    /// The numbers that `<linux/ublk_cmd.h>` of Linux 6.4 gives on x86 and ARM.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn commands_have_the_numbers_of_the_header() {
        for (verb, plain, ioctl) in [
            (Verb::Find, 0x02, 0x8020_7502),
            (Verb::Add, 0x04, 0xc020_7504),
            (Verb::EndRecovery, 0x11, 0xc020_7511),
            (Verb::Features, 0x13, 0x8020_7513),
        ] {
            assert_eq!((Numbering::Plain.of(verb), Numbering::Ioctl.of(verb)), (plain, ioctl));
        }
        for (verb, plain, ioctl) in [
            (RequestVerb::Fetch, 0x20, 0xc010_7520),
            (RequestVerb::CommitAndFetch, 0x21, 0xc010_7521),
        ] {
            let numbers = [Numbering::Plain, Numbering::Ioctl].map(|it| it.of_request(verb));
            assert_eq!(numbers, [plain, ioctl]);
        }
    }
}
