//! What a plan is for and what must hold: `goal` and `must`.

use std::collections::{BTreeMap, BTreeSet};

use bench::suite::pull;
use block::Node;
use host::Error;
use results::safety::{self, Grade, LeastGrade};
use results::{Bound, Budget, Group, Plan, PlanGoal, RemoteMembers, Survival, UsableSpace};
use words::{Text, statement};

use super::catalogue;
use super::document::{Item, Reader, Value, suggestion};
use crate::cell::{Axes, Cell};
use crate::stacks::{self, DryRuns};

/// Names of goals, with the metric that all workloads are judged by; none for each by its own.
const GOALS: [(&str, Option<&str>); 4] = [
    ("throughput", None),
    ("io_per_second", Some("io_per_second")),
    ("latency_mean", Some("latency_mean_seconds")),
    ("latency_p99", Some("latency_p99_seconds")),
];

/// Kinds of work as weights name them.
const KINDS: [(&str, Group); 4] = [
    ("sequential", Group::Sequential),
    ("random", Group::Random),
    ("mixed", Group::Mixed),
    ("files", Group::Files),
];

/// Percentiles and means as bounds name them.
const LATENCIES: [(&str, &str); 5] = [
    ("mean", "latency_mean_seconds"),
    ("p50", "latency_p50_seconds"),
    ("p90", "latency_p90_seconds"),
    ("p99", "latency_p99_seconds"),
    ("p99.9", "latency_p99_9_seconds"),
];

/// Reads what the plan is for: a metric, or weights of kinds of work, which become part of the
/// workloads' own.
pub(super) fn goal(plan: &mut Plan, item: &Item) -> Result<(), Error> {
    if let Value::Table(_) = item.value {
        let table = item.reader("goal")?;
        let mut weights = Vec::new();
        for (name, _, item) in table.named() {
            let Some((name, group)) = KINDS.iter().find(|(known, _)| *known == name) else {
                let hint = suggestion(name, KINDS.map(|(known, _)| known));
                let text = statement!(catalogue::NO_KIND_OF_WORK, name = name, hint = hint);
                return Err(item.error(text));
            };
            if plan.workloads.iter().all(|workload| workload.group != *group) {
                return Err(item.error(statement!(catalogue::WORK_ABSENT, name = *name)));
            }
            weights.push((*name, *group, item.positive()?));
        }
        if weights.is_empty() {
            let example = "{ random = 1 }";
            return Err(item.error(statement!(catalogue::WEIGHT_EXPECTED, example = example)));
        }
        for workload in &mut plan.workloads {
            let weight = weights.iter().find(|(_, group, _)| *group == workload.group);
            workload.weight *= weight.map_or(0.0, |(.., weight)| *weight);
        }
        let text: Vec<String> =
            weights.iter().map(|(name, _, weight)| format!("{name} work x {weight}")).collect();
        plan.terms.goal = Some(PlanGoal { text: text.join(", "), metric: None });
        return Ok(());
    }
    let text = item.text()?;
    let Some((_, metric)) = GOALS.iter().find(|(known, _)| *known == text) else {
        let hint = suggestion(text, GOALS.map(|(known, _)| known));
        return Err(item.error(statement!(catalogue::NO_GOAL, name = text, hint = hint)));
    };
    plan.terms.goal = Some(PlanGoal { text: text.to_owned(), metric: metric.map(str::to_owned) });
    Ok(())
}

