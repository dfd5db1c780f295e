//! `etl.etl_runs` and `etl.etl_run_ranges`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::{
    horizon::{Due, Reread},
    pipelines::Edition,
    transitions::NewTransition,
};
use crate::domain::{
    Checkpoint, ErrorClass, FullStrategy, Mode, PipelineDraft, PipelineId, Position, Run, RunId, RunStatus, Status,
    Trigger,
};

/// Every read of runs is this statement with an end of its own.
macro_rules! select_runs {
    ($end:literal, $($argument:expr),+) => {
        sqlx::query!(
            r#"
            select r.id as "id: RunId", r.pipeline_id as "pipeline_id: PipelineId", p.name as pipeline,
                   r.mode as "mode: Mode", r.status as "status: RunStatus", r.trigger as "trigger: Trigger",
                   r.requested_at, r.started_at, r.finished_at, r.rows_read, r.rows_written, r.rows_rejected,
                   r.rows_removed, r.rows_total, r.batches, r.attempts, r.error, r.error_class as "error_class: ErrorClass",
                   r.checkpoint_from as "checkpoint_from: Json<Checkpoint>",
                   r.checkpoint_to as "checkpoint_to: Json<Checkpoint>"
            from etl.etl_runs r
            join etl.etl_pipelines p on p.id = r.pipeline_id
            "# + $end,
            $($argument),+
        )
        .map(|row| Run {
            id: row.id,
            pipeline_id: row.pipeline_id,
            pipeline: row.pipeline,
            mode: row.mode,
            status: row.status,
            trigger: row.trigger,
            requested_at: row.requested_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            rows_read: row.rows_read,
            rows_written: row.rows_written,
            rows_rejected: row.rows_rejected,
            rows_removed: row.rows_removed,
            rows_total: row.rows_total,
            batches: row.batches,
            attempts: row.attempts,
            error: row.error,
            error_class: row.error_class,
            checkpoint_from: row.checkpoint_from.map(|json| json.0),
            checkpoint_to: row.checkpoint_to.map(|json| json.0),
        })
    };
}

