//! Which arrays are exchanged: every level, layout and number of members, over members of three
//! kinds of sizes.

use std::fmt;

use array::Raid0Layout;
use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{Layout, Level};

/// How large the members of an array are. Their data begin at 1 MiB, or at 2 MiB where chunks are
/// large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// A few small chunks, and half of one.
    Small,
    /// An odd number of chunks, and a rest that is an odd number of sectors.
    Odd,
    /// Each another size. Level 0 deals out a number of chunks to all of them before some go on,
    /// after which its two layouts differ.
    Unequal,
    /// Large enough for chunks of 512 KiB.
    Large,
}

/// In KiB behind the first MiB. The smallest is the first; its 23 chunks of 16 KiB are no multiple
/// of 2 to 6.
const UNEQUAL_KIB: [u64; 7] =
    [23 * 16 + 5, 41 * 16 + 3, 30 * 16 + 7, 52 * 16 + 9, 35 * 16, 47 * 16 + 1, 38 * 16 + 11];

impl Sizes {
    /// The most members that an array has.
    pub const MEMBERS_MAX: usize = 7;

    /// Sizes of as many members as there may be, in bytes.
    #[must_use]
    pub fn of_members(self) -> [u64; Sizes::MEMBERS_MAX] {
        let mib = 1 << 20;
        match self {
            Sizes::Small => [mib + (76 << 10) + 2048; Sizes::MEMBERS_MAX],
            Sizes::Odd => [mib + 9 * (64 << 10) + 75 * 512; Sizes::MEMBERS_MAX],
            Sizes::Unequal => UNEQUAL_KIB.map(|kib| mib + (kib << 10)),
            Sizes::Large => [5200 << 10; Sizes::MEMBERS_MAX],
        }
    }

    fn chunk_kib(self) -> u64 {
        match self {
            Sizes::Small => 4,
            Sizes::Odd => 64,
            Sizes::Unequal => 16,
            Sizes::Large => 512,
        }
    }
}

/// An array to exchange.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its level as mdadm names it.
    pub level: &'static str,
    /// Its layout as mdadm names it; empty for levels with only one.
    pub layout: &'static str,
    /// How many members.
    pub members: usize,
    /// Chunk in KiB; 0 for levels without. Of linear it is what members are rounded to; with 0 that
    /// is left to each side.
    pub chunk_kib: u64,
    /// How large they are.
    pub sizes: Sizes,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level-{}", self.level)?;
        if !self.layout.is_empty() {
            write!(f, "-{}", self.layout)?;
        }
        write!(f, "-{}-{:?}-members", self.members, self.sizes)?;
        if self.chunk_kib > 0 { write!(f, "-{}KiB", self.chunk_kib) } else { Ok(()) }
    }
}

/// The first six of RAID 6's.
const RAID5: &[&str] = RAID6.split_at(6).0;
const RAID6: [&str; 14] = [
    "left-asymmetric",
    "right-asymmetric",
    "left-symmetric",
    "right-symmetric",
    "parity-first",
    "parity-last",
    "ddf-zero-restart",
    "ddf-N-restart",
    "ddf-N-continue",
    "left-asymmetric-6",
    "right-asymmetric-6",
    "left-symmetric-6",
    "right-symmetric-6",
    "parity-first-6",
];
const RAID10: [(&str, usize); 6] =
    [("n2", 2), ("n3", 3), ("f2", 2), ("f3", 3), ("o2", 2), ("o3", 3)];

impl Shape {
    /// An array whose chunk goes with its sizes.
    #[must_use]
    pub fn new(level: &'static str, layout: &'static str, members: usize, sizes: Sizes) -> Shape {
        let chunk_kib = if matches!(level, "linear" | "1") { 0 } else { sizes.chunk_kib() };
        Shape { level, layout, members, chunk_kib, sizes }
    }

    /// Every level and layout, with their names as mdadm has them, and the fewest members that they
    /// take.
    #[must_use]
    pub fn kinds() -> Vec<(&'static str, &'static str, usize)> {
        let mut kinds = vec![
            ("linear", "", 2),
            ("0", "original", 2),
            ("0", "alternate", 2),
            ("1", "", 2),
            ("4", "", 2),
        ];
        kinds.extend(RAID5.iter().map(|&layout| ("5", layout, 2)));
        kinds.extend(RAID6.map(|layout| ("6", layout, 4)));
        kinds.extend(RAID10.map(|(layout, least)| ("10", layout, least)));
        kinds
    }

