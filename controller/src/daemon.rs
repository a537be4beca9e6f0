//! Carries out the engine's decisions: asks switches, plans, publishes, records events, and serves
//! the API.
//!
//! One loop owns the engine, the journal and the store. Slow work runs in other tasks, and its
//! outcome comes back as an event.
mod check;
mod config;
mod counting;
mod finished_work;
mod hooks;
mod job_records;
mod lessons;
mod measurements;
mod measuring;
mod pace;
mod poller;
mod process;
mod rollbacks;
mod rounds;
mod stall;
mod traps;
mod trouble;
mod wanted_reads;

use crate::clock::SteadyClock;
use crate::engine::{
    ControllerEffect, ControllerEngine, ControllerEvent, ControllerOptions, DirectionsByHost,
    EpochOrder, StalledWork, StoredEpoch, TroubleArea,
};
use crate::flow_exchange::FlowExchange;
use crate::history;
use crate::http::{
    self, ApiState, ApiTokens, BearerToken, MappingOrders, ReportIntake, ServedSnapshot,
    SnapshotSender, TlsCertificate, snapshot_feed,
};
use crate::journal::{Journal, MAX_BYTES};
use crate::metrics::ControllerFigures;
use crate::publish::{KEEP, learned_so_far, measurements_for_next};
use agent::service_manager::{self, ServiceWatchdog};
use api::EventLevel;
pub use check::{CheckedPart, check};
use config::load;
pub use config::{ControllerConfig, ControllerError, InventoryError};
use counting::CableCounters;
use directory::epoch::{VerifiedEpoch, WayEvidence};
use directory::publishing::{EpochStore, PublishError};
use directory::reading;
use finished_work::{FinishedWork, outcome};
use hooks::DaemonHooks;
pub use hooks::HookPrograms;
use inventory::inventory_file::Inventory;
use measurements::MeasurementWatcher;
use measuring::{MappedWriter, MeasuringProgress};
use pace::TickPace;
use policy::learned::LearnedFigures;
use poller::SwitchPollers;
use process::{DaemonSignals, all_files, log_api};
use stall::StallNotice;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::Instant;
use traps::TrapListener;

/// The pause after a snapshot, in multiples of its duration: viewers of a large network get fewer.
const SHOW_PAUSE: u32 = 40;
/// The longest time between two snapshots for viewers.
const SHOW: Duration = Duration::from_secs(1);
/// The end of the message that the shared directory does not answer.
const GOES_ON: &str =
    "the network is watched as before, and the newest state is published afterwards";
/// The length of the queue of events. Pollers wait while it is full.
const QUEUE: usize = 1024;

fn certificate(config: &ControllerConfig) -> Result<Option<TlsCertificate>, ControllerError> {
    let tls = config
        .tls
        .as_ref()
        .map(|(cert, key)| TlsCertificate::read(cert, key))
        .transpose();
    tls.map_err(ControllerError::Certificate)
}

/// Runs the daemon until SIGTERM or SIGINT.
///
/// # Errors
/// [`ControllerError`] if it cannot start. Later failures become alarms.
pub async fn run(config: ControllerConfig) -> Result<(), ControllerError> {
    let mut signals = DaemonSignals::catch()?;
    let files = all_files()?;
    let (inventory, pollers) = load(&config)?;
    let keys = tokens(&config)?;
    let tls = certificate(&config)?;
    let listener = http::bind(config.listen, &keys).await?;
    service_manager::tell_status(&format!("opens {}", config.dir.display()));
    // Storage that does not answer holds this up until a signal ends it.
    let Some((store, started)) = open(&config, &mut signals).await? else {
        return Ok(());
    };
    let engine = engine_for(&config, &inventory);
    let journal = begin_journal(config.journal.as_deref(), &engine)?;
    let (events, queue) = mpsc::channel(QUEUE);
    let (done, finished) = mpsc::unbounded_channel();
    let first = ServedSnapshot::new(engine.snapshot(SteadyClock::default().now()));
    let (shown, look) = snapshot_feed(first);
    let (assignment, directions) = watch::channel(Arc::default());
    let clock = SteadyClock::default();
    let intake = ReportIntake::new(clock.clone(), events.clone(), directions);
    let orders = MappingOrders::new(clock.clone(), events.clone());
    let mut daemon = ControllerDaemon {
        clock,
        engine,
        journal,
        store: Arc::new(store),
        plan: None,
        publishing: None,
        pollers: SwitchPollers::default(),
        traps: TrapListener::default(),
        events,
        done,
        shown,
        assignment,
        flows: intake.flows().clone(),
        measuring: MeasuringProgress::default(),
        counters: CableCounters::default(),
        mapped: Arc::default(),
        tls: tls.clone(),
        show: false,
        hooks: None,
        status_is_new: false,
        config,
    };
    daemon.watch_network(&inventory, pollers);
    started.into_iter().for_each(|event| daemon.step(event));
    daemon.start_hooks();
    log_api(&keys, tls.is_some(), listener.local_addr()?);
    let mut serving = JoinSet::new();
    serving.spawn(intake.clone().watch_silence());
    let state = ApiState {
        keys,
        shown: look,
        intake,
        orders,
    };
    serving.spawn(http::serve(listener, tls, state, files));
    daemon.run(signals, queue, finished).await
}

