//! The port that an LLDP number, id or description means.
//!
//! lldpLocPortNum is in general neither an ifIndex nor a base port, so the local port table decides
//! (IEEE 802.1AB-2005, 8.5.3). An id that several ports share names none of them; then the number
//! is the best key. 802.1AB recommends that it is the base port's number, and many devices take the
//! ifIndex. An id may be such a number, too. A description is the operator's text as often as a
//! name, so it identifies a port only where nothing else does.
use super::port_reading::{NumberReading, NumberedRow, PortNumbering, trailing_number};
use super::ports::{PortIx, PortTable};
use inventory::Mac;
use inventory::observation::{LldpPort, LldpTable, NeighbourId, PortIdKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Abbreviated names are not searched in tables with more ports than this.
const MOST_TO_SEARCH: usize = 1024;

/// The local port table of LLDP, with the port of each row.
#[derive(Debug, Default)]
pub(crate) struct LldpPorts {
    by_number: HashMap<u32, PortIx>,
    by_id: HashMap<NeighbourId, Option<PortIx>>,
    by_descr: HashMap<String, Option<PortIx>>,
    /// The listed ports that only a guess about the numbers finds.
    guessed: HashSet<PortIx>,
    reading: LocalReading,
}

/// The meaning of the numbers of a device's LLDP tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LocalReading {
    /// Ids that are written numbers.
    ids: NumberReading,
    /// lldpLocPortNum.
    numbers: NumberReading,
}

impl Default for LocalReading {
    fn default() -> LocalReading {
        LocalReading {
            ids: NumberReading::Neither,
            numbers: NumberReading::Neither,
        }
    }
}