    /// Every level and layout with two to seven members of these sizes.
    #[must_use]
    pub fn all(sizes: Sizes) -> Vec<Shape> {
        let kinds = Shape::kinds().into_iter();
        kinds
            .flat_map(|(level, layout, least)| {
                (least..=Sizes::MEMBERS_MAX)
                    .map(move |members| Shape::new(level, layout, members, sizes))
            })
            .collect()
    }

    /// Arrays beside the many. Their chunk is no power of two: level 0 takes any whole number of
    /// pages, and linear rounds its members to any; md refuses them at the other levels. And a
    /// mirror of one member, which mdadm makes when it is told to.
    #[must_use]
    pub fn unusual(sizes: Sizes) -> Vec<Shape> {
        let few = [
            ("0", "original", 3, 12),
            ("0", "alternate", 4, 20),
            ("0", "original", 5, 28),
            ("linear", "", 3, 12),
            ("1", "", 1, 0),
        ];
        few.map(|(level, layout, members, chunk_kib)| Shape {
            chunk_kib,
            ..Shape::new(level, layout, members, sizes)
        })
        .into()
    }

    /// The level as raidloom has it.
    ///
    /// # Panics
    /// For a level that is not exchanged.
    #[must_use]
    pub fn md_level(&self) -> Level {
        match self.level {
            "linear" => Level::Linear,
            "0" => Level::Raid0,
            "1" => Level::Raid1,
            "4" => Level::Raid4,
            "5" => Level::Raid5,
            "6" => Level::Raid6,
            "10" => Level::Raid10,
            other => panic!("no level {other} is exchanged"),
        }
    }

    /// The layout as raidloom has it.
    ///
    /// # Panics
    /// For a layout that raidloom does not know.
    #[must_use]
    pub fn md_layout(&self) -> Layout {
        let layout = match (self.level, self.layout) {
            (_, "") => Some(Layout::Plain),
            ("0", "original") => Some(Layout::Raid0(Some(Raid0Layout::Original))),
            ("0", "alternate") => Some(Layout::Raid0(Some(Raid0Layout::Alternate))),
            ("10", name) => Raid10Layout::from_name(name).map(Layout::Raid10),
            (_, name) => ParityLayout::from_name(name).map(Layout::Parity),
        };
        layout.unwrap_or_else(|| panic!("level {} has no layout {}", self.level, self.layout))
    }

    /// Sizes of its members in bytes.
    #[must_use]
    pub fn member_sizes(&self) -> Vec<u64> {
        self.sizes.of_members()[..self.members].to_vec()
    }

    /// The devices inside the machine that its members are, by role.
    #[must_use]
    pub fn devices(&self) -> Vec<String> {
        (0..self.members as u8).map(|role| format!("/dev/ubd{}", char::from(b'a' + role))).collect()
    }

    /// What mdadm has to be told to make it.
    #[must_use]
    pub fn mdadm_options(&self) -> String {
        let mut options = format!("--level={} --raid-devices={}", self.level, self.members);
        if self.members == 1 {
            options += " --force";
        }
        if !self.layout.is_empty() {
            options += &format!(" --layout={}", self.layout);
        }
        match (self.level, self.chunk_kib) {
            ("linear", 0) => options += " --rounding=64",
            ("linear", rounding) => options += &format!(" --rounding={rounding}"),
            (_, 0) => (),
            (_, chunk) => options += &format!(" --chunk={chunk}"),
        }
        options
    }

    /// How many members may be missing, whichever they are.
    #[must_use]
    pub fn tolerated(&self) -> usize {
        match self.md_layout() {
            _ if matches!(self.level, "linear" | "0") => 0,
            _ if self.level == "1" => self.members - 1,
            Layout::Raid10(layout) => layout.copies() as usize - 1,
            _ if self.level == "6" => 2,
            _ => 1,
        }
    }

    /// The sets of members that are left out in turn: each one, and each two where an array may
    /// live through that.
    #[must_use]
    pub fn subsets(&self) -> Vec<Vec<usize>> {
        let most = match self.level {
            "linear" | "0" => return Vec::new(),
            "6" | "10" => 2,
            "1" if self.members == 1 => return Vec::new(),
            _ => 1,
        };
        let singles = (0..self.members).map(|role| vec![role]);
        let pairs = (0..self.members)
            .flat_map(|first| (first + 1..self.members).map(move |second| vec![first, second]));
        singles.chain(pairs.filter(|_| most == 2 && self.members > 2)).collect()
    }
}

/// Roles as `arrays.sh` takes and prints them.
#[must_use]
pub fn roles_text(roles: &[usize]) -> String {
    roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
