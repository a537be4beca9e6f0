//! A table of LLDP's neighbours, in whichever MIB it is.
use crate::frames::id::{self, IdSubtype, chassis_kind, port_kind};
use crate::tables::{number, text};
use crate::walk::WalkAnswers;
use inventory::observation::{
    ChassisIdKind, LldpNeighbour, NeighbourId, PortIdKind, SystemCapabilities,
};
use snmp::Value;
use std::collections::{BTreeSet, HashMap};

/// The columns of the table, with the meaning that they have in lldpRemTable.
pub(in crate::tables) struct RemoteColumns {
    pub(in crate::tables) chassis_subtype: &'static [u32],
    pub(in crate::tables) chassis: &'static [u32],
    pub(in crate::tables) port_subtype: &'static [u32],
    pub(in crate::tables) port: &'static [u32],
    pub(in crate::tables) port_descr: &'static [u32],
    pub(in crate::tables) name: &'static [u32],
    /// The enabled ones.
    pub(in crate::tables) capabilities: &'static [u32],
    /// The local port of the row with an index; `None` for an index of another form.
    pub(in crate::tables) local: fn(&WalkAnswers, &[u32]) -> Option<LocalPortNumber>,
    /// The column of local ports, by whose numbers indexes with missing parts are read. Such indexes
    /// are of some devices only.
    pub(in crate::tables) listed: Option<&'static [u32]>,
}

/// The number of a local port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tables) enum LocalPortNumber {
    /// One of LLDP's own.
    Own(u32),
    /// An ifIndex.
    Interface(u32),
}

impl RemoteColumns {
    /// The indexes of all rows. Columns can be sparse, so a row exists if any of the naming columns
    /// has it.
    pub(in crate::tables) fn indices<'a>(&'a self, answers: &'a WalkAnswers) -> Vec<&'a [u32]> {
        let named = [self.chassis, self.port, self.name];
        let indices: BTreeSet<&[u32]> = named
            .into_iter()
            .flat_map(|column| answers.column(column))
            .map(|(index, _)| index)
            .collect();
        indices.into_iter().collect()
    }

    /// The neighbours of all rows whose index tells the local port. Where some indexes are shorter
    /// than others, they are left out.
    pub(in crate::tables) fn read(&self, answers: &WalkAnswers) -> Vec<LldpNeighbour> {
        let rows = self.rows(answers);
        let longest = rows.iter().map(|(index, _)| index.len()).max();
        let latest = latest(&rows);
        rows.into_iter()
            .filter(|(index, _)| Some(index.len()) == longest)
            .filter(|(index, _)| {
                latest
                    .get(&index[1..])
                    .is_none_or(|mark| mark - index[0] < INTERVAL)
            })
            .map(|(index, local)| self.row(answers, index, local))
            .collect()
    }

    /// The indexes that tell a local port, with the port.
    pub(in crate::tables) fn rows<'a>(
        &'a self,
        answers: &'a WalkAnswers,
    ) -> Vec<(&'a [u32], LocalPortNumber)> {
        let indices = self.indices(answers);
        let short = self.listed.and_then(|ports| {
            ShortIndex::detected(&indices, |part| answers.cell(ports, &[part]).is_some())
        });
        indices
            .into_iter()
            .filter_map(|index| {
                let local = (self.local)(answers, index)
                    .or_else(|| Some(LocalPortNumber::Own(short.as_ref()?.port(index)?)));
                Some((index, local?))
            })
            .collect()
    }

    /// The neighbour of one row.
    pub(in crate::tables) fn row(
        &self,
        answers: &WalkAnswers,
        index: &[u32],
        local: LocalPortNumber,
    ) -> LldpNeighbour {
        let cell = |column| answers.cell(column, index);
        let chassis_subtype = number(cell(self.chassis_subtype));
        let port_subtype = number(cell(self.port_subtype));
        let (local_port, if_index) = match local {
            LocalPortNumber::Own(number) => (number, None),
            LocalPortNumber::Interface(index) => (index, Some(index)),
        };
        LldpNeighbour {
            local_port,
            if_index,
            chassis_kind: chassis_subtype.map(ChassisIdKind::from_number),
            chassis: id(cell(self.chassis), chassis_subtype.map(chassis_kind)),
            port_kind: port_subtype.map(PortIdKind::from_number),
            port: id(cell(self.port), port_subtype.map(port_kind)),
            port_descr: text(cell(self.port_descr)),
            name: text(cell(self.name)),
            capabilities: capabilities(cell(self.capabilities)),
        }
    }
}

