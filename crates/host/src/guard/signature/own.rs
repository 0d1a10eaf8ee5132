//! A file or device as it would be without what a run has made of it itself.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;

use super::read_up_to;
use super::table::MD_MAGIC;

/// Where the superblock of version 1.2 is, how much it takes up, and where in it its array's
/// identity is, in bytes.
const MD_1_2_AT: u64 = 4096;
const MD_1_2_BYTES: u64 = 4096;
const MD_UUID_AT: usize = 16;

/// A file or device as it would be without a superblock of one of these arrays.
pub(in crate::guard) struct WithoutArray<'a, F> {
    file: &'a F,
    is_member: bool,
}

impl<F: FileExt> WithoutArray<'_, F> {
    /// # Errors
    /// What the system says about reading.
    pub(in crate::guard) fn of<'a>(
        file: &'a F,
        arrays: &HashSet<[u8; 16]>,
    ) -> io::Result<WithoutArray<'a, F>> {
        let start = read_up_to(file, MD_1_2_AT, MD_UUID_AT + 16)?;
        let uuid = start.get(MD_UUID_AT..).and_then(|uuid| uuid.first_chunk());
        let is_member =
            start.starts_with(&MD_MAGIC) && uuid.is_some_and(|uuid| arrays.contains(uuid));
        Ok(WithoutArray { file, is_member })
    }
}

impl<F: FileExt> FileExt for WithoutArray<'_, F> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(bytes, offset)?;
        for (at, byte) in (offset..).zip(&mut bytes[..count]) {
            if self.is_member && (MD_1_2_AT..MD_1_2_AT + MD_1_2_BYTES).contains(&at) {
                *byte = 0;
            }
        }
        Ok(count)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::{SIZE, planted};
    use super::*;

    #[test]
    fn an_array_of_our_own_hides_itself_and_nothing_else() {
        let superblock = |uuid: [u8; 16]| [&MD_MAGIC[..], &[0; 12], &uuid].concat();
        let own = HashSet::from([[7; 16]]);
        let found = |marks: &[(u64, &[u8])]| {
            let file = planted(marks);
            find(&WithoutArray::of(&file, &own).unwrap(), SIZE).unwrap()
        };
        assert_eq!(found(&[(4096, &superblock([7; 16]))]), None);
        assert_eq!(
            found(&[(4096, &superblock([8; 16]))]),
            Some("md array member (version 1.2)"),
            "another's"
        );
        assert_eq!(found(&[(4096, &superblock([7; 16])), (0, b"XFSB")]), Some("XFS"));
    }
}
