//! *Create*, behind the answer to the three questions: loop devices stand for drives.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Browser, chromium};

use super::{Page, UiFolder, look_over};
use crate::suites::disk::{RawDisk, is_possible};

/// Two drives, the first of which has a file system.
fn drives(test: &str) -> Option<[RawDisk; 2]> {
    if !is_possible(test, &["mkfs.ext4", "mkfs.xfs"]) {
        return None;
    }
    if !Path::new("/dev/fuse").exists() {
        testkit::missing!("there is no /dev/fuse");
        return None;
    }
    let drives = [RawDisk::new(64), RawDisk::new(64)];
    let made = Command::new("mkfs.ext4").arg("-q").arg(drives[0].path()).status().unwrap();
    assert!(made.success());
    Some(drives)
}

fn begin_of(drive: &RawDisk) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    File::open(drive.path()).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// What the page sends, once it was answered.
fn creation(page: &Page, drives: &[RawDisk; 2], file_system: &str) -> Value {
    let names = drives.each_ref().map(RawDisk::path);
    let asked =
        json!({ "drives": names, "work": "files", "survive": 1, "file_system": file_system });
    let (status, answer) = page.post("/api/choose", &asked.to_string());
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["erases"].as_array().unwrap().len(), 2, "{answer}");
    json!({ "asked": asked, "pick": answer["choice"]["pick"], "name": "tank" })
}

/// Sends it, and what came of it.
fn create(page: &Page, creation: &Value) -> Value {
    let (status, said) = page.post("/api/create", &creation.to_string());
    assert_eq!(status, 200, "{said}");
    page.event("making", |told| told["stage"] == "done" || told["stage"] == "failed")
}

/// Consent is the same as every verb's; an answer that was not the one shown makes nothing; and
/// what is in the way is said before anything is written.
#[test]
fn nothing_is_created_without_consent_or_of_another_answer() {
    let Some(drives) = drives("ui_create_refused") else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes"]);
    let before = drives.each_ref().map(begin_of);
    let creation = creation(&page, &drives, "ext4");
    let with = |key: &str, value: Value| {
        let mut changed = creation.clone();
        changed[key] = value;
        changed
    };
    let all = json!({
        "erase_signature": true, "allow_device": drives.each_ref().map(RawDisk::path),
    });
    fs::create_dir(place.path("full")).unwrap();
    fs::write(place.path("full/file"), "").unwrap();
    let mut in_the_way = with("consent", all.clone());
    in_the_way["mount"] = json!(place.path("full"));
    let mut other = with("consent", all);
    other["pick"]["scheme"] = json!("stripe");
    for (creation, said) in [
        (creation.clone(), "To consent to that, add"),
        (with("consent", json!({ "erase_signature": true })), "--allow-device"),
        (other, "the answer is another one by now"),
        (in_the_way, "there is something in it"),
    ] {
        let told = create(&page, &creation);
        let error = told["error"].to_string();
        assert!(told["stage"] == "failed" && error.contains(said), "{said}: {told}");
        assert_eq!(told["made"], Value::Null);
        assert_eq!(drives.each_ref().map(begin_of), before, "{said}");
    }
    assert!(!place.configurations().exists());
    assert_eq!(place.ok(&["array", "status", "--json"]).trim(), "[]");
}

/// A step that fails is told with what was taken back, as the verb does it.
#[test]
fn what_fails_is_taken_back() {
    let Some(drives) = drives("ui_create_fails") else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes"]);
    // XFS takes 300 MiB at least.
    let mut creation = creation(&page, &drives, "xfs");
    creation["mount"] = json!(place.path("mnt"));
    creation["consent"] = json!({
        "erase_signature": true, "allow_device": drives.each_ref().map(RawDisk::path),
    });
    let told = create(&page, &creation);
    let error = told["error"].to_string();
    assert!(error.contains("the array that was made is taken back"), "{told}");
    assert_eq!(told["steps"].as_array().unwrap().last(), Some(&json!("start")), "{told}");
    for drive in &drives {
        let examined = place.run(&["array", "examine", drive.path().to_str().unwrap()]);
        let said = String::from_utf8(examined.stderr).unwrap();
        assert!(said.contains("no md superblock"), "{said}");
    }
    assert!(!place.configurations().join("tank.toml").exists() && !place.path("mnt").exists());
    assert_eq!(place.ok(&["array", "status", "--json"]).trim(), "[]");
}

