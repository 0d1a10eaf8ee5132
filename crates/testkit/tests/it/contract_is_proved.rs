//! Every sentence of `docs/contract.md` is quoted, word for word, by the comment of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The numbered sentences: lines of the form `* **C1** sentence`.
fn sentences(text: &str) -> BTreeMap<String, String> {
    let mut sentences = BTreeMap::new();
    for line in text.lines() {
        let Some((number, sentence)) =
            line.strip_prefix("* **").and_then(|line| line.split_once("** "))
        else {
            continue;
        };
        let again = sentences.insert(number.to_owned(), sentence.trim().to_owned());
        assert!(again.is_none(), "{number} is there twice");
    }
    sentences
}

/// The comments that stand right above a `#[test]`, each as one line.
fn comments_of_tests(text: &str) -> Vec<String> {
    let mut comments = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("//") {
            comment.extend(words.trim_start_matches('/').split_whitespace());
        } else {
            if line == "#[test]" && !comment.is_empty() {
                comments.push(comment.join(" "));
            }
            comment.clear();
        }
    }
    comments
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.expect("a folder's entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sentences that no comment quotes, and the comments that quote a sentence wrongly.
fn missing(sentences: &BTreeMap<String, String>, comments: &[String]) -> Vec<String> {
    let unquoted = sentences.iter().filter(|(number, sentence)| {
        let quote = format!("{number}: {sentence}");
        !comments.iter().any(|comment| comment.contains(&quote))
    });
    let mut problems: Vec<String> = unquoted
        .map(|(number, sentence)| format!("no test quotes `{number}: {sentence}`"))
        .collect();
    for comment in comments {
        for (start, _) in comment.match_indices('C') {
            let Some((number, text)) = comment[start..].split_once(": ") else { continue };
            let quotes = number.len() > 1 && number[1..].bytes().all(|byte| byte.is_ascii_digit());
            if quotes
                && !sentences
                    .get(number)
                    .is_some_and(|sentence| text.starts_with(sentence.as_str()))
            {
                problems.push(format!(
                    "a test quotes what the contract does not say: `{number}: {text}`"
                ));
            }
        }
    }
    problems
}

#[test]
fn every_sentence_of_the_contract_is_quoted_by_a_test() {
    let text =
        fs::read_to_string(root().join("docs/contract.md")).expect("docs/contract.md is there");
    let sentences = sentences(&text);
    let expected: Vec<String> = (1..=sentences.len()).map(|number| format!("C{number}")).collect();
    assert!(
        expected.iter().all(|number| sentences.contains_key(number)),
        "numbers without gaps: {:?}",
        sentences.keys()
    );
    assert!(sentences.len() >= 20, "the contract was found");
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let read = |path: &PathBuf| {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let comments: Vec<String> =
        files.iter().flat_map(|path| comments_of_tests(&read(path))).collect();
    let problems = missing(&sentences, &comments);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_sentence_without_its_test_and_a_wrong_quote_are_found() {
    let sentences = sentences("# Title\n* **C1** One holds.\n* **C2** Two holds, too.\n");
    let quoted = comments_of_tests(
        "/// C1: One\n/// holds.\n#[test]\nfn a() {}\n// C2: Two holds, too.\nfn no_test() {}\n",
    );
    assert_eq!(quoted, ["C1: One holds."]);
    assert_eq!(missing(&sentences, &quoted), ["no test quotes `C2: Two holds, too.`"]);
    let wrong = comments_of_tests("// C1: One holds. C2: Two holds.\n#[test]\n");
    assert_eq!(missing(&sentences, &wrong).len(), 2, "not quoted, and quoted wrongly");
    let all = comments_of_tests("// C1: One holds.\n// C2: Two holds, too.\n#[test]\n");
    assert!(missing(&sentences, &all).is_empty());
}
