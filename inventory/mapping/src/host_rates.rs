//! The rates that the cables of hosts carry.
use crate::rounds::MeasuredRound;

/// One direction of a host's cable is slower than the other one from this part on.
const SLOWER: f64 = 0.8;

/// The payload rates of a host's cable in bit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostRates {
    /// At which it sends.
    pub sends: f64,
    /// At which it receives.
    pub receives: f64,
}

impl HostRates {
    /// The rate of the slower direction.
    pub fn least(self) -> f64 {
        self.sends.min(self.receives)
    }

    /// Of each host: the fastest but one of its flows. Only where every flow in one direction is
    /// much slower, the directions have different rates: most flows of a host can be over cables
    /// that are full.
    pub(crate) fn measured(hosts: usize, rounds: &[MeasuredRound]) -> Vec<HostRates> {
        let (mut sent, mut received) = (vec![Vec::new(); hosts], vec![Vec::new(); hosts]);
        for flow in rounds.iter().flat_map(|r| &r.flows) {
            sent[flow.flow.from].push(flow.rate);
            received[flow.flow.to].push(flow.rate);
        }
        sent.into_iter()
            .zip(received)
            .map(|(sent, received)| {
                let mut all = [sent.as_slice(), &received].concat();
                all.sort_by(f64::total_cmp);
                let last = all.len().saturating_sub(1);
                let most = all.get(last.saturating_sub(1)).copied().unwrap_or(0.0);
                HostRates {
                    sends: fastest_below(&sent, most),
                    receives: fastest_below(&received, most),
                }
            })
            .collect()
    }
}

fn fastest_below(flows: &[f64], most: f64) -> f64 {
    let fastest = flows.iter().copied().fold(0.0, f64::max);
    if fastest < SLOWER * most {
        fastest
    } else {
        most
    }
}
