//! `array monitor` as it tells others: a mail through the machine's `sendmail`, for which a
//! script stands in, and a webhook through curl, to a listener on this machine.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

/// A folder with arrays of its own, which end with it, and with a `sendmail`.
struct MonitorFolder(tempfile::TempDir);

impl MonitorFolder {
    fn new() -> MonitorFolder {
        let place = MonitorFolder(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("bin")).unwrap();
        let mailer = place.path("bin/sendmail");
        let mails = place.path("mails");
        // Its words, then the mail.
        let script = format!("#!/bin/sh\n{{ echo \"$*\"; cat; echo; }} >>'{}'\n", mails.display());
        fs::write(&mailer, script).unwrap();
        fs::set_permissions(&mailer, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let paths = std::env::var("PATH").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("RAIDLOOM_RUNTIME_DIR", self.path("runtime"));
        command.env("PATH", format!("{}:{paths}", self.path("bin").display()));
        command.output().unwrap()
    }

    /// What it says on both outputs.
    fn ok(&self, arguments: &[&str]) -> [String; 2] {
        let output = self.run(arguments);
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{arguments:?}: {said:?}");
        said
    }
}

impl Drop for MonitorFolder {
    fn drop(&mut self) {
        let _ = self.run(&["array", "stop", "tank"]);
    }
}

/// Answers requests one after another, each with the next of the statuses; what was sent arrives
/// as head and body. It ends with the last of them.
fn listener(statuses: &'static [&'static str]) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for status in statuses {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
            }
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
            });
            let mut body = vec![0; length.unwrap()];
            stream.read_exact(&mut body).unwrap();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            sender.send((head, serde_json::from_slice(&body).unwrap())).unwrap();
        }
    });
    (address, receiver)
}

/// "to journal, mail command, program or webhook, once each".
#[test]
fn a_member_that_fails_is_mailed_and_sent_once() {
    if Command::new("curl").arg("--version").output().is_err() {
        testkit::missing!("no curl to send with: apt-get install -y curl");
        return;
    }
    let place = MonitorFolder::new();
    place.ok(&[
        "array", "create", "tank", "--level", "1", "--size", "4MiB", "--member", "a.img", "b.img",
    ]);
    place.ok(&["array", "start", "--name", "tank", "raid1(metadata=1.2, a.img, b.img)"]);
    let (url, sent) = listener(&["204 No Content", "200 OK", "200 OK", "200 OK", "200 OK"]);
    let state = place.path("seen.json");
    let tell = [
        "array",
        "monitor",
        "--once",
        "--state",
        state.to_str().unwrap(),
        "--mail",
        "root@example.org",
        "--webhook",
        &url,
    ];
    let mails = || fs::read_to_string(place.path("mails")).unwrap_or_default();

    // It is seen for the first time.
    place.ok(&tell);
    let (head, body) = sent.recv().unwrap();
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: application/json\r\n"), "{head}");
    assert_eq!((&body["array"], &body["event"]), (&json!("tank"), &json!("started")));
    assert!(
        mails().starts_with(
            "-i -- root@example.org\nTo: root@example.org\nSubject: raidloom: \
        tank started\n\ntank: it runs as process "
        ),
        "{}",
        mails()
    );

    place.ok(&["array", "fail", "tank", "b.img"]);
    let before = mails().len();
    let [said, _] = place.ok(&tell);
    let told = said.lines().count();
    assert!(said.contains("tank: degraded: "), "{said}");
    // As many mails as lines, each with its own.
    let new = mails()[before..].to_owned();
    assert_eq!(new.matches("\nSubject: raidloom: tank ").count(), told, "{new}");
    assert!(new.contains("Subject: raidloom: tank degraded\n"), "{new}");
    assert!(told <= 4, "the listener answers so many: {said}");
    let events: Vec<Value> = (0..told).map(|_| sent.recv().unwrap().1["event"].clone()).collect();
    assert!(events.contains(&json!("degraded")), "{events:?}");

    // Once, and no more.
    let before = mails().len();
    assert_eq!(place.ok(&tell), [String::new(), String::new()]);
    assert_eq!(mails().len(), before);
    drop(sent);
}

#[test]
fn a_notice_that_does_not_arrive_is_said_and_the_others_go_on() {
    if Command::new("curl").arg("--version").output().is_err() {
        testkit::missing!("no curl to send with: apt-get install -y curl");
        return;
    }
    let place = MonitorFolder::new();
    place.ok(&["array", "start", "--name", "tank", "ram:1MiB"]);
    let (url, sent) = listener(&["500 Internal Server Error"]);
    let state = place.path("seen.json");
    let [_, said] = place.ok(&[
        "array",
        "monitor",
        "--once",
        "--state",
        state.to_str().unwrap(),
        "--webhook",
        &url,
        "--mail",
        "root@example.org",
    ]);
    assert_eq!(sent.recv().unwrap().1["event"], "started");
    assert!(said.contains("curl: ") && said.contains("the notice may not have arrived"), "{said}");
    let mails = fs::read_to_string(place.path("mails")).unwrap();
    assert!(mails.contains("tank started"), "{mails}");
}
