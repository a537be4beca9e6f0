//! Reading files that may be anything. They are read, never mapped: a mapped file that another host
//! replaces or cuts kills the reader.
use nix::fcntl::OFlag;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file. Opened without blocking: a pipe would have the reader wait for a writer
/// that may never come.
pub(crate) fn open(path: &Path, flags: OFlag) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((flags | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a regular file",
        ));
    }
    Ok((file, meta))
}

/// What a file holds, up to one octet beyond the limit.
pub(crate) fn take(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut octets)?;
    Ok(octets)
}

/// A file, up to one octet beyond the limit.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    take(open(path, OFlag::empty())?.0, limit)
}
