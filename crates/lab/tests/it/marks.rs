//! What raidloom's own suites write is never taken for a format that somebody needs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::os::unix::fs::FileExt;

use bench::pattern;
use host::guard::find_signature;

#[test]
fn verified_patterns_carry_no_signature() {
    const SIZE_BYTES: usize = 4 << 20;
    let file = tempfile::tempfile().unwrap();
    let mut buffer = vec![0; SIZE_BYTES];
    for seed in 0..20 {
        pattern::fill(&mut buffer, 0, seed, seed % 3);
        file.write_all_at(&buffer, 0).unwrap();
        let found = find_signature(&file, SIZE_BYTES as u64).unwrap();
        assert_eq!(found, None, "seed {seed}");
        // Sectors that have the mark alone, over what was there before.
        buffer.fill(0);
        for (sector, offset) in buffer.chunks_exact_mut(512).zip((0..).step_by(512)) {
            pattern::mark(sector, offset, seed, 1);
        }
        file.write_all_at(&buffer, 0).unwrap();
        let found = find_signature(&file, SIZE_BYTES as u64).unwrap();
        assert_eq!(found, None, "marks of seed {seed}");
    }
    // The check can fail.
    file.write_all_at(b"XFSB", 0).unwrap();
    assert_eq!(find_signature(&file, SIZE_BYTES as u64).unwrap(), Some("XFS"));
}
