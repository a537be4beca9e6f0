//! Hosts that are published on a switch that announced itself to them, and receive from none now,
//! where the inventory lists no switch: the cable moved a moment ago, or the agent started anew, and
//! switches send their frames only now and then.
use super::{AbsentHosts, JudgementInput};
use crate::engine::candidate::PublishedNetwork;
use inventory::Millis;
use inventory::alarm::arguments::KeptUntil;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::topology::NodeKind;
use std::collections::HashSet;
use std::time::Duration;

/// The hosts that hear no switch any more.
#[derive(Default)]
pub(super) struct UnheardHosts<'a> {
    pub(super) all: HashSet<&'a str>,
    /// Those that may still hear one, and keep their place until then.
    pub(super) awaited: HashSet<&'a str>,
}

impl<'a> UnheardHosts<'a> {
    /// Finds them, and notes since when.
    pub(super) fn new(
        now: Millis,
        input: &JudgementInput<'a>,
        absent: &mut AbsentHosts,
    ) -> UnheardHosts<'a> {
        let settled = input
            .settled
            .filter(|_| input.inventory.switches.is_empty());
        let Some(settled) = settled else {
            return UnheardHosts::default();
        };
        let all = unheard(input, settled);
        let awaited = all.iter().copied().filter(|host| {
            let since = *absent.entry((*host).to_owned()).or_insert(now);
            now.since(since) < input.gone_after
        });
        UnheardHosts {
            awaited: awaited.collect(),
            all,
        }
    }

    /// Tells in the alarms about awaited hosts how long they are.
    pub(super) fn tell(&self, alarms: &mut [Alarm], longest: Duration) {
        for alarm in alarms {
            if let (Some(host), AlarmKind::HostKept { until, .. }) =
                (alarm.subject.node_name(), &mut alarm.kind)
                && self.awaited.contains(host)
            {
                *until = KeptUntil::Heard(longest);
            }
        }
    }
}

fn unheard<'a>(input: &JudgementInput<'a>, settled: &PublishedNetwork) -> HashSet<&'a str> {
    let (before, now) = (settled.network.kinds(), input.topology.kinds());
    let links = settled.network.links.iter();
    let announced: HashSet<&str> = links
        .filter(|l| before.get(l.a.as_str()) == Some(&NodeKind::Switch))
        .map(|l| l.b.as_str())
        .collect();
    let hosts = input.topology.links.iter().filter(|l| {
        now.get(l.a.as_str()) == Some(&NodeKind::Unmanaged)
            && !l
                .evidence
                .iter()
                .any(|e| matches!(e, Evidence::Hears { .. }))
    });
    hosts
        .map(|l| l.b.as_str())
        .filter(|host| announced.contains(host) && now.get(host) == Some(&NodeKind::Host))
        .collect()
}
