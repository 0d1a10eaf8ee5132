//! Making the kernel serve a path from `/dev/fuse`, and letting go of it.
//!
//! A process that may mount does so directly. Any other asks `fusermount3`, which is installed with
//! the right to, and which hands the open device back over a socket.

use std::fs::{self, OpenOptions};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;

use block::{Error, ErrorKind};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use words::{Text, statement};

use crate::catalogue;
use crate::tool;

const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";
/// How the mount table names what is mounted here.
pub(super) const KIND: &str = "fuse.raidloom";

/// Mounts over the file `target`; from the descriptor come its requests, and reading it does not
/// block.
pub(super) fn mount(target: &Path, read_only: bool, max_bytes: u32) -> Result<OwnedFd, Error> {
    let place = || statement!(catalogue::ATTACHING_TO, target = target.display());
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(DEVICE);
    let device = device.map_err(|error| {
        let hint: Text = if error.kind() == io::ErrorKind::NotFound {
            catalogue::MODPROBE_FUSE.into()
        } else {
            Text::default()
        };
        Error::from_io(
            statement!(catalogue::OPENING_FUSE, place = place(), device = DEVICE, hint = hint),
            error,
        )
    })?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mode = fs::metadata(target).map_err(|error| Error::from_io(place(), error))?.mode();
    let data = format!(
        "fd={},rootmode={mode:o},user_id={uid},group_id={gid},max_read={max_bytes}",
        device.as_raw_fd()
    );
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::RDONLY, read_only);
    let data = std::ffi::CString::new(data)
        .map_err(|error| Error::with_source(ErrorKind::Invalid, place(), error))?;
    match rustix::mount::mount("raidloom", target, KIND, flags, Some(&*data)) {
        Ok(()) => Ok(device.into()),
        Err(Errno::PERM) => {
            ask_helper(target, read_only, max_bytes).map_err(|error| error.at(place()))
        }
        Err(error) => Err(Error::from_io(place(), error.into())),
    }
}

fn ask_helper(target: &Path, read_only: bool, max_bytes: u32) -> Result<OwnedFd, Error> {
    let failed = |error: io::Error| Error::from_io(HELPER, error);
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| failed(error.into()))?;
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| failed(error.into()))?;
    let access = if read_only { "ro" } else { "rw" };
    let options =
        format!("{access},nosuid,nodev,fsname=raidloom,subtype=raidloom,max_read={max_bytes}");
    let mut command = tool::command(HELPER);
    command
        .args(["-o", &options, "--"])
        .arg(target)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, statement!(catalogue::HELPER_MISSING, helper = HELPER))
        }
        _ => failed(error),
    })?;
    drop(theirs);
    let received = receive_descriptor(&ours);
    let output = child.wait_with_output().map_err(failed)?;
    let device = received.map_err(failed)?.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        Error::new(
            ErrorKind::Permission,
            said.lines().next().map_or_else(|| catalogue::HELPER_SILENT.into(), Text::from),
        )
    })?;
    let flags = rustix::fs::fcntl_getfl(&device).and_then(|flags| {
        rustix::io::fcntl_setfd(&device, FdFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&device, flags | rustix::fs::OFlags::NONBLOCK)
    });
    flags.map_err(|error| failed(error.into()))?;
    Ok(device)
}

/// The descriptor that comes over a socket, or `None` when the other side closes it without sending
/// one.
fn receive_descriptor(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0_u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.flatten().next())
}

/// Takes the mount away; busy ones stay, unless `lazily`: then it vanishes now and ends with its
/// last user.
pub(super) fn unmount(target: &Path, lazily: bool) -> io::Result<()> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(target, flags | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => {
            let mut command = tool::command(HELPER);
            let output =
                command.arg("-u").args(lazily.then_some("-z")).arg("--").arg(target).output()?;
            if output.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            // The helper keeps the kernel's number to itself. What we have mounted ourselves and
            // is mounted still is in use.
            let kind = match is_mounted(target) {
                true => io::ErrorKind::ResourceBusy,
                false => io::ErrorKind::Other,
            };
            Err(io::Error::new(kind, said))
        }
        other => Ok(other?),
    }
}

/// Whether something is mounted at a path, without asking whoever serves it.
fn is_mounted(target: &Path) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(CWD, target, flags, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
