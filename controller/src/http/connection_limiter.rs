//! Limits the connections of the API in number and time: a flood can neither take the controller's
//! file descriptors nor keep other clients out.
//!
//! Each stage of a connection ends after [`PATIENCE`] or [`WORK`], except following events. The
//! number of connections is limited, and one address may have an eighth of them. When all are
//! taken, a new connection replaces the one that has waited longest without a request. Connections
//! with a request at work, and viewers that follow events, stay.
use super::rate_limiter::RateLimiter;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The longest time for a handshake or a header to arrive, for a connection to be idle, and for an
/// answer or an event to be sent.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time for the work on a request. Its body has its own, shorter time.
const WORK: Duration = Duration::from_secs(15);
/// The most connections at once, with any limit of open files.
const MOST: usize = 2_048;
/// One address may have one in this many of all connections, and half of those may follow events.
const SHARE: usize = 8;
/// Warnings that all connections are taken: one a minute.
const WARNINGS: RateLimiter = RateLimiter::new(Duration::from_secs(60), 1);

/// Every connection of the API.
#[derive(Clone)]
pub(super) struct ConnectionLimiter(Arc<Mutex<ConnectionTable>>);

struct ConnectionTable {
    /// The most connections at once.
    room: usize,
    connections: HashMap<u64, OpenConnection>,
    next: u64,
    warnings: RateLimiter,
}

struct OpenConnection {
    client: IpAddr,
    stage: ConnectionStage,
    since: Instant,
    /// Its drop ends the connection.
    _close: oneshot::Sender<()>,
}

/// The stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionStage {
    /// A handshake, a header, the next request, or its answer on the way out.
    Waiting,
    /// The work on a request.
    Working,
    /// A viewer of events that is ready for the next one.
    Following,
    /// A viewer that has not taken the last event yet.
    Taking,
}

impl ConnectionStage {
    fn limit(self) -> Option<Duration> {
        match self {
            ConnectionStage::Waiting | ConnectionStage::Taking => Some(PATIENCE),
            ConnectionStage::Working => Some(WORK),
            ConnectionStage::Following => None,
        }
    }

    fn is_viewer(self) -> bool {
        matches!(self, ConnectionStage::Following | ConnectionStage::Taking)
    }
}

impl ConnectionLimiter {
    /// Allows connections for half of the `files` that the process may open. The other half is for
    /// the controller's own work.
    pub(super) fn new(files: usize) -> ConnectionLimiter {
        let room = (files / 2).clamp(SHARE, MOST);
        ConnectionLimiter(Arc::new(Mutex::new(ConnectionTable {
            room,
            connections: HashMap::new(),
            next: 0,
            warnings: WARNINGS,
        })))
    }

    /// Admits a connection, if necessary in the place of another one. The receiver resolves when
    /// the connection must end.
    pub(super) fn admit(
        &self,
        from: IpAddr,
        now: Instant,
    ) -> Option<(Arc<ApiConnection>, oneshot::Receiver<()>)> {
        let (close, gone) = oneshot::channel();
        let number = self.table().admit(OpenConnection {
            client: client(from),
            stage: ConnectionStage::Waiting,
            since: now,
            _close: close,
        })?;
        Some((
            Arc::new(ApiConnection {
                limiter: self.clone(),
                number,
            }),
            gone,
        ))
    }

