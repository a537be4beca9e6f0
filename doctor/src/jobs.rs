//! The view of a job that starts on this machine: runtime, MPI libraries, epoch and decision
//! tables.
use crate::probe::{program, runtime_folder};
use controller::history::moment;
use directory::epoch::Epoch;
use directory::job_record::{JobRecord, reading};
use directory::reading::{current_epoch, learned};
use inventory::unreadable::UnreadableFile;
use inventory::{TopologyFile, counted};
use policy::decision_table::{Collective, DecisionEntry, Mpi};
use policy::learned::LearnedFigures;
use policy::measurements::TuningRun;
use schedules::lg::ClusterPartition;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that start MPI jobs, under the names distributions give them.
const LAUNCHERS: [&str; 6] = [
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpirun.mpich",
    "mpiexec.hydra",
    "srun",
];

/// The consequence for jobs that cannot read the shared directory.
const NO_EPOCH: &str = "jobs find no epoch, and the MPI library's own routines run";

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub enum JobFinding {
    /// The subject and its state.
    Line(String, String),
    /// Something that keeps calls from heddle or from TCP: the subject, and the problem with its
    /// consequence.
    Limit(String, String),
    /// Something that jobs lack: the subject, and the problem with its consequence.
    Missing(String, String),
    /// The ways by block size.
    Table(Vec<DecisionEntry>),
}

/// All findings, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFindings {
    /// The findings in order of display.
    pub list: Vec<JobFinding>,
}

impl JobFindings {
    pub(crate) fn note(&mut self, what: &str, value: &str) {
        self.list
            .push(JobFinding::Line(what.to_owned(), value.to_owned()));
    }

    pub(crate) fn missing(&mut self, what: &str, value: &str) {
        self.list
            .push(JobFinding::Missing(what.to_owned(), value.to_owned()));
    }

    fn limit(&mut self, what: &str, value: &str) {
        self.list
            .push(JobFinding::Limit(what.to_owned(), value.to_owned()));
    }

    /// The subjects of what is missing, each once.
    pub fn missing_subjects(&self) -> Vec<&str> {
        self.subjects(|finding| match finding {
            JobFinding::Missing(what, _) => Some(what),
            _ => None,
        })
    }

    /// The subjects of limits, each once.
    pub fn limited_subjects(&self) -> Vec<&str> {
        self.subjects(|finding| match finding {
            JobFinding::Limit(what, _) => Some(what),
            _ => None,
        })
    }

    fn subjects(&self, subject: impl Fn(&JobFinding) -> Option<&String>) -> Vec<&str> {
        let mut subjects = Vec::new();
        for what in self.list.iter().filter_map(subject) {
            if !subjects.contains(&what.as_str()) {
                subjects.push(what.as_str());
            }
        }
        subjects
    }
}

/// Collects all findings. `dir` is the shared directory; without it, `HEDDLE_DIR` names it.
pub fn look(dir: Option<&Path>) -> JobFindings {
    let mut findings = JobFindings { list: Vec::new() };
    library(&mut findings);
    launchers(&mut findings);
    let named = std::env::var_os("HEDDLE_DIR")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from);
    match dir.map(Path::to_owned).or(named) {
        Some(dir) => directory(&mut findings, &dir),
        None => findings.missing(
            "directory",
            &format!("HEDDLE_DIR is not set, and --dir is not given: {NO_EPOCH}"),
        ),
    }
    findings
}

/// The backends: for Open MPI, for MPICH, and for the standard's own interface.
const BACKENDS: [&str; 3] = ["openmpi", "mpich", "abi"];

/// The backends that a runtime has.
pub fn backends_in(lib: &Path) -> Vec<&'static str> {
    BACKENDS
        .into_iter()
        .filter(|backend| backend_file(lib, backend).is_file())
        .collect()
}

/// Where a runtime's backend lies.
pub(crate) fn backend_file(lib: &Path, backend: &str) -> PathBuf {
    lib.join(format!("libheddle-{backend}.so"))
}

