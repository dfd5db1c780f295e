//! The tables of the queue, which its library makes, and the extension that they need.
//!
//! A database may have that extension already, in another schema and of another owner. A schema of another account is never
//! put into the `search_path` of the library's migrations, because functions in it would execute with the rights of the
//! account that migrates.

use apalis_postgres::PostgresStorage;
use sqlx::{
    AssertSqlSafe, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{MigrateError, owners::TRUSTED};

/// The columns that the library uses.
const COLUMNS: &[&str] = &[
    "attempts",
    "done_at",
    "id",
    "idempotency_key",
    "job",
    "job_type",
    "last_result",
    "lock_at",
    "lock_by",
    "max_attempts",
    "metadata",
    "priority",
    "run_at",
    "status",
];

/// The advice if the type of a column was dropped with the extension.
const MAKE_METADATA: &str = "a superuser makes it again (create extension if not exists hstore schema apalis; \
                             alter table apalis.jobs add column metadata apalis.hstore)";

/// The extension hstore, where it is not in the queue's own schema.
#[derive(Debug, sqlx::FromRow)]
struct Elsewhere {
    schema: String,
    /// Its owner, if that account could drop it and is not trusted.
    owner: Option<String>,
    /// The owner of its schema, if that can take it away from us.
    schema_owner: Option<String>,
}

async fn elsewhere(connection: &mut PgConnection) -> sqlx::Result<Option<Elsewhere>> {
    let question = format!(
        "with trusted as ({TRUSTED} union all select r.oid from pg_roles r where r.rolname = current_user)
         select format('%I', n.nspname) as schema,
                case when e.extowner not in (table trusted) then e.extowner::regrole::text end as owner,
                case when n.nspowner not in (table trusted) then n.nspowner::regrole::text end as schema_owner
         from pg_extension e join pg_namespace n on n.oid = e.extnamespace
         where e.extname = 'hstore' and n.nspname <> 'apalis'"
    );
    sqlx::query_as(AssertSqlSafe(question)).fetch_optional(connection).await
}

/// The problem of an extension that an untrusted account can drop.
fn insecure(found: &Elsewhere) -> Option<String> {
    let Elsewhere { schema, owner, schema_owner } = found;
    match (owner, schema_owner) {
        (Some(owner), _) => Some(format!(
            "the extension hstore, which the queue needs, belongs to {owner}, who could drop it, and a column of the queue with it: \
             let a superuser make it anew (drop extension hstore; create extension hstore schema public)"
        )),
        (None, Some(owner)) => Some(format!(
            "the extension hstore, which the queue needs, is in the schema {schema} of {owner}, who could drop it, and a column of \
             the queue with it: let a superuser move it (alter extension hstore set schema public)"
        )),
        (None, None) => None,
    }
}

async fn lacking(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    let question = "select string_agg(c.name, ', ' order by c.name) from unnest($1) as c (name)
        where not exists (
            select from pg_attribute a
            where a.attrelid = to_regclass('apalis.jobs') and a.attname = c.name and not a.attisdropped
        )";
    let columns: Option<String> = sqlx::query_scalar(question).bind(COLUMNS).fetch_one(connection).await?;
    Ok(columns.map(|columns| {
        let advice = if columns == "metadata" { MAKE_METADATA } else { "restore the schema apalis from a backup" };
        format!("the table apalis.jobs lacks {columns}, without which no run begins: {advice}")
    }))
}

/// Problems of the queue, present or possible.
pub async fn examine(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    if let Some(lacking) = lacking(connection).await? {
        return Ok(Some(lacking));
    }
    Ok(elsewhere(connection).await?.as_ref().and_then(insecure))
}

/// Creates the queue's own tables. Its migrations do not name a schema for extensions and their function, so they go into
/// the queue's schema. If the extension is in another schema, the queue's schema gets a name for its type, and during the
/// migrations for its function.
pub(super) async fn set_up(db: &PgPool) -> Result<(), MigrateError> {
    let mut connection = db.acquire().await?;
    let elsewhere = elsewhere(&mut connection).await?;
    if let Some(reason) = elsewhere.as_ref().and_then(insecure) {
        return Err(MigrateError::Queue(reason));
    }
    let function = "apalis.hstore(text[], text[])";
    if let Some(Elsewhere { schema, .. }) = &elsewhere {
        let named: bool =
            sqlx::query_scalar("select to_regtype('apalis.hstore') is not null").fetch_one(&mut *connection).await?;
        let domain = if named { String::new() } else { format!("create domain apalis.hstore as {schema}.hstore;") };
        let names = format!(
            "{domain} create or replace function {function} returns apalis.hstore language sql
                 as $$ select {schema}.hstore($1, $2) $$"
        );
        sqlx::raw_sql(AssertSqlSafe(names)).execute(&mut *connection).await?;
    }
    let path = [("search_path", "apalis,pg_catalog,pg_temp")];
    let session = PgConnectOptions::clone(&db.connect_options()).options(path);
    let pool = PgPoolOptions::new().max_connections(2).connect_lazy_with(session);
    let made = PostgresStorage::setup(&pool).await;
    pool.close().await;
    if elsewhere.is_some() {
        sqlx::raw_sql(AssertSqlSafe(format!("drop function {function}"))).execute(&mut *connection).await?;
    }
    made.map_err(|error| MigrateError::Queue(format!("its tables could not be made: {error}")))?;
    match lacking(&mut connection).await? {
        Some(lacking) => Err(MigrateError::Queue(lacking)),
        None => Ok(()),
    }
}
