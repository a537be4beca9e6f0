//! Switches that do not answer. A network loses packets, so one answer that is missing is no silence: a
//! switch is silent once the same question has been asked again, in vain, too. Its tables count as last
//! seen from the first missing answer on.
use super::ControllerEngine;
use crate::poll_timing;
use inventory::Millis;
use inventory::alarm::causes::{AlarmCause, AlarmLine};
use std::time::Duration;

impl ControllerEngine {
    /// The time until a switch that did not answer has been asked once more.
    fn asked_again_after(&self) -> Duration {
        let (timing, switches) = (&self.inventory.timing, self.inventory.switches.len());
        let pause = poll_timing::pulse(switches, 0, timing.poll).every;
        pause + timing.timeout * (timing.retries + 1)
    }

    /// The switches whose last answers are missing, each with the time since.
    fn unanswering(&self) -> impl Iterator<Item = (&str, Millis)> {
        let switches = self.observed.switches(&self.inventory);
        switches.filter_map(|(name, view)| Some((name.as_str(), view.stale.as_ref()?.0)))
    }

    /// The times at which such a switch has been asked once more.
    pub(super) fn asked_again(&self) -> impl Iterator<Item = Millis> {
        let again = self.asked_again_after();
        self.unanswering().map(move |(_, since)| since.after(again))
    }

    /// Counts switches that fell silent: those that do so again and again flap.
    pub(super) fn note_silence(&mut self, now: Millis) {
        let again = self.asked_again_after();
        let silent = self
            .unanswering()
            .filter(|(_, since)| now >= since.after(again));
        let silent: Vec<(String, Millis)> = silent
            .map(|(name, since)| (name.to_owned(), since))
            .collect();
        for (switch, since) in silent {
            self.judged.damping.fell_silent(now, &switch, since);
        }
    }

    /// True of an alarm that a switch is stale, as long as one answer may have got lost.
    pub(super) fn may_be_a_lost_answer(&self, alarm: &AlarmLine) -> bool {
        let Some(AlarmCause::StaleSwitch(stale)) = &alarm.cause else {
            return false;
        };
        let again = self.asked_again_after();
        !self.judged.damping.holds_answers(stale)
            && self
                .unanswering()
                .any(|(switch, since)| switch == stale && self.ticked < since.after(again))
    }
}
