//! How long requests took: a histogram that is always on, with mean and maximum kept exactly beside
//! it.

use std::fmt;

use hdrhistogram::Histogram;

/// Three significant digits: a figure read from the histogram is at most 0.1 % above the true one.
const SIGNIFICANT_DIGITS: u8 = 3;
/// An hour in nanoseconds; longer times count as an hour in the percentiles, and in full in mean
/// and maximum.
const LONGEST_NANOSECONDS: u64 = 3_600_000_000_000;

/// Latencies of one kind of request, in nanoseconds.
#[derive(Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum_nanoseconds: u64,
    max_nanoseconds: u64,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Latency({} requests, mean {} s, longest {} s)",
            self.count(),
            self.mean_seconds(),
            self.max_seconds()
        )
    }
}

impl Latency {
    /// An empty one.
    #[must_use]
    pub fn new() -> Latency {
        Latency::up_to(LONGEST_NANOSECONDS)
    }

    /// One for requests that do not occur: empty, and small.
    #[must_use]
    pub fn unused() -> Latency {
        Latency::up_to(2)
    }

    fn up_to(longest: u64) -> Latency {
        let histogram = Histogram::new_with_bounds(1, longest, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that fit");
        Latency { histogram, sum_nanoseconds: 0, max_nanoseconds: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds);
        self.sum_nanoseconds += nanoseconds;
        self.max_nanoseconds = self.max_nanoseconds.max(nanoseconds);
    }

    pub(crate) fn record_duration(&mut self, time: std::time::Duration) {
        self.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
        self.sum_nanoseconds = 0;
        self.max_nanoseconds = 0;
    }

    /// How many requests were timed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Mean in seconds, exact; 0 when nothing was timed.
    #[must_use]
    pub fn mean_seconds(&self) -> f64 {
        if self.count() == 0 {
            0.0
        } else {
            self.sum_nanoseconds as f64 / self.count() as f64 / 1e9
        }
    }

    /// Longest in seconds, exact; 0 when nothing was timed.
    #[must_use]
    pub fn max_seconds(&self) -> f64 {
        self.max_nanoseconds as f64 / 1e9
    }

    /// The time in seconds within which a share `quantile` (0 to 1) of the requests ended, at most
    /// 0.1 % too high.
    #[must_use]
    pub fn quantile_seconds(&self, quantile: f64) -> f64 {
        self.histogram.value_at_quantile(quantile).min(self.max_nanoseconds) as f64 / 1e9
    }

    /// Whether at least 100 requests lie beyond this quantile; with fewer it moves by chance and
    /// should be shown as such.
    #[must_use]
    pub fn supports(&self, quantile: f64) -> bool {
        // The tiny allowance keeps 10 000 requests enough for 0.99, which binary fractions miss by
        // a hair.
        self.count() as f64 * (1.0 - quantile) >= 100.0 - 1e-6
    }

    /// The counts behind the figures, in nanoseconds.
    #[must_use]
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Both together, as if they had been recorded in one.
    #[must_use]
    pub fn merged(&self, other: &Latency) -> Latency {
        let (longer, shorter) = if self.histogram.high() >= other.histogram.high() {
            (self, other)
        } else {
            (other, self)
        };
        let mut both = longer.clone();
        both.histogram
            .add(&shorter.histogram)
            .expect("the longer one has room for the shorter one's values");
        both.sum_nanoseconds += shorter.sum_nanoseconds;
        both.max_nanoseconds = both.max_nanoseconds.max(shorter.max_nanoseconds);
        both
    }
}
