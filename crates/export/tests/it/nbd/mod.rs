//! The NBD server as its clients see it: what they are promised, and what the worst of them can do
//! to the others.

mod abuse;
mod client;
mod promises;
