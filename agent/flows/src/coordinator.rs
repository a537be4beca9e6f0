//! The one that tells all peers what to do.
use crate::peer::call;
use crate::wire::{
    PeerAnswer, PeerOrder, PeerService, RoundOrder, RoundOutcome, SessionKey, read_line, write_line,
};
use mapping::{HostFlow, MeasuredFlow, MeasuredRound};
use std::io::{self, BufReader};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

/// The time in which a peer answers, beside that of the round.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Times that a round is measured at most until no host is too busy; the last one counts anyhow.
const MOST_TRIES: usize = 4;
/// How often in a measurement peers that have gone are waited for.
const MOST_RENEWALS: u32 = 3;

/// A peer that did not do its part.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// It does not answer.
    #[error("{name} ({address}) does not answer: {error}")]
    Silent {
        /// The host.
        name: String,
        /// Where it was asked.
        address: SocketAddr,
        /// The system's message.
        error: io::Error,
    },
    /// Connections pass, datagrams do not.
    #[error(
        "no datagram from {from} arrives at {to}, though connections do: a firewall drops UDP \
         between them; the hosts need all ports for each other meanwhile"
    )]
    Dropped {
        /// The sender.
        from: IpAddr,
        /// The receiver.
        to: IpAddr,
    },
    /// It cannot send or receive.
    #[error("{name} ({address}) can take no part in a measurement: {problem}")]
    Unable {
        /// The host.
        name: String,
        /// Where it was asked.
        address: SocketAddr,
        /// Its message.
        problem: String,
    },
}

/// The way on which one peer gets orders and answers them.
pub trait PeerChannel {
    /// The address at which the peer takes flows.
    fn address(&self) -> SocketAddr;

    /// Gives it an order.
    ///
    /// # Errors
    /// [`FlowError`] if the order does not reach it.
    fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError>;

    /// Its answer to the last order, within [`PATIENCE`].
    ///
    /// # Errors
    /// [`FlowError`] if it does not answer, or failed.
    fn answer(&mut self) -> Result<PeerAnswer, FlowError>;

    /// True if a peer that went can come back, and nothing of an earlier round is on its way.
    fn is_renewable(&self) -> bool {
        false
    }

    /// Waits until a peer that does not answer takes part again, as a new one.
    ///
    /// # Errors
    /// [`FlowError`] if it does not come.
    fn come_back(&mut self) -> Result<(), FlowError> {
        Ok(())
    }
}

/// A peer that the coordinator called.
struct ConnectedPeer {
    name: String,
    address: SocketAddr,
    orders: TcpStream,
    answers: BufReader<TcpStream>,
}

/// Hears of each round of a measurement at once.
type RoundKeeper = Box<dyn FnMut(&MeasuredRound) + Send>;

/// Channels to all peers.
pub struct FlowCoordinator {
    peers: Vec<Box<dyn PeerChannel + Send>>,
    keeper: Option<RoundKeeper>,
    /// The number of the last round.
    round: u64,
    /// How often peers that had gone were waited for.
    renewals: u32,
    /// A round in which a host was too busy is done again if so many bytes suffice for it.
    again_within: f64,
    /// The bytes of all rounds, also of those that were done again.
    moved: f64,
    /// The bytes of the dearest round.
    dearest: f64,
    /// The bytes a second of the fastest flow.
    fastest: f64,
    /// The time for which they lasted.
    flowed: Duration,
}

impl FlowCoordinator {
    /// Connects to the peers, each with its name and address. Hosts are numbered in this order.
    ///
    /// # Errors
    /// [`FlowError`] of the first one that does not answer.
    pub fn connect(
        peers: &[(String, SocketAddr)],
        key: &SessionKey,
    ) -> Result<FlowCoordinator, FlowError> {
        let connect = |(name, address): &(String, SocketAddr)| {
            let streams = || {
                let orders = call(*address, key, PeerService::Orders)?;
                orders.set_read_timeout(Some(PATIENCE))?;
                let answers = BufReader::new(orders.try_clone()?);
                Ok((orders, answers))
            };
            let (orders, answers) = streams().map_err(|error| FlowError::Silent {
                name: name.clone(),
                address: *address,
                error,
            })?;
            let peer: Box<dyn PeerChannel + Send> = Box::new(ConnectedPeer {
                name: name.clone(),
                address: *address,
                orders,
                answers,
            });
            Ok(peer)
        };
        let peers = peers.iter().map(connect).collect::<Result<_, _>>()?;
        Ok(FlowCoordinator::over(peers))
    }