/// "***Stop* midway of *Create*** in the browser": what was made is taken back, and the page says
/// so. The step that it is pressed in is one that waits for the test.
#[test]
fn create_is_stopped_midway_and_taken_back() {
    let Some(drives) = drives("ui_create_stop") else { return };
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    // md would take the drives, so that the initramfs is made anew: by a program that waits.
    let rule = place.path("machine/lib/udev/rules.d/64-md-raid-assembly.rules");
    let of_md = place.path("machine/etc/mdadm/mdadm.conf");
    for (file, text) in [(&rule, ""), (&of_md, "HOMEHOST <system>\n")] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let gate = place.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    place.program("update-initramfs", &format!("#!/bin/sh\ncat {}\n", gate.display()));
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut creation = creation(&page, &drives, "ext4");
    creation["mount"] = json!(place.path("mnt"));
    creation["consent"] = json!({
        "erase_signature": true, "allow_device": drives.each_ref().map(RawDisk::path),
    });
    let mut browser = Browser::start(&chromium);
    browser.resize(380, false);
    browser.open(&page.address);
    browser.until("making.stage === 'idle' && about.allow_changes");
    assert_eq!(page.post("/api/create", &creation.to_string()).0, 200);
    browser.until("making.steps.at(-1) === 'initramfs'");
    let added = fs::read_to_string(&of_md).unwrap();
    assert!(added.contains("ARRAY <ignore> UUID="), "{added}");
    let stop = "document.querySelector('#making-stop')";
    browser.value(&format!("{stop}.focus()"));
    browser.key("Enter");
    browser.until("!document.querySelector('#making-stopping').hidden");
    assert_eq!(browser.value(&format!("{stop}.disabled")), true);
    assert_eq!(browser.value("making.stage"), "running");
    // It goes on from here, and ends.
    File::options().write(true).open(&gate).unwrap();
    browser.until("making.stage !== 'running'");
    assert_eq!(browser.value("making.stage"), "stopped");
    let said = browser.value("document.querySelector('#making').innerText");
    let said = said.as_str().unwrap();
    assert!(said.contains("the array that was made is taken back"), "{said}");
    assert!(said.contains("not done") && !said.contains("It is made"), "{said}");
    look_over(&mut browser, "create-stopped");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    for drive in &drives {
        let examined = place.run(&["array", "examine", drive.path().to_str().unwrap()]);
        let said = String::from_utf8(examined.stderr).unwrap();
        assert!(said.contains("no md superblock"), "{said}");
    }
    assert_eq!(fs::read_to_string(&of_md).unwrap(), "HOMEHOST <system>\n");
    assert!(!place.configurations().join("tank.toml").exists() && !place.path("mnt").exists());
    assert_eq!(place.ok(&["array", "status", "--json"]).trim(), "[]");
}

/// Before the first byte is written *Stop* leaves the drives as they were.
#[test]
fn create_is_stopped_before_anything_is_written() {
    let Some(drives) = drives("ui_create_stop_early") else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes"]);
    let before = drives.each_ref().map(begin_of);
    let mut creation = creation(&page, &drives, "ext4");
    creation["consent"] = json!({
        "erase_signature": true, "allow_device": drives.each_ref().map(RawDisk::path),
    });
    assert_eq!(page.post("/api/create", &creation.to_string()).0, 200);
    assert_eq!(page.post("/api/run/stop", "{}").0, 200);
    let told = page.event("making", |told| told["stage"] != "running");
    assert!(told["stage"] == "stopped" && told["made"].is_null(), "{told}");
    assert_eq!(told["steps"], json!(["choose"]), "{told}");
    assert_eq!(drives.each_ref().map(begin_of), before);
}

