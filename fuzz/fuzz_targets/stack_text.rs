//! Stack texts: any text is either a tree that prints as a text of the same tree, or wrong at a
//! place that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::within;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A node takes its options' names and lists, and errors quote the text.
    within(data, 200, || match stack::parse(text) {
        Ok(node) => {
            let printed = node.to_string();
            assert_eq!(stack::parse(&printed).as_ref(), Ok(&node), "{printed}");
        }
        Err(error) => {
            assert!(text.is_char_boundary(error.position), "byte {}", error.position);
            assert!(text[error.position..].starts_with(&error.found), "{error:?}");
            assert!(!error.to_string().is_empty() && !error.problem.expected.is_empty());
        }
    });
});
