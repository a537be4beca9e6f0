//! The situations of real networks in which inference goes wrong.
use super::options::{FabricShape, NetworkOptions, OddityShares};
use fastrand::Rng;
use std::fmt;

/// A class of generated networks: one thing that is odd in many of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkSituation {
    /// The defects of [`NetworkOptions::field`]: silent and mute switches, moved hosts.
    Field,
    /// Aggregates that only spanning tree or logical units know.
    TreeAggregates,
    /// No spanning tree, or one that is `disabled` at every port.
    TreeOff,
    /// Port ids that are addresses, numbers or descriptions; local numbers of their own.
    PortIds,
    /// Names of the factory, no names, short names in other domains, the reporter's own name.
    SharedNames,
    /// Null, broadcast and group addresses as chassis ids, cloned chassis ids.
    BadChassis,
    /// LLDP and CDP that pass through asked bridges.
    RelayedFrames,
    /// Forwarding databases alone: no switch speaks.
    DatabasesAlone,
    /// Forwarding databases that are cut, aged, or one-sided.
    PartialDatabases,
    /// Unmanaged switches with stations on them.
    UnmanagedSwitches,
    /// Segments of three and more switches, where one database does not match another.
    SharedSegments,
    /// Asked devices without a bridge table.
    AskedHosts,
    /// Routers with several interfaces, and tunnels.
    RoutersAndTunnels,
    /// Telephones with CDP, some with a host behind them.
    Phones,
    /// Neighbours that were unplugged and are still listed.
    StaleNeighbours,
    /// Neighbours that only one end lists, and cables whose far port is unknown.
    HalfStated,
    /// Hosts with virtual bridges, switches with VLAN interfaces.
    VirtualBridges,
    /// Everything, a little.
    Mixed,
    /// A network for management, one for storage, or both beside the main one.
    SeveralNetworks,
    /// Leaves and spines that route; some with spanning tree instead.
    LeafSpine,
    /// Spines that act as one.
    PairedSpines,
    /// Leaves that act as one, with hosts on both.
    PairedLeaves,
    /// Aggregates in each cable between switches, and tables that leave them out.
    Trunks,
    /// Hosts with a card on each leaf.
    Rails,
}

impl NetworkSituation {
    /// Every situation of a cluster that has one network.
    pub const OF_ONE: [NetworkSituation; 18] = [
        NetworkSituation::Field,
        NetworkSituation::TreeAggregates,
        NetworkSituation::TreeOff,
        NetworkSituation::PortIds,
        NetworkSituation::SharedNames,
        NetworkSituation::BadChassis,
        NetworkSituation::RelayedFrames,
        NetworkSituation::DatabasesAlone,
        NetworkSituation::PartialDatabases,
        NetworkSituation::UnmanagedSwitches,
        NetworkSituation::SharedSegments,
        NetworkSituation::AskedHosts,
        NetworkSituation::RoutersAndTunnels,
        NetworkSituation::Phones,
        NetworkSituation::StaleNeighbours,
        NetworkSituation::HalfStated,
        NetworkSituation::VirtualBridges,
        NetworkSituation::Mixed,
    ];

    /// Every situation of a cluster that has several networks.
    pub const OF_SEVERAL: [NetworkSituation; 1] = [NetworkSituation::SeveralNetworks];

    /// Every fabric with more than one path.
    pub const OF_FABRICS: [NetworkSituation; 5] = [
        NetworkSituation::LeafSpine,
        NetworkSituation::PairedSpines,
        NetworkSituation::PairedLeaves,
        NetworkSituation::Trunks,
        NetworkSituation::Rails,
    ];

    /// Every situation.
    pub fn all() -> impl Iterator<Item = NetworkSituation> {
        let several = NetworkSituation::OF_SEVERAL;
        let all = NetworkSituation::OF_ONE.into_iter().chain(several);
        all.chain(NetworkSituation::OF_FABRICS)
    }

    /// The options of a network of this class. `unasked`: up to three of its bridges, at least one,
    /// are neither asked nor listed.
    pub fn options(self, seed: u64, unasked: bool) -> NetworkOptions {
        let mut rng = Rng::with_seed(seed ^ 0x6f64_6479);
        let mut all = NetworkOptions {
            silent: 0.0,
            unmanaged: 0.0,
            moved: 0.0,
            mute: 0.1,
            ..NetworkOptions::field(seed)
        };
        all.odd.unasked = if unasked { rng.usize(1..=3) } else { 0 };
        all.switches = all.switches.max(2 + all.odd.unasked);
        self.bend(&mut all, seed, &mut rng);
        all
    }

