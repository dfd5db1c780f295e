//! What the server says of itself and of our rights, for `vitrina doctor`.
//!
//! Everything here works before a migration too: what is not there is reported as missing.

use std::fmt;

use sqlx::PgConnection;

#[derive(Debug, Clone)]
pub struct Server {
    /// As people write it: `15.14`.
    pub version: String,
    /// As programs compare it: `150014`.
    pub version_number: i32,
    pub account: String,
    pub max_prepared: i32,
    pub prepared: i64,
    /// Whether it only takes reads.
    pub is_standby: bool,
}

pub async fn server(connection: &mut PgConnection) -> sqlx::Result<Server> {
    sqlx::query_as!(
        Server,
        r#"
        select current_setting('server_version') as "version!",
               current_setting('server_version_num')::integer as "version_number!",
               current_user::text as "account!",
               current_setting('max_prepared_transactions')::integer as "max_prepared!",
               (select count(*) from pg_prepared_xacts where database = current_database()) as "prepared!",
               pg_is_in_recovery() as "is_standby!"
        "#
    )
    .fetch_one(connection)
    .await
}

/// Rights that an account has and a service does not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    Superuser,
    /// Vitrina's schema or tables are its own, or those of a role that it is a member of.
    Owner,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superuser => "is a superuser and may do anything",
            Self::Owner => "owns Vitrina's tables, or is a member of their owner, and may drop them",
        })
    }
}

/// The account that we are, and whether it may do more than a service needs.
pub async fn account(connection: &mut PgConnection) -> sqlx::Result<(String, Option<Excess>)> {
    let found = sqlx::query!(
        r#"
        select r.rolname::text as "name!", r.rolsuper as "is_superuser!",
               exists (
                   select from pg_namespace n
                   left join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p')
                   where n.nspname = 'etl'
                     and (pg_has_role(r.oid, n.nspowner, 'member') or pg_has_role(r.oid, c.relowner, 'member'))
               ) as "is_owner!"
        from pg_roles r
        where r.rolname = current_user
        "#
    )
    .fetch_one(connection)
    .await?;
    let excess = match (found.is_superuser, found.is_owner) {
        (true, _) => Some(Excess::Superuser),
        (false, true) => Some(Excess::Owner),
        (false, false) => None,
    };
    Ok((found.name, excess))
}

/// Functions that execute with the rights to read sources or to write marts, and should not be there or not be everyone's.
pub async fn open_doors(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select p.oid::regprocedure::text as "name!"
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        join pg_roles r on r.oid = p.proowner
        where p.prosecdef and r.rolname in ('vitrina_query', 'vitrina_mart', 'vitrina_hook')
          and (n.nspname not in ('etl_page', 'etl_mart', 'etl_hook') or exists (
              select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a where a.grantee = 0))
        order by 1
        "#
    )
    .fetch_all(connection)
    .await
}

/// Tables of ours that the account may not work with, then functions of ours that it may not call: those that read sources and
/// write marts for it.
pub async fn out_of_reach(connection: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let mut names = sqlx::query_scalar!(
        r#"
        select format('%I.%I', n.nspname, c.relname) as "name!"
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p')
          and (n.nspname = 'etl' or (n.nspname = 'apalis' and c.relname in ('jobs', 'workers')))
          and c.relname not in ('_sqlx_migrations', 'etl_functions', 'etl_hook_functions', 'etl_installation', 'etl_log_epoch', 'etl_log_removed', 'etl_log_turn',
                                'etl_source_grants')
          and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
                   and has_table_privilege(c.oid, 'insert'))
        order by 1
        "#
    )
    .fetch_all(&mut *connection)
    .await?;
    let functions = sqlx::query_scalar!(
        r#"
        select format('%I.%I', n.nspname, p.proname) as "name!"
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('etl_page', 'etl_mart', 'etl_hook') and p.proname <> 'write_rows'
          and not (has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute'))
        order by 1
        "#
    )
    .fetch_all(connection)
    .await?;
    names.extend(functions);
    Ok(names)
}

/// Whether the account sees since when the transactions of other accounts are open.
pub async fn sees_other_sessions(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar!(r#"select pg_has_role('pg_read_all_stats', 'usage') as "sees!""#).fetch_one(connection).await
}

/// A source schema, and what users' queries may not read in it.
#[derive(Debug, Clone)]
pub struct SourceSchema {
    pub schema: String,
    pub exists: bool,
    /// Whether the last migration gave it to users' queries.
    pub granted: bool,
    pub tables: i64,
    pub unreadable: Vec<String>,
}

/// Looks at these schemas, and at those that the last migration gave, with the eyes of users' queries.
pub async fn sources(connection: &mut PgConnection, schemas: &[String]) -> sqlx::Result<Vec<SourceSchema>> {
    sqlx::query_as!(
        SourceSchema,
        r#"
        select s.name as "schema!",
               n.oid is not null as "exists!",
               s.granted as "granted!",
               count(c.oid) as "tables!",
               coalesce(array_agg(c.relname::text order by c.relname) filter (
                   where c.oid is not null
                     and not (has_schema_privilege(q.oid, n.oid, 'usage') and has_table_privilege(q.oid, c.oid, 'select'))
               ), '{}') as "unreadable!"
        from (
            select name, bool_or(granted) as granted
            from (select unnest($1::text[]), false
                  union select schema_name, true from etl.etl_source_grants where table_name = '') as l (name, granted)
            group by name
        ) s
        left join pg_namespace n on n.nspname = s.name
        left join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
        left join pg_roles q on q.rolname = 'vitrina_query'
        group by s.name, s.granted, n.oid
        order by s.name
        "#,
        schemas,
    )
    .fetch_all(connection)
    .await
}
