//! Writing a job record. Anybody may write to its folder.
use nix::fcntl::OFlag;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces the file. A reader sees the old file or the new one, never half of one. A file or link
/// that somebody left under the new file's name is removed and never written through.
///
/// # Errors
/// The system's refusal; the old file then stays.
pub fn replace(file: &Path, octets: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    // Usually there is no such file. If it cannot be removed, the next line reports it.
    let _ = fs::remove_file(&new);
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(&new)?;
    let written = out.write_all(octets).and_then(|()| fs::rename(&new, file));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let dir = TempDir::new().unwrap();
        let (precious, file) = (dir.path().join("precious"), dir.path().join("job.json"));
        fs::write(&precious, "as it was").unwrap();
        for name in [file.clone(), file.with_extension("new")] {
            symlink(&precious, name).unwrap();
        }
        replace(&file, b"record").unwrap();
        assert_eq!(fs::read_to_string(precious).unwrap(), "as it was");
        assert!(fs::symlink_metadata(&file).unwrap().is_file());
        assert_eq!(fs::read(&file).unwrap(), b"record");
    }
}
