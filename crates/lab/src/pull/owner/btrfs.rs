//! Whose a block of a btrfs on one drive is, as `btrfs inspect-internal dump-tree` says it of an
//! image: where its addresses lie on the drive, its trees, and the extents of files.
//!
//! Blocks of trees are written anew with each change, so one that was lost is in no tree that is
//! left. But each says itself whose it is (Linux, `include/uapi/linux/btrfs_tree.h`:
//! `struct btrfs_header`, `struct btrfs_item`, little-endian).

use std::collections::BTreeMap;
use std::path::Path;

use super::{Image, Owner, joined, listed, said};

/// Where superblocks lie, in bytes, and how long one is (`btrfs_sb_offset`).
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const SUPERBLOCK_BYTES: u64 = 4096;
/// The smallest that anything is moved by.
const SECTOR_BYTES: u64 = 4096;
/// The folder that all others are in.
const ROOT_INODE: u64 = 256;
/// Folders in each other at most: what is damaged may go round.
const DEPTH_MAX: usize = 256;
/// Trees by their numbers, as the tool calls them.
const TREES: [(u64, &str); 13] = [
    (1, "ROOT_TREE"),
    (2, "EXTENT_TREE"),
    (3, "CHUNK_TREE"),
    (4, "DEV_TREE"),
    (FILES, "FS_TREE"),
    (7, "CSUM_TREE"),
    (8, "QUOTA_TREE"),
    (9, "UUID_TREE"),
    (10, "FREE_SPACE_TREE"),
    (11, "BLOCK_GROUP_TREE"),
    (SYNCED, "TREE_LOG"),
    (-8_i64 as u64, "TREE_RELOC"),
    (-9_i64 as u64, "DATA_RELOC_TREE"),
];
/// The trees with files and folders: all of them, and what of them was synced since.
const FILES: u64 = 5;
const SYNCED: u64 = -6_i64 as u64;

/// An image of a btrfs that can be asked.
pub(super) struct Btrfs {
    node_bytes: u64,
    chunks: Vec<Chunk>,
    /// The trees' blocks by their addresses.
    blocks: BTreeMap<u64, String>,
    extents: Vec<Extent>,
    /// Folder and name of inodes.
    names: BTreeMap<u64, (u64, String)>,
}

/// A run of addresses, and where it lies on the drive: once, or twice.
#[derive(Default)]
struct Chunk {
    address: u64,
    length: u64,
    places: Vec<u64>,
}

/// A run of addresses with a part of a file.
#[derive(Default)]
struct Extent {
    inode: u64,
    /// In the file, in bytes.
    offset: u64,
    address: u64,
    length: u64,
    /// Where in the run that part begins, in bytes.
    begin: u64,
}

impl Btrfs {
    /// Looks at an image; nothing where there is no btrfs on it or no tool.
    pub(super) fn of(image: &Path) -> Option<Btrfs> {
        let about = said(&["btrfs", "inspect-internal", "dump-super"], image)?;
        let node_bytes = listed(&about, "nodesize").filter(|&bytes| bytes >= SECTOR_BYTES)?;
        let text = said(&["btrfs", "inspect-internal", "dump-tree"], image)?;
        Some(Btrfs::parse(node_bytes, &text))
    }

