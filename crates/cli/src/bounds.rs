//! Whole numbers of options and keys, within bounds, refused in the reader's language.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::{Bound, RangeBounds};

use clap::builder::{StringValueParser, TypedValueParser};
use words::{Message, Text};

use crate::catalogue::{self, statement};

/// What reads a whole number within bounds.
pub(crate) fn within<T>(
    bounds: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T>
where
    T: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    StringValueParser::new().try_map(move |text| number(&text, &bounds))
}

fn number<T: TryFrom<u64>>(text: &str, bounds: &impl RangeBounds<u64>) -> Result<T, Text> {
    let number: i128 = text.parse().map_err(|error| no_number(&error))?;
    let fits = u64::try_from(number).ok().filter(|number| bounds.contains(number));
    let outside = || statement!(NOT_WITHIN, number = number.to_string(), bounds = shown(bounds));
    fits.and_then(|number| T::try_from(number).ok()).ok_or_else(outside)
}

/// Why a text is no whole number.
pub(crate) fn no_number(error: &ParseIntError) -> Message {
    match error.kind() {
        IntErrorKind::Empty => catalogue::NUMBER_MISSING,
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => catalogue::WHOLE_NUMBER_TOO_LARGE,
        _ => catalogue::NO_WHOLE_NUMBER,
    }
}

/// `1..=256`, or `1..` where there is no end.
fn shown(bounds: &impl RangeBounds<u64>) -> String {
    let least = match bounds.start_bound() {
        Bound::Included(least) => *least,
        Bound::Excluded(before) => before + 1,
        Bound::Unbounded => 0,
    };
    match bounds.end_bound() {
        Bound::Included(most) => format!("{least}..={most}"),
        Bound::Excluded(end) => format!("{least}..{end}"),
        Bound::Unbounded => format!("{least}.."),
    }
}

#[cfg(test)]
mod tests {
    use words::{Language, in_language};

    use super::*;

    #[test]
    fn what_is_no_number_within_its_bounds_is_refused_in_both_languages() {
        assert_eq!(number::<u32>("256", &(1..=256)), Ok(256));
        assert_eq!(number::<u64>(&u64::MAX.to_string(), &(1..)), Ok(u64::MAX));
        for (text, english, japanese) in [
            ("0", "0 is not in 1..=300", "0 は 1..=300 の範囲外です"),
            ("-1", "-1 is not in 1..=300", "-1 は 1..=300 の範囲外です"),
            // Within the bounds, and more than the type holds.
            ("300", "300 is not in 1..=300", "300 は 1..=300 の範囲外です"),
            ("many", "invalid digit found in string", "整数ではありません"),
            ("", "cannot parse integer from empty string", "数値がありません"),
        ] {
            let why = number::<u8>(text, &(1..=300)).unwrap_err();
            assert_eq!(why.english(), english);
            assert_eq!(in_language(Language::Japanese, || why.to_string()), japanese);
        }
        assert_eq!(shown(&(1..)), "1..");
    }
}
