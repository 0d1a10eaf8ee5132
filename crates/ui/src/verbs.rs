//! The verbs behind the page's buttons, and the command lines that they mean.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use host::Error;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue;
use crate::program::Runner;
use crate::refusal::Refusal;
use crate::views::Runs;

/// `--name=value`: what follows the `=` is never taken for a flag.
pub(crate) fn flag(name: &str, value: &str) -> String {
    format!("--{name}={value}")
}

/// Consents to overwrite a device, as their flags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Consent {
    erase: Vec<String>,
    erase_signature: bool,
    allow_device: Vec<String>,
}

impl Consent {
    pub(crate) fn flags(&self) -> Vec<String> {
        let erase = self.erase.iter().map(|serial| flag("erase", serial));
        let signature = self.erase_signature.then(|| "--erase-signature".to_owned());
        let devices = self.allow_device.iter().map(|path| flag("allow-device", path));
        erase.chain(signature).chain(devices).collect()
    }
}

/// What a button does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Verb {
    /// Makes an array with superblocks and starts it.
    Make {
        name: String,
        level: String,
        #[serde(default)]
        chunk: Option<String>,
        /// Of members that are not there.
        #[serde(default)]
        size: Option<String>,
        members: Vec<String>,
        #[serde(default)]
        attach: Attach,
        #[serde(default)]
        consent: Consent,
    },
    /// Starts a stack.
    Start {
        stack: String,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        attach: Attach,
        #[serde(default)]
        read_only: bool,
    },
    Stop {
        name: String,
    },
    Fail {
        name: String,
        array: String,
        member: String,
    },
    Remove {
        name: String,
        array: String,
        member: String,
    },
    Add {
        name: String,
        array: String,
        device: String,
        #[serde(default)]
        consent: Consent,
    },
    Replace {
        name: String,
        array: String,
        member: String,
        device: String,
        #[serde(default)]
        consent: Consent,
    },
    Scrub {
        name: String,
        array: String,
        action: String,
    },
    /// Whether it is started with the machine.
    StartAtBoot {
        name: String,
        starts: bool,
    },
    /// Whether its members are compared once a month.
    ScrubCalendar {
        name: String,
        monthly: bool,
    },
}

/// As what an array appears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Attach {
    /// An NBD export on a Unix socket, which needs no rights.
    #[default]
    Nbd,
    /// A file.
    File,
    /// A block device.
    Device,
}

impl Attach {
    fn flags(self) -> Option<String> {
        match self {
            Attach::Nbd => None,
            Attach::File => Some("--attach=file".to_owned()),
            Attach::Device => Some("--attach".to_owned()),
        }
    }
}

/// Words of a command line.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Verb {
    /// Carries it out; what was run and said.
    ///
    /// # Errors
    /// What the verb said, in one line.
    pub(crate) async fn carry_out(&self, runner: &Runner<'_>) -> Result<Value, Refusal> {
        let mut said = runner.done(&self.arguments()).await?;
        if let Verb::Make { name, members, attach, .. } = self {
            let started = async {
                let stack = assembled(runner, members).await?;
                runner.done(&start(&stack, Some(name), *attach, false)).await
            };
            said += &started.await.map_err(|refusal| refusal.at(catalogue::NOT_STARTED))?;
        }
        Ok(json!({ "commands": runner.commands(), "said": said.trim_end() }))
    }

    /// The command line; of [`Verb::Make`] the first.
    fn arguments(&self) -> Vec<String> {
        let of = |verb: &str, flags: Vec<String>, rest: &[&str]| -> Vec<String> {
            [words(&["array", verb]), flags, words(&["--"]), words(rest)].concat()
        };
        let in_array = |array: &str| vec![flag("array", array)];
        match self {
            Verb::Make { name, level, chunk, size, members, consent, .. } => {
                let mut flags = vec![flag("level", level)];
                for (known, value) in [("chunk", chunk), ("size", size)] {
                    flags.extend(
                        value
                            .iter()
                            .filter(|value| !value.is_empty())
                            .map(|value| flag(known, value)),
                    );
                }
                flags.extend(members.iter().map(|member| flag("member", member)));
                flags.extend(consent.flags());
                of("create", flags, &[name])
            }
            Verb::Start { stack, name, attach, read_only } => {
                start(stack, name.as_deref(), *attach, *read_only)
            }
            Verb::Stop { name } => of("stop", Vec::new(), &[name]),
            Verb::Fail { name, array, member } => of("fail", in_array(array), &[name, member]),
            Verb::Remove { name, array, member } => of("remove", in_array(array), &[name, member]),
            Verb::Add { name, array, device, consent } => {
                of("add", [in_array(array), consent.flags()].concat(), &[name, device])
            }
            Verb::Replace { name, array, member, device, consent } => {
                let flags = [in_array(array), consent.flags()].concat();
                of("replace", flags, &[name, member, device])
            }
            Verb::Scrub { name, array, action } => of("scrub", in_array(array), &[name, action]),
            Verb::StartAtBoot { name, starts } => {
                let setting = if *starts { "start_at_boot=yes" } else { "start_at_boot=no" };
                of("set", Vec::new(), &[name, setting])
            }
            Verb::ScrubCalendar { name, monthly } => {
                let setting = if *monthly { "scrub=monthly" } else { "scrub=never" };
                of("set", Vec::new(), &[name, setting])
            }
        }
    }

    /// The array that runs and that something is done with.
    pub(crate) fn running_array(&self) -> Option<&str> {
        match self {
            Verb::Make { .. } | Verb::Start { .. } => None,
            Verb::Stop { name }
            | Verb::Fail { name, .. }
            | Verb::Remove { name, .. }
            | Verb::Add { name, .. }
            | Verb::Replace { name, .. }
            | Verb::Scrub { name, .. }
            | Verb::StartAtBoot { name, .. }
            | Verb::ScrubCalendar { name, .. } => Some(name),
        }
    }
}

