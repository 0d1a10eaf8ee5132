//! What a state that was kept shows when it is made again, and the smallest loss.

use std::path::Path;

use block::Node;
use lab::pull::{LostWrite, ReplayedState, SmallestLoss, image_name};
use pull::FlushCover;

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
    let mut text = format!(
        "{}; {}\n",
        if *is_same_state { "the same state, bit for bit" } else { "ANOTHER STATE" },
        if *is_same_judgement { "it shows the same" } else { "it shows SOMETHING ELSE" }
    );
    for why in [&judgement.unmountable, &judgement.lost_for_good].into_iter().flatten() {
        text += &format!("{why}\n");
    }
    if judgement.check_failed == Some(true) {
        text += "a check finds errors\n";
    }
    if let Some(why) = judgement.unjudged {
        text += &format!("the check gave no verdict: {why}\n");
    }
    if let Some(found) = &judgement.findings {
        for wrong in found.broken.iter().chain(&found.torn_renames) {
            text += &format!(
                "file {}: {}, {} bytes; since {:.6} s it had to be {}\n",
                wrong.file,
                wrong.class,
                wrong.bytes,
                wrong.since_nanoseconds as f64 / 1e9,
                wrong.rule
            );
        }
        for wrong in &found.keys {
            let key = wrong.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
            let since = match wrong.since_nanoseconds {
                Some(time) => format!("promised at {:.6} s", time as f64 / 1e9),
                None => "never promised".to_owned(),
            };
            text += &format!("{}{key}: {since}\n", wrong.verdict);
        }
        text += &match replayed.is_own_check {
            true => format!("{} promises looked at\n", found.promises),
            false => format!(
                "{} files looked at, {} with old data, {} closed ones lost\n",
                found.files,
                found.exposed,
                found.lost.len()
            ),
        };
    }
    text += &replayed.smallest_loss.as_ref().map_or(String::new(), smallest_loss);
    if let (Some(folder), Some(stack)) = (images, &replayed.images) {
        text += &format!("\nwritten to {}; mount it:\n  ", folder.display());
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
    let mut text = match (&found.writes[..], found.is_minimal) {
        ([], _) => format!(
            "\nthe smallest loss is none: it is broken where none of the {lost} lost writes is lost, \
            so what was promised had not come to the drives ({judged} states judged)\n"
        ),
        (writes, true) => format!(
            "\nthe smallest loss, of {lost} writes that were lost: that of {} alone breaks the same \
            ({judged} states judged)\n",
            writes.len()
        ),
        (writes, false) => format!(
            "\nthe smallest loss, of {lost} writes that were lost: that of {} breaks the same, and \
            perhaps fewer do ({judged} states judged)\n",
            writes.len()
        ),
    };
    found.writes.iter().for_each(|write| text += &lost_write(write));
    if let Some(late) = &found.late {
        text += "what was missing came too late:\n";
        text += &lost_write(late);
    }
    text
}

/// A write, whose it is, and what should have made it durable.
fn lost_write(write: &LostWrite) -> String {
    let seconds = |nanoseconds: u64| format!("{:.6} s", nanoseconds as f64 / 1e9);
    let completed = match write.completed_nanoseconds {
        Some(time) => format!(", answered at {}", seconds(time)),
        None => String::new(),
    };
    let owners: Vec<String> = write.owners.iter().map(ToString::to_string).collect();
    let owners = if owners.is_empty() { String::new() } else { format!(": {}", owners.join("; ")) };
    let flush = match write.flush {
        FlushCover::Never { last_nanoseconds: None } => {
            "no flush of its drive before the cut".to_owned()
        }
        FlushCover::Never { last_nanoseconds: Some(time) } => {
            format!("no flush of its drive after that: the last one came at {}", seconds(time))
        }
        FlushCover::Unanswered { arrived_nanoseconds } => format!(
            "the flush that covers it came at {}, and was not answered before the cut",
            seconds(arrived_nanoseconds)
        ),
        FlushCover::Ignored { answered_nanoseconds } => format!(
            "the flush that covers it was answered at {}, and the drive has not carried it out",
            seconds(answered_nanoseconds)
        ),
        FlushCover::Fua { .. } => {
            "it was to be durable by itself (FUA), and the drive has not kept it".to_owned()
        }
        FlushCover::UnderWay => "it was not answered before the cut".to_owned(),
        FlushCover::AfterCut => {
            "it came after the cut, and the promise has not waited for it".to_owned()
        }
    };
    format!(
        "  drive {}, sector {}, {} (request {}, at {}{completed}){owners}\n    {flush}\n",
        write.member,
        write.sector,
        about(write.bytes),
        write.request,
        seconds(write.arrived_nanoseconds)
    )
}
