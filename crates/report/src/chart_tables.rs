//! The tables behind the charts: the same figures with their units.

use results::analysis::Comparison;
use results::shape::Effect;
use results::types::Run;

use crate::charts::{GradedConfiguration, Lines, Load, PERCENTILES, Tails, Traffic};
use crate::numbers;
use crate::table::{Column, Table, comparison_title, label, number, words};
use crate::words::{names, say};

const NONE: &str = "–";

/// Every workload by the values of the axis that the charts have along them.
pub(crate) fn by_axis(charts: &[Lines], comparison: &Comparison) -> Table {
    let first = charts.first();
    let values = first.map_or(&[][..], |chart| &chart.values);
    let several = charts.iter().any(|chart| chart.series.len() > 1);
    let baseline = charts.iter().any(|chart| chart.baseline.is_some());
    let mut columns = vec![words(say!(WORKLOAD))];
    columns.extend(several.then(|| words(say!(OF))));
    columns.push(words(say!(FIGURE)));
    columns.extend(baseline.then(|| number(label(comparison, &comparison.baseline))));
    columns.extend(values.iter().map(number));
    let mut rows = Vec::new();
    for chart in charts {
        for series in &chart.series {
            let mut row = vec![chart.name.clone()];
            row.extend(several.then(|| series.name.clone()));
            row.push(chart.metric.clone());
            let own = chart.baseline.as_ref().map(|(_, text)| text.clone());
            row.extend(baseline.then(|| own.unwrap_or_else(|| NONE.to_owned())));
            let text = |mark: &Option<crate::charts::Mark>| {
                mark.as_ref().map_or(NONE.to_owned(), |mark| mark.text.clone())
            };
            row.extend(series.marks.iter().map(text));
            rows.push(row);
        }
    }
    let axis = first.map_or("", |chart| chart.axis.as_str());
    let caption =
        say!(BY_AXIS_TABLE, axis = names::axis(axis), place = comparison_title(comparison));
    Table { caption, columns, rows }
}

/// Scores by grade.
pub(crate) fn grades(graded: &[GradedConfiguration<'_>], comparison: &Comparison) -> Table {
    let columns = vec![words(say!(CONFIGURATION)), words(say!(GRADE)), number(say!(SCORE))];
    let row = |one: &GradedConfiguration<'_>| {
        let score = match one.is_baseline {
            true => format!("{}×", one.ratio()),
            false => numbers::score_whole(one.score),
        };
        vec![one.name.clone(), one.grade.to_string(), score]
    };
    let caption = say!(GRADES_TITLE, place = comparison_title(comparison));
    Table { caption, columns, rows: graded.iter().map(row).collect() }
}

/// Every percentile of every workload and configuration.
pub(crate) fn tails(tails: &[Tails], comparison: &Comparison) -> Table {
    let unit = tails.first().map_or("", |one| one.unit);
    let shown = PERCENTILES.map(|(head, _)| head);
    let shown = shown.into_iter().filter(|head| tails.iter().any(|one| one.heads.contains(head)));
    let shown: Vec<&str> = shown.collect();
    let mut columns = vec![words(say!(WORKLOAD)), words(say!(CONFIGURATION))];
    columns.extend(shown.iter().map(|head| number(format!("{head}, {unit}"))));
    let mut rows = Vec::new();
    for one in tails {
        for series in &one.series {
            let text = |head: &&str| {
                let place = one.heads.iter().position(|known| known == head)?;
                series.texts[place].clone()
            };
            let figures = shown.iter().map(|head| text(head).unwrap_or_else(|| NONE.to_owned()));
            rows.push([one.name.clone(), series.name.clone()].into_iter().chain(figures).collect());
        }
    }
    Table { caption: say!(TAILS_TABLE, place = comparison_title(comparison)), columns, rows }
}

/// A load curve's figures by depth, and the depth of each knee.
pub(crate) fn load(load: &Load) -> Table {
    let mut columns = vec![words(say!(CONFIGURATION)), words(say!(FIGURE))];
    columns.extend(load.rate.values.iter().map(|depth| number(say!(DEPTH, depth = depth))));
    columns.push(number(say!(KNEE_AT)));
    let mut rows = Vec::new();
    for (rate, latency) in load.rate.series.iter().zip(&load.latency.series) {
        for (chart, series) in [(&load.rate, rate), (&load.latency, latency)] {
            let mut row = vec![series.name.clone(), chart.metric.clone()];
            row.extend(
                series
                    .marks
                    .iter()
                    .map(|mark| mark.as_ref().map_or(NONE.to_owned(), |mark| mark.text.clone())),
            );
            let knee =
                series.marks.iter().position(|mark| mark.as_ref().is_some_and(|one| one.is_knee));
            row.push(knee.map_or(NONE.to_owned(), |index| chart.values[index].clone()));
            rows.push(row);
        }
    }
    Table { caption: say!(LOAD_TABLE, access = load.access), columns, rows }
}

