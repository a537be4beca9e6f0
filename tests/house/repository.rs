//! The files of the repository.
use std::fs;
use std::path::{Path, PathBuf};

/// A file of Rust code, or a document.
pub(super) struct SourceFile {
    /// Below the root of the repository.
    pub(super) path: PathBuf,
    pub(super) code: String,
}

/// All files of Rust code, those of tests, fuzz targets and experiments too.
pub(super) fn source_files() -> Vec<SourceFile> {
    files_that_end_in("rs")
}

/// All documents, also those from which programs make pages of `docs/`.
pub(super) fn documents() -> Vec<SourceFile> {
    files_that_end_in("md")
}

fn files_that_end_in(wanted: &str) -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.extend((!is_foreign(&path)).then_some(path));
            } else if path
                .extension()
                .is_some_and(|extension| extension == wanted)
            {
                let code = fs::read_to_string(&path).expect("a source file");
                let path = path.strip_prefix(root).expect("below the root").to_owned();
                files.push(SourceFile { path, code });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// True if a folder holds files that nobody here wrote: builds, and the data of tools.
fn is_foreign(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name == "target" || name.starts_with('.')
}
