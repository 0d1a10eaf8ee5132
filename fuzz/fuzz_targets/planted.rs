//! A mistake for the fuzzer to find: a reader of md's roles that believes the count it reads.
//!
//! `cargo xtask fuzz` fails when this does not.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Where a superblock says how many roles follow, in bytes.
const COUNT_AT: usize = 220;
/// Where they begin.
const ROLES_AT: usize = 256;

fuzz_target!(|data: &[u8]| {
    let Some(count) =
        data.get(COUNT_AT..COUNT_AT + 4).filter(|_| data.starts_with(&[0xfc, 0x4e, 0x2b, 0xa9]))
    else {
        return;
    };
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    let last = data[ROLES_AT + 2 * count - 1];
    std::hint::black_box(last);
});
