//! The rights to view and to report: a bearer token for each (RFC 6750, 2.1).
//!
//! Without a viewers' token every user of this machine may view, and the API listens on loopback
//! only. Without an agents' token nobody may report: reports influence the schedules of all jobs,
//! so a user of this machine must not send them.
use super::HttpError;
use agent::secrets;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use subtle::ConstantTimeEq;

const SCHEME: &[u8] = b"Bearer ";
/// The shortest token; shorter ones could be guessed.
const SHORTEST: usize = 16;

/// A token that a client must send.
#[derive(Clone)]
pub struct BearerToken(Arc<str>);

impl BearerToken {
    /// Reads a token: the file's text without white space around it.
    ///
    /// # Errors
    /// [`HttpError::Token`] if it cannot be read, is too short, or cannot be sent in a header.
    pub fn read(path: &Path) -> Result<BearerToken, HttpError> {
        let bad = |problem: String| HttpError::Token {
            path: path.to_owned(),
            problem,
        };
        let text = secrets::text(path).map_err(bad)?;
        match text.trim() {
            t if t.len() < SHORTEST => Err(bad(format!(
                "expected at least {SHORTEST} characters, such as `openssl rand -hex 32` gives"
            ))),
            t if !t.bytes().all(|b| b.is_ascii_graphic()) => {
                Err(bad("expected printable ASCII without blanks".to_owned()))
            }
            t => {
                if let Some(warning) = secrets::exposure_warning(path) {
                    tracing::warn!("{warning}");
                }
                Ok(BearerToken(t.into()))
            }
        }
    }

    #[cfg(test)]
    pub(super) fn new(text: &str) -> BearerToken {
        BearerToken(text.into())
    }

    fn fits(&self, headers: &HeaderMap) -> bool {
        // The scheme may be in upper or lower case, and any number of blanks follows it (RFC 9110,
        // 11.4).
        let shown = headers
            .get(header::AUTHORIZATION)
            .and_then(|v| v.as_bytes().split_at_checked(SCHEME.len()))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
            .map(|(_, token)| token.trim_ascii_start());
        // In constant time, so that no answer shows how much of a guessed token is right.
        shown.is_some_and(|shown| shown.ct_eq(self.0.as_bytes()).into())
    }
}

/// The tokens of an API.
#[derive(Clone, Default)]
pub struct ApiTokens {
    viewers: Option<BearerToken>,
    agents: Option<BearerToken>,
}

impl ApiTokens {
    /// Pairs the tokens. Each gives one right only.
    ///
    /// # Errors
    /// [`HttpError::OneToken`] if they are the same.
    pub fn new(
        viewers: Option<BearerToken>,
        agents: Option<BearerToken>,
    ) -> Result<ApiTokens, HttpError> {
        match (&viewers, &agents) {
            (Some(v), Some(a)) if v.0 == a.0 => Err(HttpError::OneToken),
            _ => Ok(ApiTokens { viewers, agents }),
        }
    }

    /// Returns whether viewing needs no token.
    pub fn all_may_view(&self) -> bool {
        self.viewers.is_none()
    }

    /// Returns whether agents may report.
    pub fn takes_reports(&self) -> bool {
        self.agents.is_some()
    }
}

fn opens(token: Option<&BearerToken>, headers: &HeaderMap) -> bool {
    token.is_some_and(|t| t.fits(headers))
}

/// Lets clients with the viewers' token view.
pub(super) async fn viewing(
    State(keys): State<ApiTokens>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    match &keys.viewers {
        None if names_this_machine(&request) => next.run(request).await,
        None => (
            StatusCode::FORBIDDEN,
            "expected an address and a Host header that name this machine: localhost or a \
             loopback address\n",
        )
            .into_response(),
        Some(token) if token.fits(headers) => next.run(request).await,
        Some(_) if opens(keys.agents.as_ref(), headers) => (
            StatusCode::FORBIDDEN,
            "this is the agents' token: it may report, but not view\n",
        )
            .into_response(),
        Some(_) => unauthorized("the viewers' token (--token-file)"),
    }
}

/// Lets clients with the agents' token report.
pub(super) async fn reporting(
    State(keys): State<ApiTokens>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    match &keys.agents {
        Some(token) if token.fits(headers) => next.run(request).await,
        _ if opens(keys.viewers.as_ref(), headers) => {
            let text = "this is the viewers' token: it may view, but not report; agents need the \
                        token of the controller's --agent-token-file\n";
            (StatusCode::FORBIDDEN, text).into_response()
        }
        Some(_) => unauthorized("the agents' token (--agent-token-file)"),
        None => (
            StatusCode::FORBIDDEN,
            "this controller takes no reports: start it with --agent-token-file FILE\n",
        )
            .into_response(),
    }
}

fn unauthorized(whose: &str) -> Response {
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (
        StatusCode::UNAUTHORIZED,
        challenge,
        format!("expected the header \"Authorization: Bearer TOKEN\" with {whose}\n"),
    )
        .into_response()
}

/// Without a token, only requests to names of this machine are served: otherwise a web page whose
/// name resolves to loopback could read the API through a browser on this machine. A target in
/// absolute form has a name, too (RFC 9112, 3.2.2).
fn names_this_machine(request: &Request) -> bool {
    let stated = request
        .headers()
        .get_all(header::HOST)
        .iter()
        .map(|host| host.to_str().unwrap_or_default());
    stated
        .chain(request.uri().authority().map(Authority::as_str))
        .all(is_this_machine)
}

fn is_this_machine(authority: &str) -> bool {
    let with_port = authority
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = with_port.map_or(authority, |(name, _)| name);
    let ip = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback())
}
