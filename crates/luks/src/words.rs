//! What is said of headers that are refused.

use block::{Error, ErrorKind};

/// An error of a header that cannot have been meant.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the header is damaged: {what}"))
}

/// A cipher or hash that is not known here.
pub(crate) fn unknown(what: &str, name: &str) -> Error {
    // The name is the header's own.
    let name: String = name.chars().take(32).flat_map(char::escape_default).collect();
    Error::new(ErrorKind::Unsupported, format!("the {what} `{name}` is not known"))
}
