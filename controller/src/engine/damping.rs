//! Flapping damped: a link that goes down again and again makes no epoch each time, and neither it nor a switch that answers on and
//! off makes a message each time.
//!
//! Source: RFC 2439 (BGP route flap damping), 4.2 to 4.5, on links instead of routes. Each loss of a link adds a penalty,
//! which decays by half in [`HALF_LIFE`]; a link whose penalty passes [`HOLD_ABOVE`] is held as it is published until the
//! penalty fell below [`FREE_BELOW`], and forgotten after calm. The ceiling bounds how long that takes.
//! What an agent says of its host (ranks, address), and the cluster a host is put into, are damped in the same way.
//! Deviations: a link held is not taken for gone but left as published, since the schedule of the last epoch stays right
//! whatever the network does, only slower; a change of rate, as of an aggregate that loses a member, counts half; a switch
//! that falls silent counts as a link that is lost.
use super::alarms::{ControllerAlarm, FlapAlarm, FlapSubject};
use super::candidate::{self, Candidate, Settled};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::KeptBecause;
use inventory::topology::{Link, NodeKind};
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Millis, Topology};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// Penalty for a link that was lost, and for one whose rate changed.
const LOST: f64 = 1_000.0;
const CHANGED: f64 = 500.0;
/// Held above this: the fourth loss in quick succession, or the seventh of one a minute.
const HOLD_ABOVE: f64 = 3_000.0;
/// Free again below this.
const FREE_BELOW: f64 = 1_500.0;
/// No penalty grows beyond: three half-lives of calm are always enough.
const CEILING: f64 = 12_000.0;
const HALF_LIFE: Duration = Duration::from_secs(120);
/// Penalties below this are forgotten.
const FORGET_BELOW: f64 = 250.0;
/// One loss shows in several inferences while tables are read one after the other.
const ONCE: Duration = Duration::from_secs(1);

/// What may flap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Part {
    /// The link between two switches.
    Trunk(String, String),
    /// The link of a switch to a host.
    Seat(String, String),
    /// A switch's answers.
    Answers(String),
    /// What a host's agent says of it.
    Claim(String),
    /// The cluster of a host.
    Cluster(String),
}

/// One part that was lost lately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flapping {
    part: Part,
    /// As of the last loss.
    penalty: f64,
    last: Millis,
    first: Millis,
    times: u32,
    /// What was told of it last, while it is held.
    told: Option<Told>,
}

/// Figures of an alarm. They are told anew when they doubled or ran out, not with each loss: a message should not flap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Told {
    times: u32,
    #[serde(rename = "within_ms", with = "milliseconds")]
    within: Duration,
    until: Millis,
}

/// What was lost lately, by its name for operators.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Damping(BTreeMap<String, Flapping>);

impl Flapping {
    fn penalty(&self, now: Millis) -> f64 {
        self.penalty * (-half_lives(now.since(self.last))).exp2()
    }

    /// When the penalty will have fallen so far, given calm.
    fn below(&self, penalty: f64) -> Millis {
        let half_lives = (self.penalty / penalty).log2().max(0.0);
        self.last.after(Duration::from_millis(((half_lives * HALF_LIFE.as_millis() as f64).ceil() as u64).saturating_add(1)))
    }

    fn add(&mut self, now: Millis, penalty: f64) {
        if self.times > 0 && now.since(self.last) < ONCE {
            return;
        }
        self.penalty = (self.penalty(now) + penalty).min(CEILING);
        self.last = now;
        self.times = self.times.saturating_add(1);
        if self.told.is_some() || self.penalty > HOLD_ABOVE {
            self.tell(now);
        }
    }

    fn tell(&mut self, now: Millis) {
        let stale = |told: Told| self.times >= told.times.saturating_mul(2) || now >= told.until;
        if self.told.is_none_or(stale) {
            let until = self.below(FREE_BELOW);
            self.told = Some(Told { times: self.times, within: self.last.since(self.first), until });
        }
    }
}

