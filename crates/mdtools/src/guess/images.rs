//! Members, opened for reading.

use super::{MEMBERS_MAX, Members};
use crate::MemberSource;
use crate::catalogue;
use crate::source::{Purpose, Region};
use host::Error;
use host::guard::Guard;
use words::statement;

/// The members of a lost array.
#[derive(Debug)]
pub struct Images {
    regions: Vec<Option<Region>>,
}

impl Images {
    /// Opens the members for reading; `None` is a missing one.
    ///
    /// # Errors
    /// A member that cannot be opened, one that is named twice, fewer than two, or more than
    /// [`MEMBERS_MAX`].
    pub fn open<S: Clone + Into<MemberSource>>(
        guard: &Guard,
        sources: &[Option<S>],
    ) -> Result<Images, Error> {
        let sources: Vec<Option<MemberSource>> =
            sources.iter().map(|source| source.clone().map(Into::into)).collect();
        if !(2..=MEMBERS_MAX).contains(&sources.len()) {
            return Err(Error::usage(statement!(
                catalogue::MEMBERS_TO_GUESS,
                count = sources.len(),
                most = MEMBERS_MAX
            )));
        }
        let images = Images::of(guard, &sources)?;
        if images.regions.iter().flatten().count() < 2 {
            return Err(Error::usage(catalogue::NOTHING_TO_HOLD_AGAINST));
        }
        Ok(images)
    }

    /// The same of any number of members.
    pub(crate) fn of(guard: &Guard, sources: &[Option<MemberSource>]) -> Result<Images, Error> {
        MemberSource::refuse_same_twice(sources.iter().flatten())?;
        let open = |source: &MemberSource| source.open(guard, Purpose::Image);
        let regions = sources
            .iter()
            .map(|source| source.as_ref().map(open).transpose())
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Images { regions })
    }

    /// The same of members that are all there.
    pub(crate) fn of_all(guard: &Guard, sources: &[MemberSource]) -> Result<Images, Error> {
        Images::of(guard, &sources.iter().cloned().map(Some).collect::<Vec<_>>())
    }
}

impl Members for Images {
    fn count(&self) -> usize {
        self.regions.len()
    }

    fn size_bytes(&self, member: usize) -> Option<u64> {
        self.regions[member].as_ref().map(|region| region.size_bytes)
    }

    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool {
        self.regions[member]
            .as_ref()
            .is_some_and(|region| region.read_exact_at(into, offset).is_ok())
    }
}
