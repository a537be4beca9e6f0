//! The trace of one host: how it answers, the routers on the way, and the round-trip time. The
//! trace asks through a function, so that tests can play any network to it.
use inventory::host_report::RoundTrip;
use std::net::IpAddr;
use std::time::Duration;

/// The kind of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeMethod {
    /// ICMP echo request.
    Echo,
    /// UDP to a port that no program uses.
    Udp,
    /// UDP to this port, for a flow of its own.
    Flow(u16),
}

/// The answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeAnswer {
    /// The host itself answered, after this time.
    Host(Duration),
    /// The router at which the hops ended.
    Router(IpAddr),
    /// A router that does not forward the probe.
    Stopped(IpAddr),
}

/// The result of a trace; see [`inventory::host_report::ProbedPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceResult {
    pub(crate) hops: Vec<Option<IpAddr>>,
    pub(crate) reached: bool,
    pub(crate) round_trip: Option<RoundTrip>,
}

/// The largest distance of a host in hops, and the usual number of hops to live (RFC 1700).
const FAR: u8 = 64;

/// The limit of routers on the way. Clusters are not further apart.
const MOST_HOPS: u8 = 30;

/// The number of silent hops after which the trace ends, if the host does not answer either.
const MOST_SILENT: usize = 4;

/// The number of round trips measured. The one before them is not counted, because it may have
/// waited for ARP.
const SAMPLES: usize = 6;

/// The tries for one hop. Routers differ in the probes they answer, and a frame can get lost.
const TRIES: [ProbeMethod; 3] = [ProbeMethod::Echo, ProbeMethod::Udp, ProbeMethod::Echo];

/// Traces a host by `ask`, which sends a probe with so many hops to live and returns the answer, if
/// one came in time. A near host that answers nothing takes two dozen probes; a neighbour that
/// answers takes eight.
pub(crate) async fn trace(
    mut ask: impl AsyncFnMut(ProbeMethod, u8) -> Option<ProbeAnswer>,
) -> TraceResult {
    // First whether the host answers: if it does, silent routers on the way do not end the search
    // for hops.
    let mut kind = None;
    for try_kind in TRIES {
        if let Some(ProbeAnswer::Host(_)) = ask(try_kind, FAR).await {
            kind = Some(try_kind);
            break;
        }
    }
    let hops = hops(&mut ask, kind.is_some()).await;
    let mut samples = Vec::new();
    if let Some(kind) = kind {
        for _ in 0..SAMPLES {
            if let Some(ProbeAnswer::Host(time)) = ask(kind, FAR).await {
                samples.push(time);
            }
        }
    }
    TraceResult {
        hops,
        reached: kind.is_some(),
        round_trip: round_trip(samples),
    }
}

/// The routers on the way, nearest first. Unless the host itself answered, the last of them is one
/// that answered: the number of silent hops behind it is unknown.
async fn hops(
    ask: &mut impl AsyncFnMut(ProbeMethod, u8) -> Option<ProbeAnswer>,
    reached: bool,
) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    for hop in 1..=MOST_HOPS {
        match persistent(ask, hop).await {
            Some(ProbeAnswer::Host(_)) => {
                confirm(ask, &mut hops).await;
                return hops;
            }
            Some(ProbeAnswer::Router(address)) => hops.push(Some(address)),
            Some(ProbeAnswer::Stopped(address)) => {
                // The last router asks for the host's address for seconds. Its answer then arrives
                // as the answer to a later probe.
                match hops.iter().position(|h| *h == Some(address)) {
                    Some(at) => hops.truncate(at + 1),
                    None => hops.push(Some(address)),
                }
                break;
            }
            None => hops.push(None),
        }
        let silent = hops.iter().rev().take_while(|h| h.is_none()).count();
        if silent == MOST_SILENT && !reached {
            break;
        }
    }
    while hops.last() == Some(&None) {
        hops.pop();
    }
    hops
}

/// A silent hop just before the host may be the host itself, if its answers got lost.
async fn confirm(
    ask: &mut impl AsyncFnMut(ProbeMethod, u8) -> Option<ProbeAnswer>,
    hops: &mut Vec<Option<IpAddr>>,
) {
    while hops.last() == Some(&None) {
        let hop = u8::try_from(hops.len()).unwrap_or(MOST_HOPS);
        if !matches!(persistent(ask, hop).await, Some(ProbeAnswer::Host(_))) {
            return;
        }
        hops.pop();
    }
}

async fn persistent(
    ask: &mut impl AsyncFnMut(ProbeMethod, u8) -> Option<ProbeAnswer>,
    hop: u8,
) -> Option<ProbeAnswer> {
    for kind in TRIES {
        if let Some(answer) = ask(kind, hop).await {
            return Some(answer);
        }
    }
    None
}

