//! Tables in the schema `etl_swap`, in which full runs gather their rows before they replace a target's at once.

use sqlx::PgConnection;

/// A table to gather rows in.
#[derive(Debug, Clone)]
pub struct Gathering {
    pub table: String,
    /// The mart whose rows it will replace.
    pub mart: String,
    pub columns: Vec<String>,
    /// Those that identify a row.
    pub key: Vec<String>,
}

pub async fn create(connection: &mut PgConnection, gathering: &Gathering) -> sqlx::Result<()> {
    let Gathering { table, mart, columns, key } = gathering;
    sqlx::query!("select etl_mart.create_gathering($1, $2, $3, $4)", table, mart, columns, key)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn remove(connection: &mut PgConnection, table: &str) -> sqlx::Result<()> {
    sqlx::query!("select etl_mart.drop_gathering($1)", table).execute(connection).await?;
    Ok(())
}

/// Tables whose run has ended, or is gone.
pub async fn abandoned(connection: &mut PgConnection, prefix: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select c.relname::text as "table!"
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'etl_swap' and c.relkind = 'r' and starts_with(c.relname, $1)
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
