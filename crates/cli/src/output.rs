//! Where words go: results to standard output, everything else to standard error; colour and
//! progress only on a terminal.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;

use clap::Args;
use escape::{Paint, StyledText};
use serde_json::json;
use words::Text;

use crate::catalogue::{self, say};
use crate::failure::Failure;

/// The heading of flags that all verbs have.
pub(crate) const EVERY_VERB: &str = "With every verb";

/// The flags that say what is written, and how.
#[derive(Args, Debug)]
pub(crate) struct OutputArguments {
    /// Results as one JSON document on standard output
    #[arg(long, global = true, help_heading = EVERY_VERB)]
    pub json: bool,

    /// Only results and errors, no progress and no notes
    #[arg(short, long, global = true, help_heading = EVERY_VERB)]
    pub quiet: bool,

    /// No colours (also with NO_COLOR set, or TERM=dumb)
    #[arg(long, global = true, help_heading = EVERY_VERB)]
    pub no_color: bool,
}

/// A flag and its value, or a key that ends with `=` and its value, as they were typed.
pub(crate) fn said(option: &str, text: &str) -> String {
    let gap = if option.ends_with('=') { "" } else { " " };
    format!("{option}{gap}{text}")
}

/// What the user wants to see.
pub(crate) struct Output {
    /// One JSON document instead of text.
    pub json: bool,
    quiet: bool,
    no_color: bool,
}

impl Output {
    /// From the flags and the environment.
    pub(crate) fn new(arguments: &OutputArguments) -> Output {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|setting| !setting.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Output {
            json: arguments.json,
            quiet: arguments.quiet,
            no_color: arguments.no_color || plain,
        }
    }

    /// Whether results may carry colour.
    pub(crate) fn color(&self) -> bool {
        !self.no_color && std::io::stdout().is_terminal()
    }

    /// Whether progress may be drawn over and over in one place.
    pub(crate) fn animates(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Columns for results: the terminal's, or what `COLUMNS` says where there is none.
    pub(crate) fn width(&self) -> usize {
        let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0);
        size(std::io::stdout()).map(|[columns, _]| columns).or_else(said).unwrap_or(100).min(140)
    }

    /// Writes a result to standard output. A reader that has gone away (`| head`) ends the command
    /// quietly.
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        written(escape::out(&ended(text)))
    }

    /// The same of a text that carries colour of ours.
    pub(crate) fn painted(&self, text: StyledText) -> Result<(), Failure> {
        let text = if text.ends_with('\n') { text } else { text.and("\n") };
        written(escape::out_painted(&text))
    }

    /// Writes a file's content to standard output, byte for byte: a report that `-` was named for.
    pub(crate) fn file(&self, content: &str) -> Result<(), Failure> {
        written(escape::out_file(content))
    }

    /// Writes a result as one JSON document.
    pub(crate) fn document(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::failed(Text::verbatim(&error)).at(catalogue::MAKING_JSON))?;
        self.result(&escape::json(&text))
    }

    /// The bytes that the size of a flag (`--size`) or of a key (`-s tear=`) means; a unit that
    /// could mean two things is remarked on.
    pub(crate) fn size(&self, flag: &str, text: &str) -> Result<u64, Failure> {
        let size =
            stack::size::parse(text).map_err(|error| Failure::usage(error).at(said(flag, text)))?;
        size.note.iter().for_each(|note| self.note(note));
        Ok(size.bytes)
    }

    /// A remark for a person, on standard error.
    pub(crate) fn note(&self, text: &(impl Display + ?Sized)) {
        if !self.quiet {
            escape::err(&say!(NOTE, text = text));
        }
    }

    /// A line of progress, on standard error.
    pub(crate) fn progress(&self, text: &str) {
        if !self.quiet {
            match size(std::io::stderr()) {
                Some([columns, _]) => {
                    escape::wrapped(text, columns).iter().for_each(|line| escape::err(line));
                }
                None => escape::err(text),
            }
        }
    }

    /// What went wrong, on standard error: a line for a person, or with --json a document in one
    /// line, with codes and names.
    pub(crate) fn error(&self, failure: &Failure) {
        if self.json {
            let text = failure.text();
            let document = json!({ "error": {
                "exit_code": failure.exit_code(), "text": text.english(), "parts": text.parts(),
            } });
            escape::err(&escape::json(&document.to_string()));
            return;
        }
        let colored = !self.no_color && std::io::stderr().is_terminal();
        let label = "raidloom:";
        let label =
            if colored { StyledText::of(Paint::Alarm, label) } else { StyledText::from(label) };
        escape::err_from(&label.and(" "), &failure.to_string());
    }
}

