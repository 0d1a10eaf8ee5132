//! The three questions of `raidloom choose`, asked by the page: models answer, and nothing is
//! opened.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, TryLockError};

use host::Error;
use host::mount::FileSystem;
use lab::choose::{ChosenLayout, Drives, Member, Question, Work};
use report::Style;
use serde::Deserialize;
use serde_json::{Value, json};

use ::words::{Language, in_language};

use crate::catalogue;
use crate::verbs::{flag, words};

/// Columns of the answer's text.
const WIDTH: usize = 80;

/// One answer at a time is worked out: it takes all processors.
static WORK: Mutex<()> = Mutex::new(());

/// What is asked for: the words of the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayoutQuestions {
    /// Drives of this machine, and models with their numbers: `4`, `x`, `NAME`.
    drives: Vec<String>,
    /// A profile that came with the program.
    work: String,
    survive: u32,
    #[serde(default)]
    file_system: Option<String>,
}

impl LayoutQuestions {
    /// The command line that asks the same, and keeps its run.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let file_system = self.file_system.as_deref().map(|name| flag("file-system", name));
        [
            words(&["choose", "--json", "--quiet"]),
            vec![flag("work", &self.work), flag("survive", &self.survive.to_string())],
            file_system.into_iter().collect(),
            words(&["--"]),
            self.drives.clone(),
        ]
        .concat()
    }

    /// What is asked.
    ///
    /// # Errors
    /// What cannot be chosen with, and what is not for a page.
    pub(crate) fn question(&self) -> Result<Question, Error> {
        // Files of one's own are not read for the page.
        if !Work::names().contains(&self.work.as_str()) {
            return Err(Error::usage(catalogue::NO_SUCH_WORK).at(&self.work));
        }
        if self.survive > 2 {
            return Err(Error::usage(catalogue::SURVIVED));
        }
        if let Some(name) = &self.file_system {
            FileSystem::named(name)?;
        }
        let drives = Drives::read(&self.drives, false)?;
        if !drives.are_modelled() {
            return Err(Error::usage(catalogue::MODELS_ALONE));
        }
        Ok(Question {
            drives,
            work: Work::read(&self.work)?,
            survive: self.survive,
            capacity_bytes: None,
            p99: None,
            file_system: self.file_system.clone(),
            file_system_is_run: false,
            raced: Vec::new(),
            lost: Vec::new(),
        })
    }

    /// The answer, as values and as text in every language.
    ///
    /// # Errors
    /// What cannot be chosen with, in one line.
    pub(crate) fn answer(&self) -> Result<Value, Error> {
        let question = self.question()?;
        let _alone = match WORK.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::usage(catalogue::ANSWER_UNDER_WAY));
            }
        };
        let (choice, layout) = question.answer_by_models(&AtomicBool::new(false))?;
        let said = |language: Language| {
            let style = Style { color: false, width: WIDTH };
            let text = in_language(language, || report::choice_text(&choice, &[], style).text);
            (language.tag().to_owned(), json!(text.to_string()))
        };
        let texts: serde_json::Map<String, Value> = Language::ALL.into_iter().map(said).collect();
        Ok(json!({ "choice": choice, "text": texts, "erases": erases(&layout) }))
    }
}

/// The drives that making a layout would erase; none where some of them are to be bought yet.
fn erases(layout: &ChosenLayout) -> Vec<&Path> {
    let members = layout.members.iter().chain(&layout.spares);
    members.map(Member::path).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Value, String> {
        let asked: LayoutQuestions =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        asked.answer().map_err(|error| error.to_string())
    }

    #[test]
    fn the_page_gets_the_answer_of_the_verb() {
        let answer = asked(
            r#"{"drives": ["2", "x", "samsung-870-evo-1tb"], "work": "media", "survive": 1}"#,
        );
        let answer = answer.unwrap();
        let text = answer["text"]["en"].as_str().unwrap();
        assert!(text.starts_with("RAID 1") && text.contains("modelled"), "{text}");
        assert!(answer["text"]["ja"].as_str().unwrap().starts_with("RAID 1"));
        assert_eq!(answer["choice"]["figures"], "modelled");
        assert_eq!(answer["erases"], json!([]), "there is nothing yet");
    }

    #[test]
    fn what_is_not_for_a_page_is_refused_in_a_line() {
        for (text, said) in [
            (r#"{"drives": [], "work": "vm", "survive": 1}"#, "name the drives"),
            (r#"{"drives": ["4", "x", "."], "work": "vm", "survive": 1}"#, "measured"),
            (r#"{"drives": ["4", "x", "nix"], "work": "vm", "survive": 1}"#, "nix"),
            (r#"{"drives": [], "work": "/etc/passwd", "survive": 1}"#, "no such kind of work"),
            (r#"{"drives": [], "work": "vm", "survive": 3}"#, "0, 1 or 2"),
            (r#"{"drives": [], "work": "vm", "survive": 1, "p99": 1}"#, "unknown field"),
        ] {
            let error = asked(text).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
