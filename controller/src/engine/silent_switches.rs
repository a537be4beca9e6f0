//! Switches that do not answer. A network loses packets, so one answer that is missing is no silence: a
//! switch is silent once the same question has been asked again, in vain, too. Its tables count as last
//! seen from the first missing answer on.
use super::damping::FlapDamping;
use super::observed::ObservedNetwork;
use crate::poll_timing;
use inventory::Millis;
use inventory::alarm::causes::{AlarmCause, AlarmLine};
use inventory::inventory_file::Inventory;
use std::time::Duration;

/// The switches whose last answers are missing.
pub(super) struct UnansweringSwitches<'a> {
    /// Each with the time since.
    switches: Vec<(&'a str, Millis)>,
    /// The time until one has been asked once more.
    again: Duration,
}

impl<'a> UnansweringSwitches<'a> {
    pub(super) fn new(
        observed: &'a ObservedNetwork,
        inventory: &'a Inventory,
    ) -> UnansweringSwitches<'a> {
        let timing = &inventory.timing;
        let pause = poll_timing::pulse(inventory.switches.len(), 0, timing.poll).every;
        UnansweringSwitches {
            switches: observed
                .switches(inventory)
                .filter_map(|(name, view)| Some((name.as_str(), view.stale.as_ref()?.0)))
                .collect(),
            // The next pulse, and the time in which its session gives up.
            again: pause + timing.timeout * (timing.retries + 1),
        }
    }

    /// The times at which they have been asked once more.
    pub(super) fn asked_again(&self) -> impl Iterator<Item = Millis> {
        let since = self.switches.iter().map(|(_, since)| *since);
        since.map(|since| since.after(self.again))
    }

    /// Counts those that fell silent: those that do so again and again flap.
    pub(super) fn count(&self, now: Millis, damping: &mut FlapDamping) {
        for (switch, since) in &self.switches {
            if now >= since.after(self.again) {
                damping.fell_silent(now, switch, *since);
            }
        }
    }

    /// True of an alarm that a switch is stale, as long as one answer may have got lost.
    pub(super) fn explain(&self, alarm: &AlarmLine, ticked: Millis, damping: &FlapDamping) -> bool {
        let Some(AlarmCause::StaleSwitch(stale)) = &alarm.cause else {
            return false;
        };
        !damping.holds_answers(stale)
            && self
                .switches
                .iter()
                .any(|(switch, since)| switch == stale && ticked < since.after(self.again))
    }
}
