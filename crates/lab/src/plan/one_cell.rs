//! A plan of one configuration: one suite on one target, as `raidloom bench SUITE TARGET` has it.
//!
//! ```text
//!   TARGET ──> [members.target]      a folder, or the leaves of a stack: there, made, or only read
//!   -s KEY=VALUE ──> [matrix]        where the configuration has that key
//!                └─> [[workload]]    where the suite has it
//! ```
//!
//! The text that it comes to is a plan like others, which is read by the one reader.

use std::path::{Path, PathBuf};

use bench::suite::{Setting, Settings, Suite, TargetKind, explain};
use block::Node;
use host::Error;
use host::files::absolute;
use results::Configuration;
use stack::{Identity, twice_text};
use toml::{Table, Value};
use words::{Text, statement};

use super::document::{Override, suggestion};
use super::{NAME_MAX, ResolvedPlan, resolve_changed};
use crate::catalogue;
use crate::cell::Level;
use crate::cell::names::{
    ARRAY, AXES, CHUNK, FILE_SYSTEM, LAYOUT, LEVEL, MEMBERS, MEMORY, METADATA, MOUNT_OPTIONS, PLACE,
};
use crate::cell::values::Machine;
use crate::stacks::{self, PLACEHOLDER, READ_ONLY};

/// One suite on one target.
#[derive(Clone, Debug)]
pub struct OneCell {
    /// What is measured.
    pub suite: &'static Suite,
    /// A folder, a stack text, an image file or a block device.
    pub target: String,
    /// In a guest, whose disk the target is.
    pub guest: bool,
    /// The file system that is made on it.
    pub file_system: Option<String>,
    /// What it is mounted with.
    pub mount_options: Option<String>,
    /// The memory that the work may have: the guest's, or what the run is limited to.
    pub memory: Option<String>,
    /// The suite's size, and of a file that is not there and is made.
    pub size: Option<String>,
    /// The suite's time.
    pub time: Option<String>,
    /// How often every row is measured; as often as the suite has it without.
    pub runs: Option<u32>,
    /// What all chance comes from.
    pub seed: u64,
    /// Nothing is opened for writing.
    pub read_only: bool,
    /// `KEY=VALUE`, each a key of the suite, of the configuration, or with dots of the plan.
    pub settings: Vec<String>,
}

/// Keys of a `[[workload]]` that are no settings of its suite.
const OF_WORKLOADS: [&str; 2] = ["tests", "judge"];
/// How much memory a suite expects a cache to have.
const RAM: &str = "ram";
/// What the plan is called.
const NAME: &str = "name";

impl OneCell {
    /// The plan.
    ///
    /// # Errors
    /// A usage error of one line: what was said, and what is expected.
    pub fn resolve(&self) -> Result<ResolvedPlan, Error> {
        let changes = self.changes()?;
        let node = self.node()?;
        let mut plan = self.plan(&node, &changes)?;
        let base = plan.to_string();
        let resolved = resolve_changed(&format!("bench {}", self.suite.name), &base, &changes)?;
        for change in &changes {
            write(&mut plan, change);
        }
        Ok(ResolvedPlan { text: plan.to_string(), ..resolved })
    }

    /// What is said of the plan's keys, each where a plan has it.
    fn changes(&self) -> Result<Vec<Override>, Error> {
        let flag = |name: &str, key: String, value: &Option<String>| {
            let said = |value: &String| format!("--{name} {value}");
            value.as_ref().map(|value| Override { said: said(value), key, value: value.clone() })
        };
        let of_suite = |name: &str, value: &Option<String>| -> Result<_, Error> {
            let key = value.as_ref().map(|_| self.key(name, &format!("--{name}"))).transpose()?;
            Ok(key.and_then(|key| flag(name, key, value)))
        };
        let matrix = |axis: &str| format!("matrix.{axis}");
        // Of a suite without one it is only that of the file.
        let has_size = self
            .suite
            .setting("size")
            .is_some_and(|size| size.scope.refusal(TargetKind::Device, false).is_none());
        if let (Some(size), false, Some(path)) = (&self.size, has_size, self.file_there()) {
            let text = statement!(catalogue::SIZE_OF_ITS_OWN, path = path.display());
            return Err(Error::usage(text).at(format!("--size {size}")));
        }
        let size = match self.makes_file() && !has_size {
            true => None,
            false => of_suite("size", &self.size)?,
        };
        let flags = [
            flag("fs", matrix(FILE_SYSTEM), &self.file_system),
            flag("mount-options", matrix(MOUNT_OPTIONS), &self.mount_options),
            match self.guest {
                true => flag("memory", matrix(MEMORY), &self.memory),
                // A cache has no more than the work.
                false => flag("memory", format!("workload.{RAM}"), &self.memory)
                    .filter(|_| self.suite.setting(RAM).is_some()),
            },
            size,
            of_suite("time", &self.time)?,
        ];
        let mut changes: Vec<Override> = flags.into_iter().flatten().collect();
        for setting in &self.settings {
            let mut change = Override::read(setting)?;
            change.key = self.key(&change.key, &change.said)?;
            refuse_several(&change)?;
            changes.push(change);
        }
        Ok(changes)
    }

