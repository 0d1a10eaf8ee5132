//! Medians, aims and the Markdown they are printed as.

use std::fmt::Write;

/// Several rounds of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    /// The median of `rounds` with the smallest and the largest.
    ///
    /// # Panics
    /// Without any round.
    pub(crate) fn of(rounds: &[f64]) -> Spread {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Spread { median, low: sorted[0], high: sorted[sorted.len() - 1] }
    }
}

/// The geometric mean of ratios with its interval of 95 %, Student's t over the logarithms; of one
/// ratio nothing is known but itself.
fn mean_ratio(ratios: &[f64]) -> Spread {
    let count = ratios.len() as f64;
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count;
    let squares: f64 = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2)).sum();
    let freedom = ratios.len().saturating_sub(1);
    let half = match freedom {
        0 => 0.0,
        _ => {
            let t = STUDENTS_T[freedom.min(STUDENTS_T.len()) - 1];
            t * (squares / freedom as f64 / count).sqrt()
        }
    };
    Spread { median: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
}

/// What was aimed at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aim {
    AtLeast(f64),
    AtMost(f64),
    /// The same, give or take this share.
    Within(f64),
    /// As at least, of the geometric mean over rounds that are seeds: what its interval does not
    /// exclude is not told apart from it.
    NotBelow(f64),
}

/// The points that Student's t exceeds with a probability of 2.5 %, from one degree of freedom on.
const STUDENTS_T: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// One line of a table.
pub(crate) struct Row {
    /// What was done, for example `random read 4 KiB, depth 1`.
    pub(crate) load: String,
    /// What was measured, with its unit.
    pub(crate) measure: &'static str,
    /// Our rounds.
    pub(crate) ours: Vec<f64>,
    /// The other side's rounds, in the same order; without them the aim is at our own number.
    pub(crate) other: Option<Vec<f64>>,
    /// What the ratio ours / other, or our number, should be.
    pub(crate) aim: Aim,
}

/// What is known about why an aim was missed: the beginning of the load, the measure, the reason.
///
/// Kept by hand, printed below the table for missed aims only, and removed when the aim is met.
const HELD_BACK: &[(&str, &str, &str)] = &[
    (
        "random write 4 KiB",
        "million requests/s",
        "every write is modelled twice, into the drive's cache and out of it again: about 2900 of \
        5600 instructions a request are the drives' model, in a profile without a peak",
    ),
    (
        "random read 4 KiB, depth 32: raid0",
        "io/s",
        "over `null:` the array takes about 20 ns a request, over memory about 100: a profile \
        shows the copying itself taking longer (about 70 % of the time with the array and \
        without), as if the cache misses of two copies overlapped less when more code stands \
        between them",
    ),
    ("random read 4 KiB, depth 1: all hits in memory", "io/s", HIT),
    ("random read 4 KiB, depth 32: all hits in memory", "io/s", HIT),
    ("nbdkit, memory: random read 4 KiB, one connection", "io/s", BUSY_CLIENT),
    ("nbdkit, null: random read 4 KiB, one connection", "io/s", BUSY_CLIENT),
    ("qemu-storage-daemon, null: random read 4 KiB, one connection", "io/s", BUSY_CLIENT),
    ("file: random read 4 KiB, depth 1", "io/s", WAKE_UPS),
    ("file: random write 4 KiB, depth 1", "io/s", WAKE_UPS),
    ("file of nothing: random read 4 KiB, depth 1", "io/s", WAKE_UPS),
    ("file of nothing: random write 4 KiB, depth 1", "io/s", WAKE_UPS),
    (
        "raid6 over 6 members, random write",
        "io/s",
        "of 3.8 µs a request two thirds are copies from and to members, in a profile; 1.3 µs are \
        the array's and the members' own work for three reads and three writes",
    ),
    (
        "`raidloom array rescue`, all superblocks lost",
        "exponent of processor time in members",
        "what there is to read grows with the members, and each is held against all others to find \
        which follows which",
    ),
    ("raid1 over 2, rebuilding, during", "MB/s rebuilt", YIELDS),
    ("raid10 over 4, rebuilding, during", "MB/s rebuilt", YIELDS),
    ("raid5 over 4, rebuilding, during", "MB/s rebuilt", YIELDS),
    ("raid6 over 5, rebuilding, during", "MB/s rebuilt", YIELDS),
    ("raid0 over 4, whole: random write", "modelled io/s", SHORT),
    ("raid1 over 2, degraded: sequential write", "modelled io/s", SHORT),
    ("raid10 over 4, degraded: sequential write", "modelled io/s", SHORT),
    ("raid10 over 4, degraded: random read", "modelled io/s", SHORT),
    ("raid5 over 4, whole: random read", "modelled io/s", SHORT),
    ("raid5 over 4, whole: synchronous write", "modelled io/s", SHORT),
    ("raid5 over 4, degraded: random read", "modelled io/s", SHORT),
    ("raid6 over 5, degraded: synchronous write", "modelled io/s", SHORT),
    ("raid1 over 2, degraded: random", "modelled io/s", SHORT),
    ("raid10 over 4, degraded: sequential read", "modelled io/s", SHORT),
    ("raid5 over 4, degraded: sequential read", "modelled io/s", SHORT),
    ("raid6 over 5, whole: sequential read", "modelled io/s", SHORT),
    ("raid5 over 4, whole: whole stripes 768 KiB, depth 4, md tuned", "modelled io/s", SHORT),
    ("raid6 over 5, degraded: whole stripes", "modelled io/s", SHORT),
    (
        "raid10 over 4, whole: sequential read",
        "modelled io/s",
        "where arms are decides which copy is read, and comes out by chance: of ten times as many \
        requests ours does 0.983 times as many in a second with seed 1, and 1.011 with seed 2",
    ),
    ("raid5 over 4, whole: random write 4 KiB, depth 16, md tuned", "modelled io/s", STRIPES),
    ("raid6 over 5, degraded: random write", "modelled io/s", STRIPES),
    (
        "raid6 over 5, rebuilding: random write 4 KiB, depth 16, md tuned",
        "modelled io/s",
        "it is the last of the loads, and by then md, which rebuilds faster at their cost, has more \
        of what is written to whole; as the only load ours does 1.14, 1.15 and 1.20 times as many \
        (seeds 1 to 3)",
    ),
    ("on `ram:`", "% of cells", SHARED_PROCESSOR),
    ("SEQ1M", "MB/s", VIRTUAL_DISK),
    ("RND4K", "MB/s", VIRTUAL_DISK),
    ("nbdkit, null: random read 128 KiB", "io/s", SOCKET_COPY),
    ("nbdkit, memory: random read 128 KiB", "io/s", SOCKET_COPY),
    ("nbdkit, memory: random read 128 KiB", "server's processor µs/io", SOCKET_COPY),
];

