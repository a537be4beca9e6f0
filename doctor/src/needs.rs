//! The programs, libraries and rights that heddle uses on a machine. The controller and the runtime
//! themselves need none of them.
use crate::probe::NeedProbe::{self, Kernel, Library, Program, Python, RawSockets, Rights};

/// A need of heddle.
#[derive(Debug)]
pub struct MachineNeed {
    /// Its name.
    pub what: &'static str,
    /// The part of heddle that uses it.
    pub part: &'static str,
    /// The check for it.
    pub look: NeedProbe,
    /// The source of it.
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

/// The part of heddle that emulates clusters.
pub const LAB: &str = "lab";
const AGENT: &str = "host agent";
const MPI: &str = "MPI runtime (build)";
const TESTS: &str = "tests";

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
    part: &'static str,
    what: &'static str,
    look: NeedProbe,
    gives: NeedSource,
) -> MachineNeed {
    MachineNeed {
        what,
        part,
        look,
        gives,
    }
}

/// All needs.
pub const NEEDS: &[MachineNeed] = &[
    need(LAB, "root", Rights, Run("sudo heddle ...")),
    need(
        LAB,
        "kernel: bridge with STP",
        Kernel(BRIDGE_WITH_STP),
        Run("modprobe bridge"),
    ),
    need(LAB, "kernel: veth", Kernel(VETH), Run("modprobe veth")),
    need(
        LAB,
        "kernel: token bucket",
        Kernel(TOKEN_BUCKET),
        Run("modprobe sch_tbf"),
    ),
    need(
        AGENT,
        "raw sockets",
        RawSockets,
        Run("sudo heddle agent ..., or as the unit heddle-agent.service does"),
    ),
    need(LAB, "ip", Program("ip"), Package("iproute2")),
    need(LAB, "bridge", Program("bridge"), Package("iproute2")),
    need(LAB, "tc", Program("tc"), Package("iproute2")),
    need(LAB, "unshare", Program("unshare"), Package("util-linux")),
    need(LAB, "snmpd", Program("snmpd"), Package("snmpd")),
    need(LAB, "lldpd", Program("lldpd"), Package("lldpd")),
    need(MPI, "cc", Program("cc"), Package("gcc")),
    need(MPI, "clang", Program("clang"), Package("clang")),
    need(
        MPI,
        "libclang",
        Library("libclang"),
        Package("libclang-dev"),
    ),
    need(
        MPI,
        "mpirun.openmpi",
        Program("mpirun.openmpi"),
        Package("openmpi-bin"),
    ),
    need(
        MPI,
        "mpicc.openmpi",
        Program("mpicc.openmpi"),
        Package("libopenmpi-dev"),
    ),
    need(
        MPI,
        "mpirun.mpich",
        Program("mpirun.mpich"),
        Package("mpich"),
    ),
    need(
        MPI,
        "mpicc.mpich",
        Program("mpicc.mpich"),
        Package("libmpich-dev"),
    ),
    need(
        TESTS,
        "systemd-analyze",
        Program("systemd-analyze"),
        Package("systemd"),
    ),
    need(TESTS, "tmux", Program("tmux"), Package("tmux")),
    need(TESTS, "gfortran", Program("gfortran"), Package("gfortran")),
    need(TESTS, "snmpwalk", Program("snmpwalk"), Package("snmp")),
    need(TESTS, "mpi4py", Python("mpi4py"), Package("python3-mpi4py")),
];

/// Checks all needs.
pub fn look() -> Vec<(&'static MachineNeed, bool)> {
    NEEDS
        .iter()
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
