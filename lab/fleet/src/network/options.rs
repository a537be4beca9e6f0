//! The size of a generated network, its shape, and its defects.
use fastrand::Rng;

/// A kind of fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricShape {
    /// Leaves and spines, joined by links over which they route.
    LeafSpine,
    /// Leaves with aggregates to two spines that act as one.
    PairedSpines,
    /// Hosts with aggregates to pairs of leaves that act as one.
    PairedLeaves,
    /// A tree of aggregates.
    Trunks,
    /// Hosts with a card on each of several leaves.
    Rails,
}

/// The size of a network and its defects. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkOptions {
    /// The number of switches in the inventory.
    pub switches: usize,
    /// The number of hosts.
    pub hosts: usize,
    /// The shape of the tree of switches.
    pub shape: NetworkShape,
    /// The number of cables between switches beyond a tree, which spanning tree blocks. There are
    /// none if no spanning tree runs.
    pub redundant: usize,
    /// True if the switches run spanning tree.
    pub spanning_tree: bool,
    /// The share of cables between switches that are aggregates of two to four.
    pub aggregates: f64,
    /// The share of switches that do not answer.
    pub silent: f64,
    /// The share of switches that do not speak LLDP.
    pub mute: f64,
    /// The share of cables between switches that have an unmanaged bridge in between, which the
    /// inventory does not list and which does not answer. The same number of further unmanaged
    /// bridges have only hosts behind them.
    pub unmanaged: f64,
    /// The share of bridges without LLDP that pass its frames on, against IEEE 802.1D-2004, 7.12.6.
    /// [`field`] has none: two nodes that hear each other through such a bridge are taken for
    /// neighbours unless another statement contradicts. With 0.3 of them, five of 13,000 certain
    /// links in 1,000 networks are false.
    ///
    /// [`field`]: NetworkOptions::field
    pub transparent: f64,
    /// The share of hosts that speak LLDP.
    pub host_lldp: f64,
    /// The share of speaking hosts whose addresses the inventory does not state.
    pub unstated: f64,
    /// The number of other hosts that each host talked with lately.
    pub talks: usize,
    /// The seconds within which it did so. Switches forget after 300 s, a few of them sooner or
    /// later.
    pub window: u32,
    /// True if every bridge saw a broadcast of each host.
    pub seed_frames: bool,
    /// True if switches are managed through the network itself, so that bridges learn their
    /// addresses.
    pub in_band: bool,
    /// The share of learned rows that are lost before they are old.
    pub forgotten: f64,
    /// The share of hosts that moved lately and left old rows behind.
    pub moved: f64,
    /// True if vendors differ in numbering, naming, and missing tables.
    pub habits: bool,
    pub odd: OddityShares,
    /// The kind of fabric that it is; then the size and the shape above do not count.
    pub fabric: Option<FabricShape>,
}

/// The shape of the tree of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkShape {
    /// One after the other.
    Row,
    /// All on the first.
    Star,
    /// Each on one of those before it.
    Random,
    /// Every leaf on each of this many spines, which come first.
    Spines(usize),
    /// A tree in which each switch has this many switches below it.
    Fan(usize),
}

impl NetworkOptions {
    /// A large network of one vendor without defects: a tree of switches with up to 32 others below
    /// each.
    pub fn regular(switches: usize, hosts: usize) -> NetworkOptions {
        NetworkOptions {
            switches,
            hosts,
            shape: NetworkShape::Fan(32),
            redundant: switches / 10,
            spanning_tree: true,
            aggregates: 0.0,
            silent: 0.0,
            mute: 0.0,
            unmanaged: 0.0,
            transparent: 0.0,
            host_lldp: 1.0,
            unstated: 0.5,
            talks: 2,
            window: 60,
            seed_frames: false,
            in_band: false,
            forgotten: 0.0,
            moved: 0.0,
            habits: false,
            odd: OddityShares::default(),
            fabric: None,
        }
    }

    /// A small network like those in the field, with a fifth of the switches silent. Each seed
    /// gives another mixture.
    pub fn field(seed: u64) -> NetworkOptions {
        let mut rng = Rng::with_seed(seed ^ 0x6669_656c_6400);
        let switches = rng.usize(2..=15);
        let shapes = [
            NetworkShape::Row,
            NetworkShape::Star,
            NetworkShape::Random,
            NetworkShape::Random,
            NetworkShape::Spines(2),
            NetworkShape::Fan(3),
        ];
        NetworkOptions {
            switches,
            hosts: rng.usize(switches..=6 * switches),
            shape: shapes[rng.usize(..shapes.len())],
            redundant: rng.usize(..=switches / 3),
            spanning_tree: rng.f64() < 0.9,
            aggregates: 0.25,
            silent: 0.2,
            mute: 0.15,
            unmanaged: 0.06,
            transparent: 0.0,
            host_lldp: rng.f64(),
            unstated: 0.0,
            talks: rng.usize(1..=6),
            window: 400,
            seed_frames: true,
            in_band: rng.bool(),
            forgotten: 0.02,
            moved: 0.1,
            habits: true,
            odd: OddityShares::default(),
            fabric: None,
        }
    }
}

/// The oddities of a network, beyond the defects of [`NetworkOptions::field`]. Shares are from 0 to
/// 1, and nothing is odd by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OddityShares {
    /// Switches whose aggregates only spanning tree knows: the members are `disabled` in its table,
    /// and the aggregate forwards at the sum of their rates.
    pub tree_aggregates: f64,
    /// Switches with logical units above ports and aggregates, as Junos has them.
    pub unit_aggregates: f64,
    /// Switches that report `disabled` for every port, in a network without spanning tree.
    pub tree_off: f64,
    /// Switches whose LLDP ports have other ids and other numbers than usual.
    pub port_ids: f64,
    /// Switches that keep the name of the factory, or have none.
    pub default_names: f64,
    /// Switches with a name in a domain, of which another switch has the short form.
    pub domains: f64,
    /// Switches that announce an address of nobody, or the chassis of another device.
    pub bad_chassis: f64,
    /// Asked switches that do not speak LLDP and pass it on.
    pub relays: f64,
    /// Switches that speak CDP.
    pub cdp: f64,
    /// The number of switches that the inventory does not list and nobody asks.
    pub unasked: usize,
    /// Switches whose forwarding database is cut, aged, or not served.
    pub partial_databases: f64,
    /// Unmanaged bridges between switches that join a further switch.
    pub segments: f64,
    /// Switches that forgot everything at one other switch.
    pub one_sided: f64,
    /// Hosts that answer SNMP, without a bridge table.
    pub asked_hosts: f64,
    /// The number of routers, each with one to three interfaces.
    pub routers: usize,
    /// True if routers and switches with CDP have tunnels to each other.
    pub tunnels: bool,
    /// Hosts behind a telephone.
    pub phones: f64,
    /// Switches that still list a neighbour that was unplugged.
    pub stale_rows: f64,
    /// Switches that list no neighbour, or whose rows name no far port.
    pub half_stated: f64,
    /// Hosts with a virtual bridge and guests, and switches with VLAN interfaces.
    pub virtual_bridges: f64,
    /// True if most switches are managed, and most hosts reached, through a network beside the main
    /// one.
    pub management: bool,
    /// True if most hosts have a card in a network for storage, too.
    pub storage: bool,
}
