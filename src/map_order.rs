//! `heddle map --controller`: orders a measurement, and tells how it goes.
use crate::CommandOutcome;
use crate::connection::ConnectionArgs;
use anyhow::anyhow;
use api::Snapshot;
use api::mapping::MappingProgress;
use std::io::{IsTerminal, stderr};
use std::thread;
use std::time::{Duration, Instant};
use tui::{ConnectionSettings, ControllerAccess};

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// The time between two lines about progress, where they are not written over each other.
const LINES: Duration = Duration::from_secs(10);
/// The time in which the controller takes the order up, or starts anew.
const TAKE_UP: Duration = Duration::from_secs(15);
/// The time in which an epoch follows.
const EPOCH: Duration = Duration::from_secs(10);

/// Orders the controller to measure, and waits for the end.
pub(crate) fn run(connection: &ConnectionArgs) -> anyhow::Result<CommandOutcome> {
    let controller = connection.controller(&ConnectionSettings::default())?;
    let before = number(&snapshot_of(&controller)?);
    let request = controller.order_mapping().map_err(failed)?;
    let done = wait_for_end(&controller, request)?;
    for line in &done.mapping.results {
        say!("{line}");
    }
    if done.mapping.failures > 0 {
        return Ok(CommandOutcome::CheckFailed);
    }
    let measured = Instant::now();
    loop {
        let snapshot = snapshot_of(&controller)?;
        let news = snapshot.epochs.last().filter(|epoch| epoch.number > before);
        if let Some(epoch) = news {
            say!("epoch {}: {}", epoch.number, epoch.changes.join("; "));
            break;
        }
        let is_quiet = snapshot.pending.is_none() && measured.elapsed() > EPOCH / 5;
        if is_quiet || measured.elapsed() > EPOCH {
            say!("the published tree is as before");
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(CommandOutcome::Done)
}

fn failed(problem: String) -> anyhow::Error {
    anyhow!("map: {problem}")
}

fn snapshot_of(controller: &ControllerAccess) -> anyhow::Result<Snapshot> {
    controller.snapshot().map_err(failed)
}

/// Tells the progress of an order until it is carried out.
fn wait_for_end(controller: &ControllerAccess, request: u64) -> anyhow::Result<Snapshot> {
    let url = &controller.url;
    let mut printed = ToldProgress::default();
    let (mut last_answer, mut was_taken_up) = (Instant::now(), false);
    loop {
        let snapshot = match snapshot_of(controller) {
            Ok(snapshot) => snapshot,
            // It may start anew.
            Err(_) if last_answer.elapsed() < TAKE_UP => {
                thread::sleep(LOOK);
                continue;
            }
            Err(error) => return Err(error),
        };
        let mapping = &snapshot.mapping;
        let is_taken_up = mapping.request >= request;
        if is_taken_up && mapping.is_idle() {
            printed.end();
            return Ok(snapshot);
        }
        if was_taken_up && !is_taken_up {
            return Err(anyhow!(
                "map: the controller at {url} started anew, and its measurement ended; order it \
                 again"
            ));
        }
        if !is_taken_up && last_answer.elapsed() > TAKE_UP {
            return Err(anyhow!(
                "map: {url} did not take the order up; look at its log"
            ));
        }
        if is_taken_up {
            (last_answer, was_taken_up) = (Instant::now(), true);
        }
        mapping
            .running
            .iter()
            .for_each(|running| printed.tell(running));
        thread::sleep(LOOK);
    }
}

fn number(snapshot: &Snapshot) -> u64 {
    snapshot.epochs.last().map_or(0, |epoch| epoch.number)
}

/// The progress as printed so far, on standard error.
#[derive(Default)]
struct ToldProgress {
    last: Option<(Instant, MappingProgress)>,
}

impl ToldProgress {
    fn tell(&mut self, now: &MappingProgress) {
        let over = stderr().is_terminal();
        let is_due = self.last.as_ref().is_none_or(|(at, last)| {
            last.place != now.place || (last != now && (over || at.elapsed() >= LINES))
        });
        if !is_due {
            return;
        }
        let state = match now.rounds {
            0 => "waits for the agents".to_owned(),
            rounds => format!(
                "{rounds} rounds, {:.1} of at most {:.0} MB",
                now.moved.0 as f64 / 1e6,
                now.budget.0 as f64 / 1e6
            ),
        };
        let line = format!("{}: {} hosts, {state}", now.place, now.hosts);
        if over {
            crate::output::remark_in_place(&line);
        } else {
            tell!("{line}");
        }
        self.last = Some((Instant::now(), now.clone()));
    }

    /// Goes to a line of its own.
    fn end(&self) {
        if self.last.is_some() && stderr().is_terminal() {
            crate::output::remark_in_place("");
        }
    }
}
