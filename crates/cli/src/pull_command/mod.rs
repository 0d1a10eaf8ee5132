//! `raidloom pull`: what a layout and its file system lose when the plug is pulled.

mod arguments;
mod drives;
mod options;
pub(crate) mod outcome_text;
mod replay_text;

use std::path::Path;
use std::time::Duration;

use host::Ending;
use lab::pull::{
    MountHost, Program, ReplayOptions, STATE_TIME, check_images, enter, kept, replay, run,
    serve_test, serve_worker, serve_worker_in_guest,
};

pub(crate) use self::arguments::{EXAMPLES, PullArguments, PullKeys};
use self::options::options;
use self::outcome_text::show;
use self::replay_text::show_replayed;
use crate::catalogue;
use crate::failure::{Failure, this_program};
use crate::junit;
use crate::output::{Output, said};
use crate::progress::Line;
use crate::signals;

/// The verb of what mounts and works.
const WORKER: &str = "pull-worker";

/// Carries out what the test asks for, until it ends.
pub(crate) fn worker(disk: Option<&Path>) -> Result<(), Failure> {
    if let Some(disk) = disk {
        return serve_worker_in_guest(disk);
    }
    // Who started it has gone where this fails, and has nobody to tell.
    serve_worker(&mut std::io::stdin().lock(), &mut escape::out_file)
        .map_err(|_| Failure::silent(1))
}

/// A test of a run's row.
pub(crate) fn test(in_guest: bool) -> Result<(), Failure> {
    serve_test(&program(WORKER)?, in_guest, &mut escape::out_file).map_err(|_| Failure::silent(1))
}

/// This program with another verb.
fn program(verb: &str) -> Result<Program, Failure> {
    let path = this_program()?;
    Ok(Program { path, arguments: vec![verb.to_owned()], state_time: STATE_TIME })
}

/// What makes the power cuts of a run.
pub(crate) fn puller() -> Result<Program, Failure> {
    program("pull-test")
}

/// Runs `pull`.
pub(crate) fn pull(output: &Output, arguments: &PullArguments) -> Result<(), Failure> {
    let state_time = time("-s state_time=", &arguments.keys.state_time)?;
    let program = Program { state_time, ..program(WORKER)? };
    if let Some(path) = &arguments.replay {
        let kept = kept(path)?;
        if let Some(folder) = &arguments.images {
            check_images(folder)?;
        }
        let ground = ground(kept.failing.guest_memory_bytes, kept.failing.guest_kernel.as_deref())?;
        let with = ReplayOptions {
            images: arguments.images.as_deref(),
            smallest_loss: arguments.keys.smallest_loss == "on",
        };
        let replayed = replay(&kept, &ground, &program, with)?;
        return show_replayed(output, &replayed, arguments.images.as_deref());
    }
    let options = options(output, arguments)?;
    let logs = options.import.iter().flat_map(|it| [Some(it.log.clone()), it.base.clone()]);
    let made_from: Vec<_> = logs.flatten().collect();
    arguments.junit.iter().try_for_each(|to| host::files::refuse_to_write(to, &made_from))?;
    if let Some(path) = &options.log_writes
        && !path.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
    {
        let place = said("--log-writes", &path.display().to_string());
        return Err(Failure::usage(catalogue::NO_FOLDER_YET).at(place));
    }
    if let Some(folder) = &options.keep_failing {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::from_io(folder.display(), &error))?;
    }
    let ground = ground(options.guest_memory_bytes, options.guest_kernel.as_deref())?;
    let stop = signals::stop_flag()?;
    let line = Line::new(output);
    let outcome = run(&options, &ground, &program, &mut |text| line.show(text), &stop);
    let outcome = outcome.map_err(|error| match (error.ending(), &arguments.target) {
        (Ending::Failed, Some(target)) => error.at(target),
        _ => error,
    })?;
    line.clear();
    show(output, arguments, (&options, &ground), &outcome)?;
    if let Some(path) = &arguments.junit {
        let name = arguments.target.as_deref().unwrap_or_default();
        let text = junit::document(name, &outcome);
        host::files::write_named(path, text.as_bytes(), &made_from)?;
    }
    if outcome.interrupted {
        return Err(Failure::interrupted(catalogue::PULL_INTERRUPTED));
    }
    let samples = [&outcome.figure, &outcome.hunt];
    match samples.into_iter().flatten().find(|sample| junit::is_broken(sample)) {
        Some(sample) => Err(Failure::limit_passed(outcome_text::headline(&sample.card))),
        None => Ok(()),
    }
}

fn time(flag: &str, text: &str) -> Result<Duration, Failure> {
    stack::size::parse_duration(text).map_err(|error| Failure::usage(error).at(said(flag, text)))
}

