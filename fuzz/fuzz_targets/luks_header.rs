//! Headers of encrypted devices, from any bytes: LUKS1, the JSON of LUKS2 behind a head whose
//! checksum is right, or whatever comes.
#![no_main]

use block::{Error, ErrorKind};
use libfuzzer_sys::fuzz_target;
use luks::LuksHeader;
use raidloom_fuzz::{luks_container, within};

fuzz_target!(|data: &[u8]| {
    let container = match data.split_first() {
        Some((b'{', _)) => luks_container(data),
        _ => data.to_vec(),
    };
    // A head may be followed by a whole copy that has to be held against it.
    within(&container, 32, || {
        let mut read = |offset: u64, target: &mut [u8]| {
            let end = (offset as usize).saturating_add(target.len());
            let from = container.get(offset as usize..end);
            let past = || Error::new(ErrorKind::OutOfRange, "past the end");
            from.map(|from| target.copy_from_slice(from)).ok_or_else(past)
        };
        if let Err(error) = LuksHeader::read(&mut read) {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        }
    });
});
