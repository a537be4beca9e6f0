//! The terminal interface: a picture of the cluster, of its epochs and its jobs, from the
//! controller's snapshots.
//!
//! ```text
//! source --Message--> App::update --Effect--> lab, quit        App::draw --> frame
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`app`] | the state machine: messages in, effects out; time is an argument |
//! | [`source`] | the sources of snapshots: the controller's event stream or a recorded file |
//! | [`sanitize`] | every text of the controller, made harmless |
//! | [`theme`] | colours and symbols; a state never shows by its hue alone |
//! | `keys` | the one table of keys, read by dispatch, footer and help |
//! | `panels` | one file a panel |
//! | `screen` | the real terminal: taken over, and given back on every way out |
pub mod app;
mod ascii;
mod chart;
mod columns;
mod commands;
mod draw;
mod event_loop;
mod format;
mod job_past;
mod keys;
mod panel_view;
mod panels;
mod past;
mod picture;
mod port_names;
#[cfg(test)]
mod reference;
mod rows;
pub mod sanitize;
mod screen;
pub mod settings;
pub mod source;
mod table;
pub mod terminal;
mod text_filter;
pub mod theme;
mod tree;
mod wrap;

pub use app::{App, AppEffect, AppMessage, CutLink, LabAction, link_names};
pub use event_loop::{LabControl, TuiError, TuiOptions, print, run, text};
pub use keys::KeyTable;
pub use settings::{ConnectionSettings, SettingsError, TuiSettings};
pub use source::{ControllerAccess, SnapshotSource};
pub use terminal::TerminalTraits;
pub use theme::{ColourDepth, Theme};
