//! The port that an LLDP number, id or description means.
//!
//! lldpLocPortNum is in general neither an ifIndex nor a base port, so the local port table decides
//! (IEEE 802.1AB-2005, 8.5.3). An id that several ports share names none of them; then the number
//! is the best key. 802.1AB recommends that it is the base port's number, and many devices take the
//! ifIndex.
use super::ports::{PortIx, PortTable};
use inventory::observation::{LldpPort, LldpTable, NeighbourId};
use std::collections::HashMap;

/// Of tables with more ports than this, abbreviated names are not searched.
const MOST_TO_SEARCH: usize = 1024;

/// The local port table of LLDP, with the port of each row.
#[derive(Debug, Default)]
pub(crate) struct LldpPorts {
    by_number: HashMap<u32, PortIx>,
    by_id: HashMap<NeighbourId, Option<PortIx>>,
    by_descr: HashMap<String, Option<PortIx>>,
}

/// The numbering that lldpLocPortNum follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocalNumbering {
    BasePorts,
    Interfaces,
    Own,
}

impl LldpPorts {
    pub(crate) fn new(lldp: &LldpTable, ports: &mut PortTable) -> LldpPorts {
        let mut uses: HashMap<&NeighbourId, usize> = HashMap::new();
        for row in &lldp.ports {
            *uses.entry(&row.id).or_default() += 1;
        }
        let own_id = |row: &LldpPort| {
            uses[&row.id] == 1 && !matches!(row.id, NeighbourId::Mac(m) if m.names_nobody())
        };
        let numbering = numbering(lldp, ports, &own_id);
        let names_interfaces = names_interfaces(lldp, ports);
        let mut table = LldpPorts::default();
        for row in &lldp.ports {
            let port = if own_id(row) {
                by_own_id(row, ports, numbering)
            } else {
                by_description(&row.descr, ports)
                    .or_else(|| by_number(row.number, ports, numbering))
            };
            let port = port.unwrap_or_else(|| match nameless(row, own_id(row)) {
                name if names_interfaces => ports.removed(name),
                name => ports.unlisted(name),
            });
            table.by_number.entry(row.number).or_insert(port);
            let id = table.by_id.entry(row.id.clone()).or_insert(Some(port));
            if !own_id(row) {
                *id = None;
            }
            if !row.descr.is_empty() {
                table
                    .by_descr
                    .entry(row.descr.clone())
                    .and_modify(|known| *known = known.filter(|k| *k == port))
                    .or_insert(Some(port));
            }
        }
        table
    }

    /// The port of a row of the neighbour table. If the local port table does not list it, its
    /// number is taken for an ifIndex.
    pub(crate) fn local(&self, number: u32, ports: &mut PortTable) -> PortIx {
        let listed = self.by_number.get(&number).copied();
        listed
            .or_else(|| ports.by_index(number))
            .or_else(|| ports.by_base(number))
            .unwrap_or_else(|| ports.unlisted(number.to_string()))
    }

    /// The port of a row of the local port table.
    pub(crate) fn listed(&self, number: u32) -> Option<PortIx> {
        self.by_number.get(&number).copied()
    }

    /// The port that a neighbour names by an LLDP port id and description.
    pub(crate) fn remote(
        &self,
        id: Option<&NeighbourId>,
        descr: &str,
        ports: &PortTable,
    ) -> Option<PortIx> {
        let listed = id.and_then(|id| self.by_id.get(id));
        if listed == Some(&None) {
            // Several ports have this id. Only the description can tell which one is meant.
            return by_description(descr, ports)
                .or_else(|| self.by_descr.get(descr).copied().flatten());
        }
        by_id(id, descr, ports)
            .or_else(|| listed.copied().flatten())
            .or_else(|| match id {
                Some(NeighbourId::Text(text)) => self.by_descr.get(text).copied().flatten(),
                _ => None,
            })
    }

    /// The ports that LLDP knows.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.by_number.values().copied()
    }
}

/// The port with an id that it shares with no other.
fn by_own_id(row: &LldpPort, ports: &PortTable, numbering: LocalNumbering) -> Option<PortIx> {
    by_id(Some(&row.id), &row.descr, ports)
        .or_else(|| alike(row.number, &row.id, ports))
        .or_else(|| match row.id {
            // The address of a port whose interface row has none.
            NeighbourId::Mac(_) => by_number(row.number, ports, numbering),
            _ => None,
        })
}

