//! The known name that a wrong one was probably meant to be.

/// The candidate closest to `word`, if it is close enough to be a slip of the finger: at most one
/// edit for every three letters of the longer of the two, an exchange of neighbours counting as
/// one.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.to_lowercase().chars().collect();
    candidates
        .into_iter()
        .map(|candidate| {
            let other: Vec<char> = candidate.chars().collect();
            (distance(&letters, &other), letters.len().max(other.len()), candidate)
        })
        .filter(|(edits, longer, _)| *edits <= longer.div_ceil(3))
        .min_by_key(|(edits, _, _)| *edits)
        .map(|(_, _, candidate)| candidate)
}

/// Insertions, deletions, replacements and exchanges of neighbours that lead from one word to the
/// other (the restricted Damerau-Levenshtein distance).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for row in 0..=from.len() {
        for column in 0..=to.len() {
            rows[row][column] = if row == 0 || column == 0 {
                row + column
            } else {
                let replaced =
                    rows[row - 1][column - 1] + usize::from(from[row - 1] != to[column - 1]);
                let mut least =
                    replaced.min(rows[row - 1][column] + 1).min(rows[row][column - 1] + 1);
                if row > 1
                    && column > 1
                    && from[row - 1] == to[column - 2]
                    && from[row - 2] == to[column - 1]
                {
                    least = least.min(rows[row - 2][column - 2] + 1);
                }
                least
            };
        }
    }
    rows[from.len()][to.len()]
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
