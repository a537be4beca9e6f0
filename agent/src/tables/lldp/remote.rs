//! A table of LLDP's neighbours, in whichever MIB it is.
use crate::frames::id::{self, IdSubtype, chassis_kind, port_kind};
use crate::tables::{number, text};
use crate::walk::WalkAnswers;
use inventory::observation::{
    ChassisIdKind, LldpNeighbour, NeighbourId, PortIdKind, SystemCapabilities,
};
use snmp::Value;
use std::collections::BTreeSet;

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
        let rows: Vec<(&[u32], LocalPortNumber)> = self
            .indices(answers)
            .into_iter()
            .filter_map(|index| Some((index, (self.local)(answers, index)?)))
            .collect();
        let longest = rows.iter().map(|(index, _)| index.len()).max();
        rows.into_iter()
            .filter(|(index, _)| Some(index.len()) == longest)
            .map(|(index, local)| self.row(answers, index, local))
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
    let digit = |octet: &u8| char::from(*octet).to_digit(16).map(|d| d as u8);
    let first = match bits {
        [high, low, ..] if digit(high).is_some() => digit(high)? << 4 | digit(low)?,
        [first, ..] => *first,
        [] => return None,
    };
    Some(SystemCapabilities {
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
        assert_eq!(read(b"28 2 4"), Some((true, true)));
        assert_eq!(read(b"08"), Some((false, true)));
        assert_eq!((read(b""), read(b"2")), (None, Some((true, false))));
        assert_eq!(capabilities(Some(&Value::Integer(20))), None);
    }
}
