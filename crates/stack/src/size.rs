//! Sizes and durations as people write them: the one place where they are read. They are printed by
//! `block`, which every layer sees, and what it prints is read back here.
//!
//! | text | means |
//! | --- | --- |
//! | `65536` | bytes |
//! | `64KiB`, `1.5GiB` | 1024-based, as IEC 80000-13 has it |
//! | `64kB`, `2GB` | 1000-based |
//! | `64K` | 1024-based, with a note: it could mean either |
//! | `50ms`, `2s`, `10min` | a duration; also `ns`, `us`, `h` |

use std::fmt;
use std::time::Duration;

pub use block::{duration_text, size_text as text};
use words::{Message, Text, statement};

/// What is said of a text that is no size or duration, in every language.
pub(crate) mod catalogue {
    words::catalogue! {
        EXPECTED: "{reason}; expected {example}", "{reason}。正しい例: {example}";
        SIZE_EXAMPLES: "a size such as 4096, 64KiB (1024-based) or 64kB (1000-based)",
            "4096、64KiB(1024 単位)、64kB(1000 単位)などのサイズ";
        DURATION_EXAMPLES: "a duration such as 50ms, 2s or 10min", "50ms、2s、10min などの時間";
        NO_SIZE: "`{text}` is no size", "`{text}` はサイズではありません";
        UNKNOWN_UNIT: "`{text}` has the unknown unit `{unit}`", "`{text}` の単位 `{unit}` は不明です";
        NO_WHOLE_BYTES: "`{text}` is no whole number of bytes", "`{text}` は整数バイトになりません";
        PAST_BYTES: "`{text}` is past 2^64 bytes", "`{text}` は 2^64 バイトを超えています";
        TAKEN_AS: "{text} was taken as {size} (1024-based); write {binary} or {decimal} to say which is meant",
            "{text} は {size}(1024 単位)と解釈しました。{binary} か {decimal} と書くとはっきりします";
        NO_DURATION: "`{text}` is no duration", "`{text}` は時間ではありません";
        NO_UNIT: "`{text}` has no unit", "`{text}` に単位がありません";
        NO_WHOLE_NANOSECONDS: "`{text}` is no whole number of nanoseconds", "`{text}` は整数ナノ秒になりません";
        TOO_LONG: "`{text}` is too long", "`{text}` は長すぎます";
    }
}

/// A size as read, with what its writer should know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// In bytes.
    pub bytes: u64,
    /// How an ambiguous unit was taken.
    pub note: Option<Text>,
}

/// A text that is no size or no duration: one line that says why and what would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong with it.
    pub reason: Text,
    /// What would be right.
    pub expected: Text,
}

impl UnitError {
    /// Both, in one line.
    #[must_use]
    pub fn text(&self) -> Text {
        let (reason, example) = (&self.reason, &self.expected);
        statement!(catalogue::EXPECTED, reason = reason, example = example)
    }
}

impl From<UnitError> for Text {
    fn from(error: UnitError) -> Text {
        error.text()
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

impl std::error::Error for UnitError {}

/// Reads a size.
///
/// # Errors
/// When the text is no number with a unit, comes to no whole number of bytes, or is past 2^64.
pub fn parse(text: &str) -> Result<Size, UnitError> {
    let wrong = |reason: Text| UnitError { reason, expected: catalogue::SIZE_EXAMPLES.into() };
    let error = |what: Message| wrong(statement!(what, text = text));
    let (number, unit) = Number::split(text).ok_or_else(|| error(catalogue::NO_SIZE))?;
    let (bytes_each, bare) = size_unit(unit).ok_or_else(|| wrong(unknown_unit(text, unit)))?;
    let bytes = number.times(bytes_each).ok_or_else(|| error(catalogue::NO_WHOLE_BYTES))?;
    let bytes = u64::try_from(bytes).map_err(|_| error(catalogue::PAST_BYTES))?;
    let note = bare.then(|| {
        let letter = unit.to_uppercase();
        let thousand = if letter == "K" { "k" } else { &letter };
        statement!(
            catalogue::TAKEN_AS,
            text = text,
            size = self::text(bytes),
            binary = format!("{letter}iB"),
            decimal = format!("{thousand}B"),
        )
    });
    Ok(Size { bytes, note })
}

fn unknown_unit(text: &str, unit: &str) -> Text {
    statement!(catalogue::UNKNOWN_UNIT, text = text, unit = unit)
}

/// Bytes in a unit, and whether the unit could mean something else.
fn size_unit(unit: &str) -> Option<(u128, bool)> {
    if matches!(unit, "" | "B") {
        return Some((1, false));
    }
    let power = match unit.as_bytes()[0].to_ascii_lowercase() {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return None,
    };
    match &unit[1..] {
        "" => Some((1024_u128.pow(power), true)),
        "B" => Some((1000_u128.pow(power), false)),
        rest if rest.eq_ignore_ascii_case("ib") => Some((1024_u128.pow(power), false)),
        _ => None,
    }
}

/// Reads a duration; a plain `0` needs no unit.
///
/// # Errors
/// When the text is no number with a unit of time, comes to no whole number of nanoseconds, or is
/// past 2^64 of them.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = |reason: Text| UnitError { reason, expected: catalogue::DURATION_EXAMPLES.into() };
    let error = |what: Message| wrong(statement!(what, text = text));
    let (number, unit) = Number::split(text).ok_or_else(|| error(catalogue::NO_DURATION))?;
    let nanoseconds_each: u128 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if number.digits == 0 => 1,
        "" => return Err(error(catalogue::NO_UNIT)),
        _ => return Err(wrong(unknown_unit(text, unit))),
    };
    let nanoseconds =
        number.times(nanoseconds_each).ok_or_else(|| error(catalogue::NO_WHOLE_NANOSECONDS))?;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| error(catalogue::TOO_LONG))
}

