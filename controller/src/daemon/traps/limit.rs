//! Limits the reads of a switch that its traps cause. The first trap of a topic causes a read at
//! once. All traps that follow within the pause cause one read together, at its end. So a read
//! follows every trap, and a flood of traps costs one read for each pause.
use crate::triggers::TrapTopic;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// The recent traps, by origin.
pub(super) struct TrapLimit {
    pause: Duration,
    hints: HashMap<TrapOrigin, DelayedTrap>,
}

/// The origin of a trap. All strangers share one, because they can make up addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TrapOrigin {
    /// A switch's address, and the topic of its trap.
    Switch(IpAddr, TrapTopic),
    /// An unknown sender.
    Stranger,
}

struct DelayedTrap {
    /// The time from which the next trap may pass.
    free: Instant,
    /// The last trap that has not passed yet.
    waiting: Option<(IpAddr, TrapTopic)>,
}

impl TrapLimit {
    /// Two traps of one origin pass at least `pause` apart.
    pub(super) fn new(pause: Duration) -> TrapLimit {
        TrapLimit {
            pause,
            hints: HashMap::new(),
        }
    }

    /// Takes a trap. Returns whether it passes at once; otherwise it waits to be
    /// [`TrapLimit::due`].
    pub(super) fn take(
        &mut self,
        now: Instant,
        origin: TrapOrigin,
        trap: (IpAddr, TrapTopic),
    ) -> bool {
        let hint = self.hints.entry(origin).or_insert(DelayedTrap {
            free: now,
            waiting: None,
        });
        let at_once = hint.waiting.is_none() && now >= hint.free;
        if at_once {
            hint.free = now + self.pause;
        } else {
            hint.waiting = Some(trap);
        }
        at_once
    }

    /// Takes out the traps that waited long enough.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(IpAddr, TrapTopic)> {
        let mut due = Vec::new();
        for hint in self.hints.values_mut().filter(|hint| now >= hint.free) {
            if let Some(trap) = hint.waiting.take() {
                hint.free = now + self.pause;
                due.push(trap);
            }
        }
        due
    }

    /// The time at which [`TrapLimit::due`] has the next trap.
    pub(super) fn next(&self) -> Option<Instant> {
        self.hints
            .values()
            .filter(|hint| hint.waiting.is_some())
            .map(|hint| hint.free)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    fn switch(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    fn ms(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// The times, in ms, at which these traps pass: the work of the listener, without a clock.
    fn looks(traps: &[(u64, TrapTopic)]) -> Vec<(u64, TrapTopic)> {
        let (start, mut limit, mut looks) = (Instant::now(), TrapLimit::new(PAUSE), Vec::new());
        let mut coming = traps.iter().copied().peekable();
        loop {
            let next = limit.next();
            match (coming.peek(), next) {
                (Some((at, _)), due) if due.is_none_or(|due| ms(start, *at) < due) => {
                    let (at, kind) = coming.next().unwrap();
                    if limit.take(
                        ms(start, at),
                        TrapOrigin::Switch(switch(1), kind),
                        (switch(1), kind),
                    ) {
                        looks.push((at, kind));
                    }
                }
                (_, Some(due)) => looks.extend(
                    limit
                        .due(due)
                        .into_iter()
                        .map(|(_, kind)| ((due - start).as_millis() as u64, kind)),
                ),
                (None, None) => return looks,
                (Some(_), None) => unreachable!("taken above"),
            }
        }
    }

    #[test]
    fn a_trap_alone_is_looked_after_at_once() {
        assert_eq!(
            looks(&[(5, TrapTopic::Link), (2000, TrapTopic::Link)]),
            [(5, TrapTopic::Link), (2000, TrapTopic::Link)]
        );
    }

    #[test]
    fn one_change_that_is_reported_in_several_ways_is_looked_after_at_once_in_each() {
        let traps = [
            (0, TrapTopic::Link),
            (40, TrapTopic::Stp),
            (90, TrapTopic::Lldp),
            (95, TrapTopic::Other),
        ];
        assert_eq!(looks(&traps), traps);
    }

    #[test]
    fn a_flood_costs_a_look_a_pause_and_one_follows_the_last_trap() {
        let flood: Vec<(u64, TrapTopic)> = (0..10_000).map(|n| (n, TrapTopic::Link)).collect();
        let looks = looks(&flood);
        let expected: Vec<u64> = (0..=10).map(|s| s * 1000).collect();
        assert_eq!(
            looks.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            expected,
            "the last trap came at 9,999"
        );
    }

    #[test]
    fn a_look_follows_every_trap_however_they_come() {
        for seed in 0..200_u64 {
            let mut at = 0;
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let traps: Vec<(u64, TrapTopic)> = (0..50)
                .map(|_| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    at += (random >> 33) % 700;
                    (
                        at,
                        if random >> 63 == 0 {
                            TrapTopic::Link
                        } else {
                            TrapTopic::Stp
                        },
                    )
                })
                .collect();
            let looks = looks(&traps);
            for (at, kind) in &traps {
                assert!(
                    looks
                        .iter()
                        .any(|(look, of)| of == kind && look >= at && look - at <= 1000),
                    "{seed}: {at} {kind:?}: {looks:?}"
                );
            }
            for kind in [TrapTopic::Link, TrapTopic::Stp] {
                let of: Vec<u64> = looks
                    .iter()
                    .filter(|(_, k)| *k == kind)
                    .map(|(at, _)| *at)
                    .collect();
                assert!(
                    of.windows(2).all(|pair| pair[1] - pair[0] >= 1000),
                    "{seed}: {of:?}"
                );
            }
        }
    }

    #[test]
    fn switches_do_not_wait_for_each_other_and_strangers_count_as_one() {
        let (now, mut limit) = (Instant::now(), TrapLimit::new(PAUSE));
        for n in 1..=3 {
            assert!(limit.take(
                now,
                TrapOrigin::Switch(switch(n), TrapTopic::Link),
                (switch(n), TrapTopic::Link)
            ));
        }
        assert!(limit.take(now, TrapOrigin::Stranger, (switch(200), TrapTopic::Link)));
        for n in 201..=255 {
            assert!(!limit.take(now, TrapOrigin::Stranger, (switch(n), TrapTopic::Other)));
        }
        assert_eq!(limit.due(ms(now, 999)), []);
        assert_eq!(
            (limit.next(), limit.due(ms(now, 1000))),
            (Some(ms(now, 1000)), vec![(switch(255), TrapTopic::Other)])
        );
        assert_eq!((limit.next(), limit.hints.len()), (None, 4));
    }
}
