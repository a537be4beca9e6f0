//! MPI programs across the lab's hosts. Each library gets arguments by which it starts one daemon
//! on each host, stays on one of the lab's networks, and yields its core while it waits.
use crate::conditions::keeper::ConditionsKeeper;
use crate::conditions::{JobConditions, LibraryNetwork};
use crate::error::{LabError, LabResult};
use crate::name::LabName;
use crate::plan::{CONTROL, LabNodeKind, LabPlan};
use crate::state::{self, LabState};
use crate::{exec, requirements};
use inventory::Mpi;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run of an MPI program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiJob {
    /// The program's library.
    pub mpi: Mpi,
    /// The number of ranks; `None`: all that fit.
    pub ranks: Option<usize>,
    /// Ranks on each host; consecutive ranks share one.
    pub per_host: usize,
    /// Hosts in rank order; empty: all without a neighbour, in the order of the topology file.
    pub hosts: Vec<String>,
    /// True if heddle's runtime is loaded.
    pub shim: bool,
    /// The time after which everything is killed.
    pub timeout: Option<Duration>,
    /// The network that the library uses, and what else the networks carry and lose.
    pub conditions: JobConditions,
}

impl MpiJob {
    /// One rank on every host, with the runtime, for as long as it takes.
    pub fn new(mpi: Mpi) -> MpiJob {
        MpiJob {
            mpi,
            ranks: None,
            per_host: 1,
            hosts: Vec::new(),
            shim: true,
            timeout: None,
            conditions: JobConditions::default(),
        }
    }

    /// The job as flags of `heddle lab mpirun`.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            "--mpi".to_owned(),
            self.mpi.to_string(),
            "--per-host".into(),
            self.per_host.to_string(),
        ];
        flags.extend(self.ranks.iter().flat_map(|n| ["-n".into(), n.to_string()]));
        flags.extend((!self.hosts.is_empty()).then(|| format!("--hosts={}", self.hosts.join(","))));
        flags.extend((!self.shim).then(|| "--no-shim".to_owned()));
        flags.extend(
            self.timeout
                .map(|t| format!("--timeout={}", t.as_secs_f64())),
        );
        flags.extend(self.conditions.flags());
        flags
    }

    /// The arguments of `heddle lab mpirun` for the same program beside the job, without its hosts.
    fn beside(&self, lab: &LabName, program: &[OsString]) -> Vec<OsString> {
        let neighbour = MpiJob {
            per_host: self.per_host,
            shim: false,
            conditions: JobConditions {
                network: self.conditions.network,
                ..JobConditions::default()
            },
            ..MpiJob::new(self.mpi)
        };
        let flags = neighbour.flags().into_iter().map(OsString::from);
        let name = ["--name".into(), lab.as_str().into()];
        let program = program.iter().cloned();
        name.into_iter()
            .chain(flags)
            .chain(["--".into()])
            .chain(program)
            .collect()
    }
}

pub use crate::exec::TIMED_OUT;

/// Runs a program as a job on the lab's hosts, waits, and gives the launcher's exit status. Like
/// [`exec::exec`] it leaves the caller inside the head node.
///
/// # Errors
/// [`LabError`] if hosts, libraries or the launcher are missing, or a condition of the job cannot be
/// made or ends before a job that ends well.
pub fn run(lab: &str, job: &MpiJob, program: &[OsString]) -> LabResult<i32> {
    let state = LabState::load(&LabName::new(lab)?)?;
    let hosts = hosts(&state.plan, job)?;
    let launcher = launcher(job.mpi)?;
    let variables = variables(&state, job)?;
    job.conditions.check(&state.plan)?;
    let mut line: Vec<OsString> = vec![launcher.into()];
    line.extend(
        arguments(job, &hosts, state.plan.nodes[0].management, &variables)
            .into_iter()
            .map(OsString::from),
    );
    line.extend(program.iter().cloned());
    let beside = job.beside(&state.name, program);
    let keeper = ConditionsKeeper::start(&state.name, &job.conditions, beside)?;
    let status = exec::exec_for(&state.name, CONTROL, &line, job.timeout)?;
    match keeper {
        Some(keeper) if status == 0 => keeper.end().map(|()| status),
        _ => Ok(status),
    }
}

