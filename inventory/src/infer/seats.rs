//! Where each host hangs: by LLDP, else by the edge port its MAC address is learned on. A host has one seat; where
//! the evidence fits several, all are shown as ambiguous and an alarm says so.
use super::device::{Device, Port, show};
use super::identity::{Directory, Known, Who};
use super::trunks::{Trunk, slower};
use super::{Found, Scope};
use crate::Mac;
use crate::observation::Id;
use crate::order::natural;
use crate::topology::{Grade, Link, LinkState, NodeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A place where a host may hang.
struct Seat<'d, 'a> {
    device: &'d Device<'a>,
    port: Port,
    host_port: String,
    grade: Grade,
    evidence: String,
    trunk: bool,
}

/// Ports by the MAC addresses learned on them.
type Learned<'d, 'a> = HashMap<Mac, Vec<(&'d Device<'a>, Port)>>;

/// Finds every host of the inventory its seat and adds node, link and alarms.
pub(super) fn seats<'a>(scope: &Scope<'a>, devices: &[Device<'a>], directory: &Directory<'a>, trunks: &[Trunk], found: &mut Found) {
    let is_trunk = |device: &Device<'_>, port: &Port| trunks.iter().any(|t| t.ends_at(device, port));
    let toward = toward_switches(devices, directory);
    let is_inner = |device: &Device<'_>, port: &Port| is_trunk(device, port) || toward.contains(&(device.name, port.clone()));
    let learned = learned(devices, directory, scope);
    let mut announced = announced(devices, directory, &is_trunk);
    let mut seated: BTreeMap<(String, String), Vec<Link>> = BTreeMap::new();
    for name in scope.hosts.keys() {
        let macs: BTreeSet<Mac> = directory.macs_of_host(name).collect();
        found.node(name, NodeKind::Host).chassis = macs.iter().next().copied();
        let by_lldp = narrow(announced.remove(name.as_str()).unwrap_or_default(), &macs, &learned);
        let seats = if by_lldp.is_empty() { narrow(edges(&macs, &learned, &is_inner), &macs, &learned) } else { by_lldp };
        match &seats[..] {
            [] => nowhere(name, &macs, &learned, found),
            [seat] if !seat.trunk => {
                seated.entry((seat.device.name.to_owned(), seat.port.name.clone())).or_default().push(link(name, seat, seat.grade));
            }
            several => contradiction(name, several, found),
        }
    }
    for ((switch, port), links) in seated {
        match links.len() {
            1 => found.links.extend(links),
            _ => unmanaged(&switch, &port, links, found),
        }
    }
}

/// Who said by LLDP where it hangs.
fn announced<'d, 'a>(
    devices: &'d [Device<'a>],
    directory: &Directory<'a>,
    is_trunk: &dyn Fn(&Device<'_>, &Port) -> bool,
) -> HashMap<&'a str, Vec<Seat<'d, 'a>>> {
    let mut seats: HashMap<&str, Vec<Seat<'_, '_>>> = HashMap::new();
    for device in devices {
        for row in device.lldp().into_iter().flat_map(|l| &l.neighbours).filter(|r| r.local_port != 0) {
            let Who::Known { node: Known::Host(host), by } = directory.who(row) else { continue };
            let port = device.local_port(row.local_port);
            let seats = seats.entry(host).or_default();
            if device.is_down(&port) || seats.iter().any(|s| s.device.name == device.name && s.port == port) {
                continue;
            }
            let host_port = match &row.port {
                Some(Id::Text(text)) => text.clone(),
                Some(id) if row.port_descr.is_empty() => show(id),
                _ => row.port_descr.clone(),
            };
            let old = if device.stale() { ", as last seen" } else { "" };
            let evidence = format!("LLDP: {} {} names {host} by {by}{old}", device.name, port.name);
            let trunk = is_trunk(device, &port);
            seats.push(Seat { device, port, host_port, grade: Grade::Certain, evidence, trunk });
        }
    }
    seats
}

/// Where the hosts' MAC addresses are learned.
fn learned<'d, 'a>(devices: &'d [Device<'a>], directory: &Directory<'a>, scope: &Scope<'a>) -> Learned<'d, 'a> {
    let wanted: BTreeSet<Mac> = scope.hosts.keys().flat_map(|h| directory.macs_of_host(h)).collect();
    let mut learned: Learned<'_, '_> = HashMap::new();
    for device in devices {
        for entry in device.learned().iter().filter(|e| wanted.contains(&e.mac)) {
            let Some(port) = device.base_port(entry.port).filter(|p| !device.is_down(p)) else { continue };
            let at = learned.entry(entry.mac).or_default();
            if !at.iter().any(|(d, p)| d.name == device.name && *p == port) {
                at.push((device, port));
            }
        }
    }
    learned
}

/// Ports behind which another switch's own address is learned: they lead there, whether or not LLDP says so.
fn toward_switches<'a>(devices: &[Device<'a>], directory: &Directory<'a>) -> BTreeSet<(&'a str, Port)> {
    let mut toward = BTreeSet::new();
    for device in devices {
        let own: BTreeSet<Mac> = device.macs().collect();
        let others = device.learned().iter().filter(|e| !own.contains(&e.mac) && directory.is_switch(e.mac));
        toward.extend(others.filter_map(|e| Some((device.name, device.base_port(e.port)?))));
    }
    toward
}

