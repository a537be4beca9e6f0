//! When a communicator has done enough for heddle to look at it.
//!
//! Until then its ranks agree on nothing, plan nothing and connect nothing: a call passes to the
//! library at once. Nobody knows before what its calls can gain. A look costs about ten small
//! messages a rank, and a plan. So each rank counts the *work* of the calls: one for each call, and
//! one more for each 4 KiB that this rank exchanges in it. The ranks look when that is worth a
//! hundred looks. The count is the same on all ranks, without a message.
//!
//! How long so much work takes depends on the network. So the ranks meet earlier, four times, and
//! compare how long ago each of them first called. They look then if that is long beside a look. A
//! large first call may take seconds itself. The ranks meet before it, too, and look if all of them can
//! afford to ([`crate::look_allowance`]). If one is late to it, reading its input perhaps, the library
//! has that call, and the ranks meet at a later one.
use crate::settings::RuntimeSettings;
use std::time::{Duration, Instant};

/// About 0.2 s of calls on a network of 1 Gbit/s, however large they are; a look takes some 2 ms
/// there.
const ENOUGH: u64 = 4096;
/// At these parts of that work the ranks meet and compare times. A meeting takes about as long as
/// two small calls.
const MEETINGS: [u64; 4] = [64, 32, 16, 4];
/// A first call is met before if it is more work than this part of it for a rank, 128 KiB,
const FIRST: u64 = 128;
/// and so many times that work for all ranks together: 32 MiB. Half of the ranks send a quarter of that to the others,
/// which takes a link of 100 Mbit/s 0.7 s, and longer where segments are lost. A shorter call saves less than the meeting
/// takes where ranks share processors: 0.2 s of 64 ranks on two.
const FIRST_OF_ALL: u64 = 2;
/// A look takes some 3 ms on an idle network.
pub const WORTH_A_LOOK: Duration = Duration::from_millis(300);
/// The work of a call whose size no rank knows alone: each rank has a message for each other one in
/// it, and so few hundred of them are worth a look.
const OF_UNKNOWN_SIZE: u64 = 32;

/// The work of the calls on a communicator so far.
#[derive(Debug, Default)]
pub struct CommunicatorWork {
    work: u64,
    prepared: bool,
    /// Meetings passed so far.
    met: usize,
    began: Option<Instant>,
}

/// The step to take at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAction {
    /// Pass it on.
    Pass,
    /// Pass it on; rank 0 makes ready for the look. Said once, half-way.
    Prepare,
    /// Meet, and look if the first call was long ago on every rank ([`WORTH_A_LOOK`]), and every rank can afford to.
    Meet,
    /// Meet before the first call, and look if every rank can afford to.
    MeetFirst,
    Look,
}

