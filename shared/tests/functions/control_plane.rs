//! The log, totals, reports, letters, clocks and sessions.

use sqlx::postgres::PgListener;
use uuid::Uuid;
use vitrina_shared::{domain::ELASTICSEARCH, testing::TestDatabase};

use crate::{failure, run, text};

/// A pipeline, by its id.
async fn pipeline(db: &TestDatabase) -> Uuid {
    let insert = "insert into etl.etl_pipelines (name, mode, source_query, target_table)
                  values ('p', 'full', 'select 1', 'analytics.genre_dim') returning id";
    sqlx::query_scalar(insert).fetch_one(db.pool()).await.unwrap()
}

/// A run of it that began `seconds` before its end, or never.
async fn ended_run(db: &TestDatabase, pipeline: Uuid, seconds: Option<f64>) {
    let id = Uuid::now_v7();
    run(
        db.pool(),
        format!(
            "insert into etl.etl_runs (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs, rows_read, started_at)
             values ('{id}', '{pipeline}', 'full', 'API', 'test', 'test', '{{\"target_table\": \"es:films\"}}', 7,
                     timestamptz '2026-01-01 00:00+00' - {} * interval '1 s');
             insert into etl.etl_run_ranges (run_id, range_no, upper) values ('{id}', 0, 'upper'), ('{id}', 1, 'lower');
             update etl.etl_runs set status = 'SUCCESS', finished_at = '2026-01-01 00:00+00' where id = '{id}'",
            seconds.map_or("null".to_owned(), |seconds| seconds.to_string()),
        ),
    )
    .await;
}

#[tokio::test]
async fn a_run_that_ends_is_added_to_the_totals_in_the_class_of_its_duration() {
    // etl.sum_up_run is a trigger's.
    let db = TestDatabase::create().await;
    let pipeline = pipeline(&db).await;
    for seconds in [Some(0.0005), Some(0.001), Some(9000.0), None] {
        ended_run(&db, pipeline, seconds).await;
    }
    let mut app = db.pool().acquire().await.unwrap();
    let totals =
        "select concat_ws(' ', mode, sink, status, runs, rows_read, seconds, last_upper) from etl.etl_run_totals";
    assert_eq!(text(&mut app, totals).await, "full elasticsearch SUCCESS 4 28 9000.0015 lower");
    let classes = "select (durations[1], durations[cardinality(durations)], (select sum(n) from unnest(durations) n),
                           cardinality(durations) - cardinality(etl.run_duration_bounds())) from etl.etl_run_totals";
    assert_eq!(text(&mut app, classes).await, "(2,1,3,1)", "a bound belongs to its class, and who never began to none");
    // Other columns do not add it again.
    run(db.pool(), "update etl.etl_runs set rows_read = 8; update etl.etl_runs set finished_at = finished_at").await;
    assert_eq!(text(&mut app, "select runs from etl.etl_run_totals").await, "4");
}

#[tokio::test]
async fn the_classes_of_durations_grow() {
    let db = TestDatabase::create().await;
    let sorted = "select array_agg(b order by b) = etl.run_duration_bounds() from unnest(etl.run_duration_bounds()) b";
    assert_eq!(text(&mut db.pool().acquire().await.unwrap(), sorted).await, "true");
}

