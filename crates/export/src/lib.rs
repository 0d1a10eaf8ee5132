//! Devices for other programs: an NBD server, a file through FUSE, a loop device over it, a block
//! device through ublk, disks of virtual machines through vhost-user.

mod catalogue;
pub mod fuse;
mod gate;
pub mod image;
pub mod loop_device;
pub mod nbd;
mod policy;
pub mod serve;
pub mod tool;
pub mod ublk;
mod unaligned;
pub mod users;
pub mod vhost_user;

pub use gate::Gate;
pub use policy::RemovalPolicy;
