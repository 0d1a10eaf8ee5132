//! Caches in front of slow devices, and overlays that keep what lies below unchanged.
