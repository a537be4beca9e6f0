//! The hosts of the job and their addresses.
use anyhow::{Context, bail, ensure};
use mpi::traits::*;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

/// A rank as it tells of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobMember {
    host: String,
    port: u16,
    addresses: Vec<NetworkAddress>,
}

/// An address of a host, and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct NetworkAddress {
    address: IpAddr,
    prefix: u8,
}

/// A host with the address at which it takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MapHost {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
}

/// The room for what a rank tells of itself.
const ROOM: usize = 4096;

/// Tells all ranks of each other.
pub(crate) fn exchange(world: &impl Communicator, port: u16) -> anyhow::Result<Vec<JobMember>> {
    let name = nix::unistd::gethostname().context("this host has no name")?;
    let text = name.to_string_lossy();
    let host = text.split('.').next().unwrap_or_default().to_owned();
    let member = JobMember {
        host,
        port,
        addresses: addresses()?,
    };
    let mut own = serde_json::to_vec(&member)?;
    ensure!(
        own.len() <= ROOM,
        "this host has more addresses than fit: {}",
        member.addresses.len()
    );
    own.resize(ROOM, b' ');
    let mut all = vec![0; ROOM * world.size() as usize];
    world.all_gather_into(&own[..], &mut all[..]);
    all.chunks(ROOM)
        .map(|text| serde_json::from_slice(text).context("a rank tells nonsense of itself"))
        .collect()
}

