//! The host of a rank: what it is called, and where it is reached.
//!
//! MPI's processor name need not be the inventory's: a launcher or an administrator gives a host another
//! name on each network (`ib-n0`). Addresses on the published network say which host it is whatever it
//! is called, so they count first ([`crate::process_set_view`]).
use crate::network_evidence::{ip, octets_of};
use nix::ifaddrs::getifaddrs;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// A name of more octets is none.
const LONGEST_NAME: usize = 255;
/// A host has few names, and a line says how many addresses of it.
const MOST_NAMES: usize = 3;
const MOST_ADDRESSES: usize = 64;

/// Where a rank runs. Ranks of one host that see the same interfaces are on equal ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankHost(Arc<HostIdentity>);

#[derive(Debug, PartialEq, Eq, Default)]
struct HostIdentity {
    /// MPI's processor name, the host's own name, and the one that Slurm's daemon has (`SLURMD_NODENAME`);
    /// each once.
    names: Vec<String>,
    /// The addresses of its interfaces, but those that no other host reaches.
    addresses: Vec<IpAddr>,
}

impl RankHost {
    /// This process's, under this processor name.
    pub fn here(processor: &str) -> RankHost {
        let own = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok());
        let slurm = std::env::var("SLURMD_NODENAME").ok();
        let interfaces = getifaddrs().into_iter().flatten();
        let addresses = interfaces.filter_map(|interface| ip(interface.address.as_ref()?));
        RankHost::new(
            [Some(processor.to_owned()), own, slurm]
                .into_iter()
                .flatten(),
            addresses,
        )
    }

    /// A host of this name alone.
    pub fn named(name: &str) -> RankHost {
        RankHost::new([name.to_owned()].into_iter(), [].into_iter())
    }

    pub(crate) fn new(
        names: impl Iterator<Item = String>,
        addresses: impl Iterator<Item = IpAddr>,
    ) -> RankHost {
        let mut known: Vec<String> = Vec::new();
        for name in names.filter(|name| !name.is_empty() && name.len() <= LONGEST_NAME) {
            if known.len() < MOST_NAMES && !known.contains(&name) {
                known.push(name);
            }
        }
        let mut addresses: Vec<IpAddr> = addresses
            .filter(is_of_a_network)
            .take(MOST_ADDRESSES)
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        RankHost(Arc::new(HostIdentity {
            names: known,
            addresses,
        }))
    }

    /// What MPI calls it.
    pub fn name(&self) -> &str {
        self.0.names.first().map_or("", String::as_str)
    }

    /// All names, MPI's first.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// Its addresses, sorted.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.0.addresses
    }

    /// As octets, for the other ranks.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut octets = vec![self.0.names.len() as u8];
        for name in &self.0.names {
            octets.push(name.len() as u8);
            octets.extend(name.as_bytes());
        }
        octets.push(self.0.addresses.len() as u8);
        for &address in &self.0.addresses {
            octets.extend(octets_of(address));
        }
        octets
    }

    /// Reads what [`RankHost::to_bytes`] wrote; what follows is passed over.
    pub fn from_bytes(octets: &[u8]) -> RankHost {
        RankHost::read(octets).unwrap_or_default()
    }

    /// Those of several ranks, each of so many octets. Ranks of one host share what is known of it.
    pub fn of_ranks(all: &[u8], octets: usize) -> Vec<RankHost> {
        let mut known: HashMap<&[u8], RankHost> = HashMap::new();
        let each = all.chunks(octets.max(1));
        let hosts = each.map(|own| {
            let host = known
                .entry(own)
                .or_insert_with(|| RankHost::from_bytes(own));
            host.clone()
        });
        hosts.collect()
    }

    fn read(mut octets: &[u8]) -> Option<RankHost> {
        let mut names = Vec::new();
        for _ in 0..take(&mut octets, 1)?[0] {
            let length = usize::from(take(&mut octets, 1)?[0]);
            names.push(String::from_utf8_lossy(take(&mut octets, length)?).into_owned());
        }
        let mut addresses = Vec::new();
        for _ in 0..take(&mut octets, 1)?[0] {
            let address: [u8; 16] = *take(&mut octets, 16)?.first_chunk()?;
            addresses.push(Ipv6Addr::from(address).to_canonical());
        }
        Some(RankHost(Arc::new(HostIdentity { names, addresses })))
    }
}

impl fmt::Display for RankHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn take<'o>(octets: &mut &'o [u8], length: usize) -> Option<&'o [u8]> {
    let (taken, rest) = octets.split_at_checked(length)?;
    *octets = rest;
    Some(taken)
}

/// Not the addresses that each host has.
fn is_of_a_network(address: &IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !address.is_loopback() && !is_link_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_arrives_as_it_was_sent() {
        let here = RankHost::here("ib-n0");
        assert_eq!(here.name(), "ib-n0");
        let mut octets = here.to_bytes();
        octets.extend([0; 100]);
        assert_eq!(RankHost::from_bytes(&octets), here);
        for short in 0..here.to_bytes().len() {
            RankHost::from_bytes(&octets[..short]);
        }
        assert_eq!(RankHost::from_bytes(&[255; 300]), RankHost::default());
    }

    #[test]
    fn addresses_that_every_host_has_say_nothing() {
        let addresses = [
            "127.0.0.1",
            "::1",
            "fe80::1",
            "169.254.3.4",
            "10.1.0.7",
            "fd00::7",
        ]
        .map(|text| text.parse::<IpAddr>().unwrap());
        let names = ["n7", "", "n7", "n7.cluster"].map(str::to_owned);
        let host = RankHost::new(names.into_iter(), addresses.into_iter());
        assert_eq!(host.addresses(), &addresses[4..]);
        assert_eq!(host.names(), ["n7", "n7.cluster"]);
    }
}
