//! The shared directory: every format, limit, reader and writer.
//!
//! ```text
//! .lock                   held by the one publisher, for nobody else to open
//! current                 the pointer: "41 sha256:<digest of the manifest>\n"
//! epochs/00000041/        an epoch; never changes
//! tuning.json             what `heddle tune` measured; goes into the next epoch
//! jobs/ID.json            job records; the folder is world-writable and sticky
//! ```
//!
//! The formats are functions on bytes. Whatever is read is bounded, and nothing is opened that
//! could block: the folder of job records belongs to everybody, and all others may lie on a file
//! server. The library that jobs preload has this crate in it, so it stays light.
//!
//! | module | one idea |
//! |---|---|
//! | [`layout`] | names of files and folders, and how long a file may be |
//! | [`pointer`] | which epoch is the current one |
//! | [`epoch`] | the files of a published version |
//! | [`publishing`] | epochs go in whole or not at all |
//! | [`reading`] | what is published |
//! | [`following`] | the current epoch, as the helper of a rank sees it |
//! | [`job_record`] | what a running job says of itself: format, writer, bounded reader |
//! | `bounded` | files that may be anything |
mod bounded;
pub mod epoch;
pub mod following;
pub mod job_record;
pub mod layout;
pub mod pointer;
pub mod publishing;
pub mod reading;

#[cfg(test)]
mod test_trees;
