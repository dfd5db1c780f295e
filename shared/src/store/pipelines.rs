//! `etl.etl_pipelines`.

mod glance;

use serde::Deserialize;
use sqlx::{AssertSqlSafe, PgConnection, types::Json};

use crate::domain::{
    Checkpoint, Mode, Pipeline, PipelineDraft, PipelineId, PipelineOptions, PipelineRef, Status, Task, TaskKind,
    UnfinishedRun,
};

use super::tasks;

pub use glance::{Glance, glance};

/// Which edition of a row was read: every change of the row, whatever it changes, makes another.
#[derive(Debug, sqlx::Type)]
#[sqlx(transparent)]
pub(crate) struct Edition(String);

/// What a change of a pipeline's status depends on besides its row.
#[derive(Debug, Default, Deserialize)]
struct Around {
    run: Option<UnfinishedRun>,
    checkpoint: Option<Checkpoint>,
}

/// A pipeline with its unfinished run and its checkpoint, as one statement has seen them.
#[derive(Debug)]
pub(crate) struct Seen {
    pub pipeline: Pipeline,
    /// None where the row is locked: then it stays as it was seen.
    pub edition: Option<Edition>,
    pub run: Option<UnfinishedRun>,
    pub checkpoint: Option<Checkpoint>,
}

/// Every read of pipelines is this statement with an end of its own.
macro_rules! select_pipelines {
    ($end:literal, $($argument:expr),+) => {
        select_pipelines!(around: "null::jsonb", $end, $($argument),+).map(|seen| seen.pipeline)
    };
    (around: $around:literal, $end:literal, $($argument:expr),+) => {
        sqlx::query!(
            r#"
            select p.xmin::text as "edition!: Edition",
                   id as "id: PipelineId", name, description, type as "kind: TaskKind", mode as "mode: Mode",
                   source_query, target_table, batch_size, incremental_key, incremental_id_key, enabled,
                   status as "status: Status", options as "options: Json<PipelineOptions>", version,
                   created_at, updated_at,
                   coalesce(
                       (select jsonb_agg(to_jsonb(t) - 'pipeline_id' order by t.order_index)
                        from etl.etl_pipeline_tasks t
                        where t.pipeline_id = p.id),
                       '[]'
                   ) as "tasks!: Json<Vec<Task>>",
                   "# + $around + r#" as "around: Json<Around>"
            from etl.etl_pipelines p
            "# + $end,
            $($argument),+
        )
        .map(|row| {
            let Around { run, checkpoint } = row.around.map(|json| json.0).unwrap_or_default();
            let draft = PipelineDraft {
                name: row.name,
                description: row.description,
                kind: row.kind,
                mode: row.mode,
                source_query: row.source_query,
                target_table: row.target_table,
                batch_size: row.batch_size,
                incremental_key: row.incremental_key,
                incremental_id_key: row.incremental_id_key,
                enabled: row.enabled,
                options: row.options.0,
                tasks: row.tasks.0,
            };
            let pipeline = Pipeline {
                id: row.id,
                draft,
                status: row.status,
                version: row.version,
                created_at: row.created_at,
                updated_at: row.updated_at,
            };
            Seen { pipeline, edition: Some(row.edition), run, checkpoint }
        })
    };
}

#[derive(Debug, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub enabled: Option<bool>,
    /// Only those after this name.
    pub after: Option<String>,
}

/// The id or the name to look for; neither for a name that no pipeline can have and the server could not read.
///
/// Statements say `coalesce`, not `or`, which would be planned anew for every request.
fn split(pipeline: &PipelineRef) -> (Option<PipelineId>, Option<&str>) {
    match pipeline {
        PipelineRef::Id(id) => (Some(*id), None),
        PipelineRef::Name(name) if name.contains('\0') => (None, None),
        PipelineRef::Name(name) => (None, Some(name)),
    }
}

