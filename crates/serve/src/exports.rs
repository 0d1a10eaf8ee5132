//! As what a stack appears: a file, a block device, NBD, a disk of virtual machines. Made
//! in this order, taken away in the reverse one.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use block::{Device, ErrorKind};
use export::Gate;
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use export::nbd;
use export::ublk::{UblkDevice, UblkOptions};
use export::vhost_user;
use host::Error;
use host::guard::patiently;
use host::journal::Journal;
use tracing::warn;
use words::{Text, statement};

use crate::catalogue;
use crate::runtime::{Claim, DISK, NBD};
use crate::settings::{Attach, Settings};
use crate::status::{Attachment, VhostUser};

/// How often a drive that is in use is tried to be taken away.
const BUSY_ATTEMPTS: u32 = 60;
/// The word for a Unix socket in the server's folder.
const UNIX: &str = "unix";

/// What is made outside this process.
#[derive(Default)]
pub(crate) struct Exports {
    vhost_user: Option<vhost_user::Server>,
    nbd: Option<nbd::Server>,
    ublk: Option<UblkDevice>,
    block_device: Option<LoopDevice>,
    file: Option<FuseFile>,
    /// What writes of all exports pass.
    gate: Arc<Gate>,
}

impl Exports {
    /// Makes what the settings name. What is only half as good as it could be is noted.
    ///
    /// # Errors
    /// What cannot be made; the rest is taken away again.
    pub(crate) fn make(
        claim: &Claim,
        settings: &Settings,
        device: &Arc<dyn Device>,
        journal: &mut Journal,
        notes: &mut Vec<Text>,
    ) -> Result<Exports, Error> {
        let mut exports = Exports::default();
        match settings.attach {
            Attach::No => (),
            Attach::Ublk => exports.attach_ublk(claim, settings, device, journal)?,
            Attach::Yes | Attach::File => {
                exports.attach(claim, settings, device, journal, notes)?;
            }
        }
        // What is not to be seen on this machine is served all the same: to processes that may
        // enter the server's folder.
        let unseen = settings.attach == Attach::No && settings.vhost_user.is_none();
        let default = if unseen { vec![UNIX.to_owned()] } else { Vec::new() };
        let addresses = if settings.nbd.is_empty() { &default } else { &settings.nbd };
        if !addresses.is_empty() {
            exports.nbd = Some(serve_nbd(claim, settings, device, &exports.gate, addresses)?);
        }
        if let Some(path) = &settings.vhost_user {
            let options = vhost_user::Options {
                name: claim.name().to_owned(),
                read_only: settings.read_only,
                policy: settings.policy,
                gate: Arc::clone(&exports.gate),
            };
            let server = vhost_user::Server::start(Arc::clone(device), path, options)
                .map_err(|error| error.at("--vhost-user"))?;
            exports.vhost_user = Some(server);
        }
        Ok(exports)
    }

    fn attach(
        &mut self,
        claim: &Claim,
        settings: &Settings,
        device: &Arc<dyn Device>,
        journal: &mut Journal,
        notes: &mut Vec<Text>,
    ) -> Result<(), Error> {
        let path = claim.folder().join(DISK);
        let placeholder =
            File::create_new(&path).map_err(|error| Error::from_io(path.display(), &error))?;
        journal.note_file(&path, &placeholder)?;
        drop(placeholder);
        let path = path.canonicalize().map_err(|error| Error::from_io(path.display(), &error))?;
        journal.note_served(&path)?;
        let options = FuseOptions {
            workers: settings.workers,
            read_only: settings.read_only,
            policy: settings.policy,
            page_cache: settings.page_cache,
            gate: Arc::clone(&self.gate),
        };
        self.file = Some(FuseFile::mount(Arc::clone(device), &path, &options)?);
        if settings.attach == Attach::File {
            return Ok(());
        }
        journal.note_loop(&path)?;
        let info = device.info();
        let mut made =
            match LoopDevice::attach(&path, info.block_bytes, settings.read_only || info.read_only)
            {
                Ok(made) => made,
                Err(error) => {
                    notes.push(statement!(catalogue::ATTACHED_AS_FILE, why = error));
                    return Ok(());
                }
            };
        journal.note_loop_device(&path, made.path())?;
        if !made.is_direct() {
            notes.push(Text::from(catalogue::CACHED_TWICE).at(made.path().display()));
        }
        tell_kernel(made.path(), info.rotational);
        if settings.policy.writes_durably() && made.is_direct() {
            made.write_through();
        }
        self.block_device = Some(made);
        Ok(())
    }

