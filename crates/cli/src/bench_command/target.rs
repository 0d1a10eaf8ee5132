//! What a target's text means: a folder on a file system in use, or a stack whose files are
//! opened through the guard.

use std::fs;
use std::path::{Path, PathBuf};

use bench::suite::{TargetKind, explain, folder};
use block::{Error, ErrorKind, Node};
use host::guard::{Access, Guard};
use stack::{BuildContext, ImageServer, OpenFiles, RbdImage, Stack};

use super::arguments::TargetArguments;
use super::flags::Said;
use crate::failure::Failure;
use crate::output::Output;

/// Opens what the target names, through the guard. Files that `--create` made go when the command
/// ends, however it ends.
pub(super) struct Opener(Guard);

impl Opener {
    pub(super) fn new(consent: host::guard::Consent) -> Opener {
        Opener(Guard::new(consent))
    }

    /// Removes what was made, what is there to stay too.
    fn undo(&self) {
        say(&self.0.undo_made());
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        say(&self.0.remove_made());
    }
}

fn say(problems: &[String]) {
    problems.iter().for_each(|problem| escape::err(&format!("raidloom: {problem}")));
}

impl OpenFiles for Opener {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<fs::File, Error> {
        if let Some(bytes) = create {
            folder::check_limit(bytes).map_err(|error| error.at(path.display()))?;
            self.0.make_file(path, bytes, |_| Ok::<(), Error>(()))?;
        }
        if path.is_dir() {
            let text = format!(
                "{}: a folder. A raw target is measured here: name a file in it, with --create \
                SIZE to make one",
                path.display()
            );
            return Err(Error::new(ErrorKind::Refused, text));
        }
        self.0.open(path, if read_only { Access::Read } else { Access::Write }).map_err(|error| {
            match error.kind() {
                ErrorKind::NotFound => error.at("no such file; --create SIZE makes it"),
                _ => error,
            }
        })
    }

    fn open_kept(&self, path: &Path, size_bytes: u64) -> Result<fs::File, Error> {
        self.0.open_kept(path, size_bytes)
    }

    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, Error> {
        self.0.serve_image(image)
    }

    fn promise_memory(&self, bytes: u64) -> Result<(), Error> {
        self.0.promise_memory(bytes)
    }
}

/// Whether a stack lies on a file somewhere.
fn has_file(node: &Node) -> bool {
    match node {
        Node::Leaf { scheme, .. } => scheme == "file",
        Node::Layer { children, .. } => children.iter().any(has_file),
        Node::Missing => false,
    }
}

/// What is measured.
pub(super) enum Subject {
    /// A folder.
    Folder(PathBuf),
    /// A stack; what it stands on is open as long as the opener lives.
    Stack {
        /// The devices. Before the opener, so that they are closed before made files are removed.
        stack: Box<Stack>,
        /// Holds the files.
        _opener: Box<Opener>,
    },
}

impl Subject {
    /// Opens what the text names, if the suite can be run on it.
    pub(super) fn open(
        output: &Output,
        said: &Said,
        arguments: &TargetArguments,
    ) -> Result<Subject, Failure> {
        let suite = said.suite;
        let create = match &arguments.create {
            Some(text) => Some(output.size("--create", text)?),
            None => None,
        };
        let path = Path::new(&arguments.target);
        let kind =
            if path.is_dir() && create.is_none() { TargetKind::Folder } else { TargetKind::Device };
        if !suite.targets.contains(&kind) {
            let missing = if path.exists() || kind == TargetKind::Folder {
                ""
            } else {
                " (there is no folder of this name)"
            };
            let text = format!(
                "{}: {} runs on {}{missing}",
                arguments.target,
                suite.name,
                explain::targets(suite)
            );
            return Err(Failure::usage(text));
        }
        said.fits(kind, arguments.read_only)?;
        if kind == TargetKind::Folder {
            if let Some(flag) = arguments.consent.flags().first() {
                return Err(Failure::usage(format!(
                    "{flag}: {}: in a folder nothing is overwritten",
                    arguments.target
                )));
            }
            return Ok(Subject::Folder(path.to_owned()));
        }
        if create.is_some() && !has_file(&stack::parse(&arguments.target).map_err(Error::from)?) {
            return Err(Failure::usage(format!(
                "--create: {}: there is no file in it that could be made",
                arguments.target
            )));
        }
        let opener = Opener::new(arguments.consent.clone().into());
        let context = BuildContext {
            files: &opener,
            seed: arguments.seed,
            read_only: arguments.read_only,
            create_bytes: create,
            emulate: false,
        };
        let stack = stack::parse_and_build(&arguments.target, &context).map_err(Failure::from);
        let stack = stack.and_then(|stack| {
            if !arguments.read_only {
                opener.0.refuse_stray_consent()?;
            }
            Ok(stack)
        });
        let stack = stack.inspect_err(|_| opener.undo())?;
        stack.notes.iter().for_each(|note| output.note(note));
        Ok(Subject::Stack { stack: Box::new(stack), _opener: Box::new(opener) })
    }
}