fn round_trip(mut samples: Vec<Duration>) -> Option<RoundTrip> {
    samples.sort_unstable();
    let (least, median) = (samples.first()?, samples.get((samples.len() - 1) / 2)?);
    let [min_us, median_us] =
        [least, median].map(|time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    Some(RoundTrip {
        min_us,
        median_us,
        samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn router(n: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, n, 1).into()
    }

    /// Plays `network`, which is called with each probe's number. Returns the result and the number
    /// of probes.
    async fn play(
        mut network: impl FnMut(usize, ProbeMethod, u8) -> Option<ProbeAnswer>,
    ) -> (TraceResult, usize) {
        let mut sent = 0;
        let traced = trace(async |kind, hop| {
            sent += 1;
            network(sent, kind, hop)
        })
        .await;
        (traced, sent)
    }

    fn us(n: u64) -> Option<ProbeAnswer> {
        Some(ProbeAnswer::Host(Duration::from_micros(n)))
    }

    #[tokio::test]
    async fn a_neighbour_takes_eight_probes() {
        let (traced, sent) = play(|n, _, _| us([9000, 50, 120, 90, 80, 100, 110, 70][n - 1])).await;
        let round_trip = Some(RoundTrip {
            min_us: 70,
            median_us: 90,
            samples: 6,
        });
        assert_eq!(
            (traced, sent),
            (
                TraceResult {
                    hops: vec![],
                    reached: true,
                    round_trip
                },
                8
            )
        );
    }

    #[tokio::test]
    async fn routers_are_named_in_order_and_silent_ones_keep_their_place() {
        let traced = play(|_, kind, hop| match (hop, kind) {
            (1, ProbeMethod::Udp) => Some(ProbeAnswer::Router(router(1))),
            (1 | 2, _) => None,
            (3, _) => Some(ProbeAnswer::Router(router(3))),
            _ => us(5000),
        })
        .await
        .0;
        assert_eq!(traced.hops, [Some(router(1)), None, Some(router(3))]);
        assert!(traced.reached);
    }

    #[tokio::test]
    async fn a_lost_answer_makes_no_router() {
        // The host is next door. The first three probes with one hop get lost.
        let mut lost = 0;
        let network = |_, _, hop| {
            if hop == 1 && lost < 3 {
                lost += 1;
                return None;
            }
            us(60)
        };
        assert_eq!(play(network).await.0.hops, []);
    }

    #[tokio::test]
    async fn a_host_that_answers_udp_only_is_reached() {
        let traced = play(|_, kind, hop| match (kind, hop) {
            (ProbeMethod::Echo | ProbeMethod::Flow(_), _) => None,
            (ProbeMethod::Udp, 1) => Some(ProbeAnswer::Router(router(1))),
            (ProbeMethod::Udp, _) => us(300),
        })
        .await
        .0;
        assert_eq!(
            (traced.hops, traced.round_trip.map(|r| r.samples)),
            (vec![Some(router(1))], Some(6))
        );
    }

    #[tokio::test]
    async fn the_way_to_a_dead_host_ends_where_answers_do_and_soon() {
        let (traced, sent) =
            play(|_, _, hop| (hop == 1).then(|| ProbeAnswer::Router(router(1)))).await;
        assert_eq!(
            traced,
            TraceResult {
                hops: vec![Some(router(1))],
                reached: false,
                round_trip: None
            }
        );
        assert!(sent <= 24, "{sent}");
        let (traced, _) = play(|_, _, hop| {
            Some(if hop == 1 {
                ProbeAnswer::Router(router(1))
            } else {
                ProbeAnswer::Stopped(router(2))
            })
        })
        .await;
        assert_eq!(
            (traced.hops, traced.reached),
            (vec![Some(router(1)), Some(router(2))], false)
        );
    }

    #[tokio::test]
    async fn a_router_that_gives_up_late_is_one_hop() {
        let network = |_, _, hop| match hop {
            1 => Some(ProbeAnswer::Router(router(1))),
            3 => Some(ProbeAnswer::Stopped(router(1))),
            _ => None,
        };
        assert_eq!(play(network).await.0.hops, [Some(router(1))]);
    }

    #[tokio::test]
    async fn a_loop_of_routers_ends() {
        let (traced, sent) = play(|_, _, hop| Some(ProbeAnswer::Router(router(hop % 2)))).await;
        assert_eq!(
            (traced.hops.len(), traced.reached, sent),
            (usize::from(MOST_HOPS), false, usize::from(MOST_HOPS) + 3)
        );
    }
}
