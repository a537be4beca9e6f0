//! What heddle uses on the machine it runs on, and what gives it. The controller and the runtime
//! themselves need none of it.
use crate::probe::NeedProbe::{self, Kernel, Library, Program, Python, RawSockets, Rights};

/// Something heddle uses.
#[derive(Debug)]
pub struct MachineNeed {
    /// Its name.
    pub what: &'static str,
    /// The part of heddle that uses it.
    pub part: &'static str,
    /// How to find out whether it is there.
    pub look: NeedProbe,
    /// What gives it.
    pub gives: NeedSource,
}

/// What gives something that is missing.
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

/// All that heddle may use.
#[rustfmt::skip]
pub const NEEDS: &[MachineNeed] = &[
    MachineNeed { what: "root", part: LAB, look: Rights, gives: Run("sudo heddle ...") },
    MachineNeed { what: "kernel: bridge with STP", part: LAB, look: Kernel(&["ip", "link", "add", "br0", "type", "bridge", "stp_state", "1"]), gives: Run("modprobe bridge") },
    MachineNeed { what: "kernel: veth", part: LAB, look: Kernel(&["ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"]), gives: Run("modprobe veth") },
    MachineNeed { what: "kernel: token bucket", part: LAB, look: Kernel(&["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "3100", "limit", "65536"]), gives: Run("modprobe sch_tbf") },
    MachineNeed { what: "raw sockets", part: AGENT, look: RawSockets, gives: Run("sudo heddle \
        agent ..., or as docs/systemd/heddle-agent.service does") },
    MachineNeed { what: "ip", part: LAB, look: Program("ip"), gives: Package("iproute2") },
    MachineNeed { what: "bridge", part: LAB, look: Program("bridge"), gives: Package("iproute2") },
    MachineNeed { what: "tc", part: LAB, look: Program("tc"), gives: Package("iproute2") },
    MachineNeed { what: "unshare", part: LAB, look: Program("unshare"), gives: Package("util-linux") },
    MachineNeed { what: "snmpd", part: LAB, look: Program("snmpd"), gives: Package("snmpd") },
    MachineNeed { what: "lldpd", part: LAB, look: Program("lldpd"), gives: Package("lldpd") },
    MachineNeed { what: "cc", part: MPI, look: Program("cc"), gives: Package("gcc") },
    MachineNeed { what: "clang", part: MPI, look: Program("clang"), gives: Package("clang") },
    MachineNeed { what: "libclang", part: MPI, look: Library("libclang"), gives: Package("libclang-dev") },
    MachineNeed { what: "mpirun.openmpi", part: MPI, look: Program("mpirun.openmpi"), gives: Package("openmpi-bin") },
    MachineNeed { what: "mpicc.openmpi", part: MPI, look: Program("mpicc.openmpi"), gives: Package("libopenmpi-dev") },
    MachineNeed { what: "mpirun.mpich", part: MPI, look: Program("mpirun.mpich"), gives: Package("mpich") },
    MachineNeed { what: "mpicc.mpich", part: MPI, look: Program("mpicc.mpich"), gives: Package("libmpich-dev") },
    MachineNeed { what: "systemd-analyze", part: TESTS, look: Program("systemd-analyze"), gives: Package("systemd") },
    MachineNeed { what: "tmux", part: TESTS, look: Program("tmux"), gives: Package("tmux") },
    MachineNeed { what: "gfortran", part: TESTS, look: Program("gfortran"), gives: Package("gfortran") },
    MachineNeed { what: "snmpwalk", part: TESTS, look: Program("snmpwalk"), gives: Package("snmp") },
    MachineNeed { what: "mpi4py", part: TESTS, look: Python("mpi4py"), gives: Package("python3-mpi4py") },
];

/// Looks for everything.
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