/// Indexes without one or two of their parts, in one form in a whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShortIndex {
    PortAndNeighbour,
    TimeMarkAndPort,
    Port,
}

impl ShortIndex {
    /// The form in which all indexes name local ports. An index of one part may be anything else.
    fn detected(indices: &[&[u32]], is_port: impl Fn(u32) -> bool) -> Option<ShortIndex> {
        let all = |form: ShortIndex, fits: &dyn Fn(u32, u32) -> bool| {
            let mut indices = indices.iter();
            indices.all(|index| match index {
                [a, b] => form != ShortIndex::Port && fits(*a, *b),
                [a] => form == ShortIndex::Port && fits(*a, *a),
                _ => true,
            })
        };
        if all(ShortIndex::Port, &|port, _| is_port(port)) {
            Some(ShortIndex::Port)
        } else if all(ShortIndex::TimeMarkAndPort, &|mark, port| {
            is_port(port) && !is_port(mark)
        }) {
            Some(ShortIndex::TimeMarkAndPort)
        } else if all(ShortIndex::PortAndNeighbour, &|_, _| true) {
            Some(ShortIndex::PortAndNeighbour)
        } else {
            None
        }
    }

    fn port(self, index: &[u32]) -> Option<u32> {
        match (self, index) {
            (ShortIndex::PortAndNeighbour, [port, _])
            | (ShortIndex::TimeMarkAndPort, [_, port])
            | (ShortIndex::Port, [port]) => Some(*port),
            _ => None,
        }
    }
}

/// The time between two frames of a neighbour, in hundredths of a second: msgTxInterval (IEEE
/// 802.1AB-2005, 10.5.3.3). Rows that came within it are of several neighbours.
const INTERVAL: u32 = 3000;

/// The last TimeMark of each connection, by the rest of the index. A row with a later mark replaces the
/// former one (IEEE 802.1AB-2005, lldpRemIndex), which some agents still list.
fn latest<'a>(rows: &[(&'a [u32], LocalPortNumber)]) -> HashMap<&'a [u32], u32> {
    let mut latest: HashMap<&[u32], u32> = HashMap::new();
    for (index, _) in rows {
        if let [mark, connection @ ..] = index
            && connection.len() > 1
        {
            let last = latest.entry(connection).or_insert(*mark);
            *last = (*last).max(*mark);
        }
    }
    latest
}

/// The local port where the index is TimeMark, ifIndex, destination address and neighbour.
pub(in crate::tables) fn interface_in_index(
    _: &WalkAnswers,
    index: &[u32],
) -> Option<LocalPortNumber> {
    match index {
        [_, interface, _, _] => Some(LocalPortNumber::Interface(*interface)),
        _ => None,
    }
}

/// An identifier from an octet string.
pub(in crate::tables) fn id(value: Option<&Value>, kind: Option<IdSubtype>) -> Option<NeighbourId> {
    id::read(value?.as_bytes()?, kind)
}

/// LldpSystemCapabilitiesMap is BITS: bit 0 is the highest of the first octet (RFC 2578, 7.1.4).
/// Recordings by a program that had the MIB have a text instead (`28 2 4`).
pub(in crate::tables) fn capabilities(value: Option<&Value>) -> Option<SystemCapabilities> {
    let bits = value?.as_bytes()?;
    // The first octet of BITS may equal a digit, but the second one does not.
    let first = match bits {
        [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            u8::from_str_radix(str::from_utf8(&bits[..2]).ok()?, 16).ok()?
        }
        [first, ..] => *first,
        [] => return None,
    };
    Some(SystemCapabilities {
        // bridge(2), router(4).
        bridge: first & 0x20 != 0,
        router: first & 0x08 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::octets;

    #[test]
    fn capabilities_come_as_bits_or_as_text() {
        let read =
            |octets_: &[u8]| capabilities(Some(&octets(octets_))).map(|c| (c.bridge, c.router));
        assert_eq!(read(&[0x20]), Some((true, false)));
        assert_eq!(read(&[0x28, 0]), Some((true, true)));
        assert_eq!(
            read(&[0x30]),
            Some((true, false)),
            "a bridge with radio, not a text"
        );
        assert_eq!(
            read(&[0x30, 0]),
            Some((true, false)),
            "the same in two octets"
        );
        assert_eq!(read(b"28 2 4"), Some((true, true)));
        assert_eq!(read(b"08"), Some((false, true)));
        assert_eq!((read(b""), read(b"2")), (None, Some((true, false))));
        assert_eq!(capabilities(Some(&Value::Integer(20))), None);
    }
}
