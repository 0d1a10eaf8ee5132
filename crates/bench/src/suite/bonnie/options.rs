//! What the settings come to, with what each version makes of those that were left open.

use std::time::Duration;

use block::{Error, ErrorKind, size_text};
use words::{Text, statement};

use crate::suite::catalogue;
use crate::suite::definition::Settings;
use crate::suite::folder::Needs;
use crate::suite::machine_memory;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Whose calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// bonnie++ 1.03e.
    Old,
    /// bonnie++ 2.00a.
    New,
}

/// What the small files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Files.
    No,
    /// Hard links to the first one.
    Hard,
    /// Symbolic links to the first one.
    Symbolic,
}

/// A run of bonnie, every default filled in.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose calls.
    pub style: Style,
    /// Size of the large file of each copy in bytes; 0 when there is none.
    pub size_bytes: u64,
    /// Size of a call in bytes.
    pub chunk_bytes: usize,
    /// How much of the large file goes by characters.
    pub character_bytes: u64,
    /// Seeks of each copy in one pass.
    pub seeks: u64,
    /// Seekers of each copy.
    pub seekers: u64,
    /// Small files of each copy in one set.
    pub files: u64,
    /// Their size at least and at most.
    pub file_bytes: (u64, u64),
    /// What they are.
    pub links: Links,
    /// Folders they are spread over.
    pub folders: u64,
    /// Sync everything at once.
    pub sync: bool,
    /// How often everything is run.
    pub runs: u32,
    /// Copies at the same time.
    pub copies: u64,
    /// Past the page cache.
    pub direct: bool,
    /// The original's data.
    pub zeros: bool,
    /// How long a phase runs at least.
    pub min_time: Duration,
}

fn wrong(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

impl Options {
    /// From the suite's settings.
    ///
    /// # Errors
    /// Settings that contradict each other, or a file that a cache would hold.
    pub fn new(settings: &Settings) -> Result<Options, Error> {
        let style = if settings.text("style") == "1.03" { Style::Old } else { Style::New };
        let chunk = settings.bytes("chunk");
        if !chunk.is_power_of_two() || !(256..=MIB).contains(&chunk) {
            return Err(wrong(statement!(catalogue::CHUNK_POWER, chunk = size_text(chunk))));
        }
        let direct = settings.switch("direct");
        if direct && chunk < 4096 {
            return Err(wrong(statement!(catalogue::CHUNK_FOR_DIRECT, chunk = size_text(chunk))));
        }
        let copies = settings.count("concurrency");
        let size_bytes =
            if settings.switch("io") { file_size(settings, style, copies, chunk)? } else { 0 };
        let file_bytes = (settings.bytes("file_size_min"), settings.bytes("file_size_max"));
        if file_bytes.0 > file_bytes.1 {
            return Err(wrong(catalogue::SMALLEST_IS_LARGER));
        }
        let character_bytes =
            match (settings.switch("per_character"), settings.bytes("per_character_size"), style) {
                (false, ..) => 0,
                (true, 0, Style::Old) => size_bytes,
                (true, 0, Style::New) => 3 * MIB,
                (true, bytes, _) => bytes,
            };
        let seekers = match (settings.count("seekers"), style) {
            (0, Style::Old) => 3,
            (0, Style::New) => 5,
            (seekers, _) => seekers,
        };
        let (files, folders) = (settings.count("files"), settings.count("folders"));
        if files > 0 && folders > files {
            let text = statement!(catalogue::FOLDERS_FOR_FILES, folders = folders, files = files);
            return Err(wrong(text));
        }
        Ok(Options {
            style,
            size_bytes,
            chunk_bytes: usize::try_from(chunk).expect("at most 1 MiB"),
            character_bytes: character_bytes.min(size_bytes),
            seeks: settings.count("seeks"),
            seekers,
            files,
            file_bytes,
            links: match settings.text("links") {
                "hard" => Links::Hard,
                "symbolic" => Links::Symbolic,
                _ => Links::No,
            },
            folders,
            sync: settings.switch("sync"),
            runs: u32::try_from(settings.count("runs")).expect("the kind says at most 1000"),
            copies,
            direct,
            zeros: settings.text("data") == "bonnie",
            min_time: settings.time("min_time"),
        })
    }

    /// What the folder has to have room for.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let small = if self.links == Links::No {
            self.files * self.file_bytes.1
        } else {
            self.file_bytes.1
        };
        let piece = if self.style == Style::Old { GIB } else { u64::MAX };
        Needs {
            bytes: self.copies * self.size_bytes.max(small),
            longest_file_bytes: self.size_bytes.min(piece).max(self.file_bytes.1),
            files: self.copies * (self.files + self.folders + 2),
            direct: self.direct,
        }
    }

    /// Whether the style syncs each large file, and the file system after making and deleting,
    /// inside the time.
    #[must_use]
    pub fn syncs_inside(&self) -> bool {
        self.style == Style::New || self.sync
    }
}

