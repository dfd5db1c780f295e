//! The metrics of a chain.

use std::time::Duration;

use vitrina_shared::{
    domain::ErrorClass,
    metrics::{self, BATCH_DURATION, BATCH_PHASE, RETRIES},
};

/// Shows a pipeline's counters from 0 on: what Prometheus has not seen before does not count as an increase.
pub fn announce(pipeline: &str) {
    metrics::add_pipeline(pipeline);
    for class in [ErrorClass::Transient, ErrorClass::RateLimited] {
        ::metrics::counter!(RETRIES, "pipeline" => pipeline.to_owned(), "class" => class.as_str()).increment(0);
    }
}

/// Notes how long a part of the work took: `open`, `page` or `close`.
pub fn observe_phase(pipeline: &str, phase: &'static str, took: Duration) {
    let pipeline = metrics::histogram_label(pipeline);
    ::metrics::histogram!(BATCH_PHASE, "pipeline" => pipeline, "phase" => phase).record(took.as_secs_f64());
}

/// Notes how long a batch took. Its rows are counted by the batch itself, on its run: a count kept here would die with us.
pub fn observe_batch(pipeline: &str, took: Duration) {
    let label = metrics::histogram_label(pipeline);
    ::metrics::histogram!(BATCH_DURATION, "pipeline" => label).record(took.as_secs_f64());
    observe_phase(pipeline, "page", took);
}
