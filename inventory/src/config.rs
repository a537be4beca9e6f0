//! The files that people write: inventory and topology files, lists of hosts, secrets, the environment.
pub mod environment;
pub mod host_lists;
pub(crate) mod input_file_error;
pub(crate) mod input_form;
pub mod inventory_file;
pub mod name_ranges;
pub mod ranged_keys;
pub mod sanitize;
pub mod secret;
pub mod topology_file;
pub mod unique_keys;
pub mod unreadable;
pub mod yaml;