/// The runtime's files, and whether this shell preloads the front.
fn library(findings: &mut JobFindings) {
    let Some(lib) = runtime_folder() else {
        let me = std::env::current_exe().unwrap_or_default();
        let problem = format!(
            "libheddle.so is neither in lib nor in ../lib/heddle beside {}: jobs run without \
             heddle; run: make install, and use the installed heddle",
            me.display()
        );
        return findings.missing("library", &problem);
    };
    findings.note("library", &lib.join("libheddle.so").display().to_string());
    backends(findings, &lib);
    preload(findings);
}

/// The backends, and the helper.
fn backends(findings: &mut JobFindings, lib: &Path) {
    for backend in BACKENDS {
        let found = backend_file(lib, backend);
        let file = format!("{backend}: {}", found.display());
        if found.is_file() {
            findings.note("backend", &file);
        } else {
            let problem = format!("{file} is missing: jobs that it would serve run without heddle");
            findings.missing("backend", &problem);
        }
    }
    let helper = lib.join("heddle-helper");
    let file = helper.display().to_string();
    if helper.is_file() {
        findings.note("helper", &file);
    } else {
        let problem = format!("{file} is missing: {NO_EPOCH}");
        findings.missing("helper", &problem);
    }
}

/// The settings of this shell that load the front, or switch it off.
fn preload(findings: &mut JobFindings) {
    let preload = std::env::var("LD_PRELOAD").unwrap_or_default();
    let front = preload
        .split([':', ' '])
        .find(|name| name.ends_with("libheddle.so"));
    match front {
        Some(name) if Path::new(name).is_file() => {
            findings.note("preload", &format!("LD_PRELOAD has {name}"));
        }
        Some(name) => findings.missing(
            "preload",
            &format!("LD_PRELOAD has {name}, and that file does not exist"),
        ),
        None => findings.note(
            "preload",
            "LD_PRELOAD does not name libheddle.so here: the job's command has to (docs/loading.md)",
        ),
    }
    if std::env::var("HEDDLE").is_ok_and(|v| v == "off") {
        findings.limit(
            "switch",
            "HEDDLE=off: jobs started from here run without heddle",
        );
    }
}

/// The MPI libraries of this host, by the version of their launchers.
fn launchers(findings: &mut JobFindings) {
    let mut seen = Vec::new();
    for name in LAUNCHERS {
        let Some(path) = program(name)
            .and_then(|path| path.canonicalize().ok())
            // Several of the names may lead to one launcher.
            .filter(|path| !seen.contains(path))
        else {
            continue;
        };
        let output = Command::new(&path)
            .arg("--version")
            .output()
            .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
            .unwrap_or_default();
        // "mpirun (Open MPI) 4.1.4", "HYDRA build details:" and then "Version:   4.0.2", "slurm
        // 22.05.8"
        let lines = output
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .take(2);
        let version = lines
            .take_while(|line| line.chars().any(|c| c.is_ascii_digit()) || line.ends_with(':'));
        let words: Vec<&str> = version.flat_map(str::split_whitespace).collect();
        let version = match &words[..] {
            [] => "it does not tell its version".to_owned(),
            words => words.join(" "),
        };
        findings.note("MPI", &format!("{}: {version}", path.display()));
        seen.push(path);
    }
    if seen.is_empty() {
        findings.note("MPI", "no launcher on the search path");
    }
}

fn directory(findings: &mut JobFindings, dir: &Path) {
    if let Err(cause) = std::fs::read_dir(dir) {
        let problem = UnreadableFile::new(dir, cause);
        findings.missing("directory", &format!("{problem}: jobs find no epoch"));
        return;
    }
    findings.note("directory", &dir.display().to_string());
    match current_epoch(dir) {
        Ok(Some(epoch)) => {
            let figures = learned(dir).unwrap_or_else(|e| {
                findings.missing("learned", &format!("{e}; jobs start from nothing"));
                LearnedFigures::default()
            });
            current_epoch_findings(findings, &epoch, &figures);
        }
        Ok(None) => findings.missing(
            "epoch",
            "none published yet: run heddle controller, or heddle publish",
        ),
        Err(e) => findings.missing(
            "epoch",
            &format!("{e}; jobs stay with the last one they read"),
        ),
    }
    if let Some(aside) = aside(dir) {
        findings.note("jobs", &aside);
    }
}

