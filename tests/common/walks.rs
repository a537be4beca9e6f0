//! The demo's recorded walks, altered.
use super::golden::folder;
use std::fs;

/// The walks in a temporary folder, with s1's recording changed by `altered`.
pub(crate) fn demo_walks(altered: impl Fn(&str) -> String) -> tempfile::TempDir {
    let walks = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder("walks").join("demo")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            walks.path().join(name),
            if name == "s1.snmprec" {
                altered(&text)
            } else {
                text
            },
        )
        .unwrap();
    }
    walks
}
