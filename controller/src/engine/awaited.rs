//! The switches and hosts that a controller waits for at its start.
use super::ControllerEngine;
use super::judgement::NetworkJudgement;
use inventory::Millis;
use inventory::alarm::arguments::TreeDoubt;
use std::time::Duration;

/// The time in which the agents of running hosts report to a controller that was away: they try again
/// every 30 s at least.
const AGENTS_RETURN: Duration = Duration::from_secs(60);

impl ControllerEngine {
    /// Returns whether the first look at the network is under way.
    pub(super) fn is_looking(&self, now: Millis) -> bool {
        self.is_deaf() || self.looking_until().is_some_and(|end| now < end)
    }

    /// Returns whether nobody ever reported anything: no switch is listed, and no agent reports. Then what
    /// is published stays.
    fn is_deaf(&self) -> bool {
        self.inventory.switches.is_empty()
            && self.public.settled.is_some()
            && self.observed.views.values().all(|view| view.host.is_none())
    }

    /// The latest end of the first look: at each switch, or, where none is listed, the first report of
    /// each agent. A slow one must not keep the others from being judged. An epoch that was
    /// published before is worth a longer wait.
    pub(super) fn looking_until(&self) -> Option<Millis> {
        let patience = self.options.patience;
        let (is_looking, wait) = if self.inventory.switches.is_empty() {
            let settled = self.public.settled.as_ref();
            let wait = settled.map_or(patience, |_| patience.max(AGENTS_RETURN));
            let mut awaited = self
                .inventory
                .hosts
                .keys()
                .filter(|host| settled.is_none_or(|s| s.key.hosts.contains_key(*host)));
            (
                !awaited.all(|host| {
                    let view = self.observed.views.get(host);
                    view.is_some_and(|view| view.host.is_some())
                }),
                wait,
            )
        } else {
            (self.observed.is_looking(&self.inventory), patience)
        };
        is_looking.then(|| self.started.after(wait))
    }

    /// The switches and hosts that the first epoch waits for.
    pub(super) fn still_missing(&self, judgement: &NetworkJudgement) -> Vec<TreeDoubt> {
        let silent = self
            .observed
            .switches(&self.inventory)
            .filter(|(_, v)| v.stale.is_some())
            .map(|(name, _)| TreeDoubt::SwitchSilent(name.clone()));
        let file = judgement
            .candidate
            .as_ref()
            .ok()
            .map(|candidate| &candidate.key);
        let unseen = self
            .inventory
            .hosts
            .keys()
            .filter(|h| file.is_some_and(|file| !file.hosts.contains_key(*h)));
        silent
            .chain(unseen.map(|h| TreeDoubt::HostUnseen(h.clone())))
            .collect()
    }
}
