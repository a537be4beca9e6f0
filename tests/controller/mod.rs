//! `heddle controller`, `publish` and `history` from the outside: refusals are clear, and no
//! published epoch is ever lost.
mod commands;
mod published_view;
mod publishing;
mod refusals;
mod running;