/// The process sets, of those with a record, for which heddle stands aside, and why it does so for the
/// latest of them.
fn aside(dir: &Path) -> Option<String> {
    let records: Vec<JobRecord> = reading::beginning_with(dir, "").ok()?.collect();
    let aside = records.iter().filter(|record| record.aside.is_some());
    let latest = aside.clone().max_by_key(|record| record.updated)?;
    Some(format!(
        "heddle stands aside for {} of {}; the latest, {}: {}",
        aside.count(),
        counted(records.len(), "process set"),
        latest.program,
        latest.aside.as_deref().unwrap_or_default()
    ))
}

fn current_epoch_findings(findings: &mut JobFindings, epoch: &Epoch, figures: &LearnedFigures) {
    let file = &epoch.topology;
    findings.note(
        "epoch",
        &format!(
            "{}: {} on {}",
            epoch.number,
            counted(file.hosts.len(), "host"),
            counted(file.switches.len(), "switch")
        ),
    );
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = text.trim().to_owned();
    let short = name.split('.').next().unwrap_or(&name);
    match [name.as_str(), short]
        .into_iter()
        .find(|name| file.hosts.contains_key(*name))
    {
        Some(known) => findings.note("this host", &format!("\"{known}\", {}", place(file, known))),
        None => findings.limit(
            "this host",
            &format!(
                "\"{name}\" is not one of these hosts: a job with a rank here runs without heddle"
            ),
        ),
    }
    for host in file.hosts.keys() {
        findings.note("host", &format!("{host:<16} {}", place(file, host)));
    }
    addresses(findings, file);
    if let Some(clusters) = clusters(file) {
        findings.note("clusters", &clusters);
    }
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        table(findings, epoch, mpi, figures);
    }
}

/// True if jobs on all hosts may go over TCP.
fn has_all_addresses(file: &TopologyFile) -> bool {
    file.hosts.values().all(|host| host.address.is_some())
}

/// The hosts without an address, if there are some.
fn addresses(findings: &mut JobFindings, file: &TopologyFile) {
    if has_all_addresses(file) {
        return;
    }
    let hosts = file.hosts.values();
    let without = hosts.filter(|host| host.address.is_none()).count();
    let problem = format!(
        "{without} of {} have none: no call of a job on them goes over TCP; run heddle agent there, \
         or state their addresses in the inventory",
        counted(file.hosts.len(), "host")
    );
    findings.limit("addresses", &problem);
}

/// The clusters that LG works between; `None` if all hosts are in one cluster.
fn clusters(file: &TopologyFile) -> Option<String> {
    let clusters = match ClusterPartition::stated_or_found(&file.tree().ok()?, file) {
        Ok(clusters) => clusters,
        Err(problem) => return Some(format!("{problem}; no job goes by lg")),
    };
    let [_, _, ..] = clusters.list() else {
        return None;
    };
    let named: Vec<String> = clusters
        .list()
        .iter()
        .map(|cluster| format!("{} ({})", cluster.name, cluster.hosts.len()))
        .collect();
    Some(format!(
        "{}: jobs that span them can go by lg",
        named.join(", ")
    ))
}

/// The switch and the figures of a host.
fn place(file: &TopologyFile, host: &str) -> String {
    let Some(host) = file.hosts.get(host) else {
        return String::new();
    };
    let address = host
        .address
        .map_or("no address: MPI carries its blocks".to_owned(), |address| {
            address.to_string()
        });
    let ranks = counted(host.ranks, "rank");
    format!("at {}, {}bit/s, {ranks}, {address}", host.switch, host.rate)
}

