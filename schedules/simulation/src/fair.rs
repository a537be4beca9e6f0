//! Max-min fair rates: no flow can be faster without making a flow slower that is no faster than
//! itself.
//!
//! Progressive filling: all flows grow alike until an edge is full. Its flows then keep their rate,
//! and the others grow on. An edge's fair share only rises as flows elsewhere are settled, so a
//! heap with late corrections finds the next edge to fill.
use super::StepNumber;
use inventory::BitsPerSec;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use schedules::bound::WIRE_PER_PAYLOAD;
use schedules::capacities::EdgeCapacities;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A message on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveFlow {
    pub(super) step: StepNumber,
    pub(super) src: NodeNumber,
    /// The place of its edges in [`FlowNetwork`], and the rate of the slowest of them.
    path: u32,
    slowest: f64,
    /// Octets of payload that are left to send.
    pub(super) left: f64,
    /// Octets of payload per second.
    pub(super) rate: f64,
}

/// The tree's directed edges and the paths of the flows on them.
pub(super) struct FlowNetwork {
    /// Octets of payload per second, by edge.
    capacity: Vec<f64>,
    /// Sending rate of each host.
    sends: Vec<f64>,
    /// Number of flows on the wire, by host.
    sending: Vec<u32>,
    /// The rate of one message where links are as wide as [`EdgeCapacities::from_tree`] says.
    orderly: f64,
    penalty: f64,
    /// Edges of every flow, `longest` slots each, filled up with [`NO_EDGE`].
    paths: Vec<EdgeNumber>,
    longest: usize,
    free: Vec<u32>,
    filling: ProgressiveFilling,
}

const NO_EDGE: EdgeNumber = EdgeNumber::MAX;
const UNSETTLED: f64 = -1.0;

/// State of an edge during progressive filling.
#[derive(Clone, Copy, Default)]
struct EdgeUse {
    /// Number of flows whose rate is not settled.
    flows: u32,
    /// First place in the list of its flows, and their number.
    first: u32,
    members: u32,
    /// Sender of its first flow, and whether another host sends over it, too.
    sender: NodeNumber,
    contended: bool,
    /// Sum of the rates at which its flows could arrive.
    offered: f64,
    /// Capacity that settled flows leave.
    spare: f64,
}

impl EdgeUse {
    fn share(&self) -> u64 {
        // Numbers that are not negative sort as their bits do (IEEE 754), and bits have a total order.
        (self.spare.max(0.0) / f64::from(self.flows)).to_bits()
    }
}

#[derive(Default)]
struct ProgressiveFilling {
    edges: Vec<EdgeUse>,
    used: Vec<EdgeNumber>,
    members: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, EdgeNumber)>>,
}

impl FlowNetwork {
    pub(super) fn new(tree: &Tree, penalty: f64) -> Self {
        let payload = |rate: BitsPerSec| rate.0.max(1) as f64 / 8.0 / WIRE_PER_PAYLOAD;
        let capacity: Vec<f64> = (0..tree.edges())
            .map(|e| payload(tree.rate(e / 2)))
            .collect();
        let mut sends = vec![0f64; tree.nodes() as usize];
        for edge in 0..tree.edges() {
            if let Some((from, _)) = tree.ends(edge) {
                sends[from as usize] = sends[from as usize].max(capacity[edge as usize]);
            }
        }
        let deepest = tree
            .top_down()
            .iter()
            .map(|&v| tree.depth(v))
            .max()
            .unwrap_or(0) as usize;
        let filling = ProgressiveFilling {
            edges: vec![EdgeUse::default(); tree.edges() as usize],
            ..ProgressiveFilling::default()
        };
        FlowNetwork {
            capacity,
            sends,
            sending: vec![0; tree.nodes() as usize],
            orderly: payload(EdgeCapacities::from_tree(tree).rate()),
            penalty,
            paths: Vec::new(),
            longest: 2 * deepest,
            free: Vec::new(),
            filling,
        }
    }

