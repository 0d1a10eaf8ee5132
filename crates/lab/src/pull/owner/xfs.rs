//! Whose a block of an XFS is, as `xfs_db` says it of an image (xfs_db(8): `blockget`, `blockuse`,
//! `ncheck`, `bmap`).
//!
//! Each of these is asked of what is on the disk. What a journal that was not replayed holds is not
//! known to it: a file whose inode is only there is nobody's, and has to be asked of a later image.

use std::path::Path;

use super::{Image, JournalBlock, Owner, joined, listed, printed};

/// What a record of the journal begins with, big-endian (Linux, `fs/xfs/libxfs/xfs_log_format.h`:
/// `XLOG_HEADER_MAGIC_NUM`).
const RECORD_MAGIC: [u8; 4] = [0xfe, 0xed, 0xba, 0xbe];
/// What lies in the first sectors of each allocation group (`XFS_SB_DADDR`, `XFS_AGF_DADDR`, …), as
/// `xfs_db` calls it.
const HEADERS: [&str; 4] = ["sb", "agf", "agi", "agfl"];
/// Bytes that the address of `daddr` counts in.
const ADDRESS_BYTES: u64 = 512;

/// An image of an XFS that can be asked.
pub(super) struct Xfs<'a> {
    image: &'a Path,
    block_bytes: u64,
    sector_bytes: u64,
    root_inode: u64,
    /// A block of inodes has two to the power of this.
    inodes_log: u64,
}

impl<'a> Xfs<'a> {
    /// Looks at an image; nothing where there is no XFS on it or no tool.
    pub(super) fn of(image: &'a Path) -> Option<Xfs<'a>> {
        let text = ask(image, &["sb 0", "print blocksize sectsize rootino inopblog"])?;
        let number = |name| listed(&text, name);
        let (block_bytes, sector_bytes) = (number("blocksize")?, number("sectsize")?);
        (block_bytes > 0 && sector_bytes > 0).then_some(Xfs {
            image,
            block_bytes,
            sector_bytes,
            root_inode: number("rootino")?,
            inodes_log: number("inopblog")?.min(16),
        })
    }

    /// Whose one block is, of which `line` says it; `from` and `content` are what of it is asked
    /// for: from which byte on, and what stands there.
    fn owners_of(&self, line: &str, from: u64, content: &[u8]) -> Vec<Owner> {
        let Some(BlockUse { block, what, inode, path }) = BlockUse::parse(line) else {
            return vec![Owner::Free];
        };
        let part = |paths| Owner::Part { name: what.to_owned(), paths };
        let owner = match (what, inode) {
            ("sb", _) => return self.headers(from, content.len() as u64),
            ("free1" | "free2" | "unknown", _) => Owner::Free,
            ("log", _) if content.starts_with(&RECORD_MAGIC) => {
                Owner::Journal { block: JournalBlock::Descriptor }
            }
            ("log", _) => Owner::Journal { block: JournalBlock::Content },
            ("inode", _) => {
                let first = block << self.inodes_log;
                let last = first + (1 << self.inodes_log) - 1;
                Owner::Inodes { first, last, paths: self.paths(first, last) }
            }
            ("data" | "dir" | "symlink", Some(inode)) => Owner::File {
                inode,
                path,
                offset: self.place_in(inode, block).map(|place| place * self.block_bytes),
                is_folder: what == "dir",
            },
            ("btbmapd" | "btbmapa", Some(inode)) => {
                Owner::File { inode, path, offset: None, is_folder: false }
            }
            _ => part(path.into_iter().collect()),
        };
        vec![owner]
    }

    /// The block that an allocation group begins with.
    fn headers(&self, from: u64, length: u64) -> Vec<Owner> {
        let last = (from + length - 1) / self.sector_bytes;
        let header = |sector| match HEADERS.get(sector as usize) {
            Some(&"sb") => Owner::Superblock,
            Some(&name) => Owner::Part { name: name.to_owned(), paths: Vec::new() },
            None => Owner::Free,
        };
        joined((from / self.sector_bytes..=last).map(header))
    }

    /// Where in its file a block lies, in blocks.
    fn place_in(&self, inode: u64, block: u64) -> Option<u64> {
        let text = ask(self.image, &[&format!("inode {inode}"), "bmap"])?;
        text.lines().find_map(|line| place_in_extent(line, block))
    }

    /// The paths of the inodes from one to another that have one.
    fn paths(&self, first: u64, last: u64) -> Vec<String> {
        let named: String = (first..=last).map(|inode| format!(" -i {inode}")).collect();
        let text = ask(self.image, &["blockget -n", &format!("ncheck{named}")]);
        let text = text.unwrap_or_default();
        let path = |line: &str| {
            let (inode, path) = line.trim_start().split_once(' ')?;
            inode.parse::<u64>().ok()?;
            Some(format!("/{}", path.strip_suffix("/.").unwrap_or(path)))
        };
        // No folder names it.
        let root = (first..=last).contains(&self.root_inode).then(|| "/".to_owned());
        root.into_iter().chain(text.lines().filter_map(path)).collect()
    }
}

impl Image for Xfs<'_> {
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner> {
        let blocks =
            offset / self.block_bytes..=(offset + content.len() as u64 - 1) / self.block_bytes;
        let mut questions = vec!["blockget -n".to_owned()];
        for block in blocks.clone() {
            questions.push(format!("daddr {}", block * self.block_bytes / ADDRESS_BYTES));
            questions.push("blockuse -n".to_owned());
        }
        let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
        let text = ask(self.image, &questions).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("block "));
        joined(blocks.zip(lines).flat_map(|(block, line)| {
            let begin = block * self.block_bytes;
            let from = offset.saturating_sub(begin);
            let content = &content[begin.saturating_sub(offset) as usize..];
            let length = content.len().min((self.block_bytes - from) as usize);
            self.owners_of(line, from, &content[..length])
        }))
    }
}

