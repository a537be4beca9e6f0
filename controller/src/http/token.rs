//! Who may read the API and who may report: two bearer tokens (RFC 6750, 2.1), or one for both.
use super::HttpError;
use agent::secrets;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// A token shorter than this could be guessed.
const SHORTEST: usize = 16;

/// What a client must show.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Reads a token: the file's text without white space around it.
    ///
    /// # Errors
    /// [`HttpError::Token`] where it cannot be read, is short, or could not be sent in a header.
    pub fn read(path: &Path) -> Result<Token, HttpError> {
        let bad = |problem: String| HttpError::Token { path: path.to_owned(), problem };
        let text = secrets::text(path).map_err(bad)?;
        match text.trim() {
            t if t.len() < SHORTEST => Err(bad(format!("expected at least {SHORTEST} characters, such as `openssl rand -hex 32` gives"))),
            t if !t.bytes().all(|b| b.is_ascii_graphic()) => Err(bad("expected printable ASCII without blanks".to_owned())),
            t => {
                if let Some(warning) = secrets::exposed(path) {
                    tracing::warn!("{warning}");
                }
                Ok(Token(t.into()))
            }
        }
    }

    #[cfg(test)]
    pub(super) fn new(text: &str) -> Token {
        Token(text.into())
    }

    fn fits(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION).and_then(|v| v.as_bytes().strip_prefix(b"Bearer "));
        shown.is_some_and(|shown| shown.ct_eq(self.0.as_bytes()).into())
    }
}

/// The tokens of an API.
#[derive(Clone, Default)]
pub struct Keys {
    whole: Option<Token>,
    agents: Option<Token>,
}

impl Keys {
    /// `whole` opens everything, `agents` takes reports only. One alone serves both.
    pub fn new(whole: Option<Token>, agents: Option<Token>) -> Keys {
        match whole {
            Some(_) => Keys { whole, agents },
            None => Keys { whole: agents, agents: None },
        }
    }

    /// Whether no token is asked for.
    pub fn is_open(&self) -> bool {
        self.whole.is_none()
    }
}

/// Lets those read who show the whole token.
pub(super) async fn reading(State(keys): State<Keys>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    match &keys.whole {
        None => from_here(request, next).await,
        Some(token) if token.fits(headers) => next.run(request).await,
        Some(_) if keys.agents.is_some_and(|t| t.fits(headers)) => {
            (StatusCode::FORBIDDEN, "this token is the agents': it may report, and read nothing\n").into_response()
        }
        Some(_) => unauthorized(),
    }
}

/// Lets those report who show either token.
pub(super) async fn reporting(State(keys): State<Keys>, request: Request, next: Next) -> Response {
    match &keys.whole {
        None => from_here(request, next).await,
        Some(whole) if [Some(whole), keys.agents.as_ref()].into_iter().flatten().any(|t| t.fits(request.headers())) => {
            next.run(request).await
        }
        Some(_) => unauthorized(),
    }
}

fn unauthorized() -> Response {
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, "expected the header \"Authorization: Bearer TOKEN\" with the controller's token\n")
        .into_response()
}

/// Without a token only names of this machine are served: a web page that made its own name resolve to loopback could
/// otherwise read the API through somebody's browser.
async fn from_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or("localhost");
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(name, _)| name);
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "expected a Host header that names this machine: localhost or a loopback address\n").into_response()
}
