//! A child process with what it cost.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

/// What a child printed and used up.
pub(crate) struct Finished {
    /// What it printed.
    pub(crate) output: String,
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Processor time of the process, its threads (the kernel's workers for its ring among them)
    /// and its own children.
    pub(crate) cpu_seconds: f64,
    /// The most memory it had at once.
    pub(crate) peak_bytes: u64,
    /// From start to end.
    pub(crate) seconds: f64,
}

/// Runs `command` to its end, with its stdout taken and stderr let through.
///
/// # Errors
/// When it cannot be started or waited for.
pub(crate) fn finish(command: &mut Command) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("{name} cannot be started: {error}"))?;
    let mut output = String::new();
    let mut pipe = child.stdout.take().expect("stdout was piped");
    pipe.read_to_string(&mut output).map_err(|error| format!("{name}: its output: {error}"))?;
    let used = child.wait4().map_err(|error| format!("{name}: waiting for it: {error}"))?;
    Ok(Finished {
        output,
        code: used.status.code(),
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The same, for a command that has to succeed.
///
/// # Errors
/// Also when it ends with another exit code than 0.
pub(crate) fn succeed(command: &mut Command) -> Result<Finished, String> {
    let finished = finish(command)?;
    if finished.code == Some(0) {
        return Ok(finished);
    }
    let name = command.get_program().to_string_lossy();
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let code = finished.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
    Err(format!("`{name} {}` ended with {code}", arguments.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_measured() {
        let finished = succeed(
            Command::new("sh")
                .args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"]),
        )
        .expect("sh runs");
        assert_eq!(finished.output, "done\n");
        assert!(
            finished.cpu_seconds > 0.0 && finished.peak_bytes > 100_000 && finished.seconds > 0.0
        );
    }

    #[test]
    fn a_child_that_fails_is_told_with_its_command() {
        let error = succeed(Command::new("sh").args(["-c", "exit 3"])).err().expect("exit code 3");
        assert!(error.contains("exit 3") && error.contains("exit code 3"), "{error}");
    }
}
