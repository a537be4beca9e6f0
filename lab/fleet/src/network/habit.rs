//! Differences between vendors: the numbers and names of ports, and missing tables.
use fastrand::Rng;
use inventory::Mac;
use inventory::observation::NeighbourId;

/// The peculiarities of a device.
#[derive(Debug, Clone)]
pub(super) struct DeviceHabit {
    vendor: VendorNumbering,
    /// Its LLDP rows hold no system names and no capabilities.
    pub(super) sparse: bool,
    /// It announces itself but records no neighbour.
    pub(super) deaf: bool,
    /// Each member of an aggregate lists the neighbours of all.
    pub(super) pooled: bool,
    /// It does not report the members of aggregates.
    pub(super) keeps_members_secret: bool,
    /// It serves no spanning tree table, although it takes part in spanning tree.
    pub(super) keeps_tree_secret: bool,
    /// Its ports have no addresses of their own.
    pub(super) one_address: bool,
    /// Its LLDP chassis id differs from its bridge's address.
    pub(super) two_addresses: bool,
    /// Its ageing time: the seconds for which it keeps learned stations.
    pub(super) ageing: u32,
    /// Its ARP table has the stations that it talks with.
    pub(super) resolves: bool,
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

impl Default for DeviceHabit {
    fn default() -> DeviceHabit {
        DeviceHabit {
            vendor: VendorNumbering::Plain,
            sparse: false,
            deaf: false,
            pooled: false,
            keeps_members_secret: false,
            keeps_tree_secret: false,
            one_address: false,
            two_addresses: false,
            // IEEE 802.1D-2004, Table 7-5.
            ageing: 300,
            resolves: false,
        }
    }
}

impl DeviceHabit {
    pub(super) fn any(rng: &mut Rng) -> DeviceHabit {
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
        DeviceHabit {
            sparse: rarely(0.08),
            deaf: rarely(0.03),
            pooled: rarely(0.1),
            keeps_members_secret: rarely(0.1),
            keeps_tree_secret: rarely(0.15),
            one_address: rarely(0.3),
            two_addresses: rarely(0.2),
            resolves: rarely(0.3),
            ageing,
            vendor,
        }
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
        match self.vendor {
            VendorNumbering::Plain | VendorNumbering::Named => self.index(port),
            VendorNumbering::Counted | VendorNumbering::Modular => port,
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

    /// LLDP chassis id.
    pub(super) fn chassis(&self, name: &str, address: Mac) -> NeighbourId {
        match self.vendor {
            VendorNumbering::Named => NeighbourId::Text(name.to_owned()),
            _ if self.two_addresses => NeighbourId::Mac(Mac([
                address.0[0],
                address.0[1] ^ 0x80,
                address.0[2],
                address.0[3],
                address.0[4],
                address.0[5],
            ])),
            _ => NeighbourId::Mac(address),
        }
    }

    /// LLDP port id.
    pub(super) fn port_id(&self, port: u32, address: Mac) -> NeighbourId {
        match self.vendor {
            VendorNumbering::Named if !self.one_address => NeighbourId::Mac(address),
            _ => NeighbourId::Text(self.name(port)),
        }
    }
}
