//! `fio`: a job file of the user's, run by fio itself; every group of its jobs is a row.
//!
//! ```text
//!   text ── job.rs: every line is on the list, or refused
//!   [global] …                  fio --create_only        the files are laid out, and not counted
//!   [a] [b]        group a      fio --section=a --section=b ── JSON ──> row `a`
//!   [c] stonewall  group c      fio --section=c             ── JSON ──> row `c`
//! ```
//!
//! fio can write to the target alone ([`Confinement`]), and waits between groups itself
//! (`stonewall`), so each runs as it would have, with the audit around it alone.

mod clients;
mod job;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use block::{Error, ErrorKind, Traffic};
use confine::Confinement;
use results::{BetterDirection, Doubt, Group};
use serde_json::Value as Json;
use words::{Text, statement};

use super::command::CommandSite;
use super::program::{self, Output, Program, ProgramFailure, ProgramResult};
use super::{
    AfterPhase, Kind, Phase, Rows, Session, Setting, Settings, Suite, Target, TargetKind, Value,
    WorkDone,
};
use crate::format::fio;
use crate::latency::Latency;
use crate::suite::catalogue;
use clients::{Client, ClientTotals};
use job::Line;

/// Name of the suite.
pub const NAME: &str = "fio";
/// The section whose options hold for those behind it.
const GLOBAL: &str = "global";
/// Options that end a group: the job behind them waits for all before it.
const WAITS: [&str; 2] = ["stonewall", "wait_for_previous"];

/// `fio`.
pub static SUITE: Suite = Suite {
    name: NAME,
    summary: "A job file of fio's, run by fio: every group of its jobs is a row.",
    about: "The job file is taken as it is, but for {dir} or {device} in it, where the target's \
        path is put, and group_reporting, which is on. Jobs that name no file work in a fresh \
        folder of the target, or on the device, and files that they name begin with {dir}/. What \
        would reach anything else is refused with its line: other paths, commands, logs, engines \
        with a place or a program of their own, variables of the environment. Groups end where fio waits (stonewall); a row has \
        the name of its group's first job. Files are laid out before the first row. Figures are \
        fio's own; the durable rate counts the time that writing everything out takes afterwards. \
        fio has to be installed. With `clients` the jobs run on each of these machines, all at the \
        same time, where `fio --server` has to run with the version of this machine, and the \
        target to be reached by the same path (a shared file system); the rates of all are added, and how long the first and the \
        last of them took is said. There is no durable rate then: what a client still holds is \
        its own business (end_fsync=1 in the job).",
    targets: &[TargetKind::Folder, TargetKind::Device],
    settings: &[
        Setting::new("job", Kind::File, Value::word(""), "The job file, or in a plan its text.")
            .checked(|text| groups(text).map(drop)),
        Setting::new(
            "clients",
            Kind::Lines,
            Value::word(""),
            "Machines with `fio --server` that run the jobs, HOST or HOST:PORT, between commas.",
        )
        .checked(|text| clients::parse(text).map(drop)),
        Setting::new(
            "time_limit",
            Kind::SomeTime,
            Value::Time(Duration::from_secs(3600)),
            "How long each group may take.",
        ),
        Setting::new("runs", Kind::Count(1, 1000), Value::Count(1), "How often it is run."),
    ],
    rows: Rows::InOrder,
    phases: |settings| match (settings.text("job"), groups(settings.text("job"))) {
        // What the suite is like, where no job file is named.
        ("", _) => vec![Jobs { name: "NAME OF A JOB".to_owned(), ..Jobs::default() }.phase()],
        (_, Ok(groups)) => groups.iter().map(Jobs::phase).collect(),
        // The setting's own check has said what is wrong.
        (_, Err(_)) => Vec::new(),
    },
    prepared_bytes: |_, _| 0,
    run,
};

/// A group of jobs, which run at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
struct Jobs {
    /// The row's name.
    name: String,
    /// The sections of its jobs.
    sections: Vec<String>,
    /// What each does: fio's `rw`.
    ways: Vec<String>,
}

