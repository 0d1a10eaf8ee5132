//! What is said before it is in any language: a refusal is a value, and its sentence is made where
//! it is printed.
//!
//! ```text
//! statement!(IS_MOUNTED, point = "/mnt") ── {code, names} ─┐         ┌─ Display: in the language of what is being made
//! at("/dev/sdb") ────────────────────────── a place ───────┼─ Text ──┤
//! "No such file or directory" ───────────── as it stands ──┘         └─ serde: {"code", "names", "en", "ja"}
//! ```
//!
//! A text keeps its parts also from one process to another: a server's refusal is read by its
//! client, and said in the language of that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Language, Message, fill, in_language, language};

/// A message of a catalogue with what goes into its places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    code: Cow<'static, str>,
    names: BTreeMap<Cow<'static, str>, Text>,
    en: Cow<'static, str>,
    ja: Cow<'static, str>,
}

impl Statement {
    /// A message with its places filled, as [`statement!`](crate::statement) makes it.
    #[must_use]
    pub fn new(message: Message, names: Vec<(&'static str, Text)>) -> Statement {
        Statement {
            code: message.code.to_lowercase().into(),
            names: names.into_iter().map(|(name, text)| (name.into(), text)).collect(),
            en: message.english.into(),
            ja: message.japanese.into(),
        }
    }

    /// Which message it is, whatever it says: `is_mounted`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What goes into one of its places.
    #[must_use]
    pub fn name(&self, place: &str) -> Option<&Text> {
        self.names.get(place)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let template = match language() {
            Language::English => &self.en,
            Language::Japanese => &self.ja,
        };
        f.write_str(&fill(template, |name| self.name(name).map(Text::to_string)))
    }
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TextPart {
    /// As it stands: names, figures, what another program said.
    Plain(String),
    /// Where it was, or what was being done; a colon comes after it.
    Place {
        /// The place.
        at: Text,
    },
    /// A message of a catalogue.
    Statement(Statement),
}

impl TextPart {
    fn codes(&self) -> Vec<&str> {
        match self {
            TextPart::Plain(_) => Vec::new(),
            TextPart::Place { at } => at.codes(),
            TextPart::Statement(statement) => {
                let below = statement.names.values().flat_map(Text::codes);
                std::iter::once(statement.code()).chain(below).collect()
            }
        }
    }
}

impl fmt::Display for TextPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextPart::Plain(text) => f.write_str(text),
            TextPart::Place { at } => write!(f, "{at}: "),
            TextPart::Statement(statement) => write!(f, "{statement}"),
        }
    }
}

/// What is said, as its parts. Shown, it is in the language of what is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TextForm", into = "TextForm")]
pub struct Text(Vec<TextPart>);

/// How a text is written down: what is only one part that stands as it is has no list around it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextForm {
    Plain(String),
    Parts(Vec<TextPart>),
}

impl From<TextForm> for Text {
    fn from(form: TextForm) -> Text {
        match form {
            TextForm::Plain(text) => text.into(),
            TextForm::Parts(parts) => Text(parts),
        }
    }
}

impl From<Text> for TextForm {
    fn from(mut text: Text) -> TextForm {
        match &mut text.0[..] {
            [TextPart::Plain(plain)] => TextForm::Plain(std::mem::take(plain)),
            _ => TextForm::Parts(text.0),
        }
    }
}

impl Text {
    /// What a library or another program says, in the one language that it has. What we say
    /// ourselves is a text already.
    #[must_use]
    pub fn verbatim(said: &impl fmt::Display) -> Text {
        said.to_string().into()
    }

    /// What is a text, or becomes one: what goes into a place of a message.
    #[must_use]
    pub fn of(value: impl Into<Text>) -> Text {
        value.into()
    }

    /// Its parts, in their order.
    #[must_use]
    pub fn parts(&self) -> &[TextPart] {
        &self.0
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// It in English, whatever is being made: for what programs read, and for what is kept.
    #[must_use]
    pub fn english(&self) -> String {
        in_language(Language::English, || self.to_string())
    }

    /// The same with where it was in front.
    #[must_use]
    pub fn at(mut self, place: impl Into<Text>) -> Text {
        self.0.insert(0, TextPart::Place { at: place.into() });
        self
    }

    /// The same without the place that stands first, for where it is shown beside that.
    #[must_use]
    pub fn without_place(mut self) -> Text {
        if let Some(TextPart::Place { .. }) = self.0.first() {
            self.0.remove(0);
        }
        self
    }

    /// The same without these places, wherever they stand: also in what another program says.
    #[must_use]
    pub fn without(mut self, places: &[&str]) -> Text {
        let is_one = |at: &Text| places.contains(&at.english().as_str());
        self.0.retain(|part| !matches!(part, TextPart::Place { at } if is_one(at)));
        for part in &mut self.0 {
            if let TextPart::Plain(text) = part {
                for place in places {
                    *text = text.replace(&format!("{place}: "), "");
                }
            }
        }
        self
    }

    /// The same with more at its end.
    #[must_use]
    pub fn and(mut self, more: impl Into<Text>) -> Text {
        for part in more.into().0 {
            match (self.0.last_mut(), part) {
                (Some(TextPart::Plain(text)), TextPart::Plain(more)) => text.push_str(&more),
                (_, part) => self.0.push(part),
            }
        }
        self
    }

    /// Several, with the same between each two.
    #[must_use]
    pub fn joined(texts: impl IntoIterator<Item = impl Into<Text>>, between: &str) -> Text {
        texts.into_iter().enumerate().fold(Text::default(), |all, (place, text)| {
            if place == 0 { text.into() } else { all.and(between).and(text) }
        })
    }

    /// The same with each value in the places of its messages, and each place where it was, as
    /// `shown` gives it; what stands between them stays.
    #[must_use]
    pub fn with_values(mut self, shown: &dyn Fn(&str) -> String) -> Text {
        for part in &mut self.0 {
            let within: Vec<&mut Text> = match part {
                TextPart::Plain(_) => Vec::new(),
                TextPart::Place { at } => vec![at],
                TextPart::Statement(statement) => statement.names.values_mut().collect(),
            };
            for text in within {
                *text = match &text.0[..] {
                    [TextPart::Plain(value)] => shown(value).into(),
                    _ => std::mem::take(text).with_values(shown),
                };
            }
        }
        self
    }

    /// The codes of its messages, and of those in their places.
    #[must_use]
    pub fn codes(&self) -> Vec<&str> {
        self.0.iter().flat_map(TextPart::codes).collect()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "{part}"))
    }
}

