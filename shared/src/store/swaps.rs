//! Tables in the schema `etl_page`, in which full runs gather their rows before they replace a target's at once.

use sqlx::PgConnection;

/// Removes such a table.
pub async fn remove(connection: &mut PgConnection, table: &str) -> sqlx::Result<()> {
    sqlx::query!("select etl_page.execute(format('drop table if exists etl_page.%I', $1::text))", table)
        .execute(connection)
        .await?;
    Ok(())
}

/// Tables whose run has ended, or is gone.
pub async fn abandoned(connection: &mut PgConnection, prefix: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select c.relname::text as "table!"
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'etl_page' and c.relkind = 'r' and starts_with(c.relname, $1)
          and not exists (
              select from etl.etl_runs r
              where $1 || replace(r.id::text, '-', '') = c.relname and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
          )
        "#,
        prefix,
    )
    .fetch_all(connection)
    .await
}
