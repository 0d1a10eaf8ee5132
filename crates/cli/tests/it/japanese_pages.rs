//! Pages in Japanese (docs/ja) have the headings of their English ones, and their commands to the
//! letter.

use std::path::Path;

/// Each with its English page.
const PAGES: [(&str, &str); 4] = [
    ("docs/ja/README.md", "README.md"),
    ("docs/ja/first-minutes.md", "docs/first-minutes.md"),
    ("docs/ja/from-crystaldiskmark.md", "docs/from-crystaldiskmark.md"),
    ("docs/ja/studies.md", "docs/studies.md"),
];

/// Parts of a page in their order: text, and what is between lines of three backquotes.
fn parts(page: &str) -> impl Iterator<Item = (bool, &str)> {
    page.split("```\n").enumerate().map(|(place, part)| (place % 2 == 1, part))
}

/// How deep each heading is.
fn headings(page: &str) -> Vec<usize> {
    let texts = parts(page).filter(|(is_code, _)| !is_code);
    let lines = texts.flat_map(|(_, text)| text.lines()).filter(|line| line.starts_with('#'));
    lines.map(|line| line.chars().take_while(|letter| *letter == '#').count()).collect()
}

/// A line of code without its remark.
fn without_remark(line: &str) -> &str {
    let remark = line.find("# ").filter(|at| *at == 0 || line[..*at].ends_with(' '));
    line[..remark.unwrap_or(line.len())].trim_end()
}

/// The lines of code, of what a command printed only the command; and programs that are called
/// within the text.
fn commands(page: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    for (is_code, part) in parts(page) {
        if is_code {
            let is_session = part.starts_with("$ ");
            let lines = part.lines().filter(|line| !is_session || line.starts_with("$ "));
            commands.extend(lines.map(without_remark).filter(|line| !line.is_empty()));
        } else {
            let spans = part.split('`').skip(1).step_by(2);
            let is_command = |span: &&str| {
                ["raidloom ", "make ", "apt-get "].iter().any(|start| span.starts_with(start))
            };
            commands.extend(spans.filter(is_command));
        }
    }
    commands
}

#[test]
fn a_page_in_japanese_has_the_headings_and_commands_of_its_english_one() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (japanese, english) in PAGES {
        let read = |path: &str| {
            let text = std::fs::read_to_string(workspace.join(path));
            text.unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        let [ours, theirs] = [japanese, english].map(read);
        assert_eq!(headings(&ours), headings(&theirs), "headings of {japanese} and {english}");
        assert_eq!(commands(&ours), commands(&theirs), "commands of {japanese} and {english}");
        assert!(commands(&ours).len() > 3, "{japanese} has no commands");
        // Each link leads somewhere.
        let folder = workspace.join(japanese);
        let folder = folder.parent().unwrap_or(&workspace);
        for link in ours.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(folder.join(file).exists(), "{japanese}: {link}");
        }
    }
}
