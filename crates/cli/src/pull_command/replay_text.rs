//! What a state that was kept shows when it is made again, and the smallest loss.

use std::path::Path;

use block::Node;
use lab::pull::{LostWrite, ReplayedState, SmallestLoss, image_name};
use pull::FlushCover;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about};

pub(super) fn show_replayed(
    output: &Output,
    replayed: &ReplayedState,
    images: Option<&Path>,
) -> Result<(), Failure> {
    if output.json {
        return output.document(replayed);
    }
    let ReplayedState { is_same_state, is_same_judgement, judgement, .. } = replayed;
    let state = if *is_same_state { say!(SAME_STATE) } else { say!(ANOTHER_STATE) };
    let shows = if *is_same_judgement { say!(SHOWS_THE_SAME) } else { say!(SHOWS_ELSE) };
    let mut text = say!(STATE_SHOWS, state = state, shows = shows) + "\n";
    for why in [&judgement.unmountable, &judgement.lost_for_good].into_iter().flatten() {
        text += &format!("{why}\n");
    }
    if judgement.check_failed == Some(true) {
        text += &(say!(CHECK_FINDS_ERRORS) + "\n");
    }
    if let Some(why) = judgement.unjudged {
        text += &(say!(CHECK_NO_VERDICT, why = why) + "\n");
    }
    if let Some(found) = &judgement.findings {
        for wrong in found.broken.iter().chain(&found.torn_renames) {
            text += &say!(
                FILE_BROKEN,
                file = wrong.file,
                class = wrong.class.text(),
                bytes = wrong.bytes,
                rule = wrong.rule.text(),
                since = format!("{:.6} s", wrong.since_nanoseconds as f64 / 1e9)
            );
            text += "\n";
        }
        for wrong in &found.keys {
            let key = wrong.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
            let since = match wrong.since_nanoseconds {
                Some(time) => say!(PROMISED_AT, time = seconds(time)),
                None => say!(NEVER_PROMISED),
            };
            text += &format!("{}{key}: {since}\n", wrong.verdict);
        }
        text += &match replayed.is_own_check {
            true => say!(PROMISES_LOOKED_AT, count = found.promises),
            false => say!(
                FILES_LOOKED_AT,
                files = found.files,
                exposed = found.exposed,
                lost = found.lost.len()
            ),
        };
        text += "\n";
    }
    text += &replayed.smallest_loss.as_ref().map_or(String::new(), smallest_loss);
    if let (Some(folder), Some(stack)) = (images, &replayed.images) {
        text += &format!("\n{}\n  ", say!(WRITTEN_MOUNT_IT, folder = folder.display()));
        text += &match stack::parse(stack) {
            Ok(Node::Leaf { .. }) => format!(
                "mount -t {} -o loop {} FOLDER\n",
                replayed.file_system,
                escape::shell(&folder.join(image_name(0)).to_string_lossy())
            ),
            _ => format!(
                "raidloom array start --attach --name pulled {} && raidloom array mount pulled \
                FOLDER\n",
                escape::shell(stack)
            ),
        };
    }
    output.result(&text)
}

/// What alone breaks the same.
fn smallest_loss(found: &SmallestLoss) -> String {
    let SmallestLoss { lost, judged, .. } = found;
    let message = match (&found.writes[..], found.is_minimal) {
        ([], _) => catalogue::SMALLEST_LOSS_NONE,
        (_, true) => catalogue::SMALLEST_LOSS,
        (_, false) => catalogue::SMALLER_LOSS,
    };
    let count = found.writes.len();
    let said = words::say!(message, lost = lost, count = count, judged = judged);
    let mut text = format!("\n{said}\n");
    found.writes.iter().for_each(|write| text += &lost_write(write));
    if let Some(late) = &found.late {
        text += &(say!(CAME_TOO_LATE) + "\n");
        text += &lost_write(late);
    }
    text
}

fn seconds(nanoseconds: u64) -> String {
    format!("{:.6} s", nanoseconds as f64 / 1e9)
}

/// A write, whose it is, and what should have made it durable.
fn lost_write(write: &LostWrite) -> String {
    let completed = match write.completed_nanoseconds {
        Some(time) => say!(ANSWERED_AT, time = seconds(time)),
        None => String::new(),
    };
    let owners: Vec<String> = write.owners.iter().map(ToString::to_string).collect();
    let owners = if owners.is_empty() { String::new() } else { format!(": {}", owners.join("; ")) };
    let flush = match write.flush {
        FlushCover::Never { last_nanoseconds: None } => say!(NO_FLUSH_BEFORE_CUT),
        FlushCover::Never { last_nanoseconds: Some(time) } => {
            say!(NO_FLUSH_AFTER_THAT, time = seconds(time))
        }
        FlushCover::Unanswered { arrived_nanoseconds } => {
            say!(FLUSH_NOT_ANSWERED, time = seconds(arrived_nanoseconds))
        }
        FlushCover::Ignored { answered_nanoseconds } => {
            say!(FLUSH_NOT_CARRIED_OUT, time = seconds(answered_nanoseconds))
        }
        FlushCover::Fua { .. } => say!(FUA_NOT_KEPT),
        FlushCover::UnderWay => say!(NOT_ANSWERED_BEFORE_CUT),
        FlushCover::AfterCut => say!(CAME_AFTER_CUT),
    };
    let place = say!(
        WRITE_OF_DRIVE,
        drive = write.member,
        sector = write.sector,
        size = about(write.bytes),
        request = write.request,
        time = seconds(write.arrived_nanoseconds),
        answered = completed
    );
    format!("  {place}{owners}\n    {flush}\n")
}
