//! The conditions of a job beside its cluster: the network that the MPI library uses, lost packets,
//! and other traffic. They begin before the job and end with it.
//!
//! | module | one idea |
//! |---|---|
//! | `keeper` | a process that makes the conditions, and ends them when its parent ends |
//! | `loss` | a rule in each host that drops packets |
//! | `flows` | TCP flows and UDP between two hosts |
mod flows;
pub(crate) mod keeper;
mod loss;

pub use keeper::keep;

use crate::error::{LabError, LabResult};
use crate::plan::{LabNodeKind, LabPlan};
use inventory::name_ranges;
use std::fmt;
use std::str::FromStr;

/// The conditions of a job. The default is a job alone on the data network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobConditions {
    /// The network that the MPI library uses.
    pub network: LibraryNetwork,
    /// The share of packets that each host loses as they arrive from the data network.
    pub loss: Option<Percent>,
    pub beside: Vec<TrafficBeside>,
}

/// One of the two networks that every lab has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryNetwork {
    /// 10.77.0.0/16, on the switches of the topology file.
    #[default]
    Data,
    /// 10.78.0.0/16. It has switches and rates only if the topology file has a network of this name.
    Management,
}

impl LibraryNetwork {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LibraryNetwork::Data => "data",
            LibraryNetwork::Management => "management",
        }
    }

    /// Its addresses.
    pub(crate) fn subnet(self) -> &'static str {
        match self {
            LibraryNetwork::Data => "10.77.0.0/16",
            LibraryNetwork::Management => "10.78.0.0/16",
        }
    }

    /// A host's interface in it.
    pub(crate) fn interface(self) -> &'static str {
        match self {
            LibraryNetwork::Data => "eth0",
            LibraryNetwork::Management => "mgmt0",
        }
    }
}

/// More than 0 and at most 100 %, in thousandths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// All, in the unit of [`Percent::thousandths`].
    pub(crate) const ALL: u32 = 100_000;

    /// Its value in thousandths of a percent.
    pub(crate) fn thousandths(self) -> u32 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Percent, String> {
        let value = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
        value
            .map(|percent| (percent * 1000.0).round())
            .filter(|thousandths| (1.0..=f64::from(Percent::ALL)).contains(thousandths))
            .map(|thousandths| Percent(thousandths as u32))
            .ok_or_else(|| "expected a percentage from 0.001 to 100".to_owned())
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 1000.0)
    }
}

/// Traffic beside a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrafficBeside {
    /// `flows:N:FROM-TO`: TCP flows that one host sends to another as fast as they go.
    Flows {
        /// How many.
        number: usize,
        /// Sender and receiver, as `FROM-TO`.
        way: String,
    },
    /// `udp:PERCENT:FROM-TO`: datagrams that one host sends to another.
    Udp {
        /// Their rate, of that of the slowest cable between the two.
        share: Percent,
        /// Sender and receiver, as `FROM-TO`.
        way: String,
    },
    /// `mpi:HOST,...`: the job's program on other hosts, without heddle, again and again.
    Mpi {
        /// The hosts in rank order. The job gets no ranks there.
        hosts: Vec<String>,
    },
}

impl FromStr for TrafficBeside {
    type Err = String;

    fn from_str(text: &str) -> Result<TrafficBeside, String> {
        const MOST_FLOWS: usize = 1024;
        let expected = "expected flows:N:FROM-TO, udp:PERCENT:FROM-TO or mpi:HOST,HOST,...";
        let (kind, rest) = text.split_once(':').ok_or(expected)?;
        if kind == "mpi" {
            let hosts = name_ranges::expand(rest).map_err(|e| e.to_string())?;
            return Ok(TrafficBeside::Mpi { hosts });
        }
        let (amount, way) = rest.split_once(':').ok_or(expected)?;
        let way = way.to_owned();
        match kind {
            "flows" => {
                let number = amount.parse().ok().filter(|n| (1..=MOST_FLOWS).contains(n));
                let number = number.ok_or_else(|| {
                    format!("\"{amount}\": expected 1 to {MOST_FLOWS} flows: flows:N:FROM-TO")
                })?;
                Ok(TrafficBeside::Flows { number, way })
            }
            "udp" => {
                let share = amount
                    .parse()
                    .map_err(|e| format!("\"{amount}\": {e}: udp:PERCENT:FROM-TO"))?;
                Ok(TrafficBeside::Udp { share, way })
            }
            _ => Err(expected.to_owned()),
        }
    }
}

impl fmt::Display for TrafficBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrafficBeside::Flows { number, way } => write!(f, "flows:{number}:{way}"),
            TrafficBeside::Udp { share, way } => write!(f, "udp:{share}:{way}"),
            TrafficBeside::Mpi { hosts } => write!(f, "mpi:{}", hosts.join(",")),
        }
    }
}

