//! The packages: what they hold, and that a machine on which they were installed, used and purged is
//! as before.
mod clean_root;
mod debian;
mod purge;
mod rpm;
mod tarball;
mod target_folder;
mod tools;
mod unit_line;
