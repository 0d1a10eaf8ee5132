//! Drives of other machines, read and written like a file: exports of NBD servers, images of a Ceph
//! cluster.
//!
//! ```text
//!   caller ── job ──> thread with one connection ──> server
//!          <─ answer, or after 30 s none: the drive is not asked any more
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use block::{Blocking, Device, Error, ErrorKind, Node, Reactor, duration_text};
use stack::{BuildContext, ImageServer, NoFiles, OpenFiles, RbdImage};
use words::statement;

use crate::rbd;

use super::{Access, Guard, catalogue, lock_of, not_raw, refused, signature};

/// How long a server may take for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);

type Job = Box<dyn FnOnce(&mut Blocking) + Send>;

/// A drive of another machine that is open.
pub struct RemoteDrive {
    name: String,
    device: Arc<dyn Device>,
    /// `None` once a job was not answered in time.
    jobs: Mutex<Option<Sender<Job>>>,
    worker: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for RemoteDrive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl RemoteDrive {
    /// Has `build` make the device on a thread of its own, for a server may keep it waiting.
    fn new(
        name: String,
        build: impl FnOnce() -> Result<Arc<dyn Device>, Error> + Send + 'static,
    ) -> Result<RemoteDrive, Error> {
        let (jobs, ordered) = mpsc::channel::<Job>();
        let (opened, is_open) = mpsc::channel();
        let open = || -> Result<(Arc<dyn Device>, Blocking), Error> {
            let device = build()?;
            let channel = Blocking::open(&*device, &Reactor::wall()?)?;
            Ok((device, channel))
        };
        let work = move || match open() {
            Ok((device, mut channel)) => {
                if opened.send(Ok(device)).is_ok() {
                    ordered.into_iter().for_each(|job| job(&mut channel));
                }
            }
            Err(error) => drop(opened.send(Err(error))),
        };
        let worker = std::thread::Builder::new().name("remote drive".to_owned()).spawn(work);
        let no_thread = |error| Error::from_io(catalogue::NO_THREAD, error).at(&name);
        let worker = worker.map_err(no_thread)?;
        let device = is_open.recv_timeout(ANSWER_TIME).map_err(|error| silence(&name, error))??;
        Ok(RemoteDrive { name, device, jobs: Mutex::new(Some(jobs)), worker: Some(worker) })
    }

    /// One that is open already.
    pub(super) fn over(name: String, device: Arc<dyn Device>) -> Result<RemoteDrive, Error> {
        RemoteDrive::new(name, || Ok(device))
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.device.info().size_bytes
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    /// What the server says, or that it says nothing.
    pub fn flush(&self) -> io::Result<()> {
        self.ask(|channel, _| channel.flush())
    }

    fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Blocking, u64) -> Result<T, Error> + Send + 'static,
    ) -> io::Result<T> {
        let (answer, answered) = mpsc::channel();
        let block = u64::from(self.device.info().block_bytes);
        let job: Job = Box::new(move |channel| drop(answer.send(act(channel, block))));
        let mut jobs = lock_of(&self.jobs);
        if let Some(jobs) = &*jobs {
            let _ = jobs.send(job);
        }
        let result = answered.recv_timeout(ANSWER_TIME).unwrap_or_else(|error| {
            *jobs = None;
            Err(silence(&self.name, error))
        });
        result.map_err(io::Error::other)
    }
}

fn silence(name: &str, error: RecvTimeoutError) -> Error {
    let text = match error {
        RecvTimeoutError::Timeout => {
            statement!(catalogue::NO_ANSWER, time = duration_text(ANSWER_TIME))
        }
        RecvTimeoutError::Disconnected => catalogue::NOT_ASKED.into(),
    };
    Error::new(ErrorKind::TimedOut, text).at(name)
}

/// The whole blocks around a range, and where it begins in them; both in bytes.
fn around(offset: u64, length: usize, block: u64) -> (u64, usize, usize) {
    let start = offset - offset % block;
    let end = (offset + length as u64).next_multiple_of(block);
    (start, (end - start) as usize, (offset - start) as usize)
}

