//! All-to-all among clusters.
use super::{CallWay, DataCarrier, MessageForm, PlannedWay, PlanningSet, Way};
use crate::decision_table::Collective;
use inventory::TopologyFile;
use inventory::tree::Tree;
use schedules::lg::{self, ClusterPartition, HostCluster};
use schedules::transfers::TransferSchedule;
use schedules::verify::{self, ScheduleViolation};

pub(super) struct AmongClusters;

impl CallWay for AmongClusters {
    fn usual(&self) -> Way {
        Way::Lg
    }

    fn name(&self) -> &'static str {
        "lg"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Mpi]
    }

    /// A rank that passes on a block knows its size only if all blocks have the same size.
    fn serves(&self, _: Way, collective: Collective) -> bool {
        collective == Collective::Alltoall
    }

    fn form(&self) -> MessageForm {
        MessageForm::Bundles { at_once: 1 }
    }

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let clusters = match clusters_of_ranks(set) {
            Ok(clusters) => clusters,
            Err(reason) => {
                let note = Some(format!("no lg: {reason}"));
                let planned = PlannedWay::default();
                return Ok(PlannedWay { note, ..planned });
            }
        };
        let plan = lg::plan(set.leaves, &clusters, None);
        verify::lg(set.leaves, &plan)?;
        let note = format!(
            "lg among {} clusters, {} steps",
            plan.clusters.len(),
            plan.steps.len()
        );
        let hosts: Vec<_> = plan.clusters.iter().map(|cluster| &cluster.hosts).collect();
        let planned = if plan.steps.is_empty() {
            PlannedWay::default()
        } else {
            PlannedWay::undivided(TransferSchedule::from(&plan))
        };
        Ok(PlannedWay {
            together: set.host_of.len() as u64,
            note: Some(note),
            ..planned
        }
        .with_digest(hosts))
    }

    fn contenders(&self, tree: &Tree, topology: &TopologyFile) -> Vec<Way> {
        let clusters = ClusterPartition::stated_or_found(tree, topology);
        let are_several = clusters.is_ok_and(|clusters| clusters.list().len() > 1);
        are_several.then_some(Way::Lg).into_iter().collect()
    }

    fn needs(&self, _: Way) -> &'static str {
        ": each host needs a cluster in the inventory or topology, and the job needs hosts of two"
    }
}

/// Groups the ranks as the topology groups their hosts; all ranks of a host are in its cluster.
///
/// # Errors
/// Why LG has nothing to do, or does not know what: for an operator.
fn clusters_of_ranks(set: &PlanningSet<'_>) -> Result<ClusterPartition, String> {
    let of_hosts =
        ClusterPartition::stated_or_found(set.hosts, set.topology).map_err(|e| e.to_string())?;
    let [_, _, ..] = of_hosts.list() else {
        return Err(format!(
            "all hosts are in one cluster, {}",
            of_hosts.list().first().map_or("", |c| &c.name)
        ));
    };
    let groups = of_hosts.list().iter().map(|cluster| {
        let ranks = (0..).zip(set.host_of);
        let own = ranks.filter(|(_, host)| cluster.hosts.contains(host));
        HostCluster {
            name: cluster.name.clone(),
            hosts: own.map(|(rank, _)| rank).collect(),
        }
    });
    ClusterPartition::new(set.leaves, groups.collect()).map_err(|e| e.to_string())
}