/// Of small requests over one connection.
const BUSY_CLIENT: &str = "fio is busy all of the time, with 4 to 5 µs of its own for each request, \
    while the server is idle a third of it (the rate times the processor time of the row below); \
    the other server needs nearly all of a processor for the same";

/// Of one request at a time through FUSE.
const WAKE_UPS: &str = "most of a request's time is spent waking the server and then the client, \
    which the kernel does for both servers alike: of 45 µs ours works for 18";

/// Of requests of 128 KiB over a Unix socket.
const SOCKET_COPY: &str = "copying is nearly all there is to do, and nbdkit copies as often: a \
    profile shows 36 to 60 % of the server's time in the kernel's copy into the socket; \
    with one connection, when server and client run on different processors, a request takes the \
    server a third more time than with four";

/// Of equal configurations on memory.
const SHARED_PROCESSOR: &str = "memory answers as fast as a processor does, and the processors are \
    shared with other machines: on 2026-11-23, with nothing else running here, the two \
    configurations of a block differed by 7 to 17 % (standard deviation of 8 pairs of tests of \
    1 s, three runs), and within 2 % takes about 1.5 %";

/// Of rebuilding arrays.
const YIELDS: &str = "both have the same limits; ours goes down to the lower one whenever there is \
    other work, which it serves faster for that (the rows above), and md keeps on";

/// Of rows that ten times as many requests tell nothing apart in.
const SHORT: &str = "the job is short, and when its last request ends is chance: of ten times as \
    many requests ours does 0.998 to 1.003 times as many in a second as md, in each row of this \
    kind (seed 1, in some also 2)";

/// Of small writes at random places.
const STRIPES: &str = "md finds old data and parity in its cache of stripes where it was not long \
    before: 4096 of them are a twentieth of what is written to here, and 256 one part in 300; ours \
    keeps none. Of ten times as many requests (seeds 1 and 2) ours does 0.964 and 0.973 times as \
    many of a whole RAID 5, and 0.996 of a degraded RAID 6";

/// Of crystal's rows.
const VIRTUAL_DISK: &str = "rounds of one side alone differ by more than the 5 % that are asked \
    about; a profile of RND4K Q1T1 read has 80 % of the time in the \
    kernel's handing over to the virtual disk and the task switch after it, and 5 % in raidloom's \
    own code (fio: 6 %, and 4 % in asking for the time), checking \
    what was read 1 %";

/// Of hits in memory.
const HIT: &str = "over 4 MiB, which the processor's own caches hold, a hit costs about 105 ns \
    beside the bare memory's 220: a profile shows two locks, the index, \
    the policy and the hold on the block, none above 5 % of the time; over 64 MiB the copying \
    takes longer besides, as with raid0";

