//! `heddle completions`: shell completions and man pages, generated from the flags.
use crate::{CommandOutcome, output};
use std::path::PathBuf;

/// Print shell completions, or write man pages
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell whose completions are printed
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write a man page for each subcommand into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, cli: &mut clap::Command) -> anyhow::Result<CommandOutcome> {
    if let Some(folder) = &args.man {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(cli.clone(), folder)?;
    } else if let Some(shell) = args.shell {
        let mut out = Vec::new();
        clap_complete::generate(shell, cli, "heddle", &mut out);
        output::print(&String::from_utf8(out)?)?;
    }
    Ok(CommandOutcome::Done)
}