/// The edge port rule: a station hangs on the port it is learned on that leads to no other switch, by LLDP or
/// because another switch's own address is learned there too.
fn edges<'d, 'a>(macs: &BTreeSet<Mac>, learned: &Learned<'d, 'a>, is_inner: &dyn Fn(&Device<'_>, &Port) -> bool) -> Vec<Seat<'d, 'a>> {
    let mut seats: Vec<Seat<'_, '_>> = Vec::new();
    for mac in macs {
        for (device, port) in learned.get(mac).into_iter().flatten().filter(|(d, p)| !is_inner(d, p)) {
            if seats.iter().any(|s| s.device.name == device.name && s.port == *port) {
                continue;
            }
            let old = if device.stale() { ", as last seen" } else { "" };
            let evidence = format!("FDB: {} learned {mac} on edge port {}{old}", device.name, port.name);
            seats.push(Seat { device, port: port.clone(), host_port: String::new(), grade: Grade::Inferred, evidence, trunk: false });
        }
    }
    seats
}

/// Leaves the seats that the better evidence speaks for: switches that answer before stale ones, edge ports before
/// trunks, and of a host that just moved the port where its frames come in.
fn narrow<'d, 'a>(mut seats: Vec<Seat<'d, 'a>>, macs: &BTreeSet<Mac>, learned: &Learned<'d, 'a>) -> Vec<Seat<'d, 'a>> {
    prefer(&mut seats, |s| !s.device.stale());
    prefer(&mut seats, |s| !s.trunk);
    let heard = |s: &Seat<'_, '_>| {
        macs.iter().flat_map(|m| learned.get(m).into_iter().flatten()).any(|(d, p)| d.name == s.device.name && *p == s.port)
    };
    if seats.iter().filter(|s| heard(s)).count() == 1 {
        prefer(&mut seats, heard);
    }
    seats
}

/// Keeps what fits, unless nothing does.
fn prefer<'d, 'a>(seats: &mut Vec<Seat<'d, 'a>>, fits: impl Fn(&Seat<'d, 'a>) -> bool) {
    if seats.iter().any(&fits) {
        seats.retain(fits);
    }
}

fn link(host: &str, seat: &Seat<'_, '_>, grade: Grade) -> Link {
    let mut evidence = vec![seat.evidence.clone()];
    Link {
        a: seat.device.name.to_owned(),
        a_port: seat.port.name.clone(),
        b: host.to_owned(),
        b_port: seat.host_port.clone(),
        members: vec![],
        rate_bps: slower([seat.device.rate(&seat.port), None], &mut evidence),
        state: LinkState::Unknown,
        grade,
        evidence,
    }
}

fn nowhere(host: &str, macs: &BTreeSet<Mac>, learned: &Learned<'_, '_>, found: &mut Found) {
    let far: BTreeSet<String> =
        macs.iter().flat_map(|m| learned.get(m).into_iter().flatten()).map(|(d, p)| format!("{} {}", d.name, p.name)).collect();
    let hint = match (macs.is_empty(), far.is_empty()) {
        (true, _) => "no LLDP under this name; check host and cable, or state its mac so that forwarding tables can tell".to_owned(),
        (false, true) => "neither LLDP nor any forwarding table knows it; check host and cable".to_owned(),
        (false, false) => {
            format!("learned only on trunk ports ({}); its own switch says nothing of it", far.into_iter().collect::<Vec<_>>().join(", "))
        }
    };
    found.alarm(host, format!("host \"{host}\": seen nowhere: {hint}; left out of every schedule"));
}

fn contradiction(host: &str, seats: &[Seat<'_, '_>], found: &mut Found) {
    let mut places: Vec<String> = seats.iter().map(|s| format!("{} port {}", s.device.name, s.port.name)).collect();
    places.sort_by_cached_key(|p| natural(p));
    let what = match &places[..] {
        [one] => format!("seen behind {one}, which leads to another switch"),
        several => format!("seen on {}", several.join(" and ")),
    };
    found.alarm(host, format!("host \"{host}\": {what}; its place is ambiguous, nothing is planned on it until one remains"));
    found.links.extend(seats.iter().map(|s| link(host, s, Grade::Ambiguous)));
}

/// Several hosts behind one port: a bridge that says nothing of itself stands between.
fn unmanaged(switch: &str, port: &str, links: Vec<Link>, found: &mut Found) {
    let port_text: String = port.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let name = format!("{switch}-{port_text}");
    let hosts = links.iter().map(|l| l.b.as_str()).collect::<Vec<_>>().join(", ");
    found.alarm(
        &name,
        format!("switch \"{switch}\" port {port}: {hosts} are all behind it; an unmanaged bridge stands between, its rates are not known"),
    );
    found.node(&name, NodeKind::Unmanaged);
    let rate = links[0].rate_bps;
    let up = Link {
        a: switch.to_owned(),
        a_port: port.to_owned(),
        b: name.clone(),
        b_port: String::new(),
        members: vec![],
        rate_bps: rate,
        state: LinkState::Unknown,
        grade: Grade::Inferred,
        evidence: vec![format!("{} hosts on one port", links.len())],
    };
    found.links.push(up);
    found.links.extend(links.into_iter().map(|l| Link { a: name.clone(), a_port: String::new(), grade: Grade::Inferred, ..l }));
}