    fn parse(node_bytes: u64, text: &str) -> Btrfs {
        let (blocks, names) = (BTreeMap::new(), BTreeMap::new());
        let (chunks, extents) = (Vec::new(), Vec::new());
        let mut found = Btrfs { node_bytes, chunks, blocks, extents, names };
        let mut tree = String::new();
        let mut key = Key::default();
        for line in text.lines().map(str::trim) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["leaf" | "node", address, .., "owner", owner] => {
                    owner.clone_into(&mut tree);
                    if let Ok(address) = address.parse() {
                        found.blocks.insert(address, tree.clone());
                    }
                }
                ["item", _, "key", ..] => key = Key::parse(line).unwrap_or_default(),
                _ => found.take(&tree, &key, line, &words),
            }
        }
        found
    }

    /// Takes what a line says of the item with this key.
    fn take(&mut self, tree: &str, key: &Key, line: &str, words: &[&str]) {
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let is_of_files = ["FS_TREE", "TREE_LOG"].contains(&tree);
        match (key.kind.as_str(), words) {
            ("CHUNK_ITEM", ["length", length, ..]) => {
                let (address, length) = (key.offset, number(length));
                self.chunks.push(Chunk { address, length, places: Vec::new() });
            }
            ("CHUNK_ITEM", ["stripe", _, "devid", _, "offset", place]) => {
                let chunk = self.chunks.last_mut().filter(|chunk| chunk.address == key.offset);
                chunk.into_iter().for_each(|chunk| chunk.places.push(number(place)));
            }
            ("INODE_REF", ["index", ..]) if is_of_files => {
                if let Some((_, name)) = line.split_once(" name: ") {
                    let named = (key.offset, name.to_owned());
                    self.names.entry(key.object).or_insert(named);
                }
            }
            ("EXTENT_DATA", [_, "data", "disk", "byte", address, "nr", length])
                if is_of_files && number(address) > 0 =>
            {
                let (inode, offset) = (key.object, key.offset);
                let (address, length) = (number(address), number(length));
                self.extents.push(Extent { inode, offset, address, length, begin: 0 });
            }
            ("EXTENT_DATA", [_, "data", "offset", begin, ..]) if is_of_files => {
                let extent = self.extents.last_mut();
                let is_its = |extent: &&mut Extent| {
                    (extent.inode, extent.offset) == (key.object, key.offset)
                };
                extent.filter(is_its).into_iter().for_each(|extent| extent.begin = number(begin));
            }
            _ => (),
        }
    }

    /// The address of a place on the drive.
    fn address(&self, place: u64) -> Option<u64> {
        self.chunks.iter().find_map(|chunk| {
            let begin = chunk
                .places
                .iter()
                .find(|&&begin| (begin..begin.saturating_add(chunk.length)).contains(&place))?;
            Some(chunk.address + (place - begin))
        })
    }

    /// Whose a place on the drive is, and how many bytes from there on belong together; `content`
    /// is what was to be there.
    fn owner(&self, place: u64, content: &[u8]) -> (Owner, u64) {
        let is_in = |begin: &u64| (*begin..begin + SUPERBLOCK_BYTES).contains(&place);
        if SUPERBLOCKS.iter().any(is_in) {
            return (Owner::Superblock, SUPERBLOCK_BYTES);
        }
        let Some(address) = self.address(place) else { return (Owner::Free, SECTOR_BYTES) };
        let begin = address / self.node_bytes * self.node_bytes;
        let to_end = begin + self.node_bytes - address;
        if let Some(block) = TreeBlock::parse(content).filter(|block| block.address == address) {
            let mut paths: Vec<String> =
                block.inodes.iter().filter_map(|&inode| self.path(inode)).collect();
            paths.dedup();
            return (Owner::Part { name: block.tree, paths }, to_end);
        }
        if let Some(name) = self.blocks.get(&begin) {
            return (Owner::Part { name: name.clone(), paths: Vec::new() }, to_end);
        }
        let holds =
            |extent: &&Extent| (extent.address..extent.address + extent.length).contains(&address);
        let owner = self.extents.iter().find(holds).map(|extent| {
            let offset = (extent.offset + (address - extent.address)).checked_sub(extent.begin);
            let path = self.path(extent.inode);
            Owner::File { inode: extent.inode, path, offset, is_folder: false }
        });
        (owner.unwrap_or(Owner::Free), SECTOR_BYTES - place % SECTOR_BYTES)
    }

    fn path(&self, inode: u64) -> Option<String> {
        let mut path = String::new();
        let mut at = inode;
        for _ in 0..DEPTH_MAX {
            if at == ROOT_INODE {
                return Some(if path.is_empty() { "/".to_owned() } else { path });
            }
            let (folder, name) = self.names.get(&at)?;
            path = format!("/{name}{path}");
            at = *folder;
        }
        None
    }
}

impl Image for Btrfs {
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner> {
        let mut rest = content;
        let mut owners = Vec::new();
        while !rest.is_empty() {
            let place = offset + (content.len() - rest.len()) as u64;
            let (owner, length) = self.owner(place, rest);
            owners.push(owner);
            rest = &rest[(length.max(1) as usize).min(rest.len())..];
        }
        joined(owners.into_iter())
    }
}

/// The key of an item: `item 7 key (8978721 INODE_REF 256) itemoff …`.
#[derive(Default)]
struct Key {
    /// 0 for what the tool has a name for.
    object: u64,
    kind: String,
    offset: u64,
}

