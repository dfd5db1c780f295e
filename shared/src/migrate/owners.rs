//! The owners of Vitrina's schemas.
//!
//! The owner of a schema, or of a table in it, can put triggers and functions there, which then execute with the rights of
//! the account that migrates, and of Vitrina's roles. So a schema that another account has created is never used.

use std::fmt;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::domain::OWN_SCHEMAS;

/// The schema of the marts, which may have tables of other accounts.
const MARTS: &str = "analytics";

/// Names mean the server's own objects: a schema of ours may belong to another account.
const SESSION: &str = "set local search_path = pg_catalog, pg_temp";

/// The roles that can do everything in this database anyway.
pub(super) const TRUSTED: &str = "
    select r.oid from pg_roles r where r.rolsuper or r.rolname = 'pg_database_owner'
    union all select d.datdba from pg_database d where d.datname = current_database()";

/// Objects in our schemas whose owner is neither trusted, nor the role $2, nor one of our own roles for which it was
/// created. The server records no owner for objects of the superuser that created the cluster.
const FOREIGN: &str = include_str!("owners/foreign.sql");

#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Foreign {
    /// As the server describes it: `schema etl`.
    pub what: String,
    /// The schema itself, or the schema of the object.
    pub schema: String,
    pub owner: String,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} belongs to {}", self.what, self.owner)
    }
}

/// Whose everything is that Vitrina has in a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The account that migrated, if one did.
    pub keeper: Option<String>,
    /// Whether the keeper is neither a superuser nor the owner of the database.
    pub is_keeper_ordinary: bool,
    /// Objects that belong neither to the keeper nor to a superuser or the owner of the database.
    pub foreign: Vec<Foreign>,
    /// The owner of the schema of the marts, if it is none of these.
    pub marts: Option<String>,
}

/// Creates the missing schemas, before other accounts can. Returns the objects of accounts that are neither trusted nor
/// this one; if there are any, nothing is created.
pub(super) async fn claim(connection: &mut PgConnection) -> sqlx::Result<Vec<Foreign>> {
    let mut tx = connection.begin().await?;
    sqlx::raw_sql(SESSION).execute(&mut *tx).await?;
    let account: String = sqlx::query_scalar("select current_user::text").fetch_one(&mut *tx).await?;
    let found = foreign(&mut tx, Some(&account)).await?;
    if found.is_empty() {
        let question = "select s.name from unnest($1) as s (name) where to_regnamespace(s.name) is null";
        let lacking: Vec<String> =
            sqlx::query_scalar(question).bind([&OWN_SCHEMAS[..], &[MARTS]].concat()).fetch_all(&mut *tx).await?;
        for schema in lacking {
            sqlx::raw_sql(AssertSqlSafe(format!("create schema {schema}"))).execute(&mut *tx).await?;
        }
        tx.commit().await?;
    }
    Ok(found)
}

async fn foreign(connection: &mut PgConnection, keeper: Option<&str>) -> sqlx::Result<Vec<Foreign>> {
    let question = format!("with trusted as ({TRUSTED}), {FOREIGN}");
    sqlx::query_as(AssertSqlSafe(question)).bind(&OWN_SCHEMAS[..]).bind(keeper).fetch_all(connection).await
}

/// Looks at the owners of Vitrina's schemas and of what is in them.
pub async fn examine(connection: &mut PgConnection) -> sqlx::Result<Ownership> {
    let mut tx = connection.begin().await?;
    sqlx::raw_sql(SESSION).execute(&mut *tx).await?;
    let question = format!(
        "select r.rolname::text, r.oid not in ({TRUSTED})
         from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = to_regclass('etl.etl_functions')"
    );
    let keeper: Option<(String, bool)> = sqlx::query_as(AssertSqlSafe(question)).fetch_optional(&mut *tx).await?;
    let (keeper, is_keeper_ordinary) = keeper.map_or((None, false), |(name, ordinary)| (Some(name), ordinary));
    let found = foreign(&mut tx, keeper.as_deref()).await?;
    let question = format!(
        "select r.rolname::text from pg_namespace n join pg_roles r on r.oid = n.nspowner
         where n.nspname = $1 and r.oid not in ({TRUSTED}) and r.rolname is distinct from $2"
    );
    let marts = sqlx::query_scalar(AssertSqlSafe(question)).bind(MARTS).bind(&keeper).fetch_optional(&mut *tx).await?;
    tx.rollback().await?;
    Ok(Ownership { keeper, is_keeper_ordinary, foreign: found, marts })
}
