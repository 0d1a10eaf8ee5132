//! `raidloom check drives`: the drives of this machine, and what the guard says of each.

use host::guard::{self, Answer, Drive};

use crate::failure::Failure;
use crate::output::{Output, about, table};

/// Lists them. Nothing is opened for writing.
pub(crate) fn drives(output: &Output) -> Result<(), Failure> {
    let drives = guard::drives();
    if output.json {
        return output.document(&drives);
    }
    if drives.is_empty() {
        output.note("there are no drives here, or /sys is not there to tell of them");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = drives.iter().map(row).collect();
    output.result(&table(&["DRIVE", "SIZE", "MODEL", "WRITES", "WHY"], &rows, &[1]))
}

fn row(drive: &Drive) -> Vec<String> {
    let answer = match drive.answer {
        Answer::WithConsent => "with consent",
        Answer::Refused => "refused",
        Answer::NotKnown => "not known",
    };
    vec![
        drive.path.display().to_string(),
        about(drive.size_bytes),
        drive.model.clone().unwrap_or_else(|| "-".to_owned()),
        answer.to_owned(),
        drive.reason.clone(),
    ]
}
