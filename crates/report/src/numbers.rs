//! Numbers as people read them: at most four significant digits, and no digit that the interval
//! does not support.

use results::analysis::{Comparison, LatencyRange, Score};
use results::claim::{Answer, Claim, Invalid};
use results::statistics::Interval;
use results::types::Group;

use crate::words::{names, say};

/// A figure's unit for people, and what to multiply the base unit by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// As printed in the head of a column.
    pub(crate) name: &'static str,
    /// Figure in this unit / figure in the base unit.
    factor: f64,
}

impl Unit {
    /// Operations of so many bytes, for figures in bytes per second.
    pub(crate) fn operations(bytes: f64) -> Self {
        Self { name: "IO/s", factor: 1.0 / bytes }
    }

    /// Whether operations are counted in it.
    pub(crate) fn is_operations(self) -> bool {
        self.name == unit("io_per_second").name
    }
}

const MICROSECONDS: Unit = Unit { name: "us", factor: 1e6 };

/// The unit that a metric is printed in, by the base unit its name ends in. Throughput is in MB/s
/// of 10^6 bytes.
pub(crate) fn unit(metric: &str) -> Unit {
    let known = [
        ("bytes_per_second", "MB/s", 1e-6),
        ("io_per_second", "IO/s", 1.0),
        ("per_second", "/s", 1.0),
        ("seconds", "ms", 1e3),
        ("bytes", "MB", 1e-6),
        ("ratio", "%", 1e2),
    ];
    let found = known.iter().find(|(ending, ..)| metric.ends_with(ending));
    found.map_or(Unit { name: "", factor: 1.0 }, |(_, name, factor)| Unit { name, factor: *factor })
}

/// Below these, seconds, a run's mean latencies and 99th percentiles are given in microseconds.
const SHORT: LatencyRange = LatencyRange { mean_max_seconds: 1e-3, p99_max_seconds: 1e-2 };

/// The unit that a metric is printed in wherever it stands in a report: latencies of a run that are
/// all short in `us`.
pub(crate) fn unit_in(comparison: &Comparison, metric: &str) -> Unit {
    unit_up_to(comparison.latencies, metric)
}

/// The same where the largest latencies are these.
pub(crate) fn unit_up_to(largest: LatencyRange, metric: &str) -> Unit {
    let is_short = largest.mean_max_seconds < SHORT.mean_max_seconds
        && largest.p99_max_seconds < SHORT.p99_max_seconds;
    if is_short && metric.contains("latency_") { MICROSECONDS } else { unit(metric) }
}

/// How many decimals a value deserves: two digits of the half-width when that begins with 1, one
/// otherwise; never more than four significant digits, and three where there is no interval to go
/// by. Negative for tens, hundreds, and so on.
fn decimals(value: f64, interval: Option<Interval>) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let Some(interval) = interval else { return 2 - magnitude };
    let half = (interval.high - interval.low) / 2.0;
    // Just below 1 a fourth digit would claim more than the same width just above 1.
    let most = 3 - if magnitude == -1 { 0 } else { magnitude };
    if half <= 0.0 || !half.is_finite() {
        return most;
    }
    let place = half.log10().floor();
    let leading = half / 10f64.powf(place);
    (if leading < 2.0 { 1 } else { 0 } - place as i32).min(most)
}

fn rounded(value: f64, decimals: i32) -> String {
    if decimals >= 0 {
        return format!("{value:.*}", decimals as usize);
    }
    let step = 10f64.powi(-decimals);
    format!("{:.0}", (value / step).round() * step)
}

/// A figure in a unit, without the unit.
pub(crate) fn figure(value: f64, interval: Option<Interval>, unit: Unit) -> String {
    let scaled = |value: f64| value * unit.factor;
    let interval = interval
        .map(|interval| Interval { low: scaled(interval.low), high: scaled(interval.high) });
    rounded(scaled(value), decimals(scaled(value), interval))
}

/// A figure with its unit: `2.04 MB/s`.
pub(crate) fn with_unit(value: f64, interval: Option<Interval>, unit: Unit) -> String {
    format!("{} {}", figure(value, interval, unit), unit.name).trim_end().to_owned()
}

/// A value in a unit, as a plain number.
pub(crate) fn scaled(value: f64, unit: Unit) -> f64 {
    value * unit.factor
}

