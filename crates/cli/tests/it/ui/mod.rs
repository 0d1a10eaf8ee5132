//! `raidloom ui` as its users meet it: who is answered, what is said, and the page itself, clicked
//! through in a headless Chromium.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod create;
mod looks;
mod owner;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::made_up::{MadeUp, Noise};
use testkit::{Browser, chromium};

const RAIDLOOM: &str = env!("CARGO_BIN_EXE_raidloom");

/// A folder with arrays and runs of its own. What runs in it ends with it, however a test ends.
struct UiFolder(tempfile::TempDir);

impl UiFolder {
    fn new() -> UiFolder {
        UiFolder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(RAIDLOOM);
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("RAIDLOOM_RUNTIME_DIR", self.path("runtime"));
        command.env("RAIDLOOM_CONFIG_DIR", self.configurations());
        // Units, rules of udev and md's configuration are the test's own.
        command.env("RAIDLOOM_SYSTEM_ROOT", self.path("machine"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [self.path("bin")].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).unwrap());
        command
    }

    /// The folder of configurations of arrays.
    fn configurations(&self) -> PathBuf {
        self.path("machine/etc/raidloom")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        // 5: so short a run on a busy machine may have no answer, and is there all the same.
        assert!(matches!(output.status.code(), Some(0 | 5)), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A short run on modelled disks.
    fn run_plan(&self, name: &str) {
        self.write_plan(name);
        self.ok(&["run", "plan.toml"]);
    }

    /// The plan of it.
    fn write_plan(&self, name: &str) {
        let plan = format!(
            "schema = 1\nname = {name:?}\n[members.disks]\nmodels = [\"maxtor-6y200p0\", \
             \"maxtor-6y200p0\"]\n[matrix]\nlevel = \"raid0\"\nchunk = [\"16KiB\", \"64KiB\"]\n\
             [baseline]\nchunk = \"16KiB\"\n[[workload]]\nsuite = \"devtest\"\n\
             tests = [\"random read 512\"]\ntime_per_test = \"1s\"\n[trials]\nblocks = 6\n\
             [report]\nmatters = \"90%\"\n"
        );
        fs::write(self.path("plan.toml"), plan).unwrap();
    }

    /// Serves the page.
    fn page(&self, flags: &[&str]) -> Page {
        let mut command = self.command(&["ui"]);
        let mut process =
            command.args(flags).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim_end().to_owned();
        let host = address.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let token = address.split_once("?token=").unwrap().1.to_owned();
        Page { process, address, host, token }
    }
}

impl Drop for UiFolder {
    fn drop(&mut self) {
        for folder in fs::read_dir(self.path("runtime")).into_iter().flatten().flatten() {
            let name = folder.file_name().into_string().unwrap();
            let _ = self.run(&["array", "stop", &name]);
        }
    }
}

/// The page's server, which ends with it.
struct Page {
    process: Child,
    address: String,
    host: String,
    token: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let process = Pid::from_raw(self.process.id().cast_signed()).unwrap();
        let _ = kill_process(process, Signal::TERM);
        let _ = self.process.wait();
    }
}

impl Page {
    /// The head and the body of an answer.
    fn exchange(&self, method: &str, path: &str, heads: &[(&str, &str)], body: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in heads {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn heads<'a>(&'a self, origin: &'a str) -> [(&'a str, &'a str); 2] {
        [("Host", &self.host), ("Origin", origin)]
    }

    fn with_token(&self, path: &str) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joint}token={}", self.token)
    }

    /// Status and document, asked as the page itself does.
    fn get(&self, path: &str) -> (u16, Value) {
        parsed(&self.exchange("GET", &self.with_token(path), &[("Host", &self.host)], ""))
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let origin = format!("http://{}", self.host);
        parsed(&self.exchange("POST", &self.with_token(path), &self.heads(&origin), body))
    }

