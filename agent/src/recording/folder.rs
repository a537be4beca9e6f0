//! Assigns the files of a folder to devices and contexts, and unpacks them within bounds.
use super::contexts::RecordedContext;
use super::{DeviceRecording, RecordingReader, VALUES_LIMIT};
use inventory::observation::DeviceFact;
use inventory::sanitize;
use inventory::unreadable::UnreadableFile;
use lzma_rust2::XzReader;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The limit of one file, unpacked, in octets. A forwarding database of a million rows has half of
/// that.
const FILE_LIMIT: u64 = 512 << 20;

/// The memory that an .xz file may ask for, in KiB. Its dictionary is 64 MiB at the highest level.
const XZ_MEMORY: u32 = 80 << 10;

/// The number of ports named in a note.
const MOST_PORTS: usize = 8;

/// The endings that are not part of a device's name: first those that promise a walk, then those
/// that other texts have, too.
const WALKS: [&str; 3] = [".snmprec", ".walk", ".snmpwalk"];
const TEXTS: [&str; 2] = [".txt", ".log"];

/// The content of a folder.
#[derive(Debug)]
pub struct RecordingFolder {
    /// Its devices, by name.
    pub recordings: Vec<DeviceRecording>,
    /// Notes for an operator: what was left out of the files, and why.
    pub notes: Vec<String>,
}

/// A folder that holds no walks.
#[derive(Debug, thiserror::Error)]
pub enum RecordingFolderError {
    #[error("walks {0}; nothing was read")]
    Unreadable(UnreadableFile),
    #[error("walks {}: no recording in it; expected files NAME.snmprec or the output of snmpwalk \
             -On, plain or .xz{hint}", .folder.display())]
    Empty { folder: PathBuf, hint: String },
    #[error("walks {}: {first} and {second} are both \"{name}\"; which of them it is cannot be \
             told: leave one", .folder.display())]
    Twice {
        folder: PathBuf,
        name: String,
        first: String,
        second: String,
    },
}

/// A file that may be a walk.
struct WalkFile {
    path: PathBuf,
    file: String,
    device: String,
    context: Option<String>,
    /// True if the ending of the file promises a walk.
    promised: bool,
}

/// Reads every walk of a folder, but not of its subfolders. A file that cannot be read makes its
/// device a silent one; files of other kinds are left out.
///
/// # Errors
/// [`RecordingFolderError`] if there is no folder or no walk, or if two files have the same device
/// and context.
pub fn read_folder(folder: &Path) -> Result<RecordingFolder, RecordingFolderError> {
    let unreadable = |cause| RecordingFolderError::Unreadable(UnreadableFile::new(folder, cause));
    let mut candidates = Vec::new();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        // A pipe, for example, could keep a reader waiting for ever, so only plain files are read.
        match std::fs::metadata(&path) {
            Ok(m) if m.is_file() => candidates.extend(candidate(&path)),
            Ok(m) if m.is_dir() => folders.extend(path.file_name().map(shown)),
            _ => {}
        }
    }
    // No context sorts before any: the device's own walk is read first.
    candidates
        .sort_by(|a, b| (&a.device, &a.context, &a.file).cmp(&(&b.device, &b.context, &b.file)));

    let mut notes = Vec::new();
    let mut recordings = Vec::new();
    for files in candidates.chunk_by(|a, b| a.device == b.device) {
        recordings.extend(device(folder, files, &mut notes)?);
    }
    if recordings.is_empty() {
        folders.sort();
        let hint = if folders.is_empty() {
            String::new()
        } else {
            format!("; subfolders are not looked into: {}", folders.join(", "))
        };
        return Err(RecordingFolderError::Empty {
            folder: folder.to_owned(),
            hint,
        });
    }
    Ok(RecordingFolder { recordings, notes })
}

/// Reads one device from its files, the plain one first; `None` if none of them is a walk.
fn device(
    folder: &Path,
    files: &[WalkFile],
    notes: &mut Vec<String>,
) -> Result<Option<DeviceRecording>, RecordingFolderError> {
    let mut contexts: Vec<RecordedContext> = Vec::new();
    let mut read: Vec<&WalkFile> = Vec::new();
    let mut failed = None;
    for candidate in files {
        let Some(walk) = open(candidate) else {
            continue;
        };
        if let Some(last) = read.last().filter(|l| l.context == candidate.context) {
            return Err(twice(folder, last, candidate));
        }
        read.push(candidate);
        match walk {
            Ok(reading) => {
                notes.extend(problems(&candidate.file, &reading));
                contexts.push(RecordedContext::new(
                    candidate.context.as_deref(),
                    reading.answers,
                ));
            }
            // A missing context leaves gaps. Without the device's own walk nothing is known of the
            // device.
            Err(problem) if candidate.context.is_none() => {
                failed = Some(format!("{}: {problem}", candidate.file))
            }
            Err(problem) => notes.push(format!(
                "{}: {problem}; this context is left out",
                candidate.file
            )),
        }
    }
    let Some(first) = read.first() else {
        return Ok(None);
    };
    let facts = match failed {
        Some(problem) => vec![DeviceFact::Failed {
            table: None,
            problem,
            refused: None,
        }],
        None => {
            let (facts, torn) = super::facts(&contexts);
            notes.extend(differing(&first.device, &torn));
            facts
        }
    };
    Ok(Some(DeviceRecording {
        name: first.device.clone(),
        facts,
    }))
}

