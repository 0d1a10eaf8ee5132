//! How the page looks at three widths, light and dark, in both languages, held against pictures
//! that were looked at.
//!
//! It is the page that `raidloom ui` serves; what it would be told of the machine is made up, so
//! that it is the same everywhere. `RAIDLOOM_PICTURES=1` puts the pictures themselves into
//! `target/screenshots`; `RAIDLOOM_BLESS=1` keeps their tiles (`pictures.txt`).

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Browser, KeptPictures, chromium};

use crate::ui::{UiFolder, screenshots};

const PARTS: [&str; 7] = ["header", "#choose", "#arrays", "#runs", "#board", "#plan", "#drives"];

fn kept() -> KeptPictures {
    KeptPictures::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ui/pictures.txt"))
}

/// What the page is told instead of what is so here.
#[expect(clippy::too_many_lines, reason = "made-up data")]
fn told() -> Value {
    let member = |slot: usize, state: &str, name: &str, cause: Value| {
        json!({
            "slot": slot, "state": state, "name": name, "cause": cause, "read_errors": slot,
            "rebuilt_bytes": if state == "rebuild" { json!(96 << 20) } else { Value::Null },
        })
    };
    let leaf = |name: &str, read: u64, written: u64| -> Value {
        json!({ "name": name, "read_bytes": read, "written_bytes": written })
    };
    let figure = |best: f64, audit: &str, flags: Value| {
        json!({
            "best_bytes_per_second": best, "median_bytes_per_second": 0.97 * best,
            "audit": audit, "flags": flags,
        })
    };
    let row = |row: &str, direct: f64, buffered: f64| {
        json!({
            "row": row, "direct": figure(direct, "no: 0 % of the bytes came from a cache", json!([])),
            "buffered": figure(buffered, "yes: 100 % of the bytes came from a cache",
                json!([{"mark": "machine not quiet",
                    "text": "machine not quiet: 31 % of the processors' time went to others"}])),
        })
    };
    let scored = |name: &str, ratio: f64, is_baseline: bool| {
        json!({
            "comparison": "", "configuration": name, "trials": 24, "ratio": ratio,
            "ratio_low": ratio - 0.04, "ratio_high": ratio + 0.05, "is_baseline": is_baseline,
            "is_dropped": ratio < 0.9,
        })
    };
    let best = |work: &str, is_sure: bool| {
        json!({
            "comparison": "", "work": work, "configuration": "raid5, 64KiB", "ratio": 1.42,
            "ratio_low": 1.3, "ratio_high": 1.55, "is_baseline": false, "is_sure": is_sure,
            "verdict": { "is": "take" }, "figures": "measured",
        })
    };
    let run = |id: &str, stage: &str, done: usize, now: Value| {
        let answer = match stage {
            "finished" => json!({ "en": ["Take raid5 64 KiB."], "ja": ["推奨: raid5 64 KiB。"] }),
            _ => json!({}),
        };
        json!({
            "answer": answer,
            "id": id, "name": format!("chunk sizes of {id}"), "folder": format!("/srv/runs/{id}"),
            "started": "2026-03-01T10:20:30Z", "stage": stage, "blocks_finished": done / 12,
            "blocks": 8, "trials_finished": done, "trials": 96, "trials_flagged": 2, "now": now,
            "best": [best("sequential", true), best("random", false)], "problem": null,
            "configurations": [scored("raid5, 64KiB", 1.42, false), scored("raid6, 64KiB", 0.81,
                false), scored("raid5, 512KiB", 1.0, true)],
        })
    };
    json!({
        "/api/about": {
            "version": "1.2.3", "allow_changes": true, "runs": "/srv/runs", "folder": "/srv/data",
            "profiles": [{ "name": "8", "what": "version 8, peak: SEQ1M Q8T1 and RND4K Q32T1",
                "rows": ["SEQ1M Q8T1", "RND4K Q32T1"] }],
        },
        "/api/drives": [
            { "path": "/dev/disk/by-id/ata-DISK_1_0001", "size_bytes": 4_000_787_030_016_u64,
              "model": "DISK 1", "serial": "0001", "rotational": true, "removable": false,
              "partitions": 0, "answer": "with-consent",
              "reason": "it is empty: --erase 0001 would let it be written to" },
            { "path": "/dev/sda", "size_bytes": 256_060_514_304_u64, "model": "SSD", "serial": "S7",
              "rotational": false, "removable": true, "partitions": 3, "answer": "refused",
              "reason": "the system runs from it" },
        ],
        "arrays": { "problems": [], "machine": { "tank": {
            "space": [{ "folder": "/srv/data", "used_bytes": 700_u64 << 30,
                "free_bytes": 1200_u64 << 30, "size_bytes": 2000_u64 << 30 }],
            "starts_at_boot": true,
            "scrubs": { "is_monthly": false, "last_unix_seconds": null, "next_unix_seconds": null },
            "last_scrub_unix_seconds": 1_772_366_400_u64, "is_measured": false,
        } }, "arrays": [{
            "name": "tank", "process": 4711, "size_bytes": 2_u64 << 40, "read_only": false,
            "attached": { "file": "/run/raidloom/tank/disk", "block_device": "/dev/loop7" },
            "nbd": [], "vhost_user": null, "mounts": ["/srv/data"],
            "stack": "raid5(metadata=1.2, a.img, b.img, c.img)", "notes": [],
            "members": [leaf("file:a.img", 7 << 30, 1 << 30), leaf("file:b.img", 6 << 30, 1 << 30),
                leaf("file:c.img", 0, 3 << 30)],
            "arrays": [{
                "name": "tank", "array_uuid": "u", "state": "degraded", "level": "raid5",
                "chunk_bytes": 524_288, "slots": "[UU_]", "is_clean": true, "notes": [],
                "members": [member(0, "online", "file:a.img", Value::Null),
                    member(1, "failed", "file:b.img", json!("read error at 4096")),
                    member(2, "rebuild", "file:c.img", Value::Null)],
                "work": { "kind": "rebuild", "member": 2, "done_bytes": 96 << 20,
                    "total_bytes": 256 << 20, "bytes_per_second": 180_000_000,
                    "remaining_seconds": 125, "is_paused": false },
            }],
            "caches": [{ "name": "cache", "mode": "write-back", "used_bytes": 300 << 20,
                "size_bytes": 1 << 30, "dirty_bytes": 12 << 20, "read_hits": 900,
                "read_misses": 100, "write_hits": 0, "write_misses": 0,
                "write_out_bytes_per_second": 8_000_000, "failure": null }],
            "events": [{ "array": "tank", "text": "b.img failed" }],
        }] },
        "runs": { "folder": "/srv/runs", "more": 3, "runs": [
            run("2026-03-02", "running", 30, json!({
                "configuration": "raid6, 64KiB", "workload": "RND4K Q32T1 read",
                "left_low_seconds": 700.0, "left_high_seconds": 1300.0, "left_is_rough": true })),
            run("2026-03-01", "interrupted", 50, Value::Null),
            run("2026-02-28", "finished", 96, Value::Null),
        ] },
        "course": { "stage": "running", "what": "/srv/runs/2026-03-02", "error": null },
        "job": {
            "stage": "running", "target": "/srv/data", "rows": ["SEQ1M Q8T1", "RND4K Q32T1"],
            "now": "RND4K Q32T1", "error": null,
            "documents": [{ "summary": [row("SEQ1M Q8T1 read", 512e6, 6e9),
                row("SEQ1M Q8T1 write", 431.5e6, 2.25e9), row("RND4K Q32T1 read", 38.2e6, 910e6)] }],
            "commands": ["raidloom bench crystal --json --only='SEQ1M Q8T1' -- /srv/data"],
        },
    })
}

