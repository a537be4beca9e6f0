//! The tree as a topology file, with what speaks for each trunk.
use crate::job_hosts::MapHost;
use crate::kept_rounds;
use anyhow::bail;
use flows::{BELIEVED, FlowMeasurement, line_rate};
use indexmap::IndexMap;
use inventory::topology_file::{TopologyCable, TopologyFile, TopologyHost};
use inventory::unreadable::UnreadableFile;
use mapping::{FoundTrunk, HostRates, HostSet, TrunkRates};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The rates of two directions are reported separately from this ratio on.
const DIFFERENT: f64 = 1.3;

/// The outcome of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeVerdict {
    /// Its file is there.
    Written,
    /// No tree explains what was measured.
    Treeless,
}

/// Writes the file and says what was found.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(
    hosts: &[MapHost],
    measured: &FlowMeasurement,
    rounds: &Path,
    output: &Path,
    any_tree: bool,
) -> anyhow::Result<TreeVerdict> {
    let summary = summary(hosts, measured);
    print!("{summary}");
    if let Some(reason) = measured.treeless().filter(|_| !any_tree) {
        eprintln!(
            "heddle map: no tree explains what was measured: {reason}; nothing was written; try \
             again on an idle network, or see the best tree: heddle map --any-tree --from {} -o {}",
            rounds.display(),
            output.display()
        );
        return Ok(TreeVerdict::Treeless);
    }
    let text = topology_text(hosts, measured, &summary)?;
    if let Err(cause) = fs::write(output, text) {
        let unwritten = UnreadableFile::new(output, cause);
        bail!(
            "{unwritten}; the tree was not written; it comes again from what was measured: heddle \
             map --from {} -o FILE",
            rounds.display()
        );
    }
    println!("written to {}", output.display());
    if measured
        .tree
        .trunks
        .iter()
        .any(|t| t.probability < BELIEVED)
    {
        println!(
            "heddle publish plans for an ambiguous trunk as for any other; a new run with a higher \
             --seconds and --budget tells more"
        );
    }
    println!(
        "next: heddle publish --topology {} --dir DIR",
        output.display()
    );
    Ok(TreeVerdict::Written)
}

/// Makes sure, before anything is measured, that the file may be written, and kept rounds, too.
///
/// # Errors
/// See [`check_output`]; or if kept rounds are there already and `force` is not given.
pub(crate) fn check_before_measuring(output: &Path, force: bool) -> anyhow::Result<()> {
    check_output(output, force)?;
    let rounds = kept_rounds::path_beside(output);
    if rounds.exists() && !force {
        bail!(
            "{} is there already, with the rounds of an earlier run; nothing was measured; see \
             what they tell: heddle map --from {} -o {}; or replace them: --force",
            rounds.display(),
            rounds.display(),
            output.display()
        );
    }
    Ok(())
}

/// Makes sure that the file may be written.
///
/// # Errors
/// If it is there already and `force` is not given, or there is no folder for it.
pub(crate) fn check_output(output: &Path, force: bool) -> anyhow::Result<()> {
    let shown = output.display();
    if output.is_dir() {
        bail!("{shown} is a folder; nothing was done; name a file in it: --output {shown}/FILE");
    }
    if output.exists() && !force {
        bail!("{shown} is there already; nothing was done; --force replaces it");
    }
    let folder = output.parent().filter(|f| !f.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|f| !f.is_dir()) {
        let folder = folder.display();
        bail!("{shown}: there is no folder {folder}; nothing was done; make it, or name another");
    }
    Ok(())
}

fn summary(hosts: &[MapHost], measured: &FlowMeasurement) -> String {
    let tree = &measured.tree;
    let mut text = format!(
        "{} hosts, {}; {} rounds",
        hosts.len(),
        match tree.trunks.len() {
            0 => "1 switch that matters".to_owned(),
            trunks => format!("{} switches that matter", trunks + 1),
        },
        tree.rounds,
    );
    if !measured.took.is_zero() {
        let moved = measured.moved.0 as f64 / 1e6;
        let _ = write!(
            text,
            ", {moved:.0} MB moved, {:.1} s",
            measured.took.as_secs_f64()
        );
    }
    text.push('\n');
    for found in &tree.trunks {
        let grade = if found.probability >= BELIEVED {
            "inferred"
        } else {
            "ambiguous"
        };
        let _ = writeln!(
            text,
            "trunk {} beside {}: {grade}, probability {:.3}, filled {} times{}",
            line_rate(found.trunk.rates.least()),
            names(hosts, found.trunk.side),
            found.probability,
            found.filled,
            directions(found.trunk.rates)
        );
    }
    for (host, own) in hosts.iter().zip(&tree.own_rates) {
        if differ(own.sends, own.receives) {
            let _ = writeln!(
                text,
                "{} sends at {} and receives at {}; plans use the lower rate",
                host.name,
                line_rate(own.sends),
                line_rate(own.receives)
            );
        }
    }
    if tree.trunks.is_empty() && !tree.own_rates.is_empty() {
        text.push_str(
            "no cable between these hosts is a bottleneck: all of them together fill none\n",
        );
    }
    let _ = writeln!(
        text,
        "the tree has probability {:.3} beside every tree that one change makes of it",
        measured.believed
    );
    text
}

