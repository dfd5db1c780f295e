//! Metric names with their help texts, and the recorder that both services share.

use std::sync::OnceLock;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// HTTP requests answered, by method, route and status.
pub const HTTP_REQUESTS: &str = "vitrina_http_requests_total";
/// How long answers took, by method and route.
pub const HTTP_REQUEST_DURATION: &str = "vitrina_http_request_duration_seconds";
/// Runs that ended, by pipeline, mode and status.
pub const RUNS: &str = "vitrina_runs_total";
/// How long runs took, by pipeline.
pub const RUN_DURATION: &str = "vitrina_run_duration_seconds";
/// Rows that queries returned, by pipeline.
pub const ROWS_READ: &str = "vitrina_rows_read_total";
/// Rows that were inserted or changed, by pipeline and sink.
pub const ROWS_WRITTEN: &str = "vitrina_rows_written_total";
/// Batches, by pipeline and result.
pub const BATCHES: &str = "vitrina_batches_total";
/// How long batches took, by pipeline.
pub const BATCH_DURATION: &str = "vitrina_batch_duration_seconds";
/// How long parts of the work took, by pipeline and phase.
pub const BATCH_PHASE: &str = "vitrina_batch_phase_seconds";
/// From the commit of a job to its handler.
pub const WAKEUP: &str = "vitrina_wakeup_seconds";
/// Attempts that failed and are repeated, by pipeline and class.
pub const RETRIES: &str = "vitrina_retries_total";
/// Jobs and pipelines that were brought back after a crash.
pub const RECOVERED: &str = "vitrina_recovered_jobs_total";
/// Batches that were refused because another worker had them.
pub const FENCED: &str = "vitrina_fenced_batches_total";
/// Reports that ended, by kind and status.
pub const REPORTS: &str = "vitrina_reports_total";
/// How long reports took in a worker's hands, by kind.
pub const REPORT_DURATION: &str = "vitrina_report_duration_seconds";
/// How far the safe horizon is behind the clock, by pipeline.
pub const HORIZON_LAG: &str = "vitrina_horizon_lag_seconds";
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

/// The media type of [`render`].
pub const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything that was counted so far, in Prometheus' text format.
pub fn render() -> String {
    recorder().map(PrometheusHandle::render).unwrap_or_default()
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
    describe_counter!(RUNS, "Runs that ended");
    describe_histogram!(RUN_DURATION, Unit::Seconds, "Time from a run's first batch to its end");
    describe_counter!(ROWS_READ, "Rows that queries returned");
    describe_counter!(ROWS_WRITTEN, "Rows that were inserted or changed in a target");
    describe_counter!(BATCHES, "Batches executed");
    describe_histogram!(BATCH_DURATION, Unit::Seconds, "Time of a batch, from its begin to its commit");
    describe_histogram!(BATCH_PHASE, Unit::Seconds, "Time of a part of the work");
    describe_histogram!(WAKEUP, Unit::Seconds, "Time from a job being queued to its handler");
    describe_counter!(RETRIES, "Attempts that failed and are repeated");
    describe_counter!(RECOVERED, "Jobs and pipelines that were brought back after a crash");
    describe_counter!(FENCED, "Batches refused because another worker had committed them");
    describe_counter!(REPORTS, "Reports that ended");
    describe_histogram!(REPORT_DURATION, Unit::Seconds, "Time of a report in a worker's hands");
    describe_gauge!(HORIZON_LAG, Unit::Seconds, "How far behind the clock the rows are that can be read safely");
    describe_gauge!(BUILD_INFO, "Constant 1, labelled with the version");
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Some(handle)
}