/// What a value is refused with where it is read ([`std::str::FromStr`]).
impl std::error::Error for Text {}

impl From<String> for Text {
    fn from(text: String) -> Text {
        if text.is_empty() { Text::default() } else { Text(vec![TextPart::Plain(text)]) }
    }
}

impl From<Statement> for Text {
    fn from(statement: Statement) -> Text {
        Text(vec![TextPart::Statement(statement)])
    }
}

impl From<Message> for Text {
    /// A message without places.
    fn from(message: Message) -> Text {
        Statement::new(message, Vec::new()).into()
    }
}

/// What stands as it is.
macro_rules! plain {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Text {
            fn from(text: $kind) -> Text {
                text.to_string().into()
            }
        })*
    };
}
plain!(&str, &&str, &String, Cow<'_, str>, char, fmt::Arguments<'_>);
plain!(std::path::Display<'_>, &std::path::Display<'_>);
plain!(u8, u16, u32, u64, usize, i32, i64, f64);

impl From<&Text> for Text {
    fn from(text: &Text) -> Text {
        text.clone()
    }
}

/// A message of a catalogue with its places filled, as a [`Text`] in no language yet:
/// `statement!(catalogue::NAME, place = value, …)`. What is filled in may be a text itself.
#[macro_export]
macro_rules! statement {
    ($message:expr $(, $place:ident = $value:expr)* $(,)?) => {
        $crate::Text::from($crate::Statement::new(
            $message,
            vec![$((stringify!($place), $crate::Text::of($value))),*],
        ))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::catalogue! {
        HOLDS: "it carries {what}; choose another", "{what}があります。別のものを選んでください";
        MARK: "a signature: {signature}", "署名 {signature} ";
        LOOKING: "looking at it", "確認中";
    }

    fn held() -> Text {
        let what = statement!(MARK, signature = "{what}");
        statement!(HOLDS, what = what).at(std::path::Path::new("/dev/sdb").display())
    }

    #[test]
    fn a_statement_is_in_the_language_of_what_is_being_made() {
        let (english, japanese) = (
            "/dev/sdb: it carries a signature: {what}; choose another",
            "/dev/sdb: 署名 {what} があります。別のものを選んでください",
        );
        assert_eq!(held().to_string(), english);
        let said = in_language(Language::Japanese, || (held().to_string(), held().english()));
        assert_eq!(said, (japanese.to_owned(), english.to_owned()));
        assert_eq!(held().codes(), ["holds", "mark"]);
        assert_eq!(held().without_place().to_string(), english["/dev/sdb: ".len()..]);
        let said = held().at("mount").and(". mount: no");
        let shorter = said.without(&["mount", "/dev/sdb"]).to_string();
        assert_eq!(shorter, format!("{}. no", &english["/dev/sdb: ".len()..]));
        assert_eq!(Text::from("a: b").without_place().to_string(), "a: b", "no place, but a text");
    }

    /// Between processes, and for those who read JSON.
    #[test]
    fn a_text_is_the_same_when_it_is_read_back() {
        let long = held().at(LOOKING).and("\nand ").and("more").and(LOOKING);
        for text in [held(), Text::default(), "plain".into(), long] {
            let json = serde_json::to_value(&text).unwrap();
            assert_eq!(serde_json::from_value::<Text>(json).unwrap(), text);
        }
        let json = serde_json::to_value(held()).unwrap();
        assert_eq!(json[0], serde_json::json!({ "at": "/dev/sdb" }));
        assert_eq!(json[1]["code"], "holds");
        assert_eq!(json[1]["names"]["what"][0]["names"]["signature"], "{what}");
    }

    #[test]
    fn values_are_shown_otherwise_and_what_we_say_is_not() {
        let said = held().and(" {what}").with_values(&|value| value.to_uppercase()).to_string();
        assert_eq!(said, "/DEV/SDB: it carries a signature: {WHAT}; choose another {what}");
    }

    #[test]
    fn texts_are_joined_and_gone_on_with() {
        let all = Text::joined(["a", "b"], ", ").and(" c");
        assert_eq!((all.to_string(), all.parts().len()), ("a, b c".to_owned(), 1));
        let none: [Text; 0] = [];
        assert!(Text::joined(none, ", ").is_empty());
    }
}
