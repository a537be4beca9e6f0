//! The controller's state, for viewers.
use super::ControllerEngine;
use super::silent_switches::UnansweringSwitches;
use crate::loads::InterfaceLoad;
use api::{
    AgentStatus, AlarmLine, EpochInfo, FurtherNetwork, LinkLoad, PathStatus, PendingChange,
    Snapshot, SwitchStatus,
};
use inventory::alarm::causes::causes_first;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::topology::{Link, LinkState};
use inventory::{BitsPerSec, Millis, Topology, Tree};
use schedules::{bound, capacities};
use std::collections::HashMap;

impl ControllerEngine {
    /// Everything a viewer needs, as of `now`.
    pub fn snapshot(&self, now: Millis) -> Snapshot {
        let (jobs, jobs_more) = self.observed.jobs.status(now);
        let mut snapshot = Snapshot {
            at: now,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            directory: self.options.directory.clone(),
            topology: Topology::clone(&self.judged.topology),
            loads: self.loads(&self.judged.topology, None),
            further: self.further_networks(),
            switches: self.switch_status(),
            agents: self.agent_status(),
            epochs: self.public.epochs.clone(),
            pending: self.pending(),
            jobs,
            jobs_more,
            events: self.public.lines.iter().cloned().collect(),
            alarms: self.alarms(),
            mapping: self.measuring.status(self.inventory.measuring.is_some()),
        };
        add_up_shared(&mut snapshot);
        snapshot
    }

    /// The change in its hold-down, unless an epoch has it since.
    fn pending(&self) -> Option<PendingChange> {
        let held = self.making.hold_down.held()?;
        let settled = self.public.settled.as_ref();
        let is_published = settled.is_some_and(|settled| settled.key == held.candidate.key);
        (!is_published).then(|| PendingChange {
            since: held.since,
            due: held.due,
            changes: held.changes.clone(),
        })
    }

    /// The state in one line, for the service manager.
    pub fn status_line(&self) -> String {
        let current = self.public.current();
        let epoch = current.map_or_else(|| "no epoch yet".to_owned(), |n| format!("epoch {n}"));
        match self.alarms().len() {
            0 => epoch,
            1 => format!("{epoch}, 1 alarm"),
            n => format!("{epoch}, {n} alarms"),
        }
    }

    /// All alarms, each once: causes, with what follows from them.
    pub(super) fn alarms(&self) -> Vec<AlarmLine> {
        let epoch = self.public.current();
        let mut own = self.judged.judged_alarms(epoch);
        own.extend(self.judged.further.alarms(self.public.settled.as_ref()));
        own.extend(self.observed.agents.alarms());
        let is_unwatched = self.inventory.switches.is_empty() && self.observed.are_agents_silent();
        own.extend(
            is_unwatched.then(|| Alarm::other("network", AlarmKind::NobodyReports { epoch })),
        );
        own.extend(self.judged.damping.alarms(epoch));
        own.extend(self.watch.alarms(epoch));
        own.extend(self.shown_rates.alarm());
        let troubles = self.public.troubles.iter();
        own.extend(troubles.map(|(area, problem)| area.alarm(problem)));
        let all: Vec<&Alarm> = self.judged.inferred_alarms().chain(&own).collect();
        let mut lines = causes_first(&all);
        let unanswering = UnansweringSwitches::new(&self.observed, &self.inventory);
        lines.retain(|alarm| !unanswering.explain(alarm, self.ticked, &self.judged.damping));
        lines
    }

    fn further_networks(&self) -> Vec<FurtherNetwork> {
        let networks = self.judged.further.networks.iter();
        let shown = networks.map(|(network, topology)| FurtherNetwork {
            loads: self.loads(topology, Some(&network.name)),
            topology: Topology::clone(topology),
        });
        shown.collect()
    }

    /// The loads of the links of a network, the main one or a further one of this name.
    fn loads(&self, topology: &Topology, further: Option<&str>) -> Vec<LinkLoad> {
        let all = match self.judged.judgement.as_ref().map(|j| &j.candidate) {
            Some(Ok(candidate)) => Some(&candidate.file),
            _ => self.public.settled.as_ref().map(|settled| &settled.key),
        };
        let file = all.and_then(|all| match further {
            Some(name) => all.networks.get(name),
            None => Some(&**all),
        });
        let tree = file.and_then(|file| file.tree().ok());
        let figures = tree.map(|t| AlltoallLoads::of(&t, topology));
        let links = topology.links.iter();
        links
            .map(|link| self.load(link, figures.as_ref()))
            .collect()
    }

