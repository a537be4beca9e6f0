//! The ways of flows: flows to a host that differ in their port only, and the router at which each is at its
//! second hop. The router before it, to which the host hangs, has chosen that one.
//!
//! Source: Augustin and others, Avoiding traceroute anomalies with Paris traceroute (2006): all that routers
//! choose by stays the same within a flow. Guarantee: a changed way of a few flows is noticed within
//! [`WATCH`], and all are traced again. Cost: a probe for each flow, and then [`LEAST_WATCHED`] or more for each
//! host every [`WATCH`], among all others ([`super::SPACING`]).
use super::trace::{ProbeAnswer, ProbeMethod};
use super::{AGAIN, AT_ONCE, FIRST_PORT, PORTS, ProbeFindings, ProbeTransport};
use futures_util::{StreamExt, stream};
use inventory::host_report::{MOST_FLOWS, ProbeDirections, TraceTarget, TracedFlows};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// The time between two looks at the watched flows.
const WATCH: Duration = Duration::from_secs(2);
/// So many flows are watched at each router, and so many in all.
const WATCHED: usize = 2;
const LEAST_WATCHED: usize = 8;
/// The hosts to which flows are traced at most, whatever the controller asks for.
const MOST_TARGETS: usize = 16;
/// The router that the first one has chosen.
const SECOND_HOP: u8 = 2;
/// Answers get lost, and routers give few in a second.
const TRIES: usize = 3;

/// Traces flows as directed for ever, and sends what they tell when it changed.
pub(super) async fn follow(
    air: &ProbeTransport,
    mut directions: watch::Receiver<ProbeDirections>,
    found: &watch::Sender<ProbeFindings>,
) {
    let mut known: BTreeMap<TraceTarget, FlowTrace> = BTreeMap::new();
    loop {
        let mut targets = directions.borrow_and_update().traces.clone();
        targets.truncate(MOST_TARGETS);
        known.retain(|target, _| targets.contains(target));
        for target in targets {
            let before = known.remove(&target);
            let to = target.address;
            let trace = match before {
                Some(trace)
                    if trace.at.elapsed() < AGAIN
                        && !trace
                            .has_changed(async |port| router(air, to, port).await)
                            .await =>
                {
                    trace
                }
                before => {
                    let trace =
                        FlowTrace::new(target.flows, async |port| router(air, to, port).await);
                    trace.await.after(before)
                }
            };
            known.insert(target, trace);
            // Probes keep their distance, so the traces of further hosts may take long.
            tell(&known, found);
        }
        tell(&known, found);
        tokio::select! {
            changed = directions.changed() => if changed.is_err() {
                return;
            },
            () = sleep(WATCH) => {}
        }
    }
}

fn tell(known: &BTreeMap<TraceTarget, FlowTrace>, found: &watch::Sender<ProbeFindings>) {
    let all = known.iter().map(|(to, trace)| trace.report(&to.host));
    let traces: Vec<TracedFlows> = all.collect();
    found.send_if_modified(|findings| {
        let is_news = findings.traces != traces;
        findings.traces = traces;
        is_news
    });
}

/// The router at which a flow is at its second hop.
async fn router(air: &ProbeTransport, to: IpAddr, port: u16) -> Option<IpAddr> {
    for _ in 0..TRIES {
        match air.ask(to, ProbeMethod::Flow(port), SECOND_HOP).await {
            Some(ProbeAnswer::Router(address)) => return Some(address),
            Some(ProbeAnswer::Host(_) | ProbeAnswer::Stopped(_)) => return None,
            None => {}
        }
    }
    None
}

/// The ways of the flows to one host.
#[derive(Debug)]
struct FlowTrace {
    /// The router of each flow that was answered, by port.
    routers: BTreeMap<u16, IpAddr>,
    unanswered: u16,
    parted: bool,
    at: Instant,
}

