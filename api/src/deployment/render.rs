//! Renders the deployment's metrics.
//!
//! Every pipeline has all its series from the beginning, with zeros: what Prometheus sees for the first time does not
//! count as an increase, and the first failure of a pipeline must.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use vitrina_shared::{
    domain::{Mode, RunStatus, Status, checkpoint::key_time},
    metrics::{
        BATCHES, CHECKPOINT_LAG, Exposition, HORIZON_LAG, KEYS, LAST_END, LAST_START, OPEN_DEAD_LETTERS,
        PIPELINE_STATUS, QUEUE_JOBS, QUEUE_OLDEST, REREAD_AGE, REREADS, ROWS_READ, ROWS_REJECTED, ROWS_REMOVED,
        ROWS_WRITTEN, RUN_DURATION, RUNS, USUAL_INTERVAL, WORKERS,
    },
    store::{pipelines::Glance, totals::Total},
};

use super::DeploymentFacts;

const ENDS: [RunStatus; 3] = [RunStatus::Success, RunStatus::Failed, RunStatus::Cancelled];
/// The number of gaps between runs from which on their median counts as usual.
const ENOUGH_GAPS: usize = 3;

struct Sums<'a> {
    pipeline: &'a Glance,
    runs: BTreeMap<(Mode, RunStatus), i64>,
    written: BTreeMap<&'a str, i64>,
    read: i64,
    rejected: i64,
    removed: i64,
    batches: i64,
    failures: i64,
    seconds: f64,
    durations: Vec<i64>,
    last_start: Option<DateTime<Utc>>,
    last_ends: BTreeMap<RunStatus, DateTime<Utc>>,
    /// The totals that the last successful run went into.
    last: Option<&'a Total>,
}

impl<'a> Sums<'a> {
    fn new(pipeline: &'a Glance, classes: usize) -> Self {
        Self {
            pipeline,
            runs: ENDS.iter().map(|status| ((pipeline.mode, *status), 0)).collect(),
            written: BTreeMap::from([(pipeline.sink.as_str(), 0)]),
            read: 0,
            rejected: 0,
            removed: 0,
            batches: 0,
            failures: 0,
            seconds: 0.0,
            durations: vec![0; classes],
            last_start: None,
            last_ends: BTreeMap::new(),
            last: None,
        }
    }

    fn add(&mut self, total: &'a Total) {
        if let Some(status) = total.status {
            *self.runs.entry((total.mode, status)).or_default() += total.runs;
        }
        *self.written.entry(&total.sink).or_default() += total.rows_written;
        self.read += total.rows_read;
        self.rejected += total.rows_rejected;
        self.removed += total.rows_removed;
        self.batches += total.batches;
        self.failures += total.attempts;
        self.seconds += total.seconds;
        self.durations.iter_mut().zip(&total.durations).for_each(|(sum, count)| *sum += count);
        self.last_start = self.last_start.max(total.last_started_at);
        if let Some((status, end)) = total.status.zip(total.last_finished_at) {
            let last = self.last_ends.entry(status).or_insert(end);
            *last = end.max(*last);
        }
        if total.status == Some(RunStatus::Success)
            && self.last.is_none_or(|last| last.last_finished_at < total.last_finished_at)
        {
            self.last = Some(total);
        }
    }

    /// Every change that the source had before this is in the target: by the checkpoint, which moves with every batch, or
    /// by the last successful run, which has read up to its bound even if there was nothing to read.
    fn covered_until(&self) -> Option<DateTime<Utc>> {
        let checkpoint = self.pipeline.checkpoint_key.as_deref().and_then(key_time);
        let bound = self.last.and_then(|last| {
            let upper = last.last_upper.as_deref().and_then(key_time);
            last.last_requested_at.map(|requested| upper.map_or(requested, |upper| upper.min(requested)))
        });
        checkpoint.max(bound)
    }

    /// The median of the last gaps between successful runs, once there are some.
    fn usual_interval(&self) -> Option<f64> {
        let mut gaps = self.last.filter(|_| self.pipeline.enabled)?.gaps.clone();
        gaps.sort_by(f64::total_cmp);
        (gaps.len() >= ENOUGH_GAPS).then(|| gaps[gaps.len() / 2])
    }
}

impl DeploymentFacts {
    pub(super) fn render(&self, text: &mut Exposition) {
        let pipelines = self.sums();
        render_counters(&pipelines, text);
        text.family(RUN_DURATION);
        for sums in &pipelines {
            let labels = [("pipeline", sums.pipeline.name.as_str())];
            text.histogram(RUN_DURATION, &labels, &self.duration_bounds, &sums.durations, sums.seconds);
        }
        self.render_states(&pipelines, text);
        self.render_queue(text);
        self.render_keys(text);
    }

