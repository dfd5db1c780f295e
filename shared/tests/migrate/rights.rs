//! The rights that migrations leave: what each role may do, and what stays taken away.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;
use vitrina_shared::{
    migrate::{self, QueryableSchemas},
    testing::TestDatabase,
};

use crate::schemas;

const SOURCES: &str = "
    create schema content;
    create schema ugc;
    create schema private;
    create table content.film_work (id int, title text);
    create table ugc.ratings (id int, score int);
    create table private.salaries (id int);
    insert into content.film_work values (1, 'Stalker');
";

async fn with_sources() -> TestDatabase {
    let db = TestDatabase::create().await;
    sqlx::raw_sql(SOURCES).execute(db.admin()).await.unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    db
}

/// What a role may do with tables, as `right schema.table`.
async fn rights(db: &TestDatabase, role: &str) -> BTreeSet<String> {
    let rights: Vec<String> = sqlx::query_scalar(
        r"
        select format('%s %s.%s', p, n.nspname, c.relname)
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) p
        where c.relkind in ('r', 'p', 'v', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
          and has_schema_privilege($1, n.oid, 'usage') and has_table_privilege($1, c.oid, p)
        ",
    )
    .bind(role)
    .fetch_all(db.admin())
    .await
    .unwrap();
    rights.into_iter().collect()
}

/// The tables of a schema with these rights on each.
async fn on_all(db: &TestDatabase, schema: &str, rights: &[&str]) -> BTreeSet<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')",
    )
    .bind(schema)
    .fetch_all(db.admin())
    .await
    .unwrap();
    tables.iter().flat_map(|table| rights.iter().map(move |right| format!("{right} {schema}.{table}"))).collect()
}

const WRITE: &[&str] = &["select", "insert", "update", "delete"];

fn set(items: &[&str]) -> BTreeSet<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[tokio::test]
async fn the_query_role_reads_the_sources_and_nothing_else() {
    let db = with_sources().await;
    assert_eq!(rights(&db, "vitrina_query").await, set(&["select content.film_work", "select ugc.ratings"]));
}

#[tokio::test]
async fn the_mart_role_writes_the_marts_and_reads_no_source() {
    let db = with_sources().await;
    assert_eq!(rights(&db, "vitrina_mart").await, on_all(&db, "analytics", WRITE).await);
}

#[tokio::test]
async fn the_hook_role_reads_the_list_of_functions_and_nothing_else() {
    let db = with_sources().await;
    assert_eq!(rights(&db, "vitrina_hook").await, set(&["select etl.etl_hook_functions"]));
}

#[tokio::test]
async fn the_services_account_writes_the_control_plane_and_appends_to_its_log_and_touches_neither_source_nor_mart() {
    let db = with_sources().await;
    let mut expected = on_all(&db, "etl", WRITE).await;
    for append_only in ["update etl.etl_transitions", "delete etl.etl_transitions"] {
        assert!(expected.remove(append_only));
    }
    for applied in [
        "etl._sqlx_migrations",
        "etl.etl_functions",
        "etl.etl_hook_functions",
        "etl.etl_log_epoch",
        "etl.etl_log_removed",
        "etl.etl_source_grants",
    ] {
        for right in ["insert", "update", "delete"] {
            assert!(expected.remove(&format!("{right} {applied}")));
        }
    }
    // Only the log's trigger takes a turn.
    expected.retain(|right| !right.ends_with(" etl.etl_log_turn"));
    // Which installation it is, is not theirs to say.
    expected.retain(|right| right == "select etl.etl_installation" || !right.ends_with(" etl.etl_installation"));
    for table in ["apalis.jobs", "apalis.workers"] {
        expected.extend(WRITE.iter().map(|right| format!("{right} {table}")));
    }
    expected.insert("select apalis._sqlx_migrations".to_owned());
    expected.extend(["other_sessions", "other_transactions"].map(|view| format!("select etl.{view}")));
    assert_eq!(rights(&db, "vitrina_app").await, expected);
}

