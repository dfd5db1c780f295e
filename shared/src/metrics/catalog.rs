//! All metrics: meaning, labels and the process that shows them. `docs/METRICS.md` has the same list.

use crate::domain::named_enum;

#[derive(Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub shown_by: ShownBy,
    /// Its labels, without those that Prometheus adds.
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

named_enum! {
    Kind {
        Counter = "counter",
        Gauge = "gauge",
        Histogram = "histogram",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBy {
    EveryProcess,
    /// Every API process, about itself.
    Api,
    /// Every worker process, about itself.
    Worker,
    /// Every API process, about the whole deployment: it reads the database. Replicas show the same, so take `max`.
    Deployment,
}

/// A line is a constant with the metric's name, and its entry in the list.
macro_rules! catalog {
    ($($constant:ident = $name:literal, $kind:ident, $shown_by:ident, $labels:tt, $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $constant: &str = $name;
        )+

        pub const CATALOG: &[Metric] = &[$(
            Metric { name: $name, kind: Kind::$kind, shown_by: ShownBy::$shown_by, labels: &$labels, help: $help },
        )+];
    };
}

catalog! {
    RUNS = "vitrina_runs_total", Counter, Deployment, ["pipeline", "mode", "status"], "Runs that ended";
    RUN_DURATION = "vitrina_run_duration_seconds", Histogram, Deployment, ["pipeline"], "Time from a run's first batch to its end";
    ROWS_READ = "vitrina_rows_read_total", Counter, Deployment, ["pipeline"], "Rows that queries returned, in batches that were committed";
    ROWS_WRITTEN = "vitrina_rows_written_total", Counter, Deployment, ["pipeline", "sink"], "Rows that were inserted or changed in a target";
    ROWS_REJECTED = "vitrina_rows_rejected_total", Counter, Deployment, ["pipeline"], "Rows that could not be written and were put aside";
    ROWS_REMOVED = "vitrina_rows_removed_total", Counter, Deployment, ["pipeline"], "Rows that were removed because their query returns them no more";
    BATCHES = "vitrina_batches_total", Counter, Deployment, ["pipeline", "result"], "Batches, by result: committed or failed";
    PIPELINE_STATUS = "vitrina_pipeline_status", Gauge, Deployment, ["pipeline", "status"], "1 for the status that a pipeline has, 0 for the others";
    CHECKPOINT_LAG = "vitrina_checkpoint_lag_seconds", Gauge, Deployment, ["pipeline"], "Age of the oldest change in the source that may not be in the target yet";
    HORIZON_LAG = "vitrina_horizon_lag_seconds", Gauge, Deployment, ["pipeline"], "How far open transactions hold back what an incremental run may read";
    REREADS = "vitrina_rereads", Gauge, Deployment, ["pipeline"], "Transactions that a run passed while they were open, and whose rows will be read again";
    REREAD_AGE = "vitrina_reread_age_seconds", Gauge, Deployment, ["pipeline"], "Age of the oldest key that will be read again because of them; 0 if there is none";
    LAST_START = "vitrina_last_run_start_timestamp_seconds", Gauge, Deployment, ["pipeline"], "When the last run began, as a Unix time";
    LAST_END = "vitrina_last_run_end_timestamp_seconds", Gauge, Deployment, ["pipeline", "status"], "When the last run ended that ended so, as a Unix time";
    USUAL_INTERVAL = "vitrina_usual_interval_seconds", Gauge, Deployment, ["pipeline"], "Usual time between successful runs of an enabled pipeline: the median of the last eight";
    OPEN_DEAD_LETTERS = "vitrina_open_dead_letters", Gauge, Deployment, ["pipeline"], "Rows that were put aside and neither replayed nor settled since; counted up to 10,000";
    KEYS = "vitrina_keys", Gauge, Deployment, ["pool", "state"], "Keys that calls to services were made with: ready, resting, or refused by their service";
    QUEUE_JOBS = "vitrina_queue_jobs", Gauge, Deployment, ["state"], "Jobs in the queue: pending (due), delayed (due later) or running";
    QUEUE_OLDEST = "vitrina_queue_oldest_pending_seconds", Gauge, Deployment, [], "How long the oldest pending job has been due; 0 if there is none";
    WORKERS = "vitrina_workers", Gauge, Deployment, [], "Workers that reported within the last minute";
    DATABASE_UP = "vitrina_database_up", Gauge, Api, [], "1 if the API could read the database for this answer, else 0 and what is read from it is missing";
    HTTP_REQUESTS = "vitrina_http_requests_total", Counter, Api, ["method", "route", "status"], "HTTP requests answered";
    HTTP_REQUEST_DURATION = "vitrina_http_request_duration_seconds", Histogram, Api, ["method", "route"], "Time from the request's head to the answer's head";
    BATCH_DURATION = "vitrina_batch_duration_seconds", Histogram, Worker, ["pipeline"], "Time of a batch, from its begin to its commit";
    BATCH_PHASE = "vitrina_batch_phase_seconds", Histogram, Worker, ["pipeline", "phase"], "Time of a part of the work on batches";
    WAKEUP = "vitrina_wakeup_seconds", Histogram, Worker, [], "Time from a job being queued to its handler";
    RETRIES = "vitrina_retries_total", Counter, Worker, ["pipeline", "class"], "Attempts that failed and are repeated, by class of error";
    RECOVERED = "vitrina_recovered_jobs_total", Counter, Worker, [], "Jobs and pipelines that were brought back after a crash";
    FENCED = "vitrina_fenced_batches_total", Counter, Worker, [], "Batches refused because another worker had taken them over";
    CLOCK_STEPS = "vitrina_clock_steps_total", Counter, Worker, [], "How often the database's clock was seen to have gone back, or another server to have taken over";
    CALLS = "vitrina_calls_total", Counter, Worker, ["pipeline", "outcome"], "Calls to services, by what became of them";
    CALL_DURATION = "vitrina_call_duration_seconds", Histogram, Worker, ["pipeline"], "Time from a request to a service, a poll included, to its answer";
    CALL_WAIT = "vitrina_call_wait_seconds", Histogram, Worker, ["pipeline"], "Time that a call, or a batch with calls, waited for a limit or for keys";
    REPORTS = "vitrina_reports_total", Counter, Worker, ["kind", "status"], "Reports that ended";
    REPORT_DURATION = "vitrina_report_duration_seconds", Histogram, Worker, ["kind"], "Time of a report in a worker's hands";
    JOBS_IN_FLIGHT = "vitrina_jobs_in_flight", Gauge, Worker, [], "Jobs that the worker is executing";
    JOB_SLOTS = "vitrina_job_slots", Gauge, Worker, [], "Jobs that the worker executes at once at most";
    BUILD_INFO = "vitrina_build_info", Gauge, EveryProcess, ["version"], "Constant 1, labelled with the version";
    CANCELLED_STATEMENTS = "vitrina_cancelled_statements_total", Counter, EveryProcess, ["reason"], "Statements with users' queries that the process cancelled on the server";
    PROCESS_MEMORY = "process_resident_memory_bytes", Gauge, EveryProcess, [], "Memory of the process that is in RAM";
    PROCESS_CPU = "process_cpu_seconds_total", Counter, EveryProcess, [], "Processor time that the process has used";
    PROCESS_START = "process_start_time_seconds", Gauge, EveryProcess, [], "When the process started, as a Unix time";
}

pub(super) fn find(name: &str) -> Option<&'static Metric> {
    CATALOG.iter().find(|metric| metric.name == name)
}
