//! `POST /v1/hosts/NAME/report`: takes the reports of host agents, and answers with directions.
//!
//! A report costs little, whatever it contains: its size is bounded, and so is the rate of each
//! host. A report of a host that the inventory does not list makes a message and is ignored
//! otherwise. A host that falls silent counts as a failed device.
use super::rate_limiter::RateLimiter;
use crate::clock::SteadyClock;
use crate::engine::{ControllerEvent, DirectionsByHost};
use crate::flow_exchange::FlowExchange;
use axum::Json;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use inventory::host_report::{HostReport, ProbeDirections};
use inventory::observation::{DeviceFact, Observation, ObservationSource};
use std::collections::HashMap;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// The longest report: 1 MiB.
const LONGEST: usize = 1 << 20;
/// The longest time in which a report must arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// An agent is silent after this many missing reports, and [`GRACE`].
const MISSED: u64 = 3;
const GRACE: Duration = Duration::from_secs(5);
/// The time between two checks for silence.
const LOOK: Duration = Duration::from_secs(1);
/// Reports of one host: two a second, ten at once.
const REPORTS: RateLimiter = RateLimiter::new(Duration::from_millis(500), 10);
/// Messages about refused reports: one a second, ten at once.
const STRANGERS: RateLimiter = RateLimiter::new(Duration::from_secs(1), 10);

/// Takes reports, and turns them into events.
#[derive(Clone)]
pub struct ReportIntake {
    clock: SteadyClock,
    events: mpsc::Sender<ControllerEvent>,
    assignment: watch::Receiver<Arc<DirectionsByHost>>,
    limits: Arc<Mutex<ReportLimits>>,
    flows: FlowExchange,
}

struct ReportLimits {
    hosts: HashMap<String, HostReportLimit>,
    strangers: RateLimiter,
}

impl ReportLimits {
    fn host(&mut self, name: &str) -> &mut HostReportLimit {
        self.hosts
            .entry(name.to_owned())
            .or_insert(HostReportLimit {
                pace: REPORTS,
                last: None,
            })
    }
}

/// The limit and the state of one host.
struct HostReportLimit {
    pace: RateLimiter,
    /// The time of its last report; `None` while it is silent.
    last: Option<Instant>,
}

impl ReportIntake {
    /// Reports become `events`. `assignment` has the directions for each host of the inventory.
    pub(crate) fn new(
        clock: SteadyClock,
        events: mpsc::Sender<ControllerEvent>,
        assignment: watch::Receiver<Arc<DirectionsByHost>>,
    ) -> ReportIntake {
        ReportIntake {
            clock,
            events,
            assignment,
            limits: Arc::new(Mutex::new(ReportLimits {
                hosts: HashMap::new(),
                strangers: STRANGERS,
            })),
            flows: FlowExchange::default(),
        }
    }

    /// The measurement of flows, if there is one.
    pub(crate) fn flows(&self) -> &FlowExchange {
        &self.flows
    }

    /// Sends an event for each host that fell silent, until the task is dropped.
    pub(crate) async fn watch_silence(self) {
        let mut every = tokio::time::interval(LOOK);
        loop {
            every.tick().await;
            for (host, limit) in self.silent(Instant::now()) {
                let problem = format!("no report for {} s", limit.as_secs());
                self.tell(
                    &host,
                    DeviceFact::Failed {
                        table: None,
                        problem,
                        refused: None,
                    },
                )
                .await;
            }
        }
    }

    /// Notes that a host reported.
    pub(super) fn note_report(&self, host: &str, at: Instant) {
        self.limits().host(host).last = Some(at);
    }

    /// Takes out the hosts that just fell silent, each with its limit. Hosts that left the
    /// inventory are forgotten.
    pub(super) fn silent(&self, now: Instant) -> Vec<(String, Duration)> {
        let assignment = Arc::clone(&self.assignment.borrow());
        let mut limits = self.limits();
        limits.hosts.retain(|host, _| assignment.contains_key(host));
        let over = limits.hosts.iter_mut().filter_map(|(host, state)| {
            let limit = Duration::from_millis(assignment[host].every_ms * MISSED) + GRACE;
            state
                .last
                .take_if(|last| now.duration_since(*last) > limit)?;
            Some((host.clone(), limit))
        });
        over.collect()
    }

