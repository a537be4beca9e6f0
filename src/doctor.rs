//! `heddle doctor`: a list of what this machine lacks, each with the command that installs it.
use crate::CommandOutcome;
use crate::tune::report::decided;
use doctor::jobs::{self, JobFinding, JobFindings};
use doctor::needs::{self, MachineNeed, NeedSource, packages};
use doctor::probe;
use std::io::Write;
use std::path::PathBuf;

/// List what this machine lacks to run heddle
///
/// Each line names the command that installs the missing part. Exit status 1: something is missing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print only the names of the missing Debian or Ubuntu packages, on one line
    #[arg(long)]
    apt: bool,
    /// Check what MPI jobs need instead: heddle's library and its backends, the MPI libraries, the
    /// switch of each host, and the way of calls at each block size
    #[arg(long, conflicts_with = "apt")]
    mpi: bool,
    /// The shared directory, for --mpi [default: $HEDDLE_DIR]
    #[arg(long, value_name = "DIR", requires = "mpi")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    if args.mpi {
        let findings = jobs::look(args.dir.as_deref());
        crate::output::print(&text(&findings))?;
        return Ok(if findings.good {
            CommandOutcome::Done
        } else {
            CommandOutcome::CheckFailed
        });
    }
    let found = needs::look();
    let mut out = std::io::stdout().lock();
    if args.apt {
        writeln!(out, "{}", packages(&found).join(" "))?;
    } else {
        table(&found, &mut out)?;
    }
    Ok(if found.iter().all(|(_, there)| *there) {
        CommandOutcome::Done
    } else {
        CommandOutcome::CheckFailed
    })
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
            format!("{state:<8} {:<24} {:<20} {command}", need.what, need.part).trim_end()
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

/// A line for each finding, and the decision tables in the form of `heddle tune`.
fn text(findings: &JobFindings) -> String {
    let line = |finding: &JobFinding| match finding {
        JobFinding::Line(what, value) => format!("{}\n", format!("{what:<10} {value}").trim_end()),
        JobFinding::Table(entries) => decided(entries),
    };
    findings.list.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_things_come_with_their_command_and_packages_once() {
        let found: Vec<(&MachineNeed, bool)> = needs::NEEDS
            .iter()
            .map(|n| (n, n.part != needs::LAB))
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
