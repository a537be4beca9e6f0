//! Hold-down: a change is believed only after the network held still for some time. A trap or a
//! counter is a hint: it begins the times of a change only where a change follows it.
use super::candidate::{EpochCandidate, PublishedNetwork};
use super::further_networks;
use inventory::diff::host_changes;
use inventory::difference::TopologyDifference;
use inventory::topology::LinkState;
use inventory::{BitsPerSec, Millis, Topology, counted};
use std::collections::BTreeSet;
use std::time::Duration;

/// A change that keeps changing is believed after this many hold-downs, in its state at that time.
const MOST_HOLDS: u32 = 10;
/// Changes closer together than this belong to one burst: the events from a first sign to an epoch.
const BURST: Duration = Duration::from_secs(5);
/// The same while the network is as published: echoes of the last change must not become the start
/// of the next one. A hint, too, belongs to a change that follows within this time. A hint that no
/// change follows does not belong to a burst.
const ECHO: Duration = Duration::from_secs(1);

/// A candidate that differs from the published network, and its times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeldChange {
    /// The network that would be published.
    pub(crate) candidate: EpochCandidate,
    /// The time at which a candidate first differed from the published tree.
    pub(crate) since: Millis,
    /// The time at which this candidate came up.
    pub(crate) from: Millis,
    /// The time at which it is believed if nothing else changes.
    pub(crate) due: Millis,
    /// The time at which it is believed even while tables are missing.
    latest: Millis,
    /// The differences from the published tree.
    pub(crate) changes: Vec<String>,
    /// The ends of the links that differ; `None` before the first epoch.
    touched: Option<BTreeSet<String>>,
}

impl HeldChange {
    /// Returns whether the change touches a switch.
    pub(crate) fn concerns(&self, switch: &str) -> bool {
        self.touched
            .as_ref()
            .is_none_or(|touched| touched.contains(switch))
    }
}

/// The ends of the links that differ between two networks.
fn touched(difference: &TopologyDifference) -> BTreeSet<String> {
    let TopologyDifference { before, after } = difference;
    let (before, after) = (compared_links(before), compared_links(after));
    before
        .symmetric_difference(&after)
        .flat_map(|(a, _, b, ..)| [(*a).to_owned(), (*b).to_owned()])
        .collect()
}

fn compared_links(t: &Topology) -> BTreeSet<(&str, &str, &str, BitsPerSec, LinkState)> {
    t.links
        .iter()
        .map(|l| {
            (
                l.a.as_str(),
                l.a_port.as_str(),
                l.b.as_str(),
                l.rate_bps,
                l.state,
            )
        })
        .collect()
}

/// The hold-down of candidates.
#[derive(Debug, Clone, Default)]
pub(crate) struct HoldDown {
    held: Option<HeldChange>,
    /// The first and the last hint of a series without a pause.
    hints: Option<(Millis, Millis)>,
    /// The first sign of the present change, and the last change.
    burst: Option<(Millis, Millis)>,
    calm: bool,
}

impl HoldDown {
    /// Notes a hint that something may have changed: a counter, or a trap.
    pub(crate) fn hint(&mut self, now: Millis) {
        // In a series of hints without a pause, it is unknown which hint announced the change.
        let earliest = now.before(ECHO);
        self.hints = match self.hints {
            Some((first, last)) if last >= earliest => Some((first.max(earliest), now)),
            _ => Some((now, now)),
        };
    }

    /// Notes a change: the inferred network differs.
    pub(crate) fn change(&mut self, now: Millis) {
        let pause = if self.calm { ECHO } else { BURST };
        let began = self
            .burst
            .filter(|(_, last)| now.since(*last) <= pause)
            .map(|(first, _)| first);
        let hinted = self
            .hints
            .filter(|(_, last)| now.since(*last) <= ECHO)
            .map(|(first, _)| first);
        self.burst = Some((began.or(hinted).unwrap_or(now), now));
    }

