//! Where a byte lies on the platters, how fast it passes the head, and how long the arm takes to
//! get there.
//!
//! The disk is one long spiral from the outer edge (address 0) to the inner one. Linear density and
//! track pitch are constant, so the media rate is proportional to the radius, and the square of the
//! rate falls linearly with the address:
//!
//! ```text
//!   rate
//!    R0 |*--___                       R(a)^2 = R0^2 - (R0^2 - R1^2) * a / capacity
//!       |      ---___
//!    R1 |            ---*             revolutions from the outer edge to a:
//!       +---------------- address         integral of da / R(a) / period  =  2 * a / (R0 + R(a)) / period
//! ```
//!
//! The second line is the spiral's angle: streaming follows it and never loses a revolution. One
//! revolution is one track, so the same number, as a share of the whole, is also the distance the
//! arm moves. With measured knots every interval between two of them follows the same law.
//!
//! Flash does not turn: a "revolution" is then a millisecond of its rate, nothing waits for an
//! angle, and an access that does not follow the one before costs `seek_base`.

use super::parameters::Parameters;

const NANOSECONDS_PER_MILLISECOND: f64 = 1e6;

/// Added to a number, it leaves no bits for what is behind the point. 1.5 * 2^52.
const NO_FRACTION: f64 = 6_755_399_441_055_744.0;

/// The integer part, rounded towards minus infinity, of a number below 2^51: without a branch, and
/// without a call into the maths library.
fn floor(value: f64) -> f64 {
    let nearest = (value + NO_FRACTION) - NO_FRACTION;
    if nearest > value { nearest - 1.0 } else { nearest }
}

/// The next whole number of nanoseconds, likewise; none for less than nothing.
pub(super) fn whole_nanoseconds(value: f64) -> u64 {
    // As a signed number, which is one instruction; it has room for 292 years.
    let whole = value as i64;
    let whole = if (whole as f64) < value { whole + 1 } else { whole };
    whole.max(0) as u64
}

/// A time as a number with a fraction; likewise.
pub(super) fn nanoseconds(time: u64) -> f64 {
    time as i64 as f64
}

/// The part after the point, in 0..1.
pub(super) fn fraction(value: f64) -> f64 {
    value - floor(value)
}

/// A place where the rate is known, and the law from there to the next.
#[derive(Clone, Debug)]
struct Knot {
    address: f64,
    rate: f64,
    rate_squared: f64,
    /// Change of the squared rate a byte.
    slope: f64,
    revolutions: f64,
}

/// The seek curve in nanoseconds over the distance as a share of the stroke.
#[derive(Clone, Debug)]
struct Seek {
    base: f64,
    root: f64,
    linear_from: f64,
    linear_base: f64,
    linear_slope: f64,
}

/// A disk's shape: rates, angles and seek times. Addresses are in bytes, times in nanoseconds of a
/// spindle at its nominal speed.
#[derive(Clone, Debug)]
pub struct Geometry {
    knots: Vec<Knot>,
    capacity: f64,
    period: f64,
    total_revolutions: f64,
    per_total: f64,
    seek: Seek,
    rotates: bool,
}

