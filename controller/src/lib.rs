//! The daemon on the head node: a core that decides, a shell that carries out.
pub mod api;
