//! The options of one layer or leaf, held against the table.

use std::str::FromStr;

use block::{Error, ErrorKind};
use words::statement;

use crate::messages;
use crate::table::{self, OptionRow, Problem};

/// The checked options of one layer or leaf.
pub(crate) struct Settings<'a> {
    given: &'a [(String, String)],
}

impl<'a> Settings<'a> {
    /// Options that the table has for it, each at most once and with a value that it takes.
    pub(crate) fn check(
        of: &str,
        known: &'static [OptionRow],
        given: &'a [(String, String)],
    ) -> Result<Settings<'a>, Error> {
        for (number, (name, value)) in given.iter().enumerate() {
            let row = table::option(of, known, name)
                .map_err(|problem| refusal(&format!("{of}: {name}"), &problem))?;
            row.takes
                .check(value)
                .map_err(|problem| refusal(&format!("{of}: {name}={value}"), &problem))?;
            if given[..number].iter().any(|(earlier, _)| earlier == name) {
                let twice = statement!(messages::OPTION_TWICE, name = name);
                return Err(Error::new(ErrorKind::Invalid, twice).at(of));
            }
        }
        Ok(Settings { given })
    }

    /// Options that were checked with the tree that they stand in.
    pub(crate) fn checked(given: &'a [(String, String)]) -> Settings<'a> {
        Settings { given }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.given.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error> {
        let wrong = |value: &str| {
            let setting = format!("{name}={value}");
            Error::new(ErrorKind::Invalid, statement!(messages::OTHER_NUMBER, setting = setting))
        };
        self.get(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }
}

/// What is said where the table has no such thing.
pub(crate) fn refusal(place: &str, problem: &Problem) -> Error {
    let text = statement!(messages::EXPECTED_HERE, expected = &problem.expected);
    Error::new(ErrorKind::Invalid, problem.with_hint(text)).at(place)
}
