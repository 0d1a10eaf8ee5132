//! What is left of a program when its owner ends, however that was: nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Is told the number of a process group, and waits for the end of what it is told. Then it kills
/// the group, unless it was told that it is gone, for its number may be another's from then on,
/// and removes the folders that it was started with, also where it was told of no group. (`kill
/// -KILL --` is an error to dash.)
const SCRIPT: &str = r#"if read -r group
then
read -r gone || kill -s KILL -- "-$group"
read -r _
fi
[ $# = 0 ] || rm -rf -- "$@""#;

/// A process that waits for the end of its owner's, `kill -9` included, and then ends what the
/// owner has started. It ends with this value.
#[derive(Debug)]
pub struct Watchdog {
    process: Child,
    input: Option<ChildStdin>,
}

/// Says that a group is gone.
#[derive(Debug)]
pub struct Teller(File);

impl Watchdog {
    /// Starts it, before there is anything to watch; it removes the folders, which need not be
    /// there yet, when its owner has ended.
    ///
    /// # Errors
    /// What the system says about starting a shell.
    pub fn start<'a>(folders: impl IntoIterator<Item = &'a Path>) -> io::Result<Watchdog> {
        let mut process = Command::new("sh")
            .args(["-c", SCRIPT, "watchdog"])
            .args(folders)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let input = process.stdin.take();
        Ok(Watchdog { process, input })
    }

    /// Watches over a process that leads its group.
    ///
    /// # Errors
    /// What the system says.
    pub fn watch(&mut self, leader: &Child) -> io::Result<Teller> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{}\n", leader.id()).as_bytes())?;
        Ok(Teller(File::from(input.as_fd().try_clone_to_owned()?)))
    }
}

impl Teller {
    /// The group that was watched is gone.
    pub fn gone(mut self) {
        // Where nobody listens, nobody would kill it either.
        let _ = self.0.write_all(b"gone\n");
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    /// Ends the watchdog as the end of its owner would.
    fn end_of_owner(mut watchdog: Watchdog) {
        drop(watchdog.input.take());
        watchdog.process.wait().unwrap();
    }

    #[test]
    fn what_is_watched_ends_with_the_owner_and_folders_go() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::fs::create_dir(&own).unwrap();
        let mut watchdog = Watchdog::start([own.as_path()]).unwrap();
        let mut watched = sleeper();
        drop(watchdog.watch(&watched).unwrap());
        end_of_owner(watchdog);
        // It would sleep for long, had it not been killed.
        assert!(!watched.wait().unwrap().success());
        assert!(!own.exists());
    }

    #[test]
    fn what_is_gone_is_left_alone() {
        let mut watchdog = Watchdog::start([]).unwrap();
        let mut watched = sleeper();
        watchdog.watch(&watched).unwrap().gone();
        end_of_owner(watchdog);
        assert!(watched.try_wait().unwrap().is_none(), "its number might be another's");
        watched.kill().unwrap();
        watched.wait().unwrap();
        // Told of nothing, it ends too, and folders go.
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        let watchdog = Watchdog::start([own.as_path()]).unwrap();
        std::fs::create_dir(&own).unwrap();
        end_of_owner(watchdog);
        assert!(!own.exists());
    }
}
