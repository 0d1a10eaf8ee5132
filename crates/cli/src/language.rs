//! What language people read: `--lang`, else `RAIDLOOM_LANG`, else what the locale says.

use clap::ValueEnum;
use words::Language;

/// A language of reports and of the page.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lang {
    /// English
    En,
    /// Japanese
    Ja,
}

/// The language that was asked for, or that of the locale.
pub(crate) fn language(asked: Option<Lang>) -> Language {
    let said = |name: &str| std::env::var(name).ok();
    let variables = ["RAIDLOOM_LANG", "LC_ALL", "LC_MESSAGES", "LANG"].map(said);
    match asked.unwrap_or_else(|| of_locale(variables)) {
        Lang::En => Language::English,
        Lang::Ja => Language::Japanese,
    }
}

/// That of our own variable and of a locale, as `setlocale(3)` takes it: the first that says
/// something decides.
fn of_locale(variables: [Option<String>; 4]) -> Lang {
    let locale = variables.into_iter().flatten().find(|locale| !locale.is_empty());
    let is_japanese = |locale: &str| {
        locale.split(['_', '.', '@']).next().is_some_and(|tag| tag.eq_ignore_ascii_case("ja"))
    };
    if locale.as_deref().is_some_and(is_japanese) { Lang::Ja } else { Lang::En }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_says_something_decides() {
        for (all, messages, lang, expected) in [
            ("", "", "ja_JP.UTF-8", Lang::Ja),
            ("", "", "ja", Lang::Ja),
            ("C.UTF-8", "", "ja_JP.UTF-8", Lang::En),
            ("", "ja_JP.eucJP", "en_GB.UTF-8", Lang::Ja),
            ("", "", "jam_JM", Lang::En),
            ("", "", "", Lang::En),
        ] {
            let [all, messages, lang] = [all, messages, lang].map(|text| Some(text.to_owned()));
            let locale = [None, all, messages, lang];
            assert_eq!(of_locale(locale.clone()), expected, "{locale:?}");
            let [_, all, messages, lang] = locale;
            let own = Some("en".to_owned());
            assert_eq!(of_locale([own, all, messages, lang]), Lang::En);
        }
        assert_eq!(of_locale([None, None, None, Some("ja_JP".to_owned())]), Lang::Ja);
        assert_eq!(language(Some(Lang::Ja)), Language::Japanese);
    }
}
