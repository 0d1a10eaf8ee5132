//! What `raidloom bench SUITE TARGET --json` printed.

use results::Clock;
use serde_json::Value;

use super::{Imported, ImportedRow};
use crate::suite::{self, Kind};

/// Reads a document of our own.
///
/// # Errors
/// What is missing.
pub(super) fn read(document: &Value) -> Result<Imported, String> {
    let name = document["suite"]
        .as_str()
        .ok_or("JSON of another kind: it has neither fio's `jobs` nor our `suite`")?;
    let suite = suite::find(name).ok_or_else(|| format!("this raidloom has no suite `{name}`"))?;
    let clock = if document["clock"] == "virtual" { Clock::Virtual } else { Clock::Wall };
    let mut settings = suite.defaults(match clock {
        Clock::Virtual => block::Clock::Virtual,
        Clock::Wall => block::Clock::Wall,
    });
    let mut facts: Vec<(String, String)> = document["target"]
        .as_str()
        .map(|target| ("target".to_owned(), target.to_owned()))
        .into_iter()
        .collect();
    // The phases depend on the settings: profile, sizes, depths. Only words and numbers matter for
    // that.
    for setting in suite.settings {
        let Some(text) = document["settings"][setting.name].as_str() else { continue };
        facts.push((setting.name.to_owned(), text.to_owned()));
        let value = match setting.kind {
            Kind::Count(..) => text.parse().ok().map(suite::Value::Count),
            Kind::Word(_) | Kind::Text | Kind::Lines | Kind::File => {
                Some(suite::Value::from(text.to_owned()))
            }
            Kind::Switch => text.parse().ok().map(suite::Value::Switch),
            Kind::Bytes | Kind::Mebibytes | Kind::Time | Kind::SomeTime | Kind::Limit => None,
        };
        if let Some(value) = value {
            settings.set(suite, setting.name, value)?;
        }
    }
    let phases = (suite.phases)(&settings);
    let mut imported = Imported {
        tool: "raidloom".to_owned(),
        suite: name.to_owned(),
        clock,
        facts,
        part: None,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    for row in document["rows"].as_array().ok_or("it has no `rows`")? {
        let phase = row["phase"].as_str().ok_or("a row has no `phase`")?;
        let Some(known) = phases.iter().find(|known| known.name == phase) else {
            imported
                .notes
                .push(format!("the row {phase} was left out: the suite {name} has no such phase"));
            continue;
        };
        let Some(metrics) = row["metrics"].as_object().filter(|metrics| !metrics.is_empty()) else {
            continue;
        };
        let run = u32::try_from(row["run"].as_u64().unwrap_or(1)).unwrap_or(1);
        let metrics = metrics
            .iter()
            .filter_map(|(name, figure)| Some((name.clone(), figure.as_f64()?)))
            .collect();
        imported.rows.push(ImportedRow {
            phase: phase.to_owned(),
            buffered_of: known.buffered_of.clone(),
            run,
            group: known.group,
            metric: known.metric.clone(),
            better: known.better,
            metrics,
        });
    }
    if document["complete"] == false {
        imported.notes.push("the run did not come to its end".to_owned());
    }
    Ok(imported)
}
