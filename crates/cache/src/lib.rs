//! Caches in front of slow devices, and overlays that keep what lies below unchanged.
//!
//! | stack text | here | what |
//! | --- | --- | --- |
//! | `overlay(DELTA, DEVICE)` | [`Overlay`] | copy on write: the device is never written, the delta takes the changes |

mod beside;
mod overlay;

pub use overlay::{Changes, DeltaState, Overlay, OverlayOptions, commit, discard, examine};
