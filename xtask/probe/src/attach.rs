//! `probe attach`: a stack as a file, for as long as the standard input stays open.

use std::io::{self, Write};
use std::path::Path;

use export::fuse::{FuseFile, FuseOptions};

/// Serves a stack in the place of a file, as `raidloom array start --attach=file` does it; says
/// `ready` when programs may come.
///
/// # Errors
/// What is wrong with the stack or the file; afterwards, what ended the serving before its time.
pub(crate) fn fuse(arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let arguments: Vec<String> = arguments.collect();
    let (target, file, workers) = match &arguments[..] {
        [target, file] => (target, file, 0),
        [target, file, workers] => {
            (target, file, workers.parse().map_err(|_| format!("{workers}: no number of workers"))?)
        }
        _ => return Err("a target and a file are needed".to_owned()),
    };
    let (device, _) = crate::build(target)?;
    let options = FuseOptions { workers, ..FuseOptions::default() };
    let mut served =
        FuseFile::mount(device, Path::new(file), &options).map_err(|error| error.to_string())?;
    println!("ready");
    io::stdout().flush().map_err(|error| error.to_string())?;
    // The process that started this closes it, be it by ending.
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| error.to_string())?;
    if let Some(error) = served.failure() {
        return Err(error.to_string());
    }
    served.unmount().map_err(|error| error.to_string())?;
    Ok("served".to_owned())
}
