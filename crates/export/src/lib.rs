//! Devices for other programs: an NBD server, a file through FUSE, a loop device over it.

pub mod fuse;
mod policy;

pub use policy::RemovalPolicy;