impl Geometry {
    /// The shape that the parameters describe.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let disk = &parameters.disk;
        let capacity = disk.capacity.value as f64;
        let places: Vec<(f64, f64)> = match &disk.rate_knots {
            Some(knots) => knots.value.iter().map(|&[at, rate]| (at * capacity, rate)).collect(),
            None => vec![(0.0, disk.rate_at_start.value), (capacity, disk.rate_at_end.value)],
        };
        let turn = if parameters.rotates() { disk.revolution.value } else { 1.0 };
        let period = turn * NANOSECONDS_PER_MILLISECOND;
        let period_seconds = period / 1e9;
        let mut knots = Vec::with_capacity(places.len());
        let mut revolutions = 0.0;
        for pair in places.windows(2) {
            let ((address, rate), (next_address, next_rate)) = (pair[0], pair[1]);
            let slope = (next_rate * next_rate - rate * rate) / (next_address - address);
            knots.push(Knot { address, rate, rate_squared: rate * rate, slope, revolutions });
            revolutions += 2.0 * (next_address - address) / (rate + next_rate) / period_seconds;
        }
        let (base, root) = (
            disk.seek_base.value * NANOSECONDS_PER_MILLISECOND,
            disk.seek_root.value * NANOSECONDS_PER_MILLISECOND,
        );
        let linear_from = disk.seek_linear_from.as_ref().map_or(f64::INFINITY, |from| from.value);
        let linear_slope =
            if linear_from.is_finite() { root / (2.0 * linear_from.sqrt()) } else { 0.0 };
        let linear_base = if linear_from.is_finite() {
            base + root * linear_from.sqrt() - linear_slope * linear_from
        } else {
            0.0
        };
        let seek = Seek { base, root, linear_from, linear_base, linear_slope };
        Geometry {
            knots,
            capacity,
            period,
            total_revolutions: revolutions,
            per_total: 1.0 / revolutions,
            seek,
            rotates: parameters.rotates(),
        }
    }

    /// Size of the disk in bytes.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// Nominal spindle period in nanoseconds.
    #[must_use]
    pub fn period(&self) -> f64 {
        self.period
    }

    /// Revolutions from the first byte to the last, which is also the number of tracks.
    #[must_use]
    pub fn total_revolutions(&self) -> f64 {
        self.total_revolutions
    }

    fn knot(&self, address: f64) -> &Knot {
        let mut index = self.knots.len() - 1;
        while index > 0 && self.knots[index].address > address {
            index -= 1;
        }
        &self.knots[index]
    }

    /// Media rate at an address, in bytes a second.
    #[must_use]
    pub fn rate(&self, address: u64) -> f64 {
        let address = address as f64;
        let knot = self.knot(address);
        (knot.rate_squared + knot.slope * (address - knot.address)).sqrt()
    }

    /// Position of an address along the spiral, in revolutions from the outer edge. Its fraction is
    /// the angle.
    #[must_use]
    pub fn revolutions(&self, address: u64) -> f64 {
        let address = address as f64;
        let knot = self.knot(address);
        let beyond = address - knot.address;
        let rate = (knot.rate_squared + knot.slope * beyond).sqrt();
        knot.revolutions + 2e9 * beyond / ((knot.rate + rate) * self.period)
    }

    /// The address under the head at a position along the spiral: the inverse of
    /// [`Geometry::revolutions`].
    #[must_use]
    pub fn address(&self, revolutions: f64) -> u64 {
        let mut index = self.knots.len() - 1;
        while index > 0 && self.knots[index].revolutions > revolutions {
            index -= 1;
        }
        let knot = &self.knots[index];
        let seconds = (revolutions - knot.revolutions) * self.period / 1e9;
        let rate = knot.rate + knot.slope * seconds / 2.0;
        (knot.address + seconds * (knot.rate + rate) / 2.0).clamp(0.0, self.capacity) as u64
    }

    /// Whether the media turns.
    #[must_use]
    pub fn rotates(&self) -> bool {
        self.rotates
    }

    /// Time the arm takes between two positions, in nanoseconds; nothing on the same track.
    #[must_use]
    #[inline]
    pub fn seek(&self, from: f64, to: f64) -> f64 {
        let tracks = (from - to).abs();
        if from == to || (tracks < 1.0 && self.rotates) {
            return 0.0;
        }
        self.seek_over(tracks * self.per_total)
    }

    /// Time the arm takes over a share of the stroke, in nanoseconds: `base + root * sqrt(share)`,
    /// and beyond the place where the arm has reached its top speed a straight line of the same
    /// slope.
    #[must_use]
    pub fn seek_over(&self, share: f64) -> f64 {
        if share > self.seek.linear_from {
            return self.seek.linear_base + self.seek.linear_slope * share;
        }
        self.seek.base + self.seek.root * share.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::super::tests::{parameters, with_knots};
    use super::*;

    #[test]
    fn rounding_is_that_of_the_maths_library() {
        let mut random = Random::new(4);
        for bits in 0..50 {
            for _ in 0..2000 {
                let value = (random.fraction() - 0.5) * (1u64 << bits) as f64;
                for value in [value, value.round(), value.round() + 0.5] {
                    assert_eq!(floor(value), value.floor(), "{value}");
                    assert_eq!(fraction(value), value - value.floor(), "{value}");
                    assert_eq!(whole_nanoseconds(value), value.ceil().max(0.0) as u64, "{value}");
                }
            }
        }
    }

    #[test]
    fn the_rate_falls_from_the_outer_edge_to_the_inner_one() {
        let parameters = parameters();
        let geometry = Geometry::new(&parameters);
        let capacity = geometry.capacity();
        assert!((geometry.rate(0) - parameters.disk.rate_at_start.value).abs() < 1.0);
        assert!((geometry.rate(capacity) - parameters.disk.rate_at_end.value).abs() < 1.0);
        let (outer, inner) =
            (parameters.disk.rate_at_start.value, parameters.disk.rate_at_end.value);
        let middle = ((outer * outer + inner * inner) / 2.0).sqrt();
        assert!((geometry.rate(capacity / 2) - middle).abs() < 1.0);
    }

    #[test]
    fn the_angle_is_continuous_and_moves_at_the_media_rate() {
        for parameters in [parameters(), with_knots()] {
            let geometry = Geometry::new(&parameters);
            let mut random = Random::new(1);
            for _ in 0..10_000 {
                let address = random.below(geometry.capacity() - (1 << 20));
                let length = 512 + random.below(1 << 20);
                let turned = geometry.revolutions(address + length) - geometry.revolutions(address);
                let seconds = turned * geometry.period() / 1e9;
                let rate = geometry.rate(address + length / 2);
                let expected = length as f64 / rate;
                assert!(
                    (seconds / expected - 1.0).abs() < 1e-4,
                    "at {address}: {seconds} s for {length} bytes, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn address_undoes_revolutions() {
        for parameters in [parameters(), with_knots()] {
            let geometry = Geometry::new(&parameters);
            let mut random = Random::new(2);
            for _ in 0..10_000 {
                let address = random.below(geometry.capacity());
                let back = geometry.address(geometry.revolutions(address));
                assert!(back.abs_diff(address) <= 64, "{address} came back as {back}");
            }
        }
    }

    #[test]
    fn every_knot_has_its_rate_and_the_whole_disk_takes_the_sum_of_its_intervals() {
        let parameters = with_knots();
        let geometry = Geometry::new(&parameters);
        let knots = &parameters.disk.rate_knots.as_ref().expect("knots").value;
        let mut seconds = 0.0;
        for pair in knots.windows(2) {
            let address = (pair[0][0] * geometry.capacity() as f64) as u64;
            assert!((geometry.rate(address) / pair[0][1] - 1.0).abs() < 1e-6);
            seconds += 2.0 * (pair[1][0] - pair[0][0]) * geometry.capacity() as f64
                / (pair[0][1] + pair[1][1]);
        }
        assert!(
            (geometry.total_revolutions() * geometry.period() / 1e9 / seconds - 1.0).abs() < 1e-9
        );
    }

    /// For a rate that falls from R0 to R1 the mean of sqrt(distance) over uniform pairs of
    /// addresses is 8/15 - 8/135 * ((R0 - R1) / (R0 + R1))^2.
    #[test]
    fn the_mean_seek_over_uniform_pairs_follows_the_closed_form() {
        let parameters = parameters();
        let geometry = Geometry::new(&parameters);
        let mut random = Random::new(3);
        let pairs = 400_000;
        let mut sum = 0.0;
        for _ in 0..pairs {
            let from = geometry.revolutions(random.below(geometry.capacity()));
            let to = geometry.revolutions(random.below(geometry.capacity()));
            sum += geometry.seek(from, to);
        }
        let mean_ms = sum / f64::from(pairs) / 1e6;
        let expected = super::super::fit::mean_seek_ms(&parameters.disk);
        assert!(
            (mean_ms - expected).abs() < 0.02,
            "mean seek {mean_ms} ms, expected {expected} ms"
        );
    }

    #[test]
    fn the_linear_tail_joins_the_curve_without_a_step() {
        let mut parameters = parameters();
        parameters.disk.seek_linear_from = Some(parameters.disk.seek_base.with(0.3));
        let geometry = Geometry::new(&parameters);
        let (before, after) = (geometry.seek_over(0.3 - 1e-9), geometry.seek_over(0.3 + 1e-9));
        assert!((before - after).abs() < 1.0);
        assert!(
            geometry.seek_over(1.0)
                > parameters.disk.seek_base.value * 1e6 + parameters.disk.seek_root.value * 1e6
        );
    }
}
