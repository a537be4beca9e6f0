//! Claims: two ends are reported, or concluded, to share a cable.
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::ranking::ClaimGrounds;
use inventory::evidence::{AssumedRate, Evidence};
use inventory::observation::LldpNeighbour;
use inventory::topology::LinkGrade;
use inventory::{BitsPerSec, Mac};

/// The port at an end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EndPort {
    /// A port of a device that was asked.
    At(PortIx),
    /// A port that is known only by the name that the other end gives it.
    Named(String),
    Unknown,
}

/// An end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClaimEnd {
    pub(crate) node: NodeIx,
    pub(crate) port: EndPort,
}

/// The claim that two ends share a cable.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) ends: [ClaimEnd; 2],
    pub(crate) grounds: ClaimGrounds,
    /// The grade of its grounds, or a lower one if it was contradicted.
    pub(crate) grade: LinkGrade,
    pub(crate) rate: BitsPerSec,
    pub(crate) evidence: Vec<Evidence>,
}

/// A statement that cannot be true, and the reason. It is reported if its port has no other neighbour.
#[derive(Debug)]
pub(crate) struct RefusedStatement {
    pub(crate) at: DevicePortIx,
    pub(crate) kind: inventory::alarm::AlarmKind,
}

impl EndPort {
    /// The port that a neighbour row names, if nothing better is known.
    pub(crate) fn as_announced(row: &LldpNeighbour) -> EndPort {
        let name = match &row.port {
            Some(id) => id.to_string(),
            None => row.port_descr.clone(),
        };
        if name.is_empty() {
            EndPort::Unknown
        } else {
            EndPort::Named(name)
        }
    }

    /// True if it means one port only. Some devices send no name, or zeros for all ports.
    pub(crate) fn means_one(&self) -> bool {
        match self {
            EndPort::At(_) => true,
            EndPort::Named(name) => name.parse().map_or(true, |mac: Mac| !mac.names_nobody()),
            EndPort::Unknown => false,
        }
    }

    /// True for a name that is a MAC address, and for no name.
    pub(crate) fn is_address(&self) -> bool {
        match self {
            EndPort::At(_) => false,
            EndPort::Named(name) => name.parse::<Mac>().is_ok(),
            EndPort::Unknown => true,
        }
    }

    pub(crate) fn index(&self) -> Option<PortIx> {
        match self {
            EndPort::At(port) => Some(*port),
            _ => None,
        }
    }
}

impl ClaimEnd {
    pub(crate) fn new(node: impl Into<NodeIx>, port: EndPort) -> ClaimEnd {
        ClaimEnd {
            node: node.into(),
            port,
        }
    }

    /// The end at a port of a device.
    pub(crate) fn at(device: DeviceIx, port: PortIx) -> ClaimEnd {
        ClaimEnd::new(device, EndPort::At(port))
    }

    /// Somewhere at a node.
    pub(crate) fn somewhere(node: impl Into<NodeIx>) -> ClaimEnd {
        ClaimEnd::new(node, EndPort::Unknown)
    }

    /// The port of a device that was asked.
    pub(crate) fn device_port(&self, facts: &Facts<'_>) -> Option<DevicePortIx> {
        Some((facts.device_of(self.node)?, self.port.index()?))
    }

    /// The name of its port; empty if the port is unknown.
    pub(crate) fn port_name<'s>(&'s self, facts: &'s Facts<'_>) -> &'s str {
        match (&self.port, facts.device_of(self.node)) {
            (EndPort::At(port), Some(device)) => &facts[device].ports[*port].name,
            (EndPort::Named(name), _) => name,
            _ => "",
        }
    }

    pub(crate) fn rate(&self, facts: &Facts<'_>) -> Option<BitsPerSec> {
        let (device, port) = self.device_port(facts)?;
        facts[device].ports[port].rate
    }
}

impl Claim {
    /// A claim with the grade of its grounds. The slower end decides the rate.
    pub(crate) fn new(
        facts: &Facts<'_>,
        ends: [ClaimEnd; 2],
        grounds: ClaimGrounds,
        mut evidence: Vec<Evidence>,
    ) -> Claim {
        let rates = ends.each_ref().map(|end| end.rate(facts));
        Claim {
            rate: slower(rates, &mut evidence),
            ends,
            grounds,
            grade: grounds.grade(),
            evidence,
        }
    }

    /// Its end at a node.
    pub(crate) fn end(&self, node: NodeIx) -> Option<&ClaimEnd> {
        self.ends.iter().find(|end| end.node == node)
    }

    /// The end that is not this one.
    pub(crate) fn other(&self, node: NodeIx) -> &ClaimEnd {
        let [a, b] = &self.ends;
        if a.node == node { b } else { a }
    }

    /// The ends whose port is known for certain.
    pub(crate) fn known_ends(&self) -> impl Iterator<Item = &ClaimEnd> {
        self.ends.iter().filter(|end| end.port.means_one())
    }

    /// Lowers the grade to this one.
    pub(crate) fn lower(&mut self, grade: LinkGrade) {
        self.grade = self.grade.max(grade);
    }

    /// The name of its port at a node; empty if the port is unknown.
    pub(crate) fn port_name<'s>(&'s self, facts: &'s Facts<'_>, node: NodeIx) -> &'s str {
        self.end(node).map_or("", |end| end.port_name(facts))
    }

    /// True if both ends name each other.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.grounds == ClaimGrounds::NamedByBoth
    }
}

/// The rate of the slower end.
pub(crate) fn slower(rates: [Option<BitsPerSec>; 2], evidence: &mut Vec<Evidence>) -> BitsPerSec {
    rates.into_iter().flatten().min().unwrap_or_else(|| {
        evidence.push(Evidence::Rate(AssumedRate::Gigabit));
        BitsPerSec::GIGABIT
    })
}
