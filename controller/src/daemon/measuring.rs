//! A measurement of flows between hosts, on a thread of its own.
use super::ControllerDaemon;
use super::counting::{self, CableCounters};
use super::finished_work::outcome;
use super::trouble::send_trouble;
use crate::clock::SteadyClock;
use crate::engine::{ControllerEvent, FlowQuestion, MappingOrder, MappingOutcome, TroubleArea};
use crate::flow_exchange::{ExchangeError, FlowExchange, GATHER, OpenExchange};
use api::mapping::MappingStatus;
use directory::publishing::{EpochStore, PublishError};
use flows::{
    BELIEVED, FlowCoordinator, FlowMeasurement, MeasurementLimits, PeerChannel, line_rate,
    measure_tree,
};
use inventory::mapped_place::{MappedPlace, MappedPlaces, PlaceTrunk};
use inventory::{BitsPerSec, Bytes, Millis};
use mapping::FoundTrunk;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// How far the measurement under way is.
#[derive(Clone, Default)]
pub(super) struct MeasuringProgress(Arc<Mutex<ProgressMade>>);

#[derive(Default)]
struct ProgressMade {
    rounds: u32,
    moved: Bytes,
    /// It shall end.
    ends: bool,
}

impl MeasuringProgress {
    fn lock(&self) -> MutexGuard<'_, ProgressMade> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was done; gives whether it goes on.
    fn note(&self, rounds: u32, moved: Bytes) -> ControlFlow<()> {
        let mut made = self.lock();
        (made.rounds, made.moved) = (rounds, moved);
        match made.ends {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Ends the measurement under way after its present round.
    pub(super) fn end(&self) {
        self.lock().ends = true;
    }

    /// Adds the progress to what viewers see.
    pub(super) fn show(&self, status: &mut MappingStatus) {
        if let Some(running) = &mut status.running {
            let made = self.lock();
            (running.rounds, running.moved) = (made.rounds, made.moved);
        }
    }
}

/// Writes what flows found: one file after the other, and the newest last.
#[derive(Default)]
pub(super) struct MappedWriter {
    newest: Mutex<Option<Arc<MappedPlaces>>>,
    /// Held while the shared directory, which may hang, takes the file.
    writing: Mutex<()>,
}

impl MappedWriter {
    fn put(&self, mapped: Arc<MappedPlaces>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(mapped);
    }

    /// Writes the newest; `None` if another thread did.
    fn write(&self, store: &EpochStore) -> Result<Option<()>, PublishError> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mapped) = newest.take() else {
            return Ok(None);
        };
        drop(newest);
        store.write_mapped(&mapped).map(Some)
    }
}

impl ControllerDaemon {
    /// Measures flows between hosts.
    pub(super) fn measure(&mut self, order: MappingOrder) {
        let (ticket, events) = (order.ticket, self.events.clone());
        let means = MeasuringMeans {
            exchange: self.flows.clone(),
            counters: self.counters.clone(),
            progress: self.measuring.clone(),
            clock: self.clock.clone(),
        };
        let started = start(order, means, events);
        if let Err(e) = started {
            let outcome = Box::new(MappingOutcome::failed(format!("no thread for it: {e}")));
            self.step(ControllerEvent::PlaceMapped { ticket, outcome });
        }
    }

    /// Writes what flows found, on a thread of its own.
    pub(super) fn keep_mapped(&self, mapped: Arc<MappedPlaces>) {
        let (store, events) = (Arc::clone(&self.store), self.events.clone());
        let writer = Arc::clone(&self.mapped);
        writer.put(mapped);
        tokio::spawn(async move {
            let writing = spawn_blocking(move || writer.write(&store));
            let failure = match outcome(writing.await) {
                Ok(None) => return,
                Ok(Some(())) => None,
                Err(e) => Some(e),
            };
            let problem =
                failure.map(|e| format!("{e}; a restart forgets what was measured since"));
            send_trouble(&events, TroubleArea::Mapped, problem).await;
        });
    }
}

/// The means of a measurement.
struct MeasuringMeans {
    exchange: FlowExchange,
    counters: CableCounters,
    progress: MeasuringProgress,
    clock: SteadyClock,
}