    /// Where a plan has a key.
    fn key(&self, name: &str, said: &str) -> Result<String, Error> {
        match name {
            _ if name.contains('.') || name == NAME => Ok(name.to_owned()),
            _ if OF_WORKLOADS.contains(&name) || self.suite.setting(name).is_some() => {
                Ok(format!("workload.{name}"))
            }
            _ if axes().any(|axis| axis == name) => Ok(format!("matrix.{name}")),
            // An older spelling.
            _ if is_key(self.suite, name) => Ok(format!("workload.{name}")),
            _ => {
                let settings = self.suite.settings.iter().map(|setting| setting.name);
                let hint = suggestion(name, settings.chain(axes()));
                let suite = self.suite.name;
                let text = statement!(catalogue::NO_KEY, suite = suite, key = name, hint = hint);
                Err(Error::usage(text).at(said))
            }
        }
    }

    /// Whether the target is a file that is to be made.
    fn makes_file(&self) -> bool {
        let is_absent = |leaf: &Node| leaf.file_path().is_some_and(|path| !path.exists());
        let has_absent =
            |node: Node| stacks::without_kept(&node).leaves().into_iter().any(is_absent);
        self.size.is_some()
            && !Path::new(&self.target).is_dir()
            && stacks::parse(&self.target).is_ok_and(has_absent)
    }

    /// A file that is measured as it is, and so with the size that it has.
    fn file_there(&self) -> Option<PathBuf> {
        let is_raw =
            self.makes_no_file_system() && self.suite.targets.contains(&TargetKind::Device);
        if !is_raw || self.guest || self.makes_file() || Path::new(&self.target).is_dir() {
            return None;
        }
        let node = stacks::parse(&self.target).ok()?;
        node.leaves().into_iter().filter_map(Node::file_path).find(|path| path.exists())
    }

    fn makes_no_file_system(&self) -> bool {
        self.file_system.as_deref().is_none_or(|name| name == "none")
    }

    /// What the target is: a folder, or the leaves of a stack.
    fn node(&self) -> Result<Node, Error> {
        let path = Path::new(&self.target);
        let is_folder = path.is_dir() && !self.guest;
        let given = if is_folder { TargetKind::Folder } else { TargetKind::Device };
        let is_made = !self.makes_no_file_system();
        let kind = if is_made { TargetKind::Folder } else { given };
        if !self.suite.targets.contains(&kind) {
            let absent = !path.exists() && !self.guest;
            let said = match absent {
                true => catalogue::SUITE_RUNS_ON_ABSENT,
                false => catalogue::SUITE_RUNS_ON,
            };
            let targets = explain::targets(self.suite);
            return Err(Error::usage(statement!(said, suite = self.suite.name, targets = targets))
                .at(&self.target));
        }
        if is_folder {
            if self.read_only {
                return Err(Error::usage(catalogue::FOLDER_IS_WRITTEN));
            }
            return Ok(stacks::folder(&absolute(path)?));
        }
        let only_reads = !is_made && (self.read_only || only_reads(self.suite));
        let said = stack::parse(&self.target).map_err(block::Error::from)?;
        if let Some(path) =
            said.leaves().into_iter().filter(|_| self.guest).find_map(Node::file_path)
        {
            return Err(Error::usage(catalogue::GUEST_NEEDS_MODELS).at(path.display()));
        }
        let paths: Vec<PathBuf> = said.leaves().into_iter().filter_map(Node::file_path).collect();
        if let Some((one, other)) = Identity::same_twice(paths.iter().map(PathBuf::as_path)) {
            return Err(Error::usage(twice_text(one, other)));
        }
        let node = self.mapped(said, only_reads)?;
        stacks::dry(&node, None)?;
        Ok(node)
    }

