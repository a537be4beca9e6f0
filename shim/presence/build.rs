//! Tells the library its commit: ranks on hosts with different packages find it out by that.
use std::path::Path;

#[path = "../../share/commit.rs"]
mod commit;

fn main() {
    let found = commit::of_source(Path::new("../.."));
    let source = found.as_deref().and_then(|text| text.split(',').next());
    println!(
        "cargo::rustc-env=HEDDLE_COMMIT={}",
        source.unwrap_or("development").replace(' ', "-")
    );
}
