//! What people read, in the languages that they read it in.
//!
//! ```text
//! in_language(ja, || html(…)) ── say!(NAME, figure = …) ── catalogue: NAME: "English", "日本語"
//! ```
//!
//! A text is in one language, and its sentences are made deep inside: so the language belongs to
//! the thread while one text is made, and is English otherwise. What comes from outside (names,
//! flags, facts, what a plan says of itself) stays as it is, and so does what programs read. Each
//! crate that speaks to people has a catalogue of its own.
//!
//! What is carried before it is said (a refusal on its way up, or to another process) is a
//! [`Text`]: codes and names, made into a sentence where it is printed.

mod parts;
mod text;

use std::cell::Cell;

pub use parts::WithEnglish;
pub use text::{Statement, Text, TextPart};

/// A language of what people read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Japanese.
    Japanese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Japanese];

    /// Its tag, as HTML has it.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// Its own name for itself.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Japanese => "日本語",
        }
    }
}

thread_local! {
    static LANGUAGE: Cell<Language> = const { Cell::new(Language::English) };
}

/// The language of what is being made.
#[must_use]
pub fn language() -> Language {
    LANGUAGE.get()
}

/// Makes a text in a language.
pub fn in_language<T>(language: Language, make: impl FnOnce() -> T) -> T {
    /// Puts the language back, also after a panic.
    struct LanguageGuard(Language);
    impl Drop for LanguageGuard {
        fn drop(&mut self) {
            LANGUAGE.set(self.0);
        }
    }
    let _back = LanguageGuard(LANGUAGE.replace(language));
    make()
}

/// A message in every language, with `{names}` where figures and names go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name in its catalogue: `IS_MOUNTED`.
    pub code: &'static str,
    /// In English.
    pub english: &'static str,
    /// In Japanese, with the same places.
    pub japanese: &'static str,
}

impl Message {
    /// It as it stands, in the language of what is being made.
    #[must_use]
    pub fn template(self) -> &'static str {
        match language() {
            Language::English => self.english,
            Language::Japanese => self.japanese,
        }
    }

    /// What is wrong with it, for the tests of catalogues: an empty text, other places in the other
    /// language, words that are not translated. `untranslated` are words that Japanese has too.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn check(self, untranslated: &[&str]) -> Result<(), &'static str> {
        if self.english.is_empty() || self.japanese.is_empty() {
            return Err("a text is empty");
        }
        let [english, japanese] = [self.english, self.japanese].map(places);
        if english != japanese {
            return Err("the places differ");
        }
        let has_words = parts(self.english).any(|part| part.chars().any(char::is_alphabetic));
        let is_translated =
            self.japanese.chars().any(is_japanese) || untranslated.contains(&self.japanese);
        if has_words && !is_translated {
            return Err("it is not in Japanese");
        }
        Ok(())
    }
}

/// What stands between the places of a template.
fn parts(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
}

/// Names of the places of a template, each once.
fn places(template: &str) -> Vec<&str> {
    let parts = template.split('{').skip(1);
    let mut names: Vec<&str> =
        parts.map(|rest| rest.split_once('}').map_or("", |(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn is_japanese(letter: char) -> bool {
    matches!(letter, '、' | '。' | '〜' | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

/// A message with its places filled in the language of what is being made. What is filled in is
/// never taken for a place itself.
#[must_use]
pub fn filled(message: Message, places: &[(&str, &dyn std::fmt::Display)]) -> String {
    fill(message.template(), |name| {
        places.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    })
}

/// A template with its places filled.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        text += before;
        match value(name) {
            Some(value) => text += &value,
            // Tests fill every place of every message; this shows what one forgot.
            None => text += &format!("{{{name}}}"),
        }
        rest = after;
    }
    text + rest
}

/// Messages as constants: `NAME: "English", "日本語";`, and a test that each is there in every
/// language. Words that Japanese has too come first: `untranslated: ["CPU"];`.
#[macro_export]
macro_rules! catalogue {
    (@messages $($name:ident: $english:literal, $japanese:literal;)*) => {
        $(pub(crate) const $name: $crate::Message =
            $crate::Message { code: stringify!($name), english: $english, japanese: $japanese };)*

        /// All of them, by name.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, $crate::Message)] = &[$((stringify!($name), $name)),*];
    };
    (
        untranslated: [$($same:literal),*];
        $($name:ident: $english:literal, $japanese:literal;)*
    ) => {
        $crate::catalogue! { @messages $($name: $english, $japanese;)* }

        #[test]
        fn every_message_is_there_in_every_language() {
            for (name, message) in ALL {
                assert_eq!(message.check(&[$($same),*]), Ok(()), "{name}");
            }
        }
    };
    ($($name:ident: $english:literal, $japanese:literal;)*) => {
        $crate::catalogue! { untranslated: []; $($name: $english, $japanese;)* }
    };
}

/// A message of a catalogue with its places filled: `say!(catalogue::NAME, place = value, …)`.
#[macro_export]
macro_rules! say {
    ($message:path $(, $place:ident = $value:expr)* $(,)?) => {
        $crate::filled($message, &[$((stringify!($place), &$value)),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    catalogue! {
        @messages
        LEFT: "{count} left of {all}", "{all} のうち残り {count}";
        UNTRANSLATED: "two words", "two words";
        OTHER_PLACES: "{count} left", "残り {counts}";
        IOPS: "IO/s", "IOPS";
    }

    #[test]
    fn what_is_filled_in_is_no_place_and_the_language_goes_back() {
        assert_eq!(say!(LEFT, count = "{all}", all = 3), "{all} left of 3");
        let japanese = || say!(LEFT, count = 2, all = 3);
        assert_eq!(in_language(Language::Japanese, japanese), "3 のうち残り 2");
        let panicked = std::panic::catch_unwind(|| {
            in_language(Language::Japanese, || panic!("planted"));
        });
        assert!(panicked.is_err());
        assert_eq!(language(), Language::English);
        assert_eq!(say!(LEFT, count = 1), "1 left of {all}");
    }

    #[test]
    fn a_message_that_is_not_whole_is_found() {
        let errors: Vec<_> =
            ALL.iter().map(|(_, message)| message.check(&["IOPS"]).err()).collect();
        assert_eq!(errors, [None, Some("it is not in Japanese"), Some("the places differ"), None]);
        assert_eq!(
            Message { code: "", english: "", japanese: "" }.check(&[]),
            Err("a text is empty")
        );
    }
}