impl Damping {
    /// Compares two inferences in a row: links that carried frames and do not any more are lost, and so are switches that answered.
    pub(crate) fn compare(&mut self, now: Millis, before: &Topology, after: &Topology) {
        let (then, here) = (carrying(before), carrying(after));
        for (name, (link, rate)) in then {
            let penalty = match here.get(&name) {
                None => LOST,
                Some((_, other)) if *other != rate => CHANGED,
                Some(_) => continue,
            };
            let host = before.kind(&link.b) == Some(NodeKind::Host);
            let part = if host { Part::Seat } else { Part::Trunk };
            self.lose(now, format!("link {name}"), part(link.a.clone(), link.b.clone()), penalty);
        }
        let apart: HashMap<&str, &str> = clusters(after).collect();
        for (host, cluster) in clusters(before) {
            if apart.get(host).is_some_and(|other| *other != cluster) {
                self.lose(now, format!("cluster of host \"{host}\""), Part::Cluster(host.to_owned()), LOST);
            }
        }
        let answered: HashSet<&str> = before.nodes.iter().filter(|n| !n.stale).map(|n| n.name.as_str()).collect();
        for silent in after.nodes.iter().filter(|n| n.stale && answered.contains(n.name.as_str())) {
            self.lose(now, format!("switch \"{}\"", silent.name), Part::Answers(silent.name.clone()), LOST);
        }
    }

    /// An agent said something else of its host than before.
    pub(crate) fn contradicted(&mut self, now: Millis, host: String) {
        self.lose(now, format!("host \"{host}\""), Part::Claim(host), LOST);
    }

    fn lose(&mut self, now: Millis, name: String, part: Part, penalty: f64) {
        let new = Flapping { part, penalty: 0.0, last: now, first: now, times: 0, told: None };
        self.0.entry(name).or_insert(new).add(now, penalty);
    }

    /// Frees links that were calm for long enough, and forgets them later.
    pub(crate) fn settle(&mut self, now: Millis) {
        for flapping in self.0.values_mut().filter(|f| f.told.is_some()) {
            if now >= flapping.below(FREE_BELOW) {
                flapping.told = None;
            } else {
                flapping.tell(now);
            }
        }
        self.0.retain(|_, f| now < f.below(FORGET_BELOW));
    }

    /// When [`Damping::settle`] may free something.
    pub(crate) fn deadlines(&self) -> impl Iterator<Item = Millis> + '_ {
        self.held().map(|(_, f, _)| f.below(FREE_BELOW))
    }

    /// Hosts whose place is held.
    pub(crate) fn hosts(&self) -> BTreeSet<&str> {
        let seats = self.held().filter_map(|(_, f, _)| if let Part::Seat(_, host) = &f.part { Some(host.as_str()) } else { None });
        seats.collect()
    }

    /// Hosts whose cluster is held.
    pub(crate) fn clustered(&self) -> impl Iterator<Item = &str> {
        self.held().filter_map(|(_, f, _)| if let Part::Cluster(host) = &f.part { Some(host.as_str()) } else { None })
    }

    /// Hosts of which their agent's word is held.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = &str> {
        self.held().filter_map(|(_, f, _)| if let Part::Claim(host) = &f.part { Some(host.as_str()) } else { None })
    }

    /// Whether anything is held as it is published.
    pub(crate) fn holds(&self) -> bool {
        self.held().any(|(_, f, _)| !matches!(f.part, Part::Answers(_)))
    }

    /// Whether a link between switches is held.
    pub(crate) fn holds_trunks(&self) -> bool {
        self.held().any(|(_, f, _)| matches!(f.part, Part::Trunk(..)))
    }

    fn held(&self) -> impl Iterator<Item = (&String, &Flapping, Told)> {
        self.0.iter().filter_map(|(name, f)| Some((name, f, f.told?)))
    }

    /// Whether an alarm of the inference tells of one loss more of what is told to flap.
    pub(crate) fn covers(&self, alarm: &Alarm) -> bool {
        self.held().any(|(_, f, _)| match (&f.part, &alarm.kind) {
            (Part::Seat(_, host), AlarmKind::HostUnfound(_)) => alarm.subject.is_node(host),
            (Part::Answers(switch), AlarmKind::SwitchStale { .. }) => alarm.subject.is_node(switch),
            _ => false,
        })
    }

    /// The same for an alarm of the controller's own.
    pub(crate) fn covers_own(&self, alarm: &ControllerAlarm) -> bool {
        let ControllerAlarm::HostKept { host, elsewhere: false, .. } = alarm else { return false };
        self.held().any(|(_, f, _)| matches!(&f.part, Part::Seat(_, seated) if seated == host))
    }

    /// What is held, how often it was lost in what time, and until when.
    pub(crate) fn alarms(&self, epoch: Option<u64>) -> Vec<ControllerAlarm> {
        let alarm = |(name, f, told): (&String, &Flapping, Told)| {
            let what = match f.part.clone() {
                Part::Trunk(a, b) => FlapSubject::Trunk(a, b, epoch?),
                Part::Seat(switch, host) => FlapSubject::Seat(switch, host, epoch?),
                Part::Claim(host) => FlapSubject::Claim(host, epoch?),
                Part::Cluster(host) => FlapSubject::Cluster(host, epoch?),
                Part::Answers(switch) => FlapSubject::Answers(switch),
            };
            let Told { times, within, until } = told;
            Some(ControllerAlarm::Flaps(FlapAlarm { name: name.clone(), what, times, within, until }))
        };
        self.held().filter_map(alarm).collect()
    }
}