    /// Puts a flow on the wire. Its path is kept until it leaves.
    pub(super) fn enter(
        &mut self,
        tree: &Tree,
        step: StepNumber,
        (src, dst): (NodeNumber, NodeNumber),
        octets: f64,
    ) -> ActiveFlow {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.paths.resize(self.paths.len() + self.longest, NO_EDGE);
            (self.paths.len() / self.longest) as u32 - 1
        });
        let own = &mut self.paths[slot as usize * self.longest..][..self.longest];
        own.fill(NO_EDGE);
        let (mut next, mut slowest) = (0, f64::INFINITY);
        tree.path(src, dst, |edge| {
            own[next] = edge;
            next += 1;
            slowest = slowest.min(self.capacity[edge as usize]);
        });
        self.sending[src as usize] += 1;
        ActiveFlow {
            step,
            src,
            path: slot,
            slowest,
            left: octets,
            rate: 0.0,
        }
    }

    pub(super) fn leave(&mut self, flow: &ActiveFlow) {
        self.sending[flow.src as usize] -= 1;
        self.free.push(flow.path);
    }

    /// The rate at which a flow could arrive if only its host and its path limit it. A host divides
    /// its rate among its flows. Yet if it has more flows than messages fit side by side, each of
    /// them may arrive at a message's rate at any moment.
    fn offer(&self, flow: &ActiveFlow) -> f64 {
        let share = self.sends[flow.src as usize] / f64::from(self.sending[flow.src as usize]);
        share.max(self.orderly).min(flow.slowest)
    }

    fn path(paths: &[EdgeNumber], longest: usize, slot: u32) -> impl Iterator<Item = usize> + '_ {
        paths[slot as usize * longest..][..longest]
            .iter()
            .take_while(|&&e| e != NO_EDGE)
            .map(|&e| e as usize)
    }

    /// Sets the rates of all flows.
    pub(super) fn share(&mut self, flows: &mut [ActiveFlow]) {
        self.enlist(flows);
        let (paths, longest) = (&self.paths, self.longest);
        let ProgressiveFilling {
            edges,
            used,
            members,
            heap,
        } = &mut self.filling;
        heap.extend(
            used.drain(..)
                .map(|e| Reverse((edges[e as usize].share(), e))),
        );
        while let Some(Reverse((share, edge))) = heap.pop() {
            let full = edges[edge as usize];
            // Edges that were full before have settled all its flows.
            if full.flows == 0 {
                continue;
            }
            // Flows that were settled elsewhere took less than their part here, so that the others have more now. A
            // share only grows, so the entry goes back instead of being looked for at each change.
            if full.share() > share {
                heap.push(Reverse((full.share(), edge)));
                continue;
            }
            let rate = f64::from_bits(share);
            for &i in &members[full.first as usize..][..full.members as usize] {
                let flow = &mut flows[i as usize];
                if flow.rate == UNSETTLED {
                    flow.rate = rate;
                    for e in FlowNetwork::path(paths, longest, flow.path) {
                        edges[e].flows -= 1;
                        edges[e].spare -= rate;
                    }
                }
            }
        }
    }

    /// Lists the flows of every edge and the capacity that the edge shares out.
    fn enlist(&mut self, flows: &mut [ActiveFlow]) {
        let mut filling = std::mem::take(&mut self.filling);
        let (paths, longest) = (&self.paths, self.longest);
        let ProgressiveFilling {
            edges,
            used,
            members,
            ..
        } = &mut filling;
        for flow in flows.iter_mut() {
            flow.rate = UNSETTLED;
            let offer = self.offer(flow);
            for e in FlowNetwork::path(paths, longest, flow.path) {
                let edge = &mut edges[e];
                if edge.flows == 0 {
                    used.push(e as EdgeNumber);
                    *edge = EdgeUse {
                        sender: flow.src,
                        ..EdgeUse::default()
                    };
                }
                edge.flows += 1;
                edge.contended |= edge.sender != flow.src;
                edge.offered += offer;
            }
        }
        let mut listed = 0;
        for &e in used.iter() {
            let (edge, capacity) = (&mut edges[e as usize], self.capacity[e as usize]);
            edge.first = listed;
            listed += edge.flows;
            // Frames of one sender arrive one after the other, at its rate. Only flows of several can overflow a queue,
            // which costs the rate of what is sent again.
            let oversubscribed =
                edge.contended && edge.offered > capacity * (1.0 + super::ROUNDING);
            edge.spare = if oversubscribed {
                capacity * (1.0 - self.penalty)
            } else {
                capacity
            };
        }
        members.resize(listed as usize, 0);
        for (i, flow) in flows.iter().enumerate() {
            for e in FlowNetwork::path(paths, longest, flow.path) {
                let edge = &mut edges[e];
                members[(edge.first + edge.members) as usize] = i as u32;
                edge.members += 1;
            }
        }
        self.filling = filling;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samples::trees::any_tree;

    proptest! {
        /// The definition of max-min fairness: every flow has an edge that is full and on which no
        /// flow is faster.
        #[test]
        fn every_flow_has_a_bottleneck(
            tree in any_tree(2..=24),
            pairs in prop::collection::vec((0u32..24, 0u32..24), 1..60),
        ) {
            let n = tree.hosts();
            let mut network = FlowNetwork::new(&tree, 0.0);
            let pairs: Vec<(u32, u32)> = pairs
                .into_iter()
                .map(|(a, b)| (a % n, b % n))
                .filter(|(a, b)| a != b)
                .collect();
            let mut flows: Vec<ActiveFlow> = Vec::new();
            for (i, &(src, dst)) in pairs.iter().enumerate() {
                flows.push(network.enter(&tree, i as u32, (src, dst), 1.0));
            }
            network.share(&mut flows);
            let (mut carried, mut fastest) = (
                vec![0f64; tree.edges() as usize],
                vec![0f64; tree.edges() as usize],
            );
            for (flow, &(a, b)) in flows.iter().zip(&pairs) {
                tree.path(a, b, |e| {
                    carried[e as usize] += flow.rate;
                    fastest[e as usize] = fastest[e as usize].max(flow.rate);
                });
            }
            for (e, &sum) in carried.iter().enumerate() {
                prop_assert!(sum <= network.capacity[e] * (1.0 + 1e-9));
            }
            for (flow, &(a, b)) in flows.iter().zip(&pairs) {
                let mut held = false;
                tree.path(a, b, |e| {
                    let e = e as usize;
                    held |= carried[e] >= network.capacity[e] * (1.0 - 1e-9)
                        && flow.rate >= fastest[e] * (1.0 - 1e-9);
                });
                prop_assert!(held, "{a} -> {b} could have more than {}", flow.rate);
            }
        }
    }
}
