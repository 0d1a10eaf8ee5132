//! The plain types that the lab writes and the report reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use words::Text;

use crate::doubt::{self, Doubt};
use crate::grade::LeastGrade;
use crate::shared::{Metrics, Settings};

words::with_parts!(ruled_out_parts: std::collections::BTreeMap<String, Text>, "ruled_out", "ruled_out_parts");

/// Which clock a trial's times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Modelled time: figures are predictions and are labelled so.
    Virtual,
    /// Real time on this machine.
    Wall,
}

/// Bytes that one member moved during a trial, as counted at the leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberTraffic {
    /// Bytes read from the member.
    pub read_bytes: u64,
    /// Bytes written to the member.
    pub written_bytes: u64,
}

/// One line of `trials.jsonl`: one workload, run once on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// [`cell_id`] of `settings` and `workload`.
    pub cell: String,
    /// Axis name to value, as in the plan.
    pub settings: Settings,
    /// Name of the workload within the plan, for example `random read 512`.
    pub workload: String,
    /// Number of the block, from 0.
    pub block: u32,
    /// Position within the block, from 0.
    pub order: u32,
    /// Which clock the figures come from.
    pub clock: Clock,
    /// Metric name to figure; names end in their base unit.
    pub metrics: Metrics,
    /// What each member moved, in member order.
    pub members: Vec<MemberTraffic>,
    /// What is doubtful about the trial; empty when nothing is.
    #[serde(deserialize_with = "doubt::read_flags")]
    pub flags: Vec<Doubt>,
}

/// What kind of access a workload makes; the verdict gives one answer for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Ascending, adjacent requests.
    Sequential,
    /// Uniformly placed requests.
    Random,
    /// Reads and writes together.
    Mixed,
    /// Whole files: made, found, removed, written, read.
    Files,
    /// Power cuts: what is left has a grade and no score ([`crate::safety`]).
    Safety,
}

impl Group {
    /// All that have a score, in the order they are shown.
    pub const ALL: [Self; 4] = [Self::Sequential, Self::Random, Self::Mixed, Self::Files];
}

/// Which direction of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BetterDirection {
    /// More is better (throughput).
    Higher,
    /// Less is better (latency).
    Lower,
}

/// Which direction of a metric is better, by its name: throughput and operations up, latency,
/// processor time and what the members move for each byte down, whatever part of a mixed workload
/// they are of. `None` for a metric that is none of these.
#[must_use]
pub fn better_of(metric: &str) -> Option<BetterDirection> {
    let part =
        ["read_", "write_", "durable_"].into_iter().find_map(|part| metric.strip_prefix(part));
    let metric = part.unwrap_or(metric);
    let begins = |starts: &[&str]| starts.iter().any(|start| metric.starts_with(start));
    if begins(&["throughput_", "io_"]) {
        Some(BetterDirection::Higher)
    } else {
        begins(&["latency_", "cpu_seconds_per_", "member_read_ratio", "member_write_ratio"])
            .then_some(BetterDirection::Lower)
    }
}

/// A gain that would matter, as a fraction, where the plan says nothing of it.
pub const MATTERS: f64 = 0.10;

/// One axis of the plan's matrix, values in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Name, for example `chunk`.
    pub name: String,
    /// Values in the order of the plan.
    pub values: Vec<String>,
}

/// A setting as it reads among others: what says too little by itself, a number or a switch, comes
/// with the name of its axis.
#[must_use]
pub fn setting_text(axis: &str, value: &str) -> String {
    // `vfat raw image on ext4`
    match (axis, value) {
        ("image", "none") => return "no image".to_owned(),
        ("image", kind) => return format!("{kind} image"),
        ("outer_file_system", name) => return format!("on {name}"),
        _ => (),
    }
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number && !matches!(value, "on" | "off" | "yes" | "no" | "true" | "false") {
        return value.to_owned();
    }
    format!("{} {value}", axis.strip_prefix("workload.").unwrap_or(axis))
}

