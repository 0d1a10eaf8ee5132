//! `cargo xtask ci instructions`: how many instructions a request takes on each of the paths that
//! most requests go, counted by callgrind and held against what `xtask/instructions.toml` keeps.
//!
//! ```text
//!   probe PATH --requests=N   ── callgrind ──> instructions ┐
//!   probe PATH --requests=2N  ── callgrind ──> instructions ┴─ difference / N ──> kept figure: more than 3 % above it fails
//! ```
//!
//! A count is the same however busy the machine is, and starting up counts for neither side of a
//! difference. It does depend on the compiler, on the C library and on what the processor can do:
//! where these are others than those of the kept figures, nothing is judged, and new figures are
//! asked for. A change that may cost more says why: `cargo xtask instructions WHY` keeps the new
//! figures, each with the reason beside it, in the commit that brings the change.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build_folder::target_folder;

/// The kept figures, from the workspace's root.
const KEPT: &str = "xtask/instructions.toml";
/// What the program is built with: optimised, and cheap enough to build for each run of CI.
const PROFILE: &str = "counted";
/// Requests of the shorter run; the longer has twice as many.
const REQUESTS: u64 = 5_000;
/// The C library copies and fills by single instructions that callgrind counts as one for each
/// byte: it is told to take its other ways, so that copies are a small part of a count.
const WITHOUT_STRING_INSTRUCTIONS: &str =
    "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000";
/// By what share a count may be above what is kept.
const ALLOWED: f64 = 0.03;

/// A way that requests go: what it is called, and what the probe is told.
pub(crate) struct RequestPath {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [&'static str],
}

impl RequestPath {
    /// What its file is called.
    fn file_name(&self) -> String {
        self.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
    }
}

/// The paths that are counted, and that `cargo xtask bench --against` measures.
pub(crate) const PATHS: &[RequestPath] = &[
    RequestPath {
        name: "linear: random read 4 KiB",
        arguments: &["linear(null:1GiB, null:1GiB)", "random-read", "--bytes=4096", "--depth=8"],
    },
    RequestPath {
        name: "raid0: random read 4 KiB",
        arguments: &[
            "raid0(chunk=64KiB, null:1GiB, null:1GiB)",
            "random-read",
            "--bytes=4096",
            "--depth=8",
        ],
    },
    RequestPath {
        name: "raid1: random read 4 KiB",
        arguments: &["raid1(null:1GiB, null:1GiB)", "random-read", "--bytes=4096", "--depth=8"],
    },
    RequestPath {
        name: "raid10: random write 4 KiB",
        arguments: &[
            "raid10(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)",
            "random-write",
            "--bytes=4096",
            "--depth=8",
        ],
    },
    RequestPath {
        name: "raid5: random write 4 KiB",
        arguments: &[
            "raid5(chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB)",
            "random-write",
            "--bytes=4096",
            "--depth=8",
        ],
    },
    RequestPath {
        name: "raid6: random write 4 KiB",
        arguments: &[
            "raid6(chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB)",
            "random-write",
            "--bytes=4096",
            "--depth=8",
        ],
    },
    RequestPath {
        name: "cache: hit, random read 4 KiB",
        arguments: &[
            "cache(ram:32MiB, ram:16MiB)",
            "random-read",
            "--bytes=4096",
            "--depth=8",
            "--fill",
        ],
    },
    RequestPath {
        name: "NBD: a read and a write of 4 KiB, understood and answered",
        arguments: &["understand"],
    },
    RequestPath {
        name: "disk model: random read 4 KiB",
        arguments: &["model:maxtor-6y200p0", "random-read", "--bytes=4096", "--depth=1"],
    },
    RequestPath {
        name: "disk model: random write 4 KiB",
        arguments: &["model:maxtor-6y200p0", "random-write", "--bytes=4096", "--depth=1"],
    },
];

/// What was planted: the probe lays this many empty layers over the first path.
const PLANTED: &str = "--layers=16";

/// Figures that a commit keeps.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    /// What they were counted with.
    counted_with: String,
    figures: Vec<Figure>,
}

/// Instructions a request of one path.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    name: String,
    instructions: f64,
    /// Why it is what it is, in the words of whoever kept it.
    reason: String,
}

