//! The common parts of the experiments; their programs are in `src/bin/`.
//!
//! | module | one idea |
//! |---|---|
//! | [`graph`] | networks with redundant links: their spanning trees, and random networks |
pub mod graph;
