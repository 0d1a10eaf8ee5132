//! Bytes of a text file as text, in the encodings in which results are saved.

use encoding_rs::{SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes as text: UTF-8, UTF-16 by its mark or by its zeros, Shift-JIS as a Japanese Windows saves
/// it, or else the letters of a western one. Figures and names of rows are the same in all of
/// these.
#[must_use]
pub fn decoded(bytes: &[u8]) -> String {
    // A mark comes before all else.
    let text = match bytes {
        [0xff, 0xfe, ..] | [1..=0x7f, 0, 1..=0x7f, 0, ..] => UTF_16LE.decode(bytes).0,
        [0xfe, 0xff, ..] | [0, 1..=0x7f, 0, 1..=0x7f, ..] => UTF_16BE.decode(bytes).0,
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.trim_start_matches('\u{feff}').into(),
            Err(_) => match SHIFT_JIS.decode(bytes) {
                // In a western text its letters make characters that no font has.
                (text, _, false) if !text.contains(is_private) => text,
                _ => WINDOWS_1252.decode(bytes).0,
            },
        },
    };
    text.into_owned()
}

fn is_private(letter: char) -> bool {
    ('\u{e000}'..='\u{f8ff}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "Test : 1024 MiB [C: 50.0%]\r\n  コメント: 私の SSD\r\n";
        let wide = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to).collect::<Vec<u8>>();
        let (little, big) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
        let japanese = SHIFT_JIS.encode(text).0.into_owned();
        for bytes in [
            text.as_bytes().to_vec(),
            [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat(),
            [&[0xff, 0xfe], &little[..]].concat(),
            [&[0xfe, 0xff], &big[..]].concat(),
            little,
            big,
            japanese,
        ] {
            assert_eq!(decoded(&bytes), text);
        }
        assert_eq!(decoded(b"Gr\xf6\xdfe: 5 MB"), "Größe: 5 MB");
        assert_eq!(decoded(b""), "");
        assert_eq!(decoded(&[0xff]), "ÿ");
    }
}
