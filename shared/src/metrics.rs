//! Metric names with their help texts, and the recorder that both services share.

use std::sync::OnceLock;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// HTTP requests answered, by method, route and status.
pub const HTTP_REQUESTS: &str = "vitrina_http_requests_total";
/// How long answers took, by method and route.
pub const HTTP_REQUEST_DURATION: &str = "vitrina_http_request_duration_seconds";
/// Constant 1, labelled with the version.
pub const BUILD_INFO: &str = "vitrina_build_info";

/// From 1 ms, as every duration of ours.
const DURATION_BUCKETS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The process's recorder, installed on first use. `None` if another library installed one before.
pub fn recorder() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    HANDLE.get_or_init(install).as_ref()
}

fn install() -> Option<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), DURATION_BUCKETS)
        .ok()?
        .install_recorder()
        .inspect_err(|error| tracing::warn!(error = %error, "metrics are off"))
        .ok()?;
    describe_counter!(HTTP_REQUESTS, "HTTP requests answered");
    describe_histogram!(HTTP_REQUEST_DURATION, Unit::Seconds, "Time from the request's head to the answer's head");
    describe_gauge!(BUILD_INFO, "Constant 1, labelled with the version");
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Some(handle)
}
