//! LG: the host that holds each block, the messages between clusters, the load of edges inside
//! clusters against their rate, and the certificate.
use super::delivery::{Delivery, DeliveryFault};
use super::room::{EdgeCollision, EdgeLoad, EdgeRoom, loads};
use super::{NamedEdge, NamedMessage, NodeNames, ScheduleViolation};
use crate::bound::PhaseBound;
use crate::capacities::EdgeCapacities;
use crate::lg::{HostCluster, LgSchedule};
use crate::message::Message;
use crate::transfers::TransferSchedule;
use inventory::tree::{NodeNumber, Tree};

/// The first fault of an all-to-all by LG. Steps count from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LgViolation {
    /// The clusters overlap, or miss a host.
    #[error("clusters: {0}")]
    Clusters(String),
    /// A message that cannot be sent as stated.
    #[error("step {step}, message {message}: {problem}")]
    Message {
        step: usize,
        message: NamedMessage,
        /// The reason.
        problem: String,
    },
    /// Messages of a step need more of an edge inside a cluster than it has.
    #[error("edge {edge}, step {step}: {first} and {second} collide")]
    Contention {
        edge: NamedEdge,
        step: usize,
        first: NamedMessage,
        /// The message that exceeds the edge's rate.
        second: NamedMessage,
    },
    /// A host sends two messages, or receives two, between clusters in one step.
    #[error("step {step}: {first} and {second} between clusters at the same host")]
    Busy {
        step: usize,
        first: NamedMessage,
        /// The other message.
        second: NamedMessage,
    },
    /// A block is not where it belongs at the end.
    #[error("block {block}: still at {at} after the last step")]
    Undelivered {
        /// The sender and the receiver of the block.
        block: NamedMessage,
        /// The host that has it.
        at: Box<str>,
    },
    /// More or fewer messages between two clusters than the larger one has hosts.
    #[error("cluster {from} to cluster {to}: {messages} messages instead of {expected}")]
    Messages {
        /// Sending cluster.
        from: Box<str>,
        /// Receiving cluster.
        to: Box<str>,
        /// The number of messages in the schedule.
        messages: u64,
        /// The number of hosts of the larger cluster.
        expected: u64,
    },
    /// The schedule's certificate is wrong.
    #[error(
        "bound: says {phases} phases by {load} blocks in {messages} messages, capacity \
         {capacity}, over edge {edge}; {truth}"
    )]
    Bound {
        /// The stated number of phases.
        phases: u64,
        /// The stated load.
        load: u64,
        /// The stated number of messages.
        messages: u64,
        /// The stated capacity.
        capacity: u64,
        /// The stated edge.
        edge: NamedEdge,
        /// The correct value.
        truth: String,
    },
}

/// Checks an all-to-all by LG against the tree of its hosts ([`Tree::restrict`]). The plan has the
/// hosts in the order of the tree.
///
/// A host may send a block only if it holds the block when the step begins, and no longer holds it
/// afterwards. A message within a cluster takes the same share of each edge as a message of that
/// cluster's own schedule. A message between clusters takes the same share as a message of the
/// whole tree's schedule ([`EdgeCapacities::from_tree`]).
///
/// # Errors
/// The first [`ScheduleViolation`]: [`ScheduleViolation::Hosts`] or [`ScheduleViolation::Lg`].
pub fn lg(tree: &Tree, plan: &LgSchedule) -> Result<(), ScheduleViolation> {
    let names = NodeNames(tree);
    names.same_hosts(&plan.hosts)?;
    let schedule = TransferSchedule::from(plan);
    let sites = ClusterSites::new(names, plan, &schedule)?;
    let mut delivery = Delivery::new(&schedule);
    let mut room = EdgeRoom::new(tree, &schedule);
    let mut busy = Busy {
        last: vec![None; 2 * tree.hosts() as usize],
    };
    let mut crossed = vec![0u64; plan.clusters.len() * plan.clusters.len()];
    for transfer in 0..schedule.ends().len() as u32 {
        carry(&sites, &mut delivery, transfer)?;
        busy.take(&sites, transfer)?;
        keep_apart(&sites, &mut room, transfer)?;
        let [from, to] = sites.clusters(schedule.ends()[transfer as usize]);
        crossed[from * plan.clusters.len() + to] += u64::from(from != to);
    }
    delivery.undelivered().map_or(Ok(()), |(block, at)| {
        Err(LgViolation::Undelivered {
            block: sites.names.named(block),
            at: tree.name(at).into(),
        })
    })?;
    as_few_as_can_be(plan, &crossed)?;
    certificate(&sites, plan)?;
    Ok(())
}

/// The clusters, and the edges inside them.
struct ClusterSites<'a> {
    names: NodeNames<'a>,
    schedule: &'a TransferSchedule,
    /// By host: its cluster.
    cluster: Vec<usize>,
    /// By node: the cluster that contains the edge upwards.
    inside: Vec<Option<usize>>,
    /// By cluster: the rate of a message of its own exchange, bit/s.
    own_rate: Vec<u64>,
    capacities: EdgeCapacities,
}