/// Guests with so much memory and this kernel, or this machine in a namespace of our own: then the
/// program may begin anew.
fn ground(guest_memory_bytes: Option<u64>, kernel: Option<&str>) -> Result<MountHost, Failure> {
    if guest_memory_bytes.is_none() {
        enter()?;
    }
    MountHost::new(guest_memory_bytes, kernel)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::arguments::*;
    use super::options::md_text;
    use super::outcome_text::{simulated, stood_for};
    use crate::arguments::Arguments;

    /// "Simulated: nothing is known of /dev/X itself": in the first line and in the grade's.
    #[test]
    fn a_grade_is_of_the_drive_that_stands_for_a_device_and_says_so() {
        let of = |words: &[&str]| {
            let line = ["raidloom", "pull"].iter().chain(words);
            match Arguments::parse_from(line).command {
                crate::arguments::Command::Pull(arguments) => *arguments,
                _ => unreachable!("it was said"),
            }
        };
        let device = of(&["--scratch", "raid1(/dev/sdx, ram:1MiB)"]);
        assert_eq!(stood_for(&device), ["/dev/sdx"]);
        let said = simulated(&stood_for(&device)).unwrap();
        assert_eq!(said, "simulated: nothing is known of /dev/sdx itself");
        let two = simulated(&["a.img".to_owned(), "b.img".to_owned()]).unwrap();
        assert!(two.ends_with("a.img, b.img themselves"), "{two}");
        assert_eq!(simulated(&stood_for(&of(&["ram:1MiB"]))), None);
    }

    #[test]
    fn a_stack_is_an_array_of_md_where_md_has_it() {
        let of = |text: &str, consistency: &str| {
            md_text(&stack::parse(text).unwrap(), consistency, "--array md")
                .map_err(|error| error.to_string())
        };
        let five = "raid5(metadata=1.2, chunk=64KiB, ram:1MiB, ram:1MiB, ram:1MiB)";
        assert_eq!(of(five, "bitmap").unwrap(), "raid5 chunk=64KiB bitmap=internal");
        assert_eq!(of("raid1(ram:1MiB, ram:1MiB)", "resync").unwrap(), "raid1");
        assert_eq!(of(five, "ppl").unwrap(), "raid5 chunk=64KiB consistency=ppl");
        for (text, consistency, expected) in [
            ("ram:1MiB", "resync", "no array"),
            ("raid1(raid0(ram:1MiB, ram:1MiB), ram:1MiB)", "resync", "without layers below"),
            ("raid5(force=yes, metadata=1.2, ram:1MiB, ram:1MiB, ram:1MiB)", "resync", "`force`"),
            ("raid1(ram:1MiB, ram:1MiB)", "ppl", "raid1 has no such log"),
        ] {
            let error = of(text, consistency).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A row of a plan and the command are the same test: what both can be told has the same
    /// meaning when nothing is said.
    #[test]
    fn flags_and_settings_of_plans_agree() {
        let suite = &bench::suite::pull::SUITE;
        let command = Arguments::command();
        let pull = command.find_subcommand("pull").unwrap();
        let keys = PullKeys::command();
        let flag = |name: &str| {
            let all = || pull.get_arguments().chain(keys.get_arguments());
            all().find(|one| one.get_id() == name).unwrap()
        };
        let setting = |name: &str| suite.setting(name).unwrap().default(block::Clock::Wall);
        for (name, of_plans) in [
            ("device", "device"),
            ("event", "event"),
            ("drive_cache", "drive_cache"),
            ("cache_age", "cache_age"),
            ("tear", "tear"),
        ] {
            let default = flag(name).get_default_values()[0].to_str().unwrap();
            assert_eq!(default, setting(of_plans).to_string(), "--{name}");
        }
        let said = |name: &str| flag(name).get_help().unwrap().to_string();
        let (copies, steps) = (setting("copies"), setting("steps"));
        assert!(said("steps").contains(&format!("{copies} copies, {steps} of the others")));
        assert!(said("spread").contains(&format!("{} for copies", setting("copy_time"))));
        for (name, kind) in [("device", "device"), ("event", "event")] {
            let values = flag(name).get_possible_values();
            let bench::suite::Kind::Word(words) = suite.setting(kind).unwrap().kind else {
                panic!("{kind} takes words")
            };
            let values: Vec<&str> =
                values.iter().map(clap::builder::PossibleValue::get_name).collect();
            assert_eq!(values, words);
        }
        let rows = suite.default_phases();
        let works: Vec<String> = flag("work")
            .get_possible_values()
            .iter()
            .map(|work| format!("{}{}", bench::suite::pull::ROW, work.get_name()))
            .collect();
        assert_eq!(rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>(), works);
    }
}