    /// Makes a block device of the ublk driver, or goes on with the one that a dead server of the
    /// same array has left.
    fn attach_ublk(
        &mut self,
        claim: &Claim,
        settings: &Settings,
        device: &Arc<dyn Device>,
        journal: &mut Journal,
    ) -> Result<(), Error> {
        let content = settings.lasting_content();
        let left = journal.left_ublk();
        let identity = match left {
            Some(identity) => identity,
            None => journal.note_ublk(content.as_deref().unwrap_or_default())?,
        };
        let options = UblkOptions {
            workers: settings.workers,
            read_only: settings.read_only,
            policy: settings.policy,
            gate: Arc::clone(&self.gate),
            identity,
            recovers: content.is_some(),
        };
        let device = Arc::clone(device);
        let made = match left {
            None => UblkDevice::attach(device, &options),
            Some(_) => UblkDevice::recover(device, &options),
        };
        let may_stay = |error: &block::Error| match error.kind() {
            ErrorKind::TimedOut => true,
            // What nobody has made this user's, this user cannot take away.
            ErrorKind::Permission => export::ublk::is_there(),
            _ => false,
        };
        if made.as_ref().is_err_and(may_stay) {
            journal.leave_ublk();
        }
        let made = made.map_err(|error| {
            let error = Error::from(error);
            let error = match left {
                None => error,
                Some(_) => error.then(statement!(catalogue::STOP_GIVES_UP, name = claim.name())),
            };
            error.at("--attach=ublk")
        });
        self.ublk = Some(made?);
        if left.is_some() {
            journal.go_on()?;
        }
        Ok(())
    }

    /// As what it appears on this machine.
    pub(crate) fn attached(&self) -> Option<Attachment> {
        let ublk = self.ublk.as_ref().map(UblkDevice::path);
        let over_file = self.block_device.as_ref().map(LoopDevice::path);
        let block_device = ublk.or(over_file).map(Path::to_owned);
        let file = self.file.as_ref().map(|file| file.path().to_owned());
        (block_device.is_some() || file.is_some()).then_some(Attachment { file, block_device })
    }

    /// Addresses of the export `name`.
    pub(crate) fn uris(&self, name: &str) -> Vec<String> {
        self.nbd.as_ref().map(|server| server.uris(name)).unwrap_or_default()
    }

    /// NBD clients that are connected.
    pub(crate) fn clients(&self) -> usize {
        self.nbd.as_ref().map_or(0, |server| server.status().connections)
    }

    /// The socket for virtual machines, and which of them uses it.
    pub(crate) fn vhost_user(&self) -> Option<VhostUser> {
        self.vhost_user.as_ref().map(|server| {
            let status = server.status();
            VhostUser {
                socket: server.path().to_owned(),
                clients: status.clients,
                requests: status.requests,
            }
        })
    }

    /// What has gone wrong with what is served.
    pub(crate) fn troubles(&self) -> Vec<Text> {
        let file = self
            .file
            .as_ref()
            .and_then(FuseFile::failure)
            .map(|error| statement!(catalogue::FILE_UNSERVED, why = error));
        let ublk = self
            .ublk
            .as_ref()
            .and_then(UblkDevice::failure)
            .map(|error| statement!(catalogue::BLOCK_DEVICE_UNSERVED, why = error));
        let nbd = self.nbd.as_ref().map(nbd::Server::status);
        let nbd = nbd.and_then(|status| {
            status.trouble.or_else(|| status.exports.into_iter().find_map(|export| export.trouble))
        });
        let vhost_user = self.vhost_user.as_ref().and_then(|server| server.status().trouble);
        let vhost_user = vhost_user.map(|why| statement!(catalogue::VHOST_CUT_OFF, why = why));
        let nbd = nbd.map(|text| text.at("NBD"));
        file.into_iter().chain(ublk).chain(nbd).chain(vhost_user).collect()
    }

