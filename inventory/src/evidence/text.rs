//! The texts of evidence.
use super::{
    AssumedRate, DevicePort, Evidence, FacingProof, FlowFinding, KeptReason, MEASURED,
    NeighbourProtocol, RATE, RecognizedBy, STATED, SideBySide, SilentBridge,
};
use crate::Mac;
use crate::name_ranges::fold;
use crate::wording::{routed_hops, utc_minute};
use std::fmt;

impl fmt::Display for DevicePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.device, self.port)
    }
}

impl fmt::Display for NeighbourProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NeighbourProtocol::Lldp => "LLDP",
            NeighbourProtocol::Cdp => "CDP",
            NeighbourProtocol::Stp => "STP",
        })
    }
}

impl fmt::Display for RecognizedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecognizedBy::Chassis(id) => write!(f, "chassis {id}"),
            RecognizedBy::Mac(mac) => write!(f, "MAC {mac}"),
            RecognizedBy::Name(name) => write!(f, "name {name}"),
            RecognizedBy::Witnessed(name) => {
                write!(f, "name {name}, which the port and both databases confirm")
            }
            RecognizedBy::OwnName => f.write_str("its own name"),
        }
    }
}

impl fmt::Display for AssumedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssumedRate::Gigabit => f.write_str("neither end says it, 1G assumed"),
            AssumedRate::AsBefore(bridge) => write!(
                f,
                "that of the port before {bridge}; {bridge} does not say its own"
            ),
            AssumedRate::AsSlowestHost(rate) => {
                write!(f, "nothing says it, {rate} assumed as the slowest host has")
            }
            AssumedRate::AsFastestHost(switch) => write!(
                f,
                "nothing says it; as fast as the fastest host on {switch}, it is assumed"
            ),
            AssumedRate::ReadBack(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for FlowFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowFinding::Filled {
                times,
                probability,
                hosts,
                rounds,
                moved,
                at,
            } => write!(
                f,
                "flows between {hosts} hosts filled it {times} times, probability {}.{:03}; \
                 {rounds} rounds, {:.1} MB, {}",
                probability / 1000,
                probability % 1000,
                moved.0 as f64 / 1e6,
                utc_minute(*at)
            ),
            FlowFinding::Behind(trunk) => {
                write!(f, "flows to the host cross the trunk to {trunk}")
            }
            FlowFinding::NotFilled {
                hosts,
                rounds,
                moved,
                at,
            } => write!(
                f,
                "flows between {hosts} hosts are not known to have filled it; {rounds} rounds, \
                 {:.1} MB, {}",
                moved.0 as f64 / 1e6,
                utc_minute(*at)
            ),
            FlowFinding::Reached(rate) => write!(f, "flows to and from the host reached {rate}"),
            FlowFinding::Seat {
                among,
                probability,
                hosts,
                rounds,
                moved,
                at,
            } => {
                write!(f, "flows between {hosts} hosts tell that the host is here")?;
                if !among.is_empty() {
                    write!(f, ", among {}", among.join(", "))?;
                }
                write!(
                    f,
                    "; probability {}.{:03}; {rounds} rounds, {:.1} MB, {}",
                    probability / 1000,
                    probability % 1000,
                    moved.0 as f64 / 1e6,
                    utc_minute(*at)
                )
            }
            FlowFinding::ReadBack(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for FacingProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FacingProof::Both => "each learned the other's address",
            FacingProof::One => "one learned the other's address",
            FacingProof::Stations => "neither learned the other's address",
        })
    }
}

impl fmt::Display for SilentBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SilentBridge::Known(owner, address) => write!(f, "{owner} ({address})"),
            SilentBridge::OnlyMissing(one, address) => {
                write!(f, "{address}, and {one} is all that is missing,")
            }
            SilentBridge::Unknown(address) => write!(f, "{address}"),
        }
    }
}

impl fmt::Display for KeptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeptReason::LinkFlaps => "its link flaps",
            KeptReason::SeenNowhere => "the host is seen nowhere now",
        })
    }
}

