//! The clusters of a communicator's ranks, for LG.
use inventory::TopologyFile;
use inventory::tree::{NodeNumber, Tree};
use schedules::lg::{ClusterPartition, HostCluster};

/// Groups the ranks, which are the leaves of `ranks`, as the topology groups their hosts; all ranks
/// of a host are in its cluster. `host_of` gives each rank's host in `hosts`, the tree of the
/// communicator's hosts.
///
/// # Errors
/// Why LG has nothing to do, or does not know what: for an operator.
pub(crate) fn of_ranks(
    topology: &TopologyFile,
    hosts: &Tree,
    ranks: &Tree,
    host_of: &[NodeNumber],
) -> Result<ClusterPartition, String> {
    let of_hosts = ClusterPartition::of(hosts, topology).map_err(|e| e.to_string())?;
    let [_, _, ..] = of_hosts.list() else {
        return Err(format!(
            "all hosts are in one cluster, {}",
            of_hosts.list().first().map_or("", |c| &c.name)
        ));
    };
    let ranks_of = |cluster: &HostCluster| {
        (0..)
            .zip(host_of)
            .filter(|(_, host)| cluster.hosts.contains(host))
            .map(|(rank, _)| rank)
            .collect()
    };
    let groups = of_hosts
        .list()
        .iter()
        .map(|cluster| HostCluster {
            name: cluster.name.clone(),
            hosts: ranks_of(cluster),
        })
        .collect();
    ClusterPartition::new(ranks, groups).map_err(|e| e.to_string())
}
