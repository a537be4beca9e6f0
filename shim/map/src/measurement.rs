//! The measurement of a job's hosts, with what is kept of one that stops early.
use crate::job_hosts::MapHost;
use crate::kept_rounds::{self, RoundsFile};
use anyhow::Context;
use flows::{
    FlowCoordinator, FlowMeasurement, MeasurementError, MeasurementLimits, SessionKey,
    StoppedMeasurement, measure_tree,
};
use inventory::Bytes;
use mapping::{MapSession, MeasuredRound};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Measures until the tree is known or the limits are spent.
///
/// # Errors
/// If a host does not take part, or the limits do not suffice for the least rounds.
pub(crate) fn run(
    hosts: &[MapHost],
    key: &SessionKey,
    limits: MeasurementLimits,
    output: &Path,
) -> anyhow::Result<FlowMeasurement> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, ended.clone()).context("no handler of signals")?;
    }
    let peers: Vec<_> = hosts.iter().map(|h| (h.name.clone(), h.address)).collect();
    let mut coordinator = FlowCoordinator::connect(&peers, key)?;
    let kept_at = kept_rounds::path_beside(output);
    let mut kept = RoundsFile::create(kept_at.clone(), hosts)?;
    coordinator.each_round(move |round| kept.add(round));
    let goes_on = |_, _| match ended.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let stopped = match measure_tree(&mut coordinator, limits, goes_on) {
        Ok(measured) => return Ok(measured),
        Err(stopped) => *stopped,
    };
    let StoppedMeasurement {
        measured, error, ..
    } = stopped;
    let error = with_remedy(error);
    Err(match measured.map(|m| m.tree) {
        None => {
            // It holds no round that tells of a tree.
            let _ = fs::remove_file(&kept_at);
            error.context("nothing was measured")
        }
        Some(tree) if tree.own_rates.is_empty() => anyhow::anyhow!(
            "{error:#}; the {} rounds so far are too few to tell a tree",
            tree.rounds
        ),
        Some(tree) => anyhow::anyhow!(
            "{error:#}; the {} rounds so far are kept; see the tree that they tell: heddle map \
             --from {} -o {}",
            tree.rounds,
            kept_at.display(),
            output.display()
        ),
    })
}

/// The result of rounds that were measured before, without their cost.
pub(crate) fn again(hosts: &[MapHost], rounds: Vec<MeasuredRound>) -> FlowMeasurement {
    let mut session = MapSession::new(hosts.len(), rounds.len());
    session.replay(rounds);
    FlowMeasurement {
        tree: session.tree(),
        believed: session.believed(),
        moved: Bytes(0),
        took: Duration::ZERO,
    }
}

/// The error, with the option that helps.
fn with_remedy(error: MeasurementError) -> anyhow::Error {
    let remedy = match &error {
        MeasurementError::BudgetSmall { needed, .. } => format!(
            "; give --budget {:.0}M or more",
            (needed.0 as f64 / f64::from(1 << 20)).ceil()
        ),
        MeasurementError::TimeShort(_) => "; give --seconds a higher number".to_owned(),
        MeasurementError::Ended => return anyhow::anyhow!("the job was ended"),
        MeasurementError::Flow(_) => return error.into(),
    };
    anyhow::anyhow!("{error}{remedy}")
}
