//! The sources of snapshots: the controller's event stream, or a recorded file.
use crate::app::AppMessage;
use crate::sanitize;
use api::Snapshot;
use api::mapping::MappingTicket;
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::http::Response;
use ureq::tls::Certificate;
use ureq::{Body, RequestBuilder};

/// A source of snapshots.
#[derive(Debug, Clone)]
pub enum SnapshotSource {
    /// `GET url/v1/events`: server-sent events, one `snapshot` for each change and at least one a
    /// second.
    Http(ControllerAccess),
    /// One recorded snapshot, which stands still.
    File(PathBuf),
}

/// A controller, with everything that is needed to ask it.
#[derive(Debug, Clone)]
pub struct ControllerAccess {
    /// Like `http://127.0.0.1:7171`.
    pub url: String,
    /// The token, sent as `Authorization: Bearer`.
    pub token: Option<String>,
    /// The authorities that certify an `https://` controller; empty for the public ones.
    pub authorities: Vec<Certificate<'static>>,
}

/// The limit of the time to connect, and of the silence before a connection counts as dead.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(15);
/// The pauses between attempts: doubled from the first to the last.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LAST_WAIT: Duration = Duration::from_secs(4);
/// The limit of an event, in bytes. A snapshot of thousands of hosts stays far below it.
const LONGEST: usize = 64 << 20;

impl ControllerAccess {
    fn client(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .tls_config(tls::authorities::trusting(&self.authorities))
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(SILENCE))
            .max_redirects(0) // It would take the token with it.
            .http_status_as_error(false)
            .build();
        ureq::Agent::new_with_config(config)
    }

    /// Follows the event stream until `stop` is set or `send` refuses a message. It sends a picture
    /// for each snapshot, and [`AppMessage::Lost`] when the connection is lost.
    pub fn follow(&self, stop: &AtomicBool, send: impl Fn(AppMessage) -> bool) {
        let client = self.client();
        let mut wait = FIRST_WAIT;
        while !stop.load(Ordering::Relaxed) {
            let mut seen = false;
            let ended = self.listen(&client, |message| {
                seen = true;
                !stop.load(Ordering::Relaxed) && send(message)
            });
            let Err(why) = ended else { return };
            if !send(AppMessage::Lost(why)) {
                return;
            }
            wait = if seen {
                FIRST_WAIT
            } else {
                (wait * 2).min(LAST_WAIT)
            };
            std::thread::park_timeout(wait);
        }
    }

    /// Asks for one snapshot.
    ///
    /// # Errors
    /// The reason why none came.
    pub fn snapshot(&self) -> Result<Snapshot, String> {
        let mut response = self.ask(&self.client(), "/v1/snapshot")?;
        let body = response.body_mut().with_config().limit(LONGEST as u64);
        let json = body.read_to_string().map_err(|e| self.failed(e))?;
        sanitize::snapshot(&json).map_err(|e| self.not_understood(&e))
    }

    /// Orders the controller to measure unmanaged places. Returns the number of the order.
    ///
    /// # Errors
    /// The reason why it is not taken.
    pub fn order_mapping(&self) -> Result<u64, String> {
        let order = self.client().post(format!("{}/v1/map", self.url));
        let order = self.with_token(order).content_type("application/json");
        let answer = order.send("{}").map_err(|e| self.explained(&e))?;
        let mut response = match answer.status().as_u16() {
            404 | 405 => return Err(self.failed("measures nothing; is it an older controller?")),
            429 => return Err(self.failed("orders come too often; try again in some seconds")),
            _ => self.accepted(answer)?,
        };
        let body = response.body_mut().read_to_string();
        let json = body.map_err(|e| self.failed(e))?;
        let ticket: MappingTicket =
            serde_json::from_str(&json).map_err(|e| self.not_understood(&e))?;
        Ok(ticket.request)
    }

    /// Reads one connection to its end. Gives `Ok` when `send` refuses a message, and the reason of
    /// the end otherwise.
    fn listen(
        &self,
        client: &ureq::Agent,
        mut send: impl FnMut(AppMessage) -> bool,
    ) -> Result<(), String> {
        let body = self.ask(client, "/v1/events")?.into_body();
        // The stream goes on for ever. Its lines and events have a limit instead.
        let endless = body.into_with_config().limit(u64::MAX);
        let mut lines = BufReader::new(endless.reader());
        let mut event = ServerSentEvent::default();
        while let Some(line) = line(&mut lines)? {
            let Some(data) = event.line(&line)? else {
                continue;
            };
            let snapshot = sanitize::snapshot(&data).map_err(|e| self.not_understood(&e))?;
            if !send(AppMessage::Picture(Box::new(snapshot))) {
                return Ok(());
            }
        }
        Err(self.failed("the controller closed the connection"))
    }

    /// A successful answer to `GET url/path`.
    fn ask(&self, client: &ureq::Agent, path: &str) -> Result<Response<Body>, String> {
        let request = self.with_token(client.get(format!("{}{path}", self.url)));
        self.accepted(request.call().map_err(|e| self.explained(&e))?)
    }

    fn with_token<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// The answer, if it is a good one.
    fn accepted(&self, mut response: Response<Body>) -> Result<Response<Body>, String> {
        let problem = match response.status().as_u16() {
            200 => return Ok(response),
            400 if !self.url.starts_with("https:") => {
                "answers with status 400; a controller with a certificate wants https:// and --ca FILE"
            }
            401 if self.token.is_none() => {
                "it wants a token; give the viewers' one with --token-file or HEDDLE_TOKEN_FILE"
            }
            401 => "token refused; give the viewers' one with --token-file or HEDDLE_TOKEN_FILE",
            403 => &format!(
                "answers with status 403: {}",
                first_words(response.body_mut())
            ),
            503 => "too many viewers of this address follow it; close some",
            status => &format!("answers with status {status}; is this a heddle controller?"),
        };
        Err(self.failed(problem))
    }

    /// The reason why no answer came, with a remedy if one is known.
    fn explained(&self, error: &ureq::Error) -> String {
        self.failed(tls::fault::explained(error).unwrap_or_else(|| error.to_string()))
    }

    fn not_understood(&self, error: &serde_json::Error) -> String {
        self.failed(format!(
            "snapshot not understood: {error}; controller and viewer of different versions?"
        ))
    }

    fn failed(&self, problem: impl Display) -> String {
        format!("{}: {problem}", self.url)
    }
}