/// The decision tables for an MPI library, and the measurements and jobs behind them.
fn table(findings: &mut JobFindings, epoch: &Epoch, mpi: Mpi, figures: &LearnedFigures) {
    let tuning = epoch
        .tuning
        .on_network(epoch.topology.name.as_deref(), true);
    let run = tuning.runs.iter().find(|run| run.mpi == mpi);
    findings.note(
        &mpi.to_string(),
        &run.map_or("not measured here: heddle tune does".to_owned(), |run| {
            measured(epoch, run)
        }),
    );
    if let Some(jobs) = taught(figures, mpi) {
        findings.note("", &jobs);
    }
    let mut table = epoch
        .table_with(figures, forecast::tuning::table)
        .unwrap_or_else(|_| epoch.schedules.table.clone())
        .for_mpi(mpi);
    if !has_all_addresses(&epoch.topology) {
        table = table.without_tcp();
    }
    for collective in [
        Collective::Alltoall,
        Collective::Allgather,
        Collective::Allgatherv,
    ] {
        findings.note("", &collective.to_string());
        findings
            .list
            .push(JobFinding::Table(table.entries(collective).to_vec()));
    }
}

/// The jobs that learned something; the table shows that of jobs on all hosts.
fn taught(figures: &LearnedFigures, mpi: Mpi) -> Option<String> {
    let taught = figures
        .places()
        .filter(|(place, _, _)| place.mpi.measured() == Some(mpi))
        .map(|(_, jobs, _)| jobs);
    let (places, jobs) = taught.fold((0_usize, 0), |(places, jobs), more| {
        (places + 1, jobs + more)
    });
    (places > 0).then(|| {
        format!(
            "learned by {} of jobs at {}: others start from it there",
            counted(jobs, "process set"),
            counted(places, "place")
        )
    })
}

fn measured(epoch: &Epoch, run: &TuningRun) -> String {
    let grounds = epoch
        .topology
        .tree()
        .map(|tree| forecast::tuning::grounds(run, &tree).to_string())
        .unwrap_or_default();
    format!(
        "{grounds}: {}, {}, epoch {}, {}",
        moment(run.at),
        counted(run.place.hosts.len(), "rank"),
        run.epoch,
        run.library
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use directory::epoch::WayEvidence;
    use inventory::{Millis, Topology};
    use policy::decision_table::DataCarrier;

    /// The findings about four slow hosts, of which the last has this setting, too.
    fn found(setting: &str) -> JobFindings {
        let text = format!(
            "switches: [s0, s1]
hosts:
  n0: {{switch: s0, rate: 10M, address: 10.0.0.1}}
  n1: {{switch: s0, rate: 10M, address: 10.0.0.2}}
  n2: {{switch: s1, rate: 10M, address: 10.0.0.3}}
  n3: {{switch: s1, rate: 10M{setting}}}
links: [{{a: s0, b: s1, rate: 10M}}]
"
        );
        let file = TopologyFile::parse("t.yaml", &text).unwrap();
        let epoch = Epoch::plan(
            1,
            Millis(0),
            file,
            Topology::default(),
            WayEvidence::default(),
        )
        .unwrap();
        let mut findings = JobFindings { list: Vec::new() };
        current_epoch_findings(&mut findings, &epoch, &LearnedFigures::default());
        findings
    }

    fn goes_over_tcp(findings: &JobFindings) -> bool {
        findings.list.iter().any(
            |finding| matches!(finding, JobFinding::Table(entries) if entries.iter().any(is_over_tcp)),
        )
    }

    fn is_over_tcp(entry: &DecisionEntry) -> bool {
        entry.way.carrier() == Some(DataCarrier::Tcp)
    }

    #[test]
    fn without_an_address_no_table_has_a_way_over_tcp() {
        let all = found(", address: 10.0.0.4");
        assert!(goes_over_tcp(&all), "{all:?}");
        assert!(!all.limited_subjects().contains(&"addresses"));
        let three = found("");
        assert!(!goes_over_tcp(&three), "{three:?}");
        assert!(three.limited_subjects().contains(&"addresses"));
    }
}
