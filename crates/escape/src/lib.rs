//! Text from strangers on its way out: names from plans, superblocks and file systems must not
//! steer what shows them.
//!
//! ```text
//!   a value within a line   line, Lines            nothing of it ends the line or is unseen
//!   a value that is echoed  echo                   the same, and of a long one the beginning
//!   a whole text            text, Painted          the last thing before a terminal, a file or a page: [`out`] and [`err`] do it by themselves
//!   rows of values          columns                aligned, each value within its line
//!   a format of its own     csv, markdown, json, markup
//! ```
//!
//! What a reader would not see is shown as Rust writes it, `\u{1b}`: a name stays recognisable, and
//! nothing is lost. All of these may be applied again to what they gave. Everything that the
//! program prints goes through [`out`] or [`err`]; `cargo xtask tidy` finds what does not.

#![allow(clippy::disallowed_methods, reason = "what all others print goes through it")]

mod columns;

use std::borrow::Cow;
use std::fmt::{Arguments, Write as _};
use std::io;

pub use columns::{columns, padded, width, words, wrapped};

/// Whether a character is seen as itself: no control, no change of the direction of writing,
/// nothing without width.
fn is_seen(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\u{2028}' | '\u{2029}' => false,
        // Spaces that do not break a line stand in our own figures.
        _ if character.is_whitespace() => !character.is_control(),
        // The standard library knows; in front of a letter it lets marks pass that combine with it.
        _ => {
            let mut pair = [0; 5];
            pair[0] = b'a';
            let length = character.encode_utf8(&mut pair[1..]).len();
            std::str::from_utf8(&pair[..=length])
                .is_ok_and(|pair| pair.escape_debug().eq(pair.chars()))
        }
    }
}

fn shown(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let stays = |character: char| is_seen(character) || keeps(character);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if stays(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_debug());
        }
    }
    Cow::Owned(shown)
}

/// A value that stands within a line: what is not seen is escaped, ends of lines and tabs too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// A word of more letters is echoed in part only, and so is a value of more in all.
const WORD_MAX: usize = 200;
const ECHO_MAX: usize = 1000;
/// What is shown of these.
const ECHO_SHOWN: usize = 80;

/// A value that is echoed: within a line, and of what no line has room for the beginning.
#[must_use]
pub fn echo(value: &str) -> Cow<'_, str> {
    let is_long = |text: &str, most: usize| text.chars().nth(most).is_some();
    if !is_long(value, ECHO_MAX) && !value.split(' ').any(|word| is_long(word, WORD_MAX)) {
        return line(value);
    }
    let beginning: String = value.chars().take(ECHO_SHOWN).collect();
    Cow::Owned(format!("{}…", line(&beginning)))
}

/// A whole text: only ends of lines and tabs stay beside what is seen.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    shown(text, |character| matches!(character, '\n' | '\t'))
}

/// Colours and weights of a terminal, as ANSI has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Bold.
    Bold,
    /// Bold and red.
    Alarm,
    /// Green.
    Green,
    /// Red.
    Red,
    /// Yellow.
    Yellow,
}

const PLAIN: &str = "\x1b[0m";

impl Paint {
    fn sequence(self) -> &'static str {
        match self {
            Paint::Bold => "\x1b[1m",
            Paint::Alarm => "\x1b[1;31m",
            Paint::Green => "\x1b[32m",
            Paint::Red => "\x1b[31m",
            Paint::Yellow => "\x1b[33m",
        }
    }
}

/// A text for a terminal, with colour of ours in it. All that is put in is escaped, whatever it
/// looks like: colour is what was put in as that, and nothing else is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText(String);

impl StyledText {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> StyledText {
        StyledText::default()
    }

    /// A value within a line, in a colour.
    #[must_use]
    pub fn of(paint: Paint, value: &str) -> StyledText {
        StyledText(format!("{}{}{PLAIN}", paint.sequence(), line(value)))
    }

    /// The same with a text behind it, which is without colour.
    #[must_use]
    pub fn and(mut self, whole: &str) -> StyledText {
        self.0 += &text(whole);
        self
    }

    /// The same with another behind it.
    #[must_use]
    pub fn with(mut self, other: &StyledText) -> StyledText {
        self.0 += &other.0;
        self
    }
}

