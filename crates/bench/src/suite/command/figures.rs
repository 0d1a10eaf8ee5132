//! Figures from what a program says: which are wanted, in words, and how each is found.
//!
//! ```text
//!   pgbench                                                     a format that is known
//!   commit_seconds lower in ms regex average = ([0-9.]+)        the last match, its first group
//!   mail_per_second json $.jobs[0].rate                         one number of a JSON document
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use regex_lite::Regex;
use results::{BetterDirection, better_of};
use serde_json::Value;
use words::{Text, statement};

use super::formats::{self, OutputFormat};
use crate::suite::catalogue;
use crate::suite::program::{Output, number};

/// Units that a program may print, and what they are in base units.
const UNITS: [(&str, f64); 12] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("%", 0.01),
    ("bit", 0.125),
];

/// One line of what is wanted.
enum Entry {
    Format(&'static OutputFormat),
    Own(OwnFigure),
}

/// A figure of the user's own.
struct OwnFigure {
    name: String,
    better: BetterDirection,
    factor: f64,
    source: Source,
}

enum Source {
    /// A JSON pointer (RFC 6901).
    Json(String),
    Regex(Regex),
}

/// A figure that is a row of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// The row's name.
    pub(super) row: String,
    /// The metric that it is judged by.
    pub(super) metric: String,
    /// Which direction of it is better.
    pub(super) better: BetterDirection,
}

/// All figures that are wanted.
pub(super) struct FigureList(Vec<Entry>);

impl FigureList {
    /// What a text asks for, a line each.
    ///
    /// # Errors
    /// The line, what is wrong with it, and what is expected.
    pub(super) fn parse(text: &str) -> Result<FigureList, Text> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let entry = |line| entry(line).map_err(|text| text.at(format!("`{line}`")));
        let wanted = FigureList(lines.map(entry).collect::<Result<_, Text>>()?);
        let rows = wanted.rows();
        for (index, figure) in rows.iter().enumerate() {
            let same = |other: &&Figure| other.row == figure.row || other.metric == figure.metric;
            if rows[..index].iter().any(|other| same(&other)) {
                return Err(statement!(catalogue::TWO_FIGURES, row = &figure.row));
            }
        }
        Ok(wanted)
    }

    /// The rows that they are.
    pub(super) fn rows(&self) -> Vec<Figure> {
        let of = |entry: &Entry| match entry {
            Entry::Format(format) => Figure {
                row: format.row.to_owned(),
                metric: format.metric.to_owned(),
                better: BetterDirection::Higher,
            },
            Entry::Own(own) => {
                Figure { row: spoken(&own.name), metric: own.name.clone(), better: own.better }
            }
        };
        self.0.iter().map(of).collect()
    }

    /// All figures of what a program said in the time it took, name to value.
    ///
    /// # Errors
    /// Which figure is not there, or is no number.
    pub(super) fn read(
        &self,
        output: &Output,
        elapsed: Duration,
    ) -> Result<BTreeMap<String, f64>, Text> {
        let mut figures = BTreeMap::new();
        for entry in &self.0 {
            match entry {
                Entry::Format(format) => figures.extend((format.read)(output, elapsed)?),
                Entry::Own(own) => {
                    let figure = own.read(output)?;
                    figures.insert(own.name.clone(), figure);
                }
            }
        }
        Ok(figures)
    }
}

/// A metric's name as the name of a row.
fn spoken(name: &str) -> String {
    let endings = ["_bytes_per_second", "_per_second", "_seconds", "_bytes", "_count", "_ratio"];
    let bare = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    bare.replace('_', " ")
}

fn entry(line: &str) -> Result<Entry, Text> {
    let (name, mut rest) = word(line);
    if rest.is_empty() {
        let format = formats::find(name)
            .ok_or_else(|| statement!(catalogue::NO_FIGURE_FORMAT, names = formats::names()))?;
        return Ok(Entry::Format(format));
    }
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase())
        || !name.chars().all(|letter| is_plain(letter) || letter == '_')
    {
        return Err(statement!(catalogue::NO_FIGURE_NAME, name = name));
    }
    let mut better = match name {
        _ if name.ends_with("_per_second") => Some(BetterDirection::Higher),
        _ if name.ends_with("_seconds") => Some(BetterDirection::Lower),
        _ => better_of(name),
    };
    let mut factor = 1.0;
    loop {
        let (found, after) = word(rest);
        match found {
            "lower" => better = Some(BetterDirection::Lower),
            "higher" => better = Some(BetterDirection::Higher),
            "in" => {
                let (unit, after) = word(after);
                let known = UNITS.iter().find(|(known, _)| *known == unit);
                let names = || UNITS.map(|(name, _)| name).join(", ");
                factor = known
                    .ok_or_else(|| {
                        statement!(catalogue::FIGURE_UNIT, unit = unit, names = names())
                    })?
                    .1;
                rest = after;
                continue;
            }
            "json" | "regex" if after.is_empty() => {
                return Err(statement!(catalogue::NOTHING_BEHIND, found = found));
            }
            "json" | "regex" => {
                let better = better.ok_or(catalogue::SAY_WHICH_IS_BETTER)?;
                let source = if found == "json" {
                    Source::Json(pointer(after)?)
                } else {
                    Source::Regex(
                        Regex::new(after).map_err(|error| Text::verbatim(&error).at("regex"))?,
                    )
                };
                return Ok(Entry::Own(OwnFigure { name: name.to_owned(), better, factor, source }));
            }
            _ => {
                return Err(statement!(catalogue::FIGURE_WORD, found = found));
            }
        }
        rest = after;
    }
}

