//! `cargo xtask bench --against REV`: the same paths as requests go here and at a commit, in turns.
//!
//! The commit is checked out and built in the build folder; nothing is written into
//! `docs/benchmarks.md`. Which paths a change may touch is for whoever made it to say: by the
//! beginnings of their names, or all of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fio::RoundFigures;
use super::probe::counted;
use super::table::{Aim, Row, Section};
use super::{Bench, host};
use crate::instructions::{PATHS, RequestPath};

/// How far a ratio may be above one before it is called missed: rounds differ by so much.
const AIM: Aim = Aim::AtMost(1.03);

/// The paths whose names begin as one of these words; all where there are none.
///
/// # Errors
/// A word with which none begins.
pub(crate) fn chosen(words: &[&String]) -> Result<Vec<&'static RequestPath>, String> {
    let begins = |path: &RequestPath, word: &str| path.name.starts_with(word);
    if let Some(word) = words.iter().find(|word| !PATHS.iter().any(|path| begins(path, word))) {
        let names: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
        return Err(format!("no path begins with {word}: they are {}", names.join("; ")));
    }
    let is_chosen =
        |path: &&RequestPath| words.is_empty() || words.iter().any(|word| begins(path, word));
    Ok(PATHS.iter().filter(is_chosen).collect())
}

/// Builds both and measures them; prints the ratios.
///
/// # Errors
/// A commit that is not there or cannot be built, a path that the probe of that time did not know.
pub(crate) fn compare(bench: &Bench, revision: &str, words: &[&String]) -> Result<(), String> {
    let paths = chosen(words)?;
    let old = built_at(bench, revision)?;
    bench.build("probe")?;
    let mut rows = Vec::new();
    for path in paths {
        eprintln!("   {}", path.name);
        let requests = format!("--requests={}", bench.effort.requests);
        let side =
            |program: &Path| counted(Command::new(program).args(path.arguments).arg(&requests));
        let here = bench.target.join("release/probe");
        let (ours, other) = match bench.rounds(|| side(&here), || side(&old)) {
            Ok(rounds) => rounds,
            Err(message) => {
                eprintln!("   left out: {message}");
                continue;
            }
        };
        // One core is busy all of the time; of others that share it this says less than a rate.
        let cost = |done: &RoundFigures| done.cpu_seconds * 1e6 / done.operations;
        let costs = |rounds: &[RoundFigures]| rounds.iter().map(cost).collect();
        rows.push(Row {
            load: path.name.to_owned(),
            measure: "processor µs a request",
            ours: costs(&ours),
            other: Some(costs(&other)),
            aim: AIM,
        });
    }
    let how = format!(
        "`probe` of this tree and of {revision}, both built as users build, {} requests a round, in \
        turns.",
        bench.effort.requests
    );
    let measured = format!("Measured in {} rounds", bench.effort.rounds);
    let section =
        Section { title: "Against a commit", how, measured: None, sides: ("here", "there"), rows };
    println!("{}\n{measured}; {}.", section.markdown(), host::state(&bench.root));
    Ok(())
}

/// The probe of a commit, built in a checkout of its own that is removed again.
fn built_at(bench: &Bench, revision: &str) -> Result<PathBuf, String> {
    let (folder, program) = (bench.target.join("against/tree"), bench.target.join("against/probe"));
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&bench.root);
        command
    };
    let remove = || {
        let _ = git(&["worktree", "remove", "--force"]).arg(&folder).output();
    };
    // An earlier run that was broken off may have left it.
    remove();
    // Words of git's own may begin with a dash; a commit does not.
    if revision.starts_with('-') {
        return Err(format!("{revision}: that is no commit"));
    }
    let named = git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
    succeeds(named, &format!("{revision} is no commit here"))?;
    let mut add = git(&["worktree", "add", "--quiet", "--detach", "--force"]);
    add.arg(&folder).arg(revision);
    succeeds(add, &format!("git worktree add of {revision}"))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "probe"]).current_dir(&folder);
    // Libraries are the same in most cases, and built once.
    cargo.env("CARGO_TARGET_DIR", &bench.target);
    let built = succeeds(cargo, &format!("cargo build of {revision}")).and_then(|()| {
        let made = bench.target.join("release/probe");
        fs::copy(&made, &program)
            .map(|_| ())
            .map_err(|error| format!("{}: {error}", made.display()))
    });
    remove();
    built.map(|()| program)
}

fn succeeds(mut command: Command, what: &str) -> Result<(), String> {
    match command.stdout(std::process::Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: {status}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_chosen_by_how_they_begin() {
        let word = |text: &str| text.to_owned();
        assert_eq!(chosen(&[]).map(|all| all.len()), Ok(PATHS.len()));
        let (raid1, model) = (word("raid1:"), word("disk model"));
        let names: Vec<&str> = chosen(&[&raid1, &model])
            .expect("they are there")
            .iter()
            .map(|path| path.name)
            .collect();
        assert_eq!(names.len(), 3, "{names:?}");
        let error = chosen(&[&word("raid7")]).err().expect("there is none");
        assert!(error.contains("raid7") && error.contains("raid0: random read"), "{error}");
    }
}
