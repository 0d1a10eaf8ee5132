//! What options, their values and the keys of `-s` mean, in Japanese.
//!
//! ```text
//!   verbs   options of the verbs that the first help lists     below   options of the others
//!   values  possible values, and keys of -s
//! ```

mod below;
mod values;
mod verbs;

use std::fmt::Write as _;

use bench::suite;
use clap::Arg;
use clap::builder::PossibleValue;
use words::{Language, in_language};

/// A verb by its path, and its options, each by its name without dashes, or by what stands for its
/// value where it has none.
type VerbOptions = (&'static str, &'static [(&'static str, &'static str)]);

/// Options that mean the same to every verb that has them.
const SHARED: [(&str, &str); 4] = [
    ("erase", "このシリアル番号のディスクの消去に同意します(ディスクごとに 1 回)"),
    (
        "erase-signature",
        "署名(ファイルシステム、md、LVM など)のあるファイルやディスクの上書きに同意します",
    ),
    (
        "allow-device",
        "ループデバイスなど、シリアル番号のないブロックデバイスの消去に同意します(デバイスごとに 1 回)",
    ),
    ("raw", "ディスクイメージ(VHD、VHDX、qcow2、VDI、VMDK)を、ファイルのバイト列のまま扱います"),
];

/// What messages call an option: its name, or what stands for its value.
fn key(option: &Arg) -> String {
    let value =
        || option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    option.get_long().map(str::to_owned).or_else(value).unwrap_or_default()
}

fn all() -> impl Iterator<Item = &'static VerbOptions> {
    verbs::OPTIONS.iter().chain(below::OPTIONS)
}

/// An option of a verb with what it means in Japanese, where that is known.
pub(crate) fn in_japanese(option: Arg, path: &str) -> Arg {
    let own = all().find(|(verb, _)| *verb == path).map_or(&[][..], |(_, own)| own);
    let key = key(&option);
    match own.iter().chain(&SHARED).find(|(known, _)| *known == key) {
        Some((_, text)) => explained(option, text),
        None => option,
    }
}

/// What is said in English of a key of `-s`, in Japanese.
pub(crate) fn key_in_japanese(english: &str) -> Option<&'static str> {
    values::KEYS.iter().find(|(known, _)| *known == english).map(|(_, japanese)| *japanese)
}

/// What is said in English of a possible value, in Japanese. What suites measure they say
/// themselves.
fn value_in_japanese(english: &str) -> Option<&'static str> {
    let known = values::VALUES.iter().find(|(known, _)| *known == english);
    known.map(|(_, japanese)| *japanese).or_else(|| {
        let suite = suite::all().into_iter().find(|suite| suite.summary == english)?;
        Some(in_language(Language::Japanese, || suite::japanese::summary(suite)))
    })
}

/// An option with its text, its values and its default in Japanese, which clap says in English.
fn explained(option: Arg, text: &str) -> Arg {
    let (mut short, mut long) = (text.to_owned(), text.to_owned());
    // clap lets nothing be hidden of an option that takes no value.
    if !option.get_action().takes_values() {
        return option.help(short).long_help(long);
    }
    let values = match option.is_hide_possible_values_set() {
        true => Vec::new(),
        false => option.get_possible_values(),
    };
    let values: Vec<PossibleValue> =
        values.into_iter().filter(|value| !value.is_hide_set()).collect();
    if !values.is_empty() {
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let list = format!(" [使える値: {}]", names.join("、"));
        long += &lines_of(&values).unwrap_or_else(|| list.clone());
        short += &list;
    }
    if let Some(default) = default_of(&option) {
        short += &default;
        long += &default;
    }
    option.help(short).long_help(long).hide_possible_values(true).hide_default_value(true)
}

/// A line for each value, where something is said of them.
fn lines_of(values: &[PossibleValue]) -> Option<String> {
    values.iter().any(|value| value.get_help().is_some()).then(|| {
        let mut lines = "\n\n使える値:".to_owned();
        for value in values {
            let english = value.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = write!(lines, "\n- {}", value.get_name());
            if let Some(japanese) = value_in_japanese(&english) {
                let _ = write!(lines, ": {japanese}");
            }
        }
        lines + "\n"
    })
}