impl MeasuringMeans {
    fn outcome(&self, order: &MappingOrder) -> Result<MappingOutcome, String> {
        if let Some(question) = &order.ways {
            return count_ways(order, question, self);
        }
        let measured = measure(order, &self.exchange, &self.progress)?;
        Ok(match measured.treeless() {
            None => MappingOutcome {
                moved: measured.moved,
                place: Some(place(order, &measured, self.clock.now())),
                rates: rates(order, &measured),
                ways: None,
                problem: None,
            },
            Some(reason) => MappingOutcome {
                moved: measured.moved,
                ..MappingOutcome::failed(format!(
                    "no tree explains the flows between its hosts: {reason}; order it again while no job \
                     runs"
                ))
            },
        })
    }
}

/// Starts a measurement. Its end becomes an event.
///
/// # Errors
/// If the system gives no thread.
fn start(
    order: MappingOrder,
    means: MeasuringMeans,
    events: mpsc::Sender<ControllerEvent>,
) -> io::Result<()> {
    *means.progress.lock() = ProgressMade::default();
    thread::Builder::new()
        .name("measuring".into())
        .spawn(move || {
            // After a fault here, too, the engine waits for an answer.
            let result = catch_unwind(AssertUnwindSafe(|| means.outcome(&order)))
                .unwrap_or_else(|_| Err("heddle has a fault here, please report it".into()));
            let moved = means.progress.lock().moved;
            let outcome = result.unwrap_or_else(|problem| MappingOutcome {
                moved,
                ..MappingOutcome::failed(problem)
            });
            let outcome = Box::new(outcome);
            let ticket = order.ticket;
            // The send fails only while the daemon stops.
            let _ = events.blocking_send(ControllerEvent::PlaceMapped { ticket, outcome });
        })
        .map(drop)
}

/// Has the hosts of an order take part, and finds the ways between them.
fn count_ways(
    order: &MappingOrder,
    question: &FlowQuestion,
    means: &MeasuringMeans,
) -> Result<MappingOutcome, String> {
    let (_open, mut peers, time) = gathered(order, &means.exchange).map_err(|e| e.to_string())?;
    Ok(counting::count(
        order,
        question,
        &mut peers,
        &means.counters,
        time,
        |rounds, moved| means.progress.note(rounds, Bytes(moved)),
    ))
}

/// The exchange with a measurement's hosts, which ends when it is dropped, and the time that is left.
type GatheredPeers = (OpenExchange, Vec<Box<dyn PeerChannel + Send>>, Duration);

fn gathered(order: &MappingOrder, exchange: &FlowExchange) -> Result<GatheredPeers, ExchangeError> {
    let began = Instant::now();
    let open = exchange.begin(&members(order), order.budget.0, order.longest + GATHER)?;
    let peers = open.gather(GATHER)?;
    Ok((open, peers, order.longest.saturating_sub(began.elapsed())))
}

/// The hosts in their order: those elsewhere first, since no side of a trunk holds the first host.
fn members(order: &MappingOrder) -> Vec<(String, IpAddr)> {
    order.beside.iter().chain(&order.inside).cloned().collect()
}

fn measure(
    order: &MappingOrder,
    exchange: &FlowExchange,
    progress: &MeasuringProgress,
) -> Result<FlowMeasurement, String> {
    let (_open, peers, time) = gathered(order, exchange).map_err(|e| e.to_string())?;
    let mut coordinator = FlowCoordinator::over(peers);
    let limits = MeasurementLimits {
        budget: order.budget,
        time,
        share: order.share,
    };
    measure_tree(&mut coordinator, limits, |rounds, moved| {
        progress.note(rounds as u32, moved)
    })
    .map_err(|stopped| {
        progress.lock().moved = stopped.moved;
        stopped.error.to_string()
    })
}

