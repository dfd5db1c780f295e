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

pub use catalog::*;
pub use exposition::Exposition;
pub use pipelines::{HISTOGRAM_PIPELINES, OTHERS, add_pipeline, histogram_label, limit_histograms, set_pipelines};

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
