//! What several end-to-end tests share.
pub(crate) mod golden;
