//! Which options mean something where. An option that would be passed over in silence is refused,
//! before anything is looked at.
//!
//! What `requires` and `conflicts_with` can say stands with the options. Here is what depends on
//! the value of another one. clap waives a `requires` when what is required conflicts with
//! something that is there; such options name what they conflict with as well.

use block::Node;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::failure::Failure;
use crate::keys;

/// What was typed for one verb.
struct Given<'a> {
    /// The words of the verb: `array start`.
    verb: String,
    command: &'a Command,
    matches: &'a ArgMatches,
}

impl<'a> Given<'a> {
    /// Goes down to the verb that was named.
    fn of(mut command: &'a Command, mut matches: &'a ArgMatches) -> Given<'a> {
        let mut verb = Vec::new();
        while let Some((name, below)) = matches.subcommand()
            && let Some(its) = command.find_subcommand(name)
        {
            verb.push(name);
            (command, matches) = (its, below);
        }
        Given { verb: verb.join(" "), command, matches }
    }

    /// Whether an option was typed.
    fn has(&self, id: &str) -> bool {
        // Some verbs share a rule and not all of its options.
        self.matches.ids().any(|known| known == id)
            && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The text of an option, typed or by default.
    fn text(&self, id: &str) -> Option<&str> {
        self.matches.try_get_raw(id).ok().flatten()?.next()?.to_str()
    }

    /// Whether a key was typed, as `-s KEY=VALUE`.
    fn has_key(&self, key: &str) -> bool {
        keys::typed(self.matches).any(|typed| typed == key)
    }

    fn is_any(&self, id: &str, values: &[&str]) -> bool {
        self.text(id).is_some_and(|text| values.contains(&text))
    }
}

/// Options of a verb.
enum Options {
    /// These.
    Named(&'static [&'static str]),
    /// All of its own but these.
    AllBut(&'static [&'static str]),
    /// These keys, said as `-s KEY=VALUE`.
    Keys(&'static [&'static str]),
}

impl Options {
    /// Which of them was typed, as it is said.
    fn typed(&self, given: &Given<'_>) -> Option<String> {
        let is_one = |argument: &clap::Arg| {
            let id = argument.get_id().as_str();
            match self {
                Options::Named(ids) => ids.contains(&id),
                Options::AllBut(ids) => !ids.contains(&id) && !argument.is_global_set(),
                Options::Keys(_) => false,
            }
        };
        if let Options::Keys(keys) = self {
            return keys.iter().find(|key| given.has_key(key)).map(|key| format!("-s {key}"));
        }
        let option = given
            .command
            .get_arguments()
            .find(|argument| is_one(argument) && given.has(argument.get_id().as_str()))?;
        Some(option.get_long().map_or_else(
            || option.get_short().map_or(String::new(), |letter| format!("-{letter}")),
            |long| format!("--{long}"),
        ))
    }
}

/// Where options mean something.
struct Rule {
    /// The verbs, and all below them.
    verbs: &'static [&'static str],
    options: Options,
    mean: fn(&Given<'_>) -> bool,
    /// Why they mean nothing elsewhere, and what would give them a meaning.
    why: &'static str,
}

const CONSENT: &[&str] = &["erase", "erase_signature", "allow_device"];

/// The files that `report` writes.
const REPORTS: &[&str] = &[
    "html",
    "md",
    "csv",
    "parquet",
    "bonnie_csv",
    "crystal_text",
    "fcv_table",
    "card",
    "badge",
    "summary",
];

/// Those of them that are written in a language.
const REPORTS_IN_WORDS: &[&str] = &["html", "md", "card", "badge", "summary"];

