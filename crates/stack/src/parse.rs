//! Stack text to a tree.
//!
//! ```text
//!   device  = "missing" | layer | leaf | path
//!   layer   = NAME "(" item { "," item } ")"        item = NAME "=" value | device
//!   leaf    = NAME ":" address [ "?" NAME "=" value { "&" NAME "=" value } ]
//!   address, value, path = letters without , ( ) " and white space (address and path: without ?; a leaf's value:
//!                          without &), or "quoted" with \" and \\, and \xNN for a byte that is not UTF-8
//! ```
//!
//! Printing a [`Node`] is the way back.

use std::fmt;

use block::{Error, ErrorKind, Node, letter_of_byte};
use words::{Message, Text, statement};

use crate::messages;
use crate::table::{self, OptionRow, Problem};

/// Deeper stacks are refused, before they exhaust ours.
const DEPTH_MAX: u32 = 64;

/// So many letters of the text's line are drawn, and so many of them before what is wrong: of a
/// longer one no screen would show the place.
const DRAWN_MAX: usize = 160;
const DRAWN_BEFORE: usize = 60;

/// What is wrong with a stack text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The whole text.
    pub text: String,
    /// The byte at which it goes wrong, counted from 0.
    pub position: usize,
    /// What stands there.
    pub found: String,
    /// What should have stood there, and a further help.
    pub problem: Problem,
}

impl ParseError {
    /// It in one line, with the text.
    #[must_use]
    pub fn line(&self) -> Text {
        let (text, position) = (escape::echo(&self.text), self.position);
        self.what().at(statement!(messages::AT_BYTE_OF, text = text, position = position))
    }

    /// It, and the text's line with carets under what was found.
    #[must_use]
    pub fn drawn(&self) -> Text {
        let place = statement!(messages::AT_BYTE, position = self.position);
        self.what().at(place).and(self.drawing())
    }

    /// What was found and what was expected.
    fn what(&self) -> Text {
        let expected = &self.problem.expected;
        self.problem.with_hint(match self.found.as_str() {
            "" => statement!(messages::ENDS_INSTEAD, expected = expected),
            found => {
                let found = escape::echo(found);
                statement!(messages::FOUND_INSTEAD, found = found, expected = expected)
            }
        })
    }

    /// The text's line, with carets under what was found.
    fn drawing(&self) -> String {
        let line_start = self.text[..self.position].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let place = self.text[line_start..self.position].chars().count();
        let length = line.chars().count();
        let first = if length > DRAWN_MAX { place.saturating_sub(DRAWN_BEFORE) } else { 0 };
        let end = length.min(first + DRAWN_MAX);
        let drawn: String = line.chars().skip(first).take(end - first).collect();
        let [left, right] = [first > 0, end < length].map(|is_cut| if is_cut { "…" } else { "" });
        let before = place - first + left.chars().count();
        let carets = self.found.chars().count().min(end.saturating_sub(place)).max(1);
        let drawn = drawn.replace('\t', " ");
        format!("\n  {left}{drawn}{right}\n  {:before$}{:^<carets$}", "", "")
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.drawn())
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Error {
        let text = error.drawn();
        Error::with_source(ErrorKind::Invalid, "", error).retold(text)
    }
}

