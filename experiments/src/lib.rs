//! What the experiments share; their programs are in `src/bin/`.
//!
//! | module | one idea |
//! |---|---|
//! | [`graph`] | networks with redundant links: spanning trees of them, and random ones |
//! | [`chart`] | line charts as SVG |
pub mod chart;
pub mod graph;