static RULES: &[Rule] = &[
    Rule {
        verbs: &["man", "array serve", "guest work"],
        options: Options::Named(&["json"]),
        mean: |_| false,
        why: "what this prints has one form only",
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["json"]),
        mean: |given| !given.has("print_plan"),
        why: "a plan is printed as TOML",
    },
    Rule {
        verbs: &["choose"],
        options: Options::Named(&["json"]),
        mean: |given| !given.has("print_plan"),
        why: "a plan is printed as TOML",
    },
    Rule {
        verbs: &["choose"],
        options: Options::Named(&["work_command"]),
        mean: |given| given.has("measure"),
        why: "a command is run on the drives themselves: --measure",
    },
    Rule {
        verbs: &["choose"],
        options: Options::Named(CONSENT),
        mean: |given| given.has("measure") || given.has("make"),
        why: "nothing is erased without --measure or --do",
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["allow_change"]),
        mean: |given| given.has("resume") || given.has("more") || given.has("until"),
        why: "it is for a run that goes on: --resume RUN, or --more or --until with its folder",
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["budget", "erase", "erase_signature", "allow_device"]),
        mean: |given| !(given.has("on") && given.has("resume")),
        why: "shards go on with what they were submitted with",
    },
    Rule {
        verbs: &["bench"],
        options: Options::Named(&["erase", "erase_signature", "allow_device", "read_only"]),
        mean: |given| !given.has("guest"),
        why: "a guest's disks are its own",
    },
    Rule {
        verbs: &["bench"],
        options: Options::Named(CONSENT),
        mean: |given| !given.is_any("suite", &["hdparm"]) && !given.has("read_only"),
        why: "nothing is opened for writing here",
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Named(&["format", "device", "strict"]),
        mean: |given| given.has("trace"),
        why: "they say how a recording is read, and a workload that is made is none",
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["html"]),
        mean: |given| given.is_any("action", &["show"]),
        why: "the page is of what is shown: trace show",
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["output"]),
        mean: |given| !given.is_any("action", &["show"]),
        why: "nothing new is made; a page is written with --html",
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["from", "to"]),
        mean: |given| given.is_any("action", &["cut"]),
        why: "they name the part that is kept: trace cut",
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["speed", "size"]),
        mean: |given| given.is_any("action", &["scale"]),
        why: "they are for another speed or size: trace scale",
    },
    Rule {
        verbs: &["array scrub"],
        options: Options::Named(&["wait"]),
        mean: |given| !given.is_any("action", &["pause"]),
        why: "what is paused does not end",
    },
    Rule {
        verbs: &["array cache salvage"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| given.has("write"),
        why: "without --write the device is only read",
    },
    Rule {
        verbs: &["array cache flush"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| {
            let is_name = |cache: &str| matches!(stack::parse(cache), Ok(Node::Leaf { .. }));
            !given.text("cache").is_some_and(is_name)
        },
        why: "an array that runs has its devices open already",
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(REPORTS),
        mean: |given| !given.has("json"),
        why: "--json prints the report in a form of its own; leave one of them out",
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(&["full"]),
        mean: |given| !given.has("json") && !REPORTS.iter().any(|file| given.has(file)),
        why: "it is for what the terminal shows: files and JSON have all of it",
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(&["lang"]),
        mean: |given| {
            let any = |files: &[&str]| files.iter().any(|file| given.has(file));
            !given.has("json") && (!any(REPORTS) || any(REPORTS_IN_WORDS))
        },
        why: "what programs read is the same in every language",
    },
    Rule {
        verbs: &["report history"],
        options: Options::Named(&["svg"]),
        mean: |given| !given.has("json"),
        why: "--json prints the figures in a form of its own; leave one of them out",
    },
    Rule {
        verbs: &["array monitor"],
        options: Options::Named(&["every"]),
        mean: |given| !given.has("once"),
        why: "with --once the arrays are asked once",
    },
    Rule {
        verbs: &["pull"],
        options: Options::AllBut(&["replay", "set", "target", "images"]),
        mean: |given| !given.has("replay"),
        why: "a state that was kept is made again as it was",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Named(&["steps", "array", "start_with", "state", "consistency"]),
        mean: |given| !given.has("import"),
        why: "nothing is recorded: the states are those of the log",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["make_options", "spread", "recordings", "policy", "write_cache"]),
        mean: |given| !given.has("import"),
        why: "nothing is recorded: the states are those of the log",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Named(&["work"]),
        mean: |given| !given.has("check"),
        why: "what looks at the folder is --check, which knows of no built-in work",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["drive_cache", "cache_age"]),
        mean: |given| {
            given.is_any("device", &["typical"]) && given.is_any("event", &["power", "yank"])
        },
        why: "it is for a cache that is lost: --device typical, --event power or yank",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["tear"]),
        mean: |given| !given.is_any("device", &["model"]),
        why: "a modelled drive has a unit of its own",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&[
            "drive_cache",
            "cache_age",
            "tear",
            "make_options",
            "spread",
            "recordings",
            "policy",
            "write_cache",
        ]),
        mean: |given| !given.has("replay"),
        why: "a state that was kept is made again as it was",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["spread"]),
        mean: |given| !given.has("work_command"),
        why: "a program of your own takes the time that it takes",
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["smallest_loss"]),
        mean: |given| given.has("replay"),
        why: "it is for a state that was kept: --replay FILE",
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["zipf"]),
        mean: |given| !given.has("trace"),
        why: "the recording that was named is the workload",
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["scan_blocks"]),
        mean: |given| given.has_key("scan"),
        why: "how long scans are: -s scan=0.2 says how many accesses are scans",
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["scan", "blocks", "accesses", "seed"]),
        mean: |given| given.has_key("zipf"),
        why: "it is for a workload that is made: -s zipf=1.0",
    },
    Rule {
        verbs: &["array overlay"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| given.has("commit"),
        why: "without --commit nothing but the delta is opened for writing",
    },
    Rule {
        verbs: &["guest run"],
        options: Options::Keys(&["image", "make_options"]),
        mean: |given| given.has("fs"),
        why: "it is for a file system that is made: --fs says which",
    },
    Rule {
        verbs: &["guest run"],
        options: Options::Keys(&[
            "image_size",
            "image_io",
            "outer_file_system",
            "outer_make_options",
            "outer_mount_options",
        ]),
        mean: |given| given.has_key("image"),
        why: "it is an image's: -s image=raw",
    },
    Rule {
        verbs: &["guest run"],
        options: Options::Named(&["cut_loses", "then", "images"]),
        mean: |given| given.has("cut_at") || given.has("cut_at_request"),
        why: "it is for a power cut: --cut-at or --cut-at-request says when",
    },
];

/// Refuses what was typed and means nothing together with the rest of it.
///
/// # Errors
/// The option, why it means nothing here, and where it would mean something.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), Failure> {
    let given = Given::of(command, matches);
    let here = |verb: &&str| {
        given.verb.strip_prefix(*verb).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    for rule in RULES.iter().filter(|rule| rule.verbs.iter().any(here)) {
        if let Some(name) = rule.options.typed(&given)
            && !(rule.mean)(&given)
        {
            return Err(Failure::usage(format!("{name}: {}", rule.why)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
