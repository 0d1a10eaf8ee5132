//! Devices for other programs: an NBD server, a file through FUSE, a loop device over it.

pub mod fuse;
mod gate;
pub mod loop_device;
pub mod nbd;
mod odd;
mod policy;
pub mod serve;
pub mod users;

pub use gate::Gate;
pub use policy::RemovalPolicy;
