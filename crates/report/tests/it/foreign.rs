//! Text from strangers: whatever a plan, a superblock or a file is called, no output is steered by
//! it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use report::Style;
use results::analyse;
use results::types::Run;
use serde_json::Value;

/// What a name may hold that somebody else chose: a title and a clipboard for the terminal, a
/// cleared screen, C1's one-character form of the same, a line that looks like ours, a turned
/// direction of writing, and a character that is not seen.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[2J\u{9b}31m\u{7f}\rraidloom: all is well\n# forged\t\u{202e}gpj\u{2066}\u{200b}\u{feff}";

/// Every string of a document that is not a name in a list of known words, with the hostile text
/// after it.
fn poison(value: &mut Value, key: &str, hostile: &str) {
    // Words of a fixed set, and a time that is read.
    const KNOWN: &[&str] =
        &["schema", "clock", "ground", "caches", "code", "group", "better", "metric", "started"];
    match value {
        Value::String(text) if !KNOWN.contains(&key) => *text = format!("{hostile}{text}{hostile}"),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key, hostile)),
        Value::Object(entries) => {
            let foreign = key == "suite_settings" || key == "settings";
            let poisoned = std::mem::take(entries).into_iter().map(|(name, mut value)| {
                poison(&mut value, &name, hostile);
                (if foreign { format!("{hostile}{name}{hostile}") } else { name }, value)
            });
            *entries = poisoned.collect();
        }
        _ => {}
    }
}

/// A run in which whatever is not a number or a word of ours is hostile, present and future fields
/// alike.
fn poisoned(hostile: &str) -> Run {
    let mut run = fixture::small();
    run.trials[7].flags.push(results::Doubt::Note { text: "a flag".into() });
    run.notes.push("a note".into());
    let mut document =
        serde_json::json!({ "plan": run.plan, "host": run.host, "trials": run.trials });
    poison(&mut document, "", hostile);
    let read = |part: &str| document[part].clone();
    Run {
        plan: serde_json::from_value(read("plan")).unwrap(),
        host: serde_json::from_value(read("host")).unwrap(),
        trials: serde_json::from_value(read("trials")).unwrap(),
        notes: run.notes.iter().map(|note| format!("{hostile}{note}{hostile}").into()).collect(),
        steps: Vec::new(),
    }
}

/// Characters that steer a terminal, or that a reader does not see although they change what is
/// seen.
fn steers(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
        || matches!(
            character,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}'
        )
}

fn assert_harmless(what: &str, text: &str) {
    let found = text.char_indices().find(|(_, character)| steers(*character));
    let around = |at: usize| text[at..].chars().take(60).collect::<String>();
    assert_eq!(found, None, "in {what}: {:?}", found.map(|(at, _)| around(at)));
    // What ends a line in the page's source ends none in what is read.
    for line in text.lines().filter(|_| !text.starts_with("<!DOCTYPE html>")) {
        assert!(
            !line.starts_with("raidloom: all is well") && !line.starts_with("# forged"),
            "a line of {what} is forged"
        );
    }
}

#[test]
fn names_do_not_steer_the_terminal_the_markdown_the_page_or_the_table() {
    let run = poisoned(HOSTILE);
    let analysis = analyse(&run);
    assert!(
        !analysis.comparisons.is_empty() && !analysis.warnings.is_empty(),
        "the poisoned run still has something to say"
    );
    assert_harmless("the text", &report::text(&run, &analysis, Style { color: false, width: 100 }));
    assert_harmless("report.md", &report::markdown(&run, &analysis));
    assert_harmless("the JSON", &report::json(&run, &analysis));
    assert_harmless("summary.csv", &report::csv(&run, &analysis).replace("\r\n", "\n"));
    let page = report::html(&run, &analysis);
    assert_harmless("the page", &page);
    // The data in the page is still JSON, and still says what the name is.
    let data = page
        .split("type=\"application/json\">")
        .nth(1)
        .and_then(|rest| rest.split("</script>").next())
        .unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["name"], run.plan.name);
    let document: Value = serde_json::from_str(&report::json(&run, &analysis)).unwrap();
    assert_eq!(document["plan"]["name"], run.plan.name);
    // With colour there are the report's own sequences and no others.
    let colored = report::text(&run, &analysis, Style { color: true, width: 100 });
    assert!(colored.contains("\x1b[1m"));
    let own = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
    assert_harmless(
        "the coloured text",
        &own.iter().fold(colored.to_string(), |text, sequence| text.replace(sequence, "")),
    );
}

/// A spreadsheet runs what begins with `=`, `+`, `-` or `@`, in either width, also after a tab, and
/// after a separator of its own.
#[test]
fn no_cell_of_the_summary_is_a_formula() {
    for start in ["=", "+", "-", "@", "\t=", "\r=", "＝", "＋", "－", "＠", "a;=", " ;@", "|;+"]
    {
        let run = poisoned(&format!("{start}cmd|' /C calc'!A0"));
        let text = report::csv(&run, &analyse(&run));
        for separator in [',', ';', '\t'] {
            for cell in text.split(['\n', '\r', separator]) {
                let cell = cell.trim_start_matches(['"', ' ']);
                assert!(
                    cell.parse::<f64>().is_ok()
                        || !cell
                            .starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']),
                    "{start:?}: {cell:?}"
                );
            }
        }
        assert!(text.contains("calc"), "the name is there all the same");
    }
}
