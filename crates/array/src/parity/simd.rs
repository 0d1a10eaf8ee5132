//! Kernels for the vector units of the processor, chosen at run time.
//!
//! Each kernel is one generic loop over a vector type with five operations. Multiplication by a
//! constant splits a byte in its halves and looks both up in tables of 16 (Plank, Greenan and
//! Miller, FAST 2013), or, with GFNI, is one affine map over GF(2); doubling is an addition and a
//! conditional xor.
//!
//! All of the `unsafe` that this needs is in this file: calling code compiled for a feature that
//! was found present, and loading and storing whole vectors inside slices whose bounds were
//! checked.
#![allow(unsafe_code)]

use super::{multiply, scalar};

type Xor = fn(&mut [u8], &[&[u8]]);
type PQ = fn(&[&[u8]], &mut [u8], &mut [u8]);

/// One way to compute, for one kind of processor.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Name of the instruction set.
    pub name: &'static str,
    /// `target ^= source` for every source; all of one length.
    pub xor: Xor,
    /// `target` becomes the sum of the sources, which is P of them, without being read; all of one
    /// length.
    pub sum: Xor,
    /// P and Q of the data blocks; all of one length.
    pub pq: PQ,
    multiply: fn(u8, &[u8], &mut [u8], bool),
}

impl Kernel {
    /// `target ^= coefficient * source`.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn multiply_add(&self, coefficient: u8, source: &[u8], target: &mut [u8]) {
        (self.multiply)(coefficient, source, target, true);
    }

    /// `target = coefficient * target`.
    pub fn scale(&self, coefficient: u8, target: &mut [u8]) {
        // In slices that stay in the first-level cache: the source of a product is not its target.
        let mut copy = [0; 4096];
        for piece in target.chunks_mut(copy.len()) {
            let source = &mut copy[..piece.len()];
            source.copy_from_slice(piece);
            (self.multiply)(coefficient, source, piece, false);
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The kernel that any processor runs.
pub const SCALAR: Kernel = Kernel {
    name: "scalar",
    xor: scalar::xor,
    sum: scalar::sum,
    pq: scalar::pq,
    multiply: |coefficient, source, target, add| {
        if !add {
            target.fill(0);
        }
        scalar::multiply_add(coefficient, source, target);
    },
};

/// All kernels that this processor runs, the slowest first.
#[must_use]
pub fn available() -> Vec<Kernel> {
    let mut kernels = vec![SCALAR];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            kernels.push(avx2::KERNEL);
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("gfni")
        {
            kernels.push(avx512::KERNEL);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("neon") {
        kernels.push(neon::KERNEL);
    }
    kernels
}

/// The fastest kernel that this processor runs.
#[must_use]
pub fn fastest() -> &'static Kernel {
    static FASTEST: std::sync::LazyLock<Kernel> =
        std::sync::LazyLock::new(|| available().pop().unwrap_or(SCALAR));
    &FASTEST
}

/// Products of `coefficient` with 0 to 15 and with 16 times that.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn nibble_tables(coefficient: u8) -> ([u8; 16], [u8; 16]) {
    let product = |nibble: usize, shift: u32| multiply(coefficient, (nibble as u8) << shift);
    (
        std::array::from_fn(|nibble| product(nibble, 0)),
        std::array::from_fn(|nibble| product(nibble, 4)),
    )
}

/// The loops, once; `$features` names what the vector operations need and `$vector` the module with
/// them: `BYTES`, `Vector`, `load`, `store`, `xor`, `doubling` (what `double` needs, made once),
/// `double`, `Factor`, `factor`, `times`.
macro_rules! kernel {
    ($name:literal, $features:literal, $pq_vectors:literal) => {
        /// This processor's kernel.
        pub(super) const KERNEL: super::Kernel = super::Kernel {
            name: $name,
            // SAFETY: `available` offers the kernel only where the features were detected.
            xor: |target, sources| unsafe { xor_blocks(target, sources, true) },
            // SAFETY: as above.
            sum: |target, sources| unsafe { xor_blocks(target, sources, false) },
            // SAFETY: as above.
            pq: |data, p, q| unsafe { pq_blocks(data, p, q) },
            // SAFETY: as above.
            multiply: |coefficient, source, target, add| unsafe {
                multiply_block(coefficient, source, target, add)
            },
        };

        /// Vectors worked on side by side, so that the chain of one hides behind the others.
        const VECTORS: usize = 4;
        const STRIDE: usize = VECTORS * BYTES;
        /// The same where there are two sums: with more than 128 bytes of each block at a time a
        /// set that fills half of the second-level cache took a third longer (on Zen 5).
        const PQ_VECTORS: usize = $pq_vectors;
        const PQ_STRIDE: usize = PQ_VECTORS * BYTES;

        #[target_feature(enable = $features)]
        fn xor_blocks(target: &mut [u8], sources: &[&[u8]], add: bool) {
            let length = target.len();
            assert!(
                sources.iter().all(|source| source.len() == length),
                "blocks of one stripe are of one length"
            );
            // What comes first is loaded, the rest added.
            let (first, sources) = match sources.split_first() {
                Some((first, others)) if !add => (Some(*first), others),
                None if !add => return target.fill(0),
                _ => (None, sources),
            };
            let whole = length - length % STRIDE;
            for at in (0..whole).step_by(STRIDE) {
                // SAFETY: at + STRIDE <= length, the length of every block.
                unsafe {
                    let start = first.map_or(target.as_ptr(), <[u8]>::as_ptr).add(at);
                    let mut sum: [Vector; VECTORS] =
                        std::array::from_fn(|index| load(start.add(index * BYTES)));
                    for source in sources {
                        let source = source.as_ptr().add(at);
                        for (index, sum) in sum.iter_mut().enumerate() {
                            *sum = xor(*sum, load(source.add(index * BYTES)));
                        }
                    }
                    for (index, sum) in sum.into_iter().enumerate() {
                        store(target.as_mut_ptr().add(at + index * BYTES), sum);
                    }
                }
            }
            if let Some(first) = first {
                target[whole..].copy_from_slice(&first[whole..]);
            }
            for source in sources {
                super::scalar::xor(&mut target[whole..], &[&source[whole..]]);
            }
        }

        #[target_feature(enable = $features)]
        fn pq_blocks(data: &[&[u8]], p: &mut [u8], q: &mut [u8]) {
            let length = p.len();
            assert!(
                q.len() == length && data.iter().all(|block| block.len() == length),
                "blocks of one stripe are of one length"
            );
            let Some((last, others)) = data.split_last() else {
                p.fill(0);
                q.fill(0);
                return;
            };
            let whole = length - length % PQ_STRIDE;
            let two = doubling();
            for at in (0..whole).step_by(PQ_STRIDE) {
                // SAFETY: at + PQ_STRIDE <= length, the length of every block.
                unsafe {
                    let first = last.as_ptr().add(at);
                    let mut p_sum: [Vector; PQ_VECTORS] =
                        std::array::from_fn(|index| load(first.add(index * BYTES)));
                    let mut q_sum = p_sum;
                    for block in others.iter().rev() {
                        let block = block.as_ptr().add(at);
                        for index in 0..PQ_VECTORS {
                            let data = load(block.add(index * BYTES));
                            p_sum[index] = xor(p_sum[index], data);
                            q_sum[index] = xor(double(q_sum[index], two), data);
                        }
                    }
                    for index in 0..PQ_VECTORS {
                        store(p.as_mut_ptr().add(at + index * BYTES), p_sum[index]);
                        store(q.as_mut_ptr().add(at + index * BYTES), q_sum[index]);
                    }
                }
            }
            if whole < length {
                let tails: Vec<&[u8]> = data.iter().map(|block| &block[whole..]).collect();
                super::scalar::pq(&tails, &mut p[whole..], &mut q[whole..]);
            }
        }

        #[target_feature(enable = $features)]
        fn multiply_block(coefficient: u8, source: &[u8], target: &mut [u8], add: bool) {
            let length = target.len();
            assert_eq!(source.len(), length, "blocks of one stripe are of one length");
            let factor = factor(coefficient);
            let whole = length - length % BYTES;
            for at in (0..whole).step_by(BYTES) {
                // SAFETY: at + BYTES <= length, the length of both blocks.
                unsafe {
                    let product = times(load(source.as_ptr().add(at)), factor);
                    let target = target.as_mut_ptr().add(at);
                    store(target, if add { xor(load(target), product) } else { product });
                }
            }
            (super::SCALAR.multiply)(coefficient, &source[whole..], &mut target[whole..], add);
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    type Vector = __m256i;
    type Factor = (Vector, Vector);
    const BYTES: usize = 32;

    kernel!("AVX2", "avx2", 4);

    #[target_feature(enable = "avx2")]
    unsafe fn load(from: *const u8) -> Vector {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn store(to: *mut u8, vector: Vector) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    #[target_feature(enable = "avx2")]
    fn xor(a: Vector, b: Vector) -> Vector {
        _mm256_xor_si256(a, b)
    }

    #[target_feature(enable = "avx2")]
    fn doubling() -> Vector {
        _mm256_set1_epi8(super::super::POLYNOMIAL as i8)
    }

    #[target_feature(enable = "avx2")]
    fn double(vector: Vector, polynomial: Vector) -> Vector {
        // A byte is negative where its doubling overflows.
        let overflow = _mm256_cmpgt_epi8(_mm256_setzero_si256(), vector);
        let reduction = _mm256_and_si256(overflow, polynomial);
        _mm256_xor_si256(_mm256_add_epi8(vector, vector), reduction)
    }

    #[target_feature(enable = "avx2")]
    fn factor(coefficient: u8) -> Factor {
        let (low, high) = super::nibble_tables(coefficient);
        // SAFETY: both tables are 16 bytes.
        let wide = |table: &[u8; 16]| {
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
        };
        (wide(&low), wide(&high))
    }

    #[target_feature(enable = "avx2")]
    fn times(vector: Vector, (low, high): Factor) -> Vector {
        let mask = _mm256_set1_epi8(0x0f);
        let low = _mm256_shuffle_epi8(low, _mm256_and_si256(vector, mask));
        let high =
            _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi64::<4>(vector), mask));
        _mm256_xor_si256(low, high)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    type Vector = __m512i;
    type Factor = Vector;
    const BYTES: usize = 64;

    kernel!("AVX-512 with GFNI", "avx512f,avx512bw,gfni", 2);

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    unsafe fn load(from: *const u8) -> Vector {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    unsafe fn store(to: *mut u8, vector: Vector) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn xor(a: Vector, b: Vector) -> Vector {
        _mm512_xor_si512(a, b)
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn doubling() -> Factor {
        factor(2)
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn double(vector: Vector, two: Factor) -> Vector {
        times(vector, two)
    }

    /// The product with a constant as a matrix over GF(2): row i holds the bits of the byte that
    /// bit i of the product sums up. The instruction wants row 0 in the highest byte.
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn factor(coefficient: u8) -> Factor {
        let mut matrix = 0_u64;
        for row in 0..8 {
            for bit in 0..8 {
                let contributes = super::multiply(coefficient, 1 << bit) >> row & 1;
                matrix |= u64::from(contributes) << ((7 - row) * 8 + bit);
            }
        }
        _mm512_set1_epi64(matrix as i64)
    }

    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn times(vector: Vector, matrix: Factor) -> Vector {
        _mm512_gf2p8affine_epi64_epi8::<0>(vector, matrix)
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    type Vector = uint8x16_t;
    type Factor = (Vector, Vector);
    const BYTES: usize = 16;

    kernel!("NEON", "neon", 4);

    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const u8) -> Vector {
        // SAFETY: the caller's.
        unsafe { vld1q_u8(from) }
    }

    #[target_feature(enable = "neon")]
    unsafe fn store(to: *mut u8, vector: Vector) {
        // SAFETY: the caller's.
        unsafe { vst1q_u8(to, vector) }
    }

    #[target_feature(enable = "neon")]
    fn xor(a: Vector, b: Vector) -> Vector {
        veorq_u8(a, b)
    }

    #[target_feature(enable = "neon")]
    fn doubling() -> Vector {
        vdupq_n_u8(super::super::POLYNOMIAL)
    }

    #[target_feature(enable = "neon")]
    fn double(vector: Vector, polynomial: Vector) -> Vector {
        let overflow = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(vector)));
        veorq_u8(vshlq_n_u8::<1>(vector), vandq_u8(overflow, polynomial))
    }

    #[target_feature(enable = "neon")]
    fn factor(coefficient: u8) -> Factor {
        let (low, high) = super::nibble_tables(coefficient);
        // SAFETY: both tables are 16 bytes.
        unsafe { (vld1q_u8(low.as_ptr()), vld1q_u8(high.as_ptr())) }
    }

    #[target_feature(enable = "neon")]
    fn times(vector: Vector, (low, high): Factor) -> Vector {
        let low = vqtbl1q_u8(low, vandq_u8(vector, vdupq_n_u8(0x0f)));
        let high = vqtbl1q_u8(high, vshrq_n_u8::<4>(vector));
        veorq_u8(low, high)
    }
}
