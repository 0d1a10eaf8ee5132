//! The questions of `choose` at a terminal. Ctrl-C at any of them ends it with 130: nothing was
//! written yet.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::choose::Work;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;

use super::own_drives;
use crate::failure::Failure;
use crate::output::{Output, about};

/// The exit code of what was ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Asks, as long as it is there.
pub(super) struct Questions<'a> {
    output: &'a Output,
    interrupt: SigId,
}

impl<'a> Questions<'a> {
    pub(super) fn new(output: &'a Output) -> Result<Questions<'a>, Failure> {
        let always = Arc::new(AtomicBool::new(true));
        let interrupt =
            signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED, always)
                .map_err(|error| Failure::failed(format!("setting up for Ctrl-C: {error}")))?;
        Ok(Questions { output, interrupt })
    }

    /// Whether somebody is there who can be asked.
    pub(super) fn can_be_asked() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// One of several, until it is one: its place.
    fn one_of(&self, question: &str, answers: &[String]) -> Result<usize, Failure> {
        escape::err(question);
        for (number, answer) in answers.iter().enumerate() {
            escape::err(&format!("  {}) {answer}", number + 1));
        }
        loop {
            let line = self.line()?;
            match line.parse::<usize>() {
                Ok(number) if (1..=answers.len()).contains(&number) => return Ok(number - 1),
                _ => escape::err(&format!("a number from 1 to {}, please", answers.len())),
            }
        }
    }

    /// What is typed in a line.
    pub(super) fn line(&self) -> Result<String, Failure> {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match read {
            Ok(0) => Err(Failure::interrupted("no answer was given; nothing was done")),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(Failure::from_io("reading the answer", &error)),
        }
    }

    /// Words that name drives, as on the command line.
    pub(super) fn drives(&mut self) -> Result<Vec<String>, Failure> {
        let (able, others) = own_drives();
        others.iter().for_each(|why| self.output.note(why));
        let mut answers = Vec::new();
        if able.len() > 1 {
            let names: Vec<String> = able
                .iter()
                .map(|drive| format!("{} ({})", drive.path.display(), about(drive.size_bytes)))
                .collect();
            answers.push(format!("drives of this machine: {}", names.join(", ")));
        }
        answers.push("drives I may buy".to_owned());
        answers.push("files, to try it".to_owned());
        let mut place = self.one_of("Drives?", &answers)?;
        if able.len() <= 1 {
            place += 1;
        }
        match place {
            0 => {
                escape::err("Which? Their numbers, such as 1 2 3, or Enter for all.");
                for (number, drive) in able.iter().enumerate() {
                    escape::err(&format!(
                        "  {}) {}: {}",
                        number + 1,
                        drive.path.display(),
                        drive.reason
                    ));
                }
                let line = self.line()?;
                let chosen: Vec<usize> =
                    line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                let is_chosen = |number: usize| chosen.is_empty() || chosen.contains(&(number + 1));
                let paths = able.iter().enumerate().filter(|(number, _)| is_chosen(*number));
                Ok(paths.map(|(_, drive)| drive.path.display().to_string()).collect())
            }
            1 => {
                escape::err(
                    "Which, and how many? Such as 4 x wd-red-plus-8tb: `raidloom model show` has \
                    the names.",
                );
                Ok(self.line()?.split_whitespace().map(str::to_owned).collect())
            }
            _ => Ok(["4", "x", "."].map(str::to_owned).to_vec()),
        }
    }

    pub(super) fn work(&mut self) -> Result<Work, Failure> {
        let all: Vec<Work> = Work::names().into_iter().map(Work::read).collect::<Result<_, _>>()?;
        let mut answers: Vec<String> = all.iter().map(|work| work.title.clone()).collect();
        answers.push("a profile of mine (a file)".to_owned());
        let place = self.one_of("Work?", &answers)?;
        match all.into_iter().nth(place) {
            Some(work) => Ok(work),
            None => {
                escape::err("Which file?");
                Ok(Work::read(&self.line()?)?)
            }
        }
    }

    pub(super) fn survive(&mut self, drives: usize) -> Result<u32, Failure> {
        let most = if drives < 3 { 1 } else { 2 };
        let answers: Vec<String> = (0..=most)
            .map(|count| match count {
                0 => "none: one that dies takes all data with it".to_owned(),
                1 => "1 drive".to_owned(),
                count => format!("{count} drives"),
            })
            .collect();
        let place = self.one_of("Lose? How many drives may die at once:", &answers)?;
        Ok(u32::try_from(place).unwrap_or(0))
    }
}

impl Drop for Questions<'_> {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.interrupt);
    }
}
