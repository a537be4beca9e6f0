//! The files of several networks.
//!
//! ```text
//! networks.json                    names and prefixes, the main network first
//! networks/management/             a further network
//!     topology.yaml    alltoall.plan    allgather.json    table.json
//! ```
//!
//! The main network's files lie in the epoch's folder itself, as if it were the only one.
use crate::layout::{NETWORKS, TOPOLOGY, in_network};
use inventory::TopologyFile;
use inventory::topology_file::is_network_name;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A network in the list of networks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedNetwork {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<IpNet>,
}

/// The files of the trees: the main one is written as if it were the only one.
pub(super) fn topology_files(topology: &TopologyFile) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![(TOPOLOGY.to_owned(), file_alone(topology))];
    if topology.name.is_none() {
        return files;
    }
    let networks = topology.all_networks().map(|network| ListedNetwork {
        name: network.name.clone().unwrap_or_default(),
        prefix: network.prefix,
    });
    let listed = serde_json::to_vec_pretty(&networks.collect::<Vec<_>>())
        .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
    files.push((NETWORKS.to_owned(), listed));
    for (name, network) in &topology.networks {
        files.push((in_network(name, TOPOLOGY), file_alone(network)));
    }
    files
}

fn file_alone(network: &TopologyFile) -> Vec<u8> {
    let alone = TopologyFile {
        name: None,
        prefix: None,
        ..network.alone()
    };
    alone.to_yaml().into_bytes()
}

/// Reads the trees of all networks; `read` gives a file of this name, if there is one.
///
/// # Errors
/// That of `read`, and `refuse` of a file's name and problem.
pub(super) fn topology<E>(
    mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    refuse: impl Fn(&str, String) -> E,
) -> Result<TopologyFile, E> {
    let mut main = tree(TOPOLOGY, &mut read, &refuse)?;
    let Some(listed) = read(NETWORKS)? else {
        return Ok(main);
    };
    let listed: Vec<ListedNetwork> =
        serde_json::from_slice(&listed).map_err(|e| refuse(NETWORKS, e.to_string()))?;
    for ListedNetwork { name, prefix } in listed {
        let is_known = main.name.as_ref() == Some(&name) || main.networks.contains_key(&name);
        if is_known || !is_network_name(&name) {
            return Err(refuse(
                NETWORKS,
                format!("{name:?} cannot name a network here"),
            ));
        }
        if main.name.is_none() {
            (main.name, main.prefix) = (Some(name), prefix);
            continue;
        }
        let file = in_network(&name, TOPOLOGY);
        let mut network = tree(&file, &mut read, &refuse)?;
        (network.name, network.prefix) = (Some(name.clone()), prefix);
        main.networks.insert(name, network);
    }
    Ok(main)
}

/// One tree.
fn tree<E>(
    name: &str,
    read: &mut impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    refuse: &impl Fn(&str, String) -> E,
) -> Result<TopologyFile, E> {
    let bytes = read(name)?.ok_or_else(|| refuse(name, "it is missing".to_owned()))?;
    let text = std::str::from_utf8(&bytes).map_err(|e| refuse(name, e.to_string()))?;
    let file = TopologyFile::parse(name, text).map_err(|e| refuse(name, e.to_string()))?;
    if file.name.is_some() {
        return Err(refuse(
            name,
            format!("it names networks, which {NETWORKS} does"),
        ));
    }
    Ok(file)
}
