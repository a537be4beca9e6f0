//! The senders of believed traps. A switch that is polled with a user's signature must sign its
//! traps, too; otherwise anybody could send them in its name. A switch that is polled by SNMPv2c
//! has no way to prove its traps.
use agent::TrapProof;
use inventory::inventory_file::{Credential, Inventory};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Refusals are over when no further trap was refused for this time.
const QUIET: Duration = Duration::from_secs(600);

/// The inventory's switches as senders of traps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TrapSenders {
    known: BTreeMap<IpAddr, TrapSender>,
    /// Switches whose address is not looked up yet.
    named: BTreeMap<String, TrapSender>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TrapSender {
    switch: String,
    /// The least proof that its traps must have.
    owes: TrapProof,
    /// The SNMPv3 user of its polls.
    user: String,
}

/// The decision on a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrapVerdict {
    /// It is a hint about a switch.
    Believed,
    /// It proves too little.
    Refused,
    /// No switch has that address.
    Stranger,
}

impl TrapSenders {
    /// Takes the switches of an inventory. If several switches have one address, behind different
    /// ports, the one with the least required proof counts.
    pub(super) fn new(inventory: &Inventory) -> TrapSenders {
        let mut senders = TrapSenders::default();
        for (name, switch) in &inventory.switches {
            let (owes, user) = match inventory.snmp.get(&switch.snmp) {
                Some(Credential::User(user)) if user.auth.is_some() => {
                    (TrapProof::Signature, user.name.clone())
                }
                Some(Credential::User(user)) => (TrapProof::Name, user.name.clone()),
                Some(Credential::Community(_)) | None => (TrapProof::Nothing, String::new()),
            };
            let sender = TrapSender {
                switch: name.clone(),
                owes,
                user,
            };
            match switch.address.fixed() {
                Some(address) => senders.add(address.ip(), sender),
                None => drop(senders.named.insert(name.clone(), sender)),
            }
        }
        senders
    }

    fn add(&mut self, address: IpAddr, sender: TrapSender) {
        let known = self.known.entry(address.to_canonical());
        let kept = known.or_insert_with(|| sender.clone());
        if sender.owes < kept.owes {
            *kept = sender;
        }
    }

    /// Takes the address at which the name of a switch was looked up. It replaces an earlier one.
    pub(super) fn looked_up(&mut self, switch: &str, address: IpAddr) {
        if let Some(sender) = self.named.get(switch).cloned() {
            self.known.retain(|_, known| known.switch != switch);
            self.add(address, sender);
        }
    }

    pub(super) fn judge(&self, from: IpAddr, proof: TrapProof) -> TrapVerdict {
        match self.known.get(&from) {
            None => TrapVerdict::Stranger,
            Some(sender) if proof < sender.owes => TrapVerdict::Refused,
            Some(_) => TrapVerdict::Believed,
        }
    }
}

/// Traps that were refused.
#[derive(Debug, Default)]
pub(super) struct RefusedTraps {
    count: u64,
    switches: BTreeSet<IpAddr>,
    last: Option<Instant>,
}

impl RefusedTraps {
    /// Counts one more trap in the name of `from`. Returns a message for the first one, and
    /// whenever the count has grown tenfold.
    pub(super) fn add(
        &mut self,
        now: Instant,
        senders: &TrapSenders,
        from: IpAddr,
    ) -> Option<String> {
        self.count += 1;
        self.last = Some(now);
        self.switches.insert(from);
        let sender = senders.known.get(&from)?;
        let tenfold = self.count == 10_u64.pow(self.count.ilog10());
        tenfold.then(|| {
            let TrapSender { switch, user, .. } = sender;
            let others = match self.switches.len() - 1 {
                0 => String::new(),
                n => format!(" or {n} more"),
            };
            let count = if self.count == 1 {
                "a trap".to_owned()
            } else {
                format!("{} traps", self.count)
            };
            format!(
                "traps: {count} in the name of switch \"{switch}\" ({from}){others} without the \
                 signature of the SNMPv3 user of its polls, so anybody may have sent them; they \
                 are ignored, and polls find the same changes a little later; configure the switch \
                 to send its traps by SNMPv3 as user \"{user}\", or none"
            )
        })
    }

