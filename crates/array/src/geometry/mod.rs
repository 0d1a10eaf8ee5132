//! Where each byte of an array lies: pure arithmetic over member sizes, in bytes.

mod linear;
mod parity;
mod raid0;
mod raid10;

pub use linear::Linear;
pub use parity::{Parity, ParityLayout, Role, Row};
pub use raid0::{Raid0, Raid0Layout};
pub use raid10::{Raid10, Raid10Layout};

/// A run of bytes that lies on one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Which member, counted from 0.
    pub member: usize,
    /// Where on the member, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// A divisor that is a shift where it is a power of two.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    value: u64,
    shift: Option<u32>,
}

impl Divisor {
    fn new(value: u64) -> Divisor {
        Divisor { value, shift: value.is_power_of_two().then(|| value.trailing_zeros()) }
    }

    /// Quotient and remainder.
    #[inline]
    fn divide(self, number: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (number >> shift, number & (self.value - 1)),
            None => (number / self.value, number % self.value),
        }
    }
}
