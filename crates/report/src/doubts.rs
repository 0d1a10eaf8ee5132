//! What is doubtful about trials, in words.

use results::Doubt;
use results::doubt::{AddressFit, ReplayedOperation, Silence, UnverifiedReason, worst_windows};
use words::Text;

use crate::numbers::time;
use crate::words::say;

/// A share as a percentage that a person can use; one of less than half a per cent is not nothing.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        say!(LESS_THAN_ONE_PERCENT)
    } else {
        format!("{:.0} %", 100.0 * share)
    }
}

/// A doubt in a few words.
pub(crate) fn name(doubt: &Doubt) -> String {
    parts(doubt).0
}

/// A doubt as one sentence: its name, and what it is where there is more to say.
#[must_use]
pub fn doubt_sentence(doubt: &Doubt) -> String {
    match parts(doubt) {
        (name, Some(detail)) => say!(DOUBT_WITH_DETAIL, name = name, detail = detail),
        (name, None) => name,
    }
}

/// As [`doubt_sentence`], but with the mark that stands beside a figure for a name:
/// `read-from-cache: the devices read 6 % of the bytes asked for`.
#[must_use]
pub fn doubt_legend(doubt: &Doubt) -> String {
    let (name, detail) = parts(doubt);
    say!(DOUBT_WITH_DETAIL, name = doubt.mark(), detail = detail.unwrap_or(name))
}

/// What is said, without the full stop at its end: within a sentence.
pub(crate) fn without_stop(text: &Text) -> String {
    text.to_string().trim_end_matches(['.', '。']).to_owned()
}

/// Why trials do not vote, in a few words.
#[must_use]
pub fn silence_name(silence: &Silence) -> String {
    match silence {
        Silence::Doubtful(Doubt::NotMeasured { reason }) => without_stop(reason),
        Silence::Doubtful(doubt) => name(doubt),
        Silence::TooFewRequests { needed } => {
            say!(TOO_FEW_REQUESTS, needed = format!("{needed:.0}"))
        }
        Silence::NoSuchFigure { metric } => say!(NO_SUCH_FIGURE, metric = metric),
    }
}

/// The name of a doubt, and what it is.
fn parts(doubt: &Doubt) -> (String, Option<String>) {
    match doubt {
        Doubt::ReadFromCache { .. }
        | Doubt::NeverWritten { .. }
        | Doubt::CompressedOrStillDirty { .. }
        | Doubt::WriteAmplification { .. }
        | Doubt::Impossible { .. } => {
            let (name, detail) = of_audit(doubt);
            (name, Some(detail))
        }
        Doubt::Stolen { .. } => (say!(MACHINE_NOT_QUIET), Some(say!(PROCESSORS_STOLEN))),
        Doubt::OtherWork { .. } => (say!(MACHINE_NOT_QUIET), Some(say!(PROCESSORS_BUSY))),
        Doubt::NotSteady => (say!(NOT_STEADY), Some(say!(NOT_STEADY_AFTER))),
        Doubt::NotModelledTime { program, remedy } => {
            let detail = match remedy {
                Some(remedy) => say!(READS_UNLESS_TOLD, program = program, remedy = remedy),
                None => say!(READS_THE_COUNTER, program = program),
            };
            (say!(NOT_MODELLED_TIME), Some(detail))
        }
        Doubt::NotMeasured { reason } => (say!(NOT_MEASURED), Some(reason.to_string())),
        Doubt::Imported => (say!(IMPORTED), Some(say!(MEASURED_APART))),
        Doubt::MachineChanged { changes } => (say!(MACHINE_CHANGED), Some(changes.join("; "))),
        Doubt::PacedModel => (say!(PACED_MODEL), Some(say!(PACED_MODEL_IS))),
        Doubt::CacheNotEmptied { reason } => (say!(CACHE_NOT_EMPTIED), Some(reason.to_string())),
        Doubt::ReplayBehind { requests, of, longest_seconds } => {
            let late = say!(
                REPLAY_WAS_LATE,
                requests = requests,
                of = of,
                longest = latency(*longest_seconds),
            );
            (say!(REPLAY_BEHIND), Some(late))
        }
        other => (of_suite(other), None),
    }
}

