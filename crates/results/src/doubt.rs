//! What is doubtful about a trial, as values. `report` makes sentences of them; nothing reads a
//! sentence back, but for the one converter here, for runs that hold sentences.
//!
//! ```text
//!   schema 1 of trials.jsonl   "flags": ["read from a cache: the members read less than …"]
//!   schema 2                   "flags": [{"code": "read-from-cache", "share": 0.06}]
//! ```

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer, Serialize};
use words::Text;

words::with_parts!(reason_parts: Text, "reason", "reason_parts");
words::with_parts!(text_parts: Text, "text", "text_parts");

/// Something to know of a trial. Its figures may be unknown: a run of schema 1 does not have them,
/// and neither has what is said of several trials at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Doubt {
    /// The devices read less than was asked for: a cache had it.
    ReadFromCache {
        /// Bytes that the devices read, of one that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// What was read was never written: files answer for holes themselves, and no disk is asked.
    NeverWritten {
        /// Bytes in holes, of one that the devices read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// The devices wrote less than was asked for: it was compressed or joined, or it still lies in
    /// memory.
    CompressedOrStillDirty {
        /// Bytes that the devices wrote, of one that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// Faster than the devices together have ever been.
    Impossible {
        /// The rate, of the devices' highest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        factor: Option<f64>,
    },
    /// The devices wrote more than was asked for.
    WriteAmplification {
        /// Bytes that the devices wrote, of one that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        factor: Option<f64>,
    },
    /// A hypervisor gave the processors to others.
    Stolen {
        /// Share of all processor time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// Other processes worked.
    OtherWork {
        /// Share of all processor time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<f64>,
    },
    /// The load was still changing when it was measured ([`crate::steady`]).
    NotSteady,
    /// A program took its figures from the processor's counter, which runs in real time, and not
    /// from the clock that drives are modelled on.
    NotModelledTime {
        /// The program, as the command names it.
        program: String,
        /// The option with which it would leave the counter alone, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
    /// The trial has no figures.
    NotMeasured {
        /// Why: the line of the error that ended it.
        #[serde(flatten, with = "reason_parts")]
        reason: Text,
    },
    /// Read from a file of another tool or of another run: measured apart from the others.
    Imported,
    /// The machine was another one when the run was resumed.
    MachineChanged {
        /// What had changed, a line each.
        changes: Vec<String>,
    },
    /// Modelled disks, paced in real time.
    PacedModel,
    /// Data were not verified.
    Unverified {
        /// Why not.
        because: UnverifiedReason,
    },
    /// Some of the bytes read were not checked, since nobody knew what was there.
    PartlyUnverified {
        /// Of all bytes read.
        share: f64,
    },
    /// Sizes were rounded up to the device's block.
    SizesRounded {
        /// The device's block.
        block_bytes: u32,
    },
    /// Ended early: no more writes can be kept track of.
    EndedEarly {
        /// Requests that were made.
        requests: u64,
    },
    /// The target cannot do the rate that was asked for.
    RateNotReached {
        /// Requests that were never submitted.
        requests: u64,
    },
    /// A replay did not keep to the times of its recording: what it measured is another work.
    ReplayBehind {
        /// Requests that were submitted late.
        requests: u64,
        /// All that were submitted.
        of: u64,
        /// How late the latest was, in seconds.
        longest_seconds: f64,
    },
    /// A recording is not whole.
    RecordingDamaged {
        /// Entries that could not be read, and were skipped.
        skipped: u64,
        /// Requests that whoever recorded could not keep up with.
        lost: u64,
        /// Whether it ends in the middle.
        is_cut_off: bool,
    },
    /// A recording's addresses are not where they were: its device and the target differ in size.
    AddressesFitted {
        /// What was done.
        fit: AddressFit,
        /// Bytes between the first and the last that the recording touches, and on the target.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span_bytes: Option<[u64; 2]>,
    },
    /// Requests of a recording that the target does not know were left out, or sent without what it
    /// does not know.
    ReplayedWithout {
        /// What it does not know.
        operation: ReplayedOperation,
        /// How many.
        requests: u64,
    },
    /// How a recording's requests waited for each other where it was replayed with its own waits.
    ReplayedWaits {
        /// Of all requests, those that waited for another one's answer.
        share: f64,
    },
    /// How long the requests of each part of a recording took.
    ReplayedWindows {
        /// The parts, in their order; none of those without a request.
        windows: Vec<ReplayWindow>,
    },
    /// Latencies are as seen from outside the processor's scheduler: being woken late counts.
    WakingCounts,
    /// One owner kept the requests outstanding that threads were to keep.
    OneOwner {
        /// Requests outstanding.
        outstanding: u32,
        /// Threads that were asked for.
        threads: u32,
    },
    /// The target takes no larger requests.
    RequestsLimited {
        /// Bytes of a request at most.
        bytes: u64,
    },
    /// The page cache could not be emptied before.
    CacheNotEmptied {
        /// Why: the line of the error.
        #[serde(flatten, with = "reason_parts")]
        reason: Text,
    },
    /// Clients of a load did not end together.
    ClientsEnded {
        /// How many there were.
        clients: usize,
        /// Name of the first to finish.
        first: String,
        /// When, in seconds after the start.
        first_seconds: f64,
        /// Name of the last.
        last: String,
        /// When, in seconds after the start.
        last_seconds: f64,
    },
    /// Transactions of a database's load failed.
    TransactionsFailed {
        /// How many.
        count: u64,
    },
    /// What a layer, a program or an import says of itself, for people alone.
    Note {
        /// The line.
        #[serde(flatten, with = "text_parts")]
        text: Text,
    },
}

/// What was done with the addresses of a recording that the target has no room for, or more than it
/// needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressFit {
    /// The space that it never touches was made narrower, by one factor.
    Narrowed,
    /// The space that it never touches was made wider, by one factor.
    Widened,
    /// What it touches does not fit either: addresses begin anew at the target's end.
    Folded,
}

/// What a target may not know of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayedOperation {
    /// Writes that are durable when they are answered: they were sent as other writes.
    DurableWrite,
    /// Writes of zeroes without data: they were left out.
    Zeroes,
    /// Blocks given back: they were left out.
    Discard,
}

/// A part of a recording: a share of its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayWindow {
    /// When it begins and ends in the recording, in seconds.
    pub seconds: [f64; 2],
    /// Requests that were submitted in it.
    pub requests: u64,
    /// Half of them were answered within this many seconds.
    pub p50_seconds: f64,
    /// 99 of 100 were.
    pub p99_seconds: f64,
    /// All were.
    pub max_seconds: f64,
}

/// The windows in which 99 of 100 requests took longest, the worst first: so many at most.
#[must_use]
pub fn worst_windows(windows: &[ReplayWindow], most: usize) -> Vec<ReplayWindow> {
    let mut worst = windows.to_vec();
    worst.sort_by(|one, other| other.p99_seconds.total_cmp(&one.p99_seconds));
    worst.truncate(most);
    worst
}

/// Why data were not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnverifiedReason {
    /// It was turned off.
    TurnedOff,
    /// The suite does not verify.
    BySuite,
    /// The device keeps no data.
    NoData,
    /// A modelled disk keeps no data.
    Modelled,
    /// The target is read-only, and what is on it is not known.
    UnknownContent,
    /// The target is larger than what was prepared of it.
    PartlyPrepared,
}

