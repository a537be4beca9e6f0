//! `heddle agent`
use crate::flags::{duration, whole};
use crate::output::{self, TextFormat};
use crate::{CommandOutcome, connection, log};
use agent::host::reporter::{AgentToken, ControllerClient};
use agent::host::{AgentSettings, HostAgent, privileges};
use agent::secrets;
use anyhow::anyhow;
use inventory::counted;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HostReport, ProbeTarget};
use inventory::observation::NeighbourId;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Report a host's network cards, neighbours and distances to the controller (a daemon)
///
/// The agent needs the controller's address and token, and the host's name in the inventory. The
/// controller tells it the rest. It needs CAP_NET_RAW (or root) to open its sockets, and gives up
/// every privilege before it reads from them. SIGTERM and SIGINT stop it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The controller's address, such as https://head:7171
    #[arg(long, value_name = "URL", required_unless_present = "once")]
    controller: Option<String>,
    /// A file with the token that the controller expects of agents [default: systemd's credential
    /// heddle-agent-token, if there is one]
    #[arg(long, value_name = "FILE", requires = "controller")]
    token_file: Option<PathBuf>,
    /// A PEM file with the authority that certifies the controller, unless that is a public one
    /// [environment: HEDDLE_CA]
    #[arg(long, value_name = "FILE", requires = "controller")]
    ca: Option<PathBuf>,
    /// This host's name in the inventory [default: the system's host name up to its first dot]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Use this network card only; may be given several times [default: all Ethernet cards]
    #[arg(long = "interface", value_name = "CARD")]
    interfaces: Vec<String>,
    /// The number of ranks that this host offers [default: the number of processors that the agent
    /// may use]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u64::MAX))]
    slots: Option<u32>,
    /// Send no LLDP frames and no seed frames
    #[arg(long)]
    no_announce: bool,
    /// Send no probes to other hosts
    #[arg(long)]
    no_probe: bool,
    /// Take no part when the controller measures flows between hosts
    #[arg(long)]
    no_measure: bool,
    /// The user to become when started as root
    #[arg(long, value_name = "USER", default_value = "nobody")]
    user: String,
    /// Listen for a while, print one report and end; send nothing but probes to each --peer
    #[arg(long, conflicts_with = "controller")]
    once: bool,
    /// With --once: the time to listen; switches send LLDP every 30 s and BPDUs every 2 s
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = duration,
        requires = "once"
    )]
    listen: Duration,
    /// With --once: a host to probe; may be given several times
    #[arg(long = "peer", value_name = "NAME=ADDRESS", value_parser = peer, requires = "once")]
    peers: Vec<ProbeTarget>,
    /// With --once: the form of the report
    #[arg(long, value_enum, default_value_t = TextFormat::Text, requires = "once")]
    format: TextFormat,
    /// The log level: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    log::start(None, &args.log)?;
    if let Some(url) = &args.controller {
        secrets::refuse_user_info(url).map_err(|problem| anyhow!("--controller: {problem}"))?;
    }
    let host = args.name.clone().unwrap_or_else(host_name);
    let asked = args.controller.as_ref().map(|url| {
        let file = secrets::token_file(args.token_file.as_deref(), secrets::AGENT_TOKEN);
        if let Some(warning) = file.as_deref().and_then(secrets::exposure_warning) {
            tracing::warn!("{warning}");
        }
        ControllerClient::new(
            url,
            &host,
            file.as_deref().map(AgentToken::read).transpose()?,
            connection::ca(args.ca.as_deref()).as_deref(),
        )
    });
    let controller = asked.transpose()?;
    let settings = AgentSettings {
        host,
        interfaces: args.interfaces.clone(),
        slots: args.slots,
        announce: !args.no_announce && !args.once,
        probe: !args.no_probe && (!args.once || !args.peers.is_empty()),
        measure: !args.no_measure && !args.once,
    };
    let host = HostAgent::open(settings)?;
    privileges::drop_all(&args.user)?;
    // One thread: the host's other cores are for its jobs.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match controller {
        Some(controller) => runtime.block_on(async {
            let (mut term, mut int) = (
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
            );
            let stop = async {
                tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            };
            anyhow::Ok(host.run(controller, stop).await?)
        })?,
        None => {
            let report = runtime.block_on(host.once(args.listen, args.peers.clone()))?;
            output::print(&match args.format {
                TextFormat::Text => text(&report)?,
                TextFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
            })?;
        }
    }
    // This does not wait for a report that is being sent.
    runtime.shutdown_background();
    Ok(CommandOutcome::Done)
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().split('.').next().unwrap_or_default().to_owned()
}

