//! A plan of one line: a command, and the layouts that it is to be tried on.

use host::Error;
use toml::Value;

use super::{NAME_MAX, catalogue};
use crate::cell::Level;

/// What is compared by a command.
#[derive(Clone, Debug, Default)]
pub struct OneLine {
    /// The command, as the suite `command` takes it.
    pub run: String,
    /// What is run before and after it, and the figures in its output, where that is said.
    pub prepare: Option<String>,
    /// See `prepare`.
    pub cleanup: Option<String>,
    /// See `prepare`.
    pub figures: Vec<String>,
    /// The levels, the first of which the others are compared with.
    pub levels: Vec<String>,
    /// The chunks of striped levels.
    pub chunks: Vec<String>,
    /// The file systems, the first of which the others are compared with.
    pub file_systems: Vec<String>,
    /// How many members there are, and how large each file is.
    pub members: u64,
    /// See `members`.
    pub member_size: String,
    /// Where they lie; in the run's folder without it.
    pub folder: Option<String>,
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}

impl OneLine {
    /// The plan's text, which may be changed and run again as any other.
    ///
    /// # Errors
    /// When there is nothing to compare it on.
    pub fn text(&self) -> Result<String, Error> {
        let (Some(level), Some(file_system)) = (self.levels.first(), self.file_systems.first())
        else {
            return Err(Error::usage(catalogue::NOTHING_TO_COMPARE));
        };
        let line = self.run.lines().next().unwrap_or_default().trim();
        let mut name: String = line.chars().take(NAME_MAX).collect();
        if name.len() < self.run.trim().len() {
            name += "…";
        }
        let folder = self.folder.as_ref();
        let folder = folder.map_or(String::new(), |folder| format!(", dir = {}", quoted(folder)));
        let mut text = format!(
            "schema = 1\nname = {}\n\n[members.files]\nfiles = {{ count = {}, size = {}{folder} }}\n\n\
            [matrix]\nlevel = {}\nfile_system = {}\n",
            quoted(&name),
            self.members,
            quoted(&self.member_size),
            list(&self.levels),
            list(&self.file_systems),
        );
        let has_chunks = |level: &String| Level::named(level).is_some_and(|level| level.has_chunks);
        if self.levels.iter().any(has_chunks) {
            text += &format!("chunk = {}\n", list(&self.chunks));
        }
        if self.levels.len() * self.file_systems.len() * self.chunks.len().max(1) > 1 {
            text += &format!(
                "\n[baseline]\nlevel = {}\nfile_system = {}\n",
                quoted(level),
                quoted(file_system)
            );
            if let Some(chunk) = self.chunks.first().filter(|_| has_chunks(level)) {
                text += &format!("chunk = {}\n", quoted(chunk));
            }
        }
        text += &format!("\n[[workload]]\nsuite = \"command\"\nrun = {}\n", quoted(&self.run));
        for (key, said) in [("prepare", &self.prepare), ("cleanup", &self.cleanup)] {
            if let Some(said) = said {
                text += &format!("{key} = {}\n", quoted(said));
            }
        }
        if !self.figures.is_empty() {
            text += &format!("figures = {}\n", list(&self.figures));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{outline, resolve};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_line_is_a_plan_that_compares_every_layout_with_the_first() {
        let line = OneLine {
            run: "echo \"it's 'quoted'\\n\"\ntrue".to_owned(),
            prepare: Some("cp -r /src/. .".to_owned()),
            figures: texts(&["rate_per_second json $.rate", "dd"]),
            levels: texts(&["raid1", "raid5"]),
            chunks: texts(&["64KiB", "512KiB"]),
            file_systems: texts(&["ext4", "xfs"]),
            members: 4,
            member_size: "256MiB".to_owned(),
            ..OneLine::default()
        };
        let resolved = resolve("the line", &line.text().unwrap(), &[]).unwrap();
        // raid1 has no chunk.
        assert_eq!(outline(&resolved.plan).unwrap().configurations, 6);
        let names: Vec<_> = resolved.plan.workloads.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["command: rate", "command: throughput"]);
        assert_eq!(resolved.plan.suite_settings["command.run"], line.run);
        let alone = OneLine {
            levels: texts(&["raid1"]),
            file_systems: texts(&["ext4"]),
            figures: Vec::new(),
            ..line.clone()
        };
        let resolved = resolve("the line", &alone.text().unwrap(), &[]).unwrap();
        assert_eq!(resolved.plan.workloads[0].metric, "elapsed_seconds");
        for (levels, words) in [(&["raid7"][..], "raid7"), (&[], "name a level")] {
            let wrong = OneLine { levels: texts(levels), ..line.clone() };
            let error = wrong.text().and_then(|text| resolve("the line", &text, &[])).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        // Without a file system no program can open the stack.
        let closed = OneLine { file_systems: texts(&["none"]), ..line };
        let error = resolve("the line", &closed.text().unwrap(), &[]).unwrap_err();
        assert!(error.to_string().contains("give the axis file_system"), "{error}");
    }
}
