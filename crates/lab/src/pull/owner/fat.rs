//! Whose a block of a FAT is. No tool says it, and the format is small ("FAT: General Overview of
//! On-Disk Format", Microsoft 2000): what is in front, the tables of clusters, and folders with the
//! first cluster of each file.
//!
//! ```text
//!   reserved | FAT | FAT | root folder (FAT12, FAT16) | clusters from 2 on
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Image, Owner, joined};

const ENTRY_BYTES: usize = 32;
/// The smallest that anything is told by.
const SECTOR_BYTES: u64 = 512;
/// Bits of an entry's attributes.
const VOLUME_NAME: u8 = 0x08;
const FOLDER: u8 = 0x10;
const LONG_NAME: u8 = 0x0f;
/// What the first byte of an entry says.
const NO_MORE: u8 = 0;
const REMOVED: u8 = 0xe5;
/// More is in no FAT that a test makes.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// An image of a FAT that can be asked.
pub(super) struct Fat {
    geometry: Geometry,
    clusters: BTreeMap<u32, ClusterOwner>,
}

struct ClusterOwner {
    path: String,
    /// Which of its clusters it is, from 0.
    index: u64,
    is_folder: bool,
}

/// Where things lie, in bytes, and how wide an entry of the table is.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    tables: u64,
    table_bytes: u64,
    root: u64,
    data: u64,
    cluster_bytes: u64,
    clusters: u32,
    bits: u32,
    /// The first cluster of the root folder, where it is in clusters.
    root_cluster: Option<u32>,
}

impl Geometry {
    fn parse(boot: &[u8; 512]) -> Option<Geometry> {
        let short = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        let long = |at: usize| short(at) | short(at + 2) << 16;
        let (sector, per_cluster) = (short(11), u64::from(boot[13]));
        let is_power = |number: u64| number.is_power_of_two();
        if boot[510..] != [0x55, 0xaa] || !is_power(sector) || !is_power(per_cluster) {
            return None;
        }
        let either = |one: u64, other: u64| if one == 0 { other } else { one };
        let (sectors, table) = (either(short(19), long(32)), either(short(22), long(36)));
        let tables = short(14);
        let root = tables + u64::from(boot[16]) * table;
        let data = root + (short(17) * ENTRY_BYTES as u64).div_ceil(sector);
        let clusters = u32::try_from(sectors.checked_sub(data)? / per_cluster).ok()?;
        let bits = match clusters {
            0..4085 => 12,
            4085..65525 => 16,
            _ => 32,
        };
        Some(Geometry {
            tables: tables * sector,
            table_bytes: table * sector,
            root: root * sector,
            data: data * sector,
            cluster_bytes: per_cluster * sector,
            clusters,
            bits,
            root_cluster: (bits == 32).then(|| long(44) as u32),
        })
    }

    fn place(&self, cluster: u32) -> u64 {
        self.data + u64::from(cluster - 2) * self.cluster_bytes
    }

    fn is_cluster(&self, cluster: u32) -> bool {
        (2..self.clusters.saturating_add(2)).contains(&cluster)
    }
}

/// What is read while the folders are gone through.
struct Walk<'a> {
    image: &'a File,
    geometry: Geometry,
    table: Vec<u8>,
    clusters: BTreeMap<u32, ClusterOwner>,
}

impl Walk<'_> {
    /// The cluster behind one, where there is one.
    fn next(&self, cluster: u32) -> Option<u32> {
        let word = |at: usize| {
            let bytes = self.table.get(at..at + 2)?;
            Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
        };
        let at = cluster as usize;
        let next = match self.geometry.bits {
            12 => word(at + at / 2)? >> (4 * (at % 2)) & 0xfff,
            16 => word(2 * at)?,
            _ => (word(4 * at)? | word(4 * at + 2)? << 16) & 0x0fff_ffff,
        };
        Some(next).filter(|next| self.geometry.is_cluster(*next))
    }

    /// Takes the clusters of a file or folder from its first one on; what is damaged may go round.
    fn take(&mut self, first: u32, path: &str, is_folder: bool) -> Vec<u32> {
        let mut taken = Vec::new();
        let mut cluster = Some(first).filter(|first| self.geometry.is_cluster(*first));
        while let Some(at) = cluster.filter(|at| !self.clusters.contains_key(at)) {
            let (path, index) = (path.to_owned(), taken.len() as u64);
            self.clusters.insert(at, ClusterOwner { path, index, is_folder });
            taken.push(at);
            cluster = self.next(at);
        }
        taken
    }

    fn content(&self, clusters: &[u32]) -> Option<Vec<u8>> {
        let length = self.geometry.cluster_bytes as usize;
        let mut content = vec![0; clusters.len() * length];
        for (piece, cluster) in content.chunks_mut(length).zip(clusters) {
            self.image.read_exact_at(piece, self.geometry.place(*cluster)).ok()?;
        }
        Some(content)
    }
}

