//! What was found of arrays that are lost, of which any byte may be anything: `rescue` as a whole.
//!
//! It says something of all of it, and what it says opens; it changes nothing.
#![no_main]

use std::os::unix::fs::FileExt;

use block::Node;
use host::guard::{Consent, Guard};
use libfuzzer_sys::fuzz_target;
use mdtools::MemberSource;
use mdtools::guess::SearchLimits;
use mdtools::rescue::{MemberFinding, RescueLoss, RescueReport, RescuedArray, rescue};
use raidloom_fuzz::{Drives, Folder, drives, within_bytes};
use words::Text;

/// Memory for what does not grow with the drives: what is read at once, buffers of the arrays that
/// are opened, and the orders that are compared.
const FIXED_BYTES: usize = 16 << 20;
/// And so many times the drives: pages that are kept, and samples.
const FACTOR: usize = 2;
/// Of an array's data, this much is read, in bytes.
const READ_BYTES: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let drives = drives(data);
    let folder = Folder::with(&drives.bytes);
    let mut sources: Vec<MemberSource> =
        folder.files().iter().cloned().map(MemberSource::from).collect();
    if let (Some((offset_bytes, size_bytes)), Some(first)) = (drives.part, sources.first_mut()) {
        (first.offset_bytes, first.size_bytes) = (offset_bytes, size_bytes);
    }
    let guard = Guard::new(Consent { raw: drives.raw, ..Consent::default() });
    let mut left = drives.patience;
    let mut go_on = |_, _| {
        left = left.saturating_sub(1);
        left > 0
    };
    let total: usize = drives.bytes.iter().map(Vec::len).sum();
    let found = within_bytes(FIXED_BYTES + FACTOR * total, total, || {
        rescue(&guard, &sources, &SearchLimits::default(), &mut go_on)
    });
    match &found {
        Ok(report) => judge(report, &guard, &drives),
        Err(error) => {
            assert!(drives.content.is_none(), "{error}");
            one_line(&Text::from(error));
        }
    }
    drop(guard);
    assert!(folder.holds(&drives.bytes), "written to, and only to be read");
});

/// What it says can be said in lines, and what it would open opens.
fn judge(report: &RescueReport, guard: &Guard, drives: &Drives) {
    report.notes.iter().for_each(one_line);
    for array in &report.arrays {
        one_line(&array.shape);
        array.members.iter().for_each(|member| {
            if let MemberFinding::LeftOut(why) = &member.state {
                one_line(why);
            }
        });
        match &array.way {
            Ok(way) => {
                let losses = way.losses.iter();
                losses.for_each(|loss| {
                    if let RescueLoss::Forced(why) = loss {
                        one_line(why)
                    }
                });
                opens(&way.stack, array, guard, drives);
            }
            Err(reasons) => {
                assert!(!reasons.is_empty(), "{array:?}");
                reasons.iter().for_each(one_line);
            }
        }
    }
    let is_whole = |array: &RescuedArray| array.way.as_ref().is_ok_and(|way| way.losses.is_empty());
    if drives.content.is_some() {
        assert!(report.arrays.len() == 1 && report.arrays.iter().all(is_whole), "{report:?}");
    }
}

/// The stack that is named for an array, as its text, is the array.
fn opens(stack: &Node, array: &RescuedArray, guard: &Guard, drives: &Drives) {
    let text = stack.to_string();
    let again = stack::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(&again, stack, "{text}");
    let view = guard.view(&again).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(array.size_bytes, Some(view.size_bytes()), "{text}");
    let mut bytes = vec![0; view.size_bytes().min(READ_BYTES) as usize];
    let is_read = view.read_exact_at(&mut bytes, 0).is_ok();
    if let Some(content) = &drives.content {
        assert!(is_read && bytes == content[..bytes.len()], "{text}");
    }
}

fn one_line(text: &Text) {
    let text = text.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
}
