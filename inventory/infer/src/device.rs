//! The joined tables of one switch: they lead from each number and name of a port to the port.
use inventory::device_view::DeviceView;
use inventory::observation::{FdbEntry, InterfaceRow, LldpPort, LldpTable, NeighbourId, StpState};
use inventory::{BitsPerSec, Mac};
use std::collections::{HashMap, HashSet};

/// The most ports of a bridge for which addresses near its own are assumed.
const MOST_PORTS: u32 = 128;

/// A switch that answered at some time.
pub(super) struct DeviceTables<'a> {
    pub(super) name: &'a str,
    pub(super) view: &'a DeviceView,
    interfaces: &'a [InterfaceRow],
    /// The position of each ifIndex among the interfaces.
    places: HashMap<u32, usize>,
    /// Base port to ifIndex: the two numberings differ (RFC 4188, dot1dBasePortIfIndex).
    base: HashMap<u32, u32>,
    states: HashMap<u32, StpState>,
    /// The ifIndex of every base port.
    bases: HashSet<u32>,
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Port {
    /// Its IF-MIB name, or the best known name.
    pub(super) name: String,
    /// Its ifIndex, if the interface is known.
    pub(super) index: Option<u32>,
}

/// The MAC address that names a switch: its chassis id, or else its bridge address.
pub(super) fn chassis(view: &DeviceView) -> Option<Mac> {
    let lldp = view.lldp.as_ref().and_then(|l| {
        if let Some(NeighbourId::Mac(m)) = l.chassis {
            Some(m)
        } else {
            None
        }
    });
    lldp.or_else(|| view.bridge.as_ref()?.address)
}