/// The hosts that get ranks of the job.
fn hosts(plan: &LabPlan, job: &MpiJob) -> LabResult<Vec<String>> {
    let taken = job.conditions.taken();
    let mut hosts: Vec<String> = if job.hosts.is_empty() {
        let free = plan
            .hosts()
            .filter(|h| h.data.is_some() && !taken.contains(&&h.name[..]));
        free.map(|h| h.name.clone()).collect()
    } else {
        job.hosts.clone()
    };
    for host in &hosts {
        if taken.contains(&&host[..]) {
            return Err(LabError::Refused(format!(
                "mpirun: host \"{host}\" is in --hosts and in --beside mpi:...; name it in one"
            )));
        }
        if plan.node(host)?.kind != LabNodeKind::Host {
            return Err(LabError::Refused(format!(
                "mpirun: \"{host}\" is not a host; ranks run on hosts"
            )));
        }
    }
    if hosts.is_empty() {
        return Err(LabError::Refused(
            "mpirun: --beside mpi:... takes all hosts, and no host is left for the job; name fewer"
                .into(),
        ));
    }
    let fit = hosts.len() * job.per_host;
    let ranks = job.ranks.unwrap_or(fit);
    if ranks == 0 || ranks > fit {
        let hint = "give fewer ranks (-n) or more a host (--per-host)";
        return Err(LabError::Refused(format!(
            "mpirun: {ranks} ranks on {} hosts with {} each; {hint}",
            hosts.len(),
            job.per_host
        )));
    }
    hosts.truncate(ranks.div_ceil(job.per_host));
    Ok(hosts)
}

fn launcher(mpi: Mpi) -> LabResult<PathBuf> {
    let (names, package) = match mpi {
        Mpi::OpenMpi => (["mpirun.openmpi", "mpirun"], "openmpi-bin"),
        Mpi::Mpich => (["mpiexec.mpich", "mpiexec.hydra"], "mpich"),
    };
    names
        .iter()
        .find_map(|n| requirements::find(n))
        .ok_or_else(|| {
            LabError::Missing(format!(
                "mpirun: {mpi} is not installed; run: apt-get install {package}"
            ))
        })
}

/// The environment of the ranks: preloaded libraries, the shared directory, and every `HEDDLE_*`
/// variable of the caller.
fn variables(state: &LabState, job: &MpiJob) -> LabResult<Vec<(String, String)>> {
    let mut libraries = Vec::new();
    if job.shim {
        libraries.push(own_library("heddle", ", or use --no-shim", state)?);
    }
    // This is not for speed alone: without it, MPICH jobs would hang at their end.
    libraries.push(own_library("heddle-idle", "", state)?);
    let preload: Vec<String> = libraries.iter().map(|p| p.display().to_string()).collect();
    let mut variables: Vec<(String, String)> = std::env::vars()
        .filter(|(k, _)| k.starts_with("HEDDLE_") || k == "HEDDLE")
        .collect();
    variables.retain(|(k, _)| k != "HEDDLE_DIR" && k != "HEDDLE_LAB");
    if job.shim {
        variables.push((
            "HEDDLE_DIR".into(),
            state::directory(&state.name)
                .join("shared")
                .display()
                .to_string(),
        ));
    }
    variables.push(("LD_PRELOAD".into(), preload.join(":")));
    Ok(variables)
}

fn own_library(name: &str, hint: &str, state: &LabState) -> LabResult<PathBuf> {
    library(&state.program, name).ok_or_else(|| {
        LabError::Missing(format!(
            "mpirun: lib{name}.so is neither in lib nor in ../lib/heddle beside {}; run: make \
                 build{hint}",
            state.program.display()
        ))
    })
}

/// A library that belongs to the binary: in `lib/` beside it after a build, in `../lib/heddle/`
/// after an installation, or beside it where cargo leaves it.
pub(crate) fn library(program: &Path, name: &str) -> Option<PathBuf> {
    let directory = program.parent()?;
    let file = format!("lib{name}.so");
    let cargo = format!("lib{}.so", name.replace('-', "_"));
    let places = [
        directory.join("lib").join(&file),
        directory.join("../lib/heddle").join(&file),
        directory.join(cargo),
    ];
    places.into_iter().find(|p| p.is_file())
}

/// The launcher's own arguments, up to the program.
fn arguments(
    job: &MpiJob,
    hosts: &[String],
    control: Ipv4Addr,
    variables: &[(String, String)],
) -> Vec<String> {
    let slots = hosts
        .iter()
        .map(|host| format!("{host}:{}", job.per_host))
        .collect::<Vec<String>>()
        .join(",");
    let ranks = job.ranks.unwrap_or(hosts.len() * job.per_host).to_string();
    match job.mpi {
        Mpi::OpenMpi => open_mpi_arguments(job, &slots, &ranks, variables),
        Mpi::Mpich => mpich_arguments(job, &slots, &ranks, control, variables),
    }
}

