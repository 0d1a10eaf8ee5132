//! Devices for other programs: an NBD server, a file through FUSE, a loop device over it.

pub mod fuse;
pub mod loop_device;
mod policy;

pub use policy::RemovalPolicy;