fn twice(folder: &Path, first: &WalkFile, second: &WalkFile) -> RecordingFolderError {
    RecordingFolderError::Twice {
        folder: folder.to_owned(),
        name: full_name(second),
        first: first.file.clone(),
        second: second.file.clone(),
    }
}

fn shown(name: &OsStr) -> String {
    sanitize::clean_line(&name.to_string_lossy())
}

fn full_name(c: &WalkFile) -> String {
    c.context.as_ref().map_or_else(
        || c.device.clone(),
        |context| format!("{}@{context}", c.device),
    )
}

/// The device and context in a file's name; `None` for a hidden file.
fn candidate(path: &Path) -> Option<WalkFile> {
    let file = shown(path.file_name()?);
    let bare = file.strip_suffix(".xz").unwrap_or(&file);
    let walk = WALKS.iter().find_map(|ending| bare.strip_suffix(ending));
    let text = TEXTS.iter().find_map(|ending| bare.strip_suffix(ending));
    let name = walk.or(text).unwrap_or(bare).to_owned();
    let (device, context) = match name.split_once('@') {
        Some((device, context)) => (device.to_owned(), Some(context.to_owned())),
        None => (name, None),
    };
    let promised = walk.is_some();
    (!file.starts_with('.') && !device.is_empty()).then(|| WalkFile {
        path: path.to_owned(),
        file,
        device,
        context,
        promised,
    })
}

/// A walk, or the reason why it cannot be read; `None` for a file of another kind.
fn open(candidate: &WalkFile) -> Option<Result<RecordingReader, String>> {
    let read = content(&candidate.path).and_then(|text| {
        super::read(&text).ok_or_else(|| {
            "no record in it; expected snmprec or the output of snmpwalk -On".to_owned()
        })
    });
    Some(read).filter(|read| read.is_ok() || candidate.promised)
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut text = Vec::new();
    let packed = path.extension() == Some(OsStr::new("xz"));
    let read = if packed {
        XzReader::new_mem_limit(file, true, XZ_MEMORY)
            // One octet more shows that a file is longer.
            .take(FILE_LIMIT + 1)
            .read_to_end(&mut text)
    } else {
        file.take(FILE_LIMIT + 1).read_to_end(&mut text)
    };
    match read {
        Ok(n) if n as u64 > FILE_LIMIT => Err(format!(
            "longer than {} MiB; it has no end or is not a walk",
            FILE_LIMIT >> 20
        )),
        Ok(_) => Ok(text),
        Err(e) if packed => Err(format!("cannot be unpacked: {e}; cut off or damaged?")),
        Err(e) => Err(e.to_string()),
    }
}

/// The notes about the parts of a file that were left out.
fn problems(file: &str, reading: &RecordingReader) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(line) = reading.first_refused {
        notes.push(format!(
            "{file}:{line}: no record{}; left out",
            more(reading.refused)
        ));
    }
    if let Some(line) = reading.first_repeated {
        notes.push(format!(
            "{file}:{line}: an object that came before{}; its first value counts",
            more(reading.repeated)
        ));
    }
    if reading.full {
        notes.push(format!(
            "{file}: more than {VALUES_LIMIT} values; the rest is left out"
        ));
    }
    notes
}

/// A note that the VLANs of a device have different trees.
fn differing(device: &str, ports: &[String]) -> Option<String> {
    let shown = ports
        .iter()
        .take(MOST_PORTS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let rest = if ports.len() > MOST_PORTS {
        ", ..."
    } else {
        ""
    };
    let open =
        "in different states from VLAN to VLAN; whether the links there carry frames is unknown";
    (!ports.is_empty()).then(|| format!("{device}: spanning tree holds {shown}{rest} {open}"))
}

fn more(all: usize) -> String {
    if all > 1 {
        format!(", and {} more like it", all - 1)
    } else {
        String::new()
    }
}
