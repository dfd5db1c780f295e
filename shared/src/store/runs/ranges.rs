//! The ranges of a run and their jobs.
//!
//! Ranges are numbered in the order of their keys, do not overlap and leave no gap. Each has a bound, a position, a fence and a job
//! of its own. The first range's job begins the run and queues the jobs of the other ranges with it.

use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use crate::domain::{Cut, PipelineId, Position, RunId};

/// A range of a run that needs a job, and whether it has one.
#[derive(Debug)]
pub struct Range {
    pub range_no: i32,
    pub next_batch: i64,
    pub after: Option<Position>,
    pub correlation_id: String,
    /// Whether a job that carries it on is waiting or executing.
    pub has_live_job: bool,
}

/// Reads the unfinished ranges of a run; before it has begun, the first of them. One that is walked to its end in all ranges has
/// the first of them too, for which the job of any range will do: the run must still be ended.
pub async fn open_ranges(connection: &mut PgConnection, run: RunId) -> sqlx::Result<Vec<Range>> {
    sqlx::query_as!(
        Range,
        r#"
        select g.range_no, g.next_batch, g.after as "after: Position", r.correlation_id,
               exists (
                   select
                   from etl.etl_run_ranges o
                   join apalis.jobs j on j.id = o.job_id
                   where o.run_id = g.run_id and (o.range_no = g.range_no or g.finished_at is not null)
                     and j.status in ('Pending', 'Queued', 'Running')
               ) as "has_live_job!"
        from etl.etl_run_ranges g
        join etl.etl_runs r on r.id = g.run_id
        where g.run_id = $1
          and (g.finished_at is null and (r.started_at is not null or g.range_no = 0)
               or g.range_no = 0 and not exists (
                   select from etl.etl_run_ranges o where o.run_id = g.run_id and o.finished_at is null
               ))
        order by g.range_no
        "#,
        run as RunId,
    )
    .fetch_all(connection)
    .await
}

pub async fn next_batch(connection: &mut PgConnection, run: RunId, range_no: i32) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        "select next_batch from etl.etl_run_ranges where run_id = $1 and range_no = $2",
        run as RunId,
        range_no,
    )
    .fetch_optional(connection)
    .await
}

pub(crate) async fn set_job(tx: &mut PgConnection, run: RunId, range_no: i32, job_id: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_run_ranges set job_id = $3 where run_id = $1 and range_no = $2",
        run as RunId,
        range_no,
        job_id,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes the jobs of a run that no worker has begun out of the queue.
pub(crate) async fn withdraw_jobs(tx: &mut PgConnection, run: RunId, reason: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update apalis.jobs j
        set status = 'Killed', done_at = now(), last_result = $2
        from etl.etl_run_ranges g
        where g.run_id = $1 and j.id = g.job_id and j.status = 'Pending'
        "#,
        run as RunId,
        Value::from(reason),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Cuts the one range of a run that was requested just now.
pub(crate) async fn cut(tx: &mut PgConnection, run: RunId, cuts: &[Cut]) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        with cut as materialized (
            select c.no::integer, c.value ->> 'upper' as upper, c.value ->> 'from' as key
            from jsonb_array_elements($2) with ordinality as c (value, no)
        ),
        first as (
            update etl.etl_run_ranges g
            set upper = cut.upper
            from cut
            where cut.no = 1 and g.run_id = $1 and g.range_no = 0
            returning g.walks_by
        )
        insert into etl.etl_run_ranges (run_id, range_no, after, upper, walks_by)
        select $1, cut.no, array[cut.key, null], next.upper, first.walks_by
        from first, cut
        left join cut next on next.no = cut.no + 1
        "#,
        run as RunId,
        Json(cuts) as Json<&[Cut]>,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The keys at which the ranges of a run after its first begin, in their order.
pub async fn cut_at(connection: &mut PgConnection, run: RunId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select after[1] as "key!" from etl.etl_run_ranges where run_id = $1 and range_no > 0 order by range_no"#,
        run as RunId,
    )
    .fetch_all(connection)
    .await
}

/// Keeps the first ranges of a run that begins. The last one that is kept extends to the run's bound.
pub(crate) async fn keep(tx: &mut PgConnection, run: RunId, ranges: i32, upper: Option<&str>) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        with gone as (
            delete from etl.etl_run_ranges where run_id = $1 and range_no >= $2
        )
        update etl.etl_run_ranges set upper = $3 where run_id = $1 and range_no = $2 - 1
        "#,
        run as RunId,
        ranges,
        upper,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Finishes the job of a range that is walked to its end while another job of the run is live. Whether it did. The pipeline's row
/// is locked: of two that look at once, the second one sees that the first has left.
pub(crate) async fn leave(
    tx: &mut PgConnection,
    run: RunId,
    range_no: i32,
    (job, worker): (&str, &str),
) -> sqlx::Result<bool> {
    let left = sqlx::query!(
        r#"
        update apalis.jobs j
        set status = 'Done', done_at = now()
        where j.id = $3 and j.lock_by = $4 and j.status in ('Queued', 'Running')
          and exists (
              select from etl.etl_run_ranges g
              where g.run_id = $1 and g.range_no = $2 and g.finished_at is not null)
          and exists (
              select
              from etl.etl_run_ranges g
              join apalis.jobs o on o.id = g.job_id
              where g.run_id = $1 and g.job_id <> $3 and o.status in ('Pending', 'Queued', 'Running'))
        "#,
        run as RunId,
        range_no,
        job,
        worker,
    )
    .execute(tx)
    .await?;
    Ok(left.rows_affected() > 0)
}

/// The bound that a run is read up to: that of its last range.
pub async fn upper(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<String>> {
    let upper = sqlx::query_scalar!(
        "select upper from etl.etl_run_ranges where run_id = $1 order by range_no desc limit 1",
        id as RunId,
    )
    .fetch_optional(connection)
    .await?;
    Ok(upper.flatten())
}

pub async fn is_walked(connection: &mut PgConnection, id: RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select not exists (
            select from etl.etl_run_ranges where run_id = $1 and finished_at is null
        ) as "walked!"
        "#,
        id as RunId,
    )
    .fetch_one(connection)
    .await
}

/// Active pipelines that need recovery: the run is missing, or an unfinished range has no live job. Before a run begins, only its
/// first range needs one; while it pauses, ranges that rest already need none.
pub(crate) async fn stranded(connection: &mut PgConnection) -> sqlx::Result<Vec<PipelineId>> {
    sqlx::query_scalar!(
        r#"
        select p.id as "id: PipelineId"
        from etl.etl_pipelines p
        where p.status in ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED')
          and (
              not exists (
                  select
                  from etl.etl_runs r
                  join etl.etl_run_ranges g on g.run_id = r.id
                  join apalis.jobs j on j.id = g.job_id
                  where r.pipeline_id = p.id
                    and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
                    and j.status in ('Pending', 'Queued', 'Running')
              )
              or p.status <> 'PAUSE_REQUESTED' and exists (
                  select
                  from etl.etl_runs r
                  join etl.etl_run_ranges g on g.run_id = r.id
                  left join apalis.jobs j on j.id = g.job_id and j.status in ('Pending', 'Queued', 'Running')
                  where r.pipeline_id = p.id
                    and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
                    and g.finished_at is null and (r.started_at is not null or g.range_no = 0)
                    and j.id is null
              )
          )
        order by p.id
        "#
    )
    .fetch_all(connection)
    .await
}
