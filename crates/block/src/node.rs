//! The layout of a stack as plain data: what stack text is parsed into and what a device describes
//! itself as.
//!
//! `layer(option=value, device, …)` over leaves `scheme:address?option=value&option=value`;
//! printing a node gives stack text.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use words::Text;

/// A device in a stack, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A layer over other devices.
    Layer {
        /// Name, for example `raid0`.
        name: String,
        /// Options in the order they were given.
        options: Vec<(String, String)>,
        /// What it stands on.
        children: Vec<Node>,
    },
    /// A leaf.
    Leaf {
        /// What kind of leaf, for example `file`.
        scheme: String,
        /// What it opens; may be empty (`null:`).
        address: String,
        /// Options in the order they were given.
        options: Vec<(String, String)>,
    },
    /// A member that is not there.
    Missing,
}

impl Node {
    /// A leaf without options.
    #[must_use]
    pub fn leaf(scheme: &str, address: impl Into<String>) -> Node {
        Node::Leaf { scheme: scheme.to_owned(), address: address.into(), options: Vec::new() }
    }

    /// A file or block device by its path.
    #[must_use]
    pub fn file(path: &Path) -> Node {
        Node::leaf("file", path_text(path))
    }

    /// The path of a leaf that is a file or block device.
    #[must_use]
    pub fn file_path(&self) -> Option<PathBuf> {
        match self {
            Node::Leaf { scheme, address, .. } if scheme == "file" => Some(text_path(address)),
            _ => None,
        }
    }

    /// A layer without options.
    #[must_use]
    pub fn layer(name: &str, children: Vec<Node>) -> Node {
        Node::Layer { name: name.to_owned(), options: Vec::new(), children }
    }

    /// The same with one option more.
    #[must_use]
    pub fn with(mut self, option: &str, setting: impl fmt::Display) -> Node {
        if let Node::Layer { options, .. } | Node::Leaf { options, .. } = &mut self {
            options.push((option.to_owned(), setting.to_string()));
        }
        self
    }

    /// All leaves below, from left to right.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Node> {
        match self {
            Node::Layer { children, .. } => children.iter().flat_map(Node::leaves).collect(),
            Node::Leaf { .. } => vec![self],
            Node::Missing => Vec::new(),
        }
    }
}

/// Stands before the last eight bits of a byte that is not UTF-8: the end of Unicode's last private
/// plane, which names do not use.
const BYTE_MARK: u32 = 0x0010_ff00;

/// The letter that a byte of 0x80 to 0xff stands as in the address of a [`Node`] where a name is
/// not UTF-8; stack text shows it as `\xNN` in quotes.
#[must_use]
pub fn letter_of_byte(byte: u8) -> char {
    char::from_u32(BYTE_MARK | u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of_letter(letter: char) -> Option<u8> {
    (BYTE_MARK | 0x80..=BYTE_MARK | 0xff).contains(&u32::from(letter)).then_some(letter as u8)
}

/// A path as the address of a leaf, whatever its bytes are; [`text_path`] leads back.
#[must_use]
pub fn path_text(path: &Path) -> String {
    let mut text = String::new();
    let byte = |text: &mut String, byte: &u8| text.push(letter_of_byte(*byte));
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match byte_of_letter(letter) {
                // It would be taken for the byte.
                Some(_) => letter
                    .encode_utf8(&mut [0; 4])
                    .as_bytes()
                    .iter()
                    .for_each(|part| byte(&mut text, part)),
                None => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|part| byte(&mut text, part));
    }
    text
}

/// The path that an address of a leaf stands for.
#[must_use]
pub fn text_path(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte_of_letter(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

/// Whether an address or an option's value has to stand in quotes.
fn needs_quotes(text: &str, also: &[char]) -> bool {
    text.contains(|letter: char| {
        letter.is_whitespace()
            || letter.is_control()
            || byte_of_letter(letter).is_some()
            || ",()\"".contains(letter)
            || also.contains(&letter)
    })
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str, also: &[char]) -> fmt::Result {
    if !needs_quotes(text, also) {
        return f.write_str(text);
    }
    f.write_str("\"")?;
    for letter in text.chars() {
        match (letter, byte_of_letter(letter)) {
            ('"' | '\\', _) => write!(f, "\\{letter}")?,
            (_, Some(byte)) => write!(f, "\\x{byte:02x}")?,
            (letter, None) => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

impl From<&Node> for Text {
    fn from(node: &Node) -> Text {
        node.to_string().into()
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Layer { name, options, children } => {
                write!(f, "{name}(")?;
                for (index, (option, setting)) in options.iter().enumerate() {
                    write!(f, "{}{option}=", if index == 0 { "" } else { ", " })?;
                    quoted(f, setting, &[])?;
                }
                for (index, child) in children.iter().enumerate() {
                    write!(
                        f,
                        "{}{child}",
                        if index == 0 && options.is_empty() { "" } else { ", " }
                    )?;
                }
                f.write_str(")")
            }
            Node::Leaf { scheme, address, options } => {
                write!(f, "{scheme}:")?;
                quoted(f, address, &['?', '\\'])?;
                for (index, (option, setting)) in options.iter().enumerate() {
                    write!(f, "{}{option}=", if index == 0 { '?' } else { '&' })?;
                    quoted(f, setting, &['&', '\\'])?;
                }
                Ok(())
            }
            Node::Missing => f.write_str("missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn every_name_comes_back_from_its_text() {
        for (bytes, expected) in [
            (&b"a.img"[..], "file:a.img"),
            (b"inv\xff.img", r#"file:"inv\xff.img""#),
            (b"\xc3\xa4 \xe4.img", "file:\"\u{e4} \\xe4.img\""),
            (b"a\\xff", r#"file:"a\\xff""#),
            // A letter that stands for a byte elsewhere.
            ("\u{10ffff}".as_bytes(), r#"file:"\xf4\x8f\xbf\xbf""#),
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            let node = Node::file(path);
            assert_eq!(node.to_string(), expected);
            assert_eq!(node.file_path().as_deref(), Some(path), "{expected}");
        }
        assert_eq!(Node::Missing.file_path(), None);
    }
}
