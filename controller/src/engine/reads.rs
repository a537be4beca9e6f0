//! Which tables are asked for and not answered yet, and when every switch is due for a full look.
use inventory::Millis;
use inventory::observation::{DeviceFact, DeviceTable};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long to wait between two searches for what is missing, at least and at most.
const SEARCH: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A change is put off for tables asked for. Those of a switch that takes longer than this to
/// answer put off only what concerns that switch: a slow one must not delay what the others say.
const PROMPT: Duration = Duration::from_secs(1);

/// When a table that changed is read once more: its counter has the agent's resolution, a whole
/// second on some, and does not tell of another change within that.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
struct SwitchReads {
    waiting: BTreeSet<DeviceTable>,
    /// Since when it is waited for.
    since: Millis,
    looked: bool,
    full_due: Millis,
    /// When LLDP is read once more.
    lldp_again: Option<Millis>,
}

/// Reading, by switch.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingReads {
    switches: BTreeMap<String, SwitchReads>,
    /// Since when something is searched for, and when to look next.
    search: Option<(Millis, Millis)>,
}

impl PendingReads {
    /// Tables of a switch are asked for; a full look puts the next one off.
    pub(crate) fn asked(
        &mut self,
        now: Millis,
        switch: &str,
        tables: &[DeviceTable],
        full: Duration,
    ) {
        let s = self.switches.entry(switch.to_owned()).or_default();
        if s.waiting.is_empty() {
            s.since = now;
        }
        s.waiting.extend(tables);
        if tables.len() == DeviceTable::ALL.len() {
            s.full_due = now.after(full);
        }
    }

    /// LLDP of a switch changed.
    pub(crate) fn lldp_changed(&mut self, now: Millis, switch: &str) {
        self.switches
            .entry(switch.to_owned())
            .or_default()
            .lldp_again = Some(now.after(AGAIN));
    }

    /// Switches whose LLDP is to be read once more, each told once.
    pub(crate) fn lldp_again(&mut self, now: Millis) -> Vec<String> {
        let due = self
            .switches
            .iter_mut()
            .filter_map(|(name, s)| s.lldp_again.take_if(|at| now >= *at).map(|_| name.clone()));
        due.collect()
    }

    /// A switch was looked at before this record of it begins.
    pub(crate) fn mark_already_read(&mut self, switch: &str) {
        self.switches.entry(switch.to_owned()).or_default().looked = true;
    }

    /// A switch answered, or did not. Returns whether that was the last thing it was asked for.
    pub(crate) fn answered(&mut self, switch: &str, fact: &DeviceFact) -> bool {
        let Some(s) = self.switches.get_mut(switch) else {
            return false;
        };
        let before = s.waiting.len();
        match fact {
            DeviceFact::Failed { table: None, .. } => s.waiting.clear(),
            fact => {
                if let Some(table) = table(fact) {
                    s.waiting.remove(&table);
                }
            }
        }
        let last = before > 0 && s.waiting.is_empty();
        s.looked |= last;
        last
    }

    /// Whether the first look at a switch is still under way.
    pub(crate) fn is_first_read_pending(&self, switch: &str) -> bool {
        self.switches.get(switch).is_none_or(|s| !s.looked)
    }

    /// Whether anything asked for is still to come, soon or from one of the switches that
    /// `concerned` says.
    pub(crate) fn waiting(&self, now: Millis, concerned: impl Fn(&str) -> bool) -> bool {
        self.prompt()
            .any(|(switch, until)| now < until || concerned(switch))
    }

    /// Until when each switch that was asked is waited for.
    fn prompt(&self) -> impl Iterator<Item = (&str, Millis)> {
        let asked = self.switches.iter().filter(|(_, s)| !s.waiting.is_empty());
        asked.map(|(name, s)| (name.as_str(), s.since.after(PROMPT)))
    }

