//! Differences between vendors: the numbers and names of ports, and missing tables.
use super::options::OddityShares;
use fastrand::Rng;
use inventory::Mac;
use inventory::observation::{NeighbourId, PortIdKind};

/// The peculiarities of a device.
#[derive(Debug, Clone)]
pub(super) struct DeviceHabit {
    vendor: VendorNumbering,
    ids: PortIdStyle,
    /// The number that LLDP uses for port 0, if its numbers are neither ifIndex nor base ports.
    local_base: Option<u32>,
    /// Its LLDP rows hold no system names and no capabilities.
    pub(super) sparse: bool,
    /// Its neighbour rows hold no port ids.
    pub(super) portless: bool,
    /// It announces itself but records no neighbour.
    pub(super) deaf: bool,
    /// Each member of an aggregate lists the neighbours of all.
    pub(super) pooled: bool,
    pub(super) aggregates: AggregateReport,
    pub(super) tree: TreeReport,
    /// Its ports have no addresses of their own.
    pub(super) one_address: bool,
    /// Its LLDP chassis id differs from its bridge's address.
    pub(super) two_addresses: bool,
    /// Its ageing time: the seconds for which it keeps learned stations.
    pub(super) ageing: u32,
    /// The share of its forwarding database that it serves; `None` if it serves none.
    pub(super) served: Option<f64>,
    /// Its ARP table has the stations that it talks with.
    pub(super) resolves: bool,
    /// The number of its VLAN interfaces.
    pub(super) vlans: u32,
    /// It serves no BRIDGE-MIB.
    pub(super) bridgeless: bool,
    pub(super) routing: RoutingReport,
    /// Its table of bridge ports has those through which it routes, too.
    pub(super) lists_routed: bool,
}

/// How a switch tells that it routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoutingReport {
    /// It does not say so.
    Nothing,
    /// By sysServices, and by the capabilities in its LLDP frames.
    Announced,
    /// By sysServices alone.
    Services,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VendorNumbering {
    /// `swp1`; base port 1 is ifIndex 3.
    Plain,
    /// The names of ports are their numbers.
    Counted,
    /// `Gi1/0/1` for short, `GigabitEthernet1/0/1` in full; LLDP port numbers differ from ifIndex.
    Modular,
    /// The chassis id is the system name, port ids are addresses.
    Named,
}

/// The identity that LLDP gives a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortIdStyle {
    AsVendor,
    /// Every port has the address of the port of this number: of none for 0, which stands for the
    /// device, and for numbers that no port has.
    OneAddress(u32),
    /// An address that VLAN interfaces share.
    SharedAddress,
    Index,
    Alias,
}

/// How a device tells of its aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AggregateReport {
    /// The members, by the LAG MIB.
    Members,
    Nothing,
    /// Members are in the spanning tree table beside the aggregate, and `disabled`.
    Tree,
    /// Logical units above ports and aggregates, layered by ifStackTable.
    Units,
    /// The table of interfaces has no aggregate, and bridge ports are the members.
    Unlisted,
}

/// How a device tells of its spanning tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeReport {
    Served,
    Nothing,
    /// `disabled` at every port.
    Disabled,
}

impl Default for DeviceHabit {
    fn default() -> DeviceHabit {
        DeviceHabit {
            vendor: VendorNumbering::Plain,
            ids: PortIdStyle::AsVendor,
            local_base: None,
            sparse: false,
            portless: false,
            deaf: false,
            pooled: false,
            aggregates: AggregateReport::Members,
            tree: TreeReport::Served,
            one_address: false,
            two_addresses: false,
            // IEEE 802.1D-2004, Table 7-5.
            ageing: 300,
            served: Some(1.0),
            resolves: false,
            vlans: 0,
            bridgeless: false,
            routing: RoutingReport::Nothing,
            lists_routed: false,
        }
    }
}

