//! Gives the jobs of workers that are gone back to the queue, and ends what the server still executes for them.
//!
//! Whether a worker is gone is measured by the observer's own clock, which never runs backwards: since when has the time of
//! its last heartbeat been the same? A server's clock that is set, forwards or backwards, changes nothing about that.
//!
//! The server may go on for minutes with the statement of a worker that is gone, and holds the locks that its successor
//! needs. So a session of a rescued job is ended before the job goes back.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use vitrina_shared::{
    jobs::{BATCH_QUEUE, BatchJob, Job, Queued},
    lifecycle::{self, LifecycleError},
    metrics::CANCELLED_STATEMENTS,
    reports::{self, ReportError},
    store::{
        backends::{self, Reason},
        queue::{self, HeldJob, Holder, ReturnedJob},
    },
};

#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Since when workers that hold jobs have been silent.
#[derive(Debug, Default)]
pub struct Silent(HashMap<String, (DateTime<Utc>, Instant)>);

impl Silent {
    /// Notes who holds jobs. Returns those that are gone: they have signed off, or said nothing for `gone_after`.
    fn note(&mut self, holders: &[Holder], gone_after: Duration) -> Vec<String> {
        self.0.retain(|name, _| holders.iter().any(|holder| holder.name == *name));
        let mut gone = Vec::new();
        for holder in holders {
            let since = match self.0.get(&holder.name) {
                Some((last_seen, since)) if *last_seen == holder.last_seen => *since,
                Some(_) => Instant::now(),
                None => first_seen(holder, gone_after),
            };
            self.0.insert(holder.name.clone(), (holder.last_seen, since));
            if holder.signed_off || since.elapsed() >= gone_after {
                gone.push(holder.name.clone());
            }
        }
        gone
    }
}

/// Of a worker that was not seen before, the server's clock says how long it has been silent: that it was set just now is
/// unlikely, and then the worker is gone no sooner than one that was never heard.
fn first_seen(holder: &Holder, gone_after: Duration) -> Instant {
    let silent = Duration::from_secs_f64(holder.age.clamp(0.0, gone_after.as_secs_f64()));
    Instant::now().checked_sub(silent).unwrap_or_else(Instant::now)
}

/// Returns the jobs of workers that are gone to the queue. Returns how many.
pub async fn run_once(db: &PgPool, silent: &mut Silent, gone_after: Duration) -> Result<u64, RecoveryError> {
    let holders = queue::holders(&mut *db.acquire().await?, BATCH_QUEUE).await?;
    let gone = silent.note(&holders, gone_after);
    if gone.is_empty() {
        return Ok(0);
    }
    return_all(db, &gone, true).await
}

/// Returns the jobs of a worker that ends to the queue. Returns how many.
pub async fn give_back(db: &PgPool, worker: &str) -> Result<u64, RecoveryError> {
    return_all(db, &[worker.to_owned()], false).await
}

async fn return_all(db: &PgPool, workers: &[String], died: bool) -> Result<u64, RecoveryError> {
    let mut tx = db.begin().await?;
    let held = queue::lock_held(&mut tx, BATCH_QUEUE, workers).await?;
    if held.is_empty() {
        return Ok(0);
    }
    // Before another worker can take the jobs: its sessions have the same names.
    end_sessions(&mut tx, &held).await?;
    // Looked at again: a batch may have been committed until its session ended. Jobs that came since have sessions that did not end.
    let again = queue::lock_held(&mut tx, BATCH_QUEUE, workers).await?;
    let again = again.into_iter().filter(|job| held.iter().any(|held| held.id == job.id));
    let (exhausted, back): (Vec<_>, Vec<_>) = again.map(returned).partition(|job| died && job.is_exhausted);
    let count = (exhausted.len() + back.len()) as u64;
    queue::return_held(&mut tx, back, died).await?;
    queue::announce(&mut tx).await?;
    tx.commit().await?;
    // In transactions of their own: a pipeline is locked before its jobs. Until then no worker can take these.
    for job in exhausted {
        give_up(db, &job.id, &job.payload, workers).await;
    }
    Ok(count)
}

/// A job as it goes back: of a batch that was not done yet nothing has failed.
fn returned(held: HeldJob) -> ReturnedJob {
    let HeldJob { id, payload, next_batch, is_exhausted } = held;
    let gone_on = |batch: &Queued<BatchJob>| next_batch.filter(|next| *next != batch.batch);
    if let Some(Job::Batch(batch)) = read(&payload)
        && let Some(next) = gone_on(&batch)
        && let Ok(payload) = serde_json::to_vec(&Queued {
            job: BatchJob { batch: next, ..batch.job },
            attempt: 0,
            lost: 0,
            lost_on: None,
            queued_us: None,
            ..batch
        })
    {
        return ReturnedJob { id, payload, went_on: true, is_exhausted: false };
    }
    ReturnedJob { id, payload, went_on: false, is_exhausted }
}

