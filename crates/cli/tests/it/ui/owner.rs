//! What owners expect beside an array and a run: room, start at boot, a scrub calendar, two runs
//! compared, a run deleted, and no button on what a measurement works with. A program of the
//! test's own stands for systemctl(1).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Browser, chromium};

use super::{UiFolder, look_over, names};
use crate::suites::disk::is_possible;

/// Enables and disables by links, as systemctl(1) does, and knows a calendar.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$@" >>"$RAIDLOOM_SYSTEM_ROOT/told"
for unit; do :; done
case $unit in *.timer) wants=timers;; *) wants=multi-user;; esac
folder=$RAIDLOOM_SYSTEM_ROOT/etc/systemd/system/$wants.target.wants
case $1 in
show) echo LastTriggerUSec=n/a; echo "NextElapseUSecRealtime=Tue 2037-12-01 12:12:44 $TZ";;
enable) mkdir -p "$folder"; ln -s /nowhere "$folder/$unit";;
disable) rm "$folder/$unit";;
esac
"#;

impl UiFolder {
    /// A program of the test's own, before all others of its name.
    pub(super) fn program(&self, name: &str, script: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn told(&self) -> String {
        fs::read_to_string(self.path("machine/told")).unwrap_or_default()
    }
}

/// "**start at boot** for any array (the unit enabled/disabled, behind a question), **scrub
/// calendar** (next/last scrub, when it is due)": by keyboard, 380 pixels wide, in both languages.
#[test]
fn an_array_is_started_with_the_machine_and_checked_by_a_calendar() {
    let Some(chromium) = chromium() else { return };
    if !rustix::process::geteuid().is_root() {
        testkit::missing!("only root enables units");
        return;
    }
    let place = UiFolder::new();
    place.program("systemctl", SYSTEMCTL);
    fs::create_dir_all(place.path("machine/run/systemd/system")).unwrap();
    fs::create_dir_all(place.path("machine/etc/systemd/system")).unwrap();
    let create = "array create tank --level 1 --size 16MiB --member a.img b.img";
    place.ok(&create.split(' ').collect::<Vec<_>>());
    place.ok(&["array", "start", "--name", "tank", "raid1(metadata=1.2, a.img, b.img)"]);
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    browser.resize(380, false);
    browser.open(&page.address);
    browser.until("document.querySelector('#arrays [data-key=by-itself]')");
    let facts = "document.querySelector('#arrays dl').innerText";
    browser.until(&format!("/Starts with the machine\\s+no/.test({facts})"));
    browser.until(&format!("/Last check\\s+none known\\s+Next check\\s+due/.test({facts})"));

    // A check that was made by hand is known, and the next is due a month later.
    place.ok(&["array", "scrub", "tank", "--wait"]);
    browser.until(&format!("/Last check\\s+20..-..-..\\s+Next check\\s+due on 20/.test({facts})"));

    let button = "document.querySelector('#arrays [data-key=by-itself] button')";
    browser.value(&format!("{button}.focus()"));
    browser.key("Enter");
    browser.until(&format!("{button}.textContent === 'Really start tank with the machine?'"));
    assert!(!place.told().contains("enable"), "{}", place.told());
    browser.key("Enter");
    browser.until(&format!("/Starts with the machine\\s+yes/.test({facts})"));
    let told = place.told();
    assert!(told.contains("daemon-reload\nenable --quiet raidloom@tank.service\n"), "{told}");
    assert!(!told.contains("start raidloom@tank.service"), "it runs already: {told}");
    browser.until(&format!("document.activeElement === {button}"));
    browser.key("Tab");
    browser.key("Enter");
    browser.until(&format!("/Next check\\s+2037-12-01/.test({facts})"));
    look_over(&mut browser, "owner");
    browser.click("#language");
    browser.until(&format!("/起動時の開始\\s+あり/.test({facts})"));
    look_over(&mut browser, "owner-ja");
    browser.click("#language");
    assert_eq!(browser.complaints(), Vec::<String>::new());

    // The configuration that was written is that of the array that ran, and what runs was not
    // touched until now.
    let said = place.ok(&["array", "set", "tank"]);
    assert!(said.contains("starts with the machine") && said.contains("once a month"), "{said}");
    place.ok(&["array", "stop", "tank"]);
    place.ok(&["array", "start", "tank"]);
    assert!(place.ok(&["array", "status", "tank"]).contains("[UU]"));

    place.ok(&["array", "set", "tank", "start_at_boot=no", "scrub=never"]);
    let wanted = place.path("machine/etc/systemd/system/multi-user.target.wants");
    assert_eq!(names(&wanted), [""; 0]);
    // A configuration of its name that says something else is not enabled in its stead.
    let file = place.path("machine/etc/raidloom/tank.toml");
    fs::write(&file, "stack = 'ram:1MiB'\n").unwrap();
    let refused = place.run(&["array", "set", "tank", "start_at_boot=yes"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(4) && said.contains("another stack"), "{said}");
    assert_eq!(names(&wanted), [""; 0]);
    let wrong = place.run(&["array", "set", "tank", "start_at_boot=maybe"]);
    assert!(wrong.status.code() == Some(2), "{wrong:?}");
}

/// Without systemd the page says so, has no button for it, and the verb refuses.
#[test]
fn nothing_starts_an_array_where_there_is_no_service_manager() {
    let place = UiFolder::new();
    place.ok(&["array", "start", "--name", "tank", "raid1(ram:1MiB, ram:1MiB)"]);
    let page = place.page(&["--allow-changes"]);
    let told = page.event("arrays", |told| told["arrays"][0].is_object());
    assert_eq!(told["machine"]["tank"]["starts_at_boot"], Value::Null, "{told}");
    assert_eq!(told["machine"]["tank"]["is_measured"], false, "{told}");
    let enable = json!({ "verb": "start-at-boot", "name": "tank", "starts": true });
    let (status, said) = page.post("/api/do", &enable.to_string());
    assert!(status == 422 && said["error"].as_str().unwrap().contains("systemd"), "{said}");
    assert!(!place.configurations().exists());
}

/// "**a run deleted** (behind a question; only folders that are runs; nothing else removed)" and
/// "**two runs compared** (what `raidloom compare` says)", by keyboard.
#[test]
fn runs_are_compared_and_one_is_deleted() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    // The names would put the second first.
    for (name, folder) in [("the first", "raidloom-runs/z"), ("the second", "raidloom-runs/a")] {
        place.write_plan(name);
        place.ok(&["run", "plan.toml", "-o", folder]);
    }
    let compared = ["compare", "raidloom-runs/z", "raidloom-runs/a", "--json"];
    let compared: Value = serde_json::from_str(&place.ok(&compared)).unwrap();
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    browser.resize(380, false);
    browser.open(&page.address);
    let titles = "[...document.querySelectorAll('#runs h3')].map((title) => title.textContent)";
    browser.until(&format!("{titles}.length === 2"));
    assert_eq!(browser.value(titles), json!(["the second", "the first"]), "newest first");

    browser.value("document.querySelector('#compare-details summary').focus()");
    browser.key("Enter");
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.value"), "raidloom-runs/z");
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.value"), "raidloom-runs/a");
    browser.key("Tab");
    browser.key("Enter");
    browser.until("document.querySelector('#compared table')");
    let cells = compared["cells"].as_array().unwrap();
    let judged = cells.iter().filter(|cell| cell["judged"] == true).count();
    let rows = "document.querySelectorAll('#compared tbody tr').length";
    assert!(browser.value(rows).as_u64().unwrap() >= judged as u64, "{compared}");
    let same = compared["summary"]["same"].as_u64().unwrap();
    let said = browser.value("document.querySelector('#compared').innerText");
    assert!(said.as_str().unwrap().contains(&format!("{same} the same")), "{said}");
    look_over(&mut browser, "compared");
    browser.click("#language");
    let said = browser.value("document.querySelector('#compared').innerText");
    assert!(said.as_str().unwrap().contains(&format!("同じ {same} 件")), "{said}");
    browser.click("#language");

    // It asks once, and what is not the run's stays.
    fs::write(place.path("raidloom-runs/z/mine.txt"), "precious").unwrap();
    browser.value("document.querySelector('#runs [data-delete=\"raidloom-runs/z\"]').focus()");
    browser.key("Enter");
    browser.until("document.activeElement.textContent.startsWith('Really delete')");
    assert!(place.path("raidloom-runs/z/trials.jsonl").exists());
    browser.key("Enter");
    browser.until("/not of the run: mine\\.txt/.test(document.querySelector('#said').innerText)");
    browser.until(&format!("{titles}.length === 1"));
    assert_eq!(names(&place.path("raidloom-runs/z")), ["mine.txt"]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A folder that is no run is not deleted, nor one behind a link, nor the folder of runs itself.
#[test]
fn nothing_but_a_run_is_deleted() {
    let place = UiFolder::new();
    place.write_plan("a run");
    place.ok(&["run", "plan.toml", "-o", "elsewhere/run"]);
    place.ok(&["run", "plan.toml", "-o", "runs/run"]);
    fs::create_dir(place.path("runs/photos")).unwrap();
    fs::write(place.path("runs/photos/one"), "precious").unwrap();
    symlink(place.path("elsewhere/run"), place.path("runs/link")).unwrap();
    let page = place.page(&["--allow-changes", "--runs", "runs"]);
    let delete = |run: &str| page.post("/api/run/delete", &json!({ "run": run }).to_string());
    for (run, code, why) in [
        ("photos", 400, "no such run"),
        ("../elsewhere/run", 400, "no such run"),
        ("", 400, "no such run"),
        ("link", 403, "no folder of a run"),
    ] {
        let (status, said) = delete(run);
        let error = said["error"].as_str().unwrap_or_default();
        assert!(status == code && error.contains(why), "{run}: {status} {said}");
    }
    assert!(place.path("elsewhere/run/trials.jsonl").exists());
    // One that somebody works on is theirs.
    let lock = fs::File::open(place.path("runs/run/trials.jsonl")).unwrap();
    lock.lock().unwrap();
    let (status, said) = delete("run");
    assert!(status == 403 && said.to_string().contains("going on"), "{said}");
    drop(lock);
    let (status, said) = delete("run");
    assert_eq!((status, &said["left"]), (200, &json!([])), "{said}");
    assert_eq!(names(&place.path("runs")), ["link", "photos"]);

    let page = place.page(&["--allow-changes", "--runs", "elsewhere/run"]);
    let (status, said) = page.post("/api/run/delete", r#"{"run": "."}"#);
    assert!(status == 403 && said.to_string().contains("folder of runs itself"), "{said}");
    assert!(place.path("elsewhere/run/trials.jsonl").exists());
}

/// "**the array of a running measurement has no buttons**", and its server is not asked either.
#[test]
fn what_a_run_measures_has_no_buttons() {
    if !is_possible("ui_measured", &[]) {
        return;
    }
    if !std::path::Path::new("/dev/fuse").exists() {
        testkit::missing!("there is no /dev/fuse");
        return;
    }
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    let plan = "schema = 1\nname = \"mounted\"\n[members.files]\nfiles = { count = 2, size = \
        \"24MiB\" }\n[matrix]\nlevel = [\"raid0\", \"raid1\"]\nchunk = \"64KiB\"\nfile_system = \
        \"ext4\"\n[baseline]\nlevel = \"raid0\"\n[[workload]]\nsuite = \
        \"copy\"\nbytes = \"1MiB\"\n[trials]\nblocks = 500\n";
    fs::write(place.path("plan.toml"), plan).unwrap();
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    browser.open(&page.address);
    let mut run = place.command(&["run", "plan.toml", "-o", "run"]);
    let mut run = run.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    // It comes and goes with each visit: what is looked at is one moment of the page.
    let seen = browser.until(
        "(() => { const card = document.querySelector('#arrays .card'); return card && \
         /A run measures it/.test(card.innerText) && { buttons: card.querySelectorAll('button, \
         form').length, space: /Used space/.test(card.innerText) }; })()",
    );
    assert_eq!(seen["buttons"], 0);
    let told = page.event("arrays", |told| {
        told["arrays"][0]["is_measured"] == true && told["arrays"][0]["mounts"][0].is_string()
    });
    let name = told["arrays"][0]["name"].as_str().unwrap();
    let refused = (0..200).find_map(|_| {
        let stop = json!({ "verb": "stop", "name": name }).to_string();
        let (status, said) = page.post("/api/do", &stop);
        // Between two visits nobody of this name is there.
        (!said.to_string().contains("no array of this name")).then_some((status, said))
    });
    let (status, said) = refused.expect("a moment in which it is there");
    assert!(status == 403 && said.to_string().contains("measures it"), "{status} {said}");
    kill_process(Pid::from_raw(run.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    run.wait().unwrap();
}
