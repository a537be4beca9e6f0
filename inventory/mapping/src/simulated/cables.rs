//! Networks as cables of one direction each, with the way of each flow over them: also those that are
//! no tree.
use super::TrueNetwork;
use crate::host_set::HostSet;
use crate::rounds::{HostFlow, MeasuredRound};
use crate::trunk_tree::trunk_side;

/// The number by which switches choose one of several cables for a flow: new for each flow.
pub(crate) type ChoiceNumber = u64;

/// The cables between switches on the way of a flow, in order.
type FlowWays = Box<dyn Fn(HostFlow, ChoiceNumber) -> Vec<usize>>;

pub(crate) struct CableNetwork {
    pub(crate) hosts: usize,
    /// The rate of each cable. Those of the hosts come first: `2 h` out of host `h`, `2 h + 1` into
    /// it.
    pub(crate) cables: Vec<f64>,
    pub(crate) ways: FlowWays,
    /// The sides between which there is nothing but one trunk.
    pub(crate) sides: Vec<HostSet>,
}

/// How flows share full cables, and what else makes rates differ.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SharingKind {
    /// As TCP does: unevenly.
    Tcp,
    /// As datagrams do, one by one.
    Datagrams(super::datagrams::SwitchKind),
}

impl CableNetwork {
    /// Hosts with cables of one rate, without switches.
    pub(crate) fn of_hosts(hosts: usize, rate: f64) -> CableNetwork {
        CableNetwork {
            hosts,
            cables: vec![rate; 2 * hosts],
            ways: Box::new(|_, _| Vec::new()),
            sides: Vec::new(),
        }
    }

    pub(crate) fn of_tree(tree: &TrueNetwork) -> CableNetwork {
        let mut network = CableNetwork::of_hosts(tree.hosts, TrueNetwork::CABLE);
        let mut trunks = tree.trunks.clone();
        trunks.sort_by_key(|(side, _)| side.len());
        let rates = trunks.iter().flat_map(|(_, rate)| [*rate, *rate]);
        network.cables.extend(rates);
        network.sides = tree.sides();
        let first = 2 * tree.hosts;
        network.ways = Box::new(move |flow, _| {
            let cable = |way: (bool, bool), t: usize| {
                ((
                    trunks[t].0.contains(flow.from),
                    trunks[t].0.contains(flow.to),
                ) == way)
                    .then_some(first + 2 * t + usize::from(way.1))
            };
            // Out of the smallest sides first, into the largest first.
            let out = (0..trunks.len()).filter_map(|t| cable((true, false), t));
            let into = (0..trunks.len()).rev();
            out.chain(into.filter_map(|t| cable((false, true), t)))
                .collect()
        });
        network
    }

    /// The cables of a flow from end to end.
    pub(crate) fn way(&self, flow: HostFlow, port: ChoiceNumber) -> Vec<usize> {
        let between = (self.ways)(flow, port);
        let ends = [2 * flow.from, 2 * flow.to + 1];
        [&ends[..1], &between, &ends[1..]].concat()
    }

    pub(crate) fn measure(
        &self,
        flows: &[HostFlow],
        sharing: SharingKind,
        rng: &mut fastrand::Rng,
    ) -> MeasuredRound {
        let ways: Vec<Vec<usize>> = flows.iter().map(|f| self.way(*f, rng.u64(..))).collect();
        let rates = match sharing {
            SharingKind::Tcp => super::tcp_rates(&self.cables, &ways, rng),
            SharingKind::Datagrams(kind) => {
                super::datagrams::arrived_rates(&self.cables, &ways, kind, rng)
            }
        };
        MeasuredRound::new(flows, &rates)
    }

    /// The least time of an all-to-all over that of one switch where all cables of hosts have the
    /// first one's rate.
    pub(crate) fn alltoall_time(&self) -> f64 {
        const PORTS: u64 = 64;
        let mut load = vec![0.0; self.cables.len()];
        for from in 0..self.hosts {
            for to in (0..self.hosts).filter(|to| *to != from) {
                for port in 0..PORTS {
                    for cable in self.way(HostFlow { from, to }, port) {
                        load[cable] += 1.0 / PORTS as f64;
                    }
                }
            }
        }
        let whole = (self.hosts - 1) as f64 / self.cables[0];
        let times = load.iter().zip(&self.cables).map(|(l, rate)| l / rate);
        times.fold(0.0, f64::max) / whole
    }
}

/// Hosts spread over switches, in turns.
pub(crate) struct SpreadHosts {
    pub(crate) hosts: usize,
    pub(crate) switches: usize,
}

impl SpreadHosts {
    fn sides(&self) -> Vec<HostSet> {
        let sides = (0..self.switches).map(|s| {
            (0..self.hosts)
                .filter(move |h| h % self.switches == s)
                .collect::<HostSet>()
        });
        sides
            .filter_map(|side| trunk_side(self.hosts, side))
            .collect()
    }

    /// Hosts, and so many cables between switches, each of this many times a host's rate.
    pub(crate) fn with(&self, between: &[f64], ways: FlowWays) -> CableNetwork {
        let mut network = CableNetwork::of_hosts(self.hosts, TrueNetwork::CABLE);
        let rates = between.iter().map(|times| times * TrueNetwork::CABLE);
        network.cables.extend(rates);
        let first = 2 * self.hosts;
        network.ways =
            Box::new(move |flow, port| ways(flow, port).into_iter().map(|c| first + c).collect());
        network.sides = self.sides();
        network
    }
}
