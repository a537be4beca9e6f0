//! `POST /v1/hosts/NAME/report`: host agents tell, and are told whom to probe.
//!
//! Whatever a report says, it costs little: it is bounded in size, each host may send a few a
//! second, and hosts the inventory does not list are told of and otherwise ignored. A host that
//! falls silent is a failure as that of any device.
use super::rate_limiter::RateLimiter;
use crate::clock::SteadyClock;
use crate::engine::{ControllerEvent, DirectionsByHost};
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
/// How long a report may take to come in.
const PATIENCE: Duration = Duration::from_secs(10);
/// A host's agent is silent after so many reports that did not come, and a while.
const MISSED: u64 = 3;
const GRACE: Duration = Duration::from_secs(5);
/// How often silence is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Reports of one host: two a second, ten at once.
const REPORTS: RateLimiter = RateLimiter::new(Duration::from_millis(500), 10);
/// What is told of reports nobody asked for: one a second, ten at once.
const STRANGERS: RateLimiter = RateLimiter::new(Duration::from_secs(1), 10);

/// Where reports go.
#[derive(Clone)]
pub struct ReportIntake {
    clock: SteadyClock,
    events: mpsc::Sender<ControllerEvent>,
    rota: watch::Receiver<Arc<DirectionsByHost>>,
    doors: Arc<Mutex<ReportLimits>>,
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
                heard: None,
            })
    }
}

/// A host's.
struct HostReportLimit {
    pace: RateLimiter,
    /// When its last report came; `None` while it is silent.
    heard: Option<Instant>,
}

impl ReportIntake {
    /// Reports become events; `rota` says which hosts there are and what is wanted of each.
    pub(crate) fn new(
        clock: SteadyClock,
        events: mpsc::Sender<ControllerEvent>,
        rota: watch::Receiver<Arc<DirectionsByHost>>,
    ) -> ReportIntake {
        ReportIntake {
            clock,
            events,
            rota,
            doors: Arc::new(Mutex::new(ReportLimits {
                hosts: HashMap::new(),
                strangers: STRANGERS,
            })),
        }
    }

    /// Tells of hosts that report no more, until the task is dropped.
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
                    },
                )
                .await;
            }
        }
    }

    /// A host reported.
    pub(super) fn heard(&self, host: &str, at: Instant) {
        self.doors().host(host).heard = Some(at);
    }

    /// Hosts that have just become silent, and after how long that is said. Those that left the
    /// inventory are forgotten.
    pub(super) fn silent(&self, now: Instant) -> Vec<(String, Duration)> {
        let rota = Arc::clone(&self.rota.borrow());
        let mut doors = self.doors();
        doors.hosts.retain(|host, _| rota.contains_key(host));
        let over = doors.hosts.iter_mut().filter_map(|(host, door)| {
            let limit = Duration::from_millis(rota[host].every_ms * MISSED) + GRACE;
            door.heard
                .take_if(|heard| now.duration_since(*heard) > limit)?;
            Some((host.clone(), limit))
        });
        over.collect()
    }

    fn doors(&self) -> MutexGuard<'_, ReportLimits> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell(&self, host: &str, fact: DeviceFact) {
        let observation = Observation {
            at: self.clock.now(),
            reporter: host.to_owned(),
            source: ObservationSource::Agent,
            fact,
        };
        // The shell stops first, and this with it.
        let _ = self
            .events
            .send(ControllerEvent::Observed(observation))
            .await;
    }

    async fn refuse(&self, from: SocketAddr, problem: String) -> ReportRefusal {
        if self.doors().strangers.take(Instant::now()).is_ok() {
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
        let Some(directions) = self.rota.borrow().get(host).cloned() else {
            let host: String = host.chars().take(64).collect();
            let problem = format!(
                "host {host:?}: reports, but the inventory does not list it; add it to hosts: or \
                 stop its agent"
            );
            return Err(self.refuse(from, problem).await);
        };
        if !headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|t| t.as_bytes().starts_with(b"application/json"))
        {
            return Err(ReportRefusal::NotJson);
        }
        // Known before any of it comes: no request here is of unknown length.
        if body
            .size_hint()
            .exact()
            .is_none_or(|length| length > LONGEST as u64)
        {
            // What it still sends is read, or the system would cut the answer off.
            let _ = tokio::time::timeout(PATIENCE, body.into_data_stream().for_each(|_| ready(())))
                .await;
            return Err(ReportRefusal::TooLarge);
        }
        let body = tokio::time::timeout(PATIENCE, to_bytes(body, LONGEST))
            .await
            .map_err(|_| ReportRefusal::TooSlow)?;
        let body = body.map_err(|_| ReportRefusal::Truncated)?;
        let report: HostReport =
            serde_json::from_slice(&body).map_err(|e| ReportRefusal::Unfit(e.to_string()))?;
        report.check().map_err(ReportRefusal::Unfit)?;
        if report.host != host {
            let problem = format!(
                "host \"{host}\": a report of it says it is {:?}; set the name its agent goes by",
                report.host
            );
            return Err(self.refuse(from, problem).await);
        }
        // Only reports that count use up what a host may send: nobody else's keep it from being
        // heard.
        self.doors()
            .host(host)
            .pace
            .take(Instant::now())
            .map_err(ReportRefusal::TooOften)?;
        self.heard(host, Instant::now());
        self.tell(host, DeviceFact::Host(report)).await;
        Ok(directions)
    }
}

/// Why a report is not taken.
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
        match self {
            ReportRefusal::Forbidden(problem) => {
                (StatusCode::FORBIDDEN, format!("{problem}\n")).into_response()
            }
            ReportRefusal::TooOften(wait) => {
                let after = [(header::RETRY_AFTER, wait.as_secs().max(1).to_string())];
                (
                    StatusCode::TOO_MANY_REQUESTS,
                    after,
                    "reports come too often; the answer to one says when the next is wanted\n",
                )
                    .into_response()
            }
            ReportRefusal::NotJson => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected Content-Type: application/json\n",
            )
                .into_response(),
            ReportRefusal::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "the report did not come in time\n",
            )
                .into_response(),
            ReportRefusal::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("expected a report of at most {LONGEST} octets\n"),
            )
                .into_response(),
            ReportRefusal::Truncated => (
                StatusCode::BAD_REQUEST,
                "the report ended before its Content-Length\n",
            )
                .into_response(),
            ReportRefusal::Unfit(problem) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("report: {problem}; agent and controller of different versions?\n"),
            )
                .into_response(),
        }
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
