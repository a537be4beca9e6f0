//! The shared directory: every format, limit, reader and writer.
//!
//! ```text
//! .lock                   the lock of the one publisher; no other user can open it
//! current                 the pointer: "41 sha256:<digest of the manifest>\n"
//! epochs/00000041/        an epoch; never changes
//! tuning.json             the measurements of `heddle tune`, for the next epoch
//! learned.json            figures that jobs learned, for later jobs; written by the controller
//! jobs/ID.json            job records; the folder is world-writable and sticky
//! ```
//!
//! The formats are functions on bytes. Every reading is bounded, and no file is opened that could
//! block: anybody may write to the folder of job records, and all folders may be on a file server.
//! Jobs preload a library that contains this crate, so it stays light.
//!
//! | module | one idea |
//! |---|---|
//! | [`layout`] | names of files and folders, and the longest length of each file |
//! | [`pointer`] | the name of the current epoch |
//! | [`epoch`] | the files of a published version |
//! | [`publishing`] | epochs go in whole or not at all |
//! | [`reading`] | the published files |
//! | [`rollback`] | an operator's order to publish an earlier epoch again |
//! | [`following`] | the current epoch, as the helper of a rank sees it |
//! | [`job_record`] | the record of a running job: format, writer, bounded reader |
//! | `bounded` | files of any content |
mod bounded;
pub mod epoch;
pub mod following;
pub mod job_record;
pub mod layout;
pub mod pointer;
pub mod publishing;
pub mod reading;
pub mod rollback;
