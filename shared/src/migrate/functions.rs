//! Functions and views of the database, one file each (`migrations/functions`), applied by checksum.
//!
//! `etl.etl_functions` has the checksum of each applied file and the server's definition of its function. A file is applied
//! if it has changed, or if the definition has changed since. The function of a removed file is dropped.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

#[derive(Debug, Clone, Copy)]
pub struct FunctionFile {
    /// For instance `etl_page.read`.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! files {
    ($($name:literal,)*) => {
        &[$(FunctionFile {
            name: $name,
            text: include_str!(concat!("../../../migrations/functions/", $name, ".sql")),
        },)*]
    };
}

/// All files, each after those that it needs.
pub const FUNCTIONS: &[FunctionFile] = files![
    "etl.other_sessions",
    "etl.other_transactions",
    "etl.clock",
    "etl.files_of",
    "etl.is_other_mart",
    "etl.note_files",
    "etl.this_server",
    "etl.note_walk",
    "etl.catalog_of",
    "etl.read_horizon",
    "etl.run_duration_bounds",
    "etl.sink_of",
    "etl.sum_up_run",
    "etl.log_in_commit_order",
    "etl.prune_log",
    "etl.announce_report",
    "etl.storable",
    "etl.stage_page",
    "etl.mark_session",
    "etl.sessions_of",
    "etl_query.session_state",
    "etl_query.refuse_session",
    "etl_query.has_prepared",
    "etl_query.set_back_session",
    "etl_query.blame_query",
    "etl_page.read",
    "etl_page.estimate",
    "etl_page.keep_temporary_schema",
    "etl_page.describe",
    "etl_page.write_rows",
    "etl_page.mart_ddl",
    "etl_mart.run",
    "etl_mart.compare",
    "etl_mart.create_gathering",
    "etl_mart.drop_gathering",
    "etl_mart.create_mart",
    "etl.hook_problem",
    "etl_hook.call",
    "etl.call_hooks",
    "etl.refuse_batch",
    "etl.run_batch",
];

/// What is committed about the files: a line for each migration, and one for each change of the functions.
const CHECKSUMS: &str = include_str!("../../../migrations/checksums");

/// Names mean the server's own, and definitions are written with schemas.
const SESSION: &str = "set local search_path = pg_catalog, pg_temp; set local quote_all_identifiers = off";

/// The rights that are needed while functions are applied without a superuser: the account must be allowed to call a
/// function in order to replace it, and the new owner of a function to create it.
const LEND: &str = "grant execute on all functions in schema etl_page, etl_mart, etl_hook to current_user;
    grant create on schema etl_page to vitrina_query; grant create on schema etl_mart to vitrina_mart;
    grant create on schema etl_hook to vitrina_hook";

/// `grants.sql` revokes the rights to call functions.
const TAKE_BACK: &str =
    "revoke create on schema etl_page from vitrina_query; revoke create on schema etl_mart from vitrina_mart;
    revoke create on schema etl_hook from vitrina_hook";

/// If a trigger or a default has to be created, its table is locked first, in the order in which runs lock them.
const LOCK: &str =
    "lock table etl.etl_runs, etl.etl_rereads, etl.etl_transitions, etl.etl_reports in access exclusive mode";

/// All objects in our schemas that a file could have created: their definitions, and the statements that drop them.
const PRESENT: &str = include_str!("functions/present.sql");

/// The objects that depend on `$1`, each after its own dependents: views, and functions whose body the server has parsed.
/// Only objects of our files; those of other owners still prevent the drop.
const DEPENDENT: &str = include_str!("functions/dependent.sql");

/// The functions of a database compared with what was applied.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Examination {
    pub intact: usize,
    /// Functions that were changed or dropped since.
    pub changed: Vec<String>,
    /// Those in our schemas that no file has made.
    pub foreign: Vec<String>,
}

#[derive(Debug, sqlx::FromRow)]
struct Applied {
    name: String,
    checksum: String,
    is_intact: bool,
}

/// How often the functions were changed, as this program knows them.
pub fn revision() -> i64 {
    i64::try_from(CHECKSUMS.lines().filter(|line| line.starts_with("functions ")).count()).unwrap_or(i64::MAX)
}

/// Makes the functions of a database equal to these files, in the caller's transaction. Returns the applied names.
pub async fn apply(
    connection: &mut PgConnection,
    files: &[FunctionFile],
    revision: i64,
) -> sqlx::Result<Vec<&'static str>> {
    let mut tx = connection.begin().await?;
    sqlx::raw_sql(SESSION).execute(&mut *tx).await?;
    let found = applied(&mut tx).await?;
    let mut dropped = BTreeSet::new();
    // Functions that were changed by hand, or are new. A changed file keeps its trigger.
    let is_damaged = |file: &FunctionFile| found.get(file.name).is_none_or(|applied| !applied.is_intact);
    if files.iter().any(|file| file.text.contains("\ndo $$") && is_damaged(file)) {
        sqlx::raw_sql(LOCK).execute(&mut *tx).await?;
    }
    for gone in found.keys().filter(|name| files.iter().all(|file| file.name != **name)) {
        dropped.extend(remove(&mut tx, gone).await?);
        sqlx::query("delete from etl.etl_functions where name = $1").bind(gone).execute(&mut *tx).await?;
    }
    let stays = |file: &FunctionFile| {
        found.get(file.name).is_some_and(|applied| applied.is_intact && applied.checksum == checksum(file.text))
    };
    let mut due = Vec::new();
    for file in files {
        // A function that was dropped with another one is created after it.
        if stays(file) && !dropped.contains(file.name) {
            continue;
        }
        if due.is_empty() {
            sqlx::raw_sql(LEND).execute(&mut *tx).await?;
        }
        dropped.extend(apply_file(&mut tx, file, revision).await?);
        due.push(file.name);
    }
    if !due.is_empty() {
        sqlx::raw_sql(TAKE_BACK).execute(&mut *tx).await?;
    }
    sqlx::query("update etl.etl_functions set revision = $1 where revision < $1")
        .bind(revision)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(due)
}

