//! Keys of a verb that few need: `-s KEY=VALUE`, as in plans, where options would crowd its help.
//!
//! What a key takes, its default and its meaning stand in a clap struct of their own.

use std::error::Error as _;
use std::fmt::Write as _;
use std::ops::Deref;
use words::{Language, Text};

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser};

use crate::catalogue::{say, statement};
use crate::option_help;

/// Flattened into a verb's arguments: its option `-s`, read as the keys of `K`.
#[derive(Debug)]
pub(crate) struct Keys<K>(K);

impl<K> Deref for Keys<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0
    }
}

impl<K: Parser> FromArgMatches for Keys<K> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Keys<K>, Error> {
        let words = || matches.get_many::<String>("set").into_iter().flatten();
        words().try_for_each(|word| check::<K>(word))?;
        let options = words().map(|word| format!("--{word}"));
        let matches =
            command::<K>().try_get_matches_from(std::iter::once("-s".to_owned()).chain(options))?;
        K::from_arg_matches(&matches).map(Keys)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Keys::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<K: Parser> Args for Keys<K> {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new("set")
                .short('s')
                .long("set")
                .value_name("KEY=VALUE")
                .action(ArgAction::Append)
                .help("One of the keys below (may be repeated)"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Keys::<K>::augment_args(command)
    }
}

/// How one `KEY=VALUE` of several is parsed: the last of equals counts.
fn command<K: Parser>() -> Command {
    K::command().args_override_self(true)
}

/// Refuses a word with what is wrong with it alone.
fn check<K: Parser>(word: &str) -> Result<(), Error> {
    let refused = |why: Text| {
        let why = why.at(format!("-s {}", escape::line(word))).and("\n");
        Err(Error::raw(ErrorKind::ValueValidation, why))
    };
    let keys = command::<K>();
    let names: Vec<&str> = keys.get_arguments().filter_map(Arg::get_long).collect();
    let Some((key, _)) = word.split_once('=').filter(|(key, _)| names.contains(key)) else {
        return refused(statement!(KEY_VALUE_OF, keys = names.join(", ")));
    };
    let Err(error) = command::<K>().try_get_matches_from(["-s", &format!("--{word}")]) else {
        return Ok(());
    };
    match (error.get(ContextKind::ValidValue), error.source()) {
        (Some(ContextValue::Strings(values)), _) if !values.is_empty() => {
            refused(statement!(KEY_IS_ONE_OF, key = key, values = values.join(", ")))
        }
        (_, Some(source)) => refused(Text::verbatim(&source)),
        _ => refused(statement!(KEY_OTHER_VALUE, key = key)),
    }
}

/// Columns of the list of keys, which no narrower terminal breaks at the right place.
const COLUMNS: usize = 80;

/// The end of a verb's help: its keys with their defaults and meanings, then its examples.
pub(crate) fn help<K: Parser>(examples: &str) -> String {
    let (keys, is_japanese) = (command::<K>(), words::language() == Language::Japanese);
    let named: Vec<(String, String)> = keys
        .get_arguments()
        .filter_map(|key| {
            let defaults = key.get_default_values();
            let default = defaults
                .first()
                .map_or(String::new(), |value| format!("={}", value.to_string_lossy()));
            let help = key.get_help().map(ToString::to_string).unwrap_or_default();
            let japanese = option_help::key_in_japanese(&help).filter(|_| is_japanese);
            let help = japanese.map_or(help, str::to_owned);
            Some((format!("{}{default}", key.get_long()?), help))
        })
        .collect();
    let width = named.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = say!(KEYS_AND_DEFAULTS) + "\n";
    for (name, help) in named {
        let lines = escape::wrapped(&help, COLUMNS - width - 4);
        let indent = format!("\n{:1$}", "", width + 4);
        let _ = writeln!(text, "  {name:width$}  {}", lines.join(&indent));
    }
    text + "\n" + examples
}

/// The keys that were typed for a verb that has them.
pub(crate) fn typed(matches: &ArgMatches) -> impl Iterator<Item = &str> {
    let words = matches.try_get_many::<String>("set").ok().flatten();
    words.into_iter().flatten().filter_map(|word| word.split_once('=')).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser, Debug)]
    #[command(rename_all = "snake_case", disable_help_flag = true)]
    struct Sample {
        /// How deep
        #[arg(long, default_value_t = 4, value_parser = crate::bounds::within::<u32>(1..=256))]
        queue_depth: u32,
        /// Which way
        #[arg(long, value_parser = ["buffered", "direct"])]
        image_io: Option<String>,
    }

    #[derive(Parser, Debug)]
    struct Verb {
        #[command(flatten)]
        keys: Keys<Sample>,
    }

    fn read(words: &[&str]) -> Result<Verb, String> {
        Verb::try_parse_from(std::iter::once(&"verb").chain(words))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn keys_are_read_the_last_of_equals_counts_and_what_is_none_is_refused_with_those_there_are() {
        let verb = read(&["-s", "queue_depth=2", "--set", "queue_depth=8"]).unwrap();
        assert_eq!((verb.keys.queue_depth, verb.keys.image_io.as_deref()), (8, None));
        assert_eq!(read(&[]).unwrap().keys.queue_depth, 4);
        for (word, expected) in [
            ("queue_depth=0", "-s queue_depth=0: 0 is not in 1..=256"),
            ("image_io=fast", "-s image_io=fast: image_io is one of buffered, direct"),
            ("depth=2", "-s depth=2: KEY=VALUE, of the keys queue_depth, image_io"),
            ("queue_depth", "-s queue_depth: KEY=VALUE, of the keys queue_depth, image_io"),
            ("help=1", "-s help=1: KEY=VALUE"),
        ] {
            let refusal = read(&["-s", word]).unwrap_err();
            assert!(refusal.contains(expected), "{word}: {refusal}");
        }
        let text = help::<Sample>("Examples: none");
        assert!(text.contains("  queue_depth=4  How deep\n  image_io       Which way\n"), "{text}");
    }
}
