//! Files and folders that are on disk once a function here returns.
use super::{PublishError, io};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) fn make_dir(dir: &Path, mode: u32) -> Result<(), PublishError> {
    match DirBuilder::new().mode(mode).create(dir) {
        // The umask cuts a mode given to mkdir, and readers are other users.
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(mode))
            .map_err(io("set permissions", dir)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match fs::metadata(dir) {
            Ok(there) if there.is_dir() => Ok(()),
            // Of a mount whose server is gone the kernel knows the name alone.
            Err(gone) if gone.kind() != io::ErrorKind::NotFound => Err(io("open", dir)(gone)),
            _ => Err(io("create directory", dir)(e)),
        },
        Err(e) => Err(io("create directory", dir)(e)),
    }
}

/// Writes files, and the folders in which they lie.
pub(super) fn write_folder(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), PublishError> {
    let _ = fs::remove_dir_all(folder);
    let paths = files.iter().map(|(name, _)| folder.join(name));
    let above = paths.flat_map(|path| {
        let above = path.ancestors().skip(1).map(Path::to_path_buf);
        above
            .take_while(|at| at.starts_with(folder))
            .collect::<Vec<_>>()
    });
    let folders: BTreeSet<PathBuf> = above.chain([folder.to_owned()]).collect();
    for folder in &folders {
        make_dir(folder, 0o755)?;
    }
    for (name, bytes) in files {
        write_file(&folder.join(name), bytes)?;
    }
    // An entry is on disk only once its folder is, whatever became of the file (fsync(2)).
    folders.iter().try_for_each(|folder| sync_dir(folder))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), PublishError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(io("create", path))?;
    file.write_all(bytes).map_err(io("write", path))?;
    file.set_permissions(Permissions::from_mode(0o644))
        .map_err(io("set permissions", path))?;
    file.sync_all().map_err(io("write to disk", path))
}

/// The name under which a file of the shared directory is written before it is renamed.
pub(super) fn unfinished(name: &str) -> String {
    format!("{name}.new")
}

/// Replaces a file of the shared directory: a reader sees the old one or the new one.
pub(crate) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), PublishError> {
    let (new, file) = (dir.join(unfinished(name)), dir.join(name));
    let _ = fs::remove_file(&new);
    let moved = write_file(&new, bytes)
        .and_then(|()| fs::rename(&new, &file).map_err(io("rename into place", &new)));
    if moved.is_err() {
        let _ = fs::remove_file(&new);
    }
    moved?;
    sync_dir(dir)
}

/// Removes a file of the shared directory, if it is there.
pub(crate) fn remove(dir: &Path, name: &str) -> Result<(), PublishError> {
    let file = dir.join(name);
    match fs::remove_file(&file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io("remove", &file)(e)),
        _ => Ok(()),
    }
}

pub(super) fn sync_dir(dir: &Path) -> Result<(), PublishError> {
    File::open(dir)
        .and_then(|d| d.sync_all())
        .map_err(io("write to disk", dir))
}