impl DeviceHabit {
    pub(super) fn any(odd: &OddityShares, rng: &mut Rng) -> DeviceHabit {
        let vendors = [
            VendorNumbering::Plain,
            VendorNumbering::Counted,
            VendorNumbering::Modular,
            VendorNumbering::Named,
        ];
        let vendor = vendors[rng.usize(..vendors.len())];
        let ageing = if rng.f64() < 0.8 {
            300
        } else {
            [60, 1_800][rng.usize(..2)]
        };
        let mut rarely = |share: f64| rng.f64() < share;
        let mut habit = DeviceHabit {
            sparse: rarely(0.08),
            deaf: rarely(0.03),
            pooled: rarely(0.1),
            aggregates: if rarely(0.1) {
                AggregateReport::Nothing
            } else {
                AggregateReport::Members
            },
            tree: if rarely(0.15) {
                TreeReport::Nothing
            } else {
                TreeReport::Served
            },
            one_address: rarely(0.3),
            two_addresses: rarely(0.2),
            resolves: rarely(0.3),
            ageing,
            vendor,
            ..DeviceHabit::default()
        };
        habit.make_odd(odd, rng);
        habit
    }

    fn make_odd(&mut self, odd: &OddityShares, rng: &mut Rng) {
        if rng.f64() < odd.tree_aggregates {
            (self.aggregates, self.tree) = (AggregateReport::Tree, TreeReport::Served);
        } else if rng.f64() < odd.unit_aggregates {
            // Only this vendor's ifIndexes have room for units.
            (self.aggregates, self.vendor) = (AggregateReport::Units, VendorNumbering::Named);
        }
        if rng.f64() < odd.tree_off {
            self.tree = TreeReport::Disabled;
        }
        if rng.f64() < odd.port_ids {
            self.other_port_ids(rng);
        }
        if rng.f64() < odd.half_stated {
            (self.deaf, self.portless) = [(true, false), (false, true)][rng.usize(..2)];
        }
        if rng.f64() < odd.partial_databases {
            (self.ageing, self.served) =
                [(20, Some(1.0)), (300, Some(0.5)), (300, None)][rng.usize(..3)];
        }
        if rng.f64() < odd.virtual_bridges {
            self.vlans = rng.u32(1..=3);
        }
    }

    fn other_port_ids(&mut self, rng: &mut Rng) {
        let styles = [
            PortIdStyle::AsVendor,
            PortIdStyle::OneAddress([0, 1, 1_000][rng.usize(..3)]),
            PortIdStyle::SharedAddress,
            PortIdStyle::Index,
            PortIdStyle::Alias,
        ];
        self.ids = styles[rng.usize(..styles.len())];
        match self.ids {
            // Then only the number tells a port from the others, so it must not be another's.
            PortIdStyle::OneAddress(_) => {
                self.vendor = [VendorNumbering::Counted, VendorNumbering::Modular][rng.usize(..2)];
            }
            PortIdStyle::SharedAddress => (self.vlans, self.one_address) = (2, false),
            _ => self.local_base = Some([30, 900][rng.usize(..2)]).filter(|_| rng.bool()),
        }
    }

    /// True if its chassis id is its name.
    pub(super) fn is_named(&self) -> bool {
        self.vendor == VendorNumbering::Named
    }

    /// ifIndex of a port, counted from 1.
    pub(super) fn index(&self, port: u32) -> u32 {
        match self.vendor {
            VendorNumbering::Plain => port + 2,
            VendorNumbering::Counted => port,
            VendorNumbering::Modular => 10_100 + port,
            VendorNumbering::Named => 500 + 2 * port,
        }
    }

    /// ifIndex of the logical unit of an interface.
    pub(super) fn unit(&self, index: u32) -> Option<u32> {
        (self.aggregates == AggregateReport::Units).then_some(index + 1)
    }

    /// The base port number, which spanning tree and forwarding databases use.
    pub(super) fn base(&self, port: u32) -> u32 {
        if self.vendor == VendorNumbering::Named {
            512 + port
        } else {
            port
        }
    }

