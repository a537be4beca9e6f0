//! Cables between switches, by LLDP and CDP: each end names the other, and the two statements become one link.
use super::device::{Device, Port, show};
use super::identity::{Directory, Known, Who};
use super::statements::{Protocol, Statement};
use super::{Found, Strangers, lag, strangers};
use crate::observation::LldpNeighbour;
use crate::topology::{Grade, Link, LinkState};
use crate::{BitsPerSec, Mac};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A cable between switches and its two ends.
pub(super) struct Trunk {
    pub(super) link: Link,
    ends: [(String, Port); 2],
    both: bool,
}

/// What one end says: at my port there is somebody, and how I know.
struct Said<'d> {
    at: usize,
    port: Port,
    row: &'d LldpNeighbour,
    by: String,
    protocol: Protocol,
    down: bool,
}

/// What one end says of another that can be asked, too.
struct Half<'d> {
    said: Said<'d>,
    to: usize,
    far: Option<Port>,
}

impl Said<'_> {
    /// LLDP frames do not pass a bridge (IEEE 802.1AB-2005, 8.1), CDP's do. A row on a port that is down contradicts itself.
    fn grade(&self) -> Grade {
        match self.protocol {
            _ if self.down => Grade::Ambiguous,
            Protocol::Lldp => Grade::Certain,
            Protocol::Cdp => Grade::Inferred,
        }
    }

    fn text(&self, device: &Device<'_>, who: &str) -> String {
        let old = if device.stale() { ", as last seen" } else { "" };
        let down = if self.down { ", but the port is down" } else { "" };
        format!("{}: {} {} names {who} by {}{old}{down}", self.protocol, device.name, self.port.name, self.by)
    }
}

impl Trunk {
    /// Whether a port of a switch is an end of this cable, or the aggregate of one.
    pub(super) fn ends_at(&self, device: &Device<'_>, port: &Port) -> bool {
        self.ends.iter().any(|(s, p)| s == device.name && (p == port || device.aggregate(p).as_ref() == Some(port)))
    }

    /// The port of a device that is its end of this cable.
    pub(super) fn end(&self, switch: &str) -> Option<&Port> {
        self.ends.iter().find(|(s, _)| s == switch).map(|(_, p)| p)
    }
}