/// Reads a stack text.
///
/// # Errors
/// The first thing that is wrong, with its place: the notation, an unknown name, or a value that
/// its option does not take.
pub fn parse(text: &str) -> Result<Node, ParseError> {
    let mut parser = Parser { text, position: 0, depth: 0 };
    let node = parser.device(messages::A_DEVICE)?;
    parser.skip_space();
    if parser.position < text.len() {
        return Err(parser.unexpected(messages::END_OF_TEXT, parser.quoting_hint()));
    }
    Ok(node)
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: u32,
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n')
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+')
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, letter: char) -> bool {
        let there = self.peek() == Some(letter);
        if there {
            self.position += letter.len_utf8();
        }
        there
    }

    fn skip_space(&mut self) {
        self.position += self.rest().len() - self.rest().trim_start_matches(is_space).len();
    }

    /// The longest run of letters that fit.
    fn run(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let run = &rest[..rest.find(|letter| !fits(letter)).unwrap_or(rest.len())];
        self.position += run.len();
        run
    }

    fn error(&self, position: usize, found: &str, problem: Problem) -> ParseError {
        ParseError { text: self.text.to_owned(), position, found: found.to_owned(), problem }
    }

    /// An error about what stands here: a word, or one letter.
    fn unexpected(&self, expected: impl Into<Text>, hint: Option<Text>) -> ParseError {
        let rest = self.rest();
        let word =
            rest.find(|letter: char| !is_name(letter) && letter != '.').unwrap_or(rest.len());
        let end = if word > 0 { word } else { self.peek().map_or(0, char::len_utf8) };
        self.error(self.position, &rest[..end], Problem { expected: expected.into(), hint })
    }

    /// Something follows an address or value without a comma: probably it belongs to it.
    fn quoting_hint(&self) -> Option<Text> {
        let before = self.text[..self.position].chars().next_back();
        let after_a_word = before.is_some_and(|letter| !matches!(letter, '(' | ')' | ','));
        (after_a_word && !self.rest().is_empty()).then(|| messages::QUOTE_ADDRESS.into())
    }

    fn device(&mut self, expected: Message) -> Result<Node, ParseError> {
        self.skip_space();
        let start = self.position;
        let name = self.run(is_name);
        match self.peek() {
            Some('(') if !name.is_empty() => {
                let row = table::layer(name).map_err(|mut problem| {
                    problem.hint.get_or_insert_with(|| messages::QUOTE_PATH.into());
                    self.error(start, name, problem)
                })?;
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    let expected = statement!(messages::LAYERS_MAX, most = DEPTH_MAX);
                    return Err(self.error(start, name, Problem::of(expected)));
                }
                let node = self.layer(row, start)?;
                self.depth -= 1;
                Ok(node)
            }
            Some(':') if !name.is_empty() => {
                let row = table::leaf(name).map_err(|mut problem| {
                    problem.hint.get_or_insert_with(|| {
                        let spelling = format!("file:{name}:...");
                        statement!(messages::FILE_OF_NAME, spelling = spelling)
                    });
                    self.error(start, name, problem)
                })?;
                self.take(':');
                self.leaf(row)
            }
            _ => {
                self.position = start;
                self.bare_path(expected)
            }
        }
    }

    fn bare_path(&mut self, expected: Message) -> Result<Node, ParseError> {
        let start = self.position;
        let is_quoted = self.peek() == Some('"');
        let path = self.value(&['?'])?;
        if path.is_empty() && !is_quoted {
            return Err(self.unexpected(expected, None));
        }
        if path == "missing" && !is_quoted && self.peek() != Some('?') {
            return Ok(Node::Missing);
        }
        let row = table::leaf("file").expect("files are in the table");
        if !is_quoted && let Ok(named) = table::leaf(&path) {
            let address = named.address.text();
            let expected =
                statement!(messages::SCHEME_AND_ADDRESS, scheme = &path, address = address);
            let spelling = format!("./{path}");
            let hint = Some(statement!(messages::FILE_OF_NAME, spelling = spelling));
            return Err(self.error(start, &path, Problem { expected, hint }));
        }
        let options = self.leaf_options(row)?;
        row.address.check(&path).map_err(|problem| self.error(start, "\"\"", problem))?;
        Ok(Node::Leaf { scheme: row.name.to_owned(), address: path, options })
    }

    fn leaf(&mut self, row: &'static table::LeafRow) -> Result<Node, ParseError> {
        let start = self.position;
        let address = self.value(&['?'])?;
        row.address.check(&address).map_err(|problem| match address.is_empty() {
            true => self.unexpected(problem.expected, None),
            false => self.error(start, &self.text[start..self.position], problem),
        })?;
        let options = self.leaf_options(row)?;
        Ok(Node::Leaf { scheme: row.name.to_owned(), address, options })
    }

    fn leaf_options(
        &mut self,
        row: &'static table::LeafRow,
    ) -> Result<Vec<(String, String)>, ParseError> {
        let mut options = Vec::new();
        let mut more = self.take('?');
        while more {
            let start = self.position;
            let name = self.run(is_name);
            self.option(row.name, row.options, start, name, &mut options, &['&'])?;
            more = self.take('&');
        }
        Ok(options)
    }

    fn layer(&mut self, row: &'static table::LayerRow, start: usize) -> Result<Node, ParseError> {
        self.take('(');
        let (mut options, mut children) = (Vec::new(), Vec::new());
        loop {
            self.skip_space();
            let item = self.position;
            let name = self.run(is_name);
            self.skip_space();
            if self.peek() == Some('=') && !name.is_empty() {
                self.option(row.name, row.options, item, name, &mut options, &[])?;
            } else {
                self.position = item;
                let nothing_yet = options.is_empty() && children.is_empty();
                if !(nothing_yet && self.peek() == Some(')')) {
                    children.push(self.device(messages::OPTION_OR_DEVICE)?);
                }
            }
            self.skip_space();
            if self.take(')') {
                break;
            }
            if !self.take(',') {
                return Err(self.unexpected(messages::COMMA_OR_BRACKET, self.quoting_hint()));
            }
        }
        let (least, most) = row.members;
        if children.len() < least || children.len() > most {
            let (said, wanted) = match (least, most) {
                (least, most) if least == most => (messages::DEVICES_IN_IT, least),
                _ if children.len() < least => (messages::AT_LEAST_IN_IT, least),
                _ => (messages::AT_MOST_IN_IT, most),
            };
            let devices = match wanted {
                1 => messages::ONE_DEVICE.into(),
                several => statement!(messages::SEVERAL_DEVICES, count = several),
            };
            let expected = statement!(said, devices = devices, count = children.len());
            return Err(self.error(start, row.name, Problem::of(expected)));
        }
        Ok(Node::Layer { name: row.name.to_owned(), options, children })
    }

    /// `=value` after an option's name.
    fn option(
        &mut self,
        of: &str,
        known: &'static [OptionRow],
        start: usize,
        name: &str,
        options: &mut Vec<(String, String)>,
        ends: &[char],
    ) -> Result<(), ParseError> {
        if name.is_empty() {
            return Err(self.unexpected(messages::NAME_OF_OPTION, None));
        }
        let row =
            table::option(of, known, name).map_err(|problem| self.error(start, name, problem))?;
        if options.iter().any(|(given, _)| given == name) {
            let expected = statement!(messages::OPTION_ONCE, name = name);
            return Err(self.error(start, name, Problem::of(expected)));
        }
        if !self.take('=') {
            return Err(self.unexpected(statement!(messages::EQUALS_AFTER, name = name), None));
        }
        if ends.is_empty() {
            self.skip_space();
        }
        let value_start = self.position;
        let value = self.value(ends)?;
        row.takes.check(&value).map_err(|mut problem| {
            let expected = &problem.expected;
            problem.expected =
                statement!(messages::VALUE_OF_OPTION, expected = expected, name = name);
            match value.is_empty() {
                true => self.unexpected(problem.expected, None),
                false => self.error(value_start, &self.text[value_start..self.position], problem),
            }
        })?;
        options.push((name.to_owned(), value));
        Ok(())
    }

    /// A byte of a name that is not UTF-8, behind the backslash: `x` and two digits from 80 on.
    fn byte(&mut self) -> Result<char, ParseError> {
        let digits = self.text.get(self.position + 1..self.position + 3);
        match digits.map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte @ 0x80..)) => {
                self.position += 3;
                Ok(letter_of_byte(byte))
            }
            _ => Err(self.unexpected(messages::ESCAPED_BYTE, None)),
        }
    }

    /// An address or value, in quotes or up to one of the letters that end it.
    fn value(&mut self, also_ends: &[char]) -> Result<String, ParseError> {
        if self.peek() != Some('"') {
            return Ok(self
                .run(|letter| {
                    !is_space(letter)
                        && !matches!(letter, ',' | '(' | ')' | '"')
                        && !also_ends.contains(&letter)
                })
                .to_owned());
        }
        let start = self.position;
        self.take('"');
        let mut value = String::new();
        loop {
            let Some(letter) = self.peek() else {
                return Err(self.error(start, "\"", Problem::of(messages::CLOSING_QUOTE)));
            };
            self.position += letter.len_utf8();
            match letter {
                '"' => return Ok(value),
                '\\' => match self.peek() {
                    Some(escaped @ ('"' | '\\')) => {
                        self.position += 1;
                        value.push(escaped);
                    }
                    Some('x') => value.push(self.byte()?),
                    _ => return Err(self.unexpected(messages::ESCAPED_LETTER, None)),
                },
                letter => value.push(letter),
            }
        }
    }
}
