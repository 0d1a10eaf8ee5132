//! Reading members sector by sector, with what was read kept.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::{Members, SECTOR_BYTES};

/// One sector of a member or of the array.
pub(super) type Sector = [u8; SECTOR_BYTES as usize];

const PAGE_BYTES: u64 = 4096;
/// When this many pages are kept, all are given up.
const PAGES_MAX: usize = 32 << 10;

type Page = Option<Rc<[u8; PAGE_BYTES as usize]>>;

/// The members with a cache.
pub(super) struct Reader<'a> {
    members: &'a dyn Members,
    /// Members that add up to zero by themselves; all of them do where this is empty.
    groups: &'a [Vec<usize>],
    pages: RefCell<HashMap<(usize, u64), Page>>,
    read_bytes: Cell<u64>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(members: &'a dyn Members) -> Reader<'a> {
        Reader::of_groups(members, &[])
    }

    /// The same of members of which each of these groups adds up to zero.
    pub(super) fn of_groups(members: &'a dyn Members, groups: &'a [Vec<usize>]) -> Reader<'a> {
        Reader { members, groups, pages: RefCell::default(), read_bytes: Cell::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.members.count()
    }

    pub(super) fn is_absent(&self, member: usize) -> bool {
        self.members.size_bytes(member).is_none()
    }

    /// The sizes, with that of the smallest for absent members.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let smallest = self.smallest();
        (0..self.count())
            .map(|member| self.members.size_bytes(member).unwrap_or(smallest))
            .collect()
    }

    pub(super) fn smallest(&self) -> u64 {
        (0..self.count()).filter_map(|member| self.members.size_bytes(member)).min().unwrap_or(0)
    }

    /// The sector at `offset`; `None` when it cannot be read.
    pub(super) fn sector(&self, member: usize, offset: u64) -> Option<Sector> {
        let (number, within) = (offset / PAGE_BYTES, (offset % PAGE_BYTES) as usize);
        let page = self.pages.borrow().get(&(member, number)).cloned();
        let page = match page {
            Some(page) => page,
            None => {
                let page = self.load(member, number * PAGE_BYTES);
                let mut pages = self.pages.borrow_mut();
                if pages.len() >= PAGES_MAX {
                    pages.clear();
                }
                pages.insert((member, number), page.clone());
                page
            }
        };
        page.map(|page| {
            let mut sector = [0; SECTOR_BYTES as usize];
            sector.copy_from_slice(&page[within..within + SECTOR_BYTES as usize]);
            sector
        })
    }

    fn load(&self, member: usize, offset: u64) -> Page {
        let size = self.members.size_bytes(member)?;
        let length = size.checked_sub(offset).filter(|left| *left > 0)?.min(PAGE_BYTES);
        let mut page = [0; PAGE_BYTES as usize];
        self.read_bytes.set(self.read_bytes.get() + length);
        self.members.read(member, offset, &mut page[..length as usize]).then(|| Rc::new(page))
    }

    pub(super) fn has_absent(&self) -> bool {
        (0..self.count()).any(|member| self.is_absent(member))
    }

    /// The sum of what the others of its group hold at `offset`, without `but`: what an absent
    /// member of a level with P holds.
    pub(super) fn sum_of_others(
        &self,
        absent: usize,
        but: Option<usize>,
        offset: u64,
    ) -> Option<Sector> {
        let own = self.groups.iter().find(|group| group.contains(&absent));
        let is_added = |member: &usize| {
            *member != absent && Some(*member) != but && own.is_none_or(|own| own.contains(member))
        };
        let mut sum = [0; SECTOR_BYTES as usize];
        for member in (0..self.count()).filter(is_added) {
            add(&mut sum, &self.sector(member, offset)?);
        }
        Some(sum)
    }

    /// How much was read so far, in bytes.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read_bytes.get()
    }
}

/// Adds `other` to `sum`, as P does.
pub(super) fn add(sum: &mut Sector, other: &Sector) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum ^= other);
}

pub(super) fn is_zero(sector: &Sector) -> bool {
    sector.iter().all(|byte| *byte == 0)
}
