//! `raidloom check drives`: the drives of this machine, and what the guard says of each.

use host::guard::{self, Answer, Drive};

use words::Message;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about, table};

/// Lists them. Nothing is opened for writing.
pub(crate) fn drives(output: &Output) -> Result<(), Failure> {
    let drives = guard::drives();
    if output.json {
        return output.document(&drives);
    }
    if drives.is_empty() {
        output.note(&say!(NO_DRIVES));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = drives.iter().map(row).collect();
    output.result(&table(&HEAD.map(Message::template), &rows, &[1]))
}

/// Heads of the columns.
const HEAD: [Message; 5] = [
    catalogue::DRIVE_HEAD,
    catalogue::DRIVE_SIZE_HEAD,
    catalogue::DRIVE_MODEL_HEAD,
    catalogue::DRIVE_WRITES_HEAD,
    catalogue::DRIVE_WHY_HEAD,
];

fn row(drive: &Drive) -> Vec<String> {
    let answer = match drive.answer {
        Answer::WithConsent => say!(WITH_CONSENT),
        Answer::Refused => say!(REFUSED),
        Answer::NotKnown => say!(DRIVE_NOT_KNOWN),
    };
    vec![
        drive.path.display().to_string(),
        about(drive.size_bytes),
        drive.model.clone().unwrap_or_else(|| "-".to_owned()),
        answer,
        drive.reason.to_string(),
    ]
}
