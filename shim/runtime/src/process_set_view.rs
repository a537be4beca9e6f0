//! A process set on the tree of an epoch: its hosts' part of it, with its ranks as leaves.
use crate::rank_host::RankHost;
use crate::tcp::StreamPace;
use directory::epoch::LeanEpoch;
use inventory::stages::flows::KnownFlow;
use inventory::stages::hops::WayHop;
use inventory::tree::{NodeNumber, Tree, TreeError};
use inventory::{BitsPerSec, Bytes, MpiRoutines, TopologyFile, counted};
use policy::decision_table::{Collective, CollectiveTraffic};
use policy::learned::LearnedPlace;
use policy::learning::RowTimes;
use policy::shown_rates::{FastCall, FasterLink, TOO_FAST, and_more_links, faster_links};
use schedules::bound;
use schedules::verify::ScheduleViolation;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

/// Planning was measured up to so many ranks (docs/figures.md).
pub const MOST_RANKS: usize = 1 << 14;

/// A full Ethernet frame with its preamble and gap, in bits.
// Preamble and start delimiter 8, header 14, data 1,500, FCS 4, gap 12 octets (IEEE 802.3, 3.1.1 and 4.4.2).
const FRAME_BITS: f64 = 1538.0 * 8.0;

/// A way that reaches this part of the bound is held by its pace.
const AS_PACED: f64 = 0.85;
/// Rates are not more wrong than 100 Mbit/s that stand for 400 Gbit/s.
const MOST_WRONG: f64 = 4000.0;
/// The libraries' own routines reach half of the wire's rate or more (docs/figures.md), so the links
/// may be so many times as fast as their calls show.
const LIBRARYS_SHARE: f64 = 2.0;

/// A line names so many hosts at most.
const NAMED: usize = 4;

/// The hosts and ranks of a process set on the tree of an epoch.
#[derive(Debug)]
pub struct ProcessSetView {
    /// The epoch's number.
    pub epoch: u64,
    /// The name of the network, if the epoch has several.
    pub network: Option<String>,
    /// The tree of the hosts alone.
    pub(crate) hosts: Tree,
    /// By node: the rate of one flow to its parent, which takes one of the cables side by side.
    flow_rates: Vec<BitsPerSec>,
    /// The same tree with rank `r` as leaf number `r`.
    pub(crate) leaves: Tree,
    /// The same with what lies side by side in stages, if anything tells its ways.
    pub(crate) staged: Option<StagedLeaves>,
    /// The host of each rank.
    pub(crate) host_of: Vec<u32>,
    /// The number of ranks on each host.
    ranks: Vec<u32>,
    /// The delays of the cables between the hosts, together.
    pub delay: Duration,
    addresses: Vec<Option<IpAddr>>,
    /// The hosts send so many times as fast as the topology says, as far as calls have shown.
    faster: f64,
    /// The call that has shown most of that.
    fastest_call: Option<FastCall>,
    /// The same the other way: they may take so many times as long, by the call that shows the least.
    slower: Option<f64>,
}

/// Hosts and ranks as leaves of a fabric, and what tells its ways.
#[derive(Debug)]
pub(crate) struct StagedLeaves {
    pub(crate) hosts: Tree,
    pub(crate) leaves: Tree,
    pub(crate) hops: Vec<WayHop>,
    pub(crate) flows: Vec<KnownFlow>,
}

/// Why a communicator cannot follow an epoch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The epoch's own tree is none, or lacks a host.
    #[error("epoch {epoch}: {error}")]
    Tree {
        /// The epoch's number.
        epoch: u64,
        /// The defect.
        error: TreeError,
    },
    /// There is no network between the ranks.
    #[error("all ranks are on host \"{0}\"; there is no network to schedule")]
    OneHost(String),
    /// Too many ranks to plan for.
    #[error("communicator of {0} ranks: plans are made for at most {MOST_RANKS}")]
    TooMany(usize),
    /// The planner made a mistake.
    #[error(
        "epoch {epoch}: the plan for this communicator is wrong ({violation}); please report this"
    )]
    Wrong {
        /// The epoch's number.
        epoch: u64,
        /// The verifier's finding.
        violation: Box<ScheduleViolation>,
    },
}

impl FollowError {
    /// True if an operator wants to hear of it.
    pub fn is_news(&self) -> bool {
        !matches!(self, FollowError::OneHost(_))
    }
}

