//! The questions of `choose` at a terminal. Ctrl-C at any of them ends it with 130: nothing was
//! written yet. One that comes between them ends what is looked at then, or the next question.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::choose::{Drives, Work};
use signal_hook::SigId;

use super::own_drives;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, about};
use crate::signals;

/// Asks, as long as it is there.
pub(super) struct Questions<'a> {
    output: &'a Output,
    /// What ends it at once while an answer is waited for.
    ends: Vec<SigId>,
}

impl<'a> Questions<'a> {
    pub(super) fn new(output: &'a Output) -> Result<Questions<'a>, Failure> {
        // What comes when nothing is asked any more is for what follows.
        let asked = signals::stop_flag()?;
        let mut questions = Questions { output, ends: Vec::new() };
        for signal in signals::to_end() {
            let always = Arc::new(AtomicBool::new(true));
            let end =
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always)
                    .map_err(|error| signals::not_set_up(&error))?;
            questions.ends.push(end);
        }
        match asked.load(Ordering::Relaxed) {
            true => Err(Failure::interrupted(catalogue::NOTHING_CHANGED)),
            false => Ok(questions),
        }
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
                _ => escape::err(&say!(ASK_NUMBER, most = answers.len())),
            }
        }
    }

    /// What is typed in a line.
    pub(super) fn line(&self) -> Result<String, Failure> {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match read {
            Ok(0) => Err(Failure::interrupted(catalogue::NO_ANSWER_GIVEN)),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(Failure::from_io(catalogue::READING_ANSWER, &error)),
        }
    }

    /// What is typed, until it makes sense: what is wrong with it is said, and it is asked again.
    fn sensible<T>(&self, read: impl Fn(&str) -> Result<T, Failure>) -> Result<T, Failure> {
        loop {
            match read(&self.line()?) {
                Ok(found) => return Ok(found),
                Err(wrong) => escape::err(&say!(ASK_AGAIN, wrong = wrong)),
            }
        }
    }

    /// The drives; of those of this machine the ones that are to be measured, or modelled.
    pub(super) fn drives(&mut self, measure: bool) -> Result<Drives, Failure> {
        let (able, others) = own_drives();
        others.iter().for_each(|why| self.output.note(why));
        let mut answers = Vec::new();
        if able.len() > 1 {
            let names: Vec<String> = able
                .iter()
                .map(|drive| format!("{} ({})", drive.path.display(), about(drive.size_bytes)))
                .collect();
            answers.push(say!(OWN_DRIVES, names = names.join(", ")));
        }
        answers.push(say!(DRIVES_TO_BUY));
        answers.push(say!(FILES_TO_TRY));
        let mut place = self.one_of(&say!(ASK_DRIVES), &answers)?;
        if able.len() <= 1 {
            place += 1;
        }
        let read = |words: &[String]| Drives::read(words, measure);
        match place {
            0 => {
                escape::err(&say!(ASK_WHICH_DRIVES));
                for (number, drive) in able.iter().enumerate() {
                    escape::err(&format!(
                        "  {}) {}: {}",
                        number + 1,
                        drive.path.display(),
                        drive.reason
                    ));
                }
                let path = |number: usize| able[number].path.display().to_string();
                self.sensible(|line| {
                    let words: Vec<String> =
                        numbers(line, able.len())?.into_iter().map(path).collect();
                    read(&words)
                })
            }
            1 => {
                escape::err(&say!(ASK_WHICH_MODELS));
                self.sensible(|line| {
                    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                    read(&words)
                })
            }
            _ => read(&["4", "x", "."].map(str::to_owned)),
        }
    }

    pub(super) fn work(&mut self) -> Result<Work, Failure> {
        let all: Vec<Work> = Work::names().into_iter().map(Work::read).collect::<Result<_, _>>()?;
        let mut answers: Vec<String> = all.iter().map(|work| work.title.clone()).collect();
        answers.push(say!(OWN_COMMAND));
        answers.push(say!(OWN_WORK));
        let place = self.one_of(&say!(ASK_WORK), &answers)?;
        let own = place.checked_sub(all.len());
        match (all.into_iter().nth(place), own) {
            (Some(work), _) => Ok(work),
            (None, Some(0)) => {
                escape::err(&say!(ASK_COMMAND, name = "{dir}"));
                self.sensible(Work::of_command)
            }
            (None, _) => {
                escape::err(&say!(ASK_FILE));
                self.sensible(Work::read)
            }
        }
    }

    pub(super) fn survive(&mut self, drives: usize) -> Result<u32, Failure> {
        let most = if drives < 3 { 1 } else { 2 };
        let answers: Vec<String> = (0..=most)
            .map(|count| match count {
                0 => say!(SURVIVE_NONE),
                1 => say!(SURVIVE_ONE),
                count => say!(SURVIVE_SEVERAL, count = count),
            })
            .collect();
        let place = self.one_of(&say!(ASK_SURVIVE), &answers)?;
        Ok(u32::try_from(place).unwrap_or(0))
    }
}

impl Drop for Questions<'_> {
    fn drop(&mut self) {
        for end in &self.ends {
            signal_hook::low_level::unregister(*end);
        }
    }
}

/// The places that numbers from 1 on name; all of them where there is none.
fn numbers(line: &str, count: usize) -> Result<Vec<usize>, Failure> {
    let place = |word: &str| match word.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
        _ => Err(Failure::usage(statement!(NO_NUMBER, count = count)).at(word)),
    };
    let named: Vec<usize> = line.split_whitespace().map(place).collect::<Result<_, _>>()?;
    Ok(if named.is_empty() { (0..count).collect() } else { named })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputArguments;

    #[test]
    fn an_end_that_was_asked_for_before_ends_the_next_question() {
        let arguments = OutputArguments { json: false, quiet: true, no_color: true };
        let output = Output::new(&arguments);
        assert!(Questions::new(&output).is_ok());
        let asked = signals::stop_flag().unwrap();
        asked.store(true, Ordering::Relaxed);
        assert!(Questions::new(&output).is_err());
        asked.store(false, Ordering::Relaxed);
    }

    #[test]
    fn what_is_no_number_of_the_list_names_no_drive() {
        assert_eq!(numbers("", 3).unwrap(), [0, 1, 2]);
        assert_eq!(numbers("3 1", 3).unwrap(), [2, 0]);
        for line in ["0", "4", "1 x", "1,2"] {
            assert!(numbers(line, 3).is_err(), "{line}");
        }
    }
}
