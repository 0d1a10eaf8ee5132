//! A layout over drives, as it is recommended, printed and made.

use std::path::{Path, PathBuf};

use array::md::Level;
use block::{Node, Stripe};
use host::mount::FileSystem;
use serde::{Deserialize, Serialize};

use crate::stacks;

/// A drive of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Member {
    /// A file or block device.
    Path(PathBuf),
    /// A modelled disk, by the name of its model and its options.
    Model(String),
    /// A file that a run makes to try things, and removes: its number.
    Made(usize),
}

impl Member {
    /// The file or block device that it is; none of a modelled disk and of what a run makes.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Member::Path(path) => Some(path),
            Member::Model(_) | Member::Made(_) => None,
        }
    }

    /// The leaf of a stack that it is.
    #[must_use]
    pub fn node(&self) -> Node {
        match self {
            Member::Path(path) => Node::file(path),
            Member::Model(model) => stacks::parse(&format!("model:{model}"))
                .unwrap_or_else(|_| Node::leaf("model", model)),
            Member::Made(number) => Node::leaf("file", format!("DRIVE{number}")),
        }
    }
}

/// Where RAID 10 puts the copies of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Beside each other: md's `n`.
    Near,
    /// In the second half of the next drive, so that the first halves read as a stripe: md's `f`.
    Far,
}

/// An array over drives, with the file system on it where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenLayout {
    /// RAID 0, 1, 5, 6 or 10.
    pub level: Level,
    /// Of RAID 10, where copies lie; none of other levels.
    pub order: Option<Order>,
    /// How many copies there are of everything: 1 where redundancy is parity, or none.
    pub copies: u32,
    /// What lies on one drive before the next has its turn, in bytes; none of RAID 1.
    pub chunk_bytes: Option<u64>,
    /// The drives that hold data, in order.
    pub members: Vec<Member>,
    /// Drives that stand by for one that fails.
    pub spares: Vec<Member>,
    /// What is made on it; none where it is used as a device.
    pub file_system: Option<FileSystem>,
}

/// Bytes as drives are sold: `8.0 TB`, `500 GB`.
pub(super) fn decimal_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{:.0} GB", bytes as f64 / 1e9),
        _ => format!("{:.1} TB", bytes as f64 / 1e12),
    }
}

impl ChosenLayout {
    /// How many drives may be lost, whichever they are.
    #[must_use]
    pub fn losses(&self) -> u32 {
        match self.level {
            Level::Raid1 | Level::Raid10 => self.copies.saturating_sub(1),
            level => level.parity_count(),
        }
    }

    /// md's word for where copies lie: `n2`, `f2`; none of other levels.
    #[must_use]
    pub fn md_layout(&self) -> Option<String> {
        let letter = match self.order? {
            Order::Near => 'n',
            Order::Far => 'f',
        };
        Some(format!("{letter}{}", self.copies))
    }

    /// What makers of file systems align to. A RAID 10 whose drives are no multiple of its copies
    /// has no whole stripe of its own: one chunk is what md says of it.
    #[must_use]
    pub fn stripe(&self) -> Option<Stripe> {
        let members = self.members.len() as u64;
        let copies = u64::from(self.copies.max(1));
        let width = match self.level {
            Level::Raid10 if !members.is_multiple_of(copies) => members,
            Level::Raid10 => members / copies,
            level => members.saturating_sub(u64::from(level.parity_count())),
        };
        Stripe::new(self.chunk_bytes?, width)
    }

    /// The layer of the stack that it is, over its drives, with superblocks or without.
    #[must_use]
    pub fn node(&self, has_superblocks: bool) -> Node {
        let children = self.members.iter().map(Member::node).collect();
        let mut node = Node::layer(self.level_name(), children);
        if let Some(chunk) = self.chunk_bytes {
            node = node.with("chunk", block::size_text(chunk));
        }
        if let Some(layout) = self.md_layout() {
            node = node.with("layout", layout);
        }
        if has_superblocks { node.with("metadata", "1.2") } else { node }
    }

    /// The stack text, as every verb takes it: `raid10(chunk=512KiB, layout=n2, metadata=1.2, …)`.
    #[must_use]
    pub fn stack(&self) -> String {
        self.node(true).to_string()
    }

