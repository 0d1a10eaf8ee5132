//! What the computations of a plan do, byte by byte.

use array::parity::{multiply, power};
use array::{ByteSite, Computation};

/// Buffers that computations work on.
pub(crate) trait PlanBuffers {
    /// What is there.
    fn get(&self, site: ByteSite, length: u64) -> Vec<u8>;

    /// Puts it there.
    fn put(&mut self, site: ByteSite, bytes: &[u8]);

    /// Adds one buffer to another, times a coefficient.
    fn combine(&mut self, coefficient: u8, from: ByteSite, into: ByteSite, length: u64) {
        let mut target = self.get(into, length);
        let more = self.get(from, length);
        target.iter_mut().zip(more).for_each(|(byte, more)| *byte ^= multiply(coefficient, more));
        self.put(into, &target);
    }

    /// Carries out one that compares nothing.
    fn compute(&mut self, computation: Computation, sources: &[Option<ByteSite>]) {
        match computation {
            Computation::Compare { .. } | Computation::Locate { .. } | Computation::Vote { .. } => {
                panic!("no request compares")
            }
            Computation::Zero { into, length } => self.put(into, &vec![0; length as usize]),
            Computation::Copy { from, into, length } => self.put(into, &self.get(from, length)),
            Computation::Xor { from, into, length } => self.combine(1, from, into, length),
            Computation::MultiplyXor { coefficient, from, into, length } => {
                self.combine(coefficient, from, into, length);
            }
            Computation::Scale { coefficient, into, length } => {
                let bytes = self.get(into, length);
                let scaled: Vec<u8> =
                    bytes.iter().map(|&byte| multiply(coefficient, byte)).collect();
                self.put(into, &scaled);
            }
            Computation::Parity { first, count, p, q, length } => {
                let (mut p_bytes, mut q_bytes) =
                    (vec![0; length as usize], vec![0; length as usize]);
                for (term, source) in sources[first..first + count].iter().enumerate() {
                    // Without one it is a block of zeroes, which changes nothing.
                    let bytes = source.map(|source| self.get(source, length));
                    for (at, byte) in bytes.unwrap_or_default().into_iter().enumerate() {
                        p_bytes[at] ^= byte;
                        q_bytes[at] ^= multiply(power(term), byte);
                    }
                }
                self.put(p, &p_bytes);
                if let Some(q) = q {
                    self.put(q, &q_bytes);
                }
            }
        }
    }
}