fn start(stack: &str, name: Option<&str>, attach: Attach, read_only: bool) -> Vec<String> {
    let name = name.filter(|name| !name.is_empty()).map(|name| flag("name", name));
    let read_only = read_only.then(|| "--read-only".to_owned());
    let flags: Vec<String> = name.into_iter().chain(attach.flags()).chain(read_only).collect();
    [words(&["array", "start"]), flags, words(&["--", stack])].concat()
}

/// The stack text of an array that was just made.
async fn assembled(runner: &Runner<'_>, members: &[String]) -> Result<String, Refusal> {
    let named = members.iter().filter(|member| *member != "missing").cloned();
    let assemble = [words(&["array", "assemble", "--json", "--"]), named.collect()].concat();
    let said = runner.done(&assemble).await?;
    let found: Value = serde_json::from_str(&said).unwrap_or_default();
    found[0]["stack"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Refusal::failed(catalogue::NOT_ASSEMBLED))
}

/// A plan that is to be kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedPlan {
    /// The file's name without its folder.
    name: String,
    text: String,
}

impl SavedPlan {
    /// Writes it as a new file into a folder. What is there already is never written over.
    ///
    /// # Errors
    /// When it is no name or no plan, or the file is there.
    pub(crate) fn save(&self, folder: &Path) -> Result<Value, Error> {
        let path = folder.join(file_name(&self.name)?);
        let checked = crate::views::plan(&self.text, folder)?;
        // The same text under the same name is the same plan.
        if std::fs::read_to_string(&path).is_ok_and(|text| text == self.text) {
            return Ok(json!({ "path": path, "outline": checked["outline"] }));
        }
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::usage(catalogue::PLAN_IS_THERE).at(path.display())
            }
            _ => Error::from_io(path.display(), &error),
        };
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        file.write_all(self.text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(json!({ "path": path, "outline": checked["outline"] }))
    }
}

fn file_name(name: &str) -> Result<PathBuf, Error> {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if stem.is_empty() || stem.starts_with(['.', '-']) || !stem.chars().all(is_plain) {
        return Err(Error::usage(catalogue::PLAN_NAME).at(format!("{name:?}")));
    }
    Ok(PathBuf::from(format!("{stem}.toml")))
}

/// A run that is to be started or gone on with.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Measure {
    /// A plan that lies in the folder of runs.
    Plan {
        /// Its file's name.
        name: String,
        #[serde(default)]
        consent: Consent,
    },
    /// A run that was interrupted.
    Resume {
        /// What the page calls it.
        run: String,
        #[serde(default)]
        consent: Consent,
    },
}