    /// Ends the connections that exceed the limit of their stage.
    pub(super) fn sweep(&self, now: Instant) {
        self.table().connections.retain(|_, g| {
            g.stage
                .limit()
                .is_none_or(|limit| now.saturating_duration_since(g.since) < limit)
        });
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    fn admit(&mut self, connection: OpenConnection) -> Option<u64> {
        let has_share = self.connections_of(connection.client).count() >= self.share();
        if has_share || self.connections.len() >= self.room {
            if self.warnings.take(connection.since).is_ok() {
                let (client, share, room) = (connection.client, self.share(), self.room);
                let full = if has_share {
                    format!("{client} has {share}, the most for one address")
                } else {
                    format!("all {room} are taken")
                };
                tracing::warn!(
                    "API: connections: {full}; each new one replaces the one that has waited \
                     longest without a request"
                );
            }
            let longest = self
                .connections
                .iter()
                .filter(|(_, g)| {
                    g.stage == ConnectionStage::Waiting
                        && (!has_share || g.client == connection.client)
                })
                .min_by_key(|(_, g)| g.since)
                .map(|(number, _)| *number)?;
            self.connections.remove(&longest);
        }
        self.next += 1;
        self.connections.insert(self.next, connection);
        Some(self.next)
    }

    /// The most connections of one address.
    fn share(&self) -> usize {
        self.room / SHARE
    }

    fn connections_of(&self, client: IpAddr) -> impl Iterator<Item = &OpenConnection> {
        self.connections
            .values()
            .filter(move |g| g.client == client)
    }

    fn follow(&mut self, number: u64) -> Option<()> {
        let client = self.connections.get(&number)?.client;
        let viewers = self
            .connections_of(client)
            .filter(|g| g.stage.is_viewer())
            .count();
        (viewers < self.share().div_ceil(2))
            .then(|| self.change(number, ConnectionStage::Following))
    }

    fn change(&mut self, number: u64, stage: ConnectionStage) {
        if let Some(connection) = self.connections.get_mut(&number) {
            (connection.stage, connection.since) = (stage, Instant::now());
        }
    }
}

/// One connection; it is forgotten when this is dropped.
pub(super) struct ApiConnection {
    limiter: ConnectionLimiter,
    number: u64,
}

impl ApiConnection {
    /// Notes the begin of a request. Its work ends when the returned value is dropped.
    pub(super) fn start_request(self: &Arc<Self>) -> ActiveRequest {
        self.change(ConnectionStage::Working);
        ActiveRequest(Arc::clone(self))
    }

    /// Makes the connection a viewer of events, if its address may have one more.
    pub(super) fn start_following(self: &Arc<Self>) -> Option<EventViewer> {
        self.limiter.table().follow(self.number)?;
        Some(EventViewer(Arc::clone(self)))
    }

    fn change(&self, stage: ConnectionStage) {
        self.limiter.table().change(self.number, stage);
    }
}

impl Drop for ApiConnection {
    fn drop(&mut self) {
        self.limiter.table().connections.remove(&self.number);
    }
}

/// A request at work.
pub(super) struct ActiveRequest(Arc<ApiConnection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut table = self.0.limiter.table();
        if table
            .connections
            .get(&self.0.number)
            .is_some_and(|g| g.stage == ConnectionStage::Working)
        {
            // A request that made the connection a viewer leaves that stage as it is.
            table.change(self.0.number, ConnectionStage::Waiting);
        }
    }
}

/// A viewer of events.
pub(super) struct EventViewer(Arc<ApiConnection>);

impl EventViewer {
    /// Notes that all events are sent, and the viewer may get the next one.
    pub(super) fn mark_ready(&self) {
        self.0.change(ConnectionStage::Following);
    }

    /// Notes that the viewer got an event, which it must take in time.
    pub(super) fn mark_event_given(&self) {
        self.0.change(ConnectionStage::Taking);
    }
}

impl Drop for EventViewer {
    fn drop(&mut self) {
        self.0.change(ConnectionStage::Waiting);
    }
}

