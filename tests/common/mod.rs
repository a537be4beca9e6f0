//! What several end-to-end tests share; each test file uses its part.
#[allow(dead_code)]
pub(crate) mod daemon;
#[allow(dead_code)]
pub(crate) mod golden;
#[allow(dead_code)]
pub(crate) mod lab;
#[allow(dead_code)]
pub(crate) mod walks;