/// The measured place, with the names of hosts.
fn place(order: &MappingOrder, measured: &FlowMeasurement, at: Millis) -> MappedPlace {
    let members = members(order);
    let believed = measured
        .tree
        .trunks
        .iter()
        .filter(|t| t.probability >= BELIEVED);
    let mut hosts: Vec<String> = names(&order.inside);
    hosts.sort();
    MappedPlace {
        bridge: order.place.clone(),
        hosts,
        beside: names(&order.beside),
        at,
        rounds: measured.tree.rounds as u32,
        moved: measured.moved,
        trunks: believed.map(|found| place_trunk(found, &members)).collect(),
        rates: BTreeMap::new(),
        link_losses: BTreeMap::new(),
        switches: BTreeMap::new(),
    }
}

fn place_trunk(found: &FoundTrunk, members: &[(String, IpAddr)]) -> PlaceTrunk {
    let on_side = found.trunk.side.iter().filter_map(|host| members.get(host));
    let mut side: Vec<String> = on_side.map(|(name, _)| name.clone()).collect();
    side.sort();
    PlaceTrunk {
        side,
        rate: line_rate(found.trunk.rates.least()),
        probability: (found.probability * 1000.0).floor() as u16,
        filled: found.filled as u32,
    }
}

fn names(hosts: &[(String, IpAddr)]) -> Vec<String> {
    hosts.iter().map(|(name, _)| name.clone()).collect()
}

/// The rates of the cables of the hosts that the measurement is about.
fn rates(order: &MappingOrder, measured: &FlowMeasurement) -> BTreeMap<String, BitsPerSec> {
    let names = order.beside.iter().chain(&order.inside);
    let all = names.map(|(name, _)| name.clone());
    let own = measured.tree.own_rates.iter();
    let rates = all.zip(own.map(|own| line_rate(own.least())));
    rates.skip(order.beside.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flows::{FlowReply, FlowStatement, FlowStep, PeerAnswer, PeerOrder, RoundOutcome};
    use std::time::Duration;

    /// Obeys its orders, but cannot send if `fails`.
    async fn take_part(exchange: FlowExchange, host: &str, fails: bool) {
        let session = exchange.invitation(host).expect("invited").session;
        let (mut order, mut step) = (0, FlowStep::Joined { port: 9 });
        loop {
            let statement = FlowStatement {
                session,
                order,
                step,
            };
            step = FlowStep::Waiting;
            match exchange.step(host, &statement).await {
                FlowReply::End => return,
                FlowReply::Wait => {}
                FlowReply::Order {
                    number,
                    order: wanted,
                } => {
                    order = number;
                    step = FlowStep::Answered(match wanted {
                        PeerOrder::Prepare(_) | PeerOrder::Segments(_) => PeerAnswer::Ready,
                        PeerOrder::Go if fails => PeerAnswer::Failed("no socket".into()),
                        PeerOrder::Go => PeerAnswer::Done(RoundOutcome {
                            rate: None,
                            sent: 1000,
                            disturbed: false,
                        }),
                    });
                }
            }
        }
    }

    #[tokio::test]
    async fn the_cost_of_a_measurement_that_fails_is_known() {
        let exchange = FlowExchange::default();
        let order = MappingOrder {
            ticket: 1,
            place: "s0-swp1".into(),
            inside: (0..3).map(host).collect(),
            beside: Vec::new(),
            budget: Bytes(1 << 30),
            longest: Duration::from_secs(60),
            share: 1.0,
            ways: None,
        };
        let progress = MeasuringProgress::default();
        let (shared, noted) = (exchange.clone(), progress.clone());
        let run = spawn_blocking(move || measure(&order, &shared, &noted));
        while exchange.invitation("n0").is_none() {
            tokio::task::yield_now().await;
        }
        let hosts = ["n0", "n1", "n2"];
        let parts = hosts.map(|host| take_part(exchange.clone(), host, host == "n1"));
        let [n0, n1, n2] = parts;
        let (problem, ..) = tokio::join!(run, n0, n1, n2);
        let problem = problem.unwrap().expect_err("n1 fails");
        assert!(problem.contains("no socket"), "{problem}");
        // n0 sent to n1 in four rounds.
        assert_eq!(progress.lock().moved, Bytes(4000));
    }

    fn host(n: u8) -> (String, IpAddr) {
        (format!("n{n}"), IpAddr::from([10, 0, 0, n]))
    }
}
