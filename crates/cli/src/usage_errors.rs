//! What is wrong with a command line, in Japanese. In English clap says it.

use std::error::Error as _;

use clap::error::{ContextKind, Error, ErrorKind};
use words::{Language, in_language};

use crate::bounds;
use crate::catalogue::say;

/// The error with the command's usage; `None` where clap alone has words for it.
pub(crate) fn in_japanese(error: &Error) -> Option<String> {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let line = in_language(Language::Japanese, || line(error, &text))?;
    let usage = text(ContextKind::Usage).unwrap_or_default();
    let usage = usage.trim().replacen("Usage:", "使い方:", 1);
    Some(format!("{line}\n\n{usage}").trim_end().to_owned())
}

fn line(error: &Error, text: &dyn Fn(ContextKind) -> Option<String>) -> Option<String> {
    let argument = text(ContextKind::InvalidArg);
    let value = text(ContextKind::InvalidValue).filter(|value| !value.is_empty());
    let line = match error.kind() {
        ErrorKind::UnknownArgument => say!(UNKNOWN_ARGUMENT, argument = argument?),
        ErrorKind::MissingRequiredArgument => say!(ARGUMENT_MISSING, arguments = argument?),
        ErrorKind::InvalidValue => match (value, text(ContextKind::ValidValue)) {
            (None, _) => say!(VALUE_MISSING, argument = argument?),
            (Some(value), None) => say!(VALUE_REFUSED, argument = argument?, value = value),
            (Some(value), Some(known)) => {
                say!(VALUE_OF_THESE, argument = argument?, value = value, known = known)
            }
        },
        ErrorKind::ValueValidation => {
            let (argument, source) = (argument?, error.source()?);
            // The standard library says it in English alone.
            let why = match source.downcast_ref() {
                Some(error) => bounds::no_number(error).template().to_owned(),
                None => source.to_string(),
            };
            say!(VALUE_WRONG, argument = argument, value = value.unwrap_or_default(), why = why)
        }
        ErrorKind::ArgumentConflict => {
            let other =
                text(ContextKind::PriorArg).filter(|other| Some(other) != argument.as_ref());
            match other {
                Some(other) => say!(ARGUMENTS_CONFLICT, argument = argument?, other = other),
                None => say!(ARGUMENT_TWICE, argument = argument?),
            }
        }
        ErrorKind::InvalidSubcommand => {
            say!(UNKNOWN_VERB, name = text(ContextKind::InvalidSubcommand)?)
        }
        _ => return None,
    };
    let near = text(ContextKind::SuggestedArg).or_else(|| text(ContextKind::SuggestedValue));
    let near = near.or_else(|| text(ContextKind::SuggestedSubcommand));
    let near = near.filter(|near| !near.is_empty());
    Some(line + &near.map_or(String::new(), |near| say!(NEAREST_WORD, name = near)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_command_line_is_said_in_japanese() {
        for (typed, expected) in [
            ("run --planted x", "`--planted` という引数は使えません"),
            ("run --unti decided", "`--until` のことですか?"),
            ("compare first", "必要な引数がありません: <SECOND>"),
            ("report --full", "必要な引数がありません: <RUN>"),
            (
                "run x --until never",
                "`--until <WHAT>` の値 `never` は使えません。使える値: decided",
            ),
            ("run x --until", "`--until <WHAT>` には値が必要です"),
            (
                "bench devtest x --runs many",
                "`--runs <N>` の値 `many` は使えません: 整数ではありません",
            ),
            ("bench devtest x --seed 1 --seed 2", "`--seed <N>` は 1 回だけ指定できます"),
            ("planted", "`planted` というコマンドはありません"),
        ] {
            let words = std::iter::once("raidloom").chain(typed.split(' '));
            let error = crate::arguments::Arguments::command().try_get_matches_from(words);
            let error = error.expect_err(typed);
            let said = in_japanese(&error).unwrap_or_else(|| panic!("{typed}: {error}"));
            assert!(said.contains(expected), "{typed}: {said}");
            // Of some of them clap does not say how the command is used.
            assert!(!said.contains("Usage"), "{typed}: {said}");
        }
        let help = crate::arguments::Arguments::command().try_get_matches_from(["raidloom", "-h"]);
        assert_eq!(in_japanese(&help.expect_err("it shows the help")), None);
    }
}
