//! Where packages of Python are that tests use.

use std::path::PathBuf;

/// The folder of the packages in `tools/python-packages.txt`: `python` in the build folder.
#[must_use]
pub fn python_packages() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    test.ancestors().skip(1).map(|folder| folder.join("python")).find(|folder| folder.is_dir())
}

/// What puts them there.
pub const GET_PYTHON_PACKAGES: &str =
    "python3 -m pip install --no-deps --target target/python -r tools/python-packages.txt";