    /// Switches due for a full look.
    pub(crate) fn due(&self, now: Millis) -> Vec<String> {
        self.switches
            .iter()
            .filter(|(_, s)| now >= s.full_due)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Forgets a switch that left the inventory.
    pub(crate) fn forget(&mut self, switch: &str) {
        self.switches.remove(switch);
    }

    /// Whether to look again for what is missing: often at first, then ever more rarely.
    pub(crate) fn is_search_due(&mut self, now: Millis, missing: bool) -> bool {
        match self.search {
            _ if !missing => {
                self.search = None;
                false
            }
            None => {
                self.search = Some((now, now.after(SEARCH.0)));
                false
            }
            Some((since, due)) => {
                let pause = (now.since(since) / 4).clamp(SEARCH.0, SEARCH.1);
                let look = now >= due;
                self.search = Some((since, if look { now.after(pause) } else { due }));
                look
            }
        }
    }

    /// The moments at which something is due.
    pub(crate) fn deadlines(&self) -> impl Iterator<Item = Millis> + '_ {
        let switches = self
            .switches
            .values()
            .flat_map(|s| [Some(s.full_due), s.lldp_again])
            .flatten();
        switches
            .chain(self.search.map(|(_, due)| due))
            .chain(self.prompt().map(|(_, until)| until))
    }
}

/// The table whose content or failure a fact is; `None` for a pulse, a host agent's report or a
/// silent device.
fn table(fact: &DeviceFact) -> Option<DeviceTable> {
    match fact {
        DeviceFact::System(_) => Some(DeviceTable::System),
        DeviceFact::Interfaces(_) => Some(DeviceTable::Interfaces),
        DeviceFact::Lldp(_) => Some(DeviceTable::Lldp),
        DeviceFact::Bridge(_) => Some(DeviceTable::Bridge),
        DeviceFact::Fdb(_) => Some(DeviceTable::Fdb),
        DeviceFact::Arp(_) => Some(DeviceTable::Arp),
        DeviceFact::Pulse(_) | DeviceFact::Host(_) => None,
        DeviceFact::Failed { table, .. } => *table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_ends_with_the_last_table_or_with_silence() {
        let mut r = PendingReads::default();
        r.asked(
            Millis(0),
            "s0",
            &[DeviceTable::Fdb, DeviceTable::Arp],
            PROMPT,
        );
        assert!(
            r.is_first_read_pending("s0")
                && r.is_first_read_pending("s9")
                && r.waiting(Millis(999), |_| false)
        );
        assert!(
            !r.waiting(Millis(1000), |s| s == "s1") && r.waiting(Millis(1000), |s| s == "s0"),
            "too slow to wait for, unless it is about that"
        );
        assert!(r.deadlines().any(|at| at == Millis(1000)));
        assert!(!r.answered("s0", &DeviceFact::Fdb(Vec::new())));
        assert!(!r.answered("s0", &DeviceFact::Fdb(Vec::new())));
        assert!(r.answered(
            "s0",
            &DeviceFact::Failed {
                table: Some(DeviceTable::Arp),
                problem: String::new()
            }
        ));
        assert!(!r.is_first_read_pending("s0") && !r.waiting(Millis(0), |_| true));
        r.asked(Millis(0), "s1", &DeviceTable::ALL, PROMPT);
        assert!(r.answered(
            "s1",
            &DeviceFact::Failed {
                table: None,
                problem: String::new()
            }
        ));
        assert_eq!(r.due(Millis(999)), ["s0"]);
        assert_eq!(r.due(Millis(1000)), ["s0", "s1"]);
    }

    #[test]
    fn changed_lldp_is_read_once_more() {
        let mut r = PendingReads::default();
        assert!(r.lldp_again(Millis(9000)).is_empty());
        r.lldp_changed(Millis(0), "s0");
        r.lldp_changed(Millis(500), "s0");
        assert!(
            r.lldp_again(Millis(1499)).is_empty() && r.deadlines().any(|at| at == Millis(1500))
        );
        assert_eq!(
            (r.lldp_again(Millis(1500)), r.lldp_again(Millis(1600))),
            (vec!["s0".to_owned()], vec![])
        );
    }

    #[test]
    fn searches_grow_rare() {
        let mut r = PendingReads::default();
        let looks: Vec<u64> = (0..100)
            .map(|s| s * 1000)
            .filter(|t| r.is_search_due(Millis(*t), true))
            .collect();
        assert_eq!(looks[..5], [1000, 2000, 3000, 4000, 5000]);
        assert!(looks.len() < 20, "{looks:?}");
        assert!(!r.is_search_due(Millis(200_000), false) && r.deadlines().next().is_none());
    }
}
