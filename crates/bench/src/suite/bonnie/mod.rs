//! The twelve phases of bonnie++ in a folder, as its versions 1.03 and 2.00 call the system.
//!
//! ```text
//!   copy 0/ bonnie        one file (1.03: pieces of 1 GiB)   character write, block write, rewrite, character read, block read, seeks
//!           set 0/ 00000/ many small files                   create, stat, delete; in order, then at random
//!           set 1/ …      more of them, until a phase has run long enough
//!   copy 1/ …             with `concurrency`: the same at the same time, on files of its own
//! ```
//!
//! * `options` what the settings mean, and what each version makes of them
//! * `work` one phase: its copies, its passes, its sums
//! * `bulk`, `seeks`, `files` what the phases do
//! * `changes` what became of the large file since it was written
//! * [`csv`] the original's lines

mod bulk;
mod changes;
pub mod csv;
mod files;
mod options;
mod seeks;
mod work;

use std::time::Duration;

use block::{Error, ErrorKind};
use results::{BetterDirection, Group};
use words::{Message, statement};

use super::definition::{Kind, Rows, Setting, Settings, Suite, Target, TargetKind, Value};
use super::folder::WorkFolder;
use super::phase::Phase;
use super::session::{AfterPhase, Session};
use crate::suite::catalogue;
use files::Order;
pub use options::{Links, Options, Style};
use work::{Job, Passes};

/// Name of the suite.
pub const NAME: &str = "bonnie";

/// `bonnie`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "The phases of bonnie++: one large file by characters, blocks and seeks, and many \
        small ones made, looked at and deleted.",
    about: "The same system calls on the same amounts as bonnie++ 1.03 (style 1.03) or 2.00 (style \
        2.00), phase by phase. Version 2.00 \
            syncs each file before it closes it and the file system after each phase that makes or \
            deletes files, inside the time; \
            version 1.03 does so only with sync. Whatever the style, what was written is synced at \
            the end of a phase, so that there is \
            a durable rate beside the acknowledged one. Beyond the originals: copies at the same \
            time really are; direct I/O holds for \
            every phase; data are incompressible and different in every block unless data is \
            bonnie; every byte that is read, of the \
            large file and of small ones with content, is compared with what was written, inside \
            the time; a phase that is over too \
            soon is repeated, so that no rate is left blank. As lines of CSV (report RUN --bonnie-csv) \
            style 2.00 has the 50 fields that \
            bon_csv2html and bon_csv2txt of bonnie++ 2.00a read; style 1.03 has the 27 of its \
            time, which these two refuse whoever \
            wrote them: they expect 1.98, the version of the format, in the first field.",
    targets: &[TargetKind::Folder],
    settings: &[
        Setting::new(
            "style",
            Kind::Word(&["1.03", "2.00"]),
            Value::word("2.00"),
            "Whose calls: those of bonnie++ 1.03 or of 2.00.",
        ),
        Setting::new("io", Kind::Switch, Value::Switch(true), "The six phases on one large file."),
        Setting::new(
            "size",
            Kind::Mebibytes,
            Value::Bytes(0),
            "Size of the file of each copy; 0 is twice the memory.",
        ),
        Setting::new(
            "chunk",
            Kind::Bytes,
            Value::Bytes(8192),
            "Size of a call, a power of two from 256 to 1MiB.",
        ),
        Setting::new(
            "seeks",
            Kind::Count(1, u64::MAX),
            Value::Count(8192),
            "Seeks in the seek phase.",
        ),
        Setting::new(
            "seekers",
            Kind::Count(0, 256),
            Value::Count(0),
            "How many seek at the same time; 0 is the style's: 3 in 1.03, 5 in 2.00.",
        ),
        Setting::new(
            "per_character",
            Kind::Switch,
            Value::Switch(true),
            "The two phases by characters.",
        ),
        Setting::new(
            "per_character_size",
            Kind::Mebibytes,
            Value::Bytes(0),
            "How much of the file they cover; 0 is the style's: all in 1.03, the first 3MiB \
                in 2.00.",
        ),
        Setting::new(
            "files",
            Kind::Count(0, 1 << 28),
            Value::Count(16 * 1024),
            "How many files are made, looked at and deleted; 0 leaves the six phases out.",
        ),
        Setting::new("file_size_max", Kind::Bytes, Value::Bytes(0), "Their size at most."),
        Setting::new("file_size_min", Kind::Bytes, Value::Bytes(0), "Their size at least."),
        Setting::new(
            "links",
            Kind::Word(&["no", "hard", "symbolic"]),
            Value::word("no"),
            "Links to the first file instead of files.",
        ),
        Setting::new(
            "folders",
            Kind::Count(1, 1 << 17),
            Value::Count(1),
            "How many folders they are spread over.",
        ),
        Setting::new(
            "sync",
            Kind::Switch,
            Value::Switch(false),
            "Sync after each update of a seek, and each file and its folder when it is made \
                or deleted.",
        ),
        Setting::new(
            "ram",
            Kind::Mebibytes,
            Value::Bytes(0),
            "Memory that a cache may have; 0 is the machine's.",
        )
        .alias("memory"),
        Setting::new(
            "check_memory",
            Kind::Switch,
            Value::Switch(true),
            "Refuse files that are smaller than twice the memory: a cache would hold them.",
        ),
        Setting::new("runs", Kind::Count(1, 1000), Value::Count(1), "How often everything is run."),
        Setting::new(
            "concurrency",
            Kind::Count(1, 256),
            Value::Count(1),
            "Copies of each phase at the same time, each on files of its own.",
        ),
        Setting::new(
            "direct",
            Kind::Switch,
            Value::Switch(false),
            "Past the page cache, in every phase.",
        ),
        Setting::new(
            "data",
            Kind::Word(&["random", "bonnie"]),
            Value::word("random"),
            "Incompressible and different in every block, or nearly all zeros as the \
                original's.",
        ),
        Setting::new(
            "min_time",
            Kind::Time,
            Value::Time(Duration::from_millis(500)),
            "A phase that is over sooner is repeated until it has run so long.",
        )
        // What the page cache answers takes no modelled time, however often it is repeated.
        .on_virtual(Value::Time(Duration::ZERO)),
    ],
    rows: Rows::InOrder,
    phases: |settings| {
        BonniePhase::all(settings).into_iter().map(|step| step.phase(settings)).collect()
    },
    prepared_bytes: |_, _| 0,
    run,
};