/// The settings on these axes, where they are set.
pub fn settings_text<A: AsRef<str>>(
    axes: impl IntoIterator<Item = A>,
    settings: &BTreeMap<String, String>,
) -> String {
    let text =
        |axis: A| settings.get(axis.as_ref()).map(|value| setting_text(axis.as_ref(), value));
    axes.into_iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

impl Plan {
    /// What tells of which configuration and which workload a trial is, by their indices; `None` of
    /// one that the plan does not have.
    pub fn places(&self) -> impl Fn(&Trial) -> Option<(usize, usize)> + '_ {
        let configurations: HashMap<Settings, usize> = self
            .configurations
            .iter()
            .enumerate()
            .map(|(at, known)| (known.settings.clone().into(), at))
            .collect();
        let workloads = self.workloads.iter().enumerate();
        let workloads: HashMap<&str, usize> =
            workloads.map(|(at, known)| (known.name.as_str(), at)).collect();
        move |trial| {
            let configuration = configurations.get(&trial.settings)?;
            Some((*configuration, *workloads.get(trial.workload.as_str())?))
        }
    }

    /// A gain that would matter, as a fraction: what differs by no more than the margin never does.
    #[must_use]
    pub fn matters(&self) -> f64 {
        self.terms.matters.unwrap_or(MATTERS).max(self.margin)
    }

    /// Indices of the configurations that share a baseline, in the plan's order.
    pub(crate) fn comparison_members(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, configuration) in self.configurations.iter().enumerate() {
            match groups.iter_mut().find(|(baseline, _)| *baseline == configuration.baseline) {
                Some((_, members)) => members.push(index),
                None => groups.push((&configuration.baseline, vec![index])),
            }
        }
        groups.into_iter().map(|(_, members)| members).collect()
    }

    /// The axes on which configurations differ, in the plan's order; all where none differ.
    #[must_use]
    pub fn telling_axes(&self) -> Vec<&str> {
        let differs = |axis: &&str| {
            let value = |one: &Configuration| one.settings.get(*axis).cloned();
            let first = self.configurations.first().and_then(value);
            self.configurations.iter().any(|one| value(one) != first)
        };
        let all: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        let telling: Vec<&str> = all.iter().copied().filter(differs).collect();
        if telling.is_empty() { all } else { telling }
    }

    /// A configuration by its settings on the plan's axes, in their order.
    #[must_use]
    pub fn label(&self, settings: &BTreeMap<String, String>) -> String {
        settings_text(self.axes.iter().map(|axis| &axis.name), settings)
    }
}

/// What the work of a configuration is done on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkTarget {
    /// The device of its stack.
    Device,
    /// A file system on that device, mounted by this machine's kernel.
    FileSystem,
    /// A folder that is there already, on a file system in use.
    Folder,
    /// The disks of a guest, or a file system that the guest's kernel has on them.
    Guest,
    /// Drives that are made for power cuts: the plan has pull tests alone, here or in a guest.
    Pull,
}

/// A cache between the work and the drives that belongs to what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredCache {
    /// A layer of the stack.
    Layer,
    /// The memory of a guest, as large as the plan says and modelled like its disks.
    GuestMemory,
}

/// One configuration: the settings of every axis, the stack they mean, and what that is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// [`configuration_id`] of `settings`.
    pub id: String,
    /// Axis name to value; an axis that does not apply is absent.
    pub settings: BTreeMap<String, String>,
    /// Stack text; `{members}` stands for the folder of file members.
    pub stack: String,
    /// Which clock it runs on.
    pub clock: Clock,
    /// What its work is done on.
    pub ground: WorkTarget,
    /// Whether its figures are a model's: on the virtual clock, or of modelled disks in real time.
    pub modelled: bool,
    /// The caches that belong to what is measured: what they answer is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<MeasuredCache>,
    /// Whether its file system is mounted for quick removal.
    #[serde(default, skip_serializing_if = "is_false")]
    pub quick_removal: bool,
    /// Identity of the configuration it is compared with; its own when it is the baseline.
    pub baseline: String,
    /// How far predictions for such a stack of modelled disks were off; none for real members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_errors: Option<ModelErrors>,
    /// The same for all work, in runs from before it was told apart by workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<f64>,
    /// How many published cases that one error is of.
    #[serde(default, skip_serializing_if = "is_0")]
    pub model_cases: u32,
    /// What may be lost of it without data being lost; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survival>,
    /// What it offers of its members' space; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<UsableSpace>,
}

/// For serde, which hands over a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_0(count: &u32) -> bool {
    *count == 0
}

