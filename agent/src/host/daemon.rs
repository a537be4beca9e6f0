//! The agent as a daemon: one task that looks once a second and at every change, and reports when a
//! report is due.
use super::card::NetworkCard;
use super::change_detector::ChangeDetector;
use super::nics::{KernelNic, NicMonitor, NicsError, slots};
use super::packets::PacketSocketError;
use super::probe::{self, ProbeFindings, Prober};
use super::reporter::ControllerClient;
use super::segments::SegmentSender;
use super::{FrameListener, LldpAnnouncement, LldpAnnouncer, SeedSender, flow_member};
use crate::now;
use crate::service_manager::{self, ServiceWatchdog};
use inventory::host_report::{HeardFrame, HostReport, ProbeDirections, ProbeTarget};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// The time between two looks if no change is signalled.
const LOOK: Duration = Duration::from_secs(1);

/// The time between two reports if nothing changes, until the controller sets another one.
const EVERY: Duration = Duration::from_secs(30);

/// The range of intervals that a controller may ask for.
const EVERY_RANGE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// Changes within this time go into one report.
const SETTLE: Duration = Duration::from_millis(200);

/// Paths come one by one. If the way to a host changed, this is the least time until a report names
/// further changes.
const PATHS: Duration = Duration::from_secs(5);

/// The time between two LLDP announcements (IEEE 802.1AB-2016, 9.2.5.7).
const ANNOUNCE: Duration = Duration::from_secs(30);

/// A time longer than the usual silence of another program between two of its announcements.
const LISTEN: Duration = Duration::from_secs(32);

/// The time between two seed frames. Bridges forget a host after 300 s (IEEE 802.1D-2004, Table
/// 7-5).
const SEED: Duration = Duration::from_secs(240);

/// The longest time that a single look waits for traces.
const TRACES: Duration = Duration::from_secs(60);

/// The operator's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSettings {
    /// The host's name in the inventory.
    pub host: String,
    /// The only cards to look at; empty for all.
    pub interfaces: Vec<String>,
    /// The number of ranks offered; `None` for the number of processors.
    pub slots: Option<u32>,
    /// Announce the host by LLDP, and send seed frames.
    pub announce: bool,
    /// Probe the way to other hosts.
    pub probe: bool,
    /// Take part when the controller measures flows between hosts.
    pub measure: bool,
}

/// The reason why the agent ended.
#[derive(Debug, thiserror::Error)]
pub enum HostAgentError {
    /// The kernel does not describe its cards.
    #[error(transparent)]
    Nics(#[from] NicsError),
    /// The runtime refuses to watch sockets.
    #[error("probing: {0}; the agent ended")]
    Probe(std::io::Error),
}

/// An agent whose sockets are open. From here on it needs no privilege.
#[derive(Debug)]
pub struct HostAgent {
    settings: AgentSettings,
    ear: FrameListener,
    /// The announcer and the sender of seed frames.
    voice: Option<(LldpAnnouncer, SeedSender)>,
    prober: Option<Prober>,
    segments: Option<SegmentSender>,
}

impl HostAgent {
    /// Opens all sockets that the agent will use.
    ///
    /// # Errors
    /// If the system refuses one: CAP_NET_RAW is missing.
    pub fn open(settings: AgentSettings) -> Result<HostAgent, PacketSocketError> {
        let voice = if settings.announce {
            Some((
                LldpAnnouncer::open(LldpAnnouncement {
                    host: settings.host.clone(),
                    description: concat!("heddle agent ", env!("CARGO_PKG_VERSION")).to_owned(),
                    every: ANNOUNCE,
                    listen: LISTEN,
                })?,
                SeedSender::open()?,
            ))
        } else {
            None
        };
        let prober = if settings.probe {
            Some(Prober::open()?)
        } else {
            None
        };
        let segments = match settings.measure {
            true => Some(SegmentSender::open()?),
            false => None,
        };
        Ok(HostAgent {
            segments,
            ear: FrameListener::open()?,
            voice,
            prober,
            settings,
        })
    }

    /// Listens for a while, traces `peers`, and returns one report. Sends only probes.
    pub async fn once(
        mut self,
        listen: Duration,
        peers: Vec<ProbeTarget>,
    ) -> Result<HostReport, HostAgentError> {
        let cards = NicMonitor::open(&self.settings.interfaces)?;
        let wanted = peers.len().min(probe::MOST_PEERS);
        let directions = ProbeDirections {
            peers,
            ..ProbeDirections::default()
        };
        // The prober ends when this sender is dropped.
        let (_sender, directions) = watch::channel(directions);
        let (found, mut findings) = watch::channel(ProbeFindings::default());
        let tracing = async {
            if let Some(prober) = self.prober.take().filter(|_| wanted > 0) {
                tokio::select! {
                    _ = prober.run(directions, found.clone()) => {}
                    _ = findings.wait_for(|found| found.paths.len() == wanted) => {}
                    () = sleep(TRACES) => {}
                }
            }
        };
        let (settings, mut ear) = (self.settings, self.ear);
        let listening = async {
            let end = Instant::now() + listen;
            loop {
                let all = cards.read().await?;
                let frames = ear.frames(now(), &plugged(&all));
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok::<_, NicsError>((all, frames));
                }
                sleep(left.min(LOOK)).await;
            }
        };
        let (seen, ()) = tokio::join!(listening, tracing);
        let (all, frames) = seen?;
        tell_missing(&settings, &all);
        let found = found.borrow().clone();
        Ok(report(&settings, &all, frames, found))
    }

