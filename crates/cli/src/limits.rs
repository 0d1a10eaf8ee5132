//! Limits that a change must not pass: of one run against another, and of a run's configurations
//! against their baseline.

use std::collections::BTreeSet;

use results::compare::{CellChange, Changes, Insensitivity, Limit};
use serde_json::{Value, json};
use words::{Text, statement};

use crate::catalogue;
use crate::failure::Failure;

/// A limit as it was given.
#[derive(Debug, PartialEq)]
struct GivenLimit<'a> {
    text: &'a str,
    limit: Limit,
}

impl<'a> GivenLimit<'a> {
    fn parse(text: &'a str) -> Result<GivenLimit<'a>, Failure> {
        let wrong = || Failure::usage(catalogue::LIMIT_EXPECTED).at(format!("--fail-if {text}"));
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let metric = text[..at].trim();
        let share = text[at + 1..].trim().strip_suffix('%').ok_or_else(wrong)?;
        let change: f64 = share.trim().parse().map_err(|_| wrong())?;
        if metric.is_empty() || !change.is_finite() || change <= -100.0 {
            return Err(wrong());
        }
        let below = text.as_bytes()[at] == b'<';
        Ok(GivenLimit {
            text,
            limit: Limit { metric: metric.to_owned(), below, change: change / 100.0 },
        })
    }

    /// That no cell has such a metric, what was probably meant, and what there is.
    fn matches_nothing(&self, metrics: &BTreeSet<&str>) -> Failure {
        // Every beginning of a name that ends with a word can be said.
        let said = metrics.iter().flat_map(|metric| {
            metric.match_indices('_').map(|(at, _)| &metric[..at]).chain([*metric])
        });
        let meant = stack::nearest(&self.limit.metric, said).map_or_else(
            || catalogue::LIMIT_MEANT_NOTHING.into(),
            |name| statement!(catalogue::LIMIT_MEANT, name = name),
        );
        let there_are = metrics.iter().copied().collect::<Vec<_>>().join(", ");
        Failure::usage(statement!(
            catalogue::LIMIT_NO_METRIC,
            limit = self.text,
            metric = &self.limit.metric,
            meant = meant,
            there_are = there_are
        ))
    }
}

/// All limits that were given.
#[derive(Default)]
pub(crate) struct Limits<'a>(Vec<GivenLimit<'a>>);

