//! A server in this process, asked over its control socket as every command asks it.

use std::error::Error as StdError;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use rustix::io::Errno;
use serde_json::{Value, json};
use serve::{Answer, Client, Command, Runtime, Server, Settings, VERSION};
use tempfile::TempDir;

/// A server, its folder, and the thread in which it runs.
struct Running {
    runtime: Runtime,
    _folder: TempDir,
    _signals: UnixStream,
    thread: JoinHandle<Result<(), host::Error>>,
}

fn settings(stack: &str) -> Settings {
    Settings { stack: stack.to_owned(), name: Some("tank".to_owned()), ..Settings::default() }
}

fn start(stack: &str) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Runtime::at(folder.path().to_owned());
    let claim = runtime.claim("tank").expect("a name");
    let server = Server::start(claim, settings(stack), &|| true).expect("a server");
    let (wake, signals) = UnixStream::pair().expect("two sockets");
    wake.set_nonblocking(true).expect("a socket");
    let thread = std::thread::spawn(move || server.run(&wake));
    Running { runtime, _folder: folder, _signals: signals, thread }
}

impl Running {
    fn ask(&self, command: Command) -> Result<Value, host::Error> {
        Client::connect(&self.runtime, "tank")?.ask(command)
    }

    /// One line as it is, and the answer.
    fn say(&self, line: &str) -> Answer {
        let folder = self.runtime.folder_of("tank").expect("a folder");
        let mut stream = UnixStream::connect(folder.join("control")).expect("a server");
        stream.write_all(line.as_bytes()).expect("a line");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).expect("JSON")
    }

    fn stop(self) {
        assert_eq!(self.ask(Command::Stop).expect("it stops"), json!({ "problems": [] }));
        self.thread.join().expect("no panic").expect("an orderly end");
        let error = Client::connect(&self.runtime, "tank").expect_err("it has ended");
        assert_eq!(error.exit_code(), 2, "{error}");
    }
}

#[test]
fn a_server_answers_until_it_is_told_to_stop() {
    let running = start("ram:1MiB");
    let status = Client::connect(&running.runtime, "tank").unwrap().status().unwrap();
    assert_eq!((status.name.as_str(), status.size_bytes), ("tank", 1 << 20));
    let taken = running.runtime.claim("tank").map(|_| ()).expect_err("it runs");
    assert!(taken.to_string().contains("tank"), "{taken}");
    let error = running.ask(Command::Fail { array: None, member: 0 }).expect_err("no array");
    assert_ne!(error.exit_code(), 0, "{error}");
    running.stop();
}

#[test]
fn lines_that_are_no_requests_are_refused_and_do_no_harm() {
    let running = start("ram:1MiB");
    for (line, names) in [
        ("\n".to_owned(), ""),
        ("{}\n".to_owned(), "version"),
        (format!("{{\"version\":{},\"request\":\"status\"}}\n", VERSION + 1), "version"),
        (format!("{{\"version\":{VERSION},\"request\":\"explode\"}}\n"), "explode"),
        (format!("{{\"version\":{VERSION},\"request\":{{\"log\":{{\"f\":1}}}}}}\n"), "f"),
    ] {
        match running.say(&line) {
            Answer::Refused(refusal) => {
                assert_eq!(refusal.exit_code, 2, "{line}: {}", refusal.text);
                assert!(refusal.text.english().contains(names), "{line}: {}", refusal.text);
            }
            Answer::Done(value) => panic!("{line} was done: {value}"),
        }
    }
    running.stop();
}

/// "a running server's level can be changed through its control socket".
#[test]
fn a_running_servers_level_can_be_changed_through_its_control_socket() {
    serve::log::start(0).expect("the first log of this process");
    let running = start("ram:1MiB");
    let log = |filter: Option<&str>| {
        let answer = running.ask(Command::Log { filter: filter.map(str::to_owned) });
        answer.map(|answer| answer["filter"].as_str().unwrap_or_default().to_owned())
    };
    let is_on = || tracing::enabled!(target: block::trace::TARGET, tracing::Level::TRACE);
    let at_first = log(None).unwrap();
    assert!(!is_on() || at_first != "warn");
    assert_eq!(log(Some("warn,request=trace")).unwrap(), "warn,request=trace");
    assert!(is_on());
    let error = log(Some("loud")).expect_err("no level");
    assert_eq!(error.exit_code(), 2, "{error}");
    assert!(is_on(), "as it was");
    assert_eq!(log(Some("off")).unwrap(), "off");
    assert!(!is_on());
    running.stop();
}

/// "One error type from the device to the exit code, source kept."
#[test]
fn the_kernels_number_is_found_behind_what_a_server_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Runtime::at(folder.path().join("run"));
    let absent = folder.path().join("absent.img");
    let stack = format!("cache(mode=write-through, ram:1MiB, file:{})", absent.display());
    let claim = runtime.claim("tank").expect("a name");
    let settings = Settings { read_only: true, ..settings(&stack) };
    let error = Server::start(claim, settings, &|| true).map(|_| ()).expect_err("no such file");
    assert!(error.to_string().contains("absent.img"), "{error}");
    let mut source: Option<&(dyn StdError + 'static)> = Some(&error);
    let mut number = None;
    while let Some(error) = source {
        number = number.or(error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error));
        source = error.source();
    }
    assert_eq!(number, Some(Errno::NOENT.raw_os_error()), "{error}");
}
