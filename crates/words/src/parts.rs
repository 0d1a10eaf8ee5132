//! A text in JSON: its English under one key, for programs and for whoever looks, and its codes and
//! names under another, for those who read it in their language.
//!
//! ```text
//! #[serde(flatten, with = "note_parts")] notes: Vec<Text> ──> "notes": ["…"], "note_parts": [[…]]
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Text;

/// What has an English of its own kind: a text, one that may be missing, several.
pub trait WithEnglish: Serialize + DeserializeOwned {
    /// The same with strings in the place of texts.
    type English: Serialize + DeserializeOwned + Default;

    /// It in English.
    fn to_english(&self) -> Self::English;

    /// What an earlier release has written, which had no other.
    fn of_english(english: Self::English) -> Self;

    /// Whether there is nothing to say: then there are no parts, either.
    fn is_nothing(&self) -> bool;
}

impl WithEnglish for Text {
    type English = String;

    fn to_english(&self) -> String {
        self.english()
    }

    fn of_english(english: String) -> Text {
        english.into()
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl WithEnglish for Option<Text> {
    type English = Option<String>;

    fn to_english(&self) -> Option<String> {
        self.as_ref().map(Text::english)
    }

    fn of_english(english: Option<String>) -> Option<Text> {
        english.map(Text::from)
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }
}

impl WithEnglish for BTreeMap<String, Text> {
    type English = BTreeMap<String, String>;

    fn to_english(&self) -> BTreeMap<String, String> {
        self.iter().map(|(name, text)| (name.clone(), text.english())).collect()
    }

    fn of_english(english: BTreeMap<String, String>) -> BTreeMap<String, Text> {
        english.into_iter().map(|(name, text)| (name, text.into())).collect()
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl WithEnglish for Vec<Text> {
    type English = Vec<String>;

    fn to_english(&self) -> Vec<String> {
        self.iter().map(Text::english).collect()
    }

    fn of_english(english: Vec<String>) -> Vec<Text> {
        english.into_iter().map(Text::from).collect()
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// A module for a field of this kind with `#[serde(flatten, with = "MODULE")]`: its English under
/// the first key, its parts under the second. Without parts, as earlier releases wrote it, it is
/// its English. Of what is only written, what reads it stays unused.
#[macro_export]
macro_rules! with_parts {
    ($module:ident: $kind:ty, $english:literal, $parts:literal) => {
        mod $module {
            use ::serde::ser::SerializeMap as _;
            use ::serde::{Deserialize, Deserializer, Serializer};
            use $crate::{Text, WithEnglish};

            #[derive(Deserialize)]
            struct Both {
                #[serde(rename = $english, default)]
                english: <$kind as WithEnglish>::English,
                #[serde(rename = $parts, default)]
                parts: Option<$kind>,
            }

            pub(super) fn serialize<S: Serializer>(
                said: &$kind,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry($english, &said.to_english())?;
                if !said.is_nothing() {
                    map.serialize_entry($parts, said)?;
                }
                map.end()
            }

            #[allow(dead_code)]
            pub(super) fn deserialize<'a, D: Deserializer<'a>>(
                deserializer: D,
            ) -> Result<$kind, D::Error> {
                let Both { english, parts } = Both::deserialize(deserializer)?;
                Ok(parts.unwrap_or_else(|| <$kind>::of_english(english)))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use crate::Text;

    crate::catalogue! {
        HOLDS: "it carries {what}", "{what}があります";
    }

    // In this crate the macro's `$crate` is the crate itself.
    with_parts!(note_parts: Vec<Text>, "notes", "note_parts");
    with_parts!(cause_parts: Option<Text>, "cause", "cause_parts");

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Told {
        name: String,
        #[serde(flatten, with = "note_parts")]
        notes: Vec<Text>,
        #[serde(flatten, with = "cause_parts")]
        cause: Option<Text>,
        bytes: u64,
    }

    #[test]
    fn a_text_is_written_twice_and_read_with_its_parts_or_as_it_was_before() {
        let note = crate::statement!(HOLDS, what = "a signature").at("/dev/sdb");
        for cause in [None, Some(note.clone())] {
            let told = Told { name: "a".into(), notes: vec![note.clone()], cause, bytes: u64::MAX };
            let json = serde_json::to_value(&told).unwrap();
            assert_eq!(json["notes"], json!(["/dev/sdb: it carries a signature"]));
            assert_eq!(json["note_parts"][0][1]["code"], "holds");
            assert_eq!(serde_json::from_value::<Told>(json).unwrap(), told);
        }
        let before = json!({ "name": "a", "notes": ["b"], "cause": "c", "bytes": 1 });
        let told: Told = serde_json::from_value(before).unwrap();
        assert_eq!((told.notes, told.cause), (vec!["b".into()], Some("c".into())));
        let least: Told = serde_json::from_value(json!({ "name": "a", "bytes": 1 })).unwrap();
        assert_eq!((least.notes, least.cause), (Vec::new(), None));
    }
}