fn tokens(config: &ControllerConfig) -> Result<ApiTokens, ControllerError> {
    let [viewers, agents] = [&config.token_file, &config.agent_token_file]
        .map(|file| file.as_deref().map(BearerToken::read).transpose());
    Ok(ApiTokens::new(viewers?, agents?)?)
}

fn engine_for(config: &ControllerConfig, inventory: &Inventory) -> ControllerEngine {
    let options = ControllerOptions {
        directory: config.dir.display().to_string(),
        ..ControllerOptions::default()
    };
    ControllerEngine::new(inventory.clone(), options)
}

fn begin_journal(
    path: Option<&Path>,
    engine: &ControllerEngine,
) -> Result<Option<Journal>, ControllerError> {
    path.map(|path| {
        Journal::begin(path, MAX_BYTES, &engine.header()).map_err(|cause| {
            ControllerError::Journal {
                path: path.to_owned(),
                cause,
            }
        })
    })
    .transpose()
}

/// Opens the shared directory and reads its epochs; `None` if a signal ends the wait for it.
async fn open(
    config: &ControllerConfig,
    signals: &mut DaemonSignals,
) -> Result<Option<(EpochStore, Vec<ControllerEvent>)>, ControllerError> {
    let dir = config.dir.clone();
    let opening = spawn_blocking(move || {
        let store = EpochStore::open(&dir, KEEP)?;
        let started = started(&dir, &store)?;
        Ok((store, started))
    });
    let stall = StallNotice::new(
        StalledWork::Start,
        config.dir.display(),
        "the controller starts once it answers",
    );
    tokio::select! {
        opened = stall.wait_at_start(opening) => {
            opened.unwrap_or_else(|e| Err(std::io::Error::other(e).into())).map(Some)
        }
        _ = signals.terminate.recv() => Ok(None),
        _ = signals.interrupt.recv() => Ok(None),
    }
}

/// The first events, with the epochs of the shared directory and what jobs learned.
fn started(dir: &Path, store: &EpochStore) -> Result<Vec<ControllerEvent>, ControllerError> {
    let (current, problem) = match reading::current_epoch(dir) {
        Ok(epoch) => (
            epoch.map(|e| StoredEpoch {
                number: e.number,
                network: e.network,
                file: e.topology,
            }),
            None,
        ),
        Err(e) => (None, Some(e.to_string())),
    };
    let number = current.as_ref().map_or(0, |c| c.number);
    let epochs = history::read(dir)?
        .into_iter()
        .filter(|e| e.problem.is_none() && e.info.number <= number)
        .map(|e| e.info)
        .collect();
    let (learned, unlearned) = learned_so_far(dir);
    let mapped = reading::mapped(dir);
    let unmapped = mapped.as_ref().err().map(|e| {
        let what = "unmanaged places count as not measured, and a measurement replaces that file";
        ControllerEvent::trouble(TroubleArea::Mapped, Some(format!("{e}; {what}")))
    });
    let started = ControllerEvent::Started {
        current,
        highest: store.highest()?,
        epochs,
        problem,
        learned,
        mapped: mapped.unwrap_or_default(),
    };
    let unlearned = unlearned.map(|problem| {
        let what = "jobs' figures are collected anew, and replace that file";
        ControllerEvent::trouble(TroubleArea::Learned, Some(format!("{problem}; {what}")))
    });
    Ok(std::iter::once(started)
        .chain(unlearned)
        .chain(unmapped)
        .collect())
}