/// The phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BonniePhase {
    CharacterWrite,
    BlockWrite,
    Rewrite,
    CharacterRead,
    BlockRead,
    Seeks,
    Create(Order),
    Stat(Order),
    Delete(Order),
}

impl BonniePhase {
    /// Those that the settings ask for, in order.
    fn all(settings: &Settings) -> Vec<BonniePhase> {
        let mut steps = Vec::new();
        if settings.switch("io") {
            steps = vec![
                BonniePhase::CharacterWrite,
                BonniePhase::BlockWrite,
                BonniePhase::Rewrite,
                BonniePhase::CharacterRead,
                BonniePhase::BlockRead,
                BonniePhase::Seeks,
            ];
            if !settings.switch("per_character") {
                steps.retain(|step| {
                    !matches!(step, BonniePhase::CharacterWrite | BonniePhase::CharacterRead)
                });
            }
        }
        if settings.count("files") > 0 {
            for order in [Order::Sequential, Order::Random] {
                steps.extend([
                    BonniePhase::Create(order),
                    BonniePhase::Stat(order),
                    BonniePhase::Delete(order),
                ]);
            }
        }
        steps
    }

    fn name(self) -> String {
        match self {
            BonniePhase::CharacterWrite => "character write".to_owned(),
            BonniePhase::BlockWrite => "block write".to_owned(),
            BonniePhase::Rewrite => "rewrite".to_owned(),
            BonniePhase::CharacterRead => "character read".to_owned(),
            BonniePhase::BlockRead => "block read".to_owned(),
            BonniePhase::Seeks => "seeks".to_owned(),
            BonniePhase::Create(order) => format!("{} create", order.name()),
            BonniePhase::Stat(order) => format!("{} stat", order.name()),
            BonniePhase::Delete(order) => format!("{} delete", order.name()),
        }
    }

    /// What is done, which is where the two versions differ.
    fn what(self, old: bool) -> Message {
        match self {
            BonniePhase::CharacterWrite if old => catalogue::CHARACTERS_PUT,
            BonniePhase::CharacterWrite => catalogue::CHARACTERS_WRITTEN,
            BonniePhase::BlockWrite if old => catalogue::CHUNKS_WRITTEN_IN_PIECES,
            BonniePhase::BlockWrite => catalogue::CHUNKS_WRITTEN,
            BonniePhase::Rewrite => catalogue::CHUNKS_REWRITTEN,
            BonniePhase::CharacterRead if old => catalogue::CHARACTERS_GOT,
            BonniePhase::CharacterRead => catalogue::CHARACTERS_READ,
            BonniePhase::BlockRead => catalogue::CHUNKS_READ,
            BonniePhase::Seeks if old => catalogue::THREE_SEEKERS,
            BonniePhase::Seeks => catalogue::FIVE_SEEKERS,
            BonniePhase::Create(Order::Sequential) => catalogue::NAMES_ASCEND,
            BonniePhase::Stat(Order::Sequential) => catalogue::LOOKED_AT_IN_ORDER,
            BonniePhase::Delete(Order::Sequential) => catalogue::DELETED_IN_ORDER,
            BonniePhase::Create(Order::Random) => catalogue::NAMES_DO_NOT_ASCEND,
            BonniePhase::Stat(Order::Random) => catalogue::LOOKED_AT_RANDOMLY,
            BonniePhase::Delete(Order::Random) => catalogue::DELETED_RANDOMLY,
        }
    }

