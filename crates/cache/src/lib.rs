//! Caches in front of slow devices, and overlays that keep what lies below unchanged.
//!
//! | stack text | here | what |
//! | --- | --- | --- |
//! | `overlay(DELTA, DEVICE)` | [`Overlay`] | copy on write: the device is never written, the delta takes the changes |
//! | `cache(mode=…, STORE, DEVICE)` | [`Cache`] | what is asked for again comes from the store, which is faster than the device |
//!
//! What a cache layer and the simulator stand on: a [`Directory`] (which block is in which slot,
//! and which goes next, by one of the policies of [`PolicyKind`]) and [`Admission`] (what comes in
//! at all).

mod catalogue;
mod device_check;
mod frame;
mod layer;
mod overlay;
mod policy;
pub mod simulate;
mod unchanged;

pub use layer::{
    Cache, CacheCondition, CacheCounts, CacheHandle, CacheMode, CacheOptions, CacheStatus,
    CacheUpkeep, KeepingOptions, SalvagedStore, StoreContents, StoreSeal, examine_store, salvage,
};
pub use overlay::{
    Changes, DeltaState, Overlay, OverlayOptions, commit, discard, examine, seal_delta,
};
pub use policy::{
    Admission, AdmissionOptions, Directory, POLICY_BYTES_PER_SLOT, PolicyKind, SLOTS_MAX, Slot,
};
pub use unchanged::{Facts, LeafFacts, fact};
