//! Who is connected to the API, and for how long: no flood takes the controller's file descriptors
//! or keeps others out.
//!
//! Each stage of a connection but following events ends after [`PATIENCE`] or [`WORK`], whoever is
//! at the other end. There is room for so many connections in total and for an eighth of them from
//! one address. Who comes to a full house takes the place of the connection that has waited longest
//! without a request; those with a request at work, and viewers that follow events, stay.
use super::rate_limiter::RateLimiter;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a handshake and a header may take to come in, a connection may be idle, and an answer
/// or an event may take to go out.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a request may be at work; its body has its own, shorter time.
const WORK: Duration = Duration::from_secs(15);
/// Connections at once, however many files the process may open.
const MOST: usize = 2_048;
/// One address has this part of the room; half of that may follow events.
const SHARE: usize = 8;
/// A full house is told once a minute.
const TOLD: RateLimiter = RateLimiter::new(Duration::from_secs(60), 1);

/// Every connection of the API.
#[derive(Clone)]
pub(super) struct ConnectionLimiter(Arc<Mutex<ConnectionTable>>);

struct ConnectionTable {
    /// Connections at once.
    room: usize,
    guests: HashMap<u64, OpenConnection>,
    next: u64,
    told: RateLimiter,
}

struct OpenConnection {
    home: IpAddr,
    stage: ConnectionStage,
    since: Instant,
    /// Dropped with the guest, which ends its connection.
    _stay: oneshot::Sender<()>,
}

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionStage {
    /// A handshake, a header, the next request, or its answer on the way out.
    Waiting,
    /// A request.
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
    /// Room for half of the `files` the process may open: the other half is the controller's own.
    pub(super) fn new(files: usize) -> ConnectionLimiter {
        let room = (files / 2).clamp(SHARE, MOST);
        ConnectionLimiter(Arc::new(Mutex::new(ConnectionTable {
            room,
            guests: HashMap::new(),
            next: 0,
            told: TOLD,
        })))
    }

    /// Lets a connection in, if need be in another's place; gives with it what resolves when it has
    /// to go.
    pub(super) fn admit(
        &self,
        from: IpAddr,
        now: Instant,
    ) -> Option<(Arc<ApiConnection>, oneshot::Receiver<()>)> {
        let (stay, gone) = oneshot::channel();
        let number = self.book().admit(OpenConnection {
            home: home(from),
            stage: ConnectionStage::Waiting,
            since: now,
            _stay: stay,
        })?;
        Some((
            Arc::new(ApiConnection {
                lobby: self.clone(),
                number,
            }),
            gone,
        ))
    }

    /// Ends the connections that take too long.
    pub(super) fn sweep(&self, now: Instant) {
        self.book().guests.retain(|_, g| {
            g.stage
                .limit()
                .is_none_or(|limit| now.saturating_duration_since(g.since) < limit)
        });
    }

    fn book(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    fn admit(&mut self, guest: OpenConnection) -> Option<u64> {
        let has_share = self.of(guest.home).count() >= self.share();
        if has_share || self.guests.len() >= self.room {
            if self.told.take(guest.since).is_ok() {
                let (home, share, room) = (guest.home, self.share(), self.room);
                let full = if has_share {
                    format!("{home} has its {share}, all for one address")
                } else {
                    format!("all {room} are taken")
                };
                tracing::warn!(
                    "API: connections: {full}; each new one takes the place of the one that has \
                     waited longest without a request"
                );
            }
            let waits = |g: &OpenConnection| {
                g.stage == ConnectionStage::Waiting && (!has_share || g.home == guest.home)
            };
            let longest = self
                .guests
                .iter()
                .filter(|(_, g)| waits(g))
                .min_by_key(|(_, g)| g.since)
                .map(|(number, _)| *number)?;
            self.guests.remove(&longest);
        }
        self.next += 1;
        self.guests.insert(self.next, guest);
        Some(self.next)
    }

    /// How many connections one address may have.
    fn share(&self) -> usize {
        self.room / SHARE
    }

    fn of(&self, home: IpAddr) -> impl Iterator<Item = &OpenConnection> {
        self.guests.values().filter(move |g| g.home == home)
    }

    fn follow(&mut self, number: u64) -> Option<()> {
        let home = self.guests.get(&number)?.home;
        let viewers = self.of(home).filter(|g| g.stage.is_viewer()).count();
        (viewers < self.share().div_ceil(2))
            .then(|| self.change(number, ConnectionStage::Following))
    }

    fn change(&mut self, number: u64, stage: ConnectionStage) {
        if let Some(guest) = self.guests.get_mut(&number) {
            (guest.stage, guest.since) = (stage, Instant::now());
        }
    }
}

/// One connection; it leaves the lobby when this is dropped.
pub(super) struct ApiConnection {
    lobby: ConnectionLimiter,
    number: u64,
}

impl ApiConnection {
    /// A request is at work until what this gives is dropped.
    pub(super) fn start_request(self: &Arc<Self>) -> ActiveRequest {
        self.change(ConnectionStage::Working);
        ActiveRequest(Arc::clone(self))
    }

    /// From now on it follows events, if there is room for one more viewer of its address.
    pub(super) fn start_following(self: &Arc<Self>) -> Option<EventViewer> {
        self.lobby.book().follow(self.number)?;
        Some(EventViewer(Arc::clone(self)))
    }

    fn change(&self, stage: ConnectionStage) {
        self.lobby.book().change(self.number, stage);
    }
}

impl Drop for ApiConnection {
    fn drop(&mut self) {
        self.lobby.book().guests.remove(&self.number);
    }
}

/// A request at work.
pub(super) struct ActiveRequest(Arc<ApiConnection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut book = self.0.lobby.book();
        if book
            .guests
            .get(&self.0.number)
            .is_some_and(|g| g.stage == ConnectionStage::Working)
        {
            // Not so where it made a viewer of the connection.
            book.change(self.0.number, ConnectionStage::Waiting);
        }
    }
}

