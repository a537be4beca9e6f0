//! The Ethernet cards of this host, as its kernel describes them by netlink (rtnetlink(7)).
//!
//! Netlink answers for the network namespace in which the socket was opened; `/sys` may show
//! another one.
#![allow(
    unsafe_code,
    reason = "the rate of a card has no rtnetlink attribute: an ioctl of ethtool gives it"
)]
use super::card::NetworkCard;
use futures_util::{StreamExt, TryStreamExt};
use inventory::address::AddressFault;
use inventory::host_report::Nic;
use inventory::{BitsPerSec, Mac};
use rtnetlink::packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use rtnetlink::packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
};
use rtnetlink::{MulticastGroup, new_multicast_connection};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The limit of cards. No host has more real ones, but containers can have thousands of virtual
/// ones.
const MOST_CARDS: usize = 128;

/// The limit of addresses shown for one card.
const MOST_ADDRESSES: usize = 32;

/// An Ethernet interface that heddle reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNic {
    /// The facts to report.
    pub nic: Nic,
    /// The same card for the code that sends and receives on it.
    pub card: NetworkCard,
    /// How often it lost its link since the system started, if the kernel says so.
    pub link_losses: Option<u32>,
    /// True if the interface is itself an end of a cable. False for a bond, bridge or VLAN over
    /// such cards, which is shown for its addresses.
    pub plugged: bool,
}

/// The kernel's refusal to describe the cards.
#[derive(Debug, thiserror::Error)]
#[error("network cards: {doing}: {problem}; this host cannot be described")]
pub struct NicsError {
    doing: &'static str,
    problem: String,
}

/// The kernel's view of the cards, and notice of its changes.
pub struct NicMonitor {
    /// The only cards to report; empty for all.
    only: Vec<String>,
    handle: rtnetlink::Handle,
    /// A socket in the same namespace, for ioctls.
    socket: UdpSocket,
    news: Arc<Notify>,
    tasks: [JoinHandle<()>; 2],
}

impl NicMonitor {
    /// Connects to the kernel; no privilege is needed. If `only` names cards, only those are
    /// shown, whatever their kind. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// [`NicsError`] if a socket is refused.
    pub fn open(only: &[String]) -> Result<NicMonitor, NicsError> {
        let refused = |e: io::Error| NicsError {
            doing: "opening a netlink socket",
            problem: e.to_string(),
        };
        let groups = [
            MulticastGroup::Link,
            MulticastGroup::Ipv4Ifaddr,
            MulticastGroup::Ipv6Ifaddr,
        ];
        let (connection, handle, mut messages) =
            new_multicast_connection(&groups).map_err(refused)?;
        let socket = UdpSocket::bind("127.0.0.1:0")
            .or_else(|_| UdpSocket::bind("[::1]:0"))
            .map_err(refused)?;
        let news = Arc::new(Notify::new());
        let notified = news.clone();
        // A message only says that something changed. All messages are taken at once and lead to
        // one reading.
        let drain = tokio::spawn(async move {
            while messages.next().await.is_some() {
                notified.notify_one();
            }
        });
        Ok(NicMonitor {
            only: only.to_vec(),
            handle,
            socket,
            news,
            tasks: [tokio::spawn(connection), drain],
        })
    }

    /// Waits until a card or an address has changed since the last call.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Reads all cards and the interfaces over them, in the kernel's order.
    ///
    /// # Errors
    /// [`NicsError`] if the kernel refuses.
    pub async fn read(&self) -> Result<Vec<KernelNic>, NicsError> {
        let refused = |doing| {
            move |e: rtnetlink::Error| NicsError {
                doing,
                problem: e.to_string(),
            }
        };
        let links: Vec<LinkMessage> = self
            .handle
            .link()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(refused("listing them"))?;
        let addresses: Vec<AddressMessage> = self
            .handle
            .address()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(refused("listing their addresses"))?;
        let mut found = cards(&links, &addresses, &self.only);
        for one in &mut found {
            one.nic.rate = rate(&self.socket, &one.nic.name);
        }
        Ok(found)
    }
}

impl Drop for NicMonitor {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The number of processors this process may use, and so of ranks the host offers. Affinity
/// (sched_getaffinity(2)) and the quota of the control group limit it.
pub fn slots() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// An Ethernet interface, before heddle decides whether to report it.
struct KernelInterface<'a> {
    index: u32,
    kind: Option<&'a InfoKind>,
    master: Option<u32>,
    /// The interface below this one, in this namespace.
    below: Option<u32>,
    link: &'a LinkMessage,
    addresses: Vec<(IpAddr, u8)>,
}