impl ProcessSetView {
    /// The view of a process set whose rank `r` runs on `hosts[r]`.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn new(lean: &LeanEpoch, hosts: &[RankHost]) -> Result<ProcessSetView, FollowError> {
        if hosts.len() > MOST_RANKS {
            return Err(FollowError::TooMany(hosts.len()));
        }
        let epoch = lean.number;
        let tree = |error| FollowError::Tree { epoch, error };
        let whole = lean.topology.tree().map_err(tree)?;
        let members = members(&whole, &lean.topology, hosts).map_err(tree)?;
        if let [(only, _)] = members.as_slice() {
            return Err(FollowError::OneHost(only.clone()));
        }
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        let hosts = whole.restrict(&names).map_err(tree)?;
        let is_told = !lean.hops.is_empty() || !lean.flows.is_empty();
        let staged = (hosts.has_members() && is_told)
            .then(|| ranks_as_leaves(&hosts, &members))
            .transpose()
            .map_err(tree)?
            .map(|leaves| StagedLeaves {
                hosts: hosts.clone(),
                leaves,
                hops: lean.hops.clone(),
                flows: lean.flows.clone(),
            });
        let flow_rates = (0..hosts.nodes())
            .map(|node| flow_rate(&hosts, node))
            .collect();
        // Elsewhere messages take whichever way the hash of their ports gives.
        let hosts = hosts.by_hash();
        let leaves = ranks_as_leaves(&hosts, &members).map_err(tree)?;
        let (host_of, delay) = (host_of(&members), delay(&hosts, &lean.topology));
        Ok(ProcessSetView {
            epoch,
            network: lean.topology.name.clone(),
            delay,
            faster: 1.0,
            fastest_call: None,
            slower: None,
            flow_rates,
            leaves,
            staged,
            host_of,
            ranks: members
                .iter()
                .map(|(_, ranks)| ranks.len() as u32)
                .collect(),
            addresses: names
                .iter()
                .map(|name| lean.topology.hosts.get(*name)?.address)
                .collect(),
            hosts,
        })
    }

    /// Where figures that jobs learned hold for it.
    pub fn place(&self, mpi: MpiRoutines) -> LearnedPlace {
        LearnedPlace::new(&self.hosts, &self.host_of, mpi)
    }

    /// One line about the epoch and the process set.
    pub fn summary(&self) -> String {
        let network = self.network.as_ref();
        format!(
            "epoch {}, {}{} on {}",
            self.epoch,
            network.map_or_else(String::new, |name| format!("network {name}, ")),
            counted(self.leaves.hosts(), "rank"),
            counted(self.hosts.hosts(), "host")
        )
    }

    /// True if the topology says where each host is reached.
    pub(crate) fn has_all_addresses(&self) -> bool {
        self.addresses.iter().all(Option::is_some)
    }

    /// The addresses of the hosts on the tree; `None` if one is unknown.
    pub fn host_addresses(&self) -> Option<HashSet<IpAddr>> {
        self.addresses.iter().copied().collect()
    }

    /// The octets that a call with such blocks moves from host to host at least, however it goes.
    pub fn octets_between_hosts(&self, collective: Collective, block: Bytes) -> u64 {
        let ranks: u64 = self.ranks.iter().map(|&ranks| u64::from(ranks)).sum();
        let others = self.ranks.iter().map(|&own| (own, ranks - u64::from(own)));
        let blocks: u64 = match collective.traffic() {
            CollectiveTraffic::Exchange => others.map(|(own, other)| u64::from(own) * other).sum(),
            CollectiveTraffic::Gather | CollectiveTraffic::CombineForEach => {
                others.map(|(_, other)| other).sum()
            }
            CollectiveTraffic::Combine | CollectiveTraffic::Spread => {
                self.ranks.len().saturating_sub(1) as u64
            }
        };
        blocks.saturating_mul(block.0)
    }

    /// Why calls do not go over TCP, if the topology does not say where each host is reached. Names few
    /// hosts: there may be hundreds.
    pub fn lacks_addresses(&self) -> Option<String> {
        let each = self.hosts.host_names().iter().zip(&self.addresses);
        let lacking: Vec<&str> = each
            .filter(|(_, address)| address.is_none())
            .map(|(host, _)| host.as_str())
            .collect();
        let named = lacking.iter().take(NAMED).copied().collect::<Vec<_>>();
        let more = if lacking.len() > NAMED { ", …" } else { "" };
        (!lacking.is_empty()).then(|| {
            format!(
                "no TCP: epoch {} has no address of {}: {}{more}; run heddle agent there, or give \
                 addresses in the inventory",
                self.epoch,
                counted(lacking.len() as u64, "host"),
                named.join(", ")
            )
        })
    }

    /// The host of each rank, as the topology calls it.
    pub fn hosts_of_ranks(&self) -> Vec<String> {
        let names = self.hosts.host_names();
        self.host_of
            .iter()
            .map(|&host| names.get(host as usize).cloned().unwrap_or_default())
            .collect()
    }

    /// A rank's address on the network, where the topology says it.
    pub fn address(&self, rank: u32) -> Option<IpAddr> {
        self.addresses[*self.host_of.get(rank as usize)? as usize]
    }

    /// The ranks of a rank's host, itself included.
    pub fn ranks_beside(&self, rank: u32) -> Vec<u32> {
        let own = self.host_of.get(rank as usize);
        let ranks = (0..).zip(&self.host_of);
        let beside = ranks.filter(|(_, host)| Some(*host) == own);
        beside.map(|(rank, _)| rank).collect()
    }

    /// A rank's place among those of its host, and their number.
    pub fn place_on_host(&self, rank: u32) -> [u16; 2] {
        let beside = self.ranks_beside(rank);
        let before = beside.iter().filter(|&&other| other < rank);
        // There are at most MOST_RANKS.
        [before.count() as u16, beside.len() as u16]
    }

    /// The rates on the way from one rank to another; `None` within a host.
    pub fn pace(&self, from: u32, to: u32) -> Option<StreamPace> {
        let (from, to) = (
            *self.host_of.get(from as usize)?,
            *self.host_of.get(to as usize)?,
        );
        let mut slowest = None;
        self.hosts.path(from, to, |edge| {
            let rate = self.flow_rates[edge as usize / 2];
            slowest = Some(slowest.map_or(rate, |r: BitsPerSec| r.min(rate)));
        });
        slowest.map(|slowest| StreamPace {
            slowest: self.shown(slowest),
            own: self.shown(self.flow_rates[from as usize]),
        })
    }

    /// A rate of the topology, or the one that calls have shown.
    fn shown(&self, rate: BitsPerSec) -> BitsPerSec {
        BitsPerSec((rate.0 as f64 * self.faster) as u64)
    }

    /// A call took so long by the library's own routine, and by the fastest way. If the first is sooner than
    /// the topology's rates allow, they are wrong: gives true, and paces by what the call has shown from
    /// now on. Where rates are wrong and the fastest way is as fast as it is paced, it may be faster still.
    /// The same on all ranks that say the same.
    pub fn learn_rates(
        &mut self,
        collective: Collective,
        block: Bytes,
        times: [Option<RowTimes>; 2],
    ) -> bool {
        let bound = self.bound_seconds(collective, block) / self.faster;
        let share = |took: Duration| bound / took.as_secs_f64().max(1e-9);
        if let [Some(native), _] = times {
            // Short blocks take long for other reasons.
            let slower = 1.0 / (LIBRARYS_SHARE * share(native.since_last)).max(1e-9);
            self.slower = Some(self.slower.map_or(slower, |least| least.min(slower)));
        }
        // Blocks may have crossed before the last rank came.
        let crossed = times.map(|times| times.map(|times| times.since_first));
        let [native, fastest] = crossed.map(|took| took.map_or(0.0, share));
        let factor = if native > TOO_FAST {
            LIBRARYS_SHARE * native
        } else if self.faster > 1.0 && fastest > AS_PACED {
            LIBRARYS_SHARE
        } else {
            1.0
        };
        if factor <= 1.0 {
            return false;
        }
        self.faster = (self.faster * factor).min(MOST_WRONG);
        let soonest = crossed.into_iter().flatten().min();
        self.fastest_call = soonest.map(|took| FastCall {
            collective,
            block,
            took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        });
        true
    }

    /// Messages may take so many times as long as the topology's rates say, and no others be in their way:
    /// the library's own calls do.
    pub fn patience(&self) -> f64 {
        self.slower.unwrap_or(1.0).max(1.0)
    }

    /// The call that shows most that published rates are wrong.
    pub fn fastest_call(&self) -> Option<FastCall> {
        self.fastest_call
    }

    /// A line about rates that are wrong, for an operator.
    pub fn wrong_rates(&self) -> Option<String> {
        let call = self.fastest_call?;
        let links = faster_links(&self.hosts, &self.ranks, &call);
        let link = links.first().map_or_else(
            || "its links are faster than it says".to_owned(),
            FasterLink::to_string,
        );
        Some(format!(
            "epoch {}: {call}, sooner than its rates allow: {link}{}; see the rates in heddle discover, or \
             state them in the inventory",
            self.epoch,
            and_more_links(links.len())
        ))
    }

    /// The time that a full frame takes on all links from one rank to another, one after the other.
    pub fn frame_time(&self, from: u32, to: u32) -> Duration {
        let ends = [from, to].map(|rank| self.host_of.get(rank as usize));
        let [Some(&from), Some(&to)] = ends else {
            return Duration::ZERO;
        };
        let mut seconds = 0.0;
        self.hosts.path(from, to, |edge| {
            let rate = self.flow_rates[edge as usize / 2];
            seconds += FRAME_BITS / self.shown(rate).0.max(1) as f64;
        });
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Seconds a collective takes at the payload bound of the bottleneck edge; with unequal blocks,
    /// what the mean one would take.
    pub fn bound_seconds(&self, collective: Collective, block: Bytes) -> f64 {
        match collective.traffic() {
            CollectiveTraffic::Exchange => bound::alltoall_seconds(&self.hosts, &self.ranks, block),
            // Messages that are combined for each rank take the paths of an allgather backwards.
            CollectiveTraffic::Gather | CollectiveTraffic::CombineForEach => {
                bound::allgather_seconds(&self.hosts, &self.ranks, block)
            }
            CollectiveTraffic::Combine => bound::allreduce_seconds(&self.hosts, &self.ranks, block),
            CollectiveTraffic::Spread => bound::broadcast_seconds(&self.hosts, &self.ranks, block),
        }
    }
}

