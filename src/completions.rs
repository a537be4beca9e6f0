//! `heddle completions`: shell completions and man pages, generated from the flags.
use crate::{CommandOutcome, manual, output};
use inventory::unreadable::UnreadableFile;
use std::path::PathBuf;

/// Print shell completions, or write man pages
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell whose completions are printed
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write the man pages into this folder instead: one for each command, and those of the files
    /// (section 5), which go beside it into man5 if the folder is called man1
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, mut cli: clap::Command) -> anyhow::Result<CommandOutcome> {
    if let Some(folder) = &args.man {
        manual::write(cli, folder).map_err(|cause| UnreadableFile::new(folder, cause))?;
    } else if let Some(shell) = args.shell {
        let mut out = Vec::new();
        clap_complete::generate(shell, &mut cli, "heddle", &mut out);
        output::print(&String::from_utf8(out)?)?;
    }
    Ok(CommandOutcome::Done)
}
