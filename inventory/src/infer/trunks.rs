//! Cables between switches, by LLDP: each end names the other, and the two statements become one link.
use super::Found;
use super::device::{Device, Port, show};
use super::identity::{Directory, Known, Who};
use crate::observation::LldpNeighbour;
use crate::topology::{Grade, Link, LinkState, NodeKind};
use crate::{BitsPerSec, Mac};
use std::collections::{BTreeMap, HashMap};

/// A cable between switches and its two ends.
pub(super) struct Trunk {
    pub(super) link: Link,
    ends: [(String, Port); 2],
    both: bool,
}

/// What one end says: at my port I see that switch.
struct Half<'d> {
    at: usize,
    port: Port,
    to: usize,
    far: Option<Port>,
    row: &'d LldpNeighbour,
    by: String,
}

impl Trunk {
    /// Whether a port of a switch is an end of this cable.
    pub(super) fn ends_at(&self, switch: &str, port: &Port) -> bool {
        self.ends.iter().any(|(s, p)| s == switch && p == port)
    }
}

/// Every cable between switches. Self-links, rows on local port 0, rows that name nobody and rows on ports that are
/// down are dropped: they occur in the field and mean nothing.
pub(super) fn trunks(devices: &[Device<'_>], directory: &Directory<'_>, found: &mut Found) -> Vec<Trunk> {
    let mut halves = Vec::new();
    let mut trunks = Vec::new();
    let number: HashMap<&str, usize> = devices.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    for (at, device) in devices.iter().enumerate() {
        for row in device.lldp().into_iter().flat_map(|l| &l.neighbours).filter(|r| r.local_port != 0) {
            let port = device.local_port(row.local_port);
            if device.is_down(&port) {
                continue;
            }
            match directory.who(row) {
                Who::Known { node: Known::Switch(name), by } if name != device.name => {
                    // A switch that was never heard itself is a node all the same.
                    match number.get(name) {
                        Some(&to) => {
                            halves.push(Half { at, port, to, far: devices[to].remote_port(row.port.as_ref(), &row.port_descr), row, by })
                        }
                        None => trunks.push(mute(device, port, name, row, &by)),
                    }
                }
                Who::Stranger(name) => trunks.extend(stranger(device, port, &name, row, found)),
                Who::Known { .. } | Who::Nobody => {}
            }
        }
    }
    halves.sort_by(|x, y| (x.at, &x.port, x.to, &x.far).cmp(&(y.at, &y.port, y.to, &y.far)));
    halves.dedup_by(|x, y| (x.at, &x.port, x.to, &x.far) == (y.at, &y.port, y.to, &y.far));
    trunks.extend(pair(devices, &halves));
    one_cable_a_port(trunks, found)
}

/// Joins what both ends say: first where the ports agree on both sides, then where one side cannot be told, then
/// where just one statement is left each way.
fn pair(devices: &[Device<'_>], halves: &[Half<'_>]) -> Vec<Trunk> {
    let mut partner: Vec<Option<usize>> = vec![None; halves.len()];
    let agree = |far: &Option<Port>, port: &Port| far.as_ref() == Some(port);
    for strict in [true, false] {
        for i in 0..halves.len() {
            let a = &halves[i];
            let fits = |b: &Half<'_>| {
                let (there, back) = (agree(&a.far, &b.port), agree(&b.far, &a.port));
                b.at == a.to && b.to == a.at && if strict { there && back } else { (there && b.far.is_none()) || (back && a.far.is_none()) }
            };
            if partner[i].is_none()
                && let Some(j) = (0..halves.len()).find(|&j| j != i && partner[j].is_none() && fits(&halves[j]))
            {
                (partner[i], partner[j]) = (Some(j), Some(i));
            }
        }
    }
    let mut left: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for i in (0..halves.len()).filter(|&i| partner[i].is_none() && halves[i].far.is_none()) {
        left.entry((halves[i].at, halves[i].to)).or_default().push(i);
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
    let (near, far) = (&devices[half.at], &devices[half.to]);
    let far_port =
        back.map(|b| b.port.clone()).or_else(|| half.far.clone()).unwrap_or_else(|| Port { name: far_name(half.row), index: None });
    let mut evidence = vec![says(near, &half.port, far.name, &half.by)];
    match back {
        Some(b) => evidence.push(says(far, &b.port, near.name, &b.by)),
        None => evidence.push(format!("{} does not name {} back", far.name, near.name)),
    }
    let rates = [near.rate(&half.port), far.rate(&far_port)];
    Trunk {
        link: Link {
            a: near.name.to_owned(),
            a_port: half.port.name.clone(),
            b: far.name.to_owned(),
            b_port: far_port.name.clone(),
            members: vec![],
            rate_bps: slower(rates, &mut evidence),
            state: LinkState::Unknown,
            grade: Grade::Certain,
            evidence,
        },
        ends: [(near.name.to_owned(), half.port.clone()), (far.name.to_owned(), far_port)],
        both: back.is_some(),
    }
}

/// A cable to a switch of the inventory that was never heard.
fn mute(device: &Device<'_>, port: Port, name: &str, row: &LldpNeighbour, by: &str) -> Trunk {
    let mut evidence = vec![says(device, &port, name, by)];
    let far = Port { name: far_name(row), index: None };
    Trunk {
        link: Link {
            a: device.name.to_owned(),
            a_port: port.name.clone(),
            b: name.to_owned(),
            b_port: far.name.clone(),
            members: vec![],
            rate_bps: slower([device.rate(&port), None], &mut evidence),
            state: LinkState::Unknown,
            grade: Grade::Certain,
            evidence,
        },
        ends: [(device.name.to_owned(), port), (name.to_owned(), far)],
        both: false,
    }
}

/// Somebody LLDP names who is not in the inventory: a bridge or router is kept as a node, a station only told of.
fn stranger(device: &Device<'_>, port: Port, said: &str, row: &LldpNeighbour, found: &mut Found) -> Option<Trunk> {
    let name = as_name(said);
    let place = format!("{} port {}", device.name, port.name);
    let kind = match row.capabilities {
        Some(c) if !c.bridge && !c.router => {
            let text =
                format!("station \"{name}\" on {place}: not among the inventory's hosts; left out, list it under hosts if it runs ranks");
            found.alarm(&name, text);
            return None;
        }
        Some(c) if !c.bridge => NodeKind::Router,
        _ => NodeKind::Switch,
    };
    let what = if kind == NodeKind::Router { "router" } else { "switch" };
    found.alarm(
        &name,
        format!("{what} \"{name}\" on {place}: not in the inventory; shown but not asked, what is behind it stays unknown: list it under switches"),
    );
    let node = found.node(&name, kind);
    node.chassis =
        node.chassis.or(row.chassis.as_ref().and_then(|id| if let crate::observation::Id::Mac(m) = id { Some(*m) } else { None::<Mac> }));
    Some(mute(device, port, &name, row, "its own name"))
}

/// A name fit for a node out of whatever a stranger calls itself.
fn as_name(said: &str) -> String {
    said.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

fn far_name(row: &LldpNeighbour) -> String {
    row.port.as_ref().map(show).unwrap_or_else(|| row.port_descr.clone())
}

fn says(device: &Device<'_>, port: &Port, who: &str, by: &str) -> String {
    let old = if device.stale() { ", as last seen" } else { "" };
    format!("LLDP: {} {} names {who} by {by}{old}", device.name, port.name)
}

/// The slower end's rate.
pub(super) fn slower(rates: [Option<BitsPerSec>; 2], evidence: &mut Vec<String>) -> BitsPerSec {
    rates.into_iter().flatten().min().unwrap_or_else(|| {
        evidence.push("rate: neither end says it, 1G assumed".to_owned());
        BitsPerSec::GIGABIT
    })
}

/// A port holds one cable. Of several statements about one port, the one both ends make stands; otherwise none can
/// be told from the others, and all are ambiguous.
fn one_cable_a_port(mut trunks: Vec<Trunk>, found: &mut Found) -> Vec<Trunk> {
    let mut at: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (i, trunk) in trunks.iter().enumerate() {
        for (switch, port) in trunk.ends.iter().filter(|(_, p)| !p.name.is_empty()) {
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