/// A decimal number, exactly: `digits` over 10^`places`.
struct Number {
    digits: u128,
    places: u32,
}

impl Number {
    /// Number and unit; one space may stand between them.
    fn split(text: &str) -> Option<(Number, &str)> {
        let end = text
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || number.ends_with('.') || number.len() > 30 {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some((
            Number { digits, places: u32::try_from(fraction.len()).ok()? },
            unit.strip_prefix(' ').unwrap_or(unit),
        ))
    }

    fn times(&self, each: u128) -> Option<u128> {
        let product = self.digits.checked_mul(each)?;
        let parts = 10_u128.pow(self.places);
        product.is_multiple_of(parts).then(|| product / parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_mean_what_they_say() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("64KiB", 65536),
            ("64 KiB", 65536),
            ("64kib", 65536),
            ("4kB", 4000),
            ("4KB", 4000),
            ("1.5GiB", 3 << 29),
            ("0.5KiB", 512),
            ("2TB", 2_000_000_000_000),
            ("16383PiB", 16383 << 50),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(Size { bytes, note: None }), "{text}");
        }
    }

    #[test]
    fn a_bare_letter_is_1024_based_and_noted() {
        let size = parse("64K").expect("a size");
        assert_eq!(size.bytes, 65536);
        assert_eq!(
            size.note.map(|note| note.to_string()).as_deref(),
            Some("64K was taken as 64KiB (1024-based); write KiB or kB to say which is meant")
        );
        let size = parse("2g").expect("a size");
        assert_eq!(
            (size.bytes, size.note.is_some_and(|note| note.english().contains("GiB or GB"))),
            (2 << 30, true)
        );
    }

    #[test]
    fn what_is_no_size_says_so() {
        for (text, part) in [
            ("", "is no size"),
            ("KiB", "is no size"),
            ("-1", "is no size"),
            ("1.KiB", "is no size"),
            ("1.2.3", "is no size"),
            ("64Kb", "unknown unit `Kb`"),
            ("64kilo", "unknown unit"),
            ("0.3KiB", "no whole number of bytes"),
            ("0.5", "no whole number of bytes"),
            ("16384PiB", "past 2^64"),
            ("999999999999999999999999999999", "past 2^64"),
            ("64é", "unknown unit"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(
                error.contains(part) && error.contains("expected a size such as"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn printed_sizes_and_durations_read_back() {
        let mut random = reactor::Random::with_seed(1);
        for _ in 0..2000 {
            let number = random.u64(..) >> random.u32(0..64) << random.u32(0..64);
            assert_eq!(parse(&text(number)).map(|size| size.bytes), Ok(number));
            let duration = Duration::from_nanos(number);
            assert_eq!(parse_duration(&duration_text(duration)), Ok(duration));
        }
        assert_eq!([0, 1000, 1 << 20, 3 << 29].map(text), ["0", "1000", "1MiB", "1536MiB"]);
    }

    #[test]
    fn durations_need_a_unit() {
        for (text, nanoseconds) in [
            ("50ms", 50_000_000),
            ("1.5s", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("0", 0),
            ("8us", 8000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
        for (text, part) in [
            ("5", "has no unit"),
            ("5m", "unknown unit `m`"),
            ("s", "no duration"),
            ("0.1ns", "whole number"),
        ] {
            let error = parse_duration(text).expect_err(text).to_string();
            assert!(error.contains(part) && error.contains("50ms"), "{text}: {error}");
        }
    }
}
