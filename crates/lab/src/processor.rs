//! What the processor of a guest costs, as plans and the command line state it.

use std::sync::Arc;

use bench::processor::{OnProcessor, Processor};
use block::Device;
use stack::size;
use words::{Text, statement};

use crate::catalogue;

/// Reads `call=5us,copy=1GB/s`.
///
/// # Errors
/// One line: what is wrong, and what would be right.
pub fn parse(text: &str) -> Result<Processor, Text> {
    let wrong = |why: Text| statement!(catalogue::PROCESSOR_EXPECTED, text = text, why = why);
    let (mut call, mut copy) = (None, None);
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("call", time)) if call.is_none() => {
                call = Some(size::parse_duration(time)?);
            }
            Some(("copy", rate)) if copy.is_none() => {
                let rate = rate.strip_suffix("/s");
                let rate = rate.ok_or_else(|| wrong(catalogue::RATE_ENDS.into()))?;
                copy = Some(size::parse(rate)?.bytes);
            }
            _ => return Err(wrong(statement!(catalogue::PROCESSOR_PART, part = part))),
        }
    }
    match (call, copy) {
        (Some(_), Some(0)) => Err(wrong(catalogue::COPIES_NOTHING.into())),
        (Some(call), Some(copy_bytes_per_second)) => Ok(Processor { call, copy_bytes_per_second }),
        _ => Err(wrong(catalogue::PROCESSOR_BOTH.into())),
    }
}

/// The device as a program on such a processor uses it.
#[must_use]
pub fn under(device: Box<dyn Device>, processor: Option<Processor>) -> Box<dyn Device> {
    match processor {
        Some(processor) => Box::new(OnProcessor::new(Arc::from(device), processor)),
        None => device,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        for text in ["call=5us,copy=1GB/s", "call=0s,copy=350MB/s", "call=1ms,copy=1536B/s"] {
            assert_eq!(parse(text).expect("a processor").to_string(), text);
        }
        let apart = parse("copy=1MiB/s call=2us").expect("in any order");
        assert_eq!((apart.call, apart.copy_bytes_per_second), (Duration::from_micros(2), 1 << 20));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("", "both have to be said"),
            ("call=5us", "both have to be said"),
            ("call=5us,copy=1GB", "a rate ends in /s"),
            ("call=5us,copy=0/s", "nothing would ever be copied"),
            ("call=5,copy=1GB/s", "has no unit"),
            ("call=5us,call=6us,copy=1GB/s", "`call=6us` is not understood"),
            ("fast", "`fast` is not understood"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