#[tokio::test]
async fn no_role_of_ours_is_more_than_an_account() {
    let db = with_sources().await;
    let powers: Vec<(String, bool)> = sqlx::query_as(
        "select rolname::text, rolcanlogin from pg_roles
         where rolname ~ '^vitrina_' and not (rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls)
         order by 1",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    let expected = [("vitrina_app", true), ("vitrina_hook", false), ("vitrina_mart", false), ("vitrina_query", false)];
    assert_eq!(powers, expected.map(|(name, login)| (name.to_owned(), login)));
    let creates: Vec<String> = sqlx::query_scalar(
        "select format('%s in %s', r.rolname, n.nspname) from pg_roles r cross join pg_namespace n
         where r.rolname ~ '^vitrina_' and n.nspname in ('content', 'ugc', 'analytics', 'etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query', 'etl_swap', 'apalis', 'public')
           and has_schema_privilege(r.oid, n.oid, 'create')
         order by 1",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    // For marts that are made from a query, and for the rows that a swap gathers.
    let marts_only = ["vitrina_mart in analytics", "vitrina_mart in etl_swap"];
    assert_eq!(creates, marts_only, "no role creates anything elsewhere, and a query's role nowhere");
    let members: Vec<String> = sqlx::query_scalar(
        "select format('%s in %s', m.member::regrole, m.roleid::regrole) from pg_auth_members m
         where m.member::regrole::text ~ '^vitrina_'",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    assert_eq!(members, ["vitrina_app in pg_read_all_stats"], "no role of ours can become another");
}

#[tokio::test]
async fn every_function_of_ours_sets_its_search_path() {
    let db = with_sources().await;
    let open: Vec<String> = sqlx::query_scalar(
        "select p.oid::regprocedure::text from pg_proc p
         where p.pronamespace::regnamespace::text in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query')
           and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    assert_eq!(open, Vec::<String>::new(), "a relation of the session could take the place of another in these");
}

/// Who may call which function of the schemas that execute queries and write marts.
#[tokio::test]
async fn a_function_is_called_by_those_who_need_it_and_not_even_by_its_owner() {
    let db = with_sources().await;
    let calls: Vec<(String, Vec<String>)> = sqlx::query_as(
        "select format('%s.%s', p.pronamespace::regnamespace, p.proname), coalesce(array_agg(r.rolname::text order by r.rolname)
                filter (where has_function_privilege(r.oid, p.oid, 'execute')), '{}')
         from pg_proc p cross join pg_roles r
         where p.pronamespace::regnamespace::text in ('etl_hook', 'etl_mart', 'etl_page', 'etl_query') and r.rolname ~ '^vitrina_'
         group by p.oid, p.proname order by 1",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    let (app, both) = (vec!["vitrina_app"], vec!["vitrina_app", "vitrina_mart"]);
    let inside = vec!["vitrina_hook", "vitrina_mart", "vitrina_query"];
    let expected = [
        ("etl_hook.call", &app),
        ("etl_mart.compare", &app),
        ("etl_mart.create_gathering", &app),
        ("etl_mart.create_mart", &app),
        ("etl_mart.drop_gathering", &app),
        ("etl_mart.run", &app),
        ("etl_page.describe", &app),
        ("etl_page.estimate", &app),
        ("etl_page.keep_temporary_schema", &app),
        ("etl_page.mart_ddl", &both),
        ("etl_page.read", &both),
        ("etl_page.write_rows", &vec!["vitrina_mart"]),
        ("etl_query.blame_query", &inside),
        ("etl_query.has_prepared", &inside),
        ("etl_query.refuse_session", &inside),
        ("etl_query.session_state", &inside),
        ("etl_query.set_back_session", &inside),
    ];
    let calls: Vec<(&str, Vec<&str>)> =
        calls.iter().map(|(name, roles)| (name.as_str(), roles.iter().map(String::as_str).collect())).collect();
    assert_eq!(calls, expected.map(|(name, roles)| (name, roles.clone())));
    let named: Vec<(String, Vec<String>)> = sqlx::query_as(
        "select n.nspname::text, array_agg(r.rolname::text order by r.rolname) from pg_namespace n cross join pg_roles r
         where n.nspname in ('etl_hook', 'etl_mart', 'etl_page') and r.rolname ~ '^vitrina_' and has_schema_privilege(r.oid, n.oid, 'usage')
         group by 1 order by 1",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [
        ("etl_hook".to_owned(), names(&app)),
        ("etl_mart".to_owned(), names(&app)),
        ("etl_page".to_owned(), names(&both)),
    ];
    assert_eq!(named, expected, "the owner of a function cannot even name it");
}

/// Runs a statement as a role and returns the server's code.
async fn code_as(db: &TestDatabase, role: &str, statement: &str) -> Option<String> {
    let mut tx = db.admin().begin().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("set local role {role}"))).execute(&mut *tx).await.unwrap();
    let outcome = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut *tx).await;
    outcome.err().map(|error| error.as_database_error().unwrap().code().unwrap().into_owned())
}

#[tokio::test]
async fn the_server_agrees_with_what_the_catalog_says() {
    let db = with_sources().await;
    let allowed = [
        ("vitrina_query", "select title from content.film_work"),
        ("vitrina_mart", "delete from analytics.film_dim"),
        ("vitrina_app", "delete from etl.etl_pipelines"),
        ("vitrina_app", "select count(*) from etl.etl_transitions"),
    ];
    for (role, statement) in allowed {
        assert_eq!(code_as(&db, role, statement).await, None, "{role}: {statement}");
    }
    let refused = [
        ("vitrina_query", "select * from etl.etl_pipelines"),
        ("vitrina_query", "select * from apalis.jobs"),
        ("vitrina_query", "select * from analytics.film_dim"),
        ("vitrina_query", "select * from private.salaries"),
        ("vitrina_query", "insert into content.film_work values (2, '')"),
        ("vitrina_query", "insert into analytics.film_dim default values"),
        ("vitrina_mart", "select * from etl.etl_pipelines"),
        ("vitrina_mart", "update content.film_work set title = ''"),
        ("vitrina_mart", "select title from content.film_work"),
        ("vitrina_app", "select title from content.film_work"),
        ("vitrina_app", "select * from analytics.film_dim"),
        ("vitrina_mart", "truncate analytics.film_dim"),
        ("vitrina_app", "update content.film_work set title = ''"),
        ("vitrina_app", "delete from ugc.ratings"),
        ("vitrina_app", "update etl.etl_transitions set actor = ''"),
        ("vitrina_app", "delete from etl.etl_transitions"),
        ("vitrina_app", "truncate etl.etl_transitions"),
        ("vitrina_app", "drop table etl.etl_runs"),
        ("vitrina_app", "select * from private.salaries"),
        ("vitrina_app", "select * from pg_authid"),
    ];
    for (role, statement) in refused {
        assert_eq!(code_as(&db, role, statement).await.as_deref(), Some("42501"), "{role}: {statement}");
    }
}

#[tokio::test]
async fn tables_that_come_later_have_the_same_rights() {
    let db = with_sources().await;
    sqlx::raw_sql("create table content.person (id int); create table analytics.person_dim (id int primary key)")
        .execute(db.admin())
        .await
        .unwrap();
    assert_eq!(code_as(&db, "vitrina_query", "select * from content.person").await, None);
    assert_eq!(code_as(&db, "vitrina_mart", "insert into analytics.person_dim values (1)").await, None);
    assert_eq!(code_as(&db, "vitrina_query", "select * from analytics.person_dim").await.as_deref(), Some("42501"));
}

#[tokio::test]
async fn other_source_schemas_are_read_where_they_are_configured() {
    let db = with_sources().await;
    assert_eq!(code_as(&db, "vitrina_query", "select * from private.salaries").await.as_deref(), Some("42501"));

    migrate::migrate(db.admin(), &["private".to_owned(), "not_there_yet".to_owned()]).await.unwrap();

    assert_eq!(code_as(&db, "vitrina_query", "select * from private.salaries").await, None);
}

#[tokio::test]
async fn what_was_taken_from_the_query_role_is_not_given_back() {
    let db = with_sources().await;
    sqlx::raw_sql(
        "revoke select on content.film_work from vitrina_query;
         create table content.hidden (id int); revoke select on content.hidden from vitrina_query;
         create role maker_of_tables; create table content.later (id int); alter table content.later owner to maker_of_tables;
         revoke select on content.later from vitrina_query",
    )
    .execute(db.admin())
    .await
    .unwrap();

    for _ in 0..2 {
        migrate::migrate(db.admin(), &schemas()).await.unwrap();
        assert_eq!(
            rights(&db, "vitrina_query").await,
            set(&["select content.later", "select ugc.ratings"]),
            "a table that is new since, and of an owner without default privileges, is given; what was taken away is not"
        );
    }

    // A restored database has the same names and other oids.
    sqlx::raw_sql("update etl.etl_source_grants set object = 1, noted_in = 'elsewhere'")
        .execute(db.admin())
        .await
        .unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    assert_eq!(rights(&db, "vitrina_query").await, set(&["select content.later", "select ugc.ratings"]));

    // A schema that was dropped and made again is another one.
    sqlx::raw_sql(
        "drop schema content cascade; drop role maker_of_tables;
         create schema content; create table content.film_work (id int)",
    )
    .execute(db.admin())
    .await
    .unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    assert_eq!(rights(&db, "vitrina_query").await, set(&["select content.film_work", "select ugc.ratings"]));
}

#[tokio::test]
async fn a_schema_that_is_no_longer_listed_is_taken_away_and_what_others_gave_is_not() {
    let db = with_sources().await;
    sqlx::raw_sql("grant usage on schema private to vitrina_query; grant select on private.salaries to vitrina_query")
        .execute(db.admin())
        .await
        .unwrap();

    migrate::migrate(db.admin(), &["content".to_owned()]).await.unwrap();

    assert_eq!(rights(&db, "vitrina_query").await, set(&["select content.film_work", "select private.salaries"]));
    sqlx::raw_sql("create table ugc.later (id int)").execute(db.admin()).await.unwrap();
    let left: Vec<String> = sqlx::query_scalar(
        "select format('%s: %s', r.rolname, p) from pg_roles r cross join unnest(array['usage', 'create']) p
         where r.rolname ~ '^vitrina_' and has_schema_privilege(r.oid, 'ugc', p)
         union all select c.relname::text from pg_class c
         where c.relnamespace = 'ugc'::regnamespace and has_table_privilege('vitrina_query', c.oid, 'select')",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    assert_eq!(left, Vec::<String>::new());

    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    let all = ["select content.film_work", "select private.salaries", "select ugc.later", "select ugc.ratings"];
    assert_eq!(rights(&db, "vitrina_query").await, set(&all));
}

#[tokio::test]
async fn a_command_that_is_not_about_rights_adds_a_schema_and_takes_none_away() {
    let db = with_sources().await;
    migrate::apply(db.admin(), QueryableSchemas::AtLeast(&["private".to_owned()])).await.unwrap();
    let all = ["select content.film_work", "select private.salaries", "select ugc.ratings"];
    assert_eq!(rights(&db, "vitrina_query").await, set(&all));
    migrate::apply(db.admin(), QueryableSchemas::Exactly(&["private".to_owned()])).await.unwrap();
    assert_eq!(rights(&db, "vitrina_query").await, set(&["select private.salaries"]));
}
