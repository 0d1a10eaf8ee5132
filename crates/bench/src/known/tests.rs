use reactor::Random;

use super::*;

/// The same device remembered by both kinds of map, small enough that both may be used.
fn both(size_bytes: u64) -> [WriteLedger; 2] {
    let table = WriteLedger::new(size_bytes, 1);
    assert!(matches!(table.map, Map::Table(_)));
    [table, WriteLedger::as_extents(1)]
}

/// The parts, sector by sector.
fn sectors(known: &WriteLedger, offset: u64, length: u64) -> Vec<u32> {
    let mut sectors = Vec::new();
    let mut next = offset;
    known
        .parts(offset, length, |offset, length, generation| {
            assert_eq!(offset, next, "parts are adjacent");
            next += length;
            sectors.extend(std::iter::repeat_n(generation, (length / SECTOR) as usize));
            Ok(())
        })
        .unwrap();
    assert_eq!(next, offset + length, "parts cover the range");
    sectors
}

#[test]
fn both_maps_know_the_same_as_a_list_of_all_sectors() {
    let seed = 5;
    let count = 200_usize;
    let mut random = Random::with_seed(seed);
    let mut model = vec![UNKNOWN; count];
    let mut maps = both(count as u64 * SECTOR);
    for round in 0..3000 {
        let start = random.usize(..count);
        let length = random.usize(1..=(count - start).min(20));
        let generation = if random.u8(..10) == 0 { UNKNOWN } else { round + 1 };
        model[start..start + length].fill(generation);
        let since = random.u32(..=round);
        let expected: Vec<bool> = model.iter().map(|generation| *generation > since).collect();
        for known in &mut maps {
            known.record(start as u64 * SECTOR, length as u64 * SECTOR, generation);
            assert_eq!(
                sectors(known, 0, count as u64 * SECTOR),
                model,
                "seed {seed}, round {round}"
            );
            let (from, to) = (start as u64 * SECTOR, (start + length) as u64 * SECTOR);
            assert_eq!(
                sectors(known, from, to - from),
                model[start..start + length],
                "seed {seed}, round {round}"
            );
            let mut found = vec![false; count];
            let ranges = known.written_after(since);
            assert!(
                ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
                "ascending and joined, seed {seed}, round {round}"
            );
            for (from, to) in ranges {
                found[(from / SECTOR) as usize..(to / SECTOR) as usize].fill(true);
            }
            assert_eq!(found, expected, "seed {seed}, round {round}");
        }
    }
}

#[test]
fn large_devices_have_extents_and_a_limit() {
    let mut known = WriteLedger::new(200 << 30, 1);
    assert!(matches!(known.map, Map::Extents(_)));
    assert_eq!(known.writes_left(), EXTENTS_MAX / 2);
    known.record(100 << 30, 512, 1);
    assert_eq!(known.writes_left(), (EXTENTS_MAX - 1) / 2);
    known.clear();
    assert_eq!(known.writes_left(), EXTENTS_MAX / 2);
}

#[test]
fn old_extents_make_room_when_more_than_half_is_used() {
    let mut known = WriteLedger { extents_max: 100, ..WriteLedger::new(200 << 30, 1) };
    for (number, used) in [(50, 50), (1, 0)] {
        for index in 0..number {
            known.record((u64::from(known.last_generation) + index) * 4096, 512, 1);
        }
        known.last_generation += 1000;
        known.make_room();
        assert_eq!(known.writes_left(), (100 - used) / 2);
    }
}

#[test]
fn covers_all_ranges_in_pieces() {
    let mut cover =
        Cover::new(Direction::Read, vec![(0, 0), (0, 2560), (3072, 3072), (4096, 5120)], 1024);
    let mut pieces = Vec::new();
    while let Some(access) = cover.next() {
        pieces.push((access.offset, access.length));
    }
    assert_eq!(pieces, [(0, 1024), (1024, 1024), (2048, 512), (4096, 1024)]);
}

#[test]
fn joins_ranges_that_touch_or_overlap() {
    let ranges = vec![(4096, 8192), (0, 512), (512, 1024), (5000, 6000), (2048, 4095)];
    assert_eq!(joined(ranges), [(0, 1024), (2048, 4095), (4096, 8192)]);
}
