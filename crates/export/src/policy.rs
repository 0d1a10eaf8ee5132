//! When what a program wrote is safe from a pulled plug.

use std::fmt;
use std::str::FromStr;
use words::{Text, statement};

use crate::catalogue;

/// The removal policy of an exported drive, as systems have it for removable media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemovalPolicy {
    /// Every write is durable when it completes: nothing is lost when the drive is pulled.
    Quick,
    /// Writes are durable after a flush, as with any drive that has a write cache.
    #[default]
    Performance,
}

impl RemovalPolicy {
    /// Whether each write has to be durable by itself.
    #[must_use]
    pub fn writes_durably(self) -> bool {
        self == RemovalPolicy::Quick
    }
}

impl fmt::Display for RemovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RemovalPolicy::Quick => "quick",
            RemovalPolicy::Performance => "performance",
        })
    }
}

impl FromStr for RemovalPolicy {
    type Err = Text;

    fn from_str(text: &str) -> Result<RemovalPolicy, Text> {
        match text {
            "quick" => Ok(RemovalPolicy::Quick),
            "performance" => Ok(RemovalPolicy::Performance),
            other => Err(statement!(catalogue::QUICK_OR_PERFORMANCE, other = other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for policy in [RemovalPolicy::Quick, RemovalPolicy::Performance] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert!("fast".parse::<RemovalPolicy>().is_err());
    }
}
