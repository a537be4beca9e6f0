//! Valid inputs for fuzzing to start from: `cargo run -p directory --example seeds -- fuzz/corpus`
//! writes one folder for each target.
#![allow(clippy::disallowed_methods)] // An example may write files; the crate itself may not.

#[allow(dead_code, unreachable_pub, reason = "elsewhere it is a crate")]
#[path = "../../fuzz/src/lib.rs"]
mod readers;

use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = std::env::args().nth(1).ok_or("usage: seeds DIR")?;
    for (number, (target, bytes)) in readers::seeds().into_iter().enumerate() {
        let folder = Path::new(&corpus).join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("seed-{number}")), bytes)?;
    }
    Ok(())
}
