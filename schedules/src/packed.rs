//! Phases for tests, made without a planner.
use crate::capacities::EdgeCapacities;
use crate::message::Message;
use inventory::Tree;

/// Phases that keep every edge within its width, made in the simplest way: each message goes into
/// the first phase that has room for it.
pub(crate) fn packed(tree: &Tree, capacities: &EdgeCapacities) -> Vec<Vec<Message>> {
    let mut phases: Vec<Vec<Message>> = Vec::new();
    let mut room: Vec<Vec<u64>> = Vec::new();
    let hosts = tree.hosts();
    for shift in 1..hosts {
        for src in 0..hosts {
            let m = Message {
                src,
                dst: (src + shift) % hosts,
            };
            let mut path = Vec::new();
            tree.path(m.src, m.dst, |edge| path.push(edge));
            let phase = room
                .iter()
                .position(|room| path.iter().all(|&edge| room[edge as usize] > 0))
                .unwrap_or(phases.len());
            if phase == phases.len() {
                phases.push(Vec::new());
                room.push(
                    (0..tree.edges())
                        .map(|edge| capacities.width(edge))
                        .collect(),
                );
            }
            phases[phase].push(m);
            path.iter()
                .for_each(|&edge| room[phase][edge as usize] -= 1);
        }
    }
    phases
}
