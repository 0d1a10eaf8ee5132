//! Stack text to tree and back, and what is said about wrong text.

use block::Node;
use reactor::Random;
use stack::parse;
use stack::table::{LAYERS, LEAVES, OptionRow, ValueKind};

#[test]
fn reads_the_notation() {
    let a = || Node::leaf("file", "a.img");
    let b = || Node::leaf("file", "/dev/disk/by-id/ata-B:1");
    for (text, expected) in [
        ("a.img", a()),
        (" file:a.img\n", a()),
        ("\"my file (1).img\"", Node::leaf("file", "my file (1).img")),
        ("file:\"a \\\"b\\\" \\\\c\"", Node::leaf("file", "a \"b\" \\c")),
        ("missing", Node::Missing),
        ("./missing", Node::leaf("file", "./missing")),
        ("\"missing\"", Node::leaf("file", "missing")),
        ("a.img?size=4GiB&direct=no", a().with("size", "4GiB").with("direct", "no")),
        ("ram:100MiB?block=4096", Node::leaf("ram", "100MiB").with("block", "4096")),
        (
            "raid0(chunk=64KiB, file:a.img, /dev/disk/by-id/ata-B:1)",
            Node::layer("raid0", vec![a(), b()]).with("chunk", "64KiB"),
        ),
        (
            "raid0(a.img,missing,layout = alternate)",
            Node::layer("raid0", vec![a(), Node::Missing]).with("layout", "alternate"),
        ),
        (
            "linear(\n  raid0(a.img, ram:1GiB),\n\tnull:1TiB\n)",
            Node::layer(
                "linear",
                vec![
                    Node::layer("raid0", vec![a(), Node::leaf("ram", "1GiB")]),
                    Node::leaf("null", "1TiB"),
                ],
            ),
        ),
    ] {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn of_a_long_line_the_part_around_the_place_is_drawn() {
    for (text, shown, under) in [
        (format!("raid0({}, fil:a)", "a.img, ".repeat(20_000)), "a.img, , fil:a)", "^"),
        (format!("raid0(a.img){}", "b".repeat(100_000)), "  raid0(a.img)bbbb", "  ^^^^"),
        (format!("raid0(fil:a, {})", "a.img, ".repeat(20_000)), "  raid0(fil:a, a.img", "   ^^^\n"),
    ] {
        let error = parse(&text).expect_err("wrong");
        for said in [error.to_string(), error.line().to_string()] {
            assert!(said.starts_with("stack text") && said.chars().count() < 900, "{said}");
        }
        let said = error.to_string() + "\n";
        assert!(said.contains(shown) && said.contains(under) && said.contains('…'), "{said}");
    }
    assert!(
        parse("raid0(a.img)b").expect_err("wrong").to_string().contains("\n              ^"),
        "drawn"
    );
}

/// A value that the option takes.
fn value(takes: ValueKind, random: &mut Random) -> String {
    match takes {
        ValueKind::Size => stack::size::text(random.u64(1..1 << 40)),
        ValueKind::Copies => ["n2", "f3", "o2", "n2f2"][random.usize(..4)].to_owned(),
        ValueKind::Count => random.u64(..).to_string(),
        ValueKind::Fraction => format!("{:.3}", random.f64()),
        ValueKind::Duration => format!("{}us", random.u16(..)),
        ValueKind::Word(words) => words[random.usize(..words.len())].to_owned(),
        ValueKind::Ranges => (0..random.usize(1..4))
            .map(|at| format!("{at}MiB+{}", random.u16(..)))
            .collect::<Vec<_>>()
            .join(";"),
        ValueKind::Export => format!("//{}", value(ValueKind::Path, random)),
        ValueKind::Image => ["p/a", "p/n/a", "p/a@s"][random.usize(..3)].to_owned(),
        ValueKind::Path | ValueKind::Name => {
            let letters: Vec<char> = "ab/.-:=?&\\\"'(), \t\nµ漢é%#[]{}".chars().collect();
            (0..random.usize(1..12)).map(|_| letters[random.usize(..letters.len())]).collect()
        }
    }
}

fn options(rows: &[OptionRow], random: &mut Random) -> Vec<(String, String)> {
    let mut rows: Vec<&OptionRow> = rows.iter().filter(|_| random.bool()).collect();
    random.shuffle(&mut rows);
    rows.into_iter().map(|row| (row.name.to_owned(), value(row.takes, random))).collect()
}

fn tree(depth: u32, random: &mut Random) -> Node {
    if depth == 0 || random.u8(..4) == 0 {
        if random.u8(..8) == 0 {
            return Node::Missing;
        }
        let row = &LEAVES[random.usize(..LEAVES.len())];
        let address = value(row.address, random);
        return Node::Leaf {
            scheme: row.name.to_owned(),
            address,
            options: options(row.options, random),
        };
    }
    let row = &LAYERS[random.usize(..LAYERS.len())];
    let count = random.usize(row.members.0..=row.members.1.min(row.members.0.max(4)));
    let children = (0..count).map(|_| tree(depth - 1, random)).collect();
    Node::Layer { name: row.name.to_owned(), options: options(row.options, random), children }
}

#[test]
fn what_a_tree_prints_reads_as_that_tree() {
    for seed in 0..5000 {
        let node = tree(3, &mut Random::with_seed(seed));
        assert_eq!(parse(&node.to_string()), Ok(node.clone()), "seed {seed}: {node}");
    }
}

#[test]
fn no_text_breaks_the_parser() {
    for seed in 0..5000 {
        let mut random = Random::with_seed(seed);
        // A good text with a few letters changed, so that every state is reached.
        let mut text: Vec<char> = tree(3, &mut random).to_string().chars().collect();
        for _ in 0..random.usize(1..4) {
            let letters: Vec<char> = "(),:=?&\"\\ aµ\n".chars().collect();
            let at = random.usize(..=text.len());
            match random.u8(..3) {
                0 if at < text.len() => drop(text.remove(at)),
                1 if at < text.len() => text[at] = letters[random.usize(..letters.len())],
                _ => text.insert(at, letters[random.usize(..letters.len())]),
            }
        }
        let text: String = text.into_iter().collect();
        match parse(&text) {
            Ok(node) => assert_eq!(parse(&node.to_string()), Ok(node), "seed {seed}: {text}"),
            Err(error) => {
                assert!(text.is_char_boundary(error.position), "seed {seed}: {text}");
                assert!(
                    text[error.position..].starts_with(&error.found) || error.found == "\"\"",
                    "seed {seed}: {error}"
                );
                assert!(error.to_string().lines().count() >= 2, "seed {seed}: {error}");
            }
        }
    }
}

/// `golden/text-errors.txt`: a line `> text` (`\n` stands for a new line), then the message.
/// `RAIDLOOM_BLESS=1` writes it anew.
#[test]
fn wrong_texts_are_explained() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/text-errors.txt");
    let golden = std::fs::read_to_string(path).expect("the golden file");
    let mut written = String::new();
    for text in golden.lines().filter_map(|line| line.strip_prefix("> ")) {
        let error = parse(&text.replace("\\n", "\n")).expect_err(text);
        written += &format!("> {text}\n{error}\n\n");
    }
    testkit::golden::check(path, &written);
    assert!(written.matches("\n\n").count() > 25);
}

#[test]
fn a_tower_of_layers_is_refused_before_it_falls() {
    let text = format!("{}ram:1MiB{}", "linear(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&text).expect_err("too deep").to_string().contains("at most 64 layers"));
}