    /// The target with each leaf as it is opened, but for what layers keep for themselves.
    fn mapped(&self, node: Node, only_reads: bool) -> Result<Node, Error> {
        let Node::Layer { name, options, children } = node else {
            return self.leaf(node, only_reads);
        };
        let keeps = stacks::keeps_its_first(&name);
        let child = |(index, child): (usize, Node)| match index {
            0 if keeps => Ok(child),
            _ => self.mapped(child, only_reads),
        };
        let children = children.into_iter().enumerate().map(child).collect::<Result<_, _>>()?;
        Ok(Node::Layer { name, options, children })
    }

    /// A leaf of the target: there, to be made, or only to be read.
    fn leaf(&self, leaf: Node, only_reads: bool) -> Result<Node, Error> {
        let Some(path) = leaf.file_path() else { return self.elsewhere(leaf, only_reads) };
        match &self.size {
            Some(_) if only_reads && !path.exists() => {
                let said = statement!(catalogue::NEVER_WRITTEN, suite = self.suite.name);
                Err(Error::usage(said).at(path.display()))
            }
            _ if path.is_dir() => Err(Error::refused(catalogue::RAW_TARGET).at(path.display())),
            _ if path.exists() => Ok(if only_reads { leaf.with(READ_ONLY, "yes") } else { leaf }),
            Some(size) => {
                let path = absolute(&path)?;
                let (folder, name) = (path.parent(), path.file_name());
                let (folder, name) = folder.zip(name).ok_or_else(|| no_file(&path))?;
                let address =
                    format!("{PLACEHOLDER}:{}}}/{}", folder.display(), name.to_string_lossy());
                let bytes = stacks::parse_size(size)
                    .map_err(|error| Error::usage(error).at(format!("--size {size}")))?;
                Ok(Node::leaf("file", address).with("size", stacks::size_text(bytes)))
            }
            None => Err(no_file(&path)),
        }
    }

    /// A leaf that is no file of this machine.
    fn elsewhere(&self, leaf: Node, only_reads: bool) -> Result<Node, Error> {
        let can_be_read_only = match &leaf {
            Node::Leaf { scheme, .. } => stack::table::leaf(scheme)
                .is_ok_and(|row| row.options.iter().any(|option| option.name == READ_ONLY)),
            Node::Layer { .. } | Node::Missing => true,
        };
        match (&leaf, can_be_read_only) {
            (Node::Leaf { .. }, true) if only_reads => Ok(leaf.with(READ_ONLY, "yes")),
            (_, false) if self.read_only => {
                let leaf = leaf.to_string();
                Err(Error::usage(statement!(catalogue::NOTHING_TO_LOSE, leaf = leaf)))
            }
            _ => Ok(leaf),
        }
    }

    /// The plan but for what is said of its keys.
    fn plan(&self, node: &Node, changes: &[Override]) -> Result<Table, Error> {
        let text = |text: &str| Value::String(text.to_owned());
        let mut matrix = Table::new();
        matrix.insert(LEVEL.to_owned(), text("single"));
        if self.guest {
            matrix.insert(PLACE.to_owned(), text(&Machine::Guest.to_string()));
        }
        let array = format!("matrix.{ARRAY}");
        let apart = changes.iter().any(|change| change.key == array);
        let members = match node {
            // Whose array it is can be said of one whose members are known.
            Node::Layer { name, options, children } if apart && is_plain(name, options) => {
                matrix.insert(LEVEL.to_owned(), text(name));
                for (option, value) in options {
                    matrix.insert(option.clone(), text(value));
                }
                children.iter().map(ToString::to_string).collect()
            }
            _ => vec![node.to_string()],
        };
        let stacks = Value::Array(members.iter().map(|member| text(member)).collect());
        let target = Table::from_iter([("stacks".to_owned(), stacks)]);
        let workload = Table::from_iter([("suite".to_owned(), text(self.suite.name))]);
        let seed = i64::try_from(self.seed).map_err(|_| {
            let (seed, most) = (self.seed, i64::MAX);
            Error::usage(statement!(catalogue::SEED_MAX, seed = seed, most = most))
        })?;
        let trials = [("blocks", i64::from(self.runs())), ("seed", seed)];
        let trials = trials.map(|(key, number)| (key.to_owned(), Value::Integer(number)));
        let shown: String = self.target.chars().take(NAME_MAX).collect();
        let name = format!("{} on {}", self.suite.name, shown.replace(char::is_control, " "));
        let table = |table: Table| Value::Table(table);
        let members = Table::from_iter([("target".to_owned(), table(target))]);
        Ok(Table::from_iter([
            ("schema".to_owned(), Value::Integer(1)),
            (NAME.to_owned(), text(&name)),
            ("members".to_owned(), table(members)),
            ("matrix".to_owned(), table(matrix)),
            ("workload".to_owned(), Value::Array(vec![table(workload)])),
            ("trials".to_owned(), table(Table::from_iter(trials))),
        ]))
    }

