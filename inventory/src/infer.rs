//! Views to topology.
