//! The words of the reports in the languages they are printed in (the crate `words`).

pub(crate) mod catalogue;
pub(crate) mod names;

pub(crate) use words::{Language, Message, filled, in_language, language};

/// The largest value of a measure over all languages, so that a chart has the same size in each.
pub(crate) fn widest(measure: impl Fn() -> f64) -> f64 {
    Language::ALL.map(|language| in_language(language, &measure)).into_iter().fold(0.0, f64::max)
}

/// A message of the catalogue: `say!(NAME)` or `say!(NAME, place = value, …)`.
macro_rules! say {
    ($name:ident $(, $place:ident = $value:expr)* $(,)?) => {
        ::words::say!($crate::words::catalogue::$name $(, $place = $value)*)
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests;
