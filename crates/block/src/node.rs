//! The layout of a stack as plain data: what stack text is parsed into and what a device describes
//! itself as.
//!
//! `layer(option=value, device, …)` over leaves `scheme:address?option=value&option=value`;
//! printing a node gives stack text.

use std::fmt;

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

/// Whether an address or an option's value has to stand in quotes.
fn needs_quotes(text: &str, also: &[char]) -> bool {
    text.contains(|letter: char| {
        letter.is_whitespace()
            || letter.is_control()
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
        if matches!(letter, '"' | '\\') {
            f.write_str("\\")?;
        }
        write!(f, "{letter}")?;
    }
    f.write_str("\"")
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