/// What a doubt means for the claims that rest on a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// Something else than the medium answered: the trial is shown and does not vote, unless it was
    /// the cache that was asked about.
    NotTheMedium,
    /// The figures are not of what was to be measured: the trial is shown and does not vote.
    NoVote,
    /// The machine did something else too: noise, which the intervals show by themselves.
    Busy,
    /// Worth knowing, and no reason to leave the trial out.
    Note,
}

impl Doubt {
    /// What it means for claims.
    #[must_use]
    pub fn bearing(&self) -> Bearing {
        match self {
            Self::ReadFromCache { .. }
            | Self::NeverWritten { .. }
            | Self::CompressedOrStillDirty { .. }
            | Self::Impossible { .. } => Bearing::NotTheMedium,
            Self::NotSteady | Self::NotModelledTime { .. } | Self::ReplayBehind { .. } => {
                Bearing::NoVote
            }
            Self::Stolen { .. } | Self::OtherWork { .. } => Bearing::Busy,
            _ => Bearing::Note,
        }
    }

    /// The code, as in `trials.jsonl`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ReadFromCache { .. } => "read-from-cache",
            Self::NeverWritten { .. } => "never-written",
            Self::CompressedOrStillDirty { .. } => "compressed-or-still-dirty",
            Self::Impossible { .. } => "impossible",
            Self::WriteAmplification { .. } => "write-amplification",
            Self::Stolen { .. } => "stolen",
            Self::OtherWork { .. } => "other-work",
            Self::NotSteady => "not-steady",
            Self::NotModelledTime { .. } => "not-modelled-time",
            Self::NotMeasured { .. } => "not-measured",
            Self::Imported => "imported",
            Self::MachineChanged { .. } => "machine-changed",
            Self::PacedModel => "paced-model",
            Self::Unverified { .. } => "unverified",
            Self::PartlyUnverified { .. } => "partly-unverified",
            Self::SizesRounded { .. } => "sizes-rounded",
            Self::EndedEarly { .. } => "ended-early",
            Self::RateNotReached { .. } => "rate-not-reached",
            Self::ReplayBehind { .. } => "replay-behind",
            Self::RecordingDamaged { .. } => "recording-damaged",
            Self::AddressesFitted { .. } => "addresses-fitted",
            Self::ReplayedWithout { .. } => "replayed-without",
            Self::ReplayedWaits { .. } => "replayed-waits",
            Self::ReplayedWindows { .. } => "replayed-windows",
            Self::WakingCounts => "waking-counts",
            Self::OneOwner { .. } => "one-owner",
            Self::RequestsLimited { .. } => "requests-limited",
            Self::CacheNotEmptied { .. } => "cache-not-emptied",
            Self::ClientsEnded { .. } => "clients-ended",
            Self::TransactionsFailed { .. } => "transactions-failed",
            Self::Note { .. } => "note",
        }
    }

    /// The code as it stands beside a figure: what a person does about both kinds of other work is
    /// the same.
    #[must_use]
    pub fn mark(&self) -> &'static str {
        match self {
            Self::Stolen { .. } | Self::OtherWork { .. } => "not-quiet",
            other => other.code(),
        }
    }

    /// What the audit finds, by its [code](Self::code) alone; `None` for all others.
    #[must_use]
    pub fn of_audit(code: &str) -> Option<Self> {
        let all = [
            Self::ReadFromCache { share: None },
            Self::NeverWritten { share: None },
            Self::CompressedOrStillDirty { share: None },
            Self::Impossible { factor: None },
            Self::WriteAmplification { factor: None },
            Self::Stolen { share: None },
            Self::OtherWork { share: None },
            Self::NotSteady,
        ];
        all.into_iter().find(|doubt| doubt.code() == code)
    }

    /// The same without the audit's figures, which differ from trial to trial.
    #[must_use]
    pub fn without_figures(&self) -> Self {
        match self {
            Self::ReadFromCache { .. } => Self::ReadFromCache { share: None },
            Self::NeverWritten { .. } => Self::NeverWritten { share: None },
            Self::CompressedOrStillDirty { .. } => Self::CompressedOrStillDirty { share: None },
            Self::Impossible { .. } => Self::Impossible { factor: None },
            Self::WriteAmplification { .. } => Self::WriteAmplification { factor: None },
            Self::Stolen { .. } => Self::Stolen { share: None },
            Self::OtherWork { .. } => Self::OtherWork { share: None },
            other => other.clone(),
        }
    }

    /// Why the trial has no figures, where that is so.
    #[must_use]
    pub fn why_not_measured(&self) -> Option<&Text> {
        match self {
            Self::NotMeasured { reason } => Some(reason),
            _ => None,
        }
    }

    /// From the sentence of a run of schema 1.
    fn from_sentence(text: &str) -> Self {
        let rest = |start: &str| text.strip_prefix(start);
        const COUNTER: &str = " reads the processor's own counter";
        if rest("read from a cache").or(rest("read-from-cache")).is_some() {
            Self::ReadFromCache { share: None }
        } else if rest("written but compressed, or still dirty")
            .or(rest("compressed-or-still-dirty"))
            .is_some()
        {
            Self::CompressedOrStillDirty { share: None }
        } else if rest("impossible").is_some() {
            Self::Impossible { factor: None }
        } else if rest("write amplification").or(rest("write-amplification")).is_some() {
            Self::WriteAmplification { factor: None }
        } else if rest("machine not quiet: the hypervisor").is_some() {
            Self::Stolen { share: None }
        } else if rest("machine not quiet").or(rest("not-quiet")).is_some() {
            Self::OtherWork { share: None }
        } else if rest("not steady").is_some() {
            Self::NotSteady
        } else if let Some(said) = rest("not in modelled time: ") {
            let program = said.split_once(COUNTER).map_or(said, |(program, _)| program);
            let remedy = said.split_once("; give it ").map(|(_, remedy)| remedy.to_owned());
            Self::NotModelledTime { program: program.to_owned(), remedy }
        } else if let Some(reason) = rest("not measured: ") {
            Self::NotMeasured { reason: reason.into() }
        } else if rest("imported: ").is_some() {
            Self::Imported
        } else if let Some(changes) = rest("the machine had changed when the run was resumed: ") {
            Self::MachineChanged { changes: changes.split("; ").map(str::to_owned).collect() }
        } else {
            Self::Note { text: text.into() }
        }
    }
}

