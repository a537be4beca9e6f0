//! The stations that a device learned, by its forwarding database.
use super::port_names::LldpPorts;
use super::ports::{PortIx, PortTable};
use inventory::Mac;
use inventory::observation::FdbEntry;
use std::collections::{BTreeMap, BTreeSet};

/// The port behind which each station is. Members of an aggregate count as the aggregate.
#[derive(Debug, Default)]
pub(crate) struct LearnedStations {
    /// In the order of addresses.
    by_mac: Vec<(Mac, PortIx)>,
    /// In the order of ports, and of addresses at each port.
    by_port: Vec<(PortIx, Mac)>,
    /// Stations that databases have behind different ports: the id of the database, and the one port there.
    by_database: Vec<(u32, Mac, PortIx)>,
}

/// The meaning of the port numbers in a forwarding database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatabaseNumbering {
    /// Base ports, as the standard says (RFC 4188, dot1dTpFdbPort).
    BasePorts,
    Interfaces,
    /// lldpLocPortNum, which is the number of the bridge's port (IEEE 802.1AB-2005, 12).
    LldpPorts,
    Nothing,
}

impl DatabaseNumbering {
    /// The port that a row means, or its aggregate; `None` if it is down.
    fn living_port(self, number: u32, ports: &PortTable, lldp: &LldpPorts) -> Option<PortIx> {
        let port = self.port(number, ports, lldp)?;
        ports[port].up.then(|| ports.whole(port))
    }

    /// Base ports, unless no number is one. Then all numbers must be of the other sort.
    fn detected(rows: &[FdbEntry], ports: &PortTable, lldp: &LldpPorts) -> DatabaseNumbering {
        use DatabaseNumbering::{BasePorts, Interfaces, LldpPorts, Nothing};
        let numbers: BTreeSet<u32> = rows.iter().map(|row| row.port).collect();
        if numbers
            .iter()
            .any(|number| ports.by_base(*number).is_some())
        {
            return BasePorts;
        }
        let read = [Interfaces, LldpPorts].map(|numbering| {
            let ports = numbers.iter().map(|number| {
                let port = numbering.port(*number, ports, lldp);
                port.filter(|port| ports[*port].may_be_cabled())
            });
            ports.collect::<Option<Vec<PortIx>>>()
        });
        match read {
            [Some(a), Some(b)] if a != b => Nothing,
            [Some(_), _] => Interfaces,
            [None, Some(_)] => LldpPorts,
            [None, None] => Nothing,
        }
    }

    fn port(self, number: u32, ports: &PortTable, lldp: &LldpPorts) -> Option<PortIx> {
        match self {
            DatabaseNumbering::BasePorts => ports.by_base(number),
            DatabaseNumbering::Interfaces => ports.by_index(number),
            DatabaseNumbering::LldpPorts => lldp.listed(number),
            DatabaseNumbering::Nothing => None,
        }
    }
}

impl LearnedStations {
    /// The rows on ports that are not down. Stations with rows on several ports are left out.
    pub(crate) fn new(rows: &[FdbEntry], ports: &PortTable, lldp: &LldpPorts) -> LearnedStations {
        let numbering = DatabaseNumbering::detected(rows, ports, lldp);
        let mut of_one: BTreeMap<(u32, Mac), BTreeSet<PortIx>> = BTreeMap::new();
        // Rows have the id of their database only where databases have the station behind different
        // ports.
        for row in rows.iter().filter(|row| row.database != 0) {
            if let Some(port) = numbering.living_port(row.port, ports, lldp) {
                let ports = of_one.entry((row.database, row.mac)).or_default();
                ports.insert(port);
            }
        }
        let of_one = of_one.into_iter().filter(|(_, ports)| ports.len() == 1);
        let by_database = of_one
            .flat_map(|((database, mac), ports)| ports.into_iter().map(move |p| (database, mac, p)))
            .collect();
        let mut rows: Vec<(Mac, PortIx)> = rows
            .iter()
            .filter(|row| !row.mac.names_nobody())
            .filter_map(|row| Some((row.mac, numbering.living_port(row.port, ports, lldp)?)))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let mut kept = Vec::with_capacity(rows.len());
        for same in rows.chunk_by(|a, b| a.0 == b.0) {
            if let [row] = same {
                kept.push(*row);
            }
        }
        let mut by_port: Vec<(PortIx, Mac)> =
            kept.iter().map(|(mac, port)| (*port, *mac)).collect();
        by_port.sort_unstable();
        LearnedStations {
            by_mac: kept,
            by_port,
            by_database,
        }
    }

    /// Stations that databases have behind different ports: the id of the database, and the port there.
    pub(crate) fn by_database(&self) -> impl Iterator<Item = (u32, Mac, PortIx)> + '_ {
        self.by_database.iter().copied()
    }

    /// The port behind which a station is.
    pub(crate) fn port_of(&self, mac: Mac) -> Option<PortIx> {
        let at = self.by_mac.binary_search_by_key(&mac, |row| row.0).ok()?;
        Some(self.by_mac[at].1)
    }

    /// The stations behind a port, in the order of addresses.
    pub(crate) fn behind(&self, port: PortIx) -> impl ExactSizeIterator<Item = Mac> + Clone + '_ {
        let begin = self.by_port.partition_point(|row| row.0 < port);
        let end = self.by_port.partition_point(|row| row.0 <= port);
        self.by_port[begin..end].iter().map(|row| row.1)
    }

    /// The ports behind which stations are, each with the stations.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (PortIx, &[(PortIx, Mac)])> {
        self.by_port
            .chunk_by(|a, b| a.0 == b.0)
            .map(|rows| (rows[0].0, rows))
    }

    /// Each station with its port, in the order of addresses.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Mac, PortIx)> + '_ {
        self.by_mac.iter().copied()
    }

    /// The stations that another device learned, too: the port here, and the port there.
    pub(crate) fn shared<'a>(
        &'a self,
        other: &'a LearnedStations,
    ) -> impl Iterator<Item = (Mac, PortIx, PortIx)> + 'a {
        let mut there = other.by_mac.iter().peekable();
        self.by_mac.iter().filter_map(move |(mac, port)| {
            while there.next_if(|row| row.0 < *mac).is_some() {}
            let row = there.peek().filter(|row| row.0 == *mac)?;
            Some((*mac, *port, row.1))
        })
    }

    /// The number of stations.
    pub(crate) fn len(&self) -> usize {
        self.by_mac.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_mac.is_empty()
    }
}
