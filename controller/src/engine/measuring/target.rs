//! The hosts of a measurement: those on a bridge that nobody asked, or those whose place no protocol
//! decides; and the agents that carry it out.
use super::MeasuredNetwork;
use super::addresses::{PrefixedAddress, is_neighbour};
use inventory::short_list;
use inventory::topology::{NodeKind, Topology};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::IpAddr;

/// The most hosts elsewhere that take part, so that the way into a place shows.
const MOST_BESIDE: usize = 4;
/// The hosts of each switch that may be the one: so many that they fill the trunks between, within
/// these limits.
const LEAST_WITNESSES: usize = 2;
const MOST_WITNESSES: usize = 8;

/// A host whose place no protocol decides, whether flows found it or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DoubtfulHost {
    pub(super) name: String,
    /// The nodes between which protocols leave the choice, sorted; empty if no switch has seen it.
    pub(super) among: Vec<String>,
    /// The nodes on which it may be.
    pub(super) candidates: BTreeSet<String>,
    /// True if flows found its place.
    #[serde(default)]
    pub(super) is_placed: bool,
}

/// The question of a measurement, and its hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MappingTarget {
    pub(super) subject: TargetSubject,
    /// Its hosts, sorted.
    pub(super) hosts: Vec<String>,
}

/// The question that flows shall answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TargetSubject {
    /// Which hosts and trunks are behind this bridge, which nobody asked? Where an earlier measurement
    /// found several bridges there, this is the one of the way in.
    Bridge(String),
    /// On which switches are these hosts?
    Hosts(Vec<DoubtfulHost>),
    /// Which ways do flows between these hosts take, where no router answers?
    Ways,
}

/// The hosts of a measurement, with their addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MappingMembers {
    pub(super) inside: Vec<(String, IpAddr)>,
    pub(super) beside: Vec<(String, IpAddr)>,
}

/// The reason why something cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnfitTarget {
    /// These hosts have no agent that takes part.
    Silent(Vec<String>),
    /// The hosts share no network.
    Networks,
    /// There are too many.
    TooMany(usize),
    /// The switches on which a host may be have too few hosts with an agent.
    NoWitnesses,
}

impl fmt::Display for UnfitTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfitTarget::Silent(hosts) => write!(
                f,
                "no agent that measures reports for {}; start it there, without --no-measure",
                hosts.join(", ")
            ),
            UnfitTarget::Networks => f.write_str("its hosts have no network in common"),
            UnfitTarget::TooMany(hosts) => {
                write!(f, "{hosts} hosts are more than one measurement holds")
            }
            UnfitTarget::NoWitnesses => f.write_str(
                "too few hosts with an agent, in a network with it, are on the switches where it \
                 may be; start agents there, or give it an address in their network",
            ),
        }
    }
}

impl MappingTarget {
    /// Its name for viewers.
    pub(super) fn label(&self) -> String {
        match &self.subject {
            TargetSubject::Bridge(bridge) => bridge.clone(),
            TargetSubject::Hosts(_) => short_list(self.hosts.iter().map(String::as_str)),
            TargetSubject::Ways => format!("ways between {} hosts", self.hosts.len()),
        }
    }

    /// Its name in messages.
    pub(super) fn title(&self) -> String {
        match (&self.subject, &self.hosts[..]) {
            (TargetSubject::Bridge(bridge), _) => format!("unmanaged bridge \"{bridge}\""),
            (TargetSubject::Hosts(_), [host]) => format!("place of host \"{host}\""),
            (TargetSubject::Hosts(_), _) => format!("places of hosts {}", self.label()),
            (TargetSubject::Ways, _) => self.label(),
        }
    }
}

impl MeasuredNetwork<'_> {
    /// The hosts that measure a target: all of its own, and some of other switches.
    pub(super) fn members(&self, target: &MappingTarget) -> Result<MappingMembers, UnfitTarget> {
        // Only hosts of the inventory have a place in a topology, and an agent that counts.
        let addresses = self.addresses();
        let found: Vec<(&String, Option<PrefixedAddress>)> = target
            .hosts
            .iter()
            .map(|host| (host, addresses.of(host)))
            .collect();
        let silent: Vec<String> = found
            .iter()
            .filter(|(_, address)| address.is_none())
            .map(|(host, _)| (*host).clone())
            .collect();
        if !silent.is_empty() {
            return Err(UnfitTarget::Silent(silent));
        }
        let own: Vec<(&String, PrefixedAddress)> = found
            .into_iter()
            .filter_map(|(host, address)| Some((host, address?)))
            .collect();
        let Some((_, first)) = own.first().copied() else {
            return Err(UnfitTarget::Silent(Vec::new()));
        };
        if own
            .iter()
            .any(|(_, address)| !is_neighbour(first, *address))
        {
            return Err(UnfitTarget::Networks);
        }
        let others = self
            .inventory
            .hosts
            .keys()
            .filter(|host| !target.hosts.contains(host))
            .filter_map(|host| {
                let attachment = addresses.attachment(host)?;
                let address = addresses.of(host);
                let (address, _) = address.filter(|address| is_neighbour(first, *address))?;
                Some((attachment, host, address))
            });
        let inside = own
            .into_iter()
            .map(|(host, (address, _))| (host.clone(), address));
        MappingMembers {
            inside: inside.collect(),
            beside: target.beside(others, self.topology()),
        }
        .fit(&target.subject)
    }
}