fn default_of(option: &Arg) -> Option<String> {
    let defaults = option.get_default_values();
    let is_shown = !option.is_hide_default_value_set();
    let shown = || defaults.iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>();
    (is_shown && !defaults.is_empty()).then(|| format!(" [省略時: {}]", shown().join(" ")))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    fn verb(path: &str) -> Command {
        let command = crate::first_help::in_japanese(crate::arguments::Arguments::command());
        path.split(' ').fold(command, |command, name| {
            let below = command.get_subcommands().find(|verb| verb.get_name() == name);
            below.unwrap_or_else(|| panic!("there is no verb {path}")).clone()
        })
    }

    fn is_known(path: &str, key: &str) -> bool {
        let own = all().filter(|(verb, _)| *verb == path).flat_map(|(_, own)| *own);
        own.chain(&SHARED).any(|(known, _)| *known == key)
    }

    /// Every option that these verbs show, and no other, has a text in Japanese.
    #[test]
    fn each_option_of_these_verbs_is_explained_in_japanese() {
        for (path, own) in all() {
            let verb = verb(path);
            // Those that all verbs have are explained once.
            let is_own = |option: &&Arg| !option.is_hide_set() && !option.is_global_set();
            let shown = verb.get_arguments().filter(is_own);
            let shown: Vec<String> = shown.map(key).filter(|key| key != "help").collect();
            for key in &shown {
                assert!(is_known(path, key), "{path}: {key} has no text in Japanese");
            }
            for (key, _) in *own {
                assert!(shown.iter().any(|it| it == key), "{path} has no option {key}");
            }
        }
        assert!(!is_known("check", "planted"));
        let text = verb("run").render_long_help().to_string();
        assert!(text.contains("プランのファイル") && !text.contains("The plan file"), "{text}");
    }

    /// The verbs are those that people are shown, each with all that is below it.
    #[test]
    fn these_are_the_verbs_that_have_options() {
        let command = crate::arguments::Arguments::command();
        let mut seen = Vec::new();
        look(&command, "", &mut seen);
        let idle: Vec<&str> =
            all().map(|(path, _)| *path).filter(|path| !seen.iter().any(|it| it == path)).collect();
        assert!(idle.is_empty(), "there are no such verbs: {idle:?}");
    }

    /// Verbs that other processes of raidloom call have no help.
    fn is_for_people(verb: &Command) -> bool {
        !verb.is_hide_set() || ["guest", "man", "trace"].contains(&verb.get_name())
    }

    fn look(command: &Command, path: &str, seen: &mut Vec<String>) {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        for below in below.filter(|verb| is_for_people(verb)) {
            let path = format!("{path} {}", below.get_name()).trim_start().to_owned();
            let has_options =
                below.get_arguments().any(|option| !option.is_hide_set() && key(option) != "help");
            assert_eq!(has_options, all().any(|(known, _)| *known == path), "{path}");
            look(below, &path, seen);
            seen.push(path);
        }
    }

    /// Each value of which something is said is explained in Japanese, and no other.
    #[test]
    fn each_possible_value_is_explained_in_japanese() {
        let command = crate::arguments::Arguments::command();
        let mut said = Vec::new();
        values_of(&command, &mut said);
        for english in &said {
            assert!(value_in_japanese(english).is_some(), "no text in Japanese: {english}");
        }
        for (english, _) in values::VALUES {
            assert!(said.iter().any(|it| it == english), "no value says: {english}");
        }
        let text = verb("array scrub").render_long_help().to_string();
        assert!(text.contains("使える値:") && !text.contains("Possible values"), "{text}");
        assert!(text.contains("[省略時: check]") && !text.contains("[default"), "{text}");
    }

    fn values_of(command: &Command, said: &mut Vec<String>) {
        for below in command.get_subcommands().filter(|verb| is_for_people(verb)) {
            let shown = below.get_arguments().filter(|option| !option.is_hide_set());
            let values = shown.flat_map(Arg::get_possible_values);
            said.extend(values.filter_map(|value| value.get_help().map(ToString::to_string)));
            values_of(below, said);
        }
    }

    /// Each key that a verb's help lists is explained in Japanese, and no other.
    #[test]
    fn each_key_is_explained_in_japanese() {
        let mut said = Vec::new();
        let mut add = |keys: Command| {
            let help = keys.get_arguments().filter_map(|key| Some(key.get_help()?.to_string()));
            said.extend(help.collect::<Vec<_>>());
        };
        add(crate::pull_command::PullKeys::command());
        add(crate::cache_command::SimulateKeys::command());
        add(crate::guest_command::GuestKeys::command());
        add(crate::guest_command::BuildKeys::command());
        for english in &said {
            assert!(key_in_japanese(english).is_some(), "no text in Japanese: {english}");
        }
        for (english, _) in values::KEYS {
            assert!(said.iter().any(|it| it == english), "no key says: {english}");
        }
        let text =
            in_language(Language::Japanese, || verb("guest run").render_long_help().to_string());
        assert!(text.contains("-s のキーと既定値:") && !text.contains("Keys of"), "{text}");
        assert!(text.contains("イメージの中のディスクのサイズ"), "{text}");
    }
}