/// How far predictions for a stack of modelled disks were off where such were published, by the
/// kind of work that each workload is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelErrors {
    /// Whether it is one drive: what is off of it is so on both sides of a comparison with an
    /// array of the same drives, whose error is that of the two figures' ratio.
    pub is_one_drive: bool,
    /// By the workload's name; no entry where nothing is known.
    pub workloads: BTreeMap<String, ModelError>,
}

/// How far predictions were off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelError {
    /// By what most were off at most, as a fraction: a ratio lies between `1 / (1 + error)` and
    /// `1 + error` times what the model says.
    pub error: f64,
    /// How many published cases that is of, which no model was fitted to.
    pub cases: u32,
}

impl ModelError {
    /// What is known of both: the larger error, and the fewer cases.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        ModelError { error: self.error.max(other.error), cases: self.cases.min(other.cases) }
    }
}

/// What a configuration offers of its members' space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsableSpace {
    /// Bytes of its device.
    pub bytes: u64,
    /// Bytes of all of its members together.
    pub members_bytes: u64,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Configuration {
    /// Whether a Linux in a guest does its work.
    #[must_use]
    pub fn is_in_guest(&self) -> bool {
        match self.ground {
            WorkTarget::Device | WorkTarget::FileSystem | WorkTarget::Folder => false,
            WorkTarget::Guest => true,
            // A file system of this machine's kernel is never on the virtual clock.
            WorkTarget::Pull => self.clock == Clock::Virtual,
        }
    }
}

/// What a configuration may lose without losing data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survival {
    /// Members of an array, which goes on without them.
    Members {
        /// So many, whichever they are.
        count: u32,
        /// Of members on other machines; none where all are of the machine that runs the array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elsewhere: Option<RemoteMembers>,
    },
    /// What a pool of a Ceph cluster keeps of everything, in places that fail apart from each
    /// other.
    Pool {
        /// Its `size`: how many copies there are, or parts where it is erasure-coded.
        size: u32,
        /// Its `min_size`: with fewer it stops, and loses nothing by that.
        min_size: u32,
        /// How few are enough to read the data from: 1 copy, or the `k` of its erasure code.
        needed: u32,
        /// The kind of places that hold one copy at most: `osd`, `host`, `rack`; none where nobody
        /// said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<String>,
    },
}

/// Where members lie that are on other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteMembers {
    /// How many of these machines may be lost, whichever they are; none where that is for a Ceph
    /// cluster to say.
    pub hosts: Option<u32>,
    /// Whether no member is of the machine that runs the array, so that another machine can start
    /// it.
    pub all: bool,
}

impl Survival {
    /// How many members or copies may be lost while it goes on.
    #[must_use]
    pub fn losses(&self) -> u32 {
        match self {
            Survival::Members { count, .. } => *count,
            Survival::Pool { size, min_size, needed, .. } => {
                size.saturating_sub((*min_size).max(*needed))
            }
        }
    }
}

/// Which rate of a workload that writes its verdict is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// To the end of the flush that follows, wherever there is such a rate.
    #[default]
    Durable,
    /// When the calls had returned.
    Acknowledged,
}

impl Judge {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One workload of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name within the plan.
    pub name: String,
    /// Suite it belongs to.
    pub suite: String,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about, for example `throughput_bytes_per_second`.
    pub metric: String,
    /// Which direction of that metric is better.
    pub better: BetterDirection,
    /// Weight in its group's score.
    pub weight: f64,
    /// Which rate is judged where there are two.
    #[serde(default, skip_serializing_if = "Judge::is_default")]
    pub judge: Judge,
    /// For work through the page cache, the name of the workload that is the same past it, whether
    /// or not the plan has that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffered_of: Option<String>,
}

/// How trials are spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// Every configuration in every block.
    #[default]
    Full,
    /// Clear losers stop being measured, one is named, and fresh trials say how it stands
    /// ([`crate::course`]).
    Race,
}

/// The one thing that a plan wants to know: it has one headline, which takes the whole level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanGoal {
    /// In the plan's words.
    pub text: String,
    /// The metric that all workloads are judged by; none for each by its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// A bound on a measured figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// In the plan's words.
    pub text: String,
    /// Name of the metric.
    pub metric: String,
    /// Its mean over the trials that vote is to be below this, in the metric's base unit, in every
    /// workload that has the metric.
    pub below: f64,
}

