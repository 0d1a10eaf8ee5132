//! A run as one file, to be sent: a gzipped tar archive with one folder in it, which `tar xf` makes
//! a run again, and which is read as it is.
//!
//! ```text
//!   folder ── what the figures rest on ──> scrubbed, if asked for ──> NAME.run.tar.gz ──> Opened ── a folder again
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use host::{Error, journal};
use regex_lite::{Captures, Regex};
use results::{cell_id, configuration_id};
use serde_json::Value;
use stack::table::ValueKind;
use words::{Text, statement};

use crate::catalogue;
use crate::run::{self, COURSE, HOST, NOTES, PLAN, PLAN_TEXT, SHARD, SUMS, TRIALS};
use crate::scratch_folder::ScratchFolder;

/// What a packed run consists of. Reports are made anew from it, and what pulls have kept is large.
const FILES: [&str; 8] = [PLAN_TEXT, PLAN, SUMS, COURSE, SHARD, HOST, TRIALS, NOTES];

/// What an anonymous run goes without: a plan as it was typed has comments, and the sum of a
/// machine's name stands for the machine.
const TELLING: [&str; 3] = [PLAN_TEXT, SUMS, SHARD];

/// How the name of a packed run ends.
pub const ENDING: &str = ".run.tar.gz";

/// The most that is unpacked: no archive fills a disk, and all of a run is read into memory.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;
const FILE_BYTES_MAX: u64 = 128 << 20;

/// The most that a file of a packed run has, in bytes.
fn most_bytes(name: &str) -> u64 {
    run::most_bytes(name).min(FILE_BYTES_MAX)
}

/// How long the name of the folder in it may be: of longer ones tar makes entries of their own.
const NAME_MAX_BYTES: usize = 100;

/// What becomes of names on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// They stay.
    #[default]
    Kept,
    /// Paths, addresses, serial numbers and identities get stand-ins, and so do these words and the
    /// names of this machine and its user.
    Hidden(Vec<String>),
}

/// What was packed.
#[derive(Debug)]
pub struct PackSummary {
    /// Its bytes.
    pub bytes: u64,
    /// How many different ones got a stand-in, by kind: `path`, `name` …
    pub hidden: BTreeMap<&'static str, usize>,
}

/// Packs a run into a file, which must not be there yet. The same run gives the same bytes.
///
/// # Errors
/// When the folder holds no run, or the file is there or cannot be written; nothing is left then.
pub fn pack(folder: &Path, output: &Path, names: &Names) -> Result<PackSummary, Error> {
    // What cannot be read here is of no use elsewhere.
    let run = crate::read(folder)?;
    let mut scrub = match names {
        Names::Kept => None,
        Names::Hidden(words) => Some(Scrub::new(words)),
    };
    let mut files = Vec::new();
    for name in FILES {
        match run::read_file(folder, name) {
            Ok(bytes) if bytes.len() as u64 > most_bytes(name) => {
                return Err(Error::usage(statement!(
                    catalogue::PACKED_TOO_LARGE,
                    size = bytes.len(),
                    most = most_bytes(name)
                ))
                .at(folder.join(name).display()));
            }
            Ok(bytes) => files.push((name, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(Error::from_io(folder.join(name).display(), &error)),
        }
    }
    let mut name = name_of(folder);
    if let Some(scrub) = &mut scrub {
        files.retain(|(name, _)| !TELLING.contains(name));
        for (name, bytes) in &mut files {
            *bytes = scrub.file(name, bytes)?;
        }
        name = format!("run-{}", run.host.started.replace(':', ""));
    }
    while name.len() > NAME_MAX_BYTES {
        name.pop();
    }
    let failed = |error: &io::Error| Error::from_io(output.display(), error);
    let file =
        OpenOptions::new().write(true).create_new(true).open(output).map_err(
            |error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Error::usage(catalogue::PACKED_THERE).at(output.display())
                }
                _ => failed(&error),
            },
        )?;
    write(file, &name, &files).map_err(|error| {
        let _ = fs::remove_file(output);
        failed(&error)
    })?;
    let bytes = fs::metadata(output).map_err(|error| failed(&error))?.len();
    Ok(PackSummary { bytes, hidden: scrub.map(|scrub| scrub.counts()).unwrap_or_default() })
}

