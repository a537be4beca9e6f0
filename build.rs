//! Tells the program its commit.
use std::path::Path;

#[path = "share/commit.rs"]
mod commit;

fn main() {
    println!(
        "cargo::rustc-env=HEDDLE_SOURCE={}",
        commit::of_source(Path::new(".")).unwrap_or_else(|| "development build".to_owned())
    );
}