impl FileExt for RemoteDrive {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size_bytes().saturating_sub(offset).min(into.len() as u64) as usize;
        if left == 0 {
            return Ok(0);
        }
        let bytes = self.ask(move |channel, _| {
            let mut bytes = vec![0; left];
            channel.read_bytes(offset, &mut bytes)?;
            Ok(bytes)
        })?;
        into[..left].copy_from_slice(&bytes);
        Ok(left)
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        let new = from.to_vec();
        self.ask(move |channel, block| {
            let (start, length, within) = around(offset, new.len(), block);
            if length == new.len() {
                return channel.write_slice(start, &new);
            }
            let mut bytes = vec![0; length];
            channel.read_slice(start, &mut bytes)?;
            bytes[within..within + new.len()].copy_from_slice(&new);
            channel.write_slice(start, &bytes)
        })?;
        Ok(from.len())
    }
}

impl Drop for RemoteDrive {
    fn drop(&mut self) {
        // One that does not answer is not waited for.
        let is_asked = lock_of(&self.jobs).take().is_some();
        if let Some(worker) = self.worker.take().filter(|_| is_asked) {
            let _ = worker.join();
        }
    }
}

/// What a member's bytes are read from: a file or block device, or a drive of another machine.
#[derive(Debug)]
pub enum MemberBytes {
    /// A file or block device.
    File(File),
    /// A drive of another machine.
    Remote(RemoteDrive),
}

impl MemberBytes {
    /// Their size in bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn size_bytes(&self) -> io::Result<u64> {
        match self {
            MemberBytes::File(file) => io::Seek::seek(&mut &*file, io::SeekFrom::End(0)),
            MemberBytes::Remote(drive) => Ok(drive.size_bytes()),
        }
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    /// What the system or the server says.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            MemberBytes::File(file) => file.sync_all(),
            MemberBytes::Remote(drive) => drive.flush(),
        }
    }
}

impl FileExt for MemberBytes {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            MemberBytes::File(file) => file.read_at(into, offset),
            MemberBytes::Remote(drive) => drive.read_at(into, offset),
        }
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<usize> {
        match self {
            MemberBytes::File(file) => file.write_at(from, offset),
            MemberBytes::Remote(drive) => drive.write_at(from, offset),
        }
    }
}

/// Opens no files: for what is on other machines.
struct RemoteFiles;

impl OpenFiles for RemoteFiles {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        NoFiles.open(path, true, None)
    }

    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, Error> {
        rbd::serve(image)
    }
}

impl Guard {
    /// Opens a whole stack for reading, to look at what it holds.
    ///
    /// # Errors
    /// As [`stack::build`].
    pub fn view(&self, node: &Node) -> Result<RemoteDrive, Error> {
        let context = BuildContext { read_only: true, ..BuildContext::new(self) };
        let stack = stack::build(node, &context)?;
        RemoteDrive::over(node.to_string(), stack.device)
    }

    /// Opens a drive of another machine, which the leaf of a stack names. For writing it is refused
    /// where it carries a signature, unless there is consent to that, and where it is used in
    /// place. Nothing keeps others from it: [`refuse_in_use`] tells whether a server has it.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the reason and what to do; [`ErrorKind::ReadOnly`] for an export
    /// that takes no writes; what kept it from being reached.
    pub fn open_remote(&self, leaf: &Node, access: Access) -> Result<RemoteDrive, Error> {
        let (name, leaf, read_only) = (leaf.to_string(), leaf.clone(), access == Access::Read);
        let drive = RemoteDrive::new(name.clone(), move || {
            let context = BuildContext { read_only, ..BuildContext::new(&RemoteFiles) };
            Ok(stack::build(&leaf, &context)?.device)
        })?;
        if access == Access::Write {
            self.judge_remote(&drive)?;
        }
        Ok(drive)
    }

