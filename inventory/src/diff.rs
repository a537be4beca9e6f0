//! What changed between two topologies.
