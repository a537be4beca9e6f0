//! The host's part in a measurement of flows between hosts.
//!
//! Orders come in the controller's answers only, to requests that carry the agents' token, over TLS
//! where the controller has a certificate. Nobody can give orders on the port that takes flows. And
//! the agent believes its controller only so far: it sends to hosts of its own network, for a time
//! and a number of bytes that are bounded.
use super::reporter::ControllerClient;
use super::segments::SegmentSender;
use flows::{
    FlowPort, FlowReply, FlowStatement, FlowStep, PeerAnswer, PeerOrder, PortFlows, PreparedRound,
    RoundOrder, RoundOutcome, SEGMENT, SessionKey,
};
use inventory::address::shares_network;
use inventory::host_report::{FlowInvitation, HostReport, ProbeDirections};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::sync::watch;

/// The longest measurement.
const LONGEST: Duration = Duration::from_secs(3600);
const LONGEST_FLOW: Duration = Duration::from_millis(500);
/// The most bytes that one measurement sends from here.
const MOST_BYTES: u64 = 4 << 30;
/// The pause before a failed request is tried again, and the number of such pauses in a row.
const PAUSE: Duration = Duration::from_millis(500);
const RETRIES: u32 = 6;

/// Takes part in each measurement to which the controller invites, until the directions end.
pub(super) async fn follow(
    client: ControllerClient,
    segments: Arc<SegmentSender>,
    mut directions: watch::Receiver<ProbeDirections>,
    reports: watch::Receiver<Arc<HostReport>>,
) {
    let mut last = None;
    while directions.changed().await.is_ok() {
        let invitation = directions.borrow_and_update().flows.clone();
        let Some(invitation) = invitation.filter(|i| last != Some(i.session)) else {
            continue;
        };
        last = Some(invitation.session);
        let own = addresses(&reports.borrow());
        if let Err(problem) = check(&invitation, &own) {
            tracing::warn!("{invitation:?}: {problem}; this host takes no part");
            continue;
        }
        let (client, segments) = (client.clone(), Arc::clone(&segments));
        let part = tokio::task::spawn_blocking(move || {
            FlowMember::take_part(
                &client,
                &|from, order| segments.send(from, order),
                &invitation,
            )
        });
        match part.await.unwrap_or_else(|e| Err(e.to_string())) {
            Ok(sent) => tracing::info!("took part in a measurement of flows: sent {sent} bytes"),
            Err(problem) => {
                tracing::warn!("measurement of flows: {problem}; it was left");
                // The controller may invite again.
                last = None;
            }
        }
    }
}

fn addresses(report: &HostReport) -> Vec<(IpAddr, u8)> {
    let up = report.nics.iter().filter(|nic| nic.up);
    up.flat_map(|nic| nic.addresses.iter().copied()).collect()
}

/// Refuses invitations to send elsewhere than to hosts of an own network.
fn check(invitation: &FlowInvitation, own: &[(IpAddr, u8)]) -> Result<(), String> {
    let FlowInvitation { address, peers, .. } = invitation;
    let Some((_, prefix)) = own.iter().find(|(own, _)| own == address) else {
        return Err(format!("{address} is not an address of this host"));
    };
    match peers
        .iter()
        // Any address is in a network whose prefix is 0.
        .find(|peer| *prefix == 0 || !shares_network(**peer, *address, *prefix))
    {
        Some(peer) => Err(format!(
            "{peer} is not in the network of {address}/{prefix}"
        )),
        None => Ok(()),
    }
}

/// A host in a measurement.
struct FlowMember<'a> {
    invitation: &'a FlowInvitation,
    port: FlowPort,
    send_segments: &'a SendSegments<'a>,
    prepared: Option<PreparedRound>,
    sent: u64,
}

type SendSegments<'a> = dyn Fn(IpAddr, &PortFlows) -> io::Result<u64> + 'a;

