//! A cable has link at both ends or at none. The relay's two interfaces are not one cable, so it
//! passes the state on: while one of them has no carrier, because the node there took its port
//! down, the other is set down.
use crate::error::LabResult;
use crate::netlink::NetlinkNamespace;
use std::time::Duration;

/// How often the cables are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// One of the relay's interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelayPort {
    /// Set up.
    pub(crate) up: bool,
    /// Sees the node's end; never while it is set down itself.
    pub(crate) carrier: bool,
}

/// Which of the two interfaces of a cable to set how, if any: after some looks both ends agree.
fn step([a, b]: [RelayPort; 2]) -> Option<(usize, bool)> {
    match (a.up, b.up) {
        (true, true) if !a.carrier => Some((1, false)),
        (true, true) if !b.carrier => Some((0, false)),
        // The end that was lost is back: whether the other's is there too shows when it is up
        // again.
        (true, false) if a.carrier => Some((1, true)),
        (false, true) if b.carrier => Some((0, true)),
        (false, false) => Some((0, true)),
        _ => None,
    }
}

/// Takes one look at every cable and passes on what changed.
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

    /// A cable whose far ends are set up or not by their nodes.
    struct CarrierState {
        nodes: [bool; 2],
        relay: [bool; 2],
    }

    impl CarrierState {
        /// Looks until nothing changes; gives whether each node sees its link.
        fn settle(&mut self) -> [bool; 2] {
            for _ in 0..4 {
                let port = |i: usize| RelayPort {
                    up: self.relay[i],
                    carrier: self.relay[i] && self.nodes[i],
                };
                match step([port(0), port(1)]) {
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