    /// Notes whether the network is as published, with no table missing.
    pub(crate) fn set_calm(&mut self, calm: bool) {
        self.calm = calm;
    }

    /// The first sign of the burst that led to a candidate; `since` is the time of
    /// [`HeldChange::since`].
    pub(crate) fn first_sign(&self, since: Millis) -> Millis {
        self.burst
            .filter(|(_, last)| since.since(*last) <= BURST)
            .map_or(since, |(first, _)| first.min(since))
    }

    /// Takes the latest candidate, or `None` if there is no tree to plan on, and the time since which
    /// nothing changed. `hold` is the hold-down.
    pub(crate) fn consider(
        &mut self,
        (now, still): (Millis, Millis),
        candidate: Option<EpochCandidate>,
        settled: Option<&PublishedNetwork>,
        hold: Duration,
    ) {
        let Some(candidate) = candidate.filter(|c| settled.is_none_or(|s| s.key != c.key)) else {
            self.held = None;
            return;
        };
        if self
            .held
            .as_ref()
            .is_some_and(|held| held.candidate.key == candidate.key)
        {
            return;
        }
        // Another candidate starts the hold-down anew, but not without end: a network that never holds still is
        // published as it is then.
        let since = self.held.as_ref().map_or(now, |held| held.since);
        if self.held.is_none() && self.calm {
            // It began while the network was as published: the change before it is over.
            self.burst = self.burst.filter(|(_, last)| now.since(*last) <= ECHO);
        }
        let latest = since.after(hold.saturating_mul(MOST_HOLDS));
        let due = still.after(hold).min(latest);
        let difference =
            settled.and_then(|s| TopologyDifference::between(&s.network, &candidate.network));
        let changes = match settled {
            Some(s) => difference
                .iter()
                .flat_map(TopologyDifference::changes)
                .collect::<Vec<_>>()
                .iter()
                .map(ToString::to_string)
                .chain(host_changes(&s.key, &candidate.key))
                .chain(further_networks::changes(&s.key, &candidate.key))
                .collect(),
            None => vec![format!(
                "first look: {} on {}",
                counted(candidate.key.hosts.len(), "host"),
                counted(candidate.key.switches.len(), "switch")
            )],
        };
        let touched = settled.map(|_| difference.as_ref().map(touched).unwrap_or_default());
        self.held = Some(HeldChange {
            candidate,
            since,
            from: now,
            due,
            latest,
            changes,
            touched,
        });
    }

    /// The candidate in its hold-down.
    pub(crate) fn held(&self) -> Option<&HeldChange> {
        self.held.as_ref()
    }

    /// Returns whether there is a change that is not believed yet.
    pub(crate) fn is_waiting(&self, now: Millis) -> bool {
        self.held.as_ref().is_some_and(|change| now < change.due)
    }

    /// The candidate, once it held still. `reading`: requested tables are missing, which delays the
    /// candidate up to a limit.
    pub(crate) fn due_candidate(&self, now: Millis, reading: bool) -> Option<&HeldChange> {
        self.held
            .as_ref()
            .filter(|h| now >= h.due && (!reading || now >= h.latest))
    }