    fn load(&self, link: &Link, figures: Option<&AlltoallLoads>) -> LinkLoad {
        let (a_to_b, b_to_a) = self.passing(link).unzip();
        let (aapc_load, is_most) = figures.and_then(|f| f.load(link)).unwrap_or_default();
        let capacity = figures.map_or(1, |f| bound::link_capacity(link.rate_bps, f.unit));
        LinkLoad {
            a: link.a.clone(),
            b: link.b.clone(),
            aapc_load,
            capacity,
            phases: aapc_load.div_ceil(capacity),
            bottleneck: aapc_load > 0 && is_most,
            a_to_b,
            b_to_a,
        }
    }

    /// The load of a link, a to b and b to a: counted at `a`, or at `b` if `a` has no counters.
    fn passing(&self, link: &Link) -> Option<(BitsPerSec, BitsPerSec)> {
        self.end_load(
            &link.a,
            &link.a_port,
            link.members.iter().map(|m| m.a_port.as_str()).collect(),
        )
        .or_else(|| {
            self.end_load(
                &link.b,
                &link.b_port,
                link.members.iter().map(|m| m.b_port.as_str()).collect(),
            )
            .map(|(out, inward)| (inward, out))
        })
    }

    /// The load of a port, whether its interface was read or its host's agent counts.
    fn port_load(&self, node: &str, port: &str) -> Option<InterfaceLoad> {
        let interfaces = self.observed.views.get(node)?.interfaces.iter().flatten();
        let read = interfaces.filter(|i| i.name == port).map(|i| i.index);
        let number = read.chain(self.observed.agents.number(node, port)).next()?;
        self.observed.meter.rate(node, number)
    }

    fn loads_together(&self, switch: &str, ports: Vec<&str>) -> Option<(BitsPerSec, BitsPerSec)> {
        let total = ports
            .into_iter()
            .filter_map(|p| self.port_load(switch, p))
            .reduce(InterfaceLoad::plus)?;
        Some((total.outward, total.inward))
    }

    fn end_load(
        &self,
        switch: &str,
        port: &str,
        members: Vec<&str>,
    ) -> Option<(BitsPerSec, BitsPerSec)> {
        self.loads_together(switch, vec![port])
            .or_else(|| self.loads_together(switch, members))
    }

    /// The hosts with an agent, by its last report. The load is that of the card on the host's
    /// link.
    fn agent_status(&self) -> Vec<AgentStatus> {
        let cards: HashMap<&str, &str> = self
            .judged
            .topology
            .links
            .iter()
            .map(|l| (l.b.as_str(), l.b_port.as_str()))
            .collect();
        self.observed
            .views
            .iter()
            .filter_map(|(name, view)| {
                let report = view.host.as_ref()?;
                let number = cards
                    .get(name.as_str())
                    .and_then(|card| self.observed.agents.number(name, card));
                let rate = number.and_then(|n| self.observed.meter.rate(name, n));
                Some(AgentStatus {
                    host: name.clone(),
                    seen: view.seen,
                    problem: view.stale.as_ref().map(|(_, problem)| problem.clone()),
                    inward: rate.map(|r| r.inward),
                    outward: rate.map(|r| r.outward),
                    ways: report
                        .paths
                        .iter()
                        .map(|p| PathStatus {
                            to: p.to.clone(),
                            hops: p.hops.len() as u32,
                            reached: p.reached,
                            min_us: p.round_trip.map(|r| r.min_us),
                        })
                        .collect(),
                })
            })
            .collect()
    }

