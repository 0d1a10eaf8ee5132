//! The one way in which columns of text are aligned.

use std::borrow::Cow;

use crate::line;

/// Between two columns.
const GAP: &str = "  ";

/// Width in columns of a terminal; every character that is printed counts as one wide.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().count()
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
    }
}
