//! The plan that answers a question: what `--print-plan` prints and what is run, word for word.

use std::fmt::Write as _;

use host::Error;
use toml::Value;
use words::statement;

use super::candidates::{Candidates, Shape};
use super::question::Question;
use crate::catalogue;
use crate::plan::ResolvedPlan;
use results::choice::Scheme;

/// The set of members of one shape over fewer drives than there are, or all of them.
pub(super) fn set_name(question: &Question, shape: Shape) -> String {
    match shape.members == question.drives.all.len() {
        true => ALL.to_owned(),
        false => format!("{ALL}-{}", shape.members),
    }
}

/// The set of all drives.
const ALL: &str = "drives";

pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

pub(super) fn list(texts: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = texts.map(|text| quoted(&text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// Characters that drives may take of a plan's title.
const DRIVES_TEXT_MAX: usize = 100;

impl Question {
    /// `4 x Seagate IronWolf 12 TB`, and what else there is.
    #[must_use]
    pub fn drives_text(&self) -> String {
        let groups = self.drive_groups();
        // What is in brackets is for those who look a drive up.
        let short = |title: &str| title.split(" (").next().unwrap_or(title).to_owned();
        let texts = groups.iter().map(|group| format!("{} x {}", group.count, short(&group.title)));
        let text = texts.collect::<Vec<_>>().join(", ");
        match text.chars().count() > DRIVES_TEXT_MAX {
            true => format!("{} drives of {} kinds", self.drives.all.len(), groups.len()),
            false => text,
        }
    }

    /// Resolves the plan that answers it.
    ///
    /// # Errors
    /// When no layout is left, or a profile says what no plan takes.
    pub fn plan(&self) -> Result<(String, ResolvedPlan), Error> {
        self.plan_of(&self.candidates()?, &[])
    }

    /// The plan over these candidates, with these settings of every workload.
    pub(super) fn plan_of(
        &self,
        candidates: &Candidates,
        settings: &[(&str, u64)],
    ) -> Result<(String, ResolvedPlan), Error> {
        let text = self.plan_text(candidates, settings);
        let resolved =
            crate::plan::resolve("the plan", &text, &[]).map_err(
                |error| match super::Work::names().contains(&self.work.name.as_str()) {
                    true => error,
                    false => {
                        let place = statement!(catalogue::WITH_PROFILE, name = &self.work.name);
                        error.at(place).as_usage()
                    }
                },
            )?;
        Ok((text, resolved))
    }

    fn plan_text(&self, candidates: &Candidates, settings: &[(&str, u64)]) -> String {
        let question = format!("Which layout for {} on {}?", self.work.title, self.drives_text());
        let mut text = self.heading("choose", &question);
        self.put_members(&mut text, candidates);
        self.put_configurations(&mut text, candidates);
        self.put_workloads(&mut text, candidates, settings);
        self.put_trials(&mut text);
        text
    }

    /// What a plan begins with: its question, and what must hold.
    pub(super) fn heading(&self, verb: &str, question: &str) -> String {
        let mut text = format!(
            "# {question}\n# Made by `raidloom choose`; `raidloom run` on it measures the same.\n\
            schema = 1\nname = {}\nquestion = {}\n",
            quoted(&format!("{verb} {}", self.work.title)),
            quoted(question)
        );
        let mut must = Vec::new();
        if self.survive > 0 {
            let plural = if self.survive == 1 { "" } else { "s" };
            must.push(format!("survives {} member{plural}", self.survive));
        }
        must.extend(self.p99.iter().map(|time| format!("p99 < {time}")));
        if !must.is_empty() {
            let _ = writeln!(text, "must = {}", list(must.into_iter()));
        }
        text
    }

    /// How often each is run, and what is told apart.
    pub(super) fn put_trials(&self, text: &mut String) {
        let blocks = match self.drives.are_modelled() {
            true if self.work.recording.is_some() => BLOCKS_REPLAYED,
            true => BLOCKS_MODELLED,
            false => BLOCKS_MEASURED,
        };
        let _ =
            write!(text, "\n[trials]\nblocks = {blocks}\nseed = 42\n\n[report]\nmargin = \"3%\"\n");
    }

    /// The sets of members: all drives, and fewer where a shape leaves some out.
    fn put_members(&self, text: &mut String, candidates: &Candidates) {
        let all = self.drives.all.len();
        let mut counts: Vec<usize> = candidates.kept.iter().map(|shape| shape.members).collect();
        counts.push(all);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts.dedup();
        for count in counts {
            let name = match count == all {
                true => ALL.to_owned(),
                false => format!("{ALL}-{count}"),
            };
            let _ = writeln!(text, "\n[members.{name}]\n{}", self.members(count));
        }
    }

    pub(super) fn members(&self, count: usize) -> String {
        let drives = &self.drives.all[..count];
        if let Some(folder) = &self.drives.folder {
            let size = drives.first().map_or(0, |drive| drive.size_bytes);
            return format!(
                "files = {{ count = {count}, size = {}, dir = {} }}",
                quoted(&block::size_text(size)),
                quoted(&folder.to_string_lossy())
            );
        }
        if self.drives.are_modelled() {
            return format!(
                "models = {}",
                list(drives.iter().filter_map(|drive| drive.model.clone()))
            );
        }
        let paths = drives.iter().filter_map(|drive| drive.member.path());
        format!("devices = {}", list(paths.map(|path| path.to_string_lossy().into_owned())))
    }

    /// The modelled drives with one more option each.
    pub(super) fn models_with(&self, count: usize, option: &str) -> Vec<String> {
        let models = self.drives.all[..count].iter().filter_map(|drive| drive.model.as_ref());
        // A model's own options stand behind a `?` already.
        let with = |model: &String| {
            format!("{model}{}{option}", if model.contains('?') { '&' } else { '?' })
        };
        models.map(with).collect()
    }

    /// One layout under a heading, as a configuration or as what others are compared with.
    pub(super) fn put_layout(
        &self,
        text: &mut String,
        heading: &str,
        members: &str,
        (shape, chunk_bytes): (Shape, Option<u64>),
    ) {
        let layout = self.layout(shape, chunk_bytes);
        let _ = write!(
            text,
            "\n{heading}\nmembers = {}\nlevel = \"{}\"\n",
            quoted(members),
            layout.level_name()
        );
        if let Some(order) = layout.md_layout() {
            let _ = writeln!(text, "layout = \"{order}\"");
        }
        if let Some(bytes) = chunk_bytes {
            let _ = writeln!(text, "chunk = {}", quoted(&block::size_text(bytes)));
        }
    }

    /// One drive, which all others are compared with, and every shape.
    fn put_configurations(&self, text: &mut String, candidates: &Candidates) {
        let _ = write!(
            text,
            "\n# One of the drives, which the others are compared with.\n[[add]]\nmembers = \"{ALL}\"\n\
            level = \"single\"\n{0}[baseline]\nmembers = \"{ALL}\"\nlevel = \"single\"\n{0}",
            self.file_system_lines()
        );
        for shape in &candidates.kept {
            let layout = self.layout(*shape, None);
            let _ = write!(
                text,
                "\n[[add]]\nmembers = {}\nlevel = \"{}\"\n",
                quoted(&set_name(self, *shape)),
                layout.level_name()
            );
            if let Some(order) = layout.md_layout() {
                let _ = writeln!(text, "layout = \"{order}\"");
            }
            let chunks = self.chunks(*shape).into_iter().flatten().map(block::size_text);
            if shape.scheme != Scheme::Mirror {
                let _ = writeln!(text, "chunk = {}", list(chunks));
            }
            if shape.losses() > 0 && self.runs_bitmaps() {
                text.push_str("consistency = \"bitmap\"\n");
            }
            text.push_str(&self.file_system_lines());
        }
    }

    /// Whether redundant layouts are run with the write-intent bitmap with which they are made. In
    /// the moments that models run, nearly every write is the first to its region, which is dearer
    /// than what goes on for hours.
    pub(super) fn runs_bitmaps(&self) -> bool {
        !self.drives.are_modelled()
    }

    /// The lines of a configuration that has a file system, where that is run.
    fn file_system_lines(&self) -> String {
        let kind = self.file_system.as_ref().filter(|_| self.file_system_is_run);
        let Some(kind) = kind else { return String::new() };
        let guest = if self.is_in_guests() { GUEST } else { "" };
        format!("file_system = {}\n{guest}", quoted(kind))
    }

    /// The file that stands for the device where a file system is worked in: a fourth of the
    /// smallest layout's space, and no more than a visit can write in half a minute, or a guest in
    /// seconds.
    fn file_bytes(&self, candidates: &Candidates) -> u64 {
        let usable = candidates.kept.iter().map(|shape| self.facts(*shape, None).usable_bytes);
        let single = self.drives.all.first().map(|drive| drive.size_bytes);
        let least = usable.chain(single).min().unwrap_or_default();
        let most = if self.is_in_guests() { GUEST_FILE_BYTES_MAX } else { FILE_BYTES_MAX };
        (least / 4).min(most) & !(MEBIBYTE - 1)
    }

    /// How long a load lasts, for the medium to be past its caches.
    fn load_time(&self) -> &'static [(&'static str, &'static str)] {
        const DISKS: &[(&str, &str)] = &[("time", "10s"), ("ramp", "5s"), ("verify", "off")];
        // What a guest moves, its processor moves.
        const IN_GUESTS: &[(&str, &str)] = &[("time", "2s"), ("ramp", "2s"), ("verify", "off")];
        const FLASH: &[(&str, &str)] = &[("time", "60ms"), ("ramp", "30ms"), ("verify", "off")];
        match (self.drives.are_modelled(), self.drives.any_rotates()) {
            (false, _) if self.drives.are_made() => &[("time", "200ms")],
            (false, _) => &[("time", "5s")],
            (true, true) if self.is_in_guests() => IN_GUESTS,
            (true, true) => DISKS,
            (true, false) => FLASH,
        }
    }

    /// A load's settings, as far as its profile does not say them.
    fn complete_load(&self, load: &mut toml::Table, candidates: &Candidates) {
        let text = |text: &str| Value::String(text.to_owned());
        let is_open = load.get("rate").and_then(Value::as_integer).is_some_and(|rate| rate > 0);
        // An open loop knows none but the time.
        let times = self.load_time().iter().filter(|(key, _)| !is_open || *key == "time");
        for (key, value) in times {
            load.entry(*key).or_insert_with(|| text(value));
        }
        if !self.file_system_is_run {
            return;
        }
        let size = text(&block::size_text(self.file_bytes(candidates)));
        let size = load.entry("size").or_insert(size).clone();
        // All of it is written before: for places of a file that never were, no drive answers.
        load.entry(if is_open { "fill" } else { "prepare" }).or_insert(size);
        let is_compared = load.get("verify").is_some_and(|how| how.as_str() != Some("off"));
        if self.is_in_guests() && !is_compared {
            // Each guest would keep all of it in memory.
            load.entry("content").or_insert_with(|| text("zeros"));
        }
    }

    /// The work.
    pub(super) fn put_workloads(
        &self,
        text: &mut String,
        candidates: &Candidates,
        settings: &[(&str, u64)],
    ) {
        for workload in &self.work.workloads {
            let mut workload = workload.clone();
            let suite = workload.entry("suite").or_insert_with(|| Value::String("load".to_owned()));
            if suite.as_str() == Some("load") {
                self.complete_load(&mut workload, candidates);
            }
            for (key, value) in settings {
                workload.insert((*key).to_owned(), Value::Integer(value.cast_signed()));
            }
            let _ = write!(text, "\n[[workload]]\n{workload}");
        }
    }
}

const MEBIBYTE: u64 = 1 << 20;
/// Of a drive of a guest no more is used: room for most commands, and on disks arms have shorter
/// ways than on full ones.
const GUEST: &str = "place = \"guest\"\ndisk_size = \"16GiB\"\n";
/// A disk of 150 MB/s writes it in half a minute.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Several times what the drives' caches hold, or writing over it would never leave them.
const GUEST_FILE_BYTES_MAX: u64 = 2 << 30;
/// In the model the same trials come out the same; two blocks are two draws of the random places.
const BLOCKS_MODELLED: u32 = 2;
/// The same requests again say nothing new.
const BLOCKS_REPLAYED: u32 = 1;
/// The fewest that leave a claim some power.
const BLOCKS_MEASURED: u32 = 4;

#[cfg(test)]
mod tests {
    use super::super::{Drives, Work};
    use super::*;

    fn question(folder: &std::path::Path, bytes: u64, work: Work) -> Question {
        let words: Vec<String> = (0..3)
            .map(|number| {
                let path = folder.join(format!("{number}.img"));
                std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
                path.display().to_string()
            })
            .collect();
        Question {
            drives: Drives::read(&words, true).unwrap(),
            work,
            survive: 1,
            capacity_bytes: None,
            p99: None,
            file_system: Some("ext4".to_owned()),
            file_system_is_run: true,
            raced: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Every layout that is compared has the file system, one drive too, and the file that is
    /// worked in fits on the smallest.
    #[test]
    fn a_file_system_that_is_run_is_on_every_layout() {
        let folder = tempfile::tempdir().unwrap();
        let work = Work::read("files").unwrap();
        for (bytes, size) in [(64 << 20, "16MiB"), (64 << 30, "4GiB")] {
            let (text, resolved) = question(folder.path(), bytes, work.clone()).plan().unwrap();
            let configurations = &resolved.plan.configurations;
            assert!(configurations.len() > 5, "{text}");
            for one in configurations {
                assert_eq!(one.settings["file_system"], "ext4", "{one:?}");
                let policy = one.settings.get("consistency").map(String::as_str);
                let is_redundant = one.settings["level"] != "single";
                assert_eq!(policy, is_redundant.then_some("bitmap"), "{one:?}");
                assert_eq!(one.baseline == one.id, one.settings["level"] == "single");
            }
            for key in ["size", "prepare"] {
                assert!(text.contains(&format!("{key} = \"{size}\"")), "{text}");
            }
        }
        // An open loop prepares nothing by itself, and has no ramp.
        let workloads = vec!["name = \"queries\"\nrate = 100".parse().unwrap()];
        let open = Work { workloads, ..work };
        let (text, _) = question(folder.path(), 64 << 20, open.clone()).plan().unwrap();
        assert!(text.contains("fill = \"16MiB\"") && !text.contains("prepare = "), "{text}");
        let words = ["2", "x", "st340015a"].map(str::to_owned);
        let drives = Drives::read(&words, false).unwrap();
        let own = question(folder.path(), 64 << 20, open);
        let modelled = Question { drives, file_system_is_run: false, ..own };
        let (text, _) = modelled.plan().unwrap();
        assert!(text.contains("time = ") && !text.contains("verify = "), "{text}");
        assert!(!text.contains("ramp = "), "{text}");
        let command = Work::of_command("cp -r /etc {dir}").unwrap();
        let (text, resolved) = question(folder.path(), 64 << 20, command).plan().unwrap();
        assert!(!text.contains("size = ") && !text.contains("time = "), "{text}");
        assert_eq!(resolved.plan.workloads[0].suite, "command");
    }
}
