//! The stations that a device learned, by its forwarding database.
use super::ports::{PortIx, PortTable};
use inventory::Mac;
use inventory::observation::FdbEntry;

/// The port behind which each station is. Members of an aggregate count as the aggregate.
#[derive(Debug, Default)]
pub(crate) struct LearnedStations {
    /// In the order of addresses.
    by_mac: Vec<(Mac, PortIx)>,
    /// In the order of ports, and of addresses at each port.
    by_port: Vec<(PortIx, Mac)>,
}

impl LearnedStations {
    /// The rows on ports that are not down. Stations with rows on several ports are left out.
    pub(crate) fn new(rows: &[FdbEntry], ports: &PortTable) -> LearnedStations {
        let living = |number: u32| {
            let port = ports.by_base(number)?;
            ports[port].up.then(|| ports.whole(port))
        };
        let mut rows: Vec<(Mac, PortIx)> = rows
            .iter()
            .filter(|row| !row.mac.names_nobody())
            .filter_map(|row| Some((row.mac, living(row.port)?)))
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
        }
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