    /// The name of its layer in stacks, and of its level in plans.
    #[must_use]
    pub fn level_name(&self) -> &'static str {
        match self.level {
            Level::Raid1 => "raid1",
            Level::Raid5 => "raid5",
            Level::Raid6 => "raid6",
            Level::Raid10 => "raid10",
            _ => "raid0",
        }
    }

    /// How drives are written in a command; one that is still to be bought, by its place.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        let name = |(number, member): (usize, &Member)| match member {
            Member::Path(path) => escape::shell(&path.to_string_lossy()),
            Member::Model(_) | Member::Made(_) => format!("DRIVE{number}"),
        };
        let mut names: Vec<String> =
            self.members.iter().chain(&self.spares).enumerate().map(name).collect();
        let spares = names.split_off(self.members.len());
        (names, spares)
    }

    /// The shell command by which raidloom makes it under this name.
    #[must_use]
    pub fn create_command(&self, name: &str) -> String {
        let (members, spares) = self.names();
        let number = self.level.raw();
        let mut words =
            vec![format!("raidloom array create {} --level {number}", escape::shell(name))];
        words.extend(self.chunk_bytes.map(|chunk| format!("--chunk {}", block::size_text(chunk))));
        words.extend(self.md_layout().map(|layout| format!("--layout {layout}")));
        if self.losses() > 0 {
            words.push("--bitmap internal".to_owned());
        }
        words.push(format!("--member {}", members.join(" ")));
        if !spares.is_empty() {
            words.push(format!("--spare {}", spares.join(" ")));
        }
        words.join(" ")
    }

    /// The first of its drives that is a file: the kernel's md takes block devices alone.
    #[must_use]
    pub fn file_member(&self) -> Option<&Path> {
        let paths = self.members.iter().chain(&self.spares).filter_map(Member::path);
        paths.into_iter().find(|path| path.is_file())
    }

    /// The shell commands by which the kernel's md makes the same as `device`, and the file system
    /// on it. Where nobody is there to answer what programs ask of drives that hold something, what
    /// they hold is erased first.
    #[must_use]
    pub fn md_commands(&self, usable_bytes: u64, device: &str, is_attended: bool) -> Vec<String> {
        let (members, spares) = self.names();
        let mut commands = Vec::new();
        let mut words = vec![
            format!("mdadm --create {device} --metadata=1.2 --level={}", self.level.raw()),
            format!("--raid-devices={}", members.len()),
        ];
        if !is_attended {
            let all: Vec<String> = members.iter().chain(&spares).cloned().collect();
            commands.push(format!("wipefs --all {}", all.join(" ")));
            words.push("--run".to_owned());
        }
        if !spares.is_empty() {
            words.push(format!("--spare-devices={}", spares.len()));
        }
        // mdadm counts in KiB.
        words.extend(self.chunk_bytes.map(|chunk| format!("--chunk={}K", chunk >> 10)));
        words.extend(self.md_layout().map(|layout| format!("--layout={layout}")));
        if self.losses() > 0 {
            words.push("--bitmap=internal".to_owned());
        }
        words.extend(members.into_iter().chain(spares));
        commands.push(words.join(" "));
        if let Some(file_system) = self.file_system {
            if !is_attended {
                commands.push(format!("wipefs --all {device}"));
            }
            let mut make = vec![file_system.maker().to_owned()];
            make.extend(file_system.words_on(self.stripe(), usable_bytes));
            make.push(device.to_owned());
            commands.push(make.join(" "));
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(level: Level, order: Option<Order>, copies: u32, count: usize) -> ChosenLayout {
        ChosenLayout {
            level,
            order,
            copies,
            chunk_bytes: (level != Level::Raid1).then_some(512 << 10),
            members: (0..count).map(|number| Member::Path(format!("/d/{number}").into())).collect(),
            spares: Vec::new(),
            file_system: Some(FileSystem::named("ext4").unwrap()),
        }
    }

    #[test]
    fn commands_and_stack_say_the_same() {
        let ten = layout(Level::Raid10, Some(Order::Near), 2, 4);
        assert_eq!(
            ten.stack(),
            "raid10(chunk=512KiB, layout=n2, metadata=1.2, file:/d/0, file:/d/1, file:/d/2, \
            file:/d/3)"
        );
        assert_eq!(
            ten.create_command("tank"),
            "raidloom array create tank --level 10 --chunk 512KiB --layout n2 --bitmap internal \
            --member /d/0 /d/1 /d/2 /d/3"
        );
        assert_eq!(
            ten.md_commands(8 << 40, "/dev/md/tank", true),
            [
                "mdadm --create /dev/md/tank --metadata=1.2 --level=10 --raid-devices=4 \
                --chunk=512K --layout=n2 --bitmap=internal /d/0 /d/1 /d/2 /d/3",
                "mkfs.ext4 -b 4096 -E stride=128,stripe_width=256 /dev/md/tank"
            ]
        );
        let mut mirror = layout(Level::Raid1, None, 2, 2);
        mirror.spares = vec![Member::Model("wd-red-plus-8tb".to_owned())];
        assert_eq!(
            mirror.create_command("a b"),
            "raidloom array create 'a b' --level 1 --bitmap internal --member /d/0 /d/1 --spare \
            DRIVE2"
        );
        assert_eq!(mirror.md_commands(1 << 40, "/dev/md/tank", true)[1], "mkfs.ext4 /dev/md/tank");
    }

    #[test]
    fn stripes_leave_out_copies_and_parity() {
        let width = |layout: ChosenLayout| layout.stripe().map(|stripe| stripe.width_chunks);
        assert_eq!(width(layout(Level::Raid0, None, 1, 4)), Some(4));
        assert_eq!(width(layout(Level::Raid6, None, 1, 6)), Some(4));
        assert_eq!(width(layout(Level::Raid10, Some(Order::Far), 2, 6)), Some(3));
        assert_eq!(width(layout(Level::Raid10, Some(Order::Near), 2, 5)), Some(5));
        assert_eq!(width(layout(Level::Raid1, None, 2, 2)), None);
    }
}
