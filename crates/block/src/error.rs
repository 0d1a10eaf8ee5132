//! One error type for every layer: kind, context, source. errno appears only at the edge.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use reactor::RingMissing;
use reactor::plain_file::Unread;
use rustix::io::Errno;
use words::{Message, Text, statement};

use crate::catalogue;

/// What went wrong, as far as a caller may have to tell cases apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request or the configuration makes no sense.
    Invalid,
    /// The request reaches past the end of the device.
    OutOfRange,
    /// Offset or length is no multiple of the block size.
    Misaligned,
    /// The device takes no writes.
    ReadOnly,
    /// The device cannot do this.
    Unsupported,
    /// The medium gave an error for these blocks (EIO).
    Media,
    /// The device is gone.
    Gone,
    /// No space left under a file.
    NoSpace,
    /// No answer in time.
    TimedOut,
    /// There is no such file or device.
    NotFound,
    /// The system does not permit it.
    Permission,
    /// It is in use elsewhere.
    Busy,
    /// Opening it for this purpose was refused for safety's sake.
    Refused,
    /// Data are not what was written.
    Corrupt,
    /// Anything else.
    Other,
}

/// An error: what kind, in which place, and what was behind it.
pub struct Error(Box<Body>);

struct Body {
    kind: ErrorKind,
    context: Text,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    /// The context tells of the source already.
    told: bool,
}

impl Error {
    /// An error of `kind`; `context` is the line a person reads.
    #[must_use]
    pub fn new(kind: ErrorKind, context: impl Into<Text>) -> Error {
        Error(Box::new(Body { kind, context: context.into(), source: None, told: false }))
    }

    /// The same with what was behind it.
    #[must_use]
    pub fn with_source(
        kind: ErrorKind,
        context: impl Into<Text>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        let source: Box<dyn StdError + Send + Sync> = source.into();
        let source = Some(source.into());
        Error(Box::new(Body { kind, context: context.into(), source, told: false }))
    }

