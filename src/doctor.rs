//! `heddle doctor`: what this machine lacks, and the one command that gives it.
mod mpi;

use crate::Outcome;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Flags of `heddle doctor`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print only the missing Debian/Ubuntu packages, on one line
    #[arg(long)]
    apt: bool,
    /// Print instead what MPI jobs find here: the library and its backends, the MPI libraries, where each host hangs, and what runs at
    /// which block size
    #[arg(long, conflicts_with = "apt")]
    mpi: bool,
    /// The shared directory, for --mpi [default: $HEDDLE_DIR]
    #[arg(long, value_name = "DIR", requires = "mpi")]
    dir: Option<PathBuf>,
}

/// Something heddle uses on the machine it runs on. The controller and the runtime themselves need none of it.
struct Need {
    what: &'static str,
    /// Who uses it.
    part: &'static str,
    look: Look,
    gives: Gives,
}

/// How to find out whether it is there.
enum Look {
    /// Root, or the capabilities to make namespaces and their interfaces.
    Rights,
    /// Root, or the capability to open raw sockets.
    RawSockets,
    /// A program on the search path or where daemons lie.
    Program(&'static str),
    /// A library whose file name begins so, below the usual folders.
    Library(&'static str),
    /// A module the system's python imports.
    Python(&'static str),
    /// A command that must succeed in a network namespace of its own.
    Kernel(&'static [&'static str]),
}

/// What gives it.
enum Gives {
    /// A Debian/Ubuntu package.
    Package(&'static str),
    /// Any other command.
    Run(&'static str),
}

use Gives::{Package, Run};
use Look::{Kernel, Library, Program, Python, RawSockets, Rights};

const LAB: &str = "lab";
const AGENT: &str = "host agent";
const MPI: &str = "MPI runtime (build)";
const TESTS: &str = "tests";

#[rustfmt::skip]
const NEEDS: &[Need] = &[
    Need { what: "root", part: LAB, look: Rights, gives: Run("sudo heddle ...") },
    Need { what: "kernel: bridge with STP", part: LAB, look: Kernel(&["ip", "link", "add", "br0", "type", "bridge", "stp_state", "1"]), gives: Run("modprobe bridge") },
    Need { what: "kernel: veth", part: LAB, look: Kernel(&["ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"]), gives: Run("modprobe veth") },
    Need { what: "kernel: token bucket", part: LAB, look: Kernel(&["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "3100", "limit", "65536"]), gives: Run("modprobe sch_tbf") },
    Need { what: "raw sockets", part: AGENT, look: RawSockets, gives: Run("sudo heddle agent ..., or as docs/systemd/heddle-agent.service does") },
    Need { what: "ip", part: LAB, look: Program("ip"), gives: Package("iproute2") },
    Need { what: "bridge", part: LAB, look: Program("bridge"), gives: Package("iproute2") },
    Need { what: "tc", part: LAB, look: Program("tc"), gives: Package("iproute2") },
    Need { what: "unshare", part: LAB, look: Program("unshare"), gives: Package("util-linux") },
    Need { what: "snmpd", part: LAB, look: Program("snmpd"), gives: Package("snmpd") },
    Need { what: "lldpd", part: LAB, look: Program("lldpd"), gives: Package("lldpd") },
    Need { what: "cc", part: MPI, look: Program("cc"), gives: Package("gcc") },
    Need { what: "clang", part: MPI, look: Program("clang"), gives: Package("clang") },
    Need { what: "libclang", part: MPI, look: Library("libclang"), gives: Package("libclang-dev") },
    Need { what: "mpirun.openmpi", part: MPI, look: Program("mpirun.openmpi"), gives: Package("openmpi-bin") },
    Need { what: "mpicc.openmpi", part: MPI, look: Program("mpicc.openmpi"), gives: Package("libopenmpi-dev") },
    Need { what: "mpirun.mpich", part: MPI, look: Program("mpirun.mpich"), gives: Package("mpich") },
    Need { what: "mpicc.mpich", part: MPI, look: Program("mpicc.mpich"), gives: Package("libmpich-dev") },
    Need { what: "systemd-analyze", part: TESTS, look: Program("systemd-analyze"), gives: Package("systemd") },
    Need { what: "tmux", part: TESTS, look: Program("tmux"), gives: Package("tmux") },
    Need { what: "gfortran", part: TESTS, look: Program("gfortran"), gives: Package("gfortran") },
    Need { what: "snmpwalk", part: TESTS, look: Program("snmpwalk"), gives: Package("snmp") },
    Need { what: "mpi4py", part: TESTS, look: Python("mpi4py"), gives: Package("python3-mpi4py") },
];

/// The burst size of TCP pacing on short paths: with the default, packets leave in bursts that overrun shallow switch buffers.
const PACING: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.mpi {
        return mpi::run(args.dir.as_deref());
    }
    let found: Vec<(&Need, bool)> = NEEDS.iter().map(|need| (need, need.look.is_there())).collect();
    let mut out = std::io::stdout().lock();
    if args.apt {
        writeln!(out, "{}", packages(&found).join(" "))?;
    } else {
        table(&found, &mut out)?;
    }
    Ok(if found.iter().all(|(_, there)| *there) { Outcome::Done } else { Outcome::CheckFailed })
}

fn table(found: &[(&Need, bool)], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{:<8} {:<24} {:<20} COMMAND", "STATE", "WHAT", "FOR")?;
    for (need, there) in found {
        let (state, command) = match (there, &need.gives) {
            (true, _) => ("ok", String::new()),
            (false, Package(name)) => ("MISSING", format!("apt-get install {name}")),
            (false, Run(line)) => ("MISSING", (*line).to_owned()),
        };
        writeln!(out, "{}", format!("{state:<8} {:<24} {:<20} {command}", need.what, need.part).trim_end())?;
    }
    let missing = packages(found);
    if !missing.is_empty() {
        writeln!(out, "\nall missing packages at once: apt-get install {}", missing.join(" "))?;
    }
    if let Some(log) = std::fs::read_to_string(PACING).ok().and_then(|t| t.trim().parse::<u32>().ok()).filter(|log| *log > 0) {
        writeln!(out, "\ntip      net.ipv4.tcp_tso_rtt_log is {log}: on links with short round trips TCP sends in bursts, which overrun")?;
        writeln!(out, "         shallow switch buffers; on the hosts, 0 spaces packets evenly: sysctl -w net.ipv4.tcp_tso_rtt_log=0")?;
    }
    Ok(())
}

/// The packages that are missing, each once.
fn packages(found: &[(&Need, bool)]) -> Vec<&'static str> {
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

impl Look {
    fn is_there(&self) -> bool {
        match self {
            Rights => may_make_namespaces(),
            RawSockets => granted(1 << 13),
            Program(name) => program(name).is_some(),
            Library(name) => library(name),
            // The system's own, whatever comes first on the search path: that is the one packages serve.
            Python(module) => succeeds(Command::new("/usr/bin/python3").args(["-c", &format!("import {module}")])),
            // Without root, a user namespace tells whether the kernel could.
            Kernel(words) => {
                let own = if may_make_namespaces() { "--net" } else { "--user" };
                let more: &[&str] = if own == "--user" { &["--map-root-user", "--net"] } else { &[] };
                succeeds(Command::new("unshare").arg(own).args(more).arg("--").args(*words))
            }
        }
    }
}

/// Whether a command succeeds, silently.
fn succeeds(command: &mut Command) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// CAP_NET_ADMIN and CAP_SYS_ADMIN.
fn may_make_namespaces() -> bool {
    granted(1 << 12 | 1 << 21)
}

/// Whether the kernel grants these capabilities now (capabilities(7)).
fn granted(wanted: u64) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let granted = status.lines().find_map(|l| l.strip_prefix("CapEff:")).and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    granted.is_some_and(|g| g & wanted == wanted)
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Libraries lie in `/usr/lib*`, in its folders, and clang's in `/usr/lib/llvm-N/lib`.
fn library(name: &str) -> bool {
    let inside =
        |folder: &Path| -> Vec<PathBuf> { std::fs::read_dir(folder).map_or_else(|_| vec![], |d| d.flatten().map(|e| e.path()).collect()) };
    let is_it =
        |file: &PathBuf| file.file_name().is_some_and(|f| f.to_string_lossy().starts_with(name) && f.to_string_lossy().contains(".so"));
    ["/usr/lib", "/usr/lib64", "/usr/local/lib"].into_iter().any(|folder| {
        let first = inside(Path::new(folder));
        first.iter().any(is_it) || first.iter().any(|f| inside(f).iter().any(is_it) || inside(&f.join("lib")).iter().any(is_it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_up_script_installs_whatever_the_doctor_would_ask_for() {
        let script = include_str!("../scripts/packages");
        for need in NEEDS {
            if let Package(name) = need.gives {
                assert!(script.split([' ', '(', ')', '\n']).any(|word| word == name), "scripts/packages lacks {name}");
            }
        }
    }

    #[test]
    fn missing_things_come_with_their_command_and_packages_once() {
        let found: Vec<(&Need, bool)> = NEEDS.iter().map(|n| (n, n.part != LAB)).collect();
        let mut out = Vec::new();
        table(&found, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("MISSING  snmpd") && text.contains("apt-get install snmpd") && text.contains("ok       tmux"), "{text}");
        assert!(text.contains("at once: apt-get install iproute2 util-linux snmpd lldpd\n"), "{text}");
    }
}
