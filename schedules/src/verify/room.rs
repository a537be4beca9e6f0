//! The load of the edges in each phase, and in all phases.
use super::delivery::NOWHERE;
use crate::transfers::TransferSchedule;
use inventory::tree::{EdgeNumber, Tree};

/// The use of each edge in the current phase.
pub(super) struct EdgeRoom<'a> {
    tree: &'a Tree,
    schedule: &'a TransferSchedule,
    /// By edge: the phase of its latest use, its latest user, and the amount taken in that phase.
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

    /// Takes an amount of each edge on a transfer's path. `room` gives the amount that an edge has
    /// in a phase, or `None` if its load is not limited.
    #[inline]
    pub(super) fn take(
        &mut self,
        transfer: u32,
        amount: u64,
        room: impl Fn(EdgeNumber) -> Option<u64>,
    ) -> Result<(), EdgeCollision> {
        let (ends, phase) = (
            self.schedule.ends()[transfer as usize],
            self.schedule.phase(transfer),
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

/// The load of an edge in all phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EdgeLoad {
    pub(super) blocks: u64,
    pub(super) transfers: u64,
}

/// The load of each edge, counted from the transfers themselves.
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
