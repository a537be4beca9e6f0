//! Orders to hosts that measure flows, and their answers. A host asks for its next order by HTTP and
//! is kept waiting until there is one; the measurement runs on a thread of its own.
use flows::{
    FlowError, FlowReply, FlowStatement, FlowStep, PATIENCE, PeerAnswer, PeerChannel, PeerOrder,
    RoundOutcome,
};
use inventory::host_report::FlowInvitation;
use inventory::sanitize;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The longest time for which a host is kept waiting: agents hang up after ten seconds.
const WAIT: Duration = Duration::from_secs(5);

/// The time in which all hosts come: agents report at least once a minute, and learn of a
/// measurement by the answer.
pub(crate) const GATHER: Duration = Duration::from_secs(90);

/// The payload rates that a flow can have, in bit/s.
const RATES: RangeInclusive<f64> = 0.0..=1e13;

/// The one measurement at a time, shared by its thread and the API.
#[derive(Clone)]
pub(crate) struct FlowExchange(Arc<ExchangeParts>);

struct ExchangeParts {
    session: Mutex<Option<FlowSession>>,
    /// Notifies the thread of the measurement: a host answered.
    answered: Condvar,
    /// Notifies hosts that wait: there are new orders.
    ordered: watch::Sender<()>,
}

/// A measurement under way.
struct FlowSession {
    number: u64,
    members: BTreeMap<String, SessionMember>,
}

struct SessionMember {
    invitation: FlowInvitation,
    /// Its port for flows, once it takes part.
    port: Option<u16>,
    /// Its agent started anew, and knows nothing of its orders before.
    is_new: bool,
    /// The number of its last order; 0 before the first.
    ordered: u64,
    order: Option<PeerOrder>,
    answer: Option<PeerAnswer>,
}

/// A host that did not come, or an end by the controller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("{}: no agent there takes part; look at its log, and for a firewall", .0.join(", "))]
    Absent(Vec<String>),
    #[error("no random numbers: {0}")]
    Random(String),
}

impl Default for FlowExchange {
    fn default() -> FlowExchange {
        FlowExchange(Arc::new(ExchangeParts {
            session: Mutex::new(None),
            answered: Condvar::new(),
            ordered: watch::channel(()).0,
        }))
    }
}

impl FlowExchange {
    /// The invitation of a host that takes part. An agent that has accepted it passes over it; one
    /// that started anew comes again.
    pub(crate) fn invitation(&self, host: &str) -> Option<FlowInvitation> {
        let session = self.session();
        let member = session.as_ref()?.members.get(host)?;
        Some(member.invitation.clone())
    }

    /// Takes what a host says, and waits for its next order.
    pub(crate) async fn step(&self, host: &str, statement: &FlowStatement) -> FlowReply {
        // Before the answer is taken: an order that follows from it at once must not be missed.
        let mut news = self.0.ordered.subscribe();
        self.hear(host, statement);
        let deadline = tokio::time::Instant::now() + WAIT;
        loop {
            match self.reply(host, statement) {
                FlowReply::Wait => {}
                reply => return reply,
            }
            if tokio::time::timeout_at(deadline, news.changed())
                .await
                .is_err()
            {
                return FlowReply::Wait;
            }
        }
    }

    fn hear(&self, host: &str, statement: &FlowStatement) {
        let mut session = self.session();
        let member = session
            .as_mut()
            .filter(|session| session.number == statement.session)
            .and_then(|session| session.members.get_mut(host));
        let Some(member) = member else {
            return;
        };
        match &statement.step {
            FlowStep::Joined { port } => {
                // An agent keeps its port as long as it takes part. Another port is that of an agent that started anew.
                if member.port.is_some_and(|before| before != *port) {
                    (member.is_new, member.order, member.answer) = (true, None, None);
                }
                member.port = Some(*port);
            }
            // An answer that comes twice counts once.
            FlowStep::Answered(answer)
                if statement.order == member.ordered && member.order.is_some() =>
            {
                let most = member.invitation.most_bytes;
                (member.answer, member.order) = (Some(checked(answer, most)), None);
            }
            FlowStep::Answered(_) | FlowStep::Waiting => {}
        }
        self.0.answered.notify_all();
    }

