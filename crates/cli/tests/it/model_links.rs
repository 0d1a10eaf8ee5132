//! `raidloom model fit` of several drives at once.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::{Command, Output};

fn fit(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(["model", "fit"]).args(words).output().unwrap()
}

#[test]
fn what_drives_share_is_said() {
    let on = |link: &str| format!("--device=model:st340015a?link={link}");
    let said = |words: &[&str]| String::from_utf8(fit(words).stdout).unwrap();
    let shared = said(&[&on("a"), &on("a")]);
    assert!(shared.contains("[link]\nname = \"shared\"\nhold = \"command\""), "{shared}");
    let apart = said(&[&on("a"), &on("b")]);
    assert!(apart.contains("# they share nothing that is in their way"), "{apart}");
    let document: serde_json::Value =
        serde_json::from_str(&said(&["--json", &on("a"), &on("a")])).unwrap();
    assert!(document["is_shared"] == true && document["hold"] == "command", "{document}");
    let refused = fit(&[&on("a"), &on("a"), "--scratch", "all"]);
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && errors.contains("for one drive"), "{errors}");
}
