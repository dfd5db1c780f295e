//! `etl.etl_hook_functions`, which the owner of the database writes, and the functions of the database that call them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use crate::domain::RunId;

/// How long all hooks of one event may take together. What becomes of a job is written within 15 seconds.
const HOOKS_TAKE_MS: i32 = 10_000;

#[derive(Debug)]
pub(crate) struct Failed {
    pub hook: String,
    pub state: String,
    pub message: String,
}

/// Calls the hooks that a run has for an event, and returns those that failed. See `etl.call_hooks`.
pub(crate) async fn call(
    tx: &mut PgConnection,
    run: RunId,
    event: &str,
    details: &Value,
    letters: Option<&[i64]>,
) -> sqlx::Result<Vec<Failed>> {
    let limit = limit_statements(tx).await?;
    let failed = sqlx::query_as!(
        Failed,
        r#"select hook as "hook!", state as "state!", message as "message!" from etl.call_hooks($1, $2, $3, $4)"#,
        run as RunId,
        event,
        Json(details) as Json<&Value>,
        letters,
    )
    .fetch_all(&mut *tx)
    .await?;
    sqlx::query("select set_config('statement_timeout', $1, true)").bind(limit).execute(tx).await?;
    Ok(failed)
}

/// Limits statements of the transaction, unless they are limited more by now. Returns how they were.
async fn limit_statements(tx: &mut PgConnection) -> sqlx::Result<String> {
    sqlx::query_scalar(
        "select s.setting
         from (select setting from pg_settings where name = 'statement_timeout') s
         cross join lateral set_config('statement_timeout',
             case when s.setting::integer between 1 and $1 then s.setting else $1::text end, true)",
    )
    .bind(HOOKS_TAKE_MS)
    .fetch_one(tx)
    .await
}

/// Whether a run has hooks for an event.
pub(crate) async fn has(tx: &mut PgConnection, run: RunId, event: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (select from etl.etl_runs r where r.id = $1 and r.inputs #> array['options', 'hooks', $2] is not null)
            as "has!"
        "#,
        run as RunId,
        event,
    )
    .fetch_one(tx)
    .await
}

/// Why hooks may not call these functions, each with its name.
pub async fn problems(connection: &mut PgConnection, names: &[String]) -> sqlx::Result<Vec<(String, String)>> {
    let found = sqlx::query!(
        r#"
        select n.name as "name!", p.problem as "problem!"
        from unnest($1::text[]) n (name)
        cross join lateral etl.hook_problem(n.name) p (problem)
        where p.problem is not null
        "#,
        names,
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|row| (row.name, row.problem)).collect())
}

/// A function of the list.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListedFunction {
    pub name: String,
    /// Why it is not called; none where it is.
    pub problem: Option<String>,
    pub added_by: String,
    pub added_at: DateTime<Utc>,
}

pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<ListedFunction>> {
    sqlx::query_as!(
        ListedFunction,
        "select name, etl.hook_problem(name) as problem, added_by, added_at from etl.etl_hook_functions order by name"
    )
    .fetch_all(connection)
    .await
}

#[derive(Debug)]
pub struct FoundFunction {
    pub oid: i64,
    pub owner: String,
    /// Whether it executes with its owner's rights.
    pub has_owners_rights: bool,
}

/// The function of this name that has one argument of type jsonb.
pub async fn find_function(connection: &mut PgConnection, name: &str) -> sqlx::Result<Option<FoundFunction>> {
    sqlx::query_as!(
        FoundFunction,
        r#"
        select p.oid::bigint as "oid!", p.proowner::regrole::text as "owner!", p.prosecdef as has_owners_rights
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        where concat_ws('.', n.nspname, p.proname) = $1 and p.prokind = 'f' and p.pronargs = 1 and p.provariadic = 0
          and p.proargtypes[0] = 'jsonb'::regtype
        "#,
        name,
    )
    .fetch_optional(connection)
    .await
}

/// Puts a function on the list as it is now.
pub async fn put(tx: &mut PgConnection, name: &str, function: i64) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_hook_functions as f (name, function_oid, owner_oid, added_by)
        select $1, p.oid, p.proowner, session_user from pg_proc p where p.oid = $2::bigint::oid
        on conflict (name) do update
        set function_oid = excluded.function_oid, owner_oid = excluded.owner_oid, added_by = excluded.added_by, added_at = now()
        "#,
        name,
        function,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes a function off the list. Whether it was there.
pub async fn remove(tx: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    let removed = sqlx::query!("delete from etl.etl_hook_functions where name = $1", name).execute(tx).await?;
    Ok(removed.rows_affected() > 0)
}

/// Whether the list has no function of this schema.
pub async fn lacks_schema(tx: &mut PgConnection, schema: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select not exists (select from etl.etl_hook_functions where split_part(name, '.', 1) = $1) as "lacks!""#,
        schema,
    )
    .fetch_one(tx)
    .await
}
