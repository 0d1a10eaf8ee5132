//! Placement held against tables that were worked out from md's formula by another program, and small enough to follow
//! with a finger.

use std::fmt::Write as _;
use std::path::Path;

use array::geometry::{Raid0, Raid0Layout};

fn table(sizes: &[u64], chunk: u64) -> String {
    let layouts = [Raid0Layout::Original, Raid0Layout::Alternate].map(|layout| Raid0::new(sizes, chunk, layout));
    let mut text = format!("members of {sizes:?} sectors, chunks of {chunk}\n\n");
    text += "array sector  original  alternate    (member:sector)\n";
    for sector in (0..layouts[0].size_bytes()).step_by(chunk as usize) {
        let [original, alternate] = layouts.each_ref().map(|array| {
            let place = array.locate(sector, chunk);
            assert_eq!(place.length, chunk);
            format!("{}:{}", place.member, place.offset)
        });
        let mark = if original == alternate { "" } else { "    differs" };
        writeln!(text, "{sector:>12}  {original:>8}  {alternate:>9}{mark}").expect("text grows");
    }
    text
}

fn check(name: &str, sizes: &[u64], chunk: u64) {
    testkit::golden::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), &table(sizes, chunk));
}

#[test]
fn where_the_layouts_differ() {
    // As an array of 32 MiB + 64 KiB, 48 MiB and 80 MiB does: the first zone has an odd number of chunks, the second two members.
    check("raid0-differs.txt", &[24, 40, 64], 8);
    check("raid0-differs-late.txt", &[17, 60, 25, 60], 8);
}

#[test]
fn where_the_layouts_agree() {
    // As an array of 32 MiB, 48 MiB and 80 MiB does.
    check("raid0-agrees.txt", &[16, 24, 40], 8);
    check("raid0-equal.txt", &[24, 24, 24], 8);
}

#[test]
fn the_sizes_of_a_real_array() {
    // Sectors of 32 MiB, 48 MiB, 80 MiB with chunks of 64 KiB: no difference. 64 KiB more on the first: 65 280 sectors differ.
    let differing = |first: u64| {
        let sizes = [first, 98_304, 163_840];
        let [original, alternate] = [Raid0Layout::Original, Raid0Layout::Alternate].map(|layout| Raid0::new(&sizes, 128, layout));
        let places = (0..original.size_bytes()).filter(|&sector| original.locate(sector, 1) != alternate.locate(sector, 1));
        (places.count(), original.layouts_agree())
    };
    assert_eq!(differing(65_536), (0, true));
    assert_eq!(differing(65_536 + 128), (65_280, false));
}
