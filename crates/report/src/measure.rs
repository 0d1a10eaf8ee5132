//! How wide a text may become: the page takes the reader's own font, so charts keep room for the
//! widest that is usual.
//!
//! The advances are those of DejaVu Sans, which is as wide as Verdana and wider than system fonts
//! by a tenth to a fifth. Thin letters get what a font of one width gives all of them: where Debian
//! has Chromium and one family of fonts, that is what `system-ui` means.

/// Advances of the characters from space to tilde, in hundredths of the font's size, rounded up.
const REGULAR: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75,
    79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,
    64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
];
/// The same in bold.
const BOLD: [u8; 95] = [
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70,
    70, 70, 70, 40, 40, 84, 84, 84, 59, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 38, 78, 64, 100,
    84, 86, 74, 86, 78, 73, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72,
    68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72,
    37, 72, 84,
];
/// Least advance of a character: that of Liberation Mono and DejaVu Sans Mono.
const ONE_WIDTH: u8 = 61;
/// What any other character gets: an ideograph's width.
const OTHER: u8 = 100;

/// A way to set text in a chart, as the page's style sheet has it.
#[derive(Clone, Copy)]
pub(crate) enum Face {
    /// 12 pixels.
    Text,
    /// 12 pixels, bold.
    Bold,
    /// 11 pixels: ticks, names of axes, hints.
    Small,
}

impl Face {
    fn advances(self) -> (&'static [u8; 95], f64) {
        match self {
            Face::Text => (&REGULAR, 12.0),
            Face::Bold => (&BOLD, 12.0),
            Face::Small => (&REGULAR, 11.0),
        }
    }
}

/// Pixels that a text takes at most.
pub(crate) fn width(text: &str, face: Face) -> f64 {
    let (advances, size) = face.advances();
    let hundredths = |character: char| match character {
        ' '..='~' => advances[character as usize - 32].max(ONE_WIDTH),
        // A figure space is a digit wide.
        '\u{2007}' => advances[16],
        '\u{202f}' | '·' | '–' => ONE_WIDTH,
        _ => OTHER,
    };
    text.chars().map(|character| f64::from(hundredths(character)) * size / 100.0).sum()
}

/// A text in lines of at most `room` pixels, broken at blanks; of more than `lines` the last says
/// that it goes on.
pub(crate) fn broken(text: &str, face: Face, room: f64, lines: usize) -> Vec<String> {
    let mut made: Vec<String> = vec![String::new()];
    for (has_blank, word) in escape::words(text) {
        let line = made.last_mut().expect("there is one from the beginning");
        let blank = if has_blank && !line.is_empty() { " " } else { "" };
        let joined = format!("{line}{blank}{word}");
        match width(&joined, face) <= room || line.is_empty() {
            true => *line = joined,
            false => made.push(word.to_owned()),
        }
    }
    if made.len() > lines {
        made.truncate(lines);
        if let Some(last) = made.last_mut() {
            *last = format!("{last} …");
        }
    }
    made.iter().map(|line| fitted(line, face, room)).collect()
}

/// A text that takes no more than `room` pixels: what is too much is left out of its middle, since
/// what tells names apart stands at either end.
pub(crate) fn fitted(text: &str, face: Face, room: f64) -> String {
    let mut shown = text.to_owned();
    let count = text.chars().count();
    let mut kept = count;
    while width(&shown, face) > room && kept > 3 {
        kept -= 1;
        let tail = kept / 3;
        shown = text
            .chars()
            .take(kept - tail)
            .chain(['…'])
            .chain(text.chars().skip(count - tail))
            .collect();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fitted_fits_and_keeps_both_ends() {
        for text in [
            "sequential write at the very end 1048576",
            "配列の構成は長い名前を持つことがあります",
            &"W".repeat(300),
        ] {
            for room in [60.0, 100.0, 204.0] {
                let shown = fitted(text, Face::Bold, room);
                assert!(width(&shown, Face::Bold) <= room, "{shown}");
                assert!(
                    shown.chars().last() == text.chars().last()
                        && shown.chars().next() == text.chars().next(),
                    "{shown}"
                );
            }
        }
        assert_eq!(fitted("short", Face::Text, 60.0), "short");
    }
}
