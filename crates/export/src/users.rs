//! Who has a path open, as far as `/proc` tells this user: for the error of whoever wants to take it away.

use std::fmt;
use std::fs;
use std::path::Path;

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct User {
    process: u32,
    name: String,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.process, self.name)
    }
}

/// A process that has `path` open under this name.
pub(crate) fn of(path: &Path) -> Option<User> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find_map(|process: u32| {
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        // The links are read and not followed: following one could wait for a server that is gone.
        let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        targets.any(|target| target == path).then(|| {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            User { process, name: name.trim_end().to_owned() }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_a_file_open_is_found_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("file");
        let open = fs::File::create(&path).unwrap();
        let user = of(&path).unwrap();
        assert_eq!(user.process, std::process::id());
        assert!(user.to_string().starts_with(&format!("process {} (", user.process)), "{user}");
        drop(open);
        assert_eq!(of(&path), None);
    }
}