/// A round number of an axis, without more digits than it has.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `low to high` with the digits of the figure they belong to; empty without an interval.
pub(crate) fn figure_interval(value: f64, interval: Option<Interval>, unit: Unit) -> String {
    let Some(interval) = interval else { return String::new() };
    let scaled = Interval { low: interval.low * unit.factor, high: interval.high * unit.factor };
    let decimals = decimals(value * unit.factor, Some(scaled));
    range(&rounded(scaled.low, decimals), &rounded(scaled.high, decimals))
}

/// Ratios keep a decimal below 10, so that they are not mistaken for counts; and an interval that
/// leaves out 1 as many as show it, if four digits are enough for that.
fn ratio_decimals(ratio: f64, interval: Option<Interval>) -> i32 {
    let few = decimals(ratio, interval).max(i32::from(ratio < 10.0)).max(0);
    let near = interval.and_then(nearest_to_1);
    let most = if ratio < 1.0 { 4 } else { 3 };
    (few..=most).find(|decimals| near.is_none_or(|end| !is_1(end, *decimals))).unwrap_or(few)
}

/// The end of an interval without 1 that is nearer to it.
fn nearest_to_1(interval: Interval) -> Option<f64> {
    if interval.low > 1.0 {
        Some(interval.low)
    } else {
        (interval.high < 1.0).then_some(interval.high)
    }
}

/// Whether nothing else is left of it.
fn is_1(value: f64, decimals: i32) -> bool {
    rounded(value, decimals).parse() == Ok(1.0)
}

/// From one figure to another.
fn range(low: &str, high: &str) -> String {
    say!(RANGE, low = low, high = high)
}

/// A ratio, without a sign: `1.86`.
pub(crate) fn ratio(ratio: f64, interval: Option<Interval>) -> String {
    rounded(ratio, ratio_decimals(ratio, interval))
}

/// `1.83 to 1.89` with the digits of the ratio; empty without an interval.
pub(crate) fn ratio_interval(value: f64, interval: Option<Interval>) -> String {
    let Some(ends) = interval else { return String::new() };
    let decimals = ratio_decimals(value, interval);
    let hidden = nearest_to_1(ends).filter(|end| is_1(*end, decimals));
    // What leaves out 1 does not seem to begin there.
    let end = |end: f64| match hidden == Some(end) {
        true if end > 1.0 => ">1".to_owned(),
        true => "<1".to_owned(),
        false => rounded(end, decimals),
    };
    range(&end(ends.low), &end(ends.high))
}

/// `1.86× (1.83 to 1.89)`, or `1.86×` without an interval.
pub(crate) fn ratio_whole(value: f64, interval: Option<Interval>) -> String {
    let ends = ratio_interval(value, interval);
    if ends.is_empty() {
        format!("{}×", ratio(value, interval))
    } else {
        format!("{}× ({ends})", ratio(value, interval))
    }
}

/// How many decimals all ratios of a column have: those that the one in the middle supports, and as
/// many more as tell from 1 what leaves it out; three at most.
pub(crate) fn column_decimals(ratios: impl Iterator<Item = (f64, Option<Interval>)>) -> usize {
    let mut supported = Vec::new();
    let mut needed = 1;
    for (ratio, interval) in ratios {
        supported.push(decimals(ratio, interval).clamp(1, 3));
        let near = interval.and_then(nearest_to_1);
        let tells = |places: &i32| near.is_none_or(|end| !is_1(end, *places));
        needed = needed.max((1..=3).find(tells).unwrap_or(1));
    }
    supported.sort_unstable();
    let middle = supported.get(supported.len().saturating_sub(1) / 2).copied().unwrap_or(2);
    middle.max(needed) as usize
}

/// A ratio with the decimals of its column, and its interval with the same: `1.86`, `1.83 to 1.89`;
/// the latter is empty without one.
pub(crate) fn ratio_in_column(
    value: f64,
    interval: Option<Interval>,
    decimals: usize,
) -> [String; 2] {
    let end = |end: f64| end_beside_1(end, decimals as i32, decimals as i32);
    let ends = interval.map(|ends| range(&end(ends.low), &end(ends.high)));
    [rounded(value, decimals as i32), ends.unwrap_or_default()]
}

/// [`ratio_whole`] of a score.
pub(crate) fn score_whole(score: &Score) -> String {
    ratio_whole(score.ratio, score.interval())
}