    fn bend(self, all: &mut NetworkOptions, seed: u64, rng: &mut Rng) {
        use NetworkSituation as S;
        let odd = &mut all.odd;
        match self {
            S::Field => {
                let field = NetworkOptions::field(seed);
                (all.silent, all.moved, all.mute) = (field.silent, field.moved, field.mute);
            }
            S::TreeAggregates => {
                (all.aggregates, all.spanning_tree) = (0.6, true);
                (odd.tree_aggregates, odd.unit_aggregates) = (0.5, 0.25);
            }
            S::TreeOff => (all.spanning_tree, odd.tree_off) = (false, 0.6),
            S::PortIds => odd.port_ids = 0.8,
            S::SharedNames => (odd.default_names, odd.domains) = (0.4, 0.3),
            S::BadChassis => odd.bad_chassis = 0.35,
            S::RelayedFrames => {
                (odd.relays, odd.cdp) = (0.3, 0.4);
                // Only its database gives a relay away.
                (all.in_band, all.forgotten) = (true, 0.0);
            }
            S::DatabasesAlone => (all.mute, all.host_lldp) = (1.0, 0.0),
            S::PartialDatabases => (all.mute, odd.partial_databases) = (0.4, 0.5),
            S::UnmanagedSwitches => all.unmanaged = 0.4,
            S::SharedSegments => {
                (all.unmanaged, odd.segments, odd.one_sided) = (0.5, 0.7, 0.5);
                (all.mute, all.spanning_tree) = (0.6, rng.bool());
            }
            S::AskedHosts => odd.asked_hosts = 0.4,
            S::RoutersAndTunnels => {
                (odd.routers, odd.tunnels, odd.cdp) = (rng.usize(1..=3), true, 0.5);
            }
            S::Phones => (odd.phones, odd.cdp) = (0.5, 0.7),
            S::StaleNeighbours => odd.stale_rows = 0.5,
            S::HalfStated => odd.half_stated = 0.5,
            S::VirtualBridges => odd.virtual_bridges = 0.4,
            S::Mixed => {
                (all.unmanaged, all.moved) = (0.1, 0.05);
                *odd = everything(odd.unasked, rng.usize(0..=2));
            }
            S::SeveralNetworks => {
                odd.management = rng.f64() < 0.8;
                odd.storage = !odd.management || rng.bool();
                // Switches are not managed through the main network, where they can be otherwise.
                all.in_band = !odd.management;
            }
            S::LeafSpine => all.fabric = Some(FabricShape::LeafSpine),
            S::PairedSpines => all.fabric = Some(FabricShape::PairedSpines),
            S::PairedLeaves => all.fabric = Some(FabricShape::PairedLeaves),
            S::Trunks => all.fabric = Some(FabricShape::Trunks),
            S::Rails => all.fabric = Some(FabricShape::Rails),
        }
    }
}

/// A little of everything.
fn everything(unasked: usize, routers: usize) -> OddityShares {
    OddityShares {
        tree_aggregates: 0.15,
        unit_aggregates: 0.1,
        tree_off: 0.3,
        port_ids: 0.3,
        default_names: 0.1,
        domains: 0.1,
        bad_chassis: 0.05,
        relays: 0.05,
        cdp: 0.2,
        unasked,
        partial_databases: 0.1,
        segments: 0.3,
        one_sided: 0.1,
        asked_hosts: 0.1,
        routers,
        tunnels: true,
        phones: 0.1,
        stale_rows: 0.1,
        half_stated: 0.1,
        virtual_bridges: 0.1,
        management: false,
        storage: false,
    }
}

impl fmt::Display for NetworkSituation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NetworkSituation::Field => "field",
            NetworkSituation::TreeAggregates => "tree-aggregates",
            NetworkSituation::TreeOff => "tree-off",
            NetworkSituation::PortIds => "port-ids",
            NetworkSituation::SharedNames => "shared-names",
            NetworkSituation::BadChassis => "bad-chassis",
            NetworkSituation::RelayedFrames => "relayed-frames",
            NetworkSituation::DatabasesAlone => "databases-alone",
            NetworkSituation::PartialDatabases => "partial-databases",
            NetworkSituation::UnmanagedSwitches => "unmanaged-switches",
            NetworkSituation::SharedSegments => "shared-segments",
            NetworkSituation::AskedHosts => "asked-hosts",
            NetworkSituation::RoutersAndTunnels => "routers-and-tunnels",
            NetworkSituation::Phones => "phones",
            NetworkSituation::StaleNeighbours => "stale-neighbours",
            NetworkSituation::HalfStated => "half-stated",
            NetworkSituation::VirtualBridges => "virtual-bridges",
            NetworkSituation::Mixed => "mixed",
            NetworkSituation::SeveralNetworks => "several-networks",
            NetworkSituation::LeafSpine => "leaf-spine",
            NetworkSituation::PairedSpines => "paired-spines",
            NetworkSituation::PairedLeaves => "paired-leaves",
            NetworkSituation::Trunks => "trunks",
            NetworkSituation::Rails => "rails",
        })
    }
}
