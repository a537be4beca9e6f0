//! Whether the MPI library's messages cross the published tree.
//!
//! A cluster may have several networks, and the library chooses one by itself. So each rank looks at the
//! TCP connections of its process after a call by the library's own routine: octets came from the hosts
//! of the process set at their addresses on the tree, or from elsewhere, or by a device that is no
//! socket. Ranks see different things; [`verdict`] makes one answer of what all of them report.
mod sockets;

pub(crate) use sockets::ip;
pub use sockets::prefix;

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// The part of the octets that a call must move between hosts of which connections have to show at least
/// one part in so many: a library may send some by shared memory, or over several networks.
const SHOWN: u64 = 8;
/// A call that took less than this part of the tree's bound did not cross it.
const TOO_SOON: f64 = 0.8;

/// The device that a rank's process has open beside sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FabricDevice {
    /// Nothing.
    #[default]
    None,
    /// `/dev/infiniband/uverbs*`: InfiniBand, RoCE, or EFA.
    Verbs,
    /// `/dev/hfi1*`: Omni-Path.
    OmniPath,
    /// `/dev/cxi*`: Slingshot.
    Slingshot,
}

impl FabricDevice {
    const ALL: [FabricDevice; 4] = [
        FabricDevice::None,
        FabricDevice::Verbs,
        FabricDevice::OmniPath,
        FabricDevice::Slingshot,
    ];

    /// The device of a file of this path.
    fn of_path(path: &str) -> FabricDevice {
        if path.starts_with("/dev/infiniband/uverbs") {
            FabricDevice::Verbs
        } else if path.starts_with("/dev/hfi1") {
            FabricDevice::OmniPath
        } else if path.starts_with("/dev/cxi") {
            FabricDevice::Slingshot
        } else {
            FabricDevice::None
        }
    }
}

impl fmt::Display for FabricDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FabricDevice::None => "no device",
            FabricDevice::Verbs => "RDMA (InfiniBand or RoCE)",
            FabricDevice::OmniPath => "Omni-Path",
            FabricDevice::Slingshot => "Slingshot",
        })
    }
}

/// The evidence of one rank after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankEvidence {
    /// Octets that came from hosts of the process set at their addresses on the tree.
    pub on_tree: u64,
    /// Octets that came to this host's other addresses.
    pub elsewhere: u64,
    /// The own address to which most of those came.
    pub address: Option<IpAddr>,
    /// The device that the process has open beside sockets.
    pub device: FabricDevice,
    /// The time of the call on this rank.
    pub took: Duration,
}

/// Octets of a report.
pub const REPORT: usize = 8 + 8 + 17 + 1 + 8;

impl RankEvidence {
    /// The evidence of this rank after a call that took so long, with the hosts of its process set at these
    /// addresses on the tree.
    pub fn collected(hosts: &HashSet<IpAddr>, took: Duration) -> RankEvidence {
        let (on_tree, elsewhere, address, device) = sockets::look(hosts);
        RankEvidence {
            on_tree,
            elsewhere,
            address,
            device,
            took,
        }
    }

    /// As octets, for the other ranks.
    pub fn to_bytes(self) -> [u8; REPORT] {
        let mut report = [0; REPORT];
        report[..8].copy_from_slice(&self.on_tree.to_le_bytes());
        report[8..16].copy_from_slice(&self.elsewhere.to_le_bytes());
        if let Some(address) = self.address {
            report[16] = 1;
            report[17..33].copy_from_slice(&octets_of(address));
        }
        let device = FabricDevice::ALL.iter().position(|&d| d == self.device);
        report[33] = device.unwrap_or(0) as u8;
        let took = u64::try_from(self.took.as_nanos()).unwrap_or(u64::MAX);
        report[34..].copy_from_slice(&took.to_le_bytes());
        report
    }

    /// Reads what [`RankEvidence::to_bytes`] wrote.
    pub fn from_bytes(report: &[u8; REPORT]) -> RankEvidence {
        let number = |at: usize| {
            let mut octets = [0; 8];
            octets.copy_from_slice(&report[at..at + 8]);
            u64::from_le_bytes(octets)
        };
        let mut address = [0; 16];
        address.copy_from_slice(&report[17..33]);
        let device = FabricDevice::ALL.get(usize::from(report[33]));
        RankEvidence {
            on_tree: number(0),
            elsewhere: number(8),
            address: (report[16] == 1).then(|| Ipv6Addr::from(address).to_canonical()),
            device: device.copied().unwrap_or_default(),
            took: Duration::from_nanos(number(34)),
        }
    }
}

/// The answer of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkVerdict {
    /// The library's messages cross the tree, all or some of them.
    OnTree,
    /// They go over the network of this address.
    OtherNetwork(Option<IpAddr>),
    /// They go by a device.
    Device(FabricDevice),
    /// The call ended sooner than it can on the tree.
    TooSoon {
        /// The longest time on any rank.
        took: Duration,
        /// The least time on the tree.
        bound: Duration,
    },
    /// Nothing shows where they go.
    Nothing,
}