impl<'a> ClusterSites<'a> {
    fn new(
        names: NodeNames<'a>,
        plan: &LgSchedule,
        schedule: &'a TransferSchedule,
    ) -> Result<Self, LgViolation> {
        let tree = names.0;
        let mut cluster: Vec<Option<usize>> = vec![None; tree.hosts() as usize];
        let mut inside: Vec<Option<usize>> = vec![None; tree.nodes() as usize];
        let mut own_rate = Vec::with_capacity(plan.clusters.len());
        for (number, c) in plan.clusters.iter().enumerate() {
            let Some(&first) = c.hosts.first() else {
                return Err(LgViolation::Clusters(format!("{} has no host", c.name)));
            };
            // In a tree the paths from one host to all others cover each edge between any two of them.
            for &host in &c.hosts {
                take_host(tree, c, number, host, &mut cluster)?;
                take_edges(&names, plan, number, [first, host], &mut inside)?;
            }
            let hosts: Vec<&str> = c.hosts.iter().map(|&h| tree.name(h)).collect();
            let own = tree
                .restrict(&hosts)
                .map_err(|e| LgViolation::Clusters(e.to_string()))?;
            own_rate.push(EdgeCapacities::from_tree(&own).rate().0);
        }
        if let Some(outside) = cluster.iter().position(Option::is_none) {
            let host = tree.name(outside as NodeNumber);
            return Err(LgViolation::Clusters(format!("host {host} is in none")));
        }
        let cluster = cluster.into_iter().flatten().collect();
        Ok(ClusterSites {
            names,
            schedule,
            cluster,
            inside,
            own_rate,
            capacities: EdgeCapacities::from_tree(tree),
        })
    }

    /// The clusters of a message's ends.
    fn clusters(&self, ends: Message) -> [usize; 2] {
        [ends.src, ends.dst].map(|host| self.cluster[host as usize])
    }

    fn step(&self, transfer: u32) -> usize {
        self.schedule.phase(transfer) as usize
    }

    fn named(&self, transfer: u32) -> NamedMessage {
        self.names.named(self.schedule.ends()[transfer as usize])
    }

    fn wrong(&self, transfer: u32, problem: String) -> LgViolation {
        LgViolation::Message {
            step: self.step(transfer),
            message: self.named(transfer),
            problem,
        }
    }
}

/// Puts a host into the cluster of that number. It must not be in a cluster yet.
fn take_host(
    tree: &Tree,
    c: &HostCluster,
    number: usize,
    host: NodeNumber,
    cluster: &mut [Option<usize>],
) -> Result<(), LgViolation> {
    let problem = match cluster.get_mut(host as usize) {
        None => format!("{}: host number {host} does not exist", c.name),
        Some(Some(_)) => {
            let host = tree.name(host);
            format!("{}: host {host} is in a cluster already", c.name)
        }
        Some(free) => {
            *free = Some(number);
            return Ok(());
        }
    };
    Err(LgViolation::Clusters(problem))
}

/// Puts the edges between two hosts inside the cluster of that number. They must not be inside
/// another one.
fn take_edges(
    names: &NodeNames<'_>,
    plan: &LgSchedule,
    number: usize,
    [first, host]: [NodeNumber; 2],
    inside: &mut [Option<usize>],
) -> Result<(), LgViolation> {
    let mut shared = None;
    names
        .0
        .path(first, host, |edge| match inside[edge as usize / 2] {
            Some(other) if other != number => shared = Some((edge, other)),
            _ => inside[edge as usize / 2] = Some(number),
        });
    let Some((edge, other)) = shared else {
        return Ok(());
    };
    Err(LgViolation::Clusters(format!(
        "edge {} is inside {} and inside {}",
        names.edge(edge),
        plan.clusters[other].name,
        plan.clusters[number].name
    )))
}