/// How often a penalty halves in this time.
fn half_lives(span: Duration) -> f64 {
    span.as_millis() as f64 / HALF_LIFE.as_millis() as f64
}

/// Hosts with the cluster they are in.
fn clusters(topology: &Topology) -> impl Iterator<Item = (&str, &str)> {
    topology.clusters.iter().flat_map(|c| c.hosts.iter().map(|host| (host.as_str(), c.name.as_str())))
}

/// Links that carry frames, by name, with their rates. A host's own port is left out: what says it comes and goes.
fn carrying(topology: &Topology) -> BTreeMap<String, (&Link, BitsPerSec)> {
    let kinds = topology.kinds();
    let name = |l: &Link| {
        let end = |node: &str, port: &str| if port.is_empty() { node.to_owned() } else { format!("{node} ({port})") };
        let host = kinds.get(l.b.as_str()) == Some(&NodeKind::Host);
        let (a, b) = (end(&l.a, &l.a_port), end(&l.b, if host { "" } else { &l.b_port }));
        if host || a < b { format!("{a} - {b}") } else { format!("{b} - {a}") }
    };
    topology.links.iter().filter(|l| l.carries()).map(|l| (name(l), (l, l.rate_bps))).collect()
}

/// Puts every held host where it is published.
pub(crate) fn freeze_hosts(damping: &Damping, network: &mut Topology, settled: &Settled) {
    for host in damping.hosts() {
        network.links.retain(|l| l.b != host);
        if settled.key.hosts.contains_key(host) {
            candidate::put_back(network, settled, host, KeptBecause::LinkFlaps);
        }
    }
}

/// Ranks and address of every host whose agent's word is held as they are published.
pub(crate) fn freeze_claims(damping: &Damping, candidate: Candidate, settled: &Settled) -> Candidate {
    let Candidate { network, mut file, .. } = candidate;
    for host in damping.claimed() {
        if let (Some(now), Some(published)) = (file.hosts.get_mut(host), settled.key.hosts.get(host)) {
            (now.ranks, now.address) = (published.ranks, published.address);
        }
    }
    Candidate::new(network, file)
}