impl JobConditions {
    /// The conditions as flags of `heddle lab mpirun`.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = vec![format!("--network={}", self.network.name())];
        flags.extend(self.kept_flags());
        flags
    }

    /// The conditions that a process keeps up, as its flags.
    fn kept_flags(&self) -> Vec<String> {
        let loss = self.loss.map(|share| format!("--loss={share}"));
        let beside = self.beside.iter().map(|kind| format!("--beside={kind}"));
        loss.into_iter().chain(beside).collect()
    }

    /// The hosts that neighbours use.
    pub(crate) fn taken(&self) -> Vec<&str> {
        let hosts = self.beside.iter().flat_map(|kind| match kind {
            TrafficBeside::Mpi { hosts } => &hosts[..],
            _ => &[],
        });
        hosts.map(String::as_str).collect()
    }

    /// Checks that the lab has these hosts, and ways between them, and the machine the programs.
    ///
    /// # Errors
    /// [`LabError::Missing`] without nft; [`LabError::Refused`] for another node, a host that two neighbours share, and two hosts that
    /// no cables join.
    pub(crate) fn check(&self, plan: &LabPlan) -> LabResult<()> {
        if self.loss.is_some() {
            loss::check()?;
        }
        for kind in &self.beside {
            match kind {
                TrafficBeside::Flows { way, .. } | TrafficBeside::Udp { way, .. } => {
                    let (from, to) = ends(plan, kind, way)?;
                    plan.slowest_between(from, to)?;
                }
                TrafficBeside::Mpi { hosts } => {
                    for host in hosts {
                        need_host(plan, kind, host)?;
                    }
                }
            }
        }
        let taken = self.taken();
        let twice = (1..taken.len()).find(|&at| taken[..at].contains(&taken[at]));
        match twice {
            Some(at) => Err(LabError::Refused(format!(
                "mpirun: --beside: host \"{}\" is in two places; name it once",
                taken[at]
            ))),
            None => Ok(()),
        }
    }
}

/// Sender and receiver of `FROM-TO`.
fn ends<'a>(plan: &LabPlan, kind: &TrafficBeside, way: &'a str) -> LabResult<(&'a str, &'a str)> {
    let (from, to) = plan
        .ends(way)
        .filter(|(from, to)| from != to)
        .ok_or_else(|| {
            let hosts: Vec<&str> = plan.hosts().map(|host| host.name.as_str()).collect();
            LabError::Refused(format!(
                "mpirun: --beside {kind}: \"{way}\": expected two hosts as FROM-TO; hosts: {}",
                hosts.join(", ")
            ))
        })?;
    need_host(plan, kind, from)?;
    need_host(plan, kind, to)?;
    Ok((from, to))
}

fn need_host(plan: &LabPlan, kind: &TrafficBeside, name: &str) -> LabResult<()> {
    if plan.node(name)?.kind == LabNodeKind::Host {
        return Ok(());
    }
    Err(LabError::Refused(format!(
        "mpirun: --beside {kind}: \"{name}\" is not a host; traffic goes between hosts"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;
    use inventory::{BitsPerSec, TopologyFile};

    fn plan() -> LabPlan {
        let text = "switches: [s0, s1]\nlinks: [{a: s0, b: s1, rate: 5M}]\nhosts: {n-0: {switch: s0, \
                    rate: 20M}, n1: {switch: s1, rate: 10M}, n2: {switch: s0, rate: 20M}}\n";
        let file = TopologyFile::parse("t.yaml", text).unwrap();
        LabPlan::new(&file, LabOptions::default()).unwrap()
    }

    fn conditions(beside: &[&str]) -> JobConditions {
        let beside = beside.iter().map(|kind| kind.parse().unwrap()).collect();
        JobConditions {
            beside,
            ..JobConditions::default()
        }
    }

    #[test]
    fn what_is_read_is_written_alike() {
        for kind in "flows:16:n1-n9 udp:30:n-1-n9 udp:0.5:a-b mpi:n1,n3".split(' ') {
            assert_eq!(kind.parse::<TrafficBeside>().unwrap().to_string(), kind);
        }
        let range = "mpi:n[0-2]".parse::<TrafficBeside>().unwrap();
        assert_eq!(range.to_string(), "mpi:n0,n1,n2");
    }

    #[test]
    fn bad_values_are_refused_with_what_is_expected() {
        for kind in ["", "flows", "flows:3", "tcp:3:n0-n1", "udp:n0-n1"] {
            let error = kind.parse::<TrafficBeside>().unwrap_err();
            assert!(error.contains("udp:PERCENT:FROM-TO"), "{kind}: {error}");
        }
        for kind in ["flows:0:a-b", "flows:-1:a-b", "flows:x:a-b"] {
            let error = kind.parse::<TrafficBeside>().unwrap_err();
            assert!(error.contains("1 to 1024 flows"), "{kind}: {error}");
        }
        for share in ["0", "-1", "101", "0.0004", "NaN", "inf", "", "one"] {
            let error = share.parse::<Percent>().unwrap_err();
            assert!(error.contains("0.001 to 100"), "{share}: {error}");
        }
        assert_eq!("0.1".parse::<Percent>().unwrap().thousandths(), 100);
        assert_eq!("100%".parse::<Percent>().unwrap(), Percent(Percent::ALL));
    }

    #[test]
    fn the_plan_decides_which_hosts_and_ways_there_are() {
        assert!(
            conditions(&["flows:1:n-0-n1", "mpi:n2"])
                .check(&plan())
                .is_ok()
        );
        for (kinds, hint) in [
            (&["flows:1:n1-n7"][..], "two hosts as FROM-TO"),
            (&["flows:1:n1-n1"], "two hosts as FROM-TO"),
            (&["udp:5:n1-s0"], "not a host"),
            (&["mpi:s1"], "not a host"),
            (&["mpi:n9"], "no such node"),
            (&["mpi:n1,n2", "mpi:n2"], "two places"),
        ] {
            let error = conditions(kinds).check(&plan()).unwrap_err().to_string();
            assert!(error.contains(hint), "{kinds:?}: {error}");
        }
    }

    #[test]
    fn the_slowest_cable_between_two_hosts() {
        let plan = plan();
        let slowest = |a, b| plan.slowest_between(a, b).unwrap();
        assert_eq!(slowest("n-0", "n1"), BitsPerSec(5_000_000));
        assert_eq!(slowest("n-0", "n2"), BitsPerSec(20_000_000));
        let mut cut = plan.clone();
        cut.cables[0].cut = true;
        let error = cut.slowest_between("n-0", "n1").unwrap_err().to_string();
        assert!(error.contains("no cables join"), "{error}");
    }
}