/// An order for lists: by code, then by what else it says.
#[must_use]
pub fn by_code(one: &Doubt, other: &Doubt) -> Ordering {
    let key = |doubt: &Doubt| (doubt.code(), format!("{doubt:?}"));
    key(one).cmp(&key(other))
}

/// How many of some trials have each doubt, figures aside, in the order of [`by_code`].
pub fn counted<'a>(doubts: impl IntoIterator<Item = &'a Doubt>) -> Vec<(Doubt, usize)> {
    let mut counted: Vec<(Doubt, usize)> = Vec::new();
    for doubt in doubts {
        let same = doubt.without_figures();
        match counted.iter_mut().find(|(known, _)| *known == same) {
            Some((_, count)) => *count += 1,
            None => counted.push((same, 1)),
        }
    }
    counted.sort_by(|one, other| by_code(&one.0, &other.0));
    counted
}

/// Why the trials of a cell do not vote.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Silence {
    /// A percentile that too few requests were made for.
    TooFewRequests {
        /// Requests that it needs.
        needed: f64,
    },
    /// The workload does not have the figure that is asked for.
    NoSuchFigure {
        /// Name of the metric.
        metric: String,
    },
    /// What is doubtful about them.
    #[serde(untagged)]
    Doubtful(Doubt),
}

