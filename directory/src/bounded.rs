//! Reading files of any content. They are read, never mapped: when another host replaces or cuts a
//! mapped file, the reader is killed.
use nix::fcntl::OFlag;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file without blocking. Otherwise a pipe would make the reader wait for a writer
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

/// The content of a file, up to one octet beyond the limit.
pub(crate) fn take(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut octets)?;
    Ok(octets)
}

/// The content of the file at a path, up to one octet beyond the limit.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    take(open(path, OFlag::empty())?.0, limit)
}
