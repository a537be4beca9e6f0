//! The tree as a topology file, with what speaks for each trunk.
use crate::job_hosts::MapHost;
use crate::kept_rounds;
use anyhow::{Context, bail};
use flows::{BELIEVED, FlowMeasurement, line_rate};
use indexmap::IndexMap;
use inventory::topology_file::{TopologyCable, TopologyFile, TopologyHost};
use mapping::{FoundTrunk, HostSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Writes the file and says what was found.
///
/// # Errors
/// If the measurements fit no tree, or the file cannot be written.
pub(crate) fn write(
    hosts: &[MapHost],
    measured: &FlowMeasurement,
    output: &Path,
    any_tree: bool,
) -> anyhow::Result<()> {
    let summary = summary(hosts, measured);
    print!("{summary}");
    if !measured.fits_a_tree() && !any_tree {
        bail!(
            "no tree explains what was measured: {:.0} % of the flows were much slower than \
             the best one lets expect; other traffic, several paths between switches or \
             aggregates that choose a cable by address do that; nothing was written; try again on \
             an idle network, or see the best tree: heddle map --any-tree --from {} -o {}",
            measured.tree.unexplained * 100.0,
            kept_rounds::path_beside(output).display(),
            output.display()
        );
    }
    let text = topology_text(hosts, measured, &summary)?;
    fs::write(output, text).with_context(|| format!("{} cannot be written", output.display()))?;
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
    Ok(())
}

/// Makes sure that the file may be written, before anything is measured.
///
/// # Errors
/// If it is there already and `force` is not given.
pub(crate) fn check_output(output: &Path, force: bool) -> anyhow::Result<()> {
    if output.exists() && !force {
        bail!(
            "{} is there already; nothing was measured; --force replaces it",
            output.display()
        );
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
            "trunk {} beside {}: {grade}, probability {:.3}, filled {} times",
            line_rate(found.trunk.rate),
            names(hosts, found.trunk.side),
            found.probability,
            found.filled
        );
    }
    if tree.trunks.is_empty() && !tree.own_rates.is_empty() {
        text.push_str(
            "no cable between these hosts is a bottleneck: all of them together fill none\n",
        );
    }
    let _ = writeln!(
        text,
        "the tree has probability {:.3} beside those one change away",
        measured.believed
    );
    text
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
fn topology(hosts: &[MapHost], own_rates: &[f64], trunks: &[FoundTrunk]) -> TopologyFile {
    let sides: Vec<HostSet> = trunks.iter().map(|t| t.trunk.side).collect();
    // A host or a switch is below the smallest side around it.
    let switch_of = |inside: &dyn Fn(HostSet) -> bool| {
        let around = (0..sides.len()).filter(|s| inside(sides[*s]));
        let inner = around.min_by_key(|s| sides[*s].len());
        format!("s{}", inner.map_or(0, |s| s + 1))
    };
    let host = |(h, host): (usize, &MapHost)| {
        let entry = TopologyHost {
            switch: switch_of(&|side| side.contains(h)),
            rate: line_rate(own_rates.get(h).copied().unwrap_or_default()),
            delay: Duration::ZERO,
            ranks: 1,
            address: Some(host.address.ip()),
        };
        (host.name.clone(), entry)
    };
    let cable = |(t, found): (usize, &FoundTrunk)| TopologyCable {
        a: switch_of(&|side| side != sides[t] && side.covers(sides[t])),
        b: format!("s{}", t + 1),
        rate: line_rate(found.trunk.rate),
        delay: Duration::ZERO,
        state: None,
    };
    TopologyFile {
        switches: (0..=trunks.len()).map(|s| format!("s{s}")).collect(),
        routers: Vec::new(),
        hosts: hosts
            .iter()
            .enumerate()
            .map(host)
            .collect::<IndexMap<_, _>>(),
        links: trunks.iter().enumerate().map(cable).collect(),
        clusters: IndexMap::new(),
    }
}