    /// Peers that get their orders on channels of another kind. Hosts are numbered in this order.
    pub fn over(peers: Vec<Box<dyn PeerChannel + Send>>) -> FlowCoordinator {
        FlowCoordinator {
            peers,
            keeper: None,
            round: 0,
            renewals: 0,
            again_within: f64::INFINITY,
            moved: 0.0,
            dearest: 0.0,
            fastest: 0.0,
            flowed: Duration::ZERO,
        }
    }

    /// Hands each round of a measurement to `keeper` at once.
    pub fn each_round(&mut self, keeper: impl FnMut(&MeasuredRound) + Send + 'static) {
        self.keeper = Some(Box::new(keeper));
    }

    pub(crate) fn keep(&mut self, round: &MeasuredRound) {
        if let Some(keeper) = &mut self.keeper {
            keeper(round);
        }
    }

    /// Has rounds in which a host was too busy done again from now on until so many bytes were
    /// sent in all.
    pub(crate) fn do_again_within(&mut self, bytes: f64) {
        self.again_within = bytes;
    }

    /// The bytes that were sent so far.
    pub(crate) fn moved(&self) -> f64 {
        self.moved
    }

    /// The bytes of the dearest round so far.
    pub(crate) fn dearest(&self) -> f64 {
        self.dearest
    }

