//! The request's id on the answer and on every log line, the access log and the HTTP metrics.

use std::{sync::Arc, time::Instant};

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, async_trait,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
};
use tracing::Instrument;
use uuid::Uuid;
use vitrina_shared::{
    jobs::trace_context::{self, TRACEPARENT},
    metrics::{HTTP_REQUEST_DURATION, HTTP_REQUESTS},
};

use crate::app::App;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id that an answer, its log lines and its transitions share.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

impl RequestId {
    /// The client's id if it is valid, else a new one.
    fn of(req: &Request) -> Self {
        let sane = |id: &&str| {
            (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/+=@".contains(&b))
        };
        let given = req.headers().get(X_REQUEST_ID).and_then(|value| value.to_str().ok()).filter(sane);
        Self(given.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned))
    }
}

/// The outermost layer: every request passes it, also one without a route.
pub struct RequestContext(pub Arc<App>);

#[async_trait]
impl Handler for RequestContext {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        let start = Instant::now();
        let id = RequestId::of(req);
        let span = tracing::info_span!("request", correlation_id = %id.0);
        trace_context::go_on(&span, req.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok()));
        add_headers(res, &id);
        depot.insert_typed(self.0.clone());
        depot.insert_typed(id);
        ctrl.call_next(req, depot, res).instrument(span.clone()).await;
        span.in_scope(|| record(req, res, start));
    }
}

fn add_headers(res: &mut Response, id: &RequestId) {
    let headers = res.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

fn record(req: &Request, res: &Response, start: Instant) {
    let status = res.status_code.unwrap_or(StatusCode::NOT_FOUND);
    let route = match req.matched_path() {
        "" => "unmatched".to_owned(),
        path => path.to_owned(),
    };
    let method = known_method(req.method());
    let elapsed = start.elapsed();
    metrics::counter!(HTTP_REQUESTS, "method" => method, "route" => route.clone(), "status" => status.as_u16().to_string())
        .increment(1);
    metrics::histogram!(HTTP_REQUEST_DURATION, "method" => method, "route" => route.clone())
        .record(elapsed.as_secs_f64());
    let duration_ms = elapsed.as_secs_f64() * 1000.0;
    tracing::debug!(method, route, path = req.uri().path(), status = status.as_u16(), duration_ms, "request");
}

/// Labels are bounded: a client cannot invent methods.
fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "PUT" => "PUT",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}
