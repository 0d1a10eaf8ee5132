//! The flags of a suite: one for each of its settings, by the setting's own name, kind, defaults
//! and meaning. Nothing about a setting is written down here.
//!
//! ```text
//!   Setting ──> flag ──> --name VALUE ──> Said ──> Settings on the clock that the target has
//! ```

use std::marker::PhantomData;

use bench::suite::{Kind, Scope, Setting, Settings, Suite, TargetKind, Value};
use block::Clock;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::failure::Failure;
use crate::output::Output;

/// Names a suite in a type, so that its flags can be part of a verb's.
pub(crate) trait OfSuite {
    /// The suite.
    fn suite() -> &'static Suite;
}

macro_rules! of_suites {
    ($($name:ident: $suite:ident),* $(,)?) => {$(
        #[doc = concat!("`", stringify!($suite), "`.")]
        #[derive(Debug)]
        pub(crate) struct $name;

        impl OfSuite for $name {
            fn suite() -> &'static Suite {
                &bench::suite::$suite::SUITE
            }
        }
    )*};
}

of_suites!(Bonnie: bonnie, Command: command, Copy: copy, Crystal: crystal, Depth: depth,
    Devtest: devtest, Fio: fio, Hdparm: hdparm);

/// What was said with the flags of a suite: each setting with its text.
#[derive(Debug)]
pub(crate) struct SuiteFlags<S> {
    texts: Vec<(&'static Setting, String)>,
    of: PhantomData<S>,
}

/// The flag of a setting without its dashes.
pub(crate) fn flag_name(name: &str) -> String {
    name.replace('_', "-")
}

/// What the help of a flag ends with; nothing where nothing is the default.
pub(crate) fn default_note(setting: &Setting) -> String {
    match setting.default_on_clocks() {
        default if default.is_empty() => String::new(),
        default => format!("[default: {default}]"),
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let value = match setting.kind {
        Kind::Bytes | Kind::Mebibytes => "SIZE".to_owned(),
        Kind::Time | Kind::SomeTime => "DURATION".to_owned(),
        Kind::Count(..) | Kind::Limit => "N".to_owned(),
        Kind::Switch => "true|false".to_owned(),
        Kind::Word(words) => words.join("|"),
        Kind::Text => "TEXT".to_owned(),
        Kind::Lines => "LINE".to_owned(),
        Kind::File => "FILE".to_owned(),
    };
    let what = setting.what.trim_end_matches('.');
    let mut arg = Arg::new(setting.name)
        .long(flag_name(setting.name))
        .help(format!("{what} {}", default_note(setting)).trim_end().to_owned())
        .value_name(value)
        .action(ArgAction::Set);
    if let Some(letter) = setting.short {
        arg = arg.short(letter);
    }
    if setting.kind == Kind::Switch {
        // A value without `=` would be taken for the target.
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    } else if let Some(alone) = setting.alone {
        arg = arg.num_args(0..=1).default_missing_value(alone);
    } else if setting.kind == Kind::Lines {
        arg = arg.action(ArgAction::Append);
    }
    arg
}

impl<S: OfSuite> Args for SuiteFlags<S> {
    fn augment_args(mut command: clap::Command) -> clap::Command {
        for setting in S::suite().settings {
            let mut arg = flag(setting);
            // An older spelling gives way to a flag that all suites have.
            let alias = setting.alias.map(flag_name).filter(|alias| {
                !command.get_arguments().any(|known| known.get_long() == Some(alias.as_str()))
            });
            if let Some(alias) = alias {
                arg = arg.alias(alias);
            }
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<S: OfSuite> FromArgMatches for SuiteFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = SuiteFlags { texts: Vec::new(), of: PhantomData };
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let text = |setting: &'static Setting| {
            let texts: Vec<&str> =
                matches.get_many::<String>(setting.name)?.map(String::as_str).collect();
            Some((setting, texts.join("\n")))
        };
        self.texts.extend(S::suite().settings.iter().filter_map(text));
        Ok(())
    }
}

/// Settings of a suite from what was said, each checked as it is set.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) suite: &'static Suite,
    given: Vec<(&'static str, Value)>,
}

impl Said {
    /// Nothing was said.
    pub(crate) fn nothing(suite: &'static Suite) -> Said {
        Said { suite, given: Vec::new() }
    }

    /// What the flags say.
    ///
    /// # Errors
    /// The flag, its text, and what is expected.
    pub(crate) fn new<S: OfSuite>(output: &Output, flags: &SuiteFlags<S>) -> Result<Said, Failure> {
        let mut said = Said::nothing(S::suite());
        for (setting, text) in &flags.texts {
            let flag = format!("--{}", flag_name(setting.name));
            let bare = setting.kind == Kind::Mebibytes && text.parse::<u64>().is_ok();
            let value = match setting.kind {
                Kind::Bytes | Kind::Mebibytes if !bare => Value::Bytes(output.size(&flag, text)?),
                kind => lab::plan::setting_value(kind, text)
                    .map_err(|error| Failure::usage(format!("{flag}: {error}")))?,
            };
            said.set(setting.name, value)?;
        }
        Ok(said)
    }

    /// Says something more, which holds from now on.
    ///
    /// # Errors
    /// What would be a value of the setting.
    pub(crate) fn set(&mut self, name: &'static str, value: Value) -> Result<(), Failure> {
        let mut settings = self.suite.defaults(Clock::Wall);
        settings.set(self.suite, name, value.clone()).map_err(Failure::usage)?;
        self.given.push((name, value));
        Ok(())
    }

    /// Refuses what was said of a setting that means nothing on a target.
    ///
    /// # Errors
    /// The flag, and why it means nothing.
    pub(crate) fn fits(&self, target: TargetKind, read_only: bool) -> Result<(), Failure> {
        for (name, _) in &self.given {
            let scope = self.suite.setting(name).map_or(Scope::Everywhere, |setting| setting.scope);
            if let Some(why) = scope.refusal(target, read_only) {
                return Err(Failure::usage(format!("--{}: {why}", flag_name(name))));
            }
        }
        Ok(())
    }

    /// Whether something was said of a setting.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The settings on a clock: what was said, and the suite's own defaults.
    ///
    /// # Errors
    /// None that [`Said::set`] would not have had.
    pub(crate) fn on(&self, clock: Clock) -> Result<Settings, Failure> {
        let mut settings = self.suite.defaults(clock);
        for (name, value) in &self.given {
            settings.set(self.suite, name, value.clone()).map_err(Failure::usage)?;
        }
        Ok(settings)
    }
}