fn file_size(settings: &Settings, style: Style, copies: u64, chunk: u64) -> Result<u64, Error> {
    let memory = match settings.bytes("ram") {
        0 => machine_memory(),
        bytes => bytes,
    };
    let size = match settings.bytes("size") {
        0 => by_memory(memory, style),
        bytes => bytes,
    };
    if settings.switch("check_memory")
        && size.saturating_mul(copies) < 2 * memory.next_multiple_of(MIB) - 2 * MIB
    {
        return Err(wrong(statement!(
            catalogue::CACHE_COULD_HOLD,
            size = size_text(size),
            least = 2 * memory / MIB
        )));
    }
    let whole = size - size % chunk;
    if whole == 0 {
        Err(wrong(statement!(catalogue::SIZE_OF_A_CHUNK, size = size_text(size))))
    } else {
        Ok(whole)
    }
}

/// Twice the memory, as each version rounds it.
fn by_memory(memory: u64, style: Style) -> u64 {
    let twice = (2 * memory).next_multiple_of(2 * MIB);
    match style {
        Style::New => twice,
        Style::Old => {
            let size = twice.max(300 * MIB);
            if size % GIB > 512 * MIB { size.next_multiple_of(GIB) } else { size }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Value;
    use crate::suite::bonnie::SUITE;

    fn options(said: &[(&str, Value)]) -> Result<Options, Error> {
        let mut settings = SUITE.defaults(block::Clock::Wall);
        for (name, value) in said {
            settings.set(&SUITE, name, value.clone()).unwrap();
        }
        Options::new(&settings)
    }

    #[test]
    fn the_default_size_is_twice_the_memory_as_each_version_rounds_it() {
        assert_eq!(by_memory(8 * GIB, Style::New), 16 * GIB);
        assert_eq!(by_memory(100 * MIB, Style::Old), 300 * MIB);
        assert_eq!(
            by_memory(900 * MIB, Style::Old),
            2 * GIB,
            "1800 MiB is more than half a GiB over"
        );
        assert_eq!(by_memory(700 * MIB, Style::Old), 1400 * MIB);
    }

    #[test]
    fn a_file_that_a_cache_could_hold_is_refused() {
        let small = [("size", Value::Bytes(64 * MIB)), ("ram", Value::Bytes(64 * MIB))];
        let error = options(&small).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Invalid
                && error.to_string().contains("twice the memory, 128 MiB"),
            "{error}"
        );
        let unchecked =
            [small[0].clone(), small[1].clone(), ("check_memory", Value::Switch(false))];
        assert_eq!(options(&unchecked).unwrap().size_bytes, 64 * MIB);
        let copies = [small[0].clone(), small[1].clone(), ("concurrency", Value::Count(2))];
        assert!(options(&copies).is_ok(), "two copies together are large enough");
    }

    #[test]
    fn each_version_fills_in_its_own() {
        let size = [("size", Value::Bytes(GIB)), ("check_memory", Value::Switch(false))];
        let new = options(&size).unwrap();
        assert_eq!((new.seekers, new.character_bytes, new.syncs_inside()), (5, 3 * MIB, true));
        let old =
            options(&[size[0].clone(), size[1].clone(), ("style", Value::word("1.03"))]).unwrap();
        assert_eq!((old.seekers, old.character_bytes, old.syncs_inside()), (3, GIB, false));
    }

    #[test]
    fn contradictions_are_refused() {
        let base = [("size", Value::Bytes(GIB)), ("check_memory", Value::Switch(false))];
        let with = |name: &'static str, value: Value| {
            let mut said = base.to_vec();
            said.push((name, value));
            options(&said)
        };
        assert!(
            with("chunk", Value::Bytes(3000)).unwrap_err().to_string().contains("power of two")
        );
        assert!(with("file_size_min", Value::Bytes(1)).is_err());
        assert!(with("folders", Value::Count(100_000)).is_err());
    }
}
