//! The texts of alarms.
use super::{
    Alarm, AlarmKind, AlarmSubject, HostElsewhere, HostNotFound, HostPlace, MeasuredConflict,
    NamedNode,
};
use crate::evidence::{DevicePort, Evidence, STATED};
use crate::topology::NodeKind;
use crate::wording::{counted, routed_hops, short_list};
use std::fmt;

impl fmt::Display for AlarmSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlarmSubject::Node(name)
            | AlarmSubject::Cluster(name)
            | AlarmSubject::OneNetwork(name)
            | AlarmSubject::Work(name)
            | AlarmSubject::ReadBack(name) => f.write_str(name),
            AlarmSubject::Between(a, b) => write!(f, "{a}-{b}"),
            AlarmSubject::Segment => f.write_str("segment"),
            AlarmSubject::RootBridge => f.write_str("root bridge"),
            AlarmSubject::Network => f.write_str("network"),
        }
    }
}

impl fmt::Display for NamedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamedNode::Switch(name) => write!(f, "switch \"{name}\""),
            NamedNode::Host(name) => write!(f, "host \"{name}\""),
        }
    }
}

impl fmt::Display for HostElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostElsewhere::Taken(others) => {
                write!(f, "that switch hears {} there", joined(others, " and "))
            }
            HostElsewhere::Seen(places) => {
                write!(f, "switches see it on {}", joined(places, " and "))
            }
        }
    }
}

impl fmt::Display for HostPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPlace::At(port) => write!(f, "{port}"),
            HostPlace::Behind(switch) => write!(f, "{switch}, which does not answer,"),
        }
    }
}

impl fmt::Display for HostNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostNotFound::NoName => f.write_str(
                "no LLDP under this name; check host and cable, or state its mac so \
                             that forwarding tables can tell",
            ),
            HostNotFound::Unlearned => f.write_str(
                "neither LLDP nor any forwarding table knows \
                it; check host and cable",
            ),
            HostNotFound::SharesNoNetwork => f.write_str(
                "no agent reports an address of it in a network with another host, and the \
                 inventory lists no switch; look at its agent and its card",
            ),
            HostNotFound::TrunksOnly(ports) => {
                let ports: Vec<String> = ports.iter().map(DevicePort::short).collect();
                write!(
                    f,
                    "learned only on trunk ports ({}); its own switch says nothing of it",
                    ports.join(", ")
                )
            }
        }
    }
}

/// Declares the sentence of each kind. It is one table, so that no kind is without a sentence.
macro_rules! sentences {
    (|$about:ident, $f:ident| $($kind:pat => $sentence:expr,)*) => {
        impl fmt::Display for Alarm {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $about = &self.subject;
                match &self.kind {
                    $($kind => $sentence,)*
                }
            }
        }
    };
}

