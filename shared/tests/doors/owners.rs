//! What the owner of a source schema can do with functions and types that an operator's query uses.

use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use vitrina_shared::{
    config::DatabaseConfig,
    database,
    guard::{self, GuardError, Refusal},
    testing::TestDatabase,
};

use crate::scene::{execute, make_outcome, scene, session};

/// A stable function that calls a volatile one with this body: PostgreSQL looks only at the outer one.
pub async fn meddler(db: &TestDatabase, body: &str) {
    let functions = format!(
        "create function content.meddle_inside() returns text volatile language plpgsql as $$ {body} $$;
         create function content.meddle() returns text stable language plpgsql
             as $$ begin return content.meddle_inside(); end $$;"
    );
    sqlx::raw_sql(AssertSqlSafe(functions)).execute(db.admin()).await.unwrap();
}

pub fn code(error: &sqlx::Error) -> String {
    error.as_database_error().and_then(|error| error.code()).unwrap_or_default().into_owned()
}

/// Otherwise names in the rest of the batch would be looked up where the query says, with the services' rights.
#[tokio::test]
async fn a_query_that_changes_settings_of_its_session_fails_and_leaves_none_behind() {
    for (setting, local) in [
        ("'search_path', 'content, pg_catalog'", false),
        ("'search_path', 'content, pg_catalog'", true),
        ("'timezone', 'Asia/Tokyo'", false),
        ("'datestyle', 'SQL, DMY'", true),
        ("'synchronous_commit', 'local'", false),
    ] {
        let db = scene().await;
        make_outcome(&db).await;
        let trap = "create function content.textne(text, text) returns boolean language sql as 'select false';
                    create operator content.<> (leftarg = text, rightarg = text, function = content.textne)";
        sqlx::raw_sql(trap).execute(db.admin()).await.unwrap();
        meddler(&db, &format!("begin perform set_config({setting}, {local}); return 'meddled'; end")).await;
        let mut conn = db.pool().acquire().await.unwrap();
        // The first query of a session loads the language of our functions, with settings of its own.
        execute(&mut conn, "select 1 as one").await.unwrap();
        let before = session(&mut conn).await;
        let error = execute(&mut conn, "select content.meddle() as meddled").await.unwrap_err();
        assert_eq!(code(&error), "VT006", "{setting}: {error}");
        assert!(before == session(&mut conn).await, "{setting} has changed the session");
    }
}

/// A `set` hidden behind a `set local` takes effect at the commit, after all checks.
const MASKED: &str = "perform set_config('search_path', 'content, pg_catalog', false);
    perform set_config('search_path', 'pg_catalog, pg_temp', true);
    perform set_config('timezone', 'Asia/Tokyo', false);
    perform set_config('timezone', 'UTC', true);
    perform set_config('enable_indexscan', 'off', false);
    perform set_config('default_transaction_isolation', 'serializable', false);";

#[tokio::test]
async fn a_query_leaves_no_setting_behind_that_comes_out_at_the_commit() {
    let db = scene().await;
    make_outcome(&db).await;
    meddler(&db, &format!("begin {MASKED} return 'meddled'; end")).await;
    let mut conn = db.pool().acquire().await.unwrap();
    execute(&mut conn, "select 1 as one").await.unwrap();
    let before = session(&mut conn).await;
    assert_eq!(execute(&mut conn, "select content.meddle() as meddled").await.unwrap(), 1);
    assert!(before == session(&mut conn).await, "after a page");
    let read = "select count(*) from etl_page.read('select content.meddle() as m', null, null, 1, false) as t (m text)";
    assert_eq!(sqlx::query_scalar::<_, i64>(read).fetch_one(&mut *conn).await.unwrap(), 1);
    assert!(before == session(&mut conn).await, "after a query by itself");
}

