//! The programs, libraries and rights that heddle uses on a machine, by the purpose of the machine.
//! The controller needs none of them.
use crate::probe::NeedProbe::{
    self, Kernel, Library, Program, Python, RawSockets, Rights, Runtime,
};

/// A need of heddle.
#[derive(Debug)]
pub struct MachineNeed {
    /// Its name.
    pub what: &'static str,
    /// The purpose for which a machine needs it.
    pub purpose: NodePurpose,
    /// The check for it.
    pub look: NeedProbe,
    pub gives: NeedSource,
}

/// The source of something that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedSource {
    /// A Debian/Ubuntu package.
    Package(&'static str),
    /// Any other command.
    Run(&'static str),
}

use NeedSource::{Package, Run};

/// The purpose of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodePurpose {
    /// MPI jobs run here.
    Jobs,
    /// The host agent runs here.
    Agent,
    /// Emulated clusters run here.
    Lab,
    /// heddle is built here.
    Build,
    /// heddle's tests run here.
    Tests,
}

use NodePurpose::{Agent, Build, Jobs, Lab, Tests};

impl NodePurpose {
    /// All purposes.
    pub const ALL: [NodePurpose; 5] = [Jobs, Agent, Lab, Build, Tests];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Jobs => "jobs",
            Agent => "agent",
            Lab => "lab",
            Build => "build",
            Tests => "tests",
        }
    }

    /// Its description.
    pub fn title(self) -> &'static str {
        match self {
            Jobs => "MPI jobs run here",
            Agent => "The host agent runs here",
            Lab => "Emulated clusters run here",
            Build => "heddle is built here",
            Tests => "heddle's tests run here",
        }
    }
}

const BRIDGE_WITH_STP: &[&str] = &[
    "ip",
    "link",
    "add",
    "br0",
    "type",
    "bridge",
    "stp_state",
    "1",
];
const VETH: &[&str] = &[
    "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1",
];
const TOKEN_BUCKET: &[&str] = &[
    "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "3100", "limit",
    "65536",
];

const fn need(
    purpose: NodePurpose,
    what: &'static str,
    look: NeedProbe,
    gives: NeedSource,
) -> MachineNeed {
    MachineNeed {
        what,
        purpose,
        look,
        gives,
    }
}

/// All needs.
pub const NEEDS: &[MachineNeed] = &[
    need(
        Jobs,
        "libheddle.so",
        Runtime,
        Run("make install, and run the installed heddle; heddle doctor --mpi says more"),
    ),
    need(Lab, "root", Rights, Run("sudo heddle ...")),
    need(
        Lab,
        "kernel: bridge with STP",
        Kernel(BRIDGE_WITH_STP),
        Run("modprobe bridge"),
    ),
    need(Lab, "kernel: veth", Kernel(VETH), Run("modprobe veth")),
    need(
        Lab,
        "kernel: token bucket",
        Kernel(TOKEN_BUCKET),
        Run("modprobe sch_tbf"),
    ),
    need(
        Agent,
        "raw sockets",
        RawSockets,
        Run("sudo heddle agent ..., or as the unit heddle-agent.service does"),
    ),
    need(Lab, "ip", Program("ip"), Package("iproute2")),
    need(Lab, "bridge", Program("bridge"), Package("iproute2")),
    need(Lab, "tc", Program("tc"), Package("iproute2")),
    need(Lab, "unshare", Program("unshare"), Package("util-linux")),
    need(Lab, "snmpd", Program("snmpd"), Package("snmpd")),
    need(Lab, "lldpd", Program("lldpd"), Package("lldpd")),
    need(Build, "cc", Program("cc"), Package("gcc")),
    need(Build, "clang", Program("clang"), Package("clang")),
    need(
        Build,
        "libclang",
        Library("libclang"),
        Package("libclang-dev"),
    ),
    need(
        Build,
        "mpirun.openmpi",
        Program("mpirun.openmpi"),
        Package("openmpi-bin"),
    ),
    need(
        Build,
        "mpicc.openmpi",
        Program("mpicc.openmpi"),
        Package("libopenmpi-dev"),
    ),
    need(
        Build,
        "mpirun.mpich",
        Program("mpirun.mpich"),
        Package("mpich"),
    ),
    need(
        Build,
        "mpicc.mpich",
        Program("mpicc.mpich"),
        Package("libmpich-dev"),
    ),
    need(
        Tests,
        "systemd-analyze",
        Program("systemd-analyze"),
        Package("systemd"),
    ),
    need(Tests, "tmux", Program("tmux"), Package("tmux")),
    need(Tests, "gfortran", Program("gfortran"), Package("gfortran")),
    need(Tests, "snmpwalk", Program("snmpwalk"), Package("snmp")),
    need(Tests, "mpi4py", Python("mpi4py"), Package("python3-mpi4py")),
];

/// Checks the needs for these purposes.
pub fn look(purposes: &[NodePurpose]) -> Vec<(&'static MachineNeed, bool)> {
    NEEDS
        .iter()
        .filter(|need| purposes.contains(&need.purpose))
        .map(|need| (need, need.look.is_there()))
        .collect()
}

/// The packages that are missing, each once.
pub fn packages(found: &[(&MachineNeed, bool)]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (need, _) in found.iter().filter(|(_, there)| !there) {
        if let Package(name) = need.gives
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_up_script_installs_whatever_the_doctor_would_ask_for() {
        let script = include_str!("../../scripts/packages");
        for need in NEEDS {
            if let Package(name) = need.gives {
                assert!(
                    script.split([' ', '(', ')', '\n']).any(|word| word == name),
                    "scripts/packages lacks {name}"
                );
            }
        }
    }
}