    /// The time at which [`HoldDown::due_candidate`] may return a candidate.
    pub(crate) fn deadline(&self, reading: bool) -> Option<Millis> {
        self.held
            .as_ref()
            .map(|h| if reading { h.latest } else { h.due })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::candidate::tests::candidate;

    const HOLD: Duration = Duration::from_millis(500);

    /// A candidate that is inferred at once.
    fn at(ms: u64) -> (Millis, Millis) {
        (Millis(ms), Millis(ms))
    }

    #[test]
    fn a_change_is_believed_after_it_held_still() {
        let mut b = HoldDown::default();
        b.consider(at(0), Some(candidate("s0")), None, HOLD);
        assert_eq!(b.due_candidate(Millis(499), false), None);
        b.consider(at(300), Some(candidate("s1")), None, HOLD);
        assert_eq!(b.due_candidate(Millis(799), false), None);
        assert_eq!(
            b.due_candidate(Millis(800), false).unwrap().candidate,
            candidate("s1")
        );
        assert_eq!(b.due_candidate(Millis(800), true), None);
        assert!(b.due_candidate(Millis(5000), true).is_some());
    }

    #[test]
    fn a_change_that_was_gathered_held_still_meanwhile() {
        let mut b = HoldDown::default();
        let gathered = (Millis(500), Millis(350));
        b.consider(gathered, Some(candidate("s0")), None, HOLD);
        assert_eq!(b.due_candidate(Millis(849), false), None);
        assert!(b.due_candidate(Millis(850), false).is_some());
    }

    #[test]
    fn flapping_puts_it_off_but_not_for_ever() {
        let mut b = HoldDown::default();
        let mut believed_at = None;
        for t in (0..10_000).step_by(100) {
            b.consider(
                at(t),
                Some(candidate(["s0", "s1"][(t / 100 % 2) as usize])),
                None,
                HOLD,
            );
            if b.due_candidate(Millis(t), false).is_some() && believed_at.is_none() {
                believed_at = Some(t);
            }
        }
        assert_eq!(believed_at, Some(5000));
    }

    #[test]
    fn a_change_that_reverts_is_forgotten() {
        let settled = PublishedNetwork::new(4, candidate("s0"));
        let mut b = HoldDown::default();
        b.consider(at(0), Some(candidate("s1")), Some(&settled), HOLD);
        assert!(b.held().is_some());
        b.consider(at(100), Some(candidate("s0")), Some(&settled), HOLD);
        assert_eq!(b.held(), None);
        b.consider(at(200), Some(candidate("s1")), Some(&settled), HOLD);
        b.consider(at(300), None, Some(&settled), HOLD);
        assert_eq!(b.due_candidate(Millis(9000), false), None);
    }

    #[test]
    fn changes_close_together_are_one_burst() {
        let mut b = HoldDown::default();
        for t in [1000, 3000, 7000] {
            b.change(Millis(t));
        }
        assert_eq!(b.first_sign(Millis(7000)), Millis(1000));
        assert_eq!(
            b.first_sign(Millis(12_001)),
            Millis(12_001),
            "a change held since then is another burst"
        );
        b.change(Millis(12_001));
        assert_eq!(b.first_sign(Millis(12_001)), Millis(12_001));
        b.set_calm(true);
        b.change(Millis(13_000));
        assert_eq!(b.first_sign(Millis(13_000)), Millis(12_001));
        b.change(Millis(15_000));
        assert_eq!(b.first_sign(Millis(15_000)), Millis(15_000));
    }

    /// Agents that start offer ranks, which no cable shows.
    #[test]
    fn a_change_of_ranks_begins_when_it_is_seen() {
        let mut b = HoldDown::default();
        b.change(Millis(1000));
        b.consider(at(1000), Some(candidate("s0")), None, HOLD);
        let settled = PublishedNetwork::new(1, candidate("s0"));
        b.consider(at(1600), Some(candidate("s0")), Some(&settled), HOLD);
        b.set_calm(true);
        b.consider(at(5500), Some(candidate("s1")), Some(&settled), HOLD);
        assert_eq!(b.first_sign(Millis(5500)), Millis(5500));
    }

    #[test]
    fn only_a_hint_that_a_change_follows_begins_a_burst() {
        let mut b = HoldDown::default();
        (1..1000).for_each(|n| b.hint(Millis(100 * n)));
        b.change(Millis(100_000));
        assert_eq!(
            b.first_sign(Millis(100_000)),
            Millis(98_900),
            "the first within a second of the last"
        );
        b.hint(Millis(200_000));
        b.change(Millis(201_001));
        assert_eq!(b.first_sign(Millis(201_001)), Millis(201_001));
        b.hint(Millis(300_000));
        b.change(Millis(300_900));
        b.change(Millis(303_000));
        assert_eq!(b.first_sign(Millis(303_000)), Millis(300_000));
    }
}