/// Reads what must hold for a configuration to be taken. What is known before anything is measured
/// is decided here.
pub(super) fn must(plan: &mut Plan, cells: &[Cell], list: &Item) -> Result<(), Error> {
    for item in list.list() {
        let text = item.text()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["survives", number, "member" | "members"] => {
                let wanted: u32 =
                    number.parse().map_err(|_| item.error(catalogue::MUST_EXPECTED))?;
                let survives = |one: &Cell| {
                    let members = one.record.survives.as_ref().map_or(0, Survival::losses);
                    Ok((members < wanted).then(|| match members {
                        0 => catalogue::SURVIVES_NO_LOSS.into(),
                        1 => catalogue::SURVIVES_ONE_LOSS.into(),
                        members => statement!(catalogue::SURVIVES_LOSSES, members = members),
                    }))
                };
                rule_out(plan, cells, item, survives)?;
            }
            ["capacity", ">=", ref share @ ..] => {
                let share: String = share.concat();
                let number = share.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
                let wanted = number.ok_or_else(|| item.error(catalogue::MUST_EXPECTED))? / 100.0;
                let capacity = |one: &Cell| {
                    let usable = one.record.usable;
                    let usable = usable.unwrap_or(UsableSpace { bytes: 1, members_bytes: 1 });
                    let found = usable.bytes as f64 / usable.members_bytes.max(1) as f64;
                    let percent = format!("{:.0}", (found * 100.0).floor());
                    let short = || statement!(catalogue::CAPACITY_SHORT, percent = percent);
                    Ok((found < wanted).then(short))
                };
                rule_out(plan, cells, item, capacity)?;
            }
            ["grade", ">=", grade] => {
                let no_grade = |_| item.error(statement!(catalogue::NO_GRADE, name = grade));
                let grade: Grade = grade.parse().map_err(no_grade)?;
                if !plan.workloads.iter().any(safety::is_pull) {
                    let said = catalogue::GRADE_UNMEASURED;
                    return Err(item.error(statement!(said, text = text, suite = pull::NAME)));
                }
                if plan.terms.grade.as_ref().is_none_or(|known| grade < known.grade) {
                    plan.terms.grade = Some(LeastGrade { text: text.to_owned(), grade });
                }
            }
            [name, "<", ref time @ ..] => {
                let Some((_, metric)) = LATENCIES.iter().find(|(known, _)| *known == name) else {
                    let hint = suggestion(name, LATENCIES.map(|(known, _)| known));
                    let text = statement!(catalogue::NO_LATENCY, name = name, hint = hint);
                    return Err(item.error(text));
                };
                let below = stack::size::parse_duration(&time.concat())
                    .map_err(|error| item.error(error))?
                    .as_secs_f64();
                if below <= 0.0 {
                    return Err(item.error(statement!(catalogue::NOTHING_IS_INSTANT, text = text)));
                }
                plan.terms.bounds.push(Bound {
                    text: text.to_owned(),
                    metric: (*metric).to_owned(),
                    below,
                });
            }
            _ => {
                return Err(
                    item.error(Text::from(catalogue::MUST_EXPECTED).at(format!("`{text}`")))
                );
            }
        }
    }
    Ok(())
}

/// The longest question that is a title.
const QUESTION_MAX: usize = 200;

/// Reads what the plan asks.
pub(super) fn question(item: &Item) -> Result<String, Error> {
    let text = item.text()?.trim();
    if text.is_empty() || text.contains(char::is_control) {
        return Err(item.error(catalogue::QUESTION_IS_LINE));
    }
    let letters = text.chars().count();
    if letters > QUESTION_MAX {
        let long = catalogue::QUESTION_TOO_LONG;
        return Err(item.error(statement!(long, count = letters, most = QUESTION_MAX)));
    }
    Ok(text.to_owned())
}

/// The first sentence of the comment that a plan begins with, where it asks something.
pub(super) fn first_question(text: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let comment = lines.map_while(|line| line.trim().strip_prefix('#')).map(str::trim);
    let comment = comment.collect::<Vec<_>>().join(" ");
    let (question, _) = comment.split_once('?')?;
    let is_one = !question.trim().is_empty() && !question.contains('.');
    let question = format!("{}?", question.trim());
    (is_one && question.chars().count() <= QUESTION_MAX && !question.contains(char::is_control))
        .then_some(question)
}

/// Reads what the run may cost.
pub(super) fn budget(table: Reader<'_>) -> Result<Budget, Error> {
    let (time, written) = (table.get("time"), table.get("written_per_member"));
    let place = table.place.clone();
    table.finish()?;
    if time.is_none() && written.is_none() {
        let example = "{ time = \"30min\", written_per_member = \"100GiB\" }";
        return Err(place.error(statement!(catalogue::BUDGET_IS_EMPTY, example = example)));
    }
    let time_seconds =
        time.map(|item| time_limit(item.text()?).map_err(|error| item.error(error))).transpose()?;
    let written_bytes_per_member = written
        .map(|item| stacks::parse_size(item.text()?).map_err(|error| item.error(error)))
        .transpose()?;
    Ok(Budget { time_seconds, written_bytes_per_member })
}