/// Reads one run.
pub async fn find(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<Run>> {
    select_runs!("where r.id = $1", id as RunId).fetch_optional(connection).await
}

/// Reads the unfinished run of a pipeline.
pub async fn find_active(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<Option<Run>> {
    select_runs!("where r.pipeline_id = $1 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')", pipeline as PipelineId)
        .fetch_optional(connection)
        .await
}

/// Reads the run that an idempotency key was answered with.
pub async fn find_by_key(connection: &mut PgConnection, pipeline: PipelineId, key: &str) -> sqlx::Result<Option<Run>> {
    select_runs!(
        "join etl.etl_run_keys k on k.run_id = r.id where k.pipeline_id = $1 and k.idempotency_key = $2",
        pipeline as PipelineId,
        key
    )
    .fetch_optional(connection)
    .await
}

/// Remembers which run an idempotency key was answered with.
pub(crate) async fn remember_key(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    key: &str,
    run: RunId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into etl.etl_run_keys (pipeline_id, idempotency_key, run_id) values ($1, $2, $3)",
        pipeline as PipelineId,
        key,
        run as RunId,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Where a page of runs ended.
#[derive(Debug, Clone, Copy)]
pub struct PageEnd {
    /// When the last run of the page was requested.
    pub requested_at: DateTime<Utc>,
    /// Its id.
    pub id: RunId,
}

/// Reads up to `limit` runs of a pipeline, newest first.
pub async fn list(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    after: Option<PageEnd>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    select_runs!(
        "where r.pipeline_id = $1 and ($2::timestamptz is null or (r.requested_at, r.id) < ($2, $3))
         order by r.requested_at desc, r.id desc
         limit $4",
        pipeline as PipelineId,
        after.map(|position| position.requested_at),
        after.map(|position| position.id) as Option<RunId>,
        limit
    )
    .fetch_all(connection)
    .await
}

/// A run about to be queued.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Its identity.
    pub id: RunId,
    /// The pipeline it belongs to.
    pub pipeline_id: PipelineId,
    /// What asked for it.
    pub trigger: Trigger,
    /// Who asked for it.
    pub requested_by: &'a str,
    /// The request it came from.
    pub correlation_id: &'a str,
    /// How it walks: an incremental pipeline may have a full run too.
    pub mode: Mode,
    /// The configuration it executes, whatever happens to the pipeline meanwhile.
    pub inputs: &'a PipelineDraft,
    /// The run that it repeats, whose checkpoint it may move.
    pub repeats: Option<RunId>,
    /// Where it begins.
    pub from: Option<&'a Checkpoint>,
    /// Its first job.
    pub job: NewJob<'a>,
}

/// A job about to be queued with its run.
#[derive(Debug)]
pub struct NewJob<'a> {
    /// Its identity.
    pub id: &'a str,
    /// The queue.
    pub queue: &'a str,
    /// What is to be done, but for the time at which it was queued.
    pub payload: Value,
    /// How often it may be taken up.
    pub max_attempts: i32,
}

/// Inserts a queued run with its one range, which begins at the run's checkpoint, and the range's first job. Returns when
/// it was requested.
pub async fn insert(tx: &mut PgConnection, run: &NewRun<'_>) -> sqlx::Result<DateTime<Utc>> {
    insert_with(tx, run, None).await?.ok_or(sqlx::Error::RowNotFound)
}

/// Inserts a queued run as [`insert`] does, with the change of status that asks for it, if the pipeline's row is still the
/// edition that was seen and has no unfinished run. If not, nothing was changed.
pub(crate) async fn request(
    connection: &mut PgConnection,
    run: &NewRun<'_>,
    transition: &NewTransition<'_>,
    seen: &Edition,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    insert_with(connection, run, Some((transition, seen))).await
}

async fn insert_with(
    connection: &mut PgConnection,
    run: &NewRun<'_>,
    change: Option<(&NewTransition<'_>, &Edition)>,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    let transition = change.map(|(transition, _)| transition);
    sqlx::query_scalar!(
        r#"
        with pipeline as materialized (
            select p.id, p.checkpoint_epoch
            from etl.etl_pipelines p
            where p.id = $2
              and ($14::text is null or (p.xmin::text = $14 and not exists (
                  select from etl.etl_runs r where r.pipeline_id = $2 and r.status in ('QUEUED', 'RUNNING', 'PAUSED'))))
            for no key update
        ),
        run as (
            insert into etl.etl_runs
                (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs, checkpoint_from,
                 checkpoint_epoch)
            select $1, pipeline.id, $3, $4, $5, $6, $7, $8,
                   coalesce((select e.checkpoint_epoch from etl.etl_runs e where e.id = $19), pipeline.checkpoint_epoch)
            from pipeline
            returning id, requested_at
        ),
        range as (
            insert into etl.etl_run_ranges (run_id, range_no, after, job_id, walks_by)
            select id, 0, $9, $10,
                   case when $19::uuid is null then (select s.walks_by from etl.etl_state s where s.pipeline_id = $2)
                        else (select e.walks_by from etl.etl_run_ranges e where e.run_id = $19 and e.range_no = 0) end
            from run
        ),
        -- A job is announced only if its time is not after the transaction's start.
        job as (
            insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
            select $10, $11,
                   convert_to(($12::jsonb || jsonb_build_object('queued_us',
                       (extract(epoch from clock_timestamp()) * 1000000)::bigint))::text, 'UTF8'),
                   'Pending', 0, $13, now() - interval '1 second', 0
            from run
        ),
        changed as (
            update etl.etl_pipelines p set status = $16 from run where p.id = $2 and $16::text is not null
        ),
        logged as (
            insert into etl.etl_transitions
                (pipeline_id, pipeline, run_id, from_status, to_status, actor, reason, correlation_id)
            select $2, $17, run.id, $15, $16, $5, $18, $6
            from run
            where $16 is not null
        )
        select requested_at from run
        "#,
        run.id as RunId,
        run.pipeline_id as PipelineId,
        run.mode as Mode,
        run.trigger as Trigger,
        run.requested_by,
        run.correlation_id,
        Json(run.inputs) as Json<&PipelineDraft>,
        run.from.map(Json) as Option<Json<&Checkpoint>>,
        run.from.map(Position::after) as Option<Position>,
        run.job.id,
        run.job.queue,
        run.job.payload,
        run.job.max_attempts,
        change.map(|(_, seen)| seen) as Option<&Edition>,
        transition.map(|transition| transition.from) as Option<Status>,
        transition.map(|transition| transition.to) as Option<Status>,
        transition.map(|transition| transition.pipeline),
        transition.map(|transition| transition.reason),
        run.repeats as Option<RunId>,
    )
    .fetch_optional(connection)
    .await
}

/// Reads what a run was requested with.
pub async fn inputs(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<PipelineDraft>> {
    let inputs = sqlx::query_scalar!(
        r#"select inputs as "inputs: Json<PipelineDraft>" from etl.etl_runs where id = $1"#,
        id as RunId,
    )
    .fetch_optional(connection)
    .await?;
    Ok(inputs.map(|json| json.0))
}

/// What a run did, at its end.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    /// Rows that its query returned.
    pub rows_read: i64,
    /// Rows that it inserted or changed.
    pub rows_written: i64,
    /// Batches that it committed.
    pub batches: i64,
    /// Attempts that failed.
    pub attempts: i32,
    /// How long it took.
    pub seconds: f64,
}

/// Reads what a run did.
pub async fn sum(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<Sum>> {
    sqlx::query_as!(
        Sum,
        r#"
        select rows_read, rows_written, batches, attempts,
               coalesce(extract(epoch from finished_at - started_at), 0)::double precision as "seconds!"
        from etl.etl_runs
        where id = $1
        "#,
        id as RunId,
    )
    .fetch_optional(connection)
    .await
}

/// An unfinished run, as the worker that takes it up sees it.
#[derive(Debug)]
pub struct OpenRun {
    /// Its identity.
    pub id: RunId,
    /// The pipeline it belongs to.
    pub pipeline_id: PipelineId,
    /// How it walks.
    pub mode: Mode,
    /// Whether it is queued, executing or resting.
    pub status: RunStatus,
    /// When its first batch began.
    pub started_at: Option<DateTime<Utc>>,
    /// Where it begins.
    pub checkpoint_from: Option<Checkpoint>,
    /// What it was requested with.
    pub inputs: PipelineDraft,
    /// The index that it writes, or the table in which it gathers its rows, once it was begun.
    pub target_id: Option<String>,
    /// The index that the pipeline's checkpoint belongs to.
    pub checkpoint_of: Option<String>,
    /// The columns that it walks by, once it was begun; before, those that its checkpoint is of.
    pub walks_by: Option<Vec<WalkedColumn>>,
    /// Whether one of them is not as it was when that was noted.
    pub is_retyped: bool,
    /// The row that says that the pipeline must read again because the clock went back.
    pub owed_step: Option<String>,
}

/// A column that a run walks by, as it was when its keys were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkedColumn {
    /// Its type, with length or precision and collation.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The table or view whose column it is, zero where it is none.
    pub relation: u32,
    /// The number of that column.
    pub number: i16,
}

impl OpenRun {
    /// How a full run writes a mart, once it was begun. It goes on like that whatever its target looks like by then: pages
    /// that were gathered are not in the mart, and others were not gathered.
    pub fn strategy(&self) -> Option<FullStrategy> {
        let gathers = self.target_id.is_some();
        self.started_at.map(|_| if gathers { FullStrategy::Swap } else { FullStrategy::Merge })
    }
}

/// Reads a run unless it has ended.
pub async fn open(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<OpenRun>> {
    let run = sqlx::query!(
        r#"
        select pipeline_id as "pipeline_id: PipelineId", mode as "mode: Mode", status as "status: RunStatus", started_at,
               checkpoint_from as "checkpoint_from: Json<Checkpoint>", inputs as "inputs: Json<PipelineDraft>", target_id,
               (select w.target_id from etl.etl_state s join etl.etl_runs w on w.id = s.run_id
                where s.pipeline_id = r.pipeline_id) as checkpoint_of,
               g.walks_by as "walks_by: Json<Vec<WalkedColumn>>",
               exists (
                   select
                   from jsonb_to_recordset(g.walks_by) as w (relation oid, number smallint, found text)
                   where (select format_type(a.atttypid, a.atttypmod) from pg_attribute a
                          where a.attrelid = w.relation and a.attnum = w.number) is distinct from w.found
               ) as "is_retyped!",
               (select w.xmin::text from etl.etl_rereads w
                where w.pipeline_id = r.pipeline_id and w.transaction = '') as owed_step
        from etl.etl_runs r
        join etl.etl_run_ranges g on g.run_id = r.id and g.range_no = 0
        where id = $1 and status in ('QUEUED', 'RUNNING', 'PAUSED')
        "#,
        id as RunId,
    )
    .fetch_optional(connection)
    .await?;
    Ok(run.map(|run| OpenRun {
        id,
        pipeline_id: run.pipeline_id,
        mode: run.mode,
        status: run.status,
        started_at: run.started_at,
        checkpoint_from: run.checkpoint_from.map(|json| json.0),
        inputs: run.inputs.0,
        target_id: run.target_id,
        checkpoint_of: run.checkpoint_of,
        walks_by: run.walks_by.map(|json| json.0),
        is_retyped: run.is_retyped,
        owed_step: run.owed_step,
    }))
}

/// Parts every checkpoint from an index that has no document: it says nothing about what is there any more. Whether one was,
/// of a pipeline that has delivered rows. Where every row was refused, there were never any documents.
pub async fn part_from_emptied(connection: &mut PgConnection, target_id: &str) -> sqlx::Result<bool> {
    let parted = sqlx::query(
        r"
        with bound as materialized (
            select s.pipeline_id, s.run_id
            from etl.etl_state s
            join etl.etl_runs w on w.id = s.run_id
            where w.target_id = $1
        )
        update etl.etl_runs r
        set target_id = null
        from bound
        where r.id = bound.run_id
          and exists (select from bound b join etl.etl_runs d on d.pipeline_id = b.pipeline_id
                      where d.rows_read > d.rows_rejected)
        ",
    )
    .bind(target_id)
    .execute(connection)
    .await?;
    Ok(parted.rows_affected() > 0)
}

/// Whether a checkpoint says that rows were delivered to the index that this target has.
pub async fn is_delivered_to(connection: &mut PgConnection, target: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        r"
        select exists (
            select
            from etl.etl_state s
            join etl.etl_runs w on w.id = s.run_id
            join etl.etl_runs d on d.pipeline_id = s.pipeline_id
            where w.target = $1 and w.target_id is not null and d.rows_read > d.rows_rejected
        )
        ",
    )
    .bind(target)
    .fetch_one(connection)
    .await
}

/// Puts a resting run back into the queue.
pub(crate) async fn requeue(tx: &mut PgConnection, id: RunId) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set status = 'QUEUED' where id = $1", id as RunId).execute(tx).await?;
    Ok(())
}

/// Ends a run without an error.
pub(crate) async fn end(tx: &mut PgConnection, id: RunId, status: RunStatus) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_runs set status = $2, finished_at = now() where id = $1",
        id as RunId,
        status as RunStatus,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A range of a run that is to be walked, and whether the queue still holds its next batch.
#[derive(Debug)]
pub struct Range {
    /// Its number within the run.
    pub range_no: i32,
    /// The batch that comes next.
    pub next_batch: i64,
    /// Where that batch begins.
    pub after: Option<Position>,
    /// The run's correlation id.
    pub correlation_id: String,
    /// Whether its job is waiting or executing.
    pub has_live_job: bool,
}

/// Reads the unfinished ranges of a run. One that is walked to its end in all ranges has the first of them: somebody
/// must still end the run.
pub async fn open_ranges(connection: &mut PgConnection, run: RunId) -> sqlx::Result<Vec<Range>> {
    let rows = sqlx::query!(
        r#"
        select g.range_no, g.next_batch, g.after as "after: Position", r.correlation_id,
               coalesce(j.status in ('Pending', 'Queued', 'Running'), false) as "has_live_job!"
        from etl.etl_run_ranges g
        join etl.etl_runs r on r.id = g.run_id
        left join apalis.jobs j on j.id = g.job_id
        where g.run_id = $1
          and (g.finished_at is null
               or g.range_no = 0 and not exists (
                   select from etl.etl_run_ranges o where o.run_id = g.run_id and o.finished_at is null
               ))
        order by g.range_no
        "#,
        run as RunId,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Range {
            range_no: row.range_no,
            next_batch: row.next_batch,
            after: row.after,
            correlation_id: row.correlation_id,
            has_live_job: row.has_live_job,
        })
        .collect())
}

