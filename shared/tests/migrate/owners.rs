//! What the services' account can do with the functions whose rights it borrows: call them, and nothing else.
//!
//! With its password one can have any SQL executed as `vitrina_mart`: `etl_mart.run` executes a statement, and that may call a
//! function of the session, a trigger of a mart or a rule.

use sqlx::{AssertSqlSafe, PgConnection, postgres::PgPoolOptions};
use vitrina_shared::{
    migrate::{
        self,
        functions::{Examination, FUNCTIONS, examine},
    },
    testing::TestDatabase,
};

use crate::{assert_same, empty, fingerprint, schemas};

/// Statements that would give other functions, or the same to others.
const HOSTILE: [&str; 16] = [
    "create or replace function etl_mart.drop_gathering(name text) returns void language sql security definer as ''",
    "create function etl_mart.planted() returns int language sql as 'select 1'",
    "create function etl_page.planted() returns int language sql as 'select 1'",
    "create function etl_query.planted() returns int language sql as 'select 1'",
    "alter function etl_mart.run(text, text[], text, bigint, boolean) reset search_path",
    "alter function etl_mart.run(text, text[], text, bigint, boolean) security invoker",
    "alter function etl_mart.run(text, text[], text, bigint, boolean) rename to walk",
    "alter function etl_mart.run(text, text[], text, bigint, boolean) set schema analytics",
    "alter function etl_mart.drop_gathering(text) owner to vitrina_app",
    "drop function etl_mart.drop_gathering(text)",
    "set local search_path = etl_mart; drop function drop_gathering(text)",
    "grant execute on function etl_mart.drop_gathering(text) to public",
    "grant execute on all functions in schema etl_mart to public",
    "grant usage on schema etl_mart to vitrina_mart",
    "drop function etl_page.write_rows(text, bigint, bigint, bigint)",
    "alter function etl_query.session_state(text) reset search_path",
];

const SET_UP: &str = "
    create function pg_temp.execute(statement text) returns bigint language plpgsql
        as $$ begin execute statement; return 0; end $$;
    create function pg_temp.as_mart(statement text) returns bigint language sql
        as $$ select rows_read from etl_mart.run(
            format('select pg_temp.execute(%L), 0::bigint, null::text[], false', statement), null, null, 1) $$;
";

/// Executes a statement as `vitrina_mart`, as the services' account could.
async fn as_mart(app: &mut PgConnection, statement: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar("select pg_temp.as_mart($1)").bind(statement).fetch_one(app).await
}

/// The functions that lend rights, and who may call and name them.
async fn definitions(connection: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "select concat_ws(' ', p.oid::regprocedure, p.proowner::regrole, p.proacl, n.nspacl, p.prosecdef, p.proconfig, md5(p.prosrc))
         from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where n.nspname in ('etl_mart', 'etl_page', 'etl_query') order by 1",
    )
    .fetch_all(connection)
    .await
    .unwrap()
}

#[tokio::test]
async fn the_services_account_cannot_exchange_the_functions_whose_rights_it_borrows() {
    let db = TestDatabase::create().await;
    let before = fingerprint(db.admin()).await;
    let mut app = db.pool().acquire().await.unwrap();
    sqlx::raw_sql(SET_UP).execute(&mut *app).await.unwrap();
    as_mart(&mut app, "do $$ begin assert current_user = 'vitrina_mart'; end $$").await.unwrap();

    for statement in HOSTILE {
        let error = as_mart(&mut app, statement).await.expect_err(statement);
        let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default().into_owned();
        assert!(["42501", "42883"].contains(&code.as_str()), "{statement}: {error}");
    }

    assert_same(&fingerprint(db.admin()).await, &before);
}