impl<'a> DeviceTables<'a> {
    pub(super) fn new(name: &'a str, view: &'a DeviceView) -> DeviceTables<'a> {
        let ports = view.bridge.iter().flat_map(|b| &b.ports);
        // A bridge without a root runs no spanning tree. It lists its ports as disabled although
        // they carry frames.
        let runs = view
            .bridge
            .as_ref()
            .is_some_and(|b| b.root_bridge.is_some());
        let interfaces = view.interfaces.as_deref().unwrap_or_default();
        DeviceTables {
            name,
            view,
            interfaces,
            // Of equal ones the first counts.
            places: interfaces
                .iter()
                .enumerate()
                .rev()
                .map(|(place, i)| (i.index, place))
                .collect(),
            base: ports.clone().map(|p| (p.number, p.if_index)).collect(),
            bases: ports.clone().map(|p| p.if_index).collect(),
            states: ports
                .filter_map(|p| {
                    Some((
                        p.if_index,
                        p.state.filter(|s| runs || *s != StpState::Disabled)?,
                    ))
                })
                .collect(),
        }
    }

    /// True if it stopped answering. Its statements are then those of the last answer.
    pub(super) fn stale(&self) -> bool {
        self.view.stale.is_some()
    }

    pub(super) fn lldp(&self) -> Option<&'a LldpTable> {
        self.view.lldp.as_ref()
    }

    /// True if the name may be one of the device's own names: whole, cut short or without domain. A
    /// device without a name may have any.
    pub(super) fn may_be_called(&self, name: &str) -> bool {
        let lldp = self.lldp().map(|l| [&l.name, &l.cdp.device]);
        let own = lldp
            .into_iter()
            .flatten()
            .chain(self.view.system.as_ref().map(|s| &s.name))
            .filter(|own| !own.is_empty());
        let own: Vec<String> = own.map(|own| own.to_ascii_lowercase()).collect();
        let name = name.to_ascii_lowercase();
        let alike = |own: &str| {
            own.starts_with(&name)
                || name.starts_with(own)
                || own.split('.').next() == name.split('.').next()
        };
        name.is_empty()
            || own.is_empty()
            || own.iter().any(|own| alike(own))
            || alike(&self.name.to_ascii_lowercase())
    }

    /// All MAC addresses of the switch itself.
    pub(super) fn macs(&self) -> impl Iterator<Item = Mac> {
        let bridge = self.view.bridge.as_ref().and_then(|b| b.address);
        chassis(self.view)
            .into_iter()
            .chain(bridge)
            .chain(self.interfaces.iter().filter_map(|i| i.mac))
    }

    /// The MAC addresses after the bridge's. If the device lists none of its ports, theirs are
    /// usually these.
    pub(super) fn likely_macs(&self) -> impl Iterator<Item = Mac> + use<> {
        let bridge = self
            .view
            .bridge
            .as_ref()
            .filter(|_| self.interfaces.iter().all(|i| i.mac.is_none()));
        let ports = bridge
            .and_then(|b| b.ports.iter().map(|p| p.number).max())
            .unwrap_or_default()
            .min(MOST_PORTS);
        let first = bridge.and_then(|b| b.address);
        first
            .into_iter()
            .flat_map(move |m| (1..=ports).map(move |n| m.plus(n)))
    }

    /// The port with an LLDP local port number. In general this number is neither an ifIndex nor a
    /// base port, so the local port table decides.
    pub(super) fn local_port(&self, number: u32) -> Port {
        let entry = self
            .lldp()
            .and_then(|l| l.ports.iter().find(|p| p.number == number));
        match entry {
            Some(LldpPort { id, descr, .. }) => self
                .port_by_id(Some(id), descr)
                .or_else(|| self.alike(number, id))
                .unwrap_or_else(|| nameless(id, descr)),
            None => self.indexed_port(number),
        }
    }

    /// The ifIndex of each port in the LLDP tables.
    pub(super) fn lldp_indices(&self) -> impl Iterator<Item = u32> + '_ {
        let ports = self.lldp().into_iter().flat_map(|l| &l.ports);
        ports.filter_map(|p| self.local_port(p.number).index)
    }

    /// Some devices number LLDP ports by ifIndex but name them differently from IF-MIB: `Eth 1/13`
    /// is `Port13`. The number is then accepted as an ifIndex if the names end in the same number.
    fn alike(&self, number: u32, id: &NeighbourId) -> Option<Port> {
        let NeighbourId::Text(said) = id else {
            return None;
        };
        let port = self.port_by_index(number)?;
        let same =
            trailing_number(said).is_some() && trailing_number(said) == trailing_number(&port.name);
        same.then_some(port)
    }

    /// The port with an ifIndex, whether or not the interface is known.
    pub(super) fn indexed_port(&self, index: u32) -> Port {
        self.port_by_index(index).unwrap_or_else(|| Port {
            name: index.to_string(),
            index: Some(index),
        })
    }

    /// The port that a neighbour names by an LLDP port id and description.
    pub(super) fn remote_port(&self, id: Option<&NeighbourId>, descr: &str) -> Option<Port> {
        self.port_by_id(id, descr).or_else(|| {
            let id = id?;
            let ports = &self.lldp()?.ports;
            let by_id = || ports.iter().find(|p| p.id == *id);
            let by_descr = || {
                ports
                    .iter()
                    .find(|p| matches!(id, NeighbourId::Text(text) if *text == p.descr))
            };
            Some(self.local_port(by_id().or_else(by_descr)?.number))
        })
    }

    /// The port with a bridge port number, as in the forwarding database. If a device lists no
    /// interfaces at all, its ports are known only by their numbers.
    pub(super) fn base_port(&self, number: u32) -> Option<Port> {
        let index = *self.base.get(&number)?;
        let unnamed = || {
            self.interfaces.is_empty().then(|| Port {
                name: number.to_string(),
                index: Some(index),
            })
        };
        self.port_by_index(index).or_else(unnamed)
    }

    /// Every base port that is not down, with the ifIndex of its interface, or of the aggregate
    /// that has it as a member.
    pub(super) fn base_ports(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let alive = |index: &u32| self.by_index(*index).is_none_or(|i| i.up);
        let whole = |index: u32| {
            self.by_index(index)
                .and_then(|i| i.aggregate)
                .unwrap_or(index)
        };
        self.base
            .iter()
            .filter(move |(_, index)| alive(index))
            .map(move |(number, index)| (*number, whole(*index)))
    }

    /// The port with the ifIndex of a base port.
    pub(super) fn base_port_of(&self, index: u32) -> Option<Port> {
        let number = || {
            self.base
                .iter()
                .filter(|(_, i)| **i == index)
                .map(|(number, _)| *number)
                .min()
        };
        self.port_by_index(index)
            .or_else(|| self.base_port(number()?))
    }

    /// The aggregate that has the port as a member.
    pub(super) fn aggregate(&self, port: &Port) -> Option<Port> {
        self.port_by_index(self.interface(port)?.aggregate?)
    }

    fn port_by_index(&self, index: u32) -> Option<Port> {
        self.by_index(index).map(port)
    }

    fn by_index(&self, index: u32) -> Option<&'a InterfaceRow> {
        self.places
            .get(&index)
            .map(|place| &self.interfaces[*place])
    }

    fn port_by_id(&self, id: Option<&NeighbourId>, descr: &str) -> Option<Port> {
        let described = || {
            let by =
                |fits: &dyn Fn(&InterfaceRow) -> bool| self.only(|i| !descr.is_empty() && fits(i));
            by(&|i| i.name == descr)
                .or_else(|| by(&|i| i.descr == descr))
                .or_else(|| by(&|i| i.alias == descr))
        };
        match id {
            Some(NeighbourId::Text(text)) => {
                // An ifIndex is written without leading zeros; "01" is the device's own numbering.
                let number = || {
                    self.port_by_index(text.parse().ok().filter(|n: &u32| n.to_string() == *text)?)
                };
                let exact = || {
                    self.only(|i| i.name == *text)
                        .or_else(|| self.only(|i| i.descr == *text))
                };
                let short =
                    || self.only(|i| abbreviates(&i.name, text) || abbreviates(text, &i.name));
                exact()
                    .or_else(described)
                    .or_else(|| self.only(|i| i.alias == *text))
                    .or_else(number)
                    .or_else(short)
            }
            // A bridge's ports may share its address; then the description decides.
            Some(NeighbourId::Mac(mac)) => self.only(|i| i.mac == Some(*mac)).or_else(described),
            Some(NeighbourId::Address(_)) | None => described(),
        }
    }

    /// The interface that fits, if exactly one does.
    fn only(&self, fits: impl Fn(&InterfaceRow) -> bool) -> Option<Port> {
        let mut all = self.interfaces.iter().filter(|i| fits(i));
        all.next().filter(|_| all.next().is_none()).map(port)
    }

    fn interface(&self, port: &Port) -> Option<&'a InterfaceRow> {
        self.by_index(port.index?)
    }

    /// True if the port is known to be down. Neighbours that it still lists are gone.
    pub(super) fn is_down(&self, port: &Port) -> bool {
        self.interface(port).is_some_and(|i| !i.up)
    }

    pub(super) fn rate(&self, port: &Port) -> Option<BitsPerSec> {
        self.interface(port).and_then(|i| i.rate)
    }

    /// The port's STP state, if the switch serves one. The state of an aggregate's members is
    /// listed with the aggregate.
    pub(super) fn state_of(&self, name: &str) -> Option<StpState> {
        self.state_at(self.interfaces.iter().find(|i| i.name == name)?.index)
    }

    /// The STP state by ifIndex.
    pub(super) fn state_at(&self, index: u32) -> Option<StpState> {
        let own = self.states.get(&index);
        own.or_else(|| self.states.get(&self.by_index(index)?.aggregate?))
            .copied()
    }

    /// The name of a port and, for an aggregate, the names of its members.
    pub(super) fn names_of(&self, index: u32) -> impl Iterator<Item = String> + '_ {
        let own = self
            .interfaces
            .iter()
            .filter(move |i| i.index == index || i.aggregate == Some(index));
        own.map(|i| port(i).name)
    }

    /// True if it takes part in LLDP, according to its tables.
    pub(super) fn speaks(&self) -> bool {
        self.lldp()
            .is_some_and(|l| l.chassis.is_some() || !l.name.is_empty() || !l.neighbours.is_empty())
    }

    /// The address of the bridge that spanning tree names as designated on the segment of a port.
    pub(super) fn designated_at(&self, index: u32) -> Option<Mac> {
        let ports = self.view.bridge.iter().flat_map(|b| &b.ports);
        let own = |p: &&inventory::observation::BridgePort| {
            p.if_index == index && p.state.is_some_and(|s| s != StpState::Disabled)
        };
        ports
            .filter(own)
            .find_map(|p| p.designated_bridge)
            .map(|id| id.address)
    }

    /// True if forwarding databases use the port.
    pub(super) fn is_base_port(&self, index: u32) -> bool {
        self.bases.contains(&index)
    }

    /// The learned rows of the switch, by MAC address.
    pub(super) fn learned(&self) -> &'a [FdbEntry] {
        self.view.fdb.as_deref().unwrap_or_default()
    }
}