/// Notes which job carries a range on.
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

/// Marks a queued run as begun, with what it will read. A run that was begun before keeps its start and its bound.
///
/// The commit does not wait for the disk: the first batch's does, and before that nothing is lost but the beginning.
pub(crate) async fn begin(tx: &mut PgConnection, id: RunId, start: &Start) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        with run as (
            update etl.etl_runs r
            set status = 'RUNNING', started_at = coalesce(started_at, now()), leaves = coalesce(r.leaves, $6),
                target_id = coalesce(r.target_id, $7), checkpoint_from = case when not $8 then checkpoint_from end
            from (select set_config('synchronous_commit', 'off', true)) as not_waiting
            where r.id = $1
            returning r.id
        )
        update etl.etl_run_ranges g
        set upper = coalesce(g.upper, $2), after = coalesce($3, case when not $8 then g.after end),
            horizon = coalesce(g.horizon, $4), server = coalesce(g.server, $5),
            walks_by = coalesce(etl.note_walk($9), g.walks_by)
        from run
        where g.run_id = run.id
        "#,
        id as RunId,
        start.upper,
        start.after.as_ref() as Option<&Position>,
        start.horizon,
        start.server,
        start.leaves.as_ref().map(Json) as Option<Json<&Checkpoint>>,
        start.target_id,
        start.anew.is_some(),
        start.walks_by.as_ref().map(Json) as Option<Json<&Vec<WalkedColumn>>>,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Whether a run of a pipeline has removed rows since its checkpoint was forgotten last.
