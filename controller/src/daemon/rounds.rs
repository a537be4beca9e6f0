//! The brief pulses of a large fleet, asked in rounds from one socket by one task. A task and a
//! socket for each question cost more than the question. A switch that does not answer is asked by
//! its own task and session, which retry and know the reasons.
use super::wanted_reads::WantedReads;
use crate::clock::SteadyClock;
use crate::engine::ControllerEvent;
use crate::triggers;
use agent::{PulseRound, PulseTarget, RoundNews};
use inventory::observation::{DeviceFact, DevicePulse, Observation, ObservationSource};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// The time between two looks at the socket: fifty wake-ups a second, whatever the number of
/// switches.
const STEP: Duration = Duration::from_millis(20);
/// A pulse without news is passed on this often, as a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// A switch that is asked in rounds.
pub(super) struct RoundMember {
    name: String,
    target: PulseTarget,
    wanted: Arc<WantedReads>,
    last: Option<DevicePulse>,
    reported: Option<Instant>,
    /// A request is under way.
    asked: bool,
}

impl RoundMember {
    pub(super) fn new(name: String, target: PulseTarget, wanted: Arc<WantedReads>) -> RoundMember {
        RoundMember {
            name,
            target,
            wanted,
            last: None,
            reported: None,
            asked: false,
        }
    }

    /// Takes a pulse. Returns whether it is worth an event.
    fn take(&mut self, pulse: &DevicePulse, now: Instant) -> bool {
        self.asked = false;
        let news = !triggers::after_pulse(self.last.as_ref(), pulse).is_empty();
        self.last = Some(pulse.clone());
        let due = self.reported.is_none_or(|at| now - at >= SIGN_OF_LIFE);
        if news || due {
            self.reported = Some(now);
        }
        news || due
    }

    /// Leaves the next question to the session.
    fn give_up(&mut self) {
        (self.asked, self.last, self.reported) = (false, None, None);
        self.wanted.in_session.store(true, Relaxed);
        self.wanted.brief.notify_one();
    }
}

/// The rounds over all members.
pub(super) struct PulseRounds {
    round: PulseRound,
    members: Vec<RoundMember>,
    /// The member whose turn is next, and the part of a turn that is left over.
    next: usize,
    rest: f64,
    clock: SteadyClock,
    events: mpsc::Sender<ControllerEvent>,
}

impl PulseRounds {
    pub(super) fn new(
        round: PulseRound,
        members: Vec<RoundMember>,
        clock: SteadyClock,
        events: mpsc::Sender<ControllerEvent>,
    ) -> PulseRounds {
        PulseRounds {
            round,
            members,
            next: 0,
            rest: 0.0,
            clock,
            events,
        }
    }

    /// Asks each member once in `period`, for ever.
    pub(super) async fn run(mut self, period: Duration) {
        let mut step = tokio::time::interval(STEP);
        step.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            step.tick().await;
            let now = Instant::now();
            let news = self.round.news(now);
            self.tell(news, now).await;
            self.ask(STEP.div_duration_f64(period), Instant::now());
        }
    }

    /// Asks this share of the members, those whose turn it is.
    fn ask(&mut self, share: f64, now: Instant) {
        let turns = share * self.members.len() as f64 + self.rest;
        self.rest = turns.fract();
        for _ in 0..(turns as usize).min(self.members.len()) {
            let member = &mut self.members[self.next];
            if !member.asked && !member.wanted.in_session.load(Relaxed) {
                member.asked = true;
                self.round.ask(self.next, &member.target, now);
            }
            self.next = (self.next + 1) % self.members.len();
        }
    }

    async fn tell(&mut self, news: RoundNews, now: Instant) {
        for number in news.overdue {
            self.members[number].give_up();
        }
        for (number, pulse) in news.pulses {
            let member = &mut self.members[number];
            if !member.take(&pulse, now) {
                continue;
            }
            let observation = Observation {
                at: self.clock.now(),
                reporter: member.name.clone(),
                source: ObservationSource::Snmp,
                fact: DeviceFact::Pulse(pulse),
            };
            // The daemon stops first, and this task with it.
            let _ = self
                .events
                .send(ControllerEvent::Observed(observation))
                .await;
        }
    }
}