/// How long an answer took: `740 us`, `31.4 ms`, `2.1 s`.
fn latency(seconds: f64) -> String {
    match seconds {
        ..0.001 => format!("{:.0} us", 1e6 * seconds),
        ..0.1 => format!("{:.1} ms", 1e3 * seconds),
        _ => time(seconds),
    }
}

/// The windows of a replay that a sentence names.
const WINDOWS_NAMED: usize = 3;

/// What a replay says of what it did.
fn of_replay(doubt: &Doubt) -> Option<String> {
    Some(match doubt {
        Doubt::RecordingDamaged { skipped, lost, is_cut_off: true } => {
            say!(RECORDING_CUT_OFF, skipped = skipped, lost = lost)
        }
        Doubt::RecordingDamaged { skipped, lost, is_cut_off: false } => {
            say!(RECORDING_DAMAGED, skipped = skipped, lost = lost)
        }
        Doubt::AddressesFitted { fit, .. } => match fit {
            AddressFit::Narrowed => say!(ADDRESSES_NARROWED),
            AddressFit::Widened => say!(ADDRESSES_WIDENED),
            AddressFit::Folded => say!(ADDRESSES_FOLDED),
        },
        Doubt::ReplayedWithout { operation, requests } => match operation {
            ReplayedOperation::DurableWrite => say!(WITHOUT_FUA, requests = requests),
            ReplayedOperation::Zeroes => say!(WITHOUT_ZEROES, requests = requests),
            ReplayedOperation::Discard => say!(WITHOUT_DISCARDS, requests = requests),
        },
        Doubt::ReplayedWaits { share } => {
            say!(REPLAYED_WAITS, share = format!("{:.1}", 100.0 * share))
        }
        Doubt::ReplayedWindows { windows } => {
            let named = |window: &results::doubt::ReplayWindow| {
                say!(
                    REPLAY_WINDOW,
                    begin = format!("{:.3}", window.seconds[0]),
                    end = format!("{:.3}", window.seconds[1]),
                    p99 = latency(window.p99_seconds),
                )
            };
            let worst: Vec<String> =
                worst_windows(windows, WINDOWS_NAMED).iter().map(named).collect();
            say!(REPLAY_WORST_WINDOWS, windows = worst.join(", "))
        }
        _ => return None,
    })
}

/// What the audit found: with its figure where that is known.
fn of_audit(doubt: &Doubt) -> (String, String) {
    match doubt {
        Doubt::ReadFromCache { share } => {
            let detail = match share {
                Some(share) => say!(DEVICES_READ, share = percent(*share)),
                None => say!(MEMBERS_READ_LESS),
            };
            (say!(READ_FROM_CACHE), detail)
        }
        Doubt::NeverWritten { share } => {
            let detail = match share {
                Some(share) => say!(READ_SHARE_OF_HOLES, share = percent(*share)),
                None => say!(READ_HOLES),
            };
            (say!(NEVER_WRITTEN), detail)
        }
        Doubt::CompressedOrStillDirty { share } => {
            let detail = match share {
                Some(share) => say!(DEVICES_WROTE, share = percent(*share)),
                None => say!(MEMBERS_WROTE_LESS),
            };
            (say!(WRITTEN_BUT_NOT_THERE), detail)
        }
        Doubt::WriteAmplification { factor: Some(factor) } => {
            (say!(WROTE_MORE), say!(DEVICES_WROTE_TIMES, factor = format!("{factor:.1}")))
        }
        Doubt::Impossible { factor: Some(factor) } => {
            (say!(IMPOSSIBLE), say!(FASTER_THAN_DEVICES, factor = format!("{factor:.1}")))
        }
        Doubt::Impossible { factor: None } => (say!(IMPOSSIBLE), say!(FASTER_THAN_MEMBERS)),
        _ => (say!(WROTE_MORE), say!(MEMBERS_WROTE_MORE)),
    }
}

