//! One process an array: its exports, its control socket, its upkeep, and how they end.