/// True if one name is the other's short form: `Gi0/9` of `GigabitEthernet0/9`.
fn abbreviates(short: &str, long: &str) -> bool {
    let digits = |t: &str| t.find(|c: char| c.is_ascii_digit()).unwrap_or(t.len());
    let ((kind, number), (full_kind, full_number)) =
        (short.split_at(digits(short)), long.split_at(digits(long)));
    let whole = full_kind.trim_end();
    number == full_number
        && !number.is_empty()
        && kind.len() >= 2
        && whole.len() > kind.len()
        && whole
            .to_ascii_lowercase()
            .starts_with(&kind.to_ascii_lowercase())
}

fn port(interface: &InterfaceRow) -> Port {
    let name = if interface.name.is_empty() {
        interface.index.to_string()
    } else {
        interface.name.clone()
    };
    Port {
        name,
        index: Some(interface.index),
    }
}

/// A port whose interface is unknown, by its LLDP identifier. An address serves as the name only if
/// there is no better one.
fn nameless(id: &NeighbourId, descr: &str) -> Port {
    let name = if matches!(id, NeighbourId::Text(_)) || descr.is_empty() {
        show(id)
    } else {
        descr.to_owned()
    };
    Port { name, index: None }
}

fn trailing_number(name: &str) -> Option<u64> {
    let start = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[start..].parse().ok()
}

/// An identifier as text.
pub(super) fn show(id: &NeighbourId) -> String {
    match id {
        NeighbourId::Mac(mac) => mac.to_string(),
        NeighbourId::Address(address) => address.to_string(),
        NeighbourId::Text(text) => text.clone(),
    }
}
