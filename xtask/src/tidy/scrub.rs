//! Rust source without what a reader of code skips: comments and the insides of literals become
//! blanks.
//!
//! Lines and columns stay where they are, so what is found in the scrubbed text is found at the
//! same place in the file.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

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
fn block_end(code: &str, open: usize) -> usize {
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
    // What is no Rust does not compile either: it is looked at as it stands.
    let Ok(tokens) = source.parse::<TokenStream>() else { return source.to_owned() };
    let mut code: Vec<u8> =
        source.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }).collect();
    keep(tokens, source, &mut code);
    String::from_utf8(code).expect("whole tokens are kept")
}

/// Copies the tokens that are no literals to their places.
fn keep(tokens: TokenStream, source: &str, code: &mut [u8]) {
    let mut copy = |span: Span, text: &str| {
        let range = span.byte_range();
        // The tokens that a documentation comment stands for are not what is written there.
        if source.get(range.clone()) == Some(text) {
            code[range].copy_from_slice(text.as_bytes());
        }
    };
    let mut inner = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(&group);
                copy(group.span_open(), open);
                copy(group.span_close(), close);
                inner.push(group.stream());
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with(|first: char| first.is_ascii_digit()) {
                    copy(literal.span(), &text);
                }
            }
            other => copy(other.span(), &other.to_string()),
        }
    }
    inner.into_iter().for_each(|tokens| keep(tokens, source, code));
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

/// What a group stands between.
pub(super) fn delimiters(group: &Group) -> (&'static str, &'static str) {
    match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
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
