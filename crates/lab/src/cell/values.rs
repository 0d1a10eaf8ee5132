//! What axes may say, as values with the words that plans have for them.

use std::fmt;
use std::str::FromStr;

use words::{Text, statement};

use crate::catalogue;

/// What `none` and `defaults` are called in plans.
pub(crate) const NONE: &str = "none";
pub(crate) const DEFAULTS: &str = "defaults";

/// The value of an axis that may say that there is none: `none` or `defaults`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice<T> {
    /// The axis is not given.
    #[default]
    Absent,
    /// It is given, and says that there is none.
    Without,
    /// It says which.
    With(T),
}

impl<T> Choice<T> {
    /// Which it is, if there is one.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Choice::With(value) => Some(value),
            Choice::Absent | Choice::Without => None,
        }
    }

    /// The text of the axis; `without` is what it says where there is none.
    pub(super) fn text(&self, without: &str, text: impl FnOnce(&T) -> String) -> Option<String> {
        match self {
            Choice::Absent => None,
            Choice::Without => Some(without.to_owned()),
            Choice::With(value) => Some(text(value)),
        }
    }
}

/// An enum whose values have a word each.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$about_value:meta])* $value:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$about_value])* $value,)*
        }

        impl $name {
            /// The words, in the order of the values.
            pub(crate) const WORDS: &[&str] = &[$($word),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$value => $word,)*
                })
            }
        }

        impl FromStr for $name {
            type Err = Text;

            fn from_str(text: &str) -> Result<$name, Text> {
                match text {
                    $($word => Ok($name::$value),)*
                    _ => {
                        let words = $name::WORDS.join(", ");
                        Err(statement!(catalogue::ONE_OF_WORDS, text = text, words = words))
                    }
                }
            }
        }
    };
}

words! {
    /// Where the work is done.
    Machine {
        /// On this machine.
        Host = "host",
        /// In a guest on modelled disks.
        Guest = "guest",
    }
}

words! {
    /// Whose array it is, in a guest.
    ArrayMaker {
        /// raidloom's.
        Raidloom = "raidloom",
        /// The guest's own md.
        Md = "md",
    }
}

words! {
    /// What an array is by its members.
    Metadata {
        /// Nothing is on them.
        Without = "none",
        /// Superblocks of the version that `array create` makes.
        Superblocks = "1.2",
    }
}

words! {
    /// What brings the members of an array to agree after a crash.
    Consistency {
        /// All of it is read.
        Resync = "resync",
        /// A write-intent bitmap says where.
        Bitmap = "bitmap",
        /// A partial parity log.
        PartialParityLog = "ppl",
    }
}

words! {
    /// Something that is done or not.
    Switch {
        /// It is.
        On = "on",
        /// It is not.
        Off = "off",
    }
}

words! {
    /// Whether writes may stay in the cache of a guest's disk until they are flushed.
    WriteCache {
        /// They may.
        On = "on",
        /// There is no cache.
        Off = "off",
        /// There is one, and Linux is not told of it.
        Unflushed = "unflushed",
    }
}

words! {
    /// The schedulers of Linux.
    Scheduler {
        /// Requests go to the disk as they come.
        Without = "none",
        /// By deadlines.
        MqDeadline = "mq-deadline",
        /// By latencies.
        Kyber = "kyber",
        /// By processes.
        Bfq = "bfq",
    }
}

words! {
    /// How what goes to an image passes the outer file system.
    ImageIo {
        /// Through its page cache.
        Buffered = "buffered",
        /// Past it.
        Direct = "direct",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_is_printed() {
        for word in WriteCache::WORDS {
            assert_eq!(
                word.parse::<WriteCache>().map(|value| value.to_string()),
                Ok((*word).into())
            );
        }
        let error = "moon".parse::<Machine>().unwrap_err();
        assert_eq!(error.to_string(), "`moon`: expected one of host, guest");
    }
}