sentences! { |about, f|
    AlarmKind::ReadBack(_, text) => f.write_str(text),
    AlarmKind::SwitchStale { problem, .. } => write!(
        f,
        "switch \"{about}\" is stale: {problem}; its links stay as last seen"
    ),
    AlarmKind::SwitchUnheard { problem, .. } => {
        write!(
            f,
            "switch \"{about}\" never answered: {problem}; nothing is known of its ports"
        )
    },
    AlarmKind::TableFailed { table, problem } => {
        write!(
            f,
            "switch \"{about}\", table {table}: {problem}; its former content stays in use"
        )
    },
    AlarmKind::ChassisTwice(id) => {
        write!(
            f,
            "switch \"{about}\": another switch announces its LLDP chassis id {id}; \
             neither is recognized by it"
        )
    },
    AlarmKind::AddressTwice(macs) => write!(
        f,
        "host \"{about}\": its address is claimed by {}; ARP tables contradict each \
         other, state its mac",
        joined(macs, ", ")
    ),
    AlarmKind::ForeignMac(mac, other) => write!(
        f,
        "host \"{about}\": its agent claims MAC address {mac}, which is that of {}; the \
         claim is not believed",
        owner(other, "several others")
    ),
    AlarmKind::MacTwice(mac, other) => write!(
        f,
        "host \"{about}\": its MAC address {mac} is claimed by {} too; neither is \
         recognized by it",
        owner(other, "others")
    ),
    AlarmKind::MacAnnounced(mac, others) => {
        write!(
            f,
            "host \"{about}\": its MAC address {mac} is claimed by host {} too; give each \
             its own address",
            quoted(others)
        )
    },
    AlarmKind::MacClaimed(mac, hosts) => {
        write!(
            f,
            "MAC address {mac}: the agents of hosts {} each claim it; none is recognized \
             by it",
            quoted(hosts)
        )
    },
    AlarmKind::HostContradicted { at, against } => {
        write!(
            f,
            "host \"{about}\": says it is on {at}, but {against}; the switches' word \
             stands: check host and cable"
        )
    },
    AlarmKind::HostHidden(places) => {
        write!(
            f,
            "host \"{about}\": somewhere behind {}, who does not answer; {AMBIGUOUS}",
            places.join(" or ")
        )
    },
    AlarmKind::HostUnfound(why) => write!(
        f,
        "host \"{about}\": seen nowhere: {why}; left out of every schedule"
    ),
    AlarmKind::HostAmbiguous(places) => match &places[..] {
        [one] => write!(
            f,
            "host \"{about}\": seen behind {one}, which leads to another switch; \
             {AMBIGUOUS}"
        ),
        several => write!(
            f,
            "host \"{about}\": seen on {}; {AMBIGUOUS}",
            joined(several, " and ")
        ),
    },
    AlarmKind::HostsOnPort(DevicePort { device, port }, hosts) => write!(
        f,
        "switch \"{device}\" port {port}: {} are all behind it; an unmanaged bridge \
         stands between, its rates are not known{}",
        hosts.join(", "),
        measurable(hosts.len())
    ),
    AlarmKind::HostsInNetwork {
        network,
        hosts,
        switches: 0,
    } => write!(
        f,
        "network {network}: the inventory lists no switch, so all its hosts are on one \
         unmanaged bridge, and the rates behind it are not known{}",
        measurable(*hosts)
    ),
    AlarmKind::HostsInNetwork {
        network,
        hosts,
        switches,
    } => write!(
        f,
        "network {network}: the inventory lists no switch, and hosts hear {}; how they \
         are joined, and the rates between them, are not known{}",
        counted(*switches, "switch"),
        measurable(*hosts)
    ),
    AlarmKind::StationUnlisted(at) => {
        write!(
            f,
            "station \"{about}\" on {at}: not among the inventory's hosts; left out, list \
             it under hosts if it runs ranks"
        )
    },
    AlarmKind::DeviceUnlisted(kind, at) => {
        let what = if *kind == NodeKind::Router {
            "router"
        } else {
            "switch"
        };
        write!(
            f,
            "{what} \"{about}\" on {at}: not in the inventory; shown but not asked, what \
             is behind it stays unknown: list it under switches"
        )
    },
    AlarmKind::DownPortNames(at) => {
        write!(
            f,
            "{at}: names a neighbour, but is down; the link is ambiguous, one of the two \
             is old"
        )
    },
    AlarmKind::NobodysId(at, id) => write!(
        f,
        "{at}: the neighbour announces {id} and no name, by which nobody can be told from \
         others; it is shown under the name of this port: give it a name of its own"
    ),
    AlarmKind::OverTunnel(at, neighbour) => write!(
        f,
        "{at}: names {neighbour}, but is a tunnel and no cable; no link is shown there"
    ),
    AlarmKind::HeardInside(at, neighbour) => write!(
        f,
        "{at}: names {neighbour}, but is a VLAN or bridge inside the device and no cable, and no \
         other port names it; no link is shown there: let LLDP run on ports"
    ),
    AlarmKind::NamedPortDown {
        at,
        named,
        protocol,
    } => write!(
        f,
        "{}: names {} by {protocol}, but that port is down; no link is shown there: check \
         the cable; the row may be an old one",
        at.short(),
        named.short()
    ),
    AlarmKind::Impostor {
        at,
        called,
        by,
        protocol,
        owner,
    } => write!(
        f,
        "{}: \"{called}\" there announces {by} by {protocol}, which is switch \
         \"{owner}\"'s, and that one does not name {} back; no link is shown there: check \
         who is plugged in there and what announces for it",
        at.short(),
        at.device
    ),
    AlarmKind::NamedByOther {
        at,
        named,
        cable: [a, b],
    } => write!(
        f,
        "{0}: names {1}, but {2} and {3} name each other; no link {4}-{5} is shown: check \
         the cable at {0}; the row may be an old one, or something between passes LLDP on",
        at.short(),
        named.short(),
        a.short(),
        b.short(),
        at.device,
        named.device
    ),
    AlarmKind::UnmanagedBridge(places) => {
        write!(
            f,
            "{}: all on one segment; an unmanaged bridge stands between, its rates are \
             not known",
            places.join(", ")
        )
    },
    AlarmKind::MeasuredBefore(hosts) => write!(
        f,
        "\"{}\": the link of {} was lost since flows were measured here; if its cable is \
         elsewhere now, the tree is wrong: `heddle map --controller` measures it again",
        about,
        short_list(hosts.iter().map(String::as_str))
    ),
    AlarmKind::MeasuredOtherwise { side, against } => {
        let wins = match against {
            MeasuredConflict::Protocols => "managed switches have them at several places",
            MeasuredConflict::Operator => "the inventory states one bridge for them",
        };
        write!(
            f,
            "\"{}\": flows between hosts tell a trunk beside {}, but {wins}, which \
             counts: measure again on an idle network, or check the cables",
            about,
            short_list(side.iter().map(String::as_str))
        )
    },
    AlarmKind::SegmentUnclear(places) => write!(
        f,
        "{}: they see each other, but not all of them all others; which are next to each \
         other is ambiguous, let LLDP or CDP run there",
        places.join(", ")
    ),
    AlarmKind::SeveralOnCable(DevicePort { device, port }, names) => write!(
        f,
        "switch \"{device}\" port {port}: sees {} on one cable; the links are ambiguous, \
         something between them forwards LLDP",
        names.join(" and ")
    ),
    AlarmKind::CableDoubted { ends: [a, b], why } => {
        let (a, b) = (a.short(), b.short());
        write!(f, "{a} and {b} name each other by LLDP, but {why}; ")?;
        f.write_str(match why {
            Evidence::BridgeBetween { .. } => {
                "no cable between them is shown: that bridge passes LLDP on"
            }
            _ => {
                "LLDP's word stands as inferred: look for a bridge between them that \
                 passes LLDP on"
            }
        })
    },
    AlarmKind::BridgeUnknown(address) => write!(
        f,
        "bridge {address}: spanning tree names it, but no switch that answers has this \
         address; what is behind it stays unknown: see that it is asked"
    ),
    AlarmKind::RoutedTwice => write!(
        f,
        "link {about}: routers join both ends by another way, too; schedules count that \
         one: state the link that packets do not take as blocked, under links in the \
         inventory"
    ),
    AlarmKind::Loop => {
        write!(
            f,
            "link {about}: closes a loop among forwarding links; frames may circle and \
             nothing is planned: check STP on "
        )?;
        if let AlarmSubject::Between(a, b) = about {
            write!(f, "{a} and {b}")
        } else {
            write!(f, "{about}")
        }
    },
    AlarmKind::RootUnwatched(root) => write!(
        f,
        "root bridge {:04x}.{}: no switch of the inventory has this address; the tree \
         hangs from a switch that is not watched",
        root.priority, root.address
    ),
    AlarmKind::StatedState { stated, found } => write!(
        f,
        "link {about}: {STATED} to be {stated}, but found {found}; the statement counts"
    ),
    AlarmKind::StatedDown(at) => write!(
        f,
        "link {about}: {STATED}, but port {} of \"{}\" is down: check the cable",
        at.port, at.device
    ),
    AlarmKind::StatedRate { stated, found } => write!(
        f,
        "link {about}: {STATED} with {stated}, but found with {found}; the statement counts"
    ),
    AlarmKind::StatedElsewhere { found, why } => {
        let end = |at: &DevicePort| {
            if at.port.is_empty() {
                at.device.clone()
            } else {
                format!("{} ({})", at.device, at.port)
            }
        };
        let why = why.as_ref().map(Evidence::to_string).unwrap_or_default();
        let [a, b] = found.each_ref().map(end);
        write!(
            f,
            "link {about}: {STATED}, but found {a} - {b}, {why}; the statement counts: check the cable or the \
             inventory"
        )
    },
    AlarmKind::ProbesDiffer(hops) => write!(
        f,
        "hosts \"{}\" and \"{}\": {} between them by one probe and none by others; the \
         probe with hops counts for nothing: check the routes of both",
        node(about, 0),
        node(about, 1),
        routed_hops(hops)
    ),
    AlarmKind::RouterUnmet => write!(
        f,
        "host \"{}\": its probe met no routed hop on the way to \"{}\", but cables lead there \
         only through a router; the probe joins nothing: check its routes, and that both are \
         probed on this network",
        node(about, 0),
        node(about, 1)
    ),
    AlarmKind::VirtualLans(hops) => write!(
        f,
        "hosts \"{}\" and \"{}\": {} between them though switches join them; they are taken \
         for two clusters: two virtual LANs, or a wrong route on one of them",
        node(about, 0),
        node(about, 1),
        routed_hops(hops)
    ),
    AlarmKind::StatedTogether([a, b], hops) => write!(
        f,
        "cluster \"{about}\": \"{a}\" and \"{b}\" are in it as {STATED}, but there is {} \
         between them; the statement counts",
        routed_hops(hops)
    ),
    AlarmKind::RouterUnseen { way, at, rate } => write!(
        f,
        "router \"{about}\": packets pass it ({way}) and nothing tells where it is; it is \
         taken to be cabled to {} with {rate} each: list it under switches, or state it \
         under routers and its cables under links",
        short_list(at.iter().map(String::as_str))
    ),
    AlarmKind::NetworkUnseen(prefix) => write!(
        f,
        "network \"{about}\": no address of {prefix} is seen in any network, so none has this \
         name; correct the prefix in the inventory, or run heddle agent on its hosts"
    ),
    AlarmKind::AddressShared(address, hosts) => write!(
        f,
        "network \"{about}\": address {address} is that of several hosts ({}), so no job is recognised by \
         it; give each card its own",
        short_list(hosts.iter().map(String::as_str))
    ),
    AlarmKind::HostBridges([a, b]) => write!(
        f,
        "host \"{about}\": stations of one of networks {a} and {b} are learned behind its card in the \
         other, so it bridges them; no tree has this way: look for a bridge between its cards"
    ),
    AlarmKind::HostRoutes {
        address,
        between: [from, to],
    } => write!(
        f,
        "host \"{about}\": packets from \"{from}\" to \"{to}\" pass it ({address}), so it routes \
         between networks; no tree has this way, and the probe joins and parts nothing: jobs across \
         it go the library's way"
    ),
    AlarmKind::NetworkShares(others) => write!(
        f,
        "network \"{about}\": shares switches and cables with {}; what all carry adds up there, and the schedules of each are planned as if it were alone",
        short_list(others.iter().map(String::as_str))
    ),
}

const AMBIGUOUS: &str = "its place is ambiguous, nothing is planned on it until one remains";

/// One of the nodes that a subject names, or the subject.
fn node(about: &AlarmSubject, number: usize) -> String {
    let node = about.nodes().into_iter().nth(number);
    node.unwrap_or_else(|| about.to_string())
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

fn owner(owner: &Option<NamedNode>, several: &str) -> String {
    let named = owner.as_ref().map(NamedNode::to_string);
    named.unwrap_or_else(|| several.to_owned())
}

fn joined<T: ToString>(items: &[T], between: &str) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(between)
}

/// The hint for hosts on one bridge that nobody asked; empty where there is no trunk to find, or are
/// too many hosts for a measurement.
fn measurable(hosts: usize) -> &'static str {
    match hosts {
        3..=124 => ": `heddle map --controller` measures them",
        _ => "",
    }
}