fn open_mpi_arguments(
    job: &MpiJob,
    slots: &str,
    ranks: &str,
    variables: &[(String, String)],
) -> Vec<String> {
    let mut line = owned(&["--allow-run-as-root", "-np", ranks, "--host", slots]);
    line.extend(owned(&[
        "--map-by",
        "slot",
        "--oversubscribe",
        "--bind-to",
        "none",
    ]));
    // Ranks of one host have its memory in common.
    let transports = if job.per_host > 1 {
        "tcp,vader,self"
    } else {
        "tcp,self"
    };
    // The launcher starts one daemon on each host from here. Each daemon stays attached to its
    // agent, so that it ends with it.
    let parameters = [
        ("plm_rsh_agent", exec::AGENT),
        ("plm_rsh_no_tree_spawn", "1"),
        ("plm_rsh_num_concurrent", "256"),
        ("orte_leave_session_attached", "1"),
        ("oob_tcp_if_include", LibraryNetwork::Management.subnet()),
        ("btl", transports),
        ("pml", "ob1"),
        ("btl_tcp_if_include", job.conditions.network.subnet()),
        // The machine has fewer cores than the lab has ranks, and a rank polls while it waits.
        ("mpi_yield_when_idle", "1"),
        ("opal_event_include", "epoll"),
    ];
    for (key, value) in parameters {
        line.extend(owned(&["--mca", key, value]));
    }
    for (key, value) in variables {
        line.extend(owned(&["-x", &format!("{key}={value}")]));
    }
    line
}

fn mpich_arguments(
    job: &MpiJob,
    slots: &str,
    ranks: &str,
    control: Ipv4Addr,
    variables: &[(String, String)],
) -> Vec<String> {
    let control = control.to_string();
    let mut line = owned(&["-n", ranks, "-hosts", slots]);
    line.extend(owned(&["-launcher", "ssh", "-launcher-exec", exec::AGENT]));
    line.extend(owned(&["-localhost", &control, "-bind-to", "none"]));
    line.extend(owned(&["-genv", "UCX_TLS", "tcp,self"]));
    let device = job.conditions.network.interface();
    line.extend(owned(&["-genv", "UCX_NET_DEVICES", device]));
    for (key, value) in variables {
        line.extend(owned(&["-genv", key, value]));
    }
    line
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;
    use inventory::TopologyFile;

    fn plan() -> LabPlan {
        let text =
            "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0}}\n";
        LabPlan::new(
            &TopologyFile::parse("t.yaml", text).unwrap(),
            LabOptions::default(),
        )
        .unwrap()
    }

    #[test]
    fn ranks_fill_hosts_in_order() {
        let job = MpiJob {
            ranks: Some(3),
            per_host: 2,
            ..MpiJob::new(Mpi::OpenMpi)
        };
        assert_eq!(hosts(&plan(), &job).unwrap(), ["n0", "n1"]);
        let job = MpiJob {
            hosts: vec!["n2".into(), "n0".into()],
            ..MpiJob::new(Mpi::Mpich)
        };
        let hosts = hosts(&plan(), &job).unwrap();
        let line = arguments(
            &job,
            &hosts,
            "10.78.255.254".parse().unwrap(),
            &[("A".into(), "b c".into())],
        );
        assert_eq!(line[..4], ["-n", "2", "-hosts", "n2:1,n0:1"]);
        assert_eq!(line[line.len() - 3..], ["-genv", "A", "b c"]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert!(
            refused(&MpiJob {
                ranks: Some(4),
                ..MpiJob::new(Mpi::OpenMpi)
            })
            .contains("--per-host")
        );
        assert!(
            refused(&MpiJob {
                hosts: vec!["s0".into()],
                ..MpiJob::new(Mpi::OpenMpi)
            })
            .contains("not a host")
        );
        assert!(
            refused(&MpiJob {
                hosts: vec!["n9".into()],
                ..MpiJob::new(Mpi::OpenMpi)
            })
            .contains("no such node")
        );
    }

    fn refused(job: &MpiJob) -> String {
        hosts(&plan(), job).unwrap_err().to_string()
    }
}
