//! What is to be served, and how: from flags, and as a file for arrays that are started again and
//! again.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::Node;
use export::RemovalPolicy;
use export::image::Image;
use host::Error;
use host::mount::FileSystem;
use serde::{Deserialize, Serialize};
use stack::table::{OptionRow, ValueKind};
use words::{Text, statement};

use crate::catalogue;
use crate::runtime;

/// How a stack appears on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attach {
    /// Not at all.
    #[default]
    No,
    /// As a file, and as a block device where the kernel has loop devices and we may make them.
    Yes,
    /// As a file only.
    File,
    /// As a block device of the kernel's ublk driver.
    Ublk,
}

/// A file system that is mounted when the array is there, and unmounted before it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountSettings {
    /// Where; an absolute path.
    pub folder: PathBuf,
    /// Which kind.
    pub fs: String,
    /// As `mount -o` takes them.
    pub options: Option<String>,
    /// What the program that makes it is told besides, where there is none yet.
    #[serde(default)]
    pub make_options: Option<String>,
    /// It lies in an image, which is a file of another file system on the array.
    #[serde(default)]
    pub image: Option<ImageSettings>,
}

impl MountSettings {
    /// Whether such a file system can be mounted there: asked before anything is given up for it.
    ///
    /// # Errors
    /// What is missing here or in the way, and what to do.
    pub fn check(&self) -> Result<(), Error> {
        let kind = FileSystem::named(&self.fs)?;
        kind.check_mountable()?;
        kind.check_options(self.options.as_deref())?;
        if let Some(image) = &self.image {
            FileSystem::named(&image.outer_fs)?.check_mountable()?;
        }
        check_point(&self.folder)
    }
}

/// Whether something can be mounted on a path.
///
/// # Errors
/// A usage error when it is no folder.
pub(crate) fn check_point(point: &Path) -> Result<(), Error> {
    match point.is_absolute() && point.is_dir() {
        true => Ok(()),
        false => Err(Error::usage(catalogue::NO_MOUNT_POINT).at(point.display())),
    }
}

/// An image that carries the file system that is mounted, and the outer one that it is a file of.
/// What is there already is used, and the rest is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSettings {
    /// `raw`, or `vhd`: one of fixed size.
    pub kind: String,
    /// The size of the disk in it.
    pub size: String,
    /// Whether requests to it bypass the outer file system's page cache.
    #[serde(default)]
    pub direct: bool,
    /// Which kind the outer file system is.
    pub outer_fs: String,
    /// As `mount -o` takes them.
    #[serde(default)]
    pub outer_options: Option<String>,
    /// What the program that makes it is told besides.
    #[serde(default)]
    pub outer_make_options: Option<String>,
}

impl ImageSettings {
    /// The image that is meant.
    ///
    /// # Errors
    /// What is no kind of image, or no size of one.
    pub fn image(&self) -> Result<Image, Error> {
        let kind = self.kind.parse().map_err(|text: Text| Error::usage(text).at("image"))?;
        let size = stack::size::parse(&self.size)
            .map_err(|error| Error::usage(error).at(catalogue::IMAGE_SIZE))?;
        let image = Image { kind, size_bytes: size.bytes, direct: self.direct };
        image.check()?;
        Ok(image)
    }
}

/// Files in PEM with which NBD clients are served over TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The server's certificate, and those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Certificate authorities for clients; where they are given, a client without a certificate is
    /// turned away.
    pub clients: Option<PathBuf>,
}

/// What is to be served, and how. A configuration file has the same keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The stack text.
    pub stack: String,
    /// The server's name; one is chosen where there is none.
    pub name: Option<String>,
    /// Nothing is opened for writing, and writes are refused.
    pub read_only: bool,
    /// Arrays are started even where that may lose data.
    pub force: bool,
    /// Files that are not there are made.
    pub create: bool,
    /// Their size, unless they name their own.
    pub size: Option<String>,
    /// When writes are durable.
    #[serde(with = "policy")]
    pub policy: RemovalPolicy,
    /// In a configuration: udev starts it as soon as all of its members are there.
    pub assemble: bool,
    /// How it appears on this machine.
    pub attach: Attach,
    /// Whether the kernel keeps what it reads in its page cache.
    pub page_cache: bool,
    /// Threads that serve the file; 0 lets raidloom choose.
    pub workers: usize,
    /// Where NBD clients are served; `unix` is a socket in the server's folder.
    pub nbd: Vec<String>,
    /// The socket on which virtual machines find it as a disk (vhost-user-blk).
    pub vhost_user: Option<PathBuf>,
    /// For NBD.
    pub tls: Option<TlsSettings>,
    /// NBD over TCP may be reached from other machines without TLS.
    pub insecure: bool,
    /// Block devices without an identity that may be used.
    pub allow_device: Vec<PathBuf>,
    /// Disk images of virtual machines are used as raw bytes, not as the disks in them.
    pub raw: bool,
    /// How long a member of an array may take to answer before it counts as failed.
    pub member_timeout: Option<String>,
    /// Arrays and caches are not kept up: no rebuilds, superblocks only where a write needs them,
    /// caches write out only what they have to.
    pub no_upkeep: bool,
    /// What is mounted once it is there.
    pub mount: Option<MountSettings>,
}

