//! `heddle controller`
use crate::{CommandOutcome, log};
use agent::secrets;
use anyhow::bail;
use controller::{daemon, http, journal};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The SNMP library reports each time-out as an error; heddle tells what becomes of the switch,
/// once.
const QUIET: &str = "async_snmp=off";

/// Watches the switches of an inventory and publishes an epoch into the shared directory whenever
/// the tree changes.
///
/// SIGHUP reads the inventory and the certificate again; SIGTERM and SIGINT stop it. What is
/// published stays.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The switches to ask, credentials, hosts (YAML)
    #[arg(long, value_name = "FILE", required_unless_present = "replay")]
    inventory: Option<PathBuf>,
    /// The shared directory that epochs are published into
    #[arg(long, value_name = "DIR", required_unless_present = "replay")]
    dir: Option<PathBuf>,
    /// Where the HTTP API listens; other than loopback wants --token-file. Its connections take at
    /// most half of the files the process may open, and one address an eighth of that
    #[arg(long, value_name = "ADDRESS", default_value_t = http::DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// A file with the token that viewers must show, at least 16 characters; without it, systemd's
    /// credential heddle-token if there is one, else whoever is on this machine may view
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with the token that host agents must show, another than the viewers'; without it,
    /// systemd's credential heddle-agent-token if there is one, else no reports are taken
    #[arg(long, value_name = "FILE")]
    agent_token_file: Option<PathBuf>,
    /// Serve HTTPS with this certificate, its chain after it (PEM); SIGHUP reads it again
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Record every event here, to be replayed later; an older file becomes FILE.1
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Run on a recorded journal instead of a network and print every decision
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inventory", "dir", "token_file", "agent_token_file", "tls_cert", "tls_key", "journal"])]
    replay: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter such as `info,async_snmp=debug`
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: String,
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
    let config = daemon::ControllerConfig {
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
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let ran = runtime.block_on(daemon::run(config));
    // A thread that a frozen file system holds would keep the others waiting.
    runtime.shutdown_background();
    ran?;
    Ok(CommandOutcome::Done)
}
