//! A cell's file system: a server of its stack, as `array start` starts one, with a file system
//! made anew and mounted in the run's folder.
//!
//! ```text
//!   raidloom run ── files of the members ──> array serve ── stack, FUSE file, loop device
//!        │       <── what members moved ────      │
//!        └── suites ──> run folder/attached/folder: the file system
//! ```
//!
//! It is a process of its own because a process that was killed while it waited for a device it
//! serves itself would wait for ever. It ends with the run; what it makes is in its own journal.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::Node;
use reactor::derive_seed;
use results::MemberTraffic;
use serve::{Client, FreshArray, Launch, LaunchedServer, ServeWith};
use words::Text;

use crate::cell::Cell;
use crate::stacks::{Leaf, leaves};
use host::Error;
use host::guard::{Access, Guard};
use host::journal::Journal;

const FOLDER: &str = "attached";

/// The folder in the run's folder where file systems of cells appear, made once.
pub(super) fn make_point(run: &Path, journal: &mut Journal) -> Result<PathBuf, Error> {
    let folder = run.join(FOLDER);
    journal.make_folder(&folder)?;
    // The kernel's tables name real paths.
    let folder = folder.canonicalize().map_err(|error| Error::from_io(folder.display(), &error))?;
    let point = folder.join("folder");
    journal.make_folder(&point)?;
    Ok(point)
}

/// Ends the server that a killed run has left, if it has not ended by itself yet, and undoes what
/// dead servers have left. Says in words what was done.
pub(super) fn end_left_behind(serve_with: Option<&ServeWith>, run: &Path) -> Vec<Text> {
    let Some(ServeWith { runtime, .. }) = serve_with else { return Vec::new() };
    if let Ok(client) = Client::connect(runtime, &server_name(run)) {
        // It knows that its run is gone, and ends in any case: this waits for it.
        let _ = client.stop();
    }
    runtime.clean_up()
}

/// The name of the servers of a run: no other has it as long as the run is locked.
fn server_name(run: &Path) -> String {
    let run = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    format!("run-{:08x}", derive_seed(0, &run.to_string_lossy(), 0) >> 32)
}

/// A file system that is mounted. Dropping it takes everything away again.
pub(super) struct MountedExport {
    served: LaunchedServer,
    point: PathBuf,
}

impl MountedExport {
    /// Serves the stack, makes the file system and mounts it.
    pub(super) fn new(
        (run, point): (&Path, &Path),
        guard: &Guard,
        serve_with: &ServeWith,
        cell: &Cell,
        (node, seed): (&Node, u64),
    ) -> Result<MountedExport, Error> {
        let mut files: BTreeMap<PathBuf, File> = BTreeMap::new();
        for leaf in leaves(node)? {
            if let Leaf::Existing { path, .. } = leaf {
                files.insert(path.clone(), guard.open(&path, Access::Write)?);
            }
        }
        let name = server_name(run);
        let settings = cell.serve_settings(node, Some(point))?;
        let new_array = cell.serving.new_array.clone();
        let launch = Launch {
            settings: serve::Settings { name: Some(name.clone()), ..settings },
            fresh: Some(FreshArray { seed, new_array }),
        };
        let files: Vec<File> = files.into_values().collect();
        let served = serve_with.launch(&launch, &files).map_err(|error| {
            // Where the run's folder lies says nothing about why.
            let point = point.display().to_string();
            let text = error.text().clone().without(&[&name, &point]);
            error.retold(text)
        })?;
        Ok(MountedExport { served, point: point.to_owned() })
    }

    /// Where suites work.
    pub(super) fn folder(&self) -> &Path {
        &self.point
    }

    /// What the user should know of the stack.
    pub(super) fn notes(&self) -> Vec<Text> {
        let attached = self.served.status.attached.iter();
        let places: Vec<String> =
            attached.map(|attached| attached.path().display().to_string()).collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        self.served.status.notes.iter().map(|note| note.clone().without(&places)).collect()
    }

    /// A member of an array that has failed, and why.
    pub(super) fn lost(&self) -> Option<(String, Option<Text>)> {
        let members = self.served.status().ok()?.arrays.into_iter().flat_map(|array| array.members);
        let mut failed = members.filter(|member| member.cause.is_some());
        failed.next().map(|member| (member.name.unwrap_or_default(), member.cause))
    }

    /// What each member moved until now, and the processor time of the serving process.
    pub(super) fn moved(&self) -> Result<(Vec<MemberTraffic>, Duration), Error> {
        let status = self.served.status()?;
        let members = status.members.iter().map(|member| MemberTraffic {
            read_bytes: member.read_bytes,
            written_bytes: member.written_bytes,
        });
        Ok((members.collect(), Duration::from_secs_f64(status.processor_seconds)))
    }

    /// Unmounts and takes everything away.
    pub(super) fn take_away(self) -> Result<(), Error> {
        self.served.stop()
    }
}