pub(crate) async fn has_removed(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select
            from etl.etl_runs r
            join etl.etl_pipelines p on p.id = r.pipeline_id and p.checkpoint_epoch = r.checkpoint_epoch
            where r.pipeline_id = $1 and r.rows_removed > 0
        ) as "removed!"
        "#,
        pipeline as PipelineId,
    )
    .fetch_one(connection)
    .await
}

/// What is known of a run when its first batch begins.
#[derive(Debug, Default)]
pub struct Start {
    /// The bound that it reads up to.
    pub upper: Option<String>,
    /// Where it begins instead of at its checkpoint.
    pub after: Option<Position>,
    /// The time behind the bound, where keys come from the clock.
    pub horizon: Option<DateTime<Utc>>,
    /// The server whose clock that is.
    pub server: Option<String>,
    /// What was owed and is read now, and what is owed from now on.
    pub debts: Debts,
    /// The checkpoint that a full run of an incremental pipeline leaves.
    pub leaves: Option<Checkpoint>,
    /// The index that it writes, or the table in which it gathers its rows.
    pub target_id: Option<String>,
    /// Why it begins at the first row, if it does.
    pub anew: Option<Anew>,
    /// The columns that it walks by; none where they are those that its checkpoint is of.
    pub walks_by: Option<Vec<WalkedColumn>>,
}

