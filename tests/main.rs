//! All end-to-end tests: one program, so that the crates under test are linked once, and one module
//! for each subject. `cargo test --test all MODULE::` runs a module's tests. Needs root and the
//! packages that scripts/packages installs.
mod agent;
mod api_flood;
mod check;
mod closed_pipes;
mod clusters;
mod common;
mod communicators;
mod controller;
mod demo;
mod discover;
mod exports;
mod first_day;
mod frozen_directory;
mod frozen_publisher;
mod generated;
mod hostile;
mod house;
mod lab;
mod learned;
mod lg;
mod live_cluster;
mod loaded;
mod loading;
mod messages;
mod mpi;
mod packages;
mod pictures;
mod predict;
mod profilers;
mod routers;
mod schedule;
mod secrets;
mod service;
mod stress;
#[cfg(feature = "suites")]
mod suites;
mod tls;
mod trace;
mod trap_flood;
mod tui;
mod tune;
mod units;
mod version;
mod walks;
mod what_if;
