//! LG: who holds which block, what crosses between clusters, no edge inside a cluster beyond its
//! rate, the certificate.
use super::delivery::{Delivery, DeliveryFault};
use super::room::{EdgeCollision, EdgeLoad, EdgeRoom, loads};
use super::{NamedEdge, NamedMessage, NodeNames, ScheduleViolation};
use crate::bound::PhaseBound;
use crate::capacities::EdgeCapacities;
use crate::lg::LgSchedule;
use crate::message::Message;
use crate::transfers::TransferSchedule;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};

/// The first thing found wrong in an all-to-all by LG. Steps count from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LgViolation {
    /// The clusters are no partition of the hosts, or overlap.
    #[error("clusters: {0}")]
    Clusters(String),
    /// A message that cannot be sent as stated.
    #[error("step {step}, message {message}: {problem}")]
    Message {
        /// Where.
        step: usize,
        /// From and to.
        message: NamedMessage,
        /// What is wrong.
        problem: String,
    },
    /// Messages of a step want more of an edge inside a cluster than it has.
    #[error("edge {edge}, step {step}: {first} and {second} collide")]
    Contention {
        /// The edge.
        edge: NamedEdge,
        /// Where.
        step: usize,
        /// One message.
        first: NamedMessage,
        /// The one that is too much.
        second: NamedMessage,
    },
    /// A host sends two messages, or receives two, between clusters in one step.
    #[error("step {step}: {first} and {second} between clusters at the same host")]
    Busy {
        /// Where.
        step: usize,
        /// One message.
        first: NamedMessage,
        /// The other.
        second: NamedMessage,
    },
    /// A block is not where it belongs at the end.
    #[error("block {block}: still at {at} after the last step")]
    Undelivered {
        /// Whose block for whom.
        block: NamedMessage,
        /// Where it stays.
        at: Box<str>,
    },
    /// More or fewer messages between two clusters than the larger one has hosts.
    #[error("cluster {from} to cluster {to}: {messages} messages instead of {expected}")]
    Messages {
        /// Sending cluster.
        from: Box<str>,
        /// Receiving cluster.
        to: Box<str>,
        /// As scheduled.
        messages: u64,
        /// Hosts of the larger one.
        expected: u64,
    },
    /// The certificate it carries is wrong.
    #[error(
        "bound: says {phases} phases by {load} blocks in {messages} messages, capacity \
         {capacity}, over edge {edge}; {truth}"
    )]
    Bound {
        /// As stated.
        phases: u64,
        /// As stated.
        load: u64,
        /// As stated.
        messages: u64,
        /// As stated.
        capacity: u64,
        /// As stated.
        edge: NamedEdge,
        /// What is right.
        truth: String,
    },
}

/// Checks an all-to-all by LG against the tree of its hosts, in its order of hosts
/// ([`Tree::restrict`]).
///
/// Every host may send a block only if it holds it when the step begins, and then holds it no more.
/// A message within a cluster takes of each edge what one message of that cluster's own schedule
/// does, a message between clusters what one of the whole tree's does ([`EdgeCapacities::of`]).
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
            block: sites.names.of(block),
            at: tree.name(at).into(),
        })
    })?;
    as_few_as_can_be(plan, &crossed)?;
    certificate(&sites, plan)?;
    Ok(())
}