#[tokio::test]
async fn a_trigger_of_a_mart_neither_changes_the_session_nor_pretends_that_the_server_has_failed() {
    for (body, expected) in [
        (format!("begin {MASKED} return new; end"), ""),
        ("begin perform set_config('search_path', 'content', false); return new; end".to_owned(), "VT006"),
        ("begin raise exception using errcode = '57P01', message = 'the end'; end".to_owned(), "VT007"),
        ("begin raise exception using errcode = 'VT001', message = 'the end'; end".to_owned(), "VT007"),
    ] {
        let db = scene().await;
        make_outcome(&db).await;
        let trigger = format!(
            "create function analytics.meddle() returns trigger language plpgsql as $$ {body} $$;
             create trigger meddle before insert on analytics.outcome for each row execute function analytics.meddle();"
        );
        sqlx::raw_sql(AssertSqlSafe(trigger)).execute(db.admin()).await.unwrap();
        let mut conn = db.pool().acquire().await.unwrap();
        let loads = "select count(*) from etl_page.read('select 1 as one', null, null, 1, false) as t (one int)";
        sqlx::query(loads).execute(&mut *conn).await.unwrap();
        let before = session(&mut conn).await;
        let outcome = execute(&mut conn, "select 1 as one").await;
        assert_eq!(outcome.as_ref().err().map(code).unwrap_or_default(), expected, "{body}: {outcome:?}");
        assert!(before == session(&mut conn).await, "{body}");
    }
}

/// A literal of a domain executes the domain's check while the text is read.
async fn literal(db: &TestDatabase, body: &str) {
    let made = format!(
        "create sequence content.times; grant usage on sequence content.times to vitrina_query;
         create function content.meddle_inside(v text) returns boolean volatile language plpgsql as $$ {body} $$;
         create function content.tries(v text) returns boolean immutable language plpgsql
             as $$ begin return content.meddle_inside(v); end $$;
         create domain content.tried as text check (content.tries(value));"
    );
    sqlx::raw_sql(AssertSqlSafe(made)).execute(db.admin()).await.unwrap();
}

#[tokio::test]
async fn a_query_cannot_exchange_the_view_that_is_judged() {
    let db = scene().await;
    literal(
        &db,
        "begin
            if nextval('content.times') > 1 then
                drop view if exists pg_temp.vitrina_judged;
                create temporary view vitrina_judged as select 1 as id, 'x'::text as name;
            end if;
            return true;
        end",
    )
    .await;
    let mut conn = db.pool().acquire().await.unwrap();
    let described: Result<String, _> = sqlx::query_scalar("select tree from etl_page.describe($1)")
        .bind("select 7 as id, pg_sleep(0)::text as name where ('{x}'::content.tried[])[1] is not null")
        .fetch_one(&mut *conn)
        .await;
    // The text is read again, and what it did then fails or is undone; the tree is that of the query.
    if let Ok(tree) = described {
        let sleep: i64 =
            sqlx::query_scalar("select 'pg_sleep'::regproc::oid::bigint").fetch_one(&mut *conn).await.unwrap();
        assert!(tree.contains(&format!(":funcid {sleep} ")), "another query was judged: {tree}");
    }
}

#[tokio::test]
async fn a_literal_cannot_pretend_that_vitrina_or_the_server_has_failed() {
    for raised in ["57P01", "08006", "53300", "VT001", "VT005"] {
        let db = scene().await;
        literal(&db, &format!("begin raise exception using errcode = '{raised}', message = 'the end'; end")).await;
        let mut conn = db.pool().acquire().await.unwrap();
        let error = sqlx::query("select tree from etl_page.describe($1)")
            .bind("select ('{x}'::content.tried[])[1] as id")
            .fetch_one(&mut *conn)
            .await
            .unwrap_err();
        assert_eq!(code(&error), "VT007", "{raised}: {error}");
    }
}

