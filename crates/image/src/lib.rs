//! Disk images of virtual machines: qcow2 read and written; VMDK, VHD, VHDX and VDI read.
//!
//! ```text
//!   formats     the first bytes and tables of an image, bounded, to one map: where each piece lies
//!     | ImageMap
//!   ImageDevice a layer over the image's file and, where it lies over another disk, that one
//! ```
//!
//! An image is bytes from a stranger. Nothing that it names is opened: what it lies over is a
//! device that the caller gives. Tables are bounded by the file that they are in, none is read
//! twice, and
//! none may lie where data do.

mod catalogue;
mod changes;
mod channel;
mod device;
mod format;
mod image_core;
mod map;
mod packed;
mod source;
mod tables;

pub use device::{ImageDevice, ImageOptions};
pub use format::{FileRoom, ImageFormat, ImageHeader, ImageUse, ReadBytes};
