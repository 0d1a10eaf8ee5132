//! Clusters that are packed: deflate and zstd in qcow2, zlib behind a marker in VMDK.

use std::io::Read;

use block::Error;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;

use crate::catalogue;
use crate::map::damaged;

/// Packed clusters are no longer than whole ones, but for a header.
pub(crate) const PACKED_SPARE_BYTES: u64 = 4096;

/// How clusters are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Deflate without a header.
    Deflate,
    Zstd,
    /// A marker of VMDK (sector and length), and zlib.
    Marked,
}

/// What a marker takes in front of a grain, in bytes: its sector and the length of what follows.
const MARKER_BYTES: usize = 12;

impl Packing {
    /// Unpacks a cluster of which `bytes` are the beginning and more; it fills `cluster`.
    pub(crate) fn unpack(self, bytes: &[u8], cluster: &mut [u8]) -> Result<(), Error> {
        let wrong = || damaged(catalogue::NOT_UNPACKED);
        let inflate = |bytes: &[u8], cluster: &mut [u8], has_header: bool| {
            decompress_slice_iter_to_slice(cluster, std::iter::once(bytes), has_header, false)
                .map_err(|_| wrong())
        };
        match self {
            Packing::Deflate => match inflate(bytes, cluster, false)? {
                length if length == cluster.len() => Ok(()),
                _ => Err(wrong()),
            },
            Packing::Marked => {
                let length = bytes.get(8..MARKER_BYTES).ok_or_else(wrong)?;
                let length = u32::from_le_bytes(length.try_into().map_err(|_| wrong())?) as usize;
                let packed = bytes[MARKER_BYTES..].get(..length).ok_or_else(wrong)?;
                // The disk's last grain may be shorter.
                let length = inflate(packed, cluster, true)?;
                cluster[length..].fill(0);
                Ok(())
            }
            Packing::Zstd => {
                let decoder =
                    ruzstd::decoding::StreamingDecoder::new(bytes).map_err(|_| wrong())?;
                { decoder }.read_exact(cluster).map_err(|_| wrong())
            }
        }
    }
}
