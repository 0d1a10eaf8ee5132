//! Where the browser is that renders pages for tests.

use std::path::PathBuf;

/// Where Chromium lies; without it the test says so, and in CI it fails.
#[must_use]
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        crate::missing!("no Chromium to render the page with: apt-get install -y chromium");
    }
    found
}