/// The address that stands for a machine. All addresses that one machine may use count as one:
/// 127.0.0.0/8, and a 64-bit IPv6 network (RFC 4291, 2.5.4).
fn client(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V4(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) if ip.is_loopback() => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 64;
    const ALONE: usize = ROOM / SHARE;
    const SECOND: Duration = Duration::from_secs(1);

    fn limiter() -> (ConnectionLimiter, Instant) {
        (ConnectionLimiter::new(2 * ROOM), Instant::now())
    }

    type AdmittedConnection = (Arc<ApiConnection>, oneshot::Receiver<()>);

    fn stays(connection: &mut AdmittedConnection) -> bool {
        connection.1.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    /// Connections of one address that come one after the other.
    fn come(
        limiter: &ConnectionLimiter,
        from: &str,
        count: usize,
        start: Instant,
    ) -> Vec<AdmittedConnection> {
        (0..count)
            .map(|n| {
                limiter
                    .admit(
                        from.parse().unwrap(),
                        start + Duration::from_micros(n as u64),
                    )
                    .expect("room")
            })
            .collect()
    }

    fn staying(connections: &mut [AdmittedConnection]) -> usize {
        connections
            .iter_mut()
            .filter_map(|g| stays(g).then_some(()))
            .count()
    }

    #[test]
    fn one_address_replaces_its_own_connections_only() {
        let (limiter, now) = limiter();
        let mut other = come(&limiter, "10.0.0.2", ALONE, now);
        let mut flood = come(&limiter, "10.0.0.1", 10 * ALONE, now + SECOND);
        assert_eq!((staying(&mut flood), staying(&mut other)), (ALONE, ALONE));
        assert!(
            stays(flood.last_mut().unwrap()),
            "the longest waiting one goes"
        );
    }

    #[test]
    fn a_full_limiter_keeps_requests_at_work_and_viewers() {
        let (limiter, now) = limiter();
        let mut busy = come(&limiter, "10.0.9.1", 2, now);
        let (_work, _view) = (
            busy[0].0.start_request(),
            busy[1].0.start_following().unwrap(),
        );
        let mut flood: Vec<AdmittedConnection> = (1..200)
            .flat_map(|n| come(&limiter, &format!("10.0.1.{n}"), 2, now + n * SECOND))
            .collect();
        assert_eq!((staying(&mut flood), staying(&mut busy)), (ROOM - 2, 2));
    }

    #[test]
    fn a_new_connection_is_refused_while_none_waits() {
        let (limiter, now) = limiter();
        let connections = come(&limiter, "::1", ALONE, now);
        let work: Vec<ActiveRequest> = connections.iter().map(|g| g.0.start_request()).collect();
        assert!(limiter.admit("::1".parse().unwrap(), now).is_none());
        drop(work);
        assert!(limiter.admit("::1".parse().unwrap(), now).is_some());
        drop(connections);
        assert_eq!(limiter.table().connections.len(), 0);
    }

    #[test]
    fn half_of_an_address_may_follow_events() {
        let (limiter, now) = limiter();
        let connections = come(&limiter, "10.0.0.1", ALONE, now);
        let viewers: Vec<_> = connections
            .iter()
            .filter_map(|g| g.0.start_following())
            .collect();
        assert_eq!(viewers.len(), ALONE / 2);
        drop(viewers);
        assert!(connections[0].0.start_following().is_some());
    }

    #[test]
    fn every_stage_ends_but_following() {
        let (limiter, _) = limiter();
        let mut connections = come(&limiter, "10.0.0.1", 4, Instant::now());
        let (_work, ready, given) = (
            connections[1].0.start_request(),
            connections[2].0.start_following().unwrap(),
            connections[3].0.start_following().unwrap(),
        );
        ready.mark_ready();
        given.mark_event_given();
        let now = Instant::now();
        assert_eq!(
            which_stay(9 * SECOND, &limiter, &mut connections, now),
            [true; 4]
        );
        assert_eq!(
            which_stay(11 * SECOND, &limiter, &mut connections, now),
            [false, true, true, false]
        );
        assert_eq!(
            which_stay(16 * SECOND, &limiter, &mut connections, now),
            [false, false, true, false]
        );
        assert_eq!(
            which_stay(3_600 * SECOND, &limiter, &mut connections, now),
            [false, false, true, false]
        );
    }

    fn which_stay(
        time: Duration,
        limiter: &ConnectionLimiter,
        connections: &mut [AdmittedConnection],
        now: Instant,
    ) -> Vec<bool> {
        limiter.sweep(now + time);
        connections.iter_mut().map(stays).collect::<Vec<_>>()
    }

    #[test]
    fn an_answer_that_is_given_leaves_the_connection_waiting() {
        let (limiter, now) = limiter();
        let mut connection = limiter.admit("10.0.0.1".parse().unwrap(), now).unwrap();
        drop(connection.0.start_request());
        limiter.sweep(Instant::now() + 11 * SECOND);
        assert!(!stays(&mut connection));
    }

    #[test]
    fn a_machine_is_one_address() {
        for (all, one) in [
            ("127.9.8.7", "127.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8::7:1", "2001:db8::"),
            ("::1", "::1"),
        ] {
            assert_eq!(client(all.parse().unwrap()).to_string(), one);
        }
    }
}