/// "*Create* behind a question; watched by a real browser in tests, keyboard alone, 380 pixels,
/// both languages".
#[test]
fn an_answer_is_made_on_the_page_by_keyboard() {
    let Some(drives) = drives("ui_create") else { return };
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    browser.resize(380, false);
    browser.open(&page.address);
    browser.until("drivesKnown && !/Looking/.test(document.querySelector('#choose').innerText)");
    for drive in &drives {
        let name = drive.path().display();
        browser.value(&format!(
            "document.querySelector('#choose-drives input[value=\"{name}\"]').focus()"
        ));
        browser.key(" ");
    }
    browser.fill("#choose [name=fs]", "ext4");
    browser.value("document.querySelector('#choose button.main').focus()");
    browser.key("Enter");
    browser.until("!document.querySelector('#create-ask').hidden");
    browser.value("document.querySelector('#create-ask').focus()");
    browser.key("Enter");
    browser.until("!document.querySelector('#create').hidden");

    // The question has what the terminal's has.
    let question = browser.value("document.querySelector('#create').innerText");
    let question = question.as_str().unwrap().to_owned();
    for drive in &drives {
        assert!(question.contains(&drive.path().display().to_string()), "{question}");
    }
    assert!(question.contains("it holds ext2/ext3/ext4"), "{question}");
    assert!(question.contains("nothing is known to be on it"), "{question}");
    look_over(&mut browser, "create");
    browser.click("#language");
    let japanese = browser.value("document.querySelector('#create').innerText");
    assert!(japanese.as_str().unwrap().contains("2 台のドライブを消去します"), "{japanese}");
    look_over(&mut browser, "create-ja");
    browser.click("#language");
    browser.resize(380, false);

    // Without the tick nothing is sent.
    let point = place.path("mnt");
    browser.fill("#create [name=mount]", &point.display().to_string());
    browser.value("document.querySelector('#create [name=mount]').focus()");
    browser.key("Enter");
    browser.until("document.querySelector('#create [name=sure]').matches(':invalid')");
    assert_eq!(browser.value("making.stage"), "idle");
    browser.value("document.querySelector('#create [name=mount]').focus()");
    browser.key("Tab");
    browser.key(" ");
    browser.key("Tab");
    assert_eq!(browser.value("document.activeElement.textContent"), "Erase them and create");
    browser.key("Enter");
    browser.until("making.stage === 'done' || making.stage === 'failed'");
    let steps = browser.value("making.steps");
    assert_eq!(browser.value("making.error"), Value::Null);
    for step in ["choose", "array", "configuration", "start"] {
        assert!(steps.as_array().unwrap().contains(&json!(step)), "{steps}");
    }
    let shown = browser.value("document.querySelector('#making').innerText").to_string();
    assert!(shown.contains("Writing superblocks") && shown.contains("It is made"), "{shown}");
    assert!(shown.contains("$ raidloom choose --json --do --from="), "{shown}");
    look_over(&mut browser, "created");
    browser.until("document.querySelector('#arrays .card h3')?.textContent === 'tank'");
    browser.until(
        "/Used space\\s+[\\d.]+ .?i?B of/.test(document.querySelector('#arrays').innerText)",
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());

    // It is there, and is started again from its configuration.
    fs::write(point.join("file"), "precious").unwrap();
    place.ok(&["array", "umount", "tank"]);
    place.ok(&["array", "stop", "tank"]);
    place.ok(&["array", "start", "tank"]);
    assert_eq!(fs::read_to_string(point.join("file")).unwrap(), "precious");
    place.ok(&["array", "umount", "tank"]);
    place.ok(&["array", "stop", "tank"]);
}