impl CommunicatorWork {
    /// The time since the first call.
    pub fn lived(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// True before the first call if the library may have it: a rank that is late to it comes to a later
    /// meeting.
    pub fn may_meet_again(&self) -> bool {
        self.began.is_none() && !from_the_first_call()
    }

    /// Counts a call in which this rank exchanges blocks of `block` octets with each of `ranks`, if
    /// all of them know so.
    pub fn count(&mut self, ranks: u64, block: Option<u64>) -> CallAction {
        self.count_up_to(enough(), ranks, block)
    }

    fn count_up_to(&mut self, enough: u64, ranks: u64, block: Option<u64>) -> CallAction {
        let work = block.map_or(OF_UNKNOWN_SIZE, |block| {
            (block.saturating_mul(ranks) >> 12).saturating_add(1)
        });
        let may_be_long = work > (enough / FIRST).max(1)
            && work.saturating_mul(ranks) >= enough.saturating_mul(FIRST_OF_ALL);
        self.work = self.work.saturating_add(work);
        // At the first call no time has passed.
        let is_first = self.began.is_none();
        self.began.get_or_insert_with(Instant::now);
        // A large call passes several of them at once.
        let reached = MEETINGS.iter().filter(|&part| self.work >= enough / part);
        let passed = reached.count();
        if self.work >= enough {
            CallAction::Look
        } else if is_first && may_be_long {
            CallAction::MeetFirst
        } else if passed > self.met && !is_first {
            self.met = passed;
            CallAction::Meet
        } else if 2 * self.work >= enough && !self.prepared {
            self.prepared = true;
            CallAction::Prepare
        } else {
            CallAction::Pass
        }
    }
}

/// True if the first call counts already: then rank 0 waits for the epoch.
pub fn from_the_first_call() -> bool {
    enough() == 0
}

/// `HEDDLE_AFTER`, and nothing where a way is forced: then it is to be taken from the first call
/// on.
fn enough() -> u64 {
    enough_by(RuntimeSettings::here())
}

fn enough_by(settings: &RuntimeSettings) -> u64 {
    let usual = if settings.force.is_any() { 0 } else { ENOUGH };
    settings.after.unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_pass_and_many_are_looked_at_once_prepared() {
        let mut worth = CommunicatorWork::default();
        let steps: Vec<CallAction> = (0..128)
            .map(|_| worth.count_up_to(128, 4, Some(8)))
            .collect();
        let at = |action| {
            let calls = (1..).zip(&steps);
            calls
                .filter(|(_, step)| **step == action)
                .map(|(call, _)| call)
                .collect::<Vec<u32>>()
        };
        assert_eq!(at(CallAction::MeetFirst), [0; 0]);
        assert_eq!(at(CallAction::Meet), [2, 4, 8, 32]);
        assert_eq!(at(CallAction::Prepare), [64]);
        assert_eq!(at(CallAction::Look), [128]);
    }

    #[test]
    fn large_blocks_count_for_more() {
        let calls = |block| {
            let mut worth = CommunicatorWork::default();
            (1..)
                .find(|_| worth.count_up_to(ENOUGH, 16, block) == CallAction::Look)
                .unwrap()
        };
        let of = |block| calls(Some(block));
        assert_eq!((of(8), of(1 << 16), of(1 << 30)), (4096, 16, 1));
        assert_eq!(calls(None), 128);
    }

    #[test]
    fn the_ranks_meet_before_a_large_first_call_and_after_a_small_one() {
        let steps = |block| {
            let mut worth = CommunicatorWork::default();
            [(); 3].map(|()| worth.count_up_to(ENOUGH, 64, block))
        };
        let (pass, meet) = (CallAction::Pass, CallAction::Meet);
        assert_eq!(steps(Some(1 << 12)), [pass, meet, pass]);
        assert_eq!(steps(Some(1 << 13)), [CallAction::MeetFirst, meet, pass]);
        assert_eq!(steps(None), [pass, meet, pass]);
    }

    #[test]
    fn a_call_that_is_work_for_several_meetings_has_one() {
        let mut worth = CommunicatorWork::default();
        let steps: Vec<CallAction> = (0..5)
            .map(|_| worth.count_up_to(ENOUGH, 32, Some(1 << 15)))
            .collect();
        let (first, meet, pass) = (CallAction::MeetFirst, CallAction::Meet, CallAction::Pass);
        assert_eq!(steps, [first, meet, pass, meet, pass]);
    }

    #[test]
    fn a_forced_way_is_taken_at_once() {
        let of = |pairs: &'static [(&str, &str)]| {
            enough_by(&RuntimeSettings::read(|name: &str| {
                pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned())
            }))
        };
        assert_eq!(of(&[]), ENOUGH);
        assert_eq!(of(&[("HEDDLE_FORCE", "ring")]), 0);
        assert_eq!(of(&[("HEDDLE_TURNS", "native,ring")]), 0);
        assert_eq!(of(&[("HEDDLE_FORCE", "ring"), ("HEDDLE_AFTER", "3")]), 3);
        assert_eq!(of(&[("HEDDLE_AFTER", "soon")]), ENOUGH);
    }
}
