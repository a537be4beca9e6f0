//! A network as ns-3 needs it: directed links, and by switch the links to each host, over which flows
//! spread where several are equally short.
use anyhow::{Context, ensure};
use inventory::stages::StagedNetwork;
use inventory::tree::{NodeNumber, Tree};
use inventory::{BitsPerSec, TopologyFile};
use schedules::alltoall::AlltoallSchedule;
use schedules::message::Message;
use schedules::random::SplitMix64;
use schedules::stages::MessagePaths;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;
use wire::links::PeerLinks;
use wire::stream_pace::StreamPace;

/// The time that a bit takes over a host's cable, its card included, and over a trunk.
const HOST_DELAY_S: f64 = 5e-6;
const TRUNK_DELAY_S: f64 = 1e-6;
/// A full frame on the wire.
const FRAME_BITS: f64 = 1538.0 * 8.0;
/// Connections are opened from these ports.
const FIRST_PORT: u16 = 10_000;
/// So many ports are traced for a connection at most.
const TRACED: usize = 4096;

/// The port to which connections to the first rank are opened: `NETWORK_PORT` of network.h.
const DOOR: u16 = 5000;

unsafe extern "C" {
    fn network_hash(at: u32, from: u32, to: u32, from_port: u16, to_port: u16) -> u32;
}

/// By which a switch spreads the packets of a connection from this port, where each host has one rank.
fn spread(at: u32, [from, to]: [u32; 2], port: u16) -> u32 {
    // SAFETY: it computes with these numbers alone.
    unsafe { network_hash(at, from, to, port, DOOR + to as u16) }
}

/// `struct NetworkLink` of network.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FabricLink {
    from: u32,
    to: u32,
    bits_per_s: f64,
    delay_s: f64,
}

/// Links, and how switches route.
#[derive(Debug)]
pub(crate) struct SimulatedFabric {
    pub(crate) hosts: u32,
    pub(crate) switches: u32,
    pub(crate) links: Vec<FabricLink>,
    /// `[switch][host]`: the first of its links to it in `link_of`, and where the last ones end.
    pub(crate) routes: Vec<u32>,
    pub(crate) link_of: Vec<u32>,
    /// By the names of two boxes: the links from one to the other.
    cables: HashMap<[String; 2], Vec<u32>>,
}

impl SimulatedFabric {
    pub(crate) fn from_file(file: &TopologyFile) -> anyhow::Result<SimulatedFabric> {
        let network = file.staged();
        let hosts = network.hosts.len() as u32;
        let mut fabric = SimulatedFabric {
            hosts,
            switches: network.switches.len() as u32,
            links: Vec::new(),
            routes: Vec::new(),
            link_of: Vec::new(),
            cables: HashMap::new(),
        };
        fabric.add_cables(&network)?;
        fabric.add_routes();
        Ok(fabric)
    }

    fn add_cables(&mut self, network: &StagedNetwork<'_>) -> anyhow::Result<()> {
        let names = network.hosts.iter().map(|(name, _)| *name);
        let number: HashMap<&str, u32> = names
            .chain(network.switches.iter().copied())
            .zip(0..)
            .collect();
        let mut with_cable = HashSet::new();
        for cable in &network.cables {
            let ends = [cable.a, cable.b].map(|name| number.get(name).copied());
            let [Some(a), Some(b)] = ends else {
                anyhow::bail!("link {}-{}: one of its ends is unknown", cable.a, cable.b);
            };
            let host = [a, b].into_iter().find(|&end| end < self.hosts);
            ensure!(
                host.is_none_or(|host| with_cable.insert(host)),
                "host at link {}-{}: others are behind it, or it has several cards, which ns-3 is not told of",
                cable.a,
                cable.b
            );
            let delay_s = host.map_or(TRUNK_DELAY_S, |_| HOST_DELAY_S);
            let both = [(a, b, [cable.a, cable.b]), (b, a, [cable.b, cable.a])];
            let parts = (0..cable.parts.get()).flat_map(|_| both);
            for (from, to, names) in parts {
                let there = self.cables.entry(names.map(str::to_owned)).or_default();
                there.push(self.links.len() as u32);
                self.links.push(FabricLink {
                    from,
                    to,
                    bits_per_s: cable.rate.0 as f64 / f64::from(cable.parts.get()),
                    delay_s,
                });
            }
        }
        Ok(())
    }