/// The first word of a text, and the rest.
fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// A path in a JSON document as a pointer: `$.jobs[0].read.iops` is `/jobs/0/read/iops`.
fn pointer(text: &str) -> Result<String, Text> {
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    let bad = || statement!(catalogue::JSON_PATH, text = text);
    let mut rest = text.strip_prefix('$').ok_or_else(bad)?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let part;
        (part, rest) = if let Some(inside) = rest.strip_prefix('[') {
            let (inside, after) = inside.split_once(']').ok_or_else(bad)?;
            let name = ['\'', '"'].iter().find_map(|quote| {
                inside.strip_prefix(*quote).and_then(|inside| inside.strip_suffix(*quote))
            });
            let is_number = inside.chars().all(|letter| letter.is_ascii_digit());
            (name.or(is_number.then_some(inside)).ok_or_else(bad)?, after)
        } else {
            let name = rest.strip_prefix('.').ok_or_else(bad)?;
            name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
        };
        if part.is_empty() || part == "*" {
            return Err(bad());
        }
        pointer += "/";
        pointer += &part.replace('~', "~0").replace('/', "~1");
    }
    Ok(pointer)
}

impl OwnFigure {
    fn read(&self, output: &Output) -> Result<f64, Text> {
        let found: Cow<'_, str> = match &self.source {
            Source::Json(pointer) => {
                let document = output.json()?;
                match document.pointer(pointer) {
                    Some(Value::Number(number)) => number.to_string().into(),
                    Some(Value::String(text)) => text.clone().into(),
                    Some(_) => {
                        return Err(statement!(
                            catalogue::POINTER_NO_NUMBER,
                            name = &self.name,
                            pointer = pointer
                        ));
                    }
                    None => {
                        return Err(statement!(
                            catalogue::POINTER_MISSING,
                            name = &self.name,
                            pointer = pointer
                        ));
                    }
                }
            }
            Source::Regex(regex) => {
                let last = |text| regex.captures_iter(text).last();
                let matched = last(&output.out).or_else(|| last(&output.err));
                let matched = matched.ok_or_else(|| {
                    statement!(
                        catalogue::NOTHING_MATCHES,
                        name = &self.name,
                        expression = regex.as_str()
                    )
                })?;
                let group = matched.get(1).or_else(|| matched.get(0));
                group.map_or("", |group| group.as_str()).into()
            }
        };
        let figure = number(&found).map_err(|text| text.at(&self.name))?;
        Ok(figure * self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(out: &str) -> Output {
        Output { out: out.to_owned(), err: String::new() }
    }

    fn error(text: &str) -> String {
        let error = FigureList::parse(text).err();
        error.unwrap_or_else(|| panic!("{text} is taken")).to_string()
    }

    #[test]
    fn figures_are_found_by_path_and_by_expression() {
        let wanted = FigureList::parse(
            "commit_seconds in ms regex average = ([0-9.,]+)\n\
            mail_per_second json $.jobs[0]['a/b'].rate\n\
            waste higher json /jobs/0/waste\n",
        )
        .unwrap();
        let output = said(
            "average = 9\naverage = 1,250.5 ms\n{ \"jobs\": [{ \"a/b\": { \"rate\": 12 }, \
            \"waste\": \"0.5\" }] }\nbye\n",
        );
        let figures = wanted.read(&output, Duration::ZERO).unwrap();
        let expected = [("commit_seconds", 1.2505), ("mail_per_second", 12.0), ("waste", 0.5)];
        assert_eq!(figures, expected.map(|(name, figure)| (name.to_owned(), figure)).into());
        let rows: Vec<_> = wanted.rows().into_iter().map(|row| (row.row, row.better)).collect();
        let (lower, higher) = (BetterDirection::Lower, BetterDirection::Higher);
        let expected = [("commit", lower), ("mail", higher), ("waste", higher)];
        assert_eq!(rows, expected.map(|(name, better)| (name.to_owned(), better)));
    }

    #[test]
    fn what_is_not_there_is_no_figure() {
        for (wanted, output, words) in [
            ("a_seconds regex ms ([0-9]+)", "ms none", "nothing in its output matches"),
            ("a_seconds regex ms (.*)", "ms none", "`none` is no number"),
            ("a_seconds regex ms (.*)", "ms nan", "`nan` is no number"),
            ("a_seconds json $.a", "no", "no JSON"),
            ("a_seconds json $.a", "{ \"b\": 1 }", "/a is not in its output"),
            ("a_seconds json $.a", "{ \"a\": {} }", "/a is no number"),
        ] {
            let wanted = FigureList::parse(wanted).unwrap();
            let error = wanted.read(&said(output), Duration::ZERO).unwrap_err().to_string();
            assert!(error.contains(words), "{output}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_asked_for_is_said() {
        for (text, words) in [
            ("hyperfine", "there are pgbench, sysbench, dd, rsync, fio, or NAME"),
            ("Rate json $.a", "is no name of a figure"),
            ("waste json $.a", "say `lower` or `higher`"),
            ("a_seconds in h json $.a", "unit `h`: expected ns, us"),
            ("a_seconds jsno $.a", "`jsno`: expected lower"),
            ("a_seconds json", "nothing behind `json`"),
            ("a_seconds json a.b", "expected a path such as"),
            ("a_seconds json $.a[*]", "expected a path such as"),
            ("a_seconds regex (", "regex: "),
            ("a_seconds json $.a\na_seconds json $.b", "two figures are called `a`"),
            ("pgbench\npgbench", "two figures are called `transactions`"),
        ] {
            assert!(error(text).contains(words), "{text}: {}", error(text));
        }
    }
}