/// Truncated and filled again by another transaction, while the query waits for its lock. The rows were never away.
#[tokio::test]
async fn a_source_that_is_replaced_while_a_query_waits_for_it_is_not_read_as_empty() {
    let db = scene().await;
    make_outcome(&db).await;
    let mut other = db.admin().begin().await.unwrap();
    sqlx::raw_sql("create temporary table kept as table content.reviews; truncate content.reviews; insert into content.reviews table kept")
        .execute(&mut *other)
        .await
        .unwrap();
    let pool = db.pool().clone();
    let read = tokio::spawn(async move {
        let mut conn = pool.acquire().await.unwrap();
        execute(&mut conn, "select id from content.reviews").await
    });
    let waits =
        "select exists (select from pg_locks l where not l.granted and l.relation = 'content.reviews'::regclass)";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(db.admin()).await.unwrap() {
        tokio::task::yield_now().await;
    }
    other.commit().await.unwrap();
    assert_eq!(read.await.unwrap().unwrap(), 2);
}

/// A prepared statement outlives the transaction, and is executed with the services' rights.
#[tokio::test]
async fn a_session_whose_prepared_statements_were_replaced_is_never_used_again() {
    let replace = "declare s record; begin
        for s in select name from pg_prepared_statements loop
            execute format('deallocate %I', s.name);
            execute format('prepare %I as select 13', s.name);
        end loop;
        return 'replaced';
    end";
    // What is only forgotten executes nothing: the page passes, and the next statement of the services would fail.
    for (body, passes) in [
        (replace, false),
        ("begin deallocate all; return 'forgotten'; end", true),
        ("begin prepare mine as select 1; return 'added'; end", false),
    ] {
        let db = scene().await;
        make_outcome(&db).await;
        meddler(&db, body).await;
        let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
        let pool = database::pool_for_queries(&config, "vitrina-test", &[]);
        let pid = backend(&pool).await;
        assert_eq!(backend(&pool).await, pid, "a session is used again");
        {
            let mut conn = pool.acquire().await.unwrap();
            match execute(&mut conn, "select content.meddle() as meddled").await {
                Ok(_) => assert!(passes, "{body}"),
                Err(error) => assert!(code(&error) == "VT006" && !passes, "{body}: {error}"),
            }
        }
        assert_ne!(backend(&pool).await, pid, "{body}");
    }
}

/// A cursor `with hold` is executed at the commit, when nothing of the query's confinement is left.
#[tokio::test]
async fn no_cursor_of_a_query_is_executed_at_the_commit() {
    let db = scene().await;
    make_outcome(&db).await;
    let payload = "create table content.loot (who text); grant insert on content.loot to public;
         create function content.payload() returns text volatile language plpgsql
             as $$ begin insert into content.loot values (current_user); return 'x'; end $$";
    sqlx::raw_sql(payload).execute(db.admin()).await.unwrap();
    meddler(&db, "begin execute 'declare c cursor with hold for select content.payload()'; return 'held'; end").await;
    let mut conn = db.pool().acquire().await.unwrap();
    assert_eq!(execute(&mut conn, "select content.meddle() as meddled").await.unwrap(), 1);
    let read =
        "select count(*) from etl_page.read('select content.meddle() as meddled', null, null, 1, false) as t (m text)";
    sqlx::raw_sql(read).execute(&mut *conn).await.unwrap();
    let loot: Vec<String> = sqlx::query_scalar("select who from content.loot").fetch_all(db.admin()).await.unwrap();
    assert_eq!(loot, Vec::<String>::new());
}

