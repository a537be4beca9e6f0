//! Maps of networks of which everything is known.
mod crooked;
mod fit;
mod trees;

use crate::MapSession;
use crate::simulated::cables::{CableNetwork, SharingKind};
use crate::simulated::datagrams::SwitchKind;

/// Kernel bridges at 20 Mbit/s.
const LAB: SwitchKind = SwitchKind {
    times_faster: 1.0,
    queue: 40_000.0,
    cuts_through: false,
    late: 200e-6,
    busy: 0.01,
};
const MOST_ROUNDS: usize = 60;

fn map(network: &CableNetwork, sharing: SharingKind, rng: &mut fastrand::Rng) -> MapSession {
    let mut session = MapSession::new(network.hosts, MOST_ROUNDS);
    while let Some(flows) = session.next_round(rng) {
        session.record(network.measure(&flows, sharing, rng));
    }
    session
}
