//! Frames that tell of neighbours, read and written. No I/O.
pub(crate) mod id;