impl Jobs {
    fn phase(&self) -> Phase {
        let is = |word: &str| self.ways.iter().all(|way| way.starts_with(word));
        let reads = self.ways.iter().all(|way| way.ends_with("read"));
        let writes = self.ways.iter().all(|way| way.ends_with("write") && way != "readwrite");
        let group = match (reads || writes, is("rand")) {
            (false, _) => Group::Mixed,
            (true, true) => Group::Random,
            (true, false) if self.ways.iter().any(|way| way.starts_with("rand")) => Group::Mixed,
            (true, false) => Group::Sequential,
        };
        Phase {
            name: self.name.clone(),
            what: catalogue::FIO_JOBS.into(),
            group,
            metric: "throughput_bytes_per_second".into(),
            better: BetterDirection::Higher,
            writes: !reads,
            // As many as the job file says, which is not read here.
            is_deep: true,
            buffered_of: None,
        }
    }
}

/// The groups of a job file, in order.
///
/// # Errors
/// What is no job file, or cannot be run group by group.
fn groups(text: &str) -> Result<Vec<Jobs>, Text> {
    let mut groups: Vec<Jobs> = Vec::new();
    let (mut global, mut own) = (BTreeMap::new(), BTreeMap::new());
    let mut section: Option<String> = None;
    let mut close = |section: Option<String>,
                     own: &mut BTreeMap<String, String>,
                     global: &mut BTreeMap<String, String>| {
        let own = std::mem::take(own);
        let Some(section) = section else { return };
        if section == GLOBAL {
            return global.extend(own);
        }
        let option = |name: &str| own.get(name).or_else(|| global.get(name));
        let waits = WAITS.iter().any(|name| option(name).is_some_and(|value| value != "0"));
        let way = ["rw", "readwrite"].into_iter().find_map(option);
        let way = way.map_or("read", |way| way.split(':').next().unwrap_or(way)).to_owned();
        if waits || groups.is_empty() {
            groups.push(Jobs { name: section.clone(), ..Jobs::default() });
        }
        if let Some(group) = groups.last_mut() {
            group.sections.push(section);
            group.ways.push(way);
        }
    };
    for line in job::lines(text) {
        match line? {
            (_, Line::Section(name)) => {
                close(section.replace(name.to_owned()), &mut own, &mut global);
            }
            (number, Line::Option(..)) if section.is_none() => {
                return Err(Text::from(catalogue::SECTION_FIRST).at(job::place(number)));
            }
            (_, Line::Option(name, value)) => {
                own.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    close(section, &mut own, &mut global);
    let mut sections: Vec<&String> = groups.iter().flat_map(|group| &group.sections).collect();
    sections.sort_unstable();
    if let Some(twice) = sections.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(statement!(catalogue::TWO_JOBS, name = twice[0]));
    }
    if groups.is_empty() {
        return Err(catalogue::NO_JOB_IN_IT.into());
    }
    Ok(groups)
}

fn run(target: Target<'_>, settings: &Settings, session: &mut Session<'_>) -> Result<(), Error> {
    let invalid = |name: &str, text: Text| Error::new(ErrorKind::Invalid, text.at(name));
    let text = settings.text("job");
    let groups = groups(text).map_err(|text| invalid("job", text))?;
    let clients =
        clients::parse(settings.text("clients")).map_err(|text| invalid("clients", text))?;
    for run in 1..=u32::try_from(settings.count("runs")).unwrap_or(1) {
        let place = CommandSite::new(target, NAME, session)?;
        // A colon in a name ends it, in fio's words.
        let text = place.put_in(text, |path| path.replace(':', "\\:"))?;
        let mut begin = "[global]\ngroup_reporting=1\n".to_owned();
        if let CommandSite::Device(_) = &place {
            begin += &place.put_in("filename={device}\n", |path| path.replace(':', "\\:"))?;
        }
        if !clients.is_empty() && place.folder().is_some() {
            // A server works in a folder of its own.
            begin += &place.put_in("directory={dir}\n", |path| path.replace(':', "\\:"))?;
        }
        let text = format!("{begin}{text}\n");
        let fio = Fio::new(&place, text, &clients, settings.time("time_limit"))?;
        let Some(own) = fio.version(session)? else { return Ok(()) };
        if !fio.lay_out(&own, session)? {
            return Ok(());
        }
        program::sync(place.path(), session)?;
        for group in &groups {
            let phase = group.phase();
            let next = session.measure(&phase, run, |session| {
                let Some(ran) = fio.run(&fio.jobs(group), session)? else { return Ok(None) };
                let failed =
                    |text: Text| Error::new(ErrorKind::Other, text.and(ran.output.shown()));
                if clients.is_empty() {
                    let flush = program::sync(place.path(), session)?;
                    let flush = phase.writes.then_some(flush);
                    return done(&ran.output, flush).map(Some).map_err(failed);
                }
                of_clients(&ran.output, &clients)
                    .map(Some)
                    .map_err(|text| Error::new(ErrorKind::Other, text.at(NAME)))
            })?;
            if next == AfterPhase::Stop {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// How fio is run, here or by its servers.
struct Fio<'a> {
    place: &'a CommandSite,
    /// The job file.
    text: String,
    clients: &'a [Client],
    limit: Duration,
    /// Job files, and what fio leaves where it works.
    own: tempfile::TempDir,
    confinement: Confinement,
}

impl<'a> Fio<'a> {
    fn new(
        place: &'a CommandSite,
        text: String,
        clients: &'a [Client],
        limit: Duration,
    ) -> Result<Fio<'a>, Error> {
        let own = tempfile::Builder::new().prefix("raidloom-fio-").tempdir();
        let own = own.map_err(|error| Error::from_io(catalogue::FOLDER_FOR_JOBS, error))?;
        let confinement = Confinement::writing_to([place.path(), own.path()]);
        Ok(Fio { place, text, clients, limit, own, confinement })
    }

    /// fio's version here; nothing where the session was stopped.
    fn version(&self, session: &Session<'_>) -> Result<Option<String>, Error> {
        let is_missing =
            |error: &Error| ProgramFailure::behind(error).is_some_and(ProgramFailure::is_not_there);
        let said = self.shell("exec fio --version", session).map_err(|error| {
            match is_missing(&error) {
                true => Error::new(ErrorKind::Unsupported, catalogue::FIO_NOT_INSTALLED),
                false => error,
            }
        })?;
        Ok(said.map(|ran| ran.output.out.trim().to_owned()))
    }

    /// Makes the files, and finds out whether all clients are there; false where the session was
    /// stopped.
    fn lay_out(&self, own: &str, session: &Session<'_>) -> Result<bool, Error> {
        if self.clients.is_empty() {
            return Ok(self.run("--create_only=1", session)?.is_some());
        }
        // Behind the head of the first section, which holds for all jobs.
        let path = self.job_file(&self.text.replacen('\n', "\ncreate_only=1\n", 1))?;
        let mut versions = Vec::new();
        for client in self.clients {
            let text = format!("exec fio --output-format=normal {} {path}", client.option());
            let failed = |error: Error| {
                let is_unreachable = ProgramFailure::behind(&error)
                    .is_some_and(|failure| clients::is_unreachable(&failure.output.err));
                let error = match is_unreachable {
                    true => Error::new(error.kind(), catalogue::NO_FIO_SERVER),
                    false => error,
                };
                error.at(client.to_string()).at(NAME)
            };
            let Some(ran) = self.shell(&text, session).map_err(failed)? else { return Ok(false) };
            versions.push((client, clients::version(&ran.output.out).map(str::to_owned)));
        }
        clients::same_version(own, &versions)
            .map_err(|text| Error::new(ErrorKind::Unsupported, text.at(NAME)))?;
        Ok(true)
    }

    /// The options that choose the jobs of a group.
    fn jobs(&self, group: &Jobs) -> String {
        group.sections.iter().map(|name| format!(" --section={}", escape::shell(name))).collect()
    }

    /// Runs the job file, on every client if there are any.
    fn run(&self, options: &str, session: &Session<'_>) -> Result<Option<ProgramResult>, Error> {
        const FIO: &str = "fio --output-format=json";
        let path = self.job_file(&self.text)?;
        if self.clients.is_empty() {
            // By itself it reads the processor's counter where that runs evenly.
            let clock = if session.modelled_clock { "--clocksource=clock_gettime" } else { "" };
            return self.shell(&format!("exec {FIO} {clock} {options} {path}"), session);
        }
        // What is chosen belongs to the client named before it.
        let on = |client: &Client| format!(" {} {options} {path}", client.option());
        let clients: String = self.clients.iter().map(on).collect();
        // Its status does not say which of them failed: what it says of each does.
        self.shell(&format!("{FIO}{clients} || true"), session)
    }

    fn shell(&self, text: &str, session: &Session<'_>) -> Result<Option<ProgramResult>, Error> {
        let program = Program {
            what: NAME.into(),
            text,
            folder: Some(self.place.folder().unwrap_or(self.own.path())),
            environment: &[],
            limit: self.limit,
            to_the_end: false,
            confinement: Some(&self.confinement),
        };
        program::run(&program, session)
    }

    /// Writes a job file, and how a shell is told its path.
    fn job_file(&self, text: &str) -> Result<String, Error> {
        let path = self.own.path().join("jobs.fio");
        fs::write(&path, text).map_err(|error| Error::from_io(catalogue::FILE_FOR_JOBS, error))?;
        Ok(escape::shell(&path.to_string_lossy()))
    }
}

/// What fio says that its clients did.
fn of_clients(output: &Output, clients: &[Client]) -> Result<WorkDone, Text> {
    let ClientTotals { jobs, finished: [first, last] } = clients::joined(&output.json()?, clients)?;
    let mut done = done_of(&jobs, None)?;
    let told = done.told.get_or_insert_default();
    told.insert("first_client_seconds".to_owned(), first.1.as_secs_f64());
    told.insert("last_client_seconds".to_owned(), last.1.as_secs_f64());
    done.notes.push(Doubt::ClientsEnded {
        clients: clients.len(),
        first: first.0.to_string(),
        first_seconds: first.1.as_secs_f64(),
        last: last.0.to_string(),
        last_seconds: last.1.as_secs_f64(),
    });
    Ok(done)
}

/// What fio says that it did.
fn done(output: &Output, flush: Option<Duration>) -> Result<WorkDone, Text> {
    let document = output.json()?;
    done_of(document["jobs"].as_array().map_or(&[][..], Vec::as_slice), flush)
}

fn done_of(jobs: &[Json], flush: Option<Duration>) -> Result<WorkDone, Text> {
    let mut told = fio::group(jobs)?;
    let sides = || {
        let of = |job: &'_ Json| ["read", "write", "trim"].map(|side| job[side].clone());
        jobs.iter().flat_map(of)
    };
    let bytes = |side: &str| {
        let of = |job: &Json| job[side]["io_bytes"].as_u64().unwrap_or(0);
        jobs.iter().map(of).sum::<u64>()
    };
    let longest = sides().filter_map(|side| side["runtime"].as_u64()).max().unwrap_or(0);
    let elapsed = Duration::from_millis(longest);
    let (read_bytes, written_bytes) = (bytes("read"), bytes("write"));
    let durable = elapsed + flush.unwrap_or_default();
    if flush.is_some() && !durable.is_zero() {
        let ratio = elapsed.as_secs_f64() / durable.as_secs_f64();
        for name in ["throughput_bytes_per_second", "io_per_second"] {
            let rate = told.get(name).copied().unwrap_or_default();
            told.insert(format!("durable_{name}"), rate * ratio);
        }
    }
    Ok(WorkDone {
        operations: told.get("operations_count").map_or(0, |count| *count as u64),
        read_bytes,
        written_bytes,
        rated_bytes: None,
        elapsed,
        ramp: crate::load::Ramp::default(),
        flush,
        beside: Traffic::default(),
        latency: Latency::new(),
        sides: None,
        service: None,
        told: Some(told),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::sync::atomic::AtomicBool;

    use block::{Clock, Reactor};

    use super::*;
    use crate::suite::{NoAudit, NoProgress, Row, Ticker};

    const JOBS: &str = "; two groups\n[global]\nsize=1m\nbs=64k\nrw=write\n\n[log]\n[data:x]\n\
        rw=randwrite\n# the second\n[back]\nstonewall\nfilename={dir}/back\nrw=randread\n\
        numjobs=2\n";

    #[test]
    fn groups_end_where_fio_waits() {
        let found = groups(JOBS).unwrap();
        let names: Vec<_> = found.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["log", "back"]);
        assert_eq!(found[0].sections, ["log", "data:x"]);
        let phases: Vec<_> = found.iter().map(Jobs::phase).collect();
        let seen: Vec<_> = phases.iter().map(|phase| (phase.group, phase.writes)).collect();
        assert_eq!(seen, [(Group::Mixed, true), (Group::Random, false)]);
        let all = groups("[global]\nstonewall\nrw=rw\n[a]\n[b]\nrw=write\nstonewall=0\n").unwrap();
        assert_eq!(all.iter().map(|group| group.sections.len()).collect::<Vec<_>>(), [2]);
        assert_eq!(groups("[global]\nstonewall\n[a]\n[b]\n").unwrap().len(), 2);
        let kind = |way: &str| groups(&format!("[a]\nrw={way}\n")).unwrap()[0].phase().group;
        assert_eq!(
            ["read", "write", "randread:8", "randwrite", "rw", "randrw", "readwrite"].map(kind),
            [
                Group::Sequential,
                Group::Sequential,
                Group::Random,
                Group::Random,
                Group::Mixed,
                Group::Mixed,
                Group::Mixed
            ]
        );
    }

    #[test]
    fn what_cannot_be_run_group_by_group_is_refused() {
        for (text, words) in [
            ("", "no job in it"),
            ("[global]\nrw=read\n", "no job in it"),
            ("rw=read\n[a]\n", "line 1: expected [global]"),
            ("[a]\nnew_group\n", "line 2: `new_group`"),
            ("include x.fio\n", "line 1: `include`"),
            ("[a]\n[b]\n[a]\n", "two jobs are called [a]"),
            ("[a]\nrw=read\nexec_prerun=id\n", "line 3: `exec_prerun`"),
        ] {
            let error = groups(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }

    fn run_jobs(text: &str) -> Result<Vec<Row>, Error> {
        run_on(text, "")
    }

    fn run_on(text: &str, clients: &str) -> Result<Vec<Row>, Error> {
        run_in(tempfile::tempdir().unwrap().path(), text, clients)
    }

    fn run_in(folder: &std::path::Path, text: &str, clients: &str) -> Result<Vec<Row>, Error> {
        let reactor = Reactor::wall().unwrap();
        let (stop, ticker, mut meter, mut observer) =
            (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
        let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
        let mut settings = SUITE.defaults(Clock::Wall);
        settings.set(&SUITE, "job", Value::from(text.to_owned())).unwrap();
        settings.set(&SUITE, "clients", Value::from(clients.to_owned())).unwrap();
        let result = (SUITE.run)(Target::Folder(folder), &settings, &mut session);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "something is left");
        result.map(|()| session.into_rows())
    }

    #[test]
    fn every_group_is_a_row_with_fios_figures() {
        let rows = match run_jobs(JOBS) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                testkit::skipped!("{error}");
                return;
            }
            rows => rows.unwrap(),
        };
        let names: Vec<_> = rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!(names, ["log", "back"]);
        let measured = |index: usize| rows[index].measured().unwrap();
        // Each of two jobs writes its file; two read theirs.
        assert_eq!(measured(0).done.written_bytes, 2 << 20);
        assert_eq!(measured(1).done.read_bytes, 2 << 20);
        assert_eq!(measured(1).metrics()["operations_count"], 32.0);
        let metrics = measured(0).metrics();
        let (rate, durable) = (
            metrics["throughput_bytes_per_second"],
            metrics["durable_throughput_bytes_per_second"],
        );
        assert!(rate > 0.0 && durable <= rate, "{metrics:?}");
        assert!(!measured(1).metrics().contains_key("durable_throughput_bytes_per_second"));
        let error = run_jobs("[a]\nrw=sideways\n").unwrap_err();
        assert!(error.kind() == ErrorKind::Other && error.to_string().contains("sideways"));
    }

    /// The list of what a job may have is not all that keeps fio in its place.
    #[test]
    fn fio_writes_to_its_target_and_nowhere_else() {
        if !is_installed() {
            return;
        }
        if let Err(error) = confine::supported() {
            testkit::skipped!("no Landlock: {error}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "x".repeat(16384)).unwrap();
        fs::create_dir(at("target")).unwrap();
        let reactor = Reactor::wall().unwrap();
        let (stop, ticker, mut meter, mut observer) =
            (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
        let session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
        let place = CommandSite::new(Target::Folder(&at("target")), NAME, &session).unwrap();
        let run = |confinement: Option<Confinement>| {
            let precious = at("precious");
            let text = format!("[a]\nfilename={}\nsize=16k\nbs=4k\nrw=write\n", precious.display());
            let mut fio = Fio::new(&place, text, &[], Duration::from_secs(60)).unwrap();
            fio.confinement = confinement.unwrap_or(fio.confinement);
            fio.run("", &session).map(|_| ())
        };
        run(None).unwrap_err();
        assert_eq!(fs::read_to_string(at("precious")).unwrap(), "x".repeat(16384));
        // The same job does what it says where it is held to another place.
        run(Some(Confinement::writing_to([folder.path()]))).unwrap();
        assert_ne!(fs::read(at("precious")).unwrap(), "x".repeat(16384).into_bytes());
    }

    /// `fio --server` on a port of its own; it ends with this.
    struct Server {
        process: std::process::Child,
        port: u16,
        _folder: tempfile::TempDir,
    }

    impl Server {
        fn start() -> Server {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let folder = tempfile::tempdir().unwrap();
            let process = std::process::Command::new("fio")
                .arg(format!("--server=127.0.0.1,{port}"))
                .current_dir(folder.path())
                .process_group(0)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            // What listens at a port stands in the kernel's table: state 0A, the port in hex.
            let listens = format!(":{port:04X} 00000000:0000 0A");
            while !std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&listens) {
                std::thread::yield_now();
            }
            Server { process, port, _folder: folder }
        }

        /// Kills it with what it has begun.
        fn kill(&self) {
            let group = rustix::process::Pid::from_child(&self.process);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            self.kill();
            let _ = self.process.wait();
        }
    }

    fn is_installed() -> bool {
        let is_there = std::process::Command::new("fio").arg("--version").output().is_ok();
        if !is_there {
            testkit::missing!("fio is not there: apt-get install fio");
        }
        is_there
    }

    /// "`clients = ["a", "b"]`, their JSON joined, first and last to finish shown."
    #[test]
    fn clients_run_the_jobs_together_and_their_figures_are_one() {
        if !is_installed() {
            return;
        }
        let (one, two) = (Server::start(), Server::start());
        let clients = format!("127.0.0.1:{}, 127.0.0.1:{}", one.port, two.port);
        let rows = run_on(JOBS, &clients).unwrap();
        let names: Vec<_> = rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!(names, ["log", "back"]);
        let measured = rows[0].measured().unwrap();
        assert_eq!(measured.done.written_bytes, 4 << 20, "two jobs on each of two clients");
        assert!(
            matches!(&measured.done.notes[0], Doubt::ClientsEnded { clients: 2, first, .. }
                if first.starts_with("127.0.0.1:")),
            "{measured:?}"
        );
        let metrics = measured.metrics();
        assert!(metrics["first_client_seconds"] <= metrics["last_client_seconds"], "{metrics:?}");
        assert!(!metrics.contains_key("durable_throughput_bytes_per_second"));
        assert_eq!(rows[1].measured().unwrap().done.read_bytes, 4 << 20);
    }

    #[test]
    fn a_client_that_is_not_there_or_goes_leaves_no_figure() {
        if !is_installed() {
            return;
        }
        let (one, two) = (Server::start(), Server::start());
        let error = run_on(JOBS, &format!("127.0.0.1:{}, 127.0.0.1:1", one.port)).unwrap_err();
        let expected = "fio: 127.0.0.1:1: no `fio --server` answers there";
        assert_eq!(error.to_string(), expected);
        // The second goes with all that it has begun, once there are files of the jobs.
        let jobs = "[long]\nsize=1m\nrw=write\nrate=128k\n";
        let clients = format!("127.0.0.1:{}, 127.0.0.1:{}", one.port, two.port);
        let folder = tempfile::tempdir().unwrap();
        let holds = |folder: &std::path::Path| {
            std::fs::read_dir(folder).unwrap().next().map(|entry| entry.unwrap().path())
        };
        let error = std::thread::scope(|scope| {
            let run = scope.spawn(|| run_in(folder.path(), jobs, &clients));
            while !run.is_finished() && holds(folder.path()).and_then(|own| holds(&own)).is_none() {
                std::thread::yield_now();
            }
            two.kill();
            run.join().unwrap().unwrap_err().to_string()
        });
        let gone = format!("fio: 127.0.0.1:{}", two.port);
        assert!(error.starts_with(&gone), "{error}");
    }
}