/// Every cable between devices, and to those that are named but not asked. What a device says of itself is dropped.
pub(super) fn trunks(
    devices: &[Device<'_>],
    directory: &Directory<'_>,
    statements: &[Statement<'_>],
    strangers: Strangers,
    found: &mut Found,
) -> Vec<Trunk> {
    let mut halves = Vec::new();
    let mut trunks = Vec::new();
    let mut met = BTreeSet::new();
    let number: HashMap<&str, usize> = devices.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    for statement in statements {
        let device = &devices[statement.device];
        let row = statement.row.as_ref();
        let Statement { device: at, protocol, down, .. } = *statement;
        let said = |by| Said { at, port: statement.port.clone(), row, by, protocol, down };
        let place = format!("{} port {}", device.name, statement.port.name);
        match directory.who(row) {
            Who::Known { node: Known::Switch(name), by } if name != device.name => match number.get(name) {
                Some(&to) => {
                    let far = devices[to].remote_port(row.port.as_ref(), &row.port_descr);
                    halves.push(Half { said: said(by), to, far });
                }
                // A switch that was never heard itself is a node all the same.
                None => trunks.push(mute(device, &said(by), name)),
            },
            Who::Stranger(name) => {
                if let Some(name) = strangers::meet(&name, &place, row, strangers, found) {
                    met.insert(name.clone());
                    trunks.push(mute(device, &said("its own name".to_owned()), &name));
                }
            }
            Who::Known { .. } | Who::Nobody => continue,
        }
        if statement.down {
            found.alarm(device.name, format!("{place}: names a neighbour, but is down; the link is ambiguous, one of the two is old"));
        }
    }
    let key = |h: &Half<'_>| (h.said.at, h.said.port.clone(), h.to, h.far.clone());
    halves.sort_by_key(key);
    halves.dedup_by_key(|h| key(h));
    trunks.extend(pair(devices, &halves));
    let trunks = one_cable_a_port(devices, trunks, found);
    // Whose every cable turned out to be another's is nobody.
    let ends: BTreeSet<&String> = trunks.iter().flat_map(|t| [&t.link.a, &t.link.b]).collect();
    met.iter().filter(|name| !ends.contains(name)).for_each(|name| drop(found.nodes.remove(name)));
    trunks
}

/// Joins what both ends say: first where the ports agree on both sides, then where one side cannot be told, then
/// where just one statement is left each way.
fn pair(devices: &[Device<'_>], halves: &[Half<'_>]) -> Vec<Trunk> {
    let mut partner: Vec<Option<usize>> = vec![None; halves.len()];
    let agree = |far: &Option<Port>, port: &Port| far.as_ref() == Some(port);
    let mut between: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    halves.iter().enumerate().for_each(|(i, h)| between.entry((h.said.at, h.to)).or_default().push(i));
    for strict in [true, false] {
        for i in 0..halves.len() {
            let a = &halves[i];
            let fits = |b: &Half<'_>| {
                let (there, back) = (agree(&a.far, &b.said.port), agree(&b.far, &a.said.port));
                if strict { there && back } else { (there && b.far.is_none()) || (back && a.far.is_none()) }
            };
            let mut others = between.get(&(a.to, a.said.at)).into_iter().flatten().copied();
            if partner[i].is_none()
                && let Some(j) = others.find(|&j| j != i && partner[j].is_none() && fits(&halves[j]))
            {
                (partner[i], partner[j]) = (Some(j), Some(i));
            }
        }
    }
    let mut left: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for i in (0..halves.len()).filter(|&i| partner[i].is_none() && halves[i].far.is_none()) {
        left.entry((halves[i].said.at, halves[i].to)).or_default().push(i);
    }
    for ((at, to), mine) in &left {
        if let ([i], Some([j])) = (mine.as_slice(), left.get(&(*to, *at)).map(Vec::as_slice)) {
            partner[*i] = Some(*j);
        }
    }
    let trunk = |(i, half): (usize, &Half<'_>)| match partner[i] {
        Some(j) if j < i => None,
        Some(j) => Some(joined(devices, half, Some(&halves[j]))),
        None => one_sided(devices, half),
    };
    halves.iter().enumerate().filter_map(trunk).collect()
}

/// A cable that only one end speaks of. It is not there when the other end's port is down.
fn one_sided(devices: &[Device<'_>], half: &Half<'_>) -> Option<Trunk> {
    let far_down = half.far.as_ref().is_some_and(|p| devices[half.to].is_down(p));
    (!far_down).then(|| joined(devices, half, None))
}

fn joined(devices: &[Device<'_>], half: &Half<'_>, back: Option<&Half<'_>>) -> Trunk {
    let Half { said, to, far } = half;
    let (near, other) = (&devices[said.at], &devices[*to]);
    let far = back.map(|b| b.said.port.clone()).or_else(|| far.clone());
    let far = far.unwrap_or_else(|| Port { name: far_name(said.row), index: None });
    let mut evidence = vec![said.text(near, other.name)];
    match back {
        Some(b) => evidence.push(b.said.text(other, near.name)),
        None => evidence.push(format!("{} does not name {} back", other.name, near.name)),
    }
    let rates = [near.rate(&said.port), other.rate(&far)];
    let grade = said.grade().max(back.map_or(Grade::Certain, |b| b.said.grade()));
    // One statement by LLDP is enough, whatever the other end says by CDP.
    let sure = [Some(said), back.map(|b| &b.said)].into_iter().flatten().any(|s| s.protocol == Protocol::Lldp);
    let grade = if sure && grade == Grade::Inferred { Grade::Certain } else { grade };
    cable([(near.name, said.port.clone()), (other.name, far)], rates, grade, evidence, back.is_some())
}

/// A cable to somebody who was never heard.
fn mute(device: &Device<'_>, said: &Said<'_>, name: &str) -> Trunk {
    let far = Port { name: far_name(said.row), index: None };
    let rates = [device.rate(&said.port), None];
    cable([(device.name, said.port.clone()), (name, far)], rates, said.grade(), vec![said.text(device, name)], false)
}

pub(super) fn cable(
    [(a, a_port), (b, b_port)]: [(&str, Port); 2],
    rates: [Option<BitsPerSec>; 2],
    grade: Grade,
    mut evidence: Vec<String>,
    both: bool,
) -> Trunk {
    Trunk {
        link: Link {
            a: a.to_owned(),
            a_port: a_port.name.clone(),
            b: b.to_owned(),
            b_port: b_port.name.clone(),
            members: vec![],
            rate_bps: slower(rates, &mut evidence),
            state: LinkState::Unknown,
            grade,
            evidence,
        },
        ends: [(a.to_owned(), a_port), (b.to_owned(), b_port)],
        both,
    }
}

fn far_name(row: &LldpNeighbour) -> String {
    row.port.as_ref().map(show).unwrap_or_else(|| row.port_descr.clone())
}

/// Whether a port's name is one port's alone; some devices send none, or zeros for all.
fn names_one(port: &Port) -> bool {
    !port.name.is_empty() && port.name.parse().map_or(true, Mac::is_station)
}

/// The slower end's rate.
pub(super) fn slower(rates: [Option<BitsPerSec>; 2], evidence: &mut Vec<String>) -> BitsPerSec {
    rates.into_iter().flatten().min().unwrap_or_else(|| {
        evidence.push(crate::topology::RATE_ASSUMED.to_owned());
        BitsPerSec::GIGABIT
    })
}

/// A port holds one cable. Of several statements about one port, the one both ends make stands; otherwise none can
/// be told from the others, and all are ambiguous.
fn one_cable_a_port(devices: &[Device<'_>], trunks: Vec<Trunk>, found: &mut Found) -> Vec<Trunk> {
    let mut trunks = lag::matched(devices, trunks);
    let mut seen = BTreeSet::new();
    trunks.retain(|t| seen.insert((t.link.a.clone(), t.link.a_port.clone(), t.link.b.clone(), t.link.b_port.clone())));
    let mut at: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (i, trunk) in trunks.iter().enumerate() {
        for (switch, port) in trunk.ends.iter().filter(|(_, p)| names_one(p)) {
            at.entry((switch.clone(), port.name.clone())).or_default().push(i);
        }
    }
    let mut dropped = vec![false; trunks.len()];
    for ((switch, port), mut all) in at.into_iter().filter(|(_, all)| all.len() > 1) {
        all.retain(|&i| !dropped[i]);
        let confirmed: Vec<usize> = all.iter().copied().filter(|&i| trunks[i].both).collect();
        let names = |all: &[usize], trunks: &[Trunk]| {
            let other = |t: &Trunk| if t.link.a == switch { t.link.b.clone() } else { t.link.a.clone() };
            let mut names: Vec<String> = all.iter().map(|&i| other(&trunks[i])).collect();
            names.sort();
            names.dedup();
            names.join(" and ")
        };
        if let [one] = confirmed[..] {
            let rest: Vec<usize> = all.into_iter().filter(|&i| i != one).collect();
            if !rest.is_empty() {
                let note = format!("{switch} {port} also names {}, which nobody confirms", names(&rest, &trunks));
                trunks[one].link.evidence.push(note);
            }
            rest.into_iter().for_each(|i| dropped[i] = true);
        } else if all.len() > 1 {
            let text = format!(
                "switch \"{switch}\" port {port}: sees {} on one cable; the links are ambiguous, something between them forwards LLDP",
                names(&all, &trunks)
            );
            found.alarm(&switch, text);
            all.into_iter().for_each(|i| trunks[i].link.grade = Grade::Ambiguous);
        }
    }
    trunks.into_iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(t, _)| t).collect()
}