pub async fn find(connection: &mut PgConnection, pipeline: &PipelineRef) -> sqlx::Result<Option<Pipeline>> {
    let (id, name) = split(pipeline);
    select_pipelines!(
        "where p.id = coalesce($1, (select named.id from etl.etl_pipelines named where named.name = $2))",
        id as Option<PipelineId>,
        name
    )
    .fetch_optional(connection)
    .await
}

/// Reads what a change of a pipeline's status depends on. Where the row is to be locked, that comes first: a statement that
/// waits for a lock has read everything else before.
pub(crate) async fn see(connection: &mut PgConnection, pipeline: &PipelineRef) -> sqlx::Result<Option<Seen>> {
    let (id, name) = split(pipeline);
    select_pipelines!(
        around: "jsonb_build_object(
            'run', (select jsonb_build_object('id', r.id, 'status', r.status, 'mode', r.mode)
                    from etl.etl_runs r
                    where r.pipeline_id = p.id and r.status in ('QUEUED', 'RUNNING', 'PAUSED')),
            'checkpoint', (select jsonb_build_object('key', s.checkpoint_key, 'id', s.checkpoint_id)
                           from etl.etl_state s where s.pipeline_id = p.id))",
        "where p.id = coalesce($1, (select named.id from etl.etl_pipelines named where named.name = $2))",
        id as Option<PipelineId>,
        name
    )
    .fetch_optional(connection)
    .await
}

/// Reads one pipeline and locks its row until the transaction ends.
pub async fn lock(tx: &mut PgConnection, pipeline: &PipelineRef) -> sqlx::Result<Option<Pipeline>> {
    let (id, name) = split(pipeline);
    select_pipelines!(
        "where p.id = coalesce($1, (select named.id from etl.etl_pipelines named where named.name = $2))
         for no key update of p",
        id as Option<PipelineId>,
        name
    )
    .fetch_optional(tx)
    .await
}

/// Targets that have rows in common with the target `$1`: itself, for a mart the tables that it is a partition of, and its
/// own partitions.
const OVERLAPPING: &str = include_str!("pipelines/overlapping.sql");

/// Reads the pipelines whose rows are in this target, in another one that it is a part of, or in one of its parts.
pub async fn sharing(connection: &mut PgConnection, target: &str) -> sqlx::Result<Vec<Pipeline>> {
    let statement = format!("with {OVERLAPPING} select target from overlapping order by target");
    let targets: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(statement)).bind(target).fetch_all(&mut *connection).await?;
    let mut found = Vec::new();
    for target in targets {
        found.extend(writing(connection, &target).await?);
    }
    Ok(found)
}

/// Notes that rows of a target were removed: on the pipeline that did, and on all other pipelines that [`sharing`] finds. Their rows stay
/// locked. Returns these other pipelines.
pub async fn note_removal(tx: &mut PgConnection, pipeline: PipelineId, target: &str) -> sqlx::Result<Vec<PipelineId>> {
    let statement = format!(
        "with {OVERLAPPING},
         locked as materialized (
             select p.id
             from etl.etl_pipelines p
             where p.id = $2
                or coalesce((select t.target_table from etl.etl_pipeline_tasks t where t.pipeline_id = p.id
                             order by t.order_index desc limit 1), p.target_table) in (select target from overlapping)
             order by p.id
             for no key update of p
         ),
         noted as (
             update etl.etl_pipelines p set has_removed_rows = true
             from locked l where p.id = l.id and not p.has_removed_rows
         )
         select id from locked"
    );
    let mut found: Vec<PipelineId> =
        sqlx::query_scalar(AssertSqlSafe(statement)).bind(target).bind(pipeline).fetch_all(tx).await?;
    found.retain(|found| *found != pipeline);
    Ok(found)
}