/// The clusters, and what is inside them.
struct ClusterSites<'a> {
    names: NodeNames<'a>,
    schedule: &'a TransferSchedule,
    /// By host.
    cluster: Vec<usize>,
    /// By node: the cluster its edge upwards is inside of.
    inside: Vec<Option<usize>>,
    /// By cluster: what a message of its own exchange takes of an edge, bit/s.
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
        let wrong = |problem: String| Err(LgViolation::Clusters(problem));
        let mut cluster: Vec<Option<usize>> = vec![None; tree.hosts() as usize];
        let mut inside: Vec<Option<usize>> = vec![None; tree.nodes() as usize];
        let mut own_rate = Vec::with_capacity(plan.clusters.len());
        for (number, c) in plan.clusters.iter().enumerate() {
            let Some(&first) = c.hosts.first() else {
                return wrong(format!("{} has no host", c.name));
            };
            for &host in &c.hosts {
                match cluster.get_mut(host as usize) {
                    None => return wrong(format!("{}: host number {host} does not exist", c.name)),
                    Some(Some(_)) => {
                        return wrong(format!(
                            "{}: host {} is in a cluster already",
                            c.name,
                            tree.name(host)
                        ));
                    }
                    Some(free) => *free = Some(number),
                }
                let mut shared = None;
                tree.path(first, host, |edge| match inside[edge as usize / 2] {
                    Some(other) if other != number => shared = Some((edge, other)),
                    _ => inside[edge as usize / 2] = Some(number),
                });
                if let Some((edge, other)) = shared {
                    return wrong(format!(
                        "edge {} is inside {} and inside {}",
                        names.edge(edge),
                        plan.clusters[other].name,
                        c.name
                    ));
                }
            }
            let hosts: Vec<&str> = c.hosts.iter().map(|&h| tree.name(h)).collect();
            let own = tree
                .restrict(&hosts)
                .map_err(|e| LgViolation::Clusters(e.to_string()))?;
            own_rate.push(EdgeCapacities::of(&own).rate().0);
        }
        if let Some(outside) = cluster.iter().position(Option::is_none) {
            return wrong(format!(
                "host {} is in none",
                tree.name(outside as NodeNumber)
            ));
        }
        let cluster = cluster.into_iter().flatten().collect();
        Ok(ClusterSites {
            names,
            schedule,
            cluster,
            inside,
            own_rate,
            capacities: EdgeCapacities::of(tree),
        })
    }

    /// The clusters of a message's ends.
    fn clusters(&self, ends: Message) -> [usize; 2] {
        [ends.src, ends.dst].map(|host| self.cluster[host as usize])
    }

    fn step(&self, transfer: u32) -> usize {
        self.schedule.phase_of()[transfer as usize] as usize
    }

    fn of(&self, transfer: u32) -> NamedMessage {
        self.names.of(self.schedule.ends()[transfer as usize])
    }

    fn wrong(&self, transfer: u32, problem: String) -> LgViolation {
        LgViolation::Message {
            step: self.step(transfer),
            message: self.of(transfer),
            problem,
        }
    }
}

/// Moves the blocks of a transfer, each of which crosses only between its own clusters.
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
                format!("block {} {problem}", sites.names.of(block)),
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

/// Takes what a transfer needs of the edges inside clusters.
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
    let inside =
        |edge: EdgeNumber| sites.inside[edge as usize / 2].map(|_| sites.names.0.rate(edge / 2).0);
    room.take(transfer, rate, inside).map_err(
        |EdgeCollision {
             edge,
             first,
             second,
         }| {
            let (edge, step) = (sites.names.edge(edge), sites.step(transfer));
            LgViolation::Contention {
                edge,
                step,
                first: sites.of(first),
                second: sites.of(second),
            }
        },
    )
}

/// A host sends one message between clusters in a step, and receives one.
struct Busy {
    /// By host, sending, then by host, receiving: the last message between clusters.
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
                    first: sites.of(first),
                    second: sites.of(transfer),
                });
            }
        }
        Ok(())
    }
}

/// `crossed` counts the messages by sending and receiving cluster.
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

