//! The board with CrystalDiskMark's buttons: `raidloom bench crystal`, an access at a time.

use ::words::{Text, statement};
use bench::suite::crystal::{PROFILES, Profile};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue;
use crate::verbs::{Consent, flag};

/// What is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Board {
    /// A folder, a stack text, an image file or a block device.
    pub(crate) target: String,
    /// One access, or all of the profile's.
    #[serde(default)]
    row: Option<String>,
    /// Which rows there are: `8`, `8-nvme`, `3` …
    profile: String,
    /// As the flags of those names take them; each suite default without.
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    runs: Option<String>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    interval: Option<String>,
    #[serde(default)]
    access: Option<String>,
    /// Make the file first, of this size.
    #[serde(default)]
    create: Option<String>,
    #[serde(default)]
    consent: Consent,
}

impl Board {
    /// The profiles and the names of their accesses.
    pub(crate) fn profiles() -> Value {
        let mut profiles = Vec::new();
        for (name, profile, what) in &PROFILES {
            profiles.push(json!({ "name": name, "what": what, "rows": accesses(*profile) }));
        }
        json!(profiles)
    }

    /// The accesses that are asked for.
    ///
    /// # Errors
    /// One line: what there is.
    pub(crate) fn rows(&self) -> Result<Vec<String>, Text> {
        let profile = Profile::named(&self.profile).ok_or_else(|| {
            let names: Vec<&str> = PROFILES.iter().map(|(name, ..)| *name).collect();
            let name = format!("{:?}", self.profile);
            statement!(catalogue::NO_PROFILE, name = name, names = names.join(", "))
        })?;
        if self.target.trim().is_empty() {
            return Err(catalogue::NO_TARGET.into());
        }
        let rows = accesses(profile);
        match &self.row {
            None => Ok(rows),
            Some(row) if rows.contains(row) => Ok(vec![row.clone()]),
            Some(row) => {
                let (name, names) = (format!("{row:?}"), rows.join(", "));
                Err(statement!(catalogue::NO_ROW, name = name, names = names))
            }
        }
    }

    /// The command line for one access.
    pub(crate) fn arguments(&self, row: &str) -> Vec<String> {
        let mut words = ["bench", "crystal", "--json"].map(str::to_owned).to_vec();
        let key = |name: &str, value: &str| format!("--set={name}={value}");
        words.push(key("profile", &self.profile));
        words.push(key("only", row));
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        for (name, value) in
            [("size", &self.size), ("interval", &self.interval), ("access", &self.access)]
        {
            words.extend(given(value).map(|value| key(name, &value)));
        }
        // A file that is made may be larger than what the rows go over.
        for (name, value) in [("size", &self.create), ("runs", &self.runs), ("time", &self.time)] {
            words.extend(given(value).map(|value| flag(name, &value)));
        }
        words.extend(self.consent.flags());
        words.extend(["--".to_owned(), self.target.clone()]);
        words
    }
}

/// The names of a profile's accesses without their direction.
fn accesses(profile: Profile) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in profile.rows(None) {
        let name = row.access();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(text: &str) -> Board {
        serde_json::from_str(text).expect("a board")
    }

    #[test]
    fn the_buttons_are_those_of_the_original() {
        let all = board(r#"{"target": "/mnt", "profile": "8"}"#);
        assert_eq!(
            all.rows(),
            Ok(["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"]
                .map(str::to_owned)
                .to_vec())
        );
        let one = board(r#"{"target": "/mnt", "profile": "8", "row": "RND4K Q1T1"}"#);
        assert_eq!(one.rows(), Ok(vec!["RND4K Q1T1".to_owned()]));
        for (text, said) in [
            (r#"{"target": "/mnt", "profile": "9"}"#, "there are 3, 8"),
            (r#"{"target": "/mnt", "profile": "8", "row": "RND9K"}"#, "there are SEQ1M Q8T1"),
            (r#"{"target": " ", "profile": "8"}"#, "name a target"),
        ] {
            let error = board(text).rows().expect_err(text).to_string();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn no_value_is_taken_for_a_flag() {
        let words = board(
            r#"{"target": "--help", "profile": "8", "size": "--memory=1", "runs": "",
                "consent": {"erase": ["-x"], "erase_signature": true}}"#,
        )
        .arguments("SEQ1M Q8T1");
        assert_eq!(
            words,
            [
                "bench",
                "crystal",
                "--json",
                "--set=profile=8",
                "--set=only=SEQ1M Q8T1",
                "--set=size=--memory=1",
                "--erase=-x",
                "--erase-signature",
                "--",
                "--help"
            ]
        );
    }
}
