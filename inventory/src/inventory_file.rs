//! The operator's inventory.
