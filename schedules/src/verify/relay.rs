//! Collectives along a ring: every part ends where it belongs, combined once from each rank.
use crate::relay::{PartTreatment, RankRelay, RelayCollective};
use std::collections::{BTreeSet, HashMap};

/// The reason why the shares of the ranks do not make up such a collective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("along the ring: {0}")]
pub struct RelayViolation(pub String);

/// The ranks that a part is combined from.
type PartOrigins = BTreeSet<u32>;

/// Checks the shares of all ranks, in the order of the ring, by playing them.
pub fn relay(
    ring: &[u32],
    collective: RelayCollective,
    relays: &[RankRelay],
) -> Result<(), RelayViolation> {
    let wrong = |what: String| Err(RelayViolation(what));
    let ranks = ring.len();
    if relays.len() != ranks {
        return wrong(format!("{} shares for {ranks} ranks", relays.len()));
    }
    for (at, relay) in relays.iter().enumerate() {
        let (rank, before) = (ring[at], (at + ranks - 1) % ranks);
        if relay.previous != ring[before] || relay.next != ring[(at + 1) % ranks] {
            return wrong(format!("rank {rank} has other neighbours"));
        }
        let comes = usize::from(relays[before].first.is_some()) + relays[before].sent_on;
        if relay.sent_on > relay.incoming.len() || comes != relay.incoming.len() {
            return wrong(format!("rank {rank} awaits more or less than comes"));
        }
    }
    let held = play(ring, collective, relays)?;
    let everybody: PartOrigins = ring.iter().copied().collect();
    for &rank in ring {
        let parts = match collective {
            RelayCollective::Allreduce | RelayCollective::Gather => ring.to_vec(),
            RelayCollective::ReduceScatter => vec![rank],
            RelayCollective::Broadcast { .. } => vec![0],
        };
        let wrong_part = parts.iter().find(|&&part| {
            let whole = match collective {
                RelayCollective::Gather => [part].into(),
                RelayCollective::Broadcast { root } => [root].into(),
                _ => everybody.clone(),
            };
            held.get(&(rank, part)) != Some(&whole)
        });
        if let Some(part) = wrong_part {
            return wrong(format!(
                "part {part} of rank {rank} is not from the ranks that have it"
            ));
        }
    }
    Ok(())
}

/// The ranks from which a rank's part is combined before anything is sent.
fn own_origins(collective: RelayCollective, rank: u32, part: u32) -> PartOrigins {
    match collective {
        RelayCollective::Broadcast { root } if root != rank => PartOrigins::new(),
        RelayCollective::Gather if part != rank => PartOrigins::new(),
        _ => [rank].into(),
    }
}

/// Which ranks each part of each rank is combined from in the end.
fn play(
    ring: &[u32],
    collective: RelayCollective,
    relays: &[RankRelay],
) -> Result<HashMap<(u32, u32), PartOrigins>, RelayViolation> {
    let mut held: HashMap<(u32, u32), PartOrigins> = HashMap::new();
    for &rank in ring {
        for &part in ring {
            held.insert((rank, part), own_origins(collective, rank, part));
        }
    }
    // By position: what has been sent to the next rank, and how many parts have come.
    let mut sent: Vec<Vec<(u32, PartOrigins)>> = (ring.iter().zip(relays))
        .map(|(&rank, relay)| {
            let first = relay.first.into_iter();
            let own = first.map(|part| (part, own_origins(collective, rank, part)));
            own.collect()
        })
        .collect();
    let mut came = vec![0; ring.len()];
    loop {
        let ready = (0..ring.len()).find(|&at| {
            let before = (at + ring.len() - 1) % ring.len();
            came[at] < relays[at].incoming.len() && came[at] < sent[before].len()
        });
        let Some(at) = ready else { break };
        let (rank, before) = (ring[at], (at + ring.len() - 1) % ring.len());
        let expected = relays[at].incoming[came[at]];
        let (part, origins) = sent[before][came[at]].clone();
        let there = held.entry((rank, part)).or_default();
        match expected.treatment {
            _ if part != expected.part => {
                return Err(RelayViolation(format!(
                    "part {part} comes to rank {rank}, which awaits part {}",
                    expected.part
                )));
            }
            PartTreatment::Combine if !there.is_disjoint(&origins) => {
                return Err(RelayViolation(format!(
                    "rank {rank} combines part {part} twice from one rank"
                )));
            }
            PartTreatment::Combine => there.extend(&origins),
            PartTreatment::Keep => *there = origins,
        }
        let combined = there.clone();
        if came[at] < relays[at].sent_on {
            sent[at].push((part, combined));
        }
        came[at] += 1;
    }
    match (0..ring.len()).find(|&at| came[at] < relays[at].incoming.len()) {
        Some(at) => Err(RelayViolation(format!("rank {} waits forever", ring[at]))),
        None => Ok(held),
    }
}