/// The most that one flow gets between a node and its parent.
fn flow_rate(tree: &Tree, node: NodeNumber) -> BitsPerSec {
    let cables = tree
        .member_cables(node)
        .iter()
        .map(|cable| cable.flow_rate());
    cables.max().unwrap_or_else(|| tree.rate(node))
}

/// The communicator's hosts as the topology names them, in the order of their first rank, with
/// their ranks.
fn members(
    tree: &Tree,
    topology: &TopologyFile,
    hosts: &[RankHost],
) -> Result<Vec<(String, Vec<u32>)>, TreeError> {
    let known = KnownHosts::new(tree, topology);
    let mut place = vec![None; tree.host_names().len()];
    let mut members: Vec<(String, Vec<u32>)> = Vec::new();
    for (rank, host) in hosts.iter().enumerate() {
        let number = known
            .number(host)
            .ok_or_else(|| TreeError::Unknown(host.name().to_owned()))?;
        let at = *place[number].get_or_insert_with(|| {
            members.push((tree.host_names()[number].clone(), Vec::new()));
            members.len() - 1
        });
        members[at].1.push(rank as u32);
    }
    Ok(members)
}

/// The numbers of a topology's hosts, by what is known of them.
struct KnownHosts<'a> {
    by_address: HashMap<IpAddr, usize>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> KnownHosts<'a> {
    fn new(tree: &'a Tree, topology: &TopologyFile) -> KnownHosts<'a> {
        let numbers = || tree.host_names().iter().enumerate();
        let address = |name: &String| topology.hosts.get(name)?.address;
        let addressed = numbers().filter_map(|(number, name)| Some((address(name)?, number)));
        KnownHosts {
            by_address: addressed.collect(),
            by_name: numbers()
                .map(|(number, name)| (name.as_str(), number))
                .collect(),
        }
    }

    /// By its addresses, else by its names.
    fn number(&self, host: &RankHost) -> Option<usize> {
        // MPI may say "n3.cluster.example" where the inventory says "n3".
        let by_name = |name: &String| {
            let short = name.split('.').next().unwrap_or(name);
            self.by_name
                .get(name.as_str())
                .or_else(|| self.by_name.get(short))
        };
        let found = host
            .addresses()
            .iter()
            .find_map(|address| self.by_address.get(address));
        found
            .or_else(|| host.names().iter().find_map(by_name))
            .copied()
    }
}