/// Takes a job out of the queue that killed every worker that took it, and fails what it belongs to: it would kill the next one
/// too. Where that fails it stays as it is, and the next look tries again.
pub async fn give_up(db: &PgPool, id: &str, payload: &[u8], gone: &[String]) {
    match try_give_up(db, id, payload, gone).await {
        Ok(true) => tracing::error!(job_id = id, work = ?work_of(payload), "every worker that took this job died"),
        Ok(false) => {}
        Err(error) => {
            tracing::error!(job_id = id, error = %error, "a job that no worker survives could not be given up")
        }
    }
}

/// Whether the job was still to be given up: if not, nothing was changed.
async fn try_give_up(db: &PgPool, id: &str, payload: &[u8], gone: &[String]) -> Result<bool, RecoveryError> {
    let mut tx = db.begin().await?;
    let killed = match read(payload) {
        Some(Job::Batch(job)) => {
            let batch = job.batch;
            lifecycle::give_up(&mut tx, job, "every worker that took this batch died").await?;
            queue::kill_exhausted(&mut tx, id, gone, Some(batch)).await?
        }
        Some(Job::Report(job)) => {
            let killed = queue::kill_exhausted(&mut tx, id, gone, None).await?;
            reports::give_up(&mut tx, &job, "every worker that took this report died").await?;
            killed
        }
        None => queue::kill_exhausted(&mut tx, id, gone, None).await?,
    };
    if killed {
        tx.commit().await?;
    }
    Ok(killed)
}

async fn end_sessions(tx: &mut PgConnection, held: &[HeldJob]) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = held.iter().filter_map(|job| work_of(&job.payload)).collect();
    let sessions = backends::terminate(tx, &ids).await?;
    if sessions > 0 {
        metrics::counter!(CANCELLED_STATEMENTS, "reason" => Reason::Orphaned.as_str()).increment(sessions);
        tracing::warn!(sessions, "ended what the server executed for workers that are gone");
    }
    Ok(())
}

/// The run or report that a job is about.
fn work_of(payload: &[u8]) -> Option<Uuid> {
    match read(payload)? {
        Job::Batch(job) => Some(job.run_id.0),
        Job::Report(job) => Some(job.report_id.0),
    }
}

fn read(payload: &[u8]) -> Option<Job> {
    serde_json::from_slice(payload).and_then(Job::decode).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holder(last_seen: i64, age: f64) -> Holder {
        let last_seen = DateTime::from_timestamp(last_seen, 0).expect("a time");
        Holder { name: "a".to_owned(), last_seen, age, signed_off: false }
    }

    const LIMIT: Duration = Duration::from_secs(6);

    #[test]
    fn a_clock_that_was_set_back_makes_nobody_immortal() {
        let mut silent = Silent::default();
        assert!(silent.note(&[holder(10_000, -3600.0)], LIMIT).is_empty());
        if let Some((_, since)) = silent.0.get_mut("a") {
            *since = Instant::now().checked_sub(LIMIT).expect("a time");
        }
        assert_eq!(silent.note(&[holder(10_000, -3590.0)], LIMIT), ["a"]);
    }

    #[test]
    fn a_clock_that_was_set_forward_kills_nobody() {
        let mut silent = Silent::default();
        assert!(silent.note(&[holder(10_000, 0.5)], LIMIT).is_empty());
        assert!(silent.note(&[holder(10_000, 3600.0)], LIMIT).is_empty());
    }

    #[test]
    fn a_worker_that_has_long_been_silent_is_gone_at_the_first_look() {
        assert_eq!(Silent::default().note(&[holder(10_000, 7.0)], LIMIT), ["a"]);
    }

    #[test]
    fn a_job_whose_range_went_on_comes_back_as_the_next_batch_without_the_failures_of_another() {
        let id = Uuid::now_v7();
        let payload = json!({"pipeline_id": id, "run_id": id, "range": 0, "batch": 7, "after": null, "correlation_id": "c", "attempt": 2, "lost": 1, "queued_us": 5});
        let payload = serde_json::to_vec(&payload).expect("a payload");
        let job = |next_batch| HeldJob { id: "a".to_owned(), payload: payload.clone(), next_batch, is_exhausted: true };
        let went_on = returned(job(Some(9)));
        assert!(went_on.went_on && !went_on.is_exhausted);
        let Some(Job::Batch(batch)) = read(&went_on.payload) else { panic!("no batch") };
        assert_eq!((batch.batch, batch.attempt, batch.lost, batch.queued_us), (9, 0, 0, None));
        for next_batch in [Some(7), None] {
            let same = returned(job(next_batch));
            assert!(!same.went_on && same.is_exhausted);
            assert_eq!(same.payload, payload);
        }
        let unreadable = HeldJob { payload: b"{".to_vec(), ..job(Some(1)) };
        assert_eq!(returned(unreadable).payload, b"{");
    }
}
