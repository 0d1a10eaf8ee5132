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
mod cache_command;
mod check;
mod compare_command;
mod consent;
mod contexts;
mod drives;
mod export_command;
mod failure;
mod guest_command;
mod history_command;
mod language;
mod limits;
mod merge;
mod model;
mod monitor_command;
mod output;
mod plan;
mod progress;
mod pull_command;
mod report_command;
mod run;
mod signals;
mod ui_command;
mod watch_command;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use arguments::{Arguments, Command};
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    signals::fail_at_file_limit();
    let mut command = Arguments::command();
    let (arguments, matches) = match parse(&mut command, std::env::args_os()) {
        Ok(parsed) => parsed,
        // Its message quotes what was typed, which a shell may have made from files' names.
        Err(error)
            if error.use_stderr() && std::env::args_os().any(|argument| is_foreign(&argument)) =>
        {
            escape::err(&error.render().to_string());
            return ExitCode::from(2);
        }
        Err(error) => match said_otherwise(&error) {
            Some(line) => {
                escape::err(&format!("raidloom: {line}"));
                return ExitCode::from(2);
            }
            None => error.exit(),
        },
    };
    let output = Output::new(&arguments.output);
    if let Err(failure) = contexts::check(&command, &matches) {
        return end(&failure, &output);
    }
    if let Err(failure) = serve::log::start(arguments.verbose) {
        return end(&failure, &output);
    }
    let result = match arguments.command {
        Command::Check => check::check(&output),
        Command::Drives => drives::drives(&output),
        Command::Bench(arguments) => bench_command::bench(&output, *arguments),
        Command::Array(verb) => array_command::array(&output, &verb),
        Command::Cache(verb) => cache_command::cache(&output, &verb),
        Command::Overlay(verb) => cache_command::overlay(&output, &verb),
        Command::Plan(verb) => plan::plan(&output, &verb),
        Command::Run(arguments) => run::run(&output, *arguments),
        Command::Merge(arguments) => merge::merge(&output, &arguments),
        Command::Report(arguments) => report_command::report(&output, &arguments),
        Command::Compare(arguments) => compare_command::compare_runs(&output, &arguments),
        Command::Export(arguments) => export_command::export(&output, &arguments),
        Command::History(arguments) => history_command::show(&output, &arguments),
        Command::Watch(arguments) => watch_command::watch(&output, &arguments),
        Command::Ui(arguments) => ui_command::ui(&output, &arguments),
        Command::Guest(verb) => guest_command::guest(&output, &verb),
        Command::Model(verb) => model::model(&output, &verb),
        Command::Monitor(arguments) => monitor_command::monitor(&output, &arguments),
        Command::Pull(arguments) => pull_command::pull(&output, &arguments),
        Command::PullWorker { disk } => pull_command::worker(disk.as_deref()),
        Command::PullTest { guest } => pull_command::test(guest),
        Command::Completions { shell } => {
            // Into memory first: a closed pipe is an ordinary end and not a panic.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "raidloom", &mut script);
            output.result(&String::from_utf8_lossy(&script))
        }
        Command::Man { to: None } => manual().and_then(|page| output.result(&page)),
        Command::Man { to: Some(folder) } => pages(&output, &folder),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => end(&failure, &output),
    }
}

/// Says why a command did not end well, and gives the exit code.
fn end(failure: &Failure, output: &Output) -> ExitCode {
    let text = failure.to_string();
    if !text.is_empty() {
        output.error(&text);
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
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(command))?;
    Ok((arguments, matches))
}

/// What to say instead of a flag that became a key.
fn said_otherwise(error: &clap::Error) -> Option<String> {
    let words = std::env::args_os().filter_map(|word| word.into_string().ok());
    bench_command::instead_of(error, words)
}

/// Whether an argument holds what a terminal would obey.
fn is_foreign(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    escape::line(&text) != text
}

/// The manual page: the command itself, then every verb as a section of its own.
fn manual() -> Result<String, Failure> {
    let mut page = Vec::new();
    let mut command = Arguments::command();
    command.build();
    let render = |page: &mut Vec<u8>| -> std::io::Result<()> {
        clap_mangen::Man::new(command.clone()).render(page)?;
        verbs(&command, "raidloom", page)
    };
    render(&mut page)
        .map_err(|error| Failure::failed(format!("making the manual page: {error}")))?;
    String::from_utf8(page)
        .map_err(|error| Failure::failed(format!("making the manual page: {error}")))
}

/// A manual page for every verb, as files in a folder.
fn pages(output: &Output, folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Arguments::command(), folder).map_err(|error| {
        Failure::from_io(format!("writing manual pages to {}", folder.display()), &error)
    })?;
    output.result(&format!("manual pages written to {}", folder.display()))
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