    /// The first server-sent event of a name of which `wanted` is true.
    fn event(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let path = self.with_token("/api/events");
        let ask = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        stream.write_all(ask.as_bytes()).unwrap();
        let head = format!("event: {name}");
        let mut is_next = false;
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if let Some(data) = line.strip_prefix("data: ").filter(|_| is_next) {
                let value: Value = serde_json::from_str(data).unwrap();
                if wanted(&value) {
                    return value;
                }
            }
            is_next = line == head;
        }
        panic!("the events ended without {name}");
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn parsed(answer: &str) -> (u16, Value) {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    // A short answer has a length; chunks are for what goes on.
    (status(answer), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// "loopback only, a random token in the address, Origin and Host checked".
#[test]
fn only_the_page_itself_is_answered() {
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes"]);
    let own = format!("http://{}", page.host);
    let localhost = page.host.replace("127.0.0.1", "localhost");
    let with_token = page.with_token("/");
    let refused = |said: &str, method: &str, path: &str, heads: &[(&str, &str)]| {
        let answer = page.exchange(method, path, heads, "{\"verb\":\"stop\",\"name\":\"tank\"}");
        let (status, document) = parsed(&answer);
        let error = document["error"].as_str().unwrap_or_default();
        assert!(status == 403 && error.contains(said), "{method} {path} {heads:?}: {answer}");
        assert!(!error.contains('\n'), "{error}");
    };
    for path in ["/", "/api/about", "/api/events", "/report?run=x", "/nowhere"] {
        refused("token", "GET", path, &[("Host", &page.host)]);
        let wrong = format!("{path}{}token={}", if path.contains('?') { "&" } else { "?" }, "0");
        refused("token", "GET", &wrong, &[("Host", &page.host)]);
        let right = page.with_token(path);
        refused("Host", "GET", &right, &[("Host", "evil.example")]);
        refused("Host", "GET", &right, &[]);
        refused("Origin", "GET", &right, &page.heads("http://evil.example"));
        refused("Origin", "GET", &right, &page.heads("null"));
    }
    let act = page.with_token("/api/do");
    refused("Origin", "POST", &act, &[("Host", &page.host)]);
    refused("Origin", "POST", &act, &page.heads("http://evil.example"));
    refused("token", "POST", "/api/do", &page.heads(&own));
    refused("token", "POST", "/api/create", &page.heads(&own));
    refused("Origin", "POST", &page.with_token("/api/create"), &[("Host", &page.host)]);
    let cross = [("Host", page.host.as_str()), ("Sec-Fetch-Site", "cross-site")];
    refused("Origin", "GET", &page.with_token("/api/about"), &cross);

    for host in [page.host.as_str(), &localhost] {
        let answer = page.exchange("GET", &with_token, &[("Host", host)], "");
        assert_eq!(status(&answer), 200, "{answer}");
        let head = answer.split_once("\r\n\r\n").unwrap().0.to_lowercase();
        for expected in [
            "content-security-policy: default-src 'none'; script-src 'nonce-",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(expected), "{expected}: {head}");
        }
        assert!(!head.contains("set-cookie") && !head.contains("access-control"), "{head}");
    }
    // Each answer has a nonce of its own.
    let policy = || {
        let answer = page.exchange("GET", &with_token, &[("Host", &page.host)], "");
        answer.split_once("script-src").unwrap().1.split(';').next().unwrap().to_owned()
    };
    assert_ne!(policy(), policy());
}

#[test]
fn a_page_for_others_and_a_folder_that_is_not_there_are_refused() {
    let place = UiFolder::new();
    for (flags, said) in [
        (["--listen", "0.0.0.0:0"], "127.0.0.1:PORT"),
        (["--listen", "[::]:0"], "127.0.0.1:PORT"),
        (["--listen", "here"], "such as 127.0.0.1:8080"),
        (["--runs", "nowhere"], "there is no such folder"),
    ] {
        let output = place.run(&[&["ui"], &flags[..]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(said), "{flags:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// "nothing is changed unless started with --allow-changes".
#[test]
fn nothing_is_changed_without_leave() {
    let place = UiFolder::new();
    let page = place.page(&[]);
    let before = names(place.0.path());
    let target = json!(place.0.path());
    for (path, body) in [
        ("/api/do", json!({ "verb": "start", "stack": "ram:1MiB", "name": "tank" })),
        ("/api/board", json!({ "target": target, "profile": "8", "size": "1MiB" })),
        ("/api/board/stop", json!({})),
        ("/api/plan/save", json!({ "name": "x", "text": "schema = 1" })),
        ("/api/run", json!({ "what": "plan", "name": "x" })),
        ("/api/run/stop", json!({})),
        ("/api/run/delete", json!({ "run": "raidloom-runs/x" })),
        ("/api/do", json!({ "verb": "start-at-boot", "name": "tank", "starts": true })),
        ("/api/create/drives", json!({ "drives": [] })),
        ("/api/create", json!({ "asked": {}, "pick": {}, "name": "tank" })),
    ] {
        let (status, said) = page.post(path, &body.to_string());
        assert_eq!(status, 403, "{path}: {said}");
        assert!(said["error"].as_str().unwrap().contains("--allow-changes"), "{said}");
    }
    assert_eq!(page.get("/api/about").1["allow_changes"], false);
    assert_eq!(names(place.0.path()), before);
    assert_eq!(place.ok(&["array", "status", "--json"]).trim(), "[]");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn bad_input_is_answered_in_one_line() {
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes"]);
    for (path, body, code, said) in [
        ("/api/do", "what", 400, "expected value"),
        ("/api/do", r#"{"verb": "explode"}"#, 400, "unknown variant `explode`"),
        ("/api/do", r#"{"verb": "stop", "name": "x", "force": 1}"#, 400, "unknown field `force`"),
        ("/api/do", r#"{"verb": "stop", "name": "nobody"}"#, 422, "no array of this name"),
        ("/api/do", r#"{"verb": "start", "stack": "raid0("}"#, 422, "expected an option"),
        ("/api/do", r#"{"verb": "stop", "name": "--help"}"#, 422, "--help"),
        ("/api/board", r#"{"target": "", "profile": "8"}"#, 400, "name a target"),
        ("/api/board", r#"{"target": ".", "profile": "9"}"#, 400, "there are 3, 8"),
        ("/api/plan", r#"{"text": "schema = 2"}"#, 400, "schema"),
        ("/api/plan/save", r#"{"name": "../x", "text": ""}"#, 400, "letters, digits"),
        ("/api/choose", r#"{"drives": [], "work": "vm", "survive": 1}"#, 400, "name the drives"),
        ("/api/choose", r#"{"drives": ["4", "x", "."], "work": "vm", "survive": 1}"#, 400, "only"),
        ("/api/create", r#"{"asked": {}, "pick": {}, "name": "t"}"#, 400, "missing field"),
        ("/api/create/drives", r#"{"drives": ["/nowhere"]}"#, 500, "/nowhere"),
        ("/api/run", r#"{"what": "plan", "name": "nowhere"}"#, 400, "no such plan"),
        ("/api/run", r#"{"what": "resume", "run": "../.."}"#, 400, "no such run"),
        ("/api/run/delete", r#"{"run": "../.."}"#, 400, "no such run"),
        ("/api/run/delete", "{}", 400, "name a run"),
        ("/api/compare", r#"{"first": "x", "second": "y"}"#, 400, "no such run"),
        ("/api/compare", r#"{"first": "x"}"#, 400, "missing field"),
    ] {
        let (status, document) = page.post(path, body);
        let error = document["error"].as_str().unwrap_or_default();
        assert!(status == code && error.contains(said), "{path} {body}: {status} {document}");
        // What a verb says is passed on as it says it.
        assert!(code == 422 || !error.contains('\n'), "{error}");
    }
    let (status, document) = page.get("/report?run=../..");
    assert!(status == 400 && document["error"].as_str().unwrap().contains("no such run"));
    assert_eq!(page.get("/nowhere").0, 404);
}

/// "Same JSON as the control socket and `--json`; server-sent events".
#[test]
fn what_is_shown_is_what_the_verbs_say() {
    let place = UiFolder::new();
    place.run_plan("<b>a run</b>");
    place.ok(&["array", "start", "--name", "tank", "raid1(ram:1MiB, ram:1MiB)"]);
    let page = place.page(&[]);
    let document = |arguments: &[&str]| -> Value {
        serde_json::from_str(&place.ok(&[arguments, &["--json"]].concat())).unwrap()
    };
    let told = page.event("arrays", |told| told["arrays"][0].is_object());
    let mut listed = document(&["array", "status"]);
    // It goes on.
    listed[0]["processor_seconds"] = told["arrays"][0]["processor_seconds"].clone();
    assert_eq!(told["arrays"], listed);
    assert_eq!(told["problems"], json!([]));
    let drives = |list: &Value| -> Vec<String> {
        let drives = list.as_array().unwrap();
        drives.iter().map(|drive| format!("{} {}", drive["path"], drive["answer"])).collect()
    };
    assert_eq!(drives(&page.get("/api/drives").1), drives(&document(&["check", "drives"])));

    let told = page.event("runs", |told| told["runs"][0].is_object());
    let run = &told["runs"][0];
    assert_eq!(
        (&run["name"], &run["stage"], &run["trials_finished"], &run["trials"]),
        (&json!("<b>a run</b>"), &json!("finished"), &json!(12), &json!(12))
    );
    let folder = place.path(run["id"].as_str().unwrap());
    let report = document(&["report", folder.to_str().unwrap()]);
    assert_eq!(run["best"][0]["figures"], "modelled", "{run} {report}");
    let path = format!("/report?run={}", run["id"].as_str().unwrap().replace('/', "%2F"));
    let answer = page.exchange("GET", &page.with_token(&path), &[("Host", &page.host)], "");
    let head = answer.split_once("\r\n\r\n").unwrap().0.to_lowercase();
    assert!(status(&answer) == 200 && head.contains("sandbox allow-scripts"), "{head}");
    let made = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(answer.contains("&lt;b&gt;a run&lt;/b&gt;") && made.contains("&lt;b&gt;a run"));

    let plan = fs::read_to_string(place.path("plan.toml")).unwrap();
    let (status, checked) = page.post("/api/plan", &json!({ "text": plan }).to_string());
    assert!(status == 200, "{checked}");
    assert_eq!(checked, document(&["run", "plan", "plan.toml"]));
}

/// `watch` and the page say of a finished run what its report says first, in both languages.
#[test]
fn a_finished_run_says_what_its_report_says() {
    let place = UiFolder::new();
    let mut said: BTreeMap<String, [Vec<String>; 2]> = BTreeMap::new();
    let noises = Noise::FAIR.into_iter().chain([Noise::CarriedOver]).enumerate();
    for (seed, noise) in noises {
        let (configurations, blocks, gain) = [(2, 8, 0.0), (4, 8, 0.3), (1, 4, 0.0)][seed % 3];
        let made = MadeUp::one_workload(configurations, blocks, noise, seed as u64);
        let run = made.run(|configuration, _| 1.0 + gain * configuration as f64);
        let name = format!("run-{seed}");
        lab::import::write(&place.path(&name), &run).unwrap();
        let analysis = results::analyse(&lab::read(&place.path(&name)).unwrap());
        let answers = words::Language::ALL
            .map(|language| words::in_language(language, || report::answer(&analysis)));
        for (locale, answer) in ["C.UTF-8", "ja_JP.UTF-8"].iter().zip(&answers) {
            let watched =
                place.command(&["run", "watch", &name]).env("LC_ALL", locale).output().unwrap();
            let watched = String::from_utf8(watched.stdout).unwrap();
            let lines: Vec<&str> = watched.lines().skip(1).collect();
            assert_eq!(&lines, answer, "{noise:?}, seed {seed}: {watched}");
        }
        said.insert(name, answers);
    }
    let page = place.page(&[]);
    let told = page.event("runs", |told| told["runs"].as_array().is_some_and(|all| all.len() > 8));
    for run in told["runs"].as_array().unwrap() {
        let [english, japanese] = &said[run["id"].as_str().unwrap()];
        assert_eq!(run["answer"], json!({ "en": english, "ja": japanese }), "{run}");
    }
}

/// The board is told to end with the page, and leaves nothing behind.
#[test]
fn the_page_ends_in_order_with_what_it_has_begun() {
    let place = UiFolder::new();
    fs::create_dir(place.path("target")).unwrap();
    let mut page = place.page(&["--allow-changes"]);
    let board = json!({
        "target": place.path("target"), "profile": "8", "size": "4MiB", "time": "60s",
        "interval": "0s", "runs": "9",
    });
    assert_eq!(page.post("/api/board", &board.to_string()).0, 200);
    let again = page.post("/api/board", &board.to_string());
    assert_eq!(again.0, 409, "{}", again.1);
    while names(&place.path("target")).is_empty() {
        assert!(page.process.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let process = Pid::from_raw(page.process.id().cast_signed()).unwrap();
    kill_process(process, Signal::INT).unwrap();
    assert!(page.process.wait().unwrap().success());
    assert_eq!(names(&place.path("target")), Vec::<String>::new());
}

/// What every page owes its reader, whatever is on it.
const PROBE: &str = r#"(() => {
  const problems = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) problems.push(`page is ${root.scrollWidth} wide in ${innerWidth}: ` +
    [...document.body.querySelectorAll("*")].filter((part) => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".scroll, pre")).slice(0, 3).map((part) => part.outerHTML.slice(0, 120)).join(" | "));
  for (const part of document.querySelectorAll("input, select, textarea")) {
    if (![...part.labels].some((label) => label.textContent.trim())) problems.push(`no label: ${part.outerHTML.slice(0, 120)}`);
  }
  for (const part of document.querySelectorAll("button, a, summary")) if (!(part.ariaLabel ?? part.textContent).trim()) problems.push(`no name: ${part.outerHTML.slice(0, 120)}`);
  for (const part of document.querySelectorAll("th")) if (!part.scope) problems.push(`no scope: ${part.textContent}`);
  for (const part of document.querySelectorAll("progress, svg, [role=region]")) if (!part.getAttribute("aria-label")) problems.push(`no name: ${part.outerHTML.slice(0, 120)}`);
  const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
  if (new Set(ids).size !== ids.length) problems.push("an id twice");
  if (performance.getEntriesByType("resource").some((entry) => !entry.name.startsWith(location.origin) && !entry.name.startsWith("data:"))) problems.push("something was fetched from elsewhere");
  const channel = (part) => { const to = part / 255; return to <= 0.03928 ? to / 12.92 : ((to + 0.055) / 1.055) ** 2.4; };
  const light = (color) => { const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(channel); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (part) => { for (; part; part = part.parentElement) { const color = getComputedStyle(part).backgroundColor; if (!/, 0\)|transparent/.test(color)) return color; } return "rgb(255, 255, 255)"; };
  for (const part of document.querySelectorAll("body *")) {
    if (!part.checkVisibility() || part.disabled || ![...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(getComputedStyle(part).color), light(behind(part))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${part.tagName}.${part.className}: ${part.textContent.slice(0, 40)}`);
  }
  return problems;
})()"#;

/// Pictures to look at.
fn screenshots() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn look_over(browser: &mut Browser, name: &str) {
    for (width, dark) in [(380, false), (1024, true), (1920, false), (380, true)] {
        browser.resize(width, dark);
        let problems = browser.value(PROBE);
        assert_eq!(problems, json!([]), "{name} at {width}, dark: {dark}");
        assert_eq!(browser.findings(), Vec::<String>::new(), "{name} at {width}");
        let axe = browser.axe();
        assert_eq!(axe, Vec::<String>::new(), "{name} at {width}, dark: {dark}");
        let scheme = if dark { "dark" } else { "light" };
        browser.picture(&screenshots().join(format!("ui-{name}-{width}-{scheme}.png")));
    }
    browser.resize(1024, false);
}

/// An array on files: made, a member failed, and replaced.
fn click_array(browser: &mut Browser, place: &UiFolder) {
    browser.click("#make-details summary");
    browser.fill("#make [name=name]", "tank");
    browser.fill("#make [name=level]", "1");
    browser.fill("#make [name=size]", "32MiB");
    browser.fill("#make [name=members]", "a.img\nb.img");
    browser.click("#make button.main");
    browser.until("document.querySelector('#arrays .card h3')?.textContent === 'tank'");
    browser.until("/\\[UU\\]/.test(document.querySelector('#arrays caption').textContent)");
    // The first resync.
    browser.until("/, clean/.test(document.querySelector('#arrays caption').textContent)");
    look_over(browser, "array");

    // A member that fails asks whether it is meant, and is told to be replaced.
    let member = "#arrays tbody tr:nth-child(2)";
    browser.click(&format!("{member} button"));
    browser.until("/Really set member 1 faulty/.test(document.querySelector('#arrays').innerText)");
    assert!(place.ok(&["array", "status", "tank"]).contains("[UU]"));
    browser.click(&format!("{member} button"));
    browser.until("/DEGRADED/.test(document.querySelector('#arrays .tag').textContent)");
    browser.until("document.querySelector('#trouble').innerText === 'tank: DEGRADED'");
    browser.click("#arrays details[data-key=give] summary");
    browser.fill("#arrays .give [name=device]", "nowhere.img");
    browser.click("#arrays .give button.main");
    browser.until("/nowhere.img/.test(document.querySelector('#arrays .give .error').textContent)");
    browser.fill("#arrays .give [name=device]", "c.img");
    browser.click("#arrays .give button.main");
    browser.until("/added c.img to tank/.test(document.querySelector('#said').textContent)");
    browser.until("document.querySelector('#arrays .tag').textContent === 'online'");
    browser.until("document.querySelector('#trouble').hidden");
    assert!(place.ok(&["array", "status", "tank"]).contains("[UU]"));
}

/// The board, on a folder, one access.
fn click_board(browser: &mut Browser, place: &UiFolder) {
    fs::create_dir(place.path("target")).unwrap();
    browser.fill("#board [name=target]", place.path("target").to_str().unwrap());
    browser.value("document.querySelector('#board details').open = true");
    browser
        .value("document.querySelector('#board [name=size]').append(new Option('8 MiB', '8MiB'))");
    for (field, value) in [("size", "8MiB"), ("runs", "1"), ("time", "20ms"), ("interval", "0s")] {
        browser.fill(&format!("#board [name={field}]"), value);
    }
    browser.click("#board tbody tr:nth-child(4) button");
    browser.until("document.querySelector('#board-now').textContent === 'Done'");
    let row = browser.value("document.querySelector('#board tbody tr:nth-child(4)').innerText");
    let row = row.as_str().unwrap();
    assert!(row.starts_with("RND4K Q1T1") && row.matches("median").count() >= 2, "{row}");
    assert!(row.contains("cached:"), "{row}");
    let commands = browser.value("document.querySelector('#board-commands').textContent");
    assert!(commands.as_str().unwrap().starts_with("raidloom bench crystal --json"), "{commands}");
    look_over(browser, "board");
}

/// A plan, wrong and right, saved and run; a longer one stopped and gone on with.
fn click_plan(browser: &mut Browser, place: &UiFolder, page: &Page) {
    browser.fill("#plan-text", "schema = 1\nname = \"x\"\nnonsense = 1\n");
    browser.until("/nonsense/.test(document.querySelector('#plan-error').textContent)");
    browser.fill("#plan-form [name=chunks]", "16KiB, 64KiB, 256KiB");
    browser
        .until("/^6 configurations/.test(document.querySelector('#plan-sentence')?.textContent)");
    browser.fill("#plan-save [name=name]", "from-the-page");
    browser.click("#plan-save button");
    browser.until("/Saved as/.test(document.querySelector('#said').textContent)");
    let said = place.ok(&["run", "plan", "from-the-page.toml"]);
    assert!(said.contains("6 configurations"), "{said}");

    // The same is run from here, by two words of consent less than a drive would take.
    let modelled = fs::read_to_string(place.path("plan.toml")).unwrap();
    browser.fill("#plan-text", &modelled.replace("<img src=x onerror=alert(1)>", "from here"));
    browser.until("/^2 configurations/.test(document.querySelector('#plan-sentence').textContent)");
    assert_eq!(browser.value("document.querySelector('#plan-consent').hidden"), true);
    browser.fill("#plan-save [name=name]", "from-here");
    browser.click("#plan-save button.main");
    browser.until("/from-here.toml is finished/.test(document.querySelector('#runs').innerText)");
    browser.until("document.querySelector('#runs h3').textContent === 'from here'");
    // A longer one is stopped and gone on with.
    let on_files = modelled
        .replace("models = [", "#")
        .replace("<img src=x onerror=alert(1)>", "on files")
        .replace("blocks = 6", "blocks = 30")
        .replace("[matrix]", "files = { count = 2, size = \"1MiB\" }\n[matrix]");
    browser.fill("#plan-text", &on_files);
    browser.fill("#plan-save [name=name]", "on-files");
    browser.until("/30 blocks/.test(document.querySelector('#plan-sentence').textContent)");
    browser.click("#plan-save button.main");
    for again in [false, true] {
        if again {
            browser.click("#runs button[data-resume]");
        }
        browser.until("document.querySelector('#runs .tag').textContent === 'running'");
        browser
            .until("/trials?, \\d.* left/.test(document.querySelector('#runs .card').innerText)");
        let refused = page.post("/api/do", r#"{"verb": "stop", "name": "tank"}"#);
        assert_eq!(refused.0, 409, "{}", refused.1);
        browser.click("#runs-stop");
        browser.until("/was stopped/.test(document.querySelector('#runs').innerText)");
        browser.until("document.querySelector('#runs .tag').textContent === 'interrupted'");
    }
}

/// Issue 30: "which Japanese sentence `ui` shows (a RegExp for each English refusal)": what is
/// refused comes as values, of the guard by a verb's words, and of the board by its document.
#[test]
fn refusals_are_said_in_the_language_of_the_page() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    fs::write(place.path("xfs.img"), [&b"XFSB"[..], &vec![0; 1 << 20]].concat()).unwrap();
    let page = place.page(&["--allow-changes", "--lang", "ja"]);
    let stop = r#"{"verb": "stop", "name": "nobody"}"#;
    for (language, said) in [("en", "no array of this name"), ("ja", "この名前のアレイは")]
    {
        let (status, document) = page.post(&format!("/api/do?lang={language}"), stop);
        let error = document["error"].as_str().unwrap();
        assert!(status == 422 && error.contains(said), "{language}: {document}");
    }
    let (_, document) = page.post("/api/run", r#"{"what": "plan", "name": "nowhere"}"#);
    assert_eq!(document["parts"][1]["code"], "no_saved_plan", "{document}");

    let mut browser = Browser::start(&chromium);
    browser.open(&page.address);
    browser.until("document.querySelector('#board tbody tr') && drivesKnown");
    browser.click("#make-details summary");
    for (field, value) in
        [("name", "tank"), ("level", "1"), ("size", "32MiB"), ("members", "xfs.img\nb.img")]
    {
        browser.fill(&format!("#make [name={field}]"), value);
    }
    browser.click("#make button.main");
    browser.until("/署名があります: XFS/.test(document.querySelector('#make .error').textContent)");
    browser.fill("#board [name=target]", place.path("nowhere.img").to_str().unwrap());
    browser.click("#board tbody tr:nth-child(4) button");
    let error = "document.querySelector('#board .error').textContent";
    browser.until(&format!("/そのようなファイルはありません/.test({error})"));
    // A value is said anew when the page changes its language.
    browser.click("#language");
    browser.until(&format!("/nowhere.img: no such file/.test({error})"));
    assert_eq!(names(place.0.path()), ["xfs.img"]);
}

/// A run that goes on elsewhere is watched.
fn click_run(browser: &mut Browser, place: &UiFolder) {
    let plan = fs::read_to_string(place.path("plan.toml")).unwrap();
    let longer = plan
        .replace("models = [", "#")
        .replace("blocks = 6", "blocks = 40")
        .replace("[matrix]", "files = { count = 2, size = \"1MiB\" }\n[matrix]");
    fs::write(place.path("longer.toml"), longer).unwrap();
    let mut run = place.command(&["run", "longer.toml", "-o", "raidloom-runs/9999-longer"]);
    let mut run = run.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    browser.until("document.querySelector('#runs .tag').textContent === 'running'");
    browser.until("/trials?, \\d.* left/.test(document.querySelector('#runs .card').innerText)");
    look_over(browser, "run");
    let process = Pid::from_raw(run.id().cast_signed()).unwrap();
    kill_process(process, Signal::INT).unwrap();
    run.wait().unwrap();
    browser.until("document.querySelector('#runs .tag').textContent === 'interrupted'");
    assert!(!place.path("raidloom-runs/9999-longer/progress.json").exists());
}

/// "Tested in headless Chromium by clicking through it: start an array on files, run the board,
/// watch a run, fail a member and replace it, stop."
#[test]
fn the_page_is_clicked_through() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    place.run_plan("<img src=x onerror=alert(1)>");
    fs::write(place.path("c.img"), vec![0; 32 << 20]).unwrap();
    let page = place.page(&["--allow-changes"]);
    let mut browser = Browser::start(&chromium);
    browser.resize(1024, false);
    browser.open(&page.address);
    browser
        .until("document.querySelector('#plan-sentence') && document.querySelector('#runs .card')");
    browser.until("!/Looking/.test(document.querySelector('#drives-list').textContent)");

    // A run of a name that would be a picture is text.
    let title = browser.value("document.querySelector('#runs h3').textContent");
    assert_eq!(title, "<img src=x onerror=alert(1)>");
    assert_eq!(browser.value("document.images.length"), 0);

    click_array(&mut browser, &place);
    click_board(&mut browser, &place);
    click_plan(&mut browser, &place, &page);
    click_run(&mut browser, &place);
    // Stopped.
    browser.click("#arrays .head button");
    browser.click("#arrays .head button");
    browser.until("/None runs/.test(document.querySelector('#arrays-list').textContent)");
    assert_eq!(place.ok(&["array", "status", "--json"]).trim(), "[]");
    assert_eq!(browser.complaints(), Vec::<String>::new());

    // The report is a page of its own, and cannot ask this one anything.
    let link = browser.value("[...document.querySelectorAll('#runs .card a')].at(-1).href");
    browser.open(link.as_str().unwrap());
    assert_eq!(browser.value("document.querySelectorAll('h1').length"), 1);
    assert_eq!(browser.value("self.origin"), "null");
    let asked = browser
        .value(&format!("fetch({}).then(() => 'answered', () => 'refused')", json!(page.address)));
    assert_eq!(asked, "refused");
}

/// Without leave the page has no button that changes anything.
#[test]
fn a_page_that_only_looks_has_no_buttons() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    place.ok(&["array", "start", "--name", "tank", "raid1(ram:1MiB, ram:1MiB)"]);
    let page = place.page(&[]);
    let mut browser = Browser::start(&chromium);
    browser.open(&page.address);
    browser.until("document.querySelector('#arrays .card')");
    let enabled = browser.value(
        "[...document.querySelectorAll('button')].filter((button) => !button.disabled && \
         button.checkVisibility()).map((button) => button.textContent).sort()",
    );
    assert_eq!(
        enabled,
        json!(["Answer", "Download", "Look again", "Start from the commented plan", "日本語"])
    );
    look_over(&mut browser, "looking");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The three questions, by the keyboard alone, on a page that only looks: what models say, in both
/// languages, and what is wrong in a line.
#[test]
fn three_questions_are_answered_on_the_page_by_keyboard() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    let page = place.page(&["--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    browser.resize(380, false);
    browser.open(&page.address);
    browser.until("drivesKnown && !/Looking/.test(document.querySelector('#choose').innerText)");
    // What may not be written to is not to be ticked, and says why.
    let listed = "[...document.querySelectorAll('#choose-drives li')].map((line) => \
        [line.querySelector('input').disabled, !!line.querySelector('.warn')])";
    for line in browser.value(listed).as_array().unwrap() {
        assert_eq!(line[0], line[1], "{line}");
    }
    browser.value("document.querySelector('#choose [name=models]').focus()");
    browser.key("Enter");
    browser.until("/name the drives/.test(document.querySelector('#choose .error').textContent)");
    let words = "2 x samsung-870-evo-1tb";
    browser.fill("#choose [name=models]", words);
    browser.value("document.querySelector('#choose [name=models]').focus()");
    for field in ["work", "survive", "fs"] {
        browser.key("Tab");
        assert_eq!(browser.value("document.activeElement.name"), field);
    }
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.textContent"), "Answer");
    browser.key("Enter");
    browser.until("!document.querySelector('#choose-text').hidden");
    let said = browser.value("document.querySelector('#choose-text').textContent");
    let said = said.as_str().unwrap();
    assert!(said.starts_with("RAID 1, 2 x 1 TB"), "{said}");
    let line = format!("choose {words} --work files --survive 1 -o run");
    let verb = place.ok(&line.split_whitespace().collect::<Vec<_>>());
    // The verb names the report besides.
    assert_eq!(verb.lines().rev().skip(1).count(), said.lines().count());
    assert!(verb.starts_with(said.trim_end()), "{verb}\n{said}");
    look_over(&mut browser, "choose");
    browser.click("#language");
    let japanese = browser.value("document.querySelector('#choose-text').textContent");
    assert!(japanese.as_str().unwrap().contains("モデル"), "{japanese}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Nothing was kept but what the verb was asked to.
    assert_eq!(names(place.0.path()), ["run"]);
}
