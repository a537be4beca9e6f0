//! Sends reports to the controller, `POST {controller}/v1/hosts/{name}/report`, and receives
//! directions.
//!
//! A report is a complete state, so only the newest one waits while the controller is away.
use crate::{secrets, service_manager};
use flows::{FlowReply, FlowStatement};
use inventory::host_report::{HostReport, ProbeDirections};
use inventory::sanitize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tls::authorities;
use tokio::sync::watch;

/// The least time between two reports. A cable that flaps appears in the next one.
const GAP: Duration = Duration::from_secs(1);

/// The limit of one attempt.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause after the first failed attempt; it doubles with each up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);

const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The limit of directions, in octets.
const LONGEST_ANSWER: u64 = 1 << 20;

/// The limit of the controller's text for a refusal, in octets.
const LONGEST_REFUSAL: u64 = 1 << 12;

/// The number of reasons logged while the controller is away. The texts of its refusals may all
/// differ.
const REASONS: usize = 16;

/// The limit of a token. A longer file is not a token file.
const LONGEST_TOKEN: usize = 4096;

/// The token by which the controller admits the agent. It appears in no message.
#[derive(Clone)]
pub struct AgentToken(String);

impl fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The reason why no report can ever be sent.
#[derive(Debug, thiserror::Error)]
pub enum ReporterError {
    /// A file cannot be used.
    #[error("{what} {path}: {problem}; nothing was started", path = .path.display())]
    File {
        /// The purpose of the file: "token file".
        what: &'static str,
        path: PathBuf,
        /// The error.
        problem: String,
    },
    /// The controller's address cannot be used.
    #[error(
        "--controller {0}: expected http://HOST:PORT or https://HOST:PORT; nothing was started"
    )]
    Address(String),
    /// The host's name cannot be used.
    #[error(
        "host name \"{0}\": expected letters, digits, '.', '-' and '_'; nothing was started: give \
         the inventory's with --name"
    )]
    Name(String),
}

impl AgentToken {
    /// Reads a token: the file's text without white space around it.
    ///
    /// # Errors
    /// [`ReporterError::File`] if the file cannot be read or its text cannot be sent in a header.
    pub fn read(path: &Path) -> Result<AgentToken, ReporterError> {
        let bad = |problem: String| ReporterError::File {
            what: "token file",
            path: path.to_owned(),
            problem,
        };
        let text = secrets::text(path).map_err(bad)?;
        let token = text.trim();
        let sound = !token.is_empty()
            && token.len() <= LONGEST_TOKEN
            && token.bytes().all(|b| b.is_ascii_graphic());
        if sound {
            Ok(AgentToken(token.to_owned()))
        } else {
            Err(bad("expected printable ASCII without blanks".to_owned()))
        }
    }
}

/// The connection to one controller, for one host.
#[derive(Debug, Clone)]
pub struct ControllerClient {
    client: ureq::Agent,
    /// The address without the path, for messages.
    address: String,
    url: String,
    token: Option<AgentToken>,
}

impl ControllerClient {
    /// Prepares the connection to the controller at `address`, `http://` or `https://`. `ca` is a
    /// PEM file with the authorities that certify the controller, if they are not the public ones.
    /// Sends nothing yet.
    pub fn new(
        address: &str,
        host: &str,
        token: Option<AgentToken>,
        ca: Option<&Path>,
    ) -> Result<ControllerClient, ReporterError> {
        let address = address.trim_end_matches('/');
        let uri = address.parse::<ureq::http::Uri>().ok();
        if !uri.is_some_and(|u| {
            matches!(u.scheme_str(), Some("http" | "https"))
                && u.host().is_some_and(|h| !h.is_empty())
        }) {
            return Err(ReporterError::Address(address.to_owned()));
        }
        if host.is_empty()
            // The longest name in DNS: 255 octets with its lengths (RFC 1035, 2.3.4).
            || host.len() > 253
            || !host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        {
            return Err(ReporterError::Name(sanitize::visible(host)));
        }
        let trusted = match ca {
            Some(path) => authorities::read(path).map_err(|problem| ReporterError::File {
                what: "--ca",
                path: path.to_owned(),
                problem,
            })?,
            None => Vec::new(),
        };
        // A redirected report would carry the token along.
        let config = ureq::Agent::config_builder()
            .tls_config(authorities::trusting(&trusted))
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .max_redirects_will_error(false)
            // As an error, a refusal would come without its text.
            .http_status_as_error(false)
            .build();
        let url = format!("{address}/v1/hosts/{host}");
        Ok(ControllerClient {
            client: ureq::Agent::new_with_config(config),
            address: address.to_owned(),
            url,
            token,
        })
    }

    /// Sends one report. Waits up to ten seconds. Returns the controller's directions, if any.
    fn post(&self, report: &HostReport) -> Result<Option<ProbeDirections>, String> {
        self.exchange("report", report)
    }

