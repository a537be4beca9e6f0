//! Files that the system does not give, or does not take.
use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// A file that cannot be opened, read or written.
#[derive(Debug)]
pub struct UnreadableFile {
    path: PathBuf,
    cause: Error,
}

impl UnreadableFile {
    /// The error about a file for which the system gave this cause.
    pub fn new(path: &Path, cause: Error) -> UnreadableFile {
        let path = path.to_owned();
        UnreadableFile { path, cause }
    }
}

/// The system's error in words with a way out; in the system's own words if they say enough. An error
/// that heddle made itself has its words already.
pub fn reason(cause: &Error) -> String {
    let known = match cause.get_ref() {
        Some(_) => None,
        None => known_reason(cause.kind()),
    };
    known.map_or_else(|| cause.to_string(), str::to_owned)
}

fn known_reason(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "no such file or folder",
        ErrorKind::PermissionDenied => {
            "this user may not open it; run as its owner, or give this user the right"
        }
        ErrorKind::InvalidData => "it is not text in UTF-8; save it as UTF-8",
        ErrorKind::AlreadyExists => "a file of this name is there already; choose another name",
        ErrorKind::IsADirectory => "it is a folder; name a file in it",
        ErrorKind::NotADirectory => "a part of the path is a file; name a folder",
        ErrorKind::StorageFull => "the disk is full; make room",
        ErrorKind::QuotaExceeded => "this user's quota is used up; make room",
        ErrorKind::ReadOnlyFilesystem => "it is mounted read-only; name a folder to write to",
        ErrorKind::StaleNetworkFileHandle => {
            "the file server does not know it any more (stale NFS handle); mount the folder again"
        }
        ErrorKind::NotConnected => {
            "the server of this mount has ended; unmount the folder and mount it again"
        }
        _ => return None,
    })
}

impl fmt::Display for UnreadableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), reason(&self.cause))
    }
}

impl std::error::Error for UnreadableFile {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_causes_come_with_a_way_out_and_others_in_the_systems_words() {
        assert_eq!(reason_of(2), "/a/b: no such file or folder");
        assert!(reason_of(13).starts_with("/a/b: this user may not open it; "));
        assert!(reason_of(28).ends_with("make room"));
        assert!(reason_of(116).contains("stale NFS handle"));
        assert!(reason_of(107).contains("the server of this mount has ended"));
        assert!(reason_of(17).ends_with("choose another name"));
        assert!(reason_of(5).starts_with("/a/b: Input/output error"));
        let own = Error::new(ErrorKind::InvalidData, "no pointer");
        assert_eq!(reason(&own), "no pointer");
    }

    fn reason_of(errno: i32) -> String {
        let cause = Error::from_raw_os_error(errno);
        UnreadableFile::new(Path::new("/a/b"), cause).to_string()
    }
}
