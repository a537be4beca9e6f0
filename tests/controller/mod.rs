//! `heddle controller`, `publish` and `history` from the outside: clear refusals, and nothing
//! published is ever lost.
mod commands;
mod published_view;
mod publishing;
mod refusals;
mod running;
