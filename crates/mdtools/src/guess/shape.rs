//! One way in which members may make up an array, and where it puts what.

use std::fmt;

use array::Raid0Layout;
use array::geometry::{Linear, Parity, Raid0, Raid10, Row};
use array::md::{Layout, Level};
use block::size_text;

use super::SECTOR_BYTES;

/// Level, layout, chunk and place of the data: everything but the order of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The level.
    pub level: Level,
    /// The level's layout.
    pub layout: Layout,
    /// Chunk in bytes; 0 for linear and level 1.
    pub chunk_bytes: u64,
    /// Where data start on every member, in bytes.
    pub data_offset_bytes: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        if self.layout != Layout::Plain {
            write!(f, " {}", self.layout)?;
        }
        if self.chunk_bytes > 0 {
            write!(f, ", chunk {}", size_text(self.chunk_bytes))?;
        }
        write!(f, ", data from {}", size_text(self.data_offset_bytes))
    }
}

/// A place that holds some bytes of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Which place of the layout.
    pub(super) role: usize,
    /// Where on the member, in bytes, with the data offset.
    pub(super) offset: u64,
}

enum Geometry {
    Linear(Linear),
    Raid0(Raid0),
    Mirror(u64),
    Copies(Raid10),
    Parity(Parity),
}

/// A shape over members of known sizes.
pub(super) struct Map {
    geometry: Geometry,
    data_offset_bytes: u64,
    size_bytes: u64,
    roles: usize,
}

impl Map {
    /// The shape over members with these whole sizes, by role; `None` when they are too small for
    /// it.
    pub(super) fn new(shape: &Shape, sizes: &[u64]) -> Option<Map> {
        let data: Option<Vec<u64>> =
            sizes.iter().map(|size| size.checked_sub(shape.data_offset_bytes)).collect();
        let data: Vec<u64> = data?.into_iter().map(|size| size - size % SECTOR_BYTES).collect();
        let smallest = data.iter().copied().min()?;
        let chunk = shape.chunk_bytes;
        if smallest == 0 || smallest < chunk {
            return None;
        }
        let geometry = match (shape.level, shape.layout) {
            (Level::Linear, _) => Geometry::Linear(Linear::new(&data, SECTOR_BYTES)),
            (Level::Raid0, layout) => {
                let layout = if let Layout::Raid0(Some(layout)) = layout {
                    layout
                } else {
                    Raid0Layout::Original
                };
                Geometry::Raid0(Raid0::new(&data, chunk, layout))
            }
            (Level::Raid10, Layout::Raid10(layout)) => {
                Geometry::Copies(Raid10::new(data.len(), smallest, chunk, layout))
            }
            (Level::Raid6, Layout::Parity(layout)) => {
                Geometry::Parity(Parity::with_p_and_q(data.len(), smallest, chunk, layout))
            }
            (Level::Raid5, Layout::Parity(layout)) => {
                Geometry::Parity(Parity::with_p(data.len(), smallest, chunk, layout))
            }
            (Level::Raid4, _) => Geometry::Parity(Parity::with_p(
                data.len(),
                smallest,
                chunk,
                array::ParityLayout::ParityLast,
            )),
            _ => Geometry::Mirror(smallest),
        };
        let size_bytes = match &geometry {
            Geometry::Linear(linear) => linear.size_bytes(),
            Geometry::Raid0(raid0) => raid0.size_bytes(),
            Geometry::Mirror(size) => *size,
            Geometry::Copies(copies) => copies.size_bytes(),
            Geometry::Parity(parity) => parity.size_bytes(),
        };
        Some(Map {
            geometry,
            data_offset_bytes: shape.data_offset_bytes,
            size_bytes,
            roles: data.len(),
        })
    }

    /// Size of the array in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Where the sector at `address` of the array is: one spot, or one for each copy; none behind
    /// the end.
    pub(super) fn spots(&self, address: u64, spots: &mut Vec<Spot>) {
        spots.clear();
        if address.checked_add(SECTOR_BYTES).is_none_or(|end| end > self.size_bytes) {
            return;
        }
        let mut spot = |role: usize, offset: u64| {
            spots.push(Spot { role, offset: offset + self.data_offset_bytes });
        };
        match &self.geometry {
            Geometry::Linear(linear) => {
                let extent = linear.locate(address, SECTOR_BYTES);
                spot(extent.member, extent.offset);
            }
            Geometry::Raid0(raid0) => {
                let extent = raid0.locate(address, SECTOR_BYTES);
                spot(extent.member, extent.offset);
            }
            Geometry::Mirror(_) => (0..self.roles).for_each(|role| spot(role, address)),
            Geometry::Copies(copies) => {
                for copy in 0..copies.layout().copies() {
                    let extent = copies.locate(address, SECTOR_BYTES, copy);
                    spot(extent.member, extent.offset);
                }
            }
            Geometry::Parity(parity) => {
                let (row, within) = parity.locate(address);
                let (index, offset) = parity.locate_in_row(within);
                spot(parity.row(row).member(index), row * parity.chunk_bytes() + offset);
            }
        }
    }

    /// The row of a level with parity that the byte at `offset` of a member is in; `None` outside
    /// of the array's data.
    pub(super) fn row_at(&self, offset: u64) -> Option<Row> {
        let Geometry::Parity(parity) = &self.geometry else { return None };
        let number = offset.checked_sub(self.data_offset_bytes)? / parity.chunk_bytes();
        (number < parity.row_count()).then(|| parity.row(number))
    }
}