/// A limit of time, in seconds.
fn time_limit(text: &str) -> Result<f64, Text> {
    // `m` alone would be metres.
    let text = text.strip_suffix('m').map_or(text.to_owned(), |time| format!("{time}min"));
    let time = stack::size::parse_duration(&text)?;
    if time.is_zero() { Err(catalogue::NO_TIME.into()) } else { Ok(time.as_secs_f64()) }
}

/// The budget with other limits: `time=2h`, `written_per_member=200GiB`, or `none` instead of the
/// limit.
///
/// # Errors
/// A limit that is none of these.
pub(crate) fn raised(budget: Budget, said: &[String]) -> Result<Budget, Error> {
    let mut budget = budget;
    for text in said {
        let wrong = |error: Text| Error::usage(error).at(format!("--budget {text}"));
        match text.split_once('=') {
            Some(("time", "none")) => budget.time_seconds = None,
            Some(("time", time)) => {
                budget.time_seconds = Some(time_limit(time).map_err(wrong)?);
            }
            Some(("written_per_member", "none")) => budget.written_bytes_per_member = None,
            Some(("written_per_member", size)) => {
                let size = stacks::parse_size(size).map_err(|error| wrong(error.into()))?;
                budget.written_bytes_per_member = Some(size);
            }
            _ => return Err(wrong(catalogue::BUDGET_EXPECTED.into())),
        }
    }
    Ok(budget)
}

/// Rules out the configurations that a check has a reason against.
fn rule_out(
    plan: &mut Plan,
    cells: &[Cell],
    item: &Item,
    reason: impl Fn(&Cell) -> Result<Option<Text>, Error>,
) -> Result<(), Error> {
    for cell in cells {
        if let Some(reason) = reason(cell)? {
            plan.terms.ruled_out.entry(cell.record.id.clone()).or_insert(reason);
        }
    }
    if plan.configurations.iter().all(|one| plan.terms.ruled_out.contains_key(&one.id)) {
        return Err(item.error(catalogue::NOTHING_MEETS));
    }
    Ok(())
}

/// What a stack may lose without losing data: members of its array, or copies in the pool of a
/// single image.
pub(super) fn survives(node: &Node, axes: &Axes, pool: Option<&Survival>) -> Option<Survival> {
    let level = level(axes);
    let Some(Node::Layer { children, .. }) = array(node, level) else {
        if is_image(node) {
            return pool.cloned();
        }
        return Some(Survival::Members { count: 0, elsewhere: elsewhere(&[node], 0) });
    };
    let members = u32::try_from(children.len()).unwrap_or(u32::MAX);
    let count = match level {
        "raid1" => members.saturating_sub(1),
        "raid4" | "raid5" => 1,
        "raid6" => 2,
        // `n2`, `f3`: as many copies as the layout's name says.
        "raid10" => {
            let layout = axes.layout.as_deref().unwrap_or_default();
            let copies = layout.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            copies.parse::<u32>().unwrap_or(2).saturating_sub(1)
        }
        _ => 0,
    };
    let children: Vec<&Node> = children.iter().collect();
    Some(Survival::Members { count, elsewhere: elsewhere(&children, count) })
}

fn level(axes: &Axes) -> &'static str {
    axes.level.map_or("", |level| level.name)
}

/// Where a leaf lies.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Site<'a> {
    /// In this machine.
    Here,
    /// In the host of an NBD server.
    Host(&'a str),
    /// In a Ceph cluster.
    Cluster,
}

fn site(leaf: &Node) -> Site<'_> {
    let Node::Leaf { scheme, address, .. } = leaf else { return Site::Here };
    match scheme.as_str() {
        "nbd" | "nbds" => {
            let place = address.trim_start_matches('/');
            let place = place.split('/').next().unwrap_or(place);
            Site::Host(match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((host, _)) => host,
                None => place.split_once(':').map_or(place, |(host, _)| host),
            })
        }
        "rbd" => Site::Cluster,
        _ => Site::Here,
    }
}

