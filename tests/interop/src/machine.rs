//! The machine that runs the kernel's md, and how it is told what to do.

use std::fmt;
use std::io::{self};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Shape, Sizes, noise, roles_text};

/// The name of a member's image.
#[must_use]
pub fn member_path(folder: &Path, name: impl fmt::Display, role: usize) -> PathBuf {
    folder.join(format!("{name}.{role}"))
}

/// The names of all members' images of an array.
#[must_use]
pub fn member_paths(folder: &Path, name: &str, shape: &Shape) -> Vec<PathBuf> {
    (0..shape.members).map(|role| member_path(folder, name, role)).collect()
}

/// What the machine is to do with one array; see `arrays.sh`, where each field is described.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// `make`, `take`, …
    pub what: &'static str,
    /// What files and lines are called by.
    pub name: &'a str,
    /// The array.
    pub shape: Shape,
    /// What it holds, and from which byte of that file on.
    pub content: &'a Path,
    /// In bytes.
    pub skip: u64,
    /// Who is left out in turn.
    pub subsets: Vec<Vec<usize>>,
    /// Who is missing, fails or comes back.
    pub gone: Vec<usize>,
    /// For `mdadm --create`, after what the shape needs.
    pub options: &'a str,
}

impl<'a> Job<'a> {
    /// A job with a whole array.
    #[must_use]
    pub fn new(what: &'static str, name: &'a str, shape: Shape, content: &'a Path) -> Job<'a> {
        Job {
            what,
            name,
            shape,
            content,
            skip: 0,
            subsets: Vec::new(),
            gone: Vec::new(),
            options: "",
        }
    }

    fn line(&self) -> String {
        let subsets: Vec<String> = self.subsets.iter().map(|roles| roles_text(roles)).collect();
        let (what, name, devices) = (self.what, self.name, self.shape.devices().join(" "));
        let (content, skip, subsets, gone) =
            (self.content.display(), self.skip, subsets.join(" "), roles_text(&self.gone));
        format!(
            "{what}|{name}|{devices}|{content}|{skip}|{subsets}|{gone}|{} {}",
            self.shape.mdadm_options(),
            self.options
        )
    }
}

/// A machine with the real kernel and md on the images of one folder.
#[derive(Debug)]
pub struct Machine {
    folder: PathBuf,
    images: Vec<PathBuf>,
}

impl Machine {
    /// A machine with as many disks of these sizes as an array may need. The disks are full of old
    /// data.
    ///
    /// # Errors
    /// What kept the images from being made.
    pub fn new(folder: &Path, sizes: Sizes, seed: u64) -> io::Result<Machine> {
        let images = sizes.of_members().into_iter().zip(0_u64..).map(|(size, number)| {
            let image = folder.join(format!("disk{number}"));
            std::fs::write(&image, noise(seed + number, size as usize))?;
            Ok(image)
        });
        Ok(Machine { folder: folder.to_owned(), images: images.collect::<io::Result<_>>()? })
    }

    /// A machine with so many empty disks of so many bytes.
    ///
    /// # Errors
    /// What kept the images from being made.
    pub fn with_disks(folder: &Path, count: usize, bytes: u64) -> io::Result<Machine> {
        let images = (0..count).map(|number| {
            let image = folder.join(format!("disk{number}"));
            std::fs::File::create(&image)?.set_len(bytes)?;
            Ok(image)
        });
        Ok(Machine { folder: folder.to_owned(), images: images.collect::<io::Result<_>>()? })
    }

    /// What is missing for such a machine, with the command that installs it; `None` when all is
    /// there.
    #[must_use]
    pub fn missing() -> Option<String> {
        let in_path = |name: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path)
                .chain(["/usr/sbin".into(), "/sbin".into()])
                .any(|folder| folder.join(name).exists())
        };
        let there = |variable: &str, otherwise: &str| {
            Path::new(&std::env::var_os(variable).unwrap_or(otherwise.into())).exists()
        };
        let kernel = std::env::var_os("UML_KERNEL")
            .map_or_else(|| in_path("linux.uml"), |path| Path::new(&path).exists());
        let uml = kernel && there("UML_MODULES", "/usr/lib/uml/modules");
        let needed = [
            (uml, "user-mode-linux"),
            (in_path("mdadm"), "mdadm"),
            (in_path("mkfs.ext4"), "e2fsprogs"),
        ];
        let packages: Vec<&str> =
            needed.iter().filter(|(there, _)| !there).map(|(_, name)| *name).collect();
        (!packages.is_empty()).then(|| {
            format!("{} not there: apt-get install {}", packages.join(" and "), packages.join(" "))
        })
    }

    /// Whether the test can go on. Without what it needs it is skipped, which is said; in CI that
    /// is a failure.
    ///
    /// # Panics
    /// When something is missing and the variable `CI` is `true`.
    #[must_use]
    pub fn is_there(test: &str) -> bool {
        let Some(missing) = Machine::missing() else { return true };
        testkit::missing!("{test}: {missing}");
        false
    }

    /// Does the jobs and returns the lines that were printed about them.
    ///
    /// # Errors
    /// What the machine said when it did not do all of them.
    pub fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<String>, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        let lines: String = jobs.iter().map(|job| job.line() + "\n").collect();
        std::fs::write(self.folder.join("jobs"), lines).map_err(failed)?;
        let mut command = Command::new(here.join("uml.sh"));
        command.args(["-t", "1800"]).arg("-w").arg(&self.folder).arg(here.join("arrays.sh"));
        let output =
            command.args(&self.images).arg("--").arg(&self.folder).output().map_err(failed)?;
        let (text, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(format!("{}\n{text}\n{log}", output.status));
        }
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// What the kernel printed about the array of this name under this key; empty when nothing.
#[must_use]
pub fn said<'a>(lines: &'a [String], name: &str, key: &str) -> &'a str {
    lines
        .iter()
        .find_map(|line| {
            line.strip_prefix(name)?.strip_prefix(' ')?.strip_prefix(key)?.strip_prefix(' ')
        })
        .unwrap_or_default()
}
