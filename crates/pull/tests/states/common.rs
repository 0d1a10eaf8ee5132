//! What the arrays' own bench needs.

pub(crate) use testkit::finish;
