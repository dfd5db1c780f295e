//! `etl.etl_dead_letters`: rows that could not be written, with the reason.

use sqlx::PgConnection;

use crate::domain::{ErrorClass, PipelineId, RunId};

/// Where refused rows come from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The pipeline.
    pub pipeline: PipelineId,
    /// The run.
    pub run: RunId,
    /// The batch.
    pub batch: i64,
    /// The key columns of the target.
    pub key: &'a [String],
}

/// Keeps the rows of `pg_temp.vitrina_page` that `etl_page.write_rows` put aside. Returns how many.
pub async fn keep_refused(tx: &mut PgConnection, origin: Origin<'_>) -> sqlx::Result<u64> {
    // The tables are the session's own, so no macro can see them.
    let kept = sqlx::query(
        r#"
        insert into etl.etl_dead_letters as kept (pipeline_id, run_id, batch, key, row, error, error_class)
        select $1, $2, $3, (select jsonb_object_agg(k, p.doc::jsonb -> k) from unnest($4::text[]) k),
               p.doc::jsonb, left(r.error, 4000), $5
        from pg_temp.vitrina_refused r
        join pg_temp.vitrina_page p on p.place = r.place
        on conflict (pipeline_id, md5(key::text)) where replayed_at is null do update
        set run_id = excluded.run_id, batch = excluded.batch, row = excluded.row, error = excluded.error,
            error_class = excluded.error_class, created_at = now()
        "#,
    )
    .bind(origin.pipeline)
    .bind(origin.run)
    .bind(origin.batch)
    .bind(origin.key)
    .bind(ErrorClass::Row)
    .execute(tx)
    .await?;
    Ok(kept.rows_affected())
}

/// Keeps rows that were refused outside of the database: their JSON texts, each with the reason. Returns how many.
pub async fn keep(tx: &mut PgConnection, origin: Origin<'_>, rows: &[String], errors: &[String]) -> sqlx::Result<u64> {
    let kept = sqlx::query!(
        r#"
        insert into etl.etl_dead_letters as kept (pipeline_id, run_id, batch, key, row, error, error_class)
        select distinct on (key) $1, $2, $3::bigint, key, doc, left(error, 4000), $7
        from (
            select (select jsonb_object_agg(k, doc::jsonb -> k) from unnest($4::text[]) k) as key, doc::jsonb, error
            from unnest($5::text[], $6::text[]) as refused (doc, error)
        ) as refused
        on conflict (pipeline_id, md5(key::text)) where replayed_at is null do update
        set run_id = excluded.run_id, batch = excluded.batch, row = excluded.row, error = excluded.error,
            error_class = excluded.error_class, created_at = now()
        "#,
        origin.pipeline as PipelineId,
        origin.run as RunId,
        origin.batch,
        origin.key,
        rows,
        errors,
        ErrorClass::Row as ErrorClass,
    )
    .execute(tx)
    .await?;
    Ok(kept.rows_affected())
}
