//! What the device of an image and its channels have in common.

use std::sync::Arc;

use block::{BufMut, Device, Info};

use crate::map::ImageMap;
use crate::packed::Packing;

pub(crate) struct Core {
    pub(crate) file: Arc<dyn Device>,
    /// What the file has behind the device's end.
    pub(crate) tail: Vec<u8>,
    /// What lies where the image has nothing.
    pub(crate) backing: Option<Arc<dyn Device>>,
    pub(crate) map: ImageMap,
    pub(crate) packing: Packing,
    pub(crate) info: Info,
    /// The longest read that the devices below take, in bytes.
    pub(crate) piece_bytes_max: u64,
}

impl Core {
    /// Packed clusters are no longer than whole ones, but for a header.
    pub(crate) const PACKED_SPARE_BYTES: u64 = 4096;

    /// Fills a piece that begins in the file at or behind the device's end: what the file has
    /// there, and zeroes.
    pub(crate) fn fill_behind(&self, at: u64, piece: &mut BufMut) {
        if piece.is_empty() {
            return;
        }
        let from = at.saturating_sub(self.file.info().size_bytes);
        let there = self.tail.get(from as usize..).unwrap_or_default();
        let mut bytes = vec![0; piece.len()];
        let length = there.len().min(bytes.len());
        bytes[..length].copy_from_slice(&there[..length]);
        piece.copy_from_slice(&bytes);
    }

    /// How much of this part of a hole the backing device has, in bytes.
    pub(crate) fn backed(&self, offset: u64, length: u64) -> u64 {
        let end = self.backing.as_ref().map_or(0, |backing| backing.info().size_bytes);
        end.saturating_sub(offset).min(length)
    }
}