/// The links between switches as they are published, and the clusters of hosts that did not move; hosts where they are now.
pub(crate) fn freeze_trunks(network: &Topology, settled: &Settled) -> Topology {
    let (now, then) = (network.kinds(), settled.network.kinds());
    let is_host = |kinds: &HashMap<&str, NodeKind>, l: &Link| kinds.get(l.b.as_str()) == Some(&NodeKind::Host);
    let mut frozen = network.clone();
    frozen.links.retain(|l| is_host(&now, l));
    frozen.links.extend(settled.network.links.iter().filter(|l| !is_host(&then, l)).cloned());
    let missing: Vec<_> =
        settled.network.nodes.iter().filter(|n| n.kind != NodeKind::Host && !now.contains_key(n.name.as_str())).cloned().collect();
    frozen.nodes.extend(missing);
    let seats = |t: &Topology| -> HashMap<String, String> { t.links.iter().map(|l| (l.b.clone(), l.a.clone())).collect() };
    let (before, after) = (seats(&settled.network), seats(network));
    let stays = |host: &&str| before.get(*host) == after.get(*host);
    candidate::keep_clusters(&mut frozen, settled, &settled.key.hosts.keys().map(String::as_str).filter(stays).collect());
    frozen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::candidate::tests::network;
    use inventory::topology::Cluster;

    /// n2 on s0, and without a place.
    fn both() -> (Topology, Topology) {
        let there = network("s0");
        let mut gone = there.clone();
        gone.links.pop();
        (there, gone)
    }

    /// n2's link is lost `times` times, every `period` ms from 0 on.
    fn flapped(times: u64, period: u64) -> Damping {
        let (there, gone) = both();
        let mut d = Damping::default();
        for n in 0..times {
            d.settle(Millis(n * period));
            d.compare(Millis(n * period), &there, &gone);
            d.compare(Millis(n * period + period / 2), &gone, &there);
        }
        d
    }

    #[test]
    fn what_is_lost_now_and_then_is_not_held() {
        for (times, period) in [(3, 2_000), (100, 180_000)] {
            assert!(flapped(times, period).hosts().is_empty(), "{times} losses, one in {period} ms");
        }
        for (times, period) in [(4, 2_000), (7, 60_000)] {
            assert_eq!(flapped(times, period).hosts(), BTreeSet::from(["n2"]), "{times} losses, one in {period} ms");
        }
    }

    #[test]
    fn it_is_told_how_often_in_what_time_and_until_when() {
        let mut d = flapped(4, 2_000);
        let text = |d: &Damping| d.alarms(Some(7)).into_iter().map(|a| a.to_string()).collect::<Vec<_>>();
        // From 4000 less a little to 1500 takes 1.4 half-lives.
        let told = "link s0 (p2) - n2: flaps, 4 times in 6 s; host \"n2\" stays as in epoch 7 until it was calm, not before 00:02:52 UTC; check cable and ports";
        assert_eq!(text(&d), [told]);
        let (there, gone) = both();
        d.compare(Millis(8_000), &there, &gone);
        assert_eq!(text(&d), [told], "not anew with each loss");
        for n in 5..8 {
            d.compare(Millis(n * 2_000), &there, &gone);
        }
        assert!(text(&d)[0].contains("8 times in 14 s"), "{:?}", text(&d));
        assert_eq!(d.alarms(None), [], "nothing is published that could stay");
    }

    #[test]
    fn calm_frees_and_later_forgets() {
        let mut d = flapped(4, 2_000);
        let due = d.deadlines().min().unwrap();
        assert!((170_000..180_000).contains(&due.0), "{due:?}");
        d.settle(Millis(due.0 - 100));
        assert!(!d.hosts().is_empty());
        d.settle(due);
        assert!(d.hosts().is_empty() && d != Damping::default());
        let (there, gone) = both();
        let mut again = d.clone();
        for n in 0..2 {
            again.compare(Millis(due.0 + n * 2000), &there, &gone);
        }
        assert_eq!(again.hosts(), BTreeSet::from(["n2"]), "what flapped lately is held sooner");
        d.settle(Millis(due.0 + 400_000));
        assert_eq!(d, Damping::default());
    }

    #[test]
    fn however_long_it_flaps_six_minutes_of_calm_are_enough() {
        let mut d = flapped(5_000, 2_000);
        let last = 4_999 * 2_000;
        d.settle(Millis(last + 361_000));
        assert!(d.hosts().is_empty());
    }

    #[test]
    fn one_loss_seen_in_pieces_counts_once() {
        let (there, gone) = both();
        let mut d = Damping::default();
        for n in 0..50 {
            d.compare(Millis(n * 20), &there, &gone);
        }
        assert_eq!(d.0.values().map(|f| f.times).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_rate_that_comes_and_goes_is_damped_too() {
        let whole = network("s0");
        let mut less = whole.clone();
        less.links[0].rate_bps = BitsPerSec(1);
        let mut d = Damping::default();
        for n in 0..8 {
            let (before, after) = if n % 2 == 0 { (&whole, &less) } else { (&less, &whole) };
            assert!(n > 6 || !d.holds_trunks());
            d.compare(Millis(n * 2_000), before, after);
        }
        assert!(d.holds_trunks() && d.alarms(Some(1))[0].to_string().contains("links between switches stay"));
    }

    #[test]
    fn a_cluster_that_is_another_again_and_again_is_held() {
        let of = |name: &str| {
            let cluster = |name: &str, host: &str| Cluster { name: name.into(), hosts: vec![host.into()], reasons: vec![] };
            Topology { clusters: vec![cluster("west", "n0"), cluster(name, "n1")], ..network("s0") }
        };
        let mut d = Damping::default();
        for n in 0..4 {
            assert_eq!(d.clustered().count(), 0, "{n}");
            d.compare(Millis(n * 2_000), &of(["west", "east"][n as usize % 2]), &of(["east", "west"][n as usize % 2]));
        }
        assert_eq!(d.clustered().collect::<Vec<_>>(), ["n1"]);
        assert!(d.alarms(Some(7))[0].to_string().starts_with("cluster of host \"n1\": is another one again and again, 4 times in 6 s"));
    }

    #[test]
    fn clocks_that_jump_free_or_hold_but_never_break() {
        let mut d = flapped(4, 2_000);
        let (there, gone) = both();
        d.compare(Millis(0), &there, &gone); // An hour back would be the same: nothing passed.
        d.settle(Millis(0));
        assert!(!d.hosts().is_empty());
        d.settle(Millis(u64::MAX));
        assert_eq!(d, Damping::default());
    }
}