#[tokio::test]
async fn the_sink_of_a_run_is_that_of_its_last_target() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    for (inputs, sink) in [
        (r#"{"target_table": "analytics.a"}"#, "postgres"),
        (&format!(r#"{{"target_table": "{ELASTICSEARCH}:a"}}"#), "elasticsearch"),
        (
            r#"{"target_table": "es:a", "tasks": [{"target_table": "es:b"}, {"target_table": "analytics.a"}]}"#,
            "postgres",
        ),
        (
            r#"{"target_table": "es:a", "tasks": [{"target_table": "analytics.a"}, {"target_table": null}]}"#,
            "elasticsearch",
        ),
    ] {
        assert_eq!(text(&mut app, format!("select etl.sink_of('{inputs}')")).await, sink, "{inputs}");
    }
}

const ENTRY: &str = "insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
                     values (gen_random_uuid(), $1, 'IDLE', 'RUN_REQUESTED', 'test', 'test')";

#[tokio::test]
async fn an_entry_of_the_log_has_its_place_by_the_commit_and_is_announced() {
    // etl.log_in_commit_order is a trigger's.
    let db = TestDatabase::create().await;
    let mut listener = PgListener::connect_with(db.admin()).await.unwrap();
    listener.listen("vitrina_events").await.unwrap();
    let (mut first, mut second) = (db.pool().begin().await.unwrap(), db.pool().begin().await.unwrap());
    sqlx::query(ENTRY).bind("inserted first").execute(&mut *first).await.unwrap();
    sqlx::query(ENTRY).bind("committed first").execute(&mut *second).await.unwrap();
    second.commit().await.unwrap();
    first.commit().await.unwrap();
    let order = "select string_agg(pipeline, ', ' order by id) from etl.etl_transitions";
    let mut app = db.pool().acquire().await.unwrap();
    assert_eq!(text(&mut app, order).await, "committed first, inserted first");
    let announced = listener.recv().await.unwrap();
    let expected =
        "select json_build_object('id', id, 'pipeline_id', pipeline_id) from etl.etl_transitions order by id limit 1";
    assert_eq!(announced.payload(), text(&mut app, expected).await);
}

#[tokio::test]
async fn the_services_remove_only_what_is_older_than_a_day_from_the_log() {
    let db = TestDatabase::create().await;
    sqlx::query(ENTRY).bind("deleted since").execute(db.pool()).await.unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    // The second is longer than a day by its months of 30 days, and yet `now()` minus it is in the future.
    for kept in ["'0'", "'-12 mons 361 days'", "'23:59:59'", "null"] {
        let (code, message) = failure(&mut app, format!("select etl.prune_log({kept}, 10)")).await;
        assert_eq!((code.as_str(), message.as_str()), ("22023", "the log is kept for a day at least"), "{kept}");
    }
    for most in ["0", "-1", "null"] {
        let (code, message) = failure(&mut app, format!("select etl.prune_log('1 day', {most})")).await;
        assert_eq!((code.as_str(), message.as_str()), ("22023", "one entry at least is removed at a time"), "{most}");
    }
    assert_eq!(text(&mut app, "select etl.prune_log('1 day', 10)").await, "0");
    run(db.admin(), "update etl.etl_transitions set at = at - interval '25 hours'").await;
    assert_eq!(text(&mut app, "select etl.prune_log('24 hours', 10)").await, "1");
}

#[tokio::test]
async fn an_entry_of_the_future_keeps_no_old_entry_in_the_log() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    for (name, at) in [("old", "-2 days"), ("ahead", "9 days"), ("later", "-2 days"), ("young", "-1 hour")] {
        sqlx::query(ENTRY).bind(name).execute(&mut *app).await.unwrap();
        run(db.admin(), format!("update etl.etl_transitions set at = now() + '{at}' where pipeline = '{name}'")).await;
    }
    let later = text(&mut app, "select id from etl.etl_transitions where pipeline = 'later'").await;
    assert_eq!(text(&mut app, "select etl.prune_log('1 day', 10)").await, "2");
    let kept = "select string_agg(pipeline, ', ' order by id) from etl.etl_transitions";
    assert_eq!(text(&mut app, kept).await, "ahead, young");
    assert_eq!(text(&mut app, "select up_to from etl.etl_log_removed").await, later);
}

#[tokio::test]
async fn the_end_of_a_report_is_announced_and_nothing_before_it() {
    // etl.announce_report is a trigger's.
    let db = TestDatabase::create().await;
    let pipeline = pipeline(&db).await;
    let mut listener = PgListener::connect_with(db.admin()).await.unwrap();
    listener.listen("vitrina_reports").await.unwrap();
    let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
    let insert = |id: Uuid| {
        format!(
            "insert into etl.etl_reports (id, pipeline_id, request, requested_by, correlation_id)
             values ('{id}', '{pipeline}', '{{\"kind\": \"preview\"}}', 'test', 'test');
             update etl.etl_reports set status = 'RUNNING' where id = '{id}';"
        )
    };
    run(db.pool(), insert(one) + &insert(other)).await;
    run(
        db.pool(),
        format!("update etl.etl_reports set status = 'DONE', result = '1', finished_at = now() where id = '{other}'"),
    )
    .await;
    run(db.pool(), format!("update etl.etl_reports set status = 'FAILED', finished_at = now() where id = '{one}'"))
        .await;
    assert_eq!(listener.recv().await.unwrap().payload(), other.to_string());
    assert_eq!(listener.recv().await.unwrap().payload(), one.to_string());
}

#[tokio::test]
async fn a_row_that_no_jsonb_can_hold_is_kept_as_the_text_that_it_is() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    for (doc, stored) in [
        (r#"{"a": 1.50}"#, r#"{"a": 1.50}"#),
        (r#"{"a": "x\u0000y"}"#, r#"{"a": "x\\u0000y"}"#),
        (r#"{"a": "x\\u0000y"}"#, r#"{"a": "x\\u0000y"}"#),
        (r#"{"a": "\ud800"}"#, r#"{"a": "\\ud800"}"#),
        (r#"{"a": 1e999999, "b": 2}"#, r#"{"a": "1e999999", "b": 2}"#),
    ] {
        assert_eq!(text(&mut app, format!("select etl.storable('{doc}')")).await, stored, "{doc}");
    }
}

#[tokio::test]
async fn the_clock_is_that_of_now_and_the_server_has_one_name() {
    let db = TestDatabase::create().await;
    let (mut one, mut other) = (db.pool().acquire().await.unwrap(), db.admin().acquire().await.unwrap());
    let between =
        "select a <= b and b <= c from (select clock_timestamp() a, etl.clock() b, clock_timestamp() c offset 0) as t";
    assert_eq!(text(&mut one, between).await, "true");
    let name = text(&mut one, "select etl.this_server()").await;
    assert_eq!(name, text(&mut other, "select etl.this_server()").await);
    let started = "select to_char(pg_postmaster_start_time() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US+00')";
    assert_eq!(name[9..], text(&mut one, started).await, "{name}");
}

#[tokio::test]
async fn a_column_that_a_run_walks_by_is_noted_with_the_type_that_the_catalog_has_now() {
    let db = TestDatabase::create().await;
    run(db.admin(), "create table public.walked (id int, name varchar(7))").await;
    let mut app = db.pool().acquire().await.unwrap();
    let note = "select string_agg(coalesce(c ->> 'found', 'none'), ', ' order by place)
                from jsonb_array_elements(etl.note_walk(jsonb_build_array(
                    jsonb_build_object('relation', 'public.walked'::regclass::oid, 'number', 2),
                    jsonb_build_object('name', 'an expression'),
                    jsonb_build_object('relation', 'public.walked'::regclass::oid, 'number', 1))))
                    with ordinality as n (c, place)";
    assert_eq!(text(&mut app, note).await, "character varying(7) collation 100, none, integer");
    run(db.admin(), "alter table public.walked alter name type text").await;
    assert_eq!(text(&mut app, note).await, "text collation 100, none, integer");
    assert_eq!(text(&mut app, "select etl.note_walk(null)").await, "null");
}

#[tokio::test]
async fn a_transaction_that_works_for_a_run_is_found_by_its_mark_until_it_ends() {
    let db = TestDatabase::create().await;
    let (run, other) = (Uuid::now_v7(), Uuid::now_v7());
    let mut worker = db.pool().begin().await.unwrap();
    text(&mut worker, format!("select etl.mark_session('{run}')")).await;
    let pid = text(&mut worker, "select pg_backend_pid()").await;
    let mut asks = db.pool().acquire().await.unwrap();
    let found = |work: Uuid| format!("select array_agg(s) from etl.sessions_of('{work}') s");
    assert_eq!(text(&mut asks, found(run)).await, format!("{{{pid}}}"));
    assert_eq!(text(&mut asks, found(other)).await, "null");
    let of_another_account = text(&mut db.admin().acquire().await.unwrap(), found(run)).await;
    assert_eq!(of_another_account, "null");
    worker.rollback().await.unwrap();
    assert_eq!(text(&mut asks, found(run)).await, "null");
}

#[tokio::test]
async fn a_run_reads_up_to_the_start_of_the_oldest_transaction_that_may_still_write() {
    let db = TestDatabase::create().await;
    let pipeline = pipeline(&db).await;
    let mut other = db.admin().begin().await.unwrap();
    run_of(&mut other).await;
    let id = Uuid::now_v7();
    run(
        db.pool(),
        format!(
            "insert into etl.etl_runs (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs)
             values ('{id}', '{pipeline}', 'incremental', 'API', 'test', 'test', '{{}}')"
        ),
    )
    .await;
    let started = text(&mut other, "select now()").await;
    let mut app = db.pool().acquire().await.unwrap();
    let upper = format!("select upper from etl.read_horizon('{id}', '1 hour')");
    assert_eq!(text(&mut app, upper.clone()).await, started);
    other.rollback().await.unwrap();
    let requested = text(&mut app, "select requested_at from etl.etl_runs").await;
    assert_eq!(text(&mut app, upper).await, requested);
}

/// Makes a transaction one that has written.
async fn run_of(connection: &mut sqlx::PgConnection) {
    text(connection, "select pg_current_xact_id()").await;
}

#[tokio::test]
async fn the_fingerprint_of_relations_changes_with_whatever_is_changed_about_them() {
    let db = TestDatabase::create().await;
    run(
        db.admin(),
        "create schema own; create table own.t (id int primary key, v text); create table own.parts (id int) partition by list (id);
         create view own.v as select id, v from own.t; create function own.f() returns trigger language plpgsql as $$ begin return new; end $$",
    )
    .await;
    let mut app = db.pool().acquire().await.unwrap();
    let fingerprint = "select etl.catalog_of(array['own.v', 'own.parts'])";
    let mut before = text(&mut app, fingerprint).await;
    for change in [
        "alter table own.t add w int",
        "alter table own.t alter w set default 1",
        "create unique index on own.t (v)",
        "alter table own.t add check (id > 0)",
        "create table own.child (id int references own.t on delete cascade)",
        "create trigger f before insert on own.t for each row execute function own.f()",
        "create table own.part partition of own.parts for values in (1)",
        "create unique index on own.part (id)",
        "create or replace view own.v as select id, v from own.t where id > 1",
        "drop view own.v; create view own.v as select id, v from own.t",
    ] {
        run(db.admin(), change).await;
        let after = text(&mut app, fingerprint).await;
        assert_ne!(after, before, "{change}");
        before = after;
    }
    run(db.admin(), "insert into own.t select n, n from generate_series(1, 100) n").await;
    for upkeep in ["analyze own.t", "vacuum own.t", "delete from own.t"] {
        run(db.admin(), upkeep).await;
        assert_eq!(text(&mut app, fingerprint).await, before, "{upkeep}");
    }
    assert_eq!(text(&mut app, "select etl.catalog_of(null)").await, "null");
}

#[tokio::test]
async fn a_mart_is_another_one_once_it_was_created_anew_truncated_or_rewritten() {
    let db = TestDatabase::create().await;
    run(
        db.admin(),
        "create table analytics.\"Own mart\" (id int primary key);
         create table analytics.parts (id int) partition by list (id);
         create table analytics.part partition of analytics.parts for values in (1);
         create table analytics.old_part partition of analytics.parts for values in (2)",
    )
    .await;
    let mut app = db.pool().acquire().await.unwrap();
    for (mart, change, is_other) in [
        ("Own mart", "insert into analytics.\"Own mart\" values (1)", false),
        ("Own mart", "delete from analytics.\"Own mart\"", false),
        ("Own mart", "vacuum analytics.\"Own mart\"", false),
        ("Own mart", "alter table analytics.\"Own mart\" add v text", false),
        ("Own mart", "truncate analytics.\"Own mart\"", true),
        ("Own mart", "vacuum full analytics.\"Own mart\"", true),
        (
            "Own mart",
            "drop table analytics.\"Own mart\"; create table analytics.\"Own mart\" (id int primary key)",
            true,
        ),
        ("parts", "create table analytics.new_part partition of analytics.parts for values in (3)", false),
        ("parts", "drop table analytics.old_part", false),
        ("parts", "truncate analytics.part", true),
        ("parts", "truncate analytics.parts", true),
        ("parts", "drop table analytics.parts; create table analytics.parts (id int) partition by list (id)", true),
    ] {
        let noted = text(&mut app, &format!("select etl.files_of('analytics.{mart}')::text")).await;
        run(db.admin(), change).await;
        let other = format!("select etl.is_other_mart('{noted}', etl.files_of('analytics.{mart}'))::text");
        assert_eq!(text(&mut app, &other).await, is_other.to_string(), "{change}");
    }
    // A part that came while a run was writing is noted with its first file; those that were noted before keep their files.
    run(db.admin(), "truncate analytics.parts; drop table analytics.parts; create table analytics.parts (id int) partition by list (id)").await;
    let begun = text(&mut app, "select etl.files_of('analytics.parts')::text").await;
    assert!(begun.contains(r#""files": {}"#), "{begun}");
    // As an earlier version noted a mart without parts.
    let without = begun.replace("{}", "null");
    let other = format!("select etl.is_other_mart('{without}', etl.files_of('analytics.parts'))::text");
    assert_eq!(text(&mut app, &other).await, "false");
    let noted = format!("select (etl.note_files('{without}', etl.files_of('analytics.parts')) = '{begun}')::text");
    assert_eq!(text(&mut app, &noted).await, "true");
    run(db.admin(), "create table analytics.part partition of analytics.parts for values in (1)").await;
    let noted = format!("select etl.note_files('{begun}', etl.files_of('analytics.parts'))::text");
    let noted = text(&mut app, &noted).await;
    let other = format!("select etl.is_other_mart('{noted}', etl.files_of('analytics.parts'))::text");
    assert_eq!(text(&mut app, &other).await, "false");
    run(db.admin(), "truncate analytics.part").await;
    assert_eq!(text(&mut app, &other).await, "true");
    // Also where it was truncated before it was noted.
    let noted_since = format!("etl.note_files('{begun}', etl.files_of('analytics.parts'))");
    let other = format!("select etl.is_other_mart({noted_since}, etl.files_of('analytics.parts'))::text");
    assert_eq!(text(&mut app, &other).await, "true");
    let kept = format!("select (etl.note_files('{noted}', etl.files_of('analytics.parts')) = '{noted}')::text");
    assert_eq!(text(&mut app, &kept).await, "true");
    assert_eq!(text(&mut app, &format!("select etl.note_files('{noted}', null)::text")).await, noted);
    // The end of a run asks for the files, and waits for no lock of the mart.
    let mut rewriting = db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table analytics.part in access exclusive mode").execute(&mut *rewriting).await.unwrap();
    sqlx::raw_sql("set lock_timeout = '1s'").execute(&mut *app).await.unwrap();
    let locked = text(&mut app, "select etl.files_of('analytics.parts')::text").await;
    rewriting.rollback().await.unwrap();
    assert_eq!(text(&mut app, "select etl.files_of('analytics.parts')::text").await, locked);
    for none in ["analytics.no", "es:films", "content.item"] {
        assert_eq!(text(&mut app, &format!("select etl.files_of('{none}')::text")).await, "null", "{none}");
    }
}