    fn sums(&self) -> Vec<Sums<'_>> {
        let classes = self.duration_bounds.len() + 1;
        let mut sums: BTreeMap<&str, Sums<'_>> = BTreeMap::new();
        for pipeline in &self.pipelines {
            sums.insert(&pipeline.name, Sums::new(pipeline, classes));
        }
        for total in &self.totals {
            // A pipeline that was removed or renamed between two statements is left out of this answer.
            if let Some(sums) = sums.get_mut(total.pipeline.as_str()) {
                sums.add(total);
            }
        }
        sums.into_values().collect()
    }

    fn render_states(&self, pipelines: &[Sums<'_>], text: &mut Exposition) {
        text.family(PIPELINE_STATUS);
        for sums in pipelines {
            for status in Status::ALL {
                let labels = [("pipeline", sums.pipeline.name.as_str()), ("status", status.as_str())];
                text.sample(PIPELINE_STATUS, &labels, f64::from(u8::from(sums.pipeline.status == *status)));
            }
        }
        each(text, CHECKPOINT_LAG, pipelines, |sums| {
            sums.covered_until().map(|until| (self.now - until).as_seconds_f64().max(0.0))
        });
        each(text, HORIZON_LAG, pipelines, |sums| {
            (sums.pipeline.mode == Mode::Incremental).then_some(self.horizon_lag.max(0.0))
        });
        let owing = |sums: &Sums<'_>| sums.pipeline.mode == Mode::Incremental;
        each(text, REREADS, pipelines, |sums| owing(sums).then_some(sums.pipeline.rereads as f64));
        each(text, REREAD_AGE, pipelines, |sums| {
            let age = sums.pipeline.rereads_from.map(|from| (self.now - from).as_seconds_f64().max(0.0));
            owing(sums).then_some(age.unwrap_or(0.0))
        });
        each(text, LAST_START, pipelines, |sums| sums.last_start.map(unix_time));
        text.family(LAST_END);
        for sums in pipelines {
            for (status, end) in &sums.last_ends {
                let labels = [("pipeline", sums.pipeline.name.as_str()), ("status", status.as_str())];
                text.sample(LAST_END, &labels, unix_time(*end));
            }
        }
        each(text, USUAL_INTERVAL, pipelines, |sums| sums.usual_interval());
        each(text, OPEN_DEAD_LETTERS, pipelines, |sums| Some(sums.pipeline.open_dead_letters as f64));
    }

    fn render_queue(&self, text: &mut Exposition) {
        text.family(QUEUE_JOBS);
        let depth = &self.depth;
        for (state, jobs) in [("pending", depth.pending), ("delayed", depth.delayed), ("running", depth.running)] {
            text.sample(QUEUE_JOBS, &[("state", state)], jobs as f64);
        }
        text.family(QUEUE_OLDEST);
        text.sample(QUEUE_OLDEST, &[], depth.oldest_pending.max(0.0));
        text.family(WORKERS);
        text.sample(WORKERS, &[], self.workers as f64);
    }

    fn render_keys(&self, text: &mut Exposition) {
        text.family(KEYS);
        for pool in &self.keys {
            for (state, keys) in [("ready", pool.ready), ("resting", pool.resting), ("refused", pool.refused)] {
                text.sample(KEYS, &[("pool", &pool.pool), ("state", state)], keys as f64);
            }
        }
    }
}

fn render_counters(pipelines: &[Sums<'_>], text: &mut Exposition) {
    text.family(RUNS);
    for sums in pipelines {
        for ((mode, status), runs) in &sums.runs {
            let labels =
                [("pipeline", sums.pipeline.name.as_str()), ("mode", mode.as_str()), ("status", status.as_str())];
            text.sample(RUNS, &labels, *runs as f64);
        }
    }
    each(text, ROWS_READ, pipelines, |sums| Some(sums.read as f64));
    text.family(ROWS_WRITTEN);
    for sums in pipelines {
        for (sink, rows) in &sums.written {
            text.sample(ROWS_WRITTEN, &[("pipeline", &sums.pipeline.name), ("sink", sink)], *rows as f64);
        }
    }
    each(text, ROWS_REJECTED, pipelines, |sums| Some(sums.rejected as f64));
    each(text, ROWS_REMOVED, pipelines, |sums| Some(sums.removed as f64));
    text.family(BATCHES);
    for sums in pipelines {
        for (result, batches) in [("committed", sums.batches), ("failed", sums.failures)] {
            text.sample(BATCHES, &[("pipeline", &sums.pipeline.name), ("result", result)], batches as f64);
        }
    }
}

fn unix_time(at: DateTime<Utc>) -> f64 {
    at.timestamp_millis() as f64 / 1000.0
}

/// A family with one sample per pipeline, where there is a value.
fn each(text: &mut Exposition, name: &str, pipelines: &[Sums<'_>], value: impl Fn(&Sums<'_>) -> Option<f64>) {
    text.family(name);
    for sums in pipelines {
        if let Some(value) = value(sums) {
            text.sample(name, &[("pipeline", &sums.pipeline.name)], value);
        }
    }
}
