//! Aggregates (IEEE 802.1AX): cables whose ends are members of one aggregate are one link with
//! members.
use super::device::{DeviceTables, Port};
use super::trunks::TrunkLink;
use inventory::BitsPerSec;
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::topology::{AggregateMember, Link, LinkGrade};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The aggregates at both ends of a cable, ends ordered by name.
type AggregateEnds = [(String, Option<Port>); 2];

fn ends(devices: &HashMap<&str, &DeviceTables<'_>>, trunk: &TrunkLink) -> AggregateEnds {
    let mut ends = [&trunk.link.a, &trunk.link.b].map(|name| {
        let device = devices.get(name.as_str());
        (
            name.clone(),
            device.and_then(|d| d.aggregate(trunk.end(name)?)),
        )
    });
    ends.sort();
    ends
}

/// Cables by the aggregates that have them as members. Cables of no aggregate are left out.
fn groups(
    devices: &[DeviceTables<'_>],
    trunks: &[TrunkLink],
) -> BTreeMap<AggregateEnds, Vec<usize>> {
    let devices: HashMap<&str, &DeviceTables<'_>> = devices.iter().map(|d| (d.name, d)).collect();
    let mut groups: BTreeMap<AggregateEnds, Vec<usize>> = BTreeMap::new();
    for (i, trunk) in trunks.iter().enumerate() {
        let ends = ends(&devices, trunk);
        if ends.iter().any(|(_, aggregate)| aggregate.is_some()) {
            groups.entry(ends).or_default().push(i);
        }
    }
    groups
}

/// Some devices list the neighbours of all members at every member. If the other end tells the
/// cables apart, its statement counts. Otherwise there are as many cables as ports, and they are
/// matched in the order of the ports.
pub(super) fn match_members(
    devices: &[DeviceTables<'_>],
    mut trunks: Vec<TrunkLink>,
) -> Vec<TrunkLink> {
    let mut drop = BTreeSet::new();
    let mut guessed = Vec::new();
    for ([(a, _), (b, _)], all) in groups(devices, &trunks)
        .into_iter()
        .filter(|(_, all)| all.len() > 1)
    {
        let ports = |switch: &str, all: &[usize]| {
            let mut ports: Vec<&str> = all
                .iter()
                .filter_map(|&i| Some(trunks[i].end(switch)?.name.as_str()))
                .collect();
            ports.sort_by_cached_key(|p| natural(p));
            ports.dedup();
            ports
        };
        let (at_a, at_b) = (ports(&a, &all), ports(&b, &all));
        let sure: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&i| trunks[i].confirmed())
            .collect();
        let each = sure.len() == at_a.len()
            && ports(&a, &sure) == at_a
            && ports(&b, &sure) == at_b
            && at_a.len() == at_b.len();
        if each {
            drop.extend(all.iter().filter(|i| !sure.contains(i)));
        } else if at_a.len() == at_b.len() && at_a.len() > 1 && all.len() == at_a.len() * at_b.len()
        {
            let kept: BTreeSet<(&str, &str)> = at_a.into_iter().zip(at_b).collect();
            let pair = |i: &usize| {
                trunks[*i]
                    .end(&a)
                    .zip(trunks[*i].end(&b))
                    .map(|(p, q)| (p.name.as_str(), q.name.as_str()))
            };
            let (right, wrong): (Vec<usize>, Vec<usize>) = all
                .iter()
                .partition(|i| pair(i).is_some_and(|p| kept.contains(&p)));
            drop.extend(wrong);
            guessed.extend(right);
        }
    }
    for i in guessed {
        trunks[i].link.evidence.push(Evidence::MembersGuessed);
    }
    trunks
        .into_iter()
        .enumerate()
        .filter(|(i, _)| !drop.contains(i))
        .map(|(_, t)| t)
        .collect()
}

/// Not every device reports the aggregate of a port. If the ends of known cables take no part in
/// bridging, an aggregate does in their place: it is the base port that LLDP does not know. If
/// there are several, the rate decides. Returns the device, the ifIndex of the aggregate, and the
/// device at the other end, if they can be determined.
pub(super) fn unreported_members(
    devices: &[DeviceTables<'_>],
    trunks: &[TrunkLink],
) -> Vec<(usize, u32, Option<String>)> {
    let mut members: BTreeMap<&str, BTreeMap<&str, Vec<&Port>>> = BTreeMap::new();
    for trunk in trunks {
        for (near, far) in [
            (&trunk.link.a, &trunk.link.b),
            (&trunk.link.b, &trunk.link.a),
        ] {
            members
                .entry(near)
                .or_default()
                .entry(far)
                .or_default()
                .extend(trunk.end(near));
        }
    }
    devices
        .iter()
        .enumerate()
        .filter_map(|(number, device)| Some((number, device, members.get(device.name)?)))
        .flat_map(|(number, device, all)| {
            unreported_by(device, all)
                .into_iter()
                .map(move |(index, far)| (number, index, far))
        })
        .collect()
}

/// The aggregates that a device does not report. They are found from the ports of its known cables,
/// by the device at the other end.
fn unreported_by(
    device: &DeviceTables<'_>,
    cables: &BTreeMap<&str, Vec<&Port>>,
) -> Vec<(u32, Option<String>)> {
    let hidden = |port: &&&Port| {
        port.index.is_some_and(|i| !device.is_base_port(i)) && device.aggregate(port).is_none()
    };
    let groups: Vec<(&str, Vec<&Port>)> = cables
        .iter()
        .map(|(far, ports)| (*far, ports.iter().filter(hidden).copied().collect()))
        .filter(|(_, p): &(_, Vec<_>)| !p.is_empty())
        .collect();
    let named: BTreeSet<u32> = device.lldp_indices().collect();
    if groups.is_empty() || named.is_empty() {
        return Vec::new();
    }
    let open: BTreeSet<u32> = device
        .base_ports()
        .map(|(_, index)| index)
        .filter(|i| !named.contains(i))
        .collect();
    let total = |ports: &[&Port]| {
        ports
            .iter()
            .filter_map(|p| device.rate(p))
            .map(|r| r.0)
            .fold(0, u64::saturating_add)
    };
    let rate_of = |index: u32| {
        device
            .base_port_of(index)
            .and_then(|p| device.rate(&p))
            .map(|r| r.0)
    };
    let only = open.len() == 1;
    let far_of = |index: u32| {
        let own = rate_of(index);
        let mut fitting = groups
            .iter()
            .filter(|(_, ports)| only && groups.len() == 1 || own == Some(total(ports)));
        let one = fitting.next().filter(|_| fitting.next().is_none());
        let alike = open.iter().filter(|i| rate_of(**i) == own).count();
        one.filter(|_| alike == 1 || only)
            .map(|(far, _)| (*far).to_owned())
    };
    open.iter().map(|&index| (index, far_of(index))).collect()
}

/// The links of all cables. Several cables between the same aggregates become one link.
pub(super) fn joined(devices: &[DeviceTables<'_>], trunks: Vec<TrunkLink>) -> Vec<Link> {
    let (sure, unsure): (Vec<TrunkLink>, Vec<TrunkLink>) = trunks
        .into_iter()
        .partition(|t| t.link.grade != LinkGrade::Ambiguous);
    let groups: Vec<(AggregateEnds, Vec<usize>)> = groups(devices, &sure)
        .into_iter()
        .filter(|(_, all)| all.len() > 1)
        .collect();
    let members: BTreeSet<usize> = groups
        .iter()
        .flat_map(|(_, all)| all.iter().copied())
        .collect();
    let mut links: Vec<Link> = groups
        .iter()
        .map(|(ends, all)| aggregate(ends, all.iter().map(|&i| &sure[i]).collect()))
        .collect();
    links.extend(
        sure.into_iter()
            .enumerate()
            .filter(|(i, _)| !members.contains(i))
            .map(|(_, t)| t.link),
    );
    links.extend(unsure.into_iter().map(|t| t.link));
    links
}

fn aggregate([(a, a_port), (b, b_port)]: &AggregateEnds, cables: Vec<&TrunkLink>) -> Link {
    let name = |port: &Option<Port>| port.as_ref().map(|p| p.name.clone()).unwrap_or_default();
    let at = |trunk: &TrunkLink, switch: &str| {
        trunk
            .end(switch)
            .map(|p| p.name.clone())
            .unwrap_or_default()
    };
    let mut members: Vec<AggregateMember> = cables
        .iter()
        .map(|t| AggregateMember {
            a_port: at(t, a),
            b_port: at(t, b),
        })
        .collect();
    members.sort_by_cached_key(|m| (natural(&m.a_port), natural(&m.b_port)));
    let mut evidence = vec![Evidence::Aggregate {
        cables: members.len(),
        a: end(a, a_port),
        b: end(b, b_port),
    }];
    evidence.extend(cables.iter().flat_map(|t| t.link.evidence.iter().cloned()));
    Link {
        a: a.clone(),
        a_port: name(a_port),
        b: b.clone(),
        b_port: name(b_port),
        members,
        rate_bps: BitsPerSec(
            cables
                .iter()
                .map(|t| t.link.rate_bps.0)
                .fold(0, u64::saturating_add),
        ),
        state: cables[0].link.state,
        grade: cables
            .iter()
            .map(|t| t.link.grade)
            .max()
            .unwrap_or(LinkGrade::Inferred),
        evidence,
    }
}

fn end(device: &str, port: &Option<Port>) -> (String, Option<String>) {
    (device.to_owned(), port.as_ref().map(|p| p.name.clone()))
}
