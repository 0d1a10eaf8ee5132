//! `raidloom check`: what this machine can do, what is missing, and the command that installs it.

use std::io::Write;
use std::path::Path;

use device::{Direct, FileDevice, FileOptions};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, table};

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    /// Nothing works without it.
    needed: bool,
    /// What was found, or why it is missing.
    found: Result<String, String>,
    /// What it is for.
    purpose: &'static str,
    /// What to do when it is missing.
    remedy: &'static str,
}

/// Looks at everything; fails when something is missing that nothing works without.
pub(crate) fn check(output: &Output) -> Result<(), Failure> {
    let findings = [
        Finding {
            name: "io_uring",
            needed: true,
            found: reactor::Reactor::wall().map(|_| "works".to_owned()).map_err(|error| error.to_string()),
            purpose: "all work on files and disks",
            remedy: "needs Linux 5.19 or newer; sysctl kernel.io_uring_disabled=0; in a container, a profile that allows it",
        },
        Finding {
            name: "direct I/O here",
            needed: false,
            found: direct_io(Path::new(".")),
            purpose: "measuring the disk instead of the page cache",
            remedy: "use a folder on a disk's file system (ext4, XFS, btrfs); elsewhere files are measured through the cache, and it is said",
        },
        tool("fio", "comparing with other programs (cargo xtask bench)", "apt-get install fio"),
        tool("chromium", "looking at the report in the tests", "apt-get install chromium"),
    ];
    if output.json {
        let document: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "name": finding.name,
                    "works": finding.found.is_ok(),
                    "needed": finding.needed,
                    "found": finding.found.as_ref().map_or_else(String::as_str, String::as_str),
                    "purpose": finding.purpose,
                    "remedy": finding.found.is_err().then_some(finding.remedy),
                })
            })
            .collect();
        output.document(&document)?;
    } else {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| {
                let (state, found) = match &finding.found {
                    Ok(found) => ("yes", found),
                    Err(reason) => (if finding.needed { "MISSING" } else { "no" }, reason),
                };
                [finding.name, state, found, finding.purpose].map(str::to_owned).to_vec()
            })
            .collect();
        let mut text = table(&["WHAT", "HERE", "FOUND", "FOR"], &rows, &[]);
        for finding in findings.iter().filter(|finding| finding.found.is_err()) {
            text += &format!("\n{}: {}", finding.name, finding.remedy);
        }
        output.result(&text)?;
    }
    match findings.iter().find(|finding| finding.needed && finding.found.is_err()) {
        Some(missing) => Err(Failure::failed(format!("{} is missing: {}", missing.name, missing.remedy))),
        None => Ok(()),
    }
}

fn tool(name: &'static str, purpose: &'static str, remedy: &'static str) -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let found = found.map(|file| file.display().to_string()).ok_or_else(|| "not on the PATH".to_owned());
    Finding { name, needed: false, found, purpose, remedy }
}

/// Whether a file in `folder` can be used with O_DIRECT, tried on one that has no name.
fn direct_io(folder: &Path) -> Result<String, String> {
    let mut file = tempfile::tempfile_in(folder).map_err(|error| format!("no file can be made here: {error}"))?;
    file.write_all(&[0; 1 << 16]).map_err(|error| error.to_string())?;
    let options = FileOptions { direct: Direct::Yes, ..FileOptions::default() };
    let device = FileDevice::new(file, &folder.join("(trial)"), &options).map_err(|error| error.to_string())?;
    Ok(format!("works, in blocks of {} bytes", block::Device::info(&device).block_bytes))
}
