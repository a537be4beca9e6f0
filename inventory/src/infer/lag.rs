//! Aggregates (IEEE 802.1AX): cables whose ends are members of one aggregate are one link with members.
use super::device::{Device, Port};
use super::trunks::Trunk;
use crate::BitsPerSec;
use crate::order::natural;
use crate::topology::{Grade, Link, Member};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The aggregates at both ends of a cable, ends ordered by name.
type Ends = [(String, Option<Port>); 2];

fn ends(devices: &HashMap<&str, &Device<'_>>, trunk: &Trunk) -> Ends {
    let mut ends = [&trunk.link.a, &trunk.link.b].map(|name| {
        let device = devices.get(name.as_str());
        (name.clone(), device.and_then(|d| d.aggregate(trunk.end(name)?)))
    });
    ends.sort();
    ends
}

/// Cables by the aggregates they are members of; cables of no aggregate are not among them.
fn groups(devices: &[Device<'_>], trunks: &[Trunk]) -> BTreeMap<Ends, Vec<usize>> {
    let devices: HashMap<&str, &Device<'_>> = devices.iter().map(|d| (d.name, d)).collect();
    let mut groups: BTreeMap<Ends, Vec<usize>> = BTreeMap::new();
    for (i, trunk) in trunks.iter().enumerate() {
        let ends = ends(&devices, trunk);
        if ends.iter().any(|(_, aggregate)| aggregate.is_some()) {
            groups.entry(ends).or_default().push(i);
        }
    }
    groups
}

/// Some devices list the neighbours of all members at every member. Which cable is which is then not told; there are as
/// many as there are ports, so they are matched in the ports' order.
pub(super) fn matched(devices: &[Device<'_>], trunks: Vec<Trunk>) -> Vec<Trunk> {
    let mut drop = BTreeSet::new();
    for ([(a, _), (b, _)], all) in groups(devices, &trunks) {
        let ports = |switch: &str| {
            let mut ports: Vec<&str> = all.iter().filter_map(|&i| Some(trunks[i].end(switch)?.name.as_str())).collect();
            ports.sort_by_cached_key(|p| natural(p));
            ports.dedup();
            ports
        };
        let (at_a, at_b) = (ports(&a), ports(&b));
        if at_a.len() == at_b.len() && all.len() == at_a.len() * at_b.len() {
            let kept: BTreeSet<(&str, &str)> = at_a.into_iter().zip(at_b).collect();
            let pair = |i: &usize| trunks[*i].end(&a).zip(trunks[*i].end(&b)).map(|(p, q)| (p.name.as_str(), q.name.as_str()));
            drop.extend(all.iter().copied().filter(|i| pair(i).is_none_or(|p| !kept.contains(&p))));
        }
    }
    trunks.into_iter().enumerate().filter(|(i, _)| !drop.contains(i)).map(|(_, t)| t).collect()
}

/// The links of all cables: several between the same aggregates become one.
pub(super) fn joined(devices: &[Device<'_>], trunks: Vec<Trunk>) -> Vec<Link> {
    let (sure, unsure): (Vec<Trunk>, Vec<Trunk>) = trunks.into_iter().partition(|t| t.link.grade != Grade::Ambiguous);
    let groups: Vec<(Ends, Vec<usize>)> = groups(devices, &sure).into_iter().filter(|(_, all)| all.len() > 1).collect();
    let members: BTreeSet<usize> = groups.iter().flat_map(|(_, all)| all.iter().copied()).collect();
    let mut links: Vec<Link> = groups.iter().map(|(ends, all)| aggregate(ends, all.iter().map(|&i| &sure[i]).collect())).collect();
    links.extend(sure.into_iter().enumerate().filter(|(i, _)| !members.contains(i)).map(|(_, t)| t.link));
    links.extend(unsure.into_iter().map(|t| t.link));
    links
}

fn aggregate([(a, a_port), (b, b_port)]: &Ends, cables: Vec<&Trunk>) -> Link {
    let name = |port: &Option<Port>| port.as_ref().map(|p| p.name.clone()).unwrap_or_default();
    let at = |trunk: &Trunk, switch: &str| trunk.end(switch).map(|p| p.name.clone()).unwrap_or_default();
    let mut members: Vec<Member> = cables.iter().map(|t| Member { a_port: at(t, a), b_port: at(t, b) }).collect();
    members.sort_by_cached_key(|m| (natural(&m.a_port), natural(&m.b_port)));
    let mut evidence = vec![format!("LAG: {} cables between {a} {} and {b} {}", members.len(), shown(a_port), shown(b_port))];
    evidence.extend(cables.iter().flat_map(|t| t.link.evidence.iter().cloned()));
    Link {
        a: a.clone(),
        a_port: name(a_port),
        b: b.clone(),
        b_port: name(b_port),
        members,
        rate_bps: BitsPerSec(cables.iter().map(|t| t.link.rate_bps.0).fold(0, u64::saturating_add)),
        state: cables[0].link.state,
        grade: cables.iter().map(|t| t.link.grade).max().unwrap_or(Grade::Inferred),
        evidence,
    }
}

fn shown(port: &Option<Port>) -> &str {
    port.as_ref().map_or("(not said)", |p| &p.name)
}