impl Measure {
    /// What it is for people, and the command line.
    ///
    /// # Errors
    /// When there is no such plan or run in the folder.
    pub(crate) fn arguments(&self, runs: &Runs) -> Result<(String, Vec<String>), Error> {
        let said = |path: &Path| path.display().to_string();
        match self {
            Measure::Plan { name, consent } => {
                let path = runs.folder().join(file_name(name)?);
                if !path.is_file() {
                    return Err(Error::usage(catalogue::NO_SAVED_PLAN).at(said(&path)));
                }
                let rest = words(&["--", &said(&path)]);
                let line = [words(&["run", "--quiet"]), consent.flags(), rest].concat();
                Ok((said(&path), line))
            }
            Measure::Resume { run, consent } => {
                let folder = runs.find(run)?;
                let resume = vec![flag("resume", &said(&folder))];
                let line = [words(&["run", "--quiet"]), resume, consent.flags()].concat();
                Ok((said(&folder), line))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        serde_json::from_str::<Verb>(text).expect(text).arguments().join(" ")
    }

    #[test]
    fn buttons_are_the_verbs_of_the_command_line() {
        for (text, expected) in [
            (
                r#"{"verb": "make", "name": "tank", "level": "5", "size": "64MiB", "chunk": "",
                    "members": ["a.img", "-b.img"]}"#,
                "array create --level=5 --size=64MiB --member=a.img --member=-b.img -- tank",
            ),
            (
                r#"{"verb": "start", "stack": "ram:1MiB", "name": "r", "attach": "file"}"#,
                "array start --name=r --attach=file -- ram:1MiB",
            ),
            (r#"{"verb": "stop", "name": "--json"}"#, "array stop -- --json"),
            (
                r#"{"verb": "fail", "name": "tank", "array": "tank", "member": "2"}"#,
                "array fail --array=tank -- tank 2",
            ),
            (
                r#"{"verb": "replace", "name": "t", "array": "t", "member": "1", "device": "d.img",
                    "consent": {"erase": ["S1"]}}"#,
                "array replace --array=t --erase=S1 -- t 1 d.img",
            ),
            (
                r#"{"verb": "scrub", "name": "t", "array": "t", "action": "repair"}"#,
                "array scrub --array=t -- t repair",
            ),
            (
                r#"{"verb": "start-at-boot", "name": "-t", "starts": true}"#,
                "array set -- -t start_at_boot=yes",
            ),
            (
                r#"{"verb": "scrub-calendar", "name": "t", "monthly": false}"#,
                "array set -- t scrub=never",
            ),
        ] {
            assert_eq!(line(text), expected);
        }
    }

    #[test]
    fn what_is_no_verb_is_refused() {
        for text in [
            r#"{"verb": "destroy", "name": "tank"}"#,
            r#"{"verb": "stop", "name": "tank", "force": true}"#,
            r#"{"verb": "stop"}"#,
            r#"{"verb": "start", "stack": "ram:1MiB", "attach": "everywhere"}"#,
        ] {
            assert!(serde_json::from_str::<Verb>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_run_lies_in_the_folder_of_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("-x.toml"), "").expect("a file");
        std::fs::write(folder.path().join("x.toml"), "").expect("a file");
        let runs = Runs::of(folder.path().to_owned());
        let line = |text: &str| {
            let measure = serde_json::from_str::<Measure>(text).expect(text);
            measure.arguments(&runs).map(|(_, line)| line.join(" ")).map_err(|it| it.to_string())
        };
        let path = folder.path().join("x.toml");
        assert_eq!(
            line(r#"{"what": "plan", "name": "x", "consent": {"erase": ["S1"]}}"#),
            Ok(format!("run --quiet --erase=S1 -- {}", path.display()))
        );
        for (text, said) in [
            (r#"{"what": "plan", "name": "y"}"#, "no such plan"),
            (r#"{"what": "plan", "name": "../x"}"#, "letters, digits"),
            (r#"{"what": "plan", "name": "-x"}"#, "letters, digits"),
            (r#"{"what": "resume", "run": "../.."}"#, "no such run"),
        ] {
            let error = line(text).expect_err(text);
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_plan_is_saved_under_a_plain_name_alone() {
        for name in ["my-plan", "my_plan.toml", "plan.2"] {
            assert!(file_name(name).is_ok(), "{name}");
        }
        for name in ["", ".toml", "../x", "a/b", "-x", "a b", "x\n", "é"] {
            let error = file_name(name).expect_err(name).to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
