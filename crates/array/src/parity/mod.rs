//! The arithmetic of redundancy: P and Q of RAID 4, 5 and 6, their updates, and the way back from
//! them.
//!
//! ```text
//! P = D_0 ^ D_1 ^ … ^ D_(n-1)
//! Q = g^0 D_0 ^ g^1 D_1 ^ … ^ g^(n-1) D_(n-1)
//! over GF(2^8), g = 2, polynomial x^8+x^4+x^3+x^2+1 (0x11d)
//! ```
//!
//! (H. P. Anvin, "The mathematics of RAID-6".) Data blocks are numbered in the order in which Q
//! counts them; which block that is on which member is the geometry's business.
//!
//! [`scalar`] is written to be read. The kernels of [`simd`] are chosen once at run time and held
//! against it.

pub mod scalar;
pub mod simd;

pub use simd::{Kernel, available, fastest};

/// Arrays compute parity in slices of at most this many bytes, so that what is gone over twice is
/// still in the first-level cache.
pub const SLICE_BYTES: usize = 16 << 10;

/// The polynomial of the field without its x^8.
const POLYNOMIAL: u8 = 0x1d;

/// Powers of g = 2, then their logarithms, as tables.
const TABLES: ([u8; 255], [u8; 256]) = tables();

const fn tables() -> ([u8; 255], [u8; 256]) {
    let mut powers = [0; 255];
    let mut logarithms = [0; 256];
    let mut element: u8 = 1;
    let mut exponent = 0;
    while exponent < 255 {
        powers[exponent] = element;
        logarithms[element as usize] = exponent as u8;
        element = double(element);
        exponent += 1;
    }
    (powers, logarithms)
}

/// The element times g.
#[must_use]
pub const fn double(element: u8) -> u8 {
    (element << 1) ^ if element & 0x80 == 0 { 0 } else { POLYNOMIAL }
}

/// g to the power of `exponent`.
#[must_use]
pub const fn power(exponent: usize) -> u8 {
    TABLES.0[exponent % 255]
}

/// The product of two elements.
#[must_use]
pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    power(TABLES.1[a as usize] as usize + TABLES.1[b as usize] as usize)
}

/// The element whose product with `element` is one.
///
/// # Panics
/// For zero, which has none.
#[must_use]
pub const fn inverse(element: u8) -> u8 {
    assert!(element != 0, "zero has no inverse");
    power(255 - TABLES.1[element as usize] as usize)
}

/// Brings a lost data block `x` back from Q and the other data blocks (P is lost too): `partial_q`
/// is Q computed with `x` as zeroes, and `q` becomes the block: `D_x = (Q ^ Q') / g^x`.
pub fn recover_from_q(kernel: &Kernel, x: usize, partial_q: &[u8], q: &mut [u8]) {
    (kernel.xor)(q, &[partial_q]);
    kernel.scale(inverse(power(x)), q);
}

/// Brings two lost data blocks `x` and `y` back: `partial_p` and `partial_q` are P and Q computed
/// with both as zeroes; `p` becomes `D_x` and `q` becomes `D_y`:
///
/// ```text
/// dP = P ^ P'   dQ = Q ^ Q'   D_y = (dQ ^ g^x dP) / (g^x ^ g^y)   D_x = dP ^ D_y
/// ```
///
/// # Panics
/// When `x` and `y` are one block.
pub fn recover_two(
    kernel: &Kernel,
    (x, y): (usize, usize),
    partial_p: &[u8],
    partial_q: &[u8],
    p: &mut [u8],
    q: &mut [u8],
) {
    assert_ne!(x % 255, y % 255, "two different blocks are lost");
    (kernel.xor)(p, &[partial_p]);
    (kernel.xor)(q, &[partial_q]);
    kernel.multiply_add(power(x), p, q);
    kernel.scale(inverse(power(x) ^ power(y)), q);
    (kernel.xor)(p, &[q]);
}

/// A block of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The one that counts for Q with g to this power.
    Data {
        /// The power.
        exponent: usize,
    },
    /// P.
    P,
    /// Q.
    Q,
}

/// Which one block is wrong, by P and Q as they are and as they follow from the data. `None` if the
/// two agree, or the bytes do not all point at the same block.
///
/// With a data block wrong by `e` P is off by `e` and Q by `g^z e`: their quotient tells `z`. Where
/// only one of the two is off, it is wrong itself. Two wrong blocks can look like a third one in a
/// single byte, but hardly in all bytes of a sector.
#[must_use]
pub fn locate(p: &[u8], expected_p: &[u8], q: &[u8], expected_q: &[u8]) -> Option<Block> {
    let mut found = None;
    let off_by = |held: &[u8], expected: &[u8], at: usize| held[at] ^ expected[at];
    for at in 0..p.len() {
        let block = match (off_by(p, expected_p, at), off_by(q, expected_q, at)) {
            (0, 0) => continue,
            (_, 0) => Block::P,
            (0, _) => Block::Q,
            (p, q) => {
                let [p, q] = [p, q].map(|element| usize::from(TABLES.1[usize::from(element)]));
                Block::Data { exponent: (q + 255 - p) % 255 }
            }
        };
        if *found.get_or_insert(block) != block {
            return None;
        }
    }
    found
}

#[cfg(test)]
mod tests;
