//! Whose a block of an ext2, ext3 or ext4 is, as e2fsprogs say it of an image: `dumpe2fs` knows
//! what belongs to the file system itself, `debugfs` which file a block is of, and where in it.
//!
//! Blocks of the journal say themselves what they are (Linux, `include/linux/jbd2.h`:
//! `journal_header_t`, big-endian).

use std::ops::RangeInclusive;
use std::path::Path;

use super::{Image, JournalBlock, Owner, joined, said};

/// The journal's inode.
const JOURNAL_INODE: u64 = 8;
/// The inode of the folder that all others are in.
const ROOT_INODE: u64 = 2;
/// What the journal's own blocks begin with.
const JOURNAL_MAGIC: u32 = 0xc03b_3998;

/// What a block of the journal says of itself.
fn journal_block(content: &[u8]) -> JournalBlock {
    let word = |at: usize| content.get(at..at + 4).and_then(|word| word.try_into().ok());
    let number = |at: usize| word(at).map(u32::from_be_bytes);
    match (number(0), number(4)) {
        (Some(JOURNAL_MAGIC), Some(1)) => JournalBlock::Descriptor,
        (Some(JOURNAL_MAGIC), Some(2)) => JournalBlock::Commit,
        (Some(JOURNAL_MAGIC), Some(3 | 4)) => JournalBlock::Superblock,
        (Some(JOURNAL_MAGIC), Some(5)) => JournalBlock::Revoke,
        _ => JournalBlock::Content,
    }
}

/// Ranges of blocks that belong to the file system itself.
struct Layout {
    block_bytes: u64,
    parts: Vec<(RangeInclusive<u64>, Part)>,
}

#[derive(Clone, Copy)]
enum Part {
    Superblock,
    GroupDescriptors,
    Bitmap,
    /// The first inode in it, and bytes of one.
    Inodes(u64, u64),
}

/// An image of an ext file system that can be asked.
pub(super) struct Ext<'a> {
    image: &'a Path,
    layout: Layout,
}

impl<'a> Ext<'a> {
    /// Looks at an image; nothing where there is no ext on it or no tool.
    pub(super) fn of(image: &'a Path) -> Option<Ext<'a>> {
        let text = said(&["dumpe2fs"], image)?;
        Some(Ext { image, layout: parse_layout(&text)? })
    }

    fn owner(&self, block: u64, content: &[u8]) -> Owner {
        let block_bytes = self.layout.block_bytes;
        if let Some((range, part)) =
            self.layout.parts.iter().find(|(range, _)| range.contains(&block))
        {
            return match *part {
                Part::Superblock => Owner::Superblock,
                Part::GroupDescriptors => Owner::GroupDescriptors,
                Part::Bitmap => Owner::Bitmap,
                Part::Inodes(begin, inode_bytes) => {
                    let each = block_bytes / inode_bytes;
                    let first = begin + (block - range.start()) * each;
                    let last = first + each - 1;
                    Owner::Inodes { first, last, paths: self.paths(first..=last) }
                }
            };
        }
        let asked = self.debugfs(&format!("icheck {block}"));
        let Some(inode) = asked.as_deref().and_then(|text| second_number(text, block)) else {
            return Owner::Free;
        };
        if inode == JOURNAL_INODE {
            return Owner::Journal { block: journal_block(content) };
        }
        let stat = self.debugfs(&format!("stat <{inode}>")).unwrap_or_default();
        Owner::File {
            inode,
            path: self.paths(inode..=inode).into_iter().next(),
            offset: place_in(&stat, block).map(|place| place * block_bytes),
            is_folder: stat.contains("Type: directory"),
        }
    }

    /// The paths of those inodes that have one.
    fn paths(&self, inodes: RangeInclusive<u64>) -> Vec<String> {
        let words: Vec<String> = inodes.map(|inode| inode.to_string()).collect();
        let text = self.debugfs(&format!("ncheck {}", words.join(" "))).unwrap_or_default();
        let path = |line: &str| {
            let (inode, path) = line.split_once('\t')?;
            inode.parse::<u64>().ok()?;
            Some(path.replace("//", "/"))
        };
        let root = words.iter().any(|word| *word == ROOT_INODE.to_string());
        // No folder names it.
        let root = root.then(|| "/".to_owned());
        root.into_iter().chain(text.lines().filter_map(path)).collect()
    }

    fn debugfs(&self, question: &str) -> Option<String> {
        said(&["debugfs", "-R", question], self.image)
    }
}

impl Image for Ext<'_> {
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner> {
        let block_bytes = self.layout.block_bytes;
        let last = (offset + content.len() as u64 - 1) / block_bytes;
        joined((offset / block_bytes..=last).map(|block| {
            let start = (block * block_bytes).saturating_sub(offset) as usize;
            self.owner(block, &content[start..])
        }))
    }
}

/// The second number of the line that begins with this one.
fn second_number(text: &str, first: u64) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()?.parse() == Ok(first)).then(|| words.next()?.parse().ok())?
    })
}

