//! `heddle doctor`: a list of what this machine lacks, each with the command that installs it.
use crate::CommandOutcome;
use crate::flags::one_of;
use crate::tune::report::decided;
use clap::builder::{PossibleValue, TypedValueParser};
use doctor::jobs::{self, JobFinding, JobFindings};
use doctor::needs::{self, MachineNeed, NeedSource, NodePurpose, packages};
use doctor::{mpi_library, probe};
use std::io::Write;
use std::path::PathBuf;

/// List what this machine lacks for its purpose
///
/// A machine on which MPI jobs run needs little; one that builds heddle or emulates clusters needs
/// more. Each line names the command that installs the missing part. Exit status 1: something is
/// missing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What this machine is for
    #[arg(
        long = "for",
        value_name = "PURPOSE,...",
        value_delimiter = ',',
        value_parser = purpose(),
        default_value = "jobs"
    )]
    purposes: Vec<NodePurpose>,
    /// Print only the names of the missing Debian or Ubuntu packages, on one line
    #[arg(long)]
    apt: bool,
    /// Check what MPI jobs find here instead: heddle's library and its backends, the MPI libraries,
    /// the switch of each host, and the way of calls at each block size
    #[arg(long, conflicts_with_all = ["apt", "purposes"])]
    mpi: bool,
    /// Say what jobs with this MPI library would do instead, and how to load heddle into them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["apt", "purposes", "mpi"])]
    mpi_library: Option<PathBuf>,
    /// The same of the MPI library that a program is linked with
    #[arg(long, value_name = "FILE", conflicts_with_all = ["apt", "purposes", "mpi", "mpi_library"])]
    program: Option<PathBuf>,
    /// The shared directory of jobs [default: $HEDDLE_DIR]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apt", "purposes"])]
    dir: Option<PathBuf>,
}

