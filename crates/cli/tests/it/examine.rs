//! `array examine` and `mdadm --examine` say the same of members, field by field.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What mdadm prints, by key.
type Report = BTreeMap<String, String>;

/// What JSON has and mdadm does not print, or prints as part of another line.
const OURS_ONLY: [&str; 7] = [
    "bad_block_log_shift",
    "bitmap",
    "corrected_reads",
    "device_number",
    "device_roles",
    "max_devices",
    "problems",
];

fn mdadm() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join("mdadm"));
    let found = found.into_iter().find(|program| program.exists());
    if found.is_none() {
        testkit::missing!("mdadm is not there: apt-get install mdadm");
    }
    found
}

fn output(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("TZ", "UTC")
        .output()
        .expect("it starts");
    let (text, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {arguments:?}: {text}{log}", program.display());
    text.into_owned()
}

fn report(text: &str) -> Report {
    let pairs = text.lines().filter_map(|line| line.split_once(" : "));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The first number of a line.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number in {text:?}"))
}

fn sectors(report: &Report, key: &str) -> Option<Value> {
    report.get(key).map(|text| Value::from(number(text) * 512))
}

/// `Sat Nov 21 17:10:51 2026` as `2026-11-21T17:10:51Z`.
fn time(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|month| *month == words[1]).expect("a month") + 1;
    format!("{}-{month:02}-{:02}T{}Z", words[4], number(words[2]), words[3])
}

/// What mdadm says, in our words: field by field, with the keys that it was read from.
fn in_our_words(report: &Report) -> BTreeMap<&'static str, (Vec<&'static str>, Value)> {
    let mut fields = BTreeMap::new();
    let mut say = |field, key: &'static str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(field, (vec![key], value));
        }
    };
    let text = |key: &str| report.get(key).map(|text| Value::from(text.as_str()));
    let with = |key: &str, change: fn(&str) -> Value| report.get(key).map(|text| change(text));
    say("version", "Version", text("Version"));
    say("array_uuid", "Array UUID", text("Array UUID"));
    say("device_uuid", "Device UUID", text("Device UUID"));
    say("level", "Raid Level", text("Raid Level"));
    say("state", "State", text("State"));
    say("raid_devices", "Raid Devices", with("Raid Devices", |text| number(text).into()));
    say("events", "Events", with("Events", |text| number(text).into()));
    say(
        "feature_map",
        "Feature Map",
        with("Feature Map", |text| u64::from_str_radix(&text[2..], 16).expect("a number").into()),
    );
    say("name", "Name", with("Name", |text| text.split("  (").next().unwrap_or_default().into()));
    say("created", "Creation Time", with("Creation Time", |text| time(text).into()));
    say("updated", "Update Time", with("Update Time", |text| time(text).into()));
    say("data_size_bytes", "Avail Dev Size", sectors(report, "Avail Dev Size"));
    say("data_offset_bytes", "Data Offset", sectors(report, "Data Offset"));
    say("super_offset_bytes", "Super Offset", sectors(report, "Super Offset"));
    // It is left out where it is all there is, and at level 0, which has none.
    let used = sectors(report, "Used Dev Size").or_else(|| match report["Raid Level"].as_str() {
        "raid0" => Some(0.into()),
        _ => sectors(report, "Avail Dev Size"),
    });
    say("used_device_bytes", "Used Dev Size", used);
    say("layout", "Layout", with("Layout", |text| layout(text).into()).or(Some("-".into())));
    let chunk = if report["Raid Level"] == "linear" { "Rounding" } else { "Chunk Size" };
    say("chunk_bytes", chunk, with(chunk, |text| (number(text) << 10).into()).or(Some(0.into())));
    say(
        "checksum",
        "Checksum",
        with("Checksum", |text| text.split(" - ").nth(1).unwrap_or_default().into()),
    );
    say(
        "role",
        "Device Role",
        with("Device Role", |text| text.replace("Active device", "active member").into()),
    );
    say(
        "bitmap_offset_sectors",
        "Internal Bitmap",
        with("Internal Bitmap", |text| number(text).into()),
    );
    say(
        "bad_block_log_sectors",
        "Bad Block Log",
        with("Bad Block Log", |text| (number(text) * 8 / 512).into()),
    );
    let offset =
        |text: &str| Value::from(number(text.rsplit_once("offset ").expect("an offset").1));
    say("ppl_size_sectors", "PPL", with("PPL", |text| number(text).into()));
    say("ppl_offset_sectors", "PPL", with("PPL", offset));
    say("bad_block_log_offset_sectors", "Bad Block Log", with("Bad Block Log", offset));
    say(
        "device_flags",
        "Flags",
        Some(
            report.get("Flags").map_or(0, |flags| u64::from(flags.contains("write-mostly"))).into(),
        ),
    );
    fields
}

