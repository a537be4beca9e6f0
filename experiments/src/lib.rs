//! The common parts of the experiments; their programs are in `src/bin/`.
//!
//! | module | one idea |
//! |---|---|
//! | [`figures`] | docs/figures.md has a part for each program, which the program writes |
//! | [`graph`] | networks with redundant links: their spanning trees, and random networks |
pub mod figures;
pub mod graph;