impl<'a> Limits<'a> {
    /// Reads them.
    pub(crate) fn parse(texts: &'a [String]) -> Result<Self, Failure> {
        texts.iter().map(|text| GivenLimit::parse(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Holds changes against them. A limit that is about nothing there is a mistake.
    pub(crate) fn judge<'b>(&'b self, changes: &'b Changes) -> Result<Verdict<'b>, Failure> {
        let metrics: BTreeSet<&str> =
            changes.cells.iter().map(|cell| cell.claim.metric.as_str()).collect();
        let matches_none =
            |said: &&GivenLimit<'_>| !metrics.iter().any(|metric| said.limit.is_about(metric));
        if let Some(said) = self.0.iter().find(matches_none) {
            return Err(said.matches_nothing(&metrics));
        }
        let limits: Vec<Limit> = self.0.iter().map(|said| said.limit.clone()).collect();
        let judged = changes.judge(&limits);
        let at = |limit: usize, cell: usize| (self.0[limit].text, &changes.cells[cell]);
        Ok(Verdict {
            passed: judged.passed.iter().map(|(limit, cell)| at(*limit, *cell)).collect(),
            blind: judged
                .blind
                .into_iter()
                .map(|(limit, cell, why)| (at(limit, cell).0, at(limit, cell).1, why))
                .collect(),
            unseen: judged.unseen,
        })
    }
}

/// What limits say of changes.
pub(crate) struct Verdict<'a> {
    /// Limits, and the cells that surely pass them.
    passed: Vec<(&'a str, &'a CellChange)>,
    /// Limits, cells that cannot tell, and why.
    blind: Vec<(&'a str, &'a CellChange, Insensitivity)>,
    /// Further figures that cannot tell, beside others of their cells that can.
    unseen: usize,
}

impl Verdict<'_> {
    /// That some figures cannot tell.
    pub(crate) fn note(&self) -> Option<Text> {
        (self.unseen > 0).then(|| statement!(catalogue::CANNOT_TELL_MORE, count = self.unseen))
    }

    /// For `--json`: limits that are passed, limits that are blind, and how many figures more.
    pub(crate) fn values(&self) -> [Value; 3] {
        let passed = self.passed.iter().map(|(limit, cell)| {
            json!({
                "limit": limit,
                "settings": cell.settings,
                "workload": cell.workload,
                "metric": cell.claim.metric,
                "ratio": cell.claim.ratio,
                "ratio_interval": cell.claim.interval,
            })
        });
        let blind = self.blind.iter().map(|(limit, cell, why)| {
            json!({
                "limit": limit,
                "settings": cell.settings,
                "workload": cell.workload,
                "metric": cell.claim.metric,
                "blind": why,
            })
        });
        [passed.collect(), blind.collect(), json!(self.unseen)]
    }

    /// Exit code 3 where a limit is passed.
    pub(crate) fn passed(&self) -> Result<(), Failure> {
        let Some((limit, cell)) = self.passed.first() else { return Ok(()) };
        let figure = format!("{}, {} x {:.3}", name(cell), cell.claim.metric, cell.claim.ratio);
        let text = Text::from(figure).and(more(self.passed.len()));
        Err(Failure::limit_passed(text.at(format!("--fail-if {limit}"))))
    }

    /// Exit code 5 where a limit sees nothing.
    pub(crate) fn blind(&self) -> Result<(), Failure> {
        let Some((limit, cell, why)) = self.blind.first() else { return Ok(()) };
        let cell = format!("{}, {}", name(cell), cell.claim.metric);
        let text = blind_words(why).and(more(self.blind.len())).at(cell).at(catalogue::BLIND);
        Err(Failure::invalid_results(text.at(format!("--fail-if {limit}"))))
    }
}

/// A cell, for people.
pub(crate) fn name(cell: &CellChange) -> String {
    let settings: Vec<&str> = cell.settings.values().map(String::as_str).collect();
    format!("{} {}", settings.join(" "), cell.workload).trim().to_owned()
}

fn more(count: usize) -> Text {
    match count {
        0 | 1 => Text::default(),
        count => statement!(catalogue::LIMIT_AND_MORE, count = count - 1),
    }
}

/// Why such a change would not be seen, and what would see it.
fn blind_words(why: &Insensitivity) -> Text {
    match why {
        Insensitivity::FewRequests { needed } => {
            statement!(catalogue::FEW_REQUESTS, needed = *needed)
        }
        Insensitivity::FewTrials { voting, least, reason } => {
            let reason = reason
                .as_ref()
                .map_or(String::new(), |reason| format!(" ({})", report::silence_name(reason)));
            statement!(catalogue::FEW_TRIALS, voting = *voting, reason = reason, least = *least)
        }
        Insensitivity::Wide { interval, trials } => statement!(
            catalogue::WIDE_RATIO,
            low = format!("{:.2}", interval.low),
            high = format!("{:.2}", interval.high),
            trials = *trials
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_is_none_is_refused() {
        let said = GivenLimit::parse("throughput < -5%").unwrap();
        assert_eq!(
            said.limit,
            Limit { metric: "throughput".to_owned(), below: true, change: -0.05 }
        );
        assert!(!GivenLimit::parse("latency_p99>10 %").unwrap().limit.below);
        for wrong in
            ["throughput -5%", "throughput < -5", "< -5%", "throughput < x%", "throughput < -100%"]
        {
            assert!(GivenLimit::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_names_whole_words_of_a_metric() {
        let about =
            |limit: &str, metric: &str| GivenLimit::parse(limit).unwrap().limit.is_about(metric);
        assert!(
            about("latency > 10%", "latency_p99_seconds")
                && about("latency_p99>10%", "latency_p99_seconds")
        );
        assert!(about("latency_p99_seconds > 10%", "latency_p99_seconds"));
        assert!(
            !about("lat > 10%", "latency_p99_seconds")
                && !about("throughput < -5%", "durable_throughput_bytes_per_second")
        );
        let metrics = BTreeSet::from(["latency_p99_seconds", "throughput_bytes_per_second"]);
        let text =
            |limit: &str| GivenLimit::parse(limit).unwrap().matches_nothing(&metrics).to_string();
        assert!(
            text("thruput < -5%").contains("did you mean `throughput`?"),
            "{}",
            text("thruput < -5%")
        );
        assert!(text("latency_p98 > 5%").contains("did you mean `latency_p99`?"));
        assert!(text("zebras > 5%").contains(
            "metric `zebras`. There are: latency_p99_seconds, throughput_bytes_per_second"
        ));
    }
}
