//! What passes over a control socket: one JSON object a line, one answer to each request.
//! `docs/serving.md` shows them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use words::Text;

/// The version of the protocol; a server answers no other.
pub const VERSION: u32 = 1;

/// A line to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// What it asks for.
    pub request: Command,
}

/// What can be asked of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// What it serves and how that fares.
    Status,
    /// What it was started with, as a configuration has it.
    Settings,
    /// End, unless something is mounted from it.
    Stop,
    /// Mount the file system on it, whichever that is, or of a kind, which is made first where
    /// there is nothing.
    Mount {
        /// Where; an absolute path.
        point: PathBuf,
        /// Which kind; without one, whichever is there.
        file_system: Option<String>,
        /// As `mount -o` takes them.
        options: Option<String>,
    },
    /// Unmount what is mounted from it.
    Unmount,
    /// Take a member out of service.
    Fail {
        /// The array, where the stack has several.
        array: Option<String>,
        /// Its place, from 0.
        member: usize,
    },
    /// Let go of a member that has failed.
    Remove {
        /// The array, where the stack has several.
        array: Option<String>,
        /// Its place, from 0.
        member: usize,
    },
    /// Add a device as a spare, which takes the place of a member that is missing.
    Add {
        /// The array, where the stack has several.
        array: Option<String>,
        /// A stack text; paths are absolute.
        device: String,
        /// What may happen to it.
        #[serde(default)]
        consent: GivenConsent,
    },
    /// Give a member's place to another device: by a copy while it serves, or else by a rebuild.
    Replace {
        /// The array, where the stack has several.
        array: Option<String>,
        /// Its place, from 0.
        member: usize,
        /// A stack text; paths are absolute.
        device: String,
        /// What may happen to it.
        #[serde(default)]
        consent: GivenConsent,
    },
    /// Go over all of it and compare.
    Scrub {
        /// The array, where the stack has several.
        array: Option<String>,
        /// What about it.
        action: ScrubAction,
    },
    /// Say how fast members are brought up to date and compared. The answer has both rates.
    Speed {
        /// The array, where the stack has several.
        array: Option<String>,
        /// While the array has requests, in bytes of a member; as before without it.
        #[serde(default)]
        least_bytes_per_second: Option<u64>,
        /// While it has none.
        #[serde(default)]
        most_bytes_per_second: Option<u64>,
    },
    /// Write out what is dirty in its caches; they stay warm.
    FlushCaches,
    /// Give a cache in memory another size.
    ResizeCache {
        /// Its number in `status`, where there are several in memory.
        #[serde(default)]
        cache: Option<usize>,
        /// The size, in bytes.
        size_bytes: u64,
    },
    /// Say how much is logged. The answer has the filter.
    Log {
        /// A level, or parts of the program with a level each; as before without it.
        #[serde(default)]
        filter: Option<String>,
    },
    /// Answer when nothing is under way any more, or within a second in any case, with what is.
    Wait {
        /// The array, where the stack has several.
        array: Option<String>,
    },
}

/// Consents to overwrite a device, as their flags on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GivenConsent {
    /// Serial numbers of disks that may be erased.
    pub erase: Vec<String>,
    /// Whether what carries a signature may be overwritten.
    pub erase_signature: bool,
    /// Block devices without an identity that may be erased.
    pub allow_device: Vec<PathBuf>,
}

/// What to do about a scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScrubAction {
    /// Find what does not agree.
    Check,
    /// Mend the member that is wrong.
    Repair,
    /// Make parity of the data, and copies of the first.
    Resync,
    /// Stop for the time being.
    Pause,
    /// Go on.
    Resume,
    /// End it.
    Cancel,
}

/// A line from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done; what there is to tell.
    Done(serde_json::Value),
    /// It was not.
    Refused(Refusal),
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// One line for people. In JSON `text` is its English, and `parts` has codes and names, for
    /// the language of whoever asked.
    #[serde(flatten, with = "refusal_parts")]
    pub text: Text,
    /// The exit code of the command that asked.
    pub exit_code: u8,
}

words::with_parts!(refusal_parts: Text, "text", "parts");

impl From<&host::Error> for Refusal {
    fn from(error: &host::Error) -> Refusal {
        Refusal { text: error.text().clone(), exit_code: error.exit_code() }
    }
}

impl From<Refusal> for host::Error {
    fn from(refusal: Refusal) -> host::Error {
        let Refusal { text, exit_code } = refusal;
        match exit_code {
            2 => host::Error::usage(text),
            4 => host::Error::refused(text),
            130 => host::Error::interrupted(text),
            _ => host::Error::failed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_read_as_the_documentation_shows_them() {
        let read =
            |text: &str| serde_json::from_str::<Request>(text).map(|request| request.request);
        assert_eq!(read(r#"{"version": 1, "request": "status"}"#).unwrap(), Command::Status);
        assert_eq!(
            read(r#"{"version": 1, "request": {"fail": {"member": 2}}}"#).unwrap(),
            Command::Fail { array: None, member: 2 }
        );
        let scrub = read(r#"{"version": 1, "request": {"scrub": {"action": "check"}}}"#).unwrap();
        assert_eq!(scrub, Command::Scrub { array: None, action: ScrubAction::Check });
        let speed = Command::Speed {
            array: None,
            least_bytes_per_second: None,
            most_bytes_per_second: Some(1 << 20),
        };
        assert_eq!(
            read(r#"{"version": 1, "request": {"speed": {"most_bytes_per_second": 1048576}}}"#)
                .unwrap(),
            speed
        );
        assert!(
            read(r#"{"version": 1, "request": {"fail": {"member": 2, "force": true}}}"#).is_err(),
            "unknown fields are refused"
        );
        assert_eq!(
            read(r#"{"version": 1, "request": "flush_caches"}"#).unwrap(),
            Command::FlushCaches
        );
        let resize =
            read(r#"{"version": 1, "request": {"resize_cache": {"size_bytes": 4096}}}"#).unwrap();
        assert_eq!(resize, Command::ResizeCache { cache: None, size_bytes: 4096 });
        assert!(read(r#"{"version": 1, "request": "explode"}"#).is_err());
    }

    #[test]
    fn a_refusal_ends_the_command_as_the_error_would() {
        for error in [
            host::Error::usage("a"),
            host::Error::refused("b"),
            host::Error::failed("c"),
            host::Error::interrupted("d"),
        ] {
            let back = host::Error::from(Refusal::from(&error));
            assert_eq!((back.exit_code(), back.text()), (error.exit_code(), error.text()));
        }
        // One of an earlier version has its line alone.
        let old: Answer =
            serde_json::from_str(r#"{"refused": {"text": "no", "exit_code": 4}}"#).unwrap();
        let Answer::Refused(refusal) = old else { panic!("{old:?}") };
        let error = host::Error::from(refusal);
        assert_eq!((error.to_string().as_str(), error.exit_code()), ("no", 4));
    }
}
