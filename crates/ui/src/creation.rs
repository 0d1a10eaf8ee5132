//! *Create*, behind the answer to the three questions: what would be erased, and `raidloom choose
//! --do` as a child of this program.
//!
//! ```text
//!   answer ──> what is on each drive ──> choose --json DRIVES ──> choose --json --from RUN --do
//!   (models)   (asked on the page)       the same answer, kept    its steps, and what was made
//!                                        in the folder of runs
//! ```

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use host::Error;
use lab::choose::{ErasedDrive, Member};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue;
use crate::program::Runner;
use crate::questions::LayoutQuestions;
use crate::refusal::Refusal;
use crate::verbs::{Consent, flag, words};

/// What stands on the drives that would be erased.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrivesToErase {
    drives: Vec<PathBuf>,
}

impl DrivesToErase {
    /// The drives, as the terminal's question has them. Nothing is written.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) fn drives(self) -> Result<Value, Error> {
        let members: Vec<Member> = self.drives.into_iter().map(Member::Path).collect();
        Ok(json!(ErasedDrive::of(&members)?))
    }
}

/// What is to be made, and what may be erased for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Creation {
    asked: LayoutQuestions,
    /// The layout that was the answer, as the page was told.
    pick: Value,
    name: String,
    /// Where its file system is mounted.
    #[serde(default)]
    mount: Option<String>,
    #[serde(default)]
    consent: Consent,
}

impl Creation {
    /// The array's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can be asked at all.
    ///
    /// # Errors
    /// What is no question of the page's.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.asked.question().map(|_| ())
    }

    /// Makes it in a folder of runs; `on_step` hears each step as it begins. What the verb says of
    /// what it made.
    ///
    /// # Errors
    /// What the verb said, which takes back what it had done; and where the answer is another one
    /// than the page has shown.
    pub(crate) async fn carry_out(
        &self,
        runner: &Runner<'_>,
        folder: &Path,
        on_step: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Value, Refusal> {
        on_step("choose");
        let said = runner.told(folder, &self.asked.arguments(), &mut |_| ()).await?;
        let answer: Value = serde_json::from_str(&said).unwrap_or_default();
        let run = answer["run"].as_str().filter(|_| answer["choice"]["pick"] == self.pick);
        let Some(run) = run else {
            return Err(Refusal::new(StatusCode::CONFLICT, catalogue::OTHER_ANSWER));
        };
        let mut on_line = |line: &str| {
            let told: Value = serde_json::from_str(line).unwrap_or_default();
            told["step"].as_str().into_iter().for_each(&mut *on_step);
        };
        let said = runner.told(folder, &self.arguments(run), &mut on_line).await?;
        Ok(serde_json::from_str(&said).unwrap_or_default())
    }

    /// The command line that makes what a run has answered.
    fn arguments(&self, run: &str) -> Vec<String> {
        let mount = self.mount.as_deref().filter(|folder| !folder.is_empty());
        [
            words(&["choose", "--json", "--do"]),
            vec![flag("from", run), flag("name", &self.name)],
            mount.map(|folder| flag("mount", folder)).into_iter().collect(),
            self.consent.flags(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_what_the_verb_makes() {
        let text = r#"{"asked": {"drives": ["/d/a", "-b"], "work": "vm", "survive": 1,
            "file_system": "ext4"}, "pick": {}, "name": "--tank", "mount": "/srv/t",
            "consent": {"erase": ["S1"], "erase_signature": true}}"#;
        let creation: Creation = serde_json::from_str(text).expect(text);
        assert_eq!(
            creation.asked.arguments().join(" "),
            "choose --json --quiet --work=vm --survive=1 --file-system=ext4 -- /d/a -b"
        );
        assert_eq!(
            creation.arguments("/runs/r").join(" "),
            "choose --json --do --from=/runs/r --name=--tank --mount=/srv/t --erase=S1 \
             --erase-signature"
        );
        let without = text.replace("\"erase\"", "\"all\"");
        assert!(serde_json::from_str::<Creation>(&without).is_err());
    }
}
