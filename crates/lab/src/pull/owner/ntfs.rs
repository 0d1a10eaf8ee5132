//! Whose a block of an NTFS is, as `ntfscluster` says it of an image: of which inode a cluster is,
//! and what an inode is called and where its clusters lie.
//!
//! Records of the master file table say themselves which they are (their number lies at byte 44,
//! little-endian, since NTFS 3.1).

use std::collections::BTreeMap;
use std::path::Path;

use super::{Image, Owner, joined, listed, said};

/// Inodes of the file system itself are numbered below this.
const OWN_INODES: u64 = 24;
const FILE_TABLE: u64 = 0;
const FILE_TABLE_COPY: u64 = 1;
const ROOT_INODE: u64 = 5;
const BOOT_INODE: u64 = 7;
/// Bytes of a record of the master file table, as all that make an NTFS have it.
const RECORD_BYTES: usize = 1024;
const RECORD_MAGIC: &[u8] = b"FILE";
const RECORD_NUMBER_AT: usize = 44;

/// An image of an NTFS that can be asked.
pub(super) struct Ntfs<'a> {
    image: &'a Path,
    cluster_bytes: u64,
}

/// A run of clusters of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// In what it is a part of, and on the drive, in clusters.
    in_file: u64,
    on_drive: u64,
    length: u64,
}

impl<'a> Ntfs<'a> {
    /// Looks at an image; nothing where there is no NTFS on it or no tool.
    pub(super) fn of(image: &'a Path) -> Option<Ntfs<'a>> {
        let about = said(&["ntfscluster", "-f", "-i"], image)?;
        let cluster_bytes = listed(&about, "bytes per cluster").filter(|&bytes| bytes > 0)?;
        Some(Ntfs { image, cluster_bytes })
    }

    fn owner(&self, place: u64, content: &[u8]) -> Owner {
        let cluster = place / self.cluster_bytes;
        let range = format!("{cluster}-{cluster}");
        let text = said(&["ntfscluster", "-f", "-q", "-c", &range], self.image).unwrap_or_default();
        let Some((inode, path, is_folder)) = text.lines().find_map(parse_found) else {
            return Owner::Free;
        };
        match inode {
            BOOT_INODE => Owner::Superblock,
            FILE_TABLE | FILE_TABLE_COPY => self.records(content, &path),
            ROOT_INODE => self.file(inode, "/".to_owned(), (place, is_folder)),
            0..OWN_INODES => Owner::Part { name: own_name(&path), paths: Vec::new() },
            _ => self.file(inode, path, (place, is_folder)),
        }
    }

    /// Records of the master file table, as far as the content is of some.
    fn records(&self, content: &[u8], path: &str) -> Owner {
        let number = |record: &[u8]| {
            let bytes = record.get(RECORD_NUMBER_AT..RECORD_NUMBER_AT + 4)?.try_into().ok()?;
            record.starts_with(RECORD_MAGIC).then(|| u64::from(u32::from_le_bytes(bytes)))
        };
        let numbers: Vec<u64> = content.chunks(RECORD_BYTES).filter_map(number).collect();
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
            return Owner::Part { name: own_name(path), paths: Vec::new() };
        };
        let paths = numbers.iter().filter_map(|&inode| parse_path(&self.inode(inode)?));
        Owner::Inodes { first, last, paths: paths.collect() }
    }

    fn file(&self, inode: u64, path: String, (place, is_folder): (u64, bool)) -> Owner {
        let runs = self.inode(inode).map(|text| parse_runs(&text)).unwrap_or_default();
        let cluster = place / self.cluster_bytes;
        let of = if is_folder { "0xa0" } else { "0x80" };
        let run =
            runs.get(of).into_iter().flatten().find(|run| {
                (run.on_drive..run.on_drive.saturating_add(run.length)).contains(&cluster)
            });
        let offset = run.map(|run| {
            let in_file = run.in_file + (cluster - run.on_drive);
            in_file * self.cluster_bytes + place % self.cluster_bytes
        });
        Owner::File { inode, path: Some(path), offset, is_folder }
    }