/// True if the ids of most ports are names of interfaces. A port whose id names none then has no
/// interface: it was removed, or made, between two reads.
fn names_interfaces(lldp: &LldpTable, ports: &PortTable) -> bool {
    let is_name = |row: &&LldpPort| match &row.id {
        NeighbourId::Text(text) => ports.by_name(text).is_some(),
        _ => false,
    };
    2 * lldp.ports.iter().filter(is_name).count() > lldp.ports.len()
}

/// The numbering by which most ids that name a port agree with their numbers.
fn numbering(
    lldp: &LldpTable,
    ports: &PortTable,
    own_id: &dyn Fn(&LldpPort) -> bool,
) -> LocalNumbering {
    let (mut base, mut index, mut neither) = (0, 0, 0);
    for row in lldp.ports.iter().filter(|row| own_id(row)) {
        if let Some(port) = by_id(Some(&row.id), &row.descr, ports) {
            let is = |known: Option<PortIx>| known == Some(port);
            let agrees = (
                is(ports.by_base(row.number)),
                is(ports.by_index(row.number)),
            );
            base += usize::from(agrees.0);
            index += usize::from(agrees.1);
            neither += usize::from(agrees == (false, false));
        }
    }
    if neither > base.max(index) {
        LocalNumbering::Own
    } else if index > base {
        LocalNumbering::Interfaces
    } else {
        LocalNumbering::BasePorts
    }
}

/// LLDP runs on the members of aggregates, so a number that means an aggregate is meant in another
/// numbering.
fn by_number(number: u32, ports: &PortTable, numbering: LocalNumbering) -> Option<PortIx> {
    let base = || ports.by_base(number).filter(|p| ports.may_speak(*p));
    let index = || ports.by_index(number).filter(|p| ports.may_speak(*p));
    match numbering {
        LocalNumbering::BasePorts => base().or_else(index),
        LocalNumbering::Interfaces => index().or_else(base),
        LocalNumbering::Own => None,
    }
}

fn by_id(id: Option<&NeighbourId>, descr: &str, ports: &PortTable) -> Option<PortIx> {
    match id {
        Some(NeighbourId::Text(text)) => ports
            .by_name(text)
            .or_else(|| ports.by_descr(text))
            .or_else(|| by_description(descr, ports))
            .or_else(|| ports.by_alias(text))
            .or_else(|| written_index(text, ports))
            .or_else(|| abbreviated(text, ports)),
        // The ports of a bridge may share its address; then the description decides.
        Some(NeighbourId::Mac(mac)) => {
            let own = ports.by_mac(*mac).filter(|_| !mac.names_nobody());
            own.or_else(|| by_description(descr, ports))
        }
        Some(NeighbourId::Address(_)) | None => by_description(descr, ports),
    }
}

fn by_description(descr: &str, ports: &PortTable) -> Option<PortIx> {
    if descr.is_empty() {
        return None;
    }
    ports
        .by_name(descr)
        .or_else(|| ports.by_descr(descr))
        .or_else(|| ports.by_alias(descr))
}

/// An ifIndex is written without leading zeros; "01" is the device's own numbering.
fn written_index(text: &str, ports: &PortTable) -> Option<PortIx> {
    let number: u32 = text.parse().ok()?;
    ports
        .by_index(number)
        .filter(|port| number.to_string() == text && ports.may_speak(*port))
}

/// The only port whose name is a longer or shorter form of this one.
fn abbreviated(text: &str, ports: &PortTable) -> Option<PortIx> {
    if ports.len() > MOST_TO_SEARCH {
        return None;
    }
    let mut fitting = ports
        .iter()
        .filter(|(_, p)| abbreviates(&p.name, text) || abbreviates(text, &p.name))
        .map(|(port, _)| port);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Some devices number LLDP ports by ifIndex but name them differently from IF-MIB: `Eth 1/13` is
/// `Port13`. The number is then accepted as an ifIndex if the names end in the same number.
fn alike(number: u32, id: &NeighbourId, ports: &PortTable) -> Option<PortIx> {
    let NeighbourId::Text(said) = id else {
        return None;
    };
    let port = ports.by_index(number).filter(|p| ports.may_speak(*p))?;
    let ending = trailing_number(said)?;
    (trailing_number(&ports[port].name) == Some(ending)).then_some(port)
}

/// The name of a port whose interface is unknown. An address serves only if there is no better one.
fn nameless(row: &LldpPort, own_id: bool) -> String {
    match &row.id {
        id @ NeighbourId::Text(_) if own_id => id.to_string(),
        id if own_id && row.descr.is_empty() => id.to_string(),
        _ if row.descr.is_empty() => row.number.to_string(),
        _ => row.descr.clone(),
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

fn trailing_number(name: &str) -> Option<u64> {
    let start = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[start..].parse().ok()
}
