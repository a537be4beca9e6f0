//! Buffers in the memory of a device, a GPU as a rule.
//!
//! No instruction of the host reads such memory, and no system call does. So a rank whose buffers
//! lie there works on a copy in its own memory: the driver copies to it what the call reads, before
//! the first message, and from it what the call wrote, after the last one. Each rank does so for
//! itself: the others notice nothing, wherever their own buffers lie.
//!
//! | module | one idea |
//! |---|---|
//! | [`driver`] | what a driver does for heddle |
//! | [`loaded`] | the drivers that the process has loaded |
//! | [`cuda`], [`hip`] | NVIDIA's driver, AMD's |
//! | [`library`] | the functions of a driver's library |
//! | [`footprint`] | which octets of memory a call's blocks touch |
//! | [`staged_side`] | one buffer of a call, and its copy |
//! | [`staging`] | a call on copies of its buffers |
//! | [`host_room`] | the memory that the copies lie in |

mod cuda;
mod driver;
mod footprint;
mod hip;
mod host_room;
mod library;
mod loaded;
mod staged_side;
mod staging;

pub(crate) use staging::Staging;
