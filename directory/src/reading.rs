//! Reading published files: the pointer, the current epoch, the numbers of all epochs, and the
//! measurements, and the figures that jobs learned.
use crate::bounded;
use crate::epoch::{Epoch, EpochError};
use crate::layout::{CURRENT, LEARNED, MAPPED, TUNING, folder_name, limit};
use crate::pointer::EpochPointer;
use inventory::mapped_place::MappedPlaces;
use inventory::unreadable;
use policy::learned::LearnedFigures;
use policy::measurements::TuningRuns;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An error with the path of its file, in words with a way out.
fn with_path(path: &Path, cause: &io::Error) -> io::Error {
    let told = format!("{}: {}", path.display(), unreadable::reason(cause));
    io::Error::new(cause.kind(), told)
}

/// Reads the pointer to the current epoch; `None` where none was published yet.
///
/// # Errors
/// The system's refusal, or `InvalidData` where `current` is not a pointer.
pub fn current(dir: &Path) -> io::Result<Option<EpochPointer>> {
    let path = dir.join(CURRENT);
    let told = |e| with_path(&path, &e);
    let bytes = match bounded::read(&path, limit(CURRENT)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(told)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let pointer = text
        .parse::<EpochPointer>()
        .map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e.to_string())))?;
    Ok(Some(pointer))
}

/// A shared directory whose current epoch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CurrentEpochError {
    /// The pointer cannot be read.
    #[error(transparent)]
    Pointer(#[from] io::Error),
    /// The epoch it points to cannot be used.
    #[error(transparent)]
    Epoch(#[from] EpochError),
}

/// Reads the current epoch whole; `None` where none was published yet.
///
/// # Errors
/// [`CurrentEpochError`] that names the missing or altered file.
pub fn current_epoch(dir: &Path) -> Result<Option<Epoch>, CurrentEpochError> {
    let Some(pointer) = current(dir)? else {
        return Ok(None);
    };
    Ok(Some(Epoch::open(
        &pointer,
        reader(dir.join(pointer.folder())),
    )?))
}

/// The measurements of this cluster, as `heddle tune` left them in the shared directory; empty
/// where none were made.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn measurements(dir: &Path) -> io::Result<TuningRuns> {
    let path = dir.join(TUNING);
    let told = |e| with_path(&path, &e);
    match bounded::read(&path, limit(TUNING)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(TuningRuns::default()),
        bytes => TuningRuns::from_json(&bytes.map_err(told)?)
            .map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e))),
    }
}

/// The figures that jobs learned, as the controller left them in the shared directory; empty where
/// there is nothing.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn learned(dir: &Path) -> io::Result<LearnedFigures> {
    let path = dir.join(LEARNED);
    let told = |e| with_path(&path, &e);
    match bounded::read(&path, limit(LEARNED)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(LearnedFigures::default()),
        bytes => LearnedFigures::from_json(&bytes.map_err(told)?)
            .map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e))),
    }
}

/// The findings of flows between hosts about unmanaged places, as the controller left them in the
/// shared directory; empty where there is nothing.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn mapped(dir: &Path) -> io::Result<MappedPlaces> {
    let path = dir.join(MAPPED);
    let told = |e| with_path(&path, &e);
    match bounded::read(&path, limit(MAPPED)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(MappedPlaces::default()),
        bytes => serde_json::from_slice(&bytes.map_err(told)?)
            .map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e))),
    }
}

/// Reads files of an epoch's folder, up to one octet beyond the limit.
pub fn reader(folder: PathBuf) -> impl FnMut(&str, u64) -> io::Result<Vec<u8>> {
    move |name, limit| bounded::read(&folder.join(name), limit)
}

/// The numbers of the epoch folders in `epochs`, ascending.
///
/// # Errors
/// The system's refusal to list the folder.
pub fn numbers(epochs: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(epochs)? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .filter(|n| n.len() >= 8 && n.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|n| n.parse().ok());
        found.extend(number.filter(|n| Some(folder_name(*n).as_str()) == name.to_str()));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_that_is_none_is_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CURRENT), "garbage").unwrap();
        assert!(
            current(dir.path())
                .unwrap_err()
                .to_string()
                .contains("current: pointer")
        );
    }
}