/// The archive, which says nothing of the machine, the user and the time by itself.
fn write(file: File, name: &str, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    for (file, bytes) in files {
        let mut head = tar::Header::new_ustar();
        head.set_size(bytes.len() as u64);
        head.set_mode(0o644);
        head.set_mtime(0);
        archive.append_data(&mut head, format!("{name}/{file}"), &bytes[..])?;
    }
    let mut file = archive.into_inner()?.finish()?;
    file.flush()?;
    file.sync_all()
}

/// The files that a run consists of: its own, with the journal of one that goes on, or the packed
/// one. What else lies in its folder was made from these.
#[must_use]
pub fn files_of(run: &Path) -> Vec<PathBuf> {
    match run.is_file() {
        true => vec![run.to_owned()],
        false => FILES.iter().chain([&journal::NAME]).map(|name| run.join(name)).collect(),
    }
}

/// What a run is called: its folder's name, or the packed file's without its ending.
#[must_use]
pub fn name_of(run: &Path) -> String {
    let whole = fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let name =
        whole.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    name.strip_suffix(ENDING).map(str::to_owned).unwrap_or(name)
}

/// What a packed run is called where nothing else was asked for.
#[must_use]
pub fn default_name(folder: &Path, names: &Names) -> String {
    match names {
        Names::Kept => format!("{}{ENDING}", name_of(folder)),
        Names::Hidden(_) => format!("anonymous{ENDING}"),
    }
}

/// A run that can be read: its folder, or what a packed one was unpacked into, which goes with it.
#[derive(Debug)]
pub struct OpenRun {
    folder: PathBuf,
    unpacked: Option<ScratchFolder>,
}

impl OpenRun {
    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it was packed: an array cannot be started from it.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.unpacked.is_some()
    }
}

