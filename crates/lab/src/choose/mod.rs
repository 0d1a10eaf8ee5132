//! From drives, a kind of work and how many drives may die to the layout to take.
//!
//! ```text
//!   words ──> Drives ─┐
//!   --work ──> Work ──┼─> Question ──> candidates (and what was removed, by which condition)
//!   --survive, … ─────┘       │            ├──> of a recording: a race over parts of it
//!                             │            └──> plan text, which is run as any other
//!                             └── answer(run) ──> results::choice::Choice, and the ChosenLayout
//! ```

mod answer;
mod cache_replay;
mod candidates;
mod drives;
mod erasure;
mod layout;
mod make;
mod parameter_draws;
mod plan_text;
mod power_cuts;
mod question;
mod race;
mod scratch_run;
mod upkeep_cost;
mod what_if;
mod work;

use std::path::Path;

use host::Error;
use words::{Text, statement};

use crate::catalogue;
use crate::run::{json, read_file};

pub use drives::{Budget, Drive, Drives, price_of};
pub use erasure::ErasedDrive;
pub use layout::{ChosenLayout, Member, Order};
pub use make::{
    MadeArray, MakeRequest, MakingStep, check_file_system, check_file_system_in_guests,
    forget_unmade, missing_folders,
};
pub use question::Question;
pub use what_if::{ChangedChoice, WorkChange};
pub use work::{RecordedWork, Work};

/// The file of a run's folder that has its question.
const FILE: &str = "choose.json";

/// The file by which the folder of a run keeps its question: name and content.
#[must_use]
pub fn file(question: &Question) -> (&'static str, Vec<u8>) {
    (FILE, json(question))
}

/// The question of a run.
///
/// # Errors
/// A usage error when the run answers none.
pub fn kept(folder: &Path) -> Result<Question, Error> {
    let path = folder.join(FILE);
    if !path.exists() {
        let said = statement!(catalogue::NO_CHOSEN_RUN, file = FILE);
        return Err(Error::usage(said).at(folder.display()));
    }
    let bytes = read_file(folder, FILE).map_err(|error| Error::from_io(path.display(), &error))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::usage(Text::verbatim(&error)).at(path.display()))
}
