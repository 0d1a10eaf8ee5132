//! The words of the reports in the languages they are printed in.
//!
//! ```text
//! in_language(ja, || html(…)) ── say!(NAME, figure = …) ── catalogue: NAME: "English", "日本語"
//! ```
//!
//! A report is in one language, and its sentences are made deep inside: so the language belongs to
//! the thread while one report is made, and is English otherwise. What comes from outside (names,
//! flags, facts, what a plan says of itself) stays as it is, and so does what programs read.

pub(crate) mod catalogue;
pub(crate) mod names;

use std::cell::Cell;

/// A language of the reports.
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
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) fn language() -> Language {
    LANGUAGE.get()
}

/// Makes a report in a language.
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

/// The largest value of a measure over all languages, so that a chart has the same size in each.
pub(crate) fn widest(measure: impl Fn() -> f64) -> f64 {
    Language::ALL.map(|language| in_language(language, &measure)).into_iter().fold(0.0, f64::max)
}

/// A message in every language, with `{names}` where figures and names go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) english: &'static str,
    pub(crate) japanese: &'static str,
}

impl Message {
    fn template(self) -> &'static str {
        match language() {
            Language::English => self.english,
            Language::Japanese => self.japanese,
        }
    }
}

/// A message with its places filled in the language of what is being made. What is filled in is
/// never taken for a place itself.
pub(crate) fn filled(message: Message, places: &[(&str, &dyn std::fmt::Display)]) -> String {
    let mut text = String::new();
    let mut rest = message.template();
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        text += before;
        match places.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => text += &value.to_string(),
            // Tests fill every place of every message; this shows what one forgot.
            None => text += &format!("{{{name}}}"),
        }
        rest = after;
    }
    text + rest
}

/// A message of the catalogue: `say!(NAME)` or `say!(NAME, place = value, …)`.
macro_rules! say {
    ($name:ident $(, $place:ident = $value:expr)* $(,)?) => {
        $crate::words::filled(
            $crate::words::catalogue::$name,
            &[$((stringify!($place), &$value)),*],
        )
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests;
