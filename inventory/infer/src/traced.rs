//! Ways that routers do not use although links are there: agents trace flows that differ in their port only,
//! and none of them takes the link.
//!
//! Source: own. Input: links on loops of routers, agents' traces. Guarantee: a link is left out only if its
//! router is known to choose by ports, every flow was answered, each answer is that of a link to a router that
//! is nearer to the other host, and there were so many flows that chance leaves a way out once in a million
//! times. Where no leaf sends over a router to another leaf, the link between these two is left out. Cost: a
//! pass over the links for each leaf to which flows were traced.
use crate::draft::DraftNetwork;
use crate::facts::NodeIx;
use inventory::alarm::AlarmKind;
use inventory::evidence::Evidence;
use inventory::host_report::{TracedFlows, telling_flows};
use inventory::stages::choices::RouterGraph;
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// A link from a leaf to a router that is nearer to another leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Uplink {
    towards: NodeIx,
    over: NodeIx,
    leaf: NodeIx,
    link: usize,
}

impl Uplink {
    /// The first of all uplinks to the same router towards the same leaf, in their order.
    fn first_beside(&self) -> Uplink {
        Uplink {
            leaf: NodeIx(0),
            link: 0,
            ..*self
        }
    }
}

/// The traced flows that had the choice of an uplink.
#[derive(Debug, Clone, Copy, Default)]
struct UplinkFlows {
    is_taken: bool,
    /// The flows that leave it out, if these are enough.
    others: u32,
}

/// The flows that leave a link out, from leaf to leaf.
pub(crate) struct FlowsElsewhere {
    flows: u32,
    from: String,
    to: String,
}

impl FlowsElsewhere {
    pub(crate) fn alarm(&self) -> AlarmKind {
        AlarmKind::RouteWithdrawn {
            flows: self.flows,
            from: self.from.clone(),
            to: self.to.clone(),
        }
    }

    pub(crate) fn evidence(self) -> Evidence {
        Evidence::Untraversed {
            flows: self.flows,
            from: self.from,
            to: self.to,
        }
    }
}

/// The links over which no flow goes, with the flows. `looped` are the links that are on loops.
pub(crate) fn untraversed(
    draft: &DraftNetwork<'_>,
    looped: &[usize],
) -> BTreeMap<usize, FlowsElsewhere> {
    // Routing tables do not decide: Linux' snmpd shows one next hop of several.
    let fabric = RoutedFabric::new(draft, looped);
    let uplinks = fabric.uplinks();
    let mut found = BTreeMap::new();
    for (uplink, flows) in &uplinks {
        if flows.is_taken || flows.others == 0 {
            continue;
        }
        let beside = uplinks
            .range(uplink.first_beside()..)
            .take_while(|(other, _)| (other.towards, other.over) == (uplink.towards, uplink.over));
        let leaves: BTreeSet<NodeIx> = beside.clone().map(|(other, _)| other.leaf).collect();
        let is_for_all = leaves.len() > 1
            && beside
                .clone()
                .all(|(_, flows)| !flows.is_taken && flows.others > 0);
        let distances = is_for_all.then(|| fabric.graph.distances(uplink.towards));
        let down = distances.map(|towards| fabric.graph.choice(uplink.over, &towards));
        let link = match down.as_deref() {
            Some([(down, _)]) => *down,
            _ => uplink.link,
        };
        found.entry(link).or_insert_with(|| FlowsElsewhere {
            flows: flows.others,
            from: draft.name(uplink.leaf).to_owned(),
            to: draft.name(uplink.towards).to_owned(),
        });
    }
    found
}

/// Links on loops of routers.
struct RoutedFabric<'a> {
    draft: &'a DraftNetwork<'a>,
    graph: RouterGraph<NodeIx>,
    /// The switch of each host that has just one.
    attachments: HashMap<NodeIx, Option<NodeIx>>,
}

