//! `etl.etl_targets`: the whitelist.

use serde_json::Value;
use sqlx::PgConnection;

use crate::domain::Target;

pub async fn find(connection: &mut PgConnection, target: &str) -> sqlx::Result<Option<Target>> {
    Ok(find_all(connection, &[target.to_owned()]).await?.pop())
}

/// Reads the entries of these targets that there are.
pub async fn find_all(connection: &mut PgConnection, names: &[String]) -> sqlx::Result<Vec<Target>> {
    sqlx::query_as!(
        Target,
        "select target, key, options, created_at from etl.etl_targets where target = any ($1)",
        names,
    )
    .fetch_all(connection)
    .await
}

pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<Target>> {
    sqlx::query_as!(Target, "select target, key, options, created_at from etl.etl_targets order by target")
        .fetch_all(connection)
        .await
}

pub async fn insert(
    connection: &mut PgConnection,
    target: &str,
    key: &[String],
    options: &Value,
) -> sqlx::Result<Target> {
    sqlx::query_as!(
        Target,
        r#"
        insert into etl.etl_targets (target, key, options)
        values ($1, $2, $3)
        returning target, key, options, created_at
        "#,
        target,
        key,
        options,
    )
    .fetch_one(connection)
    .await
}

/// Takes a target off the whitelist. Whether it was there.
pub async fn delete(connection: &mut PgConnection, target: &str) -> sqlx::Result<bool> {
    let deleted = sqlx::query!("delete from etl.etl_targets where target = $1", target).execute(connection).await?;
    Ok(deleted.rows_affected() == 1)
}

/// The names of the pipelines that name a target, in themselves or in a step.
pub async fn named_by(connection: &mut PgConnection, target: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select p.name
        from etl.etl_pipelines p
        where p.target_table = $1
           or exists (select from etl.etl_pipeline_tasks t where t.pipeline_id = p.id and t.target_table = $1)
        order by p.name
        "#,
        target,
    )
    .fetch_all(connection)
    .await
}