/// Opens a run for reading, packed or not.
///
/// # Errors
/// When a file is no packed run, or holds what no packed run holds.
pub fn open(path: &Path) -> Result<OpenRun, Error> {
    if !path.is_file() {
        return Ok(OpenRun { folder: path.to_owned(), unpacked: None });
    }
    let failed = |error: &io::Error| Error::from_io(path.display(), error);
    let strange = |what: Text| {
        Error::usage(statement!(catalogue::NO_RUN_PACKED, what = what)).at(path.display())
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let too_long = |name: &str| {
        let most = block::size_text(most_bytes(name));
        strange(statement!(catalogue::PACKED_FILE_TOO_LONG, name = name, most = most))
    };
    let place = ScratchFolder::new().map_err(|error| failed(&error))?;
    let mut archive = tar::Archive::new(GzDecoder::new(file).take(UNPACKED_BYTES_MAX));
    let mut found = 0;
    // Raw: else a name of any length is read into memory first.
    for entry in
        archive.entries().map_err(|_| strange(catalogue::IS_NO_PACKED_RUN.into()))?.raw(true)
    {
        let mut entry = entry.map_err(|_| strange(catalogue::PACKED_RUN_CUT_OFF.into()))?;
        let inside = entry.path().map_err(|error| failed(&error))?.into_owned();
        if entry.header().entry_type() == tar::EntryType::Directory {
            continue;
        }
        let parts: Vec<Component<'_>> = inside.components().collect();
        let name = match parts[..] {
            [Component::Normal(_), Component::Normal(name)] => name.to_str(),
            _ => None,
        };
        // Packed by hand, it may have reports and members in it.
        let Some(name) = name.filter(|name| FILES.contains(name)) else { continue };
        if entry.header().entry_type() != tar::EntryType::Regular {
            return Err(strange(catalogue::PACKED_LINKS.into()));
        }
        let mut to = File::create_new(place.path().join(name))
            .map_err(|_| strange(catalogue::SEVERAL_PACKED.into()))?;
        if entry.size() > most_bytes(name) {
            return Err(too_long(name));
        }
        io::copy(&mut entry, &mut to).map_err(|_| strange(catalogue::NOT_ALL_PACKED.into()))?;
        found += 1;
    }
    if found == 0 {
        return Err(strange(catalogue::NOTHING_PACKED.into()));
    }
    Ok(OpenRun { folder: place.path().to_owned(), unpacked: Some(place) })
}

/// Identities as file systems and partitions write them, and as md does.
const UUID: &str = concat!(
    r"(^|[^[:xdigit:]])([[:xdigit:]]{8}(?:[-:]?[[:xdigit:]]{4}){3}[-:]?[[:xdigit:]]{12}",
    r"|[[:xdigit:]]{8}(?::[[:xdigit:]]{8}){3})",
);

/// A path that begins a word; `MB/s` is none, and neither is what stands behind `{members}`.
const PATH: &str = r"(^|[^\w.}/])((?:~|\.\.?)?/[^\s'\x22(),;:?\]}/][^\s'\x22(),;:?\]}]*)";

/// Keys whose values are words of ours, whoever is called the same.
const OUR_WORDS: [&str; 6] = ["better", "caches", "clock", "code", "ground", "group"];

/// Stand-ins for what tells who and where.
struct Scrub {
    /// Kind, what is found, and the part of it that is replaced: the last group.
    patterns: Vec<(&'static str, Regex)>,
    /// Kind and what it was -> what stands for it.
    known: BTreeMap<(&'static str, String), String>,
    /// Identities of configurations, which are made of their settings.
    identities: BTreeMap<String, String>,
}

impl Scrub {
    fn new(words: &[String]) -> Scrub {
        let mut names = words.to_vec();
        let uname = rustix::system::uname();
        let node = uname.nodename().to_string_lossy().into_owned();
        names.extend(node.split('.').next().map(str::to_owned));
        names.push(node);
        names.extend(
            ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| std::env::var(name).ok()),
        );
        let home = std::env::var_os("HOME").map(PathBuf::from);
        names.extend(home.iter().filter_map(|home| Some(home.file_name()?.to_str()?.to_owned())));
        // Every machine has these.
        names.retain(|name| !["", "root", "localhost"].contains(&name.as_str()));
        let serials = host::guard::drives().into_iter().filter_map(|drive| drive.serial);
        let any = |words: Vec<String>| {
            let mut words: Vec<String> =
                words.iter().map(|word| regex_lite::escape(word)).collect();
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
            words.dedup();
            (!words.is_empty()).then(|| format!("(?i)(^|[^[:alnum:]])({})", words.join("|")))
        };
        let serials = any(serials.filter(|serial| !serial.trim().is_empty()).collect());
        let exports = stack::table::LEAVES.iter().filter(|leaf| leaf.address == ValueKind::Export);
        let exports: Vec<String> = exports.map(|leaf| regex_lite::escape(leaf.name)).collect();
        let patterns = [
            (
                "address",
                Some(format!(r"((?:{}|https?)://|rbd:)([^\s,)'\x22]+)", exports.join("|"))),
            ),
            ("identity", Some(UUID.to_owned())),
            ("path", Some(PATH.to_owned())),
            (
                "file",
                Some(
                    r"(file:|passphrase_file=|header=)([^{\s'\x22(),;:?/][^\s'\x22(),;:?]*)"
                        .to_owned(),
                ),
            ),
            ("serial", serials),
            ("name", any(names)),
        ];
        let compiled = |(kind, pattern): (&'static str, Option<String>)| {
            Some((kind, Regex::new(&pattern?).expect("a pattern of ours")))
        };
        Scrub {
            patterns: patterns.into_iter().filter_map(compiled).collect(),
            known: BTreeMap::new(),
            identities: BTreeMap::new(),
        }
    }

    /// How many different ones there were of each kind.
    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        self.known.keys().for_each(|(kind, _)| *counts.entry(*kind).or_insert(0) += 1);
        counts
    }

    fn text(&mut self, text: &str) -> String {
        if let Some(identity) = self.identities.get(text) {
            return identity.clone();
        }
        let mut text: Cow<'_, str> = text.into();
        for (kind, pattern) in &self.patterns {
            let known = &mut self.known;
            let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
                let was = found[2].to_owned();
                // A stand-in is not hidden again.
                if known.values().any(|stands| *stands == was) {
                    return found[0].to_owned();
                }
                let number = known.keys().filter(|(other, _)| other == kind).count() + 1;
                let stands = known.entry((*kind, was)).or_insert_with(|| match *kind {
                    "path" => format!("/path-{number}"),
                    kind => format!("{kind}-{number}"),
                });
                format!("{}{stands}", &found[1])
            });
            text = replaced.into_owned().into();
        }
        text.into_owned()
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(values) => values
                .iter_mut()
                .filter(|(key, _)| !OUR_WORDS.contains(&key.as_str()))
                .for_each(|(_, value)| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => (),
        }
    }

    /// A file of a run, in the order of [`FILES`]: the plan says what configurations are called.
    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let wrong = |error: serde_json::Error| Error::usage(Text::verbatim(&error)).at(name);
        match name {
            NOTES => Ok(self.text(&String::from_utf8_lossy(bytes)).into_bytes()),
            TRIALS => {
                let mut lines = Vec::new();
                // A line that a kill has torn is left out, as when it is read.
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    let Some(line) = line.strip_suffix(b"\n") else { continue };
                    let mut trial: Value = serde_json::from_slice(line).map_err(wrong)?;
                    let before = (trial["settings"].clone(), trial["workload"].clone());
                    self.value(&mut trial);
                    if before != (trial["settings"].clone(), trial["workload"].clone()) {
                        let workload = trial["workload"].as_str().unwrap_or_default();
                        trial["cell"] = cell_id(&settings(&trial), workload).into();
                    }
                    lines.extend(serde_json::to_vec(&trial).map_err(wrong)?);
                    lines.push(b'\n');
                }
                Ok(lines)
            }
            _ => {
                let mut document: Value = serde_json::from_slice(bytes).map_err(wrong)?;
                if name == PLAN {
                    self.rename(&document);
                }
                self.value(&mut document);
                serde_json::to_vec_pretty(&document).map_err(wrong)
            }
        }
    }

    /// Takes note of configurations whose settings will be others.
    fn rename(&mut self, plan: &Value) {
        for configuration in plan["configurations"].as_array().into_iter().flatten() {
            let mut scrubbed = configuration.clone();
            self.value(&mut scrubbed["settings"]);
            if scrubbed["settings"] != configuration["settings"] {
                let was = configuration["id"].as_str().unwrap_or_default().to_owned();
                self.identities.insert(was, configuration_id(&settings(&scrubbed)));
            }
        }
    }
}

