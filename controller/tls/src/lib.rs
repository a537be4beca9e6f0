//! Connections of agents and viewers to a controller: whom they trust, and why they fail.
//!
//! | module | one idea |
//! |---|---|
//! | [`authorities`] | the authorities that certify a controller, from their file |
//! | [`fault`] | why a connection fails, in words for operators |

pub mod authorities;
pub mod fault;

pub use fault::TlsFault;
