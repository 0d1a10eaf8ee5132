//! The axes of a configuration as values: read from the texts of its record, and written back.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use bench::processor::Processor;
use export::RemovalPolicy;
use export::image::ImageKind;
use guest::ArrayCompleteness;
use host::Error;
use host::mount::FileSystem;
use stack::size::parse_duration;
use words::{Text, statement};

use super::level::Level;
use super::names::*;
use super::values::{
    ArrayMaker, Choice, Consistency, DEFAULTS, ImageIo, Machine, Metadata, NONE, Scheduler, Switch,
    WriteCache,
};
use crate::{catalogue, processor, stacks};

/// What a configuration says on every axis; what it leaves out means nothing to it or is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axes {
    /// The name of its set of members.
    pub(crate) members: Option<String>,
    pub(crate) level: Option<Level>,
    pub(crate) chunk_bytes: Option<u64>,
    pub(crate) place: Option<Machine>,
    pub(crate) array: Option<ArrayMaker>,
    /// As md calls it.
    pub(crate) layout: Option<String>,
    pub(crate) metadata: Option<Metadata>,
    pub(crate) consistency: Option<Consistency>,
    /// What a bit of the write-intent bitmap covers, in bytes.
    pub(crate) bitmap_bytes: Choice<u64>,
    pub(crate) member_timeout: Choice<Duration>,
    /// The name that the plan has for it.
    pub(crate) cache: Choice<String>,
    pub(crate) upkeep: Option<Switch>,
    pub(crate) file_system: Choice<FileSystem>,
    pub(crate) make_options: Choice<String>,
    pub(crate) mount_options: Choice<String>,
    pub(crate) policy: Option<RemovalPolicy>,
    pub(crate) image: Choice<ImageKind>,
    pub(crate) image_bytes: Option<u64>,
    pub(crate) image_io: Option<ImageIo>,
    pub(crate) outer_file_system: Option<FileSystem>,
    pub(crate) outer_make_options: Choice<String>,
    pub(crate) outer_mount_options: Choice<String>,
    pub(crate) processors: Option<usize>,
    /// The name of the guest's.
    pub(crate) kernel: Option<String>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) processor: Choice<Processor>,
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) read_ahead_bytes: Option<u64>,
    pub(crate) request_max_bytes: Option<u64>,
    pub(crate) queue_depth: Option<u32>,
    pub(crate) write_cache: Option<WriteCache>,
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) state: Option<ArrayCompleteness>,
    /// Settings of the plan's suites that are axes, by their names as axes.
    pub(crate) suites: BTreeMap<String, String>,
}

impl Axes {
    /// What the texts of a configuration say.
    ///
    /// # Errors
    /// A text that its axis does not take: a usage error that names the axis.
    pub(crate) fn read(settings: &BTreeMap<String, String>) -> Result<Axes, Error> {
        let texts = Texts(settings);
        let of_suites = |(axis, _): &(&String, &String)| is_of_suites(axis);
        Ok(Axes {
            members: texts.get(MEMBERS).map(str::to_owned),
            level: texts.read(LEVEL, named_level)?,
            chunk_bytes: texts.read(CHUNK, stacks::parse_size)?,
            place: texts.read(PLACE, Machine::from_str)?,
            array: texts.read(ARRAY, ArrayMaker::from_str)?,
            layout: texts.get(LAYOUT).map(str::to_owned),
            metadata: texts.read(METADATA, Metadata::from_str)?,
            consistency: texts.read(CONSISTENCY, Consistency::from_str)?,
            bitmap_bytes: texts.choice(BITMAP, DEFAULTS, stacks::parse_size)?,
            member_timeout: texts.choice(MEMBER_TIMEOUT, NONE, parse_duration)?,
            cache: texts.choice(CACHE, NONE, owned)?,
            upkeep: texts.read(UPKEEP, Switch::from_str)?,
            file_system: texts.choice(FILE_SYSTEM, NONE, FileSystem::named)?,
            make_options: texts.choice(MAKE_OPTIONS, DEFAULTS, owned)?,
            mount_options: texts.choice(MOUNT_OPTIONS, DEFAULTS, owned)?,
            policy: texts.read(POLICY, RemovalPolicy::from_str)?,
            image: texts.choice(IMAGE, NONE, ImageKind::from_str)?,
            image_bytes: texts.read(IMAGE_SIZE, stacks::parse_size)?,
            image_io: texts.read(IMAGE_IO, ImageIo::from_str)?,
            outer_file_system: texts.read(OUTER_FILE_SYSTEM, FileSystem::named)?,
            outer_make_options: texts.choice(OUTER_MAKE_OPTIONS, DEFAULTS, owned)?,
            outer_mount_options: texts.choice(OUTER_MOUNT_OPTIONS, DEFAULTS, owned)?,
            processors: texts.read(PROCESSORS, number)?,
            kernel: texts.read(KERNEL, kernel)?,
            memory_bytes: texts.read(MEMORY, stacks::parse_size)?,
            processor: texts.choice(PROCESSOR, NONE, processor::parse)?,
            scheduler: texts.read(SCHEDULER, Scheduler::from_str)?,
            read_ahead_bytes: texts.read(READ_AHEAD, stacks::parse_size)?,
            request_max_bytes: texts.read(MAX_REQUEST, stacks::parse_size)?,
            queue_depth: texts.read(QUEUE_DEPTH, number)?,
            write_cache: texts.read(WRITE_CACHE, WriteCache::from_str)?,
            disk_bytes: texts.read(DISK_SIZE, stacks::parse_size)?,
            state: texts.read(STATE, ArrayCompleteness::from_str)?,
            suites: settings
                .iter()
                .filter(of_suites)
                .map(|(axis, text)| (axis.clone(), text.clone()))
                .collect(),
        })
    }