/// Puts what is told in place of the server, and lets no time pass but what [`settle`] says.
fn stand_in() -> String {
    format!(
        "const told = {}, real = window.fetch; let clock = 0; \
         window.fetch = (address, how) => {{ const path = new URL(address, location).pathname; \
         return told[path] ? Promise.resolve(new Response(JSON.stringify(told[path]))) \
         : real(address, how); }}; \
         window.EventSource = class {{ addEventListener(name, what) {{ if (told[name]) \
         setTimeout(() => what({{ data: JSON.stringify(told[name]) }})); }} }}; \
         window.setInterval = () => 0; performance.now = () => clock; \
         window.pass = () => clock += 1000;",
        told()
    )
}

/// Opens the page and lets half a minute pass in which the array moves data.
fn settle(browser: &mut Browser, address: &str) {
    browser.open(address);
    browser.until("job.target && runs && arraysKnown && drivesKnown && planTold");
    browser.value(
        "for (let i = 0; i < 30; i++) { const [a, b] = arrays.arrays[0].members; pass(); \
         a.read_bytes += 4e6 * i; b.written_bytes += 9e6 * (i % 7); measure(); }",
    );
    browser.value(
        "document.querySelectorAll('#arrays-list details, #runs .card:first-child details, \
         #board-flags details').forEach((part) => part.open = true)",
    );
    // How long a row has been measured is another text each second.
    browser.value("document.getElementById('board-time').style.display = 'none'");
}

