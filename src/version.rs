//! `heddle --version`: what this program is, and what is beside it.
use directory::layout::EPOCH_FORMAT;
use doctor::jobs;
use doctor::probe::runtime_folder;

/// Version, and the commit and date of its source.
pub(crate) const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HEDDLE_SOURCE"), ")");

/// The same with what a mixed installation may differ in.
pub(crate) fn long() -> String {
    let backends = match runtime_folder() {
        Some(lib) => {
            let backends = jobs::backends_in(&lib);
            let names = if backends.is_empty() {
                "none".to_owned()
            } else {
                backends.join(", ")
            };
            format!("{names} ({})", lib.display())
        }
        None => "none; the package heddle-mpi has them".to_owned(),
    };
    format!("{SHORT}\nepoch format {EPOCH_FORMAT}\nbackends: {backends}")
}