    /// The texts that say the same, by axis: what a record has.
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        let name = |kind: &FileSystem| kind.name.to_owned();
        let size = |bytes: Option<u64>| bytes.map(stacks::size_text);
        let options = |options: &Choice<String>| options.text(DEFAULTS, String::clone);
        let texts = [
            (MEMBERS, self.members.clone()),
            (LEVEL, self.level.map(|level| level.name.to_owned())),
            (CHUNK, size(self.chunk_bytes)),
            (PLACE, text(self.place)),
            (ARRAY, text(self.array)),
            (LAYOUT, self.layout.clone()),
            (METADATA, text(self.metadata)),
            (CONSISTENCY, text(self.consistency)),
            (BITMAP, self.bitmap_bytes.text(DEFAULTS, |bytes| stacks::size_text(*bytes))),
            (MEMBER_TIMEOUT, self.member_timeout.text(NONE, |time| block::duration_text(*time))),
            (CACHE, self.cache.text(NONE, String::clone)),
            (UPKEEP, text(self.upkeep)),
            (FILE_SYSTEM, self.file_system.text(NONE, name)),
            (MAKE_OPTIONS, options(&self.make_options)),
            (MOUNT_OPTIONS, options(&self.mount_options)),
            (POLICY, text(self.policy)),
            (IMAGE, self.image.text(NONE, ToString::to_string)),
            (IMAGE_SIZE, size(self.image_bytes)),
            (IMAGE_IO, text(self.image_io)),
            (OUTER_FILE_SYSTEM, self.outer_file_system.as_ref().map(name)),
            (OUTER_MAKE_OPTIONS, options(&self.outer_make_options)),
            (OUTER_MOUNT_OPTIONS, options(&self.outer_mount_options)),
            (PROCESSORS, text(self.processors)),
            (KERNEL, self.kernel.clone()),
            (MEMORY, size(self.memory_bytes)),
            (PROCESSOR, self.processor.text(NONE, ToString::to_string)),
            (SCHEDULER, text(self.scheduler)),
            (READ_AHEAD, size(self.read_ahead_bytes)),
            (MAX_REQUEST, size(self.request_max_bytes)),
            (QUEUE_DEPTH, text(self.queue_depth)),
            (WRITE_CACHE, text(self.write_cache)),
            (DISK_SIZE, size(self.disk_bytes)),
            (STATE, text(self.state)),
        ];
        let given = texts.into_iter().filter_map(|(axis, text)| Some((axis.to_owned(), text?)));
        given.chain(self.suites.clone()).collect()
    }
}