impl fmt::Display for NetworkVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkVerdict::OnTree => write!(f, "the library sends over the published tree"),
            NetworkVerdict::OtherNetwork(address) => {
                write!(f, "the library sends over ")?;
                match address {
                    Some(address) => sockets::interface_of(*address)
                        .map_or(Ok(()), |name| write!(f, "{name}, "))
                        .and_then(|()| write!(f, "{address}")),
                    None => write!(f, "another network"),
                }
            }
            NetworkVerdict::Device(device) => write!(f, "the library sends by {device}"),
            NetworkVerdict::TooSoon { took, bound } => write!(
                f,
                "a call took {took:.1?}, and takes {bound:.1?} at least on the published tree: the \
                 library's messages do not cross it"
            ),
            NetworkVerdict::Nothing => write!(
                f,
                "nothing shows that the library's messages cross the published tree"
            ),
        }
    }
}

/// The verdict on what all ranks report after a call that moves at least `between_hosts` octets from host
/// to host, and takes at least `bound` on the tree. The same on each rank that has the same reports.
pub fn verdict(reports: &[RankEvidence], between_hosts: u64, bound: Duration) -> NetworkVerdict {
    let shown = (between_hosts / SHOWN).max(1);
    let on_tree: u64 = sum(reports.iter().map(|report| report.on_tree));
    let elsewhere: u64 = sum(reports.iter().map(|report| report.elsewhere));
    let devices = reports.iter().map(|report| report.device);
    let device = devices.into_iter().find(|&d| d != FabricDevice::None);
    let longest = reports.iter().map(|report| report.took).max();
    let took = longest.unwrap_or_default();
    // Rank 0 prints the verdict, and has the name of its own interface.
    let most = reports.iter().rev().max_by_key(|report| report.elsewhere);
    let root = reports.first().filter(|report| report.elsewhere > 0);
    // Where nothing has to cross a cable, the most octets say it.
    let is_most = between_hosts > 0 || on_tree >= elsewhere;
    if on_tree >= shown && is_most {
        NetworkVerdict::OnTree
    } else if elsewhere >= shown {
        NetworkVerdict::OtherNetwork(root.or(most).and_then(|report| report.address))
    } else if let Some(device) = device {
        NetworkVerdict::Device(device)
    } else if took.as_secs_f64() < TOO_SOON * bound.as_secs_f64() {
        NetworkVerdict::TooSoon { took, bound }
    } else {
        NetworkVerdict::Nothing
    }
}

fn sum(octets: impl Iterator<Item = u64>) -> u64 {
    octets.fold(0, u64::saturating_add)
}

/// An address as octets, for other ranks: those of IPv6. [`Ipv6Addr::to_canonical`] reads them.
pub fn octets_of(address: IpAddr) -> [u8; 16] {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    address.octets()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn report(on_tree: u64, elsewhere: u64) -> RankEvidence {
        RankEvidence {
            on_tree,
            elsewhere,
            address: (elsewhere > 0).then(|| IpAddr::from([10, 78, 128, 1])),
            device: FabricDevice::None,
            took: 5 * MS,
        }
    }

    #[test]
    fn a_report_arrives_as_it_was_sent() {
        for address in [None, Some("10.78.0.1"), Some("fd00::7")] {
            for device in FabricDevice::ALL {
                let sent = RankEvidence {
                    address: address.map(|text| text.parse().unwrap()),
                    device,
                    ..report(1 << 40, 7)
                };
                assert_eq!(RankEvidence::from_bytes(&sent.to_bytes()), sent);
            }
        }
        let _ = RankEvidence::from_bytes(&[255; REPORT]);
    }

    #[test]
    fn octets_say_which_network_it_is() {
        let on_tree = [report(4000, 10), report(0, 0)];
        assert_eq!(verdict(&on_tree, 8000, MS), NetworkVerdict::OnTree);
        // Over two networks at once: over the tree, too.
        let striped = [report(4000, 4000); 2];
        assert_eq!(verdict(&striped, 8000, MS), NetworkVerdict::OnTree);
        let other = verdict(&[report(10, 4000), report(0, 0)], 8000, MS);
        let address = IpAddr::from([10, 78, 128, 1]);
        let few = [report(300, 4000), report(0, 0)];
        assert_eq!(verdict(&few, 0, Duration::ZERO), other);
        let most = [report(4000, 300), report(0, 0)];
        assert_eq!(verdict(&most, 0, Duration::ZERO), NetworkVerdict::OnTree);
        assert_eq!(other, NetworkVerdict::OtherNetwork(Some(address)));
        assert!(other.to_string().ends_with("10.78.128.1"), "{other}");
    }

    #[test]
    fn where_no_socket_shows_anything_devices_and_time_speak() {
        let device = RankEvidence {
            device: FabricDevice::of_path("/dev/infiniband/uverbs0"),
            ..report(0, 0)
        };
        let both = [report(0, 0), device];
        assert_eq!(
            verdict(&both, 8000, MS),
            NetworkVerdict::Device(FabricDevice::Verbs)
        );
        let none = [report(0, 0); 2];
        let soon = verdict(&none, 8000, 400 * MS);
        let expected = NetworkVerdict::TooSoon {
            took: 5 * MS,
            bound: 400 * MS,
        };
        assert_eq!(soon, expected);
        assert_eq!(verdict(&none, 8000, MS), NetworkVerdict::Nothing);
    }
}
