//! All-to-all among clusters joined by long-distance links.
pub mod predict;
