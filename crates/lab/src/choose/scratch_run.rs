//! Runs on models that are made for an answer, and of which nothing stays.

use std::sync::atomic::AtomicBool;

use host::Error;
use results::Run;

use crate::catalogue;
use crate::plan::ResolvedPlan;
use crate::run::{NoObserver, RunOptions, start};
use crate::scratch_folder::ScratchFolder;

/// A run of which nothing stays.
pub(super) fn passing_run(resolved: &ResolvedPlan, stop: &AtomicBool) -> Result<Run, Error> {
    let folder =
        ScratchFolder::new().map_err(|error| Error::from_io(catalogue::FOLDER_FOR_RUN, &error))?;
    let output = Some(folder.path().join("run"));
    let options = RunOptions { output, ..RunOptions::default() };
    Ok(start(resolved, &options, stop, &mut NoObserver)?.run)
}