struct ControllerDaemon {
    clock: SteadyClock,
    engine: ControllerEngine,
    journal: Option<Journal>,
    store: Arc<EpochStore>,
    /// The last plan, held ready for publishing.
    plan: Option<(u64, Arc<VerifiedEpoch>)>,
    publishing: Option<JoinHandle<()>>,
    pollers: SwitchPollers,
    traps: TrapListener,
    events: mpsc::Sender<ControllerEvent>,
    done: mpsc::UnboundedSender<FinishedWork>,
    shown: SnapshotSender,
    assignment: watch::Sender<Arc<DirectionsByHost>>,
    flows: FlowExchange,
    measuring: MeasuringProgress,
    counters: CableCounters,
    mapped: Arc<MappedWriter>,
    tls: Option<TlsCertificate>,
    show: bool,
    /// `None` until the start is over: an epoch that was published before is not news.
    hooks: Option<DaemonHooks>,
    /// The state for the service manager may have changed.
    status_is_new: bool,
    config: ControllerConfig,
}

impl ControllerDaemon {
    async fn run(
        &mut self,
        mut signals: DaemonSignals,
        mut queue: mpsc::Receiver<ControllerEvent>,
        mut finished: mpsc::UnboundedReceiver<FinishedWork>,
    ) -> Result<(), ControllerError> {
        let mut show = tokio::time::interval(SHOW);
        let mut watching = self.watch_directory();
        let mut next_tick = Instant::now();
        let mut pace = TickPace::default();
        let mut next_show = Instant::now();
        let mut batch = Vec::new();
        let mut watchdog = ServiceWatchdog::asked_for();
        service_manager::tell_ready(&self.engine.status_line());
        loop {
            // `show` turns the loop once a second.
            watchdog.feed();
            let wanted = self
                .engine
                .deadline()
                .map(|at| self.clock.instant(at).max(next_tick));
            let tick = tokio::time::sleep_until(wanted.unwrap_or_else(|| Instant::now() + SHOW));
            tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                _ = signals.hangup.recv() => self.reload(),
                Some(done) = finished.recv() => self.finish(done),
                _ = tick, if wanted.is_some() => {
                    let began = Instant::now();
                    self.step(ControllerEvent::Tick);
                    next_tick = pace.next_tick(began, Instant::now());
                }
                // A burst of answers is taken whole before the next tick judges it.
                n = queue.recv_many(&mut batch, QUEUE) => {
                    debug_assert!(n > 0, "the daemon holds a sender itself");
                    batch.drain(..).for_each(|event| self.step(event));
                }
                _ = show.tick() => self.second_passed(),
                () = self.shown.viewer() => {}
                // Somebody asked during the pause after the last snapshot.
                () = tokio::time::sleep_until(next_show), if self.shown.is_wanted(false) => {}
            }
            if self.shown.is_wanted(self.show) && Instant::now() >= next_show {
                self.show = false;
                let began = Instant::now();
                let mut snapshot = self.engine.snapshot(self.clock.now());
                self.measuring.show(&mut snapshot.mapping);
                let snapshot = ServedSnapshot::new(snapshot);
                self.shown.show(snapshot.with(self.figures()));
                next_show = Instant::now() + SHOW_PAUSE * began.elapsed();
            }
        }
        watching.abort_all();
        self.wind_up().await;
        Ok(())
    }

    /// Lets viewers and the service manager see what is new.
    fn second_passed(&mut self) {
        self.show = true;
        if std::mem::take(&mut self.status_is_new) {
            service_manager::tell_status(&self.engine.status_line());
        }
    }

    /// Ends what is under way.
    async fn wind_up(&mut self) {
        service_manager::tell_stopping();
        tracing::info!("stopping; the published epoch stays");
        if let Some(publishing) = self.publishing.take() {
            // An unfinished epoch is removed at the next start, so the wait for it may be short.
            let _ = tokio::time::timeout(stall::PATIENCE, publishing).await;
        }
        if let Some(figures) = self.engine.unwritten_learned() {
            // Figures that are not written now are learned again.
            let writing = write_learned(&self.store, figures);
            let _ = tokio::time::timeout(stall::PATIENCE, writing).await;
        }
    }

    /// The figures that only metrics show.
    fn figures(&self) -> ControllerFigures {
        ControllerFigures {
            engine: self.engine.figures(),
            requests: self.pollers.requests(),
        }
    }

    /// Watches the job records and the measurements of the shared directory.
    fn watch_directory(&self) -> JoinSet<()> {
        let mut watching = JoinSet::new();
        let (dir, events) = (self.config.dir.clone(), self.events.clone());
        watching.spawn(async move { job_records::watch(&dir, events).await });
        let (dir, events) = (self.config.dir.clone(), self.events.clone());
        watching.spawn(rollbacks::watch(dir.clone(), events.clone()));
        watching.spawn(async move {
            if let Ok(measurements) = spawn_blocking(move || MeasurementWatcher::new(&dir)).await {
                measurements.watch(events).await;
            }
        });
        watching
    }

    /// Gives the engine an event, and carries out its effects.
    fn step(&mut self, event: ControllerEvent) {
        let now = self.clock.now();
        // Before the engine takes it: a new file of the journal begins with the state before this event.
        if let Some(Err(e)) = self
            .journal
            .as_mut()
            .map(|j| j.record(now, &event, &self.engine))
        {
            // First, or the alarm about it would be recorded, and fail in the same way.
            self.journal = None;
            let problem = format!(
                "journal {}: {e}; no further events are recorded",
                path(&self.config.journal)
            );
            self.note_trouble(TroubleArea::Journal, Some(problem));
        }
        self.counters.note(&event);
        if let ControllerEvent::LookedUp { switch, address } = &event {
            self.traps.looked_up(switch, *address);
        }
        let effects = self.engine.handle(now, event);
        // Whatever is news to operators goes to the service manager, too.
        let spoke = effects
            .iter()
            .any(|effect| matches!(effect, ControllerEffect::Say(_)));
        if let Some(hooks) = self.hooks.as_ref().filter(|_| spoke) {
            hooks.notice(&self.engine);
        }
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn start_hooks(&mut self) {
        let ControllerConfig { programs, dir, .. } = &self.config;
        let hooks = DaemonHooks::start(programs, dir, &self.engine, &self.events);
        // Alarms that the start announced are news to the programs, unlike its epoch.
        hooks.notice(&self.engine);
        self.hooks = Some(hooks);
    }

    fn carry_out(&mut self, effect: ControllerEffect) {
        match effect {
            ControllerEffect::Poll { switch } => self.pollers.poll(&switch),
            ControllerEffect::Read { switch, tables } => self.pollers.read(&switch, &tables),
            ControllerEffect::Plan(order) => self.plan(*order),
            ControllerEffect::Publish { ticket } => self.publish(ticket),
            ControllerEffect::Direct(assignment) => {
                drop(self.assignment.send_replace(Arc::new(assignment)))
            }
            ControllerEffect::KeepLearned(figures) => self.keep_learned(&figures),
            ControllerEffect::Judge(order) => finished_work::judge(*order, self.done.clone()),
            ControllerEffect::MapPlace(order) => self.measure(*order),
            ControllerEffect::EndMapping => self.measuring.end(),
            ControllerEffect::KeepMapped(mapped) => self.keep_mapped(mapped),
            ControllerEffect::EndRollback => rollbacks::end(self.config.dir.clone()),
            ControllerEffect::Say(line) => {
                (self.show, self.status_is_new) = (true, true);
                match line.level {
                    EventLevel::Info => tracing::info!("{}", line.text),
                    EventLevel::Warning => tracing::warn!("{}", line.text),
                    EventLevel::Error => tracing::error!("{}", line.text),
                }
            }
        }
    }

    fn plan(&mut self, order: EpochOrder) {
        let done = self.done.clone();
        let EpochOrder {
            ticket,
            number,
            at,
            file,
            network,
            flows,
        } = order;
        let (dir, events) = (self.config.dir.clone(), self.events.clone());
        let learned = LearnedFigures::clone(self.engine.learned());
        let stall = StallNotice::new(
            StalledWork::Planning,
            dir.display(),
            &format!("epoch {number} waits for the measurements in it, {GOES_ON}"),
        );
        tokio::spawn(async move {
            // A problem with the file is an alarm already.
            let reading = spawn_blocking(move || measurements_for_next(&dir).0);
            let tuning = stall.wait(&events, reading).await.unwrap_or_default();
            let plan = spawn_blocking(move || {
                let evidence = WayEvidence::new(tuning, learned, forecast::tuning::table);
                let plan = VerifiedEpoch::plan(number, at, file, network, evidence)?;
                Ok(Box::new(plan.with_flows(flows)))
            });
            // Nobody waits once the daemon stops.
            let _ = done.send(FinishedWork::Planned(ticket, outcome(plan.await)));
        });
    }

    fn publish(&mut self, ticket: u64) {
        let Some((_, plan)) = self.plan.as_ref().filter(|(held, _)| *held == ticket) else {
            let problem = "its plan is gone".to_owned();
            return self.step(ControllerEvent::PublishFailed { ticket, problem });
        };
        let (plan, store, done) = (Arc::clone(plan), Arc::clone(&self.store), self.done.clone());
        let number = plan.epoch().number;
        let stall = StallNotice::new(
            StalledWork::Publishing,
            self.config.dir.display(),
            &format!("epoch {number} is being written, {GOES_ON}"),
        );
        let events = self.events.clone();
        let publishing = spawn_blocking(move || store.publish(&plan).map(drop));
        self.publishing = Some(tokio::spawn(async move {
            let _ = done.send(FinishedWork::Published(
                ticket,
                outcome(stall.wait(&events, publishing).await),
            ));
        }));
    }

    fn keep_learned(&mut self, figures: &Arc<LearnedFigures>) {
        let stall = StallNotice::new(
            StalledWork::Learned,
            self.config.dir.display(),
            "later jobs start from what was written before, and everything else continues",
        );
        let (events, done) = (self.events.clone(), self.done.clone());
        let writing = write_learned(&self.store, figures);
        tokio::spawn(async move {
            let kept = outcome(stall.wait(&events, writing).await);
            let _ = done.send(FinishedWork::KeptLearned(kept));
        });
    }

    /// Reads the inventory and the certificate again, after SIGHUP. If one of them is bad, the
    /// former one stays.
    fn reload(&mut self) {
        service_manager::tell_reloading();
        if let Some(tls) = &self.tls {
            let problem = tls
                .reload()
                .err()
                .map(|e| format!("{e}; the certificate read before stays in use"));
            self.note_trouble(TroubleArea::Tls, problem);
        }
        match load(&self.config) {
            Ok((inventory, clients)) => {
                self.watch_network(&inventory, clients);
                self.step(ControllerEvent::InventoryChanged(Box::new(inventory)));
            }
            Err(e) => {
                let problem = Some(format!("{e}; the inventory read before stays in force"));
                self.note_trouble(TroubleArea::Inventory, problem);
            }
        }
        service_manager::tell_ready(&self.engine.status_line());
    }

    fn note_trouble(&mut self, about: TroubleArea, problem: Option<String>) {
        self.step(ControllerEvent::trouble(about, problem));
    }

    fn watch_network(&mut self, inventory: &Inventory, clients: Vec<(String, agent::SnmpClient)>) {
        self.pollers
            .start(clients, inventory.timing.poll, &self.clock, &self.events);
        self.traps.listen(inventory, &self.events);
    }
}

/// Writes what jobs learned, on a thread of its own.
fn write_learned(
    store: &Arc<EpochStore>,
    figures: &Arc<LearnedFigures>,
) -> JoinHandle<Result<(), PublishError>> {
    let (store, figures) = (Arc::clone(store), Arc::clone(figures));
    spawn_blocking(move || store.write_learned(&figures))
}

fn path(journal: &Option<PathBuf>) -> String {
    journal
        .as_ref()
        .map(|p| p.display().to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
