//! Messages and descriptors over a socket.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use block::Error;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};

use super::message::{HEADER_BYTES, Header, REGIONS_MAX, broken};
use crate::catalogue;

/// A message as it came.
#[derive(Debug)]
pub struct ReceivedMessage {
    /// What stands before it.
    pub header: Header,
    /// What it says.
    pub payload: Vec<u8>,
    /// The descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
}

/// A message, its payload, and the descriptors that came with it; `None` where the client has hung
/// up. Waits until the whole message is there.
///
/// # Errors
/// A message that makes no sense or stops in its middle, or what the socket says.
pub fn read_message(socket: impl AsFd) -> Result<Option<ReceivedMessage>, Error> {
    let mut descriptors = Vec::new();
    let mut bytes = [0; HEADER_BYTES];
    if !fill(socket.as_fd(), &mut bytes, &mut descriptors)? {
        return Ok(None);
    }
    let header = Header::parse(bytes)?;
    let mut payload = vec![0; header.size as usize];
    if !payload.is_empty() && !fill(socket.as_fd(), &mut payload, &mut descriptors)? {
        return Err(broken("a message without its payload"));
    }
    Ok(Some(ReceivedMessage { header, payload, descriptors }))
}

fn fill(
    socket: impl AsFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> Result<bool, Error> {
    let mut done = 0;
    while done < bytes.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(REGIONS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::net::recvmsg(
            socket.as_fd(),
            &mut [IoSliceMut::new(&mut bytes[done..])],
            &mut control,
            RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
        );
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        match received.map(|message| message.bytes) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => return Err(broken("a message stops in its middle")),
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => (),
            Err(rustix::io::Errno::CONNRESET) if done == 0 => return Ok(false),
            Err(rustix::io::Errno::AGAIN) => {
                return Err(broken("the rest of a message does not come"));
            }
            Err(error) => return Err(Error::from_io(catalogue::RECEIVING_MESSAGE, error.into())),
        }
    }
    Ok(true)
}

/// Sends all of `bytes`.
///
/// # Errors
/// What the socket says; a peer that is gone is an error and no signal.
pub fn send_all(socket: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket.as_fd(), bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
