//! How the page looks at three widths, light and dark, in both languages, held against pictures
//! that were looked at; and what it tells those who do not see it.
//!
//! Without Chromium these tests say so and pass, except where `CI=true`: there it must be
//! installed. `RAIDLOOM_PICTURES=1` puts the pictures themselves into `target/screenshots`, to be
//! looked at; `RAIDLOOM_BLESS=1` keeps their tiles (`tests/golden/pictures.txt`).

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use std::path::{Path, PathBuf};

use results::analyse;
use testkit::{Browser, KeptPictures, chromium};
use words::{Language, in_language};

const WIDTHS: [u32; 3] = [380, 1024, 1920];

/// Parts that are pictured.
const PARTS: [(&str, &str); 5] = [
    ("decision", ".answer"),
    ("card", ".to-post svg"),
    ("scores", "[aria-labelledby=scores]"),
    ("ratios", "[aria-labelledby=ratios]"),
    ("trials", "[aria-labelledby=trials]"),
];

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pictures.txt")
}

/// The page in a language, written where a browser reads it.
fn written(folder: &Path, language: Language) -> PathBuf {
    let run = fixture::small();
    let page = in_language(language, || report::html(&run, &analyse(&run)));
    let path = folder.join(format!("{}.html", language.tag()));
    std::fs::write(&path, page).unwrap();
    path
}

/// With the table of all trials open, as the filters show it.
fn open(browser: &mut Browser, path: &Path) {
    browser.open(&format!("file://{}", path.display()));
    browser.value("document.querySelector('#every').open = true");
    browser.until("document.querySelector('#every tbody tr')");
}

#[test]
fn the_page_looks_as_it_did() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    std::fs::create_dir_all(&screenshots).unwrap();
    let mut browser = Browser::start(&chromium);
    let mut pictures = KeptPictures::open(kept());
    for language in Language::ALL {
        let path = written(folder.path(), language);
        browser.open(&format!("file://{}", path.display()));
        if language == Language::Japanese && !browser.draws_japanese_as_debian() {
            pictures.leave_out(" ja");
            continue;
        }
        for width in WIDTHS {
            for (dark, scheme) in [(false, "light"), (true, "dark")] {
                browser.resize(width, dark);
                open(&mut browser, &path);
                let name = format!("{width} {scheme} {}", language.tag());
                for (part, selector) in PARTS {
                    pictures.hold(&format!("{part} {name}"), browser.tiles(selector));
                }
                // Drawing all of it takes seconds, for who looks at it alone.
                if std::env::var_os("RAIDLOOM_PICTURES").is_some() {
                    let file = format!("page-{}.png", name.replace(' ', "-"));
                    browser.picture(&screenshots.join(file));
                }
            }
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(pictures.differences(), Vec::<String>::new());
}

/// What would be seen at a glance is found: a part that is gone, text in the colour of its ground,
/// the colours of the other scheme, a page without its style.
#[test]
fn a_page_that_looks_otherwise_is_found() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Language::English);
    let kept = KeptPictures::open(kept());
    let mut browser = Browser::start(&chromium);
    browser.resize(1024, false);
    let style = |rule: &str| {
        format!(
            "document.head.append(Object.assign(document.createElement('style'), \
             {{ textContent: '{rule}' }}))"
        )
    };
    for (part, selector, planted) in [
        ("decision", ".answer", style(".answer .facts { visibility: hidden }")),
        ("decision", ".answer", style(".answer { background: #242a30 !important }")),
        ("decision", ".answer", style(".answer .shows { padding-left: 30rem }")),
        ("card", ".to-post svg", style(".to-post svg text { fill: transparent !important }")),
        (
            "ratios",
            "[aria-labelledby=ratios]",
            style(".heat td { --tint: 100% !important; --side: #000 }"),
        ),
        ("trials", "[aria-labelledby=trials]", style(".every tbody { display: none !important }")),
        ("decision", ".answer", "document.querySelector('style').remove()".to_owned()),
    ] {
        open(&mut browser, &path);
        let known = kept.find(&format!("{part} 1024 light en")).expect("a picture that was kept");
        let distance = known.distance(&browser.tiles(selector));
        assert!(distance.is_small(), "{part} as it is: {distance:?}");
        browser.value(&planted);
        let distance = known.distance(&browser.tiles(selector));
        assert!(!distance.is_small(), "{planted} was not seen: {distance:?}");
    }
}

/// "axe-core without findings": at either end of what a page is shown at, closed and with all of
/// its tables open.
#[test]
fn what_is_heard_has_names_and_order() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Browser::start(&chromium);
    for language in Language::ALL {
        let path = written(folder.path(), language);
        for (width, dark) in [(380, true), (1024, false)] {
            browser.resize(width, dark);
            open(&mut browser, &path);
            assert_eq!(browser.findings(), Vec::<String>::new(), "{language:?}");
            browser
                .value("document.querySelectorAll('details').forEach((part) => part.open = true)");
            assert_eq!(browser.findings(), Vec::<String>::new(), "{language:?}, all open");
            assert_eq!(browser.axe(), Vec::<String>::new(), "{language:?}");
        }
    }
    // Planted.
    browser.value(
        "document.querySelector('main').insertAdjacentHTML('beforeend', \
         '<button></button><h5>deep</h5><input><div tabindex=0></div>')",
    );
    if testkit::python_packages().is_some() {
        assert!(!browser.axe().is_empty(), "axe-core finds what was planted");
    }
    let found = browser.findings().join("\n");
    for expected in ["button without", "skips a level", "textbox without", "generic without"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}
