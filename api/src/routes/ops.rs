//! Routes for operators: health, readiness, metrics.

use salvo::{
    Depot, Request, Response, Router,
    http::header,
    oapi::{ToSchema, endpoint},
    writing::{Json, Text},
};
use serde::Serialize;
use vitrina_shared::{database, metrics, migrate};

use crate::{
    app::App,
    middleware,
    problem::{ApiError, ApiResult},
};

/// These routes need no token of `VITRINA_TOKENS`; `/metrics` may have its own (`VITRINA_METRICS_TOKEN`).
pub fn router() -> Router {
    Router::new()
        .push(Router::with_path("health").get(health))
        .push(Router::with_path("ready").get(ready))
        .push(Router::with_path("metrics").get(show_metrics))
}

/// The service is alive, or ready.
#[derive(Serialize, ToSchema)]
struct Healthy {
    /// `ok` or `ready`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
}

/// Alive: the process answers.
#[endpoint(operation_id = "getHealth", tags("service"))]
async fn health() -> Json<Healthy> {
    Json(Healthy { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Ready: the database answers, has all migrations and takes writes.
#[endpoint(operation_id = "getReadiness", tags("service"), status_codes(200, 503))]
async fn ready(depot: &mut Depot) -> ApiResult<Json<Healthy>> {
    let app = App::of(depot)?;
    let mut connection = app.db().acquire().await?;
    let pending = migrate::pending(&mut connection).await?;
    if pending > 0 {
        return Err(ApiError::NotMigrated(pending));
    }
    if !database::takes_writes(&mut connection).await? {
        return Err(ApiError::ReadOnly);
    }
    Ok(Json(Healthy { status: "ready", version: env!("CARGO_PKG_VERSION") }))
}

/// Metrics of this process and of the deployment, for Prometheus.
// While the database is away, only the metrics of the process are shown.
#[endpoint(
    operation_id = "getMetrics",
    tags("service"),
    responses((status_code = 200, description = "Prometheus text format", content_type = "text/plain", body = String)),
    status_codes(200, 401)
)]
async fn show_metrics(req: &mut Request, depot: &mut Depot, res: &mut Response) -> Result<(), ApiError> {
    let app = App::of(depot)?;
    let authorization = req.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if app.config.metrics_token.as_ref().is_some_and(|token| !token.admits(authorization)) {
        return Err(ApiError::MetricsUnauthorized);
    }
    // The same rule as a worker's: on loopback and without a token, only clients of this machine are answered.
    if app.config.metrics_token.is_none() && app.config.addr.ip().to_canonical().is_loopback() {
        middleware::check_local(req).map_err(|refusal| ApiError::Foreign(refusal, "VITRINA_METRICS_TOKEN"))?;
    }
    let deployment = app.deployment.render(&app.db()).await;
    res.render(Text::Plain(metrics::render() + &deployment));
    let format = salvo::http::HeaderValue::from_static(metrics::TEXT_FORMAT);
    res.headers_mut().insert(header::CONTENT_TYPE, format);
    Ok(())
}
