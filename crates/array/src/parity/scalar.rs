//! The formulas, one byte at a time: what the kernels are held against.

use super::{double, multiply};

/// `target ^= source` for every source.
///
/// # Panics
/// When a source's length is not the target's.
pub fn xor(target: &mut [u8], sources: &[&[u8]]) {
    for source in sources {
        assert_eq!(source.len(), target.len(), "blocks of one stripe are of one length");
        target.iter_mut().zip(*source).for_each(|(target, source)| *target ^= source);
    }
}

/// `target` becomes the sum of the sources.
///
/// # Panics
/// When a source's length is not the target's.
pub fn sum(target: &mut [u8], sources: &[&[u8]]) {
    target.fill(0);
    xor(target, sources);
}

/// `p` and `q` of the data blocks, by Horner's rule: `q = (… (D_(n-1) g ^ D_(n-2)) g …) ^ D_0`.
///
/// # Panics
/// When the blocks' lengths differ.
pub fn pq(data: &[&[u8]], p: &mut [u8], q: &mut [u8]) {
    assert_eq!(p.len(), q.len(), "blocks of one stripe are of one length");
    p.fill(0);
    q.fill(0);
    for block in data.iter().rev() {
        assert_eq!(block.len(), p.len(), "blocks of one stripe are of one length");
        for ((p, q), data) in p.iter_mut().zip(q.iter_mut()).zip(*block) {
            *p ^= data;
            *q = double(*q) ^ data;
        }
    }
}

/// `target ^= coefficient * source`.
///
/// # Panics
/// When the lengths differ.
pub fn multiply_add(coefficient: u8, source: &[u8], target: &mut [u8]) {
    assert_eq!(source.len(), target.len(), "blocks of one stripe are of one length");
    target
        .iter_mut()
        .zip(source)
        .for_each(|(target, source)| *target ^= multiply(coefficient, *source));
}

/// `target = coefficient * target`.
pub fn scale(coefficient: u8, target: &mut [u8]) {
    target.iter_mut().for_each(|byte| *byte = multiply(coefficient, *byte));
}
