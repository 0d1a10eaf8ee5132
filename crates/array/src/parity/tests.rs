//! The field's laws, known answers, every kernel against the scalar one, and every pair of lost
//! blocks.

use super::*;
use reactor::Random;

fn blocks(random: &mut Random, count: usize, length: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| (0..length).map(|_| random.u8(..)).collect()).collect()
}

fn slices(blocks: &[Vec<u8>]) -> Vec<&[u8]> {
    blocks.iter().map(Vec::as_slice).collect()
}

/// Lengths around every vector and stride, and what arrays use.
const LENGTHS: [usize; 12] = [0, 1, 15, 63, 64, 127, 255, 256, 512, 4096, 4096 + 513, 65536];

#[test]
fn the_field_is_a_field() {
    for a in 1..=255_u8 {
        assert_eq!(multiply(a, inverse(a)), 1, "a = {a}");
        assert_eq!(multiply(a, 2), double(a), "a = {a}");
        for b in 0..=255_u8 {
            assert_eq!(multiply(a, b), multiply(b, a));
            // Distributive against a product computed bit by bit.
            let bitwise = (0..8)
                .filter(|bit| b >> bit & 1 == 1)
                .fold(0, |sum, bit| sum ^ (0..bit).fold(a, |x, _| double(x)));
            assert_eq!(multiply(a, b), bitwise, "{a} * {b}");
        }
    }
    let mut seen = [false; 256];
    (0..255).for_each(|exponent| {
        assert!(!std::mem::replace(&mut seen[power(exponent) as usize], true), "g generates all");
    });
}

#[test]
fn known_answers() {
    // g^0 1 ^ g^1 2 ^ g^2 0x80: 1 ^ 4 ^ (0x80 doubled twice = 0x3a); worked out by hand.
    let (mut p, mut q) = ([0], [0]);
    scalar::pq(&[&[1], &[2], &[0x80]], &mut p, &mut q);
    assert_eq!((p[0], q[0]), (0x83, 0x3f));
}

#[test]
fn every_kernel_agrees_with_scalar() {
    for kernel in available() {
        for seed in 0..40 {
            let mut random = Random::with_seed(seed);
            let length = LENGTHS[random.usize(..LENGTHS.len())];
            let disks = random.usize(0..20);
            let data = blocks(&mut random, disks, length);
            let (mut p, mut q) = (vec![0xaa; length], vec![0x55; length]);
            let (mut p_want, mut q_want) = (p.clone(), q.clone());
            (kernel.pq)(&slices(&data), &mut p, &mut q);
            scalar::pq(&slices(&data), &mut p_want, &mut q_want);
            assert!(p == p_want && q == q_want, "{kernel:?} pq, seed {seed}");

            let mut sum = vec![0x33; length];
            (kernel.sum)(&mut sum, &slices(&data));
            assert!(sum == p, "{kernel:?} sum is P, seed {seed}");
            (kernel.xor)(&mut p, &slices(&data));
            assert!(
                p.iter().all(|&byte| byte == 0),
                "{kernel:?} xor takes every block out of P again, seed {seed}"
            );

            let coefficient = random.u8(..);
            let source = blocks(&mut random, 1, length).remove(0);
            kernel.multiply_add(coefficient, &source, &mut q);
            scalar::multiply_add(coefficient, &source, &mut q_want);
            assert!(q == q_want, "{kernel:?} multiply_add, seed {seed}");
            kernel.scale(coefficient, &mut q);
            scalar::scale(coefficient, &mut q_want);
            assert!(q == q_want, "{kernel:?} scale, seed {seed}");
        }
    }
}

#[test]
fn every_coefficient_in_every_kernel() {
    let source: Vec<u8> = (0..=255).collect();
    for kernel in available() {
        for coefficient in 0..=255_u8 {
            let mut target = vec![0; 256];
            kernel.multiply_add(coefficient, &source, &mut target);
            assert!(
                (0..256).all(|byte| target[byte] == multiply(coefficient, byte as u8)),
                "{kernel:?} times {coefficient}"
            );
        }
    }
}

