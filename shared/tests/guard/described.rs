//! What the server says that a query returns, and how long it may take for that.

use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};
use vitrina_shared::{
    database::Fault,
    domain::{PipelineDraft, SourceColumn, transform::Registry},
    guard::{self, Describing, GuardError, ParameterTypes, QueryLimits, Refusal},
    validation,
};

use crate::{cinema, layers::described, parse, schemas};

/// Stops or continues the process of a session.
fn signal(signal: &str, backend: i32) {
    let sent = std::process::Command::new("kill").args([signal, &backend.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The process of a pool's only session, which is idle again.
async fn backend(pool: &PgPool) -> i32 {
    let backend = sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await.unwrap();
    while pool.num_idle() == 0 {
        tokio::task::yield_now().await;
    }
    backend
}

#[tokio::test]
async fn a_description_names_types_and_knows_what_may_be_null() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let sql = "select id, rating, tags, modified, 1 as one from content.film_work";
    let facts = |columns: Vec<SourceColumn>| -> Vec<(String, String, Option<bool>)> {
        columns.into_iter().map(|column| (column.name, column.type_name, column.nullable)).collect()
    };
    let expected = [
        ("id", "uuid", Some(false)),
        ("rating", "numeric", Some(true)),
        ("tags", "text[]", Some(true)),
        ("modified", "timestamp with time zone", Some(false)),
        ("one", "integer", None),
    ];
    let expected = expected.map(|(name, kind, nullable)| (name.to_owned(), kind.to_owned(), nullable));
    assert_eq!(facts(described(&mut conn, sql).await.unwrap()), expected);

    let unknown = [
        "select id from content.fresh",
        "select r.film_id from content.film_work f left join ugc.ratings r on r.film_id = f.id",
    ];
    for sql in unknown {
        assert_eq!(described(&mut conn, sql).await.unwrap()[0].nullable, None, "{sql}");
    }
}

#[tokio::test]
async fn a_description_is_never_older_than_the_table() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let sql = "select rating from content.film_work";
    assert_eq!(described(&mut conn, sql).await.unwrap()[0].type_name, "numeric");
    sqlx::raw_sql("alter table content.film_work alter rating type float8").execute(db.admin()).await.unwrap();
    assert_eq!(described(&mut conn, sql).await.unwrap()[0].type_name, "double precision");
}

#[tokio::test]
async fn a_rendered_query_runs_inside_other_sql_with_its_four_parameters() {
    let db = cinema().await;
    let types = ParameterTypes { key: "integer".to_owned(), id: "integer".to_owned() };
    let query =
        parse("select n from generate_series(1, 9) as g(n) where n > :after_key limit :limit; -- a page").unwrap();
    let sql = format!("select array_agg(n) from ({}) page", query.render(&types));
    let page: Vec<i32> = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(4_i32)
        .bind(None::<i32>)
        .bind(None::<i32>)
        .bind(3_i64)
        .fetch_one(db.pool())
        .await
        .unwrap();
    assert_eq!(page, [5, 6, 7]);
}

#[tokio::test]
async fn a_connection_is_itself_again_after_a_description() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let state =
        "select concat_ws(' ', current_user, current_setting('search_path'), current_setting('statement_timeout'))";
    let before: String = sqlx::query_scalar(state).fetch_one(&mut *conn).await.unwrap();
    described(&mut conn, "select id from content.film_work").await.unwrap();
    described(&mut conn, "select nothing from content.film_work").await.unwrap_err();
    let after: String = sqlx::query_scalar(state).fetch_one(&mut *conn).await.unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_locked_table_is_the_servers_trouble_and_not_the_querys_fault() {
    let db = cinema().await;
    let mut holder = db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table content.film_work").execute(&mut *holder).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    let limits = QueryLimits { lock: std::time::Duration::from_millis(50), ..QueryLimits::default() };
    let query = parse("select id from content.film_work").unwrap();
    let error = guard::describe(&mut conn, &query, (None, None), &schemas(), &limits).await.unwrap_err();
    assert!(matches!(error, GuardError::Database(_)), "{error:?}");
    holder.rollback().await.unwrap();
    guard::describe(&mut conn, &query, (None, None), &schemas(), &limits).await.unwrap();
}

/// The server stood still: the same query may be described a moment later.
#[tokio::test]
async fn a_draft_that_was_not_described_in_time_is_not_wrong_for_good() {
    let db = cinema().await;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .test_before_acquire(false)
        .connect_with(db.connect_options())
        .await
        .unwrap();
    let describing = Describing::new(pool.clone());
    let query = "select id as genre_id, name, description, modified from content.genre";
    let draft: PipelineDraft = serde_json::from_value(serde_json::json!({
        "name": "genres", "description": "", "kind": "SQL", "mode": "full", "source_query": query, "target_table": "analytics.genre_dim",
        "batch_size": 10, "enabled": true, "options": {}, "tasks": [], "incremental_key": null, "incremental_id_key": null,
    }))
    .unwrap();
    let frozen = backend(&pool).await;
    signal("-STOP", frozen);
    let review = validation::review(db.pool(), &describing, &draft, &schemas(), &Registry::default()).await;
    signal("-CONT", frozen);
    // The server is not at work on it: it looks like a connection that fell silent, and is reported as one.
    assert!(review.is_err_and(|error| Fault::of(&error) == Fault::Away));
    let again = validation::review(db.pool(), &describing, &draft, &schemas(), &Registry::default()).await.unwrap();
    assert!(!again.timed_out);
}

/// Folding its constants looks at no interrupt, so it is left to the run, which can be cancelled.
#[tokio::test]
async fn a_query_that_is_planned_for_ages_is_described_at_once() {
    let db = cinema().await;
    let describing = Describing::new(db.pool().clone());
    let bomb = "select id, (repeat('a & ', 300000) || 'a')::tsquery as bomb from content.film_work";
    let query = parse(bomb).unwrap();
    let begun = std::time::Instant::now();
    let (_, described) = describing.describe(query, (None, None), &schemas()).await.unwrap();
    assert_eq!(described.columns[1].type_name, "tsquery");
    assert!(begun.elapsed().as_secs() < 5, "it was planned, which takes a minute: {:?}", begun.elapsed());
}

/// What the server stores of views in little is much to read.
#[tokio::test]
async fn views_that_are_too_large_to_be_read_are_refused() {
    let db = cinema().await;
    let columns: Vec<String> = (1..=800).map(|n| format!("c{n} int")).collect();
    let views = "do $$
        declare
            columns text := (select string_agg(format('c%s + case when c%s > %1$s then 1 else 2 end as c%1$s', n, n % 7 + 1), ', ')
                             from generate_series(1, 800) n);
        begin
            for view in 1..60 loop
                execute format('create view content.wide_%s as select %s from content.wide where c1 > %1$s', view, columns);
            end loop;
            execute format('create view content.widest as select 1 as one from %s',
                           (select string_agg(format('content.wide_%s', n), ', ') from generate_series(1, 60) n));
        end $$";
    let statements = format!(
        "create table content.wide ({}); {views}; grant select on all tables in schema content to vitrina_query",
        columns.join(", ")
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(db.admin()).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    let refused = described(&mut conn, "select one from content.widest").await;
    assert!(matches!(refused, Err(GuardError::Refused(Refusal::TooComplex))), "{refused:?}");
    described(&mut conn, "select c1 from content.wide_7").await.unwrap();
}
