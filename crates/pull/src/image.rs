//! Contents of a drive in memory, of which only what was written takes room.

use std::collections::HashMap;

/// The part of an image that is kept or not as one.
pub(crate) const PAGE_BYTES: usize = 4096;

pub(crate) type Page = Box<[u8; PAGE_BYTES]>;

/// Pages by number; what is not there is zeroes, or what lies below.
#[derive(Default)]
pub(crate) struct Image {
    pages: HashMap<u64, Page>,
}

/// The page, the place in it, and how many bytes follow there, for each page of a range.
pub(crate) fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        let start = (at % PAGE_BYTES as u64) as usize;
        let count = (PAGE_BYTES - start).min((end - at) as usize);
        let page = at / PAGE_BYTES as u64;
        at += count as u64;
        (count > 0).then_some((page, start, count))
    })
}

impl Image {
    pub(crate) fn page(&self, number: u64) -> Option<&[u8; PAGE_BYTES]> {
        self.pages.get(&number).map(|page| &**page)
    }

    /// The page to be changed; `below` fills it when it is not there yet.
    pub(crate) fn page_mut(
        &mut self,
        number: u64,
        below: impl FnOnce(&mut [u8; PAGE_BYTES]),
    ) -> &mut [u8; PAGE_BYTES] {
        self.pages.entry(number).or_insert_with(|| {
            let mut page = Box::new([0; PAGE_BYTES]);
            below(&mut page);
            page
        })
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = (&u64, &Page)> {
        self.pages.iter()
    }
}

/// The durable contents of a drive, and how often they were rolled forward.
#[derive(Default)]
pub(crate) struct Durable {
    pub(crate) image: Image,
    pub(crate) generation: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_falls_into_pages() {
        let found: Vec<_> = parts(4000, 5000).collect();
        assert_eq!(found, [(0, 4000, 96), (1, 0, 4096), (2, 0, 808)]);
        assert_eq!(parts(512, 0).count(), 0);
    }
}