impl Row {
    fn judged(&self) -> Spread {
        let rounds = match &self.other {
            Some(other) => self.ours.iter().zip(other).map(|(ours, other)| ours / other).collect(),
            None => self.ours.clone(),
        };
        match self.aim {
            Aim::NotBelow(_) => mean_ratio(&rounds),
            Aim::AtLeast(_) | Aim::AtMost(_) | Aim::Within(_) => Spread::of(&rounds),
        }
    }

    fn met(&self) -> bool {
        let Spread { median, .. } = self.judged();
        match self.aim {
            Aim::AtLeast(limit) | Aim::NotBelow(limit) => median >= limit,
            Aim::AtMost(limit) => median <= limit,
            Aim::Within(share) => (median - 1.0).abs() <= share,
        }
    }

    fn aim_text(&self) -> String {
        match self.aim {
            Aim::AtLeast(limit) | Aim::NotBelow(limit) => format!("at least {}", number(limit)),
            Aim::AtMost(limit) => format!("at most {}", number(limit)),
            Aim::Within(share) => format!("1, within {:.0} %", 100.0 * share),
        }
    }

    /// Whether at least one round got there.
    fn reached(&self) -> bool {
        let Spread { low, high, .. } = self.judged();
        match self.aim {
            Aim::AtLeast(limit) | Aim::NotBelow(limit) => high >= limit,
            Aim::AtMost(limit) => low <= limit,
            Aim::Within(share) => low <= 1.0 + share && high >= 1.0 - share,
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.met(), self.reached()) {
            (true, _) => "met",
            (false, true) if matches!(self.aim, Aim::NotBelow(_)) => "not told apart",
            (false, true) => "missed, not in every round",
            (false, false) => "missed",
        }
    }

    fn held_back(&self) -> &'static str {
        let known = HELD_BACK
            .iter()
            .find(|(load, measure, _)| self.load.starts_with(load) && self.measure == *measure);
        match known {
            Some((_, _, why)) => why,
            None if self.reached() => {
                "the rounds lie on both sides of the aim; measure again while nothing else runs"
            }
            None => "not looked into yet",
        }
    }
}

/// The slope of log(cost) over log(size), of pairs of size and cost.
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let points: Vec<(f64, f64)> =
        points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    both / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// A heading, how it was measured, and a table.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// How it was measured, in a paragraph or two.
    pub(crate) how: String,
    /// How often and how long, in words; none for the rounds and seconds of the other sections.
    pub(crate) measured: Option<String>,
    /// What the two sides are called.
    pub(crate) sides: (&'static str, &'static str),
    pub(crate) rows: Vec<Row>,
}

impl Section {
    /// The section as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let compared = self.rows.iter().any(|row| row.other.is_some());
        let (ours, other) = self.sides;
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.how);
        text += &if compared {
            format!(
                "| load | measure | {ours} | {other} | ratio | aim | \
                |\n|---|---|---|---|---|---|---|\n"
            )
        } else {
            format!("| load | measure | {ours} | aim | |\n|---|---|---|---|---|\n")
        };
        for row in &self.rows {
            let mut cells =
                vec![row.load.clone(), row.measure.to_owned(), spread(Spread::of(&row.ours))];
            if compared {
                cells.push(
                    row.other.as_ref().map_or("-".to_owned(), |other| spread(Spread::of(other))),
                );
                cells.push(if row.other.is_some() { spread(row.judged()) } else { "-".to_owned() });
            }
            cells.extend([row.aim_text(), row.verdict().to_owned()]);
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        // What is not told apart from its aim is held back by nothing that is known.
        let is_missed = |row: &&Row| match row.aim {
            Aim::NotBelow(_) => !row.reached(),
            Aim::AtLeast(_) | Aim::AtMost(_) | Aim::Within(_) => !row.met(),
        };
        let missed: Vec<&Row> = self.rows.iter().filter(is_missed).collect();
        if !missed.is_empty() {
            text += "\nWhat holds the missed ones back:\n\n";
            for row in missed {
                let _ = writeln!(text, "* {}, {}: {}.", row.load, row.measure, row.held_back());
            }
        }
        text
    }
}

fn spread(spread: Spread) -> String {
    format!("{} ({} – {})", number(spread.median), number(spread.low), number(spread.high))
}

/// Three significant digits, thousands set apart.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    // From the third digit on, zeroes in front of the point and nothing behind it.
    let step = 10_f64.powi(magnitude - 2);
    let rounded = (value / step).round() * step;
    let digits = usize::try_from(2 - magnitude).unwrap_or(0);
    group(&format!("{rounded:.digits$}"))
}