/// The delays of the cables of this tree, together: a frame is delayed no longer on its way.
fn delay(hosts: &Tree, topology: &TopologyFile) -> Duration {
    let names: HashSet<&str> = (0..hosts.nodes()).map(|node| hosts.name(node)).collect();
    let own = topology
        .hosts
        .iter()
        .filter(|(name, _)| names.contains(name.as_str()))
        .map(|(_, host)| host.delay)
        .max();
    let links = topology
        .links
        .iter()
        .filter(|link| names.contains(link.a.as_str()) && names.contains(link.b.as_str()));
    // On each way are the cables of two hosts, and no trunk twice.
    links.map(|link| link.delay).sum::<Duration>() + 2 * own.unwrap_or_default()
}

/// The number of each rank's host.
fn host_of(members: &[(String, Vec<u32>)]) -> Vec<u32> {
    let mut host_of = vec![0; members.iter().map(|(_, ranks)| ranks.len()).sum()];
    for (host, (_, ranks)) in (0..).zip(members) {
        ranks.iter().for_each(|&rank| host_of[rank as usize] = host);
    }
    host_of
}

/// The tree with rank `r` as its leaf number `r`.
fn ranks_as_leaves(hosts: &Tree, members: &[(String, Vec<u32>)]) -> Result<Tree, TreeError> {
    // A blank keeps these apart from the names of switches and hosts, which cannot hold one.
    let ranks: Vec<(String, u32)> = (0..)
        .zip(host_of(members))
        .map(|(rank, host): (u32, u32)| (format!("rank {rank}"), host))
        .collect();
    hosts.with_ranks(&ranks)
}