    /// Takes everything away, unless it is in use on this machine. NBD clients are sent home last
    /// of all. Programs that look at every drive that changes (udev, file managers) have it open
    /// for a moment, so that this is tried for a while. With `in_any_case` whoever has it open
    /// after that is left with errors, and the kernel takes the drive away when the last closes it.
    ///
    /// # Errors
    /// What is in use; it and what it stands on stay.
    pub(crate) fn end(exports: &Mutex<Exports>, in_any_case: bool) -> Result<(), block::Error> {
        let exports = || exports.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = patiently(
            BUSY_ATTEMPTS,
            || exports().try_end(),
            |error| error.kind() == ErrorKind::Busy,
        );
        match ended {
            Err(error) if in_any_case && error.kind() == ErrorKind::Busy => {
                warn!("{error}: it goes with its last user");
                exports().let_go()
            }
            other => other,
        }
    }

    fn let_go(&mut self) -> Result<(), block::Error> {
        if let Some(device) = &mut self.ublk {
            device.let_go()?;
        }
        if let Some(device) = &mut self.block_device {
            device.let_go()?;
        }
        *self = Exports::default();
        Ok(())
    }

    fn try_end(&mut self) -> Result<(), block::Error> {
        if let Some(device) = &mut self.ublk {
            device.detach()?;
        }
        self.ublk = None;
        if let Some(device) = &mut self.block_device {
            device.detach()?;
        }
        self.block_device = None;
        if let Some(file) = &mut self.file {
            file.unmount()?;
        }
        self.file = None;
        self.nbd = None;
        self.vhost_user = None;
        Ok(())
    }
}

/// Takes a loop device away, tried for a while as in [`Exports::end`].
///
/// # Errors
/// What still uses it.
pub(crate) fn detach(device: &mut LoopDevice, in_any_case: bool) -> Result<(), block::Error> {
    match patiently(BUSY_ATTEMPTS, || device.detach(), |error| error.kind() == ErrorKind::Busy) {
        Err(error) if in_any_case && error.kind() == ErrorKind::Busy => device.let_go(),
        other => other,
    }
}

fn serve_nbd(
    claim: &Claim,
    settings: &Settings,
    device: &Arc<dyn Device>,
    gate: &Arc<Gate>,
    addresses: &[String],
) -> Result<nbd::Server, Error> {
    let socket = claim.folder().join(NBD);
    let address = |text: &String| match text.as_str() {
        UNIX => Ok(nbd::Address::Unix(socket.clone())),
        text => text.parse().map_err(|wrong: Text| {
            Error::usage(statement!(catalogue::NBD_ADDRESS, why = wrong, word = UNIX))
        }),
    };
    let addresses = addresses.iter().map(address).collect::<Result<Vec<_>, Error>>()?;
    let tls = settings.tls.as_ref().map(|tls| nbd::Tls {
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
        clients: tls.clients.clone(),
    });
    let options = nbd::Options { tls, insecure: settings.insecure, ..nbd::Options::default() };
    let export = nbd::Export {
        name: claim.name().to_owned(),
        description: device.describe().to_string().chars().take(1000).collect(),
        device: Arc::clone(device),
        read_only: settings.read_only,
        policy: settings.policy,
        gate: Arc::clone(gate),
    };
    nbd::Server::start(vec![export], &addresses, &options).map_err(Error::from)
}

/// Tells the kernel whether the disk seeks. Without the right to it, the kernel only knows less.
pub(crate) fn tell_kernel(device: &Path, rotational: bool) {
    if let Some(name) = device.file_name() {
        let _ = fs::write(
            Path::new("/sys/block").join(name).join("queue/rotational"),
            if rotational { "1" } else { "0" },
        );
    }
}