impl Kept {
    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(text: &str) -> Result<Kept, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{KEPT}: {error}"))?;
        let word = |table: &toml::Table, key: &str| {
            let found = table.get(key).and_then(|value| value.as_str()).map(str::to_owned);
            found.ok_or_else(|| format!("{KEPT}: `{key}` is missing or no text"))
        };
        let figure = |value: &toml::Value| {
            let table = value.as_table().ok_or_else(|| format!("{KEPT}: [[path]] is a table"))?;
            let (name, reason) = (word(table, "name")?, word(table, "reason")?);
            let number = table.get("instructions").and_then(toml::Value::as_float);
            match number {
                Some(instructions) if !reason.trim().is_empty() => {
                    Ok(Figure { name, instructions, reason })
                }
                Some(_) => Err(format!("{KEPT}: {name}: its reason is empty")),
                None => Err(format!("{KEPT}: {name}: `instructions` is no number with a point")),
            }
        };
        let paths = table.get("path").and_then(toml::Value::as_array);
        let figures = paths.into_iter().flatten().map(figure).collect::<Result<_, String>>()?;
        Ok(Kept { counted_with: word(&table, "counted_with")?, figures })
    }

    fn text(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!(
            "# Instructions a request, kept by `cargo xtask instructions WHY` and held by\n\
            # `cargo xtask ci instructions`. The reason beside a figure is that of its last change.\n\
            counted_with = {}\n",
            quoted(&self.counted_with)
        );
        for figure in &self.figures {
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "\n[[path]]\nname = {}\ninstructions = {:.1}\nreason = {}\n",
                quoted(&figure.name),
                figure.instructions,
                quoted(&figure.reason)
            );
        }
        text
    }

    /// The same with what was counted now: a figure that is still within what is allowed stays as
    /// it was kept, so that many small steps do not add up unseen.
    fn renewed(&self, counted: &[(String, f64)], counted_with: &str, reason: &str) -> Kept {
        let is_comparable = self.counted_with == counted_with;
        let figure = |(name, now): &(String, f64)| {
            let kept = self.figures.iter().find(|figure| figure.name == *name);
            match kept
                .filter(|kept| is_comparable && change(kept.instructions, *now).abs() <= ALLOWED)
            {
                Some(kept) => kept.clone(),
                None => {
                    Figure { name: name.clone(), instructions: *now, reason: reason.to_owned() }
                }
            }
        };
        Kept {
            counted_with: counted_with.to_owned(),
            figures: counted.iter().map(figure).collect(),
        }
    }

    /// What a count comes to, held against the kept figures.
    fn judge(&self, counted: &[(String, f64)]) -> Vec<Finding> {
        let kept = |name: &str| self.figures.iter().find(|figure| figure.name == name);
        let found = counted.iter().filter_map(|(name, now)| {
            let name = name.clone();
            let Some(before) = kept(&name).map(|figure| figure.instructions) else {
                return Some(Finding::New { name });
            };
            match change(before, *now) {
                share if share > ALLOWED => Some(Finding::More { name, before, now: *now }),
                share if share < -ALLOWED => Some(Finding::Less { name, before, now: *now }),
                _ => None,
            }
        });
        let is_gone = |figure: &&Figure| !counted.iter().any(|(name, _)| *name == figure.name);
        let gone = self.figures.iter().filter(is_gone);
        found.chain(gone.map(|figure| Finding::Gone { name: figure.name.clone() })).collect()
    }
}

/// By what share a count has changed.
fn change(before: f64, now: f64) -> f64 {
    now / before - 1.0
}

/// What is to be said of a path.
#[derive(Clone, Debug, PartialEq)]
enum Finding {
    More {
        name: String,
        before: f64,
        now: f64,
    },
    Less {
        name: String,
        before: f64,
        now: f64,
    },
    /// Counted, and nothing is kept of it.
    New {
        name: String,
    },
    /// Kept, and not counted any more.
    Gone {
        name: String,
    },
}

impl Finding {
    /// Whether the step fails for it.
    fn fails(&self) -> bool {
        !matches!(self, Finding::Less { .. })
    }

    fn text(&self) -> String {
        let changed = |name: &str, before: f64, now: f64| {
            let share = 100.0 * change(before, now);
            format!(
                "{name}: {before:.1} instructions a request before, {now:.1} now ({share:+.1} %)"
            )
        };
        match self {
            Finding::More { name, before, now } | Finding::Less { name, before, now } => {
                changed(name, *before, *now)
            }
            Finding::New { name } => format!("{name}: no figure is kept of it"),
            Finding::Gone { name } => format!("{name}: a figure is kept of a path that is no more"),
        }
    }
}

/// How a check ended.
pub(crate) enum Outcome {
    Held,
    /// Paths that take more than they may, in a line.
    Broken(String),
    /// Why nothing can be said here.
    Unknown(String),
}