/// A share as per cent with one digit: `3 %`, `0.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 1.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A count with its thousands apart: `64,000`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A bound in per cent, rounded away from nothing: `0.1`, `1`, `98.9`.
pub(crate) fn at_most(percent: f64) -> String {
    let magnitude = if percent > 0.0 { percent.log10().floor() as i32 } else { 0 };
    let places = (1 - magnitude).max(1);
    let step = 10f64.powi(places);
    let up = ((percent * step - 1e-9).ceil() / step).min(100.0);
    let text = format!("{up:.*}", places as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time in the unit that suits it: `153 ms`, `6.1 s`, `35 s`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..10.0 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// By what factor it is too noisy: `9.0`, `1.4`, `23`.
pub(crate) fn factor(factor: f64) -> String {
    // Rounded up: what is too noisy is so by more than 1.
    if factor < 10.0 {
        format!("{:.1}", (factor * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0}", factor.ceil())
    }
}

/// `too noisy to decide here, by a factor of 9`.
pub(crate) fn too_noisy(noise: f64) -> String {
    say!(TOO_NOISY, factor = factor(noise))
}

/// An end of a range with these decimals, and as many more, up to `most`, as show that it is not 1.
fn end_beside_1(end: f64, decimals: i32, most: i32) -> String {
    let shown = (decimals..=most).find(|decimals| !is_1(end, *decimals));
    match shown {
        Some(decimals) => rounded(end, decimals),
        None if end > 1.0 => ">1".to_owned(),
        None if end < 1.0 => "<1".to_owned(),
        None => rounded(end, decimals),
    }
}

/// The lower end of an interval above 1: `1.6` of 1.86, 1.62 to 2.1, and of 1.69 to 2.1 as well,
/// for it is said to be no less than that. None where no decimal tells it from 1.
pub(crate) fn at_least(value: f64, interval: Interval) -> Option<String> {
    let down = |decimals: i32| {
        let step = 10f64.powi(-decimals);
        // What is that number already stays so.
        ((interval.low / step + 1e-9).floor() * step, decimals)
    };
    let first = ratio_decimals(value, Some(interval)).max(0);
    let (low, decimals) = (first..=3).map(down).find(|(low, decimals)| !is_1(*low, *decimals))?;
    Some(rounded(low, decimals))
}

/// `1.7` and `2.0`, the ends of a range of ratios with the digits that their distance supports.
pub(crate) fn ratio_ends(range: Interval) -> [String; 2] {
    let decimals = ratio_decimals((range.low * range.high).sqrt(), Some(range));
    [range.low, range.high].map(|end| end_beside_1(end, decimals, 3))
}

/// A size in the unit that suits it: `120 GB`, `64 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    let (unit, name) = units.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1.0, "B"));
    let scaled = bytes / unit;
    let digits = usize::from(scaled < 10.0 && unit > 1.0);
    format!("{scaled:.digits$}\u{202f}{name}")
}

/// A time in the unit that suits it: `some 40 min`.
pub(crate) fn about(seconds: f64) -> String {
    match seconds {
        ..100.0 => say!(SOME_SECONDS, time = format!("{seconds:.0}")),
        ..6000.0 => say!(SOME_MINUTES, time = format!("{:.0}", seconds / 60.0)),
        _ => say!(SOME_HOURS, time = format!("{:.0}", seconds / 3600.0)),
    }
}

/// An answer in one word.
fn word(answer: Answer) -> String {
    match answer {
        Answer::Ahead => say!(AHEAD),
        Answer::Behind => say!(BEHIND),
        Answer::Same => say!(SAME),
        Answer::Open => say!(NO_ANSWER),
    }
}

/// How many blocks vote.
pub(crate) fn blocks_vote(blocks: usize) -> String {
    match blocks {
        1 => say!(ONE_BLOCK_VOTES),
        _ => say!(BLOCKS_VOTE, blocks = blocks),
    }
}

/// What a claim comes to in full: without an answer, what would settle it.
pub(crate) fn answer(claim: &Claim) -> String {
    let word = word(claim.answer);
    if claim.answer != Answer::Open {
        return word;
    }
    if let Some(Invalid::TooFew { voting, .. }) = claim.invalid {
        return say!(WITH_REASON, word = word, reason = blocks_vote(voting));
    }
    if let Some(raced) = raced(claim) {
        return raced;
    }
    match &claim.settle {
        None => String::new(),
        Some(settle) if settle.measuring => say!(WITHIN_MODEL, word = word),
        Some(settle) => match (settle.more, settle.noise_factor) {
            (Some(more), _) => say!(MORE_BLOCKS, word = word, more = more),
            (None, Some(factor)) => {
                say!(WITH_REASON, word = word, reason = too_noisy(factor))
            }
            (None, None) => word,
        },
    }
}

/// What became of a configuration of which there are a race's trials alone: no word is said of it.
pub(crate) fn raced(claim: &Claim) -> Option<String> {
    let Some(Invalid::Raced { blocks, dropped }) = claim.invalid else { return None };
    let blocks = if blocks == 1 { say!(ONE_BLOCK) } else { say!(BLOCKS, count = blocks) };
    Some(match dropped {
        true => say!(DROPPED_AFTER, blocks = blocks),
        false => say!(RACED_FOR, blocks = blocks),
    })
}

/// A mark after a ratio where there is no real difference: `=` same, `~` within the model's error,
/// `?` noise, `·` not asked, of a race; else a space as wide as a digit, which keeps the numbers of
/// a column aligned.
pub(crate) fn mark(claim: &Claim) -> &'static str {
    match claim.answer {
        Answer::Open if raced(claim).is_some() => "·",
        Answer::Open if claim.settle.is_some_and(|settle| settle.measuring) => "~",
        Answer::Same => "=",
        Answer::Open => "?",
        Answer::Ahead | Answer::Behind => "\u{2007}",
    }
}

/// Name of a kind of work; all of it for none.
pub(crate) fn kind(group: Option<Group>) -> String {
    match group {
        Some(Group::Sequential) => say!(SEQUENTIAL),
        Some(Group::Random) => say!(RANDOM),
        Some(Group::Mixed) => say!(MIXED),
        Some(Group::Files) => say!(FILES),
        Some(Group::Safety) => say!(SAFETY_WORK),
        None => say!(ALL_WORK),
    }
}

/// A metric's name for people: `durable throughput` for `durable_throughput_bytes_per_second`.
pub(crate) fn spoken(metric: &str) -> String {
    let endings = ["_bytes_per_second", "_seconds"];
    let bare = endings.iter().find_map(|ending| metric.strip_suffix(ending)).unwrap_or(metric);
    match bare {
        "throughput" => say!(THROUGHPUT),
        "durable_throughput" => say!(DURABLE_THROUGHPUT),
        "latency_mean" => say!(LATENCY_MEAN),
        "io_per_second" => say!(IO_PER_SECOND),
        other => other.replace('_', " "),
    }
}

/// A workload's name for people, in their language: requests as sizes (`random read 16 KiB` for
/// `random read 16384`),
/// and rows that are known by their own names without their suite's.
pub(crate) fn workload(name: &str) -> String {
    let name = name.strip_prefix("crystal: ").unwrap_or(name);
    let size = name.rsplit_once(' ').and_then(|(what, bytes)| Some((what, bytes.parse().ok()?)));
    let is_request =
        |what: &str| ["read", "write", "start", "end"].iter().any(|end| what.ends_with(end));
    match size {
        Some((what, bytes)) if bytes > 0 && is_request(what) => {
            names::workload(format!("{what} {}", request(bytes)))
        }
        _ => names::workload(spaced_sizes(name)),
    }
}

/// `16 KiB`, `512 B`: the largest unit of which it is a whole number.
fn request(bytes: u64) -> String {
    let units = [(1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)).unwrap_or((1, "B"));
    format!("{}\u{202f}{name}", bytes / unit)
}

/// Puts a narrow no-break space between the number and the unit of sizes such as `64KiB`, anywhere
/// in a text.
pub(crate) fn spaced_sizes(text: &str) -> String {
    let spaced = |word: &str| {
        let digits = word.len()
            - word.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let (number, unit) = word.split_at(digits);
        let known = ["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB"].contains(&unit);
        if digits > 0 && known { format!("{number}\u{202f}{unit}") } else { word.to_string() }
    };
    text.split(' ').map(spaced).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { low, high })
    }

    #[test]
    fn the_interval_decides_the_digits() {
        for (value, interval, text) in [
            (1.8642, between(1.83, 1.89), "1.86"),
            (1.8642, between(1.852, 1.876), "1.864"),
            (1.8642, between(1.5, 2.3), "1.9"),
            (1.8642, between(0.2, 9.0), "1.9"),
            (1.8642, between(1.8642, 1.8642), "1.864"),
            (0.95, between(0.95, 0.95), "0.950"),
            (12.345, between(12.345, 12.345), "12.35"),
            (1.8642, None, "1.86"),
            (0.043_21, None, "0.0432"),
            (123.4, between(90.0, 160.0), "123"),
            // The end nearer to 1 is seen not to be 1.
            (1.033, between(1.004, 1.062), "1.033"),
            (0.983, between(0.95, 0.9996), "0.9830"),
        ] {
            assert_eq!(ratio(value, interval), text, "{value} {interval:?}");
        }
    }

    #[test]
    fn an_interval_that_leaves_out_1_does_not_seem_to_hold_it() {
        for (value, interval, text) in [
            (1.246, between(1.0002, 1.553), "1.2× (>1 to 1.6)"),
            (0.95, between(0.90, 0.99999), "0.95× (0.90 to <1)"),
            (1.033, between(1.004, 1.062), "1.033× (1.004 to 1.062)"),
            (1.2, between(0.9999, 1.5), "1.2× (1.0 to 1.5)"),
        ] {
            assert_eq!(ratio_whole(value, interval), text);
        }
    }

    /// "1.6 times or more" is said of 1.69 too, and of no less than 1.6.
    #[test]
    fn what_is_held_to_be_at_least_is_rounded_down_and_what_is_too_noisy_up() {
        for (low, high, text) in [
            (1.69, 2.4, Some("1.6")),
            (1.6, 2.4, Some("1.6")),
            (1.329, 1.37, Some("1.32")),
            (1.0049, 1.063, Some("1.004")),
            (1.0002, 1.553, None),
        ] {
            let interval = Interval { low, high };
            assert_eq!(at_least((low * high).sqrt(), interval).as_deref(), text, "{interval:?}");
        }
        assert_eq!([1.04, 9.0, 10.2].map(factor), ["1.1", "9.0", "11"]);
    }

    #[test]
    fn figures_are_scaled_and_rounded_together_with_their_interval() {
        let unit = unit("throughput_bytes_per_second");
        let interval = between(496_897_000.0, 520_897_000.0);
        assert_eq!(figure(508_897_000.0, interval, unit), "509");
        assert_eq!(figure_interval(508_897_000.0, interval, unit), "497 to 521");
        assert_eq!(figure(508_897_000.0, between(450e6, 560e6), unit), "510");
        assert_eq!(figure(51_234.0, None, unit), "0.0512");
        assert_eq!(figure(0.0, None, unit), "0");
    }

    #[test]
    fn latencies_are_in_microseconds_where_all_of_the_run_are_short() {
        let largest = |mean, p99| LatencyRange { mean_max_seconds: mean, p99_max_seconds: p99 };
        for (mean, p99, name) in [
            (90e-6, 210e-6, "us"),
            (999e-6, 9.9e-3, "us"),
            (1e-3, 2e-3, "ms"),
            (90e-6, 10e-3, "ms"),
            (13e-3, 21e-3, "ms"),
        ] {
            for metric in ["latency_mean_seconds", "read_latency_p99_seconds"] {
                assert_eq!(unit_up_to(largest(mean, p99), metric).name, name, "{mean} {p99}");
            }
            assert_eq!(unit_up_to(largest(mean, p99), "elapsed_seconds").name, "ms");
        }
        let short = unit_up_to(largest(90e-6, 210e-6), "latency_mean_seconds");
        assert_eq!(with_unit(0.000_083_21, None, short), "83.2 us");
    }

    #[test]
    fn units_follow_from_the_metrics_name() {
        for (metric, name) in [
            ("read_throughput_bytes_per_second", "MB/s"),
            ("io_per_second", "IO/s"),
            ("latency_p99_seconds", "ms"),
            ("unheard_of", ""),
        ] {
            assert_eq!(unit(metric).name, name);
        }
    }

    #[test]
    fn workloads_are_called_by_sizes_and_by_their_own_names() {
        for (name, shown) in [
            ("random read 16384", "random read 16\u{202f}KiB"),
            ("sequential write at end 512", "sequential write at end 512\u{202f}B"),
            ("sequential read 33024", "sequential read 33024\u{202f}B"),
            ("mixed 50:50", "mixed 50:50"),
            ("crystal: SEQ1M Q8T1 read", "SEQ1M Q8T1 read"),
            ("make in 2026", "make in 2026"),
        ] {
            assert_eq!(workload(name), shown);
        }
    }

    #[test]
    fn sizes_get_a_space_and_other_words_do_not() {
        assert_eq!(spaced_sizes("raid0 64KiB"), "raid0 64\u{202f}KiB");
        assert_eq!(spaced_sizes("single 6y200p0 KiB 50:50"), "single 6y200p0 KiB 50:50");
    }
}