    /// From an error of the system, with the place where it came up.
    #[must_use]
    pub fn from_io(context: impl Into<Text>, error: io::Error) -> Error {
        let text = io_text(&error).at(context);
        Error::with_source(kind_of(&error), "", error).retold(text)
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The same error, seen from one layer further up: `place: what it was`.
    #[must_use]
    pub fn at(mut self, place: impl Into<Text>) -> Error {
        self.0.context = std::mem::take(&mut self.0.context).at(place);
        self
    }

    /// The same error in other words, which tell what there is to tell of its source.
    #[must_use]
    pub fn retold(mut self, text: impl Into<Text>) -> Error {
        (self.0.context, self.0.told) = (text.into(), true);
        self
    }

    /// What it says, with what was behind it.
    #[must_use]
    pub fn text(&self) -> Text {
        let text = self.0.context.clone();
        match &self.0.source {
            Some(source) if !self.0.told => text.and(format_args!(": {source}")),
            _ => text,
        }
    }

    /// Another error that tells the same, for each of several requests that one failure ends.
    #[must_use]
    pub fn repeat(&self) -> Error {
        let Body { kind, context, source, told } = &*self.0;
        Error(Box::new(Body {
            kind: *kind,
            context: context.clone(),
            source: source.clone(),
            told: *told,
        }))
    }
}

/// Errors of the system that a person meets, with what they are in other languages than its own.
const MET: [(Errno, Message); 15] = [
    // A socket's time is over, or a process could not be started.
    (Errno::AGAIN, catalogue::TRY_AGAIN),
    (Errno::MFILE, catalogue::TOO_MANY_FILES),
    (Errno::NOENT, catalogue::NO_ENTRY),
    (Errno::ACCESS, catalogue::NO_ACCESS),
    (Errno::PERM, catalogue::NO_PERMISSION),
    (Errno::BUSY, catalogue::BUSY),
    (Errno::NOSPC, catalogue::NO_SPACE),
    (Errno::IO, catalogue::INPUT_OUTPUT),
    (Errno::ROFS, catalogue::READ_ONLY_SYSTEM),
    (Errno::NOTDIR, catalogue::NO_FOLDER),
    (Errno::ISDIR, catalogue::IS_FOLDER),
    (Errno::EXIST, catalogue::IS_THERE),
    (Errno::NOMEM, catalogue::NO_MEMORY),
    (Errno::CONNREFUSED, catalogue::CONNECTION_REFUSED),
    (Errno::INVAL, catalogue::INVALID_ARGUMENT),
];

/// An error of the system in words: its own, and what is meant by them where they alone tell a
/// person nothing.
#[must_use]
pub fn io_text(error: &io::Error) -> Text {
    let number = Errno::from_io_error(error);
    match MET.iter().find(|(known, _)| number == Some(*known)) {
        Some((_, message)) => statement!(*message, system = error.to_string()),
        None => match error.get_ref() {
            None if error.kind() == io::ErrorKind::UnexpectedEof => catalogue::ENDS_EARLY.into(),
            // One of our own may be in it.
            own => own.and_then(own_text).unwrap_or_else(|| error.to_string().into()),
        },
    }
}

/// What one of our own errors says.
fn own_text(own: &(dyn StdError + Send + Sync + 'static)) -> Option<Text> {
    if let Some(text) = own.downcast_ref::<Text>() {
        return Some(text.clone());
    }
    if let Some(missing) = own.downcast_ref::<RingMissing>() {
        return Some(ring_missing_text(*missing));
    }
    own.downcast_ref::<Unread>().map(|unread| match *unread {
        Unread::NotPlain => catalogue::NOT_PLAIN.into(),
        Unread::Link => catalogue::IS_LINK.into(),
        Unread::TooLarge { most_bytes } => statement!(catalogue::TOO_LARGE, most = most_bytes),
    })
}

/// What is said where the kernel gives no io_uring.
#[must_use]
pub fn ring_missing_text(missing: RingMissing) -> Text {
    let answer = io::Error::from(missing.errno()).to_string();
    statement!(catalogue::NO_RING, answer = answer, remedy = ring_remedy(missing))
}

/// What helps where the kernel gives no io_uring.
#[must_use]
pub fn ring_remedy(missing: RingMissing) -> Text {
    let remedy = match missing.errno() {
        Errno::MFILE | Errno::NFILE => catalogue::RAISE_FILES,
        Errno::NOMEM => catalogue::RAISE_MEMORY,
        _ => catalogue::ALLOW_RING,
    };
    remedy.into()
}

/// Which kind an error of the system is.
fn kind_of(error: &io::Error) -> ErrorKind {
    // What the standard library has no stable kind for.
    match Errno::from_io_error(error) {
        Some(Errno::IO) => return ErrorKind::Media,
        Some(Errno::NXIO | Errno::NODEV) => return ErrorKind::Gone,
        Some(Errno::DQUOT) => return ErrorKind::NoSpace,
        _ => (),
    }
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        io::ErrorKind::InvalidInput => ErrorKind::Invalid,
        io::ErrorKind::Unsupported => ErrorKind::Unsupported,
        io::ErrorKind::TimedOut => ErrorKind::TimedOut,
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => ErrorKind::NoSpace,
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock => ErrorKind::Busy,
        _ => ErrorKind::Other,
    }
}

impl From<RingMissing> for Error {
    fn from(missing: RingMissing) -> Error {
        Error::with_source(ErrorKind::Other, "", missing).retold(ring_missing_text(missing))
    }
}

impl From<Error> for Text {
    /// What it says; what was behind it is not kept.
    fn from(error: Error) -> Text {
        error.text()
    }
}

impl From<&Error> for Text {
    fn from(error: &Error) -> Text {
        error.text()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use words::{Language, in_language};

    use super::*;

    /// The reactor's own sentences are in English; ours are the same, and there are more.
    #[test]
    fn what_the_reactor_refuses_is_said_in_every_language() {
        let rings = [Errno::PERM, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSYS]
            .map(|errno| io::Error::from(RingMissing::from(errno)));
        let files = [Unread::NotPlain, Unread::Link, Unread::TooLarge { most_bytes: 7 }];
        for error in rings.into_iter().chain(files.map(io::Error::from)) {
            let text = io_text(&error);
            assert_eq!(text.english(), error.to_string());
            let japanese = in_language(Language::Japanese, || text.to_string());
            assert_ne!(japanese, text.english());
        }
    }
}
