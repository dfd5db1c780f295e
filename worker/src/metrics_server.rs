//! `/metrics` and `/health` of a worker.
//!
//! It only shows numbers, yet a website that a browser of this machine shows need not read them: on loopback the listener
//! answers this machine alone, as the API does without tokens ([`vitrina_shared::local_request`]). Elsewhere, and with a token,
//! it is called by whatever name the network has for it.

use std::net::SocketAddr;

use salvo::{
    Depot, FlowCtrl, Listener, Request, Response, Router, Server, Service,
    conn::TcpListener,
    handler,
    http::{HeaderValue, StatusCode, header, uri::Authority},
    writing::Text,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::MetricsToken,
    local_request::{ForeignRequest, Provenance},
    metrics,
};

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr}: {reason}; choose another address with VITRINA_METRICS_ADDR")]
pub struct MetricsServerError {
    addr: SocketAddr,
    reason: String,
}

/// Serves until `stop` is cancelled. `/metrics` asks for the token, where there is one.
pub async fn serve(
    addr: SocketAddr,
    token: Option<MetricsToken>,
    stop: CancellationToken,
) -> Result<JoinHandle<()>, MetricsServerError> {
    let acceptor = TcpListener::new(addr)
        .try_bind()
        .await
        .map_err(|error| MetricsServerError { addr, reason: error.to_string() })?;
    let service = service(addr, token);
    let server = Server::new(acceptor);
    let handle = server.handle();
    tokio::spawn(async move {
        stop.cancelled().await;
        handle.stop_graceful(std::time::Duration::from_secs(1));
    });
    tracing::info!(%addr, "metrics listening");
    Ok(tokio::spawn(async move {
        if let Err(error) = server.try_serve(service).await {
            tracing::warn!(error = %error, "the metrics server ended");
        }
    }))
}

fn service(addr: SocketAddr, token: Option<MetricsToken>) -> Service {
    let local_only = token.is_none() && addr.ip().to_canonical().is_loopback();
    let router = Router::new()
        .push(Router::with_path("metrics").get(Metrics(token)))
        .push(Router::with_path("health").get(health));
    if local_only { Service::new(router).hoop(refuse_foreign) } else { Service::new(router) }
}

#[handler]
async fn refuse_foreign(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    match check(req) {
        Ok(()) => {
            ctrl.call_next(req, depot, res).await;
        }
        Err(refusal) => {
            res.status_code(StatusCode::FORBIDDEN);
            res.render(Text::Plain(refusal.to_string()));
            ctrl.skip_rest();
        }
    }
}

fn check(req: &Request) -> Result<(), ForeignRequest> {
    let values = |name: &'static str| req.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect();
    Provenance::of(req.uri().authority().map(Authority::as_str), values).check()
}

struct Metrics(Option<MetricsToken>);

#[handler]
impl Metrics {
    fn handle(&self, req: &mut Request, res: &mut Response) {
        let authorization = req.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if self.0.as_ref().is_some_and(|token| !token.admits(authorization)) {
            res.status_code(StatusCode::UNAUTHORIZED);
            res.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            res.render(Text::Plain("send `Authorization: Bearer <token>` with the token of VITRINA_METRICS_TOKEN"));
            return;
        }
        res.render(Text::Plain(metrics::render()));
        res.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(metrics::TEXT_FORMAT));
    }
}

#[handler]
fn health(res: &mut Response) {
    res.render(Text::Json(r#"{"status":"ok"}"#));
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::DropGuard;
    use vitrina_shared::config::{Env, WorkerConfig};

    use super::*;

    const TOKEN: &str = "prometheus-secret-1";

    struct Listening {
        port: u16,
        _stop: DropGuard,
    }

    impl Listening {
        async fn on(ip: &str, settings: &[(&str, &str)]) -> Self {
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("its address").port();
            drop(free);
            let addr = format!("{ip}:{port}");
            let pairs = settings.iter().copied().chain([("VITRINA_METRICS_ADDR", addr.as_str())]);
            let config: WorkerConfig = Env::from_pairs(pairs).read().expect("good settings");
            let stop = CancellationToken::new();
            serve(config.metrics_addr, config.metrics_token, stop.clone()).await.expect("it listens");
            Self { port, _stop: stop.drop_guard() }
        }

        /// The status of the answer to a request with these headers.
        async fn answer(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
            let client = reqwest::Client::builder().no_proxy().build().expect("a client");
            let request = client.get(format!("http://127.0.0.1:{}{path}", self.port));
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            request.send().await.expect("an answer").status().as_u16()
        }
    }

    #[tokio::test]
    async fn on_loopback_no_other_website_reads_the_metrics() {
        let worker = Listening::on("127.0.0.1", &[]).await;
        for (headers, status) in [
            (&[][..], 200),
            (&[("host", "127.0.0.1:9091")][..], 200),
            (&[("host", "localhost:9091"), ("origin", "http://localhost:9091")][..], 200),
            (&[("host", "rebound.example:9091")][..], 403),
            (&[("host", "localhost:9091"), ("origin", "http://rebound.example")][..], 403),
            (&[("host", "localhost:9091"), ("sec-fetch-site", "cross-site")][..], 403),
        ] {
            for path in ["/metrics", "/health"] {
                assert_eq!(worker.answer(path, headers).await, status, "{path} {headers:?}");
            }
        }
    }

    #[tokio::test]
    async fn elsewhere_a_worker_is_called_by_whatever_name_it_has() {
        let worker = Listening::on("0.0.0.0", &[]).await;
        assert_eq!(worker.answer("/metrics", &[("host", "worker:9091")]).await, 200);
    }

    #[tokio::test]
    async fn with_a_token_only_its_bearer_reads_the_metrics_and_everyone_asks_for_health() {
        let worker = Listening::on("127.0.0.1", &[("VITRINA_METRICS_TOKEN", TOKEN)]).await;
        let host = ("host", "worker.example:9091");
        assert_eq!(worker.answer("/metrics", &[host]).await, 401);
        for wrong in ["Bearer prometheus-secret-2", "Bearer", "Basic prometheus-secret-1", TOKEN] {
            assert_eq!(worker.answer("/metrics", &[host, ("authorization", wrong)]).await, 401, "{wrong}");
        }
        let right = ("authorization", "Bearer prometheus-secret-1");
        assert_eq!(worker.answer("/metrics", &[host, right]).await, 200);
        assert_eq!(worker.answer("/health", &[host]).await, 200);
    }
}