/// True if the directions of a cable are reported separately. A topology file has one rate for each cable:
/// the lower one bounds what a schedule can send there and back.
fn differ(one: f64, other: f64) -> bool {
    one.max(other) > DIFFERENT * one.min(other)
}

/// The remark about a trunk whose directions have different rates.
fn directions(rates: TrunkRates) -> String {
    if !differ(rates.out, rates.into) {
        return String::new();
    }
    let rate = |rate: f64| match rate.is_finite() {
        true => line_rate(rate).to_string(),
        false => "more than flows fill".to_owned(),
    };
    format!(
        "; from these hosts {}, to them {}; plans use the lower rate",
        rate(rates.out),
        rate(rates.into)
    )
}

fn names(hosts: &[MapHost], side: HostSet) -> String {
    side.iter()
        .map(|h| hosts[h].name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn topology_text(
    hosts: &[MapHost],
    measured: &FlowMeasurement,
    summary: &str,
) -> anyhow::Result<String> {
    let file = topology(hosts, &measured.tree.own_rates, &measured.tree.trunks);
    let mut text = String::from("# Found by heddle map, from flows between the hosts.\n");
    for line in summary.lines() {
        let _ = writeln!(text, "# {line}");
    }
    text.push_str(&serde_yaml::to_string(&file)?);
    Ok(text)
}

/// The tree: switch `s0` is that of the first host.
fn topology(hosts: &[MapHost], own_rates: &[HostRates], trunks: &[FoundTrunk]) -> TopologyFile {
    let sides: Vec<HostSet> = trunks.iter().map(|t| t.trunk.side).collect();
    // A host or a switch is below the smallest side around it.
    let switch_of = |inside: &dyn Fn(HostSet) -> bool| {
        let around = (0..sides.len()).filter(|s| inside(sides[*s]));
        let inner = around.min_by_key(|s| sides[*s].len());
        format!("s{}", inner.map_or(0, |s| s + 1))
    };
    let cable = |(t, found): (usize, &FoundTrunk)| {
        let above = switch_of(&|side| side != sides[t] && side.covers(sides[t]));
        let rate = line_rate(found.trunk.rates.least());
        TopologyCable::new(above, format!("s{}", t + 1), rate)
    };
    TopologyFile {
        switches: (0..=trunks.len()).map(|s| format!("s{s}")).collect(),
        hosts: hosts
            .iter()
            .enumerate()
            .map(|(h, host)| {
                let switch = switch_of(&|side| side.contains(h));
                let rate = line_rate(own_rates.get(h).map_or(0.0, |own| own.least()));
                let entry = TopologyHost {
                    address: Some(host.address.ip()),
                    ..TopologyHost::new(switch, rate)
                };
                (host.name.clone(), entry)
            })
            .collect::<IndexMap<_, _>>(),
        links: trunks.iter().enumerate().map(cable).collect(),
        ..TopologyFile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_measured_for_a_file_that_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |output: &Path, force| {
            let checked = check_before_measuring(output, force);
            checked.err().map(|error| error.to_string())
        };
        for force in [false, true] {
            let text = problem(folder.path(), force).expect("refused");
            assert!(text.contains("is a folder; nothing was done"), "{text}");
            let text = problem(&folder.path().join("no/c.yaml"), force).expect("refused");
            assert!(text.contains("there is no folder"), "{text}");
        }
        let output = folder.path().join("c.yaml");
        assert_eq!(problem(&output, false), None);
        fs::write(kept_rounds::path_beside(&output), "").unwrap();
        let text = problem(&output, false).expect("refused");
        assert!(text.contains("with the rounds of an earlier run"), "{text}");
        assert_eq!(problem(&output, true), None);
    }
}
