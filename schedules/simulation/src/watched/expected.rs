//! How fast blocks come on another tree than that of their plan.
use crate::{SimulatedTraffic, SimulationModel, planned, run};
use inventory::Bytes;
use inventory::tree::{NodeNumber, Tree};
use schedules::alltoall;
use schedules::bound::WIRE_PER_PAYLOAD;
use schedules::message::Message;
use schedules::synchronization::SyncKind;

/// Large blocks: latencies do not count.
const BLOCK: Bytes = Bytes(1 << 16);

/// The all-to-all of a process set, as planned for the tree between its hosts.
pub(super) struct WatchedPlan {
    ranks: Vec<(String, NodeNumber)>,
    messages: Vec<Message>,
    crossings: usize,
    /// The octets in a second that each message has to itself.
    alone: Vec<f64>,
    /// One message of a host after the other, as large blocks go.
    in_turn: SimulatedTraffic,
    /// As blocks go that fit into the kernel's buffers.
    buffered: SimulatedTraffic,
}

impl WatchedPlan {
    /// Rank `r` runs on host `host_of[r]`.
    pub(super) fn new(between: &Tree, host_of: &[NodeNumber]) -> Option<WatchedPlan> {
        // A blank keeps these apart from names of switches and hosts.
        let ranks: Vec<(String, NodeNumber)> = host_of
            .iter()
            .enumerate()
            .map(|(rank, &host)| (format!("rank {rank}"), host))
            .collect();
        let leaves = between.with_ranks(&ranks).ok()?;
        let plan = alltoall::plan(&leaves, SyncKind::Receiver);
        let messages: Vec<Message> = plan.phases.iter().flatten().copied().collect();
        let mut crossings = 0;
        for message in &messages {
            leaves.path(message.src, message.dst, |_| crossings += 1);
        }
        Some(WatchedPlan {
            crossings,
            alone: messages
                .iter()
                .map(|message| rate_of_way(&leaves, message))
                .collect(),
            in_turn: planned::alltoall(&plan, BLOCK, plan.scheme),
            buffered: planned::buffered_alltoall(&plan, BLOCK),
            ranks,
            messages,
        })
    }

    /// The cables that its messages cross, each message for itself: a simulation takes about so long.
    pub(super) fn crossings(&self) -> usize {
        self.crossings
    }

    /// By message: the logarithm of the rate on this tree over that which it has to itself; where
    /// a host's messages go in turn, and where they go through the kernel's buffers.
    pub(super) fn slowness(&self, tree: &Tree) -> Option<[Vec<(Message, f64)>; 2]> {
        let leaves = tree.with_ranks(&self.ranks).ok()?;
        let in_turn = self.times(&leaves, &self.in_turn, |message| message)?;
        // Before each message there is a step that hands it over.
        let buffered = self.times(&leaves, &self.buffered, |message| 2 * message + 1)?;
        Some([in_turn, buffered])
    }

    fn times(
        &self,
        leaves: &Tree,
        traffic: &SimulatedTraffic,
        step: impl Fn(usize) -> usize,
    ) -> Option<Vec<(Message, f64)>> {
        let timeline = run(leaves, traffic, &SimulationModel::default()).ok()?;
        let each = self.messages.iter().zip(&self.alone).enumerate();
        Some(
            each.map(|(number, (&message, alone))| {
                let took = timeline.ended[step(number)] - timeline.begun[step(number)];
                (message, (BLOCK.0 as f64 / took.max(1e-12) / alone).ln())
            })
            .collect(),
        )
    }
}

fn rate_of_way(tree: &Tree, message: &Message) -> f64 {
    let mut slowest = u64::MAX;
    tree.path(message.src, message.dst, |edge| {
        slowest = slowest.min(tree.rate(edge / 2).0);
    });
    slowest as f64 / 8.0 / WIRE_PER_PAYLOAD
}
