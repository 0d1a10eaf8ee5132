//! The one way in which columns of text are aligned.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::line;

/// Between two columns.
const GAP: &str = "  ";

/// Width in columns of a terminal: letters of Chinese, Japanese and Korean are two wide.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text and as many blanks as make it so wide.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// What a line does not begin with, and what it does not end with, where it is broken between two
/// letters of Japanese: most of JIS X 4051's rule.
const NOT_FIRST: &str = "、。，．,.:;!?)]}」』）〜ー・％%×…ぁぃぅぇぉっゃゅょァィゥェォッャュョ";
const NOT_LAST: &str = "([{「『（";

/// The words of a paragraph, each with whether a blank stands before it: parts between which a line
/// may be broken. Text with wide letters is broken between any two of them.
pub fn words(paragraph: &str) -> impl Iterator<Item = (bool, &str)> {
    paragraph.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let is_wide = |letter: char| letter.width() == Some(2);
        let mut starts = vec![0];
        let mut before: Option<char> = None;
        for (at, letter) in word.char_indices() {
            if before.is_some_and(|before| {
                (is_wide(before) || is_wide(letter))
                    && !NOT_FIRST.contains(letter)
                    && !NOT_LAST.contains(before)
            }) {
                starts.push(at);
            }
            before = Some(letter);
        }
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([word.len()]).collect();
        starts.into_iter().zip(ends).map(move |(start, end)| (start == 0, &word[start..end]))
    })
}

/// Rows of cells as lines whose columns stand under one another, two blanks apart, without blanks
/// at the end; `right` are the columns that stand right, as figures do. A row may be shorter than
/// others. No cell makes a line of its own.
#[must_use]
pub fn columns<C: AsRef<str>>(rows: &[Vec<C>], right: &[usize]) -> Vec<String> {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| line(cell.as_ref())).collect()).collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let aligned = |row: &Vec<Cow<'_, str>>| {
        let mut text = String::new();
        for (column, (cell, widest)) in row.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(widest - width(cell));
            text += if column == 0 { "" } else { GAP };
            text += &if right.contains(&column) {
                format!("{blanks}{cell}")
            } else {
                format!("{cell}{blanks}")
            };
        }
        text.truncate(text.trim_end().len());
        text
    };
    rows.iter().map(aligned).collect()
}

/// A line, broken at spaces, and behind Japanese marks, so that each part fits. Nothing else is
/// changed, and a word that does not fit stays whole.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_inclusive([' ', '、', '。']) {
        let is_full = width(&line) + width(word.trim_end()) > columns;
        if is_full && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        line.push_str(word);
    }
    lines.push(line.trim_end().to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let rows = [vec!["name", "n", "note"], vec!["a", "1"], vec!["lång", "100", "a\nb"]];
        assert_eq!(
            columns(&rows, &[1]),
            ["name    n  note", "a       1", r"lång  100  a\nb"],
            "and no cell ends its line"
        );
        assert!(columns::<&str>(&[], &[]).is_empty());
        let wide = columns(&[vec!["構成", "値"], vec!["raid5", "1"]], &[1]);
        assert_eq!(wide, ["構成   値", "raid5   1"], "letters of Japanese are two wide");
        assert_eq!((padded("値", 4).as_str(), padded("値", 1).as_str()), ("値  ", "値"));
    }

    #[test]
    fn japanese_is_broken_between_letters_but_not_before_a_stop() {
        let parts = |text| words(text).collect::<Vec<_>>();
        assert_eq!(parts("two words"), [(true, "two"), (true, "words")]);
        assert_eq!(
            parts("推奨: raid0(1.2×)。次"),
            [(true, "推"), (false, "奨:"), (true, "raid0(1.2×)。"), (false, "次")]
        );
        assert_eq!(parts("あっ「え"), [(true, "あっ"), (false, "「え")]);
    }

    #[test]
    fn long_lines_are_broken_at_spaces() {
        assert_eq!(wrapped("3024 trials, about 2:27 min", 24), ["3024 trials, about 2:27", "min"]);
        assert_eq!(wrapped("a  b ", 80), ["a  b"]);
        assert_eq!(wrapped("unbreakable word", 4), ["unbreakable", "word"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("読み込み、書き込み", 12), ["読み込み、", "書き込み"]);
    }
}
