//! Every function of the server, called by its name: which of them a query may call.

use vitrina_shared::guard;

use crate::scene::{refused, scene, schemas};

/// The only volatile ones: they answer anew each time, and change nothing.
#[rustfmt::skip]
const VOLATILE: &[&str] = &[
    "array_sample", "array_shuffle", "clock_timestamp", "gen_random_uuid", "random", "random_normal", "timeofday", "uuidv4", "uuidv7",
    // Volatile in PostgreSQL 14, stable since.
    "timezone",
];

/// Stable ones begin like this where they look at the catalog, the session or the server.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "pg_", "lo_", "txid_", "has_", "to_reg", "inet_", "current_", "session_", "obj_", "col_", "shobj_", "set_", "row_security", "version",
    "getpg", "database_to_xml", "schema_to_xml", "table_to_xml", "mxid_", "amvalidate", "unique_key", "binary_upgrade", "system_user",
];
const HARMLESS_LOOKING: &[&str] = &["pg_typeof", "pg_column_size", "pg_collation_for"];

/// Types of arguments by which something else than a value is named.
#[rustfmt::skip]
const NAMING: &[&str] = &[
    "regclass", "regproc", "regprocedure", "regoper", "regoperator", "regtype", "regrole", "regnamespace", "regcollation", "oid", "xid", "cid",
    "internal", "cstring", "refcursor", "aclitem", "aclitem[]", "pg_snapshot", "txid_snapshot",
];

#[derive(Debug, sqlx::FromRow)]
struct Function {
    signature: String,
    name: String,
    volatility: String,
    arguments: Vec<String>,
    call: String,
}

#[tokio::test]
async fn of_the_servers_functions_those_that_only_compute_may_be_called() {
    let db = scene().await;
    let functions: Vec<Function> = sqlx::query_as(
        r"
        select p.oid::regprocedure::text as signature, p.proname::text as name, p.provolatile::text as volatility,
               coalesce(array_agg(format_type(a.type, null) order by a.place) filter (where a.type is not null), '{}') as arguments,
               format('select pg_catalog.%I(%s)::text as x', p.proname,
                      string_agg('null::' || format_type(a.type, null), ', ' order by a.place)) as call
        from pg_proc p
        left join lateral unnest(p.proargtypes::oid[]) with ordinality as a (type, place) on true
        where p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384 and p.prokind = 'f' and p.prorettype <> 'void'::regtype
        group by p.oid
        order by p.oid
        ",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    assert!(functions.len() > 2500, "{}", functions.len());
    let mut conn = db.pool().acquire().await.unwrap();
    let (mut accepted, mut wrong) = (0, Vec::new());
    for function in &functions {
        if refused(guard::judge_alone(&mut conn, &function.call, &schemas()).await).is_some() {
            continue;
        }
        accepted += 1;
        let name = function.name.as_str();
        let looking = LOOKING.iter().any(|begins| name.starts_with(begins)) && !HARMLESS_LOOKING.contains(&name);
        let naming = function.arguments.iter().any(|argument| NAMING.contains(&argument.as_str()));
        let fits = match function.volatility.as_str() {
            "v" => VOLATILE.contains(&name),
            "s" => !looking && !naming,
            _ => !function
                .arguments
                .iter()
                .any(|argument| matches!(argument.as_str(), "internal" | "cstring" | "aclitem")),
        };
        if !fits {
            wrong.push(format!("{} ({})", function.signature, function.volatility));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted > 1200, "only {accepted} functions are of any use to a query");
}
