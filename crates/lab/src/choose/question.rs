//! What is asked: with what, for what, and what must hold.

use crate::catalogue;
use std::path::PathBuf;

use host::Error;
use host::mount::FileSystem;
use results::choice::{Cost, DriveGroup, RemovedLayout};
use serde::{Deserialize, Serialize};

use super::drives::{Drive, Drives};
use super::layout::Member;
use super::work::Work;

/// So many requests tell as much as all of them: candidates that are about as fast are no matter
/// here.
pub(super) const FEW_REQUESTS: u64 = 5_000;

/// A question to choose by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What there is to choose with.
    pub drives: Drives,
    /// What it is for.
    pub work: Work,
    /// How many drives may die at once: 0, 1 or 2.
    pub survive: u32,
    /// Least bytes that it must offer.
    pub capacity_bytes: Option<u64>,
    /// What 99 of 100 requests must stay below: a time, `20ms`.
    pub p99: Option<String>,
    /// The file system that is to be on it, by name.
    pub file_system: Option<String>,
    /// Whether it is part of the work: made on every layout, mounted, and worked in.
    #[serde(default, skip_serializing_if = "is_false")]
    pub file_system_is_run: bool,
    /// What a part of a recording has shown to be far behind ([`Question::race`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raced: Vec<RemovedLayout>,
    /// Drives that it began with and that have died while they were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<PathBuf>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Question {
    /// The same without drives that have died while it was measured.
    ///
    /// # Errors
    /// When what is left of them is no array.
    pub fn without(&self, lost: &[PathBuf]) -> Result<Question, Error> {
        let is_left =
            |drive: &&Drive| !matches!(&drive.member, Member::Path(path) if lost.contains(path));
        let all: Vec<Drive> = self.drives.all.iter().filter(is_left).cloned().collect();
        if all.len() < 2 {
            return Err(Error::usage(catalogue::ONE_DRIVE_LEFT));
        }
        let lost = self.lost.iter().chain(lost).cloned().collect();
        let drives = Drives { all, ..self.drives.clone() };
        Ok(Question { drives, lost, raced: Vec::new(), ..self.clone() })
    }

    /// How many of 100 requests of the recording come to so many; nothing of other work.
    pub(super) fn share_of(&self, requests: u64) -> Option<u64> {
        let recording = self.work.recording.as_ref()?;
        Some((requests * 100).div_ceil(recording.requests.max(1)).min(100))
    }

    /// What so many of the drives cost; none where no price was said.
    pub(super) fn cost(&self, count: usize) -> Option<Cost> {
        let prices = self.drives.all.iter().take(count).map(|drive| drive.price);
        let total = prices.sum::<Option<f64>>()?;
        let budget = self.drives.budget;
        Some(Cost {
            total,
            budget: budget.map(|budget| budget.most),
            offered: budget.map_or(self.drives.all.len(), |budget| budget.offered),
        })
    }

    /// Whether the work is done in guests, whose Linux has the modelled drives and a file system on
    /// them: programs cannot open a model.
    #[must_use]
    pub fn is_in_guests(&self) -> bool {
        self.drives.are_modelled() && self.file_system_is_run
    }

    /// The file system that is to be on it.
    pub(super) fn file_system(&self) -> Option<FileSystem> {
        FileSystem::named(self.file_system.as_deref()?).ok()
    }

    /// Drives that are alike, counted.
    #[must_use]
    pub fn drive_groups(&self) -> Vec<DriveGroup> {
        let mut groups: Vec<DriveGroup> = Vec::new();
        for drive in &self.drives.all {
            let is_own = matches!(drive.member, Member::Path(_));
            let stand_in = drive.model.clone().filter(|_| is_own);
            let is_same = |group: &&mut DriveGroup| {
                group.title == drive.title
                    && group.size_bytes == drive.size_bytes
                    && group.stand_in == stand_in
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => group.count += 1,
                None => groups.push(DriveGroup {
                    count: 1,
                    title: drive.title.clone(),
                    size_bytes: drive.size_bytes,
                    stand_in,
                }),
            }
        }
        groups
    }
}