impl<'a> RoutedFabric<'a> {
    fn new(draft: &'a DraftNetwork<'_>, looped: &[usize]) -> RoutedFabric<'a> {
        let links = looped.iter().map(|at| (*at, &draft.links[*at].ends));
        let links = links.map(|(at, ends)| (at, ends.each_ref().map(|end| end.node)));
        let mut attachments = HashMap::new();
        for link in draft.links.iter().filter(|link| link.is_sure()) {
            let [a, b] = link.ends.each_ref().map(|end| end.node);
            for (switch, host) in [(a, b), (b, a)] {
                if draft.kind(host) == NodeKind::Host {
                    let attachment = attachments.entry(host).or_insert(Some(switch));
                    attachment.take_if(|known| *known != switch);
                }
            }
        }
        RoutedFabric {
            draft,
            graph: RouterGraph::new(links),
            attachments,
        }
    }

    fn attachment(&self, host: NodeIx) -> Option<NodeIx> {
        self.attachments.get(&host).copied().flatten()
    }

    /// The traces of hosts whose agents report, with both leaves.
    fn traces(&self) -> Vec<([NodeIx; 2], &'a TracedFlows)> {
        let facts = self.draft.facts;
        let fresh = facts.host_statements.iter().filter(|(_, own)| !own.old);
        fresh
            .filter_map(|(host, own)| Some((self.attachment(*host)?, own.report)))
            .flat_map(|(leaf, report)| report.traces.iter().map(move |trace| (leaf, trace)))
            .filter_map(|(leaf, trace)| {
                let towards = self.attachment(facts.node_named(&trace.to)?)?;
                (leaf != towards).then_some(([leaf, towards], trace))
            })
            .collect()
    }

    /// The uplinks of the leaves from which flows were traced.
    fn uplinks(&self) -> BTreeMap<Uplink, UplinkFlows> {
        let traces = self.traces();
        let parting: BTreeSet<NodeIx> = traces
            .iter()
            .filter(|(_, trace)| trace.parted)
            .map(|([leaf, _], _)| *leaf)
            .collect();
        let mut found: BTreeMap<Uplink, UplinkFlows> = BTreeMap::new();
        let mut distances = HashMap::new();
        for ([leaf, towards], trace) in traces {
            let towards_leaf = distances
                .entry(towards)
                .or_insert_with(|| self.graph.distances(towards));
            let choice = self.graph.choice(leaf, towards_leaf);
            let taken: Option<BTreeSet<usize>> = (trace.routers.keys())
                .map(|router| self.link_to(*router, &choice))
                .collect();
            let Some(taken) = taken.filter(|_| trace.unanswered == 0) else {
                continue;
            };
            let flows = trace.routers.values().copied().map(u32::from).sum();
            let is_enough = flows >= u32::from(telling_flows(choice.len()));
            for (link, over) in choice {
                let uplink = Uplink {
                    towards,
                    over,
                    leaf,
                    link,
                };
                let known = found.entry(uplink).or_default();
                known.is_taken |= taken.contains(&link);
                if is_enough && parting.contains(&leaf) {
                    known.others = known.others.max(flows);
                }
            }
        }
        found
    }

    /// The link of a choice by which a flow reached the router that answers with this address: that to the port
    /// that has it, or the only one to the router.
    fn link_to(&self, address: IpAddr, choice: &[(usize, NodeIx)]) -> Option<usize> {
        let by_port = choice.iter().find(|(link, router)| {
            let ends = &self.draft.links[*link].ends;
            let end = ends.iter().find(|end| end.node == *router);
            let port = end.and_then(|end| end.device_port(self.draft.facts));
            port.is_some_and(|(device, port)| {
                let port = &self.draft.facts[device].ports[port];
                port.addresses.contains(&address)
            })
        });
        let mut by_router = choice.iter().filter(|(_, router)| {
            let device = self.draft.facts.device_of(*router);
            device.is_some_and(|device| {
                let mut ports = self.draft.facts[device].ports.iter();
                ports.any(|(_, port)| port.addresses.contains(&address))
            })
        });
        let by_router = by_router.next().filter(|_| by_router.next().is_none());
        by_port.or(by_router).map(|(link, _)| *link)
    }
}