/// How many of the machines with members, other than this one, may be lost where so many members
/// may; nothing where there are none.
fn elsewhere(members: &[&Node], count: u32) -> Option<RemoteMembers> {
    // Site -> members that are gone without it.
    let mut sites: BTreeMap<Site<'_>, u32> = BTreeMap::new();
    for member in members {
        let distinct: BTreeSet<Site<'_>> = member.leaves().into_iter().map(site).collect();
        for site in distinct {
            *sites.entry(site).or_default() += 1;
        }
    }
    let all = sites.remove(&Site::Here).is_none();
    let of_cluster = sites.contains_key(&Site::Cluster);
    let mut lost: Vec<u32> = sites.into_values().collect();
    if lost.is_empty() {
        return None;
    }
    // The worst: those with the most members go first.
    lost.sort_unstable_by(|a, b| b.cmp(a));
    let sums = lost.iter().scan(0, |sum, members| {
        *sum += members;
        Some(*sum)
    });
    let hosts = sums.take_while(|sum| *sum <= count).count();
    let hosts = (!of_cluster).then(|| u32::try_from(hosts).unwrap_or(u32::MAX));
    Some(RemoteMembers { hosts, all })
}

/// Whether all data are in an image of a Ceph cluster.
fn is_image(node: &Node) -> bool {
    let is_store = |leaf: &&Node| matches!(leaf, Node::Leaf { scheme, .. } if scheme == "ram");
    let mut leaves = node.leaves().into_iter().filter(|leaf| !is_store(leaf)).peekable();
    leaves.peek().is_some()
        && leaves.all(|leaf| matches!(leaf, Node::Leaf { scheme, .. } if scheme == "rbd"))
}

/// What a stack whose device has so many bytes offers of its members' space.
pub(super) fn usable(
    runs: &DryRuns,
    node: &Node,
    axes: &Axes,
    bytes: u64,
) -> Result<UsableSpace, Error> {
    let members_bytes = match array(node, level(axes)) {
        Some(Node::Layer { children, .. }) => children
            .iter()
            .map(|child| runs.info(child, None).map(|info| info.size_bytes))
            .sum::<Result<u64, Error>>()?,
        _ => bytes,
    };
    Ok(UsableSpace { bytes, members_bytes })
}

/// The layer of a level within a stack.
fn array<'a>(node: &'a Node, level: &str) -> Option<&'a Node> {
    let Node::Layer { name, children, .. } = node else { return None };
    if name == level { Some(node) } else { children.iter().find_map(|child| array(child, level)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Level;

    fn of(level: &str, text: &str) -> Option<Survival> {
        let axes = Axes { level: Level::named(level), ..Axes::default() };
        let pool = Survival::Pool { size: 3, min_size: 2, needed: 1, apart: Some("host".into()) };
        survives(&stacks::parse(text).unwrap(), &axes, Some(&pool))
    }

    fn array(level: &str, text: &str) -> (u32, Option<(Option<u32>, bool)>) {
        match of(level, text) {
            Some(Survival::Members { count, elsewhere }) => {
                (count, elsewhere.map(|found| (found.hosts, found.all)))
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_an_array_survives_depends_on_where_its_members_are() {
        assert_eq!(array("raid1", "raid1(ram:1MiB, ram:1MiB, ram:1MiB)"), (2, None));
        assert_eq!(array("single", "ram:1MiB"), (0, None));
        assert_eq!(array("single", "nbd://a/x"), (0, Some((Some(0), true))));
        let three = "raid5(chunk=4KiB, nbd://a/x, nbds://b:7/x, nbd://[fe80::1]:7/x)";
        assert_eq!(array("raid5", three), (1, Some((Some(1), true))));
        // Two of three are in one host.
        let two = "raid5(chunk=4KiB, nbd://a/x, nbd://a:7/y, nbd://b/x)";
        assert_eq!(array("raid5", two), (1, Some((Some(0), true))));
        let six = "raid6(chunk=4KiB, nbd://a/x, nbd://a:7/y, nbd://b/x, nbd://c/x)";
        assert_eq!(array("raid6", six), (2, Some((Some(1), true))));
        let mixed = "raid1(ram:1MiB, nbd://a/x)";
        assert_eq!(array("raid1", mixed), (1, Some((Some(1), false))));
        // A server on this machine is no other machine.
        assert_eq!(array("raid1", "raid1(ram:1MiB, nbd+unix:///x?socket=/s)"), (1, None));
        // Of images of a cluster it is for their pool to say.
        assert_eq!(array("raid1", "raid1(rbd:p/a, rbd:p/b)"), (1, Some((None, true))));
        let pool = of("single", "rbd:p/a").unwrap();
        assert_eq!((pool.losses(), matches!(pool, Survival::Pool { .. })), (1, true));
    }
}
