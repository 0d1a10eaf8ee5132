//! Devices for other programs: an NBD server, a file through FUSE, a loop device over it.

pub mod fuse;
pub mod loop_device;
pub mod nbd;
mod policy;
pub mod serve;
pub mod users;

pub use policy::RemovalPolicy;
