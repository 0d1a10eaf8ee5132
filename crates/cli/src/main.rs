//! The `raidloom` binary: what was said (`arguments`) becomes what is meant, and is run.
//!
//! Results go to standard output, everything else to standard error. Exit codes are those of
//! `raidloom --help`.

#![allow(
    clippy::disallowed_methods,
    reason = "what a person is shown while something runs has the time of this machine"
)]

mod arguments;
mod array_command;
mod bench_command;
mod bounds;
mod cache_command;
mod catalogue;
mod check;
mod choose_command;
mod compare_command;
mod consent;
mod contexts;
mod drives;
mod export_command;
mod failure;
mod first_help;
mod guest_command;
mod history_command;
mod junit;
mod keys;
mod language;
mod limits;
mod merge;
mod model;
mod model_fit;
mod model_links;
mod monitor_command;
mod option_help;
mod output;
mod plan;
mod progress;
mod pull_command;
mod record_command;
mod report_command;
mod run;
mod scratch_file;
mod signals;
mod spellings;
mod trace_command;
mod ui_command;
mod usage_errors;
mod watch_command;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use arguments::{Arguments, CheckSubject, Command, ReportVerb, RunVerb};
use catalogue::{say, statement};
use failure::Failure;
use output::Output;
use words::{Language, Text};

fn main() -> ExitCode {
    signals::fail_at_file_limit();
    let mut command = match language::language(None) {
        Language::English => Arguments::command(),
        Language::Japanese => {
            words::in_language(Language::Japanese, || first_help::in_japanese(Arguments::command()))
        }
    };
    let typed: Vec<OsString> = std::env::args_os().collect();
    let (words, note) = spellings::modern(&typed);
    let language = language_of_refusals(&words);
    let misplaced = words::in_language(language, || spellings::misplaced(&command, &words));
    if let Some(line) = misplaced {
        escape::err(&format!("raidloom: {line}"));
        return ExitCode::from(2);
    }
    // What reads values refuses them in words of its own.
    let parsed = words::in_language(language, || parse(&mut command, words.iter().cloned()));
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        // Its message quotes what was typed, which a shell may have made from files' names.
        Err(error)
            if error.use_stderr() && std::env::args_os().any(|argument| is_foreign(&argument)) =>
        {
            escape::err(&error.render().to_string());
            return ExitCode::from(2);
        }
        Err(error) => match words::in_language(language, || instead(&error, &words)) {
            Some(line) => {
                escape::err(&format!("raidloom: {line}"));
                return ExitCode::from(2);
            }
            None => return refuse(&error, language),
        },
    };
    let output = Output::new(&arguments.output);
    // Programs read the same whatever the language.
    let language = match output.json || arguments.command.is_for_programs() {
        true => Language::English,
        false => language::language(None),
    };
    words::in_language(language, || {
        note.iter().for_each(|note| output.note(note));
        let ended = contexts::check(&command, &matches)
            .and_then(|()| serve::log::start(arguments.verbose))
            .and_then(|()| carry_out(&output, arguments.command));
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => end(&failure, &output),
        }
    })
}

/// The language of what is wrong with a command line: the reader's, or English for programs.
fn language_of_refusals(words: &[OsString]) -> Language {
    match words.iter().any(|word| word == "--json") {
        true => Language::English,
        false => language::language(None),
    }
}

/// Says what is wrong with a command line, in the reader's language, and ends.
fn refuse(error: &clap::Error, language: Language) -> ExitCode {
    let is_japanese = language == Language::Japanese;
    match usage_errors::in_japanese(error).filter(|_| is_japanese) {
        Some(text) => {
            escape::err(&format!("raidloom: {text}"));
            ExitCode::from(2)
        }
        None => error.exit(),
    }
}

impl Command {
    /// Whether only other processes of this program run it and hear it.
    fn is_for_programs(&self) -> bool {
        match self {
            Command::Array(verb) => verb.is_for_programs(),
            Command::PullWorker { .. } | Command::PullTest { .. } => true,
            _ => false,
        }
    }
}

/// Runs the verb that was named.
fn carry_out(output: &Output, command: Command) -> Result<(), Failure> {
    match command {
        Command::Check { subject: None } => check::check(output),
        Command::Check { subject: Some(CheckSubject::Drives) } => drives::drives(output),
        Command::Check { subject: Some(CheckSubject::Guest) } => guest_command::check(output),
        Command::Choose(arguments) => choose_command::choose(output, &arguments),
        Command::Bench(arguments) => bench_command::bench(output, *arguments),
        Command::Array(verb) => array_command::array(output, &verb),
        Command::Run(command) => match command.verb {
            None => run::run(output, command.arguments),
            Some(RunVerb::Plan(arguments)) => plan::plan(output, &arguments),
            Some(RunVerb::Watch(arguments)) => watch_command::watch(output, &arguments),
            Some(RunVerb::Merge(arguments)) => merge::merge(output, &arguments),
        },
        Command::Report(command) => match (command.verb, command.arguments) {
            (Some(ReportVerb::History(arguments)), _) => history_command::show(output, &arguments),
            (Some(ReportVerb::Export(arguments)), _) => export_command::export(output, &arguments),
            (None, Some(arguments)) => report_command::report(output, &arguments),
            (None, None) => Err(Failure::usage(catalogue::NAME_A_REPORT)),
        },
        Command::Compare(arguments) => compare_command::compare_runs(output, &arguments),
        Command::Ui(arguments) => ui_command::ui(output, &arguments),
        Command::Guest(verb) => guest_command::guest(output, &verb),
        Command::Model(verb) => model::model(output, &verb),
        Command::Pull(arguments) => pull_command::pull(output, &arguments),
        Command::Record(arguments) => record_command::record(output, &arguments),
        Command::Trace(arguments) => trace_command::trace(output, &arguments),
        Command::PullWorker { disk } => pull_command::worker(disk.as_deref()),
        Command::PullTest { guest } => pull_command::test(guest),
        Command::Man { completions: Some(shell), .. } => {
            // Into memory first: a closed pipe is an ordinary end and not a panic.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut whole(), "raidloom", &mut script);
            output.result(&String::from_utf8_lossy(&script))
        }
        Command::Man { to: Some(folder), .. } => pages(output, &folder),
        Command::Man { .. } => manual().and_then(|page| output.result(&page)),
    }
}