/// Triggers and rules execute as the owner of their table or as the account that writes it, and at the commit as the services' account.
#[tokio::test]
async fn neither_a_trigger_nor_a_rule_of_a_mart_leads_to_the_functions() {
    let db = TestDatabase::create().await;
    let before = fingerprint(db.admin()).await;
    let expected = definitions(&mut db.pool().acquire().await.unwrap()).await;
    for hostile in HOSTILE {
        for fires in [
            "create trigger t before insert on analytics.trap for each row execute function analytics.spring()",
            "create constraint trigger t after insert on analytics.trap deferrable initially deferred
             for each row execute function analytics.spring()",
            "create rule r as on insert to analytics.trap do also select analytics.spring_now()",
        ] {
            let mut app = db.pool().begin().await.unwrap();
            let trap = format!(
                "create table analytics.trap (id int);
                 create function analytics.spring_now() returns int language plpgsql
                     as $s$ begin execute {literal}; return 1; end $s$;
                 create function analytics.spring() returns trigger language plpgsql
                     as $s$ begin execute {literal}; return new; end $s$;
                 {fires}",
                literal = format!("'{}'", hostile.replace('\'', "''")),
            );
            sqlx::raw_sql(SET_UP).execute(&mut *app).await.unwrap();
            as_mart(&mut app, &trap).await.unwrap();
            let sprung = match as_mart(&mut app, "insert into analytics.trap values (1)").await {
                Ok(_) => sqlx::raw_sql("set constraints all immediate").execute(&mut *app).await.map(|_| ()),
                Err(error) => Err(error),
            };
            match sprung {
                // The server only warns where there is nothing that an account could give away.
                Ok(()) => assert_eq!(definitions(&mut app).await, expected, "{hostile}, {fires}"),
                Err(error) => {
                    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
                    assert!(["42501", "42883"].contains(&code.as_ref()), "{hostile}, {fires}: {error}");
                }
            }
            app.rollback().await.unwrap();
        }
    }
    assert_same(&fingerprint(db.admin()).await, &before);
}

/// All that is left: a role can give up what it owns, by its name alone.
#[tokio::test]
async fn functions_that_were_given_up_are_found_missing_and_made_again() {
    let db = TestDatabase::create().await;
    let before = fingerprint(db.admin()).await;
    let mut app = db.pool().acquire().await.unwrap();
    sqlx::raw_sql(SET_UP).execute(&mut *app).await.unwrap();
    as_mart(&mut app, "drop owned by vitrina_mart").await.unwrap();
    let owned = FUNCTIONS.iter().filter(|file| file.name.starts_with("etl_mart.")).map(|file| file.name);
    let found = examine(&mut app).await.unwrap();
    let mut owned: Vec<_> = owned.collect();
    owned.sort_unstable();
    assert_eq!(found.changed, owned);

    migrate::migrate(db.admin(), &schemas()).await.unwrap();

    let whole = Examination { intact: FUNCTIONS.len(), ..Examination::default() };
    assert_eq!(examine(&mut app).await.unwrap(), whole);
    assert_same(&fingerprint(db.admin()).await, &before);
}

#[tokio::test]
async fn rights_that_somebody_gave_are_taken_back() {
    let db = TestDatabase::create().await;
    let before = fingerprint(db.admin()).await;
    let given = "grant execute on function etl_mart.run, etl_page.read to public;
        grant execute on function etl_page.read to vitrina_query;
        grant usage on schema etl_mart to vitrina_mart; grant usage, create on schema etl_page to vitrina_query;
        grant execute on function etl_query.session_state to pg_monitor";
    sqlx::raw_sql(AssertSqlSafe(given)).execute(db.admin()).await.unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    assert_same(&fingerprint(db.admin()).await, &before);
}

/// The server asks more of it than of a superuser: to be allowed to call a function that it replaces, and the new owner of one to
/// be allowed to create it.
#[tokio::test]
async fn an_owner_that_is_no_superuser_migrates_and_repairs() {
    let db = empty().await;
    let name: String = sqlx::query_scalar("select current_database()").fetch_one(db.admin()).await.unwrap();
    let owner = format!("owner_of_{name}");
    let made = format!(
        "create role {owner} login createrole; alter database {name} owner to {owner};
         grant vitrina_query, vitrina_mart, vitrina_hook, vitrina_app, pg_read_all_stats to {owner} with admin option"
    );
    sqlx::raw_sql(AssertSqlSafe(made)).execute(db.admin()).await.unwrap();
    let session = db.admin().connect_options().as_ref().clone().username(&owner);
    let pool = PgPoolOptions::new().max_connections(3).connect_lazy_with(session);
    migrate::migrate(&pool, &schemas()).await.unwrap();
    let before = fingerprint(db.admin()).await;
    let broken = "alter function etl_mart.run security invoker; drop function etl_page.read; drop trigger etl_runs_sum_up on etl.etl_runs";
    sqlx::raw_sql(broken).execute(&pool).await.unwrap();
    assert_eq!(
        examine(&mut pool.acquire().await.unwrap()).await.unwrap().changed,
        ["etl.sum_up_run", "etl_mart.run", "etl_page.read"]
    );

    migrate::migrate(&pool, &schemas()).await.unwrap();

    assert_same(&fingerprint(db.admin()).await, &before);
    pool.close().await;
}
