//! `heddle discover`
use crate::output::print;
use crate::{CommandOutcome, input_file};
use agent::recording::{RecordingFolder, read_folder};
use anyhow::{Context, anyhow, bail};
use cabling::export;
use controller::plan::stated;
use drawing::network::{self, NetworkView};
use infer::{descriptions, infer, infer_recorded};
use inventory::address::AddressLookup;
use inventory::alarm::causes::causes_first;
use inventory::descriptions::PortDescriptions;
use inventory::device_view::{DeviceViews, apply};
use inventory::host_report::HostReport;
use inventory::observation::{DeviceFact, Observation, ObservationSource};
use inventory::port_queues::LeastQueue;
use inventory::unreadable::UnreadableFile;
use inventory::{Bytes, Topology, TopologyFile, unreadable};
use std::path::{Path, PathBuf};

/// Look at the network once and print its tree and its problems
///
/// Exit status 1: no switch answered, or the network has no form in the chosen format.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: NetworkArgs,
    /// One of several networks, by its name: that of its root bridge. Without it text and json show all,
    /// and the other forms the one whose hosts' links together are fastest
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// The form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: DiscoverFormat,
}

/// The network to look at, and the reports of its hosts.
#[derive(clap::Args)]
pub(crate) struct NetworkArgs {
    #[command(flatten)]
    place: NetworkSource,
    /// Reports of host agents, too: a folder with a file NAME.json for each host, as heddle agent
    /// --once --format json prints it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["walks", "dir"])]
    reports: Option<PathBuf>,
}

/// A network that is asked now, or a recorded one.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct NetworkSource {
    /// The inventory: the switches to ask, their credentials, and the hosts to expect
    #[arg(long, value_name = "FILE")]
    inventory: Option<PathBuf>,
    /// Recorded walks instead of a network: a folder with a file for each device, NAME.snmprec or
    /// the output of snmpwalk -On, either also compressed as .xz. A file NAME@CONTEXT is a walk of
    /// the same device in an SNMP context, or with the community COMMUNITY@VLAN
    #[arg(long, value_name = "DIR")]
    walks: Option<PathBuf>,
    /// The published epoch of a shared directory instead of a network
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DiscoverFormat {
    /// A drawing of the tree
    Text,
    /// Nodes, links with their evidence, clusters and alarms, for programs
    Json,
    /// A picture of the tree, with ports, rates, the bottleneck and alarms
    Svg,
    /// Graphviz; heddle check also reads it as a plan
    Dot,
    /// Slurm's topology.conf
    Slurm,
    /// Slurm's topology.yaml (25.05 and later): the whole tree, and one for each cluster, for
    /// partitions within it
    SlurmYaml,
    /// A topology file, for heddle schedule, predict, what-if, publish and lab
    Topology,
}

/// A network that was found.
pub(crate) struct DiscoveredNetwork {
    pub(crate) topology: Topology,
    /// The network that was chosen among several.
    chosen: Topology,
    /// That as a file for the offline commands.
    file: TopologyFile,
    pub(crate) descriptions: PortDescriptions,
    /// True if any device answered.
    pub(crate) answered: bool,
}

