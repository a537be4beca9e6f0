//! The tree as a topology file, with what speaks for each trunk.
use crate::job_hosts::MapHost;
use crate::kept_rounds;
use crate::measurement::MapMeasurement;
use anyhow::{Context, bail};
use indexmap::IndexMap;
use inventory::BitsPerSec;
use inventory::topology_file::{TopologyCable, TopologyFile, TopologyHost};
use mapping::{FoundTrunk, HostSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Octets on the wire for one of payload: 1538 for 1448 (IEEE 802.3 clause 4, RFC 7323).
const WIRE: f64 = 1538.0 / 1448.0;
/// A tree that leaves more of the flows unexplained is no tree.
const MOST_UNEXPLAINED: f64 = 0.3;
/// The probability from which a trunk is believed.
const BELIEVED: f64 = 0.99;

/// Writes the file and says what was found.
///
/// # Errors
/// If the measurements fit no tree, or the file cannot be written.
pub(crate) fn write(
    hosts: &[MapHost],
    measured: &MapMeasurement,
    output: &Path,
    any_tree: bool,
) -> anyhow::Result<()> {
    let summary = summary(hosts, measured);
    print!("{summary}");
    let unexplained = measured.tree.unexplained;
    if unexplained > MOST_UNEXPLAINED && !any_tree {
        bail!(
            "no tree explains what was measured: {:.0} % of the flows were much slower than \
             the best one lets expect; other traffic, several paths between switches or \
             aggregates that choose a cable by address do that; nothing was written; try again on \
             an idle network, or see the best tree: heddle map --any-tree --from {} -o {}",
            unexplained * 100.0,
            kept_rounds::path_beside(output).display(),
            output.display()
        );
    }
    let text = topology_text(hosts, measured, &summary)?;
    fs::write(output, text).with_context(|| format!("{} cannot be written", output.display()))?;
    println!("written to {}", output.display());
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

fn summary(hosts: &[MapHost], measured: &MapMeasurement) -> String {
    let tree = &measured.tree;
    let mut text = format!(
        "{} hosts, {} switches that matter; {} rounds",
        hosts.len(),
        tree.trunks.len() + 1,
        tree.rounds,
    );
    match measured.cost {
        Some(cost) => {
            let moved = cost.moved.0 as f64 / 1e6;
            let _ = writeln!(
                text,
                ", {moved:.0} MB moved, {:.1} s",
                cost.took.as_secs_f64()
            );
        }
        None => text.push('\n'),
    }
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

/// The rate on the wire, as rates are sold where it is near one.
fn line_rate(payload: f64) -> BitsPerSec {
    let wire = payload * WIRE;
    let sold = [
        1, 10, 20, 100, 200, 1_000, 2_500, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000,
        200_000, 400_000,
    ];
    let near = sold
        .iter()
        .map(|mega| f64::from(*mega) * 1e6)
        .find(|r| (wire / r - 1.0).abs() < 0.08);
    let scale = 10f64.powf(wire.max(1.0).log10().floor() - 1.0);
    BitsPerSec(near.unwrap_or_else(|| (wire / scale).round() * scale) as u64)
}

fn topology_text(
    hosts: &[MapHost],
    measured: &MapMeasurement,
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
