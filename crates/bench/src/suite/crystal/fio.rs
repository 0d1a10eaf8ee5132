//! A row as fio would run it: `bench explain crystal --fio`.

use std::path::Path;
use std::time::Duration;

use super::{AccessKind, Data, Options, Order, Row};

/// One fio job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// Option and value, in fio's words.
    pub options: Vec<(&'static str, String)>,
}

impl Job {
    /// The job that asks the same of `path` as a row does: the same requests outstanding, sizes,
    /// range and time. Two things differ: fio has no pass over the whole file (version 3's
    /// sequential rows), and it does not check what it reads.
    #[must_use]
    pub fn new(row: &Row, said: &Options, path: &Path, direct: bool) -> Job {
        let rw = match (row.order, row.way) {
            (Order::Sequential, AccessKind::Read) => "read",
            (Order::Sequential, AccessKind::Write) => "write",
            (Order::Sequential, AccessKind::Mix { .. }) => "rw",
            (Order::Random, AccessKind::Read) => "randread",
            (Order::Random, AccessKind::Write) => "randwrite",
            (Order::Random, AccessKind::Mix { .. }) => "randrw",
        };
        let part_bytes = said.size_bytes / u64::from(row.threads);
        let mut options = vec![
            ("filename", path.display().to_string()),
            ("ioengine", "io_uring".to_owned()),
            ("direct", u8::from(direct).to_string()),
            ("rw", rw.to_owned()),
            ("bs", row.request_bytes.to_string()),
            ("iodepth", row.queues.to_string()),
            ("numjobs", row.threads.to_string()),
            ("size", (part_bytes - part_bytes % u64::from(row.request_bytes)).to_string()),
            ("time_based", "1".to_owned()),
            ("runtime", runtime(said.time)),
            ("norandommap", "1".to_owned()),
            ("randrepeat", "0".to_owned()),
            ("group_reporting", "1".to_owned()),
            ("invalidate", "0".to_owned()),
        ];
        if row.threads > 1 {
            options.push((
                "offset_increment",
                (part_bytes - part_bytes % u64::from(row.request_bytes)).to_string(),
            ));
        }
        if let AccessKind::Mix { read_percent } = row.way {
            options.push(("rwmixread", read_percent.to_string()));
        }
        match (row.way.writes(), said.data) {
            (false, _) => options.push(("readonly", "1".to_owned())),
            (true, Data::Random) => options.push(("scramble_buffers", "1".to_owned())),
            (true, Data::Zero) => options.push(("zero_buffers", "1".to_owned())),
            (true, Data::One) => options.push(("buffer_pattern", "0xff".to_owned())),
        }
        if row.way.writes() {
            options.push(("end_fsync", "1".to_owned()));
        }
        Job { name: row.name(), options }
    }

    /// The job that writes the whole test file first, as preparing the target does.
    #[must_use]
    pub fn fill(said: &Options, path: &Path) -> Job {
        let options = [
            ("filename", path.display().to_string()),
            ("ioengine", "io_uring".to_owned()),
            ("direct", "1".to_owned()),
            ("rw", "write".to_owned()),
            ("bs", "1048576".to_owned()),
            ("iodepth", "4".to_owned()),
            ("size", said.size_bytes.to_string()),
            ("refill_buffers", "1".to_owned()),
            ("end_fsync", "1".to_owned()),
        ];
        Job { name: "fill".to_owned(), options: options.into() }
    }

    /// The command line, ready for a shell.
    #[must_use]
    pub fn command(&self) -> String {
        let options = self.options.iter().map(|(name, value)| match *name {
            "readonly" => " --readonly".to_owned(),
            name => format!(" --{name}={}", escape::shell(value)),
        });
        format!("fio --name={}{}", escape::shell(&self.name), options.collect::<String>())
    }

    /// The arguments after the program's name.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let options = self.options.iter().map(|(name, value)| match *name {
            "readonly" => "--readonly".to_owned(),
            name => format!("--{name}={value}"),
        });
        std::iter::once(format!("--name={}", self.name)).chain(options).collect()
    }
}

fn runtime(time: Duration) -> String {
    if time.subsec_nanos() == 0 {
        format!("{}", time.as_secs())
    } else {
        format!("{}ms", time.as_millis().max(1))
    }
}
