//! Metric names, what they mean, and the recorder that both services share.
//!
//! A process records its own measurements with the macros of `metrics`. The counters of the whole deployment are in the
//! database, and the API reads them (`vitrina_api::deployment`): they are exact, and the death of a process loses none.

mod catalog;
mod exposition;
mod pipelines;
mod process;

use std::sync::OnceLock;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub use catalog::{CATALOG, Kind, Metric, ShownBy};
pub use exposition::Exposition;
pub use pipelines::{HISTOGRAM_PIPELINES, OTHERS, add_pipeline, histogram_label, limit_histograms, set_pipelines};

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
/// Rows that were put aside, by pipeline.
pub const ROWS_REJECTED: &str = "vitrina_rows_rejected_total";
pub const ROWS_REMOVED: &str = "vitrina_rows_removed_total";
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
/// Statements of users' queries that Vitrina cancelled, by reason.
pub const CANCELLED_STATEMENTS: &str = "vitrina_cancelled_statements_total";
/// Reports that ended, by kind and status.
pub const REPORTS: &str = "vitrina_reports_total";
/// How long reports took in a worker's hands, by kind.
pub const REPORT_DURATION: &str = "vitrina_report_duration_seconds";
/// Jobs that a worker is executing.
pub const JOBS_IN_FLIGHT: &str = "vitrina_jobs_in_flight";
/// Jobs that a worker executes at once at most.
pub const JOB_SLOTS: &str = "vitrina_job_slots";
/// Which status a pipeline has.
pub const PIPELINE_STATUS: &str = "vitrina_pipeline_status";
/// How old the source's changes are that the target may lack, by pipeline.
pub const CHECKPOINT_LAG: &str = "vitrina_checkpoint_lag_seconds";
/// How far the safe horizon is behind the clock, by pipeline.
pub const HORIZON_LAG: &str = "vitrina_horizon_lag_seconds";
/// Transactions whose rows will be read again, by pipeline.
pub const REREADS: &str = "vitrina_rereads";
/// How old the keys are that will be read again, by pipeline.
pub const REREAD_AGE: &str = "vitrina_reread_age_seconds";
/// How often the database's clock went back.
pub const CLOCK_STEPS: &str = "vitrina_clock_steps_total";
/// When the last run began, by pipeline.
pub const LAST_START: &str = "vitrina_last_run_start_timestamp_seconds";
/// When the last run with that status ended, by pipeline and status.
pub const LAST_END: &str = "vitrina_last_run_end_timestamp_seconds";
/// How much time usually is between successful runs, by pipeline.
pub const USUAL_INTERVAL: &str = "vitrina_usual_interval_seconds";
/// Rows that are put aside and wait, by pipeline.
pub const OPEN_DEAD_LETTERS: &str = "vitrina_open_dead_letters";
/// Jobs in the queue, by state.
pub const QUEUE_JOBS: &str = "vitrina_queue_jobs";
/// How long the oldest pending job has been due.
pub const QUEUE_OLDEST: &str = "vitrina_queue_oldest_pending_seconds";
/// Live workers.
pub const WORKERS: &str = "vitrina_workers";
/// Whether the API could read the database.
pub const DATABASE_UP: &str = "vitrina_database_up";
/// Constant 1, labelled with the version.
pub const BUILD_INFO: &str = "vitrina_build_info";
/// Memory of the process.
pub const PROCESS_MEMORY: &str = "process_resident_memory_bytes";
/// Processor time of the process.
pub const PROCESS_CPU: &str = "process_cpu_seconds_total";
/// When the process started.
pub const PROCESS_START: &str = "process_start_time_seconds";

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

/// The metrics of this process, in Prometheus' text format.
pub fn render() -> String {
    let recorded = recorder().map(PrometheusHandle::render).unwrap_or_default();
    let mut own = Exposition::default();
    process::add(&mut own);
    pipelines::without_the_gone(recorded) + &own.into_text()
}

fn install() -> Option<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), DURATION_BUCKETS)
        .ok()?
        .install_recorder()
        .inspect_err(|error| tracing::warn!(error = %error, "metrics are off"))
        .ok()?;
    CATALOG.iter().for_each(describe);
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Some(handle)
}

fn describe(metric: &Metric) {
    let unit = if metric.name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count };
    match metric.kind {
        Kind::Counter => describe_counter!(metric.name, unit, metric.help),
        Kind::Gauge => describe_gauge!(metric.name, unit, metric.help),
        Kind::Histogram => describe_histogram!(metric.name, unit, metric.help),
    }
}
