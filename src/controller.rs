//! `heddle controller`
use crate::output::print;
use crate::{CommandOutcome, log};
use agent::secrets;
use anyhow::{anyhow, bail};
use controller::{daemon, http, journal};
use inventory::unreadable::UnreadableFile;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The SNMP library logs each time-out as an error. heddle itself logs once that a switch does not
/// answer.
const QUIET: &str = "async_snmp=off";

/// Watch the network, plan schedules and publish them (a daemon)
///
/// The controller asks the switches of an inventory, and publishes an epoch into the shared
/// directory whenever the tree changes.
///
/// SIGHUP makes it read the inventory and the certificate again. SIGTERM and SIGINT stop it; the
/// last epoch stays published.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The inventory: switches, credentials and hosts (YAML)
    #[arg(long, value_name = "FILE", required_unless_present = "replay")]
    inventory: Option<PathBuf>,
    /// The shared directory, into which epochs are published
    #[arg(long, value_name = "DIR", required_unless_present = "replay")]
    dir: Option<PathBuf>,
    /// The address on which the HTTP API listens; any but loopback needs --token-file. The API's
    /// connections take at most half of the files that the process may open, and those of one
    /// client address an eighth of that
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = http::DEFAULT_LISTEN,
          value_parser = listen_address)]
    listen: SocketAddr,
    /// A file with the token that viewers must send, at least 16 characters [default: systemd's
    /// credential heddle-token; if there is none, everybody on this machine may view]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with the token that host agents must send; it must differ from the viewers' token
    /// [default: systemd's credential heddle-agent-token; if there is none, reports are refused]
    #[arg(long, value_name = "FILE")]
    agent_token_file: Option<PathBuf>,
    /// Serve HTTPS with this certificate, followed by its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Record every event in this file, for --replay; an older file is renamed to FILE.1
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Run this program after each new epoch: it gets the epoch's number and the shared directory as
    /// arguments, and the epoch as JSON on standard input. It is killed after a minute; a failure is
    /// an alarm
    #[arg(long, value_name = "PROGRAM")]
    on_epoch: Option<PathBuf>,
    /// Run this program after alarms came or went: it gets their number as argument, and all, the new
    /// and the past ones as JSON on standard input
    #[arg(long, value_name = "PROGRAM")]
    on_alarm: Option<PathBuf>,
    /// Read everything that the controller would read, say of each part whether it is right, and
    /// end; no switch is asked. Exit status 1: something is wrong
    #[arg(long)]
    check: bool,
    /// Read a recorded journal instead of the network, and print every decision
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "inventory",
            "dir",
            "token_file",
            "agent_token_file",
            "tls_cert",
            "tls_key",
            "journal",
            "on_epoch",
            "on_alarm",
            "check"
        ]
    )]
    replay: Option<PathBuf>,
    /// The log level: error, warn, info, debug or trace; or a filter such as
    /// `info,async_snmp=debug`
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: String,
}

/// An address to listen on. A port alone does not say who may connect.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an address and a port: 127.0.0.1:7171 serves this machine, 0.0.0.0:7171 others, \
         too"
        .to_owned()
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    if let Some(file) = &args.replay {
        journal::replay(file, &mut std::io::stdout().lock())?;
        return Ok(CommandOutcome::Done);
    }
    let (Some(inventory), Some(dir)) = (args.inventory.clone(), args.dir.clone()) else {
        bail!("--inventory and --dir are needed")
    };
    log::start(Some(QUIET), &args.log)?;
    let mut config = daemon::ControllerConfig {
        inventory,
        dir,
        listen: args.listen,
        token_file: secrets::token_file(args.token_file.as_deref(), secrets::TOKEN),
        agent_token_file: secrets::token_file(
            args.agent_token_file.as_deref(),
            secrets::AGENT_TOKEN,
        ),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        journal: args.journal.clone(),
        programs: daemon::HookPrograms::default(),
    };
    if args.check {
        return check(&config, args);
    }
    config.programs = args.programs()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let ran = runtime.block_on(daemon::run(config));
    // This does not wait for a thread that hangs in a frozen file system.
    runtime.shutdown_background();
    ran?;
    Ok(CommandOutcome::Done)
}

fn check(config: &daemon::ControllerConfig, args: &Args) -> anyhow::Result<CommandOutcome> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut parts = runtime.block_on(daemon::check(config));
    runtime.shutdown_background();
    for (name, path) in [("on-epoch", &args.on_epoch), ("on-alarm", &args.on_alarm)] {
        let program = path.as_deref().map(hook_program);
        parts.extend(program.map(|found| daemon::CheckedPart {
            name,
            outcome: found.map(|path| path.display().to_string()),
        }));
    }
    let lines: String = parts.iter().map(|part| format!("{part}\n")).collect();
    print(&inventory::sanitize::message(&lines))?;
    if parts.iter().any(|part| part.outcome.is_err()) {
        return Ok(CommandOutcome::CheckFailed);
    }
    print("all is right; heddle discover shows what the switches say\n")
}

impl Args {
    /// The operator's programs. One that cannot be run is found at once, not at the first epoch.
    fn programs(&self) -> anyhow::Result<daemon::HookPrograms> {
        Ok(daemon::HookPrograms {
            on_epoch: started_program("--on-epoch", &self.on_epoch)?,
            on_alarm: started_program("--on-alarm", &self.on_alarm)?,
        })
    }
}

fn started_program(flag: &str, path: &Option<PathBuf>) -> anyhow::Result<Option<PathBuf>> {
    let program = path.as_deref().map(hook_program).transpose();
    program.map_err(|problem| anyhow!("{flag} {problem}; nothing was started"))
}

/// The whole path of a program that can be run.
fn hook_program(path: &Path) -> Result<PathBuf, String> {
    let whole = std::path::absolute(path);
    let (found, whole) = std::fs::metadata(path)
        .and_then(|found| Ok((found, whole?)))
        .map_err(|cause| UnreadableFile::new(path, cause).to_string())?;
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return Err(format!(
            "{}: expected a program: make it executable with chmod +x",
            path.display()
        ));
    }
    Ok(whole)
}
