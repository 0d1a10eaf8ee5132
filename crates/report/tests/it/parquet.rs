//! Parquet: every trial with its types, as a reader of its own finds them, and the query of
//! `docs/results.md` over several runs, asked of DuckDB.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use results::Doubt;
use results::types::Run;

fn reader(file: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(file)).unwrap()
}

#[test]
fn every_trial_is_a_row_and_every_column_has_its_type() {
    let mut run = fixture::small();
    run.trials[2].metrics.remove("latency_p99_seconds");
    run.trials[3].flags = vec![Doubt::NotSteady, Doubt::OtherWork { share: Some(0.2) }];
    let file = reader(report::parquet(&run, "monday"));
    let schema = file.metadata().file_metadata().schema_descr();
    let of = |name: &str| {
        let column = schema.columns().iter().find(|one| one.path().string() == name);
        column.unwrap_or_else(|| panic!("{name} is there")).physical_type()
    };
    for (name, physical) in [
        ("chunk", Physical::BYTE_ARRAY),
        ("started", Physical::INT64),
        ("is_baseline", Physical::BOOLEAN),
        ("block", Physical::INT32),
        ("latency_p99_seconds", Physical::DOUBLE),
        ("flags.list.element", Physical::BYTE_ARRAY),
        ("members_read_bytes.list.element", Physical::INT64),
        ("host.key_value.value", Physical::BYTE_ARRAY),
    ] {
        assert_eq!(of(name), physical, "{name}");
    }
    let names: Vec<String> =
        schema.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), run.trials.len());
    for (row, trial) in rows.iter().zip(&run.trials) {
        assert_eq!(row.get_string(place("run")).unwrap(), "monday");
        assert_eq!(row.get_string(place("workload")).unwrap(), &trial.workload);
        assert_eq!(row.get_int(place("block")).unwrap(), trial.block as i32);
        let chunk = row.get_string(place("chunk")).ok();
        assert_eq!(chunk, trial.settings.get("chunk"), "null where the axis does not apply");
        assert_eq!(row.get_bool(place("is_baseline")).unwrap(), chunk.is_none());
        for metric in ["throughput_bytes_per_second", "latency_p99_seconds"] {
            let figure = row.get_double(place(metric)).ok();
            assert_eq!(figure, trial.metrics.get(metric).copied(), "{metric}");
        }
        let texts = |list: &parquet::record::List| -> Vec<String> {
            let text = |field: &Field| match field {
                Field::Str(text) => text.clone(),
                other => panic!("{other:?} is no text"),
            };
            list.elements().iter().map(text).collect()
        };
        let codes: Vec<&str> = trial.flags.iter().map(Doubt::code).collect();
        assert_eq!(texts(row.get_list(place("flags")).unwrap()), codes);
        let bytes = row.get_list(place("members_read_bytes")).unwrap().elements();
        let own = trial.members.iter().map(|member| Field::Long(member.read_bytes as i64));
        assert_eq!(*bytes, own.collect::<Vec<_>>());
        let facts = row.get_map(place("host")).unwrap().entries();
        let kernel = (Field::Str("kernel".into()), Field::Str("6.1.0-32-amd64".into()));
        assert!(facts.contains(&kernel), "{facts:?}");
    }
    // 2026-11-21T07:40:00Z.
    assert_eq!(rows[0].get_timestamp_micros(place("started")).unwrap(), 1_795_246_800_000_000);
}

/// Names come from plans: two columns of one name could not both be asked for.
#[test]
fn a_name_that_is_there_twice_is_told_apart_and_no_name_steers() {
    let mut run = fixture::small();
    for axis in &mut run.plan.axes {
        if axis.name == "layout" {
            axis.name = "workload".into();
        }
    }
    run.plan.name = "\u{1b}[2Jplan".into();
    let file = reader(report::parquet(&run, "r"));
    let schema = file.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("workload")).count(), 2, "{names:?}");
    assert!(names.contains(&"workload") && names.contains(&"workload_"), "{names:?}");
    let row = file.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get_string(1).unwrap(), "\\u{1b}[2Jplan");
    // Nothing measured yet is a file without rows.
    run.trials.clear();
    assert_eq!(reader(report::parquet(&run, "r")).get_row_iter(None).unwrap().count(), 0);
}

/// The first block of a language below a heading of `docs/results.md`.
fn quoted(heading: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split(&format!("## {heading}\n")).nth(1).unwrap();
    let block = section.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// "So the runs of a year are one query in DuckDB": the page's own words, over three runs, of which
/// one has another axis and a newer kernel, and reads a tenth slower.
#[test]
fn many_runs_are_one_query() {
    let Some(packages) = testkit::python_packages().filter(|at| at.join("duckdb").is_dir()) else {
        testkit::missing!("the Python package duckdb: {}", testkit::GET_PYTHON_PACKAGES);
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, run: &Run| {
        let at = folder.path().join("raidloom-runs").join(name);
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join("trials.parquet"), report::parquet(run, name)).unwrap();
    };
    let mut run = fixture::small();
    let is_read = |trial: &results::Trial| trial.workload.starts_with("random read");
    run.trials.iter_mut().find(|trial| is_read(trial)).unwrap().flags.push(Doubt::NotSteady);
    written("monday", &run);
    written("tuesday", &run);
    let mut later = run.clone();
    later.host.facts.iter_mut().find(|fact| fact.name == "kernel").unwrap().value = "6.12".into();
    later.plan.axes.push(results::types::Axis { name: "fs".into(), values: vec!["ext4".into()] });
    for trial in &mut later.trials {
        trial.settings.insert("fs".into(), "ext4".into());
        *trial.metrics.get_mut("throughput_bytes_per_second").unwrap() *= 0.9;
    }
    written("wednesday", &later);

    let script = quoted("Many runs, one query", "python")
        + "import json\nprint('= ' + json.dumps(duckdb.sql(query).fetchall()))\n";
    let mut python = Command::new("python3");
    python.args(["-c", &script]).current_dir(folder.path()).env("PYTHONPATH", packages);
    let output = python.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = said.lines().find_map(|line| line.strip_prefix("= ")).unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(rows).unwrap();
    // Two sets of members, each alone and with three chunks, under two kernels.
    assert_eq!(rows.len(), 16, "{rows:?}");
    let find = |kernel: &str, runs: u64| {
        let found = rows.iter().find(|row| {
            row[0] == kernel && row[1] == "maxtor-6y200p0" && row[2] == "64KiB" && row[3] == runs
        });
        found.and_then(|row| row[5].as_f64()).unwrap_or_else(|| panic!("{kernel}: {rows:?}"))
    };
    let (before, after) = (find("6.1.0-32-amd64", 2), find("6.12", 1));
    assert!((after / before - 0.9).abs() < 0.02, "{before} to {after}");
    // "AND len(flags) = 0": what is doubtful is left out.
    let voting = |trial: &&results::Trial| is_read(trial) && trial.flags.is_empty();
    let counted: u64 = rows.iter().map(|row| row[4].as_u64().unwrap()).sum();
    assert_eq!(counted as usize, 3 * run.trials.iter().filter(voting).count());
    assert!(run.trials.iter().filter(|trial| is_read(trial)).count() * 3 > counted as usize);
}