#[test]
fn a_small_change_updates_p_and_q_as_a_full_computation_would() {
    for seed in 0..20 {
        let mut random = Random::with_seed(seed);
        let disks = random.usize(1..12);
        let mut data = blocks(&mut random, disks, 700);
        let (mut p, mut q) = (vec![0; 700], vec![0; 700]);
        scalar::pq(&slices(&data), &mut p, &mut q);
        let changed = random.usize(..disks);
        let new = blocks(&mut random, 1, 700).remove(0);
        let mut delta = new.clone();
        scalar::xor(&mut delta, &[&data[changed]]);
        let kernel = fastest();
        (kernel.xor)(&mut p, &[&delta]);
        kernel.multiply_add(power(changed), &delta, &mut q);
        data[changed] = new;
        let (mut p_want, mut q_want) = (vec![0; 700], vec![0; 700]);
        scalar::pq(&slices(&data), &mut p_want, &mut q_want);
        assert!(p == p_want && q == q_want, "seed {seed}");
    }
}

#[test]
fn every_pair_of_lost_blocks_comes_back() {
    let mut random = Random::with_seed(11);
    for disks in 2..=16 {
        let data = blocks(&mut random, disks, 96);
        let (mut p, mut q) = (vec![0; 96], vec![0; 96]);
        scalar::pq(&slices(&data), &mut p, &mut q);
        for x in 0..disks {
            let lost = |gone: &[usize]| {
                let mut left = data.clone();
                gone.iter().for_each(|&block| left[block].fill(0));
                let (mut p, mut q) = (vec![0; 96], vec![0; 96]);
                scalar::pq(&slices(&left), &mut p, &mut q);
                (p, q)
            };
            let (_, partial_q) = lost(&[x]);
            let mut back = q.clone();
            recover_from_q(fastest(), x, &partial_q, &mut back);
            assert_eq!(back, data[x], "block {x} of {disks} from Q");
            for y in x + 1..disks {
                let (partial_p, partial_q) = lost(&[x, y]);
                let (mut back_x, mut back_y) = (p.clone(), q.clone());
                recover_two(fastest(), (x, y), &partial_p, &partial_q, &mut back_x, &mut back_y);
                assert_eq!(
                    (&back_x, &back_y),
                    (&data[x], &data[y]),
                    "blocks {x} and {y} of {disks}"
                );
            }
        }
    }
}

#[test]
#[should_panic(expected = "one length")]
fn blocks_of_different_lengths_are_refused() {
    (fastest().pq)(&[&[0; 512], &[0; 256]], &mut [0; 512], &mut [0; 512]);
}

/// Every block of a row by itself wrong in a few bytes is found, and two do not pass for one.
#[test]
fn the_wrong_block_is_located() {
    for seed in 0..60 {
        let mut random = Random::with_seed(seed);
        let disks = [2, 3, 4, 9, 40, 253][seed as usize % 6];
        let good = blocks(&mut random, disks, 512);
        let (mut p, mut q) = (vec![0; 512], vec![0; 512]);
        scalar::pq(&slices(&good), &mut p, &mut q);
        let locate_in = |row: &[Vec<u8>]| {
            let (mut expected_p, mut expected_q) = (vec![0; 512], vec![0; 512]);
            scalar::pq(&slices(&row[..disks]), &mut expected_p, &mut expected_q);
            locate(&row[disks], &expected_p, &row[disks + 1], &expected_q)
        };
        let mut row = good;
        row.extend([p, q]);
        assert_eq!(locate_in(&row), None, "seed {seed}");
        let mut spoil = |block: &mut Vec<u8>, bytes: usize| {
            for _ in 0..bytes {
                block[random.usize(..512)] ^= random.u8(1..);
            }
        };
        for wrong in 0..disks + 2 {
            let mut row = row.clone();
            spoil(&mut row[wrong], 1 + wrong % 5);
            let expected = match wrong {
                wrong if wrong < disks => Block::Data { exponent: wrong },
                wrong if wrong == disks => Block::P,
                _ => Block::Q,
            };
            assert_eq!(locate_in(&row), Some(expected), "seed {seed}, {wrong} of {disks}");
            spoil(&mut row[(wrong + 1) % (disks + 2)], 400);
            assert_eq!(locate_in(&row), None, "seed {seed}: {wrong} of {disks} and the next");
        }
    }
}
