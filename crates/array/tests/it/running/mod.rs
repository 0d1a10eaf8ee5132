//! Arrays that run: rebuilds and scrubs among requests, md's metadata at every moment, crashes, and
//! the mistakes that have to be found.

mod metadata;
mod must_fail;
mod sync;
