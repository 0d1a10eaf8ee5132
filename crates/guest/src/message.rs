//! Messages about time, from bytes and to bytes.
//!
//! ```text
//!    0    4         8
//!   | op | sequence | time in ns |      all numbers in the host's order
//! ```
//!
//! Source: `include/uapi/linux/um_timetravel.h` of Linux, which is there for programs like this.

use block::{Error, ErrorKind};
use words::statement;

use crate::catalogue;

/// Length of a message.
pub const MESSAGE_BYTES: usize = 16;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The answer to another one.
    Ack = 0,
    /// From the kernel: it begins.
    Start = 1,
    /// From the kernel: it wants to run at this time.
    Request = 2,
    /// From the kernel: it has nothing more to do now.
    Wait = 3,
    /// From the kernel: what time it is.
    Get = 4,
    /// From the kernel: it has come to this time.
    Update = 5,
    /// To the kernel: run, it is this time.
    Run = 6,
    /// To the kernel: it need not ask before this time.
    FreeUntil = 7,
    /// From the kernel: the date, in nanoseconds since 1970.
    Date = 8,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub op: Op,
    /// Its number, which its answer repeats.
    pub sequence: u32,
    /// A time, where it has one.
    pub time: u64,
}

impl Message {
    /// From bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`]: a word that this protocol has not got.
    pub fn parse(bytes: [u8; MESSAGE_BYTES]) -> Result<Message, Error> {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        let mut word = || words.next().unwrap_or_default();
        let (op, sequence) = (word(), word());
        let op = OPS.into_iter().find(|known| *known as u32 == op).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, statement!(catalogue::TIME_MESSAGE_UNKNOWN, op = op))
        })?;
        let mut time = [0; 8];
        time.copy_from_slice(&bytes[8..]);
        Ok(Message { op, sequence, time: u64::from_ne_bytes(time) })
    }

    /// As bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

const OPS: [Op; 9] = [
    Op::Ack,
    Op::Start,
    Op::Request,
    Op::Wait,
    Op::Get,
    Op::Update,
    Op::Run,
    Op::FreeUntil,
    Op::Date,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written_and_others_are_refused() {
        for op in OPS {
            let message = Message { op, sequence: 7, time: u64::MAX - 3 };
            assert_eq!(Message::parse(message.bytes()).expect("a message"), message);
        }
        assert!(Message::parse([9; MESSAGE_BYTES]).is_err());
    }
}