/// The values of every axis with their main effects.
pub(crate) fn effects(effects: &[Effect], comparison: &Comparison) -> Table {
    let row = |effect: &Effect| -> Vec<Vec<String>> {
        let of = |one: &results::shape::ValueEffect| {
            vec![
                names::axis(&effect.axis),
                numbers::spaced_sizes(&one.value),
                one.configurations.to_string(),
                numbers::ratio(one.ratio, None),
                if effect.balanced { say!(YES) } else { say!(NO) },
            ]
        };
        effect.values.iter().map(of).collect()
    };
    Table {
        caption: say!(EFFECTS_TABLE, place = comparison_title(comparison)),
        columns: vec![
            words(say!(AXIS)),
            words(say!(VALUE)),
            number(say!(CONFIGURATIONS_COUNT)),
            number(say!(TO_MEAN)),
            words(say!(OTHERS_ALIKE)),
        ],
        rows: effects.iter().flat_map(row).collect(),
    }
}

/// What the members of each configuration moved in all trials, and the most of it for a byte of the
/// work.
pub(crate) fn traffic(traffic: &[Traffic], comparison: &Comparison) -> Table {
    let unit = numbers::unit("bytes");
    let row = |one: &Traffic| {
        let moved = |way: usize| {
            let figure = |member: &[f64; 2]| numbers::figure(member[way], None, unit);
            one.members.iter().map(figure).collect::<Vec<_>>().join(" · ")
        };
        let ratio =
            |way: usize| one.ratios[way].map_or(NONE.to_owned(), |it| numbers::ratio(it, None));
        vec![one.name.clone(), moved(0), ratio(0), moved(1), ratio(1)]
    };
    Table {
        caption: say!(MEMBERS_TABLE, place = comparison_title(comparison)),
        columns: vec![
            words(say!(CONFIGURATION)),
            number(say!(READ_BY_EACH, unit = unit.name)),
            number(say!(FOR_EACH_READ)),
            number(say!(WRITTEN_BY_EACH, unit = unit.name)),
            number(say!(AMPLIFICATION)),
        ],
        rows: traffic.iter().map(row).collect(),
    }
}

/// How far the trials of each block lay from the medians of their cells.
pub(crate) fn blocks(blocks: &[(u32, f64)]) -> Table {
    let row = |(block, change): &(u32, f64)| {
        vec![(block + 1).to_string(), format!("{:+.2}", change * 100.0)]
    };
    Table {
        caption: say!(BLOCK_TABLE),
        columns: vec![number(say!(BLOCK)), number(say!(CHANGE))],
        rows: blocks.iter().map(row).collect(),
    }
}

/// `m:ss`, hours before it where there are any; below ten seconds with a tenth.
fn clock(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole / 3600 {
        0 => format!("{}:{:02}", whole / 60, whole % 60),
        hours => format!("{hours}:{:02}:{:02}", whole / 60 % 60, whole % 60),
    }
}

/// How long workloads with files took, durable where something was written, with the per cent of
/// the baseline's time; none where there are none.
pub(crate) fn times(run: &Run, comparison: &Comparison) -> Option<Table> {
    let seconds = |configuration: &str, workload: &str| {
        let cell = comparison.cell(configuration, workload)?;
        let find = |name: &str| cell.metrics.iter().find(|metric| metric.name == name);
        let found = find("durable_elapsed_seconds").or_else(|| find("elapsed_seconds"))?;
        let flush = find("flush_seconds").filter(|_| found.name == "elapsed_seconds");
        Some(found.median + flush.map_or(0.0, |flush| flush.median))
    };
    let timed: Vec<&str> = run
        .plan
        .workloads
        .iter()
        .filter(|workload| workload.group == results::Group::Files)
        .map(|workload| workload.name.as_str())
        .filter(|workload| {
            comparison.configurations.iter().any(|member| seconds(&member.id, workload).is_some())
        })
        .collect();
    if timed.is_empty() {
        return None;
    }
    let row = |member: &results::analysis::Member| {
        let time = |workload: &&str| {
            let Some(own) = seconds(&member.id, workload) else { return NONE.to_owned() };
            match seconds(&comparison.baseline, workload).filter(|base| *base > 0.0) {
                Some(base) => format!("{} ({:.0} %)", clock(own), 100.0 * own / base),
                None => clock(own),
            }
        };
        let first = label(comparison, &member.id);
        std::iter::once(first).chain(timed.iter().map(time)).collect()
    };
    Some(Table {
        caption: say!(TIMES_TABLE, place = comparison_title(comparison)),
        columns: std::iter::once(words(say!(CONFIGURATION)))
            .chain(timed.iter().map(|name| number(numbers::workload(name))))
            .collect::<Vec<Column>>(),
        rows: comparison.configurations.iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::clock;

    #[test]
    fn times_are_printed_as_clocks_show_them() {
        for (seconds, text) in
            [(0.04, "0.0 s"), (9.94, "9.9 s"), (10.4, "0:10"), (125.0, "2:05"), (3723.6, "1:02:04")]
        {
            assert_eq!(clock(seconds), text);
        }
    }
}
