//! What the edges have to carry: in a phase, and in all.
use super::delivery::NOWHERE;
use crate::transfers::TransferSchedule;
use inventory::tree::{EdgeNumber, Tree};

/// What the current phase has taken of each edge.
pub(super) struct EdgeRoom<'a> {
    tree: &'a Tree,
    schedule: &'a TransferSchedule,
    /// By edge: the phase of its latest use, what is taken in that phase, the latest user.
    taken: Vec<(u32, u32, u64)>,
}

/// A transfer for which an edge has no room beside another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EdgeCollision {
    pub(super) edge: EdgeNumber,
    pub(super) first: u32,
    pub(super) second: u32,
}

impl<'a> EdgeRoom<'a> {
    pub(super) fn new(tree: &'a Tree, schedule: &'a TransferSchedule) -> EdgeRoom<'a> {
        EdgeRoom {
            tree,
            schedule,
            taken: vec![(NOWHERE, NOWHERE, 0); tree.edges() as usize],
        }
    }

    /// Takes so much of each edge on a transfer's way; `room` is what an edge has in a phase, if
    /// that counts.
    #[inline]
    pub(super) fn take(
        &mut self,
        transfer: u32,
        amount: u64,
        room: impl Fn(EdgeNumber) -> Option<u64>,
    ) -> Result<(), EdgeCollision> {
        let (ends, phase) = (
            self.schedule.ends()[transfer as usize],
            self.schedule.phase_of()[transfer as usize],
        );
        let mut collision = Ok(());
        self.tree.path(ends.src, ends.dst, |edge| {
            let Some(room) = room(edge) else { return };
            let (when, latest, sum) = self.taken[edge as usize];
            let sum = if when == phase { sum } else { 0 }.saturating_add(amount);
            if sum > room {
                let first = if latest == NOWHERE { transfer } else { latest };
                collision = Err(EdgeCollision {
                    edge,
                    first,
                    second: transfer,
                });
            }
            self.taken[edge as usize] = (phase, transfer, sum);
        });
        collision
    }
}

/// What an edge carries in all phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EdgeLoad {
    pub(super) blocks: u64,
    pub(super) transfers: u64,
}

/// By edge, counted from the transfers themselves.
pub(super) fn loads(tree: &Tree, schedule: &TransferSchedule) -> Vec<EdgeLoad> {
    let mut loads = vec![EdgeLoad::default(); tree.edges() as usize];
    for (ends, transfer) in schedule.ends().iter().zip(0u32..) {
        let blocks = schedule.blocks(transfer).len() as u64;
        tree.path(ends.src, ends.dst, |edge| {
            loads[edge as usize].blocks += blocks;
            loads[edge as usize].transfers += 1;
        });
    }
    loads
}