/// Replaces the object of a file. If the server cannot replace it, because its arguments or columns have changed, it is
/// dropped and created again. Returns what had to be dropped with it.
async fn apply_file(tx: &mut PgConnection, file: &FunctionFile, revision: i64) -> sqlx::Result<Vec<String>> {
    let mut dropped = Vec::new();
    let mut attempt = tx.begin().await?;
    let replaced = match sqlx::raw_sql(file.text).execute(&mut *attempt).await {
        Ok(_) => is_single(&mut attempt, file.name).await?,
        Err(error) if is_other_definition(&error) => false,
        Err(error) => return Err(error),
    };
    if replaced {
        attempt.commit().await?;
    } else {
        attempt.rollback().await?;
        dropped = remove(tx, file.name).await?;
        sqlx::raw_sql(file.text).execute(&mut *tx).await?;
    }
    let note = format!(
        "{PRESENT}
         insert into etl.etl_functions as f (name, checksum, definition, revision)
         select n.name, $2, n.definition, $3 from named n where n.name = $1
         on conflict (name) do update
         set checksum = excluded.checksum, definition = excluded.definition, revision = excluded.revision, applied_at = now()"
    );
    let noted =
        sqlx::query(AssertSqlSafe(note)).bind(file.name).bind(checksum(file.text)).bind(revision).execute(tx).await?;
    if noted.rows_affected() == 1 {
        Ok(dropped)
    } else {
        Err(sqlx::Error::Protocol(format!("migrations/functions/{0}.sql does not make {0}", file.name)))
    }
}

/// Whether the server did not replace a function (invalid_function_definition, wrong_object_type, or ambiguous_function where
/// there are two now) or a view (invalid_table_definition).
fn is_other_definition(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("42P13" | "42P16" | "42725" | "42809"))
}

async fn applied(tx: &mut PgConnection) -> sqlx::Result<BTreeMap<String, Applied>> {
    let question = format!(
        "{PRESENT}
         select f.name, f.checksum, coalesce(n.definition = f.definition, false) as is_intact
         from etl.etl_functions f left join named n on n.name = f.name"
    );
    let found: Vec<Applied> = sqlx::query_as(AssertSqlSafe(question)).fetch_all(tx).await?;
    Ok(found.into_iter().map(|applied| (applied.name.clone(), applied)).collect())
}

async fn is_single(tx: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    let question = format!("{PRESENT} select coalesce(sum(objects), 0) = 1 from named where name = $1");
    sqlx::query_scalar(AssertSqlSafe(question)).bind(name).fetch_one(tx).await
}

/// Drops what has this name, with its triggers, the defaults that call it, and what files have made that depends on it. Returns
/// the names of the last.
async fn remove(tx: &mut PgConnection, name: &str) -> sqlx::Result<Vec<String>> {
    let dependent: Vec<String> = sqlx::query_scalar(DEPENDENT).bind(name).fetch_all(&mut *tx).await?;
    let question = format!("{PRESENT} select removal from named where name = $1");
    for name in dependent.iter().map(String::as_str).chain([name]) {
        let removal: Option<String> =
            sqlx::query_scalar(AssertSqlSafe(question.clone())).bind(name).fetch_optional(&mut *tx).await?;
        if let Some(removal) = removal {
            sqlx::raw_sql(AssertSqlSafe(removal)).execute(&mut *tx).await?;
        }
    }
    Ok(dependent)
}

pub async fn examine(connection: &mut PgConnection) -> sqlx::Result<Examination> {
    let mut tx = connection.begin().await?;
    sqlx::raw_sql(SESSION).execute(&mut *tx).await?;
    let (changed, intact): (Vec<_>, Vec<_>) = applied(&mut tx).await?.into_values().partition(|one| !one.is_intact);
    let question = format!(
        "{PRESENT} select n.name from named n
         where not exists (select from etl.etl_functions f where f.name = n.name) order by 1"
    );
    let foreign = sqlx::query_scalar(AssertSqlSafe(question)).fetch_all(&mut *tx).await?;
    tx.rollback().await?;
    let changed = changed.into_iter().map(|applied| applied.name).collect();
    Ok(Examination { intact: intact.len(), changed, foreign })
}

pub fn checksum(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
