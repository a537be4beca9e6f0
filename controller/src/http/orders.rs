//! `POST /v1/map`: an operator orders that unmanaged places are measured now.
//! `POST /v1/hosts/NAME/flows`: a host that takes part tells its progress, and gets its next order.
//!
//! An order costs no more than what the inventory allows: the engine decides. So the viewers' right
//! suffices. The body must be JSON, which a page of another site cannot send unasked.
use super::rate_limiter::RateLimiter;
use super::reports::ReportIntake;
use crate::clock::SteadyClock;
use crate::engine::ControllerEvent;
use api::mapping::MappingTicket;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use flows::{FlowReply, FlowStatement};
use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Orders to measure: one in two seconds, five at once.
const ORDERS: RateLimiter = RateLimiter::new(Duration::from_secs(2), 5);

/// The longest body.
pub(super) const LONGEST: usize = 8 << 10;

/// Takes operators' orders.
#[derive(Clone)]
pub struct MappingOrders {
    clock: SteadyClock,
    events: mpsc::Sender<ControllerEvent>,
    pace: Arc<Mutex<RateLimiter>>,
}

/// The body of an order, which says nothing so far.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderBody {}

impl MappingOrders {
    /// Orders become `events`.
    pub(crate) fn new(clock: SteadyClock, events: mpsc::Sender<ControllerEvent>) -> MappingOrders {
        MappingOrders {
            clock,
            events,
            pace: Arc::new(Mutex::new(ORDERS)),
        }
    }
}

/// The handler of operators' orders.
pub(super) async fn map(
    State(orders): State<MappingOrders>,
    Json(OrderBody {}): Json<OrderBody>,
) -> Result<Json<MappingTicket>, Response> {
    let pace = orders
        .pace
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take(Instant::now());
    if let Err(wait) = pace {
        let after = [(header::RETRY_AFTER, wait.as_secs().max(1).to_string())];
        let text = "orders come too often; what the last one came to is in the snapshot\n";
        return Err((StatusCode::TOO_MANY_REQUESTS, after, text).into_response());
    }
    let request = orders.clock.now().0;
    // The send fails only while the daemon stops.
    let _ = orders
        .events
        .send(ControllerEvent::MappingOrdered { request })
        .await;
    Ok(Json(MappingTicket { request }))
}

/// The handler of hosts' progress.
pub(super) async fn flows(
    State(intake): State<ReportIntake>,
    Path(host): Path<String>,
    Json(statement): Json<FlowStatement>,
) -> Json<FlowReply> {
    Json(intake.flows().step(&host, &statement).await)
}