/// Counts all paths and holds them against what is kept.
///
/// # Errors
/// When the probe cannot be built or a count fails.
pub(crate) fn check(root: &Path) -> Result<Outcome, String> {
    if !has_valgrind() {
        let why = "valgrind is not there: apt-get install valgrind".to_owned();
        return Ok(Outcome::Unknown(why));
    }
    let path = root.join(KEPT);
    let text = fs::read_to_string(&path).map_err(|error| format!("{KEPT}: {error}"))?;
    let (kept, here) = (Kept::read(&text)?, counted_with(root));
    if kept.counted_with != here {
        return Ok(Outcome::Unknown(format!(
            "the figures of {KEPT} were counted with {}, and here is {here}: cargo xtask \
            instructions 'counted with {here}' renews them",
            kept.counted_with
        )));
    }
    let counter = Counter::build(root)?;
    let counted = counter.all()?;
    for (name, now) in &counted {
        println!("{now:>10.1}  {name}");
    }
    let findings = kept.judge(&counted);
    for finding in &findings {
        println!("{}", finding.text());
    }
    if findings.iter().any(|finding| !finding.fails()) {
        println!("what takes less than before is kept by: cargo xtask instructions WHY");
    }
    // A check that cannot fail is none: more work than before is seen.
    let arguments: Vec<&str> = PATHS[0].arguments.iter().copied().chain([PLANTED]).collect();
    let planted = vec![(PATHS[0].name.to_owned(), counter.count("planted", &arguments)?)];
    let kept = Kept { figures: kept.figures.iter().take(1).cloned().collect(), ..kept };
    if !kept.judge(&planted).iter().any(|finding| matches!(finding, Finding::More { .. })) {
        return Ok(Outcome::Broken(format!("{PLANTED} was planted and not seen: {planted:?}")));
    }
    let broken: Vec<String> =
        findings.iter().filter(|finding| finding.fails()).map(Finding::text).collect();
    Ok(match broken.is_empty() {
        true => Outcome::Held,
        false => Outcome::Broken(format!(
            "{}; if it has to be, the commit says why: cargo xtask instructions WHY. \
            callgrind_annotate shows where, of a file in {}",
            broken.join("; "),
            counter.folder.display()
        )),
    })
}

/// Counts all paths, and keeps what has changed, with the reason.
///
/// # Errors
/// Without a reason, and as [`check`].
pub(crate) fn renew(root: &Path, words: &[String]) -> Result<bool, String> {
    let reason = words.join(" ");
    if reason.trim().is_empty() {
        return Err("cargo xtask instructions WHY: the reason stands beside each new figure".into());
    }
    if !has_valgrind() {
        return Err("valgrind is not there: apt-get install valgrind".to_owned());
    }
    let path = root.join(KEPT);
    let kept = fs::read_to_string(&path).map_or(Ok(Kept::default()), |text| Kept::read(&text))?;
    let counter = Counter::build(root)?;
    let renewed = kept.renewed(&counter.all()?, &counted_with(root), reason.trim());
    for figure in renewed.figures.iter().filter(|figure| !kept.figures.contains(figure)) {
        println!("{:>10.1}  {}", figure.instructions, figure.name);
    }
    fs::write(&path, renewed.text()).map_err(|error| format!("{KEPT}: {error}"))?;
    Ok(true)
}

/// The probe, and where callgrind writes what it has seen.
pub(crate) struct Counter {
    program: PathBuf,
    folder: PathBuf,
}

impl Counter {
    /// Builds the probe.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn build(root: &Path) -> Result<Counter, String> {
        let target = target_folder(root)?;
        let status = Command::new("cargo")
            .args(["build", "--profile", PROFILE, "--locked", "--package", "probe"])
            .args(["--features", "under-valgrind"])
            .current_dir(root)
            .status()
            .map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("cargo build: {status}"));
        }
        let folder = target.join("ci/instructions");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Counter { program: target.join(PROFILE).join("probe"), folder })
    }

    fn all(&self) -> Result<Vec<(String, f64)>, String> {
        let count = |path: &RequestPath| {
            Ok((path.name.to_owned(), self.count(&path.file_name(), path.arguments)?))
        };
        PATHS.iter().map(count).collect()
    }

    /// Instructions of one request that the probe makes when it is told so; what callgrind has seen
    /// lies in a file of this name.
    ///
    /// # Errors
    /// When the probe fails under callgrind.
    pub(crate) fn count(&self, file_name: &str, arguments: &[&str]) -> Result<f64, String> {
        let run = |requests| self.run(file_name, arguments, requests);
        let (few, many) = (run(REQUESTS)?, run(2 * REQUESTS)?);
        Ok((many as f64 - few as f64) / REQUESTS as f64)
    }

    /// Instructions of a run.
    fn run(&self, file_name: &str, arguments: &[&str], requests: u64) -> Result<u64, String> {
        let seen = self.folder.join(format!("{file_name}.out"));
        let output = Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", seen.display()))
            .arg(&self.program)
            .args(arguments)
            .arg(format!("--requests={requests}"))
            .env("GLIBC_TUNABLES", WITHOUT_STRING_INSTRUCTIONS)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{}: {}: {}", arguments.join(" "), output.status, said.trim()));
        }
        let text =
            fs::read_to_string(&seen).map_err(|error| format!("{}: {error}", seen.display()))?;
        totals(&text).ok_or_else(|| format!("{}: it has no line `totals:`", seen.display()))
    }
}