/// What `dumpe2fs` says of where things are: `Block bitmap at 65 (+64)`, `Inode table at 73-200`.
fn parse_layout(text: &str) -> Option<Layout> {
    let number = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let (block_bytes, inode_bytes) = (number("Block size:")?, number("Inode size:")?);
    let inodes_per_group = number("Inodes per group:")?;
    let (mut parts, mut group) = (Vec::new(), 0);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Group ") {
            group = rest.split(':').next().and_then(|text| text.parse().ok()).unwrap_or(group);
        }
        for piece in line.split(", ") {
            let Some((what, place)) = piece.trim().split_once(" at ") else { continue };
            let part = match what {
                "Primary superblock" | "Backup superblock" => Part::Superblock,
                "Group descriptors" | "Group descriptor" => Part::GroupDescriptors,
                "Reserved GDT blocks" => Part::GroupDescriptors,
                "Block bitmap" | "Inode bitmap" => Part::Bitmap,
                "Inode table" => Part::Inodes(group * inodes_per_group + 1, inode_bytes),
                _ => continue,
            };
            let place = place.split_whitespace().next().unwrap_or_default();
            let (first, last) = place.split_once('-').unwrap_or((place, place));
            if let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) {
                parts.push((first..=last, part));
            }
        }
    }
    (block_bytes > 0 && inode_bytes > 0).then_some(Layout { block_bytes, parts })
}

/// Where in its file a block lies, in blocks, as `stat` of `debugfs` lists them: `(0-3):1234-1237`.
fn place_in(stat: &str, block: u64) -> Option<u64> {
    let lists = stat.split_once("EXTENTS:").or_else(|| stat.split_once("BLOCKS:"))?.1;
    lists.split([',', '\n', ' ']).find_map(|piece| {
        let (places, blocks) = piece.trim().strip_prefix('(')?.split_once("):")?;
        let number = |text: &str| text.trim_end_matches("[u]").parse::<u64>().ok();
        let first = |text: &str| number(text.split('-').next()?);
        let last = |text: &str| number(text.rsplit('-').next()?);
        let (begin, end, place) = (first(blocks)?, last(blocks)?, first(places)?);
        (begin..=end).contains(&block).then(|| place + (block - begin))
    })
}

#[cfg(test)]
mod tests {
    use export::tool;

    use super::*;

    #[test]
    fn places_are_read_as_e2fsprogs_say_them() {
        let stat = "Inode: 12   Type: regular\nEXTENTS:\n(0-3):1234-1237, (4[u]):90, (ETB0):77\n";
        assert_eq!(place_in(stat, 1236), Some(2));
        assert_eq!(place_in(stat, 77), None, "what finds its blocks");
        let text = "Block size:               1024\nInodes per group:         8\nInode size:\t128\n\
            Group 1: (Blocks 8193-16383)\n  Backup superblock at 8193, Group descriptors at 8194-8194\n  \
            Block bitmap at 66 (bg #0 + 65)\n  Inode table at 70-71 (bg #0 + 69)\n";
        let layout = parse_layout(text).unwrap();
        assert_eq!((layout.block_bytes, layout.parts.len()), (1024, 4));
        assert!(matches!(layout.parts[3], (_, Part::Inodes(9, 128))), "of the second group");
        assert_eq!(second_number("Block\tInode number\n66\t12\n", 66), Some(12));
        assert_eq!(second_number("Block\tInode number\n66\t<block not found>\n", 66), None);
    }

    /// The tools themselves, on a file system that they have made.
    #[test]
    fn a_block_is_of_the_file_that_was_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let (image, text) = (folder.path().join("image"), folder.path().join("text"));
        std::fs::write(&text, vec![7; 9000]).unwrap();
        let script = format!(
            "truncate -s 8M {0} && mkfs.ext4 -q -b 1024 {0} && debugfs -w -R 'write {1} text' {0}",
            image.display(),
            text.display()
        );
        let mut command = tool::command("sh");
        if !command.args(["-c", &script]).output().is_ok_and(|ran| ran.status.success()) {
            return testkit::missing!("mkfs.ext4 or debugfs is not there");
        }
        let ext = Ext::of(&image).unwrap();
        let stat = ext.debugfs("stat text").unwrap();
        let begin = (0..8192).find(|block| place_in(&stat, *block) == Some(2)).unwrap();
        let owners = ext.owners(begin * 1024, &[7; 2048]);
        let [Owner::File { path, offset, is_folder, .. }] = &owners[..] else {
            panic!("{owners:?}")
        };
        assert_eq!((path.as_deref(), *offset, *is_folder), (Some("/text"), Some(2048), false));
        assert_eq!(ext.owners(1024, &[0; 1024]), [Owner::Superblock]);
        let table = ext.layout.parts.iter().find(|(_, part)| matches!(part, Part::Inodes(1, _)));
        let block = table.unwrap().0.start();
        let Owner::Inodes { first: 1, paths, .. } = ext.owner(*block, &[]) else {
            panic!("{block}")
        };
        assert_eq!(paths, ["/"]);
        assert_eq!(ext.owners(8000 * 1024, &[0; 1024]), [Owner::Free]);
    }
}