impl Key {
    fn parse(line: &str) -> Option<Key> {
        let (_, rest) = line.split_once('(')?;
        let words: Vec<&str> = rest.split_once(')')?.0.split_whitespace().collect();
        let [object, kind, offset] = words[..] else { return None };
        let number = |text: &str| text.parse().unwrap_or(0);
        Some(Key { object: number(object), kind: kind.to_owned(), offset: number(offset) })
    }
}

/// What a block of a tree says of itself.
struct TreeBlock {
    address: u64,
    tree: String,
    /// Those that it has the inode of, where it is a leaf of files and folders.
    inodes: Vec<u64>,
}

impl TreeBlock {
    const HEADER_BYTES: usize = 101;
    const ITEM_BYTES: usize = 25;
    /// `BTRFS_INODE_ITEM_KEY`.
    const INODE: u8 = 1;

    fn parse(bytes: &[u8]) -> Option<TreeBlock> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        };
        let (address, owner) = (number(48)?, number(88)?);
        let count = u32::from_le_bytes(bytes.get(96..100)?.try_into().expect("four bytes"));
        let is_leaf = *bytes.get(100)? == 0;
        let known = TREES.iter().find(|(number, _)| *number == owner);
        let tree = known.map_or_else(|| format!("tree {owner}"), |(_, name)| (*name).to_owned());
        let items = bytes[TreeBlock::HEADER_BYTES.min(bytes.len())..]
            .chunks_exact(TreeBlock::ITEM_BYTES)
            .take(count as usize);
        let inode = |item: &[u8]| {
            let object = u64::from_le_bytes(item[..8].try_into().expect("eight bytes"));
            (item[8] == TreeBlock::INODE).then_some(object)
        };
        let inodes = match is_leaf && [FILES, SYNCED].contains(&owner) {
            true => items.filter_map(inode).collect(),
            false => Vec::new(),
        };
        Some(TreeBlock { address, tree, inodes })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use export::tool;

    use super::*;

    /// The tool itself, on a file system that its package has made.
    #[test]
    fn a_block_is_of_the_file_that_was_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let (image, inside) = (folder.path().join("image"), folder.path().join("inside"));
        fs::create_dir_all(inside.join("d")).unwrap();
        fs::write(inside.join("d").join("text"), vec![7; 9000]).unwrap();
        fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        let mut command = tool::command("mkfs.btrfs");
        command.arg("-q").arg("--rootdir").arg(&inside).arg(&image);
        if !command.output().is_ok_and(|ran| ran.status.success()) {
            return testkit::missing!("mkfs.btrfs is not there");
        }
        let btrfs = Btrfs::of(&image).unwrap();
        let bytes = fs::read(&image).unwrap();
        let is_text = |block: &usize| bytes[block * 4096..][..4096].iter().all(|&byte| byte == 7);
        let run = 4096 * (0..bytes.len() / 4096).find(is_text).unwrap();
        let owners = btrfs.owners(run as u64 + 4096, &[7; 4096]);
        let [Owner::File { path, offset, is_folder, .. }] = &owners[..] else {
            panic!("{owners:?}")
        };
        assert_eq!((path.as_deref(), *offset, *is_folder), (Some("/d/text"), Some(4096), false));
        assert_eq!(btrfs.owners(64 << 10, &[0; 4096]), [Owner::Superblock]);
        assert_eq!(btrfs.owners(200 << 20, &[0; 4096]), [Owner::Free]);
        // Each tree's blocks say whose they are, and so do the trees that are there.
        let mut seen = Vec::new();
        for chunk in &btrfs.chunks {
            for (&address, name) in btrfs.blocks.range(chunk.address..chunk.address + chunk.length)
            {
                for place in chunk.places.iter().map(|begin| begin + (address - chunk.address)) {
                    let content = &bytes[place as usize..][..btrfs.node_bytes as usize];
                    for content in [content, &[0; 4096]] {
                        let owners = btrfs.owners(place, content);
                        let [Owner::Part { name: found, .. }] = &owners[..] else {
                            panic!("{name} at {place}: {owners:?}")
                        };
                        assert_eq!(found, name);
                    }
                    if let [Owner::Part { name, paths }] = &btrfs.owners(place, content)[..]
                        && name == "FS_TREE"
                    {
                        seen.clone_from(paths);
                    }
                }
            }
        }
        assert_eq!(seen, ["/", "/d", "/d/text"]);
    }
}