    fn inode(&self, inode: u64) -> Option<String> {
        said(&["ntfscluster", "-f", "-I", &inode.to_string()], self.image)
    }
}

impl Image for Ntfs<'_> {
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner> {
        let mut rest = content;
        let mut owners = Vec::new();
        while !rest.is_empty() {
            let place = offset + (content.len() - rest.len()) as u64;
            let length = (self.cluster_bytes - place % self.cluster_bytes) as usize;
            let (cluster, behind) = rest.split_at(length.min(rest.len()));
            owners.push(self.owner(place, cluster));
            rest = behind;
        }
        joined(owners.into_iter())
    }
}

/// What a file of the file system itself is called.
fn own_name(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

/// The inode, its path, and whether it is a folder: `Inode 64 /d/text/$DATA`.
fn parse_found(line: &str) -> Option<(u64, String, bool)> {
    let (inode, path) = line.strip_prefix("Inode ")?.split_once(' ')?;
    let (path, attribute) = path.rsplit_once("/$")?;
    let is_folder = attribute.starts_with("INDEX") || attribute.starts_with("BITMAP");
    Some((inode.parse().ok()?, path.to_owned(), is_folder))
}

/// The path of an inode: `Dump: /d/text`.
fn parse_path(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("Dump: "))?;
    Some(if path == "/." { "/".to_owned() } else { path.to_owned() })
}

/// The runs of each attribute of an inode by the attribute's number.
fn parse_runs(text: &str) -> BTreeMap<String, Vec<Run>> {
    let mut all: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    let mut attribute = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [number, "-", ..] if number.starts_with("0x") => number.clone_into(&mut attribute),
            [in_file, on_drive, length] => {
                let numbers = [in_file, on_drive, length].map(|word| word.parse::<u64>().ok());
                if let [Some(in_file), Some(on_drive), Some(length)] = numbers {
                    let run = Run { in_file, on_drive, length };
                    all.entry(attribute.clone()).or_default().push(run);
                }
            }
            _ => (),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;

    use export::tool;

    use super::*;

    /// The tools themselves, on a file system that their package has made.
    #[test]
    fn a_block_is_of_the_file_that_was_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let (image, text) = (folder.path().join("image"), folder.path().join("text"));
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::write(&text, vec![7; 9000]).unwrap();
        let mut make = tool::command("mkfs.ntfs");
        make.args(["-Q", "-q", "-F"]).arg(&image);
        if !make.output().is_ok_and(|ran| ran.status.success()) {
            return testkit::missing!("mkfs.ntfs is not there");
        }
        let mut put = tool::command("ntfscp");
        put.arg(&image).arg(&text).arg("/text");
        assert!(put.output().unwrap().status.success());
        let ntfs = Ntfs::of(&image).unwrap();
        let bytes = fs::read(&image).unwrap();
        let is_text = |block: &usize| bytes[block * 4096..][..4096].iter().all(|&byte| byte == 7);
        let begin = 4096 * (0..bytes.len() / 4096).find(is_text).unwrap();
        let owners = ntfs.owners(begin as u64 + 4096 + 512, &[7; 4096]);
        let [Owner::File { path, offset, is_folder, .. }] = &owners[..] else {
            panic!("{owners:?}")
        };
        let expected = (Some("/text"), Some(4096 + 512), false);
        assert_eq!((path.as_deref(), *offset, *is_folder), expected);
        assert_eq!(ntfs.owners(0, &[0; 512]), [Owner::Superblock]);
        assert_eq!(ntfs.owners(15 << 20, &[0; 4096]), [Owner::Free]);
        // Its record in the master file table says that it is its, and that of the root that.
        let is_record = |at: &usize| {
            bytes[*at..].starts_with(RECORD_MAGIC)
                && ntfs.owners(*at as u64, &bytes[*at..*at + RECORD_BYTES]).iter().any(
                    |owner| matches!(owner, Owner::Inodes { paths, .. } if paths == &["/text"]),
                )
        };
        assert!((0..bytes.len()).step_by(RECORD_BYTES).any(|at| is_record(&at)));
    }
}