impl Fat {
    /// Looks at an image; nothing where there is no FAT on it.
    pub(super) fn of(image: &Path) -> Option<Fat> {
        let image = &File::open(image).ok()?;
        let mut boot = [0; 512];
        image.read_exact_at(&mut boot, 0).ok()?;
        let geometry = Geometry::parse(&boot)?;
        let length = Some(geometry.table_bytes).filter(|length| *length <= TABLE_BYTES_MAX)?;
        let mut table = vec![0; length as usize];
        image.read_exact_at(&mut table, geometry.tables).ok()?;
        let mut walk = Walk { image, geometry, table, clusters: BTreeMap::new() };
        let root = match geometry.root_cluster {
            Some(first) => {
                let taken = walk.take(first, "/", true);
                walk.content(&taken)?
            }
            None => {
                let mut content = vec![0; (geometry.data - geometry.root) as usize];
                image.read_exact_at(&mut content, geometry.root).ok()?;
                content
            }
        };
        let mut folders = vec![(String::new(), root)];
        while let Some((above, content)) = folders.pop() {
            for Entry { name, first, is_folder } in entries(&content) {
                let path = format!("{above}/{name}");
                let taken = walk.take(first, &path, is_folder);
                if is_folder {
                    folders.push((path, walk.content(&taken)?));
                }
            }
        }
        Some(Fat { geometry, clusters: walk.clusters })
    }

    fn owner(&self, place: u64) -> Owner {
        let Geometry { tables, root, data, cluster_bytes, .. } = self.geometry;
        match place {
            place if place < tables => Owner::Superblock,
            place if place < root => Owner::Part { name: "FAT".to_owned(), paths: Vec::new() },
            place if place < data => Owner::File {
                inode: 0,
                path: Some("/".to_owned()),
                offset: Some(place - root),
                is_folder: true,
            },
            place => {
                let cluster = u32::try_from((place - data) / cluster_bytes + 2).ok();
                let found = cluster.and_then(|cluster| self.clusters.get(&cluster));
                found.map_or(Owner::Free, |owner| Owner::File {
                    inode: 0,
                    path: Some(owner.path.clone()),
                    offset: Some(owner.index * cluster_bytes + (place - data) % cluster_bytes),
                    is_folder: owner.is_folder,
                })
            }
        }
    }
}

impl Image for Fat {
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner> {
        let end = offset + content.len() as u64;
        let sectors = (offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES))
            .map(|sector| self.owner((sector * SECTOR_BYTES).max(offset)));
        let mut owners: Vec<Owner> = Vec::new();
        for owner in sectors {
            let path = |owner: &Owner| match owner {
                Owner::File { path, .. } => path.clone(),
                _ => None,
            };
            // It has no numbers of its own that would tell one file from another.
            let goes_on = owners
                .last()
                .is_some_and(|last| path(last).is_some() && path(last) == path(&owner));
            if !goes_on {
                owners.push(owner);
            }
        }
        let is_file = |owner: &Owner| matches!(owner, Owner::File { .. });
        if owners.iter().any(is_file) { owners } else { joined(owners.into_iter()) }
    }
}

/// What a folder says of a file or folder in it.
struct Entry {
    name: String,
    first: u32,
    is_folder: bool,
}

/// The entries of a folder, by their long names where they have one.
fn entries(content: &[u8]) -> Vec<Entry> {
    let (mut entries, mut long): (_, Vec<Vec<u16>>) = (Vec::new(), Vec::new());
    for entry in content.chunks_exact(ENTRY_BYTES) {
        let attributes = entry[11];
        match entry[0] {
            NO_MORE => break,
            REMOVED => long.clear(),
            // The last part of the name comes first.
            _ if attributes & LONG_NAME == LONG_NAME => long.push(long_name_part(entry)),
            _ if attributes & VOLUME_NAME != 0 => long.clear(),
            _ => {
                let letters: Vec<u16> = long.drain(..).rev().flatten().collect();
                let name = match letters.is_empty() {
                    true => short_name(entry),
                    false => String::from_utf16_lossy(&letters),
                };
                let word = |at: usize| u32::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
                if name != "." && name != ".." {
                    let (first, is_folder) = (word(20) << 16 | word(26), attributes & FOLDER != 0);
                    entries.push(Entry { name, first, is_folder });
                }
            }
        }
    }
    entries
}

