//! `image(FILE, BACKING)`: the disk in an image.

use std::sync::{Arc, Mutex, RwLock};

use block::{
    Blocking, Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Reactor,
    SECTOR_BYTES, Support, TracedChannel,
};
use words::{Text, statement};

use crate::catalogue;
use crate::channel::ImageChannel;
use crate::format::{ImageHeader, ImageUse};
use crate::image_core::{Core, ImageState};
use crate::map::ClusterLocation;
use crate::packed::PACKED_SPARE_BYTES;
use crate::tables::Tables;

/// How an image is opened.
pub struct ImageOptions {
    /// What for.
    pub image_use: ImageUse,
    /// What the file has behind its last whole block: images end anywhere.
    pub tail: Vec<u8>,
}

impl Default for ImageOptions {
    fn default() -> ImageOptions {
        ImageOptions { image_use: ImageUse::Read, tail: Vec::new() }
    }
}

/// The disk in an image.
pub struct ImageDevice {
    core: Arc<Core>,
    image_use: ImageUse,
    note: Option<Text>,
}

impl ImageDevice {
    /// Opens the image that `file` holds, whatever its format is; `backing` is what it lies over,
    /// which the caller has named.
    ///
    /// # Errors
    /// As [`ImageHeader::read`]; [`ErrorKind::Refused`] when it lies over a disk that was not
    /// named, [`ErrorKind::Invalid`] when it lies over none and one was.
    pub fn open(
        file: Arc<dyn Device>,
        backing: Option<Arc<dyn Device>>,
        options: ImageOptions,
    ) -> Result<ImageDevice, Error> {
        let ImageOptions { image_use, tail } = options;
        let header = ImageHeader::read_from(&*file, &image_use, &tail)?;
        let is_written = image_use == ImageUse::Write;
        match (&header.backing, &backing) {
            (Some(name), None) => return Err(unnamed(&file.describe(), name)),
            (None, Some(_)) => {
                let text = catalogue::NO_BACKING;
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            _ => (),
        }
        let below = backing.as_ref().map_or(SECTOR_BYTES as u32, |disk| disk.info().block_bytes);
        if u64::from(file.info().block_bytes.max(below)) > SECTOR_BYTES {
            let text = catalogue::LONG_BLOCKS;
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let info = Info {
            size_bytes: header.map.size_bytes,
            block_bytes: SECTOR_BYTES as u32,
            optimal_bytes: header.map.cluster_bytes.clamp(4096, 1 << 20) as u32,
            stripe: None,
            max_request_bytes: 64 << 20,
            read_only: !is_written,
            // Until a flush the tables know nothing of what was written.
            volatile_cache: is_written,
            fua: Support::None,
            zeroes: if is_written { Support::Native } else { Support::None },
            discard: if is_written { DiscardSupport::ReadsZero } else { DiscardSupport::None },
            ..file.info().clone()
        };
        if is_written && (file.info().read_only || !tail.is_empty()) {
            return Err(Error::new(ErrorKind::ReadOnly, catalogue::FILE_READ_ONLY));
        }
        let ImageHeader { map, packing, note, tables, .. } = header;
        let below = backing.as_ref().map_or(u32::MAX, |disk| disk.info().max_request_bytes);
        let piece_bytes_max = u64::from(file.info().max_request_bytes.min(below));
        if map.is_packed() && map.cluster_bytes + 2 * PACKED_SPARE_BYTES > piece_bytes_max {
            let text = catalogue::SHORTER_THAN_PACKED;
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        if is_written && map.cluster_bytes > piece_bytes_max {
            let text = catalogue::SHORTER_THAN_CLUSTERS;
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let core = Arc::new(Core {
            file,
            tail,
            backing,
            packing,
            info,
            piece_bytes_max,
            cluster_bytes: map.cluster_bytes,
            state: RwLock::new(ImageState { map, tables }),
            claims: Mutex::default(),
            flush_failure: Mutex::default(),
        });
        if let Some(tables) = &mut core.state_mut().tables {
            lengthen_counts(&*core.file, tables)?;
        }
        Ok(ImageDevice { core, image_use, note })
    }

    /// What the user should know: what the image says of its own state.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.note.as_ref()
    }
}

/// Sees to it that all clusters that may come to be used can be counted.
fn lengthen_counts(file: &dyn Device, tables: &mut Tables) -> Result<(), Error> {
    let mut channel = Blocking::beside(file)?;
    let mut header = [0; SECTOR_BYTES as usize];
    channel.read_slice(0, &mut header)?;
    for writes in tables.lengthen_counts(&header)? {
        writes.iter().try_for_each(|(offset, bytes)| channel.write_slice(*offset, bytes))?;
        channel.flush()?;
    }
    Ok(())
}

/// How it is said that an image lies over something that nobody named. The name is the image's own.
fn unnamed(file: &Node, name: &str) -> Error {
    let shown: String = name.chars().take(200).flat_map(char::escape_default).collect();
    let file = match file.file_path() {
        Some(path) => Node::file(&path),
        None => file.clone(),
    };
    let text = statement!(catalogue::LIES_OVER, shown = shown, file = file.to_string());
    Error::new(ErrorKind::Refused, text)
}

impl Device for ImageDevice {
    fn info(&self) -> &Info {
        &self.core.info
    }

    fn describe(&self) -> Node {
        let mut children = vec![self.core.file.describe()];
        children.extend(self.core.backing.as_ref().map(|backing| backing.describe()));
        let node = Node::layer("image", children);
        match &self.image_use {
            ImageUse::Read => node,
            ImageUse::Snapshot(name) => node.with("snapshot", name),
            ImageUse::Write => node.with("write", "yes"),
            ImageUse::Extent => node.with("extent", "yes"),
        }
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = ImageChannel::open(&self.core, depth, reactor)?;
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let (place, run) = self.core.state().map.run(offset, length);
        let backed = self.core.backed(offset, run);
        match (place, &self.core.backing) {
            (ClusterLocation::Hole, Some(backing)) if backed > 0 => {
                backing.extents(offset, backed, found);
            }
            (ClusterLocation::Hole | ClusterLocation::Zero, _) => found.push(run, true),
            (ClusterLocation::At(_) | ClusterLocation::Packed(_), _) => found.push(run, false),
        }
    }
}
