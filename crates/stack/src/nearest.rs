//! The known name that a wrong one was probably meant to be.

/// The candidate closest to `word`, if it is close enough to be a slip of the finger: at most one
/// edit for every three letters of the longer of the two, an exchange of neighbours counting as
/// one.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    candidates
        .into_iter()
        .map(|candidate| {
            let edits = strsim::osa_distance(&word, candidate);
            (edits, letters.max(candidate.chars().count()), candidate)
        })
        .filter(|(edits, longer, _)| *edits <= longer.div_ceil(3))
        .min_by_key(|(edits, _, _)| *edits)
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let names = ["linear", "raid0", "raid10", "fault"];
        for (word, expected) in [
            ("raid00", Some("raid0")),
            ("riad0", Some("raid0")),
            ("Linear", Some("linear")),
            ("liner", Some("linear")),
            ("fualt", Some("fault")),
            ("cache", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }
}