/// A viewer of events.
pub(super) struct EventViewer(Arc<ApiConnection>);

impl EventViewer {
    /// All it was given is on its way, and it may be given more.
    pub(super) fn mark_ready(&self) {
        self.0.change(ConnectionStage::Following);
    }

    /// It was given an event, which it has to take in time.
    pub(super) fn mark_event_given(&self) {
        self.0.change(ConnectionStage::Taking);
    }
}

impl Drop for EventViewer {
    fn drop(&mut self) {
        self.0.change(ConnectionStage::Waiting);
    }
}

/// All that one machine may call itself is one address: 127.0.0.0/8, and an IPv6 network of 64 bits
/// (RFC 4291, 2.5.4).
fn home(from: IpAddr) -> IpAddr {
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

    fn lobby() -> (ConnectionLimiter, Instant) {
        (ConnectionLimiter::new(2 * ROOM), Instant::now())
    }

    type AdmittedConnection = (Arc<ApiConnection>, oneshot::Receiver<()>);

    fn stays(guest: &mut AdmittedConnection) -> bool {
        guest.1.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    /// Guests of one address that come one after the other.
    fn come(
        lobby: &ConnectionLimiter,
        from: &str,
        count: usize,
        start: Instant,
    ) -> Vec<AdmittedConnection> {
        let at = |n: usize| start + Duration::from_micros(n as u64);
        (0..count)
            .map(|n| lobby.admit(from.parse().unwrap(), at(n)).expect("room"))
            .collect()
    }

    fn staying(guests: &mut [AdmittedConnection]) -> usize {
        guests
            .iter_mut()
            .filter_map(|g| stays(g).then_some(()))
            .count()
    }

    #[test]
    fn one_address_makes_room_for_itself_and_takes_nobody_elses() {
        let (lobby, now) = lobby();
        let mut other = come(&lobby, "10.0.0.2", ALONE, now);
        let mut flood = come(&lobby, "10.0.0.1", 10 * ALONE, now + SECOND);
        assert_eq!((staying(&mut flood), staying(&mut other)), (ALONE, ALONE));
        assert!(stays(flood.last_mut().unwrap()), "who waits longest goes");
    }

    #[test]
    fn a_full_house_makes_room_and_keeps_requests_at_work_and_viewers() {
        let (lobby, now) = lobby();
        let mut busy = come(&lobby, "10.0.9.1", 2, now);
        let (_work, _view) = (
            busy[0].0.start_request(),
            busy[1].0.start_following().unwrap(),
        );
        let mut flood: Vec<AdmittedConnection> = (1..200)
            .flat_map(|n| come(&lobby, &format!("10.0.1.{n}"), 2, now + n * SECOND))
            .collect();
        assert_eq!((staying(&mut flood), staying(&mut busy)), (ROOM - 2, 2));
    }

    #[test]
    fn where_nobody_waits_the_new_one_is_sent_away_and_comes_in_when_one_left() {
        let (lobby, now) = lobby();
        let guests = come(&lobby, "::1", ALONE, now);
        let work: Vec<ActiveRequest> = guests.iter().map(|g| g.0.start_request()).collect();
        let again = || lobby.admit("::1".parse().unwrap(), now).is_some();
        assert!(!again());
        drop(work);
        assert!(again());
        drop(guests);
        assert_eq!(lobby.book().guests.len(), 0);
    }

    #[test]
    fn half_of_an_address_may_follow_events() {
        let (lobby, now) = lobby();
        let guests = come(&lobby, "10.0.0.1", ALONE, now);
        let viewers: Vec<_> = guests
            .iter()
            .filter_map(|g| g.0.start_following())
            .collect();
        assert_eq!(viewers.len(), ALONE / 2);
        drop(viewers);
        assert!(guests[0].0.start_following().is_some());
    }

    #[test]
    fn every_stage_ends_but_following() {
        let (lobby, _) = lobby();
        let mut guests = come(&lobby, "10.0.0.1", 4, Instant::now());
        let (_work, ready, given) = (
            guests[1].0.start_request(),
            guests[2].0.start_following().unwrap(),
            guests[3].0.start_following().unwrap(),
        );
        ready.mark_ready();
        given.mark_event_given();
        let now = Instant::now();
        let mut after = |time: Duration| {
            lobby.sweep(now + time);
            guests.iter_mut().map(stays).collect::<Vec<_>>()
        };
        assert_eq!(after(9 * SECOND), [true; 4]);
        assert_eq!(after(11 * SECOND), [false, true, true, false]);
        assert_eq!(after(16 * SECOND), [false, false, true, false]);
        assert_eq!(after(3_600 * SECOND), [false, false, true, false]);
    }

    #[test]
    fn an_answer_that_is_given_leaves_the_connection_waiting() {
        let (lobby, now) = lobby();
        let mut guest = lobby.admit("10.0.0.1".parse().unwrap(), now).unwrap();
        drop(guest.0.start_request());
        lobby.sweep(Instant::now() + 11 * SECOND);
        assert!(!stays(&mut guest));
    }

    #[test]
    fn a_machine_is_one_address() {
        for (all, one) in [
            ("127.9.8.7", "127.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8::7:1", "2001:db8::"),
            ("::1", "::1"),
        ] {
            assert_eq!(home(all.parse().unwrap()).to_string(), one);
        }
    }
}