/// Columns and lines of a terminal.
pub(crate) fn size(terminal: impl AsFd) -> Option<[usize; 2]> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| [size.ws_col.into(), size.ws_row.into()])
}

fn ended(text: &str) -> Cow<'_, str> {
    if text.ends_with('\n') { text.into() } else { format!("{text}\n").into() }
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::from_io(catalogue::WRITING_OUT, &error))
        }
        _ => Ok(()),
    }
}

/// Rows under a head line, columns aligned; `right` names the columns that hold figures.
pub(crate) fn table(head: &[impl AsRef<str>], rows: &[Vec<String>], right: &[usize]) -> String {
    let head = head.iter().map(|cell| cell.as_ref().to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().cloned()).collect();
    escape::columns(&all, right).into_iter().map(|line| line + "\n").collect()
}

/// Facts one below the other, each behind its label; one without a label goes on with those above.
pub(crate) fn labelled(facts: &[(String, String)]) -> String {
    let widest = facts.iter().map(|(label, _)| escape::width(label)).max().unwrap_or(0);
    let columns = (widest + 1).max(9);
    let line = |(label, fact): &(String, String)| escape::padded(label, columns) + fact;
    facts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Makes a file that a user has named; one that is there already is never written over.
pub(crate) fn new_file(path: &Path) -> Result<File, Failure> {
    File::options().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => is_there(path),
        _ => Failure::from_io(path.display(), &error),
    })
}

/// What is said of a file that is there and was to be made.
pub(crate) fn is_there(path: &Path) -> Failure {
    Failure::usage(catalogue::NEW_FILE_NEEDED).at(path.display())
}

/// A figure with at most four significant digits: what an eye can use.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// A size with three digits, in the binary unit that suits it.
pub(crate) fn about(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let digits =
        if value.fract() == 0.0 || value >= 100.0 { 0 } else { usize::from(value < 10.0) + 1 };
    format!("{value:.digits$} {unit}")
}

/// A time in the unit that suits it.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value < 1e-3 => format!("{} us", figure(value * 1e6)),
        value if value < 1.0 => format!("{} ms", figure(value * 1e3)),
        value => format!("{} s", figure(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_four_digits() {
        let shown: Vec<String> = [0.0, 0.001_234_56, 1.0, 39.1, 3654.5, 57946.7, 1_234_567.0]
            .into_iter()
            .map(figure)
            .collect();
        assert_eq!(shown, ["0", "0.001235", "1.000", "39.10", "3654", "57947", "1234567"]);
    }

    #[test]
    fn times_take_the_unit_that_suits() {
        assert_eq!(
            [seconds(0.000_000_5), seconds(0.0123), seconds(2.0)],
            ["0.5000 us", "12.30 ms", "2.000 s"]
        );
    }

    #[test]
    fn sizes_carry_three_digits() {
        let shown: Vec<String> =
            [0, 512, 4096, 1_163_264, 23_244_800, 116_219_904, 1 << 30, 1_070_000_000]
                .into_iter()
                .map(about)
                .collect();
        assert_eq!(
            shown,
            ["0 B", "512 B", "4 KiB", "1.11 MiB", "22.2 MiB", "111 MiB", "1 GiB", "1.00 GiB"]
        );
    }
}