/// What a run may cost. It is looked at after every trial, so that the last one may pass it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Time of measuring, in seconds, of all processes that worked on the run together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<f64>,
    /// Bytes written to any one member, preparing included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_member: Option<u64>,
}

impl Budget {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a plan wants its trials spent and judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// How trials are spent.
    pub design: Design,
    /// What the plan is for; none asks for a headline for each kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<PlanGoal>,
    /// What the run may cost.
    #[serde(skip_serializing_if = "Budget::is_default")]
    pub budget: Budget,
    /// What must hold of measured figures for a configuration to be taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// The grade that a configuration must have to be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<LeastGrade>,
    /// Configurations that cannot be taken whatever they measure, by identity, with the reason.
    #[serde(flatten, with = "ruled_out_parts", skip_serializing_if = "BTreeMap::is_empty")]
    pub ruled_out: BTreeMap<String, Text>,
    /// What the plan asks, in its own words; none where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// A gain that would matter, as a fraction; none for
    /// [`MATTERS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matters: Option<f64>,
}

impl Terms {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `plan.resolved.json`: the plan with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this layout; 1.
    pub schema: u32,
    /// Name, for people.
    pub name: String,
    /// Everything random in the run comes from here.
    pub seed: u64,
    /// Number of blocks asked for.
    pub blocks: u32,
    /// Half-width of `same` as a fraction (0.02 is 2 %).
    pub margin: f64,
    /// The axes, in the plan's order.
    pub axes: Vec<Axis>,
    /// Every configuration, in the plan's order.
    pub configurations: Vec<Configuration>,
    /// Every workload, in the suite's order.
    pub workloads: Vec<Workload>,
    /// Settings handed to the suites, for people and for resuming.
    pub suite_settings: BTreeMap<String, String>,
    /// How its trials are spent and judged.
    #[serde(default, skip_serializing_if = "Terms::is_default")]
    pub terms: Terms,
    /// How the trials of a block follow each other.
    #[serde(default, skip_serializing_if = "Schedule::is_default")]
    pub schedule: Schedule,
}

/// How the trials of a block follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Whether all configurations run one workload before any runs the next, each on a stack opened
    /// and prepared for that trial alone. Otherwise a configuration runs all workloads in a visit.
    #[serde(default)]
    pub interleaved: bool,
    /// Time in seconds for which the members rest before each visit in real time.
    #[serde(default)]
    pub rest_seconds: f64,
    /// The time in seconds that a suite of a visit may take in real time; by what is planned for it
    /// without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<f64>,
    /// Whether the models of drives have other parameters in each block, drawn from their
    /// intervals: then a claim is of what a set that was not drawn may show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drawn_parameters: bool,
}

impl Schedule {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Something that was decided while a run went on: a line of `course.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum CourseEvent {
    /// Configurations that are not measured any more.
    Dropped {
        /// After so many blocks of the race.
        after_blocks: u32,
        /// Their identities.
        configurations: Vec<String>,
    },
    /// The race is over: all trials from here on are fresh ones.
    Named {
        /// Blocks that the race took.
        after_blocks: u32,
        /// What is measured from here on.
        picks: Vec<Pick>,
    },
    /// The run goes on to a look.
    Look {
        /// Blocks that there are to be, of a race fresh ones: one of
        /// [`LOOKS`](crate::course::LOOKS).
        blocks: u32,
    },
    /// The run goes on from look to look until its headlines are decided.
    UntilDecided,
    /// From here on the run may cost so much, whatever its plan says.
    Budget {
        /// Whole milliseconds of measuring; none for no limit.
        milliseconds: Option<u64>,
        /// Bytes written to any one member; none for no limit.
        written_bytes_per_member: Option<u64>,
    },
    /// So much time was spent when this was written: of a run with a budget.
    Spent {
        /// Whole milliseconds, of all processes that worked on the run.
        milliseconds: u64,
    },
}

/// What a race has named for one kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// Identity of the baseline, which tells the comparison.
    pub baseline: String,
    /// Kind of work; none for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Identity of the configuration that is to show what it is worth.
    pub named: String,
    /// Those that came next, the best first.
    pub runners_up: Vec<String>,
}

impl Pick {
    /// Identities of all that are confirmed for it, the baseline first.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        [self.baseline.as_str(), self.named.as_str()]
            .into_iter()
            .chain(self.runners_up.iter().map(String::as_str))
    }
}

/// One fact about the machine a run was made on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Short name, for example `kernel`.
    pub name: String,
    /// Value as text.
    pub value: String,
    /// Whether a resumed run must find the same value.
    pub must_match: bool,
}

/// `host.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Version of this layout; 1.
    pub schema: u32,
    /// RFC 3339 UTC time at which the run began.
    pub started: String,
    /// The facts, in the order they are shown.
    pub facts: Vec<Fact>,
    /// Configurations whose members all lie on the same disk, so that more members are no more
    /// disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_disk: Vec<OneDisk>,
    /// Sets of members that share a disk, so that what tells them apart is not their disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_disks: Vec<SharedDisk>,
    /// Block -> number of the machine that measured it, of a run that is joined from several
    /// machines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<u32, u32>,
}

