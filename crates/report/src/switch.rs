//! The other language of a page: a page is made in both, and what differs between them is what its
//! switch puts in place of what stands there.

use std::collections::BTreeMap;

/// What a reader sees or hears in a page, piece by piece: texts between tags, and labels in them.
pub(crate) fn pieces(page: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        pieces.push(before);
        // No template puts the sign into a value: there it is escaped.
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        let label = tag.split_once(" aria-label=\"").and_then(|(_, label)| label.split_once('"'));
        pieces.push(label.map_or("", |(label, _)| label));
        // What stands in these is not read; the card is a picture in the page's own language.
        let unread = [("script", "script"), ("style", "style"), ("svg class=\"card\"", "svg")];
        let ends = unread.iter().find(|(begin, _)| tag.starts_with(*begin));
        rest = match ends {
            Some((_, name)) => after.split_once(&format!("</{name}")).map_or("", |(_, rest)| rest),
            None => after,
        };
    }
    pieces.push(rest);
    pieces
}

/// As the browser has it: without the escapes that markup needs.
pub(crate) fn plain(piece: &str) -> String {
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    escapes.iter().fold(piece.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Piece of the first page -> the same of the second, where they differ. Empty when the pages are
/// not built alike, which no run should bring about.
pub(crate) fn dictionary(page: &str, other: &str) -> BTreeMap<String, String> {
    let (own, others) = (pieces(page), pieces(other));
    if own.len() != others.len() {
        return BTreeMap::new();
    }
    let differs = own.into_iter().zip(others).filter(|(one, other)| one != other);
    differs.map(|(one, other)| (plain(one), plain(other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_in_the_dictionary_and_nothing_else() {
        let one =
            "<p aria-label=\"a &amp; b\">one<b>2</b></p><script>if (a<b) one</script><i>two</i>";
        let other = one.replace("one<", "eins<").replace("a &amp; b", "c").replace("two", "zwei");
        let found = dictionary(one, &other);
        let expected = [("a & b", "c"), ("one", "eins"), ("two", "zwei")];
        let expected = expected.map(|(one, other)| (one.to_owned(), other.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        assert!(dictionary(one, "<p>").is_empty(), "built otherwise");
    }
}
