//! One way in which members may make up an array, and where it puts what.

use std::fmt;

use array::Raid0Layout;
use array::geometry::{Linear, Parity, ParityLayout, Raid0, Raid10, Row};
use array::md::{Layout, Level};
use block::{Node, size_text};

use words::{Text, statement};

use super::SECTOR_BYTES;
use crate::catalogue;

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
    /// What the members are where each is an array itself.
    pub below: Option<ParityBelow>,
}

/// An array with parity that stands in a place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParityBelow {
    /// Its level: 5 or 6.
    pub level: Level,
    /// How many members it has.
    pub members: usize,
    /// Its layout.
    pub layout: ParityLayout,
    /// Its chunk in bytes.
    pub chunk_bytes: u64,
    /// Where data start on every member of it, in bytes.
    pub data_offset_bytes: u64,
}

impl ParityBelow {
    /// What each of these arrays is by itself.
    pub(super) fn shape(self) -> Shape {
        Shape {
            level: self.level,
            layout: Layout::Parity(self.layout),
            chunk_bytes: self.chunk_bytes,
            data_offset_bytes: self.data_offset_bytes,
            below: None,
        }
    }
}

impl Shape {
    /// The layer of a stack over these members.
    pub(super) fn node(&self, members: Vec<Node>) -> Node {
        let node = Node::layer(crate::layer_name(self.level), members).with("metadata", "none");
        let node = match self.chunk_bytes {
            0 => node,
            chunk_bytes => node.with("chunk", size_text(chunk_bytes)),
        };
        match self.layout {
            Layout::Plain | Layout::Unknown(_) | Layout::Raid0(None) => node,
            layout => node.with("layout", layout),
        }
    }
}

impl From<&Shape> for Text {
    fn from(shape: &Shape) -> Text {
        let mut text = Text::from(shape.level.to_string());
        if shape.layout != Layout::Plain {
            text = text.and(format_args!(" {}", shape.layout));
        }
        if shape.chunk_bytes > 0 {
            text =
                text.and(statement!(catalogue::SHAPE_CHUNK, size = size_text(shape.chunk_bytes)));
        }
        let offset = size_text(shape.data_offset_bytes);
        text = text.and(statement!(catalogue::SHAPE_DATA_FROM, offset = offset));
        match shape.below {
            Some(below) => {
                let (shape, count) = (Text::from(&below.shape()), below.members);
                text.and(statement!(catalogue::SHAPE_EACH_MEMBER, shape = shape, count = count))
            }
            None => text,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(self))
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
    /// One over others, which have as many members each.
    Nested(Box<Map>, Vec<Map>),
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
        if let Some(below) = shape.below {
            return Map::nested(shape, below, sizes);
        }
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
            Geometry::Nested(over, _) => over.size_bytes,
        };
        Some(Map {
            geometry,
            data_offset_bytes: shape.data_offset_bytes,
            size_bytes,
            roles: data.len(),
        })
    }

    /// The same over arrays: the first members by role are the first array, and so on.
    fn nested(shape: &Shape, below: ParityBelow, sizes: &[u64]) -> Option<Map> {
        let inner = sizes.chunks_exact(below.members);
        let inner: Vec<Map> =
            inner.map(|sizes| Map::new(&below.shape(), sizes)).collect::<Option<_>>()?;
        let inner_sizes: Vec<u64> = inner.iter().map(|map| map.size_bytes).collect();
        let over = Map::new(&Shape { below: None, ..*shape }, &inner_sizes)?;
        Some(Map {
            size_bytes: over.size_bytes,
            data_offset_bytes: 0,
            roles: sizes.len(),
            geometry: Geometry::Nested(Box::new(over), inner),
        })
    }

    /// Size of the array in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The arrays below it, where each place is one.
    pub(super) fn below(&self) -> &[Map] {
        match &self.geometry {
            Geometry::Nested(_, inner) => inner,
            _ => &[],
        }
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
            Geometry::Nested(over, inner) => {
                let mut places = Vec::new();
                over.spots(address, &mut places);
                let mut own = Vec::new();
                for Spot { role: place, offset } in places {
                    inner[place].spots(offset, &mut own);
                    let first = place * inner[place].roles;
                    let moved = own.iter().map(|it| Spot { role: first + it.role, ..*it });
                    spots.extend(moved);
                }
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

    /// The role of Q in the row that the byte at `offset` of this role's member is in. Among arrays
    /// below another one nothing is told without a role.
    pub(super) fn q_beside(&self, role: Option<usize>, offset: u64) -> Option<usize> {
        let Geometry::Nested(_, inner) = &self.geometry else { return self.row_at(offset)?.q };
        let size = inner.first()?.roles;
        let place = role? / size;
        Some(place * size + inner[place].row_at(offset)?.q?)
    }

    /// The address of the array of which a role's member holds a copy at `offset`, for levels with
    /// copies; `None` outside of the array's data.
    pub(super) fn copied_at(&self, role: usize, offset: u64) -> Option<u64> {
        let Geometry::Copies(copies) = &self.geometry else { return None };
        // Far copies of a chunk that the members are too small for.
        if self.size_bytes == 0 {
            return None;
        }
        copies.at(role, offset.checked_sub(self.data_offset_bytes)?)
    }
}
