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
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Reads a file of the shared directory, if it is there. An error has the file's path, in words with a way out.
pub(crate) fn file_if_any<T, E: Into<Box<dyn Error + Send + Sync>>>(
    dir: &Path,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> io::Result<Option<T>> {
    let path = dir.join(name);
    let content = match bounded::read(&path, limit(name)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => Err(e),
        Ok(bytes) => parse(&bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e)),
    };
    content.map(Some).map_err(|e| {
        let problem = format!("{}: {}", path.display(), unreadable::reason(&e));
        io::Error::new(e.kind(), problem)
    })
}

/// Reads the pointer to the current epoch; `None` where none was published yet.
///
/// # Errors
/// The system's refusal, or `InvalidData` where `current` is not a pointer.
pub fn current(dir: &Path) -> io::Result<Option<EpochPointer>> {
    file_if_any(dir, CURRENT, |bytes| {
        String::from_utf8_lossy(bytes).parse::<EpochPointer>()
    })
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
    file_if_any(dir, TUNING, TuningRuns::from_json).map(Option::unwrap_or_default)
}

/// The figures that jobs learned, as the controller left them in the shared directory; empty where
/// there is nothing.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn learned(dir: &Path) -> io::Result<LearnedFigures> {
    file_if_any(dir, LEARNED, LearnedFigures::from_json).map(Option::unwrap_or_default)
}

/// The findings of flows between hosts about unmanaged places, as the controller left them in the
/// shared directory; empty where there is nothing.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn mapped(dir: &Path) -> io::Result<MappedPlaces> {
    file_if_any(dir, MAPPED, |bytes| serde_json::from_slice(bytes)).map(Option::unwrap_or_default)
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
    fn a_pointer_that_is_none_is_reported() {
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
