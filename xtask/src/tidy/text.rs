//! Rules about all text: how lines end, nothing of one machine in it, links that lead somewhere.

use super::{Finding, Tree};

/// Files that tools write and we only keep.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock", "fuzz/Cargo.lock"];

fn ours(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts().filter(|(path, _)| !WRITTEN_BY_TOOLS.contains(path))
}

/// Trailing blanks, foreign line ends, and files that do not end with exactly one line end.
///
/// Golden files and snapshots are what a program printed, byte for byte, and stay as they are.
pub(crate) fn endings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // What holds other programs' output byte by byte, or bytes for their own sake.
    let exact = |path: &str| {
        path.contains("/golden/") || path.ends_with(".trycmd") || path.starts_with("fuzz/seeds/")
    };
    for (path, text) in ours(tree).filter(|(path, _)| !exact(path)) {
        let mut blank =
            text.split('\n').enumerate().filter(|(_, line)| line.ends_with([' ', '\t', '\r']));
        if let Some((index, _)) = blank.next() {
            let message = match blank.count() {
                0 => "blanks at the end of the line".to_owned(),
                more => format!("blanks at the end of the line, and of {more} lines after it"),
            };
            findings.push(Finding::error("ending", path, index + 1, message));
        }
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            findings.push(Finding::error(
                "ending",
                path,
                text.lines().count(),
                "a file ends with exactly one line end",
            ));
        }
    }
    findings
}

/// Folders of one machine. Written in halves, so that this file does not break its own rule.
const MACHINE_PATHS: &[&str] =
    &[concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];

/// Hosts of package registries and mirrors: which one is used is the machine's affair.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("static.rust", "-lang.org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("repo.maven", ".apache.org"),
    concat!("repo1.maven", ".org"),
    concat!("deb.debian", ".org"),
    concat!("security.debian", ".org"),
];

/// Paths and hosts that only one machine or network knows.
pub(crate) fn machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in ours(tree) {
        for (index, line) in text.lines().enumerate() {
            for folder in MACHINE_PATHS {
                let absolute = line.match_indices(folder).any(|(at, _)| {
                    // In `a/work/b` or `~/work/` the folder is part of a longer path.
                    !line[..at].ends_with(|letter: char| {
                        letter.is_alphanumeric() || "._-~})>$*".contains(letter)
                    })
                });
                if absolute {
                    findings.push(Finding::error(
                        "machine",
                        path,
                        index + 1,
                        format!("the absolute path {folder}… is there on one machine only"),
                    ));
                }
            }
            for host in REGISTRY_HOSTS.iter().filter(|host| line.contains(**host)) {
                findings.push(Finding::error(
                    "machine",
                    path,
                    index + 1,
                    format!("names the registry host {host}"),
                ));
            }
        }
    }
    findings
}

/// Links in Markdown that lead nowhere.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(line) {
                let place = target.split('#').next().unwrap_or_default();
                let elsewhere = target.contains("://") || target.starts_with("mailto:");
                if elsewhere || place.is_empty() {
                    continue;
                }
                if !resolve(folder, place)
                    .is_some_and(|resolved| resolved.is_empty() || tree.paths.contains(&resolved))
                {
                    findings.push(Finding::error(
                        "link",
                        path,
                        index + 1,
                        format!("leads nowhere: {target}"),
                    ));
                }
            }
        }
    }
    findings
}

/// What the links and pictures of a line of Markdown lead to; code between backquotes holds none.
fn targets(line: &str) -> Vec<String> {
    let prose: String = line
        .split('`')
        .enumerate()
        .filter(|(index, _)| index % 2 == 0)
        .map(|(_, part)| part)
        .collect();
    let inline =
        prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split([')', ' ']).next());
    let named =
        prose.match_indices("src=\"").filter_map(|(at, _)| prose[at + 5..].split('"').next());
    inline.chain(named).map(str::to_owned).collect()
}

/// `place` as seen from `folder`, from the root of the project; `None` when it leaves the project.
fn resolve(folder: &str, place: &str) -> Option<String> {
    if place.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in place.split('/') {
        match part {
            "" | "." => (),
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn blanks_at_the_end_and_a_missing_line_end_are_found() {
        for planted in ["a \n", "a\t\nb\n", "a\r\n", "a", "a\n\n"] {
            assert_eq!(found(endings, &[("plans/a.toml", planted)]).len(), 1, "{planted:?}");
        }
        assert!(
            found(
                endings,
                &[
                    ("plans/a.toml", "a\n\nb\n"),
                    ("empty", ""),
                    ("Cargo.lock", "a "),
                    ("crates/a/tests/golden/a.csv", "a\r\n"),
                    ("tests/cli/a.trycmd", "a \n")
                ]
            )
            .is_empty()
        );
    }

    #[test]
    fn paths_and_hosts_of_one_machine_are_found() {
        for folder in MACHINE_PATHS {
            assert_eq!(
                found(machine, &[("docs/a.md", &format!("see {folder}somewhere\n"))]).len(),
                1,
                "{folder}"
            );
        }
        for host in REGISTRY_HOSTS {
            assert_eq!(
                found(machine, &[("docs/a.md", &format!("from https://{host}/x\n"))]).len(),
                1,
                "{host}"
            );
        }
        let part = format!("folder{}x\n", MACHINE_PATHS[0]);
        assert!(found(machine, &[("docs/a.md", &part)]).is_empty());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let errors = found(
            links,
            &[(
                "docs/a.md",
                "[b](b.md) and ![c](images/c.png)\n\n[out](../../x)\n[absolute](/etc/fstab)\n",
            )],
        );
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].starts_with("docs/a.md:1: error: leads nowhere: b.md"), "{errors:?}");
    }

    #[test]
    fn links_that_lead_somewhere_are_not() {
        let page = "[b](b.md#part) [up](../README.md) [folder](..) [here](#a) \
            [web](https://example.org) `[no](link)`\n```\n[no](link)\n```\n";
        assert!(
            found(
                links,
                &[("docs/a.md", page), ("docs/b.md", ""), ("README.md", "[docs](docs/)\n")]
            )
            .is_empty()
        );
    }
}