/// Removal policies by name.
mod policy {
    use export::RemovalPolicy;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(
        policy: &RemovalPolicy,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(policy)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<RemovalPolicy, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Settings {
    /// Reads a configuration file. Paths in it are relative to its folder, and its name is the
    /// server's unless it names one.
    ///
    /// # Errors
    /// What is wrong in it, and where.
    pub fn read(path: &Path) -> Result<Settings, Error> {
        let text = fs::read_to_string(path)
            .map_err(|error| Error::from_io(path.display(), &error).as_usage())?;
        let mut settings: Settings = toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Error::usage(statement!(
                catalogue::CONFIGURATION_LINE,
                path = path.display(),
                line = line,
                why = error.message().lines().next().unwrap_or_default()
            ))
        })?;
        if settings.stack.is_empty() {
            return Err(Error::usage(catalogue::NO_STACK_NAMED).at(path.display()));
        }
        stack::parse(&settings.stack).map_err(|wrong| {
            let (path, line) = (path.display(), line_of_stack(&text));
            Error::usage(wrong.drawn()).at(statement!(
                catalogue::CONFIGURATION_PLACE,
                path = path,
                line = line
            ))
        })?;
        settings.check_nbd().map_err(|error| error.at(path.display()))?;
        if settings.name.is_none() {
            settings.name = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        settings.make_absolute(folder)?;
        Ok(settings)
    }

    /// Refuses an address of NBD that is named twice: the second would find the place taken.
    ///
    /// # Errors
    /// A usage error with the address.
    pub fn check_nbd(&self) -> Result<(), Error> {
        let is_again = |at: &usize| self.nbd[..*at].contains(&self.nbd[*at]);
        match (0..self.nbd.len()).find(is_again) {
            None => Ok(()),
            Some(at) => {
                let address = &self.nbd[at];
                Err(Error::usage(statement!(catalogue::NBD_NAMED_TWICE, address = address)))
            }
        }
    }

    /// What `array start` was pointed to: a configuration file, the name of one, or a stack text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn find(target: &str) -> Result<Settings, Error> {
        if Path::new(target).extension().is_some_and(|extension| extension == "toml") {
            return Settings::read(Path::new(target));
        }
        if runtime::check_name(target).is_ok() {
            let file = configurations().join(format!("{target}.toml"));
            if file.exists() {
                return Settings::read(&file);
            }
            if !Path::new(target).exists() && !target.contains(':') {
                let text = statement!(
                    catalogue::NO_CONFIGURATION_FILE,
                    target = target,
                    file = file.display()
                );
                return Err(Error::usage(text).then(catalogue::STACK_STARTS));
            }
        }
        let mut settings = Settings { stack: target.to_owned(), ..Settings::default() };
        settings.make_absolute(Path::new(""))?;
        Ok(settings)
    }

    /// A server works in no particular folder, so whatever is relative is made absolute before it
    /// starts.
    fn make_absolute(&mut self, folder: &Path) -> Result<(), Error> {
        let absolute = |path: &Path| {
            std::path::absolute(folder.join(path))
                .map_err(|error| Error::from_io(path.display(), &error))
        };
        self.stack =
            with_absolute_paths(stack::parse(&self.stack).map_err(block::Error::from)?, &absolute)?
                .to_string();
        if let Some(socket) = &mut self.vhost_user {
            *socket = absolute(socket)?;
        }
        if let Some(tls) = &mut self.tls {
            for file in [&mut tls.certificate, &mut tls.key].into_iter().chain(&mut tls.clients) {
                *file = absolute(file)?;
            }
        }
        Ok(())
    }

    /// The same as a configuration file, without what is at its default.
    ///
    /// # Errors
    /// A path that is no UTF-8.
    pub fn configuration_text(&self) -> Result<String, Error> {
        let failed = |error: toml::ser::Error| {
            Error::usage(Text::verbatim(&error)).at(catalogue::A_CONFIGURATION)
        };
        let usual = toml::Table::try_from(Settings::default()).map_err(failed)?;
        let mut own = toml::Table::try_from(self).map_err(failed)?;
        own.retain(|key, value| usual.get(key) != Some(value));
        toml::to_string(&own).map_err(failed)
    }