    /// The number LLDP uses.
    pub(super) fn lldp(&self, port: u32) -> u32 {
        match (self.local_base, self.vendor) {
            (Some(base), _) => base + port,
            (None, VendorNumbering::Plain | VendorNumbering::Named) => self.index(port),
            (None, VendorNumbering::Counted | VendorNumbering::Modular) => port,
        }
    }

    /// ifName.
    pub(super) fn name(&self, port: u32) -> String {
        match self.vendor {
            VendorNumbering::Plain => format!("swp{port}"),
            VendorNumbering::Counted => port.to_string(),
            VendorNumbering::Modular => format!("Gi1/0/{port}"),
            VendorNumbering::Named => format!("ge-0/0/{port}"),
        }
    }

    /// ifDescr, and LLDP's port description.
    pub(super) fn descr(&self, port: u32) -> String {
        match self.vendor {
            VendorNumbering::Modular => format!("GigabitEthernet1/0/{port}"),
            VendorNumbering::Counted => format!("Port {port}"),
            VendorNumbering::Plain | VendorNumbering::Named => self.name(port),
        }
    }

    /// ifAlias.
    pub(super) fn alias(&self, port: u32) -> String {
        match self.ids {
            PortIdStyle::Alias => format!("line-{}", 100 + port),
            _ => String::new(),
        }
    }

    /// ifIndex of an aggregate, counted from 1.
    pub(super) fn aggregate_index(&self, aggregate: u32) -> u32 {
        self.index(2_000 + aggregate)
    }

    /// Base port of an aggregate.
    pub(super) fn aggregate_base(&self, aggregate: u32) -> u32 {
        self.base(2_000 + aggregate)
    }

    pub(super) fn aggregate_name(&self, aggregate: u32) -> String {
        let kind = match self.vendor {
            VendorNumbering::Plain => "bond",
            VendorNumbering::Counted => "Trk",
            VendorNumbering::Modular => "Po",
            VendorNumbering::Named => "ae",
        };
        format!("{kind}{aggregate}")
    }

    /// The address that LLDP announces as its chassis.
    pub(super) fn chassis_address(&self, address: Mac) -> Mac {
        if self.two_addresses {
            Mac([
                address.0[0],
                address.0[1] ^ 0x80,
                address.0[2],
                address.0[3],
                address.0[4],
                address.0[5],
            ])
        } else {
            address
        }
    }

    /// LLDP port id.
    pub(super) fn port_id(&self, port: u32, address_of: impl Fn(u32) -> Mac) -> NeighbourId {
        match (self.ids, self.vendor) {
            (PortIdStyle::OneAddress(shared), _) => NeighbourId::Mac(address_of(shared)),
            (PortIdStyle::SharedAddress, _) => NeighbourId::Mac(address_of(port)),
            (PortIdStyle::Index, _) => NeighbourId::Text(self.index(port).to_string()),
            (PortIdStyle::Alias, _) => NeighbourId::Text(self.alias(port)),
            (PortIdStyle::AsVendor, VendorNumbering::Named) if !self.one_address => {
                NeighbourId::Mac(address_of(port))
            }
            (PortIdStyle::AsVendor, _) => NeighbourId::Text(self.name(port)),
        }
    }

    /// The subtype of its port ids. Vendors that count their ports call the id local.
    pub(super) fn port_kind(&self) -> PortIdKind {
        match (self.ids, self.vendor) {
            (PortIdStyle::OneAddress(_) | PortIdStyle::SharedAddress, _) => PortIdKind::MacAddress,
            (PortIdStyle::Index, _) => PortIdKind::Local,
            (PortIdStyle::Alias, _) => PortIdKind::InterfaceAlias,
            (PortIdStyle::AsVendor, VendorNumbering::Named) if !self.one_address => {
                PortIdKind::MacAddress
            }
            (PortIdStyle::AsVendor, VendorNumbering::Counted) => PortIdKind::Local,
            (PortIdStyle::AsVendor, _) => PortIdKind::InterfaceName,
        }
    }

    /// True if VLAN interfaces have the address of a port.
    pub(super) fn shares_addresses(&self) -> bool {
        self.ids == PortIdStyle::SharedAddress
    }
}