/// Declares the sentence of each kind of evidence. It is one table, so that none is without a sentence.
macro_rules! sentences {
    (|$f:ident| $($evidence:pat => $sentence:expr,)*) => {
        impl fmt::Display for Evidence {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($evidence => $sentence,)*
                }
            }
        }
    };
}

sentences! { |f|
    Evidence::Stated => f.write_str(STATED),
    Evidence::InTopologyFile => f.write_str("stated in a topology file"),
    Evidence::StateStated(state) => write!(f, "{state}: {STATED}"),
    Evidence::BehindBridge(bridge) => write!(f, "behind {bridge}: {STATED}"),
    Evidence::Rate(rate) => write!(f, "{RATE}{rate}"),
    Evidence::Measured(finding) => write!(f, "{MEASURED}{finding}"),
    Evidence::PortDown(at) => write!(f, "port {} of {} is down", at.port, at.device),
    Evidence::HostsOnPort(hosts) => write!(f, "{hosts} hosts on one port"),
    Evidence::SharesNetwork(network) => {
        write!(f, "in network {network}; no switch is listed")
    },
    Evidence::PlaceAssumed => f.write_str("its place on this side is assumed"),
    Evidence::RoutedHops { hops, from, to } => {
        write!(f, "{} from {from} to {to}", routed_hops(hops))
    },
    Evidence::Kept { epoch, because } => write!(f, "as in epoch {epoch}; {because}"),
    Evidence::ReadBack(text) => f.write_str(text),
    Evidence::Names {
        protocol,
        at,
        neighbour,
        by,
        stale,
        down,
    } => {
        let old = if *stale { ", as last seen" } else { "" };
        let down = if *down { ", but the port is down" } else { "" };
        write!(
            f,
            "{protocol}: {} names {neighbour} by {by}{old}{down}",
            at.short()
        )
    },
    Evidence::Hears {
        protocol,
        at,
        from,
        by,
        old,
    } => {
        write!(f, "{protocol}: {} hears {}", at.short(), from.short())?;
        by.iter().try_for_each(|by| write!(f, " by {by}"))?;
        f.write_str(if *old { ", as last heard" } else { "" })
    },
    Evidence::NotNamedBack { device, other } => {
        write!(f, "{device} does not name {other} back")
    },
    Evidence::Unanswering(device) => write!(
        f,
        "{device} does not answer, so it neither confirms nor denies this"
    ),
    Evidence::BehindPossible {
        hidden: a,
        unnamed: b,
    } => {
        write!(
            f,
            "neither {a} nor {b} answers, and nobody names {b}: it may be behind {a}"
        )
    },
    Evidence::AlsoNames { at, named } => write!(
        f,
        "{} also names {named}, which nobody confirms",
        at.short()
    ),
    Evidence::NamedUnconfirmed { at, named } => {
        write!(
            f,
            "{} also names {}, which {} does not confirm",
            at.short(),
            named.short(),
            named.device
        )
    },
    Evidence::OthersLearned(at) => {
        write!(f, "FDB: others are learned on {}, who are elsewhere", at.short())
    },
    Evidence::OthersPossible(at) => write!(f, "FDB: others may be on {}, too", at.short()),
    Evidence::LearnedAtEdge { at, macs, stale } => {
        let macs = macs
            .iter()
            .map(Mac::to_string)
            .collect::<Vec<_>>()
            .join(" or ");
        let old = if *stale { ", as last seen" } else { "" };
        write!(
            f,
            "FDB: {} learned {macs} on edge port {}{old}",
            at.device, at.port
        )
    },
    Evidence::LearnedBeyond { host, silent } => {
        write!(
            f,
            "FDB: those who learned {host} have it beyond their own ports, where {silent} is \
             or may be"
        )
    },
    Evidence::LearnedBetween { mac, ends: [a, b] } => {
        write!(
            f,
            "FDB: {mac} was learned between {} and {}, as if something stood there",
            a.short(),
            b.short()
        )
    },
    Evidence::LearnedElsewhere { at, node } => write!(
        f,
        "FDB: {} has {node} behind another port than {}",
        at.device, at.port
    ),
    Evidence::BridgeBetween {
        ports: [p, q],
        ends: [a, b],
    } => write!(
        f,
        "FDB: {} has {a} behind {} and {b} behind {}, so it stands between them",
        p.device, p.port, q.port
    ),
    Evidence::Facing {
        ends: [x, y],
        proof,
        sides: (ours, theirs),
        between,
    } => {
        write!(
            f,
            "FDB: {x} and {y} face each other: {proof}; {ours} stations on the one side, \
             {theirs} on the other"
        )?;
        if *between > 0 {
            write!(
                f,
                ", {between} between: something unmanaged may stand there"
            )
        } else {
            Ok(())
        }
    },
    Evidence::BetweenPossible(names) => write!(
        f,
        "FDB: {} may stand between, nothing says so or not",
        names.join(" or ")
    ),
    Evidence::HostBond {
        cables,
        bond,
        aggregated,
    } => {
        let how = if *aggregated {
            ""
        } else {
            "; the switch names no aggregate, so they count as one cable"
        };
        write!(
            f,
            "LAG: {cables} cables of {}{how}",
            bond.as_deref().unwrap_or("one aggregate")
        )
    },
    Evidence::Aggregate { cables, a, b } => {
        let port = |end: &(String, Option<String>)| {
            end.1.clone().unwrap_or_else(|| "(not said)".to_owned())
        };
        write!(
            f,
            "LAG: {cables} cables between {} {} and {} {}",
            a.0,
            port(a),
            b.0,
            port(b)
        )
    },
    Evidence::MembersGuessed => f.write_str(
        "LAG: which member is joined to which is not told; matched in the ports' order",
    ),
    Evidence::PortStates(ends) => {
        let ends: Vec<String> = ends
            .iter()
            .map(|(at, state)| format!("{} {state}", at.short()))
            .collect();
        write!(f, "STP: {}", ends.join(", "))
    },
    Evidence::OnlyWay => {
        f.write_str("STP: not said at both ends, but there is no other way")
    },
    Evidence::OwnPort(at) => write!(
        f,
        "{} is no bridge port, and only {} itself is behind it: it forwards nothing there",
        at.short(),
        at.device
    ),
    Evidence::SideBySide(what) => write!(f, "{what}"),
    Evidence::InVlan(vlan) => write!(f, "its port is in VLAN {vlan}"),
    Evidence::StateInVlan(vlan, state) => write!(f, "STP: {state} in VLAN {vlan}"),
    Evidence::Routed => f.write_str("routed: no spanning tree across"),
    Evidence::RoutedElsewhere => f.write_str(
        "routed: there is another way, and nothing tells which one packets take",
    ),
    Evidence::ThirdDesignated { at, bridge } => {
        write!(
            f,
            "STP: {} names {bridge} as the designated bridge, as if something stood \
             between",
            at.short()
        )
    },
    Evidence::DesignatedPort { at, designated } => {
        write!(
            f,
            "STP: {} names {} as the designated port",
            at.short(),
            designated.short()
        )
    },
    Evidence::DesignatedBridge { at, bridge } => write!(
        f,
        "STP: {} names {bridge} as the designated bridge",
        at.short()
    ),
}

impl fmt::Display for SideBySide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideBySide::Routed(over) => write!(
                f,
                "no spanning tree and nothing bridged: flows spread over the ways through {}",
                fold(over.clone())
            ),
            SideBySide::AtPair([a, b]) => {
                write!(
                    f,
                    "{a} and {b} act as one switch: flows spread over the cables to both"
                )
            }
            SideBySide::WithinPair([a, b]) => write!(f, "{a} and {b} act as one switch"),
            SideBySide::Members(cables) => write!(
                f,
                "{cables} cables of one rate side by side, outside the spanning tree that both ends run: \
                 members of an aggregate"
            ),
            SideBySide::Cards(cards) => {
                write!(
                    f,
                    "one of the host's {cards} cards on switches that a fabric joins"
                )
            }
        }
    }
}