    /// Each switch sends on over all links by which the fewest others follow.
    fn add_routes(&mut self) {
        let boxes = (self.hosts + self.switches) as usize;
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); boxes];
        for (link, number) in self.links.iter().zip(0..) {
            out[link.from as usize].push(number);
        }
        let distances: Vec<Vec<u32>> = (0..self.hosts).map(|to| self.distances(to, &out)).collect();
        for at in self.hosts..self.hosts + self.switches {
            for distance in &distances {
                self.routes.push(self.link_of.len() as u32);
                let links = out[at as usize].iter().filter(|&&link| {
                    let next = self.links[link as usize].to as usize;
                    distance[next] < distance[at as usize]
                });
                self.link_of.extend(links);
            }
        }
        self.routes.push(self.link_of.len() as u32);
    }

    fn distances(&self, to: u32, out: &[Vec<u32>]) -> Vec<u32> {
        let mut distance = vec![u32::MAX; out.len()];
        distance[to as usize] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(at) = queue.pop_front() {
            for &link in &out[at as usize] {
                let next = self.links[link as usize].to;
                // Hosts pass nothing on.
                if distance[next as usize] == u32::MAX && (at == to || at >= self.hosts) {
                    distance[next as usize] = distance[at as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        distance
    }

    /// The links that packets of a connection from this port take, as a trace finds them.
    fn traced(&self, first: u32, ends: [u32; 2], port: u16) -> Vec<u32> {
        let mut links = vec![first];
        while let Some(at) = links.last().map(|&link| self.links[link as usize].to)
            && let Some(switch) = at.checked_sub(self.hosts)
        {
            let route = (switch * self.hosts + ends[1]) as usize;
            let there = self.routes[route] as usize..self.routes[route + 1] as usize;
            let Some(count) = (there.len() as u32).checked_sub(1) else {
                break;
            };
            let place = spread(switch, ends, port) % (count + 1);
            links.push(self.link_of[there.start + place as usize]);
        }
        links
    }

    /// The ports from which the connections between ranks are opened, at random.
    pub(crate) fn any_ports(&self, host_of: &[NodeNumber], seed: u64) -> Vec<u16> {
        let mut free = FreePorts::new(self.hosts, seed);
        let pairs = host_of
            .iter()
            .flat_map(|from| host_of.iter().map(move |_| from));
        pairs.map(|&from| free.take(from)).collect()
    }

    /// The same where each host has one rank, so that each message of the plan takes its path.
    pub(crate) fn ports_of(
        &self,
        tree: &Tree,
        plan: &AlltoallSchedule,
        seed: u64,
    ) -> anyhow::Result<Vec<u16>> {
        let mut free = FreePorts::new(self.hosts, seed);
        let hosts: Vec<NodeNumber> = (0..self.hosts).collect();
        let mut ports = self.any_ports(&hosts, seed);
        let paths = MessagePaths::new(tree, &plan.paths);
        for (&m, number) in plan.phases.iter().flatten().zip(0..) {
            let wanted = self.links_of(tree, &paths, number, m)?;
            let first = wanted
                .iter()
                .copied()
                .find(|&link| self.links[link as usize].from == m.src)
                .context("a message that does not leave its host")?;
            let wanted: HashSet<u32> = wanted.into_iter().collect();
            let fits = |port: u16| {
                let links = self.traced(first, [m.src, m.dst], port);
                links.iter().all(|link| wanted.contains(link))
            };
            let port = (0..TRACED).find_map(|_| Some(free.take(m.src)).filter(|&port| fits(port)));
            ports[(m.src * self.hosts + m.dst) as usize] = port.with_context(|| {
                let (from, to) = (tree.name(m.src), tree.name(m.dst));
                format!("{from} -> {to}: none of {TRACED} ports takes the way that was planned")
            })?;
        }
        Ok(ports)
    }

    /// The links on a message's path.
    fn links_of(
        &self,
        tree: &Tree,
        paths: &MessagePaths<'_>,
        number: u32,
        m: Message,
    ) -> anyhow::Result<Vec<u32>> {
        let mut links = Vec::new();
        paths.visit(number, m, |link| links.push(link));
        let of = |link: u32| {
            let (edge, place) = paths.edge(link);
            let is_up = edge.is_multiple_of(2);
            let cables = tree.member_cables(edge / 2);
            let (names, among) = match cables.get(place) {
                None => {
                    let (from, to) = tree.ends(edge)?;
                    ([from, to].map(|node| tree.name(node)), 0)
                }
                Some(cable) => {
                    let ends = if is_up {
                        [cable.below, cable.above]
                    } else {
                        [cable.above, cable.below]
                    };
                    let among = cables[..place]
                        .iter()
                        .filter(|other| [other.below, other.above] == [cable.below, cable.above])
                        .count();
                    (ends.map(|at| tree.box_name(at)), among)
                }
            };
            self.cables
                .get(&names.map(str::to_owned))?
                .get(among)
                .copied()
        };
        let found: Option<Vec<u32>> = links.into_iter().map(of).collect();
        found.context("a cable of the plan that is not in the topology")
    }
}

/// Ports that a host has not used, at random.
struct FreePorts {
    random: SplitMix64,
    used: Vec<HashSet<u16>>,
}

impl FreePorts {
    fn new(hosts: u32, seed: u64) -> FreePorts {
        FreePorts {
            random: SplitMix64::new(seed),
            used: vec![HashSet::new(); hosts as usize],
        }
    }

    fn take(&mut self, host: u32) -> u16 {
        let all = u64::from(u16::MAX - FIRST_PORT);
        loop {
            let port = FIRST_PORT + self.random.below_wide(all) as u16;
            if self.used[host as usize].len() as u64 == all || self.used[host as usize].insert(port)
            {
                return port;
            }
        }
    }
}

/// The links from a rank to each other one; none within a host.
pub(crate) fn links(tree: &Tree, host_of: &[NodeNumber], from: NodeNumber) -> Vec<PeerLinks> {
    let to = |to: NodeNumber| {
        let (mut slowest, mut seconds) = (BitsPerSec(u64::MAX), 0.0);
        tree.path(from, to, |edge| {
            let cables = tree.member_cables(edge / 2).iter();
            let cables = cables.map(|cable| cable.flow_rate());
            let rate = cables.min().unwrap_or(tree.rate(edge / 2));
            slowest = slowest.min(rate);
            seconds += FRAME_BITS / rate.0.max(1) as f64;
        });
        PeerLinks {
            pace: (from != to).then(|| StreamPace {
                slowest,
                own: tree.rate(from),
            }),
            frame_time: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        }
    };
    host_of.iter().map(|&host| to(host)).collect()
}
