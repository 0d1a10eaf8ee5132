//! The tests that use this package from outside, in one program: one to build and link.

mod attach;
mod ceph;
mod encrypted;
mod exchange;
mod nbd;
mod nbd_hosts;
mod nbd_leaf;
mod nested;
mod reboot;
mod refused;
mod running;
mod vhost_user;
