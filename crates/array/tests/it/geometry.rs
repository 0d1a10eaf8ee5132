//! Placement held against tables that were worked out from md's formula by another program, and
//! small enough to follow with a finger.

use std::fmt::Write as _;
use std::path::Path;

use array::geometry::{Parity, ParityLayout, Raid0, Raid0Layout, Raid10, Raid10Layout, Role};

fn table(sizes: &[u64], chunk: u64) -> String {
    let layouts = [Raid0Layout::Original, Raid0Layout::Alternate]
        .map(|layout| Raid0::new(sizes, chunk, layout));
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
    testkit::golden::check(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name),
        &table(sizes, chunk),
    );
}

#[test]
fn where_the_layouts_differ() {
    // As an array of 32 MiB + 64 KiB, 48 MiB and 80 MiB does: the first zone has an odd number of
    // chunks, the second two members.
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
    // Sectors of 32 MiB, 48 MiB, 80 MiB with chunks of 64 KiB: no difference. 64 KiB more on the
    // first: 65 280 sectors differ.
    let differing = |first: u64| {
        let sizes = [first, 98_304, 163_840];
        let [original, alternate] = [Raid0Layout::Original, Raid0Layout::Alternate]
            .map(|layout| Raid0::new(&sizes, 128, layout));
        let places = (0..original.size_bytes())
            .filter(|&sector| original.locate(sector, 1) != alternate.locate(sector, 1));
        (places.count(), original.layouts_agree())
    };
    assert_eq!(differing(65_536), (0, true));
    assert_eq!(differing(65_536 + 128), (65_280, false));
}

/// The rows of a table, columns of `width`.
fn grid(
    rows: usize,
    columns: usize,
    width: usize,
    cell: impl Fn(usize, usize) -> String,
) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text += "  ";
        for column in 0..columns {
            write!(text, "{:>width$}", cell(row, column)).expect("text grows");
        }
        text += "\n";
    }
    text
}

fn golden(name: &str, text: &str) {
    testkit::golden::check(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name),
        text,
    );
}

#[test]
fn every_layout_of_raid5() {
    let mut text = String::from("Data chunks of the array by row (down) and member (across).\n");
    for &layout in ParityLayout::RAID5 {
        let array = Parity::with_p(4, 50, 10, layout);
        writeln!(text, "\n{} ({}), 4 members", layout.name(), layout.code()).expect("text grows");
        text += &grid(5, 4, 5, |number, member| match array.row(number as u64).role(member) {
            Role::Data(index) => (number * 3 + index).to_string(),
            parity => format!("{parity:?}"),
        });
    }
    golden("raid5.txt", &text);
}

#[test]
fn every_layout_of_raid6() {
    let mut text = String::from(
        "Data chunks of the array by row (down) and member (across), each with the power of g that \
        Q counts it by.\n",
    );
    for &layout in ParityLayout::RAID6 {
        let array = Parity::with_p_and_q(5, 60, 10, layout);
        writeln!(text, "\n{} ({}), 5 members", layout.name(), layout.code()).expect("text grows");
        text += &grid(6, 5, 8, |number, member| match array.row(number as u64).role(member) {
            Role::Data(index) => {
                format!("{}:g{}", number * 3 + index, array.row(number as u64).exponent(member))
            }
            parity => format!("{parity:?}"),
        });
    }
    golden("raid6.txt", &text);
}

#[test]
fn layouts_of_raid10() {
    let mut text = String::from(
        "Chunks of the array by row (down) and member (across); each member has room for 3 rows in \
        each of its far parts.\n",
    );
    for (members, name) in [
        (3, "n2"),
        (4, "n2"),
        (4, "n3"),
        (3, "f2"),
        (4, "f3"),
        (3, "o2"),
        (4, "o3"),
        (5, "n2f2"),
        (4, "n2o2"),
    ] {
        let layout = Raid10Layout::from_name(name).expect("a layout");
        let rows = 3 * layout.far as usize;
        let array = Raid10::new(members, rows as u64, 1, layout);
        let mut cells = vec![vec!["-".to_owned(); members]; rows];
        for chunk in 0..array.size_bytes() {
            for place in (0..layout.copies()).map(|copy| array.locate(chunk, 1, copy)) {
                cells[place.offset as usize][place.member] = chunk.to_string();
            }
        }
        writeln!(text, "\n{name}, {members} members, {} chunks", array.size_bytes())
            .expect("text grows");
        text += &grid(rows, members, 5, |row, member| cells[row][member].clone());
    }
    golden("raid10.txt", &text);
}
