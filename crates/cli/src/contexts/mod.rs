//! Which options mean something where. An option that would be passed over in silence is refused,
//! before anything is looked at.
//!
//! What `requires` and `conflicts_with` can say stands with the options. Here is what depends on
//! the value of another one. clap waives a `requires` when what is required conflicts with
//! something that is there; such options name what they conflict with as well.

mod catalogue;

use block::Node;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use words::Message;

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
    why: Message,
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
        why: catalogue::ONE_FORM,
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["json"]),
        mean: |given| !given.has("print_plan"),
        why: catalogue::PLAN_IS_TOML,
    },
    Rule {
        verbs: &["choose"],
        options: Options::Named(&["json"]),
        mean: |given| !given.has("print_plan"),
        why: catalogue::PLAN_IS_TOML,
    },
    Rule {
        verbs: &["choose"],
        options: Options::Named(CONSENT),
        mean: |given| given.has("measure") || given.has("make"),
        why: catalogue::NOTHING_ERASED,
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["allow_change"]),
        mean: |given| given.has("resume") || given.has("more") || given.has("until"),
        why: catalogue::FOR_RESUMED_RUN,
    },
    Rule {
        verbs: &["run"],
        options: Options::Named(&["budget", "erase", "erase_signature", "allow_device"]),
        mean: |given| !(given.has("on") && given.has("resume")),
        why: catalogue::SHARDS_GO_ON,
    },
    Rule {
        verbs: &["bench"],
        options: Options::Named(&["erase", "erase_signature", "allow_device", "read_only"]),
        mean: |given| !given.has("guest"),
        why: catalogue::GUEST_DISKS,
    },
    Rule {
        verbs: &["bench"],
        options: Options::Named(CONSENT),
        mean: |given| !given.is_any("suite", &["hdparm"]) && !given.has("read_only"),
        why: catalogue::NOTHING_OPENED,
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Named(&["format", "device", "strict"]),
        mean: |given| given.has("trace"),
        why: catalogue::FOR_RECORDINGS,
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["html"]),
        mean: |given| given.is_any("action", &["show"]),
        why: catalogue::PAGE_OF_SHOWN,
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["output"]),
        mean: |given| !given.is_any("action", &["show"]),
        why: catalogue::NOTHING_NEW,
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["from", "to"]),
        mean: |given| given.is_any("action", &["cut"]),
        why: catalogue::PART_KEPT,
    },
    Rule {
        verbs: &["trace"],
        options: Options::Named(&["speed", "size"]),
        mean: |given| given.is_any("action", &["scale"]),
        why: catalogue::OTHER_SPEED,
    },
    Rule {
        verbs: &["array scrub"],
        options: Options::Named(&["wait"]),
        mean: |given| !given.is_any("action", &["pause"]),
        why: catalogue::PAUSED_NEVER_ENDS,
    },
    Rule {
        verbs: &["array cache salvage"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| given.has("write"),
        why: catalogue::ONLY_READ,
    },
    Rule {
        verbs: &["array cache flush"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| {
            let is_name = |cache: &str| matches!(stack::parse(cache), Ok(Node::Leaf { .. }));
            !given.text("cache").is_some_and(is_name)
        },
        why: catalogue::OPEN_ALREADY,
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(REPORTS),
        mean: |given| !given.has("json"),
        why: catalogue::REPORT_OR_JSON,
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(&["full"]),
        mean: |given| !given.has("json") && !REPORTS.iter().any(|file| given.has(file)),
        why: catalogue::FOR_TERMINAL,
    },
    Rule {
        verbs: &["report"],
        options: Options::Named(&["lang"]),
        mean: |given| {
            let any = |files: &[&str]| files.iter().any(|file| given.has(file));
            !given.has("json") && (!any(REPORTS) || any(REPORTS_IN_WORDS))
        },
        why: catalogue::NO_LANGUAGE,
    },
    Rule {
        verbs: &["report history"],
        options: Options::Named(&["svg"]),
        mean: |given| !given.has("json"),
        why: catalogue::FIGURES_OR_JSON,
    },
    Rule {
        verbs: &["array monitor"],
        options: Options::Named(&["every"]),
        mean: |given| !given.has("once"),
        why: catalogue::ASKED_ONCE,
    },
    Rule {
        verbs: &["pull"],
        options: Options::AllBut(&["replay", "set", "target", "images"]),
        mean: |given| !given.has("replay"),
        why: catalogue::STATE_AS_KEPT,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Named(&["steps", "array", "start_with", "state", "consistency"]),
        mean: |given| !given.has("import"),
        why: catalogue::STATES_OF_LOG,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["make_options", "spread", "recordings", "policy", "write_cache"]),
        mean: |given| !given.has("import"),
        why: catalogue::STATES_OF_LOG,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Named(&["work"]),
        mean: |given| !given.has("check"),
        why: catalogue::CHECK_LOOKS,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["drive_cache", "cache_age"]),
        mean: |given| {
            given.is_any("device", &["typical"]) && given.is_any("event", &["power", "yank"])
        },
        why: catalogue::FOR_LOST_CACHE,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["tear"]),
        mean: |given| !given.is_any("device", &["model"]),
        why: catalogue::MODEL_HAS_UNIT,
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
        why: catalogue::STATE_AS_KEPT,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["spread"]),
        mean: |given| !given.has("work_command"),
        why: catalogue::OWN_TIME,
    },
    Rule {
        verbs: &["pull"],
        options: Options::Keys(&["smallest_loss"]),
        mean: |given| given.has("replay"),
        why: catalogue::FOR_KEPT_STATE,
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["zipf"]),
        mean: |given| !given.has("trace"),
        why: catalogue::RECORDING_IS_WORK,
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["scan_blocks"]),
        mean: |given| given.has_key("scan"),
        why: catalogue::SCAN_LENGTH,
    },
    Rule {
        verbs: &["array cache simulate"],
        options: Options::Keys(&["scan", "blocks", "accesses", "seed"]),
        mean: |given| given.has_key("zipf"),
        why: catalogue::FOR_MADE_WORK,
    },
    Rule {
        verbs: &["array overlay"],
        options: Options::Named(&["allow_device", "raw"]),
        mean: |given| given.has("commit"),
        why: catalogue::ONLY_DELTA,
    },
    Rule {
        verbs: &["guest run"],
        options: Options::Keys(&["image", "make_options"]),
        mean: |given| given.has("fs"),
        why: catalogue::FOR_FILE_SYSTEM,
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
        why: catalogue::FOR_IMAGE,
    },
    Rule {
        verbs: &["guest run"],
        options: Options::Named(&["cut_loses", "then", "images"]),
        mean: |given| given.has("cut_at") || given.has("cut_at_request"),
        why: catalogue::FOR_POWER_CUT,
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
            return Err(Failure::usage(rule.why).at(name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
