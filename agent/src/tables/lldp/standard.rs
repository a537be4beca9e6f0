//! The two editions of the standard MIB.
use super::remote::{LocalPortNumber, RemoteColumns, capabilities, id, interface_in_index};
use crate::frames::id::{chassis_kind, port_kind};
use crate::tables::{cdp, number, text};
use crate::walk::WalkAnswers;
use inventory::observation::{CdpTable, LldpPort, LldpTable, NeighbourId, PortIdKind};

/// The objects of one edition of the MIB.
pub(super) struct LldpMibEdition {
    pub(super) chassis_subtype: &'static [u32],
    pub(super) chassis: &'static [u32],
    pub(super) name: &'static [u32],
    pub(super) capabilities: &'static [u32],
    pub(super) ports: LocalColumns,
    pub(super) remote: RemoteColumns,
}

/// The columns of a table of local ports, in whichever MIB. The first part of the index is the
/// port's number.
pub(in crate::tables) struct LocalColumns {
    pub(in crate::tables) subtype: &'static [u32],
    pub(in crate::tables) id: &'static [u32],
    pub(in crate::tables) descr: &'static [u32],
}

pub(super) const FIRST: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 1],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 3, 2],
    name: &[1, 0, 8802, 1, 1, 2, 1, 3, 3],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 3, 6],
    ports: LocalColumns {
        subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
        id: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
        descr: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
    },
    remote: FIRST_REMOTE,
};

/// lldpRemTable, indexed by TimeMark, local port and neighbour. JetStream switches leave out the
/// TimeMark, others the neighbour, or both.
pub(in crate::tables) const FIRST_REMOTE: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5],
    port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6],
    port: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7],
    port_descr: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8],
    name: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12],
    local: |_, index| match index {
        [_, port, _] => Some(LocalPortNumber::Own(*port)),
        _ => None,
    },
    listed: Some(&[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3]),
};

pub(super) const SECOND: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 1],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 2],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 3],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 6],
    ports: LocalColumns {
        subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 2],
        id: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 3],
        descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 4],
    },
    remote: SECOND_REMOTE,
};

/// lldpV2RemTable, indexed by TimeMark, ifIndex, destination address and neighbour.
pub(in crate::tables) const SECOND_REMOTE: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 5],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 6],
    port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 7],
    port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 8],
    port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 9],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 10],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 13],
    local: interface_in_index,
    listed: None,
};

/// lldpLocChassisId and its subtype, in either edition.
pub(in crate::tables) const CHASSIS: &[u32] = FIRST.chassis;
pub(in crate::tables) const CHASSIS_SUBTYPE: &[u32] = FIRST.chassis_subtype;
pub(in crate::tables) const SECOND_CHASSIS: &[u32] = SECOND.chassis;
pub(in crate::tables) const SECOND_CHASSIS_SUBTYPE: &[u32] = SECOND.chassis_subtype;

/// Reads the first edition, unless only the second names neighbours. The editions number ports
/// differently, so they are not mixed.
pub(in crate::tables) fn standard(answers: &WalkAnswers) -> LldpTable {
    let first = FIRST.read(answers);
    let second = SECOND.read(answers);
    let empty =
        |l: &LldpTable| l.neighbours.is_empty() && (l.chassis.is_none() || l.ports.is_empty());
    let later = first.neighbours.is_empty()
        && (!second.neighbours.is_empty() || empty(&first) && !empty(&second));
    LldpTable {
        cdp: cdp::read(answers),
        ..if later { second } else { first }
    }
}

/// The device's own chassis id.
pub(in crate::tables) fn own_chassis(answers: &WalkAnswers) -> Option<NeighbourId> {
    let first = FIRST.own_chassis(answers);
    first.or_else(|| SECOND.own_chassis(answers))
}

impl LldpMibEdition {
    fn own_chassis(&self, answers: &WalkAnswers) -> Option<NeighbourId> {
        id(
            answers.scalar(self.chassis),
            number(answers.scalar(self.chassis_subtype)).map(chassis_kind),
        )
    }

    fn read(&self, answers: &WalkAnswers) -> LldpTable {
        LldpTable {
            chassis: self.own_chassis(answers),
            name: text(answers.scalar(self.name)),
            capabilities: capabilities(answers.scalar(self.capabilities)),
            ports: self.ports.read(answers),
            neighbours: self.remote.read(answers),
            cdp: CdpTable::default(),
        }
    }
}

impl LocalColumns {
    /// The ports, each once.
    pub(in crate::tables) fn read(&self, answers: &WalkAnswers) -> Vec<LldpPort> {
        let mut ports: Vec<LldpPort> = answers
            .column(self.id)
            .filter_map(|(index, value)| {
                let subtype = number(answers.cell(self.subtype, index));
                Some(LldpPort {
                    number: *index.first()?,
                    kind: subtype.map(PortIdKind::from_number),
                    id: id(Some(value), subtype.map(port_kind))?,
                    descr: text(answers.cell(self.descr, index)),
                })
            })
            .collect();
        ports.dedup_by_key(|p| p.number);
        ports
    }
}
