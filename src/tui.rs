//! `heddle tui`: the cluster in the terminal.
use crate::connection::ConnectionArgs;
use crate::{CommandOutcome, output};
use anyhow::{Context, bail};
use inventory::unreadable::UnreadableFile;
use lab::plan::CONTROL;
use lab::{Lab, LabResult};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use tui::LabAction;

/// Show the topology, its load, jobs and epochs in the terminal
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Show a recorded snapshot (`GET /v1/snapshot`) instead of a running controller
    #[arg(long, value_name = "FILE", conflicts_with_all = ["connect", "ca", "token_file"])]
    snapshot: Option<PathBuf>,
    /// Print one picture as plain text, and end
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    print: Option<(u16, u16)>,
    /// Show the controller on the head node of this lab; keys move the lab's cables
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
    /// Colours: dark, light, colour-blind, terminal (its own sixteen) or mono; NO_COLOR in the
    /// environment means mono [default: dark]
    #[arg(long, value_name = "THEME")]
    theme: Option<tui::Theme>,
    /// Draw with ASCII characters only [default: where the locale or the terminal has no others]
    #[arg(long)]
    ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
    /// The configuration file, which must exist then [default: heddle/tui.toml in XDG_CONFIG_HOME or
    /// ~/.config]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let file = settings(args.config.as_deref())?;
    let mut options = options(args, &file);
    if let Some(name) = &args.lab {
        let lab = Lab::open(name)?;
        if args.snapshot.is_none() && !on_head_node(name) {
            return go_there(&lab);
        }
        options.lab = Some(Box::new(move |action| {
            carry_out(&lab, action).map_err(|e| e.to_string())
        }));
    }
    if let Some(size) = args.print {
        return output::print(&tui::print(&source(args, &file)?, size, &options)?);
    }
    tui::run(source(args, &file)?, options)?;
    Ok(CommandOutcome::Done)
}

/// The flags, else the configuration file, else what the environment says of the terminal.
fn options(args: &Args, file: &tui::TuiSettings) -> tui::TuiOptions {
    let terminal = tui::TerminalTraits::from_environment(|name| std::env::var(name).ok());
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    tui::TuiOptions {
        theme: args.theme.or(file.theme).unwrap_or_default(),
        depth: match file.depth {
            Some(depth) if !no_color => depth,
            _ => terminal.depth,
        },
        ascii: args.ascii || file.ascii.unwrap_or(terminal.ascii),
        no_mouse: args.no_mouse || file.mouse == Some(false),
        keys: file.keys.clone(),
        columns: file.columns.clone(),
        lab: None,
    }
}

/// Reads the configuration file; without one nothing is set.
fn settings(flag: Option<&Path>) -> anyhow::Result<tui::TuiSettings> {
    let home = std::env::home_dir();
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let usual = folder.map(|folder| folder.join("heddle/tui.toml"));
    let Some(path) = flag.map(Path::to_owned).or(usual) else {
        return Ok(tui::TuiSettings::default());
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(tui::TuiSettings::parse(&path, &text, home.as_deref())?),
        Err(e) if e.kind() == io::ErrorKind::NotFound && flag.is_none() => {
            Ok(tui::TuiSettings::default())
        }
        Err(cause) => bail!(
            "{}; nothing is shown: name another configuration file with --config",
            UnreadableFile::new(&path, cause)
        ),
    }
}

fn source(args: &Args, file: &tui::TuiSettings) -> anyhow::Result<tui::SnapshotSource> {
    match &args.snapshot {
        Some(file) => Ok(tui::SnapshotSource::File(file.clone())),
        None => Ok(tui::SnapshotSource::Http(
            args.connection.controller(&file.connection)?,
        )),
    }
}

/// A lab's controller listens on the loopback interface of the lab's head node, so the terminal
/// interface must run there, too.
fn on_head_node(name: &str) -> bool {
    is_set_to("HEDDLE_LAB", name) && is_set_to("HOSTNAME", CONTROL)
}

fn is_set_to(variable: &str, value: &str) -> bool {
    std::env::var(variable).is_ok_and(|v| v == value)
}

/// Replaces this process by the same command on the lab's head node, which keeps terminal and
/// signals.
fn go_there(lab: &Lab) -> anyhow::Result<CommandOutcome> {
    let program = std::env::current_exe().context("the path of this program")?;
    // It returns only if it fails.
    let error = lab
        .exec(
            CONTROL,
            std::iter::once(program.into_os_string()).chain(std::env::args_os().skip(1)),
        )
        .exec();
    Err(anyhow::Error::new(error).context(format!("lab {}: entering its head node", lab.name())))
}

/// Acts on the lab's cables.
fn carry_out(lab: &Lab, action: &LabAction) -> LabResult<String> {
    Ok(match action {
        LabAction::Move { host, switch } => {
            let (from, to) = lab.move_host(host, switch)?;
            format!(
                "cable of {host} moved from {} {} to {} {}",
                from.node, from.port, to.node, to.port
            )
        }
        LabAction::Cut(links) => {
            for (a, b) in links {
                lab.cut(a, b)?;
            }
            format!("{} cut; J joins again", tui::link_names(links))
        }
        LabAction::Join(links) => {
            for (a, b) in links {
                lab.join(a, b, None)?;
            }
            format!("{} joined again", tui::link_names(links))
        }
    })
}

/// `80x24` as columns and lines.
fn size(text: &str) -> Result<(u16, u16), String> {
    let (width, height) = text.split_once('x').ok_or_else(|| wrong_size(text))?;
    let (width, height) = (
        width.parse().map_err(|_| wrong_size(text))?,
        height.parse().map_err(|_| wrong_size(text))?,
    );
    if (1..=500).contains(&width) && (1..=200).contains(&height) {
        Ok((width, height))
    } else {
        Err(wrong_size(text))
    }
}

fn wrong_size(text: &str) -> String {
    format!("\"{text}\": expected a size like 80x24, at most 500x200")
}
