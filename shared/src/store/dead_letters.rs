//! `etl.etl_dead_letters`: rows that could not be written, with the reason.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::{PgConnection, types::Json};

use crate::domain::{ErrorClass, PipelineId, RunId};

/// Where refused rows come from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub pipeline: PipelineId,
    pub run: RunId,
    pub batch: i64,
    /// The key columns of the target.
    pub key: &'a [String],
}

/// Rows that were put aside.
#[derive(Debug, Default)]
pub struct Kept {
    pub rows: u64,
    /// The letters of those that had none.
    pub opened: Vec<i64>,
}

impl Kept {
    fn of(letters: Vec<(i64, bool)>) -> Self {
        let opened = letters.iter().filter(|(_, opened)| *opened).map(|(id, _)| *id).collect();
        Self { rows: letters.len() as u64, opened }
    }
}

/// Keeps the rows of `pg_temp.vitrina_page` that `etl_page.write_rows` put aside.
pub async fn keep_refused(tx: &mut PgConnection, origin: Origin<'_>) -> sqlx::Result<Kept> {
    // The tables are the session's own, so no macro can see them.
    let kept = sqlx::query_as(
        r#"
        insert into etl.etl_dead_letters as kept (pipeline_id, run_id, batch, key, row, error, error_class)
        select $1, $2, $3, (select jsonb_object_agg(k, p.doc -> k) from unnest($4::text[]) k), p.doc, left(p.error, 4000), $5
        from (
            select etl.storable(p.doc::text) as doc, r.error
            from pg_temp.vitrina_refused r
            join pg_temp.vitrina_page p on p.place = r.place
        ) as p
        on conflict (pipeline_id, md5(key::text)) where replayed_at is null do update
        set run_id = excluded.run_id, batch = excluded.batch, row = excluded.row, error = excluded.error,
            error_class = excluded.error_class, created_at = now()
        -- A letter that was there was locked.
        returning id, kept.xmax = 0
        "#,
    )
    .bind(origin.pipeline)
    .bind(origin.run)
    .bind(origin.batch)
    .bind(origin.key)
    .bind(ErrorClass::Row)
    .fetch_all(tx)
    .await?;
    Ok(Kept::of(kept))
}

/// Keeps rows that were refused outside of the database: their JSON texts, each with the reason.
pub async fn keep(tx: &mut PgConnection, origin: Origin<'_>, rows: &[String], errors: &[String]) -> sqlx::Result<Kept> {
    let kept = sqlx::query!(
        r#"
        insert into etl.etl_dead_letters as kept (pipeline_id, run_id, batch, key, row, error, error_class)
        select distinct on (key) $1, $2, $3::bigint, key, doc, left(error, 4000), $7
        from (
            select (select jsonb_object_agg(k, stored.doc -> k) from unnest($4::text[]) k) as key, stored.doc, refused.error
            from unnest($5::text[], $6::text[]) as refused (doc, error)
            cross join lateral etl.storable(refused.doc) as stored (doc)
        ) as refused
        on conflict (pipeline_id, md5(key::text)) where replayed_at is null do update
        set run_id = excluded.run_id, batch = excluded.batch, row = excluded.row, error = excluded.error,
            error_class = excluded.error_class, created_at = now()
        returning id, kept.xmax = 0 as "opened!"
        "#,
        origin.pipeline as PipelineId,
        origin.run as RunId,
        origin.batch,
        origin.key,
        rows,
        errors,
        ErrorClass::Row as ErrorClass,
    )
    .fetch_all(tx)
    .await?;
    Ok(Kept::of(kept.into_iter().map(|letter| (letter.id, letter.opened)).collect()))
}

/// A row that could not be written, as it is shown.
#[derive(Debug)]
pub struct DeadLetter {
    /// Its identity; later ones are greater.
    pub id: i64,
    pub pipeline_id: PipelineId,
    pub run_id: RunId,
    pub batch: i64,
    /// The key columns of the row, by name.
    pub key: Json<Box<RawValue>>,
    /// The row as it should have been written; none where it is too wide to be shown.
    pub row: Option<Json<Box<RawValue>>>,
    pub error: String,
    pub error_class: ErrorClass,
    pub created_at: DateTime<Utc>,
    /// When it was replayed, or found to be of no use any more.
    pub replayed_at: Option<DateTime<Utc>>,
}

/// Reads up to `limit` letters of a pipeline, newest first: those before `before`, those that are `open` or are not.
pub async fn list(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    open: Option<bool>,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<DeadLetter>> {
    sqlx::query_as!(
        DeadLetter,
        r#"
        select id, pipeline_id as "pipeline_id: PipelineId", run_id as "run_id: RunId", batch,
               key as "key: Json<Box<RawValue>>",
               case when pg_column_size(row) <= 65536 then row end as "row: Json<Box<RawValue>>",
               error, error_class as "error_class: ErrorClass", created_at, replayed_at
        from etl.etl_dead_letters
        where pipeline_id = $1 and ($2::boolean is null or (replayed_at is null) = $2) and ($3::bigint is null or id < $3)
        order by id desc
        limit $4
        "#,
        pipeline as PipelineId,
        open,
        before,
        limit,
    )
    .fetch_all(connection)
    .await
}

/// The key columns of a row, by name. Each value is the JSON that the database has: a number of Rust would be rounded.
pub type RowKey = BTreeMap<String, Option<Box<RawValue>>>;

#[derive(Debug)]
pub struct Letter {
    pub id: i64,
    pub key: Json<RowKey>,
}

/// Locks up to `limit` open letters of a pipeline, the oldest or those with these ids.
pub async fn lock_open(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    ids: Option<&[i64]>,
    limit: i64,
) -> sqlx::Result<Vec<Letter>> {
    sqlx::query_as!(
        Letter,
        r#"
        select id, key as "key: Json<RowKey>"
        from etl.etl_dead_letters
        where pipeline_id = $1 and replayed_at is null and ($2::bigint[] is null or id = any($2))
        order by id
        limit $3
        for update
        "#,
        pipeline as PipelineId,
        ids,
        limit,
    )
    .fetch_all(tx)
    .await
}

/// Notes that letters need no further attention.
pub async fn close(tx: &mut PgConnection, ids: &[i64]) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_dead_letters set replayed_at = now() where id = any($1)", ids).execute(tx).await?;
    Ok(())
}

/// Notes why a row was refused again, as its source has it now.
pub async fn refuse_again(tx: &mut PgConnection, id: i64, row: &str, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_dead_letters set row = etl.storable($2), error = left($3, 4000) where id = $1",
        id,
        row,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub async fn open(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "open!" from etl.etl_dead_letters where pipeline_id = $1 and replayed_at is null"#,
        pipeline as PipelineId,
    )
    .fetch_one(connection)
    .await
}