/// The sum at the end of what callgrind writes.
fn totals(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What a count depends on besides our own code.
fn counted_with(root: &Path) -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(root).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        text.unwrap_or_else(|_| format!("{program} unknown"))
    };
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |wanted: &str| flags.split_ascii_whitespace().any(|flag| flag == wanted);
    // Callgrind's processor has at most these.
    let level = if has("avx2") { "with" } else { "without" };
    format!(
        "{}, {}, {}, {} {level} AVX2",
        said("rustc", &["--version"]),
        said("getconf", &["GNU_LIBC_VERSION"]),
        said("valgrind", &["--version"]),
        std::env::consts::ARCH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(figures: &[(&str, f64)]) -> Kept {
        let figure = |(name, instructions): &(&str, f64)| Figure {
            name: (*name).to_owned(),
            instructions: *instructions,
            reason: "as it was \"first\"".to_owned(),
        };
        Kept { counted_with: "rustc 1".to_owned(), figures: figures.iter().map(figure).collect() }
    }

    fn counted(figures: &[(&str, f64)]) -> Vec<(String, f64)> {
        figures.iter().map(|(name, now)| ((*name).to_owned(), *now)).collect()
    }

    #[test]
    fn what_takes_more_than_three_per_cent_more_fails_with_both_figures() {
        let kept = kept(&[("raid0", 100.0), ("raid5", 100.0), ("cache", 100.0), ("model", 100.0)]);
        let now = counted(&[("raid0", 102.9), ("raid5", 103.1), ("cache", 96.9), ("model", 97.1)]);
        let findings = kept.judge(&now);
        let texts: Vec<(bool, String)> =
            findings.iter().map(|finding| (finding.fails(), finding.text())).collect();
        assert_eq!(
            texts,
            [
                (true, "raid5: 100.0 instructions a request before, 103.1 now (+3.1 %)".to_owned()),
                (false, "cache: 100.0 instructions a request before, 96.9 now (-3.1 %)".to_owned()),
            ]
        );
    }

    #[test]
    fn what_is_kept_and_what_is_counted_are_the_same_paths() {
        let findings = kept(&[("old", 1.0)]).judge(&counted(&[("new", 1.0)]));
        let [new, gone] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(*new, Finding::New { name: "new".to_owned() });
        assert_eq!(*gone, Finding::Gone { name: "old".to_owned() });
        assert!(new.fails() && gone.fails());
    }

    #[test]
    fn a_reason_stands_beside_what_it_is_for_and_small_steps_do_not_add_up() {
        let before = kept(&[("raid0", 100.0), ("raid5", 100.0)]);
        let now = counted(&[("raid0", 102.0), ("raid5", 110.0)]);
        let after = before.renewed(&now, "rustc 1", "checks the bitmap first");
        assert_eq!(after.figures[0], before.figures[0]);
        let raid5 = &after.figures[1];
        assert_eq!((raid5.instructions, raid5.reason.as_str()), (110.0, "checks the bitmap first"));
        assert_eq!(after.judge(&counted(&[("raid0", 103.5), ("raid5", 110.0)])).len(), 1);
        let other = before.renewed(&now, "rustc 2", "another compiler");
        assert_eq!(other.figures[0].instructions, 102.0);
        assert_eq!(Kept::read(&after.text()), Ok(after));
    }

    #[test]
    fn the_file_that_is_kept_has_a_figure_and_a_reason_for_each_path() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(root.join(KEPT)).expect("it is kept");
        let kept = Kept::read(&text).expect("it can be read");
        let names: Vec<&str> = kept.figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, PATHS.iter().map(|path| path.name).collect::<Vec<_>>());
        let silent = text.replacen("reason = \"", "reason = \"\" # ", 1);
        assert!(Kept::read(&silent).is_err_and(|error| error.contains("its reason is empty")));
    }

    #[test]
    fn callgrinds_sum_is_found() {
        assert_eq!(totals("events: Ir\nfn=(1) a\n1 5\n\ntotals: 12345\n"), Some(12345));
        assert_eq!(totals("events: Ir\n"), None);
    }
}