impl FlowTrace {
    async fn new(flows: u16, router: impl AsyncFn(u16) -> Option<IpAddr>) -> FlowTrace {
        // Not among the ports of traces: a quoted port tells which probe an error is about.
        let first = FIRST_PORT + PORTS;
        let router = &router;
        let answers = stream::iter(first..first + flows.min(MOST_FLOWS))
            .map(|port| async move { (port, router(port).await) })
            .buffer_unordered(AT_ONCE);
        let answers: Vec<(u16, Option<IpAddr>)> = answers.collect().await;
        let unanswered = answers.iter().filter(|(_, router)| router.is_none());
        FlowTrace {
            unanswered: unanswered.count() as u16,
            routers: answers
                .into_iter()
                .filter_map(|(port, router)| Some((port, router?)))
                .collect(),
            parted: false,
            at: Instant::now(),
        }
    }

    /// With what an earlier trace showed.
    fn after(mut self, before: Option<FlowTrace>) -> FlowTrace {
        let differ = self.counts().len() > 1;
        self.parted = differ || before.is_some_and(|before| before.parted);
        self
    }

    /// True if a watched flow takes another way now.
    async fn has_changed(&self, router: impl AsyncFn(u16) -> Option<IpAddr>) -> bool {
        for port in self.watched() {
            let now = router(port).await;
            // Silence is no other way: routers limit the rate of their errors (RFC 1812, 4.3.2.8).
            if now.is_some_and(|now| self.routers[&port] != now) {
                return true;
            }
        }
        false
    }

    /// The first flows of each router, and others.
    fn watched(&self) -> Vec<u16> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        let (mut watched, others): (Vec<u16>, Vec<u16>) = self.routers.keys().partition(|port| {
            let count = counts.entry(self.routers[port]).or_default();
            *count += 1;
            *count <= WATCHED
        });
        let room = LEAST_WATCHED.saturating_sub(watched.len());
        watched.extend(others.into_iter().take(room));
        watched
    }

    fn counts(&self) -> BTreeMap<IpAddr, u16> {
        let mut counts = BTreeMap::new();
        for router in self.routers.values() {
            *counts.entry(*router).or_default() += 1;
        }
        counts
    }

    fn report(&self, host: &str) -> TracedFlows {
        TracedFlows {
            to: host.to_owned(),
            routers: self.counts(),
            unanswered: self.unanswered,
            parted: self.parted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spine(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    async fn both(port: u16) -> Option<IpAddr> {
        Some(spine((port % 2) as u8))
    }

    async fn one(_: u16) -> Option<IpAddr> {
        Some(spine(1))
    }

    async fn none(_: u16) -> Option<IpAddr> {
        None
    }

    /// Of twenty spines the first is silent.
    async fn some(port: u16) -> Option<IpAddr> {
        let number = (port % 20) as u8;
        (number > 0).then(|| spine(number))
    }

    #[tokio::test]
    async fn flows_are_counted_by_router_and_a_withdrawn_way_is_noticed() {
        let trace = FlowTrace::new(20, both).await.after(None);
        let routers = BTreeMap::from([(spine(0), 10), (spine(1), 10)]);
        let report = trace.report("n1");
        assert_eq!((report.routers, report.unanswered), (routers, 0));
        assert!(report.parted);
        assert!(!trace.has_changed(both).await);
        assert!(!trace.has_changed(none).await, "lost answers");
        assert!(trace.has_changed(one).await);
        let trace = FlowTrace::new(20, one).await.after(Some(trace));
        let report = trace.report("n1");
        assert_eq!(report.routers, BTreeMap::from([(spine(1), 20)]));
        assert!(report.parted, "ports did decide");
        assert!(trace.has_changed(both).await, "the way is back");
    }

    #[tokio::test]
    async fn a_silent_router_is_counted_and_each_other_is_watched() {
        let trace = FlowTrace::new(200, some).await.after(None);
        assert_eq!(trace.report("n1").unanswered, 10);
        assert_eq!(trace.watched().len(), 38);
        let alone = FlowTrace::new(200, one).await;
        assert_eq!(alone.watched().len(), LEAST_WATCHED);
        assert!(!alone.after(None).parted);
    }
}