impl From<&str> for StyledText {
    fn from(whole: &str) -> StyledText {
        StyledText::new().and(whole)
    }
}

impl From<&String> for StyledText {
    fn from(whole: &String) -> StyledText {
        StyledText::from(whole.as_str())
    }
}

/// As it is written to a terminal.
impl std::ops::Deref for StyledText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for StyledText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lines for people. What is put into one cannot make another.
#[derive(Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// None yet.
    #[must_use]
    pub fn new() -> Lines {
        Lines::default()
    }

    /// Adds one line, without the spaces at its end; the macro [`add!`] takes what `format!` takes.
    pub fn add(&mut self, arguments: Arguments<'_>) {
        let whole = arguments.to_string();
        self.0 += line(&whole).trim_end();
        self.0.push('\n');
    }

    /// Adds lines that were made so elsewhere.
    pub fn append(&mut self, lines: &Lines) {
        self.0 += &lines.0;
    }

    /// The text, each line ended by `\n`.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Adds one line to [`Lines`], with what `format!` takes.
#[macro_export]
macro_rules! add {
    ($lines:expr, $($arguments:tt)*) => { $lines.add(::std::format_args!($($arguments)*)) };
}

/// A field of a CSV file that is text: quoted as RFC 4180 has it, in one line, and no formula.
///
/// Spreadsheets run a cell that begins with `=`, `+`, `-`, `@` or their wide forms; where the list
/// separator is not the comma, what follows a `;` is a cell as well. An apostrophe before these
/// makes them text. Figures of our own do not go through here.
#[must_use]
pub fn csv(field: &str) -> String {
    let field = line(field);
    let mut safe = String::with_capacity(field.len() + 2);
    let mut begins = true;
    for character in field.chars() {
        if begins && matches!(character, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠') {
            safe.push('\'');
        }
        begins = match character {
            ';' => true,
            '"' => begins,
            character => begins && character.is_whitespace(),
        };
        safe.push(character);
    }
    if safe.contains([',', '"', ';']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

/// A word of a POSIX shell, in single quotes unless it needs none.
#[must_use]
pub fn shell(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+%@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A value within Markdown: what Markdown or HTML in it would mean is taken away.
#[must_use]
pub fn markdown(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in line(value).chars() {
        match character {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                escaped.extend(['\\', character]);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A value within HTML or SVG that no template escapes.
#[must_use]
pub fn markup(value: &str) -> String {
    line(value)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A JSON document: the same values, with what a terminal would obey written as `\u009b`. Within
/// strings only: JSON has no such characters elsewhere.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    let stays = |character: char| is_seen(character) || character == '\n';
    if document.chars().all(stays) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len() + 16);
    for character in document.chars() {
        if stays(character) {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// Writes to standard output what has been through one of the functions above.
fn write(mut stream: impl io::Write, escaped: &str) -> io::Result<()> {
    stream.write_all(escaped.as_bytes())?;
    stream.flush()
}

/// Writes a text to standard output.
///
/// # Errors
/// What the system says, a reader that has gone away too.
pub fn out(whole: &str) -> io::Result<()> {
    write(io::stdout().lock(), &text(whole))
}

/// Writes a text with colour of ours to standard output.
///
/// # Errors
/// As [`out`].
pub fn out_painted(whole: &StyledText) -> io::Result<()> {
    write(io::stdout().lock(), whole)
}

/// Writes a file's content to standard output as it is: what was asked for is the file, made by
/// [`csv`] and its like, for a pipe.
///
/// # Errors
/// As [`out`].
pub fn out_file(content: &str) -> io::Result<()> {
    write(io::stdout().lock(), content)
}

/// Writes one message to standard error. Its first line begins as the message does; a further one
/// that does not begin with a space is put in, so that no name with an end of line in it can look
/// like another message.
pub fn err(message: &str) {
    err_from(&StyledText::new(), message);
}

/// The same behind what says whose message it is.
pub fn err_from(label: &StyledText, message: &str) {
    let mut lines = message.trim_end().split('\n');
    let mut whole = label.clone().and(lines.next().unwrap_or_default());
    for further in lines {
        let is_apart = further.starts_with(' ') || further.is_empty();
        whole = whole.and(if is_apart { "\n" } else { "\n  " }).and(further);
    }
    // There is no other place for a message when standard error is gone.
    let _ = write(io::stderr().lock(), &whole.and("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_and_what_is_read_stays() {
        let hostile = "a\x1b[2J\u{9b}31m\x07\x7f\r\u{202e}\u{200b}\u{2028}\u{feff}\u{e0041}b";
        let shown = r"a\u{1b}[2J\u{9b}31m\u{7}\u{7f}\r\u{202e}\u{200b}\u{2028}\u{feff}\u{e0041}b";
        assert_eq!(line(hostile), shown);
        assert_eq!(text(&format!("{hostile}\n\t{hostile}")), format!("{shown}\n\t{shown}"));
        for kept in [
            "raid0 64\u{202f}KiB 1.86\u{2007}",
            "naïve cafe\u{301} 東京 デ\u{3099} \"it's\" C:\\x ●├─┤…",
            "",
        ] {
            assert!(matches!(line(kept), Cow::Borrowed(same) if same == kept), "{kept}");
        }
        assert_eq!(line(&line(hostile)), shown, "once more changes nothing");
    }

    #[test]
    fn of_what_is_long_the_beginning_is_echoed() {
        for kept in ["a.img", &"a".repeat(200), &"raid0, ".repeat(100)] {
            assert_eq!(echo(kept), *kept);
        }
        let shown = format!("{}…", "値".repeat(80));
        assert_eq!(echo(&"値".repeat(201)), shown);
        assert_eq!(echo(&"ab ".repeat(400)).chars().count(), 81);
        assert_eq!(echo("a\nb"), r"a\nb");
        assert_eq!(echo(&echo(&"値".repeat(201))), shown, "once more changes nothing");
    }

    #[test]
    fn no_value_makes_a_line_of_its_own() {
        let mut lines = Lines::new();
        add!(lines, "name: {}", "tank\nstate: clean");
        add!(lines, "size: {}  ", 3);
        assert_eq!(lines.into_text(), "name: tank\\nstate: clean\nsize: 3\n");
    }

    #[test]
    fn colour_is_what_was_put_in_as_that_and_nothing_else() {
        let hostile = "\x1b[31ma\x1b[0m\x1b[1mb";
        let shown = "\\u{1b}[31ma\\u{1b}[0m\\u{1b}[1mb";
        let red = StyledText::of(Paint::Red, hostile);
        assert_eq!(&*red, format!("\x1b[31m{shown}\x1b[0m"));
        assert_eq!(&*StyledText::from(hostile), shown);
        assert_eq!(&*red.clone().and(hostile).with(&red), format!("{red}{shown}{red}"));
        assert_eq!(&*StyledText::new().and("two\nlines\x07"), "two\nlines\\u{7}");
    }

    #[test]
    fn a_field_is_quoted_and_no_formula() {
        for (field, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("two\nlines", "two\\nlines"),
            ("", ""),
            ("64KiB-1", "64KiB-1"),
            ("=1+1", "'=1+1"),
            ("-1", "'-1"),
            ("\t@x", "\\t@x"),
            (" +x", " '+x"),
            ("\"=x\"", "\"\"\"'=x\"\"\""),
            ("＝x", "'＝x"),
            ("a; =b", "\"a; '=b\""),
        ] {
            assert_eq!(csv(field), written, "{field:?}");
        }
    }

    #[test]
    fn foreign_text_stays_text_in_markdown_and_markup() {
        assert_eq!(
            markdown("a|b <script> *x* [y](z)\n# c\x1b"),
            r"a\|b &lt;script&gt; \*x\* \[y\](z)\\n\# c\\u{1b}"
        );
        assert_eq!(markup("a<b>&\"c\"\x1b"), "a&lt;b&gt;&amp;&quot;c&quot;\\u{1b}");
    }

    #[test]
    fn a_document_says_the_same_in_other_characters() {
        assert_eq!(
            json("{\n  \"a\": \"\u{9b}\u{202e}\u{e0041}é\"\n}"),
            "{\n  \"a\": \"\\u009b\\u202e\\udb40\\udc41é\"\n}"
        );
    }

    #[test]
    fn words_reach_a_program_as_they_are() {
        assert_eq!(["a-b", "", "a b", "it's"].map(shell), ["a-b", "''", "'a b'", r"'it'\''s'"]);
    }
}