/// A trigger of a mart executes under vitrina_mart; that of a table that it made would execute with the services' rights.
#[tokio::test]
async fn a_page_is_put_down_only_in_tables_of_ones_own() {
    let db = scene().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let stage = async |conn: &mut PgConnection| sqlx::raw_sql("select etl.stage_page()").execute(conn).await;
    for _ in 0..2 {
        stage(&mut conn).await.unwrap();
    }
    let mut admin = db.admin().acquire().await.unwrap();
    let planted = "set role vitrina_mart; create temporary table vitrina_page (place bigint, doc json);
         create temporary table vitrina_refused (place bigint, error text); reset role";
    sqlx::raw_sql(planted).execute(&mut *admin).await.unwrap();
    assert_eq!(code(&stage(&mut admin).await.unwrap_err()), "VT006");
    sqlx::raw_sql("drop table pg_temp.vitrina_page").execute(&mut *admin).await.unwrap();
    assert_eq!(code(&stage(&mut admin).await.unwrap_err()), "VT006", "one of the two");
}

/// Rows that pass through a worker are read without a statement of Vitrina's own around the query.
#[tokio::test]
async fn a_query_that_is_read_by_itself_cannot_prepare_statements_either() {
    let db = scene().await;
    let body = "begin
        perform set_config('vitrina.in_page', 'on', false), set_config('vitrina.in_page', 'on', true);
        prepare mine as select 1;
        return 'added';
    end";
    meddler(&db, body).await;
    let mut conn = db.pool().acquire().await.unwrap();
    let read =
        "select count(*) from etl_page.read('select content.meddle() as meddled', null, null, 1, false) as t (m text)";
    let error = sqlx::raw_sql(read).execute(&mut *conn).await.unwrap_err();
    assert_eq!(code(&error), "VT006", "{error}");
}

async fn backend(pool: &PgPool) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await.unwrap()
}

/// A code that the services would take for their own, or for a lost connection.
#[tokio::test]
async fn a_query_cannot_pretend_that_vitrina_or_the_server_has_failed() {
    for ends_with in ["VT001", "VT002", "VT005", "08006", "28000", "57P01", "53300"] {
        let db = scene().await;
        make_outcome(&db).await;
        meddler(&db, &format!("begin raise exception using errcode = '{ends_with}', message = 'the end'; end")).await;
        let mut conn = db.pool().acquire().await.unwrap();
        let query = "select n, case when n > 5 then content.meddle() end as meddled from generate_series(1, 10) as n";
        let error = execute(&mut conn, query).await.unwrap_err();
        assert_eq!(code(&error), "VT007", "{error}");
        assert!(error.to_string().contains(ends_with), "{error}");
    }
}

/// The types of a query's columns (`from`) and of a mart's (`to`), made by an account that owns nothing else.
const TYPES: &str = r"
    create role doors_owner_of_types nologin;
    grant usage, create on schema content, analytics to doors_owner_of_types;
    set local role doors_owner_of_types;
    create type content.pair as (a int, b int);
    create domain content.pair_once as content.pair;
    create domain content.pair_twice as content.pair_once;
    create domain content.inner_number as int;
    create domain content.outer_number as int check (value::content.inner_number > 0);
    create domain content.plain as int;
    create type content.shade as enum ('dark', 'light');
    create type content.adopted as (a int);
    create type content.span as range (subtype = int);
    create table analytics.of_their_own (id int, v content.plain);
    reset role;
    create extension citext schema content;
    alter extension citext add type content.adopted;
    create domain content.of_a_superuser as int check (value > 0);
    create domain content.led_astray as int check (value::content.inner_number > 0);
    create table analytics.of_a_superuser (id int, v int);

    -- Objects of a superuser that another account can exchange: in its own schema, or with its own extension.
    create schema theirs authorization doors_owner_of_types;
    create extension seg schema theirs;
    create domain content.over_theirs as theirs.seg;
    create type theirs.of_a_superuser as (a int);
    do $$ begin execute format('grant create on database %I to doors_owner_of_types', current_database()); end $$;
    set local role doors_owner_of_types;
    create extension ltree schema content;
    reset role;
    create extension cube schema public;
    create function theirs.length_of(content.citext) returns int language internal immutable strict as 'textlen';
    create function content.size_of(content.citext) returns smallint language internal immutable strict as 'textlen';
    create cast (content.citext as int) with function theirs.length_of(content.citext) as assignment;
    create cast (content.citext as smallint) with function content.size_of(content.citext) as assignment;
