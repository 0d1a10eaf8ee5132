use std::collections::HashSet;

use super::*;

const SEED: u64 = 0xfeed;

fn filled(length: usize, offset: u64, generation: u64) -> Vec<u8> {
    let mut buffer = vec![0; length];
    fill(&mut buffer, offset, SEED, generation);
    buffer
}

/// The damage that both checks see.
fn damage(buffer: &[u8], offset: u64, generation: u64) -> Mismatch {
    let words = check_words(buffer, offset, SEED, generation).unwrap_err();
    let full = check_full(buffer, offset, SEED, generation).unwrap_err();
    assert_eq!(words, full);
    words
}

#[test]
fn what_was_filled_is_right_and_names_itself() {
    for offset in [0, 512, 1 << 20, (1 << 63) - 512] {
        let buffer = filled(64 << 10, offset, 7);
        assert_eq!(check_words(&buffer, offset, SEED, 7), Ok(()));
        assert_eq!(check_full(&buffer, offset, SEED, 7), Ok(()));
        for (sector, offset) in buffer.chunks(512).zip((offset..).step_by(512)) {
            assert_eq!(Mark::of(sector), Some(Mark { offset, seed: SEED, generation: 7 }));
        }
    }
    assert_eq!(Mark::of(&[0; 512]), None);
}

#[test]
fn a_buffer_is_the_same_however_it_is_cut() {
    let whole = filled(8192, 4096, 1);
    assert_eq!(whole[..1536], filled(1536, 4096, 1));
    assert_eq!(whole[1536..], filled(8192 - 1536, 4096 + 1536, 1));
}

// The bytes on disk are a format: an earlier run's data stay recognisable.
#[test]
fn the_first_words_stay_as_they_are() {
    let buffer = filled(512, 512, 1);
    let check = mix(mix(mix(SEED).wrapping_add(1)).wrapping_add(512));
    assert_eq!(word_of(&buffer, 3), check);
    // The first two outputs of SplitMix64 from seed 0, as published with its reference
    // implementation.
    assert_eq!(word_at(0, 0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(word_at(0, 1), 0x6e78_9e6a_a1b9_65f4);
}

#[test]
fn it_does_not_compress_and_no_two_sectors_are_equal() {
    let mut buffer = filled(1 << 20, 0, 1);
    buffer.extend(filled(1 << 20, 0, 2));
    buffer.extend(filled(1 << 20, 1 << 20, 1));
    let packed = miniz_oxide::deflate::compress_to_vec(&buffer, 9);
    let ratio = packed.len() as f64 / buffer.len() as f64;
    assert!(ratio > 0.98, "packed to {ratio}");
    let sectors: HashSet<&[u8]> = buffer.chunks(512).collect();
    assert_eq!(sectors.len(), buffer.len() / 512);
    // Not even 16 aligned bytes occur twice.
    let pieces: HashSet<&[u8]> = buffer.chunks(16).collect();
    assert_eq!(pieces.len(), buffer.len() / 16);
}

#[test]
fn zeroes_are_named() {
    assert_eq!(damage(&[0; 1024], 512, 3), Mismatch { offset: 512, damage: Damage::Zeroes });
}

#[test]
fn an_older_and_a_newer_write_are_named() {
    let buffer = filled(4096, 8192, 3);
    assert_eq!(damage(&buffer, 8192, 5).damage, Damage::Stale { found: 3, expected: 5 });
    assert_eq!(damage(&buffer, 8192, 2).damage, Damage::Newer { found: 3, expected: 2 });
}

#[test]
fn misdirected_data_say_where_they_belong() {
    let mut buffer = filled(4096, 0, 3);
    buffer[1024..1536].copy_from_slice(&filled(512, 65536, 3));
    assert_eq!(
        damage(&buffer, 0, 3),
        Mismatch { offset: 1024, damage: Damage::Misdirected { belongs_at: 65536 } }
    );
}

#[test]
fn data_of_another_run_are_named() {
    let mut buffer = vec![0; 512];
    fill(&mut buffer, 0, SEED + 1, 3);
    assert_eq!(damage(&buffer, 0, 3).damage, Damage::OtherSeed { found: SEED + 1 });
}

#[test]
fn data_of_nobody_are_named() {
    assert_eq!(damage(&[0x5a; 512], 0, 3).damage, Damage::Unrecognised);
}

#[test]
fn a_torn_request_is_told_from_a_lost_one() {
    let (old, new) = (filled(4096, 0, 1), filled(4096, 0, 2));
    let front_arrived = [&new[..1536], &old[1536..]].concat();
    assert_eq!(
        damage(&front_arrived, 0, 2),
        Mismatch { offset: 1536, damage: Damage::Torn { byte: 1536 } }
    );
    let end_arrived = [&old[..1536], &new[1536..]].concat();
    assert_eq!(
        damage(&end_arrived, 0, 2),
        Mismatch { offset: 0, damage: Damage::Torn { byte: 1536 } }
    );
    let over_zeroes = [&new[..512], &[0; 3584][..]].concat();
    assert_eq!(
        damage(&over_zeroes, 0, 2),
        Mismatch { offset: 512, damage: Damage::Torn { byte: 512 } }
    );
}

#[test]
fn a_torn_sector_is_found_by_its_mark_or_by_the_full_check() {
    let (old, new) = (filled(1024, 0, 1), filled(1024, 0, 2));
    // The new front with the old rest: the mark is right, so only the full check sees it.
    let front = [&new[..600], &old[600..]].concat();
    assert_eq!(check_words(&front, 0, SEED, 2), Ok(()));
    assert_eq!(
        check_full(&front, 0, SEED, 2),
        Err(Mismatch { offset: 512, damage: Damage::Torn { byte: 600 } })
    );
    // The old front with the new rest.
    let rest = [&new[..512], &old[512..600], &new[600..]].concat();
    assert_eq!(damage(&rest, 0, 2), Mismatch { offset: 512, damage: Damage::Torn { byte: 600 } });
}

#[test]
fn a_flipped_bit_is_found_in_the_mark_and_by_the_full_check_anywhere() {
    let right = filled(1024, 2048, 9);
    for byte in 0..1024 {
        let mut buffer = right.clone();
        buffer[byte] ^= 0x10;
        let found = Mismatch {
            offset: 2048 + (byte / 512 * 512) as u64,
            damage: Damage::BitRot { byte: byte % 512, bits: 1 },
        };
        assert_eq!(check_full(&buffer, 2048, SEED, 9), Err(found), "byte {byte}");
        let words = check_words(&buffer, 2048, SEED, 9);
        assert_eq!(words, if byte % 512 < 32 { Err(found) } else { Ok(()) }, "byte {byte}");
    }
}

#[test]
fn a_mismatch_reads_as_one_line_with_its_place() {
    let text = damage(&filled(512, 0, 1), 0, 2).to_string();
    assert_eq!(
        text,
        "wrong data at offset 0: an older write (number 1 instead of 2): a write was lost"
    );
}