/// The settings of a trial or a configuration.
fn settings(of: &Value) -> BTreeMap<String, String> {
    let settings = of["settings"].as_object().into_iter().flatten();
    settings
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// Packed runs in a folder.
#[must_use]
pub fn packed_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_packed = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING) && path.is_file();
    let mut paths: Vec<PathBuf> = entries.filter(is_packed).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(scrub: &mut Scrub, text: &str) -> String {
        scrub.text(text)
    }

    /// A user may be called `guest`, and a machine `wall`.
    #[test]
    fn words_of_ours_are_nobodys_name() {
        let mut scrub = Scrub::new(&["guest".to_owned(), "wall".to_owned()]);
        let mut value = serde_json::json!({
            "ground": "guest", "clock": "wall", "caches": ["guest_memory"], "stack": "file:guest"
        });
        scrub.value(&mut value);
        assert_eq!((&value["ground"], &value["clock"]), (&"guest".into(), &"wall".into()));
        assert_eq!(value["caches"][0], "guest_memory");
        assert_ne!(value["stack"], "file:guest");
    }

    /// A packed run of these entries: kind, name, the length that is told, and the bytes.
    fn packed(folder: &Path, entries: &[(tar::EntryType, &str, u64, &[u8])]) -> PathBuf {
        let path = folder.join("a.run.tar.gz");
        let mut bytes = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        for (kind, name, told, data) in entries {
            let mut head = tar::Header::new_gnu();
            head.set_path(format!("run/{name}")).unwrap();
            head.set_entry_type(*kind);
            head.set_size(*told);
            head.set_cksum();
            bytes.write_all(head.as_bytes()).unwrap();
            bytes.write_all(data).unwrap();
            bytes.write_all(&vec![0; data.len().next_multiple_of(512) - data.len()]).unwrap();
        }
        bytes.write_all(&[0; 1024]).unwrap();
        bytes.finish().unwrap();
        path
    }

    #[test]
    fn what_no_run_has_is_not_unpacked() {
        use tar::EntryType::{GNULongName, Regular, Symlink};
        let folder = tempfile::tempdir().unwrap();
        let error = |entries: &[_]| open(&packed(folder.path(), entries)).unwrap_err().to_string();
        let said = error(&[(Regular, TRIALS, FILE_BYTES_MAX + 1, b"")]);
        assert!(said.contains("trials.jsonl in it has more than 128MiB"), "{said}");
        let said = error(&[(Regular, SHARD, 1 << 30, b"")]);
        assert!(said.contains("shard.json in it has more than 4MiB"), "{said}");
        let said = error(&[(Symlink, TRIALS, 0, b"")]);
        assert!(said.contains("it has links in it"), "{said}");
        let said = error(&[(Regular, "x", 0, b"")]);
        assert!(said.contains("there is no run in it"), "{said}");
        // A name of any length is not read into memory, and means nothing.
        let name = vec![b'x'; 1 << 20];
        let entries: [(_, _, _, &[u8]); 2] =
            [(GNULongName, "long", 1 << 20, &name), (Regular, PLAN, 2, b"{}")];
        let opened = open(&packed(folder.path(), &entries)).unwrap();
        assert_eq!(fs::read(opened.folder().join(PLAN)).unwrap(), b"{}");
    }

    #[test]
    fn what_tells_who_and_where_gets_a_stand_in_and_nothing_else_does() {
        let mut scrub = Scrub::new(&["Bilbo".to_owned(), "bag-end.example".to_owned()]);
        for (text, expected) in [
            (
                "raid0(chunk=16KiB, file:/srv/x/a.img?size=2MiB, file:/srv/x/b.img)",
                "raid0(chunk=16KiB, file:/path-1?size=2MiB, file:/path-2)",
            ),
            (
                "raid1(file:{members}/disks-0.img, file:own.img)",
                "raid1(file:{members}/disks-0.img, file:file-1)",
            ),
            (
                "luks(passphrase_file=own.key, header=/srv/x/a.img, file:/srv/x/b.img)",
                "luks(passphrase_file=file-2, header=/path-1, file:/path-2)",
            ),
            ("ext4 on /srv/x/a.img", "ext4 on /path-1"),
            ("242 MB/s, 1/2, read/write", "242 MB/s, 1/2, read/write"),
            ("/dev/disk/by-id/ata-MODEL_SERIAL1", "/path-3"),
            ("nbd://bag-end.example:10809/x", "nbd://address-1"),
            ("nbds://hobbiton:10809/x?tls_ca=ca.pem&tls_host=shire", "nbds://address-2"),
            ("nbds+unix:///x?socket=n.sock&tls_ca=ca.pem", "nbds+unix://address-3"),
            ("raid1(rbd:hobbits/disk?id=frodo, a.img)", "raid1(rbd:address-4, a.img)"),
            ("measured on bag-end.example by bilbo", "measured on name-1 by name-2"),
            ("uuid 01234567:89abcdef:01234567:89abcdef", "uuid identity-1"),
            ("random read 512", "random read 512"),
        ] {
            assert_eq!(scrubbed(&mut scrub, text), expected);
            // Once more changes nothing.
            assert_eq!(scrubbed(&mut scrub, expected), expected);
        }
    }
}