/// Counts from the messages themselves what the backbone's edges carry, and compares.
fn certificate(sites: &ClusterSites<'_>, plan: &LgSchedule) -> Result<(), LgViolation> {
    let tree = sites.names.0;
    let carried = loads(tree, sites.schedule);
    let between = |edge: &EdgeNumber| {
        sites.inside[*edge as usize / 2].is_none() && carried[*edge as usize].blocks > 0
    };
    let needs = |edge: EdgeNumber| {
        carried[edge as usize]
            .blocks
            .div_ceil(sites.capacities.width(edge).max(1))
    };
    let most = (0..tree.edges())
        .filter(between)
        .map(needs)
        .max()
        .unwrap_or(0);
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
    let bottleneck = (0..tree.edges())
        .filter(between)
        .find(|&edge| needs(edge) == most && sites.names.edge(edge) == stated);
    let truth = match bottleneck {
        _ if *phases != most => format!("the bottleneck edge between clusters asks for {most}"),
        None if most > 0 => "that is no bottleneck edge between clusters".to_owned(),
        None if (*load, plan.messages) != (0, 0) => "nothing crosses between clusters".to_owned(),
        Some(edge) => {
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
mod tests {
    use super::*;
    use crate::lg::tests::runs;
    use crate::lg::{HostCluster, Transfer, plan};
    use crate::test_trees::{star, topology};

    /// What is said of a plan for 2 + 3 hosts after a change to it.
    fn broken(change: impl FnOnce(&mut LgSchedule)) -> String {
        let tree = star(&[2, 3]);
        let mut plan = plan(&tree, &runs(&tree, &[2, 3]), None);
        assert_eq!(lg(&tree, &plan), Ok(()));
        change(&mut plan);
        lg(&tree, &plan).unwrap_err().to_string()
    }

    /// The step and place of the message that carries a block as its first.
    fn of(plan: &LgSchedule, from: u32, to: u32) -> (usize, usize) {
        let is = |t: &Transfer| (t.from, t.to) == (from, to);
        plan.steps
            .iter()
            .enumerate()
            .find_map(|(s, step)| step.iter().position(is).map(|t| (s, t)))
            .unwrap()
    }

    #[test]
    fn blocks_are_followed_from_host_to_host() {
        // n0 is proxy for n2: it gathers n1's block in step 0 and passes it on in a later one.
        let early = broken(|p| {
            let (s, t) = of(p, 0, 2);
            let message = p.steps[s].remove(t);
            p.steps.insert(0, vec![message]);
        });
        assert_eq!(
            early,
            "step 0, message n0 -> n2: block n1 -> n2 is not at n0 but at n1"
        );
        let same = broken(|p| {
            let (s, t) = of(p, 0, 2);
            let message = p.steps[s].remove(t);
            p.steps[0].push(message);
        });
        assert_eq!(
            same,
            "step 0, message n0 -> n2: block n1 -> n2 reaches n0 in this very step"
        );
        let lost = broken(|p| {
            let (s, t) = of(p, 1, 0);
            p.steps[s][t].blocks.retain(|b| b.dst != 0);
        });
        assert_eq!(lost, "block n1 -> n0: still at n1 after the last step");
        let again = broken(|p| {
            let (s, t) = of(p, 1, 0);
            let block = p.steps[s][t].blocks[0];
            p.steps[s][t].blocks.push(block);
        });
        assert_eq!(
            again,
            "step 0, message n1 -> n0: block n1 -> n0 is not at n1 but at n0"
        );
    }

    #[test]
    fn messages_that_cannot_be_are_named() {
        let with = |change: fn(&mut Transfer)| broken(|p| change(&mut p.steps[0][0]));
        assert!(with(|t| t.blocks.clear()).ends_with("it carries no block"));
        assert!(with(|t| t.to = t.from).ends_with("it does not leave its host"));
        assert!(with(|t| t.to = 5).ends_with("host number 5 does not exist"));
        assert!(with(|t| t.blocks[0].src = 9).ends_with("host number 9 does not exist"));
        assert!(
            with(|t| t.blocks.push(Message {
                src: t.from,
                dst: t.from
            }))
            .ends_with("never leaves its host")
        );
        let astray = broken(|p| {
            p.steps.push(vec![Transfer {
                from: 0,
                to: 4,
                blocks: vec![Message { src: 1, dst: 0 }],
            }])
        });
        assert!(
            astray.ends_with(
                "message n0 -> n4: block n1 -> n0 crosses between clusters that are not its own"
            ),
            "{astray}"
        );
    }

    #[test]
    fn every_block_crosses_in_as_few_messages_as_can_be_one_at_a_time() {
        let split = broken(|p| {
            let (s, t) = of(p, 0, 2);
            let block = p.steps[s][t].blocks.pop().unwrap();
            p.steps.push(vec![Transfer {
                from: 0,
                to: 2,
                blocks: vec![block],
            }]);
        });
        assert_eq!(split, "cluster c0 to cluster c1: 4 messages instead of 3");
        let busy = broken(|p| {
            let (s, t) = of(p, 0, 4);
            let message = p.steps[s].remove(t);
            let (s, _) = of(p, 0, 2);
            p.steps[s].push(message);
        });
        assert_eq!(
            busy,
            "step 2: n0 -> n2 and n0 -> n4 between clusters at the same host"
        );
    }

    #[test]
    fn edges_inside_a_cluster_carry_what_they_can() {
        let collision = broken(|p| {
            let moved = p.steps[1].remove(0);
            p.steps[0].push(moved);
        });
        assert_eq!(
            collision,
            "edge s1 -> n4, step 0: n3 -> n4 and n2 -> n4 collide"
        );
        // The link from a to b is inside c0; both hosts of a send over it to c1 in one step.
        let text = |rate| {
            format!(
                "switches: [a, b, c]\nhosts: {{n0: {{switch: a}}, n1: {{switch: a}}, n2: {{switch: b}}, n3: {{switch: c}}, n4: {{switch: c}}, n5: {{switch: c}}}}\nlinks: [{{a: a, b: b, rate: {rate}}}, {{a: b, b: c}}]"
            )
        };
        let [narrow, wide] = ["1G", "2G"].map(|rate| topology(&text(rate)));
        let planned = plan(&wide, &runs(&wide, &[3, 3]), None);
        assert_eq!(lg(&wide, &planned), Ok(()));
        let clash = lg(&narrow, &planned).unwrap_err().to_string();
        assert!(
            ["edge a -> b, ", "edge b -> a, "]
                .iter()
                .any(|edge| clash.starts_with(edge)),
            "{clash}"
        );
    }

    #[test]
    fn clusters_and_certificate_are_not_believed() {
        let clusters = |change: fn(&mut Vec<HostCluster>)| broken(|p| change(&mut p.clusters));
        assert_eq!(
            clusters(|c| c[1].hosts.truncate(2)),
            "clusters: host n4 is in none"
        );
        assert_eq!(
            clusters(|c| c[1].hosts.push(0)),
            "clusters: c1: host n0 is in a cluster already"
        );
        assert_eq!(
            clusters(|c| c[1].hosts.push(7)),
            "clusters: c1: host number 7 does not exist"
        );
        assert_eq!(clusters(|c| c[0].hosts.clear()), "clusters: c0 has no host");
        assert_eq!(
            clusters(|c| (c[0].hosts, c[1].hosts) = (vec![0, 2], vec![1, 3, 4])),
            "clusters: edge s0 -> s1 is inside c0 and inside c1"
        );
        assert!(
            broken(|p| p.bound.phases += 1)
                .contains("the bottleneck edge between clusters asks for 6")
        );
        assert!(
            broken(|p| p.bound.edge.0 = "n0".into())
                .contains("no bottleneck edge between clusters")
        );
        assert!(
            broken(|p| p.messages += 1).ends_with("it carries 6 blocks in 3 messages, capacity 1")
        );
        assert!(
            broken(|p| p.bound.capacity += 1)
                .ends_with("it carries 6 blocks in 3 messages, capacity 1")
        );
        assert!(broken(|p| p.hosts.swap(0, 1)).starts_with("hosts: "));
        let tree = star(&[4]);
        let mut alone = plan(&tree, &runs(&tree, &[4]), None);
        alone.messages = 1;
        assert!(
            lg(&tree, &alone)
                .unwrap_err()
                .to_string()
                .ends_with("nothing crosses between clusters")
        );
    }
}