    fn limits(&self) -> MutexGuard<'_, ReportLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell(&self, host: &str, fact: DeviceFact) {
        let observation = Observation {
            at: self.clock.now(),
            reporter: host.to_owned(),
            source: ObservationSource::Agent,
            fact,
        };
        // The send fails only while the daemon stops.
        let _ = self
            .events
            .send(ControllerEvent::Observed(observation))
            .await;
    }

    async fn refuse(&self, from: SocketAddr, problem: String) -> ReportRefusal {
        if self.limits().strangers.take(Instant::now()).is_ok() {
            let _ = self
                .events
                .send(ControllerEvent::ReportRefused {
                    from: from.ip(),
                    problem: problem.clone(),
                })
                .await;
        }
        ReportRefusal::Forbidden(problem)
    }

    async fn take(
        &self,
        host: &str,
        from: SocketAddr,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<ProbeDirections, ReportRefusal> {
        let Some(directions) = self.assignment.borrow().get(host).cloned() else {
            let host: String = host.chars().take(64).collect();
            let problem = format!(
                "host {host:?}: reports, but the inventory does not list it; add it to hosts: or \
                 stop its agent"
            );
            return Err(self.refuse(from, problem).await);
        };
        if !is_json(headers) {
            return Err(ReportRefusal::NotJson);
        }
        // The length is known before the body: every request here states it.
        if body
            .size_hint()
            .exact()
            .is_none_or(|length| length > LONGEST as u64)
        {
            // The rest of the body is read, because the system would otherwise cut the answer off.
            let _ = tokio::time::timeout(PATIENCE, body.into_data_stream().for_each(|_| ready(())))
                .await;
            return Err(ReportRefusal::TooLarge);
        }
        let body = tokio::time::timeout(PATIENCE, to_bytes(body, LONGEST))
            .await
            .map_err(|_| ReportRefusal::TooSlow)?
            .map_err(|_| ReportRefusal::Truncated)?;
        let report: HostReport =
            serde_json::from_slice(&body).map_err(|e| ReportRefusal::Unfit(e.to_string()))?;
        report.check().map_err(ReportRefusal::Unfit)?;
        if report.host != host {
            let problem = format!(
                "host \"{host}\": a report to its path names the host {:?}; set the name in its \
                 agent",
                report.host
            );
            return Err(self.refuse(from, problem).await);
        }
        // Only accepted reports count against a host's rate, so that bad reports in its name do not
        // keep it from reporting.
        self.limits()
            .host(host)
            .pace
            .take(Instant::now())
            .map_err(ReportRefusal::TooOften)?;
        self.note_report(host, Instant::now());
        self.tell(host, DeviceFact::Host(report)).await;
        Ok(ProbeDirections {
            flows: self.flows.invitation(host),
            ..directions
        })
    }
}

/// The reason why a report is refused.
enum ReportRefusal {
    Forbidden(String),
    TooOften(Duration),
    NotJson,
    TooSlow,
    TooLarge,
    Truncated,
    Unfit(String),
}

impl IntoResponse for ReportRefusal {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            ReportRefusal::Forbidden(problem) => (StatusCode::FORBIDDEN, problem),
            ReportRefusal::TooOften(wait) => {
                let after = [(header::RETRY_AFTER, wait.as_secs().max(1).to_string())];
                let text =
                    "reports come too often; each answer has the time until the next report\n";
                return (StatusCode::TOO_MANY_REQUESTS, after, text).into_response();
            }
            ReportRefusal::NotJson => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected Content-Type: application/json".to_owned(),
            ),
            ReportRefusal::TooSlow => {
                let text = "the report did not come in time".to_owned();
                (StatusCode::REQUEST_TIMEOUT, text)
            }
            ReportRefusal::TooLarge => {
                let text = format!("expected a report of at most {LONGEST} octets");
                (StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            ReportRefusal::Truncated => {
                let text = "the report ended before its Content-Length".to_owned();
                (StatusCode::BAD_REQUEST, text)
            }
            ReportRefusal::Unfit(problem) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("report: {problem}; do agent and controller have different versions?"),
            ),
        };
        (status, text + "\n").into_response()
    }
}

/// The route's handler.
pub(super) async fn post(
    State(intake): State<ReportIntake>,
    Path(host): Path<String>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ProbeDirections>, Response> {
    intake
        .take(&host, from, &headers, body)
        .await
        .map(Json)
        .map_err(IntoResponse::into_response)
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}
