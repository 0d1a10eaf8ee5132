//! The charts, as inline SVG.
//!
//! Shapes are written as `rect {}`, not `rect;`: in SVG nothing is void, and an unclosed shape
//! would swallow what follows. Coordinates are CSS pixels at the chart's own size. Colours and
//! fonts come from the page's style sheet through classes, so that one chart serves light, dark and
//! print. Every chart has a title; the page puts the same numbers in a table after it. A mark with
//! a title of its own, or with `data-c`, which names a cell, says its figures when it is pointed at
//! or reached with the arrow keys.

mod curves;
mod forest;
mod frame;
mod grades;
mod lines;
mod space;
mod strip;
mod tails;

pub(crate) use curves::curves;
pub(crate) use forest::forest;
pub(crate) use frame::{Chart, Decades, LogScale, px};
pub(crate) use grades::grades;
pub(crate) use lines::{class, lines};
pub(crate) use space::{mark, space};
pub(crate) use strip::strip;
pub(crate) use tails::tails;