impl LldpPorts {
    /// Reads the table. `settled` is the numbering, where other devices tell it.
    pub(crate) fn new(
        lldp: &LldpTable,
        ports: &mut PortTable,
        settled: Option<PortNumbering>,
    ) -> LldpPorts {
        let mut uses: HashMap<&NeighbourId, usize> = HashMap::new();
        for row in &lldp.ports {
            *uses.entry(&row.id).or_default() += 1;
        }
        // Each port has an id of its own (IEEE 802.1AB-2016, 8.5.3), yet there are agents that announce the chassis'
        // address on all ports.
        let own_id = |row: &LldpPort| {
            uses[&row.id] == 1 && !matches!(row.id, NeighbourId::Mac(m) if m.names_nobody())
        };
        let reading = LocalReading::decided(lldp, ports, &own_id, settled);
        let names_interfaces = names_interfaces(lldp, ports);
        let mut table = LldpPorts {
            reading,
            ..LldpPorts::default()
        };
        for row in &lldp.ports {
            let found = |reading| match own_id(row) {
                true => by_own_id(row, ports, reading),
                false => by_number_or_description(row, ports, reading),
            };
            let port = found(reading);
            // Ids that are numbers may be ifIndex or the numbers of bridge ports. Where the two would lead to
            // different ports, and nothing tells which is meant, the port is a guess.
            if reading.is_open()
                && !ports.has_base_ports()
                && port != found(LocalReading::default())
            {
                table.guessed.extend(port);
            }
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

    /// The port of a row of the neighbour table, by the local port table or else by its number.
    pub(crate) fn local(&self, number: u32, ports: &mut PortTable) -> PortIx {
        let listed = self.by_number.get(&number).copied();
        listed
            .or_else(|| self.reading.numbers.port(number, ports))
            // A row at an interface that holds no cable is at no other port.
            .or_else(|| ports.by_index(number).filter(|p| !ports.may_speak(*p)))
            .unwrap_or_else(|| ports.unlisted(number.to_string()))
    }

    /// True if only what is usual says which port a row of the neighbour table is at.
    pub(crate) fn is_guess(&self, number: u32, ports: &PortTable) -> bool {
        match self.by_number.get(&number) {
            Some(port) => self.guessed.contains(port),
            None => self.reading.numbers.is_guess(number, ports),
        }
    }

    /// True if only what is usual says which port a neighbour names by an id.
    pub(crate) fn is_remote_guess(
        &self,
        id: Option<&NeighbourId>,
        descr: &str,
        ports: &PortTable,
    ) -> bool {
        let text = match (id, id.and_then(|id| self.by_id.get(id))) {
            (_, Some(port)) => return port.is_some_and(|port| self.guessed.contains(&port)),
            (Some(NeighbourId::Text(text)), None) => text,
            _ => return false,
        };
        let is_name = by_text(text, None, ports, LocalReading::default()).is_some();
        let reading = Some(self.reading.ids).filter(|ids| *ids != NumberReading::Neither);
        let reading = reading.or_else(|| self.single(text, descr, ports));
        let number = written_number(text).filter(|_| !is_name);
        number.is_some_and(|number| reading.is_some_and(|reading| reading.is_guess(number, ports)))
    }

    /// The port of a row of the local port table.
    pub(crate) fn listed(&self, number: u32) -> Option<PortIx> {
        self.by_number.get(&number).copied()
    }

    /// True if the device's own tables do not tell what its numbers of ports are.
    pub(crate) fn is_undecided(&self) -> bool {
        self.reading.is_open()
    }

    /// The port that a neighbour names by an LLDP port id and description. The device's own table
    /// tells what its ids mean.
    pub(crate) fn remote(
        &self,
        id: Option<&NeighbourId>,
        descr: &str,
        ports: &PortTable,
    ) -> Option<PortIx> {
        match id.and_then(|id| self.by_id.get(id)) {
            Some(Some(port)) => return Some(*port),
            // Several ports have this id. Only the description can tell which one is meant.
            Some(None) => return self.described(descr, ports),
            None => {}
        }
        match id {
            Some(NeighbourId::Text(text)) => by_text(text, None, ports, self.reading)
                .or_else(|| self.by_descr.get(text).copied().flatten())
                .or_else(|| match self.single(text, descr, ports) {
                    // The number may be of several ports, or the description of another one.
                    Some(reading) => reading.port(written_number(text)?, ports),
                    None => {
                        let described = self.described(descr, ports);
                        described.or_else(|| abbreviated(text, ports))
                    }
                }),
            Some(NeighbourId::Mac(mac)) => {
                own_address(*mac, ports).or_else(|| self.described(descr, ports))
            }
            Some(NeighbourId::Address(_)) | None => self.described(descr, ports),
        }
    }

    /// The port with a description. That of one port may be the name of another.
    fn described(&self, descr: &str, ports: &PortTable) -> Option<PortIx> {
        let listed = self.by_descr.get(descr).copied().flatten();
        match (listed, by_description(descr, ports)) {
            (Some(a), Some(b)) if a != b => None,
            (listed, named) => listed.or(named),
        }
    }

    /// The reading of an id that is a written number and that the device does not list; `None` if it is
    /// none, or names no port.
    fn single(&self, text: &str, descr: &str, ports: &PortTable) -> Option<NumberReading> {
        let number = written_number(text)?;
        let row = NumberedRow {
            number,
            known: None,
            descr,
            hears: true,
        };
        match NumberReading::decided(&[row], ports) {
            NumberReading::Either(usual) => Some(match self.reading.numbers {
                NumberReading::Neither => NumberReading::Either(usual),
                numbers => numbers,
            }),
            NumberReading::Neither if !PortNumbering::names_any(number, ports) => None,
            reading => Some(reading),
        }
    }

    /// The ports that LLDP knows.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.by_number.values().copied()
    }
}

impl LocalReading {
    /// True if the device's tables leave two readings.
    fn is_open(&self) -> bool {
        let mut all = [self.ids, self.numbers].into_iter();
        all.any(|reading| matches!(reading, NumberReading::Either(_)))
    }

    fn decided(
        lldp: &LldpTable,
        ports: &PortTable,
        own_id: &dyn Fn(&LldpPort) -> bool,
        settled: Option<PortNumbering>,
    ) -> LocalReading {
        let hearing: HashSet<u32> = lldp.neighbours.iter().map(|row| row.local_port).collect();
        let written = |row: &LldpPort| match &row.id {
            // A port's name is not read as a number, whatever its digits.
            NeighbourId::Text(text) if own_id(row) && ports.by_exact_name(text).is_none() => {
                written_number(text)
            }
            _ => None,
        };
        let ids: Vec<NumberedRow<'_>> = lldp
            .ports
            .iter()
            .filter_map(|local| Some(numbered(local, written(local)?, None, &hearing)))
            .collect();
        let ids = NumberReading::decided(&ids, ports).settled(settled);
        let listed: Vec<NumberedRow<'_>> = lldp
            .ports
            .iter()
            .map(|local| {
                let by_id = match &local.id {
                    _ if !own_id(local) => None,
                    NeighbourId::Text(text) => ports
                        .by_exact_name(text)
                        .or_else(|| ids.port(written(local)?, ports)),
                    NeighbourId::Mac(mac) => own_address(*mac, ports),
                    NeighbourId::Address(_) => None,
                };
                numbered(local, local.number, by_id, &hearing)
            })
            .collect();
        let rows = match listed.is_empty() {
            true => rows_of_neighbours(lldp),
            false => listed,
        };
        LocalReading {
            ids,
            numbers: NumberReading::decided(&rows, ports).settled(settled),
        }
    }
}

/// The numbers that neighbours stand at: without a table of local ports nothing else tells which there are.
fn rows_of_neighbours(lldp: &LldpTable) -> Vec<NumberedRow<'_>> {
    let numbers = lldp.neighbours.iter().map(|row| row.local_port);
    let numbers: BTreeSet<u32> = numbers.filter(|number| *number != 0).collect();
    let numbers = numbers.into_iter();
    numbers
        .map(|number| NumberedRow {
            number,
            known: None,
            descr: "",
            hears: true,
        })
        .collect()
}