impl MappingTarget {
    /// Those of the other hosts, each with its switch, that take part.
    fn beside<'a>(
        &self,
        others: impl Iterator<Item = (&'a str, &'a String, IpAddr)>,
        topology: &Topology,
    ) -> Vec<(String, IpAddr)> {
        match &self.subject {
            TargetSubject::Bridge(_) => hosts_beside(others, MOST_BESIDE, MOST_BESIDE),
            TargetSubject::Ways => Vec::new(),
            TargetSubject::Hosts(doubtful) => {
                let may_be: BTreeSet<&str> = doubtful
                    .iter()
                    .flat_map(|host| &host.candidates)
                    .map(String::as_str)
                    .collect();
                let (there, elsewhere): (Vec<_>, Vec<_>) =
                    others.partition(|(attachment, ..)| may_be.contains(attachment));
                let each = witnesses(topology);
                let most = mapping::MOST_HOSTS.saturating_sub(self.hosts.len());
                let mut beside = hosts_beside(there.into_iter(), each, most);
                if may_be.len() == 1 {
                    // Against these it shows that the host is not elsewhere.
                    let more = MOST_WITNESSES.min(most - beside.len());
                    beside.extend(hosts_beside(elsewhere.into_iter(), each, more));
                }
                beside
            }
        }
    }
}

impl MappingMembers {
    /// Refuses too many and too few.
    fn fit(self, subject: &TargetSubject) -> Result<MappingMembers, UnfitTarget> {
        let many = self.inside.len() + self.beside.len();
        match subject {
            _ if many > mapping::MOST_HOSTS => Err(UnfitTarget::TooMany(many)),
            TargetSubject::Hosts(_) if self.beside.len() < LEAST_WITNESSES => {
                Err(UnfitTarget::NoWitnesses)
            }
            _ => Ok(self),
        }
    }
}

/// So many hosts of a switch fill the fastest trunk, if each is as fast as the slowest host.
fn witnesses(topology: &Topology) -> usize {
    let kinds = topology.kinds();
    let (mut trunk, mut host) = (0, u64::MAX);
    for link in topology.links.iter().filter(|link| link.carries_frames()) {
        match kinds.get(link.b.as_str()) == Some(&NodeKind::Host) {
            true => host = host.min(link.rate_bps.0.max(1)),
            false => trunk = trunk.max(link.rate_bps.0),
        }
    }
    let needed = usize::try_from(trunk / host).unwrap_or(usize::MAX);
    needed
        .saturating_add(1)
        .clamp(LEAST_WITNESSES, MOST_WITNESSES)
}

/// The first ones to ask of these hosts, each with its switch: one on each switch, then a second one
/// on each. There are at most so many of each switch, and of all.
fn hosts_beside<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a String, IpAddr)>,
    of_each: usize,
    of_all: usize,
) -> Vec<(String, IpAddr)> {
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut ordered: Vec<(usize, &String, IpAddr)> = hosts
        .map(|(switch, host, address)| {
            let turn = used.entry(switch).or_default();
            *turn += 1;
            (*turn, host, address)
        })
        .filter(|(turn, ..)| *turn <= of_each)
        .collect();
    ordered.sort();
    ordered
        .into_iter()
        .take(of_all)
        .map(|(_, host, address)| (host.clone(), address))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_hosts_of_the_switches_in_question_take_part_as_a_measurement_holds() {
        let switches: Vec<String> = (0..100).map(|n| format!("s{n}")).collect();
        let doubtful = DoubtfulHost {
            name: "n".into(),
            among: switches.clone(),
            candidates: switches.iter().cloned().collect(),
            is_placed: false,
        };
        let target = MappingTarget {
            hosts: vec!["n".into()],
            subject: TargetSubject::Hosts(vec![doubtful]),
        };
        let hosts: Vec<String> = (0..400).map(|n| format!("n{n}")).collect();
        let address = IpAddr::from([10, 0, 0, 1]);
        let others = hosts
            .iter()
            .enumerate()
            .map(|(n, host)| (switches[n % 100].as_str(), host, address));
        let beside = target.beside(others, &Topology::default());
        assert_eq!(beside.len(), mapping::MOST_HOSTS - 1);
        // Each switch has one before any has two.
        let first: BTreeSet<&str> = beside.iter().map(|(host, _)| host.as_str()).collect();
        assert!((0..100).all(|n| first.contains(format!("n{n}").as_str())));
    }
}