/// Moves the blocks of a transfer. Each of them may cross only between the clusters of its own
/// ends.
fn carry(
    sites: &ClusterSites<'_>,
    delivery: &mut Delivery<'_>,
    transfer: u32,
) -> Result<(), LgViolation> {
    let (tree, ends) = (sites.names.0, sites.schedule.ends()[transfer as usize]);
    let say = |fault: DeliveryFault| match fault {
        DeliveryFault::UnknownHost(number) => format!("host number {number} does not exist"),
        DeliveryFault::CarriesNothing => "it carries no block".to_owned(),
        DeliveryFault::ToItself => "it does not leave its host".to_owned(),
        DeliveryFault::StaysAtHome => "never leaves its host".to_owned(),
        DeliveryFault::Elsewhere { at, .. } => {
            format!("is not at {} but at {}", tree.name(ends.src), tree.name(at))
        }
        DeliveryFault::SamePhase => format!("reaches {} in this very step", tree.name(ends.src)),
    };
    delivery
        .can_be_sent(transfer)
        .map_err(|fault| sites.wrong(transfer, say(fault)))?;
    let way = sites.clusters(ends);
    for &block in sites.schedule.blocks(transfer) {
        let wrong = |problem: String| {
            sites.wrong(
                transfer,
                format!("block {} {problem}", sites.names.named(block)),
            )
        };
        delivery
            .carry(transfer, block)
            .map_err(|fault| wrong(say(fault)))?;
        if way[0] != way[1] && sites.clusters(block) != way {
            return Err(wrong(
                "crosses between clusters that are not its own".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Takes the rate of a transfer from the edges inside clusters.
fn keep_apart(
    sites: &ClusterSites<'_>,
    room: &mut EdgeRoom<'_>,
    transfer: u32,
) -> Result<(), LgViolation> {
    let [from, to] = sites.clusters(sites.schedule.ends()[transfer as usize]);
    let rate = if from == to {
        sites.own_rate[from]
    } else {
        sites.capacities.rate().0
    };
    room.take(transfer, rate, |edge| {
        sites.inside[edge as usize / 2].map(|_| sites.names.0.rate(edge / 2).0)
    })
    .map_err(
        |EdgeCollision {
             edge,
             first,
             second,
         }| {
            let (edge, step) = (sites.names.edge(edge), sites.step(transfer));
            LgViolation::Contention {
                edge,
                step,
                first: sites.named(first),
                second: sites.named(second),
            }
        },
    )
}

/// The check that a host sends at most one message between clusters in a step, and receives at most
/// one.
struct Busy {
    /// The last message between clusters of each host: first as a sender, then as a receiver.
    last: Vec<Option<u32>>,
}

impl Busy {
    fn take(&mut self, sites: &ClusterSites<'_>, transfer: u32) -> Result<(), LgViolation> {
        let ends = sites.schedule.ends()[transfer as usize];
        let [from, to] = sites.clusters(ends);
        for end in [ends.src, sites.schedule.hosts() + ends.dst]
            .into_iter()
            .filter(|_| from != to)
        {
            let first = self.last[end as usize]
                .replace(transfer)
                .filter(|&first| sites.step(first) == sites.step(transfer));
            if let Some(first) = first {
                return Err(LgViolation::Busy {
                    step: sites.step(transfer),
                    first: sites.named(first),
                    second: sites.named(transfer),
                });
            }
        }
        Ok(())
    }
}

/// Checks the number of messages between clusters. `crossed` has it by sending and receiving
/// cluster.
fn as_few_as_can_be(plan: &LgSchedule, crossed: &[u64]) -> Result<(), LgViolation> {
    let pairs = plan
        .clusters
        .iter()
        .flat_map(|from| plan.clusters.iter().map(move |to| (from, to)));
    for ((from, to), &messages) in pairs.zip(crossed) {
        let expected = if std::ptr::eq(from, to) {
            0
        } else {
            from.hosts.len().max(to.hosts.len()) as u64
        };
        if messages != expected {
            return Err(LgViolation::Messages {
                from: from.name.as_str().into(),
                to: to.name.as_str().into(),
                messages,
                expected,
            });
        }
    }
    Ok(())
}

/// Counts the load of the backbone's edges from the messages themselves, and compares it with the
/// certificate.
fn certificate(sites: &ClusterSites<'_>, plan: &LgSchedule) -> Result<(), LgViolation> {
    let tree = sites.names.0;
    let carried = loads(tree, sites.schedule);
    let between = (0..tree.edges()).filter(|&edge| {
        sites.inside[edge as usize / 2].is_none() && carried[edge as usize].blocks > 0
    });
    let needs = between.map(|edge| {
        let width = sites.capacities.width(edge).max(1);
        (edge, carried[edge as usize].blocks.div_ceil(width))
    });
    let most = needs.clone().map(|(_, phases)| phases).max().unwrap_or(0);
    let PhaseBound {
        phases,
        edge: (from, to),
        load,
        capacity,
    } = &plan.bound;
    let stated = NamedEdge {
        from: from.as_str().into(),
        to: to.as_str().into(),
    };
    let mut bottlenecks = needs.filter(|(_, phases)| *phases == most);
    let bottleneck = bottlenecks.find(|(edge, _)| sites.names.edge(*edge) == stated);
    let truth = match bottleneck {
        _ if *phases != most => format!("the bottleneck edge between clusters asks for {most}"),
        None if most > 0 => "that is not a bottleneck edge between clusters".to_owned(),
        None if (*load, plan.messages) != (0, 0) => "nothing crosses between clusters".to_owned(),
        Some((edge, _)) => {
            let (EdgeLoad { blocks, transfers }, capacity) =
                (carried[edge as usize], sites.capacities.width(edge));
            if (*load, plan.messages, plan.bound.capacity) == (blocks, transfers, capacity) {
                return Ok(());
            }
            format!("it carries {blocks} blocks in {transfers} messages, capacity {capacity}")
        }
        None => return Ok(()),
    };
    let (phases, load, messages, capacity) = (*phases, *load, plan.messages, *capacity);
    Err(LgViolation::Bound {
        phases,
        load,
        messages,
        capacity,
        edge: stated,
        truth,
    })
}

#[cfg(test)]
mod tests;