fn peer(text: &str) -> Result<ProbeTarget, String> {
    let (host, address) = text.split_once('=').ok_or("expected NAME=ADDRESS")?;
    let address = address
        .parse()
        .map_err(|_| format!("{address}: expected an IPv4 or IPv6 address"))?;
    Ok(ProbeTarget {
        host: host.to_owned(),
        address,
    })
}

fn text(report: &HostReport) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(
        out,
        "host {}: {}",
        report.host,
        counted(report.slots, "slot")
    )?;
    for nic in &report.nics {
        let mac = nic.mac.map_or_else(String::new, |m| m.to_string());
        let rate = nic
            .rate
            .map_or_else(|| "rate unknown".to_owned(), |r| r.to_string());
        let addresses: Vec<String> = nic
            .addresses
            .iter()
            .map(|(a, length)| format!("{a}/{length}"))
            .collect();
        let master = nic
            .master
            .as_ref()
            .map_or_else(String::new, |m| format!(" in {m}"));
        let state = if nic.up { "up" } else { "no carrier" };
        writeln!(
            out,
            "card {} {mac} {rate} {state}{master} {}",
            nic.name,
            addresses.join(" ")
        )?;
        for frames in report.frames.iter().filter(|h| h.nic == nic.name) {
            writeln!(out, "  hears {}", words(&frames.content))?;
        }
    }
    for path in &report.paths {
        let hops: Vec<String> = path
            .hops
            .iter()
            .map(|h| h.map_or_else(|| "?".to_owned(), |a| a.to_string()))
            .collect();
        let way = if hops.is_empty() {
            "no router between".to_owned()
        } else {
            format!("via {}", hops.join(", "))
        };
        let time = path.round_trip.map_or_else(String::new, |t| {
            format!(
                ", {} us at least, {} us in the middle",
                t.min_us, t.median_us
            )
        });
        let end = if path.reached {
            ""
        } else {
            ", does not answer"
        };
        writeln!(out, "to {} ({}): {way}{end}{time}", path.to, path.address)?;
    }
    Ok(out)
}

/// A received frame, as text for a terminal.
fn words(content: &HeardContent) -> String {
    let text = match content {
        HeardContent::Neighbour {
            protocol,
            chassis,
            port,
            name,
            ..
        } => {
            let protocol = match protocol {
                DiscoveryProtocol::Lldp => "LLDP",
                DiscoveryProtocol::Cdp => "CDP",
            };
            format!("{protocol}: {name} ({}) port {}", id(chassis), id(port))
        }
        HeardContent::Bpdu {
            root_bridge,
            bridge,
            port,
            ..
        } => {
            // The upper four bits are the port's priority (IEEE 802.1D-2004, 9.2.7).
            format!(
                "BPDU: bridge {:04x}.{} port {}, root bridge {}",
                bridge.priority,
                bridge.address,
                port & 0xfff,
                root_bridge.address
            )
        }
    };
    inventory::sanitize::visible(&text)
}

fn id(id: &NeighbourId) -> String {
    match id {
        NeighbourId::Mac(mac) => mac.to_string(),
        NeighbourId::Address(address) => address.to_string(),
        NeighbourId::Text(text) => text.clone(),
    }
}