    /// How often every row is measured.
    fn runs(&self) -> u32 {
        let default = self.suite.setting(super::suite::RUNS).map(|runs| {
            match runs.default(block::Clock::Wall) {
                bench::suite::Value::Count(count) => u32::try_from(*count).unwrap_or(1),
                _ => 1,
            }
        });
        self.runs.or(default).unwrap_or(1)
    }
}

/// Whether a suite, or a configuration, has such a key.
#[must_use]
pub fn is_key(suite: &Suite, name: &str) -> bool {
    let of_suite = |known: &Setting| known.name == name || known.alias == Some(name);
    suite.settings.iter().any(of_suite) || axes().any(|axis| axis == name)
}

/// The keys of a configuration, as a plan's `[matrix]` has them.
pub fn axes() -> impl Iterator<Item = &'static str> + Clone {
    AXES.into_iter().filter(|axis| *axis != MEMBERS)
}

/// The settings of a suite with what is said of its keys: `KEY=VALUE`.
///
/// # Errors
/// A key that it does not have, and a value that the key does not take.
pub fn suite_with(suite: &Suite, said: &[String]) -> Result<Settings, Error> {
    let mut settings = suite.defaults(block::Clock::Wall);
    for setting in said {
        let Override { said, key, value } = Override::read(setting)?;
        let wrong = |text: Text| Error::usage(text).at(&said);
        let Some(known) = suite.settings.iter().find(|known| known.name == key) else {
            let hint = suggestion(&key, suite.settings.iter().map(|setting| setting.name));
            let suite = suite.name;
            let text = statement!(catalogue::NO_KEY, suite = suite, key = &key, hint = hint);
            return Err(Error::usage(text).at(&said));
        };
        let value = super::setting_value(known.kind, &value).map_err(wrong)?;
        settings.set(suite, known.name, value).map_err(wrong)?;
    }
    Ok(settings)
}

/// The folder that a configuration works in, where it is one that was there already.
#[must_use]
pub fn folder(configuration: &Configuration) -> Option<PathBuf> {
    stacks::folder_of(&stacks::parse(&configuration.stack).ok()?)
}

fn no_file(path: &Path) -> Error {
    Error::usage(catalogue::NO_FILE).at(path.display())
}

/// Whether all options of a layer are axes of a configuration.
fn is_plain(name: &str, options: &[(String, String)]) -> bool {
    let is_axis =
        |(option, _): &(String, String)| [CHUNK, LAYOUT, METADATA].contains(&option.as_str());
    Level::named(name).is_some_and(Level::is_array) && options.iter().all(is_axis)
}

/// Whether a suite writes nothing to a device, whatever its settings.
fn only_reads(suite: &Suite) -> bool {
    let settings = suite.defaults(block::Clock::Wall);
    let writes = (suite.phases)(&settings).iter().any(|phase| phase.writes);
    !writes
        && !bench::suite::runs_programs(suite)
        && (suite.prepared_bytes)(&settings, Some(u64::MAX)) == 0
}

/// A list of values is an axis, and this is one configuration.
fn refuse_several(change: &Override) -> Result<(), Error> {
    let is_list = change.value.starts_with('[') && !["tests", "figures"].contains(&leaf_of(change));
    if !is_list {
        return Ok(());
    }
    Err(Error::usage(catalogue::ONE_VALUE).at(&change.said))
}

/// The last part of a key.
fn leaf_of(change: &Override) -> &str {
    change.key.rsplit('.').next().unwrap_or_default()
}