fn addresses() -> anyhow::Result<Vec<NetworkAddress>> {
    let mut found = Vec::new();
    let interfaces = getifaddrs().context("this host's addresses")?;
    for interface in interfaces.filter(|i| i.flags.contains(InterfaceFlags::IFF_UP)) {
        let ip = |storage: &nix::sys::socket::SockaddrStorage| {
            let v4 = storage.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
            v4.or_else(|| storage.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
        };
        let address = interface.address.as_ref().and_then(ip);
        let mask = interface.netmask.as_ref().and_then(ip);
        if let (Some(address), Some(mask)) = (address, mask) {
            // Each link has the prefix of link-local addresses (RFC 4291, 2.5.6): they name no network.
            let local = matches!(address, IpAddr::V6(a) if a.is_unicast_link_local());
            if !address.is_loopback() && !local {
                let prefix = bits(mask).count_ones() as u8;
                found.push(NetworkAddress { address, prefix });
            }
        }
    }
    Ok(found)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        // In the upper bits, where a prefix of either family has its length from.
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl NetworkAddress {
    fn network(self) -> u128 {
        bits(self.address) & !u128::MAX.checked_shr(self.prefix.into()).unwrap_or(0)
    }

    fn shares_network(self, other: NetworkAddress) -> bool {
        self.address.is_ipv4() == other.address.is_ipv4()
            && self.prefix == other.prefix
            && self.network() == other.network()
    }
}

/// A tree takes three hosts, and each of them once.
fn check_hosts(members: &[JobMember]) -> anyhow::Result<()> {
    if members.len() < 3 {
        bail!(
            "the job has {} of the three ranks that a tree takes; nothing was measured; start one \
             rank on each of three hosts or more",
            members.len()
        );
    }
    ensure!(
        members.len() <= mapping::MOST_HOSTS,
        "{} hosts are more than the {} that one map holds",
        members.len(),
        mapping::MOST_HOSTS
    );
    for (rank, member) in members.iter().enumerate() {
        if let Some(first) = members[..rank].iter().position(|m| m.host == member.host) {
            bail!(
                "ranks {first} and {rank} are both on {}: a host measures nothing against itself; \
                 start one rank on each host (Open MPI: --map-by node, MPICH: -ppn 1)",
                member.host
            );
        }
    }
    Ok(())
}

/// True if every host has an address of its own on this network. A bridge for containers has the
/// same one on each host, and leads to none of them.
fn joins(members: &[JobMember], network: NetworkAddress) -> bool {
    let on = |m: &JobMember| {
        m.addresses
            .iter()
            .find(|a| a.shares_network(network))
            .map(|a| a.address)
    };
    let addresses: Option<HashSet<IpAddr>> = members.iter().map(on).collect();
    addresses.is_some_and(|all| all.len() == members.len())
}

/// Why the network that `--network` names does not serve.
fn not_everywhere(members: &[JobMember], wanted: NetworkAddress) -> String {
    let is_off = |m: &&JobMember| !m.addresses.iter().any(|a| a.shares_network(wanted));
    let problem = match members.iter().find(is_off) {
        Some(host) => format!("{} has no address on it", with_addresses(host)),
        None => "several hosts have the same address on it".to_owned(),
    };
    format!(
        "--network {}/{}: {problem}; nothing was measured; name a network on which each host has \
         an address of its own",
        wanted.address, wanted.prefix
    )
}

fn with_addresses(member: &JobMember) -> String {
    let addresses = member.addresses.iter();
    let all = addresses.map(|a| format!("{}/{}", a.address, a.prefix));
    format!("{} ({})", member.host, all.collect::<Vec<_>>().join(", "))
}

fn nothing_in_common(members: &[JobMember]) -> String {
    let first = &members[0];
    let meets = |m: &&JobMember| {
        m.addresses
            .iter()
            .any(|b| first.addresses.iter().any(|a| a.shares_network(*b)))
    };
    let without = members.iter().find(|m| !meets(m)).unwrap_or(&members[1]);
    format!(
        "no network in common: {} and {}; nothing was measured, because heddle maps hosts of one \
         Ethernet network, not across routers; start the job on the hosts of one network",
        with_addresses(first),
        with_addresses(without)
    )
}

/// The hosts with an address each on a network that all of them have; on the one that `wanted`
/// names, if it is given.
pub(crate) fn on_one_network(
    members: &[JobMember],
    wanted: Option<&str>,
) -> anyhow::Result<Vec<MapHost>> {
    check_hosts(members)?;
    let wanted = wanted.map(network).transpose()?;
    let common: Vec<NetworkAddress> = members[0]
        .addresses
        .iter()
        .copied()
        .filter(|a| wanted.is_none_or(|w| w.shares_network(*a)))
        .filter(|a| joins(members, *a))
        .collect();
    let Some(&network) = common.first() else {
        bail!(wanted.map_or_else(
            || nothing_in_common(members),
            |wanted| not_everywhere(members, wanted)
        ));
    };
    if common.len() > 1 {
        eprintln!(
            "heddle map: the hosts have {} networks in common; that of {}/{} is measured; \
             --network names another",
            common.len(),
            network.address,
            network.prefix
        );
    }
    Ok(members
        .iter()
        .filter_map(|m| {
            let address = m
                .addresses
                .iter()
                .find(|a| a.shares_network(network))?
                .address;
            Some(MapHost {
                name: m.host.clone(),
                address: SocketAddr::new(address, m.port),
            })
        })
        .collect())
}

fn network(text: &str) -> anyhow::Result<NetworkAddress> {
    let parsed = text.split_once('/').and_then(|(address, prefix)| {
        Some(NetworkAddress {
            address: address.parse().ok()?,
            prefix: prefix.parse().ok()?,
        })
    });
    parsed
        .with_context(|| format!("--network \"{text}\" is not a network; an example: 10.0.0.0/16"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(host: &str, addresses: &[&str]) -> JobMember {
        let addresses = addresses.iter().map(|a| network(a).unwrap()).collect();
        JobMember {
            host: host.into(),
            port: 9,
            addresses,
        }
    }

    #[test]
    fn hosts_meet_on_the_network_they_share() {
        let hosts = [
            member("n0", &["192.168.1.5/24", "10.0.0.1/16"]),
            member("n1", &["10.0.7.1/16"]),
            member("n2", &["10.0.9.1/16", "192.168.2.5/24"]),
        ];
        let found = on_one_network(&hosts, None).unwrap();
        let addresses: Vec<String> = found.iter().map(|h| h.address.to_string()).collect();
        assert_eq!(addresses, ["10.0.0.1:9", "10.0.7.1:9", "10.0.9.1:9"]);
        let refused = on_one_network(&hosts, Some("192.168.1.0/24")).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("--network 192.168.1.0/24: n1 (10.0.7.1/16) has no address on it; "),
            "{refused}"
        );
    }

    #[test]
    fn a_bridge_that_every_host_has_is_no_network() {
        let hosts = ["10.0.0.1/16", "10.0.0.2/16", "10.0.0.3/16"]
            .map(|own| member(own, &["172.17.0.1/16", own]));
        let found = on_one_network(&hosts, None).unwrap();
        assert_eq!(found[2].address.to_string(), "10.0.0.3:9");
    }

    #[test]
    fn two_ranks_on_a_host_and_jobs_across_routers_are_refused() {
        let [a, b] = ["10.0.0.1/16", "10.1.0.1/16"];
        let twice = [member("n0", &[a]), member("n1", &[a]), member("n0", &[a])];
        let refused = on_one_network(&twice, None).unwrap_err().to_string();
        assert!(
            refused.starts_with("ranks 0 and 2 are both on n0"),
            "{refused}"
        );
        let apart = [member("n0", &[a]), member("n1", &[a]), member("n2", &[b])];
        let refused = on_one_network(&apart, None).unwrap_err().to_string();
        assert!(
            refused.contains("n0 (10.0.0.1/16) and n2 (10.1.0.1/16)"),
            "{refused}"
        );
    }
}