#[test]
fn the_page_looks_as_it_did_in_both_languages() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    let mut pictures = kept();
    browser.before_the_page(&stand_in());
    settle(&mut browser, &page.address);
    let said = |browser: &mut Browser| {
        let text = browser.value("document.body.innerText");
        text.as_str().unwrap().to_owned()
    };
    let english = said(&mut browser);
    for language in ["en", "ja"] {
        if language == "ja" {
            browser.click("#language");
            if !browser.draws_japanese_as_debian() {
                pictures.leave_out(" ja");
                continue;
            }
        }
        assert_eq!(browser.value("document.documentElement.lang"), language);
        for width in [380, 1024, 1920] {
            for (dark, scheme) in [(false, "light"), (true, "dark")] {
                browser.resize(width, dark);
                for part in PARTS {
                    let name = part.trim_start_matches('#');
                    let name = format!("{name} {width} {scheme} {language}");
                    pictures.hold(&name, browser.tiles(part));
                }
                let wide = browser.value("document.documentElement.scrollWidth");
                assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} in {width}");
                if std::env::var_os("RAIDLOOM_PICTURES").is_some() {
                    let file = format!("ui-whole-{width}-{scheme}-{language}.png");
                    browser.picture(&screenshots().join(file));
                }
            }
        }
        assert_eq!(browser.findings(), Vec::<String>::new(), "{language}");
    }
    // Nothing is left in English that the table has, and pressed again all is as before.
    let left = browser.value(
        "(() => { const read = [document.body.innerText, ...[...document.querySelectorAll( \
         '[aria-label], [placeholder]')].map((part) => part.ariaLabel ?? part.placeholder)] \
         .join('\\n'); return Object.keys(JAPANESE).flatMap((english) => english.split( \
         /\\{\\w+\\}/)).map((part) => part.trim()).filter((part) => part.length >= 8 && \
         part.includes(' ') && read.includes(part)); })()",
    );
    assert_eq!(left, json!([]));
    browser.click("#language");
    assert_eq!(said(&mut browser), english);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(pictures.differences(), Vec::<String>::new());
}

/// The page begins in the language that was asked for, and its reports are in it.
#[test]
fn the_page_begins_in_japanese_where_it_is_asked_for() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    place.run_plan("a run");
    let page = place.page(&["--lang", "ja"]);
    let mut browser = Browser::start(&chromium);
    browser.open(&page.address);
    let link = browser.until("document.querySelector('#runs .card a')?.href");
    let title = browser.value("document.querySelector('#arrays-title').textContent");
    assert_eq!(title, "稼働中のアレイ");
    assert_eq!(browser.value("document.querySelector('#language').textContent"), "English");
    browser.open(link.as_str().unwrap());
    assert_eq!(browser.value("document.documentElement.lang"), "ja");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A part that is gone or looks otherwise is found.
#[test]
fn a_page_that_looks_otherwise_is_found() {
    let Some(chromium) = chromium() else { return };
    let place = UiFolder::new();
    let page = place.page(&["--allow-changes", "--lang", "en"]);
    let mut browser = Browser::start(&chromium);
    let kept = kept();
    browser.before_the_page(&stand_in());
    browser.resize(1024, false);
    for (part, rule) in [
        ("#arrays", ".card .head, .card table { visibility: hidden }"),
        ("#runs", ".card { background: #242a30 !important }"),
        ("#board", "#board-table td { display: none }"),
        ("#drives", ".tag, .why { color: transparent }"),
    ] {
        settle(&mut browser, &page.address);
        let known = kept.find(&format!("{} 1024 light en", &part[1..])).unwrap();
        assert!(known.distance(&browser.tiles(part)).is_small(), "{part} as it is");
        browser.value(&format!(
            "(() => {{ const sheet = new CSSStyleSheet(); sheet.replaceSync({}); \
             document.adoptedStyleSheets = [sheet]; }})()",
            json!(rule)
        ));
        let distance = known.distance(&browser.tiles(part));
        assert!(!distance.is_small(), "{rule} was not seen: {distance:?}");
    }
}
