//! The examples of `docs/extending.md`: each is whole, small, and tested as the real ones are.

mod export;
mod layer;
mod leaf;
mod level;
mod suite;

/// The page shows what compiles: each of its pieces of Rust stands in one of these files, word for
/// word, and each file is shown.
#[test]
fn the_page_quotes_these_files() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/docs/extending.md")).expect("the page");
    let quotes: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let files = [
        ("export.rs", include_str!("export.rs")),
        ("layer.rs", include_str!("layer.rs")),
        ("leaf.rs", include_str!("leaf.rs")),
        ("level.rs", include_str!("level.rs")),
        ("suite.rs", include_str!("suite.rs")),
    ];
    for (name, text) in files {
        assert!(quotes.iter().any(|quote| text.contains(quote)), "{name} is not on the page");
    }
    for quote in quotes {
        assert!(files.iter().any(|(_, text)| text.contains(quote)), "in no file:\n{quote}");
    }
}
