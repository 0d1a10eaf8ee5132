//! The tests that use this package from outside, in one program: one to build and link.

mod fuse;
mod loop_device;
mod nbd;
mod vhost_user;
