//! The commands by which ublk devices are made, looked at and taken away.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind};
use reactor::ublk::{self, UblkCommand};
use rustix::event::Timespec;

use super::protocol::{
    COMPLETE_IN_TASK, DEVICE_BYTES, DeviceInfo, PARAMETER_BYTES, RECOVERS, REISSUES, UNPRIVILEGED,
};

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

/// The driver.
#[derive(Debug)]
pub(super) struct Control {
    file: OwnedFd,
    pub(super) numbering: Numbering,
    features: u64,
    /// Whoever is not root names each device by its file, for which a rule of udev has made it the
    /// owner.
    unprivileged: bool,
}

/// How long a new device's file may take to be there, and this user's.
const FILE_ATTEMPTS: u32 = 40;
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
            let text = format!(
                "{CONTROL}: this kernel has no ublk, or has not loaded it (`modprobe ublk_drv`; \
                Linux 6.0 and later)"
            );
            Error::with_source(ErrorKind::NotFound, "", error).retold(text)
        })?;
        let file = OwnedFd::from(file);
        let mut features = [0; 8];
        let code = Numbering::Ioctl.of(Verb::Features);
        let wanted = UblkCommand { code, device: u32::MAX, ..UblkCommand::default() };
        // Those that do not know the question are of the first kind.
        let asked = ublk::command(&file, wanted, &mut features);
        let numbering = if asked.is_ok() { Numbering::Ioctl } else { Numbering::Plain };
        let unprivileged = !rustix::process::geteuid().is_root();
        Ok(Control { file, numbering, features: u64::from_ne_bytes(features), unprivileged })
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
            return ublk::command(&self.file, wanted, payload);
        }
        let path = server_path(device);
        let mut bytes = path.as_os_str().as_bytes().to_vec();
        bytes.push(0);
        let path_bytes = bytes.len();
        bytes.extend_from_slice(payload);
        let wanted = UblkCommand { code, device, data, path_bytes: path_bytes as u16 };
        ublk::command(&self.file, wanted, &mut bytes)?;
        payload.copy_from_slice(&bytes[path_bytes..]);
        Ok(())
    }

    /// What the driver says of a device; `None` where there is none of this number.
    pub(super) fn find(&self, number: u32) -> Option<DeviceInfo> {
        let mut bytes = [0; DEVICE_BYTES];
        let verb = if self.unprivileged { Verb::FindOwn } else { Verb::Find };
        self.command(verb, number, 0, &mut bytes).ok()?;
        Some(DeviceInfo::decode(&bytes))
    }

    /// All devices that there are, as far as this user may look at them.
    pub(super) fn devices(&self) -> Vec<DeviceInfo> {
        let number = |entry: io::Result<fs::DirEntry>| {
            entry.ok()?.file_name().to_str()?.strip_prefix("ublkc")?.parse().ok()
        };
        let numbers = fs::read_dir("/dev").into_iter().flatten().filter_map(number);
        numbers.filter_map(|number| self.find(number)).collect()
    }

    /// Makes a device and its server's file; the number and what else the driver has decided stand
    /// in the answer. `recovers` says that it may outlive its server.
    pub(super) fn add(&self, wanted: DeviceInfo, recovers: bool) -> Result<DeviceInfo, Error> {
        let flags = match (self.unprivileged, recovers) {
            (true, _) if self.features & UNPRIVILEGED == 0 => {
                let text = format!("{CONTROL}: before Linux 6.5 only root may make ublk devices");
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
            .map_err(|error| Error::from_io("making a ublk device", error))?;
        Ok(DeviceInfo::decode(&bytes))
    }

    pub(super) fn set_parameters(
        &self,
        number: u32,
        parameters: &[u8; PARAMETER_BYTES],
    ) -> Result<(), Error> {
        let mut bytes = *parameters;
        self.command(Verb::SetParameters, number, 0, &mut bytes)
            .map_err(|error| Error::from_io("the parameters of a ublk device", error))
    }

    pub(super) fn parameters(&self, number: u32) -> Result<[u8; PARAMETER_BYTES], Error> {
        let mut bytes = [0; PARAMETER_BYTES];
        bytes[..4].copy_from_slice(&(PARAMETER_BYTES as u32).to_ne_bytes());
        self.command(Verb::Parameters, number, 0, &mut bytes)
            .map_err(|error| Error::from_io("the parameters of a ublk device", error))?;
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

    /// Opens the file of a device's server.
    pub(super) fn open_server(&self, number: u32) -> Result<OwnedFd, Error> {
        let path = server_path(number);
        let open = || File::options().read(true).write(true).open(&path);
        let mut opened = open();
        for _ in 0..FILE_ATTEMPTS {
            let comes = |error: &io::Error| {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            };
            if !opened.as_ref().is_err_and(comes) {
                break;
            }
            // udev makes it, or makes it this user's.
            let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            opened = open();
        }
        opened.map(OwnedFd::from).map_err(|error| Error::from_io(path.display().to_string(), error))
    }
}

/// Whether the kernel has ublk, and this user may use it.
#[must_use]
pub fn is_there() -> bool {
    File::options().read(true).write(true).open(Path::new(CONTROL)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
