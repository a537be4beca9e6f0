//! Clusters that the operator states. They take precedence over found clusters; an alarm is raised
//! where the two differ.
use super::probes::ProbedPairs;
use super::{ClusterInput, unique};
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::cluster_reason::ClusterReason;
use inventory::topology::Cluster;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The stated clusters in their order, then the remaining hosts of the found clusters.
pub(super) fn applied(
    seen: &ClusterInput<'_>,
    probes: &ProbedPairs,
    found: Vec<Cluster>,
    alarms: &mut Vec<Alarm>,
) -> Vec<Cluster> {
    let placed: BTreeSet<&str> = found
        .iter()
        .flat_map(|c| &c.hosts)
        .map(String::as_str)
        .collect();
    let stated: HashMap<&str, &str> = seen
        .stated
        .iter()
        .flat_map(|(c, hosts)| hosts.iter().map(move |h| (h.as_str(), c.as_str())))
        .collect();
    // Also the names of stated clusters whose hosts have no place now: they may come back.
    let mut taken: BTreeSet<String> = seen.stated.keys().cloned().collect();
    let mut clusters = Vec::new();
    for (name, hosts) in seen.stated {
        let hosts: Vec<String> = hosts
            .iter()
            .filter(|h| placed.contains(h.as_str()))
            .cloned()
            .collect();
        if !hosts.is_empty() {
            clusters.push(Cluster {
                name: name.clone(),
                hosts,
                reasons: vec![ClusterReason::Stated],
            });
        }
    }
    for cluster in found {
        let (named, left): (Vec<String>, Vec<String>) = cluster
            .hosts
            .into_iter()
            .partition(|h| stated.contains_key(h.as_str()));
        if left.is_empty() {
            continue;
        }
        let mut reasons = cluster.reasons;
        if !named.is_empty() {
            reasons.push(ClusterReason::StatedElsewhere(named));
        }
        clusters.push(Cluster {
            name: unique(&cluster.name, &mut taken),
            hosts: left,
            reasons,
        });
    }
    alarms.extend(contradictions(seen, probes, &stated));
    clusters
}

/// Finds hosts that are stated to be in one cluster although a router parts them: one alarm per
/// cluster.
fn contradictions(
    seen: &ClusterInput<'_>,
    probes: &ProbedPairs,
    stated: &HashMap<&str, &str>,
) -> Vec<Alarm> {
    let clusters: BTreeMap<&str, _> = probes
        .routed(|a, b| {
            let cluster = stated.get(seen.name(a))?;
            (stated.get(seen.name(b)) == Some(cluster)).then_some(*cluster)
        })
        .map(|(ends, cluster, hops)| (cluster, (ends, hops)))
        .collect();
    clusters
        .into_iter()
        .map(|(cluster, ([a, b], hops))| Alarm {
            subject: AlarmSubject::other(cluster),
            kind: AlarmKind::StatedTogether {
                hosts: [a, b].map(|n| seen.name(n).to_owned()),
                hops: hops.to_vec(),
            },
        })
        .collect()
}