";

async fn arrives(conn: &mut PgConnection, from: &str, to: &str, table: &str) -> Result<(), Refusal> {
    let oid = async |conn: &mut PgConnection, name: &str| -> u32 {
        let oid: i64 = sqlx::query_scalar("select $1::regtype::oid::bigint").bind(name).fetch_one(conn).await.unwrap();
        oid.try_into().unwrap()
    };
    let (from, to) = (oid(conn, from).await, oid(conn, to).await);
    match guard::check_arriving(conn, &[from], &[to], table).await {
        Ok(()) => Ok(()),
        Err(GuardError::Refused(refusal)) => Err(refusal),
        Err(GuardError::Database(error)) => panic!("{error}"),
    }
}

/// A check or a cast that its owner adds tomorrow would execute with the rights to write marts.
#[tokio::test]
async fn values_of_types_that_another_account_can_change_do_not_reach_a_mart() {
    let db = scene().await;
    let mut tx = db.admin().begin().await.unwrap();
    sqlx::raw_sql(TYPES).execute(&mut *tx).await.unwrap();
    for (from, to, table) in [
        ("content.pair", "content.pair", "of_a_superuser"),
        ("content.pair_once", "int", "of_a_superuser"),
        ("content.pair_twice", "int", "of_a_superuser"),
        ("content.pair_once[]", "text", "of_a_superuser"),
        ("content.outer_number", "int", "of_a_superuser"),
        ("content.plain", "int", "of_a_superuser"),
        ("content.plain[]", "int[]", "of_a_superuser"),
        ("content.span", "text", "of_a_superuser"),
        ("content.led_astray", "int", "of_a_superuser"),
        ("int", "content.plain", "of_a_superuser"),
        ("int[]", "content.plain[]", "of_a_superuser"),
        // A cast to text, or from it, can be added while a run goes on.
        ("content.shade", "content.shade", "of_a_superuser"),
        ("content.shade", "text", "of_a_superuser"),
        ("content.shade[]", "text[]", "of_a_superuser"),
        // An extension's member, but not of the extension's maker.
        ("content.adopted", "text", "of_a_superuser"),
    ] {
        let outcome = arrives(&mut tx, from, to, table).await;
        assert!(matches!(outcome, Err(Refusal::ForeignValueType { .. })), "{from} to {to} of {table}: {outcome:?}");
    }
    for from in ["theirs.seg", "theirs.seg[]", "content.over_theirs", "theirs.of_a_superuser"] {
        let outcome = arrives(&mut tx, from, "text", "of_a_superuser").await;
        assert!(matches!(outcome, Err(Refusal::ValueTypeOfForeignSchema { .. })), "{from}: {outcome:?}");
    }
    for from in ["content.ltree", "content.ltree[]"] {
        let outcome = arrives(&mut tx, from, "text", "of_a_superuser").await;
        assert!(matches!(outcome, Err(Refusal::ValueTypeOfForeignExtension { .. })), "{from}: {outcome:?}");
    }
    let outcome = arrives(&mut tx, "content.citext", "int", "of_a_superuser").await;
    assert!(matches!(outcome, Err(Refusal::ForeignValue { .. })), "a function in a schema of theirs: {outcome:?}");
    for (from, to, table) in [
        ("content.citext", "smallint", "of_a_superuser"),
        ("content.citext", "text", "of_a_superuser"),
        ("public.cube", "text", "of_a_superuser"),
        ("content.of_a_superuser", "int", "of_a_superuser"),
        ("int", "content.of_a_superuser", "of_a_superuser"),
        ("int", "content.plain", "of_their_own"),
    ] {
        assert_eq!(arrives(&mut tx, from, to, table).await, Ok(()), "{from} to {to} of {table}");
    }
    tx.rollback().await.unwrap();
}