impl FlowMember<'_> {
    /// Carries out orders until the measurement is over. Returns the bytes that were sent.
    fn take_part(
        client: &ControllerClient,
        send_segments: &SendSegments<'_>,
        invitation: &FlowInvitation,
    ) -> Result<u64, String> {
        let began = Instant::now();
        let longest = Duration::from_millis(invitation.most_ms).min(LONGEST);
        let key = SessionKey(invitation.key.clone());
        let port = FlowPort::open(invitation.address, key).map_err(|e| e.to_string())?;
        let mut statement = FlowStatement {
            session: invitation.session,
            order: 0,
            step: FlowStep::Joined { port: port.port() },
        };
        let mut member = FlowMember {
            invitation,
            port,
            send_segments,
            prepared: None,
            sent: 0,
        };
        let mut failures = 0;
        while began.elapsed() < longest {
            match client.tell_of_flows(&statement) {
                Ok(FlowReply::End) => return Ok(member.sent),
                Ok(FlowReply::Wait) => statement.step = FlowStep::Waiting,
                Ok(FlowReply::Order { number, order }) => {
                    statement.order = number;
                    statement.step = FlowStep::Answered(member.carry_out(order));
                }
                Err(problem) if failures == RETRIES => return Err(problem),
                Err(_) => {
                    // The same statement goes again: an order that was carried out is not carried
                    // out twice.
                    failures += 1;
                    thread::sleep(PAUSE);
                    continue;
                }
            }
            failures = 0;
        }
        Err(format!("it took longer than {} s", longest.as_secs()))
    }

    fn carry_out(&mut self, order: PeerOrder) -> PeerAnswer {
        let most = self.invitation.most_bytes.min(MOST_BYTES);
        match order {
            PeerOrder::Prepare(order) => match self.prepare(order) {
                Ok(round) => {
                    self.prepared = Some(round);
                    PeerAnswer::Ready
                }
                Err(problem) => PeerAnswer::Failed(problem),
            },
            PeerOrder::Go => match self.prepared.take() {
                Some(_) if self.sent >= most => {
                    PeerAnswer::Failed("it has sent as many bytes as it may".to_owned())
                }
                Some(round) => {
                    let outcome = round.run(most - self.sent);
                    self.sent += outcome.sent;
                    PeerAnswer::Done(outcome)
                }
                None => PeerAnswer::Failed("no round is prepared".to_owned()),
            },
            PeerOrder::Segments(order) => match self.send(&order, most) {
                Ok(sent) => {
                    self.sent += sent;
                    PeerAnswer::Done(RoundOutcome {
                        rate: None,
                        sent,
                        disturbed: false,
                    })
                }
                Err(problem) => PeerAnswer::Failed(problem),
            },
        }
    }

    fn send(&self, order: &PortFlows, most: u64) -> Result<u64, String> {
        let mut receivers = order.flows.iter().map(|flow| flow.to);
        if let Some(to) = receivers.find(|to| !self.invitation.peers.contains(to)) {
            return Err(format!("{to} is not a host of this measurement"));
        }
        let segments = order.flows.iter().map(|flow| u64::from(flow.segments));
        let octets = segments.sum::<u64>() * SEGMENT as u64;
        if self.sent.saturating_add(octets) > most {
            return Err("it would send more bytes than it may".to_owned());
        }
        let own = self.invitation.address;
        (self.send_segments)(own, order).map_err(|e| e.to_string())
    }

    fn prepare(&self, order: RoundOrder) -> Result<PreparedRound, String> {
        let stranger = order
            .send_to
            .filter(|to| !self.invitation.peers.contains(&to.ip()));
        match stranger {
            Some(to) => Err(format!("{to} is not a host of this measurement")),
            None if order.window > LONGEST_FLOW => Err("a flow may not last as long".to_owned()),
            None => self.port.prepare(order).map_err(|e| e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flows::PortFlow;
    use std::net::{Ipv4Addr, TcpListener};

    const OWN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn invitation(peers: &[&str]) -> FlowInvitation {
        FlowInvitation {
            session: 1,
            key: "one".into(),
            address: OWN,
            peers: peers.iter().map(|p| p.parse().unwrap()).collect(),
            most_bytes: 1 << 20,
            most_ms: 1_000,
        }
    }

    #[test]
    fn an_invitation_to_send_elsewhere_is_refused() {
        let own = [(OWN, 8), ("10.0.0.1".parse().unwrap(), 24)];
        assert_eq!(check(&invitation(&["127.9.9.9"]), &own), Ok(()));
        for (peers, own) in [
            (&["10.0.0.2"][..], &own[..]),
            (&["127.0.0.2", "8.8.8.8"], &own),
            (&["::1"], &own),
            (&["127.0.0.2"], &own[1..]),
            (&["8.8.8.8"], &[(OWN, 0)]),
        ] {
            assert!(check(&invitation(peers), own).is_err(), "{peers:?} {own:?}");
        }
    }

    #[test]
    fn orders_reach_no_further_than_the_invitation() {
        let invitation = invitation(&["127.0.0.2"]);
        let port = FlowPort::open(OWN, SessionKey("one".into())).unwrap();
        let mut member = FlowMember {
            invitation: &invitation,
            port,
            send_segments: &|_, order| Ok(u64::from(order.flows[0].segments)),
            prepared: None,
            sent: 0,
        };
        // Somebody listens there, so that only the member's own refusal keeps it from sending.
        let other = TcpListener::bind((OWN, 0)).unwrap();
        assert!(
            matches!(member.carry_out(order(5, &other)), PeerAnswer::Failed(p) if p.contains("not a host"))
        );
        assert!(
            matches!(member.carry_out(PeerOrder::Go), PeerAnswer::Failed(p) if p.contains("prepared"))
        );
        assert!(matches!(member.carry_out(idle(501)), PeerAnswer::Failed(_)));
        assert_eq!(member.carry_out(idle(5)), PeerAnswer::Ready);
        member.sent = 1 << 20;
        assert!(
            matches!(member.carry_out(PeerOrder::Go), PeerAnswer::Failed(p) if p.contains("bytes"))
        );
    }

    fn order(window: u64, other: &TcpListener) -> PeerOrder {
        PeerOrder::Prepare(RoundOrder {
            round: 1,
            send_to: Some(other.local_addr().unwrap()),
            receives: false,
            window: Duration::from_millis(window),
        })
    }

    fn idle(window: u64) -> PeerOrder {
        PeerOrder::Prepare(RoundOrder {
            round: 1,
            send_to: None,
            receives: false,
            window: Duration::from_millis(window),
        })
    }

    #[test]
    fn segments_go_to_hosts_of_the_measurement_as_long_as_they_may() {
        let invitation = invitation(&["127.0.0.2"]);
        let mut member = FlowMember {
            invitation: &invitation,
            port: FlowPort::open(OWN, SessionKey("one".into())).unwrap(),
            send_segments: &|_, order| Ok(u64::from(order.flows[0].segments)),
            prepared: None,
            sent: 0,
        };
        let segments = |to: &str, segments| {
            let flow = PortFlow {
                to: to.parse().unwrap(),
                port: 61_000,
                segments,
            };
            PeerOrder::Segments(PortFlows {
                flows: vec![flow],
                pace: 1,
            })
        };
        assert!(
            matches!(member.carry_out(segments("127.0.0.3", 1)), PeerAnswer::Failed(p) if p.contains("not a host"))
        );
        assert!(
            matches!(member.carry_out(segments("127.0.0.2", 800)), PeerAnswer::Failed(p) if p.contains("bytes"))
        );
        assert!(matches!(
            member.carry_out(segments("127.0.0.2", 7)),
            PeerAnswer::Done(_)
        ));
        assert_eq!(member.sent, 7);
    }
}
