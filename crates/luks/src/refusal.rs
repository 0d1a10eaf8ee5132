//! What is said of headers that are refused.

use block::{Error, ErrorKind};
use words::{Message, Text, statement};

use crate::catalogue;

/// An error of a header that cannot have been meant.
pub(crate) fn damaged(what: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Corrupt, statement!(catalogue::HEADER_DAMAGED, what = what))
}

/// A cipher or hash that is not known here.
pub(crate) fn unknown(what: Message, name: &str) -> Error {
    // The name is the header's own.
    let name: String = name.chars().take(32).flat_map(char::escape_default).collect();
    Error::new(
        ErrorKind::Unsupported,
        statement!(catalogue::HEADER_NOT_KNOWN, what = what, name = name),
    )
}