/// From so many machines on, what is measured on several says something of others like them;
/// of fewer it holds for these machines only.
pub const MACHINES_MIN: usize = 4;

impl Host {
    /// Block -> machine where machines are what is drawn anew, and not blocks: blocks of one
    /// machine have in common whatever is peculiar to it, so each machine has one say.
    #[must_use]
    pub fn drawn_machines(&self) -> Option<&BTreeMap<u32, u32>> {
        (self.machine_count() >= MACHINES_MIN).then_some(&self.machines)
    }

    /// How many machines have measured a run that is joined from several; 0 where it is of one.
    #[must_use]
    pub fn machine_count(&self) -> usize {
        self.machines.values().collect::<BTreeSet<_>>().len()
    }
}

/// A configuration of several members that lie on one disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneDisk {
    /// Identity of the configuration.
    pub configuration: String,
    /// What they lie on, for people: `disk sda`.
    pub on: String,
}

/// A disk on which several sets of members lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedDisk {
    /// Names of the sets: two at least.
    pub sets: Vec<String>,
    /// The kernel's name of the disk: `sda`.
    pub disk: String,
}

/// A whole run as read back from its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The plan as it was resolved.
    pub plan: Plan,
    /// The machine.
    pub host: Host,
    /// All trials, in the order they were finished.
    pub trials: Vec<Trial>,
    /// What happened to the run that its reader should know (a torn line dropped, still
    /// incomplete).
    pub notes: Vec<Text>,
    /// What was decided while it ran, in order (`course.jsonl`).
    pub steps: Vec<CourseEvent>,
}

impl Run {
    /// Whether it was made of files, so that there was never a plan to fulfil.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        !self.trials.is_empty()
            && self.trials.iter().all(|trial| trial.flags.contains(&Doubt::Imported))
    }
}

fn hash(settings: &BTreeMap<String, String>, workload: Option<&str>) -> u64 {
    // Length-prefixed, so that no two settings share a text.
    let mut text = String::new();
    for part in
        settings.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).chain(workload)
    {
        text.push_str(&format!("{}:{part};", part.len()));
    }
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

/// Identity of a configuration: the hash of its own settings, so that it survives changes elsewhere
/// in the plan.
#[must_use]
pub fn configuration_id(settings: &BTreeMap<String, String>) -> String {
    format!("{:012x}", hash(settings, None) >> 16)
}

/// Identity of a cell: one configuration with one workload.
#[must_use]
pub fn cell_id(settings: &BTreeMap<String, String>, workload: &str) -> String {
    format!("{:012x}", hash(settings, Some(workload)) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1" by itself says nothing: a number and a switch come with the name of their axis.
    #[test]
    fn a_setting_that_says_too_little_by_itself_comes_with_its_name() {
        let settings: BTreeMap<String, String> =
            [("chunk", "64KiB"), ("workload.depth", "1"), ("upkeep", "off"), ("level", "raid5")]
                .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
                .into();
        let axes = ["level", "chunk", "layout", "upkeep", "workload.depth"];
        assert_eq!(settings_text(axes, &settings), "raid5 64KiB upkeep off depth 1");
    }
}
