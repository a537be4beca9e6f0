//! One task for each switch, so that a dead switch never delays the others. Only a limited number
//! of switches are read at once: the answers of a thousand switches in one moment would overrun the
//! machine, and the resulting time-outs would look like silence.
use super::rounds::{PulseRounds, RoundMember};
use super::wanted_reads::WantedReads;
use crate::clock::SteadyClock;
use crate::engine::ControllerEvent;
use crate::poll_timing::{self, PulseTiming};
use agent::{PulseRound, PulseTarget, RequestMeter, RequestTotals, SWITCHES_AT_ONCE, SnmpClient};
use futures_util::stream::{self, StreamExt};
use inventory::observation::{DeviceFact, DeviceTable, Observation, ObservationSource};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

/// Tables requested at once from one switch: SNMP agents work on one at a time.
const AT_ONCE: usize = 2;

/// The tasks that ask switches.
#[derive(Debug, Default)]
pub(super) struct SwitchPollers {
    tasks: JoinSet<()>,
    wanted: HashMap<String, Arc<WantedReads>>,
    meters: HashMap<String, Arc<RequestMeter>>,
}

impl SwitchPollers {
    /// Replaces all tasks by one for each client. Each polls every `period`, or less often in a
    /// large fleet (see [`poll_timing`](crate::poll_timing)).
    pub(super) fn start(
        &mut self,
        clients: Vec<(String, SnmpClient)>,
        period: Duration,
        clock: &SteadyClock,
        events: &mpsc::Sender<ControllerEvent>,
    ) {
        (self.tasks, self.wanted) = Default::default();
        self.meters.clear();
        let switches = clients.len();
        let [looks, changes] = [SWITCHES_AT_ONCE; 2].map(|n| Arc::new(Semaphore::new(n)));
        let round = poll_timing::round(switches, period)
            .and_then(|period| Some((period, PulseRound::open().ok()?)));
        let mut members = Vec::new();
        for (number, (name, client)) in clients.into_iter().enumerate() {
            let mut rhythm = poll_timing::pulse(switches, number, period);
            let wanted = Arc::new(WantedReads::default());
            self.wanted.insert(name.clone(), Arc::clone(&wanted));
            self.meters.insert(name.clone(), client.meter());
            let target = round
                .as_ref()
                .and_then(|_| PulseTarget::for_client(&client));
            if let Some(target) = target {
                rhythm = rhythm.only_whole();
                members.push(RoundMember::new(name.clone(), target, Arc::clone(&wanted)));
            }
            let switch = SwitchPoller {
                name,
                client,
                reported: Mutex::default(),
                wanted,
                looks: Arc::clone(&looks),
                changes: Arc::clone(&changes),
                clock: clock.clone(),
                events: events.clone(),
            };
            self.tasks.spawn(async move {
                tokio::join!(switch.poll(rhythm), switch.read());
            });
        }
        if let Some((period, round)) = round.filter(|_| !members.is_empty()) {
            let rounds = PulseRounds::new(round, members, clock.clone(), events.clone());
            self.tasks.spawn(rounds.run(period));
        }
    }

    /// The requests to each switch so far.
    pub(super) fn requests(&self) -> BTreeMap<String, RequestTotals> {
        self.meters
            .iter()
            .map(|(name, meter)| (name.clone(), meter.totals()))
            .collect()
    }

    /// Asks for a pulse now.
    pub(super) fn poll(&self, switch: &str) {
        if let Some(wanted) = self.wanted.get(switch) {
            wanted.poll.notify_one();
        }
    }

    /// Asks for tables.
    pub(super) fn read(&self, switch: &str, tables: &[DeviceTable]) {
        if let Some(wanted) = self.wanted.get(switch) {
            wanted.lock().extend(tables);
            wanted.read.notify_one();
        }
    }
}

struct SwitchPoller {
    name: String,
    client: SnmpClient,
    /// The address of its name that the engine knows.
    reported: Mutex<Option<IpAddr>>,
    wanted: Arc<WantedReads>,
    /// The turns of those who read everything.
    looks: Arc<Semaphore>,
    /// The turns of those who read a table that changed: it must not wait behind looks.
    changes: Arc<Semaphore>,
    clock: SteadyClock,
    events: mpsc::Sender<ControllerEvent>,
}

impl SwitchPoller {
    async fn poll(&self, rhythm: PulseTiming) {
        let mut every = tokio::time::interval_at(Instant::now() + rhythm.offset, rhythm.every);
        let mut count = 0;
        // A switch that was slow to answer is not asked several times in a row afterwards.
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => count += 1,
                // A pulse that the engine asks for is whole.
                () = self.wanted.poll.notified() => count = 1,
                () = self.wanted.brief.notified() => {
                    self.tell(self.client.brief_pulse().await).await;
                    self.wanted.in_session.store(false, Relaxed);
                    continue;
                }
            }
            // Where each pulse is whole, both sides are 0.
            let brief = count % rhythm.whole != 1 % rhythm.whole;
            self.tell(if brief {
                self.client.brief_pulse().await
            } else {
                self.client.pulse().await
            })
            .await;
        }
    }

    async fn read(&self) {
        loop {
            self.wanted.read.notified().await;
            let everything = self.wanted.count() == DeviceTable::ALL.len();
            let turns = if everything {
                &self.looks
            } else {
                &self.changes
            };
            // The semaphores are never closed. The turn ends after the tables are read.
            let _turn = turns.acquire().await;
            // Not before the turn has come, so that what was asked for meanwhile is read, too.
            let mut tables = self.wanted.take();
            // Every SNMP agent has a system group. If it does not answer that, the other tables
            // need no wait.
            if tables.remove(&DeviceTable::System) {
                let system = self.client.read(DeviceTable::System).await;
                let mute = matches!(system, DeviceFact::Failed { table: None, .. });
                self.tell(system).await;
                if mute {
                    continue;
                }
            }
            let mut facts =
                stream::iter(tables.into_iter().map(|t| self.client.read(t))).buffered(AT_ONCE);
            while let Some(fact) = facts.next().await {
                self.tell(fact).await;
            }
        }
    }

    /// The address of the switch's name, when it is another one than last time.
    fn moved_to(&self) -> Option<IpAddr> {
        let address = self.client.looked_up()?;
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        (reported.replace(address) != Some(address)).then_some(address)
    }

    async fn tell(&self, fact: DeviceFact) {
        if let Some(address) = self.moved_to() {
            let switch = self.name.clone();
            let looked_up = ControllerEvent::LookedUp { switch, address };
            let _ = self.events.send(looked_up).await;
        }
        let observation = Observation {
            at: self.clock.now(),
            reporter: self.name.clone(),
            source: ObservationSource::Snmp,
            fact,
        };
        // The daemon stops first, and this task with it.
        let _ = self
            .events
            .send(ControllerEvent::Observed(observation))
            .await;
    }
}