fn group(text: &str) -> String {
    let (whole, rest) =
        text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && whole.len() > 4 && digit != '-' {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    if let Some(rest) = rest {
        grouped.push('.');
        grouped.push_str(rest);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], other: Option<&[f64]>, aim: Aim) -> Row {
        Row {
            load: "load".to_owned(),
            measure: "io/s",
            ours: ours.to_vec(),
            other: other.map(<[f64]>::to_vec),
            aim,
        }
    }

    #[test]
    fn the_median_is_shown_with_the_rounds_around_it() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Spread { median: 2.5, low: 1.0, high: 4.0 });
    }

    #[test]
    fn a_ratio_is_that_of_the_rounds_and_not_of_the_medians() {
        let row = row(&[10.0, 30.0, 20.0], Some(&[10.0, 10.0, 40.0]), Aim::AtLeast(1.0));
        assert_eq!(row.judged(), Spread { median: 1.0, low: 0.5, high: 3.0 });
        assert!(row.met());
    }

    /// Student's t with 4 degrees of freedom: logarithms 0, ±a, ±2a have a standard error of a/√2.
    #[test]
    fn what_the_interval_over_the_seeds_does_not_exclude_is_not_told_apart() {
        let ratios = |mean: f64, step: f64| -> Vec<f64> {
            [-2.0, -1.0, 0.0, 1.0, 2.0].map(|times| mean * f64::exp(times * step)).into()
        };
        let of = |mean, step| {
            let ours = ratios(mean, step);
            row(&ours, Some(&[1.0; 5]), Aim::NotBelow(1.0))
        };
        let Spread { median, low, high } = of(0.99, 0.02).judged();
        assert!((median - 0.99).abs() < 1e-12);
        let half = 2.776 * 0.02 / f64::sqrt(2.0);
        assert!((low - 0.99 * f64::exp(-half)).abs() < 1e-9, "{low}");
        assert!((high - 0.99 * f64::exp(half)).abs() < 1e-9, "{high}");
        assert_eq!(of(0.99, 0.02).verdict(), "not told apart");
        assert_eq!(of(0.99, 0.0001).verdict(), "missed");
        assert_eq!(of(1.01, 0.02).verdict(), "met");
        let one = row(&[0.9], Some(&[1.0]), Aim::NotBelow(1.0));
        assert_eq!((one.judged().low, one.verdict()), (one.judged().high, "missed"));
    }

    #[test]
    fn an_aim_just_missed_is_missed() {
        assert!(!row(&[0.999_999], Some(&[1.0]), Aim::AtLeast(1.0)).met());
        assert!(!row(&[25.000_01], None, Aim::AtMost(25.0)).met());
        assert!(row(&[25.0], None, Aim::AtMost(25.0)).met());
        assert!(
            row(&[0.96, 1.2, 0.97], None, Aim::Within(0.05)).met()
                && !row(&[1.06], None, Aim::Within(0.05)).met()
        );
        assert_eq!(
            row(&[0.9, 0.94, 1.0], None, Aim::Within(0.05)).verdict(),
            "missed, not in every round"
        );
        assert_eq!(row(&[0.9], None, Aim::Within(0.05)).aim_text(), "1, within 5 %");
        assert_eq!(
            row(&[0.9, 0.95, 1.2], None, Aim::AtLeast(1.0)).verdict(),
            "missed, not in every round"
        );
        assert_eq!(row(&[0.9, 0.95, 0.99], None, Aim::AtLeast(1.0)).verdict(), "missed");
    }

    #[test]
    fn a_missed_aim_is_explained_or_said_to_be_unexplained() {
        let section = Section {
            title: "T",
            how: "How.".to_owned(),
            measured: None,
            sides: ("raidloom", "fio"),
            rows: vec![row(&[1.0], Some(&[2.0]), Aim::AtLeast(1.0))],
        };
        let text = section.markdown();
        assert!(
            text.contains(
                "| load | io/s | 1.00 (1.00 – 1.00) | 2.00 (2.00 – 2.00) | 0.500 (0.500 \
                – 0.500) | at least 1.00 | missed |"
            ),
            "{text}"
        );
        assert!(text.contains("* load, io/s: not looked into yet."), "{text}");
    }

    #[test]
    fn numbers_have_three_digits_and_thousands_set_apart() {
        for (value, text) in [
            (1.0, "1.00"),
            (0.985_4, "0.985"),
            (12.345, "12.3"),
            (123.6, "124"),
            (9_999.0, "10 000"),
            (1_234.0, "1230"),
            (123_456.0, "123 000"),
            (2_345_678.0, "2 350 000"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn what_grows_with_the_square_has_an_exponent_of_two() {
        let costs = [1e3, 1e4, 1e5].map(|trials: f64| (trials, 1e-6 * trials.powi(2)));
        assert!((exponent(&costs) - 2.0).abs() < 1e-9);
    }
}