impl Silence {
    /// As [`Doubt::without_figures`].
    #[must_use]
    pub fn without_figures(&self) -> Self {
        match self {
            Self::Doubtful(doubt) => Self::Doubtful(doubt.without_figures()),
            other => other.clone(),
        }
    }
}

/// Reads the flags of a trial: values, or the sentences of schema 1.
pub(crate) fn read_flags<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Doubt>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Sentence(String),
        Value(Doubt),
    }
    let flags = Vec::<Flag>::deserialize(from)?;
    Ok(flags
        .into_iter()
        .map(|flag| match flag {
            Flag::Sentence(text) => Doubt::from_sentence(&text),
            Flag::Value(doubt) => doubt,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Vec<Doubt> {
        read_flags(&mut serde_json::Deserializer::from_str(json)).expect("flags are read")
    }

    /// Sentences as versions before schema 2 wrote them.
    #[test]
    fn the_sentences_of_schema_1_become_values() {
        let is = |text: &str| read(&serde_json::to_string(&[text]).unwrap()).remove(0);
        let cached = Doubt::ReadFromCache { share: None };
        assert_eq!(is("read from a cache: the members read less than was asked for"), cached);
        assert_eq!(is("read-from-cache: the devices read 6 % of the bytes asked for"), cached);
        let dirty = "written but compressed, or still dirty in memory: the members wrote less than \
            was asked for";
        assert_eq!(is(dirty), Doubt::CompressedOrStillDirty { share: None });
        let impossible = "impossible: faster than the members together, so something else answered";
        assert_eq!(is(impossible), Doubt::Impossible { factor: None });
        let stolen = "machine not quiet: the hypervisor took more than 2 % of the processors";
        assert_eq!(is(stolen), Doubt::Stolen { share: None });
        let other = "machine not quiet: other work took more than 10 % of the processors";
        assert_eq!(is(other), Doubt::OtherWork { share: None });
        let steady = "not steady: the last five of 25 rounds still spread by more than 20 %, or \
            rose or fell by more than 10 %";
        assert_eq!(is(steady), Doubt::NotSteady);
        let counter = "not in modelled time: fio reads the processor's own counter, which shows \
            real time: figures that it takes from there are not modelled; give it \
            --clocksource=clock_gettime";
        assert_eq!(
            is(counter),
            Doubt::NotModelledTime {
                program: "fio".into(),
                remedy: Some("--clocksource=clock_gettime".into())
            }
        );
        assert_eq!(
            is("not measured: mount: wrong fs type"),
            Doubt::NotMeasured { reason: "mount: wrong fs type".into() }
        );
        let imported = "imported: measured apart from the others, so that a drift of the machine \
            cannot be excluded";
        assert_eq!(is(imported), Doubt::Imported);
        assert_eq!(
            is("the machine had changed when the run was resumed: kernel; memory"),
            Doubt::MachineChanged { changes: vec!["kernel".into(), "memory".into()] }
        );
        let note = "verification was off";
        assert_eq!(is(note), Doubt::Note { text: note.into() });
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let doubts = vec![
            Doubt::ReadFromCache { share: Some(0.0625) },
            Doubt::NotSteady,
            Doubt::Unverified { because: UnverifiedReason::Modelled },
            Doubt::NotMeasured { reason: "read from a cache".into() },
            Doubt::Note { text: "impossible".into() },
        ];
        let json = serde_json::to_string(&doubts).unwrap();
        assert!(json.starts_with(r#"[{"code":"read-from-cache","share":0.0625}"#), "{json}");
        assert_eq!(read(&json), doubts);
        for doubt in &doubts {
            let value = serde_json::to_value(doubt).unwrap();
            assert_eq!(value["code"], doubt.code(), "{doubt:?}");
        }
    }

    /// A reason is kept with its parts, and one of an earlier release is its English.
    #[test]
    fn a_reason_is_read_in_the_readers_language_or_as_it_was_before() {
        let reason: Text = crate::catalogue::NO_FIGURES.into();
        let doubts = vec![Doubt::NotMeasured { reason: reason.clone() }];
        let json = serde_json::to_string(&doubts).unwrap();
        assert!(json.contains(r#""reason":"it has no figures","reason_parts":"#), "{json}");
        let back = read(&json);
        assert_eq!(back, doubts);
        let said = words::in_language(words::Language::Japanese, || reason.to_string());
        assert!(said.contains("数値"), "{said}");
        let before = r#"[{"code":"not-measured","reason":"it has no figures"}]"#;
        assert_eq!(read(before), [Doubt::NotMeasured { reason: "it has no figures".into() }]);
        assert_ne!(read(before), doubts, "a sentence is not read back");
    }

    #[test]
    fn a_code_that_nobody_knows_is_an_error() {
        let read = |json: &str| read_flags(&mut serde_json::Deserializer::from_str(json));
        assert!(read(r#"[{"code": "no-such-doubt"}]"#).is_err());
        assert!(read(r#"[{"code": "not-steady"}]"#).is_ok());
    }

    #[test]
    fn doubts_are_counted_without_their_figures() {
        let doubts = [0.1, 0.4].map(|share| Doubt::ReadFromCache { share: Some(share) });
        let all = doubts.iter().chain([&Doubt::NotSteady, &Doubt::Imported]);
        let expected = [
            (Doubt::Imported, 1),
            (Doubt::NotSteady, 1),
            (Doubt::ReadFromCache { share: None }, 2),
        ];
        assert_eq!(counted(all), expected);
    }

    #[test]
    fn what_is_not_of_the_medium_or_not_of_its_time_has_no_vote() {
        let bearing = |doubt: Doubt| doubt.bearing();
        assert_eq!(bearing(Doubt::Impossible { factor: None }), Bearing::NotTheMedium);
        assert_eq!(bearing(Doubt::CompressedOrStillDirty { share: None }), Bearing::NotTheMedium);
        assert_eq!(bearing(Doubt::NotSteady), Bearing::NoVote);
        assert_eq!(bearing(Doubt::OtherWork { share: Some(0.5) }), Bearing::Busy);
        assert_eq!(bearing(Doubt::WriteAmplification { factor: None }), Bearing::Note);
        // What a layer says of itself decides nothing, whatever its words are.
        assert_eq!(bearing(Doubt::Note { text: "read from a cache".into() }), Bearing::Note);
    }
}
