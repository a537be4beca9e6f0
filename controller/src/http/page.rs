//! The page for browsers: HTML, a style sheet and a script, all from this program. They hold no
//! data, so they need no token; the script asks the API, with the token that its user enters.
//!
//! The policy lets the page load nothing from elsewhere and run nothing but its own file, whatever
//! names the network has.
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};

const HTML: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
const JS: &str = include_str!("page/page.js");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page's files.
pub(super) fn routes() -> Router {
    Router::new()
        .route(
            "/",
            get(|| async { file("text/html; charset=utf-8", HTML.to_owned()) }),
        )
        .route(
            "/page.css",
            get(|| async { file("text/css; charset=utf-8", css()) }),
        )
        .route(
            "/page.js",
            get(|| async { file("text/javascript; charset=utf-8", JS.to_owned()) }),
        )
        .route_layer(middleware::map_response(guarded))
}

/// The page's own rules, and the colours of pictures.
fn css() -> String {
    format!("{CSS}\n{}", drawing::palette::css())
}

fn file(kind: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn guarded(response: Response) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, response)
}
