//! The way in which the numbers of a table name ports, for a device as a whole.
//!
//! A number may be an ifIndex or a base port (dot1dBasePort), and often is both, of two ports. One
//! row tells nothing then. All rows of a table are read in one way: the way in which they agree with
//! each other and with the device's other tables. If both ways agree, the ports that other devices
//! name decide, then what is usual: ports of the bridge, and names that end in the number. If nothing
//! decides, no port is taken.
use super::ports::{PortIx, PortTable};
use std::cmp::Ordering;
use std::collections::HashSet;

/// A numbering of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PortNumbering {
    BasePorts,
    Interfaces,
}

/// The numbering of a table by the device's other tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberReading {
    By(PortNumbering),
    /// No number names a port, or what the numbers name contradicts other statements.
    Neither,
    /// Both numberings fit, and they name different ports. One may be more usual.
    Either(Option<PortNumbering>),
}

/// A row of a table that calls a port by a number.
pub(crate) struct NumberedRow<'t> {
    pub(crate) number: u32,
    /// The port by the row's other statements.
    pub(crate) known: Option<PortIx>,
    /// The description of the port; empty if there is none.
    pub(crate) descr: &'t str,
    /// True if a neighbour is seen there, so that the port is up.
    pub(crate) hears: bool,
}

/// How well the rows fit a numbering, the most important first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NumberingFit {
    /// Rows whose port is known by other statements, less those that another port has.
    known: i64,
    /// Rows that name a port of their own, less those that name one that cannot be meant.
    named: i64,
    /// Rows whose description is the port's, less those whose description names another port.
    described: i64,
}

/// Signs that are usual in a numbering, and prove nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UsualNumbers {
    /// Ports that take part in bridging.
    bridged: usize,
    /// Ports whose names end in the row's number.
    alike: usize,
}

impl PortNumbering {
    pub(crate) const ALL: [PortNumbering; 2] =
        [PortNumbering::BasePorts, PortNumbering::Interfaces];

    /// The port with a number.
    pub(crate) fn port(self, number: u32, ports: &PortTable) -> Option<PortIx> {
        let port = match self {
            PortNumbering::BasePorts => ports.by_base(number),
            PortNumbering::Interfaces => ports.by_index(number),
        };
        // LLDP runs on the members of aggregates, so a number that means an aggregate is meant in
        // another numbering.
        port.filter(|port| ports.may_speak(*port))
    }

    /// True if a number names a port in any numbering.
    pub(crate) fn names_any(number: u32, ports: &PortTable) -> bool {
        let mut all = PortNumbering::ALL.into_iter();
        all.any(|numbering| numbering.port(number, ports).is_some())
    }

    fn fit(self, rows: &[NumberedRow<'_>], ports: &PortTable) -> NumberingFit {
        let mut fit = NumberingFit::default();
        let mut met = HashSet::new();
        for row in rows {
            let Some(port) = self.port(row.number, ports) else {
                continue;
            };
            let facts = &ports[port];
            // Two rows are never of one port, and no neighbour is seen on a port that is down.
            let stands = met.insert(port) && (facts.up || !row.hears);
            fit.named += if stands { 1 } else { -1 };
            if let Some(known) = row.known {
                fit.known += if known == port { 1 } else { -1 };
            }
            if ports.is_described(port, row.descr) {
                fit.described += 1;
            } else if ports.by_exact_name(row.descr).is_some() {
                fit.described -= 1;
            }
        }
        fit
    }

    fn usual(self, rows: &[NumberedRow<'_>], ports: &PortTable) -> UsualNumbers {
        let mut usual = UsualNumbers::default();
        for row in rows {
            if let Some(port) = self.port(row.number, ports) {
                let ending = trailing_number(&ports[port].name);
                usual.bridged += usize::from(ports[port].bridge.is_some());
                usual.alike += usize::from(ending == Some(row.number.into()));
            }
        }
        usual
    }
}

impl NumberReading {
    pub(crate) fn decided(rows: &[NumberedRow<'_>], ports: &PortTable) -> NumberReading {
        let fits = PortNumbering::ALL.map(|numbering| numbering.fit(rows, ports));
        let best = fits[0].max(fits[1]);
        // The description of a port may be the name of another one. That of most ports is not.
        let misdescribed = rows.len() as i64 + 2 * best.described < 0;
        if best.known < 0 || best.named <= 0 || misdescribed {
            return NumberReading::Neither;
        }
        let [base, index] = PortNumbering::ALL;
        let better = |order: Ordering| match order {
            Ordering::Greater => Some(base),
            Ordering::Less => Some(index),
            Ordering::Equal => None,
        };
        match better(fits[0].cmp(&fits[1])) {
            Some(numbering) if is_alone(numbering, rows, ports, best) => {
                NumberReading::Either(Some(numbering))
            }
            Some(numbering) => NumberReading::By(numbering),
            None if rows
                .iter()
                .all(|row| base.port(row.number, ports) == index.port(row.number, ports)) =>
            {
                NumberReading::By(base)
            }
            None => {
                let usual = PortNumbering::ALL.map(|numbering| numbering.usual(rows, ports));
                NumberReading::Either(better(usual[0].cmp(&usual[1])))
            }
        }
    }

    /// The reading where other devices tell which numbering it is.
    pub(crate) fn settled(self, by_others: Option<PortNumbering>) -> NumberReading {
        match (self, by_others) {
            (NumberReading::Either(_), Some(numbering)) => NumberReading::By(numbering),
            _ => self,
        }
    }

    /// True if the number is two ports', and only what is usual says which one is meant.
    pub(crate) fn is_guess(self, number: u32, ports: &PortTable) -> bool {
        let [base, index] = PortNumbering::ALL.map(|numbering| numbering.port(number, ports));
        matches!(self, NumberReading::Either(Some(_))) && base != index
    }

    /// The port with a number, if the reading tells.
    pub(crate) fn port(self, number: u32, ports: &PortTable) -> Option<PortIx> {
        match self {
            NumberReading::By(numbering) | NumberReading::Either(Some(numbering)) => {
                numbering.port(number, ports)
            }
            NumberReading::Neither | NumberReading::Either(None) => None,
        }
    }
}

/// True if the rows fit a numbering only because the device lists no base ports: all numbers could be
/// such ones, and nothing else in the rows says which port is meant.
fn is_alone(
    numbering: PortNumbering,
    rows: &[NumberedRow<'_>],
    ports: &PortTable,
    fit: NumberingFit,
) -> bool {
    numbering == PortNumbering::Interfaces
        && !ports.has_base_ports()
        && fit.known <= 0
        && fit.described <= 0
        && rows.iter().all(|row| row.number as usize <= ports.len())
        && 2 * numbering.usual(rows, ports).alike <= rows.len()
}

/// The number at the end of a name.
pub(crate) fn trailing_number(name: &str) -> Option<u64> {
    let start = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[start..].parse().ok()
}