    fn phase(self, settings: &Settings) -> Phase {
        let (group, metric) = match self {
            BonniePhase::Seeks => (Group::Random, "io_per_second"),
            BonniePhase::Create(_) | BonniePhase::Stat(_) | BonniePhase::Delete(_) => {
                (Group::Files, "io_per_second")
            }
            _ => (Group::Sequential, "throughput_bytes_per_second"),
        };
        let writes = !matches!(
            self,
            BonniePhase::CharacterRead | BonniePhase::BlockRead | BonniePhase::Stat(_)
        );
        let what = self.what(settings.text("style") == "1.03");
        Phase {
            name: self.name(),
            what: what.into(),
            group,
            metric: metric.into(),
            better: BetterDirection::Higher,
            writes,
            is_deep: matches!(self, BonniePhase::Seeks),
            buffered_of: None,
        }
    }
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let Target::Folder(parent) = target else {
        let text = statement!(catalogue::WORKS_ON_FILES, suite = NAME);
        return Err(Error::new(ErrorKind::Invalid, text));
    };
    if BonniePhase::all(settings).is_empty() {
        return Err(Error::new(ErrorKind::Invalid, catalogue::NO_FILES_AT_ALL));
    }
    let options = Options::new(settings)?;
    let folder = WorkFolder::new(parent, NAME, &options.needs())?;
    for run in 1..=options.runs {
        let job = Job::new(&options, folder.path(), session, run)?;
        // Sets of small files that were made and not yet deleted.
        let mut sets = 0;
        for step in BonniePhase::all(settings) {
            if one(session, &job, step, &step.phase(settings), run, &mut sets)? == AfterPhase::Stop
            {
                return Ok(());
            }
        }
        job.clear()?;
    }
    Ok(())
}

fn one(
    session: &mut Session<'_>,
    job: &Job<'_>,
    step: BonniePhase,
    phase: &Phase,
    run: u32,
    sets: &mut u64,
) -> Result<AfterPhase, Error> {
    let next = match step {
        BonniePhase::CharacterWrite => {
            job.phase(session, phase, run, Passes::LongEnough(1), |worker, _| {
                bulk::character_write(worker)
            })?
            .0
        }
        BonniePhase::BlockWrite => {
            job.phase(session, phase, run, Passes::LongEnough(1), |worker, _| {
                bulk::block_write(worker)
            })?
            .0
        }
        BonniePhase::Rewrite => {
            job.phase(session, phase, run, Passes::LongEnough(1), |worker, _| {
                bulk::rewrite(worker)
            })?
            .0
        }
        BonniePhase::CharacterRead => {
            job.phase(session, phase, run, Passes::LongEnough(1), |worker, _| {
                bulk::character_read(worker)
            })?
            .0
        }
        BonniePhase::BlockRead => {
            job.phase(session, phase, run, Passes::LongEnough(1), |worker, _| {
                bulk::block_read(worker)
            })?
            .0
        }
        BonniePhase::Seeks => {
            let (next, _) = job.phase(session, phase, run, Passes::LongEnough(1), seeks::seek)?;
            // The small files have the disk for themselves.
            job.folders().try_for_each(|folder| bulk::remove(&folder))?;
            next
        }
        BonniePhase::Create(order) => {
            let (next, made) =
                job.phase(session, phase, run, Passes::LongEnough(1), |worker, set| {
                    files::create(worker, order, set)
                })?;
            *sets = made;
            next
        }
        BonniePhase::Stat(order) => {
            let made = *sets;
            job.phase(session, phase, run, Passes::LongEnough(made), |worker, pass| {
                files::stat(worker, order, pass % made)
            })?
            .0
        }
        BonniePhase::Delete(order) => {
            job.phase(session, phase, run, Passes::Exactly(*sets), |worker, set| {
                files::delete(worker, order, set)
            })?
            .0
        }
    };
    Ok(next)
}

#[cfg(test)]
mod tests;