fn numbered<'t>(
    row: &'t LldpPort,
    number: u32,
    known: Option<PortIx>,
    hearing: &HashSet<u32>,
) -> NumberedRow<'t> {
    NumberedRow {
        number,
        known,
        descr: &row.descr,
        hears: hearing.contains(&row.number),
    }
}

/// The port with an id that it shares with no other.
fn by_own_id(row: &LldpPort, ports: &PortTable, reading: LocalReading) -> Option<PortIx> {
    let by_description = || by_description(&row.descr, ports);
    match &row.id {
        NeighbourId::Text(text) => by_text(text, row.kind, ports, reading)
            .or_else(by_description)
            .or_else(|| abbreviated(text, ports))
            .or_else(|| alike(row.number, text, ports)),
        // The ports of a bridge may share its address, and interfaces may list none.
        NeighbourId::Mac(mac) => own_address(*mac, ports)
            .or_else(by_description)
            .or_else(|| reading.numbers.port(row.number, ports)),
        NeighbourId::Address(_) => by_description(),
    }
}

/// The port of a row whose id is that of other ports, too.
fn by_number_or_description(
    row: &LldpPort,
    ports: &PortTable,
    reading: LocalReading,
) -> Option<PortIx> {
    by_description(&row.descr, ports).or_else(|| reading.numbers.port(row.number, ports))
}

/// The port that a text means by itself: a name, an alias, or a number.
fn by_text(
    text: &str,
    kind: Option<PortIdKind>,
    ports: &PortTable,
    reading: LocalReading,
) -> Option<PortIx> {
    let by_alias = || ports.by_alias(text);
    let is_alias = kind == Some(PortIdKind::InterfaceAlias);
    is_alias
        .then(by_alias)
        .flatten()
        .or_else(|| ports.by_exact_name(text))
        .or_else(|| reading.ids.port(written_number(text)?, ports))
        .or_else(by_alias)
        .or_else(|| within_bridge(text, ports))
}

/// The port of a path through the bridge that has it: `bridge1/ether2`.
fn within_bridge(text: &str, ports: &PortTable) -> Option<PortIx> {
    let (_, name) = text.rsplit_once('/')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    ports.by_name(name).filter(|_| is_name)
}

/// The port with this address alone.
fn own_address(mac: Mac, ports: &PortTable) -> Option<PortIx> {
    ports.by_mac(mac).filter(|_| !mac.names_nobody())
}

/// True if the ids of most ports are names of interfaces. A port whose id names none then has no
/// interface: it was removed, or made, between two reads.
fn names_interfaces(lldp: &LldpTable, ports: &PortTable) -> bool {
    2 * lldp
        .ports
        .iter()
        .filter(|row| match &row.id {
            NeighbourId::Text(text) => ports.by_name(text).is_some(),
            _ => false,
        })
        .count()
        > lldp.ports.len()
}

/// The only port with a description. A description that is one port's name and another one's alias
/// names neither.
fn by_description(descr: &str, ports: &PortTable) -> Option<PortIx> {
    let (named, alias) = (ports.by_exact_name(descr), ports.by_alias(descr));
    match (named, alias) {
        (Some(a), Some(b)) if a != b => None,
        _ => named.or(alias),
    }
}

/// A number is written without leading zeros; "01" is the device's own numbering.
fn written_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
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
fn alike(number: u32, name: &str, ports: &PortTable) -> Option<PortIx> {
    let port = ports.by_index(number).filter(|p| ports.may_speak(*p))?;
    let ending = trailing_number(name)?;
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
    let [(kind, number), (full_kind, full_number)] = [short, long].map(|name| {
        let digit = name.find(|c: char| c.is_ascii_digit());
        name.split_at(digit.unwrap_or(name.len()))
    });
    let whole = full_kind.trim_end();
    number == full_number
        && !number.is_empty()
        && kind.len() >= 2
        && whole.len() > kind.len()
        && whole
            .to_ascii_lowercase()
            .starts_with(&kind.to_ascii_lowercase())
}
