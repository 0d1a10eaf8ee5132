//! The tests that use this package from outside, in one program: one to build and link.

mod arrays;
mod guess;
mod nested;
mod rescue;