/// Reads the name of a purpose.
fn purpose() -> impl TypedValueParser<Value = NodePurpose> {
    one_of(NodePurpose::ALL, |p| {
        PossibleValue::new(p.name()).help(p.title())
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let named = std::env::var_os("HEDDLE_DIR").map(PathBuf::from);
    let given = args.dir.clone().or(named);
    let dir = given.unwrap_or_else(|| PathBuf::from("/srv/heddle"));
    let findings = match (&args.mpi_library, &args.program) {
        (Some(library), _) => Some(mpi_library::look_at_library(library, &dir)),
        (_, Some(program)) => Some(mpi_library::look_at_program(program, &dir)),
        _ => None,
    };
    if let Some(findings) = findings {
        crate::output::print(&text(&findings, "jobs with this MPI library"))?;
        return Ok(CommandOutcome::check(
            findings.missing_subjects().is_empty(),
        ));
    }
    if args.mpi {
        let findings = jobs::look(args.dir.as_deref());
        crate::output::print(&text(&findings, "jobs that start here"))?;
        return Ok(CommandOutcome::check(
            findings.missing_subjects().is_empty(),
        ));
    }
    let found = needs::look(&args.purposes);
    let mut out = Vec::new();
    if args.apt {
        writeln!(out, "{}", packages(&found).join(" "))?;
    } else {
        table(&found, &mut out)?;
        others(&args.purposes, &mut out)?;
    }
    crate::output::print(&String::from_utf8_lossy(&out))?;
    Ok(CommandOutcome::check(found.iter().all(|(_, there)| *there)))
}

/// The purposes that nobody asked about.
fn others(asked: &[NodePurpose], out: &mut impl Write) -> std::io::Result<()> {
    let others = NodePurpose::ALL.into_iter().filter(|p| !asked.contains(p));
    let names: Vec<&str> = others.map(NodePurpose::name).collect();
    match names.is_empty() {
        true => Ok(()),
        false => writeln!(
            out,
            "\nchecked for {}; other purposes: heddle doctor --for {}",
            asked.iter().map(|p| p.name()).collect::<Vec<_>>().join(","),
            names.join(",")
        ),
    }
}

fn table(found: &[(&MachineNeed, bool)], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{:<8} {:<24} {:<20} COMMAND", "STATE", "WHAT", "FOR")?;
    for (need, there) in found {
        let (state, command) = match (there, &need.gives) {
            (true, _) => ("ok", String::new()),
            (false, NeedSource::Package(name)) => ("MISSING", format!("apt-get install {name}")),
            (false, NeedSource::Run(line)) => ("MISSING", (*line).to_owned()),
        };
        writeln!(
            out,
            "{}",
            format!(
                "{state:<8} {:<24} {:<20} {command}",
                need.what,
                need.purpose.name()
            )
            .trim_end()
        )?;
    }
    let missing = packages(found);
    if !missing.is_empty() {
        writeln!(
            out,
            "\nall missing packages at once: apt-get install {}",
            missing.join(" ")
        )?;
    }
    if let Some(log) = probe::bursts() {
        writeln!(
            out,
            "\ntip      net.ipv4.tcp_tso_rtt_log is {log}: on links with short round trips TCP \
             sends in bursts, which overrun"
        )?;
        writeln!(
            out,
            "         shallow switch buffers; on the hosts, 0 spaces packets evenly: sysctl -w \
             net.ipv4.tcp_tso_rtt_log=0"
        )?;
    }
    Ok(())
}

/// A line for each finding, the decision tables in the form of `heddle tune`, and the verdict.
fn text(findings: &JobFindings, jobs: &str) -> String {
    let lines: String = findings
        .list
        .iter()
        .map(|finding| match finding {
            JobFinding::Line(what, value) | JobFinding::Limit(what, value) => {
                format!("{}\n", format!("{what:<10} {value}").trim_end())
            }
            JobFinding::Missing(what, problem) => format!("{what:<10} MISSING: {problem}\n"),
            JobFinding::Table(entries) => decided(entries),
        })
        .collect();
    let verdict = match (
        findings.missing_subjects().as_slice(),
        findings.limited_subjects().as_slice(),
    ) {
        ([], []) => "find what they need".to_owned(),
        ([], limits) => format!("find what they need, with limits: {}", limits.join(", ")),
        (missing, _) => format!("lack: {}", missing.join(", ")),
    };
    format!("{lines}\n{jobs} {verdict}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_for_jobs_needs_neither_compilers_nor_test_programs() {
        let of_jobs = needs::NEEDS
            .iter()
            .filter(|n| n.purpose == NodePurpose::Jobs);
        assert_eq!(
            of_jobs.map(|n| n.what).collect::<Vec<_>>(),
            ["libheddle.so"]
        );
    }

    #[test]
    fn a_verdict_names_what_jobs_lack() {
        let mut findings = JobFindings {
            list: vec![JobFinding::Line("MPI".into(), "4".into())],
        };
        assert!(text(&findings, "jobs that start here").ends_with("find what they need\n"));
        let limit = JobFinding::Limit("addresses".into(), "6 of 6 hosts have none".into());
        findings.list.push(limit);
        assert!(text(&findings, "jobs that start here").ends_with(
            "addresses  6 of 6 hosts have none\n\njobs that start here find what they need, with \
             limits: addresses\n"
        ));
        findings.list.extend([missing("library"), missing("epoch")]);
        let output = text(&findings, "jobs that start here");
        assert!(
            output.contains("library    MISSING: gone: no jobs\n"),
            "{output}"
        );
        assert!(
            output.ends_with("\njobs that start here lack: library, epoch\n"),
            "{output}"
        );
    }

    fn missing(what: &str) -> JobFinding {
        JobFinding::Missing(what.into(), "gone: no jobs".into())
    }

    #[test]
    fn missing_things_come_with_their_command_and_packages_once() {
        let found: Vec<(&MachineNeed, bool)> = needs::NEEDS
            .iter()
            .map(|n| (n, n.purpose != NodePurpose::Lab))
            .collect();
        let mut out = Vec::new();
        table(&found, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("MISSING  snmpd")
                && text.contains("apt-get install snmpd")
                && text.contains("ok       tmux"),
            "{text}"
        );
        assert!(
            text.contains("at once: apt-get install iproute2 util-linux snmpd lldpd\n"),
            "{text}"
        );
    }
}