impl NetworkArgs {
    /// Takes one look, and prints problems on standard error. One of several networks is chosen by its
    /// name.
    pub(crate) fn read_network(&self, choice: Option<&str>) -> anyhow::Result<DiscoveredNetwork> {
        let NetworkSource {
            inventory,
            walks,
            dir,
        } = &self.place;
        let found = match (inventory, walks, dir) {
            (Some(file), ..) => asked(file, self.reports.as_deref(), choice)?,
            (None, Some(folder), _) => recorded(folder, choice)?,
            (None, None, Some(dir)) => published(dir, choice)?,
            (None, None, None) => unreachable!("one of them is required"),
        };
        for alarm in causes_first(&found.topology.alarms.iter().collect::<Vec<_>>()) {
            tell!("heddle: {}", alarm.text);
        }
        if !found.answered {
            tell!("heddle: no switch answered; nothing is known of the network");
        }
        Ok(found)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let choice = args.network.as_deref();
    let found = args.source.read_network(choice)?;
    let shows_all = matches!(args.format, DiscoverFormat::Text | DiscoverFormat::Json);
    let (whole, one) = (&found.topology, &found.chosen);
    if let ([main, others @ ..], None, false) = (&one.networks[..], choice, shows_all)
        && !others.is_empty()
    {
        input_file::tell_others(&main.name, others.iter().map(|other| &other.name));
    }
    let shown = if choice.is_none() && shows_all {
        whole
    } else {
        one
    };
    let exported = match args.format {
        DiscoverFormat::Text if choice.is_none() => Ok(export::text(shown)),
        DiscoverFormat::Text => Ok(export::tree(shown)),
        DiscoverFormat::Json => Ok(serde_json::to_string_pretty(shown)? + "\n"),
        DiscoverFormat::Svg => Ok(drawn(shown)),
        DiscoverFormat::Dot => Ok(export::dot(shown, network::bottleneck(shown).as_ref())),
        DiscoverFormat::Slurm => export::slurm(shown),
        DiscoverFormat::SlurmYaml => export::slurm_yaml(shown),
        DiscoverFormat::Topology => Ok(found.file.to_yaml()),
    };
    let text = match exported {
        Ok(text) => text,
        Err(e) => {
            tell!("heddle: {e}");
            return Ok(CommandOutcome::CheckFailed);
        }
    };
    print(&text)?;
    Ok(CommandOutcome::check(found.answered))
}

/// The network of this name, or the main one.
fn chosen(topology: &Topology, choice: Option<&str>) -> anyhow::Result<Topology> {
    Ok(match choice {
        Some(name) => topology.in_network(name)?,
        None => topology.clone().main_network(),
    })
}

/// The network of the published epoch.
fn published(dir: &Path, choice: Option<&str>) -> anyhow::Result<DiscoveredNetwork> {
    let epoch = input_file::published(dir)?;
    let all = TopologyFile::clone(&epoch.topology);
    let file = match choice {
        Some(name) => all.in_network(name)?,
        None => all,
    };
    // Only the main network is published with its evidence.
    let topology = match file.name == epoch.topology.name {
        true => Topology::clone(&epoch.network),
        false => stated(&file),
    };
    Ok(DiscoveredNetwork {
        chosen: topology.clone().main_network(),
        topology,
        file,
        descriptions: PortDescriptions::default(),
        answered: true,
    })
}

/// A picture of a network.
fn drawn(topology: &Topology) -> String {
    let title = network::summary(topology);
    network::picture(&NetworkView::new(topology), &title).document(&title)
}

/// One look at a network.
fn asked(
    path: &Path,
    reports: Option<&Path>,
    choice: Option<&str>,
) -> anyhow::Result<DiscoveredNetwork> {
    let file = path.display().to_string();
    let mut inventory = input_file::inventory(path)?;
    for warning in agent::snmp_access::read_secrets(&mut inventory)
        .map_err(|e| anyhow::anyhow!("{file}: {e}; nothing was done"))?
    {
        tell!("heddle: {warning}");
    }

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no threads to ask from")?;
    let reported_facts = reports.map(reported).transpose()?.unwrap_or_default();
    if inventory.switches.is_empty() && reported_facts.is_empty() {
        bail!(
            "{file}: lists no switch, so there is nobody to ask; name reports of agents with \
             --reports, or with --dir the directory of a controller that knows the network"
        );
    }
    let (mut views, answered) = taken(&runtime.block_on(agent::read_all_switches(&inventory))?);
    for observation in &reported_facts {
        apply(&mut views, observation);
    }
    let topology = infer(&inventory, &views);
    let chosen = chosen(&topology, choice)?;
    let mut file = chosen.to_file();
    locate(&mut file, &chosen, &views);
    inventory.apply_stated_hosts(&mut file);
    file.queue = report_queue(inventory.queue(file.inner(), &views));
    place_addresses(&mut file, &chosen);
    Ok(DiscoveredNetwork {
        descriptions: descriptions(&views, &topology),
        topology,
        chosen,
        file,
        // An inventory without switches comes here only with reports, and those are the answers.
        answered: answered || inventory.switches.is_empty(),
    })
}

/// The least queue of all ports, with a line where it comes from a switch's tables.
fn report_queue(least: Option<LeastQueue>) -> Option<Bytes> {
    let least = least?;
    if least.read {
        tell!("heddle: queue: {least}");
    }
    Some(least.octets)
}

/// Adds the addresses that host agents reported.
fn locate(file: &mut TopologyFile, topology: &Topology, views: &DeviceViews) {
    let (attachments, addresses) = (topology.attachments(), AddressLookup::new(views));
    for (name, host) in &mut file.hosts {
        host.address = attachments
            .get(name.as_str())
            .and_then(|attachment| addresses.at_card(name, attachment.1))
            .map(|(address, _)| address);
    }
}

/// Of several networks a host's stated address is in one.
fn place_addresses(file: &mut TopologyFile, topology: &Topology) {
    let Some(own) = topology.own_network() else {
        return;
    };
    for (name, host) in &mut file.hosts {
        let stated = host.address.filter(|stated| match own.prefix {
            Some(prefix) => prefix.contains(stated),
            None => Some(own) == topology.networks.first(),
        });
        let all = own.addresses_of(name);
        let stays = stated.filter(|stated| all.is_empty() || all.contains(stated));
        host.address = stays.or(all.first().copied());
    }
}

/// The observations in host agents' reports.
fn reported(folder: &Path) -> anyhow::Result<Vec<Observation>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| unread_reports(cause, folder))? {
        let path = entry.map_err(|cause| unread_reports(cause, folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    // A folder has no order: the same reports must give the same network each time.
    files.sort();
    files
        .iter()
        .map(|file| {
            report(file).map_err(|problem| {
                anyhow!(
                    "{}: {problem}; nothing was asked: expected what heddle agent --once --format \
                     json prints",
                    file.display()
                )
            })
        })
        .collect()
}

fn unread_reports(cause: std::io::Error, folder: &Path) -> anyhow::Error {
    anyhow!(
        "--reports {}; nothing was asked",
        UnreadableFile::new(folder, cause)
    )
}

fn report(file: &Path) -> anyhow::Result<Observation> {
    let text =
        std::fs::read_to_string(file).map_err(|cause| anyhow!(unreadable::reason(&cause)))?;
    let report: HostReport = serde_json::from_str(&text)?;
    report.check().map_err(anyhow::Error::msg)?;
    Ok(Observation {
        at: agent::now(),
        reporter: report.host.clone(),
        source: ObservationSource::Agent,
        fact: DeviceFact::Host(report),
    })
}

/// The network of recorded walks.
fn recorded(folder: &Path, choice: Option<&str>) -> anyhow::Result<DiscoveredNetwork> {
    let RecordingFolder { recordings, notes } = read_folder(folder)?;
    for note in notes {
        tell!("heddle: {note}");
    }
    let at = agent::now();
    let observations: Vec<Observation> = recordings
        .into_iter()
        .flat_map(|r| r.observations(at))
        .collect();
    let (views, answered) = taken(&observations);
    let topology = infer_recorded(&views);
    let chosen = chosen(&topology, choice)?;
    let mut file = chosen.to_file();
    file.queue = report_queue(LeastQueue::new(file.inner(), |_| None, &views));
    Ok(DiscoveredNetwork {
        descriptions: descriptions(&views, &topology),
        topology,
        chosen,
        file,
        answered,
    })
}

fn taken(observations: &[Observation]) -> (DeviceViews, bool) {
    let mut views = DeviceViews::new();
    for observation in observations {
        apply(&mut views, observation);
    }
    let answered = views.values().any(|v| v.seen.is_some());
    (views, answered)
}