    /// The time in which flows ran so far.
    pub(crate) fn flowed(&self) -> Duration {
        self.flowed
    }

    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.peers.len()
    }

    /// Sends these flows at once for so long, and gives their rates. A host sends one flow at most
    /// and receives one at most. Rounds in which a host was too busy are done again, some times. If
    /// a host goes, it is waited for, [`MOST_RENEWALS`] times in a measurement. Then there is no
    /// round: the caller knows whether flows may still run.
    ///
    /// # Errors
    /// [`FlowError`] of the first peer that did not do its part.
    pub fn measure(
        &mut self,
        flows: &[HostFlow],
        window: Duration,
    ) -> Result<Option<MeasuredRound>, FlowError> {
        match self.measure_once(flows, window) {
            Err(FlowError::Silent { .. } | FlowError::Unable { .. }) if self.may_renew() => {
                self.renew()?;
                Ok(None)
            }
            measured => measured.map(Some),
        }
    }

    fn may_renew(&self) -> bool {
        self.renewals < MOST_RENEWALS && self.peers.iter().all(|peer| peer.is_renewable())
    }

    /// Waits until the peers that do not answer take part again.
    fn renew(&mut self) -> Result<(), FlowError> {
        self.renewals += 1;
        self.round += 1;
        // A round without a part for anybody is ready at once: whoever answers is still there.
        let nothing = PeerOrder::Prepare(RoundOrder {
            round: self.round,
            send_to: None,
            receives: false,
            window: Duration::ZERO,
        });
        let delivered: Vec<bool> = self
            .peers
            .iter_mut()
            .map(|peer| peer.tell(&nothing).is_ok())
            .collect();
        for (peer, delivered) in self.peers.iter_mut().zip(delivered) {
            if !(delivered && peer.answer().is_ok()) {
                peer.come_back()?;
            }
        }
        Ok(())
    }

    fn measure_once(
        &mut self,
        flows: &[HostFlow],
        window: Duration,
    ) -> Result<MeasuredRound, FlowError> {
        for _ in 1..MOST_TRIES {
            let before = self.moved;
            let (round, disturbed) = self.try_round(flows, window)?;
            // The next try costs as much as this one did.
            let next = self.moved + (self.moved - before);
            // A disturbed round counts where one more try would take what the least rounds need.
            let is_usable = !disturbed || next > self.again_within;
            if is_usable && !is_dropped(&round) {
                return Ok(round);
            }
        }
        let (round, _) = self.try_round(flows, window)?;
        match round.flows.first() {
            Some(MeasuredFlow { flow, .. }) if is_dropped(&round) => Err(FlowError::Dropped {
                from: self.peers[flow.from].address().ip(),
                to: self.peers[flow.to].address().ip(),
            }),
            _ => Ok(round),
        }
    }

    /// A round, and whether one of the hosts was too busy.
    fn try_round(
        &mut self,
        flows: &[HostFlow],
        window: Duration,
    ) -> Result<(MeasuredRound, bool), FlowError> {
        self.round += 1;
        let round = self.round;
        let of = |host: usize| {
            let sends = flows
                .iter()
                .find(|f| f.from == host)
                .map(|f| self.peers[f.to].address());
            let receives = flows.iter().any(|f| f.to == host);
            (sends.is_some() || receives).then_some(RoundOrder {
                round,
                send_to: sends,
                receives,
                window,
            })
        };
        let orders: Vec<Option<RoundOrder>> = (0..self.peers.len()).map(of).collect();
        let members = |orders: &[Option<RoundOrder>]| -> Vec<usize> {
            (0..orders.len()).filter(|h| orders[*h].is_some()).collect()
        };
        let members = members(&orders);
        // A receiver answers only when its sender's connection has come, so all get the order
        // before any answer is awaited.
        for &host in &members {
            if let Some(order) = orders[host] {
                self.peers[host].tell(&PeerOrder::Prepare(order))?;
            }
        }
        for &host in &members {
            self.peers[host].answer()?;
        }
        let mut outcomes = vec![None; self.peers.len()];
        let ended = self.go(&members, &mut outcomes);
        let flows: Vec<MeasuredFlow> = flows
            .iter()
            .map(|flow| MeasuredFlow {
                flow: *flow,
                rate: outcomes[flow.to].and_then(|o| o.rate).unwrap_or(0.0),
            })
            .collect();
        // Where one host fails, the others have sent nevertheless.
        self.count(&flows, window, &outcomes);
        ended?;
        let disturbed = outcomes.iter().flatten().any(|outcome| outcome.disturbed);
        Ok((MeasuredRound { flows }, disturbed))
    }

    /// Starts the flows of these hosts, and hears what became of them until one of them fails.
    fn go(
        &mut self,
        members: &[usize],
        outcomes: &mut [Option<RoundOutcome>],
    ) -> Result<(), FlowError> {
        for &host in members {
            self.peers[host].tell(&PeerOrder::Go)?;
        }
        for &host in members {
            if let PeerAnswer::Done(outcome) = self.peers[host].answer()? {
                outcomes[host] = Some(outcome);
            }
        }
        Ok(())
    }

    /// Counts the cost of a round. A host that did not answer may have sent as much as the fastest
    /// flow so far.
    fn count(
        &mut self,
        flows: &[MeasuredFlow],
        window: Duration,
        outcomes: &[Option<RoundOutcome>],
    ) {
        let (seconds, before) = (window.as_secs_f64(), self.moved);
        for MeasuredFlow { flow, rate } in flows {
            // Octets that arrived were sent, also where the sender tells of fewer.
            let came = rate / 8.0 * seconds;
            let sent = outcomes[flow.from].map_or(self.fastest * seconds, |o| o.sent as f64);
            let bytes = came.max(sent);
            self.fastest = self.fastest.max(bytes / seconds);
            self.moved += bytes;
        }
        self.dearest = self.dearest.max(self.moved - before);
        self.flowed += window;
    }
}

/// True if nothing came of a flow that had the network to itself.
fn is_dropped(round: &MeasuredRound) -> bool {
    matches!(round.flows[..], [MeasuredFlow { rate: 0.0, .. }])
}

impl PeerChannel for ConnectedPeer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError> {
        write_line(&self.orders, order).map_err(|error| self.silent(error))
    }

    fn answer(&mut self) -> Result<PeerAnswer, FlowError> {
        match read_line(&mut self.answers) {
            Ok(PeerAnswer::Failed(problem)) => Err(FlowError::Unable {
                name: self.name.clone(),
                address: self.address,
                problem,
            }),
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.silent(error)),
        }
    }
}

impl ConnectedPeer {
    fn silent(&self, error: io::Error) -> FlowError {
        FlowError::Silent {
            name: self.name.clone(),
            address: self.address,
            error,
        }
    }
}
