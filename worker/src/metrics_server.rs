//! `/metrics` and `/health` of a worker.

use std::net::SocketAddr;

use salvo::{
    Depot, FlowCtrl, Handler, Listener, Request, Response, Router, Server, async_trait,
    conn::TcpListener,
    http::{HeaderValue, header},
    writing::Text,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use vitrina_shared::metrics;

/// Why the worker cannot show its metrics.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr}: {reason}; choose another address with VITRINA_METRICS_ADDR")]
pub struct MetricsServerError {
    addr: SocketAddr,
    reason: String,
}

/// Serves until `stop` is cancelled.
pub async fn serve(addr: SocketAddr, stop: CancellationToken) -> Result<JoinHandle<()>, MetricsServerError> {
    let acceptor = TcpListener::new(addr)
        .try_bind()
        .await
        .map_err(|error| MetricsServerError { addr, reason: error.to_string() })?;
    let router =
        Router::new().push(Router::with_path("metrics").get(Metrics)).push(Router::with_path("health").get(Health));
    let server = Server::new(acceptor);
    let handle = server.handle();
    tokio::spawn(async move {
        stop.cancelled().await;
        handle.stop_graceful(std::time::Duration::from_secs(1));
    });
    tracing::info!(%addr, "metrics listening");
    Ok(tokio::spawn(async move {
        if let Err(error) = server.try_serve(router).await {
            tracing::warn!(error = %error, "the metrics server ended");
        }
    }))
}

struct Metrics;

#[async_trait]
impl Handler for Metrics {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        res.render(Text::Plain(metrics::render()));
        let format = HeaderValue::from_static(metrics::TEXT_FORMAT);
        res.headers_mut().insert(header::CONTENT_TYPE, format);
    }
}

struct Health;

#[async_trait]
impl Handler for Health {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        res.render(Text::Json(r#"{"status":"ok"}"#));
    }
}