/// The cards that lead out of the host, and the interfaces over them. A virtual Ethernet interface
/// counts if it has an address and no bridge: it is then the card of a container, not the host's
/// end of one.
fn cards(links: &[LinkMessage], addresses: &[AddressMessage], only: &[String]) -> Vec<KernelNic> {
    let mut of: BTreeMap<u32, Vec<(IpAddr, u8)>> = BTreeMap::new();
    for (index, address) in addresses.iter().filter_map(address) {
        let list = of.entry(index).or_default();
        if list.len() < MOST_ADDRESSES {
            list.push(address);
        }
    }
    let interfaces: Vec<KernelInterface<'_>> = links
        .iter()
        .filter(|l| l.header.link_layer_type == LinkLayerType::Ether)
        .map(|l| KernelInterface::new(l, of.remove(&l.header.index).unwrap_or_default()))
        .collect();
    let plugged: BTreeSet<u32> = interfaces
        .iter()
        .filter(|i| {
            if only.is_empty() {
                i.is_plugged()
            } else {
                only.iter().any(|name| name == i.name())
            }
        })
        .map(|i| i.index)
        .take(MOST_CARDS)
        .collect();
    let shown = with_what_is_upon(&interfaces, &plugged);
    let named: BTreeMap<u32, (&str, Option<&InfoKind>)> = interfaces
        .iter()
        .map(|i| (i.index, (i.name(), i.kind)))
        .collect();
    interfaces
        .iter()
        .filter(|i| shown.contains(&i.index))
        .filter_map(|i| {
            i.found(
                i.master.and_then(|m| named.get(&m)).copied(),
                plugged.contains(&i.index),
            )
        })
        .collect()
}

/// Adds the bonds, bridges and VLANs over the given interfaces, then those over the added ones.
fn with_what_is_upon(interfaces: &[KernelInterface<'_>], plugged: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut shown = plugged.clone();
    loop {
        let masters: BTreeSet<u32> = interfaces
            .iter()
            .filter(|i| shown.contains(&i.index))
            .filter_map(|i| i.master)
            .collect();
        let more: Vec<u32> = interfaces
            .iter()
            .filter(|i| !shown.contains(&i.index))
            .filter(|i| masters.contains(&i.index) || i.below.is_some_and(|b| shown.contains(&b)))
            .map(|i| i.index)
            .collect();
        let room = (2 * MOST_CARDS).saturating_sub(shown.len());
        if more.is_empty() || room == 0 {
            return shown;
        }
        shown.extend(more.into_iter().take(room));
    }
}

impl<'a> KernelInterface<'a> {
    fn new(link: &'a LinkMessage, addresses: Vec<(IpAddr, u8)>) -> KernelInterface<'a> {
        let mut interface = KernelInterface {
            index: link.header.index,
            kind: None,
            master: None,
            below: None,
            link,
            addresses,
        };
        let mut elsewhere = false;
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Controller(index) => interface.master = Some(*index),
                LinkAttribute::Link(index) => interface.below = Some(*index),
                LinkAttribute::LinkNetNsId(_) => elsewhere = true,
                LinkAttribute::LinkInfo(infos) => {
                    interface.kind = infos.iter().find_map(|i| {
                        if let LinkInfo::Kind(kind) = i {
                            Some(kind)
                        } else {
                            None
                        }
                    });
                }
                _ => {}
            }
        }
        // IFLA_LINK of a veth is its peer. With IFLA_LINK_NETNSID it is a number of another
        // namespace.
        if elsewhere || interface.kind == Some(&InfoKind::Veth) {
            interface.below = None;
        }
        interface
    }

    fn is_plugged(&self) -> bool {
        match self.kind {
            None => true,
            Some(InfoKind::Veth | InfoKind::MacVlan | InfoKind::IpVlan) => {
                self.below.is_none() && self.master.is_none() && !self.addresses.is_empty()
            }
            Some(_) => false,
        }
    }

    fn name(&self) -> &'a str {
        self.link
            .attributes
            .iter()
            .find_map(|a| {
                if let LinkAttribute::IfName(n) = a {
                    Some(n.as_str())
                } else {
                    None
                }
            })
            .unwrap_or("")
    }

    /// `None` if the interface has no address of its own.
    fn found(&self, master: Option<(&str, Option<&InfoKind>)>, plugged: bool) -> Option<KernelNic> {
        let (mut mac, mut permanent, mut octets) = (None, None, (0, 0));
        let mut link_losses = None;
        for attribute in &self.link.attributes {
            match attribute {
                LinkAttribute::Address(a) => mac = Mac::from_octets(a),
                LinkAttribute::PermAddress(a) => permanent = Mac::from_octets(a),
                LinkAttribute::CarrierDownCount(times) => link_losses = Some(*times),
                LinkAttribute::Stats64(s) => octets = (s.rx_bytes, s.tx_bytes),
                _ => {}
            }
        }
        let mac = mac.filter(|m| m.is_station())?;
        // All members of a bond send from the bond's address.
        let bonded =
            master.is_some_and(|(_, kind)| matches!(kind, Some(InfoKind::Bond | InfoKind::Team)));
        let up = self
            .link
            .header
            .flags
            // IFF_LOWER_UP is the carrier (netdevice(7)).
            .contains(LinkFlags::Up | LinkFlags::LowerUp);
        let nic = Nic {
            name: self.name().to_owned(),
            mac: permanent.filter(|_| bonded).or(Some(mac)),
            addresses: self.addresses.clone(),
            rate: None,
            up,
            master: master.map(|(name, _)| name.to_owned()),
            in_octets: octets.0,
            out_octets: octets.1,
        };
        Some(KernelNic {
            nic,
            card: NetworkCard {
                index: self.index,
                name: self.name().to_owned(),
                mac,
                up,
                losses: link_losses,
            },
            link_losses,
            plugged,
        })
    }
}