    fn switch_status(&self) -> Vec<SwitchStatus> {
        self.inventory
            .switches
            .iter()
            .map(|(name, switch)| {
                let view = self.observed.views.get(name);
                SwitchStatus {
                    name: name.clone(),
                    address: match self.observed.addresses.get(name) {
                        Some(found) => format!("{} ({found})", switch.address),
                        None => switch.address.to_string(),
                    },
                    seen: view.and_then(|v| v.seen),
                    problem: view
                        .and_then(|v| v.stale.as_ref())
                        .map(|(_, problem)| problem.clone()),
                    root_bridge: self.judged.topology.is_root_bridge(name),
                    top_changes: view
                        .and_then(|v| v.pulse.as_ref())
                        .and_then(|p| p.top_changes),
                }
            })
            .collect()
    }

    /// The epoch that was published last, or was found at the start.
    pub fn latest_epoch(&self) -> Option<&EpochInfo> {
        self.public.epochs.last()
    }

    /// The alarms that operators were notified of.
    pub fn announced_alarms(&self) -> &[AlarmLine] {
        &self.public.alarms
    }

    /// The network as last inferred.
    pub fn topology(&self) -> &Topology {
        &self.judged.topology
    }
}

/// The messages of one all-to-all on each link, and the unit of capacity.
struct AlltoallLoads {
    /// By the ends of an edge of the tree: messages, and the rate.
    loads: HashMap<(String, String), (u64, BitsPerSec)>,
    /// The stage of each switch that is in one.
    stages: HashMap<String, String>,
    most: u64,
    unit: BitsPerSec,
}

impl AlltoallLoads {
    fn of(tree: &Tree, topology: &Topology) -> AlltoallLoads {
        let loads = capacities::loads(tree);
        let named = tree.top_down().iter().filter_map(|&v| {
            let (from, to) = tree.ends(2 * v)?;
            let load = (loads[2 * v as usize], tree.rate(v));
            Some((pair(tree.name(from), tree.name(to)), load))
        });
        let stages = topology.stages().into_iter();
        let unit = bound::slowest_host_link(tree).unwrap_or(BitsPerSec::GIGABIT);
        AlltoallLoads {
            most: loads.iter().copied().max().unwrap_or(0),
            loads: named.collect(),
            stages: stages
                .map(|(name, stage)| (name.to_owned(), stage))
                .collect(),
            unit,
        }
    }

    /// The messages over a link, and whether its edge of the tree has the most. Of those over a stage a
    /// link has its part.
    fn load(&self, link: &Link) -> Option<(u64, bool)> {
        let [a, b] = [&link.a, &link.b].map(|end| self.stages.get(end).unwrap_or(end));
        let &(load, rate) = self.loads.get(&pair(a, b))?;
        let own = match link.state {
            LinkState::Blocked => return None,
            LinkState::Multipath => {
                let scaled = u128::from(load) * u128::from(link.rate_bps.0);
                let share = scaled.div_ceil(u128::from(rate.0.max(1)));
                u64::try_from(share).unwrap_or(load)
            }
            LinkState::Forwarding | LinkState::Unknown => load,
        };
        Some((own, load == self.most))
    }
}

/// Adds the phases of networks up on cables that they share.
fn add_up_shared(snapshot: &mut Snapshot) {
    if !snapshot.networks().any(|(topology, _)| {
        topology
            .own_network()
            .is_some_and(|own| !own.vlans.is_empty())
    }) {
        return;
    }
    let mut sums: HashMap<[String; 4], u64> = HashMap::new();
    for (topology, loads) in snapshot.networks() {
        for (link, load) in topology.links.iter().zip(loads) {
            *sums.entry(cable(link)).or_default() += load.phases;
        }
    }
    let further = snapshot
        .further
        .iter_mut()
        .map(|one| (&one.topology, &mut one.loads));
    let main = (&snapshot.topology, &mut snapshot.loads);
    for (topology, loads) in std::iter::once(main).chain(further) {
        for (link, load) in topology.links.iter().zip(loads) {
            // A network loads no cable that it does not send over.
            if load.phases > 0 {
                load.phases = sums[&cable(link)];
            }
        }
    }
}

fn cable(link: &Link) -> [String; 4] {
    [&link.a, &link.a_port, &link.b, &link.b_port].map(String::clone)
}

fn pair(a: &str, b: &str) -> (String, String) {
    if a < b {
        (a.to_owned(), b.to_owned())
    } else {
        (b.to_owned(), a.to_owned())
    }
}