/// The value of the axis over a setting of the plan's suites, where the configuration has one.
pub(crate) fn suite_axis<'a>(
    settings: &'a BTreeMap<String, String>,
    setting: &str,
) -> Option<&'a str> {
    settings.get(&axis_name(setting)).map(String::as_str)
}

/// The texts of a configuration.
struct Texts<'a>(&'a BTreeMap<String, String>);

impl Texts<'_> {
    fn get(&self, axis: &str) -> Option<&str> {
        self.0.get(axis).map(String::as_str)
    }

    fn read<T, E: Into<Text>>(
        &self,
        axis: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Error> {
        let wrong = |reason: E| Error::usage(reason).at(axis);
        self.get(axis).map(read).transpose().map_err(wrong)
    }

    fn choice<T, E: Into<Text>>(
        &self,
        axis: &str,
        without: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Choice<T>, Error> {
        if self.get(axis) == Some(without) {
            return Ok(Choice::Without);
        }
        Ok(self.read(axis, read)?.map_or(Choice::Absent, Choice::With))
    }
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn owned(text: &str) -> Result<String, Text> {
    Ok(text.to_owned())
}

fn kernel(text: &str) -> Result<String, Text> {
    guest::check_kernel_name(text).map_err(Text::from)?;
    Ok(text.to_owned())
}

fn number<T: FromStr>(text: &str) -> Result<T, Text> {
    text.parse().map_err(|_| statement!(catalogue::AXIS_NUMBER, text = text))
}

fn named_level(text: &str) -> Result<Level, Text> {
    Level::named(text).ok_or_else(|| statement!(catalogue::AXIS_LEVEL, text = text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_says_is_written_back() {
        let settings: BTreeMap<String, String> = [
            (MEMBERS, "two"),
            (LEVEL, "raid5"),
            (CHUNK, "64KiB"),
            (PLACE, "guest"),
            (ARRAY, "md"),
            (LAYOUT, "left-asymmetric"),
            (METADATA, "1.2"),
            (CONSISTENCY, "ppl"),
            (BITMAP, "defaults"),
            (MEMBER_TIMEOUT, "none"),
            (CACHE, "none"),
            (UPKEEP, "off"),
            (FILE_SYSTEM, "ext4"),
            (MAKE_OPTIONS, "-m 0"),
            (MOUNT_OPTIONS, "defaults"),
            (POLICY, "quick"),
            (IMAGE, "vhd"),
            (IMAGE_SIZE, "8MiB"),
            (IMAGE_IO, "direct"),
            (OUTER_FILE_SYSTEM, "xfs"),
            (OUTER_MAKE_OPTIONS, "defaults"),
            (OUTER_MOUNT_OPTIONS, "noatime"),
            (PROCESSORS, "1"),
            (KERNEL, "more"),
            (MEMORY, "64MiB"),
            (PROCESSOR, "call=5us,copy=1GB/s"),
            (SCHEDULER, "mq-deadline"),
            (READ_AHEAD, "0"),
            (MAX_REQUEST, "512KiB"),
            (QUEUE_DEPTH, "32"),
            (WRITE_CACHE, "unflushed"),
            (DISK_SIZE, "512MiB"),
            (STATE, "rebuilding"),
            ("workload.chunk", "4KiB"),
            ("depth", "8"),
        ]
        .map(|(axis, text)| (axis.to_owned(), text.to_owned()))
        .into();
        assert!(AXES.iter().all(|axis| settings.contains_key(*axis)));
        assert_eq!(Axes::read(&settings).unwrap().texts(), settings);
        let nothing = BTreeMap::new();
        assert_eq!(Axes::read(&nothing).unwrap(), Axes::default());
        assert_eq!(Axes::default().texts(), nothing);
    }

    #[test]
    fn what_no_axis_takes_names_it() {
        for (axis, text, expected) in [
            (PLACE, "moon", "place: `moon`: expected one of host, guest"),
            (QUEUE_DEPTH, "many", "queue_depth: `many` is no number"),
            (MEMORY, "much", "memory: "),
            (KERNEL, "../linux", "kernel: `../linux`: the name of a kernel"),
            (LEVEL, "raid9", "level: unknown level `raid9`"),
        ] {
            let settings = BTreeMap::from([(axis.to_owned(), text.to_owned())]);
            let error = Axes::read(&settings).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
