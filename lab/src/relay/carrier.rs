//! The carrier state of cables. A cable has carrier at both ends or at none, but the relay's two
//! interfaces of a cable are independent. While one has no carrier, because the node there took its
//! port down, the relay sets the other down.
use crate::error::LabResult;
use crate::netlink::{NetlinkNamespace, RelayPort};
use std::time::Duration;

/// The interval at which the relay reads the state of its cables.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// The interface of a cable to set up or down next, if any. After some steps both ends agree.
fn step([a, b]: [RelayPort; 2]) -> Option<(usize, bool)> {
    match (a.up, b.up) {
        (true, true) if !a.carrier => Some((1, false)),
        (true, true) if !b.carrier => Some((0, false)),
        // The carrier is back at one end. The other interface shows its carrier once it is up
        // again.
        (true, false) if a.carrier => Some((1, true)),
        (false, true) if b.carrier => Some((0, true)),
        (false, false) => Some((0, true)),
        _ => None,
    }
}

/// Reads the state of every cable once, and passes on changes.
pub(super) async fn pass_on(wire: &NetlinkNamespace, cables: &[[String; 2]]) -> LabResult<()> {
    for ports in cables {
        let state = [wire.port(&ports[0]).await?, wire.port(&ports[1]).await?];
        if let Some((which, up)) = step(state) {
            wire.set_up(&ports[which], up).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

    /// A cable whose far ends the nodes set up or down.
    struct CarrierState {
        nodes: [bool; 2],
        relay: [bool; 2],
    }

    impl CarrierState {
        /// Steps until nothing changes; gives the carrier that each node sees.
        fn settle(&mut self) -> [bool; 2] {
            for _ in 0..4 {
                match step([0, 1].map(|i| RelayPort {
                    up: self.relay[i],
                    carrier: self.relay[i] && self.nodes[i],
                })) {
                    Some((which, up)) => self.relay[which] = up,
                    None => return [0, 1].map(|i| self.nodes[i] && self.relay[i]),
                }
            }
            panic!("never at rest: {:?} {:?}", self.nodes, self.relay)
        }
    }

    #[test]
    fn both_ends_have_link_or_none_whatever_came_before() {
        for (relay, nodes) in ALL
            .into_iter()
            .flat_map(|relay| ALL.map(|nodes| (relay, nodes)))
        {
            assert_eq!(
                CarrierState { nodes, relay }.settle(),
                [nodes == [true, true]; 2],
                "{nodes:?} {relay:?}"
            );
        }
    }

    #[test]
    fn a_cut_at_one_end_heals_when_that_end_comes_back() {
        let mut cable = CarrierState {
            nodes: [true, true],
            relay: [true, true],
        };
        for nodes in [[false, true], [false, false], [true, false], [true, true]] {
            cable.nodes = nodes;
            assert_eq!(cable.settle(), [nodes == [true, true]; 2], "{nodes:?}");
        }
    }
}
