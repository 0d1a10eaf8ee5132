//! Rust source without what a reader of code skips: comments and the insides of literals become
//! blanks.
//!
//! Lines and columns stay where they are, so what is found in the scrubbed text is found at the
//! same place in the file.

/// Source with comments and literals blanked out.
pub(crate) struct Scrubbed {
    /// As long as the source, byte for byte; line ends are kept.
    pub(crate) code: String,
    /// Ranges of bytes under `#[cfg(test)]`.
    tests: Vec<(usize, usize)>,
}

impl Scrubbed {
    /// Scrubs `source`.
    pub(crate) fn new(source: &str) -> Scrubbed {
        let code = blank(source);
        let tests = test_ranges(&code);
        Scrubbed { code, tests }
    }

    /// Whether the byte at `position` is only compiled for tests.
    pub(crate) fn is_test(&self, position: usize) -> bool {
        self.tests.iter().any(|(start, end)| (*start..*end).contains(&position))
    }

    /// The line of the byte at `position`, counted from 1.
    pub(crate) fn line(&self, position: usize) -> usize {
        1 + self.code.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Where `token` stands as a word of its own: no letter, digit or `_` before or after it.
    pub(crate) fn find<'a>(&'a self, token: &'a str) -> impl Iterator<Item = usize> + 'a {
        let bytes = self.code.as_bytes();
        let joined = move |index: usize, edge: u8| {
            is_word(edge) && bytes.get(index).is_some_and(|byte| is_word(*byte))
        };
        self.code.match_indices(token).map(|(position, _)| position).filter(move |position| {
            let before =
                position.checked_sub(1).is_some_and(|index| joined(index, token.as_bytes()[0]));
            let after = joined(position + token.len(), token.as_bytes()[token.len() - 1]);
            !before && !after
        })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The end of the block that opens at `open` (a `{`), just past its `}`; the end of the text if it
/// never closes.
pub(crate) fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => (),
        }
    }
    code.len()
}

fn blank(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut index = 0;
    while index < bytes.len() {
        let end = match bytes[index] {
            b'/' if bytes.get(index + 1) == Some(&b'/') => line_end(bytes, index),
            b'/' if bytes.get(index + 1) == Some(&b'*') => comment_end(bytes, index),
            b'"' => string_end(bytes, index),
            b'r' if !previous_is_word(bytes, index)
                || bytes[index - 1] == b'b'
                || bytes[index - 1] == b'c' =>
            {
                raw_string_end(bytes, index).unwrap_or(index)
            }
            b'\'' => character_end(bytes, index).unwrap_or(index),
            _ => index,
        };
        for byte in &mut code[index..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        index = end.max(index + 1);
    }
    // Only whole literals and comments were blanked, so what is left is whole characters.
    String::from_utf8(code).expect("blanks replace whole characters")
}

fn previous_is_word(bytes: &[u8], index: usize) -> bool {
    index.checked_sub(1).is_some_and(|before| is_word(bytes[before]))
}

fn line_end(bytes: &[u8], start: usize) -> usize {
    bytes[start..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |length| start + length)
}

fn comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut index = start;
    while index + 1 < bytes.len() {
        match &bytes[index..index + 2] {
            b"/*" => {
                depth += 1;
                index += 2;
            }
            b"*/" => {
                depth -= 1;
                index += 2;
                if depth == 0 {
                    return index;
                }
            }
            _ => index += 1,
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut index = start + 1;
    while index < bytes.len() {
        match bytes[index] {
            b'\\' => index += 2,
            b'"' => return index + 1,
            _ => index += 1,
        }
    }
    bytes.len()
}

/// The end of `r"…"` or `r#"…"#` that starts at its `r`.
fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let hashes = bytes[start + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = start + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let length = bytes[open + 1..].windows(close.len()).position(|window| window == close)?;
    Some(open + 1 + length + close.len())
}

/// The end of a character literal; a lifetime has none.
fn character_end(bytes: &[u8], start: usize) -> Option<usize> {
    let first = *bytes.get(start + 1)?;
    if first == b'\\' {
        let length = bytes[start + 3..].iter().position(|byte| *byte == b'\'')?;
        return Some(start + 3 + length + 1);
    }
    let width = match first {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    (bytes.get(start + 1 + width) == Some(&b'\'')).then_some(start + 2 + width)
}

fn test_ranges(code: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    for (start, _) in code.match_indices("#[cfg(") {
        let Some(attribute_end) = code[start..].find(']').map(|length| start + length + 1) else {
            continue;
        };
        let attribute = &code[start..attribute_end];
        if attribute.contains("not(")
            || !attribute
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .any(|word| word == "test")
        {
            continue;
        }
        // `#[cfg(test)] mod tests;` has no block here: its file is known by its name.
        let Some(next) =
            code[attribute_end..].find(['{', ';']).map(|length| attribute_end + length)
        else {
            continue;
        };
        if code.as_bytes()[next] == b'{' {
            ranges.push((start, block_end(code, next)));
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_nothing_moves() {
        let source = "let a = \"unsafe \\\" \
            {\"; // unsafe\nlet b = r#\"unsafe \"# ; /* unsafe /* { */ unsafe */ let c = 'x'; let d = '\\'';\n";
        let scrubbed = Scrubbed::new(source);
        assert_eq!(scrubbed.code.len(), source.len());
        assert!(
            !scrubbed.code.contains("unsafe") && !scrubbed.code.contains('{'),
            "{}",
            scrubbed.code
        );
        assert_eq!(scrubbed.code.find("let c"), source.find("let c"));
        assert_eq!(scrubbed.code.lines().count(), source.lines().count());
    }

    #[test]
    fn lifetimes_and_raw_names_are_no_literals() {
        let source = "fn f<'a>(x: &'a str) -> &'a str { r#match(x) } // ä 'ö'\nlet ü = 'ü'; let z \
            = b'\\n'; unsafe {}";
        let scrubbed = Scrubbed::new(source);
        assert!(scrubbed.code.starts_with("fn f<'a>(x: &'a str) -> &'a str { r#match(x) }"));
        assert_eq!(scrubbed.find("unsafe").count(), 1);
    }

    #[test]
    fn words_are_found_whole() {
        let scrubbed =
            Scrubbed::new("deny(unsafe_code); not_unsafe(); unsafe { x::Instant::now() }\n");
        assert_eq!(scrubbed.find("unsafe").collect::<Vec<_>>(), [33]);
        assert_eq!(scrubbed.find("Instant::now").count(), 1);
    }

    #[test]
    fn what_is_for_tests_only_is_known() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { { } }\n}\nfn c() \
            {}\n#[cfg(not(test))]\nfn d() {}\n#[cfg(test)]\nmod more;\n";
        let scrubbed = Scrubbed::new(source);
        let at = |text: &str| scrubbed.is_test(source.find(text).expect("in the source"));
        assert_eq!([at("fn a"), at("fn b"), at("fn c"), at("fn d")], [false, true, false, false]);
    }
}