    /// The time at which the refusals are over, if no further trap is refused.
    pub(super) fn end(&self) -> Option<Instant> {
        self.last.map(|last| last + QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str = "{version: 3, user: mon, auth: {protocol: sha, key: authpass12}}";

    fn senders() -> TrapSenders {
        let text = format!(
            "switches:
  plain: {{address: 10.0.0.1}}
  named: {{address: 10.0.0.2, snmp: named}}
  signed: {{address: 10.0.0.3, snmp: signed}}
  both: {{address: 10.0.0.4, snmp: signed}}
  both2: {{address: \"10.0.0.4:1161\"}}
snmp:
  default: {{version: 2c, community: c}}
  named: {{version: 3, user: bob}}
  signed: {SIGNED}"
        );
        TrapSenders::new(&Inventory::parse("i.yaml", &text).unwrap())
    }

    #[test]
    fn a_switch_asked_by_snmpv3_owes_as_much_in_its_traps() {
        use TrapProof::{Name, Nothing, Signature};
        use TrapVerdict::{Believed, Refused, Stranger};
        for (n, believed) in [
            (1, [Believed, Believed, Believed]),
            (2, [Refused, Believed, Believed]),
            (3, [Refused, Refused, Believed]),
            (4, [Believed, Believed, Believed]),
            (5, [Stranger, Stranger, Stranger]),
        ] {
            assert_eq!(
                [Nothing, Name, Signature]
                    .map(|proof| senders().judge([10, 0, 0, n].into(), proof)),
                believed,
                "10.0.0.{n}"
            );
        }
    }

    #[test]
    fn a_switch_with_a_name_sends_traps_from_where_it_was_looked_up() {
        let text = format!(
            "switches: {{leaf: {{snmp: signed}}}}\nsnmp: {{default: {{version: 2c, community: \
             c}}, signed: {SIGNED}}}"
        );
        let mut senders = TrapSenders::new(&Inventory::parse("i.yaml", &text).unwrap());
        assert_eq!(judge_host(&senders, 1), TrapVerdict::Stranger);
        senders.looked_up("leaf", [10, 0, 0, 1].into());
        senders.looked_up("nobody", [10, 0, 0, 3].into());
        assert_eq!(judge_host(&senders, 1), TrapVerdict::Refused);
        senders.looked_up("leaf", [10, 0, 0, 2].into());
        assert_eq!(
            [1, 2, 3].map(|n| judge_host(&senders, n)),
            [
                TrapVerdict::Stranger,
                TrapVerdict::Refused,
                TrapVerdict::Stranger
            ]
        );
    }

    fn judge_host(senders: &TrapSenders, n: u8) -> TrapVerdict {
        senders.judge([10, 0, 0, n].into(), TrapProof::Nothing)
    }

    #[test]
    fn refusals_are_reported_once_and_then_counted() {
        let (now, senders, mut refusals) = (Instant::now(), senders(), RefusedTraps::default());
        assert_eq!(refusals.end(), None);
        let from = [10, 0, 0, 3].into();
        let lines: Vec<String> = (0..1234)
            .filter_map(|_| refusals.add(now, &senders, from))
            .collect();
        assert_eq!(lines.len(), 4, "at 1, 10, 100 and 1,000: {lines:#?}");
        assert!(
            lines[0]
                .starts_with("traps: a trap in the name of switch \"signed\" (10.0.0.3) without"),
            "{}",
            lines[0]
        );
        assert!(
            lines[3].starts_with("traps: 1000 traps ") && lines[3].contains("as user \"mon\""),
            "{}",
            lines[3]
        );
        let more = (0..9000)
            .filter_map(|_| refusals.add(now + QUIET, &senders, [10, 0, 0, 2].into()))
            .next()
            .expect("10,000 by now");
        assert_eq!(refusals.end(), Some(now + QUIET * 2));
        assert!(
            more.contains("switch \"named\" (10.0.0.2) or 1 more"),
            "{more}"
        );
    }
}