    /// What its block device stands for, where that outlives the server, so that the next server of
    /// the same may go on with it: the stack, how it is served, and which
    /// files it stands on. `None` for other ways of attaching, and for what is gone with its server
    /// or made anew: memory, modelled disks, a file system in an image that the server has mounted,
    /// files that are still to be made.
    #[must_use]
    pub fn lasting_content(&self) -> Option<String> {
        const LASTS: [&str; 6] = ["file", "nbd", "nbds", "nbd+unix", "nbds+unix", "rbd"];
        let has_image = self.mount.as_ref().is_some_and(|mount| mount.image.is_some());
        if self.attach != Attach::Ublk || has_image {
            return None;
        }
        let tree = stack::parse(&self.stack).ok()?;
        let mut text = format!("{tree} read-only={} policy={}", self.read_only, self.policy);
        for leaf in tree.leaves() {
            let Node::Leaf { scheme, .. } = leaf else { continue };
            if !LASTS.contains(&scheme.as_str()) {
                return None;
            }
            let Some(path) = leaf.file_path() else { continue };
            text.push('\n');
            text += &match fs::metadata(path) {
                Ok(data) if data.file_type().is_block_device() => data.rdev().to_string(),
                Ok(data) => format!("{}.{}", data.dev(), data.ino()),
                Err(_) if self.create => return None,
                Err(_) => runtime::GONE.to_owned(),
            };
        }
        Some(text)
    }

    /// Arrays with metadata that can be started by force are.
    pub(crate) fn tree(&self) -> Result<Node, Error> {
        let node = stack::parse(&self.stack).map_err(block::Error::from)?;
        Ok(if self.force { forced(node) } else { node })
    }
}

/// The line of a configuration in which its stack begins, from 1.
fn line_of_stack(text: &str) -> usize {
    #[derive(Deserialize)]
    struct Place {
        stack: toml::Spanned<toml::Value>,
    }
    let start = toml::from_str::<Place>(text).map_or(0, |place| place.stack.span().start);
    text[..start.min(text.len())].matches('\n').count() + 1
}

/// Where configurations are found by their names: `RAIDLOOM_CONFIG_DIR`, for root `/etc/raidloom`,
/// else the user's.
#[must_use]
pub fn configurations() -> PathBuf {
    let named = std::env::var_os("RAIDLOOM_CONFIG_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
        let user = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(home)
            .map(|folder| folder.join("raidloom"));
        if rustix::process::geteuid().is_root() {
            PathBuf::from("/etc/raidloom")
        } else {
            user.unwrap_or_default()
        }
    })
}

fn with_absolute_paths(
    node: Node,
    absolute: &dyn Fn(&Path) -> Result<PathBuf, Error>,
) -> Result<Node, Error> {
    let text = |path: &str| {
        let path = absolute(Path::new(path))?.into_os_string().into_string();
        path.map_err(|path| Error::usage(catalogue::PATH_NOT_UTF8).at(path.to_string_lossy()))
    };
    let with_paths = |options: Vec<(String, String)>, known: &[OptionRow]| {
        let takes_path = |name: &str| {
            known.iter().any(|option| option.name == name && option.takes == ValueKind::Path)
        };
        let option = |(name, value): (String, String)| {
            let value = if takes_path(&name) { text(&value)? } else { value };
            Ok((name, value))
        };
        options.into_iter().map(option).collect::<Result<Vec<_>, Error>>()
    };
    Ok(match node {
        Node::Layer { name, options, children } => {
            let children = children
                .into_iter()
                .map(|child| with_absolute_paths(child, absolute))
                .collect::<Result<_, _>>()?;
            let known = stack::table::layer(&name).map_or(&[][..], |row| row.options);
            Node::Layer { options: with_paths(options, known)?, name, children }
        }
        Node::Leaf { scheme, address, options } => {
            let address = match scheme.as_str() {
                "file" => block::path_text(&absolute(&block::text_path(&address))?),
                // A model is named by a word, or by the path of its file.
                "model" if address.contains('/') => text(&address)?,
                _ => address,
            };
            let known = stack::table::leaf(&scheme).map_or(&[][..], |row| row.options);
            Node::Leaf { options: with_paths(options, known)?, scheme, address }
        }
        other => other,
    })
}

