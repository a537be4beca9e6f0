//! The tables that were requested and not answered yet, and the times of the full reads.
use inventory::Millis;
use inventory::observation::{DeviceFact, DeviceTable};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The pause between two searches for missing hosts, at least and at most.
const SEARCH: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A held change waits for requested tables. After this time it waits only for switches that it
/// touches: a slow switch must not delay changes elsewhere.
const PROMPT: Duration = Duration::from_secs(1);

/// A changed table is read once more after this time: its counter has the resolution of the SNMP
/// agent, a whole second on some, and does not show a second change within that.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
struct SwitchReads {
    waiting: BTreeSet<DeviceTable>,
    /// The time of the oldest request that is not answered.
    since: Millis,
    looked: bool,
    full_due: Millis,
    /// The time at which LLDP is read once more.
    lldp_again: Option<Millis>,
}

/// The reads under way and due, by switch.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingReads {
    switches: BTreeMap<String, SwitchReads>,
    /// The start of the search for missing hosts, and the time of the next try.
    search: Option<(Millis, Millis)>,
}

impl PendingReads {
    /// Notes a request for tables of a switch. A request for all tables postpones the next full
    /// read. Nothing waits for routes: only links between ports that route need them, some devices
    /// serve them slowly or not at all, and older journals have none.
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
        let awaited = tables.iter().filter(|table| **table != DeviceTable::Routes);
        s.waiting.extend(awaited);
        if tables.len() == DeviceTable::ALL.len() {
            s.full_due = now.after(full);
        }
    }

    /// Notes that the LLDP table of a switch changed.
    pub(crate) fn lldp_changed(&mut self, now: Millis, switch: &str) {
        self.switches
            .entry(switch.to_owned())
            .or_default()
            .lldp_again = Some(now.after(AGAIN));
    }

    /// Takes out the switches whose LLDP table is due to be read once more.
    pub(crate) fn lldp_again(&mut self, now: Millis) -> Vec<String> {
        let due = self
            .switches
            .iter_mut()
            .filter_map(|(name, s)| s.lldp_again.take_if(|at| now >= *at).map(|_| name.clone()));
        due.collect()
    }

    /// Notes that a switch was read before the journal began.
    pub(crate) fn mark_already_read(&mut self, switch: &str) {
        self.switches.entry(switch.to_owned()).or_default().looked = true;
    }

    /// Takes a switch's answer, or its failure. Returns whether it was the last answer missing.
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

    /// Returns whether the first read of a switch is still under way.
    pub(crate) fn is_first_read_pending(&self, switch: &str) -> bool {
        self.switches.get(switch).is_none_or(|s| !s.looked)
    }

    /// Returns whether a requested table is missing that was requested lately, or from a switch
    /// that is `concerned`.
    pub(crate) fn waiting(&self, now: Millis, concerned: impl Fn(&str) -> bool) -> bool {
        self.prompt()
            .any(|(switch, until)| now < until || concerned(switch))
    }

    /// Returns whether any requested table is missing.
    pub(crate) fn is_any_missing(&self) -> bool {
        self.switches.values().any(|s| !s.waiting.is_empty())
    }

    /// The switches with missing answers, with the time until which every change waits for them.
    fn prompt(&self) -> impl Iterator<Item = (&str, Millis)> {
        let asked = self.switches.iter().filter(|(_, s)| !s.waiting.is_empty());
        asked.map(|(name, s)| (name.as_str(), s.since.after(PROMPT)))
    }

    /// The switches that are due for a full read.
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

    /// Returns whether to search again for missing hosts: often at first, then less and less often.
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

    /// The times at which a read is due, or a wait ends.
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

/// The table that a fact is about; `None` for a pulse, a host agent's report or a silent device.
fn table(fact: &DeviceFact) -> Option<DeviceTable> {
    match fact {
        DeviceFact::System(_) => Some(DeviceTable::System),
        DeviceFact::Interfaces(_) => Some(DeviceTable::Interfaces),
        DeviceFact::Lldp(_) => Some(DeviceTable::Lldp),
        DeviceFact::Bridge(_) => Some(DeviceTable::Bridge),
        DeviceFact::Fdb(_) => Some(DeviceTable::Fdb),
        DeviceFact::Arp(_) => Some(DeviceTable::Arp),
        DeviceFact::Routes(_) => Some(DeviceTable::Routes),
        DeviceFact::Pulse(_) | DeviceFact::Host(_) => None,
        DeviceFact::Failed { table, .. } => *table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_answer(table: DeviceTable) -> DeviceFact {
        DeviceFact::Failed {
            table: Some(table),
            problem: String::new(),
            refused: None,
        }
    }

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
                problem: String::new(),
                refused: None
            }
        ));
        assert!(!r.is_first_read_pending("s0") && !r.waiting(Millis(0), |_| true));
        r.asked(Millis(0), "s1", &DeviceTable::ALL, PROMPT);
        assert!(r.answered(
            "s1",
            &DeviceFact::Failed {
                table: None,
                problem: String::new(),
                refused: None
            }
        ));
        assert_eq!(r.due(Millis(999)), ["s0"]);
        assert_eq!(r.due(Millis(1000)), ["s0", "s1"]);
    }

    #[test]
    fn nothing_waits_for_routes() {
        let mut r = PendingReads::default();
        r.asked(Millis(0), "s0", &DeviceTable::ALL, PROMPT);
        let [before @ .., last, DeviceTable::Routes] = DeviceTable::ALL else {
            panic!("routes are asked last");
        };
        assert!(
            before
                .iter()
                .all(|table| !r.answered("s0", &no_answer(*table)))
        );
        assert!(r.is_first_read_pending("s0"));
        assert!(r.answered("s0", &no_answer(last)));
        assert!(!r.is_first_read_pending("s0") && !r.is_any_missing());
        assert!(!r.answered("s0", &no_answer(DeviceTable::Routes)));
        r.asked(Millis(0), "s0", &DeviceTable::ALL, PROMPT);
        assert_eq!(r.due(Millis(1000)), ["s0"]);
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