/// Whether rows of a pipeline's target were removed since its checkpoint was forgotten last.
pub(crate) async fn has_removed_rows(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<bool> {
    sqlx::query_scalar!("select has_removed_rows from etl.etl_pipelines where id = $1", pipeline as PipelineId)
        .fetch_one(connection)
        .await
}

/// Reads the pipelines that write this target in the end.
pub async fn writing(connection: &mut PgConnection, target: &str) -> sqlx::Result<Vec<Pipeline>> {
    select_pipelines!(
        "where coalesce((select t.target_table from etl.etl_pipeline_tasks t where t.pipeline_id = p.id
                         order by t.order_index desc limit 1), p.target_table) = $1
         order by p.id",
        target
    )
    .fetch_all(connection)
    .await
}

/// Reads one pipeline and locks its row, and those of all other pipelines that write this target: until the transaction ends no run
/// begins that writes it.
pub async fn lock_writers(tx: &mut PgConnection, pipeline: PipelineId, target: &str) -> sqlx::Result<Option<Pipeline>> {
    let rows = select_pipelines!(
        "where p.id = $1 or coalesce((select t.target_table from etl.etl_pipeline_tasks t where t.pipeline_id = p.id
                                      order by t.order_index desc limit 1), p.target_table) = $2
         order by p.id
         for no key update of p",
        pipeline as PipelineId,
        target
    )
    .fetch_all(tx)
    .await?;
    Ok(rows.into_iter().find(|found| found.id == pipeline))
}

pub async fn list(connection: &mut PgConnection, filter: &Filter, limit: i64) -> sqlx::Result<Vec<Pipeline>> {
    select_pipelines!(
        "where ($1::text is null or status = $1)
           and ($2::boolean is null or enabled = $2)
           and ($3::text is null or name > $3)
         order by name
         limit $4",
        filter.status as Option<Status>,
        filter.enabled,
        filter.after.as_deref(),
        limit
    )
    .fetch_all(connection)
    .await
}

pub async fn insert(tx: &mut PgConnection, id: PipelineId, draft: &PipelineDraft) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_pipelines
            (id, name, description, type, mode, source_query, target_table, batch_size,
             incremental_key, incremental_id_key, enabled, options)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        "#,
        id as PipelineId,
        draft.name,
        draft.description,
        draft.kind as TaskKind,
        draft.mode as Mode,
        draft.source_query,
        draft.target_table,
        draft.batch_size,
        draft.incremental_key,
        draft.incremental_id_key,
        draft.enabled,
        Json(&draft.options) as Json<&PipelineOptions>,
    )
    .execute(&mut *tx)
    .await?;
    tasks::replace(tx, id, &draft.tasks).await
}

/// Overwrites a pipeline's configuration and its tasks, and counts its version up.
pub async fn update(tx: &mut PgConnection, id: PipelineId, draft: &PipelineDraft) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_pipelines
        set name = $2, description = $3, type = $4, mode = $5, source_query = $6, target_table = $7,
            batch_size = $8, incremental_key = $9, incremental_id_key = $10, enabled = $11, options = $12,
            version = version + 1, updated_at = now()
        where id = $1
        "#,
        id as PipelineId,
        draft.name,
        draft.description,
        draft.kind as TaskKind,
        draft.mode as Mode,
        draft.source_query,
        draft.target_table,
        draft.batch_size,
        draft.incremental_key,
        draft.incremental_id_key,
        draft.enabled,
        Json(&draft.options) as Json<&PipelineOptions>,
    )
    .execute(&mut *tx)
    .await?;
    tasks::replace(tx, id, &draft.tasks).await
}

/// Removes a pipeline with its tasks, runs and checkpoint; the transition log stays.
pub async fn delete(tx: &mut PgConnection, id: PipelineId) -> sqlx::Result<()> {
    sqlx::query!("delete from etl.etl_pipelines where id = $1", id as PipelineId).execute(tx).await.map(drop)
}

pub async fn names(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select name from etl.etl_pipelines").fetch_all(connection).await
}
