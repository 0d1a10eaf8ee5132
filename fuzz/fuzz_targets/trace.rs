//! Traces of every format, from any bytes: read one by one to the end or to the first that makes no
//! sense.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::within;
use trace::{ReadOptions, Reader};

fuzz_target!(|data: &[u8]| {
    within(data, 16, || {
        let input = Cursor::new(data.to_vec());
        let Ok(mut reader) = Reader::new(input, &ReadOptions::default()) else { return };
        let (mut records, mut errors) = (0, 0);
        for record in reader.by_ref() {
            match record {
                Ok(_) => records += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
            }
        }
        assert!(
            errors <= 1 && records <= data.len(),
            "{records} records of {} bytes, {errors} errors",
            data.len()
        );
        let _ = reader.is_complete();
    });
});