/// The same stack, with every array that has superblocks started also where something may be lost
/// by it.
#[must_use]
pub fn forced(node: Node) -> Node {
    let Node::Layer { name, mut options, children } = node else { return node };
    let knows_force = stack::table::layer(&name)
        .is_ok_and(|row| row.options.iter().any(|option| option.name == "force"));
    let has_metadata =
        options.iter().any(|(option, value)| option == "metadata" && value != "none");
    if knows_force && has_metadata {
        options.retain(|(option, _)| option != "force");
        options.push(("force".to_owned(), "yes".to_owned()));
    }
    Node::Layer { name, options, children: children.into_iter().map(forced).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_block_device_stands_for_is_told_by_its_text_and_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.img", "b.img"].map(|name| folder.path().join(name));
        fs::write(&a, "").unwrap();
        fs::write(&b, "").unwrap();
        let of = |stack: &str| Settings {
            stack: stack.replace('@', &folder.path().display().to_string()),
            attach: Attach::Ublk,
            ..Settings::default()
        };
        let settings = of("raid1(metadata=1.2, @/a.img, @/b.img)");
        let noted = settings.lasting_content().unwrap();
        let is_same = |settings: &Settings| {
            settings.lasting_content().is_some_and(|now| runtime::is_same_content(&noted, &now))
        };
        assert!(is_same(&settings));
        let quick = Settings { policy: RemovalPolicy::Quick, ..settings.clone() };
        assert!(!is_same(&quick) && !is_same(&Settings { read_only: true, ..settings.clone() }));
        assert!(!is_same(&Settings { attach: Attach::Yes, ..settings.clone() }));
        assert!(!is_same(&of("raid1(metadata=1.2, @/b.img, @/a.img)")));
        // A member that is gone is missing; another file in its place is another array.
        fs::remove_file(&a).unwrap();
        assert!(is_same(&settings));
        assert!(!is_same(&Settings { create: true, ..settings.clone() }));
        fs::write(folder.path().join("keeps its number"), "").unwrap();
        fs::write(&a, "").unwrap();
        assert!(!is_same(&settings));
        for memory in ["ram:1MiB", "cache(mode=write-back, ram:1MiB, @/b.img)", "null:1MiB"] {
            assert_eq!(of(memory).lasting_content(), None, "{memory}");
        }
    }

    #[test]
    fn a_configuration_is_read_with_paths_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tank.toml");
        let text = "stack = 'raid1(metadata=1.2, a.img, \"b c.img\")'\nattach = 'yes'\npolicy = \
            'quick'\nnbd = ['unix']\n\
                    [mount]\nfolder = '/srv/tank'\nfs = 'ext4'\n";
        fs::write(&path, text).unwrap();
        let settings = Settings::read(&path).unwrap();
        let shown = folder.path().display();
        assert_eq!(
            settings.stack,
            format!("raid1(metadata=1.2, file:{shown}/a.img, file:\"{shown}/b c.img\")")
        );
        assert_eq!(
            (settings.name.as_deref(), settings.attach, settings.policy),
            (Some("tank"), Attach::Yes, RemovalPolicy::Quick)
        );
        assert_eq!(settings.mount.as_ref().map(|mount| mount.fs.as_str()), Some("ext4"));
        let again: Settings =
            serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
        assert_eq!(again, settings);
    }

    #[test]
    fn mistakes_in_a_configuration_are_named_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tank.toml");
        for (text, line, reason) in [
            ("stack = 'ram:1MiB'\npolicy = 'fast'\n", 2, "expected quick or performance"),
            ("stack = 'ram:1MiB'\n\natach = 'yes'\n", 3, "unknown field `atach`"),
            ("stack = \n", 1, ""),
        ] {
            fs::write(&path, text).unwrap();
            let error = Settings::read(&path).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(
                error.to_string().contains(&format!("tank.toml, line {line}: "))
                    && error.to_string().contains(reason),
                "{error}"
            );
        }
        for (text, said) in [
            (
                "attach = 'no'\nstack = 'raid1(a.img'\n",
                "tank.toml, line 2: stack text, byte 11: the text ends",
            ),
            ("stack = 'ram:1MiB'\nnbd = ['unix', 'unix']\n", "tank.toml: nbd names unix twice"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Settings::read(&path).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(said), "{error}");
        }
        fs::write(&path, "policy = 'quick'\n").unwrap();
        assert!(Settings::read(&path).unwrap_err().to_string().contains("names no stack"));
    }

    #[test]
    fn force_reaches_every_array_that_can_be_forced() {
        let settings =
            |stack: &str| Settings { stack: stack.to_owned(), force: true, ..Settings::default() };
        let forced = settings(
            "raid0(raid5(metadata=1.2, a, b, c), raid1(metadata=1.2, d, e), raid6(f, g, h, i))",
        )
        .tree()
        .unwrap();
        let expected = "raid0(raid5(metadata=1.2, force=yes, file:a, file:b, file:c), \
            raid1(metadata=1.2, force=yes, file:d, file:e), \
                        raid6(file:f, file:g, file:h, file:i))";
        assert_eq!(forced.to_string(), expected);
        assert!(
            !Settings { force: false, ..settings("raid5(metadata=1.2, a, b, c)") }
                .tree()
                .unwrap()
                .to_string()
                .contains("force")
        );
    }
}