/// What a suite says of its own rows, and what is words already.
fn of_suite(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Unverified { because } => match because {
            UnverifiedReason::TurnedOff => say!(BECAUSE_TURNED_OFF),
            UnverifiedReason::BySuite => say!(BECAUSE_OF_SUITE),
            UnverifiedReason::NoData => say!(BECAUSE_NO_DATA),
            UnverifiedReason::Modelled => say!(BECAUSE_MODELLED),
            UnverifiedReason::UnknownContent => say!(BECAUSE_UNKNOWN),
            UnverifiedReason::PartlyPrepared => say!(BECAUSE_PARTLY_PREPARED),
        },
        Doubt::PartlyUnverified { share } => {
            say!(PARTLY_UNVERIFIED, share = format!("{:.1}", 100.0 * share))
        }
        Doubt::SizesRounded { block_bytes } => say!(SIZES_ROUNDED, bytes = block_bytes),
        Doubt::EndedEarly { requests } => say!(ENDED_EARLY, requests = requests),
        Doubt::RateNotReached { requests } => say!(RATE_NOT_REACHED, requests = requests),
        Doubt::WakingCounts => say!(WAKING_COUNTS),
        Doubt::OneOwner { outstanding, threads } => {
            say!(ONE_OWNER, outstanding = outstanding, threads = threads)
        }
        Doubt::RequestsLimited { bytes } => say!(REQUESTS_LIMITED, bytes = bytes),
        Doubt::ClientsEnded { clients, first, first_seconds, last, last_seconds } => say!(
            CLIENTS_ENDED,
            clients = clients,
            first = first,
            first_seconds = format!("{first_seconds:.1}"),
            last = last,
            last_seconds = format!("{last_seconds:.1}"),
        ),
        Doubt::TransactionsFailed { count } => say!(TRANSACTIONS_FAILED, count = count),
        Doubt::Note { text } => text.to_string(),
        // All others have a name and a detail.
        other => of_replay(other).unwrap_or_else(|| other.code().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use words::{Language, in_language};

    #[test]
    fn a_doubt_says_its_figure_in_words() {
        let read = |share| Doubt::ReadFromCache { share };
        let sentence = |share| doubt_sentence(&read(share));
        assert_eq!(
            sentence(Some(0.062)),
            "read from a cache: the devices read 6 % of the bytes asked for"
        );
        assert_eq!(
            sentence(Some(0.001)),
            "read from a cache: the devices read less than 1 % of the bytes asked for"
        );
        assert_eq!(sentence(None), "read from a cache: the members read less than was asked for");
        assert_eq!(
            doubt_legend(&read(Some(0.062))),
            "read-from-cache: the devices read 6 % of the bytes asked for"
        );
        assert_eq!(name(&read(None)), "read from a cache");
        assert_eq!(
            doubt_legend(&Doubt::NeverWritten { share: Some(1.0) }),
            "never-written: 100 % of what was read lies in holes, which no disk answers for"
        );
        assert_eq!(
            doubt_legend(&Doubt::OtherWork { share: Some(0.3) }),
            "not-quiet: other work took more than 10 % of the processors"
        );
    }

    #[test]
    fn sentences_are_in_the_language_of_the_report() {
        let in_japanese = |doubt: &Doubt| in_language(Language::Japanese, || doubt_sentence(doubt));
        assert!(in_japanese(&Doubt::NotSteady).starts_with("定常でない: "));
        // What a program said stays as it is.
        let note = Doubt::Note { text: "emulated".into() };
        assert_eq!(in_japanese(&note), "emulated");
    }
}