/// What `blockuse -n` says of a block: `block 32795 (1/27) type dir inode 262272 d/folder`.
struct BlockUse<'a> {
    /// Its number, as inodes and extents count.
    block: u64,
    what: &'a str,
    inode: Option<u64>,
    path: Option<String>,
}

impl BlockUse<'_> {
    fn parse(line: &str) -> Option<BlockUse<'_>> {
        let (block, rest) = line.strip_prefix("block ")?.split_once(' ')?;
        let (_, rest) = rest.split_once("type ")?;
        let (what, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let owner = rest.strip_prefix("inode ");
        let (inode, path) =
            owner.map_or(("", ""), |text| text.split_once(' ').unwrap_or((text, "")));
        Some(BlockUse {
            block: block.parse().ok()?,
            what,
            inode: inode.parse().ok(),
            path: (!path.is_empty()).then(|| format!("/{path}")),
        })
    }
}

/// Where in its file a block lies, in blocks, if it is in this extent of `bmap`: `data offset 0
/// startblock 32792 (1/24) count 74 flag 0`.
fn place_in_extent(line: &str, block: u64) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["data", "offset", place, "startblock", start, _, "count", count, ..] = words[..] else {
        return None;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let (place, start, count) = (number(place)?, number(start)?, number(count)?);
    (start..start + count).contains(&block).then(|| place + (block - start))
}

/// What `xfs_db` answers to these commands, one after the other; also where one of them does not
/// like what it finds.
fn ask(image: &Path, commands: &[&str]) -> Option<String> {
    let words: Vec<&str> = ["xfs_db", "-r"]
        .into_iter()
        .chain(commands.iter().flat_map(|command| ["-c", command]))
        .collect();
    printed(&words, image).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use export::tool;

    use super::*;

    #[test]
    fn lines_are_read_as_xfs_db_says_them() {
        let found = BlockUse::parse("block 32795 (1/27) type dir inode 262272 d/a b").unwrap();
        assert_eq!((found.block, found.what, found.inode), (32795, "dir", Some(262_272)));
        assert_eq!(found.path.as_deref(), Some("/d/a b"));
        let found = BlockUse::parse("block 6 (0/6) type freelist").unwrap();
        assert_eq!((found.block, found.what, found.inode), (6, "freelist", None));
        assert!(BlockUse::parse("bad fsblock 7").is_none());
        let extent = "data offset 4 startblock 32792 (1/24) count 74 flag 0";
        assert_eq!(place_in_extent(extent, 32800), Some(12));
        assert_eq!(place_in_extent(extent, 32792 + 74), None);
    }

    /// The tool itself, on a file system that its package has made.
    #[test]
    fn a_block_is_of_the_file_that_was_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (image, text, prototype) = (path("image"), path("text"), path("prototype"));
        fs::write(&text, vec![7; 9000]).unwrap();
        let inside =
            format!("/\n0 0\nd--755 0 0\nd d--755 0 0\ntext ---644 0 0 {}\n$\n$\n", text.display());
        fs::write(&prototype, inside).unwrap();
        fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let mut command = tool::command("mkfs.xfs");
        command.args(["-q", "-p"]).arg(&prototype).arg(&image);
        if !command.output().is_ok_and(|ran| ran.status.success()) {
            return testkit::missing!("mkfs.xfs is not there");
        }
        let Some(xfs) = Xfs::of(&image) else { return testkit::missing!("xfs_db is not there") };
        let bytes = fs::read(&image).unwrap();
        let is_text = |block: &usize| bytes[block * 4096..][..4096].iter().all(|&byte| byte == 7);
        let run = 4096 * (0..bytes.len() / 4096).find(is_text).unwrap();
        let owners = xfs.owners(run as u64 + 4096, &[7; 4096]);
        let [Owner::File { path, offset, is_folder, inode }] = &owners[..] else {
            panic!("{owners:?}")
        };
        assert_eq!((path.as_deref(), *offset, *is_folder), (Some("/d/text"), Some(4096), false));
        let table = (0..bytes.len() as u64 / 4096).map(|block| block * 4096).find_map(|place| {
            let is_inode = bytes[place as usize..].starts_with(b"IN");
            let owners = is_inode.then(|| xfs.owners(place, &[0; 4096]))?;
            let [Owner::Inodes { first, last, paths }] = &owners[..] else { return None };
            (first..=last).contains(&inode).then(|| paths.clone())
        });
        assert!(table.unwrap().contains(&"/d/text".to_owned()));
        let headers = xfs.owners(0, &[0; 1024]);
        assert_eq!(headers[0], Owner::Superblock);
        assert!(matches!(&headers[1], Owner::Part { name, .. } if name == "agf"), "{headers:?}");
        let log = bytes.windows(4).step_by(512).position(|part| part == RECORD_MAGIC).unwrap();
        let owners = xfs.owners(log as u64 * 512, &bytes[log * 512..][..512]);
        assert_eq!(owners, [Owner::Journal { block: JournalBlock::Descriptor }]);
        let free = (0..bytes.len() as u64 / 4096)
            .rev()
            .find(|block| xfs.owners(block * 4096, &[0; 4096]) == [Owner::Free]);
        assert!(free.is_some());
    }
}