/// Why a checkpoint says nothing about what is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anew {
    /// It is of another index than the target has now.
    OtherIndex,
    /// The columns that its key and id are of have other types now.
    Retyped,
}

/// How a run's start changes what its pipeline must read again.
#[derive(Debug, Default, PartialEq)]
pub struct Debts {
    /// What is read now.
    pub settled: Vec<Due>,
    /// The pipeline's checkpoint moves back to here.
    pub rewind: Option<Checkpoint>,
    /// What must be read again by a later run.
    pub incurred: Vec<Reread>,
}

/// Notes the estimate of the rows that a run will read.
pub async fn set_total(connection: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_total = $2 where id = $1", id as RunId, rows)
        .execute(connection)
        .await?;
    Ok(())
}

/// The bound that a range is read up to.
pub async fn upper(connection: &mut PgConnection, id: RunId, range_no: i32) -> sqlx::Result<Option<String>> {
    let upper = sqlx::query_scalar!(
        "select upper from etl.etl_run_ranges where run_id = $1 and range_no = $2",
        id as RunId,
        range_no,
    )
    .fetch_optional(connection)
    .await?;
    Ok(upper.flatten())
}

/// What the next page of a range is read with.
#[derive(Debug)]
pub struct NextPage {
    /// The last row that was written.
    pub after: Option<Position>,
    /// The bound that it is read up to.
    pub upper: Option<String>,
    /// Rows that the run has put aside so far.
    pub rows_rejected: i64,
    /// What its documents' versions are made of; the next number is for the page after it. See `store::write_numbers`.
    pub write_number: Option<i64>,
}

