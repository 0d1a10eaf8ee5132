//! Contents of a drive in memory, of which only what was written takes room.

use std::collections::HashMap;
use std::sync::Arc;

/// The part of an image that is kept or not as one.
pub(crate) const PAGE_BYTES: usize = 4096;

pub(crate) type Page = Arc<[u8; PAGE_BYTES]>;

/// Pages by number; what is not there is zeroes, or what lies below. A clone shares the pages until
/// one of the two changes them.
#[derive(Clone, Default)]
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
        let page = self.pages.entry(number).or_insert_with(|| {
            let mut page = [0; PAGE_BYTES];
            below(&mut page);
            Arc::new(page)
        });
        Arc::make_mut(page)
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = (&u64, &Page)> {
        self.pages.iter()
    }
}

/// The durable contents of a drive, and how often they were rolled forward.
#[derive(Clone, Default)]
pub(crate) struct Durable {
    pub(crate) image: Image,
    pub(crate) generation: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_what_it_was() {
        let mut image = Image::default();
        image.page_mut(3, |page| page.fill(1))[7] = 2;
        let before = image.clone();
        image.page_mut(3, |_| unreachable!("it is there"))[7] = 9;
        assert_eq!((before.page(3).unwrap()[7], image.page(3).unwrap()[7]), (2, 9));
        assert_eq!(before.page(3).unwrap()[8], 1);
    }

    #[test]
    fn a_range_falls_into_pages() {
        let found: Vec<_> = parts(4000, 5000).collect();
        assert_eq!(found, [(0, 4000, 96), (1, 0, 4096), (2, 0, 808)]);
        assert_eq!(parts(512, 0).count(), 0);
    }
}