    /// Reports to the controller until `stop`; then it sends a farewell to the neighbours.
    pub async fn run(
        self,
        controller: ControllerClient,
        stop: impl Future<Output = ()>,
    ) -> Result<(), HostAgentError> {
        let cards = NicMonitor::open(&self.settings.interfaces)?;
        let (found, findings) = watch::channel(ProbeFindings::default());
        let (reports, newest) = watch::channel(Arc::new(HostReport::default()));
        let (sender, directions) = watch::channel(ProbeDirections::default());
        let measuring = {
            let (client, directions, newest) =
                (controller.clone(), directions.clone(), newest.clone());
            let segments = self.segments;
            async move {
                if let Some(segments) = segments {
                    flow_member::follow(client, segments.into(), directions, newest).await;
                }
                // The agent goes on where it takes no part: `select!` below ends with the first of
                // its futures.
                std::future::pending::<()>().await;
            }
        };
        let (prober, wanted) = (self.prober, directions.clone());
        let probing = async {
            match prober {
                Some(prober) => prober
                    .run(wanted, found)
                    .await
                    .map_err(HostAgentError::Probe),
                None => std::future::pending().await,
            }
        };
        let looker = HostObserver {
            settings: self.settings,
            cards,
            ear: self.ear,
            voice: self.voice,
            findings,
            directions,
            reports,
        };
        tokio::select! {
            ended = looker.run() => ended.map_err(HostAgentError::Nics),
            ended = probing => ended,
            () = controller.run(newest, sender) => Ok(()),
            () = measuring => Ok(()),
            // The announcer sends its farewells when it is dropped, with the observer's future.
            () = stop => {
                service_manager::tell_stopping();
                Ok(())
            }
        }
    }
}

/// The task that looks, with its inputs and outputs.
struct HostObserver {
    settings: AgentSettings,
    cards: NicMonitor,
    ear: FrameListener,
    voice: Option<(LldpAnnouncer, SeedSender)>,
    findings: watch::Receiver<ProbeFindings>,
    directions: watch::Receiver<ProbeDirections>,
    reports: watch::Sender<Arc<HostReport>>,
}

impl HostObserver {
    async fn run(mut self) -> Result<(), NicsError> {
        let mut changes = ChangeDetector::default();
        let mut all = self.cards.read().await?;
        tell_missing(&self.settings, &all);
        let mut watchdog = ServiceWatchdog::asked_for();
        service_manager::tell_ready("looks; nothing is reported yet");
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut reported, mut seeded) = (None::<Instant>, None::<Instant>);
        loop {
            watchdog.feed();
            let moved = tokio::select! {
                _ = look.tick() => false,
                () = self.cards.changed() => true,
            };
            let due = reported.is_none_or(|at| at.elapsed() >= self.every());
            if moved {
                sleep(SETTLE).await;
            }
            // Counters matter only in a report.
            if moved || due {
                all = self.cards.read().await?;
            }
            let frames = self.ear.frames(now(), &plugged(&all));
            let news = changes.learn(&all, &frames);
            let seeding = news || seeded.is_none_or(|at| at.elapsed() >= SEED);
            if let Some((announcer, seeder)) = &mut self.voice {
                announcer.step(&plugged(&all));
                if seeding {
                    seeder.seed(&addressed(&all));
                    seeded = Some(Instant::now());
                }
            }
            let ready = reported.is_none_or(|at| at.elapsed() >= PATHS)
                && self.findings.has_changed().unwrap_or(false);
            let rerouted = ready && changes.learn_paths(&self.findings.borrow_and_update().paths);
            let parted = changes.learn_traces(&self.findings.borrow().traces);
            if due || news || rerouted || parted {
                let found = self.findings.borrow().clone();
                self.reports
                    .send_replace(Arc::new(report(&self.settings, &all, frames, found)));
                reported = Some(Instant::now());
            }
        }
    }

    fn every(&self) -> Duration {
        match self.directions.borrow().every_ms {
            0 => EVERY,
            asked => Duration::from_millis(asked).clamp(EVERY_RANGE.0, EVERY_RANGE.1),
        }
    }
}

fn tell_missing(settings: &AgentSettings, all: &[KernelNic]) {
    for name in settings
        .interfaces
        .iter()
        .filter(|name| !all.iter().any(|f| f.nic.name == **name))
    {
        tracing::warn!(
            "--interface {name}: no such Ethernet card now; it is looked at when it comes"
        );
    }
}

/// The cards that are ends of cables.
fn plugged(all: &[KernelNic]) -> Vec<NetworkCard> {
    all.iter()
        .filter(|f| f.plugged)
        .map(|f| f.card.clone())
        .collect()
}

/// The cards by which the host sends.
fn addressed(all: &[KernelNic]) -> Vec<NetworkCard> {
    all.iter()
        .filter(|f| f.nic.master.is_none() && !f.nic.addresses.is_empty())
        .map(|f| f.card.clone())
        .collect()
}

fn report(
    settings: &AgentSettings,
    all: &[KernelNic],
    frames: Vec<HeardFrame>,
    found: ProbeFindings,
) -> HostReport {
    HostReport {
        host: settings.host.clone(),
        slots: settings.slots.unwrap_or_else(slots),
        nics: all.iter().map(|f| f.nic.clone()).collect(),
        frames,
        paths: found.paths,
        traces: found.traces,
        // Only such an agent is asked for traces: an older one refuses directions with traces as a
        // whole.
        traces_flows: true,
        measures: settings.measure,
        link_losses: all
            .iter()
            .filter_map(|found| Some((found.nic.name.clone(), found.link_losses?)))
            .collect(),
    }
}