/// An address at which others may reach the host, with its interface.
fn address(message: &AddressMessage) -> Option<(u32, (IpAddr, u8))> {
    let header = &message.header;
    let reaches = matches!(header.scope, AddressScope::Universe | AddressScope::Site);
    // A tentative address may turn out to be another host's (RFC 4862, 5.4).
    if !reaches || header.flags.intersects(AddressHeaderFlags::Tentative) {
        return None;
    }
    let (mut own, mut other) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(a) => own = Some(*a),
            // For a point-to-point interface this is the address of the other end.
            AddressAttribute::Address(a) => other = Some(*a),
            _ => {}
        }
    }
    // An IPv6 address without a peer has no IFA_LOCAL.
    let address = (own.or(other)?, header.prefix_len);
    // The controller would refuse the whole report because of one address that no host can have.
    AddressFault::within(address)
        .is_none()
        .then_some((header.index, address))
}

/// The answer of ETHTOOL_GSET (linux/ethtool.h, `struct ethtool_cmd`). The rate is in Mbit/s, in
/// two halves.
#[repr(C)]
#[derive(Default)]
struct EthtoolCmd {
    cmd: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    duplex: u8,
    port: u8,
    phy_address: u8,
    transceiver: u8,
    autoneg: u8,
    mdio_support: u8,
    maxtxpkt: u32,
    maxrxpkt: u32,
    speed_hi: u16,
    eth_tp_mdix: u8,
    eth_tp_mdix_ctrl: u8,
    lp_advertising: u32,
    reserved: [u32; 2],
}

fn rate(socket: &UdpSocket, name: &str) -> Option<BitsPerSec> {
    const ETHTOOL_GSET: u32 = 1;
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    let mut settings = EthtoolCmd {
        cmd: ETHTOOL_GSET,
        ..EthtoolCmd::default()
    };
    // SAFETY: all-zero is a valid ifreq: integers, a pointer and character arrays.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request
        .ifr_name
        .iter_mut()
        .zip(name.bytes().take(libc::IFNAMSIZ - 1))
    {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    // SAFETY: the kernel reads and writes `request` and the `settings` it points to, as long as the
    // kernel's own structure; both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    (done == 0)
        .then(|| megabits(settings.speed, settings.speed_hi))
        .flatten()
}

/// SPEED_UNKNOWN is all ones; a card without a carrier may also report 0.
fn megabits(low: u16, high: u16) -> Option<BitsPerSec> {
    let both = u32::from(high) << 16 | u32::from(low);
    (both != 0 && both != u32::MAX && both != u32::from(u16::MAX))
        .then(|| BitsPerSec(u64::from(both) * 1_000_000))
}

#[cfg(test)]
mod tests;
