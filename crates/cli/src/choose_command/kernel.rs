//! `choose --do=mdadm`: what makes the layout with the kernel's md, printed, or run where it was
//! consented to what it erases.
//!
//! ```text
//!   check ──> wipefs, mdadm --create, mkfs ──> mdadm.conf, initramfs ──> fstab, mounted
//!   nothing   <── stopped, superblocks erased ── <── put back ──          <── unmounted, put back
//!   written
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use export::tool;
use host::files::write_named;
use host::guard::Guard;
use host::system;
use lab::choose::{ChosenLayout, MakeRequest, Member, missing_folders};
use serde::Serialize;
use serde_json::json;
use words::Text;

use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::{Output, seconds};

/// What a command is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MdStep {
    /// Erases what the drives hold, and makes the array and the file system on it.
    Array,
    /// md's configuration names the array.
    Configuration,
    /// What the machine starts from has that too.
    Initramfs,
    /// It is mounted, now and whenever the machine has started.
    Mount,
}

/// A command of a shell, and what it is there for.
#[derive(Clone, Debug)]
pub(super) struct MdCommand {
    step: MdStep,
    pub(super) text: String,
}

/// The files that the commands add lines to.
const CONFIGURATIONS: [&str; 2] = ["/etc/mdadm/mdadm.conf", "/etc/fstab"];
/// What copies md's configuration to where the machine starts from, where there is such a program.
const INITRAMFS: &str = "update-initramfs";

/// What makes, mounts and starts the same with the kernel's md, on Debian and its kin.
pub(super) fn md_commands(
    layout: &ChosenLayout,
    usable_bytes: u64,
    name: &str,
    mount: Option<&Path>,
) -> Vec<MdCommand> {
    let device = escape::shell(&device(name));
    let made = layout.md_commands(usable_bytes, &device, false);
    let mut commands: Vec<MdCommand> =
        made.into_iter().map(|text| MdCommand { step: MdStep::Array, text }).collect();
    let mut add = |step, text| commands.push(MdCommand { step, text });
    let [configuration, table] = CONFIGURATIONS;
    let brief = format!("mdadm --detail --brief {device}");
    add(MdStep::Configuration, appended(&brief, configuration));
    add(MdStep::Initramfs, format!("{INITRAMFS} -u"));
    if let (Some(kind), Some(folder)) = (layout.file_system, mount) {
        let folder = escape::shell(&folder.to_string_lossy());
        add(MdStep::Mount, format!("mkdir -p {folder}"));
        let line = format!(
            "echo \"UUID=$(blkid -s UUID -o value {device}) {folder} {} defaults,nofail 0 2\"",
            kind.kind()
        );
        add(MdStep::Mount, appended(&line, table));
        add(MdStep::Mount, format!("mount {folder}"));
    }
    commands
}

/// What a command says, at the end of a file: the machine may lose its power as soon as it is done.
fn appended(command: &str, file: &str) -> String {
    format!("{command} >> {file} && sync {file}")
}

fn device(name: &str) -> String {
    format!("/dev/md/{name}")
}