/// Writes what is said of a key into a plan, as it was taken.
fn write(plan: &mut Table, change: &Override) {
    let line = format!("value = {}", change.value);
    let value = line.parse::<Table>().ok().and_then(|mut table| table.remove("value"));
    let value = value.unwrap_or_else(|| Value::String(change.value.clone()));
    let mut keys = change.key.split('.').map(str::trim).peekable();
    let mut table = plan;
    while let Some(key) = keys.next() {
        if keys.peek().is_none() {
            table.insert(key.to_owned(), value);
            return;
        }
        let below = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
        let below = match below {
            Value::Array(all) => all.first_mut(),
            other => Some(other),
        };
        let Some(Value::Table(next)) = below else { return };
        table = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve;

    fn cell(suite: &str, target: &str, settings: &[&str]) -> OneCell {
        OneCell {
            suite: bench::suite::find(suite).unwrap(),
            target: target.to_owned(),
            guest: false,
            file_system: None,
            mount_options: None,
            memory: None,
            size: None,
            time: None,
            runs: None,
            seed: 1,
            read_only: false,
            settings: settings.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn a_suite_on_a_target_is_a_plan_that_can_be_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().display().to_string();
        let cells = [
            cell("devtest", "model:maxtor-6y200p0", &["depth=4", "trials.rest=0s"]),
            cell("crystal", &folder, &["profile=8-nvme", "mix=70"]),
            cell("command", &folder, &["run=true", "figures=[\"dd\"]"]),
            OneCell {
                time: Some("5s".to_owned()),
                ..cell("devtest", "raid0(chunk=64KiB, ram:1MiB, ram:1MiB)", &["processors=1"])
            },
        ];
        for cell in cells {
            let resolved = cell.resolve().unwrap();
            let again = resolve("again", &resolved.text, &[]).unwrap();
            assert_eq!(again.plan, resolved.plan, "{}", resolved.text);
            assert_eq!(resolved.plan.configurations.len(), 1);
        }
    }

    #[test]
    fn runs_are_blocks_and_as_many_as_the_suite_has() {
        let blocks = |cell: OneCell| cell.resolve().unwrap().plan.blocks;
        assert_eq!(blocks(cell("hdparm", "ram:16MiB", &[])), 6);
        assert_eq!(blocks(cell("devtest", "ram:16MiB", &[])), 1);
        assert_eq!(blocks(OneCell { runs: Some(3), ..cell("hdparm", "ram:16MiB", &[]) }), 3);
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_nearest() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().display().to_string();
        for (suite, target, setting, expected) in [
            (
                "devtest",
                "ram:1MiB",
                "deph=4",
                "-s deph=4: devtest has no key `deph`; did you mean `depth`?",
            ),
            ("devtest", "ram:1MiB", "depth", "-s depth: expected KEY=VALUE"),
            ("devtest", "ram:1MiB", "depth=0", "-s depth=0: `0`: expected a whole number from 1"),
            ("devtest", "ram:1MiB", "depth=[1, 2]", "several are a plan"),
            ("devtest", "ram:1MiB", "size=1MiB", "`size`: it is for a folder"),
            ("devtest", "ram:1MiB", "scheduler=none", "`scheduler` means nothing on this machine"),
            ("copy", "ram:1MiB", "depth=2", "copy runs on a folder"),
            ("copy", &folder, "file_system=ext4", "a folder of a file system that is there"),
            ("devtest", "no.img", "depth=2", "no.img: no such file; --size SIZE makes it"),
        ] {
            let error = cell(suite, target, &[setting]).resolve().unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_there_keeps_its_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let path = file.path().display().to_string();
        let sized = |target: &str| OneCell {
            size: Some("16MiB".to_owned()),
            ..cell("devtest", target, &[])
        };
        let error = sized(&path).resolve().unwrap_err().to_string();
        let expected = format!("--size 16MiB: {path} is there already");
        assert!(error.starts_with(&expected), "{error}");
        sized(&format!("{path}-absent")).resolve().expect("one that is not there is made");
        let error = sized("ram:1MiB").resolve().unwrap_err().to_string();
        assert!(error.contains("`size`: it is for a folder"), "{error}");
    }

    #[test]
    fn what_only_reads_opens_nothing_for_writing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let path = file.path().display().to_string();
        let stack = |cell: OneCell| cell.resolve().unwrap().plan.configurations[0].stack.clone();
        assert!(stack(cell("hdparm", &path, &[])).contains("read_only=yes"));
        assert!(!stack(cell("devtest", &path, &[])).contains("read_only"));
        let read_only = OneCell { read_only: true, ..cell("devtest", &path, &[]) };
        assert!(stack(read_only).contains("read_only=yes"));
        let written = OneCell { read_only: true, ..cell("devtest", &path, &["verify=full"]) };
        let error = written.resolve().unwrap_err().to_string();
        assert!(error.contains("`verify`: it is for what is written"), "{error}");
    }

    #[test]
    fn whose_array_it_is_takes_the_text_apart() {
        let text = "raid5(chunk=64KiB, model:st340015a, model:st340015a, model:st340015a)";
        let cell = OneCell { guest: true, ..cell("devtest", text, &["array=md", "time=1s"]) };
        let plan = cell.resolve().unwrap().plan;
        let settings = &plan.configurations[0].settings;
        assert_eq!((settings["level"].as_str(), settings["chunk"].as_str()), ("raid5", "64KiB"));
        assert_eq!(settings["array"], "md");
    }
}