/// Says why a command did not end well, and gives the exit code.
fn end(failure: &Failure, output: &Output) -> ExitCode {
    if !failure.text().is_empty() {
        output.error(failure);
    }
    ExitCode::from(failure.exit_code())
}

/// Reads the command line. What each verb is told stays beside what it means: `contexts` asks what
/// was typed.
fn parse(
    command: &mut clap::Command,
    words: impl Iterator<Item = std::ffi::OsString>,
) -> Result<(Arguments, ArgMatches), clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    Ok((arguments, matches))
}

/// What to say instead of what is no verb, or of a flag that became a key.
fn instead(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let texts = words.iter().filter_map(|word| word.to_str().map(str::to_owned));
    bench_command::instead_of(error, texts)
        .or_else(|| spellings::answer(error, &Arguments::command(), words))
}

/// Whether an argument holds what a terminal would obey.
fn is_foreign(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    escape::line(&text) != text
}

/// The command with the verbs that the first help leaves out.
fn whole() -> clap::Command {
    ["guest", "man", "trace"].into_iter().fold(Arguments::command(), |command, verb| {
        command.mut_subcommand(verb, |verb| verb.hide(false))
    })
}

/// The manual page: the command itself, then every verb as a section of its own.
fn manual() -> Result<String, Failure> {
    let mut page = Vec::new();
    let mut command = whole();
    command.build();
    let render = |page: &mut Vec<u8>| -> std::io::Result<()> {
        clap_mangen::Man::new(command.clone()).render(page)?;
        verbs(&command, "raidloom", page)
    };
    let place = catalogue::MAKING_MANUAL;
    render(&mut page).map_err(|error| Failure::from_io(place, &error))?;
    String::from_utf8(page).map_err(|error| Failure::failed(Text::verbatim(&error)).at(place))
}

/// A manual page for every verb, as files in a folder.
fn pages(output: &Output, folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(whole(), folder).map_err(|error| {
        Failure::from_io(statement!(WRITING_MANUAL, folder = folder.display()), &error)
    })?;
    output.result(&say!(MANUAL_WRITTEN, folder = folder.display()))
}

fn verbs(command: &clap::Command, path: &str, page: &mut Vec<u8>) -> std::io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name());
        let man = clap_mangen::Man::new(verb.clone());
        page.extend_from_slice(format!(".SH \"{}\"\n", path.to_uppercase()).as_bytes());
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        if let Some(examples) = verb.get_after_long_help() {
            page.extend_from_slice(b".nf\n");
            // A line that begins with a dot or quote would be a request to roff.
            for line in examples.to_string().lines() {
                let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
                page.extend_from_slice(
                    format!("{guard}{}\n", line.replace('\\', "\\e")).as_bytes(),
                );
            }
            page.extend_from_slice(b".fi\n");
        }
        verbs(verb, &path, page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most that there may be. A verb is what does something; options are counted at every verb
    /// that has them, without those of every verb. Hidden ones are programs talking to each other.
    const VERBS_MAX: usize = 45;
    const OPTIONS_MAX: usize = 260;

    fn count(command: &clap::Command, found: &mut Vec<(String, usize)>, path: &str) {
        for verb in command.get_subcommands() {
            if verb.is_hide_set() || verb.get_name() == "help" {
                continue;
            }
            let path = format!("{path} {}", verb.get_name());
            let options = verb.get_arguments().filter(|argument| {
                !argument.is_positional()
                    && !argument.is_global_set()
                    && !argument.is_hide_set()
                    && argument.get_id() != "help"
            });
            if !verb.is_subcommand_required_set() {
                found.push((path.clone(), options.count()));
            }
            count(verb, found, &path);
        }
    }

    #[test]
    fn verbs_and_options_stay_few() {
        let mut found = Vec::new();
        count(&whole(), &mut found, "");
        let options: usize = found.iter().map(|(_, options)| options).sum();
        println!("{} verbs, {options} options: {found:?}", found.len());
        assert!(found.len() <= VERBS_MAX, "{} verbs: {found:?}", found.len());
        assert!(options <= OPTIONS_MAX, "{options} options: {found:?}");
        // A count that sees nothing holds no bar.
        assert!(found.len() > 30 && options > 150, "{found:?}");
    }

    /// The first help has twelve verbs at most, and names what is below them.
    #[test]
    fn the_first_help_is_twelve_verbs() {
        let mut command = Arguments::command();
        command.build();
        let shown: Vec<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let all = [
            "check", "choose", "bench", "run", "report", "compare", "array", "pull", "record",
            "model", "ui", "help",
        ];
        assert!(shown.iter().all(|verb| all.contains(verb)), "{shown:?}");
        let order: Vec<&str> = all.into_iter().filter(|verb| shown.contains(verb)).collect();
        assert_eq!(shown, order);
        let below = command.get_after_long_help().unwrap().to_string();
        for verb in [
            "plan", "watch", "merge", "explain", "history", "export", "cache", "overlay",
            "monitor", "trace", "guest", "man",
        ] {
            assert!(below.contains(verb), "{verb} is not named: {below}");
        }
    }
}
