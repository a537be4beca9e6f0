//! The daemon on the head node: a core that decides, a shell that carries out.
//!
//! ```text
//! Observation, Trap, Job --Event--> Core --Effect--> read a switch, plan, publish
//!                                     |
//!                                  Snapshot --> HTTP
//! ```
pub mod api;
pub mod publish;
