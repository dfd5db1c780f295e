//! The metrics of calls to services.

use std::time::Duration;

use vitrina_shared::{
    domain::transform::http::Class,
    metrics::{self, CALL_DURATION, CALL_WAIT, CALLS},
    store::calls::CallState,
};

use super::reading::Meaning;

const OUTCOMES: [&str; 8] = ["done", "submitted", "refused", "failed", "limited", "temporary", "quota", "unauthorized"];

/// Shows a pipeline's calls from 0 on: what Prometheus has not seen before does not count as an increase.
pub fn show_series(pipeline: &str) {
    for outcome in OUTCOMES {
        ::metrics::counter!(CALLS, "pipeline" => pipeline.to_owned(), "outcome" => outcome).increment(0);
    }
}

pub fn observe_outcome(pipeline: &str, meaning: &Meaning) {
    if let Some(outcome) = outcome(meaning) {
        ::metrics::counter!(CALLS, "pipeline" => pipeline.to_owned(), "outcome" => outcome).increment(1);
    }
}

pub fn observe_request(pipeline: &str, took: Duration) {
    ::metrics::histogram!(CALL_DURATION, "pipeline" => metrics::histogram_label(pipeline)).record(took.as_secs_f64());
}

/// Notes a wait for a limit or for keys.
pub fn observe_wait(pipeline: &str, waited: Duration) {
    ::metrics::histogram!(CALL_WAIT, "pipeline" => metrics::histogram_label(pipeline)).record(waited.as_secs_f64());
}

/// What became of a call; none where a poll only found that the service still works on it.
fn outcome(meaning: &Meaning) -> Option<&'static str> {
    let outcome = &meaning.outcome;
    Some(match (meaning.class, outcome.state) {
        (Some(Class::RateLimited), _) => "limited",
        (Some(Class::Quota), _) => "quota",
        (Some(Class::Unauthorized), _) => "unauthorized",
        (Some(Class::Refused), _) | (_, CallState::Refused) => "refused",
        (_, CallState::Done) => "done",
        (_, CallState::Failed) => "failed",
        (_, CallState::Waiting | CallState::Sending) => "temporary",
        (_, CallState::Submitted) => return outcome.external_id.as_ref().map(|_| "submitted"),
    })
}