/// What was there before the first command.
struct Before {
    /// None of a file that was not there.
    configurations: Vec<(&'static str, Option<String>)>,
    /// Folders that are made to mount it, the innermost first.
    missing_folders: Vec<PathBuf>,
}

/// Runs the commands. What was done is taken back where one fails or `stop` is set, and what cannot
/// be is named.
pub(super) fn run(
    output: &Output,
    making: &MakeRequest<'_>,
    commands: &[MdCommand],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let device = device(&making.name);
    let paths = check(making, &device)?;
    // What cannot be read could not be put back.
    let read = |file: &'static str| match fs::read_to_string(file) {
        Ok(text) => Ok((file, Some(text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((file, None)),
        Err(error) => Err(Failure::from_io(file, &error)),
    };
    let before = Before {
        configurations: CONFIGURATIONS.into_iter().map(read).collect::<Result<_, _>>()?,
        missing_folders: making.mount.as_deref().map(missing_folders).unwrap_or_default(),
    };
    for (number, MdCommand { step, text: command }) in commands.iter().enumerate() {
        if *step == MdStep::Initramfs && system::program(INITRAMFS).is_none() {
            output.note(&statement!(NO_INITRAMFS_PROGRAM, program = INITRAMFS));
            continue;
        }
        match output.json {
            true => output.progress(&json!({ "step": step, "command": command }).to_string()),
            false => output.progress(&format!("$ {command}")),
        }
        let done = check_stop(stop).and_then(|()| shell(command));
        // Ctrl-C at a terminal ends the command as well: what it fails with then is not why.
        let done = check_stop(stop).and(done);
        if let Err(error) = done {
            // The first erases what the drives held: that is gone, and there is no array yet.
            let left =
                if number == 0 { Vec::new() } else { undo(making, &device, &paths, &before) };
            return Err(match left.is_empty() {
                true => error.and_then_some(catalogue::TAKEN_BACK),
                false => {
                    let what = Text::joined(left, "; ");
                    error.and_then_some(statement!(STILL_LEFT, what = what))
                }
            });
        }
    }
    let taken = begun.elapsed().as_secs_f64();
    if output.json {
        return output.document(&json!({
            "name": making.name, "device": device, "mount": making.mount,
            "commands": texts(commands), "seconds": taken,
        }));
    }
    let mounted = making
        .mount
        .as_ref()
        .map_or_else(String::new, |folder| say!(MD_MOUNTED, folder = folder.display()));
    let [configuration, table] = CONFIGURATIONS;
    output.result(&say!(
        MD_MADE,
        device = device,
        mounted = mounted,
        configuration = configuration,
        table = table,
        time = seconds(taken),
    ))
}

fn check_stop(stop: &AtomicBool) -> Result<(), Failure> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::interrupted(catalogue::KERNEL_ENDED_ON_REQUEST)),
        false => Ok(()),
    }
}

/// The commands as a script has them.
pub(super) fn texts(commands: &[MdCommand]) -> Vec<&str> {
    commands.iter().map(|command| command.text.as_str()).collect()
}

/// Whether everything is there that it takes; the drives. Nothing is written.
fn check(making: &MakeRequest<'_>, device: &str) -> Result<Vec<PathBuf>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::refused(catalogue::ROOT_MAKES_MD));
    }
    if system::program("mdadm").is_none() {
        return Err(Failure::refused(catalogue::NO_MDADM));
    }
    making.check()?;
    if Path::new(device).exists() {
        return Err(Failure::refused(catalogue::ARRAY_OF_NAME).at(device));
    }
    let layout = making.layout;
    let members = layout.members.iter().chain(&layout.spares);
    let paths: Vec<PathBuf> = members.filter_map(Member::path).map(Path::to_owned).collect();
    let guard = Guard::new(making.consent.clone()).owning(making.own_arrays.clone());
    guard.check_all(&paths)?;
    Ok(paths)
}

fn shell(command: &str) -> Result<(), Failure> {
    let ran = tool::command("sh")
        .args(["-e", "-c", command])
        .output()
        .map_err(|error| Failure::from_io(catalogue::STARTING_SH, &error))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = match said.trim().lines().last() {
        Some(said) => Text::from(said),
        None => catalogue::MDADM_SAYS_NOT_WHY.into(),
    };
    let status = Text::verbatim(&ran.status);
    Err(Failure::failed(statement!(COMMAND_SAID, command = command, status = status, said = said)))
}

/// Takes back what the commands have done; what could not be.
fn undo(making: &MakeRequest<'_>, device: &str, paths: &[PathBuf], before: &Before) -> Vec<Text> {
    let mut left = Vec::new();
    let mut tell = |done: Result<(), Failure>| left.extend(done.err().map(Text::from));
    if let Some(folder) = &making.mount {
        let shown = escape::shell(&folder.to_string_lossy());
        if system::mounts().iter().any(|mount| mount.point == *folder) {
            tell(shell(&format!("umount {shown}")));
        }
    }
    for folder in before.missing_folders.iter().filter(|folder| folder.is_dir()) {
        tell(shell(&format!("rmdir {}", escape::shell(&folder.to_string_lossy()))));
    }
    if Path::new(device).exists() {
        tell(shell(&format!("mdadm --stop {}", escape::shell(device))));
    }
    for path in paths {
        let shown = escape::shell(&path.to_string_lossy());
        tell(shell(&format!("mdadm --zero-superblock --force {shown}")));
    }
    for (file, text) in &before.configurations {
        let Some(text) = text else {
            if Path::new(file).exists() {
                tell(fs::remove_file(file).map_err(|error| Failure::from_io(file, &error)));
            }
            continue;
        };
        if fs::read_to_string(file).is_ok_and(|now| now != *text && now.starts_with(text)) {
            tell(write_named(Path::new(file), text.as_bytes(), &[]));
        }
    }
    left
}
