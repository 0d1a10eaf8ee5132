//! The suites: named sets of tests, each defined once and run by the same frame.
//!
//! ```text
//!   definition   what a suite is: phases in words, settings with defaults
//!   phase        what one row of results measures
//!   session      one execution: clock, audit, stop, progress
//!   row          what comes out of each phase
//!   folder       a fresh folder that is removed on any way out, and what is checked before anything is written
//!   program      a program of the user's: its time, its output, its end
//!   steps        ranges of a device written or compared once, a flush with its time
//!   access       a target filled, requests of one kind run on it and checked, all of it read back
//!   bonnie, copy, devtest …   the suites themselves
//! ```

pub mod access;
pub mod bonnie;
mod catalogue;
pub mod command;
pub mod copy;
pub mod crystal;
pub mod definition;
pub mod depth;
pub mod devtest;
pub mod explain;
pub mod fio;
pub mod folder;
pub mod hdparm;
pub mod japanese;
pub mod load;
pub mod phase;
mod program;
pub mod pull;
pub mod replay;
mod rounds;
pub mod row;
pub mod session;
mod steps;

pub use definition::{Kind, Rows, Scope, Setting, Settings, Suite, Target, TargetKind, Value};
pub use phase::Phase;
pub use row::{PhaseFigures, Row, WorkDone};
pub use session::{
    AfterPhase, Meter, NoAudit, NoFiles, NoProgress, Observer, OpenFile, Session, Ticker,
};

/// Every suite, in the order they are listed.
#[must_use]
pub fn all() -> Vec<&'static Suite> {
    vec![
        &devtest::SUITE,
        &bonnie::SUITE,
        &copy::SUITE,
        &crystal::SUITE,
        &hdparm::SUITE,
        &depth::SUITE,
        &load::SUITE,
        &replay::SUITE,
        &command::SUITE,
        &fio::SUITE,
        &pull::SUITE,
    ]
}

/// Whether a suite runs programs of the user's, which open its target by a path.
#[must_use]
pub fn runs_programs(suite: &Suite) -> bool {
    [command::NAME, fio::NAME].contains(&suite.name)
}

/// Whether a suite works through devices of raidloom's, also in folders, so that what each request
/// costs its own processor can be stated ([`crate::processor`]).
#[must_use]
pub fn loads_devices(suite: &Suite) -> bool {
    [devtest::NAME, crystal::NAME, hdparm::NAME, depth::NAME, load::NAME, replay::NAME]
        .contains(&suite.name)
}

/// A suite by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Suite> {
    all().into_iter().find(|suite| suite.name == name)
}

/// Memory of this machine in bytes.
fn machine_memory() -> u64 {
    let system = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion)] // Its type depends on the target.
    u64::from(system.totalram).saturating_mul(u64::from(system.mem_unit))
}

#[cfg(test)]
mod refusals;

#[cfg(test)]
mod tests {
    use block::Clock;

    use super::*;

    /// `docs/suites.md` says what every suite does, phase by phase, as the suites themselves have
    /// it.
    #[test]
    fn the_document_is_what_the_definitions_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/suites.md");
        let expected = explain::document();
        if std::env::var_os("RAIDLOOM_OVERWRITE").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/suites.md is not what the suites say; RAIDLOOM_OVERWRITE=1 cargo test -p bench \
            writes it anew"
        );
    }

    #[test]
    fn definitions_are_complete_and_names_are_unique() {
        let suites = all();
        for (index, suite) in suites.iter().enumerate() {
            assert!(
                suites[..index].iter().all(|other| other.name != suite.name),
                "two suites called {}",
                suite.name
            );
            assert!(
                !suite.summary.is_empty() && !suite.about.is_empty() && !suite.targets.is_empty(),
                "{}",
                suite.name
            );
            for setting in suite.settings {
                for clock in [Clock::Wall, Clock::Virtual] {
                    for default in [setting.default(clock), setting.default_in_plans(clock)] {
                        assert_eq!(
                            setting.kind.check(default),
                            Ok(()),
                            "{}: the default of {}",
                            suite.name,
                            setting.name
                        );
                    }
                }
            }
            let phases = suite.default_phases();
            assert!(!phases.is_empty(), "{}", suite.name);
            for (index, phase) in phases.iter().enumerate() {
                assert!(
                    phases[..index].iter().all(|other| other.name != phase.name),
                    "{}: two phases {}",
                    suite.name,
                    phase.name
                );
                let what = phase.what.english();
                assert!(
                    what.ends_with('.') && what.len() > 20,
                    "{}: what {} does",
                    suite.name,
                    phase.name
                );
            }
        }
    }

    #[test]
    fn a_setting_takes_values_of_its_kind_only() {
        let suite = &devtest::SUITE;
        let mut settings = suite.defaults(Clock::Wall);
        assert_eq!(settings.set(suite, "depth", Value::Count(32)), Ok(()));
        assert_eq!(settings.count("depth"), 32);
        let mut wrong = |name, value| settings.set(suite, name, value).unwrap_err().to_string();
        let expected = "depth: `0`: expected a whole number from 1 to 4096";
        assert_eq!(wrong("depth", Value::Count(0)), expected);
        assert!(wrong("verify", Value::word("most")).contains("off, words, full"));
        assert!(wrong("deep", Value::Count(1)).contains("no setting `deep`"));
    }
}