/// The text of a refusal.
fn first_words(body: &mut Body) -> String {
    let words = body.with_config().limit(1 << 10).read_to_string();
    words.unwrap_or_default().trim_end().to_owned()
}

/// The next line without its line end; `None` at the end of the stream.
fn line(stream: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = std::io::Read::take(stream, LONGEST as u64)
        .read_until(b'\n', &mut bytes)
        .map_err(|e| e.to_string())?;
    if read == 0 {
        return Ok(None);
    }
    while bytes.last().is_some_and(|b| b"\r\n".contains(b)) {
        bytes.pop();
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| "the controller sent something that is not UTF-8".to_owned())
}

/// One event of the stream as it comes in, line by line (HTML Living Standard, section 9.2.6).
#[derive(Debug, Default)]
struct ServerSentEvent {
    name: String,
    data: String,
}

impl ServerSentEvent {
    /// Takes in a line; gives the data of a `snapshot` event at its end.
    fn line(&mut self, line: &str) -> Result<Option<String>, String> {
        if line.is_empty() {
            let done = std::mem::take(self);
            return Ok((done.name == "snapshot" && !done.data.is_empty()).then_some(done.data));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                if self.data.len() > LONGEST {
                    return Err("the controller sent an event without end".to_owned());
                }
            }
            // Comments keep the connection alive; `id` and `retry` mean nothing here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<String> {
        let mut event = ServerSentEvent::default();
        let mut stream = text.as_bytes();
        let mut seen = Vec::new();
        while let Some(line) = line(&mut stream).unwrap() {
            seen.extend(event.line(&line).unwrap());
        }
        seen
    }

    #[test]
    fn reads_events_as_the_standard_says() {
        assert_eq!(
            events("event: snapshot\ndata: {\"a\":\ndata: 1}\n\n"),
            ["{\"a\":\n1}"]
        );
        assert_eq!(
            events(": alive\r\n\r\nevent:snapshot\r\nid: 7\r\ndata:x\r\n\r\n"),
            ["x"]
        );
        assert_eq!(
            events("data: nameless\n\nevent: other\ndata: y\n\nevent: snapshot\n\n"),
            [""; 0]
        );
        assert_eq!(events("event: snapshot\ndata: torn"), [""; 0]);
    }
}