/// The letters of a part of a long name, until it ends.
fn long_name_part(entry: &[u8]) -> Vec<u16> {
    let bytes = [&entry[1..11], &entry[14..26], &entry[28..32]].concat();
    let letters = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    letters.take_while(|letter| *letter != 0).collect()
}

/// A name of eight letters and three.
fn short_name(entry: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (name, kind) = (text(&entry[..8]), text(&entry[8..11]));
    if kind.is_empty() { name } else { format!("{name}.{kind}") }
}

#[cfg(test)]
mod tests {
    use export::tool;

    use super::*;

    /// A file in a folder, put by hand into a file system that its own tool has made.
    #[test]
    fn a_block_is_of_the_file_that_was_put_there() {
        for (bits, sectors) in [("12", 1 << 11), ("16", 16 << 11), ("32", 64 << 11)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("image");
            let image =
                File::options().create_new(true).read(true).write(true).open(&path).unwrap();
            image.set_len(sectors * 512).unwrap();
            let mut make = tool::command("mkfs.vfat");
            make.args(["-F", bits, "-s", "1"]).arg(&path);
            if !make.output().is_ok_and(|ran| ran.status.success()) {
                return testkit::missing!("mkfs.vfat is not there");
            }
            let mut boot = [0; 512];
            image.read_exact_at(&mut boot, 0).unwrap();
            let geometry = Geometry::parse(&boot).unwrap();
            assert_eq!(geometry.bits.to_string(), bits);
            // Folder at cluster 10, file at 20 and 22.
            let entry = |name: &[u8; 11], attributes: u8, first: u16| {
                let mut entry = [0; ENTRY_BYTES];
                entry[..11].copy_from_slice(name);
                entry[11] = attributes;
                entry[26..28].copy_from_slice(&first.to_le_bytes());
                entry
            };
            let mut long = entry(b"\x41l\0o\0n\0g\0e\0", LONG_NAME, 0);
            long[14..18].copy_from_slice(b"r\0\0\0");
            let root = geometry.root_cluster.map_or(geometry.root, |at| geometry.place(at));
            image.write_all_at(&entry(b"D          ", FOLDER, 10), root).unwrap();
            let inside = [long, entry(b"LONGER~1   ", 0, 20)].concat();
            image.write_all_at(&inside, geometry.place(10)).unwrap();
            for (cluster, next) in [(10, 0x0fff_ffff_u32), (20, 22), (22, 0x0fff_ffff)] {
                let at = geometry.tables + u64::from(cluster * geometry.bits / 8);
                let bytes = next.to_le_bytes();
                // Of 12 bits the high ones of the pair's other half stay free here.
                let length = if geometry.bits == 32 { 4 } else { 2 };
                let masked = [bytes[0], bytes[1] & if bits == "12" { 0x0f } else { 0xff }];
                let bytes = if length == 4 { bytes.to_vec() } else { masked.to_vec() };
                image.write_all_at(&bytes, at).unwrap();
            }
            let fat = Fat::of(&path).unwrap();
            let file = |name: &str, offset, is_folder| {
                let path = Some(name.to_owned());
                vec![Owner::File { inode: 0, path, offset: Some(offset), is_folder }]
            };
            let at = |cluster| fat.owners(geometry.place(cluster), &[0; 512]);
            assert_eq!(at(10), file("/D", 0, true), "{bits}");
            assert_eq!(at(22), file("/D/longer", 512, false), "{bits}");
            assert_eq!(at(21), [Owner::Free], "{bits}");
            assert_eq!(fat.owners(root, &[0; 512]), file("/", 0, true), "{bits}");
            assert_eq!(fat.owners(0, &[0; 512]), [Owner::Superblock], "{bits}");
            let table = fat.owners(geometry.tables, &[0; 1024]);
            assert_eq!(table, [Owner::Part { name: "FAT".to_owned(), paths: vec![] }], "{bits}");
        }
    }
}