    fn reply(&self, host: &str, statement: &FlowStatement) -> FlowReply {
        let session = self.session();
        let own = session
            .as_ref()
            .filter(|session| session.number == statement.session);
        let Some(member) = own.and_then(|session| session.members.get(host)) else {
            return FlowReply::End;
        };
        match &member.order {
            Some(order) if member.ordered > statement.order => FlowReply::Order {
                number: member.ordered,
                order: order.clone(),
            },
            _ => FlowReply::Wait,
        }
    }

    /// Begins a measurement among these hosts, each with its address. Each may send so many bytes.
    /// It is over when the returned guard is dropped.
    pub(crate) fn begin(
        &self,
        hosts: &[(String, IpAddr)],
        most_bytes: u64,
        longest: Duration,
    ) -> Result<OpenExchange, ExchangeError> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|e| ExchangeError::Random(e.to_string()))?;
        // The number keeps what agents say of a former measurement out of this one. The key has 128 bits.
        let (number, key) = random.split_at(8);
        let number = number.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        *self.session() = Some(FlowSession {
            number,
            members: hosts
                .iter()
                .map(|(name, address)| {
                    let others = hosts.iter().filter(|(other, _)| other != name);
                    let invitation = FlowInvitation {
                        session: number,
                        key: key.clone(),
                        address: *address,
                        peers: others.map(|(_, address)| *address).collect(),
                        most_bytes,
                        most_ms: inventory::units::milliseconds::of(longest),
                    };
                    let member = SessionMember {
                        invitation,
                        port: None,
                        is_new: false,
                        ordered: 0,
                        order: None,
                        answer: None,
                    };
                    (name.clone(), member)
                })
                .collect(),
        });
        Ok(OpenExchange {
            exchange: self.clone(),
            number,
            hosts: hosts.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    fn session(&self) -> MutexGuard<'_, Option<FlowSession>> {
        self.0
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is known of the session, but not beyond the deadline.
    fn wait_for<T>(
        &self,
        deadline: Instant,
        mut known: impl FnMut(&mut FlowSession) -> Option<T>,
    ) -> Option<T> {
        let mut session = self.session();
        loop {
            if let Some(known) = known(session.as_mut()?) {
                return Some(known);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.0.answered.wait_timeout(session, left);
            session = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// An answer as far as it can be one: agents send what they like.
fn checked(answer: &PeerAnswer, most: u64) -> PeerAnswer {
    match answer {
        PeerAnswer::Ready => PeerAnswer::Ready,
        PeerAnswer::Done(outcome) => PeerAnswer::Done(RoundOutcome {
            rate: outcome.rate.filter(|rate| RATES.contains(rate)),
            sent: outcome.sent.min(most),
            ..*outcome
        }),
        PeerAnswer::Failed(problem) => PeerAnswer::Failed(sanitize::clean_line(problem)),
    }
}

/// A measurement under way, for the thread that runs it.
pub(crate) struct OpenExchange {
    exchange: FlowExchange,
    number: u64,
    hosts: Vec<String>,
}

impl OpenExchange {
    /// Waits until all hosts take part. Returns the ways to them, in the order of the hosts.
    ///
    /// # Errors
    /// [`ExchangeError::Absent`] with those that do not come in time.
    pub(crate) fn gather(
        &self,
        patience: Duration,
    ) -> Result<Vec<Box<dyn PeerChannel + Send>>, ExchangeError> {
        let found: Option<BTreeMap<String, SocketAddr>> =
            self.exchange
                .wait_for(Instant::now() + patience, |session| {
                    session
                        .members
                        .iter_mut()
                        .map(|(name, member)| {
                            let address = SocketAddr::new(member.invitation.address, member.port?);
                            member.is_new = false;
                            Some((name.clone(), address))
                        })
                        .collect()
                });
        let Some(found) = found else {
            let session = self.exchange.session();
            let members = session.iter().flat_map(|session| &session.members);
            let absent = members.filter(|(_, member)| member.port.is_none());
            return Err(ExchangeError::Absent(
                absent.map(|(name, _)| name.clone()).collect(),
            ));
        };
        Ok(self
            .hosts
            .iter()
            .map(|name| -> Box<dyn PeerChannel + Send> {
                Box::new(MemberChannel {
                    exchange: self.exchange.clone(),
                    name: name.clone(),
                    address: found[name],
                })
            })
            .collect())
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let mut session = self.exchange.session();
        if session.as_ref().is_some_and(|s| s.number == self.number) {
            *session = None;
        }
        drop(session);
        self.exchange.0.ordered.send_replace(());
    }
}

/// The way to one host.
struct MemberChannel {
    exchange: FlowExchange,
    name: String,
    address: SocketAddr,
}

impl MemberChannel {
    fn silent(&self) -> FlowError {
        FlowError::Silent {
            name: self.name.clone(),
            address: self.address,
            error: io::ErrorKind::TimedOut.into(),
        }
    }
}

impl PeerChannel for MemberChannel {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError> {
        let mut session = self.exchange.session();
        let member = session.as_mut().and_then(|s| s.members.get_mut(&self.name));
        let Some(member) = member else {
            return Err(self.silent());
        };
        member.ordered += 1;
        (member.order, member.answer) = (Some(order.clone()), None);
        drop(session);
        self.exchange.0.ordered.send_replace(());
        Ok(())
    }

    fn answer(&mut self) -> Result<PeerAnswer, FlowError> {
        // One that started anew may answer, but its port is another one.
        let answer = self
            .exchange
            .wait_for(Instant::now() + PATIENCE, |session| {
                let member = session.members.get_mut(&self.name)?;
                let answer = member.answer.take();
                match member.is_new {
                    true => Some(None),
                    false => answer.map(Some),
                }
            });
        match answer.flatten() {
            Some(PeerAnswer::Failed(problem)) => Err(FlowError::Unable {
                name: self.name.clone(),
                address: self.address,
                problem,
            }),
            Some(answer) => Ok(answer),
            None => Err(self.silent()),
        }
    }

    fn is_renewable(&self) -> bool {
        true
    }

    fn come_back(&mut self) -> Result<(), FlowError> {
        let come = self.exchange.wait_for(Instant::now() + GATHER, |session| {
            let member = session.members.get_mut(&self.name)?;
            std::mem::take(&mut member.is_new).then_some(member.port?)
        });
        self.address.set_port(come.ok_or_else(|| self.silent())?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flows::RoundOrder;

    const IDLE: PeerOrder = PeerOrder::Prepare(RoundOrder {
        round: 1,
        send_to: None,
        receives: false,
        window: Duration::from_millis(5),
    });

    const DONE: PeerAnswer = PeerAnswer::Done(RoundOutcome {
        rate: Some(1e6),
        sent: 5,
        disturbed: false,
    });

    fn statement(session: u64, order: u64, step: FlowStep) -> FlowStatement {
        FlowStatement {
            session,
            order,
            step,
        }
    }

    #[tokio::test]
    async fn a_host_gets_each_order_and_answers_it_once() {
        let exchange = FlowExchange::default();
        let hosts = [("n0".to_owned(), IpAddr::from([10, 0, 0, 1]))];
        assert_eq!(exchange.invitation("n0"), None);
        let open = exchange.begin(&hosts, 7, Duration::from_secs(1)).unwrap();
        let number = exchange.invitation("n0").unwrap().session;
        assert_eq!(exchange.invitation("n1"), None);
        let run = tokio::task::spawn_blocking(move || {
            let mut ways = open.gather(Duration::from_secs(60)).unwrap();
            let way = &mut ways[0];
            way.tell(&IDLE).unwrap();
            let first = way.answer().unwrap();
            way.tell(&PeerOrder::Go).unwrap();
            (way.address(), first, way.answer().unwrap())
        });
        let step = |order, step| {
            let exchange = exchange.clone();
            async move { exchange.step("n0", &statement(number, order, step)).await }
        };
        let reply = step(0, FlowStep::Joined { port: 9 }).await;
        assert_eq!(
            reply,
            FlowReply::Order {
                number: 1,
                order: IDLE
            }
        );
        // The answer to the first request was lost.
        let reply = step(0, FlowStep::Joined { port: 9 }).await;
        assert_eq!(
            reply,
            FlowReply::Order {
                number: 1,
                order: IDLE
            }
        );
        let reply = step(1, FlowStep::Answered(PeerAnswer::Ready)).await;
        let go = FlowReply::Order {
            number: 2,
            order: PeerOrder::Go,
        };
        assert_eq!(reply, go);
        // An old answer is none to a new order.
        assert_eq!(step(1, FlowStep::Answered(PeerAnswer::Ready)).await, go);
        let reply = step(2, FlowStep::Answered(DONE)).await;
        assert_eq!(reply, FlowReply::End);
        let (address, first, second) = run.await.unwrap();
        assert_eq!(address.to_string(), "10.0.0.1:9");
        assert_eq!((first, second), (PeerAnswer::Ready, DONE));
    }

    #[tokio::test]
    async fn a_host_whose_agent_started_anew_is_invited_again() {
        let exchange = FlowExchange::default();
        let hosts = [("n0".to_owned(), IpAddr::from([10, 0, 0, 1]))];
        let open = exchange.begin(&hosts, 7, Duration::from_secs(1)).unwrap();
        let number = exchange.invitation("n0").unwrap().session;
        let joins = |port| {
            let exchange = exchange.clone();
            let joined = statement(number, 0, FlowStep::Joined { port });
            async move { exchange.step("n0", &joined).await }
        };
        let first = tokio::spawn(joins(9));
        let run = tokio::task::spawn_blocking(move || {
            let mut ways = open.gather(Duration::from_secs(60)).unwrap();
            let way = &mut ways[0];
            way.tell(&IDLE).unwrap();
            assert!(way.answer().is_err(), "it knows nothing of the order");
            way.come_back().unwrap();
            way.tell(&PeerOrder::Go).unwrap();
            (way.address(), way.answer().unwrap())
        });
        assert!(matches!(first.await.unwrap(), FlowReply::Order { .. }));
        assert_eq!(exchange.invitation("n0").unwrap().session, number);
        let go = FlowReply::Order {
            number: 2,
            order: PeerOrder::Go,
        };
        assert_eq!(joins(11).await, go);
        // The agent of before says something that nobody asked for any more.
        let old = statement(number, 1, FlowStep::Answered(PeerAnswer::Ready));
        assert_eq!(exchange.step("n0", &old).await, go);
        let outcome = RoundOutcome {
            rate: Some(-1e300),
            sent: u64::MAX,
            disturbed: false,
        };
        let lies = FlowStep::Answered(PeerAnswer::Done(outcome));
        exchange.step("n0", &statement(number, 2, lies)).await;
        let (address, answer) = run.await.unwrap();
        assert_eq!(address.to_string(), "10.0.0.1:11");
        let believed = RoundOutcome {
            rate: None,
            sent: 7,
            disturbed: false,
        };
        assert_eq!(answer, PeerAnswer::Done(believed));
    }

    #[tokio::test]
    async fn strangers_and_late_comers_are_sent_away() {
        let exchange = FlowExchange::default();
        let waiting = statement(1, 0, FlowStep::Waiting);
        assert_eq!(exchange.step("n0", &waiting).await, FlowReply::End);
        let hosts = [("n0".to_owned(), IpAddr::from([10, 0, 0, 1]))];
        let open = exchange.begin(&hosts, 7, Duration::from_secs(1)).unwrap();
        assert_eq!(
            exchange.step("n0", &waiting).await,
            FlowReply::End,
            "another session"
        );
        assert_eq!(
            exchange
                .step("n1", &statement(open.number, 0, FlowStep::Waiting))
                .await,
            FlowReply::End
        );
        let absent = open.gather(Duration::ZERO).err().unwrap();
        assert!(
            absent
                .to_string()
                .starts_with("n0: no agent there takes part")
        );
    }
}