    /// Tells of the host's part in a measurement of flows, and gets the next order, if there is a
    /// measurement.
    pub(super) fn tell_of_flows(&self, content: &FlowStatement) -> Result<FlowReply, String> {
        let reply = self.exchange("flows", content)?;
        Ok(reply.unwrap_or(FlowReply::End))
    }

    /// Posts to a path of this host, and reads the answer, if it has content.
    fn exchange<T: DeserializeOwned>(
        &self,
        path: &str,
        content: &impl Serialize,
    ) -> Result<Option<T>, String> {
        let body = serde_json::to_vec(content).map_err(|e| e.to_string())?;
        let url = format!("{}/{path}", self.url);
        let mut request = self.client.post(&url).content_type("application/json");
        if let Some(AgentToken(token)) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut answer = request.send(&body).map_err(|e| explained(&e))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config();
        match status {
            200 => {
                let directions = body.limit(LONGEST_ANSWER).read_json();
                directions.map(Some).map_err(|e| {
                    format!(
                        "its answer holds no directions: {}",
                        sanitize::visible(&e.to_string())
                    )
                })
            }
            204 => Ok(None),
            _ => Err(refusal(
                status,
                &body
                    .limit(LONGEST_REFUSAL)
                    .lossy_utf8(true)
                    .read_to_string()
                    .unwrap_or_default(),
            )),
        }
    }

    /// Sends the newest of `reports` whenever there is a new one, and passes directions on, until
    /// the sender of reports is gone. The log says when the first report was taken. While the
    /// controller is away, the log names each reason once; it also says when the controller is back.
    pub async fn run(
        self,
        mut reports: watch::Receiver<Arc<HostReport>>,
        directions: watch::Sender<ProbeDirections>,
    ) {
        let mut away: Option<ControllerOutage> = None;
        let mut reported = false;
        while reports.changed().await.is_ok() {
            loop {
                // Taken anew for each attempt: by then there may be a newer report.
                let report = reports.borrow_and_update().clone();
                let controller = self.clone();
                // The client blocks on the network, so it runs in a thread of its own.
                let answer = tokio::task::spawn_blocking(move || controller.post(&report)).await;
                let problem = match answer.unwrap_or_else(|e| Err(e.to_string())) {
                    Ok(new) => {
                        service_manager::tell_status(&format!("reports to {}", self.address));
                        if !std::mem::replace(&mut reported, true) {
                            away = None;
                            tracing::info!("controller {}: took the first report", self.address);
                        } else if let Some(away) = away.take() {
                            tracing::info!(
                                "controller {}: takes reports again after {} s",
                                self.address,
                                away.since.elapsed().as_secs()
                            );
                        }
                        if let Some(new) = new {
                            directions.send_replace(new);
                        }
                        tokio::time::sleep(GAP).await;
                        break;
                    }
                    Err(problem) => problem,
                };
                service_manager::tell_status(&format!("{}: {problem}", self.address));
                let away = away.get_or_insert_with(ControllerOutage::new);
                if away.is_news(&problem) {
                    tracing::warn!(
                        "controller {}: {problem}; the newest report waits, tried again with \
                         growing pauses",
                        self.address
                    );
                }
                tokio::time::sleep(with_jitter(away.pause)).await;
                away.pause = (away.pause * 2).min(LONGEST_PAUSE);
                if reports.has_changed().is_err() {
                    return;
                }
            }
        }
    }
}

struct ControllerOutage {
    since: Instant,
    /// The reasons already logged.
    reported: BTreeSet<String>,
    pause: Duration,
}

impl ControllerOutage {
    fn new() -> ControllerOutage {
        ControllerOutage {
            since: Instant::now(),
            reported: BTreeSet::new(),
            pause: FIRST_PAUSE,
        }
    }

    /// True if a reason should be logged.
    fn is_news(&mut self, problem: &str) -> bool {
        self.reported.len() < REASONS && self.reported.insert(problem.to_owned())
    }
}

/// The reason why no answer came, with a remedy if one is known.
fn explained(error: &ureq::Error) -> String {
    tls::fault::explained(error).unwrap_or_else(|| sanitize::visible(&error.to_string()))
}

/// The text for a refusal. The controller itself says why it refused a report.
fn refusal(status: u16, answer: &str) -> String {
    match status {
        401 => "wants the agents' token; give the one of its --agent-token-file as --token-file \
                and start the agent again"
            .to_owned(),
        400 => "answers with status 400; a controller with a certificate wants https:// and --ca \
                FILE"
            .to_owned(),
        404 => "takes no reports; is it a heddle controller?".to_owned(),
        _ => format!(
            "answers with status {status}: {}",
            sanitize::clean_line(answer)
        ),
    }
}

/// Between three and five quarters of a pause, so that the agents of a cluster that lost its
/// controller do not all come back at once.
fn with_jitter(pause: Duration) -> Duration {
    // The keys of a RandomState are random. Nothing here needs a better source.
    let random = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish();
    // An f64 holds 53 bits exactly.
    pause.mul_f64(0.75 + 0.5 * (random >> 11) as f64 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests;