    /// Refuses a drive that carries a signature where it is to be overwritten and nobody has
    /// consented to that.
    fn judge_remote(&self, drive: &RemoteDrive) -> Result<(), Error> {
        if self.consent.erase_signature || self.consent.in_place {
            return Ok(());
        }
        let name = &drive.name;
        let found = self
            .signature_in(drive, drive.size_bytes())
            .map_err(|error| Error::from_io(catalogue::READING, error).at(name))?;
        match found {
            Some(signature) => {
                let what = statement!(catalogue::SIGNATURE, signature = signature);
                Err(refused(name.as_ref(), statement!(catalogue::HOLDS, what = what)))
            }
            None => Ok(()),
        }
    }

    /// Whether a drive of another machine, which the leaf of a stack names, may be overwritten:
    /// what it carries, and that no server has it. Asked once for each.
    ///
    /// # Errors
    /// As [`Guard::open_remote`] and [`refuse_in_use`].
    pub fn check_remote(&self, leaf: &Node) -> Result<(), Error> {
        self.admit(leaf, || self.open_remote(leaf, Access::Write))
    }

    /// The same of one that `open` opens.
    pub(super) fn admit(
        &self,
        leaf: &Node,
        open: impl FnOnce() -> Result<RemoteDrive, Error>,
    ) -> Result<(), Error> {
        let name = leaf.to_string();
        if self.consent.in_place || lock_of(&self.admitted).contains(&name) {
            return Ok(());
        }
        let drive = open()?;
        self.judge_remote(&drive)?;
        refuse_in_use([&drive])?;
        lock_of(&self.admitted).insert(name);
        Ok(())
    }

    /// Opens a drive of another machine for reading what it holds as the blocks of a disk.
    ///
    /// # Errors
    /// As [`Guard::open_remote`] and [`Guard::open_image`].
    pub fn open_remote_image(&self, leaf: &Node) -> Result<RemoteDrive, Error> {
        let drive = self.open_remote(leaf, Access::Read)?;
        let image = signature::find_image(&drive, drive.size_bytes())
            .map_err(|error| Error::from_io(catalogue::READING, error).at(leaf.to_string()))?;
        match image.filter(|_| !self.consent.raw) {
            Some(image) => Err(not_raw(leaf.to_string().as_ref(), image)),
            None => Ok(drive),
        }
    }
}

/// Refuses drives of other machines whose superblocks a server keeps alive: to be asked when all
/// are open, and before anything is written. It takes five seconds where a server may have been
/// killed, and none where all were stopped in order.
///
/// # Errors
/// [`ErrorKind::Busy`] for one that is in use; what kept a superblock from being read.
pub fn refuse_in_use<'a>(drives: impl IntoIterator<Item = &'a RemoteDrive>) -> Result<(), Error> {
    let devices: Vec<Arc<dyn Device>> =
        drives.into_iter().map(|drive| Arc::clone(&drive.device)).collect();
    let Some(first) = devices.first() else { return Ok(()) };
    let name = first.describe().to_string();
    let (watched, is_watched) = mpsc::channel();
    let watch = move || {
        let found = Reactor::wall().map_err(Error::from).and_then(|reactor| {
            array::metadata::watch(&devices.iter().collect::<Vec<_>>(), &reactor)
        });
        let _ = watched.send(found.map(|_| ()));
    };
    let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(watch);
    thread.map_err(|error| Error::from_io(catalogue::NO_THREAD, error).at(&name))?;
    is_watched.recv_timeout(2 * ANSWER_TIME).map_err(|error| silence(&name, error))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_around_every_range() {
        for block in [512_u64, 4096] {
            for offset in (0..3 * block).step_by(97) {
                for length in [1_usize, 7, 511, 512, 513, 4096, 9000] {
                    let (start, whole, within) = around(offset, length, block);
                    assert_eq!(start + within as u64, offset, "{offset} {length} {block}");
                    assert!(start.is_multiple_of(block) && (whole as u64).is_multiple_of(block));
                    assert!(within + length <= whole && whole as u64 <= length as u64 + 2 * block);
                }
            }
        }
    }
}
