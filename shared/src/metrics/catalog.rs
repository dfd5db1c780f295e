//! All metrics: meaning, labels and the process that shows them. `docs/METRICS.md` has the same list.

use super::{
    BATCH_DURATION, BATCH_PHASE, BATCHES, BUILD_INFO, CANCELLED_STATEMENTS, CHECKPOINT_LAG, CLOCK_STEPS, DATABASE_UP,
    FENCED, HORIZON_LAG, HTTP_REQUEST_DURATION, HTTP_REQUESTS, JOB_SLOTS, JOBS_IN_FLIGHT, LAST_END, LAST_START,
    OPEN_DEAD_LETTERS, PIPELINE_STATUS, PROCESS_CPU, PROCESS_MEMORY, PROCESS_START, QUEUE_JOBS, QUEUE_OLDEST,
    RECOVERED, REPORT_DURATION, REPORTS, REREAD_AGE, REREADS, RETRIES, ROWS_READ, ROWS_REJECTED, ROWS_REMOVED,
    ROWS_WRITTEN, RUN_DURATION, RUNS, USUAL_INTERVAL, WAKEUP, WORKERS,
};

/// A metric.
#[derive(Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// The process that shows it.
    pub shown_by: ShownBy,
    /// Its labels, without those that Prometheus adds.
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// How a metric's value moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only up, or back to 0 with its process.
    Counter,
    /// Up and down.
    Gauge,
    /// Observations, counted by size.
    Histogram,
}

impl Kind {
    /// The name in the text format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The process that shows a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    /// Every process, about itself.
    EveryProcess,
    /// Every API process, about itself.
    Api,
    /// Every worker process, about itself.
    Worker,
    /// Every API process, about the whole deployment: it reads the database. Replicas show the same, so take `max`.
    Deployment,
}

const fn metric(
    name: &'static str,
    kind: Kind,
    shown_by: ShownBy,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind, shown_by, labels, help }
}

use Kind::{Counter, Gauge, Histogram};
use ShownBy::{Api, Deployment, EveryProcess, Worker};

/// All metrics.
#[rustfmt::skip]
pub const CATALOG: &[Metric] = &[
    metric(RUNS, Counter, Deployment, &["pipeline", "mode", "status"], "Runs that ended"),
    metric(RUN_DURATION, Histogram, Deployment, &["pipeline"], "Time from a run's first batch to its end"),
    metric(ROWS_READ, Counter, Deployment, &["pipeline"], "Rows that queries returned, in batches that were committed"),
    metric(ROWS_WRITTEN, Counter, Deployment, &["pipeline", "sink"], "Rows that were inserted or changed in a target"),
    metric(ROWS_REJECTED, Counter, Deployment, &["pipeline"], "Rows that could not be written and were put aside"),
    metric(ROWS_REMOVED, Counter, Deployment, &["pipeline"], "Rows that were removed because their query returns them no more"),
    metric(BATCHES, Counter, Deployment, &["pipeline", "result"], "Batches, by result: committed or failed"),
    metric(PIPELINE_STATUS, Gauge, Deployment, &["pipeline", "status"], "1 for the status that a pipeline has, 0 for the others"),
    metric(CHECKPOINT_LAG, Gauge, Deployment, &["pipeline"], "Age of the oldest change in the source that may not be in the target yet"),
    metric(HORIZON_LAG, Gauge, Deployment, &["pipeline"], "How far open transactions hold back what an incremental run may read"),
    metric(REREADS, Gauge, Deployment, &["pipeline"], "Transactions that a run passed while they were open, and whose rows will be read again"),
    metric(REREAD_AGE, Gauge, Deployment, &["pipeline"], "Age of the oldest key that will be read again because of them; 0 if there is none"),
    metric(LAST_START, Gauge, Deployment, &["pipeline"], "When the last run began, as a Unix time"),
    metric(LAST_END, Gauge, Deployment, &["pipeline", "status"], "When the last run ended that ended so, as a Unix time"),
    metric(USUAL_INTERVAL, Gauge, Deployment, &["pipeline"], "Usual time between successful runs of an enabled pipeline: the median of the last eight"),
    metric(OPEN_DEAD_LETTERS, Gauge, Deployment, &["pipeline"], "Rows that were put aside and neither replayed nor settled since; counted up to 10,000"),
    metric(QUEUE_JOBS, Gauge, Deployment, &["state"], "Jobs in the queue: pending (due), delayed (due later) or running"),
    metric(QUEUE_OLDEST, Gauge, Deployment, &[], "How long the oldest pending job has been due; 0 if there is none"),
    metric(WORKERS, Gauge, Deployment, &[], "Workers that reported within the last minute"),
    metric(DATABASE_UP, Gauge, Api, &[], "1 if the API could read the database for this answer, else 0 and what is read from it is missing"),
    metric(HTTP_REQUESTS, Counter, Api, &["method", "route", "status"], "HTTP requests answered"),
    metric(HTTP_REQUEST_DURATION, Histogram, Api, &["method", "route"], "Time from the request's head to the answer's head"),
    metric(BATCH_DURATION, Histogram, Worker, &["pipeline"], "Time of a batch, from its begin to its commit"),
    metric(BATCH_PHASE, Histogram, Worker, &["pipeline", "phase"], "Time of a part of the work on batches"),
    metric(WAKEUP, Histogram, Worker, &[], "Time from a job being queued to its handler"),
    metric(RETRIES, Counter, Worker, &["pipeline", "class"], "Attempts that failed and are repeated, by class of error"),
    metric(RECOVERED, Counter, Worker, &[], "Jobs and pipelines that were brought back after a crash"),
    metric(FENCED, Counter, Worker, &[], "Batches refused because another worker had taken them over"),
    metric(CLOCK_STEPS, Counter, Worker, &[], "How often the database's clock was seen to have gone back, or another server to have taken over"),
    metric(REPORTS, Counter, Worker, &["kind", "status"], "Reports that ended"),
    metric(REPORT_DURATION, Histogram, Worker, &["kind"], "Time of a report in a worker's hands"),
    metric(JOBS_IN_FLIGHT, Gauge, Worker, &[], "Jobs that the worker is executing"),
    metric(JOB_SLOTS, Gauge, Worker, &[], "Jobs that the worker executes at once at most"),
    metric(BUILD_INFO, Gauge, EveryProcess, &["version"], "Constant 1, labelled with the version"),
    metric(CANCELLED_STATEMENTS, Counter, EveryProcess, &["reason"], "Statements with users' queries that the process cancelled on the server"),
    metric(PROCESS_MEMORY, Gauge, EveryProcess, &[], "Memory of the process that is in RAM"),
    metric(PROCESS_CPU, Counter, EveryProcess, &[], "Processor time that the process has used"),
    metric(PROCESS_START, Gauge, EveryProcess, &[], "When the process started, as a Unix time"),
];

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    CATALOG.iter().find(|metric| metric.name == name)
}