/// What the next page of a range is read with, if this batch is its next one.
pub async fn next_page(
    connection: &mut PgConnection,
    id: RunId,
    range_no: i32,
    batch: i64,
    numbered: bool,
) -> sqlx::Result<Option<NextPage>> {
    sqlx::query_as!(
        NextPage,
        r#"
        select g.after as "after: Position", g.upper, r.rows_rejected,
               case when $4 then nextval('etl.etl_write_numbers') end as write_number
        from etl.etl_run_ranges g
        join etl.etl_runs r on r.id = g.run_id
        where g.run_id = $1 and g.range_no = $2 and g.next_batch = $3 and g.finished_at is null
        "#,
        id as RunId,
        range_no,
        batch,
        numbered,
    )
    .fetch_optional(connection)
    .await
}

/// The runs that have not ended.
pub async fn unfinished(connection: &mut PgConnection) -> sqlx::Result<Vec<RunId>> {
    sqlx::query_scalar!(r#"select id as "id: RunId" from etl.etl_runs where status in ('QUEUED', 'RUNNING', 'PAUSED')"#)
        .fetch_all(connection)
        .await
}

/// Adds rows that were put aside.
pub async fn add_rejected(tx: &mut PgConnection, id: RunId, rows: u64) -> sqlx::Result<()> {
    if rows > 0 {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        sqlx::query!("update etl.etl_runs set rows_rejected = rows_rejected + $2 where id = $1", id as RunId, rows)
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// Adds rows that were written besides the pages.
pub async fn add_written(tx: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_written = rows_written + $2 where id = $1", id as RunId, rows)
        .execute(tx)
        .await?;
    Ok(())
}

/// Adds rows that were removed from the target.
pub async fn add_removed(tx: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_removed = rows_removed + $2 where id = $1", id as RunId, rows)
        .execute(tx)
        .await?;
    Ok(())
}

/// The unfinished run that writes a target.
#[derive(Debug)]
pub struct Writer {
    /// Name of its pipeline.
    pub pipeline: String,
    /// Its pipeline.
    pub pipeline_id: PipelineId,
    /// How it stands.
    pub status: RunStatus,
}

/// Reads which unfinished run writes this target.
pub async fn writer_of(connection: &mut PgConnection, target: &str) -> sqlx::Result<Option<Writer>> {
    sqlx::query_as!(
        Writer,
        r#"
        select p.name as pipeline, p.id as "pipeline_id: PipelineId", r.status as "status: RunStatus"
        from etl.etl_runs r
        join etl.etl_pipelines p on p.id = r.pipeline_id
        where r.target = $1 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
        "#,
        target,
    )
    .fetch_optional(connection)
    .await
}

/// Lets a run rest.
pub(crate) async fn pause(tx: &mut PgConnection, id: RunId) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set status = 'PAUSED' where id = $1", id as RunId).execute(tx).await?;
    Ok(())
}

/// Ends a run with an error.
pub(crate) async fn fail(tx: &mut PgConnection, id: RunId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_runs
        set status = 'FAILED', finished_at = now(), error_class = $2, error = left($3, 4000), attempts = attempts + 1
        where id = $1
        "#,
        id as RunId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes an attempt that failed and will be repeated.
pub(crate) async fn note_failure(tx: &mut PgConnection, id: RunId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_runs
        set attempts = attempts + 1, error_class = $2, error = left($3, 4000)
        where id = $1
        "#,
        id as RunId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Whether every range of the run has been walked to its end.
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

/// A batch about to be executed.
#[derive(Debug, Clone, Copy)]
pub struct BatchCall<'a> {
    /// The run.
    pub run: RunId,
    /// The range of the run.
    pub range: i32,
    /// The number of the batch.
    pub number: i64,
    /// The job that carries it.
    pub job: &'a str,
    /// Who executes it.
    pub worker: &'a str,
    /// The page's statement.
    pub statement: &'a str,
    /// Rows in a page.
    pub page_size: i64,
    /// Whether the key is a `timestamptz`.
    pub by_time: bool,
    /// Id for the chain's next job.
    pub next_job: &'a str,
    /// Whether this worker keeps the next job for itself.
    pub keep: bool,
}

/// What a batch did.
#[derive(Debug)]
pub struct BatchOutcome {
    /// Rows that the query returned.
    pub rows_read: i64,
    /// Rows that were inserted or changed.
    pub rows_written: i64,
    /// The last row.
    pub last: Option<Position>,
    /// Whether the chain's next job was queued.
    pub goes_on: bool,
    /// Rows that the run has read so far.
    pub run_rows_read: i64,
    /// Rows that the run has inserted or changed so far.
    pub run_rows_written: i64,
    /// Estimate of the rows that the run will read.
    pub run_rows_total: Option<i64>,
    /// Time since the run began.
    pub run_seconds: f64,
}

/// Executes a batch: one statement, one transaction. See `etl.run_batch`.
pub async fn execute_batch(connection: &mut PgConnection, call: &BatchCall<'_>) -> sqlx::Result<BatchOutcome> {
    sqlx::query_as!(
        BatchOutcome,
        r#"
        select rows_read as "rows_read!", rows_written as "rows_written!", last as "last: Position", goes_on as "goes_on!",
               run_rows_read as "run_rows_read!", run_rows_written as "run_rows_written!", run_rows_total,
               run_seconds as "run_seconds!"
        from etl.run_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        "#,
        call.run as RunId,
        call.range,
        call.number,
        call.job,
        call.worker,
        call.statement,
        call.page_size,
        call.by_time,
        call.next_job,
        call.keep,
    )
    .fetch_one(connection)
    .await
}