/// `near=2` as `n2`.
fn layout(text: &str) -> String {
    [("near=", "n"), ("offset=", "o"), ("far=", "f")]
        .iter()
        .fold(text.to_owned(), |text, (long, short)| text.replace(long, short))
}

/// Every difference between the two, in both directions.
fn differences(report: &Report, ours: &serde_json::Map<String, Value>) -> Vec<String> {
    let theirs = in_our_words(report);
    let mut differences = Vec::new();
    // Worked out from the other lines, for people; the places of the array are among ours as roles.
    let mut known = vec!["Magic", "Unused Space", "Array Size", "Array State"];
    for (field, (keys, value)) in &theirs {
        known.extend(keys);
        let found = ours.get(*field).unwrap_or(&Value::Null);
        if found != value {
            differences.push(format!("{field}: {found}, and by mdadm {value}"));
        }
    }
    let printed = report.keys().filter(|key| !known.contains(&key.as_str()));
    differences
        .extend(printed.map(|key| {
            format!("{key}: mdadm prints {:?}, and we have no such field", report[key])
        }));
    let unseen = ours
        .iter()
        .filter(|(field, value)| !theirs.contains_key(field.as_str()) && !value.is_null());
    let unseen = unseen.filter(|(field, _)| !OURS_ONLY.contains(&field.as_str()));
    differences
        .extend(unseen.map(|(field, value)| format!("{field}: {value}, and mdadm prints nothing")));
    let roles = ours["device_roles"].as_str().unwrap_or_default();
    let places = (0..ours["raid_devices"].as_u64().unwrap_or(0))
        .map(|role| {
            if roles.split(", ").any(|held| held == format!("active member {role}")) {
                'A'
            } else {
                '.'
            }
        })
        .collect::<String>();
    let told = report["Array State"].split(' ').next().unwrap_or_default();
    if places != told {
        differences.push(format!("device_roles: {roles}, and by mdadm {told}"));
    }
    differences
}

#[test]
fn examine_agrees_with_mdadm() {
    let Some(mdadm) = mdadm() else { return };
    let raidloom = Path::new(env!("CARGO_BIN_EXE_raidloom"));
    let arrays: &[(&str, usize, &str)] = &[
        ("linear", 3, ""),
        ("0", 3, "--layout alternate --chunk 16KiB"),
        ("1", 2, "--spare spare.img"),
        ("1", 3, "-k bitmap"),
        ("4", 3, "--chunk 64KiB"),
        ("5", 4, "--layout right-asymmetric --chunk 4KiB -k bitmap --spare spare.img"),
        ("5", 3, "-k ppl --chunk 64KiB"),
        ("6", 5, "--layout ddf-N-continue --chunk 64KiB"),
        ("6", 4, "--layout left-symmetric-6 --chunk 16KiB -k bitmap"),
        ("10", 4, "--layout n2 --chunk 64KiB"),
        ("10", 5, "--layout f2 --chunk 64KiB -k bitmap"),
        ("10", 3, "--layout o2 --chunk 32KiB --spare spare.img"),
        ("5", 3, "--chunk 64KiB missing"),
    ];
    let mut wrong = Vec::new();
    for (number, (level, count, options)) in arrays.iter().enumerate() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("examine-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let misses = options.ends_with("missing");
        let names: Vec<String> = (0..*count).map(|role| format!("m{role}.img")).collect();
        let mut arguments =
            vec!["array", "create", "tank", "--quiet", "--size", "24MiB", "--level", level];
        for (role, name) in names.iter().enumerate() {
            arguments.extend(["--member", if misses && role == 1 { "missing" } else { name }]);
        }
        arguments.extend(options.split_whitespace().filter(|word| *word != "missing"));
        output(raidloom, &arguments, &folder);
        let spare = options.contains("spare.img").then(|| "spare.img".to_owned());
        for name in names.iter().chain(&spare).filter(|name| folder.join(name).exists()) {
            let json: Value = serde_json::from_str(&output(
                raidloom,
                &["array", "examine", "--json", name],
                &folder,
            ))
            .expect("JSON");
            let ours = json[0]["superblocks"][0].as_object().expect("a superblock");
            let theirs = report(&output(&mdadm, &["--examine", name], &folder));
            wrong.extend(
                differences(&theirs, ours)
                    .into_iter()
                    .map(|difference| format!("level {level} {options} {name}: {difference}")),
            );
            // Whatever is left out is seen, but for a rounding of nothing.
            for key in theirs.keys().filter(|key| {
                !matches!(key.as_str(), "Magic" | "Unused Space" | "Array Size" | "Rounding")
            }) {
                let mut changed = theirs.clone();
                changed.remove(key);
                if !matches!(key.as_str(), "Array State" | "Raid Level") {
                    assert!(!differences(&changed, ours).is_empty(), "{key} is not compared");
                }
            }
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
